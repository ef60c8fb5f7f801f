/* What every test includes: Criterion (or the plain runner where PITH_TEST_PLAIN is
 * defined), checks that print a scope's error, a counting allocator, and comparisons of
 * floats.
 *
 * Criterion ignores what fails in a fini function and what LeakSanitizer says, so leaks
 * are checked at the end of the body: open the runtime with pt_open, close it with
 * pt_close. */
#ifndef PITH_TEST_H
#define PITH_TEST_H

#include <math.h>
#include <pith/base.h>
#include <pith/runtime.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PITH_TEST_PLAIN
#    include "pith_test_plain.h"
#else
#    include <criterion/criterion.h>
#endif

#define PT_UNUSED __attribute__((unused))

/* Criterion ignores what LeakSanitizer says, so it need not look at the end of every
 * test. */
#if defined(__SANITIZE_ADDRESS__) && !defined(PITH_TEST_LEAKS)
const char *__asan_default_options(void);
__attribute__((weak, no_sanitize_address)) const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

/* ---- Errors of scopes ---- */

/* The error that the last pt_fails saw, kept since pt_fails clears it from the scope. */
static PT_UNUSED struct {
    pith_status code;
    char message[2048], path[1024], site[512];
} pt_error;

static inline void pt_remember(const pith_scope *s) {
    pt_error.code = pith_code(s);
    snprintf(pt_error.message, sizeof pt_error.message, "%s", pith_message(s));
    snprintf(pt_error.path, sizeof pt_error.path, "%s", pith_error_path(s));
    snprintf(pt_error.site, sizeof pt_error.site, "%s", pith_error_site(s));
}

/* pt_ok(s): the scope carries no error.
 * pt_ok(s, expr): neither does it after expr, which is true (not NULL, not 0). */
#define pt_ok(...)                                                                       \
    PT_OK_PICK_(__VA_ARGS__, PT_OK_N_, PT_OK_N_, PT_OK_N_, PT_OK_N_, PT_OK_N_, PT_OK_N_, \
                PT_OK_N_, PT_OK_1_, 0)                                                   \
    (#__VA_ARGS__,                                                                       \
     __VA_ARGS__) /* the text as written: expanded it exceeds what C allows */
#define PT_OK_PICK_(a, b, c, d, e, f, g, h, chosen, ...) chosen
#define PT_OK_1_(text, s)                                                                \
    cr_assert(!pith_failed(s), "%s: %s", pith_status_name(pith_code(s)), pith_message(s))
#define PT_OK_N_(text, s, ...)                                                           \
    do {                                                                                 \
        const bool pt_true_ = (__VA_ARGS__) ? true : false;                              \
        PT_OK_1_(text, s);                                                               \
        cr_assert(pt_true_, "no error, but false: pt_ok(%s)", text);                     \
    } while (0)

/* pt_fails(code, s, expr): s has no error before, and this one after. The error moves to
 * pt_error, so that s can be used again; pt_says looks for text in its message. */
#define pt_fails(expected, s, ...)                                                       \
    do {                                                                                 \
        cr_assert(!pith_failed(s), "failed before: %s", pith_message(s));                \
        (void)(__VA_ARGS__);                                                             \
        pt_remember(s);                                                                  \
        pith_clear(s);                                                                   \
        cr_assert(pt_error.code == (expected), "expected %s, got %s: %s",                \
                  pith_status_name(expected), pith_status_name(pt_error.code),           \
                  pt_error.message);                                                     \
    } while (0)
#define pt_says(text)                                                                    \
    cr_assert(strstr(pt_error.message, (text)), "expected \"%s\" in: %s", (text),        \
              pt_error.message)

/* ---- Memory: an allocator that counts, and fails when told to ---- */

typedef struct pt_heap {
    atomic_llong live;        /* blocks allocated and not released */
    atomic_llong bytes;       /* of those */
    atomic_llong allocations; /* ever asked for, failed ones included */
    atomic_llong
        fail_at; /* the allocation of that number fails, counted from 1; 0: none */
} pt_heap;

