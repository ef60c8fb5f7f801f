/* Chunked runs: the number of ensemble members per call, and the fallback if memory is
 * exhausted. */
#include "run/chunked.h"

#include "array/array_internal.h"
#include "base/in_flight.h"
#include "gpu/memory/warning.h"
#include "mesh/mesh_internal.h"
#include "run/attempt.h"
#include "run/run_internal.h"

#include <stdio.h>

typedef struct {
    const pith_function *step;
    const pith_chunked_options *options;
    pithp_chunk_rule rule;
    bool agreed;                 /* all ranks ask for the same */
    pith_chunks chunks;          /* of the last step: maximum chunk length */
    pithp_chunk_results results; /* of the last step */
} chunked;

/* The state of one step, and its split into chunks. */
typedef struct {
    const chunked *c;
    pith_scope *s;
    pithp_flat flat;
    const pith_treedef *def;
    int *axes;
    int64_t runs;
    const pith_array **leaves; /* of the current chunk */
} split;

/* ---- Chunk length ---- */

/* Bytes of the split leaves for one run, rounded up. */
static size_t measure_run(const split *p) {
    size_t sum = 0;
    for (int64_t i = 0; i < p->flat.structure.item_count; i++) {
        if (p->axes[i] == PITHP_CHUNK_WHOLE)
            continue;
        const size_t bytes = p->flat.structure.specs[i]->bytes, runs = (size_t)p->runs;
        sum += bytes / runs + (bytes % runs != 0);
    }
    return sum;
}

/* Estimated chunk length: memory must hold the whole result, the chunk, its result and
 * the step's own demand. The result is assumed to be as large as the state. A failing
 * length is halved, so the estimate may be too large. */
static int64_t guess_length(const split *p) {
    const pith_memory_hint given = p->c->options->hint;
    const size_t left = pithp_memory_left(p->s), runs = (size_t)p->runs,
                 one = measure_run(p);
    const size_t work = given.per_sample || given.persistent ? given.per_sample : 2 * one;
    size_t result, need;
    if (pithp_mul_overflows(work + 2 * one, runs, &need) ||
        pithp_mul_overflows(one, runs, &result) ||
        pithp_add_overflows(result, given.persistent, &result))
        return 1;
    if (need <= left && given.persistent <= left - need)
        return p->runs; /* a plain call: no slices or copies */
    if (result >= left || work + one == 0)
        return 1;
    const size_t fit = (left - result) / (work + 2 * one);
    return fit < 1 ? 1 : fit < runs ? (int64_t)fit : p->runs;
}

void pithp_chunk_warn(pith_scope *s, int64_t length, int64_t before) {
    pithp_warnings w = {0};
    pithp_warning_add(&w, PITH_WARNING_SHRUNK,
                      "chunks of %lld runs instead of %lld: a step exhausted the memory",
                      (long long)length, (long long)before);
    pithp_warnings_tell(pithp_scope_device(s), &w);
}

/* ---- Chunks of several ranks ---- */

/* Places of errors: any other error, one of memory, and the error of another rank. */
enum { OTHER, MEMORY, PEER };

static uint64_t place_of(pith_status code) {
    return code == PITH_E_MEMORY ? MEMORY : code == PITH_E_PEER ? PEER : OTHER;
}

static pithp_chunk_end agree_joint(pith_scope *s, bool may_shrink) {
    pithp_decision d = {.operation = "pith_run_chunked",
                        .error = may_shrink ? place_of(pith_code(s)) : OTHER};
    if (!pithp_decide(s, &d))
        return PITHP_CHUNK_FAILED;
    if (d.first < 0)
        return PITHP_CHUNK_FINE;
    if (d.trouble == 1 + MEMORY) {
        pith_clear(s); /* out of memory, or told of it */
        return PITHP_CHUNK_SHRINKS;
    }
    pithp_decision_tell(s, d.operation, d.first);
    return PITHP_CHUNK_FAILED;
}

pithp_chunk_end pithp_chunk_agree(pith_scope *s, bool may_shrink) {
    if (pithp_ranks_of(s))
        return agree_joint(s, may_shrink);
    if (!pith_failed(s))
        return PITHP_CHUNK_FINE;
    if (!may_shrink || pith_code(s) != PITH_E_MEMORY)
        return PITHP_CHUNK_FAILED;
    pith_clear(s);
    return PITHP_CHUNK_SHRINKS;
}

bool pithp_chunk_call_agrees(pith_scope *s,
                             const char *function,
                             const pith_chunked_options *o,
                             int axis,
                             int64_t runs) {
    char what[PITHP_WHAT_BYTES], length[48] = "as memory permits";
    if (!pithp_ranks_of(s))
        return !pith_failed(s);
    if (o->length)
        snprintf(length, sizeof length, "of %lld runs", (long long)o->length);
    snprintf(what, sizeof what,
             "%lld steps of %lld runs along axis %d, chunks %s, %lld tries",
             (long long)(o->steps ? o->steps : 1), (long long)runs, axis, length,
             (long long)o->max_tries);
    pithp_decision d = {.operation = function, .what = what};
    if (!pithp_decide(s, &d))
        return false;
    if (d.first >= 0)
        pithp_decision_tell(s, function, d.first);
    return d.first < 0;
}

