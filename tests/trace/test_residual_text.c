/* pith_residual_text: what is kept for the backward half, with its bytes and lines. */
#include "derive_test.h"

/* Elementwise values are computed again from the arguments, sums are kept. */
enum { SUM_LINE = __LINE__ + 3 };
static const pith_array *wave(pith_scope *in, const Ions *ions) {
    const pith_array *x = ions->position, *y = pith_sin(in, pith_mul(in, x, x));
    y = pith_cumsum(in, y, 0, NULL);
    return pith_sum(in, pith_mul(in, y, ions->charge), PITH_ALL_AXES);
}
PITH_FUNCTION1(wave_of, wave, pith_array, Ions)

static const pith_array *twice(pith_scope *in, const pith_array *x) {
    return pith_add(in, x, x);
}
PITH_FUNCTION1(twice_of, twice, pith_array, pith_array)

static const Ions *some_ions(void) {
    return pith_record(s, Ions, .position = PITH_VECTOR(s, f64, 0.5, -1.25, 2),
                       .charge = PITH_VECTOR(s, f64, 1, 2, 3), .width = 2);
}
static void has(const char *text, const char *line) {
    cr_assert(strstr(text, line), "no '%s' in\n%s", line, text);
}

Test(residual_text, residuals_have_bytes_rows_and_lines, .init = open_scope) {
    const char *text = pith_residual_text(s, &wave_of, PITH_ITEMS(some_ions()), NULL);
    char line[80];
    pt_ok(s, text);
    has(text, "24 bytes, f64[3]: argument [0].position, not copied\n");
    has(text, "24 bytes, f64[3]: argument [0].charge, not copied\n");
    snprintf(line, sizeof line, "24 bytes, f64[3]: cumsum at test_residual_text.c:%d\n",
             SUM_LINE);
    has(text, line);
    cr_assert(!pith_jit_about(rt).hits && pith_jit_about(rt).misses == 1);
    close_scope();
}

/* What the gradient of a part does not need is not kept. */
Test(residual_text, a_selection_keeps_less, .init = open_scope) {
    const pith_derive_options charge = {.paths = PITH_PATHS("[0].charge")};
    const char *text = pith_residual_text(s, &wave_of, PITH_ITEMS(some_ions()), &charge);
    pt_ok(s, text);
    cr_assert(!strstr(text, "argument") && strstr(text, "cumsum"), "%s", text);
    has(text, "24 bytes in all, and 0 bytes not copied\n");
    text = pith_residual_text(s, &twice_of, PITH_ITEMS(some_ions()->position), NULL);
    cr_assert_str_eq(text, "0 bytes in all, and 0 bytes not copied\n");
    close_scope();
}

/* The text is of the program that pith_vjp runs. */
Test(residual_text, the_program_is_that_of_the_map, .init = open_scope) {
    const Ions *ions = some_ions();
    pt_ok(s, pith_residual_text(s, &wave_of, PITH_ITEMS(ions), NULL));
    pt_ok(s, pith_vjp(s, &wave_of, PITH_ITEMS(ions), NULL).map);
    cr_assert(pith_jit_about(rt).misses == 1);
    pt_fails(PITH_E_ARG, s,
             pith_residual_text(s, &wave_of, PITH_ITEMS(ions, ions), NULL));
    pt_fails(PITH_E_DTYPE, s,
             pith_residual_text(s, &twice_of, PITH_ITEMS(pith_i64(s, 1)), NULL));
    close_scope();
}
