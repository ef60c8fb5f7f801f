/* Scans: a carry over the rows of a tree, with stacked outputs. */
#include "base/in_flight.h"
#include "trace/control/control_internal.h"

#include <string.h>

typedef struct scan {
    pith_scope *s;
    const char *function; /* name of the user's call */
    const pith_function *body;
    const void *init, *xs;
    int64_t length;
    bool reverse;
    int unroll;
    size_t kept_bytes;
    bool counts;            /* options give the length if xs has no leaves */
    bool stacks;            /* outputs are requested */
    bool stops;             /* ends at a failed check */
    pithp_flat carry, rows; /* of init and xs */
    pithp_widening widening;
    const void *first_out; /* of an eager scan; NULL: no iteration yet */
    pithp_flat out;        /* of first_out */
    const pith_spec **row_specs;
    const void *outs; /* the result */
} scan;

/* ---- Rows ---- */

/* Set the row specs of all leaves; their leading extent is the length. */
static pith_status find_rows(scan *c, int64_t wanted) {
    const pithp_structure *t = &c->rows.structure;
    if (!t->item_count && !c->counts)
        return pithp_fail(c->s, PITH_E_ARG, NULL,
                          "%s: xs has no leaves: expected a length in the options",
                          c->function);
    c->row_specs =
        pithp_scope_allocate(c->s, ((size_t)t->item_count + 1) * sizeof *c->row_specs);
    c->length = wanted;
    for (int64_t k = 0; c->row_specs && k < t->item_count; k++) {
        const pith_spec *spec = t->specs[k];
        char text[PITHP_SPEC_TEXT_BYTES];
        if (pithp_operand_check(c->s, c->rows.items[k], c->function, "xs") != PITH_OK) {
            pithp_item_prefix(c->s, t, k);
            break;
        }
        if (spec->rank == 0)
            return pithp_item_fail(c->s, t, k, PITH_E_SHAPE,
                                   "%s: xs: expected rows, got %s", c->function,
                                   pithp_spec_print(spec, text));
        if (k == 0 && !wanted)
            c->length = spec->shape[0];
        if (spec->shape[0] != c->length)
            return pithp_item_fail(c->s, t, k, PITH_E_SHAPE,
                                   "%s: xs: expected %lld rows, got %s", c->function,
                                   (long long)c->length, pithp_spec_print(spec, text));
        c->row_specs[k] = pithp_spec(c->s, spec->dtype, spec->rank - 1, spec->shape + 1);
        if (!c->row_specs[k])
            break;
    }
    return c->s->error.code;
}

/* Row i of concrete xs, in s. NULL: error set. */
static const void *row_at(pith_scope *s, const scan *c, int64_t i) {
    const int64_t count = c->rows.structure.item_count;
    const pith_array **items =
        pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *items);
    for (int64_t k = 0; items && k < count; k++) {
        const pith_array *a = c->rows.items[k];
        const pith_spec *spec = c->row_specs[k];
        if (pithp_array_check(s, a, c->function, "xs") != PITH_OK)
            return NULL;
        items[k] = pithp_array_view(s, spec, pithp_array_buffer(a),
                                    (char *)a->data + (size_t)i * spec->bytes);
        if (!items[k])
            return NULL;
    }
    return items ? pithp_part_build(s, &c->rows, items) : NULL;
}

/* ---- Eager execution ---- */

/* Check that the next carry is like the first. */
static pith_status check_carry(pith_scope *s, const scan *c, const void *carry) {
    const pithp_returned r = {c->function, "body", c->body, "carry"};
    return pithp_returned_check(s, &r, c->init, &c->carry, carry);
}

/* Move `out` of an iteration to the scope that holds the outputs; all have one
 * structure. */
static pith_status
hold_out(pith_scope *s, scan *c, const void *out, pith_scope *held, const void **place) {
    const pithp_returned returned = {c->function, "body", c->body, "out"};
    if (c->first_out &&
        pithp_returned_check(s, &returned, c->first_out, &c->out, out) != PITH_OK)
        return s->error.code;
    *place = out;
    if (pithp_keep_slots(held, 1, place) != PITH_OK ||
        (!c->first_out &&
         pithp_flat_make(held, &c->out, *place, NULL, NULL) != PITH_OK)) {
        pithp_error_move(s, held);
        return s->error.code;
    }
    if (!c->first_out)
        c->first_out = *place;
    return PITH_OK;
}

