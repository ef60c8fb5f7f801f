/* Every system call of a save and of a load fails once, and once more kills the process:
 * what is then in the folder is the old checkpoint or the new one, whole. */
#include "checkpoint/store/direct_io.h"
#include "fault_shim.h"
#include "series.h"

#include <sys/wait.h>

/* ---- Scenarios: a state with a sidecar of several pieces, and one without ---- */

static const Sim *state(pith_scope *s, int seed, bool large) {
    return make_sim(s, large ? 40000 : 20, seed);
}

static void save_state(int seed, bool large) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_save(s, state(s, seed, large), "a.json", NULL));
    pith_scope_close(s);
    pt_close(rt);
}

/* Which of two states the checkpoint holds, whole: the seed. */
static int held_state(pith_scope *s, int old, int fresh, bool large) {
    const Sim *sim = pith_load(s, Sim, "a.json");
    pt_ok(s, sim);
    const double energy = pith_read_f64(s, sim->energy);
    const int seed = energy < -6.77 + (old + fresh) / 2.0 ? old : fresh;
    cr_assert(ct_same_bits(s, sim, state(s, seed, large)), "a mixture");
    return seed;
}

/* Runs a save with each call failing. Returns how many calls it makes. */
static int fail_each(fault kind, int error, bool large, bool retried) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    int n = -(error % pt_apart()); /* errors meet different calls */
    for (bool done = false; !done;) {
        pith_scope *inner = pith_scope_open_in(s);
        pt_ok(inner, pith_save(inner, state(inner, 1, large), "a.json", NULL));
        const Sim *next = state(inner, 2, large);
        arm(kind, n += pt_apart(), error);
        const bool saved = pith_save(inner, next, "a.json", NULL);
        done = shim.calls < n;
        shim.kind = NO_FAULT;
        cr_assert(saved == !pith_failed(inner));
        if (!saved) {
            cr_assert(pith_code(inner) == PITH_E_IO, "%s: %s", shim.name,
                      pith_message(inner));
            cr_assert(strstr(pith_message(inner), "\"a.json\": "), "%s",
                      pith_message(inner));
            cr_assert(!retried, "%s was not tried again", shim.name);
        }
        const bool told =
            strstr(pith_message(inner), "the new checkpoint is there") != NULL;
        pith_clear(inner);
        const int held = held_state(inner, 1, 2, large);
        cr_assert(held == (saved || told ? 2 : 1), "%s (call %d)", shim.name, n);
        cr_assert(pith_save(inner, next, "a.json", NULL), "again: %s",
                  pith_message(inner));
        pith_scope_close(inner);
        /* Only a call that takes something away may leave something behind, for a while.
         */
        cr_assert(ct_count_files() <= (large ? 2 : 1) + 1, "call %d, %s", n, shim.name);
    }
    pith_scope_close(s);
    pt_close(rt);
    return n - 1;
}

Test(faults, of_every_call_leave_the_old_or_the_new_checkpoint) {
    ct_begin();
    cr_assert(fail_each(FAIL, EIO, true, false) > 30);
    cr_assert(fail_each(FAIL, ENOSPC, true, false) > 30);
    cr_assert(fail_each(FAIL, EIO, false, false) > 15);
    ct_end();
}

/* A disk that has failed once goes on failing. */
Test(faults, that_last_leave_the_old_or_the_new_checkpoint) {
    ct_begin();
    save_state(1, true);
    int n = 0;
    for (bool done = false; !done;) {
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        const Sim *next = state(s, 2, true);
        arm(FAIL_FROM, n += pt_apart(), EROFS);
        pith_save(s, next, "a.json", NULL);
        done = shim.calls < n;
        shim.kind = NO_FAULT;
        pith_clear(s);
        held_state(s, 1, 2, true);
        pith_scope_close(s);
        pt_close(rt);
        save_state(1, true);
        cr_assert(ct_count_files() == 2, "%d files are left", ct_count_files());
    }
    cr_assert(n > 30);
    ct_end();
}

Test(faults, that_interrupt_are_tried_again) {
    static const char *const calls[] = {"write", "fsync", "fallocate", "pwrite"};
    ct_begin();
    save_state(1, true);
    int interrupted = 0, n = 0;
    for (bool done = false; !done;) {
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        const Sim *next = state(s, 2, true);
        arm(FAIL, ++n, EINTR);
        const bool saved =
            pith_save(s, next, "a.json", &(pith_save_options){.compress = 1});
        done = shim.calls < n;
        shim.kind = NO_FAULT;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
            if (strcmp(shim.name, calls[i]) == 0) {
                cr_assert(saved, "%s: %s", shim.name, pith_message(s));
                interrupted++;
            }
        pith_clear(s);
        pith_scope_close(s);
        pt_close(rt);
    }
    cr_assert(interrupted > 5);
    ct_end();
}

