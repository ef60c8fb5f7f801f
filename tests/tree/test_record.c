/* Records: freezing, statics and shapes, hooks, pith_make, and what is refused. */
#include "nodes.h"
#include "pith_test.h"
#include "tree/node_internal.h"

#include <pith/tree.h>
#include <pthread.h>

static pith_runtime *rt;
static pith_scope *s;
static void open_scope(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_scope(void) {
    pith_scope_close(s);
    cr_assert_eq(pithp_node_def_count(rt), 0, "shapes outlive their scopes");
    pt_close(rt);
}

static const Everything *everything(void) {
    const Everything *e = pith_make(s, Everything, NULL, PITH_EXTENTS({"n", 8}));
    pt_ok(s, e);
    return e;
}

/* ---- Freezing ---- */

Test(record, an_update_shares_what_did_not_change, .init = open_scope) {
    const Everything *a = everything();
    Everything next = *a;
    next.cutoff = 3;
    const Everything *b = pith_freeze(s, Everything, &next);
    pt_ok(s, b != a);
    next.cutoff = 4; /* the struct was copied */
    cr_assert(!(b->cutoff < 3) && !(b->cutoff > 3) && b->atoms == a->atoms &&
              b->x == a->x);
    cr_assert(pith_is(Everything, b) && !pith_is(Atoms, b) && pith_is(Atoms, b->atoms));
    close_scope();
}

Test(record, padding_and_ignored_members_are_zero, .init = open_scope) {
    Everything v, w;
    memset(&v, 0xa5, sizeof v);
    memset(&w, 0x5a, sizeof w);
    const Everything *a = everything();
    v = *a, w = *a;
    v.scratch = 1, w.scratch = 2;
    const Everything *x = pith_freeze(s, Everything, &v),
                     *y = pith_freeze(s, Everything, &w);
    pt_ok(s, x && y);
    cr_assert_eq(x->scratch, 0);
    cr_assert(memcmp(x, y, sizeof *x) == 0);
    cr_assert(pithp_node_def_of(x) == pithp_node_def_of(y));
    close_scope();
}

Test(record, what_is_no_child_is_refused, .init = open_scope) {
    const Everything *good = everything();
    Everything v = *good;
    Atoms loose = *good->atoms;
    v.atoms = &loose;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".atoms: expected a tree, got a pointer that is not frozen");
    v.atoms = NULL;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".atoms: expected Atoms, got NULL");
    v = *good, v.x = NULL;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".x: expected precision[count], got NULL");
    v.x = (const pith_array *)(const void *)good;
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Everything, &v));
    pt_says(".x: expected precision[count], got a record of Everything");
    v = *good, v.atoms = (const Atoms *)(const void *)good->x;
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Everything, &v));
    pt_says(".atoms: expected Atoms, got an array");
    v.atoms = (const Atoms *)(const void *)good;
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Everything, &v));
    pt_says(".atoms: expected Atoms, got a record of Everything");
    v = *good, v.extra = (const char *)good + 16;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    v.extra = pith_initial_any(Atoms_pith_type());
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".extra: expected a frozen record, got the initial values of Atoms");
    pt_fails(PITH_E_ARG, s, pith_freeze_any(s, Everything_pith_type(), NULL));
    pt_fails(PITH_E_ARG, s, pith_freeze_any(s, NULL, &v));
    const pith_array *dropped = pith_f32(s, 1);
    pith_drop(s, dropped);
    v = *good, v.y = dropped;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".y: expected a tree, got a pointer that is dropped");
    close_scope();
}

Test(record, objects_of_another_runtime_are_refused, .init = open_scope) {
    pith_runtime *other = pt_open();
    pith_scope *there = pith_scope_open(other);
    Everything v = *everything();
    v.y = pith_f64(there, 1);
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".y: it belongs to another runtime");
    pt_fails(PITH_E_ARG, s, pith_list_make(s, PITH_ITEMS(v.x, v.y)));
    pt_says("[1]: it belongs to another runtime");
    pith_scope_close(there);
    pt_close(other);
    close_scope();
}