static bool
iterate(pithp_holder *h, scan *c, int64_t i, pith_scope *held, const void **out) {
    pith_scope *next = pithp_holder_next(h);
    if (!next)
        return false;
    const void *arguments[2] = {h->state, row_at(next, c, i)}, *parts[2] = {NULL, NULL};
    const void *result = NULL;
    if (arguments[1])
        result = pith_call(pithp_on_behalf(next), c->body, 2, arguments);
    if (result && !pith_failed(next) &&
        pithp_scan_parts(next, c->function, c->body, result, c->stacks ? NULL : c->init,
                         parts) == PITH_OK &&
        check_carry(next, c, parts[0]) == PITH_OK)
        hold_out(next, c, parts[1], held, out);
    return pithp_holder_step(h, next, pith_failed(next) ? NULL : parts[0]);
}

static pith_status split(pith_scope *s,
                         const pithp_part_call *call,
                         const void *result,
                         const void *parts[2]) {
    return pithp_scan_parts(s, call->function, call->body, result, call->alone, parts);
}

/* The request to record the body. */
static pithp_part_call call_of(const scan *c, const pithp_captured *captured) {
    return (pithp_part_call){.function = c->function,
                             .body = c->body,
                             .captured = captured,
                             .argument_count = 2,
                             .arguments = {&c->carry, &c->rows},
                             .specs = {NULL, c->row_specs},
                             .split = split,
                             .alone = c->stacks ? NULL : c->init,
                             .varies = c->widening.decision,
                             .sharded_results = 1};
}

/* Outputs of an empty scan; their specs come from the recorded body. */
static const void *no_outs(scan *c) {
    const pithp_captured nothing = {0};
    const pithp_part_call call = call_of(c, &nothing);
    pithp_part part;
    const void *outs = NULL;
    if (pithp_part_record(c->s, &part, &call) == PITH_OK) {
        const pithp_structure *t = &part.flats[1].structure;
        const pith_array **items =
            pithp_scope_allocate(c->s, ((size_t)t->item_count + 1) * sizeof *items);
        bool made = items != NULL;
        for (int64_t k = 0; k < t->item_count && made; k++) {
            pith_shape shape = {.rank = t->specs[k]->rank + 1};
            memcpy(shape.extents + 1, t->specs[k]->shape,
                   (size_t)t->specs[k]->rank * sizeof *shape.extents);
            items[k] = pith_zeros(pithp_on_behalf(c->s), t->specs[k]->dtype, shape);
            made = items[k] != NULL;
        }
        outs = made ? pithp_part_build(c->s, &part.flats[1], items) : NULL;
    }
    pithp_part_end(&part);
    return c->s->error.code == PITH_OK ? outs : NULL;
}

/* Fill rows not reached with zeros. */
static pith_status fill_unreached(const scan *c, pith_scope *held, const void **outs) {
    const void *zeros = NULL;
    for (int64_t i = 0; i < c->length && held->error.code == PITH_OK; i++) {
        if (!outs[i] && !zeros)
            zeros = pith_tree_zeros_like(pithp_on_behalf(held), c->first_out);
        outs[i] = outs[i] ? outs[i] : zeros;
    }
    pithp_error_move(c->s, held);
    return c->s->error.code;
}

static const void *stack(const scan *c, pith_scope *held, const void **outs) {
    pith_scope *s = c->s;
    if (fill_unreached(c, held, outs) != PITH_OK)
        return NULL;
    if (c->out.structure.item_count > 0)
        return pith_tree_stack(pithp_on_behalf(s), c->length, outs);
    const void *one = outs[0];
    return pithp_keep_slots(s, 1, &one) == PITH_OK ? one : NULL;
}

