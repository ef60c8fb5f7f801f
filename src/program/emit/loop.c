/* C emitter of control flow: loops of small steps as one function. The text contains the
 * extents: the loops are short, and constant trip counts let the compiler unroll them. */
#include "program/emit/loop.h"

#include "program/emit/inline.h"

/* ---- Which loops ---- */

static bool control_fits(const pithp_step *step, int *steps);

static bool plan_fits(const pithp_plan *plan, int *steps) {
    bool fits = true;
    for (int64_t k = 0; k < plan->step_count && fits; k++) {
        const pithp_step *step = &plan->steps[k];
        fits =
            ++*steps <= PITHP_INLINE_STEPS &&
            (step->kind == PITHP_STEP_FUSED ? step->spec->count <= PITHP_INLINE_ELEMENTS
             : step->kind == PITHP_STEP_CONTROL ? control_fits(step, steps)
                                                : pithp_inline_library_fits(plan, step) ||
                                                      pithp_inline_call_fits(plan, step));
    }
    return fits;
}

static bool control_fits(const pithp_step *step, int *steps) {
    const pithp_instruction *i = step->call;
    bool fits = true;
    for (int k = 0; k < i->program_count && fits; k++)
        fits = plan_fits(step->plans[k], steps);
    return fits;
}

bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step) {
    int steps = 0;
    return plan->runs_fused && step->kind == PITHP_STEP_CONTROL &&
           step->call->primitive != PITHP_OP_COND && control_fits(step, &steps) &&
           pithp_loop_addresses(step) <= PITHP_INLINE_ADDRESSES;
}

/* ---- The table ---- */

static int plans_addresses(const pithp_step *step) {
    int count = 0;
    for (int p = 0; p < step->call->program_count; p++) {
        const pithp_plan *plan = step->plans[p];
        count += 1 + (int)plan->program->constant_count;
        for (int64_t k = 0; k < plan->step_count; k++)
            if (plan->steps[k].kind == PITHP_STEP_CONTROL)
                count += plans_addresses(&plan->steps[k]);
            else
                count += pithp_inline_library_slots(plan, &plan->steps[k]);
    }
    return count;
}

/* Slots after the addresses that a run fills in: the scope, the library call, the clock
 * and the tally. */
static int scope_slot(const pithp_step *step) {
    return step->call->operand_count + step->call->result_count + 1;
}
static int first_slot(const pithp_step *step) {
    return scope_slot(step) + 4;
}

int pithp_loop_addresses(const pithp_step *step) {
    return first_slot(step) + plans_addresses(step);
}

static const void **fill_plans(pith_scope *s, const pithp_step *step, const void **next) {
    for (int p = 0; p < step->call->program_count; p++) {
        const pithp_plan *plan = step->plans[p];
        *next++ = plan->literals ? plan->literals->data : NULL;
        for (int64_t c = 0; c < plan->program->constant_count; c++)
            *next++ = plan->program->constants[c].data;
        for (int64_t k = 0; k < plan->step_count; k++)
            if (plan->steps[k].kind == PITHP_STEP_CONTROL)
                next = fill_plans(s, &plan->steps[k], next);
            else
                next = pithp_inline_library_fill(s, plan, &plan->steps[k], next);
    }
    return next;
}

void pithp_loop_fill(pith_scope *s,
                     const pithp_step *step,
                     const pithp_loop_calls *calls,
                     struct pithp_tally *tally,
                     const void **table) {
    table[scope_slot(step)] = s;
    table[scope_slot(step) + 1] = (const void *)(uintptr_t)calls->step;
    table[scope_slot(step) + 2] = (const void *)(uintptr_t)calls->ticks;
    table[scope_slot(step) + 3] = tally;
    fill_plans(s, step, table + first_slot(step));
}

/* ---- Before the loops ---- */

