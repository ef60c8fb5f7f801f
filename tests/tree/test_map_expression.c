/* Expressions over all leaves: values, dtypes, layouts, scalars, caches and errors. */
#include "array/expression.h"
#include "fail_allocator.h"
#include "gpu/compile/compile_internal.h"
#include "tree_types.h"

#include <unistd.h>

static pith_runtime *rt;
static pith_scope *s;
static char cache_folder[256];

static void open_all(void) {
    pt_folder(cache_folder);
    setenv("PITH_CACHE_DIR", cache_folder, 1);
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
    char command[512];
    snprintf(command, sizeof command, "rm -r %s", cache_folder);
    cr_assert(system(command) == 0);
}

static const void *map1(const char *expression, const void *tree) {
    return pith_tree_map_expression(s, expression, PITH_ITEMS(tree), 0, NULL);
}
static const void *map2(const char *expression, const void *a, const void *b) {
    return pith_tree_map_expression(s, expression, PITH_ITEMS(a, b), 0, NULL);
}

static void holds(const pith_array *a, int64_t count, const double *values) {
    double got[64];
    cr_assert(pith_array_spec(a)->count == count);
    const pith_array *wide = pith_cast(s, a, PITH_F64);
    cr_assert(pith_read(s, wide, got, (size_t)count * 8), "%s", pith_message(s));
    for (int64_t i = 0; i < count; i++)
        cr_assert(got[i] == values[i] || (got[i] != got[i] && values[i] != values[i]),
                  "element %lld: %.17g, expected %.17g", (long long)i, got[i], values[i]);
}
#define HOLDS(a, ...)                                                                    \
    holds((a), sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})

Test(map_expression, over_records) {
    open_all();
    const Atoms *a = pt_atoms(s, 2, 1), *b = pt_atoms(s, 2, 10);
    const double p[] = {0.5, 100};
    const Atoms *made =
        pith_tree_map_expression(s, "a + p[0] * b - p[1]", PITH_ITEMS(a, b), 2, p);
    pt_ok(s, made);
    cr_assert(pith_is(Atoms, made));
    HOLDS(made->position, -94, -92.5, -91, -89.5, -88, -86.5);
    HOLDS(made->force, 206, 207.5, 209, 210.5, 212, 213.5);
    close_all();
}

/* As many trees and numbers as there may be: a step of Adam has five trees. */
Test(map_expression, over_eight_trees) {
    open_all();
    const void *trees[8];
    double p[8];
    for (int k = 0; k < 8; k++) {
        const pith_array *x = pith_full(s, PITH_F64, PITH_SHAPE(2), 1 << k);
        trees[k] = k == 5 ? (const void *)pith_f64(s, 32)
                          : pith_list_make(s, PITH_ITEMS(x, pith_f64(s, -(1 << k))));
        p[k] = (double)(1 << (8 + k));
    }
    const pith_list *made =
        pith_tree_map_expression(s,
                                 "a + b + c + d + e + f + g + h + "
                                 "p[0] + p[1] + p[2] + p[3] + p[4] + p[5] + p[6] + p[7]",
                                 8, trees, 8, p);
    pt_ok(s, made);
    HOLDS(pith_child(made, 0), 65535, 65535);
    HOLDS(pith_child(made, 1), 65280 - 255 + 64);
    close_all();
}

Test(map_expression, over_every_dtype) {
    open_all();
    const double values[] = {0, 1, 2, 3, 100};
    const void *items[PITH_DTYPE_COUNT];
    int count = 0;
    for (pith_dtype d = PITH_BOOL; d <= PITH_F64; d++)
        items[count++] =
            pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(5), values), d);
    const pith_list *list = pith_list_make(s, count, items);
    const pith_list *made = map1("a * 2 + 1", list);
    pt_ok(s, made);
    for (int i = 0; i < count; i++) {
        const pith_array *item = pith_child(made, i);
        const pith_dtype d = pith_array_spec(item)->dtype;
        cr_assert(d == pith_array_spec(items[i])->dtype);
        if (d == PITH_BOOL)
            HOLDS(item, 1, 1, 1, 1, 1);
        else if (d == PITH_I8)
            HOLDS(item, 1, 3, 5, 7, -55);
        else
            HOLDS(item, 1, 3, 5, 7, 201);
    }
    /* the tuple of dtypes counts: integers beside floats */
    const pith_list *halves = map2("a + 0.5 * b", list, pith_list_make(s, count, items));
    pt_ok(s, halves);
    HOLDS(pith_child(halves, 3), 0, 1, 3, 4, 150); /* i32: toward zero */
    HOLDS(pith_child(halves, 12), 0, 1.5, 3, 4.5, 150);
    close_all();
}

