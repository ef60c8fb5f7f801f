/* What the plugins of test_plugin.c export. */
#ifndef PITH_TESTS_PLUGIN_H
#define PITH_TESTS_PLUGIN_H

#include <pith/tree.h>

typedef struct plugin_exports {
    const pith_type *(*plugged)(void);
    const pith_type *(*checked)(void);
    const void *place;                               /* an address in the library */
    void (*say)(pith_scope *s, const pith_array *x); /* every second time */
} plugin_exports;
extern const plugin_exports plugin;

#endif
