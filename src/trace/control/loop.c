/* Loops with a carry: pith_while, and ranges of integers. */
#include "base/in_flight.h"
#include "trace/control/control_internal.h"

#include <stdio.h>

typedef struct loop {
    const char *function;      /* name of the user's call */
    const pith_function *cond; /* NULL: an index runs from lower to upper */
    char truth[120];           /* name of the condition's result in errors */
    const pith_function *body;
    const pith_array *lower, *upper;
    const void *init;
    const pithp_record *record; /* of a traced loop; NULL: none */
    pithp_flat carry;           /* of init */
    pithp_widening widening;    /* of a traced loop */
    bool counts;                /* known bounds of a range are found */
    int unroll;                 /* of a scan; 0: 1 */
    size_t kept_bytes;          /* of a scan; 0: no limit */
    bool stops;                 /* ends at a failed check */
    pithp_ending ending;        /* of an eager loop */
} loop;

/* Check that the body's result is like its operand. */
static pith_status check_result(pith_scope *s, const loop *l, const void *result) {
    const pithp_returned r = {l->function, "body", l->body, "result"};
    return pithp_returned_check(s, &r, l->init, &l->carry, result);
}

/* ---- Eager execution ---- */

/* The condition for a carry. False: it is false, a check has failed, or an error is
 * set. */
static bool holds(const pithp_holder *h, loop *l) {
    int64_t truth = 0;
    pith_scope *s = h->s;
    if (!pithp_ending_goes_on(
            h, &l->ending)) /* the carry of a failed iteration is the result */
        return false;
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return false;
    }
    work->site = s->site;
    const pith_array *a = pith_call(pithp_on_behalf(work), l->cond, 1, &h->state);
    if (!pith_failed(work) &&
        pithp_scalar_check(work, a, false, l->function, l->truth) == PITH_OK)
        pithp_control_read(work, a, l->function, l->truth, &truth);
    pith_scope_close(work); /* its error moves to s */
    return s->error.code == PITH_OK && truth && pithp_ending_goes_on(h, &l->ending);
}

/* One iteration; i NULL: the body takes no index. */
static bool iterate(pithp_holder *h, const loop *l, const int64_t *i) {
    pith_scope *next = pithp_holder_next(h);
    if (!next)
        return false;
    const void *arguments[2] = {h->state, NULL};
    if (i) {
        arguments[1] = h->state;
        arguments[0] = pith_array_copy(
            pithp_on_behalf(next),
            l->lower ? pithp_array_spec(l->lower)->dtype : PITH_I64, PITH_SCALAR, i);
    }
    const void *state = NULL;
    if (arguments[0])
        state = pith_call(pithp_on_behalf(next), l->body, i ? 2 : 1, arguments);
    if (!pith_failed(next) && check_result(next, l, state) != PITH_OK)
        state = NULL;
    return pithp_holder_step(h, next, pith_failed(next) ? NULL : state);
}

static const void *run_while(pith_scope *s, loop *l) {
    pithp_holder h;
    if (pithp_ending_begin(s, &l->ending, l->stops ? l->function : NULL) != PITH_OK)
        return NULL;
    pithp_holder_begin(&h, s, l->init);
    while (holds(&h, l) && iterate(&h, l, NULL))
        ;
    pithp_ending_end(s, &l->ending);
    return pithp_holder_end(&h);
}

/* Number of integers in [from, to) of a dtype. */
static uint64_t count_between(pith_dtype dtype, int64_t from, int64_t to) {
    const bool rises =
        pithp_dtype_is_signed(dtype) ? from < to : (uint64_t)from < (uint64_t)to;
    return rises ? (uint64_t)to - (uint64_t)from : 0;
}

static const void *run_range(pith_scope *s, loop *l, int64_t from, uint64_t count) {
    pithp_holder h;
    if (pithp_ending_begin(s, &l->ending, l->stops ? l->function : NULL) != PITH_OK)
        return NULL;
    pithp_holder_begin(&h, s, l->init);
    for (uint64_t k = 0; k < count && pithp_ending_goes_on(&h, &l->ending); k++) {
        const int64_t i = (int64_t)((uint64_t)from + k);
        if (!iterate(&h, l, &i))
            break;
    }
    pithp_ending_end(s, &l->ending);
    return pithp_holder_end(&h);
}

/* ---- Recording ---- */

/* The sub-programs of a recorded loop. */
typedef struct recorded {
    pith_scope *s;
    loop *l;
    const pithp_record *record; /* of a while; NULL: none */
    pithp_captured of_cond, of_body;
    pithp_part cond, body;
    int made; /* 1: body; 2: also cond */
    pithp_flat index;
} recorded;