Test(record, nil_records_carry_an_error_on, .init = open_scope) {
    pith_fail(s, PITH_E_CHECK, NULL, "on purpose");
    Everything v = pith_initial(Everything);
    const Everything *nil = pith_freeze(s, Everything, &v);
    v.atoms = nil->atoms; /* passing it on does nothing */
    cr_assert(pith_freeze(s, Everything, &v) == nil);
    pt_remember(s);
    pith_clear(s);
    v = *everything();
    v.atoms = nil->atoms;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(
        ".atoms: expected a frozen record, got the nil record of Atoms, which a failed "
        "call returned (test_record.c:");
    close_scope();
}

/* ---- Statics and shapes ---- */

static const pithp_node_def *shape_with(Everything v) {
    const Everything *e = pith_freeze(s, Everything, &v);
    pt_ok(s, e);
    return pithp_node_def_of(e);
}

static void compare_statics(void) {
    const Everything base = *everything();
    const pithp_node_def *shape = shape_with(base);
    Everything v = base;
    cr_assert(shape_with(v) == shape);
#define DIFFERS(change)                                                                  \
    do {                                                                                 \
        v = base;                                                                        \
        change;                                                                          \
        const pithp_node_def *other = shape_with(v);                                     \
        cr_assert(other != shape, #change);                                              \
        cr_assert(shape_with(base) == shape && shape_with(v) == other, #change);         \
    } while (0)
    DIFFERS(v.cutoff = nextafter(v.cutoff, 9));
    DIFFERS(v.periodic = false);
    DIFFERS(v.scheme = SCHEME_EULER);
    DIFFERS(v.label = "melt2");
    DIFFERS(v.label = NULL);
    DIFFERS(v.label = "");
    DIFFERS(v.box.y = 1);
    DIFFERS(v.box.z = -0.0);
    DIFFERS(v.box.x = (double)NAN);
    v = base;
    char melt[] = "melt"; /* by value */
    v.label = melt;
    cr_assert(shape_with(v) == shape);
    v.box.x = (double)NAN;
    const pithp_node_def *nan = shape_with(v);
    uint64_t bits = UINT64_C(0xfff8000000000123);
    memcpy(&v.box.x, &bits, sizeof bits);
    cr_assert(shape_with(v) == nan, "all NaN are one");
}

Test(record, statics_are_compared_by_value, .init = open_scope) {
    compare_statics();
    close_scope();
}

Test(record, shapes_that_collide_stay_apart, .init = open_scope) {
    pithp_node_def_hash_mask = 0;
    compare_statics();
    const void *items[3] = {pith_f64(s, 1), pith_f64(s, 2), pith_f64(s, 3)};
    const void *a = pith_list_make(s, 2, items), *b = pith_tuple_make(s, 2, items);
    const void *c = pith_list_make(s, 3, items);
    const void *d = pith_dict_make(s, 2, (const char *[]){"a", "b"}, items);
    const void *e = pith_dict_make(s, 2, (const char *[]){"a", "c"}, items);
    const void *all[] = {a, b, c, d, e};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            cr_assert(pithp_node_def_of(all[i]) != pithp_node_def_of(all[k]));
    cr_assert(pithp_node_def_of(pith_list_make(s, 2, items)) == pithp_node_def_of(a));
    cr_assert(pithp_node_def_of(pith_dict_make(s, 2, (const char *[]){"b", "a"},
                                               items)) == pithp_node_def_of(d));
    close_scope();
    pithp_node_def_hash_mask = UINT64_MAX;
}

Test(record, static_records_are_compared_by_value, .init = open_scope) {
    Everything v = *everything();
    Config config = {1e-3, 10, "cg"};
    pith_scope *inner = pith_scope_open_in(s);
    v.config = pith_freeze(inner, Config, &config);
    pt_ok(inner, v.config);
    const pithp_node_def *shape = shape_with(v);
    pith_scope_close(inner);
    char method[] = "cg";
    config.method = method;
    v.config = pith_freeze(s, Config, &config);
    cr_assert(shape_with(v) == shape);
    const Everything *e = pith_freeze(s, Everything, &v);
    cr_assert_str_eq(e->config->method, "cg");
    cr_assert(pith_is(Config, e->config));
    config.iterations = 11;
    v.config = pith_freeze(s, Config, &config);
    cr_assert(shape_with(v) != shape);
    v.config = e->config; /* and back, through the record's own */
    cr_assert(shape_with(v) == shape);
    v.config = &config;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".config: expected Config, got a pointer that is not frozen");
    v.config = NULL;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".config: expected Config, got NULL");
    v.config = (const Config *)(const void *)e->atoms;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".config: expected Config, got another record: Atoms");
    close_scope();
}

