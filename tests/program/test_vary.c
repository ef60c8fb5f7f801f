/* Over which axes values vary, what is refused for it, and where values are widened. One
 * rank is enough: only the names of axes count. */
#include "graph_scope.h"
#include "mesh/mesh_internal.h"
#include "program/derive/rules.h"
#include "program/vary/vary.h"
#include "program/vmap/rules.h"

enum { MOST = 12, ROWS = 4 };

static const pith_mesh *mesh;

static void begin(void) {
    open_scope();
    mesh = pith_mesh_open(s, PITH_MESH_AXES({"x", 1}, {"y", 1}, {"z", 1}), NULL);
    pt_ok(s, mesh != NULL);
}

/* ---- Programs ---- */

static pithp_value rows(pithp_program *p) {
    return graph_input(s, p, PITH_F64, ROWS);
}

/* A collective; x < 0: without operand. */
static pithp_value
over(pithp_program *p, pithp_primitive op, const char *axes, pithp_value x) {
    pithp_mesh_group *group = pithp_mesh_group_of(s, axes);
    const pithp_collective_params params = {
        .group = group,
        .pairs = op == PITHP_OP_PPERMUTE ? pithp_mesh_shift_of(s, group, 1, true) : NULL};
    const pithp_vary_params mark = {.group = group};
    const bool marks = op == PITHP_OP_VARY || op == PITHP_OP_REPLICATED;
    const pithp_value v =
        pithp_program_add(s, p, op, x >= 0, &x,
                          marks ? (const void *)&mark : (const void *)&params, "here:3");
    pt_ok(s, v >= 0);
    return v;
}

/* ---- Sets ---- */

/* "x,yz,-": of three values. */
static void read_sets(const char *text, int64_t count, pithp_axis_set *sets) {
    int64_t n = 0;
    sets[0] = 0;
    for (; *text; text++) {
        if (*text == ',')
            sets[++n] = 0;
        else if (*text != '-')
            sets[n] |= 1U << (*text - 'x');
    }
    cr_assert(count == 0 || n + 1 == count, "%d sets for %d", (int)n + 1, (int)count);
}

static const char *print_sets(int64_t count, const pithp_axis_set *sets) {
    static char text[256];
    char *at = text;
    for (int64_t k = 0; k < count; k++) {
        if (k)
            *at++ = ',';
        if (!sets[k])
            *at++ = '-';
        for (int axis = 0; axis < 3; axis++)
            if (sets[k] >> axis & 1)
                *at++ = (char)('x' + axis);
    }
    *at = 0;
    return text;
}

static bool
check(const pithp_program *p, const char *in, const char *most, pithp_axis_set *out) {
    pithp_axis_set inputs[MOST], claimed[MOST];
    static const char *const names[MOST] = {".first", ".second", ".third"};
    read_sets(in, p->input_count, inputs);
    read_sets(most ? most : "-", most ? p->output_count : 0, claimed);
    const pithp_variance_claim claim = {.mesh = mesh,
                                        .inputs = inputs,
                                        .count = p->output_count,
                                        .values = p->outputs,
                                        .most = most ? claimed : NULL,
                                        .names = names,
                                        .function = "pith_shard_map: f"};
    return pithp_program_check_variance(s, p, &claim, out);
}

static void expect(const pithp_program *p, const char *in, const char *wanted) {
    pithp_axis_set out[MOST], inputs[MOST], values[64];
    pt_ok(s, check(p, in, NULL, out));
    const char *got = print_sets(p->output_count, out);
    cr_assert_str_eq(got, wanted, "%s gives %s, expected %s", in, got, wanted);
    read_sets(in, p->input_count, inputs);
    cr_assert(p->value_count <= 64);
    pt_ok(s, pithp_program_variance(s, p, inputs, values));
    for (int64_t k = 0; k < p->output_count; k++)
        cr_assert_eq(values[p->outputs[k]], out[k]);
}

static void
refused(const pithp_program *p, const char *in, const char *most, const char *message) {
    pithp_axis_set out[MOST];
    cr_assert(!check(p, in, most, out));
    cr_assert_eq(pith_code(s), PITH_E_DIVERGED);
    cr_assert(strstr(pith_message(s), message), "expected \"%s\" in \"%s\"", message,
              pith_message(s));
    pith_clear(s);
}

/* ---- Rows ---- */

