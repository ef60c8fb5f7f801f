/* Cases of collectives in compiled functions: they give what the eager calls give, bit
 * for bit. */
#include "mesh/cases.h"
#include "mesh/mesh_internal.h"

#include <math.h>
#include <string.h>

/* ---- Functions of one collective each ---- */

#define FUNCTION(name, ...)                                                              \
    static const pith_array *name(pith_scope *s, const pith_array *a) {                  \
        return __VA_ARGS__;                                                              \
    }                                                                                    \
    PITH_FUNCTION1(name##_function, name, pith_array, pith_array)

static const pith_collective_options unordered = {.unordered = true};
static const int64_t ends[][2] = {{0, 0}}, none[1][2] = {{0, 0}};

FUNCTION(sum, pith_psum(s, a, NULL, NULL))
FUNCTION(sum_over_x, pith_psum(s, a, "x", NULL))
FUNCTION(any_sum, pith_psum(s, a, NULL, &unordered))
FUNCTION(greatest, pith_pmax(s, a, NULL))
FUNCTION(least, pith_pmin(s, a, NULL))
FUNCTION(from_first, pith_pbroadcast(s, a, NULL, 0))
FUNCTION(from_last, pith_pbroadcast(s, a, NULL, pith_axis_size(s, NULL) - 1))
FUNCTION(stack, pith_all_stack(s, a, NULL))
FUNCTION(gather_first, pith_all_gather(s, a, NULL, 0))
FUNCTION(gather_last, pith_all_gather(s, a, NULL, -1))
FUNCTION(scatter_first, pith_reduce_scatter(s, a, NULL, 0, NULL))
FUNCTION(scatter_last, pith_reduce_scatter(s, a, NULL, -1, NULL))
FUNCTION(exchange, pith_all_to_all(s, a, NULL, 0, -1, NULL))
FUNCTION(exchange_back, pith_all_to_all(s, a, NULL, -1, 0, NULL))
FUNCTION(to_itself, pith_ppermute(s, a, NULL, 1, ends))
FUNCTION(to_none, pith_ppermute(s, a, NULL, 0, none))
FUNCTION(turned, pith_pshift(s, a, NULL, 1, true, NULL))
FUNCTION(moved, pith_pshift(s, a, NULL, -1, false, NULL))
FUNCTION(rows, pith_psum_rows(s, a, NULL, NULL))
FUNCTION(mean, pith_pmean(s, a, NULL, NULL))
FUNCTION(scan, pith_pscan(s, a, NULL))
static int64_t has_rows(const pith_array *a) {
    return pith_array_spec(a)->shape[0] > 0;
}
FUNCTION(rows_before, pith_halo(s, a, 0, NULL, has_rows(a), 0, false))
FUNCTION(rows_around, pith_halo(s, a, -1, NULL, 1, 1, true))
FUNCTION(number, pith_add(s, a, pith_cast(s, pith_axis_index(s, NULL), PITH_F64)))

enum { FLOATS = 1, INTEGERS = 2, ALL = 3 };
static const struct {
    const char *name;
    const pith_function *function;
    int dtypes, least_rank;
    bool divided; /* the extents of the first and last axis are multiples of the ranks */
} functions[] = {
    {"psum", &sum_function, ALL, 0, false},
    {"psum over x", &sum_over_x_function, ALL, 0, false},
    {"psum, unordered", &any_sum_function, INTEGERS, 0, false},
    {"pmax", &greatest_function, ALL, 0, false},
    {"pmin", &least_function, ALL, 0, false},
    {"pbroadcast", &from_first_function, ALL, 0, false},
    {"pbroadcast of the last", &from_last_function, ALL, 0, false},
    {"all_stack", &stack_function, ALL, 0, false},
    {"all_gather", &gather_first_function, ALL, 1, false},
    {"all_gather of the last axis", &gather_last_function, ALL, 1, false},
    {"reduce_scatter", &scatter_first_function, ALL, 1, true},
    {"reduce_scatter of the last axis", &scatter_last_function, ALL, 1, true},
    {"all_to_all", &exchange_function, ALL, 1, true},
    {"all_to_all back", &exchange_back_function, ALL, 1, true},
    {"ppermute", &to_itself_function, ALL, 0, false},
    {"ppermute of nothing", &to_none_function, ALL, 0, false},
    {"pshift", &turned_function, ALL, 0, false},
    {"pshift without wrap", &moved_function, ALL, 0, false},
    {"halo", &rows_before_function, ALL, 1, false},
    {"halo of the last axis", &rows_around_function, ALL, 1, false},
    {"psum_rows", &rows_function, ALL, 1, false},
    {"pmean", &mean_function, FLOATS, 0, false},
    {"pscan", &scan_function, INTEGERS, 0, false},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Shapes whose first and last extents are multiples of the ranks where they must be. */
static pith_shape shape_of(const mesh_test *t, int n, bool divided) {
    const int64_t p = divided ? t->size : 1;
    const pith_shape shapes[] = {PITH_SCALAR, PITH_SHAPE(2 * p), PITH_SHAPE(p, 3, 2 * p),
                                 PITH_SHAPE(0, p), PITH_SHAPE(900 * p, 5 * p)};
    return shapes[n];
}
enum { SHAPES = 5 };

static bool takes(int k, pith_dtype dtype) {
    const bool integer = pith_dtype_is_integer(dtype);
    return functions[k].dtypes == ALL ||
           functions[k].dtypes == (integer ? INTEGERS : pith_dtype_is_float(dtype));
}

static void check_like_eager(mesh_test *t, int k, const pith_array *own) {
    const pith_function *f = functions[k].function, *compiled = pith_jit(t->s, f, NULL);
    const pith_array *eager = pith_call(t->s, f, PITH_ITEMS(own));
    bool same = true;
    for (int call = 0; call < 3; call++)
        same &= mesh_equal(t, eager, pith_call(t->s, compiled, PITH_ITEMS(own)));
    if (!same)
        mesh_failed(t, __FILE__, __LINE__, functions[k].name);
}

/* Processes that share cores, simulated devices and many ranks take long: there a few
 * dtypes and shapes stand for all. */
static bool stands_for_others(const mesh_test *t, pith_dtype dtype, int n) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(t->s));
    const bool all = t->size <= 2 && strcmp(info.transport, "mpi") != 0 &&
                     strncmp(info.device, "cuda", 4) != 0;
    return all || (n == 2 && (dtype == PITH_U8 || dtype == PITH_I32 ||
                              dtype == PITH_BF16 || dtype == PITH_F64));
}

