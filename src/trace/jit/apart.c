/* Traces of functions that callers do not have: pith_jvp and its like compile one for a
 * call. Why each was last traced is kept here, by the function that it was made of. */
#include "trace/jit/jit_internal.h"

#include <string.h>

enum { MOST_APART = 32 };

struct pithp_jit_apart {
    pithp_jit_apart *older;
    const char *by;       /* "pith_jvp": a literal */
    pithp_string of, why; /* the identity of the function */
};

static void free_apart(pith_runtime *rt, pithp_jit_apart *x) {
    pithp_string_end(&x->of);
    pithp_string_end(&x->why);
    pithp_release(rt, x, sizeof *x);
}

void pithp_jit_apart_end(pith_runtime *rt, pithp_jit_apart **list) {
    while (*list) {
        pithp_jit_apart *x = *list;
        *list = x->older;
        free_apart(rt, x);
    }
}

static bool
is_of(const pithp_jit_apart *x, const char *by, const pithp_string *identity) {
    return (!by || x->by == by) && x->of.length == identity->length &&
           !memcmp(x->of.bytes, identity->bytes, identity->length);
}

/* Take the entry that a new one replaces out of the list: that of the same call, or the
 * oldest of a full list; or NULL. */
static pithp_jit_apart *
take_old(pithp_jit_apart **list, const char *by, const pithp_string *identity) {
    int count = 1;
    while (*list && !is_of(*list, by, identity) &&
           ((*list)->older || count < MOST_APART)) {
        list = &(*list)->older;
        count++;
    }
    pithp_jit_apart *x = *list;
    if (x)
        *list = x->older;
    return x;
}

void pithp_jit_note_apart(pith_scope *s,
                          const char *by,
                          const pith_function *f,
                          const pith_function *compiled) {
    pith_runtime *rt = s->runtime;
    const pithp_string *why = &pithp_jit_closure_of(compiled)->jit->why;
    pithp_jit_apart *x = why->length ? pithp_allocate(rt, sizeof *x) : NULL, *old = x;
    if (!x)
        return;
    *x = (pithp_jit_apart){.by = by};
    pithp_string_begin(&x->of, rt);
    pithp_string_begin(&x->why, rt);
    pithp_function_identity(f, &x->of);
    pithp_string_add(&x->why, why->bytes);
    if (!x->of.failed && !x->why.failed) {
        pithp_jit_apart **list = pithp_jit_apart_lock(rt);
        old = take_old(list, by, &x->of);
        x->older = *list;
        *list = x;
        pithp_jit_apart_unlock(rt);
    }
    if (old)
        free_apart(rt, old);
}

/* Each line of the reason, with the function that compiled. */
static void add_why(pithp_string *text, const pithp_jit_apart *x) {
    const char *line = x->why.bytes;
    while (*line) {
        const size_t n = strcspn(line, "\n");
        pithp_string_print(text, "%s%s: %.*s", text->length ? "\n" : "", x->by, (int)n,
                           line);
        line += n + (line[n] == '\n');
    }
}

bool pithp_jit_explain_apart(pith_scope *s, const pith_function *f, pithp_string *text) {
    bool found = false;
    pithp_string identity;
    pithp_string_begin(&identity, s->runtime);
    pithp_function_identity(f, &identity);
    pithp_jit_apart **list = pithp_jit_apart_lock(s->runtime);
    for (pithp_jit_apart *x = list ? *list : NULL; x; x = x->older)
        if (is_of(x, NULL, &identity)) {
            add_why(text, x);
            found = true;
        }
    if (list)
        pithp_jit_apart_unlock(s->runtime);
    text->failed |= identity.failed;
    pithp_string_end(&identity);
    return found;
}
