/**
 * @file
 * Numbers as operands: pith_mul(s, x, 2.0), pith_where(s, c, x, 0).
 *
 * The elementwise functions of two and three operands (array_elementwise.h) are macros
 * that take arrays and C numbers. A number becomes an array of rank 0 with the dtype of
 * the other operands, so that one function serves every precision: f32 times 2.0 is f32.
 *
 * - Numbers are bool, char, integers, enum constants, float and double. long double and
 *   integers of 128 bits do not compile.
 * - In an integer dtype a number must be exact; in bool it must be 0 or 1. In a float
 *   dtype it is rounded to nearest, and a finite number must stay finite. Numbers of
 *   64-bit integer types are exact in i64 and u64. Any other number is PITH_E_DTYPE.
 * - Numbers without an array among the operands are PITH_E_ARG.
 * - A literal 0 is a number. A null pointer is written NULL in C and nullptr in C++. C++
 *   rejects NULL and 0L, which it cannot distinguish.
 *
 * The exported functions take arrays only. They are reached by (pith_mul)(s, x, y), by
 * pointers to them, and from other languages, which make numbers with pith_like.
 */
#ifndef PITH_ARRAY_NUMBER_H
#define PITH_ARRAY_NUMBER_H

#include <pith/base.h>
#ifdef __cplusplus
#    include <type_traits>
#endif

/** Kind of an operand. */
typedef enum pith_number_kind {
    PITH_NUMBER_NONE, /**< an array */
    PITH_NUMBER_I64,
    PITH_NUMBER_U64,
    PITH_NUMBER_F64
} pith_number_kind;

/** An array or a C number; made by the macros. */
typedef struct pith_array_or_number {
    const pith_array *array; /**< of a number: set by pith_numbers_begin */
    pith_number_kind kind;
    union {
        int64_t i64; /**< bool and enum constants too */
        uint64_t u64;
        double f64;
    } number;
} pith_array_or_number;

PITH_BEGIN

/**
 * Begin a call whose operands include numbers: make an array of rank 0 from each number.
 *
 * @param function The name of the function that is called next with the arrays. That call
 * is made also after an error, because it consumes the call site of @p s.
 * @param dtype The dtype of the numbers; PITH_DTYPE_NONE: the promoted dtype of the
 * arrays.
 * @param names The names of the operands, for errors.
 *
 * @par Errors
 * PITH_E_ARG: no operand is an array. PITH_E_DTYPE: a number does not fit the dtype, or
 * the arrays have no common dtype.
 */
PITH_API void pith_numbers_begin(pith_scope *s,
                                 const char *function,
                                 pith_dtype dtype,
                                 int64_t count,
                                 const char *const *names,
                                 pith_array_or_number *operands);
/**
 * End a call of pith_numbers_begin: drop the arrays of the numbers.
 *
 * @return @p result.
 */
PITH_API const pith_array *pith_numbers_end(pith_scope *s,
                                            int64_t count,
                                            const pith_array_or_number *operands,
                                            const pith_array *result);

PITH_END

/* ---- Conversion of an expression to an operand ---- */

