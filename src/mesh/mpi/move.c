/* Moves of data over MPI. If a node has no more ranks than cores, waits block, which is
 * fastest; otherwise they test, give way and sleep, so that 8 ranks on 2 cores progress.
 * Short messages of ranks that share a node do not go through MPI (node.c, mailbox.c).
 *
 * MPI counts by int. Larger messages have elements of several bytes: a type of 2^k bytes
 * and a rest (whole_type). */
#include "mesh/mpi/mpi_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Waits ---- */

enum { YIELDS = 64, LEAST_SLEEP_NS = 20000, MOST_SLEEP_NS = 400000 };

/* statuses: of each request, or MPI_STATUSES_IGNORE. */
static pith_status finish(const pithp_transport_link *l,
                          int count,
                          MPI_Request *requests,
                          MPI_Status *statuses,
                          pithp_transport_trouble *t) {
    pith_status rc = PITH_OK;
    if (!l->world->polls) {
        CHECK(MPI_Waitall(count, requests, statuses));
        return rc;
    }
    long ns = LEAST_SLEEP_NS;
    for (int tests = 0;; tests++) {
        int done = 0;
        CHECK(MPI_Testall(count, requests, &done, statuses));
        if (done)
            return rc;
        if (tests < YIELDS) {
            sched_yield();
        } else {
            const struct timespec pause = {.tv_nsec = ns};
            nanosleep(&pause, NULL);
            ns = 2 * ns < MOST_SLEEP_NS ? 2 * ns : MOST_SLEEP_NS;
        }
    }
out:
    return rc;
}

