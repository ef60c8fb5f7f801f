/* One part for the ranks of a node: all of them write their shards at their places of one
 * sidecar, which follow from the shapes, and from the sizes of shards that are
 * compressed. Sizes and digests go through records behind the data: every rank reads the
 * sizes of the others, and the first one their digests; then it cuts the records off, and
 * names the part. Ranks of a node see what the others write at once, also on a network
 * file system. */
#include "checkpoint/save/parted.h"
#include "checkpoint/store/array_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_ALIGNMENT = 4096, LEAST_PAUSE_MS = 1, MOST_PAUSE_MS = 16 };

/* A record: its head is written last. */
typedef struct head {
    uint64_t id; /* of the save */
    uint64_t bytes;
} head;

int64_t pithp_node_part_rank(const pithp_document *d, int64_t leaf) {
    return atoll(d->nodes.rows[d->leaves.rows[leaf].node].name); /* its key begins so */
}

static bool is_of(const pithp_saving *v, int64_t leaf, int64_t rank) {
    return pithp_node_part_rank(&v->d, leaf) == rank;
}

static pith_status fail(pithp_saving *v, const char *call, int error) {
    char reason[128];
    return pithp_fail(v->s, PITH_E_IO, NULL, "cannot write \"%s\": %s: %s",
                      v->location.shown, call, strerror_r(error, reason, sizeof reason));
}

static pith_status give_up(pithp_saving *v) {
    return pithp_fail(v->s, PITH_E_PEER, NULL, "\"%s\": another rank has failed",
                      v->location.shown);
}

/* ---- Records ---- */

static size_t most_frames(const pithp_doc_leaf *leaf) {
    return leaf->level && leaf->bytes ? (leaf->bytes - 1) / PITHP_CHUNK_BYTES + 1 : 0;
}

/* Where records begin: behind any header and data of these leaves. */
static off_t find_records(const pithp_saving *v) {
    size_t most = RECORD_ALIGNMENT;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        const size_t frames = most_frames(leaf) * PITHP_FRAME_MOST,
                     name = 6 * strlen(leaf->tensor), other = 400; /* in the header */
        most += (frames ? frames : leaf->bytes) + name + other;
    }
    return (off_t)(most / RECORD_ALIGNMENT * RECORD_ALIGNMENT + RECORD_ALIGNMENT);
}

/* Each rank has two records, of sizes and of digests, with room for those of all leaves.
 */
static off_t record_at(const pithp_saving *v, int64_t rank, pithp_parted_stage stage) {
    size_t frames = 0;
    for (int64_t i = 0; i < v->d.leaves.count; i++)
        frames += most_frames(&v->d.leaves.rows[i]);
    const size_t count = (size_t)v->d.leaves.count,
                 sizes = sizeof(head) + count * sizeof(uint64_t),
                 digests = sizeof(head) + count * sizeof(pithp_digest) +
                           frames * sizeof(pithp_zstd_frame);
    return v->records_at + (off_t)((size_t)(rank - v->job->leader) * (sizes + digests)) +
           (stage == PITHP_STAGE_SIZES ? 0 : (off_t)sizes);
}

static pith_status
write_record(pithp_saving *v, pithp_parted_stage stage, const pithp_string *body) {
    const int file = v->job->node_file;
    const off_t at = record_at(v, v->job->rank, stage);
    const head h = {v->job->id, body->length};
    if (body->failed)
        return pithp_fail_memory(v->s, body->capacity);
    const pith_status rc =
        pithp_node_part_put(v, file, body->bytes, body->length, at + (off_t)sizeof h);
    return rc == PITH_OK ? pithp_node_part_put(v, file, &h, sizeof h, at) : rc;
}

