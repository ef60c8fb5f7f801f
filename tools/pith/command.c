/* Command-line parser, driven by the tables of verbs. */
#include "command.h"

#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* *value: attached value, as in "--rows=A:B" or "-oFILE"; NULL: none. */
static const option *
find_option(const verb *v, const char *argument, const char **value) {
    const size_t n = strcspn(argument, "=");
    const bool is_letter = argument[1] != '-';
    *value = is_letter && argument[2] ? argument + 2
             : argument[n] == '='     ? argument + n + 1
                                      : NULL;
    for (const option *o = v->options; o->name; o++)
        if (is_letter ? o->letter && o->letter == argument[1]
                      : strlen(o->name) == n && strncmp(o->name, argument, n) == 0)
            return o;
    return NULL;
}

/* Parse the option at *argument, which advances to a separate value. */
static bool read_option(command *c, char ***argument) {
    const char *name = c->verb->name, *text = **argument;
    const char *value;
    const option *o = find_option(c->verb, text, &value);
    if (!o)
        return complain(name, "unknown option \"%.*s\"; pith %s --help lists the options",
                        (int)strcspn(text, "="), text, name),
               false;
    if (!o->value && value)
        return complain(name, "%s takes no value", o->name), false;
    if (o->value && !value && !(*argument)[1])
        return complain(name, "%s takes %s, got nothing", o->name, o->value), false;
    if (c->option_count == MOST_GIVEN)
        return complain(name, "too many options"), false;
    c->options[c->option_count].name = o->name;
    c->options[c->option_count++].value = !o->value ? NULL : value ? value : *++*argument;
    return true;
}

bool command_read(const verb *v, char **arguments, command *c) {
    *c = (command){.verb = v, .words = (const char **)arguments};
    bool options = true;
    for (char **a = arguments; *a; a++) {
        if (options && strcmp(*a, "--") == 0)
            options = false;
        else if (!options || **a != '-' || !(*a)[1])
            c->words[c->word_count++] = *a; /* never overtakes the reader */
        else if (!read_option(c, &a))
            return false;
    }
    if (c->word_count >= v->least && (v->most < 0 || c->word_count <= v->most))
        return true;
    complain(v->name, "takes %s: pith %s%s%s", v->takes, v->name, v->words[0] ? " " : "",
             v->words);
    return false;
}

bool given(const command *c, const char *name) {
    for (int i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].name, name) == 0)
            return true;
    return false;
}

const char *given_value(const command *c, const char *name) {
    for (int i = c->option_count; i-- > 0;)
        if (strcmp(c->options[i].name, name) == 0)
            return c->options[i].value;
    return NULL;
}

bool given_i64(const command *c,
               const char *name,
               int64_t least,
               int64_t most,
               int64_t *value) {
    const char *text = given_value(c, name);
    char *end;
    if (!text)
        return true;
    errno = 0;
    const int64_t number = strtoll(text, &end, 10);
    if (!*text || *end || errno || number < least || number > most) {
        if (most == INT64_MAX)
            complain(c->verb->name,
                     "%s takes an integer of at least %" PRId64 ", got \"%s\"", name,
                     least, text);
        else
            complain(c->verb->name,
                     "%s takes an integer from %" PRId64 " to %" PRId64 ", got \"%s\"",
                     name, least, most, text);
        return false;
    }
    *value = number;
    return true;
}

bool given_f64(const command *c,
               const char *name,
               double least,
               double most,
               double *value) {
    const char *text = given_value(c, name);
    char *end;
    if (!text)
        return true;
    const double number = strtod(text, &end);
    if (!*text || *end || !(number >= least && number <= most)) {
        complain(c->verb->name, "%s takes a number of at least %g, got \"%s\"", name,
                 least, text);
        return false;
    }
    *value = number;
    return true;
}
