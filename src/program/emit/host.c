/* The text of a plan for the host: all that is compiled of it, as one translation unit.
 */
#include "program/cuda/cuda.h"
#include "program/emit/emit.h"
#include "program/math/link.h"

#include <stdio.h>

void pithp_step_name(char name[PITHP_STEP_NAME_BYTES], int64_t step) {
    snprintf(name, PITHP_STEP_NAME_BYTES, "pith_step_%lld", (long long)step);
}

bool pithp_emit_host(pithp_text *t, const pithp_plan *plan, bool *maths) {
    pithp_emitted_rows rows = {.maths = false};
    bool any = false;
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_fused_args *step = plan->steps[k].fused;
        char name[PITHP_STEP_NAME_BYTES];
        if (!step)
            continue;
        if (!any)
            pithp_text_add(t, pithp_text_host);
        any = true;
        pithp_emit_row_functions(t, &rows, step);
        pithp_step_name(name, k);
        pithp_emit_fused(t, name, step);
    }
    if (rows.maths)
        pithp_math_text(t);
    *maths = rows.maths;
    return any;
}
