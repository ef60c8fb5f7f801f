/* What ranks agree on in eager calls of functions over shards: before the call, and after
 * it. */
#include "pith/array_collective.h"

#include "trace/shard/mapping.h"
#include "tree/shard/shard.h"

#include <string.h>

bool pithp_mapping_begin(const pithp_mapping *x) {
    const pithp_intent intent = {
        .operation = "pith_shard_map", .what = x->name, .extra = x->digest};
    if (!x->agrees)
        return x->s->error.code == PITH_OK;
    if (!pithp_collective_begin(x->s, &intent))
        return false;
    pithp_collective_end(x->s);
    return true;
}

void pithp_mapping_compare(const pithp_mapping *x, const void *const *given, int count) {
    for (int i = 0; x->agrees && !x->outer && pithp_ranks_compare(x->s) && i < count; i++)
        pithp_tree_compare(x->s, x->name, given[i]);
}

/* ---- The end ---- */

/* What ranks tell each other at the end of an eager call. */
typedef struct ending {
    int64_t digest;  /* of the results that are called replicated */
    int64_t refused; /* 1: a gradient was refused */
} ending;

static pith_status
compare_endings(pith_scope *s, const pithp_mapping *x, const ending *all, size_t count) {
    for (size_t r = 1; r < count; r++) {
        if (all[r].refused != all[0].refused)
            return pithp_fail(s, PITH_E_DIVERGED, NULL,
                              "%s: some ranks along %s take a gradient in it, and others "
                              "do not",
                              x->name, x->axes);
        if (all[r].digest != all[0].digest)
            return pithp_fail(
                s, PITH_E_ARG, NULL,
                "%s: its specs call results replicated along %s, but their "
                "elements differ between ranks: sum them with pith_psum, or "
                "shard them",
                x->name, x->axes);
    }
    return PITH_OK;
}

pith_status pithp_mapping_agree(const pithp_mapping *x, uint64_t digest, bool refused) {
    pith_scope *s = x->s;
    pith_scope *w = s->error.code == PITH_OK ? pithp_temporaries_open(s) : NULL;
    pith_scope *in = w ? w : s; /* a failed scope takes part, too */
    ending own = {.refused = refused};
    if (!refused)
        memcpy(&own.digest, &digest, sizeof digest);
    const pith_array *number =
        w ? pith_array_copy(w, PITH_I64, PITH_SHAPE(2), &own) : NULL;
    const pith_array *all = pith_all_stack(in, number, x->axes);
    const size_t bytes = all ? pithp_array_spec(all)->bytes : 0;
    ending *endings = all ? pithp_scope_allocate(in, bytes) : NULL;
    if (endings && pith_read(in, all, endings, bytes))
        compare_endings(in, x, endings, bytes / sizeof *endings);
    if (w)
        pith_scope_close(w);
    return s->error.code;
}
