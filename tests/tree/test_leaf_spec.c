/* Leaf specs: their grammar, and how leaves bind and obey them when a record is frozen.
 */
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>

static const pith_array *
zeros(pith_scope *s, pith_dtype dtype, int rank, const int64_t *extents) {
    pith_shape shape = {.rank = rank};
    memcpy(shape.extents, extents, (size_t)rank * sizeof extents[0]);
    const pith_array *a = pith_zeros(s, dtype, shape);
    pt_ok(s, a);
    return a;
}
#define ZEROS(dtype, ...)                                                                \
    zeros(s, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
          (int64_t[]){__VA_ARGS__})
#define SCALAR(dtype) zeros(s, dtype, 0, (int64_t[]){0})

static pith_runtime *rt;
static pith_scope *s;
static void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_scope(void) {
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Grammar ---- */

typedef struct {
    const pith_array *a, *b, *c, *d, *e, *f;
    int64_t width;
    pith_dtype real;
} Grammar;
PITH_NODE(Grammar,
          PITH_LEAF(a, "real[ 2*n + 1 , width ]"),
          PITH_LEAF(b, "any"),
          PITH_LEAF(c, "float[...]"),
          PITH_LEAF(d, "bf16[^m,3*^m,^m+2,4*width+5]"),
          PITH_LEAF(e, "u64[]"),
          PITH_LEAF(f, "i8[0,1,2,3,4,5,6,7]"),
          PITH_STATIC(width),
          PITH_STATIC_DTYPE(real))

Test(leaf_spec, the_grammar_is_read) {
    const pith_type *type = Grammar_pith_type();
    cr_assert_null(pith_type_error(type), "%s", pith_type_error(type));
    const pithp_leaf_spec *a = &type->fields[0].leaf, *d = &type->fields[3].leaf;
    cr_assert(a->rule == PITHP_DTYPE_STATIC && a->dtype_field == 7 && a->rank == 2);
    cr_assert(a->extents[0].kind == PITHP_EXTENT_NAME && a->extents[0].times == 2 &&
              a->extents[0].plus == 1);
    cr_assert(a->extents[1].kind == PITHP_EXTENT_STATIC && a->extents[1].name == 6);
    cr_assert(type->fields[1].leaf.rule == PITHP_DTYPE_ANY &&
              type->fields[1].leaf.rank == 0);
    cr_assert(type->fields[2].leaf.rule == PITHP_DTYPE_FLOAT &&
              type->fields[2].leaf.any_shape);
    cr_assert(d->dtype == PITH_BF16 && d->rank == 4);
    for (int i = 0; i < 3; i++)
        cr_assert(d->extents[i].kind == PITHP_EXTENT_OUTER);
    cr_assert(d->extents[1].times == 3 && d->extents[2].plus == 2 &&
              d->extents[3].times == 4 && d->extents[3].plus == 5 &&
              d->extents[3].kind == PITHP_EXTENT_STATIC);
    cr_assert(type->fields[4].leaf.rank == 0 && !type->fields[4].leaf.any_shape);
    cr_assert(type->fields[5].leaf.rank == 8 &&
              type->fields[5].leaf.extents[7].plus == 7);
    cr_assert_str_eq(type->names[0], "n");
    cr_assert_str_eq(type->names[1], "m");
    cr_assert(type->needs_outer);
}

/* ---- Names ---- */

typedef struct {
    const pith_array *x, *y;
} Pair;
PITH_NODE(Pair, PITH_LEAF(x, "f64[n,3]"), PITH_LEAF(y, "f64[n]"))

Test(leaf_spec, a_name_is_bound_by_the_first_leaf, .init = open_scope) {
    Pair p = {ZEROS(PITH_F64, 256, 3), ZEROS(PITH_F64, 256)};
    pt_ok(s, pith_freeze(s, Pair, &p));
    p.y = ZEROS(PITH_F64, 255);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Pair, &p));
    pt_says(".y: expected f64[n=256], got f64[255]");
    cr_assert_str_eq(pt_error.path, ".y");
    p.y = ZEROS(PITH_F32, 256);
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Pair, &p));
    pt_says(".y: expected f64[n=256], got f32[256]");
    p.x = ZEROS(PITH_F64, 256, 4);
    p.y = ZEROS(PITH_F64, 256);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Pair, &p));
    pt_says(".x: expected f64[n=256,3], got f64[256,4]");
    p.x = ZEROS(PITH_F64, 3);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Pair, &p));
    pt_says(".x: expected f64[n=256,3], got f64[3]");
    p.x = ZEROS(PITH_F64, 0, 3), p.y = ZEROS(PITH_F64, 0);
    pt_ok(s, pith_freeze(s, Pair, &p)); /* an extent may be 0 */
    close_scope();
}

