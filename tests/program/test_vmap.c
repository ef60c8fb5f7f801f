/* Batches of programs: what is batched and what is computed once, dtypes of indices that
 * are too narrow for the entries, errors, and memory that runs out. */
#include "fail_allocator.h"
#include "graph_test.h"
#include "program/host/gather.h"
#include "program/plan/plan.h"
#include "program/vmap/vmap.h"

#define SCOPED(name) PT_SCOPED(vmap, name)

static const bool first[] = {true, false, false, false},
                  second[] = {false, true, false, false},
                  both[] = {true, true, true, true};

static pithp_program *
batch(pith_scope *s, pithp_program *p, int64_t size, const bool *mapped, bool *outputs) {
    pithp_program *q = pithp_program_vmap(s, p, size, mapped, NULL, outputs);
    pt_ok(s, q);
    pithp_program_release(p);
    return q;
}

/* ---- What is batched ---- */

/* x and y have the extent of the batch: nothing is guessed from it. */
SCOPED(entries_are_tracked) {
    bool outputs[3];
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      y = graph_input(s, p, PITH_F64, 3),
                      once = graph_op(s, p, PITHP_OP_SIN, y, -1, NULL);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_ADD, x, once));
    pithp_program_output(s, p, once);
    pithp_program_output(s, p, graph_number(s, p, 2));
    pithp_program *q = batch(s, p, 3, first, outputs);
    cr_assert(outputs[0] && !outputs[1] && !outputs[2]);
    expect_text(graph_text(q), "program(%0: f64[3,3], %1: f64[3]) {\n"
                               "  %2 = sin %1 : f64[3]\n"
                               "  %3 = add %0, %2 : f64[3,3]\n"
                               "  %4 = constant f64[] 2\n"
                               "  return %3, %2, %4\n"
                               "}\n");
    pithp_program_release(q);
}

/* The outer level has x, the inner one y: x[i] - y[j]. */
SCOPED(batches_of_one_size_nest) {
    bool outputs[1];
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, -1),
                      y = graph_input(s, p, PITH_F64, -1);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_SUB, x, y));
    pithp_program *q = batch(s, batch(s, p, 3, second, outputs), 3, first, outputs);
    const double a[] = {10, 20, 30}, b[] = {1, 2, 3};
    double to[9];
    graph_run(s, q, PITHP_PASS_ALL, (const void *const[]){a, b}, (void *const[]){to});
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            cr_expect(to[3 * i + j] == a[i] - b[j]);
    pithp_program_release(q);
}

/* A lower rank is aligned as for an entry: v[n] + m[r,n], the vector mapped. */
SCOPED(operands_of_lower_rank_broadcast_from_the_right) {
    bool outputs[1];
    pithp_program *p = pithp_program_make(s);
    const pithp_value v = graph_input(s, p, PITH_F64, 2),
                      m = pithp_program_input(
                          s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){2, 2}));
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_ADD, v, m));
    pithp_program *q = batch(s, p, 2, both, outputs);
    const double a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40, 50, 60, 70, 80};
    double to[8];
    graph_run(s, q, PITHP_PASS_ALL, (const void *const[]){a, b}, (void *const[]){to});
    for (int k = 0; k < 8; k++)
        cr_expect(to[k] == a[k / 4 * 2 + k % 2] + b[k]);
    pithp_program_release(q);
}

/* ---- Indices ---- */

/* Promised indices ascend in the batch too: after the numbers of the entries. */
SCOPED(a_promise_to_ascend_holds_for_entries) {
    bool outputs[1];
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP, .sorted = true};
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 4),
                      i = graph_input(s, p, PITH_I64, 6),
                      u = graph_input(s, p, PITH_F64, 6);
    pithp_program_output(s, p,
                         pithp_program_add(s, p, PITHP_OP_SCATTER_ADD, 3,
                                           (const pithp_value[]){x, i, u}, &params,
                                           NULL));
    for (int depth = 1; depth < 3; depth++) {
        p = batch(s, p, 3, both, outputs);
        const pithp_instruction *scatter = NULL;
        for (int64_t k = 0; k < p->instruction_count; k++)
            if (p->instructions[k].primitive == PITHP_OP_SCATTER_ADD)
                scatter = &p->instructions[k];
        const pith_spec *specs[6];
        const pithp_call call = pithp_instruction_call(p, scatter, specs);
        const pithp_index_params *made = scatter->params;
        cr_assert(pithp_index_arrays(&call) == 1 + depth);
        cr_assert(pithp_index_ascends(&call));
        cr_assert(made->numbers == (uint64_t)depth && made->apart == 6);
    }
    pithp_program_release(p);
}