Test(record, an_enum_outside_its_names_is_refused, .init = open_scope) {
    Everything v = *everything();
    v.scheme = (Scheme)2;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Everything, &v));
    pt_says(".scheme: expected 0 to 1 (euler to verlet), got 2");
    close_scope();
}

Test(record, a_static_that_changes_every_step_does_not_leak, .init = open_scope) {
    const Everything *e = everything();
    const int64_t shapes = pithp_node_def_count(rt);
    for (int i = 0; i < 1000; i++) {
        pith_scope *step = pith_scope_open_in(s);
        Everything next = *e;
        next.box.x = i + 1;
        next.label = i % 2 ? "odd" : "even";
        Config config = {.iterations = i + 1};
        next.config = pith_freeze(step, Config, &config);
        pt_ok(step, pith_freeze(step, Everything, &next));
        cr_assert_geq(pithp_node_def_count(rt), shapes + 2);
        pith_scope_close(step);
        cr_assert_eq(pithp_node_def_count(rt), shapes);
    }
    close_scope();
}

/* A scope a step: what one learnt of a type, those after it need not. What the parent
 * knows already stays. */
Test(record, scopes_side_by_side_learn_once, .init = open_scope) {
    const Atoms *a = everything()->atoms;
    const int64_t shapes = pithp_node_def_count(rt);
    Config config = {.iterations = 1};
    for (int i = 0; i < 100; i++) {
        pith_scope *step = pith_scope_open_in(s);
        config.iterations = i + 1;
        pt_ok(step, pith_freeze(step, Config, &config));
        pt_ok(step, pith_freeze(step, Atoms, a));
        pith_scope_close(step);
        cr_assert_leq(pithp_node_def_count(rt), shapes + 1);
    }
    pith_scope *step = pith_scope_open_in(s);
    const pithp_recent *r = pithp_recent_find(step, pith_type_of(a), a);
    cr_assert(r && r->checked && r->node_def == pithp_node_def_of(a));
    Atoms wrong = *a;
    wrong.position = pith_f64(step, 1);
    pt_fails(PITH_E_SHAPE, step, pith_freeze(step, Atoms, &wrong));
    pith_scope_close(step);
    close_scope();
}

/* ---- Hooks ---- */

static int checks_run;
struct Checked;
static void checked_check(pith_scope *in, const struct Checked *c);
typedef struct Checked {
    const pith_array *x;
    double number;
} Checked;
PITH_NODE(Checked,
          PITH_LEAF(x, "f64[n]"),
          PITH_STATIC(number),
          PITH_VALIDATE(checked_check))
static void checked_check(pith_scope *in, const Checked *c) {
    checks_run++;
    cr_assert(pith_is(Checked, c), "it is frozen");
    cr_assert_eq(pith_array_spec(c->x)->rank, 1);
    if (c->number < 0)
        pith_fail(in, PITH_E_CHECK, ".number", "expected 0 or more, got %g", c->number);
}

