/* Log reader: the columns of a log as arrays, one per name. */
#include "run/log_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_COLUMNS = 1000
}; /* limits memory: many names would take columns times
    * rows */

typedef struct column {
    char name[PITHP_LOG_NAME];
    double *f64;
    int64_t *i64;
    int64_t count, room; /* filled rows; allocated rows */
    bool whole;          /* every value so far is an integer */
} column;

typedef struct table {
    pith_scope *s;
    column *columns; /* the first is "step" */
    int64_t count, room, rows;
} table;

static void table_end(table *t) {
    pith_runtime *rt = t->s->runtime;
    for (int64_t i = 0; i < t->count; i++) {
        const size_t room = (size_t)t->columns[i].room;
        pithp_release(rt, t->columns[i].f64, room * sizeof(double));
        pithp_release(rt, t->columns[i].i64, room * sizeof(int64_t));
    }
    pithp_release(rt, t->columns, (size_t)t->room * sizeof *t->columns);
}

/* Enlarge both lists of a column. */
static bool column_grow(pith_runtime *rt, column *c) {
    const int64_t room = c->room ? 2 * c->room : 64;
    double *f64 = pithp_allocate(rt, (size_t)room * sizeof *f64);
    int64_t *i64 = pithp_allocate(rt, (size_t)room * sizeof *i64);
    if (!f64 || !i64) {
        pithp_release(rt, f64, (size_t)room * sizeof *f64);
        pithp_release(rt, i64, (size_t)room * sizeof *i64);
        return false;
    }
    if (c->count) {
        memcpy(f64, c->f64, (size_t)c->count * sizeof *f64);
        memcpy(i64, c->i64, (size_t)c->count * sizeof *i64);
    }
    pithp_release(rt, c->f64, (size_t)c->room * sizeof *f64);
    pithp_release(rt, c->i64, (size_t)c->room * sizeof *i64);
    c->f64 = f64;
    c->i64 = i64;
    c->room = room;
    return true;
}

/* Fill a column with NaN up to `row`, exclusive. */
static bool column_skip(pith_runtime *rt, column *c, int64_t row) {
    while (c->count < row) {
        if (c->count == c->room && !column_grow(rt, c))
            return false;
        c->f64[c->count] = (double)NAN;
        c->i64[c->count++] = 0;
        c->whole = false;
    }
    return true;
}

static bool
column_add(pith_runtime *rt, column *c, int64_t row, const pith_run_log_value *value) {
    if (!column_skip(rt, c, row) || (c->count == c->room && !column_grow(rt, c)))
        return false;
    c->f64[c->count] = value->f64;
    c->i64[c->count++] = value->i64;
    c->whole &= value->is_integer;
    return true;
}

/* The column of a name. Names usually repeat the order of the previous row. NULL: out of
 * memory, or too many names (the scope's error is set). */
