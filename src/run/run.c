/* pith_run: windows of steps whose checks are read together, callbacks and saves between
 * them, and the conditions that end a run. */
#include "base/in_flight.h"
#include "checkpoint/save/saving.h"
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/monitor.h"
#include "run/request.h"
#include "run/run_internal.h"
#include "tree/shard/shard.h"

typedef struct {
    pith_scope *s;
    const pith_run_options *options;
    pithp_stepper stepper; /* holds the committed state */
    pithp_monitor watch;
    pithp_requests requests;
    pithp_progress progress;
    pithp_status_file status;
    int64_t first, last;     /* step numbers of the initial state and of the end */
    bool resumed;            /* the initial state comes from a checkpoint */
    bool writes;             /* this rank shows progress, and writes files */
    pithp_asked asked;       /* since the last state; of several ranks by any */
    double started, seconds; /* seconds: time of steps */
    double saved_at;
    pith_run_end end;
} run;

static int64_t stride_of(const pith_run_options *o) {
    return o->steps_per_call ? o->steps_per_call : 1;
}

enum {
    MOST_CALLS = 1 << 16
}; /* maximum calls of a window: their checks stay in
    * memory */

static const pith_save_options *save_options(const pith_run_options *o) {
    static const pith_save_options defaults;
    return o->save_options ? o->save_options : &defaults;
}

/* ---- Actions due at a step ---- */

static bool shown_at(const run *r, int64_t step) {
    const int64_t every = r->options->each_every ? r->options->each_every : 1;
    if (!r->options->each || (step == r->first && r->resumed))
        return false;
    return step == r->first || step == r->last || step % every == 0;
}

static bool saved_at(const run *r, int64_t step) {
    const pith_run_options *o = r->options;
    if (!o->save || (step == r->first && r->resumed))
        return false;
    return step == r->last || (step > r->first && o->save_every > 0 &&
                               (step - o->first_step) % o->save_every == 0);
}

/* ---- Conditions that pause or end a run ---- */

static bool time_is_over(const run *r) {
    const double limit = r->options->until_seconds;
    return limit > 0 && r->writes && pithp_seconds() - r->started >= limit;
}

static bool save_is_due(const run *r) {
    const double every = r->options->save_every_seconds;
    return r->options->save && every > 0 && r->writes &&
           pithp_seconds() - r->saved_at >= every;
}

/* What is asked of this process. Of several ranks, timers are those of rank 0. */
static pithp_asked look(const run *r) {
    return (pithp_asked){.signal = pithp_requests_signal(&r->requests),
                         .stop = pithp_requests_stop(&r->requests),
                         .save = pithp_requests_save(&r->requests),
                         .over = time_is_over(r),
                         .due = save_is_due(r)};
}

/* Whether a request, a signal or a timer is pending. Also called between the calls of a
 * window, or at its end on several ranks. */
static bool is_asked(void *closure) {
    const pithp_asked a = look(closure);
    return a.signal || a.stop || a.save || a.over || a.due;
}

/* The reason to end with the committed state; PITH_RUN_NONE: continue. */
static pith_run_reason reason_to_end(run *r) {
    if (r->stepper.met)
        return PITH_RUN_UNTIL;
    if (r->stepper.number >= r->last)
        return PITH_RUN_FINISHED;
    r->end.signal = r->asked.signal;
    if (r->end.signal)
        return PITH_RUN_SIGNAL;
    if (r->asked.stop)
        return PITH_RUN_REQUEST;
    /* Do at least one call, so that a restarted run makes progress. */
    return r->asked.over && r->stepper.number > r->first ? PITH_RUN_TIME : PITH_RUN_NONE;
}

/* ---- Showing and saving ---- */

/* What is saved of the committed state. NULL: error set. */
static const void *part_to_save(run *r, pith_scope *work) {
    const pith_run_options *o = r->options;
    return o->save_part ? pith_call(work, o->save_part, PITH_ITEMS(r->stepper.state))
                        : r->stepper.state;
}

