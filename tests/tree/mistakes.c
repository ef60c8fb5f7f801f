/* Mistakes in nodes and steps that no compiler lets through, one a case; C and C++ read
 * this. compile_fail.sh compiles each, without warnings as errors. */
#include "nodes.h"

typedef struct Small {
    const pith_array *x;
    int64_t width;
    double cutoff;
    float single;
    int number;
    char *text;
    long double wide;
    const Atoms *atoms;
    Scheme scheme;
    const pith_list *list;
} Small;

#if CASE == 0 /* no mistake */
static void upgrade(pith_scope *s, pith_upgrade *u) {
    (void)s, (void)u;
}
PITH_NODE(Small,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, upgrade),
          PITH_FORMERLY("Tiny"),
          PITH_NAMED("own.Small"),
          PITH_USES(Atoms),
          PITH_LEAF(x, "f64[n,width]", .fill = 1),
          PITH_STATIC(width),
          PITH_STATIC(cutoff),
          PITH_IGNORE(single),
          PITH_IGNORE(number),
          PITH_IGNORE(text),
          PITH_IGNORE(wide),
          PITH_CHILD(atoms, Atoms),
          PITH_STATIC_ENUM(scheme, scheme_names),
          PITH_LIST(list, Atoms))
static const Small *step(pith_scope *s, const Small *in) {
    Small next = *in;
    next.width = 2;
    const Small *made = pith_make(s, Small, NULL, NULL);
    return pith_is(Small, made) ? pith_freeze(s, Small, &next) : pith_keep(s, made);
}
PITH_FUNCTION1(small_step, step, Small, Small)
#endif

#if CASE == 1 /* y */
PITH_NODE(Small, PITH_LEAF(y, "f64"))
#endif
#if CASE == 2 /* _Generic|negative|size of array|is not constant|array bound */
PITH_NODE(Small, PITH_LEAF(width, "f64"))
#endif
#if CASE == 3 /* _Generic|negative|size of array|array bound */
PITH_NODE(Small, PITH_CHILD(x, Atoms))
#endif
#if CASE == 4 /* _Generic|int64_t */
PITH_NODE(Small, PITH_STATIC(single))
#endif
#if CASE == 5 /* _Generic|int64_t */
PITH_NODE(Small, PITH_STATIC(number))
#endif
#if CASE == 6 /* _Generic|int64_t */
PITH_NODE(Small, PITH_STATIC(text))
#endif
#if CASE == 7 /* _Generic|int64_t */
PITH_NODE(Small, PITH_STATIC(x))
#endif
#if CASE == 8 /* _Generic|negative|size of array|array bound */
PITH_NODE(Small, PITH_STATIC_ENUM(cutoff, scheme_names))
#endif
#if CASE == 9 /* _Generic|negative|size of array|array bound */
PITH_NODE(Small, PITH_STATIC_DTYPE(width))
#endif
#if CASE == 10 /* Unknown_pith_type|Unknown */
typedef struct Unknown Unknown;
typedef struct HasUnknown {
    const Unknown *unknown;
} HasUnknown;
PITH_NODE(HasUnknown, PITH_CHILD(unknown, Unknown))
#endif
#if CASE == 11 /* fil */
PITH_NODE(Small, PITH_LEAF(x, "f64", .fil = 1))
#endif
#if CASE == 12 /* has not the signature that PITH_FUNCTION states */
static const Atoms *step(pith_scope *s, const Everything *in) {
    (void)s;
    return in->atoms;
}
PITH_FUNCTION1(small_step, step, Atoms, Atoms)
#endif
#if CASE == 13 /* has not the signature that PITH_FUNCTION states */
static const Everything *step(pith_scope *s, const Everything *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(small_step, step, Atoms, Everything)
#endif
#if CASE == 14 /* has not the signature that PITH_FUNCTION states */
static const Atoms *step(pith_scope *s, const Atoms *in) {
    (void)s;
    return in;
}
PITH_FUNCTION2(small_step, step, Atoms, Atoms, Atoms)
#endif
#if CASE == 15 /* has not the signature that PITH_FUNCTION states */
static const Atoms *step(pith_scope *s, Atoms *in) {
    (void)s;
    return in;
}
PITH_FUNCTION1(small_step, step, Atoms, Atoms)
#endif
#if CASE == 16 /* _Generic|conditional|different types|distinct|incompatible */
static const void *freeze(pith_scope *s, const Everything *in);
static const void *freeze(pith_scope *s, const Everything *in) {
    return pith_freeze(s, Atoms, in);
}
#endif
#if CASE == 17 /* _Generic|negative|size of array|array bound */
static void check(pith_scope *s, const Everything *in) {
    (void)s, (void)in;
}
PITH_NODE(Small, PITH_STATIC(width), PITH_VALIDATE(check))
#endif
#if CASE == 18 /* _Generic|negative|size of array|array bound */
static void upgrade(pith_scope *s, const Small *in) {
    (void)s, (void)in;
}
PITH_NODE(Small, PITH_TYPE_VERSION(2), PITH_UPGRADE(1, upgrade), PITH_STATIC(width))
#endif
#if CASE == 19 /* _Generic|negative|size of array|array bound */
PITH_NODE(Small, PITH_LIST(atoms, Atoms))
#endif
#if CASE == 20 /* _Generic|negative|size of array|array bound */
PITH_NODE(Small, PITH_DICT(list, Atoms))
#endif
