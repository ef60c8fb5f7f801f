/* Batches of calls of functions with rules of pith_custom_vmap. */
#include "pith/node.h"
#include "pith/vmap.h"

#include "trace/derive/rule.h"

#include <string.h>

/* A tree like a structure, perhaps with a leading batch axis. NULL: error set. */
static const void *
tree_of(pith_scope *s, const pithp_structure *t, bool mapped, int64_t size) {
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)t->item_count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < t->item_count; k++) {
        const pith_spec *spec = t->specs[k];
        int64_t shape[PITHP_MAX_RANK + 1] = {size};
        memcpy(shape + mapped, spec->shape, (size_t)spec->rank * sizeof *shape);
        spec = pithp_spec_of_value(s, spec->dtype, spec->rank + mapped, shape);
        if (!spec || !(items[k] = pithp_trace_zeros(s, spec)))
            return NULL;
    }
    return items ? pithp_part_build_quiet(s, t, items) : NULL;
}

/* Which arguments are mapped: those with a mapped leaf, all of whose leaves are then. */
static int64_t find_mapped(const pithp_function_rule *u, bool *batched) {
    int64_t mapped = 0;
    for (int i = 0; i < u->argument_count; i++) {
        const int64_t count = u->trees[i].item_count;
        for (int64_t k = 0; k < count; k++)
            mapped |= (int64_t)batched[k] << i;
        memset(batched, (int)(mapped >> i & 1), (size_t)count);
        batched += count;
    }
    return mapped;
}

/* The argument of the rule, of which only the structure counts. NULL: error set. */
static const pith_vmap_call *batch_argument(const pithp_function_rule *u,
                                            pith_scope *s,
                                            int64_t size,
                                            int64_t mapped) {
    const void *trees[PITHP_MOST_PARAMETERS];
    for (int i = 0; i < u->argument_count; i++)
        if (!(trees[i] = tree_of(s, &u->trees[i], mapped >> i & 1, size)))
            return NULL;
    pith_vmap_call call = pith_initial(pith_vmap_call);
    call.size = size;
    call.mapped = mapped;
    call.arguments = u->argument_count == 1
                         ? trees[0]
                         : pith_tuple_make(pithp_on_behalf(s), u->argument_count, trees);
    return call.arguments ? pith_freeze(pithp_on_behalf(s), pith_vmap_call, &call) : NULL;
}

static pith_status refuse_batched(const pithp_function_rule *u, pith_scope *s) {
    return pithp_fail(s, PITH_E_ARG, NULL,
                      "%s has a rule for batches, and a tree that is bound in it is "
                      "batched; make it an argument",
                      u->rule.name);
}

pithp_program *
pithp_rule_record_batch(pithp_rule *rule, pith_scope *s, int64_t size, bool *batched) {
    pithp_function_rule *u = (pithp_function_rule *)(void *)rule;
    pithp_rule_recording *r = pithp_scope_allocate(s, sizeof *r);
    pithp_flat flat = {0};
    if (!r)
        return NULL;
    *r = (pithp_rule_recording){.s = s, .rule = u, .which = PITHP_CUSTOM_BATCH};
    pith_status rc = PITH_OK;
    for (int k = 0; k < rule->bound_count && rc == PITH_OK; k++)
        rc = batched[rule->first_count + k] ? refuse_batched(u, s) : PITH_OK;
    const void *argument =
        rc == PITH_OK ? batch_argument(u, s, size, find_mapped(u, batched)) : NULL;
    rc = s->error.code;
    if (argument && (rc = pithp_flat_make(s, &flat, argument, NULL, NULL)) == PITH_OK) {
        PITH_TRY(pithp_rule_add_argument(r, &flat.structure, NULL));
        PITH_TRY(pithp_rule_record(r));
        PITH_TRY(
            pithp_rule_check_tree(r, tree_of(s, &u->value, true, size), 0, "result"));
    }
out:;
    pithp_program *p = pithp_rule_finish(r, rc);
    if (argument)
        pithp_flat_end(&flat);
    return p;
}
