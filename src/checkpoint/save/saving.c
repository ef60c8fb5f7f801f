/* Commit of a checkpoint: capture a tree, write its sidecar and its document to temporary
 * files, and rename both, the document last. */
#include "checkpoint/save/parted.h"
#include "checkpoint/store/array_digest.h"
#include "checkpoint/store/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maximum bytes of an inline leaf: its row then stays below 2 GiB. */
enum { MOST_INLINE = 64 << 20 };

typedef pithp_saving saver;

/* ---- Leaves ---- */

static pith_status choose_places(saver *v) {
    const pith_save_options *o = &v->options;
    const int64_t most = o->inline_bytes < 0    ? -1
                         : o->inline_bytes == 0 ? PITHP_INLINE_BYTES
                                                : o->inline_bytes;
    char path[PITHP_PATH_BYTES];
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        leaf->sidecar = 0;
        if (pithp_leaf_is_parted(leaf))
            continue;
        leaf->in_sidecar = !o->inline_all && (most < 0 || leaf->bytes > (size_t)most);
        if (leaf->level == 0 || o->compress < 0)
            leaf->level = o->compress;
        leaf->level = leaf->level > 0 ? leaf->level : 0;
        if (!leaf->in_sidecar && leaf->count > MOST_INLINE)
            return pithp_fail(
                v->s, PITH_E_UNSUPPORTED,
                pithp_document_error_path(&v->d, leaf->node, path),
                "%lld elements are too many for a document; store them in a sidecar",
                (long long)leaf->count);
    }
    return PITH_OK;
}

pith_status pithp_saving_elements(pithp_saving *v,
                                  int64_t leaf,
                                  bool only_first,
                                  pithp_chunk_sink sink,
                                  void *closure) {
    const size_t bytes = v->d.leaves.rows[leaf].bytes,
                 most =
                     only_first && bytes > PITHP_CHUNK_BYTES ? PITHP_CHUNK_BYTES : bytes;
    if (!v->arrays[leaf])
        return v->stream(v->source, v->s, leaf, most, sink, closure);
    if (!only_first)
        return pithp_array_stream(v->s, v->arrays[leaf], v->staging, PITHP_STAGING_BYTES,
                                  sink, closure);
    const void *first = v->arrays[leaf]->data;
    pith_status rc = PITH_OK;
    if (v->staging)
        rc = pithp_copy_out(v->s, v->staging, first, most);
    return rc == PITH_OK ? sink(closure, v->staging ? v->staging : first, 0, most) : rc;
}

static pith_status hash(void *closure, const void *bytes, size_t offset, size_t n) {
    (void)offset;
    pithp_hasher_add(closure, bytes, n);
    return PITH_OK;
}

/* Only the checksum: the elements are read again when they are printed. */
static pith_status hash_inline(saver *v, int64_t number) {
    pithp_hasher h;
    pithp_hasher_begin(&h);
    const pith_status rc = pithp_saving_elements(v, number, false, hash, &h);
    v->d.leaves.rows[number].digest = pithp_hasher_end(&h);
    return rc;
}

/* Make the elements of a leaf readable by the host: in place, or as a copy in the
 * document. */
static pith_status read_inline(saver *v, pithp_doc_leaf *leaf, const pith_array *a) {
    if (!a)
        return hash_inline(v, leaf - v->d.leaves.rows);
    leaf->data = a->data;
    if (v->staging && leaf->bytes) {
        void *copy = pithp_document_allocate(&v->d, leaf->bytes);
        if (!copy)
            return pithp_fail_memory(v->s, leaf->bytes);
        const pith_status rc = pithp_copy_out(v->s, copy, a->data, leaf->bytes);
        if (rc != PITH_OK)
            return rc;
        leaf->data = copy;
    }
    leaf->digest = pithp_digest_of(leaf->data, leaf->bytes);
    return PITH_OK;
}

static pith_status read_inline_leaves(saver *v) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < v->d.leaves.count; i++)
        if (!v->d.leaves.rows[i].in_sidecar &&
            !pithp_leaf_is_parted(&v->d.leaves.rows[i]))
            rc = read_inline(v, &v->d.leaves.rows[i], v->arrays[i]);
    return rc;
}

static pith_status
find_stray_bool(void *closure, const void *bytes, size_t offset, size_t n) {
    pithp_stray_bool_find(closure, bytes, offset, n);
    return PITH_OK;
}

