/* Concatenations and paddings that fused steps read piece by piece give the bits of
 * copied ones, interpreted, compiled and as CUDA reads them, in loops and outside of
 * them; and none of those that are worth it is copied. */
#include "fuse_concat_test.h"
#include "series.h"

/* ---- Moves ---- */

/* Values before and behind, of some negative: elements are cut off. */
static pithp_value pad(building *x, pithp_value v, int64_t low, int64_t high) {
    const pith_spec *spec = spec_of(x, v);
    const pithp_value fill = filling(x, spec->dtype);
    pithp_pad_params params = {{0}, {0}, {0}};
    for (int d = 0; d < spec->rank; d++)
        if (pick(x, 0, 2) && spec->shape[d] + low + high >= 0) {
            params.low[d] = low;
            params.high[d] = high;
        }
    return add(x, PITHP_OP_PAD, 2, (pithp_value[]){v, fill}, &params);
}

/* Every k-th element of an axis, forwards or backwards. */
static pithp_value stride(building *x, pithp_value v, int axis) {
    const pith_spec *spec = spec_of(x, v);
    const int64_t n = spec->shape[axis], by = pick(x, 1, 3);
    pithp_slice_params params = {{0}, {0}, {0}};
    for (int d = 0; d < spec->rank; d++) {
        params.limit[d] = spec->shape[d];
        params.step[d] = 1;
    }
    if (pick(x, 0, 1)) {
        params.step[axis] = by;
    } else {
        params.start[axis] = n - 1;
        params.limit[axis] = -1;
        params.step[axis] = -by;
    }
    return n ? add(x, PITHP_OP_SLICE, 1, &v, &params) : v;
}

static pithp_value turn(building *x, pithp_value v) {
    const pithp_reverse_params params = {
        (uint32_t)pick(x, 1, (1 << spec_of(x, v)->rank) - 1)};
    return add(x, PITHP_OP_REVERSE, 1, &v, &params);
}

/* The first two axes of three change places; fewer stay. */
static pithp_value swap(const building *x, pithp_value v) {
    const pithp_transpose_params params = {{1, 0, 2}};
    return spec_of(x, v)->rank == 3 ? add(x, PITHP_OP_TRANSPOSE, 1, &v, &params) : v;
}

static pithp_value broadcast(const building *x, pithp_value v) {
    const pith_spec *spec = spec_of(x, v);
    pithp_broadcast_params params = {.rank = spec->rank + 1, .shape = {3}};
    if (spec->rank == 3)
        return v;
    for (int d = 0; d < spec->rank; d++) {
        params.shape[d + 1] = spec->shape[d];
        params.dimensions[d] = d + 1;
    }
    return add(x, PITHP_OP_BROADCAST, 1, &v, &params);
}

static pithp_value move(building *x, pithp_value v) {
    const pith_spec *spec = spec_of(x, v);
    const int axis = (int)pick(x, 0, spec->rank - 1);
    const int64_t n = spec->shape[axis];
    const bool fits = 4 * spec->count < x->most; /* what is not used is planned, too */
    switch (pick(x, fits ? 0 : 2, 9)) {
        case 0:
            return pad(x, v, pick(x, -1, 2), pick(x, -1, 2));
        case 1:
            return pad(x, v, 0, pick(x, 0, x->most / 500));
        case 2:
            return part(x, v, axis, pick(x, 0, n / 2), pick(x, (n + 1) / 2, n));
        case 3:
            return stride(x, v, axis);
        case 4:
            return turn(x, v);
        case 5:
            return swap(x, v);
        case 6:
            return fits ? broadcast(x, v) : v;
        case 7:
            return fits ? join(x, v, v, axis) : v;
        default:
            return roll(x, v, axis, pick(x, 0, n));
    }
}

/* ---- Expressions ---- */

/* What is moved some times, read by an instruction that fuses. */
static pithp_value moved(building *x, pithp_value v) {
    for (int64_t times = pick(x, 1, 4); times > 0; times--) {
        const pithp_value next = move(x, v);
        const int64_t count = spec_of(x, next)->count;
        if (count < x->most && (count > 0 || pick(x, 0, 9) == 0)) /* nothing, sometimes */
            v = next;
    }
    return v;
}

