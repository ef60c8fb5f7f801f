/* options.initial and options.extra: a program that has more than the file, or less.
 * Common parts must fit, and every difference is reported. */
#include "checkpoint_test.h"

typedef struct Model {
    const pith_array *weight, *bias;
} Model;
PITH_NODE(Model, PITH_LEAF(weight, "f64[n]"), PITH_LEAF(bias, "f64[n]", .optional = true))

typedef struct Rule {
    double rate, decay;
} Rule;
PITH_NODE(Rule, PITH_STATIC(rate), PITH_STATIC(decay))

typedef struct Training {
    const Model *model, *average;
    const pith_array *loss;
    const void *any;
    int64_t width;
    const char *name;
    const Rule *rule;
} Training;
PITH_NODE(Training,
          PITH_CHILD(model, Model),
          PITH_CHILD(average, Model, .optional = true),
          PITH_LEAF(loss, "f64"),
          PITH_TREE(any),
          PITH_STATIC(width),
          PITH_STATIC(name),
          PITH_STATIC_RECORD(rule, Rule))

/* As Training, from an earlier day: files of it are called Training, and so are those of
 * Model and Rule. */
typedef struct Model_ {
    const pith_array *weight, *scale;
} Model_;
PITH_NODE(Model_, PITH_LEAF(weight, "f64[n]"), PITH_LEAF(scale, "f64[n]"))
typedef struct Rule_ {
    double rate;
    int64_t kind;
} Rule_;
PITH_NODE(Rule_, PITH_STATIC(rate), PITH_STATIC(kind))
typedef struct Training_ {
    const Model_ *model;
    const pith_array *momentum;
    const void *any;
    int64_t width, epoch;
    const Rule_ *rule;
} Training_;
PITH_NODE(Training_,
          PITH_CHILD(model, Model_),
          PITH_LEAF(momentum, "f64[m]"),
          PITH_TREE(any),
          PITH_STATIC(width),
          PITH_STATIC(epoch),
          PITH_STATIC_RECORD(rule, Rule_))

static pith_scope *open_all(pith_runtime **rt) {
    ct_begin();
    *rt = pt_open();
    return pith_scope_open(*rt);
}
static void close_all(pith_scope *s, pith_runtime *rt) {
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

static const Model_ *old_model(pith_scope *s, double value) {
    const Model_ model = {pith_full(s, PITH_F64, PITH_SHAPE(200), value),
                          pith_zeros(s, PITH_F64, PITH_SHAPE(200))};
    return pith_freeze(s, Model_, &model);
}

/* Two models of the file, one of them in a list. */
static void save_old(pith_scope *s) {
    const Rule_ rule = {0.5, 3};
    const Training_ old = {.model = old_model(s, 1),
                           .momentum = pith_ones(s, PITH_F64, PITH_SHAPE(5000)),
                           .any = pith_list_make(s, PITH_ITEMS(old_model(s, 2))),
                           .width = 9,
                           .epoch = 4,
                           .rule = pith_freeze(s, Rule_, &rule)};
    pt_ok(s, pith_save(s, pith_freeze(s, Training_, &old), "a.json", NULL));
    static const char *const names[] = {"Training", "Model", "Rule"};
    for (int i = 0; i < PITHP_COUNT(names); i++) {
        char from[40], to[40];
        snprintf(from, sizeof from, "\"name\":\"%s_\"", names[i]);
        snprintf(to, sizeof to, "\"name\":\"%s\"", names[i]);
        ct_replace("a.json", from, to);
    }
}

static const Training *make_initial(pith_scope *s, int64_t n) {
    const Model model = {pith_full(s, PITH_F64, PITH_SHAPE(n), -1),
                         pith_full(s, PITH_F64, PITH_SHAPE(n), -2)};
    const Rule rule = {-3, -4};
    const Training initial = {
        .model = pith_freeze(s, Model, &model),
        .average = pith_freeze(s, Model, &model),
        .loss = pith_f64(s, -5),
        .any = pith_list_make(s, PITH_ITEMS(pith_freeze(s, Model, &model))),
        .width = -6,
        .name = "initial",
        .rule = pith_freeze(s, Rule, &rule)};
    return pith_freeze(s, Training, &initial);
}

static char told[4000];
static void remember(const char *path, const char *text, void *closure) {
    int *count = closure;
    ++*count;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s: %s\n", path, text);
}
static bool was_told(const char *line) {
    return strstr(told, line) != NULL;
}

static double first(pith_scope *s, const pith_array *a) {
    double x[200] = {0};
    cr_assert(pith_read(s, a, x, pith_array_spec(a)->bytes), "%s", pith_message(s));
    return x[0];
}

Test(subset, takes_from_the_initial_tree_what_the_file_lacks) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    int count = 0;
    save_old(s);
    pith_scope *inner = pith_scope_open_in(s);
    const pith_load_options options = {.initial = make_initial(s, 200),
                                       .extra = true,
                                       .difference = remember,
                                       .closure = &count};
    const Training *t = pith_load_any(inner, Training_pith_type(), "a.json", &options);
    pt_ok(inner, pith_is(Training, t));
    const Model *listed = pith_child(t->any, 0);
    cr_assert(first(s, t->model->weight) == 1 && first(s, t->model->bias) == -2);
    cr_assert(first(s, listed->weight) == 2 && first(s, listed->bias) == -2);
    cr_assert(first(s, t->average->weight) == -1 && first(s, t->loss) == -5);
    cr_assert(t->width == 9 && strcmp(t->name, "initial") == 0);
    cr_assert(t->rule->rate == 0.5 && t->rule->decay == -4);
    cr_assert(t->loss == ((const Training *)options.initial)->loss, "shared");
    cr_assert(count == 11, "%d: %s", count, told);
    static const char *const lines[] = {
        ".average: not in the file: taken from the initial tree\n",
        ".loss: not in the file",
        ".name: not in the file",
        ".model.bias: not in the file",
        ".any[0].bias: not in the file",
        ".rule.decay: not in the file",
        ".momentum: left out: in the file, but no field of Training\n",
        ".epoch: left out: in the file, but no static of Training\n",
        ".model.scale: left out",
        ".any[0].scale: left out",
        ".rule.kind: left out"};
    for (int i = 0; i < PITHP_COUNT(lines); i++)
        cr_assert(was_told(lines[i]), "%s is not in\n%s", lines[i], told);
    pith_scope_close(inner);
    close_all(s, rt);
}

