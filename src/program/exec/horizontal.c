/* Horizontal fusion on the host: equal steps on many arrays as one launch over all of
 * their elements. Arrays that are adjacent in memory run in one loop. */
#include "program/exec/horizontal.h"

#include "program/op/thresholds.h"
#include "program/plan/hazard.h"

#include <string.h>

/* ---- Finding ---- */

typedef struct finding {
    const pithp_plan *plan;
    pithp_compiled *code;
    const int32_t *functions;
    pithp_stamps *memory;
} finding;

/* The number of steps from `first` on that call the same function and are independent. */
static int64_t count_steps(const finding *f, int64_t first) {
    int64_t end = first;
    while (end < f->plan->step_count && f->code->steps[end].direct &&
           f->functions[end] == f->functions[first] &&
           pithp_step_is_independent(f->plan, f->memory, first, end))
        pithp_step_stamp(f->plan, f->memory, end++);
    return end - first;
}

/* ---- Making ---- */

static size_t parts_bytes(int64_t parts) {
    return sizeof(pithp_batch) + (size_t)(parts + 1) * sizeof(pithp_batch_part);
}
static size_t bytes_of(int64_t parts, int varying) {
    return parts_bytes(parts) +
           (size_t)parts * (size_t)varying * sizeof(pithp_compiled_address) +
           2 * (size_t)varying * sizeof(uint16_t);
}

void pithp_batch_free(pith_runtime *rt, pithp_batch *b) {
    if (b)
        pithp_release(rt, b, bytes_of(b->part_count, b->varying));
}

static const pithp_compiled_address *
addresses_of(const finding *f, int64_t step, int external) {
    return &f->code->addresses[f->code->steps[step].first_address + external];
}

/* Whether an external has the same address in all steps. */
static bool is_fixed(const finding *f, int64_t first, int64_t steps, int e) {
    const pithp_compiled_address *a = addresses_of(f, first, e);
    bool fixed = true;
    for (int64_t k = 1; k < steps && fixed; k++) {
        const pithp_compiled_address *b = addresses_of(f, first + k, e);
        fixed = a->table == b->table && a->index == b->index && a->offset == b->offset;
    }
    return fixed;
}

/* Whether a step's table entries follow those of the step before. */
static bool
is_neighbour(const finding *f, int64_t step, const uint16_t *which, int varying) {
    const pithp_step *steps = f->plan->steps;
    bool neighbour = steps[step].spec->count == steps[step - 1].spec->count;
    for (int v = 0; v < varying && neighbour; v++) {
        const pithp_compiled_address *a = addresses_of(f, step - 1, which[v]),
                                     *b = addresses_of(f, step, which[v]);
        neighbour = a->table == b->table && a->table != PITHP_TABLE_FIXED &&
                    b->index == a->index + 1 && a->offset == b->offset;
    }
    return neighbour;
}

static int64_t count_parts(const finding *f,
                           int64_t first,
                           int64_t steps,
                           const uint16_t *which,
                           int n) {
    int64_t parts = 1;
    for (int64_t k = 1; k < steps; k++)
        parts += !is_neighbour(f, first + k, which, n);
    return parts;
}

static void fill_parts(const finding *f, pithp_batch *b, int64_t first) {
    pithp_compiled_address *at = b->addresses;
    int64_t begin = 0, parts = 0;
    for (int64_t k = 0; k < b->steps; k++) {
        const int64_t elements = f->plan->steps[first + k].spec->count;
        if (k == 0 || !is_neighbour(f, first + k, b->which, b->varying)) {
            b->parts[parts++] =
                (pithp_batch_part){.begin = begin, .elements = elements, .first = at};
            for (int v = 0; v < b->varying; v++)
                *at++ = *addresses_of(f, first + k, b->which[v]);
        }
        begin += elements;
    }
    b->parts[parts] = (pithp_batch_part){.begin = begin};
}

static pithp_batch *make(const finding *f, int64_t first, int64_t steps) {
    const pithp_fused_step *a = f->plan->steps[first].fused;
    uint16_t which[PITHP_FUSED_EXTERNALS];
    int varying = 0;
    for (int e = 0; e < a->external_count; e++)
        if (!is_fixed(f, first, steps, e))
            which[varying++] = (uint16_t)e;
    const int64_t parts = count_parts(f, first, steps, which, varying);
    pithp_batch *b = pithp_allocate(f->plan->runtime, bytes_of(parts, varying));
    if (!b)
        return NULL;
    *b = (pithp_batch){.steps = steps,
                       .part_count = parts,
                       .varying = varying,
                       .externals = a->external_count,
                       .loop = f->code->steps[first].loops[0],
                       .first = addresses_of(f, first, 0)};
    b->addresses = (pithp_compiled_address *)(void *)((char *)b + parts_bytes(parts));
    b->which = (uint16_t *)(void *)(b->addresses + parts * varying);
    b->size = b->which + varying;
    for (int v = 0; v < varying; v++) {
        const pithp_external *x = &a->externals[which[v]];
        b->which[v] = which[v];
        b->size[v] = x->access == PITHP_ACCESS_FLAT ? x->size : 0;
    }
    fill_parts(f, b, first);
    return b;
}

