/* What the rooms above base may use of it: objects, blocks, scopes, errors, specs, text.
 * Public declarations are in include/pith/base.h. */
#ifndef PITH_BASE_INTERNAL_H
#define PITH_BASE_INTERNAL_H

#include "pith/base.h"

#include <pthread.h>
#include <stdatomic.h>

#define PITHP_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define PITHP_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define PITHP_LIKELY(x)    __builtin_expect(!!(x), 1)

/* Internal invariants; argument checks are never assertions. */
#ifdef PITH_DEBUG
#    include <assert.h>
#    define PITH_ASSERT(condition) assert(condition)
#else
#    define PITH_ASSERT(condition) ((void)0)
#endif

#define PITH_TRY(expr)                                                                   \
    do {                                                                                 \
        if ((rc = (expr)) != PITH_OK)                                                    \
            goto out;                                                                    \
    } while (0)

/* ---- Biased locks ---- */

/* Held for a few instructions: no other lock is taken under it, and nothing of a user's
 * is called. The thread that takes it first owns it and takes it by plain stores, until
 * another one wants it; from then on all take it by an exchange. Zero is a free one. */
typedef struct pithp_biased_lock {
    atomic_uintptr_t owner; /* a thread, or PITHP_LOCK_... */
    atomic_bool held;       /* by the owner, which alone writes it */
    atomic_bool locked;     /* by any thread, once it is shared */
} pithp_biased_lock;

enum { PITHP_LOCK_NEW, PITHP_LOCK_CHANGING, PITHP_LOCK_SHARED }; /* no threads */

/* What no other thread has: its thread pointer. A variable of each thread would be found
 * by a call in a shared library, or lie where a running program that opens the library
 * has no room for it. */
