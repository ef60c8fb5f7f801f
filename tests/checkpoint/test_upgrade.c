/* PITH_UPGRADE: records of older versions come to the program's version by version, and
 * what cannot be brought there is refused with its path and both versions. */
#include "checkpoint_test.h"

/* ---- As files of version 1 have them; the names in them lose their last letter ---- */

typedef struct Rule1 {
    double rate;
} Rule1;
PITH_NODE(Rule1, PITH_STATIC(rate))

typedef struct Grain1 {
    const pith_array *size;
} Grain1;
PITH_NODE(Grain1, PITH_LEAF(size, "f64[m]"))

typedef struct World1 {
    const Grain1 *grain;
    const pith_array *pos, *momentum, *mass;
    const void *any;
    double dt;
    const char *mode;
    bool closed;
    const Rule1 *rule;
} World1;
PITH_NODE(World1,
          PITH_CHILD(grain, Grain1),
          PITH_LEAF(pos, "f64[n]", .unit = "nm"),
          PITH_LEAF(momentum, "f64[n]"),
          PITH_LEAF(mass, "f64[n]"),
          PITH_TREE(any),
          PITH_STATIC(dt),
          PITH_STATIC(mode),
          PITH_STATIC(closed),
          PITH_STATIC_RECORD(rule, Rule1))

/* ---- As the program has them ---- */

typedef struct Rule {
    double rate, decay;
} Rule;
static void rule_1_to_2(pith_scope *s, pith_upgrade *u) {
    pith_upgrade_set_f64(s, u, ".decay", pith_upgrade_f64(s, u, ".rate") / 4);
}
PITH_NODE(Rule,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, rule_1_to_2),
          PITH_STATIC(rate),
          PITH_STATIC(decay))

typedef struct Grain {
    const pith_array *size, *mass;
    int64_t count;
} Grain;
static void grain_1_to_2(pith_scope *s, pith_upgrade *u) {
    const pith_spec *size = pith_upgrade_spec(s, u, ".size");
    pith_upgrade_set_i64(s, u, ".count", size ? size->shape[0] : -1);
}
PITH_NODE(Grain,
          PITH_UPGRADE(1, grain_1_to_2),
          PITH_TYPE_VERSION(2),
          PITH_LEAF(size, "f64[m]"),
          PITH_LEAF(mass, "f64[n]", .optional = true),
          PITH_STATIC(count))

static pith_upgrade *kept;
static char order[64];
static const char *trouble; /* what the hook that says so does wrong */

typedef struct World {
    const Grain *grain, *spare;
    const pith_array *position, *velocity, *energy;
    const void *any;
    double timestep;
    Phase phase;
    pith_dtype real;
    bool open;
    const char *comment;
    const Rule *rule, *second;
} World;

static void world_1_to_2(pith_scope *s, pith_upgrade *u) {
    strcat(order, "1");
    kept = u;
    pith_upgrade_rename(s, u, ".pos", ".position");
    pith_upgrade_set_f64(s, u, ".timestep", 1e-3 * pith_upgrade_f64(s, u, ".dt"));
    pith_upgrade_remove(s, u, ".dt");
    pith_upgrade_set_bool(s, u, ".open", !pith_upgrade_bool(s, u, ".closed"));
    pith_upgrade_remove(s, u, ".closed");
    if (trouble && strcmp(trouble, "fail") == 0)
        pith_fail(s, PITH_E_CHECK, ".mass", "cannot be %d", 7);
}

