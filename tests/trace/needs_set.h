/* A set whose room is a capacity, and loops that fill it: for tests of which needs count.
 * TIMES, how many numbers are inserted, is defined before. */
#ifndef NEEDS_SET_H
#define NEEDS_SET_H

#include "pith/pith.h"

/* A set of at most MOST numbers, and a table that is as large as rows say. */
typedef struct {
    const pith_array *x, *n, *table;
    int64_t room, width, base;
} Set;
PITH_NODE(Set,
          PITH_LEAF(x, "i64[room]", .fill = -1),
          PITH_LEAF(n, "i64[]"),
          PITH_LEAF(table, "i32[width]"),
          PITH_STATIC(room, .initial = 4),
          PITH_STATIC(width, .initial = 10),
          PITH_STATIC(base, .initial = 2))

enum { MOST = 8 };

static const pith_capacity *room_of(pith_scope *s, const Set *in) {
    return pith_lens_capacity(s, PITH_LENS(Set, room), in->room, (double)in->base);
}

/* i mod MOST becomes an element. */
static Set inserted(pith_scope *s, const pith_array *i, const Set *in) {
    Set next = *in;
    const pith_array *value = pith_remainder(s, i, pith_i64(s, MOST));
    const pith_array *known = pith_any(s, pith_equal(s, in->x, value), PITH_ALL_AXES);
    next.n = pith_add(s, in->n, pith_cast(s, pith_logical_not(s, known), PITH_I64));
    next.x = pith_where(s, known, in->x, pith_scatter_set(s, in->x, in->n, value, NULL));
    return next;
}
static const Set *insert(pith_scope *s, const pith_array *i, const Set *in) {
    const Set next = inserted(s, i, in);
    pith_capacity_require(s, room_of(s, in), next.n);
    return pith_freeze(s, Set, &next);
}
PITH_FUNCTION2(insert_body, insert, Set, pith_array, Set)

typedef struct {
    const pith_array *i;
    const Set *set;
} Counted;
PITH_NODE(Counted, PITH_LEAF(i, "i64[]"), PITH_CHILD(set, Set))

static const pith_array *is_below(pith_scope *s, const Counted *c) {
    return pith_less(s, c->i, pith_i64(s, TIMES));
}
static const Counted *count_on(pith_scope *s, const Counted *c) {
    const Counted next = {.i = pith_add(s, c->i, pith_i64(s, 1)),
                          .set = insert(s, c->i, c->set)};
    return pith_freeze(s, Counted, &next);
}
PITH_FUNCTION1(is_below_test, is_below, pith_array, Counted)
PITH_FUNCTION1(count_on_body, count_on, Counted, Counted)
static const Set *while_from(pith_scope *s,
                             const pith_function *cond,
                             const pith_function *f,
                             const Set *in) {
    const Counted c = {.i = pith_i64(s, 0), .set = in};
    const Counted *last = pith_while(s, cond, f, pith_freeze(s, Counted, &c));
    return last->set;
}
/* The condition makes the check: the loop is turned round. */
static const pith_array *fits(pith_scope *s, const Counted *c) {
    pith_capacity_require(s, room_of(s, c->set), c->set->n);
    return is_below(s, c);
}
PITH_FUNCTION1(fits_test, fits, pith_array, Counted)

#endif
