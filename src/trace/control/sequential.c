/* Functions of which a batch is a loop over entries. In a trace a call is a scan of one
 * iteration, whose rows are the leaves of the arguments: a mark that derivations and
 * batches see (pithp_loop_params.sequential), and that programs which run do not have.
 * Derivations keep the arguments alone, since the function is recomputed. */
#include "pith/derive.h"
#include "pith/vmap.h"

#include "trace/control/control_internal.h"

#include <string.h>

static const char *const name = "pith_sequential_vmap";

/* A call in a trace. Arrays are in memory of the scope. */
typedef struct call {
    pith_scope *s;
    const pith_function *f;
    pithp_flat arguments[PITHP_MOST_PARAMETERS];
    int argument_count;
    bool *known[PITHP_MOST_PARAMETERS]; /* leaves with values, which are passed as they
                                           are: the function may read them */
    int64_t row_count;                  /* leaves that are not known */
    pithp_captured captured;
} call;

/* ---- Arguments ---- */

static pith_status add_argument(call *c, const void *tree) {
    pithp_flat *flat = &c->arguments[c->argument_count];
    const pith_status rc = pithp_flat_make(c->s, flat, tree, NULL, NULL);
    if (rc != PITH_OK)
        return rc;
    const int64_t count = flat->structure.item_count;
    bool *known = c->known[c->argument_count++] =
        pithp_scope_allocate(c->s, (size_t)count + 1);
    for (int64_t k = 0; known && k < count; k++) {
        const pith_array *a = flat->items[k];
        if (pithp_operand_check(c->s, a, c->f->name, "argument") != PITH_OK) {
            pithp_item_prefix(c->s, &flat->structure, k);
            break;
        }
        known[k] = !pithp_array_is_traced(a);
        c->row_count += !known[k];
    }
    return c->s->error.code;
}

/* ---- The scan ---- */

/* x as the only row of an array, or the only row of x. NULL: error set. */
static const pith_array *reshape(pith_scope *s, const pith_array *x, bool to_row) {
    const pith_spec *spec = pithp_array_spec(x);
    pithp_reshape_params shape = {.rank = to_row ? spec->rank + 1 : spec->rank - 1};
    shape.shape[0] = 1;
    memcpy(shape.shape + to_row, spec->shape + !to_row,
           (size_t)(shape.rank - to_row) * sizeof *shape.shape);
    const pithp_value v = pithp_trace_value(s, pithp_scope_trace(s), x);
    const pithp_new_instruction given = {.primitive = PITHP_OP_RESHAPE,
                                         .operand_count = 1,
                                         .operands = &v,
                                         .params = &shape,
                                         .site = s->site};
    const pithp_value made =
        v < 0 ? -1 : pithp_program_add_many(s, pithp_scope_trace(s)->program, &given);
    return made < 0 ? NULL : pithp_trace_array(s, pithp_scope_trace(s), made);
}

static pith_status list_operands(call *c, pithp_operand_list *o) {
    pith_scope *s = c->s;
    pith_status rc = pithp_operands_begin(s, o, c->captured.count + c->row_count);
    for (int64_t k = 0; k < c->captured.count && rc == PITH_OK; k++)
        rc = pithp_operands_add(s, o, c->captured.arrays[k], name, "bound tree");
    for (int i = 0; i < c->argument_count; i++)
        for (int64_t k = 0; k < c->arguments[i].structure.item_count && rc == PITH_OK;
             k++) {
            if (c->known[i][k])
                continue;
            const pith_array *row = reshape(s, c->arguments[i].items[k], true);
            rc = row ? pithp_operands_add(s, o, row, name, "argument") : s->error.code;
        }
    return rc;
}

/* Add the scan: the results of the part. NULL: error set. */
static const pith_array **add_scan(call *c, pithp_part *part) {
    pith_scope *s = c->s;
    pithp_trace *t = pithp_scope_trace(s);
    pithp_operand_list o;
    if (list_operands(c, &o) != PITH_OK)
        return NULL;
    const pithp_loop_params params = {.length = 1,
                                      .constants = (int32_t)c->captured.count,
                                      .unroll = 1,
                                      .sequential = true};
    const pithp_new_instruction given = {.primitive = PITHP_OP_SCAN,
                                         .operand_count = o.count,
                                         .operands = o.values,
                                         .params = &params,
                                         .program_count = 1,
                                         .programs = &part->program,
                                         .site = s->site};
    const pithp_value first = pithp_program_add_many(s, t->program, &given);
    const int64_t count = first < 0 ? 0 : part->program->output_count;
    const pith_array **results =
        first < 0 ? NULL : pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *results);
    for (int64_t k = 0; results && k < count; k++) {
        const pith_array *rows = pithp_trace_array(s, t, (pithp_value)(first + k));
        if (!rows || !(results[k] = reshape(s, rows, false)))
            return NULL;
    }
    return results;
}

static const void *run_part(call *c, pithp_part *part) {
    const pith_array **results = add_scan(c, part);
    if (!results)
        return NULL;
    pithp_lengths_lose(part->checks);
    return pithp_checks_replay(c->s, part->checks,
                               results + part->flats[0].structure.item_count,
                               false) == PITH_OK
               ? pithp_part_build(c->s, &part->flats[0], results)
               : NULL;
}

static const void *record(call *c) {
    pithp_part_call request = {.function = name,
                               .body = c->f,
                               .captured = &c->captured,
                               .argument_count = c->argument_count};
    for (int i = 0; i < c->argument_count; i++) {
        request.arguments[i] = &c->arguments[i];
        request.known[i] = c->known[i];
    }
    pithp_part part;
    const void *result = NULL;
    if (pithp_part_record(c->s, &part, &request) == PITH_OK)
        result = run_part(c, &part);
    pithp_part_end(&part);
    return c->s->error.code == PITH_OK ? result : NULL;
}

/* ---- Calls ---- */

static const void *
call_traced(const pith_function *f, pith_scope *s, const void *const *given) {
    call *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    *c = (call){.s = s, .f = f};
    const void *result = NULL;
    pith_status rc = pithp_part_capture(s, &c->captured, f);
    for (int i = 0; i < f->arity && rc == PITH_OK; i++)
        rc = add_argument(c, given[i]);
    if (rc == PITH_OK)
        result = c->row_count + c->captured.count
                     ? record(c)
                     : (pith_call)(pithp_on_behalf(s), f, f->arity, given);
    for (int i = 0; i < c->argument_count; i++)
        pithp_flat_end(&c->arguments[i]);
    return result;
}

static const void *
call_sequential(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_closure *c = self->closure;
    return pithp_scope_trace(s)
               ? call_traced(c->base, s, given)
               : (pith_call)(pithp_on_behalf(s), c->base, self->arity, given);
}

static const pithp_closure_kind kind = {.name = "sequential",
                                        .bytes = sizeof(pithp_closure)};

const pith_function *pith_sequential_vmap(pith_scope *s, const pith_function *function) {
    if (!pithp_enter(s) || pithp_function_check(s, function, name) != PITH_OK)
        return NULL;
    const pith_function *base = (pith_recompute)(pithp_on_behalf(s), function, NULL);
    if (!base)
        return NULL;
    pith_function like = *function;
    like.call = call_sequential;
    const pithp_closure *made =
        pithp_function_make(s, &like, &(pithp_closure){.kind = &kind, .base = base});
    return made ? made->function : NULL;
}