static void world_2_to_3(pith_scope *s, pith_upgrade *u) {
    strcat(order, "2");
    const pith_array *p = pith_upgrade_array(s, u, ".momentum");
    const pith_array *m = pith_upgrade_array(s, u, ".mass");
    const Rule second = {3, 4};
    pith_upgrade_set(s, u, ".velocity", pith_div(s, p, m));
    pith_upgrade_remove(s, u, ".momentum");
    pith_upgrade_rename(s, u, ".mass", ".grain.mass"); /* the child is still version 1 */
    pith_upgrade_set_enum(s, u, ".phase", pith_upgrade_text(s, u, ".mode"));
    pith_upgrade_set_text(s, u, ".comment", NULL);
    pith_upgrade_set_text(s, u, ".comment", pith_upgrade_text(s, u, ".mode"));
    pith_upgrade_remove(s, u, ".mode");
    pith_upgrade_set_dtype(s, u, ".real", PITH_F32);
    pith_upgrade_set(s, u, ".spare", NULL);
    pith_upgrade_set(s, u, ".energy", pith_f64(s, 2));
    pith_upgrade_set_record(s, u, ".second", pith_freeze(s, Rule, &second));
    pith_upgrade_set(s, u, ".any", pith_list_make(s, PITH_ITEMS(p, pith_none_make(s))));
    if (pith_upgrade_has(s, u, ".dt") || !pith_upgrade_has(s, u, ".timestep") ||
        pith_upgrade_has(s, u, ".spare"))
        pith_fail(s, PITH_E_CHECK, NULL, "the first hook is not to be seen");
}

PITH_NODE(World,
          PITH_TYPE_VERSION(3),
          PITH_UPGRADE(2, world_2_to_3),
          PITH_UPGRADE(1, world_1_to_2),
          PITH_CHILD(grain, Grain),
          PITH_CHILD(spare, Grain, .optional = true),
          PITH_LEAF(position, "f64[n]", .unit = "nm"),
          PITH_LEAF(velocity, "f64[n]"),
          PITH_LEAF(energy, "f64"),
          PITH_TREE(any),
          PITH_STATIC(timestep),
          PITH_STATIC_ENUM(phase, phase_names),
          PITH_STATIC_DTYPE(real),
          PITH_STATIC(open),
          PITH_STATIC(comment),
          PITH_STATIC_RECORD(rule, Rule),
          PITH_STATIC_RECORD(second, Rule))

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

/* Changes what the file says of a type's version. */
static void set_version(const char *type, int from, int to) {
    char old[80], now[80];
    snprintf(old, sizeof old, "\"name\":\"%s\",\"version\":%d", type, from);
    snprintf(now, sizeof now, "\"name\":\"%s\",\"version\":%d", type, to);
    ct_replace("a.json", old, now);
}

static const World1 *make_old(pith_scope *s) {
    double p[300], m[300];
    for (int i = 0; i < 300; i++)
        p[i] = i, m[i] = 1 << i % 3;
    const Rule1 rule = {8};
    const Grain1 grain = {pith_ones(s, PITH_F64, PITH_SHAPE(5))};
    const World1 old = {.grain = pith_freeze(s, Grain1, &grain),
                        .pos = pith_arange(s, PITH_F64, 300),
                        .momentum = pith_array_copy(s, PITH_F64, PITH_SHAPE(300), p),
                        .mass = pith_array_copy(s, PITH_F64, PITH_SHAPE(300), m),
                        .any = pith_none_make(s),
                        .dt = 500,
                        .mode = "gas",
                        .closed = true,
                        .rule = pith_freeze(s, Rule1, &rule)};
    return pith_freeze(s, World1, &old);
}

static void save_tree(pith_scope *s, const void *tree) {
    static const char *const names[] = {"World", "Grain", "Rule"};
    pt_ok(s, pith_save(s, tree, "a.json", NULL));
    for (int i = 0; i < PITHP_COUNT(names); i++) {
        char from[40], to[40];
        snprintf(from, sizeof from, "\"name\":\"%s1\"", names[i]);
        snprintf(to, sizeof to, "\"name\":\"%s\"", names[i]);
        ct_replace("a.json", from, to);
    }
    order[0] = 0;
    trouble = NULL;
}

