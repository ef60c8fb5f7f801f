/* Every exported function with bad pointers in every position: none crashes, and where a
 * scope is given, it carries an error. The calls are generated from the public headers
 * and the library's export list by bad_pointers.sh. */
#include "pith_test.h"

#define PITH_NO_SITES
#include <pith/pith.h>
#include <signal.h>
#include <unistd.h>

/* A record type and functions for calls that take them. */
typedef struct {
    const pith_array *x;
} Thing;
PITH_NODE(Thing, PITH_LEAF(x, "f64[n]"))

static const pith_array *double_it(pith_scope *s, const pith_array *a) {
    return pith_add(s, a, a);
}
PITH_FUNCTION1(doubled, double_it, pith_array, pith_array)
static const pith_array *stop(pith_scope *s, const void *tree) {
    (void)tree;
    return pith_bool(s, false);
}
PITH_FUNCTION1(no_more, stop, pith_array, void)
static const void *second(pith_scope *s, const void *a, const void *b) {
    (void)s, (void)a;
    return b;
}
PITH_FUNCTION2(second_of_two, second, void, void, void)
typedef struct {
    const pith_array *carry, *out;
} Row;
PITH_NODE(Row, PITH_LEAF(carry, "any"), PITH_LEAF(out, "any"))
static const Row *row_of(pith_scope *s, const pith_array *carry, const pith_array *x) {
    const Row made = {carry, x};
    return (pith_freeze_any)(s, Row_pith_type(), &made);
}
PITH_FUNCTION2(row_of_scan, row_of, Row, pith_array, pith_array)

static const pith_array *
first_leaf(pith_scope *s, const pith_array *const *leaves, void *closure) {
    (void)s, (void)closure;
    return leaves[0];
}

static const pith_array *first_fold(pith_scope *s,
                                    const pith_array *value,
                                    const pith_array *leaf,
                                    void *closure) {
    (void)s, (void)leaf, (void)closure;
    return value;
}

static const void *get_root(pith_scope *s, const void *root, void *closure) {
    (void)s, (void)closure;
    return root;
}

static const void *
set_root(pith_scope *s, const void *root, const void *value, void *closure) {
    (void)s, (void)root, (void)closure;
    return value;
}

/* Good values by the kind of parameter. For a pointer to another opaque type T of pith's,
 * define GOOD_T. */
typedef struct {
    pith_scope *scope;
    pith_runtime *runtime;
    /* f64, i32, bool, u32[2], another's */
    const pith_array *array, *index, *condition, *key, *foreign;
    const pith_array *flag, *number; /* of rank 0: bool, i32 */
    const void *items[8];
    char bytes[4096];
    const char *text, *texts[8];
    FILE *file;
    const void *value; /* a struct that can be frozen as pith_type */
    const pith_type *pith_type;
    const pith_function *function, *test, *of_two, *of_row, *functions[1];
    const pith_dict *pith_dict;
    const pith_treedef *pith_treedef;
    pith_shared *pith_shared;
    const pith_checkpoint *pith_checkpoint;
    const pith_index *pith_index;
    const pith_capacity *pith_capacity;
    pith_run_log *pith_run_log;
    const pith_lens *pith_lens;
    const void *lenses[8];
    const pith_bound *pith_bound;
    const pith_route *route; /* one row, to this rank */
    const pith_result *pith_result;
    const pith_assertion *pith_assertion;
} good;

typedef struct {
    const char *function, *parameter;
    void (*call)(const good *g, int at, void *bad);
    int at;
    char category;   /* S scope, R runtime, O object, I objects in an array, N other */
    int after_scope; /* a scope comes before the parameter, or is it */
} row;

#define GOOD_leaf            first_leaf
#define GOOD_fold            first_fold
#define GOOD_pith_type       g->pith_type
#define GOOD_pith_dict       g->pith_dict
#define GOOD_pith_treedef    g->pith_treedef
#define GOOD_pith_shared     g->pith_shared
#define GOOD_pith_checkpoint g->pith_checkpoint
#define GOOD_pith_index      g->pith_index
#define GOOD_pith_capacity   g->pith_capacity
#define GOOD_pith_run_log    g->pith_run_log
#define GOOD_pith_lens       g->pith_lens
#define GOOD_pith_bound      g->pith_bound
#define GOOD_getter          get_root
#define GOOD_setter          set_root
#define GOOD_modifier        get_root
#define GOOD_pith_result     g->pith_result
#define GOOD_pith_assertion  g->pith_assertion
#define GOOD_pith_function   g->function
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#include "bad_pointers.inc"

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

