/* Walk over the objects of an HDF5 file. */
#ifndef PITH_H5_WALK_H
#define PITH_H5_WALK_H

#define H5_USE_110_API /* newer versions give these names other types */
#include <hdf5.h>
#include <stdbool.h>

typedef struct h5_visitor {
    void *closure;
    /* Visits a dataset by each of its names: "group/name". It is open during the call.
     * Negative: the object cannot be opened. False ends the walk. */
    bool (*dataset)(void *closure, hid_t set, const char *name);
    /* Visits a link that is not followed: a soft link, a link to another file, or a hard
     * link to a group already visited. */
    void (*link)(void *closure, const char *name, H5L_type_t type);
} h5_visitor;

/* Visit all objects reachable from the root by hard links: groups in name order, each
 * once. Time and memory are linear in the number of links and the depth. False: a visitor
 * ended the walk, or HDF5 has the error. */
bool h5_walk(hid_t file, const h5_visitor *v);

#endif
