/* pith_check_gradient: derivatives of a function against differences of it. Second
 * derivatives are those of a gradient: of the product of the value and a fixed cotangent.
 */
#include "run/check_gradient.h"

#include "mesh/mesh_internal.h"
#include "trace/derive/map.h"
#include "trace/jit/jit_internal.h"

#include <math.h>
#include <string.h>

static const char *const name = "pith_check_gradient";

/* ---- Functions of the value ---- */

/* The member `value` of the result of the base function. */
static const void *
call_value(const pith_function *self, pith_scope *s, const void *const *given) {
    const pithp_closure *c = self->closure;
    const void *result = pith_call(s, c->base, c->base->arity, given);
    for (int64_t i = 0; result && i < pith_child_count(result); i++) {
        const char *key = pith_child_name(result, i);
        if (key && !strcmp(key, "value"))
            return pith_child(result, i);
    }
    if (result)
        pithp_fail(s, PITH_E_TYPE, NULL, "%s: %s: expected a record with a member value",
                   name, c->base->name);
    return NULL;
}

/* The sum of products of the leaves of two trees of one structure. joint: of all
 * ranks of a mesh. NULL: error set. */
static const pith_array *
multiply(pith_scope *s, const pithp_flat *value, const pithp_flat *by, bool joint) {
    const pith_array *sum = pith_f64(s, 0);
    for (int64_t k = 0; sum && k < value->structure.item_count; k++) {
        if (!pith_dtype_is_float(value->structure.specs[k]->dtype))
            continue;
        const pith_array *product =
            joint ? pithp_gradient_multiply(s, value->items[k], by->items[k])
                  : pith_mul(s, value->items[k], by->items[k]);
        sum =
            pith_add(s, sum, pith_sum(s, pith_cast(s, product, PITH_F64), PITH_ALL_AXES));
    }
    return sum;
}

/* The product of the result of the base function and the bound cotangent. */
static const void *multiply_result(const pith_function *self,
                                   pith_scope *s,
                                   const void *const *given,
                                   bool joint) {
    const pithp_closure *c = self->closure;
    const void *result = pith_call(s, c->base, c->base->arity, given);
    const pith_array *product = NULL;
    pithp_flat value, by;
    if (!result || pithp_flat_make(s, &value, result, NULL, NULL) != PITH_OK)
        return NULL;
    if (pithp_flat_make(s, &by, c->bound, NULL, NULL) == PITH_OK) {
        product = multiply(s, &value, &by, joint);
        pithp_flat_end(&by);
    }
    pithp_flat_end(&value);
    return product;
}

static const void *
call_product(const pith_function *self, pith_scope *s, const void *const *given) {
    return multiply_result(self, s, given, false);
}

static const void *
call_joint_product(const pith_function *self, pith_scope *s, const void *const *given) {
    return multiply_result(self, s, given, true);
}

static const pithp_closure_kind value_kind = {.name = "value",
                                              .bytes = sizeof(pithp_closure)};
static const pithp_closure_kind product_kind = {.name = "product",
                                                .bytes = sizeof(pithp_closure)};
static const pithp_closure_kind joint_product_kind = {.name = "product on ranks",
                                                      .bytes = sizeof(pithp_closure)};

/* A function of s over f. NULL: error set. */
static const pith_function *over(pith_scope *s,
                                 const pith_function *f,
                                 const pithp_closure_kind *kind,
                                 const void *bound) {
    pith_function like = *f;
    like.call = kind == &value_kind     ? call_value
                : kind == &product_kind ? call_product
                                        : call_joint_product;
    like.result = kind == &value_kind ? NULL : pith_array_pith_type;
    const pithp_closure closure = {.kind = kind, .base = f, .bound = bound};
    const pithp_closure *made = pithp_function_make(s, &like, &closure);
    return made ? made->function : NULL;
}

/* ---- Selection ---- */

static void select_leaf(pithp_gradient_checking *c, int argument, int64_t leaf) {
    c->selected[c->selected_count++] = (pithp_checked_leaf){argument, leaf};
}

static pith_status
select_path(pithp_gradient_checking *c, const char *path, bool *marks) {
    int i;
    const char *inside = pithp_jit_path(path, c->argument_count, &i);
    const int64_t count = inside ? c->arguments[i].structure.item_count : 0;
    memset(marks, 0, (size_t)count);
    if (!inside || !pithp_jit_mark_part(c->s, i, c->given[i], inside, marks))
        return c->s->error.code;
    for (int64_t k = 0; k < count; k++)
        if (marks[k])
            select_leaf(c, i, k);
    return PITH_OK;
}

