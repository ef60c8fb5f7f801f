/* Instructions that run programs: built, verified, shown, compared and optimised. */
#include "graph_test.h"

typedef struct bench {
    pith_runtime *rt;
    pith_scope *s;
    const pith_spec *line, *number, *index, *flag;
} bench;

static bench begin(void) {
    bench b = {.rt = pt_open()};
    b.s = pith_scope_open(b.rt);
    b.line = pithp_spec(b.s, PITH_F64, 1, (const int64_t[]){3});
    b.number = pithp_spec(b.s, PITH_F64, 0, NULL);
    b.index = pithp_spec(b.s, PITH_I32, 0, NULL);
    b.flag = pithp_spec(b.s, PITH_BOOL, 0, NULL);
    pt_ok(b.s);
    return b;
}
static void end(bench *b) {
    pt_ok(b->s);
    pith_scope_close(b->s);
    pt_close(b->rt);
}

/* (f64[3], f64[]) -> (f64[3], f64[]): x op y, the sum of x. */
static pithp_program *branch(bench *b, pithp_primitive primitive) {
    pithp_program *p = pithp_program_make(b->s);
    const pithp_value x = pithp_program_input(b->s, p, b->line);
    const pithp_value y = pithp_program_input(b->s, p, b->number);
    pithp_program_output(b->s, p, graph_op(b->s, p, primitive, x, y, NULL));
    pithp_program_output(
        b->s, p, graph_op(b->s, p, PITHP_OP_SUM, x, -1, &(pithp_reduce_params){1}));
    return p;
}

/* program(index, f64[3], f64[]) with a cond of two such branches, which it releases. */
static pithp_program *
choice(bench *b, const pith_spec *index, pithp_program *first, pithp_program *second) {
    pithp_program *p = pithp_program_make(b->s), *programs[2] = {first, second};
    const pithp_value i = pithp_program_input(b->s, p, index);
    const pithp_value x = pithp_program_input(b->s, p, b->line);
    const pithp_value y = pithp_program_input(b->s, p, b->number);
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = 3,
                                        .operands = (const pithp_value[]){i, x, y},
                                        .program_count = 2,
                                        .programs = programs,
                                        .site = "here:2"};
    const pithp_value made = pithp_program_add_many(b->s, p, &cond);
    pithp_program_release(first);
    pithp_program_release(second);
    if (made >= 0) {
        pithp_program_output(b->s, p, made);
        pithp_program_output(b->s, p, made + 1);
    }
    return p;
}

Test(control, text_shows_every_result_and_the_programs) {
    bench b = begin();
    pithp_program *p =
        choice(&b, b.index, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_MUL));
    pithp_refusal why;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    expect_text(graph_text(p), "program(%0: i32[], %1: f64[3], %2: f64[]) {\n"
                               "  %3, %4 = cond %0, %1, %2 : f64[3], f64[]\n"
                               "    0: program(%0: f64[3], %1: f64[]) {\n"
                               "      %2 = add %0, %1 : f64[3]\n"
                               "      %3 = sum %0 {axes=[0]} : f64[]\n"
                               "      return %2, %3\n"
                               "    }\n"
                               "    1: program(%0: f64[3], %1: f64[]) {\n"
                               "      %2 = mul %0, %1 : f64[3]\n"
                               "      %3 = sum %0 {axes=[0]} : f64[]\n"
                               "      return %2, %3\n"
                               "    }\n"
                               "  return %3, %4\n"
                               "}\n");
    pithp_program_release(p);
    end(&b);
}

Test(control, programs_are_compared_by_what_they_run) {
    bench b = begin();
    pithp_program *p =
        choice(&b, b.index, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_MUL));
    pithp_program *same =
        choice(&b, b.index, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_MUL));
    pithp_program *other =
        choice(&b, b.index, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_SUB));
    cr_assert(pithp_program_equal(p, same));
    cr_assert(pithp_program_hash(p) == pithp_program_hash(same));
    cr_assert(!pithp_program_equal(p, other));
    cr_assert(pithp_program_hash(p) != pithp_program_hash(other));
    pithp_program_release(p);
    pithp_program_release(same);
    pithp_program_release(other);
    end(&b);
}

