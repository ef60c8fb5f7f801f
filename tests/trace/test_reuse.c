/* Results that are made in the memory of donated arguments: where they are, and where
 * that would change what the step computes. Every test runs a step with and without
 * donation, interpreted and compiled, and compares all elements. */
#include "pith/pith.h"

#include "array/array_internal.h"
#include "pith_test.h"

typedef struct {
    const pith_array *x, *y, *z;
} Three;
PITH_NODE(Three,
          PITH_LEAF(x, "f64[n,m]"),
          PITH_LEAF(y, "f64[n,m]"),
          PITH_LEAF(z, "f64[n,m]"))

static pith_runtime *rt;
static pith_scope *s;
static char logged[4096];

static void note(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level == PITH_LOG_WARNING)
        strncat(logged, message, sizeof logged - strlen(logged) - 1);
}

static void begin(const char *jit) {
    setenv("PITH_JIT", jit, 1);
    rt = pt_open();
    logged[0] = 0;
    pith_set_log_hook(rt, note, NULL);
    s = pith_scope_open(rt);
}
static void end(void) {
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

enum { ROWS = 40, COLUMNS = 300 }; /* large enough for memory of its own */

static const pith_array *
matrix(pith_scope *in, int64_t rows, int64_t columns, double from) {
    return pith_add(in,
                    pith_reshape(in, pith_arange(in, PITH_F64, rows * columns),
                                 PITH_SHAPE(rows, columns)),
                    pith_f64(in, from));
}
static const Three *three(pith_scope *in, int64_t rows, int64_t columns) {
    const Three t = {.x = matrix(in, rows, columns, 1),
                     .y = matrix(in, rows, columns, 2),
                     .z = matrix(in, rows, columns, 3)};
    return pith_freeze(in, Three, &t);
}
static void same(const pith_array *a, const pith_array *b) {
    const pith_array *equal = pith_all(s, pith_equal(s, a, b), PITH_ALL_AXES);
    pt_ok(s, pith_read_bool(s, equal));
}
static int64_t written(void) {
    return pith_jit_about(rt).written;
}

/* Call the function twice on states of its own, all donated and none; compare; returns
 * how many leaves were written in place. */
static int64_t compare(const pith_function *f, int64_t rows, int64_t columns) {
    pith_scope *in = pith_scope_open_in(s);
    const pith_function *plain = pith_jit(s, f, NULL);
    const pith_function *donating =
        pith_jit(s, f, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const Three *kept = pith_apply(in, plain, three(in, rows, columns));
    pt_ok(in, kept);
    const int64_t before = written();
    const Three *given = pith_apply(s, donating, three(in, rows, columns));
    pt_ok(s, given);
    kept = pith_keep(s, kept);
    same(kept->x, given->x);
    same(kept->y, given->y);
    same(kept->z, given->z);
    pith_scope_close(in);
    return written() - before;
}

#define EACH_MODE(...)                                                                   \
    do {                                                                                 \
        begin("off");                                                                    \
        __VA_ARGS__;                                                                     \
        end();                                                                           \
        begin("wait");                                                                   \
        __VA_ARGS__;                                                                     \
        end();                                                                           \
    } while (0)

static const Three *each_alone(pith_scope *in, const Three *t) {
    const Three next = {.x = pith_add(in, t->x, pith_f64(in, 1)),
                        .y = pith_mul(in, t->y, t->y),
                        .z = pith_sqrt(in, t->z)};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION1(each_alone_step, each_alone, Three, Three)

Test(reuse, results_lie_where_arguments_did) {
    EACH_MODE({
        cr_assert(compare(&each_alone_step, ROWS, COLUMNS) == 3);
        const pith_function *f =
            pith_jit(s, &each_alone_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        const void *z = t->z->data;
        const Three *next = pith_apply(s, f, t);
        pt_ok(s, next);
        cr_assert(next->z->data == z, "the only one of its step");
        pt_fails(PITH_E_DONATED, s, pith_neg(s, t->z));
        pt_says("donated at ");
        pt_says("test_reuse.c:");
        pt_fails(PITH_E_DONATED, s, pith_freeze(s, Three, t));
        pt_says("donated at ");
    });
}

Test(reuse, small_leaves_of_one_block_are_written) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &each_alone_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = pith_apply(s, f, three(s, 3, 2));
        const int64_t before = written();
        for (int k = 0; k < 3; k++)
            t = pith_apply(s, f, t);
        pt_ok(s, t);
        cr_assert(written() == before + 9, "made by one call, they share a block");
        cr_assert(pith_read_f64(s, pith_min(s, t->x, PITH_ALL_AXES)) == 5);
    });
}

/* x is read again after the instruction that makes the first output. */
static const Three *read_again(pith_scope *in, const Three *t) {
    const pith_array *twice = pith_add(in, t->x, t->x);
    const Three next = {.x = twice,
                        .y = pith_add(in, pith_mul(in, twice, t->x), t->y),
                        .z = pith_sub(in, t->z, t->x)};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION1(read_again_step, read_again, Three, Three)

/* Rows of x are read by elements that lie elsewhere. */
static const Three *read_elsewhere(pith_scope *in, const Three *t) {
    const pith_array *reversed = pith_flip(in, t->x, PITH_ALL_AXES);
    const Three next = {.x = pith_add(in, t->x, reversed),
                        .y = pith_add(in, t->y, pith_sum(in, t->y, PITH_ALL_AXES)),
                        .z = pith_add(in, pith_flip(in, t->z, PITH_AXES(1)), t->x)};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION1(read_elsewhere_step, read_elsewhere, Three, Three)

/* What is read when most is done. */
static const Three *read_late(pith_scope *in, const Three *t) {
    const Three next = {
        .x = pith_cumsum(in, t->x, 0, NULL),
        .y = pith_add(in, t->y, pith_sum(in, t->x, PITH_ALL_AXES)),
        .z = pith_sub(in, t->z, pith_max(in, pith_add(in, t->z, t->y), PITH_ALL_AXES))};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION1(read_late_step, read_late, Three, Three)

/* Exchanged, and one of them twice. */
static const Three *exchanged(pith_scope *in, const Three *t) {
    const Three next = {.x = pith_add(in, t->y, pith_f64(in, 1)),
                        .y = pith_add(in, t->x, pith_f64(in, 2)),
                        .z = pith_add(in, t->x, t->y)};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION1(exchanged_step, exchanged, Three, Three)

Test(reuse, what_is_read_afterwards_is_not_written) {
    EACH_MODE({
        const pith_function *const functions[] = {&read_again_step, &read_elsewhere_step,
                                                  &read_late_step, &exchanged_step};
        for (int k = 0; k < 4; k++) {
            compare(functions[k], ROWS, COLUMNS);
            compare(functions[k], 3, 2);
            compare(functions[k], 1, 1);
            if (functions[k] != &read_late_step)
                compare(functions[k], 0, 4);
            compare(functions[k], 700, 900); /* threads */
        }
    });
}

Test(reuse, arrays_that_are_given_twice_are_not_written) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &exchanged_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        Three twice = *t;
        twice.y = twice.x;
        const int64_t before = written();
        const Three *next = pith_apply(s, f, pith_freeze(s, Three, &twice));
        pt_ok(s, next);
        cr_assert(written() == before + 1, "z alone");
        same(next->x, matrix(s, ROWS, COLUMNS, 2));
        same(next->y, matrix(s, ROWS, COLUMNS, 3));
        pt_fails(PITH_E_DONATED, s, pith_neg(s, twice.x));
    });
}

static const Three *with_second(pith_scope *in, const Three *t, const Three *other) {
    const Three next = {.x = pith_add(in, t->x, pith_f64(in, 1)),
                        .y = pith_add(in, t->y, other->x),
                        .z = pith_add(in, t->z, pith_sum(in, other->x, PITH_ALL_AXES))};
    return pith_freeze(in, Three, &next);
}
PITH_FUNCTION2(with_second_step, with_second, Three, Three, Three)

Test(reuse, arrays_that_are_also_given_to_keep_stay) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &with_second_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        const Three *next = pith_apply(s, f, t, t);
        pt_ok(s, next);
        same(t->x, matrix(s, ROWS, COLUMNS, 1));
        same(t->z, matrix(s, ROWS, COLUMNS, 3));
        cr_assert(written() == 0 && pith_jit_about(rt).refused == 3);
        cr_assert(
            strstr(logged,
                   "3 of 3 donated leaves are kept: [0].x and others lie in memory"),
            "%s", logged);
        logged[0] = 0;
        pt_ok(s, pith_apply(s, f, t, t));
        cr_assert(!logged[0], "once is enough");
    });
}