int64_t pithp_chunk_length(pith_scope *s, int64_t length) {
    uint64_t least = (uint64_t)length;
    return pithp_ranks_least_of(s, "pith_run_chunked", &least) ? (int64_t)least : 0;
}

/* ---- One chunk ---- */

static const void *
slice(const split *p, pith_scope *work, int64_t begin, int64_t length) {
    for (int64_t i = 0; i < p->flat.structure.item_count; i++) {
        const pith_array *leaf = p->flat.items[i];
        pith_slice slices[PITH_MAX_RANK];
        p->leaves[i] = leaf;
        if (p->axes[i] == PITHP_CHUNK_WHOLE)
            continue;
        for (int d = 0; d < p->axes[i]; d++)
            slices[d] = PITH_WHOLE;
        slices[p->axes[i]] = (pith_slice){begin, begin + length, 1};
        p->leaves[i] = pith_slice_array(work, leaf, p->axes[i] + 1, slices);
        if (!p->leaves[i])
            return NULL;
    }
    return pith_tree_unflatten(work, p->def, p->flat.structure.item_count, p->leaves);
}

/* Run a chunk; only its result is kept, in `holder`. NULL: p->s has the error. */
static const void *
call_chunk(const split *p, pith_scope *holder, int64_t begin, int64_t length) {
    pith_scope *work = pithp_temporaries_open(p->s);
    if (!work)
        return NULL;
    const void *part = slice(p, work, begin, length);
    pithp_decisions_nest(p->s, 1);
    const void *result = pith_failed(work) ? NULL : pith_call(work, p->c->step, 1, &part);
    pithp_decisions_nest(p->s, -1);
    if (!pith_failed(work))
        result = pith_keep_any(holder, result);
    pith_scope_close(work);
    return pith_failed(p->s) ? NULL : result;
}

/* On failure p->s has the error. */
static void
run_chunk(const split *p, pithp_chunk_results *results, int64_t begin, int64_t length) {
    pith_scope *holder = pithp_temporaries_open(p->s);
    if (!holder)
        return;
    const void *result = call_chunk(p, holder, begin, length);
    if (!pith_failed(p->s) && !pith_failed(holder))
        pithp_chunk_results_add(results, holder, result, length);
    pith_scope_close(holder);
}

/* ---- All chunks of a step ---- */

static void begin_chunks(const split *p, chunked *c) {
    c->chunks = (pith_chunks){.runs = p->runs};
    pithp_chunk_results_begin(&c->results, p->s, &c->rule, p->runs);
}

static const void *run_all(const split *p, chunked *c, int64_t length) {
    pith_scope *s = p->s;
    begin_chunks(p, c);
    for (int64_t begin = 0; begin < p->runs;) {
        const int64_t left = p->runs - begin, now = left < length ? left : length;
        run_chunk(p, &c->results, begin, now);
        const pithp_chunk_end end = pithp_chunk_agree(s, now > 1);
        if (end == PITHP_CHUNK_FINE) {
            begin += now;
            c->chunks.count++;
            c->chunks.length = now > c->chunks.length ? now : c->chunks.length;
            continue;
        }
        if (end == PITHP_CHUNK_FAILED) {
            pithp_error_context(s, "runs %lld to %lld of %lld", (long long)begin,
                                (long long)(begin + now - 1), (long long)p->runs);
            return NULL;
        }
        if (pithp_ranks_of(s)) { /* some ranks have the result of this chunk */
            begin = 0;
            begin_chunks(p, c);
        }
        length = pithp_chunk_even(p->runs - begin, (now + 1) / 2);
        pithp_chunk_warn(s, length, now);
    }
    return pithp_chunk_results_end(&c->results);
}

/* The plain call; NULL without an error if memory is exhausted. */
static const void *run_whole(const split *p, chunked *c, const void *state) {
    pith_scope *work = pithp_temporaries_open(p->s);
    const void *result = NULL;
    pithp_decisions_nest(p->s, 1);
    if (work)
        result = pith_call(work, p->c->step, 1, &state);
    pithp_decisions_nest(p->s, -1);
    if (work && !pith_failed(work))
        result = pith_keep_any(p->s, result);
    if (work)
        pith_scope_close(work);
    const pithp_chunk_end end = pithp_chunk_agree(p->s, p->runs > 1);
    if (end == PITHP_CHUNK_SHRINKS)
        pithp_chunk_warn(p->s, pithp_chunk_even(p->runs, (p->runs + 1) / 2), p->runs);
    if (end != PITHP_CHUNK_FINE)
        return NULL;
    c->chunks = (pith_chunks){p->runs, 1, p->runs};
    return result;
}

