/* Sticky errors: the first one stays, with path, message and call site, on one line. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>

static pith_runtime *rt;
static pith_scope *s;

static void begin(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void finish(void) {
    pith_clear(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(error, the_first_one_stays_until_it_is_cleared) {
    begin();
    cr_assert_eq(pith_code(s), PITH_OK);
    cr_assert_str_eq(pith_message(s), "");
    pith_fail(s, PITH_E_SHAPE, ".atoms.position", "expected %s, got %s", "f64[3]",
              "f32[3]");
    pith_fail(s, PITH_E_IO, ".other", "later");
    pithp_fail(s, PITH_E_MEMORY, NULL, "later still");
    cr_assert_eq(pith_code(s), PITH_E_SHAPE);
    cr_assert_str_eq(pith_error_path(s), ".atoms.position");
    cr_assert(strstr(pith_message(s), ".atoms.position: expected f64[3], got f32[3]"));
    cr_assert_not(pithp_enter_as(s, "pith_test"));
    pith_clear(s);
    cr_assert_eq(pith_code(s), PITH_OK);
    cr_assert_str_eq(pith_message(s), "");
    cr_assert_str_eq(pith_error_path(s), "");
    cr_assert_str_eq(pith_error_site(s), "");
    cr_assert(pithp_enter_as(s, "pith_test"));
    finish();
}

Test(error, names_the_line_of_the_call) {
    begin();
    char site[64];
    snprintf(site, sizeof site, "test_error.c:%d", __LINE__ + 1);
    pith_fail(s, PITH_E_ARG, NULL, "here");
    cr_assert_str_eq(pith_error_site(s), site);
    cr_assert(strstr(pith_message(s), site));
    finish();
}

/* As makers of the library: a function that takes the site of its call. */
static const char *site_of(pith_scope *scope, const char *argument) {
    (void)argument;
    return pithp_enter_as(scope, "pith_test") ? scope->site : NULL;
}

Test(error, calls_inside_arguments_keep_their_own_lines) {
    begin();
    /* Whichever the compiler evaluates first, the scope or the other arguments. */
    const char *outer =
        site_of(pith_call_site(s, "outer"), site_of(pith_call_site(s, "inner"), NULL));
    cr_assert_str_eq(outer, "outer");
    pith_call_site(s, "outer");
    cr_assert_str_eq(site_of(pith_call_site(s, "inner"), NULL), "inner");
    cr_assert_str_eq(site_of(s, NULL), "outer");
    finish();
}

Test(error, calls_inside_arguments_may_go_deeper_than_is_remembered) {
    begin();
    char names[PITHP_SITE_DEPTH + 8][16];
    for (int i = 0; i < PITHP_COUNT(names); i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        pith_call_site(s, names[i]);
    }
    for (int i = PITHP_COUNT(names); i-- > 0;) {
        pithp_enter_as(s, "pith_test");
        if (i < PITHP_SITE_DEPTH)
            cr_assert_str_eq(s->site, names[i]);
        else
            cr_assert_null(s->site, "unknown is better than another's");
    }
    finish();
}

Test(error, messages_are_one_bounded_line) {
    begin();
    pith_fail(s, PITH_E_ARG, ".a\nb", "one\ntwo\tthree\x1b[31m");
    cr_assert_null(strpbrk(pith_message(s), "\n\t\x1b"));
    cr_assert_str_eq(pith_error_path(s), ".a b");
    pith_clear(s);
    static char text[5000];
    memset(text, 'x', sizeof text - 1);
    pith_fail(s, PITH_E_ARG, NULL, "%s", text);
    cr_assert_lt(strlen(pith_message(s)), PITHP_MESSAGE_BYTES);
    cr_assert(strstr(pith_message(s), "xxx..."), "a cut is marked");
    cr_assert(strstr(pith_message(s), "test_error.c:"), "and leaves the call site");
    pith_clear(s);
    pith_fail(s, PITH_E_ARG, text, "what");
    cr_assert_lt(strlen(pith_error_path(s)), PITHP_PATH_BYTES);
    cr_assert_str_eq(pith_error_path(s) + strlen(pith_error_path(s)) - 3, "...");
    cr_assert(strstr(pith_message(s), "...: what (test_error.c:"), "%s", pith_message(s));
    finish();
}

