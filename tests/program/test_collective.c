/* Collectives as rows: their results' specs, what passes keep, and digests of programs.
 * Values over several ranks are tests of mesh. */
#include "array/array_internal.h"
#include "graph_scope.h"
#include "mesh/mesh_internal.h"
#include "program/op/route.h"

static pithp_mesh_group *group;

static void open_mesh(void) {
    open_scope();
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 1}), NULL));
    group = pithp_mesh_group_of(s, NULL);
    pt_ok(s, group);
}

static pithp_value collective(pithp_program *p, pithp_primitive op, pithp_value x) {
    const pithp_collective_params params = {
        .group = group,
        .pairs = op == PITHP_OP_PPERMUTE ? pithp_mesh_shift_of(s, group, 1, true) : NULL};
    return pithp_program_add(s, p, op, 1, &x, &params, "there:3");
}

/* ---- Specs, over a group that says to have more ranks ---- */

static const char *spec_of(pithp_primitive op,
                           pith_dtype dtype,
                           int rank,
                           const int64_t *shape,
                           pithp_collective_params params) {
    static char text[PITHP_REFUSAL_BYTES];
    const pith_spec *x = pithp_spec(s, dtype, rank, shape);
    pithp_call call = pithp_call_of(op, 1, &x, &params);
    pith_spec result;
    pithp_refusal refusal;
    call.max_rank = PITH_MAX_RANK;
    if (pithp_infer(&call, &result, &refusal) == PITH_OK)
        return pithp_spec_print(&result, text);
    snprintf(text, sizeof text, "%s", refusal.text);
    return text;
}

Test(collective, specs) {
    open_mesh();
    pithp_mesh_group four = {.size = 4, .axes = "x,y"};
    const pithp_collective_params first = {.group = &four},
                                  back = {.group = &four, .axis = 1, .join = 0};
    const int64_t shape[PITH_MAX_RANK] = {3, 8, 1, 1, 1, 1, 1, 1};
#define SPEC(op, dtype, rank, params, wanted)                                            \
    expect_text(spec_of(PITHP_OP_##op, dtype, rank, shape, params), wanted)
    SPEC(PSUM, PITH_F16, 2, first, "f16[3,8]");
    SPEC(PSUM, PITH_BOOL, 2, first, "expected integers or floats, got bool");
    SPEC(PMAX, PITH_BOOL, 2, first, "bool[3,8]");
    SPEC(PSCAN, PITH_U64, 0, first, "u64[]");
    SPEC(PSCAN, PITH_I16, 0, first, "expected integers of 4 or 8 bytes, got i16");
    SPEC(ALL_STACK, PITH_F64, 1, first, "f64[4,3]");
    SPEC(ALL_STACK, PITH_F64, 8, first, "the result has more than 8 axes");
    SPEC(ALL_GATHER, PITH_F64, 2, back, "f64[3,32]");
    SPEC(ALL_GATHER, PITH_F64, 1, back, "axis 1 of an array of rank 1");
    SPEC(REDUCE_SCATTER, PITH_I8, 2, back, "i8[3,2]");
    SPEC(REDUCE_SCATTER, PITH_I8, 2, first,
         "axis 0 has 3 elements, expected a multiple of the 4 ranks along x,y");
    SPEC(ALL_TO_ALL, PITH_F64, 2, back, "f64[12,2]");
    SPEC(PSUM_ROWS, PITH_F32, 2, first, "f32[8]");
    SPEC(PSUM_ROWS, PITH_F32, 0, first, "rows of an array of rank 0");
    SPEC(PPERMUTE, PITH_F32, 1, first, "expected pairs");
    const pithp_collective_params far = {.group = &four, .root = 4};
    SPEC(PBROADCAST, PITH_F32, 1, far, "root 4, expected 0 to 3");
    close_scope();
}

/* ---- What passes keep ---- */

/* The collectives in the order of execution; braces around nested programs. */
static void list_collectives(const pithp_program *p, char *text) {
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (pithp_op_has(i->primitive, PITHP_TRAIT_COLLECTIVE))
            strcat(strcat(text, pithp_ops[i->primitive].name), " ");
        for (int b = 0; b < i->program_count; b++) {
            strcat(text, "{ ");
            list_collectives(i->programs[b], text);
            strcat(text, "} ");
        }
    }
}

static void expect_collectives(const pithp_program *p, const char *wanted) {
    char text[1024] = "";
    list_collectives(p, text);
    expect_text(text, wanted);
}

/* A program with `psum` of its first input, and no result: of a branch or a body. */
static pithp_program *sum_of_input(int inputs, bool unused) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3);
    for (int k = 1; k < inputs; k++)
        graph_input(s, p, PITH_F64, 3);
    const pithp_value sum = collective(p, PITHP_OP_PSUM, x);
    pithp_program_output(s, p, unused ? p->inputs[inputs - 1] : sum);
    return p;
}