/* The derivation has accepted the options. */
static pith_status select_leaves(pithp_gradient_checking *c) {
    const pith_derive_options *o = &c->derive;
    const unsigned arguments = o->arguments ? o->arguments : 1;
    int64_t count = 0;
    for (int i = 0; i < c->argument_count; i++)
        count += c->arguments[i].structure.item_count;
    c->selected = pithp_scope_allocate(c->s, ((size_t)count + 1) * sizeof *c->selected);
    bool *marks = pithp_scope_allocate(c->s, (size_t)count + 1);
    if (!c->selected || !marks)
        return c->s->error.code;
    for (int i = 0; o->paths && o->paths[i]; i++)
        if (select_path(c, o->paths[i], marks) != PITH_OK)
            return c->s->error.code;
    for (int i = 0; !o->paths && i < c->argument_count; i++)
        for (int64_t k = 0;
             arguments >> i & 1 && k < c->arguments[i].structure.item_count; k++)
            select_leaf(c, i, k);
    return PITH_OK;
}

/* ---- One order ---- */

/* Append where a comparison was made: "out[1].x[3]: ". */
static void
add_place(pithp_string *t, const pithp_gradient_checking *c, const pithp_flat *value) {
    const pithp_comparison *w = &c->worst;
    if (w->output < 0)
        return;
    const pith_spec *spec = value->structure.specs[w->output];
    pithp_string_add(t, "value");
    pithp_structure_path(c->s->runtime, &value->structure, w->output, t);
    int64_t index[PITH_MAX_RANK], element = w->element;
    for (int d = spec->rank; d-- > 0; element /= spec->shape[d])
        index[d] = element % spec->shape[d];
    for (int d = 0; d < spec->rank; d++)
        pithp_string_print(t, "%s%lld", d ? ", " : "[", (long long)index[d]);
    pithp_string_add(t, spec->rank ? "]: " : ": ");
}

/* Set the error of the worst comparison. */
static void
fail_worst(const pithp_gradient_checking *c, int order, const pithp_flat *value) {
    const pithp_comparison *w = &c->worst;
    const char *mode = w->output < 0 ? "reverse" : "forward",
               *other = w->output < 0 ? "forward mode" : "differences";
    pithp_string path, place;
    pithp_string_begin(&path, c->s->runtime);
    pithp_string_begin(&place, c->s->runtime);
    pithp_string_print(&path, "[%d]", w->leaf.argument);
    pithp_structure_path(c->s->runtime, &c->arguments[w->leaf.argument].structure,
                         w->leaf.leaf, &path);
    add_place(&place, c, value);
    pithp_fail(c->s, PITH_E_CHECK, path.bytes,
               "%s: %s: order %d: %s%s mode gives %.9g, %s %.9g: the error %.3g exceeds "
               "the bound %.3g%s",
               name, c->f->name, order, place.bytes, mode, w->got, other, w->wanted,
               fabs(w->got - w->wanted), w->bound,
               w->unsteady ? "; the differences change with the step, as at a kink" : "");
    pithp_string_end(&path);
    pithp_string_end(&place);
}

/* A random cotangent like a value. NULL: error set. */
static const void *draw_cotangent(pithp_gradient_checking *c, const pithp_flat *value) {
    const pithp_structure *t = &value->structure;
    const size_t count = (size_t)t->item_count + 1;
    const pith_array **items = pithp_scope_allocate(c->s, count * sizeof *items);
    c->cotangent = pithp_scope_allocate(c->s, count * sizeof *c->cotangent);
    for (int64_t k = 0; items && c->cotangent && k < t->item_count; k++) {
        const pith_spec *spec = t->specs[k];
        const double *values =
            pithp_gradient_draw(c, c->s, spec->count, pithp_map_own_value(c->map, k));
        items[k] = values ? pithp_gradient_write(c->s, spec, values) : NULL;
        if (!items[k])
            return NULL;
        c->cotangent[k] = NULL;
        if (pith_dtype_is_float(spec->dtype) &&
            !(c->cotangent[k] = pithp_gradient_read(c->s, items[k])))
            return NULL;
    }
    return items && c->cotangent ? pithp_gradient_build(c->s, t, items) : NULL;
}

static void check_leaves(pithp_gradient_checking *c,
                         const pith_function *map,
                         const void *cotangent) {
    const void *made = pith_call(c->s, map, 1, &cotangent);
    pithp_flat gradient;
    if (!made || pithp_flat_make(c->s, &gradient, made, NULL, NULL) != PITH_OK)
        return;
    PITH_ASSERT(gradient.structure.item_count == c->selected_count);
    bool fine = true;
    for (int64_t k = 0; fine && k < c->selected_count; k++)
        if (pith_dtype_is_float(gradient.structure.specs[k]->dtype))
            fine = pithp_gradient_check_leaf(c, &gradient, k);
    pithp_flat_end(&gradient);
}

/* Ranks make the check together if they have shards, or if the function brings them
 * together. */
static bool
is_joint(const pithp_gradient_checking *c, const pithp_flat *value, uint64_t before) {
    bool sharded = pithp_gradient_is_sharded(value);
    for (int i = 0; i < c->argument_count; i++)
        sharded |= pithp_gradient_is_sharded(&c->arguments[i]);
    return pithp_ranks_of(c->s) && (sharded || pithp_collective_count(c->s) != before);
}

