/* Nodes of one header in C17 and C++20: the same types, and records of one language in
 * the other. */
#include "nodes.h"
#include "pith_test.h"

#include <pith/tree.h>

const pith_type *atoms_type_in_cxx(void);
const pith_type *everything_type_in_cxx(void);
const void *tree_in_cxx(pith_scope *s);

Test(node_languages, a_type_is_one_in_every_language) {
    cr_assert_null(pith_type_error(Everything_pith_type()), "%s",
                   pith_type_error(Everything_pith_type()));
    cr_assert(everything_type_elsewhere() == Everything_pith_type());
    cr_assert(atoms_type_in_cxx() == Atoms_pith_type());
    cr_assert(everything_type_in_cxx() == Everything_pith_type());
}

Test(node_languages, records_pass_between_languages) {
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const void *tree = tree_in_cxx(s);
    pt_ok(s, tree);
    const Everything *e = pith_child(tree, 0);
    cr_assert(pith_is(Everything, e) && e->cutoff > 2.5 && e->count == 64);
    cr_assert_str_eq(e->config->method, "from C++");
    cr_assert_str_eq(e->label, "melt");
    cr_assert_eq(pith_array_spec(e->x)->dtype, PITH_F32);
    cr_assert(pith_child(tree, 1) == e->x);
    const Boxes *boxes = pith_child(tree, 2);
    cr_assert(pith_is(Boxes, boxes) && pith_is(Atoms, pith_child(boxes->list, 0)));
    pith_scope_close(s);
    pt_close(rt);
}
