/* Calls of batched functions in a trace: sizes, the record of one entry, and the trees of
 * all entries. */
#include "program/vmap/chunk.h"
#include "trace/derive/rule_checks.h"
#include "trace/vmap/vmap_internal.h"

#include <inttypes.h>
#include <stdio.h>
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
    pith_scope *s;
    pithp_trace *trace;
    const pithp_batched *batch;
    const pith_function *f; /* the base function */
    const void *const *given;
    pithp_flat arguments[PITHP_MOST_PARAMETERS];
    int argument_count;
    int *axes[PITHP_MOST_PARAMETERS];   /* by leaf: from 0, or PITH_NOT_MAPPED */
    bool *known[PITHP_MOST_PARAMETERS]; /* by leaf: passed on as it is */
    const pith_spec **entries[PITHP_MOST_PARAMETERS]; /* by leaf: the spec of an entry */
    int64_t size;
    leaf first; /* that is mapped; item -1: none */
    pithp_captured captured;
    pithp_part part;      /* of one entry */
    bool recorded;        /* part is to be ended */
    pithp_value *inputs;  /* by input of the part's program: in the trace, */
    bool *batched;        /* and whether it has the batch axis in front */
    pithp_value *outputs; /* the same by output */
    bool *outputs_batched;
    pithp_rule_checks rule_checks; /* of the program that was added */
} call;

/* ---- Sizes ---- */

static pith_status flatten(call *c) {
    for (int i = 0; i < c->f->arity; i++) {
        if (pithp_flat_make(c->s, &c->arguments[i], c->given[i], NULL, NULL) != PITH_OK)
            break;
        c->argument_count++;
        c->axes[i] =
            pithp_axis_list_apply(c->s, &c->batch->in, i, c->given[i], &c->arguments[i]);
        if (!c->axes[i]) {
            pithp_error_context(c->s, "%s: %s", name, c->f->name);
            break;
        }
    }
    return c->s->error.code;
}

static const pith_spec *spec_of(const call *c, leaf l) {
    return c->arguments[l.argument].structure.specs[l.item];
}

/* Prefix the path of an error at a leaf by its argument. */
static pith_status prefix_argument(pith_scope *s, int argument) {
    char text[16];
    snprintf(text, sizeof text, "[%d]", argument);
    pithp_error_prefix(s, text);
    return s->error.code;
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
    pithp_item_fail(c->s, &c->arguments[l.argument].structure, l.item, PITH_E_SHAPE,
                    "%s: %s: axis %d is to be mapped, which %s does not have", name,
                    c->f->name, *axis, pithp_spec_print(spec, text));
    return prefix_argument(c->s, l.argument);
}

/* Two mapped leaves have different sizes. */
static pith_status fail_sizes(call *c, leaf l) {
    const pith_spec *spec = spec_of(c, l), *other = spec_of(c, c->first);
    const int axis = c->axes[l.argument][l.item],
              other_axis = c->axes[c->first.argument][c->first.item];
    char text[PITHP_SPEC_TEXT_BYTES], other_text[PITHP_SPEC_TEXT_BYTES];
    pithp_string path;
    pithp_string_begin(&path, c->s->runtime);
    pithp_string_print(&path, "[%d]", c->first.argument);
    pithp_structure_path(c->s->runtime, &c->arguments[c->first.argument].structure,
                         c->first.item, &path);
    pithp_item_fail(c->s, &c->arguments[l.argument].structure, l.item, PITH_E_SHAPE,
                    "%s: %s: axis %d of %s has %" PRId64 " entries, and axis %d of %s, "
                    "%s, has %" PRId64,
                    name, c->f->name, axis, pithp_spec_print(spec, text),
                    spec->shape[axis], other_axis, path.failed ? "" : path.bytes,
                    pithp_spec_print(other, other_text), c->size);
    pithp_string_end(&path);
    return prefix_argument(c->s, l.argument);
}

static pith_status fail_size(call *c) {
    const int axis = c->axes[c->first.argument][c->first.item];
    const pith_spec *spec = spec_of(c, c->first);
    char text[PITHP_SPEC_TEXT_BYTES];
    pithp_item_fail(
        c->s, &c->arguments[c->first.argument].structure, c->first.item, PITH_E_SHAPE,
        "%s: %s: axis %d of %s has %" PRId64 " entries, and .size is %" PRId64, name,
        c->f->name, axis, pithp_spec_print(spec, text), c->size, c->batch->size);
    return prefix_argument(c->s, c->first.argument);
}

