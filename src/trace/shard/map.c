/* pith_shard_map: a function over the shards of its arguments. On the way in, leaves lose
 * the mapped axes from their placements; on the way out they get those of the result's
 * specs. Nothing moves. */
#include "pith/array_collective.h"

#include "base/in_flight.h"
#include "trace/jit/jit_internal.h"
#include "trace/shard/shard_map.h"
#include "tree/shard/shard.h"

#include <stdio.h>
#include <string.h>

/* The closure of a mapped function. */
typedef struct mapped {
    pithp_closure closure;
    const pith_shard_spec *in[PITHP_MOST_PARAMETERS], *out; /* NULL: as declared */
    const char *axes;                                       /* NULL: all */
} mapped;

/* Calls under way on this thread, innermost first. */
typedef struct level {
    struct level *outer;
    const char *axes;
    bool forgets; /* see pithp_shard_map_forgets */
    bool refused; /* a gradient, because it forgets or one around it does */
} level;
static _Thread_local level *inside;

bool pithp_shard_map_inside(void) {
    return inside != NULL;
}

bool pithp_shard_map_forgets(void) {
    bool any = false;
    for (const level *l = inside; l; l = l->outer)
        any |= l->forgets;
    return any;
}

void pithp_shard_map_refuse(void) {
    for (level *l = inside; l; l = l->outer)
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

/* ---- Specs within nested calls ---- */

/* A call under way. */
typedef struct mapping {
    pith_scope *s;
    const mapped *m;
    const char *name; /* of the function */
    const char *axes; /* that are mapped, as a list */
    const pith_mesh *mesh;
    bool agrees;     /* eager, with other ranks */
    bool forgets;    /* eager, with an argument that is equal along mapped axes */
    uint64_t digest; /* of the structures of the arguments */
} mapping;

/* The axes of a spec that no enclosing call has mapped. */
static void remove_outer(const char *axes, char left[PITHP_SHARD_TEXT]) {
    char next[PITHP_SHARD_TEXT];
    snprintf(left, PITHP_SHARD_TEXT, "%s", axes);
    for (const level *l = inside; l; l = l->outer) {
        pithp_shard_text_part(left, l->axes, false, next);
        memcpy(left, next, sizeof next);
    }
}

/* The spec of a leaf without some axes of its placement; rows only with a first list. */
static const pith_spec *spec_with(pith_scope *w,
                                  const pith_spec *spec,
                                  const char *axes,
                                  const pithp_shard_leaf *leaf) {
    char first[PITHP_SHARD_TEXT];
    pithp_shard_text_list(axes, 0, first);
    return pithp_shard_spec_of(w, spec, axes, first[0] ? leaf->rows : NULL);
}

/* The placement of leaf k has these axes, on the mesh of the scope. */
static pith_status check_placement(const mapping *x,
                                   const pithp_shard_tree *t,
                                   int64_t k,
                                   const char *axes,
                                   const char *what) {
    const pith_spec *spec = t->flat.structure.specs[k];
    const pith_placement *p = pithp_placement_of(spec);
    char text[PITHP_LEAF_TEXT_BYTES];
    if (p && p->mesh != x->mesh)
        return pithp_item_fail(t->w, &t->flat.structure, k, PITH_E_ARG,
                               "%s: %s is sharded over another mesh than that of the "
                               "scope",
                               x->name, what);
    if (strcmp(p ? p->axes : "", axes) == 0)
        return PITH_OK;
    return pithp_item_fail(t->w, &t->flat.structure, k, PITH_E_ARG,
                           "%s: %s is %s, but its spec is \"%s\"", x->name, what,
                           pithp_leaf_print(spec, text), axes);
}

/* ---- What varies between ranks: for traced leaves ---- */

/* The axes of a spec or a list: "x,y;z". Of a wrong text the error is set. */
static uint32_t axis_set(pith_scope *s, const char *axes) {
    char list[PITHP_SHARD_TEXT];
    size_t n = 0;
    for (const char *c = axes; *c; c++)
        if (*c != ';')
            list[n++] = *c;
        else if (n && list[n - 1] != ',' && c[1])
            list[n++] = ',';
    while (n && list[n - 1] == ',')
        n--;
    list[n] = 0;
    const pithp_mesh_group *g = n ? pithp_mesh_group_of(s, list) : NULL;
    return g ? pithp_mesh_group_axes(g) : 0;
}

/* An argument is equal along the mapped axes that its spec does not name. */
static const pith_array *
note_argument(mapping *x, const pith_array *a, const char *axes) {
    const uint32_t equal = axis_set(x->s, x->axes) & ~axis_set(x->s, axes);
    if (pithp_array_is_traced(a))
        return pithp_trace_mapped(x->s, a, equal);
    x->forgets |= x->agrees && equal != 0;
    return a;
}

/* Traced results, and over which axes they may vary: those of their specs, and those that
 * are not mapped here. */
typedef struct traced_results {
    const pith_array **arrays;
    uint32_t *most;
    int64_t *items;
    int64_t count;
} traced_results;

static pith_status
list_traced(const mapping *x, const pithp_shard_tree *t, traced_results *r) {
    const size_t n = (size_t)t->flat.structure.item_count + 1;
    *r = (traced_results){.arrays = pithp_scope_allocate(t->w, n * sizeof *r->arrays),
                          .most = pithp_scope_allocate(t->w, n * sizeof *r->most),
                          .items = pithp_scope_allocate(t->w, n * sizeof *r->items)};
    if (!r->arrays || !r->most || !r->items)
        return t->w->error.code;
    const uint32_t others = ~axis_set(x->s, x->axes);
    for (int64_t k = 0; k < t->flat.structure.item_count; k++) {
        if (!pithp_array_is_traced(t->items[k]))
            continue;
        r->arrays[r->count] = t->items[k];
        r->most[r->count] = others | axis_set(x->s, t->leaves[k].axes);
        r->items[r->count++] = k;
    }
    return x->s->error.code;
}

static pith_status check_some(const mapping *x,
                              const pithp_shard_tree *t,
                              const traced_results *r,
                              int64_t first,
                              int64_t count) {
    return pithp_trace_check_variance(t->w, x->name, count, r->arrays + first,
                                      r->most + first, NULL);
}

/* No result varies over more axes. All are checked at once; if that fails, the program
 * and each of them, for the message. */
static pith_status check_variance(const mapping *x, const pithp_shard_tree *t) {
    traced_results r;
    if (list_traced(x, t, &r) != PITH_OK || !r.count ||
        check_some(x, t, &r, 0, r.count) == PITH_OK)
        return t->w->error.code;
    pith_clear(t->w);
    if (check_some(x, t, &r, 0, 0) != PITH_OK)
        return t->w->error.code;
    for (int64_t k = 0; k < r.count; k++)
        if (check_some(x, t, &r, k, 1) != PITH_OK) {
            pithp_item_prefix(t->w, &t->flat.structure, r.items[k]);
            break;
        }
    return t->w->error.code;
}

/* ---- Arguments ---- */

static pith_status enter_leaf(mapping *x, pithp_shard_tree *t, int64_t k, int i) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    char axes[PITHP_SHARD_TEXT], left[PITHP_SHARD_TEXT], what[32];
    snprintf(what, sizeof what, "argument %d", i + 1);
    remove_outer(leaf->axes, axes);
    if (pithp_leaf_check(t->w, t->items[k], x->name, what) != PITH_OK)
        return pithp_item_prefix(t->w, &t->flat.structure, k), t->w->error.code;
    if (check_placement(x, t, k, axes, what) != PITH_OK)
        return t->w->error.code;
    pithp_shard_text_part(axes, x->axes, false, left);
    const pith_spec *spec = spec_with(t->w, t->flat.structure.specs[k], left, leaf);
    const pith_array *noted = spec ? note_argument(x, t->items[k], axes) : NULL;
    t->items[k] = noted ? pithp_array_place(x->s, noted, spec) : NULL;
    t->flat.structure.specs[k] = spec;
    return t->w->error.code;
}

