/* Control flow: branches and loops run the plans of their programs. */
#include "program/emit/loop.h"
#include "program/exec/exec.h"
#include "program/exec/late.h"
#include "program/exec/watch.h"
#include "program/ir/region.h"

#include <string.h>

/* A running step: its memory, and the addresses of its programs' inputs and outputs. */
typedef struct frame {
    const pithp_exec *outer;
    const pithp_step *step;
    const pithp_value *operands;
    pithp_regions regions;
    char *workspace;       /* of the step */
    const void **current;  /* current addresses of the carries */
    const void **pointers; /* free addresses after them */
} frame;

static frame open_frame(const pithp_exec *r, const pithp_step *step) {
    const pithp_regions regions = pithp_regions_of(step->call);
    return (frame){.outer = r,
                   .step = step,
                   .regions = regions,
                   .operands = pithp_operands(r->plan->program, step->call),
                   .workspace =
                       step->temporary_bytes ? r->workspace + step->temporary : NULL,
                   .current = r->pointers,
                   .pointers = r->pointers + regions.carries.count};
}

static void *operand_at(const frame *f, int k) {
    return pithp_address(f->outer, f->operands[k]);
}
/* Memory of a result; the forwarded place of a forwarded one. */
static void *result_at(const frame *f, int k) {
    const pithp_plan *plan = f->outer->plan;
    pithp_place place = plan->places[f->step->call->result + k];
    if (place.store == PITHP_FORWARDED)
        place = plan->forwarded_places[place.at];
    return pithp_place_address(f->outer, place);
}
static bool is_forwarded(const frame *f, int k) {
    return f->outer->plan->places[f->step->call->result + k].store == PITHP_FORWARDED;
}
/* Record the address of a forwarded result. */
static void record_forwarded(const frame *f, int k, const void *at) {
    const pithp_place place = f->outer->plan->places[f->step->call->result + k];
    f->outer->forwarded[place.at] = at;
}
static const pith_spec *result_spec(const frame *f, int k) {
    return f->outer->plan->program->values[f->step->call->result + k].spec;
}

/* Prepare a run of a program; the caller fills in its inputs and outputs. */
static pithp_exec program_of(const frame *f, int k) {
    pithp_executable *x = &f->outer->x->programs[f->step->first_program + k];
    const pithp_plan *plan = x->plan;
    const int64_t inputs = plan->program->input_count;
    const int64_t outputs = plan->program->output_count;
    return (pithp_exec){.s = f->outer->s,
                        .x = x,
                        .plan = plan,
                        .code = pithp_executable_code(f->outer->s, x),
                        .inputs = f->pointers,
                        .outputs = (void **)(f->pointers + inputs),
                        .workspace = f->workspace,
                        .host = f->outer->host,
                        .watch = f->outer->watch,
                        .forwarded = f->pointers + inputs + outputs,
                        .pointers =
                            f->pointers + inputs + outputs + plan->forwarded_count};
}

/* Read a scalar integer or bool from the device; waits. */
static pith_status
read_integer(pith_scope *s, pith_dtype dtype, const void *at, int64_t *value) {
    uint64_t bits = 0;
    pith_status rc = PITH_OK;
    if (pithp_scope_device(s)->immediate)
        memcpy(&bits, at, pith_dtype_size(dtype));
    else
        rc = pithp_copy_out(s, &bits, at, pith_dtype_size(dtype));
    const int unused = 64 - 8 * (int)pith_dtype_size(dtype);
    if (pithp_dtype_is_signed(dtype))
        *value = (int64_t)(bits << unused) >> unused;
    else
        *value = bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    return rc;
}

/* Pass the constants of program b to it. */
static void pass_constants(const frame *f, int b) {
    int first;
    for (int g = 0; g < PITHP_OPERAND_GROUPS; g++) {
        const pithp_operand_group *group = &f->regions.groups[g];
        if (group->role == PITHP_OPERAND_CONSTANT &&
            pithp_region_takes(&f->regions, b, g, &first))
            for (int k = 0; k < group->count; k++)
                f->pointers[first + k] = operand_at(f, group->first + k);
    }
}

