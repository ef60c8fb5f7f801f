/* Rows of a checkpoint: children of its nodes, and their texts. */
#include "run_log.h"
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>

/* Explain that a run log is no damaged checkpoint. */
static void explain(pith_scope *s, const char *file) {
    if (pith_code(s) != PITH_E_FORMAT || !is_run_log(file))
        return;
    pith_clear(s);
    pith_fail(s, PITH_E_ARG, NULL,
              "\"%s\" is the log of a run, not a checkpoint: pith log, plot and convert "
              "read it",
              file);
}

bool rows_open(pith_scope *s, const char *file, rows *r) {
    char *member = series_newest(file);
    const pith_checkpoint *c = pith_checkpoint_open(s, member ? member : file);
    *r = (rows){0};
    if (c)
        rows_take(c, r);
    r->file = member ? member : file;
    r->member = member;
    if (c)
        return true;
    explain(s, r->file);
    rows_end(r);
    return false;
}

void rows_take(const pith_checkpoint *c, rows *r) {
    *r = (rows){.c = c};
    r->info = pith_checkpoint_about(r->c);
    const int64_t count = r->info->node_count;
    r->nodes = room_for((size_t)count, sizeof *r->nodes);
    r->base = room_for((size_t)count + 1, sizeof *r->base);
    r->children = room_for((size_t)count, sizeof *r->children);
    for (int64_t i = 0; i < count; i++) {
        pith_checkpoint_get_node(r->c, i, &r->nodes[i]);
        r->base[i + 1] = r->base[i] + r->nodes[i].child_count;
    }
    for (int64_t i = 1; i < count; i++)
        if (!r->nodes[i].is_static)
            r->children[r->base[r->nodes[i].parent] + r->nodes[i].index] = i;
}

void rows_end(rows *r) {
    free(r->nodes);
    free(r->base);
    free(r->children);
    free(r->member);
    *r = (rows){0};
}

char *step_text(const rows *r, int64_t node) {
    const pith_checkpoint_node *n = &r->nodes[node];
    if (n->parent < 0)
        return text_of("%s", "");
    const pith_node_kind parent = r->nodes[n->parent].kind;
    if (parent != PITH_NODE_RECORD && parent != PITH_NODE_DICT)
        return text_of("[%" PRId64 "]", n->index);
    char *name = clean(n->name);
    char *step = text_of(parent == PITH_NODE_RECORD ? ".%s" : "['%s']", name);
    free(name);
    return step;
}

static char *count_text(const char *kind, int64_t count) {
    return count ? text_of("%s of %" PRId64, kind, count) : text_of("empty %s", kind);
}

char *node_text(const rows *r, int64_t node) {
    const pith_checkpoint_node *n = &r->nodes[node];
    pith_checkpoint_leaf leaf;
    switch (n->kind) {
        case PITH_NODE_ABSENT:
        case PITH_NODE_NONE:
            break;
        case PITH_NODE_LEAF:
            pith_checkpoint_get_leaf(r->c, n->leaf, &leaf);
            return shape_text(leaf.dtype, &leaf.shape);
        case PITH_NODE_RECORD:
            return clean(n->type);
        case PITH_NODE_LIST:
        case PITH_NODE_TUPLE:
        case PITH_NODE_DICT:
            return count_text(pith_node_kind_name(n->kind), n->child_count);
    }
    return text_of("%s", pith_node_kind_name(n->kind));
}

char *static_text(const rows *r, const pith_checkpoint_static *value) {
    switch (value->kind) {
        case PITH_STATIC_KIND_I64:
            return text_of("%" PRId64, value->i64);
        case PITH_STATIC_KIND_F64:
            return text_of("%s", pith_element_print(PITH_F64, &value->f64, 0).text);
        case PITH_STATIC_KIND_BOOL:
            return text_of("%s", value->i64 ? "true" : "false");
        case PITH_STATIC_KIND_TEXT:
            return quoted(value->text);
        case PITH_STATIC_KIND_ENUM:
        case PITH_STATIC_KIND_DTYPE:
            return clean(value->text);
        case PITH_STATIC_KIND_RECORD:
            return value->node < 0 ? text_of("NULL") : node_text(r, value->node);
        case PITH_STATIC_KIND_NONE:
            break;
    }
    return text_of("?");
}
