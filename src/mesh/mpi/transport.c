/* The transport over MPI, compiled once for each MPI: this is a library of its own, which
 * needs no symbol of libpith. It calls MPI from one thread at a time
 * (MPI_THREAD_SERIALIZED) and uses no more than MPI-3. */
#include "pith/mpi.h"

#include "mesh/mpi/mpi_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Failures ---- */

pith_status pith_mpi_fail(int code, const char *call, pithp_transport_trouble *t) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "code %d", code);
    t->code = PITH_E_PEER;
    snprintf(t->text, sizeof t->text, "%s: %.300s", call, text);
    return t->code;
}

pith_status
pith_mpi_refuse(pithp_transport_trouble *t, pith_status code, const char *text) {
    t->code = code;
    snprintf(t->text, sizeof t->text, "%s", text);
    return code;
}

/* ---- Ranks and nodes ---- */

/* "Open MPI 4.1.4" from "Open MPI v4.1.4, package: ...", "MPICH 4.0.2" from its version
 * page. */
static void name_library(char *to, size_t room) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    static const char mpich[] = "MPICH Version:";
    char *at = text;
    if (strncmp(text, mpich, sizeof mpich - 1) == 0) {
        at += sizeof mpich - 1;
        at += strspn(at, " \t");
        snprintf(to, room, "MPICH %.80s", at);
        return;
    }
    if ((at = strstr(text, " v")) && at[2] >= '0' && at[2] <= '9')
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    snprintf(to, room, "%.100s", text);
}

/* Whether a node has more ranks than cores: waits then give way to other processes. */
static pith_status
find_load(MPI_Comm node, int ranks, bool *polls, pithp_transport_trouble *t) {
    cpu_set_t own, all;
    pith_status rc = PITH_OK;
    memset(&own, 0, sizeof own);
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        memset(&own, 0, sizeof own);
    CHECK(MPI_Allreduce(&own, &all, (int)sizeof own, MPI_BYTE, MPI_BOR, node));
    *polls = CPU_COUNT(&all) < ranks;
out:
    return rc;
}

