/* pith show FILE PATH: prints the elements of one leaf, one line per row of the last
 * axis, read in pieces. */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The range to show: elements of rows `first` to `end` of axis 0. */
typedef struct part {
    pith_checkpoint_leaf leaf;
    int64_t first, end;
    int64_t width; /* elements per line */
    int64_t lines; /* lines per row of axis 0 */
} part;

bool rows_parse(const char *text, int64_t *first, int64_t *end) {
    char *colon, *behind;
    *first = 0;
    *end = -1;
    *first = strtoll(text, &colon, 10);
    if (*first < 0 || *colon != ':')
        return false;
    if (!colon[1])
        return true;
    *end = strtoll(colon + 1, &behind, 10);
    return behind != colon + 1 && !*behind && *end >= *first;
}

static part part_of(const pith_checkpoint_leaf *leaf, int64_t first, int64_t end) {
    const pith_shape *shape = &leaf->shape;
    part p = {.leaf = *leaf, .width = 1, .lines = 1};
    const int64_t all = shape->rank ? shape->extents[0] : 1;
    p.first = first < all ? first : all;
    p.end = end < 0 || end > all ? all : end;
    if (leaf->count == 0) /* otherwise there may be many rows without elements */
        p.end = p.first;
    if (shape->rank > 1)
        p.width = shape->extents[shape->rank - 1];
    for (int32_t k = 1; k < shape->rank - 1 && leaf->count; k++)
        p.lines *= shape->extents[k];
    return p;
}

/* The index of a line, as "[2, 0]". */
static char *place_text(const part *p, int64_t line) {
    const pith_shape *shape = &p->leaf.shape;
    char text[PITH_MAX_RANK * 24] = "";
    const int32_t axes = shape->rank > 1 ? shape->rank - 1 : shape->rank;
    int64_t at[PITH_MAX_RANK];
    for (int32_t k = axes; k-- > 0; line /= shape->extents[k])
        at[k] = line % shape->extents[k];
    for (int32_t k = 0; k < axes; k++)
        sprintf(text + strlen(text), "%s%" PRId64, k ? ", " : "", at[k]);
    return text_of("[%s]", text);
}

static void print_line(const part *p, int64_t line, const void *elements) {
    char *place = p->leaf.shape.rank ? place_text(p, line) : text_of("%s", "");
    colour_to(stdout, DIM);
    printf("%s", place);
    colour_to(stdout, PLAIN);
    for (int64_t i = 0; i < p->width; i++)
        printf("%s%s", i || *place ? " " : "",
               pith_element_print(p->leaf.dtype, elements, i).text);
    putchar('\n');
    free(place);
}

/* ---- JSON: nested lists, accepted by numpy.array ---- */

static void open_lists(const part *p, int64_t line) {
    const pith_shape *shape = &p->leaf.shape;
    int64_t below = 1; /* lines of the list being opened */
    for (int32_t k = shape->rank - 1; k-- > 0 && line % below == 0;) {
        json_open('[');
        below *= k ? shape->extents[k] : 1;
    }
}

static void close_lists(const part *p, int64_t line) {
    const pith_shape *shape = &p->leaf.shape;
    int64_t below = 1;
    for (int32_t k = shape->rank - 1; k-- > 0 && (line + 1) % below == 0;) {
        json_close(']');
        below *= k ? shape->extents[k] : 1;
    }
}

static bool json_data(pith_scope *s, const rows *r, const part *p, int64_t number) {
    const pith_checkpoint_leaf *l = &p->leaf;
    const size_t bytes = (size_t)p->width * pith_dtype_size(l->dtype);
    const int32_t rank = l->shape.rank;
    void *elements = room_for(1, bytes ? bytes : 1);
    bool read = true;
    if (rank)
        json_open('[');
    for (int64_t i = p->first * p->lines; read && i < p->end * p->lines; i++) {
        read = pith_checkpoint_read(s, r->c, number, i * p->width, p->width, elements,
                                    bytes);
        if (!read)
            break;
        if (rank > 1)
            open_lists(p, i);
        for (int64_t k = 0; k < p->width; k++)
            json_element(l->dtype, elements, k);
        if (rank > 1)
            close_lists(p, i);
    }
    if (rank && read)
        json_close(']');
    free(elements);
    return read;
}

static int leaf_json(pith_scope *s, const rows *r, int64_t node, const part *p) {
    const char *path = pith_checkpoint_path(s, r->c, node);
    pith_shape shape = p->leaf.shape;
    if (shape.rank)
        shape.extents[0] = p->end - p->first;
    json_open('{');
    json_name("file"), json_text(r->file);
    json_name("path"), json_text(path);
    json_name("dtype"), json_text(pith_dtype_name(p->leaf.dtype));
    json_name("unit"), json_text(p->leaf.unit);
    json_name("first"), json_i64(p->first);
    json_name("shape"), json_shape(&shape);
    json_name("data");
    if (!json_data(s, r, p, r->nodes[node].leaf))
        return complain("show", "%s", pith_message(s)), TROUBLE;
    json_close('}');
    return SAME;
}

/* ---- Text ---- */

static void print_what(const pith_checkpoint_leaf *leaf) {
    char *shape = shape_text(leaf->dtype, &leaf->shape);
    char *unit = leaf->unit ? clean(leaf->unit) : NULL;
    printf("%s%s%s\n", shape, unit ? " " : "", unit ? unit : "");
    free(shape);
    free(unit);
}

static int
print_lines(pith_scope *s, const rows *r, const part *p, int64_t number, int64_t most) {
    const size_t bytes = (size_t)p->width * pith_dtype_size(p->leaf.dtype);
    void *elements = room_for(1, bytes ? bytes : 1);
    const int64_t first = p->first * p->lines, end = p->end * p->lines;
    const int64_t shown = end - first < most ? end - first : most;
    int code = SAME;
    for (int64_t i = first; code == SAME && i < first + shown; i++) {
        if (pith_checkpoint_read(s, r->c, number, i * p->width, p->width, elements,
                                 bytes)) {
            print_line(p, i, elements);
        } else {
            complain("show", "%s", pith_message(s));
            code = TROUBLE;
        }
    }
    if (code == SAME && shown < end - first)
        printf("\u2026 %" PRId64 " more\n", end - first - shown);
    free(elements);
    return code;
}

int show_leaf(pith_scope *s, const rows *r, int64_t node, const leaf_options *o) {
    pith_checkpoint_leaf leaf;
    const int64_t number = r->nodes[node].leaf;
    pith_checkpoint_get_leaf(r->c, number, &leaf);
    const part p = part_of(&leaf, o->first, o->end);
    if (o->check && !pith_checkpoint_verify(s, r->c, number)) {
        complain("show", "%s", pith_message(s));
        return pith_code(s) == PITH_E_FORMAT ? DIFFERENT : TROUBLE;
    }
    if (o->json)
        return leaf_json(s, r, node, &p);
    print_what(&leaf);
    return print_lines(s, r, &p, number, o->lines);
}
