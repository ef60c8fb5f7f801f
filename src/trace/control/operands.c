/* Operands and results of instructions of the outer trace. */
#include "trace/control/control_internal.h"

#include <string.h>

pith_status pithp_operands_begin(pith_scope *s, pithp_operand_list *o, int64_t room) {
    o->count = 0;
    o->values = pithp_scope_allocate(s, ((size_t)room + 1) * sizeof *o->values);
    return s->error.code;
}

pith_status pithp_operands_add(pith_scope *s,
                               pithp_operand_list *o,
                               const pith_array *a,
                               const char *function,
                               const char *name) {
    const pith_status rc = pithp_leaf_check(s, a, function, name);
    if (rc != PITH_OK)
        return rc;
    const pithp_value v = pithp_trace_value(s, pithp_scope_trace(s), a);
    if (v >= 0)
        o->values[o->count++] = v;
    return s->error.code;
}

pith_status pithp_operands_add_all(pith_scope *s,
                                   pithp_operand_list *o,
                                   const pithp_flat *f,
                                   const char *function,
                                   const char *name) {
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < f->structure.item_count && rc == PITH_OK; k++) {
        rc = pithp_operands_add(s, o, f->items[k], function, name);
        if (rc != PITH_OK)
            pithp_item_prefix(s, &f->structure, k);
    }
    return rc;
}

bool pithp_control_add_filled(pith_scope *s,
                              pithp_program *p,
                              const pith_spec *spec,
                              uint64_t bits) {
    pithp_full_params params = {.dtype = spec->dtype, .rank = spec->rank, .value = bits};
    memcpy(params.shape, spec->shape, sizeof params.shape);
    const pithp_value v =
        pithp_program_add(s, p, PITHP_OP_FULL, 0, NULL, &params, s->site);
    return v >= 0 && pithp_program_output(s, p, v);
}

const pith_array **pithp_control_add(pith_scope *s, const pithp_new_instruction *given) {
    pithp_trace *t = pithp_scope_trace(s);
    pithp_new_instruction limited = *given;
    limited.max_rank = t->max_rank;
    const pithp_value first = pithp_program_add_many(s, t->program, &limited);
    if (first < 0)
        return NULL;
    const int64_t count = t->program->value_count - first;
    const pith_array **results =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *results);
    for (int64_t k = 0; results && k < count; k++)
        if (!(results[k] = pithp_trace_array(s, t, (pithp_value)(first + k))))
            return NULL;
    return results;
}
