/* Batches of derivatives and derivatives of batches: forward mode of a batch is the batch
 * of forward mode, and gradients of a batch are those of its entries, summed for what the
 * entries share. */
#include "derive_arrays.h"
#include "program/vmap/vmap.h"
#include "series.h"

enum { BATCHED_STEPS = 12, MOST_INPUTS = 64 };

typedef struct batched {
    pith_scope *s;
    pithp_program *p;
    int64_t size;
    uint64_t state;
    bool mapped[MOST_INPUTS]; /* of each input of p */
    bool moving[MOST_INPUTS];
    bool exact; /* no products of floats, whose sums have another order */
} batched;

/* ---- Elements ---- */

/* Element n of output k in entry e, of one that is batched or not. */
static double at(const arrays *a,
                 const bool *is_batched,
                 int64_t size,
                 int64_t k,
                 int64_t e,
                 int64_t n) {
    return a->at[k][is_batched[k] ? e * (a->counts[k] / size) + n : n];
}

/* Values have equal bits; tangents may be zeros of another sign, where a branch or an
 * iteration that an entry does not take adds one. */
static bool agree(const batched *x, bool is_value, double a, double b) {
    if (!x->exact)
        return (!isfinite(a) && !isfinite(b)) || is_near(a, b, fabs(a), 1e-9);
    return is_same(&a, &b, 1) || (!is_value && a == b);
}

static arrays inputs_of(batched *x, const pithp_program *p) {
    arrays in = arrays_make(p, p->inputs, p->input_count);
    for (int64_t k = 0; k < in.count; k++)
        if (pithp_value_spec(p, p->inputs[k])->dtype == PITH_F64)
            fill(&x->state, in.at[k], in.counts[k]);
        else
            for (int64_t n = 0; n < in.counts[k]; n++)
                ((int64_t *)(void *)in.at[k])[n] = (int64_t)drawn(&x->state, 3);
    return in;
}

/* ---- Forward mode ---- */

/* Every output of one program beside that of the other, for all entries. */
static bool compare_outputs(const batched *x,
                            const arrays *a,
                            const bool *of_a,
                            const arrays *b,
                            const bool *of_b) {
    if (a->count != b->count)
        return fails("%d outputs, %d", (int)a->count, (int)b->count);
    for (int64_t k = 0; k < a->count; k++) {
        const int64_t n = of_a[k] ? a->counts[k] / x->size : a->counts[k];
        for (int64_t e = 0; e < x->size; e++)
            for (int64_t i = 0; i < n; i++) {
                const double of = at(a, of_a, x->size, k, e, i),
                             to = at(b, of_b, x->size, k, e, i);
                if (!agree(x, k < x->p->output_count, of, to))
                    return fails("output %d[%d] of entry %d: %.17g, %.17g", (int)k,
                                 (int)i, (int)e, of, to);
            }
    }
    return true;
}

static bool check_forward(batched *x, const pithp_program *q, const bool *outputs) {
    bool moves[MOST_INPUTS], moves_of_q[MOST_INPUTS], mapped[2 * MOST_INPUTS],
        of_b[2 * MOST_INPUTS], of_a[2 * MOST_INPUTS];
    int64_t count = x->p->input_count, made = x->p->output_count;
    pithp_program *a = pithp_program_jvp(x->s, q, x->moving, &zeros, moves_of_q),
                  *j = pithp_program_jvp(x->s, x->p, x->moving, &zeros, moves);
    pt_ok(x->s, a && j);
    memcpy(mapped, x->mapped, sizeof x->mapped);
    for (int64_t k = 0; k < x->p->input_count; k++)
        if (x->moving[k])
            mapped[count++] = x->mapped[k];
    memcpy(of_a, outputs, (size_t)made * sizeof *of_a);
    for (int64_t k = 0; k < x->p->output_count; k++)
        if (moves_of_q[k])
            of_a[made++] = outputs[k];
    pithp_program *b = pithp_program_vmap(x->s, j, x->size, mapped, NULL, of_b);
    pt_ok(x->s, b);
    arrays in = inputs_of(x, a), from_a = run(x->s, a, in.at),
           from_b = run(x->s, b, in.at);
    from_a.counts[x->p->output_count - 1] = from_b.counts[x->p->output_count - 1] =
        0; /* bools */
    const bool fine = compare_outputs(x, &from_a, of_a, &from_b, of_b);
    arrays_free(&in);
    arrays_free(&from_a);
    arrays_free(&from_b);
    pithp_program_release(a);
    pithp_program_release(b);
    pithp_program_release(j);
    return fine;
}

