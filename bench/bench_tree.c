/* Structure work: flatten, unflatten and an empty map on flat, record, bushy and deep
 * trees, in nanoseconds per leaf; freezing a record; an eager addition; joining trees.
 * The peer "c" does the same over a plain tree of malloc'd nodes, or by copies of memory.
 */
#include "bench.h"

typedef struct Ten {
    const pith_array *a, *b, *c, *d, *e, *f, *g, *h, *i, *j;
} Ten;
PITH_NODE(Ten,
          PITH_LEAF(a, "f32[n]"),
          PITH_LEAF(b, "f32[n]"),
          PITH_LEAF(c, "f32[n]"),
          PITH_LEAF(d, "f32[n]"),
          PITH_LEAF(e, "f32[n]"),
          PITH_LEAF(f, "f32[n]"),
          PITH_LEAF(g, "f32[n]"),
          PITH_LEAF(h, "f32[n]"),
          PITH_LEAF(i, "f32[n]"),
          PITH_LEAF(j, "f32[n]"))

/* ---- Plain C ---- */

typedef struct Plain {
    int32_t count; /* -1: a leaf */
    struct Plain *child[];
} Plain;

static Plain *plain_make(int32_t count) {
    Plain *p = malloc(sizeof *p + (size_t)(count > 0 ? count : 0) * sizeof *p->child);
    p->count = count;
    return p;
}

static int64_t plain_flatten(Plain *p, Plain **leaves) {
    if (p->count < 0) {
        *leaves = p;
        return 1;
    }
    int64_t n = 0;
    for (int32_t i = 0; i < p->count; i++)
        n += plain_flatten(p->child[i], leaves + n);
    return n;
}

/* A tree like `model` over other leaves: a node each, leaves shared. */
static Plain *plain_unflatten(const Plain *model, Plain *const **leaves) {
    if (model->count < 0)
        return *(*leaves)++;
    Plain *p = plain_make(model->count);
    for (int32_t i = 0; i < model->count; i++)
        p->child[i] = plain_unflatten(model->child[i], leaves);
    return p;
}

static void plain_free_nodes(Plain *p) {
    if (p->count < 0)
        return;
    for (int32_t i = 0; i < p->count; i++)
        plain_free_nodes(p->child[i]);
    free(p);
}

/* ---- Both trees, of one form ---- */

typedef struct {
    pith_scope *s;
    const void *tree;
    const pith_treedef *def;
    const pith_array *const *leaves;
    Plain *plain, **plain_leaves;
    int64_t count;
} Trees;

static const pith_array *leaf_of(pith_scope *s) {
    return pith_zeros(s, PITH_F32, PITH_SHAPE(64));
}

static void make_flat(Trees *t, int64_t n) {
    const void **items = malloc((size_t)n * sizeof *items);
    t->plain = plain_make((int32_t)n);
    for (int64_t i = 0; i < n; i++) {
        items[i] = leaf_of(t->s);
        t->plain->child[i] = plain_make(-1);
    }
    t->tree = pith_list_make(t->s, n, items);
    free(items);
}

static void make_records(Trees *t, int64_t n) {
    const void **items = malloc((size_t)n * sizeof *items);
    t->plain = plain_make((int32_t)n);
    for (int64_t i = 0; i < n; i++) {
        Ten ten;
        const pith_array **slots = &ten.a;
        t->plain->child[i] = plain_make(10);
        for (int k = 0; k < 10; k++) {
            slots[k] = leaf_of(t->s);
            t->plain->child[i]->child[k] = plain_make(-1);
        }
        items[i] = pith_freeze(t->s, Ten, &ten);
    }
    t->tree = pith_list_make(t->s, n, items);
    free(items);
}

