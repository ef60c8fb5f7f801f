/* Programs: built, verified, optimised and run by plans give the bits that running them
 * call by call gives. */
#include "program/exec/executable.h"
#include "program/pass/pass.h"
#include "random_file.h"

static char text_of_result[1 << 16];

static const char *text_of(const pithp_program *p) {
    pithp_string text;
    pithp_string_begin(&text, p->runtime);
    pithp_program_text(p, &text);
    snprintf(text_of_result, sizeof text_of_result, "%s", text.bytes);
    pithp_string_end(&text);
    return text_of_result;
}

/* Run p by an executable; the outputs differ from the recipe's: the first one, else -1.
 */
static int run_plan(const recipe *r, pithp_program *p, bool fuse) {
    pith_scope *s = pith_scope_open_in(r->s);
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    int wrong = -1;
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    pithp_executable *exe = pithp_executable_make(s, p, fuse);
    pt_ok(s);
    pithp_executable_run(s, exe, inputs, outputs);
    pt_ok(s);
    pith_wait(s);
    for (int k = 0; k < r->output_count; k++) {
        const ingredient *x = &r->list[r->outputs[k]];
        const pithp_place place = pithp_plan_output(exe->plan, k);
        const void *got = place.store == PITHP_IN_INPUT ? inputs[place.at]
                          : place.store == PITHP_IN_LITERALS
                              ? (char *)exe->plan->literals->data + place.at
                              : outputs[place.at];
        if (wrong < 0 && !recipe_is(r, k, got))
            wrong = k;
        uint64_t guard;
        memcpy(&guard, (char *)outputs[k] + x->spec->bytes, 8);
        cr_assert(guard == 0xA5A5A5A5A5A5A5A5u, "output %d is written beyond its end", k);
    }
    pithp_executable_free(exe);
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    pith_scope_close(s);
    return wrong;
}

/* passes, or: */
enum { NO_PASSES = -1, NOT_FUSED = -2 };

static bool is_wrong(const recipe *r, void *closure) {
    const int passes = *(int *)closure;
    pithp_refusal why;
    pithp_program *p = recipe_program(r);
    cr_assert(pithp_program_verify(p, &why) == PITH_OK, "%s", why.text);
    if (passes >= 0) {
        pithp_program *better = pithp_program_optimise(r->s, p, (unsigned)passes);
        pt_ok(r->s);
        cr_assert(pithp_program_verify(better, &why) == PITH_OK, "%s", why.text);
        pithp_program_release(p);
        p = better;
    }
    const bool wrong = run_plan(r, p, passes != NOT_FUSED) >= 0;
    pithp_program_release(p);
    return wrong;
}

static const char *passes_text(int passes, uint64_t seed) {
    static char text[64];
    snprintf(text, sizeof text, "seed %llu, passes %d", (unsigned long long)seed, passes);
    return text;
}

static void expect_right(recipe *r, int passes, uint64_t seed) {
    if (!is_wrong(r, &passes))
        return;
    recipe_shrink(r, is_wrong, &passes);
    recipe_fail(r, passes_text(passes, seed));
}

/* Add to each primitive its calls in a recipe and its bodies. */
static void count_calls(const recipe *r, int64_t *met) {
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        met[x->primitive] += x->kind >= RECIPE_CALL;
        for (int b = 0; x->kind == RECIPE_CONTROL && b < x->body_count; b++)
            count_calls(x->bodies[b], met);
    }
}

/* Messages and checks of rules have no value, marks only derivations have, and
 * collectives have their own tests (tests/mesh). */
static bool is_drawn(int p) {
    return p != PITHP_OP_DEBUG && p != PITHP_OP_EXPOSE &&
           !pithp_is_collective((pithp_primitive)p) &&
           !pithp_op_has((pithp_primitive)p, PITHP_TRAIT_MARK);
}

