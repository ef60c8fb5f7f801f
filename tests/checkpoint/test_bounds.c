/* Memory that saves and checks take beside the tree: a few MiB, however large leaves are.
 * Also on a device whose memory the host cannot read, which the host plays here. */
#include "checkpoint_test.h"

enum { LARGE = 20 << 20 };

/* ---- An allocator that knows its peak ---- */

static atomic_llong live, peak;

static void *allocate(void *closure, size_t bytes, size_t alignment) {
    void *memory = pt_heap_allocate(closure, bytes, alignment);
    const long long now =
        atomic_fetch_add(&live, memory ? (long long)bytes : 0) + (long long)bytes;
    long long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
        continue;
    return memory;
}
static void release(void *closure, void *memory, size_t bytes, size_t alignment) {
    atomic_fetch_sub(&live, memory ? (long long)bytes : 0);
    pt_heap_release(closure, memory, bytes, alignment);
}

/* Bytes beyond what there was when `begin_count` was called. */
static long long base;
static void begin_count(void) {
    base = atomic_load(&live);
    atomic_store(&peak, base);
}
static long long counted(void) {
    return atomic_load(&peak) - base;
}

static pith_runtime *open_on(const pithp_backend *backend) {
    static const pith_allocator allocator = {allocate, release, &pt_default_heap};
    const pith_open_options options = {.device = "host", .allocator = &allocator};
    pith_runtime *rt =
        backend ? pithp_open_backend(backend, 0, &options) : pith_open(&options);
    cr_assert(pith_runtime_code(rt) == PITH_OK, "%s", pith_runtime_message(rt));
    pt_open_runtimes++;
    return rt;
}

/* ---- A host whose memory the host cannot read ---- */

static pithp_backend remote;

static pith_runtime *open_remote(void) {
    remote = pithp_backend_host;
    remote.addressable = false;
    return open_on(&remote);
}

/* From the host's memory: such a device runs no kernels. */
static const void *make_large(pith_scope *s) {
    enum { NUMBERS = 1000000 };
    unsigned char *bytes = malloc(LARGE);
    int64_t *numbers = malloc(NUMBERS * sizeof *numbers);
    float few[400];
    memset(bytes, 3, LARGE);
    for (int64_t i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    for (int i = 0; i < 400; i++)
        few[i] = 0.5f * (float)i;
    const void *tree = pith_list_make(
        s, PITH_ITEMS(pith_array_copy(s, PITH_U8, PITH_SHAPE(LARGE), bytes),
                      pith_array_copy(s, PITH_I64, PITH_SHAPE(NUMBERS), numbers),
                      pith_array_copy(s, PITH_F32, PITH_SHAPE(400), few)));
    free(bytes);
    free(numbers);
    return tree;
}

static void bound_saves(pith_runtime *rt, long long most) {
    static const pith_save_options ways[] = {
        {.keep = 2},
        {.keep = 2, .incremental = true},
        {.keep = 2, .incremental = true, .background = true},
        {.keep = 1, .compress = 1},
        {.keep = 1, .compress = 1, .background = true}};
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_large(s);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        begin_count();
        pt_ok(s, pith_save(s, tree, "a.json", &ways[i]) && pith_save_wait(s));
        cr_assert(counted() < most, "save %d took %lld bytes", (int)i, counted());
    }
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000005.json");
    pith_leaf_statistics m;
    pt_ok(s, c);
    begin_count();
    for (int64_t i = 0; i < 3; i++)
        pt_ok(s,
              pith_checkpoint_verify(s, c, i) && pith_checkpoint_statistics(s, c, i, &m));
    cr_assert(counted() < 2 << 20, "checks took %lld bytes", counted());
    pith_scope_close(s);
    pt_close(rt);
}

Test(bounds, hold_for_saves_and_checks) {
    ct_begin();
    bound_saves(open_on(NULL), 3 << 20);
    ct_end();
}

Test(bounds, hold_where_memory_is_copied_out) {
    ct_begin();
    bound_saves(open_remote(), 7 << 20);
    ct_end();
}

/* Beside the arrays themselves: their elements go to their places as they are read, also
 * to a device through one piece of staging memory. */
static void bound_loads(pith_runtime *rt, long long most) {
    static const pith_save_options ways[] = {{.step = 1}, {.compress = 1}};
    pith_scope *s = pith_scope_open(rt);
    const void *tree = make_large(s);
    const long long arrays = (long long)pith_tree_bytes(tree);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        pt_ok(s, pith_save(s, tree, "a.json", &ways[i]));
        pith_scope *inner = pith_scope_open_in(s);
        begin_count();
        const void *again = pith_load_any(inner, NULL, "a.json", NULL);
        pt_ok(inner, again != NULL);
        cr_assert(counted() < arrays + most, "load %d took %lld bytes beside %lld",
                  (int)i, counted() - arrays, arrays);
        const pith_load_options part = {.at = "[2]"};
        begin_count();
        pt_ok(inner, pith_load_any(inner, NULL, "a.json", &part) != NULL);
        cr_assert(counted() < most, "a part took %lld bytes", counted());
        const pith_checkpoint *c = pith_checkpoint_open(inner, "a.json");
        pt_ok(inner, c);
        begin_count();
        pt_ok(inner, pith_checkpoint_rows(inner, c, "[0]", LARGE / 2, 1000) != NULL);
        cr_assert(counted() < most, "rows took %lld bytes", counted());
        pith_scope_close(inner);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(bounds, hold_for_loads) {
    ct_begin();
    bound_loads(open_on(NULL), 3 << 20);
    ct_end();
}

Test(bounds, hold_where_memory_is_copied_in) {
    ct_begin();
    bound_loads(open_remote(), 4 << 20);
    ct_end();
}

/* Files are the same whether memory is read where it lies or staged, and load so. */
Test(bounds, do_not_change_what_is_written) {
    ct_begin();
    static const pith_save_options ways[] = {{.step = 3},
                                             {.compress = 2, .inline_bytes = -1}};
    pith_runtime *near = pt_open(), *far = open_remote();
    pith_scope *s = pith_scope_open(near), *t = pith_scope_open(far);
    for (int i = 0; i < 2; i++) {
        pt_ok(s, pith_save(s, make_large(s), "a.json", &ways[i]));
        const ct_file document = ct_read("a.json"),
                      data = ct_read(ct_find(".safetensors"));
        pt_ok(t, pith_save(t, make_large(t), "a.json", &ways[i]));
        const ct_file same = ct_read("a.json"), bytes = ct_read(ct_find(".safetensors"));
        cr_assert(document.n == same.n &&
                  memcmp(document.bytes, same.bytes, same.n) == 0);
        cr_assert(data.n == bytes.n && memcmp(data.bytes, bytes.bytes, bytes.n) == 0);
        const void *tree = pith_load_any(t, NULL, "a.json", NULL);
        pt_ok(t, tree && ct_same_bits(t, tree, make_large(t)));
        const pith_checkpoint *c = pith_checkpoint_open(t, "a.json");
        const pith_array *rows = pith_checkpoint_rows(t, c, "[1]", 200000, 100);
        int64_t values[100];
        pt_ok(t, pith_read(t, rows, values, sizeof values));
        cr_assert(values[0] == 200000 && values[99] == 200099);
        free(document.bytes), free(data.bytes), free(same.bytes), free(bytes.bytes);
    }
    pith_scope_close(s);
    pith_scope_close(t);
    pt_close(far);
    pt_close(near);
    ct_end();
}
