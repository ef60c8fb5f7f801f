/* Tree printing, for readers. Each line is a table row: the step to the node in a frame
 * of its depth, then description, bytes, unit and optional columns. All lines are made
 * before the columns are aligned. */
#include "base/bytes.h"
#include "tree/describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_LINES = 60, WIDEST_NAME = 44, WIDEST_WHAT = 28 };

/* Limits of the output: the middle of long containers and nodes below a depth are left
 * out. */
typedef struct limits {
    int64_t items, depth;
    int64_t lines; /* the rest is cut */
    bool fit;      /* nothing is cut */
} limits;

/* One line. The texts of all lines are consecutive in the drawing's text. */
typedef struct line {
    uint32_t name, what, bytes, more; /* lengths in bytes */
} line;

typedef struct drawing {
    pith_scope *s;
    pithp_string text, lines;
    const pith_print_options *options;
    limits limits;
    int64_t count;
} drawing;

/* ---- Limits ---- */

static bool is_cut(const pithp_node_def *node_def, const limits *l) {
    return !node_def->type && node_def->slot_count - 1 > l->items;
}

/* Before a step of the walk: skip the middle of a container. Returns the number of
 * skipped items. */
static int64_t skip_middle(pithp_walk *w, const limits *l) {
    if (w->depth == 0)
        return 0;
    const pithp_walk_frame *top = &w->frames[w->depth - 1];
    const int64_t first = l->items - l->items / 2, last = l->items / 2;
    if (!is_cut(top->node_def, l) || top->next != first)
        return 0;
    pithp_walk_jump(w, top->node_def->slot_count - last);
    return top->node_def->slot_count - last - first;
}

static int64_t statics_of(const pithp_node_def *node_def) {
    return node_def->type ? node_def->type->static_count : 0;
}

/* Number of lines of a tree, or more than l->lines. */
static int64_t count_lines(drawing *d, const void *tree, const limits *l) {
    pithp_walk w;
    pithp_visit visit;
    int64_t count = 0;
    pithp_walk_begin(&w, d->s->runtime, tree);
    do {
        count += skip_middle(&w, l) > 0;
        if (!pithp_walk_next(&w, &visit))
            break;
        count += visit != PITHP_VISIT_LEAVE;
        if (visit == PITHP_VISIT_ENTER) {
            if (w.depth > l->depth)
                pithp_walk_skip(&w);
            else
                count += statics_of(pithp_node_def_of(w.node));
        }
    } while (count <= l->lines);
    d->text.failed |= w.failed;
    pithp_walk_end(&w);
    return count;
}