static const void *bushy(pith_scope *s, int depth, Plain **plain) {
    if (depth == 0) {
        *plain = plain_make(-1);
        return leaf_of(s);
    }
    static const char *const keys[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const void *items[8];
    *plain = plain_make(8);
    for (int i = 0; i < 8; i++)
        items[i] = bushy(s, depth - 1, &(*plain)->child[i]);
    return pith_dict_make(s, 8, keys, items);
}

static void make_chain(Trees *t, int64_t depth) {
    static const char *const keys[2] = {"leaf", "next"};
    t->tree = leaf_of(t->s);
    t->plain = plain_make(-1);
    for (int64_t i = 0; i < depth; i++) {
        t->tree =
            pith_dict_make(t->s, 2, keys, (const void *const[]){leaf_of(t->s), t->tree});
        Plain *p = plain_make(2);
        p->child[0] = plain_make(-1);
        p->child[1] = t->plain;
        t->plain = p;
    }
}

/* ---- The work ---- */

static volatile int64_t sink;

static void flatten(void *closure) {
    const Trees *t = closure;
    pith_scope *s = pith_scope_open_in(t->s);
    const pith_array *const *leaves;
    const pith_treedef *def = pith_tree_flatten(s, t->tree, &leaves);
    sink = pith_treedef_num_leaves(def);
    pith_scope_close(s);
}

static void flatten_c(void *closure) {
    const Trees *t = closure;
    Plain **leaves = malloc((size_t)t->count * sizeof *leaves);
    sink = plain_flatten(t->plain, leaves);
    free(leaves);
}

static void unflatten(void *closure) {
    const Trees *t = closure;
    pith_scope *s = pith_scope_open_in(t->s);
    sink = (intptr_t)pith_tree_unflatten(s, t->def, t->count, t->leaves);
    pith_scope_close(s);
}

static void unflatten_c(void *closure) {
    const Trees *t = closure;
    Plain *const *leaves = t->plain_leaves;
    plain_free_nodes(plain_unflatten(t->plain, &leaves));
}

static const pith_array *
same(pith_scope *s, const pith_array *const *leaves, void *closure) {
    (void)s, (void)closure;
    return leaves[0];
}

static void map(void *closure) {
    const Trees *t = closure;
    pith_scope *s = pith_scope_open_in(t->s);
    sink = (intptr_t)pith_tree_map(s, same, NULL, 1, &t->tree, NULL);
    pith_scope_close(s);
}

static void map_c(void *closure) {
    Trees *t = closure;
    Plain **leaves = malloc((size_t)t->count * sizeof *leaves);
    plain_flatten(t->plain, leaves);
    Plain *const *next = leaves;
    plain_free_nodes(plain_unflatten(t->plain, &next));
    free(leaves);
}

static void measure(const char *form, Trees *t, const char *only) {
    static const struct {
        const char *work;
        void (*pith)(void *), (*c)(void *);
    } rows[] = {{"flatten", flatten, flatten_c},
                {"unflatten", unflatten, unflatten_c},
                {"map", map, map_c}};
    bench_check(t->s);
    t->def = pith_tree_flatten(t->s, t->tree, &t->leaves);
    bench_check(t->s);
    t->count = pith_treedef_num_leaves(t->def);
    t->plain_leaves = malloc((size_t)t->count * sizeof *t->plain_leaves);
    plain_flatten(t->plain, t->plain_leaves);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char row[64];
        snprintf(row, sizeof row, "tree/%s/%s", rows[i].work, form);
        if (bench_wanted(row, only))
            bench_row(
                row, "ns/leaf", 1e9 / (double)t->count, 2,
                (const bench_entry[]){{"pith", rows[i].pith, t}, {"c", rows[i].c, t}});
        bench_check(t->s);
    }
    free(t->plain_leaves);
}

/* ---- Small calls ---- */

enum { BATCH = 1000 };

typedef struct {
    pith_scope *s;
    const pith_array *x;
    Ten ten;
    double a[3], b[3];
} Small;

static void eager_add(void *closure) {
    Small *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    for (int i = 0; i < BATCH; i++)
        sink = (intptr_t)pith_add(s, w->x, w->x);
    pith_scope_close(s);
}

static void add_c(void *closure) {
    Small *w = closure;
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < 3; k++)
            w->b[k] = w->a[k] + w->a[k];
        __asm__ volatile("" ::: "memory");
    }
}

