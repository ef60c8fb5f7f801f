/* Going on from the newest checkpoint of a run's name: a series, a single document, or
 * both, of which the later step counts. */
#include "checkpoint/checkpoint_internal.h"
#include "run/run_internal.h"
#include "run/try.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* What there is of a name. */
typedef struct {
    bool series, single;
} found;

static pith_status look(pith_scope *s, const char *path, found *f) {
    pithp_place place;
    pithp_series members;
    char reason[128];
    pith_status rc = pithp_place_open(s, path, &place);
    if (rc == PITH_OK) {
        const int error =
            pithp_series_list(s->runtime, place.folder, place.name, &members);
        if (error)
            rc = pithp_fail(s, PITH_E_IO, NULL, "cannot list the series \"%s\": %s", path,
                            strerror_r(error, reason, sizeof reason));
        else {
            f->series = members.count > 0;
            pithp_series_end(s->runtime, &members);
        }
        f->single = faccessat(place.folder, place.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    pithp_place_close(&place);
    return rc;
}

/* The loaded state is of the kind of the given one: nodes and dtypes. */
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
    found f = {false, false};
    const void *best = NULL;
    if (look(s, o->save, &f) != PITH_OK)
        return NULL;
    const pith_type *root = type ? type : pith_type_of(state);
    for (int newest = 0; newest < 2; newest++) {
        int64_t at = 0;
        if (pith_failed(s) || !(newest ? f.series : f.single))
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
