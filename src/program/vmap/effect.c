/* Batching of rows that have an effect: messages, which an entry prints as it does alone,
 * in the order of the entries; and checks of rules, which pass for entries that do not
 * take part. */
#include "program/derive/lift_chunks.h"
#include "program/vmap/control.h"

#include <string.h>

/* ---- Messages ---- */

/* Add the message if `passed`, a bool []. */
static bool add_if(pithp_batching *in,
                   const pithp_instruction *i,
                   pithp_value passed,
                   const pithp_value *operands) {
    pith_scope *s = in->s;
    pithp_program *programs[2] = {pithp_program_make(s), pithp_program_make(s)};
    const size_t count = (size_t)i->operand_count;
    pithp_value *list = pithp_scope_allocate(s, (2 * count + 1) * sizeof *list);
    bool fine = programs[0] && programs[1] && list && passed >= 0;
    for (size_t k = 0; k < count && fine; k++) {
        const pith_spec *spec = pithp_batch_spec(in, operands[k]);
        list[1 + k] = operands[k];
        list[1 + count + k] = pithp_program_input(s, programs[1], spec);
        fine = pithp_program_input(s, programs[0], spec) >= 0 && list[1 + count + k] >= 0;
    }
    if (fine) {
        const pithp_new_instruction message = {.primitive = PITHP_OP_DEBUG,
                                               .operand_count = i->operand_count,
                                               .operands = list + 1 + count,
                                               .params = i->params,
                                               .site = i->site};
        const pithp_new_instruction cond = {.primitive = PITHP_OP_COND,
                                            .operand_count = 1 + i->operand_count,
                                            .operands = list,
                                            .program_count = 2,
                                            .programs = programs,
                                            .site = i->site};
        list[0] = passed;
        fine = pithp_program_add_many(s, programs[1], &message) >= 0 &&
               pithp_program_add_many(s, in->to, &cond) >= 0;
    }
    pithp_program_release(programs[0]);
    pithp_program_release(programs[1]);
    return fine;
}

static bool
add_message(pithp_batching *in, const pithp_instruction *i, const pithp_value *operands) {
    const pithp_new_instruction message = {.primitive = PITHP_OP_DEBUG,
                                           .operand_count = i->operand_count,
                                           .operands = operands,
                                           .params = i->params,
                                           .site = i->site};
    return pithp_program_add_many(in->s, in->to, &message) >= 0;
}

/* The body of a loop over entries: operands that are shared, the mask, those that are
 * batched. */
static pithp_program *message_of_entry(pithp_batching *b, const pithp_batched_call *c) {
    pithp_batching in = pithp_batching_in(b, pithp_program_make(b->s));
    const int count = c->i->operand_count;
    pithp_value *inputs =
        pithp_scope_allocate(b->s, ((size_t)count + 1) * sizeof *inputs);
    bool fine = in.to && inputs;
    pithp_value mask = -1;
    for (int part = 0; part < 2 && fine; part++) {
        if (part && b->mask >= 0)
            fine = (mask = pithp_program_input(
                        b->s, in.to, pithp_spec(b->s, PITH_BOOL, 0, NULL))) >= 0;
        for (int k = 0; k < count && fine; k++)
            if (c->batched[k] == part)
                fine = (inputs[k] = pithp_program_input(b->s, in.to,
                                                        pithp_entry_spec(b, c, k))) >= 0;
    }
    if (fine &&
        (b->mask >= 0 ? add_if(&in, c->i, mask, inputs) : add_message(&in, c->i, inputs)))
        return in.to;
    pithp_program_release(in.to);
    return NULL;
}

static bool print_each(pithp_batching *b, const pithp_batched_call *c) {
    int count = 0, shared;
    for (int k = 0; k < c->i->operand_count; k++)
        if (!c->batched[k])
            c->scratch[count++] = c->operands[k];
    shared = count;
    if (b->mask >= 0)
        c->scratch[count++] = b->mask;
    for (int k = 0; k < c->i->operand_count; k++)
        if (c->batched[k])
            c->scratch[count++] = c->operands[k];
    pithp_program *body = message_of_entry(b, c);
    const pithp_loop_params params = {.length = b->size, .constants = shared};
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = count,
                                        .operands = c->scratch,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body,
                                        .site = c->i->site};
    const bool fine = body && pithp_program_add_many(b->s, b->to, &scan) >= 0;
    pithp_program_release(body);
    return fine;
}

bool pithp_vmap_debug(pithp_batching *b,
                      const pithp_batched_call *c,
                      pithp_value *results,
                      bool *batched);

/* A message without a batched array is printed once, if an entry takes part. */
bool pithp_vmap_debug(pithp_batching *b,
                      const pithp_batched_call *c,
                      pithp_value *results,
                      bool *batched) {
    bool any = false;
    (void)results, (void)batched;
    for (int k = 0; k < c->i->operand_count; k++)
        any |= c->batched[k];
    return any ? print_each(b, c)
               : add_if(b, c->i, pithp_batch_any(b, b->mask), c->operands);
}

