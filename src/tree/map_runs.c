/* Runs of a map by expression: leaves that are contiguous in every tree and in the
 * result, with short gaps, form one run. A tree in one block is one run. A tree made leaf
 * by leaf is one run per block of its scope. */
#include "tree/map_runs.h"

#include <string.h>

static const char *const function = "pith_tree_map_expression";

typedef struct finding {
    pith_scope *s;
    const pithp_structure *structure;
    pithp_map_runs *runs;
    int trees;
    const pith_array *const *results;
    const pith_array *const *leaves[PITHP_MAP_TREES]; /* of each tree */
    /* Of the leaves inspected last: */
    const pith_spec *specs[PITHP_MAP_TREES];
    const pithp_hold *holds[PITHP_MAP_TREES]; /* on their buffers */
    size_t steps[PITHP_MAP_TREES];            /* bytes from a leaf to the next in a run */
    size_t step;                              /* the same in the result */
    uint8_t scalar;                           /* as in their loop */
    int64_t loop, count;
    int64_t gap; /* elements after the leaf that a run may include */
    bool moved;  /* a leaf is in another buffer than the leaf before it */
} finding;

/* ---- Checks of leaves ---- */

static pith_status check_leaf(const finding *c, int tree, int64_t i) {
    const pith_status rc = pithp_array_check(c->s, c->leaves[tree][i], function, "leaf");
    if (rc != PITH_OK)
        pithp_item_prefix(c->s, c->structure, i);
    return rc;
}

pith_status pithp_map_check_shape(pith_scope *s,
                                  const pithp_structure *t,
                                  int64_t i,
                                  int tree,
                                  const pith_spec *first,
                                  const pith_spec *spec) {
    if (spec == first || spec->rank == 0 ||
        (spec->rank == first->rank &&
         memcmp(spec->shape, first->shape, (size_t)spec->rank * sizeof *spec->shape) ==
             0))
        return PITH_OK;
    char a[PITHP_SPEC_TEXT_BYTES], b[PITHP_SPEC_TEXT_BYTES];
    return pithp_item_fail(s, t, i, PITH_E_SHAPE, "expected shape %s, got %s in tree %d",
                           pithp_shape_print(first->rank, first->shape, a),
                           pithp_shape_print(spec->rank, spec->shape, b), tree);
}

/* The loop number for these dtypes and scalars; a new combination gets a new number. */
static void find_loop(finding *c, int64_t i) {
    pithp_map_runs *runs = c->runs;
    pithp_map_loop loop = {.scalar = c->scalar};
    for (int k = 0; k < c->trees; k++)
        loop.dtypes[k] = (uint8_t)c->specs[k]->dtype;
    for (c->loop = 0; c->loop < runs->loop_count; c->loop++)
        if (memcmp(&runs->loops[c->loop], &loop, sizeof loop) == 0)
            return;
    if (c->loop == PITHP_MAP_LOOPS) {
        runs->too_many = true;
        c->loop = 0;
        return;
    }
    runs->loops[runs->loop_count] = loop;
    runs->items[runs->loop_count++] = i;
}

/* Distances between leaves of these specs in a run: as in a block of pithp_arrays_make if
 * the gaps are short, else without gaps. */
static void take_steps(finding *c) {
    const pith_spec *first = c->specs[0];
    const size_t size = pith_dtype_size(first->dtype);
    c->count = first->count;
    c->gap = (int64_t)((pithp_array_step(first) - first->bytes) / size);
    if (!pithp_array_shares(first) || c->gap > c->count / 4)
        c->gap = 0;
    c->step = (size_t)(c->count + c->gap) * size;
    c->scalar = 0;
    for (int k = 0; k < c->trees; k++) {
        const bool scalar = c->specs[k]->rank == 0 && first->rank > 0;
        c->steps[k] = (size_t)(c->count + c->gap) * pith_dtype_size(c->specs[k]->dtype);
        if (scalar)
            c->steps[k] = 0;
        c->scalar |= (uint8_t)(scalar << k);
    }
}

/* Inspect leaves that differ from those before: other specs, other buffers, or not
 * readable. */
static pith_status inspect(finding *c, int64_t i) {
    bool same = true;
    c->moved = false;
    for (int k = 0; k < c->trees; k++) {
        const pith_array *leaf = c->leaves[k][i];
        const pithp_header *h = pithp_header_of(leaf);
        pith_status rc = PITH_OK;
        if (leaf->hold != c->holds[k] || h->extra || h->flags) {
            rc = check_leaf(c, k, i);
            c->moved = true;
        }
        c->holds[k] = leaf->hold;
        if (h->descriptor != c->specs[k]) {
            c->specs[k] = h->descriptor;
            same = false;
        }
        if (rc != PITH_OK)
            return rc;
    }
    if (same)
        return PITH_OK;
    for (int k = 1; k < c->trees; k++) {
        const pith_status rc =
            pithp_map_check_shape(c->s, c->structure, i, k, c->specs[0], c->specs[k]);
        if (rc != PITH_OK)
            return rc;
    }
    take_steps(c);
    find_loop(c, i);
    return PITH_OK;
}