/* Write the files of a save. */
static void write_save(run *r, pith_scope *work, const void *tree) {
    pith_save_options options = *save_options(r->options);
    options.step = r->stepper.number;
    pith_save(work, tree, r->options->save, &options);
}

/* Of several ranks each saves its shards, and rank 0 a tree that all have. The log is on
 * the disk before. */
static void save(run *r, pith_scope *work) {
    const pith_run_options *o = r->options;
    pithp_requests_take_save(&r->requests);
    if (o->log && r->writes)
        pith_run_log_sync(work, o->log);
    const void *tree = part_to_save(r, work);
    if (!pithp_run_agreed(work))
        return;
    const bool sharded = pithp_is_sharded(work, tree);
    if (!sharded && !pithp_tree_compare(work, "pith_run: save", tree))
        return;
    if (r->writes || sharded)
        write_save(r, work, tree);
    if (!pithp_run_agreed(work))
        return;
    r->status.saved = r->stepper.number;
    r->saved_at = r->status.saved_at = pithp_seconds();
}

/* Whether to save the committed state. A state already on the disk is not saved again. */
static bool saves_now(run *r, pith_run_reason reason) {
    const int64_t step = r->stepper.number;
    const bool asked = r->asked.save;
    if (!r->options->save || r->status.saved == step ||
        (step == r->first && r->resumed)) {
        if (asked)
            pithp_requests_take_save(&r->requests);
        return false;
    }
    return saved_at(r, step) || reason != PITH_RUN_NONE || asked || r->asked.due;
}

/* Show the committed state if the options request it. */
static bool show(run *r) {
    const pith_run_options *o = r->options;
    const int64_t step = r->stepper.number;
    const bool last = r->stepper.met && step > r->first && o->each;
    if (!shown_at(r, step) && !last)
        return false;
    pith_scope *work = pith_scope_open_in(r->s);
    pithp_progress_hide(&r->progress);
    pithp_decisions_nest(r->s, 1);
    o->each(work, r->stepper.state, step, o->closure);
    pithp_decisions_nest(r->s, -1);
    pith_scope_close(work);
    return true;
}

/* Show and save the committed state. Returns the reason to end, if any. */
static pith_run_reason report(run *r) {
    const bool shown = show(r);
    r->asked = look(r);
    if (!pithp_run_ask(r->s, &r->asked, shown, r->stepper.asked))
        return PITH_RUN_NONE;
    const pith_run_reason reason = reason_to_end(r);
    if (pith_failed(r->s) || !saves_now(r, reason))
        return reason;
    pith_scope *work = pith_scope_open_in(r->s);
    save(r, work);
    pith_scope_close(work);
    return reason;
}

/* Hide the progress bar before the caller's output. */
static void note_repair(pith_scope *s, const pith_repair *repair, void *closure) {
    run *r = closure;
    r->status.repairs++;
    if (!r->options->repaired)
        return;
    pithp_progress_hide(&r->progress);
    const pithp_call_site call = pithp_user_begins(s);
    r->options->repaired(s, repair, r->options->closure);
    pithp_user_ends(s, call);
}

/* Collect capacities for the status file. */
static void
note_passed(pith_scope *work, pithp_collector *c, int64_t slots, void *closure) {
    run *r = closure;
    if (r->writes)
        pithp_status_note(&r->status, work, c, slots);
}

/* Number of steps until the next state that is shown, saved or checked. */
static int64_t window(const run *r) {
    const pith_run_options *o = r->options;
    const int64_t stride = stride_of(o), every = o->check_every ? o->check_every : 1;
    const int64_t wanted = every > o->steps_per_launch ? every : o->steps_per_launch;
    const int64_t calls = wanted < MOST_CALLS ? wanted : MOST_CALLS;
    const int64_t begin = r->stepper.number;
    int64_t count = 1, end = begin + stride;
    while (count < calls && end < r->last && !shown_at(r, end) && !saved_at(r, end)) {
        end += stride;
        count++;
    }
    return end - begin;
}

