/* Making checks: levels, validation, collection, and pending checks without a
 * collector. */
#include "array/array_internal.h"
#include "assert/assert_internal.h"
#include "assert/recorded.h"

#include <string.h>

const char pithp_assertion_tag[] = "assertion";

bool pithp_assertion_check(pith_scope *s, const pith_assertion *a, const char *function) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(a, &block);
    if (PITHP_LIKELY(verdict == PITHP_POINTER_OK &&
                     pithp_header_of(a)->kind == PITHP_KIND_OTHER &&
                     pithp_header_of(a)->descriptor == pithp_assertion_tag)) {
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

static bool is_level(pith_check_level level) {
    return level >= PITH_CHECK_DEBUG && level <= PITH_CHECK_OFF;
}

static bool
counts(const pith_scope *s, pith_check_level level, const pithp_collector *c) {
    if (level < (pith_check_level)s->check_level || level >= PITH_CHECK_OFF)
        return false;
    return c || (level == PITH_CHECK_ALWAYS && !s->runtime->silent_checks);
}

bool pith_check_enabled(const pith_scope *s, pith_check_level level) {
    if (!pithp_scope_writable(s) || s->error.code != PITH_OK || level < PITH_CHECK_DEBUG)
        return false;
    return counts(s, level, pithp_collector_of((pith_scope *)(uintptr_t)s));
}

void(pith_check_set_level)(pith_scope *s, pith_check_level level) {
    if (!pithp_enter(s))
        return;
    if (!is_level(level)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_check_set_level: invalid level: %d",
                   (int)level);
        return;
    }
    s->check_level = (uint8_t)level;
    pithp_trace_note_set(s);
}

/* ---- Arguments of a check ---- */

static pith_status check_fix(pith_scope *s, const pith_check_options *o) {
    const pith_function *fix = o->fix;
    if (!fix)
        return PITH_OK;
    if (pithp_function_check(s, fix, "pith_check: fix") != PITH_OK)
        return s->error.code;
    if (fix->arity > 2)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_check: the fix is not a function of one or two trees");
    if (fix->arity == 2 && !o->fix_args)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_check: the fix %s takes arguments, but fix_args is NULL",
                          fix->name);
    return PITH_OK;
}

/* Arguments of a check. */
typedef struct {
    const pith_check_options *o;
    const pithp_fix *fix; /* of the library; NULL: that of o */
    int args, infos;
    const pith_array *values[1 + PITH_CHECK_ARGS]; /* the predicate, then the arguments */
} given;

static pith_status check_predicate(pith_scope *s, const pith_array *predicate) {
    char text[PITHP_SPEC_TEXT_BYTES];
    if (pithp_operand_check(s, predicate, "pith_check", "predicate") != PITH_OK)
        return s->error.code;
    if (!pith_dtype_is_float(pithp_array_spec(predicate)->dtype))
        return PITH_OK;
    return pithp_fail(s, PITH_E_DTYPE, NULL,
                      "pith_check: expected a predicate of bool or integers, got %s",
                      pithp_spec_print(pithp_array_spec(predicate), text));
}

/* Fill in the rest of g; its options and predicate are set. */
static pith_status check_given(pith_scope *s, given *g) {
    const pith_check_options *o = g->o;
    if (!o || !o->message)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: %s",
                          o ? "the message is NULL" : "the options are NULL");
    if (o->code < PITH_OK || o->code > PITH_E_INTERNAL)
        return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: invalid code: %d",
                          (int)o->code);
    if (check_predicate(s, g->values[0]) != PITH_OK)
        return s->error.code;
    for (g->args = 0; g->args < PITH_CHECK_ARGS && o->args[g->args].name; g->args++) {
        const pith_check_arg *arg = &o->args[g->args];
        if (pithp_operand_check(s, arg->value, "pith_check", arg->name) != PITH_OK)
            return s->error.code;
        g->values[1 + g->args] = arg->value;
    }
    for (g->infos = 0; g->infos < PITH_CHECK_INFOS && o->info[g->infos].name; g->infos++)
        if (!o->info[g->infos].text)
            return pithp_fail(s, PITH_E_ARG, NULL, "pith_check: the text of %s is NULL",
                              o->info[g->infos].name);
    if (o->fix_args &&
        pithp_tree_check(s, o->fix_args, "pith_check", "fix_args") != PITH_OK)
        return s->error.code;
    return g->fix ? PITH_OK : check_fix(s, o);
}

