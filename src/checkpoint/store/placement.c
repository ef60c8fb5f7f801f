/* Where the elements of a checkpoint of many ranks lie: the axes of the mesh, the pieces
 * of a leaf along each of its own axes, and the ranks that have them. */
#include "checkpoint/store/open.h"
#include "mesh/mesh_internal.h"
#include "tree/shard/text.h"

#include <string.h>

/* ---- The mesh ---- */

static int64_t axis_number(const pithp_document *d, const char *name, size_t n) {
    for (int64_t i = 0; i < d->axes.count; i++)
        if (strlen(d->axes.rows[i].name) == n &&
            memcmp(d->axes.rows[i].name, name, n) == 0)
            return i;
    return -1;
}

int64_t pithp_document_ranks_along(const pithp_document *d, const char *list) {
    int64_t ranks = 1;
    while (*list) {
        const size_t n = strcspn(list, ",");
        const int64_t axis = axis_number(d, list, n);
        if (axis < 0)
            return 0;
        ranks *= d->axes.rows[axis].size;
        list += n + (list[n] == ',');
    }
    return ranks;
}

/* The coordinate of a rank along an axis of the mesh. */
static int64_t coordinate(const pithp_document *d, int64_t rank, int64_t axis) {
    for (int64_t i = d->axes.count; i-- > axis + 1;)
        rank /= d->axes.rows[i].size;
    return rank % d->axes.rows[axis].size;
}

/* ---- Pieces ---- */

static pith_status
refuse(pith_scope *s, const pith_checkpoint *c, const pithp_doc_leaf *leaf) {
    char path[PITHP_PATH_BYTES];
    return pithp_fail(s, PITH_E_FORMAT,
                      pithp_document_error_path(&c->document, leaf->node, path),
                      "\"%s\": the shape of the leaf is not that of its parts", c->shown);
}

/* The counts of the rows of a leaf. Returns false if they do not fit it. */
static bool find_counts(const pithp_document *d, pithp_parted *x) {
    const pithp_doc_leaf *leaf = x->leaf;
    int64_t sum = 0;
    if (!leaf->rows)
        return true;
    if (leaf->counter < 0 || leaf->counter >= d->leaves.count || leaf->shape.rank < 1)
        return false;
    const pithp_doc_leaf *counter = &d->leaves.rows[leaf->counter];
    if (!counter->counts || counter->counts_count != x->pieces[0])
        return false;
    for (int64_t i = 0; i < counter->counts_count; i++) {
        if (counter->counts[i] > leaf->part.extents[0])
            return false;
        sum += counter->counts[i];
    }
    x->counts = counter->counts;
    return sum == leaf->shape.extents[0];
}

pith_status pithp_parted_find(pith_scope *s,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *leaf,
                              pithp_parted *x) {
    char normal[PITHP_SHARD_TEXT], list[PITHP_SHARD_TEXT];
    const int rank = leaf->shape.rank;
    *x = (pithp_parted){.leaf = leaf};
    if (pithp_shard_text_read(leaf->shard, normal) ||
        pithp_shard_text_lists(normal) > (rank ? rank : 1))
        return refuse(s, c, leaf);
    for (int d = 0; d < PITH_MAX_RANK; d++) {
        pithp_shard_text_list(normal, d, list);
        x->pieces[d] = pithp_document_ranks_along(&c->document, list);
        if (x->pieces[d] < 1)
            return refuse(s, c, leaf);
    }
    bool good = find_counts(&c->document, x);
    for (int d = 0; d < rank && good; d++) {
        int64_t whole; /* with the fill of rows that are counted */
        good = !__builtin_mul_overflow(x->pieces[d], leaf->part.extents[d], &whole) &&
               (whole == leaf->shape.extents[d] || (d == 0 && x->counts));
    }
    return good ? PITH_OK : refuse(s, c, leaf);
}

/* ---- Ranks ---- */

int64_t pithp_parted_rank(const pithp_document *d,
                          const pithp_doc_leaf *leaf,
                          const int64_t *numbers) {
    int64_t at[PITHP_MESH_AXES] = {0}, rank = 0;
    for (int axis = 0; axis < PITH_MAX_RANK; axis++) {
        char list[PITHP_SHARD_TEXT];
        int64_t number = numbers[axis];
        pithp_shard_text_list(leaf->shard, axis, list);
        for (size_t n = strlen(list); n;) { /* the last axis of a list is the fastest */
            size_t begin = n;
            while (begin && list[begin - 1] != ',')
                begin--;
            const int64_t mesh_axis = axis_number(d, list + begin, n - begin);
            at[mesh_axis] = number % d->axes.rows[mesh_axis].size;
            number /= d->axes.rows[mesh_axis].size;
            n = begin ? begin - 1 : 0;
        }
    }
    for (int64_t i = 0; i < d->axes.count; i++)
        rank = rank * d->axes.rows[i].size + at[i];
    return rank;
}

bool pithp_parted_numbers(const pithp_document *d,
                          const pithp_doc_leaf *leaf,
                          int64_t rank,
                          int64_t numbers[PITH_MAX_RANK]) {
    for (int axis = 0; axis < PITH_MAX_RANK; axis++) {
        char list[PITHP_SHARD_TEXT];
        pithp_shard_text_list(leaf->shard, axis, list);
        numbers[axis] = 0;
        for (const char *at = list; *at;) {
            const size_t n = strcspn(at, ",");
            const int64_t i = axis_number(d, at, n);
            numbers[axis] = numbers[axis] * d->axes.rows[i].size + coordinate(d, rank, i);
            at += n + (at[n] == ',');
        }
    }
    return pithp_parted_rank(d, leaf, numbers) == rank;
}
