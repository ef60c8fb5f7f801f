/* Derivations of random programs: forward mode against differences, the map of a
 * linearization against forward mode, transposes by the dot product, once and twice.
 * PITH_TEST_PROGRAMS and PITH_TEST_FIRST choose how many, and from which seed on. */
#include "derive_arrays.h"
#include "program/vmap/vmap.h"
#include "series.h"

/* ---- A program with a point, directions and its derivatives ---- */

typedef struct derived {
    pith_scope *s;
    const pithp_program *p;
    uint64_t state;
    arrays x, t; /* inputs, then tangents of those that move: both for p and its jvp */
    double **inputs; /* x, t */
    bool *moving, *moves;
    int64_t tangents, moved;
    arrays forward; /* the outputs of forward mode */
} derived;

static const pithp_derive_options fewest = {.cuts_are_zero = true,
                                            .fewest_bytes = true,
                                            .reverse = true};

static void begin(derived *d) {
    const pithp_program *p = d->p;
    pithp_value moving[64] = {0};
    cr_assert(p->input_count <= 64);
    d->moving = calloc((size_t)p->input_count + 1, 1);
    d->moves = calloc((size_t)p->output_count + 1, 1);
    d->x = arrays_make(p, p->inputs, p->input_count);
    for (int64_t k = 0; k < p->input_count; k++) {
        const pith_dtype dtype = pithp_value_spec(p, p->inputs[k])->dtype;
        d->moving[k] = dtype == PITH_F64;
        if (d->moving[k])
            moving[d->tangents++] = p->inputs[k];
        if (dtype == PITH_F64)
            fill(&d->state, d->x.at[k], d->x.counts[k]);
        else
            *(int64_t *)(void *)d->x.at[k] = (int64_t)drawn(&d->state, 3);
    }
    d->t = arrays_make(p, moving, d->tangents);
    d->inputs = calloc((size_t)(p->input_count + d->tangents) + 1, sizeof *d->inputs);
    memcpy(d->inputs, d->x.at, (size_t)p->input_count * sizeof *d->inputs);
    memcpy(d->inputs + p->input_count, d->t.at, (size_t)d->tangents * sizeof *d->inputs);
    for (int64_t k = 0; k < d->tangents; k++)
        fill(&d->state, d->t.at[k], d->t.counts[k]);
}

static void end(derived *d) {
    arrays_free(&d->x);
    arrays_free(&d->t);
    arrays_free(&d->forward);
    free(d->inputs);
    free(d->moving);
    free(d->moves);
}

/* The outputs at x + h t. */
static arrays shifted(const derived *d, double h) {
    arrays moved = arrays_make(d->p, d->p->inputs, d->p->input_count);
    for (int64_t k = 0, n = 0; k < d->p->input_count; n += d->moving[k++])
        for (int64_t i = 0; i < moved.counts[k]; i++)
            if (d->moving[k])
                moved.at[k][i] = d->x.at[k][i] + h * d->t.at[n][i];
            else
                memcpy(&moved.at[k][i], &d->x.at[k][i], sizeof(double));
    arrays out = run(d->s, d->p, moved.at);
    arrays_free(&moved);
    return out;
}

/* A difference is trusted where two step sizes agree: near a kink they do not. */
static bool check_differences(const derived *d) {
    const double h = 1e-4;
    if (pithp_program_instructions(d->p, PITHP_OP_STOP_GRADIENT))
        return true;
    arrays a = shifted(d, h), b = shifted(d, -h), c = shifted(d, 2 * h),
           e = shifted(d, -2 * h);
    bool fine = true;
    int64_t next = d->p->output_count;
    for (int64_t k = 0; k < d->p->output_count && fine; k++) {
        for (int64_t n = 0; n < a.counts[k] && d->moves[k] && fine; n++) {
            const double near = (a.at[k][n] - b.at[k][n]) / (2 * h),
                         far = (c.at[k][n] - e.at[k][n]) / (4 * h),
                         right = (a.at[k][n] - d->forward.at[k][n]) / h,
                         left = (d->forward.at[k][n] - b.at[k][n]) / h,
                         t = d->forward.at[next][n];
            const double size = fabs(near) + 1;
            if (fabs(near - far) < 1e-4 * size && fabs(right - left) < 1e-2 * size &&
                fabs(t - near) > 1e-3 * size)
                fine = fails("output %d[%d]: tangent %.17g, differences %.17g", (int)k,
                             (int)n, t, near);
        }
        next += d->moves[k];
    }
    arrays_free(&a);
    arrays_free(&b);
    arrays_free(&c);
    arrays_free(&e);
    return fine;
}