/* Apply `until` and `finite` to the initial state, too. */
static void look_at_first(run *r) {
    pithp_monitored seen;
    pithp_monitor w = r->watch;
    bool go_on = true, fine = true;
    if (r->first == 0)
        w.until = NULL;
    pith_scope *work = pith_scope_open_in(r->s);
    pithp_monitor_state(work, &w, r->stepper.state, PITHP_ROWS_NONE, &seen);
    r->watch.all_finite = w.all_finite;
    if (!pith_failed(work) && seen.go_on)
        go_on = pith_read_bool(work, seen.go_on);
    if (!pith_failed(work) && seen.finite)
        fine = pith_read_bool(work, seen.finite);
    if (!pith_failed(work) && !fine)
        pithp_finite_fail(work, r->stepper.state);
    pith_scope_close(work);
    r->stepper.met = !go_on;
}

/* Look at the initial state, of several ranks at that of each. */
static bool begin_steps(run *r) {
    if (pithp_status_begin(&r->status, r->s, r->options, r->writes))
        look_at_first(r);
    r->asked = look(r);
    r->asked.met = r->stepper.met;
    if (!pithp_run_ask(r->s, &r->asked, true, false))
        return false;
    const pithp_asked *a = &r->asked;
    r->stepper.asked = a->signal || a->stop || a->save || a->over || a->due;
    r->stepper.met = a->met;
    return true;
}

static bool run_steps(run *r) {
    const pith_run_options *o = r->options;
    if (!begin_steps(r))
        return false;
    pith_run_reason reason;
    while ((reason = report(r)) == PITH_RUN_NONE && !pith_failed(r->s)) {
        const double started = pithp_seconds();
        const bool fine = pithp_stepper_advance(&r->stepper, window(r));
        r->seconds += pithp_seconds() - started;
        if (!fine)
            return false;
        pithp_progress_step(&r->progress, r->stepper.number);
        pithp_status_step(&r->status, r->s, r->stepper.state, r->stepper.number);
    }
    if (pith_failed(r->s))
        return false;
    r->end.reason = reason;
    if (!o->save)
        return true;
    if (save_options(o)->background &&
        (r->writes || pithp_background_is_parted(r->s))) /* that all ranks settle */
        pith_save_wait(r->s);
    return pithp_run_agreed(r->s);
}

static const void *nil_of(const pith_type *type) {
    return type ? pithp_nil(type) : NULL;
}

bool pithp_step_fits(pith_scope *s,
                     const pith_type *type,
                     const pith_function *step,
                     const void *state,
                     const char *function) {
    if (pithp_step_check(s, step, function) != PITH_OK ||
        pithp_tree_check(s, state, function, "state") != PITH_OK)
        return false;
    if (type && !pithp_type_valid(type)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a record type", function);
        return false;
    }
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

/* Check an option that is a function of the state. */
static bool function_fits(pith_scope *s, const pith_function *f, const char *name) {
    return !f || pithp_step_check(s, f, name) == PITH_OK;
}

static const char *not_negative(const pith_run_options *o) {
    const struct {
        const char *name;
        bool wrong;
    } all[] = {{"steps", o->steps < 0},
               {"save_every", o->save_every < 0},
               {"each_every", o->each_every < 0},
               {"log_every", o->log_every < 0},
               {"check_every", o->check_every < 0},
               {"steps_per_call", o->steps_per_call < 0},
               {"steps_per_launch", o->steps_per_launch < 0},
               {"until_seconds", !(o->until_seconds >= 0)},
               {"save_every_seconds", !(o->save_every_seconds >= 0)},
               {"progress_seconds", !(o->progress_seconds >= 0)}};
    for (int i = 0; i < PITHP_COUNT(all); i++)
        if (all[i].wrong)
            return all[i].name;
    return NULL;
}

static const char *needs_save(const pith_run_options *o) {
    return o->save_options             ? "save_options"
           : o->resume                 ? "resume"
           : o->save_part              ? "save_part"
           : o->save_every             ? "save_every"
           : o->save_every_seconds > 0 ? "save_every_seconds"
                                       : NULL;
}

static pith_status numbers_fit(pith_scope *s, const pith_run_options *o) {
    const int64_t stride = stride_of(o);
    const char *negative = not_negative(o);
    if (negative)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_run: %s must not be negative",
                          negative);
    if (o->first_step < 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_run: first_step: expected 0 or more, got %lld",
                          (long long)o->first_step);
    if (!pithp_step_numbers_fit(s, o->first_step, o->steps, "pith_run"))
        return s->error.code;
    if (o->steps % stride || o->save_every % stride || o->each_every % stride)
        return pithp_fail(
            s, PITH_E_ARG, NULL,
            "pith_run: expected steps, save_every and each_every to be multiples of "
            "steps_per_call, got %lld, %lld and %lld of %lld",
            (long long)o->steps, (long long)o->save_every, (long long)o->each_every,
            (long long)stride);
    if (o->steps_per_call && o->steps_per_launch)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_run: steps_per_call is for a step that is itself a loop; "
                          "it excludes steps_per_launch");
    return PITH_OK;
}

