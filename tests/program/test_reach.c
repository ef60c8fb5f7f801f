/* Which outputs of a program depend on inputs that are marked, through branches and
 * loops in each other. */
#include "graph_scope.h"

enum { MOST = 8, ROWS = 3, DEPTH = 60 };

/* A digit an input and output: 1 if it is marked. */
static void expect(const pithp_program *p, const char *marked, const char *wanted) {
    bool inputs[MOST] = {false}, reached[MOST] = {false};
    char got[MOST + 1] = {0};
    cr_assert((int64_t)strlen(marked) == p->input_count && p->output_count <= MOST);
    for (int64_t k = 0; k < p->input_count; k++)
        inputs[k] = marked[k] == '1';
    cr_assert(pithp_program_reach(s, p, inputs, reached));
    for (int64_t k = 0; k < p->output_count; k++)
        got[k] = reached[k] ? '1' : '0';
    cr_assert_str_eq(got, wanted, "%s gives %s, expected %s", marked, got, wanted);
}

Test(reach, follows_operands) {
    open_scope();
    pithp_program *p = pithp_program_make(s);
    const pithp_value a = number(p), b = number(p), c = number(p),
                      one = graph_number(s, p, 1);
    const pithp_value ab = add(p, a, b);
    OUTPUTS(p, ab, add(p, b, c), add(p, ab, one), add(p, one, one), c);
    expect(p, "000", "00000");
    expect(p, "100", "10100");
    expect(p, "010", "11100");
    expect(p, "001", "01001");
    pithp_program_release(p);
    close_scope();
}

/* Marks of results stay bits of their own, also through a loop that exchanges two. */
Test(reach, of_values_is_by_bits) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *body = pithp_program_make(s);
    const pithp_value x = number(body), y = number(body);
    OUTPUTS(body, y, add(body, x, graph_number(s, body, 1)));
    const pithp_value a = number(p), b = number(p), ab = add(p, a, b), ba = add(p, b, a),
                      in[] = {ab, graph_number(s, p, 0)};
    const pithp_loop_params params = {.length = ROWS, .carries = 2, .unroll = 1};
    const pithp_value first =
        pithp_program_add_many(s, p,
                               &(pithp_new_instruction){.primitive = PITHP_OP_SCAN,
                                                        .operand_count = 2,
                                                        .operands = in,
                                                        .params = &params,
                                                        .program_count = 1,
                                                        .programs = &body,
                                                        .site = s->site});
    pithp_program_release(body);
    const pithp_value last = add(p, first, ba);
    uint64_t marks[16] = {0};
    cr_assert(first >= 0 && p->value_count <= 16);
    marks[ab] = 1;
    marks[ba] = 2;
    marks[first + 1] = 4;
    cr_assert(pithp_program_follow(s, p, marks));
    cr_assert(!marks[a] && !marks[b] && marks[ab] == 1 && marks[ba] == 2);
    cr_assert(marks[first] == 1 && marks[first + 1] == 5 && marks[last] == 3);
    pithp_program_release(p);
    close_scope();
}

/* The branches give x or y; y or y; 1 or z. */
Test(reach, of_branches_is_that_of_each_and_of_the_choice) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *branches[2];
    for (int b = 0; b < 2; b++) {
        pithp_program *q = branches[b] = pithp_program_make(s);
        const pithp_value x = number(q), y = number(q), z = number(q);
        OUTPUTS(q, b ? y : x, y, b ? z : graph_number(s, q, 1));
    }
    const pithp_value i = graph_input(s, p, PITH_BOOL, -1), x = number(p), y = number(p),
                      z = number(p), in[] = {i, x, y, z};
    const pithp_value v = graph_control(s, p, PITHP_OP_COND, NULL, 4, in, 2, branches);
    OUTPUTS(p, v, v + 1, v + 2, x);
    expect(p, "1000", "1110");
    expect(p, "0100", "1001");
    expect(p, "0010", "1100");
    expect(p, "0001", "0010");
    pithp_program_release(p);
    close_scope();
}