/* Forward mode; its values are those of the program. */
static bool check_forward(derived *d) {
    pithp_program *jvp = pithp_program_jvp(d->s, d->p, d->moving, &zeros, d->moves);
    if (!jvp)
        return fails("forward mode");
    d->forward = run(d->s, jvp, d->inputs);
    arrays values = run(d->s, d->p, d->x.at);
    bool fine = true;
    for (int64_t k = 0; k < d->p->output_count; k++) {
        const pith_spec *spec = pithp_value_spec(d->p, d->p->outputs[k]);
        d->moved += d->moves[k];
        if (fine && spec->dtype == PITH_F64 &&
            !is_same(values.at[k], d->forward.at[k], spec->count))
            fine = fails("output %d has other bits in forward mode", (int)k);
    }
    arrays_free(&values);
    pithp_program_release(jvp);
    return fine;
}

/* A derivation of the optimised program, and one with strong zeros: the same numbers.
 * With strong zeros products of matrices are added in another order. */
static bool check_same_tangents(const derived *d,
                                const pithp_program *p,
                                const pithp_derive_options *options,
                                double within,
                                const char *what) {
    bool *moves = calloc((size_t)p->output_count + 1, 1);
    pithp_program *jvp = pithp_program_jvp(d->s, p, d->moving, options, moves);
    bool fine = jvp || fails("%s", what);
    arrays out = {0};
    if (fine)
        out = run(d->s, jvp, d->inputs);
    for (int64_t k = 0, i = p->output_count, j = i; k < p->output_count && fine; k++) {
        for (int64_t n = 0; n < out.counts[k] && fine; n++) {
            const double a = d->moves[k] ? d->forward.at[i][n] : 0,
                         b = moves[k] ? out.at[j][n] : 0;
            if ((d->moves[k] || moves[k]) && isfinite(a) &&
                !is_near(a, b, fabs(a), within))
                fine = fails("%s: tangent of output %d[%d]: %.17g, %.17g", what, (int)k,
                             (int)n, a, b);
        }
        i += d->moves[k];
        j += moves[k];
    }
    arrays_free(&out);
    pithp_program_release(jvp);
    free(moves);
    return fine;
}

/* ---- Linear maps ---- */

/* The arrays a linear program takes: residuals, then what it is linear in. */
static double **join(double *const *a, int64_t n, double *const *b, int64_t m) {
    double **all = calloc((size_t)(n + m) + 1, sizeof *all);
    memcpy(all, a, (size_t)n * sizeof *all);
    memcpy(all + n, b, (size_t)m * sizeof *all);
    return all;
}

/* <c, y> and <g, t> agree; g has arrays only for the tangents that reach. */
static bool check_dot(const arrays *c,
                      const arrays *y,
                      const arrays *g,
                      const arrays *t,
                      const bool *reaches,
                      const char *what) {
    double left = 0, right = 0, size = 0;
    for (int64_t k = 0; k < y->count; k++)
        for (int64_t n = 0; n < y->counts[k]; n++) {
            left += c->at[k][n] * y->at[k][n];
            size += fabs(c->at[k][n] * y->at[k][n]);
        }
    for (int64_t k = 0, from = 0; k < t->count; from += reaches[k++])
        for (int64_t n = 0; n < t->counts[k] && reaches[k]; n++) {
            right += g->at[from][n] * t->at[k][n];
            size += fabs(g->at[from][n] * t->at[k][n]);
        }
    if (!isfinite(size) || is_near(left, right, size, 1e-10))
        return true;
    return fails("%s: <c, Jt> = %.17g, <J'c, t> = %.17g", what, left, right);
}

