/* A state whose sizes are capacities, for the tests of this room. */
#ifndef PITH_TEST_CAPACITY_H
#define PITH_TEST_CAPACITY_H

#include "pith_test.h"

#include <pith/pith.h>

typedef struct {
    const pith_array *list, *other;
    int64_t width, depth;
} Lists;
PITH_NODE(Lists,
          PITH_LEAF(list, "i32[n,width]", .fill = -1),
          PITH_LEAF(other, "f32[depth]", .fill = 7),
          PITH_STATIC(width, .initial = 3),
          PITH_STATIC(depth, .initial = 5))

typedef struct {
    const Lists *lists;
    const pith_array *edges, *x, *step;
    int64_t max_edges;
} Sim;
PITH_NODE(Sim,
          PITH_CHILD(lists, Lists),
          PITH_LEAF(edges, "i32[max_edges]", .fill = -2),
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(step, "i64"),
          PITH_STATIC(max_edges, .initial = 100))

static pith_runtime *rt;
static pith_scope *s;

static PT_UNUSED void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static PT_UNUSED void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static PT_UNUSED const Sim *start(void) {
    return pith_make(s, Sim, NULL, PITH_EXTENTS({"n", 4}));
}

static PT_UNUSED const pith_array *i64s(int64_t count, const int64_t *values) {
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(count), values);
}
/* An i64 array of rank 1. */
#define I64S(...)                                                                        \
    i64s(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

#endif
