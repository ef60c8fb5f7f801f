/* Linear programs along all unit vectors at once: columns of a Jacobian, or by a
 * transposed program its rows. One column is a program whose last inputs are zeros but
 * for one element 1, and all columns are its batch over the number of this element. Few
 * unit vectors are a literal instead. */
#include "trace/derive/columns.h"

#include "program/vmap/chunk.h"

#include <string.h>

enum {
    LIVE_VALUES = 2,         /* of the greatest size in a column, besides its ends */
    LITERAL_BYTES = 64 << 10 /* most bytes of unit vectors that are a literal */
};

/* A program that is made. */
typedef struct made {
    pith_scope *s;
    const pithp_columns *columns;
    pithp_program *to;
} made;

/* ---- Instructions ---- */

static pithp_value call(const made *m,
                        pithp_primitive op,
                        int count,
                        const pithp_value *operands,
                        const void *params) {
    for (int k = 0; k < count; k++)
        if (operands[k] < 0)
            return -1;
    return pithp_program_add(m->s, m->to, op, count, operands, params, NULL);
}

/* 0, 1, ... count - 1 with this shape. */
static pithp_value count_up(const made *m, const pith_spec *like) {
    pithp_iota_params numbers = {
        .dtype = PITH_I64, .rank = 1, .shape = {like->count}, .axis = 0};
    pithp_reshape_params shape = {.rank = like->rank};
    memcpy(shape.shape, like->shape, sizeof shape.shape);
    const pithp_value flat = call(m, PITHP_OP_IOTA, 0, NULL, &numbers);
    return like->rank == 1 ? flat : call(m, PITHP_OP_RESHAPE, 1, &flat, &shape);
}

static pithp_value number(const made *m, int64_t value) {
    const pith_spec *spec = pithp_spec(m->s, PITH_I64, 0, NULL);
    return spec ? pithp_program_literal(m->s, m->to, spec, &value) : -1;
}

/* An array like `like` of zeros, with a 1 at element `column` - first. */
static pithp_value
one_hot(const made *m, pithp_value column, int64_t first, const pith_spec *like) {
    const pithp_cast_params cast = {like->dtype};
    const pithp_value from = number(m, first);
    const pithp_value at =
        first ? call(m, PITHP_OP_SUB, 2, (pithp_value[]){column, from}, NULL) : column;
    const pithp_value hit =
        call(m, PITHP_OP_EQ, 2, (pithp_value[]){count_up(m, like), at}, NULL);
    return call(m, PITHP_OP_CAST, 1, &hit, &cast);
}

/* The value for each of n columns. */
static pithp_value repeat(const made *m, pithp_value v, int64_t n) {
    const pith_spec *spec = pithp_value_spec(m->to, v);
    pithp_broadcast_params to = {.rank = spec->rank + 1, .shape = {n}};
    for (int k = 0; k < spec->rank; k++) {
        to.shape[k + 1] = spec->shape[k];
        to.dimensions[k] = k + 1;
    }
    return call(m, PITHP_OP_BROADCAST, 1, &v, &to);
}

/* ---- Programs ---- */

static const pith_spec *spec_of_input(const pithp_program *p, int64_t k) {
    return pithp_value_spec(p, p->inputs[k]);
}

/* Values for a program's inputs and outputs. */
static pithp_value *values_for(pith_scope *s, const pithp_program *p) {
    return pithp_scope_allocate(s, (size_t)(p->input_count + p->output_count + 1) *
                                       sizeof(pithp_value));
}

/* Inputs like the fixed ones. */
static bool add_fixed(const made *m, pithp_value *inputs) {
    for (int64_t k = 0; k < m->columns->fixed; k++)
        if ((inputs[k] = pithp_program_input(m->s, m->to,
                                             spec_of_input(m->columns->each, k))) < 0)
            return false;
    return true;
}

static bool add_outputs(const made *m, const pithp_value *values, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (values[k] < 0 || !pithp_program_output(m->s, m->to, values[k]))
            return false;
    return true;
}

/* One column: fixed inputs, its number -> outputs. */
static bool add_one(const made *m) {
    const pithp_program *each = m->columns->each;
    pithp_value *inputs = values_for(m->s, each), column;
    const pith_spec *spec = pithp_spec(m->s, PITH_I64, 0, NULL);
    int64_t first = 0;
    if (!inputs || !spec || !add_fixed(m, inputs) ||
        (column = pithp_program_input(m->s, m->to, spec)) < 0)
        return false;
    for (int64_t k = m->columns->fixed; k < each->input_count; k++) {
        inputs[k] = one_hot(m, column, first, spec_of_input(each, k));
        if (inputs[k] < 0)
            return false;
        first += spec_of_input(each, k)->count;
    }
    pithp_value *outputs = inputs + each->input_count;
    return pithp_program_inline(m->s, m->to, each, inputs, outputs) &&
           add_outputs(m, outputs, each->output_count);
}

static pithp_program *finish(const made *m, bool fine) {
    if (fine)
        return m->to;
    pithp_program_release(m->to);
    return NULL;
}

static pithp_program *one_column(pith_scope *s, const pithp_columns *c) {
    const made m = {s, c, pithp_program_make(s)};
    return finish(&m, m.to && add_one(&m));
}

/* ---- All columns ---- */

