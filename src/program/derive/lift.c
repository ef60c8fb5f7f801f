#include "program/derive/lift.h"

#include "program/derive/builder.h"
#include "program/derive/lift_chunks.h"
#include "program/derive/split.h"
#include "program/ir/region.h"

#include <string.h>

typedef struct lifting {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    pithp_value *names;
    pithp_value *values; /* of the rows that were lifted */
    int64_t value_count;
    pithp_lifted_list *lifted;
} lifting;

/* The number of rows in a program, with nested programs, and of their values. */
static void count_rows(const pithp_program *p, int64_t *rows, int64_t *values) {
    for (int64_t n = 0; p->has_effects && n < p->instruction_count; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (i->primitive == PITHP_OP_EXPOSE) {
            ++*rows;
            *values += i->operand_count;
        }
        for (int b = 0; b < i->program_count; b++)
            count_rows(i->programs[b], rows, values);
    }
}

static void add_lifted(pithp_lifted_list *lifted, pithp_exposed *exposed, bool nested) {
    atomic_fetch_add_explicit(&exposed->refs, 1, memory_order_relaxed);
    lifted->list[lifted->count++] = (pithp_lifted){exposed, nested};
    lifted->value_count += exposed->count;
}

/* Whether two checks are one of a loop that was divided. */
static bool is_same(const pithp_exposed *a, const pithp_exposed *b) {
    return a->of.nest && a->of.nest == b->of.nest && a->of.row == b->of.row &&
           a->number == b->number && a->count == b->count && !a->place && !b->place &&
           a->batch == b->batch && (!a->batch || a->batch->is_alike(a, b));
}

/* Merge the values of a later part of a loop into those of an earlier one. */
static bool merge_parts(lifting *l,
                        const pithp_exposed *e,
                        pithp_value *earlier,
                        const pithp_value *later) {
    const size_t count = (size_t)e->count;
    pithp_value *both = pithp_scope_allocate(l->s, (2 * count + 1) * sizeof *both);
    pithp_program *p = both ? e->merge(e, l->s) : NULL;
    if (p) {
        memcpy(both, earlier, count * sizeof *both);
        memcpy(both + count, later, count * sizeof *both);
    }
    const bool fine = p && pithp_program_inline(l->s, l->to, p, both, earlier);
    pithp_program_release(p);
    return fine;
}

/* Add a check with its values, or merge it with that of another part. */
static bool
lift_row(lifting *l, pithp_exposed *e, bool nested, const pithp_value *values) {
    pithp_value *earlier = l->values;
    for (int64_t k = 0; k < l->lifted->count; k++) {
        pithp_lifted *other = &l->lifted->list[k];
        if (is_same(other->exposed, e)) {
            other->nested = true;
            return merge_parts(l, e, earlier, values);
        }
        earlier += other->exposed->count;
    }
    memcpy(l->values + l->value_count, values, (size_t)e->count * sizeof *values);
    l->value_count += e->count;
    add_lifted(l->lifted, e, nested);
    return true;
}

/* An array of a passing value. */
static pithp_value add_neutral(pith_scope *s,
                               pithp_program *p,
                               const pithp_exposed *e,
                               int32_t k,
                               const pith_spec *spec) {
    pithp_full_params params = {
        .dtype = spec->dtype, .rank = spec->rank, .value = e->neutral(e, k)};
    memcpy(params.shape, spec->shape, sizeof params.shape);
    return pithp_program_add(s, p, PITHP_OP_FULL, 0, NULL, &params, NULL);
}

/* ---- Nested programs ---- */

typedef struct nested_lift {
    lifting *l;
    const pithp_instruction *i;
    pithp_regions r;
    pithp_program **lifted;   /* the programs, lifted */
    pithp_lifted_list *lists; /* of each */
    const pith_spec **specs;  /* of all values that were lifted, except for */
    int64_t value_count;
    pithp_lifted_list stacked; /* checks of the entries of all chunks, whose values are */
    int64_t result_count;      /* further results */
    /* Of the last checks of the list of a scan, whose values are merged as well: only
     * some of these have entries. */
    int64_t mixed_count, mixed_values;
} nested_lift;

