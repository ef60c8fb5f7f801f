/* Threads at random work on one memory manager. Whenever all have come to a barrier the
 * ledger must agree with a count of everything that is held, and the shares with their
 * rules. PITH_STRESS multiplies the work. */
#include "gpu/memory/ledger.h"
#include "gpu/memory/manager.h"
#include "gpu_test.h"

#include <pith/memory.h>
#include <pthread.h>

#ifdef __SANITIZE_THREAD__ /* ten times slower */
enum { ROUNDS = 25 };
#else
enum { ROUNDS = 150 };
#endif
enum { THREADS = 4, BUFFERS = 24, TURNS = 2500 };
#define MIB ((size_t)1 << 20)

typedef struct {
    int number;
    uint64_t random;
    pith_runtime *rt;
    pith_scope *s, *on; /* of the thread; on its instance */
    pith_instance *instance;
    pithp_buffer *buffers[BUFFERS];
    char name[16];
    long refused, hooks;
} worker;

static worker workers[THREADS];
/* Buffers that pass from thread to thread: who takes one out releases it. */
enum { SHARED = 16 };
static _Atomic(pithp_buffer *) shared[SHARED];
static bool immediate; /* the host may write to memory itself */
static pthread_barrier_t barrier;
static int rounds;
static uint64_t size_bits;

static uint64_t draw(worker *w, uint64_t below) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (w->random >> 33) % below;
}

/* Small ones most often. */
static size_t any_size(worker *w) {
    return (size_t)draw(w, (uint64_t)1 << draw(w, size_bits));
}

/* A call may be refused, for want of memory or because others have the share. */
static void excuse(worker *w, pith_scope *s) {
    if (!pith_failed(s))
        return;
    if (pith_code(s) != PITH_E_MEMORY && pith_code(s) != PITH_E_ARG) {
        fprintf(stderr, "%s\n", pith_message(s));
        abort();
    }
    w->refused++;
    pith_clear(s);
}

static void hook(pith_instance *i, void *closure) {
    worker *w = closure;
    __atomic_fetch_add(&w->hooks, 1, __ATOMIC_RELAXED);
    (void)pith_instance_proportion(i); /* no lock is held */
}

static void ready(pith_instance *i, const pith_response *r, void *closure) {
    (void)closure;
    for (int k = 0; k < r->count; k++)
        if (!r->allocations[k]->data || !pith_instance_name(i))
            abort();
}

static void open_instance(worker *w) {
    static const char *const groups[] = {"g", "h", "default"};
    const double proportion = draw(w, 2) ? 0 : 0.05 + (double)draw(w, 10) / 100;
    w->instance = pith_instance_open(
        w->s, w->name,
        &(pith_instance_options){.proportion = proportion,
                                 .group = draw(w, 3) ? w->name : groups[draw(w, 3)],
                                 .invalidate = hook,
                                 .ready = ready,
                                 .closure = w});
    excuse(w, w->s);
}

/* Both ends of a buffer say whose it is: memory that two have would be overwritten. */
static void mark(pithp_buffer *b) {
    char *data = b->data;
    if (!immediate || b->bytes < 2 * sizeof b)
        return;
    memcpy(data, &b, sizeof b);
    memcpy(data + b->bytes - sizeof b, &b, sizeof b);
}
static void release(pithp_buffer *b) {
    const char *data = b ? b->data : NULL;
    if (b && immediate && b->bytes >= 2 * sizeof b &&
        (memcmp(data, &b, sizeof b) != 0 ||
         memcmp(data + b->bytes - sizeof b, &b, sizeof b) != 0)) {
        fprintf(stderr, "memory of %zu bytes was allocated twice\n", b->bytes);
        abort();
    }
    pithp_buffer_release(b, 1);
}

static void toggle_buffer(worker *w) {
    pithp_buffer **b = &w->buffers[draw(w, BUFFERS)];
    if (*b) {
        if (draw(w, 4) == 0)
            *b = atomic_exchange(&shared[draw(w, SHARED)], *b);
        release(*b);
        *b = NULL;
        return;
    }
    pith_scope *s = w->on && draw(w, 2) ? w->on : w->s;
    *b = pithp_buffer_make(s, any_size(w));
    if (*b)
        mark(*b);
    excuse(w, s);
}

