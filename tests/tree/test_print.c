/* Drawings of trees, as a person sees them. */
#include "comma_test.h"
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

static void draws(const void *tree, const pith_print_options *options, const char *text) {
    const char *drawn = pith_tree_text(s, tree, options);
    pt_ok(s, drawn);
    cr_assert(strcmp(drawn, text) == 0, "expected\n%sgot\n%s", text, drawn);
}

typedef struct {
    double x, y;
} Cell;
typedef enum { FCC, BCC } Lattice;
static const char *const lattices[] = {"fcc", "bcc", NULL};
typedef struct {
    int64_t order;
    double weight;
} Rule;
PITH_NODE(Rule, PITH_STATIC(order), PITH_STATIC(weight))
typedef struct {
    Cell box;
    const char *title, *note;
    bool periodic;
    int lattice;
    pith_dtype real;
    const Rule *rule;
} Setup;
PITH_NODE(Setup,
          PITH_STATIC_STRUCT(box, x, y),
          PITH_STATIC(title, .doc = "what it is"),
          PITH_STATIC(note),
          PITH_STATIC(periodic),
          PITH_STATIC_ENUM(lattice, lattices),
          PITH_STATIC_DTYPE(real),
          PITH_STATIC_RECORD(rule, Rule))

Test(print, a_record) {
    open_all();
    draws(pt_sim(s, 4, 8, 1), NULL,
          "Sim  4 leaves, 416 B\n"
          "├─ .max_neighbour  = 8\n"
          "├─ .cutoff         = 2.5  sigma\n"
          "├─ .atoms          Atoms\n"
          "│  ├─ .position    f64[4,3]   96 B  sigma\n"
          "│  ├─ .velocity    f64[4,3]   96 B\n"
          "│  └─ .force       f64[4,3]   96 B\n"
          "└─ .neighbour      i32[4,8]  128 B\n");
    close_all();
}

Test(print, statics_of_every_kind) {
    open_all();
    const Rule *rule = pith_freeze(s, Rule, &(Rule){4, 0.1});
    const Setup *setup = pith_freeze(
        s, Setup,
        &(Setup){{10, 1.0 / 3}, "it's\na melt", NULL, true, BCC, PITH_F32, rule});
    draws(setup, &(pith_print_options){.docs = true},
          "Setup  0 leaves, 0 B\n"
          "├─ .box.x     = 10\n"
          "├─ .box.y     = 0.3333333333333333\n"
          "├─ .title     = 'it\\'s\\na melt'  (what it is)\n"
          "├─ .note      = NULL\n"
          "├─ .periodic  = true\n"
          "├─ .lattice   = bcc\n"
          "├─ .real      = f32\n"
          "└─ .rule      = Rule{order=4, weight=0.1}\n");
    close_all();
}

Test(print, containers_and_what_is_not_there) {
    open_all();
    const pith_array *x = pt_array(s, PITH_SHAPE(2), 1);
    static const char *const keys[] = {"it's", "\n"};
    const void *items[] = {pith_list_make(s, 0, NULL), pith_tuple_make(s, PITH_ITEMS(x))};
    const pith_dict *dict = pith_dict_make(s, 2, keys, items);
    const Part *part = pith_freeze(
        s, Part,
        &(Part){.any = pith_list_make(s, PITH_ITEMS(dict, pith_none_make(s), x))});
    draws(part, NULL,
          "Part  2 leaves, 32 B\n"
          "├─ .number          = 0\n"
          "├─ .leaf            absent\n"
          "└─ .any             list of 3\n"
          "   ├─ [0]           dict of 2\n"
          "   │  ├─ ['\\n']     tuple of 1\n"
          "   │  │  └─ [0]     f64[2]  16 B\n"
          "   │  └─ ['it\\'s']  list of 0\n"
          "   ├─ [1]           none\n"
          "   └─ [2]           f64[2]  16 B\n");
    draws(x, NULL, "f64[2]  16 B\n");
    draws(pith_none_make(s), NULL, "none  0 leaves, 0 B\n");
    close_all();
}

