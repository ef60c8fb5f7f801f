/* What memory is used for: counts to the byte, by instance and by scope, their reports,
 * and the log of events. */
#include "gpu_test.h"

#include <locale.h>
#include <pith/memory.h>
#include <unistd.h>

static bool is(pith_memory_statistics n,
               size_t current,
               size_t peak,
               size_t total,
               int64_t current_count,
               int64_t peak_count,
               int64_t total_count) {
    return n.current == current && n.peak == peak && n.total == total &&
           n.current_count == current_count && n.peak_count == peak_count &&
           n.total_count == total_count;
}

Test(statistics, count_every_block_of_an_instance) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i = pith_instance_open(s, "part", NULL);
    pith_scope *t = pith_scope_open_on(rt, i);
    pithp_buffer *a = pithp_buffer_make(t, 1000), *b = pithp_buffer_make(t, 300000);
    cr_assert(is(pith_instance_statistics(i), 301000, 301000, 301000, 2, 2, 2));
    pithp_buffer_release(a, 1);
    a = pithp_buffer_make(t, 5);
    cr_assert(is(pith_instance_statistics(i), 300005, 301000, 301005, 2, 2, 3));
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    cr_assert(is(pith_instance_statistics(i), 0, 301000, 301005, 0, 2, 3));
    cr_assert(is(pith_instance_statistics(NULL), 0, 0, 0, 0, 0, 0));
    pith_instance *standard = pith_instance_find(rt, "default");
    cr_assert(is(pith_instance_statistics(standard), 0, 0, 0, 0, 0, 0));
    pith_scope_close(t);
    pith_instance_close(i);
    cr_assert(is(pith_instance_statistics(i), 0, 0, 0, 0, 0, 0), "it is closed");
    pith_scope_close(s);
    pt_close(rt);
}

Test(statistics, what_a_scope_pushes_counts_for_all_around_it) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i = pith_instance_open(s, "part", NULL);
    pith_scope *t = pith_scope_open_on(rt, i);
    pithp_buffer *before = pithp_buffer_make(t, 100);
    pt_ok(t, pith_memory_push(t));
    cr_assert(pith_scope_instance(t) == i, "a count is no instance of its own");
    pithp_buffer *outer = pithp_buffer_make(t, 2000);
    pith_scope *child = pith_scope_open_in(t);
    pt_ok(child, pith_memory_push(child));
    pithp_buffer *inner = pithp_buffer_make(child, 30000);
    pithp_buffer_release(before, 1);
    cr_assert(is(pith_scope_statistics(child), 30000, 30000, 30000, 1, 1, 1));
    cr_assert(is(pith_scope_statistics(t), 32000, 32000, 32000, 2, 2, 2));
    cr_assert(is(pith_instance_statistics(i), 32000, 32100, 32100, 2, 3, 3));
    pt_fails(PITH_E_SCOPE, t, pith_memory_pop(t));
    cr_assert(is(pith_memory_pop(child), 30000, 30000, 30000, 1, 1, 1));
    pt_fails(PITH_E_ARG, child, pith_memory_pop(child));
    pithp_buffer_release(inner, 1); /* of a count that is over */
    cr_assert(is(pith_scope_statistics(t), 2000, 32000, 32000, 1, 2, 2));
    pith_scope_close(child);
    cr_assert(is(pith_memory_pop(t), 2000, 32000, 32000, 1, 2, 2));
    pithp_buffer_release(outer, 1);
    cr_assert(pith_instance_statistics(i).current == 0);
    pith_scope_close(t);
    pith_instance_close(i);
    pith_scope_close(s);
    cr_assert(pith_memory_about(rt).live == 0);
    pt_close(rt);
}

Test(statistics, counts_that_are_left_go_with_their_scope) {
    pith_runtime *rt = pt_open();
    for (int k = 0; k < 3000; k++) {
        pith_scope *s = pith_scope_open(rt);
        pith_scope *child = pith_scope_open_in(s);
        pt_ok(s,
              pith_memory_push(s) && pith_memory_push(child) && pith_memory_push(child));
        pithp_buffer *b = pithp_buffer_make(child, 64);
        pt_ok(child, b);
        if (k % 2)
            pithp_buffer_release(b, 1);
        pith_scope_close(s);
        if (k % 2 == 0)
            pithp_buffer_release(b, 1);
    }
    pith_instance *standard = pith_instance_find(rt, "default");
    cr_assert(
        is(pith_instance_statistics(standard), 0, 64, (size_t)3000 * 64, 0, 1, 3000));
    const long long blocks = atomic_load(&pt_default_heap.live);
    for (int k = 0; k < 100; k++) {
        pith_scope *s = pith_scope_open(rt);
        pt_ok(s, pith_memory_push(s));
        pith_scope_close(s);
    }
    cr_assert(atomic_load(&pt_default_heap.live) == blocks, "slots are used again");
    pt_close(rt);
}

