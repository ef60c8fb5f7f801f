/* The machine of the fake: devices, versions, contexts, the state that CUDA keeps of each
 * thread, and bytes of the device that several callers share. */
#include "fake_queue.h"
#include "gpu/cuda/decide.h"
#include "gpu/cuda/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 4, MOST_CONTEXTS = 16 };

struct fake_context {
    int device;
};
static struct fake_context primary[MOST_DEVICES], others[MOST_CONTEXTS];
static int retained[MOST_DEVICES], other_count;

/* Of the thread. */
static _Thread_local cudaError_t last_error;
static _Thread_local struct fake_context *current;
static _Thread_local int capture_mode; /* global */

/* ---- Calls ---- */

void fake_cuda_abort(const char *call, const char *what) {
    fprintf(stderr, "fake CUDA: cuda%s: %s\n", call, what);
    abort();
}

_Thread_local const char *fake_cuda_fail_here;

static bool fails_here(const char *call) {
    const bool fails = fake_cuda_fail_here && strcmp(call, fake_cuda_fail_here) == 0;
    if (fails)
        fake_cuda_fail_here = NULL;
    return fails;
}

bool fake_cuda_fails(const char *call) {
    if (fails_here(call))
        return true;
    if (++fake_cuda.calls != fake_cuda.fail_at)
        return false;
    fake_cuda.failed = call;
    const bool refuses = pithp_cuda_is_capture((int)fake_cuda.fail_with) ||
                         fake_cuda.fail_with == cudaErrorCudartUnloading;
    if (fake_cuda.fail_with == cudaErrorIllegalAddress ||
        (strstr(call, "Synchronize") && !refuses))
        fake_queue_drop(); /* the device is lost */
    return true;
}

cudaError_t fake_cuda_end(cudaError_t code) {
    if (code != cudaSuccess)
        last_error = code;
    pthread_mutex_unlock(&fake_cuda_lock);
    return code;
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t code = last_error;
    last_error = cudaSuccess;
    return code;
}
cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

const char *cudaGetErrorName(cudaError_t code) {
    return code == cudaErrorNotSupported       ? "cudaErrorNotSupported"
           : code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
           : code == cudaErrorInvalidValue     ? "cudaErrorInvalidValue"
                                               : "cudaErrorOfTheFake";
}
const char *cudaGetErrorString(cudaError_t code) {
    (void)code;
    return "the fake says so";
}

/* ---- Devices ---- */

static int devices(void) {
    return fake_cuda.devices ? fake_cuda.devices : 1;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = fake_cuda.driver ? fake_cuda.driver : CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = fake_cuda.driver ? 12080 : CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
    *count = devices();
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
    FAKE_BEGIN("DeviceGetAttribute");
    FAKE_CHECK(device >= 0 && device < devices(), "no such device");
    *value = which == cudaDevAttrComputeCapabilityMajor   ? 9
             : which == cudaDevAttrComputeCapabilityMinor ? 0
                                                          : 1;
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *to, const void *function) {
    FAKE_BEGIN("FuncGetAttributes");
    fake_cuda_kernel(call_name, function);
    to->numRegs = 1;
    return fake_cuda_end(fake_cuda.load_with);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *to, int device) {
    FAKE_BEGIN("GetDeviceProperties");
    FAKE_CHECK(device >= 0 && device < devices(), "no such device");
    memset(to, 0, sizeof *to);
    snprintf(to->name, sizeof to->name, "a fake");
    to->totalGlobalMem = FAKE_DEVICE_BYTES;
    return fake_cuda_end(cudaSuccess);
}

/* ---- Contexts ---- */

static struct fake_context *primary_of(int device) {
    if (!retained[device]) { /* the runtime library keeps it from then on */
        retained[device] = 1;
        fake_cuda.contexts++;
    }
    primary[device].device = device;
    return &primary[device];
}

/* As every call of the runtime does. */
void fake_cuda_touch(void) {
    if (!current)
        current = primary_of(0);
}

void *fake_cuda_context(void) {
    return current;
}

