/* Errors of scopes and runtimes. */
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
    /* Nothing is to be read of what follows where the code is PITH_OK. */
    char path[PITHP_PATH_BYTES];
    char
        message[PITHP_MESSAGE_BYTES]; /* "path: text (site)", one line, and the excerpt */
    char site[PITHP_SITE_BYTES];
    char excerpt[PITHP_EXCERPT_BYTES]; /* "", or two lines, each with a newline before it
                                        */
    char text[PITHP_MESSAGE_BYTES];    /* what the message is composed of */
} pithp_error;

/* Set the scope's error unless it has one; returns code, so that `return pithp_fail(...)`
 * reads well. path may be NULL. The text must not repeat the path. */
pith_status
pithp_fail(pith_scope *s, pith_status code, const char *path, const char *format, ...)
    PITH_FORMAT(4, 5);
/* The name of the function that the scope is in, which outlives it; `otherwise` if none
 * was entered. */
const char *pithp_function_of(const pith_scope *s, const char *otherwise);
/* As pithp_fail, for what many functions share: the text begins with the name of the one
 * that was entered, or where none was with `otherwise` (NULL: neither). */
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
/* As pithp_fail, with the call site of an earlier call (a check that surfaces later). */
pith_status pithp_fail_at(pith_scope *s,
                          pith_status code,
                          const char *path,
                          const char *site,
                          const char *format,
                          ...) PITH_FORMAT(5, 6);
pith_status pithp_fail_memory(pith_scope *s, size_t bytes);
/* Fill an error record that belongs to no scope yet (a runtime's, a worker's). */
void pithp_error_set(pithp_error *e,
                     pith_status code,
                     const char *path,
                     const char *site,
                     const char *format,
                     ...) PITH_FORMAT(5, 6);
/* A call site without its folders, as errors show it. */
const char *pithp_site_name(const char *site);
/* An error of elsewhere, if there is one, becomes the scope's, unless it has one. */
pith_status pithp_fail_as(pith_scope *s, const pithp_error *e);
/* The same of the error of another scope, which has none then. */
void pithp_error_move(pith_scope *to, pith_scope *from);
/* Put a path segment in front of the path of the scope's error, as upper levels see more.
 */
void pithp_error_prefix(pith_scope *s, const char *segment);
/* Put what was being done in front of the text of the scope's error: "step 12: ...". */
void pithp_error_context(pith_scope *s, const char *format, ...) PITH_FORMAT(2, 3);
/* Formatted text as one line, with a cut marked. */
void pithp_line_print(char line[PITHP_MESSAGE_BYTES],
                      const char *format,
                      va_list arguments) PITH_FORMAT(2, 0);
/* Add two lines to the message of the scope's error: the part of a source text around a
 * byte of it, and a caret below that byte. An error that has them keeps its own. */
void pithp_error_point(pith_scope *s, const char *source, size_t at);

#endif
