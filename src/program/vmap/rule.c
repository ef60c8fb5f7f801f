/* Batching of functions with a rule of the user: the rule of the batch is the batch of
 * the rule. Its primals are all batched, so that tangents and cotangents are. The mask of
 * the entries that take part is its first bound operand, for the checks that it records.
 */
#include "program/vmap/control.h"

#include <string.h>

typedef struct batched_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    pithp_rule *of; /* of an entry, one reference */
    int64_t size;
    pithp_vmap_options options; /* of the batch */
    bool masked;                /* the first bound operand is a mask */
    bool *batched; /* of the first operands of `of` and those of its bound trees */
} batched_rule;

static batched_rule *batched_of(const pithp_rule *rule) {
    return (batched_rule *)(uintptr_t)rule;
}

static size_t flag_count(const pithp_rule *rule) {
    return (size_t)(rule->first_count + rule->bound_count) + 1;
}
static size_t result_bytes(const pithp_rule *rule) {
    return ((size_t)rule->result_count + 1) * sizeof *rule->results;
}

static void free_rule(pithp_rule *rule) {
    batched_rule *r = batched_of(rule);
    pithp_release(r->runtime, r->batched, flag_count(r->of));
    pithp_release(r->runtime, rule->results, result_bytes(rule));
    pithp_rule_release(r->of);
    pithp_release(r->runtime, r, sizeof *r);
}

static void refuse(const pithp_rule *rule, pith_scope *s, const char *site, int k) {
    const batched_rule *r = batched_of(rule);
    r->of->refuse(r->of, s, site, k - r->masked);
}

/* The batched spec of each result. */
static bool set_results(pithp_rule *rule, const pithp_batching *b, const pithp_rule *of) {
    bool fine = true;
    for (int k = 0; k < of->result_count && fine; k++)
        fine = (rule->results[k] = pithp_batched_spec(b, of->results[k])) != NULL;
    return fine;
}

static pithp_program *record(pithp_rule *rule,
                             pith_scope *s,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear);

/* The rule of a batch; batched: of its first operands and those of bound trees. NULL sets
 * the error. */
static pithp_rule *
make_rule(const pithp_batching *b, pithp_rule *of, bool masked, const bool *batched) {
    pith_scope *s = b->s;
    pith_runtime *rt = s->runtime;
    batched_rule *r = pithp_allocate(rt, sizeof *r);
    if (!r) {
        pithp_fail_memory(s, sizeof *r);
        return NULL;
    }
    *r = (batched_rule){.rule = *of,
                        .runtime = rt,
                        .of = of,
                        .size = b->size,
                        .options = *b->options,
                        .masked = masked};
    r->options.steps = 0; /* its programs are derived */
    r->rule.bound_count += masked;
    r->rule.free = free_rule;
    r->rule.record = record;
    r->rule.batch = NULL;
    r->rule.refuse = refuse;
    r->rule.results = pithp_allocate(rt, result_bytes(of));
    r->batched = pithp_allocate(rt, flag_count(of));
    atomic_init(&r->rule.refs, 1);
    atomic_fetch_add_explicit(&of->refs, 1, memory_order_relaxed);
    if (!r->rule.results || !r->batched)
        pithp_fail_memory(s, result_bytes(of) + flag_count(of));
    else if (set_results(&r->rule, b, of)) {
        memcpy(r->batched, batched, flag_count(of) - 1);
        return &r->rule;
    }
    free_rule(&r->rule);
    return NULL;
}

/* ---- Recording ---- */

/* The linear rule of a batch. residuals: of each, whether it is batched. */
static pithp_rule *
make_linear(pith_scope *s, const batched_rule *r, pithp_rule *of, const bool *residuals) {
    bool *batched = pithp_scope_allocate(s, flag_count(of));
    if (!batched)
        return NULL;
    memcpy(batched, residuals, (size_t)of->first_count);
    memcpy(batched + of->first_count, r->batched + r->rule.first_count,
           (size_t)of->bound_count);
    const pithp_batching b = {
        .s = s, .size = r->size, .options = &r->options, .mask = -1};
    return make_rule(&b, of, r->masked, batched);
}

