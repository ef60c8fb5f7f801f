/* Permutations of the ranks of a group, interned: programs compare them by address. */
#include "mesh/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(int64_t count) {
    return sizeof(pithp_mesh_pairs) + (size_t)count * sizeof(int64_t[2]);
}

void pithp_mesh_pairs_free(pith_runtime *rt, pithp_mesh_group *g) {
    while (g->pairs) {
        pithp_mesh_pairs *p = (pithp_mesh_pairs *)(uintptr_t)g->pairs;
        g->pairs = p->next;
        pithp_release(rt, p, bytes_of(p->count));
    }
}

static int compare_senders(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_rank(const pithp_mesh_group *g, int64_t rank) {
    return rank >= 0 && rank < g->size;
}

/* Set the error for pair k. */
static bool refuse(pith_scope *s, int64_t k, int side, int64_t rank, bool twice) {
    pithp_fail(s, PITH_E_ARG, NULL, "%s: pair %" PRId64 " %s rank %" PRId64 "%s",
               pithp_function_of(s, "pith_ppermute"), k, side ? "sends to" : "sends from",
               rank, twice ? " a second time" : ", which does not exist");
    return false;
}

/* Each number is a rank, at most once on a side. seen: 2 * size, false. */
static bool fit(pith_scope *s,
                const pithp_mesh_group *g,
                int64_t count,
                const int64_t (*from_to)[2],
                bool *seen) {
    for (int64_t k = 0; k < count; k++)
        for (int side = 0; side < 2; side++) {
            const int64_t rank = from_to[k][side];
            if (!is_rank(g, rank))
                return refuse(s, k, side, rank, false);
            if (seen[side * g->size + rank])
                return refuse(s, k, side, rank, true);
            seen[side * g->size + rank] = true;
        }
    return true;
}

static bool
check(pith_scope *s, const pithp_mesh_group *g, int64_t n, const int64_t (*from_to)[2]) {
    const size_t bytes = 2 * (size_t)g->size;
    bool *seen = pithp_allocate(s->runtime, bytes);
    if (!seen) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    memset(seen, 0, bytes);
    const bool fine = fit(s, g, n, from_to, seen);
    pithp_release(s->runtime, seen, bytes);
    return fine;
}

/* A copy in canonical order. NULL: error set. */
static pithp_mesh_pairs *
make(pith_scope *s, const pithp_mesh_group *g, int64_t n, const int64_t (*from_to)[2]) {
    pithp_mesh_pairs *p = pithp_allocate(s->runtime, bytes_of(n));
    if (!p) {
        pithp_fail_memory(s, bytes_of(n));
        return NULL;
    }
    *p = (pithp_mesh_pairs){.to = -1, .from = -1, .count = n};
    if (n) {
        memcpy(p->from_to, from_to, (size_t)n * sizeof *from_to);
        qsort(p->from_to, (size_t)n, sizeof *p->from_to, compare_senders);
    }
    for (int64_t k = 0; k < n; k++) {
        p->to = p->from_to[k][0] == g->rank ? p->from_to[k][1] : p->to;
        p->from = p->from_to[k][1] == g->rank ? p->from_to[k][0] : p->from;
    }
    return p;
}

/* The equal one of the group, or p itself, which then belongs to the group. */
static const pithp_mesh_pairs *
intern(pith_runtime *rt, pithp_mesh_group *g, pithp_mesh_pairs *p) {
    pthread_mutex_lock(&g->world->lock);
    const pithp_mesh_pairs *same = g->pairs;
    while (same && (same->count != p->count ||
                    memcmp(same->from_to, p->from_to,
                           (size_t)p->count * sizeof *p->from_to) != 0))
        same = same->next;
    if (!same) {
        p->next = g->pairs;
        g->pairs = p;
    }
    pthread_mutex_unlock(&g->world->lock);
    if (!same)
        return p;
    pithp_release(rt, p, bytes_of(p->count));
    return same;
}

const pithp_mesh_pairs *pithp_mesh_pairs_of(pith_scope *s,
                                            pithp_mesh_group *g,
                                            int64_t count,
                                            const int64_t (*from_to)[2]) {
    if (count < 0 || (count > 0 && !from_to)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %" PRId64 " pairs%s",
                   pithp_function_of(s, "pith_ppermute"), count,
                   count > 0 ? " at NULL" : "");
        return NULL;
    }
    pithp_mesh_pairs *p = check(s, g, count, from_to) ? make(s, g, count, from_to) : NULL;
    return p ? intern(s->runtime, g, p) : NULL;
}

/* The rank that `rank` sends to; -1: no rank. */
static int64_t shifted(const pithp_mesh_group *g, int64_t rank, int64_t by, bool wrap) {
    if (!wrap && (by >= g->size || by <= -g->size))
        return -1;
    const int64_t to = rank + by % g->size;
    return wrap ? (to + g->size) % g->size : is_rank(g, to) ? to : -1;
}

const pithp_mesh_pairs *
pithp_mesh_shift_of(pith_scope *s, pithp_mesh_group *g, int64_t by, bool wrap) {
    const size_t bytes = (size_t)g->size * sizeof(int64_t[2]);
    int64_t(*pairs)[2] = pithp_allocate(s->runtime, bytes);
    if (!pairs) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    int64_t count = 0;
    for (int64_t rank = 0; rank < g->size; rank++) {
        const int64_t to = shifted(g, rank, by, wrap);
        if (to < 0)
            continue;
        pairs[count][0] = rank;
        pairs[count++][1] = to;
    }
    pithp_mesh_pairs *p = make(s, g, count, (const int64_t(*)[2])pairs);
    pithp_release(s->runtime, pairs, bytes);
    return p ? intern(s->runtime, g, p) : NULL;
}

const pithp_mesh_pairs *
pithp_mesh_pairs_back(pith_scope *s, pithp_mesh_group *g, const pithp_mesh_pairs *pairs) {
    const size_t bytes = bytes_of(pairs->count);
    int64_t(*back)[2] = pithp_allocate(s->runtime, bytes);
    if (!back) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    for (int64_t k = 0; k < pairs->count; k++) {
        back[k][0] = pairs->from_to[k][1];
        back[k][1] = pairs->from_to[k][0];
    }
    pithp_mesh_pairs *p = make(s, g, pairs->count, (const int64_t(*)[2])back);
    pithp_release(s->runtime, back, bytes);
    return p ? intern(s->runtime, g, p) : NULL;
}
