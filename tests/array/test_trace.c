/* Traced arrays: what is recorded, what runs, and what is refused, with the line that
 * made the array. */
#include "pith/pith.h"

#include "array/array_internal.h"
#include "pith_test.h"
#include "program/ir/program.h"

typedef struct tracing {
    pith_runtime *rt;
    pith_scope *outer, *s;
    pithp_trace *t;
    const pith_array *x; /* f64[3] */
} tracing;

static tracing begin(void) {
    unsetenv("PITH_HOST_ASYNC"); /* literals are folded in where streams run at once */
    tracing t = {.rt = pt_open()};
    t.outer = pith_scope_open(t.rt);
    t.s = pith_scope_open_in(t.outer);
    t.t = pithp_trace_begin(t.s);
    pt_ok(t.s, t.t);
    t.x = pithp_trace_input(t.s, t.t, pithp_spec(t.s, PITH_F64, 1, (int64_t[]){3}));
    pt_ok(t.s, t.x);
    return t;
}
static void end_trace(tracing *t) {
    pithp_program_release(pithp_trace_end(t->s, t->t));
    t->t = NULL;
}
static void end(tracing *t) {
    if (t->t)
        end_trace(t);
    pith_scope_close(t->s);
    pith_scope_close(t->outer);
    pt_close(t->rt);
}
static const char *text_of(const tracing *t) {
    static char copy[4096];
    pithp_string text;
    pithp_string_begin(&text, t->rt);
    pithp_program_text(t->t->program, &text);
    snprintf(copy, sizeof copy, "%s", text.bytes);
    pithp_string_end(&text);
    return copy;
}

Test(trace, calls_on_traced_arrays_are_recorded_and_others_run) {
    tracing t = begin();
    const pith_array *two = pith_add(t.s, pith_f64(t.s, 1), pith_f64(t.s, 1));
    cr_assert(!pith_is_traced(two) && pith_read_f64(t.s, two) == 2);
    const pith_array *y = pith_mul(t.s, t.x, two);
    pt_ok(t.s, y);
    cr_assert(pith_is_traced(y));
    const pith_array *zeros = pith_zeros(t.s, PITH_F64, PITH_SHAPE(3));
    cr_assert(pith_is_traced(zeros));
    cr_assert(!strcmp(text_of(&t), "program(%0: f64[3]) {\n"
                                   "  %1 = constant f64[] 2\n"
                                   "  %2 = mul %0, %1 : f64[3]\n"
                                   "  %3 = full {dtype=f64, shape=[3]} : f64[3]\n"
                                   "  return\n"
                                   "}\n"),
              "%s", text_of(&t));
    end(&t);
}

Test(trace, values_are_not_there_yet) {
    tracing t = begin();
    double values[3];
    const pith_array *y = pith_square(t.s, t.x);
    pt_fails(PITH_E_TRACED, t.s, pith_read(t.s, y, values, sizeof values));
    pt_says("test_trace.c:");
    pt_says("has no value yet");
    pt_fails(PITH_E_TRACED, t.s, pith_read_f64(t.s, pith_sum(t.s, y, PITH_ALL_AXES)));
    pt_fails(PITH_E_TRACED, t.s, pith_save(t.s, y, "/nonexistent/never.json", NULL));
    end(&t);
}

Test(trace, what_leaks_says_where_it_was_made) {
    tracing t = begin();
    const pith_array *y = pith_square(t.s, t.x);
    char site[64];
    snprintf(site, sizeof site, "test_trace.c:%d", __LINE__ - 2);
    pt_fails(PITH_E_TRACED, t.outer, pith_neg(t.outer, y));
    pt_says(site);
    pt_says("outside its trace: use the scope of the function");
    pt_fails(PITH_E_TRACED, t.outer, pith_keep(t.outer, y));
    pt_says("cannot be moved out of its trace");
    end_trace(&t);
    pith_scope *s = pith_scope_open(t.rt);
    pt_fails(PITH_E_TRACED, s, pith_neg(s, y));
    pt_says(site);
    pt_says("its trace has ended");
    pt_fails(PITH_E_TRACED, s, pith_keep(s, y));
    pt_fails(PITH_E_TRACED, t.s, pith_neg(t.s, y));
    cr_assert(pith_is_traced(y));
    pith_scope_close(s);
    end(&t);
}

Test(trace, of_another_trace_is_refused) {
    tracing t = begin();
    pith_scope *other = pith_scope_open(t.rt);
    pithp_trace *second = pithp_trace_begin(other);
    const pith_array *y = pithp_trace_input(other, second, pith_array_spec(t.x));
    pt_fails(PITH_E_TRACED, t.s, pith_add(t.s, t.x, y));
    pt_says("belongs to another trace");
    pt_ok(other, pith_add(other, y, y));
    pithp_program_release(pithp_trace_end(other, second));
    pith_scope_close(other);
    end(&t);
}

