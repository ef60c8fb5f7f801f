/* Every exported function with bad pointers in every position: none crashes, and where a
 * scope is given, it carries an error. The calls are generated from the public headers
 * and the library's export list by every_call.sh. */
#include "base/every_call.h"

/* Parameters that may be NULL; options and closures always may. */
static const char *const may_be_null[] = {
    "pith_call_site.site",                 /* a call whose line is unknown */
    "pith_fail.path",                      /* an error of no place in the tree */
    "pith_transpose.order",                /* reverse the axes */
    "pith_print.out",                      /* standard output */
    "pith_program_print.out",              /* standard output */
    "pith_make_any.value",                 /* the initial values */
    "pith_make_any.extents",               /* none are given */
    "pith_load_any.type",                  /* any tree */
    "pith_tree_flatten_where.items",       /* the structure alone */
    "pith_index_make.kind",                /* the kind "" */
    "pith_index_of.kind",                  /* the kind "" */
    "pith_bincount.weights",               /* ones */
    "pith_histogram.weights",              /* ones */
    "pith_tree_reduce.initial",            /* the first leaf */
    "pith_tree_transpose.inner",           /* the first tree's */
    "pith_run_any.type",                   /* any tree */
    "pith_memory_set_allocator.allocator", /* the pool */
    "pith_memory_log.path",                /* write no more */
    "pith_propagate_any.type",             /* any tree */
    "pith_run_chunked_any.type",           /* any tree */
    "pith_advance_any.type",               /* any tree */
    "pith_expression.bindings",            /* no array has a name */
    "pith_halo.mesh_axis",                 /* the only axis */
    "pith_checkpoint_save.leaves",         /* those of the checkpoint */
    "pith_shard.specs",                    /* as leaves are declared */
    "pith_shard_local.specs",              /* as leaves are declared */
    "pith_clip.low",                       /* no lower bound */
    "pith_clip.high",                      /* no upper bound */
    "pith_pad.value",                      /* 0 */
    "pith_tree_kahan_sum.compensate",      /* nothing was lost yet */
    "pith_sample_of.x",                    /* not given */
    "pith_sample_of.v",                    /* not given */
    "pith_sample_of.mask",                 /* not given */
    "pith_hint_output_elements.sample",    /* nothing is known */
    "pith_hint_output_bytes.sample",       /* nothing is known */
    "pith_hint_leaf.sample",               /* nothing is known */
    "pith_hint_broadcast.sample",          /* nothing is known */
    "pith_hint_operation.sample",          /* nothing is known */
    "pith_tree_kahan_sum.compensation",    /* not wanted */
    "pith_lens_path.type",                 /* any tree */
    "pith_text_make.text",                 /* no text */
    "pith_lens_set_text_with.value",       /* the same */
};

/* Parameters that are left alone where they are no good: these calls cannot fail. */
static const char *const ignored[] = {
    "pith_drop.a",
    "pith_numbers_end.operands",
    "pith_numbers_end.result",
};

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool null_is_fine(const row *r) {
    return strcmp(r->parameter, "axes") == 0 || /* all axes of the mesh */
           strcmp(r->parameter, "closure") == 0 || ends_with(r->parameter, "options") ||
           LISTED(may_be_null, r);
}

/* ---- Bad pointers, made anew for each call: closed memory is used again in the end ----
 */

typedef struct {
    const char *what;
    void *(*make)(const good *g);
} bad_value;

static void *no_pointer(const good *g) {
    (void)g;
    return NULL;
}
static void *static_memory(const good *g) {
    static _Alignas(64) char memory[65536];
    (void)g;
    return memory + 64;
}
static void *closed_scope(const good *g) {
    pith_scope *s = pith_scope_open(g->runtime);
    pith_scope_close(s);
    return s;
}
static void *closed_runtime(const good *g) {
    (void)g;
    pith_runtime *rt = pt_open();
    pt_close(rt);
    return rt;
}
static void *inside_a_scope(const good *g) {
    return (char *)g->scope + 64;
}
static void *an_array(const good *g) {
    return (void *)(uintptr_t)g->array;
}
static void *freed_array(const good *g) {
    pith_scope *s = pith_scope_open(g->runtime);
    const pith_array *a = pith_f64(s, 1);
    pt_ok(s, a);
    pith_scope_close(s);
    return (void *)(uintptr_t)a;
}
static void *dropped_array(const good *g) {
    const pith_array *a = pith_f64(g->scope, 1);
    pith_drop(g->scope, a);
    return (void *)(uintptr_t)a;
}
static void *inside_an_array(const good *g) {
    return (char *)(uintptr_t)g->array + 16;
}
static void *misaligned(const good *g) {
    return (char *)(uintptr_t)g->array + 1;
}
static void *a_scope(const good *g) {
    return g->scope;
}
static void *array_of_another_runtime(const good *g) {
    return (void *)(uintptr_t)g->foreign;
}

