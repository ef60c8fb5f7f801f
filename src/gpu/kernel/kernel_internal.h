/* Kernel launches in two steps: bind (check the arguments, compute the specs of outputs)
 * and run (pack the arguments, enqueue). Arrays are specs and addresses here; the array
 * room combines them. */
#ifndef PITH_KERNEL_INTERNAL_H
#define PITH_KERNEL_INTERNAL_H

#include "gpu/gpu_internal.h"

enum {
    PITHP_KERNEL_NAMES = 32,      /* maximum distinct names in the extents of a kernel */
    PITHP_KERNEL_ARGS_BYTES = 768 /* of an argument struct */
};

/* Faults of a checked kernel. In a report the line is fault * PITHP_FAULT_ARGS +
 * argument, the need is the element, and `have` is as stated here. */
typedef enum pithp_kernel_fault {
    PITHP_FAULT_READ_RANGE,  /* have: elements of the array */
    PITHP_FAULT_WRITE_RANGE, /* have: elements of the array */
    PITHP_FAULT_UNSET,       /* an element of an output was not written; have: elements */
    PITHP_FAULT_READ_UNSET,  /* an element of an output is read before it is written */
    PITHP_FAULT_WRITE_TWICE, /* have: the writing index; -1: several */
    PITHP_FAULT_READ_OTHER,  /* have: the writing index; -1: several */
    PITHP_FAULT_WRITE_READ,  /* have: the reading index; -1: several */
    PITHP_FAULT_WRITE_IN,
    PITHP_FAULT_OUTSIDE, /* outside all arrays; no argument */
    PITHP_FAULT_NO_MEMORY
} pithp_kernel_fault;

enum { PITHP_FAULT_ARGS = 25 };

/* A name in extents, and its value in a launch. */
typedef struct pithp_kernel_name {
    const char *text; /* in the declaration */
    int length;
    int binder; /* the argument that bound the value */
    int64_t value;
} pithp_kernel_name;

typedef struct pithp_kernel_binding {
    const pith_kernel_variant *kernel;
    const pith_operand *operands;                 /* one per argument */
    const pith_spec *specs[PITH_KERNEL_MAX_ARGS]; /* of input and output arrays; in a
                                                     batch of an entry's */
    pith_spec made[PITH_KERNEL_MAX_ARGS]; /* of outputs: dtype, rank and shape; in a batch
                                             of mapped inputs, too */
    bool batched;                         /* one launch runs many entries */
    bool masked;                          /* only those that a bool [entries] marks */
    int64_t entries;                      /* of a batch */
    uint32_t mapped; /* bit i: array argument i has the axis of the entries in front */
    int64_t n, m;    /* index ranges */
    int name_count;
    pithp_kernel_name names[PITHP_KERNEL_NAMES];
} pithp_kernel_binding;

static inline bool pithp_kernel_is_given(pith_role role) {
    return role == PITH_ROLE_IN || role == PITH_ROLE_INOUT;
}
static inline bool pithp_kernel_is_made(pith_role role) {
    return role == PITH_ROLE_OUT || role == PITH_ROLE_INOUT;
}

/* Any variant, for the common properties: names, roles, extents. NULL sets the error. */
const pith_kernel_variant *pithp_kernel_any(pith_scope *s, const pith_kernel *kernel);
/* The variant for a real dtype, PITH_DTYPE_NONE if no argument has one. NULL sets the
 * error. */
const pith_kernel_variant *
pithp_kernel_choose(pith_scope *s, const pith_kernel *kernel, pith_dtype real);
/* Bind a launch. The caller sets kernel, operands and the specs of input arrays. The
 * other members are set, and point into b. */
pith_status pithp_kernel_bind(pithp_kernel_binding *b, pithp_error *e);
/* Launch handle of a kernel on a CUDA device. by_address: its only parameter is the
 * address of its arguments. */
pith_status pithp_kernel_handle(pithp_device *d,
                                const pith_kernel_variant *k,
                                bool by_address,
                                const void **handle,
                                pithp_error *e);

/* The spec of an entry of a batch, from that of an array with the entries in front.
 * False: the array has no such axis. */
bool pithp_kernel_entry(const pith_spec *array, int64_t entries, pith_spec *entry);
/* The host loops for a launch with these arguments. */
const pithp_host_loop *pithp_kernel_loops(const pith_kernel_variant *k, const void *args);
/* How many times the specs of an argument the launch has. */
static inline int64_t pithp_kernel_times(const pithp_kernel_binding *b, int argument) {
    return b->mapped >> argument & 1 ? b->entries : 1;
}
/* Indices of a launch, and its reports. */
static inline int64_t pithp_kernel_count(const pithp_kernel_binding *b) {
    return b->n * b->m * (b->batched ? b->entries : 1);
}
static inline int64_t pithp_kernel_reports(const pithp_kernel_binding *b) {
    return b->batched ? b->entries : 1;
}

/* Enqueue a launch; data[i]: address of array argument i, and after the arguments the
 * mask of a batch. All specs must be set. report: zeroed device memory, one for each
 * entry; NULL: one from pithp_check_make. */
pith_status pithp_kernel_run(pith_scope *s,
                             const pithp_kernel_binding *b,
                             void *const *data,
                             pith_report *report);
/* Steps of pithp_kernel_run, for callers that enqueue on their own. Returns the width of
 * the fill pattern of array argument i; 0: no fill, or the scope failed. */
size_t pithp_kernel_fill(pith_scope *s,
                         const pithp_kernel_binding *b,
                         int argument,
                         uint64_t *pattern);
/* Pack the launch, without its CUDA kernel. args: PITHP_KERNEL_ARGS_BYTES, aligned to
 * 16. */
pith_status pithp_kernel_pack(const pithp_kernel_binding *b,
                              void *const *data,
                              pith_report *report,
                              void *args,
                              pithp_launch *launch,
                              pithp_error *e);
/* Convert the report of a launch to an error; subject: the pith_kernel_variant. */
void pithp_kernel_describe(const void *subject,
                           const pith_report *report,
                           const char *site,
                           pithp_error *e);

#endif
