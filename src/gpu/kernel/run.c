/* Kernel launch: selects the variant, packs the arguments and enqueues it. */
#include "pith/kernel.h"

#include "gpu/collect.h"
#include "gpu/kernel/kernel_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of arrays worth a thread: kernels with much work per index also access much
 * memory per index (for example a row of neighbours). */
enum { GRAIN_BYTES = 65536, GRAIN_MOST = 8192 };

const pith_kernel_variant *pithp_kernel_any(pith_scope *s, const pith_kernel *kernel) {
    if (kernel && kernel->plain)
        return kernel->plain();
    if (kernel && kernel->f64)
        return kernel->f64();
    if (kernel && kernel->f32)
        return kernel->f32();
    pithp_fail(s, PITH_E_ARG, NULL, "the kernel has no code");
    return NULL;
}

const pith_kernel_variant *
pithp_kernel_choose(pith_scope *s, const pith_kernel *kernel, pith_dtype real) {
    const pith_kernel_variant *any = pithp_kernel_any(s, kernel);
    bool uses_real = false;
    for (int i = 0; any && i < any->arg_count; i++)
        uses_real |= any->args[i].real;
    if (!any || !uses_real)
        return any;
    if (real == PITH_F64 && kernel->f64)
        return kernel->f64();
    if (real == PITH_F32 && kernel->f32)
        return kernel->f32();
    if (kernel->plain)
        pithp_fail(s, PITH_E_ARG, NULL, "%s: its file was compiled without REAL",
                   any->name);
    else if (real == PITH_DTYPE_NONE)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: no array determines its real dtype: launch it with "
                   "pith_launch_dtype",
                   any->name);
    else
        pithp_fail(s, PITH_E_DTYPE, NULL, "%s: real is %s, compiled for%s%s", any->name,
                   pith_dtype_name(real), kernel->f32 ? " f32" : "",
                   kernel->f64 ? " f64" : "");
    return NULL;
}

/* ---- Packing ---- */

static void store(void *to, const void *value, size_t bytes) {
    memcpy(to, value, bytes);
}

/* Store a number of the caller with the dtype of its argument; returns its bytes. */
static size_t pack_value(void *to, pith_dtype dtype, const pith_operand *operand) {
    const size_t bytes = pith_dtype_size(dtype);
    if (dtype == PITH_F64)
        store(to, &operand->number, bytes);
    else if (dtype == PITH_F32)
        store(to, &(float){(float)operand->number}, bytes);
    else if (bytes == 8)
        store(to, &operand->integer, bytes);
    else if (bytes == 4)
        store(to, &(uint32_t){(uint32_t)operand->integer}, bytes);
    else if (bytes == 2)
        store(to, &(uint16_t){(uint16_t)operand->integer}, bytes);
    else
        store(to, &(uint8_t){(uint8_t)operand->integer}, bytes);
    return bytes;
}

static int64_t value_of_name(const pithp_kernel_binding *b, const char *text) {
    const int length = (int)strlen(text);
    for (int i = 0; i < b->name_count; i++)
        if (b->names[i].length == length &&
            memcmp(b->names[i].text, text, (size_t)length) == 0)
            return b->names[i].value;
    return 0; /* bind refuses sizes without a value */
}

/* Whether a fill is exact in an integer or bool dtype; double limits it to 2^53. */
static bool fill_fits(pith_dtype dtype, double fill) {
    const int bits = dtype == PITH_BOOL ? 1 : 8 * (int)pith_dtype_size(dtype);
    const bool is_signed =
        dtype == PITH_I8 || dtype == PITH_I16 || dtype == PITH_I32 || dtype == PITH_I64;
    const double exact = 9007199254740992.0;
    const double limit =
        bits == 64 ? exact : (double)((int64_t)1 << (is_signed ? bits - 1 : bits));
    return fill >= (is_signed ? -limit : 0.0) &&
           (bits == 64 ? fill <= limit : fill < limit) && (double)(int64_t)fill == fill;
}

