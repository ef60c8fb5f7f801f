/* Requests of memory: refusals, splits of runs, hooks, and freed memory. */
#include "fail_allocator.h"
#include "request_test.h"

#include <pthread.h>

TestSuite(request, .init = gt_reset);

Test(request, mistakes_are_refused_and_queue_nothing) {
    const pair p = open_small("64MiB");
    listener l;
    pith_instance *i = listening(p, "a", "g", 0, &l);
    const pith_request good = runs_of("good", 4);
    struct {
        pith_request r;
        pith_status code;
        const char *text;
    } bad[] = {
        {good, PITH_E_ARG, "the name is NULL or empty"},
        {good, PITH_E_DTYPE, "\"good\": invalid dtype 0"},
        {good, PITH_E_SHAPE, "rank 9"},
        {good, PITH_E_SHAPE, "extent 1 is negative"},
        {good, PITH_E_OVERFLOW, "overflows"},
        {good, PITH_E_ARG, "chunk axis 2 of rank 2"},
        {good, PITH_E_SHAPE, "5 runs, and extent 4"},
        {good, PITH_E_UNSUPPORTED, "managed"},
        {good, PITH_E_ARG, "kind of memory"},
        {good, PITH_E_OVERFLOW, "overflows"},
    };
    bad[0].r.label = NULL;
    bad[1].r.dtype = PITH_DTYPE_NONE;
    bad[2].r.shape.rank = 9;
    bad[3].r.shape.extents[1] = -1;
    bad[4].r.shape.extents[0] = INT64_MAX;
    bad[5].r.chunk_axis = 2;
    bad[6].r.runs = 5;
    bad[7].r.memory = PITH_MEMORY_MANAGED;
    bad[8].r.memory = (pith_memory_kind)9;
    bad[9].r.shape = PITH_SHAPE(INT64_MAX, INT64_MAX, 0);
    for (int k = 0; k < PITHP_COUNT(bad); k++) {
        const pith_request both[2] = {runs_of("first", 4), bad[k].r};
        pt_fails(bad[k].code, p.s, pith_instance_queue(p.s, i, 2, both));
        pt_says(bad[k].text);
        pt_fails(bad[k].code, p.s, pith_instance_allocate(p.s, i, &bad[k].r));
        pt_fails(bad[k].code, p.s, pith_instance_allocate_all(p.s, i, 2, both));
    }
    const pith_request twice[2] = {good, good};
    pt_fails(PITH_E_ARG, p.s, pith_instance_queue(p.s, i, 2, twice));
    pt_says("\"good\" is requested twice");
    pt_fails(PITH_E_ARG, p.s, pith_instance_queue(p.s, i, 0, &good));
    pt_fails(PITH_E_ARG, p.s,
             pith_instance_queue(p.s, pith_instance_find(p.rt, "default"), 1, &good));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, i));
    cr_assert_eq(l.ready, 0, "nothing was queued");
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    close_pair(p);
}

Test(request, a_chunk_has_the_shape_of_its_request) {
    const pair p = open_small("1MiB");
    pith_request r = {.label = "x",
                      .dtype = PITH_F32,
                      .shape = PITH_SHAPE(3, 1000, 256),
                      .chunk_axis = 1};
    pith_shape shape = pith_chunk_shape(p.s, &r, 70);
    cr_assert(shape.rank == 3 && shape.extents[0] == 3 && shape.extents[1] == 70 &&
              shape.extents[2] == 256);
    r.chunk_axis = -1;
    cr_assert_eq(pith_chunk_shape(p.s, &r, 0).extents[2], 0);
    r.unchunkable = true;
    cr_assert_eq(pith_chunk_shape(p.s, &r, 70).extents[2], 256);
    pt_fails(PITH_E_ARG, p.s, pith_chunk_shape(p.s, &r, -1));
    pt_fails(PITH_E_ARG, p.s, pith_chunk_shape(p.s, NULL, 1));
    close_pair(p);
}

