/* Equality of trees, exact or within tolerances. Comparisons on the device reduce to one
 * flag, which is read once. Leaves that are the same array are skipped, and leaves
 * contiguous in memory are compared together. */
#include "tree/tree_internal.h"

#include <math.h>
#include <string.h>

enum { MOST_TEMPORARIES = 40 };

/* Two trees of one structure; temporaries live in a child scope. */
typedef struct comparison {
    pith_scope *s;
    pithp_flat a, b;
    bool near;                     /* within tolerances; else equal */
    const pith_array *rtol, *atol; /* f64, rank 0 */
    const pith_array *temporaries[MOST_TEMPORARIES];
    int count;
    const pith_array **flags; /* of the compared leaves: bool[1] */
    int64_t flag_count;
} comparison;

/* ---- Elements ---- */

/* The result of a primitive, dropped after the leaf. A NULL operand gives NULL. */
static const pith_array *apply(comparison *c,
                               pithp_primitive primitive,
                               const pith_array *x,
                               const pith_array *y) {
    const pith_array *operands[] = {x, y};
    const int arity = pithp_ops[primitive].arity;
    if (!x || (arity == 2 && !y))
        return NULL;
    const pith_array *made = pithp_bind(c->s, primitive, arity, operands, NULL);
    if (made) {
        PITH_ASSERT(c->count < MOST_TEMPORARIES);
        c->temporaries[c->count++] = made;
    }
    return made;
}

static bool is_float(const pith_array *a) {
    return pith_dtype_is_float(pithp_array_spec(a)->dtype);
}

static const pith_array *
equal_elements(comparison *c, const pith_array *a, const pith_array *b) {
    const pith_array *same = apply(c, PITHP_OP_EQ, a, b);
    if (!is_float(a))
        return same;
    const pith_array *nans =
        apply(c, PITHP_OP_LOGICAL_AND, apply(c, PITHP_OP_IS_NAN, a, NULL),
              apply(c, PITHP_OP_IS_NAN, b, NULL));
    return apply(c, PITHP_OP_LOGICAL_OR, same, nans);
}

static const pith_array *as(comparison *c, const pith_array *a, pith_dtype dtype) {
    const pith_array *cast = a ? pithp_cast(c->s, a, dtype) : NULL;
    if (cast && cast != a) {
        PITH_ASSERT(c->count < MOST_TEMPORARIES);
        c->temporaries[c->count++] = cast;
    }
    return cast;
}

/* a - b| as f64, exact in integers before the conversion. NULL if that needs more than 64
 * bits or an operation failed. */
static const pith_array *
integer_distance(comparison *c, const pith_array *a, const pith_array *b) {
    const bool large_a = pithp_array_spec(a)->dtype == PITH_U64;
    const bool large_b = pithp_array_spec(b)->dtype == PITH_U64;
    if (is_float(a) || is_float(b) || large_a != large_b)
        return NULL;
    const pith_array *x = large_a ? a : as(c, a, PITH_I64);
    const pith_array *y = large_b ? b : as(c, b, PITH_I64);
    const pith_array *wraps = apply(c, PITHP_OP_SUB, apply(c, PITHP_OP_MAX, x, y),
                                    apply(c, PITHP_OP_MIN, x, y));
    return as(c, as(c, wraps, PITH_U64), PITH_F64);
}

/* a - b| <= atol + rtol * |b| with both finite, or equal (as infinities). */
static const pith_array *
near_elements(comparison *c, const pith_array *a, const pith_array *b) {
    const pith_array *x = as(c, a, PITH_F64), *y = as(c, b, PITH_F64);
    const pith_array *distance = integer_distance(c, a, b);
    const bool integers = distance;
    if (!distance)
        distance = apply(c, PITHP_OP_ABS, apply(c, PITHP_OP_SUB, x, y), NULL);
    const pith_array *most =
        apply(c, PITHP_OP_ADD, c->atol,
              apply(c, PITHP_OP_MUL, c->rtol, apply(c, PITHP_OP_ABS, y, NULL)));
    const pith_array *near = apply(c, PITHP_OP_LE, distance, most);
    if (integers)
        return near;
    const pith_array *finite =
        apply(c, PITHP_OP_LOGICAL_AND, apply(c, PITHP_OP_IS_FINITE, x, NULL),
              apply(c, PITHP_OP_IS_FINITE, y, NULL));
    return apply(c, PITHP_OP_LOGICAL_OR, apply(c, PITHP_OP_LOGICAL_AND, near, finite),
                 x && y ? equal_elements(c, x, y) : NULL);
}

