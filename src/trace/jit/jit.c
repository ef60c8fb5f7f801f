/* Compiled functions: objects and calls. */
#include "gpu/collect.h"
#include "gpu/compile/background.h"
#include "mesh/mesh_internal.h"
#include "trace/jit/jit_internal.h"
#include "trace/shard/shard_map.h"

#include <string.h>
#include <time.h>

/* ---- State shared by the copies of a compiled function ---- */

static void free_jit(pithp_jit *jit) {
    pithp_string_end(&jit->why);
    pithp_release(jit->runtime, jit->memory, jit->memory_bytes);
    pithp_release(jit->runtime, jit, sizeof *jit);
}

static void release_jit(pith_scope *s, void *thing) {
    (void)s;
    pithp_jit *jit = thing;
    if (atomic_fetch_sub_explicit(&jit->refs, 1, memory_order_acq_rel) > 1)
        return;
    pithp_jit_leave(jit);
    free_jit(jit);
}

static pith_status share_jit(pith_scope *s, pithp_closure *closure) {
    pithp_jit *jit = ((pithp_jit_closure *)(void *)closure)->jit;
    if (!pithp_scope_hold(s, jit, release_jit))
        return s->error.code;
    atomic_fetch_add_explicit(&jit->refs, 1, memory_order_relaxed);
    return PITH_OK;
}

static void add_paths(pithp_string *text, const char *const *paths) {
    for (int i = 0; paths && paths[i]; i++)
        pithp_string_add_n(text, paths[i], strlen(paths[i]) + 1);
    pithp_string_add_n(text, "", 1);
}

static void add_jit_identity(const pithp_closure *closure, pithp_string *text) {
    const pithp_jit *jit = ((const pithp_jit_closure *)(const void *)closure)->jit;
    pithp_string_add_n(text, (const char *)&jit->static_arguments,
                       sizeof jit->static_arguments);
    add_paths(text, (const char *const *)jit->static_paths);
}

static const void *
call_unseen(const pithp_closure *closure, pith_scope *s, const void *const *given);
static void be_absent(const pithp_closure *c, pith_scope *s);
static const pithp_closure_kind kind = {.name = "jit",
                                        .bytes = sizeof(pithp_jit_closure),
                                        .made = share_jit,
                                        .identity = add_jit_identity,
                                        .call = call_unseen,
                                        .absent = be_absent};
/* With PITH_JIT=eager, calls have no programs. */
static const pithp_closure_kind eager_kind = {.name = "jit",
                                              .bytes = sizeof(pithp_jit_closure),
                                              .made = share_jit,
                                              .identity = add_jit_identity};

/* ---- Calls ---- */

/* Without a program: check that static parts exist and have values. */
static pith_status
check_static(const pithp_jit_closure *closure, pith_scope *s, const void *const *given) {
    if (!closure->jit->static_arguments && !closure->jit->static_paths)
        return PITH_OK;
    pithp_jit_call c;
    c.like = NULL;
    c.inside = NULL;
    const pith_status rc = pithp_jit_call_begin(&c, s, closure, given);
    if (rc == PITH_OK)
        pithp_jit_call_end(&c);
    return rc;
}

static pithp_jit_program *record(const pithp_jit_call *c) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pithp_jit_program *p = pithp_jit_record(c);
    if (p && c->s->runtime->log_hook)
        pithp_jit_log_miss(c, &start);
    return p;
}

static pithp_jit_program *find_or_record(pithp_jit_call *c) {
    pithp_jit_program *p = pithp_jit_find(c);
    if (!p && c->s->error.code == PITH_OK && (p = record(c)) != NULL)
        p = pithp_jit_keep(c, p);
    if (p && p->plan->program->has_collectives) /* recorded for an equal function */
        atomic_store_explicit(&c->jit->collective, true, memory_order_relaxed);
    return p;
}

const pithp_jit_closure *pithp_jit_closure_of(const pith_function *f) {
    const pithp_closure *c = f ? f->closure : NULL;
    return c && (c->kind == &kind || c->kind == &eager_kind)
               ? (const pithp_jit_closure *)(const void *)c
               : NULL;
}

