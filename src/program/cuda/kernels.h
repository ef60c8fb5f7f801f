/* Bodies of the kernels built with the library, for what emitted text does not do. Plain
 * C for one thread, or for the threads of a block step by step (emit/shell.h), so that
 * the host can run the same text: the tests do, and compare the bits with those of the
 * host's own loops.
 *
 * After a prologue, emit/helpers.h and emit/shell.h. dtypes are those of pith_dtype. */
#ifndef PITH_PROGRAM_CUDA_KERNELS_H
#define PITH_PROGRAM_CUDA_KERNELS_H

#include "program/cuda/args.h"
#include "program/emit/decide_args.h"
#include "program/emit/reduce_args.h"

/* clang-format off */
#include "program/emit/many_args.h"
#include "program/emit/any.h"
#include "program/emit/reduce.h"
#include "program/cuda/kernel/move.h"
#include "program/cuda/kernel/cast.h"
#include "program/cuda/kernel/reduce.h"
#include "program/cuda/kernel/scan.h"
#include "program/cuda/kernel/sort.h"
#include "program/cuda/kernel/index.h"
#include "program/cuda/kernel/product.h"
#include "program/cuda/kernel/random.h"
#include "program/cuda/kernel/check.h"
#include "program/emit/decide.h"
#include "program/cuda/kernel/control.h"
/* clang-format on */

#endif
