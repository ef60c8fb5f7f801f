/* Reading of a file, beside which loads of checkpoints are measured. */
#ifndef BENCH_PLAIN_FILE_H
#define BENCH_PLAIN_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

/* Read the first bytes of a file into fresh memory, which is released. */
static inline void plain_read(const char *path, size_t bytes) {
    char *fresh = malloc(bytes);
    const int file = open(path, O_RDONLY);
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = read(file, fresh + done, bytes - done);
        if (n <= 0)
            fail("read");
        done += (size_t)n;
    }
    close(file);
    free(fresh);
}

#endif
