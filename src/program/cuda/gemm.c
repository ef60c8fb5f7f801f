/* Products on CUDA by a library's batched gemm (gpu/gemm.h), with the error bound of all
 * products.
 *
 * The library sums at most 256 terms at once, and the results of these spans are added in
 * order. f16 and bf16 are cast to f32 first, and the result is rounded once, because the
 * device's matrix units (tensor cores) truncate sums of 16-bit floats. Integers are
 * excluded: a library's do not wrap at every width.
 *
 * If there is memory, the results of the spans are stored separately and added at the
 * end. Otherwise the library adds each span to the sum of the spans before. */
#include "gpu/gemm.h"

#include "program/cuda/cuda.h"
#include "program/host/dot.h"
#include "program/op/thresholds.h"
#include "program/source/args/library.h"

#include <string.h>

enum {
    SPAN = 256,             /* terms */
    MOST_SPANS = 256,       /* of that length; longer products have longer spans */
    SIDE_BY_SIDE = 1 << 24, /* maximum bytes of separate results of spans */
};

/* A product as gemm calls of the library. */
typedef struct gemm_plan {
    pithp_product_view v;
    bool wide;           /* f64 */
    bool casts;          /* operands and result are f16 or bf16 */
    bool adds;           /* the library adds the spans */
    int64_t span, spans; /* terms of a span */
    int64_t all;         /* pointers to matrices of a */
    size_t
        bytes[2]; /* of operands that are moved or cast, for each of the view's factors */
    size_t sums;  /* bytes of the results of spans, or of a result before rounding */
} gemm_plan;

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static int64_t span_of(int64_t terms) {
    /* the bound holds for 256 or more spans, each of 256 or more terms */
    const int64_t grown = terms / MOST_SPANS / 64 * 64;
    return grown > SPAN ? grown : SPAN;
}

/* Leading dimension of a matrix [extent, terms] in column order, and whether the terms
 * are contiguous. */
static int64_t leading_dimension(const pithp_factor *f,
                                 int64_t extent,
                                 int64_t terms,
                                 bool *terms_contiguous) {
    *terms_contiguous = f->term == 1 || terms == 1;
    if (f->free == 1 && !(f->term == 1 && extent == 1))
        *terms_contiguous = false;
    const int64_t step = *terms_contiguous ? f->free : f->term,
                  rows = *terms_contiguous ? terms : extent;
    const int64_t columns = *terms_contiguous ? extent : terms;
    return columns == 1 && step < rows ? rows : step;
}

static bool fits(int64_t number) {
    return number > 0 && number <= INT32_MAX;
}

/* Whether the library accepts the matrices of a factor. */
static bool is_matrix(const pithp_factor *f, int64_t extent, int64_t terms) {
    bool terms_contiguous;
    if (!fits(extent) || !fits(terms) ||
        (extent > 1 && terms > 1 && f->free != 1 && f->term != 1))
        return false;
    const int64_t step = leading_dimension(f, extent, terms, &terms_contiguous);
    return fits(step) && step >= (terms_contiguous ? terms : extent);
}

