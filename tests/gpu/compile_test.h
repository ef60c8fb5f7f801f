/* A runtime on the host whose compiled code goes to a directory of the test's own. */
#ifndef PITH_COMPILE_TEST_H
#define PITH_COMPILE_TEST_H

#include "gpu/compile/toolchain.h"
#include "pith_test.h"

#include <dirent.h>
#include <pith/runtime.h>
#include <sys/stat.h>
#include <unistd.h>

#define PT_RETURN(expression)                                                            \
    "void answer(const void *args, long begin, long end) {\n"                            \
    "    (void)begin, (void)end;\n"                                                      \
    "    **(long *const *)args = " expression ";\n"                                      \
    "}\n"

static PT_UNUSED const char pt_axpy[] =
    "typedef struct { const double *x; double *y; double a; } axpy_args;\n"
    "void axpy(const void *args, long begin, long end) {\n"
    "    const axpy_args p = *(const axpy_args *)args;\n"
    "    for (long i = begin; i < end; i++)\n"
    "        p.y[i] = p.y[i] + p.a * p.x[i];\n"
    "}\n";

typedef struct pt_code {
    char directory[320]; /* PITH_CACHE_DIR */
    pith_runtime *rt;
    pith_scope *s;
} pt_code;

static PT_UNUSED void pt_code_directory(pt_code *c) {
    pt_folder(c->directory);
    setenv("PITH_CACHE_DIR", c->directory, 1);
    unsetenv("PITH_CACHE_BYTES");
    unsetenv("PITH_CC");
}

static PT_UNUSED void pt_code_open(pt_code *c) {
    c->rt = pt_open();
    c->s = pith_scope_open(c->rt);
    pt_ok(c->s);
}

static PT_UNUSED void pt_code_close(pt_code *c) {
    pith_scope_close(c->s);
    pt_close(c->rt);
}

static PT_UNUSED void pt_code_begin(pt_code *c) {
    pt_code_directory(c);
    pt_code_open(c);
}

static PT_UNUSED void pt_code_remove(const pt_code *c) {
    DIR *all = opendir(c->directory);
    for (struct dirent *d = all ? readdir(all) : NULL; d; d = readdir(all))
        unlinkat(dirfd(all), d->d_name, 0);
    if (all)
        closedir(all);
    rmdir(c->directory);
}

static PT_UNUSED void pt_code_end(pt_code *c) {
    pt_code_close(c);
    pt_code_remove(c);
}

static PT_UNUSED void pt_return_text(char *text, size_t room, int value) {
    snprintf(text, room,
             "void answer(const void *args, long begin, long end) "
             "{ **(long *const *)args = %d; }\n",
             value);
}

/* What the function of PT_RETURN stores. */
static PT_UNUSED long pt_run_return(pith_scope *s, pithp_module *m) {
    long value = -1, *args = &value;
    pithp_launch l = {
        .name = "answer", .args = &args, .args_bytes = sizeof args, .count = 1};
    pt_ok(s, pithp_module_find(s, m, "answer", &l) == PITH_OK);
    pt_ok(s, pithp_launch_run(s, &l) == PITH_OK);
    pith_wait(s);
    pt_ok(s);
    return value;
}

#endif
