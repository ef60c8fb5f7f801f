/* Linear maps: functions that are programs over bound residuals. */
#include "trace/derive/map.h"

#include "mesh/mesh_internal.h"
#include "trace/derive/equal.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

typedef struct map {
    pithp_closure closure;
    pithp_linear *linear;
    bool compared; /* cotangents, where they must be equal on all ranks */
} map;

/* ---- Calls ---- */

/* An error if the argument is not like that of the map. */
static pith_status check_argument(pith_scope *s,
                                  const pith_function *f,
                                  const pithp_linear *l,
                                  const void *argument,
                                  const pithp_flat *got) {
    if (pithp_structure_equal(&l->argument, &got->structure))
        return PITH_OK;
    const pithp_returned r = {l->function, "map of", f, "argument"};
    const pith_array **zeros =
        pithp_scope_allocate(s, (size_t)(l->argument.item_count + 1) * sizeof *zeros);
    pithp_flat wanted;
    for (int64_t k = 0; zeros && k < l->argument.item_count; k++)
        if (!(zeros[k] = pithp_trace_zeros(s, l->argument.specs[k])))
            return s->error.code;
    const void *expected = zeros ? pithp_tangent_build(s, &l->argument, zeros) : NULL;
    if (!expected || pithp_flat_make(s, &wanted, expected, NULL, NULL) != PITH_OK)
        return s->error.code;
    const pith_status rc = pithp_returned_check(s, &r, expected, &wanted, argument);
    pithp_flat_end(&wanted);
    return rc;
}

/* Set the inputs of the program that leaves are. at NULL: leaf k is input k. */
static pith_status read_leaves(pith_scope *s,
                               const pith_function *f,
                               const pithp_flat *flat,
                               const int64_t *at,
                               pithp_value *inputs) {
    for (int64_t k = 0; k < flat->structure.item_count; k++) {
        const int64_t input = at ? at[k] : k;
        if (input < 0)
            continue;
        if (pithp_leaf_check(s, flat->items[k], f->name, "argument") != PITH_OK) {
            pithp_item_prefix(s, &flat->structure, k);
            return s->error.code;
        }
        inputs[input] = pithp_trace_value(s, pithp_scope_trace(s), flat->items[k]);
        if (inputs[input] < 0)
            return s->error.code;
    }
    return PITH_OK;
}

static const void *
build_result(pith_scope *s, const pithp_linear *l, const pithp_value *outputs) {
    const int64_t count = l->result.item_count;
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < count; k++) {
        items[k] = l->outputs[k] < 0 ? pithp_trace_zeros(s, l->result.specs[k])
                                     : pithp_trace_array(s, pithp_scope_trace(s),
                                                         outputs[l->outputs[k]]);
        if (!items[k])
            return NULL;
    }
    return items ? pithp_tangent_build(s, &l->result, items) : NULL;
}

/* Where the residuals are arguments of a compiled call, say what they are equal along. */
static pith_status
mark_residuals(pith_scope *s, const pithp_linear *l, pithp_flat *flat) {
    for (int64_t k = 0; l->kept && l->mesh == pith_mesh_of(s) && k < l->residual_count;
         k++) {
        uint32_t varies = 0;
        const pith_array *a = flat->items[k];
        if (!l->kept[k] || !pithp_trace_has(s, a))
            continue;
        const int32_t value = (int32_t)a->value;
        if (pithp_trace_variance(s, pithp_scope_trace(s), 1, &value, &varies) != PITH_OK)
            return s->error.code;
        if ((varies & l->kept[k]) &&
            !(flat->items[k] = pithp_trace_replicated(s, a, l->kept[k])))
            return s->error.code;
    }
    return PITH_OK;
}

static const void *
apply(pith_scope *s, const pith_function *f, const void *argument, pithp_flat flats[2]) {
    const map *m = f->closure;
    const pithp_linear *l = m->linear;
    pithp_program *p = l->program;
    pithp_rule_checks checks = {.values = NULL};
    const size_t n = (size_t)(p->input_count + p->output_count) + 1;
    pithp_value *inputs = pithp_scope_allocate(s, n * sizeof *inputs);
    if (!inputs || check_argument(s, f, l, argument, &flats[1]) != PITH_OK ||
        (!m->compared && pithp_cotangents_check(s, f, l, &flats[1]) != PITH_OK) ||
        mark_residuals(s, l, &flats[0]) != PITH_OK ||
        read_leaves(s, f, &flats[0], NULL, inputs) != PITH_OK ||
        read_leaves(s, f, &flats[1], l->inputs, inputs + l->residual_count) != PITH_OK)
        return NULL;
    pithp_value *outputs = inputs + p->input_count;
    const bool fine = pithp_rule_checks_inline(s, p, inputs, outputs, &checks) &&
                      pithp_rule_checks_record(s, &checks) == PITH_OK &&
                      pithp_watches_check(s, l->function, &l->watches,
                                          outputs + p->output_count -
                                              pithp_watches_outputs(&l->watches),
                                          &checks) == PITH_OK;
    pithp_rule_checks_end(&checks);
    return fine ? build_result(s, l, outputs) : NULL;
}

