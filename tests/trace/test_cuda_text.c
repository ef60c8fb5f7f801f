/* The CUDA C of whole programs: NVRTC takes it for two architectures and has nothing to
 * say, and registers spill no more than tests/program/cuda_spills.txt allows. */
#include "pith/pith.h"

#include "../program/cuda_spills.h"
#include "gpu/compile/toolchain.h"
#include "pith_test.h"

static const char list[] = PITH_TEST_SOURCE "/../program/cuda_spills.txt";
static const int archs[] = {75, 90};

typedef struct {
    const pith_array *x, *m, *v, *count;
} State;
PITH_NODE(State,
          PITH_LEAF(x, "f32[n,3]"),
          PITH_LEAF(m, "f32[n,3]"),
          PITH_LEAF(v, "f32[n,3]"),
          PITH_LEAF(count, "i32[]"))

/* ---- Steps ---- */

static const State *adam(pith_scope *s, const State *a) {
    State next = *a;
    const pith_array *g = pith_mul(s, a->x, pith_f32(s, 2));
    const pith_array *b1 = pith_f32(s, 0.9F), *b2 = pith_f32(s, 0.999F);
    const pith_array *one = pith_f32(s, 1);
    next.count = pith_add(s, a->count, pith_i32(s, 1));
    const pith_array *t = pith_cast(s, next.count, PITH_F32);
    next.m = pith_add(s, pith_mul(s, b1, a->m), pith_mul(s, pith_sub(s, one, b1), g));
    next.v = pith_add(s, pith_mul(s, b2, a->v),
                      pith_mul(s, pith_sub(s, one, b2), pith_mul(s, g, g)));
    const pith_array *m = pith_div(s, next.m, pith_sub(s, one, pith_pow(s, b1, t)));
    const pith_array *v = pith_div(s, next.v, pith_sub(s, one, pith_pow(s, b2, t)));
    next.x = pith_sub(s, a->x,
                      pith_div(s, pith_mul(s, pith_f32(s, 1e-3F), m),
                               pith_add(s, pith_sqrt(s, v), pith_f32(s, 1e-8F))));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(adam_step, adam, State, State)

static const State *softmax(pith_scope *s, const State *a) {
    State next = *a;
    const pith_array *shifted = pith_sub(s, a->x, pith_max(s, a->x, PITH_AXES_KEPT(1)));
    const pith_array *e = pith_exp(s, shifted);
    next.x = pith_div(s, e, pith_sum(s, e, PITH_AXES_KEPT(1)));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(softmax_step, softmax, State, State)

static const State *turn(pith_scope *s, const State *a) {
    State next = *a;
    next.v = pith_neg(s, pith_tanh(s, a->v));
    return pith_freeze(s, State, &next);
}
static const State *stay(pith_scope *s, const State *a) {
    (void)s;
    return a;
}
PITH_FUNCTION1(turn_step, turn, State, State)
PITH_FUNCTION1(stay_step, stay, State, State)

static const State *leap(pith_scope *s, const pith_array *i, const State *a) {
    State next = *a;
    next.count = pith_add(s, a->count, pith_cast(s, i, PITH_I32));
    next.v = pith_sub(s, a->v, pith_sin(s, a->x));
    next.x = pith_add(s, a->x, next.v);
    const pith_array *odd =
        pith_equal(s, pith_remainder(s, i, pith_i64(s, 2)), pith_i64(s, 1));
    return pith_cond(s, odd, &turn_step, &stay_step, pith_freeze(s, State, &next));
}
PITH_FUNCTION2(leap_step, leap, State, pith_array, State)
static const State *frog(pith_scope *s, const State *a) {
    return pith_fori(s, 0, 100, &leap_step, a);
}
PITH_FUNCTION1(frog_step, frog, State, State)

/* The gradient of a loop with a record. */
static const pith_array *is_short(pith_scope *s, const State *a) {
    return pith_less(s, a->count, pith_i32(s, 50));
}
static const State *fall(pith_scope *s, const State *a) {
    State next = *a;
    next.count = pith_add(s, a->count, pith_i32(s, 1));
    next.v = pith_sub(s, a->v, pith_sin(s, a->x));
    next.x = pith_add(s, a->x, next.v);
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(is_short_test, is_short, pith_array, State)
PITH_FUNCTION1(fall_step, fall, State, State)
static const pith_array *fallen(pith_scope *s, const State *a) {
    const State *last = pith_while_recorded(s, &is_short_test, &fall_step, a,
                                            &(pith_record_options){.most = 64});
    return last ? pith_sum(s, last->x, PITH_ALL_AXES) : NULL;
}
PITH_FUNCTION1(fallen_of, fallen, pith_array, State)

static const State *chatty_leap(pith_scope *s, const pith_array *i, const State *a) {
    pith_debug_every(s, 10, "at {i}: {x}", {"i", i}, {"x", a->x});
    return leap(s, i, a);
}
PITH_FUNCTION2(chatty_leap_step, chatty_leap, State, pith_array, State)
static const State *chatty(pith_scope *s, const State *a) {
    const State *end = pith_fori(s, 0, 100, &chatty_leap_step, a);
    pith_debug(s, "norm {n}", {"n", pith_sum(s, end->v, PITH_ALL_AXES)});
    return end;
}
PITH_FUNCTION1(chatty_step, chatty, State, State)

static const State *swap(pith_scope *s, const State *a) {
    State next = *a;
    (void)s;
    next.x = a->v;
    next.v = a->x;
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(swap_step, swap, State, State)

static const State *checked(pith_scope *s, const State *a) {
    State next = *a;
    next.x = pith_take(s, a->x, pith_cast(s, a->count, PITH_I64), NULL);
    next.x = pith_exp(s, pith_add(s, a->v, next.x));
    return pith_freeze(s, State, &next);
}
PITH_FUNCTION1(checked_step, checked, State, State)

/* Equal steps, which are one launch. */
typedef struct {
    const void *x; /* a list */
} Leaves;
PITH_NODE(Leaves, PITH_TREE(x))
enum { LEAVES = 40 };

static const Leaves *decay(pith_scope *s, const Leaves *a) {
    const void *x[LEAVES];
    const pith_array *const *old = a->x;
    for (int k = 0; k < LEAVES; k++)
        x[k] = pith_mul(s, old[k], pith_exp(s, pith_neg(s, old[k])));
    return pith_freeze(s, Leaves, &(Leaves){.x = pith_list_make(s, LEAVES, x)});
}
PITH_FUNCTION1(decay_step, decay, Leaves, Leaves)

/* Sums of squares: of few elements by threads, of more by teams of them. */
static const pith_array *norm(pith_scope *s, const Leaves *a) {
    const pith_array *const *x = a->x, *sum = pith_f64(s, 0);
    const pith_array *sums[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        sums[k] = pith_sum(s, pith_mul(s, x[k], x[k]), PITH_ALL_AXES);
    for (int k = 0; k < LEAVES; k++)
        sum = pith_add(s, sum, sums[k]);
    return pith_sqrt(s, sum);
}
PITH_FUNCTION1(norm_step, norm, pith_array, Leaves)

/* ---- Texts ---- */

static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static const char *text_of(const pith_function *f) {
    const State state = {.x = pith_ones(s, PITH_F32, PITH_SHAPE(40, 3)),
                         .m = pith_zeros(s, PITH_F32, PITH_SHAPE(40, 3)),
                         .v = pith_zeros(s, PITH_F32, PITH_SHAPE(40, 3)),
                         .count = pith_i32(s, 0)};
    return pith_program_cuda_text(s, f, PITH_ITEMS(pith_freeze(s, State, &state)));
}

static const char *text_of_leaves(const pith_function *f) {
    const void *x[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        x[k] = pith_ones(s, PITH_F64, PITH_SHAPE(5 * k + 3));
    const Leaves leaves = {.x = pith_list_make(s, LEAVES, x)};
    return pith_program_cuda_text(s, f, PITH_ITEMS(pith_freeze(s, Leaves, &leaves)));
}

/* "program_adam_step_2" */
static void
name_kernel(char to[SPILLS_NAME_BYTES], const char *function, const void *closure) {
    snprintf(to, SPILLS_NAME_BYTES, "program_%.40s_%.60s", (const char *)closure,
             function + strlen("pith_"));
}

static void compile(const char *label, const char *text) {
    for (int a = 0; a < PITHP_COUNT(archs); a++) {
        pithp_string image, log;
        pithp_error e;
        int counted = 0;
        pithp_string_begin(&image, rt);
        pithp_string_begin(&log, rt);
        const pithp_compile_options options = {.name = label, .resources = true};
        const pith_status rc =
            pithp_rtc_compile(archs[a], text, &options, &image, &log, &e);
        cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
        cr_assert(!strstr(log.bytes, "warning"), "%s: %s", label, log.bytes);
        cr_assert_eq(
            spills_grown(log.bytes, list, archs[a], name_kernel, label, &counted), 0,
            "%s spills more than %s allows", label, list);
        cr_assert_gt(counted, 0);
        pithp_string_end(&image);
        pithp_string_end(&log);
    }
}

Test(cuda_text, whole_programs_compile_without_a_word, .timeout = 300) {
    static const struct {
        const char *label;
        const pith_function *function;
    } all[] = {{"adam", &adam_step},
               {"softmax", &softmax_step},
               {"frog", &frog_step},
               {"chatty", &chatty_step},
               {"checked", &checked_step}};
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
    begin();
    for (int k = 0; k < PITHP_COUNT(all); k++) {
        const char *text = text_of(all[k].function);
        pt_ok(s, text);
        compile(all[k].label, text);
    }
    const char *recorded = text_of(pith_grad(
        s, &fallen_of, &(pith_derive_options){.paths = PITH_PATHS("[0].x", "[0].v")}));
    pt_ok(s, recorded);
    compile("recorded", recorded);
    const char *leaves = text_of_leaves(&decay_step);
    pt_ok(s, leaves);
    cr_assert(strstr(leaves, "M_MANY(pith_step_0,") && !strstr(leaves, "pith_step_1"));
    compile("leaves", leaves);
    const char *sums = text_of_leaves(&norm_step);
    pt_ok(s, sums);
    cr_assert(strstr(sums, "M_MANY(pith_step_0,") &&
              strstr(sums, "M_BLOCK_MANY(pith_step_1,") && !strstr(sums, "pith_step_6"));
    compile("sums", sums);
    end();
}

Test(cuda_text, kernels_are_those_of_fused_steps_and_of_decisions) {
    begin();
    const char *plain = text_of(&adam_step), *loop = text_of(&frog_step);
    pt_ok(s, plain && loop);
    cr_assert(strstr(plain, "M_KERNEL(pith_step_0,"), "%s", plain);
    cr_assert(!strstr(plain, "pith_decide") && strstr(loop, "pith_decide"));
    cr_assert_str_eq(text_of(&adam_step), plain);
    const char *chatty_text = text_of(&chatty_step); /* the host reads decisions */
    pt_ok(s, chatty_text);
    cr_assert(strstr(chatty_text, "M_KERNEL(pith_step_0,") &&
              !strstr(chatty_text, "pith_decide"));
    cr_assert_str_eq(text_of(&swap_step), "", "nothing is left to compile");
    end();
}

Test(cuda_text, wrong_calls_say_so) {
    begin();
    pt_fails(PITH_E_ARG, s, (void)pith_program_cuda_text(s, &adam_step, 0, NULL));
    pt_says("pith_program_cuda_text: adam: expected 1 argument, got 0");
    end();
}