size_t pithp_kernel_fill(pith_scope *s,
                         const pithp_kernel_binding *b,
                         int argument,
                         uint64_t *pattern) {
    const pith_kernel_arg *arg = &b->kernel->args[argument];
    pith_operand operand = {NULL, 0, arg->fill};
    *pattern = 0;
    if (arg->role != PITH_ROLE_OUT || !arg->filled || b->specs[argument]->count == 0)
        return 0;
    if (arg->dtype == PITH_F16)
        operand.integer = pith_f16_store((float)arg->fill);
    else if (arg->dtype == PITH_BF16)
        operand.integer = pith_bf16_store((float)arg->fill);
    else if (!pith_dtype_is_float(arg->dtype)) {
        if (!fill_fits(arg->dtype, arg->fill)) {
            pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: the fill %g is not exact in %s",
                       b->kernel->name, arg->name, arg->fill,
                       pith_dtype_name(arg->dtype));
            return 0;
        }
        operand.integer = (int64_t)arg->fill;
    }
    return pack_value(pattern, arg->dtype, &operand);
}

/* Fill outputs with their declared values before the kernel runs. */
static pith_status
fill_outs(pith_scope *s, const pithp_kernel_binding *b, void *const *data) {
    for (int i = 0; i < b->kernel->arg_count && s->error.code == PITH_OK; i++) {
        uint64_t pattern;
        const size_t width = pithp_kernel_fill(s, b, i, &pattern);
        if (width)
            pithp_fill(s, data[i], &pattern, width,
                       b->specs[i]->count * pithp_kernel_times(b, i));
    }
    return s->error.code;
}

static void pack(const pithp_kernel_binding *b,
                 void *const *data,
                 unsigned char args[PITHP_KERNEL_ARGS_BYTES]) {
    const pith_kernel_variant *k = b->kernel;
    for (int i = 0; i < k->arg_count; i++) {
        const pith_kernel_arg *arg = &k->args[i];
        unsigned char *to = args + arg->offset;
        switch (arg->role) {
            case PITH_ROLE_OUT:
            case PITH_ROLE_IN:
            case PITH_ROLE_INOUT:
                store(to, &data[i], sizeof data[i]);
                break;
            case PITH_ROLE_VALUE:
            case PITH_ROLE_EXTENT:
                pack_value(to, arg->dtype, &b->operands[i]);
                break;
            case PITH_ROLE_SIZE:
                store(to, &(int64_t){value_of_name(b, arg->name)}, sizeof(int64_t));
                break;
        }
    }
}

/* Pack the element counts of the arrays, for a checked kernel. */
static void pack_counts(const pithp_kernel_binding *b, unsigned char *args) {
    const pith_kernel_variant *k = b->kernel;
    for (int i = 0; i < k->arg_count; i++)
        if (b->specs[i])
            store(args + k->counts + i * (int)sizeof(int64_t), &b->specs[i]->count,
                  sizeof(int64_t));
}

/* The elements from an entry of a batch to the next. */
static void pack_strides(const pithp_kernel_binding *b, unsigned char *args) {
    const pith_kernel_variant *k = b->kernel;
    for (int i = 0; i < k->arg_count; i++)
        if (b->mapped >> i & 1)
            store(args + k->strides + i * (int)sizeof(int64_t), &b->specs[i]->count,
                  sizeof(int64_t));
}

static int64_t grain_of(const pithp_kernel_binding *b, int64_t count) {
    size_t bytes = 0;
    for (int i = 0; i < b->kernel->arg_count; i++)
        if (b->specs[i])
            bytes += b->specs[i]->bytes;
    const int64_t each = (int64_t)(bytes / (size_t)count) + 1;
    const int64_t grain = GRAIN_BYTES / each;
    return grain < 1 ? 1 : grain > GRAIN_MOST ? GRAIN_MOST : grain;
}