/* ---- Checks of rules ---- */

/* A check of all entries. */
typedef struct batched_check {
    pithp_exposed exposed;
    pith_runtime *runtime;
    pithp_exposed *of; /* the check of an entry, one reference */
    int64_t size;
    pithp_vmap_options part; /* of the batch; of joined parts: zero */
    bool *own; /* of a check in a rule for batches, which `of` is: of each value, whether
                  it has the entries in front; NULL: all have them */
} batched_check;

static const batched_check *check_of(const pithp_exposed *e) {
    return (const batched_check *)(const void *)e;
}

static void free_check(pithp_exposed *e) {
    batched_check *c = (batched_check *)(void *)e;
    pithp_exposed_release(c->of);
    if (c->own)
        pithp_release(c->runtime, c->own, (size_t)e->count + 1);
    pithp_release(c->runtime, c, sizeof *c);
}

static uint64_t neutral(const pithp_exposed *e, int32_t k) {
    return check_of(e)->of->neutral(check_of(e)->of, k);
}

/* As an entry merges, for each entry. */
static pithp_program *merge(const pithp_exposed *e, pith_scope *s) {
    const batched_check *c = check_of(e);
    pithp_program *p = c->of->merge(c->of, s);
    if (c->own)
        return p;
    bool *all = p ? pithp_scope_allocate(s, (size_t)p->input_count + 1) : NULL;
    pithp_program *made = NULL;
    if (all) {
        memset(all, true, (size_t)p->input_count);
        made = pithp_batch_outputs(s, p, c->size, all, NULL, false, NULL);
    }
    pithp_program_release(p);
    return made;
}

const pithp_exposed *pithp_exposed_of_entry(const pithp_exposed *e, int64_t *size) {
    if (e->free != free_check || check_of(e)->own)
        return NULL;
    *size = check_of(e)->size;
    return check_of(e)->of;
}

const pithp_exposed *pithp_exposed_in_rule(const pithp_exposed *e) {
    return e->free == free_check && check_of(e)->own ? check_of(e)->of : NULL;
}

/* The check that has a batch axis. */
static const batched_check *at_axis(const pithp_exposed *e, int axis) {
    return axis ? at_axis(check_of(e)->of, axis - 1) : check_of(e);
}

static bool has_axis(const pithp_exposed *e, int axis, int32_t k) {
    const batched_check *c = at_axis(e, axis);
    return !c->own || c->own[k];
}

static bool is_padded(const pithp_exposed *e, int axis) {
    return !at_axis(e, axis)->own;
}

static int chunk_axis(const pithp_exposed *e, int64_t batch, int64_t chunk) {
    for (int axis = 0; e->free == free_check; e = check_of(e)->of, axis++) {
        const batched_check *c = check_of(e);
        if (c->part.chunk && c->part.batch == batch && c->size == chunk)
            return axis;
    }
    return -1;
}

/* Whether the entries of a check follow all chunks of another one. */
static bool follows(const batched_check *c, const batched_check *rest) {
    return c->part.chunk && c->part.batch && c->part.batch == rest->part.batch &&
           rest->part.before && c->size == rest->part.before;
}

static bool has_same_entries(const batched_check *c, const batched_check *other) {
    return c->size == other->size && c->part.chunk == other->part.chunk &&
           c->part.batch == other->part.batch && c->part.before == other->part.before;
}

static int rest_axis(const pithp_exposed *e, const pithp_exposed *rest) {
    int found = -1;
    for (int axis = 0; e->free == free_check && rest->free == free_check; axis++) {
        const batched_check *c = check_of(e), *r = check_of(rest);
        if (found < 0 && follows(c, r))
            found = axis;
        else if (!has_same_entries(c, r))
            return -1;
        e = c->of;
        rest = r->of;
    }
    return found >= 0 && e->free == rest->free && e->same(e, rest) ? found : -1;
}

static bool has_same_axes(const batched_check *c, const batched_check *other) {
    const size_t count = (size_t)c->exposed.count;
    return !c->own == !other->own && (!c->own || memcmp(c->own, other->own, count) == 0);
}

static bool is_alike(const pithp_exposed *e, const pithp_exposed *other) {
    bool alike = true;
    for (; alike && e->free == free_check && other->free == free_check;
         e = check_of(e)->of, other = check_of(other)->of)
        alike = has_same_axes(check_of(e), check_of(other)) &&
                has_same_entries(check_of(e), check_of(other));
    return alike && e->free != free_check && other->free != free_check;
}

static pithp_exposed *
resize(pithp_exposed *e, pith_scope *s, int axis, int64_t size, bool whole);

