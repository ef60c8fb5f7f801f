/* The frame of collectives: entering, recording, agreeing, running and leaving. */
#include "array/collective.h"

#include "array/checks/length.h"
#include "program/collective/collective.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Entering and leaving ---- */

bool pithp_collective_enter(pithp_collective *c,
                            pith_scope *s,
                            const char *function,
                            const pith_array *a,
                            const char *axes) {
    *c = (pithp_collective){.s = s, .w = s, .function = function, .a = a};
    const bool fine = pithp_enter_as(s, function);
    if (!pithp_scope_writable(s))
        return false;
    c->recorded = pithp_scope_trace(s);
    if (fine && (c->params.group = pithp_mesh_group_of(s, axes)) &&
        pithp_operand_check(s, a, function, "a") == PITH_OK) {
        c->spec = pithp_array_spec(a);
        pith_scope *w = pithp_temporaries_open(s);
        c->w = w ? w : s;
    }
    return true;
}

const pith_array *pithp_collective_leave(pithp_collective *c, const pith_array *result) {
    if (c->w == c->s)
        return NULL;
    return pithp_temporaries_close(c->s, c->w, pithp_collective_fine(c) ? result : NULL);
}

/* ---- Operands and parameters ---- */

void pithp_collective_axis(pithp_collective *c, const char *name, int axis, int64_t *to) {
    if (!pithp_collective_fine(c))
        return;
    axis = pithp_axis(c->w, c->function, axis, pithp_array_spec(c->a)->rank);
    *to = axis < 0 ? 0 : axis;
    pithp_collective_name(c, name, axis);
}

void pithp_collective_cast(pithp_collective *c, pith_dtype dtype) {
    const pith_array *made =
        pithp_collective_fine(c) ? pithp_cast(c->w, c->a, dtype) : NULL;
    c->a = made ? made : c->a;
}

static bool are_rows(const pithp_collective *c, const pith_array *rows) {
    if (!pithp_collective_fine(c) ||
        pithp_operand_check(c->w, rows, c->function, "rows") != PITH_OK)
        return false;
    const pith_spec *count = pithp_array_spec(rows);
    char text[PITHP_SPEC_TEXT_BYTES];
    if (count->dtype != PITH_I64 || count->rank != 0)
        pithp_fail(c->w, PITH_E_DTYPE, NULL,
                   "%s: rows: expected an i64 of rank 0, got %s", c->function,
                   pithp_spec_print(count, text));
    else if (pithp_array_spec(c->a)->rank == 0)
        pithp_fail(c->w, PITH_E_SHAPE, NULL,
                   "%s: rows of an array of rank 0, which has none", c->function);
    return pithp_collective_fine(c);
}

/* The number of rows in use is from 0 to the extent of axis 0. It is read in eager calls.
 * After a wrong one whose check is collected or recorded, the collective takes the
 * nearest number that there is. */
static void check_number(const pithp_collective *c) {
    const int64_t most = pithp_array_spec(c->a)->shape[0];
    if (c->recorded) {
        pithp_trace_rows(c->w, c->function, most, c->rows);
        return;
    }
    const int64_t own = pith_read_i64(c->w, c->rows);
    if (pithp_collective_fine(c) && (own < 0 || own > most))
        pithp_rows_fail(c->w, c->function, most, own);
}

void pithp_collective_take(pithp_collective *c, const pith_collective_options *options) {
    c->params.unordered = options && options->unordered;
    if (!options || !options->rows || !are_rows(c, options->rows))
        return;
    c->rows = options->rows;
    check_number(c);
}

/* ---- Running ---- */

/* An eager call: its result and the memory of its run. */
typedef struct run {
    pithp_collective *c;
    pithp_call call;
    const pith_spec *specs[2];
    const void *operands[2];
    const pith_array *result;
    int64_t most_rows; /* of psum_rows */
    pithp_collective_needs needs;
    pithp_buffer *device;
    void *host;
} run;

/* The result. */
static void make_result(run *r) {
    pithp_collective *c = r->c;
    const pith_array *given[] = {c->a, c->rows};
    pithp_refusal refusal;
    pith_spec made;
    r->call.operands = r->specs;
    if (!pithp_collective_fine(c))
        return;
    for (int k = 0; k < r->call.operand_count; k++) {
        r->specs[k] = pithp_array_spec(given[k]);
        r->operands[k] = given[k]->data;
    }
    if (pithp_infer(&r->call, &made, &refusal) != PITH_OK) {
        pithp_fail_function(c->w, refusal.code, refusal.function, "%s", refusal.text);
        return;
    }
    const pith_spec *spec = pithp_spec(c->w, made.dtype, made.rank, made.shape);
    r->result = spec ? pithp_array_make(c->w, spec) : NULL;
}

