/* Random well-typed programs, as recipes from which programs are built: with the values
 * they should give, computed instruction by instruction, and a shrinker for those that
 * give others. */
#ifndef PITH_TESTS_RANDOM_PROGRAM_H
#define PITH_TESTS_RANDOM_PROGRAM_H

#include "pith_test.h"
#include "program/graph/graph.h"

enum { RECIPE_MOST = 64, RECIPE_OPERANDS = 3 };

typedef struct ingredient {
    enum { RECIPE_INPUT, RECIPE_LITERAL, RECIPE_CALL } kind;
    const pith_spec *spec;
    void *data; /* the value, with 64 bytes to spare */
    pithp_primitive primitive;
    int operand_count;
    int operands[RECIPE_OPERANDS];
    _Alignas(16) char params[256];
} ingredient;

typedef struct recipe {
    pith_scope *s; /* specs are made in it */
    uint64_t state;
    int64_t largest; /* elements of a value */
    int count, output_count;
    ingredient list[RECIPE_MOST];
    int outputs[RECIPE_MOST];
} recipe;

static inline uint64_t recipe_random(recipe *r, uint64_t below) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (r->state >> 33) % below;
}

/* ---- Values ---- */

/* Elements that tell: zeros of both signs, infinities, NaN quiet and signalling,
 * extremes, halves. */