static pithp_exposed *batch_check(pith_scope *s,
                                  pithp_exposed *of,
                                  int64_t size,
                                  const pithp_vmap_options *part,
                                  const bool *own) {
    static const pithp_lift_methods methods = {
        {chunk_axis, rest_axis, is_alike, resize}, has_axis, is_padded};
    const size_t flags = (size_t)of->count + 1;
    batched_check *c = pithp_allocate(s->runtime, sizeof *c);
    bool *copy = c && own ? pithp_allocate(s->runtime, flags) : NULL;
    if (!c || (own && !copy)) {
        pithp_fail_memory(s, sizeof *c + flags);
        if (c)
            pithp_release(s->runtime, c, sizeof *c);
        return NULL;
    }
    if (own)
        memcpy(copy, own, flags - 1);
    *c = (batched_check){.exposed = {.place = of->place,
                                     .free = free_check,
                                     .count = of->count,
                                     .of = of->of,
                                     .number = of->number,
                                     .neutral = neutral,
                                     .merge = merge,
                                     .batch = &methods.batch},
                         .runtime = s->runtime,
                         .of = of,
                         .size = size,
                         .part = *part,
                         .own = copy};
    atomic_init(&c->exposed.refs, 1);
    atomic_fetch_add_explicit(&of->refs, 1, memory_order_relaxed);
    return &c->exposed;
}

static pithp_exposed *
resize(pithp_exposed *e, pith_scope *s, int axis, int64_t size, bool whole) {
    static const pithp_vmap_options none = {0};
    const batched_check *c = check_of(e);
    if (!axis)
        return batch_check(s, c->of, size, whole ? &none : &c->part, c->own);
    pithp_exposed *of = resize(c->of, s, axis - 1, size, whole);
    pithp_exposed *made = of ? batch_check(s, of, c->size, &c->part, c->own) : NULL;
    pithp_exposed_release(of);
    return made;
}

/* A value of the check with passing entries in place of those before this part. */
static pithp_value after_others(pithp_batching *b, pithp_value v, uint64_t neutral) {
    pithp_pad_params others = {.low = {b->options->before}};
    const pith_spec *spec = v >= 0 ? pithp_batch_spec(b, v) : NULL;
    return !spec || !b->options->before
               ? v
               : pithp_batch_call(
                     b, PITHP_OP_PAD, 2,
                     (const pithp_value[]){
                         v, pithp_batch_full(b, pithp_spec(b->s, spec->dtype, 0, NULL),
                                             neutral)},
                     &others);
}

bool pithp_batch_expose_own(pithp_batching *b,
                            const pithp_instruction *i,
                            const pithp_value *operands,
                            const bool *own) {
    pithp_exposed *of = ((const pithp_expose_params *)i->params)->exposed;
    pithp_exposed *made =
        batch_check(b->s, of, b->options->before + b->size, b->options, own);
    const pithp_expose_params params = {made};
    const pithp_new_instruction expose = {.primitive = PITHP_OP_EXPOSE,
                                          .operand_count = i->operand_count,
                                          .operands = operands,
                                          .params = &params,
                                          .site = i->site};
    const bool fine = made && pithp_program_add_many(b->s, b->to, &expose) >= 0;
    pithp_exposed_release(made);
    return fine;
}

bool pithp_vmap_expose(pithp_batching *b,
                       const pithp_batched_call *c,
                       pithp_value *results,
                       bool *batched);

bool pithp_vmap_expose(pithp_batching *b,
                       const pithp_batched_call *c,
                       pithp_value *results,
                       bool *batched) {
    pithp_exposed *of = ((const pithp_expose_params *)c->i->params)->exposed;
    pithp_exposed *made =
        batch_check(b->s, of, b->options->before + b->size, b->options, NULL);
    const pithp_expose_params params = {made};
    bool fine = made;
    (void)results, (void)batched;
    for (int k = 0; k < c->i->operand_count && fine; k++) {
        c->scratch[k] = pithp_batch_operand(b, c, k);
        if (b->mask >= 0 && c->scratch[k] >= 0)
            c->scratch[k] = pithp_batch_where(
                b, b->mask, c->scratch[k], true,
                pithp_batch_full(b, pithp_entry_spec(b, c, k), of->neutral(of, k)),
                false);
        c->scratch[k] = after_others(b, c->scratch[k], of->neutral(of, k));
        fine = c->scratch[k] >= 0;
    }
    const pithp_new_instruction expose = {.primitive = PITHP_OP_EXPOSE,
                                          .operand_count = c->i->operand_count,
                                          .operands = c->scratch,
                                          .params = &params,
                                          .site = c->i->site};
    fine = fine && pithp_program_add_many(b->s, b->to, &expose) >= 0;
    pithp_exposed_release(made);
    return fine;
}
