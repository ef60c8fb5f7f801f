/* Lenses over a tree of 10 x 10 x 10 leaves of 64 f32, records of records: getting and
 * setting a leaf at depth 3, rows of every leaf; and 100 leaves joined and set. The peer
 * "c" follows pointers and copies structs, or copies memory. */
#include "bench.h"

typedef struct Low {
    const pith_array *a, *b, *c, *d, *e, *f, *g, *h, *i, *j;
} Low;
typedef struct Middle {
    const Low *a, *b, *c, *d, *e, *f, *g, *h, *i, *j;
} Middle;
typedef struct High {
    const Middle *a, *b, *c, *d, *e, *f, *g, *h, *i, *j;
} High;
#define TEN(ENTRY, of)                                                                   \
    ENTRY(a, of), ENTRY(b, of), ENTRY(c, of), ENTRY(d, of), ENTRY(e, of), ENTRY(f, of),  \
        ENTRY(g, of), ENTRY(h, of), ENTRY(i, of), ENTRY(j, of)
PITH_NODE(Low, TEN(PITH_LEAF, "f32[n]"))
PITH_NODE(Middle, TEN(PITH_CHILD, Low))
PITH_NODE(High, TEN(PITH_CHILD, Middle))

enum { BATCH = 1000, LEAF = 64, ROWS = 3, FEW = 100, MANY = 1000 };

typedef struct {
    pith_scope *s;
    const High *tree;
    const pith_array *leaf;
    const pith_lens *lens, *at;
    const void *rows; /* of every leaf of the tree */
    const void *few[2], *few_rows;
    const pith_array *index;
    float *from, *to; /* plain leaves */
    int32_t c_index[ROWS];
} Work;

static volatile intptr_t sink;

static const pith_array *leaf_of(pith_scope *s) {
    return pith_zeros(s, PITH_F32, PITH_SHAPE(LEAF));
}

static const Low *low_of(pith_scope *s) {
    Low low;
    for (int i = 0; i < 10; i++)
        (&low.a)[i] = leaf_of(s);
    return pith_freeze(s, Low, &low);
}

static const High *high_of(pith_scope *s) {
    High high;
    Middle middle;
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 10; k++)
            (&middle.a)[k] = low_of(s);
        (&high.a)[i] = pith_freeze(s, Middle, &middle);
    }
    return pith_freeze(s, High, &high);
}

static const void *few_of(pith_scope *s) {
    const void *items[FEW / 10];
    for (int i = 0; i < FEW / 10; i++)
        items[i] = low_of(s);
    return pith_list_make(s, FEW / 10, items);
}

/* ---- One leaf ---- */

static void get(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < BATCH; i++)
        sink = (intptr_t)pith_lens_get(w->s, w->lens, w->tree);
}

static void get_c(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < BATCH; i++) {
        const High *tree = w->tree;
        __asm__ volatile("" : "+r"(tree));
        sink = (intptr_t)tree->d->h->c;
    }
}

static void set(void *closure) {
    const Work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    for (int i = 0; i < BATCH; i++)
        sink = (intptr_t)pith_lens_set(s, w->lens, w->tree, w->leaf);
    pith_scope_close(s);
}

static void set_c(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < BATCH; i++) {
        High *high = malloc(sizeof *high);
        Middle *middle = malloc(sizeof *middle);
        Low *low = malloc(sizeof *low);
        *high = *w->tree, *middle = *high->d, *low = *middle->h;
        high->d = middle, middle->h = low, low->c = w->leaf;
        sink = (intptr_t)high;
        free(low), free(middle), free(high);
    }
}

/* ---- Rows of every leaf, and whole trees ---- */

#define PITH_WORK(name, expression)                                                      \
    static void name(void *closure) {                                                    \
        const Work *w = closure;                                                         \
        pith_scope *s = pith_scope_open_in(w->s);                                        \
        sink = (intptr_t)(expression);                                                   \
        pith_wait(s);                                                                    \
        pith_scope_close(s);                                                             \
    }
PITH_WORK(at_get, pith_lens_get(s, w->at, w->tree))
PITH_WORK(at_set, pith_lens_set(s, w->at, w->tree, w->rows))
PITH_WORK(concat, pith_tree_concat(s, 2, w->few, 0))
PITH_WORK(stack, pith_tree_stack(s, 2, w->few))
PITH_WORK(scatter, pith_tree_scatter_set(s, w->few[0], w->index, w->few_rows, NULL))

static void take_c(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < ROWS; k++)
            w->to[i * ROWS + k] = w->from[i * LEAF + w->c_index[k]];
    __asm__ volatile("" ::: "memory");
}

static void set_rows(const Work *w, int leaves) {
    for (int i = 0; i < leaves; i++) {
        memcpy(w->to + i * LEAF, w->from + i * LEAF, LEAF * sizeof(float));
        for (int k = 0; k < ROWS; k++)
            w->to[i * LEAF + w->c_index[k]] = 1;
    }
    __asm__ volatile("" ::: "memory");
}
static void put_c(void *closure) {
    set_rows(closure, MANY);
}
static void scatter_c(void *closure) {
    set_rows(closure, FEW);
}

static void join_c(void *closure) {
    const Work *w = closure;
    for (int i = 0; i < FEW; i++)
        for (int k = 0; k < 2; k++)
            memcpy(w->to + (2 * i + k) * LEAF, w->from + (k * FEW + i) * LEAF,
                   LEAF * sizeof(float));
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name, *unit;
        double scale;
        void (*pith)(void *), (*c)(void *);
    } rows[] = {{"lens/get/depth 3", "ns", 1e9 / BATCH, get, get_c},
                {"lens/set/depth 3", "ns", 1e9 / BATCH, set, set_c},
                {"lens/at get/1000", "us", 1e6, at_get, take_c},
                {"lens/at set/1000", "us", 1e6, at_set, put_c},
                {"lens/concat/100", "us", 1e6, concat, join_c},
                {"lens/stack/100", "us", 1e6, stack, join_c},
                {"lens/scatter/100", "us", 1e6, scatter, scatter_c}};
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    Work w = {.s = s,
              .tree = high_of(s),
              .leaf = leaf_of(s),
              .lens = PITH_LENS(High, d->h->c),
              .few = {few_of(s), few_of(s)},
              .from = calloc(MANY * LEAF, sizeof(float)),
              .to = malloc(MANY * LEAF * sizeof(float)),
              .c_index = {5, 60, 17}};
    w.index = pith_array_copy(s, PITH_I32, PITH_SHAPE(ROWS), w.c_index);
    w.at = pith_lens_at(s, pith_lens_path(s, High_pith_type(), ""), w.index, NULL);
    w.rows = pith_lens_get(s, w.at, w.tree);
    w.few_rows = pith_tree_take(s, w.few[0], w.index, NULL);
    bench_check(s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bench_wanted(rows[i].name, only))
            bench_row(
                rows[i].name, rows[i].unit, rows[i].scale, 2,
                (const bench_entry[]){{"pith", rows[i].pith, &w}, {"c", rows[i].c, &w}});
    bench_check(s);
    free(w.from), free(w.to);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
