/* Bundles: arrays by name, and the structure of their checkpoint. */
#include "bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <pith/run_log.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, LONGEST_NAME = 512, DEEPEST = 64 };

void fail_io(pith_scope *s, const char *path, const char *call) {
    pith_fail(s, PITH_E_IO, NULL, "cannot %s \"%s\": %s", call, path, strerror(errno));
}

bool fail_format(pith_scope *s, const char *path, const char *name, const char *what) {
    if (!pith_failed(s))
        pith_fail(s, PITH_E_FORMAT, NULL, "\"%s\": \"%.200s\": %s", path, name, what);
    return false;
}

bool fail_dtype(pith_scope *s, const char *path, const char *name) {
    if (!pith_failed(s))
        pith_fail(s, PITH_E_UNSUPPORTED, NULL,
                  "\"%s\": \"%.200s\" has elements of a dtype that pith does not have",
                  path, name);
    return false;
}

/* ---- Items ---- */

bool shape_size(pith_dtype dtype,
                const pith_shape *shape,
                int64_t *count,
                size_t *bytes) {
    size_t n = pith_dtype_size(dtype);
    bool empty = false, huge = false;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->extents[i] < 0)
            return false;
        empty |= shape->extents[i] == 0;
        if (shape->extents[i])
            huge |= __builtin_mul_overflow(n, (size_t)shape->extents[i], &n);
    }
    *bytes = empty ? 0 : n;
    *count = (int64_t)(*bytes / pith_dtype_size(dtype));
    return !huge && n <= INT64_MAX;
}

/* Deflate compresses at most about 1000:1. */
size_t bundle_most(size_t file_bytes) {
    const size_t most = (size_t)INT64_MAX / 2048;
    return (file_bytes < most ? file_bytes : most) * 1100 + 65536;
}

static bundle_item *
add_item(bundle *b, const char *name, pith_dtype dtype, const pith_shape *shape) {
    if (b->count == b->room) {
        b->room = b->room ? 2 * b->room : 16;
        bundle_item *grown = room_for((size_t)b->room, sizeof *grown);
        if (b->count)
            memcpy(grown, b->items, (size_t)b->count * sizeof *grown);
        free(b->items);
        b->items = grown;
    }
    bundle_item *it = &b->items[b->count++];
    *it = (bundle_item){
        .name = text_of("%s", name), .dtype = dtype, .shape = *shape, .leaf = -1};
    return it;
}

void *bundle_add(bundle *b,
                 const char *name,
                 pith_dtype dtype,
                 const pith_shape *shape,
                 size_t most) {
    int64_t count;
    size_t bytes;
    if (!shape_size(dtype, shape, &count, &bytes) || bytes > most) {
        pith_fail(b->s, PITH_E_FORMAT, NULL,
                  "the array \"%.200s\" claims more than its file can hold", name);
        return NULL;
    }
    void *data = malloc(bytes ? bytes : 1);
    if (!data) {
        pith_fail(b->s, PITH_E_MEMORY, NULL,
                  "no memory for the array \"%.200s\" of %zu bytes", name, bytes);
        return NULL;
    }
    bundle_item *it = add_item(b, name, dtype, shape);
    it->count = count;
    it->bytes = bytes;
    it->data = data;
    return data;
}

bool bundle_check_bools(const bundle *b, const char *path) {
    for (int64_t i = 0; i < b->count; i++) {
        const bundle_item *it = &b->items[i];
        const uint8_t *bytes = it->dtype == PITH_BOOL ? it->data : NULL;
        for (int64_t k = 0; bytes && k < it->count; k++) {
            if (bytes[k] <= 1)
                continue;
            char *what =
                text_of("element %" PRId64 " of a bool array: expected 0 or 1, got %d", k,
                        bytes[k]);
            fail_format(b->s, path, it->name, what);
            free(what);
            return false;
        }
    }
    return true;
}

void bundle_end(bundle *b) {
    for (int64_t i = 0; i < b->count; i++) {
        free(b->items[i].name);
        free(b->items[i].data);
    }
    free(b->items);
    rows_end(&b->structure);
    *b = (bundle){.s = b->s};
}

/* ---- Sources ---- */

char *path_name(const bundle *b, int64_t node) {
    pith_scope *inner = pith_scope_open_in(b->s);
    const char *path = pith_checkpoint_path(inner, b->structure.c, node);
    const size_t n = path ? strlen(path) : 0;
    char *name = n && n <= LONGEST_NAME
                     ? text_of("%s", path)
                     : text_of("leaf/%" PRId64, b->structure.nodes[node].leaf);
    pith_scope_close(inner);
    return name;
}

int64_t item_node(const bundle *b, int64_t i) {
    pith_checkpoint_leaf leaf;
    return pith_checkpoint_get_leaf(b->structure.c, i, &leaf) ? leaf.node : -1;
}