/* Pass the present carries to program b. */
static void pass_carries(const frame *f, int b) {
    const int first = pithp_region_first_carry(&f->regions, b);
    for (int k = 0; k < f->regions.carries.count; k++)
        f->pointers[first + k] = f->current[k];
}

static pith_status run_cond(const frame *f) {
    const pithp_instruction *i = f->step->call;
    int64_t index;
    const pith_dtype dtype =
        pithp_value_spec(f->outer->plan->program, f->operands[PITHP_COND_INDEX])->dtype;
    pith_status rc =
        read_integer(f->outer->s, dtype, operand_at(f, PITHP_COND_INDEX), &index);
    if (rc != PITH_OK)
        return rc;
    index = index < 0 ? 0 : index >= i->program_count ? i->program_count - 1 : index;
    pithp_exec r = program_of(f, (int)index);
    pass_constants(f, (int)index);
    for (int k = 0; k < i->result_count; k++)
        r.outputs[k] = result_at(f, k);
    rc = pithp_run_steps(&r);
    for (int k = 0; k < i->result_count && rc == PITH_OK; k++) {
        const bool stays = is_forwarded(f, k) && pithp_is_forwarded(&r, k);
        if (!stays)
            rc = pithp_materialise(&r, k);
        if (is_forwarded(f, k))
            record_forwarded(f, k, stays ? pithp_output_address(&r, k) : r.outputs[k]);
    }
    return rc;
}

/* ---- Loops ---- */

/* Double buffering: the body writes a carry to the result or to the second buffer,
 * whichever is not being read. */
static void choose_buffers(const frame *f, pithp_exec *r) {
    char *spare = f->workspace + f->step->programs_bytes;
    for (int k = 0; k < f->regions.carries.count; k++) {
        const bool in_place = pithp_carry_in_place(f->step, k);
        void *result = result_at(f, k);
        r->outputs[k] = f->current[k] == result && !in_place ? spare : result;
        if (!in_place) /* same layout as pithp_spare_offset */
            spare += pithp_aligned(result_spec(f, k)->bytes);
    }
}

/* Update the addresses of the carries after an iteration. A forwarded carry keeps its
 * address. */
static pith_status advance(const frame *f, const pithp_exec *r) {
    const int count = f->regions.carries.count;
    pith_status rc = PITH_OK;
    for (int k = 0; k < count && rc == PITH_OK; k++)
        if (pithp_output_address(r, k) != f->current[k])
            rc = pithp_materialise(r, k);
    for (int k = 0; k < count; k++)
        if (pithp_output_address(r, k) != f->current[k])
            f->current[k] = r->outputs[k];
    return rc;
}

static pith_status finish(const frame *f) {
    const pithp_operand_group c = f->regions.carries;
    pith_status rc = PITH_OK;
    for (int k = 0; k < c.count && rc == PITH_OK; k++) {
        const size_t bytes = result_spec(f, k)->bytes;
        void *result = result_at(f, k);
        const bool stays =
            is_forwarded(f, k) && f->current[k] == operand_at(f, c.first + k);
        if (is_forwarded(f, k))
            record_forwarded(f, k, stays ? f->current[k] : result);
        if (!stays && f->current[k] != result && bytes)
            rc = pithp_copy(f->outer->s, result, f->current[k], bytes);
    }
    return rc;
}

/* Set the initial addresses of the carries. A carry that the body updates in place is
 * copied to the result first. */
static pith_status begin_carries(const frame *f) {
    const pithp_operand_group c = f->regions.carries;
    pith_status rc = PITH_OK;
    for (int k = 0; k < c.count && rc == PITH_OK; k++) {
        const void *at = operand_at(f, c.first + k);
        void *result = result_at(f, k);
        f->current[k] = at;
        if (!pithp_carry_in_place(f->step, k))
            continue;
        f->current[k] = result;
        if (at != result && result_spec(f, k)->bytes)
            rc = pithp_copy(f->outer->s, result, at, result_spec(f, k)->bytes);
    }
    return rc;
}

