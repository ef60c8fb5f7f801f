/* Random well-typed programs, as recipes from which programs are built: with the values
 * they should give, computed instruction by instruction, and a shrinker for those that
 * give others. */
#ifndef PITH_TESTS_RANDOM_PROGRAM_H
#define PITH_TESTS_RANDOM_PROGRAM_H

#include "pith_test.h"
#include "program/graph/graph.h"

enum { RECIPE_MOST = 64, RECIPE_OPERANDS = 3, RECIPE_DEEPEST = 2 };

struct recipe;

typedef struct ingredient {
    enum { RECIPE_INPUT, RECIPE_LITERAL, RECIPE_CALL, RECIPE_CONTROL } kind;
    const pith_spec *spec;
    void *data; /* the value, with 64 bytes to spare */
    pithp_primitive primitive;
    int operand_count;
    int operands[RECIPE_OPERANDS];
    _Alignas(16) char params[256];
    /* Control flow: of cond {index, a, b} and branches (a, b) -> a's; of scan {constant,
     * carry} or, with rows, {carry, xs}; of while {carry, constant}, which counts to
     * `length`. The value is the first result, or the second one of a scan. */
    struct recipe *bodies[3];
    int body_count, picks;
    bool rows, reverse;
    int64_t length;
} ingredient;