static void freeze(void *closure) {
    Small *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    for (int i = 0; i < BATCH; i++)
        sink = (intptr_t)pith_freeze(s, Ten, &w->ten);
    pith_scope_close(s);
}

/* The first record of a scope, opening and closing it included. */
static void freeze_first(void *closure) {
    Small *w = closure;
    for (int i = 0; i < BATCH; i++) {
        pith_scope *s = pith_scope_open_in(w->s);
        sink = (intptr_t)pith_freeze(s, Ten, &w->ten);
        pith_scope_close(s);
    }
}

static void freeze_c(void *closure) {
    Small *w = closure;
    for (int i = 0; i < BATCH; i++) {
        Ten *copy = malloc(sizeof *copy);
        *copy = w->ten;
        sink = (intptr_t)copy;
        free(copy);
    }
}

static void measure_small(pith_scope *s, const char *only) {
    Small w = {.s = s, .x = pith_zeros(s, PITH_F64, PITH_SHAPE(3))};
    const pith_array **slots = &w.ten.a;
    for (int i = 0; i < 10; i++)
        slots[i] = leaf_of(s);
    if (bench_wanted("array/add/f64[3]", only))
        bench_row("array/add/f64[3]", "ns", 1e9 / BATCH, 2,
                  (const bench_entry[]){{"pith", eager_add, &w}, {"c", add_c, &w}});
    if (bench_wanted("tree/freeze/10", only))
        bench_row("tree/freeze/10", "ns", 1e9 / BATCH, 2,
                  (const bench_entry[]){{"pith", freeze, &w}, {"c", freeze_c, &w}});
    if (bench_wanted("tree/freeze/10/first", only))
        bench_row("tree/freeze/10/first", "ns", 1e9 / BATCH, 2,
                  (const bench_entry[]){{"pith", freeze_first, &w}, {"c", freeze_c, &w}});
    bench_check(s);
}

/* ---- Joining trees, and rows of them ---- */

enum { JOINED = 4, LEAF = 64, ROWS = 16, ROW = 16, TAKEN = 8 };

typedef struct {
    pith_scope *s;
    const void *trees[JOINED]; /* leaves f32 [LEAF] */
    const void *grid, *rows;   /* leaves f32 [ROWS, ROW] and [TAKEN, ROW] */
    const pith_array *index;   /* [TAKEN] */
    int64_t leaves;
    float **from, *to; /* of tree after tree; where all are joined */
    int32_t c_index[TAKEN];
} Join;

#define PITH_JOIN(name, expression)                                                      \
    static void name(void *closure) {                                                    \
        const Join *w = closure;                                                         \
        pith_scope *s = pith_scope_open_in(w->s);                                        \
        sink = (intptr_t)(expression);                                                   \
        pith_wait(s);                                                                    \
        pith_scope_close(s);                                                             \
    }
PITH_JOIN(join_stack, pith_tree_stack(s, JOINED, w->trees))
PITH_JOIN(join_concat, pith_tree_concat(s, JOINED, w->trees, 0))
PITH_JOIN(join_split, pith_tree_split(s, w->grid, 2, 0))
PITH_JOIN(join_take, pith_tree_take(s, w->grid, w->index, NULL))
PITH_JOIN(join_scatter, pith_tree_scatter_set(s, w->grid, w->index, w->rows, NULL))

static void join_c(void *closure) {
    const Join *w = closure;
    for (int64_t i = 0; i < w->leaves; i++)
        for (int k = 0; k < JOINED; k++)
            memcpy(w->to + (i * JOINED + k) * LEAF, w->from[k * w->leaves + i],
                   LEAF * sizeof(float));
    __asm__ volatile("" ::: "memory");
}

static void split_c(void *closure) {
    const Join *w = closure;
    for (int64_t i = 0; i < w->leaves; i++)
        memcpy(w->to + i * ROWS * ROW, w->from[i], ROWS * ROW * sizeof(float));
    __asm__ volatile("" ::: "memory");
}

