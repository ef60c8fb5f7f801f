/* The passes in one walk: each live instruction is taken over into a new program, with
 * its operands renamed, simplified, folded, or found to be there already. */
#include "program/pass/pass.h"

#include <string.h>

/* Values of the new program by what makes them; open addressing, -1: free. */
typedef struct table {
    pithp_value *slots;
    uint64_t mask;
} table;

typedef struct rebuild {
    pith_scope *s;
    const pithp_program *from;
    pithp_program *to;
    unsigned passes;
    bool *live;         /* values of `from` */
    pithp_value *names; /* of those values in `to` */
    table known;
} rebuild;

/* ---- What is live ---- */

static void mark(rebuild *r) {
    const pithp_program *p = r->from;
    if (!(r->passes & PITHP_PASS_DEAD)) {
        memset(r->live, true, (size_t)p->value_count * sizeof *r->live);
        return;
    }
    memset(r->live, false, (size_t)p->value_count * sizeof *r->live);
    for (int64_t k = 0; k < p->output_count; k++)
        r->live[p->outputs[k]] = true;
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        bool wanted = pithp_has_effects(i);
        for (int v = 0; v < i->result_count; v++)
            wanted |= r->live[i->result + v];
        for (int v = 0; v < i->result_count; v++)
            r->live[i->result + v] = wanted;
        for (int o = 0; wanted && o < i->operand_count; o++)
            r->live[pithp_operands(p, i)[o]] = true;
    }
}

/* ---- What is there already ---- */

static uint64_t hash_call(const pithp_proposal *c, size_t params_bytes) {
    uint64_t hash = pithp_hash((uint64_t)c->primitive, &c->spec, sizeof c->spec);
    if (c->count)
        hash = pithp_hash(hash, c->operands, (size_t)c->count * sizeof *c->operands);
    for (int k = 0; k < c->program_count; k++) {
        const uint64_t inner = pithp_program_hash(c->programs[k]);
        hash = pithp_hash(hash, &inner, sizeof inner);
    }
    return params_bytes ? pithp_hash(hash, c->params, params_bytes) : hash;
}

static bool same_programs(const pithp_instruction *i, const pithp_proposal *c) {
    bool same = i->program_count == c->program_count;
    for (int k = 0; k < i->program_count && same; k++)
        same = pithp_program_equal(i->programs[k], c->programs[k]);
    return same;
}

static bool
is_call(const pithp_program *p, pithp_value v, const pithp_proposal *c, size_t bytes) {
    const pithp_instruction *i = pithp_maker(p, v);
    return i && i->primitive == c->primitive && i->operand_count == c->count &&
           i->result == v && (!c->spec || p->values[v].spec == c->spec) &&
           same_programs(i, c) &&
           (!c->count || !memcmp(pithp_operands(p, i), c->operands,
                                 (size_t)c->count * sizeof *c->operands)) &&
           (!bytes || !memcmp(i->params, c->params, bytes));
}

/* The slot of an equal call, or the free one where it belongs. */
static pithp_value *find_call(rebuild *r, const pithp_proposal *c) {
    const size_t bytes = pithp_params_bytes(c->primitive);
    uint64_t at = hash_call(c, bytes) & r->known.mask;
    while (r->known.slots[at] >= 0 && !is_call(r->to, r->known.slots[at], c, bytes))
        at = (at + 1) & r->known.mask;
    return &r->known.slots[at];
}

static bool is_constant(const pithp_program *p,
                        pithp_value v,
                        const pith_spec *spec,
                        const pithp_constant *c) {
    const pithp_node *n = &p->values[v];
    if (n->origin != PITHP_FROM_CONSTANT || n->spec != spec)
        return false;
    const pithp_constant *other = &p->constants[n->at];
    if (c->buffer || other->buffer)
        return c->buffer == other->buffer && c->data == other->data;
    return memcmp(c->data, other->data, spec->bytes) == 0;
}

static pithp_value *
find_constant(rebuild *r, const pith_spec *spec, const pithp_constant *c) {
    uint64_t hash = pithp_hash(1, &spec, sizeof spec);
    hash = c->buffer ? pithp_hash(hash, &c->data, sizeof c->data)
                     : pithp_hash(hash, c->data, spec->bytes);
    uint64_t at = hash & r->known.mask;
    while (r->known.slots[at] >= 0 && !is_constant(r->to, r->known.slots[at], spec, c))
        at = (at + 1) & r->known.mask;
    return &r->known.slots[at];
}

/* ---- Taking over ---- */

