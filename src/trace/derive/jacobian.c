/* Jacobians and Hessians: all columns or rows of the linear map of a derivation, as one
 * batch of it (columns.c). */
#include "program/pass/pass.h"
#include "trace/derive/columns.h"
#include "trace/derive/derive_internal.h"
#include "trace/jit/jit_internal.h"
#include "tree/shard/shard.h"

#include <string.h>

/* The leaves along one side of a Jacobian, in memory of the scope. */
typedef struct side {
    bool array; /* an array alone: blocks have no dict for this side */
    int64_t count;
    const pith_spec *const *specs;
    const char *const *paths;
    int64_t *at; /* the side of unit vectors: the first column of each leaf; the other:
                    the number of its derivative; -1: the derivative is 0 */
} side;

typedef struct jacobian {
    pithp_derivation_call *c;
    bool reverse; /* unit vectors are of the value: the columns are rows */
    side value, argument;
    int64_t columns;
    const pithp_value *derivatives; /* in the trace, with the columns in front */
} jacobian;

/* ---- Sides ---- */

static int64_t *no_places(pith_scope *s, int64_t count) {
    int64_t *at = pithp_scope_allocate(s, ((size_t)count + 1) * sizeof *at);
    if (at)
        memset(at, 0xff, ((size_t)count + 1) * sizeof *at); /* -1 */
    return at;
}

/* The first column of each marked place, or its number among those marked. NULL: error
 * set. */
static int64_t *places_of(jacobian *j,
                          int64_t count,
                          const bool *marks,
                          const pithp_program *p,
                          const pithp_value *values,
                          bool seeded) {
    int64_t *at = no_places(j->c->s, count), next = 0;
    for (int64_t k = 0; at && k < count; k++)
        if (marks[k]) {
            at[k] = next;
            next += seeded ? pithp_value_spec(p, values[k])->count : 1;
        }
    if (seeded)
        j->columns = next;
    return at;
}

static pith_status describe_argument(jacobian *j, const int64_t *by_input) {
    pithp_derivation_call *c = j->c;
    side *a = &j->argument;
    const void *tree = pithp_derivation_selected(c);
    if (!tree)
        return c->s->error.code;
    a->array = pithp_kind_is_array(tree);
    for (int p = 0; p < c->selected_count; p++)
        a->count += c->selected[p].flat.structure.item_count;
    const pith_spec **specs =
        pithp_scope_allocate(c->s, ((size_t)a->count + 1) * sizeof *specs);
    a->specs = specs;
    a->at = no_places(c->s, a->count);
    a->paths = a->array ? NULL : pith_tree_paths(pithp_on_behalf(c->s), tree);
    if (!specs || !a->at || (!a->array && !a->paths))
        return c->s->error.code;
    for (int p = 0; p < c->selected_count; p++) {
        const pithp_structure *t = &c->selected[p].flat.structure;
        if (t->item_count)
            memcpy(specs, t->specs, (size_t)t->item_count * sizeof *specs);
        specs += t->item_count;
    }
    pithp_derivation_rank_leaves(c, by_input, a->at);
    return PITH_OK;
}

/* The arrays of the value live as long as no other functions are recorded: so this comes
 * before all that records rules. */
static pith_status describe_value(jacobian *j) {
    pithp_derivation_call *c = j->c;
    const pithp_structure *t = &c->part.flats[0].structure;
    const void *tree = c->part.results[0];
    j->value = (side){
        .array = pithp_kind_is_array(tree), .count = t->item_count, .specs = t->specs};
    if (!j->value.array &&
        !(j->value.paths = pith_tree_paths(pithp_on_behalf(c->s), tree)))
        return c->s->error.code;
    return PITH_OK;
}

/* A block has the axes of both its leaves; those of a Hessian are of the argument. */
static pith_status check_block(const jacobian *j, const side *v, int64_t k, int64_t l) {
    const side *a = &j->argument;
    char of[PITHP_SPEC_TEXT_BYTES], by[PITHP_SPEC_TEXT_BYTES];
    const int rank = v->specs[k]->rank + a->specs[l]->rank;
    if (rank <= PITH_MAX_RANK)
        return PITH_OK;
    return pithp_fail(j->c->s, PITH_E_SHAPE, v->array ? NULL : v->paths[k],
                      "%s: %s: the block of %s by %s%s%s has %d axes; arrays have at "
                      "most %d",
                      j->c->function, j->c->f->name, pithp_spec_print(v->specs[k], of),
                      a->array ? "" : a->paths[l], a->array ? "" : ", ",
                      pithp_spec_print(a->specs[l], by), rank, PITH_MAX_RANK);
}

