/* How far a capacity grows, against exact integers (growth.py) and at the edges. */
#include "capacity/capacity_internal.h"
#include "pith_test.h"

#include <pith/pith.h>

static const struct {
    int64_t size, need;
    double base;
    int64_t grown;
} rows[] = {
#define X(size, need, base, grown) {size, need, base, grown},
#include "growth.def"
#undef X
};

Test(growth, is_exact) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t got = pith_grown_size(s, rows[i].size, rows[i].need, rows[i].base);
        cr_assert(got == rows[i].grown,
                  "size %lld, need %lld, base %.17g: %lld, expected %lld",
                  (long long)rows[i].size, (long long)rows[i].need, rows[i].base,
                  (long long)got, (long long)rows[i].grown);
    }
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(growth, gives_the_values_of_kups) {
    cr_assert(pithp_growth(100, 150, 2) == 256);
    cr_assert(pithp_growth(0, 11, 1.5) == 11 && pithp_growth(0, 12, 1.5) == 17);
    cr_assert(pithp_growth(0, 100, 1.5) == 129 && pithp_growth(0, 1000, 1.5) == 1477);
    cr_assert(pithp_growth(0, 11, 3) == 27 && pithp_growth(0, 11, 10) == 100);
    const int64_t from_nothing[] = {0, 1, 2, 4, 4, 8, 8, 8, 8, 16};
    for (int64_t need = 0; need < 10; need++)
        cr_assert(pithp_growth(0, need, 2) == from_nothing[need]);
    cr_assert(pithp_growth(10, -5, 2) == 10 && pithp_growth(0, -5, 1) == 0);
    cr_assert(pithp_growth(10, 15, 1) == 15 && pithp_growth(10, 15, 0.25) == 15);
}

/* kUPS, by logarithms of floats: 2^k + 1 becomes 2^k for every k from 21 to 29, base 1.1
 * gives 52331 for 52332, and 2^29 gives 2^30. */
Test(growth, does_not_drift) {
    for (int k = 1; k < 63; k++) {
        const int64_t power = (int64_t)1 << k;
        cr_assert(pithp_growth(0, power, 2) == power, "2^%d", k);
        cr_assert(pithp_growth(0, power + 1, 2) == (k == 62 ? INT64_MAX : 2 * power),
                  "2^%d + 1", k);
        cr_assert(pithp_growth(0, power - 1, 2) == (k == 1 ? 1 : power), "2^%d - 1", k);
    }
    cr_assert(pithp_growth(0, 52332, 1.1) == 57565);
}

/* Bases with too many powers to enumerate: they are closer than integers, or 2^-52 apart.
 */
Test(growth, takes_bases_near_one) {
    const double base = nextafter(1, 2);
    cr_assert(pithp_growth(0, 2, base) == 2 &&
              pithp_growth(0, 123456789, base) == 123456789);
    const int64_t need = (int64_t)1 << 60, got = pithp_growth(0, need - 1, base);
    cr_assert(got >= need - 1 && got <= need + 256);
    cr_assert(pithp_growth(0, INT64_MAX, base) == INT64_MAX);
}

Test(growth, saturates) {
    const double bases[] = {1.1, 1.5, 2, 3, 10, 0x1p62, 0x1p63, 0x1p64, 1e300};
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        cr_assert(pithp_growth(0, INT64_MAX, bases[i]) == INT64_MAX);
        cr_assert(pithp_growth(INT64_MAX, 5, bases[i]) == INT64_MAX, "never shrinks");
        cr_assert(pithp_growth(0, 1, bases[i]) == 1);
        cr_assert(pithp_growth(0, INT64_MAX - 1, bases[i]) >= INT64_MAX - 1);
    }
}

Test(growth, refuses_what_is_no_number) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_fails(PITH_E_ARG, s, pith_grown_size(s, 10, 20, NAN));
    pt_fails(PITH_E_ARG, s, pith_grown_size(s, 10, 20, INFINITY));
    pt_fails(PITH_E_ARG, s, pith_grown_size(s, -1, 20, 2));
    pt_says("got -1 and 2");
    pith_scope_close(s);
    pt_close(rt);
}

Test(growth, rounds_fractions_up) {
    int64_t need = 0;
    cr_assert(pithp_need_of(15.7, &need) && need == 16);
    cr_assert(pithp_need_of(15, &need) && need == 15);
    cr_assert(pithp_need_of(-2.5, &need) && need == -2);
    cr_assert(pithp_need_of(0x1p62, &need) && need == (int64_t)1 << 62);
    cr_assert(pithp_need_of(nextafter(0x1p63, 0), &need) && need == INT64_MAX - 1023);
    cr_assert(pithp_need_of(-1e300, &need) && need == INT64_MIN);
    cr_assert(!pithp_need_of(0x1p63, &need) && !pithp_need_of(NAN, &need) &&
              !pithp_need_of(INFINITY, &need));
    cr_assert(pithp_need_of(-INFINITY, &need) && need == INT64_MIN, "nothing is needed");
}
