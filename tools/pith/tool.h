/* Within the pith command: text for terminals, tables, and its verbs. */
#ifndef PITH_TOOL_H
#define PITH_TOOL_H

#include <pith/checkpoint.h>
#include <pith/runtime.h>
#include <pith/tree.h>
#include <stdio.h>

/* Exit codes of every verb. */
enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };

/* ---- Text (text.c) ---- */

typedef enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN } colour;

/* "auto" (a terminal, without NO_COLOR), "always" or "never"; false: other text. */
bool colours_choose(const char *when);
/* No colours but those of "always": what stdout is says nothing of where it goes. */
void colours_only_asked(void);
/* Width of the terminal on stdout; 0: no terminal. */
int terminal_width(void);
/* Start a colour, or end it with PLAIN; does nothing if colours are off. */
void colour_to(FILE *out, colour c);

/* Formatted text, freed by the caller; exits if memory is exhausted. */
char *text_of(const char *format, ...) PITH_FORMAT(1, 2);
void *room_for(size_t count, size_t bytes); /* zeroed */
/* Escape text of a file: control characters become \xNN; frees nothing. */
char *clean(const char *text);
char *quoted(const char *text);                              /* "text", NULL for NULL */
char *bytes_text(size_t bytes);                              /* "93.8 KiB" */
char *shape_text(pith_dtype dtype, const pith_shape *shape); /* f64[256,3] */
const char *plural(int64_t count, const char *one, const char *many);
/* Width of UTF-8 text, one column per character. */
int columns(const char *text);

/* Print a message on stderr, "pith verb: ..." */
void complain(const char *verb, const char *format, ...) PITH_FORMAT(2, 3);

/* ---- Tables (table.c): cells are aligned by column ---- */

enum { CELLS = 8 };

typedef struct cell {
    char *text; /* owned; NULL: empty */
    colour colour;
    bool right; /* aligned to the right */
} cell;

typedef struct table_row {
    cell cells[CELLS];
    char *frame; /* owned; tree lines before the first cell; or NULL */
} table_row;

typedef struct table {
    table_row *rows;
    int64_t count, room;
} table;

table_row *table_add(table *t);
void table_print(const table *t, FILE *out, int width);
void table_end(table *t);

/* ---- Checkpoints (rows.c) ---- */

/* A checkpoint with the children of its nodes. */
typedef struct rows {
    const char *file; /* as given, or the newest member of the given series */
    char *member;     /* owned: that member's name; or NULL */
    const pith_checkpoint *c;
    const pith_checkpoint_info *info;
    pith_checkpoint_node *nodes;
    int64_t *base, *children; /* of i: children[base[i]] to children[base[i + 1] - 1] */
} rows;

/* The name of a series stands for its newest member. False: the scope has the error. */
bool rows_open(pith_scope *s, const char *file, rows *r);
/* The rows of an open checkpoint. */
void rows_take(const pith_checkpoint *c, rows *r);
void rows_end(rows *r);
/* The last element of a row's path: ".field", "[3]", "['key']"; "" for the root. */
char *step_text(const rows *r, int64_t node);
/* Text of a node: "f64[3]", "Atoms", "list of 3", "absent". */
char *node_text(const rows *r, int64_t node);
/* Text of a static: "64", "2.5", "\"text\"". */
char *static_text(const rows *r, const pith_checkpoint_static *value);

/* ---- One leaf (leaf.c) ---- */

typedef struct leaf_options {
    bool check;         /* verify the checksum before printing */
    int64_t first, end; /* rows of axis 0; end -1: all */
    int64_t lines;      /* maximum number of lines */
    bool json;          /* one value with all elements, regardless of lines */
} leaf_options;

/* Parse "A:B" or "A:" (end -1). */
bool rows_parse(const char *text, int64_t *first, int64_t *end);
/* Returns the exit code. */
int show_leaf(pith_scope *s, const rows *r, int64_t node, const leaf_options *o);
/* Print the tree as JSON (show_json.c); returns the exit code. */
int show_json(pith_scope *s, const rows *r, bool statistics);

/* ---- Series (series.c) ---- */

/* Files, with names of series replaced by their members, in order; NULL-terminated. */
char **series_expand(const char *const *files, int count);
void series_end(char **files);
/* The newest member of a series, owned; NULL: a file of that name exists, or there is no
 * member. */
char *series_newest(const char *file);

/* ---- JSON on stdout (json.c) ---- */

/* Redirect output, without spaces; NULL: to stdout, with line breaks. */
void json_to(FILE *out);
/* Brackets are "{}" and "[]". In an object each value follows its name. */
void json_open(char bracket);
void json_close(char bracket);
void json_name(const char *name);
void json_text(const char *text); /* NULL: null. Invalid UTF-8 becomes \\xNN */
void json_i64(int64_t value);
void json_bool(bool value);
void json_f64(double value); /* as an element */
/* As in documents: "nan", "inf", "-inf" and integers above 2^63 - 1 are strings. */
void json_element(pith_dtype dtype, const void *elements, int64_t i);
void json_shape(const pith_shape *shape);

#endif