static pith_status record_body(recorded *r) {
    const loop *l = r->l;
    const bool counts = !l->cond;
    const pithp_part_call call = {
        .function = l->function,
        .body = l->body,
        .captured = &r->of_body,
        .argument_count = counts ? 2 : 1,
        .arguments = {counts ? &r->index : &l->carry, counts ? &l->carry : NULL},
        .counts = counts,
        .varies = l->widening.decision,
        .sharded_results = 1};
    pith_status rc = pithp_part_capture(r->s, &r->of_body, l->body);
    if (rc != PITH_OK)
        return rc;
    r->made = 1;
    rc = pithp_part_record(r->s, &r->body, &call);
    return rc == PITH_OK ? check_result(r->body.scope, l, r->body.results[0]) : rc;
}

static pith_status record_cond(recorded *r) {
    const pithp_part_call call = {.function = r->l->function,
                                  .body = r->l->cond,
                                  .captured = &r->of_cond,
                                  .argument_count = 1,
                                  .arguments = {&r->l->carry},
                                  .varies = r->l->widening.decision};
    pith_status rc = pithp_part_capture(r->s, &r->of_cond, r->l->cond);
    if (rc != PITH_OK)
        return rc;
    r->made = 2;
    rc = pithp_part_record(r->s, &r->cond, &call);
    if (rc != PITH_OK)
        return rc;
    const pithp_structure *t = &r->cond.flats[0].structure;
    char got[PITHP_SPEC_TEXT_BYTES];
    if (t->item_count == 1 && t->node_count == 1 && t->specs[0]->dtype == PITH_BOOL &&
        t->specs[0]->rank == 0)
        return PITH_OK;
    return pithp_fail(
        r->cond.scope, PITH_E_ARG, NULL, "%s: %s: expected a bool of rank 0, got %s",
        r->l->function, r->l->truth,
        t->item_count == 1 && t->node_count == 1 ? pithp_spec_print(t->specs[0], got)
                                                 : "another tree");
}

/* Make program(upper, index, carry...) -> index < upper. NULL: error set. */
static pithp_program *below(pith_scope *s, const pithp_flat *carry, const pith_spec *i) {
    pithp_program *p = pithp_program_make(s);
    if (!p)
        return NULL;
    const pithp_value upper = pithp_program_input(s, p, i);
    const pithp_value index = pithp_program_input(s, p, i);
    const pithp_value operands[2] = {index, upper};
    for (int64_t k = 0; k < carry->structure.item_count; k++) {
        const pith_spec *plain = pithp_spec_plain(s, carry->structure.specs[k]);
        if (plain)
            pithp_program_input(s, p, plain);
    }
    const pithp_value less =
        s->error.code == PITH_OK
            ? pithp_program_add(s, p, PITHP_OP_LT, 2, operands, NULL, s->site)
            : -1;
    if (less >= 0 && pithp_program_output(s, p, less))
        return p;
    pithp_program_release(p);
    return NULL;
}

static pith_status add_captured(pith_scope *s,
                                pithp_operand_list *o,
                                const pithp_captured *c,
                                const loop *l) {
    pith_status rc = PITH_OK;
    for (int64_t k = 0; k < c->count && rc == PITH_OK; k++)
        rc = pithp_operands_add(s, o, c->arrays[k], l->function, "bound tree");
    return rc;
}

/* Add the instruction; length < 0: a while loop. If there is an index, it is the first
 * result. NULL: error set, or the loop is to be recorded again. */