/* ---- Memory of an assertion: one allocation ---- */

typedef struct {
    size_t args, infos, path, closure, bytes; /* offsets in the memory, and its size */
} layout;

static layout lay_out(const given *g) {
    layout l = {.args = (sizeof(pith_assertion) + 15) & ~(size_t)15};
    l.infos = l.args + (size_t)g->args * sizeof(pithp_arg);
    l.closure = l.infos + (size_t)g->infos * sizeof(pith_check_info);
    l.closure = (l.closure + 15) & ~(size_t)15;
    l.path = l.closure + (g->fix ? g->fix->closure_bytes : 0);
    l.bytes = l.path + (g->o->path ? strlen(g->o->path) + 1 : 0);
    for (int i = 0; i < g->infos; i++)
        l.bytes += strlen(g->o->info[i].text) + 1;
    return l;
}

/* Set the elements of the predicate and the arguments, and retain their buffers. */
static void hold_values(pith_assertion *a, const pith_array *const *values) {
    a->buffer = pithp_array_buffer(values[0]);
    a->slot.data = values[0]->data;
    pithp_buffer_retain(a->buffer, 1);
    for (int32_t i = 0; i < a->arg_count; i++) {
        a->args[i].data = values[1 + i]->data;
        a->args[i].buffer = pithp_array_buffer(values[1 + i]);
        pithp_buffer_retain(a->args[i].buffer, 1);
    }
}

static void release_values(pith_assertion *a) {
    pithp_buffer_release(a->buffer, 1);
    for (int32_t i = 0; i < a->arg_count; i++)
        pithp_buffer_release(a->args[i].buffer, 1);
    pithp_checks_release(a->from);
}

static void release_slot(pithp_check_slot *slot) {
    release_values((pith_assertion *)(void *)slot);
}

static char *copy_text(char **to, const char *text) {
    char *copy = *to;
    const size_t n = strlen(text) + 1;
    memcpy(copy, text, n);
    *to += n;
    return copy;
}

/* Fill zeroed memory of this layout, except the elements of the values. */
static void fill(pith_assertion *a, const layout *l, const given *g) {
    const pith_check_options *o = g->o;
    char *piece = (char *)a, *text = piece + l->path;
    a->of = &a->slot;
    a->spec = pithp_array_spec(g->values[0]);
    a->slot.count = a->spec->count;
    a->slot.width = (int32_t)pith_dtype_size(a->spec->dtype);
    a->message = o->message;
    a->path = o->path ? copy_text(&text, o->path) : "";
    a->level = o->level;
    a->code = o->code ? o->code : PITH_E_CHECK;
    a->function = g->fix ? NULL : o->fix;
    a->fix_args = o->fix_args;
    a->greatest = o->fix_greatest || (g->fix && g->fix->greatest);
    a->args = (pithp_arg *)(void *)(piece + l->args);
    a->infos = (pith_check_info *)(void *)(piece + l->infos);
    a->arg_count = g->args;
    a->info_count = g->infos;
    for (int i = 0; i < g->args; i++)
        a->args[i] = (pithp_arg){.name = o->args[i].name,
                                 .spec = pithp_array_spec(g->values[1 + i])};
    for (int i = 0; i < g->infos; i++)
        a->infos[i] =
            (pith_check_info){o->info[i].name, copy_text(&text, o->info[i].text)};
    if (g->fix) {
        a->fix = *g->fix;
        a->fix.closure = piece + l->closure;
        if (g->fix->closure_bytes)
            memcpy(piece + l->closure, g->fix->closure, g->fix->closure_bytes);
    }
}

static pith_status keep_closure(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    const pith_status rc =
        a->fix.keep ? a->fix.keep(owner, (void *)(uintptr_t)a->fix.closure) : PITH_OK;
    if (rc != PITH_OK)
        pithp_error_move(s, owner);
    return rc;
}

/* Keep the fix in owner. */
static pith_status keep_fix(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    const pith_function *fix = a->function;
    if (fix && !(a->function = pithp_function_keep(owner, fix))) {
        if (owner->error.code == PITH_E_TRACED)
            pithp_fail(s, PITH_E_TRACED, NULL,
                       "pith_check: the fix %s binds an array that is traced: pass such "
                       "values as its fix_args",
                       fix->name);
        pithp_error_move(s, owner);
        return s->error.code;
    }
    return keep_closure(s, owner, a);
}

