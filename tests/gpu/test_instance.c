/* Instances of the memory manager: shares, caps, limits, what is warned of, and a ledger
 * that comes back to zero. */
#include "gpu_test.h"

#include <pith/memory.h>

#define GIB ((size_t)1 << 30)

static int warnings[3];
static char warned[512];
static void warn(pith_warning warning, const char *message, void *closure) {
    /* No lock is held: the manager can be asked. */
    cr_assert_geq(pith_memory_manual_proportion(closure), 0);
    warnings[warning]++;
    snprintf(warned, sizeof warned, "%s", message);
}

typedef struct {
    pith_runtime *rt;
    pith_scope *s;
} pair;

static pair open_small(const char *memory) {
    setenv("PITH_HOST_MEMORY", memory, 1);
    memset(warnings, 0, sizeof warnings);
    warned[0] = 0;
    pith_runtime *rt = pt_open();
    pith_memory_set_warning_hook(rt, warn, rt);
    return (pair){rt, pith_scope_open(rt)};
}
static void close_pair(pair p) {
    pith_scope_close(p.s);
    pt_close(p.rt);
}

static pith_instance *manual(pair p, const char *name, double proportion) {
    return pith_instance_open(p.s, name,
                              &(pith_instance_options){.proportion = proportion});
}
static pith_instance *automatic(pair p, const char *name) {
    return pith_instance_open(p.s, name, NULL);
}
static bool near(double a, double b) {
    return fabs(a - b) < 1e-9;
}

TestSuite(instance, .init = gt_reset);

Test(instance, the_size_of_the_device_is_what_was_granted) {
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {{"1000000", 1000000},
                {"512KiB", (size_t)512 << 10},
                {"3MiB", (size_t)3 << 20},
                {"2GiB", 2 * GIB},
                {"1TiB", 1024 * GIB}};
    for (int i = 0; i < PITHP_COUNT(good); i++) {
        const pair p = open_small(good[i].text);
        cr_assert_eq(pith_memory_about(p.rt).total, good[i].bytes);
        cr_assert_eq(pith_memory_about(p.rt).free, good[i].bytes);
        close_pair(p);
    }
    static const char *const bad[] = {"2G",     "-1",          "0", "GiB",
                                      "1.5GiB", "20000000TiB", " 1"};
    for (int i = 0; i < PITHP_COUNT(bad); i++) {
        setenv("PITH_HOST_MEMORY", bad[i], 1);
        pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
        cr_assert_eq(pith_runtime_code(rt), PITH_E_ARG, "%s", bad[i]);
        cr_assert(strstr(pith_runtime_message(rt), "PITH_HOST_MEMORY"));
        pith_close(rt);
    }
    setenv("PITH_HOST_MEMORY", "2GiB", 1); /* options go before the environment */
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .memory = 5000});
    cr_assert_eq(pith_memory_about(rt).total, 5000);
    pith_close(rt);
}

Test(instance, automatic_ones_share_what_manual_ones_leave) {
    const pair p = open_small("1GiB");
    pith_instance *a = automatic(p, "a");
    cr_assert(near(pith_instance_proportion(a), 1));
    cr_assert_eq(pith_instance_cap(a), GIB);
    pith_instance *b = automatic(p, "b"), *c = manual(p, "c", 0.5);
    pt_ok(p.s, a && b && c);
    cr_assert(near(pith_instance_proportion(a), 0.25));
    cr_assert(near(pith_instance_proportion(b), 0.25));
    cr_assert_eq(pith_instance_cap(b), GIB / 4);
    cr_assert_eq(pith_instance_cap(c), GIB / 2);
    cr_assert(pith_instance_is_manual(c) && !pith_instance_is_manual(a));
    cr_assert(near(pith_memory_manual_proportion(p.rt), 0.5));
    cr_assert(near(pith_memory_auto_proportion(p.rt), 0.5));
    pith_instance_close(b);
    cr_assert(near(pith_instance_proportion(a), 0.5));
    pt_ok(p.s, pith_instance_set_proportion(p.s, c, 0.75));
    cr_assert(near(pith_instance_proportion(a), 0.25));
    pt_ok(p.s, pith_instance_set_auto(p.s, c));
    cr_assert(near(pith_instance_proportion(a), 0.5));
    cr_assert(near(pith_instance_proportion(c), 0.5));
    pt_ok(p.s, pith_instance_set_proportion(p.s, c, 0.1));
    cr_assert(near(pith_instance_proportion(a), 0.9));
    pith_instance_close(a);
    cr_assert(near(pith_memory_auto_proportion(p.rt), 0));
    cr_assert(near(pith_memory_manual_proportion(p.rt), 0.1));
    close_pair(p);
}

