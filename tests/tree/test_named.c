/* Two shared libraries, each with a node Atoms and a node System: qualified by PITH_NAMED
 * they live side by side in one process, and in one file. */
#include "named.h"
#include "pith_test.h"

#include <dlfcn.h>
#include <pith/checkpoint.h>
#include <pith/lens.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pith_runtime *rt;
static pith_scope *s;

static void begin_folder(void) {
    char folder[256];
    pt_folder(folder);
    cr_assert(chdir(folder) == 0);
}
static void begin(void) {
    begin_folder();
    rt = pt_open();
    s = pith_scope_open(rt);
}
static void end(void) {
    pith_scope_close(s);
    pt_close(rt);
    cr_assert(system("rm -rf \"$PWD\"") == 0);
}

/* The exports of a plugin, or NULL: dlerror() has the reason. */
static const named_exports *find(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "named") : NULL;
}

static const named_exports *load(const char *path) {
    const named_exports *exports = find(path);
    cr_assert(exports, "%s", dlerror());
    return exports;
}

static void is_of(const pith_type *type, const char *name) {
    cr_assert_str_eq(pith_type_name(type), name);
    cr_assert(!pith_type_error(type), "%s", pith_type_error(type));
}

Test(named, types_of_two_libraries_live_side_by_side) {
    begin();
    const named_exports *a = load(NAMED_PARTICLES), *b = load(NAMED_FLUID);
    const void *x = a->make(s, 3), *y = b->make(s, 5);
    pt_ok(s, x && y);
    is_of(a->atoms(), "particles.Atoms");
    is_of(b->atoms(), "fluid.Atoms");
    is_of(a->system(), "particles.System");
    is_of(b->system(), "fluid.System");
    cr_assert(pith_type_of(x) == a->system() && pith_type_of(y) == b->system());
    cr_assert(pith_type_of(pith_child(y, 0)) == b->atoms());

    /* walked */
    const char *const *paths = pith_tree_paths(s, x);
    cr_assert_str_eq(paths[0], ".atoms.position");
    cr_assert_str_eq(paths[3], ".inner.atoms.mass");
    paths = pith_tree_paths(s, y);
    cr_assert_str_eq(paths[0], ".atoms.density");
    cr_assert_str_eq(paths[1], ".inner.atoms.density");
    cr_assert(strstr(pith_tree_text(s, x, NULL), "particles.Atoms"));
    cr_assert(strstr(pith_tree_text(s, y, NULL), "fluid.System"));
    pt_ok(s, pith_tree_equal(s, y, b->make(s, 5)) && !pith_tree_equal(s, x, y));

    /* in messages */
    const void *mixed[] = {pith_child(y, 0), NULL};
    pt_fails(PITH_E_TYPE, s, pith_freeze_any(s, a->system(), mixed));
    pt_says("particles.Atoms");
    pt_says("fluid.Atoms");
    const void *const trees[] = {x, y};
    pt_fails(PITH_E_STRUCTURE, s, pith_tree_concat(s, 2, trees, 0));
    pt_says("fluid.System");
    end();
}

Test(named, types_of_two_libraries_share_a_file) {
    begin();
    const named_exports *a = load(NAMED_PARTICLES), *b = load(NAMED_FLUID);
    const void *x = a->make(s, 3), *y = b->make(s, 5);
    const void *both = pith_tuple_make(s, PITH_ITEMS(x, y));
    pt_ok(s, pith_save(s, both, "both.json", NULL) && pith_save(s, x, "x.json", NULL) &&
                 pith_save(s, y, "y.json", &(pith_save_options){.inline_all = true}));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, NULL, "both.json", NULL), both));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, a->system(), "x.json", NULL), x));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, b->system(), "y.json", NULL), y));
    pt_fails(PITH_E_TYPE, s, pith_load_any(s, a->system(), "y.json", NULL));
    pt_says("\"y.json\": expected a record particles.System, the file holds a record "
            "fluid.System");
    pith_checkpoint_node row;
    const pith_checkpoint *c = pith_checkpoint_open(s, "x.json");
    pt_ok(s, pith_checkpoint_get_node(c, 1, &row));
    cr_assert_str_eq(row.type, "particles.Atoms");
    const pith_load_options at = {.at = "[1].atoms"};
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, b->atoms(), "both.json", &at),
                             pith_child(y, 0)));
    end();
}

typedef struct Atoms {
    const pith_array *place, *mass;
} Atoms;
PITH_NODE(Atoms,
          PITH_NAMED("own.group.Atoms"),
          PITH_LEAF(place, "f64[n,3]"),
          PITH_LEAF(mass, "f64[n]"))

Test(named, types_and_their_fields_are_renamed) {
    begin();
    const named_exports *a = load(NAMED_PARTICLES);
    const void *atoms = pith_child(a->make(s, 3), 0);
    pt_ok(s, pith_save(s, atoms, "a.json", NULL));
    const pith_load_options o = {
        .renames = PITH_RENAMES({"particles.Atoms.position", "own.group.Atoms.place"},
                                {"particles.Atoms", "own.group.Atoms"})};
    const Atoms *own = pith_load_any(s, Atoms_pith_type(), "a.json", &o);
    pt_ok(s, own);
    pt_ok(s, pith_tree_equal(s, own->place, pith_child(atoms, 0)));
    pt_ok(s, pith_save(s, own, "b.json", NULL));
    const pith_load_options back = {
        .renames = PITH_RENAMES({"own.group.Atoms", "particles.Atoms"},
                                {"own.group.Atoms.place", "particles.Atoms.position"})};
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, a->atoms(), "b.json", &back), atoms));
    const pith_load_options field = {
        .renames = PITH_RENAMES({"particles.Atoms.position", "particles.Atoms.where"})};
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, NULL, "a.json", &field));
    pt_says(".where: extra");
    const pith_load_options missing = {
        .renames = PITH_RENAMES({"particles.Atom.position", "particles.Atom.where"})};
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, NULL, "a.json", &missing));
    pt_says("the file has no such type");
    end();
}