/* Equal ones, unused ones, invariant ones in loops and those of branches. */
static pithp_program *many(void) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 3),
                      i = graph_input(s, p, PITH_BOOL, -1);
    const pithp_value twice = graph_op2(s, p, PITHP_OP_ADD, x, x);
    const pithp_value a = collective(p, PITHP_OP_PSUM, twice);
    collective(p, PITHP_OP_PSUM, twice); /* equal, and unused */
    collective(p, PITHP_OP_PPERMUTE, x);
    const bool yes = true;
    const pithp_value known =
        pithp_program_literal(s, p, graph_spec(s, PITH_BOOL, -1), &yes);
    pithp_program *branches[2] = {sum_of_input(1, false), sum_of_input(1, true)};
    const pithp_value of[2] = {known, x};
    graph_control(s, p, PITHP_OP_COND, NULL, 2, of, 2, branches); /* becomes a branch */
    pithp_program *others[2] = {sum_of_input(1, false), sum_of_input(1, true)};
    const pithp_value on[2] = {i, a};
    graph_control(s, p, PITHP_OP_COND, NULL, 2, on, 2, others);
    /* the sum of an invariant operand stays in the loop, whose carry is unused */
    pithp_program *body[1] = {sum_of_input(2, true)};
    const pithp_loop_params loop = {.length = 5, .constants = 1, .carries = 1};
    const pithp_value in[2] = {x, a};
    graph_control(s, p, PITHP_OP_SCAN, &loop, 2, in, 1, body);
    collective(p, PITHP_OP_ALL_GATHER, x);
    pithp_program_output(s, p, graph_op2(s, p, PITHP_OP_MUL, a, x));
    return p;
}

Test(collective, passes_keep_number_and_order) {
    open_mesh();
    pithp_program *p = many();
    pt_ok(s);
    expect_collectives(p, "psum psum ppermute { psum } { psum } { psum } { psum } "
                          "{ psum } all_gather ");
    cr_assert(p->has_collectives && p->has_effects);
    for (int round = 0; round < 2; round++) {
        pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
        pt_ok(s, better);
        cr_assert(better->has_collectives);
        expect_collectives(better, "psum psum ppermute psum { psum } { psum } { psum } "
                                   "all_gather ");
        pithp_program_release(p);
        p = better;
    }
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_FUSED);
    pt_ok(s, plan);
    const pithp_instruction *last = NULL;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->kind == PITHP_STEP_FUSED || !pithp_has_collectives(step->call))
            continue;
        cr_assert(!last || step->call > last, "step %d", (int)k);
        last = step->call;
    }
    cr_assert(last);
    pithp_plan_free(plan);
    pithp_program_release(p);
    close_scope();
}

/* ---- Rows that become one ---- */

/* Two routes of three rows to one rank, from an input on: what a row names last. */
typedef struct routes {
    pithp_value first[PITHP_ROUTE_OPERANDS], second[PITHP_ROUTE_OPERANDS];
} routes;

static routes add_routes(pithp_program *p) {
    routes r;
    pithp_value *const both[] = {r.first, r.second};
    const int64_t peers = 1, send[] = {1, 3};
    for (int k = 0; k < 2; k++) {
        const pith_spec *counts = pithp_spec(s, PITH_I64, 1, &peers);
        both[k][0] = pithp_program_input(s, p, pithp_spec(s, PITH_I32, 1, &peers));
        both[k][1] = pithp_program_input(s, p, pithp_spec(s, PITH_I32, 2, send));
        both[k][2] = pithp_program_input(s, p, counts);
        both[k][3] = pithp_program_input(s, p, counts);
    }
    return r;
}