Test(instance, a_proportion_set_on_an_automatic_one_counts_once) { /* cubie #576 */
    const pair p = open_small("1GiB");
    pith_instance *a = automatic(p, "a"), *b = automatic(p, "b");
    for (int i = 1; i <= 100; i++)
        pt_ok(p.s, pith_instance_set_proportion(p.s, a, 0.009 * i));
    cr_assert(near(pith_memory_manual_proportion(p.rt), 0.9));
    cr_assert(near(pith_instance_proportion(b), 0.1));
    close_pair(p);
}

Test(instance, mistakes_are_refused_and_change_nothing) {
    const pair p = open_small("1GiB");
    pith_instance *a = automatic(p, "a"), *m = manual(p, "m", 0.5);
    static const double bad[] = {-0.1, 1.1, 1e300, NAN, INFINITY};
    for (int i = 0; i < PITHP_COUNT(bad); i++) {
        pt_fails(PITH_E_ARG, p.s, manual(p, "x", bad[i]));
        pt_says("proportion of");
        pt_fails(PITH_E_ARG, p.s, pith_instance_set_proportion(p.s, m, bad[i]));
    }
    pt_fails(PITH_E_ARG, p.s, pith_instance_set_proportion(p.s, m, 0));
    pt_fails(PITH_E_ARG, p.s, manual(p, "m", 0.1));
    pt_says("already registered");
    pt_fails(PITH_E_ARG, p.s, automatic(p, "default"));
    pt_fails(PITH_E_ARG, p.s, manual(p, "x", 0.6));
    pt_says("manual instances already have 0.5");
    pt_fails(PITH_E_ARG, p.s, manual(p, "x", 0.46)); /* 4 % for the automatic one */
    pt_says("leaves 1 automatic one less than 0.05");
    pt_fails(PITH_E_ARG, p.s, pith_instance_set_proportion(p.s, m, 0.96));
    pt_fails(PITH_E_ARG, p.s, pith_instance_set_auto(p.s, a));
    pt_says("\"a\" is already automatic");
    pt_fails(PITH_E_ARG, p.s, automatic(p, ""));
    pt_fails(PITH_E_ARG, p.s, automatic(p, NULL));
    pt_fails(
        PITH_E_ARG, p.s,
        automatic(p, "0123456789012345678901234567890123456789012345678901234567890123"));
    pt_says("63 bytes");
    pt_fails(PITH_E_ARG, p.s,
             pith_instance_open(p.s, "x", &(pith_instance_options){.group = ""}));
    pt_fails(PITH_E_ARG, p.s,
             pith_instance_set_proportion(p.s, pith_instance_find(p.rt, "default"), 0.5));
    pt_says("has no share");
    pt_fails(PITH_E_ARG, p.s, pith_memory_set_limits(p.s, (pith_limits)7));
    cr_assert(near(pith_instance_proportion(a), 0.5));
    cr_assert(near(pith_instance_proportion(m), 0.5));
    cr_assert_null(pith_instance_find(p.rt, "x"));
    cr_assert_eq(pith_instance_find(p.rt, "a"), a);
    cr_assert_eq(warnings[PITH_WARNING_LITTLE_LEFT], 0);
    close_pair(p);
}

Test(instance, little_left_is_warned_of_and_then_no_automatic_one_comes) {
    const pair p = open_small("1GiB");
    pt_ok(p.s, manual(p, "m", 0.95));
    cr_assert_eq(warnings[PITH_WARNING_LITTLE_LEFT], 0);
    pt_ok(p.s, manual(p, "n", 0.01));
    cr_assert_eq(warnings[PITH_WARNING_LITTLE_LEFT], 1);
    cr_assert(strstr(warned, "less than 0.05"), "%s", warned);
    pt_fails(PITH_E_ARG, p.s, automatic(p, "a"));
    pt_says("automatic ones need 0.05");
    pt_ok(p.s, manual(p, "o", 0.04)); /* the whole, with rounding */
    pt_fails(PITH_E_ARG, p.s, pith_instance_set_auto(p.s, pith_instance_find(p.rt, "n")));
    pt_ok(p.s, pith_instance_set_auto(p.s, pith_instance_find(p.rt, "m")));
    cr_assert(near(pith_memory_auto_proportion(p.rt), 0.95));
    close_pair(p);
}

