/* Record types: what a description may hold, how each mistake in one is named, and that
 * one description is one type wherever it is registered. */
#include "nodes.h"
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <pith/tree.h>
#include <pthread.h>

/* ---- Mistakes ---- */

#define BAD(T, members, ...)                                                             \
    typedef struct members T;                                                            \
    PITH_NODE(T, __VA_ARGS__)
#define ONE_LEAF                                                                         \
    { const pith_array *x; }
#define LEAF_AND_WIDTH                                                                   \
    {                                                                                    \
        const pith_array *x;                                                             \
        int64_t width;                                                                   \
    }

BAD(BadDtype, ONE_LEAF, PITH_LEAF(x, "f65[n]"))
BAD(BadNoDtype, ONE_LEAF, PITH_LEAF(x, "[n]"))
BAD(BadExtent, ONE_LEAF, PITH_LEAF(x, "f64[n,]"))
BAD(BadStar, ONE_LEAF, PITH_LEAF(x, "f64[0*n]"))
BAD(BadNumber, ONE_LEAF, PITH_LEAF(x, "f64[99999999999999999999]"))
BAD(BadBracket, ONE_LEAF, PITH_LEAF(x, "f64[n"))
BAD(BadEnd, ONE_LEAF, PITH_LEAF(x, "f64[n]x"))
BAD(BadRank, ONE_LEAF, PITH_LEAF(x, "f64[1,2,3,4,5,6,7,8,9]"))
BAD(BadFill, ONE_LEAF, PITH_LEAF(x, "i32[n]", .fill = 0.5))
BAD(BadFill16, ONE_LEAF, PITH_LEAF(x, "f16[n]", .fill = 0.1))
BAD(BadFillBool, ONE_LEAF, PITH_LEAF(x, "bool[n]", .fill = 2))
BAD(BadFillBig, ONE_LEAF, PITH_LEAF(x, "u8[n]", .fill = 256))
BAD(BadCompress, ONE_LEAF, PITH_LEAF(x, "u8[n]", .compress = 20))
BAD(BadCompressed,
    LEAF_AND_WIDTH,
    PITH_LEAF(x, "i32[n]", .compress = 19),
    PITH_STATIC(width, .compress = 1))
#define TWO_LEAVES                                                                       \
    { const pith_array *x, *count; }
BAD(BadShard, ONE_LEAF, PITH_LEAF(x, "f64[n]", .shard = "x y"))
BAD(BadShardTwice, ONE_LEAF, PITH_LEAF(x, "f64[n,m]", .shard = "x;y,x"))
BAD(BadShardAxes, ONE_LEAF, PITH_LEAF(x, "f64[n]", .shard = "x;y"))
BAD(BadShardStatic,
    LEAF_AND_WIDTH,
    PITH_LEAF(x, "f64[width]", .shard = "x"),
    PITH_STATIC(width, .shard = "x"))
BAD(BadRows, ONE_LEAF, PITH_LEAF(x, "f64[n]", .shard = "x", .rows = "count"))
BAD(BadRowsAlone, ONE_LEAF, PITH_LEAF(x, "f64[n]", .rows = "x"))
BAD(BadRowsDtype,
    TWO_LEAVES,
    PITH_LEAF(x, "f64[n]", .shard = "x", .rows = "count"),
    PITH_LEAF(count, "i32[]", .shard = "x"))
BAD(BadRowsAxes,
    TWO_LEAVES,
    PITH_LEAF(x, "f64[n]", .shard = "x,y", .rows = "count"),
    PITH_LEAF(count, "i64[]", .shard = "x"))
BAD(BadRowsOfOne,
    TWO_LEAVES,
    PITH_LEAF(x, "f64[]", .shard = "x", .rows = "count"),
    PITH_LEAF(count, "i64[]", .shard = "x"))