/* The number of results among the outputs of what is recorded in reverse mode. */
static int result_outputs(const pithp_rule *rule) {
    return rule->takes_results ? 0 : rule->result_count;
}

/* Batch what was recorded for an entry. `outputs`: set for each output. */
static pithp_program *batch_recorded(pith_scope *s,
                                     const batched_rule *r,
                                     const pithp_program *p,
                                     bool has_residuals,
                                     bool *outputs) {
    const int first = r->of->first_count, bound = r->of->bound_count;
    bool *inputs = pithp_scope_allocate(s, (size_t)p->input_count + 1);
    if (!inputs)
        return NULL;
    memset(inputs, true, (size_t)p->input_count);
    memcpy(inputs, r->batched + first, (size_t)bound);
    memcpy(inputs + bound, r->batched, (size_t)first);
    memset(outputs, true, (size_t)p->output_count);
    if (has_residuals) {
        if (!pithp_program_reach(s, p, inputs, outputs))
            return NULL;
        memset(outputs, true, (size_t)result_outputs(&r->rule));
    }
    return pithp_batch_outputs(s, p, r->size, inputs, &r->options, r->masked, outputs);
}

static pithp_program *record(pithp_rule *rule,
                             pith_scope *s,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear) {
    const batched_rule *r = batched_of(rule);
    const bool has_residuals = reverse && !rule->linear;
    pithp_rule *of_linear = NULL;
    if (rule->strong_zero) /* for each entry; `of` is this row's alone */
        r->of->strong_zero = true;
    pithp_program *p =
        r->of->record(r->of, s, reverse, zeros, has_residuals ? &of_linear : NULL);
    bool *outputs = p ? pithp_scope_allocate(s, (size_t)p->output_count + 1) : NULL;
    pithp_program *made =
        outputs ? batch_recorded(s, r, p, has_residuals, outputs) : NULL;
    if (made && has_residuals &&
        !(*linear = make_linear(s, r, of_linear, outputs + result_outputs(rule)))) {
        pithp_program_release(made);
        made = NULL;
    }
    pithp_program_release(p);
    pithp_rule_release(of_linear);
    return made;
}

/* ---- The row ---- */

bool pithp_calls_rule(const pithp_program *p, bool for_batches) {
    bool calls = false;
    for (int64_t k = 0; k < p->instruction_count && !calls; k++) {
        const pithp_instruction *i = &p->instructions[k];
        calls =
            for_batches ? pithp_batch_rule_of(i) != NULL : i->primitive == PITHP_OP_RULE;
        for (int n = 0; n < i->program_count && !calls; n++)
            calls = pithp_calls_rule(i->programs[n], for_batches);
    }
    return calls;
}

/* Insert the mask as the first bound operand. Returns how many operands this adds. */
static int
add_mask(const pithp_batching *b, const pithp_batched_call *c, const pithp_rule *of) {
    pithp_value *at = c->scratch + of->first_count;
    if (b->mask < 0)
        return 0;
    memmove(at + 1, at, (size_t)(c->i->operand_count - of->first_count) * sizeof *at);
    *at = b->mask;
    return 1;
}

bool pithp_vmap_rule(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched);

static bool has_checks(const pithp_program *p) {
    bool has = false;
    for (int64_t k = 0; k < p->instruction_count && !has; k++)
        has = p->instructions[k].primitive == PITHP_OP_EXPOSE;
    return has;
}

/* A rule with checks for another number of entries. NULL: it has none, or it cannot be
 * recorded for that number. */