static inline uintptr_t pithp_thread_self(void) {
#if defined(__x86_64__)
    uintptr_t self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* Between looks at what another thread is about to change. */
static inline void pithp_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pithp_biased_lock_wait(
    pithp_biased_lock *b); /* until it was free, and has been taken */
static inline bool pithp_biased_lock_is_own(const pithp_biased_lock *b) {
    return PITHP_LIKELY(atomic_load_explicit(&b->owner, memory_order_acquire) ==
                        pithp_thread_self());
}
static inline void pithp_biased_lock_take(pithp_biased_lock *b) {
    if (pithp_biased_lock_is_own(b)) {
        atomic_store_explicit(&b->held, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (pithp_biased_lock_is_own(b)) /* who takes that away waits while it is held */
            return;
        atomic_store_explicit(&b->held, false, memory_order_release);
    }
    pithp_biased_lock_wait(b);
}
static inline void pithp_biased_lock_release(pithp_biased_lock *b) {
    const bool shared =
        atomic_load_explicit(&b->owner, memory_order_relaxed) == PITHP_LOCK_SHARED;
    atomic_store_explicit(PITHP_UNLIKELY(shared) ? &b->locked : &b->held, false,
                          memory_order_release);
}

/* ---- Memory: the runtime's allocator, with its bytes counted ---- */

void *pithp_allocate(pith_runtime *rt,
                     size_t bytes); /* 16-byte aligned; NULL when short */
void *pithp_allocate_aligned(pith_runtime *rt, size_t bytes, size_t alignment);
void pithp_release(pith_runtime *rt, void *memory, size_t bytes);
void pithp_release_aligned(pith_runtime *rt,
                           void *memory,
                           size_t bytes,
                           size_t alignment);
/* Grow an array; NULL (and the old one untouched) when short. */
void *
pithp_reallocate(pith_runtime *rt, void *memory, size_t old_bytes, size_t new_bytes);
/* Bytes the runtime has allocated and not released. */
size_t pithp_bytes_allocated(const pith_runtime *rt);

static inline bool pithp_mul_overflows(size_t a, size_t b, size_t *product) {
    return __builtin_mul_overflow(a, b, product);
}
static inline bool pithp_add_overflows(size_t a, size_t b, size_t *sum) {
    return __builtin_add_overflow(a, b, sum);
}

/* ---- Objects ---- */

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
    const void *shape; /* interned: spec of an array, shape of a node */
} pithp_header;

_Static_assert(sizeof(pithp_header) == 16, "objects follow a 16-byte header");

static inline pithp_header *pithp_header_of(const void *object) {
    return (pithp_header *)((uintptr_t)object - sizeof(pithp_header));
}

/* ---- Blocks: where objects live, and how a pointer is known to be ours ---- */

#define PITHP_BLOCK_BYTES ((size_t)65536)

typedef enum pithp_block_state {
    PITHP_BLOCK_NONE, /* not memory of a runtime */
    PITHP_BLOCK_LIVE,
    PITHP_BLOCK_FREED, /* was freed with its scope; memory is still mapped */
} pithp_block_state;

/* First bytes of every region of one or more blocks. */
typedef struct pithp_block {
    pith_scope *owner; /* NULL: owned by the runtime or by the process */
    pith_runtime *runtime;
    struct pithp_block *next;
    size_t bytes; /* of the region; a multiple of PITHP_BLOCK_BYTES */
    uint64_t reserved[4];
} pithp_block;

_Static_assert(sizeof(pithp_block) == 64, "block headers keep their contents aligned");

/* Which region holds an address: a table over addresses of 48 bits with an entry a block,
 * which is 0 or (blocks back to the region's first + 1) << 1 | live. */
enum { PITHP_BLOCK_BITS = 16, PITHP_BLOCK_LEAF_BITS = 16, PITHP_BLOCK_TOP_BITS = 16 };
typedef struct pithp_block_leaf {
    _Atomic uint32_t entry[1 << PITHP_BLOCK_LEAF_BITS];
} pithp_block_leaf;
extern _Atomic(pithp_block_leaf *) pithp_block_table[1 << PITHP_BLOCK_TOP_BITS];

enum { PITHP_BLOCK_FIRST_LIVE = 1 << 1 | 1 }; /* entry of a live region's first block */

/* The entry of the block that holds an address. Lock-free; safe for any pointer value. */
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

/* The region that holds an address and its state, as safe. */
static inline pithp_block_state pithp_block_find(const void *address,
                                                 pithp_block **block) {
    const uintptr_t index = (uintptr_t)address >> PITHP_BLOCK_BITS;
    const uint32_t entry = pithp_block_entry(address);
    if (PITHP_UNLIKELY(!entry))
        return PITHP_BLOCK_NONE;
    *block = (pithp_block *)((index - ((entry >> 1) - 1)) << PITHP_BLOCK_BITS);
    return entry & 1 ? PITHP_BLOCK_LIVE : PITHP_BLOCK_FREED;
}
pithp_block *pithp_block_acquire(pith_runtime *rt, size_t bytes); /* NULL when short */
void pithp_block_free(pith_runtime *rt, pithp_block *block);
/* Memory for a while, not findable as objects: large pieces are regions, which are kept
 * and reused, so that work over large trees does not touch fresh pages each time.
 * Released with the same size. NULL when short. */
void *pithp_scratch_allocate(pith_runtime *rt, size_t bytes);
void pithp_scratch_release(pith_runtime *rt, void *memory, size_t bytes);
/* Blocks of the process, never freed: nil records and what else outlives every runtime.
 */
void *
pithp_permanent(size_t bytes); /* zeroed, 16-byte aligned, findable; NULL when short */

typedef enum pithp_pointer {
    PITHP_POINTER_OK,
    PITHP_POINTER_NULL,
    PITHP_POINTER_FOREIGN, /* not memory of any runtime: a stack struct, say */
    PITHP_POINTER_FREED,   /* its scope is closed */
    PITHP_POINTER_NO_OBJECT,
    PITHP_POINTER_DROPPED,
} pithp_pointer;

/* What a pointer that a user passed is, before anything of it is read. */
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
    /* Another thread may be closing it (an instance of the memory manager). */
    return __atomic_load_n(&h->kind, __ATOMIC_RELAXED) == PITHP_KIND_FREE
               ? PITHP_POINTER_DROPPED
               : PITHP_POINTER_OK;
}
/* Why a pointer is refused, for error messages: "not frozen or not an object", ... */
const char *pithp_pointer_text(pithp_pointer verdict);

/* ---- Rooms: what upper rooms hang on runtimes and scopes ---- */

typedef enum pithp_room {
    PITHP_ROOM_GPU,
    PITHP_ROOM_MEMORY, /* of a scope: the instance that its arrays are counted for */
    PITHP_ROOM_PROGRAM,
    PITHP_ROOM_ARRAY,
    PITHP_ROOM_TREE,
    PITHP_ROOM_CHECKPOINT,
    PITHP_ROOM_TRACE,
    PITHP_ROOM_ASSERT,
    PITHP_ROOM_RUN,
    PITHP_ROOM_COUNT
} pithp_room;

