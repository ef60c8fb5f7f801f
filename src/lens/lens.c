/* Lens objects: making, joining and keeping. A lens owns copies of its parts in its
 * scope. Process-wide lenses are made once and never freed. */
#include "lens/lens_internal.h"

#include <stdio.h>
#include <string.h>

static const void *keep_lens(pith_scope *outer, const void *object);
const pithp_class pithp_lens_class = {"a lens", keep_lens};

/* Replaces a process-wide lens if memory is exhausted. */
static const struct pith_lens no_memory = {
    .error = "out of memory: no room for a lens of the process"};

/* ---- Drafts ---- */

void *pithp_lens_allocate(pith_scope *s, size_t bytes) {
    return s ? pithp_scope_allocate(s, bytes) : pithp_permanent(bytes);
}

pithp_lens_part *pithp_lens_add(pithp_lens_draft *d, const pithp_lens_part *part) {
    int32_t *count = &d->lens.part_count;
    pithp_lens_part *last = *count ? &d->parts[*count - 1] : NULL;
    if (last && last->kind == part->kind && part->kind->join)
        return part->kind->join(d->s, last, part) ? last : NULL;
    if (*count == d->room) {
        const int32_t room = d->room ? 2 * d->room : 2;
        pithp_lens_part *parts = pithp_lens_allocate(d->s, (size_t)room * sizeof *parts);
        if (!parts)
            return NULL;
        if (*count)
            memcpy(parts, d->parts, (size_t)*count * sizeof *parts);
        d->parts = parts;
        d->room = room;
    }
    d->parts[*count] = *part;
    return &d->parts[(*count)++];
}

const char *pithp_lens_copy_text(pith_scope *s, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = pithp_lens_allocate(s, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static pith_status copy_part(pith_scope *s, pithp_lens_part *part) {
    return part->kind->copy ? part->kind->copy(s, part) : PITH_OK;
}

/* Append copies of a lens's parts. */
static pith_status add_parts(pithp_lens_draft *d, const pith_lens *lens) {
    for (int32_t i = 0; i < lens->part_count; i++) {
        pithp_lens_part part = lens->parts[i];
        if (copy_part(d->s, &part) != PITH_OK || !pithp_lens_add(d, &part))
            return d->s->error.code;
    }
    d->lens.end = lens->end;
    d->lens.end_type = lens->end_type;
    return PITH_OK;
}

static bool is_direct(const pith_lens *lens) {
    if (!lens->type || lens->part_count != 1 ||
        lens->parts->kind != &pithp_lens_path_kind)
        return false;
    for (int32_t i = 0; i < lens->parts->count; i++)
        if (lens->parts->steps[i].kind != PITHP_LENS_SLOT)
            return false;
    return true;
}

const pith_lens *pithp_lens_finish(pithp_lens_draft *d) {
    d->lens.parts = d->parts;
    d->lens.direct = is_direct(&d->lens);
    const size_t bytes = sizeof(pithp_header) + sizeof d->lens;
    pithp_header *h =
        d->s ? pithp_slab_make(d->s, bytes) : (pithp_header *)pithp_permanent(bytes);
    if (!h)
        return NULL;
    *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                        .kind = PITHP_KIND_CLASS,
                        .descriptor = &pithp_lens_class};
    return memcpy(h + 1, &d->lens, sizeof d->lens);
}

const pith_lens *pithp_lens_copy(pith_scope *s, const pith_lens *lens) {
    pithp_lens_draft d = {.s = s, .lens = {.type = lens->type}};
    return add_parts(&d, lens) == PITH_OK ? pithp_lens_finish(&d) : NULL;
}

static const void *keep_lens(pith_scope *outer, const void *object) {
    return pithp_lens_copy(outer, object);
}

const pith_lens *
pithp_lens_extend(pith_scope *s, const pith_lens *lens, const pithp_lens_part *part) {
    pithp_lens_draft d = {.s = s, .lens = {.type = lens->type}};
    if (add_parts(&d, lens) != PITH_OK)
        return NULL;
    d.lens.end = PITHP_LENS_END_ANY;
    d.lens.end_type = NULL;
    pithp_lens_part *added = pithp_lens_add(&d, part);
    return added && copy_part(s, added) == PITH_OK ? pithp_lens_finish(&d) : NULL;
}

const pith_lens *
pithp_lens_of_part(pith_scope *s, const pith_type *type, const pithp_lens_part *part) {
    pithp_lens_draft d = {.s = s, .lens = {.type = type}};
    pithp_lens_part *added = pithp_lens_add(&d, part);
    return added && copy_part(s, added) == PITH_OK ? pithp_lens_finish(&d) : NULL;
}

/* ---- Checking what users pass ---- */

pith_status
pithp_lens_check_open(pith_scope *s, const pith_lens *lens, const char *function) {
    const pithp_lens_part *last =
        lens->part_count ? &lens->parts[lens->part_count - 1] : NULL;
    if (!last || !last->kind->leaves)
        return PITH_OK;
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    last->kind->text(&text, last);
    pithp_fail(s, PITH_E_ARG, NULL,
               "%s: the lens ends in %s, which must be the last part", function,
               text.bytes);
    pithp_string_end(&text);
    return PITH_E_ARG;
}

pith_status pithp_lens_check(pith_scope *s,
                             const pith_lens *lens,
                             const char *function,
                             const char *name) {
    pithp_block *block = NULL;
    const pithp_pointer verdict =
        lens == &no_memory ? PITHP_POINTER_OK : pithp_pointer_check(lens, &block);
    if (verdict != PITHP_POINTER_OK)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: expected a lens, got %s%s",
                          function, name, lens ? "a pointer that is " : "",
                          pithp_pointer_text(verdict));
    if (block && (pithp_header_of(lens)->kind != PITHP_KIND_CLASS ||
                  pithp_header_of(lens)->descriptor != &pithp_lens_class))
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: expected a lens, got another object", function, name);
    if (block && block->runtime && block->runtime != s->runtime)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: it belongs to another runtime",
                          function, name);
    if (PITHP_UNLIKELY(lens->error))
        return pithp_fail(s, lens == &no_memory ? PITH_E_MEMORY : PITH_E_PATH, NULL,
                          "%s: %s: %s", function, name, lens->error);
    return PITH_OK;
}

