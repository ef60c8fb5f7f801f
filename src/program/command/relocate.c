/* Relocation: record launches as tasks, and find which words of their arguments are
 * addresses, and of which memory. */
#include "program/command/builder.h"
#include "program/op/thresholds.h"
#include "program/plan/hazard.h"

#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    SLACK = 2048,
    BIND_WORDS = offsetof(pithp_cuda_bind_args, words) / WORD,
    BIND_LIST = offsetof(pithp_cuda_bind_args, list) / WORD,
};

/* The two bases of the space of false addresses. No real address lies there. */
static const uint64_t bases[2] = {(uint64_t)1 << 60, (uint64_t)5 << 58};

typedef struct recorder {
    pithp_scheduling *g;
    pithp_making_frame *f;
    pithp_writes *writes;
    bool second;
    int64_t next;    /* second pass: the task to compare with the next launch */
    int32_t builtin; /* of the next launch */
} recorder;

/* The region around an offset, or NULL. */
static const pithp_region *find_region(const pithp_scheduling *g, uint64_t at) {
    int64_t low = 0, high = g->region_count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        /* an address shortly before a region belongs to it */
        if (g->regions[middle].begin <= at + SLACK)
            low = middle;
        else
            high = middle;
    }
    const pithp_region *r = &g->regions[low];
    return low < high && at + SLACK >= r->begin && at <= r->begin + r->bytes + SLACK
               ? r
               : NULL;
}

static bool
add_reference(recorder *r, int32_t to, uint64_t address, const pithp_launch *launch) {
    const pithp_scheduling *g = r->g;
    const uint64_t at = address - bases[0];
    const pithp_region *region = find_region(g, at);
    if (!region)
        return pithp_making_fail(r->g, PITH_E_INTERNAL,
                                 "%s: an argument is an address of nothing",
                                 launch->name);
    const int64_t slot = region->word - r->f->first;
    pithp_cuda_write write = {.kind = PITHP_WRITE_ADDRESS, .from = region->word};
    if (r->f->slots && slot >= 0 && slot < pithp_making_slots(r->f->plan))
        write =
            r->f->slots[slot]; /* the same bind writes that word, so copy its source */
    write.to = to;
    write.offset += (int64_t)(at - region->begin);
    return pithp_write_add(r->g, r->writes, write);
}

static int64_t words_of(const pithp_launch *launch) {
    return (int64_t)((launch->args_bytes + WORD - 1) / WORD);
}

/* Word k of the arguments; the last one is padded with zeros. */
static uint64_t word_of(const pithp_launch *launch, int64_t k) {
    const size_t at = (size_t)k * WORD, rest = launch->args_bytes - at;
    uint64_t word = 0;
    memcpy(&word, (const char *)launch->args + at, rest < WORD ? rest : WORD);
    return word;
}

static bool add_task(recorder *r,
                     pithp_code_source source,
                     int32_t number,
                     const pith_kernel_variant *kernel,
                     const pithp_launch *launch) {
    pithp_tasks *tasks = r->f->tasks;
    if (!pithp_making_grow(r->g, &tasks->list, tasks->count, 1, &tasks->room,
                           sizeof *tasks->list))
        return false;
    const int32_t args = pithp_words(r->g, (words_of(launch) + 1) & ~(int64_t)1);
    if (args < 0)
        return false;
    memcpy(r->g->to->words + args, launch->args, launch->args_bytes);
    tasks->list[tasks->count++] = (pithp_task){.kind = PITHP_TASK_KERNEL,
                                               .name = launch->name,
                                               .source = source,
                                               .number = number,
                                               .kernel = kernel,
                                               .threads = launch->count,
                                               .args = args,
                                               .decides = -1};
    return true;
}

