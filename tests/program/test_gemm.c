/* Products by cuBLAS on a CUDA device that is made of host memory, and by what stands
 * there for cuBLAS (gpu/fake_cuda), which adds in the order of pith's own kernels: the
 * bits are theirs, call by call and in graphs, and where it refuses they take over. */
#include "../gpu/fake_cuda/fake_cuda.h"
#include "replay_run.h"

static char said[2048];

static void hear(pith_log_level level, const char *text, void *closure) {
    (void)closure;
    if (level >= PITH_LOG_INFO)
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

/* cublas NULL: as usual. */
static bench begin(const char *how, const char *cublas) {
    static char directory[320];
    bench b;
    pt_folder(directory);
    setenv("PITH_CACHE_DIR", directory, 0);
    setenv("PITH_JIT", "wait", 1);
    setenv("PITH_CUDA_GRAPH", how, 1);
    if (cublas)
        setenv("PITH_CUBLAS", cublas, 1);
    else
        unsetenv("PITH_CUBLAS");
    said[0] = 0;
    b.host = pith_open(&(pith_open_options){.device = "host"});
    b.device = pith_open(&(pith_open_options){.device = "cuda"});
    pith_set_log_hook(b.device, hear, NULL);
    b.s = pith_scope_open(b.host);
    b.on = pith_scope_open(b.device);
    pt_ok(b.on);
    return b;
}

static void end(bench *b) {
    pith_scope_close(b->s);
    pith_scope_close(b->on);
    pith_close(b->host);
    pith_close(b->device);
    cr_assert_eq(fake_cuda_alive(), 0, "%d things are left", fake_cuda_alive());
}

static void reset(void) {
    (void)fake_cuda_alive(); /* all has run */
    memset(&fake_cuda, 0, sizeof fake_cuda);
}

/* ---- Single products ---- */

typedef struct product {
    pith_spec specs[2], result;
    pithp_dot_params params;
    pithp_call call;
    const pith_spec *operands[2];
    void *data[2];
} product;

static void *fill(const pith_spec *spec, uint64_t *state) {
    char *data = malloc(spec->bytes + 1);
    for (int64_t i = 0; i < spec->count; i++) {
        uint64_t bits = 0;
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        pithp_dtype_encode(spec->dtype, ldexp((double)(int64_t)*state, -63), &bits);
        memcpy(data + (size_t)i * pith_dtype_size(spec->dtype), &bits,
               pith_dtype_size(spec->dtype));
    }
    return data;
}

static void finish(product *p, pith_dtype dtype) {
    uint64_t state = 11;
    pithp_refusal refusal;
    for (int k = 0; k < 2; k++) {
        pith_spec *x = &p->specs[k];
        x->dtype = dtype;
        x->count = 1;
        for (int d = 0; d < x->rank; d++)
            x->count *= x->shape[d];
        x->bytes = (size_t)x->count * pith_dtype_size(dtype);
        p->operands[k] = x;
        p->data[k] = fill(x, &state);
    }
    p->call = pithp_call_of(PITHP_OP_DOT_GENERAL, 2, p->operands, &p->params);
    cr_assert(pithp_infer(&p->call, &p->result, &refusal) == PITH_OK, "%s", refusal.text);
}

/* [batch, m, k] x [batch, k, n]. */
static void
matrices(product *p, pith_dtype dtype, int64_t batch, int64_t m, int64_t k, int64_t n) {
    *p = (product){.specs = {{.rank = 3, .shape = {batch, m, k}},
                             {.rank = 3, .shape = {batch, k, n}}},
                   .params = {.contracts = 1, .batches = 1, .contract = {{2}, {1}}}};
    finish(p, dtype);
}

static void product_free(product *p) {
    free(p->data[0]);
    free(p->data[1]);
}

/* The result, or NULL where there was an error. */
static void *multiply(const bench *b, const product *p) {
    pith_scope *s = pith_scope_open_in(b->on);
    void *out = NULL;
    if (pithp_scope_writable(s)) {
        pithp_buffer *in[2] = {pithp_buffer_make(s, p->specs[0].bytes + 1),
                               pithp_buffer_make(s, p->specs[1].bytes + 1)},
                     *to = pithp_buffer_make(s, p->result.bytes + 1);
        const void *operands[2];
        for (int k = 0; k < 2; k++) {
            if (in[k])
                pithp_copy_in(s, in[k]->data, p->data[k], p->specs[k].bytes);
            operands[k] = in[k] ? in[k]->data : NULL;
        }
        const pithp_memory memory = {.operands = operands,
                                     .result = to ? to->data : NULL};
        if (pith_code(s) == PITH_OK && pithp_run(s, &p->call, &p->result, &memory) == 0) {
            out = malloc(p->result.bytes + 1);
            if (pithp_copy_out(s, out, to->data, p->result.bytes) != PITH_OK) {
                free(out);
                out = NULL;
            }
        }
        pithp_buffer_release(in[0], 1);
        pithp_buffer_release(in[1], 1);
        pithp_buffer_release(to, 1);
    }
    pith_clear(s);
    pith_scope_close(s);
    pith_clear(b->on);
    return out;
}

/* How many calls of cuBLAS a product is, and that its bits are those of the own kernel.
 */
static long long check_alike(const product *p, const char *cublas) {
    bench b = begin("on", "off");
    long long before = fake_cuda.gemms;
    void *want = multiply(&b, p);
    cr_assert(want && fake_cuda.gemms == before);
    end(&b);
    b = begin("on", cublas);
    before = fake_cuda.gemms;
    void *got = multiply(&b, p);
    cr_assert(got);
    const long long gemms = fake_cuda.gemms - before;
    for (int k = 0; k < 2; k++) { /* again, now that the handle is there */
        void *again = multiply(&b, p);
        cr_assert(again && memcmp(again, got, p->result.bytes) == 0);
        free(again);
    }
    cr_assert(memcmp(got, want, p->result.bytes) == 0);
    free(got), free(want);
    end(&b);
    return gemms;
}

Test(gemm, products_have_the_bits_of_the_own_kernel, .timeout = 300) {
    static const int64_t shapes[][4] = {{1, 3, 4, 5},    {2, 1, 7, 6},   {3, 5, 1, 1},
                                        {1, 20, 300, 9}, {4, 3, 257, 2}, {1, 1, 5000, 1},
                                        {1, 2, 512, 70}, {5, 1, 600, 8}};
    static const pith_dtype dtypes[] = {PITH_F16, PITH_BF16, PITH_F32, PITH_F64};
    reset();
    for (int d = 0; d < PITHP_COUNT(dtypes); d++)
        for (int k = 0; k < PITHP_COUNT(shapes); k++) {
            product p;
            matrices(&p, dtypes[d], shapes[k][0], shapes[k][1], shapes[k][2],
                     shapes[k][3]);
            /* spans of 256 terms are one call, what is left another */
            const int64_t terms = shapes[k][2];
            cr_assert_eq(check_alike(&p, "on"), (terms >= 256) + (terms % 256 != 0));
            product_free(&p);
        }
}

Test(gemm, axes_in_any_order_have_them_too, .timeout = 300) {
    static const struct {
        int64_t shape[2][4];
        pithp_dot_params params;
    } cases[] = {
        /* bmk,bnk / kmb,knb: neither rows nor columns lie side by side */
        {{{3, 4, 300}, {3, 5, 300}}, {1, 1, {{2}, {2}}, {{0}, {0}}}},
        {{{70, 4, 3}, {70, 5, 3}}, {1, 1, {{0}, {0}}, {{2}, {2}}}},
        /* two summed, in the other order; no batch */
        {{{6, 7, 8}, {8, 6, 9}}, {2, 0, {{0, 2}, {1, 0}}, {{0}, {0}}}},
        /* a batch of which one operand has 1 */
        {{{1, 4, 30}, {6, 30, 5}}, {1, 1, {{2}, {1}}, {{0}, {0}}}},
        {{{6, 4, 30}, {1, 30, 5}}, {1, 1, {{2}, {1}}, {{0}, {0}}}},
        /* nothing is summed */
        {{{2, 4, 3}, {2, 5, 7}}, {0, 1, {{0}, {0}}, {{0}, {0}}}},
    };
    reset();
    for (int k = 0; k < PITHP_COUNT(cases); k++)
        for (int d = 0; d < 2; d++) {
            product p = {.params = cases[k].params};
            for (int o = 0; o < 2; o++) {
                p.specs[o].rank = 3;
                memcpy(p.specs[o].shape, cases[k].shape[o], sizeof cases[k].shape[o]);
            }
            finish(&p, d ? PITH_F16 : PITH_F64);
            cr_assert(check_alike(&p, "on") > 0, "case %d", k);
            product_free(&p);
        }
}

Test(gemm, what_it_cannot_do_stays_with_the_own_kernel) {
    reset();
    for (int d = PITH_BOOL; d < PITH_F16; d++) {
        product p;
        matrices(&p, (pith_dtype)d, 1, 5, 6, 7);
        cr_assert_eq(check_alike(&p, "on"), 0);
        product_free(&p);
    }
    static const int64_t empty[][4] = {
        {0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}};
    for (int k = 0; k < PITHP_COUNT(empty); k++) {
        product p;
        matrices(&p, PITH_F32, empty[k][0], empty[k][1], empty[k][2], empty[k][3]);
        cr_assert_eq(check_alike(&p, "on"), 0);
        product_free(&p);
    }
}

Test(gemm, usually_it_makes_the_large_ones, .timeout = 120) {
    static const struct {
        int64_t shape[4];
        bool large;
    } cases[] = {{{1, 16, 16, 16}, false},   {{1, 100, 100, 100}, false},
                 {{1, 128, 128, 128}, true}, {{64, 32, 32, 32}, true},
                 {{1, 1, 1999, 1}, false},   {{1, 1, 2048, 1}, true}};
    reset();
    for (int k = 0; k < PITHP_COUNT(cases); k++) {
        product p;
        const int64_t *shape = cases[k].shape;
        matrices(&p, PITH_F32, shape[0], shape[1], shape[2], shape[3]);
        cr_assert_eq(check_alike(&p, NULL) > 0, cases[k].large, "case %d", k);
        product_free(&p);
    }
}

/* Terms beyond 65,536: spans grow, and the bound of the page holds. */
Test(gemm, long_sums_stay_within_the_bound, .timeout = 120) {
    reset();
    enum { TERMS = 200001 };
    bench b = begin("on", NULL);
    product p;
    matrices(&p, PITH_F32, 1, 2, TERMS, 3);
    float *out = multiply(&b, &p);
    cr_assert(out && fake_cuda.gemms == 2);
    const float *x = p.data[0], *y = p.data[1];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < TERMS; k++) {
                const double term =
                    (double)x[(size_t)i * TERMS + (size_t)k] * (double)y[3 * k + j];
                sum += term;
                size += fabs(term);
            }
            cr_assert(fabs((double)out[3 * i + j] - sum) <=
                      (256 + TERMS / 256.0) * 0x1p-24 * size);
        }
    free(out);
    product_free(&p);
    end(&b);
}

