/* Index maps of data movement: offsets and strides of views, and the elements that a
 * padding keeps. */
#include "pith_test.h"
#include "program/op/index_map.h"

static pith_spec spec_of(int rank, const int64_t *shape) {
    pith_spec spec = {.dtype = PITH_F64, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++)
        spec.count *= spec.shape[d] = shape[d];
    return spec;
}

/* A slice of one element may have any step: it does not become a stride. */
Test(index_map, of_a_slice_with_a_huge_step) {
    const pith_spec x = spec_of(2, (int64_t[]){5, 3}), to = spec_of(2, (int64_t[]){1, 2});
    const pithp_slice_params p = {{4, 2}, {5, -1}, {INT64_MAX, -2}};
    int64_t stride[PITHP_MAX_RANK];
    const int64_t own[] = {24, 8};
    const int64_t offset =
        pithp_view_strides(PITHP_OP_SLICE, &p, &x, own, 8, &to, stride);
    cr_assert(offset == 4 * 24 + 2 * 8 && stride[0] == 24 && stride[1] == -16);
}

/* A start may lie outside if there is no element. */
Test(index_map, of_a_view_without_elements) {
    const pith_spec x = spec_of(2, (int64_t[]){5, 3}), to = spec_of(2, (int64_t[]){0, 2}),
                    none = spec_of(1, (int64_t[]){0});
    const pithp_slice_params p = {{5, 1}, {5, 3}, {1, 1}};
    const pithp_reverse_params turned = {1};
    int64_t stride[PITHP_MAX_RANK];
    const int64_t own[] = {3, 1};
    cr_assert(pithp_view_strides(PITHP_OP_SLICE, &p, &x, own, 1, &to, stride) == 0);
    cr_assert(pithp_view_strides(PITHP_OP_REVERSE, &turned, &none, own + 1, 1, &none,
                                 stride) == 0);
}

Test(index_map, of_a_broadcast_repeats) {
    const pith_spec x = spec_of(2, (int64_t[]){4, 1}),
                    to = spec_of(4, (int64_t[]){6, 4, 7, 3});
    const pithp_broadcast_params p = {
        .rank = 4, .shape = {6, 4, 7, 3}, .dimensions = {1, 3}};
    int64_t stride[PITHP_MAX_RANK];
    const int64_t own[] = {-2, 5};
    cr_assert(pithp_view_strides(PITHP_OP_BROADCAST, &p, &x, own, 1, &to, stride) == 0);
    cr_assert(stride[0] == 0 && stride[1] == -2 && stride[2] == 0 && stride[3] == 0);
}

/* Count the elements that a padding keeps one by one. */
Test(index_map, of_a_padding) {
    for (int64_t n = 0; n < 5; n++)
        for (int64_t low = -9; low < 4; low++)
            for (int64_t between = 0; between < 3; between++)
                for (int64_t extent = 0; extent < 12; extent++) {
                    const pithp_pad_params p = {{low}, {0}, {between}};
                    const pith_spec x = spec_of(1, &n), to = spec_of(1, &extent);
                    const pithp_pad_range kept = pithp_pad_kept(&p, 0, &x, &to);
                    int64_t count = 0;
                    for (int64_t i = 0; i < n; i++) {
                        const int64_t at = low + i * (between + 1);
                        if (at < 0 || at >= extent)
                            continue;
                        cr_assert(i == kept.first + count &&
                                  at == kept.to + count * kept.step);
                        count++;
                    }
                    cr_assert(count == kept.count);
                }
}