/* Second pass: compare a launch with its task; words that differ are addresses. */
static bool compare_task(recorder *r, const pithp_launch *launch) {
    const pithp_task *task = &r->f->tasks->list[r->next++];
    const uint64_t distance = bases[1] - bases[0];
    if (r->next > r->f->tasks->count || task->threads != launch->count)
        return pithp_making_fail(r->g, PITH_E_INTERNAL,
                                 "%s: its launches depend on addresses", launch->name);
    for (int64_t k = 0; k < words_of(launch); k++) {
        const uint64_t before = r->g->to->words[task->args + k], now = word_of(launch, k);
        if (now == before)
            continue;
        if (now - before != distance)
            return pithp_making_fail(r->g, PITH_E_INTERNAL,
                                     "%s: an argument depends on addresses",
                                     launch->name);
        r->g->to->words[task->args + k] = 0;
        if (!add_reference(r, task->args + (int32_t)k, before, launch))
            return false;
    }
    return true;
}

pith_status pithp_record_launch(const pithp_sink *sink,
                                pithp_code_source source,
                                int32_t number,
                                const pith_kernel_variant *kernel,
                                const pithp_launch *launch) {
    recorder *r = sink->closure;
    if (launch->count == 0)
        return PITH_OK;
    const bool taken =
        r->second ? compare_task(r, launch) : add_task(r, source, number, kernel, launch);
    return taken ? PITH_OK : r->g->e->code;
}

static pith_status builtin(void *closure, pithp_cuda_kernel_id id, pithp_launch *launch) {
    (void)launch;
    ((recorder *)closure)->builtin = (int32_t)id;
    return PITH_OK;
}

static pith_status
elementwise(void *closure, const pithp_call *call, pithp_launch *launch) {
    (void)launch;
    pithp_making_fail(((recorder *)closure)->g, PITH_E_INTERNAL, "%s: it is not fused",
                      pithp_ops[call->primitive].name);
    return PITH_E_INTERNAL;
}

static uint64_t alignment(void *closure, const void *address) {
    return pithp_false_alignment(((recorder *)closure)->g, address);
}

/* The pointers of a product are arguments of a launch of their own, so there is nothing
 * to compare in the second pass. */
/* Room for a task, and a copy of what it runs. NULL: error set. */
static void *task_copy(recorder *r, const void *given, size_t bytes) {
    pithp_tasks *tasks = r->f->tasks;
    if (!pithp_making_grow(r->g, &tasks->list, tasks->count, 1, &tasks->room,
                           sizeof *tasks->list))
        return NULL;
    void *own = pithp_allocate(r->g->s->runtime, bytes);
    if (own)
        memcpy(own, given, bytes);
    else
        pithp_making_fail(r->g, PITH_E_MEMORY, "out of memory: %zu bytes", bytes);
    return own;
}

static pith_status
gemm(void *closure, const char *name, const pithp_gemm *given, void *memory) {
    recorder *r = closure;
    pithp_tasks *tasks = r->f->tasks;
    (void)memory; /* all products share it */
    if (r->second) {
        r->next++;
        return PITH_OK;
    }
    pithp_gemm *own = task_copy(r, given, sizeof *own);
    if (!own)
        return r->g->e->code;
    tasks->list[tasks->count++] = (pithp_task){
        .kind = PITHP_TASK_GEMM, .name = name, .threads = 1, .decides = -1, .gemm = own};
    return PITH_OK;
}

pith_status pithp_record_transfer(const pithp_sink *sink,
                                  const pithp_step *step,
                                  const pithp_device_move *given) {
    recorder *r = sink->closure;
    pithp_tasks *tasks = r->f->tasks;
    if (r->second) {
        r->next++;
        return PITH_OK;
    }
    pithp_device_move *own = task_copy(r, given, sizeof *own);
    if (!own)
        return r->g->e->code;
    tasks->list[tasks->count++] =
        (pithp_task){.kind = PITHP_TASK_TRANSFER,
                     .name = pithp_ops[step->call->primitive].name,
                     .step = step,
                     .threads = 1,
                     .decides = -1,
                     .transfer = own};
    return PITH_OK;
}

static const struct pithp_cuda_target target = {.encode = &pithp_cuda_encoder,
                                                .builtin = builtin,
                                                .elementwise = elementwise,
                                                .alignment = alignment,
                                                .gemm = gemm};

static pith_status record(void *closure, const pithp_launch *launch) {
    recorder *r = closure;
    const pithp_sink sink = {.closure = r};
    return pithp_record_launch(&sink, PITHP_CODE_BUILTIN, r->builtin, NULL, launch);
}

