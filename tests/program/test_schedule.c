/* Schedules: command buffers for CUDA, run by the host, give the bits of the calls;
 * again with the same memory, and in every order that its edges leave open. */
#include "gpu/compile/toolchain.h"
#include "program/pass/pass.h"
#include "random_file.h"
#include "schedule_run.h"

static pithp_program *program_of(const recipe *r, bool passes) {
    pithp_program *p = recipe_program(r);
    if (!passes)
        return p;
    pithp_program *better = pithp_program_optimise(r->s, p, PITHP_PASS_ALL);
    pt_ok(r->s, better);
    pithp_program_release(p);
    return better;
}

/* Runs with outputs elsewhere each time; whether they are right. */
static bool run_recipe(schedule_run *run, const recipe *r) {
    const void *inputs[RECIPE_MOST];
    void *outputs[RECIPE_MOST];
    bool same = true;
    recipe_inputs(r, inputs);
    recipe_outputs(r, outputs);
    schedule_inputs(run, inputs, outputs);
    for (int k = 0; k < r->output_count; k++) {
        const pithp_place place = pithp_plan_output(run->plan, k);
        if (place.store == PITHP_IN_OUTPUT)
            same &= recipe_is(r, k, outputs[place.at]);
        else if (place.store == PITHP_IN_INPUT)
            same &= recipe_is(r, k, inputs[place.at]);
    }
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    return same;
}

/* Programs in which kernels chose pieces, and reduced what they made. */
static struct { int choose, reduce, both; } reached;

static void note_reached(const pithp_schedule *schedule) {
    bool choose = false, reduce = false, both = false;
    for (int64_t k = 0; k < schedule->fused_count; k++) {
        const pithp_kernel_work *work = &schedule->fused[k];
        const bool chooses = work->step->piece_count > 0,
                   reduces = work->reduction.kind != PITHP_REDUCE_KERNEL_NOTHING;
        choose |= chooses;
        reduce |= reduces;
        both |= chooses && reduces;
    }
    reached.choose += choose;
    reached.reduce += reduce;
    reached.both += both;
}

/* In the order of the list, again with the same memory, and in two others; closure: not
 * NULL where passes run first. */
static bool schedule_differs(const recipe *r, void *closure) {
    pithp_program *p = program_of(r, closure != NULL);
    schedule_run run = schedule_open(r->s, p);
    bool same = true;
    note_reached(run.schedule);
    for (uint64_t k = 0; k < 4 && same; k++) {
        run.order = k < 2 ? 0 : 17 + k;
        same = run_recipe(&run, r);
    }
    schedule_close(&run);
    pithp_program_release(p);
    return !same;
}

Test(schedule, random_programs_give_the_bits_of_the_calls, .timeout = 600) {
    static char directory[320];
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    pith_runtime *rt = pt_open();
    const int64_t programs = pt_series(60);
    for (int64_t seed = 0; seed < programs; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r =
            recipe_make_for(s, pt_series_first(777) + (uint64_t)seed,
                            12 + (int)(seed % 40), (recipe_options){.device = true});
        void *passes = seed % 2 ? s : NULL;
        if (schedule_differs(r, passes)) {
            recipe_shrink(r, schedule_differs, passes);
            recipe_fail(r, "scheduled");
        }
        recipe_free(r);
        pith_scope_close(s);
    }
    if (programs >= 60)
        cr_assert(reached.choose && reached.reduce && reached.both,
                  "%d choose pieces, %d reduce what they make, %d both", reached.choose,
                  reached.reduce, reached.both);
    pt_close(rt);
}

Test(schedule, programs_that_failed_once_give_the_bits_of_the_calls, .timeout = 600) {
    pith_runtime *rt = pt_open();
    for (recipe_files files = recipe_files_open(); recipe_files_next(&files);) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_read(s, files.path);
        for (int passes = 0; passes < 2; passes++)
            cr_assert(!schedule_differs(r, passes ? s : NULL), "%s", files.path);
        recipe_free(r);
        pith_scope_close(s);
    }
    pt_close(rt);
}