/* Size of a repeated recorded check: it shares the texts of the record. */
static size_t again_bytes(const pith_assertion *recorded) {
    return ((sizeof *recorded + 15) & ~(size_t)15) +
           (size_t)recorded->arg_count * sizeof(pithp_arg);
}

static void
fill_again(pith_assertion *a, pithp_checks *from, const pith_assertion *recorded) {
    *a = *recorded;
    a->of = &a->slot;
    a->args = (pithp_arg *)(void *)((char *)a + ((sizeof *a + 15) & ~(size_t)15));
    if (a->arg_count)
        memcpy(a->args, recorded->args, (size_t)a->arg_count * sizeof *a->args);
    pithp_checks_retain(from);
    a->from = from;
}

/* ---- Checks without a collector ---- */

/* A pending assertion, until its stream is examined. */
typedef struct {
    pith_runtime *rt;
    pithp_stream *stream;
    size_t bytes;
    _Alignas(16) pith_assertion assertion; /* followed by its data */
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
    release_values(&l->assertion);
    pithp_release(l->rt, l, l->bytes);
}

static pith_scope *root_of(pith_scope *s) {
    while (s->parent)
        s = s->parent;
    return s;
}

/* Whether a predicate is known to hold. Otherwise *first is its first zero; -1: not known
 * yet. */
static bool holds(pith_scope *s, const pith_array *predicate, int64_t *first) {
    const pith_spec *spec = pithp_array_spec(predicate);
    *first = -1;
    if (pithp_scope_device(s)->immediate)
        *first = pithp_first_zero(predicate->data, (int32_t)pith_dtype_size(spec->dtype),
                                  spec->count);
    return *first < 0 && pithp_scope_device(s)->immediate;
}

static lonely *make_lonely(pith_scope *s, size_t assertion_bytes) {
    const size_t bytes = offsetof(lonely, assertion) + assertion_bytes;
    lonely *alone = pithp_allocate(s->runtime, bytes);
    if (!alone) {
        pithp_fail_memory(s, bytes);
        return NULL;
    }
    memset(alone, 0, bytes);
    *alone = (lonely){.rt = s->runtime, .stream = pithp_scope_stream(s), .bytes = bytes};
    return alone;
}

static pith_status pend_lonely(pith_scope *s, lonely *alone, int64_t first) {
    const pithp_check_slot *slot = &alone->assertion.slot;
    return pithp_check_pend(s, &(pithp_pending){.describe = describe_lonely,
                                                .subject = alone,
                                                .release = release_lonely,
                                                .first = ~(uint64_t)first,
                                                .predicate = {.data = slot->data,
                                                              .count = slot->count,
                                                              .width = slot->width},
                                                .evaluate = pithp_check_evaluate});
}

static void pend(pith_scope *s, const given *g) {
    int64_t first;
    if (PITHP_LIKELY(holds(s, g->values[0], &first)))
        return;
    const layout l = lay_out(g);
    lonely *alone = make_lonely(s, l.bytes);
    if (!alone)
        return;
    fill(&alone->assertion, &l, g);
    hold_values(&alone->assertion, g->values);
    if (pithp_message_check(s, &alone->assertion) != PITH_OK ||
        keep_closure(s, root_of(s), &alone->assertion) != PITH_OK ||
        pend_lonely(s, alone, first) != PITH_OK)
        release_lonely(alone);
}

/* ---- Checks with a collector ---- */

/* Keep trees and closures as long as the assertion. */
static pith_status keep(pith_scope *s, pith_scope *owner, pith_assertion *a) {
    if (a->fix_args && !pithp_scope_reaches(owner, pithp_owner_of(a->fix_args)) &&
        pithp_keep_slots(owner, 1, &a->fix_args) != PITH_OK) {
        pithp_error_move(s, owner);
        return s->error.code;
    }
    return keep_fix(s, owner, a);
}

static void give_up(pith_assertion *a) {
    release_values(a);
    pithp_header_of(a)->kind = PITHP_KIND_FREE;
}

