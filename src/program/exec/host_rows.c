/* Row-wise fusion at run time: the members of a band, a few rows at a time. Its scatters
 * follow each block of rows. */
#include "program/exec/call.h"
#include "program/exec/exec.h"
#include "program/host/gather.h"
#include "program/host/move.h"
#include "program/plan/fuse_rows.h"

#include <string.h>

/* The loop arguments of a member, and in them the address of an operand or result. */
static void *loop_args(pithp_band_member *m) {
    return (char *)m + m->args;
}

static char **data_of(pithp_band_member *m, int external) {
    pithp_fused_args *fused = loop_args(m);
    pithp_fused_reduce_args *made = loop_args(m);
    pithp_reduce_args *reduce = loop_args(m);
    pithp_index_args *take = loop_args(m);
    switch (m->doing) {
        case PITHP_BAND_FUSES:
            return &fused->data[external];
        case PITHP_BAND_REDUCES:
        case PITHP_BAND_REDUCES_COLUMNS:
            return external ? &reduce->to : (char **)(void *)&reduce->from;
        case PITHP_BAND_TAKES:
            return &take->to;
        case PITHP_BAND_MAP_REDUCES:
            break;
    }
    char **at = (char **)(void *)made->state;
    return at + external < (char **)(void *)(made->state + made->state_bytes)
               ? at + external
               : &made->reduce.to;
}

/* Row 0 of buffer b, while the rows from i on are computed. */
static char *buffer_of(const pithp_band_args *a, int b, char *own, int64_t i) {
    char *memory = a->buffers[b].memory;
    const int64_t before = (memory ? a->first : i) * a->buffers[b].row_bytes;
    return (char *)((uintptr_t)(memory ? memory : own) +
                    (uintptr_t)(a->buffers[b].offset - before));
}

/* The launch's indices are rows, from the first one on. */
static inline void run_rows(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    static const pithp_host_loop *const loops[] = {
        [PITHP_BAND_FUSES] = pithp_fused_loops,
        [PITHP_BAND_REDUCES] = pithp_reduce_row_loops,
        [PITHP_BAND_REDUCES_COLUMNS] = pithp_reduce_column_loops,
        [PITHP_BAND_MAP_REDUCES] = pithp_reduce_fused_loops,
        [PITHP_BAND_TAKES] = pithp_take_loops};
    pithp_band_args a;
    _Alignas(64) char buffers[PITHP_BAND_BUFFER_BYTES];
    memcpy(&a, args,
           offsetof(pithp_band_args, members) + ((const pithp_band_args *)args)->bytes);
    for (int64_t i = a.first + begin, n; i < a.first + end; i += n) {
        n = a.first + end - i < a.at_once ? a.first + end - i : a.at_once;
        char *at = a.members;
        for (int k = 0; k < a.member_count; k++) {
            pithp_band_member *m = (pithp_band_member *)(void *)at;
            at += m->bytes;
            for (int b = 0; b < m->buffered_count; b++)
                *data_of(m, m->buffered[b].external) =
                    buffer_of(&a, m->buffered[b].buffer, buffers, i);
            loops[m->doing][isa](loop_args(m), i * m->each, (i + n) * m->each);
        }
    }
}
PITHP_LOOPS(run_rows)

typedef struct band_binding {
    const pithp_exec *r;
    int64_t first, end, scatters; /* steps; scatters: the first of them, or the end */
    int64_t rows;
    int32_t buffer_count;
    pithp_value buffered[PITHP_BAND_BUFFERS];
    pithp_band_args args;
} band_binding;

/* The memory for a block of updates, if a value has it. */
static char *block_of(const band_binding *x, pithp_value v) {
    for (int64_t k = x->scatters; k < x->end; k++) {
        const pithp_step *step = &x->r->plan->steps[k];
        if (step->produced == v && step->block_bytes)
            return x->r->workspace + step->temporary;
    }
    return NULL;
}

/* Add the buffer of a value, which is the last one from `offset` on, if it has one. */
static void add_buffer(band_binding *x, pithp_value v, int64_t *offset) {
    const pithp_plan *plan = x->r->plan;
    if (!pithp_is_buffered(plan, v))
        return;
    for (int32_t b = 0; b < x->buffer_count; b++)
        if (x->buffered[b] == v)
            return;
    const int64_t bytes = (int64_t)plan->program->values[v].spec->bytes / x->rows;
    const int32_t number = x->buffer_count++;
    x->buffered[number] = v;
    x->args.buffers[number].row_bytes = bytes;
    x->args.buffers[number].memory = block_of(x, v);
    if (x->args.buffers[number].memory)
        return;
    x->args.buffers[number].offset = *offset;
    *offset += pithp_band_buffer_bytes(x->args.at_once, bytes);
}

