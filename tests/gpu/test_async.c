/* PITH_HOST_ASYNC=1: work runs at the next wait, in order. */
#include "gpu_test.h"

#include <pith/runtime.h>
#include <pthread.h>

TestSuite(async, .init = gt_reset);

static pith_runtime *open_asynchronous(void) {
    setenv("PITH_HOST_ASYNC", "1", 1);
    return pt_open();
}

enum { COUNT = 1000, BYTES = COUNT * sizeof(int64_t) };

Test(async, runs_nothing_before_a_wait) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *a = gt_buffer(s, COUNT), *b = gt_buffer(s, COUNT);
    memset(a->data, 0xEE, BYTES);
    memset(b->data, 0xEE, BYTES);
    int64_t host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = 10 * i;
    pt_ok(s, pithp_copy_in(s, a->data, host, BYTES) == PITH_OK);
    memset(host, 0, sizeof host); /* the caller may use it again at once */
    gt_launch(s, a->data, b->data, COUNT);
    pithp_copy(s, a->data, b->data, BYTES);
    pithp_fill(s, b->data, &(int64_t){-1}, 8, COUNT);
    for (int i = 0; i < BYTES; i++)
        cr_assert(((unsigned char *)a->data)[i] == 0xEE &&
                  ((unsigned char *)b->data)[i] == 0xEE);
    pith_wait(s);
    for (int i = 0; i < COUNT; i++)
        cr_assert(((int64_t *)a->data)[i] == 31 * i && ((int64_t *)b->data)[i] == -1);
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pt_close(rt);
}

Test(async, copies_out_what_was_written_before) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *a = gt_buffer(s, COUNT);
    int64_t host[COUNT];
    gt_launch(s, NULL, a->data, COUNT);
    pt_ok(s, pithp_copy_out(s, host, a->data, BYTES) == PITH_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(host[i], i);
    pithp_buffer_release(a, 1);
    pith_scope_close(s);
    pt_close(rt);
}

/* Two scopes, so two streams: s writes a, t copies it. */
static int64_t copied_elsewhere(bool waits) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    pithp_buffer *a = gt_buffer(s, COUNT), *b = gt_buffer(t, COUNT), *c = gt_buffer(s, 1);
    memset(a->data, 0, BYTES);
    memset(c->data, 0, 8);
    gt_launch(s, NULL, a->data, COUNT);
    if (waits)
        pt_ok(t, pithp_buffer_read(t, a) == PITH_OK);
    pithp_fill(s, c->data, &(int64_t){5}, 8, 1); /* no wait follows */
    int64_t host[COUNT];
    pithp_copy(t, b->data, a->data, BYTES);
    pithp_copy_out(t, host, b->data, BYTES);
    cr_assert_eq(*(int64_t *)c->data, 0, "more of the other stream ran than was needed");
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    pithp_buffer_release(c, 1);
    pith_scope_close(s);
    pith_scope_close(t);
    pt_close(rt);
    return host[COUNT - 1];
}

Test(async, work_of_another_stream_is_waited_for) {
    cr_assert_eq(copied_elsewhere(true), COUNT - 1);
}

Test(async, a_wait_that_was_forgotten_shows) {
    cr_assert_eq(copied_elsewhere(false), 0);
}

Test(async, freeing_waits_for_readers_on_other_streams) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    pithp_buffer *a = gt_buffer(s, COUNT), *b = gt_buffer(t, COUNT);
    gt_launch(s, NULL, a->data, COUNT);
    pithp_buffer_read(t, a);
    gt_launch(t, a->data, b->data, COUNT);
    const void *data = a->data;
    pithp_buffer_release(a, 1); /* t has not read it yet */
    pithp_buffer *again = gt_buffer(s, COUNT);
    cr_assert_eq(again->data, data, "the memory serves again");
    pithp_fill(s, again->data, &(int64_t){-7}, 8, COUNT);
    pith_wait(s);
    int64_t host[COUNT];
    pithp_copy_out(t, host, b->data, BYTES);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(host[i], 4 * i);
    pithp_copy_out(s, host, again->data, BYTES);
    cr_assert_eq(host[0], -7);
    pithp_buffer_release(again, 1);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    pith_scope_close(t);
    pt_close(rt);
}

