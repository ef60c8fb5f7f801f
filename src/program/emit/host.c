/* The text of a plan for the host: all that is compiled of it, as one translation unit.
 */
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
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

static int32_t add_step(emitting *x, const pithp_fused_args *step) {
    pithp_text *t = x->t;
    char name[PITHP_STEP_NAME_BYTES];
    pithp_emit_row_functions(t, &x->rows, step);
    const size_t before = t->length;
    pithp_step_name(name, x->count);
    pithp_text_print(t, "void %s(const void *args, i64 begin, i64 end);\nvoid %s", name,
                     name);
    body own = {.at = t->length};
    pithp_emit_fused(t, step);
    own.length = t->length - own.at;
    own.hash = pithp_hash(0, t->bytes + own.at, own.length);
    const int32_t same = find_body(x, &own);
    if (same >= 0 && !t->failed) {
        t->length = before;
        t->bytes[before] = 0;
        return same;
    }
    x->bodies[x->count] = own;
    return x->count++;
}

bool pithp_emit_host(pithp_text *t,
                     const pithp_plan *plan,
                     int32_t *functions,
                     bool *maths) {
    const size_t bytes = (size_t)plan->step_count * sizeof(body);
    emitting x = {.t = t, .bodies = pithp_allocate(t->rt, bytes)};
    if (!x.bodies)
        return false;
    pithp_text_add(t, pithp_text_host);
    for (int64_t k = 0; k < plan->step_count; k++)
        functions[k] = plan->steps[k].fused ? add_step(&x, plan->steps[k].fused) : -1;
    if (x.rows.maths)
        pithp_math_text(t);
    *maths = x.rows.maths;
    pithp_release(t->rt, x.bodies, bytes);
    return x.count > 0 && !t->failed;
}
