/* Making checks: what is visible, what is kept of it, and what becomes of checks that
 * nobody collects. */
#include "array/array_internal.h"
#include "assert/assert_internal.h"

#include <string.h>

const char pithp_assertion_tag[] = "assertion";

bool pithp_assertion_check(pith_scope *s, const pith_assertion *a, const char *function) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(a, &block);
    if (PITHP_LIKELY(verdict == PITHP_POINTER_OK &&
                     pithp_header_of(a)->kind == PITHP_KIND_OTHER &&
                     pithp_header_of(a)->shape == pithp_assertion_tag)) {
        if (PITHP_LIKELY(!s || block->runtime == s->runtime))
            return true;
        pithp_fail(s, PITH_E_ARG, NULL, "%s: the assertion belongs to another runtime",
                   function);
        return false;
    }
    if (s)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: expected an assertion, got %s%s", function,
                   verdict == PITHP_POINTER_OK ? "another object" : "a pointer that is ",
                   verdict == PITHP_POINTER_OK ? "" : pithp_pointer_text(verdict));
    return false;
}

/* ---- Levels ---- */

static bool
counts(const pith_scope *s, pith_check_level level, const pithp_collector *c) {
    if (level < (pith_check_level)s->check_level || level >= PITH_CHECK_OFF)
        return false;
    return c || (level == PITH_CHECK_ALWAYS && !s->runtime->silent_checks);
}

bool pith_check_counts(const pith_scope *s, pith_check_level level) {
    if (!pithp_scope_writable(s) || s->error.code != PITH_OK || level < PITH_CHECK_DEBUG)
        return false;
    return counts(s, level, pithp_collector_of((pith_scope *)(uintptr_t)s));
}

void(pith_check_set_level)(pith_scope *s, pith_check_level level) {
    if (!pithp_enter(s))
        return;
    if (level < PITH_CHECK_DEBUG || level > PITH_CHECK_OFF)
        pithp_fail(s, PITH_E_ARG, NULL, "pith_check_set_level: no such level: %d",
                   (int)level);
    else
        s->check_level = (uint8_t)level;
}

/* ---- What was given ---- */

static pith_status check_fix(pith_scope *s, const pith_check_options *o) {
    const pith_function *fix = o->fix;
    if (!fix)
        return PITH_OK;
    if (pithp_function_check(s, fix, "pith_check: fix") != PITH_OK)
        return s->error.code;
    if (fix->arity > 2)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_check: the fix is no function of one or two trees");
    if (fix->arity == 2 && !o->fix_args)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_check: the fix %s takes arguments, and there are none",
                          fix->name);
    return PITH_OK;
}

static pith_status check_given(pith_scope *s,
                               const pith_array *predicate,
                               const pith_check_options *o,
                               int *args,
                               int *infos) {
    if (!o || !o->message)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: %s",
                          o ? "the message is NULL" : "the options are NULL");
    if (o->code < PITH_OK || o->code > PITH_E_INTERNAL)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: no such code: %d",
                          (int)o->code);
    if (pithp_array_check(s, predicate, "pith_check", "predicate") != PITH_OK)
        return s->error.code;
    char text[PITHP_SPEC_TEXT_BYTES];
    if (pith_dtype_is_float(pithp_array_spec(predicate)->dtype))
        return pithp_fail(s, PITH_E_DTYPE, NULL,
                          "pith_check: expected a predicate of bool or integers, got %s",
                          pithp_spec_print(pithp_array_spec(predicate), text));
    for (*args = 0; *args < PITH_CHECK_ARGS && o->args[*args].name; ++*args)
        if (pithp_array_check(s, o->args[*args].value, "pith_check",
                              o->args[*args].name) != PITH_OK)
            return s->error.code;
    for (*infos = 0; *infos < PITH_CHECK_INFOS && o->info[*infos].name; ++*infos)
        if (!o->info[*infos].text)
            return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: the text of %s is NULL",
                              o->info[*infos].name);
    if (o->fix_args)
        return pithp_tree_check(s, o->fix_args, "pith_check", "fix_args");
    return PITH_OK;
}

/* ---- What is kept: one piece of memory behind the assertion ---- */

typedef struct {
    size_t args, infos, path, closure, bytes; /* offsets in the piece, and its size */
} layout;

