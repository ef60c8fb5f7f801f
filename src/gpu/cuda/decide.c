/* CUDA decisions without a device: supported machines, launch configuration, and the ring
 * of pinned staging memory. */
#include "gpu/cuda/decide.h"

#include "base/environment.h"
#include "gpu/gemm.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    CODE_INSUFFICIENT_DRIVER = 35,
    CODE_STUB_LIBRARY = 34,
    CODE_NO_DEVICE = 100,
    THREADS = 256,
    STAGING_ALIGNMENT = 256,
};

#define VERSION(v) (v) / 1000, (v) % 1000 / 10

bool pithp_cuda_refused(const pithp_cuda_machine *m,
                        int ordinal,
                        char *text,
                        size_t room) {
    text[0] = 0;
    if (m->driver == 0 || m->code == CODE_STUB_LIBRARY)
        snprintf(text, room,
                 "no CUDA driver is installed (CUDA %d.%d or later is needed)",
                 VERSION(PITHP_CUDA_OLDEST));
    else if (m->runtime < PITHP_CUDA_OLDEST || m->driver < PITHP_CUDA_OLDEST ||
             m->code == CODE_INSUFFICIENT_DRIVER)
        snprintf(text, room,
                 "the CUDA driver supports version %d.%d, this library was "
                 "built with the runtime %d.%d, and CUDA %d.%d or later is "
                 "needed",
                 VERSION(m->driver), VERSION(m->runtime),
                 VERSION(m->driver < PITHP_CUDA_OLDEST ? PITHP_CUDA_OLDEST : m->runtime));
    else if (m->code == CODE_NO_DEVICE || (m->code == 0 && m->devices == 0))
        snprintf(text, room, "the CUDA driver finds no device");
    else if (m->code != 0)
        snprintf(text, room, "the CUDA devices cannot be counted: %s (%d)", m->code_name,
                 m->code);
    else if (ordinal < 0 || ordinal >= m->devices)
        snprintf(text, room, "there is no CUDA device %d: %d device%s found", ordinal,
                 m->devices, m->devices == 1 ? " was" : "s were");
    return text[0] != 0;
}

int pithp_cuda_ordinal(const pithp_cuda_machine *m, int64_t local_rank) {
    return m->devices > 1 && local_rank > 0 ? (int)(local_rank % m->devices) : 0;
}

pith_status pithp_cuda_status(int code) {
    static const struct {
        int code;
        pith_status status;
    } refusals[] = {
#define REFUSAL_ROW(name, value, status) {value, status},
        PITHP_CUDA_REFUSAL_LIST(REFUSAL_ROW)
#undef REFUSAL_ROW
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].code == code)
            return refusals[i].status;
    return PITH_E_DEVICE;
}

size_t pithp_cublas_workspace(int arch) {
    const size_t mebibytes = arch < 90 ? 4 : arch < 120 ? 32 : 12;
    return mebibytes << 20;
}

void pithp_nccl_version_text(int version, char text[PITHP_NCCL_VERSION_BYTES]) {
    if (version > 0)
        snprintf(text, PITHP_NCCL_VERSION_BYTES, "%d.%d.%d", version / 10000,
                 version / 100 % 100, version % 100);
    else
        snprintf(text, PITHP_NCCL_VERSION_BYTES, "none");
}

bool pithp_cuda_grid_for(int64_t count, pithp_cuda_grid *grid) {
    const int64_t blocks = (count - 1) / THREADS + 1;
    *grid = (pithp_cuda_grid){(unsigned)blocks, THREADS};
    return blocks <= INT_MAX;
}

pithp_gemm_use pithp_gemm_asked(void) {
    const char *asked = pithp_environment("PITH_CUBLAS");
    return !asked                      ? PITHP_GEMM_LARGE
           : strcmp(asked, "off") == 0 ? PITHP_GEMM_NONE
           : strcmp(asked, "on") == 0  ? PITHP_GEMM_ALL
                                       : PITHP_GEMM_LARGE;
}

pithp_staging_piece pithp_staging_next(pithp_staging *staging, size_t bytes) {
    pithp_staging_piece piece = {.turn = false};
    if (staging->used == PITHP_STAGING_SEGMENT_BYTES) {
        staging->at = (staging->at + 1) % PITHP_STAGING_SEGMENTS;
        staging->used = 0;
        piece.turn = true;
    }
    const size_t left = PITHP_STAGING_SEGMENT_BYTES - staging->used;
    piece.segment = staging->at;
    piece.offset = staging->used;
    piece.bytes = bytes < left ? bytes : left;
    staging->used += (piece.bytes + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT *
                     (size_t)STAGING_ALIGNMENT;
    return piece;
}

void pithp_staging_turn(pithp_staging *staging) {
    staging->used = PITHP_STAGING_SEGMENT_BYTES;
}

pithp_fill_plan pithp_fill_plan_for(const void *pattern, size_t width) {
    pithp_fill_plan plan = {.byte = true};
    unsigned char bytes[sizeof plan.word];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = ((const unsigned char *)pattern)[i % width];
        plan.byte = plan.byte && bytes[i] == bytes[0];
    }
    memcpy(&plan.word, bytes, sizeof plan.word);
    return plan;
}
