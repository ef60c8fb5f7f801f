/* System calls that fail or kill when they are told to: the linker puts the functions
 * below in front of the C library's (--wrap). For one file of a program. */
#ifndef FAULT_SHIM_H
#define FAULT_SHIM_H

#include "checkpoint_test.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>

/* FULL: what is written goes to /dev/full. */
typedef enum fault { NO_FAULT, FAIL, FAIL_FROM, KILL, SHORT, FULL } fault;

static struct {
    fault kind;
    int error;     /* errno of FAIL */
    int at, calls; /* the call that it strikes, from 1 on; calls so far */
    int full;      /* descriptor of FULL */
    char name[32]; /* of the call that was struck */
    void (*before_sidecar)(int folder); /* called before a sidecar is opened; NULL */
    void (*before_first_write)(int file);
} shim;

static void arm(fault kind, int at, int error) {
    memset(&shim, 0, sizeof shim);
    shim.kind = kind;
    shim.at = at;
    shim.error = error;
}

/* Whether the call that is being made, by any thread, fails. */
static bool strikes(const char *name) {
    if (shim.kind == NO_FAULT)
        return false;
    const int call = __atomic_add_fetch(&shim.calls, 1, __ATOMIC_RELAXED);
    if (call != shim.at && !(shim.kind == FAIL_FROM && call > shim.at))
        return false;
    if (call == shim.at)
        snprintf(shim.name, sizeof shim.name, "%s", name);
    if (shim.kind == KILL)
        raise(SIGKILL);
    errno = shim.error;
    return shim.kind == FAIL || shim.kind == FAIL_FROM;
}

#define WRAP(result, name, failure, parameters, arguments)                               \
    result __real_##name parameters;                                                     \
    result __wrap_##name parameters;                                                     \
    result __wrap_##name parameters {                                                    \
        return strikes(#name) ? failure : __real_##name arguments;                       \
    }

WRAP(ssize_t,
     pwrite,
     -1,
     (int fd, const void *from, size_t n, off_t at),
     (fd, from, n, at))
WRAP(int, fsync, -1, (int fd), (fd))
WRAP(int, renameat, -1, (int a, const char *x, int b, const char *y), (a, x, b, y))
WRAP(int,
     linkat,
     -1,
     (int a, const char *x, int b, const char *y, int flags),
     (a, x, b, y, flags))
WRAP(int, unlinkat, -1, (int fd, const char *name, int flags), (fd, name, flags))
WRAP(int, fallocate, -1, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
WRAP(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
WRAP(int, fstat, -1, (int fd, struct stat *st), (fd, st))
WRAP(int,
     fstatat,
     -1,
     (int fd, const char *name, struct stat *st, int flags),
     (fd, name, st, flags))
WRAP(int, lstat, -1, (const char *name, struct stat *st), (name, st))
WRAP(ssize_t, pread, -1, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
WRAP(int,
     sync_file_range,
     -1,
     (int fd, off_t at, off_t n, unsigned flags),
     (fd, at, n, flags))

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) { /* a release does not fail */
    return operation != LOCK_UN && strikes("flock") ? -1 : __real_flock(fd, operation);
}

ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n) {
    void (*const before)(int) = shim.before_first_write;
    shim.before_first_write = NULL;
    if (before)
        before(fd);
    if (strikes("write"))
        return -1;
    if (shim.kind == FULL)
        fd = shim.full;
    return __real_write(fd, from, shim.kind == SHORT && n > 1 ? n / 2 : n);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) { /* a close that fails has closed all the same */
    const bool struck = strikes("close");
    const int result = __real_close(fd);
    return struck ? -1 : result;
}

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return strikes("open") ? -1 : __real_open(name, flags, mode);
}

int __real_openat(int folder, const char *name, int flags, ...);
int __wrap_openat(int folder, const char *name, int flags, ...);
int __wrap_openat(int folder, const char *name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    void (*const before)(int) = strstr(name, ".safetensors") ? shim.before_sidecar : NULL;
    if (before) {
        shim.before_sidecar = NULL;
        before(folder);
        shim.before_sidecar = before;
    }
    return strikes("openat") ? -1 : __real_openat(folder, name, flags, mode);
}

static bool offer_direct; /* the folder's file system is said to have direct writes */

int __real_statx(int folder,
                 const char *name,
                 int flags,
                 unsigned mask,
                 struct statx *st);
int __wrap_statx(int folder,
                 const char *name,
                 int flags,
                 unsigned mask,
                 struct statx *st);
int __wrap_statx(int folder,
                 const char *name,
                 int flags,
                 unsigned mask,
                 struct statx *st) {
    if (strikes("statx"))
        return -1;
    const int result = __real_statx(folder, name, flags, mask, st);
#ifdef STATX_DIOALIGN
    if (offer_direct) {
        st->stx_mask |= STATX_DIOALIGN;
        st->stx_dio_mem_align = st->stx_dio_offset_align = 512;
    }
#endif
    return result;
}

int __real_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    const int flags = command == F_SETFL ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (strikes("fcntl"))
        return -1;
    const int result = __real_fcntl(file, command, flags);
    /* Older systems have no direct writes in memory; the rest is the same without. */
    return result < 0 && offer_direct && flags & O_DIRECT
               ? __real_fcntl(file, command, flags & ~O_DIRECT)
               : result;
}

#endif