void *fake_cuda_context_make(int device) {
    FAKE_BARE("CtxCreate");
    FAKE_CHECK(device < devices() && other_count < MOST_CONTEXTS, "no such device");
    current = &others[other_count++];
    current->device = device;
    fake_cuda.contexts++;
    pthread_mutex_unlock(&fake_cuda_lock);
    return current;
}

void fake_cuda_context_set(void *context) {
    current = context;
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    FAKE_BARE("InitDevice");
    if (fake_cuda_fails(call_name))
        return fake_cuda_end(fake_cuda.fail_with);
    FAKE_UNSAFE();
    FAKE_CHECK(device >= 0 && device < devices() && !device_flags && !flags,
               "no such device, or flags");
    (void)primary_of(device);
    return fake_cuda_end(cudaSuccess);
}
cudaError_t cudaGetDevice(int *device) {
    *device = current ? current->device : 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    FAKE_BARE("SetDevice");
    FAKE_CHECK(device >= 0 && device < devices(), "no such device");
    current = primary_of(device);
    return fake_cuda_end(cudaSuccess);
}

/* ---- The driver, whose functions leave the runtime's last error alone ---- */

static int driver_end(int code) {
    pthread_mutex_unlock(&fake_cuda_lock);
    return code;
}

static int context_get(void **context) {
    FAKE_BARE("CtxGetCurrent");
    if (fake_cuda_fails(call_name))
        return driver_end((int)fake_cuda.fail_with);
    *context = current;
    return driver_end(0);
}
static int context_set(void *context) {
    current = context;
    return 0;
}
static int device_get(int *device, int ordinal) {
    FAKE_BARE("DeviceGet");
    FAKE_CHECK(ordinal >= 0 && ordinal < devices(), "no such device");
    *device = ordinal;
    return driver_end(0);
}
static int primary_retain(void **context, int device) {
    FAKE_BARE("DevicePrimaryCtxRetain");
    *context = primary_of(device);
    retained[device]++;
    return driver_end(0);
}
static int primary_release(int device) {
    FAKE_BARE("DevicePrimaryCtxRelease");
    FAKE_CHECK(retained[device] > 1, "a context that was not retained");
    retained[device]--;
    return driver_end(0);
}
static int exchange_mode(int *mode) {
    const int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

int fake_cuda_capture_mode(void) {
    return capture_mode;
}

bool fake_cuda_forbids(void) {
    if (!fake_cuda.foreign_capture || capture_mode != 0)
        return false;
    fake_cuda.captures_broken++;
    return true;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *symbol,
                                 void **function,
                                 unsigned version,
                                 unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *found) {
    static const pithp_cuda_driver driver = {.CtxGetCurrent = context_get,
                                             .CtxSetCurrent = context_set,
                                             .DeviceGet = device_get,
                                             .DevicePrimaryCtxRetain = primary_retain,
                                             .DevicePrimaryCtxRelease = primary_release,
                                             .ThreadExchangeStreamCaptureMode =
                                                 exchange_mode};
    FAKE_BARE("GetDriverEntryPointByVersion");
    FAKE_CHECK(!flags && version <= 12080,
               "flags, or a version beyond the oldest driver");
    *found = cudaDriverEntryPointSymbolNotFound;
#define FIND(name, arguments)                                                            \
    if (strcmp(symbol, "cu" #name) == 0) {                                               \
        memcpy(function, &driver.name, sizeof *function);                                \
        *found = cudaDriverEntryPointSuccess;                                            \
    }
    PITHP_DRIVER_FUNCTIONS(FIND)
#undef FIND
    return fake_cuda_end(cudaSuccess);
}

/* ---- Bytes beside the pool's ---- */

static size_t taken;

size_t fake_cuda_taken(void) {
    return taken;
}

bool fake_cuda_take(size_t bytes) {
    if (fake_cuda.budget && fake_memory_reserved() + taken + bytes > fake_cuda.budget)
        return false;
    taken += bytes;
    return true;
}

void fake_cuda_give(size_t bytes) {
    taken -= bytes;
}
