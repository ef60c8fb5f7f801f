/* Batches of random functions, with control flow, kernels and checks: each entry has the
 * bits of the function alone, and a check fails in the batch if it fails for an entry;
 * with arguments mapped along any axis or shared, in chunks, and in batches of batches.
 */
#include "random_function.h"

enum { MOST_ENTRIES = 4, LINES = 400, LINE = 96 };

/* A batch of a function, and how its arguments are mapped. */
typedef struct {
    const recipe *r;
    const pith_function *f;
    int64_t size, chunk;
    int count, axes[RECIPE_MOST]; /* of inputs; PITH_NOT_MAPPED: shared */
    char paths[RECIPE_MOST][24];
    pith_mapped in[RECIPE_MOST + 1];
    const char *wrong; /* way */
} batch;

static uint64_t drawn(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Axes of inputs of which at least one is mapped; false: there is none. */
static bool choose(batch *b, uint64_t seed) {
    uint64_t state = seed;
    bool any = false;
    b->size = (int64_t)(drawn(&state) % MOST_ENTRIES);
    b->size += b->size == 0 && drawn(&state) % 4;
    b->chunk = (int64_t)(drawn(&state) % 4);
    for (int k = 0; k < b->r->count; k++) {
        const ingredient *x = &b->r->list[k];
        if (x->kind != RECIPE_INPUT)
            continue;
        const bool mapped = x->spec->rank < PITH_MAX_RANK && drawn(&state) % 3;
        int *axis = &b->axes[b->count];
        *axis = mapped ? (int)(drawn(&state) % ((uint64_t)x->spec->rank + 1))
                       : PITH_NOT_MAPPED;
        snprintf(b->paths[b->count], sizeof b->paths[0], "[0].inputs[%d]", b->count);
        b->in[b->count] = (pith_mapped){b->paths[b->count], *axis};
        any |= mapped;
        b->count++;
    }
    b->in[b->count] = (pith_mapped){NULL, 0};
    return any;
}

/* The input of an entry: elements in another order. */
static const pith_array *input_of(pith_scope *s, const pith_array *a, int64_t entry) {
    const pith_spec *spec = pith_array_spec(a);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, (size_t)spec->rank * sizeof *shape.extents);
    const pith_array *flat = pith_reshape(s, a, PITH_SHAPE(spec->count));
    return pith_reshape(s, spec->count ? pith_roll(s, flat, entry, 0) : flat, shape);
}

/* The arguments of entry i; -1: those of all. */
static const Arguments *arguments_of(pith_scope *s, const batch *b, int64_t i) {
    const Arguments *base = random_arguments(s, b->r, 0);
    const void *inputs[RECIPE_MOST];
    for (int k = 0; k < b->count; k++) {
        const pith_array *a = pith_child(base->inputs, k), *each[MOST_ENTRIES];
        inputs[k] = a;
        if (b->axes[k] == PITH_NOT_MAPPED)
            continue;
        for (int64_t e = 0; e < MOST_ENTRIES; e++)
            each[e] = input_of(s, a, e);
        const pith_array *all = pith_stack(s, MOST_ENTRIES, each, b->axes[k]);
        pith_slice cut[PITH_MAX_RANK];
        for (int d = 0; d <= b->axes[k]; d++)
            cut[d] = PITH_SLICE(0, d == b->axes[k] ? b->size : INT64_MAX, 1);
        inputs[k] = i >= 0 ? each[i] : pith_slice_array(s, all, b->axes[k] + 1, cut);
    }
    const Arguments a = {.inputs = pith_list_make(s, b->count, inputs)};
    return pith_freeze(s, Arguments, &a);
}

static const pith_function *mapped(pith_scope *s, const batch *b) {
    return pith_vmap(
        s, b->f, &(pith_vmap_options){.in = b->in, .size = b->size, .chunk = b->chunk});
}

static bool same_bits(pith_scope *s, const pith_array *a, const pith_array *b) {
    const pith_spec *x = pith_array_spec(a);
    pt_ok(s, x);
    if (x != pith_array_spec(b))
        return false;
    char *got = malloc(2 * x->bytes + 16);
    pith_read(s, a, got, x->bytes);
    pith_read(s, b, got + x->bytes + 8, x->bytes);
    pt_ok(s);
    const bool same = recipe_same(x, got, got + x->bytes + 8);
    free(got);
    return same;
}

/* The checks that failed, by the place that their messages name; of reports there is no
 * such text, and they are counted as one. */
typedef struct {
    int count;
    char line[LINES][LINE];
} failures;

