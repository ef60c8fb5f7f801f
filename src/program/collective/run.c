/* Collectives by their primitive. Integers take the engine's reduction: their result has
 * no order. Floats are moved by the engine and combined by pith's own reduction over a
 * stack of the ranks' arrays, so that they have its bits. */
#include "program/collective/move.h"

#include <string.h>

/* Stacks up to this size are gathered whole; of larger ones each rank combines a part. */
enum { SMALL_BYTES = 32768 };

static size_t width_of(const pithp_mover *m) {
    return pith_dtype_size(pithp_mover_operand(m)->dtype);
}

/* ---- Reductions ---- */

static pithp_transfer_kind transfer_of(pithp_combine how) {
    return how == PITHP_COMBINE_SUM   ? PITHP_TRANSFER_SUM
           : how == PITHP_COMBINE_MIN ? PITHP_TRANSFER_MIN
                                      : PITHP_TRANSFER_MAX;
}

/* Whether the library of the devices has no such reduction. */
static bool is_missing(const pithp_mover *m, pithp_combine how) {
    return m->direct &&
           !pithp_transfer_reduces(transfer_of(how), pithp_mover_operand(m)->dtype);
}

/* What is reduced: the operand, or its rows in use. */
typedef struct reduced {
    const void *from;
    void *to;
    pith_dtype dtype;
    int64_t count;
    size_t bytes;
} reduced;

static reduced part_of_operand(const pithp_mover *m, const void *from, int64_t count) {
    return (reduced){.from = from,
                     .to = pithp_mover_out(m, 0),
                     .dtype = pithp_mover_operand(m)->dtype,
                     .count = count,
                     .bytes = (size_t)count * width_of(m)};
}

static reduced operand_of(const pithp_mover *m) {
    return part_of_operand(m, pithp_mover_in(m, 0), pithp_mover_operand(m)->count);
}

/* A copy, reduced in place. */
static void reduce_by_engine(pithp_mover *m, const reduced *x, pithp_combine how) {
    if (m->direct) {
        pithp_mover_transfer(m, &(pithp_device_move){.kind = transfer_of(how),
                                                     .dtype = x->dtype,
                                                     .from = x->from,
                                                     .to = x->to,
                                                     .bytes = x->bytes});
        return;
    }
    pithp_mover_copy(m, x->to, x->from, x->bytes);
    const pithp_reach r = pithp_mover_reach(m, x->to, x->bytes, true);
    if (m->s && x->count)
        pithp_mesh_group_reduce(m->s, m->group, how, x->dtype, r.host, x->count);
    pithp_mover_store(m, &r);
}

/* Every rank combines the whole stack. */
static void reduce_small(pithp_mover *m, const reduced *x, pithp_primitive combine) {
    void *stack = pithp_mover_take(m, x->bytes * (size_t)m->group->size);
    pithp_mover_gather(m, x->from, stack, x->bytes);
    pithp_mover_reduce(m, combine, x->dtype, m->group->size, x->count, stack, x->to);
}

/* The elements with zeros at the end. */
static const void *padded(pithp_mover *m, const reduced *x, size_t bytes) {
    if (bytes == x->bytes)
        return x->from;
    char *made = pithp_mover_take(m, bytes);
    pithp_mover_copy(m, made, x->from, x->bytes);
    pithp_mover_zero(m, made ? made + x->bytes : NULL, bytes - x->bytes);
    return made;
}

/* Each rank combines one of P parts, and all gather the parts. */
static void reduce_large(pithp_mover *m, const reduced *x, pithp_primitive combine) {
    const int64_t ranks = m->group->size, part = (x->count + ranks - 1) / ranks;
    const size_t bytes = (size_t)part * width_of(m), whole = bytes * (size_t)ranks;
    const void *all = padded(m, x, whole);
    void *stack = pithp_mover_take(m, whole), *own = pithp_mover_take(m, bytes);
    void *parts = whole == x->bytes ? x->to : pithp_mover_take(m, whole);
    pithp_mover_transpose(m, all, stack, bytes);
    pithp_mover_reduce(m, combine, x->dtype, ranks, part, stack, own);
    pithp_mover_gather(m, own, parts, bytes);
    pithp_mover_copy(m, x->to, parts, x->bytes);
}

static bool is_small(const pithp_mover *m, const reduced *x) {
    return m->group->size == 1 || x->count < m->group->size ||
           x->bytes <= SMALL_BYTES / (size_t)m->group->size;
}

static void reduce(pithp_mover *m, const reduced *x, pithp_primitive combine) {
    if (is_small(m, x))
        reduce_small(m, x, combine);
    else
        reduce_large(m, x, combine);
}

