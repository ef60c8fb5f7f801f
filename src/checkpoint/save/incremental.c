/* Incremental saves: unchanged leaves stay in the sidecars of the newest member of the
 * series, and the new document refers to them.
 *
 * The sidecars that a member depends on are bounded: at most PITHP_SIDECARS, each used to
 * at least a quarter. Leaves in other sidecars are written again. */
#include "checkpoint/save/saving.h"
#include "checkpoint/store/array_digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_USED = 4 }; /* one byte in LEAST_USED must be in use */

typedef struct share {
    pith_scope *s;
    pithp_document *d;
    const pithp_document *base; /* of the newest member */
    int folder;
    bool check; /* verify leaves on disk, too */
    bool usable[PITHP_SIDECARS];
    size_t used[PITHP_SIDECARS]; /* by sidecar of the base: bytes used by d */
    int64_t *by_name;            /* leaves of the base, sorted by tensor name */
    int64_t name_count;
    int64_t *found; /* by leaf of d: the equal leaf of the base; -1: none */
} share;

/* ---- The newest member ---- */

static pith_status read_base(pith_scope *s,
                             const pithp_location *series,
                             pithp_document *base,
                             bool *there) {
    pithp_series members;
    char name[256];
    size_t bytes = 0;
    *there = false;
    if (pithp_series_list(s->runtime, series->folder, series->name, &members) != 0)
        return PITH_OK; /* the commit reports a faulty folder */
    const bool any =
        members.count > 0 && pithp_series_name(series->name, members.numbers[0], name);
    pithp_series_end(s->runtime, &members);
    const int file = any ? pithp_file_open(series->folder, name, &bytes) : -1;
    if (file < 0)
        return PITH_OK;
    char head[PITHP_HEAD_BYTES + 1];
    char *text = NULL;
    if (pithp_head_read(file, bytes, head) == 0 && pithp_head_is_checkpoint(head)) {
        text = pithp_allocate(s->runtime, bytes);
        if (!text) {
            close(file);
            return pithp_fail_memory(s, bytes);
        }
        if (pithp_file_read(file, text, bytes, 0) == 0 &&
            pithp_document_parse(s, base, name, text, bytes) == PITH_OK)
            *there = base->format == PITHP_CHECKPOINT_FORMAT;
        pithp_release(s->runtime, text, bytes);
    }
    close(file);
    if (pith_code(s) == PITH_E_MEMORY)
        return PITH_E_MEMORY;
    if (pith_failed(s)) /* nothing is shared: every leaf is written */
        pithp_log(s->runtime, PITH_LOG_WARNING, "nothing is shared with \"%s\": %s", name,
                  pith_message(s));
    pith_clear(s);
    return PITH_OK;
}

/* ---- Unchanged leaves ---- */

/* The tensor name of a leaf without the compression prefix: both forms are equivalent. */
static const char *name_of(const pithp_doc_leaf *leaf) {
    return leaf->tensor + (leaf->compressed ? strlen(PITHP_COMPRESSED_PREFIX) : 0);
}

static int by_name(const void *a, const void *b, void *closure) {
    const pithp_document *d = closure;
    return strcmp(name_of(&d->leaves.rows[*(const int64_t *)a]),
                  name_of(&d->leaves.rows[*(const int64_t *)b]));
}

static bool make_tables(share *h) {
    const pithp_document *base = h->base;
    pith_runtime *rt = h->s->runtime;
    h->found = pithp_allocate(rt, (size_t)(h->d->leaves.count + 1) * sizeof *h->found);
    h->by_name =
        pithp_allocate(rt, (size_t)(base->leaves.count + 1) * sizeof *h->by_name);
    if (!h->found || !h->by_name)
        return false;
    for (int64_t i = 0; i < h->d->leaves.count; i++)
        h->found[i] = -1;
    for (int64_t i = 0; i < base->leaves.count; i++)
        if (base->leaves.rows[i].in_sidecar)
            h->by_name[h->name_count++] = i;
    qsort_r(h->by_name, (size_t)h->name_count, sizeof *h->by_name, by_name,
            (void *)(uintptr_t)base);
    return true;
}

static void drop_tables(share *h) {
    pith_runtime *rt = h->s->runtime;
    pithp_release(rt, h->found, (size_t)(h->d->leaves.count + 1) * sizeof *h->found);
    pithp_release(rt, h->by_name,
                  (size_t)(h->base->leaves.count + 1) * sizeof *h->by_name);
}

/* The leaf of the base with the same name, dtype and shape; -1: none. */
static int64_t find(const share *h, const pithp_doc_leaf *leaf) {
    int64_t low = 0, high = h->name_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int64_t number = h->by_name[middle];
        const pithp_doc_leaf *other = &h->base->leaves.rows[number];
        const int order = strcmp(name_of(leaf), name_of(other));
        if (order == 0)
            return other->dtype == leaf->dtype && other->shape.rank == leaf->shape.rank &&
                           memcmp(other->shape.extents, leaf->shape.extents,
                                  (size_t)leaf->shape.rank * sizeof(int64_t)) == 0 &&
                           h->usable[other->sidecar]
                       ? number
                       : -1;
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return -1;
}

static bool lies_there_whole(const share *h, const pithp_doc_leaf *leaf) {
    const pithp_doc_sidecar *sidecar = &h->base->sidecars.rows[leaf->sidecar];
    if (!h->check || pithp_sidecar_verify(h->s->runtime, h->folder, sidecar, leaf))
        return true;
    pithp_log(h->s->runtime, PITH_LOG_WARNING,
              "a leaf is damaged in \"%s\" and is written again", sidecar->file);
    return false;
}

