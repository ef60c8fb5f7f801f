/* Forward reachability by dataflow analysis: which values of a program depend on which
 * others.
 *
 * Marks are bit sets. Nested programs of control flow are walked with the marks of their
 * operands; loop bodies are walked to a fixed point of the carries' marks. Marks grow
 * monotonically and persist between walks. So a program is walked again at most once for
 * each bit of each of its inputs, at any nesting depth. */
#include "program/ir/region.h"

#include <string.h>

typedef struct reach {
    const pithp_program *program; /* NULL: not entered yet */
    uint64_t *marked;             /* of its values */
    bool walked;                  /* since an input was last marked */
    struct reach *inner;          /* of the programs of its instructions, in order */
} reach;

static bool walk(pith_scope *s, reach *r);

static void *zeroed(pith_scope *s, int64_t count, size_t each) {
    const size_t bytes = ((size_t)count + 1) * each;
    void *memory = pithp_scope_allocate(s, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

static bool begin(pith_scope *s, reach *r, const pithp_program *p) {
    int64_t inner = 0;
    if (r->program)
        return true;
    for (int64_t k = 0; k < p->instruction_count; k++)
        inner += p->instructions[k].program_count;
    r->program = p;
    r->marked = zeroed(s, p->value_count, sizeof *r->marked);
    r->inner = zeroed(s, inner, sizeof *r->inner);
    return r->marked && r->inner;
}

/* Mark an input; returns whether a bit was added. */
static bool mark_input(reach *r, int64_t input, uint64_t mark) {
    uint64_t *marked = &r->marked[r->program->inputs[input]];
    if (!(mark & ~*marked))
        return false;
    *marked |= mark;
    r->walked = false;
    return true;
}

static uint64_t input_marks(const reach *r, int64_t input) {
    return r->marked[r->program->inputs[input]];
}

static uint64_t output_marks(const reach *r, int64_t output) {
    return r->marked[r->program->outputs[output]];
}

/* Mark the inputs of program b as the operands that it takes. */
static void mark_inputs(reach *to,
                        const reach *r,
                        const pithp_instruction *i,
                        const pithp_regions *layout,
                        int b) {
    const pithp_value *operands = pithp_operands(r->program, i);
    for (int k = 0; k < to->program->input_count; k++)
        mark_input(to, k, r->marked[operands[pithp_region_operand(layout, b, k)]]);
}

/* ---- Control flow ---- */

static void mark_results(reach *r, const pithp_instruction *i, uint64_t marks) {
    for (int32_t k = 0; k < i->result_count; k++)
        r->marked[i->result + k] |= marks;
}

static bool walk_cond(pith_scope *s, reach *r, const pithp_instruction *i, reach *inner) {
    const pithp_regions layout = pithp_regions_of(i);
    mark_results(r, i, r->marked[pithp_operands(r->program, i)[PITHP_COND_INDEX]]);
    for (int32_t b = 0; b < i->program_count; b++) {
        mark_inputs(&inner[b], r, i, &layout, b);
        if (!walk(s, &inner[b]))
            return false;
        for (int32_t k = 0; k < i->result_count; k++)
            r->marked[i->result + k] |= output_marks(&inner[b], k);
    }
    return true;
}

/* Walk the body of a loop until no carry is marked anew, and mark the results. */
static bool walk_body(pith_scope *s,
                      reach *r,
                      const pithp_instruction *i,
                      const pithp_regions *layout,
                      reach *body) {
    const int first = pithp_region_first_carry(layout, layout->body);
    const int carries = layout->carries.count;
    mark_inputs(body, r, i, layout, layout->body);
    for (bool changed = true; changed;) {
        if (!walk(s, body))
            return false;
        changed = false;
        for (int k = 0; k < carries; k++)
            changed |= mark_input(body, first + k, output_marks(body, k));
    }
    for (int32_t k = 0; k < i->result_count; k++)
        r->marked[i->result + k] |=
            k < carries ? input_marks(body, first + k) : output_marks(body, k);
    return true;
}

static bool walk_scan(pith_scope *s, reach *r, const pithp_instruction *i, reach *body) {
    const pithp_regions layout = pithp_regions_of(i);
    return walk_body(s, r, i, &layout, body);
}

/* The number of iterations may depend on marked values; then all carries do. */
static bool
walk_while(pith_scope *s, reach *r, const pithp_instruction *i, reach *inner) {
    const pithp_regions layout = pithp_regions_of(i);
    const int to = pithp_region_first_carry(&layout, 0),
              from = pithp_region_first_carry(&layout, layout.body);
    reach *cond = &inner[0], *body = &inner[layout.body];
    if (!walk_body(s, r, i, &layout, body))
        return false;
    mark_inputs(cond, r, i, &layout, 0);
    for (int k = 0; k < layout.carries.count; k++)
        mark_input(cond, to + k, input_marks(body, from + k));
    if (!walk(s, cond))
        return false;
    mark_results(r, i, output_marks(cond, 0));
    return true;
}

static uint64_t operand_marks(const reach *r, const pithp_instruction *i) {
    const pithp_value *operands = pithp_operands(r->program, i);
    uint64_t marks = 0;
    for (int32_t k = 0; k < i->operand_count; k++)
        marks |= r->marked[operands[k]];
    return marks;
}

static bool
walk_control(pith_scope *s, reach *r, const pithp_instruction *i, reach *inner) {
    for (int32_t k = 0; k < i->program_count; k++)
        if (!begin(s, &inner[k], i->programs[k]))
            return false;
    switch ((int)i->primitive) {
        case PITHP_OP_COND:
            return walk_cond(s, r, i, inner);
        case PITHP_OP_SCAN:
            return walk_scan(s, r, i, inner);
        case PITHP_OP_WHILE:
            return walk_while(s, r, i, inner);
        default:
            mark_results(r, i, operand_marks(r, i));
            return true;
    }
}

/* ---- Programs ---- */

/* Propagate marks through a program. False sets the error. */
static bool walk(pith_scope *s, reach *r) {
    const pithp_program *p = r->program;
    reach *inner = r->inner;
    if (r->walked)
        return true;
    r->walked = true;
    for (int64_t k = 0; k < p->instruction_count; k++) {
        const pithp_instruction *i = &p->instructions[k];
        const uint64_t marks = operand_marks(r, i);
        if (marks) {
            if (!i->program_count)
                mark_results(r, i, marks);
            else if (!walk_control(s, r, i, inner))
                return false;
        }
        inner += i->program_count;
    }
    return true;
}

static pith_scope *open_work(pith_scope *s) {
    pith_scope *work = pith_scope_open_in(s);
    if (pithp_scope_writable(work))
        return work;
    pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    return NULL;
}

bool pithp_program_reach(pith_scope *s,
                         const pithp_program *p,
                         const bool *inputs,
                         bool *outputs) {
    pith_scope *work = open_work(s);
    reach r = {0};
    bool fine = work && begin(work, &r, p);
    for (int64_t k = 0; k < p->input_count && fine; k++)
        mark_input(&r, k, inputs[k]);
    fine = fine && walk(work, &r);
    for (int64_t k = 0; k < p->output_count && fine; k++)
        outputs[k] = output_marks(&r, k) != 0;
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return fine;
}

bool pithp_program_follow(pith_scope *s, const pithp_program *p, uint64_t *marks) {
    pith_scope *work = open_work(s);
    reach r = {0};
    bool fine = work && begin(work, &r, p);
    if (fine)
        r.marked = marks;
    fine = fine && walk(work, &r);
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return fine;
}