Test(print, values_and_docs) {
    open_all();
    const Atoms *atoms = pt_atoms(s, 4, 1);
    draws(atoms, &(pith_print_options){.values = true, .docs = true},
          "Atoms  3 leaves, 288 B\n"
          "├─ .position  f64[4,3]  96 B  1 2 3 4 5 6 ...  sigma  (where atoms are)\n"
          "├─ .velocity  f64[4,3]  96 B  101 102 103 104 105 106 ...\n"
          "└─ .force     f64[4,3]  96 B  201 202 203 204 205 206 ...\n");
    const int64_t big[] = {INT64_MIN, -1};
    const uint64_t most[] = {UINT64_MAX};
    const uint16_t halves[] = {0x3C00, 0xBE00, 0x7C00};
    const uint8_t flags[] = {1, 0};
    const pith_list *list =
        pith_list_make(s, PITH_ITEMS(pith_array_copy(s, PITH_I64, PITH_SHAPE(2), big),
                                     pith_array_copy(s, PITH_U64, PITH_SHAPE(1), most),
                                     pith_array_copy(s, PITH_F16, PITH_SHAPE(3), halves),
                                     pith_array_copy(s, PITH_BOOL, PITH_SHAPE(2), flags),
                                     pith_zeros(s, PITH_F32, PITH_SHAPE(0))));
    draws(list, &(pith_print_options){.values = true},
          "list of 5  5 leaves, 32 B\n"
          "├─ [0]  i64[2]   16 B  -9223372036854775808 -1\n"
          "├─ [1]  u64[1]    8 B  18446744073709551615\n"
          "├─ [2]  f16[3]    6 B  1 -1.5 inf\n"
          "├─ [3]  bool[2]   2 B  true false\n"
          "└─ [4]  f32[0]    0 B\n");
    close_all();
}

static int lines_of(const char *text) {
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

Test(print, cuts_long_containers_in_the_middle) {
    open_all();
    const void *items[1000];
    for (int i = 0; i < 1000; i++)
        items[i] = pith_f64(s, i);
    const pith_list *list = pith_list_make(s, 1000, items);
    draws(list, &(pith_print_options){.most_lines = 6},
          "list of 1000  1000 leaves, 7.81 KiB\n"
          "├─ [0]    f64[]  8 B\n"
          "├─ [1]    f64[]  8 B\n"
          "├─ ... 996 more\n"
          "├─ [998]  f64[]  8 B\n"
          "└─ [999]  f64[]  8 B\n");
    cr_assert(lines_of(pith_tree_text(s, list, NULL)) <= 60);
    cr_assert(lines_of(pith_tree_text(s, list,
                                      &(pith_print_options){.most_lines = -1})) == 1001);
    /* one item more than fits is not cut for one line */
    const pith_list *five = pith_list_make(s, 5, items);
    cr_assert(lines_of(pith_tree_text(s, five, &(pith_print_options){.most_lines = 6})) ==
              6);
    close_all();
}

Test(print, cuts_what_is_deep) {
    open_all();
    const Chain *chain = pt_chain(s, 1000);
    draws(chain, &(pith_print_options){.most_lines = 7},
          "Chain  1000 leaves, 7.81 KiB\n"
          "├─ .leaf        f64[]  8 B\n"
          "└─ .next        Chain\n"
          "   ├─ .leaf     f64[]  8 B\n"
          "   └─ .next     Chain\n"
          "      ├─ .leaf  f64[]  8 B\n"
          "      └─ .next  Chain ...\n");
    draws(chain, &(pith_print_options){.most_lines = 2},
          "Chain  1000 leaves, 7.81 KiB\n"
          "├─ .leaf  f64[]  8 B\n"
          "...\n");
    close_all();
}

Test(print, does_not_depend_on_the_decimal_point_of_the_locale) {
    if (!pt_use_comma())
        cr_skip("localedef made no locale");
    open_all();
    const double x[192] = {0.5, -2.25};
    draws(pith_array_copy(s, PITH_F64, PITH_SHAPE(192), x),
          &(pith_print_options){.values = true},
          "f64[192]  1.50 KiB  0.5 -2.25 0 0 0 0 ...\n");
    draws(pith_freeze(s, Rule, &(Rule){.weight = 0.1}), NULL,
          "Rule  0 leaves, 0 B\n├─ .order   = 0\n└─ .weight  = 0.1\n");
    close_all();
}

Test(print, writes_to_a_file_and_reports_errors) {
    open_all();
    char buffer[256] = "";
    FILE *file = fmemopen(buffer, sizeof buffer, "w");
    pith_print(s, pith_f64(s, 1), file, NULL);
    fclose(file);
    pt_ok(s);
    cr_assert_str_eq(buffer, "f64[]  8 B\n");
    pt_fails(PITH_E_ARG, s, pith_print(s, NULL, stderr, NULL));
    pt_fails(PITH_E_ARG, s, pith_tree_text(s, &rt, NULL));
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        pt_fails(PITH_E_IO, s, pith_print(s, pith_f64(s, 1), full, NULL));
        fclose(full);
    }
    close_all();
}
