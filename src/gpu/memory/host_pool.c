/* Host memory pool: device memory of the host backend. Small blocks are cut from chunks,
 * which stay until the pool closes. Larger blocks are allocated one by one, the largest
 * aligned for huge pages, and cached when freed: touching fresh pages costs more than
 * most kernels. The cache is bounded by the peak use and evicts the oldest block
 * first. */
#include "gpu/memory/host_pool.h"

#include "gpu/memory/poison.h"
#include "gpu/memory/size_class.h"

#include <string.h>
#include <sys/mman.h>

#define SMALL_MOST  ((size_t)65536)
#define CHUNK_BYTES ((size_t)1 << 20)
#define PAGE_BYTES  ((size_t)4096)
#define HUGE_BYTES  ((size_t)2 << 20)
/* Bytes that may be cached in any case, including those in the buffer cache. */
#define KEPT_LEAST ((size_t)256 << 20)

/* Header in the first bytes of a free block. */
typedef struct free_block {
    struct free_block *next, *previous; /* in its class */
    struct free_block *newer, *older;   /* LRU list of all free large blocks */
    int class;
    size_t room;
} free_block;

typedef struct chunk {
    struct chunk *next;
} chunk;

struct pithp_host_pool {
    pith_runtime *runtime;
    pthread_mutex_t lock;
    chunk *chunks;
    char *cursor, *limit; /* free range of the newest chunk */
    size_t reserved;      /* bytes from the allocator */
    size_t kept;          /* of those, in free large blocks */
    size_t used, peak;    /* in large blocks in use, and its peak */
    size_t keep;          /* the user's limit of cached bytes */
    size_t taken,
        most; /* requested bytes in units of the alignment; limit of taken + kept */
    free_block *newest, *oldest;
    free_block *classes[PITHP_CLASS_COUNT];
};

pithp_host_pool *pithp_host_pool_make(pith_runtime *rt, size_t most) {
    pithp_host_pool *p = pithp_allocate(rt, sizeof *p);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
    p->runtime = rt;
    p->most = most;
    p->keep = SIZE_MAX;
    if (pthread_mutex_init(&p->lock, NULL) == 0)
        return p;
    pithp_release(rt, p, sizeof *p);
    return NULL;
}

/* ---- Large blocks ---- */

static size_t alignment_of(size_t room) {
    return room >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES;
}

