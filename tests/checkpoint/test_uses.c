/* Record types that only a field of any tree holds: PITH_USES makes them known with the
 * type of the root, and a save reports those of which nothing is declared. */
#include "checkpoint_test.h"

#include <sys/wait.h>

typedef struct Momentum {
    const pith_array *m;
} Momentum;
PITH_NODE(Momentum, PITH_LEAF(m, "f64"))
typedef struct Adam {
    const void *moments;
    const struct Adam *next;
} Adam;
PITH_NODE(Adam,
          PITH_TREE(moments),
          PITH_USES(Momentum),
          PITH_CHILD(next, Adam, .optional = true))

typedef struct Declared {
    const void *optimiser;
} Declared;
PITH_NODE(Declared, PITH_TREE(optimiser), PITH_USES(Adam))
typedef struct Bare {
    const void *optimiser;
} Bare;
PITH_NODE(Bare, PITH_TREE(optimiser))

static pith_runtime *rt;
static pith_scope *s;
static int warnings;
static char logged[1024];

static void log_hook(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    if (level != PITH_LOG_WARNING)
        return;
    warnings++;
    snprintf(logged, sizeof logged, "%s", message);
}
static void open_all(void) {
    rt = pith_open(&(pith_open_options){.device = "host", .log = log_hook});
    s = pith_scope_open(rt);
}

static const void *adam(void) {
    const Momentum momentum = {pith_f64(s, 1.5)};
    const Adam made = {
        .moments = pith_list_make(s, PITH_ITEMS(pith_freeze(s, Momentum, &momentum)))};
    return pith_freeze(s, Adam, &made);
}
static bool save_declared(const char *path) {
    return pith_save(s, pith_freeze(s, Declared, &(Declared){adam()}), path, NULL);
}
static bool save_bare(const char *path) {
    return pith_save(s, pith_freeze(s, Bare, &(Bare){adam()}), path, NULL);
}

/* Saved by another process, so that this one has used no type yet. */
static void begin(bool (*save)(const char *path)) {
    ct_begin();
    const pid_t writer = fork();
    if (writer == 0) {
        open_all();
        _exit(save("a.json") ? 0 : 1);
    }
    int status = 1;
    cr_assert(waitpid(writer, &status, 0) == writer && status == 0);
    open_all();
}
static void end(void) {
    pith_scope_close(s);
    pith_close(rt);
    ct_end();
}

Test(uses, are_known_with_the_type_that_declares_them) {
    begin(save_declared);
    const Declared *d = pith_load(s, Declared, "a.json");
    pt_ok(s, d);
    const Adam *loaded = d->optimiser;
    cr_assert_str_eq(pith_type_name(pith_type_of(loaded)), "Adam");
    const Momentum *momentum = pith_child(loaded->moments, 0);
    pt_ok(s, pith_read_f64(s, momentum->m) == 1.5);
    pt_ok(s, save_declared("b.json"));
    cr_assert(warnings == 0, "%s", logged);
    end();
}

Test(uses, without_a_declaration_are_reported_by_the_save) {
    begin(save_bare);
    pt_fails(PITH_E_TYPE, s, pith_load(s, Bare, "a.json"));
    pt_says(
        "the record type Adam is unknown to the program (call Adam_pith_type(), or add "
        "PITH_USES where its tree is declared)");
    pt_ok(s, save_bare("b.json"));
    cr_assert_eq(warnings, 2); /* Adam and Momentum */
    cr_assert(strstr(logged,
                     "pith_save: .optimiser.moments[0]: no declaration leads from "
                     "Bare to Momentum: a program that loads this must call its "
                     "T_pith_type() first, or has PITH_USES(T) in the PITH_NODE of "
                     "Bare"),
              "%s", logged);
    pt_ok(s, save_bare("b.json"));
    cr_assert_eq(warnings, 2, "once is enough: %s", logged);
    pt_ok(s, pith_load(s, Bare, "b.json"));
    /* of a tree without a type its loader has to know all types anyway */
    warnings = 0;
    pt_ok(s, pith_save(s, pith_list_make(s, PITH_ITEMS(adam())), "c.json", NULL));
    cr_assert_eq(warnings, 0);
    end();
}

typedef struct Wrong {
    const void *any;
} Wrong;
PITH_NODE(Wrong, PITH_TREE(any), PITH_USES(pith_array))

Test(uses, are_record_types) {
    const char *error = pith_type_error(Wrong_pith_type());
    cr_assert(error && strstr(error, "Wrong.pith_array: pith_array is not a record type"),
              "%s", error);
}
