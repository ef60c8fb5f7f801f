/* Collectives of programs. */
#include "program/command/collective.h"

/* Branches that some ranks do not take have collectives too, so the groups are connected
 * here, where all ranks are. */
static void connect(pith_scope *s, const pithp_program *p) {
    for (int64_t k = 0; k < p->instruction_count && p->has_collectives; k++) {
        const pithp_instruction *i = &p->instructions[k];
        for (int n = 0; n < i->program_count; n++)
            connect(s, i->programs[n]);
        if (pithp_is_collective(i->primitive) && i->primitive != PITHP_OP_AXIS_INDEX)
            pithp_mesh_group_connect(s,
                                     ((const pithp_collective_params *)i->params)->group);
    }
}

/* A bit of the digest of a plan. */
#define HAVE_MET UINT64_C(1)

bool pithp_ranks_have_met(const pithp_plan *plan) {
    return atomic_load_explicit(&plan->digest, memory_order_relaxed) & HAVE_MET;
}

bool pithp_ranks_meet(pith_scope *s, pithp_plan *plan) {
    const pithp_program *p = plan->program;
    uint64_t digest = atomic_load_explicit(&plan->digest, memory_order_relaxed);
    if (!digest && s->error.code == PITH_OK) {
        digest = pithp_program_digest(s, p);
        if (digest)
            digest = pithp_hash(digest, &plan->structures, sizeof plan->structures);
        digest &= ~HAVE_MET;
        atomic_store_explicit(&plan->digest, digest, memory_order_relaxed);
    }
    const pithp_intent intent = {.operation = plan->name[0] ? plan->name : "a program",
                                 .what = "",
                                 .extra = digest & ~HAVE_MET,
                                 .decides = p->has_checks,
                                 .parts = pithp_program_parts,
                                 .part = pithp_program_part,
                                 .closure = &(pithp_parts){s, p}};
    const bool met = pithp_collective_begin(s, &intent);
    if (met && !pithp_ranks_have_met(plan)) {
        connect(s, p);
        atomic_store_explicit(&plan->digest, digest | HAVE_MET, memory_order_relaxed);
    }
    return met;
}

pith_status pithp_ranks_begin(pith_scope *s, pithp_plan *plan) {
    if (pithp_has_ranks(s) && pithp_ranks_meet(s, plan))
        pithp_collective_end(s);
    return s->error.code;
}

pith_status pithp_run_collective(pith_scope *s,
                                 const pithp_step *step,
                                 const pithp_collective_memory *given) {
    const pithp_instruction *i = step->call;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    pithp_collective_memory memory = *given;
    if (pithp_scope_device(s)->backend->addressable)
        memory.host = memory.device ? (char *)memory.device + step->host_at : NULL;
    if (i->primitive == PITHP_OP_AXIS_INDEX)
        return pithp_collective_run(s, &call, step->spec, 0, &memory);
    const char *site = s->site;
    s->site = i->site ? i->site : site;
    pithp_collective_resume(s, pithp_ops[i->primitive].name, i->site);
    const pith_status rc = pithp_collective_run(s, &call, step->spec, 0, &memory);
    pithp_collective_end(s);
    s->site = site;
    return rc;
}