bool pithp_record(pithp_scheduling *g,
                  pithp_making_frame *f,
                  pithp_writes *writes,
                  pithp_lowering lower,
                  const void *what) {
    recorder r = {.g = g, .f = f, .writes = writes, .next = f->tasks->count};
    const pithp_sink sink = {.launch = record, .closure = &r, .cuda = &target};
    g->e->code = PITH_OK;
    for (int pass = 0; pass < 2; pass++) {
        r.second = pass;
        g->base = bases[pass];
        const pith_status rc = lower(g, &sink, what);
        g->base = bases[0];
        if (rc != PITH_OK && g->e->code == PITH_OK)
            pithp_making_fail(g, rc, "%s", pith_message(g->s));
        if (rc != PITH_OK)
            return false;
    }
    return r.next == f->tasks->count ||
           pithp_making_fail(g, PITH_E_INTERNAL, "launches depend on addresses");
}

/* ---- Binds ---- */

static bool add_own(pithp_scheduling *g, int32_t word, bool in_writes, uint64_t bytes) {
    pithp_schedule *to = g->to;
    if (!pithp_making_grow(g, &to->own, to->own_count, 1, &to->own_room, sizeof *to->own))
        return false;
    to->own[to->own_count++] = in_writes ? ~word : word;
    to->words[word] = bytes;
    return true;
}

bool pithp_own_address(pithp_scheduling *g, int32_t word, int32_t of) {
    return add_own(g, word, false, (uint64_t)of * WORD);
}

bool pithp_bind_fill(pithp_scheduling *g, pithp_task *task, const pithp_writes *writes) {
    pithp_schedule *to = g->to;
    pithp_cuda_bind_args args = {.count = writes->count};
    if (!pithp_making_grow(g, &to->writes, to->write_count, writes->count,
                           &to->write_room, sizeof *to->writes))
        return false;
    if (writes->count)
        memcpy(to->writes + to->write_count, writes->list,
               (size_t)writes->count * sizeof *to->writes);
    memcpy(to->words + task->args, &args, sizeof args);
    task->threads = writes->count;
    const uint64_t first = (uint64_t)to->write_count * sizeof *to->writes;
    to->write_count += writes->count;
    return add_own(g, task->args + BIND_WORDS, false, 0) &&
           add_own(g, task->args + BIND_LIST, true, first);
}

bool pithp_bind_add(pithp_scheduling *g, pithp_making_frame *f) {
    const pithp_cuda_bind_args args = {.count = 0};
    const pithp_launch launch = {
        .name = "bind", .args = &args, .args_bytes = sizeof args};
    recorder r = {.g = g, .f = f};
    return add_task(&r, PITHP_CODE_BUILTIN, PITHP_CUDA_bind, NULL, &launch);
}

/* ---- Frames ---- */

int64_t pithp_making_slots(const pithp_plan *plan) {
    return 1 + plan->program->input_count + plan->program->output_count;
}

static size_t stamps_bytes(const pithp_making_frame *f) {
    return (size_t)pithp_making_slots(f->plan) * sizeof *f->stamps;
}

bool pithp_making_open(pithp_scheduling *g,
                       pithp_making_frame *f,
                       const pithp_plan *plan,
                       pithp_tasks *tasks,
                       const pithp_making_interface *in,
                       const pithp_making_frame *after) {
    const pithp_program *p = plan->program;
    const int64_t count = pithp_making_slots(plan);
    *f = (pithp_making_frame){
        .plan = plan, .tasks = tasks, .region = g->region_count, .slots = in->slots};
    if (plan->step_count >= PITHP_HORIZONTAL_LEAST_STEPS)
        f->stamps = pithp_allocate(g->s->runtime, stamps_bytes(f));
    if (f->stamps)
        memset(f->stamps, 0, stamps_bytes(f));
    f->first = pithp_words(g, count);
    if (!pithp_order_open(g, f, after ? after->order.barrier : -1) || f->first < 0 ||
        !pithp_region_add(g, f->first, plan->workspace_bytes, PITHP_ALIGNMENT))
        return false;
    for (int64_t k = 1; k < count; k++) {
        const int64_t output = k - 1 - p->input_count;
        const pithp_value v = output < 0 ? p->inputs[k - 1] : p->outputs[output];
        if (!pithp_region_add(g, f->first + (int32_t)k, pithp_value_spec(p, v)->bytes,
                              in->alignments[k - 1]))
            return false;
    }
    for (int64_t k = 0; in->slots && k < count; k++)
        in->slots[k].to = f->first + (int32_t)k;
    pithp_order_begin(f);
    f->bind = (int32_t)tasks->count;
    return pithp_bind_add(g, f) && pithp_order_barrier(g, f);
}