static void compiled(mesh_test *t) {
    for (int k = 0; k < FUNCTIONS; k++)
        for (pith_dtype dtype = PITH_BOOL; dtype <= PITH_F64;
             dtype = (pith_dtype)(dtype + 1))
            for (int n = 0; n < SHAPES; n++) {
                if (!stands_for_others(t, dtype, n))
                    continue;
                const pith_shape shape = shape_of(t, n, functions[k].divided);
                if (takes(k, dtype) && shape.rank >= functions[k].least_rank)
                    check_like_eager(t, k, mesh_data(t, t->rank, dtype, shape));
            }
    const pith_function *f = pith_jit(t->s, &number_function, NULL);
    const pith_array *one = pith_call(t->s, f, PITH_ITEMS(pith_f64(t->s, 1)));
    MESH_CHECK(t, pith_read_f64(t->s, one) == (double)t->rank + 1);
}

/* ---- Several collectives, and control flow ---- */

/* Work between collectives is fused around them, and unused ones run. */
static const pith_array *several(pith_scope *s, const pith_array *a) {
    const pith_array *unused = pith_psum(s, pith_mul(s, a, 3.0), NULL, NULL);
    const pith_array *twice = pith_mul(s, a, 2.0);
    const pith_array *x = pith_psum(s, twice, NULL, NULL);
    const pith_array *y = pith_psum(s, twice, NULL, NULL); /* equal, and not shared */
    const pith_array *z =
        pith_pshift(s, pith_sub(s, pith_add(s, x, y), a), NULL, 1, true, NULL);
    (void)unused;
    return pith_add(s, pith_sqrt(s, pith_abs(s, z)), pith_pmax(s, x, NULL));
}
PITH_FUNCTION1(several_function, several, pith_array, pith_array)

static const pith_array *
add_round(pith_scope *s, const pith_array *i, const pith_array *x) {
    const pith_array *next = pith_pshift(s, x, NULL, 1, true, NULL);
    return pith_add(s, pith_mul(s, next, 0.5),
                    pith_psum(s, pith_cast(s, i, PITH_F64), NULL, NULL));
}
PITH_FUNCTION2(add_round_function, add_round, pith_array, pith_array, pith_array)

