/* Linking of math.def's functions into code compiled at run time. */
#ifndef PITH_PROGRAM_HOST_MATH_LINK_H
#define PITH_PROGRAM_HOST_MATH_LINK_H

#include "gpu/compile/compile_internal.h"

/* Text for the host after pithp_text_host: defines the functions. */
void pithp_math_text(pithp_string *t);
/* Fill a loaded module's table with the library's functions; from any thread, also while
 * the code runs. */
pith_status pithp_math_link(pithp_module *m, pithp_error *e);

#endif
