/* Cuts: inputs all of whose paths to results have a call that is constant almost
 * everywhere. A walk from the results back marks values with a path to a result; a walk
 * from a refused input on finds the calls at which its tangent ends. */
#include "base/format.h"
#include "program/derive/control.h"
#include "program/ir/region.h"

#include <string.h>

/* What a value has: a path to a result; one without a cut. */
enum { REACHES = 1, MOVES = 2 };

enum { NAMED = 3, KEPT = 64 }; /* cut calls of a message, and those told apart */

typedef struct cut_calls {
    pith_scope *s;
    int64_t count;
    const pithp_instruction *list[KEPT];
} cut_calls;

static bool is_float(const pithp_program *p, pithp_value v) {
    return pith_dtype_is_float(pithp_value_spec(p, v)->dtype);
}

/* Zeroed memory in the scope. */
static uint8_t *marks_for(pith_scope *s, int64_t count) {
    uint8_t *marks = pithp_scope_allocate(s, (size_t)count + 1);
    return marks ? memset(marks, 0, (size_t)count + 1) : NULL;
}

/* ---- From the results back ---- */

static bool go_back(pith_scope *s, const pithp_program *p, uint8_t *marks);

static uint8_t result_marks(const pithp_instruction *i, const uint8_t *marks) {
    uint8_t all = 0;
    for (int k = 0; k < i->result_count; k++)
        all |= marks[i->result + k];
    return all;
}

/* The marks of output k of a program, for those of operands: a carry is also an input of
 * the next iteration, and whether there is one decides over all results. */
static uint8_t output_marks(const pithp_regions *r,
                            const pithp_instruction *i,
                            const uint8_t *marks,
                            const uint8_t *operands,
                            int program,
                            int64_t k) {
    if (!pithp_region_yields(r, program))
        return result_marks(i, marks) & REACHES;
    return marks[i->result + k] |
           (k < r->carries.count ? operands[r->carries.first + k] : 0);
}

/* Of all operands: the fixed point of the carries. */
static bool operand_marks(pith_scope *s,
                          const pithp_instruction *i,
                          const uint8_t *marks,
                          uint8_t *operands) {
    const pithp_regions r = pithp_regions_of(i);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < i->program_count; b++) {
            const pithp_program *p = i->programs[b];
            uint8_t *inner = marks_for(s, p->value_count);
            if (!inner)
                return false;
            for (int64_t k = 0; k < p->output_count; k++)
                inner[p->outputs[k]] |= output_marks(&r, i, marks, operands, b, k);
            if (!go_back(s, p, inner))
                return false;
            for (int64_t k = 0; k < p->input_count; k++) {
                uint8_t *of = &operands[pithp_region_operand(&r, b, (int)k)];
                const uint8_t more = inner[p->inputs[k]] & (uint8_t) ~*of;
                *of |= more;
                changed |= more && r.carries.count;
            }
        }
    }
    for (int k = 0; k < r.carries.count; k++)
        operands[r.carries.first + k] |= marks[i->result + k];
    if (i->primitive == PITHP_OP_COND)
        operands[PITHP_COND_INDEX] |= result_marks(i, marks) & REACHES;
    return true;
}

static bool back_through(pith_scope *s,
                         const pithp_program *p,
                         const pithp_instruction *i,
                         uint8_t *marks) {
    const uint8_t all = result_marks(i, marks);
    const pithp_value *of = pithp_operands(p, i);
    if (!all || pithp_tangent_of(i->primitive).kind == PITHP_TANGENT_STOPPED)
        return true;
    if (pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS)) {
        uint8_t *operands = marks_for(s, i->operand_count);
        if (!operands || !operand_marks(s, i, marks, operands))
            return false;
        for (int k = 0; k < i->operand_count; k++)
            marks[of[k]] |= operands[k];
        return true;
    }
    for (int k = 0; k < i->operand_count; k++)
        marks[of[k]] |=
            (all & REACHES) | (all & MOVES && pithp_operand_moves(p, i, k) ? MOVES : 0);
    return true;
}

static bool go_back(pith_scope *s, const pithp_program *p, uint8_t *marks) {
    bool fine = true;
    for (int64_t n = p->instruction_count; n-- > 0 && fine;)
        fine = back_through(s, p, &p->instructions[n], marks);
    return fine;
}

/* ---- From an input on ---- */

static void add_call(cut_calls *c, const pithp_instruction *i) {
    for (int64_t k = 0; k < c->count && k < KEPT; k++)
        if (c->list[k]->primitive == i->primitive && c->list[k]->site == i->site)
            return;
    if (c->count < KEPT)
        c->list[c->count] = i;
    c->count++;
}

static bool find_calls(cut_calls *c, const pithp_program *p, bool *moves, uint8_t *marks);

