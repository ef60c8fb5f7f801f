/* Parts as files: their names, and what the document says of them. */
#include "checkpoint/save/parted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t pithp_part_number(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t seed[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                             (uint64_t)getpid()};
    return pithp_hash(0, seed, sizeof seed);
}

bool pithp_part_name(const char *document,
                     uint64_t number,
                     int64_t rank,
                     int64_t ranks,
                     char name[256]) {
    char stem[256];
    pithp_part_stem(document, stem);
    return snprintf(name, 256, "%s.%016llx.r%04dof%04d.json", stem,
                    (unsigned long long)number, (int)rank, (int)ranks) < 256;
}

const char *pithp_part_path(pith_scope *s, const char *path, const char *file) {
    char *resolved = realpath(path, NULL);
    const char *at = resolved ? resolved : path, *slash = strrchr(at, '/');
    const size_t folder = slash ? (size_t)(slash - at) + 1 : 0,
                 bytes = folder + strlen(file) + 1;
    char *made = pithp_scope_allocate(s, bytes);
    if (made)
        snprintf(made, bytes, "%.*s%s", (int)folder, at, file);
    free(resolved);
    return made;
}

int pithp_part_find(int folder, const char *name, pithp_doc_part *row) {
    enum { DIGITS = PITHP_DIGEST_TEXT - 1, TAIL = DIGITS + 3 /* "}\n */ };
    char tail[TAIL];
    const int file = pithp_file_open(folder, name, &row->bytes);
    if (file < 0)
        return errno;
    const int error =
        row->bytes > TAIL ? pithp_file_read(file, tail, TAIL, row->bytes - TAIL) : -1;
    close(file);
    tail[DIGITS] = 0;
    return error ? error : pithp_digest_parse(tail, &row->digest) ? 0 : -1;
}

const char *pithp_part_trouble(int error, char *room, size_t bytes) {
    return error < 0 ? "it is not whole" : strerror_r(error, room, bytes);
}

/* Equal for leaves whose parts are equal. */
static pithp_digest digest_of(const pithp_document *d, const pithp_doc_leaf *row) {
    pithp_hasher h;
    pithp_hasher_begin(&h);
    pithp_hasher_add(&h, row->shard, strlen(row->shard));
    for (int64_t r = 0; r < d->parts.count; r++)
        pithp_hasher_add(&h, &d->parts.rows[r].digest, sizeof d->parts.rows[r].digest);
    return pithp_hasher_end(&h);
}

void pithp_parts_digest(pithp_document *d) {
    for (int64_t k = 0; k < d->leaves.count; k++)
        if (d->leaves.rows[k].shard)
            d->leaves.rows[k].digest = digest_of(d, &d->leaves.rows[k]);
}