BAD(BadSpelling, LEAF_AND_WIDTH, PITH_LEAF(x, "i32[n,widht]"), PITH_STATIC(width))
typedef struct {
    const pith_array *x;
    double cutoff;
} BadKind;
PITH_NODE(BadKind, PITH_LEAF(x, "i32[cutoff]"), PITH_STATIC(cutoff))
BAD(BadDtypeKind, LEAF_AND_WIDTH, PITH_LEAF(x, "width[n]"), PITH_STATIC(width))
typedef struct {
    const pith_array *x;
} BadTwice;
PITH_NODE(BadTwice, PITH_LEAF(x, "f64"), PITH_LEAF(x, "f64"))
typedef union {
    double number;
    int64_t whole;
} Either;
typedef struct {
    Either e;
} BadOverlap;
PITH_NODE(BadOverlap, PITH_STATIC(e.number), PITH_STATIC(e.whole))
typedef struct {
    const pith_array *x;
    double a, b, c;
} BadForgotten;
PITH_NODE(BadForgotten, PITH_LEAF(x, "f64"), PITH_STATIC(a), PITH_STATIC(b))
typedef struct {
    int64_t a;
} BadInitial;
PITH_NODE(BadInitial, PITH_STATIC(a, .initial = 1.5))
typedef struct {
    bool a;
} BadBool;
PITH_NODE(BadBool, PITH_STATIC(a, .initial = 2))
typedef struct {
    const char *a;
} BadText;
PITH_NODE(BadText, PITH_STATIC(a, .initial = 2))
typedef struct {
    double a;
} BadInitialText;
PITH_NODE(BadInitialText, PITH_STATIC(a, .initial_text = "x"))
typedef struct {
    double a;
} BadFillStatic;
PITH_NODE(BadFillStatic, PITH_STATIC(a, .fill = 1))
BAD(BadInitialLeaf, ONE_LEAF, PITH_LEAF(x, "f64", .initial = 1))
typedef struct {
    double a;
} BadOptional;
PITH_NODE(BadOptional, PITH_STATIC(a, .optional = true))
typedef enum { RED, GREEN } Colour;
static const char *const colours[] = {"red", "green", NULL};
typedef struct {
    Colour colour;
} BadChoice;
PITH_NODE(BadChoice, PITH_STATIC_ENUM(colour, colours, .initial = 2))
typedef struct {
    pith_dtype d;
} BadDtypeInitial;
PITH_NODE(BadDtypeInitial, PITH_STATIC_DTYPE(d, .initial = 99))
typedef struct {
    double a;
} BadVersion;
PITH_NODE(BadVersion, PITH_STATIC(a), PITH_TYPE_VERSION(0.5))
typedef struct {
    const Atoms *atoms;
} BadStaticRecord;
PITH_NODE(BadStaticRecord, PITH_STATIC_RECORD(atoms, Atoms))
typedef struct {
    const pith_array *x;
} BadChildArray;
PITH_NODE(BadChildArray, PITH_CHILD(x, pith_array))
typedef struct BadCycle {
    const struct BadCycle *next;
} BadCycle;
PITH_NODE(BadCycle, PITH_CHILD(next, BadCycle))
typedef struct {
    const BadDtype *child;
} BadChild;
PITH_NODE(BadChild, PITH_CHILD(child, BadDtype))
BAD(AsksOuter, ONE_LEAF, PITH_LEAF(x, "f64[^cells]"))
typedef struct {
    const AsksOuter *child;
    int64_t cellz;
} BadOuter;
PITH_NODE(BadOuter, PITH_CHILD(child, AsksOuter), PITH_STATIC(cellz))
typedef struct {
    _Alignas(32) double a;
} Wide;
PITH_NODE(Wide, PITH_STATIC(a))
typedef struct TwoChecks {
    double a;
} TwoChecks;
static void check_one(pith_scope *s, const TwoChecks *t) {
    (void)s, (void)t;
}
static void check_two(pith_scope *s, const TwoChecks *t) {
    (void)s, (void)t;
}
PITH_NODE(TwoChecks, PITH_STATIC(a), PITH_VALIDATE(check_one), PITH_VALIDATE(check_two))

