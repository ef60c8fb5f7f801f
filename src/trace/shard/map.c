/* pith_shard_map: a function over the shards of its arguments. On the way in, leaves lose
 * the mapped axes from their placements; on the way out they get those of the result's
 * specs. Nothing moves. */
#include "base/in_flight.h"
#include "trace/jit/jit_internal.h"
#include "trace/shard/mapping.h"
#include "trace/shard/shard_map.h"
#include "tree/shard/shard.h"

#include <string.h>

/* The closure of a mapped function. */
typedef struct mapped {
    pithp_closure closure;
    const pith_shard_spec *in[PITHP_MOST_PARAMETERS], *out; /* NULL: as declared */
    const char *axes;                                       /* NULL: all */
} mapped;

/* Calls under way on this thread, innermost first. */
static _Thread_local pithp_map_level *inside;

bool pithp_shard_map_inside(void) {
    return inside != NULL;
}

bool pithp_shard_map_forgets(void) {
    bool any = false;
    for (const pithp_map_level *l = inside; l; l = l->outer)
        any |= l->forgets;
    return any;
}

void pithp_shard_map_refuse(void) {
    for (pithp_map_level *l = inside; l; l = l->outer)
        l->refused = true;
}

/* ---- Closures ---- */

static const char *copy_text(pith_scope *s, const char *text) {
    const size_t n = strlen(text) + 1;
    char *copy = pithp_scope_allocate(s, n);
    return copy ? memcpy(copy, text, n) : NULL;
}