static inline void *pt_heap_allocate(void *closure, size_t bytes, size_t alignment) {
    pt_heap *heap = (pt_heap *)closure;
    const long long number = atomic_fetch_add(&heap->allocations, 1) + 1;
    if (number == atomic_load(&heap->fail_at))
        return NULL;
    const size_t room = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, room ? room : alignment);
    if (memory) {
        /* Nothing may count on zeroed memory. Runs with a failure are many: for those the
         * first page is enough. */
        const bool fails = atomic_load(&heap->fail_at) > 0;
        memset(memory, 0xA5, fails && bytes > 4096 ? 4096 : bytes);
        atomic_fetch_add(&heap->live, 1);
        atomic_fetch_add(&heap->bytes, (long long)bytes);
    }
    return memory;
}
static inline void
pt_heap_release(void *closure, void *memory, size_t bytes, PT_UNUSED size_t alignment) {
    pt_heap *heap = (pt_heap *)closure;
    if (!memory)
        return;
    atomic_fetch_sub(&heap->live, 1);
    atomic_fetch_sub(&heap->bytes, (long long)bytes);
    free(memory);
}
static inline pith_allocator pt_allocator(pt_heap *heap) {
    return (pith_allocator){pt_heap_allocate, pt_heap_release, heap};
}

#define pt_no_leak(heap)                                                                 \
    cr_assert(atomic_load(&(heap)->live) == 0 && atomic_load(&(heap)->bytes) == 0,       \
              "%lld blocks with %lld bytes were not released",                           \
              (long long)atomic_load(&(heap)->live),                                     \
              (long long)atomic_load(&(heap)->bytes))

/* The heap of pt_open's runtimes. One test runs in a process, or one after the other. */
static PT_UNUSED pt_heap pt_default_heap;
static PT_UNUSED int pt_open_runtimes;

/* A runtime on a device ("host", "cuda") whose host memory is counted. */
static inline pith_runtime *pt_open_on(const char *device) {
    const pith_allocator allocator = pt_allocator(&pt_default_heap);
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = device, .allocator = &allocator});
    cr_assert(pith_runtime_code(rt) == PITH_OK, "%s", pith_runtime_message(rt));
    pt_open_runtimes++;
    return rt;
}
/* Of the host, or of the device that PITH_TEST_DEVICE names; where a test is built for
 * another device, of that one, and compiled functions wait for their code then. A test
 * whose device is not there is skipped. */
static inline pith_runtime *pt_open(void) {
#ifdef PT_USUAL_DEVICE
    pith_runtime *rt = pith_open(&(pith_open_options){.device = PT_USUAL_DEVICE});
    const bool absent = pith_runtime_code(rt) == PITH_E_UNSUPPORTED;
    pith_close(rt);
    if (absent)
        cr_skip_test("there is no device " PT_USUAL_DEVICE);
    setenv("PITH_JIT", "wait", 0);
    return pt_open_on(PT_USUAL_DEVICE);
#else
    const char *device = getenv("PITH_TEST_DEVICE");
    return pt_open_on(device ? device : "host");
#endif
}
/* Whether that is the host: then functions have the bits of pith's own mathematics, else
 * the error bounds of the device's. */
static PT_UNUSED bool pt_usual_is_host(void) {
#ifdef PT_USUAL_DEVICE
    return strcmp(PT_USUAL_DEVICE, "host") == 0;
#else
    const char *device = getenv("PITH_TEST_DEVICE");
    return !device || strcmp(device, "host") == 0;
#endif
}
/* Close it, and require that nothing is left once the last one is closed. */
static inline void pt_close(pith_runtime *rt) {
    pith_close(rt);
    if (--pt_open_runtimes == 0)
        pt_no_leak(&pt_default_heap);
}