#ifdef __cplusplus
extern "C++" {

/* Types of numbers: at most 64 bits. long has an overload of its own: see pith_long_. */
template <class T>
struct pith_is_number_ : std::integral_constant<bool,
                                                (std::is_arithmetic<T>::value ||
                                                 (std::is_enum<T>::value &&
                                                  std::is_convertible<T, int>::value)) &&
                                                    sizeof(T) <= 8> {};

template <class T> inline pith_array_or_number pith_number_(T x) {
    pith_array_or_number made = {nullptr, PITH_NUMBER_I64, {0}};
    if (std::is_floating_point<T>::value) {
        made.kind = PITH_NUMBER_F64;
        made.number.f64 = static_cast<double>(x);
    } else if (std::is_unsigned<T>::value) {
        made.kind = PITH_NUMBER_U64;
        made.number.u64 = static_cast<uint64_t>(x);
    } else {
        made.number.i64 = static_cast<int64_t>(x);
    }
    return made;
}

/* long converts through a type of its own. That is a worse match than the conversion of
 * NULL and 0L to a pointer, so these are not taken for numbers. */
struct pith_long_ {
    long value;
    template <class T,
              typename std::enable_if<std::is_same<T, long>::value, int>::type = 0>
    pith_long_(T x) : value(x) {}
};
struct pith_NULL_is_a_number_in_cxx_so_write_nullptr_or_0;

/* Compilers show the name of the functions below in the error for an operand of another
 * type. */
#    define PITH_OPERAND_FUNCTION_                                                       \
        pith_operand_must_be_an_array_bool_integer_float_or_double
inline pith_array_or_number PITH_OPERAND_FUNCTION_(const pith_array *a) {
    return {a, PITH_NUMBER_NONE, {0}};
}
inline pith_array_or_number PITH_OPERAND_FUNCTION_(pith_array *a) {
    return {a, PITH_NUMBER_NONE, {0}};
}
inline pith_array_or_number PITH_OPERAND_FUNCTION_(std::nullptr_t) {
    return {nullptr, PITH_NUMBER_NONE, {0}};
}
template <
    class T,
    typename std::enable_if<pith_is_number_<T>::value && !std::is_same<T, long>::value,
                            int>::type = 0>
inline pith_array_or_number PITH_OPERAND_FUNCTION_(T x) {
    return pith_number_(x);
}
inline pith_array_or_number PITH_OPERAND_FUNCTION_(pith_long_ x) {
    return pith_number_(x.value);
}
template <class T> pith_array_or_number PITH_OPERAND_FUNCTION_(T *) = delete;
pith_array_or_number
PITH_OPERAND_FUNCTION_(pith_NULL_is_a_number_in_cxx_so_write_nullptr_or_0 *) = delete;

} // extern "C++"

#    define PITH_OPERAND_(x)    PITH_OPERAND_FUNCTION_(x)
#    define PITH_ONLY_ARRAY_(x) (x)
#else
static inline pith_array_or_number pith_operand_array_(const void *a) {
    return (pith_array_or_number){(const pith_array *)a, PITH_NUMBER_NONE, {0}};
}
static inline pith_array_or_number pith_operand_i64_(int64_t x) {
    return (pith_array_or_number){NULL, PITH_NUMBER_I64, {.i64 = x}};
}
static inline pith_array_or_number pith_operand_u64_(uint64_t x) {
    return (pith_array_or_number){NULL, PITH_NUMBER_U64, {.u64 = x}};
}
static inline pith_array_or_number pith_operand_f64_(double x) {
    return (pith_array_or_number){NULL, PITH_NUMBER_F64, {.f64 = x}};
}
static inline pith_array_or_number pith_operand_f32_(float x) {
    return pith_operand_f64_((double)x);
}
static inline const pith_array *pith_only_array_(const void *a) {
    return (const pith_array *)a;
}
/* Never called: compilers show these names in the error for an operand of another type.
 */
struct pith_operand_must_be_an_array_bool_integer_float_or_double {
    int other;
};
struct pith_operand_must_be_an_array_and_no_number {
    int other;
};
pith_array_or_number pith_other_operand_(
    struct pith_operand_must_be_an_array_bool_integer_float_or_double other);
const pith_array *
pith_no_array_(struct pith_operand_must_be_an_array_and_no_number other);

/* The type of x selects the function. A variable with a unique name keeps nested calls
 * from doubling the text at every level. */
#    define PITH_OPERAND_(x)             PITH_OPERAND_NAMED_(x, __COUNTER__)
#    define PITH_OPERAND_NAMED_(x, n)    PITH_OPERAND_NUMBERED_(x, n)
#    define PITH_OPERAND_NUMBERED_(x, n) PITH_OPERAND_OF_(x, pith_operand_##n##_)
#    define PITH_OPERAND_OF_(x, name)                                                      \
        __extension__({                                                                    \
            __auto_type name = (x);                                                        \
            _Generic(name, const pith_array * : pith_operand_array_,                     \
                     pith_array * : pith_operand_array_,                                 \
                     const void * : pith_operand_array_,                                 \
                     void * : pith_operand_array_,                                       \
                     _Bool : pith_operand_i64_,                                          \
                     char : pith_operand_i64_,                                           \
                     signed char : pith_operand_i64_,                                    \
                     short : pith_operand_i64_,                                          \
                     int : pith_operand_i64_,                                            \
                     long : pith_operand_i64_,                                           \
                     long long : pith_operand_i64_,                                      \
                     unsigned char : pith_operand_u64_,                                  \
                     unsigned short : pith_operand_u64_,                                 \
                     unsigned : pith_operand_u64_,                                       \
                     unsigned long : pith_operand_u64_,                                  \
                     unsigned long long : pith_operand_u64_,                             \
                     float : pith_operand_f32_,                                          \
                     double : pith_operand_f64_,                                         \
                     default : pith_other_operand_)(name); \
        })