static pithp_program *
record_probe(pithp_batching *b, const pithp_batched_call *c, const pithp_program *p) {
    pithp_rule *of = ((const pithp_rule_params *)c->i->params)->rule;
    if (!has_checks(p))
        return NULL;
    pith_scope *s = pith_scope_open_in(b->s);
    if (!pithp_scope_writable(s)) {
        pithp_fail_memory(b->s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    bool *flags = pithp_scope_allocate(s, flag_count(of));
    pithp_program *probe = NULL;
    if (flags) {
        memcpy(flags, c->batched, (size_t)(of->first_count + of->bound_count));
        probe = of->batch(of, s, b->size > 1 ? b->size - 1 : b->size + 1, flags);
    }
    if (s->error.code != PITH_E_MEMORY)
        pith_clear(s);
    pith_scope_close(s); /* its error moves to b->s */
    return probe;
}

/* The values of a rule for batches, in place of those of the function. False sets the
 * error. */
static bool
add_rule(pithp_batching *b, const pithp_batched_call *c, pithp_value *values) {
    pithp_rule *of = ((const pithp_rule_params *)c->i->params)->rule;
    const int known = of->first_count + of->bound_count;
    bool *flags = pithp_scope_allocate(b->s, flag_count(of));
    pithp_value *inputs =
        pithp_scope_allocate(b->s, ((size_t)known + 1) * sizeof *inputs);
    if (!flags || !inputs)
        return false;
    memcpy(flags, c->batched, (size_t)known);
    pithp_program *p = of->batch(of, b->s, b->size, flags);
    bool fine = p;
    for (int k = 0; k < known && fine; k++) {
        const int at = k < of->first_count ? of->bound_count + k : k - of->first_count;
        inputs[at] = flags[k] ? pithp_batch_operand(b, c, k) : c->operands[k];
        fine = inputs[at] >= 0;
    }
    pithp_program *probe = fine && b->options->batch ? record_probe(b, c, p) : NULL;
    fine = fine && b->s->error.code == PITH_OK &&
           (probe ? pithp_batch_inline_rule(b, p, probe, inputs, values)
                  : pithp_program_inline(b->s, b->to, p, inputs, values));
    pithp_program_release(probe);
    pithp_program_release(p);
    return fine;
}

/* Whether one of the first operands is batched: not if only some entries take part. */
static bool any_batched(const pithp_batched_call *c, int count) {
    bool any = false;
    for (int k = 0; k < count; k++)
        any |= c->batched[k];
    return any;
}

bool pithp_vmap_rule(pithp_batching *b,
                     const pithp_batched_call *c,
                     pithp_value *results,
                     bool *batched) {
    pithp_rule *of = ((const pithp_rule_params *)c->i->params)->rule;
    const int known = of->first_count + of->bound_count;
    const bool by_rule = of->batch && any_batched(c, known);
    memset(batched, true, (size_t)c->i->result_count);
    if (by_rule && !add_rule(b, c, results))
        return false;
    if (pithp_rule_passes(of)) {
        for (int k = 0; k < c->i->result_count && !by_rule; k++) {
            results[k] = c->operands[known + k];
            batched[k] = c->batched[known + k];
        }
        return true;
    }
    bool *flags = pithp_scope_allocate(b->s, flag_count(of)), fine = flags;
    for (int k = 0; k < c->i->operand_count && fine; k++) {
        const bool primal = k < of->first_count && !of->linear;
        const bool all = primal || k >= known;
        c->scratch[k] = by_rule && k >= known ? results[k - known]
                        : all                 ? pithp_batch_operand(b, c, k)
                                              : c->operands[k];
        if (k < known)
            flags[k] = primal || c->batched[k];
        fine = c->scratch[k] >= 0;
    }
    const int masked = fine ? add_mask(b, c, of) : 0;
    pithp_rule *made = fine ? make_rule(b, of, masked, flags) : NULL;
    const pithp_rule_params params = {made};
    const pithp_new_instruction row = {.primitive = PITHP_OP_RULE,
                                       .operand_count = c->i->operand_count + masked,
                                       .operands = c->scratch,
                                       .params = &params,
                                       .site = c->i->site};
    const pithp_value first = made ? pithp_program_add_many(b->s, b->to, &row) : -1;
    pithp_rule_release(made);
    for (int k = 0; k < c->i->result_count; k++)
        results[k] = first + k;
    return first >= 0;
}
