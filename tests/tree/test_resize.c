/* Resizing: contents kept, tails filled, ^names followed, shared leaves once, conflicts.
 */
#include "tree_types.h"

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static void holds(const pith_array *a, int64_t count, const int32_t *values) {
    int32_t got[64];
    cr_assert(a && pith_array_spec(a)->count == count);
    cr_assert(pith_read(s, a, got, (size_t)count * 4), "%s", pith_message(s));
    for (int64_t i = 0; i < count; i++)
        cr_assert(got[i] == values[i], "%lld: %d, expected %d", (long long)i, got[i],
                  values[i]);
}
#define HOLDS(a, ...)                                                                    \
    holds((a), sizeof((int32_t[]){__VA_ARGS__}) / 4, (int32_t[]){__VA_ARGS__})

static const pith_array *ints(pith_shape shape) {
    int32_t values[64];
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.extents[i];
    for (int i = 0; i < 64; i++)
        values[i] = i;
    cr_assert(count <= 64);
    return pith_array_copy(s, PITH_I32, shape, values);
}

Test(resize, keeps_contents_and_fills_the_tail) {
    open_all();
    const Sim *sim = pt_sim(s, 2, 3, 0);
    Sim next = *sim;
    next.max_neighbour = 5;
    const Sim *wide = pith_tree_resize(s, Sim, &next, NULL);
    pt_ok(s, wide);
    cr_assert(wide->max_neighbour == 5 && wide->cutoff == 2.5);
    HOLDS(wide->neighbour, 0, 1, 2, -1, -1, 3, 4, 5, -1, -1);
    cr_assert(wide->atoms == sim->atoms, "what did not change is shared");
    HOLDS(sim->neighbour, 0, 1, 2, 3, 4, 5);
    /* nothing to do */
    next = *wide;
    cr_assert(pith_tree_resize(s, Sim, &next, NULL)->neighbour == wide->neighbour);
    close_all();
}

