/* Trees of sizes: integer leaves of rank 0, and integer statics of records. */
#include "capacity/capacity_internal.h"

#include <string.h>

void pithp_size_begin(pithp_size_walk *w, pith_runtime *rt, const void *tree) {
    w->record = w->node = NULL;
    w->field = NULL;
    pithp_walk_begin(&w->walk, rt, tree);
}

bool pithp_size_next(pithp_size_walk *w) {
    pithp_visit visit;
    for (;;) {
        while (w->record) {
            const pith_type *type = pithp_node_def_of(w->record)->type;
            if (w->next_static == type->static_count) {
                w->record = NULL;
                break;
            }
            const pithp_static_info *info = &type->statics[w->next_static++];
            if (info->kind != PITH_STATIC_KIND_I64)
                continue;
            w->node = w->record;
            w->field = &type->fields[info->field];
            return true;
        }
        if (!pithp_walk_next(&w->walk, &visit))
            return false;
        if (visit == PITHP_VISIT_LEAF) {
            w->node = w->walk.node;
            w->field = NULL;
            return true;
        }
        if (visit == PITHP_VISIT_ENTER && pithp_node_def_of(w->walk.node)->type) {
            w->record = w->walk.node;
            w->next_static = 0;
        }
    }
}

void pithp_size_path(const pithp_size_walk *w, pithp_string *path) {
    pithp_walk_path(&w->walk, path);
    if (w->field)
        pithp_path_add_field(path, w->field->declared.name);
}

void pithp_size_end(pithp_size_walk *w) {
    pithp_walk_end(&w->walk);
}

/* A leaf must be an integer of rank 0. */
static pith_status
check_leaf(pith_scope *s, const pithp_size_walk *w, const char *function) {
    const pith_spec *spec = pithp_array_spec(w->node);
    char text[PITHP_SPEC_TEXT_BYTES];
    if (pith_dtype_is_integer(spec->dtype) && spec->rank == 0)
        return PITH_OK;
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_size_path(w, &path);
    pithp_fail(s, pith_dtype_is_integer(spec->dtype) ? PITH_E_SHAPE : PITH_E_DTYPE,
               path.bytes, "%s: sizes: expected an integer of rank 0, got %s", function,
               pithp_spec_print(spec, text));
    pithp_string_end(&path);
    return s->error.code;
}

int64_t pithp_sizes_count(pith_scope *s, const void *tree, const char *function) {
    int64_t count = 0;
    pith_status rc = PITH_OK;
    pithp_size_walk w;
    pithp_size_begin(&w, s->runtime, tree);
    for (; rc == PITH_OK && pithp_size_next(&w); count++)
        if (!w.field)
            rc = check_leaf(s, &w, function);
    if (rc == PITH_OK && w.walk.failed)
        rc = pithp_fail_memory(s, sizeof(pithp_walk_frame));
    else if (rc == PITH_OK && count == 0)
        rc =
            pithp_fail(s, PITH_E_ARG, NULL, "%s: sizes: the tree has no sizes", function);
    pithp_size_end(&w);
    return rc == PITH_OK ? count : -1;
}

static pith_status
read_leaf(pith_scope *s, const pith_array *leaf, const char *function, int64_t *size) {
    const pith_dtype dtype = pithp_array_spec(leaf)->dtype;
    uint64_t element = 0;
    const pith_status rc = pithp_array_check(s, leaf, function, "sizes");
    if (rc != PITH_OK || pithp_array_read(s, leaf, &element) != PITH_OK)
        return s->error.code;
    if (dtype == PITH_U64 && element > INT64_MAX)
        return pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: a size of %llu is too large",
                          function, (unsigned long long)element);
    *size = dtype == PITH_I64 || dtype == PITH_U64
                ? (int64_t)element
                : (int64_t)pithp_dtype_decode(dtype, &element);
    return PITH_OK;
}

