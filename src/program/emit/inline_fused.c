/* Unrolled fused steps: a loop nest over all axes with constant extents. Piecewise
 * externals split the loop over the last axis at the ends of their pieces; the indices of
 * the other axes select among the remaining pieces. */
#include "program/emit/inline.h"

typedef struct fused_text {
    pithp_string *t;
    const pithp_frame *f;
    const pithp_step *step;
    const pithp_fused_step *a;
    pithp_step_text s;
    int64_t begin, end; /* range of the last axis: the current interval */
} fused_text;

/* ---- Elements ---- */

/* Literals are loaded before all loops: the compiler cannot exclude that stores change
 * them. */
static bool is_literal(const fused_text *x, int e) {
    return x->f->plan->places[x->step->operands[e].value].store == PITHP_IN_LITERALS &&
           pithp_is_uniform(x->a, &x->a->externals[e]) &&
           x->step->operands[e].offset == 0;
}

static bool is_pieced(const fused_text *x, int e) {
    return x->a->externals[e].access == PITHP_ACCESS_PIECES;
}

static void add_element(const void *closure, int e) {
    const fused_text *x = closure;
    if (is_literal(x, e)) {
        pithp_string_print(x->t, "q%d_%d", x->f->slot, (int)x->step->operands[e].value);
    } else if (is_pieced(x, e)) {
        pithp_string_print(x->t, "p%d[first%d + j%d * step%d]", e, e, x->a->rank - 1, e);
    } else {
        pithp_string_print(x->t, "e%d[", e);
        pithp_inline_index(x->t, x->a->rank, x->a->externals[e].stride);
        pithp_string_add(x->t, "]");
    }
}

/* Declare e<number>: the address of an external, or of a piece with a number after those
 * of the externals. */
static void add_pointer(const fused_text *x, int e, pith_dtype dtype) {
    const char *type = pithp_dtype_spelling(dtype);
    pithp_string_print(x->t, "        %s *const e%d = (%s *)(", type, e, type);
    pithp_frame_address(x->f, x->step->operands[e].value);
    pithp_string_add(x->t, ")");
    if (e < x->a->external_count) /* the offset of a piece may be outside its value: only
                                     an index in its box is valid */
        pithp_string_print(x->t, " + %lld", (long long)x->step->operands[e].offset);
    pithp_string_add(x->t, ";\n");
}

static void add_pointers(const fused_text *x) {
    for (int e = 0; e < x->a->external_count; e++) {
        const pithp_external *external = &x->a->externals[e];
        if (!is_literal(x, e) && !is_pieced(x, e))
            add_pointer(x, e, x->s.dtype[e]);
        for (int p = 0; is_pieced(x, e) && p < external->pieces; p++)
            add_pointer(x, x->a->external_count + external->first_piece + p,
                        x->s.dtype[e]);
    }
}

/* ---- Pieces ---- */

static bool is_in_interval(const fused_text *x, int piece) {
    const pithp_box *box = &x->a->boxes[piece];
    const int last = x->a->rank - 1;
    return box->begin[last] <= x->begin && box->end[last] >= x->end;
}

/* "j0 >= 1 && j0 < 5 && 1" */
static void add_condition(const fused_text *x, int piece) {
    const pithp_box *box = &x->a->boxes[piece];
    for (int d = 0; d < x->a->rank - 1; d++) {
        if (box->begin[d] > 0)
            pithp_string_print(x->t, "j%d >= %lld && ", d, (long long)box->begin[d]);
        if (box->end[d] < x->a->shape[d])
            pithp_string_print(x->t, "j%d < %lld && ", d, (long long)box->end[d]);
    }
    pithp_string_add(x->t, "1");
}

static void add_choice_pointer(const fused_text *x, int piece) {
    pithp_string_print(x->t, "e%d", x->a->external_count + piece);
}
static void add_choice_first(const fused_text *x, int piece) {
    const int e = x->a->external_count + piece;
    pithp_string_print(x->t, "%lld + ", (long long)x->step->operands[e].offset);
    pithp_inline_index(x->t, x->a->rank - 1, x->a->externals[e].stride);
}
static void add_choice_step(const fused_text *x, int piece) {
    pithp_string_print(x->t, "%lld",
                       (long long)pithp_piece_of(x->a, piece)->stride[x->a->rank - 1]);
}

/* Select among the pieces of external e by the index of the other axes; `add` emits the
 * selected expression. */
static void
add_choice(const fused_text *x, int e, void (*add)(const fused_text *x, int piece)) {
    const pithp_external *external = &x->a->externals[e];
    int before = -1; /* the last piece needs no condition */
    for (int p = external->first_piece; p < external->first_piece + external->pieces;
         p++) {
        if (!is_in_interval(x, p))
            continue;
        if (before >= 0) {
            add_condition(x, before);
            pithp_string_add(x->t, " ? ");
            add(x, before);
            pithp_string_add(x->t, " : ");
        }
        before = p;
    }
    add(x, before);
    pithp_string_add(x->t, ";\n");
}

static void add_choices(const fused_text *x) {
    for (int e = 0; e < x->a->external_count; e++) {
        if (!is_pieced(x, e))
            continue;
        pithp_string_print(x->t, "        const %s *const p%d = ",
                           pithp_dtype_spelling(x->s.dtype[e]), e);
        add_choice(x, e, add_choice_pointer);
        pithp_string_print(x->t, "        const i64 first%d = ", e);
        add_choice(x, e, add_choice_first);
        pithp_string_print(x->t, "        const i64 step%d = ", e);
        add_choice(x, e, add_choice_step);
    }
}

/* The first boundary of a piece in the last axis after index `from`. */
static int64_t next_cut(const fused_text *x, int64_t from) {
    const int last = x->a->rank - 1;
    int64_t cut = x->a->shape[last];
    for (int p = 0; p < x->a->piece_count; p++) {
        const pithp_box *box = &x->a->boxes[p];
        if (box->begin[last] > from && box->begin[last] < cut)
            cut = box->begin[last];
        if (box->end[last] > from && box->end[last] < cut)
            cut = box->end[last];
    }
    return cut;
}

/* ---- Steps ---- */

static void add_body(const fused_text *x) {
    pithp_string_add(x->t, "        {\n");
    pithp_step_text_index(&x->s, "            ", &(pithp_elements){add_element, x});
    pithp_string_add(x->t, "        }\n");
}

static void add_intervals(fused_text *x) {
    const int last = x->a->rank - 1;
    pithp_inline_loops(x->t, last, x->a->shape, false);
    pithp_string_add(x->t, "        {\n");
    for (x->begin = 0; x->begin < x->a->shape[last]; x->begin = x->end) {
        x->end = next_cut(x, x->begin);
        pithp_string_add(x->t, "        {\n");
        add_choices(x);
        pithp_inline_loop(x->t, last, x->begin, x->end, true);
        add_body(x);
        pithp_string_add(x->t, "        }\n");
    }
    pithp_string_add(x->t, "        }\n");
}

void pithp_inline_fused(const pithp_frame *f, const pithp_step *step) {
    fused_text x = {.t = f->x->t, .f = f, .step = step, .a = step->fused};
    if (step->spec->count == 0)
        return;
    pithp_step_text_begin(&x.s, x.t, x.a);
    pithp_string_add(x.t, "        {\n");
    add_pointers(&x);
    if (x.a->piece_count) {
        add_intervals(&x);
    } else {
        pithp_inline_loops(x.t, x.a->rank, x.a->shape, true);
        add_body(&x);
    }
    pithp_string_add(x.t, "        }\n");
}
