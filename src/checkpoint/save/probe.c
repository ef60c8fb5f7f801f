/* Validation of save options. */
#include "checkpoint/save/saving.h"

pith_status pithp_saving_check_options(pith_scope *s,
                                       const char *function,
                                       const char *path,
                                       const pith_save_options *o) {
    const char *wrong =
        !path         ? "path is NULL"
        : o->keep < 0 ? "keep must not be negative"
        : o->incremental && !o->keep
            ? "incremental is for a series: keep must be positive"
        : o->check_shared && !o->incremental ? "check_shared is for an incremental series"
        : o->compress > PITHP_PACK_LEVELS    ? "compress is a level of 19 at most"
                                             : NULL;
    return wrong ? pithp_fail(s, PITH_E_ARG, NULL, "%s: %s", function, wrong) : PITH_OK;
}
