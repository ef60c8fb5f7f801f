/* Loop nest: fused steps with strided, piecewise or gathered operands, on the host.
 *
 * The innermost loop (the run) goes along the last axis. If that axis is short, it is
 * unrolled, with further short axes before it, into a cell. The text then contains the
 * extents of the cell, and the run goes along the next outer axis, cell by cell. Strides
 * of 0, 1 and -1 are constants of the text; others are arguments. A range that begins or
 * ends inside a cell is processed index by index there, as by a thread of a device. */
#include "program/emit/fused.h"
#include "program/op/thresholds.h"

#include <stdio.h>

typedef struct nest {
    pithp_step_text *x;
    const pithp_fused_step *a;
    int run;                       /* axis of the run */
    int64_t cell;                  /* elements of a cell */
    int64_t index[PITHP_MAX_RANK]; /* index of the current element in the cell */
    int64_t element;               /* its linear index */
    bool in_range;                 /* gather indices are in range and not negative */
} nest;

static nest nest_of(const pithp_fused_step *a) {
    nest n = {.a = a, .run = a->rank - 1, .cell = 1};
    for (; n.run > 0 && !a->gather_count; n.run--) {
        const int64_t cell = n.cell * a->shape[n.run];
        if (cell == 0 || cell > PITHP_CELL_ELEMENTS ||
            cell * a->op_count > PITHP_CELL_OPS)
            break;
        n.cell = cell;
    }
    return n;
}

/* ---- Strides ---- */

enum { OF_ARGUMENTS = 2 };

/* A constant stride, or OF_ARGUMENTS. */
static int stride_of(const nest *n, int e, int d) {
    const int64_t stride = n->a->externals[e].stride[d];
    return stride >= -1 && stride <= 1 ? (int)stride : OF_ARGUMENTS;
}

static bool is_strided(const nest *n, int e) {
    return pithp_kernel_strided_index(n->a, e) >= 0;
}

int pithp_nest_describe(const pithp_fused_step *a, int8_t bytes[PITHP_NEST_BYTES]) {
    const nest n = nest_of(a);
    int count = 0;
    for (int d = n.run + 1; d < a->rank; d++)
        bytes[count++] = (int8_t)a->shape[d];
    for (int e = 0; e < a->external_count; e++)
        for (int d = n.run; is_strided(&n, e) && d < a->rank; d++)
            bytes[count++] = (int8_t)stride_of(&n, e, d);
    return count;
}

/* Axes are numbered from the last one: the text does not depend on those before the
 * run. */
static void add_stride(const nest *n, int e, int d) {
    pithp_string_print(n->x->t, "s%d_%d", e, n->a->rank - d);
}

static void declare_strides(const nest *n, int e) {
    for (int d = n->run; d < n->a->rank; d++) {
        if (stride_of(n, e, d) != OF_ARGUMENTS)
            continue;
        pithp_string_add(n->x->t, "    const i64 ");
        add_stride(n, e, d);
        pithp_string_print(n->x->t, " = a->stride[%d][a->rank - %d];\n",
                           pithp_kernel_strided_index(n->a, e), n->a->rank - d);
    }
}

/* " + 2 * s1_1" */
static void add_term(const nest *n, const char *times, int e, int d) {
    const int stride = stride_of(n, e, d);
    if (stride == 0)
        return;
    pithp_string_print(n->x->t, stride == -1 ? " - %s" : " + %s", times);
    if (stride != OF_ARGUMENTS)
        return;
    pithp_string_add(n->x->t, " * ");
    add_stride(n, e, d);
}

/* Emit the offset of the current element in the cell: " + 1 * s1_1 + 2". */
static void add_within(const nest *n, int e) {
    char times[24];
    for (int d = n->run + 1; d < n->a->rank; d++) {
        snprintf(times, sizeof times, "%lld", (long long)n->index[d]);
        if (n->index[d])
            add_term(n, times, e, d);
    }
}

/* ---- Elements ---- */

/* Whether an operand is invariant in the run; it is loaded before the loop. */
static bool is_invariant(const nest *n, int e) {
    return n->x->is_read[e] && (pithp_is_uniform(n->a, &n->a->externals[e]) ||
                                (is_strided(n, e) && stride_of(n, e, n->run) == 0));
}

/* The gather of an external; -1: not gathered. */
static int gather_of(const nest *n, int e) {
    for (int k = 0; k < n->a->gather_count; k++)
        if (n->a->gathers[k].external == e)
            return k;
    return -1;
}

/* Emit a gathered element. An index out of range gives the fill, unless the index mode
 * moves it into range. */