/* Load literals, named by the slot of their plan; returns the next slot. */
static int add_literals(pithp_string *t, const pithp_step *step, int slot) {
    for (int p = 0; p < step->call->program_count; p++) {
        const pithp_plan *plan = step->plans[p];
        for (pithp_value v = 0; v < plan->program->value_count; v++) {
            const pith_spec *spec = plan->program->values[v].spec;
            const char *type = pithp_dtype_spelling(spec->dtype);
            if (plan->places[v].store == PITHP_IN_LITERALS && spec->count > 0)
                pithp_string_print(
                    t, "    const %s q%d_%d = *(const %s *)(a%d + %lld);\n", type, slot,
                    (int)v, type, slot, (long long)plan->places[v].at);
        }
        slot += 1 + (int)plan->program->constant_count;
        for (int64_t k = 0; k < plan->step_count; k++)
            if (plan->steps[k].kind == PITHP_STEP_CONTROL)
                slot = add_literals(t, &plan->steps[k], slot);
            else
                slot += pithp_inline_library_slots(plan, &plan->steps[k]);
    }
    return slot;
}

static void define(pithp_inlining *x, const pithp_step *step) {
    for (int p = 0; p < step->call->program_count; p++)
        for (int64_t k = 0; k < step->plans[p]->step_count; k++) {
            const pithp_step *inner = &step->plans[p]->steps[k];
            if (inner->kind == PITHP_STEP_FUSED)
                pithp_emit_op_functions(x->t, x->ops, inner->fused);
            else if (inner->kind == PITHP_STEP_CONTROL)
                define(x, inner);
            else if (!pithp_inline_library_fits(step->plans[p], inner))
                pithp_inline_call_define(x, step->plans[p], inner);
        }
}

void pithp_emit_loop_functions(pithp_string *t,
                               pithp_emitted_ops *ops,
                               const pithp_step *step) {
    pithp_inlining x = {.t = t, .ops = ops};
    define(&x, step);
}

/* ---- Steps of control flow ---- */

/* A step of control flow: its operands and results are p<number>_<k> and r<number>_<k>,
 * its workspace is s<number>. */
typedef struct control_text {
    pithp_inlining *x;
    pithp_string *t;
    const pithp_frame *outer; /* with the step; NULL: the function */
    const pithp_plan *plan;   /* of the step */
    const pithp_step *step;
    int number;
    pithp_regions regions;
    bool is_range; /* only iterations begin..end of the function run */
} control_text;

static const pith_spec *output_spec(const pithp_plan *plan, int64_t k) {
    return pithp_value_spec(plan->program, plan->program->outputs[k]);
}

static const pithp_plan *body_of(const control_text *l) {
    return l->step->plans[l->regions.body];
}

static bool forwards(const control_text *l, int k) {
    return pithp_forwarded_operand(l->step->call, k) >= 0;
}

/* Whether a forwarded carry has the operand's address, so that nothing is written. */
static bool is_forwarded(const control_text *l, int k) {
    return forwards(l, k) &&
           l->plan->places[l->step->call->result + k].store == PITHP_FORWARDED;
}

/* Scalar carries are variables: v is the current value, n the next one. Other carries are
 * at c, which points to the result or to the second buffer. */
static bool is_number(const control_text *l, int k) {
    return output_spec(body_of(l), k)->count == 1;
}

static const char *carry_type(const control_text *l, int k) {
    return pithp_dtype_spelling(output_spec(body_of(l), k)->dtype);
}

static void add_carry(const control_text *l, int k) {
    pithp_string_print(l->t, is_number(l, k) ? "(char *)&v%d_%d" : "c%d_%d", l->number,
                       k);
}

/* Whether a carry is in the result from the start, because the body updates it in place.
 */
static bool is_in_place(const control_text *l, int k) {
    return !is_number(l, k) && pithp_carry_in_place(l->step, k);
}

