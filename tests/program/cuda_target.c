/* The launches for CUDA run on the host: the kernels' bodies as loops, and programs of
 * one operation compiled by the system's compiler behind the host's prologue. So index
 * arithmetic, masks and orders of combination are tried without a device. */
#include "cuda_target.h"

#include "pith/runtime.h"

#include "gpu/compile/compile_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define M_LINKAGE static /* the library has the kernels under these names */
/* clang-format off */
#include "program/source/prologue_host.h"
#include "program/source/scalar.h"
#include "program/source/shell.h"
#include "program/source/cuda/kernels.h"
/* clang-format on */

static const pithp_host_loop builtin_loops[][PITHP_ISA_COUNT] = {
#define PITHP_CUDA_KERNEL(name) {pithp_k_##name},
#include "program/source/cuda/kernels.def"
};

static pith_status builtin(void *closure, pithp_cuda_kernel_id id, pithp_launch *launch) {
    (void)closure;
    launch->loops = builtin_loops[id];
    launch->cuda = builtin_loops[id]; /* it is there */
    return PITH_OK;
}

/* ---- Programs of one operation: all of a dtype in one text, or tests would wait ---- */

/* The maths of the C library in the place of pith's, which a loaded text cannot see. */
static const char maths[] =
#define PITHP_MATH1(name, c, ...)                                                        \
    "#define pithp_math_" #name "_f32 " #c "f\n"                                         \
    "#define pithp_math_" #name "_f64 " #c "\n"
#define PITHP_MATH1_OWN(name, bound)      PITHP_MATH1(name, name, bound)
#define PITHP_MATH1_FAST_ALL(name, exact) PITHP_MATH1(name, exact, )
#define PITHP_MATH2_FAST(name, exact)     PITHP_MATH1(name, exact, )
#define PITHP_MATH2                       PITHP_MATH1
#include "program/host/math/math.def"
    "#define M_SCALAR_MATH\n";

static const char *const renamed[] = {"S",
                                      "T",
                                      "U",
                                      "V",
                                      "R",
                                      "HALF",
                                      "apply",
                                      "pithp_elementwise",
                                      "pithp_elementwise_thread"};

static void add_row(pithp_string *text, pithp_primitive p, const pith_spec *spec) {
    const pith_spec condition = {.dtype = PITH_BOOL};
    const pith_spec *operands[3] = {spec, spec, spec};
    if (p == PITHP_OP_WHERE)
        operands[0] = &condition;
    const pithp_call call = pithp_call_of(p, pithp_ops[p].arity, operands, NULL);
    pithp_string_add(text, "#undef LOAD\n#undef KEEP\n");
    for (int i = 0; i < PITHP_COUNT(renamed); i++)
        pithp_string_print(text, "#undef %s\n#define %s %s_%d\n", renamed[i], renamed[i],
                           renamed[i], (int)p);
    pithp_elementwise_text(text, &call);
}

void cuda_rows_text(pithp_string *text, pith_dtype dtype) {
    const pith_spec spec = {.dtype = dtype};
    for (int p = 0; p < PITHP_ELEMENTWISE_COUNT; p++)
        if (pithp_ops[p].dtypes >> dtype & 1)
            add_row(text, (pithp_primitive)p, &spec);
}

static pith_scope *scope(void) {
    static pith_runtime *rt;
    static pith_scope *s;
    if (!s) {
        rt = pith_open(&(pith_open_options){.device = "host"});
        s = pith_scope_open(rt);
    }
    return s;
}

static pithp_module *module_of(pith_dtype dtype) {
    static pithp_module *modules[PITH_DTYPE_COUNT];
    if (modules[dtype])
        return modules[dtype];
    pithp_string text;
    pithp_string_begin(&text, scope()->runtime);
    pithp_string_add(&text, maths);
    pithp_string_add(&text, pithp_text_host);
    cuda_rows_text(&text, dtype);
    pithp_compile(scope(), text.bytes, &(pithp_compile_options){.name = "all rows"},
                  &modules[dtype]);
    pithp_string_end(&text);
    return modules[dtype];
}

static pith_status
elementwise(void *closure, const pithp_call *call, pithp_launch *launch) {
    (void)closure;
    char name[32];
    pithp_module *m = module_of(call->operands[call->operand_count - 1]->dtype);
    snprintf(name, sizeof name, "pithp_elementwise_%d", (int)call->primitive);
    if (!m || pithp_module_find(scope(), m, name, launch) != PITH_OK) {
        fprintf(stderr, "%s\n", pith_message(scope()));
        return pith_code(scope());
    }
    launch->cuda = launch->loops;
    return PITH_OK;
}

const struct pithp_cuda_target call_cuda_target = {.encode = &pithp_cuda_encoder,
                                                   .builtin = builtin,
                                                   .elementwise = elementwise};
