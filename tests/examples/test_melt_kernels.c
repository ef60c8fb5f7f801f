/* The melt's kernels against a plain loop over all pairs in double precision. */
#include "brick_kernels.h"
#include "melt_kernels.h"
#include "pith_test.h"

#include <pith/array.h>

#define CUTOFF 2.5
#define SKIN   0.3

enum { MOST_ATOMS = 4000 };

/* A crystal of cells^3 cubes of four atoms, each moved by up to `shake` lattice
 * constants. */
static int64_t crystal(int cells, double shake, double box[3], double *position) {
    static const double corner[4][3] = {
        {0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    const double constant = cbrt(4 / 0.8442);
    uint32_t random = 12345;
    int64_t n = 0;
    for (int p = 0; p < cells * cells * cells; p++)
        for (int k = 0; k < 4; k++, n++) {
            const int at[3] = {p / cells / cells, p / cells % cells, p % cells};
            for (int d = 0; d < 3; d++) {
                random = random * 1664525u + 1013904223u;
                const double kick = shake * (random / 4294967296.0 - 0.5);
                position[3 * n + d] = (at[d] + corner[k][d] + kick) * constant;
            }
        }
    box[0] = box[1] = box[2] = cells * constant;
    return n;
}

/* What a program holds after a rebuild. */
typedef struct melt_lists {
    const pith_array *position, *velocity, *id, *box, *neighbour, *count, *most;
} melt_lists;

static const pith_array *sorted_order(pith_scope *s, const pith_array *cell, int64_t n) {
    static int32_t cells[MOST_ATOMS];
    static int64_t order[MOST_ATOMS];
    int64_t placed = 0;
    if (!pith_read(s, cell, cells, (size_t)n * sizeof *cells))
        return NULL;
    for (int32_t c = 0; placed < n; c++)
        for (int64_t i = 0; i < n; i++)
            if (cells[i] == c)
                order[placed++] = i;
    return pith_array_copy(s, PITH_I64, PITH_SHAPE(n), order);
}

/* Atoms by cells of the grid, of which the window holds a part. */
typedef struct melt_sorted {
    melt_cells_result cells;
    melt_fold_result fold;
    melt_sort_result sort;
    const pith_array *order; /* of rows */
} melt_sorted;

static melt_sorted sort_by_cells(pith_scope *s,
                                 const pith_array *position,
                                 const pith_array *id,
                                 const pith_array *box,
                                 const double part[6],
                                 double distance,
                                 int64_t max_cells) {
    const int64_t n = pith_array_spec(id)->count;
    melt_sorted r;
    r.cells =
        pith_launch(s, melt_cells, box,
                    pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 2), part), distance, n);
    const int64_t room = max_cells ? max_cells : pith_read_i64(s, r.cells.cells);
    r.fold = pith_launch(s, melt_fold, position, box, r.cells.grid, r.cells.window, room);
    r.sort = pith_launch(s, melt_sort, r.fold.cell, sorted_order(s, r.fold.cell, n), id,
                         r.fold.folded, r.cells.cells, room);
    r.order = pith_slice_array(s, r.sort.row, 1, &PITH_SLICE(0, n, 1));
    return r;
}

static const double whole_box[] = {0, 1, 0, 1, 0, 1};

static melt_lists rebuild(pith_scope *s,
                          pith_dtype real,
                          int64_t n,
                          const double *position,
                          const double box[3],
                          double distance,
                          int64_t max_neighbours,
                          const pith_array *velocity,
                          const pith_array *id) {
    const pith_array *given =
        pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(n, 3), position), real);
    melt_lists r = {.box = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), box)};
    const melt_sorted by = sort_by_cells(s, given, id, r.box, whole_box, distance, 0);
    const melt_neighbours_result list =
        pith_launch(s, melt_neighbours, by.sort.start, by.sort.axes,
                    pith_arange(s, PITH_I32, n + PITH_LANES), r.box, by.cells.grid,
                    by.cells.window, distance, n, max_neighbours);
    r.most = list.most;
    r.position = pith_take(s, by.fold.folded, by.order, NULL);
    r.velocity = pith_take(s, velocity, by.order, NULL);
    r.id = pith_take(s, id, by.order, NULL);
    r.neighbour = list.neighbour;
    r.count = list.count;
    return r;
}

