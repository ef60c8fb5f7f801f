/* pith diff: differences of structure between two checkpoints, and distances of their
 * values. */
#include "command.h"
#include "tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 200, MOST_WORST = 100, PIECE = 65536 };

typedef struct worst_element {
    int64_t index;
    double apart;
    pith_element_text a, b;
} worst_element;

typedef struct pair {
    int64_t a, b;
} pair;

typedef struct comparison {
    pith_scope *s;
    rows a, b;
    double rtol, atol;
    bool bits, json;
    int64_t worst_count;
    table table;
    int64_t structure, equal, different; /* of structure: nodes; others: leaves */
    pair *stack;
    int64_t depth, room;
    bool failed;
} comparison;

/* ---- Lines ---- */

static table_row *
add_line(comparison *c, const char *sign, colour tint, const char *path) {
    if (c->table.count >= MOST_LINES)
        return NULL;
    table_row *row = table_add(&c->table);
    row->cells[0] = (cell){.text = text_of("%s", sign), .colour = tint};
    row->cells[1] = (cell){.text = *path ? clean(path) : text_of("(root)")};
    return row;
}

static const char *path_of(comparison *c, const rows *r, int64_t node) {
    const char *path = pith_checkpoint_path(c->s, r->c, node);
    return path ? path : "?";
}

/* A difference of structure as JSON; NULL: missing on that side. */
static void
structure_json(const char *kind, const char *path, const char *a, const char *b) {
    json_open('{');
    json_name("kind"), json_text(kind);
    json_name("path"), json_text(path);
    json_name("a"), json_text(a);
    json_name("b"), json_text(b);
    json_close('}');
}

/* A node on one side only; takes the text. sign '-': only in a; '+': only in b. */
static void only_in(comparison *c, const char *path, char *text, bool first) {
    c->structure++;
    if (c->json) {
        structure_json(first ? "removed" : "added", path, first ? text : NULL,
                       first ? NULL : text);
        free(text);
        return;
    }
    table_row *row = add_line(c, first ? "-" : "+", first ? RED : GREEN, path);
    if (row)
        row->cells[2].text = text;
    else
        free(text);
}

static void node_only_in(comparison *c, const rows *r, int64_t node, bool first) {
    only_in(c, path_of(c, r, node), node_text(r, node), first);
}

/* A changed node; takes both texts. */
static void changed(comparison *c, const char *path, char *a, char *b) {
    c->structure++;
    if (c->json)
        structure_json("changed", path, a, b);
    table_row *row = c->json ? NULL : add_line(c, "~", YELLOW, path);
    if (row)
        row->cells[2].text = text_of("%s \u2192 %s", a, b);
    free(a);
    free(b);
}

static void push(comparison *c, int64_t a, int64_t b) {
    if (c->depth == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        pair *grown = room_for((size_t)c->room, sizeof *grown);
        if (c->depth)
            memcpy(grown, c->stack, (size_t)c->depth * sizeof *grown);
        free(c->stack);
        c->stack = grown;
    }
    c->stack[c->depth++] = (pair){a, b};
}

/* ---- Elements ---- */

static bool same_element(pith_dtype dtype, const void *a, const void *b) {
    if (memcmp(a, b, pith_dtype_size(dtype)) == 0)
        return true;
    if (!pith_dtype_is_float(dtype))
        return false;
    const double x = pith_element_f64(dtype, a, 0), y = pith_element_f64(dtype, b, 0);
    return (isnan(x) && isnan(y)) || (!(x < y) && !(x > y) && !isnan(x) && !isnan(y));
}

/* |a - b|; exact for 64-bit integers; infinite if one is NaN. */
static double apart(pith_dtype dtype, const void *a, const void *b) {
    if (dtype == PITH_I64 || dtype == PITH_U64) {
        uint64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        const uint64_t sign = dtype == PITH_I64 ? (uint64_t)1 << 63 : 0;
        return (double)((x ^ sign) > (y ^ sign) ? x - y : y - x);
    }
    const double d = fabs(pith_element_f64(dtype, a, 0) - pith_element_f64(dtype, b, 0));
    return isnan(d) ? (double)INFINITY : d;
}

