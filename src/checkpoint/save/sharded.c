/* Checkpoints by many ranks, format 3. Each rank writes its shards as a checkpoint of its
 * own, a part; nothing is gathered but the counts of rows. When all parts are durable,
 * rank 0 writes the document, which names them: with the structure of the whole tree,
 * replicated leaves, and no elements of sharded ones. Both outcomes are agreed, so that
 * after a kill at any moment the old or the new checkpoint is complete. */
#include "checkpoint/document/capture.h"
#include "checkpoint/save/save_internal.h"
#include "tree/shard/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_COUNTERS = 16, ID_DIGITS = 16 };

/* What each rank tells the others. */
typedef struct told {
    uint64_t id; /* of the save; that of rank 0 holds */
    char file[256], host[64];
    uint64_t bytes;
    pithp_digest digest;
    int64_t counts[MOST_COUNTERS]; /* rows in use here, by counting leaf in order */
} told;

typedef struct sharded_save {
    pith_scope *s, *w;
    const char *path;
    const pith_save_options *options;
    pithp_shard_tree t;
    pithp_mesh_group *all;
    const pith_mesh *mesh;
    int64_t rank, ranks;
    told own, *everyone; /* by rank */
    pithp_location location;
    int64_t *counter_number; /* by leaf: which of the counts; -1: none */
    pithp_document *d;       /* while the document is captured */
} sharded_save;

/* ---- Before anything is written ---- */

static pith_status number_counters(sharded_save *v) {
    const int64_t count = v->t.flat.structure.item_count;
    int64_t n = 0;
    v->counter_number =
        pithp_scope_allocate(v->w, ((size_t)count + 1) * sizeof *v->counter_number);
    if (!v->counter_number)
        return v->w->error.code;
    for (int64_t k = 0; k < count; k++) {
        v->counter_number[k] = -1;
        if (!v->t.leaves[k].counts)
            continue;
        if (n == MOST_COUNTERS)
            return pithp_item_fail(v->w, &v->t.flat.structure, k, PITH_E_UNSUPPORTED,
                                   "more than %d leaves count rows", MOST_COUNTERS);
        const pith_array *plain =
            pithp_array_place(v->w, v->t.flat.items[k],
                              pithp_spec_plain(v->w, v->t.flat.structure.specs[k]));
        v->own.counts[n] = plain ? pith_read_i64(v->w, plain) : 0;
        v->counter_number[k] = n++;
        if (v->w->error.code != PITH_OK)
            return v->w->error.code;
    }
    return PITH_OK;
}

static pith_status prepare(sharded_save *v, const void *tree) {
    struct timespec now;
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(v->w));
    v->mesh = pith_mesh_of(v->w);
    v->rank = info.rank;
    v->ranks = info.size;
    snprintf(v->own.host, sizeof v->own.host, "%s", info.host);
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t seed[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                             (uint64_t)getpid()};
    v->own.id = pithp_hash(0, seed, sizeof seed);
    v->all = pithp_mesh_group_of(v->w, NULL);
    if (!v->all ||
        pithp_save_options_check(v->w, "pith_save", v->path, v->options) != PITH_OK ||
        pithp_tree_check(v->w, tree, "pith_save", "tree") != PITH_OK ||
        pithp_shard_tree_read(v->w, &v->t, tree, NULL, true) != PITH_OK ||
        pithp_shard_tree_link(&v->t) != PITH_OK || number_counters(v) != PITH_OK)
        return v->w->error.code;
    const size_t bytes = (size_t)v->ranks * sizeof *v->everyone;
    v->everyone = pithp_scope_allocate(v->w, bytes);
    if (v->everyone)
        memset(v->everyone, 0, bytes);
    return v->everyone ? pithp_location_open(v->w, v->path, &v->location)
                       : v->w->error.code;
}

/* Exchange what the ranks tell, if none of them has failed. */
static bool exchange(sharded_save *v, const char *what, uint64_t extra) {
    const pithp_intent intent = {.operation = "pith_save", .what = what, .extra = extra};
    pith_scope *in = v->w ? v->w : v->s;
    if (!pithp_collective_begin(in, &intent))
        return false;
    pithp_mesh_group_gather(in, v->all, &v->own, v->everyone, sizeof v->own);
    pithp_collective_end(in);
    return in->error.code == PITH_OK; /* else the engine has failed, and the job ends */
}

/* ---- Parts ---- */

