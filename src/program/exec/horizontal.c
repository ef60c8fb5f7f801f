/* Horizontal fusion on the host: equal steps on many arrays as one launch over all of
 * their elements. Arrays that are adjacent in memory run in one loop. */
#include "program/exec/horizontal.h"

#include "program/op/thresholds.h"
#include "program/plan/hazard.h"

#include <string.h>

/* ---- Finding ---- */

typedef struct search {
    const pithp_plan *plan;
    pithp_compiled *code;
    const int32_t *functions;
    pithp_stamps *memory;
} search;

/* The number of steps from `first` on that call the same function and are independent;
 * 1: too few. */
static int64_t count_steps(const search *f, int64_t first) {
    int64_t end = first;
    while (end < f->plan->step_count && f->code->steps[end].direct &&
           f->functions[end] == f->functions[first] &&
           pithp_step_is_independent(f->plan, f->memory, first, end))
        pithp_step_stamp(f->plan, f->memory, end++);
    if (end - first >= PITHP_HORIZONTAL_LEAST_STEPS)
        return end - first;
    for (int64_t k = first; k < end; k++) /* the next search begins within these steps */
        pithp_step_unstamp(f->plan, f->memory, k);
    return 1;
}

/* ---- Making ---- */

static size_t ranges_bytes(int64_t ranges) {
    return sizeof(pithp_horizontal) +
           (size_t)(ranges + 1) * sizeof(pithp_horizontal_range);
}
static size_t bytes_of(int64_t ranges, int varying) {
    return ranges_bytes(ranges) +
           (size_t)ranges * (size_t)varying * sizeof(pithp_compiled_address) +
           2 * (size_t)varying * sizeof(uint16_t);
}

void pithp_horizontal_free(pith_runtime *rt, pithp_horizontal *h) {
    if (h)
        pithp_release(rt, h, bytes_of(h->range_count, h->varying));
}

static const pithp_compiled_address *
addresses_of(const search *f, int64_t step, int external) {
    return &f->code->addresses[f->code->steps[step].first_address + external];
}