/* Where spans would take too much memory, the library adds them one after the other. */
Test(gemm, large_results_are_added_in_place, .timeout = 120) {
    enum { M = 1100, N = 1000, TERMS = 257 };
    reset();
    bench b = begin("on", NULL);
    product p;
    matrices(&p, PITH_F64, 1, M, TERMS, N);
    double *x = p.data[0], *y = p.data[1];
    for (int k = 0; k < M * TERMS; k++)
        x[k] = k % 7 - 3;
    for (int k = 0; k < TERMS * N; k++)
        y[k] = k % 5 - 2;
    double *out = multiply(&b, &p);
    cr_assert(out && fake_cuda.gemms == 2 && fake_cuda.gemm_sums == 1);
    for (size_t i = 0; i < M; i += 97)
        for (size_t j = 0; j < N; j += 41) {
            double sum = 0;
            for (size_t k = 0; k < TERMS; k++)
                sum += x[i * TERMS + k] * y[k * N + j];
            cr_assert(out[i * N + j] == sum);
        }
    free(out);
    product_free(&p);
    end(&b);
}

/* ---- Programs ---- */

typedef struct way {
    const char *how;
    pithp_replay_mode mode;
    int64_t gemms, inside; /* tasks met, and those in bodies of loops and branches */
} way;

