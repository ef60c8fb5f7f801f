/* Help pages generated from the tables of verbs: --help, and the man page. */
#include "command.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] = "inspect checkpoints of pith";

const char *const exit_codes[] = {
    "success, or no difference", "a difference, or damage",
    "an error: a wrong command line, or a file that cannot be read or written", NULL};

const option common_options[] = {
    {"--color", "WHEN", "auto (a terminal, and NO_COLOR not set), always, never",
     "auto always never", 0},
    {"--help", NULL, "describe a verb", NULL, 0},
    {"--version", NULL, "the version of pith", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

/* ---- Help ---- */

static void print_options(const option *o) {
    for (; o->name; o++) {
        char *name =
            o->letter ? text_of("-%c, %s", o->letter, o->name) : text_of("%s", o->name);
        char *line = o->value ? text_of("%s %s", name, o->value) : text_of("%s", name);
        printf("  %-20s %s\n", line, o->text);
        free(line);
        free(name);
    }
}

static void print_exit_codes(void) {
    fputs("Exit codes:\n", stdout);
    for (int i = 0; exit_codes[i]; i++)
        printf("  %d  %s\n", i, exit_codes[i]);
}

void print_usage(void) {
    puts("Inspect checkpoints of pith.\n");
    for (const verb *const *v = verbs; *v; v++) {
        char *line = text_of("pith %s %s", (*v)->name, (*v)->words);
        printf("  %-26s %s\n", line, (*v)->summary);
        free(line);
    }
    puts("\npith VERB --help describes a verb.\n");
    print_options(common_options);
    putchar('\n');
    print_exit_codes();
}

void print_verb(const verb *v) {
    printf("usage: pith %s %s%s\n\n%c%s.\n", v->name,
           v->options->name ? "[options] " : "", v->words,
           v->summary[0] - (v->summary[0] >= 'a' ? 32 : 0), v->summary + 1);
    if (v->more)
        printf("\n%s\n", v->more);
    putchar('\n');
    print_options(v->options);
    print_options(common_options);
    putchar('\n');
    print_exit_codes();
}

/* ---- The man page ---- */

/* Escape text for roff: leading dots and quotes, backslashes and hyphens. */
static void roff(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n' && text[1] == '\n')
            fputs("\n.PP\n", stdout), text++;
        else
            putchar(*text);
    }
}

static void roff_options(const option *o) {
    for (; o->name; o++) {
        fputs(".TP\n.B ", stdout);
        if (o->letter)
            printf("\\-%c\\fR, \\fB", o->letter);
        roff(o->name);
        if (o->value)
            printf(" \\fI%s\\fR", o->value);
        putchar('\n');
        roff(o->text);
        putchar('\n');
    }
}

static void roff_verb(const verb *v) {
    printf(".SS pith %s %s\n", v->name, v->words);
    printf("%c", v->summary[0] - (v->summary[0] >= 'a' ? 32 : 0));
    roff(v->summary + 1);
    puts(".");
    if (v->more) {
        puts(".PP");
        roff(v->more);
        putchar('\n');
    }
    roff_options(v->options);
}

void print_manual(void) {
    printf(".TH PITH 1 \"\" \"pith %s\"\n", pith_version());
    printf(".SH NAME\npith \\- %s\n.SH SYNOPSIS\n", purpose);
    for (const verb *const *v = verbs; *v; v++) {
        printf("%s.B pith %s\n", v == verbs ? "" : ".br\n", (*v)->name);
        if ((*v)->options->name)
            puts("[\\fIoptions\\fR]");
        roff((*v)->words);
        putchar('\n');
    }
    puts(
        ".SH DESCRIPTION\n.B pith\nneeds no C types and no device: it reads files of any "
        "record type.\n.SH VERBS");
    for (const verb *const *v = verbs; *v; v++)
        roff_verb(*v);
    puts(".SH OPTIONS OF ALL VERBS");
    roff_options(common_options);
    puts(".SH EXIT STATUS");
    for (int i = 0; exit_codes[i]; i++) {
        printf(".TP\n.B %d\n", i);
        roff(exit_codes[i]);
        putchar('\n');
    }
    puts(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nif it is set, nothing is coloured unless "
         "\\-\\-color asks for it.");
}
