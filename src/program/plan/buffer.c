/* Buffer assignment: storage of values that outlive their step. The workspace is laid out
 * by liveness: values with disjoint lifetimes share memory. */
#include "program/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- The workspace ---- */

typedef struct piece {
    size_t offset, bytes; /* bytes: not 0 */
} piece;

/* A buffer, and the steps from the first to the one before the last that it is live in.
 */
typedef struct lifetime {
    size_t bytes, offset; /* bytes: 0: no buffer */
    int32_t first, last, buffer;
} lifetime;

/* Buffers are numbered: those of values, then the temporaries of steps. */
typedef struct workspace {
    pithp_planning *g;
    piece *pieces; /* live ranges, by offset */
    int64_t count;
    int64_t packed;  /* the number of pieces before the first gap */
    int32_t *ending; /* per step: the first buffer whose last use it is, or -1 */
    int32_t *next;   /* per buffer: the next one with that last use, or -1 */
    size_t *offset;  /* per buffer */
    lifetime *lives; /* per buffer */
    int32_t now;     /* the step that is placed */
    int32_t ended;   /* live ranges that end before this step are released */
    int32_t apart;   /* no live range ends before this step */
    size_t bytes;
} workspace;

static void end_piece(workspace *w, size_t offset) {
    int64_t begin = 0, end = w->count;
    while (end - begin > 1) {
        const int64_t middle = begin + (end - begin) / 2;
        if (w->pieces[middle].offset <= offset)
            begin = middle;
        else
            end = middle;
    }
    PITH_ASSERT(w->count && w->pieces[begin].offset == offset);
    memmove(w->pieces + begin, w->pieces + begin + 1,
            (size_t)(--w->count - begin) * sizeof *w->pieces);
    w->packed = begin < w->packed ? begin : w->packed;
}

static void end_pieces(workspace *w, int32_t before) {
    for (; w->ended < before; w->ended++)
        for (int32_t k = w->ending[w->ended]; k >= 0; k = w->next[k]) {
            end_piece(w, w->offset[k]);
            w->lives[k].last = before;
        }
}

static void add_piece(workspace *w, int64_t k, piece x) {
    memmove(w->pieces + k + 1, w->pieces + k, (size_t)(w->count - k) * sizeof *w->pieces);
    w->pieces[k] = x;
    w->count++;
    while (w->packed < w->count &&
           w->pieces[w->packed].offset == (w->packed ? w->pieces[w->packed - 1].offset +
                                                           w->pieces[w->packed - 1].bytes
                                                     : 0))
        w->packed++;
}

/* First fit: the offset of the first wide enough gap; -1 sets the error.
 *
 * @param last The step of the last use; INT32_MAX: the end of the plan. */
static int64_t take_piece(workspace *w, int32_t buffer, size_t bytes, int32_t last) {
    int64_t k = bytes ? w->packed : 0;
    size_t at = k ? w->pieces[k - 1].offset + w->pieces[k - 1].bytes : 0, end;
    for (; k < w->count && w->pieces[k].offset - at < bytes; k++)
        at = w->pieces[k].offset + w->pieces[k].bytes;
    bytes = (bytes + PITHP_ALIGNMENT - 1) & ~(size_t)(PITHP_ALIGNMENT - 1);
    if (pithp_add_overflows(at, bytes, &end) || end > INT64_MAX) {
        pithp_fail(w->g->s, PITH_E_OVERFLOW, NULL,
                   "the program's workspace is too large");
        return -1;
    }
    w->bytes = end > w->bytes ? end : w->bytes;
    if (bytes) {
        add_piece(w, k, (piece){at, bytes});
        w->offset[buffer] = at;
        w->lives[buffer] = (lifetime){bytes, at, w->now, INT32_MAX, buffer};
        last = last < w->ended ? w->ended : last;
        if (last < w->g->plan->step_count) {
            w->next[buffer] = w->ending[last];
            w->ending[last] = buffer;
        }
    }
    return (int64_t)at;
}

/* The first part of a concatenation that is made takes the memory of the whole. */
static bool place_value(workspace *w, pithp_value part) {
    pithp_planning *g = w->g;
    const pithp_value v = pithp_is_joined(g, part) ? g->root[part] : part;
    pithp_place *place = &g->plan->places[v];
    if (!g->in_memory[v] || place->store == PITHP_IN_OUTPUT ||
        place->store == PITHP_IN_WORKSPACE)
        return true;
    if (g->buffered[v]) {
        *place = (pithp_place){.store = PITHP_NOWHERE, .at = 1};
        return true;
    }
    const int64_t at = take_piece(w, v, g->p->values[v].spec->bytes, g->last_use[v]);
    *place = (pithp_place){.store = PITHP_IN_WORKSPACE, .at = at};
    return at >= 0;
}

/* Results that later steps read, or those that none does: their memory is at the end, and
 * leaves no gap below what stays. */
static bool place_results_of(workspace *w, int32_t number, bool unused) {
    const pithp_step *step = &w->g->plan->steps[number];
    for (int k = 0; k < step->call->result_count; k++) {
        const pithp_value v = step->call->result + k;
        if (v != step->unmaterialised && (w->g->last_use[v] <= number) == unused &&
            !place_value(w, v))
            return false;
    }
    return true;
}

