/* Private interface of record types, between registration (types.c) and validation
 * (type_check.c). */
#ifndef PITH_TYPE_INTERNAL_H
#define PITH_TYPE_INTERNAL_H

#include "tree/node_internal.h"

/* Set the error of a type, unless it has one: "Sim.neighbour: ...". field NULL: "Sim:
 * ...". */
void pithp_type_refuse(pith_type *t, const char *field, const char *format, ...)
    PITH_FORMAT(3, 4);

/* Check that every field is declared as its kind requires, without the children. */
void pithp_type_check_fields(pith_type *t);
/* Check the options of a sharded leaf; all fields are parsed. */
void pithp_type_check_shard(pith_type *t, const pithp_field *f);
/* Check that every byte belongs to one field. members as in pith_type_spec. */
void pithp_type_check_layout(pith_type *t, const unsigned char *members);
/* Check for names of extents that look like misspelt statics. */
void pithp_type_check_names(pith_type *t);
/* A new number for the visits of one search. The caller holds the lock of the
 * registry. */
int32_t pithp_type_begin_visit(void);
/* The checks that need the types of the children. */
void pithp_type_check_children(pith_type *t);
/* Check for ^names of the nodes below that look like misspelt names of this type; needs
 * are known. */
void pithp_type_check_needs(pith_type *t);

/* ---- Copies of declarations (type_copy.c) ---- */

/* Copy a text to memory of the process. NULL if memory is short. */
char *pithp_type_copy_text(const char *text, size_t length);
/* Copy a field with its strings; the type of its child is resolved later. Returns false
 * if memory is short. */
bool pithp_type_copy_field(pithp_field *to, const pith_field *from);
/* The name of the type: from PITH_NAMED, or of the struct. */
const char *pithp_type_spec_name(const pith_type_spec *spec);
/* The first field that differs; -1: none, -2: the structs differ. Children are compared
 * by the names of their structs. */
int32_t pithp_type_difference(const pith_type *t, const pith_type_spec *spec);
/* Take over the hooks of a repeated declaration, if the library of the old hooks was
 * unloaded. */
void pithp_type_refresh_hooks(pith_type *t, const pith_type_spec *spec);

/* ---- Repeated declarations (type_same.c); the caller holds the lock of the registry
 * ---- */

/* Whether a declaration equals that of a type, with its children. Sets *no_memory if
 * memory is too short to tell. */
bool pithp_type_same(const pith_type *t, const pith_type_spec *spec, bool *no_memory);
/* Whether a running comparison takes this declaration; it is then not registered. */
bool pithp_type_answer(const pith_type_spec *spec);

#endif
