/* What tests of steps in chunks share: trees at random, a step over any of them, and what
 * the same bits are. */
#ifndef CHUNKED_TEST_H
#define CHUNKED_TEST_H

#include "../assert/assert_test.h"

/* ---- Random trees, and a step over any of them ---- */

/* Leaves of u16 are tables: whole, though they may have the axis. */
static PT_UNUSED bool is_table(const char *path, const pith_array *leaf, void *closure) {
    (void)closure;
    cr_assert(path && (path[0] == 0 || path[0] == '[' || path[0] == '.'));
    return pith_array_spec(leaf)->dtype == PITH_U16;
}

typedef struct {
    pith_scope *s;
    uint64_t state;
    int64_t runs, split; /* leaves that are split */
    int axis;
} maker;

static int64_t draw(maker *m, int64_t below) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((m->state >> 33) % (uint64_t)below);
}

static const pith_array *make_leaf(maker *m) {
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_I32, PITH_I64,
                                        PITH_U8,  PITH_F16, PITH_U16};
    const pith_dtype dtype = dtypes[draw(m, 7)];
    const int rank = (int)draw(m, 5);
    const int axis = m->axis < 0 ? m->axis + rank : m->axis;
    pith_shape shape = {.rank = rank, .extents = {0}};
    int64_t count = 1;
    for (int d = 0; d < rank; d++) {
        shape.extents[d] = dtype != PITH_U16 && d == axis ? m->runs : 1 + draw(m, 6);
        count *= shape.extents[d];
    }
    m->split += dtype != PITH_U16 && axis >= 0 && axis < rank;
    const size_t bytes = (size_t)count * pith_dtype_size(dtype);
    unsigned char *values = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++) /* any bits: NaN, -0 and denormals among them */
        values[i] = (unsigned char)draw(m, 256);
    const pith_array *leaf = pith_array_copy(m->s, dtype, shape, values);
    free(values);
    return leaf;
}

static const void *make_tree(maker *m, int depth) {
    const void *items[5];
    const char *keys[5] = {"a", "b.c", "'", "", "z"};
    if (depth == 0 || draw(m, 4) == 0)
        return draw(m, 8) ? (const void *)make_leaf(m)
                          : (const void *)pith_none_make(m->s);
    const int64_t count = 1 + draw(m, 5);
    for (int64_t i = 0; i < count; i++)
        items[i] = make_tree(m, depth - 1);
    switch (draw(m, 3)) {
        case 0:
            return pith_list_make(m->s, count, items);
        case 1:
            return pith_tuple_make(m->s, count, items);
        default:
            return pith_dict_make(m->s, count, keys, items);
    }
}

static int step_axis;
static int64_t step_calls;

/* Work of each run by itself: along the axes that are not of the runs sums, running sums
 * and orders; what is whole is advanced. */
static const pith_array *
advance_leaf(pith_scope *s, const pith_array *const *leaves, void *closure) {
    const pith_array *x = leaves[0];
    const int rank = pith_array_spec(x)->rank,
              axis = step_axis < 0 ? step_axis + rank : step_axis;
    pith_axes others = {.keep = true};
    int last = -1;
    (void)closure;
    if (pith_array_spec(x)->dtype == PITH_U16)
        return x;
    for (int d = 0; d < rank; d++)
        if (d != axis) {
            others.axes[others.count++] = (int8_t)d;
            last = d;
        }
    const pith_array *y = pith_add(s, x, pith_like(s, x, 1));
    if (others.count) {
        y = pith_mul(s, y,
                     pith_cast(s, pith_sum(s, x, others), pith_array_spec(x)->dtype));
        y = pith_add(s, y, pith_sort(s, x, last, NULL));
    }
    return pith_dtype_is_float(pith_array_spec(x)->dtype) ? pith_add(s, y, pith_sin(s, x))
                                                          : y;
}

static const void *advance(pith_scope *s, const void *tree) {
    step_calls++;
    return pith_tree_map(s, advance_leaf, NULL, 1, &tree, NULL);
}
PITH_FUNCTION1(advance_step, advance, void, void)

/* The same bits, or both NaN: which NaN the sum of two is is left to the processor. */
static bool same_element(pith_dtype dtype, const char *p, const char *q, int64_t k) {
    const size_t size = pith_dtype_size(dtype);
    p += (size_t)k * size;
    q += (size_t)k * size;
    if (memcmp(p, q, size) == 0)
        return true;
    double a = 0, b = 0;
    float c = 0, d = 0;
    uint16_t e = 0, f = 0;
    if (dtype == PITH_F64) {
        memcpy(&a, p, size);
        memcpy(&b, q, size);
        return isnan(a) && isnan(b);
    }
    if (dtype == PITH_F32) {
        memcpy(&c, p, size);
        memcpy(&d, q, size);
        return isnan(c) && isnan(d);
    }
    if (dtype != PITH_F16)
        return false;
    memcpy(&e, p, size);
    memcpy(&f, q, size);
    return (e & 0x7fff) > 0x7c00 && (f & 0x7fff) > 0x7c00;
}

/* Bit for bit; the trees may be of two runtimes. */
static void same_bits(pith_scope *s, const void *a, pith_scope *t, const void *b) {
    const pith_array *const *left, *const *right;
    pt_ok(s, pith_tree_flatten(s, a, &left));
    pt_ok(t, pith_tree_flatten(t, b, &right));
    const int64_t count = pith_tree_num_leaves(a);
    cr_assert(count == pith_tree_num_leaves(b));
    for (int64_t i = 0; i < count; i++) {
        const pith_spec *x = pith_array_spec(left[i]), *y = pith_array_spec(right[i]);
        cr_assert(x->dtype == y->dtype && x->rank == y->rank &&
                  memcmp(x->shape, y->shape, sizeof x->shape) == 0);
        char *p = malloc(2 * x->bytes + 1);
        pith_read(s, left[i], p, x->bytes);
        pith_read(t, right[i], p + x->bytes, x->bytes);
        pt_ok(s);
        pt_ok(t);
        for (int64_t k = 0; k < x->count; k++)
            cr_assert(same_element(x->dtype, p, p + x->bytes, k), "%s",
                      pith_tree_path(s, a, i));
        free(p);
    }
}

static const void *random_state(pith_scope *s,
                                uint64_t seed,
                                int axis,
                                int64_t most,
                                int64_t *runs,
                                size_t *bytes) {
    for (;; seed += 1000003) {
        maker m = {.s = s, .state = seed, .axis = axis};
        m.runs = 1 + draw(&m, most);
        const void *tree = make_tree(&m, 3);
        pt_ok(s, tree);
        *runs = m.runs;
        *bytes = pith_tree_bytes(tree);
        step_axis = axis;
        if (m.split)
            return tree;
    }
}

/* A small tree at random, and what some steps over all of its runs make of it. */
typedef struct {
    const void *state, *whole;
    int64_t runs, steps;
    int axis;
} whole_run;

static PT_UNUSED whole_run run_whole(pith_scope *s, uint64_t seed) {
    whole_run w = {.steps = 1 + (int64_t)(seed % 3), .axis = (int)(seed % 4) - 1};
    size_t bytes;
    w.state = random_state(s, seed, w.axis, 40, &w.runs, &bytes);
    w.whole = pith_propagate_any(s, NULL, &advance_step, w.state,
                                 &(pith_propagate_options){.steps = w.steps});
    pt_ok(s, w.whole);
    return w;
}

#endif
