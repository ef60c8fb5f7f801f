/* Mailboxes of a node (src/mesh/mpi/mailbox.c), with threads as ranks. */
#include "base/memory.h"
#include "mesh/mpi/mailbox.h"
#include "pith_test.h"
#include "series.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { LINE = 64, MOST_RANKS = 8, MOST_LETTERS = 7, LINK = 3 };

typedef struct node node;

typedef struct rank {
    pith_mpi_mailboxes boxes;
    node *node;
    pthread_t thread;
    int wrong;
} rank;

struct node {
    int ranks, steps;
    uint64_t seed;
    bool one_way; /* from lower to higher numbers */
    void *memory[MOST_RANKS];
    rank of[MOST_RANKS];
};

/* ---- Messages that both sides know ---- */

static uint64_t dice(const node *n, int step, int from, int to, int k) {
    const int64_t which[] = {step, from, to, k};
    return pithp_hash(n->seed, which, sizeof which);
}

static int letters_of(const node *n, int step, int from, int to) {
    if (n->one_way && from >= to)
        return 0;
    return (int)(dice(n, step, from, to, -1) % (MOST_LETTERS + 1));
}

/* Of a message: empty, short, the longest in a mailbox, or longer. */
static size_t bytes_of(const node *n, int step, int from, int to, int k, size_t most) {
    const uint64_t d = dice(n, step, from, to, k);
    switch (d % 8) {
        case 0:
            return 0;
        case 1:
            return most;
        case 2:
            return most + 1 + d / 8 % 100;
        default:
            return d / 8 % 300;
    }
}

static void fill(unsigned char *to, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)((seed >> i % 57) + i);
}

/* ---- Ranks ---- */

static void make_no_progress(void *closure) {
    (void)closure;
}

static void set_up(node *n, bool sleeps) {
    for (int i = 0; i < n->ranks; i++) {
        const size_t bytes = pith_mpi_mailbox_bytes(n->ranks);
        n->memory[i] = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
        cr_assert(n->memory[i]);
        memset(n->memory[i], 0x5a, bytes); /* only its start is zeros */
        memset(n->memory[i], 0, pith_mpi_mailbox_zeros(n->ranks));
        n->of[i] = (rank){.node = n,
                          .boxes = {.ranks = n->ranks,
                                    .own = i,
                                    .most = pith_mpi_mailbox_most(n->ranks),
                                    .memory = n->memory,
                                    .sleeps = sleeps,
                                    .progress = make_no_progress}};
    }
}

static void tear_down(node *n) {
    for (int i = 0; i < n->ranks; i++)
        free(n->memory[i]);
}

/* Letters to the other ranks, or from them; the ranks take turns, so that letters of one
 * are not together. data: a message each. */
static int list_letters(const rank *r,
                        int step,
                        bool sends,
                        pith_mpi_letter *letters,
                        unsigned char *data) {
    const node *n = r->node;
    const size_t room = r->boxes.most + 128;
    const int own = r->boxes.own;
    int count = 0;
    for (int k = 0; k < MOST_LETTERS; k++)
        for (int other = 0; other < n->ranks; other++) {
            const int from = sends ? own : other, to = sends ? other : own;
            if (k >= letters_of(n, step, from, to))
                continue;
            pith_mpi_letter *l = &letters[count];
            *l =
                (pith_mpi_letter){.rank = other,
                                  .data = data + (size_t)count * room,
                                  .bytes = bytes_of(n, step, from, to, k, r->boxes.most)};
            if (sends)
                fill(l->data, l->bytes, dice(n, step, from, to, k));
            count++;
        }
    return count;
}

/* The messages that have come; of longer ones only the length comes. */
static int count_wrong(const rank *r, int step, const pith_mpi_letter *letters) {
    const node *n = r->node;
    static _Thread_local unsigned char expected[16384];
    int count = 0, wrong = 0;
    for (int k = 0; k < MOST_LETTERS; k++)
        for (int from = 0; from < n->ranks; from++) {
            if (k >= letters_of(n, step, from, r->boxes.own))
                continue;
            const pith_mpi_letter *l = &letters[count++];
            fill(expected, l->bytes, dice(n, step, from, r->boxes.own, k));
            wrong += l->bytes <= r->boxes.most && memcmp(l->data, expected, l->bytes);
        }
    return wrong;
}

static void be_late(const rank *r, int step) {
    const uint64_t d = dice(r->node, step, r->boxes.own, -1, -1);
    const struct timespec some = {.tv_nsec = (long)(d / 16 % 100000)};
    if (d % 16 == 0)
        nanosleep(&some, NULL);
    else if (d % 16 < 4)
        sched_yield();
}

static void *run(void *closure) {
    rank *r = closure;
    enum { COUNT = MOST_RANKS * MOST_LETTERS };
    const size_t bytes = COUNT * (r->boxes.most + 128);
    unsigned char *in = calloc(2, bytes), *out = in + bytes;
    pith_mpi_letter send[COUNT], receive[COUNT];
    for (int step = 0; step < r->node->steps; step++) {
        pith_mpi_mail mail = {.link = LINK, .send = send, .receive = receive};
        pith_mpi_wrong_mail wrong;
        mail.receives = list_letters(r, step, false, receive, in);
        mail.sends = list_letters(r, step, true, send, out);
        be_late(r, step);
        pith_mpi_mail_begin(&r->boxes, &mail);
        be_late(r, step + r->node->steps);
        if (!pith_mpi_mail_end(&r->boxes, &mail, &wrong)) {
            r->wrong++;
            break; /* its peers wait: the test runs out of time */
        }
        r->wrong += count_wrong(r, step, receive);
        memset(out, 0, bytes); /* messages are on their way */
    }
    free(in);
    return NULL;
}

