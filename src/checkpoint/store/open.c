/* Opening a checkpoint: reads and verifies its document and opens its sidecars, so that
 * later changes of the folder do not affect it. */
#include "checkpoint/store/open.h"

#include "base/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 16 }; /* attempts before the folder is locked */

static const char tag[] = "checkpoint"; /* the shape of these objects: its address */

bool pithp_checkpoint_valid(const pith_checkpoint *c) {
    pithp_block *block = NULL;
    return pithp_pointer_check(c, &block) == PITHP_POINTER_OK &&
           pithp_header_of(c)->kind == PITHP_KIND_OTHER &&
           pithp_header_of(c)->descriptor == tag;
}

static void close_sidecars(pith_checkpoint *c) {
    for (int i = 0; i < PITHP_SIDECARS; i++) {
        if (c->sidecars[i].file >= 0)
            close(c->sidecars[i].file);
        c->sidecars[i].file = -1;
    }
}

static void empty(pith_runtime *rt, pith_checkpoint *c) {
    close_sidecars(c);
    pithp_parts_close(rt, c);
    pithp_decompressor_end(c->decompressor, rt);
    pithp_release(rt, c->order, (size_t)c->order_count * sizeof *c->order);
    pithp_document_end(&c->document);
}

static void release(pith_scope *s, void *thing) {
    pith_checkpoint *c = thing;
    empty(s->runtime, c);
    pithp_header_of(c)->kind = PITHP_KIND_FREE;
}

void pithp_checkpoint_part_close(pith_runtime *rt, pith_checkpoint *c) {
    empty(rt, c);
    pithp_release(rt, c, sizeof *c);
}

void pithp_checkpoint_close(pith_scope *s, pith_checkpoint *c) {
    pithp_hold_drop(s, c->hold);
}

/* ---- The document ---- */

static pith_status
io_error(pith_scope *s, const char *shown, const char *call, int error) {
    char reason[128];
    return pithp_fail(s, PITH_E_IO, NULL, "cannot %s \"%s\": %s", call, shown,
                      error < 0 ? "it became shorter while it was read"
                                : strerror_r(error, reason, sizeof reason));
}

static pith_status
read_document(pith_scope *s, pith_checkpoint *c, int file, size_t bytes) {
    char *text = pithp_allocate(s->runtime, bytes);
    if (!text)
        return pithp_fail_memory(s, bytes);
    const int error = pithp_file_read(file, text, bytes, 0);
    const pith_status rc =
        error ? io_error(s, c->shown, "read", error)
              : pithp_document_parse(s, &c->document, c->shown, text, bytes);
    pithp_release(s->runtime, text, bytes);
    return rc;
}

/* ---- Sidecars ---- */

static void trouble(pithp_open_sidecar *o, pith_status code, const char *format, ...)
    PITH_FORMAT(3, 4);

static void trouble(pithp_open_sidecar *o, pith_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(o->text, sizeof o->text, format, arguments);
    va_end(arguments);
    o->trouble = code;
}

/* The checksum of a sidecar in the document starts with its header. */
static pithp_digest
header_digest(const pith_checkpoint *c, const void *header, size_t bytes) {
    return c->document.format == 1 ? pithp_sidecar_digest(&c->document, header, bytes,
                                                          c->order, c->order_count)
                                   : pithp_digest_of(header, bytes);
}

static pith_status
check_header(pith_scope *s, pith_checkpoint *c, const pithp_doc_sidecar *row) {
    pithp_open_sidecar *o = &c->sidecars[row - c->document.sidecars.rows];
    char reason[128];
    void *header = pithp_allocate(s->runtime, row->data);
    if (!header)
        return pithp_fail_memory(s, row->data);
    const int error = pithp_file_read(o->file, header, row->data, 0);
    if (error)
        trouble(o, PITH_E_IO, "cannot read \"%s\": %s", row->file,
                error < 0 ? "it became shorter"
                          : strerror_r(error, reason, sizeof reason));
    else if (!pithp_digest_equal(row->digest, header_digest(c, header, row->data)))
        trouble(o, PITH_E_FORMAT,
                "the header of \"%s\" is damaged: its checksum does not match",
                row->file);
    pithp_release(s->runtime, header, row->data);
    return PITH_OK;
}