/* Whether this rank writes a leaf: it is the first of those that have the same shard. */
static bool is_writer(sharded_save *v, int64_t k) {
    char list[PITHP_SHARD_TEXT];
    if (!v->t.leaves[k].axes[0])
        return false;
    pithp_shard_text_join(v->t.leaves[k].axes, list);
    for (const char *name = v->all->axes; *name;) {
        const size_t n = strcspn(name, ",");
        char axis[PITHP_AXIS_BYTES];
        snprintf(axis, sizeof axis, "%.*s", (int)n, name);
        if (!pithp_shard_list_has(list, name, n) && pith_axis_rank(v->w, axis) != 0)
            return false;
        name += n + (name[n] == ',');
    }
    return true;
}

/* A dict of the shards that this rank writes, by path. */
static const void *make_part(sharded_save *v) {
    const pithp_structure *t = &v->t.flat.structure;
    const size_t room = (size_t)t->item_count + 1;
    const char **keys = pithp_scope_allocate(v->w, room * sizeof *keys);
    const void **items = pithp_scope_allocate(v->w, room * sizeof *items);
    int64_t count = 0;
    for (int64_t k = 0; keys && items && k < t->item_count; k++) {
        if (!is_writer(v, k))
            continue;
        pithp_string path;
        pithp_string_begin(&path, v->w->runtime);
        pithp_structure_path(v->w->runtime, t, k, &path);
        keys[count] = pithp_string_finish(v->w, &path);
        items[count++] = pithp_array_place(v->w, v->t.flat.items[k],
                                           pithp_spec_plain(v->w, t->specs[k]));
        if (v->w->error.code != PITH_OK)
            return NULL;
    }
    return keys && items ? pith_dict_make(v->w, count, keys, items) : NULL;
}

/* The path of a file beside the document. */
static const char *beside(sharded_save *v, const char *file) {
    const char *slash = strrchr(v->path, '/');
    const size_t folder = slash ? (size_t)(slash - v->path) + 1 : 0,
                 bytes = folder + strlen(file) + 1;
    char *path = pithp_scope_allocate(v->w, bytes);
    if (path)
        snprintf(path, bytes, "%.*s%s", (int)folder, v->path, file);
    return path;
}

static pith_status write_part(sharded_save *v) {
    const void *part = make_part(v);
    const int stem = (int)pithp_stem(v->location.name);
    char name[sizeof v->own.file];
    const int n = snprintf(name, sizeof name, "%.*s.%016llx.r%04dof%04d.json", stem,
                           v->location.name, (unsigned long long)v->everyone[0].id,
                           (int)v->rank, (int)v->ranks);
    if (n >= (int)sizeof name)
        return pithp_fail(v->w, PITH_E_IO, NULL,
                          "cannot write \"%s\": the name is too long", v->path);
    const pith_save_options o = {.inline_all = v->options->inline_all,
                                 .inline_bytes = v->options->inline_bytes,
                                 .compress = v->options->compress,
                                 .step = v->options->step};
    const char *path = beside(v, name);
    pithp_saving *saving =
        part && path ? pithp_saving_begin(v->w, pithp_capture, part, path, &o) : NULL;
    if (saving && pithp_saving_write(saving) == PITH_OK) {
        memcpy(v->own.file, name, sizeof name); /* from here on it may be removed */
        v->own.bytes = saving->text.length;
        v->own.digest = pithp_document_checksum(&saving->text);
    }
    if (saving)
        pithp_saving_end(saving);
    return v->w->error.code;
}

/* Withdraw the part of a save that has failed. The trouble of the lock does not matter:
 * the next save sweeps. */
static void remove_part(const sharded_save *v) {
    pith_scope *x = pith_scope_open_in(v->s);
    if (v->own.file[0] && pithp_scope_writable(x) &&
        pithp_folder_lock(x, &v->location) == PITH_OK) {
        pithp_checkpoint_part_remove(v->location.folder, v->own.file);
        pithp_folder_unlock(&v->location);
    }
    pith_clear(x);
    pith_scope_close(x);
}

/* ---- The document ---- */

