/* Loading is strict: whatever differs between a file and the program that loads it is an
 * error with its path, all of them in one report, and nothing comes of it. */
#include "checkpoint_test.h"

typedef struct Plain {
    const pith_array *x;
    int64_t n;
    double f;
} Plain;
PITH_NODE(Plain, PITH_LEAF(x, "f64[n]", .unit = "m"), PITH_STATIC(n), PITH_STATIC(f))

/* As Plain, but: */
typedef struct Retyped {
    const pith_array *x;
    int64_t n;
    double f;
} Retyped;
PITH_NODE(Retyped, PITH_LEAF(x, "f32[n]"), PITH_STATIC(n), PITH_STATIC(f))

typedef struct Reshape {
    const pith_array *x;
    int64_t n;
    double f;
} Reshape;
PITH_NODE(Reshape, PITH_LEAF(x, "f64[n,3]"), PITH_STATIC(n), PITH_STATIC(f))

typedef struct Longer {
    const pith_array *x;
    int64_t n;
    double f;
} Longer;
PITH_NODE(Longer, PITH_LEAF(x, "f64[2*n+1]"), PITH_STATIC(n), PITH_STATIC(f))

typedef struct Units2 {
    const pith_array *x;
    int64_t n;
    double f;
} Units2;
PITH_NODE(Units2, PITH_LEAF(x, "f64[n]", .unit = "nm"), PITH_STATIC(n), PITH_STATIC(f))

typedef struct Wants {
    const pith_array *x, *y;
    int64_t n, m;
    double f;
} Wants;
PITH_NODE(Wants,
          PITH_LEAF(x, "f64[n]"),
          PITH_LEAF(y, "f64[n]"),
          PITH_STATIC(n),
          PITH_STATIC(m),
          PITH_STATIC(f))

typedef struct Less {
    int64_t n;
} Less;
PITH_NODE(Less, PITH_STATIC(n))

typedef struct Static {
    const pith_array *x;
    double n;
    const char *f;
} Static;
PITH_NODE(Static, PITH_LEAF(x, "f64[3]"), PITH_STATIC(n), PITH_STATIC(f))

typedef struct Versed {
    const pith_array *x;
    int64_t n;
    double f;
} Versed;
PITH_NODE(Versed,
          PITH_TYPE_VERSION(2),
          PITH_LEAF(x, "f64[n]", .unit = "m"),
          PITH_STATIC(n),
          PITH_STATIC(f))

typedef struct Reordered {
    double f;
    const pith_array *x;
    int64_t n;
} Reordered;
PITH_NODE(Reordered, PITH_STATIC(n), PITH_STATIC(f), PITH_LEAF(x, "f64[n]", .unit = "m"))

typedef struct Holder {
    const Plain *x;
    int64_t n;
    double f;
} Holder;
PITH_NODE(Holder, PITH_CHILD(x, Plain), PITH_STATIC(n), PITH_STATIC(f))

/* A file of Plain whose record is called otherwise, the checksum made to fit. */
static void save_as(pith_scope *s, const char *name) {
    const double x[] = {1, 2, 3};
    const Plain plain = {pith_array_copy(s, PITH_F64, PITH_SHAPE(3), x), 3, 0.5};
    pt_ok(s, pith_save(s, pith_freeze(s, Plain, &plain), "a.json", NULL));
    char to[64];
    snprintf(to, sizeof to, "\"name\":\"%s\"", name);
    ct_replace("a.json", "\"name\":\"Plain\"", to);
}

