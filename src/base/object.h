/* Object headers: the 16 bytes before each object, and the kinds of objects. */
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
    /* Private to a room; the descriptor points to a static tag of the room. */
    PITHP_KIND_OTHER,
    /* pith_keep moves them; the descriptor points to their pithp_class. */
    PITHP_KIND_CLASS
} pithp_kind;

/* Class of objects that rooms above tree define. */
typedef struct pithp_class {
    const char *name; /* "a lens" */
    /* Copy the object and its parts to `outer`. NULL sets the error. */
    const void *(*keep)(pith_scope *outer, const void *object);
} pithp_class;

enum { PITHP_FLAG_NIL = 1 }; /* the nil record of a type, which a failed maker returns */

#define PITHP_OBJECT_MAGIC 0x70697468u /* "pith" */

/* Precedes every object; public pointers point to the byte after it. */
typedef struct pithp_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t flags;
    uint16_t extra; /* for use by the room that owns the kind */
    /* Interned: spec of an array, definition of a node; see pithp_kind. */
    const void *descriptor;
} pithp_header;

_Static_assert(sizeof(pithp_header) == 16, "objects follow a 16-byte header");

static inline pithp_header *pithp_header_of(const void *object) {
    return (pithp_header *)((uintptr_t)object - sizeof(pithp_header));
}

#endif
