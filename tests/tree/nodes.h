/* Nodes of every kind, as a program would declare them: C17, C++20 and CUDA read this
 * file. */
#ifndef TEST_TREE_NODES_H
#define TEST_TREE_NODES_H

#include <pith/tree.h>

typedef struct Atoms {
    const pith_array *position, *velocity;
} Atoms;
PITH_NODE(Atoms,
          PITH_LEAF(position, "float[n,3]", .unit = "sigma", .doc = "where they are"),
          PITH_LEAF(velocity, "float[n,3]"))

typedef struct Config {
    double tolerance;
    int64_t iterations;
    const char *method;
} Config;
PITH_NODE(Config,
          PITH_STATIC(tolerance, .initial = 1e-6),
          PITH_STATIC(iterations),
          PITH_STATIC(method))

typedef enum Scheme { SCHEME_EULER, SCHEME_VERLET } Scheme;
static const char *const scheme_names[] = {"euler", "verlet", NULL};

typedef struct Vector {
    double x, y, z;
} Vector;

typedef struct Boxes {
    const pith_list *list;
    const pith_dict *dict;
} Boxes;
PITH_NODE(Boxes, PITH_LIST(list, Atoms), PITH_DICT(dict, Config, .optional = true))

struct Everything;
static void everything_check(pith_scope *s, const struct Everything *e);

typedef struct Everything {
    const Atoms *atoms;
    const pith_array *x, *y;
    const void *extra;
    const struct Everything *next;
    int64_t count;
    double cutoff;
    bool periodic;
    Scheme scheme;
    pith_dtype precision;
    const char *label;
    const Config *config;
    Vector box;
    int scratch;
} Everything;
PITH_NODE(Everything,
          PITH_CHILD(atoms, Atoms),
          PITH_LEAF(x, "precision[count]", .fill = -1),
          PITH_LEAF(y, "any[...]", .optional = true),
          PITH_TREE(extra, .optional = true),
          PITH_CHILD(next, Everything, .optional = true),
          PITH_STATIC(count, .initial = 64),
          PITH_STATIC(cutoff, .unit = "sigma", .initial = 2.5),
          PITH_STATIC(periodic, .initial = true),
          PITH_STATIC_ENUM(scheme, scheme_names, .initial = SCHEME_VERLET),
          PITH_STATIC_DTYPE(precision, .initial = PITH_F32),
          PITH_STATIC(label, .initial_text = "melt"),
          PITH_STATIC_RECORD(config, Config),
          PITH_STATIC_STRUCT(box, x, y, z),
          PITH_IGNORE(scratch),
          PITH_VALIDATE(everything_check),
          PITH_TYPE_VERSION(3))

/* A negative cutoff is no Everything. */
__attribute__((unused)) static void everything_check(pith_scope *s, const Everything *e) {
    if (e->cutoff < 0)
        pith_fail(s, PITH_E_CHECK, ".cutoff", "expected 0 or more, got %g", e->cutoff);
}

/* Two types that name each other. */
struct Odd;
static inline const pith_type *Odd_pith_type(void);
typedef struct Even {
    const struct Odd *odd;
    const pith_array *x;
} Even;
typedef struct Odd {
    const Even *even;
} Odd;
PITH_NODE(Even, PITH_CHILD(odd, Odd, .optional = true), PITH_LEAF(x, "f64"))
PITH_NODE(Odd, PITH_CHILD(even, Even, .optional = true))

typedef struct Threads {
    const Even *even;
    const Odd *odd;
} Threads;
PITH_NODE(Threads, PITH_CHILD(even, Even), PITH_CHILD(odd, Odd))

typedef struct Disputed {
    const pith_array *position;
} Disputed;
#ifndef OTHER_DISPUTED
PITH_NODE(Disputed, PITH_LEAF(position, "f64[n]"))
#else
PITH_NODE(Disputed, PITH_LEAF(position, "f32[n]"))
#endif

PITH_BEGIN
/* Types as other translation units register them. */
const pith_type *atoms_type_elsewhere(void);
const pith_type *everything_type_elsewhere(void);
const pith_type *disputed_type_elsewhere(void);
PITH_END

#endif
