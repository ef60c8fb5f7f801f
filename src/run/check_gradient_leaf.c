/* Derivatives by one leaf: forward mode against Richardson differences, and reverse mode
 * against forward mode.
 *
 * The leaf moves alone, along a random direction. Steps are powers of two, and elements
 * of directions have few bits, so that points beside a value are exact. */
#include "run/check_gradient.h"
#include "trace/derive/map.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Settings ---- */

typedef struct settings {
    double step, rtol;
    int digits; /* of the significand */
} settings;

static settings settings_of(pith_dtype dtype) {
    switch ((int)dtype) {
        case PITH_F64:
            return (settings){0x1p-11, 1e-7, 53};
        case PITH_F32:
            return (settings){0x1p-6, 1e-3, 24};
        case PITH_F16:
            return (settings){0x1p-3, 3e-2, 11};
        default:
            return (settings){0x1p-2, 1e-1, 8};
    }
}

/* ---- Values on the host ---- */

static double *room_for(pith_scope *s, int64_t count) {
    return pithp_scope_allocate(s, ((size_t)count + 1) * sizeof(double));
}

/* Elements of a leaf as numbers, in memory of the scope. NULL: error set. */
double *pithp_gradient_read(pith_scope *s, const pith_array *a) {
    const pith_spec *spec = pithp_spec_plain(s, pithp_array_spec(a));
    if (!spec || !(a = pithp_array_place(s, a, spec)))
        return NULL;
    double *values = room_for(s, spec->count);
    void *bytes = pithp_scope_allocate(s, spec->bytes + 1);
    if (!values || !bytes || !pith_read(s, a, bytes, spec->bytes))
        return NULL;
    for (int64_t i = 0; i < spec->count; i++)
        values[i] = pith_element_f64(spec->dtype, bytes, i);
    return values;
}

const pith_array *
pithp_gradient_write(pith_scope *s, const pith_spec *spec, const double *values) {
    const size_t each = spec->count ? spec->bytes / (size_t)spec->count : 0;
    char *bytes = pithp_scope_allocate(s, spec->bytes + 1);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    for (int64_t i = 0; bytes && i < spec->count; i++)
        pithp_dtype_encode(spec->dtype, values[i], bytes + (size_t)i * each);
    const pith_array *a = bytes ? pith_array_copy(s, spec->dtype, shape, bytes) : NULL;
    return a ? pithp_array_place(s, a, spec) : NULL;
}

/* The trees are not validated: they are tangents, or values beside a valid one. */
const void *pithp_gradient_build(pith_scope *s,
                                 const pithp_structure *like,
                                 const pith_array *const *items) {
    const bool before = s->no_validation;
    s->no_validation = true;
    const void *tree = pithp_build(s, like, NULL, items);
    s->no_validation = before;
    return tree;
}

double *pithp_gradient_draw(pithp_gradient_checking *c,
                            pith_scope *s,
                            int64_t count,
                            uint32_t axes) {
    const int64_t rank = pithp_gradient_rank(c, s, axes);
    const pith_array *of_all = pith_random_fold_in(s, c->key, pith_i64(s, c->draws++)),
                     *key = rank ? pith_random_fold_in(s, of_all, pith_i64(s, rank))
                                 : of_all,
                     *u = pith_random_uniform(s, key, PITH_F64, PITH_SHAPE(count), -1, 1,
                                              NULL);
    double *values = u ? pithp_gradient_read(s, u) : NULL;
    for (int64_t i = 0; values && i < count; i++)
        values[i] = values[i] / 2 + (values[i] < 0 ? -0.5 : 0.5);
    return values;
}

/* ---- Directions ---- */

/* A direction of a leaf, and the step along it. */
typedef struct direction {
    uint32_t own; /* axes along which ranks have leaves of their own */
    double step;
    double *values;  /* of the leaf */
    double *tangent; /* step times tangent is exact, beside the values too */
} direction;

/* Values near 1 and above are moved by the step itself, smaller ones in proportion. */
static double
step_of(const pithp_gradient_checking *c, const pith_spec *spec, const double *values) {
    double squares = 0;
    for (int64_t i = 0; i < spec->count; i++)
        squares += values[i] * values[i];
    const double rms = spec->count ? sqrt(squares / (double)spec->count) : 0,
                 given = c->options->step,
                 step = given > 0 ? given : settings_of(spec->dtype).step;
    return exp2(floor(log2(rms > 0 && rms < 1 ? step * rms : step)));
}

static bool
direct(pithp_gradient_checking *c, pith_scope *s, const pith_array *leaf, direction *d) {
    const pith_spec *spec = pithp_array_spec(leaf);
    d->values = pithp_gradient_read(s, leaf);
    d->tangent = d->values ? pithp_gradient_draw(c, s, spec->count, d->own) : NULL;
    if (!d->tangent)
        return false;
    d->step = pithp_gradient_least(c, s, step_of(c, spec, d->values));
    if (isnan(d->step))
        return false;
    for (int64_t i = 0; i < spec->count; i++) {
        const double most = fabs(d->values[i]) + d->step;
        const int digits = settings_of(spec->dtype).digits;
        const double grain = ldexp(1, ilogb(most) + 2 - digits),
                     steps = rint(d->step * d->tangent[i] / grain);
        d->tangent[i] = (steps != 0 ? steps : 1) * grain / d->step;
    }
    return true;
}

