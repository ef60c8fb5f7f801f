/* Atomic file replacement: a writer fills a temporary file, syncs it, and renames it. */
#include "checkpoint/store/direct_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 1 << 18,
    START_BYTES = 8 << 20, /* unwritten bytes in the page cache that start a write-back */
    TRIES = 100
};

/* ---- Opening ---- */

static void fail(pithp_writer *w, const char *call, int error) {
    if (w->error)
        return;
    w->error = error ? error : EIO;
    w->failed_call = call;
}

/* The lock tells a sweep that the writer is alive. File systems without locks are never
 * swept. */
static bool lock_file(int file) {
    struct stat st;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(file, &st) == 0 && st.st_nlink > 0;
}

static int create(pithp_writer *w, const char *document) {
    for (int i = 0; i < TRIES; i++) {
        pithp_temporary_name(document, w->name);
        const int file =
            openat(w->folder, w->name,
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file >= 0 && lock_file(file))
            return file;
        const int error = errno;
        if (file >= 0)
            close(file); /* swept between its creation and its lock */
        else if (error != EEXIST && error != EINTR)
            return fail(w, "open", error), -1;
    }
    return fail(w, "open", EEXIST), -1;
}

/* Reserve space, so that a full disk is reported before anything is written. */
static void reserve(pithp_writer *w, size_t bytes) {
    int result;
    do
        result = fallocate(w->file, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        fail(w, "fallocate", errno);
}

void pithp_writer_open(pithp_writer *w,
                       pith_runtime *rt,
                       const pithp_location *at,
                       size_t expected) {
    *w = (pithp_writer){.rt = rt, .folder = at->folder, .file = -1};
    w->buffer = pithp_allocate(rt, BUFFER_BYTES);
    if (!w->buffer) {
        fail(w, "open", ENOMEM);
        return;
    }
    w->file = create(w, at->name);
    if (w->file >= 0 && at->mode && fchmod(w->file, at->mode) != 0)
        fail(w, "fchmod", errno);
    if (w->file >= 0 && !w->error && expected > START_BYTES)
        reserve(w, expected);
    if (w->file >= 0 && !w->error)
        w->direct = pithp_direct_io_begin(rt, w->file, expected);
}

/* ---- Writing ---- */

static void write_all(pithp_writer *w, const unsigned char *bytes, size_t n) {
    const int error = w->error ? 0 : pithp_file_write(w->file, bytes, n);
    if (error)
        fail(w, "write", error);
    w->written += n;
    if (!w->error && w->written - w->started >= START_BYTES) {
        /* A hint: start the write-back while later bytes are produced. */
        (void)!sync_file_range(w->file, (off_t)w->started,
                               (off_t)(w->written - w->started), SYNC_FILE_RANGE_WRITE);
        w->started = w->written;
    }
}

/* Switch to writes through the page cache. */
static void end_direct(pithp_writer *w) {
    const int error = w->direct ? pithp_direct_io_end(w->direct, !w->error) : 0;
    w->direct = NULL;
    if (error)
        fail(w, "write", error);
}

static void flush(pithp_writer *w) {
    end_direct(w);
    write_all(w, w->buffer, w->used);
    w->used = 0;
}

void pithp_writer_add(pithp_writer *w, const void *bytes, size_t n) {
    if (w->error || n == 0)
        return;
    if (w->direct) {
        const int error = pithp_direct_io_add(w->direct, bytes, n);
        if (error)
            fail(w, "write", error);
        return;
    }
    if (n > BUFFER_BYTES - w->used)
        flush(w);
    if (n >= BUFFER_BYTES) {
        write_all(w, bytes, n);
    } else {
        memcpy(w->buffer + w->used, bytes, n);
        w->used += n;
    }
}

void pithp_writer_add_hashed(pithp_writer *w,
                             const void *bytes,
                             size_t n,
                             pithp_hasher *h) {
    const unsigned char *from = bytes;
    while (n && !w->error) {
        const size_t piece = n < PITHP_CHUNK_BYTES ? n : PITHP_CHUNK_BYTES;
        pithp_hasher_add(h, from, piece);
        pithp_writer_add(w, from, piece);
        from += piece;
        n -= piece;
    }
}

void pithp_writer_put_first(pithp_writer *w, const void *bytes, size_t n) {
    const unsigned char *from = bytes;
    flush(w);
    for (size_t at = 0; at < n && !w->error;) {
        const ssize_t done = pwrite(w->file, from + at, n - at, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            fail(w, "pwrite", done < 0 ? errno : ENOSPC);
        else
            at += (size_t)done;
    }
}

void pithp_writer_sync(pithp_writer *w) {
    int result;
    if (w->error)
        return;
    flush(w);
    do
        result = w->error ? 0 : fsync(w->file);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        fail(w, "fsync", errno);
}

void pithp_writer_rename(pithp_writer *w, const char *name) {
    if (w->error)
        return;
    if (renameat(w->folder, w->name, w->folder, name) != 0)
        fail(w, "rename", errno);
    else
        w->name[0] = 0;
}

void pithp_writer_close(pithp_writer *w) {
    if (w->direct)
        pithp_direct_io_end(w->direct, false);
    if (w->file >= 0) {
        if (w->name[0])
            unlinkat(w->folder, w->name, 0);
        close(w->file); /* synced, or given up */
    }
    pithp_release(w->rt, w->buffer, BUFFER_BYTES);
    *w = (pithp_writer){.rt = w->rt, .file = -1, .folder = -1};
}

pith_status pithp_writer_status(pith_scope *s, const pithp_writer *w, const char *shown) {
    char reason[128];
    if (!w->error)
        return PITH_OK;
    if (w->error == ENOMEM)
        return pithp_fail_memory(s, BUFFER_BYTES);
    return pithp_fail(s, PITH_E_IO, NULL, "cannot write \"%s\": %s: %s", shown,
                      w->failed_call, strerror_r(w->error, reason, sizeof reason));
}
