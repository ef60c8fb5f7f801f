/* Tier-up: an executable is compiled after some runs, and its code swapped in. */
#include "program/exec/tier.h"

#include "gpu/compile/background.h"
#include "program/emit/emit.h"
#include "program/emit/loop.h"
#include "program/exec/horizontal.h"
#include "program/host/math/link.h"
#include "program/op/thresholds.h"

#include <limits.h>
#include <string.h>

typedef enum stage { COUNTING, ASKED, DONE } stage;

/* Of an executable, as long as it may still be compiled. */
struct pithp_tier {
    pthread_mutex_t lock; /* guards what follows, but for one that only polls */
    atomic_int stage;     /* DONE: compiled, or never will be */
    atomic_int runs;      /* while COUNTING */
    atomic_int due;       /* of the runs, the one that asks */
    bool wait;
    bool maths;                      /* the code calls functions of math.def */
    char prefix[PITHP_PREFIX_BYTES]; /* ASKED: of the names of functions */
    int32_t *functions; /* number of each step's, as pithp_emit_host gives them */
    pithp_code *code;   /* ASKED: one reference; DONE: kept for its module */
};

static const pithp_compiled *compiled_of(const pithp_executable *x) {
    return atomic_load_explicit(&x->code, memory_order_acquire);
}

static size_t bytes_of(int64_t steps) {
    return sizeof(pithp_compiled) + (size_t)steps * sizeof(pithp_compiled_step);
}

/* NULL when memory is short. */
static pithp_compiled *make_code(pith_runtime *rt, int64_t steps, int64_t addresses) {
    pithp_compiled *code = pithp_allocate(rt, bytes_of(steps));
    if (!code)
        return NULL;
    memset(code, 0, bytes_of(steps));
    code->count = steps;
    code->address_count = addresses;
    code->alone = -1;
    code->addresses = pithp_allocate(rt, (size_t)addresses * sizeof *code->addresses);
    if (code->addresses || !addresses)
        return code;
    pithp_release(rt, code, bytes_of(steps));
    return NULL;
}

static void free_code(pith_runtime *rt, pithp_compiled *code) {
    for (int64_t k = 0; k < code->count; k++)
        pithp_horizontal_free(rt, code->steps[k].horizontal);
    pithp_release(rt, code->addresses,
                  (size_t)code->address_count * sizeof *code->addresses);
    pithp_release(rt, code, bytes_of(code->count));
}

static size_t functions_bytes(const pithp_plan *plan) {
    return (size_t)plan->step_count * sizeof(int32_t);
}

static bool has_work(const pithp_plan *plan) {
    bool any = false;
    for (int64_t k = 0; k < plan->step_count; k++)
        any |= plan->steps[k].kind == PITHP_STEP_FUSED ||
               pithp_loop_fits(plan, &plan->steps[k]);
    return any;
}

/* The first run that asks, and waits for the code. */
static void set_wait(struct pithp_tier *c) {
    c->wait = true;
    atomic_init(&c->due, 1);
}

bool pithp_compiled_begin(pithp_executable *x) {
    const pithp_plan *plan = x->plan;
    const pithp_code_when when = pithp_code_when_set();
    if (when >= PITHP_CODE_OFF || !has_work(plan))
        return true;
    struct pithp_tier *c = pithp_allocate(plan->runtime, sizeof *c);
    if (!c)
        return false;
    memset(c, 0, sizeof *c);
    atomic_init(&c->due, PITHP_RUNS_WORTH_COMPILING);
    if (when == PITHP_CODE_WAIT)
        set_wait(c);
    c->functions = pithp_allocate(plan->runtime, functions_bytes(plan));
    if (c->functions && pthread_mutex_init(&c->lock, NULL) == 0) {
        x->tier = c;
        return true;
    }
    pithp_release(plan->runtime, c->functions, functions_bytes(plan));
    pithp_release(plan->runtime, c, sizeof *c);
    return false;
}

void pithp_compiled_wait(pithp_executable *x) {
    if (x->tier)
        set_wait(x->tier);
    for (int64_t k = 0; k < x->plan->program_count; k++)
        pithp_compiled_wait(&x->programs[k]);
}

void pithp_compiled_end(pithp_executable *x) {
    const pithp_plan *plan = x->plan;
    struct pithp_tier *c = x->tier;
    pithp_compiled *code = (pithp_compiled *)(uintptr_t)compiled_of(x);
    if (code)
        free_code(plan->runtime, code);
    if (!c)
        return;
    pithp_code_release(c->code);
    pithp_release(plan->runtime, c->functions, functions_bytes(plan));
    pthread_mutex_destroy(&c->lock);
    pithp_release(plan->runtime, c, sizeof *c);
}

