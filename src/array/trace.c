/* Traced arrays, and recording of calls on them. */
#include "array/checks/checks.h"
#include "array/room.h"
#include "program/ir/program.h"

#include <string.h>

/* Number of ended traces that keep their tombstones when their scopes are closed. */
enum { TOMBSTONES = 16 };

/* A traced array with the site of its making. */
typedef struct traced_array {
    pith_array array;
    const char *site;
} traced_array;

/* ---- Scopes of ended traces ---- */

/* Who records reads the results of an ended trace until its scope closes, while other
 * traces end, of other threads too: only then its handles are buried. All scopes of
 * handles are children of one, and share its stream, which stays empty; the lock guards
 * its list of children. */
typedef struct pithp_graveyard {
    pthread_mutex_t lock;
    pith_scope *root;
    pith_scope *scopes[TOMBSTONES];
    int next;
} graveyard;

void pithp_graves_close(pith_runtime *rt) { /* the runtime closes the scopes */
    graveyard *g = pithp_array_room_at(rt)->graves;
    if (!g)
        return;
    pthread_mutex_destroy(&g->lock);
    pithp_release(rt, g, sizeof *g);
}

/* Made with the runtime's first trace, under the runtime's lock. */
static graveyard *make_graveyard(pith_runtime *rt) {
    graveyard *g = pithp_allocate(rt, sizeof *g);
    if (!g)
        return NULL;
    *g = (graveyard){.next = 0};
    if (pthread_mutex_init(&g->lock, NULL) == 0)
        return g;
    pithp_release(rt, g, sizeof *g);
    return NULL;
}

/* Record an error that a traced function has cleared. */
static void note_refused(pithp_trace *t, const pith_scope *s) {
    if (t->program && t->refused.code == PITH_OK)
        t->refused = s->error;
}

void pithp_graves_note_cleared(pith_scope *s) {
    pithp_trace *t = pithp_scope_trace(s);
    if (t && s->error.code == PITH_E_TRACED)
        note_refused(t, s);
}

static graveyard *graveyard_of(pith_scope *s) {
    pith_runtime *rt = s->runtime;
    pithp_array_room *room = pithp_array_room_of(s);
    if (!room)
        return NULL;
    pthread_mutex_lock(&rt->lock);
    if (!room->graves)
        room->graves = make_graveyard(rt);
    graveyard *g = room->graves;
    pthread_mutex_unlock(&rt->lock);
    if (!g)
        pithp_fail_memory(s, sizeof *g);
    return g;
}

static bool is_usable(const pith_scope *s) {
    return pithp_scope_writable(s) && s->error.code == PITH_OK;
}

static void close_handles(graveyard *g, pith_scope *handles) {
    if (pithp_scope_writable(handles))
        pith_clear(handles); /* its errors are reported elsewhere */
    pthread_mutex_lock(&g->lock);
    pith_scope_close(handles);
    pthread_mutex_unlock(&g->lock);
}

/* A scope for the handles of a trace; NULL: error set. */
static pith_scope *open_handles(pith_scope *s, graveyard *g) {
    pthread_mutex_lock(&g->lock);
    if (!g->root) {
        g->root = pith_scope_open(s->runtime);
        if (!is_usable(g->root))
            g->root = NULL;
    }
    pith_scope *handles = g->root ? pith_scope_open_in(g->root) : NULL;
    if (handles && !is_usable(handles)) { /* the next trace may have memory again */
        pith_clear(g->root);
        handles = NULL;
    }
    pthread_mutex_unlock(&g->lock);
    if (!handles)
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    return handles;
}

/* Keep the handles of an ended trace, in place of the oldest ones. */
static void bury(pith_scope *s, void *handles) {
    graveyard *g = pithp_array_room_at(s->runtime)->graves;
    pthread_mutex_lock(&g->lock);
    pith_scope *oldest = g->scopes[g->next];
    g->scopes[g->next] = handles;
    g->next = (g->next + 1) % TOMBSTONES;
    pthread_mutex_unlock(&g->lock);
    close_handles(g, oldest);
}

pith_scope *pithp_trace_store_open(pith_scope *s) {
    graveyard *g = graveyard_of(s);
    return g ? open_handles(s, g) : NULL;
}

void pithp_trace_store_close(pith_runtime *rt, pith_scope *store) {
    const pithp_array_room *room = pithp_array_room_at(rt);
    if (room) /* otherwise the runtime closes its scopes */
        close_handles(room->graves, store);
}

/* ---- Traces ---- */

