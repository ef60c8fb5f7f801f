/* A shared library that brings record types. PLUGIN_CHANGED: it describes the
 * first one otherwise. */
#include "plugin.h"

#include <pith/debug.h>

#ifdef PLUGIN_CHANGED
#    define PLUGIN_SPEC "f64[n,3]"
#else
#    define PLUGIN_SPEC "f64[n]"
#endif

typedef struct {
    const pith_array *x;
    const char *label;
    int64_t k;
} Plugged;
PITH_NODE(Plugged,
          PITH_LEAF(x, PLUGIN_SPEC, .unit = "m", .doc = "where it is"),
          PITH_STATIC(label, .initial_text = "made by a plugin"),
          PITH_STATIC(k, .initial = 3))

typedef struct {
    const pith_array *x;
} Checked;
static void plugin_check(pith_scope *s, const Checked *checked) {
    const pith_spec *spec = pith_array_spec(checked->x);
    if (spec->rank > 0 && spec->shape[spec->rank - 1] > 4)
        pith_fail(s, PITH_E_SHAPE, ".x", "more than 4");
}
PITH_NODE(Checked, PITH_LEAF(x, "f64[n]"), PITH_VALIDATE(plugin_check))

static void say(pith_scope *s, const pith_array *x) {
    pith_debug_every(s, 2, "x is {x}", {"x", x});
}

__attribute__((visibility("default"))) const plugin_exports plugin = {
    Plugged_pith_type, Checked_pith_type, (const void *)&plugin, say};