/* The tree that the function gets as argument i. NULL: error set. */
static const void *enter(mapping *x, int i, const void *given) {
    pithp_shard_tree t = {0};
    const void *local = NULL;
    pith_scope *w = pithp_temporaries_open(x->s);
    if (!w)
        return NULL;
    pith_status rc = pithp_shard_tree_read(w, &t, given, x->m->in[i], false);
    if (rc == PITH_OK && x->agrees)
        x->digest = x->digest * 31 + pithp_shard_tree_digest(&t);
    for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
        rc = enter_leaf(x, &t, k, i);
    if (rc == PITH_OK)
        local = pithp_shard_tree_build(x->s, &t, true);
    pithp_shard_tree_end(&t);
    pith_scope_close(w);
    return x->s->error.code == PITH_OK ? local : NULL;
}

/* ---- Results ---- */

/* Leaf k as the function has made it: sharded over the axes that are not mapped. Of its
 * spec, those remain that no enclosing call has mapped. */
static pith_status check_result(const mapping *x, pithp_shard_tree *t, int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    char axes[PITHP_SHARD_TEXT], left[PITHP_SHARD_TEXT];
    remove_outer(leaf->axes, axes);
    memcpy(leaf->axes, axes, sizeof axes);
    pithp_shard_text_part(axes, x->axes, false, left);
    if (pithp_leaf_check(t->w, t->items[k], x->name, "result") != PITH_OK)
        return pithp_item_prefix(t->w, &t->flat.structure, k), t->w->error.code;
    return check_placement(x, t, k, left, "the result");
}

