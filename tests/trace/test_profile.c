/* Profiles of compiled functions: bytes against what can be counted by hand, lines
 * against __LINE__, times against each other, and the file of a whole run. */
#include "fail_allocator.h"
#include "kernels.h"
#include "profile_test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

enum { N = 3000, M = 7, LENGTH = 9 };

/* Of each thread: several may trace one function at once. */
static _Thread_local int mul_line, add_line, body_line, scan_line;

static void
moves(const pith_profile_row *row, int64_t calls, int64_t read, int64_t written) {
    cr_assert(row->calls == calls, "%s: %lld calls", row->name, (long long)row->calls);
    cr_assert(row->read == calls * read, "%s: reads %lld, expected %lld", row->name,
              (long long)row->read, (long long)(calls * read));
    cr_assert(row->written == calls * written, "%s: writes %lld, expected %lld",
              row->name, (long long)row->written, (long long)(calls * written));
}

static bool has_site(const pith_profile_row *row, int line) {
    char site[sizeof __FILE__ + 16];
    bool has = false;
    snprintf(site, sizeof site, "%s:%d", __FILE__, line);
    for (int k = 0; row->sites[k]; k++)
        has |= strcmp(row->sites[k], site) == 0;
    return has;
}

/* ---- Bytes and lines ---- */

static const pith_array *fused(pith_scope *in, const pith_array *x) {
    const pith_array *y = NOTED(mul_line, pith_mul(in, x, x));
    const pith_array *z = pith_sqrt(in, x);
    return NOTED(add_line, pith_add(in, y, z));
}
PITH_FUNCTION1(fused_function, fused, pith_array, pith_array)

Test(profile, a_fused_piece_has_the_lines_of_its_calls, .init = open_scope) {
    const pith_profile *p =
        profile_of(&fused_function, pith_ones(s, PITH_F64, PITH_SHAPE(N)));
    cr_assert(p->row_count == 1, "%s", p->text);
    const pith_profile_row *row = p->rows;
    moves(row, CALLS, 8 * N, 8 * N);
    cr_assert(has_site(row, mul_line) && has_site(row, add_line), "%s", p->text);
    cr_assert(!row->sites[3] && row->inside == -1);
    for (const char *const *name = (const char *const[]){"mul", "sqrt", "add", NULL};
         *name; name++)
        cr_assert(strstr(row->name, *name), "%s", row->name);
    char lines[64];
    snprintf(lines, sizeof lines, "test_profile.c:%d,%d,%d", mul_line, mul_line + 1,
             add_line);
    cr_assert(strstr(p->text, lines), "%s", p->text);
    close_scope();
}

static const pith_array *table; /* [N, M], a constant of programs */
static const pith_array *broadcast(pith_scope *in, const pith_array *row) {
    return pith_mul(in, table, row);
}
PITH_FUNCTION1(broadcast_function, broadcast, pith_array, pith_array)
static const pith_array *reduced(pith_scope *in, const pith_array *row) {
    return pith_sum(in, pith_mul(in, table, row), PITH_ALL_AXES);
}
PITH_FUNCTION1(reduced_function, reduced, pith_array, pith_array)
static const pith_array *sorted(pith_scope *in, const pith_array *x) {
    return pith_sort(in, x, -1, NULL);
}
PITH_FUNCTION1(sorted_function, sorted, pith_array, pith_array)
static const pith_array *shifted(pith_scope *in, const pith_array *x) {
    return pith_sub(in, pith_slice_array(in, x, 1, (pith_slice[]){PITH_SLICE(1, N, 1)}),
                    pith_slice_array(in, x, 1, (pith_slice[]){PITH_SLICE(0, N - 1, 1)}));
}
PITH_FUNCTION1(shifted_function, shifted, pith_array, pith_array)

