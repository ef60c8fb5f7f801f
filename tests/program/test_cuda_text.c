/* Every elementwise row and every cast compiles for CUDA, and the compiler has nothing to
 * say about it: as the program of one operation that a call is, and as the fused step
 * that a graph has. Registers spill no more than cuda_spills.txt allows. Skipped where
 * NVRTC is not installed. PITH_TEST_SHARE leaves some of the dtypes of each operation to
 * other runs. */
#include "cuda_spills.h"
#include "cuda_target.h"
#include "gpu/compile/toolchain.h"
#include "graph_test.h"
#include "kernels.h"
#include "op_list.h"
#include "pith_test.h"
#include "series.h"

static const char list[] = PITH_TEST_SOURCE "/cuda_spills.txt";
static const int archs[] = {75, 90};

static void need_nvrtc(void) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
}

/* ---- Programs of one operation ---- */

/* "pithp_elementwise_12" of a dtype. */
static void
name_one(char to[SPILLS_NAME_BYTES], const char *function, const void *closure) {
    const pith_dtype *dtype = closure;
    int row = -1;
    cr_assert(sscanf(function, "pithp_elementwise_%d", &row) == 1, "%s", function);
    cr_assert(row >= 0 && row < PITHP_ELEMENTWISE_COUNT);
    snprintf(to, SPILLS_NAME_BYTES, "one_%s_%s", pithp_ops[row].name,
             pith_dtype_name(*dtype));
}

static int compile_ones(pith_runtime *rt, pith_dtype dtype, int arch) {
    pithp_string text, image, log;
    pithp_error e;
    int counted = 0;
    pithp_string_begin(&text, rt);
    pithp_string_begin(&image, rt);
    pithp_string_begin(&log, rt);
    pithp_string_add(&text, pithp_text_cuda);
    cuda_rows_text(&text, dtype);
    const pithp_compile_options options = {.name = pith_dtype_name(dtype),
                                           .resources = true};
    const pith_status rc =
        pithp_rtc_compile(arch, text.bytes, &options, &image, &log, &e);
    cr_assert_eq(rc, PITH_OK, "%s", rc ? e.text : "");
    cr_assert(!strstr(log.bytes, "warning"), "%s for %d: %s", pith_dtype_name(dtype),
              arch, log.bytes);
    cr_assert_gt(image.length, 5000u);
    const int grown = spills_grown(log.bytes, list, arch, name_one, &dtype, &counted);
    cr_assert_gt(counted, 5);
    pithp_string_end(&text);
    pithp_string_end(&image);
    pithp_string_end(&log);
    return grown;
}

/* All dtypes take some minutes: bool and f32 here, each for one architecture, and
 * all for both with PITH_TEST_ALL. */
Test(cuda_text, every_row_and_dtype_compiles_without_a_word, .timeout = 600) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    const bool whole = getenv("PITH_TEST_ALL") != NULL;
    int grown = 0;
    for (int d = PITH_DTYPE_NONE + 1; d < PITH_DTYPE_COUNT; d++)
        for (int a = 0; a < PITHP_COUNT(archs); a++)
            if (whole || d == (a ? PITH_BOOL : PITH_F32))
                grown += compile_ones(rt, (pith_dtype)d, archs[a]);
    cr_assert_eq(grown, 0, "%d kernels spill more than %s allows", grown, list);
    pt_close(rt);
}

/* ---- Fused steps ---- */

/* The kernel of a program of one fused step, which is released. */
static void keep_program(pith_scope *s, kernels *k, pithp_program *p, const char *label) {
    pithp_error e = {.code = PITH_OK};
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    cr_assert(plan, "%s: %s", label, pith_message(s));
    pithp_schedule *schedule = pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e);
    cr_assert(schedule, "%s: %s", label, e.text);
    cr_assert_eq(schedule->fused_count, 1, "%s", label);
    kernels_add(k, schedule, label);
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    pithp_program_release(p);
}

