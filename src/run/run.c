/* Running a step many times: what is shown and saved between steps, and the windows of
 * steps whose checks are looked at together. */
#include "base/under_way.h"
#include "checkpoint/checkpoint_internal.h"
#include "run/run_internal.h"
#include "run/try.h"

typedef struct {
    pith_scope *s;
    const pith_run_options *options;
    pithp_stepper stepper; /* with the committed state */
    pithp_progress progress;
    double seconds; /* of steps */
} run;

static int64_t stride_of(const pith_run_options *o) {
    return o->steps_per_call ? o->steps_per_call : 1;
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
        o->each(work, r->stepper.state, step, o->closure);
    }
    if (saved_at(o, done) && !pith_failed(work) &&
        (!o->log || pith_run_log_sync(work, o->log)))
        pith_save(work, r->stepper.state, o->save,
                  &(pith_save_options){.step = step,
                                       .keep = o->keep,
                                       .incremental = o->incremental,
                                       .compress = o->compress,
                                       .background = o->background});
    pith_scope_close(work);
    return r->s->error.code == PITH_OK;
}

/* What the caller is told of a repair does not stand behind a progress bar. */
static void show_repair(pith_scope *s, const pith_repair *repair, void *closure) {
    run *r = closure;
    pithp_progress_hide(&r->progress);
    r->options->repaired(s, repair, r->options->closure);
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

/* How many calls from the step `done` on run without anybody looking at a state. */
static int64_t window(const pith_run_options *o, int64_t done) {
    const int64_t every = o->check_every > 0 ? o->check_every : 1, stride = stride_of(o);
    int64_t count = 1;
    for (done += stride;
         count < every && done < o->steps && !shown_at(o, done) && !saved_at(o, done);
         done += stride)
        count++;
    return count;
}

static bool run_steps(run *r) {
    const pith_run_options *o = r->options;
    if (!can_save(r) || !report(r, 0))
        return false;
    for (int64_t done = 0; done < o->steps;) {
        const int64_t count = window(o, done);
        const double started = pithp_seconds();
        const bool fine = pithp_stepper_advance(&r->stepper, count);
        r->seconds += pithp_seconds() - started;
        if (!fine)
            return false;
        done += count * stride_of(o);
        pithp_progress_step(&r->progress, done);
        if (!report(r, done))
            return false;
    }
    return !o->background || pith_save_wait(r->s);
}

static const void *nil_of(const pith_type *type) {
    return type ? type->nil : NULL;
}

bool pithp_step_fits(pith_scope *s,
                     const pith_type *type,
                     const pith_function *step,
                     const void *state,
                     const char *function) {
    if (pithp_step_check(s, step, function) != PITH_OK ||
        pithp_tree_check(s, state, function, "state") != PITH_OK)
        return false;
    if (type && pith_type_of(state) != type) {
        pithp_fail(s, PITH_E_TYPE, NULL, "%s: state: expected a %s", function,
                   type->name);
        return false;
    }
    return true;
}

bool pithp_step_numbers_fit(pith_scope *s,
                            int64_t first,
                            int64_t steps,
                            const char *function) {
    int64_t last;
    if (__builtin_add_overflow(first, steps, &last))
        pithp_fail(s, PITH_E_OVERFLOW, NULL,
                   "%s: first_step: %lld plus %lld steps overflows", function,
                   (long long)first, (long long)steps);
    return s->error.code == PITH_OK;
}

static bool arguments_fit(pith_scope *s,
                          const pith_type *type,
                          const pith_function *step,
                          const void *state,
                          const pith_run_options *o) {
    if (o->steps < 0 || o->save_every < 0 || o->each_every < 0 || o->keep < 0 ||
        o->check_every < 0 || o->steps_per_call < 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: steps, save_every, each_every, keep, check_every and "
                   "steps_per_call must not be negative");
        return false;
    }
    if (o->first_step < 0) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: first_step: expected 0 or more, got %lld",
                   (long long)o->first_step);
        return false;
    }
    if (!pithp_step_numbers_fit(s, o->first_step, o->steps, "pith_run"))
        return false;
    const int64_t stride = stride_of(o);
    if (o->steps % stride || o->save_every % stride || o->each_every % stride) {
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "pith_run: expected steps, save_every and each_every to be multiples of "
            "steps_per_call, got %lld, %lld and %lld of %lld",
            (long long)o->steps, (long long)o->save_every, (long long)o->each_every,
            (long long)stride);
        return false;
    }
    if ((o->incremental && !o->keep) || o->compress > PITHP_PACK_LEVELS) {
        pithp_fail(
            s, PITH_E_ARG, NULL,
            "pith_run: incremental needs keep, and compress is a level of %d at most",
            PITHP_PACK_LEVELS);
        return false;
    }
    if (!o->save && (o->keep || o->compress || o->background)) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: %s needs save, the name of the checkpoint",
                   o->keep       ? "keep"
                   : o->compress ? "compress"
                                 : "background");
        return false;
    }
    return pithp_step_fits(s, type, step, state, "pith_run");
}

const void *pith_run_as(pith_scope *s,
                        const pith_type *type,
                        const pith_function *step,
                        const void *state,
                        const pith_run_options *options) {
    PITHP_UNDER_WAY(s, "pith_run");
    static const pith_run_options defaults;
    const pith_run_options *o = options ? options : &defaults;
    if (!pithp_enter_untraced(s, "pith_run") || !arguments_fit(s, type, step, state, o))
        return nil_of(type);
    run r = {.s = s,
             .options = o,
             .stepper = {.s = s,
                         .step = step,
                         .max_repeats = pithp_repeats(o->max_tries),
                         .report = o->repaired ? show_repair : NULL,
                         .closure = &r,
                         .state = state,
                         .number = o->first_step,
                         .stride = stride_of(o)}};
    pithp_progress_begin(&r.progress, o->progress, o->steps);
    const bool fine = run_steps(&r);
    pithp_progress_end(&r.progress);
    if (o->seconds)
        *o->seconds = r.seconds;
    const void *final = fine ? pith_keep_any(s, r.stepper.state) : NULL;
    if (o->last)
        *o->last = final ? final : r.stepper.state;
    if (final || !o->last) /* else the holder stays open, a child of s, and with it the
                              last state */
        pith_scope_close(r.stepper.holder);
    return final ? final : nil_of(type);
}