/* The largest limits that fit into the allowed lines. */
static limits choose_limits(drawing *d, const void *tree, int64_t lines) {
    static const int64_t items[] = {INT64_MAX, 48, 24, 12, 8, 6, 4};
    static const int64_t depths[] = {INT64_MAX, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    limits l = {.items = INT64_MAX, .depth = INT64_MAX, .lines = lines, .fit = true};
    if (lines == INT64_MAX)
        return l;
    for (int i = 0; i < PITHP_COUNT(depths); i++)
        for (int j = 0; j < PITHP_COUNT(items); j++) {
            l.depth = depths[i];
            l.items = items[j];
            if (count_lines(d, tree, &l) <= lines)
                return l;
        }
    l.fit = false;
    return l;
}

/* ---- Lines ---- */

static void end_line(drawing *d, line l) {
    pithp_string_add_n(&d->lines, (const char *)&l, sizeof l);
    d->count++;
}

static uint32_t length_since(const drawing *d, size_t *mark) {
    const size_t length = d->text.length - *mark;
    *mark = d->text.length;
    return (uint32_t)length;
}

/* Print the frame of a line whose node is a child of the innermost entered node. */
static void add_frame(drawing *d, const pithp_walk *w, int64_t depth, bool last) {
    for (int64_t i = 0; i + 1 < depth; i++)
        pithp_string_add(&d->text, w->frames[i].next < w->frames[i].node_def->slot_count
                                       ? "\u2502  "
                                       : "   ");
    if (depth > 0)
        pithp_string_add(&d->text, last ? "\u2514\u2500 " : "\u251c\u2500 ");
}

/* Append unit and doc of a field to the last column. */
static void add_field_notes(drawing *d, const pithp_field *field, size_t column) {
    const pith_field_options *o = &field->declared.options;
    if (o->unit)
        pithp_string_print(&d->text, "%s%s", d->text.length > column ? "  " : "",
                           o->unit);
    if (d->options->docs && o->doc)
        pithp_string_print(&d->text, "%s(%s)", d->text.length > column ? "  " : "",
                           o->doc);
}

static const pithp_field *field_of(const pithp_walk *w, int64_t depth) {
    if (depth == 0)
        return NULL;
    const pithp_walk_frame *parent = &w->frames[depth - 1];
    const pith_type *type = parent->node_def->type;
    return type ? &type->fields[type->slot_fields[parent->next - 1]] : NULL;
}

static void add_what(drawing *d, const void *node, pithp_visit visit) {
    const size_t before = d->text.length;
    if (visit == PITHP_VISIT_ABSENT)
        pithp_string_add(&d->text, "absent");
    else
        pithp_node_describe(&d->text, node);
    /* in a column, "a list of 3" stands without its article */
    if (d->text.length > before + 2 && strncmp(d->text.bytes + before, "a ", 2) == 0) {
        memmove(d->text.bytes + before, d->text.bytes + before + 2,
                d->text.length - before - 1);
        d->text.length -= 2;
    }
}

/* Print the line of a leaf, of an absent node, or of a node before its children. */
static pith_status draw_visit(drawing *d, const pithp_walk *w, pithp_visit visit) {
    const int64_t depth = w->depth - (visit == PITHP_VISIT_ENTER);
    const pithp_walk_frame *parent = depth ? &w->frames[depth - 1] : NULL;
    size_t mark = d->text.length;
    line l = {0};
    pith_status rc = PITH_OK;
    if (parent) {
        add_frame(d, w, depth, parent->next == parent->node_def->slot_count);
        pithp_path_add_slot(&d->text, parent->node_def, parent->next - 1);
        l.name = length_since(d, &mark);
    }
    add_what(d, w->node, visit);
    if (visit == PITHP_VISIT_ENTER && depth >= d->limits.depth &&
        pithp_node_def_of(w->node)->slot_count)
        pithp_string_add(&d->text, " ...");
    l.what = length_since(d, &mark);
    const bool concrete = visit == PITHP_VISIT_LEAF && !pithp_array_is_traced(w->node);
    char size[PITHP_BYTES_TEXT];
    if (concrete)
        pithp_string_add(&d->text,
                         pithp_bytes_text(size, pithp_array_spec(w->node)->bytes));
    else if (visit == PITHP_VISIT_LEAF)
        pithp_string_add(&d->text, "traced");
    l.bytes = length_since(d, &mark);
    if (concrete && d->options->values) {
        rc = pithp_describe_elements(d->s, &d->text, w->node);
        if (rc != PITH_OK) {
            pithp_string path;
            pithp_string_begin(&path, d->s->runtime);
            pithp_walk_path(w, &path);
            pithp_error_prefix(d->s, path.bytes);
            pithp_string_end(&path);
        }
    }
    const pithp_field *field = field_of(w, depth);
    if (field)
        add_field_notes(d, field, mark);
    l.more = length_since(d, &mark);
    end_line(d, l);
    return rc;
}

/* Print the statics of the record just entered. */
static void draw_statics(drawing *d, const pithp_walk *w) {
    const pithp_node_def *node_def = pithp_node_def_of(w->node);
    for (int64_t i = 0; i < statics_of(node_def) && d->count < d->limits.lines; i++) {
        const pithp_field *field =
            &node_def->type->fields[node_def->type->statics[i].field];
        size_t mark = d->text.length;
        line l = {0};
        add_frame(d, w, w->depth,
                  i + 1 == statics_of(node_def) && node_def->slot_count == 0);
        pithp_path_add_field(&d->text, field->declared.name);
        l.name = length_since(d, &mark);
        pithp_string_add(&d->text, "= ");
        pithp_static_describe(&d->text, field, w->node);
        l.what = length_since(d, &mark);
        add_field_notes(d, field, mark);
        l.more = length_since(d, &mark);
        end_line(d, l);
    }
}

static void draw_more(drawing *d, const pithp_walk *w, int64_t passed) {
    size_t mark = d->text.length;
    line l = {0};
    add_frame(d, w, w->depth, false);
    pithp_string_print(&d->text, "... %lld more", (long long)passed);
    l.name = length_since(d, &mark);
    end_line(d, l);
}

static pith_status draw_lines(drawing *d, const void *tree) {
    pithp_walk w;
    pithp_visit visit;
    pith_status rc = PITH_OK;
    pithp_walk_begin(&w, d->s->runtime, tree);
    while (rc == PITH_OK && d->count < d->limits.lines) {
        const int64_t passed = skip_middle(&w, &d->limits);
        if (passed)
            draw_more(d, &w, passed);
        if (!pithp_walk_next(&w, &visit))
            break;
        if (visit == PITHP_VISIT_LEAVE)
            continue;
        rc = draw_visit(d, &w, visit);
        if (visit == PITHP_VISIT_ENTER) {
            if (w.depth > d->limits.depth)
                pithp_walk_skip(&w);
            else
                draw_statics(d, &w);
        }
    }
    d->text.failed |= w.failed;
    pithp_walk_end(&w);
    return rc;
}

/* ---- The table ---- */

/* Columns of a UTF-8 text in a terminal, one per code point. */
static int64_t columns(const char *text, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (text[i] & 0xC0) != 0x80;
    return count;
}

static void pad(pithp_string *t, int64_t count) {
    for (; count > 0; count--)
        pithp_string_add_n(t, " ", 1);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Align the lines; the line of the root gets a summary of the tree. */
static void align(const drawing *d, const void *tree, pithp_string *out) {
    int64_t name = 0, what = 0, bytes = 0;
    const char *at = d->text.bytes;
    line l;
    for (int64_t i = 0; i < d->count; i++, at += l.name + l.what + l.bytes + l.more) {
        memcpy(&l, d->lines.bytes + (size_t)i * sizeof l, sizeof l);
        const int64_t n = columns(at, l.name), m = columns(at + l.name, l.what);
        if (n <= WIDEST_NAME && l.what)
            name = larger(name, n);
        if (m <= WIDEST_WHAT && l.bytes)
            what = larger(what, m);
        bytes = larger(bytes, l.bytes);
    }
    at = d->text.bytes;
    for (int64_t i = 0; i < d->count; i++) {
        memcpy(&l, d->lines.bytes + (size_t)i * sizeof l, sizeof l);
        const bool root = i == 0;
        pithp_string_add_n(out, at, l.name);
        if (l.what) {
            pad(out, root ? 0 : larger(name - columns(at, l.name), 0) + 2);
            pithp_string_add_n(out, at + l.name, l.what);
        }
        const int64_t wide = columns(at + l.name, l.what);
        at += l.name + l.what;
        if (l.bytes) {
            pad(out, root ? 2 : larger(what - wide, 0) + 2 + bytes - l.bytes);
            pithp_string_add_n(out, at, l.bytes);
        }
        if (l.more) {
            pad(out, 2);
            pithp_string_add_n(out, at + l.bytes, l.more);
        }
        at += l.bytes + l.more;
        if (root && pithp_kind_of(tree) != PITHP_KIND_ARRAY) {
            char size[PITHP_BYTES_TEXT];
            const int64_t leaves = pith_tree_num_leaves(tree);
            out->failed |= leaves < 0;
            pithp_string_print(out, "  %lld %s, ", (long long)leaves,
                               leaves == 1 ? "leaf" : "leaves");
            pithp_string_add(out, pithp_bytes_text(size, pith_tree_bytes(tree)));
        }
        pithp_string_add(out, "\n");
    }
    if (!d->limits.fit)
        pithp_string_add(out, "...\n");
}

static const char *
draw(pith_scope *s, const void *tree, const pith_print_options *options) {
    static const pith_print_options none = {0};
    drawing d = {.s = s, .options = options ? options : &none};
    const int64_t lines = d.options->most_lines == 0  ? DEFAULT_LINES
                          : d.options->most_lines < 0 ? INT64_MAX
                                                      : d.options->most_lines;
    pithp_string out;
    pithp_string_begin(&d.text, s->runtime);
    pithp_string_begin(&d.lines, s->runtime);
    pithp_string_begin(&out, s->runtime);
    d.limits = choose_limits(&d, tree, lines);
    const char *made = NULL;
    if (draw_lines(&d, tree) == PITH_OK) {
        if (!d.text.failed && !d.lines.failed)
            align(&d, tree, &out);
        out.failed |= d.text.failed || d.lines.failed;
        made = pithp_string_finish(s, &out);
    }
    pithp_string_end(&out);
    pithp_string_end(&d.lines);
    pithp_string_end(&d.text);
    return made;
}

const char *
pith_tree_text(pith_scope *s, const void *tree, const pith_print_options *options) {
    if (!pithp_enter(s) || pithp_tree_check(s, tree, "pith_tree_text", "tree") != PITH_OK)
        return NULL;
    return draw(s, tree, options);
}

void pith_print(pith_scope *s,
                const void *tree,
                FILE *out,
                const pith_print_options *options) {
    if (!pithp_enter(s) || pithp_tree_check(s, tree, "pith_print", "tree") != PITH_OK)
        return;
    const char *text = draw(s, tree, options);
    FILE *to = out ? out : stdout;
    if (text && (fputs(text, to) == EOF || fflush(to) == EOF))
        pithp_fail(s, PITH_E_IO, NULL, "pith_print: %s", strerror(errno));
}