/* into < 0: x is sent. */
static pithp_value
move_by(pithp_program *p, const pithp_value *route, pithp_value x, pithp_value into) {
    const pithp_collective_params params = {.group = group, .root = 3};
    pithp_value operands[PITHP_ROUTE_OPERANDS + 2] = {x, into};
    const int arrays = into < 0 ? 1 : 2;
    memcpy(operands + arrays, route, PITHP_ROUTE_OPERANDS * sizeof *route);
    const pithp_value v =
        pithp_program_add(s, p, into < 0 ? PITHP_OP_ROUTE_SEND : PITHP_OP_ROUTE_RETURN,
                          arrays + PITHP_ROUTE_OPERANDS, operands, &params, "there:5");
    pt_ok(s, v >= 0);
    return v;
}

/* The leaves of each row that moves, in order: "2 1 "; other collectives by name. */
static void list_leaves(const pithp_program *p, char *text) {
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (pithp_moves_by_route(i->primitive))
            sprintf(text + strlen(text), "%d ", (int)i->result_count);
        else if (pithp_op_has(i->primitive, PITHP_TRAIT_COLLECTIVE))
            strcat(strcat(text, pithp_ops[i->primitive].name), " ");
        for (int b = 0; b < i->program_count; b++)
            list_leaves(i->programs[b], text);
    }
}

/* After the pass, and after it again; releases the program. */
static void expect_leaves(pithp_program *p, const char *wanted) {
    for (int again = 0; again < 2; again++) {
        char text[256] = "";
        pithp_refusal why;
        pithp_program *joined = pithp_program_optimise(s, p, PITHP_PASS_MESSAGES);
        pt_ok(s, joined);
        cr_assert(pithp_program_verify(joined, &why) == PITH_OK, "%s", why.text);
        list_leaves(joined, text);
        expect_text(text, wanted);
        pithp_program_release(p);
        p = joined;
    }
    pithp_program_release(p);
}

/* What later rows read is computed first, whatever it is. */
Test(collective, rows_of_one_route_become_one) {
    open_mesh();
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 7),
                      y = graph_input(s, p, PITH_I32, 4);
    const routes r = add_routes(p);
    const pithp_value a = move_by(p, r.first, x, -1);
    const pithp_value late = graph_op(s, p, PITHP_OP_NEG, a, -1, NULL);
    const pithp_value z = graph_op2(s, p, PITHP_OP_ADD, y, y);
    const pithp_value b = move_by(p, r.first, z, -1);
    const pithp_value c = move_by(p, r.first, x, -1);
    OUTPUTS(p, b, late, c, a);
    pithp_program *joined = pithp_program_optimise(s, p, PITHP_PASS_MESSAGES);
    pt_ok(s, joined);
    const char *body = strstr(graph_text(joined), "  %10");
    expect_text(body ? body : "",
                "  %10 = add %1, %1 : i32[4]\n"
                "  %11, %12, %13 = route_send %0, %10, %0, %2, %3, %4, %5 "
                "{group=\"x\", root=3} : f64[3], i32[3], f64[3]\n"
                "  %14 = neg %11 : f64[3]\n"
                "  return %12, %14, %13, %11\n"
                "}\n");
    pithp_program_release(joined);
    expect_leaves(p, "3 ");
    close_scope();
}

