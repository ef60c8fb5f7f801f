/* Tier-up on the host: the code of a plan is emitted, compiled and loaded in the
 * background, and swapped in by a later run. */
#include "program/exec/tier.h"

#include "program/command/tier_up.h"
#include "program/emit/emit.h"
#include "program/emit/loop.h"
#include "program/exec/horizontal.h"
#include "program/host/math/link.h"
#include "program/op/thresholds.h"

#include <string.h>

/* Owned by the thread that makes it; constant once it is READY. */
struct pithp_tier {
    pithp_tier_up up;
    pithp_plan *plan;                /* one reference */
    bool maths;                      /* the code calls functions of math.def */
    char prefix[PITHP_PREFIX_BYTES]; /* prefix of its function names */
    int32_t *functions; /* function number of each step, as pithp_emit_host gives them */
    pithp_code *code;   /* one reference; or NULL */
    pithp_compiled *compiled; /* READY */
};

static size_t bytes_of(int64_t steps) {
    return sizeof(pithp_compiled) + (size_t)steps * sizeof(pithp_compiled_step);
}

/* NULL if memory is short. */
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

/* ---- Beginning and end ---- */

static pithp_tier_stage make(pithp_tier_up *up, pith_scope *s);

static void release(struct pithp_tier *c) {
    pith_runtime *rt = c->plan->runtime;
    if (c->compiled)
        free_code(rt, c->compiled);
    pithp_code_release(c->code);
    pithp_release(rt, c->functions, functions_bytes(c->plan));
    pithp_plan_free(c->plan);
    pithp_release(rt, c, sizeof *c);
}

static void free_tier(pithp_tier_up *up) {
    release((struct pithp_tier *)(void *)up);
}

bool pithp_compiled_begin(pithp_executable *x) {
    static const pithp_tier_maker maker = {make, free_tier};
    pithp_plan *plan = x->plan;
    if (pithp_code_when_set() >= PITHP_CODE_OFF || !has_work(plan))
        return true;
    struct pithp_tier *c = pithp_allocate(plan->runtime, sizeof *c);
    if (!c)
        return false;
    memset(c, 0, sizeof *c);
    pithp_plan_retain(plan);
    c->plan = plan;
    c->functions = pithp_allocate(plan->runtime, functions_bytes(plan));
    if (c->functions && pithp_tier_begin(&c->up, plan->runtime, &maker)) {
        x->tier = c;
        return true;
    }
    release(c);
    return false;
}

void pithp_compiled_wait(pithp_executable *x) {
    if (x->tier)
        pithp_tier_wait(&x->tier->up);
    for (int64_t k = 0; k < x->plan->program_count; k++)
        pithp_compiled_wait(&x->programs[k]);
}

void pithp_compiled_end(pithp_executable *x) {
    if (x->tier)
        pithp_tier_abandon(&x->tier->up);
}

static const pithp_compiled *compiled_of(const pithp_executable *x) {
    return atomic_load_explicit(&x->code, memory_order_acquire);
}

size_t pithp_compiled_bytes(const pithp_executable *x) {
    return compiled_of(x) ? x->tier->code->module->bytes : 0;
}

/* ---- Functions and addresses ---- */

static bool is_direct(const pithp_step *step) {
    return step->kind == PITHP_STEP_FUSED && !step->runs_in_consumer && !step->band &&
           !step->gather_count && pithp_is_direct(step->fused);
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
    const uintptr_t offset =
        (uintptr_t)(place.offset +
                    step->operands[e].offset * step->fused->externals[e].size);
    pithp_compiled_address a = {PITHP_TABLE_FIXED, PITHP_FIXED_NULL, offset};
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

/* The step of a plan that has no other work, if its code is direct; or -1. */
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

static bool is_map_reduce(const pithp_plan *plan, const pithp_step *step) {
    if (step->kind != PITHP_STEP_FUSED)
        return false;
    const pithp_map_reduce m = pithp_map_reduce_of(plan, step);
    return pithp_map_reduces(&m);
}

/* The functions and addresses of a loaded module; NULL: the reason is in e. */
static pithp_compiled *
find_functions(const struct pithp_tier *c, pithp_module *m, pithp_error *e) {
    const pithp_plan *plan = c->plan;
    const int32_t *functions = c->functions;
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
        pithp_step_name(name, c->prefix, functions[k]);
        if (pithp_module_search(m, name, &launch, e) != PITH_OK) {
            free_code(plan->runtime, code);
            return NULL;
        }
        code->steps[k].loops[0] = launch.loops[0];
        code->steps[k].direct = is_direct(step);
        code->steps[k].map_reduces = is_map_reduce(plan, step);
        code->steps[k].first_address = addresses;
        for (int n = 0; is_direct(step) && n < step->fused->external_count; n++)
            code->addresses[addresses++] = address_of(plan, step, n);
    }
    pithp_horizontal_find(plan, code, functions);
    code->alone = find_alone(plan, code);
    return code;
}

