/* Running a step many times. Two scopes take turns in holding the committed state; a step
 * runs in a third one, inside the next holder, so that its temporaries go at once and
 * only its result is kept. */
#include "checkpoint/checkpoint_internal.h"
#include "run/run_internal.h"

typedef struct {
    pith_scope *s;
    const pith_function *step;
    const pith_run_options *options;
    pith_scope *holder; /* of the committed state */
    const void *state;
    pithp_progress progress;
    double seconds; /* of steps */
} run;

/* One step: on success the result is committed, on failure s carries the error and all is
 * as before. */
static bool advance(run *r) {
    pith_scope *next = pith_scope_open_in(r->s);
    pith_scope *work = pith_scope_open_in(next);
    const void *result = pith_call(work, r->step, 1, &r->state);
    if (pithp_synchronise(work) == PITH_OK && !pith_failed(work))
        result = pith_keep_any(next, result);
    pith_scope_close(work);
    if (pith_failed(next)) {
        pith_scope_close(next);
        return false;
    }
    pith_scope_close(r->holder);
    r->holder = next;
    r->state = result;
    return true;
}

static bool shown_at(const pith_run_options *o, int64_t done) {
    const int64_t every = o->each_every > 0 ? o->each_every : 1;
    return o->each &&
           (done == 0 || done == o->steps || (o->first_step + done) % every == 0);
}

static bool saved_at(const pith_run_options *o, int64_t done) {
    return o->save && (done == o->steps ||
                       (done > 0 && o->save_every > 0 && done % o->save_every == 0));
}

/* Save and show the committed state where the options ask for it. */
static bool report(run *r, int64_t done) {
    const pith_run_options *o = r->options;
    const int64_t step = o->first_step + done;
    pith_scope *work = pith_scope_open_in(r->s);
    if (shown_at(o, done)) {
        pithp_progress_hide(&r->progress);
        o->each(work, r->state, step, o->closure);
    }
    if (saved_at(o, done) && !pith_failed(work) &&
        (!o->log || pith_run_log_sync(work, o->log)))
        pith_save(work, r->state, o->save,
                  &(pith_save_options){.step = step,
                                       .keep = o->keep,
                                       .incremental = o->incremental,
                                       .compress = o->compress,
                                       .background = o->background});
    pith_scope_close(work);
    return r->s->error.code == PITH_OK;
}

/* Nobody waits for the first checkpoint to learn that its folder takes none. */
static bool can_save(const run *r) {
    pithp_place place;
    pithp_writer w = {.file = -1, .folder = -1, .rt = r->s->runtime};
    if (!r->options->save)
        return true;
    pith_status rc = pithp_place_open(r->s, r->options->save, &place);
    if (rc == PITH_OK) {
        pithp_writer_open(&w, r->s->runtime, &place, 0);
        rc = pithp_writer_status(r->s, &w, r->options->save);
        pithp_writer_close(&w);
    }
    pithp_place_close(&place);
    return rc == PITH_OK;
}

static bool run_steps(run *r) {
    if (!can_save(r) || !report(r, 0))
        return false;
    for (int64_t done = 1; done <= r->options->steps; done++) {
        const double started = pithp_seconds();
        const bool fine = advance(r);
        r->seconds += pithp_seconds() - started;
        if (!fine) {
            pithp_error_context(r->s, "step %lld",
                                (long long)(r->options->first_step + done));
            return false;
        }
        pithp_progress_step(&r->progress, done);
        if (!report(r, done))
            return false;
    }
    return !r->options->background || pith_save_wait(r->s);
}

static const void *nil_of(const pith_type *type) {
    return type ? type->nil : NULL;
}

static bool arguments_fit(pith_scope *s,
                          const pith_type *type,
                          const pith_function *step,
                          const void *state,
                          const pith_run_options *o) {
    if (!step || step->arity != 1 || !step->call) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: step: expected a function of one tree, got %s",
                   step ? "another one" : "NULL");
        return false;
    }
    if (o->steps < 0 || o->save_every < 0 || o->each_every < 0 || o->keep < 0) {
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "pith_run: steps, save_every, each_every and keep must not be negative");
        return false;
    }
    if ((o->incremental && !o->keep) || o->compress > PITHP_PACK_LEVELS) {
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "pith_run: incremental needs keep, and compress is a level of %d at most",
            PITHP_PACK_LEVELS);
        return false;
    }
    if (pithp_tree_check(s, state, "pith_run", "state") != PITH_OK)
        return false;
    if (type && pith_type_of(state) != type) {
        pithp_fail(s, PITH_E_TYPE, NULL, "pith_run: state: expected a %s", type->name);
        return false;
    }
    return true;
}

const void *pith_run_as(pith_scope *s,
                        const pith_type *type,
                        const pith_function *step,
                        const void *state,
                        const pith_run_options *options) {
    static const pith_run_options defaults;
    const pith_run_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || !arguments_fit(s, type, step, state, o))
        return nil_of(type);
    run r = {.s = s, .step = step, .options = o, .state = state};
    pithp_progress_begin(&r.progress, o->progress, o->steps);
    const bool fine = run_steps(&r);
    pithp_progress_end(&r.progress);
    if (o->seconds)
        *o->seconds = r.seconds;
    const void *final = fine ? pith_keep_any(s, r.state) : NULL;
    if (o->last)
        *o->last = final ? final : r.state;
    if (final || !o->last) /* else the holder stays open, a child of s, and with it the
                              last state */
        pith_scope_close(r.holder);
    return final ? final : nil_of(type);
}
