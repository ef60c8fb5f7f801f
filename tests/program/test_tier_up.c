/* Tier-up of compiled code: the run that asks for it makes nothing itself; plans and the
 * runtime may go while it is made; a process may fork meanwhile. */
#include "gpu/compile/background.h"
#include "pith_test.h"
#include "program/exec/tier.h"
#include "slow_compiler.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 5000, STEPS = 6 };

typedef struct sample {
    pith_runtime *rt;
    pith_scope *s;
    pithp_program *p;
    float in[2][COUNT + STEPS], out[STEPS][COUNT + STEPS];
} sample;

/* Steps of different lengths, so that each is a function of its own. */
static void begin(sample *x, const char *when) {
    static char directory[320];
    if (!directory[0])
        pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 1);
    setenv("PITH_JIT", when, 1);
    x->rt = pt_open();
    x->s = pith_scope_open(x->rt);
    x->p = pithp_program_make(x->s);
    for (int k = 0; k < 2 * STEPS; k++)
        pithp_program_input(
            x->s, x->p, pithp_spec(x->s, PITH_F32, 1, (const int64_t[]){COUNT + k / 2}));
    for (int k = 0; k < STEPS; k++) {
        pithp_value v = x->p->inputs[2 * k];
        for (int n = 0; n <= k; n++)
            v = pithp_program_add(x->s, x->p, n % 2 ? PITHP_OP_MUL : PITHP_OP_ADD, 2,
                                  (pithp_value[]){v, x->p->inputs[2 * k + 1]}, NULL,
                                  "here:1");
        pithp_program_output(x->s, x->p, v);
    }
    pt_ok(x->s);
    for (int i = 0; i < COUNT + STEPS; i++) {
        x->in[0][i] = (float)(i % 17);
        x->in[1][i] = (float)(i % 5);
    }
}

static void end(sample *x) {
    pithp_program_release(x->p);
    pith_scope_close(x->s);
    pt_close(x->rt);
}

/* A run, and whether its outputs are right. */
static bool run(sample *x, pithp_executable *exe) {
    const void *inputs[2 * STEPS];
    void *outputs[STEPS];
    bool right = true;
    for (int k = 0; k < STEPS; k++) {
        inputs[2 * k] = x->in[0];
        inputs[2 * k + 1] = x->in[1];
        outputs[k] = x->out[k];
    }
    if (pithp_executable_run(x->s, exe, inputs, outputs) != PITH_OK)
        return false;
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < COUNT + k; i++) {
            float v = x->in[0][i];
            for (int n = 0; n <= k; n++)
                v = n % 2 ? v * x->in[1][i] : v + x->in[1][i];
            right &= v == x->out[k][i];
        }
    return right;
}

static pithp_executable *make(sample *x) {
    pithp_executable *exe = pithp_executable_make(x->s, x->p, true);
    pt_ok(x->s, exe);
    return exe;
}

static bool is_compiled(const pithp_executable *exe) {
    return atomic_load(&exe->code) != NULL;
}

/* Runs until it is compiled, for a minute at most. */
static void run_until_compiled(sample *x, pithp_executable *exe) {
    for (int k = 0; k < 6000 && !is_compiled(exe); k++) {
        cr_assert(run(x, exe));
        usleep(10000);
    }
    cr_assert(is_compiled(exe) && run(x, exe));
}

/* ---- What the caller does ---- */

typedef struct blocker {
    pithp_background_work work;
    atomic_bool go;
} blocker;

static void block(pithp_background_work *work, bool given_up) {
    (void)given_up;
    while (!atomic_load(&((blocker *)(void *)work)->go))
        usleep(1000);
}

static long long allocations_of_a_run(sample *x, pithp_executable *exe) {
    const long long before = atomic_load(&pt_default_heap.allocations);
    cr_assert(run(x, exe));
    return atomic_load(&pt_default_heap.allocations) - before;
}

Test(tier_up, the_caller_makes_nothing, .timeout = 120) {
    sample *x = calloc(1, sizeof *x);
    begin(x, "async");
    pithp_executable *exe = make(x);
    blocker line = {.work.run = block};
    cr_assert(pithp_background_do(pithp_runtime_device(x->rt), &line.work));
    const long long first = allocations_of_a_run(x, exe);
    const long long asks = allocations_of_a_run(x, exe);
    cr_assert(asks <= first, "%lld allocations, and %lld in the first run", asks, first);
    cr_assert(!is_compiled(exe));
    atomic_store(&line.go, true);
    run_until_compiled(x, exe);
    pithp_executable_free(exe);
    end(x);
    free(x);
}

/* ---- What goes meanwhile ---- */

