/* One part for the ranks of a node, which all of them write. */
#include "fail_allocator.h"
#include "mesh/parts_test.h"

typedef struct node_job {
    job j; /* first */
    bool background;
    int32_t compress;
} node_job;

static void save_per_node(fake_rank *r) {
    const node_job *n = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, n->j.seed, n->j.rows), NULL);
    const pith_save_options o = {.step = 17,
                                 .part_per_node = true,
                                 .background = n->background,
                                 .compress = n->compress};
    FAKE_CHECK(r, pith_save(r->s, a, n->j.path, &o) && pith_save_wait(r->s));
    FAKE_CHECK(r, !pith_failed(r->s));
}

static fake_result
run_on(const node_job *n, int size, int nodes, uint64_t seed, void (*body)(fake_rank *)) {
    return fake_run(&(fake_options){.size = size,
                                    .nodes = nodes,
                                    .timeout = 60,
                                    .seed = seed,
                                    .closure = (void *)(uintptr_t)n},
                    body);
}

static void
passes(const node_job *n, int size, int nodes, uint64_t seed, void (*body)(fake_rank *)) {
    const fake_result result = run_on(n, size, nodes, seed, body);
    cr_assert(result.failures == 0 && !result.ended, "%d ranks on %d nodes: %s", size,
              nodes, result.report);
}

Test(node_parts, other_numbers_read_them) {
    static const int shapes[][2] = {{1, 1}, {2, 1}, {4, 1}, {4, 2}, {3, 3}, {6, 2}};
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int way = 0; way < 4; way++) {
            const int size = shapes[i][0], nodes = shapes[i][1];
            node_job n = {
                .j = begin(), .background = way % 2, .compress = way > 1 ? 3 : 0};
            n.j.seed = i;
            passes(&n, size, nodes, (uint64_t)i, save_per_node);
            cr_assert(count_files(n.j.folder, ".r0") == 2 * nodes, "%d on %d: %d", size,
                      nodes, count_files(n.j.folder, ".r0"));
            cr_assert(count_files(n.j.folder, "") == 2 * nodes + 1);
            for (int m = 1; m <= 4; m++)
                run(&n.j, m, load);
            cr_assert(alone_is(&n.j, i, ROWS));
            remove_folder(n.j.folder);
        }
}

/* ---- Compressed shards ---- */

typedef struct {
    const pith_array *steps, *noise, *plain, *none;
    int64_t n, none_n;
} Packed;
PITH_NODE(Packed,
          PITH_LEAF(steps, "i64[n,3]", .shard = "x", .compress = 3),
          PITH_LEAF(noise, "u8[n]", .shard = "x", .compress = 3),
          PITH_LEAF(plain, "f64[n]", .shard = "x"),
          PITH_LEAF(none, "f32[none_n]", .shard = "x", .compress = 3),
          PITH_STATIC(n),
          PITH_STATIC(none_n))

/* Several frames on each rank, of which all but the first hold other numbers. */
static const Packed *packed_of(pith_scope *s) {
    const int64_t n = 4 * 100000;
    const pith_array *i = pith_iota(s, PITH_I64, PITH_SHAPE(n, 3), 0),
                     *key = pith_random_key(s, 7);
    const Packed a = {
        .steps = pith_floor_divide(s, pith_mul(s, i, i), 100000),
        .noise = pith_random_bits(s, key, PITH_U8, PITH_SHAPE(n), NULL),
        .plain = pith_zeros(s, PITH_F64, PITH_SHAPE(n)),
        .none = pith_zeros(s, PITH_F32, PITH_SHAPE(0)),
        .n = n,
    };
    return pith_freeze(s, Packed, &a);
}

static void save_packed(fake_rank *r) {
    const node_job *n = r->closure;
    const pith_save_options o = {
        .part_per_node = true, .background = n->background, .compress = n->compress};
    const Packed *a = pith_shard(r->s, packed_of(r->s), NULL);
    FAKE_CHECK(r, pith_save(r->s, a, n->j.path, &o) && pith_save_wait(r->s));
    pith_agree(r->s);
    const Packed *back = pith_unshard(r->s, pith_load(r->s, Packed, n->j.path), -1);
    FAKE_CHECK(r, pith_tree_equal(r->s, back, packed_of(r->s)));
}

/* Leaves of all parts that are compressed. */
static int count_compressed(const job *j) {
    int count = 0;
    char path[600];
    pith_checkpoint_part part;
    pith_checkpoint_leaf row;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const pith_checkpoint *c = pith_checkpoint_open(s, j->path);
    char before[256] = "";
    for (int64_t i = 0; pith_checkpoint_get_part(c, i, &part); i++) {
        if (strcmp(part.file, before) == 0)
            continue;
        snprintf(before, sizeof before, "%s", part.file);
        snprintf(path, sizeof path, "%s/%s", j->folder, part.file);
        const pith_checkpoint *own = pith_checkpoint_open(s, path);
        for (int64_t k = 0; pith_checkpoint_get_leaf(own, k, &row); k++) {
            count += row.compressed;
            cr_assert(pith_checkpoint_verify(s, own, k), "%s", pith_message(s));
        }
    }
    pith_scope_close(s);
    pith_close(rt);
    return count;
}