static const pith_function *make(pith_scope *s, const char *name, const map *like);

/* Made in a trace, and called outside of it. */
static const void *
call_outside(const pith_function *self, pith_scope *s, const void *const *given) {
    map m = *(const map *)self->closure;
    if (pithp_cotangents_compare(s, self, m.linear, given[0]) != PITH_OK)
        return NULL;
    m.compared = true;
    const pith_function *f = make(s, self->name, &m),
                        *compiled = f ? (pith_jit)(pithp_on_behalf(s), f, NULL) : NULL;
    return compiled ? (pith_call)(pithp_on_behalf(s), compiled, 1, given) : NULL;
}

static const void *
call_map(const pith_function *self, pith_scope *s, const void *const *given) {
    const map *m = self->closure;
    if (!pithp_scope_trace(s))
        return call_outside(self, s, given);
    const void *trees[2] = {m->closure.bound, given[0]}, *result = NULL;
    pithp_flat *flats = pithp_scope_allocate(s, 2 * sizeof *flats);
    int made = 0;
    while (flats && made < 2 &&
           pithp_flat_make(s, &flats[made], trees[made], NULL, NULL) == PITH_OK)
        made++;
    if (made == 2)
        result = apply(s, self, given[0], flats);
    while (made > 0)
        pithp_flat_end(&flats[--made]);
    return result;
}

/* ---- Making ---- */

static void release_linear(pith_scope *s, void *thing) {
    (void)s;
    pithp_attached_release(thing);
}

static pith_status share_linear(pith_scope *s, pithp_closure *closure) {
    pithp_linear *l = ((map *)(void *)closure)->linear;
    if (!pithp_scope_hold(s, l, release_linear))
        return s->error.code;
    atomic_fetch_add_explicit(&l->attached.refs, 1, memory_order_relaxed);
    return PITH_OK;
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const pithp_linear *l = ((const map *)(const void *)closure)->linear;
    const bool compared = ((const map *)(const void *)closure)->compared;
    pithp_string_add_n(text, (const char *)&l->serial, sizeof l->serial);
    pithp_string_add_n(text, (const char *)&compared, sizeof compared);
}

/* A scope has failed. The other ranks wait in the comparison of cotangents. */
static void take_part(const pithp_closure *c, pith_scope *s) {
    pithp_cotangents_absent(s, c->function, ((const map *)(const void *)c)->linear);
}

static const pithp_closure_kind map_kind = {.name = "linear map",
                                            .traced = true,
                                            .bytes = sizeof(map),
                                            .made = share_linear,
                                            .identity = add_identity,
                                            .absent = take_part};

static const pith_function base = {.name = "linear map", .call = call_map, .arity = 1};

/* like: residuals, linear and compared are set. */
static const pith_function *make(pith_scope *s, const char *name, const map *like) {
    map m = *like;
    pith_function f = base;
    f.name = name;
    m.closure =
        (pithp_closure){.kind = &map_kind, .base = &base, .bound = like->closure.bound};
    const pithp_closure *made = pithp_function_make(s, &f, &m.closure);
    return made ? made->function : NULL;
}

const pith_function *pithp_map_make(pith_scope *s,
                                    pithp_linear *linear,
                                    const char *name,
                                    const void *residuals) {
    return make(s, name, &(map){.closure = {.bound = residuals}, .linear = linear});
}

/* ---- What it knows of ranks ---- */

/* NULL: another function. */
static const pithp_linear *linear_of(const pith_function *f) {
    const pithp_closure *c = f ? f->closure : NULL;
    if (c && pithp_jit_closure_of(f)) /* the map itself is compiled */
        c = c->base->closure;
    return c && c->kind == &map_kind ? ((const map *)(const void *)c)->linear : NULL;
}

uint32_t pithp_map_own_value(const pith_function *f, int64_t leaf) {
    const pithp_linear *l = linear_of(f);
    return l && l->equal && l->inputs[leaf] >= 0
               ? pithp_mesh_axes(l->mesh) & ~l->equal[leaf]
               : 0;
}

uint32_t pithp_map_own_argument(const pith_function *f, int64_t leaf) {
    const pithp_linear *l = linear_of(f);
    return l && l->own && l->own[leaf] >= 0 ? (uint32_t)l->own[leaf] : 0;
}
