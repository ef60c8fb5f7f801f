/* Within checkpoint: a save, between the files that do it. */
#ifndef PITH_SAVE_INTERNAL_H
#define PITH_SAVE_INTERNAL_H

#include "checkpoint/save/saving.h"
#include "checkpoint/store/sidecar.h"

struct pithp_saving {
    pith_scope *s;
    pith_save_options options; /* metadata is in the document */
    pithp_location location;
    pithp_document d;
    const pith_array **arrays;
    pithp_writer sidecar, document;
    const pithp_doc_sidecar *fresh; /* that this save writes; NULL: none */
    int64_t *order;                 /* its leaves, in the order of their data */
    int64_t order_count;
    pithp_text header, text;
    void *staging; /* NULL where the device's memory can be read as it is */
    pithp_compressor compressor;
    bool lost; /* another writer took a sidecar away that was to be shared */
};

/* Write the leaves that are left for the last row of the sidecars, which it adds, to a
 * file that has no name yet; v->fresh is NULL where there are none (save_sidecar.c). */
pith_status pithp_saving_write_sidecar(pithp_saving *v);
#endif