/* Add the batch of a program whose inputs from `first` on are of columns. */
static bool add_batch(const made *m,
                      const pithp_program *p,
                      int64_t first,
                      int64_t chunk,
                      const pithp_value *inputs,
                      pithp_value *outputs) {
    const pithp_columns *c = m->columns;
    bool *mapped =
        pithp_scope_allocate(m->s, (size_t)(p->input_count + p->output_count) + 1);
    if (!mapped)
        return false;
    bool *batched = mapped + p->input_count;
    memset(mapped, 0, (size_t)first);
    memset(mapped + first, 1, (size_t)(p->input_count - first));
    const pithp_chunk_options options = {.chunk = chunk};
    pithp_program *all =
        pithp_program_vmap_chunks(m->s, p, c->count, &options, mapped, batched);
    bool fine = all && pithp_program_inline(m->s, m->to, all, inputs, outputs);
    pithp_program_release(all);
    for (int64_t k = c->first; k < p->output_count && fine; k++)
        if (!batched[k])
            fine = (outputs[k] = repeat(m, outputs[k], c->count)) >= 0;
    return fine && add_outputs(m, outputs, p->output_count);
}

/* A batch over the numbers of columns. */
static bool add_numbered(const made *m, const pithp_program *one, int64_t chunk) {
    const pithp_columns *c = m->columns;
    const pith_spec like = {.rank = 1, .shape = {c->count}, .count = c->count};
    pithp_value *inputs = values_for(m->s, one);
    if (!inputs || !add_fixed(m, inputs))
        return false;
    inputs[c->fixed] = count_up(m, &like);
    return inputs[c->fixed] >= 0 &&
           add_batch(m, one, c->fixed, chunk, inputs, inputs + one->input_count);
}

/* All unit vectors of an input, whose first column is `first`, as a literal. */
static pithp_value unit_vectors(const made *m, int64_t first, const pith_spec *like) {
    int64_t shape[PITHP_MAX_RANK + 1] = {m->columns->count};
    memcpy(shape + 1, like->shape, (size_t)like->rank * sizeof *shape);
    const pith_spec *spec = pithp_spec_of_value(m->s, like->dtype, like->rank + 1, shape);
    const size_t size = pith_dtype_size(like->dtype);
    char *elements = spec ? pithp_scope_allocate(m->s, spec->bytes + 1) : NULL;
    uint64_t one = 0;
    if (!elements)
        return -1;
    memset(elements, 0, spec->bytes);
    pithp_dtype_encode(like->dtype, 1, &one);
    for (int64_t k = 0; k < like->count; k++)
        memcpy(elements + (size_t)((first + k) * like->count + k) * size, &one, size);
    return pithp_program_literal(m->s, m->to, spec, elements);
}

/* A batch over unit vectors that are literals. */
static bool add_literal(const made *m) {
    const pithp_columns *c = m->columns;
    pithp_value *inputs = values_for(m->s, c->each);
    int64_t first = 0;
    if (!inputs || !add_fixed(m, inputs))
        return false;
    for (int64_t k = c->fixed; k < c->each->input_count; k++) {
        const pith_spec *spec = spec_of_input(c->each, k);
        if ((inputs[k] = unit_vectors(m, first, spec)) < 0)
            return false;
        first += spec->count;
    }
    return add_batch(m, c->each, c->fixed, c->count, inputs,
                     inputs + c->each->input_count);
}

/* Bytes that a column takes: its ends, and values between them. */
static size_t bytes_of_column(const pithp_columns *c) {
    const pithp_program *p = c->each;
    size_t ends = 0, most = 0;
    for (int64_t k = c->fixed; k < p->input_count; k++)
        ends += spec_of_input(p, k)->bytes;
    for (int64_t k = c->first; k < p->output_count; k++)
        ends += pithp_value_spec(p, p->outputs[k])->bytes;
    for (int64_t k = 0; k < p->instruction_count; k++)
        for (int r = 0; r < p->instructions[k].result_count; r++) {
            const size_t bytes =
                pithp_value_spec(p, p->instructions[k].result + r)->bytes;
            most = bytes > most ? bytes : most;
        }
    return ends + LIVE_VALUES * most + 1;
}

/* Columns in one batch. */
static int64_t chunk_of(const pithp_columns *c, int64_t most) {
    const size_t fit = PITHP_COLUMNS_BYTES / bytes_of_column(c);
    return most ? most : fit ? (int64_t)fit : 1;
}

/* Whether the unit vectors of all columns are few bytes. */
static bool is_small(const pithp_columns *c) {
    size_t bytes = 0;
    for (int64_t k = c->fixed; k < c->each->input_count; k++)
        bytes += spec_of_input(c->each, k)->bytes;
    return bytes <= LITERAL_BYTES / (size_t)c->count;
}

pithp_program *
pithp_columns_program(pith_scope *s, const pithp_columns *c, int64_t most) {
    const int64_t chunk = chunk_of(c, most);
    const bool literal = chunk >= c->count && is_small(c);
    pithp_program *one = literal ? NULL : one_column(s, c);
    const made m = {s, c, literal || one ? pithp_program_make(s) : NULL};
    const bool fine = m.to && (literal ? add_literal(&m) : add_numbered(&m, one, chunk));
    pithp_program_release(one);
    return finish(&m, fine);
}