/* Wait for the record of a rank, and read it. */
static pith_status
read_record(pithp_saving *v, int64_t rank, pithp_parted_stage stage, pithp_string *body) {
    const off_t at = record_at(v, rank, stage);
    head h = {.id = 0};
    int pause = LEAST_PAUSE_MS;
    while (pithp_file_read(v->job->node_file, &h, sizeof h, (size_t)at) != 0 ||
           h.id != v->job->id) {
        if (!pithp_parted_pause(v->job, pause))
            return give_up(v);
        pause = pause < MOST_PAUSE_MS ? 2 * pause : pause;
    }
    body->length = 0;
    for (size_t n = 0; n < h.bytes && !body->failed; n += RECORD_ALIGNMENT) {
        static const char zeros[RECORD_ALIGNMENT];
        const size_t rest = h.bytes - n;
        pithp_string_add_n(body, zeros,
                           rest < RECORD_ALIGNMENT ? rest : RECORD_ALIGNMENT);
    }
    if (body->failed)
        return pithp_fail_memory(v->s, h.bytes);
    const int error =
        pithp_file_read(v->job->node_file, body->bytes, h.bytes, (size_t)at + sizeof h);
    return error ? fail(v, "read", error > 0 ? error : EIO) : PITH_OK;
}

/* ---- Sizes ---- */

/* Bytes of frames of the leaves of this rank; 0 if a leaf is not compressed. */
static void print_sizes(const pithp_saving *v, pithp_string *body) {
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        const pithp_zstd_frame *last =
            leaf->compressed ? &leaf->frames[leaf->frame_count - 1] : NULL;
        const uint64_t bytes = last ? last->begin + last->bytes : 0;
        if (is_of(v, i, v->job->rank))
            pithp_string_add_n(body, (const char *)&bytes, sizeof bytes);
    }
}

static pith_status take_sizes(pithp_saving *v, int64_t rank, const pithp_string *body) {
    size_t at = 0;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        uint64_t bytes;
        if (!is_of(v, i, rank) || at + sizeof bytes > body->length)
            continue;
        memcpy(&bytes, body->bytes + at, sizeof bytes);
        at += sizeof bytes;
        leaf->packed = bytes;
        leaf->compressed = bytes != 0;
        if (bytes && !pithp_sidecar_name_tensor(&v->d, i))
            return pithp_fail_memory(v->s, 0);
    }
    return PITH_OK;
}

static pith_status exchange_sizes(pithp_saving *v, pithp_string *body) {
    const pithp_parted_job *j = v->job;
    v->records_at = find_records(v);
    pith_status rc = pithp_node_part_pack(v);
    if (rc == PITH_OK) {
        print_sizes(v, body);
        rc = write_record(v, PITHP_STAGE_SIZES, body);
    }
    const bool go_on = pithp_parted_stage_done(v->job, rc);
    if (rc == PITH_OK && !go_on)
        rc = give_up(v);
    for (int64_t r = j->leader; rc == PITH_OK && r < j->leader + j->node_ranks; r++) {
        rc = read_record(v, r, PITHP_STAGE_SIZES, body);
        if (rc == PITH_OK)
            rc = take_sizes(v, r, body);
    }
    return rc;
}

pith_status pithp_node_part_sizes(pithp_saving *v) {
    pithp_string body;
    pithp_string_begin(&body, v->s->runtime);
    const pith_status rc = exchange_sizes(v, &body);
    pithp_string_end(&body);
    return rc;
}

/* ---- The shards of this rank ---- */

typedef struct placing {
    pithp_saving *v;
    off_t at;
    pithp_hasher hasher;
} placing;

static pith_status
place_chunk(void *closure, const void *bytes, size_t offset, size_t n) {
    placing *p = closure;
    const int file = p->v->job->node_file;
    pith_status rc = PITH_OK;
    for (size_t at = 0; rc == PITH_OK && at < n; at += PITHP_CHUNK_BYTES) {
        const size_t some = n - at < PITHP_CHUNK_BYTES ? n - at : PITHP_CHUNK_BYTES;
        const char *chunk = (const char *)bytes + at;
        const off_t to = p->at + (off_t)(offset + at);
        pithp_hasher_add(&p->hasher, chunk, some);
        rc = pithp_node_part_put(p->v, file, chunk, some, to);
        if (rc == PITH_OK) /* a hint: start the write-back */
            (void)!sync_file_range(file, to, (off_t)some, SYNC_FILE_RANGE_WRITE);
    }
    return rc;
}