static const pith_array *scalar(comparison *c, double value) {
    pithp_full_params full = {.dtype = PITH_F64};
    memcpy(&full.value, &value, sizeof value);
    return pithp_bind(c->s, PITHP_OP_FULL, 0, NULL, &full);
}

const pith_array *pithp_same_elements(pith_scope *s,
                                      const pith_array *a,
                                      const pith_array *b,
                                      bool near,
                                      double rtol,
                                      double atol) {
    comparison c = {.s = s, .near = near};
    if (near) {
        c.rtol = scalar(&c, rtol);
        c.atol = scalar(&c, atol);
    }
    const pith_array *same = !near              ? equal_elements(&c, a, b)
                             : c.rtol && c.atol ? near_elements(&c, a, b)
                                                : NULL;
    if (near) {
        c.temporaries[c.count++] = c.rtol;
        c.temporaries[c.count++] = c.atol;
    }
    for (int i = 0; i < c.count; i++)
        if (c.temporaries[i] && c.temporaries[i] != same)
            pithp_array_drop(s, c.temporaries[i]);
    return same;
}

/* Compare two arrays with equal counts; adds one flag. */
static pith_status
compare_arrays(comparison *c, const pith_array *a, const pith_array *b) {
    const pith_array *same = c->near ? near_elements(c, a, b) : equal_elements(c, a, b);
    const pithp_reduce_params all = {
        .axes = same ? (1u << pithp_array_spec(same)->rank) - 1 : 0};
    const pith_array *flag = same ? pithp_bind(c->s, PITHP_OP_ALL, 1, &same, &all) : NULL;
    const pith_spec *one = pithp_spec(c->s, PITH_BOOL, 1, &(int64_t){1});
    flag = flag && one ? pithp_alias(c->s, flag, one) : NULL;
    for (int i = 0; i < c->count; i++)
        pithp_array_drop(c->s, c->temporaries[i]);
    c->count = 0;
    if (!flag)
        return c->s->error.code;
    c->flags[c->flag_count++] = flag;
    return PITH_OK;
}

/* ---- Leaves ---- */

static bool follows(const pith_array *a, const pith_array *b) {
    const pith_spec *spec = pithp_array_spec(a);
    return pithp_array_buffer(a) == pithp_array_buffer(b) &&
           (const char *)a->data + spec->bytes == b->data &&
           spec->dtype == pithp_array_spec(b)->dtype && spec->count > 0;
}

static pith_status check_leaf(comparison *c, const pithp_flat *f, int64_t i) {
    const pith_status rc = pithp_array_check(c->s, f->items[i], "comparison", "leaf");
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, &f->structure, i);
    return rc;
}

/* View the leaves first .. last of one tree as one array. */
static const pith_array *
joined(comparison *c, const pithp_flat *f, int64_t first, int64_t last) {
    if (first == last)
        return f->items[first];
    int64_t count = 0;
    for (int64_t i = first; i <= last; i++)
        count += f->structure.specs[i]->count;
    const pith_spec *spec = pithp_spec(c->s, f->structure.specs[first]->dtype, 1, &count);
    const pith_array *made =
        spec ? pithp_array_view(c->s, spec, pithp_array_buffer(f->items[first]),
                                f->items[first]->data)
             : NULL;
    if (made)
        c->temporaries[c->count++] = made;
    return made;
}

