/* Calls of functions over loop axes, which broadcast from the right. The function is
 * recorded for the cores, and its program is batched once for each group of loop axes
 * that the same leaves have: from the last group to the first, so that an extent of 1 is
 * shared by the other leaves' entries and never copied.
 *
 *     f32[4,1,n], f32[5,n]    loop axes [4,5]; batches of 5 (second leaf), then 4 (first)
 */
#include "trace/vmap/entry.h"
#include "trace/vmap/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const name = "pith_vectorize";
static const pithp_core scalar = {0};

/* A leaf that has loop axes. */
typedef struct leaf {
    int argument;
    int64_t item;
    const pith_spec *spec;
    const pithp_core *core;
    int loops;     /* axes before those of the core */
    int64_t input; /* of the program; -1: it is known */
} leaf;

/* Loop axes that the same leaves have: one batch. */
typedef struct group {
    int64_t size;
    int first, count;       /* of loop axes */
    bool *inputs, *outputs; /* of the program, whether they are batched */
} group;

/* Arrays are in memory of s. */
typedef struct call {
    pithp_entry_call e;
    const pithp_vectorized *v;
    pithp_signature signature;
    bool has_signature;
    int64_t *sizes;   /* of the dimensions of the signature; -1: not known yet */
    int64_t *origins; /* the leaf that set each */
    leaf *leaves;
    int64_t leaf_count;
    int64_t next; /* leaf that is made an input */
    int loop_rank;
    int64_t loops[PITH_MAX_RANK];
    int64_t loop_origins[PITH_MAX_RANK]; /* the leaf that set each */
    group groups[PITH_MAX_RANK];
    int group_count;
} call;

static call *call_of(pithp_entry_call *e) {
    return (call *)(void *)e;
}

/* Whether an argument is given whole. */
static bool is_excluded(const call *c, int argument) {
    return c->v->options.excluded >> argument & 1;
}

/* ---- Messages ---- */

/* The path of a leaf, and a spec, as "[1].charge, f64[3]". */
static const char *describe(const call *c, int64_t k, char *room, size_t bytes) {
    const leaf *l = &c->leaves[k];
    char spec[PITHP_SPEC_TEXT_BYTES];
    pithp_string path;
    pithp_string_begin(&path, c->e.s->runtime);
    pithp_string_print(&path, "[%d]", l->argument);
    pithp_structure_path(c->e.s->runtime, &c->e.arguments[l->argument].structure, l->item,
                         &path);
    snprintf(room, bytes, "%s, %s", path.failed ? "?" : path.bytes,
             pithp_spec_print(l->spec, spec));
    pithp_string_end(&path);
    return room;
}

/* A core as text; in memory of s. */
static const char *core_text(const call *c, const pithp_core *core) {
    pithp_string text;
    pithp_string_begin(&text, c->e.s->runtime);
    pithp_core_print(&c->signature, core, &text);
    const char *made = pithp_string_finish(c->e.s, &text);
    return made ? made : "";
}

/* ---- Leaves ---- */

static pith_status flatten(call *c, const void *const *given) {
    int64_t count = 0;
    for (int i = 0; i < c->e.f->arity; i++) {
        if (pithp_entry_flatten(&c->e, i, given[i]) != PITH_OK)
            return c->e.s->error.code;
        if (!is_excluded(c, i))
            count += c->e.arguments[i].structure.item_count;
    }
    if (c->has_signature && count != c->signature.input_count)
        return pithp_fail(c->e.s, PITH_E_SHAPE, NULL,
                          "%s: %s: the signature '%s' has %" PRId64
                          " arguments, and the arguments have %" PRId64 " leaves",
                          name, c->e.f->name, c->v->options.signature,
                          c->signature.input_count, count);
    c->leaves = pithp_scope_allocate(c->e.s, ((size_t)count + 1) * sizeof *c->leaves);
    return c->e.s->error.code;
}

