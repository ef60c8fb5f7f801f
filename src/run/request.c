/* Requests to runs by pith_run_request and by signals. Signal handlers touch lock-free
 * counters only. */
#include "run/request.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* ---- Requests to a runtime ---- */

void pith_run_request(pith_runtime *rt, unsigned what) {
    if (!pithp_runtime_valid(rt))
        return;
    if (what & PITH_RUN_SAVE)
        atomic_fetch_add_explicit(&rt->save_requests, 1, memory_order_release);
    if (what & PITH_RUN_STOP)
        atomic_fetch_add_explicit(&rt->stop_requests, 1, memory_order_release);
}

/* ---- Signals: process-wide handlers, installed while a run needs them ---- */

static const int numbers[] = {SIGUSR1, SIGTERM, SIGINT};
enum { SIGNALS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards users and before */
static int users;
static struct sigaction before[SIGNALS];
static atomic_uint saves;     /* number of SIGUSR1 received */
static atomic_int stopped_by; /* the first signal that requested a stop; 0: none */

static void handle(int number) {
    const int error = errno;
    int none = 0;
    if (number == SIGUSR1) {
        atomic_fetch_add(&saves, 1);
    } else if (!atomic_compare_exchange_strong(&stopped_by, &none, number)) {
        for (int i = 0; i < SIGNALS; i++)
            if (numbers[i] == number)
                sigaction(number, &before[i], NULL);
        raise(number); /* blocked until this handler returns */
    }
    errno = error;
}

/* Restore the previous handlers, unless the program has set another one since. */
static void restore(int count) {
    for (int i = 0; i < count; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == handle)
            sigaction(numbers[i], &before[i], NULL);
    }
}

static bool install(void) {
    struct sigaction ours = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&ours.sa_mask, numbers[i]);
    atomic_store(&stopped_by, 0);
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(numbers[i], NULL, &before[i]) != 0 ||
            sigaction(numbers[i], &ours, NULL) != 0) {
            restore(i);
            return false;
        }
    return true;
}

static void leave_signals(void) {
    pthread_mutex_lock(&lock);
    if (--users == 0)
        restore(SIGNALS);
    pthread_mutex_unlock(&lock);
}

static bool enter_signals(void) {
    pthread_mutex_lock(&lock);
    const bool fine = users > 0 || install();
    users += fine;
    pthread_mutex_unlock(&lock);
    return fine;
}

/* ---- Requests of a run ---- */

pith_status pithp_requests_begin(pithp_requests *r, pith_scope *s, bool signals) {
    char reason[128];
    *r = (pithp_requests){.rt = s->runtime};
    r->saves = atomic_load(&r->rt->saves_taken);
    r->stops = atomic_load(&r->rt->stops_taken);
    if (signals && !enter_signals())
        return pithp_fail(s, PITH_E_UNSUPPORTED, NULL, "pith_run: signals: %s",
                          strerror_r(errno, reason, sizeof reason));
    r->signals = signals;
    r->signal_saves = atomic_load(&saves);
    return PITH_OK;
}

void pithp_requests_end(pithp_requests *r) {
    if (r->signals)
        leave_signals();
    r->signals = false;
}

int pithp_requests_signal(const pithp_requests *r) {
    return r->signals ? atomic_load(&stopped_by) : 0;
}

bool pithp_requests_stop(const pithp_requests *r) {
    return atomic_load_explicit(&r->rt->stop_requests, memory_order_acquire) != r->stops;
}

bool pithp_requests_save(const pithp_requests *r) {
    return atomic_load_explicit(&r->rt->save_requests, memory_order_acquire) !=
               r->saves ||
           (r->signals && atomic_load(&saves) != r->signal_saves);
}

void pithp_requests_take_save(pithp_requests *r) {
    r->saves = atomic_load(&r->rt->save_requests);
    r->signal_saves = atomic_load(&saves);
    atomic_store(&r->rt->saves_taken, r->saves);
}

void pithp_requests_take_stop(pithp_requests *r) {
    r->stops = atomic_load(&r->rt->stop_requests);
    atomic_store(&r->rt->stops_taken, r->stops);
}