static void collect(pith_scope *s, pithp_collector *c, const given *g) {
    const layout l = lay_out(g);
    pith_assertion *a = (pith_assertion *)(void *)pithp_check_slot_make(
        s, c, pithp_assertion_tag, l.bytes);
    if (!a)
        return;
    fill(a, &l, g);
    hold_values(a, g->values);
    a->slot.site = s->site;
    a->slot.release = release_slot;
    if (pithp_message_check(s, a) != PITH_OK ||
        keep(s, pithp_collector_outermost(c)->scope, a) != PITH_OK ||
        pithp_check_slot_collect(s, c, &a->slot) != PITH_OK)
        give_up(a);
}

/* ---- Checks in traced functions ---- */

static void record(pith_scope *s, const given *g) {
    const layout l = lay_out(g);
    pithp_checks *list = pithp_checks_of(s);
    pith_scope *store = list ? pithp_checks_store(list) : NULL;
    pith_assertion *a = store ? pithp_scope_allocate(store, l.bytes) : NULL;
    if (!a) {
        if (store)
            pithp_error_move(s, store);
        return;
    }
    memset(a, 0, l.bytes);
    fill(a, &l, g);
    a->slot.site = s->site;
    a->slot.release = release_slot;
    if (pithp_message_check(s, a) == PITH_OK && keep_fix(s, store, a) == PITH_OK)
        pithp_assertion_record(s, a, g->values, g->o->fix_greatest);
}

pith_assertion *pithp_assertion_again(pith_scope *s,
                                      pith_scope *owner,
                                      pithp_checks *from,
                                      const pith_assertion *recorded,
                                      const pith_array *const *values,
                                      const void *fix_args) {
    pith_assertion *a = pithp_object_make(owner, PITHP_KIND_OTHER, pithp_assertion_tag,
                                          again_bytes(recorded));
    if (!a) {
        pithp_error_move(s, owner);
        return NULL;
    }
    fill_again(a, from, recorded);
    hold_values(a, values);
    a->fix_args = fix_args;
    return a;
}

void pithp_check_again(pith_scope *s,
                       pithp_checks *from,
                       const pith_assertion *recorded,
                       const pith_array *const *values,
                       const void *fix_args) {
    pithp_collector *c = pithp_collector_of(s);
    int64_t first;
    if (c) {
        pith_assertion *a = pithp_assertion_again(s, pithp_collector_outermost(c)->scope,
                                                  from, recorded, values, fix_args);
        if (a && pithp_check_slot_collect(s, c, &a->slot) != PITH_OK)
            give_up(a);
        return;
    }
    if (!counts(s, recorded->level, NULL) || holds(s, values[0], &first))
        return;
    lonely *alone = make_lonely(s, again_bytes(recorded));
    if (!alone)
        return;
    fill_again(&alone->assertion, from, recorded);
    hold_values(&alone->assertion, values);
    if (pend_lonely(s, alone, first) != PITH_OK)
        release_lonely(alone);
}

void pithp_check(pith_scope *s,
                 const pith_array *predicate,
                 const pith_check_options *o,
                 const pithp_fix *fix) {
    pithp_collector *c = pithp_collector_of(s);
    if (PITHP_LIKELY(o && !counts(s, o->level, c))) {
        if (PITHP_UNLIKELY(!is_level(o->level)))
            pithp_fail(s, PITH_E_ARG, NULL, "pith_check: invalid level: %d",
                       (int)o->level);
        return;
    }
    given g = {.o = o, .fix = fix, .values = {predicate}};
    if (check_given(s, &g) != PITH_OK)
        return;
    if (PITHP_UNLIKELY(pithp_scope_trace(s)))
        record(s, &g);
    else if (c)
        collect(s, c, &g);
    else
        pend(s, &g);
}

void(pith_check_with)(pith_scope *s,
                      const pith_array *predicate,
                      const pith_check_options *options) {
    if (PITHP_LIKELY(pithp_enter_as(s, "pith_check")))
        pithp_check(s, predicate, options, NULL);
}

/* ---- Conjunction of all checks so far ---- */

static const pith_array *constant(pith_scope *s, bool value) {
    const pithp_full_params params = {.dtype = PITH_BOOL, .value = value};
    return pithp_bind(s, PITHP_OP_FULL, 0, NULL, &params);
}

const pith_array *(pith_check_all)(pith_scope *s) {
    if (!pithp_enter(s))
        return NULL;
    if (PITHP_UNLIKELY(pithp_scope_trace(s)))
        return pithp_checks_so_far(s);
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
