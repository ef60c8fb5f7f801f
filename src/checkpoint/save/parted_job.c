/* The job of a rank in a save by many ranks: its shards as a checkpoint of its own, a
 * part; and on rank 0 the document that names all parts. The names of parts follow from
 * the number of the save, and rank 0 finds them in the folder: no step calls the engine,
 * so a thread can do all of it. */
#include "checkpoint/document/capture.h"
#include "checkpoint/save/parted.h"
#include "checkpoint/store/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ---- */

static bool part_name(const pithp_parted_job *j, int64_t rank, char name[256]) {
    return pithp_part_name(j->location.name, j->id, rank, j->ranks, name);
}

int64_t
pithp_parted_leader(const pithp_parted_told *everyone, int64_t rank, bool per_node) {
    while (per_node && rank > 0 && everyone[rank - 1].node == everyone[rank].node)
        rank--;
    return rank;
}

/* ---- Capture ---- */

/* Whether a rank writes leaf k: it is the first of those that have the same shard, 0
 * along the axes that the leaf does not name. */
static bool is_writer(pithp_parted_call *v, int64_t k, int64_t rank) {
    char list[PITHP_SHARD_TEXT];
    bool first = true;
    if (!v->t.leaves[k].axes[0] || v->t.leaves[k].counts)
        return false;
    pithp_shard_text_join(v->t.leaves[k].axes, list);
    const char *axes = v->all->axes;
    for (size_t n = strlen(axes); n && first;) { /* the last axis is the fastest */
        size_t begin = n;
        char axis[PITHP_AXIS_BYTES];
        while (begin && axes[begin - 1] != ',')
            begin--;
        snprintf(axis, sizeof axis, "%.*s", (int)(n - begin), axes + begin);
        const int64_t size = pith_axis_size(v->w, axis);
        first = rank % size == 0 || pithp_shard_list_has(list, axis, n - begin);
        rank /= size;
        n = begin ? begin - 1 : 0;
    }
    return first;
}

/* The key of a shard: its path, with the number of the rank before it in a part of
 * several ranks. */
static const char *key_of(pithp_parted_call *v, int64_t k, int64_t rank) {
    pithp_string key;
    pithp_string_begin(&key, v->w->runtime);
    if (v->node_ranks > 1)
        pithp_string_print(&key, "%" PRId64 ":", rank);
    pithp_structure_path(v->w->runtime, &v->t.flat.structure, k, &key);
    return pithp_string_finish(v->w, &key);
}

/* A shard of a part. */
typedef struct piece {
    const char *key;
    const pith_array *array;
    int level; /* of compression, as its field asks for it */
} piece;

/* The shards that the ranks of a part write, sorted by key. Those of other ranks have the
 * same shape; their elements are not read. */
typedef struct part_tree {
    const void *dict;
    const piece *pieces;
    int64_t count;
} part_tree;

static int compare_pieces(const void *a, const void *b) {
    return strcmp(((const piece *)a)->key, ((const piece *)b)->key);
}

static pith_status add_pieces(pithp_parted_call *v, int64_t rank, piece *to, int64_t *n) {
    const pithp_structure *t = &v->t.flat.structure;
    for (int64_t k = 0; k < t->item_count; k++) {
        const pithp_field *field = v->t.leaves[k].field;
        if (!is_writer(v, k, rank))
            continue;
        to[(*n)++] =
            (piece){.key = key_of(v, k, rank),
                    .array = pithp_array_place(v->w, v->t.flat.items[k],
                                               pithp_spec_plain(v->w, t->specs[k])),
                    .level = field ? field->declared.options.compress : 0};
        if (v->w->error.code != PITH_OK)
            break;
    }
    return v->w->error.code;
}