pithp_jit_program *pithp_jit_program_of(pith_scope *s,
                                        const pithp_jit_closure *closure,
                                        const void *const *arguments) {
    pithp_jit_call c;
    c.like = NULL;
    c.inside = NULL;
    if (pithp_jit_call_begin(&c, s, closure, arguments) != PITH_OK)
        return NULL;
    pithp_jit_program *p = find_or_record(&c);
    pithp_jit_call_end(&c);
    return p;
}

/* Run a program on trees; false: it does not match. *alike: only values of static leaves
 * differ. */
static bool try_program(pithp_jit_program *p,
                        pith_scope *s,
                        const void *const *trees,
                        const void **result,
                        bool *alike) {
    pithp_jit_running r;
    *result = NULL;
    if (pithp_jit_run_begin(&r, s, p) != PITH_OK)
        return true;
    const bool same = pithp_jit_run_match(&r, trees, alike);
    if (PITHP_LIKELY(same))
        *result = pithp_jit_run(&r);
    pithp_jit_run_end(&r);
    return same;
}

/* Call the program of the last call; false: it does not match. *like: that program if the
 * structure matches, with a reference for the caller. */
static bool call_last(const pithp_jit_closure *closure,
                      pith_scope *s,
                      const void *const *given,
                      const void **result,
                      pithp_jit_turn *turn,
                      pithp_jit_program **like) {
    const pith_function *f = closure->closure.base;
    const void *trees[PITHP_JIT_TREES];
    const int64_t bound = pithp_function_bound(f, 0, NULL), count = f->arity + bound;
    bool alike = false;
    pithp_jit_program *p = pithp_jit_take(closure->jit, turn);
    *like = NULL;
    if (!p)
        return false;
    if (PITHP_LIKELY(count == p->key.tree_count && count <= PITHP_JIT_TREES &&
                     p->key.modes == pithp_jit_modes(s))) {
        if (PITHP_UNLIKELY(bound)) {
            memcpy(trees, given, (size_t)f->arity * sizeof *trees);
            pithp_function_bound(f, bound, trees + f->arity);
        }
        if (PITHP_LIKELY(try_program(p, s, bound ? trees : given, result, &alike))) {
            if (PITHP_UNLIKELY(!p->outputs.fits))
                *result = pithp_result_take(s, f, *result);
            pithp_jit_note_hit(closure->jit, turn);
            pithp_jit_seat(closure->jit, p, turn);
            return true;
        }
    }
    if (alike)
        *like = p;
    else
        pithp_jit_program_release(p);
    return s->error.code != PITH_OK;
}

/* Run the program of a call. NULL: error set. */
static const void *run_program(pithp_jit_program *p, const pithp_jit_call *c) {
    pithp_jit_running r;
    const void *result = NULL;
    if (pithp_jit_run_begin(&r, c->s, p) != PITH_OK)
        return NULL;
    if (pithp_jit_run_read(&r, c) == PITH_OK)
        result = pithp_jit_run(&r);
    pithp_jit_run_end(&r);
    return result;
}

static const void *call_any(const pithp_jit_closure *closure,
                            pith_scope *s,
                            const void *const *given,
                            const pithp_jit_turn *turn,
                            pithp_jit_program *like) {
    pithp_jit_call c;
    c.like = like;
    c.inside = NULL;
    if (pithp_jit_call_begin(&c, s, closure, given) != PITH_OK)
        return NULL;
    pithp_jit_program *p = find_or_record(&c);
    const void *result = p ? run_program(p, &c) : NULL;
    if (p)
        pithp_jit_seat(closure->jit, p, turn);
    pithp_jit_call_end(&c);
    return result;
}

