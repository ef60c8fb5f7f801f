/* A stand-in for cuBLAS: products in plain C, terms added in the order of pith's own
 * kernels, so that correct calls give their bits. What cuBLAS forbids, and what pith
 * never asks for, ends the program with a message. */
#include "fake_queue.h"
#include "gpu/compile/toolkit.h"
#include "gpu/cuda/cublas.h"
#include "gpu/cuda/decide.h"
#include "gpu/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_HANDLE = 0x626c6173, NOT_INITIALIZED = 1, FAILED = 13 }; /* CUBLAS_STATUS_ */

static int major; /* the version that was opened */

typedef struct fake_handle {
    uint32_t magic;
    cudaStream_t stream;
    void *workspace; /* NULL: it would take memory of its own */
    size_t bytes;
} fake_handle;

#define BEGIN(call)                                                                      \
    FAKE_SURE(call);                                                                     \
    if (fake_cuda_fails("cublas" call))                                                  \
    return end(failed())

static int end(int status) {
    pthread_mutex_unlock(&fake_cuda_lock);
    return status;
}

/* A device that is lost says so to the next one who asks it. */
static int failed(void) {
    if (fake_cuda.fail_with == cudaErrorIllegalAddress)
        fake_cuda.fail_at = fake_cuda.calls + 1;
    return FAILED;
}

static fake_handle *handle_of(const char *call_name, pithp_cublas_handle handle) {
    fake_handle *h = handle;
    FAKE_CHECK(h && h->magic == FAKE_HANDLE, "not a handle");
    return h;
}

/* ---- Handles ---- */

static int create(pithp_cublas_handle *handle) {
    BEGIN("Create");
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    if (major > driver / 1000)
        return end(NOT_INITIALIZED);
    if (!fake_cuda_take(pithp_cublas_workspace(90)))
        return end(PITHP_CUBLAS_ALLOC_FAILED);
    fake_handle *made = calloc(1, sizeof *made);
    made->magic = FAKE_HANDLE;
    fake_cuda.handles++;
    *handle = made;
    return end(PITHP_CUBLAS_OK);
}

static int destroy(pithp_cublas_handle handle) {
    FAKE_SURE("Destroy");
    fake_handle *h = handle_of(call_name, handle);
    h->magic = 0;
    free(h);
    fake_cuda_give(pithp_cublas_workspace(90));
    fake_cuda.handles--;
    return end(PITHP_CUBLAS_OK);
}

/* As cuBLAS says: back to its own workspace. */
static int set_stream(pithp_cublas_handle handle, cudaStream_t stream) {
    BEGIN("SetStream");
    fake_handle *h = handle_of(call_name, handle);
    FAKE_CHECK(stream, "the default stream");
    h->stream = stream;
    h->workspace = NULL;
    return end(PITHP_CUBLAS_OK);
}

static int set_workspace(pithp_cublas_handle handle, void *memory, size_t bytes) {
    BEGIN("SetWorkspace");
    fake_handle *h = handle_of(call_name, handle);
    FAKE_CHECK((uintptr_t)memory % 256 == 0 && bytes >= (size_t)4 << 20 &&
                   fake_cuda_is_device(memory, bytes),
               "not aligned memory of the device, or too little");
    h->workspace = memory;
    h->bytes = bytes;
    return end(PITHP_CUBLAS_OK);
}

/* ---- Products ---- */

typedef struct product {
    bool wide, a_turned, b_turned, adds;
    int m, n, k, lda, ldb, ldc, count;
    const void *const *a, *const *b;
    void *const *c;
    void *workspace;
    size_t workspace_bytes;
} product;

/* Bytes from the first to past the last element. */
static size_t extent(const product *p, int rows, int columns, int lead) {
    return ((size_t)(columns - 1) * (size_t)lead + (size_t)rows) * (p->wide ? 8 : 4);
}

static void check_matrix(const char *call_name, const void *at, size_t bytes) {
    FAKE_CHECK((uintptr_t)at % 4 == 0 && fake_memory_lives(at, bytes),
               "a pointer to no matrix of the device");
}

#define MULTIPLY(T, fused)                                                               \
    for (int j = 0; j < p->n; j++)                                                       \
        for (int i = 0; i < p->m; i++) {                                                 \
            const T *x = a, *y = b;                                                      \
            T sum = 0, *to = (T *)c + (size_t)j * (size_t)p->ldc + (size_t)i;            \
            for (int k = 0; k < p->k; k++)                                               \
                sum = fused(x[p->a_turned ? (size_t)i * (size_t)p->lda + (size_t)k       \
                                          : (size_t)k * (size_t)p->lda + (size_t)i],     \
                            y[p->b_turned ? (size_t)k * (size_t)p->ldb + (size_t)j       \
                                          : (size_t)j * (size_t)p->ldb + (size_t)k],     \
                            sum);                                                        \
            *to = p->adds ? *to + sum : sum;                                             \
        }

