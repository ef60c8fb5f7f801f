/* What the status file of a run says of capacities. */
#include "pith/pith.h"

#include "pith_test.h"

#include <unistd.h>

/* A step with capacities of a part of the state: a size that an extent names, others that
 * none does, two in one, and one without a lens. */
typedef struct {
    const pith_array *list, *n;
    int64_t room, cells, deep;
} Part;
PITH_NODE(Part,
          PITH_LEAF(list, "i64[room]"),
          PITH_LEAF(n, "i64"),
          PITH_STATIC(room, .initial = 2),
          PITH_STATIC(cells, .initial = 3),
          PITH_STATIC(deep, .initial = 5))
typedef struct {
    const Part *part;
    int64_t odd;
} Whole;
PITH_NODE(Whole, PITH_CHILD(part, Part), PITH_STATIC(odd, .initial = 4))

static const Part *need_part(pith_scope *s, const Part *in) {
    Part next = *in;
    next.n = pith_add(s, in->n, pith_i64(s, 1));
    const pith_array *needs =
        pith_array_copy(s, PITH_I64, PITH_SHAPE(2), (const int64_t[]){1, 9});
    const pith_lens *both =
        pith_lens_merge(s, PITH_LENSES(PITH_LENS(Part, room), PITH_LENS(Part, deep)));
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Part, cells), in->cells, 2),
                          next.n);
    pith_capacity_require(
        s,
        pith_capacity_make(s, &(pith_capacity_options){PITH_SIZES(in->room, in->deep),
                                                       .lens = both, .base = 2}),
        needs);
    pith_capacity_require(
        s,
        pith_capacity_make(s,
                           &(pith_capacity_options){.size = 100, .message = "no more"}),
        next.n);
    return pith_freeze(s, Part, &next);
}
PITH_FUNCTION1(need_part_function, need_part, Part, Part)
static const Whole *need_whole(pith_scope *s, const Whole *in) {
    pith_capacity_require(s, pith_lens_capacity(s, PITH_LENS(Whole, odd), in->odd, 1.5),
                          pith_i64(s, 4));
    return pith_at_lens(s, PITH_LENS(Whole, part), &need_part_function, in);
}
PITH_FUNCTION1(need_whole_step, need_whole, Whole, Whole)

Test(status, has_every_size_that_a_capacity_stands_for) {
    char folder[256], path[300], text[4096];
    pt_folder(folder);
    snprintf(path, sizeof path, "%s/status.json", folder);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (int way = 0; way < 3; way++) {
        const pith_function *step =
            way ? pith_jit(s, &need_whole_step, NULL) : &need_whole_step;
        const pith_run_options o = {.steps = 9,
                                    .steps_per_launch = way == 2 ? 4 : 0,
                                    .check_every = 2,
                                    .status_file = path};
        pt_ok(s, pith_run(s, Whole, step, pith_make(s, Whole, NULL, NULL), &o));
        FILE *f = fopen(path, "r");
        cr_assert(f && fgets(text, sizeof text, f));
        fclose(f);
        cr_assert(strstr(text, "\"capacities\":{\".part.room\":2,\".odd\":4,"
                               "\".part.cells\":16,\".part.deep\":16}"),
                  "%s", text);
    }
    pith_scope_close(s);
    pt_close(rt);
    unlink(path);
    rmdir(folder);
}
