/* The fake of NCCL: communicators of threads, and the calls of the library. */
#include "fake_nccl_move.h"
#include "fake_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 4096, FAILED = 2 };

fake_nccl_state fake_nccl;
_Thread_local int fake_nccl_version;

pithp_nccl_comm fake_nccl_comms;
static int unsettled; /* of them: moves */

static group groups[MOST_IDS];
static int group_count;

/* Calls of one thread between GroupStart and GroupEnd. */
static _Thread_local struct {
    int depth;
    bool failed;
    move made;
    cudaStream_t stream;
} now;

/* ---- Calls ---- */

#define BEGIN(call)                                                                      \
    static const char call_name[] = "nccl" call;                                         \
    (void)call_name;                                                                     \
    pthread_mutex_lock(&fake_cuda_lock)

static int end(int result) {
    pthread_mutex_unlock(&fake_cuda_lock);
    return result;
}

static bool is_settled(pithp_nccl_comm comm) {
    return comm->polls == 0 && comm->of->joined == comm->of->size;
}

/* Nonblocking calls have only begun their work. */
static int begun(pithp_nccl_comm comm) {
    comm->polls = fake_nccl.pending ? fake_nccl.pending : 2;
    return PITHP_NCCL_IN_PROGRESS;
}

static bool fails(pithp_nccl_comm comm, const char *call) {
    if (!fake_nccl.fail_call || strcmp(call + 4, fake_nccl.fail_call) != 0 ||
        comm->rank != fake_nccl.fail_rank || fake_nccl.fail_after-- > 0)
        return false;
    fake_nccl.fail_call = NULL;
    comm->hangs = fake_nccl.hangs;
    return !comm->hangs;
}

static void check_comm(const char *call_name, pithp_nccl_comm comm) {
    FAKE_CHECK(comm, "no communicator");
    FAKE_CHECK(!comm->aborted, "a communicator that was aborted");
    FAKE_CHECK(!comm->finalised, "a communicator that was finalised");
    FAKE_CHECK(is_settled(comm), "the call before has not settled");
}

/* ---- Communicators ---- */

static int get_version(int *version) {
    *version = fake_nccl_version ? fake_nccl_version : 22703;
    return PITHP_NCCL_OK;
}

static int get_id(pithp_nccl_id *id) {
    BEGIN("GetUniqueId");
    FAKE_CHECK(group_count < MOST_IDS, "too many ids");
    group *made = &groups[group_count++];
    memset(made, 0, sizeof *made);
    snprintf(made->id.bytes, sizeof made->id.bytes, "the fake's %d", group_count);
    *id = made->id;
    return end(PITHP_NCCL_OK);
}

static group *find_group(const pithp_nccl_id *id) {
    for (int k = 0; k < group_count; k++)
        if (memcmp(&groups[k].id, id, sizeof *id) == 0)
            return &groups[k];
    return NULL;
}

static int init(pithp_nccl_comm *comm,
                int size,
                pithp_nccl_id id,
                int rank,
                pithp_nccl_config *config) {
    BEGIN("CommInitRankConfig");
    group *g = find_group(&id);
    FAKE_CHECK(g, "an id that no rank has made");
    FAKE_CHECK(config && config->magic == PITHP_NCCL_MAGIC &&
                   config->size == sizeof *config && config->version >= 22700,
               "no configuration");
    FAKE_CHECK(config->blocking == 0, "a communicator that blocks");
    FAKE_CHECK(fake_cuda_context(), "no device is current");
    FAKE_CHECK(size > 0 && size <= MOST_RANKS && rank >= 0 && rank < size, "no rank");
    FAKE_CHECK(!g->size || g->size == size, "ranks say that it has other sizes");
    FAKE_CHECK(!g->ranks[rank], "a rank that another one has");
    pithp_nccl_comm made = calloc(1, sizeof *made);
    *made = (struct pithp_nccl_comm_of_library){.of = g,
                                                .rank = rank,
                                                .context = fake_cuda_context(),
                                                .owner = pthread_self(),
                                                .next = fake_nccl_comms};
    fake_nccl_comms = made;
    g->size = size;
    g->ranks[rank] = *comm = made;
    fake_nccl.communicators++;
    if (fails(made, call_name))
        return end(FAILED);
    if (!made->hangs)
        g->joined++;
    return end(begun(made));
}

