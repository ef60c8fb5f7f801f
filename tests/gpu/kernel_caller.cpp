// A caller in C++: the same kernel file, the same launch.
#include "kernels/plain.h"
#include "kernels/real.h"

extern "C" const pith_array *caller_bump(pith_scope *s, const pith_array *x, int32_t by) {
    const bump_result once = pith_launch(s, bump, x, by);
    return pith_launch(s, bump, once.x, by).x;
}

extern "C" const pith_array *caller_ramp(pith_scope *s, pith_dtype real, int64_t n) {
    return pith_launch_dtype(s, real, ramp, n, 0.25).x;
}