/* Take the size from a leaf that is mapped. */
static pith_status take_size(call *c, leaf l) {
    if (find_axis(c, l) != PITH_OK)
        return c->s->error.code;
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
    for (int i = 0; i < c->argument_count; i++)
        for (int64_t k = 0; k < c->arguments[i].structure.item_count && rc == PITH_OK;
             k++)
            if (c->axes[i][k] != PITH_NOT_MAPPED)
                rc = take_size(c, (leaf){i, k});
    if (rc == PITH_OK && c->first.item < 0 && !c->size)
        rc = pithp_fail(c->s, PITH_E_ARG, NULL,
                        "%s: %s: no leaf of an argument is mapped: expected .size in the "
                        "options",
                        name, c->f->name);
    return rc == PITH_OK && c->batch->size && c->size != c->batch->size ? fail_size(c)
                                                                        : rc;
}

/* ---- The entry ---- */

/* The spec of a leaf without the batch axis. NULL: error set. */
static const pith_spec *entry_spec(pith_scope *s, const pith_spec *spec, int axis) {
    int64_t shape[PITHP_MAX_RANK];
    if (axis == PITH_NOT_MAPPED)
        return spec;
    for (int k = 0, n = 0; k < spec->rank; k++)
        if (k != axis)
            shape[n++] = spec->shape[k];
    return pithp_spec_of_value(s, spec->dtype, spec->rank - 1, shape);
}

/* Leaves that are shared and have values stay as they are: the function may read them. */
static pith_status describe_entry(call *c, int i) {
    const pithp_flat *f = &c->arguments[i];
    const size_t count = (size_t)f->structure.item_count;
    c->known[i] = pithp_scope_allocate(c->s, count + 1);
    c->entries[i] = pithp_scope_allocate(c->s, (count + 1) * sizeof *c->entries[i]);
    if (!c->known[i] || !c->entries[i])
        return c->s->error.code;
    for (size_t k = 0; k < count; k++) {
        const pith_array *a = f->items[k];
        const int axis = c->axes[i][k];
        if (pithp_operand_check(c->s, a, c->f->name, "argument") != PITH_OK) {
            pithp_item_prefix(c->s, &f->structure, (int64_t)k);
            return prefix_argument(c->s, i);
        }
        c->known[i][k] = axis == PITH_NOT_MAPPED && !pithp_array_is_traced(a);
        if (!(c->entries[i][k] = entry_spec(c->s, f->structure.specs[k], axis)))
            break;
    }
    return c->s->error.code;
}

static pith_status record(call *c) {
    pith_status rc = pithp_part_capture(c->s, &c->captured, c->f);
    pithp_part_call part = {.function = name,
                            .body = c->f,
                            .captured = &c->captured,
                            .argument_count = c->argument_count};
    for (int i = 0; i < c->argument_count && rc == PITH_OK; i++) {
        rc = describe_entry(c, i);
        part.arguments[i] = &c->arguments[i];
        part.known[i] = c->known[i];
        part.specs[i] = c->entries[i];
    }
    if (rc != PITH_OK)
        return rc;
    c->recorded = true;
    rc = pithp_part_record(c->s, &c->part, &part);
    if (c->part.refused) {
        prefix_argument(c->part.scope, c->part.refused - 1);
        pithp_error_context(c->part.scope, "%s: %s: %s", name, c->f->name, partly);
    }
    return rc;
}

/* ---- The program of all entries ---- */

/* A leaf with its batch axis in front. NULL: error set. */
static const pith_array *in_front(pith_scope *s, const pith_array *a, int axis) {
    pithp_transpose_params order = {{axis}};
    const int rank = pithp_array_spec(a)->rank;
    if (axis == PITH_NOT_MAPPED || axis == 0)
        return a;
    for (int k = 1; k < rank; k++)
        order.permutation[k] = k <= axis ? k - 1 : k;
    return pithp_bind(s, PITHP_OP_TRANSPOSE, 1, &a, &order);
}

static pith_status add_input(call *c, const pith_array *a, int axis, int64_t at) {
    const pith_array *moved = in_front(c->s, a, axis);
    if (moved)
        c->inputs[at] = pithp_trace_value(c->s, c->trace, moved);
    c->batched[at] = axis != PITH_NOT_MAPPED;
    return c->s->error.code;
}

/* The inputs of the program: captured arrays, and leaves that are not known. */
static pith_status list_inputs(call *c) {
    const size_t count = (size_t)c->part.program->input_count + 1;
    c->inputs = pithp_scope_allocate(c->s, count * sizeof *c->inputs);
    c->batched = pithp_scope_allocate(c->s, count);
    if (!c->inputs || !c->batched)
        return c->s->error.code;
    pith_status rc = PITH_OK;
    int64_t n = 0;
    for (; n < c->captured.count && rc == PITH_OK; n++)
        rc = add_input(c, c->captured.arrays[n], PITH_NOT_MAPPED, n);
    for (int i = 0; i < c->argument_count; i++)
        for (int64_t k = 0; k < c->arguments[i].structure.item_count && rc == PITH_OK;
             k++)
            if (!c->known[i][k])
                rc = add_input(c, c->arguments[i].items[k], c->axes[i][k], n++);
    return rc;
}