bool bundle_open_checkpoint(bundle *b, const char *path) {
    pith_checkpoint_leaf leaf;
    if (!rows_open(b->s, path, &b->structure))
        return false;
    b->text = pith_checkpoint_structure(b->s, b->structure.c);
    for (int64_t i = 0; pith_checkpoint_get_leaf(b->structure.c, i, &leaf); i++) {
        char *name = path_name(b, leaf.node);
        bundle_item *it = add_item(b, name, leaf.dtype, &leaf.shape);
        it->count = leaf.count;
        it->bytes = leaf.bytes;
        it->leaf = i;
        free(name);
    }
    return !pith_failed(b->s);
}

bool bundle_open_log(bundle *b, const char *path) {
    const pith_dict *log = pith_run_log_read(b->s, path);
    for (int64_t i = 0; log && i < pith_child_count(log); i++) {
        const pith_array *column = pith_child(log, i);
        const pith_spec *spec = pith_array_spec(column);
        const pith_shape shape = {1, {spec->count}};
        void *data =
            bundle_add(b, pith_child_name(log, i), spec->dtype, &shape, SIZE_MAX / 2);
        if (!data || !pith_read(b->s, column, data, spec->bytes))
            return false;
    }
    return log != NULL;
}

/* ---- Structures carried by files ---- */

static int by_name(const void *a, const void *b) {
    return strcmp((*(bundle_item *const *)a)->name, (*(bundle_item *const *)b)->name);
}

static bundle_item *
find_item(bundle_item *const *sorted, int64_t count, const char *name) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = strcmp(sorted[middle]->name, name);
        if (order == 0)
            return sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bundle_item **sorted_items(const bundle *b) {
    bundle_item **sorted = room_for((size_t)b->count + 1, sizeof *sorted);
    for (int64_t i = 0; i < b->count; i++)
        sorted[i] = &b->items[i];
    if (b->count)
        qsort(sorted, (size_t)b->count, sizeof(bundle_item *), by_name);
    return sorted;
}

static bool arrange(bundle *b,
                    bundle_item *arranged,
                    char *(*name_of)(const bundle *b, int64_t node)) {
    bundle_item **sorted = sorted_items(b);
    const int64_t leaves = b->structure.info->leaf_count;
    pith_checkpoint_leaf leaf;
    for (int64_t i = 0; i < leaves && !pith_failed(b->s); i++) {
        pith_checkpoint_get_leaf(b->structure.c, i, &leaf);
        char *name = name_of(b, leaf.node);
        bundle_item *it = find_item(sorted, b->count, name);
        if (!it || !it->data) {
            pith_fail(b->s, PITH_E_STRUCTURE, NULL,
                      "the structure has a leaf \"%.200s\" without an array", name);
        } else {
            arranged[i] = *it;
            arranged[i].name = text_of("%s", it->name);
            it->data = NULL; /* moved */
            if (leaf.dtype == PITH_BF16 && arranged[i].dtype == PITH_U16)
                arranged[i].dtype = PITH_BF16; /* few formats have this dtype */
        }
        free(name);
    }
    for (int64_t i = 0; i < b->count && !pith_failed(b->s); i++)
        if (b->items[i].data)
            pith_fail(b->s, PITH_E_STRUCTURE, NULL,
                      "the array \"%.200s\" is not a leaf of the structure in the file",
                      b->items[i].name);
    free(sorted);
    return !pith_failed(b->s);
}

/* Prefix the error with the file's name. */
static bool name_file(const bundle *b, const char *path, const char *what) {
    char *reason = text_of("%s", pith_message(b->s));
    const pith_status code = pith_code(b->s);
    pith_clear(b->s);
    pith_fail(b->s, code, NULL, "\"%s\": %s%s", path, what, reason);
    free(reason);
    return false;
}

bool bundle_set_structure(bundle *b,
                          const char *path,
                          const char *text,
                          size_t bytes,
                          char *(*name_of)(const bundle *b, int64_t node)) {
    const pith_checkpoint *c = pith_checkpoint_parse(b->s, text, bytes);
    if (!c)
        return name_file(b, path, "its structure: ");
    rows_take(c, &b->structure);
    const int64_t leaves = b->structure.info->leaf_count;
    bundle_item *arranged = room_for((size_t)leaves + 1, sizeof *arranged);
    const bool fits = arrange(b, arranged, name_of);
    for (int64_t i = 0; i < b->count; i++) {
        free(b->items[i].name);
        free(b->items[i].data);
    }
    free(b->items);
    b->items = arranged;
    b->count = b->room = leaves;
    b->text = pith_checkpoint_structure(b->s, c);
    return fits ? b->text != NULL : name_file(b, path, "");
}

void bundle_rename(bundle *b, char *(*name_of)(const bundle *b, int64_t node)) {
    for (int64_t i = 0; b->structure.c && i < b->count; i++) {
        free(b->items[i].name);
        b->items[i].name = name_of(b, item_node(b, i));
    }
}

