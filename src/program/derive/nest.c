/* Scans as nests of scans: the choice of lengths, and the programs. */
#include "program/derive/nest.h"

#include <string.h>

/* ---- Lengths ---- */

/* The root of a count, rounded up: root ^ power >= count. */
static int64_t root_of(int64_t count, int power) {
    int64_t root = 1;
    for (;; root++) {
        int64_t reach = 1;
        for (int k = 0; k < power && reach < count; k++)
            reach *= root;
        if (reach >= count)
            return root;
    }
}

enum { MOST_STEPS = 10000 };

static int64_t times(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX / 8 : r;
}

/* Carries of all chunks that are in no other and residuals of single steps; while a chunk
 * is computed again, those in it too. */
static int64_t bytes_of(const pithp_nest *n, const pithp_nest_costs *costs) {
    const int64_t carry = costs->carry, residual = costs->residual;
    int64_t bytes = times(n->counts[1], residual), inner = 0, most = 0;
    for (int k = 2; k <= n->levels; k++) {
        inner += k == 2 ? times(n->sizes[2], residual)
                        : times(n->sizes[k] / n->sizes[k - 1], carry);
        most = n->counts[k] ? inner : most;
        bytes += times(n->counts[k], carry);
    }
    return bytes + (most > costs->beside ? most : costs->beside);
}

/* The number next to `wanted` that divides a count, and is at least 2 and less than the
 * count; 0: none. */
static int64_t divisor_near(int64_t count, int64_t wanted) {
    for (int64_t off = 0; off < count; off++) {
        if (wanted - off >= 2 && wanted - off < count && count % (wanted - off) == 0)
            return wanted - off;
        if (wanted + off >= 2 && wanted + off < count && count % (wanted + off) == 0)
            return wanted + off;
        if (wanted + off >= count && wanted - off < 2)
            break;
    }
    return 0;
}

/* Lengths for chunks of the lowest level that have `steps` steps. even: chunks of the
 * highest level are all. levels is 0 if there are no such lengths. */
static pithp_nest nest_of(int levels, int64_t length, int64_t steps, bool even) {
    pithp_nest n = {.levels = levels, .length = length, .sizes = {1, 1, steps}};
    int64_t left = even ? length / steps : (length + steps - 1) / steps, rest = length;
    if (even && length % steps)
        return (pithp_nest){0};
    for (int k = 3; k <= levels; k++) {
        const int64_t root = root_of(left, levels - k + 2),
                      each = even ? divisor_near(left, root) : root;
        if (each < 2)
            return (pithp_nest){0};
        n.sizes[k] = times(n.sizes[k - 1], each);
        left = (left + each - 1) / each;
    }
    for (int k = levels; k >= 1; k--) {
        n.counts[k] = rest / n.sizes[k];
        rest -= n.counts[k] * n.sizes[k];
    }
    return n.counts[levels] > 1 ? n : (pithp_nest){0};
}

pithp_nest pithp_nest_choose(int levels, int64_t length, const pithp_nest_costs *costs) {
    pithp_nest best = {
        .levels = 1, .length = length, .sizes = {1, 1}, .counts = {0, length}};
    best.bytes = times(length, costs->residual) + costs->beside;
    if (levels == 1)
        return best;
    best = (pithp_nest){.bytes = INT64_MAX};
    /* Steps of the lowest level are tried up to the first that needs more bytes. */
    for (int64_t steps = 1; steps < length && steps < MOST_STEPS; steps++) {
        pithp_nest n = nest_of(levels, length, steps, costs->even);
        n.bytes = bytes_of(&n, costs);
        if (n.levels && n.bytes < best.bytes)
            best = n;
        if (times(steps, costs->residual) > best.bytes)
            break;
    }
    return best;
}

/* ---- Programs ---- */

typedef struct making {
    pith_scope *s;
    const pithp_instruction *i;
    const pithp_program *body;
    pithp_loop_params loop; /* of the steps of the nest */
    int fixed;              /* operands that are no xs */
    int carries;            /* results that are no ys */
    const pithp_nest *nest;
    pithp_program *chunks[PITHP_MOST_LEVELS + 1]; /* by level; 1: the body */
} making;

/* Rows of `steps` steps for one of a step; flat: as one axis. */
static const pith_spec *
rows_spec(const making *m, const pith_spec *row, int64_t count, bool flat) {
    int64_t shape[PITHP_MAX_RANK + 1] = {flat ? times(count, row->count) : count};
    for (int d = 0; !flat && d < row->rank; d++)
        shape[d + 1] = row->shape[d];
    return pithp_spec_of_value(m->s, row->dtype, flat ? 1 : row->rank + 1, shape);
}

/* The rows that a chunk of a level takes and gives. */
static const pith_spec *chunk_spec(const making *m, int level, const pith_spec *row) {
    return level == 1 ? row : rows_spec(m, row, m->nest->sizes[level], true);
}

