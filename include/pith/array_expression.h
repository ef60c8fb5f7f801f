/**
 * @file
 * Elementwise formulas as text: pith_expression(s, "x - L * floor(x / L)",
 * PITH_BIND({"x", x}, {"L", L})).
 *
 * Results, scopes and errors: see array.h.
 */
#ifndef PITH_ARRAY_EXPRESSION_H
#define PITH_ARRAY_EXPRESSION_H

#include <pith/array.h>

/** An array and its name in a formula. */
typedef struct pith_binding {
    const char *name; /**< letters, digits and _, not beginning with a digit; not the name
                         of a dtype */
    const pith_array *array;
} pith_binding;
/** PITH_BIND({"x", x}, {"L", L}): the bindings of a formula. */
#define PITH_BIND(...) PITH_ARRAY_(pith_binding, __VA_ARGS__, {NULL, NULL})

PITH_BEGIN

/**
 * Evaluate a formula over arrays. The bits are those of the same calls written out, eager
 * or traced. No compiler is needed.
 *
 * Operators have the precedence of C:
 *
 *     x ? y : z                 pith_where; x is compared with 0 unless it is bool
 *     || && !                   of any dtype: 0 is false; bool
 *     | ^ & ~  << >>            integers (| ^ & ~ bool also)
 *     == != < <= > >=           bool
 *     + - * / %                 pith_add, pith_sub, pith_mul, pith_div (floats only),
 *                               pith_fmod
 *     (f32)x, f32(x)            pith_cast; also float, double, int, unsigned, long, short
 *     f(x), f(x, y), ...        functions of array_elementwise.h with one result, by
 *                               names without pith_: sin, where, minimum, ...; and
 *                               C's fabs, rint, nearbyint
 *
 * Operands broadcast and promote as in the calls. A number takes the dtype of the other
 * operand: 0.5 * x has the dtype of x. It must fit: 0.5 and 2.0 with integers, 300 with
 * u8 and any number with bool are PITH_E_DTYPE. A suffix fixes the dtype: 0.5f, 3u, 3l,
 * 3ul are f32, u32, i64, u64.
 *
 * Numbers alone are computed in i64 or, above its range, in u64 (divided in f64). If one
 * has a point or an exponent, they are computed in f64. The result is again a number; a
 * formula of numbers alone has that dtype. Their sums, products, powers and left shifts
 * do not wrap: more than 64 bits is PITH_E_DTYPE. A selection between numbers by an
 * array, as in (x > 0 ? 1 : 300), is a number all of whose values must fit.
 *
 * Time and memory grow linearly with the length of the text, whatever its nesting; it has
 * at most 16 MiB. The message of an error shows the text with a caret below the fault.
 * For an unknown name or function it lists the known ones.
 *
 * @param bindings A NULL name terminates the list, as PITH_BIND does; NULL: no bindings.
 * Names that the text does not use are allowed.
 *
 * @par Errors
 * PITH_E_ARG: the text is not a valid formula, a name or function is unknown, or a
 * binding has no valid, unique name. PITH_E_DTYPE: the dtypes do not fit. PITH_E_SHAPE:
 * the shapes do not fit.
 *
 * @return The result, owned by @p s, or NULL.
 */
PITH_API const pith_array *
pith_expression(pith_scope *s, const char *text, const pith_binding *bindings);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_expression(s, ...) pith_expression(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
