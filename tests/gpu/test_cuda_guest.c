/* pith on a CUDA device beside other users of CUDA in the process: the state of the
 * calling thread is what it was, and what others leave there does no harm. The device is
 * made of host memory. */
#include "pith/pith.h"

#include "fake_cuda/fake_cuda.h"
#include "gpu/cuda/decide.h"
#include "pith_test.h"

enum { N = 500 };

static void reset(void) {
    (void)fake_cuda_alive();
    memset(&fake_cuda, 0, sizeof fake_cuda);
    fake_cuda_context_set(NULL);
    (void)cudaGetLastError();
    fake_cuda_order(0);
}

static const pith_array *twice(pith_scope *s, const pith_array *x) {
    return pith_add(s, x, x);
}

/* Buffers, copies, launches, host memory and requests of all kinds, on a runtime of its
 * own. */
static void work(const char *device) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = device});
    cr_assert_eq(pith_runtime_code(rt), PITH_OK, "%s", pith_runtime_message(rt));
    pith_scope *s = pith_scope_open(rt);
    double values[N];
    const pith_array *x = pith_iota(s, PITH_F64, PITH_SHAPE(N), 0);
    const pith_array *y = pith_cumsum(s, pith_mul(s, twice(s, x), x), 0, NULL);
    cr_assert(pith_read(s, y, values, sizeof values), "%s", pith_message(s));
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += 2.0 * i * i;
        cr_assert_eq(values[i], sum);
    }
    const pith_array *z = pith_array_copy(s, PITH_F64, PITH_SHAPE(N), values);
    pt_ok(s, pith_read(s, z, values, sizeof values));
    void *mapped;
    pithp_error e;
    pithp_device *d = pithp_runtime_device(rt);
    void *pinned = d->backend->pin(d, 100, &mapped, &e);
    cr_assert(pinned, "%s", e.text);
    d->backend->unpin(d, pinned, 100);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_PLAIN}));
    pt_ok(s, twice(s, x));
    pt_ok(s, pith_memory_set_allocator(s, NULL));
    pith_memory_trim(rt);
    cr_assert_gt(pith_memory_about(rt).free, 0u);
    pith_scope_close(s);
    pith_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* ---- The last error ---- */

/* NotReady of the program's own event, as cudaEventQuery leaves it. */
static void leave_error(void) {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    void *data;
    cudaMalloc(&data, 8);
    fake_cuda_order(3);
    cudaMemsetAsync(data, 0, 8, stream);
    cudaEventRecord(event, stream);
    cudaError_t code = cudaEventQuery(event);
    for (int k = 0; k < 50 && code == cudaSuccess; k++) {
        cudaMemsetAsync(data, 0, 8, stream);
        cudaEventRecord(event, stream);
        code = cudaEventQuery(event);
    }
    cr_assert_eq(code, cudaErrorNotReady);
    cudaStreamSynchronize(stream);
    cudaFree(data);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    fake_cuda_order(0);
}

Test(cuda_guest, an_older_error_of_the_program_is_neither_ours_nor_lost) {
    reset();
    leave_error();
    work("cuda");
    cr_assert_eq(cudaPeekAtLastError(), cudaErrorNotReady);
}

/* ---- Contexts ---- */

Test(cuda_guest, only_the_device_that_was_asked_for_gets_a_context) {
    reset();
    fake_cuda.devices = 2;
    work("cuda:1");
    cr_assert_eq(fake_cuda.contexts, 1);
    cr_assert(!fake_cuda_context());
    int device = -1;
    cr_assert_eq(cudaGetDevice(&device), cudaSuccess);
    cr_assert_eq(device, 0);
}

Test(cuda_guest, a_context_of_the_program_stays_current) {
    for (int own = 0; own < 2; own++) {
        reset();
        fake_cuda.devices = 2;
        /* of the same device, or of another, and not a primary one */
        void *context = fake_cuda_context_make(own);
        work("cuda:1");
        cr_assert_eq(fake_cuda_context(), context);
    }
}

