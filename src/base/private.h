/* Private interface of base: shared by the files of this room only. */
#ifndef PITH_BASE_PRIVATE_H
#define PITH_BASE_PRIVATE_H

#include "base/base_internal.h"

/* The user has read the error, so that closing the scope does not report it. */
void pithp_scope_mark_read(const pith_scope *s);
/* Call the error_clearing hooks of the rooms. */
void pithp_tell_rooms_clearing(pith_scope *s);
void pithp_block_cache_free(pith_runtime *rt);
void pithp_specs_free(pith_runtime *rt);
/* The static runtime that pithp_runtime_create returns if memory is short. */
bool pithp_runtime_is_static(const pith_runtime *rt);

#define PITHP_RUNTIME_MAGIC 0x52756e74u

#endif
