/* Background saves of many ranks: threads write and name the parts while the ranks go on,
 * and all ranks get one outcome. */
#include "mesh/parts_memory.h"
#include "mesh/parts_test.h"

#include <fcntl.h>
#include <sys/file.h>

static const pith_save_options in_background = {.background = true, .step = 17};

static const PartAtoms *state_of(fake_rank *r) {
    const job *j = r->closure;
    return pith_shard(r->s, whole_of(r->s, j->seed, j->rows), NULL);
}

static bool start(fake_rank *r) {
    const job *j = r->closure;
    return pith_save(r->s, state_of(r), j->path, &in_background) && !pith_failed(r->s);
}

static bool is_there(const job *j) {
    return access(j->path, F_OK) == 0;
}

/* ---- While ranks go on ---- */

static int lock; /* of the folder: no thread can name a file before it is released */

static void save_and_go_on(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, start(r));
    const pith_array *sum = pith_psum(r->s, pith_f64(r->s, 2), NULL, NULL);
    FAKE_CHECK(r, pith_read_f64(r->s, sum) == 2.0 * (double)pith_axis_size(r->s, NULL));
    FAKE_CHECK(r, !is_there(j));
    FAKE_CHECK(r, pith_agree(r->s));
    if (r->rank == 0)
        flock(lock, LOCK_UN);
    FAKE_CHECK(r, pith_save_wait(r->s) && is_there(j));
    FAKE_CHECK(r, pith_save_wait(r->s)); /* there is none */
}
Test(background_parts, ranks_go_on) {
    for (int size = 1; size <= 4; size++) {
        job j = begin();
        lock = open(j.folder, O_RDONLY | O_DIRECTORY);
        cr_assert(flock(lock, LOCK_EX) == 0);
        run(&j, size, save_and_go_on);
        run(&j, 3, load);
        cr_assert(alone_is(&j, 1, ROWS));
        cr_assert(count_files(j.folder, ".r0") == 2 * size);
        close(lock);
        remove_folder(j.folder);
    }
}

/* The document is named without a call of any rank. */
static void save_and_watch(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, start(r));
    for (int ms = 0; ms < 20000 && !is_there(j); ms++)
        usleep(1000);
    FAKE_CHECK(r, is_there(j));
    FAKE_CHECK(r, pith_save_wait(r->s));
}
Test(background_parts, names_them_without_a_call) {
    job j = begin();
    run(&j, 3, save_and_watch);
    run(&j, 2, load);
    remove_folder(j.folder);
}

static void save_and_close(fake_rank *r) {
    FAKE_CHECK(r, start(r));
}
Test(background_parts, closing_waits) {
    job j = begin();
    run(&j, 3, save_and_close);
    cr_assert(alone_is(&j, 1, ROWS));
    remove_folder(j.folder);
}

/* A save waits for the one before, and a load of the same document does. */
static void save_again(fake_rank *r) {
    job *j = r->closure;
    for (int i = 0; i < 5; i++) {
        const PartAtoms *a = pith_shard(r->s, whole_of(r->s, i, j->rows), NULL);
        FAKE_CHECK(r, pith_save(r->s, a, j->path, &in_background));
        if (i % 2 == 0) {
            const PartAtoms *back = pith_load(r->s, PartAtoms, j->path);
            FAKE_CHECK(r, is_state(r->s, pith_unshard(r->s, back, -1), i, j->rows));
        }
    }
}
Test(background_parts, one_after_the_other) {
    for (int size = 1; size <= 3; size++) {
        job j = begin();
        run(&j, size, save_again);
        cr_assert(alone_is(&j, 4, ROWS));
        cr_assert(count_files(j.folder, ".r0") == 2 * size, "those of the last one");
        remove_folder(j.folder);
    }
}

/* Another spelling of the path of the document. */
static const char *other_path(const job *j, char path[320]) {
    snprintf(path, 320, "%s/./melt.json", j->folder);
    return path;
}

/* One rank cannot wait for a save that all of them settle: the save is refused, and
 * nothing is lost. A load, which all ranks call, waits. */
