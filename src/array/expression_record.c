/* Recording of postfix code: each operation is bound like the equivalent call. Numbers
 * are folded by the block functions of the primitives, so their arithmetic is the same.
 * Values are on a list, so nesting takes no stack. */
#include "array/expression_parts.h"
#include "base/format.h"

typedef struct value {
    const pith_array *array; /* NULL: a number */
    uint64_t bits;           /* value of a number */
    pith_dtype dtype;        /* of the elements; C's rules may promote it */
    bool weak;               /* takes the dtype of its neighbour */
    bool made;               /* the array is a temporary, dropped after use */
    pithp_range range;       /* of a weak integer */
} value;

typedef struct recording {
    pith_scope *s;
    const pithp_expression *e;
    const pith_array *const *operands;
    value *stack;
    int64_t count;
} recording;

static bool refuse(const recording *r, const char *format, ...) PITH_FORMAT(2, 3);

static bool refuse(const recording *r, const char *format, ...) {
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(why, sizeof why, format, arguments);
    va_end(arguments);
    pithp_fail_function(r->s, PITH_E_DTYPE, NULL, "%s", why);
    return false;
}

static bool is_float(pith_dtype dtype) {
    return pith_dtype_is_float(dtype);
}

/* ---- Values ---- */

static void drop(const recording *r, const value *x) {
    if (x->made)
        pithp_array_drop(r->s, x->array);
}

/* A number as an array of rank 0. */
static const pith_array *fill(const recording *r, pith_dtype dtype, uint64_t bits) {
    const pithp_full_params params = {.dtype = dtype, .value = bits};
    return pithp_bind(r->s, PITHP_OP_FULL, 0, NULL, &params);
}

static bool make_array(const recording *r, value *x) {
    if (!x->array) {
        x->array = fill(r, x->dtype, x->bits);
        x->made = true;
    }
    return x->array != NULL;
}

/* Whether a number without a dtype, or each alternative of a choice, fits a dtype. */
static bool check_fits(const recording *r, const value *x, pith_dtype to) {
    if (is_float(to))
        return true;
    if (is_float(x->dtype) || to == PITH_BOOL)
        return refuse(r, "a number%s cannot be combined with %s: cast one",
                      is_float(x->dtype) ? " with a point or exponent" : "",
                      pith_dtype_name(to));
    if (!x->range.known)
        return x->dtype == to ||
               refuse(r, "numbers that depend on an array may not fit %s: cast them",
                      pith_dtype_name(to));
    if (pithp_range_within(&x->range, to))
        return true;
    char text[PITHP_RANGE_TEXT];
    const bool low = x->range.least < pithp_range_of(to).least;
    return refuse(r, "the number %s does not fit %s",
                  pithp_range_print(low ? x->range.least : x->range.most, text),
                  pith_dtype_name(to));
}

static bool convert(const recording *r, value *x, pith_dtype to) {
    if (x->weak && !check_fits(r, x, to))
        return false;
    x->weak = false;
    if (x->dtype == to)
        return true;
    if (x->array) {
        const pith_array *cast = pithp_cast(r->s, x->array, to);
        drop(r, x);
        x->array = cast;
        x->made = true;
    } else {
        uint64_t bits = 0;
        pithp_cast_block(pithp_scope_device(r->s)->isa, x->dtype, to)(&bits, &x->bits,
                                                                      NULL, NULL, 1);
        x->bits = bits;
    }
    x->dtype = to;
    return x->array || !x->made;
}

/* ---- Dtypes of operands by C's rules ---- */

static pith_dtype promoted(pith_dtype dtype) {
    if (dtype == PITH_U32 || dtype == PITH_I64 || dtype == PITH_U64 || dtype == PITH_F64)
        return dtype;
    return is_float(dtype) ? PITH_F32 : PITH_I32;
}

/* The common type of two operands, by C's ranks. */
static pith_dtype joined(pith_dtype a, pith_dtype b) {
    static const uint8_t order[] = {PITH_F64, PITH_F32, PITH_U64,
                                    PITH_I64, PITH_U32, PITH_I32};
    for (int i = 0; i < PITHP_COUNT(order); i++)
        if (a == (pith_dtype)order[i] || b == (pith_dtype)order[i])
            return (pith_dtype)order[i];
    return PITH_I32;
}

static pith_dtype real_type(pith_dtype dtype) {
    return promoted(dtype) == PITH_F32 ? PITH_F32 : PITH_F64;
}

static pith_dtype
join_all(const value *x, int count, pith_dtype (*type)(pith_dtype dtype)) {
    pith_dtype all = type(x[0].dtype);
    for (int k = 1; k < count; k++)
        all = joined(all, type(x[k].dtype));
    return all;
}

