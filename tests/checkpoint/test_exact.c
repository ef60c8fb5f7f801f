/* Random trees that go through random steps: a run that was restarted from a checkpoint
 * goes on bit for bit, whatever way the checkpoint was written; and a state that was
 * loaded is saved to the same bytes. */
#include "checkpoint_test.h"

enum { ROUNDS = 150, MOST_STEPS = 6 };

static pith_runtime *rt;
static pith_scope *s;

static uint64_t state;
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static int64_t below(int64_t n) {
    return (int64_t)(draw() % (uint64_t)n);
}

/* ---- Trees ---- */

static const pith_array *random_array(pith_scope *in) {
    const pith_dtype dtype = (pith_dtype)(PITH_BOOL + below(PITH_DTYPE_COUNT - 1));
    pith_shape shape = {.rank = (int32_t)below(4)};
    int64_t count = 1;
    for (int32_t i = 0; i < shape.rank; i++)
        count *= shape.extents[i] = below(8) ? 1 + below(20) : below(2) * 300;
    const size_t bytes = (size_t)count * pith_dtype_size(dtype);
    unsigned char *host = malloc(bytes + 1);
    const bool smooth = below(2); /* compresses */
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(smooth ? i % 8 : draw());
    for (size_t i = 0; dtype == PITH_BOOL && i < bytes; i++)
        host[i] &= 1;
    const pith_array *a = pith_array_copy(in, dtype, shape, host);
    free(host);
    return a;
}

static const Atoms *random_atoms(pith_scope *in) {
    const int64_t n = below(200);
    const pith_array *x = pith_arange(in, PITH_F64, 3 * n),
                     *charge = pith_full(in, PITH_I8, PITH_SHAPE(n), (double)below(100));
    const Atoms atoms = {pith_reshape(in, x, PITH_SHAPE(n, 3)), below(2) ? charge : NULL};
    return pith_freeze(in, Atoms, &atoms);
}

static const void *random_tree(pith_scope *in, int depth) {
    static const char *const keys[] = {"", "a", "b \"c\"", "d\n", "\u00e9"};
    const void *items[5];
    const int64_t count = below(6), kind = depth ? below(7) : 0;
    if (kind <= 1)
        return random_array(in);
    if (kind == 2)
        return pith_none_make(in);
    if (kind == 3)
        return random_atoms(in);
    for (int64_t i = 0; i < count; i++)
        items[i] = random_tree(in, depth - 1);
    if (kind == 4)
        return pith_list_make(in, count, items);
    return kind == 5 ? (const void *)pith_tuple_make(in, count, items)
                     : (const void *)pith_dict_make(in, count, keys, items);
}

/* ---- Steps: functions of the state and of their number alone ---- */

static const pith_array *next_array(pith_scope *in, const pith_array *a, int64_t step) {
    const pith_spec *spec = pithp_array_spec(a);
    if (spec->dtype >= PITH_F16) /* pith's own arithmetic: NaNs go through it too */
        return pith_mul(in, a, pith_add(in, a, a));
    unsigned char *host = malloc(spec->bytes + 1);
    pith_shape shape = {.rank = spec->rank};
    memcpy(shape.extents, spec->shape, sizeof shape.extents);
    cr_assert(pith_read(in, a, host, spec->bytes));
    for (size_t i = 0; i < spec->bytes; i++)
        host[i] = spec->dtype == PITH_BOOL
                      ? host[i] ^ 1
                      : (unsigned char)(5 * host[i] + i + (size_t)step);
    const pith_array *next = pith_array_copy(in, spec->dtype, shape, host);
    free(host);
    return next;
}

