/* A process that saves again and again is killed at random moments, for real: what it had
 * been told was saved is there, or something later, whole. */
#include "checkpoint_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 40, ATOMS = 30000 };

/* Saves state `first`, first + 1, ... and says so after each. */
static void save_for_ever(int first, int out) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    for (int seed = first;; seed++) {
        pith_scope *s = pith_scope_open(rt);
        if (!pith_save(s, make_sim(s, ATOMS, seed), "a.json",
                       &(pith_save_options){.step = seed}))
            _exit(1);
        pith_scope_close(s);
        if (write(out, &seed, sizeof seed) != sizeof seed)
            _exit(1);
    }
}

static int saved_step(void) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, c);
    const int step = (int)pith_checkpoint_about(c)->step;
    const Sim *sim = pith_load(s, Sim, "a.json");
    pt_ok(s, sim);
    cr_assert(ct_same_bits(s, sim, make_sim(s, ATOMS, step)), "step %d is not whole",
              step);
    pith_scope_close(s);
    pt_close(rt);
    return step;
}

Test(kill, at_random_moments_loses_nothing_that_was_saved, .timeout = 120) {
    ct_begin();
    int told = 0;
    srand(17);
    for (int round = 0; round < ROUNDS; round++) {
        int channel[2], seed, status;
        cr_assert(pipe(channel) == 0);
        const pid_t child = fork();
        if (child == 0)
            save_for_ever(told + 1, channel[1]);
        cr_assert(child > 0, "no process to kill");
        close(channel[1]);
        if (round == 0) /* there is a checkpoint to lose */
            cr_assert(read(channel[0], &told, sizeof told) == sizeof told);
        const struct timespec wait = {.tv_nsec = 1000L * (rand() % 40000)};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        cr_assert(WIFSIGNALED(status), "the child failed");
        while (read(channel[0], &seed, sizeof seed) == sizeof seed)
            told = seed;
        close(channel[0]);
        const int step = saved_step();
        cr_assert(step == told || step == told + 1, "told %d, found %d", told, step);
        told = step;
    }
    cr_assert(told > ROUNDS / 4,
              "only %d saves: the rounds are too short to say anything", told);
    ct_end();
}
