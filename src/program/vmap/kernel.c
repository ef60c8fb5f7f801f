/* Batching of kernels: one launch runs all entries. A kernel that is a batch already, of
 * the entries of an inner batch, becomes one of all pairs of entries, the inner ones
 * fastest.
 *
 * If no operand is batched but only some entries take part, the kernel runs once, and not
 * at all if none does. */
#include "program/op/kernel_call.h"
#include "program/vmap/control.h"

#include <string.h>

typedef struct batched_kernel {
    pithp_batching *b;
    const pithp_batched_call *c;
    const pithp_kernel_params *own; /* of the instruction */
    bool any;                       /* whether an operand is batched */
    int64_t outer, inner;           /* entries of this batch and of the inner one, or 1 */
} batched_kernel;

/* The two leading axes of entries that a value may have. */
typedef struct entry_axes {
    bool outer, inner;
} entry_axes;

/* All entries along axis 0 of a value that has some of the axes. */
static pithp_value flatten(const batched_kernel *k, pithp_value v, entry_axes has) {
    const pith_spec *spec = pithp_batch_spec(k->b, v);
    const int axes = has.outer + has.inner, own = spec->rank - axes;
    if (axes == 1 && k->outer * k->inner == spec->shape[0] &&
        (has.outer ? k->inner : k->outer) == 1)
        return v;
    pithp_broadcast_params to = {.rank = own + 2, .shape = {k->outer, k->inner}};
    int next = 0;
    if (has.outer)
        to.dimensions[next++] = 0;
    if (has.inner)
        to.dimensions[next++] = 1;
    for (int d = 0; d < own; d++) {
        to.shape[2 + d] = spec->shape[axes + d];
        to.dimensions[next++] = 2 + d;
    }
    if (axes < 2)
        v = pithp_batch_call(k->b, PITHP_OP_BROADCAST, 1, &v, &to);
    to.shape[1] = k->outer * k->inner;
    return v >= 0 ? pithp_batch_reshape(k->b, v, own + 1, to.shape + 1) : -1;
}

/* The mask of the launch; -1: all run, or the error is set. */
static pithp_value mask_of(const batched_kernel *k, bool *masked) {
    pithp_batching *b = k->b;
    const int operand = k->c->i->operand_count - 1;
    pithp_value inner = -1, outer = -1;
    *masked = k->own->masked || b->mask >= 0;
    if (k->own->masked)
        inner = flatten(k, k->c->operands[operand],
                        (entry_axes){k->c->batched[operand], true});
    if (b->mask >= 0 && k->any)
        outer = flatten(k, b->mask, (entry_axes){true, false});
    else if (b->mask >= 0)
        outer = flatten(k, pithp_batch_any(b, b->mask), (entry_axes){false, false});
    return k->own->masked && b->mask >= 0 ? pithp_batch_and(b, inner, outer)
           : k->own->masked               ? inner
                                          : outer;
}

/* The operands of the launch; their number, or -1. */
static int
list_operands(const batched_kernel *k, pithp_value *list, pithp_kernel_params *params) {
    const pith_kernel_variant *kernel = k->own->kernel;
    int count = 0;
    for (int a = 0; a < kernel->arg_count; a++) {
        const pith_role role = kernel->args[a].role;
        if (!pithp_kernel_is_given(role))
            continue;
        const bool written = role == PITH_ROLE_INOUT;
        const entry_axes has = {k->c->batched[count],
                                k->own->batched && (written || k->own->mapped >> a & 1)};
        list[count] = k->c->operands[count];
        if (has.outer || has.inner || written) {
            list[count] = flatten(k, list[count], has);
            params->mapped |= (uint64_t)1 << a;
        }
        if (list[count++] < 0)
            return -1;
    }
    const pithp_value mask = mask_of(k, &params->masked);
    if (params->masked)
        list[count++] = mask;
    return params->masked && mask < 0 ? -1 : count;
}

/* A result with the axes of entries that it has in the batched program. */
static pithp_value unflatten(const batched_kernel *k, pithp_value v) {
    const pith_spec *spec = pithp_batch_spec(k->b, v);
    int64_t shape[PITHP_MAX_RANK + 2];
    int rank = 0;
    if (k->any)
        shape[rank++] = k->outer;
    if (k->own->batched)
        shape[rank++] = k->inner;
    if (rank == 1 && shape[0] == spec->shape[0])
        return v;
    for (int d = 1; d < spec->rank; d++)
        shape[rank++] = spec->shape[d];
    return pithp_batch_reshape(k->b, v, rank, shape);
}

bool pithp_vmap_kernel(pithp_batching *b,
                       const pithp_batched_call *c,
                       pithp_value *results,
                       bool *batched);

bool pithp_vmap_kernel(pithp_batching *b,
                       const pithp_batched_call *c,
                       pithp_value *results,
                       bool *batched) {
    batched_kernel k = {.b = b, .c = c, .own = c->i->params, .outer = 1, .inner = 1};
    for (int n = 0; n < c->i->operand_count; n++)
        k.any |= c->batched[n];
    if (k.any)
        k.outer = b->size;
    if (k.own->batched)
        k.inner = k.own->entries;
    pithp_kernel_params params = *k.own;
    params.batched = true;
    params.entries = k.outer * k.inner;
    params.mapped = 0;
    const int count = list_operands(&k, c->scratch, &params);
    const pithp_new_instruction kernel = {.primitive = PITHP_OP_KERNEL,
                                          .operand_count = count,
                                          .operands = c->scratch,
                                          .params = &params,
                                          .site = c->i->site};
    const pithp_value first =
        count >= 0 ? pithp_program_add_many(b->s, b->to, &kernel) : -1;
    bool fine = first >= 0;
    for (int n = 0; n < c->i->result_count && fine; n++) {
        batched[n] = k.any;
        fine = (results[n] = unflatten(&k, first + n)) >= 0;
    }
    return fine;
}
