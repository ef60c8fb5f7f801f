/* The text of a plan: all that is compiled of it, as one translation unit. */
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/emit/loop.h"
#include "program/math/link.h"

#include <stdio.h>
#include <string.h>

void pithp_step_name(char name[PITHP_STEP_NAME_BYTES], int64_t function) {
    snprintf(name, PITHP_STEP_NAME_BYTES, "pith_step_%lld", (long long)function);
}

/* Where in the text a function's body is. */
typedef struct body {
    uint64_t hash;
    size_t at, length;
} body;

typedef struct emitting {
    pithp_text *t;
    pithp_emitted_rows rows;
    body *bodies; /* room for one a step */
    int32_t count;
} emitting;

/* A function with the same body, or -1. */
static int32_t find_body(const emitting *x, const body *wanted) {
    for (int32_t k = 0; k < x->count; k++)
        if (x->bodies[k].hash == wanted->hash && x->bodies[k].length == wanted->length &&
            memcmp(x->t->bytes + x->bodies[k].at, x->t->bytes + wanted->at,
                   wanted->length) == 0)
            return k;
    return -1;
}

/* A function is begun; its parameters and body come next. */
static size_t begin_function(emitting *x, body *own) {
    const size_t before = x->t->length;
    char name[PITHP_STEP_NAME_BYTES];
    pithp_step_name(name, x->count);
    pithp_text_print(x->t, "void %s(const void *args, i64 begin, i64 end);\nvoid %s",
                     name, name);
    *own = (body){.at = x->t->length};
    return before;
}

/* Its number; where there is one with its body, it is taken back. */
static int32_t end_function(emitting *x, body *own, size_t before) {
    pithp_text *t = x->t;
    own->length = t->length - own->at;
    own->hash = pithp_hash(0, t->bytes + own->at, own->length);
    const int32_t same = find_body(x, own);
    if (same >= 0 && !t->failed) {
        t->length = before;
        t->bytes[before] = 0;
        return same;
    }
    x->bodies[x->count] = *own;
    return x->count++;
}

static int32_t add_fused(emitting *x, const pithp_fused_args *step) {
    body own;
    pithp_emit_row_functions(x->t, &x->rows, step);
    const size_t before = begin_function(x, &own);
    pithp_emit_fused(x->t, step);
    return end_function(x, &own, before);
}

/* The loop, behind the steps of its programs. */
static int32_t add_loop(emitting *x, const pithp_step *step) {
    int32_t functions[2 * PITHP_LOOP_STEPS], count = 0;
    for (int p = 0; p < step->call->program_count; p++)
        for (int64_t k = 0; k < step->plans[p]->step_count; k++)
            functions[count++] = add_fused(x, step->plans[p]->steps[k].fused);
    body own;
    const size_t before = begin_function(x, &own);
    pithp_emit_loop(x->t, step, functions);
    return end_function(x, &own, before);
}

/* How many functions a plan may have. */
static int64_t most_functions(const pithp_plan *plan) {
    int64_t count = plan->step_count;
    for (int64_t k = 0; k < plan->step_count; k++)
        if (pithp_loop_fits(plan, &plan->steps[k]))
            for (int p = 0; p < plan->steps[k].call->program_count; p++)
                count += plan->steps[k].plans[p]->step_count;
    return count;
}

bool pithp_emit_host(pithp_text *t,
                     const pithp_plan *plan,
                     int32_t *functions,
                     bool *maths) {
    const size_t bytes = (size_t)most_functions(plan) * sizeof(body);
    emitting x = {.t = t, .bodies = pithp_allocate(t->rt, bytes)};
    if (!x.bodies)
        return false;
    pithp_text_add(t, pithp_text_host);
    for (int64_t k = 0; k < plan->step_count; k++)
        functions[k] = plan->steps[k].fused ? add_fused(&x, plan->steps[k].fused)
                       : pithp_loop_fits(plan, &plan->steps[k])
                           ? add_loop(&x, &plan->steps[k])
                           : -1;
    if (x.rows.maths)
        pithp_math_text(t);
    *maths = x.rows.maths;
    pithp_release(t->rt, x.bodies, bytes);
    return x.count > 0 && !t->failed;
}

/* ---- Devices ---- */

static int32_t add_kernel(emitting *x, const pithp_fused_args *step) {
    char name[PITHP_STEP_NAME_BYTES];
    pithp_emit_row_functions(x->t, &x->rows, step);
    pithp_step_name(name, x->count);
    pithp_emit_kernel(x->t, name, step);
    return x->count++;
}

bool pithp_emit_device(pithp_text *t,
                       const char *prologue,
                       const pithp_plan *plan,
                       int32_t *functions,
                       bool *maths) {
    emitting x = {.t = t};
    pithp_text_add(t, prologue);
    for (int64_t k = 0; k < plan->step_count; k++)
        functions[k] = plan->steps[k].fused ? add_kernel(&x, plan->steps[k].fused) : -1;
    *maths = x.rows.maths;
    return x.count > 0 && !t->failed;
}
