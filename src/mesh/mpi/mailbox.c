/* Mailboxes of the ranks of a node.
 *
 * From each rank to each other one goes a ring of slots in memory of the sender. The
 * message n is in slot n modulo DEPTH, and its header has the number n once it is there.
 * A sender writes n + DEPTH only after the receiver has read n. It learns of that from
 * the headers that come the other way, or, if none comes, from a count in memory of the
 * receiver.
 *
 * If there are more ranks than cores, a rank sleeps at a word of its own memory, which
 * changes with every message that comes and every slot that becomes free. */
#include "mesh/mpi/mailbox.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE = 64, /* bytes of a cache line */
    DEPTH = 4,
    MOST = 8192,           /* bytes of a slot, if ranks are few */
    LEAST = 256,           /* below which mailboxes are no gain */
    RANK_BYTES = 1 << 20,  /* of the slots of a rank, at most */
    LOOKS = 256,           /* at memory, between calls for progress */
    PATIENCE = 16 * LOOKS, /* 40 us or so, before a rank yields a core of its own */
    YIELDS = 4,            /* before a rank sleeps, if there are more ranks than cores */
    SLEEP_NS = 1000000,    /* at most, between calls for progress */
    ENGINE_SLEEP_NS = 100000, /* the same while the engine has messages */
};

/* ---- Memory of a rank ---- */

typedef struct bell {
    _Alignas(LINE) _Atomic uint32_t rings;
    _Atomic uint32_t sleeps; /* the rank sleeps until `rings` changes */
} bell;

/* Of a rank with another one. Only `read` is seen by that one. */
typedef struct count {
    _Alignas(LINE) uint64_t to, from; /* numbers that were given to messages */
    uint64_t written;
    uint64_t known;        /* of those written: read by the other, as far as is known */
    _Atomic uint64_t read; /* of those from the other */
} count;

typedef struct header {
    _Alignas(LINE) _Atomic uint64_t number;
    uint64_t bytes;
    uint64_t read; /* of messages the other way, by the sender of this one */
    uint32_t link;
} header;

/* The memory: a bell; a count and DEPTH headers for each rank; their slots. */
typedef struct correspondent {
    count count;
    header headers[DEPTH];
} correspondent;

static bell *bell_of(const pith_mpi_mailboxes *m, int rank) {
    return m->memory[rank];
}

/* What a rank has for another one. */
static correspondent *of(const pith_mpi_mailboxes *m, int rank, int other) {
    return (correspondent *)((char *)m->memory[rank] + sizeof(bell)) + other;
}

static void *slot_of(const pith_mpi_mailboxes *m, int rank, int other, uint64_t number) {
    const size_t k = (size_t)other * DEPTH + number % DEPTH;
    return (char *)of(m, rank, m->ranks) + k * m->most;
}

size_t pith_mpi_mailbox_most(int ranks) {
    size_t most = RANK_BYTES / DEPTH / (size_t)ranks / LINE * LINE;
    most = most < MOST ? most : MOST;
    return most < LEAST ? 0 : most;
}

size_t pith_mpi_mailbox_zeros(int ranks) {
    return sizeof(bell) + (size_t)ranks * sizeof(correspondent);
}

size_t pith_mpi_mailbox_bytes(int ranks) {
    return pith_mpi_mailbox_zeros(ranks) +
           (size_t)ranks * DEPTH * pith_mpi_mailbox_most(ranks);
}

/* ---- Waits ---- */