Test(reuse, views_of_one_array_are_not_written) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &exchanged_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const pith_array *whole = matrix(s, ROWS, COLUMNS, 1);
        const Three parts = {
            .x = pith_reshape(s, whole, PITH_SHAPE(ROWS, COLUMNS)),
            .y = pith_reshape(s, pith_reshape(s, whole, PITH_SHAPE(ROWS * COLUMNS)),
                              PITH_SHAPE(ROWS, COLUMNS)),
            .z = matrix(s, ROWS, COLUMNS, 3)};
        const Three *t = pith_freeze(s, Three, &parts);
        if (parts.x != whole)
            pith_drop(s, whole);
        const Three *next = pith_apply(s, f, t);
        pt_ok(s, next);
        same(next->x, matrix(s, ROWS, COLUMNS, 2));
        same(next->y, matrix(s, ROWS, COLUMNS, 3));
        cr_assert(written() == 1, "z alone");
    });
}

Test(reuse, what_others_hold_is_not_written) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &each_alone_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        pith_scope *other = pith_scope_open(rt);
        const Three *kept = pith_keep(other, t);
        pt_ok(s, pith_apply(s, f, t));
        cr_assert(written() == 0);
        const pith_array *equal =
            pith_all(other, pith_equal(other, kept->x, matrix(other, ROWS, COLUMNS, 1)),
                     PITH_ALL_AXES);
        pt_ok(other, pith_read_bool(other, equal));
        pith_scope_close(other);
        double *mine = calloc(ROWS * COLUMNS, sizeof *mine);
        Three borrowed = *three(s, ROWS, COLUMNS);
        borrowed.x = pith_array_borrow(s, PITH_F64, PITH_SHAPE(ROWS, COLUMNS), mine);
        pt_ok(s, pith_apply(s, f, pith_freeze(s, Three, &borrowed)));
        const bool copied = !pithp_scope_device(s)->backend->addressable;
        if (!copied)
            pt_ok(s, pith_neg(s, borrowed.x));
        cr_assert(written() == 2 + copied && mine[0] == 0 && mine[1] == 0);
        free(mine);
    });
}

