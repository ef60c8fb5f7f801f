/* Nodes as the rooms above tree see them, one header a job. */
#ifndef PITH_TREE_INTERNAL_H
#define PITH_TREE_INTERNAL_H

#include "tree/build.h"       /* trees around leaves */
#include "tree/differences.h" /* how trees differ, and messages */
#include "tree/function.h"    /* typed functions */
#include "tree/node_def.h"    /* nodes, slots, interned shapes */
#include "tree/path.h"        /* paths as text */
#include "tree/static_kind.h" /* kinds of static fields */
#include "tree/structure.h"   /* the flat form, treedefs */
#include "tree/types.h"       /* types and their fields */
#include "tree/walk.h"        /* the one walker */
#include "tree/zip.h"         /* several trees at a time */

/* s for a call of a public function on behalf of the one that was entered: its errors
 * name the same call site. */
static inline pith_scope *pithp_on_behalf(pith_scope *s) {
    return pith_call_site(s, s->site);
}

#endif