/* Halves have no sum in an engine, and Open MPI 4.1 saturates integers of 8 and 16 bits.
 */
static bool adds_by_engine(const pithp_mover *m) {
    const bool ordered =
        pith_dtype_is_float(pithp_mover_operand(m)->dtype) && !m->params->unordered;
    return width_of(m) >= 4 && !ordered;
}

static void add(pithp_mover *m, const reduced *x) {
    if (adds_by_engine(m))
        reduce_by_engine(m, x, PITHP_COMBINE_SUM);
    else
        reduce(m, x, PITHP_OP_SUM);
}

/* Memory for any part of x: one that is small although x is not, and one that is padded.
 */
static void measure_parts(pithp_mover *m, const reduced *x) {
    const size_t padding = x->bytes + (size_t)m->group->size * width_of(m);
    reduced small = *x;
    if (adds_by_engine(m) || is_small(m, x))
        return;
    small.count = (int64_t)(SMALL_BYTES / width_of(m)) / m->group->size;
    small.bytes = (size_t)small.count * width_of(m);
    reduce_small(m, &small, PITHP_OP_SUM);
    for (int k = 0; k < 2; k++)
        pithp_mover_take(m, padding);
}

/* The rows that some rank has in use are added; the others are zeros. */
static void add_rows(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const pithp_used_rows u = pithp_mover_used_rows(m);
    const int64_t most = pithp_mover_most_rows(m, &u);
    const void *rows = pithp_mover_rows(m, &u, most);
    const reduced part =
        part_of_operand(m, rows, x->shape[0] ? x->count / x->shape[0] * most : 0);
    add(m, &part);
    if (!m->s)
        measure_parts(m, &part);
    pithp_mover_zero_rows(m, &u, pithp_mover_out(m, 0), most);
}

static void sum(pithp_mover *m) {
    const reduced x = operand_of(m);
    if (pithp_mover_has_rows(m))
        add_rows(m);
    else
        add(m, &x);
}

/* MPICH 4.0 compares unsigned integers as signed ones. */
static void extreme(pithp_mover *m, pithp_primitive combine, pithp_combine how) {
    const pith_dtype dtype = pithp_mover_operand(m)->dtype;
    const bool by_engine = m->direct ? !pith_dtype_is_float(dtype) && !is_missing(m, how)
                                     : dtype == PITH_BOOL || pithp_dtype_is_signed(dtype);
    const reduced x = operand_of(m);
    if (by_engine)
        reduce_by_engine(m, &x, how);
    else
        reduce(m, &x, combine);
}

/* The sum of the ranks before, of all that are gathered. */
static void scan_stack(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const int64_t most = m->group->size - 1;
    void *stack = pithp_mover_take(m, x->bytes * (size_t)m->group->size);
    pithp_mover_gather(m, pithp_mover_in(m, 0), stack, x->bytes);
    if (!m->s || m->group->rank > 0)
        pithp_mover_reduce(m, PITHP_OP_SUM, x->dtype, m->s ? m->group->rank : most,
                           x->count, stack, pithp_mover_out(m, 0));
    else
        pithp_mover_zero(m, pithp_mover_out(m, 0), x->bytes);
}

static void scan(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    if (m->direct) {
        scan_stack(m);
        return;
    }
    const pithp_reach from = pithp_mover_reach(m, pithp_mover_in(m, 0), x->bytes, true);
    const pithp_reach to = pithp_mover_reach(m, pithp_mover_out(m, 0), x->bytes, false);
    if (m->s && x->count)
        pithp_mesh_group_scan(m->s, m->group, x->dtype, from.host, to.host, x->count);
    pithp_mover_store(m, &to);
}

/* ---- Moves ---- */

static void broadcast(pithp_mover *m) {
    const size_t bytes = pithp_mover_operand(m)->bytes;
    if (m->direct) {
        pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_BROADCAST,
                                                     .from = pithp_mover_in(m, 0),
                                                     .to = pithp_mover_out(m, 0),
                                                     .bytes = bytes,
                                                     .root = m->params->root});
        return;
    }
    pithp_mover_copy(m, pithp_mover_out(m, 0), pithp_mover_in(m, 0), bytes);
    const pithp_reach r = pithp_mover_reach(m, pithp_mover_out(m, 0), bytes, true);
    if (m->s && bytes)
        pithp_mesh_group_broadcast(m->s, m->group, m->params->root, r.host, bytes);
    pithp_mover_store(m, &r);
}