static pith_status write_leaf(pithp_saving *v, int64_t number, size_t *packed) {
    pithp_doc_leaf *leaf = &v->d.leaves.rows[number];
    const off_t at = (off_t)(v->d.sidecars.rows[leaf->sidecar].data + leaf->begin);
    placing p = {.v = v, .at = at};
    if (leaf->compressed) {
        *packed += leaf->packed;
        return pithp_node_part_copy(v, v->packed, (off_t)(*packed - leaf->packed),
                                    leaf->packed, v->job->node_file, at);
    }
    pithp_hasher_begin(&p.hasher);
    const pith_status rc = pithp_array_stream(v->s, v->arrays[number], v->staging,
                                              PITHP_STAGING_BYTES, place_chunk, &p);
    leaf->digest = pithp_hasher_end(&p.hasher);
    return rc;
}

/* Write the shards of this rank, and then its record. */
static pith_status write_shards(pithp_saving *v, pithp_string *body) {
    size_t packed = 0;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        const pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        if (!is_of(v, i, v->job->rank))
            continue;
        if (write_leaf(v, i, &packed) != PITH_OK)
            return v->s->error.code;
        pithp_string_add_n(body, (const char *)&leaf->digest, sizeof leaf->digest);
        if (leaf->compressed)
            pithp_string_add_n(body, (const char *)leaf->frames,
                               (size_t)leaf->frame_count * sizeof *leaf->frames);
    }
    if (fdatasync(v->job->node_file) != 0)
        return fail(v, "fdatasync", errno);
    return write_record(v, PITHP_STAGE_PLACES, body);
}

/* ---- The first rank ---- */

static bool take_bytes(const pithp_string *body, size_t *at, void *to, size_t n) {
    const bool fits = n <= body->length - *at;
    if (fits && n)
        memcpy(to, body->bytes + *at, n);
    *at += fits ? n : 0;
    return fits;
}

static pith_status take_digests(pithp_saving *v, int64_t rank, const pithp_string *body) {
    size_t at = 0;
    bool complete = true;
    for (int64_t i = 0; i < v->d.leaves.count; i++) {
        pithp_doc_leaf *leaf = &v->d.leaves.rows[i];
        if (!is_of(v, i, rank))
            continue;
        if (leaf->compressed && pithp_saving_frames(v, leaf) != PITH_OK)
            return v->s->error.code;
        complete &= take_bytes(body, &at, &leaf->digest, sizeof leaf->digest) &&
                    take_bytes(body, &at, leaf->frames,
                               (size_t)leaf->frame_count * sizeof *leaf->frames);
    }
    return complete ? PITH_OK : fail(v, "read", EIO);
}

static pith_status finish(pithp_saving *v, pithp_string *body) {
    const pithp_parted_job *j = v->job;
    const size_t total = v->d.sidecars.rows[v->d.sidecars.count - 1].bytes;
    for (int64_t r = j->leader; r < j->leader + j->node_ranks; r++)
        if (read_record(v, r, PITHP_STAGE_PLACES, body) != PITH_OK ||
            take_digests(v, r, body) != PITH_OK)
            return v->s->error.code;
    pithp_writer_put_first(&v->sidecar, v->header.bytes, v->header.length);
    if (!v->sidecar.error && ftruncate(v->sidecar.file, (off_t)total) != 0)
        return fail(v, "ftruncate", errno);
    pithp_writer_sync(&v->sidecar);
    return pithp_writer_status(v->s, &v->sidecar, v->location.shown);
}

pith_status pithp_node_part_write(pithp_saving *v) {
    pithp_string body;
    pithp_string_begin(&body, v->s->runtime);
    pith_status rc = write_shards(v, &body);
    const bool go_on = pithp_parted_stage_done(v->job, rc);
    if (rc == PITH_OK && v->job->rank == v->job->leader)
        rc = go_on ? finish(v, &body) : give_up(v);
    pithp_string_end(&body);
    return rc;
}

pith_status pithp_node_part_open(pithp_parted_job *j, const char *temporary) {
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    char reason[128];
    j->node_file = openat(j->location.folder, temporary, flags);
    if (j->node_file >= 0)
        return PITH_OK;
    return pithp_fail(
        j->s, PITH_E_IO, NULL,
        "cannot write \"%s\": open \"%s\" of rank %" PRId64 " on this node: %s", j->path,
        temporary, j->leader, strerror_r(errno, reason, sizeof reason));
}