pithp_trace *pithp_trace_begin(pith_scope *s) {
    graveyard *g = graveyard_of(s);
    pith_scope *handles = g ? open_handles(s, g) : NULL;
    if (!handles)
        return NULL;
    pithp_trace *t = pithp_scope_allocate(handles, sizeof *t);
    pithp_program *p = t ? pithp_program_make(s) : NULL;
    if (!p || !pithp_scope_hold(s, handles, bury)) {
        pithp_fail_memory(s, sizeof *t);
        pithp_program_release(p);
        close_handles(g, handles);
        return NULL;
    }
    const pithp_trace *around = pithp_scope_trace(s);
    *t = (pithp_trace){.program = p,
                       .handles = handles,
                       .depth = around ? around->depth + 1 : 1,
                       .max_rank = around ? around->max_rank : PITH_MAX_RANK,
                       .derived = around && around->derived,
                       .derived_bytes = around ? around->derived_bytes : 0,
                       .decides = -1,
                       .scope = s,
                       .check_level = s->check_level,
                       .no_validation = s->no_validation};
    s->room[PITHP_ROOM_TRACE] = t;
    return t;
}

void pithp_trace_note_set(pith_scope *s) {
    pithp_trace *t = pithp_scope_trace(s);
    if (!t || t->scope != s)
        return;
    if (s->check_level == t->check_level && s->no_validation == t->no_validation)
        t->changed.function = NULL;
    else if (!t->changed.function) {
        t->changed.function = s->function;
        t->changed.site = s->site;
    }
}

pith_status pithp_trace_settle(pith_scope *s, const pithp_trace *t) {
    if (pithp_fail_as(s, &t->refused) != PITH_OK || !t->changed.function)
        return s->error.code;
    return pithp_fail_at(
        s, PITH_E_TRACED, NULL, t->changed.site,
        "%s: a traced function must not leave its scope changed: use a child scope, or "
        "restore the setting",
        t->changed.function);
}

pithp_program *pithp_trace_end(pith_scope *s, pithp_trace *t) {
    pithp_program *p = t->program;
    const pith_scope *parent = s->parent;
    s->room[PITHP_ROOM_TRACE] = parent ? pithp_scope_trace(parent) : NULL;
    t->program = NULL;
    pithp_checks_release(t->checks);
    t->checks = NULL;
    pithp_attached_release(t->attached);
    t->attached = NULL;
    return p;
}

/* Recursion limit of tracing: a recursive function has no predicate with a value to stop
 * it, and would overflow the stack. */
enum { MOST_DEPTH = 256 };

pith_status pithp_trace_check_depth(pith_scope *s, const char *name) {
    const pithp_trace *around = pithp_scope_trace(s);
    if (!around || around->depth < MOST_DEPTH)
        return PITH_OK;
    return pithp_fail(
        s, PITH_E_TRACED, NULL,
        "%s: recorded inside %d other functions: a traced predicate cannot end a "
        "recursion; use pith_while",
        name, MOST_DEPTH);
}

static const pith_array *
make_placed(pith_scope *s, pithp_trace *t, pithp_value value, const pith_spec *spec) {
    traced_array *a = pithp_object_make(t->handles, PITHP_KIND_ARRAY, spec, sizeof *a);
    if (!a) {
        pithp_fail_memory(s, sizeof *a);
        pith_clear(t->handles);
        return NULL;
    }
    pithp_header_of(a)->extra = PITHP_ARRAY_TRACED;
    pithp_header_of(a)->flags = pithp_placement_of(spec) ? PITHP_FLAG_SHARDED : 0;
    *a = (traced_array){.array = {.data = t, .value = value}, .site = s->site};
    return &a->array;
}

static const pith_array *make_handle(pith_scope *s, pithp_trace *t, pithp_value value) {
    return make_placed(s, t, value, pithp_value_spec(t->program, value));
}

/* Programs compute on shards: their values have no placement. */
const pith_array *
pithp_trace_input(pith_scope *s, pithp_trace *t, const pith_spec *spec) {
    const pith_spec *plain = pithp_spec_plain(s, spec);
    const pithp_value v = plain ? pithp_program_input(s, t->program, plain) : -1;
    return v < 0 ? NULL : make_placed(s, t, v, spec);
}

const pith_array *
pithp_trace_place(pith_scope *s, const pith_array *a, const pith_spec *spec) {
    return make_placed(s, a->data, (pithp_value)a->value, spec);
}

const pith_array *pithp_trace_array(pith_scope *s, pithp_trace *t, pithp_value value) {
    return make_handle(s, t, value);
}

/* A small constant is a literal: its elements are known to passes and rules on every
 * device, and no shared block is kept alive. */
