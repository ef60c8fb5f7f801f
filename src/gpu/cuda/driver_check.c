/* Static checks of driver.h against cuda.h, compiled where that is installed. */
#include "gpu/cuda/driver.h"

#include <cuda.h>

_Static_assert(sizeof(CUcontext) == sizeof(void *) && sizeof(CUdevice) == sizeof(int) &&
                   sizeof(CUresult) == sizeof(int) &&
                   sizeof(CUstreamCaptureMode) == sizeof(int) &&
                   (int)CU_STREAM_CAPTURE_MODE_RELAXED == PITHP_CAPTURE_RELAXED,
               "driver.h passes contexts as pointers; devices, results and modes as int");
_Static_assert(
    _Generic(&cuCtxGetCurrent, CUresult (*)(CUcontext *) : 1, default : 0) &&
        _Generic(&cuCtxSetCurrent, CUresult (*)(CUcontext) : 1, default : 0) &&
        _Generic(&cuDeviceGet, CUresult (*)(CUdevice *, int) : 1, default : 0) &&
        _Generic(&cuDevicePrimaryCtxRetain,
                 CUresult (*)(CUcontext *, CUdevice) : 1,
                 default : 0) &&
        _Generic(&cuDevicePrimaryCtxRelease, CUresult (*)(CUdevice) : 1, default : 0) &&
        _Generic(&cuThreadExchangeStreamCaptureMode,
                 CUresult (*)(CUstreamCaptureMode *) : 1,
                 default : 0),
    "the functions have the types that driver.h declares");
