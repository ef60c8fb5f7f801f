/* Editable tree of a document: linked lists of children, so that nodes can be detached
 * and attached, and conversion back to a node table in walk order. */
#include "checkpoint/migrate/edit.h"

#include "checkpoint/document/capture.h"

#include <string.h>

/* ---- Lists of children ---- */

static bool add_links(pithp_edit *e) {
    while (e->count < e->d->nodes.count) {
        pithp_link *link = pithp_table_add(e->s->runtime, &e->links, &e->count, &e->room,
                                           sizeof *e->links);
        if (!link)
            return false;
        *link = (pithp_link){-1, -1, -1};
    }
    return true;
}

static void link_behind(pithp_edit *e, int64_t parent, int64_t before, int64_t row) {
    pithp_link *p = &e->links[parent];
    int64_t *from = before < 0 ? &p->first : &e->links[before].next;
    e->links[row].next = *from;
    *from = row;
    if (p->last == before)
        p->last = row;
}

/* Keys of a dict stay sorted. */
static void link_child(pithp_edit *e, int64_t parent, int64_t row) {
    const pithp_doc_node *rows = e->d->nodes.rows;
    int64_t before = e->links[parent].last;
    if (rows[parent].kind == PITH_NODE_DICT) {
        before = -1;
        for (int64_t at = e->links[parent].first;
             at >= 0 && strcmp(rows[at].name, rows[row].name) < 0; at = e->links[at].next)
            before = at;
    }
    link_behind(e, parent, before, row);
}

static void unlink_child(pithp_edit *e, int64_t row) {
    pithp_link *p = &e->links[e->d->nodes.rows[row].parent];
    int64_t before = -1;
    for (int64_t at = p->first; at != row; at = e->links[at].next)
        before = at;
    *(before < 0 ? &p->first : &e->links[before].next) = e->links[row].next;
    if (p->last == row)
        p->last = before;
    e->links[row].next = -1;
}

pith_status
pithp_edit_begin(pithp_edit *e, pith_scope *s, pithp_document *d, const pith_type *root) {
    *e = (pithp_edit){.s = s, .d = d, .root = root};
    if (!add_links(e))
        return pithp_fail_memory(s, (size_t)d->nodes.count * sizeof *e->links);
    for (int64_t i = 1; i < d->nodes.count; i++)
        if (!d->nodes.rows[i].is_static)
            link_behind(e, d->nodes.rows[i].parent,
                        e->links[d->nodes.rows[i].parent].last, i);
    return PITH_OK;
}

void pithp_edit_end(pithp_edit *e) {
    if (e->s)
        pithp_release(e->s->runtime, e->links, (size_t)e->room * sizeof *e->links);
    *e = (pithp_edit){0};
}

/* The next row in walk order, without statics; -1: none. */
static int64_t next_row(const pithp_edit *e, int64_t root, int64_t row) {
    if (e->links[row].first >= 0)
        return e->links[row].first;
    while (row != root && e->links[row].next < 0)
        row = e->d->nodes.rows[row].parent;
    return row == root ? -1 : e->links[row].next;
}

typedef struct row_list {
    int64_t *rows, count, room;
} row_list;

static pith_status walk_one(pithp_edit *e,
                            int64_t root,
                            pithp_edit_visit visit,
                            void *closure,
                            row_list *waiting) {
    pith_status rc = PITH_OK;
    for (int64_t row = root; rc == PITH_OK && row >= 0; row = next_row(e, root, row)) {
        rc = visit(closure, row);
        const pithp_doc_node n = e->d->nodes.rows[row];
        for (int64_t i = 0; rc == PITH_OK && i < n.static_count; i++) {
            const int64_t node = e->d->statics.rows[n.first_static + i].node;
            int64_t *added =
                node < 0 ? NULL
                         : pithp_table_add(e->s->runtime, &waiting->rows, &waiting->count,
                                           &waiting->room, sizeof *waiting->rows);
            if (added)
                *added = node;
            else if (node >= 0)
                rc = pithp_fail_memory(e->s, sizeof *added);
        }
    }
    return rc;
}

