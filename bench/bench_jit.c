/* Compiled steps: host work of a call by number of leaves, the first result after a
 * change of a static or its reversal, loops in a program, and an optimiser over many
 * leaves. The peer "eager" calls the same function uncompiled; "c" is a plain loop over
 * plain arrays. Rows: jit/... */
#include "bench.h"

#include <math.h>

enum { LEAF = 64, MOST = 1000, TIMES = 1000, PLAIN = 7 };

typedef struct {
    const void *params, *mean, *variance, *gradient; /* trees of one structure */
    const pith_array *step;
    int64_t tag; /* changes only the structure */
} Adam;
PITH_NODE(Adam,
          PITH_TREE(params),
          PITH_TREE(mean),
          PITH_TREE(variance),
          PITH_TREE(gradient),
          PITH_LEAF(step, "f32"),
          PITH_STATIC(tag))

typedef struct {
    const pith_array *x, *y;
    int64_t tag;
} Pair;
PITH_NODE(Pair, PITH_LEAF(x, "f32[n]"), PITH_LEAF(y, "f32[n]"), PITH_STATIC(tag))

/* ---- Steps ---- */

static const pith_array *
plus_one(pith_scope *s, const pith_array *const *leaves, void *closure) {
    (void)closure;
    return pith_add(s, leaves[0], pith_f32(s, 1));
}
static const void *add_one(pith_scope *s, const void *tree) {
    return pith_tree_map(s, plus_one, NULL, 1, &tree, NULL);
}
PITH_FUNCTION1(add_one_step, add_one, void, void)

static const Pair *ten(pith_scope *s, const Pair *in) {
    Pair next = *in;
    for (int i = 0; i < 5; i++) {
        next.x = pith_add(s, pith_mul(s, next.x, next.y), pith_f32(s, 0.5f));
        next.y = pith_sub(s, next.y, pith_f32(s, 0.25f));
    }
    return pith_freeze(s, Pair, &next);
}
PITH_FUNCTION1(ten_step, ten, Pair, Pair)

/* A hundred calls of that, which do not see the tag. */
static const pith_function *called;
static const Pair *hundred(pith_scope *s, const Pair *in) {
    Pair next = {.x = in->x, .y = in->y};
    const Pair *state = pith_freeze(s, Pair, &next);
    for (int i = 0; i < 100; i++)
        state = pith_apply(s, called, state);
    next = *state;
    next.tag = in->tag;
    return pith_freeze(s, Pair, &next);
}
PITH_FUNCTION1(hundred_step, hundred, Pair, Pair)

static const pith_array *
mean_of(pith_scope *s, const pith_array *const *l, void *closure) {
    (void)closure;
    return pith_add(s, pith_mul(s, l[0], pith_f32(s, 0.9f)),
                    pith_mul(s, l[1], pith_f32(s, 0.1f)));
}
static const pith_array *
variance_of(pith_scope *s, const pith_array *const *l, void *closure) {
    (void)closure;
    return pith_add(s, pith_mul(s, l[0], pith_f32(s, 0.999f)),
                    pith_mul(s, pith_square(s, l[1]), pith_f32(s, 0.001f)));
}
static const pith_array *moved(pith_scope *s, const pith_array *const *l, void *closure) {
    const pith_array *const *bias = closure; /* 1 - beta^step */
    const pith_array *root = pith_sqrt(s, pith_div(s, l[2], bias[1]));
    const pith_array *by =
        pith_div(s, pith_div(s, l[1], bias[0]), pith_add(s, root, pith_f32(s, 1e-8f)));
    return pith_sub(s, l[0], pith_mul(s, by, pith_f32(s, 1e-3f)));
}
static const Adam *adam(pith_scope *s, const Adam *in) {
    Adam next = *in;
    const pith_array *one = pith_f32(s, 1);
    next.step = pith_add(s, in->step, one);
    const pith_array *bias[] = {
        pith_sub(s, one, pith_pow(s, pith_f32(s, 0.9f), next.step)),
        pith_sub(s, one, pith_pow(s, pith_f32(s, 0.999f), next.step))};
    next.mean = pith_tree_map(s, mean_of, NULL, PITH_ITEMS(in->mean, in->gradient), NULL);
    next.variance =
        pith_tree_map(s, variance_of, NULL, PITH_ITEMS(in->variance, in->gradient), NULL);
    next.params = pith_tree_map(s, moved, bias,
                                PITH_ITEMS(in->params, next.mean, next.variance), NULL);
    return pith_freeze(s, Adam, &next);
}
PITH_FUNCTION1(adam_step, adam, Adam, Adam)

static const void *loop_body(pith_scope *s, const pith_array *i, const void *carry) {
    (void)i;
    return add_one(s, carry);
}
PITH_FUNCTION2(loop_body_function, loop_body, void, pith_array, void)
static const void *loop(pith_scope *s, const void *tree) {
    return pith_fori(s, 0, TIMES, &loop_body_function, tree);
}
PITH_FUNCTION1(loop_step, loop, void, void)

/* ---- Work ---- */

