/* Bands: neighbouring steps that work row by row, some of them reductions of rows, run a
 * few rows at a time: a softmax reads its operand once, and what lies between its steps
 * stays in cache. The order within a row is that of the steps, so bits are theirs.
 *
 * A band has `rows` rows of `length` elements. Its steps have so many elements or one a
 * row, and read what is made in the band where the row at hand lies. */
#include "program/exec/tier.h"
#include "program/host/reduce.h"
#include "program/plan/plan.h"

#include <string.h>

enum {
    LEAST_ELEMENTS = 4097, /* loops that are compiled as a whole take steps as they are */
    AT_ONCE = 2048,        /* elements, or one row */
    ALIGNED = 64, /* rows of them begin where the first does in a line of cache */
    BUFFERS = 8,  /* values that have no other memory */
    BUFFER_BYTES = 3 * PITHP_REDUCE_BLOCK * sizeof(uint64_t) /* of all */
};

typedef struct band {
    pithp_planning *g;
    int64_t rows, length;
    int32_t first, end; /* steps */
    size_t bytes;       /* of arguments, at most */
} band;

/* An operand or result that lies in a buffer: an external of a fused step; of a reduction
 * 0 the operand and 1 the result; of both in one the externals and, behind them, the
 * result. */
typedef struct buffered {
    uint8_t external, buffer;
} buffered;

/* A step of a band in the arguments of a launch, or two of them: compiled code FOLDS what
 * the first makes, and the second, a reduction, alone reads. Those of its loops follow.
 */
typedef enum doing { FUSES, REDUCES, FOLDS } doing;
typedef struct member {
    size_t bytes; /* all */
    int64_t each; /* indices of its loops in a row */
    doing doing;
    uint8_t buffered_count;
    buffered buffered[PITHP_FUSED_EXTERNALS];
} member;
enum {
    MEMBER_ALIGN = 16,
    MEMBER_BYTES = (sizeof(member) + MEMBER_ALIGN - 1) / MEMBER_ALIGN * MEMBER_ALIGN
};

typedef struct band_args {
    int64_t at_once; /* rows */
    struct {
        int64_t offset, row_bytes;
    } buffers[BUFFERS];
    size_t bytes; /* of the members */
    int32_t member_count;
    _Alignas(MEMBER_ALIGN) char members[PITHP_LAUNCH_ARGS - 256];
} band_args;
_Static_assert(sizeof(band_args) <= PITHP_LAUNCH_ARGS, "one launch takes them");

static size_t aligned(size_t bytes) {
    return (bytes + MEMBER_ALIGN - 1) / MEMBER_ALIGN * MEMBER_ALIGN;
}

/* Rows at once, and the memory that a buffer takes. */
static int64_t rows_at_once(int64_t length) {
    const int64_t rows = length < AT_ONCE ? AT_ONCE / length : 1;
    return rows > ALIGNED ? rows / ALIGNED * ALIGNED : rows;
}
static int64_t buffer_bytes(int64_t at_once, int64_t row_bytes) {
    return (at_once * row_bytes + 63) / 64 * 64;
}

/* ---- Planning: which steps ---- */

/* Whether something of an operand is made in the band, before step k. */
static bool is_made(const band *b, pithp_value operand, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_bases from = pithp_plan_bases(g, operand);
    bool made = false;
    for (int n = 0; n < from.count; n++) {
        const pithp_value base = from.list[n];
        made |= !g->is_virtual[base] && g->step[base] >= b->first && g->step[base] < k;
    }
    return made;
}

/* Whether an operand of step k is what lies in the row at hand, element for element or
 * one element for all of it; what is there before the band may be read anywhere. */
static bool
is_row_wise(const band *b, pithp_value operand, const pith_spec *to, int32_t k) {
    const pithp_planning *g = b->g;
    if (!is_made(b, operand, k))
        return true;
    if (g->is_pieced[operand])
        return false;
    const pithp_view own = pithp_plan_view(g, operand),
                     view = pithp_view_broadcast(&own, g->p->values[operand].spec, to);
    const int64_t count = g->p->values[view.base].spec->count, row = to->count / b->rows;
    const bool whole = count == to->count;
    int64_t behind = 1; /* elements of the dimensions after d */
    bool row_wise = view.offset == 0 && (whole || count == b->rows);
    for (int d = to->rank - 1; d >= 0 && row_wise; behind *= to->shape[d--]) {
        if (to->shape[d] == 1)
            continue;
        if (whole || behind >= row)
            row_wise = view.stride[d] == (whole ? behind : behind / row);
        else
            row_wise = view.stride[d] == 0 && row % (behind * to->shape[d]) == 0;
    }
    return row_wise;
}

