/* Time from an overflow to the result of the repeated step, in the melt: lists, cells and
 * forces of 4,000 atoms. It starts with room for 8 neighbours per atom, or also for only
 * 8 cells, so that two steps are repeated. The peer "plain step" has enough room. Rows:
 * capacity/overflow/melt... */
#include "bench.h"
#include "melt.h"

PITH_FUNCTION1(begin_step, melt_begin, Sim, Sim)

typedef struct {
    pith_scope *s;
    const Sim *sim;
    int64_t repairs; /* in the last run */
} work;

void melt_repaired(pith_scope *s, const pith_repair *repair, void *output) {
    (void)s, (void)repair, (void)output;
}

static void count(pith_scope *s, const pith_repair *repair, void *closure) {
    (void)s, (void)repair;
    ((work *)closure)->repairs++;
}

static void run(void *closure) {
    work *w = closure;
    pith_scope *s = pith_scope_open_in(w->s);
    w->repairs = 0;
    pith_propagate(s, Sim, &begin_step, w->sim,
                   &(pith_propagate_options){.repaired = count, .closure = w});
    bench_check(s);
    pith_scope_close(s);
}

/* The same atoms, with little room for lists. */
static const Sim *without_room(pith_scope *s, const Sim *sim, int64_t cells) {
    Lists lists = pith_initial(Lists);
    lists.max_neighbours = 8;
    lists.max_cells = cells;
    lists.origin = sim->atoms->position;
    Sim next = *sim;
    next.lists = pith_make(s, Lists, &lists, NULL);
    return pith_freeze(s, Sim, &next);
}

int main(int argc, char **argv) {
    if (!bench_wanted("capacity/overflow/melt", bench_only(argc, argv)))
        return 0;
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    pith_scope *s = pith_scope_open(rt);
    const Sim *sim = melt_lattice(s, &(Options){.cutoff = 2.5,
                                                .skin = 0.3,
                                                .dt = 0.005,
                                                .initial_capacity = 8,
                                                .real = PITH_F64});
    work enough = {.s = s, .sim = sim};
    work one = {.s = s, .sim = without_room(s, sim, sim->lists->max_cells)};
    work two = {.s = s, .sim = without_room(s, sim, 8)};
    bench_check(s);
    run(&enough);
    run(&one);
    run(&two);
    if (enough.repairs != 0 || one.repairs != 1 || two.repairs != 2)
        abort(); /* this is not what the rows say */
    bench_row("capacity/overflow/melt", "ms", 1e3, 2,
              (bench_entry[]){{"pith", run, &one}, {"plain step", run, &enough}});
    bench_row("capacity/overflow/melt two", "ms", 1e3, 2,
              (bench_entry[]){{"pith", run, &two}, {"plain step", run, &enough}});
    pith_scope_close(s);
    pith_close(rt);
    return 0;
}