Test(upgrade, runs_through_several_versions) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const World1 *old = make_old(s);
    double v[300], p[300], m[300];
    save_tree(s, old);
    const World *w = pith_load(s, World, "a.json");
    pt_ok(s, pith_is(World, w));
    cr_assert_str_eq(order, "12");
    cr_assert(w->timestep == 0.5 && !w->open && w->phase == PHASE_GAS);
    cr_assert(w->real == PITH_F32 && strcmp(w->comment, "gas") == 0 && !w->spare);
    cr_assert(w->rule->rate == 8 && w->rule->decay == 2, "static records too");
    cr_assert(w->second->rate == 3 && w->second->decay == 4);
    cr_assert(w->grain->count == 5 && ct_same_bits(s, w->grain->mass, old->mass));
    cr_assert(ct_same_bits(s, w->position, old->pos) && pith_read_f64(s, w->energy) == 2);
    cr_assert(ct_same_bits(s, pith_child(w->any, 0), old->momentum));
    pt_ok(s, pith_read(s, w->velocity, v, sizeof v) &&
                 pith_read(s, old->momentum, p, sizeof p) &&
                 pith_read(s, old->mass, m, sizeof m));
    for (int i = 0; i < 300; i++)
        cr_assert(v[i] == p[i] / m[i]);
    /* what was upgraded is a state like others */
    pt_ok(s, pith_save(s, w, "b.json", NULL));
    pt_ok(s, ct_same_bits(s, w, pith_load(s, World, "b.json")));
    cr_assert_str_eq(order, "12");
    close_all(s, rt);
}

Test(upgrade, reaches_every_record_of_any_tree) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const void *list = pith_list_make(
        s, PITH_ITEMS(make_old(s), pith_tuple_make(s, PITH_ITEMS(make_old(s)))));
    save_tree(s, list);
    (void)World_pith_type();
    const void *again = pith_load_any(s, NULL, "a.json", NULL);
    pt_ok(s, again != NULL);
    cr_assert_str_eq(order, "1212");
    const World *second = pith_child(pith_child(again, 1), 0);
    cr_assert(pith_is(World, second) && second->timestep == 0.5);
    close_all(s, rt);
}

Test(upgrade, works_with_the_options_of_loading) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_tree(s, make_old(s));
    ct_replace("a.json", "\"pos\"", "\"p\"");
    ct_replace("a.json", "\".pos\"", "\".p\"");
    const pith_load_options options = {.renames = PITH_RENAMES({".p", ".pos"}),
                                       .extra = true};
    pt_ok(s, pith_is(World, pith_load_any(s, World_pith_type(), "a.json", &options)));
    const pith_load_options part = {.at = ".grain"};
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, Grain_pith_type(), "a.json", &part));
    pt_says(".mass: missing"); /* which the record around it would have given */
    close_all(s, rt);
}

Test(upgrade, that_fails_names_the_record_and_both_versions) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const void *list = pith_list_make(s, PITH_ITEMS(make_old(s), make_old(s)));
    save_tree(s, list);
    (void)World_pith_type();
    trouble = "fail";
    pt_fails(PITH_E_CHECK, s, pith_load_any(s, NULL, "a.json", NULL));
    cr_assert_str_eq(pt_error.path, "[0].mass");
    pt_says(
        "upgrading World from version 1 to 2: cannot be 7; [1].mass: upgrading World");
    pt_says("(2 differences)");
    cr_assert(strcmp(order, "11") == 0, "the second hook does not see what failed");
    trouble = NULL;
    ct_replace("a.json", "\"dt\":[\"f64\",500.0]", "\"dt\":[\"i64\",500]");
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, NULL, "a.json", NULL));
    cr_assert_str_eq(pt_error.path, "[0].dt");
    pt_says("expected a static f64, got i64");
    pt_says("test_upgrade.c:");
    /* what a hook was given is nothing once it returned */
    pt_fails(PITH_E_ARG, s, pith_upgrade_remove(s, kept, ".x"));
    pt_says("expected the argument of the running upgrade hook");
    close_all(s, rt);
}