static void begin_carries(const control_text *l) {
    for (int k = 0; k < l->regions.carries.count; k++) {
        const int from = l->regions.carries.first + k;
        if (is_number(l, k))
            pithp_string_print(l->t, "        %s v%d_%d = *(const %s *)p%d_%d;\n",
                               carry_type(l, k), l->number, k, carry_type(l, k),
                               l->number, from);
        else if (is_in_place(l, k))
            pithp_string_print(l->t,
                               "        char *const c%d_%d = r%d_%d;\n"
                               "        if (p%d_%d != c%d_%d)\n"
                               "            __builtin_memcpy(c%d_%d, p%d_%d, %zu);\n",
                               l->number, k, l->number, k, l->number, from, l->number, k,
                               l->number, k, l->number, from,
                               output_spec(body_of(l), k)->bytes);
        else
            pithp_string_print(l->t, "        char *c%d_%d = p%d_%d;\n", l->number, k,
                               l->number, from);
    }
}

/* Write the carries to the results after the last iteration. */
static void finish_carries(const control_text *l) {
    for (int k = 0; k < l->regions.carries.count; k++) {
        const int n = l->number;
        const size_t bytes = output_spec(body_of(l), k)->bytes;
        if (is_forwarded(l, k) || is_in_place(l, k))
            continue;
        if (is_number(l, k))
            pithp_string_print(l->t, "        *(%s *)r%d_%d = v%d_%d;\n",
                               carry_type(l, k), n, k, n, k);
        else if (bytes)
            pithp_string_print(l->t,
                               "        if (c%d_%d != r%d_%d)\n"
                               "            __builtin_memcpy(r%d_%d, c%d_%d, %zu);\n",
                               n, k, n, k, n, k, n, k, bytes);
    }
}

static void begin_frame(const control_text *l, const pithp_frame *f) {
    pithp_string_print(l->t, "        char *const w%d = s%d;\n        (void)w%d;\n",
                       f->number, l->number, f->number);
}

/* Input `input` of a frame is operand `operand`. */
static void
add_fixed(const control_text *l, const pithp_frame *f, int input, int operand) {
    pithp_string_print(l->t, "        char *const i%d_%d = p%d_%d;\n", f->number, input,
                       l->number, operand);
}

/* The constants of program b. */
static void add_constants(const control_text *l, const pithp_frame *f, int b) {
    int first;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        const pithp_operand_group *group = &l->regions.groups[g];
        if (group->role == PITHP_OPERAND_CONSTANT &&
            pithp_region_takes(&l->regions, b, g, &first))
            for (int k = 0; k < group->count; k++)
                add_fixed(l, f, first + k, group->first + k);
    }
}

/* The carries of program b. */
static void add_carried_inputs(const control_text *l, const pithp_frame *f, int b) {
    const int first = pithp_region_first_carry(&l->regions, b);
    for (int k = 0; k < l->regions.carries.count; k++) {
        pithp_string_print(l->t, "        char *const i%d_%d = ", f->number, first + k);
        add_carry(l, k);
        pithp_string_add(l->t, ";\n");
    }
}

/* Whether a run finds the address of output k of a frame. */
static bool is_found(const pithp_frame *f, int k) {
    return pithp_frame_forwarded(f->plan, f->plan->program->outputs[k]) >= 0;
}

/* Copy an output that has no memory of its own: it may be an input, a constant or another
 * output. */
static void materialise(const control_text *l, const pithp_frame *f, int k) {
    const pithp_place place = pithp_frame_place(f->plan, f->plan->program->outputs[k]);
    const size_t bytes = output_spec(f->plan, k)->bytes;
    if ((place.store == PITHP_IN_OUTPUT && place.at == k && !is_found(f, k)) ||
        bytes == 0)
        return;
    pithp_string_print(l->t, "        if (o%d_%d != ", f->number, k);
    pithp_frame_address(f, f->plan->program->outputs[k]);
    pithp_string_print(l->t, ")\n            __builtin_memcpy(o%d_%d, ", f->number, k);
    pithp_frame_address(f, f->plan->program->outputs[k]);
    pithp_string_print(l->t, ", %zu);\n", bytes);
}

/* Whether carry k stays where it is if branches of the body forward it. */
static bool may_stay(const control_text *l, const pithp_frame *f, int k) {
    return !is_number(l, k) && !is_in_place(l, k) && is_found(f, k);
}

