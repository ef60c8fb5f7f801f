/* Calls of batched functions in a trace: sizes, the record of one entry, and the trees of
 * all entries. */
#include "trace/vmap/entry.h"

#include <inttypes.h>
#include <string.h>

static const char *const name = "pith_vmap";
static const char *const partly =
    "the leaves of a record have the same extra leading extents: give parts that are "
    "mapped and parts that are shared in different arguments or child nodes";

/* A leaf of an argument. */
typedef struct leaf {
    int argument;
    int64_t item;
} leaf;

/* Arrays are in memory of s. */
typedef struct call {
    pithp_entry_call e;
    const pithp_batched *batch;
    int *axes[PITHP_MOST_PARAMETERS]; /* by leaf: from 0, or PITH_NOT_MAPPED */
    int *out_axes;                    /* by leaf of the result */
    int64_t size;
    leaf first;            /* that is mapped; item -1: none */
    bool *batched;         /* by input of the part's program: whether it has the batch */
    bool *outputs_batched; /* axis in front; by output */
} call;

static call *call_of(pithp_entry_call *e) {
    return (call *)(void *)e;
}

/* ---- Sizes ---- */

static pith_status flatten(call *c, const void *const *given) {
    for (int i = 0; i < c->e.f->arity; i++) {
        if (pithp_entry_flatten(&c->e, i, given[i]) != PITH_OK)
            break;
        c->axes[i] =
            pithp_axis_list_apply(c->e.s, &c->batch->in, i, given[i], &c->e.arguments[i]);
        if (!c->axes[i]) {
            pithp_error_context(c->e.s, "%s: %s", name, c->e.f->name);
            break;
        }
    }
    return c->e.s->error.code;
}

static const pith_spec *spec_of(const call *c, leaf l) {
    return c->e.arguments[l.argument].structure.specs[l.item];
}

/* The axis of a leaf from 0. */
static pith_status find_axis(call *c, leaf l) {
    const pith_spec *spec = spec_of(c, l);
    int *axis = &c->axes[l.argument][l.item];
    char text[PITHP_SPEC_TEXT_BYTES];
    if (*axis >= -spec->rank && *axis < spec->rank) {
        *axis += *axis < 0 ? spec->rank : 0;
        return PITH_OK;
    }
    pithp_item_fail(c->e.s, &c->e.arguments[l.argument].structure, l.item, PITH_E_SHAPE,
                    "%s: %s: axis %d is to be mapped, which %s does not have", name,
                    c->e.f->name, *axis, pithp_spec_print(spec, text));
    return pithp_entry_prefix(c->e.s, l.argument);
}

/* Two mapped leaves have different sizes. */
static pith_status fail_sizes(call *c, leaf l) {
    const pith_spec *spec = spec_of(c, l), *other = spec_of(c, c->first);
    const int axis = c->axes[l.argument][l.item],
              other_axis = c->axes[c->first.argument][c->first.item];
    char text[PITHP_SPEC_TEXT_BYTES], other_text[PITHP_SPEC_TEXT_BYTES];
    pithp_string path;
    pithp_string_begin(&path, c->e.s->runtime);
    pithp_string_print(&path, "[%d]", c->first.argument);
    pithp_structure_path(c->e.s->runtime, &c->e.arguments[c->first.argument].structure,
                         c->first.item, &path);
    pithp_item_fail(c->e.s, &c->e.arguments[l.argument].structure, l.item, PITH_E_SHAPE,
                    "%s: %s: axis %d of %s has %" PRId64 " entries, and axis %d of %s, "
                    "%s, has %" PRId64,
                    name, c->e.f->name, axis, pithp_spec_print(spec, text),
                    spec->shape[axis], other_axis, path.failed ? "" : path.bytes,
                    pithp_spec_print(other, other_text), c->size);
    pithp_string_end(&path);
    return pithp_entry_prefix(c->e.s, l.argument);
}

static pith_status fail_size(call *c) {
    const int axis = c->axes[c->first.argument][c->first.item];
    const pith_spec *spec = spec_of(c, c->first);
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_item_fail(
        c->e.s, &c->e.arguments[c->first.argument].structure, c->first.item, PITH_E_SHAPE,
        "%s: %s: axis %d of %s has %" PRId64 " entries, and .size is %" PRId64, name,
        c->e.f->name, axis, pithp_spec_print(spec, text), c->size, c->batch->size);
    return pithp_entry_prefix(c->e.s, c->first.argument);
}

/* Take the size from a leaf that is mapped. */
static pith_status take_size(call *c, leaf l) {
    if (find_axis(c, l) != PITH_OK)
        return c->e.s->error.code;
    const int64_t size = spec_of(c, l)->shape[c->axes[l.argument][l.item]];
    if (c->first.item < 0) {
        c->first = l;
        c->size = size;
    }
    return size == c->size ? PITH_OK : fail_sizes(c, l);
}