Test(subset, is_strict_in_what_the_options_do_not_name) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    int count = 0;
    save_old(s);
    const Training *initial = make_initial(s, 200);
    const pith_load_options extra = {
        .extra = true, .difference = remember, .closure = &count};
    pt_fails(PITH_E_STRUCTURE, s,
             pith_load_any(s, Training_pith_type(), "a.json", &extra));
    pt_says("missing: the file has no such field");
    pt_says("(6 differences)");
    cr_assert(count == 11 && was_told(".momentum: left out"), "%d: %s", count, told);
    const pith_load_options missing = {.initial = initial};
    pt_fails(PITH_E_STRUCTURE, s,
             pith_load_any(s, Training_pith_type(), "a.json", &missing));
    pt_says("extra: in the file, but no field of Training");
    pt_says("(5 differences)");
    /* what both have must fit: leaves of a record agree on n */
    const pith_load_options other = {.initial = make_initial(s, 100), .extra = true};
    pt_fails(PITH_E_SHAPE, s, pith_load_any(s, Training_pith_type(), "a.json", &other));
    cr_assert(strstr(pt_error.message, ".bias"), "%s", pt_error.message);
    const pith_load_options wrong = {.initial = initial->model};
    pt_fails(PITH_E_TYPE, s, pith_load_any(s, Training_pith_type(), "a.json", &wrong));
    pt_says("pith_load: initial: expected a record of Training");
    const pith_load_options nil = {.initial = pith_initial_any(Training_pith_type())};
    pt_fails(PITH_E_ARG, s, pith_load_any(s, Training_pith_type(), "a.json", &nil));
    const pith_load_options none = {.initial = told};
    pt_fails(PITH_E_ARG, s, pith_load_any(s, Training_pith_type(), "a.json", &none));
    close_all(s, rt);
}