static void passes(int ranks, int steps, bool sleeps, bool one_way) {
    node n = {.ranks = ranks,
              .steps = PT_SANITIZED ? steps / 20 : steps,
              .seed = 11,
              .one_way = one_way};
    set_up(&n, sleeps);
    for (int i = 0; i < ranks; i++)
        cr_assert(pthread_create(&n.of[i].thread, NULL, run, &n.of[i]) == 0);
    for (int i = 0; i < ranks; i++) {
        pthread_join(n.of[i].thread, NULL);
        cr_assert(n.of[i].wrong == 0, "rank %d: %d wrong messages", i, n.of[i].wrong);
    }
    tear_down(&n);
}

Test(mesh_mailbox, many_messages_arrive_in_order) {
    passes(2, 2000, false, false);
    passes(3, 300, false, false);
}

Test(mesh_mailbox, ranks_that_sleep_are_woken) {
    passes(2, 1000, true, false);
    passes(8, 60, true, false);
}

/* No header comes back that tells what was read. */
Test(mesh_mailbox, a_sender_waits_for_room) {
    passes(2, 2000, false, true);
    passes(3, 500, true, true);
}

/* ---- On one thread ---- */

static bool pass_one(node *n,
                     const pith_mpi_letter *sent,
                     uint32_t link,
                     pith_mpi_letter *expected,
                     pith_mpi_wrong_mail *wrong) {
    pith_mpi_letter send = *sent;
    pith_mpi_mail out = {.link = link, .sends = 1, .send = &send},
                  in = {.link = LINK, .receives = 1, .receive = expected};
    pith_mpi_mail_begin(&n->of[0].boxes, &out);
    pith_mpi_mail_begin(&n->of[1].boxes, &in);
    return pith_mpi_mail_end(&n->of[0].boxes, &out, wrong) &&
           pith_mpi_mail_end(&n->of[1].boxes, &in, wrong);
}

Test(mesh_mailbox, other_lengths_and_links_are_refused) {
    const size_t lengths[][2] = {{8, 16}, {16, 8}, {0, 8}, {8, 100000}, {100000, 8}};
    char data[16] = "fifteen letters", came[16] = "";
    pith_mpi_wrong_mail wrong;
    for (int i = 0; i < 5; i++) {
        node n = {.ranks = 2};
        set_up(&n, false);
        pith_mpi_letter l = {.rank = 0, .data = came, .bytes = lengths[i][1]};
        cr_assert(!pass_one(
            &n, &(pith_mpi_letter){.rank = 1, .data = data, .bytes = lengths[i][0]}, LINK,
            &l, &wrong));
        cr_assert(wrong.letter == 0 && wrong.bytes == lengths[i][0] && !wrong.link);
        cr_assert(came[0] == 0);
        tear_down(&n);
    }
    node n = {.ranks = 2};
    set_up(&n, false);
    pith_mpi_letter l = {.rank = 0, .data = came, .bytes = 16};
    const pith_mpi_letter sent = {.rank = 1, .data = data, .bytes = 16};
    cr_assert(pass_one(&n, &sent, LINK, &l, &wrong) && memcmp(came, data, 16) == 0);
    cr_assert(!pass_one(&n, &sent, LINK + 1, &l, &wrong) && wrong.link);
    tear_down(&n);
}

/* Those to ranks of other nodes, and to oneself. */
Test(mesh_mailbox, other_nodes_are_left_alone) {
    node n = {.ranks = 2};
    set_up(&n, false);
    char data[] = "one", came[] = "two";
    pith_mpi_letter send[] = {{.rank = -1, .data = data, .bytes = 4},
                              {.rank = 0, .data = data, .bytes = 4}},
                    receive[] = {{.rank = 0, .data = came, .bytes = 4},
                                 {.rank = -1, .data = came, .bytes = 1}};
    pith_mpi_mail mail = {
        .link = LINK, .sends = 2, .send = send, .receives = 2, .receive = receive};
    pith_mpi_wrong_mail wrong;
    pith_mpi_mail_begin(&n.of[0].boxes, &mail);
    cr_assert(pith_mpi_mail_end(&n.of[0].boxes, &mail, &wrong));
    cr_assert(strcmp(came, "one") == 0);
    n.of[0].boxes.memory = NULL; /* no mailboxes at all */
    mail.sends = mail.receives = 0;
    pith_mpi_mail_begin(&n.of[0].boxes, &mail);
    cr_assert(pith_mpi_mail_end(&n.of[0].boxes, &mail, &wrong));
    n.of[0].boxes.memory = n.memory;
    tear_down(&n);
}

/* A rank gives all its mailboxes no more than some memory, on nodes of any size. */
Test(mesh_mailbox, memory_is_bounded) {
    size_t last = pith_mpi_mailbox_most(2);
    cr_assert(last == 8192);
    for (int ranks = 2; ranks < 5000; ranks++) {
        const size_t most = pith_mpi_mailbox_most(ranks);
        cr_assert(most <= last && most % LINE == 0);
        cr_assert(pith_mpi_mailbox_bytes(ranks) <=
                  pith_mpi_mailbox_zeros(ranks) + ((size_t)1 << 20));
        last = most;
    }
    cr_assert(last == 0);
}