/* Rows and their length of a step that reduces rows of one block. */
static bool
reduces_rows(const pithp_planning *g, int32_t k, int64_t *rows, int64_t *length) {
    const pith_spec *specs[1];
    const pithp_instruction *i = g->plan->steps[k].call;
    if (!i || i->primitive < PITHP_OP_SUM || i->primitive > PITHP_OP_ALL)
        return false;
    const pithp_call call = pithp_instruction_call(g->p, i, specs);
    const pithp_reduce_view v = pithp_reduce_view_of(&call);
    *rows = v.outer;
    *length = v.length;
    return specs[0]->count >= LEAST_ELEMENTS && v.blocks == 1 && v.inner == 1 &&
           v.length > 1 && v.outer > 1 && pithp_reduce_takes_source(&call);
}

static size_t bytes_of(const pithp_step *step) {
    return MEMBER_BYTES + aligned(step->call
                                      ? sizeof(pithp_reduce_args)
                                      : offsetof(pithp_fused_args, externals) +
                                            (size_t)step->reads * sizeof(pithp_external));
}

/* Whether a fused step works row by row, and, unless the band begins with it, on what is
 * made in the band. */
static bool fused_fits(const band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_step *step = &g->plan->steps[k];
    bool fits = step->spec->count == b->rows || step->spec->count == b->rows * b->length;
    bool linked = k < b->first;
    for (pithp_value v = step->first; v >= 0 && fits; v = g->next[v]) {
        const pithp_instruction *i = pithp_maker(g->p, v);
        for (int o = 0; o < i->operand_count && fits; o++) {
            const pithp_value operand = pithp_operands(g->p, i)[o];
            linked |= is_made(b, operand, k);
            fits = is_row_wise(b, operand, step->spec, k);
        }
    }
    return fits && linked;
}

static pithp_value reduced_by(const band *b, int32_t k) {
    const pithp_instruction *i = b->g->plan->steps[k].call;
    return i ? b->g->root[pithp_operands(b->g->p, i)[0]] : -1;
}

/* Whether a step reduces rows of the band that others in it make or reduce. */
static bool reduction_fits(const band *b, int32_t k) {
    int64_t rows, length;
    if (!reduces_rows(b->g, k, &rows, &length) || rows != b->rows || length != b->length)
        return false;
    const pithp_value operand = reduced_by(b, k);
    bool linked = is_made(b, operand, k);
    for (int32_t n = b->first; n < k && !linked; n++)
        linked = reduced_by(b, n) == operand;
    return linked;
}

static bool fits(const band *b, int32_t k) {
    const pithp_step *step = &b->g->plan->steps[k];
    return !step->band && !step->is_source &&
           b->bytes + bytes_of(step) <= sizeof((band_args *)0)->members &&
           (step->call ? reduction_fits(b, k) : fused_fits(b, k));
}

/* ---- Planning: memory ---- */

static bool is_output(const pithp_planning *g, pithp_value v) {
    for (int64_t k = 0; k < g->p->output_count; k++)
        if (g->root[g->p->outputs[k]] == v)
            return true;
    return false;
}

/* A value that only the band sees. */
static bool is_inner(const band *b, pithp_value v) {
    return b->g->in_memory[v] && b->g->last_use[v] < b->end && !is_output(b->g, v);
}

static void choose_buffers(const band *b) {
    int64_t room = BUFFER_BYTES;
    int count = 0;
    for (int32_t k = b->first; k < b->end && count < BUFFERS; k++) {
        pithp_step *step = &b->g->plan->steps[k];
        pithp_value v = step->call ? step->call->result : step->first;
        while (v >= 0 && !is_inner(b, v))
            v = step->call ? -1 : b->g->next[v];
        if (v < 0)
            continue;
        const int64_t bytes = buffer_bytes(
            rows_at_once(b->length), (int64_t)b->g->p->values[v].spec->bytes / b->rows);
        if (bytes > room)
            continue;
        room -= bytes;
        step->unplaced = v;
        count++;
    }
}

static void prolong(const band *b, pithp_value v) {
    int32_t *last = &b->g->last_use[v];
    *last = *last < b->end - 1 ? b->end - 1 : *last;
}

/* All that a step reads or writes is there as long as the band runs. */
static void prolong_all(const band *b, const pithp_instruction *i) {
    pithp_prolong_operands(b->g, i, b->end - 1);
    prolong(b, i->result);
}

static bool reads(const band *b, const pithp_instruction *i, pithp_value v) {
    bool any = false;
    for (int o = 0; o < i->operand_count; o++) {
        const pithp_bases from = pithp_plan_bases(b->g, pithp_operands(b->g->p, i)[o]);
        for (int n = 0; n < from.count; n++)
            any |= from.list[n] == v;
    }
    return any;
}

