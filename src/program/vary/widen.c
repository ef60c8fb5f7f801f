/* Widening: rows that mark where a replicated value is used as a varying one, for
 * transpositions. What decides on branches and loops widens their operands outside of
 * them: the sum over ranks, the transpose, must not run in a branch that not all ranks
 * take. */
#include "program/vary/area.h"

#include <string.h>

typedef struct widening {
    pith_scope *s;
    const pith_mesh *mesh;
    const pithp_area *area;
    pithp_program *to;
    pithp_value *names;      /* of each value of the program its value in `to`; */
    pithp_value *wide_names; /* that widened by */
    pithp_axis_set *widened; /* these axes; 0: it is not */
    bool any;                /* something was widened */
} widening;

static pithp_program *widen(pith_scope *s,
                            const pith_mesh *mesh,
                            const pithp_area *a,
                            pithp_program *p,
                            const pithp_axis_set *outputs);

/* A mark along axes. -1: error set. */
static pithp_value add_mark(widening *w,
                            pithp_primitive mark,
                            pithp_axis_set axes,
                            pithp_value v,
                            const char *site) {
    const pithp_vary_params params = {.group =
                                          pithp_mesh_group_along(w->s, w->mesh, axes)};
    return params.group ? pithp_program_add(w->s, w->to, mark, 1, &v, &params, site) : -1;
}

/* Constants have no tangents. */
static bool may_move(const pithp_program *p, pithp_value v) {
    return p->values[v].origin != PITHP_FROM_CONSTANT &&
           pith_dtype_is_float(pithp_value_spec(p, v)->dtype);
}

/* A value as one that varies over more axes. -1: error set. */
static pithp_value widened(widening *w, pithp_value v, pithp_axis_set axes) {
    const pithp_axis_set more = axes & ~w->area->varies[v];
    if (!more || !may_move(w->area->program, v))
        return w->names[v];
    if (w->widened[v] != more) {
        w->wide_names[v] = add_mark(w, PITHP_OP_VARY, more, w->names[v], NULL);
        w->widened[v] = more;
        w->any = true;
    }
    return w->wide_names[v];
}

/* ---- What the operands of an instruction vary over at least ---- */

static pithp_axis_set of_row(const pithp_area *a, const pithp_instruction *i) {
    const pithp_axes_of_row row = pithp_axes_of(i);
    pithp_axis_set all = row.widens ? row.axes : 0;
    for (int32_t k = 0; k < i->operand_count; k++)
        all |= a->varies[pithp_operands(a->program, i)[k]];
    return all;
}

/* The program whose inputs an operand of control flow is. */
static pithp_axis_set of_operand(const pithp_instruction *i,
                                 const pithp_regions *layout,
                                 const pithp_area *inner,
                                 int k) {
    for (int32_t b = 0; b < i->program_count; b++) {
        const int input = pithp_region_input(layout, b, k);
        if (input >= 0 && pithp_region_yields(layout, b))
            return pithp_area_input(&inner[b], input);
    }
    return 0;
}

static void list_operands(const widening *w,
                          const pithp_instruction *i,
                          const pithp_area *inner,
                          pithp_axis_set *axes) {
    const pithp_area *a = w->area;
    const bool regions = pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS);
    const bool passes = i->primitive == PITHP_OP_RULE &&
                        !((const pithp_rule_params *)i->params)->rule->linear;
    const pithp_axis_set all = regions || passes ? 0 : of_row(a, i);
    const pithp_regions layout = pithp_regions_of(i);
    for (int32_t k = 0; k < i->operand_count; k++)
        axes[k] = regions ? of_operand(i, &layout, inner, k) : all;
}

/* ---- Instructions ---- */

/* The program of a branch or body, whose outputs vary as the results do. */
static pithp_program *
nested(widening *w, const pithp_instruction *i, const pithp_area *inner, int b) {
    const pithp_regions layout = pithp_regions_of(i);
    const pithp_axis_set *results = w->area->varies + i->result;
    if (!pithp_region_yields(&layout, b)) { /* a condition */
        pithp_program_retain(i->programs[b]);
        return i->programs[b];
    }
    pithp_axis_set *outputs =
        pithp_scope_allocate(w->s, ((size_t)i->result_count + 1) * sizeof *outputs);
    if (!outputs)
        return NULL;
    for (int32_t k = 0; k < i->result_count; k++)
        outputs[k] = results[k];
    pithp_program *p = widen(w->s, w->mesh, &inner[b], i->programs[b], outputs);
    w->any |= p && p != i->programs[b];
    return p;
}