/* MPI_X, or MPI_IX and a wait that gives way. */
#define WAIT_FOR(name, Name, ...)                                                        \
    do {                                                                                 \
        if (l->world->polls) {                                                           \
            MPI_Request request_;                                                        \
            CHECK(MPI_I##name(__VA_ARGS__, &request_));                                  \
            if ((rc = finish(l, 1, &request_, MPI_STATUSES_IGNORE, t)) != PITH_OK)       \
                goto out;                                                                \
        } else {                                                                         \
            CHECK(MPI_##Name(__VA_ARGS__));                                              \
        }                                                                                \
    } while (0)

/* ---- Types ---- */

static MPI_Datatype type_of(pith_dtype dtype) {
    switch (dtype) {
        case PITH_BOOL:
        case PITH_U8:
            return MPI_UINT8_T;
        case PITH_I8:
            return MPI_INT8_T;
        case PITH_I16:
            return MPI_INT16_T;
        case PITH_I32:
            return MPI_INT32_T;
        case PITH_I64:
            return MPI_INT64_T;
        case PITH_U16:
            return MPI_UINT16_T;
        case PITH_U32:
            return MPI_UINT32_T;
        case PITH_U64:
            return MPI_UINT64_T;
        case PITH_F32:
            return MPI_FLOAT;
        case PITH_F64:
            return MPI_DOUBLE;
        case PITH_F16:
        case PITH_BF16:
        case PITH_DTYPE_NONE:
            break;
    }
    return MPI_DATATYPE_NULL;
}

static size_t width_of(pith_dtype dtype) {
    static const size_t widths[] = {0,
#define WIDTH(name, NAME, T, bytes, kind) bytes,
                                    PITH_DTYPE_LIST(WIDTH)
#undef WIDTH
    };
    return widths[dtype];
}

/* A sum of signed integers wraps, as one of unsigned integers does. */
static pith_dtype wrapping(pith_dtype dtype) {
    switch (dtype) {
        case PITH_I8:
            return PITH_U8;
        case PITH_I16:
            return PITH_U16;
        case PITH_I32:
            return PITH_U32;
        case PITH_I64:
            return PITH_U64;
        case PITH_DTYPE_NONE:
        case PITH_BOOL:
        case PITH_U8:
        case PITH_U16:
        case PITH_U32:
        case PITH_U64:
        case PITH_F16:
        case PITH_BF16:
        case PITH_F32:
        case PITH_F64:
            break;
    }
    return dtype;
}

/* Bytes as a count of a type: MPI_BYTE, or one element of a type made here. */
typedef struct message {
    MPI_Datatype type;
    int count;
    bool made;
} message;

static pith_status whole_type(const pithp_transport_link *l,
                              size_t bytes,
                              message *m,
                              pithp_transport_trouble *t) {
    const size_t most = (size_t)l->world->most;
    pith_status rc = PITH_OK;
    *m = (message){.type = MPI_BYTE, .count = (int)bytes};
    if (bytes < most)
        return PITH_OK;
    const size_t chunks = bytes / most, rest = bytes % most;
    MPI_Datatype chunk, body;
    CHECK(MPI_Type_contiguous((int)most, MPI_BYTE, &chunk));
    CHECK(MPI_Type_contiguous((int)chunks, chunk, &body));
    const int lengths[] = {1, (int)rest};
    const MPI_Aint places[] = {0, (MPI_Aint)(chunks * most)};
    const MPI_Datatype types[] = {body, MPI_BYTE};
    CHECK(MPI_Type_create_struct(2, lengths, places, types, &m->type));
    CHECK(MPI_Type_commit(&m->type));
    MPI_Type_free(&body);
    MPI_Type_free(&chunk);
    m->count = 1;
    m->made = true;
out:
    return rc;
}

static void free_type(message *m) {
    if (m->made)
        MPI_Type_free(&m->type);
}

/* ---- Moves ---- */

static bool meets(const pithp_transport_link *l, size_t bytes) {
    return l->places && bytes && bytes <= PITH_MPI_SHORT;
}

static void least_of_meeting(pithp_transport_link *l, uint64_t words[PITHP_AGREE_WORDS]) {
    pith_mpi_meet(l, words, PITHP_AGREE_WORDS * sizeof *words);
    for (int rank = 0; rank < l->size; rank++) {
        const uint64_t *of = pith_mpi_message(l, rank);
        for (int i = 0; i < PITHP_AGREE_WORDS; i++)
            words[i] = of[i] < words[i] ? of[i] : words[i];
    }
}

/* In the order of the ranks, on each of them. */
static pith_status combine_of_meeting(pithp_transport_link *l,
                                      MPI_Op op,
                                      MPI_Datatype type,
                                      void *data,
                                      int count,
                                      size_t bytes,
                                      pithp_transport_trouble *t) {
    pith_status rc = PITH_OK;
    pith_mpi_meet(l, data, bytes);
    memcpy(data, pith_mpi_message(l, 0), bytes);
    for (int rank = 1; rank < l->size; rank++)
        CHECK(MPI_Reduce_local(pith_mpi_message(l, rank), data, count, type, op));
out:
    return rc;
}

pith_status pith_mpi_agree(pithp_transport_link *l,
                           uint64_t words[PITHP_AGREE_WORDS],
                           pithp_transport_trouble *t) {
    /* MPICH 4.0 compares MPI_UINT64_T as signed: the order of signed numbers, moved */
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t moved[PITHP_AGREE_WORDS], least[PITHP_AGREE_WORDS];
    pith_status rc = PITH_OK;
    if (l->places) {
        least_of_meeting(l, words);
        return PITH_OK;
    }
    for (int i = 0; i < PITHP_AGREE_WORDS; i++)
        moved[i] = words[i] ^ sign;
    WAIT_FOR(allreduce, Allreduce, moved, least, PITHP_AGREE_WORDS, MPI_INT64_T, MPI_MIN,
             l->comm);
    for (int i = 0; i < PITHP_AGREE_WORDS; i++)
        words[i] = least[i] ^ sign;
out:
    return rc;
}

pith_status pith_mpi_reduce(pithp_transport_link *l,
                            pithp_combine how,
                            pith_dtype dtype,
                            void *data,
                            int64_t count,
                            pithp_transport_trouble *t) {
    const MPI_Op op = how == PITHP_COMBINE_SUM   ? MPI_SUM
                      : how == PITHP_COMBINE_MIN ? MPI_MIN
                                                 : MPI_MAX;
    const MPI_Datatype type = type_of(how == PITHP_COMBINE_SUM ? wrapping(dtype) : dtype);
    const size_t width = width_of(dtype);
    pith_status rc = PITH_OK;
    if (meets(l, (size_t)count * width))
        return combine_of_meeting(l, op, type, data, (int)count, (size_t)count * width,
                                  t);
    for (int64_t at = 0; at < count; at += l->world->most) {
        const int64_t n = count - at < l->world->most ? count - at : l->world->most;
        WAIT_FOR(allreduce, Allreduce, MPI_IN_PLACE, (char *)data + (size_t)at * width,
                 (int)n, type, op, l->comm);
    }
out:
    return rc;
}

pith_status pith_mpi_scan(pithp_transport_link *l,
                          pith_dtype dtype,
                          const void *from,
                          void *to,
                          int64_t count,
                          pithp_transport_trouble *t) {
    const MPI_Datatype type = type_of(wrapping(dtype));
    const size_t width = width_of(dtype);
    pith_status rc = PITH_OK;
    for (int64_t at = 0; at < count; at += l->world->most) {
        const int64_t n = count - at < l->world->most ? count - at : l->world->most;
        WAIT_FOR(exscan, Exscan, (const char *)from + (size_t)at * width,
                 (char *)to + (size_t)at * width, (int)n, type, MPI_SUM, l->comm);
    }
    if (l->rank == 0 && count) /* MPI leaves it undefined */
        memset(to, 0, (size_t)count * width);
out:
    return rc;
}

pith_status pith_mpi_broadcast(pithp_transport_link *l,
                               int64_t root,
                               void *data,
                               size_t bytes,
                               pithp_transport_trouble *t) {
    if (meets(l, bytes)) {
        pith_mpi_meet(l, data, l->rank == root ? bytes : 0);
        memcpy(data, pith_mpi_message(l, (int)root), bytes);
        return PITH_OK;
    }
    message m;
    pith_status rc = whole_type(l, bytes, &m, t);
    if (rc != PITH_OK)
        return rc;
    WAIT_FOR(bcast, Bcast, data, m.count, m.type, (int)root, l->comm);
out:
    free_type(&m);
    return rc;
}

pith_status pith_mpi_gather(pithp_transport_link *l,
                            const void *from,
                            void *to,
                            size_t bytes,
                            pithp_transport_trouble *t) {
    if (meets(l, bytes)) {
        pith_mpi_meet(l, from, bytes);
        for (int rank = 0; rank < l->size; rank++)
            memcpy((char *)to + (size_t)rank * bytes, pith_mpi_message(l, rank), bytes);
        return PITH_OK;
    }
    message m;
    pith_status rc = whole_type(l, bytes, &m, t);
    if (rc != PITH_OK)
        return rc;
    WAIT_FOR(allgather, Allgather, from, m.count, m.type, to, m.count, m.type, l->comm);
out:
    free_type(&m);
    return rc;
}

pith_status pith_mpi_transpose(pithp_transport_link *l,
                               const void *from,
                               void *to,
                               size_t bytes,
                               pithp_transport_trouble *t) {
    message m;
    pith_status rc = whole_type(l, bytes, &m, t);
    if (rc != PITH_OK)
        return rc;
    WAIT_FOR(alltoall, Alltoall, from, m.count, m.type, to, m.count, m.type, l->comm);
out:
    free_type(&m);
    return rc;
}

/* ---- Messages between two ranks ---- */

/* Ranks of this node send short messages through mailboxes, and tell the lengths of
 * others there, which MPI carries as those between nodes (mailbox.c). */
enum { FEW = 16 };

/* An exchange. Of each parcel, receives first: a letter, a request and a status. */
typedef struct exchange {
    pithp_transport_link *l;
    const pithp_exchange *x;
    pith_mpi_letter *letters;
    MPI_Request *requests;
    MPI_Status *statuses;
    bool engine; /* MPI carries a message */
} exchange;

static const pithp_parcel *parcel_of(const exchange *e, int i) {
    const int receives = e->x->receives;
    return i < receives ? &e->x->receive[i] : &e->x->send[i - receives];
}

static bool by_engine(const exchange *e, int i) {
    return e->letters[i].rank < 0 || e->letters[i].bytes > e->l->world->mailboxes.most;
}

static void address_letters(exchange *e) {
    const bool boxes = e->l->world->mailboxes.memory != NULL;
    for (int i = 0; i < e->x->receives + e->x->sends; i++) {
        const pithp_parcel *p = parcel_of(e, i);
        e->letters[i] = (pith_mpi_letter){.rank = boxes ? e->l->node_ranks[p->peer] : -1,
                                          .data = p->data,
                                          .bytes = p->bytes};
        e->engine |= by_engine(e, i);
    }
}

/* Start the messages of MPI, receives or sends. */
static pith_status
start(const exchange *e, int begin, int end, pithp_transport_trouble *t) {
    const pithp_transport_link *l = e->l;
    pith_status rc = PITH_OK;
    for (int i = begin; i < end && rc == PITH_OK; i++) {
        const pithp_parcel *p = parcel_of(e, i);
        message m = {.made = false};
        e->requests[i] = MPI_REQUEST_NULL;
        if (!by_engine(e, i))
            continue;
        if ((rc = whole_type(l, p->bytes, &m, t)) != PITH_OK)
            return rc;
        if (i < e->x->receives)
            CHECK(MPI_Irecv(p->data, m.count, m.type, (int)p->peer, PITH_MPI_TAG, l->comm,
                            &e->requests[i]));
        else
            CHECK(MPI_Isend(p->data, m.count, m.type, (int)p->peer, PITH_MPI_TAG, l->comm,
                            &e->requests[i]));
    out:
        free_type(&m); /* MPI keeps it until the message is through */
    }
    return rc;
}

static pith_status
refuse_length(const pithp_parcel *p, long long came, pithp_transport_trouble *t) {
    t->code = PITH_E_PEER;
    snprintf(t->text, sizeof t->text, "%lld bytes came from rank %lld, expected %zu",
             came, (long long)p->peer, p->bytes);
    return t->code;
}

/* MPI says nothing if a message is shorter than its receiver expects. */
static pith_status
whole(const pithp_parcel *p, const MPI_Status *status, pithp_transport_trouble *t) {
    MPI_Count bytes = 0;
    int few = 0; /* or MPI_UNDEFINED */
    pith_status rc = PITH_OK;
    CHECK(MPI_Get_count(status, MPI_BYTE, &few));
    if (few >= 0 && (size_t)few == p->bytes)
        return PITH_OK;
    CHECK(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    if ((size_t)bytes != p->bytes)
        return refuse_length(p, (long long)bytes, t);
out:
    return rc;
}

/* Wait for the messages of MPI. */
static pith_status finish_engine(const exchange *e, pithp_transport_trouble *t) {
    pith_status rc =
        finish(e->l, e->x->receives + e->x->sends, e->requests, e->statuses, t);
    for (int i = 0; i < e->x->receives && rc == PITH_OK; i++)
        if (by_engine(e, i))
            rc = whole(&e->x->receive[i], &e->statuses[i], t);
    return rc;
}

/* Wait for the letters. */
static pith_status
finish_mail(const exchange *e, pith_mpi_mail *mail, pithp_transport_trouble *t) {
    pith_mpi_wrong_mail wrong;
    if (pith_mpi_mail_end(&e->l->world->mailboxes, mail, &wrong))
        return PITH_OK;
    const pithp_parcel *p = parcel_of(e, wrong.letter);
    if (!wrong.link)
        return refuse_length(p, (long long)wrong.bytes, t);
    t->code = PITH_E_PEER;
    snprintf(t->text, sizeof t->text, "a message of another group came from rank %lld",
             (long long)p->peer);
    return t->code;
}

/* All messages are started before any is waited for. */
static pith_status run(exchange *e, pithp_transport_trouble *t) {
    const pithp_exchange *x = e->x;
    const int count = x->receives + x->sends;
    address_letters(e);
    pith_mpi_mail mail = {.link = e->l->number,
                          .engine = e->engine,
                          .sends = x->sends,
                          .receives = x->receives,
                          .send = e->letters + x->receives,
                          .receive = e->letters};
    pith_status rc = e->engine ? start(e, 0, x->receives, t) : PITH_OK;
    if (rc != PITH_OK)
        return rc;
    pith_mpi_mail_begin(&e->l->world->mailboxes, &mail);
    if (e->engine && (rc = start(e, x->receives, count, t)) != PITH_OK)
        return rc;
    if (x->meanwhile)
        x->meanwhile(x->closure);
    rc = finish_mail(e, &mail, t);
    return rc == PITH_OK && e->engine ? finish_engine(e, t) : rc;
}

pith_status pith_mpi_exchange(pithp_transport_link *l,
                              const pithp_exchange *x,
                              pithp_transport_trouble *t) {
    pith_mpi_letter letters[FEW];
    MPI_Request requests[FEW];
    MPI_Status statuses[FEW];
    exchange e = {
        .l = l, .x = x, .letters = letters, .requests = requests, .statuses = statuses};
    const size_t count = (size_t)x->receives + (size_t)x->sends;
    if (count <= FEW)
        return run(&e, t);
    void *many =
        malloc(count * (sizeof *e.letters + sizeof *e.requests + sizeof *e.statuses));
    if (!many)
        return pith_mpi_refuse(t, PITH_E_MEMORY,
                               "out of memory: no room for the requests of an exchange");
    e.letters = many;
    e.statuses = (MPI_Status *)(void *)(e.letters + count);
    e.requests = (MPI_Request *)(void *)(e.statuses + count);
    const pith_status rc = run(&e, t);
    free(many);
    return rc;
}
