/* Batches in chunks. A program is split: instructions that depend on no batched input are
 * computed once, and the others are the program of an entry, with the values that they
 * read of the former as inputs. A scan over full chunks batches that program, and the
 * remaining entries are one smaller batch. */
#include "program/vmap/chunk.h"

#include <stdatomic.h>
#include <string.h>

typedef struct chunking {
    pith_scope *s;
    const pithp_program *from;
    int64_t chunk, count, rest; /* full chunks, and entries after them */
    int64_t batch;              /* its number if a rule may have checks; 0: it has none */
    const pithp_chunk_options *options;
    bool has_axis; /* the program of a chunk has the batch axis: one entry
                      needs none, unless a rule or its checks look at it */
    const bool *batched;
    pithp_program *to;
    pithp_program *entry; /* what depends on batched inputs; its inputs are `shared`
                             values of `to`, then batched inputs of from */
    bool *depends;        /* by value of from: whether it depends on a batched input */
    pithp_value *outer;   /* by value of from: in `to`, unless it depends; or -1 */
    pithp_value *inner;   /* by value of from: in `entry`, or -1 */
    pithp_value *shared;
    int64_t shared_count, mapped_count;
    bool *inputs_batched;  /* of entry */
    bool *outputs_batched; /* of entry */
} chunking;

/* Memory of the scope. */
static void *allocate(chunking *c, int64_t count, size_t each) {
    void *memory = pithp_scope_allocate(c->s, ((size_t)count + 1) * each);
    if (memory)
        memset(memory, 0xff, ((size_t)count + 1) * each);
    return memory;
}

static pithp_value call(chunking *c,
                        pithp_primitive op,
                        int count,
                        const pithp_value *operands,
                        const void *params) {
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add(c->s, c->to, op, count, operands, params, c->s->site);
}

/* ---- The two programs ---- */

static bool is_dependent(const chunking *c, const pithp_instruction *i) {
    for (int k = 0; k < i->operand_count; k++)
        if (c->depends[pithp_operands(c->from, i)[k]])
            return true;
    return false;
}

/* All results of a loop or branch go with it, also those that do not depend on the batch.
 */
static bool mark(chunking *c) {
    const pithp_program *p = c->from;
    if (!(c->depends = allocate(c, p->value_count, sizeof *c->depends)))
        return false;
    memset(c->depends, 0, (size_t)p->value_count * sizeof *c->depends);
    for (int64_t k = 0; k < p->input_count; k++)
        c->depends[p->inputs[k]] = c->batched[k];
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        const bool depends = is_dependent(c, i);
        for (int32_t n = 0; n < i->result_count; n++)
            c->depends[i->result + n] = depends;
    }
    return true;
}

/* Let the program of an entry read a value that does not depend on the batch. */
static bool share(chunking *c, pithp_value v) {
    const pithp_program *p = c->from;
    if (c->depends[v] || c->inner[v] >= 0 || p->values[v].origin == PITHP_FROM_CONSTANT)
        return true;
    c->shared[c->shared_count++] = c->outer[v];
    c->inner[v] = pithp_program_input(c->s, c->entry, pithp_value_spec(p, v));
    return c->inner[v] >= 0;
}

/* Inputs come first: a walk finds those of the program of an entry and copies what is
 * computed once. */
static bool add_shared(chunking *c) {
    const pithp_program *p = c->from;
    pithp_graph_walk g = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    pithp_program_take_groups(c->to, p);
    while (fine && pithp_graph_next(&g, &v, &i)) {
        if (!i) {
            fine = p->values[v].origin == PITHP_FROM_INPUT ||
                   pithp_program_copy(c->s, c->to, p, v, NULL, c->outer);
            continue;
        }
        const bool entry = is_dependent(c, i);
        for (int k = 0; entry && fine && k < i->operand_count; k++)
            fine = share(c, pithp_operands(p, i)[k]);
        c->to->remat = i->remat;
        if (!entry)
            fine = pithp_program_copy(c->s, c->to, p, v, i, c->outer);
    }
    c->to->remat = (pithp_remat){0};
    return fine;
}

static bool add_entry(chunking *c) {
    const pithp_program *p = c->from;
    pithp_graph_walk g = {p, 0, 0};
    pithp_value v;
    const pithp_instruction *i;
    bool fine = true;
    for (int64_t k = 0; k < p->input_count && fine; k++)
        if (c->batched[k])
            fine = (c->inner[p->inputs[k]] = pithp_program_input(
                        c->s, c->entry, pithp_value_spec(p, p->inputs[k]))) >= 0;
    pithp_program_take_groups(c->entry, p);
    while (fine && pithp_graph_next(&g, &v, &i)) {
        c->entry->remat = i ? i->remat : (pithp_remat){0};
        if (i ? is_dependent(c, i) : p->values[v].origin == PITHP_FROM_CONSTANT)
            fine = pithp_program_copy(c->s, c->entry, p, v, i, c->inner);
    }
    c->entry->remat = (pithp_remat){0};
    for (int64_t k = 0; k < p->output_count && fine; k++)
        if (c->depends[p->outputs[k]])
            fine = pithp_program_output(c->s, c->entry, c->inner[p->outputs[k]]);
    return fine;
}

