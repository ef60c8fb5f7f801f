/* CUDA backend: device selection, refusal with reasons, and the table of operations. */
#include "base/launcher.h"
#include "gpu/cuda/cuda_internal.h"
#include "gpu/cuda/fill.h"

#include <stdio.h>
#include <string.h>

static pithp_cuda_machine ask_machine(void) {
    pithp_cuda_machine machine = {.code_name = ""};
    /* Succeeds with version 0 without a driver; leaves devices unchanged on failure. */
    if (cudaDriverGetVersion(&machine.driver) != cudaSuccess)
        machine.driver = 0;
    if (cudaRuntimeGetVersion(&machine.runtime) != cudaSuccess)
        machine.runtime = CUDART_VERSION;
    const cudaError_t code = cudaGetDeviceCount(&machine.devices);
    machine.code = (int)code;
    if (code != cudaSuccess) {
        machine.devices = 0;
        machine.code_name = cudaGetErrorName(code);
        pithp_cuda_forget(code);
    }
    return machine;
}

static pith_status refuse(pithp_error *e, int ordinal, const char *reason) {
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "cuda:%d: %s", ordinal, reason);
    return PITH_E_UNSUPPORTED;
}

static pith_status
attribute(pithp_device *d, enum cudaDeviceAttr which, int *value, pithp_error *e) {
    const cudaError_t code =
        cudaDeviceGetAttribute(value, which, pithp_cuda_device_of(d)->ordinal);
    return code == cudaSuccess
               ? PITH_OK
               : pithp_cuda_fail(d, code, e, "cannot read attribute %d", (int)which);
}

/* Read the properties of the device, and whether this build has code for it. */
static pith_status examine(pithp_device *d, pithp_error *e) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    int major = 0, minor = 0, pools = 0;
    pith_status rc = PITH_OK;
    PITH_TRY(attribute(d, cudaDevAttrComputeCapabilityMajor, &major, e));
    PITH_TRY(attribute(d, cudaDevAttrComputeCapabilityMinor, &minor, e));
    PITH_TRY(attribute(d, cudaDevAttrMemoryPoolsSupported, &pools, e));
    d->arch = 10 * major + minor;
    if (!pools)
        return refuse(e, state->ordinal, "the device has no stream-ordered memory pools");

    struct cudaFuncAttributes kernel;
    cudaError_t code = cudaFuncGetAttributes(&kernel, pithp_fill_kernel());
    if (pithp_cuda_is_foreign_code((int)code)) {
        char text[128];
        pithp_cuda_forget(code);
        snprintf(text, sizeof text,
                 "this library was not built for compute capability %d.%d", major, minor);
        return refuse(e, state->ordinal, text);
    }
    if (code != cudaSuccess)
        return pithp_cuda_fail(d, code, e, "cannot load the library's kernels");

    struct cudaDeviceProp properties;
    code = cudaGetDeviceProperties(&properties, state->ordinal);
    if (code != cudaSuccess)
        return pithp_cuda_fail(d, code, e, "cannot read the device's name");
    snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, properties.name);
    state->total = properties.totalGlobalMem;
    _Static_assert(sizeof d->uuid == sizeof properties.uuid, "a UUID has 16 bytes");
    memcpy(d->uuid, &properties.uuid, sizeof d->uuid);
out:
    return rc;
}

static pith_status open_on(pithp_device *d, pithp_error *e) {
    pithp_caller caller;
    pith_status rc = pithp_cuda_enter(d, &caller, e);
    if (rc != PITH_OK)
        return rc;
    rc = examine(d, e);
    if (rc == PITH_OK)
        rc = pithp_pool_open_cuda(d, e);
    pithp_cuda_leave(d, &caller);
    return rc;
}