Test(upgrade, reads_sidecars_that_are_damaged_with_an_error) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_tree(s, make_old(s));
    const char *name = ct_find(".safetensors");
    const ct_file good = ct_read(name);
    for (size_t i = good.n - 7200; i < good.n; i += 8)
        good.bytes[i] ^= 1;
    ct_write(name, good.bytes, good.n);
    pt_fails(PITH_E_FORMAT, s, pith_load(s, World, "a.json"));
    pt_says("upgrading World from version 2 to 3: damaged in \"a.");
    free(good.bytes);
    close_all(s, rt);
}

Test(upgrade, is_refused_where_no_hook_leads_to_the_version) {
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    save_tree(s, make_old(s));
    set_version("World", 1, 4);
    pt_fails(PITH_E_TYPE, s, pith_load(s, World, "a.json"));
    pt_says("the file holds version 4 of World, this program knows it up to version 3");
    set_version("World", 4, 0);
    pt_fails(PITH_E_TYPE, s, pith_load(s, World, "a.json"));
    pt_says("expected version 3 of World, got version 0, and there is no upgrade from "
            "version 0");
    cr_assert(order[0] == 0);
    close_all(s, rt);
}

/* ---- Every call with names that are not there ---- */

typedef struct Odd {
    const pith_array *x;
    const void *list;
    double f;
} Odd;
static void (*odd_hook)(pith_scope *s, pith_upgrade *u);
static void odd_1_to_2(pith_scope *s, pith_upgrade *u) {
    odd_hook(s, u);
}
PITH_NODE(Odd,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, odd_1_to_2),
          PITH_LEAF(x, "f64"),
          PITH_TREE(list),
          PITH_STATIC(f))

#define HOOK(name, ...)                                                                  \
    static void name(pith_scope *s, pith_upgrade *u) {                                   \
        __VA_ARGS__;                                                                     \
    }
HOOK(no_array, pith_upgrade_array(s, u, ".y"))
HOOK(no_leaf, pith_upgrade_spec(s, u, ".list"))
HOOK(no_static, pith_upgrade_i64(s, u, ".x"))
HOOK(no_removal, pith_upgrade_remove(s, u, ".y"))
HOOK(no_root, pith_upgrade_remove(s, u, ""))
HOOK(no_item, pith_upgrade_remove(s, u, ".list[0]"))
HOOK(no_source, pith_upgrade_rename(s, u, ".y", ".z"))
HOOK(no_target, pith_upgrade_rename(s, u, ".x", ".f"))
HOOK(no_place, pith_upgrade_set_i64(s, u, ".list[1].x", 1))
HOOK(no_tree, pith_upgrade_set(s, u, ".x", "text"))
HOOK(no_record, pith_upgrade_set_record(s, u, ".r", pith_f64(s, 1)))
HOOK(no_path, pith_upgrade_set_text(s, u, ".x[", "a"))
HOOK(no_text, pith_upgrade_set_text(s, u, ".t", "\xff"))
HOOK(no_name, pith_upgrade_set_enum(s, u, ".t", NULL))
HOOK(no_dtype, pith_upgrade_set(s, u, ".x", pith_f32(s, 2)))
HOOK(left_over, pith_upgrade_set_i64(s, u, ".y", 1))