static pith_dtype choose_c(const value *x, int count, pithp_operand_rule rule) {
    switch (rule) {
        case PITHP_OPERANDS_SHIFT:
            return promoted(x[0].dtype);
        case PITHP_OPERANDS_REAL:
            return real_type(x[0].dtype);
        case PITHP_OPERANDS_REALS:
            return join_all(x, count, real_type);
        case PITHP_OPERANDS_JOINED:
        case PITHP_OPERANDS_WHOLE:
        case PITHP_OPERANDS_QUOTIENT:
        case PITHP_OPERANDS_DIVIDE:
        case PITHP_OPERANDS_ASIS:
        case PITHP_OPERANDS_TRUTHS:
        case PITHP_OPERANDS_CHOICE:
        case PITHP_OPERANDS_CALL:
            break;
    }
    return join_all(x, count, promoted);
}

/* The count of a shift by C's types: a count that does not fit the type of the other
 * operand becomes the width, which shifts everything out. */
static bool limit_shift(const recording *r, value *x, pith_dtype to) {
    static const int64_t least = -1, most = 64;
    const pith_dtype type = promoted(x->dtype);
    if (pith_dtype_size(type) <= pith_dtype_size(to))
        return true;
    if (!convert(r, x, type))
        return false;
    const pithp_primitive limits[] = {PITHP_OP_MIN, PITHP_OP_MAX};
    const uint64_t bits[] = {(uint64_t)most, (uint64_t)least};
    for (int k = 0; k < (type == PITH_U64 ? 1 : 2); k++) {
        if (!make_array(r, x))
            return false;
        const pith_array *const bound = fill(r, type, bits[k]);
        const pith_array *const both[] = {x->array, bound};
        const pith_array *made =
            bound ? pithp_bind(r->s, limits[k], 2, both, NULL) : NULL;
        if (bound)
            pithp_array_drop(r->s, bound);
        drop(r, x);
        x->array = made;
        x->made = true;
        if (!made)
            return false;
    }
    return true;
}

/* ---- Dtypes of operands by array rules ---- */

/* The dtype of numbers without arrays. */
static bool promote_weak(const recording *r, const value *x, int count, pith_dtype *to) {
    *to = PITH_I64;
    for (int k = 0; k < count; k++)
        if (is_float(x[k].dtype))
            *to = PITH_F64;
        else if (x[k].dtype == PITH_U64 && *to != PITH_F64)
            *to = PITH_U64;
    for (int k = 0; k < count; k++)
        if (*to == PITH_U64 && x[k].range.known && x[k].range.least < 0)
            return refuse(r,
                          "a number above 2^63 cannot be combined with a negative one");
    return true;
}

static bool promote(const recording *r, const value *x, int count, pith_dtype *to) {
    pith_dtype all = PITH_DTYPE_NONE;
    for (int k = 0; k < count; k++) {
        if (x[k].weak)
            continue;
        const pith_dtype both =
            all == PITH_DTYPE_NONE ? x[k].dtype : pithp_promote(all, x[k].dtype);
        if (both == PITH_DTYPE_NONE)
            return refuse(r, "%s and %s have no common dtype; cast one, as in f32(x)",
                          pith_dtype_name(all), pith_dtype_name(x[k].dtype));
        all = both;
    }
    *to = all;
    return all != PITH_DTYPE_NONE || promote_weak(r, x, count, to);
}

/* Whether the primitive is for floats only. */
static bool takes_floats_alone(const pithp_operation *o) {
    return o->rule == PITHP_OPERANDS_DIVIDE ||
           !(pithp_ops[o->primitive].dtypes >> PITH_I64 & 1);
}

static bool choose_array(const recording *r,
                         const pithp_operation *o,
                         const value *x,
                         int count,
                         pith_dtype *to) {
    bool weak = true;
    for (int k = 0; k < count; k++)
        weak &= x[k].weak;
    if (!promote(r, x, count, to))
        return false;
    if (o->primitive == PITHP_PRIMITIVE_COUNT)
        return true;
    if (weak && takes_floats_alone(o))
        *to = PITH_F64;
    if (o->rule == PITHP_OPERANDS_DIVIDE && !is_float(*to))
        return refuse(r,
                      "expected floats, got %s; floor_divide(x, y) and "
                      "trunc_divide(x, y) are for integers",
                      pith_dtype_name(*to));
    return true;
}

/* ---- Operations ---- */

/* x != 0, for dtypes other than bool. */
static bool make_truth(const recording *r, value *x) {
    if (x->dtype == PITH_BOOL)
        return true;
    value zero = {.dtype = x->dtype};
    if (!x->array) {
        uint64_t bits = 0;
        pithp_elementwise_block(pithp_scope_device(r->s)->isa, PITHP_OP_NE,
                                x->dtype)(&bits, &x->bits, &zero.bits, NULL, 1);
        *x = (value){.dtype = PITH_BOOL, .bits = bits};
        return true;
    }
    if (!make_array(r, &zero))
        return false;
    const pith_array *const both[] = {x->array, zero.array};
    const pith_array *made = pithp_bind(r->s, PITHP_OP_NE, 2, both, NULL);
    drop(r, &zero);
    drop(r, x);
    *x = (value){.array = made, .dtype = PITH_BOOL, .made = true};
    return made != NULL;
}

