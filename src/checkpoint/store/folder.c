/* Folders of checkpoints: opening, the commit lock, removal of unreferenced sidecars and
 * of temporary files of dead writers. */
#include "checkpoint/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 10, LOCK_TRIES = 6000 };

/* ---- Locations ---- */

static pith_status refuse(pith_scope *s, const char *path, int error) {
    char reason[128];
    return pithp_fail(s, PITH_E_IO, NULL, "cannot open \"%s\": %s", path,
                      strerror_r(error, reason, sizeof reason));
}

/* Open the folder part of a path. A symbolic link is resolved, so that a save replaces
 * its target. */
static pith_status
open_folder(pith_scope *s, const char *path, pithp_location *location) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t n = strlen(name);
    char *folder;
    if (n == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return refuse(s, location->shown, EISDIR);
    if (n >= sizeof location->name)
        return refuse(s, location->shown, ENAMETOOLONG);
    memcpy(location->name, name, n + 1);
    const size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    folder = pithp_allocate(s->runtime, length + 1);
    if (!folder)
        return pithp_fail_memory(s, length + 1);
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    location->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    pithp_release(s->runtime, folder, length + 1);
    return location->folder < 0 ? refuse(s, location->shown, error) : PITH_OK;
}

pith_status
pithp_location_open(pith_scope *s, const char *path, pithp_location *location) {
    struct stat st;
    char *resolved = NULL;
    *location = (pithp_location){.folder = -1, .shown = path};
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        resolved = realpath(path, NULL);
        if (!resolved)
            return refuse(s, path, errno);
    }
    pith_status rc = open_folder(s, resolved ? resolved : path, location);
    free(resolved);
    if (rc == PITH_OK &&
        fstatat(location->folder, location->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        location->mode = st.st_mode & 0777;
        if (!S_ISREG(st.st_mode))
            rc = pithp_fail(s, PITH_E_IO, NULL,
                            "cannot open \"%s\": it is not a regular file", path);
    }
    return rc;
}

void pithp_location_close(pithp_location *location) {
    if (location->folder >= 0)
        close(location->folder);
    location->folder = -1;
}

/* ---- Commit lock ---- */

pith_status pithp_folder_lock(pith_scope *s, const pithp_location *location) {
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_MS * 1000000L};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(location->folder, LOCK_EX | LOCK_NB) == 0 ||
            (errno != EWOULDBLOCK && errno != EINTR))
            return PITH_OK; /* no file locks: a checkpoint has a single writer */
        nanosleep(&wait, NULL);
    }
    return pithp_fail(s, PITH_E_IO, NULL,
                      "cannot lock the folder of \"%s\": another process holds its lock",
                      location->shown);
}

void pithp_folder_unlock(const pithp_location *location) {
    flock(location->folder, LOCK_UN);
}

int pithp_folder_sync(const pithp_location *location) {
    int result;
    do
        result = fsync(location->folder);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL ? 0 : errno; /* EINVAL: no fsync of folders */
}

/* ---- Sidecars ---- */

static const char start[] = "{\"pith\":\"checkpoint\",";

int pithp_head_read(int file, size_t bytes, char head[PITHP_HEAD_BYTES + 1]) {
    const size_t n = bytes < PITHP_HEAD_BYTES ? bytes : PITHP_HEAD_BYTES;
    const int error = pithp_file_read(file, head, n, 0);
    head[error ? 0 : n] = 0;
    return error;
}

bool pithp_head_is_checkpoint(const char *head) {
    return strncmp(head, start, sizeof start - 1) == 0;
}

bool pithp_head_claims(const char *head, pithp_claims *claims) {
    static const char one[] = "\"sidecar\":{\"file\":", several[] = "\"sidecars\":";
    claims->count = 0;
    claims->is_checkpoint = pithp_head_is_checkpoint(head);
    if (!claims->is_checkpoint)
        return true;
    const char *at = strstr(head, one); /* format 1 */
    if (at) {
        at += sizeof one - 1;
        claims->count = 1;
        claims->rows[0] = (pithp_claim){.bytes = 0};
        return pithp_json_string_read(at, strlen(at), claims->rows[0].file,
                                      sizeof claims->rows[0].file) &&
               pithp_is_file_name(claims->rows[0].file);
    }
    at = strstr(head, several);
    return !at || (pithp_json_claims_read(at + sizeof several - 1, claims) &&
                   (claims->count > 0 || strlen(head) < PITHP_HEAD_BYTES));
}

/* False, with errno: the file could not be read. */
static bool read_head(int folder,
                      const char *name,
                      struct stat *st,
                      char head[PITHP_HEAD_BYTES + 1]) {
    size_t bytes = 0;
    const int file = pithp_file_open(folder, name, &bytes);
    if (file < 0)
        return false;
    int error = fstat(file, st) == 0 ? 0 : errno;
    if (!error)
        error = pithp_head_read(file, bytes, head);
    close(file);
    errno = error > 0 ? error : EIO;
    return error == 0;
}

