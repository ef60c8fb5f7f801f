/* Values of random programs: what recipes hold, elements that tell, and how results are
 * compared. */
#ifndef PITH_TESTS_RANDOM_VALUE_H
#define PITH_TESTS_RANDOM_VALUE_H

#include "pith_test.h"
#include "program/ir/program.h"

enum { RECIPE_MOST = 80, RECIPE_OPERANDS = 4, RECIPE_DEEPEST = 2 };

struct recipe;

typedef struct ingredient {
    enum {
        RECIPE_INPUT,
        RECIPE_LITERAL,
        RECIPE_CALL,
        RECIPE_CONTROL,
        RECIPE_MANY /* a kernel or a checked call: `picks` is the result's number */
    } kind;
    const pith_spec *spec;
    void *data; /* the value, with 64 bytes to spare */
    pithp_primitive primitive;
    int operand_count;
    int operands[RECIPE_OPERANDS];
    _Alignas(16) char params[512];
    /* Control flow: of cond {index, a, b} and branches (a, b) -> a's; of scan {constant,
     * carry} or, with rows, {carry, xs}; of while {carry, constant}, which counts to
     * `length`, or ends before at a carry with a NaN (`ends`). The value is the first
     * result, or the second one of a scan. */
    struct recipe *bodies[3];
    int body_count, picks;
    int sibling; /* 1 + the number of the one before whose other result this is; or 0 */
    bool rows, reverse, ends;
    int64_t length;
} ingredient;

typedef struct recipe {
    pith_scope *s; /* specs are made in it */
    uint64_t state;
    int64_t largest; /* elements of a value */
    int depth;       /* of bodies around */
    bool values;     /* reports of what failed are no values of it */
    bool device;     /* it runs where products of floats are added up in another order */
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

/* With the parameters that the row has, all zero. */
static inline ingredient recipe_blank(pithp_primitive primitive, int operand_count) {
    ingredient x;
    memset(&x, 0, sizeof x);
    x.kind = RECIPE_CALL;
    x.primitive = primitive;
    x.operand_count = operand_count;
    return x;
}

static inline int recipe_add(recipe *r, ingredient *x) {
    x->data = malloc(x->spec->bytes + 64);
    r->list[r->count] = *x;
    return r->count++;
}

/* A literal, or what comes in from outside; its elements are to be filled. */
static inline int
recipe_given(recipe *r, pith_dtype dtype, int rank, const int64_t *shape) {
    ingredient x = recipe_blank((pithp_primitive)0, 0);
    x.spec = pithp_spec(r->s, dtype, rank, shape);
    x.kind = r->depth == 0 && recipe_random(r, 3) ? RECIPE_INPUT : RECIPE_LITERAL;
    return recipe_add(r, &x);
}

/* Integers from `least` on. */
static inline int recipe_integers(recipe *r,
                                  pith_dtype dtype,
                                  int rank,
                                  const int64_t *shape,
                                  int64_t least,
                                  int64_t count) {
    const int at = recipe_given(r, dtype, rank, shape);
    const size_t size = pith_dtype_size(dtype);
    for (int64_t k = 0; k < r->list[at].spec->count; k++) {
        const int64_t drawn = least + (int64_t)recipe_random(r, (uint64_t)count);
        memcpy((char *)r->list[at].data + (size_t)k * size, &drawn, size);
    }
    return at;
}

#endif