/* The worst comparison, of all ranks, becomes the error. */
static void
conclude(const pithp_gradient_checking *c, int order, const pithp_flat *value) {
    const int64_t first = pithp_gradient_worst_rank(c);
    if (first < 0)
        return;
    if (c->worst.ratio > 0)
        fail_worst(c, order, value);
    if (!c->joint)
        return;
    pithp_error e = c->s->error;
    const bool failed = pith_failed(c->s);
    pith_clear(c->s);
    pithp_ranks_raise(c->s, first, &e, failed);
}

/* The cotangent of the value that was used. NULL: error set. */
static const void *check_order(pithp_gradient_checking *c, int order) {
    const uint64_t before = pithp_collective_count(c->s);
    const pith_linearized l =
        pith_vjp(c->s, c->f, c->argument_count, c->given, &c->derive);
    pithp_flat value;
    if (!l.map || (!c->selected && select_leaves(c) != PITH_OK) ||
        pithp_flat_make(c->s, &value, l.value, NULL, NULL) != PITH_OK)
        return NULL;
    c->map = l.map;
    c->joint = is_joint(c, &value, before);
    pithp_decisions_nest(c->s, 1); /* those within come before the one at the end */
    const void *cotangent = draw_cotangent(c, &value);
    if (cotangent)
        check_leaves(c, l.map, cotangent);
    pithp_decisions_nest(c->s, -1);
    conclude(c, order, &value);
    pithp_flat_end(&value);
    return pith_failed(c->s) ? NULL : cotangent;
}

static void check_orders(pithp_gradient_checking *c) {
    const int orders = c->options->order ? c->options->order : 1;
    for (int order = 1; order <= orders; order++) {
        const void *cotangent = check_order(c, order);
        if (!cotangent || order == orders)
            return;
        const bool maps = c->joint || (pith_mesh_of(c->s) && !pithp_ranks_of(c->s));
        const pith_function *product =
            over(c->s, c->f, maps ? &joint_product_kind : &product_kind, cotangent);
        c->f = product ? pith_grad(c->s, product, &c->derive) : NULL;
        if (!c->f)
            return;
    }
}

/* ---- The call ---- */

static bool
check_options(pith_scope *s, const pith_function *f, const pith_gradient_check *o) {
    const double numbers[] = {o->rtol, o->atol, o->step};
    static const char *const names[] = {"rtol", "atol", "step"};
    if (o->order < 0 || o->order > 2) {
        pithp_fail(s, PITH_E_ARG, NULL, "%s: %s: order: expected 1 or 2, got %d", name,
                   f->name, o->order);
        return false;
    }
    for (int i = 0; i < 3; i++)
        if (!(numbers[i] >= 0) || isinf(numbers[i])) {
            pithp_fail(s, PITH_E_ARG, NULL,
                       "%s: %s: %s: expected a finite number of 0 or more, got %g", name,
                       f->name, names[i], numbers[i]);
            return false;
        }
    return true;
}

static pith_status flatten(pithp_gradient_checking *c, int64_t count) {
    while (c->argument_count < count) {
        const int i = c->argument_count;
        if (pithp_flat_make(c->s, &c->arguments[i], c->given[i], NULL, NULL) != PITH_OK)
            return c->s->error.code;
        c->argument_count++;
    }
    return PITH_OK;
}

bool pith_check_gradient(pith_scope *s,
                         const pith_function *function,
                         int64_t count,
                         const void *const *arguments,
                         const pith_gradient_check *options) {
    static const pith_gradient_check defaults;
    static const pith_derive_options usual;
    const pith_gradient_check *o = options ? options : &defaults;
    if (!pithp_enter_untraced(s, name) ||
        pithp_jit_check_count(s, function, count, arguments, name) != PITH_OK ||
        pithp_arguments_check(s, function, arguments) != PITH_OK ||
        !check_options(s, function, o))
        return false;
    pith_scope *work = pithp_temporaries_open(s);
    pithp_gradient_checking *c = work ? pithp_scope_allocate(work, sizeof *c) : NULL;
    if (c) {
        memset(c, 0, sizeof *c);
        c->s = work;
        c->f = function;
        c->given = arguments;
        c->options = o;
        c->derive = o->derive ? *o->derive : usual;
        if (c->derive.aux)
            c->f = over(work, function, &value_kind, NULL);
        c->derive.aux = false;
        c->key = o->key ? o->key : pith_random_key(work, 0);
        if (c->f && c->key && flatten(c, count) == PITH_OK)
            check_orders(c);
        for (int i = 0; i < c->argument_count; i++)
            pithp_flat_end(&c->arguments[i]);
    }
    if (work)
        pith_scope_close(work); /* its error moves to s */
    return !pith_failed(s);
}