static int64_t count_gemms(const pithp_tasks *tasks) {
    int64_t count = 0;
    for (int64_t k = 0; k < tasks->count; k++) {
        count += tasks->list[k].kind == PITHP_TASK_GEMM;
        for (int n = 0; n < tasks->list[k].body_count; n++)
            count += count_gemms(&tasks->list[k].bodies[n]);
    }
    return count;
}

/* Products that the program's schedule leaves to the library. */
static int64_t gemms_of(const bench *b, pithp_program *p, way *w) {
    pithp_error e;
    pithp_plan *plan = pithp_plan_make_for(b->on, p, PITHP_PLAN_SCHEDULED);
    pithp_schedule *schedule = pithp_schedule_make(b->on, plan, PITHP_GEMM_ALL, &e);
    cr_assert(schedule, "%s", e.text);
    const int64_t all = schedule->gemm_count;
    cr_assert_eq(all, count_gemms(&schedule->tasks));
    w->gemms += all;
    w->inside += all;
    for (int64_t k = 0; k < schedule->tasks.count; k++)
        w->inside -= schedule->tasks.list[k].kind == PITHP_TASK_GEMM;
    pithp_schedule_free(schedule);
    pithp_plan_free(plan);
    return all;
}

static void
run_copies(const bench *b, const recipe *r, pithp_plan *plan, void **results) {
    for (int k = 0; k < r->output_count; k++) /* of one that is a constant */
        memcpy(results[k], r->list[r->outputs[k]].data,
               r->list[r->outputs[k]].spec->bytes);
    cr_assert(run_copied(b, r, plan, results) == PITH_OK, "%s", run_message);
}

