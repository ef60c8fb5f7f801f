/* Collectives of programs. */
#include "program/command/collective.h"

pith_status pithp_ranks_begin(pith_scope *s, pithp_plan *plan) {
    const pithp_program *p = plan->program;
    if (!pithp_has_ranks(s))
        return s->error.code;
    uint64_t digest = atomic_load_explicit(&plan->digest, memory_order_relaxed);
    if (!digest && s->error.code == PITH_OK) {
        digest = pithp_program_digest(s, p);
        atomic_store_explicit(&plan->digest, digest, memory_order_relaxed);
    }
    const pithp_intent intent = {.operation = plan->name[0] ? plan->name : "a program",
                                 .what = "",
                                 .extra = digest,
                                 .parts = pithp_program_parts,
                                 .part = pithp_program_part,
                                 .closure = &(pithp_parts){s, p}};
    if (pithp_collective_begin(s, &intent))
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