/* The axes of a core have the sizes of its names. */
static pith_status bind_size(call *c, int64_t at, int axis) {
    const leaf *l = &c->leaves[at];
    const int d = l->core->dimensions[axis];
    const pithp_dimension *dimension = &c->signature.dimensions[d];
    const int64_t size = l->spec->shape[l->loops + axis];
    char spec[PITHP_SPEC_TEXT_BYTES], other[2 * PITHP_SPEC_TEXT_BYTES];
    if (c->sizes[d] < 0) {
        c->sizes[d] = size;
        c->origins[d] = at;
    }
    if (c->sizes[d] == size)
        return PITH_OK;
    if (dimension->size >= 0)
        pithp_item_fail(
            c->e.s, &c->e.arguments[l->argument].structure, l->item, PITH_E_SHAPE,
            "%s: %s: expected %s at the end of the shape, got %s", name, c->e.f->name,
            core_text(c, l->core), pithp_spec_print(l->spec, spec));
    else
        pithp_item_fail(c->e.s, &c->e.arguments[l->argument].structure, l->item,
                        PITH_E_SHAPE,
                        "%s: %s: %.*s of %s is %" PRId64 " in %s, and %" PRId64 " in %s",
                        name, c->e.f->name, dimension->length, dimension->text,
                        c->v->options.signature, size, pithp_spec_print(l->spec, spec),
                        c->sizes[d], describe(c, c->origins[d], other, sizeof other));
    return pithp_entry_prefix(c->e.s, l->argument);
}

/* The loop axes of a leaf broadcast with those before it. */
static pith_status bind_loops(call *c, int64_t at) {
    const leaf *l = &c->leaves[at];
    char spec[PITHP_SPEC_TEXT_BYTES], other[2 * PITHP_SPEC_TEXT_BYTES];
    for (int k = 1; k <= l->loops; k++) { /* from the right */
        const int64_t size = l->spec->shape[l->loops - k];
        int64_t *loop = &c->loops[PITH_MAX_RANK - k];
        if (k > c->loop_rank || *loop == 1) {
            *loop = size;
            c->loop_origins[PITH_MAX_RANK - k] = at;
        } else if (size != 1 && size != *loop) {
            pithp_item_fail(
                c->e.s, &c->e.arguments[l->argument].structure, l->item, PITH_E_SHAPE,
                "%s: %s: the loop axes of %s do not broadcast with those of "
                "%s",
                name, c->e.f->name, pithp_spec_print(l->spec, spec),
                describe(c, c->loop_origins[PITH_MAX_RANK - k], other, sizeof other));
            return pithp_entry_prefix(c->e.s, l->argument);
        }
    }
    c->loop_rank = l->loops > c->loop_rank ? l->loops : c->loop_rank;
    return PITH_OK;
}

static pith_status add_leaf(call *c, int argument, int64_t item) {
    const pithp_structure *t = &c->e.arguments[argument].structure;
    leaf *l = &c->leaves[c->leaf_count];
    *l = (leaf){.argument = argument,
                .item = item,
                .spec = t->specs[item],
                .core = c->has_signature ? &c->signature.cores[c->leaf_count] : &scalar};
    l->loops = l->spec->rank - l->core->rank;
    if (l->loops < 0) {
        char spec[PITHP_SPEC_TEXT_BYTES];
        pithp_item_fail(c->e.s, t, item, PITH_E_SHAPE,
                        "%s: %s: expected %s at the end of the shape, got %s", name,
                        c->e.f->name, core_text(c, l->core),
                        pithp_spec_print(l->spec, spec));
        return pithp_entry_prefix(c->e.s, argument);
    }
    pith_status rc = PITH_OK;
    for (int k = 0; k < l->core->rank && rc == PITH_OK; k++)
        rc = bind_size(c, c->leaf_count, k);
    if (rc == PITH_OK)
        rc = bind_loops(c, c->leaf_count);
    c->leaf_count++;
    return rc;
}

/* The core of a leaf, or a leaf that is given whole. */
static const pith_spec *
entry_spec(pithp_entry_call *e, int argument, int64_t item, bool *shared) {
    call *c = call_of(e);
    const pith_spec *spec = e->arguments[argument].structure.specs[item];
    if (!is_excluded(c, argument) && add_leaf(c, argument, item) != PITH_OK)
        return NULL;
    const int loops = is_excluded(c, argument) ? 0 : c->leaves[c->leaf_count - 1].loops;
    *shared = loops == 0;
    return pithp_spec_of_value(e->s, spec->dtype, spec->rank - loops,
                               spec->shape + loops);
}

