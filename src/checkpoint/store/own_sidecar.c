/* Safe removal of sidecars. A document may name any file, so a sidecar is removed only if
 * its name, owner, size, header and checksum all show that it belongs to the document. */
#include "checkpoint/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pithp_file_unlink(int folder, const char *name, const struct stat *st) {
    struct stat now;
    if (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    return now.st_dev != st->st_dev || now.st_ino != st->st_ino ||
           unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}

typedef enum verdict {
    OURS,
    FOREIGN,
    UNKNOWN /* UNKNOWN: the file cannot be read now */
} verdict;

/* Whether a file starts with the header that the claim states, and pith wrote it. */
static verdict examine_header(int file, const pithp_claim *claim) {
    static const char ours[] = "{\"__metadata__\":{\"format\":\"pith\",\"version\":\"";
    enum { PIECE = 16384, LEAST = 8 + sizeof ours - 1 };
    char piece[PIECE];
    uint64_t length;
    pithp_hasher h;
    if (claim->data < LEAST || claim->data > claim->bytes)
        return FOREIGN;
    pithp_hasher_begin(&h);
    for (size_t at = 0; at < claim->data; at += PIECE) {
        const size_t rest = claim->data - at, n = rest < PIECE ? rest : PIECE;
        const int error = pithp_file_read(file, piece, n, at);
        if (error)
            return error < 0 ? FOREIGN : UNKNOWN;
        memcpy(&length, piece, sizeof length);
        if (at == 0 && (length != claim->data - sizeof length ||
                        memcmp(piece + sizeof length, ours, sizeof ours - 1) != 0))
            return FOREIGN;
        pithp_hasher_add(&h, piece, n);
    }
    return pithp_digest_equal(pithp_hasher_end(&h), claim->digest) ? OURS : FOREIGN;
}

static verdict examine(int file, const struct stat *st, const pithp_dropped *row) {
    return st->st_uid != row->owner || (size_t)st->st_size != row->claim.bytes
               ? FOREIGN
               : examine_header(file, &row->claim);
}

bool pithp_own_sidecar_remove(int folder, const pithp_dropped *row) {
    const char *name = row->claim.file;
    struct stat st;
    size_t bytes;
    if (!pithp_is_file_name(name) || !pithp_is_own_sidecar_name(row->stem, name))
        return true;
    const int file = pithp_file_open(folder, name, &bytes);
    if (file < 0)
        return errno == ENOENT || errno == EINVAL || errno == ELOOP;
    const verdict v = fstat(file, &st) == 0 ? examine(file, &st, row) : UNKNOWN;
    const bool gone = v == OURS ? pithp_file_unlink(folder, name, &st) : v == FOREIGN;
    close(file);
    return gone;
}
