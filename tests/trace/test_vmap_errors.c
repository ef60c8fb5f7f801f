/* Wrong batches: code, path and text of each error, and that a right call works as
 * before. */
#include "fail_allocator.h"
#include "vmap_test.h"

typedef struct {
    const pith_array *position, *cell, *charge;
    const pith_array *energy;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "f64[n,3]"),
          PITH_LEAF(cell, "f64[3]"),
          PITH_LEAF(charge, "f64[n]", .optional = true),
          PITH_LEAF(energy, "f64[]"))

static const Atoms *move(pith_scope *in, const Atoms *atoms, const pith_array *by) {
    Atoms next = *atoms;
    next.position = pith_mul(in, atoms->position, by);
    return pith_freeze(in, Atoms, &next);
}
PITH_FUNCTION2(move_of, move, Atoms, Atoms, pith_array)

static const Atoms *atoms_of(int64_t lead) {
    return pith_record(s, Atoms, .position = numbers(PITH_SHAPE(lead, 2, 3)),
                       .cell = numbers(PITH_SHAPE(lead, 3)),
                       .energy = numbers(PITH_SHAPE(lead)));
}

/* The call fails so, twice, and a right one works then. */
static void refuses(const pith_vmap_options *o,
                    const Atoms *atoms,
                    const pith_array *by,
                    pith_status code,
                    const char *path,
                    const char *text) {
    const pith_function *f = pith_vmap(s, &move_of, o);
    pt_ok(s, f);
    for (int again = 0; again < 2; again++) {
        const Atoms *moved = NULL;
        pt_fails(code, s, moved = pith_apply(s, f, atoms, by));
        cr_assert(moved && !moved->position);
        cr_assert(!strcmp(pt_error.path, path), "expected path %s, got %s: %s", path,
                  pt_error.path, pt_error.message);
        pt_says(text);
        pt_says("move");
        cr_assert(strstr(pt_error.site, "test_vmap_errors.c:"), "%s", pt_error.site);
    }
    const Atoms *fine =
        pith_apply(s, pith_vmap(s, &move_of, NULL), atoms_of(2), numbers(PITH_SHAPE(2)));
    pt_ok(s, fine->position);
}

Test(vmap_errors, axes_out_of_range, .init = open_scope) {
    const pith_array *by = numbers(PITH_SHAPE(4));
    refuses(NULL, atoms_of(4), pith_f64(s, 2), PITH_E_SHAPE, "[1]",
            "pith_vmap: move: axis 0 is to be mapped, which f64[] does not have");
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[0].position", 3})}, atoms_of(4), by,
            PITH_E_SHAPE, "[0].position",
            "pith_vmap: move: axis 3 is to be mapped, which f64[4,2,3] does not have");
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[0].position", -4})}, atoms_of(4),
            by, PITH_E_SHAPE, "[0].position", "axis -4 is to be mapped");
    refuses(&(pith_vmap_options){.out = PITH_MAPPED({".cell", 2})}, atoms_of(4), by,
            PITH_E_SHAPE, ".cell",
            "pith_vmap: move: axis 2 of the result of a batch is to be mapped, which "
            "f64[3] with one axis more does not have");
    close_scope();
}

Test(vmap_errors, sizes_that_differ, .init = open_scope) {
    refuses(NULL, atoms_of(4), numbers(PITH_SHAPE(5)), PITH_E_SHAPE, "[1]",
            "pith_vmap: move: axis 0 of f64[5] has 5 entries, and axis 0 of "
            "[0].position, f64[4,2,3], has 4");
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[1]", -1})}, atoms_of(4),
            numbers(PITH_SHAPE(4, 3)), PITH_E_SHAPE, "[1]",
            "axis 1 of f64[4,3] has 3 entries, and axis 0 of [0].position, f64[4,2,3], "
            "has 4");
    refuses(&(pith_vmap_options){.size = 7}, atoms_of(4), numbers(PITH_SHAPE(4)),
            PITH_E_SHAPE, "[0].position",
            "pith_vmap: move: axis 0 of f64[4,2,3] has 4 entries, and .size is 7");
    close_scope();
}

Test(vmap_errors, records_that_are_partly_mapped, .init = open_scope) {
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[0].cell", PITH_NOT_MAPPED})},
            atoms_of(4), numbers(PITH_SHAPE(4)), PITH_E_SHAPE, "[0].cell",
            "the leaves of a record have the same extra leading extents: give parts that "
            "are mapped and parts that are shared in different arguments or child nodes");
    refuses(
        &(pith_vmap_options){.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED}),
                             .out = PITH_MAPPED({".cell", PITH_NOT_MAPPED})},
        pith_record(s, Atoms, .position = numbers(PITH_SHAPE(2, 3)),
                    .cell = numbers(PITH_SHAPE(3)), .energy = numbers(PITH_SCALAR)),
        numbers(PITH_SHAPE(4)), PITH_E_SHAPE, ".cell",
        "pith_vmap: move: result: the leaves of a record have the same extra leading");
    close_scope();
}