/* Prefix the error of a leaf with its path in the tree. */
static void add_path(pith_scope *s, const pithp_size_walk *w) {
    pithp_string path;
    pithp_string_begin(&path, s->runtime);
    pithp_size_path(w, &path);
    pithp_error_prefix(s, path.bytes);
    pithp_string_end(&path);
}

pith_status
pithp_sizes_read(pith_scope *s, const void *tree, const char *function, int64_t *sizes) {
    pith_status rc = PITH_OK;
    pithp_size_walk w;
    pithp_size_begin(&w, s->runtime, tree);
    for (int64_t i = 0; rc == PITH_OK && pithp_size_next(&w); i++)
        if (w.field)
            memcpy(&sizes[i], (const char *)w.node + w.field->declared.offset,
                   sizeof sizes[i]);
        else if ((rc = read_leaf(s, w.node, function, &sizes[i])) != PITH_OK)
            add_path(s, &w);
    if (rc == PITH_OK && w.walk.failed)
        rc = pithp_fail_memory(s, sizeof(pithp_walk_frame));
    pithp_size_end(&w);
    return rc;
}

/* ---- Replacing sizes ---- */

/* An integer of rank 0; NULL with the error set if it does not fit the dtype. */
static const pith_array *leaf_of(pith_scope *s, pith_dtype dtype, int64_t size) {
    const size_t bytes = pith_dtype_size(dtype);
    const int bits = 8 * (int)bytes - pithp_dtype_is_signed(dtype);
    if (bits < 63 && size >> bits) {
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "a size of %lld does not fit %s",
                   (long long)size, pith_dtype_name(dtype));
        return NULL;
    }
    unsigned char element[8]; /* pith supports little-endian only */
    memcpy(element, &size, sizeof element);
    return pith_array_copy(s, dtype, PITH_SCALAR, element);
}

/* Replace the sizes that are leaves. work: a scope for the result and temporaries. */
static const void *
replace_leaves(pith_scope *work, const void *tree, const int64_t *sizes) {
    const pith_array *const *leaves = NULL;
    const pith_treedef *def = pith_tree_flatten(work, tree, &leaves);
    const int64_t count = def ? pith_treedef_num_leaves(def) : 0;
    if (!def || count == 0)
        return def ? tree : NULL;
    const pith_array **now =
        pithp_scope_allocate(work, (size_t)count * sizeof(const pith_array *));
    int64_t leaf = 0;
    pithp_size_walk w;
    pithp_size_begin(&w, work->runtime, tree);
    for (int64_t i = 0; now && pithp_size_next(&w); i++)
        if (!w.field) {
            now[leaf] = leaf_of(work, pithp_array_spec(w.node)->dtype, sizes[i]);
            leaf++;
        }
    pithp_size_end(&w);
    return now ? pith_tree_unflatten(work, def, count, now) : NULL;
}

/* Replace the sizes that are statics of `like` in a tree of the same structure. */
static const void *replace_statics(pith_scope *work,
                                   const void *like,
                                   const void *tree,
                                   const int64_t *sizes) {
    pithp_size_walk w;
    pithp_size_begin(&w, work->runtime, like);
    for (int64_t i = 0; tree && pithp_size_next(&w); i++) {
        pithp_string path;
        if (!w.field)
            continue;
        pithp_string_begin(&path, work->runtime);
        pithp_size_path(&w, &path);
        const pith_lens *lens = pith_lens_path(work, NULL, path.bytes);
        tree = lens ? pith_lens_set_i64_with(work, lens, tree, sizes[i], NULL) : NULL;
        pithp_string_end(&path);
    }
    pithp_size_end(&w);
    return tree;
}

const void *pithp_sizes_replace(pith_scope *s, const void *tree, const int64_t *sizes) {
    pith_scope *work = pithp_temporaries_open(s);
    if (!work)
        return NULL;
    const void *made = replace_leaves(work, tree, sizes);
    made = made ? replace_statics(work, tree, made, sizes) : NULL;
    if (made && !pith_failed(work))
        pithp_keep_slots(s, 1, &made);
    pith_scope_close(work);
    return s->error.code == PITH_OK ? made : NULL;
}
