/* A record whose struct begins with another one by value, as inheritance does: its
 * members are named with dots, and it is made, walked, printed, resized and saved as any
 * other. */
#include "tree_types.h"

#include <pith/checkpoint.h>
#include <unistd.h>

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

typedef struct {
    Atoms base; /* first: a pointer to Ions is one to its Atoms' members */
    const pith_array *charge;
    const Part *note;
    const pith_array *field;
    int64_t width;
} Ions;
static int checks;
static void check_ions(pith_scope *in, const Ions *ions) {
    (void)in;
    checks++;
    cr_assert(ions->base.position && ions->charge);
}
PITH_NODE(Ions,
          PITH_LEAF(base.position, "float[n,3]", .unit = "sigma", .fill = 2),
          PITH_LEAF(base.velocity, "float[n,3]"),
          PITH_LEAF(base.force, "float[n,3]"),
          PITH_LEAF(charge, "float[n]", .fill = -1),
          PITH_CHILD(note, Part, .optional = true),
          PITH_LEAF(field, "f64[width]", .optional = true),
          PITH_STATIC(width, .initial = 4),
          PITH_VALIDATE(check_ions))

Test(embedded, records_are_made_from_their_declaration) {
    open_all();
    Ions start = pith_initial(Ions);
    cr_assert(start.width == 4 && !start.base.position);
    start.charge = pith_zeros(s, PITH_F32, PITH_SHAPE(5));
    const Ions *ions = pith_make(s, Ions, &start, NULL);
    pt_ok(s, pith_is(Ions, ions));
    cr_assert(checks == 1 && !ions->note && !ions->field,
              "what is optional stays absent");
    const pith_spec *spec = pith_array_spec(ions->base.position);
    cr_assert(spec->dtype == PITH_F32 && spec->shape[0] == 5 && spec->shape[1] == 3);
    float first[15];
    pt_ok(s, pith_read(s, ions->base.position, first, sizeof first));
    cr_assert(first[0] == 2 && first[14] == 2);
    pt_fails(PITH_E_SHAPE, s, pith_make(s, Ions, NULL, NULL));
    pt_says(".base.position");
    pt_fails(PITH_E_SHAPE, s, pith_make(s, Ions, &start, PITH_EXTENTS({"n", 4})));
    /* An optional child and leaf that are given. */
    start.note = pith_freeze(s, Part, &(Part){.number = 3});
    start.field = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    ions = pith_make(s, Ions, &start, NULL);
    pt_ok(s, ions);
    cr_assert(ions->note == start.note && ions->field == start.field);
    close_all();
}

Test(embedded, records_are_trees_like_any_other) {
    open_all();
    const Ions *ions = pith_make(s, Ions, NULL, PITH_EXTENTS({"n", 2}));
    pt_ok(s, ions);
    const char *const *paths = pith_tree_paths(s, ions);
    cr_assert_str_eq(paths[0], ".base.position");
    cr_assert_str_eq(paths[3], ".charge");
    cr_assert(pith_tree_at(s, ions, ".base.force") == ions->base.force);
    cr_assert_str_eq(pith_path_normal(s, paths[2]), ".base.force");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, ions, ".base"));
    pt_says(".base: Ions has no field 'base' (has base.position, base.velocity");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, ions, ".base.none"));
    pt_says("Ions has no field 'base.none'");
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, ions, ".base[0]"));
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, ions, ".bas"));
    pt_fails(PITH_E_PATH, s, pith_tree_at(s, ions, ".base."));
    Ions next = *ions;
    next.base.velocity = pith_ones(s, PITH_F64, PITH_SHAPE(2, 3));
    const Ions *moved = pith_freeze(s, Ions, &next);
    pt_ok(s, moved);
    cr_assert(moved->base.position == ions->base.position);
    int64_t count;
    const pith_difference *all = pith_tree_diff(s, ions, moved, &count, NULL);
    pt_ok(s, all);
    cr_assert(count == 1);
    cr_assert_str_eq(all[0].path, ".base.velocity");
    next.base.velocity = pith_ones(s, PITH_F64, PITH_SHAPE(3, 3));
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Ions, &next));
    pt_says(".base.velocity");
    /* What takes the embedded struct takes it from here. */
    const Atoms *atoms = pith_freeze(s, Atoms, &moved->base);
    pt_ok(s, pith_is(Atoms, atoms));
    cr_assert(atoms->velocity == moved->base.velocity);
    const void *trees[] = {ions, moved};
    const Ions *both = pith_tree_concat(s, 2, trees, 0);
    pt_ok(s, both);
    cr_assert(pith_array_spec(both->charge)->shape[0] == 4);
    char folder[256], file[300];
    pt_folder(folder);
    snprintf(file, sizeof file, "%s/ions.json", folder);
    pt_ok(s, pith_save(s, moved, file, &(pith_save_options){.inline_all = true}));
    pt_ok(s, pith_tree_equal(s, pith_load(s, Ions, file), moved));
    unlink(file);
    rmdir(folder);
    next = *ions;
    next.field = pith_zeros(s, PITH_F64, PITH_SHAPE(4));
    next.width = 6;
    const Ions *wide = pith_tree_resize(s, Ions, &next, NULL);
    pt_ok(s, wide);
    cr_assert(pith_array_spec(wide->field)->shape[0] == 6);
    cr_assert(wide->base.position == ions->base.position);
    close_all();
}