/* ---- Gradients ---- */

/* The cotangents of entries in front of those of all, where the value of all is shared.
 */
static bool check_gradients(batched *x, const pithp_program *q) {
    pithp_program *a = gradient_of(x->s, q), *g = gradient_of(x->s, x->p);
    bool mapped[2 * MOST_INPUTS] = {false}, of_b[MOST_INPUTS];
    pt_ok(x->s, a && g);
    memcpy(mapped, x->mapped, sizeof x->mapped);
    for (int64_t k = x->p->input_count; k < g->input_count; k++)
        mapped[k] = true;
    pithp_program *b = pithp_program_vmap(x->s, g, x->size, mapped, NULL, of_b);
    pt_ok(x->s, b);
    bool fine = a->input_count == b->input_count && a->output_count == b->output_count;
    for (int64_t k = 0; k < a->input_count && fine; k++) /* all outputs are batched */
        fine = pithp_value_spec(a, a->inputs[k]) == pithp_value_spec(b, b->inputs[k]);
    if (fine) {
        arrays in = inputs_of(x, a), whole = run(x->s, a, in.at),
               each = run(x->s, b, in.at);
        for (int64_t k = 0; k < whole.count && fine; k++) {
            const bool own = whole.counts[k] == each.counts[k] && of_b[k] &&
                             pithp_value_spec(a, a->outputs[k])->rank ==
                                 pithp_value_spec(b, b->outputs[k])->rank;
            for (int64_t n = 0; n < whole.counts[k] && fine; n++) {
                double sum = own ? each.at[k][n] : 0;
                for (int64_t e = 0; e < x->size && !own; e++)
                    sum += at(&each, of_b, x->size, k, e, n);
                if (isfinite(sum) && !is_near(sum, whole.at[k][n], fabs(sum), 1e-9))
                    fine = fails("gradient %d[%d]: %.17g, of entries %.17g", (int)k,
                                 (int)n, whole.at[k][n], sum);
            }
        }
        arrays_free(&in);
        arrays_free(&whole);
        arrays_free(&each);
    } else {
        fine = true; /* an output is shared: it has one cotangent */
    }
    pithp_program_release(a);
    pithp_program_release(b);
    pithp_program_release(g);
    return fine;
}

/* ---- Programs ---- */

static bool is_right(pith_scope *s, uint64_t seed, int steps, bool show) {
    pith_scope *own = pith_scope_open_in(s);
    bool has_while = false, outputs[MOST_INPUTS];
    batched x = {
        .s = own, .p = draw_program(own, seed, steps, &has_while), .state = seed * 5 + 3};
    pt_ok(own, x.p);
    wrong[0] = 0;
    x.size = 1 + (int64_t)drawn(&x.state, 3);
    x.exact = !pithp_program_instructions(x.p, PITHP_OP_DOT_GENERAL);
    x.mapped[0] = drawn(&x.state, 2); /* an index of branches */
    for (int64_t k = 1; k < x.p->input_count; k++) {
        x.moving[k] = true;
        x.mapped[k] = drawn(&x.state, 3) > 0 || k + 1 == x.p->input_count;
    }
    pithp_program *q = pithp_program_vmap(own, x.p, x.size, x.mapped, NULL, outputs);
    pt_ok(own, q);
    const bool fine =
        check_forward(&x, q, outputs) && (has_while || check_gradients(&x, q));
    if (!fine && show)
        cr_log_error("seed %llu, %d steps, batch of %d: %s\n%s", (unsigned long long)seed,
                     steps, (int)x.size, wrong, text_of(x.p));
    pith_clear(own);
    pithp_program_release(x.p);
    pithp_program_release(q);
    pith_scope_close(own);
    return fine;
}

/* ---- Rows that select, with indices and starts of the entries' own ---- */

typedef struct selecting {
    pithp_primitive op;
    int arrays;           /* index arrays, starts included */
    bool updates, square; /* whether u is an operand; it is [2,2], or else [1,3] */
} selecting;

static const pithp_index_params clipped = {.axis = 1, .mode = PITHP_INDEX_CLIP},
                                of_rows = {.axis = 0, .mode = PITHP_INDEX_WRAP};

