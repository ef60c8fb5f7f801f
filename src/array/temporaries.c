/* Composed operations: their temporaries are released at the end. */
#include "array/array_internal.h"

enum { SMALL_BYTES = 4096 };

pith_scope *pithp_temporaries_open(pith_scope *s) {
    pith_scope *work = pith_scope_open_in(s);
    if (pithp_scope_writable(work)) {
        work->caller = s->caller ? s->caller : s->function;
        return work;
    }
    pithp_fail_memory(s, PITHP_BLOCK_BYTES);
    return NULL;
}

const pith_array *pithp_temporaries_keep(pith_scope *s, const pith_array *result) {
    if (!result || s->error.code != PITH_OK)
        return NULL;
    if (pithp_array_is_traced(result)) /* owned by the trace, not by the work scope */
        return result;
    const pith_spec *spec = pithp_array_spec(result);
    if (spec->bytes > SMALL_BYTES)
        return pithp_alias(s, result, spec);
    /* a view would keep the block of all small arrays of the work scope */
    pith_array *copy = pithp_array_make(s, spec);
    if (copy && spec->bytes &&
        pithp_copy(s, copy->data, result->data, spec->bytes) != PITH_OK) {
        pithp_array_drop(s, copy);
        return NULL;
    }
    return copy;
}

const pith_array *
pithp_temporaries_close(pith_scope *s, pith_scope *work, const pith_array *result) {
    const pith_array *kept = pithp_temporaries_keep(s, result);
    pith_scope_close(work);
    return kept;
}