static pithp_value
reshape(const making *m, pithp_program *p, pithp_value x, const pith_spec *to) {
    pithp_reshape_params params = {0};
    if (x < 0 || !to || pithp_value_spec(p, x) == to)
        return to ? x : -1;
    params.rank = to->rank;
    memcpy(params.shape, to->shape, (size_t)to->rank * sizeof *params.shape);
    return pithp_program_add(m->s, p, PITHP_OP_RESHAPE, 1, &x, &params, m->i->site);
}

static const pith_spec *input_row(const making *m, int k) {
    return pithp_value_spec(m->body, m->body->inputs[k]);
}
static const pith_spec *output_row(const making *m, int k) {
    return pithp_value_spec(m->body, m->body->outputs[k]);
}

/* Add a scan of `count` chunks of a level. operands: xs have any shape. results: receives
 * carries and rows, as the scan gives them. */
static bool add_scan(const making *m,
                     pithp_program *p,
                     int level,
                     int64_t count,
                     pithp_value *operands,
                     pithp_value *results) {
    pithp_loop_params loop = m->loop;
    bool fine = true;
    for (int k = m->fixed; k < m->i->operand_count && fine; k++) {
        const pith_spec *row = chunk_spec(m, level, input_row(m, k));
        fine = row && (operands[k] = reshape(m, p, operands[k],
                                             rows_spec(m, row, count, false))) >= 0;
    }
    loop.length = count;
    loop.unroll = level == 1 ? loop.unroll : 1;
    loop.chunk *= level == 1 ? 1 : m->nest->sizes[level];
    const pithp_new_instruction scan = {.primitive = PITHP_OP_SCAN,
                                        .operand_count = m->i->operand_count,
                                        .operands = operands,
                                        .params = &loop,
                                        .program_count = 1,
                                        .programs = &m->chunks[level],
                                        .site = m->i->site};
    const pithp_value first = fine ? pithp_program_add_many(m->s, p, &scan) : -1;
    for (int k = 0; k < m->i->result_count; k++)
        results[k] = first + k;
    return first >= 0;
}

/* The chunk of a level above 1: a group, so that only what enters it is kept. */
static bool
fill_chunk(const making *m, pithp_program *p, int level, pithp_value *memory) {
    const int operands = m->i->operand_count;
    pithp_value *in = memory, *out = memory + operands;
    bool fine = true;
    for (int k = 0; k < operands && fine; k++) {
        const pith_spec *spec = chunk_spec(m, k < m->fixed ? 1 : level, input_row(m, k));
        fine = spec && (in[k] = pithp_program_input(m->s, p, spec)) >= 0;
    }
    p->remat = (pithp_remat){.group = p->groups = 1, .whole = true};
    fine = fine && add_scan(m, p, level - 1,
                            m->nest->sizes[level] / m->nest->sizes[level - 1], in, out);
    for (int k = 0; k < m->i->result_count && fine; k++) {
        if (k >= m->carries)
            out[k] = reshape(m, p, out[k], chunk_spec(m, level, output_row(m, k)));
        fine = out[k] >= 0 && pithp_program_output(m->s, p, out[k]);
    }
    p->remat = (pithp_remat){0};
    return fine;
}

/* ---- The loop ---- */

/* Steps from `first` on of all xs. */
static bool take_rows(const making *m,
                      pithp_program *p,
                      int64_t first,
                      int64_t count,
                      const pithp_value *all,
                      pithp_value *operands) {
    bool fine = true;
    for (int k = m->fixed; k < m->i->operand_count && fine; k++) {
        const pith_spec *spec = pithp_value_spec(p, all[k]);
        pithp_slice_params slice = {{first}, {first + count}, {1}};
        for (int d = 1; d < spec->rank; d++) {
            slice.limit[d] = spec->shape[d];
            slice.step[d] = 1;
        }
        operands[k] = count == m->loop.length
                          ? all[k]
                          : pithp_program_add(m->s, p, PITHP_OP_SLICE, 1, &all[k], &slice,
                                              m->i->site);
        fine = operands[k] >= 0;
    }
    return fine;
}

/* Add all levels. rows: of each result, by level from the first steps on. */
static bool add_levels(const making *m,
                       pithp_program *p,
                       pithp_value *operands,
                       pithp_value *all,
                       pithp_value *rows,
                       int *parts) {
    const int n = m->i->result_count;
    int64_t done = 0;
    bool fine = true;
    *parts = 0;
    for (int k = m->nest->levels; k >= 1 && fine; k--) {
        const int64_t count = m->nest->counts[k], steps = count * m->nest->sizes[k];
        if (!steps && m->loop.length)
            continue;
        const int64_t first = m->loop.reverse ? m->loop.length - done - steps : done;
        pithp_value *results = rows + *parts * n;
        fine = take_rows(m, p, first, steps, all, operands) &&
               add_scan(m, p, k, count, operands, results);
        for (int r = 0; r < n && fine; r++)
            if (r < m->carries)
                operands[m->loop.constants + r] = results[r];
            else
                fine = (results[r] =
                            reshape(m, p, results[r],
                                    rows_spec(m, output_row(m, r), steps, false))) >= 0;
        done += steps;
        ++*parts;
    }
    return fine;
}

