/* Cache key of a call: flattened trees, static leaves, settings, and marks of named
 * parts. */
#include "gpu/collect.h"
#include "mesh/mesh_internal.h"
#include "trace/jit/jit_internal.h"
#include "trace/shard/shard_map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MODE_HOOKS = 2,
    MODE_LEVEL = 2, /* shift */
    MODE_DERIVED = 1 << 4,
    MODE_FORGETS = 1 << 5
};

uint32_t pithp_jit_modes(pith_scope *s) {
    const pithp_trace *t = pithp_scope_trace(s);
    return (t && t->derived ? MODE_DERIVED : 0u) |
           (pithp_collector_of(s) ? PITHP_JIT_COLLECTED : 0u) |
           (pithp_shard_map_forgets() ? MODE_FORGETS : 0u) |
           (pithp_hooks_run(s) ? MODE_HOOKS : 0u) |
           (uint32_t)s->check_level << MODE_LEVEL |
           pithp_mesh_number(s) << PITHP_JIT_MESH;
}

void pithp_jit_explain_modes(pithp_string *text, uint32_t was, uint32_t is) {
    static const char *const levels[] = {"debug", "always", "off"};
    const uint32_t change = was ^ is;
    if (change & PITHP_JIT_COLLECTED)
        pithp_string_print(text, "%schecks %s collected", text->length ? "\n" : "",
                           is & PITHP_JIT_COLLECTED ? "are" : "are not");
    if (change & MODE_HOOKS)
        pithp_string_print(text, "%shooks of records %s", text->length ? "\n" : "",
                           is & MODE_HOOKS ? "run" : "are suspended");
    if (change >> MODE_LEVEL & 3)
        pithp_string_print(text, "%sthe level of checks was %s, is %s",
                           text->length ? "\n" : "", levels[(was >> MODE_LEVEL & 3) % 3],
                           levels[(is >> MODE_LEVEL & 3) % 3]);
    if (change >> PITHP_JIT_MESH)
        pithp_string_print(text, "%sthe scope has another mesh",
                           text->length ? "\n" : "");
    if (change & MODE_FORGETS)
        pithp_string_print(text, "%sthe call is %s an eager pith_shard_map",
                           text->length ? "\n" : "", is & MODE_FORGETS ? "in" : "not in");
    if (change & MODE_DERIVED)
        pithp_string_print(text, "%sthe program %s be derived", text->length ? "\n" : "",
                           is & MODE_DERIVED ? "will" : "will not");
}

/* ---- Named parts ---- */

/* Whether the current node is the given one, at the path. A shared node has several
 * paths, and the option names one. */
static bool
is_at(const pithp_walk *w, const void *node, const char *path, pithp_string *here) {
    if (w->node != node)
        return false;
    pithp_string_end(here);
    pithp_string_begin(here, w->rt);
    pithp_walk_path(w, here);
    return !here->failed && strcmp(here->bytes, path) == 0;
}

/* Mark the leaves at and below a node of a tree, at that path. */
static bool mark_below(pith_runtime *rt,
                       const void *tree,
                       const void *node,
                       const char *path,
                       bool *mark) {
    pithp_walk w;
    pithp_visit visit;
    pithp_string here;
    int64_t item = 0, inside = 0;
    pithp_string_begin(&here, rt);
    pithp_walk_begin(&w, rt, tree);
    while (pithp_walk_next(&w, &visit)) {
        const bool it = is_at(&w, node, path, &here);
        if (visit == PITHP_VISIT_ENTER)
            inside += it;
        else if (visit == PITHP_VISIT_LEAVE)
            inside -= it;
        else if (visit == PITHP_VISIT_LEAF)
            mark[item++] |= inside > 0 || it;
    }
    const bool failed = w.failed || here.failed;
    pithp_walk_end(&w);
    pithp_string_end(&here);
    return !failed;
}

