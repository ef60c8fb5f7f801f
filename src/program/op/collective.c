/* Type inference of collectives: results over the number of ranks of a group. */
#include "mesh/mesh_internal.h"
#include "program/op/route.h"
#include "program/op/rules.h"

#include <inttypes.h>
#include <string.h>

int pithp_count_collective(const pithp_call *call) {
    return pithp_moves_by_route(call->primitive)
               ? pithp_route_leaves(call->primitive, call->operand_count)
               : 1;
}

/* An inference under way. */
typedef struct inference {
    const pithp_call *call;
    pithp_refusal *refusal;
    const pithp_collective_params *params;
    const pith_spec *x;    /* operand 0; NULL: there is none. Of a route: a leaf, and */
    const pith_spec *into; /* what it is added to; NULL: it is sent */
    int64_t ranks;
    pith_spec *result;
} inference;

static pith_status give(const inference *n, int rank, const int64_t *shape) {
    return pithp_spec_fill(n->call, n->refusal, n->result, n->x->dtype, rank, shape);
}

static pith_status same(const inference *n) {
    return give(n, n->x->rank, n->x->shape);
}

/* ---- Dtypes ---- */

static pith_status add(const inference *n, pith_status (*then)(const inference *)) {
    return n->x->dtype != PITH_BOOL
               ? then(n)
               : pithp_refuse(n->call, n->refusal, PITH_E_DTYPE,
                              "expected integers or floats, got bool");
}

static pith_status scan(const inference *n) {
    const pith_dtype dtype = n->x->dtype;
    return pith_dtype_is_integer(dtype) && pith_dtype_size(dtype) >= 4
               ? same(n)
               : pithp_refuse(n->call, n->refusal, PITH_E_DTYPE,
                              "expected integers of 4 or 8 bytes, got %s",
                              pith_dtype_name(dtype));
}

/* ---- Shapes ---- */

static bool has_axis(const inference *n, int64_t axis) {
    return axis >= 0 && axis < n->x->rank;
}

static pith_status refuse_axis(const inference *n, int64_t axis) {
    return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                        "axis %" PRId64 " of an array of rank %d", axis, n->x->rank);
}

/* The operand's shape with the extent of an axis multiplied. */
static pith_status widen(const inference *n, int64_t axis, int64_t *shape) {
    if (!has_axis(n, axis))
        return refuse_axis(n, axis);
    if (!__builtin_mul_overflow(shape[axis], n->ranks, &shape[axis]))
        return give(n, n->x->rank, shape);
    return pithp_refuse(n->call, n->refusal, PITH_E_OVERFLOW,
                        "the result has too many elements");
}

static pith_status divide(const inference *n, int64_t axis, int64_t *shape) {
    if (!has_axis(n, axis))
        return refuse_axis(n, axis);
    if (shape[axis] % n->ranks)
        return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                            "axis %" PRId64 " has %" PRId64
                            " elements, expected a multiple of the %" PRId64
                            " ranks along %s",
                            axis, shape[axis], n->ranks, n->params->group->axes);
    shape[axis] /= n->ranks;
    return PITH_OK;
}

static pith_status gather(const inference *n) {
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, n->x->shape, sizeof shape);
    return widen(n, n->params->axis, shape);
}

static pith_status stack(const inference *n) {
    int64_t shape[PITHP_MAX_RANK] = {n->ranks};
    if (n->x->rank >= pithp_call_max_rank(n->call))
        return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                            "the result has more than %d axes",
                            pithp_call_max_rank(n->call));
    memcpy(shape + 1, n->x->shape, (size_t)n->x->rank * sizeof *shape);
    return give(n, n->x->rank + 1, shape);
}

static pith_status scatter(const inference *n) {
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, n->x->shape, sizeof shape);
    const pith_status rc = divide(n, n->params->axis, shape);
    return rc == PITH_OK ? give(n, n->x->rank, shape) : rc;
}