static const struct {
    const pith_type *(*type)(void);
    const char *error;
} mistakes[] = {
    {BadDtype_pith_type,
     "BadDtype.x: leaf spec \"f65[n]\": no dtype or static has the name \"f65\""},
    {BadNoDtype_pith_type, "expected a dtype first"},
    {BadExtent_pith_type, "expected a number or a name at \"]\""},
    {BadStar_pith_type, "0 times a name is not an extent"},
    {BadNumber_pith_type, "a number is too large"},
    {BadBracket_pith_type, "expected \",\" or \"]\" at \"\""},
    {BadEnd_pith_type, "unexpected \"x\" at the end"},
    {BadRank_pith_type, "more than 8 extents"},
    {BadFill_pith_type, "BadFill.x: the fill 0.5 is not exact in i32"},
    {BadFill16_pith_type, "the fill 0.1 is not exact in f16"},
    {BadFillBool_pith_type, "the fill 2 is not exact in bool"},
    {BadFillBig_pith_type, "the fill 256 is not exact in u8"},
    {BadCompress_pith_type, "BadCompress.x: .compress is a level from 1 to 19, got 20"},
    {BadCompressed_pith_type, "BadCompressed.width: .compress is for leaves"},
    {BadShard_pith_type, "BadShard.x: .shard = \"x y\": expected a name, ',' or ';'"},
    {BadShardTwice_pith_type, "an axis is named twice"},
    {BadShardAxes_pith_type, ".shard = \"x;y\" is for 2 axes, the leaf has 1"},
    {BadShardStatic_pith_type, "BadShardStatic.width: .shard and .rows are for leaves"},
    {BadRows_pith_type, ".rows = \"count\" names no leaf of the record"},
    {BadRowsAlone_pith_type, ".rows is for sharded leaves: it needs .shard"},
    {BadRowsDtype_pith_type, "expected count to be \"i64[]\", got \"i32[]\""},
    {BadRowsAxes_pith_type, "expected count to be sharded over \"x,y\", got \"x\""},
    {BadRowsOfOne_pith_type, ".rows: the leaf has no rows"},
    {BadSpelling_pith_type,
     "BadSpelling.x: leaf spec \"i32[n,widht]\": there is no static widht, but there is width"},
    {BadKind_pith_type, "the static cutoff is not an int64_t, so it cannot be an extent"},
    {BadDtypeKind_pith_type, "the static width is not a pith_dtype"},
    {BadTwice_pith_type, "BadTwice.x: described twice"},
    {BadOverlap_pith_type, "BadOverlap.e.whole: it overlaps e.number"},
    {BadForgotten_pith_type, "BadForgotten: bytes 24..31 belong to no field"},
    {BadInitial_pith_type, "BadInitial.a: the initial value 1.5 is not an int64_t"},
    {BadBool_pith_type, "the initial value 2 is not a bool"},
    {BadText_pith_type, "a string takes .initial_text"},
    {BadInitialText_pith_type, ".initial_text is for strings"},
    {BadFillStatic_pith_type, ".fill is for leaves"},
    {BadInitialLeaf_pith_type, ".initial is for statics"},
    {BadOptional_pith_type, ".optional is for leaves and children"},
    {BadChoice_pith_type, "the initial value 2 is not among the 2 names"},
    {BadDtypeInitial_pith_type, "the initial value 99 is not a dtype"},
    {BadVersion_pith_type, "the version 0.5 is not a positive int"},
    {BadStaticRecord_pith_type, "BadStaticRecord.atoms: Atoms has leaves or children"},
    {BadChildArray_pith_type,
     "BadChildArray.x: pith_array is not a record type: an array is a PITH_LEAF"},
    {BadCycle_pith_type,
     "BadCycle.next: a required BadCycle leads back to BadCycle without end"},
    {BadChild_pith_type, "BadChild.child: BadDtype.x: leaf spec \"f65[n]\""},
    {BadOuter_pith_type,
     "BadOuter.child: its leaves need ^cells, but BadOuter has no extent of that name; it has cellz"},
    {Wide_pith_type, "aligned to 32 bytes"},
    {TwoChecks_pith_type, "a second check, check_two"},
};

Test(type, every_mistake_is_named) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const pith_type *type = mistakes[i].type();
        const char *error = pith_type_error(type);
        cr_assert(error && strstr(error, mistakes[i].error), "expected \"%s\" in: %s",
                  mistakes[i].error, error ? error : "(no error)");
        cr_assert(type == mistakes[i].type());
        const char zeros[256] = {0};
        const void *record = NULL;
        pt_fails(PITH_E_TYPE, s, record = pith_freeze_any(s, type, zeros));
        pt_says(mistakes[i].error);
        cr_assert(record && pith_kind(record) == PITH_NODE_ABSENT);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* A member that no field describes, where alignment leaves room for it: only a compiler
 * that tells the members of a struct sees it. */
typedef struct {
    double a;
    bool on;
    bool forgotten;
    double b;
} Narrow;
PITH_NODE(Narrow, PITH_STATIC(a), PITH_STATIC(on), PITH_STATIC(b))

Test(type, a_forgotten_member_in_a_gap_is_found) {
    const char *error = pith_type_error(Narrow_pith_type());
#if defined(__GNUC__) && !defined(__clang__)
    cr_assert(error && strstr(error, "Narrow: byte 9 belongs to no field"), "%s", error);
#else
    cr_assert_null(error);
#endif
}

typedef struct {
    double a;
    bool on;
    int number;
    const char *label;
    bool last;
} Padded;
PITH_NODE(Padded,
          PITH_STATIC(a),
          PITH_STATIC(on),
          PITH_IGNORE(number),
          PITH_STATIC(label),
          PITH_STATIC(last))