static void *allocate_large(pithp_host_pool *p, size_t room) {
    void *data = pithp_allocate_aligned(p->runtime, room, alignment_of(room));
    if (!data)
        return NULL;
    if (room >= HUGE_BYTES) /* a hint: small pages also work */
        (void)madvise(data, room / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
    p->reserved += room;
    return data;
}

static void unlink_large(pithp_host_pool *p, free_block *b) {
    if (b->previous)
        b->previous->next = b->next;
    else
        p->classes[b->class] = b->next;
    if (b->next)
        b->next->previous = b->previous;
    if (b->newer)
        b->newer->older = b->older;
    else
        p->newest = b->older;
    if (b->older)
        b->older->newer = b->newer;
    else
        p->oldest = b->newer;
    p->kept -= b->room;
}

static void keep_large(pithp_host_pool *p, void *data, int class, size_t room) {
    free_block *b = data;
    *b = (free_block){
        .next = p->classes[class], .older = p->newest, .class = class, .room = room};
    if (b->next)
        b->next->previous = b;
    p->classes[class] = b;
    if (b->older)
        b->older->newer = b;
    else
        p->oldest = b;
    p->newest = b;
    p->kept += room;
}

static void shrink(pithp_host_pool *p, size_t most) {
    while (p->kept > most) {
        free_block *b = p->oldest;
        const size_t room = b->room;
        unlink_large(p, b);
        pithp_unpoison(b, room);
        pithp_release_aligned(p->runtime, b, room, alignment_of(room));
        p->reserved -= room;
    }
}

/* Whether the limit allows this many more bytes from the system. */
static bool has_left(const pithp_host_pool *p, size_t bytes) {
    return bytes <= p->most && p->taken + p->kept <= p->most - bytes;
}

static void *take_large(pithp_host_pool *p, int class, size_t room, size_t bytes) {
    free_block *b = p->classes[class];
    if (b)
        unlink_large(p, b);
    else if (!has_left(p, bytes))
        return NULL;
    void *data = b ? b : allocate_large(p, room);
    if (!data) {
        shrink(p, 0);
        data = allocate_large(p, room);
    }
    if (!data)
        return NULL;
    p->used += room;
    if (p->used > p->peak)
        p->peak = p->used;
    return data;
}

static void give_large(pithp_host_pool *p, void *data, int class, size_t room) {
    p->used -= room;
    keep_large(p, data, class, room);
    const size_t most = (p->peak > KEPT_LEAST ? p->peak : KEPT_LEAST) -
                        PITHP_CACHED_LARGE_MOST,
                 left = p->most > p->taken ? p->most - p->taken : 0;
    const size_t kept = most < left ? most : left;
    shrink(p, kept < p->keep ? kept : p->keep);
}

/* ---- Small blocks ---- */

static void *take_small(pithp_host_pool *p, int class, size_t room) {
    free_block *b = p->classes[class];
    if (b) {
        p->classes[class] = b->next;
        return b;
    }
    if (!has_left(p, room))
        return NULL;
    if ((size_t)(p->limit - p->cursor) < room) {
        chunk *made =
            pithp_allocate_aligned(p->runtime, CHUNK_BYTES + PAGE_BYTES, PAGE_BYTES);
        if (!made)
            return NULL;
        made->next = p->chunks;
        p->chunks = made;
        p->reserved += CHUNK_BYTES + PAGE_BYTES;
        p->cursor = (char *)made + PAGE_BYTES;
        p->limit = p->cursor + CHUNK_BYTES;
        pithp_poison(p->cursor, CHUNK_BYTES);
    }
    void *data = p->cursor;
    p->cursor += room;
    return data;
}

static void give_small(pithp_host_pool *p, void *data, int class) {
    free_block *b = data;
    b->next = p->classes[class];
    p->classes[class] = b;
}

/* ---- All blocks ---- */

static size_t units_of(size_t bytes) {
    return (bytes + PITHP_ALIGNMENT - 1) / PITHP_ALIGNMENT * PITHP_ALIGNMENT;
}

void *pithp_host_pool_take(pithp_host_pool *p, size_t bytes) {
    size_t room;
    if (bytes > PITHP_CLASS_MOST)
        return NULL;
    const int class = pithp_class_of(bytes, &room);
    const size_t units = units_of(bytes);
    pthread_mutex_lock(&p->lock);
    void *data = room <= SMALL_MOST ? take_small(p, class, room)
                                    : take_large(p, class, room, units);
    if (data)
        p->taken += units;
    pthread_mutex_unlock(&p->lock);
    if (data) {
        pithp_unpoison(data, bytes);
        pithp_poison((char *)data + bytes, room - bytes);
    }
    return data;
}

bool pithp_host_pool_has(pithp_host_pool *p, size_t bytes) {
    size_t room;
    if (bytes > PITHP_CLASS_MOST)
        return false;
    const int class = pithp_class_of(bytes, &room);
    pthread_mutex_lock(&p->lock);
    const bool has = p->classes[class] != NULL;
    pthread_mutex_unlock(&p->lock);
    return has;
}

void pithp_host_pool_give(pithp_host_pool *p, void *data, size_t bytes) {
    size_t room;
    const int class = pithp_class_of(bytes, &room);
    /* Poison the block, except for its free-list links. */
    pithp_unpoison(data, sizeof(free_block));
    pithp_poison((char *)data + sizeof(free_block), room - sizeof(free_block));
    pthread_mutex_lock(&p->lock);
    p->taken -= units_of(bytes);
    if (room <= SMALL_MOST)
        give_small(p, data, class);
    else
        give_large(p, data, class, room);
    pthread_mutex_unlock(&p->lock);
}

void pithp_host_pool_set_keep(pithp_host_pool *p, size_t keep) {
    pthread_mutex_lock(&p->lock);
    p->keep = keep;
    if (p->kept > keep)
        shrink(p, keep);
    pthread_mutex_unlock(&p->lock);
}

void pithp_host_pool_trim(pithp_host_pool *p) {
    pthread_mutex_lock(&p->lock);
    shrink(p, 0);
    pthread_mutex_unlock(&p->lock);
}

size_t pithp_host_pool_reserved(pithp_host_pool *p) {
    pthread_mutex_lock(&p->lock);
    const size_t reserved = p->reserved;
    pthread_mutex_unlock(&p->lock);
    return reserved;
}

size_t pithp_host_pool_held(pithp_host_pool *p) {
    pthread_mutex_lock(&p->lock);
    const size_t held = p->taken + p->kept;
    pthread_mutex_unlock(&p->lock);
    return held;
}

void pithp_host_pool_free(pithp_host_pool *p) {
    PITH_ASSERT(p->used == 0);
    shrink(p, 0);
    while (p->chunks) {
        chunk *c = p->chunks;
        p->chunks = c->next;
        pithp_unpoison(c, CHUNK_BYTES + PAGE_BYTES);
        pithp_release_aligned(p->runtime, c, CHUNK_BYTES + PAGE_BYTES, PAGE_BYTES);
    }
    pthread_mutex_destroy(&p->lock);
    pithp_release(p->runtime, p, sizeof *p);
}
