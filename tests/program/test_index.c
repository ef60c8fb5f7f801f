/* take, take_along and scatter against golden values, a plain statement of repeated
 * indices, and the report of indices out of range. */
#include "call.h"
#include "op_list.h"
#include "program/host/gather.h"

#include <pith/kernel.h>

static pithp_index_mode mode_of(const char *text) {
    return !strcmp(text, "clip")                ? PITHP_INDEX_CLIP
           : !strcmp(text, "wrap")              ? PITHP_INDEX_WRAP
           : !strcmp(text, "promise_in_bounds") ? PITHP_INDEX_PROMISE
           : !strcmp(text, "raise")             ? PITHP_INDEX_ERROR
                                                : PITHP_INDEX_DROP;
}

/* What jnp.take fills with: nan, the least signed, the greatest unsigned, true. */
static uint64_t default_fill(pith_dtype dtype) {
    switch (dtype) {
        case PITH_F16:
            return 0x7E00;
        case PITH_BF16:
            return 0x7FC0;
        case PITH_F32:
            return 0x7FC00000;
        case PITH_F64:
            return 0x7FF8000000000000;
        case PITH_BOOL:
            return 1;
        case PITH_I8:
        case PITH_I16:
        case PITH_I32:
        case PITH_I64:
            return 1ull << (8 * pith_dtype_size(dtype) - 1);
        case PITH_U8:
        case PITH_U16:
        case PITH_U32:
        case PITH_U64:
        case PITH_DTYPE_NONE:
            break;
    }
    return UINT64_MAX;
}

static uint64_t fill_of(const golden_json *p, pith_dtype dtype) {
    const golden_json *fill = golden_get(p, "fill");
    if (!fill || fill->kind == 'z')
        return default_fill(dtype);
    const double value = fill->kind == 't'   ? 1
                         : fill->kind == 'f' ? 0
                         : fill->kind == 's' ? strtod(fill->text, NULL)
                                             : fill->number;
    uint64_t bits = 0;
    pithp_cast_block(PITHP_ISA_BASE, PITH_F64, dtype)(&bits, &value, NULL, NULL, 1);
    return bits;
}

/* Dimensions taken whole before the arrays; -1: the index is of another form. */
static int whole_before_arrays(const golden_json *index, int arrays) {
    int axis = 0, k = 0;
    for (const golden_json *e = index->child; e; e = e->next) {
        const golden_json *slice = golden_get(e, "slice"),
                          *array = golden_get(e, "array");
        if (array && golden_integer(array) == k) {
            k++;
        } else if (slice && k == 0) {
            for (const golden_json *part = slice->child; part; part = part->next)
                if (part->kind != 'z')
                    return -1;
            axis++;
        } else {
            return -1;
        }
    }
    return k == arrays ? axis : -1;
}

/* Specs, data and parameters of a case; false: it is not one call of ours. */
static bool read_case(const golden_family *g,
                      const golden_json *one,
                      call *c,
                      pithp_index_params *params,
                      pith_spec *flat) {
    const char *op = golden_text(one, "op");
    const golden_json *p = golden_get(one, "params"), *axis = golden_get(p, "axis");
    for (; golden_tensor_of(g, one, "in", c->count); c->count++) {
        const golden_tensor *t = golden_tensor_of(g, one, "in", c->count);
        c->specs[c->count] = &t->spec;
        c->data[c->count] = t->data;
    }
    if (c->count < 2)
        return false;
    const pith_spec *x = c->specs[0];
    *params = (pithp_index_params){.mode = mode_of(golden_text(p, "mode")),
                                   .fill = fill_of(p, x->dtype)};
    c->params = params;
    c->primitive = !strcmp(op, "gather")            ? PITHP_OP_TAKE
                   : !strcmp(op, "take_along_axis") ? PITHP_OP_TAKE_ALONG
                                                    : call_primitive(op);
    if (!strncmp(op, "take", 4)) {
        params->no_negative = !strcmp(op, "take") && params->mode == PITHP_INDEX_CLIP;
        if (axis->kind == 'z') {
            *flat = *x;
            flat->rank = 1;
            flat->shape[0] = x->count;
            c->specs[0] = flat;
        } else {
            params->axis = (int32_t)golden_integer(axis);
            params->axis += params->axis < 0 ? x->rank : 0;
        }
        return true;
    }
    const bool scatter = !strncmp(op, "scatter", 7);
    const golden_json *index = golden_get(p, "index");
    if (!index)
        return false;
    params->axis = whole_before_arrays(index, c->count - 1 - scatter);
    for (int k = 2; k < c->count - scatter; k++)
        if (c->specs[k]->rank != c->specs[1]->rank ||
            c->specs[k]->count != c->specs[1]->count)
            return false;
    return params->axis >= 0 && c->primitive != PITHP_PRIMITIVE_COUNT;
}

