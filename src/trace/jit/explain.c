/* Cache-miss explanation: differences between a call and the key of a program. */
#include "trace/jit/jit_internal.h"

#include <string.h>
#include <time.h>

enum { MOST_LINES = 8, ANOTHER_TREE = 1 << 20 };

typedef struct explanation {
    pithp_string *text;
    pith_runtime *rt;
    int64_t lines; /* including omitted lines */
} explanation;

/* Begin a line: "[0].atoms" for a path in a tree; false: the maximum is reached. */
static bool
begin_line(explanation *e, const pithp_jit_call *c, int64_t tree, const char *path) {
    if (e->lines++ >= MOST_LINES)
        return false;
    pithp_string_add(e->text, e->lines > 1 ? "\n" : "");
    if (tree < c->argument_count)
        pithp_string_print(e->text, "[%lld]%s: ", (long long)tree, path);
    else
        pithp_string_print(
            e->text, "bound tree %lld%s: ", (long long)(tree - c->argument_count), path);
    return true;
}

static void add_change(explanation *e, const char *was, const char *is) {
    pithp_string_print(e->text, "was %s, is %s", was, is);
}

/* ---- Nodes ---- */

static void explain_statics(explanation *e,
                            const pithp_jit_call *c,
                            int64_t tree,
                            const pithp_cursor *at,
                            const pithp_node_def *old) {
    const pith_type *type = old->type;
    const void *is = at->node_def->statics, *was = old->statics;
    for (int32_t i = 0; i < type->static_count; i++) {
        const pithp_field *field = &type->fields[type->statics[i].field];
        if (pithp_static_same(&type->statics[i], was, is))
            continue;
        pithp_string path;
        pithp_string_begin(&path, e->rt);
        pithp_cursor_path(at, &path);
        pithp_path_add_field(&path, field->declared.name);
        if (begin_line(e, c, tree, path.bytes)) {
            pithp_string_add(e->text, "was ");
            pithp_static_describe_beside(e->text, field, was, is);
            pithp_string_add(e->text, ", is ");
            pithp_static_describe_beside(e->text, field, is, was);
        }
        pithp_string_end(&path);
    }
}

/* Describe a node: "a list of 2", "an array", "nothing". */
static void describe_place(pithp_string *t, const pithp_cursor *at) {
    if (at->kind == PITHP_TOKEN_NODE)
        pithp_node_def_describe(t, at->node_def);
    else
        pithp_string_add(t, at->kind == PITHP_TOKEN_ABSENT ? "nothing" : "an array");
}

static bool is_dict(const pithp_cursor *at) {
    return at->kind == PITHP_TOKEN_NODE && at->node_def->kind == PITHP_KIND_DICT;
}

/* "was a list of 2, is nothing"; for two dicts the keys that differ. */
static void add_places(explanation *e, const pithp_cursor *old, const pithp_cursor *at) {
    if (is_dict(old) && is_dict(at)) {
        pithp_node_defs_differ(e->text, old->node_def, at->node_def);
        return;
    }
    pithp_string was, is;
    pithp_string_begin(&was, e->rt);
    pithp_string_begin(&is, e->rt);
    describe_place(&was, old);
    describe_place(&is, at);
    add_change(e, was.bytes, is.bytes);
    pithp_string_end(&is);
    pithp_string_end(&was);
}

static void explain_place(explanation *e,
                          const pithp_jit_call *c,
                          int64_t tree,
                          const pithp_cursor *at,
                          const pithp_cursor *old) {
    pithp_string path;
    pithp_string_begin(&path, e->rt);
    pithp_cursor_path(at, &path);
    if (begin_line(e, c, tree, path.bytes))
        add_places(e, old, at);
    pithp_string_end(&path);
}

/* Walk both structures in parallel; false: they differ, so leaves cannot be compared. */
static bool explain_nodes(explanation *e,
                          const pithp_jit_call *c,
                          int64_t tree,
                          const pithp_structure *old) {
    pithp_cursor a, b;
    pithp_cursor_begin(&a, e->rt, &c->flats[tree].structure);
    pithp_cursor_begin(&b, e->rt, old);
    bool same = true;
    while (same && pithp_cursor_next(&a) && pithp_cursor_next(&b)) {
        if (a.kind == b.kind && a.node_def == b.node_def)
            continue;
        if (a.kind == b.kind && a.node_def->type &&
            a.node_def->type == b.node_def->type) {
            explain_statics(e, c, tree, &a, b.node_def);
        } else if (a.kind != b.kind ||
                   !pithp_node_def_same_node(a.node_def, b.node_def)) {
            explain_place(e, c, tree, &a, &b);
            same = false;
        }
    }
    pithp_cursor_end(&b);
    pithp_cursor_end(&a);
    return same;
}

/* ---- Leaves ---- */

static void explain_specs(explanation *e,
                          const pithp_jit_call *c,
                          int64_t tree,
                          const pithp_structure *old) {
    const pithp_structure *now = &c->flats[tree].structure;
    for (int64_t k = 0; k < now->item_count && k < old->item_count; k++) {
        char was[PITHP_LEAF_TEXT_BYTES], is[PITHP_LEAF_TEXT_BYTES];
        if (now->specs[k] == old->specs[k])
            continue;
        pithp_string path;
        pithp_string_begin(&path, e->rt);
        pithp_structure_path(e->rt, now, k, &path);
        if (begin_line(e, c, tree, path.bytes))
            add_change(e, pithp_leaf_print(old->specs[k], was),
                       pithp_leaf_print(now->specs[k], is));
        pithp_string_end(&path);
    }
}