/* Independent work has no edges between, work on one memory has. */
Test(schedule, edges_are_those_of_memory) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_spec *line = pithp_spec(s, PITH_F64, 1, (const int64_t[]){100});
    pithp_program *p = pithp_program_make(s);
    pithp_value in[2], sums[2];
    for (int k = 0; k < 2; k++)
        in[k] = pithp_program_input(s, p, line);
    for (int k = 0; k < 2; k++)
        sums[k] = pithp_program_add(s, p, PITHP_OP_CUMSUM, 1, &in[k],
                                    &(pithp_scan_params){0}, "here:1");
    const pithp_value again = pithp_program_add(s, p, PITHP_OP_CUMSUM, 1, &sums[0],
                                                &(pithp_scan_params){0}, "here:1");
    for (int k = 0; k < 2; k++)
        pithp_program_output(s, p, sums[k]);
    pithp_program_output(s, p, again);
    schedule_run run = schedule_open(s, p);
    const pithp_tasks *tasks = &run.schedule->tasks;
    cr_assert(tasks->count == 4, "a bind and three scans: %lld", (long long)tasks->count);
    const int32_t expected[4][2] = {{-1, -1}, {0, -1}, {0, -1}, {0, 1}};
    for (int t = 0; t < 4; t++) {
        const pithp_task *task = &tasks->list[t];
        const int32_t count = (expected[t][0] >= 0) + (expected[t][1] >= 0);
        cr_assert(task->after_count == count, "task %d: %d", t, (int)task->after_count);
        for (int k = 0; k < count; k++)
            cr_assert(tasks->edges[task->first_after + k] == expected[t][k]);
    }
    schedule_close(&run);
    pithp_program_release(p);
    pith_scope_close(s);
    pt_close(rt);
}

/* Equal work on many leaves is one launch, whatever their sizes; work that needs what
 * comes before it is another. */