/* A mark along the axes for which it says something: others are no step of a transpose,
 * nor are expectations. */
static bool copy_mark(widening *w, const pithp_instruction *i) {
    const pithp_value v = pithp_operands(w->area->program, i)[0];
    const pithp_axis_set axes = pithp_axes_of(i).axes, has = w->area->varies[v],
                         left = pithp_is_expectation(i)         ? 0
                                : i->primitive == PITHP_OP_VARY ? axes & ~has
                                                                : axes & has;
    w->any |= left != axes;
    w->names[i->result] =
        left ? add_mark(w, i->primitive, left, w->names[v], i->site) : w->names[v];
    return w->names[i->result] >= 0;
}

static bool
add_instruction(widening *w, const pithp_instruction *i, const pithp_area *inner) {
    const pithp_program *p = w->area->program;
    const size_t n = (size_t)i->operand_count + 1, m = (size_t)i->program_count + 1;
    pithp_value *operands = pithp_scope_allocate(w->s, n * sizeof *operands);
    pithp_axis_set *axes = pithp_scope_allocate(w->s, n * sizeof *axes);
    pithp_program **programs = pithp_scope_allocate(w->s, m * sizeof *programs);
    bool fine = operands && axes && programs;
    int32_t made = 0;
    if (!fine)
        return false;
    list_operands(w, i, inner, axes);
    for (int32_t k = 0; k < i->operand_count && fine; k++)
        fine = (operands[k] = widened(w, pithp_operands(p, i)[k], axes[k])) >= 0;
    while (made < i->program_count && fine)
        if ((fine = (programs[made] = nested(w, i, inner, made)) != NULL))
            made++;
    const pithp_new_instruction copy = {
        .primitive = i->primitive,
        .operand_count = i->operand_count,
        .operands = operands,
        .params = i->params,
        .program_count = made,
        .programs = programs,
        .site = i->site,
        .spec = i->result_count == 1 ? pithp_value_spec(p, i->result) : NULL};
    const pithp_value first = fine ? pithp_program_add_many(w->s, w->to, &copy) : -1;
    for (int32_t k = 0; k < i->result_count && first >= 0; k++)
        w->names[i->result + k] = first + k;
    while (made-- > 0)
        pithp_program_release(programs[made]);
    return first >= 0;
}

/* ---- Programs ---- */

