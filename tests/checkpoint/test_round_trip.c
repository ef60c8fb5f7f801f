/* What is saved is what is loaded: every dtype, every kind of node and static, bit for
 * bit, and the same state always as the same bytes. */
#include "checkpoint_test.h"

static const pith_save_options forms[] = {{0},
                                          {.inline_all = true},
                                          {.inline_bytes = -1},
                                          {.inline_bytes = 100}};
enum { FORMS = sizeof forms / sizeof forms[0] };

Test(round_trip, keeps_a_state_in_every_form) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Sim *sim = make_sim(s, 100, 1);
    pt_ok(s, sim);
    for (int i = 0; i < FORMS; i++) {
        pt_ok(s, pith_save(s, sim, "a.json", &forms[i]));
        cr_assert(ct_count_files() == (forms[i].inline_all ? 1 : 2));
        const Sim *again = pith_load(s, Sim, "a.json");
        pt_ok(s, again);
        cr_assert(ct_same_bits(s, sim, again));
        cr_assert(again->width == 4 && again->timestep == 0.1 && again->periodic);
        cr_assert_str_eq(again->label, "melt");
        cr_assert(again->phase == PHASE_LIQUID && again->real == PITH_F64);
        cr_assert(again->cell.x == 1.5 && signbit(again->cell.y) &&
                  again->cell.z == 1e300);
        cr_assert(again->force->cutoff == 2.5 && !again->spare && !again->extra);
        cr_assert_str_eq(again->force->units->energy, sim->force->units->energy);
    }
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* ---- Leaves ---- */

static const uint64_t patterns[] = {0,
                                    1,
                                    0x7ff8000000000000,
                                    0xfff0000000000000,
                                    0x7ff0000000000001,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0x7fffffffffffffff,
                                    0x0020000000000001,
                                    0x7f800000ff800000,
                                    0x7fc0000080000000,
                                    0x7e00fc0001008000,
                                    0x0102030405060708};

static const pith_array *pattern_array(pith_scope *s, pith_dtype dtype) {
    unsigned char bytes[sizeof patterns];
    memcpy(bytes, patterns, sizeof bytes);
    for (size_t i = 0; dtype == PITH_BOOL && i < sizeof bytes; i++)
        bytes[i] &= 1;
    return pith_array_copy(
        s, dtype, PITH_SHAPE((int64_t)(sizeof bytes / pith_dtype_size(dtype))), bytes);
}

Test(round_trip, keeps_the_bits_of_every_dtype) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *items[PITH_DTYPE_COUNT - 1];
    for (int i = PITH_BOOL; i < PITH_DTYPE_COUNT; i++)
        items[i - 1] = pattern_array(s, (pith_dtype)i);
    const pith_list *list = pith_list_make(s, PITH_DTYPE_COUNT - 1, items);
    for (int i = 0; i < FORMS; i++) {
        pt_ok(s, pith_save(s, list, "a.json", &forms[i]));
        const void *again = pith_load_any(s, NULL, "a.json", NULL);
        pt_ok(s, again);
        cr_assert(ct_same_bits(s, list, again), "form %d", i);
    }
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(round_trip, keeps_empty_and_deeply_shaped_leaves) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_shape shapes[] = {PITH_SCALAR,
                                 PITH_SHAPE(0),
                                 PITH_SHAPE(3, 0),
                                 PITH_SHAPE(0, 1000),
                                 PITH_SHAPE(1, 1, 1, 1),
                                 PITH_SHAPE(1),
                                 PITH_SHAPE(2, 1, 2, 1, 2, 1, 2, 1)};
    enum { COUNT = sizeof shapes / sizeof shapes[0] };
    const void *items[COUNT];
    for (int i = 0; i < COUNT; i++)
        items[i] = pith_full(s, i % 2 ? PITH_F32 : PITH_I64, shapes[i], i);
    const pith_tuple *tuple = pith_tuple_make(s, COUNT, items);
    for (int i = 0; i < FORMS; i++) {
        pt_ok(s, pith_save(s, tuple, "a.json", &forms[i]));
        const void *again = pith_load_any(s, NULL, "a.json", NULL);
        pt_ok(s, again);
        cr_assert(ct_same_bits(s, tuple, again), "form %d", i);
    }
    pt_ok(s, pith_save(s, items[0], "leaf.json", &forms[2])); /* a leaf alone */
    cr_assert(ct_same_bits(s, items[0], pith_load_any(s, NULL, "leaf.json", NULL)));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* ---- Nodes ---- */