/* Caps hold for what is counted by itself, and what they refuse is counted nowhere. */
Test(statistics, a_count_keeps_to_the_cap_of_its_instance) {
    setenv("PITH_HOST_MEMORY", "1MiB", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i =
        pith_instance_open(s, "part", &(pith_instance_options){.proportion = 0.5});
    pt_ok(s, pith_memory_set_limits(s, PITH_LIMITS_ACTIVE));
    pith_scope *t = pith_scope_open_on(rt, i);
    pt_ok(t, pith_memory_push(t));
    pithp_buffer *a = pithp_buffer_make(t, 400000);
    pt_ok(t, a);
    pt_fails(PITH_E_MEMORY, t, pithp_buffer_make(t, 200000));
    pt_says("\"part\"");
    cr_assert(is(pith_scope_statistics(t), 400000, 400000, 400000, 1, 1, 1));
    cr_assert(is(pith_instance_statistics(i), 400000, 400000, 400000, 1, 1, 1));
    pithp_buffer_release(a, 1);
    pith_scope_close(t);
    pith_scope_close(s);
    pt_close(rt);
    unsetenv("PITH_HOST_MEMORY");
}

/* A device whose number of bytes is not exact in a double. */
Test(statistics, caps_in_reports_are_those_of_instances) {
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .memory = SIZE_MAX});
    pith_scope *s = pith_scope_open(rt);
    char expected[80];
    const size_t cap = pith_instance_cap(pith_instance_find(rt, "default"));
    cr_assert_eq(cap, SIZE_MAX);
    snprintf(expected, sizeof expected, "\"proportion\":1,\"cap\":%zu,", cap);
    const char *json = pith_memory_json(s);
    pt_ok(s, json);
    cr_assert(strstr(json, expected), "%s in %s", expected, json);
    pith_scope_close(s);
    pith_close(rt);
}

Test(statistics, are_reported_as_json_and_as_a_table) {
    setenv("PITH_HOST_MEMORY", "64MiB", 1);
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is there: a comma for the decimals */
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i = pith_instance_open(
        s, "a \"b\"\n", &(pith_instance_options){.proportion = 0.25, .group = "g"});
    pith_scope *t = pith_scope_open_on(rt, i);
    pithp_buffer *b = pithp_buffer_make(t, 3 << 20);
    pt_ok(t, b);
    const char *json = pith_memory_json(s);
    pt_ok(s, json);
    const char *const parts[] = {
        "\"total\":67108864,", "\"live\":3145728,", "\"limits\":\"passive\"",
        "{\"name\":\"default\",",
        "{\"name\":\"a \\\"b\\\"\\u000a\",\"group\":\"g\",\"manual\":true,\"proportion\":"
        "0.25,\"cap\":16777216,\"current\":3145728,\"peak\":3145728,\"total\":3145728,"
        "\"current_count\":1,\"peak_count\":1,\"total_count\":1}"};
    for (int k = 0; k < PITHP_COUNT(parts); k++)
        cr_assert(strstr(json, parts[k]), "%s in %s", parts[k], json);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    pith_memory_print(rt, out);
    fclose(out);
    cr_assert(strstr(text, "3.00 MiB live") && strstr(text, "of 64.0 MiB"), "%s", text);
    cr_assert(strstr(text, "16.0 MiB     3.00 MiB     3.00 MiB     3.00 MiB        1"),
              "%s", text);
    free(text);
    pithp_buffer_release(b, 1);
    pith_scope_close(t);
    pith_scope_close(s);
    pith_memory_print(NULL, stdout);
    pt_close(rt);
    unsetenv("PITH_HOST_MEMORY");
}

static int told;
static void hear(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    told += level == PITH_LOG_INFO && strstr(message, "4096 bytes in 2 blocks") != NULL;
}

