/* Fused kernels for devices: their texts compile for CUDA without a word, and, behind the
 * host's prologue, give the bits of the interpreter, launch by launch. The first is
 * skipped where NVRTC is not installed. */
#include "gpu/compile/toolchain.h"
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/math/link.h"
#include "program/pass/pass.h"
#include "random_program.h"

enum { STEPS = RECIPE_MOST };

static pithp_plan *plan_of(const recipe *r, bool passes) {
    pithp_program *p = recipe_program(r);
    if (passes) {
        pithp_program *better = pithp_program_optimise(r->s, p, PITHP_PASS_ALL);
        pithp_program_release(p);
        p = better;
    }
    setenv("PITH_JIT", "off", 1);
    pithp_plan *plan = pithp_plan_make(r->s, p, true);
    pt_ok(r->s, plan);
    pithp_program_release(p);
    return plan;
}

/* ---- On the host ---- */

static void
run_kernel(const pithp_running *r, int64_t k, int32_t number, pithp_module *m) {
    const pithp_step *step = &r->plan->steps[k];
    pithp_fused_args args = {.op_count = 0};
    memcpy(&args, step->fused, pithp_fused_bytes(step->fused));
    _Alignas(8) char memory[PITHP_KERNEL_BYTES];
    char name[PITHP_STEP_NAME_BYTES];
    for (int e = 0; e < args.external_count; e++)
        args.externals[e].data = (char *)pithp_address(r, step->external[e]) +
                                 step->offset[e] * args.externals[e].size;
    pithp_launch launch = {.grain = 512};
    pithp_kernel_launch(&launch, &args, step->spec->count, memory);
    pithp_step_name(name, number);
    pithp_module_find(r->s, m, name, &launch);
    pt_ok(r->s);
    pithp_launch_run(r->s, &launch);
}

static void run_call(const pithp_running *r, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    for (int k = 0; k < i->operand_count; k++)
        r->pointers[k] = pithp_address(r, pithp_operands(r->plan->program, i)[k]);
    const pithp_memory memory = {
        .operands = r->pointers,
        .result = pithp_address(r, i->result),
        .temporary = step->temporary_bytes ? r->workspace + step->temporary : NULL};
    pithp_run(r->s, &call, step->spec, &memory);
}

/* What the list of launches gives is what the calls give. */
static bool is_right(const recipe *r,
                     const pithp_plan *plan,
                     pithp_module *m,
                     const int32_t *functions) {
    const void *inputs[RECIPE_MOST];
    const void **pointers = malloc(plan->pointer_count * sizeof *pointers + 1);
    void *outputs[RECIPE_MOST];
    int count = 0;
    bool right = true;
    for (int k = 0; k < r->count; k++)
        if (r->list[k].kind == RECIPE_INPUT)
            inputs[count++] = r->list[k].data;
    for (int k = 0; k < r->output_count; k++)
        outputs[k] = malloc(r->list[r->outputs[k]].spec->bytes + 64);
    const pithp_running run = {.s = r->s,
                               .plan = plan,
                               .inputs = inputs,
                               .outputs = outputs,
                               .workspace =
                                   aligned_alloc(256, plan->workspace_bytes + 256),
                               .passed = pointers,
                               .pointers = pointers + plan->passed_count};
    for (int64_t k = 0; k < plan->step_count; k++)
        if (plan->steps[k].fused)
            run_kernel(&run, k, functions[k], m);
        else if (plan->steps[k].plans)
            pithp_run_control(&run, &plan->steps[k]);
        else if (plan->steps[k].kernel)
            pithp_run_kernel(&run, &plan->steps[k]);
        else
            run_call(&run, &plan->steps[k]);
    pt_ok(r->s);
    pith_wait(r->s);
    for (int k = 0; k < r->output_count; k++) {
        const ingredient *x = &r->list[r->outputs[k]];
        if (plan->places[plan->program->outputs[k]].store == PITHP_IN_PASSED)
            pithp_settle(&run, k);
        const pithp_place place = pithp_plan_output(plan, k);
        if (place.store == PITHP_IN_OUTPUT)
            right &= recipe_same(x->spec, outputs[place.at], x->data);
    }
    for (int k = 0; k < r->output_count; k++)
        free(outputs[k]);
    free(run.workspace);
    free(pointers);
    return right;
}