static pith_status find_same(share *h, const pith_array *const *arrays, void *staging) {
    for (int64_t i = 0; i < h->d->leaves.count; i++) {
        pithp_doc_leaf *leaf = &h->d->leaves.rows[i];
        const int64_t number = leaf->in_sidecar ? find(h, leaf) : -1;
        if (number < 0)
            continue;
        const pithp_doc_leaf *other = &h->base->leaves.rows[number];
        const pith_status rc =
            pithp_array_digest(h->s, arrays[i], staging, &leaf->digest);
        if (rc != PITH_OK)
            return rc;
        if (!pithp_digest_equal(leaf->digest, other->digest) ||
            !lies_there_whole(h, other))
            continue;
        h->found[i] = number;
        h->used[other->sidecar] += other->end - other->begin;
    }
    return PITH_OK;
}

/* ---- Sidecars to share ---- */

static int32_t sidecar_of(const share *h, int64_t leaf) {
    return h->found[leaf] < 0 ? -1 : h->base->leaves.rows[h->found[leaf]].sidecar;
}

/* Whether a leaf remains for a new sidecar. */
static bool writes_some(const share *h) {
    for (int64_t i = 0; i < h->d->leaves.count; i++) {
        const int32_t sidecar = sidecar_of(h, i);
        if (h->d->leaves.rows[i].in_sidecar && (sidecar < 0 || !h->used[sidecar]))
            return true;
    }
    return false;
}

static void choose_sidecars(share *h) {
    const int64_t count = h->base->sidecars.count;
    int64_t named = 0;
    for (int64_t i = 0; i < count; i++) {
        const pithp_doc_sidecar *file = &h->base->sidecars.rows[i];
        if (h->used[i] < (file->bytes - file->data + LEAST_USED - 1) / LEAST_USED)
            h->used[i] = 0;
        named += h->used[i] > 0;
    }
    while (named + writes_some(h) > PITHP_SIDECARS) {
        int64_t least = -1;
        for (int64_t i = 0; i < count; i++)
            if (h->used[i] && (least < 0 || h->used[i] < h->used[least]))
                least = i;
        h->used[least] = 0;
        named--;
    }
}

/* Place a leaf in the range of an equal leaf of the base. */
static bool move_in(share *h, pithp_doc_leaf *leaf, const pithp_doc_leaf *other) {
    const size_t frames = (size_t)other->frame_count * sizeof *other->frames;
    leaf->begin = other->begin;
    leaf->end = other->end;
    leaf->compressed = other->compressed;
    leaf->tensor = pithp_document_text(h->d, other->tensor, strlen(other->tensor));
    leaf->frame_count = other->frame_count;
    leaf->frames = pithp_document_allocate(h->d, frames);
    if (leaf->frames && frames)
        memcpy(leaf->frames, other->frames, frames);
    return leaf->tensor && leaf->frames;
}

/* Keep the base's rows in order, so that equal states give equal documents. */
static pith_status take_over(share *h) {
    int32_t rows[PITHP_SIDECARS];
    for (int64_t i = 0; i < h->base->sidecars.count; i++) {
        const pithp_doc_sidecar *file = &h->base->sidecars.rows[i];
        if (!h->used[i])
            continue;
        rows[i] = (int32_t)h->d->sidecars.count;
        pithp_doc_sidecar *row = pithp_document_add(h->d, sidecars);
        if (!row)
            return pithp_fail_memory(h->s, sizeof *row);
        *row = *file;
        row->file = pithp_document_text(h->d, file->file, strlen(file->file));
        if (!row->file)
            return pithp_fail_memory(h->s, strlen(file->file));
    }
    for (int64_t i = 0; i < h->d->leaves.count; i++) {
        pithp_doc_leaf *leaf = &h->d->leaves.rows[i];
        const int32_t sidecar = sidecar_of(h, i);
        leaf->sidecar = (int32_t)h->d->sidecars.count;
        if (sidecar < 0 || !h->used[sidecar])
            continue;
        leaf->sidecar = rows[sidecar];
        if (!move_in(h, leaf, &h->base->leaves.rows[h->found[i]]))
            return pithp_fail_memory(h->s, 0);
    }
    return PITH_OK;
}

static pith_status share_with(share *h, const pith_array *const *arrays, void *staging) {
    pith_status rc = PITH_OK;
    if (!make_tables(h))
        rc = pithp_fail_memory(h->s, 0);
    if (rc == PITH_OK)
        rc = find_same(h, arrays, staging);
    if (rc == PITH_OK) {
        choose_sidecars(h);
        rc = take_over(h);
    }
    drop_tables(h);
    return rc;
}

/* A file that is no sidecar of the series is not shared: no sweep would remove it. */
static bool is_of_series(const pithp_location *series, const pithp_doc_sidecar *sidecar) {
    char stem[256];
    snprintf(stem, sizeof stem, "%.*s", (int)pithp_stem(series->name), series->name);
    return pithp_is_own_sidecar_name(stem, sidecar->file);
}

pith_status pithp_incremental_reuse(pith_scope *s,
                                    pithp_document *d,
                                    const pith_array *const *arrays,
                                    const pithp_location *series,
                                    bool check,
                                    void *staging) {
    pithp_document base;
    bool there;
    pithp_document_begin(&base, s->runtime);
    pith_status rc = read_base(s, series, &base, &there);
    if (rc == PITH_OK && there) {
        share h = {
            .s = s, .d = d, .base = &base, .folder = series->folder, .check = check};
        for (int64_t i = 0; i < base.sidecars.count; i++)
            h.usable[i] = is_of_series(series, &base.sidecars.rows[i]) &&
                          pithp_sidecar_verify(s->runtime, series->folder,
                                               &base.sidecars.rows[i], NULL);
        rc = share_with(&h, arrays, staging);
    }
    pithp_document_end(&base);
    return rc;
}