static void save_plain(fake_rank *r) {
    char path[320];
    const job *j = r->closure;
    const void *plain = pith_f64(r->s, 5);
    other_path(j, path);
    FAKE_CHECK(r, start(r));
    const bool alone = pith_axis_size(r->s, NULL) == 1;
    FAKE_CHECK(r, pith_save(r->s, plain, path, NULL) == alone);
    FAKE_CHECK(r, pith_code(r->s) == (alone ? PITH_OK : PITH_E_ARG));
    FAKE_CHECK(r, alone || strstr(pith_message(r->s), "call pith_save_wait on all"));
    pith_clear(r->s);
    if (alone)
        FAKE_CHECK(r,
                   pith_tree_equal(r->s, plain, pith_load_any(r->s, NULL, path, NULL)));
    FAKE_CHECK(r, pith_save(r->s, state_of(r), path, &in_background));
    const PartAtoms *a = pith_load(r->s, PartAtoms, j->path);
    FAKE_CHECK(r, is_state(r->s, pith_unshard(r->s, a, -1), j->seed, j->rows));
    FAKE_CHECK(r, pith_save_wait(r->s));
    if (r->rank == 0) {
        FAKE_CHECK(r, pith_save(r->s, plain, path, NULL));
        FAKE_CHECK(r,
                   pith_tree_equal(r->s, plain, pith_load_any(r->s, NULL, path, NULL)));
    }
}
Test(background_parts, saves_of_one_rank_keep_the_order) {
    for (int size = 1; size <= 3; size += 2) {
        job j = begin();
        run(&j, size, save_plain);
        remove_folder(j.folder);
    }
}

static void save_series(fake_rank *r) {
    const job *j = r->closure;
    const pith_save_options o = {.background = true, .keep = 2};
    for (int i = 0; i < 5; i++)
        FAKE_CHECK(r, pith_save(r->s, pith_shard(r->s, whole_of(r->s, i, j->rows), NULL),
                                j->path, &o));
}
static void load_newest(fake_rank *r) {
    const job *j = r->closure;
    const PartAtoms *a = pith_load_any(r->s, PartAtoms_pith_type(), j->path,
                                       &(pith_load_options){.newest = true});
    FAKE_CHECK(r, !pith_failed(r->s));
    FAKE_CHECK(r, is_state(r->s, pith_unshard(r->s, a, -1), 4, j->rows));
}
Test(background_parts, members_of_a_series) {
    job j = begin();
    run(&j, 3, save_series);
    run(&j, 2, load_newest);
    cr_assert(count_files(j.folder, ".r0") == 2 * 2 * 3, "%d",
              count_files(j.folder, ".r0"));
    remove_folder(j.folder);
}

/* Damage that one rank finds: all of them pass over the member, and say so. */

static int64_t nanoseconds_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

/* Change a byte in the sidecar of the newest part with that text in its name. */
static void damage_newest(const job *j, const char *part) {
    char path[1024] = "", newest[1024] = "";
    DIR *listing = opendir(j->folder);
    for (struct dirent *e; (e = readdir(listing));) {
        snprintf(path, sizeof path, "%s/%s", j->folder, e->d_name);
        if (strstr(path, part) && strstr(path, ".safetensors") &&
            nanoseconds_of(path) > nanoseconds_of(newest))
            memcpy(newest, path, sizeof path);
    }
    closedir(listing);
    FILE *file = fopen(newest, "r+b");
    cr_assert(file && fseek(file, -9, SEEK_END) == 0);
    const int byte = fgetc(file);
    cr_assert(fseek(file, -9, SEEK_END) == 0 && fputc(byte ^ 1, file) != EOF);
    fclose(file);
}

static void count_passed_over(const char *path, const char *text, void *closure) {
    (void)path;
    *(int *)closure += strstr(text, "damaged in") != NULL;
}
static void load_older(fake_rank *r) {
    const job *j = r->closure;
    int passed = 0;
    const pith_load_options o = {
        .newest = true, .passed_over = count_passed_over, .closure = &passed};
    const PartAtoms *a = pith_load_any(r->s, PartAtoms_pith_type(), j->path, &o);
    FAKE_CHECK(r, !pith_failed(r->s) && passed == 1);
    FAKE_CHECK(r, is_state(r->s, pith_unshard(r->s, a, -1), 3, j->rows));
}
Test(background_parts, damage_of_one_part_of_a_series) {
    job j = begin();
    run(&j, 3, save_series);
    damage_newest(&j, ".r0001of0003.");
    for (int size = 1; size <= 4; size++)
        run(&j, size, load_older);
    remove_folder(j.folder);
    j = begin();
    run(&j, 2, save_series);
    damage_newest(&j, ".r0000of0002.");
    run(&j, 2, load_older);
    remove_folder(j.folder);
}

/* ---- Failures of one rank ---- */

/* The thread of rank 1 finds a bool that is neither 0 nor 1, in borrowed memory that was
 * changed. */
static const pith_array *bools_of(fake_rank *r, bool damaged) {
    static uint8_t elements[FAKE_MOST_RANKS][2][3];
    uint8_t *own = elements[r->rank][damaged];
    own[0] = 0, own[1] = own[2] = 1;
    const pith_array *a = pith_array_borrow(r->s, PITH_BOOL, PITH_SHAPE(3), own);
    if (damaged && r->rank == 1)
        own[1] = 7;
    return pith_shard_local(r->s, a, PITH_SPECS({"", "x", NULL}));
}