/* Carries a' = b, b' = c, c' = c + constant, d' = d + row; the element is d. */
Test(reach, of_scans_goes_round_until_nothing_is_new) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *body = pithp_program_make(s);
    const pithp_value constant = number(body), a = number(body), b = number(body),
                      c = number(body), d = number(body), row = number(body);
    (void)a;
    OUTPUTS(body, b, c, add(body, c, constant), add(body, d, row), d);
    pithp_value in[6];
    for (int k = 0; k < 6; k++)
        in[k] = k < 5 ? number(p) : graph_input(s, p, PITH_F64, ROWS);
    const pithp_loop_params params = {.length = ROWS, .constants = 1, .carries = 4};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &params, 6, in, 1, &body);
    OUTPUTS(p, v, v + 1, v + 2, v + 3, v + 4);
    expect(p, "100000", "11100"); /* the constant, by c */
    expect(p, "010000", "10000"); /* a, if there is no iteration */
    expect(p, "000100", "11100"); /* c */
    expect(p, "000010", "00011"); /* d */
    expect(p, "000001", "00011"); /* the row */
    pithp_program_release(p);
    close_scope();
}

/* As long as i < limit: i' = i + step, x' = x + y, y' = y. */
Test(reach, of_whiles_is_all_where_the_condition_depends_on_it) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *both[2];
    for (int k = 0; k < 2; k++) {
        pithp_program *q = both[k] = pithp_program_make(s);
        const pithp_value bound = number(q), i = number(q), x = number(q), y = number(q);
        if (k == 0)
            OUTPUTS(q, graph_op2(s, q, PITHP_OP_LT, i, bound));
        else
            OUTPUTS(q, add(q, i, bound), add(q, x, y), y);
    }
    pithp_value in[5]; /* limit, step, i, x, y */
    for (int k = 0; k < 5; k++)
        in[k] = number(p);
    const pithp_while_params params = {.cond_operands = 1, .body_operands = 1};
    const pithp_value v = graph_control(s, p, PITHP_OP_WHILE, &params, 5, in, 2, both);
    OUTPUTS(p, v, v + 1, v + 2);
    expect(p, "10000", "111");
    expect(p, "01000", "111");
    expect(p, "00100", "111");
    expect(p, "00010", "010");
    expect(p, "00001", "011");
    pithp_program_release(p);
    close_scope();
}

/* Loops in loops, each of which hands two carries on, one of them a step later: the work
 * does not double with every depth. */
Test(reach, of_nested_loops_takes_no_longer_than_their_sum, .timeout = 60) {
    open_scope();
    pithp_program *inner = pithp_program_make(s);
    const pithp_value x = number(inner), y = number(inner), z = number(inner);
    OUTPUTS(inner, y, add(inner, y, y), z);
    (void)x;
    for (int depth = 0; depth < DEPTH; depth++) {
        pithp_program *p = pithp_program_make(s);
        const pithp_value in[3] = {number(p), number(p), number(p)};
        const pithp_loop_params params = {.length = ROWS, .carries = 3};
        const pithp_value v =
            graph_control(s, p, PITHP_OP_SCAN, &params, 3, in, 1, &inner);
        OUTPUTS(p, v, v + 1, v + 2);
        inner = p;
    }
    expect(inner, "100", "100");
    expect(inner, "010", "110");
    expect(inner, "001", "001");
    pithp_program_release(inner);
    close_scope();
}

Test(reach, every_failure_of_memory_is_survived) {
    open_scope();
    pithp_program *p = pithp_program_make(s), *body = pithp_program_make(s);
    const pithp_value a = number(body), b = number(body);
    OUTPUTS(body, b, add(body, a, b));
    const pithp_value in[2] = {number(p), number(p)};
    const pithp_loop_params params = {.length = ROWS, .carries = 2};
    const pithp_value v = graph_control(s, p, PITHP_OP_SCAN, &params, 2, in, 1, &body);
    OUTPUTS(p, v, v + 1);
    bool fine = false;
    for (long long at = 1; !fine && at < 100; at++) {
        const bool inputs[2] = {true, false};
        bool reached[2];
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        fine = pithp_program_reach(s, p, inputs, reached);
        atomic_store(&pt_default_heap.fail_at, 0);
        cr_assert(fine ? reached[0] && reached[1] : pith_code(s) == PITH_E_MEMORY);
        pith_clear(s);
    }
    cr_assert(fine);
    pithp_program_release(p);
    close_scope();
}
