/* Derivations of random programs with calls that are equal: they are derived once, and
 * what is made is what is made without a word of calls, expression by expression. */
#include "derive_arrays.h"
#include "series.h"

enum { CALLEES = 2, CALLS = 7, CALLED_STEPS = 9, POOL = 200 };

/* ---- Programs with calls ---- */

typedef struct calling {
    drawing d;
    pithp_program *callees[CALLEES];
    pithp_value pool[POOL]; /* f64 */
    int pool_count;
    pithp_value index;
} calling;

static void keep(calling *c, pithp_value v) {
    if (c->pool_count < POOL && spec_of(&c->d, v)->dtype == PITH_F64)
        c->pool[c->pool_count++] = v;
}

/* A part of an array that has all others: their cotangents are joined. */
static pithp_value part_of(calling *c, const pith_spec *spec, int call) {
    drawing *d = &c->d;
    const pith_spec *all = NULL;
    pithp_slice_params p = {{0}, {0}, {0}};
    int64_t shape[PITH_MAX_RANK];
    pithp_value whole = -1;
    memcpy(shape, spec->shape, sizeof shape);
    shape[0] *= CALLS;
    all = pithp_spec(d->s, PITH_F64, spec->rank, shape);
    for (int k = 0; k < c->pool_count; k++)
        if (spec_of(d, c->pool[k]) == all)
            whole = c->pool[k];
    if (whole < 0)
        return -1;
    for (int k = 0; k < spec->rank; k++) {
        p.limit[k] = spec->shape[k];
        p.step[k] = 1;
    }
    p.start[0] = call * spec->shape[0];
    p.limit[0] = p.start[0] + spec->shape[0];
    return add(d, PITHP_OP_SLICE, 1, &whole, &p);
}

/* A value for an input of a call. */
static pithp_value argument(calling *c, const pith_spec *spec, int call) {
    drawing *d = &c->d;
    pithp_value fitting[POOL], v;
    int count = 0;
    if (spec->dtype != PITH_F64)
        return c->index;
    for (int k = 0; k < c->pool_count; k++)
        if (spec_of(d, c->pool[k]) == spec)
            fitting[count++] = c->pool[k];
    v = fitting[below(d, 2) ? count - 1 : below(d, count)];
    switch (below(d, 8)) {
        case 0:
            return call1(d, PITHP_OP_STOP_GRADIENT, v);
        case 1:
            return call1(d, PITHP_OP_NEG, v);
        case 2:
            return call2(d, PITHP_OP_ADD, v, fitting[below(d, count)]);
        case 3:
        case 4: {
            const pithp_value part = spec->rank ? part_of(c, spec, call) : -1;
            return part < 0 ? v : part;
        }
        default:
            return v;
    }
}

static void add_inputs(calling *c) {
    drawing *d = &c->d;
    c->index = pithp_program_input(d->s, d->p, pithp_spec(d->s, PITH_I64, 0, NULL));
    for (int n = 0; n < CALLEES; n++)
        for (int64_t k = 1; k < c->callees[n]->input_count; k++) {
            const pith_spec *spec = pithp_value_spec(c->callees[n], (pithp_value)k);
            int64_t shape[PITH_MAX_RANK];
            memcpy(shape, spec->shape, sizeof shape);
            keep(c, pithp_program_input(d->s, d->p, spec));
            shape[0] *= CALLS;
            if (spec->rank)
                keep(c, pithp_program_input(
                            d->s, d->p, pithp_spec(d->s, PITH_F64, spec->rank, shape)));
        }
}

/* Mark the instructions from the n-th on as a call; grouped: with groups. */
static void
mark(pithp_program *p, int64_t n, int32_t call, bool marked, uint64_t grouped) {
    for (int64_t at = 0; n + at < p->instruction_count; at++) {
        pithp_remat *remat = &p->instructions[n + at].remat;
        remat->call = marked ? call : 0;
        if (grouped) {
            const bool own = (uint64_t)at / (1 + grouped % 5) % 2;
            remat->group = own ? call : CALLS + 1;
            remat->kept = (grouped >> at % 16 & 3) == 3;
        }
    }
    p->calls = call;
    p->groups = grouped ? CALLS + 1 : 0;
}

