/* Scans, sorts, searches, sets of a given size and segments. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#define RUN(name)                                                                        \
    static void run_##name(pith_scope *s, const oracle_row *row, oracle_call *call)

static int axis_of(const oracle_call *call) {
    return (int)oracle_integer(call, "axis", -1);
}

#define SCAN(name)                                                                       \
    RUN(name) {                                                                          \
        (void)row;                                                                       \
        const pith_cumulative_options options = {.reverse =                              \
                                                     oracle_flag(call, "reverse")};      \
        oracle_give(call, pith_##name(s, call->in[0], axis_of(call), &options));         \
    }
SCAN(cumsum)
SCAN(cumprod)
SCAN(cummin)
SCAN(cummax)
SCAN(cumlogsumexp)

#define SORT(name)                                                                       \
    RUN(name) {                                                                          \
        (void)row;                                                                       \
        const pith_sort_options options = {.descending =                                 \
                                               oracle_flag(call, "descending")};         \
        oracle_give(call, pith_##name(s, call->in[0], axis_of(call), &options));         \
    }
SORT(sort)
SORT(argsort)

RUN(sort_by_keys) {
    (void)row;
    if (call->count > ORACLE_RESULTS) {
        oracle_trouble(call, "%d arrays", call->count);
        return;
    }
    pith_sort_by_keys(s, call->count, call->in, (int)oracle_integer(call, "keys", 1),
                      axis_of(call), call->out);
    call->results = call->count;
}

RUN(top_k) {
    (void)row;
    const pith_top top = pith_top_k(s, call->in[0], oracle_integer(call, "k", 1));
    call->out[0] = top.values;
    call->out[1] = top.indices;
    call->results = 2;
}

RUN(searchsorted) {
    (void)row;
    const pith_search_options options = {.right =
                                             !strcmp(oracle_text(call, "side"), "right")};
    oracle_give(call, pith_search_sorted(s, call->in[0], call->in[1], &options));
}

RUN(digitize) {
    (void)row;
    oracle_give(call,
                pith_digitize(s, call->in[0], call->in[1], oracle_flag(call, "right")));
}

RUN(unique) {
    (void)row;
    const golden_json *given = golden_get(call->params, "fill");
    const double fill = given && given->kind == 't' ? 1 : oracle_number(call, "fill", 0);
    const pith_unique_options options = {.fill =
                                             given && given->kind != 'z' ? &fill : NULL};
    const pith_unique_result u =
        pith_unique(s, call->in[0], oracle_integer(call, "size", 0), &options);
    call->out[call->results++] = u.values;
    if (oracle_flag(call, "index"))
        call->out[call->results++] = u.index;
    if (oracle_flag(call, "inverse"))
        call->out[call->results++] = u.inverse;
    if (oracle_flag(call, "counts"))
        call->out[call->results++] = u.counts;
}

RUN(nonzero) {
    (void)row;
    const pith_nonzero_options options = {.fill = oracle_integer(call, "fill", 0)};
    const pith_indices places =
        pith_nonzero(s, call->in[0], oracle_integer(call, "size", 0), &options);
    for (int d = 0; d < places.count; d++)
        call->out[d] = places.axes[d];
    call->results = places.count;
}

#define SEGMENT(name)                                                                    \
    RUN(segment_##name) {                                                                \
        (void)row;                                                                       \
        oracle_give(call,                                                                \
                    pith_segment_##name(s, call->in[0], call->in[1],                     \
                                        oracle_integer(call, "segments", 0), NULL));     \
    }
SEGMENT(sum)
SEGMENT(prod)
SEGMENT(min)
SEGMENT(max)

RUN(bincount) {
    (void)row;
    oracle_give(call, pith_bincount(s, call->in[0], call->count > 1 ? call->in[1] : NULL,
                                    oracle_integer(call, "length", 0)));
}

RUN(isin) {
    (void)row;
    oracle_give(call, pith_isin(s, call->in[0], call->in[1], NULL));
}

RUN(median) {
    (void)row;
    oracle_give(call, pith_median(s, call->in[0], axis_of(call)));
}

const oracle_row oracle_order[] = {
    {.op = "cumsum", .run = run_cumsum},
    {.op = "cumprod", .run = run_cumprod},
    {.op = "cummin", .run = run_cummin},
    {.op = "cummax", .run = run_cummax},
    {.op = "cumlogsumexp", .run = run_cumlogsumexp},
    {.op = "sort", .run = run_sort},
    {.op = "argsort", .run = run_argsort},
    {.op = "sort_by_keys", .run = run_sort_by_keys},
    {.op = "top_k", .run = run_top_k},
    {.op = "searchsorted", .run = run_searchsorted},
    {.op = "digitize", .run = run_digitize},
    {.op = "unique", .run = run_unique},
    {.op = "nonzero", .run = run_nonzero},
    {.op = "segment_sum", .run = run_segment_sum},
    {.op = "segment_prod", .run = run_segment_prod},
    {.op = "segment_min", .run = run_segment_min},
    {.op = "segment_max", .run = run_segment_max},
    {.op = "bincount", .run = run_bincount},
    {.op = "isin", .run = run_isin},
    {.op = "median", .run = run_median},
    ORACLE_UNARY("partition_point", pith_partition_point),
    {.op = NULL},
};