static pith_scope *open_all(pith_runtime **rt) {
    ct_begin();
    *rt = pt_open();
    return pith_scope_open(*rt);
}
static void close_all(pith_scope *s, pith_runtime *rt) {
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

#define check(T, code, where, text)                                                      \
    do {                                                                                 \
        save_as(s, #T);                                                                  \
        pt_fails(code, s, pith_load(s, T, "a.json"));                                    \
        cr_assert_str_eq(pt_error.path, where);                                          \
        pt_says(text);                                                                   \
    } while (0)

Test(strict, names_the_path_of_every_kind_of_difference) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_as(s, "Plain");
    pt_ok(s, pith_load(s, Plain, "a.json"));
    check(Retyped, PITH_E_DTYPE, ".x", "expected f32[n], got f64[3]");
    check(Reshape, PITH_E_SHAPE, ".x", "expected f64[n,3], got f64[3]");
    check(Longer, PITH_E_SHAPE, ".x", "expected f64[2*n+1], got f64[3]");
    check(Units2, PITH_E_STRUCTURE, ".x", "expected the unit nm, got m");
    check(Versed, PITH_E_TYPE, "", "expected version 2 of Versed, got version 1");
    check(Holder, PITH_E_STRUCTURE, ".x", "expected a record Plain, got a leaf");
    close_all(s, rt);
}

/* Members go by their names: a struct may be written in another order. */
Test(strict, does_not_ask_for_an_order_of_fields) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    double x[3];
    save_as(s, "Reordered");
    const Reordered *again = pith_load(s, Reordered, "a.json");
    pt_ok(s, again->n == 3 && again->f == 0.5);
    pt_ok(s, pith_read(s, again->x, x, sizeof x) && x[0] == 1 && x[2] == 3);
    close_all(s, rt);
}

static char seen[2000];
static void remember(const char *path, const char *text, void *closure) {
    int *count = closure;
    ++*count;
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "<%s %s>", path, text);
}

Test(strict, reports_all_differences_at_once) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    int count = 0;
    const pith_load_options options = {.difference = remember, .closure = &count};
    check(Wants, PITH_E_STRUCTURE, ".y",
          "missing: the file has no such field; .m: missing");
    pt_says("(2 differences)");
    check(Less, PITH_E_STRUCTURE, ".x",
          "extra: in the file, but no field of Less; .f: extra");
    check(Static, PITH_E_STRUCTURE, ".n",
          "expected a static f64, got i64; .f: expected a static text, got f64");
    pt_fails(PITH_E_STRUCTURE, s,
             pith_load_any(s, Static_pith_type(), "a.json", &options));
    cr_assert(count == 2);
    cr_assert(strstr(seen, "<.n expected a static f64, got i64>"), "%s", seen);
    close_all(s, rt);
}

Test(strict, bounds_the_message_and_not_the_report) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    enum { COUNT = 1000 };
    const double x[] = {1, 2, 3};
    const void *items[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const Plain plain = {pith_array_copy(s, PITH_F64, PITH_SHAPE(3), x), 3, i};
        items[i] = pith_freeze(s, Plain, &plain);
    }
    pt_ok(s, pith_save(s, pith_list_make(s, COUNT, items), "a.json", NULL));
    ct_replace("a.json", "\"name\":\"Plain\"", "\"name\":\"Retyped\"");
    (void)Retyped_pith_type();
    int count = 0;
    const pith_load_options options = {.difference = remember, .closure = &count};
    pt_fails(PITH_E_DTYPE, s, pith_load_any(s, NULL, "a.json", &options));
    cr_assert(count == COUNT);
    cr_assert_str_eq(pt_error.path, "[0].x");
    pt_says("; [1].x: expected f32[n]");
    pt_says("(1000 differences)");
    cr_assert(strlen(pt_error.message) < 1024);
    close_all(s, rt);
}

Test(strict, wants_the_root_and_types_that_are_known) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_as(s, "Plain");
    pt_fails(PITH_E_TYPE, s, pith_load(s, Sim, "a.json"));
    pt_says("expected a record Sim, the file holds a record Plain");
    cr_assert(pith_load(s, Sim, "nothing.json")->width == 0, "the nil record");
    pith_clear(s);
    save_as(s, "Stranger");
    pt_fails(PITH_E_TYPE, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("the record type Stranger is unknown to the program");
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", NULL));
    pt_fails(PITH_E_TYPE, s, pith_load(s, Sim, "a.json"));
    pt_says("expected a record Sim, the file holds another kind of tree");
    pt_ok(s, pith_read_f64(s, pith_load(s, pith_array, "a.json")) == 1);
    save_as(s, "Plain");
    pt_fails(PITH_E_TYPE, s, pith_load(s, pith_array, "a.json"));
    pt_says("expected an array, the file holds a record Plain");
    close_all(s, rt);
}