Test(collective, rows_stay_where_they_wait_or_another_must_run) {
    open_mesh();
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, 7),
                      y = graph_input(s, p, PITH_F64, 3);
    const routes r = add_routes(p);
    const pithp_value a = move_by(p, r.first, x, -1);
    const pithp_value b =
        move_by(p, r.first, graph_op(s, p, PITHP_OP_NEG, a, -1, NULL), -1);
    const pithp_value c = move_by(p, r.first, x, -1);
    const pithp_value sum = collective(p, PITHP_OP_PSUM, x);
    const pithp_value d = move_by(p, r.first, y, -1);
    const pithp_value e = move_by(p, r.second, y, -1);
    const pithp_value f = move_by(p, r.second, x, -1);
    const pithp_value g = move_by(p, r.second, y, x);
    const pithp_value h = move_by(p, r.second, d, y);
    const pithp_value i =
        move_by(p, r.second, graph_op(s, p, PITHP_OP_NEG, x, -1, NULL), x);
    OUTPUTS(p, a, b, c, sum, d, e, f, g, h, i);
    /* i sends back other rows than those that g and h received */
    expect_leaves(p, "1 2 psum 1 2 2 1 ");
    close_scope();
}

/* The number of a rank is no constant: programs of all ranks are equal. */
Test(collective, the_number_of_a_rank_is_not_folded) {
    open_mesh();
    pithp_program *p = pithp_program_make(s);
    const pithp_collective_params params = {.group = group};
    for (int k = 0; k < 2; k++)
        pithp_program_output(
            s, p, pithp_program_add(s, p, PITHP_OP_AXIS_INDEX, 0, NULL, &params, NULL));
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    pt_ok(s, better);
    expect_text(graph_text(better), "program() {\n"
                                    "  %0 = axis_index {group=\"x\"} : i32[]\n"
                                    "  return %0, %0\n"
                                    "}\n");
    cr_assert(!better->has_collectives);
    pithp_program_release(better);
    pithp_program_release(p);
    close_scope();
}

/* ---- Digests ---- */

static uint64_t digest_of(int64_t n, double number, bool exchanged, const char *site) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = graph_input(s, p, PITH_F64, n), y = graph_number(s, p, number);
    const pithp_value sum =
        graph_op2(s, p, PITHP_OP_SUB, exchanged ? y : x, exchanged ? x : y);
    const pithp_collective_params params = {.group = group};
    pithp_program_output(s, p,
                         pithp_program_add(s, p, PITHP_OP_PSUM, 1, &sum, &params, site));
    const uint64_t digest = pithp_program_digest(s, p);
    pithp_program_release(p);
    pt_ok(s, digest);
    return digest;
}

Test(collective, digests_are_of_content) {
    open_mesh();
    const uint64_t first = digest_of(3, 1.5, false, "a:1");
    cr_assert(digest_of(3, 1.5, false, "b:2") == first);
    cr_assert(digest_of(4, 1.5, false, "a:1") != first);
    cr_assert(digest_of(3, 1.25, false, "a:1") != first);
    cr_assert(digest_of(3, 1.5, true, "a:1") != first);
    /* of elements in a buffer, wherever that is */
    uint64_t digests[3];
    for (int k = 0; k < 3; k++) {
        double elements[1000] = {k / 2};
        const pith_array *a = pith_array_copy(s, PITH_F64, PITH_SHAPE(1000), elements);
        pt_ok(s, a);
        pithp_program *p = pithp_program_make(s);
        pithp_buffer *buffer = pithp_array_buffer(a);
        pithp_program_output(
            s, p,
            pithp_program_constant(s, p, pithp_spec(s, PITH_F64, 1, &(int64_t){1000}),
                                   buffer, a->data));
        digests[k] = pithp_program_digest(s, p);
        pithp_program_release(p);
    }
    cr_assert(digests[0] == digests[1] && digests[0] != digests[2]);
    close_scope();
}

/* Parts are told apart by the digests up to them. */
Test(collective, parts_of_programs) {
    open_mesh();
    pithp_program *p = many();
    const pithp_parts of = {s, p};
    const int64_t count = pithp_program_parts(&of);
    uint64_t before = 0;
    int sums = 0;
    for (int64_t k = 0; k < count; k++) {
        pithp_intent_part part = {.digest = 0};
        pithp_program_part(&of, k, &part);
        cr_assert(part.operation && part.digest != before, "part %d", (int)k);
        before = part.digest;
        sums += !strcmp(part.operation, "psum") && !strcmp(part.what, "f64[3] over x") &&
                !strcmp(part.site, "there:3");
    }
    cr_assert(sums == 7, "%d", sums);
    pithp_program_release(p);
    close_scope();
}