static void run_product(const char *call_name, const void *closure) {
    const product *p = closure;
    FAKE_CHECK(fake_memory_lives(p->workspace, p->workspace_bytes),
               "a workspace that was freed");
    memset(p->workspace, 0xb1, p->workspace_bytes);
    for (int t = 0; t < p->count; t++) {
        FAKE_CHECK(fake_memory_lives(&p->a[t], 8) && fake_memory_lives(&p->b[t], 8) &&
                       fake_memory_lives(&p->c[t], 8),
                   "pointers that are not in memory of the device");
        const void *a = p->a[t], *b = p->b[t];
        void *c = p->c[t];
        check_matrix(call_name, a,
                     p->a_turned ? extent(p, p->k, p->m, p->lda)
                                 : extent(p, p->m, p->k, p->lda));
        check_matrix(call_name, b,
                     p->b_turned ? extent(p, p->n, p->k, p->ldb)
                                 : extent(p, p->k, p->n, p->ldb));
        check_matrix(call_name, c, extent(p, p->m, p->n, p->ldc));
        if (p->wide) {
            MULTIPLY(double, fma)
        } else {
            MULTIPLY(float, fmaf)
        }
    }
}

static double number(const void *at, bool wide) {
    return wide ? *(const double *)at : (double)*(const float *)at;
}

static int gemm_batched(pithp_cublas_handle handle,
                        int a_operation,
                        int b_operation,
                        int m,
                        int n,
                        int k,
                        const void *alpha,
                        const void *const *a,
                        int a_type,
                        int lda,
                        const void *const *b,
                        int b_type,
                        int ldb,
                        const void *beta,
                        void *const *c,
                        int c_type,
                        int ldc,
                        int count,
                        int compute,
                        int algorithm) {
    BEGIN("GemmBatchedEx");
    const fake_handle *h = handle_of(call_name, handle);
    const bool wide = a_type == PITHP_CUBLAS_R_64F;
    FAKE_CHECK(h->stream, "a handle without a stream");
    FAKE_CHECK(h->workspace, "no workspace: it would allocate one");
    FAKE_CHECK(a_type == b_type && b_type == c_type &&
                   (wide ? compute == PITHP_CUBLAS_COMPUTE_64F_PEDANTIC
                         : a_type == PITHP_CUBLAS_R_32F &&
                               compute == PITHP_CUBLAS_COMPUTE_32F_PEDANTIC),
               "types, or a precision that is not theirs");
    FAKE_CHECK(algorithm == PITHP_CUBLAS_GEMM_DEFAULT, "an algorithm");
    FAKE_CHECK((a_operation == PITHP_CUBLAS_N || a_operation == PITHP_CUBLAS_T) &&
                   (b_operation == PITHP_CUBLAS_N || b_operation == PITHP_CUBLAS_T),
               "an operation");
    FAKE_CHECK(m > 0 && n > 0 && k > 0 && count > 0 && count <= PITHP_GEMM_MOST,
               "nothing to multiply, or too many");
    FAKE_CHECK(lda >= (a_operation == PITHP_CUBLAS_T ? k : m) &&
                   ldb >= (b_operation == PITHP_CUBLAS_T ? n : k) && ldc >= m,
               "a leading dimension that is too short");
    FAKE_CHECK(number(alpha, wide) == 1 &&
                   (number(beta, wide) == 0 || number(beta, wide) == 1),
               "factors");
    const product p = {.wide = wide,
                       .a_turned = a_operation == PITHP_CUBLAS_T,
                       .b_turned = b_operation == PITHP_CUBLAS_T,
                       .adds = number(beta, wide) != 0,
                       .m = m,
                       .n = n,
                       .k = k,
                       .lda = lda,
                       .ldb = ldb,
                       .ldc = ldc,
                       .count = count,
                       .a = a,
                       .b = b,
                       .c = c,
                       .workspace = h->workspace,
                       .workspace_bytes = h->bytes};
    fake_cuda.gemms++;
    fake_cuda.gemm_sums += p.adds;
    fake_queue_capture(call_name, h->stream, run_product, &p, sizeof p);
    return end(PITHP_CUBLAS_OK);
}

static const char *status_name(int status) {
    return status == FAILED                      ? "CUBLAS_STATUS_EXECUTION_FAILED"
           : status == PITHP_CUBLAS_ALLOC_FAILED ? "CUBLAS_STATUS_ALLOC_FAILED"
                                                 : "CUBLAS_STATUS_OF_THE_FAKE";
}

static int property(int which, int *value) {
    (void)which;
    *value = major;
    return PITHP_CUBLAS_OK;
}

const pithp_cublas *pithp_cublas_open(int driver, pithp_error *e) {
    static const pithp_cublas library = {.GetProperty = property,
                                         .Create_v2 = create,
                                         .Destroy_v2 = destroy,
                                         .SetStream_v2 = set_stream,
                                         .SetWorkspace_v2 = set_workspace,
                                         .GemmBatchedEx = gemm_batched,
                                         .GetStatusName = status_name};
    char name[64];
    if (!fake_cuda.no_cublas &&
        pithp_toolkit_name("cublas", driver, 0, name, sizeof name)) {
        major = atoi(strrchr(name, '.') + 1);
        return &library;
    }
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuBLAS is not found: the fake");
    return NULL;
}
