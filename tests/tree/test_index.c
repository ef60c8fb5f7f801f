/* Indices: integers over vocabularies that are united, and move with their keys, wherever
 * trees meet. The reference is the keys themselves. */
#include "fail_allocator.h"
#include "tree_types.h"

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

enum { MISSING = -99, MOST = 64 };

/* Atoms with the systems they belong to. */
typedef struct {
    const pith_array *mass;
    const pith_index *system;
} Group;
PITH_NODE(Group, PITH_LEAF(mass, "f64[n]"), PITH_CHILD(system, pith_index))

static const pith_index *
index_of(pith_dtype dtype, int64_t count, const int64_t *keys, int n, const int64_t *at) {
    const pith_array *wide = pith_array_copy(s, PITH_I64, PITH_SHAPE(n), at);
    return pith_index_make(s, "system", count, keys, pith_cast(s, wide, dtype));
}

static void expect_values(const pith_index *index, int n, const int64_t *want) {
    int64_t got[MOST];
    const pith_array *values = pith_index_values(s, index, MISSING);
    pt_ok(s, values && pith_array_spec(values)->count == n);
    pt_ok(s, pith_read(s, values, got, pith_array_spec(values)->bytes));
    for (int i = 0; i < n; i++)
        cr_assert(got[i] == want[i], "%d: expected %lld, got %lld", i, (long long)want[i],
                  (long long)got[i]);
}
#define VALUES(...)                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {             \
        __VA_ARGS__                                                                      \
    }

static const int64_t left_keys[] = {1, 4, 7}, right_keys[] = {0, 4, 9, 10};

/* ---- Making and reading ---- */

Test(index, stands_for_keys) {
    open_all();
    const pith_index *a = index_of(PITH_I32, 3, left_keys, VALUES(2, 0, 3, -1, 1));
    pt_ok(s, pith_is(pith_index, a));
    cr_assert_str_eq(a->keys, "1,4,7");
    expect_values(a, VALUES(7, 1, MISSING, MISSING, 4));
    bool good[5];
    pt_ok(s, pith_read(s, pith_index_valid(s, a), good, sizeof good));
    cr_assert(good[0] && good[1] && !good[2] && !good[3] && good[4]);
    int64_t count;
    const int64_t *keys = pith_index_keys(s, a, &count);
    cr_assert(count == 3 && keys[2] == 7);
    const int64_t values[] = {5, INT64_MIN, 5, INT64_MAX};
    const pith_index *b = pith_index_of(s, "system", 4, values);
    pt_ok(s, b);
    cr_assert_str_eq(b->keys, "-9223372036854775808,5,9223372036854775807");
    expect_values(b, 4, values);
    const pith_index *none = pith_index_of(s, NULL, 0, NULL);
    pt_ok(s, none);
    cr_assert(none->keys[0] == 0 && none->kind[0] == 0);
    cr_assert(pith_index_keys(s, none, &count) && count == 0);
    expect_values(index_of(PITH_I8, 0, NULL, VALUES(0, 3)), VALUES(MISSING, MISSING));
    close_all();
}