static void take_c(void *closure) {
    const Join *w = closure;
    for (int64_t i = 0; i < w->leaves; i++)
        for (int k = 0; k < TAKEN; k++)
            memcpy(w->to + (i * TAKEN + k) * ROW, w->from[i] + w->c_index[k] * ROW,
                   ROW * sizeof(float));
    __asm__ volatile("" ::: "memory");
}

static void scatter_c(void *closure) {
    const Join *w = closure;
    for (int64_t i = 0; i < w->leaves; i++) {
        float *to = w->to + i * ROWS * ROW;
        memcpy(to, w->from[i], ROWS * ROW * sizeof(float));
        for (int k = 0; k < TAKEN; k++)
            memcpy(to + w->c_index[k] * ROW, w->from[w->leaves + i] + k * ROW,
                   ROW * sizeof(float));
    }
    __asm__ volatile("" ::: "memory");
}

static const struct {
    const char *name;
    void (*pith)(void *), (*c)(void *);
} joins[] = {{"stack", join_stack, join_c},
             {"concat", join_concat, join_c},
             {"split", join_split, split_c},
             {"take", join_take, take_c},
             {"scatter", join_scatter, scatter_c}};

static bool join_row(char text[32], int row, int64_t leaves, const char *only) {
    snprintf(text, 32, "tree/%s/%lld", joins[row].name, (long long)leaves);
    return bench_wanted(text, only);
}

/* A list of as many new leaves. */
static const void *list_of(pith_scope *s, int64_t leaves, pith_shape shape) {
    const void **items = malloc((size_t)leaves * sizeof *items);
    for (int64_t i = 0; i < leaves; i++)
        items[i] = pith_zeros(s, PITH_F32, shape);
    const void *list = pith_list_make(s, leaves, items);
    free(items);
    return list;
}

static void measure_join(pith_scope *s, int64_t leaves, const char *only) {
    enum { COUNT = sizeof joins / sizeof *joins };
    char text[32];
    bool any = false;
    for (int i = 0; i < COUNT; i++)
        any |= join_row(text, i, leaves, only);
    if (!any)
        return;
    Join w = {.s = s,
              .leaves = leaves,
              .from = malloc((size_t)(JOINED * leaves) * sizeof(float *)),
              .to = malloc((size_t)(leaves * ROWS * ROW) * sizeof(float)),
              .grid = list_of(s, leaves, PITH_SHAPE(ROWS, ROW)),
              .rows = list_of(s, leaves, PITH_SHAPE(TAKEN, ROW))};
    for (int k = 0; k < JOINED; k++)
        w.trees[k] = list_of(s, leaves, PITH_SHAPE(LEAF));
    for (int64_t i = 0; i < JOINED * leaves; i++)
        w.from[i] = calloc(ROWS * ROW, sizeof(float));
    for (int k = 0; k < TAKEN; k++)
        w.c_index[k] = k * 7 % ROWS;
    w.index = pith_array_copy(s, PITH_I32, PITH_SHAPE(TAKEN), w.c_index);
    bench_check(s);
    for (int i = 0; i < COUNT; i++)
        if (join_row(text, i, leaves, only))
            bench_row(text, "us", 1e6, 2,
                      (const bench_entry[]){{"pith", joins[i].pith, &w},
                                            {"c", joins[i].c, &w}});
    bench_check(s);
    for (int64_t i = 0; i < JOINED * leaves; i++)
        free(w.from[i]);
    free(w.from), free(w.to);
}

int main(int argc, char **argv) {
    const char *only = bench_only(argc, argv);
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    Trees t = {.s = s};
    make_flat(&t, 1000);
    measure("flat", &t, only);
    make_records(&t, 100);
    measure("records", &t, only);
    t.tree = bushy(s, 5, &t.plain);
    measure("bushy", &t, only);
    make_chain(&t, 500);
    measure("chain", &t, only);
    make_chain(&t, 20000); /* as much a leaf as above, unless something is quadratic */
    measure("deep", &t, only);
    measure_small(s, only);
    measure_join(s, 10, only);
    measure_join(s, 1000, only);
    pith_scope_close(s);
    pith_close(rt);
    return EXIT_SUCCESS;
}