Test(request, what_fits_is_allocated_whole) {
    const pair p = open_small("64MiB");
    listener l;
    pith_instance *i = listening(p, "a", NULL, 0, &l);
    pith_request rs[4] = {runs_of("x", 100),
                          runs_of("pinned", 100),
                          runs_of("mapped", 100),
                          {.label = "scalar", .dtype = PITH_F32}};
    rs[1].memory = PITH_MEMORY_PINNED;
    rs[2].memory = PITH_MEMORY_MAPPED;
    pt_ok(p.s, pith_instance_queue(p.s, i, 4, rs));
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    pt_ok(p.s, pith_instance_allocate_queue(p.s, i));
    cr_assert_eq(l.ready, 1);
    cr_assert_eq(l.count, 4);
    cr_assert(l.chunks.count == 1 && l.chunks.length == 100 && l.chunks.runs == 100);
    const pith_allocation *x = l.allocations[0], *pinned = l.allocations[1],
                          *mapped = l.allocations[2], *scalar = l.allocations[3];
    cr_assert_str_eq(x->label, "x");
    cr_assert_eq(x->bytes, 100 * 8192);
    cr_assert_eq((uintptr_t)x->data % 256, 0);
    cr_assert(x->data && !x->host && x->chunk_axis == 0);
    cr_assert(!pinned->data && pinned->host);
    cr_assert(mapped->data && mapped->host);
    cr_assert(scalar->bytes == 4 && scalar->chunk_axis == -1);
    cr_assert_eq(pith_memory_about(p.rt).live, 100 * 8192 + 4);
    cr_assert_eq(pith_memory_pinned(p.rt), 2 * 100 * 8192);
    memset(pinned->host, 1, pinned->bytes);
    pt_ok(p.s, pith_instance_free(p.s, i, "x"));
    pt_fails(PITH_E_ARG, p.s, pith_instance_free(p.s, i, "x"));
    pt_says("\"a\" has no allocation \"x\"");
    pith_instance_free_all(i);
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    cr_assert_eq(pith_memory_pinned(p.rt), 0);
    close_pair(p);
}

Test(request, a_group_is_split_into_the_same_chunks) {
    const pair p = open_small("4MiB");
    listener l, m, idle;
    pith_instance *a = listening(p, "a", "g", 0, &l), *b = listening(p, "b", "g", 0, &m),
                  *c = listening(p, "c", "g", 0, &idle);
    pith_request of_a[2] = {runs_of("x", 1000), bytes_of("table", MIB)};
    pith_request of_b = {.label = "y",
                         .dtype = PITH_F32,
                         .shape = PITH_SHAPE(3, 1000, 256),
                         .chunk_axis = -2,
                         .runs = 1000};
    pt_ok(p.s, pith_instance_queue(p.s, a, 2, of_a));
    pt_ok(p.s, pith_instance_queue(p.s, b, 1, &of_b));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, c));
    cr_assert(l.ready == 1 && m.ready == 1);
    cr_assert_eq(idle.ready, 0, "it was given nothing");
    /* 3 MiB for runs of 8,192 + 3,072 bytes: 279 fit, so 4 chunks of 250 */
    cr_assert(l.chunks.count == 4 && l.chunks.length == 250 && l.chunks.runs == 1000);
    cr_assert(memcmp(&l.chunks, &m.chunks, sizeof l.chunks) == 0);
    cr_assert_eq(l.allocations[0]->shape.extents[0], 250);
    cr_assert_eq(l.allocations[0]->whole.extents[0], 1000);
    cr_assert_eq(l.allocations[1]->bytes, MIB);
    cr_assert_eq(m.allocations[0]->shape.extents[0], 3);
    cr_assert_eq(m.allocations[0]->shape.extents[1], 250);
    cr_assert_eq(m.allocations[0]->chunk_axis, 1);
    cr_assert_leq(pith_memory_about(p.rt).live, 4 * MIB);
    /* The same once more: what has the labels goes first (cubie #577). */
    for (int turn = 0; turn < 3; turn++) {
        pt_ok(p.s, pith_instance_queue(p.s, a, 2, of_a));
        pt_ok(p.s, pith_instance_queue(p.s, b, 1, &of_b));
        pt_ok(p.s, pith_instance_allocate_queue(p.s, a));
        cr_assert(l.chunks.count == 4 && l.chunks.length == 250);
        cr_assert_eq(l.allocations[0]->shape.extents[0], 250);
    }
    cr_assert_eq(warnings[PITH_WARNING_SHRUNK], 0);
    pith_instance_close(a);
    pith_instance_close(b);
    cr_assert_eq(pith_memory_about(p.rt).live, 0, "closing frees");
    close_pair(p);
}

