/* Block allocator: regions that hold objects, and pointer validation by address. */
#ifndef PITH_BASE_BLOCK_H
#define PITH_BASE_BLOCK_H

#include "pith/base.h"

#include "base/macros.h"
#include "base/object.h"

#include <stdatomic.h>

#define PITHP_BLOCK_BYTES ((size_t)65536)

typedef enum pithp_block_state {
    PITHP_BLOCK_NONE, /* not memory of a runtime */
    PITHP_BLOCK_LIVE,
    PITHP_BLOCK_FREED, /* freed with its scope; memory is still mapped */
} pithp_block_state;

/* Header at the start of every region of one or more blocks. */
typedef struct pithp_block {
    pith_scope *owner; /* NULL: owned by the runtime or by the process */
    pith_runtime *runtime;
    struct pithp_block *next;
    size_t bytes; /* of the region; a multiple of PITHP_BLOCK_BYTES */
    uint64_t reserved[4];
} pithp_block;

_Static_assert(sizeof(pithp_block) == 64, "block headers keep their contents aligned");

/* Block table: a two-level table over 48-bit addresses with one entry per block. An entry
 * is 0 or (blocks back to the region's first block + 1) << 1 | live. */
enum { PITHP_BLOCK_BITS = 16, PITHP_BLOCK_LEAF_BITS = 16, PITHP_BLOCK_TOP_BITS = 16 };
typedef struct pithp_block_leaf {
    _Atomic uint32_t entry[1 << PITHP_BLOCK_LEAF_BITS];
} pithp_block_leaf;
extern _Atomic(pithp_block_leaf *) pithp_block_table[1 << PITHP_BLOCK_TOP_BITS];

enum { PITHP_BLOCK_FIRST_LIVE = 1 << 1 | 1 }; /* entry of a live region's first block */

/* The table entry of the block at an address. Lock-free; safe for any pointer value. */
static inline uint32_t pithp_block_entry(const void *address) {
    const uintptr_t index = (uintptr_t)address >> PITHP_BLOCK_BITS;
    const uintptr_t top = index >> PITHP_BLOCK_LEAF_BITS;
    if (PITHP_UNLIKELY(top >> PITHP_BLOCK_TOP_BITS))
        return 0;
    pithp_block_leaf *leaf =
        atomic_load_explicit(&pithp_block_table[top], memory_order_acquire);
    if (PITHP_UNLIKELY(!leaf))
        return 0;
    return atomic_load_explicit(&leaf->entry[index & ((1u << PITHP_BLOCK_LEAF_BITS) - 1)],
                                memory_order_acquire);
}

/* The region at an address and its state. Lock-free; safe for any pointer value. */
static inline pithp_block_state pithp_block_find(const void *address,
                                                 pithp_block **block) {
    const uintptr_t index = (uintptr_t)address >> PITHP_BLOCK_BITS;
    const uint32_t entry = pithp_block_entry(address);
    if (PITHP_UNLIKELY(!entry))
        return PITHP_BLOCK_NONE;
    *block = (pithp_block *)((index - ((entry >> 1) - 1)) << PITHP_BLOCK_BITS);
    return entry & 1 ? PITHP_BLOCK_LIVE : PITHP_BLOCK_FREED;
}
pithp_block *pithp_block_acquire(pith_runtime *rt,
                                 size_t bytes); /* NULL if out of memory */
void pithp_block_free(pith_runtime *rt, pithp_block *block);
/* Scratch memory, not findable as objects. Large requests are regions, which are kept and
 * reused, so that work on large trees touches no fresh pages. Release with the same size.
 * NULL if out of memory. */
void *pithp_scratch_allocate(pith_runtime *rt, size_t bytes);
void pithp_scratch_release(pith_runtime *rt, void *memory, size_t bytes);
/* The same, a region also if it is small: for memory of a step, which is taken and given
 * back again and again. The release of NULL does nothing. */
void *pithp_kept_allocate(pith_runtime *rt, size_t bytes);
void pithp_kept_release(pith_runtime *rt, void *memory, size_t bytes);
/* Memory of the process, never freed: nil records and other data that outlives every
 * runtime. */
void *pithp_permanent(
    size_t bytes); /* zeroed, 16-byte aligned, findable; NULL if out of memory */

typedef enum pithp_pointer {
    PITHP_POINTER_OK,
    PITHP_POINTER_NULL,
    PITHP_POINTER_FOREIGN, /* not memory of any runtime, for example a struct on the stack
                            */
    PITHP_POINTER_FREED,   /* its scope is closed */
    PITHP_POINTER_NO_OBJECT,
    PITHP_POINTER_DROPPED,
} pithp_pointer;

/* Classify a pointer from a user before anything is read through it. */
static inline pithp_pointer pithp_pointer_check(const void *object, pithp_block **block) {
    if (!object)
        return PITHP_POINTER_NULL;
    if (PITHP_UNLIKELY((uintptr_t)object % 16))
        return PITHP_POINTER_FOREIGN;
    const pithp_block_state state = pithp_block_find((const char *)object - 1, block);
    if (PITHP_UNLIKELY(state != PITHP_BLOCK_LIVE))
        return state == PITHP_BLOCK_FREED ? PITHP_POINTER_FREED : PITHP_POINTER_FOREIGN;
    if (PITHP_UNLIKELY((uintptr_t)object - (uintptr_t)*block <
                       sizeof(pithp_block) + sizeof(pithp_header)))
        return PITHP_POINTER_NO_OBJECT;
    const pithp_header *h = pithp_header_of(object);
    if (PITHP_UNLIKELY(h->magic != PITHP_OBJECT_MAGIC))
        return PITHP_POINTER_NO_OBJECT;
    /* Another thread may be dropping the object (an instance of the memory manager). */
    return __atomic_load_n(&h->kind, __ATOMIC_RELAXED) == PITHP_KIND_FREE
               ? PITHP_POINTER_DROPPED
               : PITHP_POINTER_OK;
}
/* Reason of a refusal, for error messages: "not frozen, or not an object of pith", ... */
const char *pithp_pointer_text(pithp_pointer verdict);

#endif
