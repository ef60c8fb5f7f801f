/* Inspection of checkpoints without C types: rows of the tables, elements, verification
 * and statistics. No function holds more than one chunk of a leaf in memory. */
#include "checkpoint/save/saving.h"
#include "checkpoint/store/open.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const pith_checkpoint *pith_checkpoint_open(pith_scope *s, const char *path) {
    if (!pithp_enter(s))
        return NULL;
    if (!path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_checkpoint_open: path is NULL");
        return NULL;
    }
    return pithp_background_settle(s) == PITH_OK ? pithp_checkpoint_open(s, path) : NULL;
}

/* ---- Rows ---- */

const pith_checkpoint_info *pith_checkpoint_about(const pith_checkpoint *c) {
    return pithp_checkpoint_valid(c) ? &c->info : NULL;
}

pith_metadata pith_checkpoint_metadata(const pith_checkpoint *c, int64_t index) {
    if (!pithp_checkpoint_valid(c) || index < 0 || index >= c->document.metadata.count)
        return (pith_metadata){NULL, NULL};
    return c->document.metadata.rows[index];
}

bool pith_checkpoint_get_node(const pith_checkpoint *c,
                              int64_t node,
                              pith_checkpoint_node *row) {
    if (!row || !pithp_checkpoint_valid(c) || node < 0 || node >= c->document.nodes.count)
        return false;
    const pithp_doc_node *n = &c->document.nodes.rows[node];
    const pithp_doc_type *type = n->type >= 0 ? &c->document.types.rows[n->type] : NULL;
    *row = (pith_checkpoint_node){.kind = n->kind,
                                  .is_static = n->is_static,
                                  .type = type ? type->name : NULL,
                                  .version = type ? type->version : 0,
                                  .depth = n->depth,
                                  .parent = n->parent,
                                  .name = n->name,
                                  .index = n->index,
                                  .child_count = n->child_count,
                                  .static_count = n->static_count,
                                  .leaf = n->leaf};
    return true;
}

bool pith_checkpoint_get_static(const pith_checkpoint *c,
                                int64_t node,
                                int64_t index,
                                pith_checkpoint_static *field) {
    if (!field || !pithp_checkpoint_valid(c) || node < 0 ||
        node >= c->document.nodes.count)
        return false;
    const pithp_doc_node *n = &c->document.nodes.rows[node];
    if (index < 0 || index >= n->static_count)
        return false;
    *field = c->document.statics.rows[n->first_static + index];
    return true;
}

bool pith_checkpoint_get_leaf(const pith_checkpoint *c,
                              int64_t leaf,
                              pith_checkpoint_leaf *row) {
    if (!row || !pithp_checkpoint_valid(c) || leaf < 0 ||
        leaf >= c->document.leaves.count)
        return false;
    const pithp_doc_leaf *l = &c->document.leaves.rows[leaf];
    *row = (pith_checkpoint_leaf){.dtype = l->dtype,
                                  .shape = l->shape,
                                  .count = l->count,
                                  .bytes = l->bytes,
                                  .unit = l->unit,
                                  .sidecar = l->in_sidecar ? l->sidecar : -1,
                                  .stored_bytes = l->in_sidecar ? l->end - l->begin : 0,
                                  .compressed = l->compressed,
                                  .node = l->node,
                                  .shard = l->shard,
                                  .rows = l->rows,
                                  .part = l->part};
    pithp_digest_print(l->digest, row->checksum);
    return true;
}

bool pith_checkpoint_get_sidecar(const pith_checkpoint *c,
                                 int64_t sidecar,
                                 pith_checkpoint_sidecar *row) {
    if (!row || !pithp_checkpoint_valid(c) || sidecar < 0 ||
        sidecar >= c->document.sidecars.count)
        return false;
    const pithp_doc_sidecar *file = &c->document.sidecars.rows[sidecar];
    *row = (pith_checkpoint_sidecar){.file = file->file,
                                     .bytes = file->bytes,
                                     .leaf_count = c->sidecars[sidecar].leaf_count,
                                     .leaf_bytes = c->sidecars[sidecar].leaf_bytes};
    return true;
}