Test(record, a_check_runs_when_a_node_is_made, .init = open_scope) {
    Checked v = {pith_zeros(s, PITH_F64, PITH_SHAPE(3)), 1};
    checks_run = 0;
    pt_ok(s, pith_freeze(s, Checked, &v));
    pt_ok(s, pith_make(s, Checked, NULL, PITH_EXTENTS({"n", 2})));
    cr_assert_eq(checks_run, 2);
    v.number = -1;
    const Checked *nil = NULL;
    pt_fails(PITH_E_CHECK, s, nil = pith_freeze(s, Checked, &v));
    pt_says(".number: expected 0 or more, got -1");
    cr_assert_eq(pith_kind(nil), PITH_NODE_ABSENT);
    pt_fails(PITH_E_CHECK, s, pith_make(s, Checked, &v, NULL));
    const pithp_node_def *shape = pithp_node_def_record(s, Checked_pith_type(), &v);
    pt_fails(PITH_E_CHECK, s, pithp_record_make(s, shape, (const void *[]){v.x}));
    close_scope();
}

Test(record, checks_can_be_suspended, .init = open_scope) {
    const Checked v = {pith_zeros(s, PITH_F64, PITH_SHAPE(3)), -1};
    pith_scope *before = pith_scope_open_in(s);
    pith_scope_set_validation(s, false);
    pt_ok(s, pith_freeze(s, Checked, &v));
    pith_scope *after = pith_scope_open_in(s), *below = pith_scope_open_in(after);
    pt_ok(below, pith_freeze(below, Checked, &v));
    pith_scope_set_validation(after, true); /* a child may turn them on again */
    pt_fails(PITH_E_CHECK, after, pith_freeze(after, Checked, &v));
    pith_scope *again = pith_scope_open_in(after);
    pt_fails(PITH_E_CHECK, again, pith_freeze(again, Checked, &v));
    pt_ok(below, pith_freeze(below, Checked, &v));
    pt_fails(PITH_E_CHECK, before, pith_freeze(before, Checked, &v));
    pith_fail(s, PITH_E_CHECK, NULL, "on purpose");
    pith_scope_set_validation(s, true); /* also where something has failed */
    pith_clear(s);
    pt_fails(PITH_E_CHECK, s, pith_freeze(s, Checked, &v));
    close_scope();
}

/* ---- pith_make ---- */

typedef struct {
    const pith_array *cells, *mask, *level;
    int64_t width;
} Grid;
PITH_NODE(Grid,
          PITH_LEAF(cells, "i32[m,width,2*m]", .fill = -1),
          PITH_LEAF(mask, "bool[m+1]", .fill = 1, .optional = true),
          PITH_LEAF(level, "float[^k]", .fill = 0.5),
          PITH_STATIC(width, .initial = 3))
typedef struct {
    const Grid *grid;
    const pith_array *x, *y;
    int64_t k;
} World;
PITH_NODE(World,
          PITH_CHILD(grid, Grid),
          PITH_LEAF(x, "float[n]"),
          PITH_LEAF(y, "u8[n,k]", .fill = 7),
          PITH_STATIC(k, .initial = 2))

Test(record, make_completes_a_declaration, .init = open_scope) {
    const World *w = pith_make(s, World, NULL, PITH_EXTENTS({"n", 4}, {"m", 5}));
    pt_ok(s, w);
    const pith_spec *cells = pith_array_spec(w->grid->cells);
    cr_assert(cells->dtype == PITH_I32 && cells->rank == 3 && cells->shape[0] == 5 &&
              cells->shape[1] == 3 && cells->shape[2] == 10);
    cr_assert_null(w->grid->mask, "optional leaves stay absent");
    cr_assert_eq(pith_array_spec(w->grid->level)->shape[0], 2); /* ^k of World */
    cr_assert_eq(pith_array_spec(w->grid->level)->dtype, PITH_F64);
    int32_t numbers[150];
    pt_ok(s, pith_read(s, w->grid->cells, numbers, sizeof numbers));
    for (int i = 0; i < 150; i++)
        cr_assert_eq(numbers[i], -1);
    double level[2];
    pt_ok(s, pith_read(s, w->grid->level, level, sizeof level));
    cr_assert(!(level[1] < 0.5) && !(level[1] > 0.5));
    uint8_t y[8];
    pt_ok(s, pith_read(s, w->y, y, sizeof y));
    cr_assert_eq(y[7], 7);
    close_scope();
}