pith_status
pithp_edit_walk(pithp_edit *e, int64_t root, pithp_edit_visit visit, void *closure) {
    row_list waiting = {0};
    pith_status rc = walk_one(e, root, visit, closure, &waiting);
    for (int64_t i = 0; rc == PITH_OK && i < waiting.count; i++)
        rc = walk_one(e, waiting.rows[i], visit, closure, &waiting);
    pithp_release(e->s->runtime, waiting.rows,
                  (size_t)waiting.room * sizeof *waiting.rows);
    return rc;
}

/* ---- Conversion to a table ---- */

typedef struct table {
    pithp_doc_node *rows;
    int64_t *now; /* by old row: the new row */
    int64_t count, room;
} table;

static bool copy_tree(pithp_edit *e, table *t, int64_t root, int64_t parent) {
    for (int64_t row = root; row >= 0; row = next_row(e, root, row)) {
        if (t->count == t->room)
            return false;
        const int64_t at = t->now[row] = t->count++;
        pithp_doc_node *n = &t->rows[at];
        *n = e->d->nodes.rows[row];
        n->parent = row == root ? parent : t->now[n->parent];
        n->child_count = 0;
        n->index = row == root ? 0 : t->rows[n->parent].child_count++;
        n->depth = n->parent < 0 ? 0 : t->rows[n->parent].depth + 1;
        if (n->leaf >= 0)
            e->d->leaves.rows[n->leaf].node = at;
    }
    return true;
}

static bool copy_all(pithp_edit *e, table *t, int64_t root) {
    if (!copy_tree(e, t, root, -1))
        return false;
    t->rows[0].is_static = false;
    t->rows[0].name = NULL;
    for (int64_t i = 0; i < t->count; i++)
        for (int64_t j = 0; j < t->rows[i].static_count; j++) {
            pith_checkpoint_static *value =
                &e->d->statics.rows[t->rows[i].first_static + j];
            if (value->node < 0)
                continue;
            if (!copy_tree(e, t, value->node, i))
                return false;
            value->node = t->now[value->node];
        }
    return true;
}

pith_status pithp_edit_finish(pithp_edit *e, int64_t root) {
    pithp_document *d = e->d;
    table t = {.room = d->nodes.count};
    const size_t bytes = (size_t)t.room * sizeof *t.rows;
    const size_t now_bytes = (size_t)t.room * sizeof *t.now;
    t.rows = pithp_allocate(d->rt, bytes);
    t.now = pithp_allocate(d->rt, now_bytes);
    pith_status rc = t.rows && t.now ? PITH_OK : pithp_fail_memory(e->s, bytes);
    for (int64_t i = 0; i < d->leaves.count; i++)
        d->leaves.rows[i].node = -1;
    /* The parser has verified that each row has one parent. */
    if (rc == PITH_OK && !copy_all(e, &t, root))
        rc = pithp_fail(e->s, PITH_E_FORMAT, NULL, "a node has two parents");
    if (rc == PITH_OK) {
        pithp_release(d->rt, d->nodes.rows, (size_t)d->nodes.room * sizeof *t.rows);
        d->nodes.rows = t.rows;
        d->nodes.count = t.count;
        d->nodes.room = t.room;
    } else {
        pithp_release(d->rt, t.rows, bytes);
    }
    pithp_release(d->rt, t.now, now_bytes);
    return rc;
}

/* ---- Paths ---- */

int64_t pithp_edit_child(const pithp_edit *e, int64_t row, const char *name) {
    int64_t at = e->links[row].first;
    while (at >= 0 && strcmp(e->d->nodes.rows[at].name, name) != 0)
        at = e->links[at].next;
    return at;
}

/* Whether a path (which starts with '.') leads to or through a field. Fields of embedded
 * structs have dots in their names. */