static layout
lay_out(const pith_check_options *o, const pithp_fix *fix, int args, int infos) {
    layout l = {.args = (sizeof(pith_assertion) + 15) & ~(size_t)15};
    l.infos = l.args + (size_t)args * sizeof(pithp_arg);
    l.closure = l.infos + (size_t)infos * sizeof(pith_check_info);
    l.closure = (l.closure + 15) & ~(size_t)15;
    l.path = l.closure + (fix ? fix->closure_bytes : 0);
    l.bytes = l.path + (o->path ? strlen(o->path) + 1 : 0);
    for (int i = 0; i < infos; i++)
        l.bytes += strlen(o->info[i].text) + 1;
    return l;
}

static void retain(pithp_arg *to, const pith_check_arg *from) {
    *to = (pithp_arg){from->name, pithp_array_spec(from->value), from->value->data,
                      pithp_array_buffer(from->value)};
    pithp_buffer_retain(to->buffer, 1);
}

static void release_buffers(pith_assertion *a) {
    pithp_buffer_release(a->buffer, 1);
    for (int32_t i = 0; i < a->arg_count; i++)
        pithp_buffer_release(a->args[i].buffer, 1);
}

static void release_slot(pithp_check_slot *slot) {
    release_buffers((pith_assertion *)(void *)slot);
}

static char *copy_text(char **to, const char *text) {
    char *copy = *to;
    const size_t n = strlen(text) + 1;
    memcpy(copy, text, n);
    *to += n;
    return copy;
}

/* Fill zeroed memory of that layout; buffers are retained. */
static void fill(pith_assertion *a,
                 const layout *l,
                 const pith_array *predicate,
                 const pith_check_options *o,
                 const pithp_fix *fix,
                 int args,
                 int infos) {
    char *piece = (char *)a, *text = piece + l->path;
    a->of = &a->slot;
    a->spec = pithp_array_spec(predicate);
    a->buffer = pithp_array_buffer(predicate);
    pithp_buffer_retain(a->buffer, 1);
    a->slot.data = predicate->data;
    a->slot.count = a->spec->count;
    a->slot.width = (int32_t)pith_dtype_size(a->spec->dtype);
    a->message = o->message;
    a->path = o->path ? copy_text(&text, o->path) : "";
    a->level = o->level;
    a->code = o->code ? o->code : PITH_E_CHECK;
    a->function = fix ? NULL : o->fix;
    a->fix_args = o->fix_args;
    a->args = (pithp_arg *)(void *)(piece + l->args);
    a->infos = (pith_check_info *)(void *)(piece + l->infos);
    a->arg_count = args;
    a->info_count = infos;
    for (int i = 0; i < args; i++)
        retain(&a->args[i], &o->args[i]);
    for (int i = 0; i < infos; i++)
        a->infos[i] =
            (pith_check_info){o->info[i].name, copy_text(&text, o->info[i].text)};
    if (fix) {
        a->fix = *fix;
        a->fix.closure = piece + l->closure;
        if (fix->closure_bytes)
            memcpy(piece + l->closure, fix->closure, fix->closure_bytes);
    }
}

static pith_status keep_closure(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    const pith_status rc =
        a->fix.keep ? a->fix.keep(owner, (void *)(uintptr_t)a->fix.closure) : PITH_OK;
    if (rc != PITH_OK)
        pithp_error_move(s, owner);
    return rc;
}

/* ---- Checks that nobody collects ---- */

/* An assertion on its own, until its stream is examined. */
typedef struct {
    pith_runtime *rt;
    pithp_stream *stream;
    size_t bytes;
    _Alignas(16) pith_assertion assertion; /* and what is behind it */
} lonely;

static void describe_lonely(const void *subject,
                            const pith_report *report,
                            const char *site,
                            pithp_error *e) {
    lonely *l = (lonely *)(uintptr_t)subject;
    l->assertion.slot.seen = *report;
    l->assertion.slot.known = true;
    l->assertion.slot.site = site;
    pithp_assertion_describe(l->stream, &l->assertion, e);
}

static void release_lonely(const void *subject) {
    lonely *l = (lonely *)(uintptr_t)subject;
    release_buffers(&l->assertion);
    pithp_release(l->rt, l, l->bytes);
}

static pith_scope *root_of(pith_scope *s) {
    while (s->parent)
        s = s->parent;
    return s;
}