static void keep_step(pith_scope *s,
                      kernels *k,
                      pithp_primitive primitive,
                      pith_dtype dtype,
                      const void *params,
                      const char *label) {
    const pith_spec *line = graph_spec(s, dtype, 1000);
    pithp_value in[3];
    pithp_program *p = pithp_program_make(s);
    const int count = pithp_ops[primitive].arity;
    for (int i = 0; i < count; i++)
        in[i] = pithp_program_input(s, p,
                                    primitive == PITHP_OP_WHERE && i == 0
                                        ? graph_spec(s, PITH_BOOL, 1000)
                                        : line);
    const pithp_value made =
        pithp_program_add(s, p, primitive, count, in, params, "here:1");
    cr_assert(made >= 0 && pithp_program_output(s, p, made), "%s: %s", label,
              pith_message(s));
    keep_program(s, k, p, label);
}

/* A program of one kernel that reduces. */
static void keep_reduction(pith_scope *s,
                           kernels *k,
                           pithp_program *p,
                           pithp_value v,
                           pithp_primitive primitive,
                           uint32_t axes,
                           const char *label) {
    const pithp_reduce_params over = {axes};
    const pithp_value made = pithp_program_add(s, p, primitive, 1, &v, &over, "here:1");
    cr_assert(made >= 0 && pithp_program_output(s, p, made), "%s: %s", label,
              pith_message(s));
    keep_program(s, k, p, label);
}

/* "pith_step_12" of a text that begins with a kernel. */
static void
name_step(char to[SPILLS_NAME_BYTES], const char *function, const void *closure) {
    const kernels_one *first = closure;
    int n = -1;
    cr_assert(sscanf(function, "pith_step_%d", &n) == 1 && n >= 0, "%s", function);
    snprintf(to, SPILLS_NAME_BYTES, "%s", first[n].label);
}

/* For one architecture. How many kernels spill too much. */
static int compile_text(const kernels *k, int64_t first, int64_t count, int arch) {
    pithp_string log;
    int counted = 0;
    pithp_string_begin(&log, k->rt);
    cr_assert(kernels_compile(k, first, count, arch, true, &log),
              "%s and later, for %d: %s", k->list[first].label, arch, log.bytes);
    const int grown =
        spills_grown(log.bytes, list, arch, name_step, &k->list[first], &counted);
    cr_assert_eq(counted, count);
    pithp_string_end(&log);
    return grown;
}

/* Each text once, for the architectures in turn: all of the time is NVRTC's. With
 * PITH_TEST_ALL for all of them. */
static void compile_steps(const kernels *k) {
    enum { KERNELS_A_TEXT = 64 };
    const bool whole = getenv("PITH_TEST_ALL") != NULL;
    int grown = 0;
    for (int64_t text = 0; text * KERNELS_A_TEXT < k->count; text++) {
        const int64_t first = text * KERNELS_A_TEXT, left = k->count - first;
        for (int a = 0; a < PITHP_COUNT(archs); a++)
            if (whole || a == text % PITHP_COUNT(archs))
                grown += compile_text(
                    k, first, left < KERNELS_A_TEXT ? left : KERNELS_A_TEXT, archs[a]);
    }
    cr_assert_eq(grown, 0, "%d kernels spill more than %s allows", grown, list);
}

Test(cuda_text, every_fused_row_and_cast_compiles_without_a_word, .timeout = 600) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    kernels k;
    char label[KERNELS_LABEL_BYTES];
    kernels_begin(&k, rt);
    for (int d = PITH_DTYPE_NONE + 1; d < PITH_DTYPE_COUNT; d++) {
        for (int p = 0; p < PITHP_ELEMENTWISE_COUNT; p++) {
            if (!(pithp_ops[p].dtypes >> d & 1) || !pt_in_share(p + d))
                continue;
            snprintf(label, sizeof label, "%s_%s", pithp_ops[p].name,
                     pith_dtype_name((pith_dtype)d));
            keep_step(s, &k, (pithp_primitive)p, (pith_dtype)d, NULL, label);
        }
        for (int to = PITH_DTYPE_NONE + 1; to < PITH_DTYPE_COUNT; to++) {
            snprintf(label, sizeof label, "cast_%s_%s", pith_dtype_name((pith_dtype)d),
                     pith_dtype_name((pith_dtype)to));
            const pithp_cast_params params = {(pith_dtype)to};
            if (to != d && pt_in_share(to + d))
                keep_step(s, &k, PITHP_OP_CAST, (pith_dtype)d, &params, label);
        }
    }
    cr_assert_gt(k.count, 500 / pt_share());
    compile_steps(&k);
    kernels_end(&k);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Pieces ---- */