/* The spec of an input of the batch, with all entries. NULL: error set. */
static const pith_spec *input_spec(chunking *c, int64_t k) {
    const pith_spec *spec = pithp_value_spec(c->from, c->from->inputs[k]);
    int64_t shape[PITHP_MAX_RANK + 1] = {c->count * c->chunk + c->rest};
    if (!c->batched[k])
        return spec;
    memcpy(shape + 1, spec->shape, (size_t)spec->rank * sizeof *shape);
    return pithp_spec_of_value(c->s, spec->dtype, spec->rank + 1, shape);
}

static bool split(chunking *c) {
    const pithp_program *p = c->from;
    c->outer = allocate(c, p->value_count, sizeof *c->outer);
    c->inner = allocate(c, p->value_count, sizeof *c->inner);
    c->shared = allocate(c, p->value_count, sizeof *c->shared);
    c->inputs_batched = allocate(c, p->value_count + p->input_count, 1);
    c->outputs_batched = allocate(c, p->output_count, 1);
    if (!c->outer || !c->inner || !c->shared || !c->inputs_batched ||
        !c->outputs_batched || !mark(c))
        return false;
    for (int64_t k = 0; k < p->input_count; k++) {
        const pith_spec *spec = input_spec(c, k);
        if (!spec ||
            (c->outer[p->inputs[k]] = pithp_program_input(c->s, c->to, spec)) < 0)
            return false;
        c->mapped_count += c->batched[k];
    }
    if (!add_shared(c) || !add_entry(c))
        return false;
    memset(c->inputs_batched, 0, (size_t)c->shared_count);
    memset(c->inputs_batched + c->shared_count, 1, (size_t)c->mapped_count);
    return true;
}

/* ---- Chunks ---- */

/* Entries first..first + count - 1 of a value. */
static pithp_value entries(chunking *c, pithp_value v, int64_t first, int64_t count) {
    const pith_spec *spec = v >= 0 ? pithp_value_spec(c->to, v) : NULL;
    pithp_slice_params part = {{first}, {first + count}, {1}};
    if (!spec || spec->shape[0] == count)
        return v;
    for (int k = 1; k < spec->rank; k++) {
        part.limit[k] = spec->shape[k];
        part.step[k] = 1;
    }
    return call(c, PITHP_OP_SLICE, 1, &v, &part);
}

/* Axis 0 of a value as axes of these extents; joins: the first two axes as one. */
static pithp_value reshape_front(chunking *c, pithp_value v, bool joins) {
    const pith_spec *spec = v >= 0 ? pithp_value_spec(c->to, v) : NULL;
    pithp_reshape_params to = {.rank = 0};
    if (!spec || !c->has_axis)
        return v;
    to.shape[to.rank++] = joins ? spec->shape[0] * spec->shape[1] : c->count;
    if (!joins)
        to.shape[to.rank++] = c->chunk;
    for (int k = 1 + joins; k < spec->rank; k++)
        to.shape[to.rank++] = spec->shape[k];
    return call(c, PITHP_OP_RESHAPE, 1, &v, &to);
}

/* The values of mapped inputs, after those that are shared. */
static bool list_operands(chunking *c, bool chunks, pithp_value *operands) {
    const int64_t whole = c->count * c->chunk;
    int64_t n = c->shared_count;
    if (n)
        memcpy(operands, c->shared, (size_t)n * sizeof *operands);
    for (int64_t k = 0; k < c->from->input_count; k++) {
        pithp_value v = c->outer[c->from->inputs[k]];
        if (!c->batched[k])
            continue;
        v = chunks ? reshape_front(c, entries(c, v, 0, whole), false)
                   : entries(c, v, whole, c->rest);
        if (v < 0)
            return false;
        operands[n++] = v;
    }
    return true;
}

static pithp_program *body_of(chunking *c) {
    const pithp_vmap_options part = {
        .chunk = true, .batch = c->batch, .steps = c->options->steps};
    if (c->has_axis)
        return pithp_program_vmap(c->s, c->entry, c->chunk, c->inputs_batched, &part,
                                  c->outputs_batched);
    memset(c->outputs_batched, 1, (size_t)c->entry->output_count);
    pithp_program_retain(c->entry);
    return c->entry;
}

