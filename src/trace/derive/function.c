/* Derived functions: closures over a base function, and their options. */
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- Closures ---- */

pith_status pithp_derive_copy_texts(pith_scope *s, const char *const **texts) {
    const char *const *from = *texts;
    size_t count = 0, bytes = 0;
    for (; from && from[count]; count++)
        bytes += strlen(from[count]) + 1;
    if (!count)
        return PITH_OK;
    const char **copy = pithp_scope_allocate(s, (count + 1) * sizeof *copy + bytes);
    if (!copy)
        return s->error.code;
    char *at = (char *)(copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        copy[i] = strcpy(at, from[i]);
        at += strlen(at) + 1;
    }
    copy[count] = NULL;
    *texts = copy;
    return PITH_OK;
}

static pith_status copy_paths(pith_scope *s, pithp_closure *closure) {
    return pithp_derive_copy_texts(s, &((pithp_derived *)(void *)closure)->options.paths);
}

static void add_identity(const pithp_closure *closure, pithp_string *text) {
    const pithp_derived *d = (const pithp_derived *)(const void *)closure;
    const pith_derive_options *o = &d->options;
    const unsigned flags[] = {o->arguments,      o->aux, o->skip_integers, o->strong_zero,
                              o->find_nonfinite, o->cuts};
    pithp_string_add_n(text, (const char *)&d->kind, sizeof d->kind);
    pithp_string_add_n(text, (const char *)flags, sizeof flags);
    pithp_string_add_n(text, (const char *)&o->kept_bytes, sizeof o->kept_bytes);
    pithp_string_add_n(text, (const char *)&o->chunk, sizeof o->chunk);
    for (int i = 0; o->paths && o->paths[i]; i++)
        pithp_string_add_n(text, o->paths[i], strlen(o->paths[i]) + 1);
    pithp_string_add_n(text, "", 1);
}

static const pithp_closure_kind closure_kind = {.name = "derive",
                                                .traced = true,
                                                .bytes = sizeof(pithp_derived),
                                                .made = copy_paths,
                                                .identity = add_identity};

const pith_function *pithp_derived_compile(pith_scope *s,
                                           const pith_function *derived,
                                           const pith_function *f) {
    return derived ? pithp_jit_compile_over(s, derived, f) : NULL;
}

const pith_function *pithp_derived_make(pith_scope *s,
                                        const pithp_derived_kind *kind,
                                        const pith_function *f,
                                        const pith_function *like,
                                        const void *tangent,
                                        const pith_derive_options *options) {
    pith_function typed = *like;
    typed.call = pithp_derived_call;
    const pithp_derived d = {
        .closure = {.kind = &closure_kind, .base = f, .bound = tangent},
        .kind = kind,
        .options = *options};
    const pithp_closure *made = pithp_function_make(s, &typed, &d.closure);
    return made ? made->function : NULL;
}

/* ---- Options ---- */

static pith_status check_paths(pith_scope *s,
                               const char *function,
                               const pith_function *f,
                               const char *const *paths) {
    size_t count = 0;
    while (paths[count])
        count++;
    if (!count)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: no path is selected", function,
                          f->name);
    pithp_part_path *normal = pithp_scope_allocate(s, count * sizeof *normal);
    if (!normal)
        return s->error.code;
    for (size_t i = 0; i < count; i++) {
        if (pithp_part_path_read(s, function, f, paths[i], &normal[i]) != PITH_OK)
            return s->error.code;
        for (size_t k = 0; k < i; k++)
            if (pithp_part_path_overlap(&normal[i], &normal[k]))
                return pithp_fail(s, PITH_E_ARG, NULL,
                                  "%s: %s: the paths '%s' and '%s' select a part twice",
                                  function, f->name, paths[k], paths[i]);
    }
    return PITH_OK;
}

pith_status pithp_derive_check(pith_scope *s,
                               const char *function,
                               const pith_function *f,
                               const pith_derive_options *options,
                               pith_derive_options *o) {
    static const pith_derive_options defaults;
    *o = options ? *options : defaults;
    if (pithp_function_check(s, f, function) != PITH_OK)
        return s->error.code;
    if (o->chunk < 0)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: .chunk must not be negative, got %" PRId64, function,
                          f->name, o->chunk);
    if ((unsigned)o->cuts > PITH_CUTS_ARE_ZERO)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: invalid cuts: %d", function,
                          f->name, (int)o->cuts);
    if (o->paths && o->arguments)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: select arguments or paths, not both", function,
                          f->name);
    if (o->paths)
        return check_paths(s, function, f, o->paths);
    if (!o->arguments)
        o->arguments = 1;
    if (o->arguments >> f->arity)
        return pithp_fail(s, PITH_E_ARG, NULL,
                          "%s: %s: the options select argument [%d]: expected [0] to "
                          "[%d]",
                          function, f->name,
                          f->arity + __builtin_ctz(o->arguments >> f->arity),
                          f->arity - 1);
    return PITH_OK;
}

const pith_type *(*pithp_gradient_type(const pith_function *f,
                                       const pith_derive_options *o))(void) {
    const bool one = !o->paths && !(o->arguments & (o->arguments - 1));
    return one ? f->parameters[__builtin_ctz(o->arguments)] : NULL;
}