Test(index, gives_the_golden_values) {
    const golden_family *g = golden_open("index");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        call c = {0};
        pithp_index_params params;
        pith_spec flat;
        if (!read_case(g, one, &c, &params, &flat))
            continue;
        /* updates and indices that broadcast are work of the array room */
        const pithp_call it = pithp_call_of(c.primitive, c.count, c.specs, &params);
        if (pithp_infer(&it, &c.result, &c.refusal) == PITH_E_SHAPE &&
            (strstr(c.refusal.text, "expected updates") ||
             strstr(c.refusal.text, "expected indices with")))
            continue;
        for (int i = 0; i < 3 * PITHP_ISA_COUNT; i++) {
            pith_report report = {0};
            c.isa = (pithp_isa)(i / 3);
            c.split = i % 3 * 2;
            c.report = &report;
            if (!call_isa_runs(c.isa))
                continue;
            const pith_status rc = call_run(&c);
            if (golden_get(one, "out"))
                failed += !call_agrees(&c, g, one, 0);
            else if (rc == PITH_OK && !report.first && ++failed)
                fprintf(stderr, "%s was not refused\n", golden_text(one, "name"));
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 150, "only %d cases ran", ran);
}

/* m updates of n rows: the last update wins, and sums run in the order of updates. */
static void combine_in_order(int64_t n, int64_t m) {
    enum { K = 3 };
    const size_t x_bytes = (size_t)n * K * sizeof(double),
                 update_bytes = (size_t)m * K * sizeof(double);
    double *x = malloc(x_bytes), *updates = malloc(update_bytes), *set = malloc(x_bytes),
           *sum = malloc(x_bytes);
    int32_t *index = malloc((size_t)m * sizeof *index);
    uint64_t seed = 7;
    for (int64_t i = 0; i < n * K; i++)
        set[i] = sum[i] = x[i] = (double)i * 0.1;
    for (int64_t i = 0; i < m; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        index[i] = (int32_t)((int64_t)(seed >> 33) % (2 * n + 20) - n - 10);
        const int64_t row = index[i] < 0 ? index[i] + n : index[i];
        for (int64_t k = 0; k < K; k++) {
            updates[i * K + k] = sin((double)(i * 7 + k)) * (i % 5 ? 1 : 1e6);
            if (row >= 0 && row < n) { /* some are out of range */
                set[row * K + k] = updates[i * K + k];
                sum[row * K + k] += updates[i * K + k];
            }
        }
    }
    const pith_spec xs = {PITH_F64, 2, n * K, x_bytes, {n, K}},
                    is = {PITH_I32, 1, m, (size_t)m * sizeof *index, {m}},
                    us = {PITH_F64, 2, m * K, update_bytes, {m, K}};
    const pithp_index_params params = {.mode = PITHP_INDEX_DROP};
    for (int add = 0; add < 2; add++) {
        call c = {.primitive = add ? PITHP_OP_SCATTER_ADD : PITHP_OP_SCATTER_SET,
                  .count = 3,
                  .specs = {&xs, &is, &us},
                  .data = {x, index, updates},
                  .params = &params};
        cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
        cr_assert(memcmp(c.out, add ? sum : set, x_bytes) == 0, "%lld rows, %lld updates",
                  (long long)n, (long long)m);
        call_free(&c);
    }
    free(x), free(updates), free(set), free(sum), free(index);
}

/* Few and many: on a device offsets are sorted by merges, or by one, two or three digits.
 */
Test(index, combines_repeated_indices_in_order) {
    combine_in_order(50, 3000);
    combine_in_order(50, 70000);
    combine_in_order(255, 9000); /* an offset more for those out of range */
    combine_in_order(300, 70000);
    combine_in_order(100000, 140000);
}

/* The place of an index by the meaning of its mode; -1: none. */
static int64_t place_of(int64_t index, int64_t extent, const pithp_index_params *p) {
    if (p->mode == PITHP_INDEX_WRAP)
        return (index % extent + extent) % extent;
    const int64_t place = index < 0 && !p->no_negative ? index + extent : index;
    if (place >= 0 && place < extent)
        return place;
    return p->mode == PITHP_INDEX_CLIP ? (place < 0 ? 0 : extent - 1) : -1;
}

