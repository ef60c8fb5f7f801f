/* Every system call of a save by ranks fails once, on whatever rank makes it: a full
 * disk, lost permissions, a broken disk. All ranks have one outcome, and the old or the
 * new checkpoint is complete. */
#include "checkpoint/fault_shim.h"
#include "mesh/parts_test.h"

typedef struct faulty {
    job j; /* first */
    fault kind;
    int error, at;
    pith_save_options options;
    int saved, failed, held[3];
    bool over; /* no call was struck */
} faulty;

static const PartAtoms *state(fake_rank *r, double seed) {
    const job *j = r->closure;
    return pith_shard(r->s, whole_of(r->s, seed, j->rows), NULL);
}

static bool save_of(fake_rank *r, double seed, const pith_save_options *o) {
    const job *j = r->closure;
    return pith_save(r->s, state(r, seed), j->path, o) && pith_save_wait(r->s);
}

static int64_t count_ranks(fake_rank *r, bool flag) {
    return pith_read_i64(r->s, pith_psum(r->s, pith_i64(r->s, flag), NULL, NULL));
}

/* The seed of the state that the document holds. */
static int held(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    FAKE_CHECK(r, !pith_failed(r->s));
    const PartAtoms *whole = pith_unshard(r->s, a, -1);
    for (int seed = 1; seed <= 2; seed++)
        if (is_state(r->s, whole, seed, j->rows))
            return seed;
    return 0;
}

static void strike_once(fake_rank *r) {
    faulty *f = r->closure;
    const int64_t ranks = pith_axis_size(r->s, NULL);
    FAKE_CHECK(r, save_of(r, 1, NULL));
    const PartAtoms *next = state(r, 2);
    FAKE_CHECK(r, pith_agree(r->s));
    if (r->rank == 0)
        arm(f->kind, f->at, f->error);
    FAKE_CHECK(r, pith_agree(r->s));
    const bool saved =
        pith_save(r->s, next, f->j.path, &f->options) && pith_save_wait(r->s);
    const pith_status code = pith_code(r->s);
    const bool there = strstr(pith_message(r->s), "the new checkpoint is there") != NULL;
    FAKE_CHECK(r, saved == (code == PITH_OK));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s)); /* all have made their calls */
    if (r->rank == 0) {
        shim.kind = NO_FAULT;
        f->over = shim.calls < shim.at;
    }
    FAKE_CHECK(r, pith_agree(r->s));
    const int64_t all = count_ranks(r, saved), io = count_ranks(r, code == PITH_E_IO),
                  peers = count_ranks(r, code == PITH_E_PEER),
                  told = count_ranks(r, there);
    FAKE_CHECK(r, all == ranks || (all == 0 && io >= 1 && io + peers == ranks));
    const int got = held(r);
    FAKE_CHECK(r, got == (saved || told ? 2 : 1));
    if (got != (saved || told ? 2 : 1) || (all && all != ranks))
        fprintf(stderr, "%s, call %d: %d of %d saved, state %d\n", shim.name, shim.at,
                (int)all, (int)ranks, got);
    FAKE_CHECK(r, save_of(r, 2, &f->options) && held(r) == 2);
}

/* Let each call fail in turn; how many there are. */
static int strike_each(fault kind, int error, const pith_save_options *o) {
    faulty f = {.j = begin(), .kind = kind, .error = error, .options = *o};
    f.j.rows = 300;
    while (!f.over) {
        f.at++;
        run(&f.j, 2, strike_once);
        cr_assert(count_files(f.j.folder, ".r0") <= 4 + 2, "call %d: %d files", f.at,
                  count_files(f.j.folder, ".r0"));
    }
    remove_folder(f.j.folder);
    return f.at - 1;
}

Test(parts_faults, have_one_outcome, .timeout = 600) {
    cr_assert(strike_each(FAIL, ENOSPC, &(pith_save_options){.step = 1}) > 50);
}
Test(parts_faults, of_parts_of_nodes_have_one_outcome, .timeout = 600) {
    const pith_save_options o = {.part_per_node = true, .compress = 1};
    cr_assert(strike_each(FAIL, EACCES, &o) > 50);
}
Test(parts_faults, in_the_background_have_one_outcome, .timeout = 600) {
    cr_assert(strike_each(FAIL, ENOSPC, &(pith_save_options){.background = true}) > 50);
}

/* A disk that has failed once goes on failing, for all ranks. */
Test(parts_faults, that_last_have_one_outcome, .timeout = 600) {
    cr_assert(strike_each(FAIL_FROM, EROFS, &(pith_save_options){.step = 1}) > 50);
}

/* ---- Cost ---- */

static void replace_counted(fake_rank *r) {
    FAKE_CHECK(r, save_of(r, 1, NULL) && pith_agree(r->s));
    if (r->rank == 0)
        arm(FAIL, INT32_MAX, 0); /* counts calls, and strikes none */
    FAKE_CHECK(r, pith_agree(r->s) && save_of(r, 2, NULL) && pith_agree(r->s));
    if (r->rank == 0)
        shim.kind = NO_FAULT;
}

/* System calls of a save that replaces the parts of as many ranks. */
static int calls_of(int ranks) {
    faulty f = {.j = begin()};
    f.j.rows = 96 * 40;
    run(&f.j, ranks, replace_counted);
    cr_assert(count_files(f.j.folder, ".r0") == 2 * ranks);
    remove_folder(f.j.folder);
    return shim.calls;
}

/* A look at all files of the folder for each part that goes would be a quadratic one. */
Test(parts_faults, calls_grow_as_ranks_do) {
    const int two = calls_of(2), four = calls_of(4), eight = calls_of(8);
    cr_assert(eight - four < 2.2 * (four - two), "%d, %d, %d", two, four, eight);
}
