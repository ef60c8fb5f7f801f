/* The launches for CUDA, run on the host, against the host's own: the same bits for every
 * rule that combines or orders, over shapes that reach every launch. */
#include "cuda_parity.h"
#include "op_list.h"
#include "pith_test.h"
#include "program/host/gather.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Data: all bits, and the numbers where things go wrong ---- */

/* special: a tenth of the elements are zeros of both signs, infinities, nan and the
 * greatest; else all are of like size, so that sums depend on their order. */
static void fill(const pith_spec *spec, void *data, uint64_t seed, bool special) {
    static const double specials[] = {
        0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN, 1.0};
    for (int64_t i = 0; i < spec->count; i++) {
        const uint64_t bits = random_bits(&seed);
        double x = (double)(bits >> 11) * 0x1p-50 - 4;
        if (special && bits % 10 == 0)
            x = specials[bits / 10 % 6];
        const float f = (float)x;
        uint32_t w;
        memcpy(&w, &f, sizeof w);
        switch (spec->dtype) {
            case PITH_F64:
                ((double *)data)[i] = x;
                break;
            case PITH_F32:
                ((float *)data)[i] = f;
                break;
            case PITH_BF16:
                ((uint16_t *)data)[i] = (uint16_t)(w >> 16);
                break;
            case PITH_F16: { /* exact powers and their neighbours, nan and all */
                const uint16_t h = (uint16_t)(0x3000 + bits % 0x1000);
                ((uint16_t *)data)[i] =
                    special && bits % 10 == 0 ? (uint16_t)(bits >> 20) : h;
                break;
            }
            case PITH_BOOL:
                ((uint8_t *)data)[i] = bits % 3 == 0;
                break;
            case PITH_I8:
            case PITH_U8:
            case PITH_I16:
            case PITH_U16:
            case PITH_I32:
            case PITH_U32:
            case PITH_I64:
            case PITH_U64: {
                const uint64_t y = special ? bits : bits % 7; /* few values: many equal */
                memcpy((char *)data + (size_t)i * pith_dtype_size(spec->dtype), &y,
                       pith_dtype_size(spec->dtype));
                break;
            }
            case PITH_DTYPE_NONE:
                cr_assert_fail("no dtype");
        }
    }
}

static bool is_nan(pith_dtype dtype, const void *data, int64_t i) {
    const uint16_t half = dtype == PITH_BF16 || dtype == PITH_F16
                              ? ((const uint16_t *)data)[i] & 0x7fff
                              : 0;
    return (dtype == PITH_F64 && isnan(((const double *)data)[i])) ||
           (dtype == PITH_F32 && isnan(((const float *)data)[i])) ||
           (dtype == PITH_BF16 && half > 0x7f80) || (dtype == PITH_F16 && half > 0x7c00);
}

/* ---- One call, both ways ---- */

static int compared;

static void compare(const pithp_call *call, const void *const *data, const char *what) {
    pith_spec result;
    pithp_refusal refusal;
    if (pithp_infer(call, &result, &refusal) != PITH_OK)
        return; /* no such row for the dtype: refused alike */
    const size_t size = pith_dtype_size(result.dtype);
    void *out[2], *temporary[2];
    const size_t bytes[2] = {pithp_temporary_bytes(call, &result),
                             pithp_cuda_temporary_bytes(call, &result)};
    for (int k = 0; k < 2; k++) {
        out[k] = malloc(result.bytes + 1);
        temporary[k] = malloc(bytes[k] + 1);
        memset(out[k], 0xa5, result.bytes + 1);
        memset(temporary[k], 0x5a, bytes[k] + 1);
    }
    const pithp_memory memory[2] = {
        {.operands = data, .result = out[0], .temporary = temporary[0]},
        {.operands = data, .result = out[1], .temporary = temporary[1]}};
    const pithp_sink host = {.launch = launch_host},
                     cuda = {take, NULL, &call_cuda_target};
    cr_assert_eq(pithp_lower(call, &result, &memory[0], &host), PITH_OK);
    cr_assert_eq(pithp_lower_cuda(call, &result, &memory[1], &cuda), PITH_OK);
    for (int64_t i = 0; i < result.count; i++) {
        const bool same =
            memcmp((char *)out[0] + (size_t)i * size, (char *)out[1] + (size_t)i * size,
                   size) == 0 ||
            (is_nan(result.dtype, out[0], i) && is_nan(result.dtype, out[1], i));
        char text[PITHP_SPEC_TEXT_BYTES];
        cr_assert(same, "%s of %s, %s, differs at %lld", pithp_ops[call->primitive].name,
                  pithp_spec_print(call->operands[0], text), what, (long long)i);
    }
    cr_assert_eq(((unsigned char *)out[1])[result.bytes], 0xa5);
    cr_assert_eq(((unsigned char *)temporary[1])[bytes[1]], 0x5a);
    compared++;
    for (int k = 0; k < 2; k++) {
        free(out[k]);
        free(temporary[k]);
    }
}

