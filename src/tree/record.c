/* Records: freezing interns the statics of a struct in a node definition, and checks its
 * leaves and children once. A second freeze of the same type with leaves of the same
 * specs only compares pointers. */
#include "tree/node_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Checks of arguments ---- */

/* Check whether a pointer is a tree usable in s; if not, prints the reason. */
static pith_status
check_usable(pith_scope *s, const void *tree, char reason[PITHP_REASON_BYTES]) {
    pithp_block *block = NULL;
    const pithp_pointer verdict = pithp_pointer_check(tree, &block);
    if (verdict != PITHP_POINTER_OK) {
        snprintf(reason, PITHP_REASON_BYTES, "expected a tree, got %s%s",
                 tree ? "a pointer that is " : "", pithp_pointer_text(verdict));
        return PITH_E_ARG;
    }
    const pithp_header *h = pithp_header_of(tree);
    const bool array = h->kind == PITHP_KIND_ARRAY;
    if (h->kind > PITHP_KIND_NONE) {
        snprintf(reason, PITHP_REASON_BYTES, "expected a tree, got another object");
    } else if (!array && (h->flags & PITHP_FLAG_INITIAL)) {
        snprintf(reason, PITHP_REASON_BYTES,
                 "expected a frozen record, got the initial values of %s",
                 pithp_node_def_of(tree)->type->name);
    } else if (!array && (h->flags & PITHP_FLAG_NIL)) {
        const char *site = s->cleared_site;
        snprintf(
            reason, PITHP_REASON_BYTES,
            "expected a frozen record, got the nil record of %s, which a failed call "
            "returned%s%s%s",
            pithp_node_def_of(tree)->type->name, site[0] ? " (" : "", site,
            site[0] ? ")" : "");
    } else if (block->runtime != s->runtime) {
        snprintf(reason, PITHP_REASON_BYTES, "it belongs to another runtime");
    } else if (array && (h->extra & PITHP_ARRAY_DONATED)) {
        const char *at, *where = pithp_array_donated_at(tree, &at);
        snprintf(reason, PITHP_REASON_BYTES, "the array was donated%s%s", where, at);
        return PITH_E_DONATED;
    } else {
        return PITH_OK;
    }
    return PITH_E_ARG;
}

pith_status pithp_child_check(pith_scope *s, const void *child, const char *path) {
    char reason[PITHP_REASON_BYTES];
    const pith_status rc = check_usable(s, child, reason);
    return rc == PITH_OK ? rc : pithp_fail(s, rc, path, "%s", reason);
}

pith_status pithp_tree_check(pith_scope *s,
                             const void *tree,
                             const char *function,
                             const char *name) {
    char reason[PITHP_REASON_BYTES];
    pithp_block *block = NULL;
    if (PITHP_LIKELY(pithp_pointer_check(tree, &block) == PITHP_POINTER_OK &&
                     block->runtime == s->runtime)) {
        const pithp_header *h = pithp_header_of(tree);
        if (PITHP_LIKELY(h->kind == PITHP_KIND_ARRAY ? !(h->extra & PITHP_ARRAY_DONATED)
                                                     : h->kind <= PITHP_KIND_NONE &&
                                                           !(h->flags & PITHP_FLAG_NIL)))
            return PITH_OK;
    }
    const pith_status rc = check_usable(s, tree, reason);
    return pithp_fail(s, rc, NULL, "%s: %s: %s", function, name, reason);
}

/* ---- Making records ---- */

/* Allocate a node of a held node definition, with its statics; the caller sets the
 * slots. */
static void *make_node(pith_scope *s, const pithp_node_def *node_def) {
    pithp_header *h = pithp_slab_make(s, sizeof *h + node_def->payload_bytes);
    if (PITHP_UNLIKELY(!h))
        return NULL;
    *h = (pithp_header){.magic = PITHP_OBJECT_MAGIC,
                        .kind = (uint8_t)node_def->kind,
                        .descriptor = node_def};
    return memcpy(h + 1, node_def->statics, node_def->payload_bytes);
}

static void unmake_node(void *node) {
    pithp_header_of(node)->kind = PITHP_KIND_FREE;
}

static void field_path(const pith_type *type, int32_t slot, char path[PITHP_PATH_BYTES]) {
    snprintf(path, PITHP_PATH_BYTES, ".%s",
             type->fields[type->slot_fields[slot]].declared.name);
}

/* The first item of a list or dict that is not a record of the type; -1: none. */
static int64_t first_misfit(const void *container, const pith_type *type) {
    const pithp_node_def *node_def = pithp_node_def_of(container);
    for (int64_t i = 0; i < node_def->slot_count; i++) {
        const pithp_header *h = pithp_header_of(*pithp_slot(container, node_def, i));
        if (h->kind != PITHP_KIND_RECORD ||
            ((const pithp_node_def *)h->descriptor)->type != type)
            return i;
    }
    return -1;
}

