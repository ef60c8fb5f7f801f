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
/* What can only be seen with the children known. */
void pithp_type_check_children(pith_type *t);
/* Whether a ^name of the nodes below looks like a misspelt name of this one; needs are
 * known. */
void pithp_type_check_needs(pith_type *t);

#endif