static pith_spec spec_of(pith_dtype dtype, int rank, const int64_t *shape) {
    pith_spec spec = {.dtype = dtype, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        spec.shape[d] = shape[d];
        spec.count *= shape[d];
    }
    spec.bytes = (size_t)spec.count * pith_dtype_size(dtype);
    return spec;
}

typedef void (*each)(const pith_spec *spec, const void *data, bool special);

static void over(const int64_t (*shapes)[4], int count, each run) {
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        for (int k = 0; k < count; k++)
            for (int special = 0; special < 2; special++) {
                const pith_spec spec =
                    spec_of((pith_dtype)d, (int)shapes[k][0], &shapes[k][1]);
                void *data = malloc(spec.bytes + 1);
                fill(&spec, data, (uint64_t)(100 * d + k), special);
                run(&spec, data, special);
                free(data);
            }
}

/* ---- Rules ---- */

static void reduce_all(const pith_spec *spec, const void *data, bool special) {
    for (OPS_WITH(p, OP_REDUCTIONS))
        for (uint32_t axes = 1; axes < 1u << spec->rank; axes++) {
            const pithp_reduce_params params = {.axes = axes};
            const pithp_call call = pithp_call_of((pithp_primitive)p, 1, &spec, &params);
            char what[64];
            snprintf(what, sizeof what, "axes %x, special %d", axes, special);
            compare(&call, &data, what);
        }
}

Test(cuda_parity, reductions) {
    /* rank, extents */
    static const int64_t shapes[][4] = {
        {1, 1},       {1, 2},        {1, 3},         {1, 63},      {1, 64},
        {1, 65},      {1, 4095},     {1, 4096},      {1, 4097},    {1, 12289},
        {1, 0},       {2, 5, 3},     {2, 3, 4100},   {2, 4100, 3}, {2, 70, 1},
        {3, 2, 5, 3}, {3, 9, 7, 66}, {3, 2, 4097, 2}};
    over(shapes, PITHP_COUNT(shapes), reduce_all);
    cr_assert_gt(compared, 3000);
}

/* Many columns, which threads take side by side, and many lines. */
Test(cuda_parity, teams) {
    static const int64_t shapes[][4] = {
        {2, 65, 4097}, {2, 100, 4100}, {3, 65, 100, 33}, {2, 300, 128}, {2, 4096, 31}};
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_F16, PITH_I8, PITH_BOOL};
    for (int k = 0; k < PITHP_COUNT(shapes); k++)
        for (int d = 0; d < PITHP_COUNT(dtypes); d++) {
            const pith_spec spec = spec_of(dtypes[d], (int)shapes[k][0], &shapes[k][1]);
            void *data = malloc(spec.bytes);
            fill(&spec, data, (uint64_t)(10 * k + d), d % 2);
            reduce_all(&spec, data, d % 2);
            free(data);
        }
    cr_assert_gt(compared, 400);
}

/* A sum needs no more memory beside its operand than that has, whatever it reduces. */
Test(cuda_parity, reductions_need_little_memory) {
    static const int64_t shapes[][2] = {{1000000, 65}, {1000000, 100}, {65, 1000000},
                                        {3, 4096},     {3, 4097},      {4097, 1000}};
    enum { ROUNDING = 256 };
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        for (int k = 0; k < PITHP_COUNT(shapes); k++)
            for (OPS_WITH(p, OP_REDUCTIONS))
                for (uint32_t axes = 1; axes < 4; axes++) {
                    const pith_spec x = spec_of((pith_dtype)d, 2, shapes[k]), *at = &x;
                    const pithp_reduce_params over = {.axes = axes};
                    const pithp_call call =
                        pithp_call_of((pithp_primitive)p, 1, &at, &over);
                    pith_spec result;
                    pithp_refusal refusal;
                    if (pithp_infer(&call, &result, &refusal) != PITH_OK)
                        continue;
                    const size_t bytes = pithp_cuda_temporary_bytes(&call, &result);
                    cr_assert(bytes <= x.bytes + ROUNDING, "%s of %lld by %lld: %zu",
                              pithp_ops[p].name, (long long)x.shape[0],
                              (long long)x.shape[1], bytes);
                }
}

