/* Texts of shard specs: "x,y;z", the axes of a mesh for each axis of an array
 * (text.c). */
#ifndef PITHP_TREE_SHARD_TEXT_H
#define PITHP_TREE_SHARD_TEXT_H

#include "pith/shard.h"

#include <stdbool.h>
#include <stddef.h>

enum { PITHP_SHARD_TEXT = 64, PITHP_SHARD_LISTS = 8 };

/* The text without empty lists at its end; "": replicated. NULL: fine; else what is
 * wrong with it. */
const char *pithp_shard_text_read(const char *text, char normal[PITHP_SHARD_TEXT]);
/* The list of one axis of a normal text; "": whole. */
void pithp_shard_text_list(const char *normal, int axis, char list[PITHP_SHARD_TEXT]);
/* Number of lists of a normal text. */
int pithp_shard_text_lists(const char *normal);
/* All axes of a normal text as one list. */
void pithp_shard_text_join(const char *normal, char list[PITHP_SHARD_TEXT]);
/* The text without those of its axes that a list has (in: false), or only with them. */
void pithp_shard_text_part(const char *normal,
                           const char *list,
                           bool in,
                           char part[PITHP_SHARD_TEXT]);
/* Whether a list "x,y" has an axis with that name. */
bool pithp_shard_list_has(const char *list, const char *name, size_t length);
/* The spec with the longest path that leads to a leaf; NULL: none. */
const pith_shard_spec *pithp_shard_spec_for(const pith_shard_spec *specs,
                                            const char *path);

#endif
