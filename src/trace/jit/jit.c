/* Compiled functions as objects, and their calls. */
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- What a compiled function shares with its copies ---- */

static void release_jit(pith_scope *s, void *thing) {
    (void)s;
    pithp_jit *jit = thing;
    if (atomic_fetch_sub_explicit(&jit->refs, 1, memory_order_acq_rel) > 1)
        return;
    pithp_release(jit->runtime, jit->memory, jit->memory_bytes);
    pithp_release(jit->runtime, jit, sizeof *jit);
}

static pith_status share_jit(pith_scope *s, pithp_closure *closure) {
    pithp_jit *jit = ((pithp_jit_closure *)(void *)closure)->jit;
    if (!pithp_scope_hold(s, jit, release_jit))
        return s->error.code;
    atomic_fetch_add_explicit(&jit->refs, 1, memory_order_relaxed);
    return PITH_OK;
}

static void add_jit_identity(const pithp_closure *closure, pithp_text *text) {
    const pithp_jit *jit = ((const pithp_jit_closure *)(const void *)closure)->jit;
    pithp_text_add_n(text, (const char *)&jit->static_arguments,
                     sizeof jit->static_arguments);
    for (int i = 0; jit->static_paths && jit->static_paths[i]; i++)
        pithp_text_add_n(text, jit->static_paths[i], strlen(jit->static_paths[i]) + 1);
    pithp_text_add_n(text, "", 1);
}

static const pithp_closure_kind kind = {.name = "jit",
                                        .bytes = sizeof(pithp_jit_closure),
                                        .made = share_jit,
                                        .identity = add_jit_identity};

/* Equal bytes for functions that do the same: what they are made of, bound trees aside.
 */
static void add_identity(const pith_function *f, pithp_text *text) {
    for (const pithp_closure *c = f->closure; c; f = c->base, c = f->closure) {
        const bool bound = c->bound != NULL;
        pithp_text_add_n(text, (const char *)&c->kind, sizeof(void *));
        pithp_text_add_n(text, (const char *)&bound, sizeof bound);
        if (c->kind->identity)
            c->kind->identity(c, text);
    }
    pithp_text_add_n(text, (const char *)&f->call, sizeof f->call);
    pithp_text_add_n(text, (const char *)&f->result, sizeof f->result);
    pithp_text_add_n(text, (const char *)&f->arity, sizeof f->arity);
}

/* ---- Calls ---- */

/* In a trace the function becomes a part of its program. */
static const void *
call_inside(const pithp_jit_closure *closure, pith_scope *s, const void *const *given) {
    const pith_function *f = closure->closure.base;
    pithp_jit_call c;
    if (closure->jit->static_arguments || closure->jit->static_paths) {
        if (pithp_jit_call_begin(&c, s, closure, given) != PITH_OK)
            return NULL; /* a static leaf is traced */
        pithp_jit_call_end(&c);
    }
    return f->call(f, s, given);
}

static const void *
call_jitted(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_jit_closure *closure = self->closure;
    if (PITHP_UNLIKELY(pithp_scope_trace(s) || pithp_draws_watched()))
        return call_inside(closure, s, given);
    pithp_jit_call c;
    if (pithp_jit_call_begin(&c, s, closure, given) != PITH_OK)
        return NULL;
    pithp_jit_program *p = pithp_jit_find(&c);
    if (!p && s->error.code == PITH_OK && (p = pithp_jit_record(&c)) != NULL)
        p = pithp_jit_keep(&c, p);
    const void *result = p ? pithp_jit_run(&c, p) : NULL;
    pithp_jit_program_release(p);
    pithp_jit_call_end(&c);
    return result;
}

/* ---- Making ---- */

/* Paths and identity in one piece of memory. */
static pith_status write_down(pith_scope *s,
                              pithp_jit *jit,
                              const pithp_text *identity,
                              const pith_jit_options *o) {
    size_t count = 0, bytes = 0;
    while (o->static_paths && o->static_paths[count])
        bytes += strlen(o->static_paths[count++]) + 1;
    jit->memory_bytes =
        (count + 1) * sizeof *jit->static_paths + bytes + identity->length;
    jit->memory = pithp_allocate(s->runtime, jit->memory_bytes);
    if (!jit->memory)
        return pithp_fail_memory(s, jit->memory_bytes);
    char **paths = (char **)(void *)jit->memory;
    char *at = (char *)(paths + count + 1);
    for (size_t i = 0; i < count; i++) {
        paths[i] = at;
        at += strlen(strcpy(at, o->static_paths[i])) + 1;
    }
    paths[count] = NULL;
    jit->static_paths = count ? paths : NULL;
    jit->static_arguments = o->static_arguments;
    memcpy(at, identity->bytes, identity->length);
    jit->identity = at;
    jit->identity_bytes = identity->length;
    jit->identity_hash = pithp_hash(0, at, identity->length);
    return PITH_OK;
}

static void add_options(pithp_text *text, const pith_jit_options *o) {
    pithp_text_add_n(text, (const char *)&o->static_arguments,
                     sizeof o->static_arguments);
    for (int i = 0; o->static_paths && o->static_paths[i]; i++)
        pithp_text_add_n(text, o->static_paths[i], strlen(o->static_paths[i]) + 1);
}

static pithp_jit *
make_jit(pith_scope *s, const pith_function *function, const pith_jit_options *o) {
    pithp_jit *jit = pithp_allocate(s->runtime, sizeof *jit);
    if (!jit) {
        pithp_fail_memory(s, sizeof *jit);
        return NULL;
    }
    *jit = (pithp_jit){.runtime = s->runtime, .last_evictions = -1};
    atomic_init(&jit->refs, 1);
    pithp_text identity;
    pithp_text_begin(&identity, s->runtime);
    add_identity(function, &identity);
    add_options(&identity, o);
    if (identity.failed)
        pithp_fail_memory(s, identity.room);
    const bool done = !identity.failed && write_down(s, jit, &identity, o) == PITH_OK;
    pithp_text_end(&identity);
    if (done)
        return jit;
    release_jit(s, jit);
    return NULL;
}

static pith_status
check_options(pith_scope *s, const pith_function *f, const pith_jit_options *o) {
    const char *on = pithp_scope_device(s)->backend->kind;
    if (o->static_arguments >> f->arity)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_jit: %s has %d argument%s, and static_arguments names "
                          "others",
                          f->name, f->arity, f->arity == 1 ? "" : "s");
    if (o->device && strcmp(o->device, on) != 0)
        return pithp_fail(s, PITH_E_UNSUPPORTED, NULL,
                          "pith_jit: %s: expected the device %s, and the runtime is on "
                          "the device %s",
                          f->name, o->device, on);
    return PITH_OK;
}

const pith_function *
pith_jit(pith_scope *s, const pith_function *function, const pith_jit_options *options) {
    static const pith_jit_options defaults;
    const pith_jit_options *o = options ? options : &defaults;
    if (!pithp_enter(s) || pithp_function_check(s, function, "pith_jit") != PITH_OK ||
        check_options(s, function, o) != PITH_OK)
        return NULL;
    pithp_jit *jit = make_jit(s, function, o);
    if (!jit)
        return NULL;
    pith_function like = *function;
    like.call = call_jitted;
    const pithp_jit_closure closure = {.closure = {.kind = &kind, .base = function},
                                       .jit = jit};
    const pithp_closure *made = pithp_function_make(s, &like, &closure.closure);
    release_jit(s, jit); /* the function has its own */
    return made ? made->function : NULL;
}
