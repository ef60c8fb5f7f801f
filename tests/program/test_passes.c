/* What passes and plans make of programs that are written out. */
#include "graph_test.h"

typedef struct bench {
    pith_runtime *rt;
    pith_scope *s;
    pithp_program *p;
} bench;

static bench begin(void) {
    bench b = {.rt = pt_open()};
    b.s = pith_scope_open(b.rt);
    b.p = pithp_program_make(b.s);
    return b;
}
static void end(bench *b) {
    pt_ok(b->s);
    pithp_program_release(b->p);
    pith_scope_close(b->s);
    pt_close(b->rt);
}
static const pith_spec *spec(bench *b, pith_dtype dtype, int rank, const int64_t *shape) {
    return pithp_spec(b->s, dtype, rank, shape);
}
static const pith_spec *line(bench *b, pith_dtype dtype, int64_t n) {
    return spec(b, dtype, 1, &n);
}
static pithp_value op(bench *b,
                      pithp_primitive primitive,
                      pithp_value x,
                      pithp_value y,
                      const void *params) {
    const pithp_value operands[2] = {x, y};
    return pithp_program_add(b->s, b->p, primitive, y >= 0 ? 2 : x >= 0, operands, params,
                             "here:1");
}
static pithp_value number(bench *b, pith_dtype dtype, double value) {
    uint64_t element = 0;
    pithp_dtype_encode(dtype, value, &element);
    return pithp_program_literal(b->s, b->p, spec(b, dtype, 0, NULL), &element);
}
static pithp_value cast(bench *b, pithp_value x, pith_dtype dtype) {
    return op(b, PITHP_OP_CAST, x, -1, &(pithp_cast_params){dtype});
}

/* The program with that output, after these passes. */
static const char *after(bench *b, pithp_value output, unsigned passes) {
    pithp_program_output(b->s, b->p, output);
    pt_ok(b->s);
    pithp_program *better = pithp_program_optimise(b->s, b->p, passes);
    pt_ok(b->s, better);
    const char *text = graph_text(better);
    pithp_program_release(better);
    b->p->output_count = 0;
    return text;
}
Test(passes, text_shows_values_parameters_and_literals) {
    bench b = begin();
    const int64_t shape[2] = {2, 3};
    const pithp_value x = pithp_program_input(b.s, b.p, spec(&b, PITH_F32, 2, shape));
    const pithp_value half = number(&b, PITH_F32, 0.1);
    const pithp_value sum = op(&b, PITHP_OP_SUM, op(&b, PITHP_OP_MUL, x, half, NULL), -1,
                               &(pithp_reduce_params){2});
    const pithp_slice_params last = {{1}, {-1}, {-1}};
    op(&b, PITHP_OP_SLICE, sum, -1, &last);
    expect_text(after(&b, 4, 0),
                "program(%0: f32[2,3]) {\n"
                "  %1 = constant f32[] 0.10000000149011612\n"
                "  %2 = mul %0, %1 : f32[2,3]\n"
                "  %3 = sum %2 {axes=[1]} : f32[2]\n"
                "  %4 = slice %3 {start=[1], limit=[-1], step=[-1]} : f32[2]\n"
                "  return %4\n"
                "}\n");
    end(&b);
}

Test(passes, sums_and_products_of_exchanged_operands_are_one) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value y = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    static const pithp_primitive kinds[] = {PITHP_OP_MUL, PITHP_OP_ADD, PITHP_OP_MIN};
    for (int k = 0; k < 3; k++) {
        const pithp_value one = op(&b, kinds[k], x, y, NULL),
                          other = op(&b, kinds[k], y, x, NULL);
        /* zeros of a minimum have the sign of the first */
        const char *wanted = k < 2 ? "sub %2, %2" : "sub %2, %3";
        const pithp_value apart = op(&b, PITHP_OP_SUB, one, other, NULL);
        const char *text = after(&b, apart, PITHP_PASS_ALL);
        cr_assert(strstr(text, wanted), "%s", text);
    }
    end(&b);
}

#define INPUT "program(%0: f64[8], %1: i32[8]) {\n"