/* For derivatives, a result varies over all axes of its spec. The elements of leaves that
 * the specs call replicated are compared (agree), unless they are traced. */
static pith_status
leave_leaf(const mapping *x, pithp_shard_tree *t, int64_t k, uint64_t *digest) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    const char *axes = leaf->axes;
    char left[PITHP_SHARD_TEXT];
    pithp_shard_text_part(axes, x->axes, false, left);
    t->items[k] = pithp_trace_vary(x->s, t->items[k], axis_set(x->s, axes));
    if (!t->items[k])
        return t->w->error.code;
    if (strcmp(axes, left) == 0 && !left[0]) {
        if (pithp_array_is_traced(t->items[k]))
            return PITH_OK;
        *digest = pithp_shard_hash(t->w, *digest, t->items[k]);
        return t->w->error.code;
    }
    const pith_spec *spec = spec_with(t->w, t->flat.structure.specs[k], axes, leaf);
    if (!spec) {
        pithp_item_prefix(t->w, &t->flat.structure, k);
        return t->w->error.code;
    }
    t->items[k] = pithp_array_place(x->s, t->items[k], spec);
    t->flat.structure.specs[k] = spec;
    return t->w->error.code;
}

/* The result with the placements of its specs. NULL: error set. */
static const void *leave(const mapping *x, const void *local, uint64_t *digest) {
    pithp_shard_tree t = {0};
    const void *placed = NULL;
    pith_scope *w = pithp_temporaries_open(x->s);
    if (!w)
        return NULL;
    pith_status rc = pithp_shard_tree_read(w, &t, local, x->m->out, false);
    if (rc == PITH_OK)
        rc = pithp_shard_tree_link(&t);
    for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
        rc = check_result(x, &t, k);
    if (rc == PITH_OK)
        rc = check_variance(x, &t);
    for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
        rc = leave_leaf(x, &t, k, digest);
    if (rc == PITH_OK)
        placed = pithp_shard_tree_build(x->s, &t, true);
    pithp_shard_tree_end(&t);
    pith_scope_close(w);
    return x->s->error.code == PITH_OK ? placed : NULL;
}

/* What ranks tell each other at the end of an eager call. */
typedef struct ending {
    int64_t digest;  /* of the results that are called replicated */
    int64_t refused; /* 1: a gradient was refused */
} ending;

