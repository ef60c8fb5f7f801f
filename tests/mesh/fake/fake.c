/* The fake transport: every call is a rendezvous of its ranks. */
#include "mesh/fake/fake.h"

#include <pith/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank puts down for the others at a rendezvous. */
typedef struct slot {
    const char *call;
    const void *data;
    int64_t a, b;
    int count;
    const pithp_parcel *parcels;
} slot;

typedef struct meeting {
    int size, arrived;
    unsigned round;
    int refs;
    slot slots[FAKE_MOST_RANKS];
    struct meeting *made; /* by a split */
} meeting;

struct pithp_transport_link {
    meeting *at;
    int rank;
    fake_rank *self;
};

struct fake_job {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int size, nodes, ended;
    meeting all;
    void *shared[FAKE_MOST_RANKS];
    fake_rank ranks[FAKE_MOST_RANKS];
    char report[FAKE_REPORT_BYTES];
    fake_options options;
};

/* ---- Rendezvous ---- */

static uint64_t next_random(fake_rank *r) {
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random;
}

static void delay(fake_rank *r) {
    if (!r->job->options.seed)
        return;
    const uint64_t draw = next_random(r) % 16;
    if (draw < 3)
        usleep((useconds_t)(next_random(r) % 300));
    else if (draw < 8)
        sched_yield();
}

static pith_status trouble(pithp_transport_trouble *t, const char *text) {
    t->code = PITH_E_PEER;
    snprintf(t->text, sizeof t->text, "%s", text);
    return t->code;
}

/* Wait until all ranks of the link are here. */
static pith_status meet(pithp_transport_link *l, pithp_transport_trouble *t) {
    fake_job *job = l->self->job;
    meeting *m = l->at;
    delay(l->self);
    pthread_mutex_lock(&job->lock);
    const unsigned round = m->round;
    if (!job->ended && !l->self->dead && ++m->arrived == m->size) {
        m->arrived = 0;
        m->round++;
        pthread_cond_broadcast(&job->changed);
    }
    while (!job->ended && !l->self->dead && m->round == round)
        pthread_cond_wait(&job->changed, &job->lock);
    const bool met = m->round != round;
    pthread_mutex_unlock(&job->lock);
    return met ? PITH_OK : trouble(t, "the fake job has ended");
}

/* A move to which a rank gives bytes. */
static void count_sent(const pithp_transport_link *l, size_t bytes) {
    l->self->messages++;
    l->self->sent += (int64_t)bytes;
}

/* Put down a slot, and meet; the others' slots may then be read until the next meeting.
 */
static pith_status
put_down(pithp_transport_link *l, slot own, pithp_transport_trouble *t) {
    fake_rank *r = l->self;
    if (++r->calls == r->refuse_at)
        return trouble(t, "the fake engine refuses");
    l->at->slots[l->rank] = own;
    if (meet(l, t) != PITH_OK)
        return t->code;
    for (int i = 0; i < l->at->size; i++)
        if (strcmp(l->at->slots[i].call, own.call) != 0) {
            fprintf(stderr, "fake: rank %d calls %s, rank %d %s\n", l->rank, own.call, i,
                    l->at->slots[i].call);
            abort();
        }
    return PITH_OK;
}

/* ---- Joining ---- */

/* Memory of a rank that those of its node read, zeroed. */
static void share(fake_rank *r, size_t bytes) {
    fake_job *job = r->job;
    pthread_mutex_lock(&job->lock);
    if (!job->shared[r->rank])
        job->shared[r->rank] = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    memset(job->shared[r->rank], 0, bytes);
    pthread_mutex_unlock(&job->lock);
}

static pith_status
open_fake(const pithp_joining *how, pithp_joined *j, pithp_transport_trouble *t) {
    fake_rank *r = how->closure;
    fake_job *job = r->job;
    pithp_transport_link *l = calloc(1, sizeof *l);
    *l = (pithp_transport_link){&job->all, r->rank, r};
    const int node_size = job->size / job->nodes;
    *j = (pithp_joined){.all = l,
                        .rank = r->rank,
                        .size = job->size,
                        .node_rank = r->rank % node_size,
                        .node_size = node_size,
                        .node = r->rank / node_size,
                        .nodes = job->nodes,
                        .library = "threads"};
    if (put_down(l, (slot){.call = "open"}, t) == PITH_OK) {
        share(r, how->shared_bytes); /* none of the job reads that of a mesh before */
        if (meet(l, t) == PITH_OK)
            return PITH_OK;
    }
    free(l);
    j->all = NULL;
    return t->code;
}

static void close_fake(pithp_transport_link *all, int64_t timeout_ns) {
    (void)timeout_ns;
    free(all);
}