/* The replay of a recipe by the library, in several orders, and by the own kernels. */
static bool gemm_differs(const recipe *r, void *closure) {
    way *w = closure;
    void *want[RECIPE_MOST], *got[RECIPE_MOST];
    bool same = true;
    recipe_outputs(r, want);
    recipe_outputs(r, got);
    for (int on = 0; on < 2; on++) {
        bench b = begin(w->how, on ? "on" : "off");
        pithp_program *p = program_of(&b, r, true);
        pithp_plan *plan = pithp_plan_make(b.on, p, true);
        const long long before = fake_cuda.gemms;
        const int64_t gemms = on ? gemms_of(&b, p, w) : 0;
        pt_ok(b.on, plan);
        for (uint64_t runs = 0; runs < (on ? 3 : 1) && same; runs++) {
            fake_cuda.seed = runs ? 77 + runs : 0;
            run_copies(&b, r, plan, on ? got : want);
            for (int k = 0; k < r->output_count && on; k++)
                same &= recipe_same(r->list[r->outputs[k]].spec, got[k], want[k]);
        }
        cr_assert_eq((int)pithp_replay_look(plan), (int)w->mode);
        if (w->mode == PITHP_REPLAY_GRAPH) /* each was captured once */
            cr_assert_eq(fake_cuda.gemms - before, gemms);
        pithp_plan_free(plan);
        pithp_program_release(p);
        end(&b);
    }
    for (int k = 0; k < r->output_count; k++) {
        free(want[k]);
        free(got[k]);
    }
    return !same;
}

static bool has_product(const recipe *r) {
    bool has = false;
    for (int k = 0; k < r->count; k++) {
        const ingredient *x = &r->list[k];
        has |= x->kind >= RECIPE_CALL && x->primitive == PITHP_OP_DOT_GENERAL &&
               pith_dtype_is_float(x->spec->dtype);
        for (int b = 0; x->kind == RECIPE_CONTROL && b < x->body_count; b++)
            has |= has_product(x->bodies[b]);
    }
    return has;
}

/* Whether its schedule has what is looked for. */
static bool fits(const recipe *r, bool inside) {
    way found = {.how = "on"};
    if (!has_product(r))
        return false;
    bench b = begin("on", "off");
    pithp_program *p = program_of(&b, r, true);
    gemms_of(&b, p, &found);
    pithp_program_release(p);
    end(&b);
    return inside ? found.inside > 0 : found.gemms > found.inside;
}

static recipe *find(pith_scope *s, uint64_t *seed, int steps, bool inside) {
    recipe *r = recipe_make(s, (*seed)++, steps);
    while (!fits(r, inside)) {
        recipe_free(r);
        r = recipe_make(s, (*seed)++, steps);
    }
    return r;
}

/* Programs with products, every other one with one in a body. */
static void run_programs(way *w, int64_t usual) {
    const char *asked = getenv("PITH_TEST_PROGRAMS");
    const int64_t programs = asked ? atoll(asked) : usual;
    uint64_t seed = 8080;
    reset();
    pith_runtime *rt = pith_open(&(pith_open_options){.device = "host"});
    pith_scope *s = pith_scope_open(rt);
    for (int64_t n = 0; n < programs; n++) {
        recipe *r = find(s, &seed, 20, n % 2 == 0);
        if (gemm_differs(r, w)) {
            recipe_shrink(r, gemm_differs, w);
            recipe_fail(r, "multiplied");
        }
        recipe_free(r);
    }
    pith_scope_close(s);
    pith_close(rt);
}

