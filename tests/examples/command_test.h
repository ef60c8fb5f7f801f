/* Running the pith command as its users do. */
#ifndef PITH_COMMAND_TEST_H
#define PITH_COMMAND_TEST_H

#include "checkpoint/checkpoint_test.h"

#include <sys/wait.h>

static pith_runtime *rt;
static pith_scope *s;
static PT_UNUSED char output[65536]; /* of the last command, both streams */
static PT_UNUSED char
    squeezed[65536]; /* the same with one space for several: columns aside */

static PT_UNUSED void begin(void) {
    ct_begin();
    rt = pt_open();
    s = pith_scope_open(rt);
    unsetenv("NO_COLOR");
}
static PT_UNUSED void end(void) {
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* Run "pith ..." and return its exit code. */
static PT_UNUSED int run(const char *arguments) {
    char command[2048];
    snprintf(command, sizeof command, "('%s' %s) 2>&1", PITH_COMMAND, arguments);
    FILE *in = popen(command, "r");
    const size_t n = fread(output, 1, sizeof output - 1, in);
    output[n] = 0;
    char *to = squeezed;
    for (const char *c = output; *c; c++)
        if (*c != ' ' || to == squeezed || to[-1] != ' ')
            *to++ = *c;
    *to = 0;
    const int status = pclose(in);
    cr_assert(WIFEXITED(status), "pith %s died:\n%s", arguments, output);
    return WEXITSTATUS(status);
}

#define expect(code, arguments, ...)                                                     \
    do {                                                                                 \
        const char *const texts_[] = {__VA_ARGS__};                                      \
        const int got_ = run(arguments);                                                 \
        cr_assert(got_ == (code), "pith %s: exit code %d, expected %d:\n%s", arguments,  \
                  got_, (code), output);                                                 \
        for (size_t i_ = 0; i_ < sizeof texts_ / sizeof texts_[0]; i_++)                 \
            cr_assert(strstr(squeezed, texts_[i_]), "pith %s: expected \"%s\" in:\n%s",  \
                      arguments, texts_[i_], output);                                    \
    } while (0)

static PT_UNUSED const Sim *sim_with(int seed, const void *extra) {
    Sim sim = *make_sim(s, 100, seed);
    sim.extra = extra;
    return pith_freeze(s, Sim, &sim);
}

#endif