static pith_status exchange(const inference *n) {
    int64_t shape[PITHP_MAX_RANK];
    memcpy(shape, n->x->shape, sizeof shape);
    const pith_status rc = divide(n, n->params->axis, shape);
    return rc == PITH_OK ? widen(n, n->params->join, shape) : rc;
}

static pith_status add_rows(const inference *n) {
    if (n->x->rank == 0)
        return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                            "rows of an array of rank 0");
    return give(n, n->x->rank - 1, n->x->shape + 1);
}

static pith_status permute(const inference *n) {
    return n->params->pairs
               ? same(n)
               : pithp_refuse(n->call, n->refusal, PITH_E_ARG, "expected pairs");
}

/* Rows of the halo come from blocks, which are as wide. */
static pith_status surround(const inference *n) {
    const int64_t axis = n->params->axis, before = n->params->root,
                  after = n->params->join;
    int64_t shape[PITHP_MAX_RANK];
    if (!has_axis(n, axis))
        return refuse_axis(n, axis);
    if (before < 0 || after < 0 || before > n->x->shape[axis] ||
        after > n->x->shape[axis])
        return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                            "a halo of %" PRId64 " and %" PRId64
                            " rows of blocks of %" PRId64,
                            before, after, n->x->shape[axis]);
    memcpy(shape, n->x->shape, sizeof shape);
    if (!__builtin_add_overflow(shape[axis], before, &shape[axis]) &&
        !__builtin_add_overflow(shape[axis], after, &shape[axis]))
        return give(n, n->x->rank, shape);
    return pithp_refuse(n->call, n->refusal, PITH_E_OVERFLOW,
                        "the result has too many elements");
}

static pith_status broadcast(const inference *n) {
    const int64_t root = n->params->root;
    return root >= 0 && root < n->ranks
               ? same(n)
               : pithp_refuse(n->call, n->refusal, PITH_E_ARG,
                              "root %" PRId64 ", expected 0 to %" PRId64, root,
                              n->ranks - 1);
}

/* Rows that take a number of rows in use beside their operand, or do without. */
static pith_status in_use(const inference *n, pith_status (*then)(const inference *)) {
    const pith_spec *rows = n->call->operand_count > 1 ? n->call->operands[1] : NULL;
    if (!n->x || n->call->operand_count > 2)
        return pithp_refuse(n->call, n->refusal, PITH_E_ARG,
                            "expected 1 or 2 operands, got %d", n->call->operand_count);
    if (rows && (rows->dtype != PITH_I64 || rows->rank != 0))
        return pithp_refuse(n->call, n->refusal, PITH_E_DTYPE,
                            "rows: expected an i64 of rank 0");
    if (rows && n->x->rank == 0)
        return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                            "rows of an array of rank 0");
    return then(n);
}

static pith_status add_same(const inference *n) {
    return add(n, same);
}

static pith_status add_blocks(const inference *n) {
    return add(n, scatter);
}

static pith_status add_all_rows(const inference *n) {
    return add(n, add_rows);
}

/* ---- Routes ---- */

static bool is(const pith_spec *x, pith_dtype dtype, int rank) {
    return x->dtype == dtype && x->rank == rank;
}

/* The leaves of a route are operands from `first` on. */
static bool is_route(const inference *n, int first) {
    const pith_spec *const *o = n->call->operands + first;
    return is(o[0], PITH_I32, 1) && is(o[1], PITH_I32, 2) && is(o[2], PITH_I64, 1) &&
           is(o[3], PITH_I64, 1) && o[0]->shape[0] == o[1]->shape[0] &&
           o[2]->shape[0] == o[1]->shape[0] && o[3]->shape[0] == o[1]->shape[0];
}

static pith_status refuse_route(const inference *n) {
    return pithp_refuse(n->call, n->refusal, PITH_E_SHAPE,
                        "the operands are not rows and a route for them");
}