size_t pithp_compiled_bytes(const pithp_executable *x) {
    return compiled_of(x) ? x->tier->code->module->bytes : 0;
}

/* ---- With the lock held ---- */

/* Memory was short, which passes: ask again after as many runs as there were, so that the
 * attempts of a lasting shortage cost little. */
static void put_off(struct pithp_tier *c) {
    const int runs = atomic_load(&c->runs);
    pithp_code_release(c->code);
    c->code = NULL;
    atomic_store(&c->due, runs < INT_MAX / 2 ? 2 * runs : INT_MAX);
    atomic_store_explicit(&c->stage, COUNTING, memory_order_release);
}

static void ask(pith_scope *s, pithp_executable *x) {
    pithp_plan *plan = x->plan;
    struct pithp_tier *c = x->tier;
    pithp_compile_options options = {.name = "a program"};
    pithp_text text;
    pithp_text_begin(&text, plan->runtime);
    pithp_debug_prefix(c->prefix, plan);
    if (pithp_emit_host(&text, plan, c->functions, &c->maths) &&
        pithp_debug_directives(&text, c->prefix, ".c", options.file, sizeof options.file))
        c->code = pithp_compile_in_background(pithp_scope_device(s), text.bytes, &options,
                                              c->wait);
    pithp_text_end(&text);
    if (c->code)
        atomic_store(&c->stage, ASKED);
    else
        put_off(c);
}

static bool is_direct(const pithp_step *step) {
    return step->kind == PITHP_STEP_FUSED && !step->runs_in_consumer && !step->band &&
           !step->take_count && pithp_is_direct(step->fused);
}

static int64_t count_addresses(const pithp_plan *plan) {
    int64_t count = 0;
    for (int64_t k = 0; k < plan->step_count; k++)
        if (is_direct(&plan->steps[k]))
            count += plan->steps[k].fused->external_count;
    return count;
}

static pithp_compiled_address
address_of(const pithp_plan *plan, const pithp_step *step, int e) {
    const pithp_place place = plan->places[step->operands[e].value];
    const uintptr_t behind =
        (uintptr_t)(step->operands[e].offset * step->fused->externals[e].size);
    pithp_compiled_address a = {PITHP_TABLE_FIXED, PITHP_FIXED_NULL, behind};
    switch (place.store) {
        case PITHP_IN_INPUT:
            a.table = PITHP_TABLE_INPUTS;
            a.index = (int32_t)place.at;
            break;
        case PITHP_IN_OUTPUT:
            a.table = PITHP_TABLE_OUTPUTS;
            a.index = (int32_t)place.at;
            break;
        case PITHP_FORWARDED:
            a.table = PITHP_TABLE_FORWARDED;
            a.index = (int32_t)place.at;
            break;
        case PITHP_IN_WORKSPACE:
            a.index = PITHP_FIXED_WORKSPACE;
            a.offset += (uintptr_t)place.at;
            break;
        case PITHP_IN_CONSTANT:
            a.offset += (uintptr_t)plan->program->constants[place.at].data;
            break;
        case PITHP_IN_LITERALS:
            a.offset += (uintptr_t)plan->literals->data + (uintptr_t)place.at;
            break;
        case PITHP_NOWHERE:
            PITH_ASSERT(false);
    }
    return a;
}

/* The step that is all there is to do, of code that is direct; -1: there is more. */
static int64_t find_alone(const pithp_plan *plan, const pithp_compiled *code) {
    int64_t alone = -1;
    if (plan->workspace_bytes || plan->forwarded_count || plan->profile)
        return -1;
    for (int64_t k = 0; k < plan->step_count; k++) {
        if (plan->steps[k].runs_in_consumer)
            continue;
        if (alone >= 0 || !code->steps[k].direct ||
            plan->steps[k].fused->external_count > PITHP_ALONE_EXTERNALS)
            return -1;
        alone = k;
    }
    return alone;
}

/* Functions and addresses of a module that was loaded; NULL: e says why. */
static pithp_compiled *
find_functions(const pithp_executable *x, pithp_module *m, pithp_error *e) {
    const pithp_plan *plan = x->plan;
    const int32_t *functions = x->tier->functions;
    pithp_compiled *code =
        make_code(plan->runtime, plan->step_count, count_addresses(plan));
    int64_t addresses = 0;
    if (!code) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for code");
        return NULL;
    }
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        char name[PITHP_STEP_NAME_BYTES];
        pithp_launch launch = {.loops = NULL};
        if (functions[k] < 0)
            continue;
        pithp_step_name(name, x->tier->prefix, functions[k]);
        if (pithp_module_search(m, name, &launch, e) != PITH_OK) {
            free_code(plan->runtime, code);
            return NULL;
        }
        code->steps[k].loops[0] = launch.loops[0];
        code->steps[k].direct = is_direct(step);
        code->steps[k].map_reduces = step->kind == PITHP_STEP_FUSED &&
                                     pithp_map_reduce_of(plan, step).reducer >= 0;
        code->steps[k].first_address = addresses;
        for (int n = 0; is_direct(step) && n < step->fused->external_count; n++)
            code->addresses[addresses++] = address_of(plan, step, n);
    }
    pithp_horizontal_find(plan, code, functions);
    code->alone = find_alone(plan, code);
    return code;
}

