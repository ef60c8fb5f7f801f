/* Rules of the library's own operations: programs recorded of their functions. */
#include "array/own_rule.h"

#include "program/derive/derive.h"

enum { VALUES = PITHP_OWN_OPERANDS + 1 }; /* operands, then the result */

typedef struct own_rule {
    pithp_rule rule;
    pith_runtime *runtime;
    const pithp_own_kind *kind;
    const char *site; /* of the call */
    pithp_own_options options;
    const pith_spec *specs[VALUES];
    bool zeros[PITHP_OWN_OPERANDS]; /* linear: operands without a tangent */
} own_rule;

/* ---- Recording ---- */

/* A program under construction: its values are arrays of w. */
typedef struct recording {
    pith_scope *w;
    pithp_trace *trace;
    const own_rule *rule;
} recording;

static const pith_array *input(const recording *r, const pith_spec *spec) {
    return r->w->error.code == PITH_OK ? pithp_trace_input(r->w, r->trace, spec) : NULL;
}

static void output(const recording *r, const pith_array *a) {
    const pithp_value v =
        a && r->w->error.code == PITH_OK ? pithp_trace_value(r->w, r->trace, a) : -1;
    if (v >= 0)
        pithp_program_output(r->w, r->trace->program, v);
}

/* What the cotangents need, as bits of x. */
static unsigned kept_of(const pithp_own_kind *kind, const bool *zeros) {
    unsigned kept = 0;
    for (int k = 0; k < kind->count; k++)
        kept |= zeros[k] ? 0U : kind->kept[k];
    return kept;
}

/* operands, tangents -> result, its tangent */
static void record_tangent(const recording *r, const bool *zeros) {
    const own_rule *u = r->rule;
    const pithp_own_kind *kind = u->kind;
    const pith_array *x[VALUES] = {NULL}, *t[PITHP_OWN_OPERANDS] = {NULL};
    for (int k = 0; k < kind->count; k++)
        x[k] = input(r, u->specs[k]);
    for (int k = 0; k < kind->count; k++)
        t[k] = zeros[k] ? NULL : input(r, u->specs[k]);
    if (r->w->error.code != PITH_OK)
        return;
    x[kind->count] = pithp_own_call(r->w, kind, &u->options, x);
    output(r, x[kind->count]);
    if (x[kind->count])
        output(r, kind->tangent(r->w, &u->options, x, t));
}

/* operands, result -> what is kept */
static void record_forward(const recording *r, const bool *zeros) {
    const own_rule *u = r->rule;
    for (int k = 0; k <= u->kind->count; k++) {
        const pith_array *x = input(r, u->specs[k]);
        if (x && kept_of(u->kind, zeros) >> k & 1)
            output(r, x);
    }
}

/* what is kept, the cotangent of the result -> cotangents of operands */
static void record_cotangents(const recording *r) {
    const own_rule *u = r->rule;
    const pith_array *x[VALUES] = {NULL};
    for (int k = 0; k <= u->kind->count; k++)
        if (kept_of(u->kind, u->zeros) >> k & 1)
            x[k] = input(r, u->specs[k]);
    const pith_array *ct = input(r, u->specs[u->kind->count]);
    for (int k = 0; k < u->kind->count && r->w->error.code == PITH_OK; k++)
        if (!u->zeros[k])
            output(r, u->kind->cotangent(r->w, &u->options, x, ct, k));
}

static pithp_rule *make_linear(pith_scope *s, const own_rule *of, const bool *zeros);

/* The program of a linear row with strong zeros, whose last input is the cotangent. */
static pithp_program *guarded(pith_scope *s, pithp_program *p) {
    pithp_program *made = pithp_program_zero_with(s, p, 1);
    pithp_program_release(p);
    return made;
}

static pithp_program *record(pithp_rule *rule,
                             pith_scope *s,
                             bool reverse,
                             const bool *zeros,
                             pithp_rule **linear) {
    own_rule *u = (own_rule *)(void *)rule;
    pith_scope *w = pith_scope_open_in(s);
    pithp_program *p = NULL;
    if (!pithp_scope_writable(w)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    w->site = u->site;
    const recording r = {w, pithp_trace_begin(w), u};
    if (r.trace) {
        if (rule->linear)
            record_cotangents(&r);
        else if (reverse)
            record_forward(&r, zeros);
        else
            record_tangent(&r, zeros);
        p = pithp_trace_end(w, r.trace);
    }
    pith_scope_close(w); /* its error moves to s */
    if (s->error.code == PITH_OK && rule->strong_zero)
        p = guarded(s, p);
    if (s->error.code == PITH_OK && reverse && !rule->linear)
        *linear = make_linear(s, u, zeros);
    if (s->error.code == PITH_OK)
        return p;
    pithp_program_release(p);
    return NULL;
}

/* ---- Rules ---- */

static void free_own(pithp_rule *rule) {
    own_rule *u = (own_rule *)(void *)rule;
    pithp_release(u->runtime, u, sizeof *u);
}

static own_rule *make(pith_scope *s, const own_rule *like) {
    own_rule *u = pithp_allocate(s->runtime, sizeof *u);
    if (!u) {
        pithp_fail_memory(s, sizeof *u);
        return NULL;
    }
    *u = *like;
    u->runtime = s->runtime;
    u->rule = (pithp_rule){.free = free_own,
                           .record = record,
                           .name = like->kind->name,
                           .forward = true,
                           .reverse = like->kind->cotangent != NULL,
                           .takes_results = true,
                           .first_count = like->kind->count,
                           .result_count = 1,
                           .results = &u->specs[like->kind->count]};
    atomic_init(&u->rule.refs, 1);
    return u;
}

static pithp_rule *make_linear(pith_scope *s, const own_rule *of, const bool *zeros) {
    own_rule *u = make(s, of);
    if (!u)
        return NULL;
    u->rule.linear = true;
    u->rule.forward = false;
    u->rule.first_count = 0;
    for (int k = 0; k <= of->kind->count; k++)
        u->rule.first_count += (int32_t)(kept_of(of->kind, zeros) >> k & 1);
    for (int k = 0; k < of->kind->count; k++)
        u->zeros[k] = zeros[k];
    return &u->rule;
}

/* ---- Calls ---- */

const pith_array *pithp_own_call(pith_scope *w,
                                 const pithp_own_kind *kind,
                                 const pithp_own_options *o,
                                 const pith_array *const *operands) {
    const pith_array *still[PITHP_OWN_OPERANDS] = {NULL}, *all[VALUES], *result = NULL;
    own_rule like = {.kind = kind, .site = w->site, .options = *o};
    bool traced = false;
    for (int k = 0; k < kind->count; k++) {
        all[k] = operands[k];
        traced |= pithp_trace_has(w, operands[k]);
        if (!(still[k] = pithp_mark(w, PITHP_OP_STOP_GRADIENT, NULL, operands[k])))
            return NULL;
        like.specs[k] = pithp_array_spec(operands[k]);
    }
    const pith_array *value = all[kind->count] = kind->value(w, o, still);
    if (!traced || !value)
        return value;
    like.specs[kind->count] = pithp_array_spec(value);
    own_rule *rule = make(w, &like);
    if (!rule)
        return NULL;
    const pithp_rule_params params = {&rule->rule};
    if (pithp_trace_bind_many(w, PITHP_OP_RULE, kind->count + 1, all, &params, &result) !=
        PITH_OK)
        result = NULL;
    pithp_rule_release(&rule->rule);
    return result;
}