static pithp_buffer *buffer_of(pith_scope *s, size_t bytes) {
    pithp_buffer *b = pithp_buffer_make(s, bytes);
    pt_ok(s, b);
    return b;
}

Test(instance, an_automatic_one_that_holds_more_than_its_share_is_warned_of) {
    const pair p = open_small("64MiB");
    pith_instance *a = automatic(p, "a");
    pith_scope *s = pith_scope_open_on(p.rt, a);
    pithp_buffer *b = buffer_of(s, (size_t)40 << 20);
    pith_instance *c = automatic(p, "c");
    cr_assert_eq(warnings[PITH_WARNING_SQUEEZED], 1);
    cr_assert(strstr(warned, "\"a\" 41943040 bytes of 33554432"), "%s", warned);
    pith_instance_close(c);
    cr_assert_eq(warnings[PITH_WARNING_SQUEEZED], 1);
    pithp_buffer_release(b, 1);
    pith_scope_close(s);
    close_pair(p);
}

Test(instance, caps_hold_under_active_limits_alone) {
    const pair p = open_small("64MiB");
    pith_instance *m = manual(p, "m", 0.25);
    pith_scope *s = pith_scope_open_on(p.rt, m), *child = pith_scope_open_in(s);
    cr_assert_eq(pith_scope_instance(child), m);
    cr_assert_eq(pith_scope_instance(p.s), pith_instance_find(p.rt, "default"));
    pithp_buffer *b = buffer_of(s, (size_t)20 << 20); /* of a cap of 16 MiB */
    pithp_buffer_release(b, 1);
    pt_ok(s, pith_memory_set_limits(s, PITH_LIMITS_ACTIVE));
    cr_assert_eq(pith_memory_limits(p.rt), PITH_LIMITS_ACTIVE);
    pt_fails(PITH_E_MEMORY, s, pithp_buffer_make(s, (size_t)20 << 20));
    pt_says("instance \"m\" has 0 of its 16777216 bytes in use");
    b = buffer_of(child, (size_t)16 << 20); /* exactly the cap */
    pt_fails(PITH_E_MEMORY, child, pithp_buffer_make(child, 1));
    pt_says("\"m\" has 16777216 of its 16777216");
    pithp_buffer *zero = buffer_of(child, 0);
    pithp_buffer *other = buffer_of(p.s, (size_t)40 << 20); /* "default" has no cap */
    pithp_buffer_release(other, 1);
    pithp_buffer_release(zero, 1);
    pithp_buffer_release(b, 1);
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    pith_scope_close(s);
    close_pair(p);
}

Test(instance, the_device_holds_no_more_than_its_size) { /* cupy PR 1256, #7678 */
    const pair p = open_small("10MiB");
    const size_t mib = (size_t)1 << 20;
    pithp_buffer *a = buffer_of(p.s, 3 * mib), *b = buffer_of(p.s, 3 * mib);
    pithp_buffer_release(a, 1);
    pithp_buffer_release(b, 1);
    pithp_buffer *c = buffer_of(p.s, 6 * mib); /* what was kept is given up for it */
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 4 * mib + 1));
    pt_says(
        "4194305 bytes requested by \"default\", 6291456 bytes are in use of 10485760");
    a = buffer_of(p.s, 4 * mib); /* to the last byte */
    cr_assert_eq(pith_memory_about(p.rt).free, 0);
    pt_fails(PITH_E_MEMORY, p.s, pithp_buffer_make(p.s, 1));
    pithp_buffer_release(c, 1);
    pithp_buffer_release(a, 1);
    for (size_t size = mib; size <= 10 * mib; size += mib) { /* bigger and bigger ones */
        a = buffer_of(p.s, size);
        pithp_buffer_release(a, 1);
    }
    cr_assert_eq(pith_memory_about(p.rt).live, 0);
    cr_assert_eq(pith_memory_about(p.rt).peak, 10 * mib);
    close_pair(p);
}

