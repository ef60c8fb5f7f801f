/* Batches of every row of the primitive table with every dtype that it takes: an entry
 * has the bits of the call alone (products: within their bound), whichever operands are
 * mapped. */
#include "program/vmap/vmap.h"
#include "row_cases.h"
#include "series.h"

#include <math.h>

enum { CASES = 400, OPERANDS = 4 };

/* ---- Calls ---- */

typedef struct one_call {
    pithp_primitive primitive;
    int count;
    const pith_spec *specs[OPERANDS];
    _Alignas(16) char params[512];
} one_call;

typedef struct calls {
    int count;
    one_call list[CASES];
} calls;

static void collect(const operands *o, const pithp_call *call, const pithp_value *in) {
    calls *all = o->closure;
    one_call *c = &all->list[all->count++];
    cr_assert(all->count <= CASES && pithp_params_bytes(call->primitive) <= 512);
    *c = (one_call){call->primitive, call->operand_count, {NULL}, {0}};
    for (int k = 0; k < c->count; k++)
        c->specs[k] = pithp_value_spec(o->b->p, in[k]);
    if (pithp_params_bytes(call->primitive))
        pithp_params_copy(call, c->params);
}

/* Of one primitive, with its cases beside those of every row's test. */
static const pith_spec *
spec3(pith_scope *s, pith_dtype dtype, int rank, int64_t a, int64_t b, int64_t c) {
    return pithp_spec(s, dtype, rank, (const int64_t[]){a, b, c});
}

static void put(calls *all,
                pithp_primitive primitive,
                const void *params,
                size_t bytes,
                int count,
                const pith_spec *const *specs) {
    pith_spec result;
    pithp_refusal refusal;
    const pithp_call call = pithp_call_of(primitive, count, specs, params);
    if (pithp_infer(&call, &result, &refusal) != PITH_OK)
        return;
    one_call *c = &all->list[all->count++];
    cr_assert(all->count <= CASES);
    *c = (one_call){primitive, count, {NULL}, {0}};
    memcpy(c->specs, specs, (size_t)count * sizeof *specs);
    if (bytes)
        memcpy(c->params, params, bytes);
}
#define PUT(all, primitive, params, ...)                                                 \
    put(all, primitive, &(params), sizeof(params),                                       \
        (int)(sizeof((const pith_spec *[]){__VA_ARGS__}) / sizeof(const pith_spec *)),   \
        (const pith_spec *[]){__VA_ARGS__})
#define PUT_PLAIN(all, primitive, ...)                                                   \
    put(all, primitive, NULL, 0,                                                         \
        (int)(sizeof((const pith_spec *[]){__VA_ARGS__}) / sizeof(const pith_spec *)),   \
        (const pith_spec *[]){__VA_ARGS__})

/* Two index arrays, an axis in the middle, narrow and unsigned indices, every mode. */
static void add_indexed(calls *all, pith_scope *s, pith_dtype dtype) {
    static const pith_dtype of[] = {PITH_I8, PITH_U8, PITH_I64, PITH_U64, PITH_I32};
    const pith_spec *cube = spec3(s, dtype, 3, 3, 5, 4);
    for (int k = 0; k < PITHP_INDEX_ERROR; k++) {
        const pithp_index_params two = {.axis = k % 2,
                                        .mode = (pithp_index_mode)k,
                                        .fill = 1},
                                 one = {.axis = 1,
                                        .mode = (pithp_index_mode)k,
                                        .no_negative = k % 2};
        const pith_spec *index = spec3(s, of[k], 1, 6, 0, 0),
                        *updates = spec3(s, dtype, 2, k % 2 ? 3 : 6, k % 2 ? 6 : 4, 0),
                        *grid = spec3(s, of[4 - k], 2, 2, 2, 0);
        PUT(all, PITHP_OP_TAKE, two, cube, index, index);
        PUT(all, PITHP_OP_TAKE, one, cube, grid);
        PUT(all, PITHP_OP_SCATTER_SET, two, cube, index, index, updates);
        PUT(all, PITHP_OP_SCATTER_ADD, two, cube, index, index, updates);
        PUT(all, PITHP_OP_SCATTER_ADD, one, cube, grid,
            pithp_spec(s, dtype, 4, (const int64_t[]){3, 2, 2, 4}));
        PUT(all, PITHP_OP_SCATTER_MUL, one, cube, grid,
            pithp_spec(s, dtype, 4, (const int64_t[]){3, 2, 2, 4}));
    }
}

