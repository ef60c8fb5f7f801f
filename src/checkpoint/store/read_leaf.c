/* Reading one leaf, or some of its rows, as an array without the rest of the
 * checkpoint. */
#include "checkpoint/store/open.h"

#include <inttypes.h>

/* ---- Filling ---- */

typedef struct target {
    pith_scope *s;
    char *to; /* memory of the device */
} target;

static pith_status copy_in(void *closure, const void *bytes, size_t offset, size_t n) {
    const target *t = closure;
    return pithp_copy_in(t->s, t->to + offset, bytes, n);
}

pith_status pithp_leaf_fill(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t leaf,
                            const pith_array *array,
                            void *staging) {
    target t = {s, array->data};
    const pith_status rc = staging
                               ? pithp_leaf_read(s, c, leaf, NULL, staging, copy_in, &t)
                               : pithp_leaf_read(s, c, leaf, t.to, NULL, NULL, NULL);
    if (rc == PITH_OK && !pithp_leaf_is_parted(&c->document.leaves.rows[leaf]))
        pithp_array_digest_store(array, c->document.leaves.rows[leaf].digest);
    return rc;
}

/* Read bytes of a leaf from an offset on. No checksum covers a part of a leaf. */
static pith_status fill_part(pith_scope *s,
                             const pith_checkpoint *c,
                             const pithp_doc_leaf *leaf,
                             size_t offset,
                             const pith_array *array,
                             void *staging) {
    const size_t bytes = pith_array_spec(array)->bytes;
    char *to = array->data;
    pith_status rc = PITH_OK;
    if (!staging) {
        rc = pithp_leaf_read_bytes(s, c, leaf, offset, to, bytes);
        return rc == PITH_OK ? pithp_leaf_check_bools(s, c, leaf, offset, to, bytes) : rc;
    }
    for (size_t at = 0; rc == PITH_OK && at < bytes; at += PITHP_CHUNK_BYTES) {
        const size_t rest = bytes - at;
        const size_t n = rest < PITHP_CHUNK_BYTES ? rest : PITHP_CHUNK_BYTES;
        rc = pithp_leaf_read_bytes(s, c, leaf, offset + at, staging, n);
        if (rc == PITH_OK)
            rc = pithp_leaf_check_bools(s, c, leaf, offset + at, staging, n);
        if (rc == PITH_OK)
            rc = pithp_copy_in(s, to + at, staging, n);
    }
    return rc;
}

static pith_status fill(pith_scope *s,
                        const pith_checkpoint *c,
                        int64_t number,
                        int64_t first,
                        const pith_array *array) {
    const pithp_doc_leaf *leaf = &c->document.leaves.rows[number];
    const pith_spec *spec = pith_array_spec(array);
    const bool direct = pithp_scope_device(s)->backend->addressable;
    void *staging = direct ? NULL : pithp_allocate(s->runtime, PITHP_CHUNK_BYTES);
    pith_status rc = pithp_synchronise(s); /* earlier work may still use the memory */
    if (rc == PITH_OK && !direct && !staging)
        rc = pithp_fail_memory(s, PITHP_CHUNK_BYTES);
    if (rc == PITH_OK && spec->count == leaf->count)
        rc = pithp_leaf_fill(s, c, number, array, staging);
    else if (rc == PITH_OK && spec->count > 0)
        rc = fill_part(s, c, leaf, (size_t)first * (spec->bytes / (size_t)spec->shape[0]),
                       array, staging);
    pithp_release(s->runtime, staging, PITHP_CHUNK_BYTES);
    return rc;
}

/* ---- Public functions ---- */

int64_t pith_checkpoint_find(pith_scope *s, const pith_checkpoint *c, const char *path) {
    if (!pithp_enter(s))
        return -1;
    if (!pithp_checkpoint_valid(c) || !path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_checkpoint_find: %s",
                   path ? "expected an open checkpoint" : "path is NULL");
        return -1;
    }
    const int64_t row = pithp_document_find(&c->document, path);
    if (row == -2)
        pithp_fail_memory(s, 0);
    else if (row < 0)
        pithp_fail(s, PITH_E_STRUCTURE, NULL, "there is no \"%.200s\" in \"%s\"", path,
                   c->shown);
    return row < 0 ? -1 : row;
}

/* The number of the leaf at a path; -1: the scope has the error. */
static int64_t leaf_at(pith_scope *s, const pith_checkpoint *c, const char *path) {
    const int64_t row = pith_checkpoint_find(s, c, path);
    const int64_t leaf = row < 0 ? -1 : c->document.nodes.rows[row].leaf;
    if (row >= 0 && leaf < 0)
        pithp_fail(s, PITH_E_STRUCTURE, NULL, "\"%.200s\" in \"%s\" is not a leaf", path,
                   c->shown);
    return leaf;
}

/* Load rows `first` to first + count of a leaf; count -1: all of it. */
static const pith_array *load(pith_scope *s,
                              const pith_checkpoint *c,
                              int64_t number,
                              int64_t first,
                              int64_t count) {
    const pithp_doc_leaf *leaf = &c->document.leaves.rows[number];
    pith_shape shape = leaf->shape;
    const pith_array *array = NULL;
    if (pithp_checkpoint_trouble(s, c, leaf) != PITH_OK)
        return NULL;
    if (count >= 0)
        shape.extents[0] = count;
    const pith_spec *spec = pithp_spec(s, leaf->dtype, shape.rank, shape.extents);
    if (!spec || pithp_arrays_make(s, 1, &spec, &array) != PITH_OK)
        return NULL;
    if (fill(s, c, number, first, array) == PITH_OK)
        return array;
    pith_drop(s, array);
    return NULL;
}

const pith_array *pithp_leaf_load(pith_scope *s, const pith_checkpoint *c, int64_t leaf) {
    return load(s, c, leaf, 0, -1);
}

const pith_array *
pith_checkpoint_array(pith_scope *s, const pith_checkpoint *c, const char *path) {
    const int64_t leaf = leaf_at(s, c, path);
    return leaf < 0 ? NULL : load(s, c, leaf, 0, -1);
}

const pith_array *pith_checkpoint_rows(pith_scope *s,
                                       const pith_checkpoint *c,
                                       const char *path,
                                       int64_t first,
                                       int64_t count) {
    const int64_t leaf = leaf_at(s, c, path);
    if (leaf < 0)
        return NULL;
    const pith_shape *shape = &c->document.leaves.rows[leaf].shape;
    if (shape->rank == 0) {
        pithp_fail(s, PITH_E_SHAPE, path, "a leaf of rank 0 has no rows");
        return NULL;
    }
    if (first < 0 || count < 0 || first > shape->extents[0] ||
        count > shape->extents[0] - first) {
        pithp_fail(s, PITH_E_INDEX, path,
                   "%" PRId64 " rows from %" PRId64 " on, of %" PRId64, count, first,
                   shape->extents[0]);
        return NULL;
    }
    return load(s, c, leaf, first, count);
}
