/* Random programs of every row and dtype: each entry of a batch has the bits of a run of
 * its own, interpreted and compiled, on one thread and on two. A batch of batches of one
 * size has them too. PITH_TEST_PROGRAMS and PITH_TEST_FIRST choose how many, and from
 * which seed on. */
#include "emit_test.h"
#include "program/pass/pass.h"
#include "program/vmap/vmap.h"
#include "random_file.h"

enum { SIZE = 3, MOST_ENTRIES = SIZE * SIZE };

typedef struct batch {
    const recipe *r;
    pithp_program *p;
    int64_t size, entries; /* of a level; entries of all levels */
    int input_count;
    unsigned mapped[2];    /* inputs of a level, inner and outer one */
    void *in[RECIPE_MOST]; /* of all entries */
} batch;

/* ---- Inputs ---- */

static int64_t copies_of(const batch *x, int k, int levels) {
    int64_t n = 1;
    for (int level = 0; level < levels; level++)
        n *= x->mapped[level] >> k & 1 ? x->size : 1;
    return n;
}

/* Where an entry's input is: entries are numbered from the outer level to the inner one.
 */
static size_t offset_of(const batch *x, int k, int64_t entry, int levels) {
    int64_t at = 0;
    for (int level = levels - 1; level >= 0; level--) {
        const int64_t number = level ? entry / x->size : entry % x->size;
        if (x->mapped[level] >> k & 1)
            at = at * x->size + number;
    }
    return (size_t)at * pithp_value_spec(x->p, x->p->inputs[k])->bytes;
}

/* Other numbers for floats. Promises about integers hold after they are turned round. */
static void
fill_copy(recipe *random, const pith_spec *spec, const char *own, int64_t n, char *to) {
    const size_t size = pith_dtype_size(spec->dtype);
    memcpy(to, own, spec->bytes);
    if (n && pith_dtype_is_float(spec->dtype))
        recipe_fill(random, spec, to);
    else if (spec->count && spec->dtype == PITH_BOOL)
        for (int64_t i = 0; i < spec->count; i++)
            memcpy(to + (size_t)i * size, own + (size_t)((i + n) % spec->count) * size,
                   size);
    else if (spec->dtype == PITH_U32 && n) /* keys */
        recipe_fill(random, spec, to);
}

static void make_inputs(batch *x, int levels, uint64_t seed) {
    const void *own[RECIPE_MOST];
    recipe random = {.s = x->r->s, .state = seed};
    recipe_inputs(x->r, own);
    for (int k = 0; k < x->input_count; k++) {
        const pith_spec *spec = pithp_value_spec(x->p, x->p->inputs[k]);
        const int64_t count = copies_of(x, k, levels);
        x->in[k] = aligned_alloc(256, (spec->bytes * (size_t)count + 511) & ~(size_t)255);
        for (int64_t n = 0; n < count; n++)
            fill_copy(&random, spec, own[k], n,
                      (char *)x->in[k] + (size_t)n * spec->bytes);
    }
}

/* ---- Runs ---- */

static pithp_executable *
executable_of(pith_scope *s, const pithp_program *p, bool compiled) {
    pithp_program *better = pithp_program_optimise(s, p, PITHP_PASS_RUN);
    setenv("PITH_JIT", compiled ? "wait" : "off", 1);
    pithp_executable *exe = better ? pithp_executable_make(s, better, true) : NULL;
    pt_ok(s, exe);
    pithp_program_release(better);
    return exe;
}

static void **memory_for(const pithp_program *p) {
    void **to = calloc((size_t)p->output_count, sizeof *to);
    for (int64_t k = 0; k < p->output_count; k++)
        to[k] = aligned_alloc(256, (pithp_value_spec(p, p->outputs[k])->bytes + 511) &
                                       ~(size_t)255);
    return to;
}

static void free_memory(const pithp_program *p, void **to) {
    for (int64_t k = 0; k < p->output_count; k++)
        free(to[k]);
    free(to);
}

static void
run_at(pith_scope *s, pithp_executable *exe, const void *const *in, void **to) {
    pithp_executable_run(s, exe, in, to);
    pt_ok(s);
    pith_wait(s);
}

/* Where an entry's output is; a level without it has it once. */
static const char *output_at(const batch *x,
                             const char *all,
                             const pith_spec *spec,
                             int64_t entry,
                             int levels,
                             const bool (*batched)[RECIPE_MOST],
                             int k) {
    int64_t at = 0;
    for (int level = levels - 1; level >= 0; level--)
        if (batched[level][k])
            at = at * x->size + (level ? entry / x->size : entry % x->size);
    return all + (size_t)at * spec->bytes;
}

