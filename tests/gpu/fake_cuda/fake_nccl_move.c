/* What moves do on the device of the fake of NCCL: they wait for the other ranks, are
 * held against theirs, and copy or combine. */
#include "fake_nccl_move.h"

#include "fake_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is moved ---- */

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

size_t fake_nccl_size_of(int dtype) {
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
    const size_t bytes = first->count * fake_nccl_size_of(first->dtype);
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
    const size_t bytes = first->count * fake_nccl_size_of(first->dtype);
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

/* ---- Meeting the other ranks ---- */

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
    const size_t bytes = m->count * fake_nccl_size_of(m->dtype);
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
    for (pithp_nccl_comm other = fake_nccl_comms; other; other = other->next)
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

/* ---- What queues and graphs run ---- */

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

bool fake_nccl_end(const char *call, void *closure) {
    (void)call, (void)closure;
    return true;
}

void fake_nccl_hold(const void *closure, int by) {
    ((const move *)closure)->comm->held += by;
}