/* False: the error is set. */
static bool make_part(pithp_parted_call *v, part_tree *part) {
    const size_t room = (size_t)(v->t.flat.structure.item_count * v->node_ranks) + 1;
    const char **keys = pithp_scope_allocate(v->w, room * sizeof *keys);
    const void **items = pithp_scope_allocate(v->w, room * sizeof *items);
    piece *pieces = pithp_scope_allocate(v->w, room * sizeof *pieces);
    int64_t n = 0;
    if (!keys || !items || !pieces)
        return false;
    for (int64_t r = v->leader; r < v->leader + v->node_ranks; r++)
        if (add_pieces(v, r, pieces, &n) != PITH_OK)
            return false;
    if (n)
        qsort(pieces, (size_t)n, sizeof *pieces, compare_pieces);
    for (int64_t i = 0; i < n; i++) {
        keys[i] = pieces[i].key;
        items[i] = pieces[i].array;
    }
    *part = (part_tree){pith_dict_make(v->w, n, keys, items), pieces, n};
    return part->dict != NULL;
}

/* The leaves of a dict are in the order of its keys. */
static pith_status capture_part(pith_scope *s,
                                const void *source,
                                pithp_document *d,
                                const pith_array ***arrays) {
    const part_tree *part = source;
    const pith_status rc = pithp_capture(s, part->dict, d, arrays);
    for (int64_t i = 0; rc == PITH_OK && i < part->count; i++)
        d->leaves.rows[i].level = part->pieces[i].level;
    return rc;
}

static pithp_saving *begin_part(pithp_parted_call *v, pithp_parted_job *j) {
    char name[256];
    part_tree part;
    if (!make_part(v, &part))
        return NULL;
    if (!part_name(j, v->leader, name)) {
        pithp_fail(v->w, PITH_E_IO, NULL, "cannot write \"%s\": the name is too long",
                   v->path);
        return NULL;
    }
    const pith_save_options o = {.inline_all = v->options->inline_all,
                                 .inline_bytes = v->options->inline_bytes,
                                 .compress = v->options->compress,
                                 .step = v->options->step},
                            shared = {.inline_bytes = -1,
                                      .compress = v->options->compress,
                                      .step = v->options->step};
    const char *path = pithp_part_path(v->w, v->path, name);
    if (!path || pithp_keep_slots(j->s, 1, &part.dict) != PITH_OK)
        return NULL;
    pithp_saving *made = pithp_saving_begin(j->s, capture_part, &part, path,
                                            v->node_ranks > 1 ? &shared : &o);
    if (made)
        made->is_part = true;
    if (!made || v->node_ranks == 1)
        return made;
    made->job = j;
    if (j->rank == j->leader) { /* so that the others of the node find it */
        pithp_writer_open(&made->sidecar, j->rt, &made->location, 0);
        pithp_writer_status(j->s, &made->sidecar, v->path);
    }
    return made;
}

typedef struct whole_tree {
    pithp_parted_call *v;
    const void *tree;
} whole_tree;

static pith_status capture(pith_scope *s,
                           const void *source,
                           pithp_document *d,
                           const pith_array ***arrays) {
    const whole_tree *whole = source;
    const pith_status rc = pithp_capture(s, whole->tree, d, arrays);
    return rc == PITH_OK ? pithp_parted_describe(whole->v, d) : rc;
}

static pithp_saving *begin_document(pithp_parted_call *v, pithp_parted_job *j) {
    whole_tree whole = {v, pithp_parted_whole(v)};
    if (!whole.tree || pithp_keep_slots(j->s, 1, &whole.tree) != PITH_OK)
        return NULL;
    pithp_saving *made = pithp_saving_begin(j->s, capture, &whole, v->path, v->options);
    const size_t bytes = (size_t)v->ranks * sizeof *v->everyone;
    pithp_parted_told *everyone = made ? pithp_scope_allocate(j->s, bytes) : NULL;
    if (everyone)
        memcpy(everyone, v->everyone, bytes);
    j->everyone = everyone;
    return made;
}

static bool is_usable(const pith_scope *s) {
    return pithp_scope_writable(s) && s->error.code == PITH_OK;
}

static bool open_scopes(pithp_parted_call *v, pithp_parted_job *j) {
    j->s = pith_scope_open(j->rt);
    j->agreed = pith_scope_open(j->rt);
    j->path = pithp_allocate(j->rt, strlen(v->path) + 1);
    if (j->path)
        strcpy(j->path, v->path);
    if (!j->path || !is_usable(j->s) || !is_usable(j->agreed)) {
        pithp_fail_memory(v->w, PITHP_BLOCK_BYTES);
        return false;
    }
    j->s->function = j->agreed->function = v->s->function;
    j->s->site = j->agreed->site = v->s->site;
    return pithp_location_open(v->w, j->path, &j->location) == PITH_OK;
}

