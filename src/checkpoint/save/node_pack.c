/* Compressed shards of a part that the ranks of a node share. Their places follow from
 * the sizes of all of them, which are known when all are compressed: until then they lie
 * in a file without a name, so that a rank needs no memory for them. */
#include "checkpoint/save/parted.h"
#include "checkpoint/store/array_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static pith_status fail(pithp_saving *v, const char *call, int error) {
    char reason[128];
    return pithp_fail(v->s, PITH_E_IO, NULL, "cannot write \"%s\": %s: %s",
                      v->location.shown, call, strerror_r(error, reason, sizeof reason));
}

pith_status
pithp_node_part_put(pithp_saving *v, int file, const void *bytes, size_t n, off_t at) {
    const char *from = bytes;
    while (n) {
        const ssize_t done = pwrite(file, from, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail(v, "pwrite", done < 0 ? errno : ENOSPC);
        from += done;
        at += done;
        n -= (size_t)done;
    }
    return PITH_OK;
}

pith_status
pithp_node_part_copy(pithp_saving *v, int from, off_t at, size_t n, int to, off_t to_at) {
    for (size_t done = 0; done < n;) {
        const size_t rest = n - done,
                     some = rest < PITHP_FRAME_MOST ? rest : PITHP_FRAME_MOST;
        void *buffer = v->compressor.compressed;
        const int error = pithp_file_read(from, buffer, some, (size_t)at + done);
        if (error)
            return fail(v, "read", error > 0 ? error : EIO);
        if (pithp_node_part_put(v, to, buffer, some, to_at + (off_t)done) != PITH_OK)
            return v->s->error.code;
        done += some;
    }
    return PITH_OK;
}

/* A file without a name, in the folder: it vanishes with the process. */
static pith_status open_file(pithp_saving *v) {
    char name[PITHP_TEMPORARY_NAME];
    const int flags = O_RDWR | O_CLOEXEC;
    v->packed = openat(v->location.folder, ".", O_TMPFILE | flags, 0600);
    if (v->packed >= 0)
        return PITH_OK;
    pithp_temporary_name(v->location.name, name); /* file systems that need a name */
    v->packed =
        openat(v->location.folder, name, O_CREAT | O_EXCL | O_NOFOLLOW | flags, 0600);
    if (v->packed < 0)
        return fail(v, "open", errno);
    unlinkat(v->location.folder, name, 0);
    return PITH_OK;
}

typedef struct packing {
    pithp_saving *v;
    pithp_doc_leaf *leaf;
    off_t *end; /* of the file */
    pithp_hasher hasher;
} packing;

static pith_status pack_chunk(void *closure, const void *bytes, size_t offset, size_t n) {
    packing *p = closure;
    pithp_saving *v = p->v;
    pith_status rc = PITH_OK;
    for (size_t at = 0; rc == PITH_OK && at < n; at += PITHP_CHUNK_BYTES) {
        const size_t some = n - at < PITHP_CHUNK_BYTES ? n - at : PITHP_CHUNK_BYTES;
        const char *chunk = (const char *)bytes + at;
        const int64_t number = (int64_t)((offset + at) / PITHP_CHUNK_BYTES);
        const pithp_zstd_frame *frame = &p->leaf->frames[number];
        pithp_hasher_add(&p->hasher, chunk, some);
        rc = pithp_saving_frame(v, p->leaf, number, chunk, some);
        if (rc == PITH_OK)
            rc = pithp_node_part_put(v, v->packed, v->compressor.compressed, frame->bytes,
                                     *p->end);
        *p->end += (off_t)frame->bytes;
    }
    return rc;
}

static pith_status pack_leaf(pithp_saving *v, int64_t number, off_t *end) {
    pithp_doc_leaf *leaf = &v->d.leaves.rows[number];
    packing p = {.v = v, .leaf = leaf, .end = end};
    if (pithp_saving_frames(v, leaf) != PITH_OK)
        return v->s->error.code;
    pithp_hasher_begin(&p.hasher);
    const pith_status rc = pithp_saving_elements(v, number, false, pack_chunk, &p);
    leaf->digest = pithp_hasher_end(&p.hasher);
    return rc;
}

pith_status pithp_node_part_pack(pithp_saving *v) {
    off_t end = 0;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        if (!leaf->level || !leaf->bytes ||
            pithp_node_part_rank(&v->d, i) != v->job->rank)
            continue;
        pith_status rc = pithp_saving_try_to_pack(v, i);
        if (rc == PITH_OK && leaf->compressed && v->packed < 0)
            rc = open_file(v);
        if (rc == PITH_OK && leaf->compressed)
            rc = pack_leaf(v, i, &end);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}
