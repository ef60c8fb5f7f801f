/* Fused expressions over contiguous elements: recorded once per tuple of dtypes as a
 * program. Its plan does all operations on a block of elements before the next block. It
 * is compiled in the background if a compiler is available. */
#include "array/expression_cache.h"
#include "gpu/compile/background.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

#include <stddef.h>
#include <string.h>

/* RECORDED: elements of the recorded program; a plan serves any other count */
enum { RECORDED = 1 << 20, MOST_OPERATIONS = 64, MOST_TERMS = 4 * MOST_OPERATIONS };

static const pith_array *
input(pith_scope *s, pithp_trace *t, const pithp_fused_key *key, int k) {
    const int64_t shape[] = {RECORDED};
    const pith_spec *spec =
        pithp_spec(s, (pith_dtype)key->dtypes[k], key->scalar >> k & 1 ? 0 : 1, shape);
    return spec ? pithp_trace_input(s, t, spec) : NULL;
}

/* The expression as a program with one output of RECORDED elements. NULL: error set. */
static pithp_program *
record(pith_scope *s, const pithp_expression *e, const pithp_fused_key *key) {
    static const int64_t shape[] = {RECORDED};
    const pith_array *operands[PITHP_FUSED_OPERANDS];
    pithp_trace *t = pithp_trace_begin(s);
    if (!t)
        return NULL;
    bool fits, ok = true;
    for (int k = 0; ok && k < key->count; k++)
        ok = (operands[k] = input(s, t, key, k)) != NULL;
    const pith_array *made =
        ok ? pithp_expression_record(s, e, operands, (pith_dtype)key->as) : NULL;
    made = made ? pithp_broadcast(s, made, 1, shape, &fits) : NULL;
    ok = made && pithp_program_output(s, t->program, pithp_trace_value(s, t, made));
    pithp_program *program = pithp_trace_end(s, t);
    if (ok)
        return program;
    pithp_program_release(program);
    return NULL;
}

static pith_status make(pith_scope *s,
                        const pithp_expression *e,
                        const pithp_fused_key *key,
                        pithp_fused_code *code) {
    pithp_program *recorded = record(s, e, key);
    pithp_program *program =
        recorded ? pithp_program_optimise(s, recorded, PITHP_PASS_ALL) : NULL;
    pithp_program_release(recorded);
    if (program) {
        code->dtype = pithp_value_spec(program, program->outputs[0])->dtype;
        code->executable = pithp_executable_make(s, program, true);
    }
    pithp_program_release(program);
    if (code->executable &&
        (pithp_plan_output(code->executable->plan, 0).store != PITHP_IN_OUTPUT ||
         !pithp_plan_is_flat(code->executable->plan))) {
        pithp_executable_free(code->executable);
        code->executable = NULL;
    }
    return s->error.code;
}

void pithp_fused_code_release(pithp_fused_code *code) {
    if (!code || atomic_fetch_sub_explicit(&code->refs, 1, memory_order_acq_rel) > 1)
        return;
    pithp_executable_free(code->executable);
    pithp_release(code->runtime, code, sizeof *code);
}

/* NULL: error set. */
static pithp_fused_code *
make_code(pith_scope *s, const pithp_expression *e, const pithp_fused_key *key) {
    pithp_fused_code *code = pithp_allocate(s->runtime, sizeof *code);
    if (!code) {
        pithp_fail_memory(s, sizeof *code);
        return NULL;
    }
    *code = (pithp_fused_code){.runtime = s->runtime};
    atomic_init(&code->refs, 1);
    pith_scope *work = pithp_temporaries_open(s);
    const bool made = work && (pithp_code_when_set() == PITHP_CODE_EAGER || /* no plan */
                               make(work, e, key, code) == PITH_OK);
    pithp_temporaries_close(s, work, NULL);
    if (made)
        return code;
    pithp_fused_code_release(code);
    return NULL;
}

/* Cache key, without padding. */
typedef struct key_text {
    pithp_fused_key key;
    char c_types;
    char terms[MOST_TERMS * sizeof(pithp_term)];
} key_text;

/* Returns its used bytes. */
static size_t
write_key(key_text *to, const pithp_expression *e, const pithp_fused_key *key) {
    const size_t bytes = (size_t)e->count * sizeof *e->terms;
    memcpy(&to->key, key, sizeof *key);
    to->c_types = e->c_types;
    memcpy(to->terms, e->terms, bytes);
    return offsetof(key_text, terms) + bytes;
}

/* Whether the device runs such plans. */
static bool can_fuse(const pith_scope *s, const pithp_expression *e) {
    return e->operations > 0 && e->operations <= MOST_OPERATIONS &&
           e->count <= MOST_TERMS && pithp_scope_device(s)->backend->addressable;
}

pith_status pithp_expression_fuse(pith_scope *s,
                                  const pithp_expression *e,
                                  const pithp_fused_key *key,
                                  pithp_fused_code **code) {
    key_text name;
    *code = NULL;
    if (!can_fuse(s, e))
        return PITH_OK;
    const size_t bytes = write_key(&name, e, key);
    *code = pithp_fused_cache_find(s, &name, bytes);
    if (!*code && s->error.code == PITH_OK && (*code = make_code(s, e, key)) != NULL)
        pithp_fused_cache_add(s, &name, bytes, *code);
    if (*code && !(*code)->executable) {
        pithp_fused_code_release(*code);
        *code = NULL;
    }
    return s->error.code;
}

pith_dtype pithp_fused_dtype(const pithp_fused_code *code) {
    return code->dtype;
}

pith_status pithp_fused_code_run(pith_scope *s,
                                 pithp_fused_code *code,
                                 const void *const *operands,
                                 void *result,
                                 int64_t count) {
    return pithp_executable_run_flat(s, code->executable, operands, &result, count);
}
