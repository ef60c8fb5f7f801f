/* Validation of bool elements: files and arrays hold the bytes 0 and 1 only. Operations
 * on bools rely on it, so other bytes are refused on load and save. */
#include "checkpoint/store/open.h"

void pithp_stray_bool_find(pithp_stray_bool *stray,
                           const void *elements,
                           size_t offset,
                           size_t n) {
    const uint8_t *bytes = elements;
    uint8_t any = 0;
    if (stray->found)
        return;
    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    stray->found = any > 1;
    for (size_t i = 0; stray->found && i < n; i++) {
        if (bytes[i] <= 1)
            continue;
        stray->element = offset + i;
        stray->byte = bytes[i];
        break;
    }
}

pith_status pithp_stray_bool_refuse(pith_scope *s,
                                    const pithp_document *d,
                                    const pithp_doc_leaf *leaf,
                                    const pithp_stray_bool *stray) {
    char path[PITHP_PATH_BYTES];
    return stray->found
               ? pithp_fail(s, PITH_E_FORMAT,
                            pithp_document_error_path(d, leaf->node, path),
                            "element %zu of a bool leaf: expected 0 or 1, got %d",
                            stray->element, stray->byte)
               : PITH_OK;
}

pith_status pithp_leaf_check_bools(pith_scope *s,
                                   const pith_checkpoint *c,
                                   const pithp_doc_leaf *leaf,
                                   size_t offset,
                                   const void *elements,
                                   size_t n) {
    pithp_stray_bool stray = {.found = false};
    if (leaf->dtype == PITH_BOOL)
        pithp_stray_bool_find(&stray, elements, offset, n);
    return pithp_stray_bool_refuse(s, &c->document, leaf, &stray);
}