typedef struct {
    pith_scope *s;
    const pith_function *step;
    const void *tree;
    int64_t leaves, elements; /* of a leaf */
    float *plain[PLAIN];      /* leaves one after the other */
    pith_scope *state;        /* of the tree, where a step replaces it; or NULL */
    int64_t tag;
    const pith_function *inner; /* that the step calls */
} work;

static void call(void *closure) {
    const work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    pith_apply(s, w->step, w->tree);
    pith_wait(s);
    bench_check(s);
    pith_scope_close(s);
}
/* The tree becomes what the step makes of it. */
static void replace(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    w->tree = pith_apply(s, w->step, w->tree);
    pith_wait(s);
    bench_check(s);
    if (w->state)
        pith_scope_close(w->state);
    w->state = s;
}
/* Compile before anything is timed. */
static void warm_up(work *w) {
    for (int i = 0; i < 3; i++)
        call(w);
}
static void plain_add(void *closure) {
    const work *w = closure;
    const int64_t n = w->leaves * w->elements;
    for (int64_t i = 0; i < n; i++)
        w->plain[1][i] = w->plain[0][i] + 1;
    __asm__ volatile("" : : "r"(w->plain[1]) : "memory");
}
static void plain_loop(void *closure) {
    const work *w = closure;
    for (int t = 0; t < TIMES; t++) {
        for (int64_t i = 0; i < w->leaves * w->elements; i++)
            w->plain[1][i] += 1;
        __asm__ volatile("" : : "r"(w->plain[1]) : "memory");
    }
}
static void plain_adam(void *closure) {
    const work *w = closure;
    const float *p = w->plain[0], *m = w->plain[1], *v = w->plain[2], *g = w->plain[3];
    /* In place where the step that is measured may do so too. */
    float *out = w->state ? w->plain[0] : w->plain[4];
    float *next_m = w->state ? w->plain[1] : w->plain[5];
    float *next_v = w->state ? w->plain[2] : w->plain[6];
    const float first = 1 - powf(0.9f, 5), second = 1 - powf(0.999f, 5);
#pragma GCC ivdep /* the memory is the same, or another */
    for (int64_t i = 0; i < w->leaves * w->elements; i++) {
        next_m[i] = m[i] * 0.9f + g[i] * 0.1f;
        next_v[i] = v[i] * 0.999f + g[i] * g[i] * 0.001f;
        out[i] = p[i] - next_m[i] / first / (sqrtf(next_v[i] / second) + 1e-8f) * 1e-3f;
    }
    __asm__ volatile("" : : "r"(out) : "memory");
}
/* A call with a static field that has never been that. */
static void retrace_ten(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    Pair next = *(const Pair *)w->tree;
    next.tag = ++w->tag;
    pith_apply(s, w->step, pith_freeze(s, Pair, &next));
    bench_check(s);
    pith_scope_close(s);
}
static void retrace_adam(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    Adam next = *(const Adam *)w->tree;
    next.tag = ++w->tag;
    pith_apply(s, w->step, pith_freeze(s, Adam, &next));
    bench_check(s);
    pith_scope_close(s);
}

/* A call with a static field that it has had before, and not the last time. */
static void return_ten(void *closure) {
    work *w = closure;
    retrace_ten(w);
    w->tag %= 2;
}
static void return_adam(void *closure) {
    work *w = closure;
    retrace_adam(w);
    w->tag %= 2;
}

/* ---- Trees ---- */

static const void *list_of(pith_scope *s, int64_t leaves, int64_t elements, float value) {
    const void **items = malloc((size_t)leaves * sizeof *items);
    for (int64_t i = 0; i < leaves; i++)
        items[i] = pith_full(s, PITH_F32, PITH_SHAPE(elements), (double)value);
    const void *list = pith_list_make(s, leaves, items);
    free(items);
    return list;
}
static const Adam *adam_of(pith_scope *s, int64_t leaves, int64_t elements) {
    const Adam state = {.params = list_of(s, leaves, elements, 1),
                        .mean = list_of(s, leaves, elements, 0.5f),
                        .variance = list_of(s, leaves, elements, 0.25f),
                        .gradient = list_of(s, leaves, elements, 0.125f),
                        .step = pith_f32(s, 4)};
    return pith_freeze(s, Adam, &state);
}
static work work_of(pith_scope *s,
                    const pith_function *step,
                    const void *tree,
                    int64_t leaves,
                    int64_t elements) {
    work w = {.s = s, .step = step, .tree = tree, .leaves = leaves, .elements = elements};
    for (int k = 0; k < PLAIN; k++) {
        const size_t count = (size_t)(leaves * elements);
        w.plain[k] = malloc(count * sizeof(float));
        for (size_t i = 0; i < count; i++)
            w.plain[k][i] = 0.5f;
    }
    bench_check(s);
    return w;
}
static void free_work(const work *w) {
    for (int k = 0; k < PLAIN; k++)
        free(w->plain[k]);
}

/* ---- Rows ---- */

