/* Profiles on a device, where programs are tasks that the host drives: by the fake, whose
 * work takes a millisecond each. */
#include "profile_test.h"

#include <unistd.h>

enum { N = 3000, LENGTH = 4 };

static int mul_line, scan_line;

static const pith_array *fused(pith_scope *in, const pith_array *x) {
    return pith_sqrt(in, NOTED(mul_line, pith_mul(in, x, x)));
}
PITH_FUNCTION1(fused_function, fused, pith_array, pith_array)

typedef struct {
    const pith_array *carry, *out;
} Step;
PITH_NODE(Step, PITH_LEAF(carry, "f64[n]"), PITH_LEAF(out, "f64[]"))
static const Step *body(pith_scope *in, const pith_array *carry, const pith_array *x) {
    const pith_array *moved = pith_mul(in, carry, x);
    const Step next = {.carry = moved, .out = pith_max(in, moved, PITH_ALL_AXES)};
    return pith_freeze(in, Step, &next);
}
PITH_FUNCTION2(body_function, body, Step, pith_array, pith_array)
static const pith_array *scanned(pith_scope *in, const pith_array *x) {
    const pith_array *xs = pith_full(in, PITH_F64, PITH_SHAPE(LENGTH), 0.5);
    const void *outs;
    const pith_array *last =
        NOTED(scan_line, pith_scan(in, &body_function, x, xs, &outs, NULL));
    return pith_add(in, last, pith_sort(in, x, 0, NULL));
}
PITH_FUNCTION1(scan_function, scanned, pith_array, pith_array)

Test(profile_device, times_a_task_by_marks, .init = open_scope) {
    const pith_profile *p =
        profile_of(&fused_function, pith_ones(s, PITH_F64, PITH_SHAPE(N)));
    const pith_profile_row *row = p->rows;
    char site[sizeof __FILE__ + 16];
    snprintf(site, sizeof site, "%s:%d", __FILE__, mul_line);
    cr_assert(p->row_count == 1 && row->calls == CALLS, "%s", p->text);
    cr_assert(row->read == CALLS * 8 * N && row->written == CALLS * 8 * N, "%s", p->text);
    cr_assert(strcmp(row->sites[0], site) == 0, "%s", row->sites[0]);
    /* and the kernel that binds addresses, which is of no instruction */
    cr_assert(fabs(row->seconds - CALLS * 1e-3) < 1e-9, "%g", row->seconds);
    cr_assert(fabs(p->seconds - CALLS * 2e-3) < 1e-9, "%g", p->seconds);
    close_scope();
}

Test(profile_device, bodies_of_loops_are_in_it, .init = open_scope) {
    const pith_profile *p =
        profile_of(&scan_function, pith_ones(s, PITH_F64, PITH_SHAPE(N)));
    const pith_profile_row *loop = row_named(p, "scan");
    int64_t inside = 0;
    cr_assert(loop->calls == CALLS && loop->inside == -1, "%s", p->text);
    cr_assert(row_named(p, "sort")->calls == CALLS, "%s", p->text);
    for (int64_t k = 0; k < p->row_count; k++) {
        const pith_profile_row *row = &p->rows[k];
        if (row->inside < 0)
            continue;
        cr_assert(&p->rows[row->inside] == loop && row->calls == CALLS * LENGTH, "%s",
                  p->text);
        cr_assert(row->seconds >= CALLS * LENGTH * 1e-3 - 1e-9, "%s", p->text);
        inside++;
    }
    cr_assert(inside > 0, "%s", p->text);
    close_scope();
}

/* More tasks than marks that wait to be read. */
Test(profile_device, long_loops_are_counted, .init = open_scope) {
    const pith_profile *p = profile_of(
        &looped_function, pith_full(s, PITH_F64, PITH_SHAPE(5), 64 / pow(2, 300)));
    const pith_profile_row *add = row_named(p, "add");
    cr_assert(add->calls == CALLS * 300, "%s", p->text);
    cr_assert(add->read == CALLS * 300 * 5 * 8, "%s", p->text);
    cr_assert(fabs(add->seconds - CALLS * 300 * 1e-3) < 1e-6, "%s", p->text);
    close_scope();
}

/* The text for NVRTC is kept, and so is what it makes of it. */
Test(profile_device, text_and_code_are_kept) {
    char command[1024];
    const char *const folder = pt_files();
    setenv("PITH_JIT_DEBUG", folder, 1);
    open_scope();
    profile_of(&fused_function, pith_ones(s, PITH_F64, PITH_SHAPE(N)));
    close_scope();
    snprintf(
        command, sizeof command,
        "cd '%s' && grep -q test_profile_device.c fused_*.cu && test -s fused_*.cubin",
        folder);
    cr_assert(system(command) == 0, "%s", command);
}

/* A whole run: its tasks are driven, and the bits are those of the graph. */
Test(profile_device, of_a_whole_run_changes_no_bits) {
    static double results[2][N];
    static char text[16384];
    char file[512], calls[64];
    snprintf(file, sizeof file, "%s/profile.txt", pt_files());
    snprintf(calls, sizeof calls, "scanned: %d calls", CALLS);
    setenv("PITH_JIT", "wait", 1);
    for (int timed = 0; timed < 2; timed++) {
        if (timed)
            setenv("PITH_PROFILE", file, 1);
        open_scope();
        const pith_array *x = pith_div(s, pith_arange(s, PITH_F64, N), pith_f64(s, 77));
        const pith_function *f = pith_jit(s, &scan_function, NULL);
        for (int k = 0; k < CALLS; k++) {
            const pith_array *y = pith_apply(s, f, x);
            pt_ok(s, pith_read(s, y, results[timed], sizeof results[timed]));
        }
        close_scope();
    }
    cr_assert(memcmp(results[0], results[1], sizeof results[0]) == 0);
    FILE *in = fopen(file, "r");
    cr_assert(in, "%s", file);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    cr_assert(strstr(text, calls), "%s", text);
    cr_assert(strstr(text, "(in scan test_profile_device.c:"), "%s", text);
}