Test(vary, rows_join_their_operands) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = number(p), b = number(p), one = graph_number(s, p, 1);
    OUTPUTS(p, add(p, a, b), add(p, a, one), add(p, one, one));
    expect(p, "-,-", "-,-,-");
    expect(p, "x,-", "x,x,-");
    expect(p, "x,yz", "xyz,x,-");
    pithp_program_release(p);
    close_scope();
}

Test(vary, reductions_take_axes_and_moves_add_them) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = rows(p);
    OUTPUTS(p, over(p, PITHP_OP_PSUM, "x", a), over(p, PITHP_OP_PMAX, "x,y", a),
            over(p, PITHP_OP_PSUM_ROWS, "y", a), over(p, PITHP_OP_PBROADCAST, "x", a),
            over(p, PITHP_OP_PPERMUTE, "z", a), over(p, PITHP_OP_ALL_GATHER, "x", a),
            over(p, PITHP_OP_REDUCE_SCATTER, "x", a),
            over(p, PITHP_OP_ALL_TO_ALL, "z", a), over(p, PITHP_OP_AXIS_INDEX, "y", -1),
            over(p, PITHP_OP_VARY, "y", a), over(p, PITHP_OP_REPLICATED, "x", a));
    expect(p, "-", "-,-,-,-,z,x,x,z,y,y,-");
    expect(p, "xy", "y,-,x,y,xyz,xy,xy,xyz,y,xy,y");
    pithp_program_release(p);
    close_scope();
}

/* A row that all ranks run together works over axes, and has rules. */
Test(vary, every_collective_has_its_rules) {
    begin();
    pithp_collective_params params = {.group = pithp_mesh_group_of(s, NULL)};
    int count = 0;
    for (int op = 0; op < PITHP_PRIMITIVE_COUNT; op++) {
        const pithp_instruction i = {.primitive = (pithp_primitive)op, .params = &params};
        if (!pithp_op_has(i.primitive, PITHP_TRAIT_COLLECTIVE))
            continue;
        const pithp_axes_of_row row = pithp_axes_of(&i);
        const pithp_tangent_row tangent = pithp_tangent_of(i.primitive);
        cr_assert(row.effect != PITHP_AXES_KEPT && row.moves_data && row.axes == 7, "%s",
                  pithp_ops[op].name);
        cr_assert(tangent.kind == PITHP_TANGENT_LINEAR ? tangent.transpose != NULL
                  : tangent.kind == PITHP_TANGENT_BY
                      ? tangent.by != NULL
                      : op == PITHP_OP_PSCAN || op == PITHP_OP_ROUTE_MAKE,
                  "%s", pithp_ops[op].name);
        cr_assert(pithp_batch_of(i.primitive).flow, "%s", pithp_ops[op].name);
        count++;
    }
    cr_assert(count >= 11);
    close_scope();
}

/* ---- Control flow ---- */

/* A branch with inputs x, y: x + y or y over ranks. */
static pithp_program *branch(bool sums, const char *axes) {
    pithp_program *p = pithp_program_make(s);
    const pithp_value x = number(p), y = number(p);
    OUTPUTS(p, sums ? over(p, PITHP_OP_PSUM, axes, y) : add(p, x, y),
            graph_number(s, p, 1));
    return p;
}

static pithp_program *choice(const char *axes) {
    pithp_program *p = pithp_program_make(s),
                  *branches[2] = {branch(false, axes), branch(axes, axes)};
    const pithp_value in[] = {graph_input(s, p, PITH_BOOL, -1), number(p), number(p)};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 3, in, 2, branches);
    OUTPUTS(p, v, v + 1, in[1]);
    return p;
}

Test(vary, branches_vary_as_their_predicate_does) {
    begin();
    pithp_program *p = choice(NULL);
    expect(p, "-,x,-", "x,-,x");
    expect(p, "y,x,-", "xy,y,x");
    expect(p, "y,-,-", "y,y,-");
    pithp_program_release(p);
    close_scope();
}

Test(vary, a_collective_in_a_branch_that_not_all_take_is_refused) {
    begin();
    pithp_program *p = choice("x");
    expect(p, "-,x,x", "x,-,x");
    expect(p, "y,x,xz", "xyz,y,x"); /* all ranks along x take the same branch */
    refused(p, "x,-,-", NULL,
            "psum is in a branch at here:2 whose predicate varies over x");
    refused(p, "xy,-,-", NULL, "predicate varies over x,");
    pithp_program_release(p);
    close_scope();
}