static void take_memory(run *r) {
    pithp_collective *c = r->c;
    if (!pithp_collective_fine(c))
        return;
    const bool on_host = pithp_scope_device(c->w)->backend->addressable;
    r->needs = pithp_collective_measure(&r->call, pithp_array_spec(r->result),
                                        r->most_rows, on_host);
    if (r->needs.device)
        r->device = pithp_buffer_make(c->w, r->needs.device);
    if (r->needs.host && pithp_collective_fine(c) &&
        !(r->host = pithp_kept_allocate(c->w->runtime, r->needs.host)))
        pithp_fail_memory(c->w, r->needs.host);
}

static void free_memory(run *r) {
    if (r->device)
        pithp_buffer_release(r->device, 1);
    pithp_kept_release(r->c->w->runtime, r->host, r->needs.host);
}

/* "f64[3] over x, axis 0" */
static void describe(const void *closure, char what[PITHP_WHAT_BYTES]) {
    const pithp_collective *c = closure;
    const pith_spec *spec = c->spec;
    char text[PITHP_SPEC_TEXT_BYTES];
    what[0] = 0;
    if (spec && c->by_rows)
        snprintf(what, PITHP_WHAT_BYTES, "rows %.20s%.80s over %.40s",
                 pith_dtype_name(spec->dtype),
                 pithp_shape_print(spec->rank - 1, spec->shape + 1, text),
                 c->params.group->axes);
    else if (spec)
        snprintf(what, PITHP_WHAT_BYTES, "%.100s over %.50s",
                 pithp_spec_print(spec, text), c->params.group->axes);
    size_t n = strlen(what);
    for (int i = 0; i < c->named; i++, n = strlen(what))
        snprintf(what + n, PITHP_WHAT_BYTES - n, ", %s %" PRId64, c->names[i],
                 c->numbers[i]);
    if (c->rows && !c->by_rows)
        snprintf(what + n, PITHP_WHAT_BYTES - n, ", rows in use");
    n = strlen(what);
    if (c->params.unordered)
        snprintf(what + n, PITHP_WHAT_BYTES - n, ", unordered");
}

/* What `describe` says. */
static uint64_t digest_of(const pithp_collective *c) {
    const pith_spec *spec = c->spec;
    const int first = c->by_rows;
    const int64_t numbers[] = {(int64_t)spec->dtype, spec->rank, c->numbers[0],
                               c->numbers[1], c->rows && !c->by_rows};
    const char *axes = c->params.group->axes;
    uint64_t h = pithp_hash(pithp_collective_digest(&c->params), numbers, sizeof numbers);
    if (spec->rank > first)
        h = pithp_hash(h, spec->shape + first,
                       (size_t)(spec->rank - first) * sizeof *spec->shape);
    return pithp_hash(h, axes, strlen(axes));
}

/* Wait for the elements, and agree with the other ranks. */
static bool begin(run *r) {
    pithp_collective *c = r->c;
    if (pithp_collective_fine(c))
        pithp_synchronise(c->w);
    const pithp_intent intent = {.operation = c->function,
                                 .describe = describe,
                                 .closure = c,
                                 .extra = pithp_collective_fine(c) ? digest_of(c) : 0};
    return pithp_collective_begin(c->w, &intent);
}

/* Extents of axis 0 differ between ranks, and so does the memory that they need. */
static bool begin_rows(run *r) {
    pithp_collective *c = r->c;
    if (!begin(r))
        return false;
    int64_t least = r->specs[0]->shape[0];
    r->most_rows = least;
    pithp_collective_range(c->w, &least, &r->most_rows);
    take_memory(r);
    if (pithp_collective_agrees(c->w))
        return true;
    pithp_collective_end(c->w);
    return false;
}

static void run_eagerly(run *r) {
    pithp_collective *c = r->c;
    const bool rows = r->call.primitive == PITHP_OP_PSUM_ROWS;
    if (!rows)
        take_memory(r);
    if (rows ? begin_rows(r) : begin(r)) {
        void *const result = r->result->data;
        const pithp_collective_memory memory = {.operands = r->operands,
                                                .results = &result,
                                                .device =
                                                    r->device ? r->device->data : NULL,
                                                .host = r->host};
        pithp_mesh_group_connect(c->w, c->params.group);
        pithp_collective_run(c->w, &r->call, pithp_array_spec(r->result), r->most_rows,
                             &memory);
        pithp_collective_end(c->w);
    }
    free_memory(r);
}

const pith_array *pithp_collective_bind(pithp_collective *c, pithp_primitive primitive) {
    const pith_array *operands[] = {c->a, c->rows};
    const int count = c->rows ? 2 : 1;
    const pith_array *made = NULL;
    if (c->recorded)
        return pithp_collective_fine(c) &&
                       pithp_trace_bind_many(c->w, primitive, count, operands, &c->params,
                                             &made) == PITH_OK
                   ? made
                   : NULL;
    run r = {.c = c,
             .call = {.primitive = primitive,
                      .operand_count = count,
                      .params = &c->params,
                      .max_rank = PITH_MAX_RANK}};
    make_result(&r);
    run_eagerly(&r);
    return pithp_collective_fine(c) ? r.result : NULL;
}