/* Report that a value has another kind or type than expected. */
static pith_status
refuse_kind(pith_scope *s, const char *path, const char *expected, const void *child) {
    static const char *const kinds[] = {[PITHP_KIND_FREE] = "a dropped object",
                                        [PITHP_KIND_ARRAY] = "an array",
                                        [PITHP_KIND_RECORD] = "a record",
                                        [PITHP_KIND_LIST] = "a list",
                                        [PITHP_KIND_TUPLE] = "a tuple",
                                        [PITHP_KIND_DICT] = "a dict",
                                        [PITHP_KIND_NONE] = "none"};
    const pithp_kind kind = pithp_kind_of(child);
    if (kind == PITHP_KIND_RECORD)
        return pithp_fail(s, PITH_E_TYPE, path, "expected %s, got a record of %s",
                          expected, pithp_node_def_of(child)->type->name);
    return pithp_fail(s, PITH_E_TYPE, path, "expected %s, got %s", expected, kinds[kind]);
}

static pith_status
refuse_item(pith_scope *s, const pith_type *type, const char *path, const void *in) {
    const pithp_node_def *node_def = pithp_node_def_of(in);
    const int64_t item = first_misfit(in, type);
    pithp_string at;
    pithp_string_begin(&at, s->runtime);
    pithp_string_add(&at, path);
    pithp_path_add_slot(&at, node_def, item);
    const pith_status rc =
        refuse_kind(s, at.bytes, type->name, *pithp_slot(in, node_def, item));
    pithp_string_end(&at);
    return rc;
}

/* The declaration of a slot in words. */
static const char *
expected_of(const pith_type *type, int32_t slot, char text[PITHP_REASON_BYTES]) {
    const pithp_slot_info *info = &type->slots[slot];
    switch ((pithp_slot_kind)info->kind) {
        case PITHP_SLOT_LEAF:
            return type->fields[info->field].declared.spec;
        case PITHP_SLOT_CHILD:
            return info->child->name;
        case PITHP_SLOT_TREE:
            return "a tree";
        case PITHP_SLOT_LIST:
        case PITHP_SLOT_DICT:
            break;
    }
    snprintf(text, PITHP_REASON_BYTES, "a %s of %s",
             info->kind == PITHP_SLOT_LIST ? "list" : "dict", info->child->name);
    return text;
}

/* Report the fault of a slot. */
static pith_status
refuse_slot(pith_scope *s, const pith_type *type, int32_t slot, const void *child) {
    char path[PITHP_PATH_BYTES], text[PITHP_REASON_BYTES];
    const pithp_slot_info *info = &type->slots[slot];
    const char *expected = expected_of(type, slot, text);
    field_path(type, slot, path);
    if (!child)
        return pithp_fail(s, PITH_E_ARG, path, "expected %s, got NULL", expected);
    if (pithp_child_check(s, child, path) != PITH_OK)
        return s->error.code;
    const pithp_kind kind = pithp_kind_of(child);
    return (info->kind == PITHP_SLOT_LIST && kind == PITHP_KIND_LIST) ||
                   (info->kind == PITHP_SLOT_DICT && kind == PITHP_KIND_DICT)
               ? refuse_item(s, info->child, path, child)
               : refuse_kind(s, path, expected, child);
}

/* Facts about all slots of a record from one pass. */
typedef struct {
    const void *node;
    bool same_specs; /* the specs equal those of the recent entry */
    bool keep;       /* a child does not outlive the scope */
    uint8_t real;    /* PITHP_FLAG_REAL of the children; 0: none */
    int32_t mixed;   /* a slot whose float dtype differs from another's, or -1 */
    uint16_t below;  /* open names of the children */
} slots_seen;

bool pithp_block_look(pith_scope *s,
                      const void *child,
                      pithp_block_seen *seen,
                      bool *keep) {
    pithp_block *block = NULL;
    if (pithp_block_find((const char *)child - 1, &block) != PITHP_BLOCK_LIVE ||
        block->runtime != s->runtime)
        return false;
    seen->block = block;
    seen->index = (uintptr_t)((const char *)child - 1) / PITHP_BLOCK_BYTES;
    if (block->owner != s && !pithp_scope_reaches(s, block->owner)) {
        *keep = true;
        seen->index =
            0; /* no cache, so that the next child of the block sets *keep too */
    }
    return true;
}

static inline void note_node(slots_seen *seen, const pithp_header *h, int32_t slot) {
    const uint8_t real = h->flags & PITHP_FLAG_REAL;
    seen->below |= h->extra;
    if (real && seen->real && real != seen->real && seen->mixed < 0)
        seen->mixed = slot;
    seen->real |= real;
}

