/* A process that saves again and again is killed at random moments, for real: what it had
 * been told was saved is there, or something later, whole. */
#include "checkpoint_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 40, ATOMS = 30000 };

/* Positions and energy follow from the seed, neighbours do not change. */
static const Sim *state(pith_scope *s, int seed) {
    Sim sim = *make_sim(s, ATOMS, 1);
    sim.atoms = make_sim(s, ATOMS, seed)->atoms;
    sim.energy = pith_f64(s, seed);
    return pith_freeze(s, Sim, &sim);
}

/* Saves state `first`, first + 1, ... and says so after each. */
static void save_for_ever(int first, int out, const pith_save_options *options) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    for (int seed = first;; seed++) {
        pith_scope *s = pith_scope_open(rt);
        if (!pith_save(s, state(s, seed), "a.json", options))
            _exit(1);
        pith_scope_close(s);
        if (write(out, &seed, sizeof seed) != sizeof seed)
            _exit(1);
    }
}

/* The seed of what is there. */
static int saved_seed(const pith_save_options *options) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sim *sim = pith_load_any(s, Sim_pith_type(), "a.json",
                                   &(pith_load_options){.newest = options->keep > 0});
    pt_ok(s, sim);
    const int seed = (int)pith_read_f64(s, sim->energy);
    cr_assert(ct_same_bits(s, sim, state(s, seed)), "state %d is not whole", seed);
    pith_scope_close(s);
    pt_close(rt);
    return seed;
}

static void save_once(int seed, const pith_save_options *options) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_save(s, state(s, seed), "a.json", options));
    pith_scope_close(s);
    pt_close(rt);
}

static void kill_at_random(const pith_save_options *options) {
    ct_begin();
    int told = 0;
    srand(17);
    for (int round = 0; round < ROUNDS; round++) {
        int channel[2], seed, status;
        cr_assert(pipe(channel) == 0);
        const pid_t child = fork();
        if (child == 0)
            save_for_ever(told + 1, channel[1], options);
        cr_assert(child > 0, "no process to kill");
        close(channel[1]);
        if (round % 2 == 0) /* one that is well under way, with something to lose */
            cr_assert(read(channel[0], &told, sizeof told) == sizeof told);
        const struct timespec wait = {.tv_nsec = 1000L * (rand() % 40000)};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        cr_assert(WIFSIGNALED(status), "the child failed");
        while (read(channel[0], &seed, sizeof seed) == sizeof seed)
            told = seed;
        close(channel[0]);
        const int found = saved_seed(options);
        cr_assert(found == told || found == told + 1, "told %d, found %d", told, found);
        told = found;
    }
    cr_assert(told > ROUNDS / 4,
              "only %d saves: the rounds are too short to say anything", told);
    save_once(told + 1, options);
    cr_assert(ct_nothing_is_left() && saved_seed(options) == told + 1);
    ct_end();
}

Test(kill, at_random_moments_loses_nothing_that_was_saved, .timeout = 120) {
    kill_at_random(&(pith_save_options){.step = 1});
}

Test(kill, at_random_moments_loses_no_member_of_a_series, .timeout = 120) {
    kill_at_random(&(pith_save_options){.keep = 2, .incremental = true, .compress = 1});
}