static bool arguments_fit(pith_scope *s,
                          const pith_type *type,
                          const pith_function *step,
                          const void *state,
                          const pith_run_options *o) {
    if (numbers_fit(s, o) != PITH_OK)
        return false;
    if (!o->save && needs_save(o))
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: %s needs save, the name of the checkpoint", needs_save(o));
    else if (o->save_part && o->resume)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: resume: the checkpoint has save_part of a state; load it, "
                   "and make the state");
    else if (save_options(o)->step)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_run: save_options: step is the number of the saved state; leave "
                   "it 0");
    else if ((o->log_row || o->log_every) && (!o->log || !o->log_row))
        pithp_fail(s, PITH_E_ARG, NULL, "pith_run: %s needs %s",
                   o->log_row ? "log_row" : "log_every",
                   o->log_row ? "log, an open log" : "log_row");
    return s->error.code == PITH_OK && function_fits(s, o->until, "pith_run: until") &&
           function_fits(s, o->log_row, "pith_run: log_row") &&
           function_fits(s, o->save_part, "pith_run: save_part") &&
           pithp_step_fits(s, type, step, state, "pith_run") &&
           (!o->save || (!pithp_ranks_write(s) && !pithp_is_sharded(s, state)) ||
            pithp_save_probe(s, "pith_run: save_options", o->save, save_options(o)) ==
                PITH_OK);
}

/* ---- The run ---- */

static void begin_watch(run *r) {
    const pith_run_options *o = r->options;
    r->watch = (pithp_monitor){.until = o->until,
                               .row = o->log_row,
                               .finite = o->finite,
                               .log = o->log,
                               .row_every = o->log_every ? o->log_every : 1,
                               .row_after = o->log ? pith_run_log_last_step(o->log) : -1,
                               .launch = o->steps_per_launch,
                               .scope = pith_scope_open_in(r->s)};
    if (o->until || o->log_row || o->finite || o->steps_per_launch)
        r->stepper.watch = &r->watch;
}

/* Set the initial state, and truncate the log to its step. */
static bool find_first(run *r, const pith_type *type) {
    const pith_run_options *o = r->options;
    pithp_stepper *p = &r->stepper;
    p->number = r->first = o->first_step;
    r->last = o->first_step + o->steps;
    if (o->resume) {
        pith_scope *holder = pith_scope_open_in(r->s);
        int64_t step = r->first;
        const void *loaded = pithp_resume(holder, type, p->state, o, &step);
        if (!pithp_run_resumes_alike(holder, o->save, loaded ? step : -1)) {
            pith_scope_close(holder);
            return false;
        }
        if (loaded) {
            p->state = loaded;
            p->holder = holder;
            p->number = r->first = step;
            r->resumed = true;
        } else
            pith_scope_close(holder);
    }
    if (!pith_failed(r->s) && o->log)
        pithp_log_resume(r->s, o->log, o->resume ? r->first : -1);
    if (o->log && pithp_log_agree(r->s, o->log) != PITH_OK)
        return false;
    if (stride_of(o) > 1 && (r->first - o->first_step) % stride_of(o))
        pithp_fail(r->s, PITH_E_ARG, NULL,
                   "pith_run: resume: step %lld is not a multiple of steps_per_call",
                   (long long)r->first);
    return !pith_failed(r->s);
}

