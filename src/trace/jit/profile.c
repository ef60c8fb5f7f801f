/* Profiles of calls: the program runs from a separate plan with timed steps. */
#include "program/profile/profile.h"

#include "program/command/replay.h"
#include "program/exec/tier.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Running ---- */

/* State of the runs, besides their inputs. */
typedef struct profiling {
    pith_scope *s;
    const pithp_jit_running *r;
    pithp_executable *executable;
    const pithp_plan *plan;             /* of the executable */
    pithp_profile *profile, *scheduled; /* scheduled: of device tasks; or NULL */
    pithp_buffer *results;
    void **outputs;
    int64_t output_count;
} profiling;

static size_t aligned(size_t bytes) {
    return (bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
}

/* Set the addresses of outputs that a run makes; the others are NULL. Returns their total
 * bytes. */
static size_t lay_out(const profiling *x, char *memory) {
    size_t bytes = 0;
    for (int64_t k = 0; k < x->output_count; k++) {
        const pithp_place place = pithp_plan_output(x->plan, k);
        x->outputs[k] = NULL;
        if (place.store != PITHP_IN_OUTPUT || place.at != k)
            continue;
        x->outputs[k] = memory ? memory + bytes : NULL;
        bytes += aligned(
            pithp_value_spec(x->plan->program, x->plan->program->outputs[k])->bytes);
    }
    return bytes;
}

static pith_status run(profiling *x, int64_t calls) {
    const size_t room = (size_t)x->output_count * sizeof *x->outputs;
    pith_status rc = PITH_OK;
    x->outputs = pithp_allocate(x->s->runtime, room);
    if (!x->outputs)
        return pithp_fail_memory(x->s, room);
    const size_t bytes = lay_out(x, NULL);
    x->results = bytes ? pithp_buffer_make(x->s, bytes) : NULL;
    if (bytes && !x->results)
        rc = x->s->error.code;
    for (int64_t k = 0; k <= calls && rc == PITH_OK; k++) {
        if (k == 1) { /* the first run may have waited for code */
            x->scheduled = pithp_replay_profile(x->executable->replay);
            pithp_profile_reset(x->scheduled ? x->scheduled : x->profile);
        }
        lay_out(x, x->results ? x->results->data : NULL);
        rc = pithp_executable_pass(x->s, x->executable, x->r->addresses, x->outputs);
    }
    if (rc == PITH_OK)
        rc = pithp_synchronise(x->s);
    pithp_buffer_release(x->results, 1);
    pithp_release(x->s->runtime, x->outputs, room);
    return rc;
}

/* ---- The result ---- */

static const char *copy_text(pith_scope *s, const char *text) {
    char *copy = pithp_scope_allocate(s, strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

/* Copy a list of concatenated texts; NULL: error set. */
static const char *const *copy_sites(pith_scope *s, const char *sites) {
    size_t count = 0, bytes = 0;
    for (const char *at = sites; *at; at += strlen(at) + 1, count++)
        bytes += strlen(at) + 1;
    const char **list = pithp_scope_allocate(s, (count + 1) * sizeof *list + bytes);
    if (!list)
        return NULL;
    char *texts = memcpy(list + count + 1, sites, bytes);
    for (size_t k = 0; k < count; k++, texts += strlen(texts) + 1)
        list[k] = texts;
    list[count] = NULL;
    return list;
}

static pith_status copy_rows(pith_scope *s,
                             pith_profile_row *to,
                             const pithp_profile_row *rows,
                             int64_t count,
                             double seconds) {
    for (int64_t k = 0; k < count; k++) {
        to[k] = (pith_profile_row){.name = copy_text(s, rows[k].name),
                                   .sites = copy_sites(s, rows[k].sites),
                                   .inside = rows[k].inside,
                                   .calls = rows[k].calls,
                                   .seconds = rows[k].seconds,
                                   .share = seconds > 0 ? rows[k].seconds / seconds : 0,
                                   .read = rows[k].read,
                                   .written = rows[k].written};
        if (!to[k].name || !to[k].sites)
            return s->error.code;
    }
    return PITH_OK;
}

/* NULL: error set. */
static const pith_profile *
read_rows(pith_scope *s, const pithp_profile *p, pithp_profile_row *rows) {
    const int64_t count = pithp_profile_rows(p, rows);
    if (count < 0) {
        pithp_fail_memory(s, (size_t)p->count * sizeof *rows);
        return NULL;
    }
    pithp_string text;
    pith_profile *made = pithp_scope_allocate(s, sizeof *made);
    pith_profile_row *list = pithp_scope_allocate(s, (size_t)count * sizeof *list + 1);
    if (!made || !list)
        return NULL;
    const double seconds = pithp_profile_seconds(p);
    pithp_string_begin(&text, s->runtime);
    pithp_profile_table(&text, p, seconds, count, rows);
    *made = (pith_profile){.name = copy_text(s, p->name),
                           .calls = atomic_load(&p->calls),
                           .seconds = seconds,
                           .row_count = count,
                           .rows = list,
                           .text = pithp_string_finish(s, &text)};
    return made->name && made->text && copy_rows(s, list, rows, count, seconds) == PITH_OK
               ? made
               : NULL;
}

static const pith_profile *result_of(pith_scope *s, const pithp_profile *p) {
    const size_t bytes = (size_t)p->count * sizeof(pithp_profile_row);
    pithp_profile_row *rows = pithp_allocate(s->runtime, bytes);
    if (!rows) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    const pith_profile *made = read_rows(s, p, rows);
    pithp_release(s->runtime, rows, bytes);
    return made;
}

/* ---- A call ---- */

/* A separate plan, so that concurrent runs of the program are not timed. */
static const pith_profile *
profile_run(const pithp_jit_running *r, const char *name, int64_t calls) {
    pith_scope *s = r->s;
    profiling x = {.s = s,
                   .r = r,
                   .executable = pithp_executable_make(s, r->p->plan->program, true)};
    const pith_profile *made = NULL;
    if (!x.executable)
        return NULL;
    x.plan = x.executable->plan;
    x.output_count = x.plan->program->output_count;
    pithp_plan_set_name(x.executable->plan, name);
    pithp_compiled_wait(x.executable);
    x.profile = pithp_profile_make(s->runtime, x.executable->plan);
    if (x.profile) {
        pithp_executable_attach(x.executable, x.profile);
        if (run(&x, calls) == PITH_OK)
            made = result_of(s, x.scheduled ? x.scheduled : x.profile);
    } else {
        pithp_fail_memory(s, sizeof *x.profile);
    }
    pithp_executable_free(x.executable);
    pithp_profile_free(x.profile);
    return made;
}

const pith_profile *pith_program_profile(pith_scope *s,
                                         const pith_function *function,
                                         int64_t count,
                                         const void *const *arguments,
                                         int64_t calls) {
    static const char what[] = "pith_program_profile";
    const pith_profile *made = NULL;
    pithp_jit_call c = {.inside = NULL};
    pithp_jit_running r;
    if (!pithp_enter(s))
        return NULL;
    if (calls < 1) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: calls: expected 1 or more, got %lld", what,
                   (long long)calls);
        return NULL;
    }
    const pithp_jit_closure *closure =
        pithp_jit_compiled(s, function, count, arguments, what);
    pithp_jit_program *p = closure ? pithp_jit_program_of(s, closure, arguments) : NULL;
    if (!p)
        return NULL;
    if (pithp_jit_call_begin(&c, s, closure, arguments) == PITH_OK) {
        if (pithp_jit_run_begin(&r, s, p) == PITH_OK) {
            if (pithp_jit_run_read(&r, &c) == PITH_OK)
                made = profile_run(&r, closure->closure.base->name, calls);
            pithp_jit_run_end(&r);
        }
        pithp_jit_call_end(&c);
    }
    pithp_jit_program_release(p);
    return made;
}
