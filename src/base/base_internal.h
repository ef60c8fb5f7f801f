/* Internal interface of base: one header per job, for the rooms above.
 * include/pith/base.h has the public declarations. */
#ifndef PITH_BASE_INTERNAL_H
#define PITH_BASE_INTERNAL_H

#include "pith/base.h"

#include "base/biased_lock.h"
#include "base/block.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/memory.h"
#include "base/object.h"
#include "base/room.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/spec.h"
#include "base/string_buffer.h"

#include <pthread.h>
#include <stdatomic.h>

#endif
