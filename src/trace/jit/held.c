/* What only the checks of a program need: outputs of a run in one buffer, for which no
 * arrays are made. */
#include "trace/jit/jit_internal.h"

pith_status pithp_jit_hold(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    if (p->held_bytes && !(r->held = pithp_buffer_make(r->s, p->held_bytes)))
        return r->s->error.code;
    for (int64_t k = p->result_count; k < p->leaf_count; k++)
        r->outputs[k] = p->leaves[k].source == PITHP_LEAF_HELD
                            ? (char *)r->held->data + p->leaves[k].at
                            : NULL;
    return PITH_OK;
}

const pith_array *pithp_jit_handed_on(const pithp_jit_running *r, int64_t k) {
    const pithp_origins *from = &r->p->plan->origins[k];
    int o = 0;
    while (o < from->count - 1 && r->addresses[from->inputs[o]] != r->outputs[k])
        o++;
    return r->inputs[from->inputs[o]];
}

static pithp_held of_array(const pith_array *a) {
    return (pithp_held){a->data, pithp_array_buffer(a)};
}

/* Output k, which is a value that checks need. */
static inline pithp_held value_of(const pithp_jit_running *r, int64_t k) {
    const pithp_jit_program *p = r->p;
    const pithp_plan *plan = p->plan;
    const pithp_jit_leaf *leaf = &p->leaves[k];
    switch (leaf->source) {
        case PITHP_LEAF_HELD:
            return r->outputs[k] == (char *)r->held->data + leaf->at
                       ? (pithp_held){r->outputs[k], r->held}
                       : of_array(pithp_jit_handed_on(r, k));
        case PITHP_LEAF_SAME:
            return leaf->at < p->result_count ? of_array(r->items[leaf->at])
                                              : r->values[leaf->at - p->result_count];
        case PITHP_LEAF_INPUT:
            return of_array(r->inputs[leaf->at]);
        case PITHP_LEAF_CONSTANT:
            return (pithp_held){
                (void *)(uintptr_t)plan->program->constants[leaf->at].data,
                plan->program->constants[leaf->at].buffer};
        case PITHP_LEAF_LITERAL:
            return (pithp_held){(char *)plan->literals->data + leaf->at, plan->literals};
        case PITHP_LEAF_MADE: /* of results */
            break;
    }
    return (pithp_held){NULL, NULL};
}

pith_status pithp_jit_make_checks(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    for (int64_t k = p->result_count; k < p->leaf_count; k++)
        r->values[k - p->result_count] = value_of(r, k);
    return pithp_checks_make(r->s, p->checks, r->values);
}