static bool find_in_programs(cut_calls *c,
                             const pithp_program *p,
                             const pithp_instruction *i,
                             const bool *moves,
                             const uint8_t *marks) {
    const pithp_regions r = pithp_regions_of(i);
    uint8_t *operands = marks_for(c->s, i->operand_count);
    bool *moving = (bool *)marks_for(c->s, i->operand_count + i->result_count);
    if (!operands || !moving || !operand_marks(c->s, i, marks, operands))
        return false;
    for (int k = 0; k < i->operand_count; k++)
        moving[k] = moves[pithp_operands(p, i)[k]];
    if (!pithp_control_moves(c->s, i, moving, moving + i->operand_count))
        return false;
    for (int b = 0; b < i->program_count; b++) {
        const pithp_program *inner = i->programs[b];
        bool *values = (bool *)marks_for(c->s, inner->value_count);
        uint8_t *back = marks_for(c->s, inner->value_count);
        if (!values || !back)
            return false;
        for (int64_t k = 0; k < inner->input_count; k++)
            values[inner->inputs[k]] = moving[pithp_region_operand(&r, b, (int)k)];
        for (int64_t k = 0; k < inner->output_count; k++)
            back[inner->outputs[k]] |= output_marks(&r, i, marks, operands, b, k);
        if (!find_calls(c, inner, values, back))
            return false;
    }
    return true;
}

/* moves: inputs that move; marks: of outputs. */
static bool
find_calls(cut_calls *c, const pithp_program *p, bool *moves, uint8_t *marks) {
    bool fine = pithp_mark_moves(c->s, p, moves) && go_back(c->s, p, marks);
    for (int64_t n = 0; n < p->instruction_count && fine; n++) {
        const pithp_instruction *i = &p->instructions[n];
        if (!result_marks(i, marks) ||
            pithp_tangent_of(i->primitive).kind == PITHP_TANGENT_STOPPED)
            continue;
        if (pithp_op_has(i->primitive, PITHP_TRAIT_REGIONS))
            fine = find_in_programs(c, p, i, moves, marks);
        else
            for (int k = 0; k < i->operand_count; k++)
                if (moves[pithp_operands(p, i)[k]] && !pithp_operand_moves(p, i, k))
                    add_call(c, i);
    }
    return fine;
}

/* ---- The message ---- */

static void refuse(const cut_calls *c, const char *name, int64_t input) {
    char text[PITHP_MESSAGE_BYTES] = "", number[32] = "";
    size_t used = 0;
    const int64_t rest = c->count > NAMED ? c->count - NAMED : 0;
    for (int64_t k = 0; k < c->count && k < NAMED && used < sizeof text / 2; k++) {
        const pithp_instruction *i = c->list[k];
        const char *between = k == 0 ? "" : k + 1 < c->count || rest ? ", " : " and ";
        used +=
            (size_t)pithp_format(text + used, sizeof text - used, "%s%s%s%.100s", between,
                                 pithp_ops[i->primitive].name, i->site ? " at " : "",
                                 i->site ? pithp_site_name(i->site) : "");
    }
    if (rest)
        pithp_format(text + used, sizeof text - used, " and %lld more", (long long)rest);
    if (!name)
        pithp_format(number, sizeof number, "input %lld: ", (long long)input);
    pithp_fail_at(c->s, PITH_E_DERIVATIVE, name, c->count ? c->list[0]->site : NULL,
                  "%severy path to the result is cut, by %s, which %s constant almost "
                  "everywhere; PITH_CUTS_ARE_ZERO makes the derivative 0",
                  number, text, c->count > 1 ? "are" : "is");
}

static bool refuse_input(pith_scope *s,
                         const pithp_program *p,
                         int64_t input,
                         const uint8_t *outputs,
                         const char *name) {
    cut_calls c = {.s = s};
    bool *moves = (bool *)marks_for(s, p->value_count);
    uint8_t *marks = marks_for(s, p->value_count);
    if (!moves || !marks)
        return false;
    moves[p->inputs[input]] = true;
    for (int64_t k = 0; k < p->output_count; k++)
        marks[p->outputs[k]] |= outputs[k];
    if (find_calls(&c, p, moves, marks))
        refuse(&c, name, input);
    return false;
}

/* In a scope of its own. */
static bool check(pith_scope *s,
                  const pithp_program *p,
                  const bool *moving,
                  const pithp_derive_options *options) {
    uint8_t *marks = marks_for(s, p->value_count),
            *outputs = marks_for(s, p->output_count);
    if (!marks || !outputs)
        return false;
    for (int64_t k = 0; k < p->output_count; k++) {
        const bool counts = !options || !options->results || options->results[k];
        outputs[k] = counts ? REACHES | (is_float(p, p->outputs[k]) ? MOVES : 0) : 0;
        marks[p->outputs[k]] |= outputs[k];
    }
    if (!go_back(s, p, marks))
        return false;
    for (int64_t k = 0; k < p->input_count; k++)
        if (moving[k] && marks[p->inputs[k]] == REACHES)
            return refuse_input(s, p, k, outputs,
                                options && options->names ? options->names[k] : NULL);
    return true;
}

bool pithp_program_check_cuts(pith_scope *s,
                              const pithp_program *p,
                              const bool *moving,
                              const pithp_derive_options *options) {
    if (options && options->cuts_are_zero)
        return true;
    pith_scope *work = pith_scope_open_in(s);
    if (!pithp_scope_writable(work)) {
        pithp_fail_memory(s, PITHP_BLOCK_BYTES);
        return false;
    }
    const bool fine = check(work, p, moving, options);
    pith_scope_close(work); /* its error moves to s */
    return fine;
}