static void check_error(fake_rank *r) {
    const pith_status code = r->rank == 1 ? PITH_E_FORMAT : PITH_E_PEER;
    const char *text = pith_message(r->s);
    FAKE_CHECK(r, pith_code(r->s) == code);
    FAKE_CHECK(r, strstr(text, "a checkpoint saved in the background: ") != NULL);
    FAKE_CHECK(r, strstr(text, "got 7") != NULL);
    pith_clear(r->s);
}

static void save_damaged(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, pith_save(r->s, bools_of(r, false), j->path, NULL));
    /* told by the wait */
    FAKE_CHECK(r, pith_save(r->s, bools_of(r, true), j->path, &in_background));
    FAKE_CHECK(r, !pith_save_wait(r->s));
    check_error(r);
    FAKE_CHECK(r, pith_agree(r->s) && pith_save_wait(r->s));
    /* by the next save */
    FAKE_CHECK(r, pith_save(r->s, bools_of(r, true), j->path, &in_background));
    FAKE_CHECK(r, !pith_save(r->s, bools_of(r, false), j->path, NULL));
    check_error(r);
    /* by a load of the document */
    FAKE_CHECK(r, pith_save(r->s, bools_of(r, true), j->path, &in_background));
    FAKE_CHECK(r, !pith_load_any(r->s, NULL, j->path, NULL));
    check_error(r);
    const pith_array *back = pith_load_any(r->s, NULL, j->path, NULL);
    FAKE_CHECK(r, back && pith_tree_equal(r->s, pith_unshard(r->s, back, -1),
                                          pith_unshard(r->s, bools_of(r, false), -1)));
    FAKE_CHECK(r, pith_agree(r->s));
}
Test(background_parts, one_outcome_on_all_ranks) {
    job j = begin();
    run(&j, 2, save_damaged);
    run(&j, 3, save_damaged);
    cr_assert(count_files(j.folder, ".r0") == 3, "those of the good one");
    remove_folder(j.folder);
}

/* An error of a scope is not one of the save, which all ranks settle. */
static void wait_with_an_error(fake_rank *r) {
    const job *j = r->closure;
    FAKE_CHECK(r, start(r));
    if (r->rank == 1)
        pith_fail(r->s, PITH_E_ARG, NULL, "of the program");
    FAKE_CHECK(r, pith_save_wait(r->s) == (r->rank != 1) && is_there(j));
    FAKE_CHECK(r, pith_code(r->s) == (r->rank == 1 ? PITH_E_ARG : PITH_OK));
    FAKE_CHECK(r, !pith_agree(r->s));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_agree(r->s));
    /* a rank that comes to the call with an error frees the others */
    const PartAtoms *a = state_of(r);
    if (r->rank == 1)
        pith_fail(r->s, PITH_E_ARG, NULL, "of the program");
    FAKE_CHECK(r, !pith_save(r->s, a, j->path, &in_background));
    FAKE_CHECK(r, pith_code(r->s) == (r->rank == 1 ? PITH_E_ARG : PITH_E_PEER));
    pith_clear(r->s);
    FAKE_CHECK(r, pith_save(r->s, a, j->path, NULL));
}
Test(background_parts, waits_with_an_error_of_the_scope) {
    job j = begin();
    run(&j, 3, wait_with_an_error);
    remove_folder(j.folder);
}

/* The process of a rank ends after its n-th call of the engine. */
static void save_until_killed(fake_rank *r) {
    const job *j = r->closure;
    pith_save(r->s, state_of(r), j->path, &in_background);
    pith_save_wait(r->s);
}
enum { JOINED = 8 };
Test(background_parts, a_killed_rank_leaves_one_complete_checkpoint) {
    int old = 0, new = 0;
    bool ended = true;
    for (int64_t n = JOINED; ended; n++) {
        job j = begin();
        run(&j, 3, save);
        j.seed = 2;
        const fake_options options = {.size = 3,
                                      .timeout = 5,
                                      .seed = (uint64_t)n,
                                      .closure = &j,
                                      .refuse_rank = n % 2,
                                      .refuse_at = n};
        ended = fake_run(&options, save_until_killed).ended != 0;
        const bool is_old = alone_is(&j, 1, ROWS),
                   is_new = !is_old && alone_is(&j, 2, ROWS);
        cr_assert(is_old || is_new, "call %d", (int)n);
        old += is_old;
        new += is_new;
        run(&j, 2, save);
        cr_assert(count_files(j.folder, ".r0") == 4, "call %d", (int)n);
        remove_folder(j.folder);
    }
    cr_assert(old > 3 && new > 0, "%d, %d", old, new);
}

/* ---- Short memory ---- */

Test(background_parts, survive_short_memory) {
    survives_short_memory(&in_background, 40, 1);
}
