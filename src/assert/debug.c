/* pith_debug: messages printed at once in eager mode, or by the compiled programs that
 * include them. A program's message outlives the scope that recorded it: one copy per
 * call site is kept by the runtime. */
#include "pith/debug.h"

#include "array/array_internal.h"
#include "assert/assert_internal.h"
#include "program/op/debug.h"

#include <string.h>

/* A kept message, in a list of the runtime's room data that the room's lock guards. */
typedef struct message {
    pithp_debug debug; /* its message is the text */
    struct message *next;
    size_t bytes;     /* with texts */
    const char *site; /* a copy: unloading a plugin frees its texts */
    const char *names[PITH_CHECK_ARGS];
    int32_t count; /* number of names */
    int64_t every;
    atomic_uint_fast64_t reached; /* number of executions so far */
} message;

/* Arguments of a call. */
typedef struct given {
    const pith_debug_options *o;
    int32_t count;
    const pith_array *values[PITH_CHECK_ARGS];
    pithp_arg args[PITH_CHECK_ARGS]; /* names and specs */
} given;

/* ---- Arguments ---- */

static pithp_wording wording_of(const given *g) {
    return (pithp_wording){.text = g->o->message, .args = g->args, .arg_count = g->count};
}

static pith_status take_args(pith_scope *s, given *g) {
    const pith_check_arg *args = g->o->args;
    for (; args[g->count].name; g->count++) {
        const pith_check_arg *arg = &args[g->count];
        if (g->count == PITH_CHECK_ARGS)
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "pith_debug: expected at most %d arguments",
                              PITH_CHECK_ARGS);
        for (int32_t k = 0; k < g->count; k++)
            if (strcmp(args[k].name, arg->name) == 0)
                return pithp_fail(s, PITH_E_ARG, NULL,
                                  "pith_debug: two arguments are named \"%.80s\"",
                                  arg->name);
        if (pithp_operand_check(s, arg->value, "pith_debug", arg->name) != PITH_OK)
            return s->error.code;
        g->values[g->count] = arg->value;
        g->args[g->count] =
            (pithp_arg){.name = arg->name, .spec = pithp_array_spec(arg->value)};
    }
    return PITH_OK;
}

static pith_status check_given(pith_scope *s, given *g) {
    if (!g->o || !g->o->message)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_debug: %s",
                          g->o ? "the message is NULL" : "the options are NULL");
    if (g->o->every < 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_debug: every is %lld, expected 1 "
                          "or more",
                          (long long)g->o->every);
    if (take_args(s, g) != PITH_OK)
        return s->error.code;
    const pithp_wording w = wording_of(g);
    pith_status rc = pithp_wording_check(s, "pith_debug", &w);
    for (int32_t k = 0; k < g->count && rc == PITH_OK; k++)
        if (!pithp_wording_names(&w, g->args[k].name))
            rc = pithp_fail(s, PITH_E_ARG, NULL,
                            "pith_debug: the message \"%.100s\" has no {%.80s}", w.text,
                            g->args[k].name);
    return rc;
}

/* ---- Printing ---- */

static void print_wording(pith_scope *s, const pithp_wording *w) {
    pithp_string text;
    pithp_error e;
    pithp_string_begin(&text, s->runtime);
    const pith_status rc = pithp_wording_print(pithp_scope_stream(s), w, &text, &e);
    if (rc != PITH_OK)
        pithp_string_print(&text, " (the values cannot be read: %s)", e.text);
    pithp_log_debug(s->runtime, text.failed ? w->text : text.bytes);
    pithp_string_end(&text);
}

/* Whether the current execution is one of those to print. */
static bool is_due(message *m) {
    const uint64_t before =
        m->every > 1 ? atomic_fetch_add_explicit(&m->reached, 1, memory_order_relaxed)
                     : 0;
    return before % (uint64_t)m->every == 0;
}