Test(instance, what_a_group_has_left_is_known) {
    const pair p = open_small("100MiB");
    const size_t mib = (size_t)1 << 20;
    pith_instance *a = pith_instance_open(
        p.s, "a", &(pith_instance_options){.proportion = 0.25, .group = "g"});
    pith_instance *b = pith_instance_open(
        p.s, "b", &(pith_instance_options){.proportion = 0.25, .group = "g"});
    pt_ok(p.s, a && b);
    cr_assert_eq(pith_memory_available(p.s, "g"), 100 * mib);
    pithp_buffer *outside = buffer_of(p.s, 40 * mib);
    cr_assert_eq(pith_memory_available(p.s, "g"), 60 * mib);
    pith_memory_set_limits(p.s, PITH_LIMITS_ACTIVE);
    cr_assert_eq(pith_memory_available(p.s, "g"), 50 * mib);
    pith_scope *s = pith_scope_open_on(p.rt, a), *t = pith_scope_open_on(p.rt, b);
    pithp_buffer *x = buffer_of(s, 24 * mib);
    cr_assert_eq(pith_memory_available(p.s, "g"), 26 * mib);
    cr_assert_eq(warnings[PITH_WARNING_GROUP_FULL], 0);
    pithp_buffer *y = buffer_of(t, 24 * mib);
    cr_assert_eq(pith_memory_available(p.s, "g"), 2 * mib);
    cr_assert_eq(warnings[PITH_WARNING_GROUP_FULL], 1);
    cr_assert(strstr(warned, "more than 95 %"), "%s", warned);
    pt_fails(PITH_E_ARG, p.s, pith_memory_available(p.s, "none"));
    pt_says("no group \"none\"");
    pithp_buffer_release(x, 1);
    pithp_buffer_release(y, 1);
    pithp_buffer_release(outside, 1);
    close_pair(p);
}

Test(instance, thousands_come_and_go_and_leave_nothing) { /* cubie #593 */
    const pair p = open_small("64MiB");
    pith_instance *stays = automatic(p, "stays");
    long long bytes = 0;
    for (int i = 0; i < 5000; i++) {
        pith_instance *x = i % 2 ? automatic(p, "x") : manual(p, "x", 0.5);
        pith_scope *s = pith_scope_open_on(p.rt, x);
        pithp_buffer *b = buffer_of(s, 1 << 20);
        pithp_buffer *kept = buffer_of(s, 100);
        pithp_buffer_release(b, 1);
        pith_instance_close(x);
        pith_instance_close(x);
        cr_assert(near(pith_instance_proportion(stays), 1));
        cr_assert_eq(pith_memory_about(p.rt).live, 100, "what was left of it is counted");
        b = buffer_of(s, 200); /* its scope goes on */
        pithp_buffer_release(kept, 1);
        pith_scope_close(s);
        pithp_buffer_release(b, 1);
        cr_assert_eq(pith_memory_about(p.rt).live, 0);
        if (i == 1000)
            bytes = atomic_load(&pt_default_heap.bytes);
    }
    cr_assert_eq(atomic_load(&pt_default_heap.bytes), bytes);
    cr_assert(near(pith_memory_manual_proportion(p.rt), 0));
    close_pair(p);
}

Test(instance, a_closed_one_is_known_as_such) {
    const pair p = open_small("64MiB"), other = open_small("64MiB");
    pith_instance *a = automatic(p, "a");
    pt_fails(PITH_E_ARG, other.s, pith_instance_set_proportion(other.s, a, 0.5));
    pt_says("another runtime");
    pith_instance_close(a);
    pt_fails(PITH_E_ARG, p.s, pith_instance_set_proportion(p.s, a, 0.5));
    pt_says("is closed");
    pith_scope *s = pith_scope_open_on(p.rt, a);
    cr_assert_eq(pith_code(s), PITH_E_ARG);
    pith_clear(s);
    cr_assert(pith_failed(s), "nothing can be made in it");
    pith_scope_close(s);
    cr_assert_eq(pith_instance_cap(a), 0);
    cr_assert_str_eq(pith_instance_name(a), "");
    cr_assert_null(pith_instance_find(p.rt, "a"));
    pith_instance_close(pith_instance_find(p.rt, "default"));
    cr_assert_not_null(pith_instance_find(p.rt, "default"));
    close_pair(other);
    close_pair(p);
}
