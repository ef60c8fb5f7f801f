/* Logs of runs: what is written, cut back, repaired and refused. */
#include "pith_test.h"

#include <errno.h>
#include <locale.h>
#include <pith/pith.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static pith_runtime *rt;
static pith_scope *s;
static char folder[256], path[300];

static void begin(void) {
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/run.jsonl", folder);
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    char command[300];
    pith_scope_close(s);
    pt_close(rt);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert(system(command) == 0);
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void file_is(const char *expected) {
    static char text[65536];
    FILE *f = fopen(path, "r");
    cr_assert(f, "no file");
    const size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    fclose(f);
    cr_assert(strcmp(text, expected) == 0, "expected:\n%sgot:\n%s", expected, text);
}

static bool add(pith_run_log *log, int64_t step, double x) {
    return pith_run_log_add(s, log, step, PITH_LOG_ROW(PITH_LOG_F64("x", x)));
}

/* Open in a scope of its own, add one row, close. */
static void resume_with(int64_t resume_step, int64_t step, double x) {
    pith_scope *inner = pith_scope_open_in(s);
    pith_run_log *log =
        pith_run_log_open(inner, path, &(pith_run_log_options){true, resume_step});
    pt_ok(inner, log);
    pt_ok(inner, add(log, step, x));
    pith_scope_close(inner);
}

static void refused(pith_status code, bool resume, const char *text) {
    pith_scope *inner = pith_scope_open_in(s);
    pt_fails(code, inner,
             pith_run_log_open(inner, path, &(pith_run_log_options){resume, INT64_MAX}));
    pt_says(text);
    pith_scope_close(inner);
}

Test(log, writes_a_row_a_line) {
    begin();
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* has a decimal comma, where it is installed */
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    pt_ok(s, log);
    cr_assert(pith_run_log_last_step(log) == -1);
    pt_ok(s, pith_run_log_add(s, log, 0,
                              PITH_LOG_ROW(PITH_LOG_F64("energy", -0.1),
                                           PITH_LOG_I64("atoms", INT64_MAX),
                                           PITH_LOG_F64("a \"name\"\n", 3))));
    pt_ok(s, pith_run_log_add(s, log, 7, PITH_LOG_ROW(PITH_LOG_F64("sum", 0.1 + 0.2))));
    pt_ok(s, pith_run_log_sync(s, log));
    file_is("{\"step\":0,\"energy\":-0.1,\"atoms\":9223372036854775807,"
            "\"a \\\"name\\\"\\n\":3.0}\n{\"step\":7,\"sum\":0.30000000000000004}\n");
    cr_assert(pith_run_log_last_step(log) == 7);
    end();
}

Test(log, goes_on_after_the_step_of_the_state) {
    begin();
    resume_with(0, 1, 0.5); /* there is no file yet */
    resume_with(1, 2, 0.25);
    resume_with(2, 30, 3);
    resume_with(2, 4, 7); /* the row of step 30 was not yet */
    file_is("{\"step\":1,\"x\":0.5}\n{\"step\":2,\"x\":0.25}\n{\"step\":4,\"x\":7.0}\n");
    resume_with(0, 1, 1);
    file_is("{\"step\":1,\"x\":1.0}\n");
    pith_scope *inner = pith_scope_open_in(s);
    pith_run_log *log = pith_run_log_open(inner, path, NULL); /* begins anew */
    pt_ok(inner, log);
    file_is("");
    pith_scope_close(inner);
    end();
}

Test(log, cuts_off_what_a_kill_left) {
    begin();
    static const char row[] = "{\"step\":2,\"x\":2.0}";
    for (size_t n = 0; n < sizeof row - 1; n++) {
        char text[128];
        snprintf(text, sizeof text, "{\"step\":1,\"x\":1.0}\n%.*s", (int)n, row);
        write_file(text);
        const pith_dict *seen = pith_run_log_read(s, path);
        pt_ok(s, seen);
        cr_assert(pith_array_spec(pith_dict_get(seen, "x"))->count == 1,
                  "what is unfinished is no row");
        resume_with(5, 6, 6);
        file_is("{\"step\":1,\"x\":1.0}\n{\"step\":6,\"x\":6.0}\n");
    }
    end();
}

Test(log, refuses_what_is_no_log_and_leaves_it_alone) {
    begin();
    static const char *const texts[] = {
        "hello",
        "hello\n",
        "{\"pith\":\"checkpoint\"}\n",
        "\n",
        "{\"step\":1,\"x\":nan}\n",
        "{\"step\":1,\"x\":1e999}\n",
        "{\"step\":1,\"x\":01}\n",
        "{\"step\":1,\"x\":1.}\n",
        "{\"step\":1,\"x\":}\n",
        "{\"step\":1,\"x\":\"text\"}\n",
        "{\"step\":1,\"\":1}\n",
        "{\"step\":1,\"step\":1}\n",
        "{\"step\":1,\"x\n",
        "{\"step\":1,\"x\\\n",
        "{\"step\":1} \n",
        "{\"step\":1.5}\n",
        "{\"step\":-1}\n",
        "{\"step\":99999999999999999999}\n",
        "{\"step\":1,\"x\":1}{\"step\":2}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int resume = 0; resume < 2; resume++) {
            write_file(texts[i]);
            refused(PITH_E_FORMAT, resume, "line 1");
            file_is(texts[i]);
            pt_fails(PITH_E_FORMAT, s, pith_run_log_read(s, path));
        }
    write_file("{\"step\":1}\n{\"step\":1}\n");
    refused(PITH_E_FORMAT, true, "line 2 has step 1, after step 1");
    pt_fails(PITH_E_FORMAT, s, pith_run_log_read(s, path));
    write_file("{\"step\":1,\"x\":1,\"x\":2}\n");
    pt_fails(PITH_E_FORMAT, s, pith_run_log_read(s, path));
    pt_says("\"x\" twice");
    end();
}

Test(log, refuses_rows_that_no_reader_could_trust) {
    begin();
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    pt_ok(s, add(log, 5, 1));
    pt_fails(PITH_E_ARG, s, add(log, 5, 1));
    pt_says("step 5: expected one above 5");
    pt_fails(PITH_E_ARG, s, add(log, 4, 1));
    pt_fails(PITH_E_ARG, s, add(log, -1, 1));
    const pith_run_log_value *const rows[] = {
        PITH_LOG_ROW(PITH_LOG_F64("step", 1)), PITH_LOG_ROW(PITH_LOG_F64("", 1)),
        PITH_LOG_ROW(PITH_LOG_F64("\xff", 1)),
        PITH_LOG_ROW(PITH_LOG_F64("a", 1), PITH_LOG_I64("a", 1))};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        pt_fails(PITH_E_ARG, s, pith_run_log_add(s, log, 6, rows[i]));
    pt_says("two values have this name: \"a\"");
    pt_fails(PITH_E_ARG, s, pith_run_log_add(s, log, 6, NULL));
    pt_fails(PITH_E_ARG, s,
             pith_run_log_open(s, path, &(pith_run_log_options){true, -1}));
    file_is("{\"step\":5,\"x\":1.0}\n");
    cr_assert(pith_run_log_last_step(log) == 5 && pith_run_log_last_step(NULL) == -1);
    end();
}

Test(log, reads_back_what_is_not_finite) {
    begin();
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    pt_ok(s, add(log, 1, (double)NAN));
    pt_ok(s, add(log, 2, (double)INFINITY));
    pt_ok(s, add(log, 3, -(double)INFINITY));
    pt_ok(s, add(log, 4, 0.5));
    file_is("{\"step\":1,\"x\":\"NaN\"}\n{\"step\":2,\"x\":\"Infinity\"}\n"
            "{\"step\":3,\"x\":\"-Infinity\"}\n{\"step\":4,\"x\":0.5}\n");
    double x[4];
    pt_ok(s, pith_read(s, pith_dict_get(pith_run_log_read(s, path), "x"), x, sizeof x));
    cr_assert(isnan(x[0]) && isinf(x[1]) && x[1] > 0 && isinf(x[2]) && x[2] < 0);
    cr_assert(x[3] == 0.5);
    end();
}

Test(log, has_one_writer) {
    begin();
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    pt_ok(s, add(log, 0, 1));
    refused(PITH_E_IO, false, "another process or log writes to it");
    file_is("{\"step\":0,\"x\":1.0}\n");
    end();
}

Test(log, says_why_it_cannot_be_opened) {
    begin();
    snprintf(path, sizeof path, "%s/nothing/run.jsonl", folder);
    refused(PITH_E_IO, false, "No such file or directory");
    pt_fails(PITH_E_IO, s, pith_run_log_read(s, path));
    pt_fails(PITH_E_IO, s, pith_run_log_open(s, "/dev/full", NULL));
    pt_says("it is not a regular file");
    pt_fails(PITH_E_IO, s, pith_run_log_open(s, folder, NULL));
    pt_fails(PITH_E_IO, s, pith_run_log_read(s, folder));
    pt_fails(PITH_E_IO, s, pith_run_log_open(s, "/proc/run.jsonl", NULL));
    pt_fails(PITH_E_ARG, s, pith_run_log_open(s, NULL, NULL));
    snprintf(path, sizeof path, "%s/pipe", folder);
    cr_assert(mkfifo(path, 0600) == 0);
    refused(PITH_E_IO, false, "it is not a regular file"); /* and does not wait for it */
    end();
}

Test(log, a_full_disk_leaves_whole_rows) {
    begin();
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    pt_ok(s, add(log, 1, 1));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, full = {30, RLIM_INFINITY};
    cr_assert(getrlimit(RLIMIT_FSIZE, &before) == 0);
    full.rlim_max = before.rlim_max;
    cr_assert(setrlimit(RLIMIT_FSIZE, &full) == 0);
    pt_fails(PITH_E_IO, s, add(log, 2, 2));
    cr_assert(setrlimit(RLIMIT_FSIZE, &before) == 0);
    pt_says("write: File too large");
    file_is("{\"step\":1,\"x\":1.0}\n");
    pt_ok(s, add(log, 2, 2)); /* there is room again */
    file_is("{\"step\":1,\"x\":1.0}\n{\"step\":2,\"x\":2.0}\n");
    end();
}

Test(log, reads_columns) {
    begin();
    write_file("{\"step\":0,\"n\":1,\"x\":1,\"late\":0.5}\n{\"step\":10,\"x\":-2.5e-3,"
               "\"n\":9007199254740993,\"big\":99999999999999999999}\n{\"step\":20,"
               "\"n\":-3,\"x\":4}\n{\"ste");
    const pith_dict *log = pith_run_log_read(s, path);
    pt_ok(s, log);
    cr_assert(pith_child_count(log) == 5);
    int64_t step[3], n[3];
    double x[3], late[3], big[3];
    pt_ok(s, pith_read(s, pith_dict_get(log, "step"), step, sizeof step));
    pt_ok(s, pith_read(s, pith_dict_get(log, "n"), n, sizeof n));
    pt_ok(s, pith_read(s, pith_dict_get(log, "x"), x, sizeof x));
    pt_ok(s, pith_read(s, pith_dict_get(log, "late"), late, sizeof late));
    pt_ok(s, pith_read(s, pith_dict_get(log, "big"), big, sizeof big));
    cr_assert(step[0] == 0 && step[1] == 10 && step[2] == 20);
    cr_assert(n[0] == 1 && n[1] == 9007199254740993 && n[2] == -3, "integers are exact");
    cr_assert(x[0] == 1 && x[1] == -2.5e-3 && x[2] == 4);
    cr_assert(late[0] == 0.5 && isnan(late[1]) && isnan(late[2]));
    cr_assert(isnan(big[0]) && big[1] == 1e20 && isnan(big[2]));
    write_file("");
    log = pith_run_log_read(s, path);
    pt_ok(s, log);
    cr_assert(pith_child_count(log) == 1 &&
              pith_array_spec(pith_dict_get(log, "step"))->count == 0);
    end();
}

Test(log, reads_what_it_wrote_bit_for_bit) {
    begin();
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    enum { COUNT = 3000 };
    static double wrote[COUNT], got[COUNT];
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < COUNT; i++) {
        do {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            memcpy(&wrote[i], &random, sizeof random);
        } while (!isfinite(wrote[i]));
        pt_ok(s, add(log, i, wrote[i]));
    }
    const pith_dict *columns = pith_run_log_read(s, path);
    pt_ok(s, columns);
    pt_ok(s, pith_read(s, pith_dict_get(columns, "x"), got, sizeof got));
    cr_assert(memcmp(wrote, got, sizeof got) == 0);
    end();
}

