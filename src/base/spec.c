/* Specs: hash-consed dtype and shape, one table per runtime. Look-ups take no lock. A
 * spec lives as long as its runtime. */
#include "base/base_internal.h"
#include "base/private.h"

#include <stdio.h>
#include <string.h>

typedef struct pithp_spec_table {
    struct pithp_spec_table *older; /* kept for concurrent readers */
    size_t mask, count;
    _Atomic(const pith_spec *) slots[];
} pithp_spec_table;

enum { FIRST_SLOTS = 256 };

static uint64_t hash_of(const pithp_placed_spec *placed) {
    const pith_spec *key = &placed->spec;
    const uint64_t seed = (uint64_t)key->dtype * 31 + (uint64_t)key->rank;
    return pithp_hash(seed ^ (uintptr_t)placed->placement, key->shape,
                      (size_t)key->rank * sizeof key->shape[0]);
}

static bool same(const pith_spec *a, const pithp_placed_spec *placed) {
    const pith_spec *b = &placed->spec;
    return a->dtype == b->dtype && a->rank == b->rank &&
           pithp_placement_of(a) == placed->placement &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

static _Atomic(const pith_spec *) *
slot_of(pithp_spec_table *t, const pithp_placed_spec *key, uint64_t hash) {
    for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const pith_spec *found = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!found || same(found, key))
            return &t->slots[i];
    }
}

static size_t table_bytes(size_t slots) {
    return sizeof(pithp_spec_table) + slots * sizeof(_Atomic(const pith_spec *));
}

static pithp_spec_table *grown(pith_runtime *rt, pithp_spec_table *old) {
    const size_t slots = old ? 2 * (old->mask + 1) : FIRST_SLOTS;
    pithp_spec_table *t = pithp_allocate(rt, table_bytes(slots));
    if (!t)
        return NULL;
    memset(t, 0, table_bytes(slots));
    t->older = old;
    t->mask = slots - 1;
    for (size_t i = 0; old && i <= old->mask; i++) {
        const pith_spec *spec =
            atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (spec)
            atomic_store_explicit(
                slot_of(t, pithp_placed_of(spec), hash_of(pithp_placed_of(spec))), spec,
                memory_order_relaxed);
    }
    t->count = old ? old->count : 0;
    return t;
}

static const pith_spec *
insert(pith_runtime *rt, const pithp_placed_spec *key, uint64_t hash) {
    const pith_spec *found = NULL;
    pthread_mutex_lock(&rt->lock);
    pithp_spec_table *t = atomic_load_explicit(&rt->specs, memory_order_relaxed);
    if (!t || 2 * t->count > t->mask) {
        t = grown(rt, t);
        if (!t)
            goto out;
        atomic_store_explicit(&rt->specs, t, memory_order_release);
    }
    _Atomic(const pith_spec *) *slot = slot_of(t, key, hash);
    found = atomic_load_explicit(slot, memory_order_relaxed);
    if (found)
        goto out;
    pithp_placed_spec *made = pithp_allocate(rt, sizeof *made);
    if (!made)
        goto out;
    memset(made, 0, sizeof *made);
    made->placement = key->placement;
    memcpy(&made->spec, &key->spec,
           offsetof(pith_spec, shape) +
               (size_t)key->spec.rank * sizeof key->spec.shape[0]);
    t->count++;
    atomic_store_explicit(slot, &made->spec, memory_order_release);
    found = &made->spec;
out:
    pthread_mutex_unlock(&rt->lock);
    return found;
}

/* The interned spec of a key. NULL: the error is set. */
static const pith_spec *find_spec(pith_scope *s, const pithp_placed_spec *key) {
    const uint64_t hash = hash_of(key);
    pithp_spec_table *t = atomic_load_explicit(&s->runtime->specs, memory_order_acquire);
    const pith_spec *found =
        t ? atomic_load_explicit(slot_of(t, key, hash), memory_order_acquire) : NULL;
    if (!found)
        found = insert(s->runtime, key, hash);
    if (!found)
        pithp_fail_memory(s, sizeof *key);
    return found;
}