Test(node_parts, of_compressed_shards, .timeout = 60) {
    static const struct {
        int32_t compress;
        int each; /* compressed leaves of a rank: noise does not shrink */
    } ways[] = {{0, 1}, {1, 2}, {-1, 0}};
    for (int i = 0; i < 6; i++) {
        node_job n = {
            .j = begin(), .background = i % 2, .compress = ways[i / 2].compress};
        passes(&n, 4, 1 + i % 2, (uint64_t)i, save_packed);
        cr_assert(count_compressed(&n.j) == 4 * ways[i / 2].each, "%d: %d", i,
                  count_compressed(&n.j));
        cr_assert(count_files(n.j.folder, "") == 2 * (1 + i % 2) + 1);
        remove_folder(n.j.folder);
    }
}

/* With parts of ranks in turn: each save replaces the parts of the one before. */
Test(node_parts, replace_parts_of_ranks) {
    node_job n = {.j = begin()};
    run(&n.j, 4, save);
    n.j.seed = 2;
    passes(&n, 4, 2, 0, save_per_node);
    cr_assert(count_files(n.j.folder, ".r0") == 4);
    cr_assert(alone_is(&n.j, 2, ROWS));
    run(&n.j, 3, save);
    cr_assert(count_files(n.j.folder, ".r0") == 6);
    remove_folder(n.j.folder);
}

/* Options that these parts cannot have are errors, not passed over. */
static void save_with_options(fake_rank *r) {
    const node_job *n = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, n->j.seed, n->j.rows), NULL);
    const pith_save_options wrong = {.part_per_node = true, .inline_all = true};
    FAKE_CHECK(r, !pith_save(r->s, a, n->j.path, &wrong));
    FAKE_CHECK(r, pith_code(r->s) == PITH_E_ARG);
    FAKE_CHECK(r, strstr(pith_message(r->s), "part_per_node excludes ") != NULL);
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(node_parts, refuse_options) {
    node_job n = {.j = begin()};
    passes(&n, 3, 1, 0, save_with_options);
    cr_assert(count_files(n.j.folder, "") == 0);
    remove_folder(n.j.folder);
}

/* ---- Failures ---- */

/* Rank 2 finds a bool that is neither 0 nor 1 when it writes. */
static void save_damaged(fake_rank *r) {
    static uint8_t elements[FAKE_MOST_RANKS][3];
    const node_job *n = r->closure;
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    uint8_t *own = elements[r->rank];
    own[0] = own[1] = own[2] = 1;
    const pith_array *a =
        pith_shard_local(r->s, pith_array_borrow(r->s, PITH_BOOL, PITH_SHAPE(3), own), x);
    const pith_save_options o = {.part_per_node = true, .background = n->background};
    if (r->rank == 2)
        own[1] = 7;
    FAKE_CHECK(r, !pith_save(r->s, a, n->j.path, &o) || !pith_save_wait(r->s));
    FAKE_CHECK(r, pith_code(r->s) == (r->rank == 2 ? PITH_E_FORMAT : PITH_E_PEER));
    FAKE_CHECK(r, strstr(pith_message(r->s), "got 7") != NULL);
    pith_clear(r->s);
    own[1] = 0;
    FAKE_CHECK(r, pith_save(r->s, a, n->j.path, &o) && pith_save_wait(r->s));
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(node_parts, one_outcome_on_all_ranks) {
    for (int background = 0; background < 2; background++) {
        node_job n = {.j = begin(), .background = background};
        passes(&n, 4, 2, 0, save_damaged);
        passes(&n, 4, 1, 1, save_damaged);
        cr_assert(count_files(n.j.folder, "") == 3, "%d", count_files(n.j.folder, ""));
        remove_folder(n.j.folder);
    }
}

static void save_until_killed(fake_rank *r) {
    const node_job *n = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, n->j.seed, n->j.rows), NULL);
    const pith_save_options o = {
        .part_per_node = true, .background = n->background, .compress = n->compress};
    pith_save(r->s, a, n->j.path, &o);
    pith_save_wait(r->s);
}
Test(node_parts, a_killed_rank_leaves_one_complete_checkpoint) {
    enum { JOINED = 8 };
    int old = 0, new = 0;
    bool ended = true;
    for (int64_t k = JOINED; ended; k++) {
        node_job n = {.j = begin(), .background = k % 2, .compress = (int32_t)(k % 3)};
        passes(&n, 3, 1, 0, save_per_node);
        n.j.seed = 2;
        ended = fake_run(&(fake_options){.size = 4,
                                         .nodes = 2,
                                         .timeout = 5,
                                         .seed = (uint64_t)k,
                                         .closure = &n,
                                         .refuse_rank = k % 4,
                                         .refuse_at = k},
                         save_until_killed)
                    .ended != 0;
        const bool is_old = alone_is(&n.j, 1, ROWS),
                   is_new = !is_old && alone_is(&n.j, 2, ROWS);
        cr_assert(is_old || is_new, "call %d", (int)k);
        old += is_old;
        new += is_new;
        n.background = false;
        passes(&n, 2, 1, 0, save_per_node);
        cr_assert(count_files(n.j.folder, ".r0") == 2, "call %d", (int)k);
        remove_folder(n.j.folder);
    }
    cr_assert(old > 3 && new > 0, "%d, %d", old, new);
}
