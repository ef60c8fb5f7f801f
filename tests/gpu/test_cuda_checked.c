/* A checked kernel on a CUDA device that is made of host memory: it runs unchecked, which
 * is said once. */
#include "fake_cuda/fake_cuda.h"
#include "fake_cuda/fake_kernels.h"
#include "pith_test.h"

#include <pith/pith.h>

/* What a checked build makes of y[i] = 2 * x[i]; the fake runs the loop as the kernel. */
typedef struct twice_args {
    pith_kernel_frame frame;
    const double *x;
    double *y;
    int64_t counts[2];
} twice_args;

static void twice(const void *given, int64_t begin, int64_t end) {
    const twice_args *a = given;
    for (int64_t i = begin; i < end && i < a->frame.n; i++)
        a->y[i] = 2 * a->x[i];
}

static const pith_kernel_variant *variant(void);
static const void *entry(int *code) {
    return fake_cuda_user(variant(), false, code);
}
static const pith_kernel_variant *variant(void) {
    static const pith_kernel_arg rows[] = {
        {"x", PITH_ROLE_IN, PITH_F64, false, false, offsetof(twice_args, x), "[n]", 0},
        {"y", PITH_ROLE_OUT, PITH_F64, false, false, offsetof(twice_args, y), "[n]", 0}};
    static const pith_kernel_variant made = {.name = "twice",
                                             .file = "twice.h",
                                             .args = rows,
                                             .arg_count = 2,
                                             .args_bytes = (int32_t)sizeof(twice_args),
                                             .over = {"n", NULL},
                                             .loops = {twice},
                                             .cuda = entry,
                                             .counts = offsetof(twice_args, counts)};
    return &made;
}
static const pith_kernel kernel = {variant, NULL, NULL};

static char said[400];
static int times_said;
static void hear(pith_log_level level, const char *text, void *closure) {
    (void)closure;
    cr_assert_eq(level, PITH_LOG_WARNING);
    times_said++;
    snprintf(said, sizeof said, "%s", text);
}

Test(cuda_checked, a_checked_kernel_says_once_that_it_runs_unchecked) {
    pith_runtime *rt = pt_open_on("cuda");
    pith_scope *s = pith_scope_open(rt);
    pith_set_log_hook(rt, hear, NULL);
    for (int again = 0; again < 3; again++) {
        const pith_operand operands[] = {{pith_arange(s, PITH_F64, 5), 0, 0}, {0, 0, 0}};
        const pith_array *results[PITH_KERNEL_MAX_ARGS] = {0};
        double y[5];
        pith_kernel_launch(s, &kernel, PITH_DTYPE_NONE, operands, results);
        pt_ok(s, results[0]);
        pt_ok(s, pith_read(s, results[0], y, sizeof y));
        cr_assert(y[4] == 8);
    }
    cr_assert_eq(times_said, 1);
    cr_assert(strstr(said, "twice") && strstr(said, "unchecked"), "%s", said);
    pith_scope_close(s);
    pt_close(rt);
}