/* Check a list of specs, and copy it to s. */
static pith_status copy_specs(pith_scope *s, const pith_shard_spec **specs) {
    size_t count = 0;
    if (!*specs)
        return PITH_OK;
    while ((*specs)[count].path)
        count++;
    pith_shard_spec *copy = pithp_scope_allocate(s, (count + 1) * sizeof *copy);
    if (!copy)
        return s->error.code;
    memset(copy, 0, (count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        const pith_shard_spec *from = &(*specs)[i];
        char normal[PITHP_SHARD_TEXT];
        const char *wrong = from->axes ? pithp_shard_text_read(from->axes, normal) : NULL;
        if (wrong)
            return pithp_fail(s, PITH_E_ARG, NULL, "pith_shard_map: spec \"%.80s\": %s",
                              from->axes, wrong);
        copy[i].path =
            *from->path ? pith_path_normal(pithp_on_behalf(s), from->path) : "";
        copy[i].axes = from->axes ? copy_text(s, normal) : NULL;
        copy[i].rows = from->rows ? copy_text(s, from->rows) : NULL;
        if (s->error.code != PITH_OK)
            return s->error.code;
        for (size_t k = 0; k < i; k++)
            if (strcmp(copy[k].path, copy[i].path) == 0)
                return pithp_fail(s, PITH_E_ARG, NULL,
                                  "pith_shard_map: two specs are of the path '%.200s'",
                                  copy[i].path);
    }
    *specs = copy;
    return PITH_OK;
}

static pith_status copy_options(pith_scope *s, pithp_closure *closure) {
    mapped *m = (mapped *)(void *)closure;
    for (int i = 0; i < PITHP_MOST_PARAMETERS; i++)
        if (copy_specs(s, &m->in[i]) != PITH_OK)
            return s->error.code;
    if (m->axes && !(m->axes = copy_text(s, m->axes)))
        return s->error.code;
    return copy_specs(s, &m->out);
}

static void add_text(pithp_string *text, const char *part) {
    pithp_string_add(text, part ? part : "*");
    pithp_string_add_n(text, "", 1);
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const mapped *m = (const mapped *)(const void *)closure;
    for (int i = 0; i <= PITHP_MOST_PARAMETERS; i++) {
        const pith_shard_spec *x = i < PITHP_MOST_PARAMETERS ? m->in[i] : m->out;
        for (; x && x->path; x++) {
            add_text(text, x->path);
            add_text(text, x->axes);
            add_text(text, x->rows);
        }
        add_text(text, x ? "." : "declared");
    }
    add_text(text, m->axes);
}

static const void *
call_checked(const pithp_closure *c, pith_scope *s, const void *const *given);
static void take_part(const pithp_closure *c, pith_scope *s);
static const pithp_closure_kind kind = {.name = "shard_map",
                                        .bytes = sizeof(mapped),
                                        .made = copy_options,
                                        .identity = add_identity,
                                        .call = call_checked,
                                        .absent = take_part};
/* The same, for calls that are recorded whatever the settings are. */
static const pithp_closure_kind recorded_kind = {.name = "shard_map",
                                                 .bytes = sizeof(mapped),
                                                 .traced = true,
                                                 .made = copy_options,
                                                 .identity = add_identity,
                                                 .call = call_checked,
                                                 .absent = take_part};

/* ---- Calls ---- */

/* The axes to map, of which none is mapped already. */
static pith_status begin_mapping(pithp_mapping *x, const char *axes) {
    const char *caller = x->s->caller;
    x->s->caller = "pith_shard_map"; /* in messages */
    const pithp_mesh_group *g = pithp_mesh_group_of(x->s, axes);
    x->s->caller = caller;
    if (!g)
        return x->s->error.code;
    x->axes = g->axes;
    x->mesh = g->mesh;
    for (const pithp_map_level *l = inside; l; l = l->outer)
        for (const char *name = g->axes;;) {
            const size_t n = strcspn(name, ",");
            if (pithp_shard_list_has(l->axes, name, n))
                return pithp_fail(x->s, PITH_E_ARG, NULL,
                                  "pith_shard_map: %s: the axis %.*s is mapped already",
                                  x->name, (int)n, name);
            if (!name[n])
                break;
            name += n + 1;
        }
    return PITH_OK;
}

/* The call again, recorded: then it is known what is equal on all ranks. */
static const void *
call_recorded(const pith_function *self, pith_scope *s, const void *const *given);

static const void *
call_mapped(const pith_function *self, pith_scope *s, const void *const *given) {
    const mapped *m = self->closure;
    const pith_function *base = m->closure.base;
    pithp_mapping x = {.s = s,
                       .in = m->in,
                       .out = m->out,
                       .outer = inside,
                       .name = self->name,
                       .agrees = !s->room[PITHP_ROOM_TRACE] && pithp_has_ranks(s)};
    const void *local[PITHP_MOST_PARAMETERS] = {NULL};
    pithp_replicas replicas = {0};
    begin_mapping(&x, m->axes);
    for (int i = 0; i < self->arity && s->error.code == PITH_OK; i++)
        local[i] = pithp_mapping_enter(&x, i, given[i]);
    if (!pithp_mapping_begin(&x))
        return NULL;
    pithp_mapping_compare(&x, given, self->arity);
    pithp_map_level here = {.outer = inside, .axes = x.axes, .forgets = x.forgets};
    inside = &here;
    const void *result = NULL;
    if (s->error.code == PITH_OK)
        result = pith_call(pithp_on_behalf(s), base, self->arity, local);
    inside = here.outer;
    if (!pithp_scope_writable(s)) /* user code closed it */
        return NULL;
    const bool again = x.agrees && here.refused && !pithp_shard_map_forgets() &&
                       s->error.code == PITH_E_UNSUPPORTED;
    if (again)
        pith_clear(s);
    else if (s->error.code == PITH_OK)
        result = pithp_mapping_leave(&x, result, &replicas);
    if (x.agrees)
        pithp_mapping_agree(&x, result, &replicas, again);
    pithp_replicas_free(&x, &replicas);
    if (s->error.code != PITH_OK)
        return NULL;
    return again ? call_recorded(self, s, given) : result;
}

/* A scope has failed. The other ranks wait in the agreement before the call. */
static void take_part(const pithp_closure *c, pith_scope *s) {
    if (!s->room[PITHP_ROOM_TRACE] && pithp_has_ranks(s))
        pithp_collective_absent(s, c->function->name);
}

static const void *
call_checked(const pithp_closure *c, pith_scope *s, const void *const *given) {
    const pith_function *f = c->function;
    if (pithp_arguments_check(s, f, given) == PITH_OK)
        return pithp_result_take(s, f, pithp_function_run(f, s, given));
    take_part(c, s);
    return NULL;
}

static const void *
call_recorded(const pith_function *self, pith_scope *s, const void *const *given) {
    mapped m = *(const mapped *)self->closure;
    m.closure = (pithp_closure){.kind = &recorded_kind, .base = m.closure.base};
    const pithp_closure *map = pithp_function_make(s, self, &m.closure);
    const pith_function *f =
        map ? pith_jit(pithp_on_behalf(s), map->function, NULL) : NULL;
    return f ? pith_call(pithp_on_behalf(s), f, self->arity, given) : NULL;
}

const pith_function *pith_shard_map(pith_scope *s,
                                    const pith_function *function,
                                    const pith_shard_options *options) {
    static const pith_shard_options defaults;
    const pith_shard_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_shard_map") != PITH_OK)
        return NULL;
    for (int i = function->arity; i < PITHP_MOST_PARAMETERS; i++)
        if (o->in[i]) {
            pithp_fail(s, PITH_E_ARG, NULL,
                       "pith_shard_map: there are specs of argument %d, but %s has %d",
                       i + 1, function->name, function->arity);
            return NULL;
        }
    mapped m = {
        .closure = {.kind = &kind, .base = function}, .out = o->out, .axes = o->axes};
    memcpy(m.in, o->in, sizeof m.in);
    pith_function like = *function;
    like.call = call_mapped;
    const pithp_closure *made = pithp_function_make(s, &like, &m.closure);
    return made ? made->function : NULL;
}