static bool element_fits(const comparison *c,
                         pith_dtype dtype,
                         const void *a,
                         const void *b,
                         double d) {
    if (c->bits)
        return false; /* their bytes were compared */
    if (same_element(dtype, a, b))
        return true;
    const double bound = c->atol + c->rtol * fabs(pith_element_f64(dtype, b, 0));
    return !isinf(d) && d > 0 && d <= bound;
}

static void note_worst(comparison *c,
                       worst_element *worst,
                       int64_t *noted,
                       pith_dtype dtype,
                       int64_t index,
                       const void *a,
                       const void *b,
                       double d) {
    int64_t at = *noted;
    while (at > 0 && worst[at - 1].apart < d)
        at--;
    if (at == c->worst_count)
        return;
    if (*noted < c->worst_count)
        ++*noted;
    memmove(&worst[at + 1], &worst[at], (size_t)(*noted - at - 1) * sizeof *worst);
    worst[at] = (worst_element){.index = index,
                                .apart = d,
                                .a = pith_element_print(dtype, a, 0),
                                .b = pith_element_print(dtype, b, 0)};
}

/* Number of elements that differ; -1: they could not be read. */
static int64_t compare_elements(comparison *c,
                                int64_t x,
                                int64_t y,
                                const pith_checkpoint_leaf *leaf,
                                worst_element *worst,
                                int64_t *noted) {
    const size_t step = pith_dtype_size(leaf->dtype);
    char *a = room_for(PIECE, step), *b = room_for(PIECE, step);
    int64_t count = 0;
    bool read = pith_checkpoint_verify(c->s, c->a.c, x) &&
                pith_checkpoint_verify(c->s, c->b.c, y);
    for (int64_t first = 0; read && first < leaf->count; first += PIECE) {
        const int64_t n = leaf->count - first < PIECE ? leaf->count - first : PIECE;
        read = pith_checkpoint_read(c->s, c->a.c, x, first, n, a, (size_t)n * step) &&
               pith_checkpoint_read(c->s, c->b.c, y, first, n, b, (size_t)n * step);
        for (int64_t i = 0; read && i < n; i++) {
            const char *p = a + (size_t)i * step, *q = b + (size_t)i * step;
            if (memcmp(p, q, step) == 0)
                continue;
            const double d = apart(leaf->dtype, p, q);
            if (element_fits(c, leaf->dtype, p, q, d))
                continue;
            count++;
            note_worst(c, worst, noted, leaf->dtype, first + i, p, q, d);
        }
    }
    free(a);
    free(b);
    return read ? count : -1;
}

static void
index_of(const pith_shape *shape, int64_t index, int64_t places[PITH_MAX_RANK]) {
    for (int32_t i = shape->rank; i-- > 0; index /= shape->extents[i])
        places[i] = index % shape->extents[i];
}

static char *index_text(const pith_shape *shape, int64_t index) {
    char text[PITH_MAX_RANK * 24] = "";
    int64_t places[PITH_MAX_RANK];
    int n = 0;
    index_of(shape, index, places);
    for (int32_t i = 0; i < shape->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64, i ? "," : "[",
                      places[i]);
    return text_of("%s%s", text, shape->rank ? "]" : "");
}

static void worst_json(const pith_checkpoint_leaf *leaf, const worst_element *w) {
    int64_t places[PITH_MAX_RANK];
    index_of(&leaf->shape, w->index, places);
    json_open('{');
    json_name("index");
    json_open('[');
    for (int32_t i = 0; i < leaf->shape.rank; i++)
        json_i64(places[i]);
    json_close(']');
    json_name("a"), json_text(w->a.text);
    json_name("b"), json_text(w->b.text);
    json_name("apart"), json_f64(w->apart);
    json_close('}');
}

static void report_json(comparison *c,
                        int64_t node,
                        const pith_checkpoint_leaf *leaf,
                        int64_t count,
                        const worst_element *worst,
                        int64_t noted) {
    json_open('{');
    json_name("kind"), json_text("value");
    json_name("path"), json_text(path_of(c, &c->a, node));
    json_name("dtype"), json_text(pith_dtype_name(leaf->dtype));
    json_name("shape"), json_shape(&leaf->shape);
    json_name("elements"), json_i64(leaf->count);
    json_name("different"), json_i64(count);
    json_name("worst");
    json_open('[');
    for (int64_t i = 0; i < noted; i++)
        worst_json(leaf, &worst[i]);
    json_close(']');
    json_close('}');
}