static inline void recipe_fill(recipe *r, const pith_spec *spec, char *data) {
    const size_t size = pith_dtype_size(spec->dtype);
    static const double numbers[] = {0, -0.0, 1, -1, 0.5, 2, 3, -2.5, 100, 7, 1e-3};
    for (int64_t i = 0; i < spec->count; i++) {
        uint64_t bits = 0;
        const uint64_t kind = recipe_random(r, 16);
        if (kind < 11)
            pithp_dtype_encode(spec->dtype, numbers[kind], &bits);
        else if (kind == 11)
            bits = recipe_random(r, 1u << 31) << 32 | recipe_random(r, 1u << 31);
        else if (kind == 12 && spec->dtype == PITH_F64)
            bits = 0x7FF0000000000000u; /* infinity */
        else if (kind == 13 && spec->dtype == PITH_F64)
            bits = 0x7FF0000000000123u; /* signalling */
        else if (kind == 13 && spec->dtype == PITH_F32)
            bits = 0x7F800123u;
        else
            pithp_dtype_encode(spec->dtype, (double)recipe_random(r, 2000) / 100 - 10,
                               &bits);
        if (spec->dtype == PITH_BOOL)
            bits &= 1;
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

/* Equal bits; any NaN is as good as another: its sign and payload depend on where in a
 * vector it was computed. */
static inline bool recipe_same(const pith_spec *spec, const char *a, const char *b) {
    const size_t size = pith_dtype_size(spec->dtype);
    for (size_t at = 0; at < spec->bytes; at += size)
        if (memcmp(a + at, b + at, size) != 0 &&
            !(pith_dtype_is_float(spec->dtype) &&
              isnan(pithp_dtype_decode(spec->dtype, a + at)) &&
              isnan(pithp_dtype_decode(spec->dtype, b + at))))
            return false;
    return true;
}

static inline int recipe_add(recipe *r, ingredient *x) {
    x->data = malloc(x->spec->bytes + 64);
    r->list[r->count] = *x;
    return r->count++;
}

/* Compute an ingredient from those before it. */
static inline void recipe_compute(recipe *r, ingredient *x) {
    const pith_spec *specs[RECIPE_OPERANDS];
    const void *data[RECIPE_OPERANDS];
    for (int k = 0; k < x->operand_count; k++) {
        specs[k] = r->list[x->operands[k]].spec;
        data[k] = r->list[x->operands[k]].data;
    }
    const pithp_call call =
        pithp_call_of(x->primitive, x->operand_count, specs, x->params);
    const size_t bytes = pithp_temporary_bytes(&call, x->spec);
    void *temporary = bytes ? aligned_alloc(256, (bytes + 255) & ~(size_t)255) : NULL;
    const pithp_memory memory = {
        .operands = data, .result = x->data, .temporary = temporary};
    pithp_run(r->s, &call, x->spec, &memory);
    pt_ok(r->s);
    pith_wait(r->s);
    free(temporary);
}

/* ---- Calls ---- */

static inline bool recipe_call(recipe *r, ingredient *x) {
    const pith_spec *specs[RECIPE_OPERANDS];
    pith_spec result;
    pithp_refusal refusal;
    for (int k = 0; k < x->operand_count; k++)
        specs[k] = r->list[x->operands[k]].spec;
    const pithp_call call =
        pithp_call_of(x->primitive, x->operand_count, specs, x->params);
    if (pithp_infer(&call, &result, &refusal) != PITH_OK || result.count > r->largest)
        return false;
    x->kind = RECIPE_CALL;
    x->spec = pithp_spec(r->s, result.dtype, result.rank, result.shape);
    const int at = recipe_add(r, x);
    recipe_compute(r, &r->list[at]);
    return true;
}

static inline void recipe_elementwise(recipe *r, ingredient *x) {
    /* mostly arithmetic, or the rules would seldom meet */
    x->primitive = (pithp_primitive)recipe_random(
        r, recipe_random(r, 2) ? PITHP_OP_IS_NAN : PITHP_ELEMENTWISE_COUNT);
    if (x->primitive == PITHP_OP_SIGNBIT || x->primitive == PITHP_OP_COPYSIGN)
        x->primitive = PITHP_OP_MUL; /* those look at the sign of a NaN */
    x->operand_count = pithp_rows[x->primitive].arity;
}

static inline void recipe_shape(recipe *r, ingredient *x, const pith_spec *from) {
    const int rank = from->rank;
    x->operand_count = 1;
    switch (recipe_random(r, 7)) {
        case 0: {
            pithp_broadcast_params *p = (void *)x->params;
            x->primitive = PITHP_OP_BROADCAST;
            const int lead = rank < 4 ? (int)recipe_random(r, 2) : 0;
            p->rank = rank + lead;
            if (lead)
                p->shape[0] = 1 + (int64_t)recipe_random(r, 4);
            for (int d = 0; d < rank; d++) {
                p->dimensions[d] = d + lead;
                p->shape[d + lead] = from->shape[d] == 1
                                         ? 1 + (int64_t)recipe_random(r, 5)
                                         : from->shape[d];
            }
            break;
        }
        case 1: {
            pithp_reshape_params *p = (void *)x->params;
            x->primitive = PITHP_OP_RESHAPE;
            const bool flat = recipe_random(r, 2) || rank == 0;
            p->rank = flat ? 1 : rank;
            for (int d = 0; d < rank; d++)
                p->shape[d] = from->shape[rank - 1 - d];
            if (flat)
                p->shape[0] = from->count;
            break;
        }
        case 2: {
            pithp_transpose_params *p = (void *)x->params;
            x->primitive = PITHP_OP_TRANSPOSE;
            const int turn = rank ? (int)recipe_random(r, (uint64_t)rank) : 0;
            for (int d = 0; d < rank; d++)
                p->permutation[d] = (d + turn) % rank;
            if (rank > 2 && recipe_random(r, 2)) {
                for (int d = 0; d < rank; d++)
                    p->permutation[d] = d;
                p->permutation[0] = 1;
                p->permutation[1] = 0;
            }
            break;
        }
        case 3: {
            pithp_slice_params *p = (void *)x->params;
            x->primitive = PITHP_OP_SLICE;
            for (int d = 0; d < rank; d++) {
                const int64_t n = from->shape[d];
                const int64_t start = n ? (int64_t)recipe_random(r, (uint64_t)n) : 0;
                const int64_t step = 1 + (int64_t)recipe_random(r, 2);
                const bool back = recipe_random(r, 4) == 0;
                const int64_t room = n ? (back ? start : n - 1 - start) / step : 0;
                const int64_t last =
                    start +
                    (back ? -1 : 1) * step *
                        (room ? (int64_t)recipe_random(r, (uint64_t)room + 1) : 0);
                p->start[d] = start;
                p->step[d] = back ? -step : step;
                p->limit[d] = n ? last + (back ? -1 : 1) : 0;
                if (recipe_random(r, 2)) {
                    p->start[d] = 0;
                    p->limit[d] = n;
                    p->step[d] = 1;
                }
            }
            break;
        }
        case 4:
            x->primitive = PITHP_OP_REVERSE;
            ((pithp_reverse_params *)(void *)x->params)->axes =
                (uint32_t)recipe_random(r, 1u << rank);
            break;
        case 5:
            x->primitive = PITHP_OP_CONCATENATE;
            x->operand_count = 1 + (int)recipe_random(r, 3);
            ((pithp_concatenate_params *)(void *)x->params)->axis =
                rank ? (int32_t)recipe_random(r, (uint64_t)rank) : 0;
            break;
        default: {
            pithp_pad_params *p = (void *)x->params;
            x->primitive = PITHP_OP_PAD;
            x->operand_count = 2;
            for (int d = 0; d < rank; d++) {
                p->low[d] = (int64_t)recipe_random(r, 3) - 1;
                p->high[d] = (int64_t)recipe_random(r, 3);
                p->interior[d] = (int64_t)recipe_random(r, 2);
            }
        }
    }
}

static inline void recipe_other(recipe *r, ingredient *x, const pith_spec *from) {
    x->operand_count = 1;
    switch (recipe_random(r, 6)) {
        case 0:
            x->primitive = PITHP_OP_CAST;
            ((pithp_cast_params *)(void *)x->params)->dtype =
                (pith_dtype)(PITH_BOOL + (int)recipe_random(r, 13));
            break;
        case 1: {
            pithp_full_params *p = (void *)x->params;
            static const double numbers[] = {0, -0.0, 1, 2};
            x->primitive = PITHP_OP_FULL;
            x->operand_count = 0;
            p->dtype = from->dtype;
            p->rank = recipe_random(r, 2) ? from->rank : 0;
            memcpy(p->shape, from->shape, sizeof p->shape);
            pithp_dtype_encode(p->dtype, numbers[recipe_random(r, 4)], &p->value);
            break;
        }
        case 2: {
            pithp_iota_params *p = (void *)x->params;
            x->primitive = PITHP_OP_IOTA;
            x->operand_count = 0;
            p->dtype = from->dtype;
            p->rank = from->rank;
            memcpy(p->shape, from->shape, sizeof p->shape);
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            break;
        }
        case 3:
            x->primitive = (pithp_primitive)(PITHP_OP_SUM + (int)recipe_random(r, 8));
            ((pithp_reduce_params *)(void *)x->params)->axes =
                (uint32_t)recipe_random(r, 1u << from->rank);
            break;
        case 4: {
            pithp_scan_params *p = (void *)x->params;
            x->primitive = (pithp_primitive)(PITHP_OP_CUMSUM + (int)recipe_random(r, 4));
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
            p->reverse = recipe_random(r, 2);
            break;
        }
        default: {
            pithp_index_params *p = (void *)x->params;
            x->primitive = PITHP_OP_TAKE;
            x->operand_count = 2;
            p->mode = (pithp_index_mode)recipe_random(r, 3);
            p->axis = from->rank ? (int32_t)recipe_random(r, (uint64_t)from->rank) : 0;
        }
    }
}

static inline void recipe_step(recipe *r) {
    ingredient x;
    memset(&x, 0, sizeof x);
    /* what was made last is used more often, so that chains grow */
    const int recent = r->count > 8 ? r->count - 8 : 0;
    const int first = (int)recipe_random(r, 2)
                          ? recent + (int)recipe_random(r, (uint64_t)(r->count - recent))
                          : (int)recipe_random(r, (uint64_t)r->count);
    const pith_spec *from = r->list[first].spec;
    const uint64_t kind = recipe_random(r, 10);
    if (kind < 6)
        recipe_elementwise(r, &x);
    else if (kind < 8)
        recipe_shape(r, &x, from);
    else
        recipe_other(r, &x, from);
    for (int attempt = 0; attempt < 30; attempt++) {
        for (int k = 0; k < x.operand_count; k++)
            x.operands[k] = (int)recipe_random(r, (uint64_t)r->count);
        if (x.operand_count)
            x.operands[recipe_random(r, 3)
                           ? 0
                           : recipe_random(r, (uint64_t)x.operand_count)] = first;
        if (recipe_call(r, &x))
            return;
    }
}

/* ---- Recipes ---- */

static const struct {
    int rank;
    int64_t shape[4];
} recipe_shapes[] = {{0, {0}},         {1, {1}},          {1, {5}},      {2, {3, 5}},
                     {2, {1, 5}},      {2, {3, 1}},       {1, {70}},     {2, {7, 70}},
                     {2, {0, 4}},      {3, {2, 3, 5}},    {2, {3, 130}}, {1, {130}},
                     {3, {2, 1, 130}}, {2, {40, 3}},      {1, {3}},      {1, {2000}},
                     {2, {20, 100}},   {3, {4, 10, 100}}, {2, {2, 4000}}};

static inline void recipe_leaf(recipe *r, bool literal) {
    static const pith_dtype dtypes[] = {PITH_F64,  PITH_F64, PITH_F32,  PITH_F32,
                                        PITH_I32,  PITH_I64, PITH_U8,   PITH_I8,
                                        PITH_BOOL, PITH_F16, PITH_BF16, PITH_U32};
    const int shape = (int)recipe_random(r, sizeof recipe_shapes / sizeof *recipe_shapes);
    ingredient x;
    memset(&x, 0, sizeof x);
    x.spec = pithp_spec(r->s, dtypes[recipe_random(r, 12)], recipe_shapes[shape].rank,
                        recipe_shapes[shape].shape);
    literal &= x.spec->bytes <= PITHP_LITERAL_BYTES;
    x.kind = literal ? RECIPE_LITERAL : RECIPE_INPUT;
    const int at = recipe_add(r, &x);
    recipe_fill(r, x.spec, r->list[at].data);
    if (literal && recipe_random(r, 2)) /* the same everywhere */
        for (int64_t i = 1; i < x.spec->count; i++)
            memcpy((char *)r->list[at].data + (size_t)i * pith_dtype_size(x.spec->dtype),
                   r->list[at].data, pith_dtype_size(x.spec->dtype));
}

static inline recipe *recipe_make(pith_scope *s, uint64_t seed, int steps) {
    recipe *r = calloc(1, sizeof *r);
    r->s = s;
    r->state = seed * 0x9e3779b97f4a7c15u + 1;
    r->largest = 20000;
    const int inputs = 1 + (int)recipe_random(r, 4);
    for (int k = 0; k < inputs; k++)
        recipe_leaf(r, false);
    for (int k = (int)recipe_random(r, 4); k > 0; k--)
        recipe_leaf(r, true);
    for (int k = 0; k < steps && r->count < RECIPE_MOST; k++)
        recipe_step(r);
    r->output_count = 1 + (int)recipe_random(r, 4);
    for (int k = 0; k < r->output_count; k++)
        r->outputs[k] =
            r->count - 1 - (int)recipe_random(r, (uint64_t)(r->count < 8 ? r->count : 8));
    return r;
}

static inline void recipe_free(recipe *r) {
    for (int k = 0; k < r->count; k++)
        free(r->list[k].data);
    free(r);
}

static inline pithp_program *recipe_program(const recipe *r) {
    pithp_value names[RECIPE_MOST];
    pithp_program *p = pithp_program_make(r->s);
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind == RECIPE_INPUT)
            names[k] = pithp_program_input(r->s, p, r->list[k].spec);
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        pithp_value operands[RECIPE_OPERANDS];
        if (x->kind == RECIPE_LITERAL)
            names[k] = pithp_program_literal(r->s, p, x->spec, x->data);
        for (int o = 0; o < x->operand_count; o++)
            operands[o] = names[x->operands[o]];
        if (x->kind == RECIPE_CALL)
            names[k] = pithp_program_add(r->s, p, x->primitive, x->operand_count,
                                         operands, x->params, "recipe:1");
    }
    for (int k = 0; k < r->output_count; k++)
        pithp_program_output(r->s, p, names[r->outputs[k]]);
    pt_ok(r->s);
    return p;
}

/* Make a failing recipe smaller, as long as `fails` says that it fails: outputs go, then
 * calls become inputs with the values they had. */
static inline void
recipe_shrink(recipe *r, bool (*fails)(const recipe *r, void *closure), void *closure) {
    for (int k = 0; k < r->output_count && r->output_count > 1;) {
        const recipe before = *r;
        r->outputs[k] = r->outputs[--r->output_count];
        if (!fails(r, closure)) {
            *r = before;
            k++;
        }
    }
    for (int k = 0; k < r->count; k++) {
        const ingredient before = r->list[k];
        if (before.kind == RECIPE_INPUT)
            continue;
        r->list[k].kind = RECIPE_INPUT;
        r->list[k].operand_count = 0;
        if (!fails(r, closure))
            r->list[k] = before;
    }
}

#endif