static bool add_values(widening *w, pithp_taken groups) {
    const pithp_area *inner = w->area->inner;
    pithp_graph_walk walk = {w->area->program, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    while (fine && pithp_graph_next(&walk, &v, &i)) {
        if (i) {
            w->to->remat = pithp_remat_within((pithp_remat){0}, groups, i->remat);
            fine = pithp_is_axis_mark(i->primitive) ? copy_mark(w, i)
                                                    : add_instruction(w, i, inner);
            inner += i->program_count;
        } else if (walk.program->values[v].origin == PITHP_FROM_INPUT) {
            fine = (w->names[v] = pithp_program_input(
                        w->s, w->to, pithp_value_spec(walk.program, v))) >= 0;
        } else {
            fine = pithp_program_copy(w->s, w->to, walk.program, v, NULL, w->names);
        }
    }
    w->to->remat = (pithp_remat){0};
    return fine;
}

static bool add_outputs(widening *w, const pithp_axis_set *outputs) {
    const pithp_program *p = w->area->program;
    bool fine = true;
    for (int64_t k = 0; k < p->output_count && fine; k++) {
        const pithp_value v = widened(w, p->outputs[k], outputs ? outputs[k] : 0);
        fine = v >= 0 && pithp_program_output(w->s, w->to, v);
    }
    return fine;
}

/* A program with one reference: another, or p, whose area it is. NULL: error set. */
static pithp_program *widen(pith_scope *s,
                            const pith_mesh *mesh,
                            const pithp_area *a,
                            pithp_program *p,
                            const pithp_axis_set *outputs) {
    const size_t n = (size_t)p->value_count + 1;
    widening w = {.s = s, .mesh = mesh, .area = a};
    w.names = pithp_scope_allocate(s, 2 * n * sizeof *w.names);
    w.widened = pithp_scope_allocate(s, n * sizeof *w.widened);
    if (!w.names || !w.widened || !(w.to = pithp_program_make(s)))
        return NULL;
    w.wide_names = w.names + n;
    memset(w.widened, 0, n * sizeof *w.widened);
    const pithp_taken groups = pithp_program_take_groups(w.to, p);
    const bool fine = add_values(&w, groups) && add_outputs(&w, outputs);
    if (fine && w.any) {
        PITHP_VERIFY(w.to);
        return w.to;
    }
    pithp_program_release(w.to);
    if (!fine)
        return NULL;
    pithp_program_retain(p);
    return p;
}

static pith_scope *open_work(pith_scope *s) {
    pith_scope *work = pith_scope_open_in(s);
    if (pithp_scope_writable(work))
        return work;
    pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    return NULL;
}

pithp_program *pithp_program_widen(pith_scope *s,
                                   pithp_program *p,
                                   const pith_mesh *mesh,
                                   const pithp_axis_set *inputs,
                                   const pithp_axis_set *outputs) {
    pith_scope *work = open_work(s);
    pithp_area area = {.program = NULL};
    pithp_program *wide = work && pithp_area_analyse(work, &area, p, inputs)
                              ? widen(work, mesh, &area, p, outputs)
                              : NULL;
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return wide;
}

/* ---- Linearizations ---- */

/* What inputs and outputs of the linear program vary over. NULL: error set. */
typedef struct linear_axes {
    pithp_axis_set *inputs, *outputs;
} linear_axes;

/* A tangent varies as its value does; residuals, as the values that they are. results:
 * set, of each output that is no residual. */
static bool find_axes(pith_scope *s,
                      const pithp_linearization *l,
                      const pithp_axis_set *inputs,
                      const bool *moving,
                      const bool *moves,
                      pithp_axis_set *results,
                      linear_axes *axes) {
    const pithp_program *forward = l->forward, *linear = l->linear;
    const int64_t values = forward->output_count - l->residual_count;
    const size_t n = (size_t)(linear->input_count + linear->output_count) + 1;
    pithp_area area = {.program = NULL};
    axes->inputs = pithp_scope_allocate(s, n * sizeof *axes->inputs);
    if (!axes->inputs || !pithp_area_analyse(s, &area, forward, inputs))
        return false;
    axes->outputs = axes->inputs + linear->input_count;
    memset(axes->inputs, 0, n * sizeof *axes->inputs);
    int64_t next = 0;
    for (; next < l->residual_count; next++)
        axes->inputs[next] = pithp_area_output(&area, values + next);
    for (int64_t k = 0; k < forward->input_count; k++)
        if (moving[k])
            axes->inputs[next++] = inputs[k];
    PITH_ASSERT(next == linear->input_count);
    next = 0;
    for (int64_t k = 0; k < values; k++) {
        results[k] = pithp_area_output(&area, k);
        if (moves[k])
            axes->outputs[next++] = results[k];
    }
    return true;
}

bool pithp_linearization_widen(pith_scope *s,
                               pithp_linearization *l,
                               const pith_mesh *mesh,
                               const pithp_axis_set *inputs,
                               const bool *moving,
                               const bool *moves,
                               pithp_axis_set *results) {
    pith_scope *work = open_work(s);
    pithp_program *wide = NULL;
    linear_axes axes;
    if (work && find_axes(work, l, inputs, moving, moves, results, &axes))
        wide = pithp_program_widen(work, l->linear, mesh, axes.inputs, axes.outputs);
    if (work)
        pith_scope_close(work); /* its error moves to s */
    if (!wide)
        return false;
    pithp_program_release(l->linear);
    l->linear = wide;
    return true;
}
