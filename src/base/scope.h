/* Scopes: owners of errors, memory and objects. */
#ifndef PITH_BASE_SCOPE_H
#define PITH_BASE_SCOPE_H

#include "pith/base.h"

#include "base/block.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/object.h"
#include "base/room.h"
#include "base/runtime.h"

/* A resource that the scope owns one reference to until it closes, shared by `live`
 * objects of the scope. */
typedef struct pithp_hold {
    void *thing;
    void (*release)(pith_scope *s, void *thing);
    uint32_t live; /* objects of this scope that use it; released early at 0 */
} pithp_hold;

enum { PITHP_SITE_DEPTH = 16 };
#define PITHP_SCOPE_MAGIC 0x53636f70u /* of an open or a static scope */

struct pith_scope {
    uint32_t magic;
    int32_t depth;       /* 0 for a root */
    int site_depth;      /* number of valid `sites` */
    bool broken;         /* the error cannot be cleared: no call succeeds */
    bool error_read;     /* the user has seen the error */
    bool no_validation;  /* record hooks are suspended; inherited */
    uint8_t check_level; /* least enabled level of checks; inherited */
    pith_runtime *runtime;
    pith_scope *parent, *first_child, *next_sibling, *previous_sibling;
    char *cursor, *limit; /* free range of the current block */
    pithp_block *blocks;  /* all regions; the first block, with this struct, is last */
    size_t bytes;
    struct pithp_hold_chunk *holds;
    pithp_hold *free_holds;            /* free list of holds, linked by `thing` */
    void *room[PITHP_ROOM_COUNT];      /* children inherit GPU, MEMORY and TRACE */
    struct pithp_collector *collector; /* collects checks made here and in children, see
                                          gpu/collect.h; or NULL */
    const char *site;                  /* call site of the current call */
    const char *function; /* name of the current call; NULL before the first */
    const char *caller; /* function on whose behalf this scope works, or NULL; errors name
                           it, not the inner functions */
    /* "function\npath" of the leaf that the call works on, for launch reports. Lives as
     * long as the runtime. NULL: the function alone */
    const char *leaf;
    char cleared_site[PITHP_SITE_BYTES]; /* of the last cleared error */
    const char
        *sites[PITHP_SITE_DEPTH]; /* of calls whose arguments are being evaluated */
    pithp_error error;
};

/* The current call, saved while user code runs within it. Inner calls set their own names
 * in errors; the call's name is restored afterwards. */
typedef struct pithp_call_site {
    const char *function, *caller, *site;
} pithp_call_site;
static inline pithp_call_site pithp_user_begins(pith_scope *s) {
    const pithp_call_site call = {s->function, s->caller, s->site};
    s->caller = NULL;
    return call;
}
static inline void pithp_user_ends(pith_scope *s, pithp_call_site call);

/* First statement of every exported maker: checks that the scope is valid, open and
 * without error. Takes the call site and the function's name (the exported name, if
 * several share the body). On false, the caller returns its nil. */
bool pithp_enter_as(pith_scope *s, const char *function);
#define pithp_enter(s) pithp_enter_as((s), __func__)
/* As pithp_enter_as, for functions that change persistent state or read computed values.
 * Fails with PITH_E_TRACED while calls on s are traced. */
bool pithp_enter_untraced(pith_scope *s, const char *function);
/* The same for functions without a scope argument. The error goes to the in-flight call's
 * scope. */
bool pithp_may_change(const pith_runtime *rt, const char *function);
bool pithp_scope_valid(const pith_scope *s); /* open or static; safe for any pointer */
/* Open; safe for any pointer: a scope lies at the start of its own first block. */
static inline bool pithp_scope_writable(const pith_scope *s) {
    return PITHP_LIKELY((uintptr_t)s % PITHP_BLOCK_BYTES == sizeof(pithp_block) &&
                        pithp_block_entry(s) == PITHP_BLOCK_FIRST_LIVE) &&
           s->magic == PITHP_SCOPE_MAGIC;
}
static inline void pithp_user_ends(pith_scope *s, pithp_call_site call) {
    if (PITHP_UNLIKELY(!pithp_scope_writable(s))) /* user code closed the scope */
        return;
    s->function = call.function;
    s->caller = call.caller;
    s->site = call.site;
}
/* Make the error permanent: the user cannot clear it, and no call on the scope
 * succeeds. */
void pithp_scope_break(pith_scope *s);

/* Memory of the scope for data other than objects: 16-byte aligned, freed with the scope.
 * NULL sets the error. */
void *pithp_scope_allocate(pith_scope *s, size_t bytes);
/* Allocate a header and a zeroed payload, findable by pithp_pointer_check. Returns the
 * payload. NULL sets the error. */
void *pithp_object_make(pith_scope *s,
                        pithp_kind kind,
                        const void *descriptor,
                        size_t payload_bytes);
/* Raw memory for several objects in one slab; the caller writes their headers. NULL sets
 * the error. */
static inline void *pithp_slab_make(pith_scope *s, size_t bytes) {
    const size_t rounded = (bytes + 15) & ~(size_t)15;
    if (PITHP_UNLIKELY(rounded < bytes || rounded > (size_t)(s->limit - s->cursor)))
        return pithp_scope_allocate(s, bytes);
    void *memory = s->cursor;
    s->cursor += rounded;
    return memory;
}
/* Own one reference to thing until the scope closes. NULL sets the error, and thing is
 * not released. */
pithp_hold *
pithp_scope_hold(pith_scope *s, void *thing, void (*release)(pith_scope *s, void *thing));
/* The last hold made, so that consecutive objects over one resource can share it; or
 * NULL. */
pithp_hold *pithp_scope_last_hold(pith_scope *s);
/* Drop one use of a hold. */
void pithp_hold_drop(pith_scope *s, pithp_hold *hold);
/* Whether objects of `owner` live at least as long as s: owner is s, an enclosing scope,
 * or the process. */
bool pithp_scope_reaches(const pith_scope *s, const pith_scope *owner);
static inline pith_scope *
pithp_owner_of(const void *object) { /* the object must be valid */
    pithp_block *block = NULL;
    pithp_block_find((const char *)object - 1, &block);
    return block->owner;
}

#endif
