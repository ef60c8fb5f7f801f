/* Oracle: runs every case of a golden folder through pith's public functions, in a mode
 * of `usage`. Status 0: all passed; 1: some failed; 2: trouble; 77: the mode's
 * requirements are missing. */
#include "oracle.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { TROUBLE = 2, SKIPPED = 77, MOST_FAMILIES = 256 };

static const char usage[] =
    "usage: oracle [--mode MODE] [--family NAME] [--device NAME] DIR\n"
    "modes:\n"
    "  eager      (default) every call at once\n"
    "  tier0      as compiled functions, which the interpreter runs\n"
    "  tier1      the same, compiled by the system's compiler\n"
    "  cuda       as compiled functions on a CUDA device, call by call\n"
    "  cuda-text  nothing runs: what a CUDA device would run as one graph is planned, "
    "and\n"
    "             its kernels are compiled by NVRTC for sm_75 and sm_90; any warning "
    "fails\n"
    "  cuda-text-once  the same, for sm_75 or sm_90, in turn\n"
    "status: 0 all passed, 1 some did not, 2 trouble, 77 no device (cuda), no NVRTC\n"
    "(cuda-text), no program in any case (cuda-text) or no operations for any of the\n"
    "families";

typedef struct {
    int64_t passed, failed, aside;
    int64_t informative; /* differences that are not counted */
    int64_t absent;      /* cases of families without operations in pith */
} tally;

static _Noreturn void trouble(const char *why, const char *what) {
    fprintf(stderr, "oracle: %s%s\n", why, what);
    exit(TROUBLE);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the families in a folder, sorted. */
static int families_in(const char *folder, char *names[MOST_FAMILIES]) {
    DIR *d = opendir(folder);
    if (!d)
        trouble("cannot read the folder ", folder);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;) {
        const size_t n = strlen(entry->d_name);
        if (n <= 5 || strcmp(entry->d_name + n - 5, ".json") != 0)
            continue;
        if (count == MOST_FAMILIES)
            trouble("too many families in ", folder);
        names[count] = calloc(n + 1, 1);
        if (!names[count])
            trouble("no memory", "");
        memcpy(names[count++], entry->d_name, n - 5);
    }
    closedir(d);
    qsort(names, (size_t)count, sizeof *names, by_text);
    return count;
}

/* Print the differences of a case, each line with the case's name. */
static void
print(const golden_family *family, const golden_json *one, const char *mark, char *text) {
    const golden_json *informative = golden_get(one, "informative");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("%s%s%s: %s (%s): %s\n", mark,
               informative && informative->kind == 't' ? "informative: " : "",
               family->name, golden_text(one, "name"), golden_text(one, "op"), line);
}

static void count_case(const golden_family *g,
                       const golden_json *one,
                       oracle_report *report,
                       tally *here) {
    const golden_json *informative = golden_get(one, "informative");
    const bool differs = report->text[0] != 0;
    if (differs)
        print(g, one, report->aside ? "set aside: " : "", report->text);
    if (report->aside)
        here->aside++;
    else if (informative && informative->kind == 't')
        here->informative += differs;
    else if (differs)
        here->failed++;
    else
        here->passed++;
}

static void run_family(pith_runtime *rt,
                       const oracle_mode *mode,
                       const golden_family *g,
                       tally *sum) {
    static oracle_report reports[ORACLE_BATCH];
    const golden_json *cases[ORACLE_BATCH], *one = golden_next(g, NULL);
    tally here = {0, 0, 0, 0, 0};
    if (oracle_absent(g->name)) {
        for (; one; one = golden_next(g, one))
            here.aside++;
        printf("%s: %lld cases left out: pith has no %s yet\n", g->name,
               (long long)here.aside, oracle_absent(g->name));
        sum->absent += here.aside;
        return;
    }
    while (one) {
        int count = 0;
        for (; one && count < ORACLE_BATCH; one = golden_next(g, one))
            cases[count++] = one;
        oracle_cases(rt, mode, g, count, cases, reports);
        for (int k = 0; k < count; k++)
            count_case(g, cases[k], &reports[k], &here);
    }
    if (mode->texts)
        here.failed += oracle_compile_texts(g->name, mode->once);
    printf("%s: %lld passed, %lld failed, %lld informative ones differ", g->name,
           (long long)here.passed, (long long)here.failed, (long long)here.informative);
    if (mode->texts)
        printf(", %lld set aside", (long long)here.aside);
    putchar('\n');
    fflush(stdout);
    sum->passed += here.passed;
    sum->failed += here.failed;
}

/* Exit with status 77 if the mode cannot run here. */
static void require_machine(pith_runtime *rt, const oracle_mode *mode) {
    char why[ORACLE_TEXT_BYTES] = "";
    bool there = pith_runtime_code(rt) == PITH_OK;
    if (!there)
        snprintf(why, sizeof why, "%s", pith_runtime_message(rt));
    else if (mode->texts)
        there = oracle_texts_begin(rt, why);
    if (there)
        return;
    printf("skipped: mode %s: %s\n", mode->name, why);
    pith_close(rt);
    exit(SKIPPED);
}

int main(int argc, char **argv) {
    const char *family = NULL, *folder = NULL, *mode_name = "eager";
    pith_open_options options = {.device = NULL};
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--mode") && more)
            mode_name = argv[++i];
        else if (!strcmp(argv[i], "--family") && more)
            family = argv[++i];
        else if (!strcmp(argv[i], "--device") && more)
            options.device = argv[++i];
        else if (argv[i][0] != '-' && !folder)
            folder = argv[i];
        else
            trouble(usage, "");
    }
    const oracle_mode *mode = oracle_mode_named(mode_name);
    if (!folder || !mode)
        trouble(folder ? "no such mode: " : "no folder is named",
                folder ? mode_name : "");
    if (mode->tier)
        setenv("PITH_JIT", mode->tier, 1);
    if (mode->device)
        options.device = mode->device;
    char *names[MOST_FAMILIES];
    const int count = families_in(folder, names);
    pith_runtime *rt = pith_open(&options);
    if (mode->texts || mode->device)
        require_machine(rt, mode);
    tally sum = {0, 0, 0, 0, 0};
    int ran = 0;
    for (int i = 0; i < count; i++) {
        const golden_family *g = NULL;
        if (!family || !strcmp(family, names[i])) {
            g = golden_read(folder, names[i]);
            if (!g)
                trouble("cannot read the family ", names[i]);
            run_family(rt, mode, g, &sum);
            ran++;
        }
        free(names[i]);
    }
    if (mode->texts)
        oracle_texts_end();
    pith_close(rt);
    if (!ran)
        trouble("no family of cases (NAME.json; archives are unpacked first) in ",
                family ? family : folder);
    printf("%lld passed, %lld failed", (long long)sum.passed, (long long)sum.failed);
    if (sum.absent)
        printf(", %lld left out", (long long)sum.absent);
    putchar('\n');
    if ((sum.absent || mode->texts) && !sum.passed && !sum.failed)
        return SKIPPED; /* no case was run */
    return sum.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
