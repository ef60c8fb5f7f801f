/* What tests of compiled plans share: programs of many outputs, run compiled and
 * interpreted. */
#ifndef PITH_EMIT_TEST_H
#define PITH_EMIT_TEST_H

#include "gpu/compile/compile_internal.h"
#include "graph_test.h"
#include "program/emit/emit.h"
#include "program/exec/tier.h"
#include "random_value.h"

enum { MOST = 640 };

typedef struct bench {
    pith_runtime *rt;
    pith_scope *s;
    pithp_program *p;
    const void *inputs[128];
    int64_t input_count;
} bench;

/* For tests that look at what is compiled and when. */
static inline void use_fresh_cache(void) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 1);
}

/* For those that look at what compiled code does: it goes where ctest says, and may be
 * there from a test before. */
static inline void use_cache(void) {
    if (!getenv("PITH_CACHE_DIR"))
        use_fresh_cache();
}

static char said[4096];
static int times_said;

static inline void hear(pith_log_level level, const char *text, void *closure) {
    (void)closure, (void)level;
    times_said++;
    snprintf(said, sizeof said, "%s", text);
}

static inline bench begin(void) {
    bench b = {.rt = pt_open()};
    pith_set_log_hook(b.rt, hear, NULL);
    times_said = 0;
    said[0] = 0;
    b.s = pith_scope_open(b.rt);
    b.p = pithp_program_make(b.s);
    return b;
}

static inline void end(bench *b) {
    pithp_program_release(b->p);
    pith_scope_close(b->s);
    pt_close(b->rt);
}

static inline pithp_value
input(bench *b, pith_dtype dtype, int rank, const int64_t *shape, const void *data) {
    b->inputs[b->input_count++] = data;
    return pithp_program_input(b->s, b->p, pithp_spec(b->s, dtype, rank, shape));
}

static inline pithp_value op(bench *b, pithp_primitive primitive, int count, ...) {
    pithp_value operands[3];
    va_list list;
    va_start(list, count);
    for (int k = 0; k < count; k++)
        operands[k] = va_arg(list, pithp_value);
    va_end(list);
    const pithp_value v =
        pithp_program_add(b->s, b->p, primitive, count, operands, NULL, NULL);
    pt_ok(b->s);
    return v;
}

static inline void run(const bench *b, pithp_executable *exe, void *const *outputs) {
    pithp_executable_run(b->s, exe, b->inputs, outputs);
    pt_ok(b->s);
    pith_wait(b->s);
}

static inline void take_memory(const bench *b, void **outputs) {
    for (int64_t k = 0; k < b->p->output_count; k++) {
        const size_t bytes = pithp_value_spec(b->p, b->p->outputs[k])->bytes;
        outputs[k] = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
        memset(outputs[k], 0xA5, bytes);
    }
}

static inline pithp_executable *plan_of(const bench *b, const char *when) {
    setenv("PITH_JIT", when, 1);
    pithp_executable *exe = pithp_executable_make(b->s, b->p, true);
    pt_ok(b->s, exe);
    return exe;
}

static inline void expect_outputs(const bench *b,
                                  const char *what,
                                  const char *how,
                                  void *const *want,
                                  void **got) {
    for (int64_t k = 0; k < b->p->output_count; k++) {
        const pith_spec *spec = pithp_value_spec(b->p, b->p->outputs[k]);
        const pithp_instruction *i = pithp_maker(b->p, b->p->outputs[k]);
        cr_assert(recipe_same(spec, want[k], got[k]), "%s, %s: output %lld (%s)", what,
                  how, (long long)k, i ? pithp_ops[i->primitive].name : "no instruction");
    }
}

/* Run call by call, fused and compiled, and compare all outputs. */
static inline void expect_same(const bench *b, const char *what) {
    void *want[MOST], *got[MOST];
    cr_assert(b->p->output_count <= MOST);
    take_memory(b, want);
    take_memory(b, got);
    setenv("PITH_JIT", "off", 1);
    pithp_executable *calls = pithp_executable_make(b->s, b->p, false);
    pt_ok(b->s, calls);
    run(b, calls, want);
    pithp_executable *plain = plan_of(b, "off"), *compiled = plan_of(b, "wait");
    run(b, plain, got);
    expect_outputs(b, what, "interpreted", want, got);
    for (int64_t k = 0; k < b->p->output_count; k++)
        memset(got[k], 0xA5, pithp_value_spec(b->p, b->p->outputs[k])->bytes);
    run(b, compiled, got);
    cr_assert(!plain->code && compiled->code, "%s: not compiled: %s", what, said);
    expect_outputs(b, what, "compiled", want, got);
    for (int64_t k = 0; k < b->p->output_count; k++) {
        free(want[k]);
        free(got[k]);
    }
    pithp_executable_free(calls);
    pithp_executable_free(plain);
    pithp_executable_free(compiled);
}

static inline pithp_value
input_of(const bench *b, pithp_program *p, pith_dtype dtype, int64_t n) {
    return pithp_program_input(b->s, p, pithp_spec(b->s, dtype, n > 0, &n));
}

static inline pithp_value
op_in(const bench *b, pithp_program *p, pithp_primitive o, pithp_value x, pithp_value y) {
    return graph_op2(b->s, p, o, x, y);
}

static inline pithp_value control(bench *b,
                                  pithp_primitive primitive,
                                  const void *params,
                                  int count,
                                  const pithp_value *operands,
                                  int program_count,
                                  pithp_program **programs) {
    return graph_control(b->s, b->p, primitive, params, count, operands, program_count,
                         programs);
}

static inline void expect_compiled_loop(const bench *b) {
    pithp_executable *exe = plan_of(b, "wait");
    void *outputs[MOST];
    take_memory(b, outputs);
    run(b, exe, outputs);
    bool loop = false;
    const pithp_compiled *code = exe->code;
    for (int64_t k = 0; code && k < code->count; k++)
        loop |= exe->plan->steps[k].kind == PITHP_STEP_CONTROL && code->steps[k].loops[0];
    cr_assert(loop, "the loop is not compiled: %s", said);
    pithp_executable_free(exe);
    for (int64_t k = 0; k < b->p->output_count; k++)
        free(outputs[k]);
    expect_same(b, "loop");
}

#endif