bool pith_checkpoint_get_part(const pith_checkpoint *c,
                              int64_t part,
                              pith_checkpoint_part *row) {
    if (!row || !pithp_checkpoint_valid(c) || part < 0 || part >= c->document.parts.count)
        return false;
    const pithp_doc_part *file = &c->document.parts.rows[part];
    *row = (pith_checkpoint_part){.file = file->file, .bytes = file->bytes, .rank = part};
    return true;
}

/* ---- Leaves ---- */

static bool enter(pith_scope *s, const pith_checkpoint *c, const char *function) {
    if (!pithp_enter_as(s, function))
        return false;
    if (pithp_checkpoint_valid(c))
        return true;
    pithp_fail(s, PITH_E_ARG, NULL, "%s: expected an open checkpoint", function);
    return false;
}

static const pithp_doc_leaf *
find_leaf(pith_scope *s, const pith_checkpoint *c, int64_t leaf) {
    const int64_t count = c->document.leaves.count;
    if (leaf >= 0 && leaf < count)
        return &c->document.leaves.rows[leaf];
    pithp_fail(s, PITH_E_INDEX, NULL, "leaf %" PRId64 " of a checkpoint with %" PRId64,
               leaf, count);
    return NULL;
}

const char *pith_checkpoint_path(pith_scope *s, const pith_checkpoint *c, int64_t node) {
    if (!enter(s, c, "pith_checkpoint_path"))
        return NULL;
    if (node < 0 || node >= c->document.nodes.count) {
        pithp_fail(s, PITH_E_INDEX, NULL,
                   "node %" PRId64 " of a checkpoint with %" PRId64, node,
                   c->document.nodes.count);
        return NULL;
    }
    pithp_string t;
    pithp_string_begin(&t, s->runtime);
    pithp_document_path(&c->document, node, SIZE_MAX / 2, &t);
    char *path = t.failed ? NULL : pithp_scope_allocate(s, t.length + 1);
    if (path)
        memcpy(path, t.bytes, t.length + 1);
    else
        pithp_fail_memory(s, t.length + 1);
    pithp_string_end(&t);
    return path;
}

bool pith_checkpoint_read(pith_scope *s,
                          const pith_checkpoint *c,
                          int64_t leaf,
                          int64_t first,
                          int64_t count,
                          void *host,
                          size_t bytes) {
    const pithp_doc_leaf *l =
        enter(s, c, "pith_checkpoint_read") ? find_leaf(s, c, leaf) : NULL;
    if (!l)
        return false;
    const size_t step = pith_dtype_size(l->dtype);
    if (first < 0 || count < 0 || first > l->count || count > l->count - first) {
        pithp_fail(s, PITH_E_INDEX, NULL,
                   "pith_checkpoint_read: %" PRId64 " elements from %" PRId64
                   " on, of %" PRId64,
                   count, first, l->count);
        return false;
    }
    if ((!host && count) || bytes != (size_t)count * step) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_checkpoint_read: expected room for %zu bytes, got %zu",
                   (size_t)count * step, host ? bytes : 0);
        return false;
    }
    if (count == l->count && count)
        return pithp_leaf_read(s, c, leaf, host, NULL, NULL, NULL) == PITH_OK;
    return pithp_leaf_read_bytes(s, c, l, (size_t)first * step, host, bytes) == PITH_OK &&
           pithp_leaf_check_bools(s, c, l, (size_t)first, host, bytes) == PITH_OK;
}

/* ---- Checks and statistics ---- */

