/* Compiling text on the host: functions that run, what is found again, and errors. */
#include "compile_test.h"

Test(compile, runs_what_it_compiled) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *m = NULL;
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &m) == PITH_OK);
    double x[1000], y[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = i, y[i] = 1;
    struct {
        const double *x;
        double *y;
        double a;
    } args = {x, y, 2.5};
    pithp_launch l = {
        .name = "axpy", .args = &args, .args_bytes = sizeof args, .count = 1000};
    pt_ok(h.s, pithp_module_find(h.s, m, "axpy", &l) == PITH_OK);
    pt_ok(h.s, pithp_launch_run(h.s, &l) == PITH_OK);
    pith_wait(h.s);
    pt_ok(h.s);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(y[i], 1 + 2.5 * i);
    pithp_module_release(m);
    pt_code_end(&h);
}

Test(compile, does_not_contract) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *m = NULL;
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &m) == PITH_OK);
    /* a x is 1 + 2^-29 + 2^-60: its last bit is lost unless y joins first */
    const double tiny = 0x1p-30, x[8] = {1 + tiny, 1 + tiny, 1 + tiny, 1 + tiny,
                                         1 + tiny, 1 + tiny, 1 + tiny, 1 + tiny};
    double y[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    struct {
        const double *x;
        double *y;
        double a;
    } args = {x, y, 1 + tiny};
    pithp_launch l = {
        .name = "axpy", .args = &args, .args_bytes = sizeof args, .count = 8};
    pt_ok(h.s, pithp_module_find(h.s, m, "axpy", &l) == PITH_OK);
    pt_ok(h.s, pithp_launch_run(h.s, &l) == PITH_OK);
    pith_wait(h.s);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(y[i], 0x1p-29);
    pithp_module_release(m);
    pt_code_end(&h);
}

Test(compile, finds_in_memory_what_was_compiled) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *first = NULL, *again = NULL;
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &first) == PITH_OK);
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &again) == PITH_OK);
    cr_assert_eq(first, again);
    pithp_launch a = {.name = "axpy"}, b = {.name = "axpy"};
    pt_ok(h.s, pithp_module_find(h.s, first, "axpy", &a) == PITH_OK);
    pt_ok(h.s, pithp_module_find(h.s, first, "axpy", &b) == PITH_OK);
    cr_assert_eq(a.loops, b.loops);
    const pithp_compile_counts counts = pithp_compile_counted(h.rt);
    cr_assert_eq(counts.compiled, 1);
    cr_assert_eq(counts.in_memory, 1);
    cr_assert_eq(counts.on_disk, 0);
    pithp_module_release(first);
    pithp_module_release(again);
    pt_code_end(&h);
}

Test(compile, keeps_no_more_modules_than_the_limit) {
    pt_code h;
    pt_code_begin(&h);
    pithp_compile_limit(h.rt, 2, 0);
    pithp_module *m[3];
    for (int i = 0; i < 3; i++) {
        char text[128];
        pt_return_text(text, sizeof text, i);
        pt_ok(h.s, pithp_compile(h.s, text, NULL, &m[i]) == PITH_OK);
    }
    cr_assert_eq(pithp_compile_counted(h.rt).evicted, 1);
    /* the evicted one is held here, so it still runs */
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pt_run_return(h.s, m[i]), i);
        pithp_module_release(m[i]);
    }
    pithp_compile_limit(h.rt, 2, 1); /* bytes count too; the newest stays */
    cr_assert_eq(pithp_compile_counted(h.rt).evicted, 2);
    pt_code_end(&h);
}

Test(compile, a_mistake_in_the_text_is_reported_with_its_line) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *m = NULL;
    pt_fails(PITH_E_COMPILE, h.s,
             pithp_compile(h.s,
                           "void f(const void *a, long b, long e) {\n    nonsense;\n}\n",
                           &(pithp_compile_options){.name = "my step"}, &m));
    cr_assert_null(m);
    pt_says("my step does not compile");
    pt_says("code.c:2");
    pt_says("nonsense");
    /* a missing function is found at the load, not at the call */
    pt_fails(PITH_E_COMPILE, h.s,
             pithp_compile(h.s,
                           "void nowhere_to_be_found(void);\n"
                           "void f(const void *a, long b, long e) "
                           "{ nowhere_to_be_found(); }\n",
                           NULL, &m));
    pt_says("nowhere_to_be_found");
    /* nothing of it was kept, and the scope goes on */
    cr_assert_eq(pithp_compile_counted(h.rt).on_disk, 0);
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &m) == PITH_OK);
    pithp_launch l = {.name = "none"};
    pt_fails(PITH_E_COMPILE, h.s, pithp_module_find(h.s, m, "axpz", &l));
    pt_says("no function axpz");
    pithp_module_release(m);
    pt_code_end(&h);
}

