/* One leaf, or some rows of one, without the rest of the file. */
#include "checkpoint_scope.h"

static bool same(const pith_array *a, const pith_array *b) {
    return a && b && ct_same_bits(s, a, b);
}

/* A tree with every kind of step; keys that are prefixes of others, and odd ones. */
static const void *make(const pith_array *big) {
    const char *const keys[] = {"", "a", "a b", "ab", "it's ]['"};
    const void *items[] = {pith_f64(s, 0), pith_f64(s, 1), pith_f64(s, 2), pith_f64(s, 3),
                           pith_f64(s, 4)};
    const pith_dict *dict = pith_dict_make(s, 5, keys, items);
    const void *list[12] = {dict, make_sim(s, 100, 1), big, pith_none_make(s)};
    for (int i = 4; i < 12; i++)
        list[i] = pith_f64(s, 10 * i);
    return pith_list_make(s, 12, list);
}

static const pith_array *table(pith_scope *in, int64_t rows) {
    return pith_reshape(in, pith_arange(in, PITH_I32, 3 * rows), PITH_SHAPE(rows, 3));
}

Test(part, is_found_by_its_path) {
    begin();
    pt_ok(s, pith_save(s, make(table(s, 1000)), "a.json", NULL));
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, c);
    for (int64_t i = 0; i < pith_checkpoint_about(c)->node_count; i++)
        cr_assert(pith_checkpoint_find(s, c, pith_checkpoint_path(s, c, i)) == i,
                  "row %d", (int)i);
    cr_assert(pith_checkpoint_find(s, c, "") == 0);
    cr_assert(pith_read_f64(s, pith_checkpoint_array(s, c, "[11]")) == 110);
    cr_assert(pith_read_f64(s, pith_checkpoint_array(s, c, "[0]['ab']")) == 3);
    cr_assert(same(pith_checkpoint_array(s, c, "[1].atoms.position"),
                   make_sim(s, 100, 1)->atoms->position));
    pt_ok(s, same(pith_checkpoint_array(s, c, "[2]"), table(s, 1000)));
    static const char *const none[] = {"[12]",       "[1].atom", "[1].atoms.positions",
                                       "x",          "[",        ".",
                                       "[1].atoms.", "[0]['b']", "[-1]"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        pt_fails(PITH_E_STRUCTURE, s, pith_checkpoint_array(s, c, none[i]) != NULL);
        pt_says("in \"a.json\"");
    }
    pt_fails(PITH_E_STRUCTURE, s, pith_checkpoint_array(s, c, "[1].atoms") != NULL);
    pt_says("\"[1].atoms\" in \"a.json\" is not a leaf");
    pt_fails(PITH_E_ARG, s, pith_checkpoint_array(s, c, NULL) != NULL);
    pt_fails(PITH_E_ARG, s, pith_checkpoint_array(s, NULL, "") != NULL);
    pt_ok(s, pith_save(s, pith_f64(s, 7), "b.json", NULL)); /* the root is the leaf */
    c = pith_checkpoint_open(s, "b.json");
    cr_assert(pith_read_f64(s, pith_checkpoint_array(s, c, "")) == 7);
    end();
}

Test(part, may_be_rows_of_a_leaf) {
    begin();
    enum { ROWS = 200000 }; /* more than one piece */
    const pith_array *big = table(s, ROWS);
    for (int inlined = 0; inlined < 2; inlined++) {
        pt_ok(s, pith_save(s, make(big), "a.json",
                           &(pith_save_options){.inline_all = inlined}));
        const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
        static const int64_t parts[][2] = {{0, ROWS},     {0, 1},    {7, 3},
                                           {ROWS - 1, 1}, {ROWS, 0}, {1, ROWS - 1},
                                           {1000, 0}};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            const int64_t first = parts[i][0], count = parts[i][1];
            const pith_array *rows = pith_checkpoint_rows(s, c, "[2]", first, count);
            pt_ok(s, rows);
            const int64_t n = pith_array_spec(rows)->count;
            cr_assert(n == 3 * count && pith_array_spec(rows)->shape[1] == 3);
            int32_t *got = malloc((size_t)(n + 1) * 4);
            pt_ok(s, pith_read(s, rows, got, (size_t)n * 4));
            for (int64_t j = 0; j < n; j++)
                cr_assert(got[j] == 3 * first + j);
            free(got);
        }
        pt_fails(PITH_E_INDEX, s, pith_checkpoint_rows(s, c, "[2]", 1, ROWS) != NULL);
        pt_says("200000 rows from 1 on, of 200000");
        pt_fails(PITH_E_INDEX, s, pith_checkpoint_rows(s, c, "[2]", -1, 1) != NULL);
        pt_fails(PITH_E_INDEX, s, pith_checkpoint_rows(s, c, "[2]", 0, -1) != NULL);
        pt_fails(PITH_E_SHAPE, s, pith_checkpoint_rows(s, c, "[4]", 0, 1) != NULL);
    }
    end();
}

Test(part, is_read_alone_and_checked_alone) {
    begin();
    pt_ok(s, pith_save(s, make(table(s, 1000)), "a.json", NULL));
    const ct_file f = ct_read(ct_find(".safetensors"));
    f.bytes[f.n - 1] ^= 1; /* of the last leaf by place: [2] or [1].neighbour */
    ct_write(ct_find(".safetensors"), f.bytes, f.n);
    free(f.bytes);
    const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
    pt_ok(s, pith_checkpoint_array(s, c, "[1].atoms.position"));
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL) != NULL);
    char path[sizeof pt_error.path];
    memcpy(path, pt_error.path, sizeof path);
    pt_fails(PITH_E_FORMAT, s, pith_checkpoint_array(s, c, path) != NULL);
    pt_says("its checksum does not match");
    pt_ok(s, pith_checkpoint_rows(s, c, path, 0, 2));
    unlink(ct_find(".safetensors")); /* what is open stays readable */
    pt_ok(s, pith_checkpoint_array(s, c, "[1].atoms.position"));
    c = pith_checkpoint_open(s, "a.json");
    pt_fails(PITH_E_IO, s, pith_checkpoint_array(s, c, "[1].atoms.position") != NULL);
    cr_assert(pith_read_f64(s, pith_checkpoint_array(s, c, "[11]")) == 110);
    end();
}