/* Copy such a carry if it is neither where it was nor where the next one is. */
static void materialise_moved(const control_text *l, const pithp_frame *f, int k) {
    const pithp_value v = f->plan->program->outputs[k];
    pithp_string_add(l->t, "        if (");
    pithp_frame_address(f, v);
    pithp_string_print(l->t, " != c%d_%d && ", l->number, k);
    pithp_frame_address(f, v);
    pithp_string_print(l->t, " != o%d_%d)\n            __builtin_memcpy(o%d_%d, ",
                       f->number, k, f->number, k);
    pithp_frame_address(f, v);
    pithp_string_print(l->t, ", %zu);\n", output_spec(f->plan, k)->bytes);
}

/* Declare the outputs of the body's carries; forwarded ones have none. */
static void add_carried_outputs(const control_text *l, const pithp_frame *f) {
    const int n = l->number;
    for (int k = 0; k < l->regions.carries.count; k++) {
        if (forwards(l, k))
            continue;
        if (is_number(l, k))
            pithp_string_print(l->t,
                               "        %s n%d_%d;\n"
                               "        char *const o%d_%d = (char *)&n%d_%d;\n",
                               carry_type(l, k), n, k, f->number, k, n, k);
        else if (is_in_place(l, k))
            pithp_string_print(l->t, "        char *const o%d_%d = c%d_%d;\n", f->number,
                               k, n, k);
        else
            pithp_string_print(
                l->t,
                "        char *const o%d_%d = c%d_%d == r%d_%d ? s%d + %zu "
                ": r%d_%d;\n",
                f->number, k, n, k, n, k, n, pithp_spare_offset(l->step, k), n, k);
    }
}

static void advance(const control_text *l, const pithp_frame *f) {
    for (int k = 0; k < l->regions.carries.count; k++)
        if (may_stay(l, f, k))
            materialise_moved(l, f, k);
        else if (!forwards(l, k))
            materialise(l, f, k);
    for (int k = 0; k < l->regions.carries.count; k++) {
        if (forwards(l, k))
            continue;
        if (may_stay(l, f, k)) {
            pithp_string_print(l->t, "        c%d_%d = ", l->number, k);
            pithp_frame_address(f, f->plan->program->outputs[k]);
            pithp_string_print(l->t, " == c%d_%d ? c%d_%d : o%d_%d;\n", l->number, k,
                               l->number, k, f->number, k);
        } else if (is_number(l, k))
            pithp_string_print(l->t, "        v%d_%d = n%d_%d;\n", l->number, k,
                               l->number, k);
        else if (!is_in_place(l, k))
            pithp_string_print(l->t, "        c%d_%d = o%d_%d;\n", l->number, k,
                               f->number, k);
    }
}

static void add_while(const control_text *l) {
    begin_carries(l);
    pithp_string_add(l->t, "        for (;;) {\n        b8 continues;\n        {\n");
    const pithp_frame cond = pithp_frame_open(l->x, l->step->plans[0]);
    begin_frame(l, &cond);
    add_constants(l, &cond, 0);
    add_carried_inputs(l, &cond, 0);
    pithp_string_print(l->t, "        char *const o%d_0 = (char *)&continues;\n",
                       cond.number);
    pithp_frame_steps(&cond);
    materialise(l, &cond, 0);
    pithp_string_add(l->t, "        }\n        if (!continues)\n            break;\n");
    const pithp_frame body = pithp_frame_open(l->x, body_of(l));
    begin_frame(l, &body);
    add_constants(l, &body, l->regions.body);
    add_carried_inputs(l, &body, l->regions.body);
    add_carried_outputs(l, &body);
    pithp_frame_steps(&body);
    advance(l, &body);
    pithp_string_add(l->t, "        }\n");
    finish_carries(l);
}