pithp_parted_job *pithp_parted_job_begin(pithp_parted_call *v) {
    pithp_parted_job *j = pithp_allocate(v->w->runtime, sizeof *j);
    if (!j) {
        pithp_fail_memory(v->w, sizeof *j);
        return NULL;
    }
    *j = (pithp_parted_job){.rt = v->w->runtime,
                            .location = {.folder = -1},
                            .rank = v->rank,
                            .ranks = v->ranks,
                            .leader = v->leader,
                            .node_ranks = v->node_ranks,
                            .node_file = -1,
                            .per_node = v->options->part_per_node,
                            .id = v->everyone[0].id};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    if (open_scopes(v, j)) {
        j->part = begin_part(v, j);
        if (j->part && j->rank == 0)
            j->document = begin_document(v, j);
        pithp_saving_take_error(v->w, &j->s->error, "");
        if (v->w->error.code == PITH_OK)
            return j;
    }
    pithp_parted_job_end(j);
    return NULL;
}

static void close_scope(pith_scope *s) {
    if (!s || !pithp_scope_writable(s))
        return;
    pith_clear(s);
    pith_scope_close(s);
}

void pithp_parted_job_end(pithp_parted_job *j) {
    if (j->part)
        pithp_saving_end(j->part);
    if (j->document)
        pithp_saving_end(j->document);
    if (j->node_file >= 0)
        close(j->node_file);
    pithp_location_close(&j->location);
    pithp_release(j->rt, j->path, j->path ? strlen(j->path) + 1 : 0);
    close_scope(j->agreed);
    close_scope(j->s);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    pithp_release(j->rt, j, sizeof *j);
}

/* ---- Writing ---- */

pith_status pithp_parted_write_part(pithp_parted_job *j) {
    return pithp_saving_write(j->part);
}

bool pithp_parted_sees_all(pithp_parted_job *j) {
    pithp_document *d = &j->document->d;
    for (; j->seen < j->ranks; j->seen++) {
        char name[256];
        pithp_doc_part row = {.file = NULL}, *added;
        part_name(j, pithp_parted_leader(j->everyone, j->seen, j->per_node), name);
        j->unseen = pithp_part_find(j->location.folder, name, &row);
        if (j->unseen)
            return false;
        row.file = pithp_document_text(d, name, strlen(name));
        added = row.file ? pithp_document_add(d, parts) : NULL;
        if (!added) {
            pithp_fail_memory(j->s, sizeof *added);
            return false;
        }
        *added = row;
    }
    return true;
}

pith_status pithp_parted_write_document(pithp_parted_job *j) {
    pithp_document *d = &j->document->d;
    if (!pithp_parted_sees_all(j)) {
        char name[256];
        part_name(j, pithp_parted_leader(j->everyone, j->seen, j->per_node), name);
        const char *here = j->everyone[0].host, *there = j->everyone[j->seen].host;
        char room[120];
        if (j->s->error.code != PITH_OK)
            return j->s->error.code;
        if (j->unseen != ENOENT)
            return pithp_fail(j->s, PITH_E_IO, NULL,
                              "cannot write \"%s\": rank 0 (%s) cannot read the part "
                              "\"%s\" of rank %d (%s): %s",
                              j->path, here, name, (int)j->seen, there,
                              pithp_part_trouble(j->unseen, room, sizeof room));
        return pithp_fail(j->s, PITH_E_IO, NULL,
                          "cannot write \"%s\": rank 0 (%s) does not see the part "
                          "\"%s\" that rank %d (%s) wrote: all ranks must write to "
                          "one folder",
                          j->path, here, name, (int)j->seen, there);
    }
    pithp_parts_digest(d);
    pithp_folder_sync(&j->location); /* the names of the parts */
    return pithp_saving_write(j->document);
}

void pithp_parted_sweep(pithp_parted_job *j) {
    pith_scope *fresh = pith_scope_open(j->rt);
    if (is_usable(fresh))
        pithp_parts_sweep(fresh, &j->location, j->id);
    close_scope(fresh);
}
