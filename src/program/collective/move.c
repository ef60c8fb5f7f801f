/* Steps of collectives (move.h). */
#include "program/collective/move.h"

#include "program/cuda/cuda.h"
#include "program/host/move.h"

#include <string.h>

/* ---- Memory ---- */

static size_t aligned(size_t bytes) {
    return (bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}

static void *take(void *base, size_t *used, size_t bytes) {
    char *at = base ? (char *)base + *used : NULL;
    *used += aligned(bytes);
    return at;
}

void *pithp_mover_take(pithp_mover *m, size_t bytes) {
    return take(m->s ? m->memory->device : NULL, &m->used.device, bytes);
}

void *pithp_mover_take_host(pithp_mover *m, size_t bytes) {
    return take(m->s ? m->memory->host : NULL, &m->used.host, bytes);
}

/* ---- Rows of the table ---- */

pith_spec pithp_mover_spec(pith_dtype dtype, int rank, const int64_t *shape) {
    pith_spec spec = {.dtype = dtype, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        spec.shape[d] = shape[d];
        spec.count *= shape[d];
    }
    spec.bytes = (size_t)spec.count * pith_dtype_size(dtype);
    return spec;
}

static pith_status launch(void *scope, const pithp_launch *l) {
    return pithp_launch_run(scope, l);
}

static pithp_sink sink_of(const pithp_mover *m) {
    return (pithp_sink){.launch = launch,
                        .closure = m->s,
                        .cuda = m->on_host ? NULL : &pithp_cuda_on_scope};
}

void pithp_mover_launch(pithp_mover *m,
                        pithp_cuda_kernel_id id,
                        const char *name,
                        const void *args,
                        size_t args_bytes,
                        int64_t threads) {
    const pithp_sink sink = sink_of(m);
    if (pithp_mover_runs(m))
        m->rc = pithp_cuda_launch(&sink, id, name, args, args_bytes, threads);
}

void pithp_mover_apply(pithp_mover *m,
                       pithp_primitive primitive,
                       int count,
                       const pith_spec *const *specs,
                       const void *const *operands,
                       const void *params,
                       const pith_spec *result,
                       void *to) {
    const pithp_call call = pithp_call_of(primitive, count, specs, params);
    const size_t bytes = m->on_host ? pithp_temporary_bytes(&call, result)
                                    : pithp_cuda_temporary_bytes(&call, result);
    const pithp_memory memory = {.operands = operands,
                                 .result = to,
                                 .temporary = bytes ? pithp_mover_take(m, bytes) : NULL};
    if (!pithp_mover_runs(m) || result->count == 0)
        return;
    const pithp_sink own = sink_of(m), *sink = m->recorder ? m->recorder->sink : &own;
    m->rc = m->on_host ? pithp_lower(&call, result, &memory, sink)
                       : pithp_lower_cuda(&call, result, &memory, sink);
}

pith_status
pithp_record_copy(const pithp_sink *sink, void *to, const void *from, size_t bytes) {
    const pithp_move move = {.to = to,
                             .from = from,
                             .size = 1,
                             .rank = 1,
                             .shape = {(int64_t)bytes},
                             .to_stride = {1},
                             .from_stride = {1}};
    return pithp_cuda_encoder.move(sink, "copy", &move, (int64_t)bytes, false);
}

void pithp_mover_copy(pithp_mover *m, void *to, const void *from, size_t bytes) {
    if (!pithp_mover_runs(m) || !bytes || to == from)
        return;
    m->rc = m->recorder ? pithp_record_copy(m->recorder->sink, to, from, bytes)
                        : pithp_copy(m->s, to, from, bytes);
}

void pithp_mover_fill(pithp_mover *m, void *to, uint32_t value, size_t size, size_t n) {
    if (!pithp_mover_runs(m) || !n)
        return;
    m->rc = m->recorder ? pithp_cuda_encoder.fill(m->recorder->sink, "fill", to,
                                                  (int32_t)size, value, (int64_t)n)
                        : pithp_fill(m->s, to, &value, size, (int64_t)n);
}

void pithp_mover_zero(pithp_mover *m, void *to, size_t bytes) {
    pithp_mover_fill(m, to, 0, 1, bytes);
}

const void *pithp_mover_exchange(pithp_mover *m,
                                 const void *x,
                                 pith_dtype dtype,
                                 const int64_t shape[3]) {
    static const pithp_transpose_params swap = {{1, 0, 2}};
    const pith_spec from = pithp_mover_spec(dtype, 3, shape);
    const pith_spec to =
        pithp_mover_spec(dtype, 3, (const int64_t[]){shape[1], shape[0], shape[2]});
    const pith_spec *specs[] = {&from};
    if (shape[0] == 1 || shape[1] == 1)
        return x;
    void *made = pithp_mover_take(m, to.bytes);
    pithp_mover_apply(m, PITHP_OP_TRANSPOSE, 1, specs, &x, &swap, &to, made);
    return made;
}

/* Longer rows are left to the threads of the reduction. */
enum { FEW_ELEMENTS = 1 << 17 };

/* The sum of two rows of floats, with the bits of the reduction, which adds its identity
 * too: zeros become positive. False: not here. */
static bool
add_two(pithp_mover *m, pith_dtype dtype, int64_t n, const void *x, void *to) {
    if (!m->on_host || n > FEW_ELEMENTS || (dtype != PITH_F64 && dtype != PITH_F32))
        return false;
    if (!pithp_mover_runs(m))
        return true;
    if (dtype == PITH_F64) {
        const double *a = x, *b = a + n;
        double *sum = to;
        for (int64_t i = 0; i < n; i++)
            sum[i] = a[i] + b[i] + 0.0;
    } else {
        const float *a = x, *b = a + n;
        float *sum = to;
        for (int64_t i = 0; i < n; i++)
            sum[i] = (float)((double)a[i] + (double)b[i] + 0.0);
    }
    return true;
}

void pithp_mover_reduce(pithp_mover *m,
                        pithp_primitive primitive,
                        pith_dtype dtype,
                        int64_t n,
                        int64_t count,
                        const void *x,
                        void *to) {
    static const pithp_reduce_params first = {1};
    if (n == 2 && primitive == PITHP_OP_SUM && add_two(m, dtype, count, x, to))
        return;
    const pith_spec stack = pithp_mover_spec(dtype, 2, (const int64_t[]){n, count});
    const pith_spec row = pithp_mover_spec(dtype, 1, &count), *specs[] = {&stack};
    pithp_mover_apply(m, primitive, 1, specs, &x, &first, &row, to);
}

/* ---- Memory that engines reach ---- */

static void drain(pithp_mover *m) {
    if (m->enqueues && pithp_mover_runs(m))
        m->rc = pithp_stream_drain(m->s);
}

void pithp_mover_read(pithp_mover *m, void *host, const void *from, size_t bytes) {
    drain(m);
    if (!pithp_mover_runs(m))
        return;
    if (m->on_host)
        memcpy(host, from, bytes);
    else
        m->rc = pithp_copy_out(m->s, host, from, bytes);
}

pithp_reach pithp_mover_stage(pithp_mover *m, void *device, size_t bytes, bool load) {
    pithp_reach r = {device, device, bytes};
    drain(m);
    if (m->on_host)
        return r;
    r.host = pithp_mover_take_host(m, bytes);
    if (load && bytes && pithp_mover_runs(m))
        m->rc = pithp_copy_out(m->s, r.host, device, bytes);
    return r;
}

void pithp_mover_store(pithp_mover *m, const pithp_reach *r) {
    if (r->host != r->device && r->bytes && pithp_mover_runs(m))
        m->rc = pithp_copy_in(m->s, r->device, r->host, r->bytes);
}

/* ---- Moves between ranks ---- */

static void copy_own(pithp_mover *m, const pithp_device_move *t) {
    if (t->kind != PITHP_TRANSFER_PERMUTE || t->receiver >= 0)
        pithp_mover_copy(m, t->to, t->from, t->bytes);
}

void pithp_mover_give_up(const pithp_mover *m) {
    if (m->s && m->rc != PITH_OK && m->group->size > 1 && !m->recorder)
        pithp_mesh_group_break(m->s, m->group, m->s->error.text);
}

void pithp_mover_transfer(pithp_mover *m, const pithp_device_move *t) {
    pithp_mover_give_up(m);
    if (!pithp_mover_runs(m) || (!t->bytes && t->kind != PITHP_TRANSFER_MESSAGES))
        return;
    if (m->group->size == 1) {
        copy_own(m, t);
        return;
    }
    if (m->recorder) {
        m->rc = m->recorder->transfer(m->recorder->closure, m->group, t);
        return;
    }
    pithp_mesh_group_transfer(m->s, m->group, t);
    m->rc = m->s->error.code;
}

void pithp_mover_pass(pithp_mover *m, const pithp_exchange *x) {
    if (!m->direct) {
        pithp_mesh_group_messages(m->s, m->group, x);
        return;
    }
    if (x->sends || x->receives)
        pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_MESSAGES,
                                                     .sends = x->send,
                                                     .receives = x->receive,
                                                     .send_count = x->sends,
                                                     .receive_count = x->receives});
    if (x->meanwhile)
        x->meanwhile(x->closure);
}

void pithp_mover_gather(pithp_mover *m, const void *from, void *to, size_t bytes) {
    if (m->direct) {
        pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_GATHER,
                                                     .from = from,
                                                     .to = to,
                                                     .bytes = bytes});
        return;
    }
    const pithp_reach own = pithp_mover_reach(m, from, bytes, true);
    const pithp_reach all =
        pithp_mover_reach(m, to, bytes * (size_t)m->group->size, false);
    if (m->s && bytes)
        pithp_mesh_group_gather(m->s, m->group, own.host, all.host, bytes);
    pithp_mover_store(m, &all);
}

void pithp_mover_transpose(pithp_mover *m, const void *from, void *to, size_t bytes) {
    if (m->direct) {
        pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_TRANSPOSE,
                                                     .from = from,
                                                     .to = to,
                                                     .bytes = bytes});
        return;
    }
    const size_t whole = bytes * (size_t)m->group->size;
    const pithp_reach out = pithp_mover_reach(m, from, whole, true);
    const pithp_reach in = pithp_mover_reach(m, to, whole, false);
    if (m->s && bytes)
        pithp_mesh_group_transpose(m->s, m->group, out.host, in.host, bytes);
    pithp_mover_store(m, &in);
}