bool pithp_making_close(pithp_scheduling *g, pithp_making_frame *f) {
    pith_runtime *rt = g->s->runtime;
    bool done = g->e->code == PITH_OK;
    for (int64_t k = 0; f->slots && done && k < pithp_making_slots(f->plan); k++)
        done = pithp_write_add(g, &f->writes, f->slots[k]);
    done = done && pithp_bind_fill(g, &f->tasks->list[f->bind], &f->writes);
    pithp_release(rt, f->writes.list, (size_t)f->writes.room * sizeof *f->writes.list);
    pithp_release(rt, f->stamps, f->stamps ? stamps_bytes(f) : 0);
    pithp_order_close(rt, &f->order);
    return done;
}

void *pithp_false_address(const pithp_scheduling *g,
                          const pithp_making_frame *f,
                          pithp_value v) {
    const pithp_place place = f->plan->places[v];
    const pithp_region *regions = g->regions + f->region;
    const pithp_program *p = f->plan->program;
    switch (place.store) {
        case PITHP_IN_INPUT:
            return (void *)(uintptr_t)(g->base + regions[1 + place.at].begin);
        case PITHP_IN_OUTPUT:
            return (void *)(uintptr_t)(g->base +
                                       regions[1 + p->input_count + place.at].begin);
        case PITHP_IN_WORKSPACE:
            return (void *)(uintptr_t)(g->base + regions[0].begin + (uint64_t)place.at);
        case PITHP_IN_CONSTANT:
            return (void *)(uintptr_t)p->constants[place.at].data;
        case PITHP_IN_LITERALS:
            return (char *)f->plan->literals->data + place.at;
        case PITHP_FORWARDED: /* not in a scheduled plan */
        case PITHP_NOWHERE:
            break;
    }
    return NULL;
}

uint64_t pithp_alignment_of(uint64_t offset) {
    const uint64_t lowest = offset & (~offset + 1);
    return lowest && lowest < PITHP_ALIGNMENT ? lowest : PITHP_ALIGNMENT;
}

uint64_t pithp_false_alignment(const pithp_scheduling *g, const void *address) {
    const uint64_t at = (uintptr_t)address - g->base;
    const pithp_region *region = (uintptr_t)address < g->base ? NULL : find_region(g, at);
    const uint64_t own =
        pithp_alignment_of(region ? at - region->begin : (uintptr_t)address);
    return region && region->alignment < own ? region->alignment : own;
}

pithp_cuda_write pithp_write_address(const pithp_making_frame *f, pithp_value v) {
    const pithp_place place = f->plan->places[v];
    const pithp_program *p = f->plan->program;
    pithp_cuda_write write = {.kind = PITHP_WRITE_ADDRESS};
    switch (place.store) {
        case PITHP_IN_INPUT:
            write.from = f->first + 1 + (int32_t)place.at;
            break;
        case PITHP_IN_OUTPUT:
            write.from = f->first + 1 + (int32_t)(p->input_count + place.at);
            break;
        case PITHP_IN_WORKSPACE:
            write.from = f->first;
            write.offset = place.at;
            break;
        case PITHP_IN_CONSTANT:
            write.offset = (int64_t)(uintptr_t)p->constants[place.at].data;
            break;
        case PITHP_IN_LITERALS:
            write.offset =
                (int64_t)(uintptr_t)((char *)f->plan->literals->data + place.at);
            break;
        case PITHP_FORWARDED: /* not in a scheduled plan */
        case PITHP_NOWHERE:
            break;
    }
    return write;
}
