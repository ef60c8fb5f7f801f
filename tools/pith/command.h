/* Command-line tables: verbs and their options. --help, the man page and the shell
 * completions are generated from them. */
#ifndef PITH_COMMAND_H
#define PITH_COMMAND_H

#include <pith/base.h>

typedef struct option {
    const char *name;  /* "--rows"; NULL ends a list */
    const char *value; /* "A:B"; NULL: no value */
    const char *text;
    const char *choices; /* space-separated values, for completion; NULL: any */
    char letter;         /* 'o': short form -o; 0: none */
} option;

typedef struct command command;

typedef struct verb {
    const char *name;
    const char *words;      /* "FILE [PATH]" */
    const char *takes;      /* the same in prose, for messages */
    int least, most;        /* number of words; most -1: unlimited */
    const char *extensions; /* of its files, space-separated, for completion */
    const char *summary;    /* one line without its end */
    const char *more;       /* paragraphs; NULL: none */
    const option *options;
    int (*run)(pith_scope *s, const command *c); /* the exit code */
    bool takes_failed; /* run is called with a scope that has failed, too */
} verb;

enum { MOST_GIVEN = 64 };

/* The parsed command. Texts point to the program's arguments. */
struct command {
    const verb *verb;
    struct {
        const char *name, *value; /* value NULL: the option takes none */
    } options[MOST_GIVEN];
    int option_count;
    const char **words;
    int word_count;
};

/* Lists of verbs and options; verbs end with NULL. */
extern const verb *const verbs[];
extern const option common_options[];
extern const char *const exit_codes[]; /* by number; NULL-terminated */

/* Parse the arguments after the verb, NULL-terminated. False: the reason was printed. */
bool command_read(const verb *v, char **arguments, command *c);
bool given(const command *c, const char *name);
/* The value given last; NULL: none. */
const char *given_value(const command *c, const char *name);
/* An integer from least to most. False: the reason was printed. Without the option,
 * *value is unchanged. */
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

/* Re-execute as pith-formats, which links the libraries of other formats (main.c).
 * Returns if it is missing, or is this program. */
void become_formats(void);

/* ---- Pages (usage.c) ---- */

void print_usage(void);
void print_verb(const verb *v);
void print_manual(void); /* in roff */
/* A completion script for "bash", "zsh" or "fish". False: another shell. */
bool print_completion(const char *shell);

extern const verb show_verb, diff_verb, log_verb, verify_verb, convert_verb, plot_verb,
    kernels_verb, mesh_verb;

#endif