Test(upgrade, calls_that_cannot_be_done_fail_the_load) {
    static const struct {
        void (*hook)(pith_scope *s, pith_upgrade *u);
        pith_status code;
        const char *path, *says;
    } cases[] = {
        {no_array, PITH_E_STRUCTURE, "[0].y", "the file has no such node or static"},
        {no_leaf, PITH_E_STRUCTURE, "[0].list", "expected a leaf"},
        {no_static, PITH_E_STRUCTURE, "[0].x", "expected a static i64, got a node"},
        {no_removal, PITH_E_STRUCTURE, "[0].y", "the file has no such node or static"},
        {no_root, PITH_E_STRUCTURE, "[0]", "it is the record itself"},
        {no_item, PITH_E_STRUCTURE, "[0].list[0]", "items of lists and tuples"},
        {no_source, PITH_E_STRUCTURE, "[0].y", "the file has no such node or static"},
        {no_target, PITH_E_STRUCTURE, "[0].f", "the target exists already"},
        {no_place, PITH_E_STRUCTURE, "[0].list[1].x", "the parent node does not exist"},
        {no_tree, PITH_E_ARG, "[0]", "expected a tree"},
        {no_record, PITH_E_TYPE, "[0].r", "expected a record without leaves"},
        {no_path, PITH_E_PATH, "[0]", "malformed path"},
        {no_text, PITH_E_FORMAT, "[0].t", "the text is not UTF-8"},
        {no_name, PITH_E_ARG, "[0]", "path is NULL"},
        {no_dtype, PITH_E_DTYPE, "[0].x", "expected f64, got f32"},
        {left_over, PITH_E_STRUCTURE, "[0].y",
         "extra: in the file, but no static of Odd"},
    };
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const Odd odd = {pith_f64(s, 1), pith_list_make(s, PITH_ITEMS(pith_f64(s, 2))), 0.5};
    pt_ok(s, pith_save(s, pith_list_make(s, PITH_ITEMS(pith_freeze(s, Odd, &odd))),
                       "a.json", NULL));
    set_version("Odd", 2, 1);
    for (int i = 0; i < PITHP_COUNT(cases); i++) {
        odd_hook = cases[i].hook;
        pt_fails(cases[i].code, s, pith_load_any(s, NULL, "a.json", NULL));
        cr_assert(strstr(pt_error.message, cases[i].says) &&
                      strcmp(pt_error.path, cases[i].path) == 0,
                  "%d: %s", i, pt_error.message);
    }
    close_all(s, rt);
}

HOOK(refuses, pith_fail(s, PITH_E_CHECK, ".x", "is refused by %s", u ? "a hook" : ""))

/* A node that came to a deep place is named there, as far as that fits. */
Test(upgrade, that_fails_in_a_deep_place_is_named) {
    enum { DEPTH = 400 };
    static char to[4 * DEPTH + 40];
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const char *const one[] = {"a"}, *const two[] = {"chain", "odd"};
    const void *chain = pith_dict_make(s, 1, one, (const void *[]){pith_f64(s, 1)});
    strcpy(to, "['chain']");
    for (int i = 0; i < DEPTH; i++) {
        chain = pith_list_make(s, PITH_ITEMS(chain));
        strcat(to, "[0]");
    }
    strcat(to, "['odd']");
    const Odd odd = {pith_f64(s, 1), pith_none_make(s), 0.5};
    const void *items[] = {chain, pith_freeze(s, Odd, &odd)};
    pt_ok(s, pith_save(s, pith_dict_make(s, 2, two, items), "a.json", NULL));
    set_version("Odd", 2, 1);
    odd_hook = refuses;
    const pith_load_options options = {.renames = PITH_RENAMES({"['odd']", to})};
    pt_fails(PITH_E_CHECK, s, pith_load_any(s, NULL, "a.json", &options));
    pt_says("upgrading Odd from version 1 to 2: is refused by a hook");
    cr_assert(strlen(pt_error.path) < 512 && strstr(pt_error.path, "..."));
    close_all(s, rt);
}

/* ---- Names that types had ---- */

typedef struct Length {
    const char *unit;
} Length;
PITH_NODE(Length, PITH_FORMERLY("Metre"), PITH_STATIC(unit))
typedef struct Rod {
    const pith_array *x;
    const Length *length;
} Rod;
static void rod_1_to_2(pith_scope *s, pith_upgrade *u) {
    pith_upgrade_set(s, u, ".x", pith_neg(s, pith_upgrade_array(s, u, ".x")));
}
PITH_NODE(Rod,
          PITH_TYPE_VERSION(2),
          PITH_FORMERLY("Stick"),
          PITH_FORMERLY("Pole"),
          PITH_UPGRADE(1, rod_1_to_2),
          PITH_LEAF(x, "f64"),
          PITH_STATIC_RECORD(length, Length))