static const void *next_tree(pith_scope *in, const void *tree, int64_t step) {
    const pith_array *const *leaves, *next[4096];
    const pith_treedef *def = pith_tree_flatten(in, tree, &leaves);
    const int64_t count = pith_treedef_num_leaves(def);
    cr_assert(count <= 4096);
    for (int64_t i = 0; i < count; i++)
        next[i] = (i + step) % 3 ? leaves[i] : next_array(in, leaves[i], step);
    tree = pith_tree_unflatten(in, def, count, next);
    const void *grown[] = {tree, pith_f64(in, (double)step)};
    return step % 4 == 3 ? pith_list_make(in, 2, grown) : tree;
}

/* ---- Ways to save ---- */

static pith_save_options random_options(void) {
    const pith_save_options all[] = {
        {.step = 1},
        {.inline_all = true},
        {.inline_bytes = -1},
        {.inline_bytes = 1 + below(3000)},
        {.compress = 1 + (int32_t)below(3), .inline_bytes = -1},
        {.background = true, .inline_bytes = -1},
        {.keep = 3, .inline_bytes = -1},
        {.keep = 1 + below(3), .incremental = true, .inline_bytes = -1},
        {.keep = 2, .incremental = true, .compress = 1, .inline_bytes = 64},
        {.keep = 2, .incremental = true, .background = true, .inline_bytes = -1}};
    return all[below((int64_t)(sizeof all / sizeof all[0]))];
}

static void save(const void *tree, const char *path, const pith_save_options *options) {
    pt_ok(s, pith_save(s, tree, path, options));
}

static const void *load(pith_scope *in, const char *path, bool series) {
    const void *tree =
        pith_load_any(in, NULL, path, &(pith_load_options){.newest = series});
    pt_ok(in, tree);
    return tree;
}

/* Whether two folders hold files of the same names and bytes. Empties both. */
static void compare_folders(const char *a, const char *b) {
    int count = 0;
    DIR *listing = opendir(a);
    for (struct dirent *e; (e = readdir(listing));) {
        char x[600], y[600];
        if (e->d_name[0] == '.')
            continue;
        snprintf(x, sizeof x, "%s/%s", a, e->d_name);
        snprintf(y, sizeof y, "%s/%s", b, e->d_name);
        const ct_file f = ct_read(x), g = ct_read(y);
        cr_assert(f.n == g.n && memcmp(f.bytes, g.bytes, f.n) == 0, "%s", e->d_name);
        free(f.bytes);
        free(g.bytes);
        unlink(x);
        unlink(y);
        count++;
    }
    closedir(listing);
    cr_assert(count > 0 && rmdir(a) == 0 && rmdir(b) == 0, "%s has other files", b);
}

/* A run of `steps` steps that is restarted before every one, beside one that is not. */
static void run_and_restart(const pith_save_options *options) {
    const int64_t steps = 1 + below(MOST_STEPS);
    const void *tree = random_tree(s, 3);
    cr_assert(mkdir("x", 0700) == 0 && mkdir("y", 0700) == 0);
    for (int64_t i = 0; i < steps; i++) {
        save(tree, "x/a.json", options);
        pith_scope *inner = pith_scope_open_in(s);
        const void *loaded = load(inner, "x/a.json", options->keep > 0);
        cr_assert(ct_same_bits(inner, tree, loaded), "step %d", (int)i);
        pt_ok(inner, pith_save(inner, loaded, "y/a.json", options));
        pt_ok(inner, pith_save_wait(inner));
        tree = next_tree(s, tree, i);
        cr_assert(ct_same_bits(inner, tree, next_tree(inner, loaded, i)), "step %d",
                  (int)i);
        pith_scope_close(inner);
    }
    compare_folders("x", "y");
}

Test(exact, restarts_go_on_bit_for_bit, .timeout = 240) {
    ct_begin();
    for (int round = 0; round < ROUNDS; round++) {
        state = 0x9E3779B97F4A7C15u * (uint64_t)(round + 1);
        rt = pt_open();
        s = pith_scope_open(rt);
        Atoms_pith_type(); /* known to this process */
        const pith_save_options options = random_options();
        run_and_restart(&options);
        pith_scope_close(s);
        pt_close(rt);
    }
    ct_end();
}