/* A program that calls programs, with calls marked or not. */
static pithp_program *draw_calls(pith_scope *s, uint64_t seed, bool marked) {
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 3;
    calling c = {.d = {.s = s, .p = pithp_program_make(s), .state = &state}};
    drawing *d = &c.d;
    bool has_while = false;
    const uint64_t grouped = seed % 3 == 2 ? seed : 0;
    for (int n = 0; n < CALLEES; n++)
        do
            c.callees[n] =
                draw_program(s, drawn(&state, 1u << 30), CALLED_STEPS, &has_while);
        while (has_while);
    add_inputs(&c);
    for (int k = 0; k < CALLS; k++) {
        const pithp_program *f = c.callees[below(d, 3) == 0];
        pithp_value inputs[64], outputs[64];
        for (int64_t n = 0; n < f->input_count; n++)
            inputs[n] = argument(&c, pithp_value_spec(f, (pithp_value)n), k);
        const int64_t first = d->p->instruction_count;
        pt_ok(s, pithp_program_inline(s, d->p, f, inputs, outputs));
        mark(d->p, first, k + 1, marked, grouped);
        for (int64_t n = 0; n < f->output_count; n++)
            keep(&c, outputs[n]);
    }
    for (int k = 0; k < 6; k++)
        give(d, c.pool[c.pool_count - 1 - below(d, c.pool_count)]);
    for (int n = 0; n < CALLEES; n++)
        pithp_program_release(c.callees[n]);
    return d->p;
}

/* ---- What is derived ---- */

/* Whether two programs give the same expressions of equal inputs. */
static bool same(pith_scope *s, const pithp_program *a, const pithp_program *b) {
    const pithp_program *p[2] = {a, b};
    uint64_t *hashes[2];
    if (a->input_count != b->input_count || a->output_count != b->output_count)
        return false;
    for (int n = 0; n < 2; n++) {
        hashes[n] =
            pithp_scope_allocate(s, ((size_t)p[n]->value_count + 1) * sizeof **hashes);
        for (int64_t k = 0; k < a->input_count; k++)
            hashes[n][p[n]->inputs[k]] = (uint64_t)k + 77;
        pt_ok(s, pithp_program_expressions(s, p[n], 0, hashes[n]));
    }
    bool equal = true;
    for (int64_t k = 0; k < a->output_count; k++)
        equal &= hashes[0][a->outputs[k]] == hashes[1][b->outputs[k]];
    return equal;
}

/* Both have the error, or the same program, which are released. */
static bool agree(pith_scope *s, const char *what, pithp_program *p[2]) {
    bool fine = true;
    if (!p[0] || !p[1])
        fine =
            (!p[0] && !p[1]) || fails("%s: one alone fails: %s", what, pith_message(s));
    else
        fine = same(s, p[0], p[1]) || fails("%s: other expressions", what);
    pith_clear(s);
    pithp_program_release(p[0]);
    pithp_program_release(p[1]);
    return fine;
}

typedef struct derived_pair {
    pith_scope *s;
    pithp_program *programs[2]; /* with calls marked, and not */
    bool moving[64];
    bool *moves[2];
    pithp_call_counts calls;
} derived_pair;

static bool
same_forward(derived_pair *d, const char *what, pithp_derive_options options) {
    pithp_program *jvp[2];
    for (int n = 0; n < 2; n++) {
        pithp_derive_watches watches = {.watched = PITHP_WATCH_TANGENTS};
        options.watches = options.watches ? &watches : NULL;
        options.calls = n ? NULL : &d->calls;
        jvp[n] =
            pithp_program_jvp(d->s, d->programs[n], d->moving, &options, d->moves[n]);
    }
    return agree(d->s, what, jvp);
}

static bool same_transpose(derived_pair *d,
                           const char *what,
                           pithp_linearization l[2],
                           pithp_derive_watches watches[2]) {
    pithp_program *back[2];
    for (int n = 0; n < 2; n++) {
        const size_t inputs = (size_t)l[n].linear->input_count;
        bool *marks = pithp_scope_allocate(d->s, 2 * inputs + 1);
        for (size_t k = 0; k < inputs; k++)
            marks[k] = (int64_t)k >= l[n].residual_count;
        back[n] = pithp_program_transpose_watched(d->s, l[n].linear, marks,
                                                  marks + inputs, &watches[n]);
    }
    return agree(d->s, what, back);
}