typedef struct pithp_room_hooks {
    /* A scope without a parent was opened. (optional) */
    void (*root_opened)(pith_scope *s);
    /* A scope is about to close; its objects still live. Called from the top room down.
     * (optional) */
    void (*scope_closing)(pith_scope *s);
    /* The user is about to clear the error of a scope. (optional) */
    void (*error_clearing)(pith_scope *s);
    /* The runtime is about to close; called from the top room down. (optional) */
    void (*runtime_closing)(pith_runtime *rt);
    /* Before that, with all scopes open: threads of the room come to their end.
     * (optional) */
    void (*threads_joining)(pith_runtime *rt);
} pithp_room_hooks;

/* Hang a room on a runtime, once; any thread, with scopes open. */
void pithp_room_hook(pith_runtime *rt, pithp_room room, const pithp_room_hooks *hooks);

/* ---- Errors ---- */

enum {
    PITHP_PATH_BYTES = 512,
    PITHP_MESSAGE_BYTES = 1024,
    PITHP_SITE_BYTES = 160,
    PITHP_EXCERPT_BYTES = 200
};

typedef struct pithp_error {
    pith_status code;
    /* Nothing is to be read of what follows where the code is PITH_OK. */
    char path[PITHP_PATH_BYTES];
    char
        message[PITHP_MESSAGE_BYTES]; /* "path: text (site)", one line, and the excerpt */
    char site[PITHP_SITE_BYTES];
    char excerpt[PITHP_EXCERPT_BYTES]; /* "", or two lines, each with a newline before it
                                        */
    char text[PITHP_MESSAGE_BYTES];    /* what the message is composed of */
} pithp_error;

/* Set the scope's error unless it has one; returns code, so that `return pithp_fail(...)`
 * reads well. path may be NULL. The text must not repeat the path. */
pith_status
pithp_fail(pith_scope *s, pith_status code, const char *path, const char *format, ...)
    PITH_FORMAT(4, 5);
/* The name of the function that the scope is in, which outlives it; `otherwise` if none
 * was entered. */
const char *pithp_function_of(const pith_scope *s, const char *otherwise);
/* As pithp_fail, for what many functions share: the text begins with the name of the one
 * that was entered, or where none was with `otherwise` (NULL: neither). */
pith_status pithp_fail_function(pith_scope *s,
                                pith_status code,
                                const char *otherwise,
                                const char *format,
                                ...) PITH_FORMAT(4, 5);
pith_status pithp_fail_v(pith_scope *s,
                         pith_status code,
                         const char *path,
                         const char *site,
                         const char *format,
                         va_list arguments) PITH_FORMAT(5, 0);
/* As pithp_fail, with the call site of an earlier call (a check that surfaces later). */
pith_status pithp_fail_at(pith_scope *s,
                          pith_status code,
                          const char *path,
                          const char *site,
                          const char *format,
                          ...) PITH_FORMAT(5, 6);
pith_status pithp_fail_memory(pith_scope *s, size_t bytes);
/* Fill an error record that belongs to no scope yet (a runtime's, a worker's). */
void pithp_error_set(pithp_error *e,
                     pith_status code,
                     const char *path,
                     const char *site,
                     const char *format,
                     ...) PITH_FORMAT(5, 6);
/* A call site without its folders, as errors show it. */
const char *pithp_site_name(const char *site);
/* An error of elsewhere, if there is one, becomes the scope's, unless it has one. */
pith_status pithp_fail_as(pith_scope *s, const pithp_error *e);
/* The same of the error of another scope, which has none then. */
void pithp_error_move(pith_scope *to, pith_scope *from);
/* Put a path segment in front of the path of the scope's error, as upper levels see more.
 */
void pithp_error_prefix(pith_scope *s, const char *segment);
/* Put what was being done in front of the text of the scope's error: "step 12: ...". */
void pithp_error_context(pith_scope *s, const char *format, ...) PITH_FORMAT(2, 3);
/* Formatted text as one line, with a cut marked. */
void pithp_line_print(char line[PITHP_MESSAGE_BYTES],
                      const char *format,
                      va_list arguments) PITH_FORMAT(2, 0);
/* Add two lines to the message of the scope's error: the part of a source text around a
 * byte of it, and a caret below that byte. An error that has them keeps its own. */
void pithp_error_point(pith_scope *s, const char *source, size_t at);

/* ---- Log (log.c) ---- */

void pithp_log(pith_runtime *rt, pith_log_level level, const char *format, ...)
    PITH_FORMAT(3, 4);
/* A message that the program asked for by pith_debug, of level debug: also the default
 * hook writes it, unless PITH_LOG has a level above that. */