static pith_status
compare_endings(pith_scope *s, const mapping *x, const ending *all, size_t count) {
    for (size_t r = 1; r < count; r++) {
        if (all[r].refused != all[0].refused)
            return pithp_fail(s, PITH_E_DIVERGED, NULL,
                              "%s: some ranks along %s take a gradient in it, and others "
                              "do not",
                              x->name, x->axes);
        if (all[r].digest != all[0].digest)
            return pithp_fail(
                s, PITH_E_ARG, NULL,
                "%s: its specs call results replicated along %s, but their "
                "elements differ between ranks: sum them with pith_psum, or "
                "shard them",
                x->name, x->axes);
    }
    return PITH_OK;
}

/* The end of an eager call, which every rank makes: no other has failed, and the results
 * that are called replicated have the same elements along the mapped axes. */
static pith_status agree(const mapping *x, uint64_t digest, bool refused) {
    pith_scope *s = x->s;
    pith_scope *w = s->error.code == PITH_OK ? pithp_temporaries_open(s) : NULL;
    pith_scope *in = w ? w : s; /* a failed scope takes part, too */
    ending own = {.refused = refused};
    if (!refused)
        memcpy(&own.digest, &digest, sizeof digest);
    const pith_array *number =
        w ? pith_array_copy(w, PITH_I64, PITH_SHAPE(2), &own) : NULL;
    const pith_array *all = pith_all_stack(in, number, x->axes);
    const size_t bytes = all ? pithp_array_spec(all)->bytes : 0;
    ending *endings = all ? pithp_scope_allocate(in, bytes) : NULL;
    if (endings && pith_read(in, all, endings, bytes))
        compare_endings(in, x, endings, bytes / sizeof *endings);
    if (w)
        pith_scope_close(w);
    return s->error.code;
}

/* ---- Calls ---- */

/* The axes to map, of which none is mapped already. */
static pith_status begin_mapping(mapping *x) {
    const pithp_mesh_group *g = pithp_mesh_group_of(x->s, x->m->axes);
    if (!g)
        return x->s->error.code;
    x->axes = g->axes;
    x->mesh = g->mesh;
    for (const level *l = inside; l; l = l->outer)
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

/* Before an eager call: no rank goes on alone, and all have arguments of one structure.
 */
static bool agree_to_begin(const mapping *x) {
    const pithp_intent intent = {
        .operation = "pith_shard_map", .what = x->name, .extra = x->digest};
    if (!x->agrees)
        return x->s->error.code == PITH_OK;
    if (!pithp_collective_begin(x->s, &intent))
        return false;
    pithp_collective_end(x->s);
    return true;
}

/* The leaves that all ranks should have, if the mesh says so (.compare). Within a call
 * plain arrays are parts. */
static void compare(const mapping *x, const void *const *given, int count) {
    for (int i = 0; x->agrees && !inside && pithp_ranks_compare(x->s) && i < count; i++)
        pithp_tree_compare(x->s, x->name, given[i]);
}

/* The call again, recorded: then it is known what is equal on all ranks. */
static const void *
call_recorded(const pith_function *self, pith_scope *s, const void *const *given);

static const void *
call_mapped(const pith_function *self, pith_scope *s, const void *const *given) {
    const mapped *m = self->closure;
    const pith_function *base = m->closure.base;
    mapping x = {.s = s,
                 .m = m,
                 .name = self->name,
                 .agrees = !s->room[PITHP_ROOM_TRACE] && pithp_has_ranks(s)};
    const void *local[PITHP_MOST_PARAMETERS] = {NULL};
    uint64_t digest = 0;
    begin_mapping(&x);
    for (int i = 0; i < self->arity && s->error.code == PITH_OK; i++)
        local[i] = enter(&x, i, given[i]);
    if (!agree_to_begin(&x))
        return NULL;
    compare(&x, given, self->arity);
    level here = {.outer = inside, .axes = x.axes, .forgets = x.forgets};
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
        result = leave(&x, result, &digest);
    if (x.agrees)
        agree(&x, digest, again);
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
    mapped m = {
        .closure = {.kind = &kind, .base = function}, .out = o->out, .axes = o->axes};
    memcpy(m.in, o->in, sizeof m.in);
    pith_function like = *function;
    like.call = call_mapped;
    const pithp_closure *made = pithp_function_make(s, &like, &m.closure);
    return made ? made->function : NULL;
}