/* Rows that take leading axes, with some and without. */
static void add_leading(calls *all, pith_scope *s, pith_dtype dtype) {
    const pith_spec *vector = spec3(s, dtype, 1, 9, 0, 0),
                    *rows = spec3(s, dtype, 2, 2, 9, 0),
                    *cube = spec3(s, dtype, 3, 2, 3, 4),
                    *number = spec3(s, dtype, 0, 0, 0, 0);
    for (int right = 0; right < 2; right++) {
        const pithp_search_params p = {right};
        PUT(all, PITHP_OP_SEARCH_SORTED, p, vector, number);
        PUT(all, PITHP_OP_SEARCH_SORTED, p, vector, cube);
        PUT(all, PITHP_OP_SEARCH_SORTED, p, rows, cube);
        PUT(all, PITHP_OP_SEARCH_SORTED, p, rows, spec3(s, dtype, 1, 2, 0, 0));
    }
    const pithp_dynamic_params flat = {{2, 2, 3}}, led = {{2, 2, 3}}, one = {{1, 3}},
                               none = {{0}};
    const pith_spec *starts = spec3(s, PITH_I64, 1, 3, 0, 0),
                    *two = spec3(s, PITH_I8, 2, 2, 2, 0),
                    *unsigned_starts = spec3(s, PITH_U64, 2, 2, 2, 0);
    PUT(all, PITHP_OP_DYNAMIC_SLICE, flat, cube, starts);
    PUT(all, PITHP_OP_DYNAMIC_SLICE, led, cube, two);
    PUT(all, PITHP_OP_DYNAMIC_SLICE, led, cube, unsigned_starts);
    PUT(all, PITHP_OP_DYNAMIC_SLICE, one, spec3(s, dtype, 2, 3, 4, 0), two);
    PUT(all, PITHP_OP_DYNAMIC_SLICE, none, number, spec3(s, PITH_I32, 1, 0, 0, 0));
    PUT_PLAIN(all, PITHP_OP_DYNAMIC_UPDATE_SLICE, cube, spec3(s, dtype, 3, 2, 2, 3),
              starts);
    PUT_PLAIN(all, PITHP_OP_DYNAMIC_UPDATE_SLICE, cube, spec3(s, dtype, 3, 2, 2, 3), two);
    PUT_PLAIN(all, PITHP_OP_DYNAMIC_UPDATE_SLICE, cube, spec3(s, dtype, 3, 2, 0, 3), two);
    PUT_PLAIN(all, PITHP_OP_DYNAMIC_UPDATE_SLICE, number, number,
              spec3(s, PITH_I32, 1, 0, 0, 0));
    if (dtype != PITH_U32)
        return;
    const pith_spec *key = spec3(s, dtype, 1, 2, 0, 0),
                    *keys = spec3(s, dtype, 2, 3, 2, 0);
    PUT_PLAIN(all, PITHP_OP_THREEFRY, key, keys);
    PUT_PLAIN(all, PITHP_OP_THREEFRY, keys, keys);
    PUT_PLAIN(all, PITHP_OP_FOLD_IN, key, spec3(s, dtype, 2, 3, 2, 0));
    PUT_PLAIN(all, PITHP_OP_FOLD_IN, keys, spec3(s, dtype, 1, 3, 0, 0));
}

/* Products with batches of both, extents that repeat, and free dimensions on both sides.
 */
static void add_products(calls *all, pith_scope *s, pith_dtype dtype) {
    const pith_spec *cube = spec3(s, dtype, 3, 3, 5, 4),
                    *one = spec3(s, dtype, 3, 1, 4, 2);
    const pithp_dot_params batched = {1, 1, {{2}, {1}}, {{0}, {0}}},
                           plain = {.contracts = 1, .contract = {{1}, {1}}},
                           outer = {.contracts = 0};
    PUT(all, PITHP_OP_DOT_GENERAL, batched, cube, one);
    PUT(all, PITHP_OP_DOT_GENERAL, plain, cube, spec3(s, dtype, 2, 2, 5, 0));
    PUT(all, PITHP_OP_DOT_GENERAL, outer, spec3(s, dtype, 1, 3, 0, 0),
        spec3(s, dtype, 1, 2, 0, 0));
}

/* A value of the entries' own in the padding; cut, too. */
static void add_pads(calls *all, pith_scope *s, pith_dtype dtype) {
    const pithp_pad_params p = {{1, -1}, {0, 2}, {2, 0}};
    PUT(all, PITHP_OP_PAD, p, spec3(s, dtype, 2, 3, 4, 0), spec3(s, dtype, 0, 0, 0, 0));
}

/* ---- Batches of them ---- */

typedef struct batch {
    bench *b;
    const calls *calls;
    int64_t size;
    pithp_program *p, *q; /* all calls, and the batch */
    bool *mapped;         /* of each input */
    void **entries;       /* of each input: its elements in each entry */
    const void **inputs;  /* of a run */
} batch;

/* Bits that say which operands are mapped; at least one is. */
static bool is_mapped(const one_call *c, unsigned mask, int k) {
    const unsigned some = mask & ((1u << c->count) - 1);
    return some ? some >> k & 1 : true;
}

