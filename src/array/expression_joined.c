/* Joined expressions: an expression over many leaves on a device where each call is a
 * launch. It is recorded once for all leaves as one program, whose schedule batches equal
 * steps into one launch. */
#include "array/expression_cache.h"
#include "gpu/compile/background.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

#include <string.h>

enum { MOST_OPERATIONS = 64, MOST_INSTRUCTIONS = 1 << 20, MOST_KINDS = 64 };

/* The operands of leaf i in sorted order. */
static const pith_array *const *row_of(const pithp_leaf_operands *x, int64_t i) {
    return x->operands + x->order[i] * x->operand_count;
}

/* Whether operand k is the same array as for the previous leaf: one input for both. */
static bool is_shared(const pithp_leaf_operands *x, int64_t i, int k) {
    return i > 0 && row_of(x, i)[k] == row_of(x, i - 1)[k];
}

static bool can_join(const pith_scope *s, const pithp_expression *e, int64_t count) {
    return !pithp_scope_device(s)->backend->addressable && e->operations > 0 &&
           e->operations <= MOST_OPERATIONS &&
           count <= MOST_INSTRUCTIONS / e->operations &&
           pithp_code_when_set() < PITHP_CODE_OFF;
}

/* ---- Order ---- */

/* Kernel key of a leaf: dtypes, and which operands are one element. */
typedef struct kind {
    uint8_t of[PITHP_FUSED_OPERANDS];
} kind;

typedef struct kinds {
    kind list[MOST_KINDS];
    int64_t count, last; /* last: that of the previous leaf */
} kinds;

static kind kind_of(const pithp_leaf_operands *x, int64_t leaf) {
    kind made = {{0}};
    for (int k = 0; k < x->operand_count; k++) {
        const pith_spec *spec =
            pithp_array_spec(x->operands[leaf * x->operand_count + k]);
        made.of[k] = (uint8_t)((int)spec->dtype << 1 | (spec->count == 1));
    }
    return made;
}

/* The index of the leaf's kind; kinds beyond the maximum count as the last one. */
static int64_t number_of(kinds *all, const pithp_leaf_operands *x, int64_t leaf) {
    const kind one = kind_of(x, leaf);
    if (all->count && memcmp(&all->list[all->last], &one, sizeof one) == 0)
        return all->last;
    int64_t k = 0;
    while (k < all->count && memcmp(&all->list[k], &one, sizeof one) != 0)
        k++;
    if (k == MOST_KINDS)
        k = MOST_KINDS - 1;
    else if (k == all->count)
        all->list[all->count++] = one;
    return all->last = k;
}

void pithp_leaf_operands_sort(const pithp_leaf_operands *x) {
    kinds all = {.count = 0};
    int64_t begin[MOST_KINDS + 1] = {0};
    for (int64_t i = 0; i < x->count; i++)
        begin[number_of(&all, x, i) + 1]++;
    for (int k = 0; k < MOST_KINDS; k++)
        begin[k + 1] += begin[k];
    for (int64_t i = 0; i < x->count; i++)
        x->order[begin[number_of(&all, x, i)]++] = i;
}

/* ---- Cache keys ---- */

static void add(pithp_string *key, const void *bytes, size_t n) {
    pithp_string_add_n(key, bytes, n);
}

/* Whether two adjacent leaves are recorded alike, except for their inputs. */
static bool is_alike(const pithp_leaf_operands *x, int64_t i) {
    for (int k = 0; k < x->operand_count; k++)
        if (is_shared(x, i, k) != is_shared(x, i - 1, k) ||
            pithp_array_spec(row_of(x, i)[k]) != pithp_array_spec(row_of(x, i - 1)[k]))
            return false;
    return true;
}

static void
add_row(pithp_string *key, const pithp_leaf_operands *x, int64_t i, int64_t repeats) {
    add(key, (const char *)&repeats, sizeof repeats);
    for (int k = 0; k < x->operand_count; k++) {
        const pith_spec *spec = pithp_array_spec(row_of(x, i)[k]);
        const int32_t head[] = {is_shared(x, i, k), (int32_t)spec->dtype, spec->rank};
        add(key, (const char *)head, sizeof head);
        add(key, (const char *)spec->shape, (size_t)spec->rank * sizeof *spec->shape);
    }
}

/* Cache key: the expression, and dtypes and shapes of all leaves, run-length encoded. */
static void
add_key(pithp_string *key, const pithp_expression *e, const pithp_leaf_operands *x) {
    add(key, "joined", sizeof "joined");
    add(key, (const char *)&e->c_types, sizeof e->c_types);
    add(key, (const char *)&e->count, sizeof e->count);
    add(key, (const char *)e->terms, (size_t)e->count * sizeof *e->terms);
    for (int64_t i = 0, end; i < x->count; i = end) {
        for (end = i + 1; end < x->count && is_alike(x, end);)
            end++;
        add_row(key, x, i, end - i);
    }
}

/* ---- Recording ---- */

static bool add_inputs(pith_scope *s,
                       pithp_trace *t,
                       const pithp_leaf_operands *x,
                       const pith_array **inputs) {
    for (int64_t i = 0; i < x->count; i++)
        for (int k = 0; k < x->operand_count; k++) {
            const int64_t at = i * x->operand_count + k;
            inputs[at] = is_shared(x, i, k)
                             ? inputs[at - x->operand_count]
                             : pithp_trace_input(s, t, pithp_array_spec(row_of(x, i)[k]));
            if (!inputs[at])
                return false;
        }
    return true;
}