static column *column_named(table *t, const char *name, int64_t expected) {
    if (expected < t->count && strcmp(t->columns[expected].name, name) == 0)
        return &t->columns[expected];
    for (int64_t i = 0; i < t->count; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    if (t->count == MOST_COLUMNS) {
        pithp_fail(t->s, PITH_E_FORMAT, NULL, "a log has more than %d names",
                   MOST_COLUMNS);
        return NULL;
    }
    if (t->count == t->room) {
        const size_t before = (size_t)t->room * sizeof *t->columns;
        const int64_t room = t->room ? 2 * t->room : 16;
        const size_t bytes = (size_t)room * sizeof *t->columns;
        column *grown = pithp_reallocate(t->s->runtime, t->columns, before, bytes);
        if (!grown) {
            pithp_fail_memory(t->s, bytes);
            return NULL;
        }
        t->columns = grown;
        t->room = room;
    }
    column *c = &t->columns[t->count++];
    *c = (column){.whole = true};
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static pith_status put(table *t, const pith_run_log_value *value, int64_t expected) {
    column *c = column_named(t, value->name, expected);
    if (!c)
        return pith_code(t->s);
    if (c->count > t->rows)
        return pithp_fail(t->s, PITH_E_FORMAT, NULL,
                          "the log's row %lld has \"%.80s\" twice",
                          (long long)t->rows + 1, value->name);
    return column_add(t->s->runtime, c, t->rows, value) ? PITH_OK
                                                        : pithp_fail_memory(t->s, 0);
}

static pith_status read_row(table *t, pithp_log_lines *l, pithp_log_row *row) {
    pith_run_log_value value = {.name = "step", .is_integer = true, .i64 = row->step};
    char name[PITHP_LOG_NAME];
    pithp_log_found found;
    if (t->rows && row->step <= t->columns[0].i64[t->rows - 1])
        return pithp_fail(t->s, PITH_E_FORMAT, NULL,
                          "\"%s\": line %lld has step %lld, after step %lld", l->shown,
                          (long long)l->number, (long long)row->step,
                          (long long)t->columns[0].i64[t->rows - 1]);
    pith_status rc = put(t, &value, 0);
    for (int64_t i = 1; rc == PITH_OK; i++) {
        found = pithp_log_value(l, row, name, &value);
        if (found != PITHP_LOG_FOUND) {
            rc = found == PITHP_LOG_END ? PITH_OK : pith_code(t->s);
            break;
        }
        rc = put(t, &value, i);
    }
    t->rows++;
    return rc;
}

static pith_status read_rows(table *t, int file, const char *path) {
    pithp_log_lines l;
    pithp_log_row row;
    pithp_log_found found = PITHP_LOG_FOUND;
    pith_status rc = pithp_log_lines_begin(&l, t->s, file, path);
    column *step = rc == PITH_OK ? column_named(t, "step", 0) : NULL;
    if (!step)
        rc = pith_code(t->s);
    while (rc == PITH_OK && (found = pithp_log_next(&l, &row)) == PITHP_LOG_FOUND)
        rc = read_row(t, &l, &row);
    if (found == PITHP_LOG_ERROR)
        rc = pith_code(t->s);
    pithp_log_lines_end(&l);
    return rc;
}

static const pith_dict *columns_of(table *t) {
    const char *names[MOST_COLUMNS];
    const void *items[MOST_COLUMNS];
    for (int64_t i = 0; i < t->count; i++) {
        column *c = &t->columns[i];
        if (!column_skip(t->s->runtime, c, t->rows)) {
            pithp_fail_memory(t->s, 0);
            return NULL;
        }
        const pith_shape shape = {.rank = 1, .extents = {t->rows}};
        names[i] = c->name;
        items[i] = c->whole ? pith_array_copy(t->s, PITH_I64, shape, c->i64)
                            : pith_array_copy(t->s, PITH_F64, shape, c->f64);
        if (!items[i])
            return NULL;
    }
    return pith_dict_make(t->s, t->count, names, items);
}

const pith_dict *pith_run_log_read(pith_scope *s, const char *path) {
    char reason[128];
    pithp_location location;
    size_t bytes = 0;
    if (!pithp_enter(s))
        return NULL;
    if (!path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_run_log_read: path is NULL");
        return NULL;
    }
    if (pithp_location_open(s, path, &location) != PITH_OK) {
        pithp_location_close(&location);
        return NULL;
    }
    const int file = pithp_file_open(location.folder, location.name, &bytes);
    const int error = errno;
    pithp_location_close(&location);
    if (file < 0) {
        pithp_fail(s, PITH_E_IO, NULL, "cannot open \"%s\": %s", path,
                   error == EINVAL ? "it is not a regular file"
                                   : strerror_r(error, reason, sizeof reason));
        return NULL;
    }
    table t = {.s = s};
    const pith_dict *dict = read_rows(&t, file, path) == PITH_OK ? columns_of(&t) : NULL;
    table_end(&t);
    close(file);
    return dict;
}
