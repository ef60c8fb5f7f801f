/* Programs of compiled functions: how long they are kept, who shares them, why there is a
 * new one, and what they look like. */
#include "gpu/compile/compile_internal.h"
#include "jit_test.h"

/* ---- Bounds ---- */

Test(programs, the_programs_used_longest_ago_go_first, .init = open_scope) {
    const Sim *sim = some_sim(2);
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    pith_jit_set_limits(rt, 3, 0);
    for (int64_t w = 1; w <= 3; w++)
        pith_apply(s, f, with_width(sim, w));
    pith_apply(s, f, with_width(sim, 1)); /* 2 is the oldest now */
    pith_apply(s, f, with_width(sim, 4));
    pith_jit_info info = pith_jit_about(rt);
    cr_assert(runs == 4 && info.programs == 3 && info.evictions == 1);
    pith_apply(s, f, with_width(sim, 1));
    pith_apply(s, f, with_width(sim, 3));
    pith_apply(s, f, with_width(sim, 4));
    cr_assert(runs == 4);
    pith_apply(s, f, with_width(sim, 2));
    cr_assert(runs == 5);
    pith_jit_set_limits(rt, 0, 1);
    info = pith_jit_about(rt);
    cr_assert(info.programs == 1, "the newest one stays");
    cr_assert(
        element(((const Sim *)pith_apply(s, f, with_width(sim, 2)))->atoms->position,
                0) == 1);
    cr_assert(runs == 5);
    pith_jit_set_limits(rt, 0, 0);
    for (int64_t w = 1; w <= 20; w++)
        pith_apply(s, f, with_width(sim, w));
    cr_assert(pith_jit_about(rt).programs == 20);
    close_scope();
}

Test(programs, code_goes_with_what_is_cleared) {
    setenv("PITH_JIT", "wait", 1);
    open_scope();
    const Sim *sim = some_sim(2);
    pith_apply(s, pith_jit(s, &drift_step, NULL), sim);
    cr_assert(pithp_compile_counted(rt).evicted == 0);
    pith_jit_clear(rt);
    cr_assert(pithp_compile_counted(rt).evicted == 1);
    close_scope();
}