/* Number the ranks so that those of a node follow each other, and find the node's. */
static pith_status find_nodes(MPI_Comm from,
                              pith_mpi_world *w,
                              pithp_joined *j,
                              pithp_transport_trouble *t) {
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0, leader = 0, number[2] = {0, 0};
    pith_status rc = PITH_OK;
    CHECK(MPI_Comm_rank(from, &rank));
    CHECK(MPI_Comm_split_type(from, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
    leader = rank;
    CHECK(MPI_Bcast(&leader, 1, MPI_INT, 0, node));
    CHECK(MPI_Comm_split(from, 0, leader, &w->all.comm));
    CHECK(MPI_Comm_set_errhandler(w->all.comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_free(&node));
    CHECK(MPI_Comm_rank(w->all.comm, &w->all.rank));
    CHECK(MPI_Comm_size(w->all.comm, &w->all.size));
    CHECK(MPI_Comm_split(w->all.comm, leader, w->all.rank, &w->node));
    CHECK(MPI_Comm_set_errhandler(w->node, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_rank(w->node, &w->node_rank));
    CHECK(MPI_Comm_size(w->node, &w->node_size));
    CHECK(find_load(w->node, w->node_size, &w->polls, t));
    CHECK(pith_mpi_know_peers(w->node, w->node_size, w->all.rank, t));
    /* the nodes before this one, and all */
    number[0] = w->node_rank == 0;
    CHECK(MPI_Scan(number, number + 1, 1, MPI_INT, MPI_SUM, w->all.comm));
    j->node = w->number = number[1] - 1;
    CHECK(MPI_Allreduce(number, number + 1, 1, MPI_INT, MPI_SUM, w->all.comm));
    j->nodes = number[1];
    j->rank = w->all.rank;
    j->size = w->all.size;
    j->node_rank = w->node_rank;
    j->node_size = w->node_size;
out:
    return rc;
}

/* Memory that the node shares. Without it the ranks do not watch each other. */
static void share_memory(pith_mpi_world *w, size_t bytes) {
    w->shared = pith_mpi_share(w->node, w->node_size, bytes, bytes, &w->window);
}

/* Messages of MPI that other ranks wait for may need calls of this one. */
static void progress(void *world) {
    const pith_mpi_world *w = world;
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, PITH_MPI_NO_TAG, w->all.comm, &found, MPI_STATUS_IGNORE);
}

/* Mailboxes of the ranks of this node. Without them they use MPI. */
static void make_mailboxes(pith_mpi_world *w) {
    const int ranks = w->node_size;
    w->mailboxes = (pith_mpi_mailboxes){.ranks = ranks,
                                        .own = w->node_rank,
                                        .most = pith_mpi_mailbox_most(ranks),
                                        .sleeps = w->polls,
                                        .progress = progress,
                                        .closure = w};
    if (ranks > 1 && w->mailboxes.most)
        w->mailboxes.memory =
            pith_mpi_share(w->node, ranks, pith_mpi_mailbox_bytes(ranks),
                           pith_mpi_mailbox_zeros(ranks), &w->mail);
}

/* Which ranks of a link are on this node. */
static pith_status find_neighbours(pithp_transport_link *l, pithp_transport_trouble *t) {
    MPI_Group of_link = MPI_GROUP_NULL, of_node = MPI_GROUP_NULL;
    pith_status rc = PITH_OK;
    l->number = l->world->links++;
    int *all = calloc(2 * (size_t)l->size, sizeof *all), *found = all + l->size;
    if (!all)
        return pith_mpi_refuse(t, PITH_E_MEMORY,
                               "out of memory: no room for the ranks of a communicator");
    for (int i = 0; i < l->size; i++)
        all[i] = i;
    CHECK(MPI_Comm_group(l->comm, &of_link));
    CHECK(MPI_Comm_group(l->world->node, &of_node));
    CHECK(MPI_Group_translate_ranks(of_link, l->size, all, of_node, found));
    for (int i = 0; i < l->size; i++)
        all[i] = found[i] == MPI_UNDEFINED ? -1 : found[i];
    l->node_ranks = all;
out:
    if (of_link != MPI_GROUP_NULL)
        MPI_Group_free(&of_link);
    if (of_node != MPI_GROUP_NULL)
        MPI_Group_free(&of_node);
    if (rc != PITH_OK)
        free(all);
    return rc;
}

/* Where the ranks of a link meet, if they are on one node. Without it they use MPI. */
static void make_places(pithp_transport_link *l, bool on_node) {
    if (on_node && l->size > 1)
        l->places = (void *)pith_mpi_share(l->comm, l->size, pith_mpi_place_bytes(),
                                           pith_mpi_place_bytes(), &l->window);
}

static void free_link(pithp_transport_link *l) {
    if (l->window != MPI_WIN_NULL)
        MPI_Win_free(&l->window);
    if (l->comm != MPI_COMM_NULL)
        MPI_Comm_free(&l->comm);
    free(l->places);
    free(l->node_ranks);
}

/* ---- MPI_Finalize of the program ---- */

/* MPI_Finalize begins with the attributes of MPI_COMM_SELF, while all calls are still
 * possible. */
static int tell_end(MPI_Comm self, int key, void *world, void *none) {
    pith_mpi_world *w = world;
    void *ends = w->ends;
    (void)self, (void)key, (void)none;
    w->ends = NULL;
    if (ends)
        w->engine_ends(ends);
    return MPI_SUCCESS;
}

static pith_status
watch_end(pith_mpi_world *w, const pithp_joining *how, pithp_transport_trouble *t) {
    pith_status rc = PITH_OK;
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tell_end, &w->ending, NULL));
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, w->ending, w));
    w->engine_ends = how->engine_ends;
    w->ends = how->world;
out:
    return rc;
}

/* Unless MPI_Finalize tells. */
static void watch_end_no_more(pith_mpi_world *w) {
    const bool told = w->ends == NULL;
    w->ends = NULL;
    if (w->ending == MPI_KEYVAL_INVALID)
        return;
    if (!told)
        MPI_Comm_delete_attr(MPI_COMM_SELF, w->ending);
    MPI_Comm_free_keyval(&w->ending);
}

/* ---- Worlds ---- */

static void free_world(pith_mpi_world *w) {
    watch_end_no_more(w);
    if (w->window != MPI_WIN_NULL)
        MPI_Win_free(&w->window);
    if (w->mail != MPI_WIN_NULL)
        MPI_Win_free(&w->mail);
    if (w->node != MPI_COMM_NULL)
        MPI_Comm_free(&w->node);
    free_link(&w->all);
    free(w->shared);
    free(w->mailboxes.memory);
    free(w);
}

/* The communicator of a program. It is compared before MPI looks at it, which ends the
 * job if it is none. */
static pith_status
check_communicator(const pithp_joining *how, MPI_Comm *from, pithp_transport_trouble *t) {
    *from = MPI_COMM_WORLD;
    if (!how->communicator)
        return PITH_OK;
    if (how->communicator_bytes != sizeof *from) {
        t->code = PITH_E_ARG;
        snprintf(t->text, sizeof t->text,
                 "the communicator has %zu bytes, and that of %s %zu",
                 how->communicator_bytes, PITH_MPI_LIBRARY, sizeof *from);
        return t->code;
    }
    memcpy(from, how->communicator, sizeof *from);
    return *from != MPI_COMM_NULL
               ? PITH_OK
               : pith_mpi_refuse(t, PITH_E_ARG,
                                 "the communicator is MPI_COMM_NULL: this process is not "
                                 "in it, and opens no mesh over it");
}