static bool differs_in(const batch *x,
                       const pithp_program *q,
                       int levels,
                       const bool (*batched)[RECIPE_MOST],
                       bool compiled) {
    pith_scope *s = x->r->s;
    pithp_executable *one = executable_of(s, x->p, false),
                     *all = executable_of(s, q, compiled);
    void **want = memory_for(x->p), **got = memory_for(q);
    const void *in[RECIPE_MOST];
    bool wrong = false;
    run_at(s, all, (const void *const *)x->in, got);
    for (int64_t e = 0; e < x->entries && !wrong; e++) {
        for (int k = 0; k < x->input_count; k++)
            in[k] = (const char *)x->in[k] + offset_of(x, k, e, levels);
        run_at(s, one, in, want);
        for (int k = 0; k < x->r->output_count; k++) {
            const pith_spec *spec = pithp_value_spec(x->p, x->p->outputs[k]);
            const char *whole =
                graph_output(all->plan, k, (const void *const *)x->in, got);
            wrong |= !recipe_same(spec, output_at(x, whole, spec, e, levels, batched, k),
                                  graph_output(one->plan, k, in, want));
        }
    }
    free_memory(x->p, want);
    free_memory(q, got);
    pithp_executable_free(one);
    pithp_executable_free(all);
    return wrong;
}

/* ---- Programs ---- */

typedef struct way {
    uint64_t seed; /* of what is mapped, and of the numbers */
    int levels;
    bool compiled;
} way;

static pithp_program *
batch_levels(const batch *x, int levels, bool (*batched)[RECIPE_MOST]) {
    pithp_program *q = x->p;
    pithp_program_retain(q);
    for (int level = 0; level < levels && q; level++) {
        bool mapped[RECIPE_MOST];
        for (int k = 0; k < x->input_count; k++)
            mapped[k] = x->mapped[level] >> k & 1;
        const pithp_vmap_options o = {.steps = 1 + (int)((x->size + 1) % 3)};
        pithp_program *next =
            pithp_program_vmap(x->r->s, q, x->size, mapped, &o, batched[level]);
        pithp_program_release(q);
        q = next;
    }
    return q;
}

static bool differs(const recipe *r, void *closure) {
    const way *w = closure;
    recipe random = {.state = w->seed};
    bool batched[2][RECIPE_MOST];
    batch x = {.r = r, .p = recipe_program(r)};
    x.input_count = (int)x.p->input_count;
    x.size = w->levels == 2 ? SIZE : (int64_t)recipe_random(&random, SIZE + 1);
    x.entries = w->levels == 2 ? MOST_ENTRIES : x.size;
    for (int level = 0; level < 2; level++)
        x.mapped[level] = (unsigned)recipe_random(&random, 1u << 31) | 1u << level;
    pithp_program *q = batch_levels(&x, w->levels, batched);
    if (!q && pith_code(r->s) == PITH_E_SHAPE) { /* of rank 8, and an axis more */
        pith_clear(r->s);
        pithp_program_release(x.p);
        return false;
    }
    pt_ok(r->s, q);
    make_inputs(&x, w->levels, w->seed + 1);
    const bool wrong =
        differs_in(&x, q, w->levels, (const bool(*)[RECIPE_MOST])batched, w->compiled);
    for (int k = 0; k < x.input_count; k++)
        free(x.in[k]);
    pithp_program_release(x.p);
    pithp_program_release(q);
    return wrong;
}

static void check_programs(int threads, uint64_t first, int64_t count, way w) {
    use_cache();
    for (int64_t k = 0; k < count; k++) {
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = threads});
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make_for(s, first + (uint64_t)k, 4 + (int)(k % 40),
                                    (recipe_options){.device = true});
        w.seed = first + (uint64_t)k;
        if (differs(r, &w)) {
            recipe_shrink(r, differs, &w);
            recipe_fail(r, w.compiled ? "batched and compiled" : "batched");
        }
        recipe_free(r);
        pith_scope_close(s);
        pith_close(rt);
    }
}

Test(vmap_random, interpreted, .timeout = 900) {
    check_programs(1, pt_series_first(100), pt_series(300), (way){.levels = 1});
}

Test(vmap_random, batches_of_batches, .timeout = 900) {
    check_programs(1, pt_series_first(5000), pt_series(150), (way){.levels = 2});
}

Test(vmap_random, on_two_threads, .timeout = 900) {
    check_programs(2, pt_series_first(9000), pt_series(150), (way){.levels = 1});
}

Test(vmap_random, compiled, .timeout = 900) {
    setenv("PITH_CC", PITH_TEST_SOURCE "/cc_quick", 1);
    check_programs(2, pt_series_first(20000), pt_series(300) / 10,
                   (way){.levels = 1, .compiled = true});
}