Test(type, padding_is_no_member) {
    cr_assert_null(pith_type_error(Padded_pith_type()), "%s",
                   pith_type_error(Padded_pith_type()));
    pith_type_spec spec = {
        "PaddedUnknown", sizeof(Padded), _Alignof(Padded), NULL, 0, NULL};
    const pith_field fields[] = {
        {"a",
         offsetof(Padded, a),
         8,
         PITH_FIELD_STATIC,
         NULL,
         NULL,
         NULL,
         PITH_STATIC_KIND_F64,
         NULL,
         PITH_HOOK_NONE,
         NULL,
         {.unit = NULL}},
        {"on",
         offsetof(Padded, on),
         1,
         PITH_FIELD_STATIC,
         NULL,
         NULL,
         NULL,
         PITH_STATIC_KIND_BOOL,
         NULL,
         PITH_HOOK_NONE,
         NULL,
         {.unit = NULL}},
        {"number",
         offsetof(Padded, number),
         4,
         PITH_FIELD_IGNORE,
         NULL,
         NULL,
         NULL,
         PITH_STATIC_KIND_NONE,
         NULL,
         PITH_HOOK_NONE,
         NULL,
         {.unit = NULL}},
        {"label",
         offsetof(Padded, label),
         8,
         PITH_FIELD_STATIC,
         NULL,
         NULL,
         NULL,
         PITH_STATIC_KIND_TEXT,
         NULL,
         PITH_HOOK_NONE,
         NULL,
         {.unit = NULL}},
        {"last",
         offsetof(Padded, last),
         1,
         PITH_FIELD_STATIC,
         NULL,
         NULL,
         NULL,
         PITH_STATIC_KIND_BOOL,
         NULL,
         PITH_HOOK_NONE,
         NULL,
         {.unit = NULL}},
    };
    spec.fields = fields,
    spec.field_count = 5; /* members unknown: alignment explains gaps */
    cr_assert_null(pith_type_error(pith_type_register(&spec, NULL)));
    spec.name = "PaddedShort", spec.field_count = 3;
    cr_assert(strstr(pith_type_error(pith_type_register(&spec, NULL)),
                     "bytes 16..31 belong to no field"));
}

/* ---- Good descriptions ---- */

Test(type, initial_and_nil_records) {
    const Everything initial = pith_initial(Everything);
    cr_assert(initial.count == 64 && !(initial.cutoff < 2.5) && initial.periodic &&
              initial.scheme == SCHEME_VERLET && initial.precision == PITH_F32);
    cr_assert_str_eq(initial.label, "melt");
    cr_assert(!(initial.config->tolerance > 1e-6) && initial.config->tolerance > 0);
    cr_assert(!initial.atoms && !initial.x && !initial.extra && initial.scratch == 0);
    pith_scope *closed = NULL;
    const Everything *nil = pith_freeze(closed, Everything, &initial);
    cr_assert(nil->count == 0 && !nil->x && !nil->label);
    cr_assert(nil->atoms && !nil->atoms->position, "a required child of nil is nil");
    cr_assert(!nil->next, "an optional one is absent");
    cr_assert_eq(nil->config->iterations, 0);
    cr_assert_eq(pith_kind(nil), PITH_NODE_ABSENT);
    cr_assert_null(pith_type_of(nil));
}

Test(type, the_version_and_name_are_kept) {
    cr_assert_eq(Everything_pith_type()->version, 3);
    cr_assert_eq(Atoms_pith_type()->version, 1);
    cr_assert_str_eq(pith_type_name(Everything_pith_type()), "Everything");
    cr_assert_str_eq(pith_type_name(NULL), "");
    cr_assert_not_null(pith_type_error(NULL));
    char memory[64] __attribute__((aligned(16))) = {0};
    cr_assert_str_eq(pith_type_name((const pith_type *)(const void *)memory), "");
    cr_assert_not_null(pith_type_error(pith_type_register(NULL, NULL)));
}

Test(type, types_may_name_each_other) {
    cr_assert_null(pith_type_error(Even_pith_type()), "%s",
                   pith_type_error(Even_pith_type()));
    cr_assert_null(pith_type_error(Odd_pith_type()));
    cr_assert(Even_pith_type()->fields[0].child == Odd_pith_type());
    cr_assert(Odd_pith_type()->fields[0].child == Even_pith_type());
}

Test(type, one_description_is_one_type_in_every_file) {
    cr_assert(atoms_type_elsewhere() == Atoms_pith_type());
    cr_assert(everything_type_elsewhere() == Everything_pith_type());
}