/* Single elements, over several blocks of indices: runs of plain ones, cut by some that
 * count from the end or are out of range. */
Test(index, moves_single_elements_as_rows) {
    enum { N = 700, M = 5000 };
    static double x[N], updates[M], taken[M], sum[N];
    static int32_t narrow[M];
    static int64_t wide[M];
    const pith_spec xs = {PITH_F64, 1, N, sizeof x, {N}},
                    us = {PITH_F64, 1, M, sizeof updates, {M}},
                    is[] = {{PITH_I32, 1, M, sizeof narrow, {M}},
                            {PITH_I64, 1, M, sizeof wide, {M}}};
    static const int places[] = {0, 1, 300, 511, 512, 513, 1024, 1600, 1601, M - 1};
    static const pithp_index_mode modes[] = {PITHP_INDEX_DROP, PITHP_INDEX_CLIP,
                                             PITHP_INDEX_WRAP, PITHP_INDEX_ERROR};
    for (int i = 0; i < M; i++)
        narrow[i] = (i >= 2000 && i < 3000 ? -1 : 1) * (i * 7919 % N);
    for (int k = 0; k < PITHP_COUNT(places); k++)
        narrow[places[k]] = k % 3 == 0 ? -N - 3 - k : k % 3 == 1 ? -1 - k : N + k;
    for (int i = 0; i < M; i++)
        wide[i] = narrow[i], updates[i] = sin(i) * (i % 5 ? 1 : 1e6);
    for (int kind = 0; kind < 2 * 2 * PITHP_COUNT(modes); kind++) {
        const pithp_index_params params = {
            .mode = modes[kind / 4], .no_negative = kind & 2, .fill = 0};
        for (int i = 0; i < N; i++)
            sum[i] = x[i] = i * 0.1;
        int first = -1;
        for (int i = 0; i < M; i++) {
            const int64_t place = place_of(wide[i], N, &params);
            first = place < 0 && first < 0 ? i : first;
            taken[i] = place < 0 ? 0 : x[place];
            if (place >= 0)
                sum[place] += updates[i];
        }
        for (int isa = 0; isa < 2 * PITHP_ISA_COUNT; isa++) {
            const bool add = isa % 2;
            pith_report report = {0};
            call c = {.primitive = add ? PITHP_OP_SCATTER_ADD : PITHP_OP_TAKE,
                      .count = add ? 3 : 2,
                      .specs = {&xs, &is[kind & 1], &us},
                      .data = {x, kind & 1 ? (const void *)wide : narrow, updates},
                      .params = &params,
                      .report = &report,
                      .split = add ? 0 : 777,
                      .isa = (pithp_isa)(isa / 2)};
            if (!call_isa_runs(c.isa))
                continue;
            cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
            cr_expect(
                memcmp(c.out, add ? sum : taken, add ? sizeof sum : sizeof taken) == 0,
                "%s, mode %d, kind %d", pithp_ops[c.primitive].name, params.mode, kind);
            if (params.mode == PITHP_INDEX_ERROR)
                cr_expect(report.first == ~(uint64_t)first);
            call_free(&c);
        }
    }
}

/* Dynamic slices and updates are golden cases of their own form. */
Test(index, places_boxes_as_the_golden_values_do) {
    const golden_family *g = golden_open("index");
    int ran = 0, failed = 0;
    for (const golden_json *one = golden_next(g, NULL); one; one = golden_next(g, one)) {
        const golden_json *sizes = golden_get(golden_get(one, "params"), "sizes");
        if (strncmp(golden_text(one, "op"), "dynamic", 7) != 0)
            continue;
        pithp_dynamic_params params = {{0}};
        call c = {.primitive = call_primitive(golden_text(one, "op")), .params = &params};
        for (; golden_tensor_of(g, one, "in", c.count); c.count++) {
            const golden_tensor *t = golden_tensor_of(g, one, "in", c.count);
            c.specs[c.count] = &t->spec;
            c.data[c.count] = t->data;
        }
        for (int d = 0; sizes && d < golden_length(sizes); d++)
            params.shape[d] = golden_integer(golden_item(sizes, d));
        for (c.split = 0; c.split < 5; c.split += 2) {
            const pith_status rc = call_run(&c);
            if (golden_get(one, "out"))
                failed += !call_agrees(&c, g, one, 0);
            else
                failed += rc == PITH_OK;
            call_free(&c);
        }
        ran++;
    }
    cr_expect(failed == 0, "%d failed", failed);
    cr_expect(ran > 25, "only %d cases ran", ran);
}

