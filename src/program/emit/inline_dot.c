/* Unrolled small matrix products. host/vector/dot.h defines the order of the sums. */
#include "program/emit/inline.h"
#include "program/host/dot.h"
#include "program/host/vector/dot.h"
#include "program/op/thresholds.h"

typedef struct dot_text {
    pithp_string *t;
    pithp_product_view v;
    const char *type;
    int64_t lanes; /* of a vector product */
} dot_text;

static pithp_product_view view_of(const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    return pithp_product_view_of(&call);
}

bool pithp_inline_dot_fits(const pithp_step *step) {
    const pith_dtype dtype = step->spec->dtype;
    if (step->call->primitive != PITHP_OP_DOT_GENERAL ||
        (dtype != PITH_F32 && dtype != PITH_F64) ||
        step->spec->count > PITHP_INLINE_DOT_WORK)
        return false;
    const pithp_product_view v = view_of(step);
    return !v.a.moved && !v.b.moved && v.terms > 0 && v.terms <= PITHP_PRODUCT_SPAN &&
           step->spec->count * v.terms <= PITHP_INLINE_DOT_WORK &&
           v.m <= PITHP_INLINE_DOT_SUMS && v.n <= PITHP_INLINE_DOT_SUMS;
}

void pithp_inline_dot_define(pithp_inlining *x, const pithp_step *step) {
    const bool wide = step->spec->dtype == PITH_F64;
    const uint8_t bit = wide ? 2 : 1;
    if (!(x->ops->dots & bit))
        pithp_string_add(x->t, wide ? "M_DOT(f64, 32)\n" : "M_DOT(f32, 64)\n");
    x->ops->dots |= bit;
}
_Static_assert(PITHP_PRODUCT_LANES == 32 * sizeof(double), "and so for f32");

static int64_t power_above(int64_t n, int64_t most) {
    int64_t power = 1;
    while (power < n && power < most)
        power *= 2;
    return power;
}

/* Multiply the rows of b by a vector. */
static void add_dots(const dot_text *x) {
    const pithp_product_view *v = &x->v;
    pithp_string_print(x->t, "        m_dots_%s(b, %lld, a, %lld, %lld, c, %lld);\n",
                       x->type, (long long)v->b.free, (long long)v->terms,
                       (long long)power_above(v->terms, x->lanes), (long long)v->n);
}

/* Accumulate each sum in order; the sums along the longer side of the result are
 * vectorised. */
static void add_sums(const dot_text *x) {
    const pithp_product_view *v = &x->v;
    const bool columns = v->n >= v->m;
    const pithp_factor *outer = columns ? &v->a : &v->b, *inner = columns ? &v->b : &v->a;
    const char *one = columns ? "a" : "b", *many = columns ? "b" : "a";
    const int64_t rows = columns ? v->m : v->n, sums = columns ? v->n : v->m;
    pithp_string_print(x->t,
                       "        for (i64 i = 0; i < %lld; i++) {\n"
                       "            %s sum[%lld] = {0};\n"
                       "            for (i64 k = 0; k < %lld; k++) {\n"
                       "                M_LOOP\n"
                       "                for (i64 l = 0; l < %lld; l++)\n",
                       (long long)rows, x->type, (long long)sums, (long long)v->terms,
                       (long long)sums);
    pithp_string_print(x->t,
                       "                    sum[l] = M_MULTIPLY_ADD(%s[i * %lld + k * "
                       "%lld], %s[l * %lld + k * %lld], sum[l]);\n            }\n",
                       one, (long long)outer->free, (long long)outer->term, many,
                       (long long)inner->free, (long long)inner->term);
    pithp_string_print(x->t,
                       "            for (i64 l = 0; l < %lld; l++)\n"
                       "                c[i * %lld + l * %lld] = sum[l];\n        }\n",
                       (long long)sums, (long long)(columns ? v->n : 1),
                       (long long)(columns ? 1 : v->n));
}

static void add_matrix(const dot_text *x,
                       const char *name,
                       const char *from,
                       const int64_t *batch_stride) {
    pithp_string_print(x->t, "        %s%s *const %s = %s + ",
                       name[0] == 'c' ? "" : "const ", x->type, name, from);
    pithp_inline_index(x->t, x->v.rank, batch_stride);
    pithp_string_add(x->t, ";\n");
}

static void
add_operand(const dot_text *x, const pithp_frame *f, pithp_value v, const char *name) {
    pithp_string_print(x->t, "        %s *const %s = (%s *)(", x->type, name, x->type);
    pithp_frame_address(f, v);
    pithp_string_add(x->t, ");\n");
}

void pithp_inline_dot(const pithp_frame *f, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_value *operands = pithp_operands(f->plan->program, i);
    dot_text x = {.t = f->x->t,
                  .v = view_of(step),
                  .type = pithp_dtype_spelling(step->spec->dtype),
                  .lanes =
                      PITHP_PRODUCT_LANES / (int64_t)pith_dtype_size(step->spec->dtype)};
    int64_t stride[PITHP_MAX_RANK], each = x.v.m * x.v.n;
    if (step->spec->count == 0)
        return;
    for (int d = x.v.rank - 1; d >= 0; each *= x.v.batch[d--])
        stride[d] = each;
    pithp_string_add(x.t, "        {\n");
    add_operand(&x, f, operands[x.v.a.operand], "left");
    add_operand(&x, f, operands[x.v.b.operand], "right");
    add_operand(&x, f, i->result, "to");
    pithp_inline_loops(x.t, x.v.rank, x.v.batch, false);
    pithp_string_add(x.t, "        {\n");
    add_matrix(&x, "a", "left", x.v.a.batch);
    add_matrix(&x, "b", "right", x.v.b.batch);
    add_matrix(&x, "c", "to", stride);
    if (x.v.dots)
        add_dots(&x);
    else
        add_sums(&x);
    pithp_string_add(x.t, "        }\n        }\n");
}