Test(cuda_guest, every_call_restores_the_context) {
    reset();
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    pith_scope *s = pith_scope_open(rt);
    void *context = fake_cuda_context_make(0);
    const pith_array *x = pith_iota(s, PITH_F64, PITH_SHAPE(N), 0);
    cr_assert_eq(fake_cuda_context(), context);
    pith_drop(s, x);
    cr_assert_eq(fake_cuda_context(), context);
    pith_scope_close(s);
    cr_assert_eq(fake_cuda_context(), context);
    pith_close(rt);
    cr_assert_eq(fake_cuda_context(), context);
}

static void *seen[2];
static int modes[2];

static void *allocate(void *context, size_t bytes, size_t alignment, void *stream) {
    void *data = NULL;
    (void)context, (void)alignment, (void)stream;
    seen[0] = fake_cuda_context();
    modes[0] = fake_cuda_capture_mode();
    return cudaMalloc(&data, bytes) == cudaSuccess ? data : NULL;
}
static void
give(void *context, void *data, size_t bytes, size_t alignment, void *stream) {
    (void)context, (void)bytes, (void)alignment;
    cudaStreamSynchronize(stream);
    seen[1] = fake_cuda_context();
    modes[1] = fake_cuda_capture_mode();
    cudaFree(data);
}

Test(cuda_guest, an_allocator_of_the_program_runs_with_the_device_current) {
    reset();
    fake_cuda.devices = 2;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda:1"});
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_memory_set_allocator(
                 s, &(pith_memory_allocator){.kind = PITH_ALLOCATOR_USER,
                                             .allocate = allocate,
                                             .release = give}));
    pt_ok(s, pith_iota(s, PITH_F64, PITH_SHAPE(1 << 20), 0));
    pt_ok(s, pith_memory_set_allocator(s, NULL));
    pith_scope_close(s);
    pith_close(rt);
    cr_assert(seen[0] && seen[1] == seen[0]);
    cr_assert_eq(modes[0], 2);
    cr_assert_eq(modes[1], 2);
    cr_assert_eq(fake_cuda.contexts, 1); /* cudaMalloc would make one of device 0 */
    cr_assert_eq(fake_cuda_alive(), 0);
}

/* ---- Captures ---- */

Test(cuda_guest, a_capture_of_another_library_is_not_disturbed) {
    reset();
    fake_cuda.foreign_capture = true;
    void *data;
    cr_assert_eq(cudaMalloc(&data, 8), cudaErrorStreamCaptureUnsupported);
    (void)cudaGetLastError();
    fake_cuda.captures_broken = 0;
    work("cuda");
    cr_assert_eq(fake_cuda.captures_broken, 0);
    cr_assert_eq(fake_cuda_capture_mode(), 0);
}

/* ---- Codes ---- */

/* Each call fails in turn: results are right or an error is reported, and the runtime is
 * alive. */
static void fail_each(cudaError_t with) {
    enum { SMALL = 40 };
    for (long long at = 1;; at++) {
        reset();
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
        pith_scope *s = pith_scope_open(rt);
        pt_ok(s);
        double in[SMALL], out[SMALL] = {0};
        for (int i = 0; i < SMALL; i++)
            in[i] = i;
        fake_cuda.fail_with = with;
        fake_cuda.fail_at = fake_cuda.calls + at;
        const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(SMALL), in);
        const pith_array *y = x ? twice(s, x) : NULL;
        const bool read = y && pith_read(s, y, out, sizeof out);
        cr_assert_eq(read, pith_code(s) == PITH_OK);
        for (int i = 0; i < SMALL && read; i++)
            cr_assert_eq(out[i], 2 * i);
        const bool failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        cr_assert_eq(pith_runtime_code(rt), PITH_OK, "%s: %s", fake_cuda.failed,
                     pith_runtime_message(rt));
        pith_clear(s);
        y = pith_array_copy(s, PITH_F64, PITH_SHAPE(SMALL), in);
        pt_ok(s, pith_read(s, y, out, sizeof out));
        cr_assert(memcmp(in, out, sizeof in) == 0, "%s", fake_cuda.failed);
        pith_scope_close(s);
        pith_close(rt);
        cr_assert_eq(fake_cuda_alive(), 0, "%s", fake_cuda.failed);
        if (!failed)
            break;
    }
}