static const pith_array **
add_loop(recorded *r, pithp_program **cond, const pith_array *index, int64_t length) {
    loop *l = r->l;
    pith_scope *s = r->s;
    pithp_operand_list o;
    if (pithp_operands_begin(s, &o,
                             r->of_cond.count + r->of_body.count + 2 +
                                 l->carry.structure.item_count +
                                 pithp_checks_values(r->body.checks)) != PITH_OK)
        return NULL;
    pith_status rc = add_captured(s, &o, &r->of_cond, l);
    if (rc == PITH_OK && index && length < 0)
        rc = pithp_operands_add(s, &o, l->upper, l->function, "upper");
    const int cond_operands = o.count;
    if (rc == PITH_OK)
        rc = add_captured(s, &o, &r->of_body, l);
    const int fixed = o.count;
    if (rc == PITH_OK && index)
        rc = pithp_operands_add(s, &o, index, l->function, "lower");
    if (rc == PITH_OK)
        rc = pithp_operands_add_all(s, &o, &l->carry, l->function, "init");
    const int carries = o.count - fixed;
    if (rc == PITH_OK)
        rc = pithp_operands_add_neutral(s, &o, r->body.checks, l->function);
    const pithp_loop_carries carried = {.fixed = fixed - cond_operands,
                                        .count = carries,
                                        .counts = index,
                                        .ends = l->stops,
                                        .repairs = pithp_checks_repair(r->body.checks)};
    if (rc == PITH_OK)
        rc = pithp_part_carry_checks(s, &r->body, &carried, cond, cond_operands);
    if (rc != PITH_OK)
        return NULL;
    pithp_program *programs[2] = {cond ? *cond : NULL, r->body.program};
    const pithp_while_params as_while = {.cond_operands = cond_operands,
                                         .body_operands = fixed - cond_operands};
    const pithp_loop_params as_scan = {.length = length,
                                       .constants = fixed,
                                       .carries = o.count - fixed,
                                       .unroll = l->unroll > 0 ? l->unroll : 1,
                                       .kept_bytes = (int64_t)l->kept_bytes};
    const bool scans = length >= 0;
    if (!scans && l->kept_bytes) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: kept_bytes needs bounds that are known",
                   l->function);
        return NULL;
    }
    const pithp_new_instruction given = {
        .primitive = scans ? PITHP_OP_SCAN : PITHP_OP_WHILE,
        .operand_count = o.count,
        .operands = o.values,
        .params = scans ? (const void *)&as_scan : (const void *)&as_while,
        .program_count = scans ? 1 : 2,
        .programs = scans ? programs + 1 : programs,
        .site = s->site};
    if (pithp_control_widen(s, &given, index ? 1 : 0, &l->widening) != PITH_OK ||
        l->widening.again)
        return NULL;
    const pith_array **made = scans ? pithp_control_add(s, &given)
                                    : pithp_control_add_while(s, &given, r->record);
    return made && pithp_checks_replay(s, r->body.checks, made + carries, true) == PITH_OK
               ? made
               : NULL;
}

static void end_parts(recorded *r) {
    if (r->made > 1)
        pithp_part_end(&r->cond);
    if (r->made > 0)
        pithp_part_end(&r->body);
}

static const void *record_while_once(pith_scope *s, loop *l) {
    recorded r = {.s = s, .l = l, .record = l->record};
    const void *result = NULL;
    if (record_body(&r) == PITH_OK && record_cond(&r) == PITH_OK) {
        const pithp_checked_while w = {.function = l->function,
                                       .of_cond = &r.of_cond,
                                       .of_body = &r.of_body,
                                       .cond = &r.cond,
                                       .body = &r.body,
                                       .carry = &l->carry,
                                       .record = r.record,
                                       .widening = &l->widening,
                                       .stops = l->stops};
        const pith_array **made = r.cond.checks || (l->stops && r.body.checks)
                                      ? pithp_control_add_checked(s, &w)
                                      : add_loop(&r, &r.cond.program, NULL, -1);
        result = made ? pithp_part_build(s, &l->carry, made) : NULL;
    }
    end_parts(&r);
    return result;
}

static const void *record_while(pith_scope *s, loop *l) {
    l->widening = (pithp_widening){.carry = &l->carry};
    const void *result = record_while_once(s, l);
    while (l->widening.again && s->error.code == PITH_OK)
        result = record_while_once(s, l);
    return result;
}

static const void *
record_range_once(pith_scope *s, loop *l, const pith_array *index, int64_t length) {
    const pithp_record all = {.function = l->function, .most = length, .suffices = true};
    recorded r = {.s = s, .l = l, .record = length > 0 ? &all : l->record};
    const void *result = NULL;
    if (pithp_flat_make(s, &r.index, index, NULL, NULL) != PITH_OK)
        return NULL;
    if (record_body(&r) == PITH_OK) {
        const bool is_while = length < 0 || (l->stops && r.body.checks);
        pithp_program *cond =
            is_while ? below(s, &l->carry, pithp_array_spec(index)) : NULL;
        const pith_array **made = NULL;
        if (cond || !is_while)
            made = add_loop(&r, is_while ? &cond : NULL, index, is_while ? -1 : length);
        result = made ? pithp_part_build(s, &l->carry, made + 1) : NULL;
        pithp_program_release(cond);
    }
    end_parts(&r);
    pithp_flat_end(&r.index);
    return result;
}

/* Record a range from `index`; length < 0: a traced range, which ends at upper. A range
 * of known length that may end early has a record of that length. */