/* Whether a tree of the runtime has the kind of a slot that is not a leaf. */
static bool slot_fits(const pithp_slot_info *info, const void *child) {
    const pithp_header *h = pithp_header_of(child);
    switch ((pithp_slot_kind)info->kind) {
        case PITHP_SLOT_CHILD:
            return h->kind == PITHP_KIND_RECORD &&
                   ((const pithp_node_def *)h->descriptor)->type == info->child;
        case PITHP_SLOT_LIST:
            return h->kind == PITHP_KIND_LIST && first_misfit(child, info->child) < 0;
        case PITHP_SLOT_DICT:
            return h->kind == PITHP_KIND_DICT && first_misfit(child, info->child) < 0;
        case PITHP_SLOT_LEAF:
        case PITHP_SLOT_TREE:
            break;
    }
    return h->kind == PITHP_KIND_ARRAY ? !(h->extra & PITHP_ARRAY_DONATED)
                                       : h->kind <= PITHP_KIND_NONE;
}

/* Check that every child has the declared kind. Failure sets the error. */
static pith_status
inspect_slots(pith_scope *s, const pithp_recent *r, const void *node, slots_seen *seen) {
    const pith_type *type = r->type;
    pithp_block_seen block = {0, NULL};
    *seen = (slots_seen){.node = node, .same_specs = r->checked, .mixed = -1};
    for (int32_t i = 0; i < type->slot_count; i++) {
        const pithp_slot_info *info = &type->slots[i];
        const void *child =
            *(const void *const *)(const void *)((const char *)node + info->offset);
        if (!child) {
            if (PITHP_UNLIKELY(!info->optional))
                return refuse_slot(s, type, i, child);
            seen->same_specs = seen->same_specs && !r->specs[i];
            continue;
        }
        if (PITHP_UNLIKELY(!pithp_child_look(s, child, &block, &seen->keep)))
            return refuse_slot(s, type, i, child);
        const pithp_header *h = pithp_header_of(child);
        if (PITHP_LIKELY(info->kind == PITHP_SLOT_LEAF)) {
            if (PITHP_UNLIKELY(h->kind != PITHP_KIND_ARRAY ||
                               (h->extra & PITHP_ARRAY_DONATED)))
                return refuse_slot(s, type, i, child);
            seen->same_specs = seen->same_specs && h->descriptor == r->specs[i];
            continue;
        }
        const bool is_node = h->kind >= PITHP_KIND_RECORD && h->kind <= PITHP_KIND_NONE;
        if (PITHP_UNLIKELY(!slot_fits(info, child) ||
                           (is_node && (h->flags & PITHP_FLAG_NIL))))
            return refuse_slot(s, type, i, child);
        if (is_node)
            note_node(seen, h, i);
    }
    return PITH_OK;
}

/* Check leaves against the declared specs, and cache the accepted specs. */
static pith_status check_leaves(pith_scope *s, pithp_recent *r, const void *node) {
    pithp_binding b;
    pithp_binding_begin(&b, r->type, node);
    pithp_binding_learn(&b);
    r->checked = false;
    if (pithp_binding_check(s, &b) != PITH_OK)
        return s->error.code;
    for (int32_t i = 0; i < r->type->slot_count; i++) {
        const void *child = *pithp_slot(node, r->node_def, i);
        r->specs[i] = child && r->type->slots[i].kind == PITHP_SLOT_LEAF
                          ? pithp_array_spec(child)
                          : NULL;
    }
    r->flags = pithp_real_flags(b.real);
    r->checked = true;
    return PITH_OK;
}

/* The first slot whose float dtype differs from that of the leaves or an earlier slot, or
 * -1. */
static int32_t mixed_slot(const void *node, const pithp_recent *r) {
    uint8_t real = r->flags;
    for (int32_t i = 0; i < r->type->slot_count; i++) {
        const void *child = *pithp_slot(node, r->node_def, i);
        if (!child || r->type->slots[i].kind == PITHP_SLOT_LEAF ||
            pithp_kind_is_array(child))
            continue;
        const uint8_t own = pithp_header_of(child)->flags & PITHP_FLAG_REAL;
        if (own && real && own != real)
            return i;
        real = real ? real : own;
    }
    return -1;
}

static pith_status run_check(pith_scope *s, const pith_type *type, const void *node) {
    /* All pointers to structs have one representation, so a hook declared with T * may be
     * called through void *. */
    const pithp_call_site call = pithp_user_begins(s);
    ((void (*)(pith_scope *, const void *))type->check)(s, node);
    pithp_user_ends(s, call);
    return s->error.code;
}

