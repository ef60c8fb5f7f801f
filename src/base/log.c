/* Log: messages that no call can return go to the program's hook, or to the default hook.
 * The environment sets the level of the default hook. */
#include "base/base_internal.h"
#include "base/environment.h"
#include "base/private.h"

#include <stdio.h>
#include <string.h>

/* Least level that the default hook writes; the closure of the hook points at one. */
enum { NONE = PITH_LOG_ERROR + 1 };
static const struct threshold {
    const char *word;
    int least;
} thresholds[] = {
    {"debug", PITH_LOG_DEBUG}, {"info", PITH_LOG_INFO}, {"warning", PITH_LOG_WARNING},
    {"error", PITH_LOG_ERROR}, {"off", NONE},           {"", NONE}, /* unset */
};
enum { UNSET = PITHP_COUNT(thresholds) - 1 };

/* ---- The default hook ---- */

static void write_line(pith_log_level level, const char *message) {
    static const char *const names[] = {
        [PITH_LOG_DEBUG] = "debug",
        [PITH_LOG_INFO] = "info",
        [PITH_LOG_WARNING] = "warning",
        [PITH_LOG_ERROR] = "error",
    };
    fprintf(stderr, "pith %s: %s\n", names[level], message);
}

static bool reaches(pith_log_level level, const void *closure) {
    return (int)level >= ((const struct threshold *)closure)->least;
}

static void default_hook(pith_log_level level, const char *message, void *closure) {
    if (reaches(level, closure))
        write_line(level, message);
}

/* An unknown word is reported once per process and treated as unset. */
static const struct threshold *read_threshold(void) {
    static atomic_bool complained;
    const char *word = pithp_environment("PITH_LOG");
    for (int i = 0; i < UNSET && word; i++)
        if (strcmp(word, thresholds[i].word) == 0)
            return &thresholds[i];
    if (word && word[0] && !atomic_exchange(&complained, true)) {
        char line[120];
        snprintf(line, sizeof line,
                 "PITH_LOG is \"%.40s\", expected debug, info, warning, error or off",
                 word);
        write_line(PITH_LOG_WARNING, line);
    }
    return &thresholds[UNSET];
}

void pithp_log_default(pith_runtime *rt) {
    pith_set_log_hook(rt, default_hook, (void *)(uintptr_t)read_threshold());
}

/* ---- Messages ---- */

void pithp_log(pith_runtime *rt, pith_log_level level, const char *format, ...) {
    if (!rt || !rt->log_hook ||
        (rt->log_hook == default_hook && !reaches(level, rt->log_closure)))
        return;
    char line[PITHP_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    pithp_line_print(line, format, arguments);
    va_end(arguments);
    rt->log_hook(level, line, rt->log_closure);
}

bool pithp_log_takes_debug(const pith_runtime *rt) {
    return rt->log_hook &&
           (rt->log_hook != default_hook || rt->log_closure == &thresholds[UNSET] ||
            reaches(PITH_LOG_DEBUG, rt->log_closure));
}

void pithp_log_debug(pith_runtime *rt, const char *message) {
    if (!pithp_log_takes_debug(rt))
        return;
    if (rt->log_hook == default_hook)
        write_line(PITH_LOG_DEBUG, message);
    else
        rt->log_hook(PITH_LOG_DEBUG, message, rt->log_closure);
}

void pith_set_log_hook(pith_runtime *rt, pith_log_hook hook, void *closure) {
    if (!pithp_runtime_valid(rt) || pithp_runtime_is_static(rt) ||
        !pithp_may_change(rt, __func__))
        return;
    rt->log_hook = hook;
    rt->log_closure = closure;
}