/* Extents before an axis, and those from it on. */
static int64_t before(const pith_spec *x, int64_t axis) {
    int64_t n = 1;
    for (int64_t d = 0; d < axis; d++)
        n *= x->shape[d];
    return n;
}
static int64_t behind(const pith_spec *x, int64_t axis) {
    int64_t n = 1;
    for (int64_t d = axis; d < x->rank; d++)
        n *= x->shape[d];
    return n;
}

/* Blocks [P, before, behind] of all ranks, joined along an axis, become the result. */
static void
join(pithp_mover *m, const void *blocks, const pith_spec *block, int64_t axis) {
    const int64_t shape[] = {m->group->size, before(block, axis), behind(block, axis)};
    const void *joined = pithp_mover_exchange(m, blocks, block->dtype, shape);
    pithp_mover_copy(m, pithp_mover_out(m, 0), joined, m->result->bytes);
}

static void gather(pithp_mover *m, int64_t axis) {
    const pith_spec *x = pithp_mover_operand(m);
    const bool moves = m->group->size > 1 && before(x, axis) > 1;
    void *all = moves ? pithp_mover_take(m, m->result->bytes) : pithp_mover_out(m, 0);
    pithp_mover_gather(m, pithp_mover_in(m, 0), all, x->bytes);
    join(m, all, x, axis);
}

/* The blocks along an axis go to their ranks: [P, ...] of all ranks for this one. */
static const void *exchange_blocks(pithp_mover *m, void *to) {
    const pith_spec *x = pithp_mover_operand(m);
    const int64_t axis = m->params->axis, ranks = m->group->size;
    const int64_t shape[] = {before(x, axis), ranks, behind(x, axis) / ranks};
    if (pithp_mover_has_rows(m))
        return pithp_mover_exchange_rows(m, shape, to);
    const void *blocks = pithp_mover_exchange(m, pithp_mover_in(m, 0), x->dtype, shape);
    pithp_mover_transpose(m, blocks, to, x->bytes / (size_t)ranks);
    return to;
}

static void reduce_scatter(pithp_mover *m) {
    const pith_spec *x = pithp_mover_operand(m);
    const void *stack = exchange_blocks(m, pithp_mover_take(m, x->bytes));
    pithp_mover_reduce(m, PITHP_OP_SUM, x->dtype, m->group->size, m->result->count, stack,
                       pithp_mover_out(m, 0));
}

static void all_to_all(pithp_mover *m) {
    pith_spec block = *pithp_mover_operand(m);
    block.shape[m->params->axis] /= m->group->size;
    const bool moves = m->group->size > 1 && before(&block, m->params->join) > 1;
    void *stack = moves ? pithp_mover_take(m, m->result->bytes) : pithp_mover_out(m, 0);
    join(m, exchange_blocks(m, stack), &block, m->params->join);
}

static void permute(pithp_mover *m) {
    if (pithp_mover_has_rows(m)) {
        pithp_mover_permute_rows(m);
        return;
    }
    const size_t bytes = pithp_mover_operand(m)->bytes;
    const pithp_mesh_pairs *pairs = m->params->pairs;
    if (pairs->from < 0)
        pithp_mover_zero(m, pithp_mover_out(m, 0), bytes);
    if (m->direct) {
        if (pairs->from >= 0 || pairs->to >= 0)
            pithp_mover_transfer(m, &(pithp_device_move){.kind = PITHP_TRANSFER_PERMUTE,
                                                         .from = pithp_mover_in(m, 0),
                                                         .to = pithp_mover_out(m, 0),
                                                         .bytes = bytes,
                                                         .receiver = pairs->to,
                                                         .sender = pairs->from});
        return;
    }
    const pithp_reach out = pithp_mover_reach(m, pithp_mover_in(m, 0), bytes, true);
    const pithp_reach in = pithp_mover_reach(m, pithp_mover_out(m, 0), bytes, false);
    const pithp_parcel send = {pairs->to, out.host, bytes},
                       receive = {pairs->from, in.host, bytes};
    if (m->s && bytes)
        pithp_mesh_group_exchange(m->s, m->group, pairs->to >= 0, &send, pairs->from >= 0,
                                  &receive);
    if (pairs->from >= 0)
        pithp_mover_store(m, &in);
}

/* The number of this rank. */
static void index_axis(pithp_mover *m) {
    pithp_mover_fill(m, pithp_mover_out(m, 0), (uint32_t)m->group->rank, sizeof(int32_t),
                     1);
}