Test(control, the_verifier_looks_at_results_and_into_programs) {
    bench b = begin();
    pithp_program *p =
        choice(&b, b.index, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_MUL));
    pithp_refusal why;
    p->values[4].spec = b.line;
    cr_assert(pithp_program_verify(p, &why) == PITH_E_INTERNAL);
    cr_assert(strstr(why.text, "%4: cond makes f64[], but the value is f64[3]"), "%s",
              why.text);
    p->values[4].spec = b.number;
    p->instructions[0].result_count = 1;
    cr_assert(pithp_program_verify(p, &why) == PITH_E_INTERNAL);
    p->instructions[0].result_count = 2;
    pithp_program *inner = p->instructions[0].programs[1];
    inner->operands[inner->instructions[0].first_operand] = 9;
    cr_assert(pithp_program_verify(p, &why) == PITH_E_INTERNAL);
    cr_assert(strstr(why.text, "%3: program 1: %2: operand 0 is %9"), "%s", why.text);
    inner->operands[inner->instructions[0].first_operand] = 0;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK);
    pithp_program_release(p);
    end(&b);
}

Test(control, branches_that_do_not_fit_are_refused) {
    bench b = begin();
    pithp_program *p;
    pt_fails(
        PITH_E_ARG, b.s,
        p = choice(&b, b.number, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_ADD)));
    pt_says("cond: expected an integer or bool of rank 0, got f64[]");
    pithp_program_release(p);

    pithp_program *less = branch(&b, PITHP_OP_ADD);
    less->output_count = 1;
    pt_fails(PITH_E_STRUCTURE, b.s,
             p = choice(&b, b.index, branch(&b, PITHP_OP_ADD), less));
    pt_says("branch 0 returns 2 arrays, branch 1 1");
    pithp_program_release(p);

    pithp_program *turned = branch(&b, PITHP_OP_ADD);
    turned->outputs[1] = turned->outputs[0];
    pt_fails(PITH_E_SHAPE, b.s,
             p = choice(&b, b.index, branch(&b, PITHP_OP_ADD), turned));
    pt_says("array 1 of the result of branch 1: expected f64[], got f64[3]");
    cr_assert(p->instruction_count == 0 && p->value_count == 3);
    pithp_program_release(p);

    pithp_program *takes = pithp_program_make(b.s);
    pithp_program_output(b.s, takes, pithp_program_input(b.s, takes, b.flag));
    pithp_program_input(b.s, takes, b.number);
    pt_fails(PITH_E_DTYPE, b.s, p = choice(&b, b.index, branch(&b, PITHP_OP_ADD), takes));
    pt_says("array 0 of branch 1: expected bool[], got f64[3]");
    pithp_program_release(p);
    end(&b);
}

Test(control, an_instruction_lives_as_long_as_one_of_its_results) {
    bench b = begin();
    pithp_program *p =
        choice(&b, b.flag, branch(&b, PITHP_OP_ADD), branch(&b, PITHP_OP_MUL));
    p->outputs[0] = 4;
    p->output_count = 1;
    pithp_program *better = pithp_program_optimise(b.s, p, PITHP_PASS_DEAD);
    pt_ok(b.s, better);
    cr_assert(better->instruction_count == 1 && better->value_count == 5);
    pithp_program_release(better);
    p->outputs[0] = 1;
    better = pithp_program_optimise(b.s, p, PITHP_PASS_DEAD);
    pt_ok(b.s, better);
    expect_text(graph_text(better), "program(%0: bool[], %1: f64[3], %2: f64[]) {\n"
                                    "  return %1\n"
                                    "}\n");
    pithp_program_release(better);
    pithp_program_release(p);
    end(&b);
}