static pith_status compare_leaves(comparison *c) {
    const pith_array *const *a = c->a.items, *const *b = c->b.items;
    const int64_t count = c->a.structure.item_count;
    pith_status rc = PITH_OK;
    for (int64_t i = 0, last; i < count && rc == PITH_OK; i = last + 1) {
        last = i;
        if (a[i] == b[i] || c->a.structure.specs[i]->count == 0)
            continue;
        rc = check_leaf(c, &c->a, i);
        if (rc == PITH_OK)
            rc = check_leaf(c, &c->b, i);
        while (rc == PITH_OK && last + 1 < count && follows(a[last], a[last + 1]) &&
               follows(b[last], b[last + 1]))
            last++;
        if (rc != PITH_OK)
            break;
        const pith_array *x = joined(c, &c->a, i, last), *y = joined(c, &c->b, i, last);
        rc = x && y ? compare_arrays(c, x, y) : c->s->error.code;
    }
    return rc;
}

/* Reduce all flags to one and read it. */
static bool read_flags(comparison *c) {
    if (c->flag_count == 0)
        return true;
    if (c->flag_count > INT32_MAX) {
        pithp_fail(c->s, PITH_E_OVERFLOW, NULL, "too many leaves to compare");
        return false;
    }
    const pithp_reduce_params all = {.axes = 1};
    const pith_array *flags = pithp_bind(c->s, PITHP_OP_CONCATENATE, (int)c->flag_count,
                                         c->flags, &(pithp_concatenate_params){0});
    const pith_array *flag =
        flags ? pithp_bind(c->s, PITHP_OP_ALL, 1, &flags, &all) : NULL;
    uint8_t value = 0;
    return flag && pithp_array_read(c->s, flag, &value) == PITH_OK && value;
}

/* ---- Trees ---- */

/* Whether the specs allow a comparison: with tolerances, dtypes may differ. */
static bool same_specs(const comparison *c) {
    const pithp_structure *a = &c->a.structure, *b = &c->b.structure;
    for (int64_t i = 0; i < a->item_count; i++) {
        const pith_spec *x = a->specs[i], *y = b->specs[i];
        if (x != y && (!c->near || x->rank != y->rank ||
                       memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape)))
            return false;
    }
    return true;
}

static bool compare_flat(comparison *c, double rtol, double atol) {
    if (!pithp_structure_same(&c->a.structure, &c->b.structure) || !same_specs(c))
        return false;
    const size_t bytes = (size_t)c->a.structure.item_count * sizeof *c->flags;
    c->flags = pithp_scratch_allocate(c->s->runtime, bytes);
    if (!c->flags) {
        pithp_fail_memory(c->s, bytes);
        return false;
    }
    bool good = true;
    if (c->near) {
        c->rtol = scalar(c, rtol);
        c->atol = scalar(c, atol);
        good = c->rtol && c->atol;
    }
    good = good && compare_leaves(c) == PITH_OK && read_flags(c);
    pithp_scratch_release(c->s->runtime, c->flags, bytes);
    return good;
}

static bool compare_trees(pith_scope *s,
                          const void *a,
                          const void *b,
                          bool near,
                          double rtol,
                          double atol,
                          const char *function) {
    if (!pithp_enter_as(s, function) ||
        pithp_tree_check(s, a, function, "a") != PITH_OK ||
        pithp_tree_check(s, b, function, "b") != PITH_OK)
        return false;
    if (near && !(rtol >= 0 && atol >= 0)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: rtol %g, atol %g: expected 0 or more",
                   function, rtol, atol);
        return false;
    }
    if (a == b)
        return true;
    bool same = false;
    comparison c = {.s = pith_scope_open_in(s), .near = near};
    if (!pith_failed(c.s) && pithp_flat_make(c.s, &c.a, a, NULL, NULL) == PITH_OK) {
        if (pithp_flat_make(c.s, &c.b, b, NULL, NULL) == PITH_OK) {
            same = compare_flat(&c, rtol, atol);
            pithp_flat_end(&c.b);
        }
        pithp_flat_end(&c.a);
    }
    if (!pithp_scope_writable(c.s))
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    pith_scope_close(c.s);
    return same && !pith_failed(s);
}

bool pith_tree_equal(pith_scope *s, const void *a, const void *b) {
    return compare_trees(s, a, b, false, 0, 0, "pith_tree_equal");
}

bool pith_tree_all_close(pith_scope *s,
                         const void *a,
                         const void *b,
                         double rtol,
                         double atol) {
    return compare_trees(s, a, b, true, rtol, atol, "pith_tree_all_close");
}
