/* Batch axes of parts of trees, by their paths. */
#include "trace/jit/jit_internal.h"
#include "trace/vmap/vmap_internal.h"

#include <string.h>

static int64_t count_of(const pith_mapped *given) {
    int64_t count = 0;
    while (given && given[count].path)
        count++;
    return count;
}

static pith_status read_part(pith_scope *s,
                             const char *function,
                             const pith_function *f,
                             const char *path,
                             bool result,
                             pithp_part_path *part) {
    if (!result)
        return pithp_part_path_read(s, function, f, path, part);
    *part = (pithp_part_path){0, path};
    return pithp_part_path_normal(s, function, f, part);
}

/* A part in another one has the longer path. */
static void insert(pithp_part_axis *list, int64_t count, pithp_part_axis next) {
    int64_t at = count;
    for (; at && strlen(list[at - 1].part.inside) > strlen(next.part.inside); at--)
        list[at] = list[at - 1];
    list[at] = next;
}

static bool is_named(const pithp_part_axis *list, int64_t count, pithp_part_path part) {
    for (int64_t k = 0; k < count; k++)
        if (list[k].part.argument == part.argument &&
            !strcmp(list[k].part.inside, part.inside))
            return true;
    return false;
}

pith_status pithp_axis_list_read(pith_scope *s,
                                 const char *function,
                                 const pith_function *f,
                                 const pith_mapped *given,
                                 bool result,
                                 pithp_axis_list *axes) {
    const int64_t count = count_of(given);
    pithp_part_axis *list = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *list);
    for (int64_t k = 0; list && k < count; k++) {
        pithp_part_axis next = {.axis = given[k].axis};
        if (read_part(s, function, f, given[k].path, result, &next.part) != PITH_OK)
            return s->error.code;
        if (is_named(list, k, next.part))
            return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: the path '%s' is named twice",
                              function, f->name, given[k].path);
        insert(list, k, next);
    }
    *axes = (pithp_axis_list){list, count};
    return s->error.code;
}

pith_status pithp_axis_list_copy(pith_scope *s, pithp_axis_list *axes) {
    size_t bytes = ((size_t)axes->count + 1) * sizeof *axes->list;
    for (int64_t k = 0; k < axes->count; k++)
        bytes += strlen(axes->list[k].part.inside) + 1;
    pithp_part_axis *list = pithp_scope_allocate(s, bytes);
    if (!list)
        return s->error.code;
    char *text = (char *)(list + axes->count + 1);
    for (int64_t k = 0; k < axes->count; k++) {
        list[k] = axes->list[k];
        list[k].part.inside = strcpy(text, axes->list[k].part.inside);
        text += strlen(text) + 1;
    }
    axes->list = list;
    return PITH_OK;
}

void pithp_axis_list_identity(const pithp_axis_list *axes, pithp_string *text) {
    for (int64_t k = 0; k < axes->count; k++) {
        const pithp_part_axis *a = &axes->list[k];
        const int numbers[2] = {a->part.argument, a->axis};
        pithp_string_add_n(text, (const char *)numbers, sizeof numbers);
        pithp_string_add_n(text, a->part.inside, strlen(a->part.inside) + 1);
    }
    pithp_string_add_n(text, "", 1);
}

int *pithp_axis_list_apply(pith_scope *s,
                           const pithp_axis_list *axes,
                           int argument,
                           const void *tree,
                           const pithp_flat *flat) {
    const size_t count = (size_t)flat->structure.item_count;
    int *of = pithp_scope_allocate(s, (count + 1) * sizeof *of);
    bool *marks = pithp_scope_allocate(s, count + 1);
    if (!of || !marks)
        return NULL;
    memset(of, 0, (count + 1) * sizeof *of);
    for (int64_t i = 0; i < axes->count; i++) {
        const pithp_part_axis *a = &axes->list[i];
        if (argument >= 0 && a->part.argument != argument)
            continue;
        memset(marks, 0, count + 1);
        pithp_jit_mark_part(s, argument, tree, a->part.inside, marks); /* absent: none */
        if (s->error.code != PITH_OK)
            return NULL;
        for (size_t k = 0; k < count; k++)
            of[k] = marks[k] ? a->axis : of[k];
    }
    return of;
}