static void report_leaf(comparison *c,
                        int64_t node,
                        const pith_checkpoint_leaf *leaf,
                        int64_t count,
                        const worst_element *worst,
                        int64_t noted) {
    if (c->json)
        report_json(c, node, leaf, count, worst, noted);
    for (int64_t i = 0; i < noted && !c->json; i++) {
        table_row *row = i ? add_line(c, "", PLAIN, " ")
                           : add_line(c, "\u2260", RED, path_of(c, &c->a, node));
        if (!row)
            return;
        if (i == 0) {
            row->cells[2].text = shape_text(leaf->dtype, &leaf->shape);
            row->cells[3].text = text_of("%" PRId64 " of %" PRId64, count, leaf->count);
            row->cells[3].right = true;
        }
        row->cells[4].text = isinf(worst[i].apart)
                                 ? text_of("|a-b| not finite")
                                 : text_of("|a-b| %.3g", worst[i].apart);
        row->cells[5].text = index_text(&leaf->shape, worst[i].index);
        row->cells[6].text = text_of("%s \u2192 %s", worst[i].a.text, worst[i].b.text);
    }
}

static void compare_leaves(comparison *c, int64_t a, int64_t b) {
    const int64_t x = c->a.nodes[a].leaf, y = c->b.nodes[b].leaf;
    pith_checkpoint_leaf p, q;
    int64_t noted = 0;
    pith_checkpoint_get_leaf(c->a.c, x, &p);
    pith_checkpoint_get_leaf(c->b.c, y, &q);
    if (p.dtype != q.dtype || p.shape.rank != q.shape.rank ||
        memcmp(p.shape.extents, q.shape.extents, sizeof p.shape.extents) != 0) {
        changed(c, path_of(c, &c->a, a), shape_text(p.dtype, &p.shape),
                shape_text(q.dtype, &q.shape));
        return;
    }
    if (strcmp(p.unit ? p.unit : "", q.unit ? q.unit : "") != 0)
        changed(c, path_of(c, &c->a, a), text_of("unit %s", p.unit ? p.unit : "none"),
                text_of("%s", q.unit ? q.unit : "none"));
    if (strcmp(p.checksum, q.checksum) == 0) {
        c->equal++;
        return;
    }
    worst_element *worst = room_for((size_t)c->worst_count + 1, sizeof *worst);
    const int64_t count = compare_elements(c, x, y, &p, worst, &noted);
    c->failed |= count < 0;
    if (count > 0) {
        c->different++;
        report_leaf(c, a, &p, count, worst, noted);
    } else if (count == 0) {
        c->equal++;
    }
    free(worst);
}

/* ---- Structure ---- */

static bool find_static(const rows *r,
                        int64_t node,
                        const char *name,
                        pith_checkpoint_static *value) {
    for (int64_t i = 0; pith_checkpoint_get_static(r->c, node, i, value); i++)
        if (strcmp(value->name, name) == 0)
            return true;
    return false;
}

static void static_only_in(comparison *c,
                           int64_t a,
                           const rows *r,
                           const pith_checkpoint_static *v,
                           bool first) {
    char *path = text_of("%s.%s", path_of(c, &c->a, a), v->name);
    char *text = static_text(r, v);
    only_in(c, path, text_of("= %s", text), first);
    free(text);
    free(path);
}

static void compare_static(comparison *c,
                           int64_t a,
                           const pith_checkpoint_static *v,
                           const pith_checkpoint_static *w) {
    if (v->kind == PITH_STATIC_KIND_RECORD && w->kind == v->kind && v->node >= 0 &&
        w->node >= 0) {
        push(c, v->node, w->node);
        return;
    }
    char *p = static_text(&c->a, v), *q = static_text(&c->b, w);
    if (v->kind == w->kind && (strcmp(p, q) == 0 || (v->kind == PITH_STATIC_KIND_F64 &&
                                                     isnan(v->f64) && isnan(w->f64)))) {
        free(p);
        free(q);
        return;
    }
    char *path = text_of("%s.%s", path_of(c, &c->a, a), v->name);
    changed(c, path, p, q);
    free(path);
}