/* Functions give what the array operations give, bit for bit. */
Test(map_expression, has_the_functions_of_math_h) {
    open_all();
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = (i - 50) * 0.37 + 0.01;
    const pith_array *x64 = pith_array_copy(s, PITH_F64, PITH_SHAPE(100), values);
    const void *leaves[] = {x64, pith_cast(s, x64, PITH_F32)};
    const pith_list *list = pith_list_make(s, 2, leaves);
    static const struct {
        const char *text;
        const pith_array *(*eager)(pith_scope *, const pith_array *);
    } functions[] = {
        {"exp(a)", (pith_exp)},     {"log(a)", (pith_log)},
        {"sin(a)", (pith_sin)},     {"cos(a)", (pith_cos)},
        {"tan(a)", (pith_tan)},     {"tanh(a)", (pith_tanh)},
        {"sqrt(a)", (pith_sqrt)},   {"cbrt(a)", (pith_cbrt)},
        {"erf(a)", (pith_erf)},     {"expm1(a)", (pith_expm1)},
        {"log1p(a)", (pith_log1p)}, {"floor(a)", (pith_floor)},
        {"ceil(a)", (pith_ceil)},   {"trunc(a)", (pith_trunc)},
        {"rint(a)", (pith_round)},  {"fabs(a)", (pith_abs)},
        {"asinh(a)", (pith_asinh)}, {"lgamma(a)", (pith_lgamma)},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const pith_list *made = map1(functions[i].text, list);
        pt_ok(s, made);
        for (int k = 0; k < 2; k++)
            cr_assert(
                pith_tree_equal(s, pith_child(made, k), functions[i].eager(s, leaves[k])),
                "%s", functions[i].text);
    }
    const pith_list *powers = map2("pow(fabs(a), 1.5) + atan2(a, b)", list, list);
    pt_ok(s, powers);
    const pith_list *mixed = map1("fmin(a, 1) + fmax(a, -1) + sqrt(2)", list);
    pt_ok(s, mixed);
    double got[100];
    cr_assert(pith_read(s, pith_child(mixed, 0), got, sizeof got));
    cr_assert(got[60] == (1 + values[60]) + sqrt(2),
              "sqrt of an integer is that of a double");
    close_all();
}

/* A flat block, a table of chunks, leaves of many sizes, and empty ones: the same values.
 */
Test(map_expression, does_not_depend_on_where_leaves_lie) {
    open_all();
    enum { LEAVES = 300 };
    const void *single[LEAVES];
    static double values[4000];
    for (int i = 0; i < 4000; i++)
        values[i] = i * 0.25;
    for (int i = 0; i < LEAVES; i++)
        single[i] =
            pith_array_copy(s, PITH_F64, PITH_SHAPE(i % 7 == 0 ? 0 : i * 13), values);
    const pith_list *scattered = pith_list_make(s, LEAVES, single);
    const pith_list *made = map1("a * a - 1", scattered); /* by chunks */
    const pith_list *again = map1("a * a - 1", made);     /* results lie together */
    pt_ok(s, made && again);
    for (int i = 0; i < LEAVES; i++) {
        const pith_array *x = single[i], *one = pith_f64(s, 1);
        const pith_array *y = pith_sub(s, pith_mul(s, x, x), one);
        const pith_array *z = pith_sub(s, pith_mul(s, y, y), one);
        cr_assert(pith_tree_equal(s, pith_child(made, i), y), "leaf %d", i);
        cr_assert(pith_tree_equal(s, pith_child(again, i), z), "leaf %d", i);
    }
    const pith_list *sum = map2("a - b", again, scattered); /* one flat, one not */
    pt_ok(s, sum);
    cr_assert(
        pith_tree_equal(s, pith_child(sum, 200),
                        pith_sub(s, pith_child(again, 200), pith_child(scattered, 200))));
    close_all();
}

/* Trees of two dtypes, whose small leaves lie at equal distances or do not; the chunks
 * reach a device that reads them later. */
