/* Sticky errors of scopes and runtimes. */
#ifndef PITH_BASE_ERROR_H
#define PITH_BASE_ERROR_H

#include "pith/base.h"

enum {
    PITHP_PATH_BYTES = 512,
    PITHP_MESSAGE_BYTES = 1024,
    PITHP_SITE_BYTES = 160,
    PITHP_EXCERPT_BYTES = 200
};

typedef struct pithp_error {
    pith_status code;
    /* The other members are valid only if the code is not PITH_OK. */
    char path[PITHP_PATH_BYTES];
    char
        message[PITHP_MESSAGE_BYTES]; /* "path: text (site)", one line, and the excerpt */
    char site[PITHP_SITE_BYTES];
    char excerpt[PITHP_EXCERPT_BYTES]; /* "" or two lines, each after a newline */
    char text[PITHP_MESSAGE_BYTES];    /* the message without path, site and excerpt */
} pithp_error;

/* Set the scope's error unless it already has one. Returns code, for `return
 * pithp_fail(...)`. path may be NULL. The text must not repeat the path. */
pith_status
pithp_fail(pith_scope *s, pith_status code, const char *path, const char *format, ...)
    PITH_FORMAT(4, 5);
/* Name of the public function entered last on the scope, or `otherwise` if none was
 * entered. The name outlives the scope. */
const char *pithp_function_of(const pith_scope *s, const char *otherwise);
/* As pithp_fail, for code shared by several functions: the text begins with the name of
 * the function entered last. Without one it begins with `otherwise`, or with no name if
 * that is NULL. */
pith_status pithp_fail_function(pith_scope *s,
                                pith_status code,
                                const char *otherwise,
                                const char *format,
                                ...) PITH_FORMAT(4, 5);
pith_status pithp_fail_v(pith_scope *s,
                         pith_status code,
                         const char *path,
                         const char *site,
                         const char *format,
                         va_list arguments) PITH_FORMAT(5, 0);
/* As pithp_fail, with the call site of an earlier call (a check that fails later). */
pith_status pithp_fail_at(pith_scope *s,
                          pith_status code,
                          const char *path,
                          const char *site,
                          const char *format,
                          ...) PITH_FORMAT(5, 6);
pith_status pithp_fail_memory(pith_scope *s, size_t bytes);
/* Fill an error record outside any scope (of a runtime or a worker thread). */
void pithp_error_set(pithp_error *e,
                     pith_status code,
                     const char *path,
                     const char *site,
                     const char *format,
                     ...) PITH_FORMAT(5, 6);
/* A call site without its directories, as in error messages. */
const char *pithp_site_name(const char *site);
/* Copy an error to the scope unless the scope already has one. */
pith_status pithp_fail_as(pith_scope *s, const pithp_error *e);
/* Move the error of another scope to this one, and clear it there. */
void pithp_error_move(pith_scope *to, pith_scope *from);
/* Prepend a path segment to the path of the scope's error, while the error passes up a
 * tree. */
void pithp_error_prefix(pith_scope *s, const char *segment);
/* Prepend context to the text of the scope's error: "step 12: ...". */
void pithp_error_context(pith_scope *s, const char *format, ...) PITH_FORMAT(2, 3);
/* Format text as one line; a cut is marked. */
void pithp_line_print(char line[PITHP_MESSAGE_BYTES],
                      const char *format,
                      va_list arguments) PITH_FORMAT(2, 0);
/* Append an excerpt of a source text and a caret below the byte at `at` to the message of
 * the scope's error. An error with an excerpt keeps it. */
void pithp_error_point(pith_scope *s, const char *source, size_t at);

#endif