Test(profile, what_is_broadcast_is_read_once, .init = open_scope) {
    table = pith_ones(s, PITH_F32, PITH_SHAPE(N, M));
    const pith_array *row = pith_ones(s, PITH_F32, PITH_SHAPE(M));
    moves(row_named(profile_of(&broadcast_function, row), "mul"), CALLS,
          4 * N * M + 4 * M, 4 * N * M);
    /* what is reduced as it is made is nowhere in memory */
    moves(row_named(profile_of(&reduced_function, row), "mul, sum"), CALLS,
          4 * N * M + 4 * M, 4);
    close_scope();
}

Test(profile, calls_and_slices_are_counted, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, N);
    moves(row_named(profile_of(&sorted_function, x), "sort"), CALLS, 8 * N, 8 * N);
    moves(row_named(profile_of(&shifted_function, x), "sub"), CALLS, 2 * 8 * (N - 1),
          8 * (N - 1));
    close_scope();
}

static const pith_array *index_array; /* [M] */
static const pith_array *taken(pith_scope *in, const pith_array *x) {
    return pith_neg(in, pith_take(in, x, index_array, NULL));
}
PITH_FUNCTION1(taken_function, taken, pith_array, pith_array)

Test(profile, what_is_taken_counts_as_often_as_it_is_taken, .init = open_scope) {
    index_array = pith_arange(s, PITH_I32, M);
    const pith_profile *p = profile_of(&taken_function, pith_arange(s, PITH_F64, N));
    int64_t read = 0, written = 0;
    for (int64_t k = 0; k < p->row_count; k++) {
        read += p->rows[k].read;
        written += p->rows[k].written;
    }
    /* one piece, or a take and what reads it */
    const int64_t more = p->row_count == 1 ? 0 : CALLS * 8 * M;
    cr_assert(read == CALLS * (8 * M + 4 * M) + more, "%s", p->text);
    cr_assert(written == CALLS * 8 * M + more, "%s", p->text);
    close_scope();
}

static const pith_array *bounded(pith_scope *in, const pith_array *x) {
    return pith_launch(in, bound, x, 1e9).next;
}
PITH_FUNCTION1(bounded_function, bounded, pith_array, pith_array)

Test(profile, kernels_have_their_names, .init = open_scope) {
    const pith_profile *p = profile_of(&bounded_function, pith_arange(s, PITH_F64, N));
    moves(row_named(p, "kernel bound"), CALLS, 8 * N, 8 * N);
    close_scope();
}

/* ---- Loops and branches ---- */

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[n]"), PITH_LEAF(out, "f64[]"))

static const Step *body(pith_scope *in, const pith_array *carry, const pith_array *x) {
    const pith_array *moved = NOTED(body_line, pith_mul(in, carry, x));
    const Step next = {.carry = moved, .out = pith_sum(in, moved, PITH_ALL_AXES)};
    return pith_freeze(in, Step, &next);
}
PITH_FUNCTION2(body_function, body, Step, pith_array, pith_array)
static const pith_array *scanned(pith_scope *in, const pith_array *x) {
    const pith_array *xs = pith_ones(in, PITH_F64, PITH_SHAPE(LENGTH));
    const void *outs;
    const pith_array *last =
        NOTED(scan_line, pith_scan(in, &body_function, x, xs, &outs, NULL));
    return pith_mul(in, last, pith_max(in, outs, PITH_ALL_AXES));
}
PITH_FUNCTION1(scan_function, scanned, pith_array, pith_array)

/* Whether a row is in another one of that name. */
static bool is_in(const pith_profile *p, const pith_profile_row *row, const char *name) {
    return row->inside >= 0 && strcmp(p->rows[row->inside].name, name) == 0;
}

static void check_scan(int64_t n) {
    const pith_profile *p =
        profile_of(&scan_function, pith_ones(s, PITH_F64, PITH_SHAPE(n)));
    const pith_profile_row *loop = row_named(p, "scan");
    int64_t written = 0;
    cr_assert(loop->calls == CALLS && loop->inside == -1 && has_site(loop, scan_line),
              "%s", p->text);
    bool found = false;
    for (int64_t k = 0; k < p->row_count; k++) {
        const pith_profile_row *row = &p->rows[k];
        if (!is_in(p, row, "scan"))
            continue;
        cr_assert(row->calls == CALLS * LENGTH, "%s", p->text);
        written += row->written;
        found |= has_site(row, body_line);
    }
    cr_assert(found, "%s", p->text);
    cr_assert(written >= CALLS * LENGTH * (8 * n + 8), "%s", p->text);
}