#    define PITH_ONLY_ARRAY_(x)             PITH_ONLY_ARRAY_NAMED_(x, __COUNTER__)
#    define PITH_ONLY_ARRAY_NAMED_(x, n)    PITH_ONLY_ARRAY_NUMBERED_(x, n)
#    define PITH_ONLY_ARRAY_NUMBERED_(x, n) PITH_ONLY_ARRAY_OF_(x, pith_operand_##n##_)
#    define PITH_ONLY_ARRAY_OF_(x, name)                                                   \
        __extension__({                                                                    \
            __auto_type name = (x);                                                        \
            _Generic(name, const pith_array * : pith_only_array_,                        \
                     pith_array * : pith_only_array_,                                    \
                     const void * : pith_only_array_,                                    \
                     void * : pith_only_array_,                                          \
                     default : pith_no_array_)(name); \
        })
#endif

/* ---- Calls, by the form of the function: `f` is its name ---- */

#define PITH_ALWAYS_INLINE_ static inline __attribute__((always_inline))

typedef const pith_array *
pith_binary_function_(pith_scope *s, const pith_array *a, const pith_array *b);
typedef const pith_array *pith_ternary_function_(pith_scope *s,
                                                 const pith_array *a,
                                                 const pith_array *b,
                                                 const pith_array *c);

