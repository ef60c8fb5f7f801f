/* Signals to runs: a run that is stopped and resumed has the bits of an undisturbed one.
 */
#include "pith_test.h"
#include "series.h"

#include <errno.h>
#include <pith/pith.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const pith_array *x, *count;
} Walk;
PITH_NODE(Walk, PITH_LEAF(x, "f64"), PITH_LEAF(count, "i64"))

static const Walk *advance(pith_scope *s, const Walk *in) {
    Walk next = *in;
    next.x = pith_add(s, pith_mul(s, in->x, pith_f64(s, 0.99)), pith_f64(s, 0.5));
    next.count = pith_add(s, in->count, pith_i64(s, 1));
    return pith_freeze(s, Walk, &next);
}
PITH_FUNCTION1(advance_step, advance, Walk, Walk)

typedef struct {
    const pith_array *x;
} Row;
PITH_NODE(Row, PITH_LEAF(x, "f64"))
static const Row *row(pith_scope *s, const Walk *in) {
    const Row r = {in->x};
    return pith_freeze(s, Row, &r);
}
PITH_FUNCTION1(row_function, row, Row, Walk)

static const Walk *start(pith_scope *s) {
    const Walk walk = {pith_f64(s, 1), pith_i64(s, 0)};
    return pith_freeze(s, Walk, &walk);
}

enum { STEPS = 3000, TOLD_EVERY = 100 };
static char folder[256], save[300], log_path[300], whole[300];

/* How a child and its parent speak: the child says that its run is under way, and may
 * wait until the parent has sent its signal. */
typedef struct {
    int said[2], sent[2]; /* pipes */
    bool waits;
} channel;