/* at i64[2], x[2,5], u -> sin of the row's result, and whether that is NaN. */
static pithp_program *program_of(pith_scope *s, const selecting *c) {
    static const int64_t two = 2, whole[] = {2, 5}, square[] = {2, 2}, part[] = {1, 3};
    const pithp_dynamic_params box = {{1, 3}};
    const pithp_reshape_params upright = {.rank = 2, .shape = {2, 1}};
    pithp_program *p = pithp_program_make(s);
    pithp_value at = pithp_program_input(s, p, pithp_spec(s, PITH_I64, 1, &two));
    const pithp_value x = pithp_program_input(s, p, pithp_spec(s, PITH_F64, 2, whole)),
                      u = pithp_program_input(
                          s, p, pithp_spec(s, PITH_F64, 2, c->square ? square : part));
    const bool is_box =
        c->op == PITHP_OP_DYNAMIC_SLICE || c->op == PITHP_OP_DYNAMIC_UPDATE_SLICE;
    if (c->op == PITHP_OP_TAKE_ALONG)
        at = pithp_program_add(s, p, PITHP_OP_RESHAPE, 1, &at, &upright, "row:1");
    const pithp_value selected[] = {x, at, c->updates ? u : at, u},
                      boxes[] = {x, c->updates ? u : at, at};
    const void *params = is_box           ? (const void *)&box
                         : c->arrays == 2 ? &of_rows
                                          : &clipped;
    pithp_value y = pithp_program_add(s, p, c->op, 1 + c->arrays + c->updates,
                                      is_box ? boxes : selected, params, "row:2");
    pt_ok(s, y >= 0);
    y = pithp_program_add(s, p, PITHP_OP_SIN, 1, &y, NULL, "row:3");
    pithp_program_output(s, p, y);
    pithp_program_output(s, p,
                         pithp_program_add(s, p, PITHP_OP_IS_NAN, 1, &y, NULL, "row:4"));
    return p;
}

static void
check_selecting(pith_scope *s, const selecting *c, unsigned mask, int64_t size) {
    bool outputs[2];
    batched x = {
        .s = s, .p = program_of(s, c), .size = size, .state = mask, .exact = true};
    for (int k = 0; k < 3; k++) {
        x.mapped[k] = mask >> k & 1;
        x.moving[k] = k > 0;
    }
    pithp_program *q = pithp_program_vmap(s, x.p, size, x.mapped, NULL, outputs);
    pt_ok(s, q);
    cr_assert(check_forward(&x, q, outputs) && check_gradients(&x, q),
              "%s, mapped %x, %lld entries: %s", pithp_ops[c->op].name, mask,
              (long long)size, wrong);
    pithp_program_release(x.p);
    pithp_program_release(q);
}

PT_SCOPED(vmap_derive, entries_select_in_their_own_way) {
    static const selecting all[] = {{PITHP_OP_TAKE, 1, false, true},
                                    {PITHP_OP_TAKE, 2, false, true},
                                    {PITHP_OP_TAKE_ALONG, 1, false, true},
                                    {PITHP_OP_DYNAMIC_SLICE, 1, false, false},
                                    {PITHP_OP_DYNAMIC_UPDATE_SLICE, 1, true, false},
                                    {PITHP_OP_SCATTER_SET, 1, true, true},
                                    {PITHP_OP_SCATTER_ADD, 1, true, true},
                                    {PITHP_OP_SCATTER_MUL, 1, true, true},
                                    {PITHP_OP_SCATTER_MIN, 1, true, true},
                                    {PITHP_OP_SCATTER_MAX, 1, true, true}};
    for (int k = 0; k < PITHP_COUNT(all); k++)
        for (unsigned mask = 1; mask < 8; mask++)
            for (int64_t size = 1; size < 4; size++)
                check_selecting(s, &all[k], mask, size);
}

static void check_seeds(uint64_t first, int64_t count, int threads) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(rt);
    count = pt_series(count);
    first = pt_series_first(first);
    for (uint64_t seed = first; seed < first + (uint64_t)count; seed++) {
        if (is_right(s, seed, BATCHED_STEPS, false))
            continue;
        int steps = 0; /* the least number that fails */
        while (steps < BATCHED_STEPS && is_right(s, seed, steps, false))
            steps++;
        is_right(s, seed, steps, true);
        cr_assert(false, "seed %llu", (unsigned long long)seed);
    }
    pith_scope_close(s);
    pith_close(rt);
}

Test(vmap_derive, one_thread, .timeout = 600) {
    check_seeds(0, 150, 1);
}

Test(vmap_derive, two_threads, .timeout = 600) {
    check_seeds(10000, 100, 2);
}
