/* Background compilation: code is requested now and used once it is ready. The thread
 * also takes other work. */
#ifndef PITH_COMPILE_LATER_H
#define PITH_COMPILE_LATER_H

#include "gpu/compile/compile_internal.h"

/* An item of the device's work queue. */
typedef struct pithp_background_work {
    /* Called once. given_up: the runtime closes; only release resources. */
    void (*run)(struct pithp_background_work *work, bool given_up);
    struct pithp_background_work *next;
} pithp_background_work;

/* Enqueue work. Returns false if it will never run. */
bool pithp_background_do(pithp_device *d, pithp_background_work *work);
/* Whether the thread should end; for long-running work. */
bool pithp_background_ends(pithp_device *d);

/* Mode of compilation for new functions and programs, from PITH_JIT. */
typedef enum pithp_code_when {
    PITHP_CODE_ASYNC, /* compile in the background */
    PITHP_CODE_WAIT,  /* the first run waits for the code */
    PITHP_CODE_OFF,   /* no code: programs are interpreted */
    PITHP_CODE_EAGER, /* no tracing: calls of a function run one by one */
} pithp_code_when;
pithp_code_when pithp_code_when_set(void);

typedef enum pithp_code_state {
    PITHP_CODE_WAITING,
    PITHP_CODE_READY,
    PITHP_CODE_FAILED,
} pithp_code_state;

/* Code of a text, reference-counted. */
typedef struct pithp_code {
    atomic_int refs;
    atomic_int state; /* pithp_code_state; the members below are constant once it is no
                         longer PITHP_CODE_WAITING */
    pithp_module *module; /* if ready: one reference */
    pithp_error error;    /* if failed */
    pithp_device *device;
    char *text; /* NULL after compilation */
    size_t text_bytes;
    pithp_compile_options options;
} pithp_code;

/* Make code in the state WAITING. The text is copied.
 *
 * @param options Copied; its name must outlive the runtime.
 * @return One reference; NULL if memory is short (no error is set). */
pithp_code *
pithp_code_make(pithp_device *d, const char *text, const pithp_compile_options *options);
/* Compile it on the calling thread. */
void pithp_code_compile(pithp_code *code);
/* Both: code that is READY or FAILED. */
pithp_code *pithp_code_compiled(pithp_device *d,
                                const char *text,
                                const pithp_compile_options *options);
void pithp_code_release(pithp_code *code); /* NULL is ignored */

static inline pithp_code_state pithp_code_look(const pithp_code *code) {
    return (pithp_code_state)atomic_load_explicit(&code->state, memory_order_acquire);
}

/* End the thread and give up queued work. Called with scopes open. */
void pithp_background_join(pithp_device *d);
/* Free the queue, after pithp_background_join. */
void pithp_background_close(pithp_device *d);

#endif