/* Lay out the buffers of values without memory. */
static void lay_out(band_binding *x) {
    int64_t offset = 0;
    for (int64_t k = x->first; k < x->scatters; k++) {
        const pithp_step *step = &x->r->plan->steps[k];
        if (step->kind != PITHP_STEP_FUSED)
            add_buffer(x, step->call->result, &offset);
        else
            for (int e = 0; e < step->fused->external_count; e++)
                add_buffer(x, step->operands[e].value, &offset);
    }
}

static void
note_buffer(const band_binding *x, pithp_band_member *m, int external, pithp_value v) {
    for (int32_t b = 0; b < x->buffer_count; b++)
        if (x->buffered[b] == v)
            m->buffered[m->buffered_count++] =
                (pithp_band_buffered){(uint16_t)external, (uint16_t)b};
}

static size_t bind_fused(const band_binding *x, pithp_band_member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k];
    const pithp_compiled *code = x->r->code;
    m->args = pithp_band_args_at(step->fused->external_count);
    m->each = step->spec->count / x->rows;
    for (int e = 0; e < step->fused->external_count; e++)
        note_buffer(x, m, e, step->operands[e].value);
    return pithp_fused_bind(x->r, step, code ? code->steps[k].loops[0] : NULL,
                            loop_args(m));
}

static pithp_reduce_args reduction_of(const band_binding *x, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_call call = pithp_call_of(i->primitive, 1, step->specs, i->params);
    const pithp_reduce_view view = pithp_reduce_view_of(&call);
    const void *from = pithp_address(x->r, step->produced);
    const pithp_memory memory = {.operands = &from,
                                 .result = pithp_address(x->r, i->result)};
    return pithp_reduce_args_of(&call, step->spec, &memory, &view);
}

static size_t bind_reduction(const band_binding *x, pithp_band_member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k];
    m->args = pithp_band_args_at(2);
    pithp_reduce_args *args = loop_args(m);
    *args = reduction_of(x, step);
    m->doing = args->inner == 1 ? PITHP_BAND_REDUCES : PITHP_BAND_REDUCES_COLUMNS;
    m->each = args->outer / x->rows * args->tiles;
    note_buffer(x, m, 0, step->produced);
    note_buffer(x, m, 1, step->call->result);
    return sizeof *args;
}

static pithp_call call_of(const pithp_step *step) {
    const pithp_instruction *i = step->call;
    return pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
}

static size_t bind_take(const band_binding *x, pithp_band_member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k];
    const pithp_instruction *i = step->call;
    const pithp_call call = call_of(step);
    const void *operands[2];
    for (int o = 0; o < 2; o++)
        operands[o] = pithp_address(x->r, pithp_operands(x->r->plan->program, i)[o]);
    m->args = pithp_band_args_at(2);
    pithp_index_args *args = loop_args(m);
    *args = pithp_index_args_of(&call, &(pithp_memory){.operands = operands}, 1,
                                call.operands[1]->count);
    args->to = pithp_address(x->r, i->result);
    m->doing = PITHP_BAND_TAKES;
    m->each = step->spec->count / args->inner / x->rows;
    note_buffer(x, m, 0, i->result);
    return sizeof *args;
}

/* Bind compiled map-reduce code: a fused step and the next step, which reduces it. */
static size_t bind_map_reduce(const band_binding *x, pithp_band_member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k], *reduction = step + 1;
    const int externals = step->fused->external_count;
    m->args = pithp_band_args_at(externals + 1);
    pithp_fused_reduce_args *args = loop_args(m);
    args->reduce = reduction_of(x, reduction);
    args->map_reduce = x->r->code->steps[k].loops[0];
    args->state_bytes = pithp_map_reduce_bind(x->r, step, (char **)(void *)args->state);
    m->doing = PITHP_BAND_MAP_REDUCES;
    m->each = args->reduce.outer / x->rows;
    for (int e = 0; e < externals; e++)
        note_buffer(x, m, e, step->operands[e].value);
    note_buffer(x, m, externals, reduction->call->result);
    return offsetof(pithp_fused_reduce_args, state) + args->state_bytes;
}

/* ---- Scatters ---- */