static void check_two_dtypes(void) {
    enum { LEAVES = 200 };
    const void *singles[LEAVES], *doubles[LEAVES];
    static double values[200];
    for (int i = 0; i < 200; i++)
        values[i] = 0.5 * i - 20;
    for (int i = 0; i < LEAVES; i++) {
        const int64_t count = i % 3 == 0 ? 60 : i % 3 == 1 ? 9 : i;
        doubles[i] = pith_array_copy(s, PITH_F64, PITH_SHAPE(count), values);
        singles[i] = pith_cast(s, doubles[i], PITH_F32);
    }
    const pith_list *a = pith_list_make(s, LEAVES, singles);
    const pith_list *b = pith_list_make(s, LEAVES, doubles);
    const pith_list *c = pith_tree_full_like(s, a, 3);
    const pith_list *made =
        pith_tree_map_expression(s, "a + b * c - 1", PITH_ITEMS(a, b, c), 0, NULL);
    pt_ok(s, made);
    for (int i = 0; i < LEAVES; i++) {
        const pith_array *want =
            pith_sub(s, pith_add(s, doubles[i], pith_mul(s, doubles[i], pith_f64(s, 3))),
                     pith_f64(s, 1));
        cr_assert(pith_tree_equal(s, pith_child(made, i), pith_cast(s, want, PITH_F32)),
                  "leaf %d", i);
    }
}

Test(map_expression, over_trees_of_two_dtypes) {
    open_all();
    check_two_dtypes();
    close_all();
    setenv("PITH_HOST_ASYNC", "1", 1);
    open_all();
    check_two_dtypes();
    close_all();
    unsetenv("PITH_HOST_ASYNC");
}

Test(map_expression, over_a_large_leaf_on_threads) {
    open_all();
    const pith_array *x = pith_arange(s, PITH_F64, 1000003);
    const pith_array *y = map1("2 * a + 1", x);
    pt_ok(s, y);
    cr_assert(pith_tree_equal(
        s, y, pith_add(s, pith_mul(s, x, pith_f64(s, 2)), pith_f64(s, 1))));
    const pith_list *pair = pith_list_make(s, PITH_ITEMS(x, pith_f64(s, 3), x));
    const pith_list *made = map1("2 * a + 1", pair);
    cr_assert(pith_tree_equal(s, pith_child(made, 2), y));
    HOLDS(pith_child(made, 1), 7);
    close_all();
}

/* Lengths that no block, line or vector divides, in leaves of two dtypes. */
Test(map_expression, writes_results_past_the_caches) {
    enum { LONG = (9 << 20) + 7, SHORT = 4099 };
    open_all();
    const int64_t counts[] = {LONG, SHORT, 1, SHORT};
    const pith_dtype dtypes[] = {PITH_F32, PITH_I16, PITH_F64, PITH_F32};
    const void *items[4];
    for (int k = 0; k < 4; k++)
        items[k] = pith_iota(s, dtypes[k], PITH_SHAPE(counts[k]), 0);
    const void *made = map1("a * 2 + 1", pith_tuple_make(s, 4, items));
    pt_ok(s, made);
    const pith_array *const *leaves;
    pith_tree_flatten(s, made, &leaves);
    for (int k = 0; k < 4; k++) {
        const pith_array *two = pith_cast(s, pith_i64(s, 2), dtypes[k]);
        const pith_array *one = pith_cast(s, pith_i64(s, 1), dtypes[k]);
        cr_assert(
            pith_tree_equal(s, leaves[k], pith_add(s, pith_mul(s, items[k], two), one)));
    }
    pt_ok(s, true);
    close_all();
}

Test(map_expression, takes_trees_without_leaves) {
    open_all();
    const void *none = pith_none_make(s);
    cr_assert(pith_kind(map1("a", none)) == PITH_NODE_NONE);
    const pith_array *empty = pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3));
    cr_assert(pith_array_spec(map1("a", empty))->count == 0);
    pt_ok(s);
    close_all();
}

Test(map_expression, keeps_plans) {
    setenv("PITH_JIT", "wait", 1);
    open_all();
    const void *items[] = {pith_f64(s, 1), pith_f64(s, 2)};
    const pith_list *list = pith_list_make(s, 2, items);
    for (int i = 0; i < 5; i++)
        pt_ok(s, map1("a + 1", list));
    cr_assert(pithp_fused_cached(s) == 1);
    cr_assert(pithp_compile_counted(rt).compiled == 1);
    pt_ok(s, map1("a + 2", list));
    cr_assert(pithp_fused_cached(s) == 2);
    for (int i = 1; i < 100; i++) { /* whatever the shapes are */
        items[0] = pith_zeros(s, PITH_F64, PITH_SHAPE(i));
        pt_ok(s, map1("a + 1", pith_list_make(s, 2, items)));
    }
    for (int i = 1; i < 100; i++) { /* and the parameters */
        const double p = i;
        const void *made =
            pith_tree_map_expression(s, "a * p[0]", PITH_ITEMS(list), 1, &p);
        pt_ok(s, made);
        HOLDS(pith_child(made, 1), 2.0 * i);
    }
    cr_assert(pithp_fused_cached(s) == 3);
    close_all();
}

