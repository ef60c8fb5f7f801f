/* Brief locks: one thread owns each of them, until another wants it. */
#include "base/base_internal.h"
#include "pith_test.h"

#include <pthread.h>

enum { THREADS = 4, TURNS = 20000 };

typedef struct {
    pithp_biased_lock lock;
    int64_t count; /* guarded by it */
    atomic_bool go;
} shared;

static void add(shared *x, int turns) {
    for (int i = 0; i < turns; i++) {
        pithp_biased_lock_take(&x->lock);
        x->count++;
        pithp_biased_lock_release(&x->lock);
    }
}

static void *wait_and_add(void *closure) {
    shared *x = closure;
    while (!atomic_load(&x->go))
        pithp_pause();
    add(x, TURNS);
    return NULL;
}

static void *add_once(void *closure) {
    add(closure, 1);
    return NULL;
}

static bool is_own(const shared *x) {
    return atomic_load(&x->lock.owner) == pithp_thread_self();
}

Test(biased_lock, is_the_first_threads_own_until_another_wants_it) {
    shared x = {0};
    pthread_t other;
    add(&x, 1);
    const bool own = is_own(&x);
    add(&x, TURNS);
    cr_assert_eq(is_own(&x), own, "no other thread used it");
    cr_assert_eq(pthread_create(&other, NULL, add_once, &x), 0);
    pthread_join(other, NULL);
    cr_assert_not(is_own(&x));
    add(&x, 1);
    cr_assert_eq(x.count, 1 + TURNS + 1 + 1);
}

/* Taken from an owner that goes on taking it, at many moments of its turns. */
Test(biased_lock, holds_while_its_owner_loses_it) {
    for (int round = 0; round < 100; round++) {
        shared x = {.go = true};
        pthread_t other;
        int64_t mine = 0;
        add(&x, 1);
        cr_assert_eq(pthread_create(&other, NULL, wait_and_add, &x), 0);
        for (bool done = false; !done; mine++) {
            pithp_biased_lock_take(&x.lock);
            done = ++x.count >= TURNS + mine + 2;
            pithp_biased_lock_release(&x.lock);
        }
        pthread_join(other, NULL);
        cr_assert_eq(x.count, 1 + TURNS + mine);
    }
}

Test(biased_lock, holds_where_many_threads_want_a_new_one) {
    for (int round = 0; round < 20; round++) {
        shared x = {0};
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            cr_assert_eq(pthread_create(&threads[t], NULL, wait_and_add, &x), 0);
        atomic_store(&x.go, true);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        cr_assert_eq(x.count, THREADS * TURNS);
    }
}