Test(cuda_guest, a_refused_call_leaves_the_runtime_alive, .timeout = 120) {
    static const cudaError_t codes[] = {cudaErrorStreamCaptureUnsupported,
                                        cudaErrorStreamCaptureImplicit,
                                        cudaErrorCudartUnloading};
    for (int k = 0; k < PITHP_COUNT(codes); k++)
        fail_each(codes[k]);
}

Test(cuda_guest, code_for_another_architecture_is_reported_as_such) {
    static const cudaError_t codes[] = {
        cudaErrorInvalidKernelImage, cudaErrorNoKernelImageForDevice,
        cudaErrorInvalidDeviceFunction, cudaErrorUnsupportedPtxVersion};
    for (int k = 0; k < PITHP_COUNT(codes); k++) {
        reset();
        fake_cuda.load_with = codes[k];
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
        cr_assert_eq(pith_runtime_code(rt), PITH_E_UNSUPPORTED);
        cr_assert(strstr(pith_runtime_message(rt), "compute capability 9.0"), "%s",
                  pith_runtime_message(rt));
        pith_close(rt);
        cr_assert_eq(fake_cuda_alive(), 0);
    }
}

/* NVRTC and cuBLAS of CUDA 13 make and load what such a driver refuses. */
Test(cuda_guest, a_driver_of_an_older_major_version_gets_images_that_it_loads) {
    for (int minor = 8; minor <= 9; minor++) {
        reset();
        fake_cuda.driver = 12000 + 10 * minor;
        work("cuda");
    }
}

/* ---- Budgets ---- */

/* The device has what is in use, and not the room for one more library of code. */
static void leave_no_room(void) {
    size_t free_bytes, total;
    cr_assert_eq(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    fake_cuda.budget = total - free_bytes + 100;
}

Test(cuda_guest, code_is_loaded_in_memory_that_is_kept_for_reuse) {
    reset();
    double in[N] = {1, 2, 3}, out[N];
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(N), in);
    pith_drop(s, pith_iota(s, PITH_F64, PITH_SHAPE(1 << 20), 0));
    pith_wait(s);
    pt_ok(s);
    leave_no_room();
    const pith_array *y = twice(s, x);
    pt_ok(s, y && pith_read(s, y, out, sizeof out));
    cr_assert_eq(out[2], 6);
    pith_scope_close(s);
    pith_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}

Test(cuda_guest, a_shortage_of_memory_for_code_passes) {
    reset();
    double in[N] = {1, 2, 3}, out[N];
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(N), in);
    pith_wait(s);
    pt_ok(s);
    leave_no_room();
    cr_assert(!twice(s, x));
    cr_assert_eq(pith_code(s), PITH_E_MEMORY, "%s", pith_message(s));
    cr_assert_eq(pith_runtime_code(rt), PITH_OK);
    pith_clear(s);
    fake_cuda.budget = 0;
    const pith_array *y = twice(s, x);
    pt_ok(s, y && pith_read(s, y, out, sizeof out));
    cr_assert_eq(out[2], 6);
    pith_scope_close(s);
    pith_close(rt);
    cr_assert_eq(fake_cuda_alive(), 0);
}

Test(cuda_guest, the_pinned_budget_counts_and_bounds_staging) {
    for (int allowed = 0; allowed < 2; allowed++) {
        reset();
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "cuda"});
        pith_scope *s = pith_scope_open(rt);
        double in[N] = {1, 2, 3}, out[N] = {0};
        pt_ok(s, pith_memory_set_pinned_budget(s, allowed ? (size_t)8 << 20 : 1000));
        const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(N), in);
        pt_ok(s, pith_read(s, x, out, sizeof out));
        cr_assert(memcmp(in, out, sizeof in) == 0);
        cr_assert_eq(fake_cuda.pinned, allowed);
        cr_assert_eq(pith_memory_pinned(rt), allowed ? (size_t)4 << 20 : 0);
        pith_scope_close(s);
        pith_close(rt);
        cr_assert_eq(fake_cuda_alive(), 0);
    }
}
