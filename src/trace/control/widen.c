/* Carries that come to vary between ranks. A carry is one value over the whole loop: if
 * it is replicated along an axis before the loop and varies after an iteration, it varies
 * from the beginning, and its initial value is widened. Derivations in the body depend on
 * that. The body is recorded first with what the initial values vary over; if derivations
 * in it relied on less than the fixed point, it is recorded again. Sets only grow, so
 * this ends. */
#include "program/ir/region.h"
#include "program/vary/vary.h"
#include "trace/control/control_internal.h"

/* The array of the outer trace, marked. NULL: error set. */
static const pith_array *
widened(pith_scope *s, const pith_array *a, const pith_mesh *mesh, pithp_axis_set axes) {
    pithp_trace *t = pithp_scope_trace(s);
    const pith_spec *spec = pithp_array_spec(a);
    const pithp_vary_params params = {.group = pithp_mesh_group_along(s, mesh, axes)};
    const pithp_value v = params.group ? pithp_trace_value(s, t, a) : -1;
    const pithp_value wide =
        v < 0 ? -1
              : pithp_program_add(s, t->program, PITHP_OP_VARY, 1, &v, &params, s->site);
    const pith_array *made = wide < 0 ? NULL : pithp_trace_array(s, t, wide);
    return made && pithp_placement_of(spec) ? pithp_array_place(s, made, spec) : made;
}

/* What operands and results of a loop vary over. */
typedef struct carries {
    const pithp_axis_set *before, *after; /* of the first carry, and so on */
} carries;

/* Widen what has come to vary; w->again: something has. */
static pith_status apply(pith_scope *s,
                         const carries *c,
                         const pithp_loop_variance *loop,
                         pithp_widening *w) {
    w->again = loop->decision & ~w->decision;
    w->decision |= loop->decision;
    for (int64_t k = 0; k < w->carry->structure.item_count; k++) {
        const pithp_axis_set more = c->after[k] & ~c->before[k];
        if (!more)
            continue;
        const pith_array *wide = widened(s, w->carry->items[k], pith_mesh_of(s), more);
        if (!wide)
            return s->error.code;
        w->carry->items[k] = wide;
        w->again = true;
    }
    return PITH_OK;
}

static bool has_marks(const pithp_new_instruction *given) {
    bool any = false;
    for (int32_t k = 0; k < given->program_count; k++)
        any |= given->programs[k]->has_marks;
    return any;
}

/* What the operands vary over; unknown ones, which the condition gives, nothing yet. */
static bool
find_operands(pith_scope *s, const pithp_new_instruction *given, pithp_axis_set *axes) {
    const size_t n = (size_t)given->operand_count + 1;
    pithp_value *known = pithp_scope_allocate(s, n * sizeof *known);
    if (!known)
        return false;
    for (int32_t k = 0; k < given->operand_count; k++)
        known[k] = given->operands[k] < 0 ? 0 : given->operands[k];
    if (pithp_trace_variance(s, pithp_scope_trace(s), given->operand_count, known,
                             axes) != PITH_OK)
        return false;
    for (int32_t k = 0; k < given->operand_count; k++)
        if (given->operands[k] < 0)
            axes[k] = 0;
    return true;
}

pith_status pithp_control_widen(pith_scope *s,
                                const pithp_new_instruction *given,
                                int skipped,
                                pithp_widening *w) {
    pithp_trace *t = pithp_scope_trace(s);
    const pithp_regions layout =
        pithp_regions_of_call(given->primitive, given->params, given->operand_count);
    pithp_loop_variance loop = {.mistaken = false};
    w->again = false;
    if (!has_marks(given) || !pith_mesh_of(s))
        return PITH_OK;
    const size_t n = (size_t)given->operand_count + 1; /* at least as many results */
    pithp_axis_set *before = pithp_scope_allocate(s, n * sizeof *before);
    loop.results = pithp_scope_allocate(
        s, (n + (size_t)given->programs[given->program_count - 1]->output_count) *
               sizeof *loop.results);
    if (!before || !loop.results || !find_operands(s, given, before) ||
        !pithp_loop_find_variance(s, t->program, given, before, &loop))
        return s->error.code;
    const carries c = {before + layout.carries.first + skipped, loop.results + skipped};
    return loop.mistaken ? apply(s, &c, &loop, w) : PITH_OK;
}