/* Watched draws are seen when they are recorded, so that no cached program runs. */
const void *pithp_jit_run_recorded(const pithp_jit_closure *closure,
                                   pith_scope *s,
                                   const void *const *given,
                                   pithp_attached **attached) {
    pith_scope *work = pithp_scope_trace(s) ? pith_scope_open_in(s) : s;
    const void *result = NULL;
    pithp_jit_call c;
    if (!pithp_scope_writable(work))
        return NULL;
    work->room[PITHP_ROOM_TRACE] = NULL;
    c.like = NULL;
    c.inside = NULL;
    if (pithp_jit_call_begin(&c, work, closure, given) == PITH_OK) {
        pithp_jit_program *p =
            pithp_draws_watched() ? pithp_jit_record(&c) : find_or_record(&c);
        result = p ? run_program(p, &c) : NULL;
        if (attached && p && (*attached = p->attached) != NULL)
            atomic_fetch_add_explicit(&p->attached->refs, 1, memory_order_relaxed);
        pithp_jit_program_release(p);
        pithp_jit_call_end(&c);
    }
    if (work == s)
        return result;
    if (!result || pith_failed(work) || pithp_keep_slots(s, 1, &result) != PITH_OK)
        result = NULL;
    pith_scope_close(work); /* its error moves to s */
    return result;
}

static const void *
call_recorded(const pithp_jit_closure *closure, pith_scope *s, const void *const *given) {
    const void *result = NULL;
    pithp_jit_turn turn;
    pithp_jit_program *like;
    if (call_last(closure, s, given, &result, &turn, &like))
        return result;
    result = call_any(closure, s, given, &turn, like);
    pithp_jit_program_release(like);
    return result;
}

static const void *
run_unseen(const pithp_closure *c, pith_scope *s, const void *const *given) {
    const pithp_jit_closure *closure = (const pithp_jit_closure *)(const void *)c;
    const pith_function *f = c->function;
    const void *result = NULL;
    pithp_jit_turn turn;
    pithp_jit_program *like = NULL;
    pithp_block *block = NULL;
    bool usable = !pithp_scope_trace(s) && !pithp_draws_watched();
    for (int i = 0; i < f->arity; i++)
        usable = usable && pithp_tree_is_usable(s, given[i], &block);
    /* A program requires the argument types that it was recorded with. */
    if (PITHP_LIKELY(usable) && call_last(closure, s, given, &result, &turn, &like))
        return result;
    if (pithp_arguments_check(s, f, given) == PITH_OK)
        result = pithp_result_take(s, f,
                                   usable ? call_any(closure, s, given, &turn, like)
                                          : pithp_function_run(f, s, given));
    pithp_jit_program_release(like);
    return result;
}

/* ---- Ranks of a mesh ---- */

static bool is_collective(const pithp_jit_closure *closure) {
    return atomic_load_explicit(&closure->jit->collective, memory_order_relaxed);
}

/* A call that fails before the agreement takes part in it with its error. Checks
 * without a collector are decided at the end of the call. before: agreements at its
 * start. */
static const void *end_call(const pithp_jit_closure *closure,
                            pith_scope *s,
                            const void *const *given,
                            uint64_t before,
                            const void *result) {
    const char *name = closure->closure.base->name;
    if (PITHP_LIKELY(!is_collective(closure)))
        return result;
    if (PITHP_UNLIKELY(s->error.code != PITH_OK) && pithp_collective_count(s) == before)
        pithp_collective_absent(s, name);
    if (!pithp_collective_agreed_since(s, before))
        return result; /* no rank has run it */
    const bool decides = pithp_collective_decides(s);
    const bool compares = pithp_ranks_compare(s) && !pithp_shard_map_inside();
    for (int i = 0; compares && i < closure->closure.base->arity; i++)
        if (!pithp_tree_compare(s, name, given[i]))
            result = NULL;
    if (!decides || pithp_collector_of(s)) /* nothing may fail, or others decide */
        return result;
    return pithp_ranks_end_call(s, name) ? result : NULL;
}

/* A scope has failed before the call. The other ranks wait in the agreement before the
 * program runs. */
static void be_absent(const pithp_closure *c, pith_scope *s) {
    if (!pithp_scope_trace(s))
        end_call((const pithp_jit_closure *)(const void *)c, s, NULL,
                 pithp_collective_count(s), NULL);
}

