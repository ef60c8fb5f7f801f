/* What every device does alike: copies, fills, launches, streams and running out of
 * memory. Built once for the host, where it runs everywhere, and once for CUDA, where it
 * is skipped without a device. */
#include "gpu/compile/compile_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

#ifndef PT_DEVICE
#    error "PT_DEVICE names the device"
#endif

static pith_runtime *open_device(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = PT_DEVICE});
    if (pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", pith_runtime_message(rt));
        pith_close(rt);
        cr_skip_test("%s", reason);
    }
    pith_close(rt);
    return pt_open_on(PT_DEVICE);
}

static unsigned char *pattern(size_t bytes, unsigned seed) {
    unsigned char *data = malloc(bytes + 1);
    cr_assert(data);
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (unsigned char)(seed >> 24);
    }
    return data;
}

Test(cuda_device, says_what_it_is) {
    pith_runtime *rt = open_device();
    cr_assert_str_eq(pith_device_kind(rt), PT_DEVICE);
    cr_assert(strlen(pith_device_name(rt)) > 0);
    cr_assert_gt(pith_memory_about(rt).total, (size_t)1 << 20);
    cr_assert_eq(pith_memory_about(rt).live, 0u);
    pt_close(rt);
}

Test(cuda_device, copies_of_every_size_arrive) {
    static const size_t sizes[] = {1,     2,       255,           256,           257,
                                   65536, 1 << 20, (1 << 20) + 1, (9 << 20) + 77};
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    for (int i = 0; i < PITHP_COUNT(sizes); i++) {
        const size_t n = sizes[i];
        unsigned char *in = pattern(n, (unsigned)n), *out = calloc(1, n);
        unsigned char *kept = malloc(n);
        cr_assert(out && kept);
        memcpy(kept, in, n);
        pithp_buffer *a = pithp_buffer_make(s, n), *b = pithp_buffer_make(s, n);
        cr_assert_eq((uintptr_t)a->data % PITHP_ALIGNMENT, 0u);
        pt_ok(s, pithp_copy_in(s, a->data, in, n) == PITH_OK);
        memset(in, 0xee, n); /* ours again when copy_in returns */
        pt_ok(s, pithp_copy(s, b->data, a->data, n) == PITH_OK);
        pt_ok(s, pithp_copy_out(s, out, b->data, n) == PITH_OK);
        cr_assert(memcmp(kept, out, n) == 0, "%zu bytes", n);
        pithp_buffer_release(a, 1);
        pithp_buffer_release(b, 1);
        free(in);
        free(out);
        free(kept);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(cuda_device, many_small_copies_keep_their_order) {
    enum { COPIES = 20000, BYTES = 100 };
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *b = pithp_buffer_make(s, (size_t)COPIES * BYTES);
    unsigned char *out = malloc((size_t)COPIES * BYTES);
    for (int i = 0; i < COPIES; i++) {
        unsigned char piece[BYTES];
        memset(piece, i % 251, sizeof piece);
        pt_ok(s, pithp_copy_in(s, (char *)b->data + (size_t)i * BYTES, piece,
                               sizeof piece) == PITH_OK);
    }
    pt_ok(s, pithp_copy_out(s, out, b->data, (size_t)COPIES * BYTES) == PITH_OK);
    for (int i = 0; i < COPIES * BYTES; i++)
        cr_assert_eq(out[i], i / BYTES % 251, "byte %d", i);
    free(out);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(cuda_device, fills_stay_within_their_elements) {
    static const int64_t counts[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 1000, 100003};
    static const unsigned char any[8] = {1, 2, 3, 4, 5, 6, 7, 8},
                               same[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    enum { ROOM = 900000 };
    pithp_buffer *b = pithp_buffer_make(s, ROOM);
    unsigned char *out = malloc(ROOM);
    const unsigned char guard = 0xaa;
    for (size_t width = 1; width <= 8; width *= 2)
        for (int c = 0; c < PITHP_COUNT(counts); c++)
            for (size_t skip = 0; skip < 3; skip++) {
                const unsigned char *word = c % 2 ? same : any;
                const size_t begin = skip * width, n = (size_t)counts[c] * width;
                pt_ok(s, pithp_fill(s, b->data, &guard, 1, ROOM) == PITH_OK);
                pt_ok(s, pithp_fill(s, (char *)b->data + begin, word, width, counts[c]) ==
                             PITH_OK);
                pt_ok(s, pithp_copy_out(s, out, b->data, begin + n + 64) == PITH_OK);
                for (size_t i = 0; i < begin + n + 64; i++) {
                    const bool inside = i >= begin && i < begin + n;
                    cr_assert_eq(out[i], inside ? word[(i - begin) % width] : guard,
                                 "width %zu, count %lld, byte %zu", width,
                                 (long long)counts[c], i);
                }
            }
    free(out);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt);
}

#ifndef PT_FAKE /* which compiles programs alone */

typedef struct {
    const double *x;
    double *y;
    double a;
    int64_t n;
} axpy_args;

static const char *axpy_text(const pith_runtime *rt) {
    return strcmp(pith_device_kind(rt), "host") == 0
               ? "typedef struct { const double *x; double *y; double a; long n; } args_;\n"
                 "void axpy(const void *args, long begin, long end) {\n"
                 "    const args_ p = *(const args_ *)args;\n"
                 "    for (long i = begin; i < end; i++)\n"
                 "        p.y[i] = p.y[i] + p.a * p.x[i];\n"
                 "}\n"
               : "struct args_ { const double *x; double *y; double a; long long n; };\n"
                 "extern \"C\" __global__ void axpy(args_ p) {\n"
                 "    const long long i = blockIdx.x * (long long)blockDim.x + "
                 "threadIdx.x;\n"
                 "    if (i < p.n)\n"
                 "        p.y[i] = p.y[i] + p.a * p.x[i];\n"
                 "}\n";
}

Test(cuda_device, runs_what_was_compiled_at_run_time) {
    enum { N = 100003 };
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    pithp_module *m = NULL;
    if (pithp_compile(s, axpy_text(rt), NULL, &m) == PITH_E_UNSUPPORTED) {
        cr_log_warn("%s", pith_message(s));
        pith_clear(s);
    } else {
        pithp_buffer *x = pithp_buffer_make(s, N * sizeof(double)),
                     *y = pithp_buffer_make(s, N * sizeof(double));
        double *host = malloc(N * sizeof *host);
        for (int i = 0; i < N; i++)
            host[i] = i * 0.1;
        pt_ok(s, pithp_copy_in(s, x->data, host, N * sizeof *host) == PITH_OK);
        pt_ok(s, pithp_copy_in(s, y->data, host, N * sizeof *host) == PITH_OK);
        const axpy_args args = {x->data, y->data, 1.0 / 3, N};
        pithp_launch l = {
            .name = "axpy", .args = &args, .args_bytes = sizeof args, .count = N};
        pt_ok(s, pithp_module_find(s, m, "axpy", &l) == PITH_OK);
        pt_ok(s, pithp_launch_enqueue(s, &l) == PITH_OK);
        pt_ok(s, pithp_copy_out(s, host, y->data, N * sizeof *host) == PITH_OK);
        for (int i = 0; i < N; i++) {
            const volatile double product = 1.0 / 3 * (i * 0.1);
            cr_assert_eq(host[i], i * 0.1 + product, "%d", i);
        }
        free(host);
        pithp_buffer_release(x, 1);
        pithp_buffer_release(y, 1);
        pithp_module_release(m);
    }
    pith_scope_close(s);
    pt_close(rt);
}

#endif

Test(cuda_device, refuses_arguments_that_do_not_fit) {
    if (strcmp(PT_DEVICE, "host") == 0)
        return; /* the host takes arguments of any size, see test_launch.c */
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    static char big[PITHP_LAUNCH_ARGS + 1];
    pt_fails(PITH_E_INTERNAL, s,
             pithp_launch_enqueue(s, &(pithp_launch){.name = "big",
                                                     .args = big,
                                                     .args_bytes = sizeof big,
                                                     .count = 1}));
    pt_says("big: 4001 bytes");
    pith_scope_close(s);
    pt_close(rt);
}

Test(cuda_device, a_stream_that_reads_waits_for_the_writer) {
    enum { BYTES = 8 << 20 };
    pith_runtime *rt = open_device();
    unsigned char *in = pattern(BYTES, 3), *out = malloc(BYTES);
    for (int round = 0; round < 10; round++) {
        pith_scope *writer = pith_scope_open(rt), *reader = pith_scope_open(rt);
        pithp_buffer *a = pithp_buffer_make(writer, BYTES);
        in[0] = (unsigned char)round;
        pt_ok(writer, pithp_copy_in(writer, a->data, in, BYTES) == PITH_OK);
        pithp_buffer *b = pithp_buffer_make(reader, BYTES);
        pt_ok(reader, pithp_buffer_read(reader, a) == PITH_OK);
        pt_ok(reader, pithp_copy(reader, b->data, a->data, BYTES) == PITH_OK);
        pithp_buffer_release(a, 1); /* freed only after the reader's copy */
        const unsigned char other = 0x55;
        pithp_buffer *again = pithp_buffer_make(writer, BYTES);
        pt_ok(writer, pithp_fill(writer, again->data, &other, 1, BYTES) == PITH_OK);
        pt_ok(reader, pithp_copy_out(reader, out, b->data, BYTES) == PITH_OK);
        cr_assert(memcmp(in, out, BYTES) == 0, "round %d", round);
        pithp_buffer_release(again, 1);
        pithp_buffer_release(b, 1);
        pith_scope_close(reader);
        pith_scope_close(writer);
    }
    free(in);
    free(out);
    pt_close(rt);
}

Test(cuda_device, being_short_of_memory_is_an_error_and_not_the_end) {
    pith_runtime *rt = open_device();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *kept = pithp_buffer_make(s, 1000);
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, (size_t)1 << 58));
    pt_says("288230376151711744 bytes");
    pt_says("1000 bytes are in use");
    pithp_buffer *b = pithp_buffer_make(s, 1 << 20);
    pt_ok(s, b != NULL);
    pithp_buffer_release(b, 1);
    pithp_buffer_release(kept, 1);
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    cr_assert_eq(pith_memory_about(rt).live, 0u);
    pt_close(rt);
}