static pith_status check_bools(saver *v) {
    pith_status rc = PITH_OK;
    for (int64_t i = 0; rc == PITH_OK && i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        pithp_stray_bool stray = {.found = false};
        if (leaf->dtype != PITH_BOOL || pithp_leaf_is_parted(leaf) ||
            (v->arrays[i] && pithp_array_digest_known(v->arrays[i])))
            continue;
        rc = pithp_saving_elements(v, i, false, find_stray_bool, &stray);
        if (rc == PITH_OK)
            rc = pithp_stray_bool_refuse(v->s, &v->d, leaf, &stray);
    }
    return rc;
}

/* ---- Files ---- */

static void add_text(void *closure, const char *text, size_t n) {
    pithp_writer_add(&((saver *)closure)->document, text, n);
}

static pith_status
stream_inline(void *closure, int64_t leaf, pithp_chunk_sink sink, void *to) {
    return pithp_saving_elements(closure, leaf, false, sink, to);
}

static pith_status write_document(saver *v) {
    const pithp_document_output out = {add_text, stream_inline, v};
    pithp_writer_open(&v->document, v->s->runtime, &v->location, 0);
    const pith_status rc = pithp_document_print_to(&v->d, &out);
    if (rc == PITH_E_MEMORY && v->s->error.code == PITH_OK)
        return pithp_fail_memory(v->s, 0);
    if (rc != PITH_OK)
        return rc;
    pithp_writer_sync(&v->document);
    return pithp_writer_status(v->s, &v->document, v->location.shown);
}

static pith_status sync_folder(saver *v, const char *consequence) {
    char reason[128];
    const int error = pithp_folder_sync(&v->location);
    return error == 0 ? PITH_OK
                      : pithp_fail(v->s, PITH_E_IO, NULL,
                                   "cannot write \"%s\": fsync: %s%s", v->location.shown,
                                   strerror_r(error, reason, sizeof reason), consequence);
}

/* Remove the unnamed document, and those of its sidecars that no other document names:
 * its own new one, and shared ones dropped by other writers. Requires the folder lock,
 * but for a part: no other document names its sidecar. */
static void withdraw(saver *v) {
    pithp_claims claims = {.owner = geteuid()};
    pithp_writer_close(&v->document);
    snprintf(claims.stem, sizeof claims.stem, "%.*s", (int)pithp_stem(v->location.name),
             v->location.name);
    for (int64_t i = 0; i < v->d.sidecars.count; i++) {
        const pithp_doc_sidecar *row = &v->d.sidecars.rows[i];
        pithp_claim *claim = &claims.rows[claims.count];
        if (!row->file)
            continue;
        *claim =
            (pithp_claim){.bytes = row->bytes, .data = row->data, .digest = row->digest};
        snprintf(claim->file, sizeof claim->file, "%s", row->file);
        claims.count++;
    }
    pithp_folder_drop_sidecars(v->location.folder, &claims, "");
}

/* The sidecar is renamed and synced before the document, so every visible document is
 * complete. A part is visible when the document of its checkpoint names it: one sync is
 * enough. */
static pith_status name_files(saver *v) {
    pith_status rc = PITH_OK;
    if (v->fresh) {
        pithp_writer_rename(&v->sidecar, v->fresh->file);
        PITH_TRY(pithp_writer_status(v->s, &v->sidecar, v->location.shown));
        if (!v->is_part)
            PITH_TRY(sync_folder(v, ""));
    }
    pithp_writer_rename(&v->document, v->location.name);
    PITH_TRY(pithp_writer_status(v->s, &v->document, v->location.shown));
    rc = sync_folder(v, v->is_part ? ""
                                   : " (the new checkpoint is there, but may not "
                                     "survive a power cut)");
    if (rc == PITH_OK || !v->is_part)
        return rc;
    /* a part that has failed must not be found and named by rank 0 */
    unlinkat(v->location.folder, v->location.name, 0);
out:
    withdraw(v);
    return rc;
}

/* Keep the old document under a temporary name until its sidecars are removed (NULL:
 * unreadable). If the process dies in between, the next sweep knows which sidecars to
 * remove. */