/* x[by:] and x[:by] along an axis, side by side. */
static pithp_value
rolled(pith_scope *s, pithp_program *p, pithp_value x, int axis, int64_t by) {
    const pith_spec *spec = pithp_value_spec(p, x);
    const pithp_concatenate_params along = {axis};
    pithp_value parts[2];
    for (int k = 0; k < 2; k++) {
        pithp_slice_params part = {{0}, {0}, {0}};
        for (int d = 0; d < spec->rank; d++) {
            part.limit[d] = spec->shape[d];
            part.step[d] = 1;
        }
        *(k ? &part.limit[axis] : &part.start[axis]) = by;
        parts[k] = pithp_program_add(s, p, PITHP_OP_SLICE, 1, &x, &part, NULL);
    }
    return pithp_program_add(s, p, PITHP_OP_CONCATENATE, 2, parts, &along, NULL);
}

/* Rolls along each axis, and along the first and the last. */
static pithp_value stencil(pith_scope *s, pithp_program *p, pith_dtype dtype, int rank) {
    static const int64_t shape[PITHP_MAX_RANK] = {3, 4, 5, 3, 2, 3, 2, 3, 2, 3, 2, 2};
    const pithp_value x =
        pithp_program_input(s, p, pithp_spec_of_value(s, dtype, rank, shape));
    pithp_value sum = rolled(s, p, rolled(s, p, x, 0, 1), rank - 1, 2 % shape[rank - 1]);
    for (int d = 0; d < rank; d++) {
        const pithp_value both[] = {sum, rolled(s, p, x, d, 1)};
        sum = pithp_program_add(s, p, PITHP_OP_MAX, 2, both, NULL, NULL);
    }
    return sum;
}

static void keep_stencil(pith_scope *s, kernels *k, pith_dtype dtype, int rank) {
    char label[KERNELS_LABEL_BYTES];
    pithp_program *p = pithp_program_make(s);
    const pithp_value sum = stencil(s, p, dtype, rank);
    cr_assert(sum >= 0 && pithp_program_output(s, p, sum), "%s", pith_message(s));
    snprintf(label, sizeof label, "stencil_%d_%s", rank, pith_dtype_name(dtype));
    keep_program(s, k, p, label);
}

/* Reduced along the first axis and the last. */
static void keep_reduced_stencil(pith_scope *s, kernels *k, pith_dtype dtype, int rank) {
    char label[KERNELS_LABEL_BYTES];
    pithp_program *p = pithp_program_make(s);
    const pithp_value sum = stencil(s, p, dtype, rank);
    snprintf(label, sizeof label, "reduced_stencil_%d_%s", rank, pith_dtype_name(dtype));
    keep_reduction(s, k, p, sum, PITHP_OP_SUM, 1 | 1u << (rank - 1), label);
}

Test(cuda_text, stencils_of_pieces_compile_without_a_word, .timeout = 300) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    kernels k;
    kernels_begin(&k, rt);
    for (int rank = 1; rank <= PITHP_MAX_RANK; rank += rank < PITH_MAX_RANK ? 1 : 4) {
        if (pt_in_share(rank))
            keep_stencil(s, &k, PITH_F32, rank);
        if (pt_in_share(rank + 1))
            keep_stencil(s, &k, PITH_I8, rank);
        if (pt_in_share(rank + 2))
            keep_reduced_stencil(s, &k, PITH_F32, rank);
    }
    compile_steps(&k);
    kernels_end(&k);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Reductions ---- */

