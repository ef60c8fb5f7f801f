/* A process that forks while code is compiled in the background: a child compiles for
 * itself, and leaves its parent's compiler alone. */
#include "background_code.h"
#include "slow_compiler.h"

#include <sys/wait.h>
#include <unistd.h>

#if !defined(__SANITIZE_THREAD__) /* which does not follow forks of threads */

enum { CHILD_IS_RIGHT = 42 };

static pith_runtime *rt;
static char note[PT_NOTE_BYTES];

static void begin(void) {
    pt_slow_compiler(note);
    setenv("PITH_CACHE_DIR", "", 1);
    rt = pt_open();
}

static pithp_code *ask_for(const char *text) {
    return background_code_make(rt, text, "forked");
}

static pithp_code_state await(const pithp_code *code) {
    while (pithp_code_look(code) == PITHP_CODE_WAITING)
        usleep(1000);
    return pithp_code_look(code);
}

static void await_note(void) {
    for (int k = 0; k < 12000 && access(note, F_OK) != 0; k++)
        usleep(5000);
    cr_assert(access(note, F_OK) == 0);
}

static void expect_right(pid_t child) {
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_RIGHT, "status %x",
              status);
}

/* The thread sleeps as the process forks. */
Test(compile_fork, a_child_compiles_and_closes, .init = begin, .timeout = 200) {
    pithp_code *code = ask_for("int x;");
    cr_assert_eq(await(code), PITHP_CODE_READY);
    usleep(100000);
    const pid_t child = fork();
    if (child == 0) {
        pithp_code *own = ask_for("int y;");
        const bool right = await(own) == PITHP_CODE_READY;
        pithp_code_release(own);
        pithp_code_release(code);
        pt_close(rt);
        _exit(right ? CHILD_IS_RIGHT : 1);
    }
    expect_right(child);
    pithp_code_release(code);
    pt_close(rt);
}

/* What the parent's thread was in is compiled by the child, too. */
Test(compile_fork, a_child_compiles_what_was_begun, .init = begin, .timeout = 200) {
    pithp_code *code = ask_for("int x;");
    await_note();
    const pid_t child = fork();
    if (child == 0) {
        pithp_code *own = ask_for("int y;");
        const bool right =
            await(own) == PITHP_CODE_READY && await(code) == PITHP_CODE_READY;
        _exit(right ? CHILD_IS_RIGHT : 1);
    }
    expect_right(child);
    cr_assert_eq(await(code), PITHP_CODE_READY);
    pithp_code_release(code);
    pt_close(rt);
}

Test(compile_fork,
     a_child_that_closes_ends_no_compiler_of_its_parent,
     .init = begin,
     .timeout = 200) {
    pithp_code *code = ask_for("int x;");
    await_note();
    const pid_t child = fork();
    if (child == 0) {
        pithp_code_release(ask_for("int y;"));
        pithp_code_release(code);
        pith_close(rt);
        _exit(CHILD_IS_RIGHT);
    }
    expect_right(child);
    cr_assert_eq(await(code), PITHP_CODE_READY);
    pithp_code_release(code);
    pt_close(rt);
}

/* Locks of the thread, and of the loader, are given back before the process forks. */
Test(compile_fork, at_any_moment, .init = begin, .timeout = 200) {
    enum { TURNS = 100 };
    unsetenv("PITH_CC");
    pith_close(rt);
    for (int turn = 0; turn < TURNS; turn++) {
        char text[64];
        rt = turn % 10 == 0 ? pt_open() : rt;
        snprintf(text, sizeof text, "int x%d;", turn);
        pithp_code *code = ask_for(text);
        usleep((useconds_t)turn % 10 * 2000);
        const pid_t child = fork();
        if (child == 0) {
            pithp_code_release(code);
            pith_close(rt);
            _exit(CHILD_IS_RIGHT);
        }
        expect_right(child);
        pithp_code_release(code);
        if (turn % 10 == 9)
            pt_close(rt);
    }
}

#endif
