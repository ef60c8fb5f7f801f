/* Random functions, with control flow, kernels and checks, give the same values and the
 * same failed checks one call after the other, interpreted and compiled, with and without
 * a collector, with donated arguments, and as a part of another compiled function. */
#include "random_function.h"

enum { ROOM = 1 << 17, LINES = 200 }; /* of messages */

static bool same_values(pith_scope *s, const recipe *r, const void *list, int64_t way) {
    for (int k = 0; k < r->output_count; k++) {
        const ingredient *x = &r->list[r->outputs[k]];
        const pith_array *a = pith_child(list, way ? r->output_count - 1 - k : k);
        char *got = malloc(x->spec->bytes + 8);
        pith_read(s, a, got, x->spec->bytes);
        pt_ok(s);
        const bool same = recipe_same(x->spec, got, x->data);
        free(got);
        if (!same)
            return false;
    }
    return true;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What failed, a sorted line each: of checks what they say, in loops in the first
 * iteration that fails; of kernels and indices, whose reports of all iterations are
 * joined, which fail. */
static char *failures(pith_scope *s, const pith_result *result) {
    char *text = calloc(1, ROOM), *lines[LINES];
    int count = 0;
    for (int64_t k = 0; k < pith_result_failed(s, result); k++) {
        const pith_assertion *a = pith_result_get_failed(s, result, k);
        const char *message = pith_assertion_message(s, a);
        const size_t word = strcspn(message, " :");
        bool is_new = count < LINES;
        for (int i = 0; i < count; i++)
            is_new &= strncmp(lines[i], message, word) != 0 ||
                      (lines[i][word] && lines[i][word] != ' ');
        if (is_new)
            lines[count++] = strndup(message, message[word] == ':' ? word : SIZE_MAX);
    }
    qsort(lines, (size_t)count, sizeof *lines, by_text);
    for (int i = 0; i < count; i++) {
        cr_assert(strlen(text) + strlen(lines[i]) + 2 < ROOM);
        strcat(strcat(text, lines[i]), "\n");
        free(lines[i]);
    }
    return text;
}

static const char *wrong_ways;   /* which way was wrong */
static int64_t passing, failing; /* functions whose checks do */
static int64_t put_in;           /* parts that were recorded for another program */

static bool collected_differs(pith_scope *s,
                              const recipe *r,
                              const pith_function *f,
                              const void *arguments,
                              int64_t way,
                              const char *wanted) {
    const pith_result *result = pith_as_result(s, f, PITH_ITEMS(arguments));
    pt_ok(s, result);
    char *got = failures(s, result);
    const bool same = strcmp(got, wanted) == 0;
    if (!same)
        fprintf(stderr, "checks that failed: expected\n%sgot\n%s", wanted, got);
    free(got);
    if (!same || !same_values(s, r, pith_result_value(result), way))
        return true;
    return false;
}

/* As a part of another compiled function: recorded for one, put in for the next, whose
 * options are others. */
static bool part_differs(pith_scope *s,
                         const recipe *r,
                         const pith_function *f,
                         const void *arguments,
                         int64_t way,
                         const char *wanted) {
    const pith_function *compiled = pith_jit(s, f, NULL);
    const pith_function *first = pith_jit(s, compiled, NULL),
                        *next = pith_jit(s, compiled,
                                         &(pith_jit_options){.keep_unused = true});
    wrong_ways = "within another compiled function";
    if (collected_differs(s, r, first, arguments, way, wanted))
        return true;
    const int64_t hits = pith_jit_about(r->s->runtime).part_hits;
    wrong_ways = "put into another compiled function";
    if (collected_differs(s, r, next, arguments, way, wanted))
        return true;
    put_in += pith_jit_about(r->s->runtime).part_hits - hits;
    const char *plain = pith_program_text(s, f, PITH_ITEMS(arguments)),
               *recorded = pith_program_text(s, first, PITH_ITEMS(arguments)),
               *put = pith_program_text(s, next, PITH_ITEMS(arguments));
    pt_ok(s, plain && recorded && put);
    wrong_ways = "another program within another compiled function";
    return strcmp(recorded, plain) != 0 || strcmp(put, plain) != 0;
}

static bool
way_differs(pith_scope *s, const recipe *r, const pith_function *f, int64_t way) {
    const pith_function *compiled = pith_jit(s, f, NULL),
                        *donating = pith_jit(
                            s, f,
                            &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const Arguments *a = random_arguments(s, r, way);
    const pith_result *eager = pith_as_result(s, f, PITH_ITEMS(a));
    pt_ok(s, eager);
    char *wanted = failures(s, eager);
    const bool checks_pass = wanted[0] == 0;
    *(checks_pass ? &passing : &failing) += 1;
    wrong_ways = "one call after the other";
    bool differs = !same_values(s, r, pith_result_value(eager), way);
    for (int again = 0; again < 2 && !differs; again++) {
        wrong_ways = "compiled, checks collected";
        differs = collected_differs(s, r, compiled, a, way, wanted);
    }
    if (!differs && checks_pass) { /* else kernels' failures are errors */
        wrong_ways = "compiled";
        const void *got = pith_call(s, compiled, PITH_ITEMS(a));
        pt_ok(s, got);
        differs = !same_values(s, r, got, way);
    }
    if (!differs && checks_pass) {
        wrong_ways = "donated";
        const void *got = pith_call(s, donating, PITH_ITEMS(random_arguments(s, r, way)));
        pt_ok(s, got);
        differs = !same_values(s, r, got, way);
    }
    if (!differs)
        differs = part_differs(s, r, f, a, way, wanted);
    free(wanted);
    return differs;
}

static bool differs(const recipe *r, void *closure) {
    (void)closure;
    const random_part f = random_part_of("random", random_whole, r, NULL);
    bool any = false;
    for (int64_t way = 0; way < 3 && !any; way++) {
        pith_scope *s = pith_scope_open_in(r->s);
        any = way_differs(s, r, &f.function,
                          way % 2); /* and back, which is no new program */
        pith_scope_close(s);
    }
    pith_jit_clear(r->s->runtime); /* the function's address is another's soon */
    return any;
}

static void random_functions(int64_t first, int64_t count) {
    const random_test test = {1000000, differs, &wrong_ways};
    random_run(&test, first, count);
    cr_assert(count < 100 || (passing > count / 4 && failing > count / 4));
    cr_assert(count < 100 || put_in > count, "of three ways, two are new programs");
}

/* Whether a result is a report of what failed, which functions of users do not see. */
static bool has_reports(const recipe *r) {
    bool any = false;
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        any |= x->kind == RECIPE_MANY && x->spec->dtype == PITH_U64;
        for (int b = 0; x->kind == RECIPE_CONTROL && b < x->body_count; b++)
            any |= has_reports(x->bodies[b]);
    }
    return any;
}

Test(random, those_that_failed_once_give_the_same) {
    static const char *const ways[] = {"off", "wait"};
    for (int way = 0; way < 2; way++) {
        setenv("PITH_JIT", ways[way], 1);
        pith_runtime *rt = pt_open();
        for (recipe_files files = recipe_files_open(); recipe_files_next(&files);) {
            pith_scope *s = pith_scope_open(rt);
            recipe *r = recipe_read(s, files.path);
            cr_assert(has_reports(r) || !differs(r, NULL), "%s, %s", files.path,
                      wrong_ways);
            recipe_free(r);
            pith_scope_close(s);
        }
        pt_close(rt);
    }
}

Test(random, functions_give_the_same_interpreted, .timeout = 600) {
    setenv("PITH_JIT", "off", 1);
    random_functions(0, pt_series(1500));
}

Test(random, functions_give_the_same_compiled, .timeout = 600) {
    random_compiles();
    random_functions(1500, pt_series(1500) / 30);
}