static void ring(const pith_mpi_mailboxes *m, int rank) {
    if (!m->sleeps)
        return;
    bell *b = bell_of(m, rank);
    atomic_fetch_add(&b->rings, 1);
    if (atomic_load(&b->sleeps))
        syscall(SYS_futex, &b->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Until the word has another value than before. */
static void sleep_at(bell *b, uint32_t rings, long most_ns) {
    const struct timespec most = {.tv_nsec = most_ns};
    atomic_store(&b->sleeps, 1);
    syscall(SYS_futex, &b->rings, FUTEX_WAIT, rings, &most, NULL, 0);
    atomic_store(&b->sleeps, 0);
}

/* Between two looks. rings: before the first of them. */
static void pause_between(const pith_mpi_mailboxes *m,
                          const pith_mpi_mail *x,
                          int looks,
                          uint32_t rings) {
    if (!m->sleeps) {
        if (x->engine || looks % LOOKS == 0)
            m->progress(m->closure);
        if (looks % PATIENCE == 0)
            sched_yield(); /* the machine may have other work */
    } else if (looks <= YIELDS) {
        sched_yield();
    } else {
        sleep_at(bell_of(m, m->own), rings, x->engine ? ENGINE_SLEEP_NS : SLEEP_NS);
        m->progress(m->closure);
    }
}

/* ---- Messages ---- */

/* Whether it is sent, now or before. */
static bool
send_one(const pith_mpi_mailboxes *m, const pith_mpi_mail *x, const pith_mpi_letter *l) {
    if (l->rank < 0)
        return true;
    correspondent *own = of(m, m->own, l->rank);
    count *c = &own->count;
    if (l->number != c->written + 1)
        return l->number <= c->written;
    if (l->number > c->known + DEPTH)
        c->known = atomic_load_explicit(&of(m, l->rank, m->own)->count.read,
                                        memory_order_acquire);
    if (l->number > c->known + DEPTH)
        return false;
    header *h = &own->headers[l->number % DEPTH];
    if (l->bytes && l->bytes <= m->most)
        memcpy(slot_of(m, m->own, l->rank, l->number), l->data, l->bytes);
    h->bytes = l->bytes;
    h->link = x->link;
    h->read = atomic_load_explicit(&c->read, memory_order_relaxed);
    atomic_store_explicit(&h->number, l->number, memory_order_release);
    c->written++;
    ring(m, l->rank);
    return true;
}

typedef enum outcome { WAITS, READ, WRONG } outcome;

static outcome receive_one(const pith_mpi_mailboxes *m,
                           const pith_mpi_mail *x,
                           const pith_mpi_letter *l) {
    if (l->rank < 0)
        return READ;
    count *c = &of(m, m->own, l->rank)->count;
    const uint64_t read = atomic_load_explicit(&c->read, memory_order_relaxed);
    if (l->number != read + 1)
        return l->number <= read ? READ : WAITS;
    const header *h = &of(m, l->rank, m->own)->headers[l->number % DEPTH];
    if (atomic_load_explicit(&h->number, memory_order_acquire) != l->number)
        return WAITS;
    if (h->bytes != l->bytes || h->link != x->link)
        return WRONG;
    if (l->bytes && l->bytes <= m->most)
        memcpy(l->data, slot_of(m, l->rank, m->own, l->number), l->bytes);
    c->known = h->read > c->known ? h->read : c->known;
    atomic_store_explicit(&c->read, l->number, memory_order_release);
    ring(m, l->rank);
    return READ;
}

static bool send_more(const pith_mpi_mailboxes *m, pith_mpi_mail *x) {
    bool all = true;
    for (int i = x->sent; i < x->sends; i++) {
        all &= send_one(m, x, &x->send[i]);
        x->sent += all;
    }
    return all;
}

static outcome
receive_more(const pith_mpi_mailboxes *m, pith_mpi_mail *x, pith_mpi_wrong_mail *w) {
    bool all = true;
    for (int i = x->received; i < x->receives; i++) {
        const pith_mpi_letter *l = &x->receive[i];
        const outcome o = receive_one(m, x, l);
        if (o == WRONG) {
            const header *h = &of(m, l->rank, m->own)->headers[l->number % DEPTH];
            *w = (pith_mpi_wrong_mail){i, h->bytes, h->link != x->link};
            return WRONG;
        }
        all &= o == READ;
        x->received += all;
    }
    return all ? READ : WAITS;
}

void pith_mpi_mail_begin(pith_mpi_mailboxes *m, pith_mpi_mail *x) {
    for (int i = 0; i < x->sends; i++)
        if (x->send[i].rank >= 0)
            x->send[i].number = ++of(m, m->own, x->send[i].rank)->count.to;
    for (int i = 0; i < x->receives; i++)
        if (x->receive[i].rank >= 0)
            x->receive[i].number = ++of(m, m->own, x->receive[i].rank)->count.from;
    x->sent = x->received = 0;
    send_more(m, x);
}

bool pith_mpi_mail_end(pith_mpi_mailboxes *m,
                       pith_mpi_mail *x,
                       pith_mpi_wrong_mail *wrong) {
    if (!m->memory)
        return true;
    for (int looks = 1;; looks++) {
        const uint32_t rings = atomic_load(&bell_of(m, m->own)->rings);
        const bool sent = send_more(m, x);
        const outcome o = receive_more(m, x, wrong);
        if (o == WRONG || (o == READ && sent))
            return o == READ;
        pause_between(m, x, looks, rings);
    }
}