static pithp_value expression(building *x, pithp_value v) {
    const pithp_value a = moved(x, v);
    const pith_spec *spec = spec_of(x, a);
    pithp_value b = pick(x, 0, 1) ? a : moved(x, a);
    if (!pithp_same_shape(spec_of(x, b), spec))
        b = roll(x, a, spec->rank - 1, pick(x, 0, spec->shape[spec->rank - 1]));
    return add(x, PITHP_OP_MAX, 2, (pithp_value[]){add(x, PITHP_OP_NEG, 1, &a, NULL), b},
               NULL);
}

static const int64_t shapes[][4] = {/* rank, extents */
                                    {1, 1},       {1, 7},       {1, 5000},    {2, 1, 200},
                                    {2, 70, 1},   {2, 5, 3},    {2, 30, 100}, {2, 400, 4},
                                    {3, 4, 5, 6}, {3, 3, 6, 80}};
static const pith_dtype dtypes[] = {PITH_F64, PITH_I16, PITH_F32, PITH_U8};
/* ---- Outside of loops ---- */

static void random_views(uint64_t seed) {
    bench b = begin();
    building x = {&b, b.p, {.state = seed * 0x9e3779b97f4a7c15u + 7}, 40000};
    const int64_t *shape = shapes[seed % PITHP_COUNT(shapes)];
    const pith_dtype dtype = dtypes[seed / 3 % PITHP_COUNT(dtypes)];
    const pithp_value v = input(&b, dtype, (int)shape[0], shape + 1, memory);
    fill_memory(&x, spec_of(&x, v));
    const pithp_value w = add(&x, PITHP_OP_MAX, 2, (pithp_value[]){v, v}, NULL);
    for (int k = 0; k < 16; k++) {
        const pithp_value made = expression(&x, k % 2 ? v : w);
        pithp_program_output(b.s, b.p, made);
        if (k % 4 == 0) { /* pieces of what is in pieces, and reduced */
            const pithp_value again = expression(&x, made);
            const pithp_reduce_params all = {(1u << spec_of(&x, again)->rank) - 1};
            pithp_program_output(b.s, b.p, add(&x, PITHP_OP_MAX_OF, 1, &again, &all));
        }
    }
    char name[40];
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    expect_same(&b, name);
    expect_scheduled(&b, name);
    end(&b);
}

Test(fuse_concat, of_random_views_outside_of_loops, .timeout = 600) {
    use_cache();
    for (int64_t seed = 0; seed < pt_series(24); seed++)
        random_views((uint64_t)seed);
}

/* ---- In loops ---- */

/* A scan whose rows are its constant, moved, and whose carry counts. */
static void random_loop(uint64_t seed) {
    static const int64_t start = 0, one = 1;
    bench b = begin();
    pithp_program *body = pithp_program_make(b.s);
    building x = {&b, body, {.state = seed * 0x9e3779b97f4a7c15u + 9}, 4000};
    const int64_t *shape = shapes[seed % PITHP_COUNT(shapes)];
    const pith_dtype dtype = dtypes[seed / 3 % PITHP_COUNT(dtypes)];
    const int64_t extents[] = {shape[1] % 4000, shape[2], shape[3]};
    const pithp_value v = input(&b, dtype, (int)shape[0], extents, memory);
    const pithp_value in = pithp_program_input(b.s, body, pithp_value_spec(b.p, v));
    fill_memory(&x, pithp_value_spec(b.p, v));
    const pithp_value count =
        pithp_program_input(b.s, body, pithp_spec(b.s, PITH_I64, 0, NULL));
    const pithp_value unit =
        pithp_program_literal(b.s, body, pithp_spec(b.s, PITH_I64, 0, NULL), &one);
    pithp_program_output(b.s, body, op_in(&b, body, PITHP_OP_ADD, count, unit));
    const pithp_value w = add(&x, PITHP_OP_MAX, 2, (pithp_value[]){in, in}, NULL);
    int made = 0;
    for (int k = 0; k < 24 && made < 8; k++) {
        const pithp_value e = expression(&x, k % 2 ? in : w);
        if (spec_of(&x, e)->count <= 1000) {
            pithp_program_output(b.s, body, e);
            made++;
        }
    }
    const pithp_loop_params params = {.length = 2, .constants = 1, .carries = 1};
    const pithp_value operands[] = {v, input(&b, PITH_I64, 0, NULL, &start)};
    const pithp_value first = control(&b, PITHP_OP_SCAN, &params, 2, operands, 1, &body);
    for (int k = 0; k <= made; k++)
        pithp_program_output(b.s, b.p, first + k);
    expect_compiled_loop(&b);
    expect_scheduled(&b, "loop");
    end(&b);
}