/* The value of the function with a leaf moved by some steps. NULL: error set. */
static const void *moved_value(pithp_gradient_checking *c,
                               pith_scope *s,
                               const pithp_checked_leaf *at,
                               const direction *d,
                               double steps) {
    const pithp_flat *flat = &c->arguments[at->argument];
    const pithp_structure *t = &flat->structure;
    const pith_spec *spec = t->specs[at->leaf];
    const size_t bytes = (size_t)t->item_count * sizeof(pith_array *);
    const pith_array **items = pithp_scope_allocate(s, bytes);
    double *values = room_for(s, spec->count);
    if (!items || !values)
        return NULL;
    for (int64_t i = 0; i < spec->count; i++)
        values[i] = d->values[i] + steps * d->step * d->tangent[i];
    memcpy(items, flat->items, bytes);
    items[at->leaf] = pithp_gradient_write(s, spec, values);
    const void *given[PITHP_MOST_PARAMETERS];
    memcpy(given, c->given, (size_t)c->argument_count * sizeof *given);
    given[at->argument] = items[at->leaf] ? pithp_gradient_build(s, t, items) : NULL;
    return given[at->argument] ? pith_call(s, c->f, c->argument_count, given) : NULL;
}

/* ---- Comparison ---- */

/* NaN exceeds every bound. */
static void note(pithp_gradient_checking *c, const pithp_comparison *found) {
    const double error = fabs(found->got - found->wanted);
    if (error <= found->bound)
        return;
    const double ratio = error / found->bound,
                 finite = ratio <= DBL_MAX ? ratio : DBL_MAX;
    if (finite > c->worst.ratio) {
        c->worst = *found;
        c->worst.ratio = finite;
    }
}

/* The settings of a comparison: those of the coarser dtype. */
static settings coarser(pith_dtype a, pith_dtype b) {
    const settings x = settings_of(a), y = settings_of(b);
    return x.digits < y.digits ? x : y;
}

static double largest(const double *values, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (fabs(values[i]) > most)
            most = fabs(values[i]);
    return most;
}

/* Values of one leaf of the result at four points: steps of 1, -1, 1/2 and -1/2. */
static bool compare_output(pithp_gradient_checking *c,
                           pith_scope *s,
                           const pith_array *const points[4],
                           const pith_array *tangent,
                           double step,
                           pithp_comparison *at) {
    const pith_spec *spec = pithp_array_spec(tangent);
    const pith_dtype moved =
        c->arguments[at->leaf.argument].structure.specs[at->leaf.leaf]->dtype;
    const settings set = coarser(spec->dtype, moved);
    const double rtol = c->options->rtol > 0 ? c->options->rtol : set.rtol;
    double *f[4], *got = pithp_gradient_read(s, tangent),
                  *found = room_for(s, spec->count), *unsteady = room_for(s, spec->count),
                  rounding = 0;
    if (!got || !found || !unsteady)
        return false;
    for (int k = 0; k < 4; k++) {
        if (!(f[k] = pithp_gradient_read(s, points[k])))
            return false;
        rounding = fmax(rounding, largest(f[k], spec->count));
    }
    rounding *= ldexp(8, 1 - set.digits) / step;
    for (int64_t i = 0; i < spec->count; i++) {
        const double whole = (f[0][i] - f[1][i]) / (2 * step),
                     half = (f[2][i] - f[3][i]) / step;
        found[i] = (4 * half - whole) / 3;
        unsteady[i] = fabs(half - whole);
    }
    at->bound = c->options->atol + rounding +
                rtol * fmax(largest(got, spec->count), largest(found, spec->count));
    for (int64_t i = 0; i < spec->count; i++) {
        at->element = i;
        at->got = got[i];
        at->wanted = found[i];
        at->unsteady = unsteady[i] > at->bound;
        note(c, at);
    }
    return true;
}

/* ---- One leaf ---- */

/* A tangent like the selected parts: a direction of one leaf, zeros elsewhere. */
static const void *tangent_tree(pith_scope *s,
                                const pithp_flat *gradient,
                                int64_t leaf,
                                const direction *d) {
    const pithp_structure *t = &gradient->structure;
    const pith_array **items =
        pithp_scope_allocate(s, (size_t)t->item_count * sizeof *items);
    for (int64_t k = 0; items && k < t->item_count; k++) {
        const pith_spec *spec = t->specs[k];
        double *zeros = k == leaf ? d->tangent : room_for(s, spec->count);
        if (zeros && k != leaf)
            memset(zeros, 0, (size_t)spec->count * sizeof *zeros);
        if (!zeros || !(items[k] = pithp_gradient_write(s, spec, zeros)))
            return NULL;
    }
    return items ? pithp_gradient_build(s, t, items) : NULL;
}

