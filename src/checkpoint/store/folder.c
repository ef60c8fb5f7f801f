/* Folders of checkpoints: opening, the commit lock, what documents say of their sidecars,
 * and removal of temporary files of dead writers. */
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

/* True also if there are no file locks: a checkpoint has a single writer then. */
static bool lock_at_once(int folder) {
    return flock(folder, LOCK_EX | LOCK_NB) == 0 ||
           (errno != EWOULDBLOCK && errno != EINTR);
}

pith_status pithp_folder_lock(pith_scope *s, const pithp_location *location) {
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_MS * 1000000L};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (lock_at_once(location->folder))
            return PITH_OK;
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

bool pithp_folder_claims_read(int folder, const char *name, pithp_claims *claims) {
    char head[PITHP_HEAD_BYTES + 1];
    struct stat st;
    claims->count = 0;
    return read_head(folder, name, &st, head) ? pithp_head_claims(head, claims)
                                              : errno == ENOENT;
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

static void sweep(const pithp_location *location) {
    char stem[256];
    DIR *listing = pithp_folder_list(location->folder);
    for (struct dirent *e; listing && (e = readdir(listing));)
        if (is_temporary(e->d_name, stem))
            sweep_file(location->folder, e->d_name, stem);
    if (listing)
        closedir(listing);
    pithp_folder_unlock(location);
}

pith_status pithp_folder_sweep(pith_scope *s, const pithp_location *location) {
    const pith_status rc = pithp_folder_lock(s, location);
    if (rc == PITH_OK)
        sweep(location);
    return rc;
}

void pithp_folder_sweep_at_once(const pithp_location *location) {
    if (lock_at_once(location->folder))
        sweep(location);
}