static inline const pith_array *pith_binary_numbers_(pith_scope *s,
                                                     pith_binary_function_ *f,
                                                     const char *name,
                                                     pith_array_or_number a,
                                                     pith_array_or_number b) {
    static const char *const names[] = {"a", "b"};
    pith_array_or_number all[] = {a, b};
    pith_numbers_begin(s, name, PITH_DTYPE_NONE, 2, names, all);
    return pith_numbers_end(s, 2, all, f(s, all[0].array, all[1].array));
}
PITH_ALWAYS_INLINE_ const pith_array *pith_binary_(pith_scope *s,
                                                   pith_binary_function_ *f,
                                                   const char *name,
                                                   pith_array_or_number a,
                                                   pith_array_or_number b) {
    if (a.kind == PITH_NUMBER_NONE && b.kind == PITH_NUMBER_NONE)
        return f(s, a.array, b.array);
    return pith_binary_numbers_(s, f, name, a, b);
}
#define PITH_BINARY_(f, s, a, b)                                                         \
    pith_binary_(PITH_SITE_(s), (f), #f, PITH_OPERAND_(a), PITH_OPERAND_(b))

/* Numbers of a selection between two operands: its condition gives no dtype. */
static inline const pith_array *pith_select_numbers_(pith_scope *s,
                                                     pith_ternary_function_ *f,
                                                     const char *name,
                                                     const pith_array *condition,
                                                     pith_array_or_number a,
                                                     pith_array_or_number b) {
    static const char *const names[] = {"a", "b"};
    pith_array_or_number all[] = {a, b};
    pith_numbers_begin(s, name, PITH_DTYPE_NONE, 2, names, all);
    return pith_numbers_end(s, 2, all, f(s, condition, all[0].array, all[1].array));
}
PITH_ALWAYS_INLINE_ const pith_array *pith_select_(pith_scope *s,
                                                   pith_ternary_function_ *f,
                                                   const char *name,
                                                   const pith_array *condition,
                                                   pith_array_or_number a,
                                                   pith_array_or_number b) {
    if (a.kind == PITH_NUMBER_NONE && b.kind == PITH_NUMBER_NONE)
        return f(s, condition, a.array, b.array);
    return pith_select_numbers_(s, f, name, condition, a, b);
}
#define PITH_SELECT_(f, s, condition, a, b)                                              \
    pith_select_(PITH_SITE_(s), (f), #f, PITH_ONLY_ARRAY_(condition), PITH_OPERAND_(a),  \
                 PITH_OPERAND_(b))

/* Bounds of an operand; a NULL bound does not take part. */
static inline const pith_array *pith_bounded_numbers_(pith_scope *s,
                                                      pith_ternary_function_ *f,
                                                      const char *name,
                                                      pith_array_or_number a,
                                                      pith_array_or_number low,
                                                      pith_array_or_number high) {
    static const char *const names[] = {"a", "low", "high"};
    const bool has_low = low.array || low.kind != PITH_NUMBER_NONE,
               has_high = high.array || high.kind != PITH_NUMBER_NONE;
    pith_array_or_number all[] = {a, has_low ? low : a, has_high ? high : a};
    pith_numbers_begin(s, name, PITH_DTYPE_NONE, 3, names, all);
    return pith_numbers_end(s, 3, all,
                            f(s, all[0].array, has_low ? all[1].array : NULL,
                              has_high ? all[2].array : NULL));
}
PITH_ALWAYS_INLINE_ const pith_array *pith_bounded_(pith_scope *s,
                                                    pith_ternary_function_ *f,
                                                    const char *name,
                                                    pith_array_or_number a,
                                                    pith_array_or_number low,
                                                    pith_array_or_number high) {
    if (a.kind == PITH_NUMBER_NONE && low.kind == PITH_NUMBER_NONE &&
        high.kind == PITH_NUMBER_NONE)
        return f(s, a.array, low.array, high.array);
    return pith_bounded_numbers_(s, f, name, a, low, high);
}
#define PITH_BOUNDED_(f, s, a, low, high)                                                \
    pith_bounded_(PITH_SITE_(s), (f), #f, PITH_OPERAND_(a), PITH_OPERAND_(low),          \
                  PITH_OPERAND_(high))

/* Exponents: integers with an operand of floats. */
static inline const pith_array *pith_scaled_(pith_scope *s,
                                             pith_binary_function_ *f,
                                             const char *name,
                                             const pith_array *a,
                                             pith_array_or_number b) {
    static const char *const names[] = {"b"};
    if (b.kind == PITH_NUMBER_NONE)
        return f(s, a, b.array);
    pith_numbers_begin(s, name, PITH_I32, 1, names, &b);
    return pith_numbers_end(s, 1, &b, f(s, a, b.array));
}
#define PITH_SCALED_(f, s, a, b)                                                         \
    pith_scaled_(PITH_SITE_(s), (f), #f, PITH_ONLY_ARRAY_(a), PITH_OPERAND_(b))

/* A comparison with tolerances. */
typedef const pith_array *pith_near_function_(pith_scope *s,
                                              const pith_array *a,
                                              const pith_array *b,
                                              double rtol,
                                              double atol,
                                              bool equal_nan);
static inline const pith_array *pith_near_(pith_scope *s,
                                           pith_near_function_ *f,
                                           const char *name,
                                           pith_array_or_number a,
                                           pith_array_or_number b,
                                           double rtol,
                                           double atol,
                                           bool equal_nan) {
    static const char *const names[] = {"a", "b"};
    if (a.kind == PITH_NUMBER_NONE && b.kind == PITH_NUMBER_NONE)
        return f(s, a.array, b.array, rtol, atol, equal_nan);
    pith_array_or_number all[] = {a, b};
    pith_numbers_begin(s, name, PITH_DTYPE_NONE, 2, names, all);
    return pith_numbers_end(s, 2, all,
                            f(s, all[0].array, all[1].array, rtol, atol, equal_nan));
}
#define PITH_NEAR_(f, s, a, b, rtol, atol, equal_nan)                                    \
    pith_near_(PITH_SITE_(s), (f), #f, PITH_OPERAND_(a), PITH_OPERAND_(b), (rtol),       \
               (atol), (equal_nan))

#endif
