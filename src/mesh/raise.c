/* Failed checks of ranks: the same error on all of them, which names the first rank, its
 * place in the mesh, and the others that failed. */
#include "gpu/gpu_internal.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ", also 5, 7-9" */
static void
print_others(const uint8_t *failed, int64_t count, int64_t first, char *text) {
    enum { ROOM = 120 };
    int at = 0, listed = 0;
    text[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!failed[i] || i == first)
            continue;
        int64_t end = i + 1;
        while (end < count && failed[end] && end != first)
            end++;
        if (at > ROOM - 50) {
            snprintf(text + at, (size_t)(ROOM - at), ", ...");
            return;
        }
        at += snprintf(text + at, (size_t)(ROOM - at), "%s%" PRId64,
                       listed++ ? ", " : ", also ", i);
        if (end > i + 1)
            at += snprintf(text + at, (size_t)(ROOM - at), "%s%" PRId64,
                           end > i + 2 ? "-" : ", ", end - 1);
        i = end;
    }
}

void pithp_ranks_raise(pith_scope *s, int64_t first, pithp_error *e, bool failed) {
    uint8_t own = failed, all[PITHP_MOST_RANKS];
    char others[128], place[PITHP_WHAT_BYTES];
    pithp_error told;
    if (first == pithp_ranks_own(s))
        told = *e;
    else
        memset(&told, 0, sizeof told);
    if (!pithp_ranks_broadcast(s, first, &told, sizeof told) ||
        !pithp_ranks_gather(s, &own, all, 1))
        return;
    const int64_t count = pithp_ranks_count(s);
    print_others(all, count, first, others);
    pithp_mesh_place(pith_mesh_of(s), first, place);
    pithp_fail_at(s, told.code, told.path, told.site,
                  "rank %" PRId64 " of %" PRId64 " (%s)%s: %s", first, count, place,
                  others, told.text);
}

/* ---- The end of a compiled call ---- */

enum { PLACE_OF_ERRORS, PLACE_OF_CHECKS };

bool pithp_ranks_end_call(pith_scope *s, const char *operation) {
    pithp_error e;
    if (!pithp_ranks_of(s))
        return s->error.code == PITH_OK;
    const bool ran = s->error.code == PITH_OK;
    pithp_synchronise(s); /* raises the checks that have failed */
    const bool failed = ran && s->error.code != PITH_OK &&
                        s->error.code != PITH_E_DEVICE && s->error.code != PITH_E_MEMORY;
    if (failed) {
        e = s->error;
        s->error.code = PITH_OK;
    }
    pithp_decision d = {.operation = operation,
                        .trouble = failed ? 1 + PLACE_OF_CHECKS : 0,
                        .error = PLACE_OF_ERRORS,
                        .checks = failed};
    if (!pithp_decide(s, &d))
        return false;
    if (d.first >= 0 && d.trouble == 1 + PLACE_OF_CHECKS)
        pithp_ranks_raise(s, d.first, &e, failed);
    else if (d.first >= 0)
        pithp_decision_tell(s, operation, d.first);
    return d.first < 0;
}
