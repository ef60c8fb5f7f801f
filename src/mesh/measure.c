/* Times of the engine alone, to measure against. */
#include "base/in_flight.h"
#include "mesh/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AGREE, REDUCE, EXCHANGE, OPERATIONS };
static const char *const names[OPERATIONS] = {"agree", "reduce", "exchange"};

static int operation_of(const char *name) {
    int which = 0;
    while (which < OPERATIONS && (!name || strcmp(name, names[which]) != 0))
        which++;
    return which;
}

static void
run_once(pith_scope *s, pithp_mesh_group *g, int which, char *data, size_t bytes) {
    const int64_t next = (g->rank + 1) % g->size,
                  before = (g->rank + g->size - 1) % g->size;
    const pithp_parcel send = {next, data, bytes},
                       receive = {before, data + bytes, bytes};
    int64_t least = 0, most = 0;
    if (which == AGREE)
        pithp_collective_range(s, &least, &most);
    else if (which == REDUCE)
        pithp_mesh_group_reduce(s, g, PITHP_COMBINE_SUM, PITH_F64, data,
                                (int64_t)(bytes / 8));
    else
        pithp_mesh_group_exchange(s, g, 1, &send, 1, &receive);
}

double pith_mesh_time_engine(pith_scope *s,
                             const char *operation,
                             int64_t bytes,
                             int64_t repeats) {
    static const char function[] = "pith_mesh_time_engine";
    PITHP_IN_FLIGHT(s, function);
    pithp_enter_untraced(s, function);
    if (!pithp_scope_writable(s))
        return 0;
    const int which = operation_of(operation);
    pithp_mesh_group *g = pithp_mesh_group_of(s, NULL);
    char *data = NULL;
    size_t room = 16;
    if (which == OPERATIONS)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: operation '%.40s', expected agree, reduce or exchange", function,
                   operation ? operation : "NULL");
    else if (bytes < 0 || repeats < 1)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "%s: %" PRId64 " bytes and %" PRId64
                   " repeats, expected bytes from 0 and repeats from 1",
                   function, bytes, repeats);
    else if (pithp_mul_overflows((size_t)bytes + 8, 2, &room))
        pithp_fail_memory(s, SIZE_MAX);
    else if (!(data = pithp_allocate(s->runtime, room)))
        pithp_fail_memory(s, room);
    else
        memset(data, 0, room);
    const int64_t sizes[] = {bytes, repeats};
    const pithp_intent intent = {.operation = function,
                                 .what = operation,
                                 .extra = pithp_hash(0, sizes, sizeof sizes)};
    int64_t ns = 0, least = 0;
    if (pithp_collective_begin(s, &intent)) {
        run_once(s, g, which, data, (size_t)bytes); /* connects the ranks */
        const uint64_t began = pithp_nanoseconds();
        for (int64_t i = 0; i < repeats; i++)
            run_once(s, g, which, data, (size_t)bytes);
        least = ns = (int64_t)(pithp_nanoseconds() - began);
        pithp_collective_range(s, &least, &ns);
        pithp_collective_end(s);
    }
    if (data)
        pithp_release(s->runtime, data, room);
    return (double)ns * 1e-9 / (double)(repeats > 0 ? repeats : 1);
}