Test(faults, of_a_full_disk_leave_what_was_there) {
    static const pith_save_options ways[] = {
        {.keep = 3}, {.keep = 3, .incremental = true}, {.keep = 3, .compress = 1}};
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const int full = open("/dev/full", O_WRONLY);
    cr_assert(full >= 0);
    for (int i = 0; i < 3; i++) {
        pt_ok(s, pith_save(s, state(s, 1, true), "a.json", &ways[i]));
        const Sim *next = state(s, 2, true);
        arm(FULL, 0, 0);
        shim.full = full;
        cr_assert(!pith_save(s, next, "a.json", &ways[i]));
        shim.kind = NO_FAULT;
        cr_assert(strstr(pith_message(s), "cannot write \"a.json\": write: "
                                          "No space left on device"),
                  "%s", pith_message(s));
        pith_clear(s);
        const Sim *there = pith_load_any(s, Sim_pith_type(), "a.json",
                                         &(pith_load_options){.newest = true});
        pt_ok(s, ct_same_bits(s, there, state(s, 1, true)));
        cr_assert(ct_nothing_is_left());
    }
    close(full);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(faults, of_short_writes_do_not_matter) {
    ct_begin();
    arm(SHORT, -1, 0);
    save_state(2, true);
    shim.kind = NO_FAULT;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    cr_assert(held_state(s, 1, 2, true) == 2);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* The process dies at each call in turn. */
static int kill_each(bool large) {
    int n = 0, news = 0;
    for (bool done = false; !done;) {
        save_state(1, large);
        n += pt_apart();
        const pid_t child = fork();
        if (child == 0) {
            pith_runtime *rt =
                pith_open(&(pith_open_options){.device = "host", .threads = 1});
            pith_scope *s = pith_scope_open(rt);
            const Sim *next = state(s, 2, large);
            arm(KILL, n, 0);
            _exit(pith_save(s, next, "a.json", NULL) ? 0 : 1);
        }
        int status;
        cr_assert(child > 0 && waitpid(child, &status, 0) == child);
        done = WIFEXITED(status);
        cr_assert(!done || WEXITSTATUS(status) == 0);
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        news += held_state(s, 1, 2, large) == 2;
        pith_scope_close(s);
        pt_close(rt);
        save_state(3, large); /* takes what the dead one left */
        cr_assert(ct_count_files() == (large ? 2 : 1), "call %d: %d files", n,
                  ct_count_files());
    }
    cr_assert(news >= (pt_apart() > 1 ? 1 : 2),
              "the last calls come when the new one is there");
    return n - 1;
}

Test(faults, that_kill_leave_the_old_or_the_new_checkpoint, .timeout = 120) {
    ct_begin();
    cr_assert(kill_each(true) > 30);
    ct_end();
    ct_begin();
    cr_assert(kill_each(false) > 15);
    ct_end();
}

/* ---- Large files, which a thread writes past the page cache ---- */

static void begin_direct(void) {
    ct_begin();
    offer_direct = true;
    pithp_direct_io_limits =
        (pithp_direct_io_bounds){.least = 1 << 20, .piece = 256 << 10};
}

Test(faults, of_direct_writes_leave_the_old_or_the_new_checkpoint, .timeout = 120) {
    begin_direct();
    cr_assert(fail_each(FAIL, EIO, true, false) > 40);
    cr_assert(fail_each(FAIL, ENOSPC, true, false) > 40);
    ct_end();
}

Test(faults,
     that_kill_direct_writers_leave_the_old_or_the_new_checkpoint,
     .timeout = 120) {
    begin_direct();
    cr_assert(kill_each(true) > 40);
    ct_end();
}

/* A write that is refused or ends at an odd place goes on through the page cache. */
Test(faults, of_direct_writes_alone_do_not_matter) {
    begin_direct();
    save_state(1, true);
    int refused = 0, n = 0;
    for (bool done = false; !done;) {
        pith_runtime *rt = pt_open();
        pith_scope *s = pith_scope_open(rt);
        const Sim *next = state(s, 2, true);
        n++;
        arm(FAIL, n, n % 2 ? EINVAL : EINTR);
        const bool saved = pith_save(s, next, "a.json", NULL);
        done = shim.calls < n;
        shim.kind = NO_FAULT;
        /* The head of the document is written once all else is. */
        if (strcmp(shim.name, "write") == 0 && refused < 6) {
            cr_assert(saved, "call %d: %s", n, pith_message(s));
            cr_assert(held_state(s, 1, 2, true) == 2);
            refused++;
        }
        pith_clear(s);
        pith_scope_close(s);
        pt_close(rt);
    }
    cr_assert(refused == 6);
    arm(SHORT, -1, 0);
    save_state(1, true);
    shim.kind = NO_FAULT;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    cr_assert(held_state(s, 1, 2, true) == 1);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* ---- Series: three members are kept, at each call something fails or the process dies
 * ---- */

static const pith_save_options plain = {.keep = 3},
                               incremental = {.keep = 3, .incremental = true},
                               compress = {.keep = 3, .incremental = true, .compress = 1};

/* Positions change from member to member, neighbours do not. */
static const Sim *member(pith_scope *s, int seed) {
    enum { ATOMS = 12000 }; /* more than a buffer of the writer */
    Sim sim = *make_sim(s, ATOMS, 1);
    sim.atoms = make_sim(s, ATOMS, seed)->atoms;
    sim.energy = pith_f64(s, seed);
    return pith_freeze(s, Sim, &sim);
}

static bool save_member(pith_scope *s, int seed, const pith_save_options *options) {
    return pith_save(s, member(s, seed), "a.json", options);
}

/* The newest member: its seed. */
static int newest_member(pith_scope *s) {
    const Sim *sim =
        pith_load_any(s, Sim_pith_type(), "a.json", &(pith_load_options){.newest = true});
    pt_ok(s, sim);
    const int seed = (int)pith_read_f64(s, sim->energy);
    cr_assert(ct_same_bits(s, sim, member(s, seed)), "a mixture");
    return seed;
}

static void strike_series(fault kind, int error, const pith_save_options *options) {
    const int apart = pt_apart();
    int n = 0, strikes = 0, news = 0, killed = 0;
    pith_runtime *rt = pt_open();
    for (bool done = false; !done;) {
        pith_scope *s = pith_scope_open(rt);
        for (int seed = 1; seed <= 4; seed++)
            cr_assert(save_member(s, seed, options), "%s", pith_message(s));
        n += apart;
        strikes++;
        const Sim *next = member(s, 5);
        const pid_t child = kind == KILL ? fork() : 0;
        if (child == 0) {
            arm(kind, n, error);
            const bool saved = pith_save(s, next, "a.json", options);
            if (kind == KILL)
                _exit(saved ? 0 : 1);
            done = shim.calls < n;
            shim.kind = NO_FAULT;
            pith_clear(s);
        } else {
            int status;
            cr_assert(waitpid(child, &status, 0) == child);
            done = WIFEXITED(status);
            killed += !done;
        }
        const int seed = newest_member(s);
        cr_assert(seed == 4 || seed == 5, "call %d: member %d", n, seed);
        news += seed == 5;
        /* The arrays of what failed are saved again: what is known of them is true. */
        cr_assert(pith_save(s, next, "a.json", options) && newest_member(s) == 5);
        cr_assert(save_member(s, 6, options) && newest_member(s) == 6);
        cr_assert(ct_nothing_is_left(), "call %d, %s", n, shim.name);
        cr_assert(ct_count_files() <= (options->incremental ? 7 : 6));
        pith_scope_close(s);
    }
    pt_close(rt);
    cr_assert(n > 40 && news > 5 / apart && (kind != KILL || killed == strikes - 1));
}

Test(faults, of_a_series_leave_the_newest_member_or_the_one_before, .timeout = 240) {
    ct_begin();
    strike_series(KILL, 0, &plain);
    strike_series(FAIL, EIO, &plain);
    strike_series(FAIL_FROM, EROFS, &plain);
    ct_end();
}

Test(faults, of_an_incremental_series_strike_no_member_but_the_new_one, .timeout = 240) {
    ct_begin();
    strike_series(KILL, 0, &incremental);
    strike_series(FAIL, EIO, &incremental);
    strike_series(FAIL, ENOSPC, &incremental);
    strike_series(FAIL_FROM, EROFS, &incremental);
    ct_end();
}

Test(faults, of_a_compressed_series_strike_no_member_but_the_new_one, .timeout = 240) {
    ct_begin();
    strike_series(KILL, 0, &compress);
    strike_series(FAIL, EIO, &compress);
    ct_end();
}

/* Another writer prunes the member that is shared with, after it was looked at. */
static pith_scope *rival_scope;
static void prune_all(int folder) {
    (void)folder;
    cr_assert(save_member(rival_scope, 40, &(pith_save_options){.keep = 1}));
}

Test(faults, between_two_writers_cost_no_member) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    rival_scope = pith_scope_open(rt);
    cr_assert(save_member(s, 1, &incremental) && save_member(s, 2, &incremental));
    shim.before_first_write = prune_all;
    cr_assert(save_member(s, 3, &incremental), "%s", pith_message(s));
    cr_assert(!shim.before_first_write, "the rival came in between");
    cr_assert(newest_member(s) == 3 && ct_nothing_is_left());
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.000004.json");
    cr_assert(pith_checkpoint_about(c)->sidecar_count == 1, "all of it was written");
    pith_scope_close(rival_scope);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* A member of three files, one of them with compressed leaves, or one checkpoint. */
static void fail_each_of_a_load(bool series) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const char *path = series ? "a.000002.json" : "a.json";
    if (series)
        cr_assert(save_member(s, 1, &compress) && save_member(s, 2, &compress));
    else
        pt_ok(s, pith_save(s, state(s, 1, true), path, NULL));
    const Sim *saved = series ? member(s, 2) : state(s, 1, true);
    int failed = 0, n = 0;
    for (bool done = false; !done;) {
        pith_scope *inner = pith_scope_open_in(s);
        arm(FAIL, ++n, EIO);
        const Sim *sim = pith_load(inner, Sim, path);
        done = shim.calls < n;
        shim.kind = NO_FAULT;
        if (pith_failed(inner)) {
            cr_assert(pith_code(inner) == PITH_E_IO, "%s: %s", shim.name,
                      pith_message(inner));
            cr_assert(!sim->atoms->position);
            failed++;
        }
        pith_clear(inner);
        pt_ok(inner, ct_same_bits(inner, saved, pith_load(inner, Sim, path)));
        pith_scope_close(inner);
    }
    cr_assert(failed > (series ? 8 : 5), "%d", failed);
    pith_scope_close(s);
    pt_close(rt);
}

Test(faults, of_a_load_are_errors_and_change_nothing) {
    ct_begin();
    fail_each_of_a_load(false);
    fail_each_of_a_load(true);
    ct_end();
}

/* ---- Readers beside a writer that is always faster ---- */

static struct {
    pith_scope *s;
    int replaced, kept_out; /* how often the writer was in time, or found the lock held */
    int most;               /* maximum number of attempts */
} rival;

/* Replace the checkpoint, which takes the sidecar away that the reader is about to open.
 * A commit waits for the lock of the folder, which the reader that is interrupted may
 * hold. */
static void replace_checkpoint(int folder) {
    (void)folder;
    if (rival.replaced == rival.most)
        return;
    const int lock = open(".", O_RDONLY | O_DIRECTORY);
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        rival.kept_out++;
        close(lock);
        return;
    }
    close(lock);
    rival.replaced++;
    static int seed = 1;
    cr_assert(pith_save(rival.s, state(rival.s, ++seed, true), "a.json", NULL));
}

static bool reads(pith_scope *s, int how) {
    const pith_checkpoint *c;
    pith_leaf_statistics statistics;
    switch (how) {
        case 0:
            return pith_load(s, Sim, "a.json") && !pith_failed(s);
        case 1:
            c = pith_checkpoint_open(s, "a.json");
            return pith_checkpoint_statistics(s, c, 0, &statistics);
        default:
            c = pith_checkpoint_open(s, "a.json");
            return pith_checkpoint_verify(s, c, 0);
    }
}

Test(faults, of_readers_that_writers_overtake_are_none) {
    ct_begin();
    save_state(1, true);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    rival.s = pith_scope_open(rt);
    static const int most[] = {1, 7, 100000};
    for (int i = 0; i < 9; i++) {
        rival.replaced = rival.kept_out = 0;
        rival.most = most[i % 3];
        shim.before_sidecar = replace_checkpoint;
        cr_assert(reads(s, i / 3), "%s", pith_message(s));
        shim.before_sidecar = NULL;
        cr_assert(rival.replaced >= (i % 3 == 2 ? 8 : most[i % 3]), "read %d: %d times",
                  i, rival.replaced);
        cr_assert(rival.kept_out == (i % 3 == 2), "at last the reader takes the lock");
    }
    /* A document that still names what is not there is no race. */
    unlink(ct_find(".safetensors"));
    cr_assert(!reads(s, 0) &&
              strstr(pith_message(s), "it is not in the folder of the document"));
    pith_clear(s);
    pith_scope_close(rival.s);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}