Test(fuse_concat, of_random_views_in_loops, .timeout = 600) {
    use_cache();
    for (int64_t seed = 0; seed < pt_series(24); seed++)
        random_loop((uint64_t)seed);
}

/* ---- What is copied ---- */

static int count_copies(const bench *b) {
    pithp_executable *exe = plan_of(b, "off");
    int copies = 0;
    for (int64_t k = 0; k < exe->plan->step_count; k++) {
        const pithp_instruction *i = exe->plan->steps[k].call;
        copies +=
            i && (i->primitive == PITHP_OP_CONCATENATE || i->primitive == PITHP_OP_PAD);
    }
    pithp_executable_free(exe);
    return copies;
}

/* The sum over all neighbours of a periodic lattice, each way along each axis. */
static pithp_value neighbours(const building *x, pithp_value v) {
    const pith_spec *spec = spec_of(x, v);
    pithp_value sum = v;
    for (int d = 0; d < spec->rank; d++)
        for (int way = 0; way < 2; way++) {
            const pithp_value next = roll(x, v, d, way ? 1 : spec->shape[d] - 1);
            sum = add(x, PITHP_OP_MAX, 2, (pithp_value[]){sum, next}, NULL);
        }
    return sum;
}

Test(fuse_concat, of_periodic_stencils_are_not_copied, .timeout = 100) {
    static const int64_t sides[][4] = {{1, 6000}, {2, 80, 75}, {3, 10, 10, 70}};
    use_cache();
    for (int k = 0; k < 3; k++) {
        bench b = begin();
        building x = {&b, b.p, {.state = 1}, 0};
        const pithp_value v = input(&b, PITH_F64, (int)sides[k][0], sides[k] + 1, memory);
        fill_memory(&x, spec_of(&x, v));
        const pithp_value sum = neighbours(&x, v);
        const pithp_value diagonal = roll(&x, roll(&x, v, 0, 3), (int)sides[k][0] - 1, 2);
        pithp_program_output(b.s, b.p, sum);
        pithp_program_output(b.s, b.p, add(&x, PITHP_OP_NEG, 1, &diagonal, NULL));
        cr_expect_eq(count_copies(&b), 0, "%d copies", count_copies(&b));
        expect_same(&b, "stencil");
        cr_expect_gt(expect_scheduled(&b, "stencil").choose, 0);
        end(&b);
    }
}

/* Of every dtype, with what is nested, empty, cut off or padded between: the last is
 * copied, and so is no other. */
Test(fuse_concat, of_every_dtype_are_chosen_on_a_device, .timeout = 300) {
    static const int64_t shape[] = {6, 5};
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 3}, 1000};
    const pithp_value given = input(&b, PITH_F64, 2, shape, memory);
    fill_memory(&x, spec_of(&x, given));
    const pithp_value which =
        add(&x, PITHP_OP_LT, 2, (pithp_value[]){given, roll(&x, given, 0, 2)}, NULL);
    for (int d = PITH_DTYPE_NONE + 1; d < PITH_DTYPE_COUNT; d++) {
        const pithp_cast_params to = {(pith_dtype)d};
        const pithp_value v =
            d == PITH_F64 ? given : add(&x, PITHP_OP_CAST, 1, &given, &to);
        const pithp_value none = part(&x, v, 0, 2, 2);
        const pithp_value padded = pad_axis(&x, part(&x, v, 0, 1, 4), 0, 2, -1, 0);
        const pithp_value joined =
            join(&x, join(&x, padded, none, 0),
                 pad_axis(&x, part(&x, v, 0, 0, 1), 0, 0, 1, 0), 0);
        const pithp_value corners = roll(&x, roll(&x, v, 0, 1), 1, 4);
        const pithp_value spread = pad_axis(&x, part(&x, v, 1, 1, 4), 1, -1, 1, 1);
        const pithp_value pairs[][2] = {{joined, corners}, {v, corners}, {v, spread}};
        for (int k = 0; k < 3; k++)
            pithp_program_output(b.s, b.p,
                                 add(&x, PITHP_OP_WHERE, 3,
                                     (pithp_value[]){which, pairs[k][0], pairs[k][1]},
                                     NULL));
    }
    cr_assert_gt(expect_scheduled(&b, "dtypes").choose, 3);
    end(&b);
}

/* Equal work on many leaves is one launch of a device where their pieces are cut alike,
 * by pads as by rolls; the last one, which reads what another made, runs after them. */