/* The transpose of a transpose is the map again, where a cotangent reaches an output. */
static bool check_twice(const derived *d,
                        const pithp_program *back,
                        int64_t residuals,
                        double *const *known,
                        const arrays *t,
                        const bool *reaches,
                        const arrays *wanted) {
    bool *marks = calloc((size_t)back->input_count + 1, 1),
         *comes = calloc((size_t)back->input_count + 1, 1);
    double **in = calloc((size_t)(residuals + t->count) + 1, sizeof *in);
    int64_t count = residuals;
    memcpy(in, known, (size_t)residuals * sizeof *in);
    for (int64_t k = 0; k < t->count; k++)
        if (reaches[k])
            in[count++] = t->at[k];
    for (int64_t k = residuals; k < back->input_count; k++)
        marks[k] = true;
    pithp_program *again = pithp_program_transpose(d->s, back, marks, comes);
    bool fine = again || fails("transposing twice");
    arrays out = {0};
    if (fine)
        out = run(d->s, again, in);
    for (int64_t k = 0, from = 0; k < wanted->count && fine; k++) {
        for (int64_t n = 0; n < wanted->counts[k] && fine; n++) {
            const double a = wanted->at[k][n],
                         b = comes[residuals + k] ? out.at[from][n] : 0;
            if (isfinite(a) && !is_near(a, b, fabs(a), 1e-9))
                fine = fails("transposed twice: output %d[%d]: %.17g, %.17g", (int)k,
                             (int)n, a, b);
        }
        from += comes[residuals + k];
    }
    arrays_free(&out);
    pithp_program_release(again);
    free(marks);
    free(comes);
    free(in);
    return fine;
}

/* The transpose against the map. */
static bool check_transpose(derived *d,
                            const pithp_program *linear,
                            int64_t residuals,
                            double *const *known,
                            const arrays *y) {
    bool *marks = calloc((size_t)linear->input_count + 1, 1),
         *reaches = calloc((size_t)linear->input_count + 1, 1);
    for (int64_t k = residuals; k < linear->input_count; k++)
        marks[k] = true;
    pithp_program *back = pithp_program_transpose(d->s, linear, marks, reaches);
    bool fine = back || fails("transposition");
    if (fine) {
        arrays c = arrays_make(linear, linear->outputs, linear->output_count);
        for (int64_t k = 0; k < c.count; k++)
            fill(&d->state, c.at[k], c.counts[k]);
        double **in = join(known, residuals, c.at, c.count);
        arrays g = run(d->s, back, in);
        fine = check_dot(&c, y, &g, &d->t, reaches + residuals, "transpose") &&
               check_twice(d, back, residuals, known, &d->t, reaches + residuals, y);
        arrays_free(&g);
        arrays_free(&c);
        free(in);
    }
    pithp_program_release(back);
    free(marks);
    free(reaches);
    return fine;
}

/* The map has the tangents of forward mode, bit by bit. */
static bool check_map(derived *d, bool reverse, const pithp_derive_options *options) {
    pithp_linearization l;
    bool *moves = calloc((size_t)d->p->output_count + 1, 1);
    const bool made = pithp_program_linearize(d->s, d->p, d->moving, options, moves, &l);
    bool fine = made || fails("linearization");
    if (fine) {
        arrays values = run(d->s, l.forward, d->x.at);
        double **known = values.at + d->p->output_count,
               **in = join(known, l.residual_count, d->t.at, d->tangents);
        arrays y = run(d->s, l.linear, in);
        for (int64_t k = 0; k < d->p->output_count && fine; k++)
            if (moves[k] != d->moves[k])
                fine = fails("output %d moves in one mode alone", (int)k);
        for (int64_t k = 0; k < y.count && fine; k++)
            if (!is_same(y.at[k], d->forward.at[d->p->output_count + k], y.counts[k]))
                fine = fails("tangent %d of the map has other bits", (int)k);
        if (fine && reverse)
            fine = check_transpose(d, l.linear, l.residual_count, known, &y);
        arrays_free(&y);
        arrays_free(&values);
        free(in);
    }
    if (made) {
        pithp_program_release(l.forward);
        pithp_program_release(l.linear);
    }
    free(moves);
    return fine;
}

/* A copy of a program with its instructions in groups that are recomputed. */
static pithp_program *grouped(pith_scope *s, const pithp_program *p, uint64_t seed) {
    pithp_program *copy = pithp_program_optimise(s, p, 0);
    pt_ok(s, copy);
    for (int64_t k = 0; k < copy->instruction_count; k++) {
        pithp_remat *remat = &copy->instructions[k].remat;
        remat->group = (int32_t)((uint64_t)k / (1 + seed % 7) % 3);
        remat->kept = (seed >> k % 16 & 3) == 3;
    }
    copy->groups = 2;
    return copy;
}

