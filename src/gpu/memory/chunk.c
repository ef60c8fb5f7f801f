/* Chunk planning: how many runs of a group's requests fit into the available memory. */
#include "gpu/memory/request.h"
#include "gpu/memory/size_class.h"

#include <stdio.h>

/* ---- Memory of requests ---- */

/* Size as the device allocates it. */
static size_t room_of(size_t bytes) {
    size_t room = (bytes + PITHP_ALIGNMENT - 1) / PITHP_ALIGNMENT * PITHP_ALIGNMENT;
    if (bytes <= PITHP_CACHED_MOST)
        pithp_class_of(bytes, &room);
    return room;
}

/* Device memory of an instance's requests (NULL: of all) in chunks of that length; -1: of
 * the unchunked requests only. Saturates at SIZE_MAX. */
static size_t need(const pithp_request *first, const pith_instance *of, int64_t length) {
    size_t sum = 0;
    for (const pithp_request *r = first; r; r = r->next) {
        const bool whole = r->asked.chunk_axis < 0;
        if (r->asked.memory != PITH_MEMORY_DEVICE || (of && r->instance != of) ||
            (length < 0 && !whole))
            continue;
        if (pithp_add_overflows(sum, room_of(pithp_request_bytes(r, length)), &sum))
            return SIZE_MAX;
    }
    return sum;
}

static size_t left_of_cap(const pith_instance *i) {
    const pithp_account now = pithp_account_read(i->device, &i->account);
    const size_t owned = now.owned > i->replaced ? now.owned - i->replaced : 0;
    return owned < now.cap ? now.cap - owned : 0;
}

/* The bytes charged to an instance, without rounding. */
static size_t
charge_of(const pithp_request *first, const pith_instance *i, int64_t length) {
    size_t sum = 0;
    for (const pithp_request *r = first; r; r = r->next)
        if (r->instance == i && r->asked.memory == PITH_MEMORY_DEVICE)
            sum += pithp_request_bytes(r, length);
    return sum;
}

static bool fits(const pithp_request *first, pithp_budget budget, int64_t length) {
    if (need(first, NULL, length) > budget.available)
        return false;
    for (const pithp_request *r = first; r && budget.capped; r = r->next)
        if (r->instance &&
            charge_of(first, r->instance, length) > left_of_cap(r->instance))
            return false;
    return true;
}

/* ---- The plan ---- */

/* The common number of runs of all chunked requests; -1 if they differ, with the reason
 * in why. */
static int64_t common_runs(const pithp_request *first, char why[512]) {
    const pithp_request *one = NULL;
    for (const pithp_request *r = first; r; r = r->next) {
        if (r->asked.chunk_axis < 0)
            continue;
        if (one && one->runs != r->runs) {
            snprintf(why, 512, "\"%s\" has %lld runs and \"%s\" %lld", one->label,
                     (long long)one->runs, r->label, (long long)r->runs);
            return -1;
        }
        one = r;
    }
    return one ? one->runs : 0;
}

static int64_t longest(const pithp_request *first, pithp_budget budget, int64_t runs) {
    int64_t fitting = 0, too_long = runs;
    while (too_long - fitting > 1) {
        const int64_t middle = fitting + (too_long - fitting) / 2;
        if (fits(first, budget, middle))
            fitting = middle;
        else
            too_long = middle;
    }
    return fitting;
}

pith_chunks pithp_chunks_of(int64_t runs, int64_t most) {
    const int64_t count = (runs + most - 1) / most;
    const int64_t length = (runs + count - 1) / count;
    return (pith_chunks){runs, (runs + length - 1) / length, length};
}

bool pithp_chunks_plan(const pithp_request *first,
                       const char *group,
                       pithp_budget budget,
                       pith_chunks *chunks,
                       pithp_warnings *w,
                       pith_status *code,
                       char why[512]) {
    const int64_t runs = common_runs(first, why);
    *code = PITH_E_ARG;
    if (runs < 0)
        return false;
    const size_t all = need(first, NULL, runs);
    if (budget.available < SIZE_MAX / 20 && all > 20 * budget.available)
        pithp_warning_add(w, PITH_WARNING_MANY_CHUNKS,
                          "group \"%s\" requests %zu bytes, more than 20 times the "
                          "available %zu",
                          group, all, budget.available);
    *chunks = (pith_chunks){runs, 1, runs};
    if (fits(first, budget, runs))
        return true;
    const int64_t most = runs > 1 ? longest(first, budget, runs) : 0;
    if (most > 0) {
        *chunks = pithp_chunks_of(runs, most);
        return true;
    }
    const size_t whole = need(first, NULL, -1);
    snprintf(why, 512,
             "group \"%s\" has %zu bytes available%s: requests without "
             "chunks take %zu, one run %zu",
             group, budget.available,
             budget.capped ? ", limited by the caps of its instances" : "", whole,
             need(first, NULL, runs > 0 ? 1 : 0) - whole);
    *code = PITH_E_MEMORY;
    return false;
}

int64_t pith_chunk_runs(pith_chunks chunks, int64_t chunk) {
    if (chunk < 0 || chunk >= chunks.count || chunks.length < 0)
        return 0;
    int64_t begin;
    if (__builtin_mul_overflow(chunk, chunks.length, &begin) || begin > chunks.runs)
        return 0;
    const int64_t left = chunks.runs - begin;
    return left < chunks.length ? left : chunks.length;
}