static void end_fake(pithp_transport_link *all, int code) {
    fake_job *job = all->self->job;
    pthread_mutex_lock(&job->lock);
    if (!job->ended && !all->self->dead)
        job->ended = code;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

static void *shared_fake(const pithp_transport_link *all, int64_t node_rank) {
    const fake_job *job = all->self->job;
    const int node_size = job->size / job->nodes;
    return job->shared[all->rank / node_size * node_size + node_rank];
}

static bool gone_fake(const pithp_transport_link *all, int64_t node_rank) {
    fake_job *job = all->self->job;
    const int node_size = job->size / job->nodes;
    pthread_mutex_lock(&job->lock);
    const bool dead = job->ranks[all->rank / node_size * node_size + node_rank].dead;
    pthread_mutex_unlock(&job->lock);
    return dead;
}

static void report_fake(const pithp_transport_link *all, const char *line) {
    fake_job *job = all->self->job;
    pthread_mutex_lock(&job->lock);
    const size_t at = strlen(job->report);
    if (!all->self->dead) /* which is gone */
        snprintf(job->report + at, sizeof job->report - at, "%s\n", line);
    pthread_mutex_unlock(&job->lock);
}

/* ---- Parts ---- */

static pith_status split_fake(pithp_transport_link *all,
                              int64_t colour,
                              int64_t key,
                              pithp_transport_link **part,
                              pithp_transport_trouble *t) {
    if (put_down(all, (slot){.call = "split", .a = colour, .b = key}, t) != PITH_OK)
        return t->code;
    const meeting *m = all->at;
    int first = -1, size = 0, rank = 0;
    for (int i = 0; i < m->size; i++) {
        if (m->slots[i].a != colour)
            continue;
        first = first < 0 ? i : first;
        rank += m->slots[i].b < key || (m->slots[i].b == key && i < all->rank);
        size++;
    }
    meeting *made = NULL;
    if (first == all->rank) {
        made = calloc(1, sizeof *made);
        made->size = made->refs = size;
    }
    if (meet(all, t) != PITH_OK ||
        put_down(all, (slot){.call = "split 2", .data = made}, t) != PITH_OK) {
        free(made);
        return t->code;
    }
    pithp_transport_link *l = calloc(1, sizeof *l);
    *l = (pithp_transport_link){(meeting *)(uintptr_t)m->slots[first].data, rank,
                                all->self};
    if (meet(all, t) != PITH_OK) {
        free(l);
        return t->code;
    }
    *part = l;
    return PITH_OK;
}

static void drop_fake(pithp_transport_link *part) {
    fake_job *job = part->self->job;
    pthread_mutex_lock(&job->lock);
    const bool last = --part->at->refs == 0;
    pthread_mutex_unlock(&job->lock);
    if (last)
        free(part->at);
    free(part);
}

/* ---- Moves ---- */

static pith_status agree_fake(pithp_transport_link *l,
                              uint64_t words[PITHP_AGREE_WORDS],
                              pithp_transport_trouble *t) {
    uint64_t least[PITHP_AGREE_WORDS];
    memset(least, 0xff, sizeof least);
    if (put_down(l, (slot){.call = "agree", .data = words}, t) != PITH_OK)
        return t->code;
    for (int i = 0; i < l->at->size; i++)
        for (int k = 0; k < PITHP_AGREE_WORDS; k++) {
            const uint64_t word = ((const uint64_t *)l->at->slots[i].data)[k];
            least[k] = word < least[k] ? word : least[k];
        }
    if (meet(l, t) != PITH_OK)
        return t->code;
    memcpy(words, least, sizeof least);
    return PITH_OK;
}

/* From the last rank to the first: an order of its own for floats. */
#define COMBINE(T)                                                                       \
    for (int64_t e = 0; e < count; e++) {                                                \
        T all = ((const T *)m->slots[m->size - 1].data)[e];                              \
        for (int i = m->size - 1; i-- > first;) {                                        \
            const T x = ((const T *)m->slots[i].data)[e];                                \
            all = how == PITHP_COMBINE_SUM   ? (T)(all + x)                              \
                  : how == PITHP_COMBINE_MIN ? (x < all ? x : all)                       \
                                             : (x > all ? x : all);                      \
        }                                                                                \
        ((T *)to)[e] = all;                                                              \
    }

static void combine(const meeting *m,
                    int first,
                    pithp_combine how,
                    pith_dtype dtype,
                    void *to,
                    int64_t count) {
    switch (dtype) {
        case PITH_BOOL:
        case PITH_U8:
            COMBINE(uint8_t)
            return;
        case PITH_U16:
            COMBINE(uint16_t)
            return;
        case PITH_U32:
            COMBINE(uint32_t)
            return;
        case PITH_U64:
            COMBINE(uint64_t)
            return;
        case PITH_I8:
            COMBINE(int8_t)
            return;
        case PITH_I16:
            COMBINE(int16_t)
            return;
        case PITH_I32:
            COMBINE(int32_t)
            return;
        case PITH_I64:
            COMBINE(int64_t)
            return;
        case PITH_F32:
            COMBINE(float)
            return;
        case PITH_F64:
            COMBINE(double)
            return;
        case PITH_F16:
        case PITH_BF16:
        case PITH_DTYPE_NONE:
            abort();
    }
}

/* Sums of signed integers wrap. */
static pith_dtype unsigned_of(pith_dtype dtype, pithp_combine how) {
    return how == PITHP_COMBINE_SUM && dtype >= PITH_I8 && dtype <= PITH_I64
               ? (pith_dtype)(dtype - PITH_I8 + PITH_U8)
               : dtype;
}

static pith_status reduce_fake(pithp_transport_link *l,
                               pithp_combine how,
                               pith_dtype dtype,
                               void *data,
                               int64_t count,
                               pithp_transport_trouble *t) {
    const size_t bytes = (size_t)count * pith_dtype_size(dtype);
    void *to = malloc(bytes + 1);
    count_sent(l, bytes);
    pith_status rc = put_down(l, (slot){.call = "reduce", .data = data}, t);
    if (rc == PITH_OK)
        combine(l->at, 0, how, unsigned_of(dtype, how), to, count);
    if (rc == PITH_OK && (rc = meet(l, t)) == PITH_OK && bytes)
        memcpy(data, to, bytes);
    free(to);
    return rc;
}

static pith_status scan_fake(pithp_transport_link *l,
                             pith_dtype dtype,
                             const void *from,
                             void *to,
                             int64_t count,
                             pithp_transport_trouble *t) {
    count_sent(l, (size_t)count * pith_dtype_size(dtype));
    pith_status rc = put_down(l, (slot){.call = "scan", .data = from}, t);
    if (rc == PITH_OK && l->rank > 0) {
        meeting before = {
            .size = l->rank}; /* the rest of a meeting changes while others arrive */
        memcpy(before.slots, l->at->slots, sizeof before.slots);
        combine(&before, 0, PITHP_COMBINE_SUM, unsigned_of(dtype, PITHP_COMBINE_SUM), to,
                count);
    }
    return rc == PITH_OK ? meet(l, t) : rc;
}

static void copy_bytes(void *to, const void *from, size_t bytes) {
    if (bytes)
        memcpy(to, from, bytes);
}

static pith_status broadcast_fake(pithp_transport_link *l,
                                  int64_t root,
                                  void *data,
                                  size_t bytes,
                                  pithp_transport_trouble *t) {
    count_sent(l, l->rank == root ? bytes : 0);
    pith_status rc = put_down(l, (slot){.call = "broadcast", .data = data}, t);
    if (rc == PITH_OK && l->rank != root)
        copy_bytes(data, l->at->slots[root].data, bytes);
    return rc == PITH_OK ? meet(l, t) : rc;
}

static pith_status gather_fake(pithp_transport_link *l,
                               const void *from,
                               void *to,
                               size_t bytes,
                               pithp_transport_trouble *t) {
    count_sent(l, bytes);
    pith_status rc = put_down(l, (slot){.call = "gather", .data = from}, t);
    for (int i = 0; rc == PITH_OK && i < l->at->size; i++)
        copy_bytes((char *)to + (size_t)i * bytes, l->at->slots[i].data, bytes);
    return rc == PITH_OK ? meet(l, t) : rc;
}

static pith_status transpose_fake(pithp_transport_link *l,
                                  const void *from,
                                  void *to,
                                  size_t bytes,
                                  pithp_transport_trouble *t) {
    count_sent(l, bytes * (size_t)l->at->size);
    pith_status rc = put_down(l, (slot){.call = "transpose", .data = from}, t);
    for (int i = 0; rc == PITH_OK && i < l->at->size; i++)
        copy_bytes((char *)to + (size_t)i * bytes,
                   (const char *)l->at->slots[i].data + (size_t)l->rank * bytes, bytes);
    return rc == PITH_OK ? meet(l, t) : rc;
}

/* The parcel number `n` of a rank to this one. */
static const pithp_parcel *parcel_for(const slot *from, int rank, int n) {
    for (int i = 0; i < from->count; i++)
        if (from->parcels[i].peer == rank && n-- == 0)
            return &from->parcels[i];
    fprintf(stderr, "fake: a parcel is received that no rank sends\n");
    abort();
}

atomic_llong fake_parcels;

static pith_status exchange_fake(pithp_transport_link *l,
                                 const pithp_exchange *x,
                                 pithp_transport_trouble *t) {
    const pithp_parcel *receive = x->receive;
    size_t bytes = 0;
    for (int i = 0; i < x->sends; i++)
        bytes += x->send[i].bytes;
    count_sent(l, bytes);
    pith_status rc =
        put_down(l, (slot){.call = "exchange", .count = x->sends, .parcels = x->send}, t);
    fake_parcels += x->sends;
    if (x->meanwhile && rc == PITH_OK)
        x->meanwhile(x->closure);
    for (int i = 0; rc == PITH_OK && i < x->receives; i++) {
        int before = 0;
        for (int k = 0; k < i; k++)
            before += receive[k].peer == receive[i].peer;
        const pithp_parcel *p =
            parcel_for(&l->at->slots[receive[i].peer], l->rank, before);
        if (p->bytes != receive[i].bytes) {
            fprintf(stderr, "fake: %zu bytes sent, %zu received\n", p->bytes,
                    receive[i].bytes);
            abort();
        }
        copy_bytes(receive[i].data, p->data, p->bytes);
    }
    return rc == PITH_OK ? meet(l, t) : rc;
}

static const pithp_transport fake_transport = {
    .version = PITHP_TRANSPORT_VERSION,
    .name = "fake",
    .open = open_fake,
    .close = close_fake,
    .end = end_fake,
    .abort = end_fake,
    .shared = shared_fake,
    .gone = gone_fake,
    .report = report_fake,
    .split = split_fake,
    .drop = drop_fake,
    .agree = agree_fake,
    .reduce = reduce_fake,
    .scan = scan_fake,
    .broadcast = broadcast_fake,
    .gather = gather_fake,
    .transpose = transpose_fake,
    .exchange = exchange_fake,
};

/* ---- Jobs ---- */

void fake_failed(fake_rank *r, const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, r->rank, what,
            r->s ? pith_message(r->s) : "");
    r->failures++;
}