Test(programs, code_goes_with_what_is_thrown_out) {
    setenv("PITH_JIT", "wait", 1);
    open_scope();
    const pith_array *x = pith_f64(s, 2);
    const pith_function *f = pith_jit(
        s, &power_function, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    size_t bytes[2];
    pith_jit_set_limits(rt, 2, 0);
    for (int k = 1; k <= 6; k++) { /* each of another text */
        cr_assert(element(pith_apply(s, f, x, pith_i64(s, k)), 0) == 1 << k);
        bytes[k > 1] = pith_jit_about(rt).bytes;
        cr_assert_eq(pithp_compile_counted(rt).evicted, k > 2 ? k - 2 : 0);
    }
    cr_assert_gt(bytes[1], bytes[0] + 4096, "that of two modules");
    pith_jit_set_limits(rt, 1, 0);
    cr_assert_eq(pithp_compile_counted(rt).evicted, 5);
    cr_assert(element(pith_apply(s, f, x, pith_i64(s, 1)), 0) == 2,
              "it is found on the disk");
    close_scope();
}

Test(programs, a_compiled_function_can_be_kept, .init = open_scope) {
    const Sim *sim = some_sim(2);
    pith_scope *inner = pith_scope_open_in(s);
    const pith_function *f = pith_keep(
        s, pith_jit(inner, pith_partial(inner, &power_function, pith_i64(inner, 2)),
                    &(pith_jit_options){.static_paths = PITH_PATHS("[0]")}));
    const pith_function *g = pith_keep(s, pith_jit(inner, &drift_step, NULL));
    pt_ok(s, f && g);
    pith_scope_close(inner);
    pith_apply(s, g, sim);
    pith_apply(s, g, sim);
    cr_assert(runs == 1);
    pt_fails(PITH_E_TRACED, s, pith_apply(s, f, pith_f64(s, 2)));
    close_scope();
}

/* ---- Memory and threads ---- */

Test(programs, every_failure_of_memory_is_survived, .init = open_scope) {
    setenv("PITH_JIT", "off", 0); /* a compiler in the background allocates, too */
    const Sim *sim = some_sim(2);
    bool failed = true;
    for (long long at = 1; failed; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        const pith_function *f = pith_jit(inner, &drift_step, NULL);
        const Sim *next = f ? pith_apply(inner, f, sim) : NULL;
        if (f && next && next->atoms)
            next = pith_apply(inner, f, next);
        failed = pith_failed(inner);
        cr_assert(!failed || pith_code(inner) == PITH_E_MEMORY, "%s",
                  pith_message(inner));
        atomic_store(&pt_default_heap.fail_at, 0);
        if (!failed)
            cr_assert(element(next->atoms->position, 0) == 4);
        pith_clear(inner);
        pith_scope_close(inner);
        failed |= pith_failed(s);
        pith_clear(s);
        pith_jit_clear(rt);
    }
    close_scope();
}

typedef struct {
    pith_runtime *rt;
    int k;
    bool good;
} worker;

static const pith_array *poly(pith_scope *in, const pith_array *x, const Sim *sim) {
    return pith_add(in, pith_mul(in, x, x), pith_f64(in, (double)sim->width));
}
PITH_FUNCTION2(poly_function, poly, pith_array, pith_array, Sim)

static void *work(void *closure) {
    worker *w = closure;
    pith_scope *in = pith_scope_open(w->rt);
    const pith_function *f = pith_jit(in, &poly_function, NULL);
    w->good = true;
    for (int k = 0; k < 300 && w->good; k++) {
        pith_scope *inner = pith_scope_open_in(in);
        Sim sim = pith_initial(Sim);
        sim.width = (k + w->k) % 7;
        sim.count = pith_i32(inner, 0);
        sim.atoms = pith_make(inner, Atoms, NULL, PITH_EXTENTS({"n", 1}));
        const void *given[] = {pith_f64(inner, k), pith_freeze(inner, Sim, &sim)};
        const pith_array *y = pith_call(inner, f, 2, given);
        w->good = pith_read_f64(inner, y) == (double)(k * k + sim.width);
        if (k % 50 == 49)
            pith_jit_clear(w->rt);
        w->good &= !pith_failed(inner);
        pith_scope_close(inner);
    }
    pith_scope_close(in);
    return NULL;
}

Test(programs, threads_share_programs, .init = open_scope) {
    pith_jit_set_limits(rt, 5, 0);
    pthread_t threads[4];
    worker workers[4];
    for (int k = 0; k < 4; k++) {
        workers[k] = (worker){.rt = rt, .k = k};
        cr_assert(pthread_create(&threads[k], NULL, work, &workers[k]) == 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        cr_assert(workers[k].good);
    }
    close_scope();
}

Test(programs, shapes_are_held_and_let_go, .init = open_scope) {
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    const int64_t before = pithp_node_def_count(rt);
    for (int64_t w = 100; w < 120; w++) {
        pith_scope *inner = pith_scope_open_in(s);
        Sim sim = pith_initial(Sim);
        sim.width = w;
        sim.count = pith_i32(inner, 0);
        sim.atoms = pith_make(inner, Atoms, NULL, PITH_EXTENTS({"n", 1}));
        pith_apply(inner, f, pith_freeze(inner, Sim, &sim));
        pt_ok(inner);
        pith_scope_close(inner);
    }
    cr_assert(pithp_node_def_count(rt) >= before + 20);
    pith_jit_clear(rt);
    cr_assert(pithp_node_def_count(rt) <= before + 3);
    close_scope();
}

/* ---- Explanations ---- */

#define EXPLAINS(f, text)                                                                \
    do {                                                                                 \
        const char *why_ = pith_explain_miss(s, f);                                      \
        pt_ok(s, why_);                                                                  \
        cr_assert_str_eq(why_, text);                                                    \
    } while (0)

static int traces_heard;
static char heard[256];
static void hear_traces(pith_log_level level, const char *line, void *closure) {
    (void)closure;
    if (level != PITH_LOG_DEBUG || !strstr(line, " was traced in "))
        return;
    traces_heard++;
    snprintf(heard, sizeof heard, "%.255s", line);
}

Test(programs, the_log_hook_is_told_of_traces, .init = open_scope) {
    const Sim *sim = some_sim(4);
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    pith_apply(s, f, sim);
    pith_set_log_hook(rt, hear_traces, NULL);
    pith_apply(s, f, sim);
    cr_assert(traces_heard == 0);
    pith_apply(s, f, with_width(sim, 8));
    cr_assert(traces_heard == 1 && !strncmp(heard, "drift was traced in ", 20), "%s",
              heard);
    cr_assert(strstr(heard, " ms: [0].width: was 4, is 8"), "%s", heard);
    pith_set_log_hook(rt, NULL, NULL);
    close_scope();
}

Test(programs, misses_are_explained, .init = open_scope) {
    const Sim *sim = some_sim(4);
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    EXPLAINS(f, "");
    pith_apply(s, f, sim);
    EXPLAINS(f, "drift: no program was cached");
    pith_apply(s, f, with_width(sim, 8));
    EXPLAINS(f, "[0].width: was 4, is 8");
    pith_apply(s, f, sim);
    EXPLAINS(f, "[0].width: was 4, is 8");
    pith_apply(s, f, some_sim(5));
    EXPLAINS(f, "[0].atoms.position: was f64[4,3], is f64[5,3]\n"
                "[0].atoms.velocity: was f64[4,3], is f64[5,3]");
    pith_scope_set_validation(s, false);
    pith_apply(s, f, some_sim(5));
    pith_scope_set_validation(s, true);
    EXPLAINS(f, "hooks of records are suspended");
    pith_apply(s, f, some_sim(5));
    pith_as_result(s, f, PITH_ITEMS(some_sim(5)));
    EXPLAINS(f, "checks are collected");
    pith_as_result(s, f, PITH_ITEMS(sim)); /* was called uncollected, long ago */
    EXPLAINS(f, "checks are collected");
    pith_jit_clear(rt);
    pith_apply(s, f, sim);
    EXPLAINS(f, "drift: no program was cached");
    pt_fails(PITH_E_ARG, s, pith_explain_miss(s, &drift_step));
    pt_says("drift was not made by pith_jit");
    close_scope();
}

Test(programs, misses_of_long_texts_are_explained, .init = open_scope) {
    char text[2][128];
    Sim sim = *some_sim(4);
    const pith_function *f = pith_jit(s, &drift_step, NULL);
    for (int k = 0; k < 2; k++) {
        memset(text[k], '0', 99);
        strcpy(text[k] + 99, k ? "2.json" : "1.json");
        sim.name = text[k];
        pith_apply(s, f, pith_freeze(s, Sim, &sim));
    }
    EXPLAINS(f, "[0].name: was '...0000000000000001.json', is "
                "'...0000000000000002.json'");
    close_scope();
}

static const pith_array *last_of(pith_scope *in, const void *list) {
    (void)in;
    runs++;
    return pith_child(list, pith_child_count(list) - 1);
}
PITH_FUNCTION1(last_function, last_of, pith_array, void)

Test(programs, misses_of_containers_and_static_leaves_are_explained, .init = open_scope) {
    const pith_array *x = pith_f64(s, 2);
    const pith_function *f = pith_jit(s, &none_function, NULL);
    pith_apply(s, f, pith_list_make(s, PITH_ITEMS(x, x)));
    pith_apply(s, f, pith_list_make(s, PITH_ITEMS(x, x, x)));
    EXPLAINS(f, "[0]: was a list of 2, is a list of 3");
    pith_apply(s, f, x);
    EXPLAINS(f, "[0]: was a list of 3, is an array");
    const void *values[] = {x, x};
    pith_apply(s, f, pith_dict_make(s, 2, (const char *[]){"a", "b"}, values));
    pith_apply(s, f, pith_dict_make(s, 2, (const char *[]){"a", "c"}, values));
    EXPLAINS(f, "[0]: missing key 'b', unexpected key 'c'");
    const pith_function *g = pith_jit(
        s, &power_function, &(pith_jit_options){.static_arguments = PITH_ARGUMENT(1)});
    pith_apply(s, g, x, pith_i64(s, 2));
    pith_apply(s, g, x, pith_i64(s, 3));
    EXPLAINS(g, "[1]: the static leaf was 2, is 3");
    const int64_t large = (int64_t)1 << 53;
    pith_apply(s, g, x, pith_i64(s, -large));
    pith_apply(s, g, x, pith_i64(s, -large - 1));
    EXPLAINS(g, "[1]: the static leaf was -9007199254740992, is -9007199254740993");
    const pith_function *last = pith_jit(
        s, &last_function, &(pith_jit_options){.static_paths = PITH_PATHS("[0][1]")});
    const double zeros[2][3] = {{1, 0.0, 2}, {1, -0.0, 2}};
    const pith_array *v[2];
    for (int i = 0; i < 2; i++)
        v[i] = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), zeros[i]);
    runs = 0;
    pith_apply(s, last, pith_list_make(s, PITH_ITEMS(v[0], v[0])));
    pith_apply(s, last, pith_list_make(s, PITH_ITEMS(v[1], v[0])));
    cr_assert(runs == 1, "the array at [0][0] is not static where it is that at [0][1]");
    pith_apply(s, last, pith_list_make(s, PITH_ITEMS(v[1], v[1])));
    EXPLAINS(last, "[0][1]: the static leaf's element 1 was 0, is -0");
    const pith_array *many[40];
    for (int i = 0; i < 40; i++)
        many[i] = x;
    pith_apply(s, f, pith_list_make(s, 40, (const void *const *)many));
    for (int i = 0; i < 40; i++)
        many[i] = pith_i32(s, 1);
    pith_apply(s, f, pith_list_make(s, 40, (const void *const *)many));
    const char *why = pith_explain_miss(s, f);
    cr_assert(strstr(why, "[0][7]: was f64[], is i32[]\nand 32 more"), "%s", why);
    close_scope();
}