Test(vmap_errors, results_that_depend_on_the_batch, .init = open_scope) {
    refuses(&(pith_vmap_options){.out = PITH_MAPPED({".energy", PITH_NOT_MAPPED})},
            atoms_of(4), numbers(PITH_SHAPE(4)), PITH_E_ARG, ".energy",
            "pith_vmap: move: .out shares this leaf of the result, which depends on the "
            "batch");
    close_scope();
}

Test(vmap_errors, nothing_mapped_and_no_size, .init = open_scope) {
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[0]", PITH_NOT_MAPPED},
                                                   {"[1]", PITH_NOT_MAPPED})},
            atoms_of(4), numbers(PITH_SHAPE(4)), PITH_E_ARG, "",
            "pith_vmap: move: no leaf of an argument is mapped: expected .size");
    close_scope();
}

Test(vmap_errors, malformed_paths, .init = open_scope) {
    const pith_vmap_options in = {.in = PITH_MAPPED({"[0]..cell", 0})},
                            out = {.out = PITH_MAPPED({"cell", 0})};
    pt_fails(PITH_E_PATH, s, pith_vmap(s, &move_of, &in));
    pt_says("pith_vmap: move: malformed path \"..cell\"");
    pt_fails(PITH_E_PATH, s, pith_vmap(s, &move_of, &out));
    pt_says("pith_vmap: move: malformed path \"cell\"");
    close_scope();
}

Test(vmap_errors, parts_that_do_not_exist, .init = open_scope) {
    const pith_array *by = numbers(PITH_SHAPE(4));
    refuses(&(pith_vmap_options){.in = PITH_MAPPED({"[0].speed", 0})}, atoms_of(4), by,
            PITH_E_PATH, "[0].speed", "speed");
    refuses(&(pith_vmap_options){.out = PITH_MAPPED({".speed", 0})}, atoms_of(4), by,
            PITH_E_PATH, ".speed", "speed");
    close_scope();
}