/* Several at once, all or none, into the places that are free. */
static void make_many(worker *w) {
    pith_scope *s = w->on && draw(w, 2) ? w->on : w->s;
    size_t sizes[BUFFERS];
    pithp_buffer *made[BUFFERS];
    int64_t count = 0, next = 0;
    for (int k = 0; k < BUFFERS; k++)
        if (!w->buffers[k])
            sizes[count++] = any_size(w);
    if (pithp_buffers_make(s, count, sizes, made) == PITH_OK)
        for (int k = 0; k < BUFFERS; k++)
            if (!w->buffers[k]) {
                w->buffers[k] = made[next++];
                mark(w->buffers[k]);
            }
    excuse(w, s);
}

static pith_request any_request(worker *w, const char *label) {
    return (pith_request){
        .label = label,
        .dtype = PITH_U8,
        .shape = PITH_SHAPE(1 + (int64_t)draw(w, 64), 1 + (int64_t)draw(w, 4096)),
        .unchunkable = draw(w, 2) == 0};
}

static void use_instance(worker *w) {
    static const char *const labels[] = {"x", "y", "z"};
    pith_instance *i = w->instance;
    const char *label = labels[draw(w, 3)];
    pith_request r = any_request(w, label);
    switch (draw(w, 8)) {
        case 0:
            pith_instance_queue(w->s, i, 1, &r);
            break;
        case 1:
            if (!pith_instance_allocate_queue(w->s, i))
                pith_instance_clear_queue(i); /* runs of others differ, say */
            break;
        case 2:
            pith_instance_allocate(w->s, i, &r);
            break;
        case 3:
            if (pith_instance_find_allocation(i, label))
                pith_instance_free(w->s, i, label);
            break;
        case 4:
            pith_instance_set_proportion(w->s, i, 0.05 + (double)draw(w, 20) / 100);
            break;
        case 5:
            pith_instance_set_auto(w->s, i);
            break;
        case 6:
            pith_memory_available(w->s, pith_instance_group(i));
            break;
        default:
            pith_instance_wait(w->s, i);
            break;
    }
    excuse(w, w->s);
}

/* The scope on an instance of its own group comes and goes, with the instance or without.
 */
static void change_instance(worker *w) {
    if (!w->instance) {
        open_instance(w);
    } else if (w->on) {
        pith_scope_close(w->on);
        w->on = NULL;
    } else if (draw(w, 2)) {
        if (strcmp(pith_instance_group(w->instance), w->name) == 0)
            w->on = pith_scope_open_on(w->rt, w->instance);
    } else {
        pith_instance_close(w->instance);
        w->instance = NULL;
    }
}

/* What looks at memory, and where it comes from. */
static void look(worker *w) {
    static const pith_memory_allocator allocators[] = {
        {.kind = PITH_ALLOCATOR_POOL},
        {.kind = PITH_ALLOCATOR_POOL, .keep = 65536},
        {.kind = PITH_ALLOCATOR_PLAIN},
        {.kind = PITH_ALLOCATOR_ARENA, .arena = 512 << 10}};
    switch (draw(w, 6)) {
        case 0:
            pith_memory_push(w->s);
            break;
        case 1:
            if (pithp_scope_instance(w->s)->pushed == w->s)
                pith_memory_pop(w->s);
            break;
        case 2:
            if (pith_instance_statistics(w->instance).current >
                pith_instance_statistics(w->instance).peak + 64 * MIB)
                abort();
            break;
        case 3:
            pith_memory_trim(w->rt);
            break;
        case 4:
            (void)pith_scope_statistics(w->s);
            break;
        default:
            if (draw(w, 20) == 0)
                pith_memory_set_allocator(w->s, &allocators[draw(w, 4)]);
            break;
    }
    excuse(w, w->s);
}

static void work(worker *w) {
    const uint64_t what = draw(w, 100);
    if (what < 79)
        toggle_buffer(w);
    else if (what < 80)
        make_many(w);
    else if (what < 96 && w->instance)
        use_instance(w);
    else if (what < 99)
        change_instance(w);
    else if (draw(w, 50) == 0)
        pith_memory_invalidate_all(w->rt);
    else if (draw(w, 4) == 0)
        look(w);
    else
        pith_memory_set_limits(w->s,
                               draw(w, 2) ? PITH_LIMITS_ACTIVE : PITH_LIMITS_PASSIVE);
}

