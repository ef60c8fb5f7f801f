/* The fake of NCCL: communicators of threads, and moves that all ranks make together. */
#include "fake_nccl.h"

#include "fake_queue.h"
#include "gpu/cuda/nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 8, MOST_IDS = 4096, MOST_PARTS = 32 * MOST_RANKS, FAILED = 2 };

fake_nccl_state fake_nccl;
_Thread_local int fake_nccl_version;

typedef enum move_kind { REDUCE, GATHER, BROADCAST, GROUP } move_kind;

/* A message of a group, and a list of those that wait for the other rank. */
typedef struct part {
    bool sends;
    int peer;
    size_t bytes;
    void *data;
    struct move *in;
    struct part *next;
} part;

/* A move as one rank asks for it: the closure of its work. */
typedef struct move {
    pithp_nccl_comm comm;
    move_kind kind;
    bool captured, arrived;
    int left; /* what it waits for: messages, or 1 */
    int dtype, operation, root, part_count;
    size_t count;
    const void *from;
    void *to;
    part parts[MOST_PARTS];
} move;

/* A move that all ranks make. */
typedef struct meeting {
    struct meeting *next;
    uint64_t number;
    int arrived;
    move *of[MOST_RANKS];
} meeting;

typedef struct group {
    pithp_nccl_id id;
    int size, joined;
    bool broken;
    pithp_nccl_comm ranks[MOST_RANKS];
    meeting *meetings;
    part *waits[MOST_RANKS][MOST_RANKS]; /* from, to: of the rank that came first */
} group;

struct pithp_nccl_comm_of_library {
    group *of;
    int rank, polls;
    bool aborted, finalised, hangs;
    uint64_t ran; /* moves of all ranks */
    int held;     /* by nodes of graphs */
    int waiting;  /* moves that have come to their turn, and wait for other ranks */
    cudaStream_t behind; /* of a move that has not settled */
    void *context;
    pthread_t owner; /* the thread of the rank */
    pithp_nccl_comm next;
};

static pithp_nccl_comm comms; /* that live */
static int unsettled;         /* of them: moves */

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
        comm->rank != fake_nccl.fail_rank)
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
                                                .next = comms};
    comms = made;
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
    pithp_nccl_comm *at = &comms;
    while (*at != comm)
        at = &(*at)->next;
    *at = comm->next;
    settled(comm);
    fake_nccl.communicators--;
    fake_queue_changed();
}

/* A capture has to end, also if its move never settles. */
void fake_nccl_check_behind(const char *call_name, cudaStream_t stream) {
    for (pithp_nccl_comm comm = unsettled ? comms : NULL; comm; comm = comm->next)
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

/* ---- Moves on the device ---- */

static const char *name_of(const move *m) {
    static const char *const names[] = {"AllReduce", "AllGather", "Broadcast", "a group"};
    return names[m->kind];
}

/* What ranks must have in common. */
static bool is_alike(const move *a, const move *b) {
    return a->kind == b->kind && a->captured == b->captured && a->count == b->count &&
           a->dtype == b->dtype && a->operation == b->operation && a->root == b->root;
}

static void check_alike(const move *a, const move *b) {
    char text[300];
    if (is_alike(a, b))
        return;
    snprintf(text, sizeof text,
             "rank %d: %s of %zu, dtype %d, operation %d, root %d%s; rank %d: %s of %zu, "
             "dtype %d, operation %d, root %d%s",
             a->comm->rank, name_of(a), a->count, a->dtype, a->operation, a->root,
             a->captured ? ", captured" : "", b->comm->rank, name_of(b), b->count,
             b->dtype, b->operation, b->root, b->captured ? ", captured" : "");
    fake_cuda_abort("a move", text);
}

static size_t size_of(int dtype) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return sizes[dtype];
}

/* From the last rank to the first: an order of its own for floats. */
#define COMBINE(T)                                                                       \
    for (size_t e = 0; e < first->count; e++) {                                          \
        T all = ((const T *)meet->of[size - 1]->from)[e];                                \
        for (int i = size - 1; i-- > 0;) {                                               \
            const T x = ((const T *)meet->of[i]->from)[e];                               \
            all = first->operation == PITHP_NCCL_SUM   ? (T)(all + x)                    \
                  : first->operation == PITHP_NCCL_MIN ? (x < all ? x : all)             \
                                                       : (x > all ? x : all);            \
        }                                                                                \
        ((T *)made)[e] = all;                                                            \
    }

static void reduce(const meeting *meet, int size) {
    const move *first = meet->of[0];
    const size_t bytes = first->count * size_of(first->dtype);
    const bool sums = first->operation == PITHP_NCCL_SUM;
    void *made = malloc(bytes);
    switch (first->dtype + 16 * sums) { /* sums of integers wrap */
        case PITHP_NCCL_I8:
            COMBINE(int8_t)
            break;
        case PITHP_NCCL_U8:
        case PITHP_NCCL_U8 + 16:
        case PITHP_NCCL_I8 + 16:
            COMBINE(uint8_t)
            break;
        case PITHP_NCCL_I32:
            COMBINE(int32_t)
            break;
        case PITHP_NCCL_U32:
        case PITHP_NCCL_U32 + 16:
        case PITHP_NCCL_I32 + 16:
            COMBINE(uint32_t)
            break;
        case PITHP_NCCL_I64:
            COMBINE(int64_t)
            break;
        case PITHP_NCCL_U64:
        case PITHP_NCCL_U64 + 16:
        case PITHP_NCCL_I64 + 16:
            COMBINE(uint64_t)
            break;
        case PITHP_NCCL_F32:
        case PITHP_NCCL_F32 + 16:
            COMBINE(float)
            break;
        case PITHP_NCCL_F64:
        case PITHP_NCCL_F64 + 16:
            COMBINE(double)
            break;
        default:
            fake_cuda_abort("AllReduce", "a dtype that pith never reduces");
    }
    for (int i = 0; i < size; i++)
        memcpy(meet->of[i]->to, made, bytes);
    free(made);
}