static void say_step(pith_scope *s, const void *state, int64_t step, void *closure) {
    channel *c = closure;
    char byte = 1;
    (void)s, (void)state, (void)step;
    if (!c || c->said[1] < 0)
        return;
    if (write(c->said[1], &byte, 1) != 1)
        _exit(98);
    while (c->waits && read(c->sent[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(c->said[1]);
    c->said[1] = -1;
}

/* The program that is stopped; returns how its run ended. */
static pith_run_end
program(const char *log_file, const char *checkpoint, int64_t every, channel *parent) {
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    pith_run_log *log =
        pith_run_log_open(s, log_file, &(pith_run_log_options){.resume = true});
    pith_run(s, Walk, &advance_step, start(s),
             &(pith_run_options){.steps = STEPS,
                                 .check_every = every,
                                 .save = checkpoint,
                                 .save_every = 1000,
                                 .signals = true,
                                 .resume = true,
                                 .each = say_step,
                                 .each_every = TOLD_EVERY,
                                 .closure = parent,
                                 .log = log,
                                 .log_row = &row_function});
    if (pith_failed(s))
        fprintf(stderr, "%s\n", pith_message(s));
    const pith_run_end end = pith_run_outcome(s);
    pith_scope_close(s);
    pith_close(rt);
    return end;
}

static pid_t begin_child(int64_t every, channel *c) {
    cr_assert(pipe(c->said) == 0 && pipe(c->sent) == 0);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        close(c->sent[1]);
        const pith_run_end end = program(log_path, save, every, c);
        _exit(end.reason == PITH_RUN_FINISHED ? 0
              : end.reason == PITH_RUN_SIGNAL ? end.signal
                                              : 99);
    }
    close(c->said[1]);
    close(c->sent[0]);
    return child;
}

static bool same_bits(void) {
    char command[1300];
    snprintf(command, sizeof command, "cmp %s %s && cmp %s.state.json %s", whole,
             log_path, whole, save);
    return system(command) == 0;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Sends it to a child: at any time after its start, after a moment in its run, or in a
 * step that waits for it; returns how the child ended. */
static int end_child(int number, uint64_t *random) {
    enum { KINDS = 4 };
    const uint64_t kind = next_random(random) % KINDS;
    channel c = {.waits = kind == 0};
    char byte;
    int status;
    const pid_t child = begin_child((int64_t)(next_random(random) % 3) * 20, &c);
    if (kind < KINDS - 1) /* nothing comes where fewer steps than TOLD_EVERY are left */
        cr_assert(read(c.said[0], &byte, 1) >= 0);
    if (kind > 0)
        usleep((useconds_t)(next_random(random) % 15000));
    kill(child, number);
    close(c.sent[1]); /* where it waits for that */
    cr_assert(waitpid(child, &status, 0) == child);
    close(c.said[0]);
    return status;
}

Test(signals, at_random_moments_lose_nothing, .timeout = 280) {
    pt_folder(folder);
    char state[320];
    snprintf(save, sizeof save, "%s/state.json", folder);
    snprintf(log_path, sizeof log_path, "%s/run.jsonl", folder);
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(state, sizeof state, "%s.state.json", whole);
    cr_assert(program(whole, state, 0, NULL).reason == PITH_RUN_FINISHED);
    uint64_t random = 88172645463325252u;
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1};
    int sent = 0, stopped = 0, saved = 0;
    while (sent < pt_series(200)) {
        unlink(save);
        unlink(log_path);
        for (bool done = false; !done; sent++) {
            const int number = numbers[next_random(&random) % 3];
            const int status = end_child(number, &random);
            if (WIFSIGNALED(status)) { /* before the run, or after it */
                cr_assert(WTERMSIG(status) == number);
                continue;
            }
            done = WEXITSTATUS(status) == 0;
            cr_assert(done || WEXITSTATUS(status) == number, "exit %d",
                      WEXITSTATUS(status));
            stopped += !done;
            saved += number == SIGUSR1;
        }
        cr_assert(same_bits());
    }
    cr_assert(stopped > pt_series(200) / 40, "%d of %d runs were stopped, %d saved",
              stopped, sent, saved);
    snprintf(state, sizeof state, "rm -rf %s", folder);
    cr_assert(system(state) == 0);
}

static atomic_int seen;
static void mine(int number) {
    atomic_fetch_add(&seen, number == SIGTERM);
}

static void raise_at_5(pith_scope *s, const void *state, int64_t step, void *closure) {
    (void)s;
    (void)state;
    for (int i = 0; step == 5 && i < *(int *)closure; i++)
        raise(SIGTERM);
}

Test(signals, leave_the_handlers_of_the_program_as_they_were) {
    struct sigaction ours = {.sa_handler = mine, .sa_flags = SA_NODEFER}, now;
    sigaction(SIGTERM, &ours, NULL);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int times = 1; times < 4; times++) {
        atomic_store(&seen, 0);
        pt_ok(s, pith_run(s, Walk, &advance_step, start(s),
                          &(pith_run_options){.steps = 50,
                                              .signals = true,
                                              .each = raise_at_5,
                                              .closure = &times}));
        const pith_run_end e = pith_run_outcome(s);
        cr_assert(e.reason == PITH_RUN_SIGNAL && e.signal == SIGTERM && e.step == 5,
                  "step %lld", (long long)e.step);
        cr_assert(atomic_load(&seen) == times - 1, "the second one acts as before");
        sigaction(SIGTERM, NULL, &now);
        cr_assert(now.sa_handler == mine && now.sa_flags & SA_NODEFER);
        sigaction(SIGINT, NULL, &now);
        cr_assert(now.sa_handler == SIG_DFL);
    }
    pith_scope_close(s);
    pt_close(rt);
}

typedef struct {
    pith_runtime *rt;
    atomic_int *inside;
    pith_run_end end;
} worker;

static void tell_first(pith_scope *s, const void *state, int64_t step, void *closure) {
    (void)s, (void)state;
    if (step == 1)
        atomic_fetch_add((atomic_int *)closure, 1);
}

static void *work(void *closure) {
    worker *w = closure;
    pith_scope *s = pith_scope_open(w->rt);
    pith_run(s, Walk, &advance_step, start(s),
             &(pith_run_options){.steps = INT64_MAX - 1,
                                 .signals = true,
                                 .each = tell_first,
                                 .closure = w->inside});
    w->end = pith_run_outcome(s);
    pith_scope_close(s);
    return NULL;
}

Test(signals, and_requests_stop_the_runs_of_all_threads) {
    pith_runtime *rt = pt_open();
    struct sigaction now;
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        worker workers[3];
        pthread_t threads[3];
        atomic_int inside = 0;
        for (int i = 0; i < 3; i++) {
            workers[i] = (worker){.rt = rt, .inside = &inside};
            cr_assert(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
        }
        while (atomic_load(&inside) < 3)
            usleep(1000);
        if (by_signal)
            raise(SIGINT);
        else
            pith_run_request(rt, PITH_RUN_STOP);
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            cr_assert(workers[i].end.reason ==
                      (by_signal ? PITH_RUN_SIGNAL : PITH_RUN_REQUEST));
        }
        sigaction(SIGINT, NULL, &now);
        cr_assert(now.sa_handler == SIG_DFL);
    }
    pt_close(rt);
}

typedef struct {
    pith_run_end inner;
    int runs;
} nest;

static void run_inner(pith_scope *s, const void *state, int64_t step, void *closure) {
    nest *n = closure;
    if (step == 0)
        return;
    if (step == 3)
        raise(SIGTERM);
    pith_run(s, Walk, &advance_step, state,
             &(pith_run_options){.steps = 40, .signals = true});
    n->inner = pith_run_outcome(s);
    n->runs++;
}

Test(signals, stop_a_run_within_a_callback_of_another_and_both_say_so) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    struct sigaction now;
    nest n = {.runs = 0};
    pt_ok(s,
          pith_run(s, Walk, &advance_step, start(s),
                   &(pith_run_options){
                       .steps = 50, .signals = true, .each = run_inner, .closure = &n}));
    const pith_run_end outer = pith_run_outcome(s);
    cr_assert(outer.reason == PITH_RUN_SIGNAL && outer.step == 3, "step %lld",
              (long long)outer.step);
    cr_assert(n.runs == 3 && n.inner.reason == PITH_RUN_SIGNAL && n.inner.step == 0,
              "%d runs, %d at step %lld", n.runs, (int)n.inner.reason,
              (long long)n.inner.step);
    sigaction(SIGTERM, NULL, &now);
    cr_assert(now.sa_handler == SIG_DFL);
    pith_scope_close(s);
    pt_close(rt);
}