/* (i32[3]) -> (f64[3]): an index out of range is reported. */
static pithp_program *reporting(bench *b) {
    const pith_spec *indices = pithp_spec(b->s, PITH_I32, 1, (const int64_t[]){3});
    pithp_program *p = pithp_program_make(b->s);
    const pithp_value x = pithp_program_input(b->s, p, b->line);
    const pithp_value i = pithp_program_input(b->s, p, indices);
    const pithp_index_params params = {.mode = PITHP_INDEX_ERROR};
    pithp_program_output(b->s, p, graph_op(b->s, p, PITHP_OP_TAKE, x, i, &params));
    return p;
}

Test(control, an_instruction_whose_programs_report_stays) {
    bench b = begin();
    const pith_spec *indices = pithp_spec(b.s, PITH_I32, 1, (const int64_t[]){3});
    pithp_program *p = pithp_program_make(b.s), *programs[2];
    programs[0] = programs[1] = reporting(&b);
    const pithp_value operands[3] = {pithp_program_input(b.s, p, b.flag),
                                     pithp_program_input(b.s, p, b.line),
                                     pithp_program_input(b.s, p, indices)};
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = 3,
                                        .operands = operands,
                                        .program_count = 2,
                                        .programs = programs};
    pithp_program_add_many(b.s, p, &cond);
    pithp_program_add_many(b.s, p, &cond);
    pithp_program_output(b.s, p, operands[1]);
    pithp_program_release(programs[0]);
    cr_assert(p->has_effects);
    pithp_program *better = pithp_program_optimise(b.s, p, PITHP_PASS_ALL);
    pt_ok(b.s, better);
    cr_assert(better->instruction_count == 2, "both report on their own");
    pithp_program_release(better);
    pithp_program_release(p);
    end(&b);
}

Test(control, equal_instructions_are_made_once_and_passes_go_inside) {
    bench b = begin();
    pithp_program *silly = branch(&b, PITHP_OP_ADD);
    const pithp_value sum = silly->outputs[1];
    const double zero = -0.0;
    const pithp_value nil = pithp_program_literal(b.s, silly, b.number, &zero);
    const pithp_value squared = graph_op(b.s, silly, PITHP_OP_SQUARE, sum, -1, NULL);
    silly->outputs[1] = graph_op(b.s, silly, PITHP_OP_ADD, squared, nil, NULL);
    pithp_program *p = choice(&b, b.flag, branch(&b, PITHP_OP_MUL), silly);
    const pithp_new_instruction again = {.primitive = PITHP_OP_COND,
                                         .operand_count = 3,
                                         .operands = (const pithp_value[]){0, 1, 2},
                                         .program_count = 2,
                                         .programs = p->instructions[0].programs};
    const pithp_value copy = pithp_program_add_many(b.s, p, &again);
    pithp_program_output(b.s, p, graph_op(b.s, p, PITHP_OP_SUB, 3, copy, NULL));
    pithp_program *better = pithp_program_optimise(b.s, p, PITHP_PASS_ALL);
    pt_ok(b.s, better);
    expect_text(graph_text(better), "program(%0: bool[], %1: f64[3], %2: f64[]) {\n"
                                    "  %3, %4 = cond %0, %1, %2 : f64[3], f64[]\n"
                                    "    0: program(%0: f64[3], %1: f64[]) {\n"
                                    "      %2 = mul %0, %1 : f64[3]\n"
                                    "      %3 = sum %0 {axes=[0]} : f64[]\n"
                                    "      return %2, %3\n"
                                    "    }\n"
                                    "    1: program(%0: f64[3], %1: f64[]) {\n"
                                    "      %2 = add %0, %1 : f64[3]\n"
                                    "      %3 = sum %0 {axes=[0]} : f64[]\n"
                                    "      %4 = square %3 : f64[]\n"
                                    "      return %2, %4\n"
                                    "    }\n"
                                    "  %5 = sub %3, %3 : f64[3]\n"
                                    "  return %3, %4, %5\n"
                                    "}\n");
    pithp_program_release(better);
    pithp_program_release(p);
    end(&b);
}

