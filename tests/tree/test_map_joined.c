/* Expressions over many leaves on a CUDA device that is made of host memory: one program
 * for all of them, in few launches, with the bits of the host. */
#include "../gpu/fake_cuda/fake_cuda.h"
#include "array/expression.h"
#include "pith_test.h"

#include <pith/pith.h>

enum { LEAVES = 200, MOST = 80 };

typedef struct bench {
    pith_runtime *host, *device;
    pith_scope *s, *on; /* of the host, of the device */
} bench;

static bench begin(const char *when) {
    static char directory[320];
    bench b;
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", when, 1);
    memset(&fake_cuda, 0, sizeof fake_cuda);
    b.host = pith_open(&(pith_open_options){.device = "host"});
    b.device = pith_open(&(pith_open_options){.device = "cuda"});
    b.s = pith_scope_open(b.host);
    b.on = pith_scope_open(b.device);
    pt_ok(b.on);
    cr_assert_str_eq(pith_device_name(b.device), "a fake");
    return b;
}

static void end(bench *b) {
    pith_scope_close(b->s);
    pith_scope_close(b->on);
    pith_close(b->device);
    pith_close(b->host);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

/* Leaves of some shapes; every `mixes` of them is f32, the others f64. */
static const pith_list *leaves(pith_scope *s, int mixes, double from) {
    const void *list[LEAVES];
    for (int i = 0; i < LEAVES; i++) {
        double x[MOST];
        for (int k = 0; k < MOST; k++)
            x[k] = from + i * 0.37 + k / 7.0;
        const int64_t n = 1 + i % 5 * 9;
        const pith_array *leaf = i % 11 == 0
                                     ? pith_array_copy(s, PITH_F64, PITH_SHAPE(2, n), x)
                                     : pith_array_copy(s, PITH_F64, PITH_SHAPE(n), x);
        list[i] = mixes && i % mixes == 0 ? pith_cast(s, leaf, PITH_F32) : leaf;
    }
    const pith_list *made = pith_list_make(s, LEAVES, list);
    pt_ok(s, made);
    return made;
}

static const pith_list *mapped(pith_scope *s, const char *text, int mixes) {
    static const double p[] = {0.75, -3};
    const void *trees[] = {leaves(s, mixes, 0.5), leaves(s, mixes, 2), pith_f64(s, 1.25)};
    const pith_list *made = pith_tree_map_expression(s, text, 3, trees, 2, p);
    pt_ok(s, made);
    return made;
}

static void expect_same(const bench *b, const void *want, const void *got) {
    for (int i = 0; i < LEAVES; i++) {
        const pith_array *w = pith_child(want, i), *g = pith_child(got, i);
        char x[MOST * 8], y[MOST * 8];
        const size_t bytes = pith_array_spec(w)->bytes;
        cr_assert_eq(pith_array_spec(w)->dtype, pith_array_spec(g)->dtype);
        cr_assert_eq(bytes, pith_array_spec(g)->bytes);
        pt_ok(b->s, pith_read(b->s, w, x, bytes));
        pt_ok(b->on, pith_read(b->on, g, y, bytes));
        cr_assert(memcmp(x, y, bytes) == 0, "leaf %d", i);
    }
}

static const char text[] = "(a - p[0] * b) * c + (a > 1 ? b : p[1])";

Test(map_joined, many_leaves_are_few_launches) {
    bench b = begin("wait");
    for (int mixes = 0; mixes < 4; mixes += 3)
        for (int again = 0; again < 2; again++) {
            const void *trees[] = {leaves(b.on, mixes, 0.5), leaves(b.on, mixes, 2),
                                   pith_f64(b.on, 1.25)};
            pith_wait(b.on);
            const long long before = fake_cuda.launches;
            const pith_list *made = pith_tree_map_expression(b.on, text, 3, trees, 2,
                                                             (const double[]){0.75, -3});
            pt_ok(b.on, made);
            pith_wait(b.on);
            const long long launches = fake_cuda.launches - before;
            cr_assert(launches <= 8, "%lld launches", launches);
            expect_same(&b, mapped(b.s, text, mixes), made);
        }
    cr_assert_eq(pithp_fused_cached(b.on), 2);
    end(&b);
}

/* What is mapped once has no program; what is mapped often has, made in the background.
 */
Test(map_joined, programs_are_made_for_what_comes_again) {
    bench b = begin("async");
    const pith_list *want = mapped(b.s, text, 3);
    long long launches = 0;
    for (int k = 0; k < 2000 && (k < 4 || launches > 8); k++) {
        pith_scope *own = pith_scope_open_in(b.on);
        const void *trees[] = {leaves(own, 3, 0.5), leaves(own, 3, 2),
                               pith_f64(own, 1.25)};
        pith_wait(own);
        const long long before = fake_cuda.launches;
        const pith_list *made =
            pith_tree_map_expression(own, text, 3, trees, 2, (const double[]){0.75, -3});
        pt_ok(own, made);
        launches = fake_cuda.launches - before;
        expect_same(&b, want, made);
        cr_assert_eq(pithp_fused_cached(b.on), 1);
        pith_scope_close(own);
    }
    cr_assert(launches <= 8, "%lld launches", launches);
    end(&b);
}

/* Results that no step makes, and expressions that are too long for a program. */
Test(map_joined, what_is_no_program_is_done_leaf_by_leaf) {
    bench b = begin("wait");
    static char long_text[2000] = "a";
    for (int i = 0; i < 100; i++)
        strcat(long_text, "+a*2");
    const char *const texts[] = {"a", "p[0]",  "1.5",   "-(-a)",
                                 "c", "c * 2", "a + 0", long_text};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        expect_same(&b, mapped(b.s, texts[k], 3), mapped(b.on, texts[k], 3));
    end(&b);
}

Test(map_joined, faults_of_leaves_have_their_paths) {
    bench b = begin("wait");
    const pith_list *x = leaves(b.on, 0, 1);
    const void *other[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        other[i] = i == 7 ? pith_zeros(b.on, PITH_F64, PITH_SHAPE(3)) : pith_child(x, i);
    const void *trees[] = {x, pith_list_make(b.on, LEAVES, other)};
    cr_assert(!pith_tree_map_expression(b.on, "a + b", 2, trees, 0, NULL));
    cr_assert_eq(pith_code(b.on), PITH_E_SHAPE);
    cr_assert(strstr(pith_message(b.on), "[7]"), "%s", pith_message(b.on));
    pith_clear(b.on);
    end(&b);
}

/* An allocation of a call fails: an error, after which the call succeeds, or the right
 * results. */
Test(map_joined, survives_failing_allocations, .timeout = 120) {
    bench b = begin("wait");
    const pith_list *want = mapped(b.s, text, 3);
    pith_scope_close(b.on);
    pith_close(b.device);
    bool reached = true;
    for (long long at = 1; reached; at += 1 + at / 8) {
        b.device = pt_open_on("cuda");
        b.on = pith_scope_open(b.device);
        const void *trees[] = {leaves(b.on, 3, 0.5), leaves(b.on, 3, 2),
                               pith_f64(b.on, 1.25)};
        const long long fail_at = atomic_load(&pt_default_heap.allocations) + at;
        atomic_store(&pt_default_heap.fail_at, fail_at);
        const double p[] = {0.75, -3};
        const void *made = pith_tree_map_expression(b.on, text, 3, trees, 2, p);
        reached = atomic_load(&pt_default_heap.allocations) >= fail_at;
        atomic_store(&pt_default_heap.fail_at, 0);
        if (pith_failed(b.on)) {
            cr_assert_eq(pith_code(b.on), PITH_E_MEMORY, "%s", pith_message(b.on));
            pith_clear(b.on);
            made = pith_tree_map_expression(b.on, text, 3, trees, 2, p);
        }
        pt_ok(b.on, made);
        expect_same(&b, want, made);
        pith_scope_close(b.on);
        pt_close(b.device);
    }
    pith_scope_close(b.s);
    pith_close(b.host);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

/* Whether it is evaluated leaf by leaf, as at first, or as one program. */
Test(map_joined, names_the_leaf_that_is_refused) {
    static const char *const modes[] = {"async", "wait"};
    for (int m = 0; m < 2; m++) {
        bench b = begin(modes[m]);
        const void *list[] = {pith_i64(b.on, 1), pith_i64(b.on, 2), pith_f64(b.on, 3)};
        const void *tree = pith_list_make(b.on, 3, list);
        for (int again = 0; again < 3; again++) {
            pt_fails(PITH_E_DTYPE, b.on,
                     pith_tree_map_expression(b.on, "a & 1", PITH_ITEMS(tree), 0, NULL));
            cr_assert_str_eq(pt_error.path, "[2]");
            pt_says("expected integers, got f64");
        }
        end(&b);
    }
}
