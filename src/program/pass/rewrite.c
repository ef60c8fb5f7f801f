/* Rewriter with common subexpression and dead code elimination: all passes in one walk.
 * Each live instruction is copied to a new program with renamed operands, simplified,
 * folded, or replaced by an equal one. Control flow is in control_simplify.c. */
#include "program/pass/rewrite.h"

#include "program/op/route.h"
#include "program/op/thresholds.h"

#include <string.h>

/* Whether the pass removes the row of a rule: its results are its last operands. */
static bool drops_rule(const pithp_rebuild *r, const pithp_instruction *i) {
    return (r->passes & PITHP_PASS_MARKS) && i->primitive == PITHP_OP_RULE;
}

/* ---- What is live ---- */

static bool must_run(const pithp_rebuild *r, const pithp_instruction *i) {
    const bool refuses = !(r->passes & PITHP_PASS_MARKS) && pithp_has_refusals(i);
    return !r->values_only && (refuses || pithp_has_effects(i));
}

static void mark(pithp_rebuild *r, int64_t count, const pithp_value *values) {
    const pithp_program *p = r->from;
    const bool all = !(r->passes & PITHP_PASS_DEAD);
    memset(r->live, all, (size_t)p->value_count * sizeof *r->live);
    memset(r->wanted, all, (size_t)p->value_count * sizeof *r->wanted);
    for (int64_t k = 0; k < count; k++)
        r->live[values[k]] = true;
    if (all)
        return;
    for (int64_t k = p->instruction_count; k-- > 0;) {
        const pithp_instruction *i = &p->instructions[k];
        bool wanted = must_run(r, i), known = i->result_count > 0;
        for (int v = 0; v < i->result_count; v++) {
            wanted |= r->wanted[i->result + v] = r->live[i->result + v];
            known &= r->names[i->result + v] >= 0;
        }
        wanted &= !known;
        for (int v = 0; v < i->result_count; v++)
            r->live[i->result + v] = wanted;
        for (int o = 0; wanted && o < i->operand_count; o++) {
            const int result = o - i->operand_count + i->result_count;
            r->live[pithp_operands(p, i)[o]] |=
                !drops_rule(r, i) || (result >= 0 && r->wanted[i->result + result]);
        }
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

/* Whether an instruction may stand for a new one. Derivations tell groups apart. */
static bool is_of_stage(const pithp_rebuild *r, const pithp_instruction *i) {
    const pithp_remat now = r->to->remat;
    return i->remat.stage == now.stage &&
           ((r->passes & PITHP_PASS_MARKS) || i->remat.group == now.group);
}

static bool
is_call(const pithp_rebuild *r, pithp_value v, const pithp_proposal *c, size_t bytes) {
    const pithp_program *p = r->to;
    const pithp_instruction *i = pithp_maker(p, v);
    return i && is_of_stage(r, i) && i->primitive == c->primitive &&
           i->operand_count == c->count && i->result == v &&
           (!c->spec || p->values[v].spec == c->spec) && same_programs(i, c) &&
           (!c->count || !memcmp(pithp_operands(p, i), c->operands,
                                 (size_t)c->count * sizeof *c->operands)) &&
           (!bytes || !memcmp(i->params, c->params, bytes));
}

/* The slot of an equal call, or a free slot. */
static pithp_value *find_call(pithp_rebuild *r, const pithp_proposal *c) {
    const size_t bytes = pithp_params_bytes(c->primitive);
    uint64_t at = hash_call(c, bytes) & r->known.mask;
    while (r->known.slots[at] >= 0 && !is_call(r, r->known.slots[at], c, bytes))
        at = (at + 1) & r->known.mask;
    return &r->known.slots[at];
}

static bool is_constant(const pithp_program *p,
                        pithp_value v,
                        const pith_spec *spec,
                        const pithp_constant *c) {
    const pithp_value_info *n = &p->values[v];
    if (n->origin != PITHP_FROM_CONSTANT || n->spec != spec)
        return false;
    const pithp_constant *other = &p->constants[n->at];
    if (c->buffer || other->buffer)
        return c->buffer == other->buffer && c->data == other->data;
    return memcmp(c->data, other->data, spec->bytes) == 0;
}

static pithp_value *
find_constant(pithp_rebuild *r, const pith_spec *spec, const pithp_constant *c) {
    uint64_t hash = pithp_hash(1, &spec, sizeof spec);
    hash = c->buffer ? pithp_hash(hash, &c->data, sizeof c->data)
                     : pithp_hash(hash, c->data, spec->bytes);
    uint64_t at = hash & r->known.mask;
    while (r->known.slots[at] >= 0 && !is_constant(r->to, r->known.slots[at], spec, c))
        at = (at + 1) & r->known.mask;
    return &r->known.slots[at];
}

/* ---- Taking over ---- */

static pithp_value take_constant(pithp_rebuild *r, const pithp_constant *c) {
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

/* Add a literal, or find an equal one. */
pithp_value pithp_rebuild_literal(pithp_rebuild *r, pithp_value v) {
    if (!(r->passes & PITHP_PASS_COMMON))
        return v;
    const pithp_constant c = r->to->constants[r->to->values[v].at];
    pithp_value *slot = find_constant(r, r->to->values[v].spec, &c);
    if (*slot < 0)
        *slot = v;
    return *slot;
}

/* Calls with exchanged operands are equal, except for floats: a minimum of zeros has the
 * sign of the first, for example. Sums and products of floats are looked up both ways and
 * keep the order of their operands: they differ only in the payload of a NaN. */
static void order_operands(const pithp_rebuild *r, pithp_proposal *c) {
    if (!(r->passes & PITHP_PASS_COMMON) ||
        !pithp_op_has(c->primitive, PITHP_TRAIT_COMMUTATIVE) ||
        pith_dtype_is_float(pithp_value_spec(r->to, c->operands[0])->dtype) ||
        c->operands[0] <= c->operands[1])
        return;
    const pithp_value first = c->operands[1], second = c->operands[0];
    c->new_operands[0] = first;
    c->new_operands[1] = second;
    c->operands = c->new_operands;
}

static pithp_value *find_exchanged(pithp_rebuild *r, const pithp_proposal *c) {
    pithp_proposal exchanged = *c;
    exchanged.new_operands[0] = c->operands[1];
    exchanged.new_operands[1] = c->operands[0];
    exchanged.operands = exchanged.new_operands;
    return find_call(r, &exchanged);
}

static pithp_value *find_either(pithp_rebuild *r, const pithp_proposal *c) {
    pithp_value *slot = find_call(r, c);
    if (*slot >= 0 || (c->primitive != PITHP_OP_ADD && c->primitive != PITHP_OP_MUL))
        return slot;
    pithp_value *other = find_exchanged(r, c);
    return *other >= 0 ? other : slot;
}

static bool may_be_shared(const pithp_proposal *c) {
    bool pure = c->spec && pithp_op_has(c->primitive, PITHP_TRAIT_PURE);
    for (int k = 0; k < c->program_count; k++)
        pure &= !c->programs[k]->has_effects;
    return pure;
}

/* Whether the call has one result, of the known spec. */
static bool is_alone(const pithp_proposal *c) {
    return c->spec && pithp_is_lowered(c->primitive);
}

pithp_value pithp_rebuild_call(pithp_rebuild *r, pithp_proposal *c, const char *site) {
    const pithp_new_instruction given = {.primitive = c->primitive,
                                         .operand_count = c->count,
                                         .operands = c->operands,
                                         .params = c->params,
                                         .program_count = c->program_count,
                                         .programs = c->programs,
                                         .site = site,
                                         .spec = is_alone(c) ? c->spec : NULL};
    const bool shared = (r->passes & PITHP_PASS_COMMON) && may_be_shared(c);
    pithp_value *slot = shared ? find_either(r, c) : NULL;
    if (slot && *slot >= 0) {
        r->to->instructions[r->to->values[*slot].at].remat.kept |= r->to->remat.kept;
        return *slot;
    }
    const pithp_value v = pithp_program_add_many(r->s, r->to, &given);
    if (slot)
        *slot = v;
    return v;
}

/* An operation that pithp_lower runs. */
static pithp_value place(pithp_rebuild *r, pithp_proposal *c, const char *site) {
    pithp_value same = -1;
    if ((r->passes & PITHP_PASS_MARKS) && pithp_op_has(c->primitive, PITHP_TRAIT_MARK))
        return c->operands[0];
    if (r->passes & PITHP_PASS_RELAX)
        pithp_relax(r->to, c);
    while ((r->passes & PITHP_PASS_ALGEBRA) && pithp_simplify(r->to, c, &same))
        if (same >= 0)
            return same;
    if (r->passes & PITHP_PASS_FOLD) {
        same = pithp_constant_fold(r->s, r->to, c);
        if (same >= 0)
            return pithp_rebuild_literal(r, same);
        if (r->s->error.code != PITH_OK)
            return -1;
    }
    order_operands(r, c);
    return pithp_rebuild_call(r, c, site);
}

/* The branch of a cond with a known index; NULL: unknown. */
static const pithp_program *known_branch(const pithp_rebuild *r,
                                         const pithp_instruction *i,
                                         const pithp_value *operands) {
    const void *index = i->primitive == PITHP_OP_COND && (r->passes & PITHP_PASS_FOLD)
                            ? pithp_literal_of(r->to, operands[PITHP_COND_INDEX])
                            : NULL;
    if (!index)
        return NULL;
    const double at = pithp_dtype_decode(
        pithp_value_spec(r->to, operands[PITHP_COND_INDEX])->dtype, index);
    const int last = i->program_count - 1;
    return i->programs[at <= 0 ? 0 : at >= last ? last : (int)at];
}

/* Inline the branch of a cond, or the body of a loop of one iteration, in place of the
 * instruction; its values may exist already. */
static bool take_branch(pithp_rebuild *r,
                        const pithp_instruction *i,
                        const pithp_program *branch,
                        const pithp_value *inputs) {
    const size_t values = (size_t)branch->value_count + 1;
    const size_t outputs = (size_t)branch->output_count + 1;
    pithp_rebuild inner = *r;
    pithp_value *wanted = pithp_scope_allocate(r->s, outputs * sizeof *wanted);
    inner.from = branch;
    inner.names = pithp_scope_allocate(r->s, values * sizeof *inner.names);
    inner.live = pithp_scope_allocate(r->s, 2 * values * sizeof *inner.live);
    if (!wanted || !inner.names || !inner.live)
        return false;
    inner.wanted = inner.live + values;
    memset(inner.names, -1, values * sizeof *inner.names);
    for (int64_t k = 0; k < branch->input_count; k++)
        inner.names[branch->inputs[k]] = inputs[k];
    int64_t count = 0;
    for (int k = 0; k < i->result_count; k++)
        if (r->wanted[i->result + k])
            wanted[count++] = branch->outputs[k];
    if (!pithp_rebuild_values(&inner, count, wanted))
        return false;
    for (int k = 0; k < i->result_count; k++)
        r->names[i->result + k] = inner.names[branch->outputs[k]];
    return true;
}

/* Whether a scan is a mark that the pass removes. */
static bool is_marked_once(const pithp_rebuild *r, const pithp_instruction *i) {
    const pithp_loop_params *l = i->primitive == PITHP_OP_SCAN ? i->params : NULL;
    return l && l->sequential && l->length == 1 && (r->passes & PITHP_PASS_MARKS);
}

static pithp_value
reshape(pithp_rebuild *r, pithp_value v, const pith_spec *like, const char *site) {
    pithp_reshape_params shape = {.rank = like->rank};
    memcpy(shape.shape, like->shape, sizeof shape.shape);
    pithp_proposal c = {.primitive = PITHP_OP_RESHAPE,
                        .count = 1,
                        .operands = &v,
                        .params = &shape,
                        .spec = like};
    return v < 0 ? -1 : place(r, &c, site);
}

/* The only iteration of a scan in place of it. */
static bool
take_once(pithp_rebuild *r, const pithp_instruction *i, const pithp_value *operands) {
    const pithp_regions of = pithp_regions_of(i);
    const pithp_program *body = i->programs[0];
    const size_t bytes = ((size_t)i->operand_count + 1) * sizeof(pithp_value);
    pithp_value *inputs = pithp_scope_allocate(r->s, bytes);
    bool fine = inputs;
    for (int k = 0; k < i->operand_count && fine; k++) {
        const bool row = k >= of.groups[PITHP_SCAN_XS].first;
        inputs[k] = operands[k];
        if (row)
            inputs[k] =
                reshape(r, operands[k], pithp_value_spec(body, body->inputs[k]), i->site);
        fine = inputs[k] >= 0;
    }
    fine = fine && take_branch(r, i, body, inputs);
    for (int k = of.carries.count; k < i->result_count && fine; k++) {
        pithp_value *y = &r->names[i->result + k];
        if (r->wanted[i->result + k])
            fine = (*y = reshape(r, *y, pithp_value_spec(r->from, i->result + k),
                                 i->site)) >= 0;
    }
    return fine;
}

/* Names its results. */
static bool take_instruction(pithp_rebuild *r, const pithp_instruction *i) {
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
    const bool fine = !(r->passes & PITHP_PASS_LAYOUT) || pithp_lay_out_product(r, i, &c);
    const pithp_program *branch = known_branch(r, i, operands);
    bool taken;
    if (!fine) {
        taken = false;
    } else if (branch) {
        taken = take_branch(r, i, branch,
                            operands +
                                pithp_regions_of(i).groups[PITHP_COND_CONSTANTS].first);
    } else if (drops_rule(r, i)) {
        const pithp_value *last = operands + i->operand_count - i->result_count;
        for (int k = 0; k < i->result_count; k++)
            r->names[i->result + k] = last[k];
        taken = true;
    } else if (is_marked_once(r, i) && !r->shallow) {
        taken = take_once(r, i, operands);
    } else if (i->program_count && !r->shallow) {
        taken = pithp_rebuild_control(r, i, operands);
    } else {
        c.program_count = i->program_count;
        c.programs = i->programs;
        const pithp_value v = pithp_is_lowered(i->primitive)
                                  ? place(r, &c, i->site)
                                  : pithp_rebuild_call(r, &c, i->site);
        for (int k = 0; k < i->result_count; k++)
            r->names[i->result + k] = v + k;
        taken = v >= 0;
    }
    if (operands != few)
        pithp_release(r->s->runtime, operands, bytes);
    return taken;
}

static bool is_live(const pithp_rebuild *r, const pithp_instruction *i) {
    return i->result_count ? r->live[i->result]
                           : !(r->passes & PITHP_PASS_DEAD) || must_run(r, i);
}

bool pithp_rebuild_take(pithp_rebuild *r, pithp_value v, const pithp_instruction *i) {
    const pithp_program *p = r->from;
    const pithp_value_info *n = &p->values[v];
    if (i)
        r->to->remat = pithp_remat_within(r->around, r->taken, i->remat);
    if (i && is_live(r, i))
        return (r->passes & PITHP_PASS_MESSAGES) && pithp_moves_by_route(i->primitive)
                   ? pithp_rebuild_messages(r, i)
                   : take_instruction(r, i);
    if (!i && n->origin == PITHP_FROM_INPUT)
        return (r->names[v] = pithp_program_input(r->s, r->to, n->spec)) >= 0;
    if (!i && r->live[v])
        return (r->names[v] = take_constant(r, &p->constants[n->at])) >= 0;
    return true;
}

bool pithp_rebuild_values(pithp_rebuild *r, int64_t count, const pithp_value *values) {
    pithp_graph_walk walk = {.program = r->from};
    const pithp_instruction *i;
    pithp_value v;
    bool fine = true;
    r->around = r->to->remat;
    r->taken = pithp_program_take_groups(r->to, r->from);
    mark(r, count, values);
    while (fine && pithp_graph_next(&walk, &v, &i))
        if (i ? !i->result_count || r->names[v] < 0 : r->names[v] < 0)
            fine = pithp_rebuild_take(r, v, i);
    r->to->remat = r->around;
    return fine;
}

/* Number of values of a program and of those that may be inlined. */
static uint64_t count_values(const pithp_program *p) {
    uint64_t count = (uint64_t)p->value_count;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        if (i->program_count) /* and reshapes around the body of a scan */
            count += (uint64_t)i->operand_count + (uint64_t)i->result_count;
        for (int b = 0; b < i->program_count; b++)
            count += count_values(i->programs[b]);
    }
    return count;
}

pithp_program *
pithp_rebuild_program(pith_scope *s, const pithp_program *p, unsigned passes) {
    pith_runtime *rt = s->runtime;
    pithp_rebuild r = {.s = s, .from = p, .passes = passes, .known.mask = 63};
    const uint64_t all = count_values(p);
    while (r.known.mask < 2 * all)
        r.known.mask = 2 * r.known.mask + 1;
    const size_t values = (size_t)p->value_count + 1;
    const size_t slot_bytes = (r.known.mask + 1) * sizeof *r.known.slots;
    const size_t bytes = slot_bytes + values * (sizeof *r.names + 2 * sizeof *r.live);
    r.known.slots = pithp_allocate(rt, bytes);
    if (!r.known.slots) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    memset(r.known.slots, 0xFF, slot_bytes + values * sizeof *r.names);
    r.names = r.known.slots + r.known.mask + 1;
    r.live = (bool *)(r.names + values);
    r.wanted = r.live + values;
    r.to = pithp_program_make(s);
    bool fine = r.to && pithp_program_reserve(s, r.to, p) &&
                pithp_rebuild_values(&r, p->output_count, p->outputs);
    for (int64_t k = 0; fine && k < p->output_count; k++)
        fine = pithp_program_output(s, r.to, r.names[p->outputs[k]]);
    pithp_release(rt, r.known.slots, bytes);
    if (fine)
        PITHP_VERIFY(r.to);
    else
        pithp_program_release(r.to);
    return fine ? r.to : NULL;
}

static bool has_programs(const pithp_program *p) {
    bool any = false;
    for (int64_t k = 0; k < p->instruction_count && !any; k++)
        any = p->instructions[k].program_count > 0;
    return any;
}

/* Whether a program without nested programs has dead values or instructions. -1 sets the
 * error. */
static int has_dead(pith_scope *s, const pithp_program *p) {
    const size_t values = (size_t)p->value_count + 1,
                 bytes = values * (2 * sizeof(bool) + sizeof(pithp_value));
    pithp_rebuild r = {.s = s, .from = p, .passes = PITHP_PASS_DEAD};
    r.names = pithp_allocate(s->runtime, bytes);
    if (!r.names) {
        pithp_fail_memory(s, bytes);
        return -1;
    }
    memset(r.names, 0xFF, values * sizeof *r.names);
    r.live = (bool *)(r.names + values);
    r.wanted = r.live + values;
    mark(&r, p->output_count, p->outputs);
    bool dead = false;
    for (int64_t k = 0; k < p->instruction_count && !dead; k++)
        dead = !is_live(&r, &p->instructions[k]);
    for (int64_t k = 0; k < p->constant_count && !dead; k++)
        dead = !r.live[p->constants[k].value];
    pithp_release(s->runtime, r.names, bytes);
    return dead;
}

/* A program in place of one whose reference it takes; NULL sets the error. */
static pithp_program *rebuild_instead(pith_scope *s, pithp_program *p, unsigned passes) {
    pithp_program *better = pithp_rebuild_program(s, p, passes);
    pithp_program_release(p);
    return better;
}

pithp_program *
pithp_program_optimise(pith_scope *s, const pithp_program *p, unsigned passes) {
    PITHP_VERIFY(p);
    const bool layout = passes & PITHP_PASS_LAYOUT,
               messages = passes & PITHP_PASS_MESSAGES;
    passes &= ~(unsigned)(PITHP_PASS_LAYOUT | PITHP_PASS_MESSAGES);
    /* Common control flow is found before its unused results are removed. */
    pithp_program *better =
        pithp_rebuild_program(s, p, passes & ~(unsigned)PITHP_PASS_CONTROL);
    /* Removing results of one body may make values of others dead. */
    for (int round = 0; better && passes & PITHP_PASS_CONTROL &&
                        round < PITHP_REWRITE_ROUNDS && has_programs(better);
         round++) {
        pithp_program *before = better;
        better = pithp_rebuild_program(s, before, passes);
        const bool same = better && pithp_program_equal(before, better);
        pithp_program_release(before);
        if (same)
            break;
    }
    /* The uses of a product are known when nothing is dead any more. */
    if (better && layout && pithp_has_products_to_lay_out(better))
        better = rebuild_instead(s, better, PITHP_PASS_LAYOUT);
    if (better && messages && pithp_has_messages_to_join(better))
        better = rebuild_instead(s, better, PITHP_PASS_MESSAGES);
    /* Rules and folding leave dead operands. */
    if (!better || !(passes & PITHP_PASS_DEAD))
        return better;
    if (!has_programs(better)) {
        const int dead = has_dead(s, better);
        if (dead < 0)
            pithp_program_release(better);
        if (dead <= 0)
            return dead ? NULL : better;
    }
    pithp_program *clean = pithp_rebuild_program(s, better, PITHP_PASS_DEAD);
    pithp_program_release(better);
    return clean;
}