/* Test(suite, name) with a scope s, which the test must leave without an error. */
#define PT_SCOPED(suite, name)                                                           \
    static void name(pith_scope *s);                                                     \
    Test(suite, name) {                                                                  \
        pith_runtime *rt = pt_open();                                                    \
        pith_scope *s = pith_scope_open(rt);                                             \
        name(s);                                                                         \
        pt_ok(s);                                                                        \
        pith_scope_close(s);                                                             \
        pt_close(rt);                                                                    \
    }                                                                                    \
    static void name(pith_scope *s)

/* ---- Files ---- */

/* A new folder for a test's files, in TMPDIR or where the system has its temporary ones.
 */
static inline void pt_folder(char path[256]) {
    const char *parent = getenv("TMPDIR");
    snprintf(path, 256, "%s/pith-test-XXXXXX", parent && *parent ? parent : P_tmpdir);
    cr_assert(mkdtemp(path), "cannot make a folder like %s", path);
}

/* The folder of this test's own files, made at its first use. The test's process removes
 * it when it ends, also after a failure. */
static char pt_files_path[256];
static pid_t pt_files_owner;

static inline void pt_remove_files(void) {
    char command[sizeof pt_files_path + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", pt_files_path);
    if (getpid() == pt_files_owner && system(command) != 0) /* not in a child */
        perror(pt_files_path);
}
static inline const char *pt_files(void) {
    if (!pt_files_path[0]) {
        pt_folder(pt_files_path);
        pt_files_owner = getpid();
        cr_assert(atexit(pt_remove_files) == 0);
    }
    return pt_files_path;
}

/* ---- Floats ---- */

/* Steps between two floats on the line of all floats: 0 for equal bits and for 0.0 and
 * -0.0, UINT64_MAX where exactly one is NaN. */
static inline uint64_t pt_ulp64(double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : UINT64_MAX;
    int64_t i, j;
    memcpy(&i, &a, sizeof i);
    memcpy(&j, &b, sizeof j);
    const uint64_t top = (uint64_t)1 << 63;
    const uint64_t x = i < 0 ? top - ((uint64_t)i - top) : (uint64_t)i + top;
    const uint64_t y = j < 0 ? top - ((uint64_t)j - top) : (uint64_t)j + top;
    return x > y ? x - y : y - x;
}
static inline uint64_t pt_ulp32(float a, float b) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : UINT64_MAX;
    int32_t i, j;
    memcpy(&i, &a, sizeof i);
    memcpy(&j, &b, sizeof j);
    const int64_t x = i < 0 ? -((int64_t)i - INT32_MIN) : i;
    const int64_t y = j < 0 ? -((int64_t)j - INT32_MIN) : j;
    return (uint64_t)(x > y ? x - y : y - x);
}

#define pt_near64(a, b, ulp)                                                             \
    cr_assert(pt_ulp64((a), (b)) <= (uint64_t)(ulp),                                     \
              "%s: %.17g and %.17g are %llu ulp apart", #a, (double)(a), (double)(b),    \
              (unsigned long long)pt_ulp64((a), (b)))
#define pt_near32(a, b, ulp)                                                             \
    cr_assert(pt_ulp32((a), (b)) <= (uint64_t)(ulp),                                     \
              "%s: %.9g and %.9g are %llu ulp apart", #a, (double)(a), (double)(b),      \
              (unsigned long long)pt_ulp32((a), (b)))
/* |a - b| <= rtol |b|, and NaN equals NaN. */
static inline bool pt_close_to(double a, double b, double rtol) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return !(a < b) && !(a > b) ? true : fabs(a - b) <= rtol * fabs(b);
}
#define pt_close_64(a, b, rtol)                                                          \
    cr_assert(pt_close_to((a), (b), (rtol)), "%s: %.17g, expected %.17g within %g", #a,  \
              (double)(a), (double)(b), (double)(rtol))

#endif
