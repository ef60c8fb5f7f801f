/* Within base only: what its files need of each other. */
#ifndef PITH_BASE_PRIVATE_H
#define PITH_BASE_PRIVATE_H

#include "base/base_internal.h"

/* The user has seen the error: closing the scope need not report it. */
void pithp_scope_mark_read(const pith_scope *s);
/* They ask to be told of errors that are cleared. */
void pithp_tell_rooms_clearing(pith_scope *s);
void pithp_block_cache_free(pith_runtime *rt);
void pithp_specs_free(pith_runtime *rt);
/* The static runtime that pithp_runtime_create returns when memory is short. */
bool pithp_runtime_is_static(const pith_runtime *rt);

#define PITHP_RUNTIME_MAGIC 0x52756e74u

#endif