static const bad_value scopes[] = {
    {"NULL", no_pointer},
    {"memory that is no scope", static_memory},
    {"a closed scope", closed_scope},
    {"inside a scope", inside_a_scope},
    {"an array", an_array},
    {"a closed runtime", closed_runtime},
};
static const bad_value objects[] = {
    {"NULL", no_pointer},
    {"not frozen", static_memory},
    {"freed", freed_array},
    {"dropped", dropped_array},
    {"inside an array", inside_an_array},
    {"not aligned", misaligned},
    {"a scope", a_scope},
    {"of another runtime", array_of_another_runtime},
};
enum {
    SCOPES = sizeof scopes / sizeof scopes[0],
    OBJECTS = sizeof objects / sizeof objects[0],
};

/* ---- Calls ---- */

static int rows_failed;

/* One call in a scope of its own; in an array, every element is bad. */
static void
try_row(good *g, const row *r, bool array, const bad_value *v, bool must_fail) {
    pith_scope *root = g->scope;
    g->scope = pith_scope_open_in(root);
    void *bad = v->make(g), *items[8];
    for (int i = 0; i < 8; i++)
        items[i] = bad;
    now_function = r->function, now_parameter = r->parameter, now_bad = v->what;
    memset(g->bytes, 0, sizeof g->bytes); /* which calls before have written to */
    r->call(g, r->at, array ? (void *)items : bad);
    const pith_status code = pith_code(g->scope);
    if (must_fail && (code == PITH_OK || code == PITH_E_INTERNAL)) {
        rows_failed++;
        fprintf(stderr, "%s: %s is %s: %s %s\n", r->function, r->parameter, v->what,
                pith_status_name(code), pith_message(g->scope));
    }
    pith_clear(g->scope);
    pith_scope_close(g->scope);
    g->scope = root;
    cr_assert_not(pith_failed(root), "%s: %s is %s: %s", r->function, r->parameter,
                  v->what, pith_message(root));
}

static void try_all(good *g) {
    for (size_t i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        const bool inside = r->after_scope && r->at > 0 && !LISTED(ignored, r);
        if (r->category == 'S' || r->category == 'R')
            for (int k = 0; k < SCOPES; k++)
                try_row(g, r, false, &scopes[k], false);
        if (r->category != 'S' && r->category != 'R')
            try_row(g, r, false, &objects[0], inside && !null_is_fine(r));
        for (int k = 1; r->category == 'O' && k < OBJECTS; k++)
            try_row(g, r, false, &objects[k], inside);
        for (int k = 0; r->category == 'I' && k < OBJECTS; k++)
            try_row(g, r, true, &objects[k], inside);
    }
}

/* Errors above come from the bad pointer: with good ones most calls succeed. */
static void try_good(good *g) {
    int calls = 0, fine = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (!r->after_scope || r->at == 0 || (r->category != 'O' && r->category != 'I'))
            continue;
        pith_scope *root = g->scope;
        g->scope = pith_scope_open_in(root);
        now_function = r->function, now_parameter = r->parameter, now_bad = "good";
        memset(g->bytes, 0, sizeof g->bytes);
        r->call(g, -1, NULL);
        calls++;
        fine += !pith_failed(g->scope);
        pith_clear(g->scope);
        pith_scope_close(g->scope);
        g->scope = root;
    }
    cr_assert_gt(calls, 50);
    cr_assert_gt(6 * fine, 5 * calls, "%d of %d calls with good arguments succeed", fine,
                 calls);
}

Test(bad_pointers, are_errors_in_every_exported_function) {
    static good g;
    open_good(&g);
    try_all(&g);
    cr_assert_eq(rows_failed, 0, "%d calls with bad pointers gave no error", rows_failed);
    try_good(&g);
    close_good(&g);
}