/* A scan of one carry and a constant, over rows; the body's result by `sums`. */
static pithp_program *
scan_of(pithp_program *p, const pithp_value *in, bool sums, pithp_value *result) {
    pithp_program *body = pithp_program_make(s);
    const pithp_value k = number(body), a = number(body), b = number(body),
                      row = number(body);
    (void)a;
    OUTPUTS(body, b, sums ? over(body, PITHP_OP_PSUM, "x", k) : add(body, k, b), row);
    const pithp_loop_params params = {.length = ROWS, .constants = 1, .carries = 2};
    *result = graph_control(s, p, PITHP_OP_SCAN, &params, 4, in, 1, &body);
    return p;
}

Test(vary, carries_go_round_until_nothing_is_new) {
    begin();
    for (int sums = 0; sums < 2; sums++) {
        pithp_program *p = pithp_program_make(s);
        const pithp_value in[4] = {number(p), number(p), number(p), rows(p)};
        pithp_value v;
        scan_of(p, in, sums, &v);
        OUTPUTS(p, v, v + 1, v + 2);
        expect(p, "-,-,-,-", "-,-,-");
        expect(p, "-,x,-,z", "x,-,z");
        expect(p, "-,-,x,-", "x,x,-");
        expect(p, "xy,-,-,-", sums ? "y,y,-" : "xy,xy,-");
        pithp_program_release(p);
    }
    close_scope();
}

/* As long as i < limit (of all ranks, with `sums`): i' = i + step, x' = x, or over ranks.
 */
static pithp_program *loop(const char *reduces, const char *sums) {
    pithp_program *p = pithp_program_make(s), *both[2];
    for (int k = 0; k < 2; k++) {
        pithp_program *q = both[k] = pithp_program_make(s);
        const pithp_value bound = number(q), i = number(q), x = number(q);
        const pithp_value limit =
            reduces && k == 0 ? over(q, PITHP_OP_PMAX, reduces, bound) : bound;
        if (k == 0)
            OUTPUTS(q, graph_op2(s, q, PITHP_OP_LT, i, limit));
        else
            OUTPUTS(q, add(q, i, bound), sums ? over(q, PITHP_OP_PSUM, sums, x) : x);
    }
    pithp_value in[4]; /* limit, step, i, x */
    for (int k = 0; k < 4; k++)
        in[k] = number(p);
    const pithp_while_params params = {.cond_operands = 1, .body_operands = 1};
    const pithp_value v = graph_control(s, p, PITHP_OP_WHILE, &params, 4, in, 2, both);
    OUTPUTS(p, v, v + 1);
    return p;
}

Test(vary, loops_vary_as_their_length_does) {
    begin();
    pithp_program *p = loop(NULL, NULL);
    expect(p, "-,-,-,x", "-,x");
    expect(p, "y,-,-,-", "y,y");
    expect(p, "-,y,-,x", "y,xy"); /* the step decides by way of i */
    pithp_program_release(p);
    close_scope();
}

Test(vary, a_collective_in_a_loop_of_varying_length_is_refused) {
    begin();
    pithp_program *p = loop(NULL, "x");
    expect(p, "-,-,-,x", "-,x"); /* without an iteration x is not added up */
    expect(p, "y,-,-,x", "y,xy");
    refused(p, "x,-,-,-", NULL,
            "psum is in a loop at here:2 whose number of iterations varies over x");
    pithp_program_release(p);
    p = loop("x", "x"); /* the length is that of the greatest limit */
    expect(p, "x,-,-,x", "-,x");
    pithp_program_release(p);
    p = loop("x", NULL); /* the condition itself is evaluated equally often */
    expect(p, "x,-,-,-", "-,-");
    refused(p, "x,x,-,-", NULL, "pmax is in a loop");
    pithp_program_release(p);
    close_scope();
}

/* A psum in a scan in a branch. */
Test(vary, a_collective_is_found_at_any_depth) {
    begin();
    pithp_program *p = pithp_program_make(s), *branches[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = branches[b] = pithp_program_make(s);
        const pithp_value in[4] = {number(q), number(q), number(q), rows(q)};
        pithp_value v = in[1];
        if (b)
            scan_of(q, in, true, &v);
        OUTPUTS(q, v);
    }
    const pithp_value in[] = {graph_input(s, p, PITH_BOOL, -1), number(p), number(p),
                              number(p), rows(p)};
    OUTPUTS(p, graph_control(s, p, PITHP_OP_COND, NULL, 5, in, 2, branches));
    expect(p, "z,x,-,-,-", "z");
    expect(p, "-,x,y,-,-", "y");
    refused(p, "x,-,-,-,-", NULL, "psum is in a branch at here:2");
    pithp_program_release(p);
    close_scope();
}