/* Convert operands to one dtype; those of a choice are its last two. */
static bool
make_alike(const recording *r, const pithp_operation *o, value *x, int count) {
    const bool whole = o->rule == PITHP_OPERANDS_QUOTIENT ||
                       (r->e->c_types && (o->rule == PITHP_OPERANDS_WHOLE ||
                                          o->rule == PITHP_OPERANDS_SHIFT));
    pith_dtype to = PITH_DTYPE_NONE;
    if (r->e->c_types)
        to = choose_c(x, count, (pithp_operand_rule)o->rule);
    else if (!choose_array(r, o, x, count, &to))
        return false;
    for (int k = 0; k < count; k++)
        if (whole && is_float(x[k].weak ? to : x[k].dtype))
            return refuse(r, "%s: expected integers, got %s", o->name,
                          pith_dtype_name(x[k].dtype));
    if (r->e->c_types && o->rule == PITHP_OPERANDS_SHIFT && !limit_shift(r, &x[1], to))
        return false;
    for (int k = 0; k < count; k++)
        if (!convert(r, &x[k], to))
            return false;
    return true;
}

static bool prepare(const recording *r, const pithp_operation *o, value *x) {
    switch ((pithp_operand_rule)o->rule) {
        case PITHP_OPERANDS_CALL:
        case PITHP_OPERANDS_ASIS:
            return true;
        case PITHP_OPERANDS_TRUTHS:
            for (int k = 0; k < o->count; k++)
                if (!make_truth(r, &x[k]))
                    return false;
            return true;
        case PITHP_OPERANDS_CHOICE:
            return make_truth(r, &x[0]) && make_alike(r, o, x + 1, 2);
        case PITHP_OPERANDS_JOINED:
        case PITHP_OPERANDS_WHOLE:
        case PITHP_OPERANDS_DIVIDE:
        case PITHP_OPERANDS_QUOTIENT:
        case PITHP_OPERANDS_SHIFT:
        case PITHP_OPERANDS_REAL:
        case PITHP_OPERANDS_REALS:
            break;
    }
    return make_alike(r, o, x, o->count);
}

/* Constant folding. False: not possible here; binding then reports an invalid dtype. */
static bool
fold(const recording *r, const pithp_operation *o, const value *x, value *to) {
    const pith_dtype dtype = x[o->count - 1].dtype;
    if (!pithp_is_elementwise((pithp_primitive)o->primitive) ||
        o->rule == PITHP_OPERANDS_CALL)
        return false;
    for (int k = 0; k < o->count; k++)
        if (x[k].array)
            return false;
    const pithp_block_function f = pithp_elementwise_block(
        pithp_scope_device(r->s)->isa, (pithp_primitive)o->primitive, dtype);
    if (!f)
        return false;
    *to = (value){.dtype = pithp_ops[o->primitive].predicate ? PITH_BOOL : dtype};
    f(&to->bits, &x[0].bits, o->count > 1 ? &x[1].bits : NULL,
      o->count > 2 ? &x[2].bits : NULL, 1);
    return true;
}

static const pith_array *call(const recording *r, const pithp_operation *o, value *x) {
    const pith_array *arrays[3];
    for (int k = 0; k < o->count; k++) {
        if (!make_array(r, &x[k]))
            return NULL;
        arrays[k] = x[k].array;
    }
    if (o->rule != PITHP_OPERANDS_CALL)
        return pithp_bind(r->s, (pithp_primitive)o->primitive, o->count, arrays, NULL);
    return o->one ? o->one(r->s, arrays[0]) : o->two(r->s, arrays[0], arrays[1]);
}

/* Alternatives of a choice: the range of both. */
static pithp_range join_ranges(const value *x) {
    const pithp_range *a = &x[0].range, *b = &x[1].range;
    return (pithp_range){a->known && b->known, a->least < b->least ? a->least : b->least,
                         a->most > b->most ? a->most : b->most};
}

/* The range of a number. */
static pithp_range range_of(const value *x) {
    const bool known = !x->array && (x->dtype == PITH_I64 || x->dtype == PITH_U64);
    const pithp_i128 number =
        x->dtype == PITH_I64 ? (pithp_i128)(int64_t)x->bits : (pithp_i128)x->bits;
    return (pithp_range){known, number, number};
}

/* Combine integers without a dtype exactly, in i64 if it fits. *done: the result is
 * complete. False: neither i64 nor u64 holds it. */
