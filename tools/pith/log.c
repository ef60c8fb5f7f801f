/* pith log: checkpoints one after the other, a line each: step, size, and what changed
 * since the one before. By checksums; no leaf is read. */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 }; /* so many paths of what changed are told */

/* What changed, as text that grows. */
typedef struct changes {
    int64_t count;
    char *paths; /* owned; NULL: none */
} changes;

static void add_change(changes *c, char *path) {
    if (c->count++ < NAMED) {
        char *harmless = clean(*path ? path : "the leaf"), *before = c->paths;
        c->paths = text_of("%s%s%s", before ? before : "", before ? ", " : "", harmless);
        free(harmless);
        free(before);
    }
    free(path);
}

/* ".atoms.position", owned. */
static char *path_text(pith_scope *s, const rows *r, int64_t node, const char *field) {
    const char *path = pith_checkpoint_path(s, r->c, node);
    return text_of("%s%s%s", path ? path : "?", *field ? "." : "", field);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_place(const pith_checkpoint_node *a, const pith_checkpoint_node *b) {
    return a->kind == b->kind && a->is_static == b->is_static && a->parent == b->parent &&
           a->index == b->index && a->static_count == b->static_count &&
           a->version == b->version && same_text(a->type, b->type) &&
           same_text(a->name, b->name);
}

static bool same_structure(const rows *a, const rows *b) {
    bool same = a->info->node_count == b->info->node_count;
    for (int64_t i = 0; same && i < a->info->node_count; i++)
        same = same_place(&a->nodes[i], &b->nodes[i]);
    return same;
}

static void compare_statics(pith_scope *s,
                            const rows *before,
                            const rows *now,
                            int64_t node,
                            changes *c) {
    for (int64_t i = 0; i < now->nodes[node].static_count; i++) {
        pith_checkpoint_static x, y;
        pith_checkpoint_get_static(before->c, node, i, &x);
        pith_checkpoint_get_static(now->c, node, i, &y);
        char *a = static_text(before, &x), *b = static_text(now, &y);
        if (!same_text(x.name, y.name) || x.kind != y.kind || strcmp(a, b) != 0)
            add_change(c, path_text(s, now, node, y.name));
        free(a);
        free(b);
    }
}

static bool same_leaf(const pith_checkpoint_leaf *a, const pith_checkpoint_leaf *b) {
    bool same = a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
                strcmp(a->checksum, b->checksum) == 0;
    for (int32_t k = 0; same && k < a->shape.rank; k++)
        same = a->shape.extents[k] == b->shape.extents[k];
    return same;
}

static char *changes_text(pith_scope *s, const rows *before, const rows *now) {
    changes c = {0};
    if (!same_structure(before, now))
        return text_of("another structure");
    for (int64_t i = 0; i < now->info->node_count; i++) {
        pith_checkpoint_leaf a, b;
        compare_statics(s, before, now, i, &c);
        if (now->nodes[i].leaf < 0)
            continue;
        pith_checkpoint_get_leaf(before->c, before->nodes[i].leaf, &a);
        pith_checkpoint_get_leaf(now->c, now->nodes[i].leaf, &b);
        if (!same_leaf(&a, &b))
            add_change(&c, path_text(s, now, i, ""));
    }
    char *text = c.count == 0 ? text_of("nothing changed")
                 : c.count <= NAMED
                     ? text_of("%s", c.paths)
                     : text_of("%s and %" PRId64 " more", c.paths, c.count - NAMED);
    free(c.paths);
    return text;
}

static void add_line(pith_scope *s, table *t, const rows *before, const rows *now) {
    table_row *row = table_add(t);
    char *leaves = text_of("%" PRId64 " %s", now->info->leaf_count,
                           plural(now->info->leaf_count, "leaf", "leaves"));
    row->cells[0].text = clean(now->file);
    row->cells[1] = (cell){text_of("step %" PRId64, now->info->step), PLAIN, true};
    row->cells[2] = (cell){
        bytes_text(now->info->document_bytes + now->info->sidecar_bytes), DIM, true};
    row->cells[3].text = before->c ? changes_text(s, before, now) : text_of("%s", leaves);
    free(leaves);
}

static void add_damage(table *t, const char *file, const char *text) {
    table_row *row = table_add(t);
    row->cells[0].text = clean(file);
    row->cells[3] = (cell){text_of("damaged: %s", text), RED, false};
}

/* The checkpoint before is open in a scope of its own, as long as it is needed. */
static int log_files(pith_scope *s, char **files, table *t) {
    rows before = {0};
    pith_scope *holder = NULL;
    int code = SAME;
    for (; *files; files++) {
        rows now;
        pith_scope *inner = pith_scope_open_in(s);
        if (rows_open(inner, *files, &now)) {
            add_line(inner, t, &before, &now);
            rows_end(&before);
            if (holder)
                pith_scope_close(holder);
            before = now;
            holder = inner;
            continue;
        }
        const bool damaged = pith_code(inner) == PITH_E_FORMAT;
        if (damaged)
            add_damage(t, *files, pith_message(inner));
        else
            complain("log", "%s", pith_message(inner));
        code = damaged && code == SAME ? DIFFERENT : damaged ? code : TROUBLE;
        pith_clear(inner);
        pith_scope_close(inner);
    }
    rows_end(&before);
    return code;
}

int verb_log(pith_scope *s, char **arguments) {
    char **to = arguments;
    bool options = true;
    for (char **a = arguments; *a; a++) {
        if (options && strcmp(*a, "--") == 0)
            options = false;
        else if (options && **a == '-' && (*a)[1])
            return complain("log", "unknown option \"%s\"", *a), TROUBLE;
        else
            *to++ = *a;
    }
    *to = NULL;
    if (!*arguments)
        return complain("log", "takes files: pith log FILE..."), TROUBLE;
    table t = {0};
    const int code = log_files(s, arguments, &t);
    table_print(&t, stdout, terminal_width());
    table_end(&t);
    return code;
}