/* Whether the library can compute the product. */
static bool plan_gemm(const pithp_call *call, gemm_plan *p) {
    const pith_dtype dtype = call->operands[0]->dtype;
    if (call->primitive != PITHP_OP_DOT_GENERAL || !pith_dtype_is_float(dtype))
        return false;
    *p = (gemm_plan){.v = pithp_product_view_side_by_side(call),
                     .wide = dtype == PITH_F64,
                     .casts = dtype == PITH_F16 || dtype == PITH_BF16};
    const pithp_product_view *v = &p->v;
    if (!is_matrix(&v->a, v->m, v->terms) || !is_matrix(&v->b, v->n, v->terms) ||
        !fits(v->batches))
        return false;
    const size_t size = p->wide ? sizeof(double) : sizeof(float);
    const pithp_factor *factors[] = {&v->a, &v->b};
    for (int k = 0; k < 2; k++) {
        const pith_spec *x = call->operands[factors[k]->operand];
        const size_t moved = factors[k]->moved ? aligned(x->bytes) : 0,
                     cast = p->casts ? aligned((size_t)x->count * size) : 0;
        p->bytes[k] = moved + cast;
    }
    p->span = span_of(v->terms);
    p->spans = (v->terms + p->span - 1) / p->span;
    p->all = p->spans * v->batches;
    size_t result;
    if (!fits(p->all) || __builtin_mul_overflow((size_t)v->m, (size_t)v->n, &result) ||
        __builtin_mul_overflow(result, (size_t)v->batches * size, &result))
        return false;
    p->adds = p->spans > 1 && result > SIDE_BY_SIDE / (size_t)p->spans;
    p->sums =
        p->adds || p->spans == 1 ? (p->casts ? result : 0) : result * (size_t)p->spans;
    return true;
}

size_t pithp_cuda_temporary_gemm(const pithp_call *call) {
    gemm_plan p;
    return plan_gemm(call, &p) ? p.bytes[0] + p.bytes[1] + p.sums : 0;
}

/* ---- Whether the library is faster ---- */

static bool is_large(const pithp_product_view *v) {
    int64_t work;
    return v->terms >= PITHP_GEMM_LEAST_TERMS ||
           __builtin_mul_overflow(v->m * v->terms, v->n, &work) ||
           __builtin_mul_overflow(work, v->batches, &work) ||
           work >= PITHP_GEMM_LEAST_WORK;
}

size_t pithp_cuda_gemm_bytes(const pithp_call *call, pithp_gemm_use use) {
    gemm_plan p;
    if (use == PITHP_GEMM_NONE || !plan_gemm(call, &p) ||
        (use == PITHP_GEMM_LARGE && !is_large(&p.v)))
        return 0;
    return pithp_gemm_bytes(p.all);
}

/* ---- Launches ---- */

/* Prepare a factor for the library: in the view's layout, and cast from f16 or bf16. */
static pith_status prepare(const pithp_call *call,
                           const pithp_factor *f,
                           bool casts,
                           const pithp_sink *sink,
                           const void **data,
                           char *temporary) {
    const pith_spec *x = call->operands[f->operand];
    const int64_t size = (int64_t)pith_dtype_size(x->dtype);
    if (f->moved) {
        const pith_status rc =
            pithp_product_launch_moving(call, f, size, *data, temporary, sink);
        if (rc != PITH_OK)
            return rc;
        *data = temporary;
        temporary += aligned(x->bytes);
    }
    if (!casts)
        return PITH_OK;
    const pithp_call cast = pithp_call_of(PITHP_OP_CAST, 1, &x, NULL);
    pith_spec to = *x;
    to.dtype = PITH_F32;
    const pithp_memory memory = {.operands = data, .result = temporary};
    const pith_status rc = pithp_lower_cuda(&cast, &to, &memory, sink);
    *data = temporary;
    return rc;
}

/* Row-major c[m, n] is c[n, m] for the library, which is column-major, so the operands
 * are exchanged. */
static pithp_gemm call_of(const gemm_plan *p) {
    const pithp_product_view *v = &p->v;
    pithp_gemm g = {.dtype = p->wide ? PITH_F64 : PITH_F32,
                    .m = (int32_t)v->n,
                    .n = (int32_t)v->m,
                    .ldc = (int32_t)v->n,
                    .all = (int32_t)p->all};
    bool b_terms, a_terms;
    g.lda = (int32_t)leading_dimension(&v->b, v->n, v->terms, &b_terms);
    g.ldb = (int32_t)leading_dimension(&v->a, v->m, v->terms, &a_terms);
    g.a_transposed = b_terms;
    g.b_transposed = !a_terms;
    return g;
}

/* Calls for the pointers [first, first + count) with k terms each; each call has at most
 * as many matrices as a grid has blocks. */
