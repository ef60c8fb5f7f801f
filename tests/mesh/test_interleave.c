/* Random interleavings of functions over shards: the same random calls on every rank,
 * with delays. A rank may fail before a call, which then fails on all and is made again;
 * or die; or its engine refuses a call. No rank waits for ever, and what is computed does
 * not depend on any of it. */
#include "mesh/fake/fake.h"
#include "mesh/shard_trees.h"
#include "pith_test.h"
#include "series.h"

#include <string.h>

enum { STEPS = 10, ATOMS = 13 };

typedef enum trouble { NO_TROUBLE, FAILURES, A_DEATH, A_REFUSAL, TROUBLES } trouble;

/* A job: a sequence of calls by its seed, and the digests of what they made. */
typedef struct sequence {
    uint64_t calls, faults; /* seeds */
    trouble trouble;
    int64_t at, victim;      /* step and rank of a death */
    uint64_t digests[STEPS]; /* of a job without trouble */
    bool known;              /* these are set, and compared */
} sequence;

static int64_t draw(uint64_t *state, int64_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

/* ---- Calls: each makes the next state ---- */

static const ShardAtoms *pull_rows(pith_scope *s, const ShardAtoms *in) {
    const pith_collective_options used = {.rows = in->count};
    const pith_array *sum = pith_psum_rows(s, in->position, NULL, &used);
    ShardAtoms next = *in;
    next.position = pith_sub(s, in->position, pith_mul(s, sum, 0.03125));
    next.box = pith_mul(s, pith_add(s, in->box, pith_mul(s, sum, 0.125)), 0.5);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(pull_rows_function, pull_rows, ShardAtoms, ShardAtoms)

static const pith_array *
weigh(pith_scope *s, const pith_array *box, const pith_array *position) {
    const pith_array *each = pith_mul(s, position, pith_sin(s, box));
    return pith_psum(s, pith_sum(s, each, PITH_ALL_AXES), NULL, NULL);
}
PITH_FUNCTION2(weigh_function, weigh, pith_array, pith_array, pith_array)
static const ShardAtoms *descend(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    const pith_array *slope =
        pith_apply(s, pith_grad(s, &weigh_function, NULL), in->box, in->position);
    next.box = pith_sub(s, in->box, pith_mul(s, pith_tanh(s, slope), 0.125));
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(descend_function, descend, ShardAtoms, ShardAtoms)

static const ShardAtoms *need_room(pith_scope *s, const ShardAtoms *in) {
    const pith_array *need =
        pith_add(s, pith_mul(s, pith_axis_index(s, NULL), 3), pith_i32(s, ATOMS));
    pith_capacity_require(
        s, pith_lens_capacity(s, PITH_LENS(ShardAtoms, max), in->max, 2.0), need);
    return pull_rows(s, in);
}
PITH_FUNCTION1(need_room_function, need_room, ShardAtoms, ShardAtoms)

static const ShardAtoms *
pull_at(pith_scope *s, const pith_array *i, const ShardAtoms *in) {
    (void)i;
    return pith_apply(s, pith_shard_map(s, &pull_rows_function, NULL), in);
}
PITH_FUNCTION2(pull_at_function, pull_at, ShardAtoms, pith_array, ShardAtoms)
static const ShardAtoms *pull_often(pith_scope *s, const ShardAtoms *in) {
    return pith_fori(s, 0, 3, &pull_at_function, in);
}
PITH_FUNCTION1(pull_often_function, pull_often, ShardAtoms, ShardAtoms)

/* Rows go around, by a halo and back. */
static const ShardAtoms *pass_on(pith_scope *s, const ShardAtoms *in) {
    ShardAtoms next = *in;
    const pith_array *wide = pith_halo(s, in->position, 0, NULL, 1, 2, true);
    next.position = pith_mul(s, pith_halo_add(s, wide, 0, NULL, 1, 2, true), 0.25);
    return pith_freeze(s, ShardAtoms, &next);
}
PITH_FUNCTION1(pass_on_function, pass_on, ShardAtoms, ShardAtoms)

enum { CALLS = 8 };

/* The functions of the calls: a scope that has failed makes none. */
typedef struct functions {
    const pith_function *pulls, *pulls_compiled, *descends, *grows, *grows_compiled,
        *pulls_often, *passes_on;
} functions;

static functions make_functions(pith_scope *s) {
    functions f = {.pulls = pith_shard_map(s, &pull_rows_function, NULL),
                   .descends = pith_shard_map(s, &descend_function, NULL),
                   .grows = pith_shard_map(s, &need_room_function, NULL),
                   .pulls_often = pith_jit(s, &pull_often_function, NULL),
                   .passes_on = pith_shard_map(s, &pass_on_function, NULL)};
    f.pulls_compiled = pith_jit(s, f.pulls, NULL);
    f.grows_compiled = pith_jit(s, f.grows, NULL);
    return f;
}

static const ShardAtoms *
make_call(pith_scope *s, const functions *f, int64_t call, const ShardAtoms *a) {
    switch (call) {
        case 0:
            return pith_apply(s, f->pulls, a);
        case 1:
            return pith_apply(s, f->pulls_compiled, a);
        case 2:
            return pith_apply(s, f->descends, a);
        case 3:
            return pith_propagate(s, ShardAtoms, f->grows_compiled, a, NULL);
        case 4:
            return pith_apply(s, f->pulls_often, a);
        case 5:
            return pith_apply(s, f->passes_on, a);
        case 6:
            return pith_shard(s, pith_unshard(s, a, -1), NULL);
        default:
            pith_unshard(s, a, 0);
            return pith_propagate(s, ShardAtoms, f->grows, a, NULL);
    }
}

/* ---- Jobs ---- */

static uint64_t digest_of(pith_scope *s, const ShardAtoms *a) {
    double x[64];
    uint64_t h = 0;
    const ShardAtoms *whole = pith_unshard(s, a, -1);
    const pith_array *const leaves[] = {whole->position, whole->box};
    for (int k = 0; k < 2 && whole->position; k++) {
        const size_t bytes = pith_array_spec(leaves[k])->bytes;
        if (bytes <= sizeof x && pith_read(s, leaves[k], x, bytes))
            h = pithp_hash(h, x, bytes);
    }
    return h;
}

/* A call that one rank cannot make. */
static void fail_once(fake_rank *r,
                      const functions *f,
                      const ShardAtoms *a,
                      int64_t call,
                      int64_t victim) {
    pith_scope *in = pith_scope_open_in(r->s);
    if (r->rank == victim)
        pith_fail(in, PITH_E_CHECK, NULL, "by chance");
    make_call(in, f, call, a);
    FAKE_CHECK(r, pith_code(in) == (r->rank == victim ? PITH_E_CHECK : PITH_E_PEER));
    FAKE_CHECK(r, strstr(pith_message(in), "by chance"));
    pith_clear(in);
    pith_scope_close(in);
}

static void run_sequence(fake_rank *r) {
    sequence *q = r->closure;
    uint64_t calls = q->calls, faults = q->faults;
    mesh_test t = {.s = r->s, .rank = r->rank, .size = pith_axis_size(r->s, NULL)};
    const bool ends = q->trouble == A_DEATH || q->trouble == A_REFUSAL;
    const ShardAtoms *a = pith_shard(r->s, atoms_of(&t, ATOMS, ATOMS), NULL);
    const functions f = make_functions(r->s);
    bool recorded[CALLS] = {false}; /* so that a failed rank knows of its collectives */
    for (int64_t k = 0; k < STEPS && !pith_failed(r->s); k++) {
        const int64_t call = draw(&calls, CALLS), victim = draw(&faults, 3 * t.size);
        if (q->trouble == A_DEATH && k == q->at && r->rank == q->victim) {
            fake_die(r);
            return;
        }
        if (q->trouble == FAILURES && victim < t.size && recorded[call])
            fail_once(r, &f, a, call, victim);
        recorded[call] = true;
        a = make_call(r->s, &f, call, a);
        const uint64_t digest = pith_failed(r->s) ? 0 : digest_of(r->s, a);
        if (pith_failed(r->s))
            break;
        if (q->known)
            FAKE_CHECK(r, digest == q->digests[k]);
        else if (r->rank == 0)
            q->digests[k] = digest;
    }
    if (!ends)
        FAKE_CHECK(r, !pith_failed(r->s));
    else if (pith_failed(r->s))
        FAKE_CHECK(r, pith_code(r->s) == PITH_E_PEER);
}

static void check_job(const sequence *q, int size, const fake_result *result) {
    const bool ends = q->trouble == A_DEATH || (q->trouble == A_REFUSAL &&
                                                result->ended); /* late refusals: none */
    cr_assert(result->failures == 0 && result->ended == (ends ? 70 : 0),
              "calls %llu, faults %llu on %d, trouble %d: ended %d: %s",
              (unsigned long long)q->calls, (unsigned long long)q->faults, size,
              q->trouble, result->ended, result->report);
    if (ends)
        cr_assert(strstr(result->report, q->trouble == A_DEATH
                                             ? ": its process ended without pith_close"
                                             : ": the fake engine refuses"),
                  "%s", result->report);
}

static void run_jobs(trouble only) {
    const uint64_t first = pt_series_first(1);
    for (uint64_t seed = first; seed < first + (uint64_t)pt_series(24); seed++) {
        const int size = 2 + (int)(seed % 3);
        uint64_t chance = seed * 977;
        sequence q = {.calls = seed / 8};
        const fake_options quiet = {.size = size, .timeout = 60, .closure = &q};
        fake_result result = fake_run(&quiet, run_sequence);
        check_job(&q, size, &result);
        q.known = true;
        q.faults = seed;
        q.trouble = only;
        q.at = draw(&chance, STEPS);
        q.victim = draw(&chance, size);
        fake_options loud = quiet;
        loud.seed = seed;
        loud.refuse_rank = only == A_REFUSAL ? q.victim : 0;
        loud.refuse_at = only == A_REFUSAL ? 12 + draw(&chance, 200) : 0;
        result = fake_run(&loud, run_sequence);
        check_job(&q, size, &result);
    }
}

/* The engine of a rank refuses each of its calls, which leaves what it would have
 * written: no rank reads that. */
Test(interleave, every_call_of_an_engine_may_be_refused, .timeout = 300) {
    sequence q = {.calls = 12505, .trouble = A_REFUSAL};
    int ended = 0;
    for (int64_t at = 12; at < 132; at += pt_apart()) {
        const fake_options refusing = {.size = 3,
                                       .timeout = 60,
                                       .closure = &q,
                                       .refuse_rank = at % 3,
                                       .refuse_at = at};
        const fake_result result = fake_run(&refusing, run_sequence);
        check_job(&q, 3, &result);
        ended += result.ended != 0;
    }
    cr_assert(ended > 100 / pt_apart(), "%d jobs were ended", ended);
}

Test(interleave, delays) {
    run_jobs(NO_TROUBLE);
}
Test(interleave, failures) {
    run_jobs(FAILURES);
}
Test(interleave, deaths) {
    run_jobs(A_DEATH);
}
Test(interleave, refusals) {
    run_jobs(A_REFUSAL);
}