static void add_gathered(const nest *n, int e, const pithp_fused_gather *gather) {
    const bool drops = gather->mode == PITHP_INDEX_DROP;
    if (n->in_range) {
        pithp_string_print(n->x->t, "e%d[t%d[i]]", e, e);
        return;
    }
    if (drops)
        pithp_string_print(n->x->t, "m_gathered_%s(e%d, ",
                           pithp_dtype_spelling(n->x->dtype[e]), e);
    else
        pithp_string_print(n->x->t, "e%d[", e);
    pithp_string_print(n->x->t, "m_position((i64)t%d[i], extent%d, %d, %d, %d)", e, e,
                       gather->mode, !gather->no_negative,
                       gather->index_dtype == PITH_U64);
    if (drops)
        pithp_string_print(n->x->t, ", fill%d)", e);
    else
        pithp_string_add(n->x->t, "]");
}

static void add_element(const void *closure, int e) {
    const nest *n = closure;
    const int gather = gather_of(n, e);
    if (gather >= 0) {
        add_gathered(n, e, &n->a->gathers[gather]);
    } else if (is_invariant(n, e)) {
        pithp_string_print(n->x->t, "h%d_%lld", e, (long long)n->element);
    } else if (is_strided(n, e)) {
        pithp_string_print(n->x->t, "e%d[0", e);
        add_term(n, "i", e, n->run);
        add_within(n, e);
        pithp_string_add(n->x->t, "]");
    } else if (n->cell == 1) {
        pithp_string_print(n->x->t, "e%d[i]", e);
    } else {
        pithp_string_print(n->x->t, "e%d[i * %lld + %lld]", e, (long long)n->cell,
                           (long long)n->element);
    }
}

/* Set the current element of the cell. */
static void set_element(nest *n, int64_t element) {
    int64_t rest = n->element = element;
    for (int d = n->a->rank - 1; d > n->run; d--) {
        n->index[d] = rest % n->a->shape[d];
        rest /= n->a->shape[d];
    }
}

static void declare_invariant(const nest *n, int e) {
    const char *type = pithp_dtype_spelling(n->x->dtype[e]);
    if (n->cell == 1)
        pithp_string_print(n->x->t, "        const %s x%d = e%d[0", type, e, e);
    else
        pithp_string_print(n->x->t, "        const %s h%d_%lld = e%d[0", type, e,
                           (long long)n->element, e);
    if (is_strided(n, e))
        add_within(n, e);
    pithp_string_add(n->x->t, "];\n");
}

/* ---- The function ---- */

/* Declare the index array, extent and fill of a gather. */
static void declare_gather(const nest *n, int e, int k) {
    const char *type = pithp_dtype_spelling(n->x->dtype[e]),
               *index = pithp_dtype_spelling((pith_dtype)n->a->gathers[k].index_dtype);
    pithp_string_print(
        n->x->t,
        "        %s *const e%d = (%s *)a->at[%d];\n"
        "        const %s *const t%d = (const %s *)a->gathers[%d].index + first;\n"
        "        const i64 extent%d = a->gathers[%d].extent;\n"
        "        %s fill%d;\n"
        "        __builtin_memcpy(&fill%d, &a->gathers[%d].fill, sizeof fill%d);\n",
        type, e, type, e, index, e, index, k, e, k, type, e, e, k, e);
}

static void declare_externals(const nest *n) {
    for (int e = 0; e < n->a->external_count; e++) {
        const char *type = pithp_dtype_spelling(n->x->dtype[e]);
        if (gather_of(n, e) >= 0) {
            declare_gather(n, e, gather_of(n, e));
            continue;
        }
        pithp_string_print(n->x->t, "        %s *const e%d = (%s *)a->at[%d]", type, e,
                           type, e);
        if (is_strided(n, e))
            pithp_string_print(n->x->t, " + offset[%d];\n",
                               pithp_kernel_strided_index(n->a, e));
        else
            pithp_string_add(n->x->t, pithp_is_uniform(n->a, &n->a->externals[e])
                                          ? ";\n"
                                          : " + first;\n");
    }
}

/* Loop versioning: each block checks its indices first. Usually none is negative or out
 * of range, and the block runs a loop without index rules. */
static void add_gathers(nest *n) {
    pithp_string *t = n->x->t;
    pithp_string_print(t,
                       "        for (i64 block = 0; block < n; block += %d) {\n"
                       "        const i64 stop = n - block < %d ? n : block + %d;\n"
                       "        b8 inside = 1;\n",
                       PITHP_GATHER_AT_ONCE, PITHP_GATHER_AT_ONCE, PITHP_GATHER_AT_ONCE);
    for (int k = 0; k < n->a->gather_count; k++) {
        const pithp_fused_gather *gather = &n->a->gathers[k];
        pithp_string_print(
            t, "        inside &= m_inside_%s(t%d + block, stop - block, extent%d);\n",
            pithp_dtype_spelling((pith_dtype)gather->index_dtype), gather->external,
            gather->external);
    }
    for (int inside = 1; inside >= 0; inside--) {
        pithp_string_add(t, inside ? "        if (inside) {\n" : "        } else {\n");
        n->in_range = inside;
        pithp_step_text_loops(n->x, "block", "stop", &(pithp_elements){add_element, n});
    }
    pithp_string_add(t, "        }\n        }\n");
}

