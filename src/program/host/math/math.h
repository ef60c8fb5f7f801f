/* Processor support of the functions of math.def. */
#ifndef PITH_PROGRAM_HOST_MATH_MATH_H
#define PITH_PROGRAM_HOST_MATH_MATH_H

#include <stdbool.h>

/* Whether the processor has a fused multiply-add instruction. */
bool pithp_math_has_fma(void);

#endif