static bool leads(const char *path, const char *name) {
    const size_t n = strlen(name);
    return strncmp(path + 1, name, n) == 0 &&
           (path[n + 1] == 0 || path[n + 1] == '.' || path[n + 1] == '[');
}

/* Descend one field. path: the remaining path. Returns the number of its bytes
 * consumed. */
static size_t
go_to_field(const pithp_edit *e, pithp_edit_target *target, const char *path) {
    const pithp_doc_node *rows = e->d->nodes.rows, *n = &rows[target->parent];
    if (n->kind != PITH_NODE_RECORD)
        return 0;
    for (int64_t at = e->links[target->parent].first; at >= 0; at = e->links[at].next)
        if (leads(path, rows[at].name)) {
            target->child = at;
            target->name = rows[at].name;
            return strlen(target->name) + 1;
        }
    for (int64_t i = 0; i < n->static_count; i++) {
        const pith_checkpoint_static *value = &e->d->statics.rows[n->first_static + i];
        const size_t bytes = strlen(value->name) + 1;
        if (!leads(path, value->name) || (path[bytes] && value->node < 0))
            continue;
        target->name = value->name;
        if (path[bytes])
            target->child = value->node;
        else
            target->value = value - e->d->statics.rows;
        return bytes;
    }
    return 0;
}

/* The child at an index or key. */
static int64_t child_at(const pithp_edit *e,
                        int64_t row,
                        const pithp_path_part *step,
                        const char *name) {
    const pith_node_kind kind = e->d->nodes.rows[row].kind;
    const bool dict = kind == PITH_NODE_DICT && step->kind == PITHP_STEP_KEY;
    const bool list = (kind == PITH_NODE_LIST || kind == PITH_NODE_TUPLE) &&
                      step->kind == PITHP_STEP_INDEX;
    int64_t i = 0;
    for (int64_t at = e->links[row].first; at >= 0; at = e->links[at].next, i++)
        if ((dict && strcmp(e->d->nodes.rows[at].name, name) == 0) ||
            (list && i == step->index))
            return at;
    return -1;
}

/* Descend one path element from target->child. */
static pith_status go_down(pithp_edit *e,
                           pithp_edit_target *target,
                           const pithp_path_part *step,
                           pithp_path_reader *r) {
    const char *rest = r->path + step->begin, *name = NULL;
    *target = (pithp_edit_target){.parent = target->child, .child = -1, .value = -1};
    if (step->kind == PITHP_STEP_FIELD) {
        const size_t followed = go_to_field(e, target, rest);
        if (followed) {
            r->next = step->begin + followed;
            return PITH_OK;
        }
        target->deep = r->path[step->end] != 0;
        name = rest + 1;
    } else if (step->kind == PITHP_STEP_KEY) {
        name = step->name;
    }
    if (!name) {
        target->child = child_at(e, target->parent, step, NULL);
        return PITH_OK;
    }
    target->name = pithp_document_text(e->d, name, strlen(name));
    if (!target->name)
        return pithp_fail_memory(e->s, strlen(name));
    if (step->kind == PITHP_STEP_KEY)
        target->child = child_at(e, target->parent, step, target->name);
    return PITH_OK;
}

pith_status pithp_edit_find(pithp_edit *e,
                            int64_t base,
                            const char *path,
                            pithp_edit_target *target) {
    pith_status rc = PITH_OK;
    pithp_path_reader r;
    pithp_path_part step;
    *target = (pithp_edit_target){.parent = -1, .child = base, .value = -1};
    pithp_path_read(&r, e->s->runtime, path);
    while (rc == PITH_OK && pithp_path_step(&r, &step)) {
        if (target->child >= 0)
            rc = go_down(e, target, &step, &r);
        else if (!target->deep) /* below a missing key or index */
            *target = (pithp_edit_target){.parent = -1, .child = -1, .value = -1};
    }
    if (rc == PITH_OK && r.error)
        rc = pithp_fail(e->s, PITH_E_PATH, NULL,
                        "malformed path \"%.200s\": %s at byte %zu", path, r.error,
                        r.next);
    else if (rc == PITH_OK && r.name.failed)
        rc = pithp_fail_memory(e->s, strlen(path));
    pithp_path_read_end(&r);
    return rc;
}