Test(profile, bodies_of_loops_are_in_it, .init = open_scope) {
    check_scan(16);    /* compiled as a whole */
    check_scan(20000); /* step by step */
    close_scope();
}

Test(profile, a_while_counts_the_iterations_that_it_made, .init = open_scope) {
    const int64_t sizes[] = {3, 20000};
    for (int k = 0; k < 2; k++) {
        const pith_profile *p =
            profile_of(&looped_function, pith_ones(s, PITH_F64, PITH_SHAPE(sizes[k])));
        const pith_profile_row *add = row_named(p, "add");
        moves(add, 6 * CALLS, 8 * sizes[k], 8 * sizes[k]);
        cr_assert(is_in(p, add, "while"), "%s", p->text);
    }
    close_scope();
}

static const pith_array *chosen(pith_scope *in, const pith_array *x) {
    const pith_array *less =
        pith_less(in, pith_sum(in, x, PITH_ALL_AXES), pith_f64(in, 3));
    return pith_cond(in, less, &doubled_function, &sorted_function, x);
}
PITH_FUNCTION1(chosen_function, chosen, pith_array, pith_array)

Test(profile, a_branch_that_is_not_taken_is_not_in_it, .init = open_scope) {
    const pith_profile *p =
        profile_of(&chosen_function, pith_ones(s, PITH_F64, PITH_SHAPE(N)));
    cr_assert(is_in(p, row_named(p, "sort"), "cond"), "%s", p->text);
    for (int64_t k = 0; k < p->row_count; k++)
        cr_assert(strcmp(p->rows[k].name, "add") != 0, "%s", p->text);
    close_scope();
}

/* ---- Whole trees ---- */

enum { LEAVES = 20 };
static const void *negated(pith_scope *in, const void *list) {
    const void *leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = pith_neg(in, pith_child(list, k));
    return pith_list_make(in, LEAVES, leaves);
}
PITH_FUNCTION1(negated_function, negated, void, void)

Test(profile, equal_work_on_many_leaves_is_one_row, .init = open_scope) {
    const void *leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = pith_ones(s, PITH_F32, PITH_SHAPE(100 + k % 2));
    const void *tree = pith_list_make(s, LEAVES, leaves);
    const pith_profile *p =
        pith_program_profile(s, &negated_function, PITH_ITEMS(tree), CALLS);
    pt_ok(s, p);
    cr_assert(p->row_count == 1 && p->rows->calls % CALLS == 0, "%s", p->text);
    cr_assert(p->rows->read == CALLS * 4 * (10 * 100 + 10 * 101));
    close_scope();
}

/* ---- What it leaves alone, and what it refuses ---- */

Test(profile, arguments_stay, .init = open_scope) {
    const pith_function *f = pith_jit(
        s, &fused_function, &(pith_jit_options){.donate_arguments = PITH_ARGUMENT(0)});
    const pith_array *x = pith_full(s, PITH_F64, PITH_SHAPE(N), 4);
    const pith_profile *p = pith_program_profile(s, f, PITH_ITEMS(x), 3);
    double values[N];
    pt_ok(s, p && pith_read(s, x, values, sizeof values));
    for (int k = 0; k < N; k++)
        cr_assert(values[k] == 4);
    pt_ok(s, pith_jit_about(rt).donated == 0);
    close_scope();
}

static const pith_array *checked_take(pith_scope *in, const pith_array *x) {
    return pith_take(in, x, index_array, &(pith_take_options){.mode = PITH_INDEX_ERROR});
}
PITH_FUNCTION1(checked_take_function, checked_take, pith_array, pith_array)

