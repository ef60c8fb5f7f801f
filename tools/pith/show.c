/* pith show: prints a checkpoint as a tree, with statistics of each leaf. */
#include "command.h"
#include "tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the output: items of long containers, and depth. */
typedef struct limits {
    int64_t items, depth;
} limits;

typedef struct frame {
    int64_t node, next; /* statics first, then children */
    size_t prefix;      /* length of the prefix before this node's part */
} frame;

typedef struct drawing {
    pith_scope *s;
    rows r;
    limits limits;
    bool statistics;
    table table;
    frame *stack;
    int64_t depth, room;
    char *prefix; /* of lines inside the top node */
    size_t length, prefix_room;
    int code;
} drawing;

/* ---- Limits ---- */

static int64_t first_items(const limits *l) {
    return l->items - l->items / 2;
}

/* The number of children omitted in the middle of a container. */
static int64_t left_out(const pith_checkpoint_node *n, const limits *l) {
    if (n->kind == PITH_NODE_RECORD || n->child_count - 1 <= l->items)
        return 0;
    return n->child_count - l->items;
}

static bool
in_middle(const pith_checkpoint_node *parent, int64_t index, const limits *l) {
    const int64_t count = left_out(parent, l), first = first_items(l);
    return count && index >= first && index < first + count;
}

static int64_t count_lines(const rows *r, const limits *l, int64_t most) {
    bool *visible = room_for((size_t)r->info->node_count, sizeof *visible);
    int64_t lines = 0;
    for (int64_t i = 0; i < r->info->node_count && lines <= most; i++) {
        const pith_checkpoint_node *n = &r->nodes[i];
        const pith_checkpoint_node *parent = i ? &r->nodes[n->parent] : NULL;
        visible[i] = !parent || (visible[n->parent] && parent->depth < l->depth &&
                                 (n->is_static || !in_middle(parent, n->index, l)));
        if (!visible[i])
            continue;
        lines += !n->is_static; /* a static is counted with its record */
        if (n->depth < l->depth)
            lines += n->static_count + (left_out(n, l) > 0);
    }
    free(visible);
    return lines;
}