static void settled(pithp_nccl_comm comm) {
    unsettled -= comm->behind != NULL;
    comm->behind = NULL;
}

/* Waits on all threads end when a rank leaves. */
static void leave(pithp_nccl_comm comm) {
    pithp_nccl_comm *at = &fake_nccl_comms;
    while (*at != comm)
        at = &(*at)->next;
    *at = comm->next;
    settled(comm);
    fake_nccl.communicators--;
    fake_queue_changed();
}

/* A capture has to end, also if its move never settles. */
void fake_nccl_check_behind(const char *call_name, cudaStream_t stream) {
    for (pithp_nccl_comm comm = unsettled ? fake_nccl_comms : NULL; comm;
         comm = comm->next)
        FAKE_CHECK(comm->behind != stream || (comm->hangs && fake_queue_captures(stream)),
                   "behind a move that has not settled, so may not be enqueued yet");
}

static int finalise(pithp_nccl_comm comm) {
    BEGIN("CommFinalize");
    check_comm(call_name, comm);
    FAKE_CHECK(!comm->held, "a graph holds moves of it: NCCL would wait for ever");
    comm->finalised = true;
    return end(begun(comm));
}

static int destroy(pithp_nccl_comm comm) {
    BEGIN("CommDestroy");
    FAKE_CHECK(comm && comm->finalised && !comm->aborted && !comm->polls,
               "a communicator that is not finalised");
    FAKE_CHECK(!comm->held, "a graph holds moves of it: NCCL would wait for ever");
    comm->aborted = true; /* any use of it from here on ends the program */
    leave(comm);
    return end(PITHP_NCCL_OK);
}

static int abort_comm(pithp_nccl_comm comm) {
    BEGIN("CommAbort");
    FAKE_CHECK(comm && !comm->aborted, "no communicator, or one that was aborted");
    FAKE_CHECK(!comm->held, "a graph holds moves of it: NCCL would wait for ever");
    comm->aborted = comm->of->broken = true;
    fake_nccl.aborted++;
    leave(comm);
    return end(PITHP_NCCL_OK);
}

static int get_error(pithp_nccl_comm comm, int *result) {
    BEGIN("CommGetAsyncError");
    FAKE_CHECK(comm && !comm->aborted, "no communicator, or one that was aborted");
    comm->polls -= comm->polls > 0 && !comm->hangs;
    *result = (fake_nccl.loses && comm->rank == fake_nccl.lost_rank) || comm->of->broken
                  ? FAILED
              : is_settled(comm) && !comm->hangs ? PITHP_NCCL_OK
                                                 : PITHP_NCCL_IN_PROGRESS;
    if (*result != PITHP_NCCL_IN_PROGRESS) /* done, or failed with another rank */
        settled(comm);
    return end(PITHP_NCCL_OK);
}

/* ---- Calls that move ---- */

static int enqueue(const char *call_name, move *m, cudaStream_t stream) {
    check_comm(call_name, m->comm);
    FAKE_CHECK(stream, "the default stream");
    FAKE_CHECK(!now.depth, "within a group");
    FAKE_CHECK(fake_queue_context(stream) == m->comm->context &&
                   fake_cuda_context() == m->comm->context,
               "a stream, or a thread, of another device");
    fake_nccl_check_behind(call_name, stream);
    if (fails(m->comm, call_name))
        return FAILED;
    m->captured = fake_queue_captures(stream);
    fake_nccl.captured += m->captured;
    fake_nccl.moves += !m->captured;
    if (m->captured)
        fake_graph_add_work(call_name, fake_queue_graph(stream), cudaGraphNodeTypeHost,
                            fake_nccl_run, m, sizeof *m);
    else
        fake_queue_add_pieces(call_name, stream, fake_nccl_end, fake_nccl_meets, m,
                              sizeof *m);
    m->comm->behind = stream;
    unsettled++;
    return begun(m->comm);
}

static int all_reduce(const void *from,
                      void *to,
                      size_t count,
                      int dtype,
                      int operation,
                      pithp_nccl_comm comm,
                      cudaStream_t stream) {
    BEGIN("AllReduce");
    return end(enqueue(call_name,
                       &(move){.comm = comm,
                               .kind = REDUCE,
                               .dtype = dtype,
                               .operation = operation,
                               .count = count,
                               .from = from,
                               .to = to},
                       stream));
}

