/* Bodies of the kernels that are built with the library; generated text covers the other
 * operations.
 *
 * Plain C for one thread, or for the threads of a block step by step (source/shell.h). So
 * the host can run the same text. The tests do that and compare the bits with the host's
 * own loops. They need a prologue, source/scalar.h and source/shell.h before them. dtypes
 * are numbered as pith_dtype. */
#ifndef PITH_PROGRAM_SOURCE_CUDA_KERNELS_H
#define PITH_PROGRAM_SOURCE_CUDA_KERNELS_H

#include "program/source/args/library.h"
#include "program/source/args/predicate.h"
#include "program/source/args/reduce.h"

/* clang-format off */
#include "program/source/args/grouped.h"
#include "program/source/dtype_switch.h"
#include "program/source/index_rule.h"
#include "program/source/reduce_cuda.h"
#include "program/source/cuda/move.h"
#include "program/source/cuda/cast.h"
#include "program/source/cuda/reduce.h"
#include "program/source/cuda/scan.h"
#include "program/source/cuda/sort.h"
#include "program/source/cuda/gather.h"
#include "program/source/cuda/route.h"
#include "program/source/cuda/dot.h"
#include "program/source/cuda/random.h"
#include "program/source/cuda/check.h"
#include "program/source/predicate.h"
#include "program/source/cuda/control.h"
/* clang-format on */

#endif