Test(index, refuses_what_is_no_index) {
    open_all();
    const pith_array *at = pith_i64(s, 0);
    int64_t count;
    const int64_t twice[] = {1, 3, 3};
    pt_fails(PITH_E_ARG, s, pith_index_make(s, NULL, 3, twice, at));
    pt_says("keys[2] is 3, which is not greater than the 3 before it");
    pt_fails(PITH_E_DTYPE, s, pith_index_make(s, NULL, 1, twice, pith_f64(s, 1)));
    pt_says(".at: expected integers, got f64");
    pt_fails(PITH_E_ARG, s, pith_index_make(s, NULL, 1, NULL, at));
    pt_fails(PITH_E_ARG, s, pith_index_make(s, NULL, -1, twice, at));
    pt_fails(PITH_E_ARG, s, pith_index_make(s, NULL, 1, twice, NULL));
    pt_fails(PITH_E_ARG, s, pith_index_of(s, NULL, 2, NULL));
    int64_t many[200];
    for (int i = 0; i < 200; i++)
        many[i] = i;
    pt_fails(PITH_E_DTYPE, s,
             pith_index_make(s, NULL, 128, many, pith_cast(s, at, PITH_I8)));
    pt_says("i8 is too small for 128 keys");
    pt_ok(s, pith_is(pith_index,
                     pith_index_make(s, NULL, 127, many, pith_cast(s, at, PITH_I8))));
    static const char *const bad[] = {
        "3,1", "1,1", "1,,2", "1,", ",1", "a", "1 2", "9223372036854775808", "+1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const pith_index value = {at, bad[i], ""};
        pt_fails(PITH_E_ARG, s, pith_freeze(s, pith_index, &value));
        cr_assert_str_eq(pt_error.path, ".keys");
    }
    pt_fails(PITH_E_TYPE, s, pith_index_values(s, (const void *)pt_atoms(s, 1, 0), 0));
    pt_fails(PITH_E_ARG, s, pith_index_valid(s, NULL));
    pt_fails(PITH_E_ARG, s, pith_index_keys(s, NULL, &count));
    pt_fails(PITH_E_ARG, s, pith_index_keys(s, pith_index_of(s, NULL, 0, NULL), NULL));
    /* Made while checks were suspended, it is refused when it is read. */
    pith_scope_set_validation(s, false);
    const pith_index value = {at, "2,1", ""};
    const pith_index *unchecked = pith_freeze(s, pith_index, &value);
    pt_ok(s, pith_is(pith_index, unchecked));
    pt_fails(PITH_E_ARG, s, pith_index_values(s, unchecked, 0));
    close_all();
}

/* ---- Meeting others ---- */

static const Group *group(const pith_index *index, double first) {
    const int64_t n = pith_array_spec(index->at)->shape[0];
    return pith_freeze(s, Group, &(Group){pt_array(s, PITH_SHAPE(n), first), index});
}

static const pith_array *
second(pith_scope *in, const pith_array *const *leaf, void *closure) {
    (void)in, (void)closure;
    return leaf[1];
}

Test(index, moves_through_every_operation) {
    open_all();
    static const pith_dtype dtypes[] = {PITH_I8,  PITH_U8,  PITH_I16, PITH_U16,
                                        PITH_I32, PITH_U32, PITH_I64, PITH_U64};
    for (int d = 0; d < 8; d++) {
        const Group *a = group(index_of(dtypes[d], 3, left_keys, VALUES(2, 0, 3, 1)), 0);
        const Group *b = group(index_of(dtypes[d], 4, right_keys, VALUES(0, 4, 2, 1)), 9);
        const void *trees[] = {a, b};
        const Group *made = pith_tree_concat(s, 2, trees, 0);
        pt_ok(s, pith_is(Group, made));
        cr_assert_str_eq(made->system->keys, "0,1,4,7,9,10");
        cr_assert(pith_array_spec(made->system->at)->dtype == dtypes[d]);
        expect_values(made->system, VALUES(7, 1, MISSING, 4, 0, MISSING, 9, 4));
        made = pith_tree_stack(s, 2, trees);
        pt_ok(s, made);
        expect_values(made->system, VALUES(7, 1, MISSING, 4, 0, MISSING, 9, 4));
        made = pith_tree_map(s, second, NULL, 2, trees, NULL);
        pt_ok(s, made);
        cr_assert_str_eq(made->system->keys, "0,1,4,7,9,10");
        expect_values(made->system, VALUES(0, MISSING, 9, 4));
        const pith_array *rows =
            pith_array_copy(s, PITH_I64, PITH_SHAPE(2), (int64_t[]){3, 0});
        const void *pair = pith_tree_slice(s, b, 1, &PITH_SLICE(0, 2, 1));
        made = pith_tree_scatter_set(s, a, rows, pair, NULL);
        pt_ok(s, made);
        expect_values(made->system, VALUES(MISSING, 1, MISSING, 0));
        const pith_array *pick = pith_array_copy(s, PITH_BOOL, PITH_SHAPE(4),
                                                 (bool[]){true, false, false, true});
        made = pith_tree_where_broadcast_last(s, pick, a, b);
        pt_ok(s, made);
        expect_values(made->system, VALUES(7, MISSING, 9, 4));
    }
    close_all();
}