Test(passes, rules_of_algebra_apply) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value i = pithp_program_input(b.s, b.p, line(&b, PITH_I32, 8));
    const unsigned passes = PITHP_PASS_ALGEBRA | PITHP_PASS_DEAD;
    const pithp_value one = number(&b, PITH_F64, 1), nil = number(&b, PITH_F64, 0);
    const pithp_value squared = op(&b, PITHP_OP_SQUARE, x, -1, NULL);
    const char *only_square = INPUT "  %2 = square %0 : f64[8]\n  return %2\n}\n";
    const char *nothing = INPUT "  return %0\n}\n", *nothing_i = INPUT "  return %1\n}\n";
    expect_text(after(&b, op(&b, PITHP_OP_MUL, squared, one, NULL), passes), only_square);
    expect_text(after(&b, op(&b, PITHP_OP_SUB, squared, nil, NULL), passes), only_square);
    expect_text(after(&b, op(&b, PITHP_OP_ADD, i, number(&b, PITH_I32, 0), NULL), passes),
                nothing_i);
    const pithp_value same =
        op(&b, PITHP_OP_MUL, one, x, NULL); /* but a signalling NaN */
    expect_text(after(&b, op(&b, PITHP_OP_SUB, same, x, NULL), passes),
                INPUT "  %2 = sub %0, %0 : f64[8]\n  return %2\n}\n");
    expect_text(after(&b,
                      op(&b, PITHP_OP_NEG, op(&b, PITHP_OP_NEG, x, -1, NULL), -1, NULL),
                      passes),
                nothing);
    expect_text(after(&b, cast(&b, cast(&b, i, PITH_I64), PITH_F32), passes),
                INPUT "  %2 = cast %1 {dtype=f32} : f32[8]\n  return %2\n}\n");
    const pithp_reverse_params turn = {1};
    expect_text(
        after(&b,
              op(&b, PITHP_OP_REVERSE, op(&b, PITHP_OP_REVERSE, x, -1, &turn), -1, &turn),
              passes),
        nothing);
    const pithp_slice_params first = {{1}, {7}, {2}}, second = {{2}, {-1}, {-2}};
    expect_text(
        after(&b,
              op(&b, PITHP_OP_SLICE, op(&b, PITHP_OP_SLICE, x, -1, &first), -1, &second),
              passes),
        INPUT
        "  %2 = slice %0 {start=[5], limit=[0], step=[-4]} : f64[2]\n  return %2\n}\n");
    end(&b);
}

Test(passes, what_would_change_a_bit_stays) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value i = pithp_program_input(b.s, b.p, line(&b, PITH_I32, 8));
    const pithp_value squared = op(&b, PITHP_OP_SQUARE, x, -1, NULL);
    const pithp_value stays[] = {
        op(&b, PITHP_OP_ADD, squared, number(&b, PITH_F64, 0), NULL), /* -0 */
        op(&b, PITHP_OP_MUL, x, number(&b, PITH_F64, 1), NULL),       /* signalling NaN */
        op(&b, PITHP_OP_MAX, op(&b, PITHP_OP_MUL, x, number(&b, PITH_F64, 1), NULL),
           squared, NULL),                                            /* the same */
        op(&b, PITHP_OP_MUL, squared, number(&b, PITH_F64, 0), NULL), /* NaN, infinity */
        cast(&b, cast(&b, i, PITH_F32), PITH_I32),                    /* rounds */
        cast(&b, cast(&b, i, PITH_F64), PITH_I8),                     /* saturates */
        cast(&b, cast(&b, x, PITH_F32), PITH_F64),
    };
    for (size_t k = 0; k < sizeof stays / sizeof *stays; k++) {
        char before[4096];
        snprintf(before, sizeof before, "%s", after(&b, stays[k], PITHP_PASS_DEAD));
        expect_text(after(&b, stays[k], PITHP_PASS_ALGEBRA | PITHP_PASS_DEAD), before);
    }
    end(&b);
}

