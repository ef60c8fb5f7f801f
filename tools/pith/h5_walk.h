/* The objects of an HDF5 file, one after the other. */
#ifndef PITH_H5_WALK_H
#define PITH_H5_WALK_H

#define H5_USE_110_API /* newer libraries give other types to these names */
#include <hdf5.h>
#include <stdbool.h>

typedef struct h5_visitor {
    void *closure;
    /* A dataset, open until this returns, by each of its names: "group/name". Negative:
     * the object of that name cannot be opened. False ends the walk. */
    bool (*dataset)(void *closure, hid_t set, const char *name);
    /* A link that is not followed: a soft one, one to another file, or a hard one to a
     * group that was visited by another name. */
    void (*link)(void *closure, const char *name, H5L_type_t type);
} h5_visitor;

/* Visit all that hard links lead to from the root, groups in the order of names, each
 * once. Time and memory grow with the number of links and the depth of groups. False: a
 * visitor ended it, or HDF5 has the reason. */
bool h5_walk(hid_t file, const h5_visitor *v);

#endif
