/* The layout of operands of cond, while and scan: groups, inputs of programs, carries. */
#include "graph_test.h"
#include "program/ir/region.h"
#include "scope_test.h"

/* The inputs of a program for operands 0 to 5 as digits; '-': not taken. */
static void expect(const pithp_regions *r, int program, const char *wanted) {
    char got[7] = {0};
    int count = 0;
    for (int o = 0; o < 6; o++) {
        const int input = pithp_region_input(r, program, o);
        got[o] = (char)(input < 0 ? '-' : '0' + input);
        count += input >= 0;
        cr_assert(input < 0 || pithp_region_operand(r, program, input) == o);
    }
    cr_assert_str_eq(got, wanted, "program %d: got %s, expected %s", program, got,
                     wanted);
    cr_assert(pithp_region_inputs(r, program) == count);
}

static void expect_carries(const pithp_regions *r, int first, int count) {
    cr_assert(r->carries.first == first && r->carries.count == count);
    for (int o = 0; o < 6; o++)
        cr_assert(pithp_carry_of(r, o) ==
                  (o >= first && o < first + count ? o - first : -1));
}

Test(region, of_a_cond) {
    const pithp_regions r = pithp_regions_of_call(PITHP_OP_COND, NULL, 6);
    expect(&r, 0, "-01234");
    expect(&r, 7, "-01234");
    cr_assert(r.carries.count == 0 && r.groups[PITHP_COND_INDEX].count == 1);
    cr_assert(pithp_region_yields(&r, 0) && pithp_region_yields(&r, 7));
    cr_assert(pithp_region_forwards(&r, 1, 3, 0) == 4);
}

Test(region, of_a_while) {
    const pithp_while_params w = {.cond_operands = 1, .body_operands = 2};
    const pithp_regions r = pithp_regions_of_call(PITHP_OP_WHILE, &w, 6);
    expect(&r, 0, "0--123");
    expect(&r, 1, "-01234");
    expect_carries(&r, 3, 3);
    cr_assert(!pithp_region_yields(&r, 0) && pithp_region_yields(&r, 1));
    cr_assert(pithp_region_first_carry(&r, 0) == 1);
    cr_assert(pithp_region_first_carry(&r, 1) == 2);
    cr_assert(pithp_region_forwards(&r, 1, 3, 1) == 4);
    cr_assert(pithp_region_forwards(&r, 1, 3, 0) < 0);
    cr_assert(pithp_region_forwards(&r, 0, 2, 0) < 0);
}

Test(region, of_a_scan) {
    const pithp_loop_params l = {.length = 4, .constants = 2, .carries = 1};
    const pithp_regions r = pithp_regions_of_call(PITHP_OP_SCAN, &l, 6);
    expect(&r, 0, "012345");
    expect_carries(&r, 2, 1);
    cr_assert(r.groups[PITHP_SCAN_XS].first == 3 && r.groups[PITHP_SCAN_XS].count == 3);
    cr_assert(r.groups[pithp_operand_group_of(&r, 3)].role == PITHP_OPERAND_XS);
    cr_assert(pithp_region_forwards(&r, 0, 2, 0) == 2);
    cr_assert(pithp_region_forwards(&r, 0, 4, 1) < 0);
}

/* Empty groups: an operand belongs to the next group that has one. */
Test(region, of_empty_groups) {
    const pithp_while_params w = {0};
    pithp_regions r = pithp_regions_of_call(PITHP_OP_WHILE, &w, 6);
    expect(&r, 0, "012345");
    expect(&r, 1, "012345");
    expect_carries(&r, 0, 6);
    const pithp_loop_params l = {.length = 4};
    r = pithp_regions_of_call(PITHP_OP_SCAN, &l, 6);
    cr_assert(r.groups[pithp_operand_group_of(&r, 0)].role == PITHP_OPERAND_XS);
    cr_assert(pithp_region_first_carry(&r, 0) == 0 && r.carries.count == 0);
    r = pithp_regions_of_call(PITHP_OP_ADD, NULL, 2);
    cr_assert(r.carries.count == 0 && !pithp_region_yields(&r, 0));
}

Test(region, resizes_the_groups) {
    pithp_while_params w = {0};
    pithp_loop_params l = {.length = 4, .unroll = 2};
    const int counts[PITHP_OPERAND_GROUPS] = {2, 1, 3};
    pithp_regions_resize(PITHP_OP_WHILE, &w, counts);
    pithp_regions_resize(PITHP_OP_SCAN, &l, counts);
    cr_assert(w.cond_operands == 2 && w.body_operands == 1);
    cr_assert(l.constants == 2 && l.carries == 1 && l.length == 4 && l.unroll == 2);
}