static pith_status check_sidecar(pith_scope *s,
                                 pith_checkpoint *c,
                                 const pithp_doc_sidecar *row,
                                 size_t bytes,
                                 int error) {
    pithp_open_sidecar *o = &c->sidecars[row - c->document.sidecars.rows];
    char reason[128];
    if (o->file < 0)
        trouble(o, PITH_E_IO, "cannot open the sidecar \"%s\": %s", row->file,
                error == EINVAL   ? "it is not a regular file"
                : error == ELOOP  ? "it is a symbolic link"
                : error == ENOENT ? "it is not in the folder of the document"
                                  : strerror_r(error, reason, sizeof reason));
    else if (bytes != row->bytes)
        trouble(o, PITH_E_FORMAT, "the sidecar \"%s\" has %zu bytes, expected %zu",
                row->file, bytes, row->bytes);
    else
        return check_header(s, c, row);
    return PITH_OK;
}

pith_status pithp_checkpoint_trouble(pith_scope *s,
                                     const pith_checkpoint *c,
                                     const pithp_doc_leaf *leaf) {
    for (int64_t i = 0; i < c->document.sidecars.count; i++) {
        const pithp_open_sidecar *o = &c->sidecars[i];
        if (o->trouble && (!leaf || (leaf->in_sidecar && leaf->sidecar == i)))
            return pithp_fail(s, o->trouble, NULL, "%s", o->text);
    }
    return leaf && pithp_leaf_is_parted(leaf) ? pithp_parted_check(s, c, leaf, true)
                                              : PITH_OK;
}

/* ---- A consistent set of files ---- */

typedef struct files {
    int document; /* descriptor; -1: not open */
    size_t document_bytes, sidecar_bytes[PITHP_SIDECARS];
    int errors[PITHP_SIDECARS]; /* errno of each sidecar that could not be opened */
    char head[PITHP_HEAD_BYTES + 1];
    pithp_claims sidecars;
} files;

static void close_files(pith_checkpoint *c, files *f) {
    if (f->document >= 0)
        close(f->document);
    f->document = -1;
    close_sidecars(c);
}