static void build(batch *x, unsigned mask) {
    pith_scope *s = x->b->s;
    int64_t input = 0;
    x->p = pithp_program_make(s);
    for (int n = 0; n < x->calls->count; n++)
        for (int k = 0; k < x->calls->list[n].count; k++) {
            pithp_program_input(s, x->p, x->calls->list[n].specs[k]);
            x->mapped[input++] = is_mapped(&x->calls->list[n], mask, k);
        }
    for (int n = 0, at = 0; n < x->calls->count; n++) {
        const one_call *c = &x->calls->list[n];
        pithp_value in[OPERANDS];
        for (int k = 0; k < c->count; k++)
            in[k] = at++;
        const pithp_value v =
            pithp_program_add(s, x->p, c->primitive, c->count, in, c->params, "case:1");
        pt_ok(s, v >= 0);
        pithp_program_output(s, x->p, v);
    }
}

static void *memory(size_t bytes) {
    void *m = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
    memset(m, 0xA5, bytes);
    return m;
}

/* Products of numbers that leave no doubt about rounding. */
static void fill_input(recipe *r, const pith_spec *spec, pithp_primitive op, char *to) {
    recipe_fill(r, spec, to);
    if (op != PITHP_OP_DOT_GENERAL || !pith_dtype_is_float(spec->dtype))
        return;
    for (int64_t i = 0; i < spec->count; i++) {
        uint64_t bits = 0;
        pithp_dtype_encode(spec->dtype, (double)recipe_random(r, 2001) / 1000 - 1, &bits);
        memcpy(to + (size_t)i * pith_dtype_size(spec->dtype), &bits,
               pith_dtype_size(spec->dtype));
    }
}

static void fill_all(batch *x, uint64_t seed) {
    recipe r = {.s = x->b->s, .state = seed};
    for (int n = 0, at = 0; n < x->calls->count; n++)
        for (int k = 0; k < x->calls->list[n].count; k++, at++) {
            const pith_spec *spec = x->calls->list[n].specs[k];
            const int64_t count = x->mapped[at] ? x->size : 1;
            x->entries[at] = memory(spec->bytes * (size_t)count);
            for (int64_t e = 0; e < count; e++)
                fill_input(&r, spec, x->calls->list[n].primitive,
                           (char *)x->entries[at] + (size_t)e * spec->bytes);
        }
}

static bool is_close(const pith_spec *spec, const char *a, const char *b) {
    static const double eps[PITH_DTYPE_COUNT] = {[PITH_F16] = 0x1p-10,
                                                 [PITH_BF16] = 0x1p-7,
                                                 [PITH_F32] = 0x1p-23,
                                                 [PITH_F64] = 0x1p-52};
    const size_t size = pith_dtype_size(spec->dtype);
    for (size_t at = 0; at < spec->bytes; at += size)
        if (fabs(pithp_dtype_decode(spec->dtype, a + at) -
                 pithp_dtype_decode(spec->dtype, b + at)) > 80 * eps[spec->dtype])
            return false;
    return true;
}

static void expect_entry(const batch *x,
                         int n,
                         int64_t e,
                         const char *how,
                         const char *got,
                         const char *want) {
    const pith_spec *spec = pithp_value_spec(x->p, x->p->outputs[n]);
    const one_call *c = &x->calls->list[n];
    const bool close =
        c->primitive == PITHP_OP_DOT_GENERAL && pith_dtype_is_float(spec->dtype);
    char text[PITHP_SPEC_TEXT_BYTES];
    int64_t first = 0;
    for (int k = 0; k < n; k++)
        first += x->calls->list[k].count;
    cr_assert(close ? is_close(spec, got, want) : recipe_same(spec, got, want),
              "%s, %s of %s (call %d), mapped %d%d%d, entry %lld of %lld", how,
              pithp_ops[c->primitive].name, pithp_spec_print(c->specs[0], text), n,
              x->mapped[first], c->count > 1 && x->mapped[first + 1],
              c->count > 2 && x->mapped[first + 2], (long long)e, (long long)x->size);
}

static void **outputs_of(const pithp_program *p) {
    void **to = calloc((size_t)p->output_count + 1, sizeof *to);
    for (int64_t k = 0; k < p->output_count; k++)
        to[k] = memory(pithp_value_spec(p, p->outputs[k])->bytes);
    return to;
}

static void free_outputs(const pithp_program *p, void **to) {
    for (int64_t k = 0; k < p->output_count; k++)
        free(to[k]);
    free(to);
}

static void run_into(const batch *x, pithp_executable *exe, void **to) {
    pithp_executable_run(x->b->s, exe, x->inputs, to);
    pt_ok(x->b->s);
    pith_wait(x->b->s);
}