/* Add the passing values of a list. */
static bool add_neutrals(pith_scope *s,
                         pithp_program *p,
                         const pithp_lifted_list *list,
                         const pith_spec *const *specs,
                         pithp_value *values) {
    for (int64_t n = 0; n < list->count; n++)
        for (int32_t k = 0; k < list->list[n].exposed->count; k++)
            if ((*values++ = add_neutral(s, p, list->list[n].exposed, k, *specs++)) < 0)
                return false;
    return true;
}

/* A branch with the values of all branches as further outputs. */
static bool extend_branch(const nested_lift *n, int b, pithp_program *to) {
    const pithp_program *from = n->lifted[b];
    pith_scope *s = n->l->s;
    const int64_t results = n->i->result_count;
    const size_t most = (size_t)(from->input_count + from->output_count) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, most * sizeof *inputs),
                *others = pithp_scope_allocate(s, ((size_t)n->value_count + 1) *
                                                      sizeof *others);
    bool fine = inputs && others;
    for (int64_t k = 0; k < from->input_count && fine; k++)
        fine = (inputs[k] = pithp_program_input(
                    s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    pithp_value *outputs = inputs + from->input_count;
    fine = fine && pithp_program_inline(s, to, from, inputs, outputs);
    for (int64_t k = 0; k < results && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    const pith_spec *const *specs = n->specs;
    for (int other = 0; other < n->i->program_count && fine; other++) {
        const int64_t count = n->lists[other].value_count;
        fine = other == b || add_neutrals(s, to, &n->lists[other], specs, others);
        for (int64_t k = 0; k < count && fine; k++)
            fine = pithp_program_output(s, to,
                                        other == b ? outputs[results + k] : others[k]);
        specs += count;
    }
    return fine;
}

/* Whether a watch failed before an iteration: an array of its values is not that of a
 * passing one. PITHP_ABSENT: there are no watches; -1 sets the error. */
static pithp_value
has_failed(const nested_lift *n, pithp_program *to, const pithp_value *before) {
    pith_scope *s = n->l->s;
    const pithp_lifted_list *list = &n->lists[n->i->program_count - 1];
    pithp_derivation d = {.s = s, .to = to};
    pithp_value any = PITHP_ABSENT;
    const pith_spec *const *spec = n->specs;
    for (int64_t k = 0; k < list->count; k++) {
        const pithp_exposed *e = list->list[k].exposed;
        for (int32_t j = 0; j < e->count; j++, spec++, before++) {
            const pithp_reduce_params axes = {(1U << (*spec)->rank) - 1};
            if (!e->place)
                continue;
            pithp_value v =
                pithp_derive_2(&d, PITHP_OP_NE, *before, add_neutral(s, to, e, j, *spec));
            if ((*spec)->rank)
                v = pithp_derive_call(&d, PITHP_OP_ANY, 1, &v, &axes);
            any =
                any == PITHP_ABSENT ? v : pithp_derive_2(&d, PITHP_OP_LOGICAL_OR, any, v);
        }
    }
    return any;
}

/* Of watches the first iteration counts in which one fails: what fails later follows. */
static bool keep_first(const nested_lift *n,
                       pithp_program *to,
                       const pithp_value *before,
                       pithp_value *merged) {
    const pithp_lifted_list *list = &n->lists[n->i->program_count - 1];
    pithp_derivation d = {.s = n->l->s, .to = to};
    const pithp_value failed = has_failed(n, to, before);
    bool fine = failed != -1;
    for (int64_t k = 0; k < list->count && failed >= 0; k++)
        for (int32_t j = 0; j < list->list[k].exposed->count; j++, before++, merged++)
            if (list->list[k].exposed->place)
                fine &= (*merged = pithp_derive_3(&d, PITHP_OP_WHERE, failed, *before,
                                                  *merged)) >= 0;
    return fine;
}

/* Merge the values of an iteration with those before it. */
static bool merge(const nested_lift *n,
                  pithp_program *to,
                  const pithp_value *before,
                  const pithp_value *now,
                  pithp_value *merged) {
    pith_scope *s = n->l->s;
    const pithp_lifted_list *list = &n->lists[n->i->program_count - 1];
    bool fine = true;
    for (int64_t k = 0; k < list->count && fine; k++) {
        const pithp_exposed *e = list->list[k].exposed;
        const size_t count = (size_t)e->count;
        pithp_value *both = pithp_scope_allocate(s, (2 * count + 1) * sizeof *both);
        pithp_program *p = both ? e->merge(e, s) : NULL;
        if (p) {
            memcpy(both, before, count * sizeof *both);
            memcpy(both + count, now, count * sizeof *both);
        }
        fine = p && pithp_program_inline(s, to, p, both, merged);
        pithp_program_release(p);
        before += count, now += count, merged += count;
    }
    return fine;
}

/* A program of a loop with the values as further carries, of which it is the body or the
 * condition. */
static bool extend_loop(const nested_lift *n, int b, pithp_program *to) {
    const pithp_program *from = n->lifted[b];
    pith_scope *s = n->l->s;
    const bool body = b == n->i->program_count - 1;
    const int64_t carries = n->r.carries.count, more = n->value_count,
                  at = pithp_region_first_carry(&n->r, b) + carries;
    const size_t most = (size_t)(from->input_count + from->output_count + 2 * more) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, most * sizeof *inputs),
                *outputs = inputs + from->input_count,
                *before = outputs + from->output_count, *merged = before + more;
    bool fine = inputs;
    for (int64_t k = 0; k <= from->input_count && fine; k++) {
        for (int64_t j = 0; k == at && j < more && fine; j++)
            fine = (before[j] = pithp_program_input(s, to, n->specs[j])) >= 0;
        if (fine && k < from->input_count)
            fine = (inputs[k] = pithp_program_input(
                        s, to, pithp_value_spec(from, from->inputs[k]))) >= 0;
    }
    fine = fine && pithp_program_inline(s, to, from, inputs, outputs) &&
           (!body || (merge(n, to, before, outputs + n->result_count, merged) &&
                      keep_first(n, to, before, merged)));
    const int64_t results = body ? n->result_count : from->output_count;
    for (int64_t k = 0; k <= results && fine; k++) {
        for (int64_t j = 0; body && k == carries && j < more && fine; j++)
            fine = pithp_program_output(s, to, merged[j]);
        if (fine && k < results)
            fine = pithp_program_output(s, to, outputs[k]);
    }
    return fine;
}

static pithp_program *extend(const nested_lift *n, int b) {
    pithp_program *to = pithp_program_make(n->l->s);
    if (to && (n->i->primitive == PITHP_OP_COND ? extend_branch(n, b, to)
                                                : extend_loop(n, b, to)))
        return to;
    pithp_program_release(to);
    return NULL;
}

/* The operands, with passing values as further carries. */
static pithp_value *list_operands(const nested_lift *n, int *count) {
    const lifting *l = n->l;
    const bool loop = n->i->primitive != PITHP_OP_COND;
    const int64_t more = loop ? n->value_count : 0;
    const int at = n->r.carries.first + n->r.carries.count;
    pithp_value *list = pithp_scope_allocate(
        l->s, (size_t)(n->i->operand_count + more + 1) * sizeof *list);
    *count = 0;
    for (int k = 0; list && k <= n->i->operand_count; k++) {
        if (loop && k == at) {
            if (!add_neutrals(l->s, l->to, &n->lists[n->i->program_count - 1], n->specs,
                              list + *count))
                return NULL;
            *count += (int)more;
        }
        if (k < n->i->operand_count)
            list[(*count)++] = l->names[pithp_operands(l->from, n->i)[k]];
    }
    return list;
}

/* ---- Chunks of a batch ---- */

/* What happens to the values of a check of a scan over chunks. */
enum { STACKED, MERGED, BOTH };

/* Append the checks of a list that this happens to, and their values. The end of the
 * values. */
static pithp_value *take_checks(nested_lift *n,
                                const pithp_loop_params *loop,
                                const pithp_lifted_list *list,
                                const pithp_value *values,
                                int what,
                                pithp_lifted_list *to,
                                pithp_value *end) {
    for (int64_t k = 0; k < list->count; k++) {
        const pithp_lifted row = list->list[k];
        const int32_t count = row.exposed->count;
        const int axis = pithp_lift_chunk_axis(row.exposed, loop);
        const bool both = axis >= 0 && pithp_lift_is_mixed(row.exposed, axis);
        if (what == STACKED ? axis >= 0 : what == MERGED ? axis < 0 : both) {
            to->list[to->count++] = row;
            to->value_count += count;
            memcpy(end, values, (size_t)count * sizeof *end);
            end += count;
        }
        if (what == BOTH && both) {
            atomic_fetch_add_explicit(&row.exposed->refs, 1, memory_order_relaxed);
            n->mixed_count++;
            n->mixed_values += count;
        }
        values += count;
    }
    return end;
}

/* Reorder the checks of a scan over chunks: the values of those whose entries are a chunk
 * come first, after the results, and are not merged. */
static bool separate_stacked(nested_lift *n) {
    const pithp_loop_params *loop =
        n->i->primitive == PITHP_OP_SCAN ? n->i->params : NULL;
    pithp_lifted_list *list = &n->lists[0], merged = {0};
    pithp_program *p = n->lifted[0];
    n->result_count = n->i->result_count;
    if (!loop || !list->count)
        return true;
    n->stacked.list =
        pithp_scope_allocate(n->l->s, 2 * (size_t)list->count * sizeof *n->stacked.list);
    pithp_value *order = pithp_scope_allocate(
        n->l->s, (2 * (size_t)list->value_count + 1) * sizeof *order);
    if (!n->stacked.list || !order)
        return false;
    const pithp_value *from = p->outputs + p->output_count - list->value_count;
    merged.list = n->stacked.list + list->count;
    pithp_value *end = take_checks(n, loop, list, from, STACKED, &n->stacked, order);
    end = take_checks(n, loop, list, from, MERGED, &merged, end);
    end = take_checks(n, loop, list, from, BOTH, &merged, end);
    p->output_count -= list->value_count;
    for (const pithp_value *v = order; v < end; v++)
        if (!pithp_program_output(n->l->s, p, *v))
            return false;
    *list = merged;
    n->result_count += n->stacked.value_count;
    return true;
}

/* The checks of all entries; first: of their values, those of each chunk in rows; mixed:
 * the first of those that are merged. */
static bool add_stacked(const nested_lift *n, pithp_value first, pithp_value mixed) {
    lifting *l = n->l;
    const pithp_loop_params *loop = n->i->params;
    bool fine = true;
    for (int64_t k = 0; k < n->stacked.count && fine; k++) {
        pithp_exposed *e = n->stacked.list[k].exposed;
        const int axis = pithp_lift_chunk_axis(e, loop);
        pithp_exposed *all =
            e->batch->resize(e, l->s, axis, loop->chunk * loop->length, false);
        for (int32_t v = 0; v < e->count && (fine = fine && all); v++, first++)
            fine = (l->values[l->value_count++] =
                        pithp_lift_has_axis(e, axis, v)
                            ? pithp_lift_join_chunks(l->s, l->to, first, axis)
                            : mixed + v) >= 0;
        if (pithp_lift_is_mixed(e, axis))
            mixed += e->count;
        if (all)
            add_lifted(l->lifted, all, true);
        pithp_exposed_release(all);
    }
    return fine;
}

/* Lift the rows of the programs, whose values are results from `first` on; those of mixed
 * checks are used by add_stacked alone. */
static bool lift_results(const nested_lift *n, pithp_value first) {
    pithp_value *values =
        pithp_scope_allocate(n->l->s, ((size_t)n->value_count + 1) * sizeof *values);
    bool fine = values;
    for (int64_t k = 0; fine && k < n->value_count; k++)
        values[k] = first + (pithp_value)k;
    for (int b = 0; b < n->i->program_count; b++)
        for (int64_t k = 0; k < n->lists[b].count - n->mixed_count && fine; k++) {
            pithp_exposed *e = n->lists[b].list[k].exposed;
            fine = lift_row(n->l, e, true, values);
            values += e->count;
        }
    return fine;
}

/* The instruction with more results; the values of its rows are among these. */
static bool add_extended(const nested_lift *n, pithp_program **programs) {
    lifting *l = n->l;
    int count, counts[PITHP_OPERAND_GROUPS];
    union {
        pithp_while_params as_while;
        pithp_loop_params as_loop;
    } params;
    const size_t bytes = pithp_params_bytes(n->i->primitive);
    const bool loop = n->i->primitive != PITHP_OP_COND;
    const pithp_value *list = list_operands(n, &count);
    if (!list)
        return false;
    if (bytes)
        memcpy(&params, n->i->params, bytes);
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++)
        counts[g] =
            n->r.groups[g].count + (loop && n->r.groups[g].role == PITHP_OPERAND_CARRY
                                        ? (int)n->value_count
                                        : 0);
    pithp_regions_resize(n->i->primitive, &params, counts);
    l->to->remat = n->i->remat;
    const pithp_new_instruction made = {.primitive = n->i->primitive,
                                        .operand_count = count,
                                        .operands = list,
                                        .params = bytes ? &params : NULL,
                                        .program_count = n->i->program_count,
                                        .programs = programs,
                                        .site = n->i->site};
    const pithp_value first = pithp_program_add_many(l->s, l->to, &made);
    const int before = loop ? n->r.carries.count : n->i->result_count;
    for (int k = 0; k < n->i->result_count; k++)
        l->names[n->i->result + k] =
            first + k + (k < before ? 0 : (pithp_value)n->value_count);
    return first >= 0 && lift_results(n, first + before) &&
           add_stacked(n, first + n->i->result_count + (pithp_value)n->value_count,
                       first + before + (pithp_value)(n->value_count - n->mixed_values));
}