static pith_status make_route(const inference *n) {
    const pithp_collective_params *p = n->params;
    int64_t send = 0, all = 0;
    if (!is(n->x, PITH_I64, 1) || n->call->operands[1]->count != n->x->count ||
        !is(n->call->operands[1], PITH_I64, 1) || p->axis < 0 || p->join < 0 ||
        p->root < 0)
        return refuse_route(n);
    if (__builtin_mul_overflow(p->axis, p->join + 3, &send) ||
        __builtin_add_overflow(send, PITHP_ROUTE_NUMBERS, &all))
        return pithp_refuse(n->call, n->refusal, PITH_E_OVERFLOW,
                            "the route has too many elements");
    return give(n, 1, &all);
}

static pith_status send_rows(const inference *n) {
    int64_t shape[PITHP_MAX_RANK];
    if (n->x->rank == 0 || n->params->root < 0)
        return refuse_route(n);
    memcpy(shape, n->x->shape, sizeof shape);
    shape[0] = n->params->root;
    return give(n, n->x->rank, shape);
}

static pith_status return_rows(const inference *n) {
    const pith_spec *into = n->into;
    if (into->dtype != n->x->dtype || into->rank != n->x->rank || into->rank == 0 ||
        memcmp(into->shape + 1, n->x->shape + 1,
               (size_t)(into->rank - 1) * sizeof *into->shape) != 0)
        return refuse_route(n);
    return give(n, into->rank, into->shape);
}

/* Each leaf that moves has a result. */
static pith_status move_rows(const inference *all) {
    const pithp_call *call = all->call;
    const bool returns = call->primitive == PITHP_OP_ROUTE_RETURN;
    const int arrays = call->operand_count - PITHP_ROUTE_OPERANDS,
              leaves = pithp_route_leaves(call->primitive, call->operand_count);
    pith_status rc = PITH_OK;
    if (leaves < 1 || arrays % pithp_route_arrays(call->primitive) ||
        !is_route(all, arrays))
        return refuse_route(all);
    for (int k = 0; k < leaves && rc == PITH_OK; k++) {
        inference n = *all;
        n.x = call->operands[k];
        n.result += k;
        n.into = returns ? call->operands[leaves + k] : NULL;
        rc = returns ? add(&n, return_rows) : send_rows(&n);
    }
    return rc;
}

pith_status pithp_infer_collective(const pithp_call *call,
                                   pith_spec *result,
                                   pithp_refusal *refusal) {
    const pithp_collective_params *params = call->params;
    const inference n = {.call = call,
                         .refusal = refusal,
                         .params = params,
                         .x = call->operand_count ? call->operands[0] : NULL,
                         .ranks = params->group->size,
                         .result = result};
    switch ((int)call->primitive) {
        case PITHP_OP_AXIS_INDEX:
            return pithp_spec_fill(call, refusal, result, PITH_I32, 0, NULL);
        case PITHP_OP_PSUM:
            return in_use(&n, add_same);
        case PITHP_OP_REDUCE_SCATTER:
            return in_use(&n, add_blocks);
        case PITHP_OP_PSCAN:
            return scan(&n);
        case PITHP_OP_PBROADCAST:
            return broadcast(&n);
        case PITHP_OP_ALL_STACK:
            return stack(&n);
        case PITHP_OP_ALL_GATHER:
            return gather(&n);
        case PITHP_OP_ALL_TO_ALL:
            return in_use(&n, exchange);
        case PITHP_OP_PPERMUTE:
            return in_use(&n, permute);
        case PITHP_OP_HALO:
            return surround(&n);
        case PITHP_OP_ROUTE_MAKE:
            return make_route(&n);
        case PITHP_OP_ROUTE_SEND:
        case PITHP_OP_ROUTE_RETURN:
            return move_rows(&n);
        case PITHP_OP_PSUM_ROWS:
            return in_use(&n, add_all_rows);
        default:
            return same(&n);
    }
}