Test(profile, says_what_is_wrong, .init = open_scope) {
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(M));
    const void *arguments[] = {x};
    pt_fails(PITH_E_ARG, s, pith_program_profile(s, &fused_function, 1, arguments, 0));
    pt_fails(PITH_E_ARG, s, pith_program_profile(s, &fused_function, 2, arguments, 1));
    pt_fails(PITH_E_ARG, s, pith_program_profile(s, NULL, 1, arguments, 1));
    index_array = pith_arange(s, PITH_I64, M + 1);
    pt_ok(s, pith_program_profile(s, &checked_take_function, 1, arguments, 1));
    close_scope();
}

static pith_status profiles(const pith_open_options *options) {
    pith_runtime *own = pith_open(options);
    pith_scope *in = pith_scope_open(own);
    const pith_array *x = pith_ones(in, PITH_F64, PITH_SHAPE(4));
    pt_again(in, x || (x = pith_ones(in, PITH_F64, PITH_SHAPE(4))));
    pt_again(in, pith_program_profile(in, &scan_function, PITH_ITEMS(x), 2));
    const pith_status code = pith_code(in);
    pith_scope_close(in);
    pith_close(own);
    return code;
}

Test(profile, survives_every_allocation_that_fails) {
    setenv("PITH_JIT", "off", 1); /* a compiler takes too long */
    pt_fail_each(profiles);
}

/* ---- A whole run ---- */

static char file[512];

static void use_file(const char *suffix) {
    snprintf(file, sizeof file, "%s/profile%s", pt_files(), suffix);
    setenv("PITH_PROFILE", file, 1);
}

static void run_twice(void) {
    const pith_array *x = pith_ones(s, PITH_F64, PITH_SHAPE(N));
    const pith_function *f = pith_jit(s, &fused_function, NULL),
                        *scan = pith_jit(s, &scan_function, NULL);
    for (int k = 0; k < CALLS; k++) {
        pt_ok(s, pith_apply(s, f, x));
        pt_ok(s, pith_apply(s, scan, x));
    }
}

static double number_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_number(value), "%s", name);
    return json_number_value(value);
}

static const json_t *program_named(const json_t *all, const char *name) {
    const json_t *programs = json_object_get(all, "programs"), *found = NULL;
    for (size_t k = 0; k < json_array_size(programs); k++) {
        const json_t *p = json_array_get(programs, k);
        if (strcmp(json_string_value(json_object_get(p, "name")), name) == 0)
            found = p;
    }
    cr_assert(found, "%s", name);
    return found;
}

Test(profile, of_a_whole_run_is_a_file) {
    use_file(".json");
    open_scope();
    run_twice();
    close_scope();
    json_error_t e;
    json_t *all = json_load_file(file, 0, &e);
    cr_assert(all, "%s: %s", file, e.text);
    double sum = 0;
    const double total = number_of(all, "seconds");
    const json_t *programs = json_object_get(all, "programs");
    for (size_t p = 0; p < json_array_size(programs); p++) {
        const json_t *program = json_array_get(programs, p);
        const json_t *rows = json_object_get(program, "instructions");
        double own = 0, before = 1e9;
        for (size_t k = 0; k < json_array_size(rows); k++) {
            const json_t *row = json_array_get(rows, k);
            const double seconds = number_of(row, "seconds");
            cr_assert(seconds <= before);
            before = seconds;
            own += seconds;
            cr_assert(number_of(row, "share") <= 1);
        }
        cr_assert(own <= number_of(program, "seconds") * (1 + 1e-6));
        sum += number_of(program, "seconds");
    }
    cr_assert(fabs(sum - total) <= 1e-6 * total, "%g of %g", sum, total);
    const json_t *program = program_named(all, "fused");
    cr_assert(number_of(program, "calls") == CALLS);
    const json_t *row = json_array_get(json_object_get(program, "instructions"), 0);
    cr_assert(number_of(row, "bytes_read") == CALLS * 8 * N);
    cr_assert(number_of(row, "bytes_written") == CALLS * 8 * N);
    const json_t *sites = json_object_get(row, "sites");
    char site[sizeof __FILE__ + 16];
    snprintf(site, sizeof site, "%s:%d", __FILE__, mul_line);
    cr_assert(strcmp(json_string_value(json_array_get(sites, 0)), site) == 0);
    json_decref(all);
}