void pithp_batches_find(const pithp_plan *plan,
                        pithp_compiled *code,
                        const int32_t *functions) {
    const size_t pieces =
        (size_t)(plan->program->input_count + plan->program->output_count);
    const size_t bytes = (pieces + 1) * sizeof(pithp_stamps);
    if (plan->step_count < PITHP_BATCH_LEAST_STEPS)
        return;
    finding f = {plan, code, functions, pithp_allocate(plan->runtime, bytes)};
    if (!f.memory)
        return; /* the steps run one by one */
    memset(f.memory, 0, bytes);
    for (int64_t k = 0, steps; k < plan->step_count; k += steps) {
        steps = count_steps(&f, k);
        if (steps >= PITHP_BATCH_LEAST_STEPS)
            code->steps[k].batch = make(&f, k, steps);
        else
            steps = 1;
    }
    pithp_release(plan->runtime, f.memory, bytes);
}

/* ---- Running ---- */

typedef struct batch_args {
    const pithp_batch *batch;
    const void *const *tables[PITHP_TABLE_COUNT];
} batch_args;

static inline uintptr_t resolve(const batch_args *a, const pithp_compiled_address *from) {
    return (uintptr_t)a->tables[from->table][from->index] + from->offset;
}

/* The range that contains an element, by binary search. */
static int64_t find_part(const pithp_batch *b, int64_t element) {
    int64_t low = 0, high = b->part_count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(b->parts[middle].begin <= element ? &low : &high) = middle;
    }
    return low;
}

/* The first step after `step` whose address does not follow the elements of the step
 * before it; `most` if there is none. */
static int64_t
end_of_run(const void *const *addresses, int64_t step, int64_t most, uintptr_t bytes) {
    enum { AT_ONCE = 32 };
    for (; step + AT_ONCE < most; step += AT_ONCE) {
        uintptr_t apart = 0; /* no branches, so that the loop is vectorised */
        for (int64_t k = step; k < step + AT_ONCE; k++)
            apart |= (uintptr_t)addresses[k + 1] - (uintptr_t)addresses[k] - bytes;
        if (apart)
            break;
    }
    while (++step < most &&
           (uintptr_t)addresses[step] == (uintptr_t)addresses[step - 1] + bytes)
        ;
    return step;
}

/* Run elements begin to end of a range. at: the addresses of all externals; those of the
 * others than the varying ones are already set. */
static void run_part(const batch_args *a,
                     const pithp_batch_part *part,
                     int64_t begin,
                     int64_t end,
                     uintptr_t *at) {
    const pithp_batch *b = a->batch;
    const void *const *addresses[PITHP_FUSED_EXTERNALS];
    int64_t runs[PITHP_FUSED_EXTERNALS]; /* the steps before it are adjacent in memory */
    const int64_t most = (end + part->elements - 1) / part->elements;
    int64_t step = begin / part->elements;
    for (int v = 0; v < b->varying; v++) {
        const pithp_compiled_address *first = &part->first[v];
        addresses[v] = &a->tables[first->table][first->index];
        runs[v] = step;
    }
    while (begin < end) {
        int64_t next = most;
        for (int v = 0; v < b->varying; v++) {
            if (runs[v] == step)
                runs[v] = end_of_run(addresses[v], step, most,
                                     (uintptr_t)part->elements * b->size[v]);
            next = runs[v] < next ? runs[v] : next;
            at[b->which[v]] = (uintptr_t)addresses[v][step] + part->first[v].offset;
        }
        const int64_t start = step * part->elements, stop = next * part->elements;
        b->loop(at, begin - start, (stop < end ? stop : end) - start);
        begin = stop;
        step = next;
    }
}

static void run(const void *args, int64_t begin, int64_t end) {
    const batch_args *a = args;
    const pithp_batch *b = a->batch;
    uintptr_t at[PITHP_FUSED_EXTERNALS];
    for (int e = 0; e < b->externals; e++)
        at[e] = resolve(a, &b->first[e]);
    for (int64_t k = find_part(b, begin); k < b->part_count; k++) {
        const pithp_batch_part *part = &b->parts[k];
        const int64_t stop = part[1].begin < end ? part[1].begin : end;
        if (part->begin >= end)
            break;
        if (part->elements)
            run_part(a, part, begin > part->begin ? begin - part->begin : 0,
                     stop - part->begin, at);
    }
}

pith_status pithp_batch_run(const pithp_exec *r, const pithp_batch *b) {
    static const pithp_host_loop loops[PITHP_ISA_COUNT] = {run};
    const void *const fixed[PITHP_FIXED_COUNT] = {[PITHP_FIXED_WORKSPACE] = r->workspace};
    const batch_args args = {b,
                             {[PITHP_TABLE_INPUTS] = r->inputs,
                              [PITHP_TABLE_OUTPUTS] = (const void *const *)r->outputs,
                              [PITHP_TABLE_PASSED] = r->passed,
                              [PITHP_TABLE_FIXED] = fixed}};
    const pithp_launch launch = {.name = "batch",
                                 .loops = loops,
                                 .args = &args,
                                 .args_bytes = sizeof args,
                                 .count = b->parts[b->part_count].begin};
    return pithp_launch_run(r->s, &launch);
}