static pith_status replace(saver *v, const pithp_claims *sidecars) {
    const int folder = v->location.folder;
    char old[PITHP_TEMPORARY_NAME];
    pithp_temporary_name(v->location.name, old);
    const bool linked = linkat(folder, v->location.name, folder, old, 0) == 0;
    const pith_status rc = name_files(v);
    const bool dropped =
        rc != PITH_OK ||
        (sidecars && pithp_folder_drop_sidecars(folder, sidecars, linked ? old : ""));
    if (linked && dropped)
        unlinkat(folder, old, 0);
    return rc;
}

static pith_status commit_single(saver *v) {
    pithp_claims old;
    if (!pithp_folder_claims_of(v->location.folder, v->location.name, &old))
        return replace(v, NULL);
    const bool same =
        v->fresh && old.count == 1 && strcmp(old.rows[0].file, v->fresh->file) == 0;
    return old.count && !same ? replace(v, &old) : name_files(v);
}

/* Whether all shared sidecars of the document exist. Requires the folder lock, which
 * prevents their removal before the document has its name. */
static bool shared_are_there(const saver *v) {
    for (int64_t i = 0; i < v->d.sidecars.count; i++)
        if (&v->d.sidecars.rows[i] != v->fresh &&
            !pithp_sidecar_exists(v->location.folder, &v->d.sidecars.rows[i]))
            return false;
    return true;
}

/* Older members are removed when the new one is on the disk. */
static pith_status commit_member(saver *v) {
    char series[256];
    memcpy(series, v->location.name, sizeof series);
    v->lost = !shared_are_there(v);
    if (v->lost) {
        withdraw(v);
        return PITH_OK;
    }
    pith_status rc = pithp_series_next(v->s, &v->location);
    if (rc == PITH_OK)
        rc = name_files(v);
    if (rc == PITH_OK)
        pithp_series_prune(v->s->runtime, v->location.folder, series, v->options.keep);
    return rc;
}

/* Another job that saves under the same name may have taken the parts for left ones. */
static pith_status check_parts(saver *v) {
    for (int64_t i = 0; i < v->d.parts.count; i++) {
        const pithp_doc_part *part = &v->d.parts.rows[i];
        pithp_doc_part now = {.file = part->file};
        char room[120];
        const int error = pithp_part_find(v->location.folder, part->file, &now);
        if (error && error != ENOENT)
            return pithp_fail(v->s, PITH_E_IO, NULL,
                              "cannot write \"%s\": the part \"%s\" cannot be read: %s",
                              v->location.shown, part->file,
                              pithp_part_trouble(error, room, sizeof room));
        if (error || now.bytes != part->bytes ||
            !pithp_digest_equal(now.digest, part->digest))
            return pithp_fail(v->s, PITH_E_IO, NULL,
                              "cannot write \"%s\": the part \"%s\" is gone: does "
                              "another job save under this name?",
                              v->location.shown, part->file);
    }
    return PITH_OK;
}

/* The names of a part are new, and no other writer uses them: thousands of ranks do not
 * wait for each other's locks. */
static pith_status commit(saver *v) {
    if (v->is_part)
        return name_files(v);
    pith_status rc = pithp_folder_lock(v->s, &v->location);
    if (rc != PITH_OK)
        return rc;
    rc = check_parts(v);
    if (rc == PITH_OK)
        rc = v->options.keep ? commit_member(v) : commit_single(v);
    else
        withdraw(v);
    pithp_folder_unlock(&v->location);
    return rc;
}

/* ---- Saving ---- */

static pith_status add_metadata(saver *v) {
    const pith_metadata *pair = v->options.metadata;
    for (; pair && pair->key; pair++) {
        pith_metadata *row = pithp_document_add(&v->d, metadata);
        if (row) {
            row->key = pithp_document_text(&v->d, pair->key, strlen(pair->key));
            row->value = pithp_document_text(&v->d, pair->value, strlen(pair->value));
        }
        if (!row || !row->key || !row->value)
            return pithp_fail_memory(v->s, sizeof *row);
    }
    v->options.metadata = NULL;
    return PITH_OK;
}

static pith_status
prepare(saver *v, pithp_capture_function *capture, const void *source, const char *path) {
    pith_status rc;
    v->d.library = PITH_VERSION_TEXT;
    v->d.step = v->options.step;
    PITH_TRY(add_metadata(v));
    PITH_TRY(capture(v->s, source, &v->d, &v->arrays));
    PITH_TRY(choose_places(v));
    if (!pithp_sidecar_name_tensors(&v->d))
        return pithp_fail_memory(v->s, 0);
    const char *shown = pithp_document_text(&v->d, path, strlen(path));
    if (!shown)
        return pithp_fail_memory(v->s, strlen(path));
    rc = pithp_location_open(v->s, path, &v->location);
    v->location.shown = shown;
out:
    return rc;
}

