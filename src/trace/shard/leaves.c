/* Leaves on the way into a function over shards, and out of it: they lose the mapped axes
 * from their placements, and get those of the result's specs. Nothing moves. */
#include "array/array_internal.h"
#include "mesh/mesh_internal.h"
#include "trace/shard/mapping.h"
#include "tree/shard/shard.h"

#include <stdio.h>
#include <string.h>

/* A scope of temporaries, whose errors name pith_shard_map. NULL: error set. */
static pith_scope *open_work(const pithp_mapping *x) {
    pith_scope *w = pithp_temporaries_open(x->s);
    if (w)
        w->caller = "pith_shard_map";
    return w;
}

/* ---- Specs within nested calls ---- */

/* The axes of a spec that no enclosing call has mapped. */
static void
remove_outer(const pithp_mapping *x, const char *axes, char left[PITHP_SHARD_TEXT]) {
    char next[PITHP_SHARD_TEXT];
    snprintf(left, PITHP_SHARD_TEXT, "%s", axes);
    for (const pithp_map_level *l = x->outer; l; l = l->outer) {
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
static pith_status check_placement(const pithp_mapping *x,
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
note_argument(pithp_mapping *x, const pith_array *a, const char *axes) {
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
list_traced(const pithp_mapping *x, const pithp_shard_tree *t, traced_results *r) {
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

static pith_status check_some(const pithp_mapping *x,
                              const pithp_shard_tree *t,
                              const traced_results *r,
                              int64_t first,
                              int64_t count) {
    return pithp_trace_check_variance(t->w, x->name, count, r->arrays + first,
                                      r->most + first, NULL);
}

/* No result varies over more axes. All are checked at once; if that fails, the program
 * and each of them, for the message. */
static pith_status check_variance(const pithp_mapping *x, const pithp_shard_tree *t) {
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

static pith_status enter_leaf(pithp_mapping *x, pithp_shard_tree *t, int64_t k, int i) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    char axes[PITHP_SHARD_TEXT], left[PITHP_SHARD_TEXT], what[32];
    snprintf(what, sizeof what, "argument %d", i + 1);
    remove_outer(x, leaf->axes, axes);
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

const void *pithp_mapping_enter(pithp_mapping *x, int i, const void *given) {
    pithp_shard_tree t = {0};
    const void *local = NULL;
    pith_scope *w = open_work(x);
    if (!w)
        return NULL;
    pith_status rc = pithp_shard_tree_read(w, &t, given, x->in[i], false);
    if (rc != PITH_OK)
        pithp_error_context(w, "%s: argument %d", x->name, i + 1);
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
static pith_status check_result(const pithp_mapping *x, pithp_shard_tree *t, int64_t k) {
    pithp_shard_leaf *leaf = &t->leaves[k];
    char axes[PITHP_SHARD_TEXT], left[PITHP_SHARD_TEXT];
    remove_outer(x, leaf->axes, axes);
    memcpy(leaf->axes, axes, sizeof axes);
    pithp_shard_text_part(axes, x->axes, false, left);
    if (pithp_leaf_check(t->w, t->items[k], x->name, "result") != PITH_OK)
        return pithp_item_prefix(t->w, &t->flat.structure, k), t->w->error.code;
    return check_placement(x, t, k, left, "the result");
}

/* Note a leaf that its spec calls equal along mapped axes, to be compared (agree). Traced
 * ones were checked; rows that are not in use may be anything. */
static pith_status note_replica(const pithp_mapping *x,
                                const pithp_shard_tree *t,
                                int64_t k,
                                pithp_replicas *replicas) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    pithp_replica *own = &replicas->list[replicas->count];
    char names[PITHP_SHARD_TEXT];
    pithp_shard_text_join(leaf->axes, names);
    pithp_shard_text_part(x->axes, names, false, own->axes);
    if (!own->axes[0] || pithp_array_is_traced(t->items[k]) ||
        (leaf->rows && leaf->axes[0]))
        return PITH_OK;
    const uint64_t digest = pithp_shard_hash(t->w, 0, t->items[k]);
    own->leaf = k;
    own->whole = strcmp(own->axes, x->axes) == 0;
    memcpy(&own->digest, &digest, sizeof digest);
    replicas->count++;
    return t->w->error.code;
}

/* For derivatives, a result varies over all axes of its spec. */
static pith_status leave_leaf(const pithp_mapping *x,
                              pithp_shard_tree *t,
                              int64_t k,
                              pithp_replicas *replicas) {
    const pithp_shard_leaf *leaf = &t->leaves[k];
    const char *axes = leaf->axes;
    char left[PITHP_SHARD_TEXT];
    pithp_shard_text_part(axes, x->axes, false, left);
    t->items[k] = pithp_trace_vary(x->s, t->items[k], axis_set(x->s, axes));
    if (!t->items[k])
        return t->w->error.code;
    if (note_replica(x, t, k, replicas) != PITH_OK || !axes[0])
        return t->w->error.code;
    const pith_spec *spec = spec_with(t->w, t->flat.structure.specs[k], axes, leaf);
    if (!spec) {
        pithp_item_prefix(t->w, &t->flat.structure, k);
        return t->w->error.code;
    }
    t->items[k] = pithp_array_place(x->s, t->items[k], spec);
    t->flat.structure.specs[k] = spec;
    return t->w->error.code;
}

static pith_status make_room(pith_scope *w, pithp_replicas *replicas, int64_t leaves) {
    const size_t bytes = (size_t)(leaves + 1) * sizeof *replicas->list;
    if (!(replicas->list = pithp_allocate(w->runtime, bytes)))
        return pithp_fail_memory(w, bytes);
    replicas->room = leaves + 1;
    return PITH_OK;
}

void pithp_replicas_free(const pithp_mapping *x, pithp_replicas *replicas) {
    pithp_release(x->s->runtime, replicas->list,
                  (size_t)replicas->room * sizeof *replicas->list);
}

const void *
pithp_mapping_leave(const pithp_mapping *x, const void *local, pithp_replicas *replicas) {
    pithp_shard_tree t = {0};
    const void *placed = NULL;
    pith_scope *w = open_work(x);
    if (!w)
        return NULL;
    pith_status rc = pithp_shard_tree_read(w, &t, local, x->out, false);
    if (rc == PITH_OK)
        rc = pithp_shard_tree_link(&t);
    if (rc != PITH_OK)
        pithp_error_context(w, "%s: result", x->name);
    for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
        rc = check_result(x, &t, k);
    if (rc == PITH_OK)
        rc = check_variance(x, &t);
    if (rc == PITH_OK)
        rc = make_room(w, replicas, t.flat.structure.item_count);
    for (int64_t k = 0; rc == PITH_OK && k < t.flat.structure.item_count; k++)
        rc = leave_leaf(x, &t, k, replicas);
    if (rc == PITH_OK)
        placed = pithp_shard_tree_build(x->s, &t, true);
    pithp_shard_tree_end(&t);
    pith_scope_close(w);
    return x->s->error.code == PITH_OK ? placed : NULL;
}
