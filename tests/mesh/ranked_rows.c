/* Rows of random functions over ranks that need no other rank (ranked.h). */
#include "mesh/ranked.h"

static const pith_array *scaled(pith_scope *s, const pith_array *a, double factor) {
    return pith_mul(s, a, pith_f64(s, factor));
}

/* The elements of b are added to others of a, some to the same. */
static const pith_array *
scattered(pith_scope *s, const ranked_step *t, const pith_array *a, const pith_array *b) {
    const pith_array *i = pith_iota(s, PITH_I64, PITH_SHAPE(RANKED_EXTENT), 0);
    const pith_array *to = pith_remainder(s, pith_mul(s, i, pith_i64(s, t->by + 4)),
                                          pith_i64(s, RANKED_EXTENT - 1));
    return pith_scatter_add(s, a, to, scaled(s, b, 0.5), NULL);
}

/* Every rank has noise of its own. */
static const pith_array *
noise(pith_scope *s, const ranked_step *t, const pith_array *index) {
    const pith_array *key = pith_random_key(s, t->by + 7);
    return pith_random_uniform(s, pith_random_fold_in(s, key, index), PITH_F64,
                               PITH_SHAPE(RANKED_EXTENT), -0.5, 0.5, NULL);
}

const pith_array *ranked_row(pith_scope *s,
                             const ranked_step *t,
                             const pith_array *a,
                             const pith_array *b,
                             const pith_array *index) {
    switch ((int)t->kind) {
        case RANKED_SIN:
            return pith_sin(s, a);
        case RANKED_ADD:
            return pith_add(s, a, scaled(s, b, 0.5));
        case RANKED_SUB:
            return pith_sub(s, a, scaled(s, b, 0.5));
        case RANKED_MUL:
            return pith_mul(s, pith_sin(s, a), b);
        case RANKED_MAX:
            return pith_maximum(s, a, b);
        case RANKED_SORT:
            return pith_sort(s, a, 0, NULL);
        case RANKED_SCATTER:
            return scattered(s, t, a, b);
        case RANKED_DRAW:
            return pith_mul(s, a, pith_add(s, noise(s, t, index), pith_f64(s, 0.75)));
        default: {
            const pith_array *i = pith_cast(s, index, PITH_F64);
            return pith_mul(s, a, pith_add(s, scaled(s, i, 0.25), pith_f64(s, 0.5)));
        }
    }
}
