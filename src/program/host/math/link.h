/* The functions of math.def for code that is compiled at run time. */
#ifndef PITH_PROGRAM_HOST_MATH_LINK_H
#define PITH_PROGRAM_HOST_MATH_LINK_H

#include "gpu/compile/compile_internal.h"

/* Text for the host, to follow pithp_text_host: defines the functions. */
void pithp_math_text(pithp_text *t);
/* Tell a module of such a text, once it is loaded, where the library's are; any thread,
 * also while the code runs. */
pith_status pithp_math_link(pithp_module *m, pithp_error *e);

#endif