static void perform(const meeting *meet, int size) {
    const move *first = meet->of[0];
    const size_t bytes = first->count * size_of(first->dtype);
    for (int i = 1; i < size; i++)
        check_alike(first, meet->of[i]);
    switch (first->kind) {
        case REDUCE:
            reduce(meet, size);
            break;
        case GATHER:
            for (int i = 0; i < size; i++)
                for (int k = 0; k < size; k++)
                    memmove((char *)meet->of[i]->to + (size_t)k * bytes,
                            meet->of[k]->from, bytes);
            break;
        case BROADCAST:
            for (int i = 0; i < size; i++)
                memmove(meet->of[i]->to, meet->of[first->root]->from, bytes);
            break;
        case GROUP:
            break;
    }
}

static meeting *meeting_of(group *g, uint64_t number) {
    for (meeting *m = g->meetings; m; m = m->next)
        if (m->number == number)
            return m;
    meeting *made = calloc(1, sizeof *made);
    made->number = number;
    made->next = g->meetings;
    g->meetings = made;
    return made;
}

static void forget(group *g, meeting *gone) {
    meeting **at = &g->meetings;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    free(gone);
}

static void check_memory(const move *m) {
    const size_t bytes = m->count * size_of(m->dtype);
    bool lives = true;
    if (m->kind != GROUP)
        lives = fake_memory_lives(m->from, bytes) &&
                fake_memory_lives(
                    m->to, m->kind == GATHER ? bytes * (size_t)m->comm->of->size : bytes);
    for (int k = 0; k < m->part_count; k++)
        lives = lives && fake_memory_lives(m->parts[k].data, m->parts[k].bytes);
    if (!lives)
        fake_cuda_abort(name_of(m), "memory that is not of the device, or was freed");
}

/* What the move waits for is less by one. */
static void one_less(move *m) {
    m->comm->waiting -= --m->left == 0;
}

/* Kernels of two communicators of a rank wait on its device at once: if another rank runs
 * them in another order, or has no room for both, that is for ever. */
static void check_alone(const move *m) {
    for (pithp_nccl_comm other = comms; other; other = other->next)
        if (other->of != m->comm->of && pthread_equal(other->owner, m->comm->owner) &&
            other->waiting)
            fake_cuda_abort(name_of(m), "while a move of another communicator waits");
}

static void meet_all(move *m) {
    group *g = m->comm->of;
    meeting *meet = meeting_of(g, m->comm->ran++);
    meet->of[m->comm->rank] = m;
    if (++meet->arrived < g->size)
        return;
    perform(meet, g->size);
    for (int i = 0; i < g->size; i++)
        one_less(meet->of[i]);
    forget(g, meet);
}

/* If the other rank of the message waits, it is moved; else this rank waits. */
static void meet_one(move *m, part *p) {
    group *g = m->comm->of;
    const int here = m->comm->rank;
    part **first = p->sends ? &g->waits[here][p->peer] : &g->waits[p->peer][here];
    part *other = *first;
    p->in = m;
    p->next = NULL;
    if (!other || other->sends == p->sends) {
        while (*first)
            first = &(*first)->next;
        *first = p;
        return;
    }
    if (other->bytes != p->bytes || other->in->captured != m->captured)
        fake_cuda_abort("a group", "a message of other bytes, or captured on one side");
    memmove(p->sends ? other->data : p->data, p->sends ? p->data : other->data, p->bytes);
    *first = other->next;
    one_less(other->in);
    one_less(m);
}

static void arrive(move *m) {
    m->arrived = true;
    check_memory(m);
    check_alone(m);
    m->left = m->kind == GROUP ? m->part_count : 1;
    m->comm->waiting++;
    if (m->kind != GROUP) {
        meet_all(m);
        return;
    }
    for (int k = 0; k < m->part_count; k++)
        meet_one(m, &m->parts[k]);
}

bool fake_nccl_meets(void *closure) {
    move *m = closure;
    if (m->comm->of->broken)
        return true;
    if (!m->arrived) {
        arrive(m);
        fake_queue_changed();
    }
    return m->left == 0;
}

void fake_nccl_begin(void *closure) {
    move *m = closure;
    if (m->comm->aborted || m->comm->finalised)
        fake_cuda_abort("GraphLaunch", "moves of a communicator that was aborted");
    m->arrived = false;
    fake_nccl.moves++;
}

void fake_nccl_run(const char *call, const void *closure) {
    (void)closure;
    fake_cuda_abort(call, "moves run by pieces");
}

static bool end_move(const char *call, void *closure) {
    (void)call, (void)closure;
    return true;
}

void fake_nccl_hold(const void *closure, int by) {
    ((const move *)closure)->comm->held += by;
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
        fake_queue_add_pieces(call_name, stream, end_move, fake_nccl_meets, m, sizeof *m);
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
                    .bytes = count * size_of(dtype),
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
    const part p = {.peer = peer, .bytes = count * size_of(dtype), .data = to};
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
