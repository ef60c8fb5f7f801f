/* Validation of save options and of the folder, before a save or a run begins. */
#include "checkpoint/save/saving.h"

#include <string.h>

static pith_status
check_metadata(pith_scope *s, const char *function, const pith_metadata *metadata) {
    for (const pith_metadata *pair = metadata; pair && pair->key; pair++) {
        if (!pair->value || !pithp_is_utf8(pair->key, strlen(pair->key)) ||
            !pithp_is_utf8(pair->value, strlen(pair->value)))
            return pithp_fail(s, PITH_E_ARG, NULL,
                              "%s: metadata are pairs of UTF-8 strings", function);
        for (const pith_metadata *other = metadata; other != pair; other++)
            if (strcmp(other->key, pair->key) == 0)
                return pithp_fail(s, PITH_E_ARG, NULL,
                                  "%s: the metadata \"%.80s\" is given twice", function,
                                  pair->key);
    }
    return PITH_OK;
}

pith_status pithp_save_options_check(pith_scope *s,
                                     const char *function,
                                     const char *path,
                                     const pith_save_options *o) {
    const char *wrong =
        !path         ? "path is NULL"
        : o->keep < 0 ? "keep must not be negative"
        : o->incremental && !o->keep
            ? "incremental is for a series: keep must be positive"
        : o->part_per_node && o->inline_all  ? "part_per_node excludes inline_all"
        : o->check_shared && !o->incremental ? "check_shared is for an incremental series"
        : o->compress > PITHP_COMPRESS_LEVELS ? "compress must be 19 at most"
                                              : NULL;
    return wrong ? pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function, wrong)
                 : check_metadata(s, function, o->metadata);
}

pith_status pithp_save_probe(pith_scope *s,
                             const char *function,
                             const char *path,
                             const pith_save_options *options) {
    pithp_location location;
    pithp_writer w;
    pith_status rc = pithp_save_options_check(s, function, path, options);
    if (rc != PITH_OK)
        return rc;
    rc = pithp_location_open(s, path, &location);
    if (rc == PITH_OK) {
        pithp_writer_open(&w, s->runtime, &location, 0);
        rc = pithp_writer_status(s, &w, path);
        pithp_writer_close(&w);
    }
    pithp_location_close(&location);
    return rc;
}
