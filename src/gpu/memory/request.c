/* Memory requests: validation and copies. */
#include "gpu/memory/request.h"

#include "gpu/memory/size_class.h"

#include <string.h>

/* ---- Checks ---- */

static bool
complain(pith_scope *s, pith_status code, const char *function, const char *why) {
    pithp_fail(s, code, NULL, "%s: %s", function, why);
    return false;
}

/* Check dtype, rank and extents, and that the bytes do not overflow. */
static bool
check_shape(pith_scope *s, const pith_request *r, const char *function, size_t *bytes) {
    size_t product = pith_dtype_size(r->dtype);
    if (product == 0) {
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: \"%s\": invalid dtype %d", function,
                   r->label, (int)r->dtype);
        return false;
    }
    if (r->shape.rank < 0 || r->shape.rank > PITH_MAX_RANK) {
        pithp_fail(s, PITH_E_SHAPE, NULL, "%s: \"%s\": rank %d, expected 0 to %d",
                   function, r->label, r->shape.rank, PITH_MAX_RANK);
        return false;
    }
    bool overflows = false;
    for (int i = 0; i < r->shape.rank; i++) {
        if (r->shape.extents[i] < 0) {
            pithp_fail(s, PITH_E_SHAPE, NULL, "%s: \"%s\": extent %d is negative",
                       function, r->label, i);
            return false;
        }
        /* a later extent 0 does not excuse an overflow */
        const size_t extent = (size_t)(r->shape.extents[i] ? r->shape.extents[i] : 1);
        overflows = overflows || pithp_mul_overflows(product, extent, &product);
    }
    if (overflows || product > PITHP_CLASS_MOST) {
        pithp_fail(s, PITH_E_OVERFLOW, NULL, "%s: \"%s\": the size overflows", function,
                   r->label);
        return false;
    }
    *bytes = product;
    return true;
}

static bool check_axis(pith_scope *s, pithp_request *r, const char *function) {
    const pith_request *a = &r->asked;
    const int rank = a->shape.rank;
    if (a->unchunkable || rank == 0) {
        r->runs = 0;
        r->asked.chunk_axis = -1;
        return true;
    }
    const int axis = a->chunk_axis < 0 ? a->chunk_axis + rank : a->chunk_axis;
    if (axis < 0 || axis >= rank) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: \"%s\": chunk axis %d of rank %d", function,
                   r->label, a->chunk_axis, rank);
        return false;
    }
    r->asked.chunk_axis = axis;
    r->runs = a->shape.extents[axis];
    if (a->runs == 0 || a->runs == r->runs)
        return true;
    pithp_fail(s, PITH_E_SHAPE, NULL,
               "%s: \"%s\": %lld runs, and extent %lld of its chunk axis", function,
               r->label, (long long)a->runs, (long long)r->runs);
    return false;
}

bool pithp_request_check(pith_scope *s,
                         const pith_request *asked,
                         pithp_request *checked,
                         const char *function) {
    if (!asked)
        return complain(s, PITH_E_ARG, function, "the request is NULL");
    const char *mistake = pithp_name_mistake(asked->label);
    if (mistake)
        return complain(s, PITH_E_ARG, function, mistake);
    *checked = (pithp_request){.asked = *asked};
    memcpy(checked->label, asked->label, strlen(asked->label) + 1);
    checked->asked.label = checked->label;
    size_t bytes;
    if (!check_shape(s, &checked->asked, function, &bytes) ||
        !check_axis(s, checked, function))
        return false;
    if (asked->memory == PITH_MEMORY_MANAGED)
        return complain(s, PITH_E_UNSUPPORTED, function,
                        "managed memory migrates, so it cannot be counted or "
                        "limited; request device or mapped memory");
    if (asked->memory != PITH_MEMORY_DEVICE && asked->memory != PITH_MEMORY_PINNED &&
        asked->memory != PITH_MEMORY_MAPPED)
        return complain(s, PITH_E_ARG, function, "invalid kind of memory");
    return true;
}

pith_shape pithp_request_shape(const pithp_request *r, int64_t length) {
    pith_shape shape = r->asked.shape;
    if (r->asked.chunk_axis >= 0 && shape.rank > 0)
        shape.extents[r->asked.chunk_axis] = length;
    return shape;
}

size_t pithp_request_bytes(const pithp_request *r, int64_t length) {
    const pith_shape shape = pithp_request_shape(r, length);
    size_t bytes = pith_dtype_size(r->asked.dtype);
    for (int i = 0; i < shape.rank; i++)
        bytes *= (size_t)shape.extents[i];
    return bytes;
}

pith_shape(pith_chunk_shape)(pith_scope *s, const pith_request *request, int64_t length) {
    static const char function[] = "pith_chunk_shape";
    pithp_request r;
    if (!pithp_enter(s) || !pithp_request_check(s, request, &r, function))
        return (pith_shape){0};
    if (length >= 0)
        return pithp_request_shape(&r, length);
    complain(s, PITH_E_ARG, function, "the length is negative");
    return (pith_shape){0};
}

/* ---- Lists ---- */

static pithp_request *find_label(pithp_request *first, const char *label) {
    for (pithp_request *r = first; r; r = r->next)
        if (strcmp(r->label, label) == 0)
            return r;
    return NULL;
}

void pithp_requests_free(pithp_device *d, pithp_request *first) {
    while (first) {
        pithp_request *next = first->next;
        pithp_release(d->runtime, first, sizeof *first);
        first = next;
    }
}

pithp_request *pithp_requests_make(pith_scope *s,
                                   const pith_request *asked,
                                   int64_t count,
                                   pith_instance *instance,
                                   const char *function) {
    pithp_device *d = pithp_scope_device(s);
    pithp_request *first = NULL, **last = &first;
    if (!asked || count < 1) {
        complain(s, PITH_E_ARG, function, "no requests");
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        pithp_request checked;
        if (!pithp_request_check(s, &asked[i], &checked, function))
            goto failed;
        if (find_label(first, checked.label)) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: \"%s\" is requested twice", function,
                       checked.label);
            goto failed;
        }
        pithp_request *r = pithp_allocate(d->runtime, sizeof *r);
        if (!r) {
            pithp_fail_memory(s, sizeof *r);
            goto failed;
        }
        *r = checked;
        r->asked.label = r->label;
        r->instance = instance;
        *last = r;
        last = &r->next;
    }
    return first;
failed:
    pithp_requests_free(d, first);
    return NULL;
}