static void add_failures(pith_scope *s, const pith_result *r, failures *f) {
    for (int64_t k = 0; k < pith_result_failed(s, r); k++) {
        const pith_assertion *a = pith_result_get_failed(s, r, k);
        const char *where = pith_assertion_info(a, "where");
        int at = 0;
        while (at < f->count && strcmp(f->line[at], where ? where : "report"))
            at++;
        if (at < f->count)
            continue;
        cr_assert(f->count < LINES);
        snprintf(f->line[f->count++], LINE, "%s", where ? where : "report");
    }
}

static bool same_failures(const failures *a, const failures *b) {
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++) {
        bool found = false;
        for (int k = 0; k < b->count; k++)
            found |= !strcmp(a->line[i], b->line[k]);
        same = found;
    }
    return same;
}

static int64_t passing, failing;

static bool differs_from_calls(pith_scope *s, batch *b, const pith_function *all) {
    static failures of_batch, of_entries;
    of_batch.count = of_entries.count = 0;
    const pith_result *batched =
        pith_as_result(s, all, PITH_ITEMS(arguments_of(s, b, -1)));
    pt_ok(s, batched);
    add_failures(s, batched, &of_batch);
    const pith_function *alone = pith_jit(s, b->f, NULL);
    for (int64_t i = 0; i < b->size; i++) {
        const pith_result *one =
            pith_as_result(s, alone, PITH_ITEMS(arguments_of(s, b, i)));
        pt_ok(s, one);
        add_failures(s, one, &of_entries);
        for (int k = 0; k < b->r->output_count; k++) {
            const pith_array *result = pith_child(pith_result_value(batched), k);
            if (!same_bits(s, pith_take(s, result, pith_i64(s, i), NULL),
                           pith_child(pith_result_value(one), k)))
                return true;
        }
    }
    *(of_entries.count ? &failing : &passing) += 1;
    b->wrong = "checks of a batch";
    return !same_failures(&of_batch, &of_entries);
}

/* Of two batches the first is as the batch alone. */
static bool differs_in_batch(pith_scope *s, const batch *b, const pith_function *all) {
    const Arguments *a = arguments_of(s, b, -1);
    const void *inputs[RECIPE_MOST];
    for (int k = 0; k < b->count; k++) {
        const pith_array *x = pith_child(a->inputs, k), *two[] = {x, input_of(s, x, 1)};
        inputs[k] = pith_stack(s, 2, two, 0);
    }
    const Arguments both = {.inputs = pith_list_make(s, b->count, inputs)};
    const pith_result *got = pith_as_result(s, pith_vmap(s, all, NULL),
                                            PITH_ITEMS(pith_freeze(s, Arguments, &both))),
                      *first = pith_as_result(s, all, PITH_ITEMS(a));
    pt_ok(s, got && first);
    for (int k = 0; k < b->r->output_count; k++) {
        const pith_array *result = pith_child(pith_result_value(got), k);
        if (!same_bits(s, pith_take(s, result, pith_i64(s, 0), NULL),
                       pith_child(pith_result_value(first), k)))
            return true;
    }
    return false;
}

static const char *wrong;

static bool differs(const recipe *r, void *number) {
    const random_part f = random_part_of("random", random_whole, r, NULL);
    static batch b;
    memset(&b, 0, sizeof b);
    b.r = r;
    b.f = &f.function;
    bool any = false;
    for (int k = 0; k < r->output_count; k++) /* a result has one axis more, or two */
        if (r->list[r->outputs[k]].spec->rank > PITH_MAX_RANK - 2)
            return false;
    if (choose(&b, (uint64_t) * (int64_t *)number)) {
        pith_scope *s = pith_scope_open_in(r->s);
        const pith_function *all = mapped(s, &b);
        b.wrong = "a batch";
        any = differs_from_calls(s, &b, all);
        if (!any) {
            b.wrong = "a batch of batches";
            any = differs_in_batch(s, &b, all);
        }
        wrong = b.wrong;
        pith_scope_close(s);
    }
    pith_jit_clear(r->s->runtime); /* the function's address is another's soon */
    return any;
}

static void random_batches(int64_t first, int64_t count) {
    const random_test test = {3000000, differs, &wrong};
    random_run(&test, first, count);
    cr_assert(count < 100 || (passing > count / 4 && failing > count / 8), "%d, %d",
              (int)passing, (int)failing);
}

Test(vmap_functions, batches_are_calls_interpreted, .timeout = 600) {
    setenv("PITH_JIT", "off", 1);
    random_batches(0, pt_series(600));
}

Test(vmap_functions, batches_are_calls_compiled, .timeout = 600) {
    random_compiles();
    random_batches(600, pt_series(600) / 20);
}