/* Without PITH_NAMED the first library keeps the name; the type of the other has an
 * error. */
Test(named, unqualified_types_of_one_name_are_refused) {
    begin();
    const named_exports *a = load(UNNAMED_PARTICLES), *b = load(UNNAMED_FLUID);
    const void *x = a->make(s, 3);
    pt_ok(s, x);
    is_of(a->system(), "System");
    const char *error = pith_type_error(b->system());
    cr_assert(error &&
                  strstr(error,
                         "System: two structs have this name; .atoms is of "
                         "type Atoms in the one registered first and of "
                         "another type Atoms in this one; PITH_NAMED gives one of them "
                         "another name"),
              "%s", error);
    error = pith_type_error(b->atoms());
    cr_assert(error && strstr(error, "Atoms: two structs have this name; field 1 is "
                                     "\"position\" f64[n,3] in the one registered first "
                                     "and \"cells\"  in this one; PITH_NAMED gives"),
              "%s", error);
    pt_fails(PITH_E_TYPE, s, b->make(s, 5));
    pt_says("two structs have this name");
    pt_ok(s, pith_save(s, x, "x.json", NULL));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, a->system(), "x.json", NULL), x));
    /* and beside qualified ones both work */
    const named_exports *c = load(NAMED_FLUID);
    pt_ok(s, pith_save(s, c->make(s, 2), "c.json", NULL));
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, c->system(), "c.json", NULL),
                             c->make(s, 2)));
    end();
}

/* Both libraries were unqualified once, so "Atoms" of a file may be of either: the type
 * that is loaded decides. */
Test(named, files_from_before_the_names_are_read) {
    begin_folder();
    const pid_t writer = fork();
    if (writer == 0) { /* a failed cr_assert of a second process would never return */
        s = pith_scope_open(pith_open(NULL));
        const named_exports *fluid = find(UNNAMED_FLUID);
        if (!fluid)
            fprintf(stderr, "%s\n", dlerror());
        _exit(fluid && pith_save(s, fluid->make(s, 5), "y.json", NULL) ? 0 : 1);
    }
    int status = 1;
    cr_assert(waitpid(writer, &status, 0) == writer && status == 0, "the writer failed");
    rt = pt_open();
    s = pith_scope_open(rt);
    const named_exports *a = load(NAMED_PARTICLES), *b = load(NAMED_FLUID);
    pt_ok(s, a->make(s, 1));
    const void *y = b->make(s, 5);
    pt_ok(s, pith_tree_equal(s, pith_load_any(s, b->system(), "y.json", NULL), y));
    pt_fails(PITH_E_STRUCTURE, s, pith_load_any(s, a->system(), "y.json", NULL));
    pt_says(".atoms.position: missing");
    pt_fails(PITH_E_TYPE, s, pith_load_any(s, NULL, "y.json", NULL));
    pt_says("the record type System is unknown to the program");
    end();
}

/* ---- In one file of a program ---- */

typedef struct {
    const pith_array *x;
} First;
typedef struct {
    int64_t k;
} Second;
PITH_NODE(First, PITH_NAMED("same.Name"), PITH_LEAF(x, "f64"))
PITH_NODE(Second, PITH_NAMED("same.Name"), PITH_STATIC(k))

#define WRONG(T, name)                                                                   \
    typedef struct {                                                                     \
        int64_t k;                                                                       \
    } T;                                                                                 \
    PITH_NODE(T, PITH_NAMED(name), PITH_STATIC(k))
WRONG(Empty, "")
WRONG(Dot, "a.")
WRONG(Leading, ".a")
WRONG(Digit, "a.1")
WRONG(Space, "a b")
WRONG(Path, "a['b']")
WRONG(Long,
      "a1234567890123456789012345678901234567890123456789."
      "b1234567890123456789012345678901234567890123456789")
typedef struct {
    int64_t k;
} Twice;
PITH_NODE(Twice, PITH_NAMED("a"), PITH_NAMED("b"), PITH_STATIC(k))

Test(named, a_name_is_one_and_made_of_identifiers) {
    begin();
    const pith_type *const wrong[] = {
        Empty_pith_type(), Dot_pith_type(),  Leading_pith_type(), Digit_pith_type(),
        Space_pith_type(), Path_pith_type(), Long_pith_type()};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *error = pith_type_error(wrong[i]);
        cr_assert(error && strstr(error, "expected identifiers with dots"), "%zu: %s", i,
                  error);
    }
    cr_assert(strstr(pith_type_error(Twice_pith_type()), "a second name, \"b\""));
    is_of(First_pith_type(), "same.Name");
    cr_assert(strstr(pith_type_error(Second_pith_type()),
                     "same.Name: two structs have this name"));
    end();
}
