/* Whole-run profile (PITH_PROFILE): all programs that the process compiled, in one list
 * that lives as long as the process. It is written when a runtime closes and when the
 * process ends, if programs ran since the last time. */
#include "gpu/inspect.h"
#include "program/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All guarded by the lock: */
static pith_runtime process; /* counts the memory, which no runtime owns */
static pithp_profile *list;
static char *file;              /* value of PITH_PROFILE */
static long long written_calls; /* calls of all programs at the last write */

/* ---- The list ---- */

/* Store the file name. False: memory is short. Called with the lock held. */
static bool note_file(const char *name) {
    if (file && strcmp(file, name) == 0)
        return true;
    char *copy = strdup(name);
    if (!copy)
        return false;
    free(file);
    file = copy;
    return true;
}

/* The profile of a plan in the list; plans with the same steps share one. */
static pithp_profile *enrol(pithp_plan *plan) {
    process.allocator = pithp_libc_allocator;
    pithp_profile *made = pithp_profile_make(&process, plan), *p = list;
    if (!made)
        return NULL;
    while (p && !pithp_profile_alike(p, made))
        p = p->next;
    if (p) {
        pithp_profile_free(made);
        return p;
    }
    made->enrolled = true;
    made->next = list;
    return list = made;
}

void pithp_profile_begin(pithp_plan *plan) {
    const char *name = pithp_profile_file();
    if (PITHP_LIKELY(!name))
        return;
    pthread_mutex_lock(&lock);
    pithp_profile *p = note_file(name) ? enrol(plan) : NULL;
    pthread_mutex_unlock(&lock);
    if (p)
        pithp_profile_attach(plan, p);
    else
        pithp_log(plan->runtime, PITH_LOG_WARNING,
                  "PITH_PROFILE: out of memory: %s is not in the profile", plan->name);
}

/* ---- Writing ---- */

static int by_seconds(const void *a, const void *b) {
    const double x = pithp_profile_seconds(*(const pithp_profile *const *)a),
                 y = pithp_profile_seconds(*(const pithp_profile *const *)b);
    return (x < y) - (x > y);
}

static bool is_json(const char *name) {
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static void
add_program(pithp_string *t, const pithp_profile *p, double total, bool json) {
    const size_t bytes = (size_t)p->count * sizeof(pithp_profile_row);
    pithp_profile_row *rows = pithp_allocate(&process, bytes);
    const int64_t count = rows ? pithp_profile_rows(p, rows) : -1;
    if (count >= 0)
        (json ? pithp_profile_json : pithp_profile_table)(t, p, total, count, rows);
    else
        t->failed = true;
    pithp_release(&process, rows, bytes);
}

static void
add_all(pithp_string *t, pithp_profile *const *programs, int64_t n, bool json) {
    double total = 0;
    for (int64_t k = 0; k < n; k++)
        total += pithp_profile_seconds(programs[k]);
    if (json) {
        pithp_string_add(t, "{\"pith_profile\":1,\"seconds\":");
        pithp_string_add_number(t, 9, total);
        pithp_string_add(t, ",\"programs\":[\n");
    }
    for (int64_t k = 0; k < n; k++) {
        pithp_string_add(t, k == 0 ? "" : json ? ",\n" : "\n");
        add_program(t, programs[k], total, json);
    }
    pithp_string_add(t, json ? "]}\n" : "");
}

/* Expand the file name: "run-%p.json" gets the process id for %p, so that several
 * processes write separate files. */
static void add_file_name(pithp_string *t) {
    const char *number = strstr(file, "%p");
    pithp_string_add_n(t, file, number ? (size_t)(number - file) : strlen(file));
    if (number)
        pithp_string_print(t, "%ld%s", (long)getpid(), number + 2);
}

static bool write_file(const pithp_string *name, const pithp_string *text) {
    FILE *out = fopen(name->bytes, "we");
    if (!out)
        return false;
    const bool whole = fwrite(text->bytes, 1, text->length, out) == text->length;
    return fclose(out) == 0 && whole;
}

/* Write the file. False: errno is set. Called with the lock held. */
static bool write_all(pithp_profile **programs, int64_t count) {
    pithp_string name, text;
    pithp_string_begin(&name, &process);
    pithp_string_begin(&text, &process);
    qsort(programs, (size_t)count, sizeof(pithp_profile *), by_seconds);
    add_file_name(&name);
    add_all(&text, programs, count, is_json(file));
    errno = ENOMEM;
    const bool done = !name.failed && !text.failed && write_file(&name, &text);
    pithp_string_end(&text);
    pithp_string_end(&name);
    return done;
}

/* List the programs that ran; returns their number, or -1: nothing ran since the last
 * write. */
static int64_t list_ran(pithp_profile **programs) {
    int64_t count = 0;
    long long calls = 0;
    for (pithp_profile *p = list; p; p = p->next) {
        const long long own = atomic_load_explicit(&p->calls, memory_order_relaxed);
        if (own && programs)
            programs[count] = p;
        count += own > 0;
        calls += own;
    }
    if (!programs && calls == written_calls)
        return -1;
    if (programs)
        written_calls = calls;
    return count;
}

/* Write the file if there are new runs. rt: its log hook gets failures; NULL: no runtime
 * is open. Called with the lock held. */
static void write_new(pith_runtime *rt) {
    const int64_t count = list ? list_ran(NULL) : -1;
    const size_t bytes = count > 0 ? (size_t)count * sizeof(pithp_profile *) : 0;
    pithp_profile **programs = bytes ? pithp_allocate(&process, bytes) : NULL;
    errno = ENOMEM;
    if (bytes && (!programs || !write_all(programs, list_ran(programs))) && rt)
        pithp_log(rt, PITH_LOG_WARNING, "PITH_PROFILE: %s is not written: %s", file,
                  strerror(errno));
    pithp_release(&process, programs, bytes);
}

void pithp_profiles_write(pith_runtime *rt) {
    pthread_mutex_lock(&lock);
    write_new(rt);
    pthread_mutex_unlock(&lock);
}

/* The timeout serves a process that was forked while another thread held the lock, which
 * is then never released. */
__attribute__((destructor)) static void write_at_exit(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_mutex_timedlock(&lock, &until) != 0)
        return;
    write_new(NULL);
    pthread_mutex_unlock(&lock);
}