static const pith_array *looped(pith_scope *s, const pith_array *a) {
    return pith_fori(s, 0, 5, &add_round_function, a);
}
PITH_FUNCTION1(looped_function, looped, pith_array, pith_array)

static const pith_array *is_small(pith_scope *s, const pith_array *x) {
    return pith_less(s, pith_pmax(s, pith_max(s, x, PITH_ALL_AXES), NULL), 100.0);
}
PITH_FUNCTION1(is_small_function, is_small, pith_array, pith_array)
static const pith_array *grown(pith_scope *s, const pith_array *x) {
    return pith_add(s, pith_abs(s, x),
                    pith_pmax(s, pith_add(s, pith_abs(s, x), 1.0), NULL));
}
PITH_FUNCTION1(grown_function, grown, pith_array, pith_array)
static const pith_array *while_small(pith_scope *s, const pith_array *a) {
    return pith_while(s, &is_small_function, &grown_function, a);
}
PITH_FUNCTION1(while_small_function, while_small, pith_array, pith_array)

FUNCTION(branch_sum, pith_psum(s, pith_neg(s, a), NULL, NULL))
FUNCTION(branch_shift, pith_pshift(s, a, NULL, 1, true, NULL))
static const pith_array *branched(pith_scope *s, const pith_array *a) {
    const pith_array *total = pith_psum(s, pith_sum(s, a, PITH_ALL_AXES), NULL, NULL);
    return pith_cond(s, pith_greater(s, total, 0.0), &branch_sum_function,
                     &branch_shift_function, a);
}
PITH_FUNCTION1(branched_function, branched, pith_array, pith_array)

static void control(mesh_test *t) {
    static const struct {
        const char *name;
        const pith_function *function;
    } all[] = {{"several", &several_function},
               {"fori", &looped_function},
               {"while", &while_small_function},
               {"cond", &branched_function}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int n = 1; n < SHAPES; n += 3) {
            const pith_array *own =
                mesh_data(t, t->rank, PITH_F64, shape_of(t, n, false));
            const pith_function *f = pith_jit(t->s, all[k].function, NULL);
            const pith_array *eager = pith_call(t->s, all[k].function, PITH_ITEMS(own));
            for (int call = 0; call < 3; call++)
                if (!mesh_equal(t, eager, pith_call(t->s, f, PITH_ITEMS(own))))
                    mesh_failed(t, __FILE__, __LINE__, all[k].name);
        }
}

/* ---- Errors ---- */

FUNCTION(constant_one, pith_psum(s, pith_add(s, a, 1.0), NULL, NULL))
FUNCTION(constant_two, pith_psum(s, pith_add(s, a, 2.0), NULL, NULL))
FUNCTION(constant_too, pith_psum(s, pith_add(s, a, 2.0), NULL, NULL))

static const void *tree_sum(pith_scope *s, const void *tree) {
    return pith_tree_psum(s, tree, NULL, NULL);
}
PITH_FUNCTION1(tree_sum_function, tree_sum, void, void)

/* Trees of the same leaves, which have the same program. */
static void structures_of_programs_differ(mesh_test *t) {
    const pith_array *three = pith_zeros(t->s, PITH_F64, PITH_SHAPE(3));
    const void *items[] = {three, three};
    const bool odd = t->rank == t->size - 1;
    const pith_function *f = pith_jit(t->s, &tree_sum_function, NULL);
    const void *names = pith_dict_make(t->s, 2, (const char *[]){"a", "b"}, items),
               *others = pith_dict_make(t->s, 2, (const char *[]){"a", "c"}, items);
    for (int call = 0; call < 2; call++) {
        MESH_CHECK(t, pith_apply(t->s, f, names) && pith_apply(t->s, f, others));
        pith_apply(t->s, f, odd ? others : names);
        MESH_CHECK(t,
                   mesh_fails(t, PITH_E_DIVERGED, "calls tree_sum, and so does rank 0"));
    }
}