static pith_status describe_arguments(call *c) {
    const int64_t count = c->signature.dimension_count;
    c->sizes = pithp_scope_allocate(c->e.s, ((size_t)count + 1) * sizeof *c->sizes);
    c->origins = pithp_scope_allocate(c->e.s, ((size_t)count + 1) * sizeof *c->origins);
    if (!c->sizes || !c->origins)
        return c->e.s->error.code;
    for (int64_t k = 0; k < count; k++)
        c->sizes[k] = c->signature.dimensions[k].size;
    pith_status rc = PITH_OK;
    for (int i = 0; i < c->e.argument_count && rc == PITH_OK; i++)
        rc = pithp_entry_describe(&c->e, i);
    memmove(c->loops, c->loops + PITH_MAX_RANK - c->loop_rank,
            (size_t)c->loop_rank * sizeof *c->loops);
    return rc;
}

/* ---- One call ---- */

/* Leaf k of the result has the core of the signature, whose new names take its sizes. */
static pith_status check_result(call *c, int64_t k) {
    const pithp_structure *t = &c->e.part.flats[0].structure;
    const pith_spec *spec = t->specs[k];
    const pithp_core *core =
        c->has_signature ? &c->signature.cores[c->signature.input_count + k] : &scalar;
    char text[PITHP_SPEC_TEXT_BYTES];
    bool fits = spec->rank == core->rank;
    for (int d = 0; d < core->rank && fits; d++) {
        int64_t *size = &c->sizes[core->dimensions[d]];
        *size = *size < 0 ? spec->shape[d] : *size;
        fits = *size == spec->shape[d];
    }
    if (!fits)
        return pithp_item_fail(c->e.s, t, k, PITH_E_SHAPE,
                               "%s: %s: result: expected the shape %s of the signature, "
                               "got %s",
                               name, c->e.f->name, core_text(c, core),
                               pithp_spec_print(spec, text));
    if (spec->rank + c->loop_rank > PITH_MAX_RANK)
        return pithp_item_fail(
            c->e.s, t, k, PITH_E_SHAPE,
            "%s: %s: result: %d loop axes are added to %s; arrays have "
            "at most %d",
            name, c->e.f->name, c->loop_rank, pithp_spec_print(spec, text),
            PITH_MAX_RANK);
    return PITH_OK;
}

static pith_status check_results(call *c) {
    const int64_t count = c->e.part.flats[0].structure.item_count;
    if (c->has_signature && count != c->signature.output_count)
        return pithp_fail(c->e.s, PITH_E_SHAPE, NULL,
                          "%s: %s: the signature '%s' has %" PRId64
                          " results, and the result has %" PRId64 " leaves",
                          name, c->e.f->name, c->v->options.signature,
                          c->signature.output_count, count);
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < count && rc == PITH_OK; k++)
        rc = check_result(c, k);
    return rc;
}

/* ---- Groups of loop axes ---- */

/* Whether a leaf has entries along a loop axis, whose size is not 1. */
static bool has_axis(const call *c, const leaf *l, int axis) {
    const int own = axis - (c->loop_rank - l->loops);
    return own >= 0 && l->spec->shape[own] == c->loops[axis];
}

static bool alike(const call *c, int a, int b) {
    for (int64_t k = 0; k < c->leaf_count; k++)
        if (has_axis(c, &c->leaves[k], a) != has_axis(c, &c->leaves[k], b))
            return false;
    return true;
}

/* Inputs of the program are captured arrays, and leaves that are not known. */
static void number_inputs(call *c) {
    int64_t next = c->e.captured.count, n = 0;
    for (int i = 0; i < c->e.argument_count; i++)
        for (int64_t k = 0; k < c->e.arguments[i].structure.item_count; k++) {
            const int64_t input = c->e.known[i][k] ? -1 : next++;
            if (!is_excluded(c, i))
                c->leaves[n++].input = input;
        }
    PITH_ASSERT(next == c->e.part.program->input_count && n == c->leaf_count);
}