/* What is left out is not read: its sidecar may be gone or damaged. */
Test(subset, reads_nothing_of_what_is_left_out) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const Training *initial = make_initial(s, 200);
    save_old(s);
    unlink(ct_find(".safetensors"));
    const pith_load_options options = {
        .at = ".rule", .initial = initial->rule, .extra = true};
    pt_fails(PITH_E_STRUCTURE, s,
             pith_load_any(s, Rule_pith_type(), "a.json",
                           &options)); /* a static is no part of its own */
    const pith_load_options whole = {.initial = initial, .extra = true};
    pt_fails(PITH_E_IO, s, pith_load_any(s, Training_pith_type(), "a.json", &whole));
    pt_says("it is not in the folder of the document");
    const pith_load_options moved = {
        .initial = initial,
        .extra = true,
        .renames = PITH_RENAMES({".model", ".old"}, {".any", ".older"})};
    const Training *t = pith_load_any(s, Training_pith_type(), "a.json", &moved);
    pt_ok(s, t->width == 9 && first(s, t->model->weight) == -1);
    close_all(s, rt);
}

/* Absent children, and records that only the initial tree has. */
Test(subset, knows_absent_children) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    Training some = *make_initial(s, 3);
    some.average = NULL;
    const Training *initial = pith_freeze(s, Training, &some);
    save_old(s);
    const pith_load_options options = {.initial = initial, .extra = true};
    pt_fails(PITH_E_SHAPE, s, pith_load_any(s, Training_pith_type(), "a.json", &options));
    some = *make_initial(s, 200);
    some.average = NULL;
    const pith_load_options good = {.initial = pith_freeze(s, Training, &some),
                                    .extra = true};
    const Training *t = pith_load_any(s, Training_pith_type(), "a.json", &good);
    pt_ok(s, pith_is(Training, t) && !t->average);
    close_all(s, rt);
}

Test(subset, leaves_a_checkpoint_that_fits_as_it_is) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const Training *saved = make_initial(s, 50);
    int count = 0;
    pt_ok(s, pith_save(s, saved, "a.json", NULL));
    const pith_load_options options = {.initial = make_initial(s, 7),
                                       .extra = true,
                                       .difference = remember,
                                       .closure = &count};
    pt_ok(s, ct_same_bits(s, saved,
                          pith_load_any(s, Training_pith_type(), "a.json", &options)));
    cr_assert(count == 0);
    close_all(s, rt);
}

/* ---- Containers ---- */

static const void *make_layers(pith_scope *s, int count, const char *second, double x) {
    const char *const keys[] = {"a", second};
    const void *items[16];
    const void *values[] = {pith_f64(s, x),
                            pith_list_make(s, PITH_ITEMS(pith_f64(s, x)))};
    for (int i = 0; i < count; i++)
        items[i] = pith_dict_make(s, second ? 2 : 1, keys, values);
    return pith_list_make(s, count, items);
}

Test(subset, fills_in_keys_and_counts_items) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    int count = 0;
    pt_ok(s, pith_save(s, make_layers(s, 12, NULL, 1), "a.json", NULL));
    const pith_load_options longer = {.initial = make_layers(s, 16, "b", 2)};
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, NULL, "a.json", &longer));
    cr_assert_str_eq(pt_error.path, "");
    pt_says("expected 16 items, as in the initial tree, got 12");
    const pith_load_options same = {
        .initial = make_layers(s, 12, "b", 2), .difference = remember, .closure = &count};
    const void *t = pith_load_any(s, NULL, "a.json", &same);
    pt_ok(s, t != NULL);
    for (int i = 0; i < 12; i++) {
        const void *dict = pith_child(t, i), *list = pith_dict_get(dict, "b");
        cr_assert(first(s, pith_dict_get(dict, "a")) == 1);
        cr_assert(first(s, pith_child(list, 0)) == 2);
    }
    cr_assert(count == 12 && was_told("[11]['b']: not in the file"), "%s", told);
    /* a key that only the file has is data, and a node of another kind is taken as it is
     */
    pt_ok(s, pith_save(s, make_layers(s, 2, "c", 1), "a.json", NULL));
    const pith_load_options other = {.initial = make_layers(s, 2, "b", 2), .extra = true};
    t = pith_load_any(s, NULL, "a.json", &other);
    pt_ok(s, pith_child_count(pith_child(t, 0)) == 3);
    const pith_load_options none = {.initial = pith_none_make(s)};
    pt_ok(s, pith_child_count(pith_load_any(s, NULL, "a.json", &none)) == 2);
    close_all(s, rt);
}