/* The first element that differs, with its index if there are several. */
static void add_value(explanation *e,
                      const pith_spec *spec,
                      bool is_part,
                      const char *was,
                      const char *is) {
    const size_t size = pith_dtype_size(spec->dtype);
    size_t i = 0;
    while (memcmp(was + i * size, is + i * size, size) == 0)
        i++;
    pithp_string_add(e->text, is_part ? "the constant" : "the static leaf");
    if (spec->count > 1)
        pithp_string_print(e->text, "'s element %zu", i);
    pithp_string_add(e->text, " was ");
    pithp_string_add_element(e->text, spec->dtype, was + i * size);
    pithp_string_add(e->text, ", is ");
    pithp_string_add_element(e->text, spec->dtype, is + i * size);
}

/* Begin a line about an item of a call, given by its index among all items. */
static bool begin_item(explanation *e, const pithp_jit_call *c, int64_t item) {
    int64_t tree = 0;
    while (item >= c->flats[tree].structure.item_count)
        item -= c->flats[tree++].structure.item_count;
    pithp_string path;
    pithp_string_begin(&path, e->rt);
    pithp_structure_path(e->rt, &c->flats[tree].structure, item, &path);
    const bool begun = begin_line(e, c, tree, path.bytes);
    pithp_string_end(&path);
    return begun;
}

/* Compare static leaves of equal structures. */
static void
explain_values(explanation *e, const pithp_jit_call *c, const pithp_jit_program *old) {
    size_t at = 0;
    for (int64_t k = 0, tree; k < c->item_count; k++) {
        if (!c->is_static[k])
            continue;
        const pith_spec *spec = pithp_array_spec(pithp_jit_item(c, k, &tree));
        const char *was = old->key.static_bytes + at, *is = c->static_bytes + at;
        if (memcmp(was, is, spec->bytes) != 0 && begin_item(e, c, k))
            add_value(e, spec, c->inside, was, is);
        at += spec->bytes;
    }
}

/* ---- Calls in a trace ---- */

/* Compare which leaves are constants. */
static void
explain_constants(explanation *e, const pithp_jit_call *c, const pithp_jit_program *old) {
    for (int64_t k = 0; k < c->item_count; k++)
        if (c->is_static[k] != old->key.is_static[k] && begin_item(e, c, k))
            add_change(e, old->key.is_static[k] ? "a constant" : "traced",
                       c->is_static[k] ? "a constant" : "traced");
}

/* Compare which leaves repeat an earlier leaf. */
static void
explain_repeats(explanation *e, const pithp_jit_call *c, const pithp_jit_program *old) {
    for (int64_t k = 0; k < c->item_count; k++) {
        const int64_t was = old->key.repeats ? old->key.repeats[k] : k,
                      is = c->repeats ? c->repeats[k] : k;
        if (was != is && begin_item(e, c, k))
            add_change(e, was == k ? "an array of its own" : "that of another leaf",
                       is == k ? "an array of its own" : "that of another leaf");
    }
}

static void
explain_leaves(explanation *e, const pithp_jit_call *c, const pithp_jit_program *old) {
    if (c->inside) {
        explain_constants(e, c, old);
        explain_repeats(e, c, old);
    }
    if (c->static_size && c->static_size == old->key.static_size &&
        memcmp(c->is_static, old->key.is_static, (size_t)c->item_count) == 0)
        explain_values(e, c, old);
}

/* ---- Summary ---- */

static int64_t count_modes(uint32_t was, uint32_t is) {
    int64_t count = (was ^ is) >> PITHP_JIT_MESH ? 1 : 0;
    const uint32_t flags = (1u << PITHP_JIT_MESH) - 1;
    for (uint32_t change = (was ^ is) & flags; change; change &= change - 1)
        count++;
    return count;
}

int64_t pithp_jit_explain(pithp_string *text,
                          const pithp_jit_program *old,
                          const pithp_jit_call *c) {
    explanation e = {.text = text, .rt = c->s->runtime};
    bool same = old->key.tree_count == c->tree_count;
    for (int64_t t = 0; t < c->tree_count && t < old->key.tree_count; t++)
        if (explain_nodes(&e, c, t, &old->key.trees[t]))
            explain_specs(&e, c, t, &old->key.trees[t]);
        else
            same = false;
    if (same)
        explain_leaves(&e, c, old);
    if (e.lines > MOST_LINES)
        pithp_string_print(text, "\nand %lld more", (long long)e.lines - MOST_LINES);
    pithp_jit_explain_modes(text, old->key.modes, c->modes);
    const bool other_budget = old->key.derived_bytes != c->derived_bytes;
    if (other_budget)
        pithp_string_print(text, "%s.kept_bytes of a derivative around was %zu, is %zu",
                           text->length ? "\n" : "", old->key.derived_bytes,
                           c->derived_bytes);
    if (!text->length)
        pithp_string_print(text, "%s: the %s was evicted", c->function->name,
                           c->inside ? "part" : "program");
    return e.lines + count_modes(old->key.modes, c->modes) + other_budget +
           (same ? 0 : ANOTHER_TREE);
}

/* ---- The log ---- */

void pithp_jit_log_miss(const pithp_jit_call *c, const struct timespec *start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double ms = 1e3 * (double)(now.tv_sec - start->tv_sec) +
                      1e-6 * (double)(now.tv_nsec - start->tv_nsec);
    pithp_string why;
    pithp_string_begin(&why, c->s->runtime);
    pithp_jit_why(c->jit, &why);
    pithp_log(c->s->runtime, PITH_LOG_DEBUG, "%s was traced in %.1f ms: %s",
              c->function->name, ms, why.bytes);
    pithp_string_end(&why);
}
