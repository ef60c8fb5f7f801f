/* Lists of records of one type in files: the items are compared before anything is
 * made. */
#include "checkpoint_test.h"

#include <sys/wait.h>

typedef struct Layer {
    const pith_array *w;
} Layer;
PITH_NODE(Layer, PITH_LEAF(w, "f64"))
typedef struct Other {
    const pith_array *w;
} Other;
PITH_NODE(Other, PITH_LEAF(w, "f64"))

/* The record of a program that declares any tree, and of one that declares a list. */
typedef struct Loose {
    const void *layers;
} Loose;
PITH_NODE(Loose, PITH_NAMED("Net"), PITH_TREE(layers), PITH_USES(Layer), PITH_USES(Other))
typedef struct Net {
    const pith_list *layers;
} Net;
PITH_NODE(Net, PITH_NAMED("Net"), PITH_LIST(layers, Layer))

static pith_runtime *rt;
static pith_scope *s;
static void open_all(void) {
    rt = pith_open(&(pith_open_options){.device = "host"});
    s = pith_scope_open(rt);
}

static const void *list_of(bool other) {
    const void *layer = pith_record(s, Layer, .w = pith_f64(s, 1));
    const void *second = other ? pith_record(s, Other, .w = pith_f64(s, 2)) : layer;
    return pith_list_make(s, PITH_ITEMS(layer, second));
}

/* Saved by another process: this one has another type of the name. */
static void begin(void) {
    ct_begin();
    const pid_t writer = fork();
    if (writer == 0) {
        open_all();
        bool fine = true;
        const void *const trees[] = {list_of(false), list_of(true), pith_f64(s, 1)};
        const char *const names[] = {"good.json", "other.json", "leaf.json"};
        for (int i = 0; i < 3; i++)
            fine &=
                pith_save(s, pith_record(s, Loose, .layers = trees[i]), names[i], NULL);
        _exit(fine ? 0 : 1);
    }
    int status = 1;
    cr_assert(waitpid(writer, &status, 0) == writer && status == 0);
    open_all();
}

Test(items, of_a_file_are_compared_with_the_declaration) {
    begin();
    const Net *net = pith_load(s, Net, "good.json");
    pt_ok(s, net);
    cr_assert(pith_is(Layer, pith_child(net->layers, 1)));
    Other_pith_type();
    pt_fails(PITH_E_STRUCTURE, s, pith_load(s, Net, "other.json"));
    pt_says(".layers[1]: expected a record Layer, got a record Other");
    pt_fails(PITH_E_STRUCTURE, s, pith_load(s, Net, "leaf.json"));
    pt_says(".layers: expected a list of records Layer, got a leaf");
    pith_scope_close(s);
    pith_close(rt);
    ct_end();
}
