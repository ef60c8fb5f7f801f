/* Execution of calls on a CUDA device. Launches go to the scope's stream. Programs of one
 * operation are compiled on first use and cached in the runtime. */
#include "gpu/compile/compile_internal.h"
#include "program/cuda/cuda.h"

#include <string.h>

/* Compiled programs of a runtime, by primitive and dtype of the last operand. */
typedef struct programs {
    pthread_mutex_t lock;
    struct {
        pithp_module *module; /* NULL: not compiled yet */
        const void *cuda;
    } kernels[PITHP_ELEMENTWISE_COUNT][PITH_DTYPE_COUNT];
} programs;

static void forget(pith_runtime *rt) {
    programs *all = rt->room[PITHP_ROOM_PROGRAM];
    for (int p = 0; p < PITHP_ELEMENTWISE_COUNT; p++)
        for (int d = 0; d < PITH_DTYPE_COUNT; d++)
            pithp_module_release(all->kernels[p][d].module);
    pthread_mutex_destroy(&all->lock);
    pithp_release(rt, all, sizeof *all);
    rt->room[PITHP_ROOM_PROGRAM] = NULL;
}

static const pithp_room_hooks hooks = {.runtime_closing = forget};

/* The runtime's programs, allocated on first use; NULL with the error set. */
static programs *programs_of(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    pthread_mutex_lock(&rt->lock);
    programs *all = rt->room[PITHP_ROOM_PROGRAM];
    if (!all && (all = pithp_allocate(rt, sizeof *all))) {
        memset(all, 0, sizeof *all);
        if (pthread_mutex_init(&all->lock, NULL) == 0) {
            rt->room[PITHP_ROOM_PROGRAM] = all;
            pithp_room_hook(rt, PITHP_ROOM_PROGRAM, &hooks);
        } else {
            pithp_release(rt, all, sizeof *all);
            all = NULL;
        }
    }
    pthread_mutex_unlock(&rt->lock);
    if (!all)
        pithp_fail_memory(s, sizeof *all);
    return all;
}

static pith_status compile_elementwise(pith_scope *s,
                                       const pithp_call *call,
                                       pithp_module **module,
                                       pithp_launch *launch) {
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    pithp_string_add(&text, pithp_text_cuda);
    pithp_elementwise_text(&text, call);
    pith_status rc = text.failed ? pithp_fail_memory(s, text.length) : PITH_OK;
    if (rc == PITH_OK)
        rc = pithp_compile(
            s, text.bytes,
            &(pithp_compile_options){.name = pithp_ops[call->primitive].name}, module);
    if (rc == PITH_OK) {
        rc = pithp_module_find(s, *module, "pithp_elementwise", launch);
        if (rc != PITH_OK)
            pithp_module_release(*module);
    }
    pithp_string_end(&text);
    return rc;
}

static pith_status
elementwise_on_scope(void *scope, const pithp_call *call, pithp_launch *launch) {
    pith_scope *s = scope;
    programs *all = programs_of(s);
    if (!all)
        return PITH_E_MEMORY;
    const pith_dtype dtype = call->operands[call->operand_count - 1]->dtype;
    pith_status rc = PITH_OK;
    pthread_mutex_lock(&all->lock);
    if (!all->kernels[call->primitive][dtype].module) {
        pithp_module *module = NULL;
        rc = compile_elementwise(s, call, &module, launch);
        if (rc == PITH_OK) {
            all->kernels[call->primitive][dtype].module = module;
            all->kernels[call->primitive][dtype].cuda = launch->cuda;
        }
    }
    launch->cuda = all->kernels[call->primitive][dtype].cuda;
    pthread_mutex_unlock(&all->lock);
    return rc;
}

bool pithp_cuda_has_one(pith_runtime *rt, pithp_primitive primitive, pith_dtype dtype) {
    pthread_mutex_lock(&rt->lock);
    programs *all = rt->room[PITHP_ROOM_PROGRAM];
    pthread_mutex_unlock(&rt->lock);
    if (!all)
        return false;
    pthread_mutex_lock(&all->lock);
    const bool has = all->kernels[primitive][dtype].module != NULL;
    pthread_mutex_unlock(&all->lock);
    return has;
}

static pith_status
builtin_on_scope(void *scope, pithp_cuda_kernel_id id, pithp_launch *launch) {
    (void)scope;
    launch->cuda = pithp_cuda_kernel((int)id);
    return PITH_OK;
}

static pith_status launch_on_scope(void *scope, const pithp_launch *launch) {
    return pithp_launch_enqueue(scope, launch);
}

/* A refusal is not an error of the scope: the call falls back to kernels. */
static pith_status
gemm_on_scope(void *scope, const char *name, const pithp_gemm *gemm, void *memory) {
    pithp_stream *st = pithp_scope_stream(scope);
    pithp_error e;
    const pith_status rc = st->device->backend->gemm(st, gemm, memory, &e);
    (void)name;
    return rc == PITH_OK || rc == PITH_E_UNSUPPORTED ? rc : pithp_fail_device(scope, &e);
}

const struct pithp_cuda_target pithp_cuda_on_scope = {.encode = &pithp_cuda_encoder,
                                                      .builtin = builtin_on_scope,
                                                      .elementwise = elementwise_on_scope,
                                                      .gemm = gemm_on_scope};

/* Bytes that the device's library needs for the call's product; 0: it is not used. */
static size_t gemm_bytes(pith_scope *s, const pithp_call *call) {
    pithp_device *d = pithp_scope_device(s);
    if (call->primitive != PITHP_OP_DOT_GENERAL || !d->backend->gemm)
        return 0;
    const size_t bytes = pithp_cuda_gemm_bytes(call, pithp_gemm_asked());
    return bytes && d->backend->gemm_use(d) != PITHP_GEMM_NONE ? bytes : 0;
}

static size_t plain_bytes(const pithp_call *call, const pith_spec *result) {
    return (pithp_cuda_temporary_bytes(call, result) + 255) / 256 * 256;
}

size_t
pithp_run_cuda_bytes(pith_scope *s, const pithp_call *call, const pith_spec *result) {
    return plain_bytes(call, result) + gemm_bytes(s, call);
}

pith_status pithp_run_cuda(pith_scope *s,
                           const pithp_call *call,
                           const pith_spec *result,
                           const pithp_memory *memory) {
    const pithp_sink sink = {
        .launch = launch_on_scope, .closure = s, .cuda = &pithp_cuda_on_scope};
    const size_t plain = plain_bytes(call, result), gemm = gemm_bytes(s, call);
    pithp_memory own = *memory;
    pithp_buffer *temporary = NULL;
    if (plain + gemm) {
        temporary = pithp_buffer_make(s, plain + gemm);
        if (!temporary)
            return s->error.code;
        own.temporary = temporary->data;
        own.gemm = gemm ? (char *)temporary->data + plain : NULL;
    }
    pith_status rc = pithp_lower_cuda(call, result, &own, &sink);
    if (rc == PITH_E_UNSUPPORTED && own.gemm && s->error.code == PITH_OK) {
        own.gemm = NULL; /* the library refused: run the whole call by our own kernels */
        rc = pithp_lower_cuda(call, result, &own, &sink);
    }
    if (temporary)
        pithp_buffer_release(temporary, 1); /* freed in stream order */
    return rc;
}