/* Every number of runs and every budget: all runs once, equal chunks, no more than fits,
 * and one run more a chunk would not fit. */
Test(request, chunks_cover_all_runs_once_and_are_as_long_as_fits) {
    for (size_t kib = 512; kib <= 4096; kib += 512) {
        char text[32];
        snprintf(text, sizeof text, "%zuKiB", kib);
        const pair p = open_small(text);
        pith_instance_open(p.s, "a", &(pith_instance_options){.group = "g"});
        for (int64_t runs = 1; runs < 700; runs++) {
            const pith_request rs[2] = {runs_of("x", runs), bytes_of("t", 100 << 10)};
            pith_chunks c;
            pt_ok(p.s, pith_memory_chunks(p.s, "g", 2, rs, &c));
            int64_t sum = 0;
            for (int64_t k = 0; k < c.count; k++) {
                const int64_t length = pith_chunk_runs(c, k);
                cr_assert(k + 1 < c.count ? length == c.length
                                          : length > 0 && length <= c.length);
                sum += length;
            }
            cr_assert_eq(sum, runs);
            cr_assert_eq(pith_chunk_runs(c, c.count), 0);
            cr_assert_eq(pith_chunk_runs(c, -1), 0);
            const int64_t most = (int64_t)((kib - 100) / 8);
            cr_assert_leq(c.length, most);
            cr_assert_eq(c.count, (runs + most - 1) / most, "no more chunks than needed");
        }
        close_pair(p);
    }
}

Test(request, what_does_not_fit_is_refused_with_numbers_and_stays_queued) {
    const pair p = open_small("1MiB");
    listener l;
    pith_instance *a = listening(p, "a", "g", 0, &l);
    const pith_request rs[2] = {runs_of("x", 1000), bytes_of("t", MIB - 4096)};
    pt_ok(p.s, pith_instance_queue(p.s, a, 2, rs));
    pt_fails(PITH_E_MEMORY, p.s, pith_instance_allocate_queue(p.s, a));
    pt_says(
        "group \"g\" has 1048576 bytes available: requests without chunks take 1044480, "
        "one run 8192");
    cr_assert_eq(l.ready, 0);
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    /* Another request under the label takes its place; then the rest is served. */
    const pith_request small = bytes_of("t", 4096);
    pt_ok(p.s, pith_instance_queue(p.s, a, 1, &small));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, a));
    cr_assert_eq(l.count, 2);
    cr_assert_eq(l.chunks.count, 8);
    cr_assert_eq(warnings[PITH_WARNING_MANY_CHUNKS], 0);
    const pith_request many = runs_of("x", 3000);
    pith_chunks c;
    pith_instance_free_all(a);
    pt_ok(p.s, pith_memory_chunks(p.s, "g", 1, &many, &c));
    cr_assert_eq(warnings[PITH_WARNING_MANY_CHUNKS], 1, "24 MB of 1");
    pt_fails(PITH_E_ARG, p.s, pith_memory_chunks(p.s, "h", 1, &many, &c));
    const pith_request unequal[2] = {runs_of("x", 3), runs_of("y", 4)};
    pt_fails(PITH_E_ARG, p.s, pith_memory_chunks(p.s, "g", 2, unequal, &c));
    pt_says("\"x\" has 3 runs and \"y\" 4");
    pt_ok(p.s, pith_instance_queue(p.s, a, 2, unequal));
    pith_instance_clear_queue(a);
    pt_ok(p.s, pith_instance_allocate_queue(p.s, a));
    cr_assert_eq(l.ready, 1);
    close_pair(p);
}

