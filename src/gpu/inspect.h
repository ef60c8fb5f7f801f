/* What the environment asks to see of programs: PITH_PROFILE. */
#ifndef PITH_GPU_INSPECT_H
#define PITH_GPU_INSPECT_H

#include "base/base_internal.h"

/* The file that profiles go to; NULL: programs are not timed. */
const char *pithp_profile_file(void);

/* Whether what is asked for can be written. PITH_E_IO: e says what cannot. */
pith_status pithp_inspect_check(pithp_error *e);

#endif
