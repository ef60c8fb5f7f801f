/* Inspection of programs, selected by PITH_PROFILE and PITH_JIT_DEBUG. */
#ifndef PITH_GPU_INSPECT_H
#define PITH_GPU_INSPECT_H

#include "base/base_internal.h"

/* The file for profiles, or NULL: no profiling. */
const char *pithp_profile_file(void);

/* The directory for compiled texts with source lines, or NULL: none are kept. */
const char *pithp_debug_folder(void);

/* Check that the requested output can be written. PITH_E_IO: e has the reason. */
pith_status pithp_inspect_check(pithp_error *e);

#endif