Test(trace, tombstones_go_when_many_traces_ended) {
    tracing t = begin();
    const pith_array *y = pith_square(t.s, t.x);
    end_trace(&t);
    for (int k = 0; k < 40; k++) {
        pith_scope *s = pith_scope_open(t.rt);
        pithp_trace *more = pithp_trace_begin(s);
        pt_ok(s, more);
        pithp_program_release(pithp_trace_end(s, more));
        pith_scope_close(s);
    }
    pith_neg(t.s, y);
    cr_assert(pith_failed(t.s));
    pith_clear(t.s);
    end(&t);
}

/* Other threads end traces meanwhile. */
Test(trace, results_last_until_the_scope_of_the_trace_closes) {
    tracing t = begin();
    const pith_array *y = pith_square(t.s, t.x);
    end_trace(&t);
    const pith_list *list[40];
    for (int k = 0; k < 40; k++) {
        pith_scope *s = pith_scope_open(t.rt);
        pithp_trace *more = pithp_trace_begin(s);
        pt_ok(s, more);
        const pith_array *x = pithp_trace_input(s, more, pith_array_spec(t.x));
        list[k] = pith_list_make(s, PITH_ITEMS(x, x));
        pt_ok(s, list[k]);
        pithp_program_release(pithp_trace_end(s, more));
        pith_scope_close(s);
        cr_assert(pith_is_traced(y), "trace %d", k);
        cr_assert_eq(pith_array_spec(y), pith_array_spec(t.x));
    }
    pt_fails(PITH_E_TRACED, t.s, pith_neg(t.s, y));
    pt_says("its trace has ended");
    end(&t);
}

Test(trace, trees_hold_traced_leaves) {
    tracing t = begin();
    const pith_list *list =
        pith_list_make(t.s, PITH_ITEMS(t.x, pith_square(t.s, t.x), pith_f64(t.s, 1)));
    pt_ok(t.s, list);
    const char *text = pith_tree_text(t.s, list, NULL);
    pt_ok(t.s, text);
    cr_assert(strstr(text, "f64[3]"), "%s", text);
    text = pith_tree_text(t.s, list, &(pith_print_options){.values = true});
    pt_ok(t.s, text);
    pt_fails(PITH_E_TRACED, t.outer, pith_keep(t.outer, list));
    end(&t);
}

Test(trace, large_constants_are_kept_and_small_ones_copied) {
    tracing t = begin();
    static double numbers[2000];
    pith_scope *inner = pith_scope_open_in(t.s);
    const pith_array *large = pith_array_copy(inner, PITH_F64, PITH_SHAPE(2000), numbers);
    const pith_array *small = pith_array_copy(inner, PITH_F64, PITH_SHAPE(3), numbers);
    pith_mul(inner, pith_sum(inner, t.x, PITH_ALL_AXES), large);
    pith_mul(inner, t.x, small);
    pt_ok(inner);
    pith_scope_close(inner);
    const pithp_program *p = t.t->program;
    cr_assert(p->constant_count == 2);
    cr_assert(p->constants[0].buffer && !p->constants[1].buffer);
    cr_assert(((const double *)p->constants[0].data)[1999] == 0);
    end(&t);
}

static void *trace_often(void *rt) {
    for (int k = 0; k < 60; k++) {
        pith_scope *s = pith_scope_open(rt);
        pithp_trace *t = pithp_trace_begin(s);
        const pith_array *x =
            pithp_trace_input(s, t, pithp_spec(s, PITH_F64, 1, (int64_t[]){3}));
        for (int i = 0; i < 50; i++)
            x = pith_add(s, x, pith_f64(s, i));
        const bool failed = pith_failed(s);
        pithp_program_release(pithp_trace_end(s, t));
        pith_scope_close(s);
        if (failed)
            return NULL;
    }
    return rt;
}

Test(trace, threads_trace_side_by_side) {
    pith_runtime *rt = pt_open();
    pthread_t threads[4];
    for (int k = 0; k < 4; k++)
        cr_assert(pthread_create(&threads[k], NULL, trace_often, rt) == 0);
    for (int k = 0; k < 4; k++) {
        void *done = NULL;
        pthread_join(threads[k], &done);
        cr_assert(done == rt);
    }
    pt_close(rt);
}

Test(trace, every_failure_of_memory_is_survived) {
    pith_runtime *rt = pt_open();
    pith_scope *outer = pith_scope_open(rt);
    bool failed = true;
    for (long long at = 1; failed; at++) {
        pith_scope *s = pith_scope_open_in(outer);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        pithp_trace *t = pithp_trace_begin(s);
        const pith_array *x =
            t ? pithp_trace_input(s, t, pithp_spec(s, PITH_F64, 1, (int64_t[]){3}))
              : NULL;
        for (int k = 0; k < 40; k++)
            x = pith_add(s, x, pith_square(s, x));
        failed = pith_failed(s);
        atomic_store(&pt_default_heap.fail_at, 0);
        if (t)
            pithp_program_release(pithp_trace_end(s, t));
        pith_clear(s);
        pith_scope_close(s);
        failed |= pith_failed(outer); /* there was no memory for the scope itself */
        pith_clear(outer);
    }
    pith_scope_close(outer);
    pt_close(rt);
}