/* Of atoms at rest, numbered as they come. */
static melt_lists build(pith_scope *s,
                        pith_dtype real,
                        int64_t n,
                        const double *position,
                        const double box[3],
                        double distance,
                        int64_t max_neighbours) {
    return rebuild(s, real, n, position, box, distance, max_neighbours,
                   pith_zeros(s, real, PITH_SHAPE(n, 3)), pith_arange(s, PITH_I32, n));
}

static double nearest(double d, double length) {
    return d - length * rint(d / length);
}

/* ---- Lists ---- */

static int64_t
pairs_within_cutoff(pith_scope *s, const melt_lists *r, int64_t n, int64_t width) {
    static double x[3 * MOST_ATOMS];
    static int32_t entries[MOST_ATOMS * 192], counts[MOST_ATOMS];
    double box[3];
    int64_t pairs = 0;
    pt_ok(s, pith_read(s, pith_cast(s, r->position, PITH_F64), x, (size_t)n * 24));
    pt_ok(s, pith_read(s, r->neighbour, entries, (size_t)(n * width) * 4));
    pt_ok(s, pith_read(s, r->count, counts, (size_t)n * 4));
    pt_ok(s, pith_read(s, r->box, box, sizeof box));
    for (int64_t i = 0; i < n; i++) {
        cr_assert(counts[i] % PITH_LANES == 0 && counts[i] <= width);
        for (int32_t k = 0; k < counts[i]; k++) {
            const int32_t entry = entries[i * width + k], image = entry >> IMAGE_SHIFT;
            const int64_t j = entry & ATOM_MASK;
            double r2 = 0;
            for (int d = 0; d < 3; d++) {
                const double e =
                    x[3 * i + d] - IMAGE_ALONG(image, d) * box[d] - x[3 * j + d];
                r2 += e * e;
            }
            cr_assert(image == entries[i * width + k / 8 * 8] >> IMAGE_SHIFT);
            pairs += (j != i || image != OWN_IMAGE) && r2 < CUTOFF * CUTOFF;
        }
    }
    return pairs;
}