/* ---- The launch ---- */

pith_status pithp_kernel_pack(const pithp_kernel_binding *b,
                              void *const *data,
                              pith_report *report,
                              void *args,
                              pithp_launch *launch,
                              pithp_error *e) {
    const pith_kernel_variant *k = b->kernel;
    const int64_t count = pithp_kernel_count(b);
    const pith_kernel_frame frame = {.n = b->n,
                                     .m = b->m,
                                     .report = report,
                                     .entries = b->batched ? b->entries : 0,
                                     .taken = b->masked ? data[k->arg_count] : NULL,
                                     .kernel = b->batched ? k : NULL};
    if ((size_t)k->args_bytes > PITHP_KERNEL_ARGS_BYTES) {
        pithp_error_set(e, PITH_E_INTERNAL, NULL, NULL, "%s: too many arguments",
                        k->name);
        return PITH_E_INTERNAL;
    }
    memset(args, 0, (size_t)k->args_bytes);
    pack(b, data, args);
    store(args, &frame, sizeof frame);
    pack_strides(b, args);
    if (k->counts)
        pack_counts(b, args);
    *launch = (pithp_launch){.name = k->name,
                             .loops = pithp_kernel_loops(k, args),
                             .args = args,
                             .args_bytes = (size_t)k->args_bytes,
                             .count = count,
                             .grain = count ? grain_of(b, b->n * b->m) : 1};
    if (k->counts && !(b->batched && b->entries == 0)) /* one call runs all indices and
                                       checks the outputs, also for 0 indices */
        launch->count = launch->grain = count ? count : 1;
    return PITH_OK;
}

/* Log once: only host code of a checked kernel has checks. */
static void log_unchecked(pithp_device *d, const char *name) {
    if (!atomic_load_explicit(&d->said_unchecked, memory_order_relaxed) &&
        !atomic_exchange(&d->said_unchecked, true))
        pithp_log(d->runtime, PITH_LOG_WARNING,
                  "checked kernels such as %s run unchecked on %s: use "
                  "PITH_DEVICE=host to find their faults",
                  name, d->name);
}

pith_status pithp_kernel_handle(pithp_device *d,
                                const pith_kernel_variant *k,
                                bool by_address,
                                const void **handle,
                                pithp_error *e) {
    const pith_kernel_entry entry = by_address ? k->cuda_at : k->cuda;
    *handle = NULL;
    if (entry && k->counts)
        log_unchecked(d, k->name);
    if (entry)
        return d->backend->kernel_find(d, entry, k->name, handle, e);
    pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                    "%s was not built for CUDA: compile it with nvcc too", k->name);
    return PITH_E_UNSUPPORTED;
}

pith_status pithp_kernel_run(pith_scope *s,
                             const pithp_kernel_binding *b,
                             void *const *data,
                             pith_report *report) {
    const pith_kernel_variant *k = b->kernel;
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES];
    pithp_launch launch;
    pithp_error e;
    if (fill_outs(s, b, data) != PITH_OK || !pithp_kernel_reports(b) ||
        (b->n * b->m == 0 && !k->counts))
        return s->error.code;
    pithp_device *d = pithp_scope_device(s);
    const bool cuda = d->backend->kernel_find != NULL;
    if (cuda && !k->cuda)
        return pithp_fail(s, PITH_E_UNSUPPORTED, NULL, "%s: not compiled for CUDA",
                          k->name);
    if (!report && !(report = pithp_check_make(s, pithp_kernel_describe, k)))
        return pith_code(s);
    if (pithp_kernel_pack(b, data, report, args, &launch, &e) != PITH_OK)
        return pithp_fail(s, e.code, NULL, "%s", e.text);
    if (cuda && pithp_kernel_handle(d, k, false, &launch.cuda, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return pithp_launch_run(s, &launch);
}