/* Unit vectors of a sharded leaf would be set on all ranks at once, and derivatives along
 * several of them be added. A value of each rank alone has no axis for the ranks. */
static pith_status check_placed(const jacobian *j, const side *of, bool units) {
    char text[PITHP_LEAF_TEXT_BYTES];
    const side *other = of == &j->value ? &j->argument : &j->value;
    for (int64_t k = 0; k < of->count; k++) {
        bool alone = of->specs[k]->rank == 0;
        for (int64_t i = 0; alone && i < other->count; i++)
            alone = other->specs[i]->rank == 0;
        if (!pithp_placement_of(of->specs[k]) ||
            (!units && (of->specs[k]->rank > 0 || alone)))
            continue;
        return pithp_fail(
            j->c->s, PITH_E_ARG, of->array ? NULL : of->paths[k],
            "%s: %s: expected a plain array as the %s, got %s: call %s within "
            "pith_shard_map, or use pith_unshard",
            j->c->function, j->c->f->name, of == &j->value ? "value" : "argument",
            pithp_leaf_print(of->specs[k], text),
            !units                        ? "it"
            : of == &j->value             ? "pith_jacobian_forward, or it"
            : j->c->derived->kind->scalar ? "pith_hessian_product, or it"
                                          : "pith_jacobian_reverse, or it");
    }
    return PITH_OK;
}

static pith_status check_sides(const jacobian *j) {
    const side *a = &j->argument, *v = j->value.specs ? &j->value : a;
    for (int64_t k = 0; k < v->count; k++)
        for (int64_t l = 0; l < a->count; l++)
            if (check_block(j, v, k, l) != PITH_OK)
                return j->c->s->error.code;
    return check_placed(j, a, !j->reverse) == PITH_OK && j->value.specs
               ? check_placed(j, v, j->reverse)
               : j->c->s->error.code;
}

/* ---- Blocks ---- */

static pithp_value
add_call(const jacobian *j, pithp_primitive op, pithp_value operand, const void *params) {
    pithp_derivation_call *c = j->c;
    return operand < 0 ? -1
                       : pithp_program_add(c->s, c->trace->program, op, 1, &operand,
                                           params, c->s->site);
}

/* Columns `first` to `first` + n - 1. */
static pithp_value
take_columns(const jacobian *j, pithp_value v, int64_t first, int64_t n) {
    const pith_spec *spec = pithp_value_spec(j->c->trace->program, v);
    pithp_slice_params slice = {.start = {first}, .limit = {first + n}, .step = {1}};
    for (int d = 1; d < spec->rank; d++) {
        slice.limit[d] = spec->shape[d];
        slice.step[d] = 1;
    }
    return n == j->columns ? v : add_call(j, PITHP_OP_SLICE, v, &slice);
}

static pithp_value
reshape(const jacobian *j, pithp_value v, const pith_spec *a, const pith_spec *b) {
    pithp_reshape_params shape = {.rank = a->rank + b->rank};
    memcpy(shape.shape, a->shape, (size_t)a->rank * sizeof *shape.shape);
    memcpy(shape.shape + a->rank, b->shape, (size_t)b->rank * sizeof *shape.shape);
    return add_call(j, PITHP_OP_RESHAPE, v, &shape);
}

