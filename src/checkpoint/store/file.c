/* File input and output that retries interrupted calls and opens regular files only. */
#include "checkpoint/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int pithp_file_open(int folder, const char *name, size_t *bytes) {
    struct stat st;
    int file;
    do
        file = openat(folder, name,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return -1;
    const bool known = fstat(file, &st) == 0;
    if (known && S_ISREG(st.st_mode)) {
        *bytes = (size_t)st.st_size;
        return file;
    }
    const int error = known ? EINVAL : errno;
    close(file);
    errno = error;
    return -1;
}

int pithp_file_read(int file, void *to, size_t n, size_t offset) {
    unsigned char *at = to;
    while (n) {
        const ssize_t done = pread(file, at, n, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno ? errno : EIO;
        if (done == 0)
            return -1;
        at += done;
        n -= (size_t)done;
        offset += (size_t)done;
    }
    return 0;
}

int pithp_file_write(int file, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    while (n) {
        const ssize_t done = write(file, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}