/* ---- Detaching and attaching ---- */

pithp_detached pithp_edit_detach(pithp_edit *e, const pithp_edit_target *target) {
    pithp_doc_node *record = &e->d->nodes.rows[target->parent];
    pithp_detached t = {.child = target->child};
    if (target->child >= 0) {
        unlink_child(e, target->child);
        return t;
    }
    pith_checkpoint_static *value = &e->d->statics.rows[target->value];
    t.value = *value;
    const int64_t behind =
        record->first_static + record->static_count - target->value - 1;
    memmove(value, value + 1, (size_t)behind * sizeof *value);
    record->static_count--;
    return t;
}

/* Whether the program's record has a field of that name. The name has dots. */
static bool is_declared(const pithp_edit *e, const pithp_edit_target *target) {
    const pithp_doc_node *n = &e->d->nodes.rows[target->parent];
    const pith_type *type =
        n->kind == PITH_NODE_RECORD
            ? pithp_program_type(e->root, e->d->types.rows[n->type].name)
            : NULL;
    for (int32_t i = 0; type && i < type->field_count; i++)
        if (strcmp(type->fields[i].declared.name, target->name) == 0)
            return true;
    return false;
}

const char *pithp_edit_refusal(const pithp_edit *e,
                               const pithp_detached *t,
                               const pithp_edit_target *target) {
    const pith_node_kind kind =
        target->parent < 0 ? PITH_NODE_NONE : e->d->nodes.rows[target->parent].kind;
    if (pithp_edit_target_found(target))
        return "the target exists already";
    if (target->parent < 0 || (target->deep && !is_declared(e, target)))
        return "the parent node does not exist";
    if (!target->name)
        return "items of lists and tuples cannot be moved";
    if (kind != PITH_NODE_RECORD && (kind != PITH_NODE_DICT || t->child < 0))
        return t->child < 0 ? "a static belongs to a record"
                            : "the parent cannot have such a child";
    if (kind == PITH_NODE_DICT && e->d->nodes.rows[t->child].kind == PITH_NODE_ABSENT)
        return "only a field of a record may be absent";
    return NULL;
}

/* Append a static to a record. Its existing statics move to the end of the table if
 * others follow them. */
static pith_status
add_static(pithp_edit *e, int64_t row, const pith_checkpoint_static *value) {
    pithp_document *d = e->d;
    const int64_t count = d->nodes.rows[row].static_count;
    const int64_t from = d->nodes.rows[row].first_static;
    const bool at_end = from + count == d->statics.count;
    const int64_t first = at_end ? from : d->statics.count;
    for (int64_t i = at_end ? count : 0; i <= count; i++) {
        pith_checkpoint_static *added = pithp_document_add(d, statics);
        if (!added)
            return pithp_fail_memory(e->s, sizeof *added);
        *added = i < count ? d->statics.rows[from + i] : *value;
    }
    d->nodes.rows[row].first_static = first;
    d->nodes.rows[row].static_count = count + 1;
    return PITH_OK;
}

pith_status pithp_edit_attach(pithp_edit *e,
                              const pithp_detached *t,
                              const pithp_edit_target *target) {
    const int64_t row = t->child >= 0 ? t->child : t->value.node;
    if (row >= 0) {
        pithp_doc_node *n = &e->d->nodes.rows[row];
        n->parent = target->parent;
        n->name = target->name;
        n->is_static = t->child < 0;
    }
    if (t->child >= 0) {
        link_child(e, target->parent, row);
        return PITH_OK;
    }
    pith_checkpoint_static value = t->value;
    value.name = target->name;
    return add_static(e, target->parent, &value);
}

/* ---- Trees in memory ---- */