/* Every row is met, but those that look at the sign of a NaN. */
static void expect_all_rows(const int64_t *met, int64_t programs) {
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++)
        cr_assert(met[p] > 0 || p == PITHP_OP_SIGNBIT || p == PITHP_OP_COPYSIGN ||
                      !is_drawn(p),
                  "no program of %lld has %s", (long long)programs, pithp_ops[p].name);
    for (int p = PITHP_LOWERED_COUNT; p < PITHP_PRIMITIVE_COUNT; p++)
        cr_assert(met[p] > programs / 50 || !is_drawn(p), "%s is met too seldom: %lld",
                  pithp_ops[p].name, (long long)met[p]);
}

static void random_programs(int64_t count, int passes, uint64_t from) {
    setenv("PITH_JIT", "off", 1); /* test_emit_random.c compiles */
    pith_runtime *rt = pt_open();
    int64_t met[PITHP_PRIMITIVE_COUNT] = {0};
    for (int64_t k = 0; k < count; k++) {
        const uint64_t seed = recipe_first(from) + (uint64_t)k;
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, seed, 6 + (int)(k % 50));
        expect_right(r, passes, seed);
        count_calls(r, met);
        recipe_free(r);
        pith_scope_close(s);
    }
    if (count >= 1000)
        expect_all_rows(met, count);
    pt_close(rt);
}

Test(program, plans_of_random_programs_give_the_bits_of_their_calls) {
    random_programs(recipe_programs(3000), NO_PASSES, 0);
}

Test(program, algebra_never_changes_a_bit) {
    random_programs(recipe_programs(1500), PITHP_PASS_ALGEBRA, 100000);
}

Test(program, folding_gives_the_bits_of_the_run) {
    random_programs(recipe_programs(1500), PITHP_PASS_FOLD, 200000);
}

Test(program, equal_calls_are_made_once) {
    random_programs(recipe_programs(1000), PITHP_PASS_COMMON, 300000);
}

Test(program, unused_instructions_are_removed) {
    random_programs(recipe_programs(1000), PITHP_PASS_DEAD, 400000);
}

Test(program, control_flow_is_narrowed) {
    random_programs(recipe_programs(1500), PITHP_PASS_CONTROL, 600000);
}

Test(program, all_passes_together) {
    random_programs(recipe_programs(3000), PITHP_PASS_ALL, 500000);
}

Test(program, layouts_of_products_change_no_bit) {
    random_programs(recipe_programs(500), PITHP_PASS_LAYOUT, 900000);
}

static int64_t count_updates(const recipe *r, int64_t *all) {
    int64_t met[PITHP_PRIMITIVE_COUNT] = {0}, updates = 0;
    count_calls(r, met);
    for (int p = 0; p < PITHP_PRIMITIVE_COUNT; p++) {
        updates += pithp_op_has((pithp_primitive)p, PITHP_TRAIT_SCATTER) ? met[p] : 0;
        *all += met[p];
    }
    return updates;
}

/* "Fails" where a loop or branch has an update in its body, and its values are right. */
static bool updates_in_a_body(const recipe *r, void *closure) {
    int none = NO_PASSES;
    int64_t found = 0, all = 0;
    for (int k = 0; k < r->count; k++)
        for (int b = 0; r->list[k].kind == RECIPE_CONTROL && b < r->list[k].body_count;
             b++)
            found += count_updates(r->list[k].bodies[b], &all);
    if (closure && found)
        cr_assert(!is_wrong(r, &none), "values are not those of what is left");
    return found > 0;
}