/* The batch beside one run of the calls for each entry. */
static void compare(batch *x, const char *how, bool compiled) {
    setenv("PITH_JIT", "off", 1);
    pithp_executable *one = pithp_executable_make(x->b->s, x->p, false);
    setenv("PITH_JIT", compiled ? "wait" : "off", 1);
    pithp_executable *all = pithp_executable_make(x->b->s, x->q, true);
    pt_ok(x->b->s, one && all);
    void **want = outputs_of(x->p), **got = outputs_of(x->q);
    const char *made[CASES];
    for (int64_t k = 0; k < x->p->input_count; k++)
        x->inputs[k] = x->entries[k];
    run_into(x, all, got);
    cr_assert(!compiled || all->code, "not compiled: %s", said);
    for (int n = 0; n < x->calls->count; n++)
        made[n] = graph_output(all->plan, n, x->inputs, got);
    for (int64_t e = 0; e < x->size; e++) {
        for (int64_t k = 0; k < x->p->input_count; k++)
            x->inputs[k] = (char *)x->entries[k] +
                           (x->mapped[k] ? (size_t)e : 0) *
                               pithp_value_spec(x->p, x->p->inputs[k])->bytes;
        run_into(x, one, want);
        for (int n = 0; n < x->calls->count; n++) {
            const bool once = x->calls->list[n].count == 0;
            const size_t bytes = pithp_value_spec(x->p, x->p->outputs[n])->bytes;
            expect_entry(x, n, e, how, made[n] + (once ? 0 : (size_t)e) * bytes,
                         graph_output(one->plan, n, x->inputs, want));
        }
    }
    free_outputs(x->p, want);
    free_outputs(x->q, got);
    pithp_executable_free(one);
    pithp_executable_free(all);
}

static void expect_specs(const batch *x, const bool *batched) {
    for (int n = 0; n < x->calls->count; n++) {
        const pith_spec *own = pithp_value_spec(x->p, x->p->outputs[n]),
                        *got = pithp_value_spec(x->q, x->q->outputs[n]);
        cr_assert(batched[n] == (x->calls->list[n].count > 0));
        cr_assert(got->rank == own->rank + batched[n] && got->dtype == own->dtype);
        cr_assert(!batched[n] || got->shape[0] == x->size);
        cr_assert(!memcmp(got->shape + batched[n], own->shape,
                          (size_t)own->rank * sizeof *own->shape));
    }
}

static void check(bench *b, const calls *of, unsigned mask, int64_t size, bool compiled) {
    bool batched[CASES];
    batch x = {.b = b, .calls = of, .size = size};
    x.mapped = calloc(CASES * OPERANDS, sizeof *x.mapped);
    x.entries = calloc(CASES * OPERANDS, sizeof *x.entries);
    x.inputs = calloc(CASES * OPERANDS, sizeof *x.inputs);
    build(&x, mask);
    fill_all(&x, 7 + mask);
    x.q = pithp_program_vmap(b->s, x.p, size, x.mapped, NULL, batched);
    pt_ok(b->s, x.q);
    expect_specs(&x, batched);
    compare(&x, compiled ? "compiled" : "interpreted", compiled);
    for (int64_t k = 0; k < x.p->input_count; k++)
        free(x.entries[k]);
    free(x.mapped);
    free(x.entries);
    free(x.inputs);
    pithp_program_release(x.p);
    pithp_program_release(x.q);
}

/* ---- All rows ---- */

static void collect_rows(bench *b, calls *all, pith_dtype dtype, int first, int last) {
    operands o;
    open_operands(&o, b, dtype);
    o.take = collect;
    o.closure = all;
    for (int p = first; p < last; p++)
        cases(&o, (pithp_primitive)p);
    close_operands(&o);
    if (last == PITHP_ELEMENTWISE_COUNT)
        return;
    add_indexed(all, b->s, dtype);
    add_leading(all, b->s, dtype);
    add_products(all, b->s, dtype);
    add_pads(all, b->s, dtype);
}

static void every_row(int first, int last) {
    static calls all;
    use_cache();
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++) {
        bench b = begin();
        all.count = 0;
        collect_rows(&b, &all, (pith_dtype)d, first, last);
        for (unsigned mask = 1; mask < 16; mask++)
            for (int64_t size = 0; size < 4; size += 1 + (size == 1))
                if (pt_in_share(d + (int64_t)mask + size))
                    check(&b, &all, mask, size, false);
        check(&b, &all, 1 + (unsigned)d, 3, true);
        end(&b);
    }
}

Test(vmap_rows, elementwise, .timeout = 600) {
    every_row(0, PITHP_ELEMENTWISE_COUNT);
}

Test(vmap_rows, that_move_and_combine, .timeout = 600) {
    every_row(PITHP_ELEMENTWISE_COUNT, PITHP_LOWERED_COUNT);
}