static const void *every_node(pith_scope *s) {
    const pith_none *none = pith_none_make(s);
    const pith_list *empty = pith_list_make(s, 0, NULL);
    const char *const odd[] = {
        "", "a.b", "[0]", "'q'", "\\", "\"", "tab\t", "\u00fc\U0001F600", "z\x7f"};
    enum { COUNT = sizeof odd / sizeof odd[0] };
    const void *values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = i % 3 ? (const void *)pith_f64(s, i) : (const void *)none;
    const pith_dict *dict = pith_dict_make(s, COUNT, odd, values);
    Sim sim = *make_sim(s, 5, 2);
    sim.label = NULL;
    sim.extra =
        pith_tuple_make(s, PITH_ITEMS(dict, none, empty, pith_tuple_make(s, 0, NULL)));
    sim.spare = sim.atoms;
    const Sim *first = pith_freeze(s, Sim, &sim);
    return pith_list_make(s, PITH_ITEMS(first, dict, empty, none, pith_i32(s, 7)));
}

Test(round_trip, keeps_every_kind_of_node) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = every_node(s);
    pt_ok(s, tree);
    for (int i = 0; i < FORMS; i++) {
        pt_ok(s, pith_save(s, tree, "a.json", &forms[i]));
        const void *again = pith_load_any(s, NULL, "a.json", NULL);
        pt_ok(s, again);
        cr_assert(ct_same_bits(s, tree, again), "form %d", i);
        const Sim *sim = pith_child(again, 0);
        cr_assert(pith_is(Sim, sim) && sim->spare && !sim->label);
        cr_assert(pith_kind(pith_child(sim->extra, 2)) == PITH_NODE_LIST);
        cr_assert(pith_dict_get(pith_child(sim->extra, 0), "\u00fc\U0001F600"));
    }
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(round_trip, keeps_strings_with_every_code_point) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    enum { PIECE = 4096 };
    char *text = malloc(4 * PIECE + 1);
    for (uint32_t first = 1; first < 0x110000; first += PIECE) {
        char *to = text;
        for (uint32_t c = first; c < first + PIECE && c < 0x110000; c++) {
            if (c >= 0xD800 && c < 0xE000)
                continue;
            if (c < 0x80) {
                *to++ = (char)c;
            } else if (c < 0x800) {
                *to++ = (char)(0xC0 | c >> 6);
                *to++ = (char)(0x80 | (c & 63));
            } else if (c < 0x10000) {
                *to++ = (char)(0xE0 | c >> 12);
                *to++ = (char)(0x80 | (c >> 6 & 63));
                *to++ = (char)(0x80 | (c & 63));
            } else {
                *to++ = (char)(0xF0 | c >> 18);
                *to++ = (char)(0x80 | (c >> 12 & 63));
                *to++ = (char)(0x80 | (c >> 6 & 63));
                *to++ = (char)(0x80 | (c & 63));
            }
        }
        *to = 0;
        pith_scope *inner = pith_scope_open_in(s);
        const Units units = {text, ""};
        pt_ok(inner, pith_save(inner, pith_freeze(inner, Units, &units), "a.json", NULL));
        const Units *again = pith_load(inner, Units, "a.json");
        pt_ok(inner, strcmp(again->length, text) == 0);
        pith_scope_close(inner);
    }
    free(text);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* Keys are names of tensors too: in the header of the sidecar, and in paths. */
