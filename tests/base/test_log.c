/* The default log hook: what it writes to stderr for each word of PITH_LOG. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pith/runtime.h>
#include <unistd.h>

/* What is written to stderr between begin and end. */
static struct {
    FILE *file;
    int kept;
    char text[2000];
} caught;

static void catch_begin(void) {
    fflush(stderr);
    caught.file = tmpfile();
    caught.kept = dup(2);
    cr_assert(caught.file && caught.kept >= 0 && dup2(fileno(caught.file), 2) >= 0);
}

static const char *catch_end(void) {
    fflush(stderr);
    dup2(caught.kept, 2);
    close(caught.kept);
    rewind(caught.file);
    const size_t n = fread(caught.text, 1, sizeof caught.text - 1, caught.file);
    caught.text[n] = 0;
    fclose(caught.file);
    return caught.text;
}

/* A line of each level, and one of pith_debug. */
static void say_all(pith_runtime *rt) {
    pithp_log(rt, PITH_LOG_DEBUG, "d%d", 1);
    pithp_log(rt, PITH_LOG_INFO, "i");
    pithp_log(rt, PITH_LOG_WARNING, "w");
    pithp_log(rt, PITH_LOG_ERROR, "e");
    pithp_log_debug(rt, "asked");
}

static const char *written_by(const char *word, const pith_open_options *options) {
    if (word)
        setenv("PITH_LOG", word, 1);
    else
        unsetenv("PITH_LOG");
    catch_begin();
    pith_runtime *rt = pith_open(options);
    say_all(rt);
    pith_close(rt);
    return catch_end();
}

static const pith_open_options host = {.device = "host"};

Test(log, each_word_sets_the_least_level) {
    cr_assert_str_eq(written_by("error", &host), "pith error: e\n");
    cr_assert_str_eq(written_by("warning", &host), "pith warning: w\npith error: e\n");
    cr_assert_str_eq(written_by("info", &host),
                     "pith info: i\npith warning: w\npith error: e\n");
    cr_assert_str_eq(written_by("debug", &host),
                     "pith debug: d1\npith info: i\npith warning: w\npith error: e\n"
                     "pith debug: asked\n");
    cr_assert_str_eq(written_by("off", &host), "");
}

Test(log, without_a_word_only_what_the_program_asks_for_is_written) {
    cr_assert_str_eq(written_by(NULL, &host), "pith debug: asked\n");
    cr_assert_str_eq(written_by("", &host), "pith debug: asked\n");
}

Test(log, an_unknown_word_is_reported_once) {
    cr_assert_str_eq(written_by("loud", &host),
                     "pith warning: PITH_LOG is \"loud\", expected debug, info, warning, "
                     "error or off\npith debug: asked\n");
    cr_assert_str_eq(written_by("loud", &host), "pith debug: asked\n");
}

static char told[200];
static void listen(pith_log_level level, const char *message, void *closure) {
    snprintf((char *)closure + strlen(closure), 100, "%d %s;", (int)level, message);
}

Test(log, a_hook_of_the_program_takes_all) {
    const pith_open_options own = {.device = "host", .log = listen, .log_closure = told};
    cr_assert_str_eq(written_by("error", &own), "");
    cr_assert_str_eq(told, "0 d1;1 i;2 w;3 e;0 asked;");
    told[0] = 0;
    cr_assert_str_eq(written_by("loud", &own), ""); /* the level is not requested */
}

Test(log, no_hook_is_silence) {
    setenv("PITH_LOG", "debug", 1);
    pith_runtime *rt = pith_open(&host);
    pith_set_log_hook(rt, NULL, NULL);
    catch_begin();
    say_all(rt);
    cr_assert_str_eq(catch_end(), "");
    pith_close(rt);
}