/* Names that the leaves of a node share are bound when it is made. */
Test(strict, checks_names_that_leaves_share) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const Atoms atoms = {pith_zeros(s, PITH_F32, PITH_SHAPE(4, 3)),
                         pith_zeros(s, PITH_I8, PITH_SHAPE(4))};
    Sim sim = *make_sim(s, 4, 1);
    sim.atoms = pith_freeze(s, Atoms, &atoms);
    pt_ok(s, pith_save(s, pith_freeze(s, Sim, &sim), "a.json", NULL));
    pt_ok(s, pith_load(s, Sim, "a.json"));
    ct_replace("a.json", "\"shape\":[4],", "\"shape\":[2,2],");
    pt_fails(PITH_E_SHAPE, s, pith_load(s, Sim, "a.json"));
    cr_assert(strstr(pt_error.path, ".atoms.") == pt_error.path, "%s", pt_error.message);
    close_all(s, rt);
}

/* ---- Hooks ---- */

typedef struct Positive {
    const pith_array *x;
} Positive;
static int hook_calls;
static void positive(pith_scope *s, const Positive *p) {
    hook_calls++;
    if (pith_read_f64(s, p->x) < 0)
        pith_fail(s, PITH_E_CHECK, ".x", "is negative");
}
PITH_NODE(Positive, PITH_LEAF(x, "f64"), PITH_VALIDATE(positive))

Test(strict, runs_check_hooks_on_what_was_loaded) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    pith_scope_set_validation(s, false);
    const Positive bad = {pith_f64(s, -1)};
    const void *tree =
        pith_list_make(s, PITH_ITEMS(pith_none_make(s), pith_freeze(s, Positive, &bad)));
    pt_ok(s, pith_save(s, tree, "a.json", NULL));
    pt_ok(s, pith_load_any(s, NULL, "a.json", NULL));
    cr_assert(hook_calls == 0, "suspended");
    pith_scope_set_validation(s, true);
    pt_fails(PITH_E_CHECK, s, pith_load_any(s, NULL, "a.json", NULL));
    cr_assert_str_eq(pt_error.path, "[1].x");
    cr_assert(hook_calls == 1);
    const Positive good = {pith_f64(s, 2)};
    pt_ok(s, pith_save(s, pith_freeze(s, Positive, &good), "a.json", NULL));
    pt_ok(s, pith_load(s, Positive, "a.json")); /* the hook saw the value, not zeros */
    cr_assert(hook_calls == 3);
    close_all(s, rt);
}

/* ---- Saving ---- */

Test(strict, refuses_to_save_what_it_could_not_load) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const pith_array *x = pith_f64(s, 1);
    const Units bad = {"\xff", ""};
    pt_fails(PITH_E_FORMAT, s, pith_save(s, pith_freeze(s, Units, &bad), "a.json", NULL));
    pt_says("length is not UTF-8");
    const pith_save_options twice = {.metadata = PITH_METADATA({"a", "1"}, {"a", "2"})};
    pt_fails(PITH_E_ARG, s, pith_save(s, x, "a.json", &twice));
    pt_says("the metadata \"a\" is given twice");
    const pith_save_options none = {.metadata = PITH_METADATA({"a", NULL})};
    pt_fails(PITH_E_ARG, s, pith_save(s, x, "a.json", &none));
    pt_fails(PITH_E_ARG, s, pith_save(s, NULL, "a.json", NULL));
    pt_fails(PITH_E_ARG, s, pith_save(s, &bad, "a.json", NULL));
    pt_fails(PITH_E_ARG, s, pith_save(s, x, NULL, NULL));
    pt_fails(PITH_E_IO, s, pith_save(s, x, "", NULL));
    pt_fails(PITH_E_IO, s, pith_save(s, x, "no/such/folder.json", NULL));
    pt_says("cannot open \"no/such/folder.json\": No such file or directory");
    pith_drop(s, x);
    pt_fails(PITH_E_ARG, s, pith_save(s, x, "a.json", NULL));
    cr_assert(ct_count_files() == 0);
    close_all(s, rt);
}