/* Lift the programs of control flow, of which the condition of a loop has no rows. */
static bool lift_programs(nested_lift *n, pithp_program **extended) {
    pith_scope *s = n->l->s;
    const int count = n->i->program_count;
    int64_t next = 0;
    for (int b = 0; b < count; b++)
        if (!(n->lifted[b] = pithp_program_lift(s, n->i->programs[b], &n->lists[b])))
            return false;
    if (!separate_stacked(n))
        return false;
    for (int b = 0; b < count; b++)
        n->value_count += n->lists[b].value_count;
    n->specs = pithp_scope_allocate(s, ((size_t)n->value_count + 1) * sizeof *n->specs);
    for (int b = 0; n->specs && b < count; b++) {
        const pithp_program *p = n->lifted[b];
        const int64_t first = p->output_count - n->lists[b].value_count;
        for (int64_t k = 0; k < n->lists[b].value_count; k++)
            n->specs[next++] = pithp_value_spec(p, p->outputs[first + k]);
    }
    for (int b = 0; n->specs && b < count; b++)
        if (!(extended[b] = extend(n, b)))
            return false;
    return n->specs;
}

static bool lift_control(lifting *l, const pithp_instruction *i) {
    const size_t count = (size_t)i->program_count;
    nested_lift n = {.l = l, .i = i, .r = pithp_regions_of(i)};
    n.lifted = pithp_scope_allocate(l->s, 2 * count * sizeof *n.lifted);
    n.lists = pithp_scope_allocate(l->s, count * sizeof *n.lists);
    if (!n.lifted || !n.lists)
        return false;
    memset(n.lifted, 0, 2 * count * sizeof *n.lifted);
    memset(n.lists, 0, count * sizeof *n.lists);
    const bool fine =
        lift_programs(&n, n.lifted + count) && add_extended(&n, n.lifted + count);
    for (size_t k = 0; k < 2 * count; k++)
        pithp_program_release(n.lifted[k]);
    for (size_t k = 0; k < count; k++)
        pithp_lifted_end(&n.lists[k]);
    pithp_lifted_end(&n.stacked);
    return fine;
}