typedef struct {
    const pith_array *x, *y, *z;
} Derived;
PITH_NODE(Derived,
          PITH_LEAF(x, "f64[2*n]", .optional = true),
          PITH_LEAF(y, "f64[n+1]", .optional = true),
          PITH_LEAF(z, "f64[n]", .optional = true))

Test(leaf_spec, derived_extents_are_checked_and_solved, .init = open_scope) {
    Derived d = {ZEROS(PITH_F64, 10), ZEROS(PITH_F64, 6), ZEROS(PITH_F64, 5)};
    pt_ok(s, pith_freeze(s, Derived, &d));
    d.z = NULL; /* only derived forms: n follows from the first that can be solved */
    pt_ok(s, pith_freeze(s, Derived, &d));
    d.y = ZEROS(PITH_F64, 7);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Derived, &d));
    pt_says(".y: expected f64[n+1=6], got f64[7]");
    d.x = ZEROS(PITH_F64, 9), d.y = NULL;
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Derived, &d));
    pt_says(".x: expected f64[2*n], got f64[9]");
    d.x = NULL, d.y = ZEROS(PITH_F64, 0);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Derived, &d));
    pt_says(".y: expected f64[n+1], got f64[0]");
    d = (Derived){NULL, NULL, NULL};
    pt_ok(s, pith_freeze(s, Derived, &d));
    close_scope();
}

typedef struct {
    const pith_array *x;
    int64_t width;
} Static;
PITH_NODE(Static, PITH_LEAF(x, "f64[n,2*width+1]"), PITH_STATIC(width))

Test(leaf_spec, statics_are_extents, .init = open_scope) {
    Static v = {ZEROS(PITH_F64, 4, 7), 3};
    pt_ok(s, pith_freeze(s, Static, &v));
    v.width = 4;
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Static, &v));
    pt_says(".x: expected f64[n=4,2*width+1=9], got f64[4,7]");
    v.width = -4;
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Static, &v));
    pt_says(".x: expected f64[n=4,2*width+1], got f64[4,7]");
    v.width = INT64_MAX;
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Static, &v));
    close_scope();
}

/* ---- dtypes ---- */

typedef struct {
    const pith_array *x;
    pith_dtype real;
} Typed;
PITH_NODE(Typed, PITH_LEAF(x, "real[n]"), PITH_STATIC_DTYPE(real))
typedef struct {
    const pith_array *x, *y;
    const void *rest;
} Floats;
PITH_NODE(Floats,
          PITH_LEAF(x, "float"),
          PITH_LEAF(y, "float", .optional = true),
          PITH_TREE(rest, .optional = true))

Test(leaf_spec, a_static_names_the_dtype, .init = open_scope) {
    Typed v = {ZEROS(PITH_F32, 4), PITH_F32};
    pt_ok(s, pith_freeze(s, Typed, &v));
    v.real = PITH_F64;
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Typed, &v));
    pt_says(".x: expected f64[n=4], got f32[4]");
    v.real = (pith_dtype)77;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Typed, &v));
    pt_says(".real: invalid dtype 77");
    close_scope();
}

Test(leaf_spec, float_leaves_of_a_tree_agree, .init = open_scope) {
    Floats v = {SCALAR(PITH_F32), SCALAR(PITH_F32), NULL};
    const Floats *single = pith_freeze(s, Floats, &v);
    pt_ok(s, single);
    v.y = SCALAR(PITH_F64);
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Floats, &v));
    pt_says(".y: expected f32[], got f64[]");
    v.x = SCALAR(PITH_I32), v.y = NULL;
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Floats, &v));
    pt_says(".x: expected float[], got i32[]");
    v.x = SCALAR(PITH_F64);
    const Floats *twofold = pith_freeze(s, Floats, &v);
    v.rest = single; /* below it */
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Floats, &v));
    pt_says(".rest.x: expected float=f64 as in .x, got f32");
    v.rest = pith_list_make(s, PITH_ITEMS(twofold, pith_none_make(s)));
    pt_ok(s, pith_freeze(s, Floats, &v));
    pt_fails(PITH_E_DTYPE, s, pith_tuple_make(s, PITH_ITEMS(v.x, twofold, single)));
    pt_says("[2].x: expected float=f64 as in [1].x, got f32");
    v.x = SCALAR(PITH_F32);
    pt_fails(PITH_E_DTYPE, s, pith_freeze(s, Floats, &v));
    pt_says(".rest[0].x: expected float=f32 as in .x, got f64");
    close_scope();
}

/* ---- Extra leading extents ---- */

typedef struct {
    const pith_array *x, *y, *z;
} Batch;
PITH_NODE(Batch,
          PITH_LEAF(x, "f64[n,3]"),
          PITH_LEAF(y, "f64"),
          PITH_LEAF(z, "i32[n]", .optional = true))