/* Discard the written files and start over. */
static pith_status start_again(saver *v) {
    pithp_writer_close(&v->sidecar);
    pithp_release(v->s->runtime, v->order, (size_t)v->order_count * sizeof *v->order);
    v->order = NULL;
    v->order_count = 0;
    v->fresh = NULL;
    v->header.length = 0;
    v->d.sidecars.count = 0;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        leaf->sidecar = 0;
        leaf->compressed = false;
        leaf->frames = NULL;
        leaf->frame_count = 0;
    }
    return pithp_sidecar_name_tensors(&v->d) ? PITH_OK : pithp_fail_memory(v->s, 0);
}

static pith_status write_files(saver *v) {
    pith_status rc;
    PITH_TRY(pithp_saving_write_sidecar(v));
    if (v->job && v->job->rank != v->job->leader)
        return PITH_OK; /* the first rank names the part */
    PITH_TRY(write_document(v));
    rc = commit(v);
out:
    if (rc != PITH_OK && v->document.name[0] &&
        pithp_folder_lock(v->s, &v->location) == PITH_OK) {
        withdraw(v);
        pithp_folder_unlock(&v->location);
    }
    return rc;
}

pith_status pithp_saving_write(pithp_saving *v) {
    pith_status rc;
    PITH_TRY(pithp_synchronise(v->s));
    if (!pithp_scope_device(v->s)->backend->addressable) {
        v->staging = pithp_allocate(v->s->runtime, PITHP_STAGING_BYTES);
        if (!v->staging)
            return pithp_fail_memory(v->s, PITHP_STAGING_BYTES);
    }
    PITH_TRY(check_bools(v));
    if (!v->is_part) /* one rank does it for all of them */
        PITH_TRY(pithp_folder_sweep(v->s, &v->location));
    PITH_TRY(read_inline_leaves(v));
    if (v->options.incremental)
        PITH_TRY(pithp_incremental_reuse(v->s, &v->d, v->arrays, &v->location,
                                         v->options.check_shared, v->staging));
    rc = write_files(v);
    if (rc == PITH_OK && v->lost) {
        PITH_TRY(start_again(v));
        rc = write_files(v);
    }
out:
    return rc;
}

pithp_saving *pithp_saving_begin(pith_scope *s,
                                 pithp_capture_function *capture,
                                 const void *source,
                                 const char *path,
                                 const pith_save_options *options) {
    saver *v = pithp_allocate(s->runtime, sizeof *v);
    if (!v) {
        pithp_fail_memory(s, sizeof *v);
        return NULL;
    }
    *v = (saver){.s = s,
                 .options = *options,
                 .location = {.folder = -1},
                 .packed = -1,
                 .sidecar = {.file = -1, .rt = s->runtime},
                 .document = {.file = -1, .rt = s->runtime}};
    pithp_document_begin(&v->d, s->runtime);
    pithp_string_begin(&v->header, s->runtime);
    if (prepare(v, capture, source, path) == PITH_OK)
        return v;
    pithp_saving_end(v);
    return NULL;
}

void pithp_saving_sweep_parts(pithp_saving *v, uint64_t number) {
    pith_scope *fresh = pith_scope_open(v->s->runtime); /* that v->s has failed is fine */
    if (!pithp_scope_writable(fresh))
        return;
    pithp_parts_sweep(fresh, &v->location, number);
    pith_clear(fresh);
    pith_scope_close(fresh);
}

void pithp_saving_from(pithp_saving *v, pithp_leaf_stream *stream, void *source) {
    v->stream = stream;
    v->source = source;
}

void pithp_saving_end(pithp_saving *v) {
    pith_runtime *rt = v->s->runtime;
    pithp_writer_close(&v->sidecar);
    pithp_writer_close(&v->document);
    if (v->packed >= 0)
        close(v->packed);
    pithp_compressor_end(&v->compressor, rt);
    pithp_string_end(&v->header);
    pithp_release(rt, v->order, (size_t)v->order_count * sizeof *v->order);
    pithp_release(rt, v->staging, PITHP_STAGING_BYTES);
    pithp_document_end(&v->d);
    pithp_location_close(&v->location);
    pithp_release(rt, v, sizeof *v);
}