Test(record, make_takes_extents_and_dtypes_from_what_is_given, .init = open_scope) {
    World v = pith_initial(World);
    v.x = pith_zeros(s, PITH_F32, PITH_SHAPE(6, 9)); /* one extra leading extent */
    v.k = 5;
    const World *w = pith_make(s, World, &v, PITH_EXTENTS({"m", 1}));
    pt_ok(s, w);
    const pith_spec *y = pith_array_spec(w->y);
    cr_assert(y->rank == 3 && y->shape[0] == 6 && y->shape[1] == 9 && y->shape[2] == 5);
    cr_assert_eq(pith_array_spec(w->grid->level)->dtype, PITH_F32);
    cr_assert_eq(pith_array_spec(w->grid->level)->shape[0], 5);
    v.grid = w->grid, v.x = v.y = NULL; /* the dtype of a given child */
    const World *again = pith_make(s, World, &v, PITH_EXTENTS({"n", 2}));
    pt_ok(s, again && again->grid == w->grid);
    cr_assert_eq(pith_array_spec(again->x)->dtype, PITH_F32);
    v.k = 4;
    pt_fails(PITH_E_SHAPE, s, pith_make(s, World, &v, PITH_EXTENTS({"n", 2})));
    pt_says(".grid.level: expected f32[^k=4], got f32[5]");
    close_scope();
}

Test(record, make_says_what_is_missing, .init = open_scope) {
    pt_fails(PITH_E_SHAPE, s, pith_make(s, World, NULL, PITH_EXTENTS({"n", 4})));
    pt_says(
        ".grid.cells: i32[m,width=3,2*m]: axis 0 is not given by a static, leaf or extent");
    pt_fails(PITH_E_SHAPE, s, pith_make(s, World, NULL, PITH_EXTENTS({"m", 4})));
    pt_says(".x: f64[n]: axis 0");
    pt_fails(PITH_E_ARG, s, pith_make(s, World, NULL, PITH_EXTENTS({"n", 4}, {"mm", 4})));
    pt_says("no leaf of World has an extent mm");
    pt_fails(PITH_E_ARG, s, pith_make(s, World, NULL, PITH_EXTENTS({"n", -4}, {"m", 4})));
    pt_fails(PITH_E_SHAPE, s,
             pith_make(s, World, NULL, PITH_EXTENTS({"n", 4}, {"m", 4}, {"width", 4})));
    pt_says(".grid: the extent width is 3 from the static field, not 4");
    pt_fails(PITH_E_SHAPE, s, pith_make(s, Grid, NULL, PITH_EXTENTS({"m", 4})));
    pt_says(".level: f64[^k]: axis 0");
    World v = pith_initial(World);
    v.x = pith_zeros(s, PITH_F32, PITH_SHAPE(6));
    pt_fails(PITH_E_SHAPE, s, pith_make(s, World, &v, PITH_EXTENTS({"n", 4}, {"m", 4})));
    pt_says("the extent n is 6 from a leaf, not 4");
    World on_stack = *pith_make(s, World, NULL, PITH_EXTENTS({"n", 1}, {"m", 1}));
    Grid loose = *on_stack.grid;
    on_stack.grid = &loose;
    pt_fails(PITH_E_ARG, s, pith_make(s, World, &on_stack, NULL));
    pt_says(".grid: expected a tree, got a pointer that is not frozen");
    close_scope();
}