/* ---- Elements ---- */

static bool
leaf_pieces(const bundle *b, const bundle_item *it, piece_sink *sink, void *closure) {
    const pith_checkpoint *c = b->structure.c;
    const size_t step = pith_dtype_size(it->dtype);
    const int64_t most = (int64_t)(PIECE / step);
    bool good = pith_checkpoint_verify(b->s, c, it->leaf);
    void *piece = room_for(PIECE, 1);
    for (int64_t at = 0; good && at < it->count; at += most) {
        const int64_t n = it->count - at < most ? it->count - at : most;
        good = pith_checkpoint_read(b->s, c, it->leaf, at, n, piece, (size_t)n * step) &&
               sink(closure, piece, (size_t)n * step);
    }
    free(piece);
    return good;
}

bool item_pieces(const bundle *b,
                 const bundle_item *it,
                 piece_sink *sink,
                 void *closure) {
    if (it->leaf >= 0)
        return leaf_pieces(b, it, sink, closure);
    return it->bytes == 0 || sink(closure, it->data, it->bytes);
}

/* ---- Checkpoints ---- */

static const pith_array *item_array(const bundle *b, int64_t i) {
    const bundle_item *it = &b->items[i];
    if (it->leaf < 0)
        return pith_array_borrow(b->s, it->dtype, it->shape, it->data);
    const char *path = pith_checkpoint_path(b->s, b->structure.c, item_node(b, i));
    return path ? pith_checkpoint_array(b->s, b->structure.c, path) : NULL;
}

/* The end of a name's first part; NULL: the name is no path. */
static const char *part_end(const char *name) {
    const char *end = strchrnul(name, '/');
    return end == name ? NULL : end;
}

static const void *flat_dict(const bundle *b, bundle_item *const *sorted) {
    const char **keys = room_for((size_t)b->count + 1, sizeof *keys);
    const void **children = room_for((size_t)b->count + 1, sizeof *children);
    for (int64_t i = 0; i < b->count; i++) {
        keys[i] = sorted[i]->name;
        children[i] = item_array(b, sorted[i] - b->items);
    }
    const void *dict =
        pith_failed(b->s) ? NULL : pith_dict_make(b->s, b->count, keys, children);
    free(keys);
    free(children);
    return dict;
}

/* A dict of sorted items with equal names before `from`. NULL: the scope has the error,
 * or the names do not form a tree ("a" beside "a/b"). */
static const void *dict_of(const bundle *b,
                           bundle_item *const *sorted,
                           int64_t count,
                           size_t from,
                           int depth) {
    char **keys = room_for((size_t)count + 1, sizeof *keys);
    const void **children = room_for((size_t)count + 1, sizeof *children);
    int64_t n = 0;
    bool good = depth < DEEPEST;
    for (int64_t i = 0; good && i < count;) {
        const char *name = sorted[i]->name + from, *end = part_end(name);
        const size_t length = end ? (size_t)(end - name) : 0;
        int64_t same = i + 1;
        while (end && *end && same < count &&
               strncmp(sorted[same]->name + from, name, length + 1) == 0)
            same++;
        if (end && *end)
            children[n] = dict_of(b, sorted + i, same - i, from + length + 1, depth + 1);
        else if (end)
            children[n] = item_array(b, sorted[i] - b->items);
        good = children[n];
        keys[n++] = text_of("%.*s", (int)length, name);
        i = same;
    }
    const void *dict =
        good ? pith_dict_make(b->s, n, (const char *const *)keys, children) : NULL;
    for (int64_t i = 0; i < n; i++)
        free(keys[i]);
    free(keys);
    free(children);
    return dict;
}

/* Names with slashes are paths, unless one is a prefix of another. */
static bool save_dict(const bundle *b, const char *path, const pith_save_options *o) {
    bundle_item **sorted = sorted_items(b);
    const void *tree = dict_of(b, sorted, b->count, 0, 0);
    if (!tree) {
        pith_clear(b->s);
        tree = flat_dict(b, sorted);
    }
    free(sorted);
    return tree && pith_save(b->s, tree, path, o);
}

bool bundle_save(const bundle *b, const char *path, bool sidecar) {
    const pith_save_options o = {.inline_all = !sidecar};
    if (!b->structure.c)
        return save_dict(b, path, &o);
    if (b->count == 0 || b->items[0].leaf >= 0) /* of a checkpoint: they are streamed */
        return pith_checkpoint_save(b->s, b->structure.c, b->count, NULL, path, &o);
    const pith_array **leaves = room_for((size_t)b->count + 1, sizeof *leaves);
    for (int64_t i = 0; i < b->count; i++)
        leaves[i] = item_array(b, i);
    const bool saved =
        !pith_failed(b->s) &&
        pith_checkpoint_save(b->s, b->structure.c, b->count, leaves, path, &o);
    free(leaves);
    return saved;
}