static int all_gather(const void *from,
                      void *to,
                      size_t count,
                      int dtype,
                      pithp_nccl_comm comm,
                      cudaStream_t stream) {
    BEGIN("AllGather");
    return end(enqueue(call_name,
                       &(move){.comm = comm,
                               .kind = GATHER,
                               .dtype = dtype,
                               .count = count,
                               .from = from,
                               .to = to},
                       stream));
}

static int broadcast(const void *from,
                     void *to,
                     size_t count,
                     int dtype,
                     int root,
                     pithp_nccl_comm comm,
                     cudaStream_t stream) {
    BEGIN("Broadcast");
    FAKE_CHECK(root >= 0 && root < comm->of->size, "a root that is no rank");
    return end(enqueue(call_name,
                       &(move){.comm = comm,
                               .kind = BROADCAST,
                               .dtype = dtype,
                               .root = root,
                               .count = count,
                               .from = from,
                               .to = to},
                       stream));
}

static int group_start(void) {
    BEGIN("GroupStart");
    FAKE_CHECK(!now.depth, "the group before did not end");
    now.depth = 1;
    now.failed = false;
    now.made = (move){.kind = GROUP};
    return end(PITHP_NCCL_OK);
}

static int group_end(void) {
    BEGIN("GroupEnd");
    FAKE_CHECK(now.depth, "a group that did not begin");
    now.depth = 0;
    return end(now.failed            ? FAILED
               : now.made.part_count ? enqueue(call_name, &now.made, now.stream)
                                     : PITHP_NCCL_OK);
}

static int
add_part(const char *call_name, part p, pithp_nccl_comm comm, cudaStream_t stream) {
    check_comm(call_name, comm);
    FAKE_CHECK(now.depth, "a message out of a group would wait for the other rank");
    FAKE_CHECK(p.peer >= 0 && p.peer < comm->of->size, "no rank");
    FAKE_CHECK(now.made.part_count < MOST_PARTS, "too many messages");
    FAKE_CHECK(!now.made.part_count || (now.made.comm == comm && now.stream == stream),
               "a group of several communicators or streams");
    now.failed = now.failed || fails(comm, call_name);
    now.made.comm = comm;
    now.stream = stream;
    now.made.parts[now.made.part_count++] = p;
    return now.failed         ? FAILED
           : fake_nccl.queues ? PITHP_NCCL_IN_PROGRESS
                              : PITHP_NCCL_OK;
}

static int send(const void *from,
                size_t count,
                int dtype,
                int peer,
                pithp_nccl_comm comm,
                cudaStream_t stream) {
    BEGIN("Send");
    fake_nccl.messages++;
    const part p = {.sends = true,
                    .peer = peer,
                    .bytes = count * fake_nccl_size_of(dtype),
                    .data = (void *)(uintptr_t)from};
    return end(add_part(call_name, p, comm, stream));
}

static int receive(void *to,
                   size_t count,
                   int dtype,
                   int peer,
                   pithp_nccl_comm comm,
                   cudaStream_t stream) {
    BEGIN("Recv");
    const part p = {.peer = peer, .bytes = count * fake_nccl_size_of(dtype), .data = to};
    return end(add_part(call_name, p, comm, stream));
}

/* ---- The library ---- */

static const char *error_string(int result) {
    return result == FAILED ? "unhandled system error" : "an error of the fake";
}

static const char *last_error(pithp_nccl_comm comm) {
    return comm ? "the fake's cable was pulled" : "";
}

const pithp_nccl *pithp_nccl_open(pithp_error *e) {
    static const pithp_nccl library = {.GetVersion = get_version,
                                       .GetUniqueId = get_id,
                                       .CommInitRankConfig = init,
                                       .CommFinalize = finalise,
                                       .CommDestroy = destroy,
                                       .CommAbort = abort_comm,
                                       .CommGetAsyncError = get_error,
                                       .GroupStart = group_start,
                                       .GroupEnd = group_end,
                                       .Send = send,
                                       .Recv = receive,
                                       .Broadcast = broadcast,
                                       .AllGather = all_gather,
                                       .AllReduce = all_reduce,
                                       .GetErrorString = error_string,
                                       .GetLastError = last_error};
    if (!fake_nccl.absent)
        return &library;
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "NCCL is not found: the fake");
    return NULL;
}