static bool combine_numbers(const recording *r,
                            const pithp_operation *o,
                            const value *x,
                            pithp_range *range,
                            value *to,
                            bool *done) {
    pithp_range ranges[3];
    bool whole = true;
    for (int k = 0; k < o->count; k++) {
        ranges[k] = x[k].range;
        whole &= !x[k].array;
    }
    const pithp_range_state state = pithp_range_combine(o, ranges, range);
    if (state == PITHP_RANGE_TOO_LARGE)
        return refuse(r, "the number has more than 64 bits: write one with a point");
    *done = state == PITHP_RANGE_KNOWN && whole;
    if (*done) {
        to->dtype = range->most > INT64_MAX ? PITH_U64 : PITH_I64;
        to->bits = (uint64_t)range->least;
    }
    return true;
}

/* Compute an operation whose operands have one dtype. */
static bool compute(const recording *r, const pithp_operation *o, value *x, value *to) {
    if (fold(r, o, x, to))
        return true;
    to->array = call(r, o, x);
    to->made = true;
    if (to->array)
        to->dtype = pithp_array_spec(to->array)->dtype;
    return to->array != NULL;
}

/* Set the range of a result without a dtype. */
static bool note_range(const recording *r, const pithp_range *chosen, value *x) {
    x->range = x->array ? *chosen : range_of(x);
    return !x->array || !chosen->known || is_float(x->dtype) ||
           pithp_range_within(chosen, x->dtype) ||
           refuse(r, "the numbers have more than 64 bits: cast one, as in f64(x)");
}

static bool apply(recording *r, const pithp_operation *o) {
    value *const x = r->stack + r->count - o->count;
    value made = {0};
    pithp_range range = {.known = false};
    const bool chooses = o->rule == PITHP_OPERANDS_CHOICE;
    bool weak = o->rule != PITHP_OPERANDS_CALL, done = false;
    for (int k = chooses; k < o->count; k++)
        weak &= x[k].weak;
    if (weak && chooses)
        range = join_ranges(x + 1);
    else if (weak && !combine_numbers(r, o, x, &range, &made, &done))
        return false;
    if (!done && !prepare(r, o, x))
        return false;
    if (o->primitive == PITHP_PRIMITIVE_COUNT) {
        x[0].weak = weak;
        return true;
    }
    if (!done && !compute(r, o, x, &made))
        return false;
    made.weak = weak && made.dtype != PITH_BOOL;
    if (made.weak && !note_range(r, &range, &made))
        return false;
    for (int k = 0; k < o->count; k++)
        drop(r, &x[k]);
    *x = made;
    r->count += 1 - o->count;
    return true;
}

static bool run_term(recording *r, const pithp_term *t) {
    value *top = &r->stack[r->count - 1];
    switch ((pithp_term_kind)t->kind) {
        case PITHP_TERM_NUMBER:
            top = &r->stack[r->count++];
            *top =
                (value){.bits = t->bits, .dtype = (pith_dtype)t->dtype, .weak = t->weak};
            top->range = range_of(top);
            return true;
        case PITHP_TERM_OPERAND:
            r->stack[r->count++] =
                (value){.array = r->operands[t->operand],
                        .dtype = pithp_array_spec(r->operands[t->operand])->dtype};
            return true;
        case PITHP_TERM_CAST:
            top->weak = false;
            return convert(r, top, (pith_dtype)t->dtype);
        case PITHP_TERM_OPERATION:
            return apply(r, t->operation);
    }
    return false;
}

static const pith_array *run(recording *r, pith_dtype as) {
    const pithp_expression *e = r->e;
    for (int64_t k = 0; k < e->count; k++)
        if (!run_term(r, &e->terms[k])) {
            const pith_status code = r->s->error.code;
            if (code == PITH_E_ARG || code == PITH_E_DTYPE || code == PITH_E_SHAPE)
                pithp_error_point(r->s, e->text, (size_t)e->terms[k].at);
            return NULL;
        }
    value *result = r->stack;
    result->weak = false;
    if (as != PITH_DTYPE_NONE && !convert(r, result, as))
        return NULL;
    return make_array(r, result) ? result->array : NULL;
}

const pith_array *pithp_expression_record(pith_scope *s,
                                          const pithp_expression *e,
                                          const pith_array *const *operands,
                                          pith_dtype as) {
    const size_t bytes = (size_t)e->deepest * sizeof(value);
    value few[16];
    recording r = {.s = s, .e = e, .operands = operands, .stack = few};
    if (bytes > sizeof few && !(r.stack = pithp_allocate(s->runtime, bytes))) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    const pith_array *made = run(&r, as);
    if (r.stack != few)
        pithp_release(s->runtime, r.stack, bytes);
    return made;
}