enum { MANY = 300 };

/* i8 and u8 have no number for entry 299. */
static void narrow(pith_scope *s, pith_dtype dtype) {
    static double x[MANY * 4], to[MANY * 2];
    static uint8_t index[MANY * 2];
    bool outputs[1];
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP};
    pithp_program *p = pithp_program_make(s);
    const pithp_value v = graph_input(s, p, PITH_F64, 4), i = graph_input(s, p, dtype, 2);
    pithp_program_output(s, p, graph_op(s, p, PITHP_OP_TAKE, v, i, &params));
    pithp_program *q = batch(s, p, MANY, both, outputs);
    for (int k = 0; k < MANY * 4; k++)
        x[k] = k;
    for (int k = 0; k < MANY * 2; k++)
        index[k] =
            (uint8_t)(k % 5 == 4 ? 0xfe : k % 4); /* -2, or 254, which is dropped */
    graph_run(s, q, PITHP_PASS_ALL, (const void *const[]){x, index}, (void *const[]){to});
    for (int k = 0; k < MANY * 2; k++)
        cr_assert(to[k] == (k % 5 < 4          ? k / 2 * 4 + k % 4
                            : dtype == PITH_I8 ? k / 2 * 4 + 2
                                               : 0),
                  "%s, %d: %g", pith_dtype_name(dtype), k, to[k]);
    pithp_program_release(q);
}

SCOPED(indices_are_as_wide_as_the_entries) {
    narrow(s, PITH_I8);
    narrow(s, PITH_U8);
}

/* Above 2^63: beyond every extent, not negative. */
SCOPED(unsigned_indices_stay_beyond_the_end) {
    const uint64_t index[] = {1, UINT64_MAX, UINT64_MAX - 1, 0};
    const double x[] = {1, 2, 3, 4};
    double to[4];
    bool outputs[1];
    const pithp_index_params params = {.mode = PITHP_INDEX_CLIP};
    pithp_program *p = pithp_program_make(s);
    const pithp_value v = graph_input(s, p, PITH_F64, 2),
                      i = graph_input(s, p, PITH_U64, 2);
    pithp_program_output(s, p, graph_op(s, p, PITHP_OP_TAKE, v, i, &params));
    pithp_program *q = batch(s, p, 2, both, outputs);
    graph_run(s, q, PITHP_PASS_ALL, (const void *const[]){x, index}, (void *const[]){to});
    cr_assert(to[0] == 2 && to[1] == 2 && to[2] == 4 && to[3] == 3);
    pithp_program_release(q);
}

/* ---- Errors ---- */

/* x[3,5] at an index along axis 1, with every operand mapped or one of them. */
static void refused(pith_scope *s,
                    pithp_primitive op,
                    const bool *mapped,
                    const int64_t *index,
                    const char *text) {
    static const double x[60];
    double to[60];
    bool outputs[1];
    const int64_t shape[] = {3, 5};
    const pithp_index_params params = {.axis = 1, .mode = PITHP_INDEX_ERROR};
    pithp_program *p = pithp_program_make(s);
    const pithp_value v = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, shape)),
                      i = graph_input(s, p, PITH_I64, 3),
                      u = pithp_program_input(
                          s, p, pithp_spec(s, PITH_F64, 2, (const int64_t[]){3, 3}));
    const pithp_value operands[] = {v, i, u};
    pithp_program_output(s, p,
                         pithp_program_add(s, p, op, op == PITHP_OP_TAKE ? 2 : 3,
                                           operands, &params, "here:3"));
    pithp_program *q = batch(s, p, 4, mapped, outputs);
    pithp_executable *exe = pithp_executable_make(s, q, true);
    pt_ok(s, exe);
    pithp_executable_run(s, exe, (const void *const[]){x, index, x}, (void *const[]){to});
    pt_fails(PITH_E_INDEX, s, pith_wait(s));
    pt_says(text);
    pithp_executable_free(exe);
    pithp_program_release(q);
}