/* The maps of a program with groups, and one that keeps few bytes. */
static bool check_kept(derived *d, bool reverse, uint64_t seed) {
    const pithp_program *p = d->p;
    pithp_program *copy = grouped(d->s, p, seed);
    bool fine = check_map(d, reverse, &fewest);
    d->p = copy;
    fine = fine && check_map(d, reverse, &zeros) && check_map(d, reverse, &fewest);
    d->p = p;
    pithp_program_release(copy);
    return fine;
}

/* ---- A program ---- */

/* Everything at once; reverse: also what a while refuses. */
static bool check_program(pith_scope *s,
                          const pithp_program *p,
                          uint64_t seed,
                          bool reverse,
                          bool first) {
    derived d = {.s = s, .p = p, .state = seed * 77 + 1};
    begin(&d);
    bool fine =
        check_forward(&d) && (!first || check_differences(&d)) &&
        check_same_tangents(
            &d, p, &(pithp_derive_options){.cuts_are_zero = true, .strong_zero = true},
            pithp_program_instructions(p, PITHP_OP_DOT_GENERAL) ? 1e-9 : 0,
            "strong zeros");
    pithp_program *better =
        fine && first ? pithp_program_optimise(s, p, PITHP_PASS_ALL) : NULL;
    fine =
        fine && (!better || check_same_tangents(&d, better, &zeros, 1e-9, "optimised"));
    fine = fine && check_map(&d, reverse, &zeros) && check_kept(&d, reverse, seed);
    pithp_program_release(better);
    end(&d);
    return fine;
}

/* A batch of p, some of whose inputs are mapped, in place of p. */
static pithp_program *batch_of(pith_scope *s, pithp_program *p, uint64_t seed) {
    bool mapped[64] = {false}, outputs[64];
    uint64_t state = seed * 31 + 7;
    mapped[p->input_count - 1] = true;
    for (int64_t k = 0; k < p->input_count; k++)
        mapped[k] |= drawn(&state, 2);
    pithp_program *q =
        pithp_program_vmap(s, p, 1 + (int64_t)drawn(&state, 3), mapped, NULL, outputs);
    pithp_program_release(p);
    return q;
}

static bool is_right(pith_scope *s, uint64_t seed, int steps, bool batched, bool show) {
    pith_scope *own = pith_scope_open_in(s);
    bool has_while = false;
    pithp_program *p = draw_program(own, seed, steps, &has_while), *g = NULL;
    wrong[0] = 0;
    if (batched)
        p = batch_of(own, p, seed);
    pt_ok(own, p);
    bool fine = check_program(own, p, seed, !has_while, true);
    if (fine && !has_while && seed % 4 == 0) {
        g = gradient_of(own, p);
        if (g && g->output_count)
            fine = check_program(own, g, seed, true, false);
        else if (!g)
            fine = fails("the gradient");
    }
    if (!fine && show)
        cr_log_error("seed %llu, %d steps%s: %s %s\n%s", (unsigned long long)seed, steps,
                     g ? ", the gradient" : "", wrong, pith_message(own), text_of(p));
    pith_clear(own);
    pithp_program_release(p);
    pithp_program_release(g);
    pith_scope_close(own);
    return fine;
}

static void check_seeds(uint64_t first, int64_t count, bool batched) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    count = pt_series(count);
    first = pt_series_first(first);
    int wrong_ones = 0;
    for (uint64_t seed = first; seed < first + (uint64_t)count && wrong_ones < 3;
         seed++) {
        if (is_right(s, seed, STEPS, batched, false))
            continue;
        int steps = 0; /* the least number that fails */
        while (steps < STEPS && is_right(s, seed, steps, batched, false))
            steps++;
        is_right(s, seed, steps, batched, true);
        wrong_ones++;
    }
    cr_assert(wrong_ones == 0);
    pith_scope_close(s);
    pith_close(rt);
}

#ifdef MANY
Test(derive_random, thousands, .timeout = 1800) {
    check_seeds(1000000, 5000, false);
}

Test(derive_random, thousands_of_batches, .timeout = 1800) {
    check_seeds(2000000, 3000, true);
}
#else
Test(derive_random, programs, .timeout = 600) {
    check_seeds(0, 250, false);
}

Test(derive_random, batches, .timeout = 600) {
    check_seeds(5000, 100, true);
}
#endif
