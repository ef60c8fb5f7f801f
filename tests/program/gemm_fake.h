/* Runtimes on a CUDA device that is made of host memory, with what stands there for
 * cuBLAS (gpu/fake_cuda), and single products on it. */
#ifndef PITH_TESTS_GEMM_FAKE_H
#define PITH_TESTS_GEMM_FAKE_H

#include "../gpu/fake_cuda/fake_cuda.h"
#include "replay_run.h"

static PT_UNUSED char said[2048];

static PT_UNUSED void hear(pith_log_level level, const char *text, void *closure) {
    (void)closure;
    if (level >= PITH_LOG_INFO)
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

/* cublas NULL: as usual. */
static PT_UNUSED bench begin(const char *how, const char *cublas) {
    static char directory[320];
    bench b;
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", "wait", 1);
    setenv("PITH_CUDA_GRAPH", how, 1);
    if (cublas)
        setenv("PITH_CUBLAS", cublas, 1);
    else
        unsetenv("PITH_CUBLAS");
    said[0] = 0;
    b.host = pith_open(&(pith_open_options){.device = "host"});
    b.device = pith_open(&(pith_open_options){.device = "cuda"});
    pith_set_log_hook(b.device, hear, NULL);
    b.s = pith_scope_open(b.host);
    b.on = pith_scope_open(b.device);
    pt_ok(b.on);
    return b;
}

static PT_UNUSED void end(bench *b) {
    pith_scope_close(b->s);
    pith_scope_close(b->on);
    pith_close(b->host);
    pith_close(b->device);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

static PT_UNUSED void reset(void) {
    (void)fake_cuda_alive(); /* all has run */
    memset(&fake_cuda, 0, sizeof fake_cuda);
}

/* ---- One product ---- */

typedef struct product {
    pith_spec specs[2], result;
    pithp_dot_params params;
    pithp_call call;
    const pith_spec *operands[2];
    void *data[2];
} product;

static PT_UNUSED void *fill(const pith_spec *spec, uint64_t *state) {
    char *data = malloc(spec->bytes + 1);
    for (int64_t i = 0; i < spec->count; i++) {
        uint64_t bits = 0;
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        pithp_dtype_encode(spec->dtype, ldexp((double)(int64_t)*state, -63), &bits);
        memcpy(data + (size_t)i * pith_dtype_size(spec->dtype), &bits,
               pith_dtype_size(spec->dtype));
    }
    return data;
}

static PT_UNUSED void finish(product *p, pith_dtype dtype) {
    uint64_t state = 11;
    pithp_refusal refusal;
    for (int k = 0; k < 2; k++) {
        pith_spec *x = &p->specs[k];
        x->dtype = dtype;
        x->count = 1;
        for (int d = 0; d < x->rank; d++)
            x->count *= x->shape[d];
        x->bytes = (size_t)x->count * pith_dtype_size(dtype);
        p->operands[k] = x;
        p->data[k] = fill(x, &state);
    }
    p->call = pithp_call_of(PITHP_OP_DOT_GENERAL, 2, p->operands, &p->params);
    cr_assert(pithp_infer(&p->call, &p->result, &refusal) == PITH_OK, "%s", refusal.text);
}

/* [batch, m, k] x [batch, k, n]. */
static PT_UNUSED void
matrices(product *p, pith_dtype dtype, int64_t batch, int64_t m, int64_t k, int64_t n) {
    *p = (product){.specs = {{.rank = 3, .shape = {batch, m, k}},
                             {.rank = 3, .shape = {batch, k, n}}},
                   .params = {.contracts = 1, .batches = 1, .contract = {{2}, {1}}}};
    finish(p, dtype);
}

static PT_UNUSED void product_free(product *p) {
    free(p->data[0]);
    free(p->data[1]);
}

/* The result, or NULL where there was an error. */
static PT_UNUSED void *multiply(const bench *b, const product *p) {
    pith_scope *s = pith_scope_open_in(b->on);
    void *out = NULL;
    if (pithp_scope_writable(s)) {
        pithp_buffer *in[2] = {pithp_buffer_make(s, p->specs[0].bytes + 1),
                               pithp_buffer_make(s, p->specs[1].bytes + 1)},
                     *to = pithp_buffer_make(s, p->result.bytes + 1);
        const void *operands[2];
        for (int k = 0; k < 2; k++) {
            if (in[k])
                pithp_copy_in(s, in[k]->data, p->data[k], p->specs[k].bytes);
            operands[k] = in[k] ? in[k]->data : NULL;
        }
        const pithp_memory memory = {.operands = operands,
                                     .result = to ? to->data : NULL};
        if (pith_code(s) == PITH_OK && pithp_run(s, &p->call, &p->result, &memory) == 0) {
            out = malloc(p->result.bytes + 1);
            if (pithp_copy_out(s, out, to->data, p->result.bytes) != PITH_OK) {
                free(out);
                out = NULL;
            }
        }
        pithp_buffer_release(in[0], 1);
        pithp_buffer_release(in[1], 1);
        pithp_buffer_release(to, 1);
    }
    pith_clear(s);
    pith_scope_close(s);
    pith_clear(b->on);
    return out;
}

#endif