const char *pithp_jit_path(const char *path, int arguments, int *argument) {
    char *rest = NULL;
    const bool number = path[0] == '[' && isdigit((unsigned char)path[1]);
    const long i = number ? strtol(path + 1, &rest, 10) : -1;
    if (i < 0 || i >= arguments || *rest != ']')
        return NULL;
    *argument = (int)i;
    return rest + 1;
}

const void *pithp_jit_mark_part(pith_scope *s,
                                int argument,
                                const void *tree,
                                const char *path,
                                bool *marks) {
    pith_scope *quiet = pithp_on_behalf(s);
    const void *node = *path ? pith_tree_at(quiet, tree, path) : tree;
    const char *normal = node ? pith_path_normal(quiet, path) : NULL;
    if (!normal) {
        char text[16];
        snprintf(text, sizeof text, "[%d]", argument);
        if (argument >= 0)
            pithp_error_prefix(s, text);
    } else if (!mark_below(s->runtime, tree, node, normal, marks)) {
        pithp_fail_memory(s, sizeof(pithp_walk_frame));
    }
    return s->error.code == PITH_OK ? node : NULL;
}

static pith_status mark_path(const pithp_jit_call *c, const char *path, bool *marks) {
    int i;
    const char *inside = pithp_jit_path(path, c->argument_count, &i);
    PITH_ASSERT(inside); /* verified by pith_jit */
    for (int t = 0; t < i; t++)
        marks += c->flats[t].structure.item_count;
    pithp_jit_mark_part(c->s, i, c->trees[i], inside, marks);
    return c->s->error.code;
}

int64_t pithp_jit_mark(const pithp_jit_call *c,
                       unsigned arguments,
                       char *const *paths,
                       bool *marks) {
    int64_t item = 0, count = 0;
    for (int64_t t = 0; t < c->tree_count; t++)
        for (int64_t k = 0; k < c->flats[t].structure.item_count; k++)
            marks[item++] = t < c->argument_count && (arguments >> t & 1);
    for (int p = 0; paths && paths[p]; p++)
        if (mark_path(c, paths[p], marks) != PITH_OK)
            return -1;
    for (int64_t k = 0; k < c->item_count; k++)
        count += marks[k];
    return count;
}

/* ---- Static leaves ---- */

static pith_status read_static(pithp_jit_call *c) {
    pith_scope *s = c->s;
    size_t at = 0;
    for (int pass = 0; pass < 2; pass++) {
        at = 0;
        for (int64_t k = 0, tree; k < c->item_count; k++) {
            if (!c->is_static[k])
                continue;
            const pith_array *a = pithp_jit_item(c, k, &tree);
            pith_status rc = pithp_array_check(s, a, c->function->name, "static leaf");
            if (rc == PITH_OK && pass)
                rc = pithp_array_read(s, a, c->static_bytes + at);
            if (rc != PITH_OK)
                return rc;
            at += pithp_array_spec(a)->bytes;
        }
        if (pass == 0 && at && !(c->static_bytes = pithp_allocate(s->runtime, at)))
            return pithp_fail_memory(s, at);
        c->static_size = at;
    }
    return PITH_OK;
}

static pith_status find_static(pithp_jit_call *c) {
    const pithp_jit *jit = c->jit;
    if (PITHP_LIKELY(!jit->static_arguments && !jit->static_paths && !c->inside))
        return PITH_OK;
    c->is_static = pithp_allocate(c->s->runtime, (size_t)c->item_count + 1);
    if (!c->is_static)
        return pithp_fail_memory(c->s, (size_t)c->item_count + 1);
    pithp_jit_program *known = c->like || c->inside ? NULL : pithp_jit_alike(c);
    const pithp_jit_program *like = c->like ? c->like : known;
    if (like && like->key.is_static) { /* the paths select the same positions */
        memcpy(c->is_static, like->key.is_static, (size_t)c->item_count);
        c->static_count = like->key.static_count;
    } else {
        c->static_count =
            pithp_jit_mark(c, jit->static_arguments, jit->static_paths, c->is_static);
    }
    pithp_jit_program_release(known);
    if (c->static_count < 0)
        return c->s->error.code;
    if (c->inside)
        pithp_jit_mark_constants(c);
    return read_static(c);
}

