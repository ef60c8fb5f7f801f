/* The CUDA shells of kernels in batches, run by the host, against the loops of the host:
 * all arrays, and the report of each entry. */
#include "pith_test.h"
#include "program/op/kernel_call.h"
#include "random_kernels.h"

#define SCOPED(name) PT_SCOPED(vmap_shell, name)

typedef void shell(const void *args, long long threads, int by_address);
shell random_grow_shell, random_below_shell, random_pairs_shell, random_count_shell;

enum { ENTRIES = 5, ROOM = 4096 };

/* The arrays of a launch: of each argument, the mask, reports. */
typedef struct arrays {
    _Alignas(64) char at[PITH_KERNEL_MAX_ARGS + 1][ROOM];
    pith_report reports[ENTRIES];
} arrays;

/* integers: small ones, in all arguments. */
static void fill(arrays *a, bool integers) {
    memset(a, 0, sizeof *a);
    for (int k = 0; k < PITH_KERNEL_MAX_ARGS; k++)
        for (int n = 0; n < ROOM / 8; n++) {
            const double x = 0.25 * ((n * 7 + k) % 23) - 2;
            const int32_t pair[2] = {(n * 5 + k) % 9 - 1, (n * 3 + k) % 7 - 1};
            if (k < 2 && !integers)
                memcpy(a->at[k] + 8 * n, &x, 8);
            else
                memcpy(a->at[k] + 8 * n, pair, 8);
        }
    for (int e = 0; e < ENTRIES; e++)
        a->at[PITH_KERNEL_MAX_ARGS][e] = e % 3 != 1;
}

/* Pack a launch on arrays. Returns its indices. */
static int64_t
pack(pithp_kernel_call *k, arrays *a, unsigned char args[PITHP_KERNEL_ARGS_BYTES]) {
    void *data[PITH_KERNEL_MAX_ARGS + 1];
    pithp_launch launch;
    pithp_error e;
    for (int i = 0; i < k->binding.kernel->arg_count; i++)
        data[i] = a->at[i];
    data[k->binding.kernel->arg_count] = a->at[PITH_KERNEL_MAX_ARGS];
    cr_assert(pithp_kernel_pack(&k->binding, data, a->reports, args, &launch, &e) ==
              PITH_OK);
    return launch.count;
}

/* The same launch of a batch, or of none, by loops and by threads. */
static void check(pith_scope *s,
                  const pith_kernel_variant *kernel,
                  shell *threads,
                  pithp_kernel_params params,
                  int count,
                  const pith_spec *const *entries) {
    static arrays wanted, got;
    static pithp_kernel_call k;
    _Alignas(16) unsigned char args[PITHP_KERNEL_ARGS_BYTES];
    const pith_spec *specs[4], *mask = pithp_spec(s, PITH_BOOL, 1, &params.entries);
    int given = 0;
    pithp_error e;
    params.kernel = kernel;
    for (int i = 0; i < kernel->arg_count; i++) {
        if (!pithp_kernel_is_given(kernel->args[i].role))
            continue;
        int64_t shape[2] = {params.entries, entries[given]->shape[0]};
        const bool mapped = params.batched && params.mapped >> i & 1;
        specs[given] =
            mapped ? pithp_spec(s, entries[given]->dtype, 2, shape) : entries[given];
        given++;
    }
    cr_assert(given == count);
    specs[given] = mask;
    const pithp_call call =
        pithp_call_of(PITHP_OP_KERNEL, given + params.masked, specs, &params);
    cr_assert(pithp_kernel_call_bind(&call, &k, &e) == PITH_OK, "%s", e.text);
    for (int i = 0; i < kernel->arg_count; i++) { /* complete the specs of outputs */
        const pith_spec *made = k.binding.specs[i];
        if (made && kernel->args[i].role == PITH_ROLE_OUT)
            k.binding.specs[i] = pithp_spec(s, made->dtype, made->rank, made->shape);
        if (k.binding.specs[i])
            cr_assert(k.binding.specs[i]->bytes * ENTRIES <= ROOM);
    }
    fill(&wanted, entries[0]->dtype != PITH_F64);
    const int64_t indices = pack(&k, &wanted, args);
    pithp_kernel_loops(kernel, args)[0](args, 0, indices);
    for (int by_address = 0; by_address < 2; by_address++) {
        fill(&got, entries[0]->dtype != PITH_F64);
        pack(&k, &got, args);
        threads(args, (indices + 255) / 256 * 256, by_address);
        for (int i = 0; i < kernel->arg_count; i++)
            cr_assert(!memcmp(got.at[i], wanted.at[i], ROOM), "%s: argument %s",
                      kernel->name, kernel->args[i].name);
        cr_assert(!memcmp(got.reports, wanted.reports, sizeof got.reports), "%s",
                  kernel->name);
    }
}

static void check_all(pith_scope *s,
                      const pith_kernel_variant *kernel,
                      shell *threads,
                      const uint64_t *values,
                      int count,
                      const pith_spec *const *entries) {
    unsigned given = 0, written = 0;
    for (int i = 0; i < kernel->arg_count; i++) {
        given |= (unsigned)(kernel->args[i].role == PITH_ROLE_IN) << i;
        written |= (unsigned)(kernel->args[i].role == PITH_ROLE_INOUT) << i;
    }
    for (unsigned set = written; set < 1u << kernel->arg_count; set++)
        for (int masked = 0; masked < 2; masked++) {
            if ((set & ~given) != written)
                continue;
            pithp_kernel_params params = {
                .batched = true, .masked = masked, .entries = ENTRIES, .mapped = set};
            memcpy(params.values, values, (size_t)kernel->arg_count * sizeof *values);
            check(s, kernel, threads, params, count, entries);
        }
    pithp_kernel_params none = {.batched = false};
    memcpy(none.values, values, (size_t)kernel->arg_count * sizeof *values);
    check(s, kernel, threads, none, count, entries);
}

SCOPED(shells) {
    const int64_t n = 7, m = 3;
    const double factor = 0.75;
    uint64_t bits;
    memcpy(&bits, &factor, sizeof bits);
    const pith_spec *reals = pithp_spec(s, PITH_F64, 1, &n),
                    *few = pithp_spec(s, PITH_F64, 1, &m),
                    *integers = pithp_spec(s, PITH_I32, 1, &n),
                    *counts = pithp_spec(s, PITH_I64, 1, &n);
    check_all(s, random_grow_kernel.f64(), random_grow_shell,
              (const uint64_t[]){0, 0, bits, 0, 0}, 3,
              (const pith_spec *const[]){reals, reals, counts});
    check_all(s, random_below_kernel.f64(), random_below_shell,
              (const uint64_t[]){0, 3, 0}, 1, (const pith_spec *const[]){integers});
    check_all(s, random_pairs_kernel.f64(), random_pairs_shell,
              (const uint64_t[]){0, 0, 6, 0, 0, 0}, 2,
              (const pith_spec *const[]){reals, few});
    check_all(s, random_count_kernel.f64(), random_count_shell,
              (const uint64_t[]){0, 5, 0, 0}, 1, (const pith_spec *const[]){integers});
}
