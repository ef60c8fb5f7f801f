/* Record types that a shared library brings: they outlive it, are found again when it is
 * loaded again, elsewhere in memory, and are refused where another library has changed
 * them. */
#include "pith_test.h"
#include "plugin.h"

#include <dlfcn.h>
#include <pith/debug.h>
#include <sys/mman.h>

typedef struct loaded {
    void *library;
    const plugin_exports *exports;
} loaded;

static loaded load(const char *path) {
    loaded l = {.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    cr_assert(l.library, "%s", dlerror());
    l.exports = dlsym(l.library, "plugin");
    cr_assert(l.exports, "%s", dlerror());
    return l;
}

/* Unload it, and let nothing else be where it was. */
static void unload(loaded l) {
    enum { PAGES = 64 };
    const size_t page = 4096;
    char *place = (char *)(uintptr_t)((uintptr_t)l.exports->place / page * page);
    Dl_info info;
    cr_assert(dlclose(l.library) == 0, "%s", dlerror());
    for (int i = -PAGES; i < PAGES; i++)
        mmap(place + i * (ptrdiff_t)page, page, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert(dladdr(place, &info) == 0, "the plugin is still loaded");
}

typedef struct {
    const pith_array *x;
    const char *label;
    int64_t k;
} Plugged; /* as the plugin has it */

static const void *make(pith_scope *s, const pith_type *type, int64_t n) {
    const void *const value[] = {pith_zeros(s, PITH_F64, PITH_SHAPE(n))};
    return pith_freeze_any(s, type, value);
}

Test(plugin, types_outlive_their_library) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    loaded l = load(PLUGIN);
    const pith_type *type = l.exports->plugged();
    const Plugged *made = pith_make_any(s, type, NULL, PITH_EXTENTS({"n", 2}));
    pt_ok(s, made);
    unload(l);

    cr_assert_str_eq(pith_type_name(type), "Plugged");
    cr_assert(!pith_type_error(type));
    cr_assert_str_eq(made->label, "made by a plugin");
    char *text = strdup(pith_tree_text(s, made, &(pith_print_options){.docs = true}));
    cr_assert(strstr(text, "where it is") && strstr(text, "Plugged"), "%s", text);
    free(text);
    cr_assert_str_eq(pith_tree_path(s, made, 0), ".x");
    const Plugged *again = pith_make_any(s, type, made, NULL);
    pt_ok(s, pith_tree_equal(s, again, made));
    const void *trees[] = {made, again};
    const Plugged *both = pith_tree_concat(s, 2, trees, 0);
    pt_ok(s, both);
    cr_assert(both->k == 3 && pith_array_spec(both->x)->shape[0] == 4);

    /* Loaded again, it finds the type that it brought. */
    l = load(PLUGIN);
    cr_assert(l.exports->plugged() == type);
    pt_ok(s,
          pith_tree_equal(s, made, pith_make_any(s, l.exports->plugged(), made, NULL)));
    unload(l);
    pith_scope_close(s);
    pt_close(rt);
}

Test(plugin, a_hook_is_found_again_where_its_library_is_loaded_again) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    loaded l = load(PLUGIN);
    const pith_type *type = l.exports->checked();
    const void *const old = l.exports->place;
    pt_ok(s, pith_type_of(make(s, type, 4)));
    pt_fails(PITH_E_SHAPE, s, make(s, type, 5));
    unload(l);

    l = load(PLUGIN);
    cr_assert(l.exports->place != old, "it was to be elsewhere");
    cr_assert(l.exports->checked() == type);
    pt_ok(s, pith_type_of(make(s, type, 4)));
    pt_fails(PITH_E_SHAPE, s, make(s, type, 5));
    pt_says(".x: more than 4");
    unload(l);
    pith_scope_close(s);
    pt_close(rt);
}

static int heard;
static void count_messages(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    heard += level == PITH_LOG_DEBUG && strcmp(message, "x is 3.0") == 0;
}

/* A call site is known again by its text, which is gone with the library. */
Test(plugin, call_sites_of_messages_outlive_their_library) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_set_log_hook(rt, count_messages, NULL);
    for (int time = 0; time < 4; time++) {
        loaded l = load(PLUGIN);
        l.exports->say(s, pith_f64(s, 3));
        pt_ok(s);
        unload(l);
        pith_debug_every(s, 4, "x is {x}", {"x", pith_f64(s, 3)}); /* another site */
    }
    cr_assert_eq(heard, 2 + 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(plugin, another_struct_of_the_name_is_refused) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    loaded first = load(PLUGIN), second = load(PLUGIN_CHANGED);
    const pith_type *good = first.exports->plugged(), *bad = second.exports->plugged();
    cr_assert(good != bad && !pith_type_error(good));
    const char *error = pith_type_error(bad);
    cr_assert(error && strstr(error, "Plugged: two structs have this name"), "%s", error);
    pt_fails(PITH_E_TYPE, s, pith_make_any(s, bad, NULL, NULL));
    /* What both bring alike is one type. */
    cr_assert(first.exports->checked() == second.exports->checked());
    unload(second);
    cr_assert_str_eq(pith_type_error(bad), error);
    pt_ok(s, pith_make_any(s, good, NULL, PITH_EXTENTS({"n", 1})));
    pith_scope_close(s);
    pt_close(rt);
    unload(first);
}