/* A tree of several levels: more than 64 blocks. */
Test(cuda_parity, long_reductions) {
    static const int64_t shape[] = {4096 * 130 + 77};
    for (int d = 0; d < 3; d++) {
        static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_I16};
        const pith_spec spec = spec_of(dtypes[d], 1, shape);
        void *data = malloc(spec.bytes);
        fill(&spec, data, 5, false);
        reduce_all(&spec, data, false);
        free(data);
    }
    cr_assert_gt(compared, 20);
}

static const pithp_primitive scans[] = {PITHP_OP_CUMSUM, PITHP_OP_CUMPROD,
                                        PITHP_OP_CUMMIN, PITHP_OP_CUMMAX,
                                        PITHP_OP_CUMLOGSUMEXP};

static void scan_all(const pith_spec *spec, const void *data, bool special) {
    for (int k = 0; k < PITHP_COUNT(scans); k++)
        for (int axis = 0; axis < spec->rank; axis++)
            for (int reverse = 0; reverse < 2; reverse++) {
                const pithp_scan_params params = {.axis = axis, .reverse = reverse};
                const pithp_call call = pithp_call_of(scans[k], 1, &spec, &params);
                compare(&call, &data, special ? "special" : "plain");
            }
}

Test(cuda_parity, scans) {
    static const int64_t shapes[][4] = {{1, 1},    {1, 0},    {1, 480},
                                        {1, 5000}, {2, 7, 5}, {3, 3, 1000, 2}};
    over(shapes, PITHP_COUNT(shapes), scan_all);
    cr_assert_gt(compared, 500);
}

/* Groups of blocks, by groups of whole and of other lengths; columns side by side. */
Test(cuda_parity, long_scans, .timeout = 120) {
    enum { GROUP = 480 * 512 };
    static const int64_t shapes[][3] = {{1, GROUP},
                                        {1, GROUP + 1},
                                        {1, 2 * GROUP + 480 * 3 + 7},
                                        {1, 9 * GROUP + 480},
                                        {2, 2 * GROUP + 481, 3}};
    static const pith_dtype dtypes[] = {PITH_F64, PITH_F32, PITH_U8};
    for (int k = 0; k < PITHP_COUNT(shapes); k++)
        for (int d = 0; d < PITHP_COUNT(dtypes); d++) {
            const pith_spec spec = spec_of(dtypes[d], (int)shapes[k][0], &shapes[k][1]);
            void *data = malloc(spec.bytes);
            fill(&spec, data, 7, false);
            for (int i = 0; i < 4; i++) {
                const pithp_scan_params params = {.axis = 0, .reverse = i % 2};
                const pith_spec *x = &spec;
                const pithp_call call = pithp_call_of(scans[i], 1, &x, &params);
                compare(&call, (const void *const *)&data, "long");
            }
            free(data);
        }
    cr_assert_eq(compared, 60);
}

/* Factors with zeros, after which lines begin anew. */
static void recur_all(const pith_spec *spec, const void *data, bool special) {
    const pith_spec *specs[2] = {spec, spec};
    void *factors = malloc(spec->bytes + 1);
    fill(spec, factors, 11, special);
    for (int axis = 0; axis < spec->rank; axis++)
        for (int way = 0; way < 4; way++) {
            const pithp_scan_params params = {
                .axis = axis, .reverse = way & 1, .strong = way & 2};
            const pithp_call call = pithp_call_of(PITHP_OP_CUMLINEAR, 2, specs, &params);
            compare(&call, (const void *const[]){factors, data},
                    special ? "special" : "plain");
        }
    free(factors);
}

Test(cuda_parity, recurrences) {
    static const int64_t shapes[][4] = {{1, 1},         {1, 0},     {1, 500},
                                        {3, 2, 70, 33}, {2, 40, 3}, {3, 3, 100, 2}};
    over(shapes, PITHP_COUNT(shapes), recur_all);
    cr_assert_gt(compared, 100);
}

/* ---- Leading axes ---- */