Test(record, a_failed_make_leaves_nothing_behind, .init = open_scope) {
    pt_ok(s, pith_make(s, World, NULL, PITH_EXTENTS({"n", 1}, {"m", 1})));
    const size_t before = pith_memory_about(rt).live, bytes = pith_scope_bytes(s);
    for (int i = 0; i < 100; i++)
        pt_fails(PITH_E_SHAPE, s, pith_make(s, World, NULL, PITH_EXTENTS({"m", 1000})));
    cr_assert_eq(pith_memory_about(rt).live, before);
    cr_assert_eq(pith_scope_bytes(s), bytes);
    close_scope();
}

/* ---- Many types in one scope ---- */

typedef struct {
    const pith_array *x;
    int64_t k;
} A0;
PITH_NODE(A0, PITH_LEAF(x, "f64[k]"), PITH_STATIC(k))
typedef struct {
    const pith_array *x;
    int64_t k;
} A1;
PITH_NODE(A1, PITH_LEAF(x, "f64[k,k]"), PITH_STATIC(k))
typedef struct {
    const pith_array *x, *y;
    int64_t k;
} A2;
PITH_NODE(A2, PITH_LEAF(x, "f64[k]"), PITH_LEAF(y, "any[...]"), PITH_STATIC(k))

Test(record, make_refuses_sizes_that_are_none, .init = open_scope) {
    pt_fails(PITH_E_SHAPE, s, pith_make(s, A0, &(A0){NULL, -1}, NULL));
    pt_says(".x: f64[k]: axis 0 is negative");
    pt_fails(PITH_E_OVERFLOW, s, pith_make(s, A1, &(A1){NULL, INT64_MAX / 8}, NULL));
    pt_says(".x: the size of f64[");
    close_scope();
}

Test(record, what_was_checked_once_is_checked_again_when_it_differs, .init = open_scope) {
    const pith_array *one = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    const pith_array *two = pith_zeros(s, PITH_F64, PITH_SHAPE(4, 4));
    for (int i = 0; i < 100; i++) {
        pt_ok(s, pith_freeze(s, A0, &(A0){one, 4}));
        pt_ok(s, pith_freeze(s, A1, &(A1){two, 4}));
        pt_ok(s, pith_freeze(s, A2, &(A2){one, two, 4}));
        pt_fails(PITH_E_SHAPE, s, pith_freeze(s, A0, &(A0){one, 5}));
        pt_fails(PITH_E_SHAPE, s, pith_freeze(s, A1, &(A1){one, 4}));
        pt_fails(
            PITH_E_SHAPE, s,
            pith_freeze(s, A2, &(A2){pith_zeros(s, PITH_F64, PITH_SHAPE(3)), two, 4}));
        pt_fails(PITH_E_SHAPE, s, pith_freeze(s, A0, &(A0){one, 5}));
    }
    close_scope();
}

/* ---- Threads ---- */

static void *freeze_in_thread(void *unused) {
    (void)unused;
    for (int round = 0; round < 20; round++) {
        pith_scope *own = pith_scope_open(rt);
        for (int i = 0; i < 50; i++) {
            Config config = {.iterations = i % 7, .method = i % 2 ? "cg" : "newton"};
            const Config *frozen = pith_freeze(own, Config, &config);
            Everything v = pith_initial(Everything);
            v.config = frozen;
            v.count = i % 5;
            const Everything *e = pith_make(own, Everything, &v, PITH_EXTENTS({"n", 3}));
            if (pith_failed(own) || e->config->iterations != i % 7)
                return (void *)(uintptr_t) "failed";
        }
        pith_scope_close(own);
    }
    return NULL;
}

Test(record, threads_share_shapes, .init = open_scope) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, freeze_in_thread, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failure = NULL;
        pthread_join(threads[i], &failure);
        cr_assert_null(failure);
    }
    close_scope();
}