static pithp_value take_constant(rebuild *r, const pithp_constant *c) {
    const pith_spec *spec = r->from->values[c->value].spec;
    pithp_value *slot = r->passes & PITHP_PASS_COMMON ? find_constant(r, spec, c) : NULL;
    if (slot && *slot >= 0)
        return *slot;
    const pithp_value v =
        c->buffer ? pithp_program_constant(r->s, r->to, spec, c->buffer, c->data)
                  : pithp_program_literal(r->s, r->to, spec, c->data);
    if (slot)
        *slot = v;
    return v;
}

/* A new literal, or an equal one that was there. */
static pithp_value known_literal(rebuild *r, pithp_value v) {
    if (!(r->passes & PITHP_PASS_COMMON))
        return v;
    const pithp_constant c = r->to->constants[r->to->values[v].at];
    pithp_value *slot = find_constant(r, r->to->values[v].spec, &c);
    if (*slot < 0)
        *slot = v;
    return *slot;
}

/* Exchanged operands are equal calls too, but where both are NaN the first one's bits are
 * the sum's: floats stay as they are. */
static void order_operands(const rebuild *r, pithp_proposal *c) {
    if (!(r->passes & PITHP_PASS_COMMON) ||
        !(pithp_rows[c->primitive].flags & PITHP_COMMUTATIVE) ||
        pith_dtype_is_float(pithp_value_spec(r->to, c->operands[0])->dtype) ||
        c->operands[0] <= c->operands[1])
        return;
    const pithp_value first = c->operands[1], second = c->operands[0];
    c->new_operands[0] = first;
    c->new_operands[1] = second;
    c->operands = c->new_operands;
}

static bool may_be_shared(const pithp_proposal *c) {
    bool pure = c->spec && (pithp_rows[c->primitive].flags & PITHP_PURE);
    for (int k = 0; k < c->program_count; k++)
        pure &= !c->programs[k]->has_effects;
    return pure;
}

static pithp_value add(rebuild *r, pithp_proposal *c, const char *site) {
    const pithp_new_instruction given = {.primitive = c->primitive,
                                         .operand_count = c->count,
                                         .operands = c->operands,
                                         .params = c->params,
                                         .program_count = c->program_count,
                                         .programs = c->programs,
                                         .site = site};
    const bool shared = (r->passes & PITHP_PASS_COMMON) && may_be_shared(c);
    pithp_value *slot = shared ? find_call(r, c) : NULL;
    if (slot && *slot >= 0)
        return *slot;
    const pithp_value v = pithp_program_add_many(r->s, r->to, &given);
    if (slot)
        *slot = v;
    return v;
}

/* A row that pithp_lower runs. */
static pithp_value place(rebuild *r, pithp_proposal *c, const char *site) {
    pithp_value same = -1;
    while ((r->passes & PITHP_PASS_ALGEBRA) && pithp_simplify(r->to, c, &same))
        if (same >= 0)
            return same;
    if (r->passes & PITHP_PASS_FOLD) {
        same = pithp_fold(r->s, r->to, c);
        if (same >= 0)
            return known_literal(r, same);
        if (r->s->error.code != PITH_OK)
            return -1;
    }
    order_operands(r, c);
    return add(r, c, site);
}

static pithp_program *walk(pith_scope *s, const pithp_program *p, unsigned passes);

/* Control flow: the passes go through its programs first. */
static pithp_value
place_control(rebuild *r, const pithp_instruction *i, pithp_proposal *c) {
    const size_t bytes = (size_t)i->program_count * sizeof *c->programs;
    pithp_program **programs =
        i->program_count ? pithp_allocate(r->s->runtime, bytes) : NULL;
    if (i->program_count && !programs) {
        pithp_fail_memory(r->s, bytes);
        return -1;
    }
    int made = 0;
    while (made < i->program_count &&
           (programs[made] = walk(r->s, i->programs[made], r->passes)))
        made++;
    c->program_count = i->program_count;
    c->programs = programs;
    const pithp_value v = made == i->program_count ? add(r, c, i->site) : -1;
    while (made > 0)
        pithp_program_release(programs[--made]);
    pithp_release(r->s->runtime, programs, bytes);
    return v;
}

/* The branch of a cond whose index is known; NULL: it is not. */
static const pithp_program *
known_branch(const rebuild *r, const pithp_instruction *i, const pithp_value *operands) {
    const void *index = i->primitive == PITHP_OP_COND && (r->passes & PITHP_PASS_FOLD)
                            ? pithp_literal_of(r->to, operands[0])
                            : NULL;
    if (!index)
        return NULL;
    const double at =
        pithp_dtype_decode(pithp_value_spec(r->to, operands[0])->dtype, index);
    const int last = i->program_count - 1;
    return i->programs[at <= 0 ? 0 : at >= last ? last : (int)at];
}