pith_status pithp_record_check(pith_scope *s, const void *record) {
    const pith_type *type = pithp_node_def_of(record)->type;
    if (!type || !type->check || !pithp_hooks_run(s) ||
        run_check(s, type, record) == PITH_OK)
        return PITH_OK;
    pithp_header_of(record)->kind = PITHP_KIND_FREE;
    return s->error.code;
}

/* Check a record whose slots are set, and complete its header. */
static pith_status finish_record(pith_scope *s, pithp_recent *r, void *node) {
    const pith_type *type = r->type;
    const pithp_node_def *node_def = r->node_def;
    pithp_header *h = pithp_header_of(node);
    slots_seen seen;
    if (inspect_slots(s, r, node, &seen) != PITH_OK)
        return s->error.code;
    if (PITHP_UNLIKELY(!seen.same_specs) && check_leaves(s, r, node) != PITH_OK)
        return s->error.code;
    if (PITHP_UNLIKELY(seen.mixed >= 0 ||
                       (r->flags && seen.real && r->flags != seen.real)))
        return pithp_fail_reals(s, node, node_def, mixed_slot(node, r));
    h->flags = r->flags | seen.real;
    h->extra = type->outer_mask | seen.below;
    if (PITHP_UNLIKELY(seen.below & type->provided_mask)) {
        pithp_binding b;
        pithp_binding_begin(&b, type, node);
        pithp_binding_learn(&b);
        if (pithp_binding_check_below(s, &b, &h->extra) != PITH_OK)
            return s->error.code;
    }
    if (type->check && pithp_hooks_run(s) && run_check(s, type, node) != PITH_OK)
        return s->error.code;
    return PITHP_UNLIKELY(seen.keep) ? pithp_keep_children(s, node, node_def) : PITH_OK;
}

const void *pithp_record_make(pith_scope *s,
                              const pithp_node_def *node_def,
                              const void *const *slots) {
    pithp_recent *r = pithp_recent_of_shape(s, node_def);
    void *node = r ? make_node(s, node_def) : NULL;
    if (!node)
        return NULL;
    for (int64_t i = 0; i < node_def->slot_count; i++)
        *pithp_slot(node, node_def, i) = slots[i];
    if (finish_record(s, r, node) == PITH_OK)
        return node;
    unmake_node(node);
    return NULL;
}

const void *pithp_freeze(pith_scope *s, const pith_type *type, const void *value) {
    pithp_recent *r = pithp_recent_find(s, type, value);
    void *node = PITHP_LIKELY(r != NULL) ? make_node(s, r->node_def) : NULL;
    if (PITHP_UNLIKELY(!node))
        return NULL;
    for (int32_t i = 0; i < type->slot_count; i++) {
        const uint32_t offset = type->slot_offsets[i];
        memcpy((char *)node + offset, (const char *)value + offset, sizeof(void *));
    }
    if (PITHP_LIKELY(finish_record(s, r, node) == PITH_OK))
        return node;
    unmake_node(node);
    return NULL;
}

pith_status pithp_type_check(pith_scope *s, const pith_type *type, const char *function) {
    if (!pithp_type_valid(type))
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: expected a record type", function);
    if (type->error)
        return pithp_fail(s, PITH_E_TYPE, NULL, "%s: %s", function, type->error);
    return PITH_OK;
}

const void *pith_freeze_any(pith_scope *s, const pith_type *type, const void *value) {
    if (PITHP_UNLIKELY(!pithp_enter_as(s, "pith_freeze")) ||
        PITHP_UNLIKELY(pithp_type_check(s, type, "pith_freeze") != PITH_OK))
        return pithp_nil(type);
    if (PITHP_UNLIKELY(!value)) {
        pithp_fail(s, PITH_E_ARG, NULL, "pith_freeze: expected a %s, got NULL",
                   type->name);
        return type->nil;
    }
    const void *node = pithp_freeze(s, type, value);
    return PITHP_LIKELY(node != NULL) ? node : type->nil;
}

void *pithp_node_copy(pith_scope *s, const void *model) {
    const pithp_node_def *node_def = pithp_node_def_of(model);
    if (pithp_node_def_hold(s, node_def) != PITH_OK)
        return NULL;
    const size_t bytes = sizeof(pithp_header) + node_def->payload_bytes;
    pithp_header *h = pithp_slab_make(s, bytes);
    return h ? (pithp_header *)memcpy(h, pithp_header_of(model), bytes) + 1 : NULL;
}

const pith_type *pith_type_of(const void *tree) {
    pithp_block *block = NULL;
    if (pithp_pointer_check(tree, &block) != PITHP_POINTER_OK ||
        pithp_kind_of(tree) != PITHP_KIND_RECORD || pithp_is_nil(tree))
        return NULL;
    return pithp_node_def_of(tree)->type;
}