/* Emit the loop over elements. */
static void add_run(nest *n) {
    for (int e = 0; e < n->a->external_count; e++) {
        n->x->is_hoisted[e] = is_invariant(n, e);
        if (n->x->is_hoisted[e])
            declare_invariant(n, e);
    }
    if (n->a->gather_count)
        add_gathers(n);
    else
        pithp_step_text_loops(n->x, "0", "n", &(pithp_elements){add_element, n});
}

/* Emit the loop over cells. */
static void add_cells(nest *n) {
    for (int64_t k = 0; k < n->cell; k++) {
        set_element(n, k);
        for (int e = 0; e < n->a->external_count; e++)
            if (is_invariant(n, e))
                declare_invariant(n, e);
    }
    pithp_string_print(n->x->t,
                       "        M_LOOP\n"
                       "        for (i64 i = 0; i < n / %lld; i++) {\n",
                       (long long)n->cell);
    for (int64_t k = 0; k < n->cell; k++) {
        set_element(n, k);
        pithp_string_add(n->x->t, "            {\n");
        pithp_step_text_index(n->x, "                ",
                              &(pithp_elements){add_element, n});
        pithp_string_add(n->x->t, "            }\n");
    }
    pithp_string_add(n->x->t, "        }\n");
}

/* Emit the part of a range that is not a whole cell, element by element. */
static void add_ends(const nest *n, const char *name) {
    pithp_string_print(n->x->t,
                       "        if (first %% %lld || end - first < %lld) {\n"
                       "            %s_index(a, first);\n"
                       "            n = 1;\n"
                       "            continue;\n"
                       "        }\n",
                       (long long)n->cell, (long long)n->cell, name);
}

static void add_index_function(const nest *n, const char *name) {
    pithp_string_print(n->x->t, "static void %s_index(const %s_args *a, i64 i) {\n", name,
                       name);
    pithp_kernel_text_index(n->x, "    ");
    pithp_string_add(n->x->t, "}\n");
}

/* Emit the bounds of a run, and its offset in each memory. */
static void begin_run(const nest *n) {
    const int strided = pithp_kernel_strided_before(n->a, n->a->external_count);
    pithp_string_print(
        n->x->t,
        "        const i64 row = a->shape[a->rank - %d] * %lld;\n"
        "        const i64 left = row - first %% row, asked = end - first;\n"
        "        n = (asked < left ? asked : left) / %lld * %lld;\n",
        n->a->rank - n->run, (long long)n->cell, (long long)n->cell, (long long)n->cell);
    if (strided) /* else all externals are piecewise */
        pithp_string_print(
            n->x->t,
            "        i64 offset[%d];\n"
            "        m_walk(first, a->rank, a->shape, a->stride, %d, offset);\n",
            strided, strided);
    declare_externals(n);
}

/* Stencil: the element size if the step has several unaligned contiguous operands, whose
 * vector width then depends on the size (M_BY_SIZE); 0: no stencil, or it calls functions
 * of math.def, which take longer than the loads. */
static int neighbour_bytes(const nest *n) {
    int shifted = 0, bytes = 0;
    for (int e = 0; e < n->a->external_count; e++)
        if (n->x->is_read[e] && is_strided(n, e) && stride_of(n, e, n->run) == 1) {
            shifted++;
            bytes = (int)pith_dtype_size(n->x->dtype[e]);
        }
    bool quick = n->cell == 1 && !n->a->gather_count;
    for (int k = 0; k < n->a->op_count; k++)
        quick &= !pithp_op_calls_maths(&n->a->ops[k]);
    return quick && shifted > 1 ? bytes : 0;
}

void pithp_emit_nest(pithp_step_text *x, const char *name) {
    nest n = nest_of(x->a);
    n.x = x;
    const int neighbour = neighbour_bytes(&n);
    pithp_kernel_text_arguments(x, name);
    if (n.cell > 1)
        add_index_function(&n, name);
    pithp_string_print(x->t,
                       "%svoid %s%s(const void *args, i64 begin, i64 end) {\n"
                       "    const %s_args *const a = (const %s_args *)args;\n",
                       neighbour ? "M_FN " : "", name, neighbour ? "_rows" : "", name,
                       name);
    for (int e = 0; e < x->a->external_count; e++)
        if (is_strided(&n, e))
            declare_strides(&n, e);
    pithp_string_add(x->t, "    for (i64 first = begin, n; first < end; first += n) {\n");
    if (n.cell > 1)
        add_ends(&n, name);
    begin_run(&n);
    if (n.cell > 1)
        add_cells(&n);
    else
        add_run(&n);
    pithp_string_add(x->t, "    }\n}\n");
    if (neighbour)
        pithp_string_print(x->t, "M_BY_SIZE(%s, %d)\n", name, neighbour);
}
