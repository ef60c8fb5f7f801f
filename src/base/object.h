/* Objects: the header that precedes each, and their kinds. */
#ifndef PITH_BASE_OBJECT_H
#define PITH_BASE_OBJECT_H

#include "pith/base.h"

typedef enum pithp_kind {
    PITHP_KIND_FREE = 0, /* dropped, or never an object */
    PITHP_KIND_ARRAY,
    PITHP_KIND_RECORD,
    PITHP_KIND_LIST,
    PITHP_KIND_TUPLE,
    PITHP_KIND_DICT,
    PITHP_KIND_NONE,
    PITHP_KIND_TREEDEF,
    PITHP_KIND_OTHER, /* room-private objects; shape points at a static tag of the room */
    PITHP_KIND_CLASS, /* those that pith_keep moves: shape points at their pithp_class */
} pithp_kind;

/* What objects of a room above tree have in common. */
typedef struct pithp_class {
    const char *name; /* "a lens" */
    /* The live object in `outer`, with all it was made of. NULL: error set. */
    const void *(*keep)(pith_scope *outer, const void *object);
} pithp_class;

enum { PITHP_FLAG_NIL = 1 }; /* the nil record of a type: what a failed maker returns */

#define PITHP_OBJECT_MAGIC 0x70697468u /* "pith" */

/* Precedes every object; what users hold points just behind it. */
typedef struct pithp_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t flags;
    uint16_t extra;    /* free for the room that owns the kind */
    const void *shape; /* interned: spec of an array, definition of a node */
} pithp_header;

_Static_assert(sizeof(pithp_header) == 16, "objects follow a 16-byte header");

static inline pithp_header *pithp_header_of(const void *object) {
    return (pithp_header *)((uintptr_t)object - sizeof(pithp_header));
}

#endif