Test(control, an_instruction_without_results_keeps_its_place) {
    bench b = begin();
    pithp_program *p = pithp_program_make(b.s), *nothing = pithp_program_make(b.s);
    pithp_program *programs[2] = {nothing, nothing};
    const pithp_value i = pithp_program_input(b.s, p, b.flag);
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = 1,
                                        .operands = &i,
                                        .program_count = 2,
                                        .programs = programs};
    cr_assert(pithp_program_add_many(b.s, p, &cond) == 1);
    const bool yes = true;
    pithp_program_output(b.s, p, pithp_program_literal(b.s, p, b.flag, &yes));
    pithp_program_add_many(b.s, p, &cond);
    pithp_program_release(nothing);
    pithp_refusal why;
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    const char *wanted = "program(%0: bool[]) {\n"
                         "  cond %0\n"
                         "    0: program() {\n      return\n    }\n"
                         "    1: program() {\n      return\n    }\n"
                         "  %1 = constant bool[] 1\n"
                         "  cond %0\n"
                         "    0: program() {\n      return\n    }\n"
                         "    1: program() {\n      return\n    }\n"
                         "  return %1\n"
                         "}\n";
    expect_text(graph_text(p), wanted);
    pithp_program *copy = pithp_program_optimise(b.s, p, 0);
    pt_ok(b.s, copy);
    cr_assert(pithp_program_equal(p, copy));
    cr_assert(pithp_program_hash(p) == pithp_program_hash(copy));
    pithp_program_release(copy);
    copy = pithp_program_optimise(b.s, p, PITHP_PASS_DEAD); /* they have no effect */
    pt_ok(b.s, copy);
    cr_assert(copy->instruction_count == 0);
    pithp_program_release(copy);
    pithp_program_release(p);
    end(&b);
}

/* A cond over an index that a fold gives, clamped: the branch alone. */
Test(control, a_known_index_leaves_its_branch) {
    bench b = begin();
    const int32_t numbers[] = {-4, 0, 1, 9};
    for (int k = 0; k < 4; k++) {
        pithp_program *p = pithp_program_make(b.s), *programs[2];
        const pithp_value x = pithp_program_input(b.s, p, b.line);
        const pithp_value y = pithp_program_input(b.s, p, b.number);
        const pithp_value half = pithp_program_literal(b.s, p, b.index, &numbers[k]);
        const pithp_value i = graph_op(b.s, p, PITHP_OP_ADD, half, half, NULL);
        programs[0] = branch(&b, PITHP_OP_ADD);
        programs[1] = branch(&b, PITHP_OP_MUL);
        const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                            .operand_count = 3,
                                            .operands = (const pithp_value[]){i, x, y},
                                            .program_count = 2,
                                            .programs = programs};
        const pithp_value made = pithp_program_add_many(b.s, p, &cond);
        pithp_program_release(programs[0]);
        pithp_program_release(programs[1]);
        pithp_program_output(b.s, p, made + 1);
        pithp_program_output(b.s, p, made);
        pithp_program *better = pithp_program_optimise(b.s, p, PITHP_PASS_ALL);
        pt_ok(b.s, better);
        char wanted[400];
        snprintf(wanted, sizeof wanted,
                 "program(%%0: f64[3], %%1: f64[]) {\n"
                 "  %%2 = %s %%0, %%1 : f64[3]\n"
                 "  %%3 = sum %%0 {axes=[0]} : f64[]\n"
                 "  return %%3, %%2\n}\n",
                 numbers[k] > 0 ? "mul" : "add");
        expect_text(graph_text(better), wanted);
        pithp_program_release(better);
        pithp_program_release(p);
    }
    end(&b);
}
