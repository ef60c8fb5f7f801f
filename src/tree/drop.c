/* Early release of trees, before their scope closes: frees the nodes and leaves of one
 * tree that another tree does not share. */
#include "tree/drop.h"

#include "tree/tree_internal.h"

#include <stdlib.h>

static int compare_pointers(const void *a, const void *b) {
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static bool add(pithp_doomed *d, const void *object) {
    if (d->count == d->room) {
        const int64_t more = d->room ? 2 * d->room : 64;
        void *grown = pithp_reallocate(d->rt, (void *)d->objects,
                                       (size_t)d->room * sizeof *d->objects,
                                       (size_t)more * sizeof *d->objects);
        if (!grown)
            return false;
        d->objects = grown;
        d->room = more;
    }
    d->objects[d->count++] = object;
    return true;
}

static void sort_once(pithp_doomed *d) {
    int64_t count = 0;
    if (d->count > 1)
        qsort((void *)d->objects, (size_t)d->count, sizeof *d->objects, compare_pointers);
    for (int64_t i = 0; i < d->count; i++)
        if (i == 0 || d->objects[i] != d->objects[i - 1])
            d->objects[count++] = d->objects[i];
    d->count = count;
}

/* Collect the objects that a tree reaches and whose owners may drop them, sorted. */
static pith_status gather(pith_scope *s,
                          pithp_doomed *d,
                          const void *tree,
                          pithp_may_drop may_drop,
                          void *closure) {
    pithp_walk w;
    pithp_visit visit;
    bool fine = true;
    *d = (pithp_doomed){.rt = s->runtime};
    pithp_walk_begin(&w, s->runtime, tree);
    while (fine && pithp_walk_next(&w, &visit)) {
        if (visit != PITHP_VISIT_LEAF && visit != PITHP_VISIT_ENTER)
            continue;
        const pith_scope *owner = pithp_owner_of(w.node);
        if (owner && may_drop(owner, closure))
            fine = add(d, w.node);
    }
    fine = fine && !w.failed;
    pithp_walk_end(&w);
    if (!fine) {
        pithp_doomed_end(d);
        return pithp_fail_memory(s, sizeof(void *));
    }
    sort_once(d);
    return PITH_OK;
}

/* Remove the objects of the other list from d. */
static void subtract(pithp_doomed *d, const pithp_doomed *kept) {
    int64_t count = 0, k = 0;
    for (int64_t i = 0; i < d->count; i++) {
        while (k < kept->count && (uintptr_t)kept->objects[k] < (uintptr_t)d->objects[i])
            k++;
        if (k == kept->count || kept->objects[k] != d->objects[i])
            d->objects[count++] = d->objects[i];
    }
    d->count = count;
}

pith_status pithp_doomed_make(pith_scope *s,
                              pithp_doomed *d,
                              const void *tree,
                              const void *kept,
                              pithp_may_drop may_drop,
                              void *closure) {
    pithp_doomed shared;
    pith_status rc = gather(s, d, tree, may_drop, closure);
    if (rc != PITH_OK || d->count == 0)
        return rc;
    rc = gather(s, &shared, kept, may_drop, closure);
    if (rc != PITH_OK) {
        pithp_doomed_end(d);
        return rc;
    }
    subtract(d, &shared);
    pithp_doomed_end(&shared);
    return PITH_OK;
}

void pithp_doomed_drop(const pithp_doomed *d) {
    for (int64_t i = 0; i < d->count; i++) {
        const void *object = d->objects[i];
        if (pithp_kind_is_array(object))
            pithp_array_drop((pith_scope *)(uintptr_t)pithp_owner_of(object), object);
        else
            pithp_header_of(object)->kind = PITHP_KIND_FREE;
    }
}

void pithp_doomed_end(pithp_doomed *d) {
    pithp_release(d->rt, (void *)d->objects, (size_t)d->room * sizeof *d->objects);
    *d = (pithp_doomed){0};
}