void fake_die(fake_rank *r) {
    pthread_mutex_lock(&r->job->lock);
    r->dead = true;
    pthread_cond_broadcast(&r->job->changed);
    pthread_mutex_unlock(&r->job->lock);
}

const pith_mesh *fake_open(fake_rank *r, pith_scope *s, const pith_mesh_axis *axes) {
    const pith_mesh_options options = {.timeout = r->job->options.timeout,
                                       .compare =
                                           r->job->options.compare && r->rank == 0};
    return pithp_mesh_open_by(s, &fake_transport, r, axes, &options);
}

/* A process that is gone closes nothing. */
static void wait_if_dead(fake_rank *r) {
    pthread_mutex_lock(&r->job->lock);
    while (r->dead && !r->job->ended)
        pthread_cond_wait(&r->job->changed, &r->job->lock);
    pthread_mutex_unlock(&r->job->lock);
}

static void *run_rank(void *closure) {
    fake_rank *r = closure;
    const fake_options *o = &r->job->options;
    const pith_open_options usual = {.device = "host", .threads = 1};
    r->runtime = pith_open(o->open[r->rank] ? o->open[r->rank] : &usual);
    r->s = pith_scope_open(r->runtime);
    if (!o->open_late)
        FAKE_CHECK(r, fake_open(r, r->s, PITH_MESH_AXES({"x", 0})));
    r->body(r);
    wait_if_dead(r);
    pith_clear(r->s);
    pith_scope_close(r->s);
    r->s = NULL;
    pith_close(r->runtime);
    return NULL;
}

fake_result fake_run(const fake_options *options, void (*body)(fake_rank *r)) {
    fake_job *job = calloc(1, sizeof *job);
    pthread_t threads[FAKE_MOST_RANKS];
    fake_result result = {0};
    job->options = *options;
    job->size = job->all.size = options->size;
    job->nodes = options->nodes ? options->nodes : 1;
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->changed, NULL);
    for (int i = 0; i < job->size; i++) {
        fake_rank *r = &job->ranks[i];
        *r = (fake_rank){.job = job,
                         .rank = i,
                         .random = options->seed * 2654435761u + (uint64_t)i * 40503u + 1,
                         .closure = options->closure,
                         .body = body};
        if (options->refuse_at && options->refuse_rank == i)
            r->refuse_at = options->refuse_at;
        pthread_create(&threads[i], NULL, run_rank, r);
    }
    for (int i = 0; i < job->size; i++) {
        pthread_join(threads[i], NULL);
        result.failures += job->ranks[i].failures;
    }
    for (int i = 0; i < job->size; i++)
        free(job->shared[i]);
    result.ended = job->ended;
    memcpy(result.report, job->report, sizeof result.report);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job);
    return result;
}
