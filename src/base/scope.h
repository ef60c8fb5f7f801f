/* Scopes: errors, memory and objects of a part of the program. */
#ifndef PITH_BASE_SCOPE_H
#define PITH_BASE_SCOPE_H

#include "pith/base.h"

#include "base/block.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/object.h"
#include "base/room.h"
#include "base/runtime.h"

/* Something a scope owns a reference to until it closes, shared by `live` objects of the
 * scope. */
typedef struct pithp_hold {
    void *thing;
    void (*release)(pith_scope *s, void *thing);
    uint32_t live; /* objects of this scope that use it; at 0 it is released early */
} pithp_hold;

enum { PITHP_SITE_DEPTH = 16 };
#define PITHP_SCOPE_MAGIC 0x53636f70u /* of one that is open, or static */

struct pith_scope {
    uint32_t magic;
    int32_t depth;       /* 0 for a root */
    int site_depth;      /* how many of `sites` count */
    bool broken;         /* its error cannot be cleared: nothing computes for it */
    bool error_read;     /* the user has seen the error */
    bool no_validation;  /* hooks of records are suspended; in children too */
    uint8_t check_level; /* the least level of checks that counts; of children too */
    pith_runtime *runtime;
    pith_scope *parent, *first_child, *next_sibling, *previous_sibling;
    char *cursor, *limit; /* free part of the current block */
    pithp_block *blocks;  /* all regions, the first one (which holds this struct) last */
    size_t bytes;
    struct pithp_hold_chunk *holds;
    pithp_hold *free_holds;       /* given back early; linked by `thing` */
    void *room[PITHP_ROOM_COUNT]; /* children begin with those of GPU, MEMORY and TRACE */
    struct pithp_collector *collector; /* of the checks made here and in children, see
                                          gpu/collect.h; NULL: none */
    const char *site;                  /* of the call being made */
    const char *function;              /* its name; NULL: none was entered yet */
    const char *caller; /* the function that this scope works for: errors name it
                           and not those that it calls; NULL: none */
    /* "function\npath" of the leaf that a call works on: what the reports of launches
     * say of it. Lives as long as the runtime; NULL: the function alone */
    const char *leaf;
    char cleared_site[PITHP_SITE_BYTES]; /* of the error that was cleared last */
    const char
        *sites[PITHP_SITE_DEPTH]; /* of calls whose arguments are being evaluated */
    pithp_error error;
};

/* The call that is being made, while the user's code runs within it: what that code calls
 * names itself in errors, and what fails afterwards is said of the call again. */
typedef struct pithp_call_site {
    const char *function, *caller, *site;
} pithp_call_site;
static inline pithp_call_site pithp_user_begins(pith_scope *s) {
    const pithp_call_site call = {s->function, s->caller, s->site};
    s->caller = NULL;
    return call;
}
static inline void pithp_user_ends(pith_scope *s, pithp_call_site call);

/* Begins every exported function that makes something: the scope is valid, open and
 * without error. Takes the call site and the function's name (in a function that several
 * exported ones share, that of the one being called). Where it returns false the caller
 * returns its nil. */
bool pithp_enter_as(pith_scope *s, const char *function);
#define pithp_enter(s) pithp_enter_as((s), __func__)
/* The same of functions that change what lasts, or run work whose values they need: while
 * calls on s are recorded they are PITH_E_TRACED. */
bool pithp_enter_untraced(pith_scope *s, const char *function);
/* The same of functions that are given no scope: the error is that of the one under way.
 */
bool pithp_may_change(const pith_runtime *rt, const char *function);
bool pithp_scope_valid(const pith_scope *s); /* open or static; safe for any pointer */
/* Open; safe for any pointer: a scope lies at the start of its own first block. */
static inline bool pithp_scope_writable(const pith_scope *s) {
    return PITHP_LIKELY((uintptr_t)s % PITHP_BLOCK_BYTES == sizeof(pithp_block) &&
                        pithp_block_entry(s) == PITHP_BLOCK_FIRST_LIVE) &&
           s->magic == PITHP_SCOPE_MAGIC;
}
static inline void pithp_user_ends(pith_scope *s, pithp_call_site call) {
    if (PITHP_UNLIKELY(!pithp_scope_writable(s))) /* it closed the scope */
        return;
    s->function = call.function;
    s->caller = call.caller;
    s->site = call.site;
}
/* Nothing can compute for this scope: its error stays when the user clears it. */
void pithp_scope_break(pith_scope *s);

/* Memory of the scope for anything but objects: 16-byte aligned, freed with it. NULL sets
 * its error. */
void *pithp_scope_allocate(pith_scope *s, size_t bytes);
/* A zero-filled header and payload, findable by pithp_pointer_check; returns the payload.
 * NULL sets the error. */
void *pithp_object_make(pith_scope *s,
                        pithp_kind kind,
                        const void *shape,
                        size_t payload_bytes);
/* Raw memory for several objects of one slab, headers written by the caller. NULL sets
 * the error. */
static inline void *pithp_slab_make(pith_scope *s, size_t bytes) {
    const size_t rounded = (bytes + 15) & ~(size_t)15;
    if (PITHP_UNLIKELY(rounded < bytes || rounded > (size_t)(s->limit - s->cursor)))
        return pithp_scope_allocate(s, bytes);
    void *memory = s->cursor;
    s->cursor += rounded;
    return memory;
}
/* Own one reference to thing until the scope closes. NULL sets the error (thing is not
 * released then). */
pithp_hold *
pithp_scope_hold(pith_scope *s, void *thing, void (*release)(pith_scope *s, void *thing));
/* The hold made last, so that a run of objects over one thing can share it; NULL: none.
 */
pithp_hold *pithp_scope_last_hold(pith_scope *s);
/* One user of a hold is gone. */
void pithp_hold_drop(pith_scope *s, pithp_hold *hold);
/* Whether objects of `owner` outlive s: owner is s, a scope around it, or the process. */
bool pithp_scope_reaches(const pith_scope *s, const pith_scope *owner);
static inline pith_scope *
pithp_owner_of(const void *object) { /* object already checked */
    pithp_block *block = NULL;
    pithp_block_find((const char *)object - 1, &block);
    return block->owner;
}

#endif
