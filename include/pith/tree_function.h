/**
 * @file
 * Typed functions over trees: declarations, calls and partial application.
 *
 * Results, scopes and errors: see tree.h.
 */
#ifndef PITH_TREE_FUNCTION_H
#define PITH_TREE_FUNCTION_H

#include <pith/tree.h>

/**
 * A typed function over trees. PITH_FUNCTION1 to 4 define one at compile time.
 * pith_partial and others make one at run time; it belongs to a scope, and pith_keep
 * moves it to an outer scope.
 */
struct pith_function {
    const char *name;
    const void *(*call)(const pith_function *self,
                        pith_scope *s,
                        const void *const *arguments);
    int arity; /**< 1 to 4 */
    /** Types of result and parameters; NULL: any tree; pith_array_pith_type: an array. */
    const pith_type *(*result)(void);
    const pith_type *(*parameters[4])(void);
    const void *closure; /**< for functions made by the library; else NULL */
};

#ifdef __cplusplus
extern "C++" {
/** A tree that converts to a pointer to any record. */
class pith_tree_ {
  public:
    explicit pith_tree_(const void *tree) : tree_(tree) {}
    template <class T> operator const T *() const {
        return static_cast<const T *>(tree_);
    }

  private:
    const void *tree_;
};
}
#endif

PITH_BEGIN

/**
 * Call a typed function. Arguments are checked against its parameter types, the result
 * against its result type.
 *
 * @return The result, kept if it does not outlive @p s. On failure the nil record of the
 * result's type, or NULL.
 */
PITH_API const void *pith_call(pith_scope *s,
                               const pith_function *function,
                               int64_t count,
                               const void *const *arguments);
/** pith_call with a list of arguments: pith_apply(s, &step, state, key). The result
 * converts to a pointer to any record, in C++ too. */
#ifdef __cplusplus
#    define pith_apply(s, function, ...)                                                 \
        pith_tree_(pith_call((s), (function), PITH_COUNT_ARGS_(__VA_ARGS__),             \
                             PITH_ARRAY_(const void *, __VA_ARGS__)))
#else
#    define pith_apply(s, function, ...)                                                 \
        pith_call((s), (function), PITH_COUNT_ARGS_(__VA_ARGS__),                        \
                  PITH_ARRAY_(const void *, __VA_ARGS__))
#endif
/**
 * Partial application: bind the last parameter of a function to a tree. The result is a
 * function of the other parameters, with the same name.
 *
 * Tree and function are kept if they do not outlive @p s. In a compiled function the
 * leaves of the tree are inputs, and its statics belong to the structure.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: @p function is no function, or has fewer than two parameters. PITH_E_TYPE:
 * the tree is not of the parameter's type.
 */
PITH_API const pith_function *
pith_partial(pith_scope *s, const pith_function *function, const void *tree);

PITH_END

/* Only the thunks cast. A function of another signature does not compile.
 */
#ifdef __cplusplus
#    define PITH_SIGNATURE_(fn, T)                                                       \
        static_assert(std::is_same<decltype(&fn), std::remove_cv<T>::type>::value,       \
                      #fn " has not the signature that PITH_FUNCTION states");
#else
#    define PITH_SIGNATURE_(fn, T)                                                       \
        _Static_assert(_Generic(&fn, T : 1, default : 0),                                \
                       #fn " has not the signature that PITH_FUNCTION states");
#endif
#define PITH_FUNCTION1(step, fn, R, A)                                                   \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *))                           \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0]);                                                \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn, step##_thunk, 1, PITH_TYPE_OF_(R), {PITH_TYPE_OF_(A), NULL, NULL, NULL},    \
        NULL};
#define PITH_FUNCTION2(step, fn, R, A, B)                                                \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *, const B *))                \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1]);                              \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        2,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), NULL, NULL},                                \
        NULL};
#define PITH_FUNCTION3(step, fn, R, A, B, C)                                             \
    PITH_SIGNATURE_(fn, const R *(*)(pith_scope *, const A *, const B *, const C *))     \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1], (const C *)a_[2]);            \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        3,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), PITH_TYPE_OF_(C), NULL},                    \
        NULL};
#define PITH_FUNCTION4(step, fn, R, A, B, C, D)                                          \
    PITH_SIGNATURE_(                                                                     \
        fn, const R *(*)(pith_scope *, const A *, const B *, const C *, const D *))      \
    static const void *step##_thunk(const pith_function *self_, pith_scope *in_,         \
                                    const void *const *a_) {                             \
        (void)self_;                                                                     \
        return fn(in_, (const A *)a_[0], (const B *)a_[1], (const C *)a_[2],             \
                  (const D *)a_[3]);                                                     \
    }                                                                                    \
    __attribute__((unused)) static const pith_function step = {                          \
        #fn,                                                                             \
        step##_thunk,                                                                    \
        4,                                                                               \
        PITH_TYPE_OF_(R),                                                                \
        {PITH_TYPE_OF_(A), PITH_TYPE_OF_(B), PITH_TYPE_OF_(C), PITH_TYPE_OF_(D)},        \
        NULL};
#define PITH_TYPE_OF_(T) T##_pith_type

/* `void` in PITH_FUNCTION is any tree, `pith_array` an array. */
#define void_pith_type NULL

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_call(s, ...)    pith_call(PITH_AT(s), __VA_ARGS__)
#    define pith_partial(s, ...) pith_partial(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