static size_t read_file(char *text, size_t room) {
    FILE *in = fopen(file, "r");
    cr_assert(in, "%s", file);
    const size_t n = fread(text, 1, room - 1, in);
    text[n] = 0;
    fclose(in);
    return n;
}

Test(profile, other_names_get_a_table_and_the_process_its_number) {
    char text[16384];
    use_file("-%p.txt");
    open_scope();
    run_twice();
    close_scope();
    snprintf(file, sizeof file, "%s/profile-%ld.txt", pt_files(), (long)getpid());
    read_file(text, sizeof text);
    cr_assert(strstr(text, "fused: 5 calls"), "%s", text);
    char lines[64];
    snprintf(lines, sizeof lines, "test_profile.c:%d,", mul_line);
    cr_assert(strstr(text, lines), "%s", text);
    snprintf(lines, sizeof lines, "(in scan test_profile.c:%d)", scan_line);
    cr_assert(strstr(text, lines), "%s", text);
}

static void *call_often(void *f) {
    pith_scope *own = pith_scope_open(rt);
    const pith_array *x = pith_ones(own, PITH_F64, PITH_SHAPE(N));
    bool all = true;
    for (int k = 0; k < 20; k++)
        all &= pith_apply(own, f, x) != NULL;
    pith_scope_close(own);
    return all ? f : NULL;
}

Test(profile, calls_of_several_threads_add_up) {
    char text[16384];
    pthread_t threads[4];
    use_file("-threads.txt");
    open_scope();
    const pith_function *f = pith_jit(s, &fused_function, NULL);
    for (int k = 0; k < 4; k++)
        cr_assert(pthread_create(&threads[k], NULL, call_often, (void *)(uintptr_t)f) ==
                  0);
    for (int k = 0; k < 4; k++) {
        void *done = NULL;
        pthread_join(threads[k], &done);
        cr_assert(done);
    }
    close_scope();
    read_file(text, sizeof text);
    cr_assert(strstr(text, "fused: 80 calls"), "%s", text);
}

Test(profile, is_written_where_a_process_ends_with_open_runtimes) {
    char text[16384];
    use_file(".txt");
    const pid_t child = fork();
    if (child == 0) {
        open_scope();
        run_twice();
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    read_file(text, sizeof text);
    cr_assert(strstr(text, "fused: 5 calls"), "%s", text);
}

Test(profile, a_file_that_cannot_be_written_is_an_error_of_opening) {
    char lengthy[400], folder[300];
    memset(lengthy, 'a', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    snprintf(folder, sizeof folder, "%s/", pt_files());
    const char *const rows[][2] = {{"/nowhere/at/all", "No such file or directory"},
                                   {"/dev", "Is a directory"},
                                   {folder, "Is a directory"},
                                   {"/dev/null/at/all", "Not a directory"},
                                   {lengthy, "File name too long"}};
    for (int k = 0; k < 5; k++) {
        setenv("PITH_PROFILE", rows[k][0], 1);
        pith_runtime *own = pith_open(NULL);
        cr_assert(pith_runtime_code(own) == PITH_E_IO, "%s", rows[k][0]);
        const char *said = pith_runtime_message(own);
        cr_assert(strstr(said, "PITH_PROFILE: ") && strstr(said, rows[k][1]), "%s", said);
        pith_close(own);
    }
}

/* The bits of a run that is timed are those of others. */
Test(profile, changes_no_bits) {
    double results[2][N];
    for (int timed = 0; timed < 2; timed++) {
        if (timed)
            use_file(".txt");
        open_scope();
        const pith_array *x = pith_div(s, pith_arange(s, PITH_F64, N), pith_f64(s, 77));
        const pith_function *f = pith_jit(s, &scan_function, NULL);
        for (int k = 0; k < 4; k++) {
            const pith_array *y = pith_apply(s, f, x);
            pt_ok(s, pith_read(s, y, results[timed], sizeof results[timed]));
        }
        close_scope();
    }
    cr_assert(memcmp(results[0], results[1], sizeof results[0]) == 0);
}
