/* Kernel that sets the value of a conditional node of a CUDA graph; part of a program's
 * text. */
#ifndef PITH_PROGRAM_SOURCE_GRAPH_CONDITIONAL_H
#define PITH_PROGRAM_SOURCE_GRAPH_CONDITIONAL_H

/* NVRTC links it, but does not declare it. */
extern "C" __device__ void cudaGraphSetConditional(u64 handle, u32 value);

extern "C" __global__ void pith_decide(const m_decide_args *a, u64 handle) {
    if (threadIdx.x == 0)
        cudaGraphSetConditional(handle, (u32)m_decide(a));
}

#endif
