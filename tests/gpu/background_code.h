/* Code that the device's thread compiles. */
#ifndef PITH_TESTS_BACKGROUND_CODE_H
#define PITH_TESTS_BACKGROUND_CODE_H

#include "gpu/compile/background.h"
#include "pith_test.h"

typedef struct background_code {
    pithp_background_work work;
    pithp_code *code; /* a second reference */
} background_code;

static void background_compile(pithp_background_work *work, bool given_up) {
    background_code *b = (background_code *)(void *)work;
    if (!given_up && atomic_load(&b->code->refs) > 1)
        pithp_code_compile(b->code);
    pithp_code_release(b->code);
    free(b);
}

static inline pithp_code *
background_code_make(pith_runtime *rt, const char *text, const char *name) {
    pithp_device *d = pithp_runtime_device(rt);
    background_code *b = malloc(sizeof *b);
    b->work.run = background_compile;
    b->code = pithp_code_make(d, text, &(pithp_compile_options){.name = name});
    cr_assert(b->code);
    atomic_fetch_add(&b->code->refs, 1);
    pithp_code *code = b->code;
    cr_assert(pithp_background_do(d, &b->work));
    return code;
}

#endif
