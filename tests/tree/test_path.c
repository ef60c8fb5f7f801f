/* Paths: printing and parsing, and what errors say of a step that fails. */
#include "tree_types.h"

static pith_runtime *rt;
static pith_scope *s;

static void open_all(void) {
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void close_all(void) {
    pith_scope_close(s);
    pt_close(rt);
}

static size_t encode(uint32_t c, char *to) {
    size_t n = 0;
    if (c < 0x80) {
        to[n++] = (char)c;
    } else {
        if (c >= 0x10000) {
            to[n++] = (char)(0xF0 | c >> 18);
            to[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        } else if (c >= 0x800) {
            to[n++] = (char)(0xE0 | c >> 12);
        }
        if (c < 0x800)
            to[n++] = (char)(0xC0 | c >> 6);
        else
            to[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        to[n++] = (char)(0x80 | (c & 0x3F));
    }
    to[n] = 0;
    return n;
}

/* Every code point as a key: its path is printed, parsed, and finds it. */
Test(path, round_trips_every_code_point) {
    open_all();
    enum { BLOCK = 2048 };
    static char texts[BLOCK][8];
    static const char *keys[BLOCK];
    static const void *items[BLOCK];
    for (uint32_t first = 0; first < 0x110000; first += BLOCK) {
        pith_scope *inner = pith_scope_open_in(s);
        const pith_array *leaf = pith_f64(inner, 1);
        int count = 0;
        for (uint32_t c = first; c < first + BLOCK; c++) {
            if (c == 0 || (c >= 0xD800 && c < 0xE000))
                continue;
            encode(c, texts[count]);
            keys[count] = texts[count];
            items[count++] = leaf;
        }
        const pith_dict *dict = pith_dict_make(inner, count, keys, items);
        const char *const *paths = pith_tree_paths(inner, dict);
        pt_ok(inner, paths);
        for (int i = 0; i < count; i++) {
            const char *again = pith_path_normal(inner, paths[i]);
            cr_assert(again && strcmp(again, paths[i]) == 0, "%s", paths[i]);
            cr_assert(pith_tree_at(inner, dict, paths[i]) == leaf, "%s", paths[i]);
            for (const char *p = paths[i]; *p; p++)
                cr_assert((unsigned char)*p >= ' ' && *p != 0x7f);
        }
        pt_ok(inner);
        pith_scope_close(inner);
    }
    close_all();
}

Test(path, normalises) {
    open_all();
    static const char *const same[][2] = {
        {"", ""},
        {".a[0]['b'].c_1", ".a[0]['b'].c_1"},
        {"[\"it's\"]", "['it\\'s']"},
        {"['\\u0041\\ud83d\\ude00']", "['A\xf0\x9f\x98\x80']"},
        {"['\\t\\\"']", "['\\t\"']"},
        {"[007]", "[7]"},
        {"['a\xc2\x9f"
         "b']",
         "['a\\u009fb']"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        const char *normal = pith_path_normal(s, same[i][0]);
        pt_ok(s, normal);
        cr_assert(strcmp(normal, same[i][1]) == 0, "%s: %s", same[i][0], normal);
    }
    close_all();
}

Test(path, says_where_it_is_malformed) {
    open_all();
    static const char *const bad[][2] = {
        {"a", "expected '.' or '[' at byte 0"},
        {".", "expected a field's name after '.' at byte 1"},
        {".1", "expected a field's name"},
        {".a b", "expected '.' or '[' at byte 2"},
        {"[", "expected an index or a quoted key after '[' at byte 1"},
        {"[-1]", "expected an index or a quoted key"},
        {"[1", "expected ']' after the index at byte 2"},
        {"[1x]", "expected ']' after the index"},
        {"[99999999999999999999]", "the index is too large"},
        {"['a", "quote of the key is not closed"},
        {"['a'", "expected ']' after the key at byte 4"},
        {"['\\q']", "unknown escape in the key at byte 2"},
        {"['\\u00']", "unknown escape"},
        {"['\\u0000']", "unknown escape"},
        {"['\\ud800']", "unknown escape"},
        {"['\\ud800\\u0041']", "unknown escape"},
        {"['\xff']", "the key is not UTF-8 at byte 2"},
        {"['\xc0\x80']", "the key is not UTF-8"},
        {"['\xed\xa0\x80']", "the key is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pt_fails(PITH_E_PATH, s, pith_path_normal(s, bad[i][0]));
        pt_says(bad[i][1]);
    }
    pt_fails(PITH_E_ARG, s, pith_path_normal(s, NULL));
    close_all();
}

Test(path, finds_nodes) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    const pith_list *list = pith_list_make(s, PITH_ITEMS(sim, sim->atoms));
    const Part *part = pith_freeze(s, Part, &(Part){.any = list});
    cr_assert(pith_tree_at(s, part, "") == part);
    cr_assert(pith_tree_at(s, part, ".any") == list);
    cr_assert(pith_tree_at(s, part, ".any[0]") == sim);
    cr_assert(pith_tree_at(s, part, ".any[0].atoms.velocity") == sim->atoms->velocity);
    cr_assert(pith_tree_at(s, part, ".any[1].force") == sim->atoms->force);
    cr_assert_null(pith_tree_at(s, part, ".leaf"), "absent is found, and is NULL");
    pt_ok(s);
    close_all();
}

Test(path, names_the_step_that_fails) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, sim, ".atoms.positon"));
    cr_assert_str_eq(pt_error.path, ".atoms.positon");
    pt_says(
        ".atoms.positon: Atoms has no field 'positon' (has position, velocity, force)");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, sim, ".cutoff"));
    pt_says("'cutoff' is a static of Sim, not a node");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, sim, ".neighbour[3]"));
    pt_says(".neighbour[3]: i32[4,8] has no children");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, sim, "[0].x"));
    cr_assert_str_eq(pt_error.path, "[0]");
    pt_says("Sim has no items");

    const pith_array *x = sim->neighbour;
    const pith_list *list = pith_list_make(s, PITH_ITEMS(x, x, x, x));
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, list, "[4]"));
    pt_says("a list of 4 has no item 4");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, list, "['a']"));
    pt_says("a list of 4 has no keys");
    static const char *const keys[] = {"a", "b"};
    const pith_dict *dict = pith_dict_make(s, 2, keys, (const void *const[]){x, list});
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, dict, "['b'][0]['c']"));
    cr_assert_str_eq(pt_error.path, "['b'][0]['c']");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, dict, "['c']"));
    pt_says("a dict of 2 has no key 'c' (has 'a', 'b')");

    const Part *part = pith_freeze(s, Part, &(Part){.number = 1});
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, part, ".any.x"));
    pt_says(".any.x: nothing has no children");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, part, ".any."));
    pt_says("malformed path");
    close_all();
}

Test(path, of_a_leaf) {
    open_all();
    const Sim *sim = pt_sim(s, 4, 8, 0);
    cr_assert_str_eq(pith_tree_path(s, sim, 0), ".atoms.position");
    cr_assert_str_eq(pith_tree_path(s, sim, 3), ".neighbour");
    cr_assert_str_eq(pith_tree_path(s, sim->neighbour, 0), "");
    pt_fails(PITH_E_INDEX, s, pith_tree_path(s, sim, 4));
    pt_says("no leaf 4 in a tree of 4");
    pt_fails(PITH_E_INDEX, s, pith_tree_path(s, sim, -1));
    pt_fails(PITH_E_ARG, s, pith_tree_path(s, NULL, 0));
    pt_fails(PITH_E_ARG, s, pith_tree_paths(s, NULL));
    close_all();
}