/* Plans that no thread runs are freed before memory is refused, and made again. */
Test(map_expression, gives_its_plans_up_when_memory_is_short) {
    open_all();
    const void *x = pith_f64(s, 41);
    pt_ok(s, map1("a + 1", x));
    cr_assert(pithp_fused_cached(s) == 1);
    const int64_t total = (int64_t)pith_memory_about(rt).total;
    pith_scope *t = pith_scope_open_in(s);
    pt_fails(PITH_E_MEMORY, t, pith_zeros(t, PITH_U8, PITH_SHAPE(total)));
    pt_says("of compiled code were cleared");
    pith_scope_close(t);
    cr_assert(pithp_fused_cached(s) == 0);
    const pith_array *y = map1("a + 1", x);
    pt_ok(s, y);
    cr_assert(pith_read_f64(s, y) == 42);
    close_all();
}

Test(map_expression, refuses_what_is_no_expression) {
    open_all();
    const pith_array *x = pith_f64(s, 1), *n = pith_i32(s, 1);
    static const char *const bad[] = {"",
                                      " ",
                                      "a; a",
                                      "a) + (a",
                                      "(a",
                                      "a }",
                                      "\"a\"",
                                      "a // b",
                                      "#a",
                                      "'a'",
                                      "a /* */",
                                      "\xc3\xa9",
                                      "a <: 0 :>",
                                      "to[100000000]=1",
                                      "system(\"id\")",
                                      "a = 3",
                                      "a += 1",
                                      "sizeof(a)",
                                      "__builtin_trap()"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pt_fails(PITH_E_ARG, s, map1(bad[i], x));
        pt_says("^");
    }
    pt_fails(PITH_E_ARG, s, map1("a + b", x));
    pt_says("no array is called b; there are a (");
    pt_fails(PITH_E_ARG, s, map1("a + p[0]", x));
    pt_says("p[0] is used, but 0 parameters are given");
    pt_fails(PITH_E_ARG, s, map1("a + p", x));
    pt_says("takes an index, from p[0] to p[7]");
    pt_fails(PITH_E_ARG, s, map1(NULL, x));
    pt_fails(PITH_E_ARG, s, map1("a + unknown", x));
    pt_says("unknown");
    pt_fails(PITH_E_ARG, s, map1("a + cosin(a)", x));
    pt_says("no function is called cosin; there are asin, cos, cosh, sin");
    pt_says("\n    a + cosin(a)\n        ^");
    pt_fails(PITH_E_DTYPE, s, map1("a & 1", pith_list_make(s, PITH_ITEMS(n, x))));
    cr_assert_str_eq(pt_error.path, "[1]");
    pt_says("expected integers, got f64");
    HOLDS(map1("quotient(10, a - 1) + rest(7, a + 1)", n), 1);
    /* Operands are brought to one type, not to that of the first. */
    const pith_array *narrow = pith_full(s, PITH_I32, PITH_SHAPE(1), 7);
    const pith_array *wide = pith_full(s, PITH_I64, PITH_SHAPE(1), 4294967297.0);
    const void *both[] = {narrow, wide};
    static const char *const quotients[] = {"quotient(a, b)", "trunc_divide(a, b)",
                                            "a / b", "7 - rest(a, b)"};
    for (int k = 0; k < 4; k++)
        HOLDS(pith_tree_map_expression(s, quotients[k], 2, both, 0, NULL), 0);
    const void *nine[] = {x, x, x, x, x, x, x, x, x};
    pt_fails(PITH_E_ARG, s, pith_tree_map_expression(s, "a", 9, nine, 0, NULL));
    pt_says("9 trees, expected 1 to 8");
    pt_fails(PITH_E_ARG, s, pith_tree_map_expression(s, "a", 1, nine, 9, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_map_expression(s, "a", 1, nine, 1, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_map_expression(s, "a", 1, NULL, 0, NULL));
    close_all();
}

/* A tree, or a leaf, that is one element without axes goes beside all elements. */
Test(map_expression, broadcasts_scalars) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_array *rate = pith_f64(s, 0.25);
    const Sim *made =
        pith_tree_map_expression(s, "a - b * a", PITH_ITEMS(sim, rate), 0, NULL);
    pt_ok(s, made);
    const pith_array *x = sim->atoms->position;
    cr_assert(
        pith_tree_equal(s, made->atoms->position, pith_sub(s, x, pith_mul(s, rate, x))));
    const void *flat[] = {pith_iota(s, PITH_F32, PITH_SHAPE(2, 3), 1),
                          pith_iota(s, PITH_F32, PITH_SHAPE(2, 3), 0),
                          pith_arange(s, PITH_F32, 100000), pith_f32(s, 3)};
    const void *beside[] = {pith_f32(s, 2), pith_f32(s, 5), pith_f64(s, 7),
                            pith_f32(s, 9)};
    const pith_list *a = pith_list_make(s, 4, flat), *b = pith_list_make(s, 4, beside);
    const pith_list *sums =
        pith_tree_map_expression(s, "a * b + c", PITH_ITEMS(a, b, rate), 0, NULL);
    pt_ok(s, sums);
    HOLDS(pith_child(sums, 0), 0.25, 2.25, 4.25, 0.25, 2.25, 4.25);
    HOLDS(pith_child(sums, 1), 0.25, 0.25, 0.25, 5.25, 5.25, 5.25);
    HOLDS(pith_child(sums, 3), 27.25);
    const pith_array *large = pith_child(sums, 2);
    cr_assert(pith_read_f64(s, pith_cast(s, pith_max(s, large, PITH_ALL_AXES),
                                         PITH_F64)) == 699993.25);
    HOLDS(map2("b", pith_child(a, 0), rate), 0.25, 0.25, 0.25, 0.25, 0.25, 0.25);
    pt_fails(PITH_E_SHAPE, s, map2("a + b", b, a));
    cr_assert_str_eq(pt_error.path, "[0]");
    close_all();
}

/* More operations than a plan fuses, more tuples of dtypes than are kept: leaf by leaf.
 */
Test(map_expression, works_leaf_by_leaf_too) {
    open_all();
    char text[2000] = "a";
    for (int i = 0; i < 300; i++)
        strcat(text, "+a*2");
    const pith_list *list =
        pith_list_make(s, PITH_ITEMS(pith_arange(s, PITH_F64, 3), pith_i32(s, 7)));
    const pith_list *made = map1(text, list);
    pt_ok(s, made);
    HOLDS(pith_child(made, 0), 0, 601, 1202);
    HOLDS(pith_child(made, 1), 4207);
    const void *x[13 * 13], *y[13 * 13];
    for (int i = 0; i < 13 * 13; i++) {
        x[i] = pith_cast(s, pith_f64(s, 1), (pith_dtype)(PITH_BOOL + i / 13));
        y[i] = pith_cast(s, pith_f64(s, 1), (pith_dtype)(PITH_BOOL + i % 13));
    }
    made = map2("a * b", pith_list_make(s, 13 * 13, x), pith_list_make(s, 13 * 13, y));
    pt_ok(s, made);
    for (int i = 0; i < 13 * 13; i++)
        HOLDS(pith_child(made, i), 1);
    close_all();
}

Test(map_expression, refuses_trees_that_differ) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    pt_fails(PITH_E_SHAPE, s, map2("a + b", sim->atoms, pt_atoms(s, 5, 0)));
    cr_assert_str_eq(pt_error.path, ".position");
    pt_says("expected shape [4,3], got [5,3] in tree 1");
    pt_fails(PITH_E_STRUCTURE, s, map2("a + b", sim, pt_sim(s, 4, 9, 0)));
    cr_assert_str_eq(pt_error.path, ".max_neighbour");
    pt_fails(PITH_E_STRUCTURE, s, map2("a + b", sim, sim->atoms));
    close_all();
}