Test(statistics, what_is_left_is_told_by_the_place_that_made_it) {
    pith_runtime *rt = pt_open();
    pith_set_log_hook(rt, hear, NULL);
    pith_scope *s = pith_scope_open(rt);
    pithp_buffer *held[3];
    cr_assert(pithp_enter_as(pith_call_site(s, "here.c:1"), "pith_test"));
    for (int k = 0; k < 2; k++)
        held[k] = pithp_buffer_make(s, 2048);
    cr_assert(pithp_enter_as(pith_call_site(s, "there.c:2"), "pith_test"));
    held[2] = pithp_buffer_make(s, 9000);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    cr_assert(pith_memory_leaks(rt, out) == 3);
    fclose(out);
#ifdef NDEBUG
    cr_assert(strstr(text, "13096 bytes in 3 blocks made at unknown"), "%s", text);
#else
    const char *there = strstr(text, "9000 bytes in 1 blocks made at there.c:2"),
               *here = strstr(text, "4096 bytes in 2 blocks made at here.c:1");
    cr_assert(there && here && there < here, "%s", text);
#endif
    free(text);
    pithp_buffer_release(held[2], 1);
    cr_assert(pith_memory_leaks(rt, NULL) == 2);
    pithp_buffer_release(held[0], 1);
    pithp_buffer_release(held[1], 1);
    cr_assert(pith_memory_leaks(rt, NULL) == 0);
    cr_assert(pith_memory_leaks(NULL, NULL) == 0);
    /* Allocations of an instance that was not closed are reported at the end. */
    pith_instance *i = pith_instance_open(s, "part", NULL);
    const pith_request ask[] = {
        {.label = "a", .dtype = PITH_U8, .shape = PITH_SHAPE(1000)},
        {.label = "b", .dtype = PITH_U8, .shape = PITH_SHAPE(3096)}};
    pt_ok(s, pith_instance_allocate_all(s, i, 2, ask));
    pith_scope_close(s);
    told = 0;
    pt_close(rt);
#ifdef NDEBUG
    cr_assert(told == 0);
#else
    cr_assert(told == 1);
#endif
}

Test(statistics, a_log_has_every_allocation_and_free) {
    char folder[256], path[300];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/log.csv", folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pith_instance *i = pith_instance_open(s, "a,\"b\"", NULL);
    pithp_buffer *first = pithp_buffer_make(s, 10);
    pt_ok(s, pith_memory_log(s, path));
    pith_scope *t = pith_scope_open_on(rt, i);
    pithp_buffer *b = pithp_buffer_make(t, 2048), *c = pithp_buffer_make(t, 300000);
    pithp_buffer_release(b, 1);
    pithp_buffer_release(first, 1);
    pt_ok(s, pith_memory_log(s, NULL));
    pithp_buffer_release(c, 1); /* unseen */
    pt_ok(s, pith_memory_log(s, NULL));
    static const char *const actions[] = {"allocate", "allocate", "free", "free"};
    static const size_t bytes[] = {2048, 300000, 2048, 10},
                        live[] = {2058, 302058, 300010, 300000};
    FILE *in = fopen(path, "r");
    char line[256], action[16];
    cr_assert(in && fgets(line, sizeof line, in));
    cr_assert_str_eq(line, "seconds,action,address,bytes,instance,live\n");
    double last = 0;
    for (int k = 0; k < 4; k++) {
        double seconds;
        void *address;
        size_t taken, held;
        char name[64];
        cr_assert(fgets(line, sizeof line, in));
        cr_assert(sscanf(line, "%lf,%15[a-z],%p,%zu,%63[^0-9]%zu", &seconds, action,
                         &address, &taken, name, &held) == 6,
                  "%s", line);
        cr_assert(seconds >= last && taken == bytes[k] && strcmp(action, actions[k]) == 0,
                  "%s", line);
        cr_assert_str_eq(name, k < 3 ? "\"a,\"\"b\"\"\"," : "\"default\",");
        cr_assert(held == live[k], "%s", line);
        last = seconds;
    }
    cr_assert(!fgets(line, sizeof line, in));
    fclose(in);
    pt_fails(PITH_E_IO, s, pith_memory_log(s, "/nowhere/at/all"));
    pt_says("/nowhere/at/all");
    pt_ok(s, pith_memory_log(s, "/dev/full"));
    pithp_buffer_release(pithp_buffer_make(s, 5), 1);
    pt_fails(PITH_E_IO, s, pith_memory_log(s, NULL));
    pt_ok(s, pith_memory_log(s, path)); /* closed with the runtime */
    pith_scope_close(t);
    pith_scope_close(s);
    pt_close(rt);
    unlink(path);
    rmdir(folder);
}