/* Whether an external has the same address in all steps. */
static bool is_fixed(const search *f, int64_t first, int64_t steps, int e) {
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
is_neighbour(const search *f, int64_t step, const uint16_t *which, int varying) {
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

static int64_t count_ranges(const search *f,
                            int64_t first,
                            int64_t steps,
                            const uint16_t *which,
                            int n) {
    int64_t ranges = 1;
    for (int64_t k = 1; k < steps; k++)
        ranges += !is_neighbour(f, first + k, which, n);
    return ranges;
}

static void fill_ranges(const search *f, pithp_horizontal *h, int64_t first) {
    pithp_compiled_address *at = h->addresses;
    int64_t begin = 0, ranges = 0;
    for (int64_t k = 0; k < h->steps; k++) {
        const int64_t elements = f->plan->steps[first + k].spec->count;
        if (k == 0 || !is_neighbour(f, first + k, h->which, h->varying)) {
            h->ranges[ranges++] = (pithp_horizontal_range){
                .begin = begin, .elements = elements, .first = at};
            for (int v = 0; v < h->varying; v++)
                *at++ = *addresses_of(f, first + k, h->which[v]);
        }
        begin += elements;
    }
    h->ranges[ranges] = (pithp_horizontal_range){.begin = begin};
}

static pithp_horizontal *make(const search *f, int64_t first, int64_t steps) {
    const pithp_fused_step *a = f->plan->steps[first].fused;
    uint16_t which[PITHP_FUSED_EXTERNALS];
    int varying = 0;
    for (int e = 0; e < a->external_count; e++)
        if (!is_fixed(f, first, steps, e))
            which[varying++] = (uint16_t)e;
    const int64_t ranges = count_ranges(f, first, steps, which, varying);
    pithp_horizontal *h = pithp_allocate(f->plan->runtime, bytes_of(ranges, varying));
    if (!h)
        return NULL;
    *h = (pithp_horizontal){.steps = steps,
                            .range_count = ranges,
                            .varying = varying,
                            .externals = a->external_count,
                            .loop = f->code->steps[first].loops[0],
                            .first = addresses_of(f, first, 0)};
    h->addresses = (pithp_compiled_address *)(void *)((char *)h + ranges_bytes(ranges));
    h->which = (uint16_t *)(void *)(h->addresses + ranges * varying);
    h->size = h->which + varying;
    for (int v = 0; v < varying; v++) {
        const pithp_external *x = &a->externals[which[v]];
        h->which[v] = which[v];
        h->size[v] = x->access == PITHP_ACCESS_FLAT ? x->size : 0;
    }
    fill_ranges(f, h, first);
    return h;
}

void pithp_horizontal_find(const pithp_plan *plan,
                           pithp_compiled *code,
                           const int32_t *functions) {
    const size_t memories =
        (size_t)(plan->program->input_count + plan->program->output_count);
    const size_t bytes = (memories + 1) * sizeof(pithp_stamps);
    if (plan->step_count < PITHP_HORIZONTAL_LEAST_STEPS)
        return;
    search f = {plan, code, functions, pithp_allocate(plan->runtime, bytes)};
    if (!f.memory)
        return; /* the steps run one by one */
    memset(f.memory, 0, bytes);
    for (int64_t k = 0, steps; k < plan->step_count; k += steps) {
        steps = count_steps(&f, k);
        if (steps > 1)
            code->steps[k].horizontal = make(&f, k, steps);
    }
    pithp_release(plan->runtime, f.memory, bytes);
}

/* ---- Running ---- */

typedef struct launch_args {
    const pithp_horizontal *horizontal;
    const void *const *tables[PITHP_TABLE_COUNT];
} launch_args;

static inline uintptr_t resolve(const launch_args *a,
                                const pithp_compiled_address *from) {
    return (uintptr_t)a->tables[from->table][from->index] + from->offset;
}

/* The range that contains an element, by binary search. */
static int64_t find_range(const pithp_horizontal *h, int64_t element) {
    int64_t low = 0, high = h->range_count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(h->ranges[middle].begin <= element ? &low : &high) = middle;
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
static void run_range(const launch_args *a,
                      const pithp_horizontal_range *range,
                      int64_t begin,
                      int64_t end,
                      uintptr_t *at) {
    const pithp_horizontal *h = a->horizontal;
    const void *const *addresses[PITHP_FUSED_EXTERNALS];
    int64_t runs[PITHP_FUSED_EXTERNALS]; /* the steps before it are adjacent in memory */
    const int64_t most = (end + range->elements - 1) / range->elements;
    int64_t step = begin / range->elements;
    for (int v = 0; v < h->varying; v++) {
        const pithp_compiled_address *first = &range->first[v];
        addresses[v] = &a->tables[first->table][first->index];
        runs[v] = step;
    }
    while (begin < end) {
        int64_t next = most;
        for (int v = 0; v < h->varying; v++) {
            if (runs[v] == step)
                runs[v] = end_of_run(addresses[v], step, most,
                                     (uintptr_t)range->elements * h->size[v]);
            next = runs[v] < next ? runs[v] : next;
            at[h->which[v]] = (uintptr_t)addresses[v][step] + range->first[v].offset;
        }
        const int64_t start = step * range->elements, stop = next * range->elements;
        h->loop(at, begin - start, (stop < end ? stop : end) - start);
        begin = stop;
        step = next;
    }
}

static void run(const void *args, int64_t begin, int64_t end) {
    const launch_args *a = args;
    const pithp_horizontal *h = a->horizontal;
    uintptr_t at[PITHP_FUSED_EXTERNALS];
    for (int e = 0; e < h->externals; e++)
        at[e] = resolve(a, &h->first[e]);
    for (int64_t k = find_range(h, begin); k < h->range_count; k++) {
        const pithp_horizontal_range *range = &h->ranges[k];
        const int64_t stop = range[1].begin < end ? range[1].begin : end;
        if (range->begin >= end)
            break;
        if (range->elements)
            run_range(a, range, begin > range->begin ? begin - range->begin : 0,
                      stop - range->begin, at);
    }
}

pith_status pithp_horizontal_run(const pithp_exec *r, const pithp_horizontal *h) {
    static const pithp_host_loop loops[PITHP_ISA_COUNT] = {run};
    const void *const fixed[PITHP_FIXED_COUNT] = {[PITHP_FIXED_WORKSPACE] = r->workspace};
    const launch_args args = {h,
                              {[PITHP_TABLE_INPUTS] = r->inputs,
                               [PITHP_TABLE_OUTPUTS] = (const void *const *)r->outputs,
                               [PITHP_TABLE_FORWARDED] = r->forwarded,
                               [PITHP_TABLE_FIXED] = fixed}};
    const pithp_launch launch = {.name = "horizontal",
                                 .loops = loops,
                                 .args = &args,
                                 .args_bytes = sizeof args,
                                 .count = h->ranges[h->range_count].begin};
    return pithp_launch_run(r->s, &launch);
}