/* Runs of leaves, and leaf by leaf. */
static pith_status map_twice(const pith_open_options *options) {
    pith_runtime *with = pith_open(options);
    pith_scope *t = pith_scope_open(with);
    const double p[] = {3};
    const void *x = NULL, *made = NULL;
    pt_again(t, x = pith_list_make(t, PITH_ITEMS(pith_arange(t, PITH_F64, 5),
                                                 pith_arange(t, PITH_I32, 7))));
    const void *trees[] = {x, pith_f64(t, 2)};
    static const char *const texts[] = {"a * b + p[0]", "ldexp((f64)a, 1) + p[0]"};
    for (int k = 0; k < 2 && !pith_failed(t); k++) {
        pt_again(t, made = pith_tree_map_expression(t, texts[k], 2, trees, 1, p));
        if (!pith_failed(t))
            cr_assert(pith_read_f64(t, pith_max(t, pith_child(made, 0), PITH_ALL_AXES)) ==
                      11);
    }
    const pith_status code = pith_code(t);
    pith_clear(t);
    pith_scope_close(t);
    pith_close(with);
    return code;
}

Test(map_expression, survives_failing_allocations, .timeout = 300) {
    setenv("PITH_JIT", "off", 1);
    const pt_failures seen = pt_fail_each(map_twice);
    cr_assert(seen.allocations > 20, "%d", seen.allocations);
}
