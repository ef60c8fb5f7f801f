/* Lists and dicts of records of one type (PITH_LIST, PITH_DICT). */
#include "scope_test.h"

#include <pith/lens.h>
#include <pith/tree.h>
#include <string.h>

typedef struct {
    const pith_array *weight;
    int64_t units;
} Layer;
PITH_NODE(Layer, PITH_LEAF(weight, "f64[^inputs,units]"), PITH_STATIC(units))
typedef struct {
    const pith_array *x;
} Species;
PITH_NODE(Species, PITH_LEAF(x, "f64[n]"))
typedef struct {
    const pith_list *layers;
    const pith_dict *species, *more;
    int64_t inputs;
} Net;
PITH_NODE(Net,
          PITH_LIST(layers, Layer),
          PITH_DICT(species, Species),
          PITH_DICT(more, Species, .optional = true),
          PITH_STATIC(inputs))

typedef struct {
    const pith_list *branches;
    const pith_array *x;
} Branch;
PITH_NODE(Branch, PITH_LIST(branches, Branch), PITH_LEAF(x, "f64"))

typedef struct {
    const pith_list *leaves;
} BadItems;
PITH_NODE(BadItems, PITH_LIST(leaves, pith_array))

static const Layer *layer(int64_t inputs, int64_t units) {
    const pith_array *weight = pith_ones(s, PITH_F64, PITH_SHAPE(inputs, units));
    return pith_record(s, Layer, .weight = weight, .units = units);
}
static const Species *species(int64_t n) {
    return pith_record(s, Species, .x = pith_ones(s, PITH_F64, PITH_SHAPE(n)));
}
static Net net(void) {
    const char *const keys[] = {"ar", "kr"};
    return (Net){.layers = pith_list_make(s, PITH_ITEMS(layer(3, 4), layer(3, 2))),
                 .species =
                     pith_dict_make(s, 2, keys, (const void *[]){species(5), species(6)}),
                 .inputs = 3};
}

Test(items, of_one_type_are_part_of_a_record, .init = open_scope) {
    Net next = net();
    const Net *made = pith_freeze(s, Net, &next);
    pt_ok(s, made);
    const Layer *second = pith_child(made->layers, 1);
    cr_assert(second->units == 2 && pith_child_count(made->layers) == 2);
    next.layers = pith_list_make(s, 0, NULL);
    pt_ok(s, pith_freeze(s, Net, &next)); /* an empty list */
    close_scope();
}

Test(items, of_another_type_are_refused_with_their_path, .init = open_scope) {
    Net next = net();
    const void *const mixed[] = {layer(3, 4), species(1)};
    next.layers = pith_list_make(s, 2, mixed);
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Net, &next));
    pt_says(".layers[1]: expected Layer, got a record of Species");
    next.layers = pith_list_make(s, PITH_ITEMS(pith_f64(s, 1)));
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Net, &next));
    pt_says(".layers[0]: expected Layer, got an array");
    next = net();
    const char *const key = "xe";
    next.species = pith_dict_make(s, 1, &key, mixed);
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Net, &next));
    pt_says(".species['xe']: expected Species, got a record of Layer");
    next = net();
    next.layers = (const pith_list *)(const void *)net().species;
    pt_fails(PITH_E_TYPE, s, pith_freeze(s, Net, &next));
    pt_says(".layers: expected a list of Layer, got a dict");
    next.layers = NULL;
    pt_fails(PITH_E_ARG, s, pith_freeze(s, Net, &next));
    pt_says(".layers: expected a list of Layer, got NULL");
    pt_fails(PITH_E_ARG, s, pith_make(s, Net, NULL, NULL));
    close_scope();
}

/* Extents of the record bind the items, too. */
Test(items, take_the_extents_of_their_record, .init = open_scope) {
    Net next = net();
    next.layers = pith_list_make(s, PITH_ITEMS(layer(3, 4), layer(2, 4)));
    pt_fails(PITH_E_SHAPE, s, pith_freeze(s, Net, &next));
    pt_says(".layers[1].weight");
    close_scope();
}

Test(items, may_be_of_the_type_of_their_record, .init = open_scope) {
    const pith_list *none = pith_list_make(s, 0, NULL);
    const Branch *tip = pith_record(s, Branch, .branches = none, .x = pith_f64(s, 1));
    const Branch *trunk =
        pith_record(s, Branch, .branches = pith_list_make(s, PITH_ITEMS(tip, tip)),
                    .x = pith_f64(s, 2));
    pt_ok(s, trunk);
    cr_assert(pith_child(trunk->branches, 1) == tip);
    cr_assert(
        strstr(pith_type_error(BadItems_pith_type()), "pith_array is not a record type"));
    close_scope();
}

Test(items, are_checked_in_paths_and_updates, .init = open_scope) {
    Net next = net();
    const Net *made = pith_freeze(s, Net, &next);
    const pith_type *type = Net_pith_type();
    const pith_lens *weight = pith_lens_path(s, type, ".layers[-1].weight");
    pt_ok(s, weight);
    cr_assert(pith_lens_get(s, weight, made) ==
              ((const Layer *)pith_child(made->layers, 1))->weight);
    const pith_array *zeros = pith_zeros(s, PITH_F64, PITH_SHAPE(3, 2));
    const Net *set = pith_lens_set(s, weight, made, zeros);
    pt_ok(s, pith_lens_get(s, weight, set) == zeros);
    const pith_lens *all = pith_lens_path(s, type, ".layers[*].weight");
    pt_ok(s, pith_child_count(pith_lens_get(s, all, made)) == 2);
    pt_ok(s, pith_lens_get(s, pith_lens_path(s, type, ".species['kr'].x"), made));

    pt_fails(PITH_E_PATH, s, pith_lens_path(s, type, ".layers[0].height"));
    pt_says(".layers[0].height: Layer has no field");
    pt_fails(PITH_E_PATH, s, pith_lens_path(s, type, ".layers.weight"));
    pt_says(".layers.weight: a list of Layer has no fields");
    pt_fails(PITH_E_PATH, s, pith_lens_path(s, type, ".layers['a']"));
    pt_says("a list of Layer has no keys");
    pt_fails(PITH_E_PATH, s, pith_lens_path(s, type, ".species[0]"));
    pt_says("a dict of Species has no items");
    pt_fails(PITH_E_PATH, s,
             pith_lens_get(s, pith_lens_path(s, type, ".layers[7]"), made));
    pt_fails(PITH_E_TYPE, s,
             pith_lens_set(s, pith_lens_path(s, type, ".layers[0]"), made, species(2)));
    pt_says(".layers[0]: expected Layer, got a record of Species");
    close_scope();
}
