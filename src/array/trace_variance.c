/* Variance of traced arrays: the axes of the mesh over which they vary, by an analysis of
 * what was recorded so far. Derivations and pith_shard_map ask for it.
 *
 * Inputs of a program vary over all axes: the arrays of a rank are its own, until a
 * collective or a spec says otherwise. Inputs of a trace inside another vary as the
 * arrays that they stand for. Carries of a loop may come to vary more in its body: who
 * relies on what is known so far notes that in the program (pithp_vary_params.expected),
 * and the body is recorded again if it does not hold (trace/control/widen.c).
 */
#include "array/array_internal.h"
#include "program/vary/vary.h"

#include <string.h>

pith_status pithp_trace_take(pith_scope *s,
                             pithp_trace *t,
                             pithp_trace *around,
                             const pith_array *a) {
    const int64_t input = t->program->input_count;
    if (!around)
        return PITH_OK;
    if (input >= t->taken_room) {
        const int64_t room = 2 * input + 16;
        int32_t *more = pithp_scope_allocate(t->handles, (size_t)room * sizeof *more);
        if (!more)
            return pithp_fail_memory(s, (size_t)room * sizeof *more);
        memset(more, 0xff, (size_t)room * sizeof *more);
        if (t->taken)
            memcpy(more, t->taken, (size_t)t->taken_room * sizeof *more);
        t->taken = more;
        t->taken_room = room;
    }
    t->around = around;
    if (a && pithp_array_is_traced(a) && a->data == around)
        t->taken[input] = (int32_t)a->value;
    return PITH_OK;
}

static bool find_inputs(pith_scope *s, pithp_trace *t, pithp_axis_set *inputs);

/* Of all values so far, in memory of s. NULL: error set. */
static pithp_axis_set *find_values(pith_scope *s, pithp_trace *t) {
    const pithp_program *p = t->program;
    pithp_axis_set *values =
        pithp_scope_allocate(s, ((size_t)p->value_count + 1) * sizeof *values);
    pithp_axis_set *inputs =
        pithp_scope_allocate(s, ((size_t)p->input_count + 1) * sizeof *inputs);
    return values && inputs && find_inputs(s, t, inputs) &&
                   pithp_program_variance(s, p, inputs, values)
               ? values
               : NULL;
}

/* Without collectives and marks every value that depends on an input varies. */
static bool find_inputs(pith_scope *s, pithp_trace *t, pithp_axis_set *inputs) {
    const int64_t count = t->program->input_count;
    t->variance_asked +=
        t->program->has_collectives || t->program->has_marks || t->varies;
    if (!t->around) {
        for (int64_t k = 0; k < count; k++)
            inputs[k] = pithp_mesh_axes(pith_mesh_of(s));
        return true;
    }
    const int64_t asked = t->around->variance_asked;
    const pithp_axis_set *values = find_values(s, t->around);
    t->variance_asked += t->around->variance_asked - asked;
    for (int64_t k = 0; values && k < count; k++) {
        const int32_t from = k < t->taken_room ? t->taken[k] : -1;
        inputs[k] = (from < 0 ? 0 : values[from]) |
                    (t->decides < 0 ? 0 : values[t->decides]) | t->varies;
    }
    return values;
}

/* A scope for an analysis. NULL: error set. */
static pith_scope *open_work(pith_scope *s) {
    pith_scope *work = pith_scope_open_in(s);
    if (pithp_scope_writable(work))
        return work;
    pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    return NULL;
}

pith_status pithp_trace_variance(pith_scope *s,
                                 pithp_trace *t,
                                 int64_t count,
                                 const int32_t *values,
                                 pithp_axis_set *axes) {
    memset(axes, 0, (size_t)count * sizeof *axes);
    pith_scope *work = pith_mesh_of(s) ? open_work(s) : NULL;
    if (!work)
        return s->error.code;
    const pithp_axis_set *all = find_values(work, t);
    for (int64_t k = 0; all && k < count; k++)
        axes[k] = all[values[k]];
    pith_scope_close(work); /* its error moves to s */
    return s->error.code;
}

/* ---- Checks ---- */

static void check(pith_scope *work, pithp_trace *t, pithp_variance_claim *claim) {
    const size_t n = (size_t)t->program->input_count + (size_t)claim->count + 1;
    pithp_axis_set *inputs = pithp_scope_allocate(work, n * sizeof *inputs);
    if (!inputs || !find_inputs(work, t, inputs))
        return;
    claim->inputs = inputs;
    pithp_program_check_variance(work, t->program, claim,
                                 inputs + t->program->input_count);
}

pith_status pithp_trace_check_variance(pith_scope *s,
                                       const char *function,
                                       int64_t count,
                                       const pith_array *const *arrays,
                                       const pithp_axis_set *most,
                                       const char *const *names) {
    pithp_trace *t = pithp_scope_trace(s);
    pith_scope *work = pith_mesh_of(s) ? open_work(s) : NULL;
    if (!work)
        return s->error.code;
    pithp_value *values =
        pithp_scope_allocate(work, ((size_t)count + 1) * sizeof *values);
    for (int64_t k = 0; values && k < count; k++)
        values[k] = (pithp_value)arrays[k]->value;
    pithp_variance_claim claim = {.mesh = pith_mesh_of(s),
                                  .count = count,
                                  .values = values,
                                  .most = most,
                                  .names = names,
                                  .function = function};
    if (values)
        check(work, t, &claim);
    pith_scope_close(work); /* its error moves to s */
    return s->error.code;
}

/* ---- Marks ---- */

static const pith_array *mark(pith_scope *s,
                              pithp_primitive op,
                              const pith_array *a,
                              pithp_axis_set axes,
                              bool mapped) {
    if (!axes || !pithp_array_is_traced(a))
        return a;
    const pithp_vary_params params = {
        .group = pithp_mesh_group_along(s, pith_mesh_of(s), axes), .mapped = mapped};
    return params.group ? pithp_bind(s, op, 1, &a, &params) : NULL;
}

const pith_array *pithp_trace_vary(pith_scope *s, const pith_array *a, uint32_t axes) {
    return mark(s, PITHP_OP_VARY, a, axes, false);
}

const pith_array *
pithp_trace_replicated(pith_scope *s, const pith_array *a, uint32_t axes) {
    return mark(s, PITHP_OP_REPLICATED, a, axes, false);
}

const pith_array *pithp_trace_mapped(pith_scope *s, const pith_array *a, uint32_t axes) {
    return mark(s, PITHP_OP_REPLICATED, a, axes, true);
}