/* ---- Looking at programs ---- */

static const pith_array *cube(pith_scope *in, const pith_array *x) {
    const pith_array *unused = pith_exp(in, x);
    (void)unused;
    const pith_array *square = pith_mul(in, x, x);
    return pith_mul(in, square, x);
}
PITH_FUNCTION1(cube_function, cube, pith_array, pith_array)

static const pith_array *add_large(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, pith_i64(in, ((int64_t)1 << 53) + 1));
}
PITH_FUNCTION1(add_large_function, add_large, pith_array, pith_array)

Test(programs, integers_are_shown_exactly, .init = open_scope) {
    const pith_array *x = pith_i64(s, 0);
    const char *text = pith_program_text(s, &add_large_function, PITH_ITEMS(x));
    pt_ok(s, text);
    cr_assert(strstr(text, "constant i64[] 9007199254740993\n"), "%s", text);
    close_scope();
}

Test(programs, programs_can_be_read_and_priced, .init = open_scope) {
    const pith_array *x = pith_arange(s, PITH_F64, 100);
    const void *given[] = {x};
    const char *text = pith_program_text(s, &cube_function, 1, given);
    pt_ok(s, text);
    cr_assert_str_eq(text, "program(%0: f64[100]) {\n"
                           "  %1 = mul %0, %0 : f64[100]\n"
                           "  %2 = mul %1, %0 : f64[100]\n"
                           "  return %2\n"
                           "}\n");
    const pith_function *f = pith_jit(s, &cube_function, NULL);
    const pith_program_costs costs = pith_program_cost(s, f, 1, given);
    pt_ok(s);
    cr_assert(costs.instructions == 2 && costs.launches == 1 && costs.operations == 200);
    cr_assert(costs.input_bytes == 800 && costs.output_bytes == 800);
    cr_assert(costs.workspace_bytes == 0 && costs.program_bytes > 0);
    FILE *out = tmpfile();
    pith_program_print(s, f, 1, given, out);
    pt_ok(s);
    char line[64];
    rewind(out);
    cr_assert(fgets(line, sizeof line, out) &&
              !strcmp(line, "program(%0: f64[100]) {\n"));
    fclose(out);
    cr_assert(pith_jit_about(rt).programs == 1, "one for all of them");
    pt_fails(PITH_E_TYPE, s, pith_program_text(s, &drift_step, 1, given));
    pt_fails(PITH_E_ARG, s, pith_program_text(s, f, 2, given));
    close_scope();
}