static bool was_replaced(const pithp_location *location, int file) {
    struct stat before, now;
    if (fstat(file, &before) != 0)
        return false;
    if (fstatat(location->folder, location->name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    return before.st_ino != now.st_ino || before.st_dev != now.st_dev;
}

/* One attempt. *moved: between the opens of document and sidecars, a writer replaced the
 * document and removed a sidecar. */
static pith_status open_files(pith_scope *s,
                              pith_checkpoint *c,
                              const pithp_location *location,
                              files *f,
                              bool *moved) {
    close_files(c, f);
    *moved = false;
    f->document = pithp_file_open(location->folder, location->name, &f->document_bytes);
    if (f->document < 0)
        return errno == ENOENT ? pithp_series_no_file(s, location)
                               : io_error(s, c->shown, "open", errno);
    const int error = pithp_head_read(f->document, f->document_bytes, f->head);
    if (error)
        return io_error(s, c->shown, "read", error);
    if (!pithp_head_is_checkpoint(f->head)) /* before memory is allocated */
        return pithp_fail(s, PITH_E_FORMAT, NULL, "\"%s\" is not a pith checkpoint",
                          c->shown);
    if (!pithp_head_claims(f->head, &f->sidecars))
        f->sidecars.count = 0; /* the parser reports the error */
    for (int i = 0; i < f->sidecars.count && !*moved; i++) {
        const int file = pithp_file_open(location->folder, f->sidecars.rows[i].file,
                                         &f->sidecar_bytes[i]);
        c->sidecars[i].file = file;
        f->errors[i] = file < 0 ? errno : 0;
        *moved = f->errors[i] == ENOENT && was_replaced(location, f->document);
    }
    return PITH_OK;
}

/* Only names are looked up between the opens, so one attempt nearly always succeeds,
 * however large the files are. After repeated races with writers, take the commit
 * lock. */
static pith_status
open_set(pith_scope *s, pith_checkpoint *c, const pithp_location *location, files *f) {
    bool moved = true;
    for (int i = 0; moved && i < TRIES; i++) {
        const pith_status rc = open_files(s, c, location, f, &moved);
        if (rc != PITH_OK)
            return rc;
    }
    if (!moved)
        return PITH_OK;
    pith_status rc = pithp_folder_lock(s, location);
    if (rc == PITH_OK) {
        rc = open_files(s, c, location, f, &moved);
        pithp_folder_unlock(location);
    }
    return rc;
}

static pith_status check_sidecars(pith_scope *s, pith_checkpoint *c, const files *f) {
    const pithp_document *d = &c->document;
    bool same = d->sidecars.count == f->sidecars.count;
    for (int64_t i = 0; same && i < d->sidecars.count; i++)
        same = strcmp(d->sidecars.rows[i].file, f->sidecars.rows[i].file) == 0;
    if (!same)
        return pithp_fail(s, PITH_E_FORMAT, NULL,
                          "\"%s\" does not name its sidecars at the start", c->shown);
    if (d->sidecars.count == 0)
        return PITH_OK;
    pith_status rc = pithp_sidecar_order(s, d, c->shown, &c->order, &c->order_count);
    for (int64_t i = 0; rc == PITH_OK && i < d->sidecars.count; i++)
        rc = check_sidecar(s, c, &d->sidecars.rows[i], f->sidecar_bytes[i], f->errors[i]);
    for (int64_t i = 0; rc == PITH_OK && i < c->order_count && !c->decompressor; i++)
        if (d->leaves.rows[c->order[i]].compressed &&
            !(c->decompressor = pithp_decompressor_make(s->runtime, d)))
            rc = pithp_fail_memory(s, 0);
    return rc;
}

/* Parts are opened when they are read. */
static pith_status
open_folder(pith_scope *s, pith_checkpoint *c, const pithp_location *location) {
    const size_t bytes = (size_t)c->document.parts.count * sizeof *c->parts;
    c->folder = fcntl(location->folder, F_DUPFD_CLOEXEC, 0);
    if (c->folder < 0)
        return io_error(s, c->shown, "open the folder of", errno);
    c->parts = pithp_allocate(s->runtime, bytes);
    c->open_parts = pithp_allocate(s->runtime, bytes);
    if (!c->parts || !c->open_parts)
        return pithp_fail_memory(s, bytes);
    memset(c->parts, 0, bytes);
    return PITH_OK;
}

static pith_status
open_all(pith_scope *s, pith_checkpoint *c, const pithp_location *location) {
    files f = {.document = -1};
    pith_status rc = open_set(s, c, location, &f);
    if (rc == PITH_OK)
        rc = read_document(s, c, f.document, f.document_bytes);
    if (rc == PITH_OK)
        rc = check_sidecars(s, c, &f);
    if (f.document >= 0)
        close(f.document);
    if (rc == PITH_OK && c->document.parts.count)
        rc = open_folder(s, c, location);
    return rc;
}

static void fill_info(pith_checkpoint *c) {
    const pithp_document *d = &c->document;
    c->info = (pith_checkpoint_info){.format = d->format,
                                     .library = d->library,
                                     .step = d->step,
                                     .node_count = d->nodes.count,
                                     .leaf_count = d->leaves.count,
                                     .metadata_count = d->metadata.count,
                                     .document_bytes = d->bytes,
                                     .leaf_bytes = pithp_document_leaf_bytes(d),
                                     .sidecar_count = d->sidecars.count,
                                     .part_count = d->parts.count,
                                     .mesh = d->mesh};
    for (int64_t i = 0; i < d->sidecars.count; i++)
        c->info.sidecar_bytes += d->sidecars.rows[i].bytes;
    for (int64_t i = 0; i < c->order_count; i++) {
        const pithp_doc_leaf *leaf = &d->leaves.rows[c->order[i]];
        c->sidecars[leaf->sidecar].leaf_count++;
        c->sidecars[leaf->sidecar].leaf_bytes += leaf->end - leaf->begin;
    }
}

static void begin(pith_runtime *rt, pith_checkpoint *c, const char *shown) {
    for (int i = 0; i < PITHP_SIDECARS; i++)
        c->sidecars[i].file = -1;
    c->folder = -1;
    snprintf(c->shown, sizeof c->shown, "%s", shown);
    pithp_document_begin(&c->document, rt);
}

static pith_checkpoint *make(pith_scope *s, const char *shown) {
    pith_checkpoint *c = pithp_object_make(s, PITHP_KIND_OTHER, tag, sizeof *c);
    if (!c)
        return NULL;
    begin(s->runtime, c, shown);
    c->hold = pithp_scope_hold(s, c, release);
    if (!c->hold) {
        pithp_header_of(c)->kind = PITHP_KIND_FREE;
        return NULL;
    }
    return c;
}

pith_checkpoint *pithp_checkpoint_part_open(pith_scope *s,
                                            const pithp_location *location) {
    pith_checkpoint *c = pithp_allocate(s->runtime, sizeof *c);
    if (!c) {
        pithp_fail_memory(s, sizeof *c);
        return NULL;
    }
    *c = (pith_checkpoint){.hold = NULL};
    begin(s->runtime, c, location->shown);
    if (open_all(s, c, location) == PITH_OK) {
        fill_info(c);
        return c;
    }
    pithp_checkpoint_part_close(s->runtime, c);
    return NULL;
}

/* Fill in the info, or close the checkpoint after an error. */
static pith_checkpoint *finish(pith_scope *s, pith_checkpoint *c, pith_status rc) {
    if (rc != PITH_OK) {
        pithp_checkpoint_close(s, c);
        return NULL;
    }
    fill_info(c);
    return c;
}

pith_checkpoint *pithp_checkpoint_open_at(pith_scope *s, const pithp_location *location) {
    pith_checkpoint *c = make(s, location->shown);
    return c ? finish(s, c, open_all(s, c, location)) : NULL;
}

pith_checkpoint *pithp_checkpoint_parse(pith_scope *s, const char *text, size_t bytes) {
    pith_checkpoint *c = make(s, "a document in memory");
    if (!c)
        return NULL;
    pith_status rc = pithp_document_parse(s, &c->document, c->shown, text, bytes);
    if (rc == PITH_OK && (c->document.sidecars.count || c->document.parts.count))
        rc = pithp_fail(s, PITH_E_FORMAT, NULL,
                        "the document in memory has a %s, expected inline leaves only",
                        c->document.sidecars.count ? "sidecar" : "part");
    return finish(s, c, rc);
}

pith_checkpoint *pithp_checkpoint_open(pith_scope *s, const char *path) {
    pithp_location location;
    pith_checkpoint *c = pithp_location_open(s, path, &location) == PITH_OK
                             ? pithp_checkpoint_open_at(s, &location)
                             : NULL;
    pithp_location_close(&location);
    return c;
}

/* ---- Leaves ---- */

static pith_status read_stored(pith_scope *s,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               size_t offset,
                               void *to,
                               size_t n) {
    const pithp_doc_sidecar *file = &c->document.sidecars.rows[leaf->sidecar];
    const int error = pithp_file_read(c->sidecars[leaf->sidecar].file, to, n,
                                      file->data + leaf->begin + offset);
    return error ? io_error(s, file->file, "read", error) : PITH_OK;
}

static pith_status
damaged(pith_scope *s, const pith_checkpoint *c, const pithp_doc_leaf *leaf) {
    char path[PITHP_PATH_BYTES];
    return pithp_fail(
        s, PITH_E_FORMAT, pithp_document_error_path(&c->document, leaf->node, path),
        "damaged in \"%s\": its checksum does not match",
        leaf->in_sidecar ? c->document.sidecars.rows[leaf->sidecar].file : c->shown);
}

/* Read elements of a compressed leaf. A frame needed in full is decompressed to its
 * destination. The last partial frame is cached for sequential readers. */
static pith_status unpack_part(pith_scope *s,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               size_t offset,
                               char *to,
                               size_t n) {
    pithp_decompressor *u = c->decompressor;
    while (n) {
        const pithp_zstd_frame *frame = &leaf->frames[offset / PITHP_CHUNK_BYTES];
        const size_t within = offset % PITHP_CHUNK_BYTES, begin = offset - within;
        const size_t rest = leaf->bytes - begin;
        const size_t all = rest < PITHP_CHUNK_BYTES ? rest : PITHP_CHUNK_BYTES;
        const size_t piece = n < all - within ? n : all - within;
        const char *kept = pithp_decompressor_find(u, frame);
        if (!kept) {
            const pith_status rc = read_stored(
                s, c, leaf, frame->begin, pithp_decompressor_buffer(u), frame->bytes);
            if (rc != PITH_OK)
                return rc;
            kept = piece == all ? NULL : pithp_decompress_kept(u, frame, all);
            if (piece == all ? !pithp_decompress(u, frame, to, all) : !kept)
                return damaged(s, c, leaf);
        }
        if (kept)
            memcpy(to, kept + within, piece);
        offset += piece;
        to += piece;
        n -= piece;
    }
    return PITH_OK;
}

pith_status pithp_leaf_read_bytes(pith_scope *s,
                                  const pith_checkpoint *c,
                                  const pithp_doc_leaf *leaf,
                                  size_t offset,
                                  void *to,
                                  size_t n) {
    if (n == 0)
        return PITH_OK;
    if (pithp_leaf_is_parted(leaf))
        return pithp_parted_read(s, c, leaf, offset, to, n);
    if (!leaf->in_sidecar) {
        memcpy(to, (const char *)leaf->data + offset, n);
        return PITH_OK;
    }
    const pith_status rc = pithp_checkpoint_trouble(s, c, leaf);
    if (rc != PITH_OK)
        return rc;
    return leaf->compressed ? unpack_part(s, c, leaf, offset, to, n)
                            : read_stored(s, c, leaf, offset, to, n);
}

pith_status pithp_leaf_read(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t number,
                            void *to,
                            void *staging,
                            pithp_chunk_sink sink,
                            void *closure) {
    const pithp_doc_leaf *leaf = &c->document.leaves.rows[number];
    pith_status rc = PITH_OK;
    pithp_hasher h;
    pithp_stray_bool stray = {.found = false};
    if (pithp_leaf_is_parted(leaf) && pithp_parted_is_joined(leaf))
        return pithp_parted_stream(s, c, leaf, to, sink, closure);
    pithp_hasher_begin(&h);
    for (size_t at = 0; rc == PITH_OK && at < leaf->bytes; at += PITHP_CHUNK_BYTES) {
        const size_t rest = leaf->bytes - at;
        const size_t n = rest < PITHP_CHUNK_BYTES ? rest : PITHP_CHUNK_BYTES;
        void *piece = to ? (char *)to + at : staging;
        rc = pithp_leaf_read_bytes(s, c, leaf, at, piece, n);
        if (rc != PITH_OK)
            break;
        pithp_hasher_add(&h, piece, n);
        if (leaf->dtype == PITH_BOOL)
            pithp_stray_bool_find(&stray, piece, at, n);
        if (sink)
            rc = sink(closure, piece, at, n);
    }
    if (rc == PITH_OK && !pithp_leaf_is_parted(leaf) && /* whose pieces were verified */
        !pithp_digest_equal(pithp_hasher_end(&h), leaf->digest))
        return damaged(s, c, leaf);
    return rc == PITH_OK ? pithp_stray_bool_refuse(s, &c->document, leaf, &stray) : rc;
}