static pith_status find_size(call *c) {
    pith_status rc = PITH_OK;
    c->first.item = -1;
    c->size = c->batch->size;
    for (int i = 0; i < c->e.argument_count; i++)
        for (int64_t k = 0; k < c->e.arguments[i].structure.item_count && rc == PITH_OK;
             k++)
            if (c->axes[i][k] != PITH_NOT_MAPPED)
                rc = take_size(c, (leaf){i, k});
    if (rc == PITH_OK && c->first.item < 0 && !c->size)
        rc = pithp_fail(c->e.s, PITH_E_ARG, NULL,
                        "%s: %s: no leaf of an argument is mapped: expected .size in the "
                        "options",
                        name, c->e.f->name);
    return rc == PITH_OK && c->batch->size && c->size != c->batch->size ? fail_size(c)
                                                                        : rc;
}

/* ---- The entry ---- */

/* The spec of a leaf without the batch axis. NULL: error set. */
static const pith_spec *
entry_spec(pithp_entry_call *e, int argument, int64_t item, bool *shared) {
    const pith_spec *spec = e->arguments[argument].structure.specs[item];
    const int axis = call_of(e)->axes[argument][item];
    int64_t shape[PITHP_MAX_RANK];
    *shared = axis == PITH_NOT_MAPPED;
    if (*shared)
        return spec;
    for (int k = 0, n = 0; k < spec->rank; k++)
        if (k != axis)
            shape[n++] = spec->shape[k];
    const pith_spec *entry =
        pithp_spec_of_value(e->s, spec->dtype, spec->rank - 1, shape);
    const pith_spec *placed = entry ? pithp_entry_unbatch(e->s, spec, axis, entry) : NULL;
    if (entry && !placed) {
        pithp_error_context(e->s, "%s: %s", name, e->f->name);
        pithp_item_prefix(e->s, &e->arguments[argument].structure, item);
        pithp_entry_prefix(e->s, argument);
    }
    return placed;
}

/* ---- The program of all entries ---- */

/* A leaf with its batch axis in front, as a plain array: programs compute on shards.
 * NULL: error set. */
static const pith_array *in_front(pith_scope *s, const pith_array *a, int axis) {
    pithp_transpose_params order = {{axis}};
    const pith_spec *plain = pithp_spec_plain(s, pithp_array_spec(a));
    const int rank = pithp_array_spec(a)->rank;
    if (!plain || !(a = pithp_array_place(s, a, plain)))
        return NULL;
    if (axis == PITH_NOT_MAPPED || axis == 0)
        return a;
    for (int k = 1; k < rank; k++)
        order.permutation[k] = k <= axis ? k - 1 : k;
    return pithp_bind(s, PITHP_OP_TRANSPOSE, 1, &a, &order);
}

static const pith_array *
add_input(pithp_entry_call *e, int argument, int64_t item, int64_t at) {
    const int axis = call_of(e)->axes[argument][item];
    call_of(e)->batched[at] = axis != PITH_NOT_MAPPED;
    return in_front(e->s, e->arguments[argument].items[item], axis);
}

static const pithp_entry_rules rules = {.function = "pith_vmap",
                                        .refusal = partly,
                                        .sharded = true,
                                        .spec = entry_spec,
                                        .input = add_input};

static pith_status add_batch(call *c) {
    const pithp_program *p = c->e.part.program;
    const size_t inputs = (size_t)p->input_count, outputs = (size_t)p->output_count;
    c->batched = pithp_scope_allocate(c->e.s, inputs + outputs + 1);
    if (!c->batched)
        return c->e.s->error.code;
    memset(c->batched, 0, inputs);
    c->outputs_batched = c->batched + inputs;
    if (pithp_entry_inputs(&c->e) != PITH_OK)
        return c->e.s->error.code;
    pithp_program *all = pithp_entry_batch(&c->e, p, c->size, c->batch->chunk, c->batched,
                                           c->outputs_batched);
    return pithp_entry_add(&c->e, all);
}

/* ---- The result ---- */

/* An array for all entries: it repeats along a new axis. NULL: error set. */
static const pith_array *
repeat(pith_scope *s, const pith_array *a, int64_t size, int axis) {
    const pith_spec *spec = pithp_array_spec(a);
    pithp_broadcast_params to = {.rank = spec->rank + 1};
    for (int k = 0; k < to.rank; k++) {
        const int own = k < axis ? k : k - 1;
        to.shape[k] = k == axis ? size : spec->shape[own];
        if (k != axis)
            to.dimensions[own] = k;
    }
    return pithp_bind(s, PITHP_OP_BROADCAST, 1, &a, &to);
}

/* The inverse of in_front. NULL: error set. */
static const pith_array *from_front(pith_scope *s, const pith_array *a, int axis) {
    pithp_transpose_params order = {{0}};
    const int rank = pithp_array_spec(a)->rank;
    if (axis == 0)
        return a;
    for (int k = 0; k < rank; k++)
        order.permutation[k] = k < axis ? k + 1 : k == axis ? 0 : k;
    return pithp_bind(s, PITHP_OP_TRANSPOSE, 1, &a, &order);
}