Test(passes, literals_are_folded_and_equal_calls_joined) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    pithp_program_input(b.s, b.p, line(&b, PITH_I32, 8));
    const pithp_value three =
        op(&b, PITHP_OP_ADD, number(&b, PITH_F64, 1), number(&b, PITH_F64, 2), NULL);
    const pithp_value a = op(&b, PITHP_OP_MUL, x, three, NULL);
    const pithp_value again =
        op(&b, PITHP_OP_MUL, x,
           op(&b, PITHP_OP_ADD, number(&b, PITH_F64, 1), number(&b, PITH_F64, 2), NULL),
           NULL);
    expect_text(after(&b, op(&b, PITHP_OP_SUB, a, again, NULL), PITHP_PASS_ALL),
                INPUT "  %2 = constant f64[] 3\n"
                      "  %3 = mul %0, %2 : f64[8]\n"
                      "  %4 = sub %3, %3 : f64[8]\n"
                      "  return %4\n}\n");
    end(&b);
}

Test(passes, a_call_that_may_report_stays) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value i = pithp_program_input(b.s, b.p, line(&b, PITH_I32, 8));
    op(&b, PITHP_OP_TAKE, x, i, &(pithp_index_params){.mode = PITHP_INDEX_ERROR});
    op(&b, PITHP_OP_TAKE, x, i, &(pithp_index_params){.mode = PITHP_INDEX_CLIP});
    expect_text(after(&b, x, PITHP_PASS_ALL),
                INPUT "  %2 = take %0, %1 {axis=0, mode=error} : f64[8]\n"
                      "  return %0\n}\n");
    end(&b);
}

Test(passes, equality_looks_at_bits_and_not_at_padding) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    pithp_index_params clean = {.mode = PITHP_INDEX_CLIP}, dirty;
    memset(&dirty, 0xA5, sizeof dirty);
    dirty.axis = 0, dirty.mode = PITHP_INDEX_CLIP, dirty.fill = 0;
    dirty.axes = dirty.repeats = dirty.entry = dirty.apart = 0;
    dirty.numbers = 0;
    dirty.no_negative = dirty.unique = dirty.sorted = dirty.unordered = false;
    const int32_t places[2] = {3, 4};
    pithp_program *programs[3];
    for (int k = 0; k < 3; k++) {
        pithp_program *p = programs[k] = pithp_program_make(b.s);
        const pithp_value operands[2] = {
            pithp_program_input(b.s, p, b.p->values[x].spec),
            pithp_program_literal(b.s, p, line(&b, PITH_I32, 2), places)};
        clean.no_negative = k == 2;
        pithp_program_output(b.s, p,
                             pithp_program_add(b.s, p, PITHP_OP_TAKE, 2, operands,
                                               k == 1 ? &dirty : &clean, NULL));
    }
    cr_assert(pithp_program_equal(programs[0], programs[1]));
    cr_assert(pithp_program_hash(programs[0]) == pithp_program_hash(programs[1]));
    cr_assert(!pithp_program_equal(programs[0], programs[2]));
    for (int k = 0; k < 3; k++)
        pithp_program_release(programs[k]);
    end(&b);
}

Test(passes, the_verifier_finds_what_is_wrong) {
    bench b = begin();
    pithp_refusal why;
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value y = op(&b, PITHP_OP_NEG, x, -1, NULL);
    pithp_program_output(b.s, b.p, y);
    cr_assert(pithp_program_verify(b.p, &why) == PITH_OK);
    pithp_instruction *i = &b.p->instructions[0];
#define WRONG(change, undo, words)                                                       \
    do {                                                                                 \
        change;                                                                          \
        cr_assert(pithp_program_verify(b.p, &why) == PITH_E_INTERNAL);                   \
        cr_assert(strstr(why.text, words), "%s", why.text);                              \
        undo;                                                                            \
        cr_assert(pithp_program_verify(b.p, &why) == PITH_OK);                           \
    } while (0)
    const pith_spec *good = b.p->values[y].spec;
    WRONG(b.p->operands[0] = y, b.p->operands[0] = x, "not defined before");
    WRONG(b.p->values[y].spec = line(&b, PITH_F64, 9), b.p->values[y].spec = good,
          "makes f64[8], but the value is f64[9]");
    WRONG(i->primitive = PITHP_OP_ADD, i->primitive = PITHP_OP_NEG,
          "expected 2 operands");
    WRONG(i->primitive = PITHP_OP_REVERSE, i->primitive = PITHP_OP_NEG,
          "without parameters");
    WRONG(b.p->outputs[0] = 7, b.p->outputs[0] = y, "not a value");
    WRONG(b.p->values[y].origin = PITHP_FROM_INPUT,
          b.p->values[y].origin = PITHP_FROM_INSTRUCTION, "origin");
    WRONG(i->params = &why, i->params = NULL, "with parameters");
    end(&b);
}