/* Every process of an intercommunicator finds the same. */
static pith_status refuse_inter(MPI_Comm from, pithp_transport_trouble *t) {
    int inter = 0;
    pith_status rc = PITH_OK;
    CHECK(MPI_Comm_test_inter(from, &inter));
    if (inter)
        rc = pith_mpi_refuse(t, PITH_E_ARG,
                             "the communicator is an intercommunicator: pass one of a "
                             "single group, such as that of MPI_Intercomm_merge");
out:
    return rc;
}

static pith_status
open_mpi(const pithp_joining *how, pithp_joined *j, pithp_transport_trouble *t) {
    pith_mpi_world *w = NULL;
    MPI_Comm from;
    pith_status rc = check_communicator(how, &from, t);
    rc = rc == PITH_OK ? pith_mpi_begin(how->hydra, t) : rc;
    rc = rc == PITH_OK ? refuse_inter(from, t) : rc;
    if (rc != PITH_OK)
        return rc;
    w = calloc(1, sizeof *w);
    if (!w)
        return pith_mpi_refuse(t, PITH_E_MEMORY,
                               "out of memory: no room for a communicator");
    w->all.world = w;
    w->all.comm = w->node = MPI_COMM_NULL;
    w->window = w->mail = w->all.window = MPI_WIN_NULL;
    w->ending = MPI_KEYVAL_INVALID;
    w->most = INT32_MAX;
    if ((rc = watch_end(w, how, t)) != PITH_OK ||
        (rc = find_nodes(from, w, j, t)) != PITH_OK ||
        (rc = find_neighbours(&w->all, t)) != PITH_OK) {
        free_world(w);
        return rc;
    }
    int started = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &started);
    j->started = started;
    share_memory(w, how->shared_bytes);
    make_places(&w->all, w->node_size == w->all.size);
    make_mailboxes(w);
    name_library(j->library, sizeof j->library);
    j->all = &w->all;
    return PITH_OK;
}

static void close_mpi(pithp_transport_link *all, int64_t timeout_ns) {
    int finalized = 0;
    pith_mpi_end_within(timeout_ns);
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
        free_world(all->world);
}

static void end_mpi(pithp_transport_link *all, int code) {
    (void)all;
    pith_mpi_keeper_stop();
    _exit(code);
}

static void abort_mpi(pithp_transport_link *all, int code) {
    int finalized = 0;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
        MPI_Abort(all->comm, code);
    end_mpi(all, code);
}

static void *shared_mpi(const pithp_transport_link *all, int64_t node_rank) {
    return all->world->shared ? all->world->shared[node_rank] : NULL;
}

static pith_status split_mpi(pithp_transport_link *all,
                             int64_t colour,
                             int64_t key,
                             pithp_transport_link **part,
                             pithp_transport_trouble *t) {
    pith_status rc = PITH_OK;
    pithp_transport_link *l = calloc(1, sizeof *l);
    if (!l)
        return pith_mpi_refuse(t, PITH_E_MEMORY,
                               "out of memory: no room for a communicator");
    int node[2] = {all->world->number, -all->world->number}, least[2];
    l->world = all->world;
    l->window = MPI_WIN_NULL;
    CHECK(MPI_Comm_split(all->comm, (int)colour, (int)key, &l->comm));
    CHECK(MPI_Comm_set_errhandler(l->comm, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_rank(l->comm, &l->rank));
    CHECK(MPI_Comm_size(l->comm, &l->size));
    CHECK(MPI_Allreduce(node, least, 2, MPI_INT, MPI_MIN, l->comm));
    make_places(l, least[0] == -least[1]);
    if ((rc = find_neighbours(l, t)) != PITH_OK)
        goto out;
    *part = l;
    return PITH_OK;
out:
    free(l);
    return rc;
}

static void drop_mpi(pithp_transport_link *part) {
    int finalized = 0;
    if (MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
        free_link(part);
    free(part);
}

static const pithp_transport transport = {
    .version = PITHP_TRANSPORT_VERSION,
    .name = "mpi",
    .mpi = PITH_MPI_LIBRARY,
    .process = true,
    .open = open_mpi,
    .close = close_mpi,
    .end = end_mpi,
    .abort = abort_mpi,
    .shared = shared_mpi,
    .split = split_mpi,
    .drop = drop_mpi,
    .agree = pith_mpi_agree,
    .reduce = pith_mpi_reduce,
    .scan = pith_mpi_scan,
    .broadcast = pith_mpi_broadcast,
    .gather = pith_mpi_gather,
    .transpose = pith_mpi_transpose,
    .exchange = pith_mpi_exchange,
};

const pithp_transport *pith_transport_of_plugin(void) {
    return &transport;
}