/* Begin the arrays of all scatters. */
static pith_status begin_scatters(const band_binding *x) {
    const pithp_exec *r = x->r;
    const pithp_sink sink = pithp_scope_sink(r->s);
    pith_status rc = PITH_OK;
    for (int64_t k = x->scatters; k < x->end && rc == PITH_OK; k++) {
        const pithp_step *step = &r->plan->steps[k];
        const pithp_instruction *i = step->call;
        rc = pithp_launch_copy(
            &sink, pithp_ops[i->primitive].name, pithp_address(r, i->result),
            pithp_address(r, pithp_operands(r->plan->program, i)[0]),
            (int32_t)pith_dtype_size(step->spec->dtype), step->spec->count);
    }
    return rc;
}

/* The updates of n rows from the band's first one on. */
static pithp_scatter_part
part_of(const band_binding *x, const pithp_step *step, int64_t n) {
    const pithp_exec *r = x->r;
    const pithp_instruction *i = step->call;
    const pithp_call call = call_of(step);
    const void *operands[PITHP_MAX_RANK + 2];
    for (int o = 0; o < i->operand_count; o++)
        operands[o] = pithp_address(r, pithp_operands(r->plan->program, i)[o]);
    const int64_t each = call.operands[1]->count / x->rows;
    pithp_scatter_part part = {
        .of = pithp_scatter_args_of(
            &call,
            &(pithp_memory){.operands = operands, .result = pithp_address(r, i->result)}),
        .at = x->args.first * each,
        .n = n * each};
    const char *block = block_of(x, step->produced),
               *all = pithp_address(r, step->produced);
    part.of.updates = block ? block : all + part.at * part.of.inner * part.of.size;
    return part;
}

/* Scatter the updates of n rows from the band's first one on. */
static pith_status scatter_rows(const band_binding *x, int64_t n) {
    const pithp_sink sink = pithp_scope_sink(x->r->s);
    pithp_scatter_part parts[PITHP_SCATTER_PARTS];
    pith_status rc = PITH_OK;
    for (int64_t k = x->scatters; k < x->end && rc == PITH_OK;) {
        const pithp_step *step = &x->r->plan->steps[k];
        int count = 0;
        for (; k < x->end && count < PITHP_SCATTER_PARTS; k++)
            parts[count++] = part_of(x, &x->r->plan->steps[k], n);
        rc = pithp_launch_scatter_parts(pithp_ops[step->call->primitive].name, parts,
                                        count, &sink);
    }
    return rc;
}

/* ---- Runs ---- */

static pith_status launch_rows(const band_binding *x, int64_t n) {
    const pithp_launch launch = {.name = "band",
                                 .loops = run_rows_loops,
                                 .args = &x->args,
                                 .args_bytes =
                                     offsetof(pithp_band_args, members) + x->args.bytes,
                                 .count = n,
                                 .grain = x->args.at_once};
    return pithp_launch_run(x->r->s, &launch);
}

/* Blocks of rows, each followed by its scatters. */
static pith_status run_blocks(band_binding *x, int64_t block) {
    pith_status rc = begin_scatters(x);
    for (int64_t n; x->args.first < x->rows && rc == PITH_OK; x->args.first += n) {
        n = x->rows - x->args.first < block ? x->rows - x->args.first : block;
        rc = launch_rows(x, n);
        if (rc == PITH_OK)
            rc = scatter_rows(x, n);
    }
    return rc;
}

/* The first scatter of a band, or its end. */
static int64_t find_scatters(const pithp_step *steps, int64_t first, int64_t end) {
    while (first < end && !pithp_is_band_scatter(&steps[first]))
        first++;
    return first;
}

pith_status pithp_run_band(const pithp_exec *r, int64_t first) {
    const pithp_step *steps = r->plan->steps;
    band_binding x = {.r = r,
                      .first = first,
                      .end = first + steps[first].band,
                      .rows = steps[first].band_rows};
    x.scatters = find_scatters(steps, first, x.end);
    x.args.at_once = steps[first].band_at_once;
    lay_out(&x);
    for (int64_t k = first; k < x.scatters; k++) {
        pithp_band_member *m =
            (pithp_band_member *)(void *)(x.args.members + x.args.bytes);
        const bool map_reduces = r->code && r->code->steps[k].map_reduces;
        *m = (pithp_band_member){.doing = PITHP_BAND_FUSES};
        const size_t args = pithp_is_band_take(&steps[k])       ? bind_take(&x, m, k)
                            : steps[k].kind != PITHP_STEP_FUSED ? bind_reduction(&x, m, k)
                            : map_reduces ? bind_map_reduce(&x, m, k)
                                          : bind_fused(&x, m, k);
        m->bytes = m->args + pithp_band_aligned(args);
        x.args.bytes += m->bytes;
        x.args.member_count++;
        k += map_reduces; /* the code includes the reduction */
    }
    return steps[first].band_block ? run_blocks(&x, steps[first].band_block)
                                   : launch_rows(&x, x.rows);
}
