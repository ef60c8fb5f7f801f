/* pith_save by many ranks, format 3. Each rank writes its shards as a checkpoint of its
 * own, a part; nothing is gathered but the counts of rows. When all parts are durable,
 * rank 0 writes the document, which names them. Both outcomes are agreed, so that after a
 * kill at any moment the old or the new checkpoint is complete. */
#include "checkpoint/save/parted.h"

#include <stdio.h>
#include <string.h>

/* ---- Before anything is written ---- */

static pith_status number_counters(pithp_parted_call *v) {
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
        if (n == PITHP_PARTED_COUNTERS)
            return pithp_item_fail(v->w, &v->t.flat.structure, k, PITH_E_UNSUPPORTED,
                                   "more than %d leaves count rows",
                                   PITHP_PARTED_COUNTERS);
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

/* Remove what killed writers have left, before any rank writes: it may fill the disk. The
 * save of the document does it again, and waits for the lock. */
static pith_status sweep(pithp_parted_call *v) {
    pithp_location location;
    const pith_status rc = pithp_location_open(v->w, v->path, &location);
    if (rc == PITH_OK)
        pithp_folder_sweep_at_once(&location);
    pithp_location_close(&location);
    return rc;
}

/* The document has the axes of the scope's mesh. */
static pith_status check_mesh(pithp_parted_call *v) {
    for (int64_t k = 0; k < v->t.flat.structure.item_count; k++) {
        const pith_placement *p = pithp_placement_of(v->t.flat.structure.specs[k]);
        if (p && p->mesh != pith_mesh_of(v->w))
            return pithp_item_fail(v->w, &v->t.flat.structure, k, PITH_E_ARG,
                                   "pith_save: the leaf is sharded over another mesh "
                                   "than that of the scope");
    }
    return PITH_OK;
}

static pith_status prepare(pithp_parted_call *v, const void *tree) {
    const pith_mesh_info info = pith_mesh_about(pith_mesh_of(v->w));
    v->rank = info.rank;
    v->ranks = info.size;
    v->own.node = info.node;
    snprintf(v->own.host, sizeof v->own.host, "%s", info.host);
    v->own.id = pithp_part_number();
    v->all = pithp_mesh_group_of(v->w, NULL);
    if (!v->all ||
        pithp_save_options_check(v->w, "pith_save", v->path, v->options) != PITH_OK ||
        pithp_tree_check(v->w, tree, "pith_save", "tree") != PITH_OK ||
        pithp_shard_tree_read(v->w, &v->t, tree, NULL, true) != PITH_OK ||
        check_mesh(v) != PITH_OK || pithp_shard_tree_link(&v->t) != PITH_OK ||
        number_counters(v) != PITH_OK || (v->rank == 0 && sweep(v) != PITH_OK))
        return v->w->error.code;
    const size_t bytes = (size_t)v->ranks * sizeof *v->everyone;
    v->everyone = pithp_scope_allocate(v->w, bytes);
    if (v->everyone)
        memset(v->everyone, 0, bytes);
    return v->w->error.code;
}

/* Exchange what the ranks tell, if none of them has failed. */
static bool exchange(pithp_parted_call *v, uint64_t extra) {
    const pithp_intent intent = {
        .operation = "pith_save", .what = v->path ? v->path : "", .extra = extra};
    pith_scope *in = v->w ? v->w : v->s;
    if (!pithp_collective_begin(in, &intent))
        return false;
    pithp_mesh_group_gather(in, v->all, &v->own, v->everyone, sizeof v->own);
    pithp_collective_end(in);
    return in->error.code == PITH_OK; /* else the engine has failed, and the job ends */
}

/* ---- The call ---- */

/* Let threads do the jobs of all ranks, if each has started one. */
static bool go_on_in_background(pithp_parted_call *v, pithp_parted_job *j) {
    const pithp_intent intent = {.operation = "pith_save", .what = "background"};
    pithp_parted_job **place = j ? pithp_background_parted(v->w) : NULL;
    if (place && pithp_parted_job_start(j) != PITH_OK)
        pithp_saving_take_error(v->w, &j->agreed->error, "");
    if (pithp_collective_begin(v->w, &intent)) {
        pithp_collective_end(v->w);
        *place = j;
        return true;
    }
    if (j)
        pithp_parted_job_abandon(j);
    return false;
}

/* The ranks that share a part with this one: consecutive ones of the node. */
static void find_node(pithp_parted_call *v) {
    const bool per_node = v->options->part_per_node;
    v->leader = pithp_parted_leader(v->everyone, v->rank, per_node);
    v->node_ranks = 1;
    while (per_node && v->leader + v->node_ranks < v->ranks &&
           v->everyone[v->leader + v->node_ranks].node == v->own.node)
        v->node_ranks++;
}

/* Tell the ranks of a node the file that their first one has made. */
static bool share_files(pithp_parted_call *v, pithp_parted_job *j) {
    typedef char name[PITHP_TEMPORARY_NAME];
    const pithp_intent intent = {.operation = "pith_save", .what = "files of nodes"};
    name own = "",
         *all = j ? pithp_scope_allocate(v->w, (size_t)v->ranks * sizeof *all) : NULL;
    if (all && v->node_ranks > 1 && j->rank == j->leader)
        memcpy(own, j->part->sidecar.name, sizeof own);
    if (!pithp_collective_begin(v->w, &intent)) {
        if (j)
            pithp_parted_job_abandon(j);
        return false;
    }
    pithp_mesh_group_gather(v->w, v->all, own, all, sizeof own);
    pithp_collective_end(v->w);
    if (v->node_ranks > 1) /* its error comes with the outcome */
        pithp_node_part_open(j, all[j->leader]);
    return true;
}

static bool save(pithp_parted_call *v, const void *tree) {
    uint64_t digest = 0;
    if (v->w && prepare(v, tree) == PITH_OK)
        digest = pithp_shard_tree_digest(&v->t);
    if (!exchange(v, digest))
        return false;
    find_node(v);
    pithp_parted_job *j = pithp_parted_job_begin(v);
    if (v->options->part_per_node && !share_files(v, j))
        return false;
    if (v->options->background)
        return go_on_in_background(v, j);
    if (!j)
        pithp_collective_absent(v->w, "pith_save");
    return j && pithp_parted_job_settle(v->w, j);
}

bool pithp_save_sharded(pith_scope *s,
                        const void *tree,
                        const char *path,
                        const pith_save_options *options) {
    pithp_parted_call v = {.s = s, .path = path, .options = options};
    if (!pithp_background_settle_parted(s, NULL))
        return false;
    v.w = s->error.code == PITH_OK ? pithp_temporaries_open(s) : NULL;
    pithp_tree_compare(v.w ? v.w : s, "pith_save", tree); /* what is saved once */
    const bool saved = save(&v, tree);
    pithp_shard_tree_end(&v.t);
    if (v.w)
        pith_scope_close(v.w);
    return saved && s->error.code == PITH_OK;
}