/* The spec of a block: sharded as the leaf that is. NULL: error set. */
static const pith_spec *
block_spec(const jacobian *j, pith_dtype dtype, const pith_spec *v, const pith_spec *a) {
    int64_t shape[2 * PITH_MAX_RANK];
    char axes[PITH_MAX_RANK + PITHP_SHARD_TEXT], normal[PITHP_SHARD_TEXT];
    memcpy(shape, v->shape, (size_t)v->rank * sizeof *shape);
    memcpy(shape + v->rank, a->shape, (size_t)a->rank * sizeof *shape);
    const pith_spec *spec = pithp_spec(j->c->s, dtype, v->rank + a->rank, shape);
    const pith_placement *of_value = pithp_placement_of(v),
                         *p = of_value ? of_value : pithp_placement_of(a);
    if (!spec || !p)
        return spec;
    if (p->mesh != pith_mesh_of(j->c->s))
        return pithp_fail(
                   j->c->s, PITH_E_ARG, NULL,
                   "%s: %s: %s is sharded over another mesh than that of the scope",
                   j->c->function, j->c->f->name,
                   of_value ? "the value" : "the argument"),
               NULL;
    const int before = of_value ? 0 : v->rank; /* axes of the value, which are whole */
    memset(axes, ';', (size_t)before);
    strcpy(axes + before, p->axes);
    const char *wrong = pithp_shard_text_read(axes, normal);
    if (wrong)
        return pithp_fail(j->c->s, PITH_E_ARG, NULL, "%s: %s: the spec of a block: %s",
                          j->c->function, j->c->f->name, wrong),
               NULL;
    return pithp_shard_spec_of(j->c->s, spec, normal,
                               before == 0 && p->rows[0] ? p->rows : NULL);
}

/* The derivative of leaf k of the value by leaf l of the argument. NULL: error set. */
static const pith_array *block_of(const jacobian *j, int64_t k, int64_t l) {
    static const pithp_transpose_params swap = {.permutation = {1, 0}};
    pithp_derivation_call *c = j->c;
    const side *v = &j->value, *a = &j->argument;
    const int64_t of = j->reverse ? a->at[l] : v->at[k],
                  first = j->reverse ? v->at[k] : a->at[l];
    const pith_spec *of_spec = j->reverse ? a->specs[l] : v->specs[k],
                    *along = j->reverse ? v->specs[k] : a->specs[l];
    const pith_spec *spec = block_spec(j, of_spec->dtype, v->specs[k], a->specs[l]);
    if (!spec || !j->columns || of < 0 || first < 0)
        return spec ? pithp_trace_zeros(c->s, spec) : NULL;
    const pith_spec rows = {.rank = 1, .shape = {along->count}},
                    row = {.rank = 1, .shape = {of_spec->count}};
    pithp_value x = take_columns(j, j->derivatives[of], first, along->count);
    if (!j->reverse && x >= 0) /* columns become rows */
        x = add_call(j, PITHP_OP_TRANSPOSE, reshape(j, x, &rows, &row), &swap);
    x = x < 0 ? -1 : reshape(j, x, v->specs[k], a->specs[l]);
    const pith_array *block = x < 0 ? NULL : pithp_trace_array(c->s, c->trace, x);
    return block ? pithp_array_place(c->s, block, spec) : NULL;
}

/* A dict by the paths of a side, or for an array its only item. NULL: error set. */
static const void *dict_of(const jacobian *j, const side *of, const void *const *items) {
    return of->array
               ? items[0]
               : pith_dict_make(pithp_on_behalf(j->c->s), of->count, of->paths, items);
}

static const void **room_for(const jacobian *j, const side *of) {
    return pithp_scope_allocate(j->c->s, ((size_t)of->count + 1) * sizeof(void *));
}

/* The blocks of leaf k of the value. NULL: error set. */
static const void *row_of_blocks(const jacobian *j, int64_t k) {
    const void **items = room_for(j, &j->argument);
    for (int64_t l = 0; items && l < j->argument.count; l++)
        if (!(items[l] = block_of(j, k, l)))
            return NULL;
    return items ? dict_of(j, &j->argument, items) : NULL;
}

static const void *all_blocks(const jacobian *j) {
    const void **items = room_for(j, &j->value);
    for (int64_t k = 0; items && k < j->value.count; k++)
        if (!(items[k] = row_of_blocks(j, k)))
            return NULL;
    return items ? dict_of(j, &j->value, items) : NULL;
}

/* ---- Columns in the trace ---- */

/* The columns of a program, whose outputs from `first` on are derivatives. NULL: error
 * set.
 */
static pithp_program *
columns_of(const jacobian *j, const pithp_program *each, int64_t fixed, int64_t first) {
    const pithp_columns columns = {
        .each = each, .fixed = fixed, .first = first, .count = j->columns};
    return pithp_columns_program(j->c->s, &columns, j->c->derived->options.chunk);
}

/* Add a program whose outputs are those of the function's, and from `first` on
 * derivatives. The values of all outputs, or NULL: error set. */