SCOPED(index_errors_name_the_entry_and_the_axis) {
    const int64_t each[] = {0, 1, 2, 0, 1, 2, 0, 9, 2, 0, 1, 9}, shared[] = {0, 7, 1};
    refused(s, PITHP_OP_TAKE, first, shared,
            "take: index 7 at position 1 is out of range for axis 1 with extent 5");
    refused(
        s, PITHP_OP_TAKE, second, each,
        "take: index 9 at position 1 of entry 2 is out of range for axis 1 with extent 5");
    refused(
        s, PITHP_OP_TAKE, both, each,
        "take: index 9 at position 1 of entry 2 is out of range for axis 1 with extent 5");
    refused(
        s, PITHP_OP_SCATTER_ADD, both, each,
        "scatter_add: index 9 at position 1 of entry 2 is out of range for axis 1 with extent 5");
    refused(
        s, PITHP_OP_SCATTER_SET, first, shared,
        "scatter_set: index 7 at position 1 is out of range for axis 1 with extent 5");
}

SCOPED(the_rank_ends) {
    const pithp_broadcast_params to = {.rank = PITH_MAX_RANK,
                                       .shape = {1, 1, 1, 1, 1, 1, 1, 1}};
    bool outputs[1];
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, -1);
    pithp_program_output(s, p, graph_op(s, p, PITHP_OP_BROADCAST, x, -1, &to));
    pt_fails(PITH_E_SHAPE, s, pithp_program_vmap(s, p, 2, first, NULL, outputs));
    pt_says(
        "broadcast gives f64[1,1,1,1,1,1,1,1], to which a batch adds an axis; arrays have at most 8 (here:1)");
    pith_clear(s);
    pithp_program_release(p);
}

/* ---- Memory ---- */

/* take(x, i) squared; -1: memory ran out. */
static pithp_value a_program(pith_scope *s, pithp_program *p) {
    static const int64_t many = 4, few = 2;
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP};
    const pith_spec *of_x = pithp_spec(s, PITH_F64, 1, &many),
                    *of_i = of_x ? pithp_spec(s, PITH_U8, 1, &few) : NULL;
    const pithp_value x = of_i ? pithp_program_input(s, p, of_x) : -1,
                      i = x < 0 ? -1 : pithp_program_input(s, p, of_i),
                      y = i < 0 ? -1 : graph_op(s, p, PITHP_OP_TAKE, x, i, &params),
                      z = y < 0 ? -1 : graph_op2(s, p, PITHP_OP_MUL, y, y);
    return z >= 0 && pithp_program_output(s, p, z) ? z : -1;
}

static pith_status a_batch(const pith_open_options *options) {
    bool outputs[1];
    pith_runtime *rt = pith_open(options);
    pith_scope *s = rt ? pith_scope_open(rt) : NULL;
    pithp_program *p = s && !pith_failed(s) ? pithp_program_make(s) : NULL,
                  *q = p && a_program(s, p) >= 0
                           ? pithp_program_vmap(s, p, MANY, both, NULL, outputs)
                           : NULL;
    const pith_status code = s ? pith_code(s) : PITH_E_MEMORY;
    cr_assert((q != NULL) == (code == PITH_OK));
    pithp_program_release(p);
    pithp_program_release(q);
    if (s)
        pith_scope_close(s);
    if (rt)
        pith_close(rt);
    return code;
}

Test(vmap, memory_runs_out) {
    const pt_failures f = pt_fail_each(a_batch);
    cr_assert(f.errors > 0);
}