typedef struct recipe {
    pith_scope *s; /* specs are made in it */
    uint64_t state;
    int64_t largest; /* elements of a value */
    int depth;       /* of bodies around */
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

static inline void recipe_run(recipe *r, ingredient *x);

/* Compute an ingredient from those before it. */
static inline void recipe_compute(recipe *r, ingredient *x) {
    if (x->kind == RECIPE_CONTROL) {
        recipe_run(r, x);
        return;
    }
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

/* ---- Control flow, as loops of C over the calls of bodies ---- */

/* The first two values of a body, which are its inputs, and then all others. */
static inline void recipe_evaluate(recipe *body, const void *a, const void *b) {
    const void *given[2] = {a, b};
    for (int k = 0; k < body->count; k++) {
        ingredient *x = &body->list[k];
        if (k < 2)
            memcpy(x->data, given[k], x->spec->bytes);
        else if (x->kind >= RECIPE_CALL)
            recipe_compute(body, x);
    }
}

static inline const void *recipe_output(const recipe *body, int k) {
    return body->list[body->outputs[k]].data;
}

static inline void recipe_run(recipe *r, ingredient *x) {
    const ingredient *in[RECIPE_OPERANDS];
    for (int k = 0; k < x->operand_count; k++)
        in[k] = &r->list[x->operands[k]];
    if (x->primitive == PITHP_OP_COND) {
        int32_t index;
        memcpy(&index, in[0]->data, sizeof index);
        index = index < 0 ? 0 : index >= x->body_count ? x->body_count - 1 : index;
        recipe_evaluate(x->bodies[index], in[1]->data, in[2]->data);
        memcpy(x->data, recipe_output(x->bodies[index], 0), x->spec->bytes);
        return;
    }
    recipe *body = x->bodies[0];
    const bool first = x->rows || x->primitive == PITHP_OP_WHILE; /* is the carry */
    const ingredient *start = in[first ? 0 : 1], *other = in[first ? 1 : 0];
    const size_t bytes = start->spec->bytes, row = body->list[1].spec->bytes;
    char *carry = malloc(bytes + 64);
    memcpy(carry, start->data, bytes);
    for (int64_t t = 0; t < x->length; t++) {
        const size_t i = (size_t)(x->reverse ? x->length - 1 - t : t);
        const char *with = (const char *)other->data + (x->rows ? i * row : 0);
        recipe_evaluate(body, first ? carry : with, first ? with : carry);
        if (x->picks) {
            const size_t each = body->list[body->outputs[1]].spec->bytes;
            memcpy((char *)x->data + i * each, recipe_output(body, 1), each);
        }
        memcpy(carry, recipe_output(body, 0), bytes);
    }
    if (!x->picks)
        memcpy(x->data, carry, bytes);
    free(carry);
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

static inline bool recipe_control(recipe *r, int first);

static inline void recipe_step(recipe *r) {
    ingredient x;
    memset(&x, 0, sizeof x);
    /* what was made last is used more often, so that chains grow */
    const int recent = r->count > 8 ? r->count - 8 : 0;
    const int first = (int)recipe_random(r, 2)
                          ? recent + (int)recipe_random(r, (uint64_t)(r->count - recent))
                          : (int)recipe_random(r, (uint64_t)r->count);
    const pith_spec *from = r->list[first].spec;
    if (r->depth < RECIPE_DEEPEST && recipe_random(r, 12) == 0 &&
        recipe_control(r, first))
        return;
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

/* A body of a few calls over two values; its first output has the spec of one of them. */
static inline recipe *recipe_body(recipe *r,
                                  const ingredient *a,
                                  const ingredient *b,
                                  const pith_spec *row,
                                  bool second) {
    recipe *body = calloc(1, sizeof *body);
    body->s = r->s;
    body->state = recipe_random(r, 1u << 30) * 0x9e3779b97f4a7c15u + 1;
    body->largest = 2000;
    body->depth = r->depth + 1;
    for (int k = 0; k < 2; k++) {
        ingredient x;
        memset(&x, 0, sizeof x);
        x.kind = RECIPE_INPUT;
        x.spec = k ? (row ? row : b->spec) : a->spec;
        const int at = recipe_add(body, &x);
        memset(body->list[at].data, 0, x.spec->bytes);
        if (!row || k == 0)
            memcpy(body->list[at].data, k ? b->data : a->data, x.spec->bytes);
    }
    for (int k = 1 + (int)recipe_random(r, 6); k > 0; k--)
        recipe_step(body);
    const pith_spec *carry = body->list[second].spec;
    int last = body->count - 1;
    while (body->list[last].spec != carry)
        last--;
    body->outputs[0] = last;
    body->outputs[1] = body->count - 1;
    body->output_count = 1;
    return body;
}

static inline int recipe_index(recipe *r) {
    ingredient x;
    memset(&x, 0, sizeof x);
    x.kind = r->depth == 0 && recipe_random(r, 3) ? RECIPE_INPUT : RECIPE_LITERAL;
    x.spec = pithp_spec(r->s, PITH_I32, 0, NULL);
    const int32_t index = (int32_t)recipe_random(r, 5) - 1;
    const int at = recipe_add(r, &x);
    memcpy(r->list[at].data, &index, sizeof index);
    return at;
}

/* Rows of a value that are worth a scan; NULL: there are none. */
static inline const pith_spec *recipe_row(const recipe *r, const pith_spec *x) {
    return x->rank > 0 && x->shape[0] <= 8
               ? pithp_spec(r->s, x->dtype, x->rank - 1, x->shape + 1)
               : NULL;
}

static inline bool recipe_control(recipe *r, int first) {
    ingredient x;
    memset(&x, 0, sizeof x);
    const int second = (int)recipe_random(r, (uint64_t)r->count);
    const ingredient *a = &r->list[first], *b = &r->list[second];
    if (r->count + 2 > RECIPE_MOST || a->spec->count > 2000 || b->spec->count > 2000)
        return false;
    x.kind = RECIPE_CONTROL;
    x.spec = a->spec;
    x.length = (int64_t)recipe_random(r, 5);
    x.operand_count = 2;
    x.operands[0] = first;
    x.operands[1] = second;
    x.body_count = 1;
    const uint64_t kind = recipe_random(r, 4);
    const pith_spec *row = recipe_row(r, b->spec);
    if (kind == 0) {
        x.primitive = PITHP_OP_COND;
        x.body_count = 1 + (int)recipe_random(r, 3);
        for (int k = 0; k < x.body_count; k++)
            x.bodies[k] = recipe_body(r, a, b, NULL, false);
        x.operand_count = 3;
        x.operands[2] = second;
        x.operands[1] = first;
        x.operands[0] = recipe_index(r);
    } else if (kind == 1) {
        x.primitive = PITHP_OP_WHILE;
        x.bodies[0] = recipe_body(r, a, b, NULL, false);
    } else {
        x.primitive = PITHP_OP_SCAN;
        x.reverse = recipe_random(r, 2);
        x.rows = kind == 2 && row;
        x.length = x.rows ? b->spec->shape[0] : x.length;
        x.bodies[0] = recipe_body(r, a, b, x.rows ? row : NULL, !x.rows);
        x.bodies[0]->output_count = 2;
        x.picks = (int)recipe_random(r, 2);
        const pith_spec *y = x.bodies[0]->list[x.bodies[0]->outputs[1]].spec;
        x.picks &= y->rank < PITH_MAX_RANK;
        int64_t shape[PITH_MAX_RANK] = {x.length};
        if (y->rank == PITH_MAX_RANK)
            x.bodies[0]->outputs[1] = x.bodies[0]->outputs[0];
        else
            memcpy(shape + 1, y->shape, (size_t)y->rank * sizeof *shape);
        x.spec = x.picks  ? pithp_spec(r->s, y->dtype, y->rank + 1, shape)
                 : x.rows ? a->spec
                          : b->spec;
    }
    const int at = recipe_add(r, &x);
    recipe_compute(r, &r->list[at]);
    return true;
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
    for (int k = 0; k < r->count; k++) {
        for (int b = 0; b < r->list[k].body_count; b++)
            recipe_free(r->list[k].bodies[b]);
        free(r->list[k].data);
    }
    free(r);
}

static inline pithp_program *recipe_build(const recipe *r, bool counts);

/* program(i, carry, constant) -> i < length. */
static inline pithp_program *recipe_below(const recipe *r, const ingredient *x) {
    pithp_program *p = pithp_program_make(r->s);
    const pith_spec *count = pithp_spec(r->s, PITH_I64, 0, NULL);
    pithp_value operands[2] = {pithp_program_input(r->s, p, count), 0};
    for (int k = 0; k < 2; k++)
        pithp_program_input(r->s, p, x->bodies[0]->list[k].spec);
    operands[1] = pithp_program_literal(r->s, p, count, &x->length);
    pithp_program_output(
        r->s, p, pithp_program_add(r->s, p, PITHP_OP_LT, 2, operands, NULL, "recipe:3"));
    return p;
}

static inline pithp_value recipe_add_control(const recipe *r,
                                             const ingredient *x,
                                             pithp_program *p,
                                             const pithp_value *in) {
    pithp_program *programs[3];
    pithp_value operands[RECIPE_OPERANDS + 1] = {in[0], in[1], in[2]};
    const bool counts = x->primitive == PITHP_OP_WHILE;
    const int64_t zero = 0;
    int count = x->operand_count, program_count = 0;
    if (counts) {
        programs[program_count++] = recipe_below(r, x);
        operands[0] =
            pithp_program_literal(r->s, p, pithp_spec(r->s, PITH_I64, 0, NULL), &zero);
        operands[1] = in[0];
        operands[2] = in[1];
        count = 3;
    }
    for (int k = 0; k < x->body_count; k++)
        programs[program_count++] = recipe_build(x->bodies[k], counts);
    const pithp_while_params as_while = {0};
    const pithp_loop_params as_scan = {.length = x->length,
                                       .constants = !x->rows,
                                       .carries = 1,
                                       .unroll = 1,
                                       .reverse = x->reverse};
    const pithp_new_instruction made = {.primitive = x->primitive,
                                        .operand_count = count,
                                        .operands = operands,
                                        .params = counts ? (const void *)&as_while
                                                  : x->primitive == PITHP_OP_SCAN
                                                      ? (const void *)&as_scan
                                                      : NULL,
                                        .program_count = program_count,
                                        .programs = programs,
                                        .site = "recipe:2"};
    const pithp_value v = pithp_program_add_many(r->s, p, &made);
    for (int k = 0; k < program_count; k++)
        pithp_program_release(programs[k]);
    return v + (counts ? 1 : x->picks);
}

static inline pithp_program *recipe_program(const recipe *r) {
    return recipe_build(r, false);
}

/* counts: a number comes in first, and one more goes out first; the second value of the
 * recipe goes out last. */
static inline pithp_program *recipe_build(const recipe *r, bool counts) {
    pithp_value names[RECIPE_MOST];
    pithp_program *p = pithp_program_make(r->s);
    const pith_spec *count = pithp_spec(r->s, PITH_I64, 0, NULL);
    if (counts)
        pithp_program_input(r->s, p, count);
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
        if (x->kind == RECIPE_CONTROL)
            names[k] = recipe_add_control(r, x, p, operands);
    }
    if (counts) {
        const int64_t one = 1;
        const pithp_value operands[2] = {0, pithp_program_literal(r->s, p, count, &one)};
        pithp_program_output(
            r->s, p,
            pithp_program_add(r->s, p, PITHP_OP_ADD, 2, operands, NULL, "recipe:4"));
    }
    for (int k = 0; k < r->output_count; k++)
        pithp_program_output(r->s, p, names[r->outputs[k]]);
    if (counts)
        pithp_program_output(r->s, p, names[1]);
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
        r->list[k].kind = RECIPE_INPUT; /* bodies stay, to be freed */
        r->list[k].operand_count = 0;
        if (!fails(r, closure))
            r->list[k] = before;
    }
}

#endif