Test(async, freed_memory_is_overwritten_in_order) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *a = gt_buffer(s, COUNT), *b = gt_buffer(s, COUNT);
    int64_t *data = a->data;
    gt_launch(s, NULL, data, COUNT);
    gt_launch(s, data, b->data, COUNT); /* before the free: sees what was written */
    pithp_buffer_release(a, 1);
    pithp_buffer *late = gt_buffer(s, 2 * COUNT);
    gt_launch(s, data, late->data, COUNT); /* after it: a mistake that must show */
    pith_wait(s);
    cr_assert_eq(((int64_t *)b->data)[9], 36);
    cr_assert_neq(((int64_t *)late->data)[9], 36);
    pithp_buffer_release(b, 1);
    pithp_buffer_release(late, 1);
    pith_scope_close(s);
    pt_close(rt);
}

static void count_release(void *closure, void *data) {
    int64_t *numbers = data;
    *(int64_t *)closure = numbers[3];
}

Test(async, lent_memory_is_given_back_after_its_last_use) {
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt);
    int64_t numbers[COUNT] = {0}, seen = 0;
    pithp_buffer *b = pithp_buffer_wrap(s, numbers, sizeof numbers, count_release, &seen);
    gt_launch(s, NULL, b->data, COUNT);
    pithp_buffer_release(b, 1);
    cr_assert_eq(seen, 3);
    pith_scope_close(s);
    pt_close(rt);
}

Test(async, streams_that_wait_for_each_other_come_to_an_end) {
    enum { TURNS = 5000 };
    pith_runtime *rt = open_asynchronous();
    pith_scope *s = pith_scope_open(rt), *t = pith_scope_open(rt);
    pithp_buffer *last = gt_buffer(s, 1);
    pithp_fill(s, last->data, &(int64_t){0}, 8, 1);
    for (int i = 0; i < TURNS; i++) {
        pith_scope *here = i % 2 ? s : t;
        pithp_buffer *next = gt_buffer(here, 1);
        pithp_buffer_read(here, last);
        const gt_args args = {last->data, next->data};
        pithp_launch_run(here, &(pithp_launch){.loops = gt_loops,
                                               .args = &args,
                                               .args_bytes = sizeof args,
                                               .count = 1});
        pithp_fill(here, next->data, &(int64_t){i}, 8, 1);
        pithp_buffer_release(last, 1);
        last = next;
    }
    int64_t host = 0;
    pithp_copy_out(s, &host, last->data, 8);
    cr_assert_eq(host, TURNS - 1);
    pithp_buffer_release(last, 1);
    pith_scope_close(s);
    pith_scope_close(t);
    pt_close(rt);
}

/* ---- Two threads hand a buffer back and forth ---- */

typedef struct {
    pith_runtime *rt;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    pithp_buffer *ball;
    int turn;
    bool wrong;
} game;

enum { GAME_TURNS = 400 };

static void *play(game *g, int side) {
    pith_scope *s = pith_scope_open(g->rt);
    for (int turn = side; turn < GAME_TURNS; turn += 2) {
        pthread_mutex_lock(&g->lock);
        while (g->turn != turn)
            pthread_cond_wait(&g->moved, &g->lock);
        pthread_mutex_unlock(&g->lock);
        pithp_buffer *next = gt_buffer(s, COUNT);
        pithp_buffer_read(s, g->ball);
        pithp_copy(s, next->data, g->ball->data, BYTES);
        pithp_fill(s, next->data, &(int64_t){turn}, 8, 1);
        pithp_buffer_release(g->ball, 1);
        if (turn % 50 == side) {
            int64_t host[COUNT];
            pithp_copy_out(s, host, next->data, BYTES);
            g->wrong |= host[0] != turn || host[COUNT - 1] != COUNT - 1;
        }
        pthread_mutex_lock(&g->lock);
        g->ball = next;
        g->turn++;
        pthread_cond_broadcast(&g->moved);
        pthread_mutex_unlock(&g->lock);
    }
    pith_scope_close(s);
    return NULL;
}
static void *play_first(void *g) {
    return play(g, 0);
}
static void *play_second(void *g) {
    return play(g, 1);
}

Test(async, threads_may_pass_buffers_on) {
    game g = {.rt = open_asynchronous(),
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .moved = PTHREAD_COND_INITIALIZER};
    pith_scope *s = pith_scope_open(g.rt);
    g.ball = gt_buffer(s, COUNT);
    gt_launch(s, NULL, g.ball->data, COUNT);
    pthread_t first, second;
    pthread_create(&first, NULL, play_first, &g);
    pthread_create(&second, NULL, play_second, &g);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    cr_assert(!g.wrong);
    pithp_buffer_release(g.ball, 1);
    pith_scope_close(s);
    cr_assert_eq(pith_memory_about(g.rt).live, 0);
    pt_close(g.rt);
}
