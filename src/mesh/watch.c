/* Watching the ranks of a node: one thread of each process, which makes no call on the
 * engine, ends the job if the process of a rank is gone or this rank's wait is too long.
 */
#include "mesh/process.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 200, LINE_BYTES = 512, REPORT_MS = 1000, SUSPENDED_MS = 5000 };

/* ---- The report ---- */

void pithp_world_report(const pithp_world *w, const char *line) {
    if (w->transport->report) {
        w->transport->report(w->joined.all, line);
        return;
    }
    char text[LINE_BYTES + 8];
    const int n = snprintf(text, sizeof text, "pith: %s\n", line);
    const size_t bytes = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (write(STDERR_FILENO, text, bytes) < 0)
        return; /* stderr is closed */
}

/* Whether a rank of the node waits; `gone`: the one that has ended, or -1. */
static bool waits(const pithp_world *w, int64_t node_rank, int64_t gone) {
    return node_rank != gone &&
           atomic_load(&pithp_world_state(w, node_rank)->phase) == PITHP_PHASE_WAITING;
}

/* "; ranks 0-4, 6, 7 wait in 1042": the ranks of the node that wait. */
static void print_waiting(const pithp_world *w, int64_t gone, char *text, size_t room) {
    const int64_t n = w->joined.node_size;
    uint64_t number = 0;
    size_t at = 0;
    int64_t count = 0;
    text[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t end = i;
        while (end < n && waits(w, end, gone))
            end++;
        if (end == i || at + 64 > room)
            continue;
        pithp_rank_state *first = pithp_world_state(w, i);
        const int64_t from = atomic_load(&first->rank), last = from + end - i - 1;
        number = atomic_load(&first->number);
        at += (size_t)snprintf(text + at, room - at, count ? ", %" PRId64 : "%" PRId64,
                               from);
        if (last > from)
            at += (size_t)snprintf(text + at, room - at, "%s%" PRId64,
                                   last > from + 1 ? "-" : ", ", last);
        count += end - i;
        i = end - 1;
    }
    if (!count)
        return;
    char ranks[LINE_BYTES];
    snprintf(ranks, sizeof ranks, "%s", text);
    snprintf(text, room, "; rank%s %.200s wait%s in %" PRIu64, count == 1 ? "" : "s",
             ranks, count == 1 ? "s" : "", number);
}

/* "rank 5: in user code since collective 1041 (psum, melt.c:120), 301 s" */
static void
print_state(const pithp_world *w, int64_t node_rank, int64_t gone, char *line) {
    pithp_rank_state *state = pithp_world_state(w, node_rank);
    const uint32_t phase = atomic_load(&state->phase);
    union {
        char text[8 * PITHP_STATE_WORDS];
        uint64_t words[PITHP_STATE_WORDS];
    } u;
    for (int i = 0; i < PITHP_STATE_WORDS; i++)
        u.words[i] = atomic_load_explicit(&state->text[i], memory_order_relaxed);
    u.text[sizeof u.text - 1] = 0;
    static const char *const doing[] = {
        [PITHP_PHASE_JOINING] = "joins",
        [PITHP_PHASE_USER] = "in user code since",
        [PITHP_PHASE_WAITING] = "waits in",
        [PITHP_PHASE_CLOSED] = "closed after",
        [PITHP_PHASE_LEFT] = "exits without pith_close after",
    };
    const bool is_gone = node_rank == gone, left = is_gone && phase != PITHP_PHASE_LEFT;
    const double seconds = (double)pithp_state_lasts(state, pithp_nanoseconds()) * 1e-9;
    int at = snprintf(line, LINE_BYTES, "rank %" PRId64 ": %s",
                      (int64_t)atomic_load(&state->rank),
                      left ? "its process ended without pith_close after" : doing[phase]);
    const uint64_t number = atomic_load(&state->number);
    if (number)
        at += snprintf(line + at, LINE_BYTES - (size_t)at,
                       " collective %" PRIu64 " (%s), %.0f s", number, u.text, seconds);
    else
        at += snprintf(line + at, LINE_BYTES - (size_t)at, " the start, %.0f s", seconds);
    if (phase != PITHP_PHASE_WAITING || is_gone)
        print_waiting(w, gone, line + at, LINE_BYTES - (size_t)at);
}