/* ---- Compiled loops ---- */

/* The compiled code of a loop. NULL: there is none, or the device is not immediate. */
static pithp_host_loop loop_of(const frame *f) {
    const pithp_compiled *code = f->outer->code;
    return code && pithp_scope_device(f->outer->s)->immediate
               ? code->steps[f->step - f->outer->plan->steps].loops[0]
               : NULL;
}

/* Call the code of a loop; if the run is timed, credit the time of its steps. */
static void run_loop(const frame *f, pithp_host_loop loop, int64_t begin, int64_t end) {
    static const pithp_loop_calls calls = {.step = pithp_step_call, .ticks = pithp_ticks};
    const pithp_exec *r = f->outer;
    pithp_tally tally;
    if (PITHP_LIKELY(!r->watch)) {
        pithp_loop_fill(r->s, f->step, &calls, NULL, f->pointers);
        loop(f->pointers, begin, end);
        return;
    }
    pithp_loop_fill(r->s, f->step, &calls, &tally, f->pointers);
    pithp_tally_begin(&tally);
    loop(f->pointers, begin, end);
    pithp_tally_end(&tally, r->watch, f->step);
}

/* Run all iterations, or those of a range, in one call. */
static pith_status
run_compiled(const frame *f, pithp_host_loop loop, int64_t begin, int64_t end) {
    const pithp_instruction *i = f->step->call;
    const void **at = f->pointers;
    for (int k = 0; k < i->operand_count; k++)
        *at++ = operand_at(f, k);
    for (int k = 0; k < i->result_count; k++)
        *at++ = result_at(f, k);
    *at = f->workspace;
    run_loop(f, loop, begin, end);
    if (f->outer->s->error.code != PITH_OK)
        return f->outer->s->error.code;
    for (int k = 0; k < i->result_count; k++) {
        const int operand = pithp_forwarded_operand(i, k);
        if (is_forwarded(f, k))
            record_forwarded(f, k,
                             operand < 0 ? result_at(f, k) : operand_at(f, operand));
    }
    return PITH_OK;
}

static pith_status evaluate_condition(const frame *f, bool *continues) {
    pithp_exec r = program_of(f, 0);
    int64_t truth = 0;
    pass_constants(f, 0);
    pass_carries(f, 0);
    r.outputs[0] = f->workspace + f->step->programs_bytes - PITHP_FLAG_BYTES;
    pith_status rc = pithp_run_steps(&r);
    if (rc == PITH_OK)
        rc = read_integer(r.s, PITH_BOOL, pithp_output_address(&r, 0), &truth);
    *continues = truth != 0;
    return rc;
}

static pith_status run_while(const frame *f) {
    bool continues = true;
    const pithp_host_loop loop = loop_of(f);
    if (loop)
        return run_compiled(f, loop, 0, 1);
    pith_status rc = begin_carries(f);
    if (rc == PITH_OK)
        rc = evaluate_condition(f, &continues);
    while (rc == PITH_OK && continues) {
        pithp_exec r = program_of(f, f->regions.body);
        pass_constants(f, f->regions.body);
        pass_carries(f, f->regions.body);
        choose_buffers(f, &r);
        rc = pithp_run_steps(&r);
        if (rc == PITH_OK)
            rc = advance(f, &r);
        if (rc == PITH_OK)
            rc = evaluate_condition(f, &continues);
    }
    return rc == PITH_OK ? finish(f) : rc;
}

