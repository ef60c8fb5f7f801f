/* The pith command: shows, compares and verifies checkpoints. It needs no C types and no
 * device. */
#include "command.h"
#include "tool.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const verb *const verbs[] = {&show_verb,    &diff_verb,    &log_verb,
                             &verify_verb,  &convert_verb, &plot_verb,
                             &kernels_verb, &mesh_verb,    NULL};

static const verb *find_verb(const char *name) {
    for (const verb *const *v = verbs; *v; v++)
        if (strcmp((*v)->name, name) == 0)
            return *v;
    return NULL;
}

/* Remove "--color WHEN" and "--color=WHEN" from the arguments. */
static bool take_color(char **arguments) {
    char **to = arguments;
    const char *when = "auto";
    for (char **a = arguments; *a; a++) {
        if (strcmp(*a, "--") == 0) {
            while (*a)
                *to++ = *a++;
            break;
        }
        if (strncmp(*a, "--color=", 8) == 0)
            when = *a + 8;
        else if (strcmp(*a, "--color") == 0 && a[1])
            when = *++a;
        else
            *to++ = *a;
    }
    *to = NULL;
    if (colours_choose(when))
        return true;
    complain("", "--color takes auto, always or never, got \"%s\"", when);
    return false;
}

/* The original arguments; verbs reorder theirs. */
static char **given_arguments;

static void keep_arguments(int argc, char **argv) {
    given_arguments = room_for((size_t)argc + 1, sizeof *given_arguments);
    memcpy(given_arguments, argv, (size_t)argc * sizeof *argv);
}

void become_formats(void) {
    static const char other[] = "pith-formats";
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof other);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (!slash)
        return;
    path[n] = 0;
    if (strcmp(slash + 1, other) == 0)
        return; /* this program lacks the library too */
    strcpy(slash + 1, other);
    fflush(stdout);
    execv(path, given_arguments);
}

static bool asks(char **arguments, const char *name, const char *letter) {
    for (; *arguments && strcmp(*arguments, "--") != 0; arguments++)
        if (strcmp(*arguments, name) == 0 || (letter && strcmp(*arguments, letter) == 0))
            return true;
    return false;
}

static int run(const verb *v, char **arguments) {
    command c;
    if (!command_read(v, arguments, &c))
        return TROUBLE;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    int code = TROUBLE;
    if (pith_failed(s) && !v->takes_failed)
        complain(v->name, "%s", pith_message(s));
    else
        code = v->run(s, &c);
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

/* Pages for packagers, not listed in the help. */
static int print_page(char **arguments) {
    if (strcmp(arguments[0], "--man") == 0)
        return print_manual(), SAME;
    if (arguments[1] && print_completion(arguments[1]))
        return SAME;
    complain("", "--completion takes bash, zsh or fish");
    return TROUBLE;
}

static int choose(char **arguments) {
    if (!take_color(arguments))
        return TROUBLE;
    const verb *v = arguments[0] ? find_verb(arguments[0]) : NULL;
    if (v && asks(arguments, "--help", "-h"))
        return print_verb(v), SAME;
    if (!arguments[0]) {
        complain("", "takes a verb; pith --help lists them");
        return TROUBLE;
    }
    if (asks(arguments, "--version", NULL))
        return printf("pith %s\n", pith_version()), SAME;
    if (v)
        return run(v, arguments + 1);
    if (strcmp(arguments[0], "--man") == 0 || strcmp(arguments[0], "--completion") == 0)
        return print_page(arguments);
    if (asks(arguments, "--help", "-h"))
        return print_usage(), SAME;
    complain("", "there is no verb \"%s\"; pith --help lists the verbs", arguments[0]);
    return TROUBLE;
}

int main(int argc, char **argv) {
    keep_arguments(argc, argv);
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a plain error */
    setlocale(LC_CTYPE, "");
    int code = choose(argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("", "the output could not be written");
        code = TROUBLE;
    }
    free(given_arguments);
    return code;
}
