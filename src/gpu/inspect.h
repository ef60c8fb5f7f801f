/* What the environment asks to see of programs: PITH_PROFILE, PITH_JIT_DEBUG. */
#ifndef PITH_GPU_INSPECT_H
#define PITH_GPU_INSPECT_H

#include "base/base_internal.h"

/* The file that profiles go to; NULL: programs are not timed. */
const char *pithp_profile_file(void);

/* The folder in which compiled text is kept, with the lines that it came from; NULL: it
 * is not, and has none. */
const char *pithp_debug_folder(void);

/* Whether what is asked for can be written. PITH_E_IO: e says what cannot. */
pith_status pithp_inspect_check(pithp_error *e);

#endif