/* ---- Programs ---- */

static bool lift_instruction(lifting *l, pithp_value v, const pithp_instruction *i) {
    int64_t rows = 0, values = 0;
    for (int b = 0; i && b < i->program_count; b++)
        count_rows(i->programs[b], &rows, &values);
    if (rows)
        return lift_control(l, i);
    if (!i || i->primitive != PITHP_OP_EXPOSE)
        return pithp_copy_value(l->s, l->to, l->from, v, i, l->names);
    pithp_value *list =
        pithp_scope_allocate(l->s, ((size_t)i->operand_count + 1) * sizeof *list);
    for (int k = 0; list && k < i->operand_count; k++)
        list[k] = l->names[pithp_operands(l->from, i)[k]];
    return list &&
           lift_row(l, ((const pithp_expose_params *)i->params)->exposed, false, list);
}

static bool lift_all(lifting *l) {
    pithp_graph_walk w = {l->from, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(l->to, l->from);
    while (fine && pithp_graph_next(&w, &v, &i))
        if (!i && l->from->values[v].origin == PITHP_FROM_INPUT)
            fine = (l->names[v] = pithp_program_input(l->s, l->to,
                                                      pithp_value_spec(l->from, v))) >= 0;
        else
            fine = lift_instruction(l, v, i);
    l->to->remat = (pithp_remat){0};
    fine = fine && pithp_lift_join_rests(l->s, l->to, l->lifted, l->values);
    l->value_count = l->lifted->value_count;
    for (int64_t k = 0; k < l->from->output_count && fine; k++)
        fine = pithp_program_output(l->s, l->to, l->names[l->from->outputs[k]]);
    for (int64_t k = 0; k < l->value_count && fine; k++)
        fine = pithp_program_output(l->s, l->to, l->values[k]);
    return fine;
}

pithp_program *
pithp_program_lift(pith_scope *s, pithp_program *p, pithp_lifted_list *lifted) {
    int64_t rows = 0, values = 0;
    *lifted = (pithp_lifted_list){0};
    count_rows(p, &rows, &values);
    if (!rows) {
        pithp_program_retain(p);
        return p;
    }
    const size_t n = (size_t)(p->value_count + values) + 1;
    lifting l = {.s = s, .from = p, .lifted = lifted, .to = pithp_program_make(s)};
    l.names = pithp_scope_allocate(s, n * sizeof *l.names);
    lifted->list = pithp_scope_allocate(s, (size_t)rows * sizeof *lifted->list);
    if (l.to && l.names && lifted->list) {
        l.values = l.names + p->value_count;
        if (lift_all(&l)) {
            PITHP_VERIFY(l.to);
            return l.to;
        }
    }
    pithp_program_release(l.to);
    return NULL;
}

void pithp_lifted_end(pithp_lifted_list *lifted) {
    for (int64_t k = 0; k < lifted->count; k++)
        pithp_exposed_release(lifted->list[k].exposed);
    *lifted = (pithp_lifted_list){0};
}