static bool scan(pith_scope *s,
                 const pith_checkpoint *c,
                 int64_t leaf,
                 pithp_chunk_sink sink,
                 void *closure) {
    void *staging = pithp_allocate(s->runtime, PITHP_CHUNK_BYTES);
    if (!staging) {
        pithp_fail_memory(s, PITHP_CHUNK_BYTES);
        return false;
    }
    const pith_status rc = pithp_leaf_read(s, c, leaf, NULL, staging, sink, closure);
    pithp_release(s->runtime, staging, PITHP_CHUNK_BYTES);
    return rc == PITH_OK;
}

bool pith_checkpoint_verify(pith_scope *s, const pith_checkpoint *c, int64_t leaf) {
    return enter(s, c, "pith_checkpoint_verify") && find_leaf(s, c, leaf) &&
           scan(s, c, leaf, NULL, NULL);
}

typedef struct summary {
    pith_dtype dtype;
    int64_t finite;
    double sum;
    pith_leaf_statistics result;
} summary;

static inline void see_float(summary *m, double x, double *sum) {
    if (isnan(x)) {
        m->result.nans++;
        return;
    }
    if (!(x >= m->result.least)) /* true for the first element: least is NaN */
        m->result.least = x;
    if (!(x <= m->result.greatest))
        m->result.greatest = x;
    if (isinf(x)) {
        m->result.infinities++;
    } else {
        m->finite++;
        *sum += x;
    }
}

static void see_integer(summary *m, const char *element, double *sum) {
    pith_leaf_statistics *r = &m->result;
    const double x = pith_element_f64(m->dtype, element, 0);
    const bool first = m->finite == 0;
    if (m->dtype >= PITH_U8 && m->dtype <= PITH_U64) {
        uint64_t u = 0;
        memcpy(&u, element, pith_dtype_size(m->dtype));
        r->least_u64 = first || u < r->least_u64 ? u : r->least_u64;
        r->greatest_u64 = first || u > r->greatest_u64 ? u : r->greatest_u64;
    } else {
        int64_t i;
        if (m->dtype == PITH_I64)
            memcpy(&i, element, sizeof i);
        else
            i = (int64_t)x;
        r->least_i64 = first || i < r->least_i64 ? i : r->least_i64;
        r->greatest_i64 = first || i > r->greatest_i64 ? i : r->greatest_i64;
    }
    r->least = first || x < r->least ? x : r->least;
    r->greatest = first || x > r->greatest ? x : r->greatest;
    m->finite++;
    *sum += x;
}

static pith_status summarise(void *closure, const void *bytes, size_t offset, size_t n) {
    (void)offset;
    summary *m = closure;
    const size_t step = pith_dtype_size(m->dtype);
    const bool is_float = pith_dtype_is_float(m->dtype);
    double sum = 0; /* sum of this piece; summing by pieces limits rounding */
    for (size_t at = 0; at < n; at += step) {
        const char *element = (const char *)bytes + at;
        double x;
        if (m->dtype == PITH_F64) {
            memcpy(&x, element, sizeof x);
            see_float(m, x, &sum);
        } else if (is_float) {
            see_float(m, pith_element_f64(m->dtype, element, 0), &sum);
        } else {
            see_integer(m, element, &sum);
        }
    }
    m->sum += sum;
    return PITH_OK;
}

bool pith_checkpoint_statistics(pith_scope *s,
                                const pith_checkpoint *c,
                                int64_t leaf,
                                pith_leaf_statistics *statistics) {
    const pithp_doc_leaf *l =
        enter(s, c, "pith_checkpoint_statistics") ? find_leaf(s, c, leaf) : NULL;
    if (!l)
        return false;
    if (!statistics) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_checkpoint_statistics: statistics is NULL");
        return false;
    }
    const double nan = (double)NAN;
    summary m = {.dtype = l->dtype,
                 .result = {.least = nan, .greatest = nan, .mean = nan}};
    if (!scan(s, c, leaf, summarise, &m))
        return false;
    if (m.finite)
        m.result.mean = m.sum / (double)m.finite;
    *statistics = m.result;
    return true;
}