/* ---- Making ---- */

static bool emit(struct pithp_tier *c) {
    pithp_compile_options options = {.name = "a program"};
    pithp_string text;
    pithp_string_begin(&text, c->up.runtime);
    pithp_debug_prefix(c->prefix, c->plan);
    if (pithp_emit_host(&text, c->plan, c->functions, &c->maths) &&
        pithp_debug_directives(&text, c->prefix, ".c", options.file, sizeof options.file))
        c->code =
            pithp_code_make(pithp_runtime_device(c->up.runtime), text.bytes, &options);
    pithp_string_end(&text);
    return c->code != NULL;
}

/* The stage after the code was compiled. */
static pithp_tier_stage adopt(struct pithp_tier *c) {
    pithp_error e = c->code->error;
    if (pithp_code_look(c->code) == PITHP_CODE_READY &&
        (!c->maths || pithp_math_link(c->code->module, &e) == PITH_OK))
        c->compiled = find_functions(c, c->code->module, &e);
    if (c->compiled)
        return PITHP_TIER_READY;
    pithp_code_release(c->code);
    c->code = NULL;
    if (e.code == PITH_E_MEMORY)
        return PITHP_TIER_COUNTING; /* not logged: a later run tries again */
    return pithp_tier_failed(&c->up, &e, "stay with the interpreter");
}

/* In the child of a fork the code is there, and is compiled again. */
static pithp_tier_stage make(pithp_tier_up *up, pith_scope *s) {
    struct pithp_tier *c = (struct pithp_tier *)(void *)up;
    (void)s;
    if (!c->code && !emit(c))
        return PITHP_TIER_COUNTING; /* memory is short */
    if (pithp_tier_is_over(up))
        return PITHP_TIER_NEVER;
    pithp_code_compile(c->code);
    return adopt(c);
}

const pithp_compiled *pithp_compiled_poll(pith_scope *s, pithp_executable *x) {
    if (pithp_tier_poll(s, &x->tier->up) == PITHP_TIER_READY)
        atomic_store_explicit(&x->code, x->tier->compiled, memory_order_release);
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
    pithp_string text;
    pithp_code *code = NULL;
    pithp_compile_options options = {.name = "programs"};
    bool maths;
    pithp_string_begin(&text, s->runtime);
    for (int64_t k = 0; k < t->count; k++) {
        t->plans[k] = t->list[k]->plan;
        t->functions[k] = t->list[k]->tier->functions;
        pithp_debug_prefix(t->list[k]->tier->prefix, t->plans[0]);
    }
    if (pithp_emit_host_all(&text, t->plans, t->count, t->functions, &maths) &&
        pithp_debug_directives(&text, t->list[0]->tier->prefix, ".c", options.file,
                               sizeof options.file))
        code = pithp_code_compiled(pithp_scope_device(s), text.bytes, &options);
    for (int64_t k = 0; code && k < t->count; k++)
        t->list[k]->tier->maths = maths;
    pithp_string_end(&text);
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
        struct pithp_tier *c = t.list[k]->tier;
        atomic_fetch_add(&code->refs, 1);
        c->code = code;
        pithp_tier_settle(&c->up, adopt(c));
        all &= pithp_compiled_poll(s, t.list[k]) != NULL;
    }
    pithp_code_release(code);
    pithp_release(s->runtime, memory, bytes);
    return all;
}