/* What promises and atomics do has the same bits where they are kept; bits of integers
 * that meet are joined. */
Test(index, combines_promised_indices_alike) {
    enum { N = 400, M = 3000, COLUMNS = 2 };
    static int64_t x[N * COLUMNS], updates[M * COLUMNS], want[N * COLUMNS];
    static int32_t narrow[N * COLUMNS], narrow_updates[M * COLUMNS];
    static int32_t index[3][M];
    for (int i = 0; i < M; i++) {
        index[0][i] = i * 7919 % (N + 10);   /* meets itself, and some are out of range */
        index[1][i] = i * (N + 10) / M;      /* ascends */
        index[2][i] = i < N ? i * 7 % N : N; /* each once */
    }
    for (int i = 0; i < M * COLUMNS; i++)
        updates[i] = narrow_updates[i] = i * 7907 % 1021 - 500;
    const pith_spec xs[] = {{PITH_I64, 2, N * COLUMNS, sizeof x, {N, COLUMNS}},
                            {PITH_I32, 2, N * COLUMNS, sizeof narrow, {N, COLUMNS}}},
                    us[] =
                        {{PITH_I64, 2, M * COLUMNS, sizeof updates, {M, COLUMNS}},
                         {PITH_I32, 2, M * COLUMNS, sizeof narrow_updates, {M, COLUMNS}}},
                    is = {PITH_I32, 1, M, sizeof index[0], {M}};
    for (OPS_WITH(p, PITHP_TRAIT_SCATTER))
        for (int k = 0; k < 6; k++) {
            const int kind = k % 3, small = k / 3;
            const pithp_index_params params = {
                .sorted = kind == 1, .unique = kind == 2, .unordered = kind == 0};
            for (int i = 0; i < N * COLUMNS; i++)
                want[i] = x[i] = narrow[i] = i * 40503 % 999 - 300;
            for (int i = 0; i < M * COLUMNS; i++) {
                const int row = index[kind][i / COLUMNS];
                if (row >= N)
                    continue;
                int64_t *to = &want[row * COLUMNS + i % COLUMNS];
                const int64_t a = *to, b = updates[i];
                *to = p == PITHP_OP_SCATTER_SET   ? b
                      : p == PITHP_OP_SCATTER_ADD ? a + b
                      : p == PITHP_OP_SCATTER_MUL ? (int64_t)((uint64_t)a * (uint64_t)b)
                      : p == PITHP_OP_SCATTER_MIN ? (a < b ? a : b)
                      : p == PITHP_OP_SCATTER_MAX ? (a > b ? a : b)
                      : p == PITHP_OP_SCATTER_AND ? (a & b)
                                                  : (a | b);
            }
            call c = {.primitive = (pithp_primitive)p,
                      .count = 3,
                      .specs = {&xs[small], &is, &us[small]},
                      .data = {small ? (const void *)narrow : x, index[kind],
                               small ? (const void *)narrow_updates : updates},
                      .params = &params};
            cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
            for (int i = 0; i < N * COLUMNS; i++)
                cr_assert(small ? ((int32_t *)c.out)[i] == (int32_t)want[i]
                                : ((int64_t *)c.out)[i] == want[i],
                          "%s, promise %d: element %d", pithp_ops[p].name, k, i);
            call_free(&c);
        }
}

/* Indices that ascend from below 0 on, then from 0 on, name places twice. Updates keep
 * their order, whatever range of a launch runs first. */