/* ---- Runs ---- */

/* Begin a run with the leaves of an item. */
static void begin_run(finding *c, int64_t i) {
    pithp_map_run *run = &c->runs->list[c->runs->count++];
    run->loop = c->loop;
    run->count = 0;
    run->at[0] = c->results[i]->data;
    for (int k = 0; k < c->trees; k++)
        run->at[k + 1] = c->leaves[k][i]->data;
}

/* Whether the leaves of an item have the properties of the leaves inspected last. *data:
 * where they lie. */
static inline __attribute__((always_inline)) bool
matches_last(const finding *c, const int trees, int64_t i, const char **data) {
    bool same = true;
    for (int k = 0; k < trees; k++) {
        const pith_array *leaf = c->leaves[k][i];
        const pithp_header *h = pithp_header_of(leaf);
        same &= (h->descriptor == c->specs[k]) & (leaf->hold == c->holds[k]) &
                ((h->extra | h->flags) == 0);
        data[k] = leaf->data;
    }
    return same;
}

/* End of the items from i on that continue the run in every tree (`next`). Applies only
 * to small results with the step of their block, which are contiguous; else returns i. */
static inline __attribute__((always_inline)) int64_t
follow(const finding *c, const int trees, int64_t i, const char **next) {
    const finding local = *c; /* a local copy, so that stores cannot alias it */
    const char *data[PITHP_MAP_TREES];
    const bool solid = pithp_array_shares(local.specs[0]) &&
                       local.step == pithp_array_step(local.specs[0]);
    for (const int64_t count = solid ? local.structure->item_count : i; i < count; i++) {
        if (!matches_last(&local, trees, i, data))
            break;
        bool follows = true;
        for (int k = 0; k < trees; k++)
            follows &= data[k] == next[k];
        if (!follows)
            break;
        for (int k = 0; k < trees; k++)
            next[k] += local.steps[k];
    }
    return i;
}

/* Find the runs of all leaves. Inlined for each number of trees: it is the main overhead
 * of a map over many small leaves. */
static inline __attribute__((always_inline)) pith_status find_runs(finding *c,
                                                                   const int trees) {
    const char *next[PITHP_MAP_TREES] = {NULL}, *data[PITHP_MAP_TREES], *end = NULL;
    int64_t gap = 0; /* after the run; `end`: of its result */
    for (int64_t i = 0; i < c->structure->item_count;) {
        if (PITHP_UNLIKELY(!matches_last(c, trees, i, data))) {
            const int64_t loop = c->loop;
            const pith_status rc = inspect(c, i);
            if (rc != PITH_OK)
                return rc;
            if (c->loop != loop || (gap && c->moved))
                end = NULL; /* bytes between two buffers belong to neither */
        }
        if (PITHP_UNLIKELY(c->count == 0)) {
            i++;
            continue;
        }
        bool follows = c->results[i]->data == end;
        for (int k = 0; k < trees; k++) {
            follows &= data[k] == next[k];
            next[k] = data[k] + c->steps[k];
        }
        if (!follows) {
            begin_run(c, i);
            gap = 0;
        }
        const int64_t first = i;
        i = follow(c, trees, i + 1, next);
        c->runs->list[c->runs->count - 1].count +=
            gap + (i - first) * (c->count + c->gap) - c->gap;
        gap = c->gap;
        end = (const char *)c->results[i - 1]->data + c->step;
    }
    return PITH_OK;
}

static pith_status find_all_runs(finding *c) {
    switch (c->trees) {
        case 1:
            return find_runs(c, 1);
        case 2:
            return find_runs(c, 2);
        case 3:
            return find_runs(c, 3);
        default:
            return find_runs(c, 4);
    }
}

pith_status pithp_map_runs_make(pith_scope *s,
                                const pithp_zip *zip,
                                const pith_array *const *results,
                                pithp_map_runs *runs) {
    finding c = {.s = s,
                 .structure = &zip->first.structure,
                 .runs = runs,
                 .trees = (int)zip->count,
                 .results = results};
    for (int k = 0; k < c.trees; k++)
        c.leaves[k] = pithp_zip_items(zip, k);
    runs->count = runs->loop_count = 0;
    runs->too_many = false;
    runs->bytes = (size_t)c.structure->item_count * sizeof *runs->list;
    runs->list = pithp_scratch_allocate(s->runtime, runs->bytes);
    if (!runs->list)
        return pithp_fail_memory(s, runs->bytes);
    const pith_status rc = find_all_runs(&c);
    if (rc != PITH_OK)
        pithp_map_runs_end(s, runs);
    return rc;
}

void pithp_map_runs_end(pith_scope *s, pithp_map_runs *runs) {
    pithp_scratch_release(s->runtime, runs->list, runs->bytes);
}