Test(request, chunks_keep_to_caps_under_active_limits) {
    const pair p = open_small("8MiB");
    listener l, m;
    pith_instance *a = listening(p, "a", "g", 0.125, &l),
                  *b = listening(p, "b", "g", 0.5, &m);
    pt_ok(p.s, pith_memory_set_limits(p.s, PITH_LIMITS_ACTIVE));
    const pith_request x = runs_of("x", 512), y = runs_of("y", 512);
    for (int turn = 0; turn < 3; turn++) {
        pt_ok(p.s, pith_instance_queue(p.s, a, 1, &x));
        pt_ok(p.s, pith_instance_queue(p.s, b, 1, &y));
        pt_ok(p.s, pith_instance_allocate_queue(p.s, a));
        cr_assert_eq(l.chunks.length, 128, "1 MiB of a's, though b has 4");
        cr_assert_eq(l.chunks.count, 4);
        cr_assert_eq(m.chunks.length, 128);
    }
    close_pair(p);
}

Test(request, all_is_allocated_or_nothing) { /* keys_values #8 */
    const pair p = open_small("8MiB");
    listener l;
    pith_instance *a = listening(p, "a", "g", 0, &l);
    const pith_request before = bytes_of("one", 1000);
    pt_ok(p.s, pith_instance_allocate(p.s, a, &before));
    const pith_request rs[3] = {bytes_of("one", 3 * MIB), bytes_of("two", 4 * MIB),
                                bytes_of("three", 3 * MIB)};
    pt_fails(PITH_E_MEMORY, p.s, pith_instance_allocate_all(p.s, a, 3, rs));
    cr_assert_eq(pith_memory_about(p.rt).live, 1000, "what was there is there");
    cr_assert_eq(pith_instance_find_allocation(a, "one")->bytes, 1000);
    cr_assert_null(pith_instance_find_allocation(a, "two"));
    pt_ok(p.s, pith_instance_allocate_all(p.s, a, 2, rs)); /* sees what the first freed */
    cr_assert_eq(pith_memory_about(p.rt).live, 7 * MIB);
    pt_ok(p.s, pith_memory_set_pinned_budget(p.s, MIB));
    pith_request pinned[2] = {bytes_of("p", MIB / 2), bytes_of("q", MIB)};
    pinned[0].memory = pinned[1].memory = PITH_MEMORY_PINNED;
    pt_fails(PITH_E_MEMORY, p.s, pith_instance_allocate_all(p.s, a, 2, pinned));
    pt_says("524288 of the budget of 1048576 are in use");
    cr_assert_eq(pith_memory_pinned(p.rt), 0);
    pt_ok(p.s, pith_instance_allocate_all(p.s, a, 1, pinned));
    cr_assert_eq(pith_memory_free(p.rt, "two"), 1);
    cr_assert_eq(pith_memory_free(p.rt, "two"), 0);
    cr_assert_eq(pith_memory_about(p.rt).live, 3 * MIB);
    close_pair(p);
}

Test(request, invalidating_calls_every_hook_and_then_frees) {
    const pair p = open_small("8MiB");
    listener l, m;
    pith_instance *a = listening(p, "a", "g", 0, &l), *b = listening(p, "b", "h", 0, &m);
    const pith_request x = bytes_of("x", MIB);
    pt_ok(p.s, pith_instance_allocate(p.s, a, &x) && pith_instance_allocate(p.s, b, &x));
    pith_scope *on_a = pith_scope_open_on(p.rt, a); /* not idle: told all the same */
    pith_memory_invalidate_all(p.rt);
    cr_assert(l.invalidated == 1 && m.invalidated == 1);
    cr_assert_eq(l.live_when_invalidated, 2 * MIB);
    cr_assert_eq(m.live_when_invalidated, 2 * MIB);
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    cr_assert_null(pith_instance_find_allocation(a, "x"));
    pith_scope_close(on_a);
    close_pair(p);
}

static void *free_all(void *rt) {
    pith_memory_invalidate_all(rt);
    return NULL;
}

