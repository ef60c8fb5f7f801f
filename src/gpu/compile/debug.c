/* Debug files: compiled texts and their code, kept for inspection (PITH_JIT_DEBUG). */
#include "gpu/compile/toolchain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_whole(const char *path, const char *bytes, size_t n) {
    FILE *out = fopen(path, "wxe");
    if (!out)
        return false;
    const bool written = fwrite(bytes, 1, n, out) == n;
    return fclose(out) == 0 && written;
}

/* Write to a temporary file and rename it: the old file may be mapped. */
static bool write_aside(const char *path, const char *bytes, size_t n) {
    char aside[PITHP_DEBUG_FILE_BYTES + 64];
    static atomic_uint number;
    snprintf(aside, sizeof aside, "%s.%ld.%u", path, (long)getpid(),
             atomic_fetch_add(&number, 1));
    if (write_whole(aside, bytes, n) && rename(aside, path) == 0)
        return true;
    const int why = errno;
    (void)unlink(aside);
    errno = why;
    return false;
}

/* Whether a file has exactly these bytes. */
static bool is_there(const char *path, const char *bytes, size_t n) {
    FILE *in = fopen(path, "re");
    char piece[4096];
    size_t at = 0, got;
    bool same = in != NULL;
    while (same && (got = fread(piece, 1, sizeof piece, in)) > 0) {
        same = got <= n - at && memcmp(piece, bytes + at, got) == 0;
        at += got;
    }
    if (in)
        fclose(in);
    return same && at == n;
}

bool pithp_debug_keep(pith_runtime *rt,
                      const char *file,
                      const char *end,
                      const char *bytes,
                      size_t n,
                      char *path) {
    static atomic_bool told;
    snprintf(path, PITHP_DEBUG_FILE_BYTES + 8, "%s%s", file, end);
    if (is_there(path, bytes, n) || write_aside(path, bytes, n))
        return true;
    if (!atomic_exchange(&told, true))
        pithp_log(rt, PITH_LOG_WARNING, "PITH_JIT_DEBUG: cannot write %s: %s", path,
                  strerror(errno));
    return false;
}
