/* Hazards of a command buffer: edges between random accesses of memory are those that the
 * accesses need, and no others. */
#include "pith_test.h"
#include "program/command/builder.h"

enum { TASKS = 300, TOUCHES = 6, INPUTS = 3, BYTES = 64 };

typedef struct step {
    pithp_touch touches[TOUCHES];
    int count;
} step;

static uint64_t state;
static uint64_t below(uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

/* Half of the accesses are ranges of the workspace. */
static step random_step(void) {
    step x = {.count = (int)below(TOUCHES + 1)};
    for (int k = 0; k < x.count; k++) {
        const uint64_t begin = below(BYTES), bytes = below(BYTES / 4);
        x.touches[k] = (pithp_touch){.buffer = (int64_t)(below(2) * (1 + below(INPUTS))),
                                     .begin = begin,
                                     .end = begin + bytes,
                                     .writes = below(3) == 0};
    }
    return x;
}

static bool meet(const pithp_touch *a, const pithp_touch *b) {
    return a->buffer == b->buffer && (a->writes || b->writes) && a->begin < a->end &&
           b->begin < b->end &&
           (a->buffer > 0 || (a->begin < b->end && b->begin < a->end));
}
static bool conflict(const step *a, const step *b) {
    bool any = false;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++)
            any |= meet(&a->touches[i], &b->touches[j]);
    return any;
}

typedef struct bench {
    pithp_scheduling g;
    pithp_error e;
    pithp_making_frame f;
    pithp_tasks tasks;
    pithp_plan plan;
    pithp_program *program;
} bench;

static void open_bench(bench *b, pith_scope *s) {
    const pith_spec *line = pithp_spec(s, PITH_F32, 1, (const int64_t[]){BYTES / 4});
    *b = (bench){.program = pithp_program_make(s)};
    for (int k = 0; k < INPUTS; k++)
        pithp_program_input(s, b->program, line);
    pt_ok(s);
    b->g = (pithp_scheduling){.s = s, .e = &b->e};
    b->plan = (pithp_plan){.program = b->program, .runtime = s->runtime};
    b->f = (pithp_making_frame){.plan = &b->plan, .tasks = &b->tasks};
    cr_assert(pithp_order_open(&b->g, &b->f, -1));
}

static void close_bench(bench *b) {
    pithp_order_close(b->g.s->runtime, &b->f.order);
    pithp_tasks_free(b->g.s->runtime, &b->tasks);
    pithp_program_release(b->program);
}

static void add_task(bench *b) {
    cr_assert(pithp_making_grow(&b->g, &b->tasks.list, b->tasks.count, 1, &b->tasks.room,
                                sizeof *b->tasks.list));
    b->tasks.list[b->tasks.count++] = (pithp_task){.kind = PITHP_TASK_KERNEL};
}

static void add_step(bench *b, const step *x, bool barrier) {
    pithp_order_begin(&b->f);
    for (int k = 0; k < x->count; k++)
        pithp_order_touch(&b->f, &x->touches[k]);
    add_task(b);
    cr_assert((barrier ? pithp_order_barrier : pithp_order_end)(&b->g, &b->f));
}

static bool *before; /* [later * TASKS + earlier] */

/* What each task comes after, directly or not. */
static void close_over(const bench *b) {
    for (int64_t t = 0; t < b->tasks.count; t++)
        for (int32_t k = 0; k < b->tasks.list[t].after_count; k++) {
            const int32_t from = b->tasks.edges[b->tasks.list[t].first_after + k];
            cr_assert(from < t);
            before[t * TASKS + from] = true;
            for (int32_t u = 0; u < from; u++)
                before[t * TASKS + u] |= before[from * TASKS + u];
        }
}

static bool has_edge(const bench *b, int64_t to, int64_t from) {
    const pithp_task *task = &b->tasks.list[to];
    bool any = false;
    for (int32_t k = 0; k < task->after_count; k++)
        any |= b->tasks.edges[task->first_after + k] == from;
    return any;
}

static void check(const bench *b, const step *steps, const bool *barriers) {
    int64_t barrier = -1;
    memset(before, 0, (size_t)TASKS * TASKS);
    close_over(b);
    for (int64_t t = 0; t < TASKS; t++) {
        for (int64_t u = 0; u < t; u++) {
            const bool needed =
                barriers[t] || u == barrier || conflict(&steps[u], &steps[t]);
            const bool ordered = before[t * TASKS + u];
            cr_assert(ordered || !(needed || u <= barrier),
                      "task %d does not wait for %d", (int)t, (int)u);
            cr_assert(needed || !has_edge(b, t, u), "task %d waits for %d", (int)t,
                      (int)u);
        }
        barrier = barriers[t] ? t : barrier;
    }
}

Test(hazard, edges_are_those_that_accesses_need) {
    pith_runtime *rt = pt_open();
    static step steps[TASKS];
    static bool barriers[TASKS];
    before = malloc((size_t)TASKS * TASKS);
    for (state = 1; state < 40; state++) {
        const uint64_t seed = state;
        pith_scope *s = pith_scope_open(rt);
        bench b;
        open_bench(&b, s);
        for (int t = 0; t < TASKS; t++) {
            steps[t] = random_step();
            barriers[t] = below(50) == 0;
            add_step(&b, &steps[t], barriers[t]);
        }
        check(&b, steps, barriers);
        close_bench(&b);
        pith_scope_close(s);
        state = seed;
    }
    free(before);
    pt_close(rt);
}

/* Many readers of one buffer: the step that writes it waits for all of them, and the
 * edges of many such steps stay few. */
Test(hazard, many_readers_do_not_multiply_with_many_writers) {
    enum { READERS = 3000, WRITERS = 3000 };
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    bench b;
    open_bench(&b, s);
    const step read = {.touches = {{0, 0, WRITERS, false}}, .count = 1};
    for (int k = 0; k < READERS; k++)
        add_step(&b, &read, false);
    for (uint64_t k = 0; k < WRITERS; k++) {
        const step write = {.touches = {{0, k, k + 1, true}}, .count = 1};
        add_step(&b, &write, false);
    }
    cr_assert(b.tasks.list[READERS].after_count == READERS);
    cr_assert(b.tasks.edge_count < 2 * (READERS + WRITERS), "%lld edges",
              (long long)b.tasks.edge_count);
    close_bench(&b);
    pith_scope_close(s);
    pt_close(rt);
}