static const pithp_value *add_program(jacobian *j,
                                      pithp_program *p,
                                      int64_t first,
                                      const pithp_derive_watches *watches) {
    pithp_derivation_call *c = j->c;
    const pithp_value *outputs = p ? pithp_derivation_add(c, p, c->inputs) : NULL;
    if (!outputs || pithp_derivation_checks(c, outputs) != PITH_OK)
        return NULL;
    j->derivatives = outputs + first;
    return !j->columns || pithp_watches_check_columns(c->s, c->function, watches,
                                                      outputs + p->output_count -
                                                          pithp_watches_outputs(watches),
                                                      &c->rule_checks) == PITH_OK
               ? outputs
               : NULL;
}

/* ---- Forward mode ---- */

/* Columns of the derivative of p, whose inputs are those of the call; `moves`: set by its
 * outputs. The outputs of p, or NULL: error set. */
static const pithp_value *push_columns(jacobian *j, pithp_program *p, bool *moves) {
    pithp_derivation_call *c = j->c;
    pithp_derive_watches watches = {.watched = PITHP_WATCH_TANGENTS};
    const pithp_derive_options options = pithp_derivation_options(c, &watches);
    int64_t *by_input = places_of(j, p->input_count, c->moves, p, p->inputs, true);
    if (!by_input || describe_argument(j, by_input) != PITH_OK ||
        check_sides(j) != PITH_OK)
        return NULL;
    pithp_program *jvp = pithp_program_jvp(c->s, p, c->moves, &options, moves),
                  *all = NULL;
    if (!j->columns)
        memset(moves, 0, (size_t)p->output_count);
    else if (jvp)
        all = columns_of(j, jvp, p->input_count, p->output_count);
    const pithp_value *outputs =
        jvp ? add_program(j, j->columns ? all : p, p->output_count, &watches) : NULL;
    pithp_program_release(jvp);
    pithp_program_release(all);
    return outputs;
}

/* The Jacobian, or with aux a tuple. */
static const void *result_of(jacobian *j, const pithp_value *outputs) {
    const void *blocks = all_blocks(j);
    return blocks ? pithp_derivation_tuple(j->c, NULL, blocks, outputs) : NULL;
}

static const void *derive_forward(pithp_derivation_call *c) {
    jacobian j = {.c = c};
    pithp_program *p = c->program;
    bool *moves = pithp_scope_allocate(c->s, (size_t)p->output_count + 1);
    const pithp_value *outputs =
        moves && describe_value(&j) == PITH_OK ? push_columns(&j, p, moves) : NULL;
    if (!outputs)
        return NULL;
    j.value.at = places_of(&j, c->value_count, moves, p, p->outputs, false);
    return j.value.at ? result_of(&j, outputs) : NULL;
}

/* ---- Reverse mode ---- */

/* The forward half of a split, then rows of its transposed map. False: error set. */
static bool join(const jacobian *j,
                 const pithp_split *split,
                 pithp_program *rows,
                 pithp_program *to) {
    pith_scope *s = j->c->s;
    const pithp_program *f = split->forward;
    const int64_t values = j->c->program->output_count;
    pithp_value *inputs = pithp_scope_allocate(
        s, (size_t)(f->input_count + f->output_count + rows->output_count + 1) *
               sizeof *inputs);
    bool fine = inputs;
    for (int64_t k = 0; k < f->input_count && fine; k++)
        fine = (inputs[k] =
                    pithp_program_input(s, to, pithp_value_spec(f, f->inputs[k]))) >= 0;
    if (!fine)
        return false;
    pithp_value *outputs = inputs + f->input_count, *more = outputs + f->output_count;
    fine = pithp_program_inline(s, to, f, inputs, outputs) &&
           pithp_program_inline(s, to, rows, outputs + values, more);
    for (int64_t k = 0; k < values && fine; k++)
        fine = pithp_program_output(s, to, outputs[k]);
    for (int64_t k = 0; k < rows->output_count && fine; k++)
        fine = pithp_program_output(s, to, more[k]);
    return fine;
}

/* The values of the program and the rows, or NULL: error set. */
static const pithp_value *pull_rows(jacobian *j, pithp_split *split) {
    pithp_derivation_call *c = j->c;
    if (!j->columns)
        return add_program(j, c->program, c->program->output_count, &split->watches);
    pithp_program *rows = columns_of(j, split->linear, split->residual_count, 0),
                  *all = rows ? pithp_program_make(c->s) : NULL;
    const pithp_value *outputs =
        all && join(j, split, rows, all)
            ? add_program(j, all, c->program->output_count, &split->watches)
            : NULL;
    pithp_program_release(rows);
    pithp_program_release(all);
    return outputs;
}