Test(gemm, graphs_of_random_programs_give_the_bits, .timeout = 600) {
    way w = {.how = "on", .mode = PITHP_REPLAY_GRAPH};
    run_programs(&w, 4);
    cr_assert(w.gemms > 2 && w.inside > 0, "%lld products, %lld in bodies",
              (long long)w.gemms, (long long)w.inside);
}

Test(gemm, tasks_that_the_host_drives_give_them_too, .timeout = 600) {
    way w = {.how = "drive", .mode = PITHP_REPLAY_DRIVEN};
    run_programs(&w, 2);
    cr_assert(w.gemms > 0);
}

/* ---- Where there is no library, or it refuses ---- */

/* A program with a product outside of bodies, or with one in a body, and its results by
 * the own kernels. */
typedef struct sample {
    recipe *r;
    void *want[RECIPE_MOST], *got[RECIPE_MOST];
    pith_runtime *rt;
    pith_scope *s;
} sample;

static sample sample_make(bool inside) {
    sample x;
    uint64_t seed = 4000;
    reset();
    x.rt = pith_open(&(pith_open_options){.device = "host"});
    x.s = pith_scope_open(x.rt);
    x.r = find(x.s, &seed, 8, inside);
    recipe_outputs(x.r, x.want);
    recipe_outputs(x.r, x.got);
    bench b = begin("on", "off");
    pithp_program *p = program_of(&b, x.r, true);
    pithp_plan *plan = pithp_plan_make(b.on, p, true);
    run_copies(&b, x.r, plan, x.want);
    pithp_plan_free(plan);
    pithp_program_release(p);
    end(&b);
    reset();
    return x;
}

static void sample_free(sample *x) {
    for (int k = 0; k < x->r->output_count; k++) {
        free(x->want[k]);
        free(x->got[k]);
    }
    recipe_free(x->r);
    pith_scope_close(x->s);
    pith_close(x->rt);
}