bool pithp_folder_claims_of(int folder, const char *name, pithp_claims *claims) {
    char head[PITHP_HEAD_BYTES + 1];
    struct stat st;
    claims->count = 0;
    claims->is_checkpoint = false;
    if (!read_head(folder, name, &st, head))
        return errno == ENOENT;
    if (!pithp_head_claims(head, claims))
        claims->count = 0; /* damaged, so it can never be loaded */
    snprintf(claims->stem, sizeof claims->stem, "%.*s", (int)pithp_stem(name), name);
    claims->owner = st.st_uid;
    return true;
}

/* Mark the claims that another document shares. False: it cannot be read and may share
 * them. */
static bool
mark_named(int folder, const char *file, const pithp_claims *claims, bool *named) {
    struct stat st;
    pithp_claims its;
    char head[PITHP_HEAD_BYTES + 1];
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    if (!S_ISREG(st.st_mode))
        return true;
    if (!read_head(folder, file, &st, head))
        return errno == ENOENT;
    if (!pithp_head_claims(head, &its))
        return false;
    for (int i = 0; i < its.count; i++)
        for (int j = 0; j < claims->count; j++)
            named[j] |= strcmp(its.rows[i].file, claims->rows[j].file) == 0;
    return true;
}

bool pithp_sidecar_exists(int folder, const pithp_doc_sidecar *sidecar) {
    struct stat st;
    return fstatat(folder, sidecar->file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && (size_t)st.st_size == sidecar->bytes;
}

DIR *pithp_folder_list(int folder) {
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    if (!listing && copy >= 0)
        close(copy);
    return listing;
}

static bool is_claimed(const pithp_claims *claims, const char *name) {
    for (int i = 0; i < claims->count; i++)
        if (strcmp(claims->rows[i].file, name) == 0)
            return true;
    return false;
}

bool pithp_folder_drop_sidecars(int folder,
                                const pithp_claims *claims,
                                const char *except) {
    bool named[PITHP_SIDECARS] = {false};
    if (claims->count == 0)
        return true;
    DIR *listing = pithp_folder_list(folder);
    bool sure = listing != NULL;
    for (struct dirent *e; listing && (errno = 0, e = readdir(listing));)
        if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) &&
            !is_claimed(claims, e->d_name) && strcmp(e->d_name, except) != 0)
            sure &= mark_named(folder, e->d_name, claims, named);
    sure &= errno == 0;
    if (listing)
        closedir(listing);
    bool all = true;
    for (int i = 0; i < claims->count; i++)
        all &= named[i] || (sure && pithp_own_sidecar_remove(folder, claims, i));
    return all;
}

/* ---- Sweeping ---- */

/* Parse a name of pithp_temporary_name: ".pith-<process>-<number>.tmp", with ".<stem>"
 * before the end for a document. */
static bool is_temporary(const char *name, char stem[256]) {
    static const char digits[] = "0123456789";
    const size_t n = strlen(name);
    const char *at = name + 6;
    stem[0] = 0;
    if (strncmp(name, ".pith-", 6) != 0)
        return false;
    const size_t process = strspn(at, digits);
    at += process;
    const size_t number = *at == '-' ? strspn(at + 1, digits) : 0;
    if (!process || !number)
        return false;
    at += 1 + number;
    if (strcmp(at, ".tmp") == 0)
        return true;
    const char *end = name + n - 4;
    if (*at != '.' || end <= at + 1 || strcmp(end, ".tmp") != 0)
        return false;
    snprintf(stem, 256, "%.*s", (int)(end - at - 1), at + 1);
    return true;
}

/* A live writer holds the lock of its file. A leftover document, unnamed or being
 * replaced, is the only reference to its sidecars: they are removed with it. An
 * incomplete document had no sidecar yet. */
static void sweep_file(int folder, const char *name, const char *stem) {
    pithp_claims claims;
    char head[PITHP_HEAD_BYTES + 1];
    struct stat st;
    size_t bytes = 0;
    const int file = pithp_file_open(folder, name, &bytes);
    if (file < 0)
        return;
    if (fstat(file, &st) == 0 && st.st_uid == geteuid() &&
        flock(file, LOCK_EX | LOCK_NB) == 0 && pithp_head_read(file, bytes, head) == 0) {
        snprintf(claims.stem, sizeof claims.stem, "%s", stem);
        claims.owner = st.st_uid;
        if (!pithp_head_claims(head, &claims) ||
            pithp_folder_drop_sidecars(folder, &claims, name))
            pithp_file_unlink(folder, name, &st);
    }
    close(file);
}

void pithp_folder_sweep(int folder) {
    DIR *listing = pithp_folder_list(folder);
    char stem[256];
    if (!listing)
        return;
    for (struct dirent *e; (e = readdir(listing));)
        if (is_temporary(e->d_name, stem))
            sweep_file(folder, e->d_name, stem);
    closedir(listing);
}
