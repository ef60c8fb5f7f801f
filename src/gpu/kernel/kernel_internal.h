/* Launching kernels in two steps: bind (what was given fits the declaration; what the
 * launch must make) and run (pack the arguments and enqueue). Arrays appear here as specs
 * and addresses; the array room puts the two together. */
#ifndef PITH_KERNEL_INTERNAL_H
#define PITH_KERNEL_INTERNAL_H

#include "gpu/gpu_internal.h"

enum {
    PITHP_KERNEL_NAMES = 32,      /* different names in the extents of one kernel */
    PITHP_KERNEL_ARGS_BYTES = 512 /* of an argument struct */
};

/* What a checked kernel may do wrong. In a report, fault * PITHP_FAULT_ARGS + argument
 * stands for the line, the need is the element, and have as said here. */
typedef enum pithp_kernel_fault {
    PITHP_FAULT_READ_RANGE,  /* have: elements of the array */
    PITHP_FAULT_WRITE_RANGE, /* have: elements of the array */
    PITHP_FAULT_UNSET,       /* an element of an out was not written; have: elements */
    PITHP_FAULT_READ_UNSET,  /* an element of an out is read before it is written */
    PITHP_FAULT_WRITE_TWICE, /* have: the index that wrote it; -1: several */
    PITHP_FAULT_READ_OTHER,  /* have: the index that wrote it; -1: several */
    PITHP_FAULT_WRITE_READ,  /* have: the index that read it; -1: several */
    PITHP_FAULT_WRITE_IN,
    PITHP_FAULT_OUTSIDE, /* of every array; no argument */
    PITHP_FAULT_NO_MEMORY
} pithp_kernel_fault;

enum { PITHP_FAULT_ARGS = 25 };

/* A name that extents use, and what it stands for in one launch. */
typedef struct pithp_kernel_name {
    const char *text; /* within the declaration */
    int length;
    int binder; /* the argument that gave the value */
    int64_t value;
} pithp_kernel_name;

typedef struct pithp_kernel_binding {
    const pith_kernel_variant *kernel;
    const pith_operand *operands;                 /* one an argument */
    const pith_spec *specs[PITH_KERNEL_MAX_ARGS]; /* of arrays, given or to be made */
    pith_spec made[PITH_KERNEL_MAX_ARGS];         /* of outs: dtype, rank and shape */
    int64_t n, m;                                 /* indices run over */
    int name_count;
    pithp_kernel_name names[PITHP_KERNEL_NAMES];
} pithp_kernel_binding;

static inline bool pithp_kernel_is_given(pith_role role) {
    return role == PITH_ROLE_IN || role == PITH_ROLE_INOUT;
}
static inline bool pithp_kernel_is_made(pith_role role) {
    return role == PITH_ROLE_OUT || role == PITH_ROLE_INOUT;
}

/* Any variant, for what they have in common: names, roles, extents. NULL: the error is
 * set. */
const pith_kernel_variant *pithp_kernel_any(pith_scope *s, const pith_kernel *kernel);
/* The variant for a real, which is PITH_DTYPE_NONE where no argument has one. */
const pith_kernel_variant *
pithp_kernel_choose(pith_scope *s, const pith_kernel *kernel, pith_dtype real);
/* kernel, operands and the specs of given arrays are set by the caller; fills the rest,
 * which points into b. */
pith_status pithp_kernel_bind(pithp_kernel_binding *b, pithp_error *e);
/* What launches a kernel on a device of CUDA. by_address: its one parameter is the
 * address of its arguments. */
pith_status pithp_kernel_handle(pithp_device *d,
                                const pith_kernel_variant *k,
                                bool by_address,
                                const void **handle,
                                pithp_error *e);

/* Enqueue with data[i] the address of array argument i; specs are whole.
 * report: zeroed device memory; NULL: one from pithp_check_make. */
pith_status pithp_kernel_run(pith_scope *s,
                             const pithp_kernel_binding *b,
                             void *const *data,
                             pith_report *report);
/* The parts of that for who enqueues on its own. The width of the pattern that array
 * argument i has to be filled with before, 0: it has none (or the scope failed). */
size_t pithp_kernel_fill(pith_scope *s,
                         const pithp_kernel_binding *b,
                         int argument,
                         uint64_t *pattern);
/* The launch, but for its CUDA kernel; args: PITHP_KERNEL_ARGS_BYTES, aligned to 16. */
pith_status pithp_kernel_pack(const pithp_kernel_binding *b,
                              void *const *data,
                              pith_report *report,
                              void *args,
                              pithp_launch *launch,
                              pithp_error *e);
/* The error of a report that a launch left; subject: the pith_kernel_variant. */
void pithp_kernel_describe(const void *subject,
                           const pith_report *report,
                           const char *site,
                           pithp_error *e);

/* "f64[n=256,3]": the declaration of an array argument, with the values of names that
 * other arguments gave. */
const char *pithp_kernel_declared(const pithp_kernel_binding *b,
                                  int argument,
                                  char text[PITHP_SPEC_TEXT_BYTES]);

#endif