/* A run of the sample: its code; the results, where there are any, are right. */
static pith_status run_sample(const bench *b, sample *x, pithp_plan *plan) {
    for (int k = 0; k < x->r->output_count; k++)
        memcpy(x->got[k], x->r->list[x->r->outputs[k]].data,
               x->r->list[x->r->outputs[k]].spec->bytes);
    const pith_status rc = run_copied(b, x->r, plan, x->got);
    for (int k = 0; k < x->r->output_count && rc == PITH_OK; k++)
        cr_assert(recipe_same(x->r->list[x->r->outputs[k]].spec, x->got[k], x->want[k]));
    return rc;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

Test(gemm, without_the_library_own_kernels_run, .timeout = 300) {
    sample x = sample_make(true);
    for (int on = 0; on < 2; on++) {
        fake_cuda.no_cublas = true;
        bench b = begin("on", on ? "on" : NULL);
        pithp_program *p = program_of(&b, x.r, true);
        for (int k = 0; k < 2; k++) {
            pithp_plan *plan = pithp_plan_make(b.on, p, true);
            cr_assert(run_sample(&b, &x, plan) == PITH_OK, "%s", run_message);
            cr_assert_eq((int)pithp_replay_look(plan), (int)PITHP_REPLAY_GRAPH);
            pithp_plan_free(plan);
        }
        pithp_program_release(p);
        /* nobody looks for it where no product is large */
        cr_assert_eq(count_of(said, "cuBLAS is not there"), on, "%s", said);
        cr_assert_eq(fake_cuda.gemms, 0);
        end(&b);
    }
    sample_free(&x);
}

/* A capture that takes memory is no node of a body, nor one that a body might need. */
Test(gemm, what_a_graph_cannot_hold_own_kernels_do, .timeout = 300) {
    for (int inside = 0; inside < 2; inside++) {
        sample x = sample_make(inside);
        fake_cuda.gemm_allocates = true;
        bench b = begin("on", "on");
        pithp_program *p = program_of(&b, x.r, true);
        pithp_plan *plan = pithp_plan_make(b.on, p, true);
        for (int k = 0; k < 2; k++)
            cr_assert(run_sample(&b, &x, plan) == PITH_OK, "%s", run_message);
        cr_assert_eq((int)pithp_replay_look(plan), (int)PITHP_REPLAY_GRAPH);
        cr_assert_eq(count_of(said, "own kernels from here on"), 1, "%s", said);
        pithp_plan_free(plan);
        pithp_program_release(p);
        end(&b);
        sample_free(&x);
    }
}

/* The workspace and the pointers are memory of the runtime's, counted, and go with the
 * program. */
Test(gemm, its_memory_is_counted, .timeout = 300) {
    sample x = sample_make(false);
    bench b = begin("on", "on");
    pithp_program *p = program_of(&b, x.r, true);
    const size_t before = pith_memory(b.device).live;
    pithp_plan *plan = pithp_plan_make(b.on, p, true);
    cr_assert(run_sample(&b, &x, plan) == PITH_OK);
    cr_assert_geq(pith_memory(b.device).live, before + PITHP_GEMM_WORKSPACE);
    pithp_plan_free(plan);
    cr_assert_lt(pith_memory(b.device).live, before + PITHP_GEMM_WORKSPACE);
    pithp_program_release(p);
    end(&b);
    sample_free(&x);
}

/* Each call that can fail does: the run gives the bits or says why not, the next one
 * gives them, and nothing is left. */
static void fail_each(const char *how, cudaError_t with) {
    sample x = sample_make(true);
    bool failed = true;
    for (long long at = 1; failed; at++) {
        bench b = begin(how, "on");
        pithp_program *p = program_of(&b, x.r, true);
        pithp_plan *plan = pithp_plan_make(b.on, p, true);
        pt_ok(b.on, plan);
        fake_cuda.fail_with = with;
        fake_cuda.failed = NULL;
        fake_cuda.fail_at = fake_cuda.calls + at;
        const pith_status rc = run_sample(&b, &x, plan);
        failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        cr_assert(failed || rc == PITH_OK, "%s", run_message);
        const bool dead = pith_runtime_code(b.device) != PITH_OK;
        cr_assert(!dead || rc != PITH_OK);
        if (!dead)
            cr_assert(run_sample(&b, &x, plan) == PITH_OK, "%s: %s", fake_cuda.failed,
                      run_message);
        pithp_plan_free(plan);
        pithp_program_release(p);
        pith_scope_close(b.s);
        pith_scope_close(b.on);
        pith_close(b.host);
        pith_close(b.device);
        if (!dead) /* what a dead device has cannot be given back */
            cr_assert_eq(fake_cuda_alive(), 0, "%s left %d things", fake_cuda.failed,
                         fake_cuda_alive());
        else
            reset();
    }
    sample_free(&x);
}

Test(gemm, every_refusal_of_a_call_is_survived, .timeout = 600) {
    fail_each("on", cudaErrorNotSupported);
}
Test(gemm, also_where_the_host_drives, .timeout = 600) {
    fail_each("drive", cudaErrorNotSupported);
}
Test(gemm, a_device_that_dies_anywhere_is_told_of, .timeout = 600) {
    fail_each("on", cudaErrorIllegalAddress);
}

/* Call by call, each call of a large product failing in turn. */
Test(gemm, single_products_survive_every_refusal, .timeout = 300) {
    product p;
    matrices(&p, PITH_F16, 2, 3, 300, 4);
    reset();
    bench b = begin("on", "off");
    void *want = multiply(&b, &p);
    cr_assert(want);
    end(&b);
    bool failed = true;
    for (long long at = 1; failed; at++) {
        b = begin("on", "on");
        fake_cuda.fail_with = cudaErrorNotSupported;
        fake_cuda.failed = NULL;
        fake_cuda.fail_at = fake_cuda.calls + at;
        void *got = multiply(&b, &p);
        failed = fake_cuda.failed != NULL;
        fake_cuda.fail_at = 0;
        const bool by_library = failed && strstr(fake_cuda.failed, "cublas");
        cr_assert(got || (failed && !by_library));
        cr_assert(!got || memcmp(got, want, p.result.bytes) == 0);
        free(got);
        /* who cannot make the device current cannot give memory back either */
        if (pith_runtime_code(b.device) == PITH_OK &&
            !(failed && strcmp(fake_cuda.failed, "GetDevice") == 0)) {
            got = multiply(&b, &p);
            cr_assert(got && memcmp(got, want, p.result.bytes) == 0);
            free(got);
            end(&b);
        } else {
            pith_scope_close(b.s);
            pith_scope_close(b.on);
            pith_close(b.host);
            pith_close(b.device);
            reset();
        }
    }
    free(want);
    product_free(&p);
}