static const void *run_split(const split *p, chunked *c, const void *state) {
    c->agreed = c->agreed || pithp_chunk_call_agrees(p->s, "pith_run_chunked", c->options,
                                                     c->rule.axis, p->runs);
    if (!c->agreed)
        return NULL;
    const int64_t most = c->options->length;
    int64_t length = most > 0 && most < p->runs ? most : p->runs;
    if (most == 0 && p->runs > 0)
        length = pithp_chunk_length(p->s, guess_length(p));
    if (length == 0 && p->runs > 0)
        return NULL;
    if (length == p->runs) {
        c->results.differs[0] = 0;
        const void *result = run_whole(p, c, state);
        if (result || pith_failed(p->s))
            return result;
        length = (p->runs + 1) / 2;
    }
    return run_all(p, c, pithp_chunk_even(p->runs, length));
}

/* Determine the split of a state. Errors are set on s. */
static pith_status prepare(split *p) {
    const pithp_structure *t = &p->flat.structure;
    p->axes = pithp_chunk_axes(p->s, &p->c->rule, &p->flat);
    p->def = p->axes ? pithp_treedef_make(p->s, t) : NULL;
    p->leaves =
        p->def
            ? pithp_scope_allocate(p->s, ((size_t)t->item_count + 1) * sizeof *p->leaves)
            : NULL;
    if (!p->leaves)
        return p->s->error.code;
    p->runs = -1;
    for (int64_t i = 0; i < t->item_count; i++) {
        if (pithp_array_is_traced(p->flat.items[i])) {
            pithp_item_fail(p->s, t, i, PITH_E_TRACED,
                            "pith_run_chunked: a traced leaf has no value yet");
            return pithp_trace_refuse(p->s, p->flat.items[i]);
        }
        if (p->runs < 0 && p->axes[i] != PITHP_CHUNK_WHOLE)
            p->runs = t->specs[i]->shape[p->axes[i]];
    }
    if (p->runs < 0)
        return pithp_fail(p->s, PITH_E_SHAPE, NULL,
                          "pith_run_chunked: no leaf of the state is split along axis %d",
                          p->c->rule.axis);
    return pithp_chunk_runs_check(p->s, &p->flat, p->axes, p->runs, "state");
}

/* The stepper's callback for a step. */
static const void *call_step(pith_scope *s, const void *state, void *closure) {
    chunked *c = closure;
    split p = {.c = c, .s = s};
    if (pithp_flat_make(s, &p.flat, state, NULL, NULL) != PITH_OK)
        return NULL;
    const void *result = prepare(&p) == PITH_OK ? run_split(&p, c, state) : NULL;
    pithp_flat_end(&p.flat);
    return result;
}

/* ---- Steps ---- */

bool pithp_chunk_options_fit(pith_scope *s, const pith_chunked_options *o) {
    if (o->steps >= 0 && o->length >= 0)
        return true;
    pithp_fail(s, PITH_E_ARG, NULL,
               "pith_run_chunked: steps and length must not be negative");
    return false;
}

static bool run_steps(pithp_stepper *p, chunked *c, int64_t steps) {
    for (int64_t i = 0; i < steps; i++) {
        if (!pithp_stepper_advance(p, 1))
            return false;
        if (c->results.differs[0])
            pithp_fail(p->s, PITH_E_CHECK, c->results.differs,
                       "pith_run_chunked: an unsplit leaf of the result differs between "
                       "chunks: it depends on the runs");
        if (!pithp_ranks_fine(p->s, "pith_run_chunked"))
            return false;
    }
    return true;
}

const void *pith_run_chunked_any(pith_scope *s,
                                 const pith_type *type,
                                 const pith_function *step,
                                 const void *state,
                                 int axis,
                                 const pith_chunked_options *options) {
    PITHP_IN_FLIGHT(s, "pith_run_chunked");
    static const pith_chunked_options defaults;
    const pith_chunked_options *o = options ? options : &defaults;
    if (!pithp_enter_as(s, "pith_run_chunked") || !pithp_chunk_options_fit(s, o) ||
        !pithp_step_fits(s, type, step, state, "pith_run_chunked")) {
        pithp_attempt_refuse(s);
        return type ? pithp_nil(type) : NULL;
    }
    chunked c = {.step = step, .options = o, .rule = {axis, o->whole, o->closure}};
    pithp_stepper p = {.s = s,
                       .call = call_step,
                       .call_closure = &c,
                       .max_repeats = pithp_repeats(o->max_tries),
                       .state = state};
    const bool fine = run_steps(&p, &c, o->steps ? o->steps : 1);
    const void *final = fine ? pith_keep_any(s, p.state) : NULL;
    if (p.holder)
        pith_scope_close(p.holder);
    if (final && o->chunks)
        *o->chunks = c.chunks;
    return final ? final : type ? pithp_nil(type) : NULL;
}
