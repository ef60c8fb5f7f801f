/* PITH_JIT_DEBUG: what is kept, the lines and names in it, and that no bits change. */
#include "scope_test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 3000 };

static char folder[300];

static void use_folder(void) {
    snprintf(folder, sizeof folder, "%s/kept", pt_files());
    setenv("PITH_JIT_DEBUG", folder, 1);
}

/* The name of a file in the folder that begins and ends so; false: there is none. */
static bool find_file(const char *begin, const char *end, char path[1024]) {
    DIR *d = opendir(folder);
    bool found = false;
    cr_assert(d, "%s", folder);
    for (const struct dirent *e = readdir(d); e && !found; e = readdir(d)) {
        const size_t n = strlen(e->d_name), m = strlen(end);
        found = strncmp(e->d_name, begin, strlen(begin)) == 0 && n > m &&
                strcmp(e->d_name + n - m, end) == 0;
        if (found)
            snprintf(path, 1024, "%s/%s", folder, e->d_name);
    }
    closedir(d);
    return found;
}

static void remove_folder(void) {
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert(system(command) == 0);
}

static char *text_of(FILE *in) {
    size_t n = 0, room = 1 << 16;
    char *text = malloc(room);
    for (size_t got; text && (got = fread(text + n, 1, room - n - 1, in)) > 0;)
        if ((n += got) + 1 == room)
            text = realloc(text, room *= 2);
    cr_assert(text);
    text[n] = 0;
    return text;
}

/* ---- What is computed ---- */

static int add_line, scan_line, body_line, sum_line;
#define NOTED(line, call) (line = __LINE__, call)

static const pith_array *fused(pith_scope *in, const pith_array *x) {
    const pith_array *half = pith_cast(in, pith_div(in, x, pith_f64(in, 3)), PITH_F16);
    const pith_array *low = pith_less(in, x, pith_f64(in, 10));
    const pith_array *y = pith_where(in, low, pith_exp(in, pith_neg(in, x)), x);
    return NOTED(add_line, pith_add(in, y, pith_cast(in, half, PITH_F64)));
}
PITH_FUNCTION1(fused_function, fused, pith_array, pith_array)

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[n]"), PITH_LEAF(out, "f64[]"))
static const Step *body(pith_scope *in, const pith_array *carry, const pith_array *x) {
    const pith_array *moved = NOTED(body_line, pith_mul(in, carry, x));
    const pith_array *sum = NOTED(sum_line, pith_sum(in, moved, PITH_ALL_AXES));
    const Step next = {.carry = moved, .out = sum};
    return pith_freeze(in, Step, &next);
}
PITH_FUNCTION2(body_function, body, Step, pith_array, pith_array)
static const pith_array *scanned(pith_scope *in, const pith_array *x) {
    const pith_array *few =
        pith_slice_array(in, x, 1, (pith_slice[]){PITH_SLICE(0, 12, 1)});
    const void *outs;
    const pith_array *last =
        NOTED(scan_line, pith_scan(in, &body_function, few, few, &outs, NULL));
    return pith_add(in, last, outs);
}
PITH_FUNCTION1(scan_function, scanned, pith_array, pith_array)

static const pith_array *folded(pith_scope *in, const pith_array *x) {
    const pith_array *table = pith_reshape(in, x, PITH_SHAPE(N / 10, 10));
    const pith_array *row =
        pith_slice_array(in, x, 1, (pith_slice[]){PITH_SLICE(0, 10, 1)});
    const pith_array *norm = pith_sum(in, pith_mul(in, table, row), PITH_AXES(1));
    return pith_add(in, pith_sum(in, pith_square(in, x), PITH_ALL_AXES), norm);
}
PITH_FUNCTION1(folded_function, folded, pith_array, pith_array)

static const pith_function *const functions[] = {&fused_function, &scan_function,
                                                 &folded_function};
enum { FUNCTIONS = 3 };

/* The results of each function, by compiled code. */
static void compute(double results[FUNCTIONS][N]) {
    memset(results, 0, sizeof(double[FUNCTIONS][N]));
    open_scope();
    const pith_array *x = pith_mul(s, pith_arange(s, PITH_F64, N), pith_f64(s, 0.0137));
    for (int k = 0; k < FUNCTIONS; k++) {
        const pith_array *y = pith_apply(s, pith_jit(s, functions[k], NULL), x);
        pt_ok(s, y && pith_read(s, y, results[k], pith_array_spec(y)->bytes));
    }
    close_scope();
}

static double plain[FUNCTIONS][N], kept[FUNCTIONS][N];

Test(jit_debug, changes_no_bits) {
    setenv("PITH_JIT", "wait", 1);
    compute(plain);
    use_folder();
    compute(kept);
    cr_assert(memcmp(plain, kept, sizeof plain) == 0);
    memset(kept, 0, sizeof kept);
    compute(kept); /* from what was kept of it */
    cr_assert(memcmp(plain, kept, sizeof plain) == 0);
    remove_folder();
}

static bool has_line(const char *text, int line) {
    char directive[sizeof __FILE__ + 32];
    snprintf(directive, sizeof directive, "#line %d \"%s\"\n", line, __FILE__);
    return strstr(text, directive) != NULL;
}

