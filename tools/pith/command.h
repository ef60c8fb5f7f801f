/* Command lines: what verbs there are and what each takes. --help, the man page and the
 * completions of shells are all printed from these tables. */
#ifndef PITH_COMMAND_H
#define PITH_COMMAND_H

#include <pith/base.h>

typedef struct option {
    const char *name;  /* "--rows"; NULL ends a list */
    const char *value; /* "A:B"; NULL: it takes none */
    const char *text;
    const char *choices; /* values by spaces, for completion; NULL: any */
    char letter;         /* 'o': it is called -o too; 0 */
} option;

typedef struct command command;

typedef struct verb {
    const char *name;
    const char *words;      /* "FILE [PATH]" */
    const char *takes;      /* the same in words, for messages */
    int least, most;        /* of them; most -1: any number */
    const char *extensions; /* of its files, by spaces, for completion */
    const char *summary;    /* a line without its end */
    const char *more;       /* paragraphs; NULL */
    const option *options;
    int (*run)(pith_scope *s, const command *c); /* the exit code */
} verb;

enum { MOST_GIVEN = 64 };

/* What was given. Texts are the program's arguments. */
struct command {
    const verb *verb;
    struct {
        const char *name, *value; /* value NULL: it takes none */
    } options[MOST_GIVEN];
    int option_count;
    const char **words;
    int word_count;
};

/* verbs end with NULL. */
extern const verb *const verbs[];
extern const option common_options[];
extern const char *const exit_codes[]; /* by their number; NULL ends the list */

/* Fill c from arguments behind the verb, NULL at the end. False: the reason was printed.
 */
bool command_read(const verb *v, char **arguments, command *c);
bool given(const command *c, const char *name);
/* The value that was given last; NULL: none. */
const char *given_value(const command *c, const char *name);
/* Numbers from least to most. False: the reason was printed. Without the option *value
 * stays. */
bool given_i64(const command *c,
               const char *option,
               int64_t least,
               int64_t most,
               int64_t *value);
bool given_f64(const command *c,
               const char *option,
               double least,
               double most,
               double *value);

/* Begin anew as pith-formats, which has the libraries of other formats (main.c). Returns
 * where there is none, or this is it. */
void become_formats(void);

/* ---- Pages (usage.c) ---- */

void print_usage(void);
void print_verb(const verb *v);
void print_manual(void); /* the man page, as roff */
/* A completion script for "bash", "zsh" or "fish". False: it is none of them. */
bool print_completion(const char *shell);

extern const verb show_verb, diff_verb, log_verb, verify_verb, convert_verb, plot_verb,
    kernels_verb;

#endif