/* ---- Claims ---- */

Test(vary, an_output_that_varies_more_than_claimed_is_refused) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = number(p), i = over(p, PITHP_OP_AXIS_INDEX, "y", -1);
    const pithp_cast_params f64 = {PITH_F64};
    const pithp_value y = graph_op(s, p, PITHP_OP_CAST, i, -1, &f64);
    OUTPUTS(p, a, add(p, a, y));
    pithp_axis_set out[2];
    pt_ok(s, check(p, "x", "x,xy", out));
    cr_assert(out[0] == 1 && out[1] == 3);
    refused(p, "x", "-,xy",
            ".first: pith_shard_map: f: the result varies over x, "
            "because input 0 does");
    refused(p, "x", "x,x",
            ".second: pith_shard_map: f: the result varies over y, because "
            "axis_index at here:3 does");
    refused(p, "x", "x,-", "varies over x,y");
    pithp_program_release(p);
    close_scope();
}

/* ---- Draws ---- */

static char heard[512];
static int heard_count;
static void hear(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level != PITH_LOG_WARNING)
        return;
    heard_count++;
    snprintf(heard, sizeof heard, "%s", message);
}

/* Noise of a key, into which the rank is folded, is added to an array twice. */
static pithp_program *noise(const char *folded) {
    pithp_program *p = pithp_program_make(s);
    pithp_value key = graph_input(s, p, PITH_U32, 2);
    const pithp_value a = rows(p);
    const pithp_random_params draw = {
        .dtype = PITH_F64, .rank = 1, .shape = {ROWS}, .high = 1};
    if (folded) {
        const pithp_cast_params u32 = {PITH_U32};
        const pithp_value i = over(p, PITHP_OP_AXIS_INDEX, folded, -1);
        key = graph_op2(s, p, PITHP_OP_FOLD_IN, key,
                        graph_op(s, p, PITHP_OP_CAST, i, -1, &u32));
    }
    const pithp_value u = graph_op(s, p, PITHP_OP_RANDOM_UNIFORM, key, -1, &draw);
    const pithp_value twice = graph_op2(s, p, PITHP_OP_MUL, u, graph_number(s, p, 2));
    OUTPUTS(p, add(p, add(p, twice, a), u));
    return p;
}

Test(vary, equal_draws_beside_varying_values_are_logged_once) {
    begin();
    pith_set_log_hook(rt, hear, NULL);
    const char *const cases[][4] = {{NULL, "-,x", "x", "x"},  {NULL, "-,xy", "xy", "x,y"},
                                    {NULL, "-,-", "-", NULL}, {"x", "-,x", "x", NULL},
                                    {"x", "-,xy", "xy", "y"}, {NULL, "x,x", "x", NULL},
                                    {NULL, "x,-", "x", NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        pithp_axis_set out[1];
        char wanted[128];
        pithp_program *p = noise(cases[k][0]);
        heard_count = 0;
        pt_ok(s, check(p, cases[k][1], cases[k][2], out));
        cr_assert_eq(heard_count, cases[k][3] ? 1 : 0, "case %zu: %d", k, heard_count);
        if (cases[k][3]) {
            snprintf(
                wanted, sizeof wanted,
                "random numbers of here:1 are equal on all ranks along %s, and add at "
                "here:1 combines them with values that vary",
                cases[k][3]);
            cr_assert(strstr(heard, wanted), "%s", heard);
        }
        pithp_program_release(p);
    }
    pith_set_log_hook(rt, NULL, NULL);
    close_scope();
}

/* ---- Widening ---- */

static void
widens(pithp_program *p, const char *in, const char *out, const char *wanted) {
    pithp_axis_set inputs[MOST], least[MOST];
    read_sets(in, p->input_count, inputs);
    read_sets(out ? out : "-", out ? p->output_count : 0, least);
    pithp_program *wide = pithp_program_widen(s, p, mesh, inputs, out ? least : NULL);
    pt_ok(s, wide != NULL);
    if (wanted)
        expect_text(graph_text(wide), wanted);
    else
        cr_assert_eq(wide, p);
    pithp_program *again = pithp_program_widen(s, wide, mesh, inputs, out ? least : NULL);
    cr_assert_eq(again, wide, "widened twice");
    pithp_program_release(again);
    pithp_program_release(wide);
}

Test(vary, values_that_meet_are_widened_once) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = number(p), b = number(p);
    const pithp_value ab = graph_op2(s, p, PITHP_OP_MUL, a, b);
    OUTPUTS(p, over(p, PITHP_OP_PSUM, "x", add(p, ab, a)), a);
    widens(p, "x,x", NULL, NULL);
    widens(p, "-,x", "-,-",
           "program(%0: f64[], %1: f64[]) {\n"
           "  %2 = vary %0 {group=\"x\"} : f64[]\n"
           "  %3 = mul %2, %1 : f64[]\n"
           "  %4 = add %3, %2 : f64[]\n"
           "  %5 = psum %4 {group=\"x\"} : f64[]\n"
           "  return %5, %0\n"
           "}\n");
    widens(p, "-,-", "y,-",
           "program(%0: f64[], %1: f64[]) {\n"
           "  %2 = mul %0, %1 : f64[]\n"
           "  %3 = add %2, %0 : f64[]\n"
           "  %4 = vary %3 {group=\"x\"} : f64[]\n"
           "  %5 = psum %4 {group=\"x\"} : f64[]\n"
           "  %6 = vary %5 {group=\"y\"} : f64[]\n"
           "  return %6, %0\n"
           "}\n");
    pithp_program_release(p);
    close_scope();
}