static const char *now_function = "", *now_parameter = "", *now_bad = "";

static void on_crash(int number) {
    char text[256];
    const int n = snprintf(text, sizeof text, "crash in %s, %s is %s\n", now_function,
                           now_parameter, now_bad);
    if (write(STDERR_FILENO, text, (size_t)n) != n)
        number = SIGABRT;
    signal(number, SIG_DFL);
    raise(number);
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool listed(const char *const *list, size_t count, const row *r) {
    const size_t n = strlen(r->function);
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], r->function, n) == 0 && list[i][n] == '.' &&
            strcmp(list[i] + n + 1, r->parameter) == 0)
            return true;
    return false;
}
#define LISTED(list, r) listed((list), sizeof(list) / sizeof(list)[0], (r))

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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
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
    const double number = 1;
    const pith_shape one = {1, {1}};
    pith_runtime *other = pt_open();
    g.runtime = pt_open();
    g.scope = pith_scope_open(g.runtime);
    pith_scope *elsewhere = pith_scope_open(other);
    g.array = pith_array_copy(g.scope, PITH_F64, one, &number);
    g.index = pith_zeros(g.scope, PITH_I32, one);
    g.condition = pith_zeros(g.scope, PITH_BOOL, one);
    g.flag = pith_bool(g.scope, false);
    g.number = pith_i32(g.scope, 0);
    g.pith_index = pith_index_of(g.scope, "", 0, NULL);
    g.pith_capacity = pith_capacity_make(g.scope, &(pith_capacity_options){.size = 1});
    g.key = pith_random_key(g.scope, 1);
    g.foreign = pith_array_copy(elsewhere, PITH_F64, one, &number);
    pt_ok(g.scope, g.array);
    pt_ok(elsewhere, g.foreign);
    g.text = "text";
    for (int i = 0; i < 8; i++) {
        g.items[i] = g.array;
        g.texts[i] = g.text;
    }
    pt_ok(g.scope, pith_mesh_open(g.scope, PITH_MESH_AXES({g.text, 0}), NULL));
    const Thing thing = {g.array};
    g.value = &thing;
    g.function = g.functions[0] = &doubled;
    g.test = &no_more;
    g.of_two = &second_of_two;
    g.of_row = &row_of_scan;
    g.pith_type = Thing_pith_type();
    g.pith_dict = pith_dict_make(g.scope, 1, g.texts, g.items);
    g.pith_treedef = pith_tree_structure(g.scope, g.array);
    pt_ok(g.scope);
    g.route = pith_route_make(g.scope, pith_zeros(g.scope, PITH_I32, PITH_SHAPE(1)),
                              pith_zeros(g.scope, PITH_I32, PITH_SHAPE(1)), NULL, NULL);
    pt_ok(g.scope, g.route);
    g.file = fopen("/dev/null", "w");
    char folder[256]; /* for files called "text" */
    pt_folder(folder);
    cr_assert(chdir(folder) == 0);
    pt_ok(g.scope, pith_save(g.scope, g.array, g.text, NULL));
    g.pith_checkpoint = pith_checkpoint_open(g.scope, g.text);
    pt_ok(g.scope, g.pith_checkpoint);
    g.pith_run_log = pith_run_log_open(g.scope, "log", NULL);
    pt_ok(g.scope, g.pith_run_log);
    g.pith_lens = pith_lens_path(g.scope, NULL, "");
    for (int i = 0; i < 8; i++)
        g.lenses[i] = g.pith_lens;
    g.pith_bound = pith_lens_bind(g.scope, g.pith_lens, g.array);
    pith_collect_begin(g.scope);
    pith_check_with(g.scope, g.index,
                    &(pith_check_options){.message = "{text}",
                                          .args = {{"text", g.array}},
                                          .fix = &doubled});
    g.pith_result = pith_collect_end(g.scope, NULL);
    g.pith_assertion = pith_result_get(g.scope, g.pith_result, 0);
    pt_ok(g.scope, g.pith_assertion);
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    try_all(&g);
    cr_assert_eq(rows_failed, 0, "%d calls with bad pointers gave no error", rows_failed);
    try_good(&g);
    cr_assert(unlink(g.text) == 0 && unlink("log") == 0 && chdir("/") == 0 &&
              rmdir(folder) == 0);
    fclose(g.file);
    pith_scope_close(elsewhere);
    pith_scope_close(g.scope);
    pt_close(other);
    pt_close(g.runtime);
}