Test(error, upper_levels_put_their_part_of_the_path_in_front) {
    begin();
    pithp_error_prefix(s, ".nothing"); /* no error: no path */
    cr_assert_str_eq(pith_error_path(s), "");
    pithp_fail(s, PITH_E_DTYPE, ".position", "expected f64");
    pithp_error_prefix(s, "[3]");
    pithp_error_prefix(s, ".atoms");
    cr_assert_str_eq(pith_error_path(s), ".atoms[3].position");
    cr_assert_eq(strncmp(pith_message(s), ".atoms[3].position: expected f64", 32), 0);
    finish();
}

Test(error, upper_levels_say_what_was_being_done) {
    begin();
    pithp_error_context(s, "step %d", 3); /* no error: nothing to add to */
    cr_assert_str_eq(pith_message(s), "");
    pithp_fail(s, PITH_E_IO, ".x", "no such file");
    pithp_error_context(s, "step %d", 12);
    cr_assert_eq(strncmp(pith_message(s), ".x: step 12: no such file", 25), 0);
    finish();
}

Test(error, points_into_a_source_text) {
    begin();
    char line[600];
    pithp_error_point(s, "x", 0); /* there is none to point */
    pith_fail(s, PITH_E_ARG, ".a", "no such name");
    snprintf(line, sizeof line, "%s\n    x +?y?\n         ^", pith_message(s));
    pithp_error_point(s, "x +\ty\xff", 5);
    pithp_error_point(s, "another", 0);
    cr_assert_str_eq(pith_message(s), line);
    pithp_error_prefix(s, ".b");
    cr_assert(strncmp(pith_message(s), ".b.a: no such name", 18) == 0);
    cr_assert_str_eq(strchr(pith_message(s), '\n'), strchr(line, '\n'));
    for (size_t n = 0; n < 300; n++) { /* windows of a long text */
        char source[400], path[700];
        pith_clear(s);
        memset(source, '-', n);
        snprintf(source + n, sizeof source - n, "!%.*s", (int)(n % 90), line);
        memset(path, 'p', sizeof path), path[sizeof path - 1] = 0;
        pith_fail(s, PITH_E_ARG, path, "%s", path);
        pithp_error_point(s, source, n);
        const char *first = strchr(pith_message(s), '\n'), *caret;
        cr_assert(first && strlen(pith_message(s)) < PITHP_MESSAGE_BYTES);
        caret = strchr(first + 1, '\n');
        cr_assert(caret && strchr(first, '!') - first == strchr(caret, '^') - caret);
    }
    finish();
}

Test(error, a_closing_child_hands_its_error_to_the_parent) {
    begin();
    pith_scope *child = pith_scope_open_in(s);
    pith_fail(child, PITH_E_CHECK, ".x", "of the child");
    pt_ok(s);
    pith_scope_close(child);
    cr_assert_eq(pith_code(s), PITH_E_CHECK);
    cr_assert_str_eq(pith_error_path(s), ".x");
    pith_scope *late = pith_scope_open_in(s);
    cr_assert_eq(pith_code(late), PITH_E_CHECK, "nothing is made under a failed parent");
    pith_scope_close(late);
    pith_clear(s);
    child = pith_scope_open_in(s);
    pith_fail(child, PITH_E_CHECK, NULL, "cleared");
    pith_clear(child);
    pith_scope_close(child);
    pt_ok(s);
    finish();
}

Test(error, of_a_users_own_needs_a_code_and_a_text) {
    begin();
    pt_fails(PITH_E_ARG, s, (pith_fail(s, PITH_OK, NULL, "fine"), 0));
    pith_fail(s, PITH_E_ARG, NULL, "%s", "");
    cr_assert_eq(pith_code(s), PITH_E_ARG);
    pith_fail(NULL, PITH_E_ARG, NULL, "nowhere");
    finish();
}

static char told[300];
static void listen(pith_log_level level, const char *message, void *closure) {
    snprintf(told, sizeof told, "%d %s %s", (int)level, message, (const char *)closure);
}

Test(error, the_log_hook_gets_one_line) {
    begin();
    pithp_log(rt, PITH_LOG_WARNING, "there is no hook");
    pith_set_log_hook(rt, listen, (void *)(uintptr_t) "closure");
    pithp_log(rt, PITH_LOG_WARNING, "a\nb %d", 5);
    cr_assert_str_eq(told, "2 a b 5 closure");
    pith_set_log_hook(rt, NULL, NULL);
    pithp_log(rt, PITH_LOG_WARNING, "silence");
    cr_assert_str_eq(told, "2 a b 5 closure");
    pith_set_log_hook(NULL, listen, NULL);
    finish();
}
