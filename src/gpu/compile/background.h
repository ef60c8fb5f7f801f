/* Code that is asked for now and used when it is there, and other work for the thread
 * that compiles it. */
#ifndef PITH_COMPILE_LATER_H
#define PITH_COMPILE_LATER_H

#include "gpu/compile/compile_internal.h"

/* Something for the device's thread to do, one after the other. */
typedef struct pithp_background_work {
    /* Called once. given_up: the runtime closes, and it is not to be done. */
    void (*run)(struct pithp_background_work *work, bool given_up);
    struct pithp_background_work *next;
} pithp_background_work;

/* False: nobody will ever do it. */
bool pithp_background_do(pithp_device *d, pithp_background_work *work);
/* Whether the thread is to come to its end; asked by what it does. */
bool pithp_background_ends(pithp_device *d);

/* What PITH_JIT says of functions and programs that are made now. */
typedef enum pithp_code_when {
    PITHP_CODE_ASYNC, /* code is made in the background */
    PITHP_CODE_WAIT,  /* the first run waits for it */
    PITHP_CODE_OFF,   /* there is none: programs are interpreted */
    PITHP_CODE_EAGER, /* nor is there a program of a function: its calls run one by one */
} pithp_code_when;
pithp_code_when pithp_code_when_set(void);

typedef enum pithp_code_state {
    PITHP_CODE_WAITING,
    PITHP_CODE_READY,
    PITHP_CODE_FAILED,
} pithp_code_state;

/* Counted. */
typedef struct pithp_code {
    atomic_int refs;
    atomic_int state;     /* pithp_code_state; what follows is constant once it has left
                             PITHP_CODE_WAITING */
    pithp_module *module; /* ready: one reference */
    pithp_error error;    /* failed */
    pithp_device *device;
    char *text; /* NULL once it was compiled */
    size_t text_bytes;
    pithp_compile_options options;
    pithp_background_work work;
} pithp_code;

/* Ask for the code of a text, which is copied. It is compiled on a thread of the
 * device's, one text after the other, or, if `wait`, before this returns.
 *
 * @param options Copied; its name must outlive the runtime.
 * @return One reference; NULL when memory is short (no error is set).
 */
pithp_code *pithp_compile_in_background(pithp_device *d,
                                        const char *text,
                                        const pithp_compile_options *options,
                                        bool wait);
void pithp_code_release(pithp_code *code); /* NULL does nothing */

static inline pithp_code_state pithp_code_look(const pithp_code *code) {
    return (pithp_code_state)atomic_load_explicit(&code->state, memory_order_acquire);
}

/* The thread comes to its end: what waits is given up. Called with scopes open. */
void pithp_background_join(pithp_device *d);
/* After it. */
void pithp_background_close(pithp_device *d);

#endif