/* Run all steps; the outcome is set. false: error. */
static bool run_all(run *r, const pith_type *type) {
    const pith_run_options *o = r->options;
    if (!find_first(r, type))
        return false;
    begin_watch(r);
    r->started = r->saved_at = r->status.started = pithp_seconds();
    r->status.first = r->first;
    r->status.last = r->last;
    pithp_progress_begin(&r->progress, o, r->first, r->writes);
    const bool fine = run_steps(r);
    pithp_progress_end(&r->progress, r->stepper.number);
    pith_scope_close(r->watch.scope);
    return fine;
}

/* Store the outcome. */
static void set_outcome(run *r, bool fine) {
    pithp_run_room *room = r->s->room[PITHP_ROOM_RUN];
    if (r->end.reason == PITH_RUN_REQUEST || pithp_requests_stop(&r->requests))
        pithp_requests_take_stop(&r->requests);
    if (!fine)
        r->end.reason = PITH_RUN_FAILED;
    if (r->end.reason != PITH_RUN_SIGNAL)
        r->end.signal = 0;
    r->end.step = r->stepper.number;
    if (room)
        room->end = r->end;
    if (r->status.started > 0)
        pithp_status_write(&r->status, r->s, r->stepper.state, r->end.step, &r->end);
    pithp_status_end(&r->status);
}

/* A refused run replaces the outcome of an earlier run. */
static const void *refuse(pith_scope *s, const pith_type *type, int64_t step) {
    pithp_run_room *room = pithp_scope_writable(s) ? pithp_run_room_of(s) : NULL;
    if (room)
        room->end = (pith_run_end){.reason = PITH_RUN_FAILED, .step = step};
    return nil_of(type);
}

const void *pith_run_any(pith_scope *s,
                         const pith_type *type,
                         const pith_function *step,
                         const void *state,
                         const pith_run_options *options) {
    PITHP_IN_FLIGHT(s, "pith_run");
    static const pith_run_options defaults;
    const pith_run_options *o = options ? options : &defaults;
    run r = {.s = s, .options = o};
    if (o->last)
        *o->last = state;
    if (o->seconds)
        *o->seconds = 0;
    uint64_t digest = pithp_run_digest(o);
    const bool ready = pithp_enter_untraced(s, "pith_run") &&
                       arguments_fit(s, type, step, state, o) && pithp_run_room_of(s) &&
                       pithp_requests_begin(&r.requests, s, o->signals) == PITH_OK;
    const bool alike = pithp_attempt_digest(s, step, state, &digest);
    if (pithp_run_refused(s, ready && alike)) {
        pithp_requests_end(&r.requests);
        return refuse(s, type, o->first_step);
    }
    r.writes = pithp_ranks_write(s);
    r.stepper = (pithp_stepper){.s = s,
                                .step = step,
                                .passed = o->status_file ? note_passed : NULL,
                                .pause = is_asked,
                                .max_repeats = pithp_repeats(o->max_tries),
                                .report = note_repair,
                                .closure = &r,
                                .state = state,
                                .digest = digest,
                                .describe = pithp_run_describe,
                                .options = o,
                                .stride = stride_of(o)};
    const bool fine = run_all(&r, type);
    set_outcome(&r, fine);
    if (o->seconds)
        *o->seconds = r.seconds;
    const void *final = fine ? pith_keep_any(s, r.stepper.state) : NULL;
    if (o->last)
        *o->last = final ? final : r.stepper.state;
    if (r.stepper.holder && (final || !o->last)) /* otherwise it keeps the last state */
        pith_scope_close(r.stepper.holder);
    pithp_requests_end(&r.requests);
    return final ? final : nil_of(type);
}
