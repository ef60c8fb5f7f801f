/* Text of loops of small steps. Extents are in it: the loops are short, and the compiler
 * does best where it knows how short. */
#include "program/emit/loop.h"

#include "program/emit/emit.h"

enum { MOST_ELEMENTS = 4096, MOST_ADDRESSES = 1024 };

pithp_carried pithp_carries_of(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_WHILE) {
        const pithp_while_params *w = i->params;
        const int fixed = w->cond_operands + w->body_operands;
        return (pithp_carried){fixed, i->operand_count - fixed};
    }
    if (i->primitive == PITHP_OP_SCAN) {
        const pithp_loop_params *l = i->params;
        return (pithp_carried){l->constants, l->carries};
    }
    return (pithp_carried){0, 0};
}

/* ---- Which loops ---- */

static bool steps_fit(const pithp_plan *plan) {
    bool fit = plan->step_count <= PITHP_LOOP_STEPS;
    for (int64_t k = 0; k < plan->step_count && fit; k++)
        fit = plan->steps[k].fused && plan->steps[k].spec->count <= MOST_ELEMENTS &&
              pithp_is_direct(plan->steps[k].fused);
    return fit;
}

/* The body's input that carry k is. */
static int carry_input(const pithp_instruction *i, int k) {
    return k + (i->primitive == PITHP_OP_WHILE
                    ? ((const pithp_while_params *)i->params)->body_operands
                    : pithp_carries_of(i).first);
}

static const pithp_plan *body_of(const pithp_step *step) {
    return step->plans[step->call->primitive == PITHP_OP_WHILE];
}

static bool hands_on(const pithp_step *step, int k) {
    const pithp_program *p = body_of(step)->program;
    return p->outputs[k] == p->inputs[carry_input(step->call, k)];
}

/* Every output is written to its own memory, or is a carry that stays. */
static bool outputs_fit(const pithp_step *step) {
    const pithp_plan *body = body_of(step);
    bool fit = true;
    for (int k = 0; k < step->call->result_count && fit; k++) {
        const pithp_place place = pithp_plan_output(body, k);
        fit = (place.store == PITHP_IN_OUTPUT && place.at == k) ||
              (k < pithp_carries_of(step->call).count && hands_on(step, k));
    }
    return fit;
}

bool pithp_loop_fits(const pithp_plan *plan, const pithp_step *step) {
    if (!plan->runs_fused || !step->plans ||
        (step->call->primitive != PITHP_OP_SCAN &&
         (step->call->primitive != PITHP_OP_WHILE ||
          ((const pithp_while_params *)step->call->params)->stops)))
        return false;
    for (int k = 0; k < step->call->program_count; k++)
        if (!steps_fit(step->plans[k]))
            return false;
    return outputs_fit(step) && pithp_loop_layout(step).count <= MOST_ADDRESSES;
}

/* ---- Addresses ---- */

pithp_loop_table pithp_loop_layout(const pithp_step *step) {
    pithp_loop_table t = {.count = 0};
    for (int k = 0; k < step->call->program_count; k++) {
        const pithp_program *p = step->plans[k]->program;
        t.inputs[k] = t.count;
        t.literals[k] = t.inputs[k] + (int)p->input_count;
        t.constants[k] = t.literals[k] + 1;
        t.count = t.constants[k] + (int)p->constant_count;
    }
    t.results = t.count;
    t.spare = t.results + step->call->result_count;
    t.workspace = t.spare + pithp_carries_of(step->call).count;
    t.flag = t.workspace + 1;
    t.count = t.flag + 1;
    return t;
}

typedef struct emitting {
    pithp_text *t;
    const pithp_step *step;
    pithp_loop_table table;
    pithp_carried carried;
} emitting;

static bool is_while(const emitting *x) {
    return x->step->call->primitive == PITHP_OP_WHILE;
}

/* The carry that an input of program k is, or -1. */
static int carry_of(const emitting *x, int program, int64_t input) {
    const pithp_instruction *i = x->step->call;
    const int first = is_while(x) && program == 0
                          ? ((const pithp_while_params *)i->params)->cond_operands
                          : carry_input(i, 0);
    return input >= first && input < first + x->carried.count ? (int)(input - first) : -1;
}

static void add_input(const emitting *x, int program, int64_t input) {
    const int carry = carry_of(x, program, input);
    const pithp_program *p = x->step->plans[program]->program;
    if (carry >= 0)
        pithp_text_print(x->t, "c%d", carry);
    else if (!is_while(x) && input >= x->carried.first + x->carried.count)
        pithp_text_print(x->t, "p[%d] + t * %zu", x->table.inputs[0] + (int)input,
                         pithp_value_spec(p, p->inputs[input])->bytes);
    else
        pithp_text_print(x->t, "p[%d]", x->table.inputs[program] + (int)input);
}