Test(fuse_concat, of_leaves_that_are_cut_alike_are_one_task, .timeout = 100) {
    enum { PADDED = 3, LEAVES = 8, LAST = LEAVES - 1 };
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 5}, 0};
    pithp_value leaves[LEAVES], made = -1;
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = input(&b, PITH_F64, 1, (const int64_t[]){20 + k}, memory + 512 * k);
    for (int k = 0; k < LEAVES; k++) {
        const int64_t n = 20 + k;
        const pithp_value v = leaves[k];
        const pithp_value moved =
            k == PADDED ? pad_axis(&x, v, 0, 1, -1, 0)
            : k == LAST ? join(&x, part(&x, made, 0, 1, n - 1), part(&x, v, 0, 0, 2), 0)
                        : roll(&x, v, 0, 1 + k);
        made = add(&x, PITHP_OP_MAX, 2, (pithp_value[]){v, moved}, NULL);
        pithp_program_output(b.s, b.p, made);
    }
    fill_memory(&x, pithp_spec(b.s, PITH_F64, 1, (const int64_t[]){512 * LEAVES / 8}));
    const kernels found = expect_scheduled(&b, "leaves");
    cr_assert_eq(found.many, 1);
    cr_assert_eq(found.choose, 1);
    end(&b);
}

/* What has short rows, what others than fused steps read, and what is an output. */
Test(fuse_concat, that_cost_more_than_a_copy_are_copied, .timeout = 100) {
    static const int64_t shape[] = {2000, 3};
    use_cache();
    bench b = begin();
    building x = {&b, b.p, {.state = 1}, 0};
    const pithp_value v = input(&b, PITH_F64, 2, shape, memory);
    fill_memory(&x, spec_of(&x, v));
    const pithp_value made[] = {roll(&x, v, 1, 1), roll(&x, v, 0, 1), roll(&x, v, 0, 2)};
    const pithp_scan_params along = {.axis = 1};
    for (int k = 0; k < 3; k++)
        pithp_program_output(b.s, b.p, add(&x, PITHP_OP_NEG, 1, &made[k], NULL));
    pithp_program_output(b.s, b.p, made[1]);
    pithp_program_output(b.s, b.p, add(&x, PITHP_OP_CUMSUM, 1, &made[2], &along));
    cr_expect_eq(count_copies(&b), 3, "%d copies", count_copies(&b));
    expect_same(&b, "copied");
    expect_scheduled(&b, "copied");
    end(&b);
}

/* A donated array that is read in pieces is not written before it was. */
Test(fuse_concat, are_no_memory_for_results, .timeout = 100) {
    bench b = begin();
    building x = {&b, b.p, {.state = 1}, 0};
    const int64_t n = 5000;
    const pithp_value v = input(&b, PITH_F64, 1, &n, memory);
    pithp_program_output(
        b.s, b.p, add(&x, PITHP_OP_ADD, 2, (pithp_value[]){v, roll(&x, v, 0, 1)}, NULL));
    pithp_executable *exe = plan_of(&b, "off");
    int64_t output = 0;
    pithp_plan_reuse(b.s, exe->plan, NULL, (const int64_t[]){0}, 1, &output);
    cr_assert_eq(output, -1);
    pithp_executable_free(exe);
    end(&b);
}

/* Work that is enqueued reads where pieces are when the executable is gone. */
Test(fuse_concat, outlive_their_plan, .timeout = 100) {
    enum { N = 5000 };
    static double got[N];
    setenv("PITH_HOST_ASYNC", "1", 1);
    bench b = begin();
    building x = {&b, b.p, {.state = 1}, 0};
    const int64_t n = N;
    const pithp_value v = input(&b, PITH_F64, 1, &n, memory), rolled = roll(&x, v, 0, 3);
    for (int64_t k = 0; k < N; k++)
        memcpy(memory + k * 8, &(double){(double)k}, 8);
    pithp_program_output(b.s, b.p, add(&x, PITHP_OP_NEG, 1, &rolled, NULL));
    pithp_executable *exe = plan_of(&b, "off");
    pithp_executable_run(b.s, exe, b.inputs, (void *[]){got});
    pithp_executable_free(exe);
    pith_wait(b.s);
    for (int64_t k = 0; k < N; k++)
        cr_assert(got[k] == -(double)((k + N - 3) % N), "element %d", (int)k);
    end(&b);
}
