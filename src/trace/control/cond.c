/* Branches: pith_cond and pith_switch, eager or recorded as an instruction. */
#include "base/in_flight.h"
#include "trace/control/control_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct choice {
    const char *function; /* name of the user's call */
    const pith_array *index;
    int count;
    const pith_function *const *branches;
    const void *operand;
    bool is_cond; /* branches are on_false and on_true */
} choice;

/* ---- Checks: branches not taken have passing values ---- */

/* Give all programs the outputs of all checks, in the order of the branches. */
static pith_status spread_checks(pith_scope *s, pithp_part *parts, int count) {
    for (int b = 0; b < count; b++) {
        pithp_program *p = parts[b].program;
        const int64_t results = parts[b].flats[0].structure.item_count;
        const int64_t own = pithp_checks_values(parts[b].checks);
        pithp_value *values = pithp_scope_allocate(s, ((size_t)own + 1) * sizeof *values);
        if (!values)
            return s->error.code;
        if (own)
            memcpy(values, p->outputs + results, (size_t)own * sizeof *values);
        parts[b].check_values = values;
    }
    for (int b = 0; b < count; b++) {
        pithp_program *p = parts[b].program;
        p->output_count = parts[b].flats[0].structure.item_count;
        for (int o = 0; o < count; o++)
            for (int64_t k = 0; k < pithp_checks_values(parts[o].checks); k++) {
                const pithp_value v = parts[o].check_values[k];
                if (o == b ? !pithp_program_output(s, p, v)
                           : !pithp_control_add_filled(
                                 s, p, parts[o].program->values[v].spec,
                                 pithp_checks_neutral_bits(parts[o].checks, k)))
                    return s->error.code;
            }
    }
    return PITH_OK;
}

static pith_status replay_checks(pith_scope *s,
                                 const pithp_part *parts,
                                 int count,
                                 const pith_array **made) {
    pith_status rc = PITH_OK;
    made += parts[0].flats[0].structure.item_count;
    for (int b = 0; b < count && rc == PITH_OK; b++) {
        if (parts[b].checks)
            rc = pithp_checks_replay(s, parts[b].checks, made, true);
        made += pithp_checks_values(parts[b].checks);
    }
    return rc;
}

/* ---- Recording ---- */

/* Check that a branch's result is like that of the first one. */
static pith_status check_branch(const choice *c, const pithp_part *parts, int b) {
    char branch[32];
    snprintf(branch, sizeof branch, "branch %d", b);
    const pithp_returned r = {.function = c->function,
                              .role = c->is_cond ? "on_true" : branch,
                              .f = c->branches[b],
                              .part = c->is_cond ? "result, beside on_false's"
                                                 : "result, beside branch 0's"};
    return pithp_returned_check(parts[b].scope, &r, parts[0].results[0],
                                &parts[0].flats[0], parts[b].results[0]);
}

static pith_status record_branches(pith_scope *s,
                                   const choice *c,
                                   const pithp_flat *operand,
                                   const pithp_captured *captured,
                                   const int64_t *first,
                                   pithp_part *parts,
                                   int *made) {
    pith_status rc = PITH_OK;
    for (int b = 0; b < c->count && rc == PITH_OK; b++) {
        const pithp_part_call call = {.function = c->function,
                                      .body = c->branches[b],
                                      .captured = captured,
                                      .first_captured = first[b],
                                      .decides = c->index,
                                      .argument_count = 1,
                                      .arguments = {operand},
                                      .sharded_results = 1};
        rc = pithp_part_record(s, &parts[(*made)++], &call);
        if (rc == PITH_OK && b)
            rc = check_branch(c, parts, b);
    }
    return rc == PITH_OK ? spread_checks(s, parts, c->count) : rc;
}

/* Add the instruction after the branches are recorded. NULL: error set. */
static const void *add_choice(pith_scope *s,
                              const choice *c,
                              const pithp_flat *operand,
                              const pithp_captured *captured,
                              const pithp_part *parts) {
    pithp_operand_list operands;
    pithp_program **programs =
        pithp_scope_allocate(s, (size_t)c->count * sizeof *programs);
    const int64_t room = 1 + captured->count + operand->structure.item_count;
    if (!programs || pithp_operands_begin(s, &operands, room) != PITH_OK)
        return NULL;
    pithp_operands_add(s, &operands, c->index, c->function, "index");
    for (int64_t k = 0; k < captured->count; k++)
        pithp_operands_add(s, &operands, captured->arrays[k], c->function, "bound tree");
    if (s->error.code != PITH_OK ||
        pithp_operands_add_all(s, &operands, operand, c->function, "operand") != PITH_OK)
        return NULL;
    for (int b = 0; b < c->count; b++)
        programs[b] = parts[b].program;
    const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                        .operand_count = operands.count,
                                        .operands = operands.values,
                                        .program_count = c->count,
                                        .programs = programs,
                                        .site = s->site};
    const pith_array **made = pithp_control_add(s, &cond);
    if (!made || replay_checks(s, parts, c->count, made) != PITH_OK)
        return NULL;
    return pithp_part_build(s, &parts[0].flats[0], made);
}