static void add_scan(const control_text *l) {
    const pithp_instruction *i = l->step->call;
    const pithp_loop_params *params = i->params;
    const pithp_operand_group xs = l->regions.groups[PITHP_SCAN_XS];
    const int n = l->number;
    begin_carries(l);
    if (l->is_range)
        pithp_string_print(l->t, "        for (i64 t%d = begin; t%d < end; t%d++) {\n", n,
                           n, n);
    else
        pithp_string_print(l->t, "        for (i64 t%d = 0; t%d < %lld; t%d++) {\n", n, n,
                           (long long)params->length, n);
    pithp_string_print(l->t, "        const i64 row%d = %lld %s t%d;\n", n,
                       params->reverse ? (long long)params->length - 1 : 0LL,
                       params->reverse ? "-" : "+", n);
    const pithp_frame f = pithp_frame_open(l->x, l->step->plans[0]);
    begin_frame(l, &f);
    add_constants(l, &f, 0);
    add_carried_inputs(l, &f, 0);
    for (int k = xs.first; k < xs.first + xs.count; k++) /* operands are inputs */
        pithp_string_print(
            l->t, "        char *const i%d_%d = p%d_%d + row%d * %zu;\n", f.number, k, n,
            k, n, pithp_value_spec(f.plan->program, f.plan->program->inputs[k])->bytes);
    add_carried_outputs(l, &f);
    for (int k = l->regions.carries.count; k < i->result_count; k++)
        pithp_string_print(l->t, "        char *const o%d_%d = r%d_%d + row%d * %zu;\n",
                           f.number, k, n, k, n, output_spec(f.plan, k)->bytes);
    pithp_frame_steps(&f);
    for (int k = l->regions.carries.count; k < i->result_count; k++)
        materialise(l, &f, k);
    advance(l, &f);
    pithp_string_add(l->t, "        }\n");
    finish_carries(l);
}

/* Whether an output of a branch is always one of its inputs. */
static bool is_input(const pithp_frame *f, int k) {
    const pithp_place place = pithp_frame_place(f->plan, f->plan->program->outputs[k]);
    const pithp_input_aliases *of = f->plan->aliases ? &f->plan->aliases[k] : NULL;
    return place.store == PITHP_IN_INPUT && place.offset == 0 && of && of->count == 1 &&
           of->inputs[0] == place.at;
}

/* Set the address of a result: an operand that the branch forwards, or the result's own
 * memory. */
static void forward_output(const control_text *l, const pithp_frame *f, int k) {
    const int number = pithp_frame_forwarded(l->plan, l->step->call->result + k);
    if (!is_input(f, k))
        materialise(l, f, k);
    pithp_string_print(l->t, "        f%d_%d = ", l->outer->number, number);
    if (is_input(f, k))
        pithp_frame_address(f, f->plan->program->outputs[k]);
    else
        pithp_string_print(l->t, "r%d_%d", l->number, k);
    pithp_string_add(l->t, ";\n");
}

static void add_branch(const control_text *l, int k) {
    const pithp_instruction *i = l->step->call;
    const pithp_frame f = pithp_frame_open(l->x, l->step->plans[k]);
    begin_frame(l, &f);
    add_constants(l, &f, k);
    for (int o = 0; o < i->result_count; o++)
        pithp_string_print(l->t, "        char *const o%d_%d = r%d_%d;\n", f.number, o,
                           l->number, o);
    pithp_frame_steps(&f);
    for (int o = 0; o < i->result_count; o++)
        if (pithp_frame_forwarded(l->plan, i->result + o) >= 0)
            forward_output(l, &f, o);
        else
            materialise(l, &f, o);
}

static void add_cond(const control_text *l, pith_dtype index) {
    const int branches = l->step->call->program_count;
    pithp_string_print(l->t, "        const %s at%d = *(const %s *)p%d_%d;\n",
                       pithp_dtype_spelling(index), l->number,
                       pithp_dtype_spelling(index), l->number, PITHP_COND_INDEX);
    for (int k = 0; k < branches; k++) { /* clamped */
        if (k < branches - 1)
            pithp_string_print(l->t, "        %sif (at%d <= %d) {\n", k ? "else " : "",
                               l->number, k);
        else
            pithp_string_add(l->t, k ? "        else {\n" : "        {\n");
        add_branch(l, k);
        pithp_string_add(l->t, "        }\n");
    }
}

