/* Promotion of many leaves at once. They mostly lie contiguously in a few buffers, and
 * then need neither a walk nor a table entry each. */
#include "tree/node_internal.h"

enum { MOST_RUNS = 32 };

/* Consecutive leaves of the list that one scope holds in one buffer. */
typedef struct run {
    int64_t begin, count;
    const pithp_buffer *buffer;
} run;

static bool is_known(const run *runs, int count, const pithp_buffer *buffer) {
    int k = 0;
    while (k < count && runs[k].buffer != buffer)
        k++;
    return k < count;
}

/* End of the leaves from `begin` on that share the hold of the first. */
static int64_t
end_of_hold(int64_t begin, int64_t count, const pith_array *const *leaves) {
    const pithp_hold *hold = leaves[begin]->hold;
    while (++begin < count && leaves[begin]->hold == hold)
        ;
    return begin;
}

/* Whether each leaf of a run is concrete and occurs once. *bytes: their total, with the
 * alignment of a block. */
static bool are_apart(const run *r, const pith_array *const *leaves, size_t *bytes) {
    const pith_array *last = NULL;
    bool apart = true;
    *bytes = 0;
    for (int64_t k = r->begin; k < r->begin + r->count; k++) {
        apart &= leaves[k] > last && !pithp_header_of(leaves[k])->extra;
        *bytes += pithp_array_step(pithp_array_spec(leaves[k]));
        last = leaves[k];
    }
    return apart;
}

/* Find the runs of leaves that do not outlive s. Returns -1 if the general path is
 * needed, or if copying the elements is better. */
static int find_runs(const pith_scope *s,
                     int64_t count,
                     const pith_array *const *leaves,
                     run *runs) {
    int found = 0;
    for (int64_t k = 0, end; k < count; k = end) {
        if (pithp_array_is_traced(leaves[k]))
            return -1;
        end = end_of_hold(k, count, leaves);
        if (pithp_scope_reaches(s, pithp_owner_of(leaves[k])))
            continue;
        const run next = {k, end - k, pithp_array_buffer(leaves[k])};
        size_t bytes;
        if (found == MOST_RUNS || is_known(runs, found, next.buffer) ||
            !are_apart(&next, leaves, &bytes) || pithp_keep_copies(next.buffer, bytes))
            return -1;
        runs[found++] = next;
    }
    return found;
}

pith_status pithp_keep_leaves(pith_scope *s, int64_t count, const pith_array **leaves) {
    run runs[MOST_RUNS];
    const int found = find_runs(s, count, leaves, runs);
    if (found < 0)
        return pithp_keep_slots(s, count, (const void **)leaves);
    int done = 0;
    while (done < found &&
           pithp_arrays_view(s, runs[done].count, leaves + runs[done].begin,
                             leaves + runs[done].begin) == PITH_OK)
        done++;
    if (done == found)
        return PITH_OK;
    for (int k = 0; k < done; k++)
        for (int64_t i = 0; i < runs[k].count; i++)
            pithp_array_drop(s, leaves[runs[k].begin + i]);
    return s->error.code;
}