static const void *record_choice(pith_scope *s, const choice *c) {
    pithp_captured captured = {0};
    pithp_flat operand;
    pithp_part *parts = pithp_scope_allocate(s, (size_t)c->count * sizeof *parts);
    int64_t *first = pithp_scope_allocate(s, (size_t)c->count * sizeof *first);
    if (!parts || !first ||
        pithp_flat_make(s, &operand, c->operand, NULL, NULL) != PITH_OK)
        return NULL;
    pith_status rc = PITH_OK;
    for (int b = 0; b < c->count && rc == PITH_OK; b++) {
        first[b] = captured.count;
        rc = pithp_part_capture(s, &captured, c->branches[b]);
    }
    int made = 0;
    if (rc == PITH_OK)
        rc = record_branches(s, c, &operand, &captured, first, parts, &made);
    const void *result =
        rc == PITH_OK ? add_choice(s, c, &operand, &captured, parts) : NULL;
    for (int b = 0; b < made; b++)
        pithp_part_end(&parts[b]);
    pithp_flat_end(&operand);
    return result;
}

/* ---- Calls ---- */

static const void *choose(pith_scope *s, const choice *c) {
    if (pithp_tree_check(s, c->operand, c->function, "operand") != PITH_OK)
        return NULL;
    if (pithp_array_is_traced(c->index))
        return record_choice(s, c);
    int64_t index = 0;
    if (pithp_control_read(s, c->index, c->function, "index", &index) != PITH_OK)
        return NULL;
    const bool negative =
        index < 0 && pithp_dtype_is_signed(pithp_array_spec(c->index)->dtype);
    const uint64_t last = (uint64_t)c->count - 1;
    const uint64_t chosen = negative                 ? 0
                            : (uint64_t)index < last ? (uint64_t)index
                                                     : last;
    pithp_looping branch; /* after a failed branch, consequences do not count */
    pithp_looping_begin(s, &branch);
    const void *result =
        pith_call(pithp_on_behalf(s), c->branches[chosen], 1, &c->operand);
    pithp_looping_end(&branch);
    return result;
}

const void *pith_cond(pith_scope *s,
                      const pith_array *predicate,
                      const pith_function *on_true,
                      const pith_function *on_false,
                      const void *operand) {
    PITHP_IN_FLIGHT(s, "pith_cond");
    static const char *const name = "pith_cond";
    const pith_function *const branches[2] = {on_false, on_true};
    const choice c = {name, predicate, 2, branches, operand, true};
    const bool fits =
        pithp_enter(s) && pithp_body_check(s, on_true, 1, name, "on_true") == PITH_OK &&
        pithp_body_check(s, on_false, 1, name, "on_false") == PITH_OK &&
        pithp_scalar_check(s, predicate, false, name, "predicate") == PITH_OK;
    const void *result = fits ? choose(s, &c) : NULL;
    return result ? result : pithp_function_nil(on_true);
}

const void *pith_switch(pith_scope *s,
                        const pith_array *index,
                        int64_t count,
                        const pith_function *const *branches,
                        const void *operand) {
    PITHP_IN_FLIGHT(s, "pith_switch");
    static const char *const name = "pith_switch";
    const choice c = {name, index, (int)count, branches, operand, false};
    bool fits = pithp_enter(s);
    if (fits && (count < 1 || count > INT32_MAX || !branches)) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected 1 to %d branches, got %s%" PRId64,
                   name, INT32_MAX, branches ? "" : "NULL and ", count);
        fits = false;
    }
    for (int64_t b = 0; b < count && fits; b++) {
        char which[32];
        snprintf(which, sizeof which, "branch %" PRId64, b);
        fits = pithp_body_check(s, branches[b], 1, name, which) == PITH_OK;
    }
    fits = fits && pithp_scalar_check(s, index, true, name, "index") == PITH_OK;
    const void *result = fits ? choose(s, &c) : NULL;
    return result || count < 1 || !branches ? result : pithp_function_nil(branches[0]);
}