pith_status
pithp_lens_check_type(pith_scope *s, const void *node, const pith_type *type) {
    if (node && pithp_kind_of(node) == PITHP_KIND_RECORD &&
        pithp_node_def_of(node)->type == type)
        return PITH_OK;
    pithp_string got;
    pithp_string_begin(&got, s->runtime);
    pithp_node_describe(&got, node);
    pithp_fail(s, PITH_E_TYPE, NULL, "expected %s, got %s", type->name, got.bytes);
    pithp_string_end(&got);
    return PITH_E_TYPE;
}

pith_status pithp_lens_check_root(pith_scope *s,
                                  const pith_lens *lens,
                                  const void *root,
                                  const char *function) {
    pith_status rc = pithp_tree_check(s, root, function, "root");
    if (rc == PITH_OK && lens->type) {
        rc = pithp_lens_check_type(s, root, lens->type);
        if (rc != PITH_OK)
            pithp_error_context(s, "%s: root", function);
    }
    return rc;
}

/* ---- Process-wide lenses ---- */

static const pith_lens *refusing(const char *why) {
    pithp_lens_draft d = {.lens = {.error = pithp_lens_copy_text(NULL, why)}};
    return d.lens.error ? pithp_lens_finish(&d) : NULL;
}

const pith_lens *
pith_lens_register(const pith_type *type, const char *part, const pith_lens **cache) {
    char why[PITHP_MESSAGE_BYTES] = "";
    pithp_lens_draft d = {
        .why = why,
        .lens = {.type = type, .end = PITHP_LENS_END_RECORD, .end_type = type}};
    const pith_lens *lens = NULL;
    pith_status rc = PITH_E_PATH;
    if (!pithp_type_valid(type) || type->error || !part)
        snprintf(why, sizeof why, "pith_lens_register: %s",
                 !pithp_type_valid(type) ? "expected a record type"
                 : type->error           ? type->error
                                         : "part is NULL");
    else if ((rc = pithp_lens_add_member(&d, part)) == PITH_OK)
        lens = pithp_lens_finish(&d);
    if (rc == PITH_E_PATH)
        lens = refusing(why);
    if (!lens)
        return &no_memory;
    if (cache)
        __atomic_store_n(cache, lens, __ATOMIC_RELEASE);
    return lens;
}

