/* What the plugins of test_named.c export: each has a node Atoms of its own, with other
 * fields, and a node System of the same text, whose child is its Atoms. */
#ifndef PITH_TESTS_NAMED_H
#define PITH_TESTS_NAMED_H

#include <pith/tree.h>

typedef struct named_exports {
    const pith_type *(*atoms)(void), *(*system)(void);
    const void *(*make)(pith_scope *s, int64_t n); /* a System, with another one in it */
} named_exports;
extern const named_exports named;

#endif
