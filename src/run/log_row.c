/* Log rows from records of scalars: validation of such a record, and its values by name.
 */
#include "pith/checkpoint.h"

#include "run/monitor.h"

#include <string.h>

pith_status pithp_row_check(pith_scope *s, const void *row) {
    const pith_type *type = pith_type_of(row);
    if (!type)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "log_row: expected a record of scalars, got another tree");
    const pithp_node_def *node_def = pithp_node_def_of(row);
    for (int64_t i = 0; i < node_def->slot_count; i++) {
        const void *leaf = *pithp_slot(row, node_def, i);
        char path[300], got[PITHP_SPEC_TEXT_BYTES];
        snprintf(path, sizeof path, ".%.290s", pithp_slot_name(node_def, i));
        if (!leaf)
            continue;
        if (pith_kind(leaf) != PITH_NODE_LEAF)
            return pithp_fail(s, PITH_E_ARG, path,
                              "log_row: expected a scalar, got a tree");
        if (pith_array_spec(leaf)->rank)
            return pithp_fail(s, PITH_E_ARG, path, "log_row: expected a scalar, got %s",
                              pithp_spec_print(pith_array_spec(leaf), got));
    }
    for (int32_t i = 0; i < type->static_count; i++)
        if (!pithp_static_kinds[type->statics[i].kind].is_number) {
            char path[300];
            snprintf(path, sizeof path, ".%.290s",
                     type->fields[type->statics[i].field].declared.name);
            return pithp_fail(s, PITH_E_ARG, path, "log_row: expected a number");
        }
    return PITH_OK;
}

/* ---- Writing ---- */

/* The log rows of one call. */
typedef struct {
    int64_t count, steps;
    pith_run_log_value *values; /* [steps, count + 1], each row ended by a NULL name */
} table;

static void
set_number(pith_run_log_value *v, pith_dtype dtype, const void *at, int64_t k) {
    uint64_t wide = 0;
    v->f64 = pith_element_f64(dtype, at, k);
    if (pith_dtype_is_float(dtype))
        return;
    const size_t bytes = pith_dtype_size(dtype);
    memcpy(&wide, (const char *)at + (size_t)k * bytes, bytes);
    const int unused = 64 - 8 * (int)bytes;
    v->is_integer = dtype != PITH_U64 || wide <= INT64_MAX;
    v->i64 = pithp_dtype_is_signed(dtype) ? (int64_t)(wide << unused) >> unused
                                          : (int64_t)wide;
}

static pith_status add_leaf(pith_scope *s,
                            table *t,
                            int64_t column,
                            const char *name,
                            const pith_array *leaf) {
    const pith_spec *spec = pith_array_spec(leaf);
    void *elements = pithp_scope_allocate(s, spec->bytes + 1);
    if (!elements || !pith_read(s, leaf, elements, spec->bytes))
        return s->error.code;
    for (int64_t k = 0; k < t->steps; k++) {
        pith_run_log_value *v = &t->values[k * (t->count + 1) + column];
        *v = (pith_run_log_value){.name = name};
        set_number(v, spec->dtype, elements, k);
    }
    return PITH_OK;
}

static void
add_static(table *t, int64_t column, const pith_type *type, int32_t i, const void *row) {
    const pithp_static_value value =
        pithp_static_read(&type->fields[type->statics[i].field].declared, row);
    const pith_run_log_value v = {.name =
                                      type->fields[type->statics[i].field].declared.name,
                                  .is_integer = value.kind != PITH_STATIC_KIND_F64,
                                  .i64 = value.i64,
                                  .f64 = value.f64};
    for (int64_t k = 0; k < t->steps; k++)
        t->values[k * (t->count + 1) + column] = v;
}

/* Fill in the leaves, then the statics. */
static pith_status fill(pith_scope *s, table *t, const void *row) {
    const pith_type *type = pith_type_of(row);
    const pithp_node_def *node_def = pithp_node_def_of(row);
    int64_t column = 0;
    for (int64_t i = 0; i < node_def->slot_count; i++) {
        const pith_array *leaf = *pithp_slot(row, node_def, i);
        if (leaf &&
            add_leaf(s, t, column++, pithp_slot_name(node_def, i), leaf) != PITH_OK)
            return s->error.code;
    }
    for (int32_t i = 0; i < type->static_count; i++)
        add_static(t, column++, type, i, row);
    return PITH_OK;
}

pith_status pithp_rows_write(pith_scope *s,
                             const pithp_monitor *w,
                             const pithp_monitored *seen,
                             int64_t first,
                             int64_t steps) {
    if (!seen->row)
        return PITH_OK;
    pith_scope *work = pith_scope_open_in(s);
    table t = {.steps = seen->stacked ? steps : 1};
    const int64_t end = first + steps;
    t.count = pith_child_count(seen->row) + pith_type_of(seen->row)->static_count;
    t.values =
        pithp_scope_allocate(work, (size_t)(t.steps * (t.count + 1)) * sizeof *t.values);
    if (t.values) {
        memset(t.values, 0, (size_t)(t.steps * (t.count + 1)) * sizeof *t.values);
        fill(work, &t, seen->row);
    }
    for (int64_t k = 0; k < t.steps && !pith_failed(work); k++) {
        const int64_t step = end - t.steps + k;
        if (step > w->row_after && step % w->row_every == 0)
            pith_run_log_add(work, w->log, step, &t.values[k * (t.count + 1)]);
    }
    pith_scope_close(work);
    return s->error.code;
}