static void print(const pithp_debug *debug,
                  pith_scope *s,
                  const pith_spec *const *specs,
                  const void *const *operands) {
    message *m = (message *)(uintptr_t)debug;
    pithp_arg args[PITH_CHECK_ARGS];
    if (!is_due(m) || !pithp_log_takes_debug(s->runtime))
        return;
    for (int32_t k = 0; k < m->count; k++)
        args[k] = (pithp_arg){.name = m->names[k],
                              .spec = specs[k],
                              .data = (void *)(uintptr_t)operands[k]};
    print_wording(
        s, &(pithp_wording){.text = debug->message, .args = args, .arg_count = m->count});
}

/* ---- Kept messages ---- */

static bool is_same(const message *m, const given *g, const char *site, int64_t every) {
    bool same = m->every == every && m->count == g->count &&
                strcmp(m->debug.message, g->o->message) == 0 &&
                (m->site && site ? strcmp(m->site, site) == 0 : m->site == site);
    for (int32_t k = 0; k < m->count && same; k++)
        same = strcmp(m->names[k], g->args[k].name) == 0;
    return same;
}

static const char *copy_text(char **to, const char *text) {
    const char *copy = *to;
    const size_t n = strlen(text) + 1;
    memcpy(*to, text, n);
    *to += n;
    return copy;
}

static message *make_message(pith_scope *s, const given *g, int64_t every) {
    size_t bytes = sizeof(message) + strlen(g->o->message) + 1;
    bytes += s->site ? strlen(s->site) + 1 : 0;
    for (int32_t k = 0; k < g->count; k++)
        bytes += strlen(g->args[k].name) + 1;
    message *m = pithp_allocate(s->runtime, bytes);
    if (!m) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    char *texts = (char *)(m + 1);
    *m = (message){.bytes = bytes, .count = g->count, .every = every};
    m->site = s->site ? copy_text(&texts, s->site) : NULL;
    m->debug = (pithp_debug){.print = print, .message = copy_text(&texts, g->o->message)};
    for (int32_t k = 0; k < g->count; k++)
        m->names[k] = copy_text(&texts, g->args[k].name);
    atomic_init(&m->reached, 0);
    return m;
}

/* The message of this call site, added if missing. NULL: error set. */
static message *keep_message(pith_scope *s, const given *g) {
    pith_runtime *rt = s->runtime;
    const int64_t every = g->o->every ? g->o->every : 1;
    pithp_assert_room(rt);
    pthread_mutex_lock(&rt->lock);
    message *m = rt->room[PITHP_ROOM_ASSERT];
    while (m && !is_same(m, g, s->site, every))
        m = m->next;
    if (!m && (m = make_message(s, g, every))) {
        m->next = rt->room[PITHP_ROOM_ASSERT];
        rt->room[PITHP_ROOM_ASSERT] = m;
    }
    pthread_mutex_unlock(&rt->lock);
    return m;
}

void pithp_debug_close(pith_runtime *rt) {
    message *m = rt->room[PITHP_ROOM_ASSERT];
    rt->room[PITHP_ROOM_ASSERT] = NULL;
    while (m) {
        message *next = m->next;
        pithp_release(rt, m, m->bytes);
        m = next;
    }
}

/* ---- Calls ---- */

static void record(pith_scope *s, const given *g) {
    const pithp_debug_params params = {(const pithp_debug *)keep_message(s, g)};
    if (params.debug)
        pithp_trace_bind_many(s, PITHP_OP_DEBUG, g->count, g->values, &params, NULL);
}

static void print_now(pith_scope *s, given *g) {
    if (g->o->every > 1) {
        message *m = keep_message(s, g);
        if (!m || !is_due(m))
            return;
    }
    if (!pithp_log_takes_debug(s->runtime))
        return;
    for (int32_t k = 0; k < g->count; k++) {
        if (pithp_buffer_read(s, pithp_array_buffer(g->values[k])) != PITH_OK)
            return;
        g->args[k].data = g->values[k]->data;
    }
    const pithp_wording w = wording_of(g);
    print_wording(s, &w);
}

void(pith_debug_with)(pith_scope *s, const pith_debug_options *options) {
    given g = {.o = options};
    if (!pithp_enter_as(s, "pith_debug") || check_given(s, &g) != PITH_OK)
        return;
    if (PITHP_UNLIKELY(pithp_scope_trace(s)))
        record(s, &g);
    else
        print_now(s, &g);
}