static void calls(pith_scope *s, const char *only) {
    const pith_function *compiled = pith_jit(s, &add_one_step, NULL);
    for (int64_t leaves = 1; leaves <= MOST; leaves *= 10) {
        char row[64];
        snprintf(row, sizeof row, "jit/call/%lld", (long long)leaves);
        if (!bench_wanted(row, only))
            continue;
        work w = work_of(s, compiled, list_of(s, leaves, LEAF, 1), leaves, LEAF);
        work eager = w;
        warm_up(&w);
        eager.step = &add_one_step;
        bench_row(row, "us", 1e6, 3,
                  (bench_entry[]){
                      {"pith", call, &w}, {"eager", call, &eager}, {"c", plain_add, &w}});
        free_work(&w);
    }
}

static void loops(pith_scope *s, const char *only) {
    if (!bench_wanted("jit/fori/10x64", only))
        return;
    const pith_function *compiled = pith_jit(s, &loop_step, NULL);
    work w = work_of(s, compiled, list_of(s, 10, LEAF, 1), 10, LEAF);
    warm_up(&w);
    bench_row("jit/fori/10x64", "ns/iteration", 1e9 / TIMES, 2,
              (bench_entry[]){{"pith", call, &w}, {"c", plain_loop, &w}});
    free_work(&w);
}

static void optimiser(pith_scope *s, const char *only) {
    static const int64_t sizes[][2] = {{MOST, LEAF}, {10, 1000000}};
    const pith_function *compiled = pith_jit(s, &adam_step, NULL);
    const pith_function *donating = pith_jit(
        s, &adam_step, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    for (int k = 0; k < 2; k++) {
        char row[64];
        snprintf(row, sizeof row, "jit/adam/%lldx%lld", (long long)sizes[k][0],
                 (long long)sizes[k][1]);
        if (!bench_wanted(row, only))
            continue;
        pith_scope *own = pith_scope_open_in(s);
        work w = work_of(own, compiled, adam_of(own, sizes[k][0], sizes[k][1]),
                         sizes[k][0], sizes[k][1]);
        warm_up(&w);
        bench_row(row, "us", 1e6, 2,
                  (bench_entry[]){{"pith", call, &w}, {"c", plain_adam, &w}});
        strcat(row, "/donated");
        w.step = donating;
        for (int i = 0; i < 3; i++)
            replace(&w);
        bench_row(row, "us", 1e6, 2,
                  (bench_entry[]){{"pith", replace, &w}, {"c", plain_adam, &w}});
        free_work(&w);
        pith_scope_close(own);
    }
}

static void static_rows(const char *of,
                        work *w,
                        void (*retrace)(void *),
                        void (*go_back)(void *),
                        const char *only) {
    char row[64];
    snprintf(row, sizeof row, "jit/retrace/%s", of);
    if (bench_wanted(row, only))
        bench_row(row, "ms", 1e3, 1, (bench_entry[]){{"pith", retrace, w}});
    snprintf(row, sizeof row, "jit/return/%s", of);
    w->tag = 0;
    if (bench_wanted(row, only))
        bench_row(row, "ms", 1e3, 1, (bench_entry[]){{"pith", go_back, w}});
    free_work(w);
}

static void retrace_recorded(void *closure) {
    const work *w = closure;
    called = w->inner;
    retrace_ten(closure);
}

/* A function that calls another a hundred times, compiled and not. */
static void retraces_of_calls(pith_scope *s, const char *only) {
    static const char *const row = "jit/retrace/100 calls of 10 operations";
    if (!bench_wanted(row, only))
        return;
    const Pair pair = {.x = pith_ones(s, PITH_F32, PITH_SHAPE(LEAF)),
                       .y = pith_ones(s, PITH_F32, PITH_SHAPE(LEAF))};
    work w = work_of(s, pith_jit(s, &hundred_step, NULL), pith_freeze(s, Pair, &pair), 2,
                     LEAF);
    work plain = w;
    w.inner = pith_jit(s, &ten_step, NULL);
    plain.inner = &ten_step;
    plain.tag = INT64_MAX / 2; /* a program of its own at each call */
    bench_row(row, "ms", 1e3, 2,
              (bench_entry[]){{"pith", retrace_recorded, &w},
                              {"not compiled", retrace_recorded, &plain}});
    free_work(&w);
}

static void retraces(pith_scope *s, const char *only) {
    const Pair pair = {.x = pith_ones(s, PITH_F32, PITH_SHAPE(LEAF)),
                       .y = pith_ones(s, PITH_F32, PITH_SHAPE(LEAF))};
    work small =
        work_of(s, pith_jit(s, &ten_step, NULL), pith_freeze(s, Pair, &pair), 2, LEAF);
    static_rows("10 operations", &small, retrace_ten, return_ten, only);
    work large =
        work_of(s, pith_jit(s, &adam_step, NULL), adam_of(s, MOST, LEAF), MOST, LEAF);
    static_rows("adam/1000x64", &large, retrace_adam, return_adam, only);
    retraces_of_calls(s, only);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    bench_compiled("wait", calls, only);
    bench_compiled("wait", loops, only);
    bench_compiled("wait", optimiser, only);
    bench_compiled("async", retraces, only);
    return 0;
}
