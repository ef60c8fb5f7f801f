/* Paths that select parts of the arguments of a function: "[0].atoms.charge". */
#include "trace/jit/jit_internal.h"
#include "trace/part/part.h"

#include <string.h>

bool pithp_part_path_overlap(const pithp_part_path *a, const pithp_part_path *b) {
    return a->argument == b->argument && (pithp_path_contains(a->inside, b->inside) ||
                                          pithp_path_contains(b->inside, a->inside));
}

pith_status pithp_part_path_read(pith_scope *s,
                                 const char *function,
                                 const pith_function *f,
                                 const char *path,
                                 pithp_part_path *read) {
    read->inside = pithp_jit_path(path, f->arity, &read->argument);
    if (!read->inside)
        return pithp_fail(s, PITH_E_PATH, NULL,
                          "%s: %s: the path '%s' names no argument: expected [0] to "
                          "[%d], and a path in it",
                          function, f->name, path, f->arity - 1);
    return pithp_part_path_normal(s, function, f, read);
}

pith_status pithp_part_path_normal(pith_scope *s,
                                   const char *function,
                                   const pith_function *f,
                                   pithp_part_path *path) {
    if (*path->inside)
        path->inside = pith_path_normal(pithp_on_behalf(s), path->inside);
    if (!path->inside)
        pithp_error_context(s, "%s: %s", function, f->name);
    return s->error.code;
}