static pith_status open_cuda(pithp_device *d, int ordinal, int threads, pithp_error *e) {
    (void)threads;
    const pithp_cuda_machine machine = ask_machine();
    char reason[256];
    if (ordinal < 0) {
        const pithp_job job = pithp_job_about();
        d->ordinal = ordinal = pithp_cuda_ordinal(&machine, job.local_rank);
    }
    if (pithp_cuda_refused(&machine, ordinal, reason, sizeof reason))
        return refuse(e, ordinal, reason);

    pithp_cuda_device *state = pithp_allocate(d->runtime, sizeof *state);
    if (!state) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: %zu bytes of host memory", sizeof *state);
        return PITH_E_MEMORY;
    }
    memset(state, 0, sizeof *state);
    state->ordinal = ordinal;
    d->driver = machine.driver;
    d->state = state;
    pith_status rc = pithp_gemm_open_cuda(d);
    if (rc == PITH_OK && pthread_mutex_init(&state->nccl.lock, NULL) != 0) {
        pithp_gemm_close_cuda(d);
        rc = PITH_E_MEMORY;
    }
    if (rc != PITH_OK) {
        pithp_error_set(e, rc, NULL, NULL, "out of memory: no room for a lock");
    } else if ((rc = pithp_cuda_context_open(d, e)) != PITH_OK ||
               (rc = open_on(d, e)) != PITH_OK) {
        pthread_mutex_destroy(&state->nccl.lock);
        pithp_gemm_close_cuda(d);
        pithp_cuda_context_close(d);
    }
    if (rc != PITH_OK) {
        d->state = NULL;
        pithp_release(d->runtime, state, sizeof *state);
    }
    return rc;
}

static void close_cuda(pithp_device *d) {
    pithp_cuda_device *state = pithp_cuda_device_of(d);
    if (!state)
        return;
    pithp_cuda_nccl_close(d);
    pithp_gemm_close_cuda(d);
    pithp_pool_close_cuda(d);
    pithp_cuda_context_close(d);
    d->state = NULL;
    pithp_release(d->runtime, state, sizeof *state);
}

static const pithp_backend table = {
    .version = PITHP_BACKEND_VERSION,
    .kind = "cuda",
    .addressable = false,
    .open = open_cuda,
    .close = close_cuda,
    .enter = pithp_cuda_enter,
    .leave = pithp_cuda_leave,
    .stream_open = pithp_stream_open_cuda,
    .stream_close = pithp_stream_close_cuda,
    .synchronise = pithp_synchronise_cuda,
    .wait_for = pithp_wait_for_cuda,
    .allocate = pithp_allocate_cuda,
    .release = pithp_release_cuda,
    .copy_in = pithp_copy_in_cuda,
    .copy_out = pithp_copy_out_cuda,
    .copy = pithp_copy_cuda,
    .fill = pithp_fill_cuda,
    .launch = pithp_launch_cuda,
    .memory = pithp_memory_cuda,
    .trim = pithp_trim_cuda,
    .native_stream = pithp_native_stream_cuda,
    .pin = pithp_pin_cuda,
    .unpin = pithp_unpin_cuda,
    .module_load = pithp_module_load_cuda,
    .module_unload = pithp_module_unload_cuda,
    .module_find = pithp_module_find_cuda,
    .kernel_find = pithp_kernel_find_cuda,
    .graph_make = pithp_graph_make_cuda,
    .graph_launch = pithp_graph_launch_cuda,
    .graph_free = pithp_graph_free_cuda,
    .mark_make = pithp_mark_make_cuda,
    .mark_free = pithp_mark_free_cuda,
    .mark_set = pithp_mark_set_cuda,
    .mark_elapsed = pithp_mark_elapsed_cuda,
    .gemm_use = pithp_gemm_use_cuda,
    .gemm = pithp_gemm_cuda,
    .communicator_version = pithp_communicator_version_cuda,
    .communicator_id = pithp_communicator_id_cuda,
    .communicator_make = pithp_communicator_make_cuda,
    .communicator_open = pithp_communicator_open_cuda,
    .communicator_close = pithp_communicator_close_cuda,
    .communicator_look = pithp_communicator_look_cuda,
    .transfer = pithp_transfer_cuda,
};

const pithp_backend *const pithp_backend_cuda = &table;