/* The axis of leaf k of the result from 0, or PITH_NOT_MAPPED. */
static pith_status find_out_axis(call *c, int64_t k, int *axis) {
    const pithp_structure *t = &c->e.part.flats[0].structure;
    const int rank = t->specs[k]->rank + 1;
    char text[PITHP_SPEC_TEXT_BYTES];
    if (*axis == PITH_NOT_MAPPED)
        return c->outputs_batched[k]
                   ? pithp_item_fail(c->e.s, t, k, PITH_E_ARG,
                                     "%s: %s: .out shares this leaf of the result, which "
                                     "depends on the batch",
                                     name, c->e.f->name)
                   : PITH_OK;
    if (*axis < -rank || *axis >= rank)
        return pithp_item_fail(
            c->e.s, t, k, PITH_E_SHAPE,
            "%s: %s: axis %d of the result of a batch is to be mapped, "
            "which %s with one axis more does not have",
            name, c->e.f->name, *axis, pithp_spec_print(t->specs[k], text));
    if (rank > c->e.trace->max_rank)
        return pithp_item_fail(
            c->e.s, t, k, PITH_E_SHAPE,
            "%s: %s: a batch adds an axis to %s; arrays have at most %d", name,
            c->e.f->name, pithp_spec_print(t->specs[k], text), c->e.trace->max_rank);
    *axis += *axis < 0 ? rank : 0;
    return PITH_OK;
}

/* Leaf k of all entries with the placement of its entry. NULL: error set. */
static const pith_array *place(call *c, int64_t k, const pith_array *a, int axis) {
    const pithp_structure *t = &c->e.part.flats[0].structure;
    const pith_spec *spec =
        axis == PITH_NOT_MAPPED
            ? t->specs[k]
            : pithp_entry_rebatch(c->e.s, t->specs[k], axis, pithp_array_spec(a));
    if (spec)
        return pithp_array_place(c->e.s, a, spec);
    pithp_error_context(c->e.s, "%s: %s", name, c->e.f->name);
    pithp_item_prefix(c->e.s, t, k);
    return NULL;
}

/* Leaf k of the result. NULL: error set. */
static const pith_array *make_leaf(call *c, int64_t k, int axis) {
    if (find_out_axis(c, k, &axis) != PITH_OK)
        return NULL;
    const pith_array *one = pithp_trace_array(c->e.s, c->e.trace, c->e.outputs[k]),
                     *a = !one || axis == PITH_NOT_MAPPED ? one
                          : c->outputs_batched[k]         ? from_front(c->e.s, one, axis)
                                                  : repeat(c->e.s, one, c->size, axis);
    return a ? place(c, k, a, axis) : NULL;
}

/* The axes of the leaves of the result. The arrays of the part's result live as long as
 * no other functions are recorded. */
static pith_status find_out_axes(call *c) {
    const pithp_part *part = &c->e.part;
    c->out_axes = pithp_axis_list_apply(c->e.s, &c->batch->out, -1, part->results[0],
                                        &part->flats[0]);
    if (!c->out_axes)
        pithp_error_context(c->e.s, "%s: %s: result", name, c->e.f->name);
    return c->e.s->error.code;
}

static const void *make_result(call *c) {
    const pithp_structure *like = &c->e.part.flats[0].structure;
    const size_t count = (size_t)like->item_count;
    const pith_array **items = pithp_scope_allocate(c->e.s, (count + 1) * sizeof *items);
    if (!items)
        return NULL;
    for (size_t k = 0; k < count; k++)
        if (!(items[k] = make_leaf(c, (int64_t)k, c->out_axes[k])))
            return NULL;
    const void *result = pithp_part_build_placed(c->e.s, like, items);
    if (!result && c->e.s->error.code == PITH_E_SHAPE)
        pithp_error_context(c->e.s, "%s: %s: result: %s", name, c->e.f->name, partly);
    return result;
}

static pith_status make_checks(call *c) {
    const int64_t first = c->e.part.flats[0].structure.item_count;
    const pith_array **values = pithp_trace_arrays(
        c->e.s, pithp_checks_values(c->e.part.checks), c->e.outputs + first);
    return values && pithp_checks_replay_batch(c->e.s, c->e.part.checks, values,
                                               c->outputs_batched + first,
                                               c->size) == PITH_OK
               ? pithp_rule_checks_record(c->e.s, &c->e.rule_checks)
               : c->e.s->error.code;
}

/* ---- Calls ---- */

static const void *run(call *c, const void *const *given) {
    pith_status rc;
    PITH_TRY(flatten(c, given));
    PITH_TRY(find_size(c));
    for (int i = 0; i < c->e.argument_count; i++)
        PITH_TRY(pithp_entry_describe(&c->e, i));
    PITH_TRY(pithp_entry_record(&c->e));
    PITH_TRY(find_out_axes(c));
    PITH_TRY(add_batch(c));
    PITH_TRY(make_checks(c));
    return make_result(c);
out:
    return NULL;
}

const void *pithp_batched_function_call(const pith_function *self,
                                        pith_scope *s,
                                        const void *const *given) {
    call *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->batch = self->closure;
    pithp_entry_begin(&c->e, s, &rules, c->batch->closure.base);
    const void *result = run(c, given);
    pithp_entry_end(&c->e);
    return s->error.code == PITH_OK ? result : NULL;
}