int32_t pithp_edit_type(pithp_edit *e, const char *name, int32_t version) {
    pithp_document *d = e->d;
    for (int64_t i = 0; i < d->types.count; i++)
        if (d->types.rows[i].version == version &&
            strcmp(d->types.rows[i].name, name) == 0)
            return (int32_t)i;
    pithp_doc_type *row = pithp_document_add(d, types);
    if (!row)
        return -1;
    *row = (pithp_doc_type){.name = name, .version = version};
    return (int32_t)d->types.count - 1;
}

static bool
copy_rows(pithp_edit *e, const pithp_document *from, const pith_array *const *arrays) {
    pithp_document *d = e->d;
    const int64_t nodes = d->nodes.count, leaves = d->leaves.count,
                  statics = d->statics.count;
    for (int64_t i = 0; i < from->nodes.count; i++) {
        pithp_doc_node *n = pithp_document_add(d, nodes);
        if (!n)
            return false;
        *n = from->nodes.rows[i];
        n->object = NULL;
        n->parent = n->parent < 0 ? -1 : n->parent + nodes;
        n->leaf = n->leaf < 0 ? -1 : n->leaf + leaves;
        n->first_static += statics;
        if (n->type < 0)
            continue;
        const pithp_doc_type *type = &from->types.rows[n->type];
        n->type = pithp_edit_type(e, type->name, type->version);
        if (n->type < 0)
            return false;
    }
    for (int64_t i = 0; i < from->statics.count; i++) {
        pith_checkpoint_static *value = pithp_document_add(d, statics);
        if (!value)
            return false;
        *value = from->statics.rows[i];
        value->node = value->node < 0 ? -1 : value->node + nodes;
    }
    for (int64_t i = 0; i < from->leaves.count; i++) {
        pithp_doc_leaf *leaf = pithp_document_add(d, leaves);
        if (!leaf)
            return false;
        *leaf = from->leaves.rows[i];
        leaf->given = arrays[i];
        leaf->node += nodes;
    }
    return true;
}

static pith_status graft(pithp_edit *e, const void *tree, int64_t *root) {
    pithp_document captured;
    const pith_array **arrays = NULL;
    pith_status rc = PITH_OK;
    *root = e->d->nodes.count;
    if (!tree) {
        pithp_doc_node *n = pithp_document_add(e->d, nodes);
        if (!n || !add_links(e))
            return pithp_fail_memory(e->s, sizeof *n);
        *n = (pithp_doc_node){
            .kind = PITH_NODE_ABSENT, .parent = -1, .leaf = -1, .type = -1};
        return PITH_OK;
    }
    pithp_document_begin(&captured, e->d->rt);
    rc = pithp_capture(e->s, tree, &captured, &arrays);
    if (rc == PITH_OK && !(copy_rows(e, &captured, arrays) && add_links(e)))
        rc = pithp_fail_memory(e->s, 0);
    pithp_document_end(&captured);
    for (int64_t i = *root + 1; rc == PITH_OK && i < e->d->nodes.count; i++) {
        const pithp_doc_node *n = &e->d->nodes.rows[i];
        if (!n->is_static)
            link_behind(e, n->parent, e->links[n->parent].last, i);
    }
    return rc;
}

pith_status pithp_edit_graft(pithp_edit *e, const void *tree, pithp_detached *t) {
    *t = (pithp_detached){0};
    return graft(e, tree, &t->child);
}

pith_status pithp_edit_static(pithp_edit *e,
                              const pithp_field *field,
                              const void *record,
                              pithp_detached *t) {
    const pith_field *declared = &field->declared;
    const void *child = NULL;
    *t = (pithp_detached){.child = -1};
    const pith_status rc = pithp_capture_static(e->s, declared, record, &t->value);
    if (rc != PITH_OK || declared->static_kind != PITH_STATIC_KIND_RECORD)
        return rc;
    memcpy(&child, (const char *)record + declared->offset, sizeof child);
    return child ? graft(e, child, &t->value.node) : PITH_OK;
}