/* No other thread is in a call. */
static void check_all(pith_runtime *rt) {
    size_t held = 0, owned = 0;
    int64_t buffers = 0, counted = 0;
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; k < BUFFERS; k++)
            if (workers[t].buffers[k]) {
                held += workers[t].buffers[k]->bytes;
                buffers++;
            }
    for (int k = 0; k < SHARED; k++)
        if (shared[k]) {
            held += atomic_load(&shared[k])->bytes;
            buffers++;
        }
    static const char *const labels[] = {"x", "y", "z"};
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; k < 3; k++) {
            const pith_allocation *a =
                pith_instance_find_allocation(workers[t].instance, labels[k]);
            held += a ? a->bytes : 0;
            buffers += a != NULL;
        }
    pithp_device *d = pithp_runtime_device(rt);
    double manual = 0, automatic = 0;
    bool equal = true;
    double share = -1;
    for (pith_instance *i = d->memory->first; i; i = i->next) {
        const pithp_account a = pithp_account_read(d, &i->account);
        owned += a.owned;
        counted += a.buffers;
        *(i->manual ? &manual : &automatic) += i->proportion;
        if (!i->manual) {
            equal = equal && (share < 0 || fabs(share - i->proportion) < 1e-12);
            share = i->proportion;
        }
    }
    const pithp_account standard = pithp_account_read(d, &d->memory->standard->account);
    cr_assert_eq(pith_memory_about(rt).live, held);
    cr_assert_eq(pith_memory_about(rt).live_count, buffers);
    cr_assert(pith_memory_about(rt).peak >= held &&
              pith_memory_about(rt).peak_count >= buffers);
    cr_assert_leq(owned + standard.owned, held, "closed instances hold the rest");
    cr_assert_leq(counted + standard.buffers, buffers);
    cr_assert_leq(held, pith_memory_about(rt).total);
    cr_assert(manual + automatic < 1 + 1e-9 && equal);
    cr_assert(share < 0 || manual < 0.95 + 1e-9, "never under 5 %%");
}

static void *run(void *argument) {
    worker *w = argument;
    for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < TURNS; turn++)
            work(w);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier); /* the main thread looks meanwhile */
    }
    return NULL;
}

static void finish(worker *w) {
    for (int k = 0; k < BUFFERS; k++)
        release(w->buffers[k]);
    if (w->on)
        pith_scope_close(w->on);
    pith_instance_close(w->instance);
    excuse(w, w->s);
    pith_scope_close(w->s);
}

static void stress(const char *asynchronous, const char *memory, uint64_t bits) {
    const char *more = getenv("PITH_STRESS");
    rounds = ROUNDS * (more && atoi(more) > 0 ? atoi(more) : 1);
    size_bits = bits;
    immediate = asynchronous[0] == '0';
    setenv("PITH_HOST_ASYNC", asynchronous, 1);
    setenv("PITH_HOST_MEMORY", memory, 1);
    setenv("PITH_THREADS", "1", 1);
    pith_runtime *rt = pt_open();
    pthread_t threads[THREADS];
    long refused = 0, hooks = 0;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.number = t, .random = (uint64_t)t + 1, .rt = rt};
        workers[t].s = pith_scope_open(rt);
        snprintf(workers[t].name, sizeof workers[t].name, "w%d", t);
        cr_assert_eq(pthread_create(&threads[t], NULL, run, &workers[t]), 0);
    }
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&barrier);
        check_all(rt);
        pthread_barrier_wait(&barrier);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        finish(&workers[t]);
        refused += workers[t].refused;
        hooks += workers[t].hooks;
    }
    for (int k = 0; k < SHARED; k++)
        release(atomic_exchange(&shared[k], NULL));
    pthread_barrier_destroy(&barrier);
    cr_assert(refused > 0 && hooks > 0, "the ways of being short were gone");
    cr_assert_eq(pith_memory_about(rt).live, 0);
    cr_assert(fabs(pith_memory_manual_proportion(rt)) < 1e-12);
    pt_close(rt);
}

TestSuite(memory_stress, .init = gt_reset);

Test(memory_stress, the_ledger_agrees_with_what_is_held) {
    stress("0", "24MiB", 21);
}

Test(memory_stress, also_where_work_is_deferred) {
    stress("1", "1MiB", 16);
}