Test(type, two_descriptions_of_one_name_are_refused) {
    cr_assert_null(pith_type_error(Disputed_pith_type()));
    const pith_type *other = disputed_type_elsewhere();
    cr_assert(other != Disputed_pith_type());
    const char *error = pith_type_error(other);
    cr_assert(error &&
                  strstr(error, "Disputed: two structs have this name; field 0 is "
                                "\"position\" f64[n] in the one registered first and "
                                "\"position\" f32[n] in this one"),
              "%s", error);
    cr_assert(disputed_type_elsewhere() == other, "the refusal is remembered");
}

Test(type, a_description_is_copied) {
    char name[] = "Copied", field[] = "x", text[] = "f64[n]";
    pith_field fields[] = {{field,
                            0,
                            sizeof(void *),
                            PITH_FIELD_LEAF,
                            text,
                            NULL,
                            NULL,
                            PITH_STATIC_KIND_NONE,
                            NULL,
                            PITH_HOOK_NONE,
                            NULL,
                            {.unit = NULL}}};
    const pith_type_spec spec = {name, sizeof(void *), _Alignof(void *), fields, 1, NULL};
    const pith_type *cache = NULL, *type = pith_type_register(&spec, &cache);
    cr_assert(cache == type && !pith_type_error(type));
    memset(name, 0, sizeof name), memset(field, 0, sizeof field);
    memset(text, 0, sizeof text), memset(fields, 0, sizeof fields);
    cr_assert_str_eq(pith_type_name(type), "Copied");
    cr_assert_str_eq(type->fields[0].declared.name, "x");
    cr_assert_str_eq(type->fields[0].declared.spec, "f64[n]");
}

/* ---- Threads ---- */

enum { THREADS = 8, TYPES = 50 };

static void *register_all(void *into) {
    const pith_type **types = into;
    for (int i = 0; i < TYPES; i++) {
        char name[32];
        snprintf(name, sizeof name, "Threaded%d", i);
        const pith_field fields[] = {{"x",
                                      0,
                                      sizeof(void *),
                                      PITH_FIELD_LEAF,
                                      "f64[threads]",
                                      NULL,
                                      NULL,
                                      PITH_STATIC_KIND_NONE,
                                      NULL,
                                      PITH_HOOK_NONE,
                                      NULL,
                                      {.unit = NULL}}};
        const pith_type_spec spec = {name, sizeof(void *), _Alignof(void *), fields, 1,
                                     NULL};
        types[i] = pith_type_register(&spec, NULL);
    }
    types[TYPES] = Threads_pith_type();
    types[TYPES + 1] = Odd_pith_type();
    return NULL;
}

Test(type, many_threads_find_the_same_types) {
    pthread_t threads[THREADS];
    static const pith_type *types[THREADS][TYPES + 2];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, register_all, types[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS; i++)
        cr_assert(memcmp(types[0], types[i], sizeof types[0]) == 0);
    for (int k = 0; k < TYPES + 2; k++)
        cr_assert_null(pith_type_error(types[0][k]));
}

/* Threads that bring two descriptions of one name: the first one is registered, the other
 * one is refused, in any order. */
static void *register_disputed(void *into) {
    const pith_type **type = into;
    const bool even = *type != NULL;
    for (int i = 0; i < TYPES; i++) {
        char name[32];
        snprintf(name, sizeof name, "DisputedByThreads%d", i);
        const pith_field fields[] = {{.name = "x",
                                      .size = sizeof(void *),
                                      .kind = PITH_FIELD_LEAF,
                                      .spec = even ? "f64[n]" : "f32[n]"}};
        const pith_type_spec spec = {name, sizeof(void *), _Alignof(void *), fields, 1,
                                     NULL};
        type[i] = pith_type_register(&spec, NULL);
    }
    return NULL;
}

Test(type, threads_that_differ_are_told) {
    pthread_t threads[THREADS];
    static const pith_type *types[THREADS][TYPES];
    for (int i = 0; i < THREADS; i++) {
        types[i][0] = i % 2 ? NULL : Atoms_pith_type();
        cr_assert_eq(pthread_create(&threads[i], NULL, register_disputed, types[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int k = 0; k < TYPES; k++) {
        for (int i = 2; i < THREADS; i++)
            cr_assert(types[i][k] == types[i - 2][k]);
        const char *even = pith_type_error(types[0][k]),
                   *odd = pith_type_error(types[1][k]);
        cr_assert(!even != !odd, "one of them is refused");
        cr_assert(strstr(even ? even : odd, "two structs have this name"));
    }
}