static void run(pithp_mover *m) {
    switch ((int)m->call->primitive) {
        case PITHP_OP_AXIS_INDEX:
            index_axis(m);
            break;
        case PITHP_OP_PSUM:
            sum(m);
            break;
        case PITHP_OP_PMAX:
            extreme(m, PITHP_OP_MAX_OF, PITHP_COMBINE_MAX);
            break;
        case PITHP_OP_PMIN:
            extreme(m, PITHP_OP_MIN_OF, PITHP_COMBINE_MIN);
            break;
        case PITHP_OP_PSCAN:
            scan(m);
            break;
        case PITHP_OP_PBROADCAST:
            broadcast(m);
            break;
        case PITHP_OP_ALL_STACK:
            gather(m, 0);
            break;
        case PITHP_OP_ALL_GATHER:
            gather(m, m->params->axis);
            break;
        case PITHP_OP_REDUCE_SCATTER:
            reduce_scatter(m);
            break;
        case PITHP_OP_ALL_TO_ALL:
            all_to_all(m);
            break;
        case PITHP_OP_PPERMUTE:
            permute(m);
            break;
        case PITHP_OP_HALO:
            pithp_mover_halo(m);
            break;
        case PITHP_OP_PSUM_ROWS:
            pithp_mover_sum_rows(m);
            break;
        case PITHP_OP_ROUTE_MAKE:
            pithp_mover_route_make(m);
            break;
        case PITHP_OP_ROUTE_SEND:
            pithp_mover_route_send(m);
            break;
        case PITHP_OP_ROUTE_RETURN:
            pithp_mover_route_return(m);
            break;
        default:
            PITH_ASSERT(false);
    }
}

static pithp_mover mover(const pithp_call *call, const pith_spec *result, int64_t most) {
    const pithp_collective_params *params = call->params;
    const bool rows = call->primitive == PITHP_OP_PSUM_ROWS && !most;
    return (pithp_mover){.call = call,
                         .params = params,
                         .group = params->group,
                         .result = result,
                         .most_rows = rows ? call->operands[0]->shape[0] : most};
}

pithp_collective_needs pithp_collective_measure(const pithp_call *call,
                                                const pith_spec *result,
                                                int64_t most_rows,
                                                bool on_host) {
    pithp_collective_needs needs = {0};
    /* whether devices are connected is known when the ranks begin */
    for (int direct = 0; direct <= !on_host; direct++) {
        pithp_mover m = mover(call, result, most_rows);
        m.on_host = on_host;
        m.direct = direct;
        run(&m);
        needs.device = m.used.device > needs.device ? m.used.device : needs.device;
        needs.host = m.used.host > needs.host ? m.used.host : needs.host;
    }
    return needs;
}

bool pithp_collective_is_on_device(pithp_primitive primitive, int operands) {
    return (operands < 2 || primitive == PITHP_OP_HALO) &&
           primitive != PITHP_OP_PSUM_ROWS && primitive != PITHP_OP_ROUTE_MAKE &&
           primitive != PITHP_OP_ROUTE_SEND && primitive != PITHP_OP_ROUTE_RETURN;
}

pith_status pithp_collective_record(pith_scope *s,
                                    const pithp_call *call,
                                    const pith_spec *result,
                                    const pithp_collective_memory *memory,
                                    const pithp_collective_recorder *recorder) {
    pithp_mover m = mover(call, result, 0);
    m.s = s;
    m.enqueues = !pithp_scope_device(s)->immediate;
    m.direct = true;
    m.memory = memory;
    m.recorder = recorder;
    run(&m);
    return m.rc;
}

uint64_t pithp_collective_digest(const pithp_collective_params *params) {
    const pithp_mesh_pairs *pairs = params->pairs;
    const int64_t numbers[] = {params->root, params->axis,
                               params->join, params->unordered,
                               params->wrap, pairs ? pairs->count : -1};
    const uint64_t h = pithp_hash(0, numbers, sizeof numbers);
    return pairs && pairs->count
               ? pithp_hash(h, pairs->from_to,
                            (size_t)pairs->count * sizeof *pairs->from_to)
               : h;
}

pith_status pithp_collective_run(pith_scope *s,
                                 const pithp_call *call,
                                 const pith_spec *result,
                                 int64_t most_rows,
                                 const pithp_collective_memory *memory) {
    pithp_mover m = mover(call, result, most_rows);
    const pithp_device *device = pithp_scope_device(s);
    m.s = s;
    m.on_host = device->backend->addressable;
    m.enqueues = !device->immediate;
    m.direct = !m.on_host && (m.group->size == 1 || m.group->communicator);
    m.memory = memory;
    run(&m);
    return m.rc;
}