static pith_status add_batch(call *c) {
    const pithp_program *p = c->part.program;
    const size_t count = (size_t)p->output_count + 1;
    c->outputs = pithp_scope_allocate(c->s, count * sizeof *c->outputs);
    c->outputs_batched = pithp_scope_allocate(c->s, count);
    if (!c->outputs || !c->outputs_batched || list_inputs(c) != PITH_OK)
        return c->s->error.code;
    const bool chosen = !c->batch->chunk && !c->trace->derived;
    const int64_t chunk = chosen ? pithp_program_vmap_block(c->s, p, c->size, c->batched)
                          : c->batch->chunk ? c->batch->chunk
                                            : INT64_MAX;
    pithp_program *all = pithp_program_vmap_chunks(c->s, p, c->size, chunk, chosen,
                                                   c->batched, c->outputs_batched);
    if (!all) {
        pithp_error_context(c->s, "%s: %s", name, c->f->name);
        return c->s->error.code;
    }
    pithp_rule_checks_inline(c->s, all, c->inputs, c->outputs, &c->rule_checks);
    pithp_program_release(all);
    return c->s->error.code;
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
    const pithp_structure *t = &c->part.flats[0].structure;
    const int rank = t->specs[k]->rank + 1;
    char text[PITHP_SPEC_TEXT_BYTES];
    if (*axis == PITH_NOT_MAPPED)
        return c->outputs_batched[k]
                   ? pithp_item_fail(c->s, t, k, PITH_E_ARG,
                                     "%s: %s: .out shares this leaf of the result, which "
                                     "depends on the batch",
                                     name, c->f->name)
                   : PITH_OK;
    if (*axis < -rank || *axis >= rank)
        return pithp_item_fail(
            c->s, t, k, PITH_E_SHAPE,
            "%s: %s: axis %d of the result of a batch is to be mapped, "
            "which %s with one axis more does not have",
            name, c->f->name, *axis, pithp_spec_print(t->specs[k], text));
    if (rank > c->trace->max_rank)
        return pithp_item_fail(
            c->s, t, k, PITH_E_SHAPE,
            "%s: %s: a batch adds an axis to %s; arrays have at most %d", name,
            c->f->name, pithp_spec_print(t->specs[k], text), c->trace->max_rank);
    *axis += *axis < 0 ? rank : 0;
    return PITH_OK;
}

/* Leaf k of the result. NULL: error set. */
static const pith_array *make_leaf(call *c, int64_t k, int axis) {
    if (find_out_axis(c, k, &axis) != PITH_OK)
        return NULL;
    const pith_array *a = pithp_trace_array(c->s, c->trace, c->outputs[k]);
    return !a || axis == PITH_NOT_MAPPED ? a
           : c->outputs_batched[k]       ? from_front(c->s, a, axis)
                                         : repeat(c->s, a, c->size, axis);
}

static const void *make_result(call *c) {
    const pithp_flat *like = &c->part.flats[0];
    const size_t count = (size_t)like->structure.item_count;
    const pith_array **items = pithp_scope_allocate(c->s, (count + 1) * sizeof *items);
    const int *axes =
        pithp_axis_list_apply(c->s, &c->batch->out, -1, c->part.results[0], like);
    if (!axes)
        pithp_error_context(c->s, "%s: %s: result", name, c->f->name);
    for (size_t k = 0; items && axes && k < count; k++)
        if (!(items[k] = make_leaf(c, (int64_t)k, axes[k])))
            return NULL;
    if (!items || !axes)
        return NULL;
    const void *result = pithp_part_build_quiet(c->s, &like->structure, items);
    if (!result && c->s->error.code == PITH_E_SHAPE)
        pithp_error_context(c->s, "%s: %s: result: %s", name, c->f->name, partly);
    return result;
}

static pith_status make_checks(call *c) {
    const int64_t first = c->part.flats[0].structure.item_count;
    const pith_array **values =
        pithp_trace_arrays(c->s, pithp_checks_values(c->part.checks), c->outputs + first);
    return values && pithp_checks_replay_batch(c->s, c->part.checks, values,
                                               c->outputs_batched + first,
                                               c->size) == PITH_OK
               ? pithp_rule_checks_record(c->s, &c->rule_checks)
               : c->s->error.code;
}

/* ---- Calls ---- */

static void end(call *c) {
    for (int i = 0; i < c->argument_count; i++)
        pithp_flat_end(&c->arguments[i]);
    pithp_rule_checks_end(&c->rule_checks);
    if (c->recorded)
        pithp_part_end(&c->part);
}

static const void *run(call *c) {
    pith_status rc;
    PITH_TRY(flatten(c));
    PITH_TRY(find_size(c));
    PITH_TRY(record(c));
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
    c->s = s;
    c->trace = pithp_scope_trace(s);
    c->batch = self->closure;
    c->f = c->batch->closure.base;
    c->given = given;
    const void *result = run(c);
    end(c);
    return s->error.code == PITH_OK ? result : NULL;
}