/* Whether a reduction alone reads what the step before it makes for the band. */
static bool folds(const band *b, int32_t k) {
    const pithp_planning *g = b->g;
    const pithp_value made = k > b->first ? g->plan->steps[k - 1].unplaced : -1;
    bool alone = made >= 0 && g->plan->steps[k].call && !g->plan->steps[k - 1].call &&
                 reduced_by(b, k) == made;
    for (int32_t n = k + 1; n < b->end && alone; n++) {
        const pithp_step *step = &g->plan->steps[n];
        alone = !step->call || !reads(b, step->call, made);
        for (pithp_value v = step->first; !step->call && v >= 0 && alone; v = g->next[v])
            alone = !reads(b, pithp_maker(g->p, v), made);
    }
    return alone;
}

static void make_band(const band *b) {
    pithp_planning *g = b->g;
    choose_buffers(b);
    g->plan->steps[b->first].band = b->end - b->first;
    for (int32_t k = b->first; k < b->end; k++) {
        pithp_step *step = &g->plan->steps[k];
        step->is_source = k > b->first;
        if (folds(b, k))
            step[-1].folded = k;
        if (step->call) {
            prolong_all(b, step->call);
            step->source_value = g->root[pithp_operands(g->p, step->call)[0]];
        }
        for (pithp_value v = step->first; !step->call && v >= 0; v = g->next[v])
            prolong_all(b, pithp_maker(g->p, v));
    }
}

/* The band about a reduction: the step before it, if that makes its operand, and all
 * that fit after it. Returns the step behind it. */
static int32_t band_about(pithp_planning *g, int32_t k) {
    band b = {.g = g, .first = k, .end = k};
    reduces_rows(g, k, &b.rows, &b.length);
    if (k > 0 && g->step[reduced_by(&b, k)] == k - 1 && !g->plan->steps[k - 1].call &&
        fits(&b, k - 1)) {
        b.first = k - 1;
        b.bytes = bytes_of(&g->plan->steps[k - 1]);
    }
    do
        b.bytes += bytes_of(&g->plan->steps[b.end++]);
    while (b.end < g->plan->step_count && fits(&b, b.end));
    if (b.end - b.first < 2)
        return k + 1;
    make_band(&b);
    return b.end;
}

void pithp_plan_bands(pithp_planning *g) {
    int64_t rows, length;
    if (!g->plan->runs_fused || g->plan->scheduled)
        return;
    for (int32_t k = 0; k < g->plan->step_count;)
        k = reduces_rows(g, k, &rows, &length) ? band_about(g, k) : k + 1;
}

/* ---- Running ---- */

/* The loops' arguments of a member, and what points to the memory of one of them. */
static void *loop_args(member *m) {
    return (char *)m + MEMBER_BYTES;
}

static char **data_of(member *m, int external) {
    pithp_fused_args *fused = loop_args(m);
    pithp_made_args *made = loop_args(m);
    pithp_reduce_args *reduce = loop_args(m);
    switch (m->doing) {
        case FUSES:
            return &fused->externals[external].data;
        case REDUCES:
            return external ? &reduce->to : (char **)(void *)&reduce->from;
        case FOLDS:
            break;
    }
    char **at = (char **)(void *)made->state;
    return at + external < (char **)(void *)(made->state + made->state_bytes)
               ? at + external
               : &made->reduce.to;
}

/* Indices are rows. */
static inline void run_rows(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    static const pithp_host_loop *const loops[] = {[FUSES] = pithp_fused_loops,
                                                   [REDUCES] = pithp_reduce_row_loops,
                                                   [FOLDS] = pithp_reduce_made_loops};
    band_args a;
    _Alignas(64) char buffers[BUFFER_BYTES];
    memcpy(&a, args, offsetof(band_args, members) + ((const band_args *)args)->bytes);
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < a.at_once ? end - i : a.at_once;
        char *at = a.members;
        for (int k = 0; k < a.member_count; k++) {
            member *m = (member *)(void *)at;
            at += m->bytes;
            for (int b = 0; b < m->buffered_count; b++) { /* row i is the first there */
                const buffered x = m->buffered[b];
                *data_of(m, x.external) =
                    (char *)((uintptr_t)buffers +
                             (uintptr_t)(a.buffers[x.buffer].offset -
                                         i * a.buffers[x.buffer].row_bytes));
            }
            loops[m->doing][isa](loop_args(m), i * m->each, (i + n) * m->each);
        }
    }
}
PITHP_LOOPS(run_rows)

