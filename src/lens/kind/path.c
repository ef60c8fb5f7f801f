/* The part that is a path: steps from a node to a place, which may be a row of a leaf or
 * a static. */
#include "lens/lens_internal.h"

#include <string.h>

static pith_status copy_path(pith_scope *s, pithp_lens_part *p) {
    const size_t bytes = (size_t)p->count * sizeof *p->steps;
    pithp_lens_step *steps = pithp_lens_allocate(s, bytes);
    p->text = pithp_lens_copy_text(s, p->text);
    if (!steps || !p->text)
        return s->error.code;
    memcpy(steps, p->steps, bytes);
    p->steps = steps;
    for (int32_t i = 0; i < p->count; i++)
        if ((steps[i].kind == PITHP_LENS_NAME || steps[i].kind == PITHP_LENS_KEY) &&
            !(steps[i].name = pithp_lens_copy_text(s, steps[i].name)))
            return s->error.code;
    return PITH_OK;
}

/* Two paths as one, in the place of the first. */
static bool join_path(pith_scope *s, pithp_lens_part *a, const pithp_lens_part *b) {
    const size_t count = (size_t)(a->count + b->count), length = strlen(a->text);
    pithp_lens_step *steps = pithp_lens_allocate(s, count * sizeof *steps);
    char *text = steps ? pithp_lens_allocate(s, length + strlen(b->text) + 1) : NULL;
    if (!text)
        return false;
    memcpy(steps, a->steps, (size_t)a->count * sizeof *steps);
    memcpy(steps + a->count, b->steps, (size_t)b->count * sizeof *steps);
    for (size_t i = (size_t)a->count; i < count; i++)
        steps[i].end += length;
    memcpy(text, a->text, length);
    strcpy(text + length, b->text);
    a->steps = steps;
    a->text = text;
    a->count = (int32_t)count;
    return true;
}

/* ---- Getting ---- */

static const void *
get_path(pith_scope *s, const pithp_lens_part *parts, int32_t count, const void *node) {
    pithp_lens_place place;
    if (pithp_lens_follow(s, parts, node, &place, NULL) != PITH_OK)
        return NULL;
    const void *found = pithp_lens_value_at(s, &place);
    found = pithp_lens_look_behind(s, parts, count, found);
    if (s->error.code != PITH_OK)
        pithp_error_prefix(s, parts->text);
    return found;
}

/* ---- Setting ---- */

const void *pithp_lens_set_row(pith_scope *s,
                               const pith_array *leaf,
                               int32_t count,
                               const int64_t *row,
                               const void *value) {
    if (!value || !pithp_kind_is_array(value)) {
        pithp_string got;
        pithp_string_begin(&got, s->runtime);
        pithp_node_describe(&got, value);
        pithp_fail(s, PITH_E_TYPE, NULL, "expected an array for a row, got %s",
                   got.bytes);
        pithp_string_end(&got);
        return NULL;
    }
    pith_index_entry entries[PITH_MAX_RANK];
    for (int32_t i = 0; i < count; i++)
        entries[i] = PITH_ENTRY_AT(row[i]);
    return pith_scatter(pithp_on_behalf(s), PITH_SCATTER_SET, leaf, count, entries, value,
                        NULL);
}

/* A row is set by its indices from the beginning: the same row has one place. */
static pith_status
add_row(pithp_lens_edits *e, const pithp_lens_place *place, const void *value) {
    const int64_t depth = e->trail.depth;
    const int64_t *extents = pithp_array_spec(place->node)->shape;
    pith_status rc = PITH_OK;
    for (int32_t i = 0; i < place->row_count && rc == PITH_OK; i++) {
        const int64_t index = place->rows[i].index;
        if (!pithp_lens_trail_add(&e->trail, index < 0 ? index + extents[i] : index))
            rc = pithp_fail_memory(e->s, (size_t)e->trail.room * sizeof index);
    }
    if (rc == PITH_OK)
        rc = pithp_lens_edits_add(
            e, &(pithp_lens_edit){.rows = place->row_count, .value = value});
    e->trail.depth = depth;
    return rc;
}

static pith_status expand_place(pithp_lens_edits *e,
                                const pithp_lens_part *rest,
                                int32_t count,
                                const pithp_lens_place *place,
                                const void *value) {
    pith_scope *s = e->s;
    if (!place->field && !place->rows)
        return pithp_lens_expand(e, rest, count, place->node, value);
    if (count) { /* computed from what is there */
        const void *there = pithp_lens_value_at(s, place);
        if (s->error.code == PITH_OK)
            value = pithp_lens_set_in(e, rest, count, there, value);
    }
    if (s->error.code != PITH_OK)
        return s->error.code;
    return place->rows ? add_row(e, place, value)
                       : pithp_lens_edits_add(e, &(pithp_lens_edit){.value = value});
}

static pith_status set_path(pithp_lens_edits *e,
                            const pithp_lens_part *parts,
                            int32_t count,
                            const void *node,
                            const void *value) {
    const int64_t depth = e->trail.depth;
    pithp_lens_place place;
    pith_status rc = pithp_lens_follow(e->s, parts, node, &place, &e->trail);
    if (rc == PITH_OK) {
        rc = expand_place(e, parts + 1, count - 1, &place, value);
        if (rc != PITH_OK)
            pithp_error_prefix(e->s, parts->text);
    }
    e->trail.depth = depth;
    return rc;
}

static void path_text(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add(t, part->text);
}

static void add_identity(pithp_string *t, const pithp_lens_part *part) {
    pithp_string_add_n(t, part->text, strlen(part->text) + 1);
    for (int32_t i = 0; i < part->count; i++) {
        const pithp_lens_step *step = &part->steps[i];
        pithp_string_add_n(t, (const char *)&step->kind, sizeof step->kind);
        pithp_string_add_n(t, (const char *)&step->number, sizeof step->number);
        pithp_string_add_n(t, (const char *)&step->type, sizeof step->type);
    }
}

const pithp_lens_kind pithp_lens_path_kind = {.copy = copy_path,
                                              .join = join_path,
                                              .get = get_path,
                                              .set = set_path,
                                              .text = path_text,
                                              .identity = add_identity};
