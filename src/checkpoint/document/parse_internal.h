/* Within checkpoint: state and functions shared by the parts of the parser. Functions
 * that fail set the scope's error, with the file and the line. */
#ifndef PITH_PARSE_INTERNAL_H
#define PITH_PARSE_INTERNAL_H

#include "checkpoint/document/document.h"
#include "checkpoint/document/format.h"

#include <jansson.h>

typedef struct pithp_parser {
    pith_scope *s;
    pithp_document *d;
    const char *file, *text;
    size_t n, at;
    int64_t leaves_read;
    int64_t leaf_node; /* node of the leaf being read, for messages; -1: none */
} pithp_parser;

/* ---- Tokens (parse_token.c) ---- */

/* Fail because the text is not a valid document. The error names the line of p->at and
 * the path of the leaf. */
pith_status pithp_parse_refuse(pithp_parser *p, const char *format, ...)
    PITH_FORMAT(2, 3);
pith_status pithp_parse_memory(const pithp_parser *p);
/* The next character other than white space, without consuming it. 0 at the end. */
char pithp_parse_peek(pithp_parser *p);
pith_status pithp_parse_expect(pithp_parser *p, char c);
/* After a member or row: ',' continues, `close` ends. */
pith_status pithp_parse_more(pithp_parser *p, char close, bool *again);
/* Consume a value of any kind. The caller frees it. */
pith_status pithp_parse_value(pithp_parser *p, json_t **value);
/* Convert the result of json_unpack_ex. */
pith_status pithp_parse_unpacked(pithp_parser *p, int result, const json_error_t *e);
/* Parse an element of an array. False: the dtype cannot hold it. */
bool pithp_parse_element(const json_t *value, pith_dtype dtype, void *element);
/* Copy a string into the document. NULL: out of memory. */
const char *pithp_parse_keep(const pithp_parser *p, const json_t *string);
pith_status pithp_parse_text(pithp_parser *p, json_t *value, const char **text);
pith_status pithp_parse_integer(pithp_parser *p, json_t *value, int64_t *number);

/* ---- Rows (parse_node.c, parse_leaf.c) ---- */

/* Unpack a JSON object into a struct with one member per entry of a list of format.h.
 * Absent optional members are unchanged. `result` is that of json_unpack_ex. */
typedef const char *pithp_json_s;
typedef json_int_t pithp_json_I;
typedef json_t *pithp_json_o;
#define PITHP_ROW_FIELD(member, name, mark, type)    pithp_json_##type member;
#define PITHP_ROW_FORMAT(member, name, mark, type)   "s" mark #type
#define PITHP_ROW_ARGUMENT(member, name, mark, type) , name, &row->member
#define PITHP_ROW(table, LIST)                                                           \
    typedef struct table##_row {                                                         \
        LIST(PITHP_ROW_FIELD)                                                            \
    } table##_row;                                                                       \
    static int unpack_##table(json_t *value, json_error_t *e, table##_row *row) {        \
        return json_unpack_ex(value, e, JSON_STRICT,                                     \
                              "{" LIST(PITHP_ROW_FORMAT) "}" LIST(PITHP_ROW_ARGUMENT));  \
    }

pith_status pithp_parse_type(pithp_parser *p, json_t *row);
pith_status pithp_parse_node(pithp_parser *p, json_t *row);
pith_status pithp_parse_leaf(pithp_parser *p, json_t *row);
/* Checks that need all rows. */
pith_status pithp_parse_check_nodes(pithp_parser *p);

#endif