/* Rank 0 must see what the others wrote. */
static pith_status check_parts(sharded_save *v) {
    for (int64_t r = 0; r < v->ranks; r++) {
        const told *x = &v->everyone[r];
        size_t bytes = 0;
        const int file = pithp_file_open(v->location.folder, x->file, &bytes);
        if (file >= 0)
            close(file);
        if (file < 0 || bytes != x->bytes)
            return pithp_fail(v->w, PITH_E_IO, NULL,
                              "cannot write \"%s\": rank 0 (%s) does not see the part "
                              "\"%s\" that rank %d (%s) wrote: all ranks must write to "
                              "one folder",
                              v->path, v->own.host, x->file, (int)r, x->host);
    }
    return PITH_OK;
}

/* Rows in use of the shards of leaf k along its first axes, by their number there. */
static int64_t *counts_of(sharded_save *v, int64_t k, int64_t *count) {
    const pithp_mesh_group *g = pithp_mesh_group_of(v->w, v->t.leaves[k].axes);
    int64_t *counts =
        g ? pithp_scope_allocate(v->w, (size_t)g->size * sizeof *counts) : NULL;
    *count = g ? g->size : 0;
    for (int64_t r = 0; counts && r < v->ranks; r++) {
        const int64_t number = pithp_mesh_group_find(g, r);
        if (number >= 0)
            counts[number] = v->everyone[r].counts[v->counter_number[k]];
    }
    return counts;
}

/* The spec of the whole of leaf k. */
static const pith_spec *whole_spec(sharded_save *v, int64_t k) {
    const pith_spec *spec = v->t.flat.structure.specs[k];
    const pith_placement *p = pithp_placement_of(spec);
    int64_t shape[PITH_MAX_RANK], n;
    if (!p)
        return spec;
    for (int d = 0; d < spec->rank; d++)
        shape[d] = spec->shape[d] * p->shards[d];
    if (v->t.leaves[k].counter >= 0) {
        const int64_t *counts = counts_of(v, v->t.leaves[k].counter, &n);
        shape[0] = 0;
        for (int64_t i = 0; counts && i < n; i++) {
            if (counts[i] < 0 || counts[i] > spec->shape[0]) {
                pithp_item_fail(v->w, &v->t.flat.structure, k, PITH_E_INDEX,
                                "%lld rows in use, expected 0 to %lld",
                                (long long)counts[i], (long long)spec->shape[0]);
                return NULL;
            }
            shape[0] += counts[i];
        }
    }
    return pithp_spec(v->w, spec->dtype, spec->rank, shape);
}

/* The whole tree: its sharded leaves have shapes and no elements, which nothing reads. */
static const void *make_whole(sharded_save *v) {
    for (int64_t k = 0; k < v->t.flat.structure.item_count; k++) {
        const pith_array *a = v->t.flat.items[k];
        int64_t n, sum = 0;
        if (v->t.leaves[k].counts) {
            const int64_t *counts = counts_of(v, k, &n);
            for (int64_t i = 0; counts && i < n; i++)
                sum += counts[i];
            v->t.items[k] = pith_i64(v->w, sum);
        } else if (pithp_array_is_sharded(a)) {
            const pith_spec *spec = whole_spec(v, k);
            v->t.items[k] =
                spec ? pithp_array_view(v->w, spec, pithp_array_buffer(a), a->data)
                     : NULL;
        }
        if (v->w->error.code != PITH_OK)
            return NULL;
    }
    return pithp_shard_tree_build(v->w, &v->t, true);
}

static pith_status add_parts(sharded_save *v, pithp_document *d) {
    for (const char *name = v->all->axes; *name;) {
        const size_t n = strcspn(name, ",");
        pithp_doc_axis *axis = pithp_document_add(d, axes);
        if (!axis || !(axis->name = pithp_document_text(d, name, n)))
            return pithp_fail_memory(v->w, sizeof *axis);
        axis->size = pith_axis_size(v->w, axis->name);
        name += n + (name[n] == ',');
    }
    for (int64_t r = 0; r < v->ranks; r++) {
        const told *x = &v->everyone[r];
        pithp_doc_part *part = pithp_document_add(d, parts);
        if (!part || !(part->file = pithp_document_text(d, x->file, strlen(x->file))))
            return pithp_fail_memory(v->w, sizeof *part);
        part->bytes = x->bytes;
        part->digest = x->digest;
    }
    return PITH_OK;
}

/* Equal for leaves whose parts are equal. */
static pithp_digest digest_parts(const sharded_save *v, const pithp_doc_leaf *row) {
    pithp_hasher h;
    pithp_hasher_begin(&h);
    pithp_hasher_add(&h, row->shard, strlen(row->shard));
    for (int64_t r = 0; r < v->ranks; r++)
        pithp_hasher_add(&h, &v->everyone[r].digest, sizeof v->everyone[r].digest);
    return pithp_hasher_end(&h);
}