Test(program, a_failing_program_is_made_small_inside_its_bodies) {
    pith_runtime *rt = pt_open();
    int shrunk = 0;
    for (uint64_t seed = 700000; shrunk < 10; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, seed, 40);
        if (updates_in_a_body(r, NULL)) {
            recipe_shrink(r, updates_in_a_body, rt);
            int none = NO_PASSES;
            int64_t all = 0;
            cr_assert(!is_wrong(r, &none), "seed %d: values are others now", (int)seed);
            const int64_t updates = count_updates(r, &all);
            cr_assert(updates == 1 && all <= 6, "seed %d: %d calls", (int)seed, (int)all);
            shrunk++;
        }
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

Test(program, plans_that_do_not_fuse_give_them_too) {
    random_programs(recipe_programs(500), NOT_FUSED, 600000);
}

Test(program, those_that_failed_once_give_them) {
    static const int ways[] = {NO_PASSES,          NOT_FUSED,       PITHP_PASS_ALL,
                               PITHP_PASS_ALGEBRA, PITHP_PASS_FOLD, PITHP_PASS_COMMON,
                               PITHP_PASS_CONTROL, PITHP_PASS_DEAD, PITHP_PASS_RUN};
    pith_runtime *rt = pt_open();
    for (recipe_files files = recipe_files_open(); recipe_files_next(&files);) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_read(s, files.path);
        for (size_t k = 0; k < PITHP_COUNT(ways); k++)
            cr_assert(!is_wrong(r, (void *)(uintptr_t)&ways[k]), "%s, passes %d",
                      files.path, ways[k]);
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* What a file holds is the program that was written. */
Test(program, files_keep_programs) {
    pith_runtime *rt = pt_open();
    char path[320];
    pt_folder(path);
    strcat(path, "/one.recipe");
    for (uint64_t seed = 0; seed < 200; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 800000 + seed, 20);
        FILE *f = fopen(path, "w");
        cr_assert(f);
        recipe_write_list(f, r);
        fclose(f);
        recipe *read = recipe_read(s, path);
        pithp_program *p = recipe_program(r), *q = recipe_program(read);
        cr_assert(pithp_program_equal(p, q), "seed %d", (int)seed);
        for (int k = 0; k < r->output_count; k++)
            cr_assert(recipe_is(r, k, read->list[read->outputs[k]].data));
        pithp_program_release(p);
        pithp_program_release(q);
        recipe_free(r);
        recipe_free(read);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* ---- What passes and plans make of programs that are written out ---- */

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
    const char *text = text_of(better);
    pithp_program_release(better);
    b->p->output_count = 0;
    return text;
}
#define expect_text(text, wanted)                                                        \
    cr_assert(!strcmp((text), (wanted)), "expected\n%s, got\n%s", (wanted), (text))

Test(program, text_shows_values_parameters_and_literals) {
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

Test(program, sums_and_products_of_exchanged_operands_are_one) {
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

Test(program, rules_of_algebra_apply) {
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

Test(program, what_would_change_a_bit_stays) {
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

Test(program, literals_are_folded_and_equal_calls_joined) {
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

Test(program, a_call_that_may_report_stays) {
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

Test(program, equality_looks_at_bits_and_not_at_padding) {
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

Test(program, the_verifier_finds_what_is_wrong) {
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

Test(program, a_refused_call_says_why) {
    bench b = begin();
    const pithp_value x = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 8));
    const pithp_value y = pithp_program_input(b.s, b.p, line(&b, PITH_F64, 9));
    pt_fails(PITH_E_SHAPE, b.s, op(&b, PITHP_OP_ADD, x, y, NULL));
    pt_says("cannot broadcast");
    cr_assert(b.p->instruction_count == 0 && b.p->value_count == 2);
    end(&b);
}

Test(program, a_chain_is_one_step_without_memory_between) {
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

Test(program, what_meets_later_is_one_step_and_strangers_are_not) {
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

Test(program, values_that_do_not_live_together_share_memory) {
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

Test(program, every_failure_of_memory_is_survived) {
    pith_runtime *rt = pt_open();
    for (uint64_t seed = 0; seed < 12; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 700000 + seed, 40);
        pithp_program *p = recipe_program(r);
        bool failed = true;
        for (long long at = 1; failed; at++) {
            pith_scope *inner = pith_scope_open_in(s);
            atomic_store(&pt_default_heap.fail_at,
                         atomic_load(&pt_default_heap.allocations) + at);
            pithp_program *better = pithp_program_optimise(inner, p, PITHP_PASS_ALL);
            pithp_executable *exe =
                better ? pithp_executable_make(inner, better, true) : NULL;
            atomic_store(&pt_default_heap.fail_at, 0);
            failed = pith_failed(inner);
            cr_assert(failed ? pith_code(inner) == PITH_E_MEMORY : exe != NULL);
            pithp_executable_free(exe);
            pithp_program_release(better);
            pith_clear(inner);
            pith_scope_close(inner);
            cr_assert(at < 10000);
        }
        pithp_program_release(p);
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}