static void scatter_from_both_ends(pithp_primitive p, pithp_index_mode mode, int low) {
    enum { N = 60, M = 40000 };
    static double x[N], updates[M], want[N];
    static int32_t index[M];
    for (int i = 0; i < N; i++)
        x[i] = want[i] = i;
    for (int i = 0; i < M; i++) {
        index[i] = low + (int)((int64_t)i * (N + 9 - low) / M);
        updates[i] = sin(i) * (i % 7 ? 1 : 1e9);
        int at = index[i] < 0 ? index[i] + N : index[i];
        if ((at < 0 || at >= N) && mode == PITHP_INDEX_DROP)
            continue;
        at = at < 0 ? 0 : at >= N ? N - 1 : at;
        want[at] = p == PITHP_OP_SCATTER_SET ? updates[i] : want[at] + updates[i];
    }
    const pith_spec xs = {PITH_F64, 1, N, sizeof x, {N}},
                    us = {PITH_F64, 1, M, sizeof updates, {M}},
                    is = {PITH_I32, 1, M, sizeof index, {M}};
    const pithp_index_params params = {.sorted = true, .mode = mode};
    call c = {.primitive = p,
              .count = 3,
              .specs = {&xs, &is, &us},
              .data = {x, index, updates},
              .params = &params,
              .split = 1,
              .backwards = true};
    cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
    cr_assert(memcmp(c.out, want, sizeof want) == 0, "%s, mode %d, from %d",
              pithp_ops[p].name, (int)mode, low);
    call_free(&c);
}

Test(index, sorted_indices_may_count_from_the_end) {
    static const int lows[] = {-80, -60, -25, -1, 0, 3};
    for (int k = 0; k < PITHP_COUNT(lows); k++)
        for (int clips = 0; clips < 2; clips++)
            for (int adds = 0; adds < 2; adds++)
                scatter_from_both_ends(adds ? PITHP_OP_SCATTER_ADD : PITHP_OP_SCATTER_SET,
                                       clips ? PITHP_INDEX_CLIP : PITHP_INDEX_DROP,
                                       lows[k]);
}

/* In a batch each entry has such indices, after its number. */
static void
scatter_entries_from_both_ends(pithp_primitive p, bool sorted, bool unique, int m) {
    enum { ENTRIES = 3, N = 60, MOST = 40000 };
    static double x[ENTRIES * N], updates[ENTRIES * MOST], want[ENTRIES * N];
    static int32_t index[2][ENTRIES * MOST];
    for (int i = 0; i < ENTRIES * N; i++)
        x[i] = want[i] = i;
    for (int i = 0; i < ENTRIES * m; i++) {
        const int entry = i / m, low = entry == 1 ? -25 : entry == 2 ? -80 : 3;
        index[0][i] = entry;
        index[1][i] = low + (int)((int64_t)(i % m) * (N + 9 - low) / m);
        if (unique && i % m)
            index[1][i] = N;
        updates[i] = sin(i) * (i % 7 ? 1 : 1e9);
        const int at = index[1][i] < 0 ? index[1][i] + N : index[1][i];
        if (at < 0 || at >= N)
            continue;
        double *to = &want[entry * N + at];
        *to = p == PITHP_OP_SCATTER_SET ? updates[i] : *to + updates[i];
    }
    const pith_spec
        xs = {PITH_F64, 2, ENTRIES * N, sizeof x, {ENTRIES, N}},
        us = {PITH_F64, 2, ENTRIES * m, (size_t)(ENTRIES * m) * 8, {ENTRIES, m}},
        is = {PITH_I32, 2, ENTRIES * m, (size_t)(ENTRIES * m) * 4, {ENTRIES, m}};
    const pithp_index_params params = {.sorted = sorted,
                                       .unique = unique,
                                       .mode = PITHP_INDEX_DROP,
                                       .numbers = 1,
                                       .apart = (uint64_t)m};
    call c = {.primitive = p,
              .count = 4,
              .specs = {&xs, &is, &is, &us},
              .data = {x, index[0], index[1], updates},
              .params = &params,
              .split = 1,
              .backwards = true};
    const pithp_call of = pithp_call_of(p, 4, c.specs, &params);
    cr_assert(pithp_index_ascends(&of) == sorted);
    cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
    cr_assert(memcmp(c.out, want, sizeof want) == 0, "%s, %d positions, promises %d %d",
              pithp_ops[p].name, m, sorted, unique);
    call_free(&c);
}

Test(index, sorted_indices_of_entries_may_count_from_the_end) {
    static const int positions[] = {1, 17, 3000, 40000};
    for (int k = 0; k < PITHP_COUNT(positions); k++)
        for (int promise = 0; promise < 3; promise++) {
            scatter_entries_from_both_ends(PITHP_OP_SCATTER_ADD, promise == 1,
                                           promise == 2, positions[k]);
            scatter_entries_from_both_ends(PITHP_OP_SCATTER_SET, promise == 1,
                                           promise == 2, positions[k]);
        }
}

