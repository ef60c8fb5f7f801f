/* On CUDA reductions of many leaves that need nothing of each other are one launch for
 * what all of them do first, one for what comes next. */
#include "fuse_concat_test.h"

enum { LEAVES = 10 };

/* Of a few elements, of more than a tree takes, and of several blocks. */
static const int64_t lengths[LEAVES] = {1, 40, 64, 65, 300, 4096, 4097, 9000, 7, 301};

/* A leaf of `count` elements. */
static pithp_value leaf(bench *b, int k, pith_dtype dtype, int64_t count) {
    return input(b, dtype, 1, &count, memory + 16 * k);
}

static pithp_value reduced(const building *x, pithp_primitive how, pithp_value v) {
    return add(x, how, 1, &v, &(pithp_reduce_params){1});
}

static pithp_value squared(const building *x, pithp_value v) {
    return add(x, PITHP_OP_MUL, 2, (pithp_value[]){v, v}, NULL);
}

static building begin_building(bench *b) {
    use_cache();
    *b = begin();
    building x = {b, b->p, {.state = 3}, 0};
    fill_memory(&x, pithp_spec(b->s, PITH_F32, 1, (const int64_t[]){12000}));
    return x;
}

/* Launches that a run takes; the bits are those of the calls. */
static int64_t launches_of(const bench *b, const char *what) {
    expect_scheduled(b, what);
    schedule_run scheduled = schedule_open(b->s, b->p);
    const int64_t launches = pithp_schedule_launches(scheduled.schedule);
    schedule_close(&scheduled);
    return launches;
}

Test(horizontal, reductions_of_one_kind_are_a_launch_a_level, .timeout = 300) {
    static const struct {
        pithp_primitive how;
        bool made;
        int64_t launches; /* after the bind */
    } cases[] = {
        /* short ones, teams, lanes, their trees, and those of blocks */
        {PITHP_OP_SUM, false, 5},    {PITHP_OP_MAX_OF, false, 5},
        {PITHP_OP_ARGMAX, false, 3}, /* candidates of 1, 2 and 3 levels */
        {PITHP_OP_SUM, true, 5},     {PITHP_OP_ARGMIN, true, 3},
    };
    for (int c = 0; c < PITHP_COUNT(cases); c++) {
        bench b;
        building x = begin_building(&b);
        pithp_value leaves[LEAVES];
        for (int k = 0; k < LEAVES; k++)
            leaves[k] = leaf(&b, k, PITH_F32, lengths[k]);
        for (int k = 0; k < LEAVES; k++) {
            const pithp_value v = cases[c].made ? squared(&x, leaves[k]) : leaves[k];
            pithp_program_output(b.s, b.p, reduced(&x, cases[c].how, v));
        }
        const int64_t launches = launches_of(&b, pithp_ops[cases[c].how].name);
        cr_assert(launches == 1 + cases[c].launches, "case %d: %lld", c,
                  (long long)launches);
        end(&b);
    }
}

/* Different ones, of several dtypes, with and without what makes their elements; what
 * reads them comes behind all. */