static bool reduces(pithp_primitive primitive, const pith_spec *x) {
    const pithp_reduce_params over = {1};
    const pithp_call call = pithp_call_of(primitive, 1, &x, &over);
    pith_spec result;
    pithp_refusal refusal;
    return pithp_infer(&call, &result, &refusal) == PITH_OK;
}

/* Of a roll, by itself or where a step reads it, along lines that are short or long. */
static void
keep_reductions(pith_scope *s, kernels *k, pith_dtype dtype, pithp_primitive primitive) {
    static const int64_t shape[] = {30, 100};
    const pith_spec *x = pithp_spec(s, dtype, 2, shape);
    char label[KERNELS_LABEL_BYTES];
    for (int made = 0; made < 4 && reduces(primitive, x); made++) {
        if (!pt_in_share(made + (int)dtype + (int)primitive))
            continue;
        pithp_program *p = pithp_program_make(s);
        const pithp_value v = pithp_program_input(s, p, x);
        pithp_value read = rolled(s, p, v, 0, 3);
        if (made % 2)
            read = pithp_program_add(s, p, PITHP_OP_MAX, 2, (pithp_value[]){v, read},
                                     NULL, NULL);
        snprintf(label, sizeof label, "%s_%s_%d", pithp_ops[primitive].name,
                 pith_dtype_name(dtype), made);
        keep_reduction(s, k, p, read, primitive, made < 2 ? 1 : 2, label);
    }
}

Test(cuda_text, reductions_of_what_is_made_compile_without_a_word, .timeout = 600) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    kernels k;
    kernels_begin(&k, rt);
    for (int d = PITH_DTYPE_NONE + 1; d < PITH_DTYPE_COUNT; d++)
        for (OPS_WITH(p, OP_REDUCTIONS))
            keep_reductions(s, &k, (pith_dtype)d, (pithp_primitive)p);
    cr_assert_gt(k.count, 300 / pt_share());
    compile_steps(&k);
    kernels_end(&k);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- What the tests above look for ---- */

Test(cuda_text, a_warning_is_heard) {
    need_nvrtc();
    pith_runtime *rt = pt_open();
    for (int resources = 0; resources < 2; resources++) {
        pithp_string image, log;
        pithp_error e;
        pithp_string_begin(&image, rt);
        pithp_string_begin(&log, rt);
        const pithp_compile_options options = {.name = "unused",
                                               .resources = resources != 0};
        const char text[] = "extern \"C\" __global__ void f() { int unused = 3; }";
        cr_assert_eq(pithp_rtc_compile(90, text, &options, &image, &log, &e), PITH_OK);
        cr_assert(strstr(log.bytes, "warning"), "%s", log.bytes);
        pithp_string_end(&image);
        pithp_string_end(&log);
    }
    pt_close(rt);
}

static void
name_same(char to[SPILLS_NAME_BYTES], const char *function, const void *closure) {
    (void)closure;
    snprintf(to, SPILLS_NAME_BYTES, "%s", function);
}

Test(cuda_text, growth_of_spills_is_seen) {
    static const char log[] =
        "ptxas info    : Compiling entry function 'here' for 'sm_90'\n"
        "    16 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
        "ptxas info    : Compiling entry function 'unlisted' for 'sm_90'\n"
        "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Compiling entry function 'fine' for 'sm_90'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    char own[400];
    pt_folder(own);
    strcat(own, "/list.txt");
    FILE *file = fopen(own, "w");
    cr_assert(file);
    fputs("# a comment\nhere sm_75 20\nhere sm_90 24\n", file);
    fclose(file);
    int counted = 0;
    cr_assert_eq(spills_grown(log, own, 90, name_same, NULL, &counted), 1);
    cr_assert_eq(counted, 3);
    cr_assert_eq(spills_grown(log, own, 75, name_same, NULL, &counted), 2);
}