static bool add_outputs(pith_scope *s,
                        pithp_trace *t,
                        const pithp_expression *e,
                        const pithp_leaf_operands *x,
                        const pith_array *const *inputs) {
    bool fits;
    for (int64_t i = 0; i < x->count; i++) {
        const pith_spec *like = pithp_array_spec(row_of(x, i)[0]);
        const pith_array *made =
            pithp_expression_record(s, e, inputs + i * x->operand_count, like->dtype);
        made = made ? pithp_broadcast(s, made, like->rank, like->shape, &fits) : NULL;
        if (!made) {
            *x->refused = x->order[i];
            return false;
        }
        if (!pithp_program_output(s, t->program, pithp_trace_value(s, t, made)))
            return false;
    }
    return true;
}

/* One output per leaf. NULL: error set. */
static pithp_program *
record(pith_scope *s, const pithp_expression *e, const pithp_leaf_operands *x) {
    const size_t bytes =
        (size_t)x->count * (size_t)x->operand_count * sizeof(const pith_array *);
    const pith_array **inputs = pithp_scratch_allocate(s->runtime, bytes);
    if (!inputs) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    pithp_trace *t = pithp_trace_begin(s);
    const bool made = t && add_inputs(s, t, x, inputs) && add_outputs(s, t, e, x, inputs);
    pithp_program *program = t ? pithp_trace_end(s, t) : NULL;
    pithp_scratch_release(s->runtime, inputs, bytes);
    if (made)
        return program;
    pithp_program_release(program);
    return NULL;
}

/* Whether every result is written directly to its output. */
static bool makes_outputs(const pithp_plan *plan, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        const pithp_place place = pithp_plan_output(plan, k);
        if (place.store != PITHP_IN_OUTPUT || place.at != k)
            return false;
    }
    return true;
}

static pith_status make(pith_scope *s,
                        const pithp_expression *e,
                        const pithp_leaf_operands *x,
                        pithp_fused_code *code) {
    pithp_program *recorded = record(s, e, x);
    pithp_program *program =
        recorded ? pithp_program_optimise(s, recorded, PITHP_PASS_ALL) : NULL;
    pithp_program_release(recorded);
    if (program)
        code->executable = pithp_executable_make(s, program, true);
    pithp_program_release(program);
    if (code->executable && !makes_outputs(code->executable->plan, x->count)) {
        pithp_executable_free(code->executable);
        code->executable = NULL;
    }
    return s->error.code;
}

/* ---- Lookup ---- */

/* NULL: error set. */
static pithp_fused_code *make_code(pith_scope *s,
                                   const pithp_expression *e,
                                   const pithp_leaf_operands *x,
                                   bool again) {
    pithp_fused_code *code = pithp_allocate(s->runtime, sizeof *code);
    if (!code) {
        pithp_fail_memory(s, sizeof *code);
        return NULL;
    }
    *code = (pithp_fused_code){.runtime = s->runtime};
    atomic_init(&code->refs, 1);
    code->was_asked = !again;
    if (!again)
        return code;
    pith_scope *work = pithp_temporaries_open(s);
    const bool made = work && make(work, e, x, code) == PITH_OK;
    pithp_temporaries_close(s, work, NULL);
    if (made)
        return code;
    pithp_fused_code_release(code);
    return NULL;
}

pith_status pithp_expression_join(pith_scope *s,
                                  const pithp_expression *e,
                                  const pithp_leaf_operands *x,
                                  pithp_fused_code **code) {
    *code = NULL;
    if (!can_join(s, e, x->count))
        return PITH_OK;
    pithp_string key;
    pithp_string_begin(&key, s->runtime);
    add_key(&key, e, x);
    if (key.failed)
        pithp_fail_memory(s, key.length);
    else
        *code = pithp_fused_cache_find(s, key.bytes, key.length);
    if (s->error.code == PITH_OK && (!*code || (*code)->was_asked)) {
        /* a single use is not worth a program */
        const bool again = *code || pithp_code_when_set() == PITHP_CODE_WAIT;
        pithp_fused_code_release(*code);
        *code = make_code(s, e, x, again);
        if (*code)
            pithp_fused_cache_add(s, key.bytes, key.length, *code);
    }
    pithp_string_end(&key);
    if (*code && !(*code)->executable) {
        pithp_fused_code_release(*code);
        *code = NULL;
    }
    return s->error.code;
}

pith_status pithp_joined_run(pith_scope *s,
                             pithp_fused_code *code,
                             const pithp_leaf_operands *x,
                             const pith_array *const *results) {
    const size_t count = (size_t)x->count * ((size_t)x->operand_count + 1);
    void **pointers = pithp_scratch_allocate(s->runtime, count * sizeof *pointers);
    if (!pointers)
        return pithp_fail_memory(s, count * sizeof *pointers);
    void **outputs = pointers, **inputs = pointers + x->count;
    int64_t input_count = 0;
    for (int64_t i = 0; i < x->count; i++) {
        outputs[i] = results[x->order[i]]->data;
        for (int k = 0; k < x->operand_count; k++)
            if (!is_shared(x, i, k))
                inputs[input_count++] = row_of(x, i)[k]->data;
    }
    const pith_status rc =
        pithp_executable_run(s, code->executable, (const void *const *)inputs, outputs);
    pithp_scratch_release(s->runtime, pointers, count * sizeof *pointers);
    return rc;
}
