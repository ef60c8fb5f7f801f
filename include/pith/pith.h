/**
 * @file
 * All public headers of pith: typed trees of device arrays, functions over them,
 * checkpoints and runs.
 */
#ifndef PITH_PITH_H
#define PITH_PITH_H

#include <pith/array.h>
#include <pith/array_collective.h>
#include <pith/assert.h>
#include <pith/base.h>
#include <pith/capacity.h>
#include <pith/checkpoint.h>
#include <pith/control.h>
#include <pith/debug.h>
#include <pith/derive.h>
#include <pith/jit.h>
#include <pith/kernel.h>
#include <pith/lens.h>
#include <pith/memory.h>
#include <pith/memory_hint.h>
#include <pith/mesh.h>
#include <pith/route.h>
#include <pith/run.h>
#include <pith/run_advance.h>
#include <pith/run_chunked.h>
#include <pith/run_host.h>
#include <pith/run_log.h>
#include <pith/runtime.h>
#include <pith/shard.h>
#include <pith/tree.h>
#include <pith/vmap.h>

#endif