Test(horizontal, reductions_of_all_kinds_share_launches, .timeout = 300) {
    static const pith_dtype dtypes[] = {PITH_F32, PITH_I64, PITH_F64};
    bench b;
    building x = begin_building(&b);
    pithp_value leaves[LEAVES], sums[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = leaf(&b, k, dtypes[k % 3], lengths[k] / 2 + 1);
    for (int k = 0; k < LEAVES; k++) {
        sums[k] = reduced(&x, PITHP_OP_SUM, squared(&x, leaves[k]));
        pithp_program_output(b.s, b.p, reduced(&x, PITHP_OP_MIN_OF, leaves[k]));
        pithp_program_output(b.s, b.p, reduced(&x, PITHP_OP_ARGMAX, leaves[k]));
    }
    for (int k = 0; k < LEAVES; k++)
        pithp_program_output(b.s, b.p, add(&x, PITHP_OP_NEG, 1, &sums[k], NULL));
    const int64_t launches = launches_of(&b, "all kinds");
    cr_assert(launches <= 24, "%lld for %d reductions", (long long)launches, 3 * LEAVES);
    end(&b);
}

/* Those that are added up as they are made. */
Test(horizontal, reductions_between_sums_share_launches, .timeout = 300) {
    bench b;
    building x = begin_building(&b);
    pithp_value leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = leaf(&b, k, PITH_F32, 300 + k);
    pithp_value sum = reduced(&x, PITHP_OP_SUM, leaves[0]);
    for (int k = 1; k < LEAVES; k++) {
        const pithp_value own = reduced(&x, PITHP_OP_SUM, squared(&x, leaves[k]));
        sum = add(&x, PITHP_OP_ADD, 2, (pithp_value[]){sum, own}, NULL);
    }
    pithp_program_output(b.s, b.p, sum);
    pithp_program_output(b.s, b.p,
                         add(&x, PITHP_OP_MUL, 2, (pithp_value[]){leaves[0], sum}, NULL));
    const int64_t launches = launches_of(&b, "added up");
    cr_assert(launches == 5, "a bind, two kinds of teams, sums and a product: %lld",
              (long long)launches);
    end(&b);
}

/* Each reads what the one before made. */
Test(horizontal, reductions_that_need_each_other_are_in_order, .timeout = 300) {
    bench b;
    building x = begin_building(&b);
    pithp_value leaves[LEAVES];
    for (int k = 0; k < LEAVES; k++)
        leaves[k] = leaf(&b, k, PITH_F32, 300);
    pithp_value scale = reduced(&x, PITHP_OP_MAX_OF, leaves[0]);
    for (int k = 1; k < LEAVES; k++) {
        const pithp_value scaled =
            add(&x, PITHP_OP_MUL, 2, (pithp_value[]){leaves[k], scale}, NULL);
        scale = reduced(&x, k % 2 ? PITHP_OP_MIN_OF : PITHP_OP_MAX_OF, scaled);
        pithp_program_output(b.s, b.p, scale);
    }
    const int64_t launches = launches_of(&b, "in order");
    cr_assert(launches >= 1 + LEAVES, "%lld", (long long)launches);
    end(&b);
}

/* A result that is made in an input's memory waits for those that read the input, which
 * searches do again and again. */
Test(horizontal, results_in_the_memory_of_inputs_are_in_order, .timeout = 300) {
    enum { ROW = 100, PAIRS = 5 };
    static float rising[PAIRS][ROW], falling[PAIRS][2 * ROW];
    bench b;
    building x = begin_building(&b);
    int64_t given[PAIRS], chosen[PAIRS], greatest[PAIRS];
    pithp_value in[2 * PAIRS];
    void *outputs[2 * PAIRS];
    for (int k = 0; k < PAIRS; k++) {
        for (int i = 0; i < 2 * ROW; i++) {
            rising[k][i % ROW] = (float)(k + i % ROW);
            falling[k][i] = (float)-(k + i % ROW);
        }
        in[k] = input(&b, PITH_F32, 1, (const int64_t[]){ROW}, rising[k]);
        given[k] = k;
        outputs[k] = &greatest[k];
    }
    for (int k = 0; k < PAIRS; k++)
        in[PAIRS + k] = input(&b, PITH_F32, 2, (const int64_t[]){2, ROW}, falling[k]);
    for (int k = 0; k < 2 * PAIRS; k++)
        pithp_program_output(
            b.s, b.p, reduced(&x, k < PAIRS ? PITHP_OP_ARGMAX : PITHP_OP_SUM, in[k]));
    schedule_run scheduled = schedule_open_reusing(b.s, b.p, given, PAIRS, chosen);
    for (int k = 0; k < PAIRS; k++) {
        cr_assert(chosen[k] >= PAIRS, "output %d", (int)chosen[k]);
        outputs[chosen[k]] = rising[k];
    }
    schedule_inputs(&scheduled, b.inputs, outputs);
    for (int k = 0; k < PAIRS; k++) {
        const float *sums = outputs[PAIRS + k];
        cr_assert(greatest[k] == ROW - 1, "%d: %d", k, (int)greatest[k]);
        for (int i = 0; i < ROW; i++)
            cr_assert(sums[i] == (float)(-2 * (k + i)));
    }
    schedule_close(&scheduled);
    end(&b);
}