static bool same_maps(derived_pair *d, const char *what, pithp_derive_options options) {
    pithp_linearization l[2];
    pithp_derive_watches watches[2];
    size_t kept[2];
    bool made[2];
    for (int n = 0; n < 2; n++) {
        watches[n] = (pithp_derive_watches){.watched = PITHP_WATCH_COTANGENTS};
        options.watches = options.watches ? &watches[n] : NULL;
        options.calls = n ? NULL : &d->calls;
        options.kept = &kept[n];
        made[n] = pithp_program_linearize(d->s, d->programs[n], d->moving, &options,
                                          d->moves[n], &l[n]);
        if (!made[n])
            pith_clear(d->s);
    }
    if (!made[0] || !made[1])
        return made[0] == made[1] || fails("%s: one alone fails", what);
    bool fine = (l[0].residual_count == l[1].residual_count &&
                 (!options.kept_bytes || kept[0] == kept[1])) ||
                fails("%s: other residuals", what);
    fine = fine && (!options.reverse || same_transpose(d, what, l, watches));
    pithp_program *linear[2] = {l[0].linear, l[1].linear},
                  *forward[2] = {l[0].forward, l[1].forward};
    if (fine)
        return agree(d->s, what, linear) && agree(d->s, what, forward);
    for (int n = 0; n < 2; n++) {
        pithp_program_release(linear[n]);
        pithp_program_release(forward[n]);
    }
    return false;
}

/* A budget, whose choice is slow, for some seeds. */
static bool same_in_every_mode(derived_pair *d, uint64_t seed) {
    pithp_derive_watches any;
    const pithp_derive_options plain = {.cuts_are_zero = true};
    pithp_derive_options strong = plain, watched = plain, reverse = plain, few = plain,
                         budget = plain;
    strong.strong_zero = true;
    watched.watches = &any;
    few.fewest_bytes = reverse.reverse = budget.reverse = true;
    budget.kept_bytes = 4096;
    bool fine = same_forward(d, "forward", plain) &&
                same_forward(d, "strong forward", strong) &&
                same_forward(d, "watched forward", watched) && same_maps(d, "map", few) &&
                same_maps(d, "gradient", reverse) &&
                (seed % 4 || same_maps(d, "gradient with a budget", budget));
    few.reverse = strong.reverse = watched.reverse = true;
    return fine && same_maps(d, "transposed map", few) &&
           same_maps(d, "strong gradient", strong) &&
           same_maps(d, "watched gradient", watched);
}

static void check_seeds(uint64_t first, int64_t count) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    int64_t calls = 0;
    count = pt_series(count);
    first = pt_series_first(first);
    for (uint64_t seed = first; seed < first + (uint64_t)count; seed++) {
        pith_scope *own = pith_scope_open_in(s);
        derived_pair d = {.s = own};
        uint64_t state = seed * 77 + 5;
        for (int n = 0; n < 2; n++) {
            d.programs[n] = draw_calls(own, seed, n == 0);
            d.moves[n] = pithp_scope_allocate(own, 64);
        }
        const pithp_program *p = d.programs[0];
        cr_assert(p->input_count <= 64);
        for (int64_t k = 1; k < p->input_count; k++)
            d.moving[k] = drawn(&state, 5) > 0;
        const bool fine = same_in_every_mode(&d, seed);
        cr_assert(fine, "seed %llu: %s\n%s", (unsigned long long)seed, wrong, text_of(p));
        calls += d.calls.calls;
        for (int n = 0; n < 2; n++)
            pithp_program_release(d.programs[n]);
        pith_scope_close(own);
    }
    pith_scope_close(s);
    pith_close(rt);
    cr_assert_gt(calls, 10 * count, "%d calls of %d programs", (int)calls, (int)count);
}

#ifdef MANY
Test(derive_call_programs, thousands, .timeout = 1800) {
    check_seeds(1000000, 3000);
}
#else
Test(derive_call_programs, are_those_without_calls, .timeout = 600) {
    check_seeds(0, 40);
}
#endif