Test(schedule, equal_steps_are_one_task, .timeout = 300) {
    enum { LEAVES = 60, LARGEST = 5000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pithp_program *p = pithp_program_make(s);
    const void *inputs[LEAVES];
    void *outputs[LEAVES + 1];
    pithp_value in[LEAVES], made[LEAVES];
    for (int k = 0; k < LEAVES; k++) {
        const int64_t n = k % 7 == 3 ? LARGEST - k : 1 + k;
        double *data = malloc((size_t)n * sizeof *data);
        for (int64_t i = 0; i < n; i++)
            data[i] = (double)(k * 1000 + i) / 7;
        inputs[k] = data;
        outputs[k] = aligned_alloc(256, (LARGEST * sizeof(double) + 255) / 256 * 256);
        in[k] =
            pithp_program_input(s, p, pithp_spec(s, PITH_F64, 1, (const int64_t[]){n}));
    }
    for (int k = 0; k < LEAVES; k++) {
        const pithp_value twice[2] = {in[k], in[k]};
        const pithp_value square =
            pithp_program_add(s, p, PITHP_OP_MUL, 2, twice, NULL, "here:1");
        const pithp_value both[2] = {square, in[k]};
        made[k] = pithp_program_add(s, p, PITHP_OP_ADD, 2, both, NULL, "here:2");
        pithp_program_output(s, p, made[k]);
    }
    const pithp_value last = pithp_program_add(s, p, PITHP_OP_CUMSUM, 1, &made[9],
                                               &(pithp_scan_params){0}, "here:3");
    pithp_program_output(s, p, last);
    outputs[LEAVES] = aligned_alloc(256, 4096);
    schedule_run run = schedule_open(s, p);
    const pithp_tasks *tasks = &run.schedule->tasks;
    cr_assert(tasks->count == 3, "a bind, the leaves and a sum: %lld",
              (long long)tasks->count);
    cr_assert(tasks->list[1].many && run.schedule->many_count == 1);
    for (uint64_t order = 0; order < 3; order++) {
        run.order = order;
        schedule_inputs(&run, inputs, outputs);
        double sum = 0;
        for (int k = 0; k < LEAVES; k++)
            for (int64_t i = 0; i < (k % 7 == 3 ? LARGEST - k : 1 + k); i++) {
                const double x = ((const double *)inputs[k])[i];
                cr_assert(((double *)outputs[k])[i] == x * x + x, "leaf %d, %d", k,
                          (int)i);
                sum += k == 9 ? x * x + x : 0;
            }
        cr_assert_float_eq(((double *)outputs[LEAVES])[9], sum, 1e-6 * sum);
    }
    schedule_close(&run);
    for (int k = 0; k < LEAVES; k++) {
        free((void *)(uintptr_t)inputs[k]);
        free(outputs[k]);
    }
    free(outputs[LEAVES]);
    pithp_program_release(p);
    pith_scope_close(s);
    pt_close(rt);
}

/* The last iteration of a loop whose length is known writes where the result is. */
Test(schedule, carries_of_counted_loops_are_not_copied) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_spec *line = pithp_spec(s, PITH_F64, 1, (const int64_t[]){5});
    for (int64_t length = 0; length < 6; length++) {
        pithp_program *body = pithp_program_make(s), *p = pithp_program_make(s);
        pithp_value in[2];
        for (int k = 0; k < 2; k++)
            in[k] = pithp_program_input(s, body, line);
        pithp_program_output(
            s, body, pithp_program_add(s, body, PITHP_OP_ADD, 2, in, NULL, "here:1"));
        pithp_program_output(s, body, in[0]);
        for (int k = 0; k < 2; k++)
            in[k] = pithp_program_input(s, p, line);
        const pithp_loop_params params = {.length = length, .carries = 2, .unroll = 1};
        const pithp_new_instruction made = {.primitive = PITHP_OP_SCAN,
                                            .operand_count = 2,
                                            .operands = in,
                                            .params = &params,
                                            .program_count = 1,
                                            .programs = &body,
                                            .site = "here:2"};
        const pithp_value v = pithp_program_add_many(s, p, &made);
        pithp_program_release(body);
        pithp_program_output(s, p, v);
        pithp_program_output(s, p, v + 1);
        schedule_run run = schedule_open(s, p);
        const pithp_tasks *tasks = &run.schedule->tasks;
        if (length)
            cr_assert(tasks->list[tasks->count - 1].kind == PITHP_TASK_WHILE,
                      "%lld: something follows the loop", (long long)length);
        const double a[5] = {1, 2, 3, 4, 5}, b[5] = {3, 1, 4, 1, 5};
        double x[5], y[5], want[2][5];
        memcpy(want[0], a, sizeof a);
        memcpy(want[1], b, sizeof b);
        for (int64_t n = 0; n < length; n++)
            for (int i = 0; i < 5; i++) {
                const double sum = want[0][i] + want[1][i];
                want[1][i] = want[0][i];
                want[0][i] = sum;
            }
        for (uint64_t order = 0; order < 4; order++) {
            run.order = order;
            schedule_inputs(&run, (const void *[]){a, b}, (void *[]){x, y});
            cr_assert(!memcmp(x, want[0], sizeof x) && !memcmp(y, want[1], sizeof y),
                      "%lld iterations", (long long)length);
        }
        schedule_close(&run);
        pithp_program_release(p);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Failures ---- */

Test(schedule, what_asks_the_host_is_refused_with_the_reason) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_spec *line = pithp_spec(s, PITH_F64, 1, (const int64_t[]){5});
    const pith_spec *index = pithp_spec(s, PITH_I64, 1, (const int64_t[]){3});
    pithp_program *p = pithp_program_make(s);
    const pithp_value in[2] = {pithp_program_input(s, p, line),
                               pithp_program_input(s, p, index)};
    pithp_program_output(
        s, p,
        pithp_program_add(s, p, PITHP_OP_TAKE, 2, in,
                          &(pithp_index_params){.mode = PITHP_INDEX_ERROR}, "here:1"));
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    pithp_error e;
    cr_assert(!pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e));
    cr_assert(e.code == PITH_E_UNSUPPORTED);
    cr_assert_str_eq(e.text, "take reports to the scope that calls it");
    pt_ok(s);
    pithp_plan_free(plan);
    pithp_program_release(p);
    pith_scope_close(s);
    pt_close(rt);
}

