/* Debug information of emitted text: function names and `#line` directives. The emitter
 * encloses text of a call site in lines "#line from SITE" and "#line here". They become
 * directives in a second pass, because the name of the file is a hash of the whole
 * text. */
#include "program/emit/debug.h"

#include "gpu/inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char from[] = "#line from ", here[] = "#line here\n";

void pithp_debug_prefix(char prefix[PITHP_PREFIX_BYTES], const pithp_plan *plan) {
    const char *name = plan->name;
    size_t n = 0;
    if (!pithp_debug_folder() || !name[0]) {
        snprintf(prefix, PITHP_PREFIX_BYTES, "pith_step");
        return;
    }
    if (isdigit((unsigned char)name[0]))
        prefix[n++] = '_';
    for (; *name && n < PITHP_PLAN_NAME_BYTES; name++)
        prefix[n++] = (char)(isalnum((unsigned char)*name) ? *name : '_');
    snprintf(prefix + n, PITHP_PREFIX_BYTES - n, "_%08x",
             (unsigned)pithp_program_hash(plan->program));
}

/* ---- First pass: marks ---- */

bool pithp_debug_lines(void) {
    return pithp_debug_folder() != NULL;
}

void pithp_debug_prologue(pithp_string *t) {
    static const char *const builtins[][2] = {{"m_abs", "fabs"},    {"m_floor", "floor"},
                                              {"m_ceil", "ceil"},   {"m_rint", "rint"},
                                              {"m_trunc", "trunc"}, {"m_sqrt", "sqrt"}};
    for (int k = 0; k < PITHP_COUNT(builtins) && pithp_debug_lines(); k++)
        pithp_string_print(t,
                           "#undef %s\n"
                           "#define %s(x) __builtin_choose_expr(sizeof(x) == 4, "
                           "__builtin_%sf(x), __builtin_%s(x))\n",
                           builtins[k][0], builtins[k][0], builtins[k][1],
                           builtins[k][1]);
}

void pithp_line_begin(pithp_string *t, const char *site) {
    if (site && pithp_debug_lines())
        pithp_string_print(t, "%s%s\n", from, site);
}

void pithp_line_end(pithp_string *t) {
    if (pithp_debug_lines())
        pithp_string_add(t, here);
}

/* ---- Second pass: directives ---- */

typedef struct directives {
    pithp_string *to;
    const char *site;    /* site of the current section, up to the end of the line; NULL:
                            outside sections */
    bool left;           /* the last line belonged to a section */
    int64_t lines;       /* lines written so far */
    int64_t parentheses; /* open parentheses: no directive inside, where it could split
                            macro arguments */
    const char *file, *end;
} directives;

static void add_directive(directives *x, int64_t line, const char *file, size_t n) {
    pithp_string_print(x->to, "#line %lld \"", (long long)line);
    for (size_t k = 0; k < n; k++) {
        if (file[k] == '"' || file[k] == '\\')
            pithp_string_add_n(x->to, "\\", 1);
        pithp_string_add_n(x->to, file + k, 1);
    }
    pithp_string_add(x->to, "\"\n");
    x->lines++;
}

/* Write the directive of a site "FILE:LINE". */
static void add_site(directives *x) {
    const size_t n = strcspn(x->site, "\n");
    size_t colon = n;
    while (colon > 0 && x->site[colon - 1] != ':')
        colon--;
    if (colon > 1)
        add_directive(x, strtol(x->site + colon, NULL, 10), x->site, colon - 1);
}

static void add_own(directives *x) {
    char name[4096];
    const int n = snprintf(name, sizeof name, "%s%s", x->file, x->end);
    add_directive(x, x->lines + 2, name, (size_t)n < sizeof name ? (size_t)n : 0);
}

static void add_text(directives *x, const char *line, size_t n) {
    if (x->site && x->parentheses == 0)
        add_site(x);
    else if (!x->site && x->left)
        add_own(x);
    x->left = x->site != NULL;
    pithp_string_add_n(x->to, line, n);
    x->lines++;
    for (size_t k = 0; k < n; k++)
        x->parentheses += (line[k] == '(') - (line[k] == ')');
}

static void add_line(directives *x, const char *line, size_t n) {
    if (strncmp(line, from, sizeof from - 1) == 0) {
        x->site = line + sizeof from - 1;
        x->parentheses = 0; /* forget parentheses of comments */
    } else if (strncmp(line, here, sizeof here - 1) == 0) {
        x->site = NULL;
    } else {
        add_text(x, line, n);
    }
}

/* Set the file's path without its extension. False: the path is too long, or the folder
 * does not exist. */
static bool
choose_file(const pithp_string *t, const char *prefix, char *file, size_t room) {
    const char *folder = pithp_debug_folder();
    char *whole = folder ? realpath(folder, NULL) : NULL;
    const int n = whole ? snprintf(file, room, "%s/%s-%016llx", whole, prefix,
                                   (unsigned long long)pithp_hash(0, t->bytes, t->length))
                        : -1;
    free(whole);
    if (n >= 0 && (size_t)n < room)
        return true;
    file[0] = 0;
    return false;
}

bool pithp_debug_directives(pithp_string *t,
                            const char *prefix,
                            const char *end,
                            char *file,
                            size_t room) {
    pithp_string finished;
    file[0] = 0;
    if (t->failed || (!pithp_debug_lines() && !strstr(t->bytes, here)))
        return !t->failed;
    const bool kept = choose_file(t, prefix, file, room);
    directives x = {
        .to = &finished, .file = kept ? file : prefix, .end = end, .left = true};
    pithp_string_begin(&finished, t->rt);
    for (const char *line = t->bytes; *line;) {
        const size_t n = strcspn(line, "\n") + 1;
        add_line(&x, line, line[n - 1] ? n : n - 1);
        line += line[n - 1] ? n : n - 1;
    }
    pithp_string_end(t);
    *t = finished;
    return !t->failed;
}