static void sleep_ms(int64_t ms) {
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

void pithp_world_end(pithp_world *w, int64_t gone, bool may_call) {
    if (w->has_watch_memory) {
        _Atomic uint32_t *ending = &pithp_world_state(w, 0)->ending;
        uint32_t none = PITHP_ENDING_NO;
        if (atomic_compare_exchange_strong(ending, &none, PITHP_ENDING_REPORTING)) {
            for (int64_t i = 0; i < w->joined.node_size; i++) {
                char line[LINE_BYTES];
                print_state(w, i, gone, line);
                pithp_world_report(w, line);
            }
            atomic_store(ending, PITHP_ENDING_REPORTED);
        }
        for (int ms = 0; ms < REPORT_MS && atomic_load(ending) != PITHP_ENDING_REPORTED;
             ms += 10)
            sleep_ms(10);
    }
    (may_call ? w->transport->abort : w->transport->end)(w->joined.all, PITHP_END_CODE);
}

/* ---- The thread ---- */

/* In place of the descriptor of a process that has not told its number yet. */
enum { NOT_KNOWN = -3 };

/* Ranks write the numbers of their processes when they have joined, some of them after
 * this thread has begun. */
static void find_processes(pithp_world *w) {
    for (int64_t i = 0; i < w->joined.node_size; i++) {
        pithp_rank_state *state = pithp_world_state(w, i);
        const pithp_process p = {atomic_load(&state->process),
                                 atomic_load(&state->space)};
        if (p.number && w->watch.processes[i].fd == NOT_KNOWN)
            w->watch.processes[i].fd = pithp_process_open(p);
    }
}

/* Wait for a period, or until a process has ended. false: this thread shall end. */
static bool wait_for_news(pithp_mesh_watch *watch, int64_t ranks) {
    struct pollfd *wake = &watch->processes[ranks];
    return poll(watch->processes, (nfds_t)ranks + 1, PERIOD_MS) <= 0 || !wake->revents;
}

/* Whether the process of a rank has ended, since it was last waited for. */
static bool has_ended(const pithp_world *w, int64_t node_rank) {
    if (w->transport->gone)
        return w->transport->gone(w->joined.all, node_rank);
    const struct pollfd *p = &w->watch.processes[node_rank];
    return p->revents != 0 || p->fd == PITHP_PROCESS_ENDED;
}

/* One that has closed its mesh is waited for no more. */
static void forget_process(pithp_mesh_watch *watch, int64_t node_rank) {
    if (watch->processes[node_rank].fd >= 0)
        close(watch->processes[node_rank].fd);
    watch->processes[node_rank] = (struct pollfd){.fd = PITHP_PROCESS_UNSEEN};
}

/* A rank of the node whose process ended, or will, with the mesh open; -1: none. */
static int64_t find_gone(pithp_world *w) {
    for (int64_t i = 0; i < w->joined.node_size; i++) {
        if (i == w->joined.node_rank)
            continue;
        const bool ended = has_ended(w, i);
        const uint32_t phase = atomic_load(&pithp_world_state(w, i)->phase);
        if (phase != PITHP_PHASE_CLOSED && (ended || phase == PITHP_PHASE_LEFT))
            return i;
        if (ended)
            forget_process(&w->watch, i);
    }
    return -1;
}

/* Those of a rank whose process is stopped, too. */
static void note_states(const pithp_world *w, uint64_t now) {
    for (int64_t i = 0; i < w->joined.node_size; i++)
        pithp_state_note(pithp_world_state(w, i), now);
}

/* resumed: when the process was last resumed after a suspension, from which waits count
 * again: time in which the whole job was suspended is no wait. */
static bool waits_too_long(const pithp_world *w, uint64_t resumed, uint64_t now) {
    const int64_t most = __atomic_load_n(&w->timeout_ns, __ATOMIC_RELAXED);
    const uint64_t lasts = pithp_state_lasts(w->own, now);
    return most >= 0 && lasts > (uint64_t)most && now - resumed > (uint64_t)most &&
           atomic_load(&w->own->phase) == PITHP_PHASE_WAITING;
}

/* The library of the devices has found trouble, which work on a stream does not tell. */
static bool has_lost_device(const pithp_world *w) {
    pithp_error e;
    char line[LINE_BYTES];
    if (pithp_world_is_connected(w, &e))
        return false;
    snprintf(line, sizeof line, "rank %" PRId64 ": %.*s", w->joined.rank, LINE_BYTES - 60,
             e.text);
    pithp_world_report(w, line);
    return true;
}

static void *watch(void *closure) {
    pithp_world *w = closure;
    uint64_t resumed = 0, last = pithp_nanoseconds();
    while (find_processes(w), wait_for_news(&w->watch, w->joined.node_size)) {
        const uint64_t now = pithp_nanoseconds();
        if (now - last > SUSPENDED_MS * UINT64_C(1000000))
            resumed = now;
        last = now;
        note_states(w, now);
        const int64_t gone = find_gone(w);
        if (gone >= 0 || waits_too_long(w, resumed, now) || has_lost_device(w)) {
            pithp_world_end(w, gone, false);
            break; /* of a job in a test */
        }
    }
    return NULL;
}

static size_t bytes_of_watch(const pithp_world *w) {
    return ((size_t)w->joined.node_size + 1) * sizeof *w->watch.processes;
}

static void close_processes(pithp_world *w) {
    if (!w->watch.processes)
        return;
    for (int64_t i = 0; i <= w->joined.node_size; i++)
        forget_process(&w->watch, i);
    pithp_release(w->runtime, w->watch.processes, bytes_of_watch(w));
    w->watch.processes = NULL;
}

int pithp_thread_start(pthread_t *thread, void *(*run)(void *closure), void *closure) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(thread, NULL, run, closure);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

pith_status pithp_mesh_watch_start(pith_scope *s, pithp_world *w) {
    if (!w->has_watch_memory)
        return PITH_OK;
    const int64_t count = w->joined.node_size;
    struct pollfd *p = w->watch.processes = pithp_allocate(s->runtime, bytes_of_watch(w));
    if (!p)
        return pithp_fail_memory(s, bytes_of_watch(w));
    for (int64_t i = 0; i < count; i++) {
        const bool watched = w->transport->process && i != w->joined.node_rank;
        p[i] = (struct pollfd){watched ? NOT_KNOWN : PITHP_PROCESS_UNSEEN, POLLIN, 0};
    }
    p[count] = (struct pollfd){eventfd(0, EFD_CLOEXEC), POLLIN, 0};
    if (p[count].fd < 0 || pithp_thread_start(&w->watch.thread, watch, w) != 0) {
        close_processes(w);
        return pithp_fail(s, PITH_E_MEMORY, NULL, "out of memory: no room for a thread");
    }
    w->watch.running = true;
    return PITH_OK;
}

void pithp_mesh_watch_stop(pithp_world *w) {
    const uint64_t one = 1;
    if (w->watch.running &&
        write(w->watch.processes[w->joined.node_size].fd, &one, sizeof one) == sizeof one)
        pthread_join(w->watch.thread, NULL);
    w->watch.running = false;
    close_processes(w);
}