/* Ranks that compile different programs learn so before any of them runs. */
static void programs_differ(mesh_test *t) {
    const bool odd = t->rank == t->size - 1;
    const pith_array *three = pith_zeros(t->s, PITH_F64, PITH_SHAPE(3));
    const pith_array *four = pith_zeros(t->s, PITH_F64, PITH_SHAPE(4));
    const pith_function *sums = pith_jit(t->s, &sum_function, NULL);
    const pith_function *other = pith_jit(t->s, &greatest_function, NULL);
    const pith_function *one = pith_jit(t->s, &constant_one_function, NULL);
    const pith_function *two = pith_jit(t->s, &constant_two_function, NULL);
    if (t->size == 1)
        return;
    for (int call = 0; call < 2; call++) { /* known programs too */
        MESH_CHECK(t, !pith_call(t->s, odd ? other : sums, PITH_ITEMS(three)));
        MESH_CHECK(t, strstr(pith_message(t->s),
                             "calls psum of f64[3] over x at cases_program.c:"));
        MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED,
                                 "calls pmax of f64[3] over x at cases_program.c:"));
    }
    pith_call(t->s, sums, PITH_ITEMS(odd ? four : three));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "a program with an argument of f64[4]"));
    pith_call(t->s, odd ? one : two, PITH_ITEMS(three));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "a program with a constant of f64[]"));
    /* equal programs of two functions */
    pith_call(t->s, odd ? pith_jit(t->s, &constant_too_function, NULL) : two,
              PITH_ITEMS(three));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "calls constant_t"));
    /* a compiled call beside an eager one */
    if (odd)
        pith_psum(t->s, three, NULL, NULL);
    else
        pith_call(t->s, sums, PITH_ITEMS(three));
    MESH_CHECK(t, mesh_fails(t, PITH_E_DIVERGED, "calls pith_psum of f64[3] over x"));
    MESH_CHECK(t, mesh_equal(t, pith_call(t->s, sums, PITH_ITEMS(three)), three));
    structures_of_programs_differ(t);
    MESH_CHECK(t, pith_agree(t->s));
}

/* A rank that fails before its program runs holds up no other. */
static void programs_fail(mesh_test *t) {
    const pith_array *three = pith_zeros(t->s, PITH_F64, PITH_SHAPE(3));
    const pith_function *f = pith_jit(t->s, &several_function, NULL);
    if (t->size == 1)
        return;
    MESH_CHECK(t, pith_call(t->s, f, PITH_ITEMS(three)));
    for (int call = 0; call < 2; call++) {
        const pith_array *a = three;
        if (t->rank == 1 && call == 0)
            a = pith_reshape(t->s, a, PITH_SHAPE(7, 13)); /* NULL: the scope has failed */
        if (t->rank == 1 && call == 1)
            a = (const pith_array *)(const void *)pith_none_make(
                t->s); /* another tree, refused */
        MESH_CHECK(t, !pith_call(t->s, f, PITH_ITEMS(a)));
        MESH_CHECK(t, t->rank == 1 || strstr(pith_message(t->s), ": rank 1 of "));
        MESH_CHECK(t, t->rank == 1 ? pith_code(t->s) != PITH_E_PEER
                                   : pith_code(t->s) == PITH_E_PEER);
        pith_clear(t->s);
    }
    MESH_CHECK(t, pith_call(t->s, f, PITH_ITEMS(three)));
    MESH_CHECK(t, pith_agree(t->s));
}

static const pith_array *late(pith_scope *s, const pith_array *a) {
    return pith_psum(s, pith_add(s, a, 1.0), NULL, NULL);
}
PITH_FUNCTION1(late_function, late, pith_array, pith_array)

/* A rank that fails before it has recorded that a function has collectives does not take
 * part in its first call, but its peers do not wait longer than until it agrees. */
static void fails_before_recording(mesh_test *t) {
    const pith_array *three = pith_zeros(t->s, PITH_F64, PITH_SHAPE(3));
    const pith_function *f = pith_jit(t->s, &late_function, NULL);
    if (t->size == 1)
        return;
    if (t->rank == 1)
        pith_fail(t->s, PITH_E_IO, NULL, "no brick");
    MESH_CHECK(t, !pith_call(t->s, f, PITH_ITEMS(three)));
    MESH_CHECK(t, !pith_agree(t->s));
    MESH_CHECK(t, pith_code(t->s) == (t->rank == 1 ? PITH_E_IO : PITH_E_PEER));
    MESH_CHECK(t, strstr(pith_message(t->s), "no brick"));
    pith_clear(t->s);
    MESH_CHECK(t, pith_call(t->s, f, PITH_ITEMS(three)) && pith_agree(t->s));
}

static const pith_array *checked(pith_scope *s, const pith_array *a) {
    pith_check(s, pith_less(s, a, 8.0), "it is small", .level = PITH_CHECK_ALWAYS);
    return late(s, a);
}
PITH_FUNCTION1(checked_function, checked, pith_array, pith_array)

