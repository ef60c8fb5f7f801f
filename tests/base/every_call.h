/* A call of every exported function, in which one argument can be replaced: a table that
 * every_call.sh generates from the public headers and the export list of the library,
 * with values that are good for all other parameters. */
#ifndef TESTS_BASE_EVERY_CALL_H
#define TESTS_BASE_EVERY_CALL_H

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
    pith_scope *elsewhere; /* of another runtime */
    const void *value;     /* a struct that can be frozen as pith_type */
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
    int is_tree;     /* an array or a tree, or several */
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

#include "every_call.inc"

enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- What is called now, for crashes ---- */

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

/* ---- Values ---- */

/* All good values. Files are in a folder of the test, the current one. */
static inline void open_good(good *g) {
    const double number = 1;
    const pith_shape one = {1, {1}};
    memset(g, 0, sizeof *g);
    g->runtime = pt_open();
    g->scope = pith_scope_open(g->runtime);
    g->elsewhere = pith_scope_open(pt_open());
    g->array = pith_array_copy(g->scope, PITH_F64, one, &number);
    g->index = pith_zeros(g->scope, PITH_I32, one);
    g->condition = pith_zeros(g->scope, PITH_BOOL, one);
    g->flag = pith_bool(g->scope, false);
    g->number = pith_i32(g->scope, 0);
    g->pith_index = pith_index_of(g->scope, "", 0, NULL);
    g->pith_capacity = pith_capacity_make(g->scope, &(pith_capacity_options){.size = 1});
    g->key = pith_random_key(g->scope, 1);
    g->foreign = pith_array_copy(g->elsewhere, PITH_F64, one, &number);
    pt_ok(g->scope, g->array);
    pt_ok(g->elsewhere, g->foreign);
    g->text = "text";
    for (int i = 0; i < 8; i++) {
        g->items[i] = g->array;
        g->texts[i] = g->text;
    }
    pt_ok(g->scope, pith_mesh_open(g->scope, PITH_MESH_AXES({g->text, 0}), NULL));
    static Thing thing;
    thing.x = g->array;
    g->value = &thing;
    g->function = g->functions[0] = &doubled;
    g->test = &no_more;
    g->of_two = &second_of_two;
    g->of_row = &row_of_scan;
    g->pith_type = Thing_pith_type();
    g->pith_dict = pith_dict_make(g->scope, 1, g->texts, g->items);
    g->pith_treedef = pith_tree_structure(g->scope, g->array);
    pt_ok(g->scope);
    g->route = pith_route_make(g->scope, pith_zeros(g->scope, PITH_I32, PITH_SHAPE(1)),
                               pith_zeros(g->scope, PITH_I32, PITH_SHAPE(1)), NULL, NULL);
    pt_ok(g->scope, g->route);
    g->file = fopen("/dev/null", "w");
    cr_assert(chdir(pt_files()) == 0);
    pt_ok(g->scope, pith_save(g->scope, g->array, g->text, NULL));
    g->pith_checkpoint = pith_checkpoint_open(g->scope, g->text);
    pt_ok(g->scope, g->pith_checkpoint);
    g->pith_run_log = pith_run_log_open(g->scope, "log", NULL);
    pt_ok(g->scope, g->pith_run_log);
    g->pith_lens = pith_lens_path(g->scope, NULL, "");
    for (int i = 0; i < 8; i++)
        g->lenses[i] = g->pith_lens;
    g->pith_bound = pith_lens_bind(g->scope, g->pith_lens, g->array);
    pith_collect_begin(g->scope);
    pith_check_with(g->scope, g->index,
                    &(pith_check_options){.message = "{text}",
                                          .args = {{"text", g->array}},
                                          .fix = &doubled});
    g->pith_result = pith_collect_end(g->scope, NULL);
    g->pith_assertion = pith_result_get(g->scope, g->pith_result, 0);
    pt_ok(g->scope, g->pith_assertion);
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
}

static inline void close_good(good *g) {
    pith_runtime *other = pith_scope_runtime(g->elsewhere);
    fclose(g->file);
    pith_scope_close(g->elsewhere);
    pith_scope_close(g->scope);
    pt_close(other);
    pt_close(g->runtime);
}

/* ---- Lists of calls ---- */

static inline bool listed(const char *const *list, size_t count, const row *r) {
    const size_t n = strlen(r->function);
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], r->function, n) == 0 && list[i][n] == '.' &&
            strcmp(list[i] + n + 1, r->parameter) == 0)
            return true;
    return false;
}
#define LISTED(list, r) listed((list), sizeof(list) / sizeof(list)[0], (r))

#endif
