/* Arena allocator: one allocation of device memory, divided into blocks. Best fit, with
 * the lowest address among equals; free neighbours are coalesced immediately. All
 * bookkeeping is in host memory.
 *
 * A free block records the stream of the last work that used it. Another stream that
 * takes it waits for that stream; the host does not wait. */
#include "gpu/device.h"
#include "gpu/memory/allocator.h"

#include <stdlib.h>

enum { EVERY_BIN = 64 };

typedef struct block {
    size_t offset, bytes;
    bool free;
    bool several;                 /* work of several streams used it */
    pithp_stream *stream;         /* of a free block, unless several; NULL: never used */
    struct block *lower, *higher; /* neighbours */
    struct block *previous_free, *next_free; /* in its bin, or in the spare list */
    struct block *next_in_table;
} block;

struct pithp_memory_arena {
    pithp_device *device;
    char *data;
    size_t bytes;
    pthread_mutex_t lock;
    block *bins[EVERY_BIN];   /* free blocks by log2 of their bytes */
    block *first;             /* at offset 0 */
    block **table;            /* hash table of blocks in use, by offset */
    size_t table_size, taken; /* taken: bytes */
};

static int bin_of(size_t bytes) {
    return 63 - __builtin_clzll((unsigned long long)(bytes | 1));
}

/* ---- Bins ---- */

static void put_in_bin(pithp_memory_arena *a, block *p) {
    block **bin = &a->bins[bin_of(p->bytes)];
    p->free = true;
    p->previous_free = NULL;
    p->next_free = *bin;
    if (*bin)
        (*bin)->previous_free = p;
    *bin = p;
}

static void take_from_bin(pithp_memory_arena *a, block *p) {
    if (p->previous_free)
        p->previous_free->next_free = p->next_free;
    else
        a->bins[bin_of(p->bytes)] = p->next_free;
    if (p->next_free)
        p->next_free->previous_free = p->previous_free;
    p->free = false;
}

/* Best fit: the smallest sufficient block; among equals, the lowest offset. */
static block *best_fit(const pithp_memory_arena *a, size_t bytes) {
    block *best = NULL;
    for (int bin = bin_of(bytes); bin < EVERY_BIN && !best; bin++)
        for (block *p = a->bins[bin]; p; p = p->next_free)
            if (p->bytes >= bytes &&
                (!best || p->bytes < best->bytes ||
                 (p->bytes == best->bytes && p->offset < best->offset)))
                best = p;
    return best;
}

static size_t largest(const pithp_memory_arena *a) {
    size_t most = 0;
    for (int bin = EVERY_BIN - 1; bin >= 0 && !most; bin--)
        for (const block *p = a->bins[bin]; p; p = p->next_free)
            most = p->bytes > most ? p->bytes : most;
    return most;
}

/* ---- Hash table of blocks in use, by offset ---- */

static block **bucket_of(const pithp_memory_arena *a, size_t offset) {
    const uint64_t hash = (uint64_t)(offset / PITHP_ALIGNMENT) * 0x9e3779b97f4a7c15u;
    return &a->table[(hash >> 32) % a->table_size];
}

static void enter(pithp_memory_arena *a, block *p) {
    block **at = bucket_of(a, p->offset);
    p->next_in_table = *at;
    *at = p;
    a->taken += p->bytes;
}

static block *leave(pithp_memory_arena *a, size_t offset) {
    block **at = bucket_of(a, offset);
    while (*at && (*at)->offset != offset)
        at = &(*at)->next_in_table;
    block *p = *at;
    if (p) {
        *at = p->next_in_table;
        a->taken -= p->bytes;
    }
    return p;
}

/* ---- Creation ---- */

pithp_memory_arena *
pithp_memory_arena_make(pithp_device *d, size_t bytes, pithp_error *e) {
    enum { TABLE = 4096 };
    bytes = bytes / PITHP_ALIGNMENT * PITHP_ALIGNMENT;
    pithp_memory_arena *a = pithp_allocate(d->runtime, sizeof *a);
    block *whole = pithp_allocate(d->runtime, sizeof *whole);
    block **table = pithp_allocate(d->runtime, TABLE * sizeof(block *));
    char *data = bytes && a && whole && table ? pithp_plain_take(d, bytes, e) : NULL;
    if (data) {
        *a = (pithp_memory_arena){.device = d,
                                  .data = data,
                                  .bytes = bytes,
                                  .table = table,
                                  .table_size = TABLE};
        if (pthread_mutex_init(&a->lock, NULL) == 0) {
            for (size_t i = 0; i < TABLE; i++)
                table[i] = NULL;
            *whole = (block){.bytes = bytes};
            a->first = whole;
            put_in_bin(a, whole);
            return a;
        }
        pithp_plain_give(d, data, bytes);
    }
    if (!data && bytes && a && whole && table)
        ; /* e has the reason */
    else
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "no room for an arena of %zu bytes",
                        bytes);
    if (a)
        pithp_release(d->runtime, a, sizeof *a);
    if (whole)
        pithp_release(d->runtime, whole, sizeof *whole);
    if (table)
        pithp_release(d->runtime, table, TABLE * sizeof(block *));
    return NULL;
}