/* The captured leaves are those of the tree, in its order. */
static pith_status add_shards(sharded_save *v, pithp_document *d) {
    for (int64_t k = 0; k < d->leaves.count; k++) {
        pithp_doc_leaf *row = &d->leaves.rows[k];
        const pithp_shard_leaf *leaf = &v->t.leaves[k];
        const pith_spec *spec = v->t.flat.structure.specs[k];
        if (!leaf->axes[0])
            continue;
        row->shard = pithp_document_text(d, leaf->axes, strlen(leaf->axes));
        row->rows =
            leaf->rows ? pithp_document_text(d, leaf->rows, strlen(leaf->rows)) : NULL;
        row->counter = leaf->counter;
        row->part.rank = spec->rank;
        memcpy(row->part.extents, spec->shape, (size_t)spec->rank * sizeof *spec->shape);
        if (leaf->counts)
            row->counts = counts_of(v, k, &row->counts_count);
        if (!row->shard || v->w->error.code != PITH_OK || (leaf->rows && !row->rows))
            return pithp_fail_memory(v->w, PITHP_SHARD_TEXT);
        row->digest = digest_parts(v, row);
    }
    return PITH_OK;
}

static pith_status capture(pith_scope *s,
                           const void *source,
                           pithp_document *d,
                           const pith_array ***arrays) {
    sharded_save *v = (sharded_save *)(uintptr_t)source;
    const void *whole = make_whole(v);
    pith_status rc = s->error.code;
    if (rc == PITH_OK)
        rc = pithp_capture(s, whole, d, arrays);
    d->format = PITHP_PARTED_FORMAT;
    if (rc == PITH_OK && (rc = add_parts(v, d)) == PITH_OK)
        rc = add_shards(v, d);
    return rc;
}

static pith_status write_document(sharded_save *v) {
    if (check_parts(v) != PITH_OK)
        return v->w->error.code;
    pithp_saving *saving = pithp_saving_begin(v->w, capture, v, v->path, v->options);
    if (!saving)
        return v->w->error.code;
    const pith_status rc = pithp_saving_write(saving);
    pithp_saving_end(saving);
    return rc;
}

/* ---- The call ---- */

bool pithp_is_sharded(const pith_scope *s, const void *tree) {
    bool sharded = false;
    pithp_walk walk;
    pithp_visit visit;
    pithp_block *block = NULL;
    if (!pith_mesh_of(s) || !pithp_tree_is_usable(s, tree, &block))
        return false;
    pithp_walk_begin(&walk, s->runtime, tree);
    while (!sharded && pithp_walk_next(&walk, &visit))
        sharded = visit == PITHP_VISIT_LEAF && pithp_array_is_sharded(walk.node);
    pithp_walk_end(&walk);
    return sharded;
}

static bool save(sharded_save *v, const void *tree) {
    uint64_t digest = 0;
    if (v->w && prepare(v, tree) == PITH_OK)
        digest = pithp_shard_tree_digest(&v->t);
    if (!exchange(v, v->path ? v->path : "", digest))
        return false;
    write_part(v);
    if (!exchange(v, "parts", 0)) {
        remove_part(v);
        return false;
    }
    /* From here on rank 0 may have named the parts: after a failure they stay, and the
     * next save removes those that no document names. */
    const pithp_intent outcome = {.operation = "pith_save", .what = "outcome"};
    if (v->rank == 0)
        write_document(v);
    const bool saved = pithp_collective_begin(v->w, &outcome);
    if (saved)
        pithp_collective_end(v->w);
    if (saved && v->rank == 0)
        pithp_parts_sweep(v->w, &v->location);
    return saved;
}

bool pithp_save_sharded(pith_scope *s,
                        const void *tree,
                        const char *path,
                        const pith_save_options *options) {
    sharded_save v = {
        .s = s, .path = path, .options = options, .location = {.folder = -1}};
    v.w = s->error.code == PITH_OK ? pithp_temporaries_open(s) : NULL;
    const bool saved = save(&v, tree);
    pithp_shard_tree_end(&v.t);
    pithp_location_close(&v.location);
    if (v.w)
        pith_scope_close(v.w);
    return saved && s->error.code == PITH_OK;
}
