/* Compiled steps whose capacities grow: what is traced again, and what is not. */
#include "capacity_test.h"

#include <string.h>

typedef struct {
    const pith_array *rows, *need;
    int64_t room;
} Table;
PITH_NODE(Table,
          PITH_LEAF(rows, "f64[room]", .fill = 3),
          PITH_LEAF(need, "i64"),
          PITH_STATIC(room, .initial = 4))

static int filled, summed;

/* Needs a row more each time. */
static const Table *fill(pith_scope *in, const Table *t) {
    filled++;
    pith_capacity_require(in, pith_lens_capacity(in, PITH_LENS(Table, room), t->room, 2),
                          t->need);
    Table next = *t;
    next.rows = pith_add(in, t->rows, pith_f64(in, 1));
    next.need = pith_add(in, t->need, pith_i64(in, 1));
    return pith_freeze(in, Table, &next);
}
PITH_FUNCTION1(fill_step, fill, Table, Table)

static const pith_array *sum_up(pith_scope *in, const pith_array *need) {
    summed++;
    return pith_mul(in, need, pith_i64(in, 2));
}
PITH_FUNCTION1(sum_function, sum_up, pith_array, pith_array)

static const Table *table_of(int64_t need) {
    Table t = pith_initial(Table);
    t.need = pith_i64(s, need);
    return pith_make(s, Table, &t, NULL);
}
static const pith_array *sum(const pith_function *f, const Table *t) {
    return pith_apply(s, f, t->need);
}

Test(grown, only_what_has_another_size_is_traced_again) {
    open_all();
    filled = summed = 0;
    const pith_function *step = pith_jit(s, &fill_step, NULL),
                        *other = pith_jit(s, &sum_function, NULL);
    const Table *t = table_of(1);
    for (int64_t k = 1; k <= 20; k++) {
        t = pith_propagate(s, Table, step, t, NULL);
        pt_ok(s, t);
        const int64_t room = k <= 4 ? 4 : k <= 8 ? 8 : k <= 16 ? 16 : 32;
        cr_assert(t->room == room, "%lld at %lld", (long long)t->room, (long long)k);
        cr_assert(pith_read_f64(s, sum(other, t)) == 2.0 * (double)(k + 1));
        cr_assert(filled == (k <= 4 ? 1 : k <= 8 ? 2 : k <= 16 ? 3 : 4));
        cr_assert(summed == 1, "what does not have that size stays as it is");
    }
    const char *why = pith_explain_miss(s, step);
    cr_assert(strstr(why, "[0].room: was 16, is 32"), "%s", why);
    cr_assert(pith_jit_about(rt).misses == 5);
    double rows[32];
    pt_ok(s, pith_read(s, t->rows, rows, sizeof rows));
    cr_assert(rows[0] == 3 + 20 && rows[31] == 3 + 4, "%g %g", rows[0], rows[31]);
    pt_ok(s);
    close_all();
}

Test(grown, the_program_of_the_old_size_comes_back) {
    open_all();
    filled = 0;
    const pith_function *step = pith_jit(s, &fill_step, NULL);
    const Table *small = table_of(1), *grown = NULL;
    grown = pith_propagate(s, Table, step, table_of(9), NULL);
    pt_ok(s, grown);
    cr_assert(grown->room == 16 && filled == 2);
    const int64_t misses = pith_jit_about(rt).misses;
    for (int k = 0; k < 5; k++) {
        pt_ok(s, pith_propagate(s, Table, step, small, NULL));
        pt_ok(s, pith_propagate(s, Table, step, grown, NULL));
    }
    cr_assert(filled == 2 && pith_jit_about(rt).misses == misses);
    pith_jit_set_limits(rt, 1, 0); /* the one that was used last stays */
    pt_ok(s, pith_propagate(s, Table, step, grown, NULL));
    cr_assert(filled == 2);
    pt_ok(s, pith_propagate(s, Table, step, small, NULL));
    cr_assert(filled == 3);
    pt_ok(s);
    close_all();
}