typedef struct Twin1 {
    double f;
} Twin1;
PITH_NODE(Twin1, PITH_FORMERLY("Twin"), PITH_STATIC(f))
typedef struct Twin2 {
    double f;
} Twin2;
PITH_NODE(Twin2, PITH_FORMERLY("Twin"), PITH_STATIC(f))

Test(upgrade, finds_types_by_names_that_they_had) {
    static const char *const names[] = {"Stick", "Pole"};
    pith_runtime *rt;
    pith_scope *s = open_all(&rt);
    const Length length = {"m"};
    const Rod rod = {pith_f64(s, 3), pith_freeze(s, Length, &length)};
    const void *list = pith_list_make(s, PITH_ITEMS(pith_freeze(s, Rod, &rod)));
    for (int i = 0; i < PITHP_COUNT(names); i++) {
        char to[64];
        pt_ok(s, pith_save(s, list, "a.json", NULL));
        snprintf(to, sizeof to, "\"name\":\"%s\",\"version\":1", names[i]);
        ct_replace("a.json", "\"name\":\"Rod\",\"version\":2", to);
        ct_replace("a.json", "\"name\":\"Length\"", "\"name\":\"Metre\"");
        const void *again = pith_load_any(s, NULL, "a.json", NULL);
        pt_ok(s, again != NULL);
        const Rod *old = pith_child(again, 0);
        cr_assert(pith_is(Rod, old) && pith_read_f64(s, old->x) == -3);
        cr_assert_str_eq(old->length->unit, "m");
        /* names of the file come first */
        const pith_load_options options = {
            .at = "[0]", .renames = PITH_RENAMES({"Metre", "Length"}, {names[i], "Rod"})};
        pt_ok(s, pith_is(Rod, pith_load_any(s, Rod_pith_type(), "a.json", &options)));
    }
    const Twin1 twin = {1};
    (void)Twin2_pith_type();
    pt_ok(s, pith_save(s, pith_freeze(s, Twin1, &twin), "a.json", NULL));
    ct_replace("a.json", "\"name\":\"Twin1\"", "\"name\":\"Twin\"");
    pt_fails(PITH_E_TYPE, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("the record type Twin is unknown to the program");
    close_all(s, rt);
}

/* ---- Descriptions ---- */

typedef struct Same {
    double f;
} Same;
PITH_NODE(Same, PITH_FORMERLY("Same"), PITH_STATIC(f))

typedef struct Twice {
    double f;
} Twice;
PITH_NODE(Twice,
          PITH_TYPE_VERSION(2),
          PITH_UPGRADE(1, odd_1_to_2),
          PITH_UPGRADE(1, rule_1_to_2),
          PITH_STATIC(f))
typedef struct Beyond {
    double f;
} Beyond;
PITH_NODE(Beyond, PITH_UPGRADE(1, odd_1_to_2), PITH_STATIC(f))
typedef struct Half {
    double f;
} Half;
PITH_NODE(Half, PITH_TYPE_VERSION(2), PITH_UPGRADE(0.5, odd_1_to_2), PITH_STATIC(f))

Test(upgrade, hooks_of_a_description_have_to_make_sense) {
    cr_assert_str_eq(pith_type_error(Twice_pith_type()),
                     "Twice: odd_1_to_2 and rule_1_to_2 both upgrade from version 1");
    cr_assert_str_eq(
        pith_type_error(Beyond_pith_type()),
        "Beyond: the upgrade odd_1_to_2 starts from version 1, the type has 1");
    cr_assert_str_eq(pith_type_error(Same_pith_type()),
                     "Same: the former name \"Same\" is invalid");
    cr_assert_str_eq(
        pith_type_error(Half_pith_type()),
        "Half: the upgrade odd_1_to_2 starts from 0.5, which is not a version");
}