static const void *
record_range(pith_scope *s, loop *l, const pith_array *index, int64_t length) {
    l->widening = (pithp_widening){.carry = &l->carry};
    const void *result = record_range_once(s, l, index, length);
    while (l->widening.again && s->error.code == PITH_OK)
        result = record_range_once(s, l, index, length);
    return result;
}

/* ---- Calls ---- */

static bool begin(pith_scope *s, loop *l, int arity) {
    return pithp_enter_as(s, l->function) &&
           pithp_body_check(s, l->body, arity, l->function, "body") == PITH_OK &&
           (!l->cond ||
            pithp_body_check(s, l->cond, 1, l->function, "cond") == PITH_OK) &&
           pithp_tree_check(s, l->init, l->function, "init") == PITH_OK &&
           pithp_flat_make(s, &l->carry, l->init, NULL, NULL) == PITH_OK;
}

static const void *end(loop *l, const void *result) {
    pithp_flat_end(&l->carry);
    return result ? result : pithp_nil_for(l->init);
}

static const void *repeat(pith_scope *s, loop *l) {
    if (!begin(s, l, 1))
        return pithp_nil_for(l->init);
    if (l->cond)
        snprintf(l->truth, sizeof l->truth, "cond %.80s's result", l->cond->name);
    else
        pithp_body_check(s, NULL, 1, l->function, "cond");
    const void *result = !l->cond               ? NULL
                         : pithp_scope_trace(s) ? record_while(s, l)
                                                : run_while(s, l);
    return end(l, result);
}

const void *pith_while(pith_scope *s,
                       const pith_function *cond,
                       const pith_function *body,
                       const void *init) {
    PITHP_IN_FLIGHT(s, "pith_while");
    return repeat(
        s, &(loop){.function = "pith_while", .cond = cond, .body = body, .init = init});
}

const void *pith_while_passing(pith_scope *s,
                               const pith_function *cond,
                               const pith_function *body,
                               const void *init) {
    PITHP_IN_FLIGHT(s, "pith_while_passing");
    return repeat(s, &(loop){.function = "pith_while_passing",
                             .cond = cond,
                             .body = body,
                             .init = init,
                             .stops = true});
}

static const void *repeat_recorded(pith_scope *s, loop *l, const pith_record_options *o) {
    const pithp_record record = {
        .function = l->function, .name = o ? o->name : NULL, .most = o ? o->most : 0};
    if (!pithp_enter_as(s, l->function))
        return pithp_nil_for(l->init);
    if (record.most < 1) {
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: options: expected a record of 1 row or more, got %lld",
                   l->function, (long long)record.most);
        return pithp_nil_for(l->init);
    }
    l->record = &record;
    return repeat(s, l);
}

const void *pith_while_recorded(pith_scope *s,
                                const pith_function *cond,
                                const pith_function *body,
                                const void *init,
                                const pith_record_options *options) {
    PITHP_IN_FLIGHT(s, "pith_while_recorded");
    loop l = {
        .function = "pith_while_recorded", .cond = cond, .body = body, .init = init};
    return repeat_recorded(s, &l, options);
}

const void *pith_while_recorded_passing(pith_scope *s,
                                        const pith_function *cond,
                                        const pith_function *body,
                                        const void *init,
                                        const pith_record_options *options) {
    PITHP_IN_FLIGHT(s, "pith_while_recorded_passing");
    loop l = {.function = "pith_while_recorded_passing",
              .cond = cond,
              .body = body,
              .init = init,
              .stops = true};
    return repeat_recorded(s, &l, options);
}

/* A range with known bounds. */
static const void *repeat_known(pith_scope *s, loop *l, int64_t lower, int64_t upper) {
    if (!begin(s, l, 2))
        return pithp_nil_for(l->init);
    const uint64_t count = count_between(PITH_I64, lower, upper);
    if (!pithp_scope_trace(s))
        return end(l, run_range(s, l, lower, count));
    const int64_t length = count < INT64_MAX ? (int64_t)count : INT64_MAX;
    const pith_array *index =
        pith_array_copy(pithp_on_behalf(s), PITH_I64, PITH_SCALAR, &lower);
    l->upper = pith_array_copy(pithp_on_behalf(s), PITH_I64, PITH_SCALAR, &upper);
    return end(l, index && l->upper ? record_range(s, l, index, length) : NULL);
}

const void *pith_fori(pith_scope *s,
                      int64_t lower,
                      int64_t upper,
                      const pith_function *body,
                      const void *init) {
    PITHP_IN_FLIGHT(s, "pith_fori");
    loop l = {.function = "pith_fori", .body = body, .init = init};
    return repeat_known(s, &l, lower, upper);
}

