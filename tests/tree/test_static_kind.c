/* The table of static kinds: each row is complete, and its operations agree. */
#include "pith_test.h"
#include "tree/tree_internal.h"

#include <string.h>

static const char *const phases[] = {"solid", "liquid", NULL};

enum { KINDS = PITH_STATIC_KIND_RECORD + 1 };

Test(static_kind, has_all_operations_of_each_kind) {
    for (int i = PITH_STATIC_KIND_NONE + 1; i < KINDS; i++) {
        const pithp_static_operations *k = &pithp_static_kinds[i];
        cr_assert(k->name && k->expected && k->size, "%d", i);
        cr_assert(k->read && k->write, "%s", k->name);
        cr_assert(pithp_static_kind_named(k->name) == (pith_static_kind)i, "%s", k->name);
        cr_assert(!k->print ==
                      (i == PITH_STATIC_KIND_TEXT || i == PITH_STATIC_KIND_RECORD),
                  "%s", k->name);
    }
    cr_assert(pithp_static_kind_named("none") == PITH_STATIC_KIND_NONE);
    cr_assert(pithp_static_kind_named("i32") == PITH_STATIC_KIND_NONE);
}

Test(static_kind, reads_what_it_wrote) {
    const pithp_static_value values[KINDS] = {
        [PITH_STATIC_KIND_I64] = {.i64 = INT64_MIN + 1},
        [PITH_STATIC_KIND_F64] = {.f64 = 0.1},
        [PITH_STATIC_KIND_BOOL] = {.i64 = 1},
        [PITH_STATIC_KIND_TEXT] = {.text = "argon"},
        [PITH_STATIC_KIND_ENUM] = {.i64 = 1, .text = "liquid"},
        [PITH_STATIC_KIND_DTYPE] = {.i64 = PITH_F32, .text = "f32"},
        [PITH_STATIC_KIND_RECORD] = {.record = phases}};
    for (int i = PITH_STATIC_KIND_NONE + 1; i < KINDS; i++) {
        const pithp_static_operations *k = &pithp_static_kinds[i];
        const pith_field field = {.static_kind = (pith_static_kind)i, .names = phases};
        union {
            char bytes[16];
            double aligned;
        } member;
        memset(&member, 0x5a, sizeof member);
        pithp_static_write(&field, &values[i], member.bytes);
        cr_assert(member.bytes[k->size] == 0x5a, "%s: no byte after the member", k->name);
        const pithp_static_value v = pithp_static_read(&field, member.bytes);
        cr_assert(v.kind == (pith_static_kind)i, "%s", k->name);
        cr_assert(v.i64 == values[i].i64 && v.record == values[i].record, "%s", k->name);
        cr_assert(memcmp(&v.f64, &values[i].f64, sizeof v.f64) == 0, "%s", k->name);
        cr_assert(!v.text == !values[i].text, "%s", k->name);
        cr_assert(!v.text || strcmp(v.text, values[i].text) == 0, "%s", k->name);
        cr_assert(pithp_static_equal((pith_static_kind)i, member.bytes, member.bytes),
                  "%s", k->name);
    }
}

static bool
convert(pith_static_kind kind, const pithp_static_value *from, pithp_static_value *to) {
    return pithp_static_convert(&(pith_field){.static_kind = kind, .names = phases}, from,
                                to);
}

Test(static_kind, converts_numbers_and_names) {
    const pithp_static_value i64 = {.kind = PITH_STATIC_KIND_I64, .i64 = 3};
    const pithp_static_value f64 = {.kind = PITH_STATIC_KIND_F64, .f64 = 0.5};
    const pithp_static_value text = {.kind = PITH_STATIC_KIND_TEXT, .text = "liquid"};
    pithp_static_value v = {.kind = PITH_STATIC_KIND_F64};
    cr_assert(convert(PITH_STATIC_KIND_F64, &i64, &v));
    cr_assert(v.f64 >= 3 && v.f64 <= 3);
    cr_assert(!convert(PITH_STATIC_KIND_I64, &f64, &v));
    cr_assert(convert(PITH_STATIC_KIND_ENUM, &text, &v));
    cr_assert(v.i64 == 1);
    cr_assert(convert(PITH_STATIC_KIND_DTYPE, &text, &v));
    cr_assert(v.i64 == -1, "no dtype has that name");
    cr_assert(!convert(PITH_STATIC_KIND_RECORD, &text, &v));
}