Test(compile, a_machine_without_a_compiler_says_so) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *m = NULL;
    setenv("PITH_CC", "/nonexistent", 1);
    pt_fails(PITH_E_UNSUPPORTED, h.s, pithp_compile(h.s, pt_axpy, NULL, &m));
    pt_says("no C compiler");
    pt_says("/nonexistent");
    setenv("PITH_CC", "/bin/false", 1);
    pt_fails(PITH_E_UNSUPPORTED, h.s, pithp_compile(h.s, pt_axpy, NULL, &m));
    pt_says("/bin/false is not a C compiler");
    unsetenv("PITH_CC");
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent:", 1);
    pt_fails(PITH_E_UNSUPPORTED, h.s, pithp_compile(h.s, pt_axpy, NULL, &m));
    pt_says("neither cc, gcc nor clang");
    setenv("PATH", path, 1);
    free(path);
    pt_ok(h.s, pithp_compile(h.s, pt_axpy, NULL, &m) == PITH_OK); /* it was installed */
    pithp_module_release(m);
    pt_code_end(&h);
}

Test(compile, takes_the_compiler_of_the_environment_with_its_options) {
    pt_code h;
    pt_code_begin(&h);
    pithp_module *m = NULL;
    setenv("PITH_CC", "gcc  -DPITH_ASKED=41", 1);
    pt_ok(h.s, pithp_compile(h.s, PT_RETURN("PITH_ASKED + 1"), NULL, &m) == PITH_OK);
    cr_assert_eq(pt_run_return(h.s, m), 42);
    pithp_module_release(m);
    pt_code_end(&h);
}

/* Unlinked libraries of equal path must not be taken for one another. */
Test(compile, many_modules_stay_apart) {
    pt_code h;
    pt_code_begin(&h);
    enum { MODULES = 12 };
    pithp_module *m[MODULES];
    for (int i = 0; i < MODULES; i++) {
        char text[128];
        pt_return_text(text, sizeof text, 100 + i);
        pt_ok(h.s, pithp_compile(h.s, text, NULL, &m[i]) == PITH_OK);
    }
    for (int i = 0; i < MODULES; i++)
        cr_assert_eq(pt_run_return(h.s, m[i]), 100 + i);
    for (int i = 0; i < MODULES; i++)
        pithp_module_release(m[i]);
    pt_code_end(&h);
}

typedef struct {
    pith_runtime *rt;
    int failures;
} worker;

static void *compile_in_thread(void *closure) {
    worker *w = closure;
    for (int i = 0; i < 4; i++) {
        pith_scope *s = pith_scope_open(w->rt);
        pithp_module *m = NULL;
        char text[128];
        pt_return_text(text, sizeof text, i);
        if (pithp_compile(s, text, NULL, &m) != PITH_OK)
            w->failures++;
        pithp_module_release(m);
        pith_scope_close(s);
    }
    return NULL;
}

Test(compile, threads_share_the_modules) {
    pt_code h;
    pt_code_begin(&h);
    pthread_t threads[4];
    worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){h.rt, 0};
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_in_thread, &workers[i]),
                     0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_eq(workers[i].failures, 0);
    }
    const pithp_compile_counts counts = pithp_compile_counted(h.rt);
    cr_assert_eq(counts.compiled + counts.on_disk + counts.in_memory, 16);
    pt_code_end(&h);
}

Test(compile, digests_a_log) {
    char line[64];
    pithp_log_digest(
        "In file included:\n  x.c:1: note: hm\ny.c:2: error:  bad\n   thing\n", line,
        sizeof line);
    cr_assert_str_eq(line, "y.c:2: error: bad thing ");
    pithp_log_digest("nothing wrong?\n", line, sizeof line);
    cr_assert_str_eq(line, "nothing wrong? ");
    pithp_log_digest("", line, sizeof line);
    cr_assert_str_eq(line, "the log is empty");
    char small[8];
    pithp_log_digest("an error that is long", small, sizeof small);
    cr_assert_str_eq(small, "an erro");
}
