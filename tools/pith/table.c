/* Tables on a terminal: columns fit their content, lines fit the terminal. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { WIDEST_FIRST = 48, WIDEST = 40, GAP = 2 };

table_row *table_add(table *t) {
    if (t->count == t->room) {
        const int64_t room = t->room ? 2 * t->room : 32;
        table_row *grown = room_for((size_t)room, sizeof *grown);
        if (t->count)
            memcpy(grown, t->rows, (size_t)t->count * sizeof *grown);
        free(t->rows);
        t->rows = grown;
        t->room = room;
    }
    return &t->rows[t->count++];
}

void table_end(table *t) {
    for (int64_t i = 0; i < t->count; i++) {
        free(t->rows[i].frame);
        for (int j = 0; j < CELLS; j++)
            free(t->rows[i].cells[j].text);
    }
    free(t->rows);
    *t = (table){0};
}

static int width_of(const table_row *row, int i) {
    const int frame = i == 0 && row->frame ? columns(row->frame) : 0;
    return frame + (row->cells[i].text ? columns(row->cells[i].text) : 0);
}

/* A few very wide cells do not widen their column: they overflow. */
static void measure(const table *t, int widths[CELLS]) {
    for (int i = 0; i < CELLS; i++) {
        widths[i] = 0;
        for (int64_t r = 0; r < t->count; r++) {
            bool more = false;
            for (int j = i + 1; j < CELLS; j++)
                more |= t->rows[r].cells[j].text != NULL;
            const int width = width_of(&t->rows[r], i);
            if (more && width <= (i ? WIDEST : WIDEST_FIRST) && width > widths[i])
                widths[i] = width;
        }
    }
}

/* Write text, at most `room` columns of it (negative: all); returns the columns
 * written. */
static int put(FILE *out, const char *text, colour c, int room) {
    const int width = columns(text);
    if (c != PLAIN)
        colour_to(out, c);
    if (room < 0 || width <= room) {
        fputs(text, out);
    } else if (room > 0) {
        int count = 0;
        const char *end = text;
        while (*end && (count += (*end & 0xC0) != 0x80) < room)
            end++;
        fwrite(text, 1, (size_t)(end - text), out);
        fputs("\u2026", out);
    }
    if (c != PLAIN)
        colour_to(out, PLAIN);
    return room < 0 || width <= room ? width : room;
}

static void
print_row(const table_row *row, FILE *out, const int widths[CELLS], int width) {
    int at = 0, column = 0;
    for (int i = 0; i < CELLS; i++) {
        const cell *c = &row->cells[i];
        const int wide = width_of(row, i);
        if (wide) {
            const int indent = c->right && wide < widths[i] ? widths[i] - wide : 0;
            const int from = column + indent > at ? column + indent : i ? at + GAP : at;
            for (; at < from; at++)
                fputc(' ', out);
            if (i == 0 && row->frame)
                at += put(out, row->frame, DIM, width ? width - at : -1);
            if (c->text)
                at += put(out, c->text, c->colour, width ? width - at : -1);
        }
        if (widths[i])
            column += widths[i] + GAP;
    }
    fputc('\n', out);
}

void table_print(const table *t, FILE *out, int width) {
    int widths[CELLS];
    measure(t, widths);
    for (int64_t i = 0; i < t->count; i++)
        print_row(&t->rows[i], out, widths, width);
}
