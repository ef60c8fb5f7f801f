/* Between types.c, which registers descriptions, and type_check.c, which refuses wrong
 * ones. */
#ifndef PITH_TYPE_INTERNAL_H
#define PITH_TYPE_INTERNAL_H

#include "tree/node_internal.h"

/* Keep the first thing that is wrong with a type: "Sim.neighbour: ...". field NULL: "Sim:
 * ...". */
void pithp_type_refuse(pith_type *t, const char *field, const char *format, ...)
    PITH_FORMAT(3, 4);

/* Whether every field is described as its kind needs; children are not looked at. */
void pithp_type_check_fields(pith_type *t);
/* Whether every byte belongs to one field. members as in pith_type_spec. */
void pithp_type_check_layout(pith_type *t, const unsigned char *members);
/* Whether a name of an extent looks like a misspelt static. */
void pithp_type_check_names(pith_type *t);
/* A number for the visits of one search, with the registry locked. */
int32_t pithp_type_begin_visit(void);
/* What can only be seen with the children known. */
void pithp_type_check_children(pith_type *t);
/* Whether a ^name of the nodes below looks like a misspelt name of this one; needs are
 * known. */
void pithp_type_check_needs(pith_type *t);

/* ---- Descriptions (type_copy.c) ---- */

/* A text in memory of the process. NULL: memory was short. */
char *pithp_type_copy_text(const char *text, size_t length);
/* A field with its strings copied, its child's type left to resolve. False: memory was
 * short. */
bool pithp_type_copy_field(pithp_field *to, const pith_field *from);
/* The name of the type: PITH_NAMED, or the struct's. */
const char *pithp_type_spec_name(const pith_type_spec *spec);
/* The first field that differs; -1: none does, -2: the structs do. Children are compared
 * by the names of their structs. */
int32_t pithp_type_difference(const pith_type *t, const pith_type_spec *spec);
/* Take over the hooks of a description that came again, where the library of the old ones
 * is gone. */
void pithp_type_refresh_hooks(pith_type *t, const pith_type_spec *spec);

/* ---- Descriptions that come again (type_same.c), with the registry's lock ---- */

/* Whether a description is that of a type, children included. *no_memory is set where
 * that could not be found out. */
bool pithp_type_same(const pith_type *t, const pith_type_spec *spec, bool *no_memory);
/* Whether a comparison asks for this description: it is not to be registered. */
bool pithp_type_answer(const pith_type_spec *spec);

#endif