/* What decides widens outside: its transpose is a sum that all ranks make. */
Test(vary, operands_of_branches_are_widened_outside) {
    begin();
    pithp_program *p = choice(NULL);
    widens(p, "-,-,-", NULL, NULL);
    pithp_axis_set inputs[MOST];
    read_sets("x,-,y", 3, inputs);
    pithp_program *wide = pithp_program_widen(s, p, mesh, inputs, NULL);
    const char *text = graph_text(wide);
    cr_assert(strstr(text, "  %3 = vary %1 {group=\"x\"} : f64[]\n"
                           "  %4 = vary %2 {group=\"x\"} : f64[]\n"
                           "  %5, %6 = cond %0, %3, %4"),
              "%s", text);
    pithp_program_release(wide);
    pithp_program_release(p);
    close_scope();
}

/* Marks say nothing along axes for which they are not needed. */
Test(vary, marks_that_say_nothing_are_dropped) {
    begin();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = number(p), b = number(p);
    OUTPUTS(p, over(p, PITHP_OP_VARY, "x,y", a), over(p, PITHP_OP_REPLICATED, "x,y", b));
    widens(p, "-,xy", NULL, NULL);
    widens(p, "y,x", NULL,
           "program(%0: f64[], %1: f64[]) {\n"
           "  %2 = vary %0 {group=\"x\"} : f64[]\n"
           "  %3 = replicated %1 {group=\"x\"} : f64[]\n"
           "  return %2, %3\n"
           "}\n");
    widens(p, "xy,z", NULL, "program(%0: f64[], %1: f64[]) {\n  return %0, %1\n}\n");
    pithp_program_release(p);
    close_scope();
}

/* ---- Memory ---- */

Test(vary, every_failure_of_memory_is_survived) {
    begin();
    pithp_program *p = choice(NULL);
    pithp_axis_set inputs[MOST], out[MOST];
    read_sets("x,-,y", 3, inputs);
    for (int what = 0; what < 2; what++) {
        bool fine = false;
        for (long long at = 1; !fine && at < 400; at++) {
            const pithp_variance_claim claim = {.mesh = mesh,
                                                .inputs = inputs,
                                                .count = p->output_count,
                                                .values = p->outputs};
            pithp_program *made = NULL;
            atomic_store(&pt_default_heap.fail_at,
                         atomic_load(&pt_default_heap.allocations) + at);
            if (what)
                made = pithp_program_widen(s, p, mesh, inputs, NULL);
            fine = what ? made != NULL : pithp_program_check_variance(s, p, &claim, out);
            atomic_store(&pt_default_heap.fail_at, 0);
            cr_assert(fine ? pith_code(s) == PITH_OK : pith_code(s) == PITH_E_MEMORY);
            pithp_program_release(made);
            pith_clear(s);
        }
        cr_assert(fine);
    }
    pithp_program_release(p);
    close_scope();
}