Test(cuda_parity, searches_of_several_arrays) {
    static const int64_t arrays[] = {3, 2, 40}, many[] = {3, 2, 5, 7}, one[] = {3, 2};
    const pith_spec sorted = spec_of(PITH_F32, 3, arrays);
    float elements[240], wanted[210];
    for (int k = 0; k < 240; k++)
        elements[k] = (float)(k / 40 + k % 40 / 3); /* with equal ones */
    for (int k = 0; k < 210; k++)
        wanted[k] = (float)(k * 37 % 41) / 2 - 2;
    for (int k = 0; k < 4; k++) {
        const pith_spec values =
            k < 2 ? spec_of(PITH_F32, 4, many) : spec_of(PITH_F32, 2, one);
        const pith_spec *specs[] = {&sorted, &values};
        const pithp_search_params params = {k % 2};
        const pithp_call call = pithp_call_of(PITHP_OP_SEARCH_SORTED, 2, specs, &params);
        compare(&call, (const void *const[]){elements, wanted}, "leading axes");
    }
    cr_assert_eq(compared, 4);
}

/* Starts beyond both ends; an array for each box, or one for all; updates. */
Test(cuda_parity, boxes_of_several_arrays) {
    static const int64_t whole[] = {3, 2, 6, 5}, part[] = {3, 2, 4, 3}, at[] = {3, 2, 2};
    static const int8_t starts[] = {0, 0, -1, 1, 7, -9, 2, 2, -6, -5, 1, 100};
    const pith_spec x = spec_of(PITH_F64, 4, whole), box = spec_of(PITH_F64, 4, part),
                    shared = spec_of(PITH_F64, 2, whole + 2),
                    places = spec_of(PITH_I8, 3, at);
    const pith_spec *slices[] = {&x, &places}, *of_one[] = {&shared, &places},
                    *updates[] = {&x, &box, &places};
    const pithp_dynamic_params own = {{3, 2, 4, 3}}, all = {{4, 3}};
    double elements[180], boxes[72];
    fill(&x, elements, 1, false);
    fill(&box, boxes, 2, false);
    const pithp_call calls[] = {
        pithp_call_of(PITHP_OP_DYNAMIC_SLICE, 2, slices, &own),
        pithp_call_of(PITHP_OP_DYNAMIC_SLICE, 2, of_one, &all),
        pithp_call_of(PITHP_OP_DYNAMIC_UPDATE_SLICE, 3, updates, NULL)};
    compare(&calls[0], (const void *const[]){elements, starts}, "own arrays");
    compare(&calls[1], (const void *const[]){elements, starts}, "one array");
    compare(&calls[2], (const void *const[]){elements, boxes, starts}, "updates");
    cr_assert_eq(compared, 3);
}

static void sort_all(const pith_spec *spec, const void *data, bool special) {
    for (int places = 0; places < 2; places++)
        for (int axis = 0; axis < spec->rank; axis++)
            for (int descending = 0; descending < 2; descending++) {
                const pithp_sort_params params = {.axis = axis, .descending = descending};
                const pithp_call call = pithp_call_of(
                    places ? PITHP_OP_ARGSORT : PITHP_OP_SORT, 1, &spec, &params);
                compare(&call, &data, special ? "special" : "plain");
            }
}

Test(cuda_parity, sorts) {
    static const int64_t shapes[][4] = {
        {1, 1},      {1, 0},      {1, 15},       {1, 16},     {1, 17},
        {1, 33},     {1, 1000},   {1, 4096},     {1, 9001},   {2, 7, 5},
        {2, 100, 3}, {2, 3, 100}, {3, 3, 70, 2}, {1, 8},      {1, 2048},
        {1, 2049},   {1, 20001},  {2, 300, 9},   {2, 2, 4097}};
    over(shapes, PITHP_COUNT(shapes), sort_all);
    cr_assert_gt(compared, 1000);
}

/* Keys are as wide as elements, and places of lines below 2^32 have 4 bytes. */
Test(cuda_parity, sorts_need_keys_of_the_width_of_elements) {
    static const int64_t shape[] = {3, 3000}; /* no counts of digits */
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++) {
        const pith_spec x = spec_of((pith_dtype)d, 2, shape), *at = &x;
        const pithp_sort_params params = {.axis = 1};
        const pithp_call call = pithp_call_of(PITHP_OP_SORT, 1, &at, &params);
        pith_spec result;
        pithp_refusal refusal;
        cr_assert_eq(pithp_infer(&call, &result, &refusal), PITH_OK);
        cr_assert_eq(pithp_cuda_temporary_bytes(&call, &result),
                     (size_t)x.count * 2 * (pith_dtype_size(x.dtype) + sizeof(uint32_t)),
                     "%s", pith_dtype_name(x.dtype));
    }
}

/* ---- What a device would refuse ---- */