Test(schedule, every_failure_of_memory_is_survived) {
    setenv("PITH_JIT", "off", 1);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    recipe *r = recipe_make(s, 5, 40);
    pithp_program *p = program_of(r, true);
    pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *schedule = NULL;
    for (long long at = 1; !schedule; at++) {
        pith_scope *inner = pith_scope_open_in(s);
        pithp_error e;
        atomic_store(&pt_default_heap.fail_at,
                     atomic_load(&pt_default_heap.allocations) + at);
        schedule = pithp_schedule_make(inner, plan, PITHP_GEMM_NONE, &e);
        atomic_store(&pt_default_heap.fail_at, 0);
        cr_assert(schedule || e.code == PITH_E_MEMORY, "%d: %s", e.code, e.text);
        pith_clear(inner);
        pith_scope_close(inner);
        cr_assert(at < 10000);
    }
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    pithp_program_release(p);
    recipe_free(r);
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- NVRTC ---- */

/* Bytes that registers spill, of which each kernel has its line "ptxas info : ... N bytes
 * spill stores". */
static long spilled(const char *log) {
    long bytes = 0;
    for (const char *at = strstr(log, " bytes spill stores"); at;
         at = strstr(at + 1, " bytes spill stores")) {
        const char *number = at;
        while (number > log && number[-1] >= '0' && number[-1] <= '9')
            number--;
        bytes += strtol(number, NULL, 10);
    }
    return bytes;
}

static long compile(pith_runtime *rt, const char *text, int arch, bool resources) {
    pithp_string image, log;
    pithp_error e;
    pithp_string_begin(&image, rt);
    pithp_string_begin(&log, rt);
    const pithp_compile_options options = {.name = "program", .resources = resources};
    const pith_status rc = pithp_rtc_compile(arch, text, &options, &image, &log, &e);
    cr_assert(rc == PITH_OK, "%s", rc ? e.text : "");
    cr_assert(resources || log.length == 0, "for %d: %s", arch, log.bytes);
    cr_assert(!strstr(log.bytes, "warning"), "for %d: %s", arch, log.bytes);
    cr_assert(!resources || strstr(log.bytes, "spill stores"), "%s", log.bytes);
    const long bytes = spilled(log.bytes);
    pithp_string_end(&image);
    pithp_string_end(&log);
    return bytes;
}

Test(schedule, modules_compile_for_cuda_without_a_word, .timeout = 600) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
    pith_runtime *rt = pt_open();
    const int64_t programs = pt_series(4);
    int64_t control = 0;
    long spills = 0;
    for (int64_t seed = 0; seed < programs; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make_for(s, pt_series_first(4242) + (uint64_t)seed, 24,
                                    (recipe_options){.device = true});
        pithp_program *p = program_of(r, seed % 2);
        pithp_plan *plan = pithp_plan_make_for(s, p, PITHP_PLAN_SCHEDULED);
        pithp_schedule *schedule = pithp_schedule_make(s, plan, PITHP_GEMM_NONE, &e);
        pithp_string text;
        pithp_string_begin(&text, rt);
        if (pithp_schedule_cuda_text(&text, schedule, true))
            for (int arch = 75; arch <= 90; arch += 15)
                spills += compile(rt, text.bytes, arch, arch == 90);
        control += schedule->control_count > 0;
        pithp_string_end(&text);
        pithp_schedule_free(schedule);
        pithp_plan_free(plan);
        pithp_program_release(p);
        recipe_free(r);
        pith_scope_close(s);
    }
    cr_assert(control > 0);
    cr_assert(spills == 0, "%ld bytes are spilled", spills);
    pt_close(rt);
}