/* Of several arrays any may do so. */
Test(index, several_sorted_indices_may_count_from_the_end) {
    enum { N = 3, M = 40000 };
    static double updates[M], want[N * N], x[N * N];
    static int32_t index[2][M];
    for (int i = 0; i < M; i++) {
        const int row = (int)((int64_t)i * N / M), place = i - row * (M / N);
        index[0][i] = row;
        index[1][i] = (int)((int64_t)place * 2 * N / (M / N + 2)) - N;
        updates[i] = sin(i) * (i % 7 ? 1 : 1e9);
        want[row * N + (index[1][i] + N) % N] += updates[i];
    }
    const pith_spec xs = {PITH_F64, 2, N * N, sizeof x, {N, N}},
                    us = {PITH_F64, 1, M, sizeof updates, {M}},
                    is = {PITH_I32, 1, M, sizeof index[0], {M}};
    const pithp_index_params params = {.sorted = true};
    call c = {.primitive = PITHP_OP_SCATTER_ADD,
              .count = 4,
              .specs = {&xs, &is, &is, &us},
              .data = {x, index[0], index[1], updates},
              .params = &params,
              .split = 1,
              .backwards = true};
    cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
    cr_assert(memcmp(c.out, want, sizeof want) == 0);
    call_free(&c);
}

Test(index, reports_the_first_index_out_of_range) {
    static const float x[6] = {0, 1, 2, 3, 4, 5};
    static const int64_t rows[4] = {0, -1, 2, 1}, columns[4] = {2, 0, 0, -4};
    static const uint64_t huge[4] = {0, 1, UINT64_MAX, 1};
    const pith_spec xs = {PITH_F32, 2, 6, 24, {2, 3}}, is = {PITH_I64, 1, 4, 32, {4}},
                    us = {PITH_U64, 1, 4, 32, {4}};
    const pithp_index_params params = {.mode = PITHP_INDEX_ERROR, .fill = 0};
    for (int k = 0; k < 2; k++) {
        pith_report report = {0};
        pithp_error e = {0};
        call c = {.primitive = PITHP_OP_TAKE,
                  .count = 3 - k,
                  .specs = {&xs, k ? &us : &is, &is},
                  .data = {x, k ? (const void *)huge : rows, columns},
                  .params = &params,
                  .report = &report,
                  .split = 1};
        cr_assert(call_run(&c) == PITH_OK, "%s", c.refusal.text);
        pithp_index_describe("take", &report, "", &e);
        cr_expect(e.code == PITH_E_INDEX);
        cr_expect(
            strstr(e.message,
                   k ? "take: index 18446744073709551615 at position 2 is out of range "
                       "for axis 0 with extent 2"
                     : "take: index 2 at position 2 is out of range for axis 0 "
                       "with extent 2"),
            "%s", e.message);
        call_free(&c);
    }
}

Test(index, refuses_what_does_not_fit) {
    const pith_spec x = {PITH_F32, 2, 6, 24, {2, 3}}, f = {PITH_F32, 1, 4, 16, {4}},
                    i = {PITH_I32, 1, 4, 16, {4}}, none = {PITH_F32, 2, 0, 0, {0, 3}},
                    u = {PITH_F32, 2, 8, 32, {4, 2}};
    const pithp_index_params clip = {.mode = PITHP_INDEX_CLIP}, last = {.axis = 2};
    const struct {
        pithp_primitive primitive;
        int count;
        const pith_spec *specs[3];
        const pithp_index_params *params;
        const char *text;
    } cases[] = {
        {PITHP_OP_TAKE, 2, {&x, &f}, &clip, "expected integer indices, got f32[4]"},
        {PITHP_OP_TAKE, 2, {&x, &i}, &last, "axes 2..2 of rank 2"},
        {PITHP_OP_TAKE,
         2,
         {&none, &i},
         &clip,
         "axis 0 has extent 0: no element to choose"},
        {PITHP_OP_SCATTER_ADD,
         3,
         {&x, &i, &u},
         &clip,
         "updates of shape [4,3], got f32[4,2]"},
        {PITHP_OP_TAKE_ALONG, 2, {&x, &i}, &clip, "expected indices with the extents"},
    };
    for (int k = 0; k < PITHP_COUNT(cases); k++) {
        call c = {.primitive = cases[k].primitive,
                  .count = cases[k].count,
                  .specs = {cases[k].specs[0], cases[k].specs[1], cases[k].specs[2]},
                  .params = cases[k].params};
        cr_expect(call_run(&c) != PITH_OK);
        cr_expect(strstr(c.refusal.text, cases[k].text) != NULL, "%s", c.refusal.text);
    }
}