#ifdef TRAPS_MISALIGNED
/* Moves of 8 bytes to an address that a multiple of 4 is, by a kernel's host copy. */
static void move_misaligned(void) {
    static _Alignas(16) char from[64], to[64];
    const pithp_cuda_move_args a = {.to = to + 4,
                                    .from = from,
                                    .count = 2,
                                    .size = 8,
                                    .rank = 1,
                                    .shape = {2},
                                    .to_stride = {8},
                                    .from_stride = {8}};
    pithp_launch launch = {.loops = NULL};
    call_cuda_target.builtin(NULL, PITHP_CUDA_move, &launch);
    launch.loops[0](&a, 0, 1);
}

Test(cuda_parity, misaligned_accesses_trap) {
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        signal(SIGILL, SIG_DFL);
        signal(SIGTRAP, SIG_DFL);
        move_misaligned();
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status), "it went on");
}
#endif

/* ---- Indices that are repeated ---- */

/* Most updates go to few places: runs of one, of a few and of many, sorted or not. */
Test(cuda_parity, repeated_indices) {
    enum { ROWS = 40, POSITIONS = 700, INNER = 3 };
    static const int64_t into[] = {ROWS, INNER}, updates[] = {POSITIONS, INNER};
    static int64_t index[2][POSITIONS];
    uint64_t seed = 11;
    for (int k = 0; k < POSITIONS; k++) {
        const uint64_t bits = random_bits(&seed);
        index[0][k] = bits % 3 ? 7 : (int64_t)(bits % (ROWS + 2));
        index[1][k] = k < 5 ? k / 2 : k < 400 ? 9 : 10 + k / 30;
    }
    const pith_spec at = spec_of(PITH_I64, 1, updates);
    for (int d = PITH_BOOL; d < PITH_DTYPE_COUNT; d++)
        for (OPS_WITH(p, PITHP_TRAIT_SCATTER))
            for (int sorted = 0; sorted < 2; sorted++) {
                const pith_spec to = spec_of((pith_dtype)d, 2, into),
                                from = spec_of((pith_dtype)d, 2, updates);
                const pith_spec *specs[] = {&to, &at, &from};
                void *x = malloc(to.bytes), *y = malloc(from.bytes);
                fill(&to, x, (uint64_t)d, false);
                fill(&from, y, (uint64_t)(d + 50), false);
                const void *data[] = {x, index[sorted], y};
                const pithp_index_params params = {.mode = PITHP_INDEX_DROP,
                                                   .sorted = sorted};
                const pithp_call call =
                    pithp_call_of((pithp_primitive)p, 3, specs, &params);
                compare(&call, data, sorted ? "sorted" : "unsorted");
                free(x);
                free(y);
            }
    cr_assert_gt(compared, 100);
}

/* Ascending indices of the entries of a batch, some of which begin below 0. */
Test(cuda_parity, sorted_indices_of_entries) {
    enum { ENTRIES = 4, ROWS = 20, POSITIONS = 90, INNER = 2 };
    static const int64_t into[] = {ENTRIES, ROWS, INNER},
                         updates[] = {ENTRIES, POSITIONS, INNER};
    static int64_t number[ENTRIES * POSITIONS], index[ENTRIES * POSITIONS];
    for (int k = 0; k < ENTRIES * POSITIONS; k++) {
        const int entry = k / POSITIONS, low = entry == 0 ? 2 : -9 * entry;
        number[k] = entry;
        index[k] = low + k % POSITIONS * (ROWS + 2 - low) / POSITIONS;
    }
    const pith_spec at = spec_of(PITH_I64, 2, updates);
    for (OPS_WITH(p, PITHP_TRAIT_SCATTER)) {
        const pith_dtype d =
            p == PITHP_OP_SCATTER_AND || p == PITHP_OP_SCATTER_OR ? PITH_U8 : PITH_F64;
        const pith_spec to = spec_of(d, 3, into), from = spec_of(d, 3, updates);
        const pith_spec *specs[] = {&to, &at, &at, &from};
        void *x = malloc(to.bytes), *y = malloc(from.bytes);
        fill(&to, x, 7, false);
        fill(&from, y, 8, false);
        const void *data[] = {x, number, index, y};
        const pithp_index_params params = {
            .mode = PITHP_INDEX_DROP, .sorted = true, .numbers = 1, .apart = POSITIONS};
        const pithp_call call = pithp_call_of((pithp_primitive)p, 4, specs, &params);
        cr_assert(pithp_index_ascends(&call));
        compare(&call, data, "of entries");
        free(x);
        free(y);
    }
    cr_assert_eq(compared, 7);
}