Test(log, takes_rows_of_many_values) {
    begin();
    enum { COUNT = 900, NAME = 220 };
    static char names[COUNT][NAME + 1];
    static pith_run_log_value row[COUNT + 1];
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%0*d", NAME, i);
        row[i] = (pith_run_log_value)PITH_LOG_I64(names[i], i);
    }
    pith_run_log *log = pith_run_log_open(s, path, NULL);
    for (int step = 0; step < 3; step++)
        pt_ok(s, pith_run_log_add(s, log, step, row));
    const pith_dict *columns = pith_run_log_read(s, path);
    pt_ok(s, columns);
    cr_assert(pith_child_count(columns) == COUNT + 1);
    int64_t last[3];
    pt_ok(s, pith_read(s, pith_dict_get(columns, names[COUNT - 1]), last, sizeof last));
    cr_assert(last[0] == COUNT - 1 && last[2] == COUNT - 1);
    end();
}

Test(log, long_lines_are_refused) {
    begin();
    FILE *f = fopen(path, "w");
    cr_assert(f);
    fputs("{\"step\":1,\"x\":1}\n{\"step\":2", f);
    for (int i = 0; i < 100000; i++)
        fprintf(f, ",\"name%d\":1.0", i);
    fputs("}\n", f);
    cr_assert(fclose(f) == 0);
    refused(PITH_E_FORMAT, true, "line 2: expected a shorter line");
    pt_fails(PITH_E_FORMAT, s, pith_run_log_read(s, path));
    end();
}
