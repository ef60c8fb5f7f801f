/* One part for the ranks of a node, which all of them write. */
#include "fail_allocator.h"
#include "mesh/parts_test.h"

typedef struct node_job {
    job j; /* first */
    bool background, damaged;
} node_job;

static void save_per_node(fake_rank *r) {
    const node_job *n = r->closure;
    const PartAtoms *a = pith_shard(r->s, whole_of(r->s, n->j.seed, n->j.rows), NULL);
    const pith_save_options o = {
        .step = 17, .part_per_node = true, .background = n->background};
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
        for (int background = 0; background < 2; background++) {
            const int size = shapes[i][0], nodes = shapes[i][1];
            node_job n = {.j = begin(), .background = background};
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
    const pith_save_options wrong[] = {{.part_per_node = true, .compress = 3},
                                       {.part_per_node = true, .inline_all = true}};
    for (int i = 0; i < 2; i++) {
        FAKE_CHECK(r, !pith_save(r->s, a, n->j.path, &wrong[i]));
        FAKE_CHECK(r, pith_code(r->s) == PITH_E_ARG);
        FAKE_CHECK(r, strstr(pith_message(r->s), "part_per_node excludes ") != NULL);
        pith_clear(r->s);
    }
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
    const pith_save_options o = {.part_per_node = true, .background = n->background};
    pith_save(r->s, a, n->j.path, &o);
    pith_save_wait(r->s);
}
Test(node_parts, a_killed_rank_leaves_one_complete_checkpoint) {
    enum { JOINED = 8 };
    int old = 0, new = 0;
    bool ended = true;
    for (int64_t k = JOINED; ended; k++) {
        node_job n = {.j = begin(), .background = k % 2};
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