static void add_control(const control_text *l, pith_dtype index) {
    switch ((int)l->step->call->primitive) {
        case PITHP_OP_COND:
            add_cond(l, index);
            break;
        case PITHP_OP_WHILE:
            add_while(l);
            break;
        default:
            add_scan(l);
    }
}

static control_text control_text_of(pithp_inlining *x,
                                    const pithp_frame *outer,
                                    const pithp_plan *plan,
                                    const pithp_step *step) {
    return (control_text){
        x, x->t, outer, plan, step, x->frames++, pithp_regions_of(step->call), false};
}

void pithp_inline_control(const pithp_frame *f, const pithp_step *step) {
    const control_text l = control_text_of(f->x, f, f->plan, step);
    const pithp_program *p = f->plan->program;
    pithp_string_add(l.t, "        {\n");
    for (int k = 0; k < step->call->operand_count; k++) {
        pithp_string_print(l.t, "        char *const p%d_%d = ", l.number, k);
        pithp_frame_address(f, pithp_operands(p, step->call)[k]);
        pithp_string_add(l.t, ";\n");
    }
    for (int k = 0; k < step->call->result_count; k++) {
        pithp_string_print(l.t, "        char *const r%d_%d = ", l.number, k);
        pithp_frame_memory(f, step->call->result + k);
        pithp_string_add(l.t, ";\n");
    }
    pithp_string_print(l.t, "        char *const s%d = w%d + %lld;\n        (void)s%d;\n",
                       l.number, f->number, (long long)step->temporary, l.number);
    add_control(&l, step->call->operand_count
                        ? pithp_value_spec(p, pithp_operands(p, step->call)[0])->dtype
                        : PITH_I64);
    pithp_string_add(l.t, "        }\n");
}

/* ---- The function ---- */

void pithp_emit_loop(pithp_string *t, const pithp_plan *plan, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const bool timed = plan->profile != NULL;
    pithp_inlining x = {.t = t,
                        .slot = first_slot(step),
                        .timed = timed,
                        .first_entry = step->plans[0]->first_entry};
    control_text l = control_text_of(&x, NULL, plan, step);
    l.is_range = step->ranges > 1;
    const int results = i->operand_count, workspace = results + i->result_count;
    pithp_string_add(t, "(const void *args, i64 begin, i64 end) {\n"
                        "    char *const *const table = (char *const *)args;\n");
    for (int k = first_slot(step); k < pithp_loop_addresses(step); k++)
        pithp_string_print(t, "    char *const a%d = table[%d];\n", k, k);
    for (int k = 0; k < i->operand_count; k++)
        pithp_string_print(t, "    char *const p%d_%d = table[%d];\n", l.number, k, k);
    for (int k = 0; k < i->result_count; k++)
        pithp_string_print(t, "    char *const r%d_%d = table[%d];\n", l.number, k,
                           results + k);
    pithp_string_print(
        t,
        "    char *const s%d = table[%d];\n"
        "    void *const scope = table[%d];\n"
        "    i32 (*const call)(void *, const void *, char *const *) =\n"
        "        (i32 (*)(void *, const void *, char *const *))table[%d];\n"
        "    (void)scope;\n    (void)call;\n",
        l.number, workspace, scope_slot(step), scope_slot(step) + 1);
    if (timed)
        pithp_string_print(t,
                           "    u64 (*const ticks)(void) = (u64 (*)(void))table[%d];\n"
                           "    u64 *const tally = (u64 *)(void *)table[%d];\n"
                           "    u64 lap = ticks();\n",
                           scope_slot(step) + 2, scope_slot(step) + 3);
    add_literals(t, step, first_slot(step));
    add_control(&l, PITH_I64);
    pithp_string_add(t, "}\n");
}