static const pith_array *widen(pith_scope *in, const pith_array *x) {
    return pith_sum(in, pith_broadcast_to(in, x, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 2)),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(widen_of, widen, pith_array, pith_array)
static const pith_array *wide(pith_scope *in, const pith_array *x) {
    (void)x;
    return pith_zeros(in, PITH_F64, PITH_SHAPE(1, 1, 1, 1, 1, 1, 1, 2));
}
PITH_FUNCTION1(wide_of, wide, pith_array, pith_array)

Test(vmap_errors, rank_9, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    pt_fails(PITH_E_SHAPE, s, pith_apply(s, pith_vmap(s, &widen_of, NULL), x));
    pt_says("pith_vmap: widen: ");
    pt_says("arrays have at most 8");
    pt_fails(PITH_E_SHAPE, s, pith_apply(s, pith_vmap(s, &wide_of, NULL), x));
    pt_says("pith_vmap: wide: a batch adds an axis to f64[1,1,1,1,1,1,1,2]; arrays have "
            "at most 8");
    close_scope();
}

static const pith_array *peek(pith_scope *in, const pith_array *x, const pith_array *n) {
    return pith_mul(in, x, pith_read_f64(in, n));
}
PITH_FUNCTION2(peek_of, peek, pith_array, pith_array, pith_array)

Test(vmap_errors, functions_that_read, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    pt_fails(PITH_E_TRACED, s, pith_apply(s, pith_vmap(s, &peek_of, NULL), x, x));
    /* a shared static argument has a value */
    const pith_function *f =
        pith_jit(s, &peek_of, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    const pith_function *all = pith_vmap(
        s, f, &(pith_vmap_options){.in = PITH_MAPPED({"[1]", PITH_NOT_MAPPED})});
    same_bits(pith_apply(s, all, x, pith_f64(s, 2.5)), pith_mul(s, x, 2.5));
    close_scope();
}

Test(vmap_errors, options, .init = open_scope) {
    const struct {
        pith_vmap_options o;
        pith_status code;
        const char *text;
    } wrong[] = {
        {{.size = -1}, PITH_E_ARG, ".size must not be negative, got -1"},
        {{.chunk = -3}, PITH_E_ARG, ".chunk must not be negative, got -3"},
        {{.in = PITH_MAPPED({"[2]", 0})},
         PITH_E_PATH,
         "the path '[2]' names no argument"},
        {{.in = PITH_MAPPED({"cell", 0})},
         PITH_E_PATH,
         "the path 'cell' names no argument"},
        {{.in = PITH_MAPPED({"[0].", 0})}, PITH_E_PATH, ""},
        {{.out = PITH_MAPPED({"[", 0})}, PITH_E_PATH, ""},
        {{.in = PITH_MAPPED({"[0].cell", 0}, {"[0].cell", 1})},
         PITH_E_ARG,
         "pith_vmap: move: the path '[0].cell' is named twice"},
        {{.out = PITH_MAPPED({"", 0}, {"", 0})},
         PITH_E_ARG,
         "the path '' is named twice"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const pith_function *f = &move_of;
        pt_fails(wrong[k].code, s, f = pith_vmap(s, &move_of, &wrong[k].o));
        cr_assert_null(f);
        pt_says(wrong[k].text);
    }
    const pith_function *f = &move_of;
    pt_fails(PITH_E_ARG, s, f = pith_vmap(s, NULL, NULL));
    cr_assert_null(f);
    pt_fails(PITH_E_ARG, s,
             pith_vmap(s, (const pith_function *)(const void *)atoms_of(2), NULL));
    cr_assert_null(pith_vmap(NULL, &move_of, NULL));
    close_scope();
}

Test(vmap_errors, errors_of_the_function_are_its_own, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3, 2));
    pt_fails(PITH_E_TYPE, s,
             pith_apply(s, pith_vmap(s, &move_of, NULL), x, numbers(PITH_SHAPE(3))));
    pt_fails(PITH_E_SHAPE, s,
             pith_apply(s, pith_vmap(s, &move_of, NULL), atoms_of(3),
                        numbers(PITH_SHAPE(3, 5))));
    pt_says("pith_mul: cannot broadcast [2,3] with [5]");
    close_scope();
}

/* ---- Memory ---- */

static pith_status scenario(const pith_open_options *options) {
    rt = pith_open(options);
    s = pith_scope_open(rt);
    if (!pith_failed(s)) {
        const pith_vmap_options o = {.in = PITH_MAPPED({"[1]", 1}),
                                     .out = PITH_MAPPED({".cell", 0}, {".position", -3})};
        const pith_function *all = NULL;
        const Atoms *moved = NULL;
        pt_again(s, (all = pith_vmap(s, &move_of, &o)) != NULL);
        const Atoms *atoms = all ? atoms_of(2) : NULL;
        const pith_array *by = all ? numbers(PITH_SHAPE(1, 2)) : NULL;
        if (!pith_failed(s) && by)
            pt_again(s, (moved = pith_apply(s, all, atoms, by)) && moved->position);
        if (!pith_failed(s) && moved)
            same_bits(moved->cell, atoms->cell);
    }
    const pith_status code = pith_code(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(vmap_errors, every_allocation_may_fail) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert(f.allocations > 20 && f.errors > 10, "%d of %d", f.errors, f.allocations);
}

/* ---- Misuse ---- */

static const pith_array *leaked;
static const pith_array *leak(pith_scope *in, const pith_array *x) {
    leaked = pith_neg(in, x);
    return leaked;
}
PITH_FUNCTION1(leak_of, leak, pith_array, pith_array)
static const pith_array *use_leaked(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, leaked);
}
PITH_FUNCTION1(use_leaked_of, use_leaked, pith_array, pith_array)
static const pith_array *nothing(pith_scope *in, const pith_array *x) {
    (void)in, (void)x;
    return NULL;
}
PITH_FUNCTION1(nothing_of, nothing, pith_array, pith_array)

Test(vmap_errors, misuse, .init = open_scope) {
    const pith_array *x = numbers(PITH_SHAPE(3));
    pt_ok(s, pith_apply(s, pith_vmap(s, &leak_of, NULL), x));
    pt_fails(PITH_E_TRACED, s, pith_add(s, x, leaked));
    pt_fails(PITH_E_TRACED, s, pith_apply(s, pith_vmap(s, &use_leaked_of, NULL), x));
    pt_fails(PITH_E_ARG, s, pith_apply(s, pith_vmap(s, &nothing_of, NULL), x));
    pt_fails(PITH_E_ARG, s, pith_call(s, pith_vmap(s, &leak_of, NULL), PITH_ITEMS(x, x)));
    pt_fails(PITH_E_ARG, s, pith_apply(s, pith_vmap(s, &leak_of, NULL), NULL));
    /* a function of a scope that closed */
    pith_scope *in = pith_scope_open_in(s);
    const pith_function *gone = pith_vmap(in, &leak_of, NULL);
    pith_scope_close(in);
    pt_fails(PITH_E_SCOPE, s, pith_apply(s, gone, x));
    same_bits(pith_apply(s, pith_vmap(s, &leak_of, NULL), x), pith_neg(s, x));
    close_scope();
}
