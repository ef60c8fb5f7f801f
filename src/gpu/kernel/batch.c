/* Batches of kernels: one launch over the indices of many entries. On the host a loop
 * runs the kernel's own loop for a range of each entry, with the addresses of the entry.
 */
#include "gpu/kernel/kernel_internal.h"

#include <string.h>

bool pithp_kernel_entry(const pith_spec *array, int64_t entries, pith_spec *entry) {
    if (array->rank < 1 || array->shape[0] != entries)
        return false;
    *entry = (pith_spec){.dtype = array->dtype, .rank = array->rank - 1, .count = 1};
    for (int d = 0; d < entry->rank; d++) {
        entry->shape[d] = array->shape[d + 1];
        entry->count *= entry->shape[d];
    }
    entry->bytes = (size_t)entry->count * pith_dtype_size(entry->dtype);
    return true;
}

/* A range of indices over all entries. */
typedef struct entries {
    const pith_kernel_variant *kernel;
    pith_kernel_frame frame;
    pithp_host_loop loop;                                     /* of one entry */
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES]; /* of one entry */
} entries;

/* Set the addresses of an entry. given: the arguments of the batch. */
static void place(entries *e, const unsigned char *given, int64_t entry) {
    const pith_kernel_variant *k = e->kernel;
    const pith_kernel_frame frame = {
        .n = e->frame.n, .m = e->frame.m, .report = e->frame.report + entry};
    memcpy(e->args, &frame, sizeof frame);
    for (int i = 0; i < k->arg_count; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        int64_t stride;
        char *array;
        memcpy(&stride, given + k->strides + i * (int)sizeof stride, sizeof stride);
        if (!stride)
            continue;
        memcpy(&array, given + arg->offset, sizeof array);
        array += (size_t)(entry * stride) * pith_dtype_size(arg->dtype);
        memcpy(e->args + arg->offset, &array, sizeof array);
    }
}

static void
run(entries *e, const void *given, int64_t entry, int64_t begin, int64_t end) {
    if (e->frame.taken && !e->frame.taken[entry])
        return;
    place(e, given, entry);
    e->loop(e->args, begin, end);
}

static void run_entries(const void *given, int64_t begin, int64_t end, pithp_isa isa) {
    entries e;
    memcpy(&e.frame, given, sizeof e.frame);
    e.kernel = e.frame.kernel;
    e.loop = pithp_loop_for(&(pithp_launch){.loops = e.kernel->loops}, isa);
    memcpy(e.args, given, (size_t)e.kernel->args_bytes);
    const int64_t each = e.frame.n * e.frame.m;
    if (e.kernel->counts) /* the range is the whole launch, perhaps without indices */
        for (int64_t entry = 0; entry < e.frame.entries; entry++)
            run(&e, given, entry, 0, each);
    else
        for (int64_t at = begin, next; at < end; at = next) {
            const int64_t entry = at / each, first = entry * each;
            next = first + each < end ? first + each : end;
            run(&e, given, entry, at - first, next - first);
        }
}

/* A loop for each instruction set. */
static void run_base(const void *given, int64_t begin, int64_t end) {
    run_entries(given, begin, end, PITHP_ISA_BASE);
}
static void run_v3(const void *given, int64_t begin, int64_t end) {
    run_entries(given, begin, end, PITHP_ISA_V3);
}
static void run_v4(const void *given, int64_t begin, int64_t end) {
    run_entries(given, begin, end, PITHP_ISA_V4);
}
static const pithp_host_loop loops[PITHP_ISA_COUNT] = {run_base, run_v3, run_v4};

const pithp_host_loop *pithp_kernel_loops(const pith_kernel_variant *k,
                                          const void *args) {
    pith_kernel_frame frame;
    memcpy(&frame, args, sizeof frame);
    return frame.entries ? loops : k->loops;
}
