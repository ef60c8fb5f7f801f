/* Direct I/O (O_DIRECT) for large files: bytes are collected in two buffers; a thread
 * writes one while the other is hashed and filled. Only speed differs: bytes that cannot
 * be written directly, such as the tail, go through the page cache. */
#include "checkpoint/store/direct_io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFERS = 2, ALIGNMENT = 4096, HUGE_BYTES = 2 << 20 };

pithp_direct_io_bounds pithp_direct_io_limits = {.least = 128 << 20, .piece = 16 << 20};

struct pithp_direct_io {
    pith_runtime *rt;
    int file;
    size_t piece; /* bytes of a buffer */
    unsigned char *buffers;
    size_t filling, used; /* the buffer being filled, and its fill level */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t waiting[BUFFERS]; /* bytes that the thread has to write; 0: none */
    bool ending;
    int error;
};

/* ---- Writing ---- */

static bool set_direct(int file, bool on) {
    const int flags = fcntl(file, F_GETFL);
    return flags >= 0 &&
           fcntl(file, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* A file system that accepts O_DIRECT may still refuse a write, or end it unaligned. The
 * rest then goes through the page cache. */
static int write_piece(int file, const unsigned char *bytes, size_t n) {
    size_t done = 0;
    while (done < n) {
        const ssize_t now = write(file, bytes + done, n - done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0 && errno != EINVAL)
            return errno;
        done += now > 0 ? (size_t)now : 0;
        if (done < n && (now <= 0 || now % ALIGNMENT != 0))
            return set_direct(file, false)
                       ? pithp_file_write(file, bytes + done, n - done)
                       : errno;
    }
    return 0;
}

static void *run(void *closure) {
    pithp_direct_io *d = closure;
    pthread_mutex_lock(&d->lock);
    for (size_t next = 0;; next = (next + 1) % BUFFERS) {
        while (!d->waiting[next] && !d->ending)
            pthread_cond_wait(&d->turn, &d->lock);
        const size_t n = d->waiting[next];
        if (n == 0)
            break;
        const bool go_on = d->error == 0;
        pthread_mutex_unlock(&d->lock);
        const int error =
            go_on ? write_piece(d->file, d->buffers + next * d->piece, n) : 0;
        pthread_mutex_lock(&d->lock);
        d->error = d->error ? d->error : error;
        d->waiting[next] = 0;
        pthread_cond_broadcast(&d->turn);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* Submit the filled buffer, and wait until the next one is free. */
static int hand_over(pithp_direct_io *d, size_t n) {
    pthread_mutex_lock(&d->lock);
    d->waiting[d->filling] = n;
    pthread_cond_broadcast(&d->turn);
    d->filling = (d->filling + 1) % BUFFERS;
    while (d->waiting[d->filling])
        pthread_cond_wait(&d->turn, &d->lock);
    const int error = d->error;
    pthread_mutex_unlock(&d->lock);
    d->used = 0;
    return error;
}

int pithp_direct_io_add(pithp_direct_io *d, const void *bytes, size_t n) {
    const unsigned char *from = bytes;
    int error = 0;
    while (n && !error) {
        const size_t room = d->piece - d->used, part = n < room ? n : room;
        memcpy(d->buffers + d->filling * d->piece + d->used, from, part);
        d->used += part;
        from += part;
        n -= part;
        if (d->used == d->piece)
            error = hand_over(d, d->piece);
    }
    return error;
}

/* ---- Beginning and ending ---- */

/* Use direct writes only if the file system reports their alignment. Some others accept
 * the flag and use a slower path. */
static bool is_offered(int file) {
#ifdef STATX_DIOALIGN
    struct statx st;
    return statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
           st.stx_mask & STATX_DIOALIGN && st.stx_dio_mem_align > 0 &&
           st.stx_dio_mem_align <= ALIGNMENT && st.stx_dio_offset_align > 0 &&
           st.stx_dio_offset_align <= ALIGNMENT;
#else
    (void)file;
    return false;
#endif
}

/* Block all signals in the thread: they are handled by the program's threads. */
static int start_thread(pithp_direct_io *d) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&d->thread, NULL, run, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void release(pithp_direct_io *d) {
    pthread_cond_destroy(&d->turn);
    pthread_mutex_destroy(&d->lock);
    pithp_release_aligned(d->rt, d->buffers, BUFFERS * d->piece, HUGE_BYTES);
    pithp_release(d->rt, d, sizeof *d);
}

pithp_direct_io *pithp_direct_io_begin(pith_runtime *rt, int file, size_t expected) {
    if (expected < pithp_direct_io_limits.least || !is_offered(file))
        return NULL;
    pithp_direct_io *d = pithp_allocate(rt, sizeof *d);
    if (!d)
        return NULL;
    *d = (pithp_direct_io){.rt = rt, .file = file, .piece = pithp_direct_io_limits.piece};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->turn, NULL);
    d->buffers = pithp_allocate_aligned(rt, BUFFERS * d->piece, HUGE_BYTES);
    if (d->buffers && set_direct(file, true)) {
        (void)madvise(d->buffers, BUFFERS * d->piece, MADV_HUGEPAGE);
        if (start_thread(d) == 0)
            return d;
        set_direct(file, false);
    }
    release(d);
    return NULL;
}

int pithp_direct_io_end(pithp_direct_io *d, bool write_rest) {
    const size_t rest = d->used, first = d->filling * d->piece;
    const size_t whole = write_rest ? rest / ALIGNMENT * ALIGNMENT : 0;
    int error = whole ? hand_over(d, whole) : 0;
    pthread_mutex_lock(&d->lock);
    d->ending = true;
    pthread_cond_broadcast(&d->turn);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    error = d->error ? d->error : error;
    if (write_rest && !error) {
        error = set_direct(d->file, false) ? 0 : errno;
        if (!error)
            error = pithp_file_write(d->file, d->buffers + first + whole, rest - whole);
    }
    release(d);
    return error;
}