/* Run the iterations and store their outputs; outs are initially NULL. */
static const void *run_rows(scan *c, pith_scope *held, const void **outs) {
    pith_scope *s = c->s;
    pithp_holder h;
    pithp_ending ending;
    if (pithp_ending_begin(s, &ending, c->stops ? c->function : NULL) != PITH_OK)
        return NULL;
    pithp_holder_begin(&h, s, c->init);
    for (int64_t t = 0; t < c->length && pithp_ending_goes_on(&h, &ending); t++) {
        const int64_t i = c->reverse ? c->length - 1 - t : t;
        if (!iterate(&h, c, i, held, &outs[i]))
            break;
    }
    pithp_ending_end(s, &ending);
    if (s->error.code == PITH_OK && c->stacks)
        c->outs = c->length ? stack(c, held, outs) : no_outs(c);
    return pithp_holder_end(&h);
}

static const void *run_scan(scan *c) {
    pith_scope *s = c->s, *held = pith_scope_open_in(s);
    const size_t bytes = (size_t)c->length * sizeof(void *);
    const void **outs = NULL, *last = NULL;
    if (!pithp_scope_writable(held)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return NULL;
    }
    if (c->length > INT64_MAX / 16)
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: %lld iterations", c->function,
                   (long long)c->length);
    else if (c->length && !(outs = pithp_allocate(s->runtime, bytes)))
        pithp_fail_memory(s, bytes);
    if (outs)
        memset(outs, 0, bytes);
    if (s->error.code == PITH_OK)
        last = run_rows(c, held, outs);
    pithp_release(s->runtime, outs, bytes);
    if (c->first_out)
        pithp_flat_end(&c->out);
    pith_scope_close(held);
    return s->error.code == PITH_OK ? last : NULL;
}

/* ---- Recording ---- */

/* NULL: error set, or the scan is to be recorded again. */
static const void *add_scan(scan *c, const pithp_captured *captured, pithp_part *part) {
    pith_scope *s = c->s;
    pithp_operand_list o;
    const int64_t carries = c->carry.structure.item_count;
    const int64_t checked = pithp_checks_values(part->checks);
    const pithp_loop_carries carried = {.fixed = captured->count,
                                        .count = carries,
                                        .ends = c->stops,
                                        .repairs = pithp_checks_repair(part->checks)};
    if (pithp_operands_begin(
            s, &o, captured->count + carries + checked + c->rows.structure.item_count) !=
        PITH_OK)
        return NULL;
    for (int64_t k = 0; k < captured->count && s->error.code == PITH_OK; k++)
        pithp_operands_add(s, &o, captured->arrays[k], c->function, "bound tree");
    if (s->error.code != PITH_OK ||
        pithp_operands_add_all(s, &o, &c->carry, c->function, "init") != PITH_OK ||
        pithp_operands_add_neutral(s, &o, part->checks, c->function) != PITH_OK ||
        pithp_part_carry_checks(s, part, &carried, NULL, 0) != PITH_OK ||
        pithp_operands_add_all(s, &o, &c->rows, c->function, "xs") != PITH_OK)
        return NULL;
    pithp_program *programs[1] = {part->program};
    const pithp_loop_params params = {.length = c->length,
                                      .constants = (int32_t)captured->count,
                                      .carries = (int32_t)(carries + checked),
                                      .unroll = c->unroll > 0 ? c->unroll : 1,
                                      .reverse = c->reverse,
                                      .kept_bytes = (int64_t)c->kept_bytes};
    const pithp_new_instruction given = {.primitive = PITHP_OP_SCAN,
                                         .operand_count = o.count,
                                         .operands = o.values,
                                         .params = &params,
                                         .program_count = 1,
                                         .programs = programs,
                                         .site = s->site};
    if (pithp_control_widen(s, &given, 0, &c->widening) != PITH_OK || c->widening.again)
        return NULL;
    const pith_array **made = pithp_control_add(s, &given);
    if (!made || pithp_checks_replay(s, part->checks, made + carries, true) != PITH_OK)
        return NULL;
    c->outs = pithp_part_build(s, &part->flats[1], made + carries + checked);
    return c->outs ? pithp_part_build(s, &c->carry, made) : NULL;
}

