/* Resuming a run: loads the newest checkpoint of a name, which is a series, a single
 * document, or both; the later step wins. */
#include "checkpoint/load/load.h"
#include "run/attempt.h"
#include "run/run_internal.h"

/* Check that the loaded state has the nodes and dtypes of the given state. */
static pith_status check_kind(pith_scope *s, const void *state, const void *loaded) {
    pithp_flat a, b;
    if (pithp_flat_make(s, &a, state, NULL, NULL) != PITH_OK)
        return s->error.code;
    if (pithp_flat_make(s, &b, loaded, NULL, NULL) == PITH_OK) {
        const bool same = a.structure.item_count == b.structure.item_count;
        for (int64_t i = 0; same && i < a.structure.item_count; i++) {
            const pith_dtype was = a.structure.specs[i]->dtype,
                             is = b.structure.specs[i]->dtype;
            if (was != is) {
                pithp_item_fail(s, &a.structure, i, PITH_E_DTYPE,
                                "resume: the given state has %s, the checkpoint %s",
                                pith_dtype_name(was), pith_dtype_name(is));
                break;
            }
        }
        if (!same)
            pithp_differences_fail(s, state, loaded, "the checkpoint", NULL, NULL);
        pithp_flat_end(&b);
    }
    pithp_flat_end(&a);
    return s->error.code;
}

const void *pithp_resume(pith_scope *s,
                         const pith_type *type,
                         const void *state,
                         const pith_run_options *o,
                         int64_t *step) {
    pithp_present present = {false, false};
    const void *best = NULL;
    if (pithp_checkpoint_present(s, o->save, &present) != PITH_OK)
        return NULL;
    const pith_type *root = type ? type : pith_type_of(state);
    for (int newest = 0; newest < 2; newest++) {
        int64_t at = 0;
        if (pith_failed(s) || !(newest ? present.series : present.single))
            continue;
        const void *loaded = pithp_load_step(s, root, o->save,
                                             &(pith_load_options){.newest = newest}, &at);
        if (loaded && !pith_failed(s) && (!best || at >= *step)) {
            best = loaded;
            *step = at;
        }
    }
    if (best && !pith_failed(s))
        check_kind(s, state, best);
    if (pith_failed(s))
        pithp_error_context(s, "resume");
    if (!best || pith_failed(s))
        return NULL;
    if (*step >= o->first_step)
        return best;
    pithp_fail(s, PITH_E_ARG, NULL,
               "resume: the checkpoint \"%s\" is of step %lld, before first_step, %lld",
               o->save, (long long)*step, (long long)o->first_step);
    return NULL;
}