const pith_lens *pith_lens_identity(void) {
    static const pith_lens *cache;
    const pith_lens *identity = __atomic_load_n(&cache, __ATOMIC_ACQUIRE);
    if (!identity) { /* two threads may both make one; either is valid */
        identity = pithp_lens_finish(&(pithp_lens_draft){0});
        __atomic_store_n(&cache, identity, __ATOMIC_RELEASE);
    }
    return identity ? identity : &no_memory;
}

/* ---- Makers ---- */

const pith_lens *pith_lens_path(pith_scope *s, const pith_type *type, const char *path) {
    if (!pithp_enter(s))
        return NULL;
    if ((type && (!pithp_type_valid(type) || type->error)) || !path) {
        pithp_fail(s, type && path ? PITH_E_TYPE : PITH_E_ARG, NULL, "pith_lens_path: %s",
                   !path                     ? "path is NULL"
                   : !pithp_type_valid(type) ? "expected a record type"
                                             : type->error);
        return NULL;
    }
    pithp_lens_draft d = {.s = s, .lens = {.type = type, .end_type = type}};
    d.lens.end = type ? PITHP_LENS_END_RECORD : PITHP_LENS_END_ANY;
    return pithp_lens_add_path(&d, path) == PITH_OK ? pithp_lens_finish(&d) : NULL;
}

const pith_lens *pith_lens_focus(pith_scope *s, const pith_lens *lens, const char *path) {
    if (!pithp_enter(s) ||
        pithp_lens_check(s, lens, "pith_lens_focus", "lens") != PITH_OK)
        return NULL;
    if (!path) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_lens_focus: path is NULL");
        return NULL;
    }
    if (*path && pithp_lens_check_open(s, lens, "pith_lens_focus") != PITH_OK)
        return NULL;
    pithp_lens_draft d = {.s = s, .lens = {.type = lens->type}};
    return add_parts(&d, lens) == PITH_OK && pithp_lens_add_path(&d, path) == PITH_OK
               ? pithp_lens_finish(&d)
               : NULL;
}

/* Check that the focus of a lens can be the root of another. */
static pith_status
check_joint(pith_scope *s, const pith_lens *outer, const pith_lens *inner) {
    if (!inner->type || outer->end == PITHP_LENS_END_ANY ||
        outer->end_type == inner->type)
        return PITH_OK;
    return pithp_fail(
        s, PITH_E_TYPE, NULL,
        "pith_lens_nest: the inner lens applies to %s, the outer one ends in %s",
        inner->type->name,
        outer->end == PITHP_LENS_END_RECORD ? outer->end_type->name
        : outer->end == PITHP_LENS_END_LEAF ? "a leaf"
                                            : "a static");
}

const pith_lens *
pith_lens_nest(pith_scope *s, const pith_lens *outer, const pith_lens *inner) {
    if (!pithp_enter(s) ||
        pithp_lens_check(s, outer, "pith_lens_nest", "outer") != PITH_OK ||
        pithp_lens_check(s, inner, "pith_lens_nest", "inner") != PITH_OK ||
        (inner->part_count &&
         pithp_lens_check_open(s, outer, "pith_lens_nest") != PITH_OK) ||
        check_joint(s, outer, inner) != PITH_OK)
        return NULL;
    const bool whole = outer->part_count == 0 && !outer->type;
    const bool unsure = inner->type && !whole && outer->end == PITHP_LENS_END_ANY;
    const pithp_lens_part check = {.kind = &pithp_lens_check_kind, .type = inner->type};
    pithp_lens_draft d = {.s = s, .lens = {.type = whole ? inner->type : outer->type}};
    if (add_parts(&d, outer) != PITH_OK || (unsure && !pithp_lens_add(&d, &check)))
        return NULL;
    if ((inner->part_count || inner->type) && add_parts(&d, inner) != PITH_OK)
        return NULL;
    return pithp_lens_finish(&d);
}
