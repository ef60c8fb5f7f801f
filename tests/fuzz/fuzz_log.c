/* Logs of runs: what reads as one can be gone on with, and then reads the same with the
 * row that was added; what is refused is left as it was. */
#include "fuzz.h"

static int64_t rows_of(const pith_dict *log) {
    const pith_array *step = pith_dict_get(log, "step");
    FUZZ_REQUIRE(step, "a log without a step");
    return pith_array_spec(step)->count;
}

/* The first `count` rows of the columns that both have, bit for bit where their dtype is
 * the same. */
static void
require_same(pith_scope *s, const pith_dict *a, const pith_dict *b, int64_t count) {
    for (int64_t i = 0; i < pith_child_count(a); i++) {
        const pith_array *x = pith_child(a, i);
        const pith_array *y = pith_dict_get(b, pith_child_name(a, i));
        FUZZ_REQUIRE(y, "the column %s is gone", pith_child_name(a, i));
        if (pith_array_spec(x)->dtype != pith_array_spec(y)->dtype || count == 0)
            continue;
        const size_t bytes = (size_t)count * 8;
        char *p = malloc(bytes), *q = malloc(bytes + 8);
        FUZZ_REQUIRE(p && q && pith_read(s, x, p, bytes) && pith_read(s, y, q, bytes + 8),
                     "%s", pith_message(s));
        FUZZ_REQUIRE(memcmp(p, q, bytes) == 0, "the column %s differs",
                     pith_child_name(a, i));
        free(p);
        free(q);
    }
}

/* Go on with the log; false: it was refused. */
static bool add_row(pith_runtime *rt) {
    pith_scope *s = pith_scope_open(rt);
    pith_run_log *log =
        pith_run_log_open(s, "run.jsonl", &(pith_run_log_options){true, INT64_MAX - 1});
    const bool opened = log != NULL;
    FUZZ_REQUIRE(opened != pith_failed(s), "%s", pith_message(s));
    if (opened) {
        pith_run_log_add(s, log, pith_run_log_last_step(log) + 1,
                         PITH_LOG_ROW(PITH_LOG_F64("added", 0.1)));
        FUZZ_REQUIRE(!pith_failed(s), "%s", pith_message(s));
    }
    pith_clear(s);
    pith_scope_close(s);
    return opened;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready) {
        fuzz_folder();
        ready = true;
    }
    pith_runtime *rt = fuzz_runtime();
    pith_scope *s = pith_scope_open(rt);
    fuzz_write("run.jsonl", data, n);
    const pith_dict *before = pith_run_log_read(s, "run.jsonl");
    FUZZ_REQUIRE(!before == pith_failed(s), "%s", pith_message(s));
    pith_clear(s);
    const bool opened = add_row(rt);
    if (!opened) {
        size_t now;
        char *bytes = fuzz_read("run.jsonl", &now);
        FUZZ_REQUIRE(now == n && memcmp(bytes, data, n) == 0,
                     "a refused file was changed");
        free(bytes);
    }
    const int64_t count = before ? rows_of(before) : 0;
    int64_t last = -1;
    if (before && count) {
        int64_t *steps = malloc((size_t)count * sizeof *steps);
        FUZZ_REQUIRE(steps && pith_read(s, pith_dict_get(before, "step"), steps,
                                        (size_t)count * sizeof *steps),
                     "%s", pith_message(s));
        last = steps[count - 1];
        free(steps);
    }
    if (before && last < INT64_MAX - 1 && !pith_dict_get(before, "added")) {
        FUZZ_REQUIRE(opened, "what reads as a log cannot be gone on with");
        const pith_dict *after = pith_run_log_read(s, "run.jsonl");
        FUZZ_REQUIRE(after && rows_of(after) == count + 1, "%s", pith_message(s));
        require_same(s, before, after, count);
    }
    pith_scope_close(s);
    return 0;
}
