/* Batches: handler of the family batch. A row is a function of arrays, mapped by the
 * levels of a case. Each level is computed at once and in chunks. */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LEVELS = 4, PATH_BYTES = 32 };

/* Operands and the function, whose name is static. */
typedef struct {
    const char *op;
    const void *operands;
} Entry;
PITH_NODE(Entry, PITH_STATIC(op), PITH_TREE(operands))

/* The results of one entry as a tuple. */
static const void *results(pith_scope *s, const Entry *entry) {
    const oracle_row *row = oracle_find("batch", entry->op);
    const pith_array *in[ORACLE_OPERANDS] = {NULL}, *out[ORACLE_RESULTS] = {NULL};
    for (int64_t i = 0; i < pith_child_count(entry->operands); i++)
        in[i] = pith_child(entry->operands, i);
    row->function(s, in, out);
    return pith_failed(s) ? NULL
                          : pith_tuple_make(s, row->outputs, (const void *const *)out);
}
PITH_FUNCTION1(results_of, results, void, Entry)

/* Axes of a level: a number or null for each operand or result. */
typedef struct {
    pith_mapped list[ORACLE_OPERANDS + 1];
    char paths[ORACLE_OPERANDS][PATH_BYTES];
} axes;

static const pith_mapped *
read_axes(const golden_json *list, const char *format, axes *to) {
    const int count = golden_length(list);
    for (int k = 0; k < count; k++) {
        const golden_json *axis = golden_item(list, k);
        snprintf(to->paths[k], sizeof to->paths[k], "%s[%d]", format, k);
        to->list[k] =
            (pith_mapped){to->paths[k], axis->kind == 'n' ? (int)golden_integer(axis)
                                                          : PITH_NOT_MAPPED};
    }
    to->list[count] = (pith_mapped){NULL, 0};
    return to->list;
}

/* The last level is applied to the function first. */
static const pith_function *
mapped(pith_scope *s, const golden_json *levels, int64_t chunk) {
    const pith_function *f = &results_of;
    for (int k = golden_length(levels); k-- > 0;) {
        const golden_json *level = golden_item(levels, k);
        axes in, out;
        f = pith_vmap(
            s, f,
            &(pith_vmap_options){
                .in = read_axes(golden_get(level, "in_axes"), "[0].operands", &in),
                .out = read_axes(golden_get(level, "out_axes"), "", &out),
                .chunk = chunk});
    }
    return f;
}

void oracle_batch(pith_scope *s, const oracle_row *row, oracle_call *call) {
    static const struct {
        const char *name;
        int64_t chunk;
    } ways[] = {{"pith_vmap", 0}, {"one at a time", 1}, {"three at a time", 3}};
    const golden_json *levels = oracle_list(call, "levels");
    const Entry *all = pith_record(
        s, Entry, .op = row->op,
        .operands = pith_tuple_make(s, call->count, (const void *const *)call->in));
    for (size_t w = 0; w < sizeof ways / sizeof *ways && !pith_failed(s); w++) {
        const pith_function *f = mapped(s, levels, ways[w].chunk);
        const void *got = pith_failed(s) ? NULL : pith_apply(s, f, all);
        call->ways[call->way_count++] = ways[w].name;
        for (int k = 0; k < row->outputs; k++)
            call->out[call->results++] = got ? pith_child(got, k) : NULL;
    }
}