void pithp_memory_arena_free(pithp_memory_arena *a) {
    pithp_device *d = a->device;
    while (a->first) {
        block *p = a->first;
        a->first = p->higher;
        pithp_release(d->runtime, p, sizeof *p);
    }
    pithp_plain_give(d, a->data, a->bytes);
    pthread_mutex_destroy(&a->lock);
    pithp_release(d->runtime, a->table, a->table_size * sizeof *a->table);
    pithp_release(d->runtime, a, sizeof *a);
}

/* ---- Allocation ---- */

/* Split a block; the rest becomes free. Returns false if host memory is short. */
static bool cut(pithp_memory_arena *a, block *p, size_t bytes) {
    if (p->bytes == bytes)
        return true;
    block *rest = pithp_allocate(a->device->runtime, sizeof *rest);
    if (!rest)
        return false;
    *rest = (block){.offset = p->offset + bytes,
                    .bytes = p->bytes - bytes,
                    .several = p->several,
                    .stream = p->stream,
                    .lower = p,
                    .higher = p->higher};
    if (rest->higher)
        rest->higher->lower = rest;
    p->higher = rest;
    p->bytes = bytes;
    put_in_bin(a, rest);
    return true;
}

/* Order work of st after the work that used the block. */
static pith_status order(pithp_stream *st, const block *p, pithp_error *e) {
    pithp_device *d = st->device;
    pith_status rc = PITH_OK;
    if (!p->several)
        return p->stream && p->stream != st ? d->backend->wait_for(st, p->stream, e)
                                            : PITH_OK;
    for (pithp_stream *other = pithp_streams_first(d); other && rc == PITH_OK;
         other = other->next)
        if (other != st)
            rc = d->backend->wait_for(st, other, e);
    return rc;
}

void *pithp_memory_arena_take(pithp_memory_arena *a,
                              pithp_stream *st,
                              size_t bytes,
                              pithp_error *e) {
    const size_t units = bytes ? (bytes + PITHP_ALIGNMENT - 1) / PITHP_ALIGNMENT : 1,
                 room = units * PITHP_ALIGNMENT;
    pthread_mutex_lock(&a->lock);
    block *p = room <= a->bytes ? best_fit(a, room) : NULL;
    const size_t most = p ? 0 : largest(a);
    if (p) {
        take_from_bin(a, p);
        if (cut(a, p, room)) {
            enter(a, p);
        } else {
            put_in_bin(a, p);
            p = NULL;
        }
    }
    pthread_mutex_unlock(&a->lock);
    if (!p) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes requested, and the largest free "
                        "block of the arena of %zu has %zu",
                        room, a->bytes, most);
        return NULL;
    }
    if (order(st, p, e) == PITH_OK)
        return a->data + p->offset;
    pithp_memory_arena_give(a, st, a->data + p->offset);
    return NULL;
}

/* ---- Release ---- */

/* Merge the higher block into the lower one. */
static block *join(pithp_memory_arena *a, block *lower, block *higher) {
    lower->bytes += higher->bytes;
    if (higher->several || (higher->stream && lower->stream != higher->stream)) {
        lower->several = lower->several || higher->several || lower->stream;
        lower->stream = lower->several ? NULL : higher->stream;
    }
    lower->higher = higher->higher;
    if (lower->higher)
        lower->higher->lower = lower;
    pithp_release(a->device->runtime, higher, sizeof *higher);
    return lower;
}

void pithp_memory_arena_give(pithp_memory_arena *a, pithp_stream *st, void *data) {
    pthread_mutex_lock(&a->lock);
    block *p = leave(a, (size_t)((char *)data - a->data));
    PITH_ASSERT(p);
    p->several = false;
    p->stream = st;
    if (p->higher && p->higher->free) {
        take_from_bin(a, p->higher);
        p = join(a, p, p->higher);
    }
    if (p->lower && p->lower->free) {
        take_from_bin(a, p->lower);
        p = join(a, p->lower, p);
    }
    put_in_bin(a, p);
    pthread_mutex_unlock(&a->lock);
}

size_t pithp_memory_arena_left(pithp_memory_arena *a) {
    pthread_mutex_lock(&a->lock);
    const size_t left = a->bytes - a->taken;
    pthread_mutex_unlock(&a->lock);
    return left;
}
