/* One part for the ranks of a node: all of them write their shards at their places of one
 * sidecar, which follow from the shapes. Digests of the elements go through records
 * behind the data: the first rank of the node waits for those of the others, cuts them
 * off, and names the part. Ranks of a node see what the others write at once, also on a
 * network file system. */
#include "checkpoint/save/parted.h"
#include "checkpoint/store/array_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_ALIGNMENT = 4096, PAUSE_MS = 1 };

/* What a rank writes when its elements are on the disk; digests follow. */
typedef struct record {
    uint64_t id; /* of the save */
    int64_t count;
} record;

/* ---- Places ---- */

/* The rank whose shard a leaf of the part is: the number that its key begins with. */
static int64_t rank_of_leaf(const pithp_document *d, int64_t leaf) {
    return atoll(d->nodes.rows[d->leaves.rows[leaf].node].name);
}

static int64_t count_leaves(const pithp_saving *v, int64_t rank) {
    int64_t count = 0;
    for (int64_t i = 0; i < v->order_count; i++)
        count += rank_of_leaf(&v->d, v->order[i]) == rank;
    return count;
}

/* Where the record of a rank begins: room for the digests of all leaves for each. */
static off_t record_at(const pithp_saving *v, const pithp_parted_job *j, int64_t rank) {
    const size_t total = v->d.sidecars.rows[v->d.sidecars.count - 1].bytes,
                 each = sizeof(record) + (size_t)v->order_count * sizeof(pithp_digest);
    return (off_t)((total + RECORD_ALIGNMENT) / RECORD_ALIGNMENT * RECORD_ALIGNMENT +
                   (size_t)(rank - j->leader) * each);
}

/* ---- The shards of this rank ---- */

typedef struct placing {
    pithp_saving *v;
    int file;
    off_t at;
    pithp_hasher hasher;
} placing;

static pith_status fail(pithp_saving *v, const char *call, int error) {
    char reason[128];
    return pithp_fail(v->s, PITH_E_IO, NULL, "cannot write \"%s\": %s: %s",
                      v->location.shown, call, strerror_r(error, reason, sizeof reason));
}

static pith_status
write_at(pithp_saving *v, int file, const void *bytes, size_t n, off_t at) {
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

static pith_status
place_chunk(void *closure, const void *bytes, size_t offset, size_t n) {
    placing *p = closure;
    pith_status rc = PITH_OK;
    for (size_t at = 0; rc == PITH_OK && at < n; at += PITHP_CHUNK_BYTES) {
        const size_t some = n - at < PITHP_CHUNK_BYTES ? n - at : PITHP_CHUNK_BYTES;
        const char *chunk = (const char *)bytes + at;
        const off_t to = p->at + (off_t)(offset + at);
        pithp_hasher_add(&p->hasher, chunk, some);
        rc = write_at(p->v, p->file, chunk, some, to);
        if (rc == PITH_OK) /* a hint: start the write-back */
            (void)!sync_file_range(p->file, to, (off_t)some, SYNC_FILE_RANGE_WRITE);
    }
    return rc;
}

static pith_status write_leaf(pithp_saving *v, int file, int64_t number) {
    pithp_doc_leaf *leaf = &v->d.leaves.rows[number];
    placing p = {.v = v,
                 .file = file,
                 .at = (off_t)(v->d.sidecars.rows[leaf->sidecar].data + leaf->begin)};
    pithp_hasher_begin(&p.hasher);
    const pith_status rc = pithp_array_stream(v->s, v->arrays[number], v->staging,
                                              PITHP_STAGING_BYTES, place_chunk, &p);
    leaf->digest = pithp_hasher_end(&p.hasher);
    return rc;
}

/* Write the shards of this rank, and then its record. */
static pith_status write_shards(pithp_saving *v, const pithp_parted_job *j, int file) {
    const int64_t count = count_leaves(v, j->rank);
    const size_t bytes = sizeof(record) + (size_t)count * sizeof(pithp_digest);
    record *made = pithp_document_allocate(&v->d, bytes);
    if (!made)
        return pithp_fail_memory(v->s, bytes);
    *made = (record){j->id, count};
    pithp_digest *digest = (pithp_digest *)(void *)(made + 1);
    for (int64_t i = 0; i < v->order_count; i++) {
        if (rank_of_leaf(&v->d, v->order[i]) != j->rank)
            continue;
        if (write_leaf(v, file, v->order[i]) != PITH_OK)
            return v->s->error.code;
        *digest++ = v->d.leaves.rows[v->order[i]].digest;
    }
    if (fdatasync(file) != 0)
        return fail(v, "fdatasync", errno);
    return write_at(v, file, made, bytes, record_at(v, j, j->rank));
}

/* ---- The first rank ---- */

/* Whether a rank has written its record; then its digests are taken over. */
static bool take_record(pithp_saving *v,
                        const pithp_parted_job *j,
                        int file,
                        int64_t rank,
                        record *room,
                        size_t room_bytes) {
    const ssize_t n = pread(file, room, room_bytes, record_at(v, j, rank));
    const int64_t count = count_leaves(v, rank);
    if (n < (ssize_t)(sizeof *room + (size_t)count * sizeof(pithp_digest)) ||
        room->id != j->id || room->count != count)
        return false;
    const pithp_digest *digest = (const pithp_digest *)(const void *)(room + 1);
    for (int64_t i = 0; i < v->order_count; i++)
        if (rank_of_leaf(&v->d, v->order[i]) == rank)
            v->d.leaves.rows[v->order[i]].digest = *digest++;
    return true;
}

static pith_status give_up(pithp_saving *v) {
    return pithp_fail(v->s, PITH_E_PEER, NULL, "\"%s\": another rank has failed",
                      v->location.shown);
}

static pith_status take_records(pithp_saving *v, pithp_parted_job *j, int file) {
    const size_t bytes = sizeof(record) + (size_t)v->order_count * sizeof(pithp_digest);
    record *room = pithp_document_allocate(&v->d, bytes);
    if (!room)
        return pithp_fail_memory(v->s, bytes);
    for (int64_t rank = j->leader; rank < j->leader + j->node_ranks; rank++)
        while (!take_record(v, j, file, rank, room, bytes))
            if (!pithp_parted_pause(j, PAUSE_MS))
                return give_up(v);
    return PITH_OK;
}

static pith_status finish(pithp_saving *v) {
    const size_t total = v->d.sidecars.rows[v->d.sidecars.count - 1].bytes;
    pithp_writer_put_first(&v->sidecar, v->header.bytes, v->header.length);
    if (!v->sidecar.error && ftruncate(v->sidecar.file, (off_t)total) != 0)
        return fail(v, "ftruncate", errno);
    pithp_writer_sync(&v->sidecar);
    return pithp_writer_status(v->s, &v->sidecar, v->location.shown);
}

pith_status pithp_node_part_write(pithp_saving *v) {
    pithp_parted_job *j = v->job;
    const int file = j->node_file;
    pith_status rc = write_shards(v, j, file);
    const bool go_on = pithp_parted_region_done(j, rc);
    if (rc != PITH_OK || j->rank != j->leader)
        return rc;
    if (!go_on)
        return give_up(v);
    rc = take_records(v, j, file);
    return rc == PITH_OK ? finish(v) : rc;
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