static const void *
call_unseen(const pithp_closure *c, pith_scope *s, const void *const *given) {
    const uint64_t before = pithp_collective_count(s);
    const void *result = run_unseen(c, s, given);
    return end_call((const pithp_jit_closure *)(const void *)c, s, given, before, result);
}

static const void *
call_jitted(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_jit_closure *closure = self->closure;
    if (PITHP_UNLIKELY(pithp_scope_trace(s) || pithp_draws_watched()))
        return pithp_jit_call_inside(closure, s, given);
    const uint64_t before = pithp_collective_count(s);
    return end_call(closure, s, given, before, call_recorded(closure, s, given));
}

/* Temporaries are released after the call, as with a program. */
static const void *
call_eager(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_jit_closure *closure = self->closure;
    if (pithp_scope_trace(s) || pithp_draws_watched())
        return pithp_jit_call_inside(closure, s, given);
    if (pithp_jit_must_trace(closure))
        return pithp_jit_run_recorded(closure, s, given, NULL);
    return check_static(closure, s, given) == PITH_OK
               ? pithp_jit_run_apart(closure->closure.base, s, given)
               : NULL;
}

/* ---- Making ---- */

/* Copy the list, with its texts after it; returns the end. */
static char *copy_paths(char *at, const char *const *paths, char ***copy) {
    size_t count = 0;
    while (paths && paths[count])
        count++;
    *copy = count ? (char **)(void *)at : NULL;
    if (!count)
        return at;
    at += (count + 1) * sizeof **copy;
    for (size_t i = 0; i < count; i++) {
        (*copy)[i] = at;
        at += strlen(strcpy(at, paths[i])) + 1;
    }
    (*copy)[count] = NULL;
    const uintptr_t aligned = ((uintptr_t)at + 7) & ~(uintptr_t)7;
    return at + (aligned - (uintptr_t)at);
}

static size_t bytes_of_paths(const char *const *paths) {
    size_t bytes = 2 * sizeof *paths;
    for (int i = 0; paths && paths[i]; i++)
        bytes += strlen(paths[i]) + 1 + sizeof *paths;
    return bytes;
}

/* Store paths and identity in one allocation. */
static pith_status write_down(pith_scope *s,
                              pithp_jit *jit,
                              const pithp_string *identity,
                              const pith_jit_options *o) {
    jit->memory_bytes = bytes_of_paths(o->static_paths) +
                        bytes_of_paths(o->donate_paths) + identity->length;
    jit->memory = pithp_allocate(s->runtime, jit->memory_bytes);
    if (!jit->memory)
        return pithp_fail_memory(s, jit->memory_bytes);
    char *at = copy_paths(jit->memory, o->static_paths, &jit->static_paths);
    at = copy_paths(at, o->donate_paths, &jit->donate_paths);
    jit->static_arguments = o->static_arguments;
    jit->donate_arguments = o->donate_arguments;
    jit->keep_unused = o->keep_unused;
    jit->fast_math = o->fast_math;
    memcpy(at, identity->bytes, identity->length);
    jit->identity = at;
    jit->identity_bytes = identity->length;
    jit->identity_hash = pithp_hash(0, at, identity->length);
    return PITH_OK;
}

static void add_options(pithp_string *text, const pith_jit_options *o) {
    const unsigned sets[] = {o->static_arguments, o->donate_arguments, o->keep_unused,
                             o->fast_math};
    pithp_string_add_n(text, (const char *)sets, sizeof sets);
    add_paths(text, o->static_paths);
    add_paths(text, o->donate_paths);
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
    pithp_string_begin(&jit->why, s->runtime);
    pithp_string identity;
    pithp_string_begin(&identity, s->runtime);
    pithp_function_identity(function, &identity);
    add_options(&identity, o);
    if (identity.failed)
        pithp_fail_memory(s, identity.capacity);
    const bool done = !identity.failed && write_down(s, jit, &identity, o) == PITH_OK &&
                      pithp_jit_enrol(s, jit) == PITH_OK;
    pithp_string_end(&identity);
    if (done)
        return jit;
    free_jit(jit);
    return NULL;
}