static pith_status add_group(call *c, int axis) {
    const pithp_program *p = c->e.part.program;
    group *g = &c->groups[c->group_count++];
    *g = (group){.size = 1, .first = axis};
    g->inputs =
        pithp_scope_allocate(c->e.s, (size_t)(p->input_count + p->output_count) + 1);
    if (!g->inputs)
        return c->e.s->error.code;
    g->outputs = g->inputs + p->input_count;
    memset(g->inputs, 0, (size_t)(p->input_count + p->output_count));
    for (int64_t k = 0; k < c->leaf_count; k++)
        if (c->leaves[k].input >= 0)
            g->inputs[c->leaves[k].input] = has_axis(c, &c->leaves[k], axis);
    return PITH_OK;
}

/* Axes of size 1 belong to the group around them. */
static pith_status find_groups(call *c) {
    int last = -1;
    for (int axis = 0; axis < c->loop_rank; axis++) {
        const bool joins =
            c->group_count && (c->loops[axis] == 1 || alike(c, axis, last));
        if (c->loops[axis] == 1 && !c->group_count)
            continue;
        if (!joins && add_group(c, axis) != PITH_OK)
            return c->e.s->error.code;
        group *g = &c->groups[c->group_count - 1];
        g->size *= c->loops[axis];
        g->count = axis - g->first + 1;
        last = c->loops[axis] == 1 ? last : axis;
    }
    return PITH_OK;
}

/* ---- The program of all calls ---- */

static const pith_array *
reshape(call *c, const pith_array *a, int rank, const int64_t *shape) {
    pithp_reshape_params to = {.rank = rank};
    memcpy(to.shape, shape, (size_t)rank * sizeof *shape);
    return pithp_array_spec(a)->rank == rank && !memcmp(pithp_array_spec(a)->shape, shape,
                                                        (size_t)rank * sizeof *shape)
               ? a
               : pithp_bind(c->e.s, PITHP_OP_RESHAPE, 1, &a, &to);
}

/* A leaf with one axis for each group that it has. NULL: error set. */
static const pith_array *with_groups(call *c, const pith_array *a, const leaf *l) {
    int64_t shape[2 * PITH_MAX_RANK];
    int rank = 0;
    for (int g = 0; g < c->group_count; g++)
        if (c->groups[g].inputs[l->input])
            shape[rank++] = c->groups[g].size;
    for (int d = 0; d < l->core->rank; d++)
        shape[rank++] = l->spec->shape[l->loops + d];
    return reshape(c, a, rank, shape);
}

static const pith_array *
add_input(pithp_entry_call *e, int argument, int64_t item, int64_t at) {
    call *c = call_of(e);
    const pith_array *a = e->arguments[argument].items[item];
    (void)at;
    if (is_excluded(c, argument))
        return a;
    while (c->leaves[c->next].argument != argument || c->leaves[c->next].item != item)
        c->next++;
    return with_groups(c, a, &c->leaves[c->next]);
}

static const pithp_entry_rules rules = {
    .function = "pith_vectorize",
    .refusal =
        "the leaves of a record have the same extra leading extents, the loop axes",
    .spec = entry_spec,
    .input = add_input};

static pith_status add_batches(call *c) {
    pithp_program *p = c->e.part.program;
    pithp_program_retain(p);
    for (int g = c->group_count; g-- > 0 && p;) {
        pithp_program *all = pithp_entry_batch(&c->e, p, c->groups[g].size, 0,
                                               c->groups[g].inputs, c->groups[g].outputs);
        pithp_program_release(p);
        p = all;
    }
    return pithp_entry_add(&c->e, p);
}

/* ---- Results ---- */

/* Output k with all groups, each as one axis or as its loop axes. NULL: error set. */
static const pith_array *
with_all(call *c, int64_t k, const pith_spec *core, bool joined) {
    const pith_array *a = pithp_trace_array(c->e.s, c->e.trace, c->e.outputs[k]);
    pithp_broadcast_params to = {.rank = 0};
    int64_t ones[2 * PITH_MAX_RANK];
    for (int axis = 0; axis < c->loop_rank && !joined; axis++) {
        ones[to.rank] = 1;
        to.shape[to.rank++] = c->loops[axis];
    }
    for (int g = 0; g < c->group_count; g++) {
        const group *of = &c->groups[g];
        if (joined) {
            ones[to.rank] = of->outputs[k] ? of->size : 1;
            to.shape[to.rank++] = of->size;
        } else if (of->outputs[k]) {
            memcpy(ones + of->first, c->loops + of->first,
                   (size_t)of->count * sizeof *ones);
        }
    }
    memcpy(ones + to.rank, core->shape, (size_t)core->rank * sizeof *ones);
    memcpy(to.shape + to.rank, core->shape, (size_t)core->rank * sizeof *ones);
    to.rank += core->rank;
    for (int d = 0; d < to.rank; d++)
        to.dimensions[d] = d;
    const pith_array *full = a ? reshape(c, a, to.rank, ones) : NULL;
    return !full || !memcmp(ones, to.shape, (size_t)to.rank * sizeof *ones)
               ? full
               : pithp_bind(c->e.s, PITHP_OP_BROADCAST, 1, &full, &to);
}

