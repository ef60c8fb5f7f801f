/* Functions that are traced, run by plans, and whose checks are made again: the way of a
 * compiled function, step by step. */
#ifndef RECORD_TEST_H
#define RECORD_TEST_H

#include "assert/recorded.h"
#include "assert_test.h"
#include "program/exec/executable.h"
#include "program/pass/pass.h"

enum { RT_MOST = 64 };

/* A function of arrays, for both ways. */
typedef const pith_array *(*rt_function)(pith_scope *s, const pith_array *const *x);

typedef struct {
    pithp_program *program;
    pithp_executable *exe;
    pithp_checks *checks;
    int inputs;
} rt_compiled;

/* Trace f in a scope that collects as s does. */
static PT_UNUSED rt_compiled rt_compile(pith_scope *s,
                                        rt_function f,
                                        int count,
                                        const pith_array *const *like) {
    rt_compiled c = {.inputs = count};
    pith_scope *inner = pith_scope_open_in(s);
    const pith_array *traced[RT_MOST];
    pithp_trace *t = pithp_trace_begin(inner);
    for (int i = 0; i < count; i++)
        traced[i] = pithp_trace_input(inner, t, pithp_array_spec(like[i]));
    const pith_array *result = f(inner, traced);
    pt_ok(inner, result);
    pithp_program_output(inner, t->program, pithp_trace_value(inner, t, result));
    cr_assert(pithp_checks_take(inner, t, false, &c.checks));
    pithp_program *p = pithp_trace_end(inner, t);
    pith_scope_close(inner);
    c.program = pithp_program_optimise(s, p, PITHP_PASS_ALL);
    pithp_program_release(p);
    pithp_refusal why;
    cr_assert(pithp_program_verify(c.program, &why) == PITH_OK, "%s", why.text);
    c.exe = pithp_executable_make(s, c.program, true);
    pt_ok(s, c.exe);
    return c;
}

/* Output k of a run, in s. */
static PT_UNUSED const pith_array *rt_output(pith_scope *s,
                                             const rt_compiled *c,
                                             int64_t k,
                                             const pith_array *const *x,
                                             const pith_array *const *made) {
    const pithp_place place = pithp_plan_output(c->exe->plan, k);
    const pith_spec *spec = pithp_value_spec(c->program, c->program->outputs[k]);
    if (place.store == PITHP_IN_CONSTANT) {
        const pithp_constant *constant = &c->program->constants[place.at];
        return pithp_array_view(s, spec, constant->buffer,
                                (void *)(uintptr_t)constant->data);
    }
    if (place.store == PITHP_IN_LITERALS)
        return pithp_array_view(s, spec, c->exe->plan->literals,
                                (char *)c->exe->plan->literals->data + place.at);
    const pith_array *from = place.store == PITHP_IN_INPUT ? x[place.at] : made[place.at];
    return pithp_array_view(s, spec, pithp_array_buffer(from), from->data);
}

/* Run it; the values of its checks, which belong to s; returns the result. */
static PT_UNUSED const pith_array *rt_values(pith_scope *s,
                                             const rt_compiled *c,
                                             const pith_array *const *x,
                                             const pith_array **values) {
    const int64_t outputs = c->program->output_count;
    const pith_array *made[RT_MOST];
    const void *inputs[RT_MOST];
    void *data[RT_MOST] = {0};
    cr_assert(outputs <= RT_MOST && outputs == 1 + pithp_checks_values(c->checks));
    for (int i = 0; i < c->inputs; i++)
        inputs[i] = x[i]->data;
    for (int64_t k = 0; k < outputs; k++) {
        made[k] =
            pithp_array_make(s, pithp_value_spec(c->program, c->program->outputs[k]));
        data[k] = made[k]->data;
    }
    pithp_executable_run(s, c->exe, inputs, data);
    const pith_array *result = rt_output(s, c, 0, x, made);
    for (int64_t k = 1; k < outputs; k++)
        values[k - 1] = rt_output(s, c, k, x, made);
    pt_ok(s);
    for (int64_t k = 0; k < outputs; k++)
        pithp_array_drop(s, made[k]);
    return result;
}

/* The checks of values that a run gave. */
static PT_UNUSED void
rt_make_checks(pith_scope *s, const rt_compiled *c, const pith_array *const *values) {
    pithp_held held[RT_MOST];
    for (int64_t k = 0; k < pithp_checks_values(c->checks); k++)
        held[k] = (pithp_held){values[k]->data, pithp_array_buffer(values[k])};
    pithp_checks_make(s, c->checks, &(pithp_run_values){.apart = held});
}

static PT_UNUSED const pith_array *
rt_run(pith_scope *s, const rt_compiled *c, const pith_array *const *x) {
    const pith_array *values[RT_MOST];
    const pith_array *result = rt_values(s, c, x, values);
    rt_make_checks(s, c, values);
    for (int64_t k = 0; k < pithp_checks_values(c->checks); k++)
        pithp_array_drop(s, values[k]);
    return result;
}

static PT_UNUSED void rt_free(rt_compiled *c) {
    pithp_executable_free(c->exe);
    pithp_program_release(c->program);
    pithp_checks_release(c->checks);
}

/* Two collections say the same. */
static PT_UNUSED void
rt_same(pith_scope *s, const pith_result *want, const pith_result *got) {
    pt_ok(s, want && got);
    cr_assert(pith_result_all_pass(s, want) == pith_result_all_pass(s, got));
    const int64_t count = pith_result_count(s, want);
    cr_assert(count == pith_result_count(s, got), "%lld, expected %lld",
              (long long)pith_result_count(s, got), (long long)count);
    for (int64_t i = 0; i < count; i++) {
        const pith_assertion *a = pith_result_get(s, want, i);
        const pith_assertion *b = pith_result_get(s, got, i);
        cr_assert_str_eq(pith_assertion_message(s, b), pith_assertion_message(s, a));
        cr_assert_str_eq(pith_assertion_path(b), pith_assertion_path(a));
        cr_assert_str_eq(pith_assertion_site(b), pith_assertion_site(a));
        cr_assert(pith_assertion_code(b) == pith_assertion_code(a));
        cr_assert(pith_assertion_first(b) == pith_assertion_first(a));
        cr_assert(pith_assertion_fixable(b) == pith_assertion_fixable(a));
        cr_assert(pith_assertion_passed(b) == pith_assertion_passed(a));
    }
}

/* Collect what f checks, at once and compiled, for two inputs of the same specs: they say
 * the same. The program is made with the first one. */
static PT_UNUSED void rt_same_checks(pith_scope *s,
                                     rt_function f,
                                     int count,
                                     const pith_array *const *first,
                                     const pith_array *const *second) {
    pith_collect_begin(s);
    rt_compiled c = rt_compile(s, f, count, first);
    pith_collect_end(s, NULL);
    for (int k = 0; k < 2; k++) {
        const pith_array *const *x = k ? second : first;
        pith_collect_begin(s);
        const pith_array *y = f(s, x);
        const pith_result *want = pith_collect_end(s, y);
        pith_collect_begin(s);
        const pith_array *z = rt_run(s, &c, x);
        const pith_result *got = pith_collect_end(s, z);
        rt_same(s, want, got);
        cr_assert(pith_tree_equal(s, pith_result_value(want), pith_result_value(got)));
    }
    rt_free(&c);
    pt_ok(s);
}

#endif