static pithp_value
literal_of(pith_scope *s, pithp_program *p, const pith_spec *spec, const pith_array *a) {
    if (pithp_scope_device(s)->immediate)
        return pithp_program_literal(s, p, spec, a->data);
    _Alignas(64) char elements[PITHP_LITERAL_BYTES];
    if (pithp_copy_out(s, elements, a->data, spec->bytes) != PITH_OK)
        return -1;
    return pithp_program_literal(s, p, spec, elements);
}

pithp_value pithp_trace_constant(pith_scope *s, pithp_program *p, const pith_array *a) {
    const pith_spec *spec = pithp_spec_plain(s, pithp_array_spec(a));
    if (!spec)
        return -1;
    return spec->bytes <= PITHP_LITERAL_BYTES
               ? literal_of(s, p, spec, a)
               : pithp_program_constant(s, p, spec, pithp_array_buffer(a), a->data);
}

pithp_value pithp_trace_value(pith_scope *s, pithp_trace *t, const pith_array *a) {
    return pithp_array_is_traced(a) ? (pithp_value)a->value
                                    : pithp_trace_constant(s, t->program, a);
}

pith_status pithp_trace_bind_many(pith_scope *s,
                                  pithp_primitive primitive,
                                  int count,
                                  const pith_array *const *operands,
                                  const void *params,
                                  const pith_array **results) {
    pithp_trace *t = pithp_scope_trace(s);
    pithp_value few[PITHP_FEW_OPERANDS], *values = few, first = -1;
    const size_t bytes = (size_t)count * sizeof *values;
    if (count > PITHP_FEW_OPERANDS && !(values = pithp_allocate(s->runtime, bytes)))
        return pithp_fail_memory(s, bytes);
    int known = 0;
    while (known < count &&
           (values[known] = pithp_trace_value(s, t, operands[known])) >= 0)
        known++;
    if (known == count)
        first = pithp_program_add_many(s, t->program,
                                       &(pithp_new_instruction){.primitive = primitive,
                                                                .operand_count = count,
                                                                .operands = values,
                                                                .params = params,
                                                                .site = s->site,
                                                                .max_rank = t->max_rank});
    if (values != few)
        pithp_release(s->runtime, values, bytes);
    const int64_t made = first < 0 ? 0 : t->program->value_count - first;
    for (int64_t k = 0; k < made && s->error.code == PITH_OK; k++)
        results[k] = make_handle(s, t, first + (pithp_value)k);
    return s->error.code;
}

/* The same, as an instruction that also makes a report. */
static const pith_array *bind_checked(pith_scope *s,
                                      pithp_primitive primitive,
                                      int count,
                                      const pith_array *const *operands,
                                      const void *params) {
    const pithp_checked_params checked = {primitive, *(const pithp_index_params *)params};
    const pith_array *made[2];
    return pithp_trace_bind_many(s, PITHP_OP_CHECKED, count, operands, &checked, made) ==
                       PITH_OK &&
                   pithp_trace_report(s, made[1], pithp_index_describe,
                                      pithp_index_subject(s, primitive), false) == PITH_OK
               ? made[0]
               : NULL;
}

const pith_array *pithp_trace_bind(pith_scope *s,
                                   pithp_primitive primitive,
                                   int count,
                                   const pith_array *const *operands,
                                   const void *params) {
    const pith_array *result;
    const pithp_call call = pithp_call_of(primitive, count, NULL, params);
    if (pithp_call_reports(&call))
        return bind_checked(s, primitive, count, operands, params);
    return pithp_trace_bind_many(s, primitive, count, operands, params, &result) ==
                   PITH_OK
               ? result
               : NULL;
}

/* ---- Errors ---- */

pith_status pithp_trace_check(pith_scope *s,
                              const pith_array *a,
                              const char *function,
                              const char *name,
                              bool takes_traced) {
    const pithp_trace *t = a->data;
    const char *site = ((const traced_array *)a)->site;
    const bool here = t == pithp_scope_trace(s);
    if (here && takes_traced)
        return PITH_OK;
    pithp_fail(s, PITH_E_TRACED, NULL, "%s: %s: the array traced%s%s %s", function, name,
               site ? " at " : "", site ? pithp_site_name(site) : "",
               !t->program ? "has no value: its trace has ended"
               : here      ? "has no value yet"
               : !pithp_scope_trace(s)
                   ? "is used on a scope outside its trace: use the scope of the function"
                   : "belongs to another trace: make it an argument, or "
                     "bind it with pith_partial");
    return pithp_trace_refuse(s, a);
}

pith_status pithp_trace_refuse(const pith_scope *s, const pith_array *a) {
    pithp_trace *t = a->data;
    if (t != pithp_scope_trace(s)) /* else recorded by pith_clear */
        note_refused(t, s);
    return PITH_E_TRACED;
}