static const void *make_result(call *c) {
    const pithp_structure *t = &c->e.part.flats[0].structure;
    const pith_array **items =
        pithp_scope_allocate(c->e.s, ((size_t)t->item_count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < t->item_count; k++)
        if (!(items[k] = with_all(c, k, t->specs[k], false)))
            return NULL;
    return items ? pithp_part_build_quiet(c->e.s, t, items) : NULL;
}

/* All calls are the entries of one batch for checks. NULL: error set. */
static const pith_array *check_value(call *c, int64_t k, int64_t total, bool *batched) {
    const pith_spec *spec =
        pithp_value_spec(c->e.part.program, c->e.part.program->outputs[k]);
    *batched = false;
    for (int g = 0; g < c->group_count; g++)
        *batched |= c->groups[g].outputs[k];
    if (!*batched)
        return pithp_trace_array(c->e.s, c->e.trace, c->e.outputs[k]);
    const pith_array *all = with_all(c, k, spec, true);
    int64_t shape[PITHP_MAX_RANK + 1] = {total};
    memcpy(shape + 1, spec->shape, (size_t)spec->rank * sizeof *shape);
    return all ? reshape(c, all, spec->rank + 1, shape) : NULL;
}

static pith_status make_checks(call *c) {
    const int64_t first = c->e.part.flats[0].structure.item_count,
                  count = pithp_checks_values(c->e.part.checks);
    const pith_array **values =
        pithp_scope_allocate(c->e.s, ((size_t)count + 1) * sizeof *values);
    bool *batched = pithp_scope_allocate(c->e.s, (size_t)count + 1);
    int64_t total = 1;
    for (int g = 0; g < c->group_count; g++)
        total *= c->groups[g].size;
    if (!values || !batched)
        return c->e.s->error.code;
    for (int64_t k = 0; k < count; k++)
        if (!(values[k] = check_value(c, first + k, total, &batched[k])))
            return c->e.s->error.code;
    const pith_status rc =
        c->group_count
            ? pithp_checks_replay_batch(c->e.s, c->e.part.checks, values, batched, total)
            : pithp_checks_replay(c->e.s, c->e.part.checks, values, false);
    return rc == PITH_OK ? pithp_rule_checks_record(c->e.s, &c->e.rule_checks) : rc;
}

/* ---- Calls ---- */

static const void *run(call *c, const void *const *given) {
    pith_status rc = PITH_OK;
    if ((c->has_signature = c->v->options.signature != NULL))
        PITH_TRY(pithp_signature_parse(c->e.s, name, c->e.f->name,
                                       c->v->options.signature, &c->signature));
    PITH_TRY(flatten(c, given));
    PITH_TRY(describe_arguments(c));
    PITH_TRY(pithp_entry_record(&c->e));
    PITH_TRY(check_results(c));
    number_inputs(c);
    PITH_TRY(find_groups(c));
    PITH_TRY(pithp_entry_inputs(&c->e));
    PITH_TRY(add_batches(c));
    PITH_TRY(make_checks(c));
    return make_result(c);
out:
    return NULL;
}

const void *pithp_vectorized_call(const pith_function *self,
                                  pith_scope *s,
                                  const void *const *given) {
    call *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->v = self->closure;
    pithp_entry_begin(&c->e, s, &rules, c->v->closure.base);
    const void *result = run(c, given);
    pithp_entry_end(&c->e);
    return s->error.code == PITH_OK ? result : NULL;
}
