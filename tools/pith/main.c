/* The pith command: what is in a checkpoint, how two differ, whether one is intact. It
 * needs no C types and no device. */
#include "tool.h"

#include <locale.h>
#include <string.h>

static const char usage[] =
    "Look into checkpoints of pith.\n"
    "\n"
    "  pith show FILE         the tree, with least, greatest and mean of every leaf\n"
    "  pith show FILE PATH    the elements of a leaf, such as .atoms.position\n"
    "      --rows A:B         rows A to B - 1 of its first axis\n"
    "      --no-stats         do not read the leaves\n"
    "      --all              every line, however many\n"
    "      --lines N          as many lines as that (100); longer trees are cut\n"
    "  pith diff A B          how structure and values differ\n"
    "      --rtol X --atol X  |a - b| <= atol + rtol * |b| counts as equal (both 0)\n"
    "      --bits             -0.0 differs from 0.0, and NaNs by their bits\n"
    "      --worst N          the N worst elements of a leaf (1)\n"
    "  pith log FILE...       a line each: step, size, what changed since the one before\n"
    "  pith verify FILE...    whether checkpoints are intact\n"
    "\n"
    "  --color WHEN           auto (a terminal, and NO_COLOR not set), always, never\n"
    "  --help, --version\n"
    "\n"
    "Exit codes: 0 all is well, or no difference; 1 a difference, or damage;\n"
    "2 trouble: a wrong command line, or a file that cannot be read.\n";

static const struct {
    const char *name;
    int (*run)(pith_scope *s, char **arguments);
} verbs[] = {{"show", verb_show},
             {"diff", verb_diff},
             {"log", verb_log},
             {"verify", verb_verify}};

bool option_value(char ***argument, const char *name, const char **value) {
    const size_t n = strlen(name);
    if (strncmp(**argument, name, n) != 0)
        return false;
    if ((**argument)[n] == '=') {
        *value = **argument + n + 1;
        return true;
    }
    if ((**argument)[n] != 0 || !(*argument)[1])
        return false;
    *value = *++*argument;
    return true;
}

/* Take options that all verbs have out of the arguments. -1: go on; else exit with that.
 */
static int common_options(char **arguments) {
    char **to = arguments;
    const char *when = "auto";
    for (char **a = arguments; *a; a++) {
        if (strcmp(*a, "--") == 0) {
            while (*a)
                *to++ = *a++;
            break;
        }
        if (strcmp(*a, "--help") == 0 || strcmp(*a, "-h") == 0)
            return fputs(usage, stdout), SAME;
        if (strcmp(*a, "--version") == 0)
            return printf("pith %d.%d.%d\n", PITH_VERSION_MAJOR, PITH_VERSION_MINOR,
                          PITH_VERSION_PATCH),
                   SAME;
        if (!option_value(&a, "--color", &when))
            *to++ = *a;
    }
    *to = NULL;
    if (colours_choose(when))
        return -1;
    complain("", "--color takes auto, always or never, got \"%s\"", when);
    return TROUBLE;
}

static int run(char **arguments) {
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (!arguments[0] || strcmp(arguments[0], verbs[i].name) != 0)
            continue;
        pith_runtime *rt =
            pith_open(&(pith_open_options){.device = "host", .threads = 1});
        pith_scope *s = pith_scope_open(rt);
        int code = TROUBLE;
        if (pith_failed(s))
            complain(verbs[i].name, "%s", pith_message(s));
        else
            code = verbs[i].run(s, arguments + 1);
        pith_clear(s);
        pith_scope_close(s);
        pith_close(rt);
        return code;
    }
    if (arguments[0])
        complain("", "there is no \"%s\"; pith --help lists what there is", arguments[0]);
    else
        fputs(usage, stderr);
    return TROUBLE;
}

int main(int argc, char **argv) {
    (void)argc;
    setlocale(LC_CTYPE, "");
    int code = common_options(argv + 1);
    if (code < 0)
        code = run(argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("", "the output could not be written");
        code = TROUBLE;
    }
    return code;
}
