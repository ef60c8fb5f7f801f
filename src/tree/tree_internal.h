/* Internal interface of tree: one header per job, for the rooms above. */
#ifndef PITH_TREE_INTERNAL_H
#define PITH_TREE_INTERNAL_H

#include "tree/build.h"       /* unflattening */
#include "tree/differences.h" /* structure differences, and messages */
#include "tree/function.h"    /* typed functions */
#include "tree/node_def.h"    /* nodes, slots, interned node definitions */
#include "tree/path.h"        /* paths as text */
#include "tree/static_kind.h" /* kinds of static fields */
#include "tree/structure.h"   /* static fields by kind */
#include "tree/types.h"       /* flat trees, treedefs */
#include "tree/walk.h"        /* record types and their fields */
#include "tree/zip.h"         /* the tree walker */

/* The scope for a public function called on behalf of the current one: errors name the
 * same call site. */
static inline pith_scope *pithp_on_behalf(pith_scope *s) {
    return pith_call_site(s, s->site);
}

#endif
