/* Exact integers in expressions: values and ranges of integers without a dtype.
 * Arithmetic of the dtypes wraps; a number in the text does not. */
#include "array/expression_parts.h"

typedef pithp_i128 wide;

static wide least_of(wide a, wide b) {
    return a < b ? a : b;
}

static wide most_of(wide a, wide b) {
    return a > b ? a : b;
}

static bool multiply(const pithp_range *x, const pithp_range *y, pithp_range *to) {
    const wide a[] = {x->least, x->most}, b[] = {y->least, y->most};
    bool fits = true;
    for (int k = 0; fits && k < 4; k++) {
        wide product;
        fits = !__builtin_mul_overflow(a[k / 2], b[k % 2], &product);
        to->least = k ? least_of(to->least, product) : product;
        to->most = k ? most_of(to->most, product) : product;
    }
    return fits;
}

/* base to a non-negative exponent. */
static bool raise_to(wide base, wide exponent, pithp_range *to) {
    wide power = 1;
    if (base >= -1 && base <= 1) /* larger exponents make no difference */
        exponent = exponent > 2 ? 2 + exponent % 2 : exponent;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(power, base, &power))
            return false;
    to->least = to->most = power;
    return true;
}

static pithp_range size_of(const pithp_range *x) {
    const bool both = x->least < 0 && x->most > 0;
    const wide low = x->least < 0 ? -x->least : x->least;
    const wide high = x->most < 0 ? -x->most : x->most;
    return (pithp_range){true, both ? 0 : least_of(low, high), most_of(low, high)};
}

static bool is_one(const pithp_range *x) {
    return x->known && x->least == x->most;
}

static pithp_range_state
combine(pithp_primitive primitive, const pithp_range *x, pithp_range *to) {
    bool fits = true;
    switch ((int)primitive) {
        case PITHP_OP_ADD:
            *to = (pithp_range){true, x[0].least + x[1].least, x[0].most + x[1].most};
            break;
        case PITHP_OP_SUB:
            *to = (pithp_range){true, x[0].least - x[1].most, x[0].most - x[1].least};
            break;
        case PITHP_OP_NEG:
            *to = (pithp_range){true, -x[0].most, -x[0].least};
            break;
        case PITHP_OP_ABS:
            *to = size_of(&x[0]);
            break;
        case PITHP_OP_MIN:
            *to = (pithp_range){true, least_of(x[0].least, x[1].least),
                                least_of(x[0].most, x[1].most)};
            break;
        case PITHP_OP_MAX:
            *to = (pithp_range){true, most_of(x[0].least, x[1].least),
                                most_of(x[0].most, x[1].most)};
            break;
        case PITHP_OP_MUL:
            fits = multiply(&x[0], &x[1], to);
            break;
        case PITHP_OP_SQUARE:
            fits = multiply(&x[0], &x[0], to);
            break;
        case PITHP_OP_POWER:
            if (!is_one(&x[0]) || !is_one(&x[1]) || x[1].least < 0)
                return PITHP_RANGE_UNKNOWN;
            fits = raise_to(x[0].least, x[1].least, to);
            break;
        case PITHP_OP_SHIFT_LEFT:
            if (!is_one(&x[0]) || !is_one(&x[1]) || x[1].least < 0)
                return PITHP_RANGE_UNKNOWN;
            fits = x[0].least == 0 || x[1].least < 64;
            to->least = to->most =
                fits && x[0].least ? x[0].least * ((wide)1 << x[1].least) : 0;
            break;
        default:
            return PITHP_RANGE_UNKNOWN;
    }
    to->known = true;
    return fits && to->least >= INT64_MIN && to->most <= (wide)UINT64_MAX
               ? PITHP_RANGE_KNOWN
               : PITHP_RANGE_TOO_LARGE;
}

pithp_range_state
pithp_range_combine(const pithp_operation *o, const pithp_range *x, pithp_range *to) {
    *to = (pithp_range){.known = false};
    if (o->rule == PITHP_OPERANDS_DIVIDE || o->rule == PITHP_OPERANDS_CALL)
        return PITHP_RANGE_UNKNOWN;
    for (int k = 0; k < o->count; k++)
        if (!x[k].known)
            return PITHP_RANGE_UNKNOWN;
    return combine((pithp_primitive)o->primitive, x, to);
}

pithp_range pithp_range_of(pith_dtype dtype) {
    const int width = 8 * (int)pith_dtype_size(dtype);
    const bool is_unsigned = dtype >= PITH_U8;
    const wide count = (wide)1 << (is_unsigned ? width : width - 1);
    return (pithp_range){true, is_unsigned ? 0 : -count, count - 1};
}

bool pithp_range_within(const pithp_range *x, pith_dtype dtype) {
    const pithp_range all = pithp_range_of(dtype);
    return x->known && x->least >= all.least && x->most <= all.most;
}

const char *pithp_range_print(pithp_i128 number, char text[PITHP_RANGE_TEXT]) {
    char *at = text + PITHP_RANGE_TEXT - 1;
    const bool negative = number < 0;
    *at = 0;
    do {
        const int digit = (int)(number % 10);
        *--at = (char)('0' + (digit < 0 ? -digit : digit));
        number /= 10;
    } while (number);
    if (negative)
        *--at = '-';
    return at;
}
