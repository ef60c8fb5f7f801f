#include "trace/derive/rule_checks.h"

#include "program/vmap/vmap.h"
#include "trace/derive/derive_internal.h"

#include <string.h>

/* ---- Rows ---- */

/* A check: one row, since those of tangents and those of values are made apart. */
typedef struct exposed_check {
    pithp_exposed exposed;
    pith_runtime *runtime;
    pithp_checks *checks; /* one reference */
    int64_t i, first;     /* of these: the check, and its first value */
} exposed_check;

static const exposed_check *check_of(const pithp_exposed *e) {
    return (const exposed_check *)(const void *)e;
}

static void free_exposed(pithp_exposed *e) {
    exposed_check *c = (exposed_check *)(void *)e;
    pithp_checks_release(c->checks);
    pithp_release(c->runtime, c, sizeof *c);
}

static uint64_t neutral(const pithp_exposed *e, int32_t k) {
    return pithp_checks_neutral_bits(check_of(e)->checks, check_of(e)->first + k);
}

/* Whether a function that was recorded twice made both. */
static bool same(const pithp_exposed *e, const pithp_exposed *other) {
    const exposed_check *c = check_of(e), *d = check_of(other);
    return e->count == other->count && e->place == other->place &&
           pithp_checks_alike(c->checks, c->i, d->checks, d->i);
}

/* Record the merge in a trace. */
static void record_merge(pith_scope *w, pithp_trace *t, const exposed_check *c) {
    const int64_t total = pithp_checks_values(c->checks), count = c->exposed.count;
    const pith_array **all =
        pithp_scope_allocate(w, (3 * (size_t)total + 1) * sizeof *all);
    if (!all)
        return;
    const pithp_checks_step step = {.before = all, .now = all + total};
    const pith_array **kept = all + 2 * total;
    for (int64_t k = 0; k < 2 * count; k++) {
        const int64_t at = c->first + k % count;
        if (!(all[k / count * total + at] =
                  pithp_trace_input(w, t, pithp_checks_spec(c->checks, at))))
            return;
    }
    if (!pithp_checks_merge_one(w, c->checks, c->i, &step, kept))
        return;
    for (int64_t k = 0; k < count; k++) {
        const pithp_value v = pithp_trace_value(w, t, kept[c->first + k]);
        if (v < 0 || !pithp_program_output(w, t->program, v))
            return;
    }
}