/* The rows of all levels as one array. */
static pithp_value
join_rows(const making *m, pithp_program *p, const pithp_value *rows, int parts, int r) {
    const int n = m->i->result_count;
    pithp_value list[PITHP_MOST_LEVELS];
    for (int k = 0; k < parts; k++)
        list[m->loop.reverse ? parts - 1 - k : k] = rows[k * n + r];
    return parts == 1 ? list[0]
                      : pithp_program_add(m->s, p, PITHP_OP_CONCATENATE, parts, list,
                                          &(pithp_concatenate_params){0}, m->i->site);
}

static bool fill_loop(const making *m, pithp_program *p, pithp_value *memory) {
    const int operands = m->i->operand_count, n = m->i->result_count;
    pithp_value *now = memory, *all = memory + operands, *rows = memory + 2 * operands;
    bool fine = true;
    int parts;
    for (int k = 0; k < operands && fine; k++) {
        const pith_spec *row = input_row(m, k),
                        *spec =
                            k < m->fixed ? row : rows_spec(m, row, m->loop.length, false);
        fine = spec && (now[k] = all[k] = pithp_program_input(m->s, p, spec)) >= 0;
    }
    fine = fine && add_levels(m, p, now, all, rows, &parts);
    for (int r = 0; r < n && fine; r++) {
        const pithp_value v =
            r < m->carries ? now[m->loop.constants + r] : join_rows(m, p, rows, parts, r);
        fine = v >= 0 && pithp_program_output(m->s, p, v);
    }
    return fine;
}

static pithp_program *
make_one(pith_scope *s, const pithp_instruction *i, const pithp_nest *nest) {
    making m = {.s = s,
                .i = i,
                .body = i->programs[0],
                .loop = *(const pithp_loop_params *)i->params,
                .nest = nest};
    const size_t count = 2 * (size_t)i->operand_count +
                         (PITHP_MOST_LEVELS + 1) * (size_t)i->result_count + 1;
    pithp_value *memory = pithp_scope_allocate(s, count * sizeof *memory);
    bool fine = memory;
    m.loop.kept_bytes = 0;
    m.loop.length = nest->length;
    m.fixed = m.loop.constants + m.loop.carries;
    m.carries = m.loop.carries;
    m.chunks[1] = i->programs[0];
    for (int k = 2; k <= nest->levels && fine; k++)
        fine = (m.chunks[k] = pithp_program_make(s)) &&
               fill_chunk(&m, m.chunks[k], k, memory);
    pithp_program *p = fine ? pithp_program_make(s) : NULL;
    if (p && !fill_loop(&m, p, memory)) {
        pithp_program_release(p);
        p = NULL;
    }
    for (int k = 2; k <= nest->levels; k++)
        pithp_program_release(m.chunks[k]);
    return p;
}

/* One after the other: the carries of a go on in b. */
static bool join_two(pith_scope *s,
                     const pithp_program *a,
                     const pithp_program *b,
                     int64_t carry,
                     pithp_program *to,
                     pithp_value *values) {
    bool fine = true;
    for (int64_t k = 0; k < a->input_count && fine; k++)
        fine = (values[k] =
                    pithp_program_input(s, to, pithp_value_spec(a, a->inputs[k]))) >= 0;
    fine = fine && pithp_program_inline(s, to, a, values, values + carry) &&
           pithp_program_inline(s, to, b, values, values + carry);
    for (int64_t k = 0; k < b->output_count && fine; k++)
        fine = pithp_program_output(s, to, values[carry + k]);
    return fine;
}

pithp_program *
pithp_nest_make(pith_scope *s, const pithp_instruction *i, const pithp_nest nests[2]) {
    pithp_program *a = make_one(s, i, &nests[0]);
    if (!a || !nests[1].levels)
        return a;
    const size_t bytes = (size_t)(a->input_count + 1) * sizeof(pithp_value);
    pithp_value *values = pithp_scope_allocate(s, bytes);
    pithp_program *b = values ? make_one(s, i, &nests[1]) : NULL,
                  *both = b ? pithp_program_make(s) : NULL;
    const int64_t carry = ((const pithp_loop_params *)i->params)->constants;
    if (both && !join_two(s, a, b, carry, both, values)) {
        pithp_program_release(both);
        both = NULL;
    }
    pithp_program_release(a);
    pithp_program_release(b);
    return both;
}