Test(melt_kernels, lists_hold_every_pair_of_atoms_on_cell_faces) {
    static double position[3 * MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(10, 0, box, position);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_dtype reals[] = {PITH_F64, PITH_F32};
    for (int r = 0; r < 2; r++) {
        const melt_lists lists = build(s, reals[r], n, position, box, CUTOFF + SKIN, 128);
        pt_ok(s);
        const int64_t pairs = pairs_within_cutoff(s, &lists, n, 128);
        cr_assert_eq(pairs, 216000, "%s: %lld pairs", pith_dtype_name(reals[r]),
                     (long long)pairs);
    }
    pith_scope_close(s);
    pt_close(rt);
}

Test(melt_kernels, lists_do_not_depend_on_the_grid) {
    static double position[3 * MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(4, 0.3, box, position); /* 6.7 long: images on both sides */
    int64_t expected = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double r2 = 0;
            for (int d = 0; d < 3; d++) {
                const double e =
                    nearest(position[3 * i + d] - position[3 * j + d], box[d]);
                r2 += e * e;
            }
            expected += i != j && r2 < CUTOFF * CUTOFF;
        }
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    for (double distance = CUTOFF; distance < 3.3; distance += 0.1) {
        const melt_lists lists = build(s, PITH_F64, n, position, box, distance, 192);
        pt_ok(s);
        cr_assert_eq(pairs_within_cutoff(s, &lists, n, 192), expected, "%g", distance);
    }
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Bricks ---- */

/* Atoms of a brick, or ghosts around it, in any order. */
typedef struct melt_part {
    const pith_array *position, *id;
    int64_t count;
} melt_part;

static melt_part part_of(pith_scope *s,
                         pith_dtype real,
                         int64_t count,
                         const double *position,
                         const int32_t *id,
                         const pith_array *box) {
    const pith_array *x =
        pith_cast(s, pith_array_copy(s, PITH_F64, PITH_SHAPE(count, 3), position), real);
    return (melt_part){.position =
                           pith_launch(s, brick_fold, x, pith_i64(s, count), box).folded,
                       .id = pith_array_copy(s, PITH_I32, PITH_SHAPE(count), id),
                       .count = count};
}

/* The cells of a part, and the order of its rows in them. */
static const pith_array *cells_of(pith_scope *s,
                                  const melt_part *p,
                                  const pith_array *box,
                                  const melt_cells_result *cells,
                                  int64_t room,
                                  const pith_array **order) {
    const pith_array *cell =
        pith_launch(s, brick_cell, p->position, pith_i64(s, p->count), box, cells->grid,
                    cells->window, room)
            .cell;
    *order = sorted_order(s, cell, pith_array_spec(cell)->count);
    return cell;
}

/* Sort the atoms of a brick, as if none had left or come. */
static brick_settle_result settle(pith_scope *s,
                                  const melt_part *own,
                                  const pith_array *box,
                                  const melt_cells_result *cells,
                                  int64_t room) {
    const pith_dtype real = pith_array_spec(own->position)->dtype;
    const pith_array *order, *cell = cells_of(s, own, box, cells, room, &order);
    const pith_array *none = pith_zeros(s, real, PITH_SHAPE(0, 3));
    return pith_launch(s, brick_settle, order, cell, own->id, pith_i64(s, own->count),
                       cells->cells, own->position, own->position, none, none, room);
}

/* The search of neighbours of a brick among its atoms, which are sorted, and ghosts. */
static melt_neighbours_result search(pith_scope *s,
                                     const brick_settle_result *own,
                                     const melt_part *ghosts,
                                     const pith_array *box,
                                     const melt_cells_result *cells,
                                     int64_t room) {
    const int64_t n = pith_array_spec(own->number)->count;
    const pith_array *order, *cell = cells_of(s, ghosts, box, cells, room, &order);
    const brick_line_up_result line =
        pith_launch(s, brick_line_up, order, cell, ghosts->id, cells->cells, room);
    const brick_merge_result merged =
        pith_launch(s, brick_merge, own->settled, own->number, own->sorted, own->start,
                    ghosts->position, ghosts->id, line.row, line.sorted, line.start,
                    cells->cells, n + ghosts->count);
    return pith_launch(s, melt_neighbours, pith_add(s, own->start, line.start),
                       merged.axes, merged.row, box, cells->grid, cells->window,
                       CUTOFF + SKIN, n, 128);
}

/* Lists of the atoms of a brick, made of these and of ghosts around them, are those of
 * the whole box, entry for entry. */
static void lists_of_a_brick(pith_dtype real, const double part[6]) {
    static double position[3 * MOST_ATOMS], shuffled[3 * MOST_ATOMS];
    static int32_t id[MOST_ATOMS], all_id[MOST_ATOMS], mine[MOST_ATOMS * 128],
        whole[MOST_ATOMS * 128], count[MOST_ATOMS], all_count[MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(8, 0.3, box, position);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const melt_lists all = build(s, real, n, position, box, CUTOFF + SKIN, 128);
    int64_t own = 0, seen = 0;
    for (int ghosts = 0; ghosts < 2; ghosts++, own = ghosts == 1 ? seen : own)
        for (int64_t i = n - 1; i >= 0; i--) { /* against the order of numbers */
            bool inside = true, near = true;
            for (int d = 0; d < 3; d++) {
                const double x = position[3 * i + d] / box[d], f = x - floor(x);
                const double low = part[2 * d] - f, high = f - part[2 * d + 1];
                const double out = fmax(low, high), across = fmin(1 + low, 1 + high);
                inside &= f >= part[2 * d] && f < part[2 * d + 1];
                near &= fmin(out, across) * box[d] <= CUTOFF + SKIN + 0.01;
            }
            if (ghosts ? inside || !near : !inside)
                continue;
            memcpy(&shuffled[3 * seen], &position[3 * i], 24);
            id[seen++] = (int32_t)i;
        }
    cr_assert(own > 0 && seen > own && seen < n);
    const melt_part mine_of = part_of(s, real, own, shuffled, id, all.box);
    const melt_part ghosts_of =
        part_of(s, real, seen - own, &shuffled[3 * own], &id[own], all.box);
    const pith_array *bounds = pith_array_copy(s, PITH_F64, PITH_SHAPE(3, 2), part);
    const melt_cells_result cells =
        pith_launch(s, melt_cells, all.box, bounds, CUTOFF + SKIN, n);
    const int64_t room = pith_read_i64(s, cells.cells);
    const brick_settle_result settled = settle(s, &mine_of, all.box, &cells, room);
    const melt_neighbours_result list =
        search(s, &settled, &ghosts_of, all.box, &cells, room);
    pt_ok(s, pith_read(s, settled.number, id, (size_t)own * 4));
    pt_ok(s, pith_read(s, list.neighbour, mine, (size_t)own * 128 * 4));
    pt_ok(s, pith_read(s, list.count, count, (size_t)own * 4));
    pt_ok(s, pith_read(s, all.neighbour, whole, (size_t)n * 128 * 4));
    pt_ok(s, pith_read(s, all.count, all_count, (size_t)n * 4));
    pt_ok(s, pith_read(s, all.id, all_id, (size_t)n * 4));
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < own; i++) {
            if (id[i] != all_id[k])
                continue;
            cr_assert_eq(count[i], all_count[k]);
            for (int32_t e = 0; e < count[i]; e++) {
                const int32_t a = mine[i * 128 + e], b = whole[k * 128 + e];
                cr_assert_eq(a >> IMAGE_SHIFT, b >> IMAGE_SHIFT);
                cr_assert_eq(id[a & ATOM_MASK], all_id[b & ATOM_MASK]);
            }
        }
    pith_scope_close(s);
    pt_close(rt);
}

Test(melt_kernels, a_brick_has_the_lists_of_the_whole) {
    lists_of_a_brick(PITH_F64, (const double[]){0, 0.4, 0, 1, 0, 1});
    lists_of_a_brick(PITH_F64, (const double[]){0.6, 1, 0.25, 0.5, 0, 0.45});
    lists_of_a_brick(PITH_F32, (const double[]){0.3, 0.6, 0.5, 1, 0.3, 0.55});
}

/* Lists that end early are the beginnings of whole ones, and the need is what those have.
 */
Test(melt_kernels, a_list_that_does_not_fit_tells_its_need) {
    static double position[3 * MOST_ATOMS];
    static int32_t whole[MOST_ATOMS * 192], cut[MOST_ATOMS * 64], counts[MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(5, 0.2, box, position);
    int64_t longest = 0;
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const melt_lists ample = build(s, PITH_F64, n, position, box, CUTOFF + SKIN, 192);
    const melt_lists small = build(s, PITH_F64, n, position, box, CUTOFF + SKIN, 64);
    pt_ok(s, pith_read(s, ample.count, counts, (size_t)n * 4));
    pt_ok(s, pith_read(s, ample.neighbour, whole, (size_t)n * 192 * 4));
    pt_ok(s, pith_read(s, small.neighbour, cut, (size_t)n * 64 * 4));
    for (int64_t i = 0; i < n; i++) {
        longest = counts[i] > longest ? counts[i] : longest;
        cr_assert_eq(memcmp(&whole[i * 192], &cut[i * 64], 64 * 4), 0, "atom %lld",
                     (long long)i);
    }
    cr_assert(longest > 64 && longest < 192);
    cr_assert_eq(pith_read_i64(s, ample.most), longest);
    cr_assert_eq(pith_read_i64(s, small.most), longest);
    pith_wait(s);
    pt_ok(s);
    pith_scope_close(s);
    pt_close(rt);
}

Test(melt_kernels, cells_that_do_not_fit_give_empty_lists) {
    static double position[3 * MOST_ATOMS];
    static int32_t counts[MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(5, 0.2, box, position);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_array_copy(s, PITH_F64, PITH_SHAPE(n, 3), position);
    const pith_array *b = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), box);
    const melt_sorted by =
        sort_by_cells(s, x, pith_arange(s, PITH_I32, n), b, whole_box, CUTOFF + SKIN, 7);
    const int64_t need = pith_read_i64(s, by.cells.cells);
    const melt_neighbours_result list =
        pith_launch(s, melt_neighbours, by.sort.start, by.sort.axes, by.sort.row, b,
                    by.cells.grid, by.cells.window, CUTOFF + SKIN, n, 64);
    cr_assert(need > 7 && need <= n);
    pt_ok(s, pith_read(s, list.count, counts, (size_t)n * 4));
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(counts[i], 0);
    pith_scope_close(s);
    pt_close(rt);
}

/* Every pair within the cutoff is in lists made in a larger box, as long as no atom says
 * that they are stale. */
Test(melt_kernels, lists_hold_while_the_box_shrinks_until_they_are_stale) {
    static double position[3 * MOST_ATOMS], smaller[3 * MOST_ATOMS];
    double box[3], now[3];
    const int64_t n = crystal(4, 0.3, box, position);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    melt_lists lists = build(s, PITH_F64, n, position, box, CUTOFF + SKIN, 192);
    const pith_array *rest = pith_zeros(s, PITH_F64, PITH_SHAPE(n, 3));
    bool was_stale = false;
    for (int percent = 0; percent <= 14; percent++) {
        const double scale = 1 - percent / 100.0;
        for (int d = 0; d < 3; d++)
            now[d] = box[d] * scale;
        const pith_array *current = pith_array_copy(s, PITH_F64, PITH_SHAPE(3), now);
        const melt_drift_result drift =
            pith_launch(s, melt_drift, lists.position, rest, rest, lists.position,
                        current, lists.box, 0.005, scale, CUTOFF, SKIN);
        const bool stale = pith_read_i64(s, pith_cast(s, drift.stale, PITH_I64));
        cr_assert(!was_stale || stale, "%d %%", percent);
        cr_assert_eq(stale, scale * (CUTOFF + SKIN) <= CUTOFF, "%d %%", percent);
        was_stale = stale;
        melt_lists moved = lists;
        moved.position = drift.moved;
        moved.box = current;
        pt_ok(s, pith_read(s, drift.moved, smaller, (size_t)n * 24));
        int64_t expected = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double r2 = 0;
                for (int d = 0; d < 3; d++) {
                    const double e =
                        nearest(smaller[3 * i + d] - smaller[3 * j + d], now[d]);
                    r2 += e * e;
                }
                expected += i != j && r2 < CUTOFF * CUTOFF;
            }
        if (!stale)
            cr_assert_eq(pairs_within_cutoff(s, &moved, n, 192), expected, "%d %%",
                         percent);
    }
    cr_assert(was_stale);
    pith_scope_close(s);
    pt_close(rt);
}

Test(melt_kernels, a_box_too_small_or_a_lost_atom_is_an_error) {
    static double position[3 * MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(2, 0, box, position);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_fails(PITH_E_CHECK, s,
             (build(s, PITH_F64, n, position, box, 3.4, 128), pith_wait(s), 0));
    pt_says("melt_cells");
    position[20] = NAN;
    pt_fails(PITH_E_CHECK, s,
             (build(s, PITH_F64, n, position, box, 2.0, 128), pith_wait(s), 0));
    pt_says("melt_fold");
    pt_says("index 6");
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Forces and energies ---- */

typedef struct observed {
    double energy, virial, force[3 * MOST_ATOMS];
} observed;

static void reference(int64_t n, const double *x, const double box[3], observed *o) {
    *o = (observed){0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double d[3], r2 = 0;
            for (int k = 0; k < 3; k++) {
                d[k] = nearest(x[3 * i + k] - x[3 * j + k], box[k]);
                r2 += d[k] * d[k];
            }
            if (i == j || r2 >= CUTOFF * CUTOFF)
                continue;
            const double s6 = 1 / (r2 * r2 * r2), f = (48 * s6 * s6 - 24 * s6) / r2;
            o->energy += 2 * (s6 * s6 - s6);
            o->virial += f * r2 / 2;
            for (int k = 0; k < 3; k++)
                o->force[3 * i + k] += f * d[k];
        }
}

static void forces_agree(pith_dtype real, double force_bound, double energy_bound) {
    static double position[3 * MOST_ATOMS], energy[MOST_ATOMS], virial[MOST_ATOMS];
    static double force[3 * MOST_ATOMS];
    static int32_t id[MOST_ATOMS];
    static observed expected;
    double box[3], sum = 0, pressure = 0;
    const int64_t n = crystal(6, 0.25, box, position);
    reference(n, position, box, &expected);
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const melt_lists r = build(s, real, n, position, box, CUTOFF + SKIN, 128);
    const pith_array *f = pith_launch(s, melt_force, r.position, r.velocity, r.neighbour,
                                      r.count, r.box, CUTOFF, 0.0)
                              .force;
    const melt_observe_result o = pith_launch(s, melt_observe, r.position, r.velocity,
                                              r.neighbour, r.count, r.box, CUTOFF);
    pt_ok(s, pith_read(s, pith_cast(s, f, PITH_F64), force, (size_t)n * 24));
    pt_ok(s, pith_read(s, r.id, id, (size_t)n * 4));
    pt_ok(s, pith_read(s, o.energy, energy, (size_t)n * 8));
    pt_ok(s, pith_read(s, o.virial, virial, (size_t)n * 8));
    for (int64_t i = 0; i < n; i++) {
        sum += energy[i];
        pressure += virial[i];
        for (int d = 0; d < 3; d++) {
            const double got = force[3 * i + d], want = expected.force[3 * id[i] + d];
            cr_assert(fabs(got - want) <= force_bound, "atom %lld: %g, expected %g",
                      (long long)i, got, want);
        }
    }
    pt_close_64(sum, expected.energy, energy_bound);
    pt_close_64(pressure, expected.virial, energy_bound);
    pith_scope_close(s);
    pt_close(rt);
}
Test(melt_kernels, forces_and_energies_agree_with_all_pairs) {
    forces_agree(PITH_F64, 1e-8, 1e-12);
}
Test(melt_kernels, forces_in_single_precision_agree_to_its_precision) {
    forces_agree(PITH_F32, 2e-1, 1e-3);
}

Test(melt_kernels, two_atoms_at_one_place_are_an_error) {
    double position[] = {1, 1, 1, 5, 5, 5, 1, 1, 1}, box[] = {8, 8, 8};
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const melt_lists r = build(s, PITH_F64, 3, position, box, CUTOFF + SKIN, 8);
    pt_fails(PITH_E_CHECK, s,
             (pith_launch(s, melt_observe, r.position, r.velocity, r.neighbour, r.count,
                          r.box, CUTOFF),
              pith_wait(s), 0));
    pt_says("melt_observe");
    pith_scope_close(s);
    pt_close(rt);
}

/* ---- Steps ---- */

enum { STEPS = 12 };

/* A few steps with rebuilds; the bits of where they end. */
static uint64_t run(int threads, pith_dtype real) {
    static double position[3 * MOST_ATOMS];
    double box[3];
    const int64_t n = crystal(6, 0.2, box, position);
    uint64_t hash = 1469598103934665603u;
    pith_runtime *rt =
        pith_open(&(pith_open_options){.device = "host", .threads = threads});
    pith_scope *s = pith_scope_open(rt);
    melt_lists r = build(s, real, n, position, box, CUTOFF + SKIN, 128);
    const pith_array *x = r.position, *origin = x;
    melt_force_result f = pith_launch(s, melt_force, x, r.velocity, r.neighbour, r.count,
                                      r.box, CUTOFF, 0.0);
    int rebuilds = 0;
    for (int step = 0; step < STEPS; step++) {
        const melt_drift_result d =
            pith_launch(s, melt_drift, x, f.kicked, f.force, origin, r.box, r.box, 0.005,
                        1.0, CUTOFF, SKIN);
        const pith_array *velocity = d.kicked;
        x = d.moved;
        if (pith_read_i64(s, d.stale)) {
            pt_ok(s, pith_read(s, pith_cast(s, x, PITH_F64), position, (size_t)n * 24));
            r = rebuild(s, real, n, position, box, CUTOFF + SKIN, 128, velocity, r.id);
            x = origin = r.position;
            velocity = r.velocity;
            rebuilds++;
        }
        f = pith_launch(s, melt_force, x, velocity, r.neighbour, r.count, r.box, CUTOFF,
                        0.005);
    }
    cr_assert(rebuilds > 0, "the test never rebuilt");
    const pith_array *ends[] = {x, f.kicked, f.force, r.id};
    for (int k = 0; k < 4; k++) {
        static uint8_t bytes[24 * MOST_ATOMS];
        const size_t size = pith_array_spec(ends[k])->bytes;
        pt_ok(s, pith_read(s, ends[k], bytes, size));
        for (size_t b = 0; b < size; b++)
            hash = (hash ^ bytes[b]) * 1099511628211u;
    }
    pith_scope_close(s);
    pith_close(rt);
    return hash;
}

Test(melt_kernels, steps_depend_neither_on_threads_nor_on_the_instruction_set) {
    static const pith_dtype reals[] = {PITH_F64, PITH_F32};
    static const char *const isas[] = {"base", "v3", "v4"}; /* or the best there is */
    for (int r = 0; r < 2; r++) {
        const uint64_t one = run(1, reals[r]);
        cr_assert_eq(run(2, reals[r]), one);
        cr_assert_eq(run(8, reals[r]), one);
        for (int isa = 0; isa < 3; isa++) {
            setenv("PITH_ISA", isas[isa], 1);
            cr_assert_eq(run(2, reals[r]), one, "%s, %s", pith_dtype_name(reals[r]),
                         isas[isa]);
        }
        unsetenv("PITH_ISA");
    }
}