/* ---- Beginning and ending ---- */

static void end_flats(pithp_jit_call *c, int64_t count) {
    for (int64_t t = 0; t < count; t++)
        pithp_flat_end(&c->flats[t]);
    if (c->flats != c->few_flats)
        pithp_release(c->rt, c->flats, (size_t)c->tree_count * sizeof *c->flats);
    if (c->trees != c->few_trees)
        pithp_release(c->rt, c->trees, (size_t)c->tree_count * sizeof *c->trees);
}

/* Arguments and bound trees, and memory for their flat forms. */
static pith_status list_trees(pithp_jit_call *c, const void *const *arguments) {
    pith_runtime *rt = c->s->runtime;
    c->tree_count = c->argument_count + pithp_function_bound(c->function, 0, NULL);
    const size_t n = (size_t)c->tree_count;
    if (c->tree_count > PITHP_JIT_TREES)
        c->trees = pithp_allocate(rt, n * sizeof *c->trees);
    if (c->tree_count > PITHP_COUNT(c->few_flats))
        c->flats = pithp_allocate(rt, n * sizeof *c->flats);
    if (!c->trees || !c->flats) {
        if (c->trees && c->trees != c->few_trees)
            pithp_release(rt, c->trees, n * sizeof *c->trees);
        if (c->flats && c->flats != c->few_flats)
            pithp_release(rt, c->flats, n * sizeof *c->flats);
        return pithp_fail_memory(c->s, n * sizeof *c->flats);
    }
    memcpy(c->trees, arguments, (size_t)c->argument_count * sizeof *c->trees);
    pithp_function_bound(c->function, c->tree_count - c->argument_count,
                         c->trees + c->argument_count);
    return PITH_OK;
}

static pith_status flatten(pithp_jit_call *c) {
    c->item_count = 0;
    for (int64_t t = 0; t < c->tree_count; t++) {
        if (pithp_flat_make(c->s, &c->flats[t], c->trees[t], NULL, NULL) != PITH_OK) {
            end_flats(c, t);
            return c->s->error.code;
        }
        c->item_count += c->flats[t].structure.item_count;
    }
    return PITH_OK;
}

pith_status pithp_jit_call_begin(pithp_jit_call *c,
                                 pith_scope *s,
                                 const pithp_jit_closure *closure,
                                 const void *const *arguments) {
    c->s = s;
    c->rt = s->runtime;
    c->function = closure->closure.base;
    c->jit = closure->jit;
    c->argument_count = c->function->arity;
    c->trees = c->few_trees;
    c->flats = c->few_flats;
    c->is_static = NULL;
    c->static_bytes = NULL;
    c->static_count = 0;
    c->static_size = 0;
    c->modes = pithp_jit_modes(s) | (c->inside ? PITHP_JIT_PART : 0u);
    c->derived_bytes = pithp_scope_trace(s) ? pithp_scope_trace(s)->derived_bytes : 0;
    c->unknown = NULL;
    c->repeats = NULL;
    pith_status rc = list_trees(c, arguments);
    if (rc != PITH_OK || (rc = flatten(c)) != PITH_OK)
        return rc;
    rc = find_static(c);
    if (rc != PITH_OK)
        pithp_jit_call_end(c);
    return rc;
}

void pithp_jit_call_end(pithp_jit_call *c) {
    if (c->is_static)
        pithp_release(c->rt, c->is_static, (size_t)c->item_count + 1);
    if (c->static_bytes)
        pithp_release(c->rt, c->static_bytes, c->static_size);
    if (c->repeats)
        pithp_release(c->rt, c->repeats, (size_t)c->item_count * sizeof *c->repeats);
    end_flats(c, c->tree_count);
}