/* The outputs of all full chunks: batched ones [whole, ...], others of the first. */
static bool add_scan(chunking *c, pithp_value *operands, pithp_value *outputs) {
    pithp_program *body = body_of(c);
    const pithp_loop_params params = {.length = c->count,
                                      .constants = (int32_t)c->shared_count,
                                      .unroll = 1,
                                      .concurrent = c->options->concurrent,
                                      .chunk = c->batch ? c->chunk : 0,
                                      .batch = c->batch};
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count =
                                            (int)(c->shared_count + c->mapped_count),
                                        .operands = operands,
                                        .params = &params,
                                        .program_count = 1,
                                        .programs = &body,
                                        .site = c->s->site};
    const pithp_value first = body && list_operands(c, true, operands)
                                  ? pithp_program_add_many(c->s, c->to, &scan)
                                  : -1;
    pithp_program_release(body);
    for (int64_t k = 0; k < c->entry->output_count && first >= 0; k++) {
        const pithp_value all = first + (pithp_value)k;
        const pith_spec *spec = pithp_value_spec(c->to, all);
        pithp_reshape_params alone = {.rank = spec->rank - 1};
        memcpy(alone.shape, spec->shape + 1, (size_t)alone.rank * sizeof *alone.shape);
        const pithp_value one = c->outputs_batched[k] ? -1 : entries(c, all, 0, 1);
        outputs[k] = c->outputs_batched[k] ? reshape_front(c, all, true)
                                           : call(c, PITHP_OP_RESHAPE, 1, &one, &alone);
        if (outputs[k] < 0)
            return false;
    }
    return first >= 0;
}

/* Append the outputs of the remaining entries. */
static bool add_rest(chunking *c, pithp_value *operands, pithp_value *outputs) {
    const pithp_vmap_options part = {
        .before = c->count * c->chunk, .batch = c->batch, .steps = c->options->steps};
    if (!c->rest)
        return true;
    pithp_value *last = allocate(c, c->entry->output_count, sizeof *last);
    pithp_program *rest =
        last ? pithp_program_vmap(c->s, c->entry, c->rest, c->inputs_batched, &part,
                                  c->outputs_batched)
             : NULL;
    bool fine = rest && list_operands(c, false, operands) &&
                pithp_program_inline(c->s, c->to, rest, operands, last);
    pithp_program_release(rest);
    for (int64_t k = 0; k < c->entry->output_count && fine; k++) {
        const pithp_concatenate_params join = {.axis = 0};
        const pithp_value both[2] = {outputs[k], last[k]};
        if (c->outputs_batched[k])
            fine = (outputs[k] = call(c, PITHP_OP_CONCATENATE, 2, both, &join)) >= 0;
    }
    return fine;
}

static bool add_outputs(chunking *c, const pithp_value *outputs, bool *batched) {
    const pithp_program *p = c->from;
    int64_t n = 0;
    for (int64_t k = 0; k < p->output_count; k++) {
        const bool depends = c->depends[p->outputs[k]];
        const pithp_value v = depends ? outputs[n] : c->outer[p->outputs[k]];
        batched[k] = depends && c->outputs_batched[n];
        n += depends;
        if (!pithp_program_output(c->s, c->to, v))
            return false;
    }
    return true;
}

/* The number of a batch of the process. */
static int64_t next_batch(void) {
    static atomic_llong last;
    return (int64_t)atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

pithp_program *pithp_program_vmap_chunks(pith_scope *s,
                                         const pithp_program *p,
                                         int64_t size,
                                         const pithp_chunk_options *options,
                                         const bool *batched,
                                         bool *outputs_batched) {
    const int64_t chunk = options->chunk;
    const pithp_vmap_options whole = {.steps = options->steps};
    if (chunk >= size)
        return pithp_program_vmap(s, p, size, batched, &whole, outputs_batched);
    const bool has_rule = pithp_calls_rule(p, false);
    chunking c = {.s = s,
                  .from = p,
                  .chunk = chunk,
                  .options = options,
                  .batch = has_rule ? next_batch() : 0,
                  .has_axis = chunk > 1 || has_rule,
                  .count = size / chunk,
                  .rest = size % chunk,
                  .batched = batched,
                  .to = pithp_program_make(s),
                  .entry = pithp_program_make(s)};
    pithp_value *operands = NULL, *outputs = NULL;
    bool fine = c.to && c.entry && split(&c);
    fine = fine &&
           (operands = allocate(&c, c.shared_count + c.mapped_count, sizeof *operands)) &&
           (outputs = allocate(&c, c.entry->output_count, sizeof *outputs));
    fine = fine && add_scan(&c, operands, outputs) && add_rest(&c, operands, outputs) &&
           add_outputs(&c, outputs, outputs_batched);
    pithp_program_release(c.entry);
    if (fine)
        return c.to;
    pithp_program_release(c.to);
    return NULL;
}