/* Forward mode against differences, for each leaf of the value. */
static bool compare_forward(pithp_gradient_checking *c,
                            pith_scope *s,
                            const pithp_checked_leaf *leaf,
                            const direction *d,
                            const pithp_flat *tangent) {
    static const double steps[4] = {1, -1, 0.5, -0.5};
    pithp_flat at[4];
    int made = 0;
    for (; made < 4; made++) {
        const void *value = moved_value(c, s, leaf, d, steps[made]);
        if (!value || pithp_flat_make(s, &at[made], value, NULL, NULL) != PITH_OK)
            break;
    }
    bool fine = made == 4;
    for (int k = 0; fine && k < 4; k++)
        if (!pithp_structure_equal(&at[k].structure, &tangent->structure)) {
            pithp_fail(s, PITH_E_STRUCTURE, NULL,
                       "pith_check_gradient: %s: the structure of the value depends on "
                       "the argument",
                       c->f->name);
            fine = false;
        }
    for (int64_t j = 0; fine && j < tangent->structure.item_count; j++) {
        if (!pith_dtype_is_float(tangent->structure.specs[j]->dtype))
            continue;
        const pith_array *points[4];
        for (int k = 0; k < 4; k++)
            points[k] = at[k].items[j];
        pithp_comparison w = {.leaf = *leaf, .output = j};
        fine = compare_output(c, s, points, tangent->items[j], d->step, &w);
    }
    for (int k = 0; k < made; k++)
        pithp_flat_end(&at[k]);
    return fine;
}

/* Add the sum of products, and of their magnitudes, of all ranks along axes. False: error
 * set. */
static bool add_products(const pithp_gradient_checking *c,
                         pith_scope *s,
                         uint32_t axes,
                         const double *a,
                         const double *b,
                         int64_t count,
                         double *sum,
                         double *all) {
    double sums[2] = {0, 0};
    for (int64_t i = 0; i < count; i++) {
        sums[0] += a[i] * b[i];
        sums[1] += fabs(a[i] * b[i]);
    }
    if (!pithp_gradient_sum(c, s, axes, sums))
        return false;
    *sum += sums[0];
    *all += sums[1];
    return true;
}

/* Reverse mode against forward mode: products with the cotangent and the direction. */
static bool compare_reverse(pithp_gradient_checking *c,
                            pith_scope *s,
                            const pithp_checked_leaf *leaf,
                            const direction *d,
                            const pithp_flat *tangent,
                            const pith_array *gradient) {
    const pith_spec *spec = pithp_array_spec(gradient);
    settings set = settings_of(spec->dtype);
    pithp_comparison w = {.leaf = *leaf, .output = -1};
    double all = 0;
    const double *g = pithp_gradient_read(s, gradient);
    if (!g || !add_products(c, s, d->own, g, d->tangent, spec->count, &w.got, &all))
        return false;
    for (int64_t j = 0; j < tangent->structure.item_count; j++) {
        const pith_spec *of = tangent->structure.specs[j];
        if (!c->cotangent[j])
            continue;
        const double *t = pithp_gradient_read(s, tangent->items[j]);
        if (settings_of(of->dtype).digits < set.digits)
            set = settings_of(of->dtype);
        if (!t || !add_products(c, s, pithp_map_own_value(c->map, j), c->cotangent[j], t,
                                of->count, &w.wanted, &all))
            return false;
    }
    w.bound =
        c->options->atol + (c->options->rtol > 0 ? c->options->rtol : set.rtol) * all;
    note(c, &w);
    return true;
}

bool pithp_gradient_check_leaf(pithp_gradient_checking *c,
                               const pithp_flat *gradient,
                               int64_t k) {
    const pithp_checked_leaf *leaf = &c->selected[k];
    const pith_array *a = c->arguments[leaf->argument].items[leaf->leaf];
    pith_scope *s = pith_scope_open_in(c->s);
    direction d = {.own = pithp_map_own_argument(c->map, k)};
    pithp_flat flat;
    if (!pithp_scope_writable(s)) {
        pithp_fail_memory(c->s, PITHP_BLOCK_BYTES);
        return false;
    }
    const void *t = direct(c, s, a, &d) ? tangent_tree(s, gradient, k, &d) : NULL,
               *pushed = t ? pith_jvp(s, c->f, c->argument_count, c->given, t, &c->derive)
                                 .tangent
                           : NULL;
    bool fine = pushed && pithp_flat_make(s, &flat, pushed, NULL, NULL) == PITH_OK;
    if (fine) {
        fine = compare_forward(c, s, leaf, &d, &flat) &&
               compare_reverse(c, s, leaf, &d, &flat, gradient->items[k]);
        pithp_flat_end(&flat);
    }
    pith_scope_close(s); /* its error moves to the outer scope */
    return fine && !pith_failed(c->s);
}