const void *pith_fori_passing(pith_scope *s,
                              int64_t lower,
                              int64_t upper,
                              const pith_function *body,
                              const void *init) {
    PITHP_IN_FLIGHT(s, "pith_fori_passing");
    loop l = {.function = "pith_fori_passing", .body = body, .init = init, .stops = true};
    return repeat_known(s, &l, lower, upper);
}

static bool bounds_fit(pith_scope *s, const loop *l) {
    if (pithp_scalar_check(s, l->lower, true, l->function, "lower") != PITH_OK ||
        pithp_scalar_check(s, l->upper, true, l->function, "upper") != PITH_OK)
        return false;
    const pith_spec *a = pithp_array_spec(l->lower), *b = pithp_array_spec(l->upper);
    if (a != b)
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: upper: expected %s like lower, got %s",
                   l->function, pith_dtype_name(a->dtype), pith_dtype_name(b->dtype));
    return a == b;
}

/* A traced range with bounds that are known. */
static const void *record_known(pith_scope *s, loop *l) {
    int64_t from, to;
    if (pithp_control_read(s, l->lower, l->function, "lower", &from) != PITH_OK ||
        pithp_control_read(s, l->upper, l->function, "upper", &to) != PITH_OK)
        return NULL;
    const uint64_t count = count_between(pithp_array_spec(l->lower)->dtype, from, to);
    return record_range(s, l, l->lower, count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static const void *repeat_between(pith_scope *s, loop *l) {
    int64_t from, to;
    if (!begin(s, l, 2))
        return pithp_nil_for(l->init);
    if (!bounds_fit(s, l))
        return end(l, NULL);
    if (pithp_scope_trace(s))
        return end(l, l->counts && !pithp_array_is_traced(l->lower) &&
                              !pithp_array_is_traced(l->upper)
                          ? record_known(s, l)
                          : record_range(s, l, l->lower, -1));
    if (pithp_control_read(s, l->lower, l->function, "lower", &from) != PITH_OK ||
        pithp_control_read(s, l->upper, l->function, "upper", &to) != PITH_OK)
        return end(l, NULL);
    const pith_dtype dtype = pithp_array_spec(l->lower)->dtype;
    return end(l, run_range(s, l, from, count_between(dtype, from, to)));
}

const void *pith_fori_between(pith_scope *s,
                              const pith_array *lower,
                              const pith_array *upper,
                              const pith_function *body,
                              const void *init) {
    PITHP_IN_FLIGHT(s, "pith_fori_between");
    return repeat_between(s, &(loop){.function = "pith_fori_between",
                                     .body = body,
                                     .lower = lower,
                                     .upper = upper,
                                     .init = init});
}

const void *pith_fori_between_passing(pith_scope *s,
                                      const pith_array *lower,
                                      const pith_array *upper,
                                      const pith_function *body,
                                      const void *init) {
    PITHP_IN_FLIGHT(s, "pith_fori_between_passing");
    return repeat_between(s, &(loop){.function = "pith_fori_between_passing",
                                     .body = body,
                                     .lower = lower,
                                     .upper = upper,
                                     .init = init,
                                     .stops = true});
}

/* ---- A range with options ---- */

static bool options_fit(pith_scope *s, const loop *l, const pith_loop_options *o) {
    if (o->length || o->reverse)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: length and reverse are options of %s",
                   l->function, "pith_scan");
    else if (o->unroll < 0 || o->most < 0)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: unroll and most must not be negative",
                   l->function);
    return s->error.code == PITH_OK;
}

const void *pith_fori_with(pith_scope *s,
                           const pith_array *lower,
                           const pith_array *upper,
                           const pith_function *body,
                           const void *init,
                           const pith_loop_options *options) {
    PITHP_IN_FLIGHT(s, "pith_fori_with");
    static const pith_loop_options defaults;
    const pith_loop_options *o = options ? options : &defaults;
    const pithp_record record = {
        .function = "pith_fori_with", .name = o->name, .most = o->most};
    loop l = {.function = "pith_fori_with",
              .body = body,
              .lower = lower,
              .upper = upper,
              .init = init,
              .counts = true,
              .unroll = o->unroll,
              .kept_bytes = o->kept_bytes < INT64_MAX ? o->kept_bytes : INT64_MAX,
              .record = o->most > 0 ? &record : NULL};
    if (!pithp_enter_as(s, l.function) || !options_fit(s, &l, o))
        return pithp_nil_for(init);
    return repeat_between(s, &l);
}