static void compare_statics(comparison *c, int64_t a, int64_t b) {
    pith_checkpoint_static v, w;
    for (int64_t i = 0; pith_checkpoint_get_static(c->a.c, a, i, &v); i++) {
        if (find_static(&c->b, b, v.name, &w))
            compare_static(c, a, &v, &w);
        else
            static_only_in(c, a, &c->a, &v, true);
    }
    for (int64_t i = 0; pith_checkpoint_get_static(c->b.c, b, i, &w); i++)
        if (!find_static(&c->a, a, w.name, &v))
            static_only_in(c, a, &c->b, &w, false);
}

/* The child of that name. The search starts at index `at`; dicts are sorted. -1: none. */
static int64_t child_named(const rows *r, int64_t node, const char *name, int64_t at) {
    const pith_checkpoint_node *n = &r->nodes[node];
    const int64_t *children = r->children + r->base[node];
    int64_t low = 0, high = n->child_count;
    if (at < high && strcmp(r->nodes[children[at]].name, name) == 0)
        return children[at];
    while (n->kind == PITH_NODE_DICT && low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(r->nodes[children[middle]].name, name);
        if (order == 0)
            return children[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = 0; n->kind != PITH_NODE_DICT && i < high; i++)
        if (strcmp(r->nodes[children[i]].name, name) == 0)
            return children[i];
    return -1;
}

static int64_t child_like(const rows *r, int64_t node, const pith_checkpoint_node *like) {
    if (like->name)
        return child_named(r, node, like->name, like->index);
    return like->index < r->nodes[node].child_count
               ? r->children[r->base[node] + like->index]
               : -1;
}

static void compare_children(comparison *c, int64_t a, int64_t b) {
    const int64_t mark = c->depth;
    for (int64_t i = 0; i < c->a.nodes[a].child_count; i++) {
        const int64_t child = c->a.children[c->a.base[a] + i];
        const int64_t other = child_like(&c->b, b, &c->a.nodes[child]);
        if (other < 0)
            node_only_in(c, &c->a, child, true);
        else
            push(c, child, other);
    }
    for (int64_t i = 0; i < c->b.nodes[b].child_count; i++) {
        const int64_t child = c->b.children[c->b.base[b] + i];
        if (child_like(&c->a, a, &c->b.nodes[child]) < 0)
            node_only_in(c, &c->b, child, false);
    }
    for (int64_t i = mark, j = c->depth - 1; i < j;
         i++, j--) { /* so that the first one is on top */
        const pair swapped = c->stack[i];
        c->stack[i] = c->stack[j];
        c->stack[j] = swapped;
    }
}

static void compare_nodes(comparison *c, int64_t a, int64_t b) {
    const pith_checkpoint_node *m = &c->a.nodes[a], *n = &c->b.nodes[b];
    const bool records = m->kind == PITH_NODE_RECORD && n->kind == m->kind;
    if (m->kind != n->kind || (records && strcmp(m->type, n->type) != 0)) {
        changed(c, path_of(c, &c->a, a), node_text(&c->a, a), node_text(&c->b, b));
        return;
    }
    if (m->kind == PITH_NODE_LEAF) {
        compare_leaves(c, a, b);
        return;
    }
    if (records && m->version != n->version)
        changed(c, path_of(c, &c->a, a),
                text_of("%s version %" PRId32, m->type, m->version),
                text_of("version %" PRId32, n->version));
    if (records)
        compare_statics(c, a, b);
    compare_children(c, a, b);
}

static void compare(comparison *c) {
    push(c, 0, 0);
    while (c->depth && !c->failed) {
        const pair next = c->stack[--c->depth];
        compare_nodes(c, next.a, next.b);
    }
    free(c->stack);
}

/* ---- The verb ---- */

static void print_file(const char *sign, colour tint, const rows *r) {
    char *file = clean(r->file);
    colour_to(stdout, tint);
    printf("%s", sign);
    colour_to(stdout, PLAIN);
    printf(" %s  step %" PRId64 "\n", file, r->info->step);
    free(file);
}

static void print_result(const comparison *c) {
    const int64_t lines = c->structure + c->different;
    if (c->failed)
        return;
    if (!lines) {
        printf("no difference: %" PRId64 " %s\n", c->equal,
               plural(c->equal, "leaf", "leaves"));
        return;
    }
    print_file("-", RED, &c->a);
    print_file("+", GREEN, &c->b);
    putchar('\n');
    table_print(&c->table, stdout, terminal_width());
    if (c->table.count >= MOST_LINES)
        puts("\u2026");
    printf("\n%" PRId64 " %s equal, %" PRId64 " %s in value", c->equal,
           plural(c->equal, "leaf is", "leaves are"), c->different,
           plural(c->different, "differs", "differ"));
    if (c->structure)
        printf("; the structure differs in %" PRId64 " %s", c->structure,
               plural(c->structure, "place", "places"));
    putchar('\n');
}

static void file_json(const char *name, const rows *r) {
    json_name(name);
    json_open('{');
    json_name("file"), json_text(r->file);
    json_name("step"), json_i64(r->info->step);
    json_close('}');
}

/* Differences are printed as they are found. */
static void begin_json(const comparison *c) {
    json_open('{');
    file_json("a", &c->a);
    file_json("b", &c->b);
    json_name("differences");
    json_open('[');
}

static void end_json(const comparison *c) {
    json_close(']');
    json_name("structure_differences"), json_i64(c->structure);
    json_name("leaves_equal"), json_i64(c->equal);
    json_name("leaves_different"), json_i64(c->different);
    json_name("complete"), json_bool(!c->failed);
    json_close('}');
}

static bool read_options(comparison *c, const command *line) {
    c->worst_count = 1;
    c->bits = given(line, "--bits");
    c->json = given(line, "--json");
    if (!given_f64(line, "--rtol", 0, (double)INFINITY, &c->rtol) ||
        !given_f64(line, "--atol", 0, (double)INFINITY, &c->atol) ||
        !given_i64(line, "--worst", 1, MOST_WORST, &c->worst_count))
        return false;
    if (c->bits && (c->rtol > 0 || c->atol > 0))
        return complain("diff", "--bits leaves no room for a tolerance"), false;
    return true;
}

static int diff(pith_scope *s, const command *line) {
    comparison c = {.s = s};
    if (!read_options(&c, line))
        return TROUBLE;
    if (!rows_open(s, line->words[0], &c.a) || !rows_open(s, line->words[1], &c.b)) {
        complain("diff", "%s", pith_message(s));
        rows_end(&c.a);
        return TROUBLE;
    }
    if (c.json)
        begin_json(&c);
    compare(&c);
    if (pith_failed(s)) {
        complain("diff", "%s", pith_message(s));
        c.failed = true;
    }
    if (c.json)
        end_json(&c);
    else
        print_result(&c);
    const bool same = c.structure == 0 && c.different == 0;
    table_end(&c.table);
    rows_end(&c.a);
    rows_end(&c.b);
    return c.failed ? TROUBLE : same ? SAME : DIFFERENT;
}

static const option options[] = {
    {"--rtol", "X", "|a - b| <= atol + rtol * |b| counts as equal (0)", NULL, 0},
    {"--atol", "X", "see --rtol (0)", NULL, 0},
    {"--bits", NULL, "-0.0 differs from 0.0, and NaNs by their bits", NULL, 0},
    {"--worst", "N", "the N worst elements of a leaf (1)", NULL, 0},
    {"--json", NULL, "for programs: all differences", NULL, 0},
    {NULL, NULL, NULL, NULL, 0}};

const verb diff_verb = {
    .name = "diff",
    .words = "A B",
    .takes = "two files",
    .least = 2,
    .most = 2,
    .extensions = "json",
    .summary = "how the structure and the values of two checkpoints differ",
    .more =
        "Nodes are matched by field, key or index. Leaves of equal checksums are\n"
        "equal and not read. For each different leaf the worst elements are shown, by\n"
        "|a - b|.",
    .options = options,
    .run = diff};