/* The limits that show most within the allowed lines. */
static limits choose_limits(const rows *r, int64_t lines) {
    static const int64_t items[] = {INT64_MAX, 48, 24, 12, 8, 6, 4};
    static const int64_t depths[] = {INT64_MAX, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    limits l = {INT64_MAX, INT64_MAX};
    for (size_t i = 0; lines != INT64_MAX && i < sizeof depths / sizeof depths[0]; i++)
        for (size_t j = 0; j < sizeof items / sizeof items[0]; j++) {
            l = (limits){items[j], depths[i]};
            if (count_lines(r, &l, lines) <= lines)
                return l;
        }
    return l;
}

/* ---- Lines ---- */

static void set(table_row *row, int i, colour c, bool right, char *text) {
    row->cells[i] = (cell){.text = text, .colour = c, .right = right};
}

static table_row *add_line(drawing *d, bool last) {
    table_row *row = table_add(&d->table);
    if (d->depth)
        row->frame = text_of("%.*s%s", (int)d->length, d->prefix ? d->prefix : "",
                             last ? "\u2514\u2500 " : "\u251c\u2500 ");
    return row;
}

static char *number_text(const pith_leaf_statistics *m, pith_dtype dtype, bool least) {
    if (dtype >= PITH_U8 && dtype <= PITH_U64)
        return text_of("%" PRIu64, least ? m->least_u64 : m->greatest_u64);
    if (!pith_dtype_is_float(dtype))
        return text_of("%" PRId64, least ? m->least_i64 : m->greatest_i64);
    return text_of("%.6g", least ? m->least : m->greatest);
}

static void
add_value(drawing *d, table_row *row, int64_t leaf, const pith_checkpoint_leaf *l) {
    unsigned char element[8];
    if (!pith_checkpoint_read(d->s, d->r.c, leaf, 0, 1, element, l->bytes))
        return;
    char *what = row->cells[1].text;
    row->cells[1].text =
        text_of("%s = %s", what, pith_element_print(l->dtype, element, 0).text);
    free(what);
}

static void add_statistics(drawing *d, table_row *row, int64_t leaf) {
    pith_checkpoint_leaf l;
    pith_leaf_statistics m;
    pith_checkpoint_get_leaf(d->r.c, leaf, &l);
    if (l.count == 0) {
        set(row, 7, DIM, false, text_of("empty"));
        return;
    }
    if (l.count == 1) {
        add_value(d, row, leaf, &l);
    } else if (pith_checkpoint_statistics(d->s, d->r.c, leaf, &m)) {
        if (!isnan(m.least)) {
            set(row, 4, PLAIN, true, number_text(&m, l.dtype, true));
            set(row, 5, PLAIN, true, number_text(&m, l.dtype, false));
        }
        if (!isnan(m.mean))
            set(row, 6, PLAIN, true, text_of("%.6g", m.mean));
        if (m.nans || m.infinities)
            set(row, 7, RED, false,
                !m.infinities ? text_of("%" PRId64 " NaN", m.nans)
                : !m.nans     ? text_of("%" PRId64 " infinite", m.infinities)
                              : text_of("%" PRId64 " NaN, %" PRId64 " infinite", m.nans,
                                        m.infinities));
    }
    if (pith_failed(d->s)) {
        set(row, 7, RED, false,
            text_of("%s", pith_code(d->s) == PITH_E_FORMAT ? "damaged" : "unreadable"));
        if (d->code == SAME)
            complain("show", "%s", pith_message(d->s));
        d->code =
            pith_code(d->s) == PITH_E_FORMAT && d->code != TROUBLE ? DIFFERENT : TROUBLE;
        pith_clear(d->s);
    }
}

/* "24.0 KiB"; "24.0 KiB in 3.1 KiB" if compressed. */
static char *size_text(const pith_checkpoint_leaf *l) {
    char *bytes = bytes_text(l->bytes);
    if (!l->compressed)
        return bytes;
    char *stored = bytes_text(l->stored_bytes),
         *text = text_of("%s in %s", bytes, stored);
    free(bytes);
    free(stored);
    return text;
}

/* "f64[4000,3] sharded "x", rows count". */
static char *leaf_text(const rows *r, int64_t node) {
    pith_checkpoint_leaf l;
    char *plain = node_text(r, node);
    pith_checkpoint_get_leaf(r->c, r->nodes[node].leaf, &l);
    if (!l.shard)
        return plain;
    char *shard = quoted(l.shard), *count = l.rows ? clean(l.rows) : NULL;
    char *text = text_of("%s sharded %s%s%s", plain, shard, count ? ", rows " : "",
                         count ? count : "");
    free(plain);
    free(shard);
    free(count);
    return text;
}

static void draw_node(drawing *d, int64_t node, bool last) {
    const pith_checkpoint_node *n = &d->r.nodes[node];
    const bool root = n->parent < 0, leaf = n->kind == PITH_NODE_LEAF;
    table_row *row = add_line(d, last);
    if (!root)
        set(row, 0, PLAIN, false, step_text(&d->r, node));
    set(row, root ? 0 : 1,
        leaf                          ? PLAIN
        : n->kind == PITH_NODE_RECORD ? BOLD
                                      : DIM,
        false, leaf ? leaf_text(&d->r, node) : node_text(&d->r, node));
    if (leaf) {
        pith_checkpoint_leaf l;
        pith_checkpoint_get_leaf(d->r.c, n->leaf, &l);
        set(row, 2, PLAIN, true, size_text(&l));
        if (l.unit)
            set(row, 3, CYAN, false, clean(l.unit));
        if (root)
            set(row, 1, PLAIN, false, text_of("%s", ""));
        if (d->statistics)
            add_statistics(d, row, n->leaf);
    } else if (root && d->statistics) {
        set(row, 4, DIM, true, text_of("least"));
        set(row, 5, DIM, true, text_of("greatest"));
        set(row, 6, DIM, true, text_of("mean"));
    } else if (n->depth >= d->limits.depth && n->child_count + n->static_count) {
        set(row, 2, DIM, false, text_of("\u2026"));
    }
}

static void draw_static(drawing *d, const pith_checkpoint_static *value, bool last) {
    table_row *row = add_line(d, last);
    char *name = clean(value->name), *text = static_text(&d->r, value);
    set(row, 0, PLAIN, false, text_of(".%s", name));
    set(row, 1, GREEN, false, text_of("= %s", text));
    free(name);
    free(text);
}

/* ---- The tree ---- */

static void push(drawing *d, int64_t node, bool last) {
    const char *bar = d->depth == 0 ? "" : last ? "   " : "\u2502  ";
    if (d->depth == d->room) {
        d->room = d->room ? 2 * d->room : 64;
        frame *grown = room_for((size_t)d->room, sizeof *grown);
        if (d->depth)
            memcpy(grown, d->stack, (size_t)d->depth * sizeof *grown);
        free(d->stack);
        d->stack = grown;
    }
    if (d->length + strlen(bar) + 1 > d->prefix_room) {
        d->prefix_room = 2 * d->prefix_room + 64;
        char *grown = room_for(d->prefix_room, 1);
        memcpy(grown, d->prefix ? d->prefix : "", d->length);
        free(d->prefix);
        d->prefix = grown;
    }
    d->stack[d->depth++] = (frame){.node = node, .prefix = d->length};
    strcpy(d->prefix + d->length, bar);
    d->length += strlen(bar);
}

static void pop(drawing *d) {
    d->length = d->stack[--d->depth].prefix;
}

static void draw_item(drawing *d, frame *top) {
    const pith_checkpoint_node *n = &d->r.nodes[top->node];
    const int64_t item = top->next++, index = item - n->static_count;
    const bool last = top->next == n->static_count + n->child_count;
    int64_t inner = -1;
    if (index < 0) {
        pith_checkpoint_static value;
        pith_checkpoint_get_static(d->r.c, top->node, item, &value);
        draw_static(d, &value, last);
        inner = value.kind == PITH_STATIC_KIND_RECORD ? value.node : -1;
    } else if (in_middle(n, index, &d->limits)) {
        const int64_t count = left_out(n, &d->limits);
        top->next += count - 1;
        table_row *row = add_line(d, top->next == n->static_count + n->child_count);
        set(row, 0, DIM, false, text_of("\u2026 %" PRId64 " more", count));
    } else {
        inner = d->r.children[d->r.base[top->node] + index];
        draw_node(d, inner, last);
    }
    if (inner >= 0 && d->r.nodes[inner].depth < d->limits.depth)
        push(d, inner, last);
}

static void draw_tree(drawing *d) {
    draw_node(d, 0, true);
    push(d, 0, true);
    while (d->depth) {
        frame *top = &d->stack[d->depth - 1];
        const pith_checkpoint_node *n = &d->r.nodes[top->node];
        if (top->next == n->static_count + n->child_count)
            pop(d);
        else
            draw_item(d, top);
    }
    free(d->stack);
    free(d->prefix);
}

/* ---- The head ---- */

/* The files of ranks, a part of them if there are many. */
static void print_parts(const rows *r, int64_t lines) {
    enum { MOST_PARTS = 8 };
    const int64_t count = r->info->part_count,
                  shown = count > MOST_PARTS && lines != INT64_MAX ? MOST_PARTS : count;
    for (int64_t k = 0; k < shown; k++) {
        pith_checkpoint_part part;
        pith_checkpoint_get_part(r->c, k, &part);
        char *name = clean(part.file), *size = bytes_text(part.bytes);
        printf("rank %" PRId64 ": %s %s\n", part.rank, name, size);
        free(name);
        free(size);
    }
    if (shown < count)
        printf("\u2026 %" PRId64 " more\n", count - shown);
}

static void print_head(const rows *r, int64_t lines) {
    const pith_checkpoint_info *i = r->info;
    char *file = clean(r->file), *leaves = bytes_text(i->leaf_bytes);
    char *document = bytes_text(i->document_bytes), *library = clean(i->library);
    colour_to(stdout, BOLD);
    printf("%s", file);
    colour_to(stdout, PLAIN);
    printf("  step %" PRId64 ", %" PRId64 " %s, %s\n", i->step, i->leaf_count,
           plural(i->leaf_count, "leaf", "leaves"), leaves);
    colour_to(stdout, DIM);
    printf("format %" PRId32 " of pith %s, document %s", i->format, library, document);
    for (int64_t k = 0; k < i->sidecar_count; k++) {
        pith_checkpoint_sidecar sidecar;
        pith_checkpoint_get_sidecar(r->c, k, &sidecar);
        char *name = clean(sidecar.file), *size = bytes_text(sidecar.bytes);
        printf(", sidecar %s %s", name, size);
        free(name);
        free(size);
    }
    if (i->mesh) {
        char *mesh = clean(i->mesh);
        printf(", %" PRId64 " %s of the mesh %s", i->part_count,
               plural(i->part_count, "part", "parts"), mesh);
        free(mesh);
    }
    putchar('\n');
    print_parts(r, lines);
    colour_to(stdout, PLAIN);
    for (int64_t k = 0; k < i->metadata_count; k++) {
        const pith_metadata pair = pith_checkpoint_metadata(r->c, k);
        char *key = clean(pair.key), *value = clean(pair.value);
        printf("%s: %s\n", key, value);
        free(key);
        free(value);
    }
    putchar('\n');
    free(file);
    free(leaves);
    free(document);
    free(library);
}

/* ---- The verb ---- */

static int show_tree(pith_scope *s, rows *r, const leaf_options *o) {
    if (o->json)
        return show_json(s, r, o->check);
    drawing d = {.s = s, .r = *r, .statistics = o->check};
    d.limits = choose_limits(r, o->lines);
    print_head(r, o->lines);
    draw_tree(&d);
    table_print(&d.table, stdout, terminal_width());
    table_end(&d.table);
    return d.code;
}

/* Show the leaf at a path. */
static int
show_path(pith_scope *s, const rows *r, const char *path, const leaf_options *o) {
    const int64_t node = pith_checkpoint_find(s, r->c, path);
    if (node >= 0 && r->nodes[node].leaf >= 0)
        return show_leaf(s, r, node, o);
    if (node >= 0)
        complain("show", "\"%s\" is not a leaf", path);
    else
        complain("show", "%s", pith_message(s));
    return TROUBLE;
}

static bool read_options(const command *c, leaf_options *o) {
    const char *part = given_value(c, "--rows");
    *o = (leaf_options){.check = !given(c, "--no-stats"),
                        .json = given(c, "--json"),
                        .lines = 100,
                        .end = -1};
    if (!given_i64(c, "--lines", 1, INT64_MAX, &o->lines))
        return false;
    if (given(c, "--all"))
        o->lines = INT64_MAX;
    if (part && !rows_parse(part, &o->first, &o->end))
        return complain("show", "--rows takes A:B or A:, got \"%s\"", part), false;
    if (part && c->word_count < 2)
        return complain("show", "--rows needs the path of a leaf"), false;
    return true;
}

static int show(pith_scope *s, const command *c) {
    leaf_options o;
    rows r;
    if (!read_options(c, &o))
        return TROUBLE;
    if (!rows_open(s, c->words[0], &r)) {
        complain("show", "%s", pith_message(s));
        return pith_code(s) == PITH_E_FORMAT ? DIFFERENT : TROUBLE;
    }
    const int code =
        c->word_count > 1 ? show_path(s, &r, c->words[1], &o) : show_tree(s, &r, &o);
    rows_end(&r);
    return code;
}

static const option options[] = {
    {"--rows", "A:B", "rows A to B - 1 of the leaf's first axis", NULL, 0},
    {"--no-stats", NULL, "read no leaf; verify only the rows of a leaf that are shown",
     NULL, 0},
    {"--all", NULL, "all lines", NULL, 0},
    {"--lines", "N", "at most this many lines (100); longer trees are cut", NULL, 0},
    {"--json", NULL, "for programs: every node, or every element of the leaf", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb show_verb = {
    .name = "show",
    .words = "FILE [PATH]",
    .takes = "one file, and optionally the path of a leaf",
    .least = 1,
    .most = 2,
    .extensions = "json",
    .summary = "the tree with statistics of every leaf, or the elements of one",
    .more = "Without PATH a checkpoint is drawn as a tree: types, statics, and of every\n"
            "leaf its dtype, shape, size, unit, least and greatest element, mean and\n"
            "number of NaNs. With PATH, such as .atoms.position, the elements of that\n"
            "leaf are printed.",
    .options = options,
    .run = show};