Test(leaf_spec, leaves_of_a_node_agree_on_extra_leading_extents, .init = open_scope) {
    Batch v = {ZEROS(PITH_F64, 7, 2, 5, 3), ZEROS(PITH_F64, 7, 2),
               ZEROS(PITH_I32, 7, 2, 5)};
    pt_ok(s, pith_freeze(s, Batch, &v));
    v.y = ZEROS(PITH_F64, 7, 3);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Batch, &v));
    pt_says(".y: expected f64[7,2] (extra leading extents as in .x), got f64[7,3]");
    v.y = SCALAR(PITH_F64);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Batch, &v));
    v.x = ZEROS(PITH_F64, 5, 3);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Batch, &v));
    pt_says(".z: expected i32[n=5], got i32[7,2,5]");
    v.z = NULL;
    pt_ok(s, pith_freeze(s, Batch, &v));
    v.y = ZEROS(PITH_F64, 1);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Batch, &v));
    pt_says(".y: expected f64[], got f64[1]");
    close_scope();
}

/* ---- ^names ---- */

typedef struct {
    const pith_array *x;
} Inner;
PITH_NODE(Inner, PITH_LEAF(x, "f64[2*^n,k]"))
typedef struct {
    const void *parts;
} Holder;
PITH_NODE(Holder, PITH_TREE(parts))
typedef struct {
    const pith_array *y;
    const void *parts;
    const Inner *inner;
} Outer;
PITH_NODE(Outer,
          PITH_LEAF(y, "f64[n]", .optional = true),
          PITH_TREE(parts, .optional = true),
          PITH_CHILD(inner, Inner, .optional = true))
typedef struct {
    const void *parts;
    int64_t n;
} OuterStatic;
PITH_NODE(OuterStatic, PITH_TREE(parts), PITH_STATIC(n))

Test(leaf_spec, an_outer_name_is_that_of_the_nearest_node_around, .init = open_scope) {
    const Inner *ten = pith_freeze(s, Inner, &(Inner){ZEROS(PITH_F64, 10, 3)});
    const Inner *twelve = pith_freeze(s, Inner, &(Inner){ZEROS(PITH_F64, 12, 3)});
    pt_ok(s); /* nothing is known of n yet */
    Outer o = {.y = ZEROS(PITH_F64, 5), .inner = ten};
    pt_ok(s, pith_freeze(s, Outer, &o));
    o.inner = twelve;
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Outer, &o));
    pt_says(".inner.x: expected f64[2*^n=10,k=3], got f64[12,3]");
    /* through containers and nodes that have no n */
    const Holder *holder =
        pith_freeze(s, Holder, &(Holder){pith_list_make(s, PITH_ITEMS(ten, ten))});
    o.inner = NULL, o.parts = pith_tuple_make(s, PITH_ITEMS(holder, twelve));
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Outer, &o));
    pt_says(".parts[1].x: expected f64[2*^n=10,k=3], got f64[12,3]");
    /* a node between that has n is nearer */
    const OuterStatic *six = pith_freeze(s, OuterStatic, &(OuterStatic){twelve, 6});
    pt_ok(s, six);
    o.parts = pith_tuple_make(s, PITH_ITEMS(holder, six));
    const Outer *good = pith_freeze(s, Outer, &o);
    pt_ok(s, good);
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, OuterStatic, &(OuterStatic){twelve, 5}));
    pt_says(".parts.x: expected f64[2*^n=10,k=3], got f64[12,3]");
    /* where no leaf of the node has n, the nodes below bind it and must agree */
    o = (Outer){.parts = ten, .inner = twelve};
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Outer, &o));
    o.inner = ten;
    pt_ok(s, pith_freeze(s, Outer, &o));
    close_scope();
}

typedef struct Chain {
    const pith_array *x, *y;
    const struct Chain *next;
} Chain;
PITH_NODE(Chain,
          PITH_LEAF(x, "f64[^n]"),
          PITH_LEAF(y, "f64[k]"),
          PITH_CHILD(next, Chain, .optional = true))
typedef struct {
    const pith_array *y;
    const void *chain;
} Top;
PITH_NODE(Top, PITH_LEAF(y, "f64[n]"), PITH_TREE(chain))

Test(leaf_spec, outer_names_are_found_at_any_depth, .init = open_scope) {
    enum { DEPTH = 100000 };
    const pith_array *two = ZEROS(PITH_F64, 2), *three = ZEROS(PITH_F64, 3);
    const Chain *chain = NULL, *wrong = NULL;
    for (int i = 0; i < DEPTH; i++) {
        chain = pith_freeze(s, Chain, &(Chain){two, three, chain});
        wrong = pith_freeze(s, Chain, &(Chain){i == 0 ? three : two, three, wrong});
    }
    pt_ok(s, chain && wrong);
    pt_ok(s, pith_freeze(s, Top, &(Top){two, chain}));
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Top, &(Top){two, wrong}));
    pt_says("expected f64[^n=2], got f64[3]");
    close_scope();
}