static const void *derive_rows(jacobian *j, pithp_split *split) {
    const pithp_derivation_call *c = j->c;
    const pithp_program *p = c->program;
    int64_t *by_value = places_of(j, c->value_count, split->moves, p, p->outputs, true),
            *by_input = places_of(j, p->input_count, split->reached, p, p->inputs, false);
    if (!by_value || !by_input || describe_argument(j, by_input) != PITH_OK ||
        check_sides(j) != PITH_OK)
        return NULL;
    j->value.at = by_value;
    const pithp_value *outputs = pull_rows(j, split);
    return outputs ? result_of(j, outputs) : NULL;
}

static const void *derive_reverse(pithp_derivation_call *c) {
    jacobian j = {.c = c, .reverse = true};
    pithp_split split;
    if (describe_value(&j) != PITH_OK || !pithp_split_make(c, true, false, &split))
        return NULL;
    const void *result = derive_rows(&j, &split);
    pithp_split_end(&split);
    return result;
}

/* ---- Hessians ---- */

/* Both sides are the argument: the gradients are outputs of p behind those of the
 * program. */
static const void *
push_gradient(pithp_derivation_call *c, pithp_program *p, const bool *reached) {
    jacobian j = {.c = c};
    const int64_t first = c->program->output_count, inputs = c->program->input_count;
    bool *moves = pithp_scope_allocate(c->s, (size_t)p->output_count + 1);
    const pithp_value *outputs = moves ? push_columns(&j, p, moves) : NULL;
    int64_t *ranks = outputs ? places_of(&j, p->output_count, moves, p, p->outputs, false)
                             : NULL,
            *by_input = ranks ? no_places(c->s, inputs) : NULL;
    if (!by_input)
        return NULL;
    for (int64_t k = 0, next = first; k < inputs; k++)
        if (reached[k])
            by_input[k] = ranks[next++];
    j.value = j.argument;
    if (!(j.value.at = no_places(c->s, j.value.count)))
        return NULL;
    pithp_derivation_rank_leaves(c, by_input, j.value.at);
    return result_of(&j, outputs);
}

static const void *derive_hessian(pithp_derivation_call *c) {
    pithp_split split;
    if (!pithp_split_make(c, true, false, &split))
        return NULL;
    pithp_program *p = pithp_split_gradient(c, &split);
    const void *result = p ? push_gradient(c, p, split.reached) : NULL;
    pithp_program_release(p);
    pithp_split_end(&split);
    return result;
}

/* ---- Functions ---- */

static const pithp_derived_kind forward_kind = {.function = "pith_jacobian_forward",
                                                .derive = derive_forward};
static const pithp_derived_kind reverse_kind = {.function = "pith_jacobian_reverse",
                                                .reverse = true,
                                                .derive = derive_reverse};
static const pithp_derived_kind hessian_kind = {.function = "pith_hessian",
                                                .scalar = true,
                                                .reverse = true,
                                                .derive = derive_hessian};

static const pith_function *make(pith_scope *s,
                                 const pithp_derived_kind *kind,
                                 const pith_function *f,
                                 const pith_derive_options *options) {
    pith_derive_options o;
    if (!pithp_enter_as(s, kind->function) ||
        pithp_derive_check(s, kind->function, f, options, &o) != PITH_OK)
        return NULL;
    pith_function like = *f;
    like.result = NULL;
    return pithp_derived_compile(s, pithp_derived_make(s, kind, f, &like, NULL, &o), f);
}

const pith_function *pith_jacobian_forward(pith_scope *s,
                                           const pith_function *function,
                                           const pith_derive_options *options) {
    return make(s, &forward_kind, function, options);
}

const pith_function *pith_jacobian_reverse(pith_scope *s,
                                           const pith_function *function,
                                           const pith_derive_options *options) {
    return make(s, &reverse_kind, function, options);
}

const pith_function *pith_hessian(pith_scope *s,
                                  const pith_function *function,
                                  const pith_derive_options *options) {
    return make(s, &hessian_kind, function, options);
}