Test(resize, shrinks_only_when_asked) {
    open_all();
    Sim next = *pt_sim(s, 2, 3, 0);
    next.max_neighbour = 2;
    pt_fails(PITH_E_SHAPE, s, pith_tree_resize(s, Sim, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".neighbour");
    pt_says("would shrink from i32[2,3] to i32[2,2]");
    const Sim *small =
        pith_tree_resize(s, Sim, &next, &(pith_resize_options){.shrink = true});
    pt_ok(s, small);
    HOLDS(small->neighbour, 0, 1, 3, 4);
    next = *small;
    next.max_neighbour = 0;
    small = pith_tree_resize(s, Sim, &next, &(pith_resize_options){.shrink = true});
    pt_ok(s, small);
    cr_assert(pith_array_spec(small->neighbour)->count == 0);
    next.max_neighbour = -1;
    pt_fails(PITH_E_SHAPE, s,
             pith_tree_resize(s, Sim, &next, &(pith_resize_options){.shrink = true}));
    close_all();
}

/* A part whose extents are statics of what is around it. */
typedef struct {
    const pith_array *list;
} Inner;
typedef struct {
    const Inner *one;
    const void *any;
    const pith_array *own, *both;
    int64_t width, rows;
} Outer;
PITH_NODE(Inner, PITH_LEAF(list, "i32[^rows,2*^width+1]", .fill = 7))
PITH_NODE(Outer,
          PITH_CHILD(one, Inner),
          PITH_TREE(any, .optional = true),
          PITH_LEAF(own, "i32[width]", .fill = 9, .optional = true),
          PITH_LEAF(both, "i32[rows,width]", .optional = true),
          PITH_STATIC(width),
          PITH_STATIC(rows))

static const Inner *inner(int64_t rows, int64_t width) {
    return pith_freeze(s, Inner, &(Inner){ints(PITH_SHAPE(rows, 2 * width + 1))});
}

Test(resize, follows_names_of_enclosing_nodes) {
    open_all();
    const Inner *deep = inner(1, 1);
    const Outer *o =
        pith_freeze(s, Outer,
                    &(Outer){.one = inner(1, 1),
                             .any = pith_list_make(s, PITH_ITEMS(deep, pith_f64(s, 1))),
                             .own = ints(PITH_SHAPE(1)),
                             .both = ints(PITH_SHAPE(1, 1)),
                             .width = 1,
                             .rows = 1});
    pt_ok(s, o);
    Outer next = *o;
    next.width = 2;
    next.rows = 2;
    const Outer *made = pith_tree_resize(s, Outer, &next, NULL);
    pt_ok(s, made);
    HOLDS(made->one->list, 0, 1, 2, 7, 7, 7, 7, 7, 7, 7);
    const Inner *below = pith_child(made->any, 0);
    HOLDS(below->list, 0, 1, 2, 7, 7, 7, 7, 7, 7, 7);
    HOLDS(made->own, 0, 9);
    HOLDS(made->both, 0, 0, 0, 0);
    cr_assert(pith_child(made->any, 1) == pith_child(o->any, 1));
    close_all();
}

/* 1,000 leaves that would shrink, or cannot grow: one short line that names the first. */
Test(resize, says_one_line_of_a_thousand_leaves) {
    open_all();
    enum { LEAVES = 1000 };
    const void *items[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        items[i] = inner(2, 3);
    const Outer *o = pith_freeze(s, Outer,
                                 &(Outer){.one = inner(2, 3),
                                          .any = pith_list_make(s, LEAVES, items),
                                          .width = 3,
                                          .rows = 2});
    pt_ok(s, o);
    Outer next = *o;
    next.width = 1;
    pt_fails(PITH_E_SHAPE, s, pith_tree_resize(s, Outer, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".one.list");
    pt_says("would shrink from i32[2,7] to i32[2,3]");
    cr_assert(strlen(pt_error.message) < 512 && !strchr(pt_error.message, '\n'));
    const Outer *small =
        pith_tree_resize(s, Outer, &next, &(pith_resize_options){.shrink = true});
    pt_ok(s, small);
    const Inner *last = pith_child(small->any, LEAVES - 1);
    HOLDS(last->list, 0, 1, 2, 7, 8, 9);
    next.width = INT64_MAX;
    pt_fails(PITH_E_OVERFLOW, s, pith_tree_resize(s, Outer, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".one.list");
    cr_assert(strlen(pt_error.message) < 512 && !strchr(pt_error.message, '\n'));
    close_all();
}

/* A nearer node of the same name has the say. */
Test(resize, stops_at_nearer_names) {
    open_all();
    const Outer *near =
        pith_freeze(s, Outer, &(Outer){.one = inner(1, 1), .width = 1, .rows = 1});
    const Outer *far = pith_freeze(
        s, Outer, &(Outer){.one = inner(1, 1), .any = near, .width = 1, .rows = 1});
    Outer next = *far;
    next.width = 3;
    const Outer *made = pith_tree_resize(s, Outer, &next, NULL);
    pt_ok(s, made);
    cr_assert(made->any == near);
    cr_assert(pith_array_spec(made->one->list)->shape[1] == 7);
    close_all();
}

/* Places that want the same of one leaf get the same one. */
typedef struct {
    const pith_array *a, *b, *free;
    const void *any;
    int64_t m, n;
} Shared;
PITH_NODE(Shared,
          PITH_LEAF(a, "i32[m]", .fill = -1),
          PITH_LEAF(b, "i32[n]", .fill = -1, .optional = true),
          PITH_LEAF(free, "i32[k]", .optional = true),
          PITH_TREE(any, .optional = true),
          PITH_STATIC(m),
          PITH_STATIC(n))

typedef struct {
    const pith_array *a, *b;
    int64_t m;
} Fills;
PITH_NODE(Fills,
          PITH_LEAF(a, "i32[m]", .fill = 1),
          PITH_LEAF(b, "i32[m]", .fill = 2),
          PITH_STATIC(m))

Test(resize, resizes_a_shared_leaf_once) {
    open_all();
    const pith_array *x = ints(PITH_SHAPE(2));
    const Shared *old = pith_freeze(
        s, Shared,
        &(Shared){
            .a = x, .b = x, .any = pith_list_make(s, PITH_ITEMS(x)), .m = 2, .n = 2});
    Shared next = *old;
    next.m = next.n = 4;
    const Shared *made = pith_tree_resize(s, Shared, &next, NULL);
    pt_ok(s, made);
    HOLDS(made->a, 0, 1, -1, -1);
    cr_assert(made->a == made->b && pith_child(made->any, 0) == made->a);
    close_all();
}

Test(resize, names_both_places_of_a_conflict) {
    open_all();
    const pith_array *x = ints(PITH_SHAPE(2));
    const Shared *old = pith_freeze(s, Shared, &(Shared){.a = x, .b = x, .m = 2, .n = 2});
    Shared next = *old;
    next.m = 4;
    pt_fails(PITH_E_SHAPE, s, pith_tree_resize(s, Shared, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".b");
    pt_says("resizes to i32[2], but the same leaf at .a to i32[4]");

    /* a place that a name binds keeps its size */
    old = pith_freeze(s, Shared, &(Shared){.a = x, .free = x, .m = 2});
    next = *old;
    next.m = 4;
    pt_fails(PITH_E_SHAPE, s, pith_tree_resize(s, Shared, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".free");

    /* fills differ */
    const Fills *fills = pith_freeze(s, Fills, &(Fills){x, x, 2});
    Fills more = *fills;
    more.m = 3;
    pt_fails(PITH_E_SHAPE, s, pith_tree_resize(s, Fills, &more, NULL));
    cr_assert_str_eq(pt_error.path, ".b");
    pt_says("is filled with 2, but the same leaf at .a with 1");
    more.m = 2; /* nothing is filled */
    pt_ok(s, pith_tree_resize(s, Fills, &more, NULL));
    close_all();
}

Test(resize, refuses_bad_arguments) {
    open_all();
    const Sim *sim = pt_sim(s, 2, 3, 0);
    pt_fails(PITH_E_ARG, s, pith_tree_resize_any(s, Sim_pith_type(), NULL, NULL));
    pt_fails(PITH_E_TYPE, s, pith_tree_resize_any(s, NULL, sim, NULL));
    Sim next = *sim;
    next.neighbour = (const pith_array *)(const void *)&next;
    pt_fails(PITH_E_ARG, s, pith_tree_resize(s, Sim, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".neighbour");
    next = *sim;
    next.max_neighbour = INT64_MAX / 2;
    pt_fails(PITH_E_OVERFLOW, s, pith_tree_resize(s, Sim, &next, NULL));
    cr_assert_str_eq(pt_error.path, ".neighbour");
    const Sim *nil = pith_tree_resize(s, Sim, &next, NULL);
    cr_assert(nil && nil->max_neighbour == 0);
    pith_clear(s);
    close_all();
}

/* Several axes at once, of leaves of several widths: each element against where it was.
 */
typedef struct Block3 {
    const pith_array *x, *y, *z;
    int64_t a, b, c;
} Block3;
PITH_NODE(Block3,
          PITH_LEAF(x, "f64[a,b,c,2]", .fill = 0.5),
          PITH_LEAF(y, "u8[a,2*b]", .fill = 7),
          PITH_LEAF(z, "i16[100,a,b,c]", .fill = -3),
          PITH_STATIC(a),
          PITH_STATIC(b),
          PITH_STATIC(c))

static double number_at(const pith_array *wide, int64_t i) {
    static double values[1 << 16];
    static const pith_array *read;
    if (read != wide) {
        read = wide;
        cr_assert(pith_array_spec(wide)->bytes <= sizeof values);
        cr_assert(pith_read(s, wide, values, pith_array_spec(wide)->bytes));
    }
    return values[i];
}

static void check_resized(const pith_array *old, const pith_array *new, double fill) {
    const pith_spec *from = pith_array_spec(old), *to = pith_array_spec(new);
    const pith_array *x = pith_cast(s, old, PITH_F64), *y = pith_cast(s, new, PITH_F64);
    static double want[1 << 16];
    for (int64_t i = 0; i < to->count; i++) {
        int64_t rest = i, at = 0, pitch = 1;
        bool inside = true;
        for (int d = to->rank - 1; d >= 0; d--) {
            const int64_t k = rest % to->shape[d];
            rest /= to->shape[d];
            inside &= k < from->shape[d];
            at += k * pitch;
            pitch *= from->shape[d];
        }
        want[i] = inside ? number_at(x, at) : fill;
    }
    for (int64_t i = 0; i < to->count; i++)
        cr_assert(number_at(y, i) == want[i], "element %lld", (long long)i);
}

Test(resize, moves_along_several_axes) {
    open_all();
    Block3 block = {.a = 3, .b = 4, .c = 5};
    block.x = pith_reshape(s, pith_arange(s, PITH_F64, 120), PITH_SHAPE(3, 4, 5, 2));
    block.y = pith_reshape(s, pith_arange(s, PITH_U8, 24), PITH_SHAPE(3, 8));
    block.z = pith_reshape(s, pith_arange(s, PITH_I16, 6000), PITH_SHAPE(100, 3, 4, 5));
    const Block3 *old = pith_freeze(s, Block3, &block);
    static const int64_t sizes[][3] = {{3, 4, 6}, {3, 6, 5}, {5, 4, 5}, {4, 7, 9},
                                       {2, 3, 4}, {1, 9, 2}, {0, 4, 5}, {7, 0, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Block3 next = *old;
        next.a = sizes[i][0], next.b = sizes[i][1], next.c = sizes[i][2];
        const Block3 *made =
            pith_tree_resize(s, Block3, &next, &(pith_resize_options){.shrink = true});
        pt_ok(s, made);
        check_resized(old->x, made->x, 0.5);
        check_resized(old->y, made->y, 7);
        check_resized(old->z, made->z, -3);
    }
    close_all();
}