static void add_output(const emitting *x, int program, int64_t output) {
    const pithp_program *p = x->step->plans[program]->program;
    if (is_while(x) && program == 0)
        pithp_text_print(x->t, "p[%d]", x->table.flag);
    else if (output < x->carried.count)
        pithp_text_print(x->t, "n%d", (int)output);
    else
        pithp_text_print(x->t, "p[%d] + t * %zu", x->table.results + (int)output,
                         pithp_value_spec(p, p->outputs[output])->bytes);
}

static void add_address(const emitting *x, int program, pithp_value v) {
    const pithp_place place = x->step->plans[program]->places[v];
    switch (place.store) {
        case PITHP_IN_INPUT:
            add_input(x, program, place.at);
            break;
        case PITHP_IN_CONSTANT:
            pithp_text_print(x->t, "p[%d]", x->table.constants[program] + (int)place.at);
            break;
        case PITHP_IN_LITERALS:
            pithp_text_print(x->t, "p[%d] + %lld", x->table.literals[program],
                             (long long)place.at);
            break;
        case PITHP_IN_WORKSPACE:
            pithp_text_print(x->t, "p[%d] + %lld", x->table.workspace,
                             (long long)place.at);
            break;
        case PITHP_IN_OUTPUT:
            add_output(x, program, place.at);
            break;
        case PITHP_IN_PASSED: /* by control flow, of which such a program has none */
        case PITHP_NOWHERE:
            PITH_ASSERT(false);
    }
}

/* ---- Text ---- */

static void add_call(const emitting *x, int program, int64_t k, int32_t function) {
    const pithp_step *step = &x->step->plans[program]->steps[k];
    char name[PITHP_STEP_NAME_BYTES];
    if (step->spec->count == 0)
        return;
    pithp_text_add(x->t, "        {\n            char *const at[] = {");
    for (int e = 0; e < step->fused->external_count; e++) {
        pithp_text_add(x->t, e ? ", " : "");
        add_address(x, program, step->external[e]);
        pithp_text_print(x->t, " + %lld",
                         (long long)(step->offset[e] * step->fused->externals[e].size));
    }
    pithp_step_name(name, function);
    pithp_text_print(x->t, "};\n            %s(at, 0, %lld);\n        }\n", name,
                     (long long)step->spec->count);
}

static void add_program(const emitting *x, int program, const int32_t *functions) {
    for (int64_t k = 0; k < x->step->plans[program]->step_count; k++)
        add_call(x, program, k, functions[k]);
}

static void add_condition(const emitting *x) {
    pithp_text_add(x->t, "        if (!*(const b8 *)(");
    add_address(x, 0, x->step->plans[0]->program->outputs[0]);
    pithp_text_add(x->t, "))\n            break;\n");
}

static void add_carries(const emitting *x) {
    for (int k = 0; k < x->carried.count; k++)
        if (!hands_on(x->step, k))
            pithp_text_print(
                x->t, "        char *const n%d = c%d == p[%d] ? p[%d] : p[%d];\n", k, k,
                x->table.results + k, x->table.spare + k, x->table.results + k);
}

void pithp_emit_loop(pithp_text *t, const pithp_step *step, const int32_t *functions) {
    const emitting x = {t, step, pithp_loop_layout(step), pithp_carries_of(step->call)};
    const int body = is_while(&x), at = x.table.inputs[body] + carry_input(step->call, 0);
    pithp_text_add(t, "(const void *args, i64 begin, i64 end) {\n"
                      "    char **const p = (char **)args;\n");
    for (int k = 0; k < x.carried.count; k++)
        pithp_text_print(t, "    char *c%d = p[%d];\n", k, at + k);
    if (is_while(&x)) {
        pithp_text_add(t, "    for (;;) {\n");
        add_program(&x, 0, functions);
        add_condition(&x);
    } else {
        pithp_text_print(t,
                         "    for (i64 i = begin; i < end; i++) {\n"
                         "        const i64 t = %s;\n",
                         ((const pithp_loop_params *)step->call->params)->reverse
                             ? "end - 1 - i + begin"
                             : "i");
    }
    add_carries(&x);
    add_program(&x, body, functions + (body ? step->plans[0]->step_count : 0));
    for (int k = 0; k < x.carried.count; k++)
        if (!hands_on(step, k))
            pithp_text_print(t, "        c%d = n%d;\n", k, k);
    pithp_text_add(t, "    }\n");
    for (int k = 0; k < x.carried.count; k++)
        pithp_text_print(t, "    p[%d] = c%d;\n", at + k, k);
    pithp_text_add(t, "}\n");
}