/* Random vocabularies and integers of two axes: what is joined stands for the keys that
 * its parts stand for. */
Test(index, keeps_its_keys_when_joined) {
    open_all();
    uint64_t state = 7;
    for (int trial = 0; trial < 100; trial++) {
        enum { TREES = 3, N = 6 };
        const void *trees[TREES];
        int64_t want[TREES * N];
        for (int t = 0; t < TREES; t++) {
            int64_t keys[8], at[N];
            int64_t count = 0;
            for (int64_t key = -4; key < 12 && count < 8; key++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                if (state >> 62 == 0)
                    keys[count++] = key * 1000003;
            }
            for (int i = 0; i < N; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                at[i] = (int64_t)(state >> 33) % 12 - 2;
                want[t * N + i] = at[i] >= 0 && at[i] < count ? keys[at[i]] : MISSING;
            }
            const pith_array *places =
                pith_array_copy(s, PITH_I64, PITH_SHAPE(2, N / 2), at);
            trees[t] = pith_index_make(s, "", count, keys, places);
        }
        const pith_index *joined = pith_tree_concat(s, TREES, trees, 0);
        expect_values(joined, TREES * N, want);
        const void *const *parts = pith_tree_split(s, joined, TREES, 0);
        for (int t = 0; t < TREES; t++)
            expect_values(parts[t], N, want + t * N);
        pt_ok(s);
    }
    close_all();
}

Test(index, of_one_vocabulary_stays_itself) {
    open_all();
    const pith_index *a = index_of(PITH_I32, 3, left_keys, VALUES(2, -5, 77));
    const void *trees[] = {a, a};
    const pith_index *joined = pith_tree_concat(s, 2, trees, 0);
    int32_t at[6];
    pt_ok(s, pith_read(s, joined->at, at, sizeof at));
    cr_assert(at[1] == -5 && at[5] == 77, "what stands for no key goes on as it is");
    const pith_index *zeros = pith_tree_zeros_like(s, a);
    pt_ok(s, zeros);
    expect_values(zeros, VALUES(1, 1, 1));
    close_all();
}

Test(index, of_another_kind_or_too_many_keys_is_refused) {
    open_all();
    const pith_index *a = index_of(PITH_U8, 3, left_keys, VALUES(0, 1));
    const pith_index *b = pith_index_make(s, "particle", 4, right_keys, a->at);
    const void *trees[] = {pith_list_make(s, PITH_ITEMS(a)),
                           pith_list_make(s, PITH_ITEMS(b))};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_concat(s, 2, trees, 0));
    pt_says(
        "[0].kind: expected an index of \"system\", got one of \"particle\" in tree 1");
    int64_t many[254];
    for (int i = 0; i < 254; i++)
        many[i] = 100 + i;
    const void *large[] = {a, index_of(PITH_U8, 254, many, VALUES(253))};
    pt_ok(s);
    pt_fails(PITH_E_DTYPE, s, pith_tree_concat(s, 2, large, 0));
    pt_says("u8 is too small for 257 keys");
    close_all();
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *own = pith_open(options);
    pith_scope *in = pith_scope_open(own);
    const pith_index *a = NULL, *b = NULL, *both = NULL;
    pt_again(in, pith_is(pith_index, a = pith_index_of(in, "k", 3, left_keys)));
    if (!pith_failed(in))
        pt_again(in, pith_is(pith_index, b = pith_index_of(in, "k", 4, right_keys)));
    const void *trees[] = {a, b};
    if (!pith_failed(in))
        pt_again(in, pith_is(pith_index, both = pith_tree_concat(in, 2, trees, 0)));
    if (!pith_failed(in))
        pt_again(in, pith_index_values(in, both, 0));
    if (!pith_failed(in))
        pt_again(in, pith_index_valid(in, both));
    const pith_status code = pith_code(in);
    pith_clear(in);
    pith_scope_close(in);
    pith_close(own);
    return code;
}

Test(index, survives_every_failing_allocation) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.allocations, 10);
}