static const void *record_scan_once(scan *c) {
    pithp_captured captured = {0};
    const pithp_part_call call = call_of(c, &captured);
    pithp_part part;
    const void *last = NULL;
    if (pithp_part_capture(c->s, &captured, c->body) != PITH_OK)
        return NULL;
    if (pithp_part_record(c->s, &part, &call) == PITH_OK &&
        check_carry(part.scope, c, part.results[0]) == PITH_OK)
        last = add_scan(c, &captured, &part);
    pithp_part_end(&part);
    return c->s->error.code == PITH_OK ? last : NULL;
}

static const void *record_scan(scan *c) {
    c->widening = (pithp_widening){.carry = &c->carry};
    const void *last = record_scan_once(c);
    while (c->widening.again && c->s->error.code == PITH_OK)
        last = record_scan_once(c);
    return last;
}

/* ---- Calls ---- */

static const void *scan_rows(scan *c, int64_t length) {
    const void *last = NULL;
    if (find_rows(c, length) == PITH_OK)
        last = pithp_scope_trace(c->s) ? record_scan(c) : run_scan(c);
    return last;
}

static const void *scan_trees(scan *c, int64_t length) {
    pith_scope *s = c->s;
    if (!c->xs && !(c->xs = pith_none_make(pithp_on_behalf(s))))
        return NULL;
    if (pithp_tree_check(s, c->init, c->function, "init") != PITH_OK ||
        pithp_tree_check(s, c->xs, c->function, "xs") != PITH_OK ||
        pithp_flat_make(s, &c->carry, c->init, NULL, NULL) != PITH_OK)
        return NULL;
    const void *last = NULL;
    if (pithp_flat_make(s, &c->rows, c->xs, NULL, NULL) == PITH_OK) {
        last = scan_rows(c, length);
        pithp_flat_end(&c->rows);
    }
    pithp_flat_end(&c->carry);
    return last;
}

/* c: the functions and the trees are set. */
static const void *repeat(scan *c, const pith_loop_options *options, const void **outs) {
    static const pith_loop_options defaults;
    const pith_loop_options *o = options ? options : &defaults;
    if (outs)
        *outs = NULL;
    if (!pithp_enter_as(c->s, c->function) ||
        pithp_body_check(c->s, c->body, 2, c->function, "body") != PITH_OK)
        return pithp_nil_for(c->init);
    if (o->length < 0 || o->unroll < 0) {
        pithp_fail(c->s, PITH_E_ARG, NULL, "%s: length and unroll must not be negative",
                   c->function);
        return pithp_nil_for(c->init);
    }
    if (o->most || o->name) {
        pithp_fail(c->s, PITH_E_ARG, NULL, "%s: most and name are options of %s",
                   c->function, "pith_fori_with");
        return pithp_nil_for(c->init);
    }
    c->reverse = o->reverse;
    c->unroll = o->unroll;
    c->kept_bytes = o->kept_bytes < INT64_MAX ? o->kept_bytes : INT64_MAX;
    c->counts = options != NULL;
    c->stacks = outs != NULL;
    const void *last = scan_trees(c, o->length);
    if (last && outs)
        *outs = c->outs;
    return last ? last : pithp_nil_for(c->init);
}

const void *pith_scan(pith_scope *s,
                      const pith_function *body,
                      const void *init,
                      const void *xs,
                      const void **outs,
                      const pith_loop_options *options) {
    PITHP_IN_FLIGHT(s, "pith_scan");
    scan c = {.s = s, .function = "pith_scan", .body = body, .init = init, .xs = xs};
    return repeat(&c, options, outs);
}

const void *pith_scan_passing(pith_scope *s,
                              const pith_function *body,
                              const void *init,
                              const void *xs,
                              const void **outs,
                              const pith_loop_options *options) {
    PITHP_IN_FLIGHT(s, "pith_scan_passing");
    scan c = {.s = s,
              .function = "pith_scan_passing",
              .body = body,
              .init = init,
              .xs = xs,
              .stops = true};
    return repeat(&c, options, outs);
}
