/* A program of ranks under a launcher of MPI: mpi_program WHAT. mpi.sh says what must
 * come of it. */
#include "base/environment.h"
#include "mesh/cases.h"
#include "mesh/world.h"

#include <pith/pith.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pith_runtime *rt;
static pith_scope *s;

enum { SKIPPED = 77 };

/* On the host, or the device that MESH_DEVICE names; without it the test is skipped. With
 * MESH_SHARE several ranks may have one. */
static pith_mesh_info join(void) {
    const char *device = getenv("MESH_DEVICE");
    rt =
        pith_open(&(pith_open_options){.device = device ? device : "host", .threads = 1});
    if (device && pith_runtime_code(rt) == PITH_E_UNSUPPORTED) {
        fprintf(stderr, "skipped: %s\n", pith_runtime_message(rt));
        exit(SKIPPED);
    }
    s = pith_scope_open(rt);
    return pith_mesh_about(
        pith_mesh_open(s, PITH_MESH_AXES({"x", 0}),
                       &(pith_mesh_options){.share_device = getenv("MESH_SHARE")}));
}

static int leave(void) {
    const bool failed = pith_failed(s);
    if (failed)
        fprintf(stderr, "error: %s: %s\n", pith_status_name(pith_code(s)),
                pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    pith_close(rt);
    return failed;
}

/* Ranks of a node write their states to cache lines of their own. */
static int states_apart(const pith_mesh_info *info) {
    const size_t line = _Alignof(pithp_rank_state);
    int wrong = 0;
    for (int64_t i = 0; info->size > 1 && i < info->node_size; i++) {
        const pithp_rank_state *state = pithp_world_state(pithp_world_of(rt), i);
        wrong += state && (uintptr_t)state % line != 0;
    }
    if (wrong)
        fprintf(stderr, "%d states are not at multiples of %d\n", wrong, (int)line);
    return wrong;
}

/* All cases, in two runtimes one after the other: MPI is initialised once. */
static int run_cases(const char *only) {
    int failures = 0;
    for (int round = 0; round < 2; round++) {
        const pith_mesh_info info = join();
        if (info.size > 0 && strcmp(info.transport, info.size == 1 ? "self" : "mpi") != 0)
            failures++;
        failures += states_apart(&info);
        failures += mesh_run_cases(s, round ? "sums_of_rows_in_use" : only);
        if (info.rank == 0 && round == 0)
            printf("%d ranks of %s\n", (int)info.size, info.library);
        failures += leave();
    }
    return failures != 0;
}

/* ---- Devices ---- */

static void tell(pith_log_level level, const char *text, void *closure) {
    (void)closure;
    if (level >= PITH_LOG_WARNING)
        fprintf(stderr, "%s\n", text);
}

/* What rank r has of a message: numbers that no other rank has. */
static const pith_array *numbers_of(int64_t r, int64_t n) {
    return pith_add(s, pith_arange(s, PITH_U32, n),
                    pith_cast(s, pith_i64(s, r * 1000003), PITH_U32));
}

/* Stacks, sums and permutations of n numbers. Returns the number of wrong ones. */
static int check_moves(const pith_mesh_info *info, int64_t n) {
    pith_scope *all = s;
    s = pith_scope_open_in(all);
    const pith_array *own = numbers_of(info->rank, n), *sum = numbers_of(0, n);
    const pith_array *stack = pith_all_stack(s, own, "x");
    int wrong = 0;
    for (int64_t r = 0; r < info->size; r++) {
        wrong += !pith_tree_equal(s, pith_slice_at(s, stack, 0, r), numbers_of(r, n));
        sum = r ? pith_add(s, sum, numbers_of(r, n)) : sum;
    }
    const pith_array *last = numbers_of((info->rank + info->size - 1) % info->size, n);
    wrong += !pith_tree_equal(s, pith_psum(s, own, "x", NULL), sum);
    wrong += !pith_tree_equal(s, pith_pshift(s, own, "x", 1, true, NULL), last);
    wrong += !pith_tree_equal(s, pith_pbroadcast(s, own, "x", info->size - 1),
                              numbers_of(info->size - 1, n));
    if (wrong || pith_failed(s))
        fprintf(stderr, "rank %d: %d wrong of %lld numbers: %s\n", (int)info->rank, wrong,
                (long long)n, pith_message(s));
    wrong += pith_failed(s);
    pith_scope_close(s);
    s = all;
    return wrong;
}

static const pith_array *both_axes(pith_scope *in, const pith_array *a) {
    const pith_array *x = pith_psum(in, a, "x", NULL), *y = pith_psum(in, a, "y", NULL);
    const pith_array *of_x = pith_psum(in, pith_mul(in, x, 3.0), "y", NULL);
    const pith_array *last = pith_pshift(in, y, "x", 1, true, NULL);
    return pith_stack(in, 4, (const pith_array *[]){x, y, of_x, last}, 0);
}
PITH_FUNCTION1(both_axes_function, both_axes, pith_array, pith_array)

/* Sums over each of two axes, and over one of sums over the other: a communicator an
 * axis, in the same graph. */
static int run_axes(void) {
    enum { CALLS = 40, ELEMENTS = 5000 };
    const pith_mesh_info info = join();
    pith_mesh_open(s, PITH_MESH_AXES({"x", 2}, {"y", 0}), NULL);
    const int64_t n = info.size / 2, rank_x = info.rank / n, rank_y = info.rank % n;
    const pith_function *f = pith_jit(s, &both_axes_function, NULL);
    int wrong = 0;
    for (int call = 0; call < CALLS && !pith_failed(s); call++) {
        pith_scope *in = pith_scope_open_in(s);
        const pith_array *ones = pith_ones(in, PITH_F64, PITH_SHAPE(ELEMENTS));
        const double own = (double)(info.rank + 1 + call);
        const double x = (double)(2 * rank_y + n + 2 + 2 * call),
                     y = (double)(n * (n * rank_x + 1 + call)) +
                         (double)(n * (n - 1)) / 2,
                     all = (double)(2 * n * (1 + call) + n * (2 * n - 1)),
                     last = y + (double)(n * n) * (rank_x ? -1 : 1);
        const double expected[] = {x, y, 3 * all, last};
        const pith_array *sums = pith_call(in, f, PITH_ITEMS(pith_mul(in, ones, own)));
        for (int k = 0; k < 4; k++)
            wrong += !pith_tree_equal(in, pith_slice_at(in, sums, 0, k),
                                      pith_mul(in, ones, expected[k]));
        pith_scope_close(in);
    }
    if (wrong)
        fprintf(stderr, "rank %d: %d wrong sums over two axes\n", (int)info.rank, wrong);
    return leave() | (wrong != 0);
}

/* The cases, and messages from 4 bytes to 64 MiB, between devices that NCCL connects. */
static int run_on_devices(const char *only) {
    const pith_mesh_info info = join();
    pith_set_log_hook(rt, tell, NULL);
    int failures = info.size < 2;
    if (info.size > 0)
        (void)pith_read_i64(s, pith_psum(s, pith_i64(s, 1), "x", NULL));
    const pithp_mesh_group *g = pith_failed(s) ? NULL : pithp_mesh_group_of(s, "x");
    if (!g || (getenv("MESH_DEVICE") && !g->communicator)) {
        fprintf(stderr, "rank %d: NCCL does not connect the devices\n", (int)info.rank);
        return leave(), 1;
    }
    failures += mesh_run_cases(s, only);
    for (int64_t n = 1; n <= INT64_C(1) << (only ? 12 : 24); n *= 64)
        failures += check_moves(&info, n) + check_moves(&info, n + 1);
    if (info.rank == 0)
        printf("%d ranks on %s and others, %d failures\n", (int)info.size, info.device,
               failures);
    return leave() | (failures != 0);
}

/* Rank 1 does not come to the second agreement, in one of several ways. */
static int lose_rank(const char *how) {
    const pith_mesh_info info = join();
    pith_agree(s);
    if (info.rank == 1) {
        if (strcmp(how, "exit") == 0)
            exit(0);
        if (strcmp(how, "_exit") == 0)
            _exit(0);
        if (strcmp(how, "kill") == 0)
            raise(SIGKILL);
        if (strcmp(how, "stop") == 0)
            raise(SIGSTOP);
        sleep(300); /* hang */
    }
    pith_agree(s);
    return leave();
}

/* Rank 1 exits before it joins. */
static int join_late(void) {
    const char *rank =
        getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    if (rank && strcmp(rank, "1") == 0)
        _exit(0);
    join();
    return leave();
}

/* Rank 1 closes its mesh, and does not exit. */
static int stay(void) {
    const pith_mesh_info info = join();
    const int failed = leave();
    if (info.rank == 1)
        sleep(60);
    return failed;
}

/* All ranks are suspended for longer than a wait may last, while rank 0 waits. */
static int suspend(void) {
    const pith_mesh_info info = join();
    fflush(NULL);
    const pid_t own = getpid(), child = fork();
    if (child == 0) {
        sleep(1);
        kill(own, SIGSTOP);
        sleep(8);
        kill(own, SIGCONT);
        _exit(0);
    }
    if (info.rank == 1) {
        const struct timespec until = {.tv_sec = 3};
        nanosleep(&until, NULL);
        sleep(1); /* after the suspension */
    }
    const bool good = pith_agree(s);
    waitpid(child, NULL, 0);
    return leave() | !good;
}

/* ---- Ranks that meet in memory of their node, as long as messages are short ---- */

/* What rank r has of n numbers. */
static const pith_array *part_of(int64_t r, int64_t n) {
    return pith_add(s, pith_arange(s, PITH_F64, n), (double)(1000 * r + 1));
}

/* The ranks along one of two axes, or both, in their order. Returns the number of wrong
 * arrays. */
static int check_along(const char *axes, int64_t n, int64_t own) {
    const int64_t x = own / 2, y = own % 2;
    int64_t ranks[4] = {2 * x, 2 * x + 1}, count = 2;
    if (strcmp(axes, "x") == 0)
        ranks[0] = y, ranks[1] = 2 + y;
    for (int64_t k = 0; strchr(axes, ',') && k < 4; k++, count = 4)
        ranks[k] = axes[0] == 'x' ? k : 2 * (k % 2) + k / 2;
    const pith_array *a = part_of(own, n), *most = a, *last = NULL,
                     *stack = pith_all_stack(s, a, axes);
    int wrong = 0;
    for (int64_t k = 0; k < count; k++) {
        const pith_array *of = part_of(ranks[k], n);
        wrong += !pith_tree_equal(s, pith_slice_at(s, stack, 0, k), of);
        wrong += !pith_tree_equal(s, pith_pbroadcast(s, a, axes, k), of);
        last = ranks[(k + 1) % count] == own ? of : last;
        most = pith_maximum(s, most, of);
    }
    const int64_t next[][2] = {{0, 1}, {1, 2 % count}, {2, 3}, {3, 0}};
    wrong += !pith_tree_equal(s, pith_ppermute(s, a, axes, (int)count, next), last);
    wrong += !pith_tree_equal(s, pith_pmax(s, a, axes), most);
    wrong += !pith_tree_equal(s, pith_psum(s, a, axes, NULL),
                              pith_sum(s, stack, PITH_AXES(0)));
    return wrong;
}

/* Halos along one of two axes whose rows are around the longest message of a mailbox
 * (8 KiB): of the two messages to a rank one is longer by `more` rows. */
static const pith_array *halos_of(pith_scope *in, const pith_array *a) {
    const pith_array *x = pith_halo(in, a, 0, "x", 1, 2, true);
    return pith_halo_add(in, pith_halo(in, x, 0, "y", 2, 1, true), 0, "y", 2, 1, true);
}
PITH_FUNCTION1(halos_function, halos_of, pith_array, pith_array)

static const pith_array *
rows_of(pith_scope *in, const pith_array *a, int64_t begin, int64_t end) {
    return pith_slice_array(in, a, 1, &(pith_slice){begin, end, 1});
}

/* Both ranks along an axis send each other the same rows twice, so that the result of
 * halos and back is known. */
static int check_halos(int64_t row, int64_t own) {
    enum { ROWS = 4 };
    pith_scope *in = pith_scope_open_in(s);
    const int64_t other = (own + 2) % 4; /* along x */
    const pith_array *base = pith_iota(in, PITH_F64, PITH_SHAPE(ROWS, row), 1);
    const pith_array *a = pith_add(in, base, (double)(1000 * own)),
                     *b = pith_add(in, base, (double)(1000 * other));
    const pith_array *parts[] = {rows_of(in, b, ROWS - 1, ROWS), a, rows_of(in, b, 0, 2)};
    const pith_array *x = pith_concatenate(in, 3, parts, 0);
    /* the halo along y comes back: its first and last rows are there twice */
    const pith_array *ends[] = {rows_of(in, x, 0, 1),
                                pith_zeros(in, PITH_F64, PITH_SHAPE(ROWS, row)),
                                rows_of(in, x, ROWS + 1, ROWS + 3)};
    const pith_array *expected = pith_add(in, x, pith_concatenate(in, 3, ends, 0));
    const pith_function *f = pith_jit(in, &halos_function, NULL);
    int wrong = 0;
    for (int call = 0; call < 3; call++)
        wrong += !pith_tree_equal(in, pith_call(in, f, PITH_ITEMS(a)), expected);
    wrong += !pith_tree_equal(in, halos_of(in, a), expected);
    pith_scope_close(in);
    return wrong;
}

/* Messages around the longest that are short (4 and 8 KiB), on a mesh of 2 x 2. */
static int check_short(void) {
    static const char *const axes[] = {"x", "y", "x,y", "y,x"};
    join();
    const pith_mesh_info info =
        pith_mesh_about(pith_mesh_open(s, PITH_MESH_AXES({"x", 2}, {"y", 2}), NULL));
    int wrong = info.size != 4;
    for (int k = 0; k < 4 && !wrong; k++)
        for (int64_t n = 511; n < 514; n++)
            for (int again = 0; again < 3; again++)
                wrong += check_along(axes[k], n, info.rank) +
                         check_along(axes[k], 2 * n, info.rank) +
                         check_along(axes[k], 1, info.rank);
    for (int64_t row = 1023; row < 1026 && !wrong; row++)
        wrong += check_halos(row, info.rank) + check_halos(row - 1020, info.rank);
    if (wrong)
        fprintf(stderr, "rank %d: %d wrong arrays\n", (int)info.rank, wrong);
    return leave() | (wrong != 0);
}

/* ---- Settings ---- */

/* More of them on one rank than ranks can compare. */
static bool refuses_settings(bool here) {
    char text[20000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    if (here)
        setenv("PITH_ABACUS", text, 1);
    join();
    const bool good = pith_code(s) == (here ? PITH_E_ARG : PITH_E_PEER) &&
                      strstr(pith_message(s), "have more than 16384 bytes");
    pith_clear(s);
    return leave() == 0 && good;
}

/* The environment of rank 0 holds on all, also in a job after one with another. */
static int check_settings(void) {
    const char *rank =
        getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    setenv("PITH_CACHE_BYTES", rank && strcmp(rank, "0") == 0 ? "1MiB" : "2MiB", 1);
    join();
    const char *value = pithp_environment("PITH_CACHE_BYTES");
    bool good = value && strcmp(value, "1MiB") == 0 && !pithp_environment("PITH_CC");
    good &= leave() == 0;
    setenv("PITH_CACHE_BYTES", "3MiB", 1);
    join();
    value = pithp_environment("PITH_CACHE_BYTES");
    good &= leave() == 0 && value && strcmp(value, "3MiB") == 0;
    return !good || !refuses_settings(rank && strcmp(rank, "1") == 0);
}

/* A checkpoint that all ranks write and read in a folder; a rank that writes to another
 * one is named, with its host. */
static int check_parts(const char *folder) {
    const pith_mesh_info info = join();
    const pith_shard_spec *x = PITH_SPECS({"", "x", NULL});
    const pith_array *whole = pith_iota(s, PITH_F64, PITH_SHAPE(1000 * info.size, 3), 0);
    const pith_array *a = pith_shard(s, whole, x);
    bool good = chdir(folder) == 0 && pith_save(s, a, "state.json", NULL);
    const pith_array *back = pith_load(s, pith_array, "state.json");
    good &= pith_array_spec(back) == pith_array_spec(a) &&
            pith_tree_equal(s, pith_unshard(s, back, -1), whole) && !pith_failed(s);
    if (info.rank == info.size - 1)
        good &= mkdir("apart", 0777) == 0 && chdir("apart") == 0;
    char text[160];
    snprintf(text, sizeof text, "rank %d (%s) wrote", (int)info.size - 1, info.host);
    good &= !pith_save(s, a, "state.json", NULL) && strstr(pith_message(s), text) != NULL;
    if (!good)
        fprintf(stderr, "parts: rank %d: %s\n", (int)info.rank, pith_message(s));
    pith_clear(s);
    good &= pith_agree(s);
    return leave() | !good;
}

/* A child of a rank is no rank, and its exit is not the rank's. */
static int fork_child(void) {
    join();
    fflush(NULL);
    if (fork() == 0) {
        const char *text = "a child of fork() is no rank of the mesh";
        const bool refused = !pith_agree(s) && pith_code(s) == PITH_E_UNSUPPORTED &&
                             strstr(pith_message(s), text);
        join(); /* with a runtime of its own */
        exit(refused && strstr(pith_message(s), text) ? 0 : 1);
    }
    int status = 1;
    const bool good = wait(&status) > 0 && status == 0 && pith_agree(s);
    return leave() | !good;
}

/* Rank 1 has changed its route, and expects more rows than rank 0 sends. */
static int expect_more(int64_t more) {
    const pith_mesh_info info = join();
    const pith_route *room = pith_route_room(s, 1, 4, 4 + more);
    const int64_t n = info.rank == 0 ? 2 : 0;
    const pith_array *rows = pith_arange(s, PITH_I64, n),
                     *to = pith_ones(s, PITH_I64, PITH_SHAPE(n));
    const pith_route *route = pith_route_make(s, rows, to, NULL, room);
    pith_route changed = *route;
    if (info.rank == 1)
        changed.received = pith_add(s, route->received, (double)more);
    pith_route_send(s, pith_freeze(s, pith_route, &changed),
                    pith_zeros(s, PITH_F64, PITH_SHAPE(2)));
    return leave();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "cases";
    if (strcmp(what, "cases") == 0)
        return run_cases(argc > 2 ? argv[2] : NULL);
    if (strcmp(what, "devices") == 0)
        return run_on_devices(argc > 2 ? argv[2] : NULL);
    if (strcmp(what, "axes") == 0)
        return run_axes();
    if (strcmp(what, "settings") == 0)
        return check_settings();
    if (strcmp(what, "fork") == 0)
        return fork_child();
    if (strcmp(what, "short") == 0)
        return check_short();
    if (strcmp(what, "parts") == 0 && argc > 2)
        return check_parts(argv[2]);
    if (strcmp(what, "join") == 0)
        return join(), leave();
    if (strcmp(what, "late") == 0)
        return join_late();
    if (strcmp(what, "stay") == 0)
        return stay();
    if (strcmp(what, "suspend") == 0)
        return suspend();
    if (strcmp(what, "more") == 0)
        return expect_more(1);
    if (strcmp(what, "longer") == 0)
        return expect_more(2000);
    return lose_rank(what);
}