static pith_status
check_paths(pith_scope *s, const pith_function *f, const char *const *paths) {
    for (int i = 0, argument; paths && paths[i]; i++)
        if (!pithp_jit_path(paths[i], f->arity, &argument))
            return pithp_fail(s, PITH_E_PATH, NULL,
                              "pith_jit: %s: the path '%s' names no argument: expected "
                              "[0] to [%d], and a path in it",
                              f->name, paths[i], f->arity - 1);
    return PITH_OK;
}

/* Whether a part of an argument, or one of its ancestors, is static. */
static bool
is_static(const pith_jit_options *o, int arity, int argument, const char *inside) {
    bool found = o->static_arguments >> argument & 1;
    for (int i = 0, of; o->static_paths && o->static_paths[i]; i++) {
        const char *part = pithp_jit_path(o->static_paths[i], arity, &of);
        const size_t n = strlen(part);
        found |= of == argument && strncmp(inside, part, n) == 0 &&
                 (!inside[n] || inside[n] == '.' || inside[n] == '[');
    }
    return found;
}

/* Check that no part is both static and donated. */
static pith_status
check_donated(pith_scope *s, const pith_function *f, const pith_jit_options *o) {
    int argument = -1;
    const char *inside = NULL;
    for (int i = 0; i < f->arity && !inside; i++)
        if (o->donate_arguments >> i & 1 && is_static(o, f->arity, i, "")) {
            argument = i;
            inside = "";
        }
    for (int i = 0; o->donate_paths && o->donate_paths[i] && !inside; i++) {
        const char *part = pithp_jit_path(o->donate_paths[i], f->arity, &argument);
        if (is_static(o, f->arity, argument, part))
            inside = part;
    }
    return inside ? pithp_fail(s, PITH_E_ARG, NULL,
                               "pith_jit: %s: [%d]%s is static and donated", f->name,
                               argument, inside)
                  : PITH_OK;
}

static pith_status
check_options(pith_scope *s, const pith_function *f, const pith_jit_options *o) {
    const char *on = pithp_scope_device(s)->backend->kind;
    if (check_paths(s, f, o->static_paths) != PITH_OK ||
        check_paths(s, f, o->donate_paths) != PITH_OK)
        return s->error.code;
    const unsigned named = o->static_arguments | o->donate_arguments;
    if (named >> f->arity)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "pith_jit: %s: the options name argument [%d]: expected [0] to "
                          "[%d]",
                          f->name, f->arity + __builtin_ctz(named >> f->arity),
                          f->arity - 1);
    if (check_donated(s, f, o) != PITH_OK)
        return s->error.code;
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
    const bool eager = pithp_code_when_set() == PITHP_CODE_EAGER;
    pith_function like = *function;
    like.call = eager ? call_eager : call_jitted;
    const pithp_jit_closure closure = {
        .closure = {.kind = eager ? &eager_kind : &kind, .base = function}, .jit = jit};
    const pithp_closure *made = pithp_function_make(s, &like, &closure.closure);
    release_jit(s, jit); /* the function holds its own reference */
    return made ? made->function : NULL;
}

const char *pith_explain_miss(pith_scope *s, const pith_function *function) {
    if (!pithp_enter(s) ||
        pithp_function_check(s, function, "pith_explain_miss") != PITH_OK)
        return NULL;
    const pithp_jit_closure *c = pithp_jit_closure_of(function);
    pithp_string text;
    pithp_string_begin(&text, s->runtime);
    if (c)
        pithp_jit_why(c->jit, &text);
    if (!pithp_jit_explain_apart(s, function, &text) && !c && !text.failed)
        pithp_fail(s, PITH_E_ARG, NULL,
                   "pith_explain_miss: %s was not made by pith_jit, and pith_jvp and its "
                   "like were not called with it",
                   function->name);
    const char *why = pithp_string_finish(s, &text);
    return pith_failed(s) ? NULL : why;
}