/* Report an error of the compiler once a runtime: it concerns every plan. */
static void complain(pithp_device *d, const pithp_error *e) {
    if (!atomic_exchange(&d->compiler_complained, true))
        pithp_log(d->runtime, PITH_LOG_WARNING, "programs stay with the interpreter: %s",
                  e->text);
}

static void adopt(pithp_executable *x) {
    struct pithp_tier *c = x->tier;
    pithp_compiled *code = NULL;
    pithp_error e = c->code->error;
    if (pithp_code_look(c->code) == PITHP_CODE_READY &&
        (!c->maths || pithp_math_link(c->code->module, &e) == PITH_OK))
        code = find_functions(x, c->code->module, &e);
    if (!code && e.code == PITH_E_MEMORY) {
        put_off(c);
        return;
    }
    if (!code)
        complain(pithp_runtime_device(x->plan->runtime), &e);
    atomic_store_explicit(&x->code, code, memory_order_release);
    atomic_store(&c->stage, DONE);
}

/* ---- All ---- */

const pithp_compiled *pithp_compiled_poll(pith_scope *s, pithp_executable *x) {
    struct pithp_tier *c = x->tier;
    const int at = atomic_load_explicit(&c->stage, memory_order_acquire);
    if (at == DONE || (at == COUNTING &&
                       atomic_fetch_add_explicit(&c->runs, 1, memory_order_relaxed) + 1 <
                           atomic_load_explicit(&c->due, memory_order_relaxed)))
        return compiled_of(x);
    if (c->wait) /* others wait too */
        pthread_mutex_lock(&c->lock);
    else if (pthread_mutex_trylock(&c->lock) != 0)
        return NULL;
    if (atomic_load(&c->stage) == COUNTING)
        ask(s, x);
    if (atomic_load(&c->stage) == ASKED && pithp_code_look(c->code) != PITHP_CODE_WAITING)
        adopt(x);
    pthread_mutex_unlock(&c->lock);
    return compiled_of(x);
}

/* ---- Several at once ---- */

typedef struct together {
    pithp_executable **list;
    pithp_plan **plans;
    int32_t **functions;
    int64_t count;
} together;

static pithp_code *compile_together(pith_scope *s, const together *t) {
    pithp_text text;
    pithp_code *code = NULL;
    pithp_compile_options options = {.name = "programs"};
    bool maths;
    pithp_text_begin(&text, s->runtime);
    for (int64_t k = 0; k < t->count; k++) {
        t->plans[k] = t->list[k]->plan;
        t->functions[k] = t->list[k]->tier->functions;
        pithp_debug_prefix(t->list[k]->tier->prefix, t->plans[0]);
    }
    if (pithp_emit_host_all(&text, t->plans, t->count, t->functions, &maths) &&
        pithp_debug_directives(&text, t->list[0]->tier->prefix, ".c", options.file,
                               sizeof options.file))
        code = pithp_compile_in_background(pithp_scope_device(s), text.bytes, &options,
                                           true);
    for (int64_t k = 0; code && k < t->count; k++)
        t->list[k]->tier->maths = maths;
    pithp_text_end(&text);
    return code;
}

bool pithp_compiled_together(pith_scope *s,
                             pithp_executable *const *list,
                             int64_t count) {
    const size_t bytes = (size_t)count * 3 * sizeof(void *);
    void **memory = pithp_allocate(s->runtime, bytes);
    if (!memory)
        return false;
    together t = {.list = (void *)memory,
                  .plans = (void *)(memory + count),
                  .functions = (void *)(memory + 2 * count)};
    for (int64_t k = 0; k < count; k++)
        if (list[k]->tier)
            t.list[t.count++] = list[k];
    pithp_code *code = t.count ? compile_together(s, &t) : NULL;
    bool all = code || !t.count;
    for (int64_t k = 0; code && k < t.count; k++) {
        atomic_fetch_add(&code->refs, 1);
        t.list[k]->tier->code = code;
        adopt(t.list[k]);
        all &= compiled_of(t.list[k]) != NULL;
    }
    pithp_code_release(code);
    pithp_release(s->runtime, memory, bytes);
    return all;
}