static bool place_step(workspace *w, int32_t number) {
    pithp_step *step = &w->g->plan->steps[number];
    w->now = number;
    if (number >= w->apart) /* concurrent steps share no memory */
        end_pieces(w, number);
    w->apart = step->concurrent_until > w->apart ? step->concurrent_until : w->apart;
    if (step->kind == PITHP_STEP_FUSED) {
        for (pithp_value v = step->first; v >= 0; v = w->g->next[v])
            if (v != step->unmaterialised && !place_value(w, v))
                return false;
        return true;
    }
    for (int unused = 0; unused < 2; unused++)
        if (!place_results_of(w, number, unused))
            return false;
    if (step->temporary_bytes) {
        step->temporary = take_piece(w, (int32_t)w->g->p->value_count + number,
                                     step->temporary_bytes, number);
        return step->temporary >= 0;
    }
    return true;
}

/* ---- A better layout ---- */

enum { MOST_SORTED = 512 }; /* buffers: the layout takes their square */

static int compare_lives(const void *a, const void *b) {
    const lifetime *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* Place a buffer into the lowest gap among the first `count`, which are sorted by their
 * offsets. Returns its end. */
static size_t place_sorted(lifetime *lives, int64_t count) {
    lifetime x = lives[count];
    int64_t k;
    x.offset = 0;
    for (k = 0; k < count; k++) {
        const lifetime *y = &lives[k];
        if (y->first >= x.last || x.first >= y->last || y->offset + y->bytes <= x.offset)
            continue;
        if (y->offset >= x.offset + x.bytes)
            break;
        x.offset = y->offset + y->bytes;
    }
    for (k = count; k > 0 && lives[k - 1].offset > x.offset; k--)
        lives[k] = lives[k - 1];
    lives[k] = x;
    return x.offset + x.bytes;
}

/* Steps of loops have large temporaries, for which first fit leaves gaps: place the
 * largest buffers first if this needs less memory. */
static void place_by_size(workspace *w, int64_t buffers) {
    pithp_plan *plan = w->g->plan;
    const int64_t values = w->g->p->value_count;
    int64_t count = 0;
    size_t bytes = 0;
    for (int64_t k = 0; k < buffers; k++)
        if (w->lives[k].bytes)
            w->lives[count++] = w->lives[k];
    if (!plan->has_plans || count > MOST_SORTED)
        return;
    qsort(w->lives, (size_t)count, sizeof *w->lives, compare_lives);
    for (int64_t k = 0; k < count; k++) {
        const size_t end = place_sorted(w->lives, k);
        bytes = end > bytes ? end : bytes;
    }
    if (bytes >= w->bytes)
        return;
    w->bytes = bytes;
    for (int64_t k = 0; k < count; k++) {
        const lifetime *x = &w->lives[k];
        if (x->buffer < values)
            plan->places[x->buffer].at = (int64_t)x->offset;
        else
            plan->steps[x->buffer - values].temporary = (int64_t)x->offset;
    }
}

static bool place_results(pithp_planning *g) {
    const size_t steps = (size_t)g->plan->step_count,
                 buffers = (size_t)g->p->value_count + steps;
    const size_t each =
                     sizeof(lifetime) + sizeof(piece) + sizeof(size_t) + sizeof(int32_t),
                 bytes = buffers * each + steps * sizeof(int32_t);
    workspace w = {.g = g};
    bool placed = true;
    if (!steps)
        return true;
    w.pieces = pithp_allocate(g->s->runtime, bytes);
    if (!w.pieces) {
        pithp_fail_memory(g->s, bytes);
        return false;
    }
    w.lives = (lifetime *)(w.pieces + buffers);
    w.offset = (size_t *)(w.lives + buffers);
    memset(w.lives, 0, buffers * sizeof *w.lives);
    w.next = (int32_t *)(w.offset + buffers);
    w.ending = w.next + buffers;
    memset(w.ending, -1, steps * sizeof *w.ending);
    for (int32_t k = 0; k < g->plan->step_count && placed; k++)
        placed = place_step(&w, k);
    if (placed)
        place_by_size(&w, (int64_t)buffers);
    pithp_release(g->s->runtime, w.pieces, bytes);
    g->plan->workspace_bytes = w.bytes;
    return placed;
}

/* ---- Literals ---- */

enum { LITERAL_ALIGNMENT = 64 };

static size_t literal_bytes(size_t bytes) { /* never 0 */
    return ((bytes ? bytes : 1) + LITERAL_ALIGNMENT - 1) &
           ~(size_t)(LITERAL_ALIGNMENT - 1);
}

/* The bits of a literal, or of a uniform value; NULL for other values. */
static const void *literal_of(const pithp_planning *g, pithp_value v, size_t *bytes) {
    const void *literal = pithp_literal_of(g->p, v);
    const pith_spec *spec = g->p->values[v].spec;
    *bytes = spec->bytes;
    if (literal)
        return literal;
    const pithp_instruction *i = pithp_maker(g->p, v);
    if (!i || i->primitive != PITHP_OP_FULL || !g->is_virtual[v])
        return NULL;
    *bytes = pith_dtype_size(spec->dtype);
    return &((const pithp_full_params *)i->params)->value;
}

/* Assign offsets to literals, from 0 on; returns their bytes. */
static size_t lay_literals(const pithp_planning *g) {
    size_t all = 0, bytes;
    for (int64_t v = 0; v < g->p->value_count; v++)
        if (literal_of(g, (pithp_value)v, &bytes)) {
            g->plan->places[v] =
                (pithp_place){.store = PITHP_IN_LITERALS, .at = (int64_t)all};
            all += literal_bytes(bytes);
        }
    return all;
}

/* Later launches of a step refer to a copy that outlives the plan. Launches of a command
 * buffer have it in their arguments. */
static size_t launched_bytes(const pithp_planning *g, const pithp_step *step) {
    return step->kind == PITHP_STEP_FUSED && !g->plan->scheduled &&
                   !pithp_scope_device(g->s)->immediate
               ? pithp_fused_bytes(step->fused)
               : 0;
}

/* Write the copies of all steps one after the other, for the address `at`. */
static void write_launched(const pithp_planning *g, char *to, const char *at) {
    for (int64_t k = 0; k < g->plan->step_count; k++) {
        pithp_step *step = &g->plan->steps[k];
        const size_t bytes = launched_bytes(g, step);
        if (!bytes)
            continue;
        pithp_fused_copy(step->fused, to, at);
        step->launched = (const pithp_fused_step *)(const void *)at;
        to += bytes;
        at += bytes;
    }
}

/* Literals and copies of fused steps, in device memory: enqueued work may read them after
 * the plan is freed. */
static bool place_literals(pithp_planning *g) {
    pith_scope *s = g->s;
    const size_t literals = lay_literals(g);
    size_t all = literals, bytes;
    for (int64_t k = 0; k < g->plan->step_count; k++)
        all += launched_bytes(g, &g->plan->steps[k]);
    if (!all)
        return true;
    char *staging = pithp_allocate(s->runtime, all);
    if (!staging) {
        pithp_fail_memory(s, all);
        return false;
    }
    memset(staging, 0, all);
    for (int64_t v = 0; v < g->p->value_count; v++) {
        const void *literal = literal_of(g, (pithp_value)v, &bytes);
        if (literal)
            memcpy(staging + g->plan->places[v].at, literal, bytes);
    }
    g->plan->literals = pithp_buffer_make(s, all);
    if (g->plan->literals)
        write_launched(g, staging + literals,
                       (const char *)g->plan->literals->data + literals);
    const bool copied = g->plan->literals && pithp_copy_in(s, g->plan->literals->data,
                                                           staging, all) == PITH_OK;
    pithp_release(s->runtime, staging, all);
    return copied;
}

/* ---- All values ---- */

/* A value that shares the memory of its operand, or with an update in place that of a
 * result. */
static void share_place(const pithp_planning *g, pithp_value v) {
    const pithp_instruction *i = pithp_maker(g->p, v);
    pithp_place *places = g->plan->places;
    if (g->root[v] == v || pithp_is_joined(g, v))
        return;
    places[v] = places[g->root[v]];
    if (i->primitive == PITHP_OP_RESHAPE || i->primitive == PITHP_OP_SLICE)
        places[v] = places[pithp_operands(g->p, i)[0]];
    if (i->primitive == PITHP_OP_SLICE)
        places[v].offset += pithp_part_offset(g->p, i);
}

bool pithp_plan_buffers(pithp_planning *g) {
    const pithp_program *p = g->p;
    pithp_place *places = g->plan->places;
    for (int64_t v = 0; v < p->value_count; v++) {
        const pithp_value_info *n = &p->values[v];
        places[v] = n->origin == PITHP_FROM_INPUT
                        ? (pithp_place){.store = PITHP_IN_INPUT, .at = n->at}
                    : n->origin == PITHP_FROM_CONSTANT
                        ? (pithp_place){.store = PITHP_IN_CONSTANT, .at = n->at}
                        : (pithp_place){.store = PITHP_NOWHERE, .at = 0};
    }
    for (int64_t k = p->output_count; k-- > 0;) {
        const pithp_value root = g->root[p->outputs[k]];
        if (pithp_maker(p, root))
            places[root] = (pithp_place){.store = PITHP_IN_OUTPUT, .at = k};
    }
    if (!place_literals(g) || !place_results(g))
        return false;
    for (int64_t v = 0; v < p->value_count; v++)
        if (g->forwarded[v] >= 0) {
            g->plan->forwarded_places[g->forwarded[v]] = places[v];
            places[v] = (pithp_place){.store = PITHP_FORWARDED, .at = g->forwarded[v]};
        }
    for (int32_t n = (int32_t)g->plan->step_count; n-- > 0;)
        if (g->plan->steps[n].kind == PITHP_STEP_CALL && g->plan->steps[n].joins)
            pithp_plan_place_joined(g, n);
    for (int64_t v = 0; v < p->value_count; v++)
        share_place(g, (pithp_value)v);
    return true;
}