Test(tier_up, plans_go_while_they_are_compiled, .timeout = 300) {
    sample *x = calloc(1, sizeof *x);
    begin(x, "async");
    for (useconds_t k = 0; k < 60; k++) {
        pithp_executable *exe = make(x);
        cr_assert(run(x, exe) && run(x, exe));
        usleep(k * k * 10);
        cr_assert(k % 2 == 0 || run(x, exe));
        pithp_executable_free(exe);
    }
    end(x);
    free(x);
}

Test(tier_up, the_runtime_closes_while_plans_are_compiled, .timeout = 300) {
    sample *x = calloc(1, sizeof *x);
    for (useconds_t k = 0; k < 12; k++) {
        pithp_executable *list[4];
        begin(x, "async");
        for (int n = 0; n < 4; n++) {
            list[n] = make(x);
            cr_assert(run(x, list[n]) && run(x, list[n]));
        }
        usleep(k * k * 300);
        for (int n = 0; n < 4; n++)
            pithp_executable_free(list[n]);
        end(x);
    }
    free(x);
}

typedef struct racer {
    sample *x;
    pithp_executable *exe;
    pthread_t thread;
    bool right;
} racer;

static void *race(void *closure) {
    racer *r = closure;
    sample *own = calloc(1, sizeof *own);
    *own = *r->x;
    own->s = pith_scope_open(own->rt);
    r->right = true;
    for (int k = 0; k < 60 && r->right; k++)
        r->right = run(own, r->exe);
    pith_scope_close(own->s);
    free(own);
    return NULL;
}

Test(tier_up, many_threads_run_a_plan_while_it_is_compiled, .timeout = 300) {
    static const char *const whens[] = {"async", "wait"};
    sample *x = calloc(1, sizeof *x);
    for (int k = 0; k < 2; k++) {
        racer racers[4];
        begin(x, whens[k]);
        pithp_executable *exe = make(x);
        for (int n = 0; n < 4; n++) {
            racers[n] = (racer){.x = x, .exe = exe};
            cr_assert(pthread_create(&racers[n].thread, NULL, race, &racers[n]) == 0);
        }
        for (int n = 0; n < 4; n++) {
            pthread_join(racers[n].thread, NULL);
            cr_assert(racers[n].right);
        }
        cr_assert(k == 0 || is_compiled(exe));
        run_until_compiled(x, exe);
        pithp_executable_free(exe);
        end(x);
    }
    free(x);
}

/* ---- Memory ---- */

/* Runs stay with the interpreter, and the code is made after the shortage. */
Test(tier_up, every_failure_of_memory_is_survived, .timeout = 300) {
    sample *x = calloc(1, sizeof *x);
    bool reached = true;
    for (long long at = 1; reached; at += 1 + at / 10) {
        begin(x, "async");
        pithp_executable *exe = make(x);
        cr_assert(run(x, exe));
        const long long limit = atomic_load(&pt_default_heap.allocations) + at;
        atomic_store(&pt_default_heap.fail_at, limit);
        for (int k = 0; k < 100 && !is_compiled(exe); k++) {
            if (!run(x, exe)) { /* the run's own allocation */
                cr_assert(pith_code(x->s) == PITH_E_MEMORY);
                pith_clear(x->s);
            }
            usleep(1000);
        }
        reached = atomic_load(&pt_default_heap.allocations) >= limit;
        atomic_store(&pt_default_heap.fail_at, 0);
        run_until_compiled(x, exe);
        pithp_executable_free(exe);
        end(x);
    }
    free(x);
}

/* ---- Forks ---- */

#if !defined(__SANITIZE_THREAD__) /* which does not follow forks of threads */

Test(tier_up, a_child_compiles_for_itself, .timeout = 300) {
    enum { CHILD_IS_RIGHT = 42 };
    char note[PT_NOTE_BYTES];
    int status = 0;
    sample *x = calloc(1, sizeof *x);
    pt_slow_compiler(note);
    begin(x, "async");
    setenv("PITH_CACHE_DIR", "", 1);
    pithp_executable *exe = make(x);
    cr_assert(run(x, exe) && run(x, exe));
    for (int k = 0; k < 12000 && access(note, F_OK) != 0; k++)
        usleep(5000);
    const pid_t child = fork();
    if (child == 0) {
        bool right = run(x, exe);
        pithp_executable *other = make(x); /* its work starts the child's thread */
        for (int k = 0; k < 6000 && right && !(is_compiled(exe) && is_compiled(other));
             k++) {
            right = run(x, exe) && run(x, other);
            usleep(10000);
        }
        right = right && is_compiled(exe) && run(x, exe);
        _exit(right ? CHILD_IS_RIGHT : 1);
    }
    run_until_compiled(x, exe);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_RIGHT, "status %x",
              status);
    pithp_executable_free(exe);
    end(x);
    free(x);
}

#endif