/* A call whose program makes no checks ends without a decision. On a device ranks also
 * agree on how it is launched. */
static void agreements_of_calls(mesh_test *t) {
    const bool host = strcmp(pith_device_kind(pith_scope_runtime(t->s)), "host") == 0;
    const pith_function *const both[] = {&late_function, &checked_function};
    const pith_array *a = pith_f64(t->s, 1);
    for (uint64_t k = 0; k < 2; k++) {
        const pith_function *f = pith_jit(t->s, both[k], NULL);
        for (int call = 0; call < 3; call++) {
            const uint64_t before = pithp_collective_count(t->s);
            const pith_array *sum = pith_call(t->s, f, PITH_ITEMS(a));
            const uint64_t made = pithp_collective_count(t->s) - before;
            const uint64_t expected = t->size == 1 ? 0 : 1 + k;
            MESH_CHECK(t, host ? made == expected : made >= expected);
            MESH_CHECK(t, pith_read_f64(t->s, sum) == 2.0 * (double)t->size);
        }
    }
}

/* What a compiled function may not do is an error with the site, on every rank. */
static void refusals(mesh_test *t) {
    static const struct {
        const pith_function *function;
        pith_dtype dtype;
        pith_status code;
        const char *text;
    } wrong[] = {
        {&scan_function, PITH_F64, PITH_E_DTYPE,
         "pith_pscan: expected integers, got f64"},
        {&mean_function, PITH_I32, PITH_E_DTYPE,
         "pith_pmean: expected a float dtype, got i32"},
        {&gather_first_function, PITH_I32, PITH_E_SHAPE,
         "pith_all_gather: axis 0 of an array of rank 0"},
        {&rows_function, PITH_F32, PITH_E_SHAPE, "rows of an array of rank 0"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const pith_function *f = pith_jit(t->s, wrong[k].function, NULL);
        const pith_array *scalar = mesh_data(t, t->rank, wrong[k].dtype, PITH_SCALAR);
        MESH_CHECK(t, !pith_call(t->s, f, PITH_ITEMS(scalar)));
        MESH_CHECK(t, mesh_fails(t, wrong[k].code, wrong[k].text));
    }
}

/* The mesh of the scope belongs to the program: another one records it anew. */
static void another_mesh(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &sum_over_x_function, NULL);
    const pith_array *one = pith_f64(t->s, 1);
    if (t->size % 2)
        return;
    MESH_CHECK(t, pith_read_f64(t->s, pith_call(t->s, f, PITH_ITEMS(one))) ==
                      (double)t->size);
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    MESH_CHECK(t, pith_read_f64(t->s, pith_call(t->s, f, PITH_ITEMS(one))) == 2);
}

FUNCTION(sum_over_y, pith_psum(s, a, "y", NULL))
FUNCTION(negated, pith_neg(s, a))
static const pith_array *summed_by_some(pith_scope *s, const pith_array *a) {
    return pith_cond(s, pith_greater(s, pith_axis_index(s, "x"), pith_i32(s, 0)),
                     &sum_over_y_function, &negated_function, a);
}
PITH_FUNCTION1(summed_by_some_function, summed_by_some, pith_array, pith_array)

/* A collective over y, in a branch that the first ranks along x do not take: what its
 * ranks need was made where all ranks are. */
static void some_ranks(mesh_test *t) {
    const pith_function *f = pith_jit(t->s, &summed_by_some_function, NULL);
    const int64_t half = t->size / 2;
    if (t->size % 2 || t->size < 4)
        return;
    MESH_CHECK(t, pith_mesh_open(t->s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL));
    for (int call = 0; call < 4; call++) {
        const pith_array *made = pith_call(t->s, f, PITH_ITEMS(pith_f64(t->s, 1)));
        MESH_CHECK(t, pith_read_f64(t->s, made) == (t->rank < half ? -1 : (double)half));
    }
    MESH_CHECK(t, pith_agree(t->s));
}

const mesh_case mesh_program_cases[] = {
    {"compiled", compiled},
    {"control", control},
    {"programs_differ", programs_differ},
    {"programs_fail", programs_fail},
    {"fails_before_recording", fails_before_recording},
    {"agreements_of_calls", agreements_of_calls},
    {"refusals", refusals},
    {"another_mesh", another_mesh},
    {"some_ranks", some_ranks},
    {NULL, NULL},
};