static const Three *checked(pith_scope *in, const Three *t) {
    const Three *next = each_alone(in, t);
    pith_check(in, pith_less(in, t->x, pith_f64(in, 10)), "too far",
               .level = PITH_CHECK_ALWAYS);
    return next;
}
PITH_FUNCTION1(checked_step, checked, Three, Three)

Test(reuse, programs_with_checks_write_to_no_argument) {
    EACH_MODE({
        const pith_function *f = pith_jit(
            s, &checked_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        pith_scope *in = pith_scope_open_in(s);
        pith_apply(in, f, t);
        pith_wait(in);
        cr_assert(pith_failed(in));
        pith_clear(in);
        pith_scope_close(in);
        cr_assert(written() == 0);
        same(t->x, matrix(s, ROWS, COLUMNS, 1));
        same(t->y, matrix(s, ROWS, COLUMNS, 2));
    });
}

Test(reuse, a_hash_of_the_old_elements_is_forgotten) {
    EACH_MODE({
        const pith_function *f =
            pith_jit(s, &each_alone_step,
                     &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
        const Three *t = three(s, ROWS, COLUMNS);
        uint64_t hash[2] = {1, 2};
        pithp_buffer_set_content(pithp_array_buffer(t->z), hash);
        const Three *next = pith_apply(s, f, t);
        pt_ok(s, next);
        cr_assert(!pithp_buffer_content(pithp_array_buffer(next->z), hash));
    });
}

typedef struct {
    const void *left, *right;
} Pair;
PITH_NODE(Pair, PITH_TREE(left), PITH_TREE(right))
enum { LEAVES = 150 };

static const pith_array *
grown(pith_scope *in, const pith_array *const *leaves, void *closure) {
    (void)closure;
    return pith_add(in, pith_mul(in, leaves[0], leaves[1]), pith_f64(in, 1));
}
static const Pair *many(pith_scope *in, const Pair *p) {
    const void *both[] = {p->left, p->right};
    const Pair next = {.left = pith_tree_map(in, grown, NULL, 2, both, NULL),
                       .right = p->right};
    return pith_freeze(in, Pair, &next);
}
PITH_FUNCTION1(many_step, many, Pair, Pair)

Test(reuse, many_leaves_are_written_and_their_neighbours_are_not) {
    EACH_MODE({
        const pith_function *f = pith_jit(
            s, &many_step, &(pith_jit_options){.donate_paths = PITH_PATHS("[0].left")});
        const pith_array *left[LEAVES], *right[LEAVES];
        for (int k = 0; k < LEAVES; k++) {
            left[k] = pith_full(s, PITH_F64, PITH_SHAPE(k % 7 * 5), k);
            right[k] = pith_full(s, PITH_F64, PITH_SHAPE(k % 7 * 5), 2);
        }
        const Pair start = {.left = pith_list_make(s, LEAVES, (const void **)left),
                            .right = pith_list_make(s, LEAVES, (const void **)right)};
        const Pair *p = pith_freeze(s, Pair, &start);
        for (int k = 0; k < 4; k++)
            p = pith_apply(s, f, p);
        pt_ok(s, p);
        cr_assert(written() >= 3 * LEAVES, "all but the first time");
        const pith_array *const *made = p->left, *const *kept = p->right;
        for (int k = 1; k < LEAVES; k++) {
            if (k % 7 == 0)
                continue;
            const double expected = 16.0 * k + 15;
            cr_assert(pith_read_f64(s, pith_max(s, made[k], PITH_ALL_AXES)) == expected);
            cr_assert(pith_read_f64(s, pith_min(s, made[k], PITH_ALL_AXES)) == expected);
            cr_assert(pith_read_f64(s, pith_max(s, kept[k], PITH_ALL_AXES)) == 2);
        }
    });
}
