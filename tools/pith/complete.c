/* Shell completion scripts, generated from the tables of verbs. */
#include "command.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* ---- bash ---- */

static void bash_verb(const verb *v) {
    printf("        %s)\n            options='", v->name);
    for (const option *o = v->options; o->name; o++) {
        printf("%s ", o->name);
        if (o->letter)
            printf("-%c ", o->letter);
    }
    printf("'\n            extensions='%s' ;;\n", v->extensions);
}

static void bash_choices(const option *o) {
    for (; o->name; o++)
        if (o->choices)
            printf("        %s) COMPREPLY=($(compgen -W '%s' -- \"$now\")); return ;;\n",
                   o->name, o->choices);
        else if (o->value && o->letter)
            printf("        %s|-%c) return ;;\n", o->name, o->letter);
        else if (o->value)
            printf("        %s) return ;;\n", o->name);
}

static void print_bash(void) {
    puts("# bash completion of pith\n"
         "_pith() {\n"
         "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local options='' extensions='' verb='' word extension\n"
         "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        [[ $word == -* ]] || { verb=$word; break; }\n"
         "    done\n"
         "    case $verb in");
    for (const verb *const *v = verbs; *v; v++)
        bash_verb(*v);
    fputs("        *) COMPREPLY=($(compgen -W '", stdout);
    for (const verb *const *v = verbs; *v; v++)
        printf("%s ", (*v)->name);
    for (const option *o = common_options; o->name; o++)
        printf("%s ", o->name);
    puts("' -- \"$now\")); return ;;\n"
         "    esac\n"
         "    case $before in");
    for (const verb *const *v = verbs; *v; v++)
        bash_choices((*v)->options);
    bash_choices(common_options);
    fputs("    esac\n"
          "    if [[ $now == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options",
          stdout);
    for (const option *o = common_options; o->name; o++)
        printf(" %s", o->name);
    puts("\" -- \"$now\"))\n"
         "        return\n"
         "    fi\n"
         "    compopt -o filenames\n"
         "    COMPREPLY=($(compgen -d -- \"$now\"))\n"
         "    for extension in $extensions; do\n"
         "        COMPREPLY+=($(compgen -f -X \"!*.$extension\" -- \"$now\"))\n"
         "    done\n"
         "}\n"
         "complete -F _pith pith");
}

/* ---- zsh ---- */

/* Print text inside '...[...]' of an argument of _arguments. */
static void zsh_text(const char *text) {
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void zsh_options(const option *o) {
    for (; o->name; o++) {
        printf(" \\\n                ");
        if (o->letter)
            printf("'(-%c %s)'{-%c,%s}'[", o->letter, o->name, o->letter, o->name);
        else
            printf("'%s[", o->name);
        zsh_text(o->text);
        putchar(']');
        if (o->value) {
            putchar(':');
            zsh_text(o->value);
            putchar(':');
        }
        if (o->choices)
            printf("(%s)", o->choices);
        putchar('\'');
    }
}

static void print_zsh(void) {
    puts("#compdef pith\n"
         "_pith() {\n"
         "    local -a verbs=(");
    for (const verb *const *v = verbs; *v; v++) {
        printf("        '%s:", (*v)->name);
        zsh_text((*v)->summary);
        puts("'");
    }
    puts("    )\n"
         "    local context state state_descr line\n"
         "    typeset -A opt_args\n"
         "    _arguments -C '1: :->verb' '*:: :->rest'\n"
         "    case $state in\n"
         "        verb) _describe verb verbs ;;\n"
         "        rest) case $words[1] in");
    for (const verb *const *v = verbs; *v; v++) {
        printf("            %s) _arguments", (*v)->name);
        zsh_options((*v)->options);
        zsh_options(common_options);
        fputs(" \\\n                '*:file:_files -g \"*.(", stdout);
        for (const char *c = (*v)->extensions; *c; c++)
            putchar(*c == ' ' ? '|' : *c);
        puts(")(-.)\"' ;;");
    }
    puts("        esac ;;\n"
         "    esac\n"
         "}\n"
         "_pith \"$@\"");
}

/* ---- fish ---- */

static void fish_text(const char *text) {
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_options(const option *o, const char *condition) {
    for (; o->name; o++) {
        printf("complete -c pith%s", condition);
        if (o->letter)
            printf(" -s %c", o->letter);
        printf(" -l %s -d ", o->name + 2);
        fish_text(o->text);
        if (o->choices)
            printf(" -x -a '%s'", o->choices);
        else if (o->value)
            printf(" -x");
        putchar('\n');
    }
}

static void print_fish(void) {
    puts("# fish completion of pith\ncomplete -c pith -f");
    fish_options(common_options, "");
    for (const verb *const *v = verbs; *v; v++) {
        printf("complete -c pith -n __fish_use_subcommand -a %s -d ", (*v)->name);
        fish_text((*v)->summary);
        putchar('\n');
    }
    for (const verb *const *v = verbs; *v; v++) {
        char *condition = text_of(" -n '__fish_seen_subcommand_from %s'", (*v)->name);
        fish_options((*v)->options, condition);
        printf("complete -c pith%s -a '(", condition);
        char *list = text_of("%s", (*v)->extensions);
        const char *between = "";
        for (char *e = strtok(list, " "); e; e = strtok(NULL, " ")) {
            printf("%s__fish_complete_suffix .%s", between, e);
            between = "; ";
        }
        puts(")'");
        free(list);
        free(condition);
    }
}

bool print_completion(const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return false;
    return true;
}