static pithp_program *merge(const pithp_exposed *e, pith_scope *s) {
    pith_scope *w = pith_scope_open_in(s);
    pithp_program *p = NULL;
    if (!pithp_scope_writable(w)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    pithp_trace *t = pithp_trace_begin(w);
    if (t) {
        record_merge(w, t, check_of(e));
        p = pithp_trace_end(w, t);
    }
    pith_scope_close(w); /* its error moves to s */
    if (s->error.code == PITH_OK)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* Add the row of check i. False sets the error. */
static bool add_row(pith_scope *s,
                    pithp_program *p,
                    pithp_checks *checks,
                    int64_t i,
                    const pithp_value *values,
                    int64_t place) {
    int64_t count;
    const int64_t first = pithp_checks_first(checks, i, &count);
    exposed_check *c = pithp_allocate(s->runtime, sizeof *c);
    if (!c) {
        pithp_fail_memory(s, sizeof *c);
        return false;
    }
    *c = (exposed_check){.exposed = {.free = free_exposed,
                                     .count = (int32_t)count,
                                     .place = place,
                                     .neutral = neutral,
                                     .merge = merge,
                                     .same = same},
                         .runtime = s->runtime,
                         .checks = checks,
                         .i = i,
                         .first = first};
    atomic_init(&c->exposed.refs, 1);
    pithp_checks_retain(checks);
    const pithp_expose_params params = {&c->exposed};
    const pithp_new_instruction row = {.primitive = PITHP_OP_EXPOSE,
                                       .operand_count = (int)count,
                                       .operands = values + first,
                                       .params = &params,
                                       .site = s->site};
    const bool fine = pithp_program_add_many(s, p, &row) >= 0;
    pithp_exposed_release(&c->exposed);
    return fine;
}

/* Drop the checks that are among others. kept: set for each value. False sets the
 * error. */
static bool drop_others(pith_scope *s,
                        const pithp_program *p,
                        pithp_checks *checks,
                        const uint64_t *inputs,
                        int64_t other_count,
                        const pithp_check_id *others,
                        bool *kept) {
    const size_t count = (size_t)other_count;
    pithp_check_id *left = pithp_scope_allocate(s, (count + 1) * sizeof *left);
    uint64_t *hashes =
        pithp_scope_allocate(s, ((size_t)p->value_count + 1) * sizeof *hashes);
    if (!left || !hashes)
        return false;
    memcpy(left, others, count * sizeof *left);
    for (int64_t k = 0; k < p->input_count; k++)
        hashes[p->inputs[k]] = inputs[k];
    const pithp_check_id *own = pithp_program_expressions(s, p, 0, hashes)
                                    ? pithp_checks_ids(s, checks, 0, hashes)
                                    : NULL;
    if (own)
        pithp_checks_drop(checks, own, other_count, left, kept);
    return own;
}

bool pithp_rule_checks_expose(pith_scope *s,
                              pithp_program *p,
                              pithp_checks *checks,
                              const uint64_t *inputs,
                              int64_t other_count,
                              const pithp_check_id *others,
                              int64_t place) {
    const int64_t count = pithp_checks_values(checks);
    if (!checks)
        return true;
    p->output_count -= count;
    bool *kept = pithp_scope_allocate(s, (size_t)count + 1), fine = true;
    pithp_value *values = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *values);
    if (!kept || !values)
        return false;
    int64_t next = 0;
    memset(kept, 1, (size_t)count);
    if (other_count && !drop_others(s, p, checks, inputs, other_count, others, kept))
        return false;
    for (int64_t k = 0; k < count; k++)
        if (kept[k])
            values[next++] = p->outputs[p->output_count + k];
    for (int64_t i = 0; i < pithp_checks_count(checks) && fine; i++)
        fine = add_row(s, p, checks, i, values, place);
    return fine;
}

/* ---- Derived programs ---- */

bool pithp_rule_checks_inline(pith_scope *s,
                              pithp_program *p,
                              const pithp_value *inputs,
                              pithp_value *outputs,
                              pithp_rule_checks *checks) {
    pithp_program *lifted = pithp_program_lift(s, p, &checks->lifted);
    pithp_value *all =
        lifted ? pithp_scope_allocate(s, ((size_t)lifted->output_count + 1) * sizeof *all)
               : NULL;
    const bool fine = all && pithp_program_inline(s, pithp_scope_trace(s)->program,
                                                  lifted, inputs, all);
    if (fine && p->output_count)
        memcpy(outputs, all, (size_t)p->output_count * sizeof *all);
    checks->values = checks->next_values = fine ? all + p->output_count : NULL;
    checks->next = 0;
    pithp_program_release(lifted);
    return fine;
}

/* The check of an entry. *axes: batch axes of its values. */
static const exposed_check *check_of_entry(const pithp_exposed *e, int *axes) {
    const pithp_exposed *entry;
    int64_t size;
    for (*axes = 0; (entry = pithp_exposed_of_entry(e, &size)); e = entry)
        ++*axes;
    entry = pithp_exposed_in_rule(e);
    return check_of(entry ? entry : e);
}

static pith_status
record_one(pith_scope *s, const pithp_lifted *l, const pithp_value *values) {
    int axes;
    const exposed_check *check = check_of_entry(l->exposed, &axes);
    const pith_array **arrays = pithp_trace_arrays(s, l->exposed->count, values);
    if (!arrays)
        return s->error.code;
    return axes ? pithp_checks_replay_batch_one(s, check->checks, check->i, arrays, axes,
                                                l->nested)
                : pithp_checks_replay_one(s, check->checks, check->i, arrays, l->nested);
}

pith_status pithp_rule_checks_record(pith_scope *s, const pithp_rule_checks *checks) {
    const pithp_value *values = checks->values;
    for (int64_t k = 0; k < checks->lifted.count; k++) {
        const pithp_lifted *l = &checks->lifted.list[k];
        if (!l->exposed->place && record_one(s, l, values) != PITH_OK)
            break;
        values += l->exposed->count;
    }
    return s->error.code;
}

pith_status pithp_rule_checks_watch(pith_scope *s,
                                    pithp_rule_checks *checks,
                                    int64_t end,
                                    bool reverse) {
    for (; checks->next < checks->lifted.count; checks->next++) {
        const pithp_lifted *l = &checks->lifted.list[checks->next];
        const int64_t place = l->exposed->place - 1;
        if (place >= 0 && (reverse ? place <= end : place > end))
            break;
        if (place >= 0 && record_one(s, l, checks->next_values) != PITH_OK)
            break;
        checks->next_values += l->exposed->count;
    }
    return s->error.code;
}

void pithp_rule_checks_end(pithp_rule_checks *checks) {
    pithp_lifted_end(&checks->lifted);
}