Test(passes, a_refused_call_says_why) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value y = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 9));
    pt_fails(PITH_E_SHAPE, b.s, op(&b, PITHP_OP_ADD, x, y, NULL));
    pt_says("cannot broadcast");
    cr_assert(b.p->instruction_count == 0 && b.p->value_count == 2);
    end(&b);
}

Test(passes, a_chain_is_one_step_without_memory_between) {
    bench b = begin();
    const int64_t shape[2] = {40, 500};
    const pithp_value x = pithp_program_input(b.s, b.p, spec(&b, PITH_F64, 2, shape));
    const pithp_value row = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 500));
    pithp_value y = op(&b, PITHP_OP_MUL, x, row, NULL);
    const pithp_slice_params inner = {{1, 0}, {39, 500}, {1, 1}},
                             upper = {{0, 0}, {38, 500}, {1, 1}};
    for (int k = 0; k < 10; k++)
        y = op(&b, PITHP_OP_ADD, y, op(&b, PITHP_OP_SQUARE, y, -1, NULL), NULL);
    pithp_program_output(b.s, b.p, y);
    pithp_executable *exe = pithp_executable_make(b.s, b.p, true);
    pt_ok(b.s, exe);
    cr_assert(exe->plan->step_count == 1 && exe->plan->workspace_bytes == 0);
    pithp_executable_free(exe);
    /* a stencil over what a step made is a second step; the slices cost none */
    y = op(&b, PITHP_OP_ADD, op(&b, PITHP_OP_SLICE, y, -1, &inner),
           op(&b, PITHP_OP_SLICE, y, -1, &upper), NULL);
    b.p->output_count = 0;
    pithp_program_output(b.s, b.p, y);
    exe = pithp_executable_make(b.s, b.p, true);
    pt_ok(b.s, exe);
    cr_assert(exe->plan->step_count == 2 &&
              exe->plan->workspace_bytes == 40 * 500 * 8 + 0);
    pithp_executable_free(exe);
    end(&b);
}

Test(passes, what_meets_later_is_one_step_and_strangers_are_not) {
    bench b = begin();
    const pith_spec *large = line(&b, PITH_F64, 100000);
    const pithp_value x = pithp_program_input(b.s, b.p, large),
                      y = pithp_program_input(b.s, b.p, large),
                      z = pithp_program_input(b.s, b.p, large);
    const pithp_value root = op(&b, PITHP_OP_SQRT, x, -1, NULL),
                      power = op(&b, PITHP_OP_EXP, y, -1, NULL),
                      other = op(&b, PITHP_OP_NEG, z, -1, NULL);
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_ADD, root, power, NULL));
    pithp_program_output(b.s, b.p, op(&b, PITHP_OP_MUL, x, x, NULL));
    pithp_program_output(b.s, b.p, other);
    pithp_executable *exe = pithp_executable_make(b.s, b.p, true);
    pt_ok(b.s, exe);
    cr_assert(exe->plan->step_count == 2 && exe->plan->workspace_bytes == 0);
    pithp_executable_free(exe);
    end(&b);
}

Test(passes, values_that_do_not_live_together_share_memory) {
    bench b = begin();
    pithp_value y = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 1024));
    for (int k = 0; k < 20; k++)
        y = op(&b, PITHP_OP_CUMSUM, y, -1, &(pithp_scan_params){0});
    pithp_program_output(b.s, b.p, y);
    pithp_executable *exe = pithp_executable_make(b.s, b.p, true);
    pt_ok(b.s, exe);
    cr_assert(exe->plan->step_count == 20 && exe->plan->workspace_bytes < 4 * 1024 * 8,
              "%zu", exe->plan->workspace_bytes);
    pithp_executable_free(exe);
    end(&b);
}
