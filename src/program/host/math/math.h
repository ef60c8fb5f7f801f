/* What this processor has for the functions of math.def. */
#ifndef PITH_PROGRAM_HOST_MATH_MATH_H
#define PITH_PROGRAM_HOST_MATH_MATH_H

#include <stdbool.h>

/* Whether a product and a sum rounded once are an instruction. */
bool pithp_math_has_fma(void);

#endif