typedef struct binding {
    const pithp_running *r;
    int64_t first, end;     /* steps */
    pithp_reduce_view view; /* of its reductions */
    int32_t buffer_count;
    pithp_value buffered[BUFFERS];
    band_args args;
} binding;

/* The values without memory, and where they are. */
static void lay_out(binding *x) {
    const pithp_plan *plan = x->r->plan;
    int64_t offset = 0;
    for (int64_t k = x->first; k < x->end; k++) {
        const pithp_value v = plan->steps[k].unplaced;
        if (v < 0)
            continue;
        const int64_t bytes =
            (int64_t)plan->program->values[v].spec->bytes / x->view.outer;
        const int32_t number = x->buffer_count++;
        x->buffered[number] = v;
        x->args.buffers[number].offset = offset;
        x->args.buffers[number].row_bytes = bytes;
        offset += buffer_bytes(x->args.at_once, bytes);
    }
}

static void note_buffer(const binding *x, member *m, int external, pithp_value v) {
    for (int32_t b = 0; b < x->buffer_count; b++)
        if (x->buffered[b] == v)
            m->buffered[m->buffered_count++] = (buffered){(uint8_t)external, (uint8_t)b};
}

static size_t bind_fused(const binding *x, member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k];
    const pithp_compiled *code = x->r->code;
    m->each = step->spec->count / x->view.outer;
    for (int e = 0; e < step->fused->external_count; e++)
        note_buffer(x, m, e, step->external[e]);
    return pithp_fused_bind(x->r, step, code ? code->steps[k].loops[0] : NULL,
                            loop_args(m));
}

static pithp_reduce_args reduction_of(const binding *x, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_call call = pithp_call_of(i->primitive, 1, step->specs, i->params);
    const void *from = pithp_address(x->r, step->source_value);
    const pithp_memory memory = {.operands = &from,
                                 .result = pithp_address(x->r, i->result)};
    return pithp_reduce_args_of(&call, step->spec, &memory, &x->view);
}

static size_t bind_reduction(const binding *x, member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k];
    pithp_reduce_args *args = loop_args(m);
    *args = reduction_of(x, step);
    m->doing = REDUCES;
    m->each = 1;
    note_buffer(x, m, 0, step->source_value);
    note_buffer(x, m, 1, step->call->result);
    return sizeof *args;
}

/* A fused step and the reduction behind it, in one loop of compiled code. */
static size_t bind_fold(const binding *x, member *m, int64_t k) {
    const pithp_step *step = &x->r->plan->steps[k], *reduction = step + 1;
    const int externals = step->fused->external_count;
    pithp_made_args *args = loop_args(m);
    args->reduce = reduction_of(x, reduction);
    args->fold = x->r->code->steps[k].loops[0];
    args->state_bytes = pithp_fold_bind(x->r, step, (char **)(void *)args->state);
    m->doing = FOLDS;
    m->each = 1;
    for (int e = 0; e < externals; e++)
        if (step->external[e] != step->unplaced)
            note_buffer(x, m, e, step->external[e]);
    note_buffer(x, m, externals, reduction->call->result);
    return offsetof(pithp_made_args, state) + args->state_bytes;
}

/* That of the first reduction, which is the first step or the second. */
static pithp_reduce_view view_of(const pithp_step *first) {
    const pithp_step *step = first->call ? first : first + 1;
    const pithp_call call =
        pithp_call_of(step->call->primitive, 1, step->specs, step->call->params);
    return pithp_reduce_view_of(&call);
}

pith_status pithp_run_band(const pithp_running *r, int64_t first) {
    const pithp_step *steps = r->plan->steps;
    binding x = {.r = r,
                 .first = first,
                 .end = first + steps[first].band,
                 .view = view_of(&steps[first])};
    x.args.at_once = rows_at_once(x.view.length);
    lay_out(&x);
    for (int64_t k = first; k < x.end; k++) {
        member *m = (member *)(void *)(x.args.members + x.args.bytes);
        const bool folds = r->code && r->code->steps[k].folds;
        *m = (member){.doing = FUSES};
        m->bytes = MEMBER_BYTES + aligned(steps[k].call ? bind_reduction(&x, m, k)
                                          : folds       ? bind_fold(&x, m, k)
                                                        : bind_fused(&x, m, k));
        x.args.bytes += m->bytes;
        x.args.member_count++;
        k += folds; /* which does the reduction, too */
    }
    const pithp_launch launch = {.name = "band",
                                 .loops = run_rows_loops,
                                 .args = &x.args,
                                 .args_bytes =
                                     offsetof(band_args, members) + x.args.bytes,
                                 .count = x.view.outer,
                                 .grain = x.args.at_once};
    return pithp_launch_run(r->s, &launch);
}