Test(round_trip, keeps_keys_with_every_kind_of_code_point) {
    enum { COUNT = 0x110000 / 131 };
    static char texts[COUNT][8];
    static const char *keys[COUNT];
    static const void *items[COUNT];
    int64_t count = 0;
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (uint32_t i = 1; i < COUNT; i++) {
        const uint32_t c = i < 1000 ? i : 131 * i; /* all that are escaped, some others */
        char *to = texts[count];
        if (c >= 0xD800 && c < 0xE000)
            continue;
        if (c < 0x80)
            *to++ = (char)c;
        else if (c < 0x800)
            *to++ = (char)(0xC0 | c >> 6);
        else if (c < 0x10000)
            *to++ = (char)(0xE0 | c >> 12);
        else
            *to++ = (char)(0xF0 | c >> 18), *to++ = (char)(0x80 | (c >> 12 & 63));
        if (c >= 0x800)
            *to++ = (char)(0x80 | (c >> 6 & 63));
        if (c >= 0x80)
            *to++ = (char)(0x80 | (c & 63));
        keys[count] = texts[count];
        items[count++] = pith_i32(s, (int32_t)c);
    }
    const pith_dict *dict = pith_dict_make(s, count, keys, items);
    pt_ok(s, dict != NULL);
    for (int i = 0; i < FORMS; i++) {
        pt_ok(s, pith_save(s, dict, "a.json", &forms[i]));
        pt_ok(s, ct_same_bits(s, dict, pith_load_any(s, NULL, "a.json", NULL)));
    }
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

static const void *make_chain(pith_scope *s, int depth) {
    const void *tree = pith_f64(s, 0.5);
    for (int i = 0; i < depth; i++)
        tree = pith_list_make(s, PITH_ITEMS(tree, pith_i32(s, i)));
    return tree;
}

Test(round_trip, works_at_any_depth, .timeout = 120) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *chain = make_chain(s, 100000);
    pt_ok(s, pith_save(s, chain, "a.json", NULL));
    const void *again = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, again);
    cr_assert(ct_same_bits(s, chain, again));
    const pith_save_options sidecar = {.inline_bytes = -1};
    const void *shorter = make_chain(s, 1000); /* paths beyond 512 bytes become numbers */
    pt_ok(s, pith_save(s, shorter, "b.json", &sidecar));
    cr_assert(ct_same_bits(s, shorter, pith_load_any(s, NULL, "b.json", NULL)));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(round_trip, works_for_many_leaves, .timeout = 120) {
    enum { COUNT = 200000 };
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void **items = malloc(COUNT * sizeof *items);
    for (int i = 0; i < COUNT; i++)
        items[i] = pith_i32(s, i);
    const pith_list *list = pith_list_make(s, COUNT, items);
    free(items);
    pt_ok(s, pith_save(s, list, "a.json", NULL));
    const void *again = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, again);
    cr_assert(ct_same_bits(s, list, again));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* ---- Bytes ---- */

Test(round_trip, writes_the_same_bytes_for_the_same_state) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.step = 17,
                                       .metadata = PITH_METADATA({"b", "1"}, {"a", ""})};
    pt_ok(s, pith_save(s, every_node(s), "a.json", &options));
    const ct_file a = ct_read("a.json");
    pt_ok(s, pith_save(s, every_node(s), "a.json", &options));
    const ct_file b = ct_read("a.json");
    cr_assert(a.n == b.n && memcmp(a.bytes, b.bytes, a.n) == 0);
    pt_ok(s, pith_save(s, pith_load_any(s, NULL, "a.json", NULL), "a.json", &options));
    const ct_file c = ct_read("a.json");
    cr_assert(a.n == c.n && memcmp(a.bytes, c.bytes, a.n) == 0);
    free(a.bytes), free(b.bytes), free(c.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(round_trip, sees_what_was_computed_but_not_waited_for) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt), *other = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_F64, 100000);
    for (int i = 0; i < 20; i++)
        x = pith_add(s, x, x);
    pt_ok(other, pith_save(other, x, "a.json", NULL));
    const pith_array *again = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, again);
    cr_assert(ct_same_bits(s, x, again));
    pith_scope_close(other);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(round_trip, saves_a_leaf_at_two_places_twice) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_F32, 1000);
    const void *tree = pith_tuple_make(s, PITH_ITEMS(x, x));
    pt_ok(s, pith_save(s, tree, "a.json", NULL));
    const void *again = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, again);
    cr_assert(pith_child(again, 0) != pith_child(again, 1) &&
              ct_same_bits(s, tree, again));
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}