Test(emit_device, launches_on_the_host_give_the_bits_of_the_calls, .timeout = 600) {
    static char directory[320];
    const char *asked = getenv("PITH_TEST_PROGRAMS");
    const int64_t programs = asked ? atoll(asked) : 16;
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 1);
    pith_runtime *rt = pt_open();
    int64_t kernels = 0;
    for (int64_t seed = 0; seed < programs; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 4242 + (uint64_t)seed, 12 + (int)(seed % 40));
        pithp_plan *plan = plan_of(r, seed % 2);
        int32_t functions[STEPS];
        bool maths;
        pithp_module *m = NULL;
        pithp_text text;
        pithp_text_begin(&text, rt);
        if (pithp_emit_device(&text, pithp_text_host, plan, functions, &maths)) {
            if (maths)
                pithp_math_text(&text);
            pithp_compile(s, text.bytes, NULL, &m);
            pt_ok(s, !maths || pithp_math_link(s, m) == PITH_OK);
            cr_assert(is_right(r, plan, m, functions), "seed %lld", (long long)seed);
            kernels++;
        }
        pithp_text_end(&text);
        pithp_module_release(m);
        pithp_plan_free(plan);
        recipe_free(r);
        pith_scope_close(s);
    }
    cr_assert(kernels > programs / 2);
    pt_close(rt);
}

/* ---- NVRTC ---- */

/* Bytes that registers of a text's kernels spill into memory, of which each has its line
 * "ptxas info : ... N bytes spill stores". */
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
    pithp_text image, log;
    pithp_error e;
    pithp_text_begin(&image, rt);
    pithp_text_begin(&log, rt);
    const pithp_compile_options options = {.name = "kernels", .resources = resources};
    const pith_status rc = pithp_rtc_compile(arch, text, &options, &image, &log, &e);
    cr_assert(rc == PITH_OK, "%s", rc ? e.text : "");
    cr_assert(resources || log.length == 0, "for %d: %s", arch, log.bytes);
    cr_assert(!strstr(log.bytes, "warning"), "for %d: %s", arch, log.bytes);
    cr_assert(image.length > 1000);
    cr_assert(!resources || strstr(log.bytes, "spill stores"), "%s", log.bytes);
    const long bytes = spilled(log.bytes);
    pithp_text_end(&image);
    pithp_text_end(&log);
    return bytes;
}

Test(emit_device, every_kernel_compiles_for_cuda_without_a_word, .timeout = 600) {
    char identity[PITHP_IDENTITY_BYTES];
    pithp_error e;
    if (pithp_rtc_open(identity, &e) != PITH_OK)
        cr_skip_test("%s", e.text);
    const char *asked = getenv("PITH_TEST_PROGRAMS");
    const int64_t programs = asked ? atoll(asked) : 4;
    pith_runtime *rt = pt_open();
    long spills = 0;
    for (int64_t seed = 0; seed < programs; seed++) {
        pith_scope *s = pith_scope_open(rt);
        recipe *r = recipe_make(s, 4242 + (uint64_t)seed, 20);
        pithp_plan *plan = plan_of(r, seed % 2);
        int32_t functions[STEPS];
        bool maths;
        pithp_text text;
        pithp_text_begin(&text, rt);
        if (pithp_emit_device(&text, pithp_text_cuda, plan, functions, &maths))
            for (int arch = 75; arch <= 90; arch += 15)
                spills += compile(rt, text.bytes, arch, arch == 90);
        pithp_text_end(&text);
        pithp_plan_free(plan);
        recipe_free(r);
        pith_scope_close(s);
    }
    cr_assert(spills == 0, "%ld bytes are spilled", spills);
    pt_close(rt);
}