static void pend(pith_scope *s,
                 const pith_array *predicate,
                 const pith_check_options *o,
                 const pithp_fix *fix,
                 int args,
                 int infos) {
    const pith_spec *spec = pithp_array_spec(predicate);
    const int32_t width = (int32_t)pith_dtype_size(spec->dtype);
    int64_t first = -1;
    if (pithp_scope_device(s)->immediate) {
        first = pithp_first_zero(predicate->data, width, spec->count);
        if (PITHP_LIKELY(first < 0))
            return;
    }
    const layout l = lay_out(o, fix, args, infos);
    const size_t bytes = offsetof(lonely, assertion) + l.bytes;
    lonely *alone = pithp_allocate(s->runtime, bytes);
    if (!alone) {
        pithp_fail_memory(s, bytes);
        return;
    }
    memset(alone, 0, sizeof *alone);
    *alone = (lonely){.rt = s->runtime, .stream = pithp_scope_stream(s), .bytes = bytes};
    fill(&alone->assertion, &l, predicate, o, fix, args, infos);
    const pithp_pending pending = {
        .describe = describe_lonely,
        .subject = alone,
        .release = release_lonely,
        .first = ~(uint64_t)first,
        .predicate = {.data = predicate->data, .count = spec->count, .width = width},
        .evaluate = pithp_check_evaluate};
    if (pithp_message_check(s, &alone->assertion) != PITH_OK ||
        keep_closure(s, root_of(s), &alone->assertion) != PITH_OK ||
        pithp_check_pend(s, &pending) != PITH_OK)
        release_lonely(alone);
}

/* ---- Checks that are collected ---- */

/* Trees and closures outlive the collector's scope as the assertion does. */
static pith_status keep(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    if (a->fix_args && !pithp_scope_reaches(owner, pithp_owner_of(a->fix_args)) &&
        pithp_keep_slots(owner, 1, &a->fix_args) != PITH_OK) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    if (a->function && !(a->function = pithp_function_keep(owner, a->function))) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    return keep_closure(s, owner, a);
}

static void collect(pith_scope *s,
                    pithp_collector *c,
                    const pith_array *predicate,
                    const pith_check_options *o,
                    const pithp_fix *fix,
                    int args,
                    int infos) {
    const layout l = lay_out(o, fix, args, infos);
    pith_assertion *a = (pith_assertion *)(void *)pithp_check_slot_make(
        s, c, pithp_assertion_tag, l.bytes);
    if (!a)
        return;
    fill(a, &l, predicate, o, fix, args, infos);
    a->slot.site = s->site;
    a->slot.release = release_slot;
    if (pithp_message_check(s, a) == PITH_OK &&
        keep(s, pithp_collector_outermost(c)->scope, a) == PITH_OK &&
        pithp_check_slot_collect(s, c, &a->slot) == PITH_OK)
        return;
    release_buffers(a);
    pithp_header_of(a)->kind = PITHP_KIND_FREE;
}

void pithp_check(pith_scope *s,
                 const pith_array *predicate,
                 const pith_check_options *o,
                 const pithp_fix *fix) {
    int args = 0, infos = 0;
    pithp_collector *c = pithp_collector_of(s);
    if (PITHP_LIKELY(o && !counts(s, o->level, c)))
        return;
    if (check_given(s, predicate, o, &args, &infos) != PITH_OK ||
        (!fix && check_fix(s, o) != PITH_OK))
        return;
    if (c)
        collect(s, c, predicate, o, fix, args, infos);
    else
        pend(s, predicate, o, fix, args, infos);
}

void(pith_check_as)(pith_scope *s,
                    const pith_array *predicate,
                    const pith_check_options *options) {
    if (PITHP_LIKELY(pithp_enter(s)))
        pithp_check(s, predicate, options, NULL);
}

/* ---- The conjunction so far ---- */

static const pith_array *constant(pith_scope *s, bool value) {
    const pithp_full_params params = {.dtype = PITH_BOOL, .value = value};
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

const pith_array *(pith_check_all)(pith_scope *s) {
    if (!pithp_enter(s))
        return NULL;
    pithp_collector *c = pithp_collector_of(s);
    if (!c)
        return constant(s, true);
    c = pithp_collector_outermost(c);
    bool passed;
    if (pithp_scope_device(s)->immediate)
        return pithp_collector_all_pass(s, c, &passed) == PITH_OK ? constant(s, passed)
                                                                  : NULL;
    if (pithp_collector_conjoin(s, c) != PITH_OK)
        return NULL;
    if (!c->flag)
        return constant(s, true);
    const pith_spec *spec = pithp_spec(s, PITH_U64, 0, NULL);
    pithp_buffer *buffer = pithp_collector_buffer(c, c->flag);
    const pith_array *flag =
        spec ? pithp_array_view(s, spec, buffer, &c->flag->first) : NULL;
    return flag ? pithp_bind(s, PITHP_OP_LOGICAL_NOT, 1, &flag, NULL) : NULL;
}
