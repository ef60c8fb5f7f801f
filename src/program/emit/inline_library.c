/* Unrolled plans: steps that become function calls.
 *
 * - Library calls: sorts, products, and other operations without text of their own or
 * with many elements. One function, whose address is in the table, runs any step on a
 * list of addresses. Kernels that use threads or need initialised arrays are also called
 *   this way.
 * - Loops that draw random numbers: their arguments are in the text.
 * - Users' kernels: their arguments, except addresses, are in the table. */
#include "program/emit/inline.h"
#include "program/host/random.h"
#include "program/op/kernel_call.h"

#include <stddef.h>
#include <string.h>

bool pithp_inline_library_fits(const pithp_plan *plan, const pithp_step *step) {
    return (step->kind == PITHP_STEP_CALL || step->kind == PITHP_STEP_KERNEL) &&
           !step->runs_in_consumer && step->producer < 0 &&
           (step->kind == PITHP_STEP_KERNEL || !pithp_inline_call_fits(plan, step));
}

static bool is_kernel(const pithp_step *step) {
    return step->kind == PITHP_STEP_KERNEL && step->kernel->is_small;
}

static pithp_draw_loop draw_of(const pithp_step *step) {
    const pithp_instruction *i = step->call;
    if (step->kind == PITHP_STEP_KERNEL || !step->spec)
        return (pithp_draw_loop){.loops = NULL};
    const pithp_call call =
        pithp_call_of(i->primitive, i->operand_count, step->specs, i->params);
    pithp_draw_loop loop = pithp_draw_loop_of(&call, step->spec);
    if (loop.count > loop.grain)
        loop.loops = NULL;
    return loop;
}

int pithp_inline_library_slots(const pithp_plan *plan, const pithp_step *step) {
    return pithp_inline_library_fits(plan, step) ? 1 + is_kernel(step) : 0;
}

const void **pithp_inline_library_fill(pith_scope *s,
                                       const pithp_plan *plan,
                                       const pithp_step *step,
                                       const void **next) {
    if (!pithp_inline_library_fits(plan, step))
        return next;
    const pithp_host_loop *loops =
        is_kernel(step)
            ? pithp_kernel_loops(step->kernel->binding.kernel, step->kernel->args)
            : draw_of(step).loops;
    if (is_kernel(step))
        *next++ = step->kernel->args;
    if (!loops)
        *next++ = step;
    else
        *next++ = (const void *)(uintptr_t)pithp_loop_for(&(pithp_launch){.loops = loops},
                                                          pithp_scope_device(s)->isa);
    return next;
}

static void add_address(const pithp_frame *f, pithp_value v) {
    pithp_frame_address(f, v);
    pithp_string_add(f->x->t, ", ");
}

static void add_call(const pithp_frame *f, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    pithp_string *t = f->x->t;
    pithp_string_add(t, "        char *const at[] = {");
    for (int k = 0; k < i->operand_count; k++)
        add_address(f, pithp_operands(f->plan->program, i)[k]);
    for (int k = 0; k < i->result_count; k++)
        add_address(f, i->result + k);
    pithp_string_print(t,
                       "w%d + %lld};\n"
                       "        if (call(scope, a%d, at))\n            return;\n",
                       f->number, (long long)step->temporary, f->x->slot++);
}

/* ---- Loops that are called with arguments ---- */

/* Store an address in the arguments. */
static void add_argument(const pithp_frame *f, pithp_value v, size_t offset) {
    pithp_string_add(f->x->t, "        at = ");
    pithp_frame_address(f, v);
    pithp_string_print(
        f->x->t, ";\n        __builtin_memcpy(args + %zu, &at, sizeof at);\n", offset);
}

static void add_copy(const pithp_frame *f, pithp_value from, size_t bytes) {
    pithp_string_add(f->x->t, "        if (at != ");
    pithp_frame_address(f, from);
    pithp_string_add(f->x->t, ")\n            __builtin_memcpy(at, ");
    pithp_frame_address(f, from);
    pithp_string_print(f->x->t, ", %zu);\n", bytes);
}

static void add_loop(const pithp_frame *f, int64_t count) {
    pithp_string_print(
        f->x->t, "        ((void (*)(const void *, i64, i64))a%d)(args, 0, %lld);\n",
        f->x->slot++, (long long)count);
}

static void add_kernel(const pithp_frame *f, const pithp_step *step) {
    const pithp_kernel_binding *b = &step->kernel->binding;
    const pithp_value *given = pithp_operands(f->plan->program, step->call);
    pithp_value made = step->call->result;
    pithp_string *t = f->x->t;
    pithp_string_print(t,
                       "        _Alignas(16) char args[%d];\n"
                       "        char *at;\n"
                       "        __builtin_memcpy(args, a%d, sizeof args);\n",
                       (int)b->kernel->args_bytes, f->x->slot);
    for (int k = 0; k < b->kernel->arg_count; k++) {
        const pith_kernel_arg *arg = &b->kernel->args[k];
        const pithp_value from = pithp_kernel_is_given(arg->role) ? *given++ : -1;
        const pithp_value at = pithp_kernel_is_made(arg->role) ? made++ : from;
        if (at < 0)
            continue;
        add_argument(f, at, (size_t)arg->offset);
        if (at != from && from >= 0 && b->specs[k]->bytes)
            add_copy(f, from, b->specs[k]->bytes * (size_t)pithp_kernel_times(b, k));
    }
    if (b->masked)
        add_argument(f, *given, offsetof(pith_kernel_frame, taken));
    add_argument(f, made, offsetof(pith_kernel_frame, report));
    pithp_string_print(t, "        __builtin_memset(at, 0, %zu);\n",
                       sizeof(pith_report) * (size_t)pithp_kernel_reports(b));
    f->x->slot++;
    add_loop(f, pithp_kernel_count(b));
}

static void add_draw(const pithp_frame *f, const pithp_step *step) {
    const pithp_draw_loop loop = draw_of(step);
    pithp_string *t = f->x->t;
    pithp_string_add(t, "        static const u64 packed[] = {");
    for (size_t k = 0; k < loop.bytes; k += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, loop.args + k, sizeof word);
        pithp_string_print(t, "%s%lluu", k ? ", " : "", (unsigned long long)word);
    }
    pithp_string_add(t, "};\n"
                        "        _Alignas(8) char args[sizeof packed];\n"
                        "        char *at;\n"
                        "        __builtin_memcpy(args, packed, sizeof args);\n");
    for (int k = 0; k < step->call->operand_count; k++)
        add_argument(f, pithp_operands(f->plan->program, step->call)[k],
                     loop.operands[k]);
    add_argument(f, step->call->result, loop.result);
    add_loop(f, loop.count);
}

void pithp_inline_library(const pithp_frame *f, const pithp_step *step) {
    pithp_string_add(f->x->t, "        {\n");
    if (is_kernel(step))
        add_kernel(f, step);
    else if (draw_of(step).loops)
        add_draw(f, step);
    else
        add_call(f, step);
    pithp_string_add(f->x->t, "        }\n");
}
