/* Status codes: names and texts from the list in base.h; also the version of the
 * library. */
#include "base/base_internal.h"

static const struct {
    const char *name, *text;
} statuses[] = {
#define ROW(name, value, text) [value] = {"PITH_" #name, text},
    PITH_STATUS_LIST(ROW)
#undef ROW
};

const char *pith_status_name(pith_status status) {
    const size_t i = (size_t)status;
    return i < PITHP_COUNT(statuses) ? statuses[i].name : "unknown status";
}

const char *pith_status_text(pith_status status) {
    const size_t i = (size_t)status;
    return i < PITHP_COUNT(statuses) ? statuses[i].text : "unknown status";
}

const char *pith_version(void) {
    return PITH_VERSION_TEXT;
}