static void freed_meanwhile(pith_instance *i, const pith_response *r, void *closure) {
    pthread_t thread;
    (void)i;
    cr_assert_eq(pthread_create(&thread, NULL, free_all, closure), 0);
    pthread_join(thread, NULL);
    for (int k = 0; k < r->count; k++) {
        cr_assert_str_eq(r->allocations[k]->label, k ? "b" : "a");
        memset(r->allocations[k]->data, k, r->allocations[k]->bytes);
    }
}

/* Until the hook returns; afterwards it is gone. */
Test(request, what_a_hook_is_told_of_stays_while_others_free_it) {
    pair p = open_small("64MiB");
    pith_instance *i = pith_instance_open(
        p.s, "i", &(pith_instance_options){.ready = freed_meanwhile, .closure = p.rt});
    const pith_request both[] = {bytes_of("a", 100000), bytes_of("b", 5000)};
    pt_ok(p.s, pith_instance_queue(p.s, i, 2, both));
    pt_ok(p.s, pith_instance_allocate_queue(p.s, i));
    cr_assert_null(pith_instance_find_allocation(i, "a"));
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    cr_assert_eq(pith_memory_about(p.rt).peak, 105000);
    close_pair(p);
}

Test(request, copies_run_on_the_stream_of_the_group) {
    static const char *const asynchronous[] = {"0", "1"};
    for (int turn = 0; turn < 2; turn++) {
        setenv("PITH_HOST_ASYNC", asynchronous[turn], 1);
        const pair p = open_small("8MiB");
        listener l;
        pith_instance *a = listening(p, "a", "g", 0, &l);
        pith_request rs[3] = {bytes_of("d", 5000), bytes_of("p", 5000),
                              bytes_of("m", 5000)};
        rs[1].memory = PITH_MEMORY_PINNED;
        rs[2].memory = PITH_MEMORY_MAPPED;
        pt_ok(p.s, pith_instance_allocate_all(p.s, a, 3, rs));
        const pith_allocation *all[3];
        unsigned char in[3][5000], out[3][5000];
        const void *from[3];
        void *to[3];
        for (int k = 0; k < 3; k++) {
            all[k] = pith_instance_find_allocation(a, rs[k].label);
            memset(in[k], k + 7, 5000);
            memset(out[k], 0, 5000);
            from[k] = in[k];
            to[k] = out[k];
        }
        pt_ok(p.s, pith_instance_to_device(p.s, a, 3, all, from));
        memset(in, 0, sizeof in); /* may be used again */
        pt_ok(p.s, pith_instance_from_device(p.s, a, 3, all, to));
        for (int k = 0; k < 3; k++)
            cr_assert(out[k][0] == k + 7 && out[k][4999] == k + 7);
        pith_instance_free(p.s, a, "p");
        pt_fails(PITH_E_ARG, p.s, pith_instance_to_device(p.s, a, 3, all, from));
        pt_says("not a live allocation of \"a\"");
        close_pair(p);
    }
}

static pith_status scenario(const pith_open_options *options) {
    pith_runtime *rt = pith_open(options);
    pith_scope *s = pith_scope_open(rt);
    pith_status code = PITH_OK;
    listener l = {.rt = rt};
    pith_instance *a = NULL;
    const pith_request rs[2] = {runs_of("x", 100), bytes_of("t", 100000)};
    if (!pith_failed(s))
        a = pith_instance_open(
            s, "a",
            &(pith_instance_options){.group = "g", .ready = on_ready, .closure = &l});
    if (a && pith_instance_queue(s, a, 2, rs))
        pith_instance_allocate_queue(s, a);
    code = pith_code(s);
    if (code == PITH_OK) {
        cr_assert_eq(l.count, 2);
        pith_instance_allocate(s, a, &rs[0]);
        code = pith_code(s);
        cr_assert_eq(pith_memory_about(rt).live, 100 * 8192 + 100000);
    }
    pith_scope_close(s);
    pith_close(rt);
    return code;
}

Test(request, survives_every_failing_allocation) {
    const pt_failures f = pt_fail_each(scenario);
    cr_assert_gt(f.errors, 5);
}
