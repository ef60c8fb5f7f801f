/* Host arrays: the first kind of memory that is available in the fallback sequence. */
#include "gpu/memory/host_array.h"

#include "pith/memory_host.h"

#include "gpu/device.h"
#include "gpu/memory/allocation.h"
#include "gpu/memory/host_block.h"
#include "gpu/memory/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Kinds of memory: NULL sets e ---- */

static bool is_there(size_t bytes, pithp_error *e) {
    const size_t available = pith_host_available();
    if (!available || bytes <= available) /* 0: unknown */
        return true;
    pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                    "out of memory: %zu bytes of host memory requested, %zu available",
                    bytes, available);
    return false;
}

/* A cached block is there; to ask the system takes longer than to clear one. */
static bool has_block(pithp_device *d, size_t bytes, pithp_error *e) {
    return pithp_host_block_is_cached(d, bytes) || is_there(bytes, e);
}

static void *make_pinned(pithp_device *d, size_t bytes, pithp_error *e) {
    void *mapped;
    const bool there = d->backend->pin ? is_there(bytes, e) : has_block(d, bytes, e);
    return there ? pithp_pinned_take(d, bytes, &mapped, e) : NULL;
}

static void *make_plain(pithp_device *d, size_t bytes, pithp_error *e) {
    if (!has_block(d, bytes, e))
        return NULL;
    void *data = pithp_host_block_take(d, bytes);
    if (!data)
        pithp_error_set(
            e, PITH_E_MEMORY, NULL, NULL,
            "out of memory: the allocator failed for %zu bytes of host memory", bytes);
    return data;
}

/* An unnamed file: it is deleted when the last mapping and descriptor are gone. */
static int open_unnamed(const char *folder) {
    char path[4096];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    if (snprintf(path, sizeof path, "%s/pith-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

/* Disk space is reserved now, so that a write to the array cannot find the disk full. */
static void *make_spilled(const char *folder, size_t bytes, pithp_error *e) {
    const int file = open_unnamed(folder);
    const off_t length = (off_t)bytes;
    void *data = MAP_FAILED;
    int code = file < 0 ? errno : length < 0 ? EFBIG : posix_fallocate(file, 0, length);
    if (code == 0) {
        data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        code = data == MAP_FAILED ? errno : 0;
    }
    if (file >= 0)
        close(file);
    if (code == 0)
        return data;
    pithp_error_set(e, PITH_E_IO, NULL, NULL, "cannot make a file of %zu bytes in %s: %s",
                    bytes, folder, strerror(code));
    return NULL;
}

/* ---- Fallback sequence ---- */

static void *make_data(pithp_device *d,
                       const pith_host_options *o,
                       size_t bytes,
                       pith_host_kind *kind,
                       pithp_error *e) {
    void *data = NULL;
    *kind = o->kind;
    if (*kind == PITH_HOST_PINNED) {
        data = make_pinned(d, bytes, e);
        if (data || o->only)
            return data;
        *kind = PITH_HOST_PLAIN;
    }
    if (*kind == PITH_HOST_PLAIN) {
        data = make_plain(d, bytes, e);
        if (data || o->only || !o->spill)
            return data;
        *kind = PITH_HOST_SPILLED;
    }
    return make_spilled(o->spill, bytes, e);
}

static size_t room_of(const pith_host_array *a) {
    return a->bytes ? a->bytes : 1;
}

static void release(pith_scope *s, void *thing) {
    const pith_host_array *a = thing;
    if (a->kind == PITH_HOST_PINNED)
        pithp_pinned_give(pithp_runtime_device(s->runtime), a->data, room_of(a));
    else if (a->kind == PITH_HOST_PLAIN)
        pithp_host_block_give(pithp_runtime_device(s->runtime), a->data, room_of(a));
    else
        munmap(a->data, room_of(a));
}

static bool options_fit(pith_scope *s, const pith_host_options *o) {
    const char *why = NULL;
    if (o->kind != PITH_HOST_PINNED && o->kind != PITH_HOST_PLAIN &&
        o->kind != PITH_HOST_SPILLED)
        why = "invalid kind of memory";
    else if (o->kind == PITH_HOST_SPILLED && !o->spill)
        why = "no folder to spill to";
    if (why)
        pithp_fail(s, PITH_E_ARG, NULL, "pith_host_make: %s", why);
    return !why;
}

const pith_host_array *pithp_host_array_make(pith_scope *s,
                                             pith_dtype dtype,
                                             pith_shape shape,
                                             const pith_host_options *options) {
    const pith_host_options none = {0};
    const pith_host_options *o = options ? options : &none;
    const pith_request asked = {
        .label = "host array", .dtype = dtype, .shape = shape, .unchunkable = true};
    pithp_request r;
    pithp_error e;
    if (!pithp_enter_as(s, "pith_host_make") || !options_fit(s, o) ||
        !pithp_request_check(s, &asked, &r, "pith_host_make"))
        return NULL;
    pith_host_array *a = pithp_scope_allocate(s, sizeof *a);
    if (!a)
        return NULL;
    *a = (pith_host_array){
        .dtype = dtype, .shape = shape, .bytes = pithp_request_bytes(&r, 0)};
    a->data = make_data(pithp_scope_device(s), o, room_of(a), &a->kind, &e);
    if (!a->data) {
        pithp_fail(s, e.code, NULL, "pith_host_make: %s", e.text);
        return NULL;
    }
    if (!pithp_scope_hold(s, a, release)) {
        release(s, a);
        return NULL;
    }
    return a;
}

const pith_host_array *pith_host_make(pith_scope *s,
                                      pith_dtype dtype,
                                      pith_shape shape,
                                      const pith_host_options *options) {
    const pith_host_array *a = pithp_host_array_make(s, dtype, shape, options);
    if (a && options && options->like)
        memcpy(a->data, options->like, a->bytes);
    else if (a && a->kind != PITH_HOST_SPILLED) /* a new file is all zero */
        memset(a->data, 0, a->bytes);
    return a;
}