static pith_status launch_calls(const pithp_sink *sink,
                                pithp_gemm g,
                                int64_t first,
                                int64_t count,
                                int64_t k,
                                void *memory) {
    g.k = (int32_t)k;
    for (int64_t done = 0; done < count; done += g.count) {
        const int64_t left = count - done;
        g.first = (int32_t)(first + done);
        g.count = (int32_t)(left < PITHP_GEMM_MOST ? left : PITHP_GEMM_MOST);
        const pith_status rc = sink->cuda->gemm(sink->closure, "dot_general", &g, memory);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

static pith_status
launch_spans(const pithp_sink *sink, const gemm_plan *p, void *memory) {
    const pithp_product_view *v = &p->v;
    pithp_gemm g = call_of(p);
    const int64_t whole = v->terms / p->span, rest = v->terms % p->span;
    if (!p->adds) {
        pith_status rc = launch_calls(sink, g, 0, whole * v->batches, p->span, memory);
        if (rc == PITH_OK && rest)
            rc = launch_calls(sink, g, whole * v->batches, v->batches, rest, memory);
        return rc;
    }
    for (int64_t s = 0; s < p->spans; s++) {
        g.adds = s > 0;
        const pith_status rc = launch_calls(sink, g, s * v->batches, v->batches,
                                            s < whole ? p->span : rest, memory);
        if (rc != PITH_OK)
            return rc;
    }
    return PITH_OK;
}

/* c: the library's results. */
static pith_status launch_pointers(const pithp_sink *sink,
                                   const gemm_plan *p,
                                   const void *const *data,
                                   void *c,
                                   void *memory) {
    const pithp_product_view *v = &p->v;
    pithp_cuda_pointers_args a = {.to = pithp_gemm_pointers(memory),
                                  .a = data[1],
                                  .b = data[0],
                                  .c = c,
                                  .count = p->all,
                                  .batches = v->batches,
                                  .a_span = p->span * v->b.term,
                                  .b_span = p->span * v->a.term,
                                  .c_span = p->adds ? 0 : v->batches * v->m * v->n,
                                  .c_batch = v->m * v->n,
                                  .rank = v->rank,
                                  .size = p->wide ? 8 : 4};
    memcpy(a.batch, v->batch, sizeof a.batch);
    memcpy(a.a_batch, v->b.batch, sizeof a.a_batch);
    memcpy(a.b_batch, v->a.batch, sizeof a.b_batch);
    return pithp_cuda_launch(sink, PITHP_CUDA_pointers, "dot_general", &a, sizeof a,
                             p->all);
}

pith_status pithp_cuda_lower_gemm(const pithp_call *call,
                                  const pith_spec *result,
                                  const pithp_memory *memory,
                                  const pithp_sink *sink) {
    gemm_plan p;
    pith_status rc = PITH_OK;
    if (!plan_gemm(call, &p))
        return PITH_E_INTERNAL;
    const void *data[] = {memory->operands[p.v.a.operand],
                          memory->operands[p.v.b.operand]};
    char *temporary = memory->temporary, *sums = temporary + p.bytes[0] + p.bytes[1];
    PITH_TRY(prepare(call, &p.v.a, p.casts, sink, &data[0], temporary));
    PITH_TRY(prepare(call, &p.v.b, p.casts, sink, &data[1], temporary + p.bytes[0]));
    PITH_TRY(
        launch_pointers(sink, &p, data, p.sums ? sums : memory->result, memory->gemm));
    PITH_TRY(launch_spans(sink, &p, memory->gemm));
    if (p.sums) {
        const pithp_cuda_spans_args a = {.from = sums,
                                         .to = memory->result,
                                         .spans = p.adds ? 1 : p.spans,
                                         .count = result->count,
                                         .to_dtype = (int32_t)result->dtype};
        rc = pithp_cuda_launch(sink, PITHP_CUDA_spans, "dot_general", &a, sizeof a,
                               result->count);
    }
out:
    return rc;
}