static pith_status
run_iterations(const frame *f, pithp_host_loop loop, int64_t begin, int64_t end) {
    const pithp_instruction *i = f->step->call;
    const pithp_loop_params *l = i->params;
    const pithp_operand_group xs = f->regions.groups[PITHP_SCAN_XS];
    const int carries = f->regions.carries.count;
    if (loop)
        return run_compiled(f, loop, begin, end);
    pithp_exec r = program_of(f, 0);
    const pithp_program *p = r.plan->program;
    pith_status rc = begin_carries(f);
    pass_constants(f, 0);
    for (int64_t t = begin; t < end && rc == PITH_OK; t++) {
        const size_t at = (size_t)(l->reverse ? l->length - 1 - t : t);
        pass_carries(f, 0);
        for (int k = xs.first; k < xs.first + xs.count; k++) /* operands are inputs */
            f->pointers[k] =
                (char *)operand_at(f, k) + at * pithp_value_spec(p, p->inputs[k])->bytes;
        choose_buffers(f, &r);
        for (int k = carries; k < i->result_count; k++)
            r.outputs[k] =
                (char *)result_at(f, k) + at * pithp_value_spec(p, p->outputs[k])->bytes;
        rc = pithp_run_steps(&r);
        for (int k = carries; k < i->result_count && rc == PITH_OK; k++)
            rc = pithp_materialise(&r, k);
        if (rc == PITH_OK)
            rc = advance(f, &r);
    }
    return rc == PITH_OK ? finish(f) : rc;
}

/* ---- Ranges of iterations, on threads ---- */

typedef struct ranges {
    const frame *f;
    pithp_host_loop loop; /* or NULL */
    size_t pointers;      /* of a range */
    pith_scope **scopes;  /* of each range: errors of one are not those of another */
} ranges;

/* Run the ranges begin..end of a loop: a host loop over ranges. */
static void run_ranges(const void *args, int64_t begin, int64_t end) {
    const ranges *all = args;
    const frame *whole = all->f;
    const int64_t length = ((const pithp_loop_params *)whole->step->call->params)->length,
                  count = whole->step->ranges;
    for (int64_t k = begin; k < end; k++) {
        pithp_exec outer = *whole->outer;
        frame f = *whole;
        outer.s = all->scopes[k];
        f.outer = &outer;
        f.workspace += (size_t)k * f.step->programs_bytes;
        f.pointers += (size_t)k * all->pointers;
        run_iterations(&f, all->loop, length * k / count, length * (k + 1) / count);
    }
}

/* The first error of a range becomes that of the scope. */
static pith_status share_iterations(const frame *f) {
    static const pithp_host_loop loops[PITHP_ISA_COUNT] = {run_ranges};
    pith_scope *s = f->outer->s, *scopes[PITHP_RANGES];
    const ranges all = {f, loop_of(f), pithp_range_pointers(f->outer->x, f->step),
                        scopes};
    const pithp_launch launch = {.name = "scan",
                                 .loops = loops,
                                 .args = &all,
                                 .args_bytes = sizeof all,
                                 .count = f->step->ranges,
                                 .grain = 1};
    int opened = 0;
    while (opened < f->step->ranges && (scopes[opened] = pith_scope_open_in(s)))
        opened++;
    const bool fine = opened == f->step->ranges && s->error.code == PITH_OK;
    if (fine)
        pithp_launch_run(s, &launch);
    for (int k = 0; k < opened; k++)
        pith_scope_close(scopes[k]);
    if (!fine && pithp_late_take(s)) /* no memory: one after the other */
        return run_iterations(f, all.loop, 0,
                              ((const pithp_loop_params *)f->step->call->params)->length);
    return s->error.code;
}

static pith_status run_scan(const frame *f) {
    const int64_t length = ((const pithp_loop_params *)f->step->call->params)->length;
    return f->step->ranges > 1 && !f->outer->watch
               ? share_iterations(f)
               : run_iterations(f, loop_of(f), 0, length);
}

pith_status pithp_run_control(const pithp_exec *r, const pithp_step *step) {
    const frame f = open_frame(r, step);
    switch ((int)step->call->primitive) {
        case PITHP_OP_COND:
            return run_cond(&f);
        case PITHP_OP_WHILE:
            return run_while(&f);
        case PITHP_OP_SCAN:
            return run_scan(&f);
        default:
            PITH_ASSERT(false);
            return PITH_E_INTERNAL;
    }
}