/* The branch in the place of the cond. */
static bool take_branch(rebuild *r,
                        const pithp_program *branch,
                        const pithp_value *inputs,
                        pithp_value *results) {
    pithp_program *better = walk(r->s, branch, r->passes);
    const bool taken =
        better && pithp_program_inline(r->s, r->to, better, inputs, results);
    pithp_program_release(better);
    return taken;
}

/* Names its results. */
static bool take_instruction(rebuild *r, const pithp_instruction *i) {
    pithp_value few[PITHP_FEW_OPERANDS], *operands = few;
    const size_t bytes = (size_t)i->operand_count * sizeof *operands;
    if (i->operand_count > PITHP_FEW_OPERANDS) {
        operands = pithp_allocate(r->s->runtime, bytes);
        if (!operands) {
            pithp_fail_memory(r->s, bytes);
            return false;
        }
    }
    for (int k = 0; k < i->operand_count; k++)
        operands[k] = r->names[pithp_operands(r->from, i)[k]];
    pithp_proposal c;
    c.primitive = i->primitive;
    c.count = i->operand_count;
    c.operands = operands;
    c.params = i->params;
    c.spec = i->result_count ? r->from->values[i->result].spec : NULL;
    c.program_count = 0;
    c.programs = NULL;
    const pithp_program *branch = known_branch(r, i, operands);
    const pithp_value v = branch                           ? -1
                          : pithp_is_lowered(i->primitive) ? place(r, &c, i->site)
                                                           : place_control(r, i, &c);
    for (int k = 0; k < i->result_count; k++)
        r->names[i->result + k] = v + k;
    const bool taken =
        branch ? take_branch(r, branch, operands + 1, r->names + i->result) : v >= 0;
    if (operands != few)
        pithp_release(r->s->runtime, operands, bytes);
    return taken;
}

static bool is_live(const rebuild *r, const pithp_instruction *i) {
    return i->result_count ? r->live[i->result]
                           : !(r->passes & PITHP_PASS_DEAD) || pithp_has_effects(i);
}

static bool take_all(rebuild *r) {
    const pithp_program *p = r->from;
    pithp_graph_walk walk = {.program = p};
    const pithp_instruction *i;
    pithp_value v;
    bool fine = true;
    while (fine && pithp_graph_next(&walk, &v, &i)) {
        const pithp_node *n = &p->values[v];
        if (i && is_live(r, i))
            fine = take_instruction(r, i);
        else if (!i && n->origin == PITHP_FROM_INPUT)
            fine = (r->names[v] = pithp_program_input(r->s, r->to, n->spec)) >= 0;
        else if (!i && r->live[v])
            fine = (r->names[v] = take_constant(r, &p->constants[n->at])) >= 0;
    }
    if (!fine)
        return false;
    for (int64_t k = 0; k < p->output_count; k++)
        if (!pithp_program_output(r->s, r->to, r->names[p->outputs[k]]))
            return false;
    return true;
}

/* One walk; NULL: error set. */
static pithp_program *walk(pith_scope *s, const pithp_program *p, unsigned passes) {
    pith_runtime *rt = s->runtime;
    rebuild r = {.s = s, .from = p, .passes = passes, .known.mask = 63};
    while (r.known.mask < 2 * (uint64_t)p->value_count)
        r.known.mask = 2 * r.known.mask + 1;
    const size_t values = (size_t)p->value_count + 1;
    const size_t slot_bytes = (r.known.mask + 1) * sizeof *r.known.slots;
    const size_t bytes = slot_bytes + values * (sizeof *r.names + sizeof *r.live);
    r.known.slots = pithp_allocate(rt, bytes);
    if (!r.known.slots) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    memset(r.known.slots, 0xFF, slot_bytes);
    r.names = r.known.slots + r.known.mask + 1;
    r.live = (bool *)(r.names + values);
    r.to = pithp_program_make(s);
    if (r.to) {
        mark(&r);
        if (!take_all(&r)) {
            pithp_program_release(r.to);
            r.to = NULL;
        }
    }
    pithp_release(rt, r.known.slots, bytes);
    if (r.to)
        PITHP_VERIFY(r.to);
    return r.to;
}

pithp_program *
pithp_program_optimise(pith_scope *s, const pithp_program *p, unsigned passes) {
    PITHP_VERIFY(p);
    pithp_program *better = walk(s, p, passes);
    /* Rules and folding leave operands behind that nobody needs any more. */
    if (!better || !(passes & PITHP_PASS_DEAD) ||
        better->instruction_count + better->constant_count == 0)
        return better;
    pithp_program *clean = walk(s, better, PITHP_PASS_DEAD);
    pithp_program_release(better);
    return clean;
}
