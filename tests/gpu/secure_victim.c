/* A program that another user may start with its owner's rights, see secure.sh. It prints
 * whether it is one, what the log hook is given, and what a compiled function returns. */
#include <pith/pith.h>
#include <stdio.h>
#include <sys/auxv.h>

static const pith_array *wave(pith_scope *s, const pith_array *x) {
    return pith_sum(s, pith_mul(s, pith_add(s, x, x), pith_sub(s, x, pith_f64(s, 1))),
                    PITH_ALL_AXES);
}
PITH_FUNCTION1(wave_step, wave, pith_array, pith_array)

static void print(pith_log_level level, const char *message, void *closure) {
    (void)closure;
    printf("log %d: %s\n", (int)level, message);
}

/* The leak check of sanitizers cannot trace a process with rights that its caller lacks.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

int main(void) {
    pith_runtime *rt = pith_open(&(pith_open_options){.log = print});
    pith_scope *s = pith_scope_open(rt);
    const pith_array *x = pith_arange(s, PITH_F64, 5), *y = NULL;
    const pith_function *compiled = pith_jit(s, &wave_step, NULL);
    for (int i = 0; i < 4; i++)
        y = pith_apply(s, compiled, x);
    const double value = pith_read_f64(s, y);
    printf("secure: %d\n", getauxval(AT_SECURE) != 0);
    printf("device: %s\n", pith_device_kind(rt));
    if (pith_failed(s))
        printf("error: %s\n", pith_message(s));
    else
        printf("value: %g\n", value);
    pith_scope_close(s);
    pith_close(rt);
    return 0;
}