/* Directives name the file's own lines where nothing else is meant. */
static void check_own_lines(const char *text, const char *path) {
    const char *name = strrchr(path, '/') + 1;
    long line = 1, own = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1, line++) {
        long said;
        char file[512];
        if (sscanf(at, "#line %ld \"%511[^\"]\"", &said, file) != 2 ||
            !strstr(file, name))
            continue;
        cr_assert(file[0] == '/' && said == line + 1, "%s: line %ld says %ld", path, line,
                  said);
        own++;
    }
    cr_assert(own > 0, "%s", path);
}

Test(jit_debug, text_has_the_lines_of_its_calls) {
    const struct {
        const char *begin;
        int *lines[3];
    } rows[] = {{"fused_", {&add_line}}, {"scanned_", {&body_line, &sum_line}}};
    char path[1024];
    setenv("PITH_JIT", "wait", 1);
    use_folder();
    compute(kept);
    for (int k = 0; k < 2; k++) {
        cr_assert(find_file(rows[k].begin, ".c", path), "%s", rows[k].begin);
        FILE *in = fopen(path, "r");
        char *text = text_of(in);
        fclose(in);
        check_own_lines(text, path);
        for (int i = 0; i < 3 && rows[k].lines[i]; i++)
            cr_assert(has_line(text, *rows[k].lines[i]), "%s: line %d", path,
                      *rows[k].lines[i]);
        free(text);
    }
    remove_folder();
}

/* What a tool of binutils says of a file, or NULL: it is not there. */
static char *told_by(const char *tool, const char *path) {
    char command[1536];
    snprintf(command, sizeof command, "%s %s 2>/dev/null", tool, path);
    FILE *out = popen(command, "r");
    char *text = out ? text_of(out) : NULL;
    if (out && pclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

Test(jit_debug, code_has_names_and_lines_for_debuggers) {
    char path[1024], number[32];
    setenv("PITH_JIT", "wait", 1);
    use_folder();
    compute(kept);
    cr_assert(find_file("fused_", ".so", path));
    char *names = told_by("nm", path);
    char *lines = told_by("readelf --debug-dump=decodedline", path);
    snprintf(number, sizeof number, " %d ", add_line);
    if (names)
        cr_assert(strstr(names, " T fused_"), "%s", names);
    if (lines) {
        bool found = false;
        for (const char *at = lines; (at = strstr(at, "test_jit_debug.c")) && !found;
             at++) {
            char line[256];
            snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
            found = strstr(line, number) != NULL;
        }
        cr_assert(found, "no%sin %s", number, lines);
    }
    free(names);
    free(lines);
    remove_folder();
}

Test(jit_debug, text_for_a_device_has_lines_and_names_too) {
    use_folder();
    open_scope();
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(N));
    const char *text = pith_program_cuda_text(s, &fused_function, PITH_ITEMS(x));
    pt_ok(s, text);
    const char *name = strstr(text, "M_KERNEL(fused_");
    cr_assert(name && has_line(text, add_line), "%s", name ? name : text);
    cr_assert(!strstr(text, "#line here") && !strstr(text, "#line from"));
    close_scope();
    remove_folder();
    unsetenv("PITH_JIT_DEBUG");
    open_scope();
    x = pith_ones(s, PITH_F64, PITH_SHAPE(N));
    text = pith_program_cuda_text(s, &fused_function, PITH_ITEMS(x));
    pt_ok(s, text && !strstr(text, "#line") && strstr(text, "M_KERNEL(pith_step_0"));
    close_scope();
}

/* ---- What goes wrong ---- */

static void refuses(const char *name, const char *why) {
    setenv("PITH_JIT_DEBUG", name, 1);
    pith_runtime *own = pith_open(NULL);
    cr_assert(pith_runtime_code(own) == PITH_E_IO);
    cr_assert(strstr(pith_runtime_message(own), name) &&
                  strstr(pith_runtime_message(own), why),
              "%s", pith_runtime_message(own));
    pith_close(own);
}

Test(jit_debug, a_folder_that_cannot_be_used_is_an_error_of_opening) {
    use_folder();
    refuses("/nowhere/at/all", "No such file or directory");
    cr_assert(mkdir(folder, 0700) == 0 && chmod(folder, 0777) == 0);
    refuses(folder, "other users can write to it");
    remove_folder();
    FILE *out = fopen(folder, "w");
    cr_assert(out && fclose(out) == 0);
    refuses(folder, "Not a directory");
    unlink(folder);
}

Test(jit_debug, a_folder_that_is_gone_ends_nothing) {
    setenv("PITH_JIT", "wait", 1);
    compute(plain);
    use_folder();
    open_scope();
    const pith_array *x = pith_mul(s, pith_arange(s, PITH_F64, N), pith_f64(s, 0.0137));
    remove_folder();
    const pith_array *y = pith_apply(s, pith_jit(s, &fused_function, NULL), x);
    pt_ok(s, y && pith_read(s, y, kept[0], sizeof kept[0]));
    cr_assert(memcmp(plain[0], kept[0], sizeof plain[0]) == 0);
    close_scope();
}