void pithp_log_debug(pith_runtime *rt, const char *message);
bool pithp_log_takes_debug(const pith_runtime *rt);
/* Install the default hook, which writes to stderr what PITH_LOG asks for. */
void pithp_log_default(pith_runtime *rt);

/* ---- Runtime ---- */

struct pith_runtime {
    uint32_t magic;
    bool open;
    pith_allocator allocator;
    atomic_size_t bytes_allocated;
    pithp_biased_lock blocks; /* guards free single blocks, reused first in, first out: */
    pithp_block *cached_first; /* linked by next */
    pithp_block *cached_last;
    int cached_count;
    pthread_mutex_t lock; /* guards free regions, the scope list and spec insertion */
    pithp_block *region_first, *region_last; /* free regions of several, the same way */
    int region_count;
    size_t region_bytes; /* of those */
    pith_scope *scopes;  /* roots, linked by next_sibling */
    pith_log_hook log_hook;
    void *log_closure;
    bool silent_checks; /* checks of level always are seen by collectors alone */
    atomic_uint save_requests, stop_requests; /* made so far, see run/request.c */
    atomic_uint stops_taken;                  /* stop requests that some run has obeyed */
    atomic_uint saves_taken;
    _Atomic(struct pithp_spec_table *) specs;
    _Atomic(const pithp_room_hooks *) hooks[PITHP_ROOM_COUNT];
    atomic_uint told_opened, told_closing; /* a bit for each room with that hook */
    void *room[PITHP_ROOM_COUNT];
    atomic_bool failed; /* `error` is set and stays */
    pithp_error error;  /* why it could not be opened, or died */
};

/* allocator NULL: the C library's. Never NULL: a static runtime with its error set when
 * memory is short. */
pith_runtime *pithp_runtime_create(const pith_allocator *allocator);
void pithp_runtime_destroy(pith_runtime *rt); /* closes scopes, calls hooks, frees all */
bool pithp_runtime_valid(const pith_runtime *rt);
/* From here on every scope of the runtime fails with this reason; the first one stays. */
void pithp_runtime_fail(pith_runtime *rt, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);

/* ---- Scopes ---- */

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
    bool no_hooks;       /* hooks of records are suspended; in children too */
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

/* ---- dtypes ---- */

bool pithp_dtype_is_signed(pith_dtype dtype); /* a signed integer */
/* Write one element with that value: floats round to nearest even, integers saturate
 * (NaN: 0), bool is value != 0. Returns whether the element is exactly the value (any NaN
 * is, in a float). */
bool pithp_dtype_encode(pith_dtype dtype, double value, void *element);
/* The value of one element; i64 and u64 beyond 2^53 are rounded. */
double pithp_dtype_decode(pith_dtype dtype, const void *element);

/* ---- Specs ---- */

/* The one spec of that dtype and shape, or NULL with the scope's error set
 * (rank beyond 8, negative extent, bytes that overflow, no memory). */
const pith_spec *
pithp_spec(pith_scope *s, pith_dtype dtype, int rank, const int64_t *shape);
/* "f64[256,3]" */
enum { PITHP_SPEC_TEXT_BYTES = 192 };
const char *pithp_spec_print(const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]);
const char *
pithp_shape_print(int rank, const int64_t *shape, char text[PITHP_SPEC_TEXT_BYTES]);

/* ---- Text: a string buffer that grows, or remembers that it could not ---- */

typedef struct pithp_text {
    pith_runtime *rt;
    char *bytes; /* zero-terminated; never NULL */
    size_t length, room;
    bool failed; /* memory was short: the text is cut */
} pithp_text;

void pithp_text_begin(pithp_text *t, pith_runtime *rt);
void pithp_text_add(pithp_text *t, const char *text);
void pithp_text_add_n(pithp_text *t, const char *text, size_t n);
void pithp_text_print(pithp_text *t, const char *format, ...) PITH_FORMAT(2, 3);
/* As "%.*g", with a decimal point in every locale. */
void pithp_text_add_number(pithp_text *t, int digits, double value);
/* The number that an element is, so that it reads back as the same bits. */
void pithp_text_add_element(pithp_text *t, pith_dtype dtype, const void *element);
/* A string as JSON, in its quotes. */
void pithp_json_string(pithp_text *t, const char *text);
void pithp_text_end(pithp_text *t);

/* 64-bit hash of bytes, for tables in memory (FNV-1a folded by a finaliser; never written
 * to files). */
uint64_t pithp_hash(uint64_t seed, const void *bytes, size_t n);

#endif
