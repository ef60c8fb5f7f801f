/* What lies beside a checkpoint: finding its folder, one commit at a time, sidecars that
 * nobody names, and files of writers that were killed. */
#include "checkpoint/checkpoint_internal.h"

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

/* ---- Places ---- */

static pith_status refuse(pith_scope *s, const char *path, int error) {
    char reason[128];
    return pithp_fail(s, PITH_E_IO, NULL, "cannot open \"%s\": %s", path,
                      strerror_r(error, reason, sizeof reason));
}

/* A folder by the part of the path before its name; what replaces a link replaces the
 * file that it points to. */
static pith_status open_folder(pith_scope *s, const char *path, pithp_place *place) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t n = strlen(name);
    char *folder;
    if (n == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return refuse(s, place->shown, EISDIR);
    if (n >= sizeof place->name)
        return refuse(s, place->shown, ENAMETOOLONG);
    memcpy(place->name, name, n + 1);
    const size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    folder = pithp_allocate(s->runtime, length + 1);
    if (!folder)
        return pithp_fail_memory(s, length + 1);
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    pithp_release(s->runtime, folder, length + 1);
    return place->folder < 0 ? refuse(s, place->shown, error) : PITH_OK;
}

pith_status pithp_place_open(pith_scope *s, const char *path, pithp_place *place) {
    struct stat st;
    char *resolved = NULL;
    *place = (pithp_place){.folder = -1, .shown = path};
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        resolved = realpath(path, NULL);
        if (!resolved)
            return refuse(s, path, errno);
    }
    pith_status rc = open_folder(s, resolved ? resolved : path, place);
    free(resolved);
    if (rc == PITH_OK &&
        fstatat(place->folder, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        place->mode = st.st_mode & 0777;
        if (!S_ISREG(st.st_mode))
            rc = pithp_fail(s, PITH_E_IO, NULL,
                            "cannot open \"%s\": it is no regular file", path);
    }
    return rc;
}

void pithp_place_close(pithp_place *place) {
    if (place->folder >= 0)
        close(place->folder);
    place->folder = -1;
}

/* ---- One commit at a time ---- */

pith_status pithp_folder_lock(pith_scope *s, const pithp_place *place) {
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_MS * 1000000L};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(place->folder, LOCK_EX | LOCK_NB) == 0 ||
            (errno != EWOULDBLOCK && errno != EINTR))
            return PITH_OK; /* a file system without locks has one writer a checkpoint */
        nanosleep(&wait, NULL);
    }
    return pithp_fail(s, PITH_E_IO, NULL,
                      "cannot lock the folder of \"%s\": another process holds its lock",
                      place->shown);
}

void pithp_folder_unlock(const pithp_place *place) {
    flock(place->folder, LOCK_UN);
}

int pithp_folder_sync(const pithp_place *place) {
    int result;
    do
        result = fsync(place->folder);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL ? 0 : errno; /* EINVAL: has no such thing */
}

/* ---- Sidecars ---- */

static const char start[] = "{\"pith\":\"checkpoint\",";
static const char mark[] = "\"sidecar\":{\"file\":";

int pithp_head_read(int file, size_t bytes, char head[PITHP_HEAD_BYTES + 1]) {
    const size_t n = bytes < PITHP_HEAD_BYTES ? bytes : PITHP_HEAD_BYTES;
    const int error = pithp_file_read(file, head, n, 0);
    head[error ? 0 : n] = 0;
    return error;
}

bool pithp_head_is_checkpoint(const char *head) {
    return strncmp(head, start, sizeof start - 1) == 0;
}

/* Where a document names its sidecar, as JSON text; NULL: it has none. */
static const char *sidecar_in(const char *head) {
    const char *at = pithp_head_is_checkpoint(head) ? strstr(head, mark) : NULL;
    return at ? at + sizeof mark - 1 : NULL;
}

bool pithp_is_file_name(const char *name) {
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 255;
}

void pithp_head_sidecar(const char *head, char sidecar[256]) {
    const char *text = sidecar_in(head);
    if (!text || !pithp_json_string_read(text, strlen(text), sidecar, 256) ||
        !pithp_is_file_name(sidecar))
        sidecar[0] = 0;
}

/* False, with errno: the file could not be read. */
static bool read_head(int folder, const char *name, char head[PITHP_HEAD_BYTES + 1]) {
    size_t bytes = 0;
    const int file = pithp_file_open(folder, name, &bytes);
    if (file < 0)
        return false;
    const int error = pithp_head_read(file, bytes, head);
    close(file);
    errno = error > 0 ? error : EIO;
    return error == 0;
}

bool pithp_folder_sidecar_of(int folder, const char *name, char sidecar[256]) {
    char head[PITHP_HEAD_BYTES + 1];
    sidecar[0] = 0;
    if (!read_head(folder, name, head))
        return errno == ENOENT;
    pithp_head_sidecar(head, sidecar);
    return true;
}

/* Whether a file is a document that names the sidecar (as JSON text). *unsure is set
 * where it could not be read. */
static bool names_it(int folder, const char *file, const char *sidecar, bool *unsure) {
    char head[PITHP_HEAD_BYTES + 1];
    struct stat st;
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        *unsure |= errno != ENOENT;
        return false;
    }
    if (!S_ISREG(st.st_mode))
        return false;
    if (!read_head(folder, file, head)) {
        *unsure |= errno != ENOENT;
        return false;
    }
    const char *text = sidecar_in(head);
    return text && strncmp(text, sidecar, strlen(sidecar)) == 0;
}

DIR *pithp_folder_list(int folder) {
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
    if (!listing && copy >= 0)
        close(copy);
    return listing;
}

bool pithp_folder_drop_sidecar(pith_runtime *rt,
                               int folder,
                               const char *name,
                               const char *except) {
    pithp_text json;
    pithp_text_begin(&json, rt);
    pithp_json_string(&json, name);
    DIR *listing = json.failed ? NULL : pithp_folder_list(folder);
    bool named = false, unsure = !listing;
    for (struct dirent *e; listing && !named && (errno = 0, e = readdir(listing));)
        if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) &&
            strcmp(e->d_name, name) != 0 && strcmp(e->d_name, except) != 0)
            named = names_it(folder, e->d_name, json.bytes, &unsure);
    unsure |= !named && errno != 0;
    if (listing)
        closedir(listing);
    pithp_text_end(&json);
    return named || (!unsure && (unlinkat(folder, name, 0) == 0 || errno == ENOENT));
}

/* ---- Leftovers ---- */

static bool is_temporary(const char *name) {
    const size_t n = strlen(name);
    return strncmp(name, ".pith-", 6) == 0 && n > 10 && strcmp(name + n - 4, ".tmp") == 0;
}

/* Whoever can lock it has no living writer beside him. A document that never got its name
 * is all that is left to say whose its sidecar was. */
static void sweep_file(pith_runtime *rt, int folder, const char *name) {
    char sidecar[256];
    size_t bytes;
    const int file = pithp_file_open(folder, name, &bytes);
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        if (pithp_folder_sidecar_of(folder, name, sidecar) &&
            (!sidecar[0] || pithp_folder_drop_sidecar(rt, folder, sidecar, name)))
            unlinkat(folder, name, 0);
    }
    close(file);
}

void pithp_folder_sweep(pith_runtime *rt, int folder) {
    DIR *listing = pithp_folder_list(folder);
    if (!listing)
        return;
    for (struct dirent *e; (e = readdir(listing));)
        if (is_temporary(e->d_name))
            sweep_file(rt, folder, e->d_name);
    closedir(listing);
}