const pith_spec *
pithp_spec_placed(pith_scope *s, const pith_spec *spec, const pith_placement *placement) {
    const pithp_placed_spec key = {.placement = placement, .spec = *spec};
    return pithp_placement_of(spec) == placement ? spec : find_spec(s, &key);
}

const pith_spec *pithp_spec_within(pith_scope *s,
                                   pith_dtype dtype,
                                   int rank,
                                   const int64_t *shape,
                                   int max_rank) {
    if (pith_dtype_size(dtype) == 0) {
        pithp_fail_function(s, PITH_E_DTYPE, NULL, "invalid dtype %d", (int)dtype);
        return NULL;
    }
    if (rank < 0 || rank > max_rank) {
        pithp_fail_function(s, PITH_E_SHAPE, NULL, "rank %d, expected 0 to %d", rank,
                            max_rank);
        return NULL;
    }
    pithp_placed_spec key; /* the extents beyond the rank are not set */
    key.placement = NULL;
    key.spec.dtype = dtype;
    key.spec.rank = rank;
    key.spec.count = 1;
    key.spec.bytes = 0;
    size_t span = 1; /* product of the non-zero extents, so that an empty array cannot
                        hide an overflow */
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            pithp_fail_function(s, PITH_E_SHAPE, NULL,
                                "extent %lld of axis %d is negative", (long long)shape[i],
                                i);
            return NULL;
        }
        key.spec.shape[i] = shape[i];
        key.spec.count *= shape[i] ? 1 : 0;
        if (pithp_mul_overflows(span, shape[i] ? (size_t)shape[i] : 1, &span))
            span = SIZE_MAX;
    }
    size_t bytes;
    if (span == SIZE_MAX || pithp_mul_overflows(span, pith_dtype_size(dtype), &bytes) ||
        bytes > PTRDIFF_MAX) {
        char text[PITHP_SPEC_TEXT_BYTES];
        pithp_fail_function(s, PITH_E_OVERFLOW, NULL, "the size of %s%s overflows",
                            pith_dtype_name(dtype), pithp_shape_print(rank, shape, text));
        return NULL;
    }
    if (key.spec.count) {
        key.spec.count = (int64_t)span;
        key.spec.bytes = bytes;
    }
    return find_spec(s, &key);
}

void pithp_specs_free(pith_runtime *rt) {
    pithp_spec_table *t = atomic_load(&rt->specs);
    for (size_t i = 0; t && i <= t->mask; i++)
        if (atomic_load(&t->slots[i]))
            pithp_release(rt,
                          (void *)(uintptr_t)pithp_placed_of(atomic_load(&t->slots[i])),
                          sizeof(pithp_placed_spec));
    while (t) {
        pithp_spec_table *older = t->older;
        pithp_release(rt, t, table_bytes(t->mask + 1));
        t = older;
    }
    atomic_store(&rt->specs, NULL);
}

const char *
pithp_shape_print(int rank, const int64_t *shape, char text[PITHP_SPEC_TEXT_BYTES]) {
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < rank && n < PITHP_SPEC_TEXT_BYTES - 24; i++)
        n += (size_t)snprintf(text + n, PITHP_SPEC_TEXT_BYTES - n, "%s%lld", i ? "," : "",
                              (long long)shape[i]);
    text[n++] = ']';
    text[n] = 0;
    return text;
}

const char *pithp_spec_print(const pith_spec *spec, char text[PITHP_SPEC_TEXT_BYTES]) {
    char shape[PITHP_SPEC_TEXT_BYTES];
    snprintf(text, PITHP_SPEC_TEXT_BYTES, "%s%.180s", pith_dtype_name(spec->dtype),
             pithp_shape_print(spec->rank, spec->shape, shape));
    return text;
}

const char *pithp_leaf_print(const pith_spec *spec, char text[PITHP_LEAF_TEXT_BYTES]) {
    const pith_placement *p = pithp_placement_of(spec);
    pithp_spec_print(spec, text);
    const size_t n = strlen(text);
    if (p)
        snprintf(text + n, PITHP_LEAF_TEXT_BYTES - n, " sharded \"%s\"%s%s", p->axes,
                 p->rows[0] ? ", rows " : "", p->rows);
    return text;
}
