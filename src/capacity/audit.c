/* Capacity audit: finds sizes of a state that no capacity covers. A capacity covers the
 * statics that change when it grows by one. A static shapes a random draw if the draw's
 * shape changes when the static grows. */
#include "base/format.h"
#include "capacity/capacity_internal.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

/* ---- Random draws of a step ---- */

typedef struct {
    pithp_primitive primitive;
    pith_spec spec;
    const char *site;
} draw;

typedef struct {
    pithp_draw_watch watch;
    pith_scope *s; /* owns the list */
    draw *all;
    int64_t count, room;
} draw_list;

static void see(pithp_draw_watch *w,
                pith_scope *s,
                pithp_primitive primitive,
                const pith_spec *spec) {
    draw_list *l = (draw_list *)w;
    if (l->count == l->room) {
        const int64_t room = l->room ? 2 * l->room : 16;
        draw *all = pithp_scope_allocate(l->s, (size_t)room * sizeof *all);
        if (!all)
            return; /* the scope has the error */
        if (l->count)
            memcpy(all, l->all, (size_t)l->count * sizeof *all);
        l->all = all;
        l->room = room;
    }
    l->all[l->count++] = (draw){primitive, *spec, s->site};
}

/* ---- Running it ---- */

typedef struct {
    pith_scope *s; /* the caller's; owns the gaps */
    const pith_function *step;
    const pith_function *recorded; /* the step, recorded in each call */
    const void *state;
    pithp_extent_list statics;
    bool *guarded; /* by static */
    pith_capacity_gap *gaps;
    int64_t count, room;
} audit;

/* A recorded step shows what all branches require and draw, not only those that this
 * state takes. */
static const void *
call_step(const pith_function *self, pith_scope *s, const void *const *given) {
    return pith_call(s, ((const pithp_closure *)self->closure)->base, 1, given);
}
static const pithp_closure_kind recorded_kind = {.name = "audit",
                                                 .traced = true,
                                                 .bytes = sizeof(pithp_closure)};

static const pith_function *record(pith_scope *s, const pith_function *step) {
    const pithp_closure closure = {.kind = &recorded_kind, .base = step};
    pith_function like = *step;
    like.call = call_step;
    const pithp_closure *made = pithp_function_make(s, &like, &closure);
    return made ? pithp_jit_compile_over(s, made->function, step) : NULL;
}

/* Run the step and list its draws. One that reads values cannot be recorded and runs call
 * by call. NULL: the error of work is set. */
static const pith_result *
run(pith_scope *work, const audit *a, const void *state, draw_list *draws) {
    draws->s = work;
    draws->watch.seen = see;
    pithp_draw_watch *before = pithp_watch_draws(&draws->watch);
    const pith_result *result = pith_as_result(work, a->recorded, 1, &state);
    if (!result && work->error.code == PITH_E_TRACED) {
        pith_clear(work);
        draws->count = 0;
        result = pith_as_result(work, a->step, 1, &state);
    }
    pithp_watch_draws(before);
    return result;
}

static const char *print(pith_scope *s, const char *format, ...) PITH_FORMAT(2, 3);
static const char *print(pith_scope *s, const char *format, ...) {
    char text[PITHP_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = pithp_scope_allocate(s, strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

static void add(audit *a, pith_gap_kind kind, const char *path, const char *text) {
    if (a->count == a->room) {
        const int64_t room = a->room ? 2 * a->room : 8;
        pith_capacity_gap *gaps = pithp_scope_allocate(a->s, (size_t)room * sizeof *gaps);
        if (!gaps)
            return;
        if (a->count)
            memcpy(gaps, a->gaps, (size_t)a->count * sizeof *gaps);
        a->gaps = gaps;
        a->room = room;
    }
    if (text)
        a->gaps[a->count++] = (pith_capacity_gap){kind, path, text};
}

/* ---- Statics ---- */

static int64_t value_of(const pithp_extent_static *e) {
    int64_t value;
    memcpy(&value, (const char *)e->record + e->field->declared.offset, sizeof value);
    return value;
}

/* Mark the statics that change when a capacity grows. */
static void mark(audit *a, pith_scope *s, const pith_capacity *c) {
    pith_scope *work = pith_scope_open_in(s);
    int64_t *sizes = pithp_scope_allocate(work, (size_t)c->count * sizeof *sizes);
    for (int64_t i = 0; sizes && i < c->count; i++)
        sizes[i] = c->sizes[i] + (c->sizes[i] < INT64_MAX);
    const void *grown = sizes ? pithp_capacity_set(work, c, a->state, sizes) : NULL;
    for (int64_t i = 0; grown && i < a->statics.count && !pith_failed(work); i++) {
        const pithp_extent_static *e = &a->statics.all[i];
        const pith_lens *lens = pith_lens_path(work, NULL, e->path);
        if (lens && pith_lens_get_i64(work, lens, grown) != value_of(e))
            a->guarded[i] = true;
    }
    pith_scope_close(work);
}

static void find_statics(audit *a, pith_scope *work, const pith_result *result) {
    const int64_t count = pith_result_count(work, result);
    for (int64_t i = 0; i < count && !pith_failed(work); i++) {
        const pith_assertion *assertion = pith_result_get(work, result, i);
        const pith_capacity *c =
            assertion ? pithp_capacity_of_fix(&assertion->fix) : NULL;
        if (c)
            mark(a, work, c);
    }
    for (const pithp_guard *g = pithp_result_guards(result); g; g = g->next)
        mark(a, work, pithp_capacity_of_fix(&g->fix));
    for (int64_t i = 0; i < a->statics.count && !pith_failed(work); i++)
        if (!a->guarded[i])
            add(a, PITH_GAP_STATIC, a->statics.all[i].path,
                print(a->s, "names an extent of %s, and no capacity covers it",
                      a->statics.all[i].leaf));
}

/* ---- Draws ---- */

static bool same_shape(const draw *a, const draw *b) {
    return a->primitive == b->primitive && a->spec.rank == b->spec.rank &&
           memcmp(a->spec.shape, b->spec.shape,
                  (size_t)a->spec.rank * sizeof a->spec.shape[0]) == 0;
}

static const char *base_name(const char *site) {
    const char *slash = site ? strrchr(site, '/') : NULL;
    return slash ? slash + 1 : site ? site : "an unknown line";
}

/* Find the draws whose shape changes when a static grows by one. */
static void find_draws(audit *a, const draw_list *drawn, const pithp_extent_static *e) {
    static const pith_lens_options resize = {.resize = true};
    draw_list others = {.count = 0};
    pith_scope *work = pith_scope_open_in(a->s);
    const pith_lens *lens = pith_lens_path(work, NULL, e->path);
    const void *grown =
        lens ? pith_lens_set_i64_with(work, lens, a->state, value_of(e) + 1, &resize)
             : NULL;
    if (grown && !pith_failed(work))
        run(work, a, grown, &others);
    for (int64_t i = 0; i < drawn->count && i < others.count; i++) {
        const draw *d = &drawn->all[i];
        char text[PITHP_SPEC_TEXT_BYTES];
        if (!same_shape(d, &others.all[i]))
            add(a, PITH_GAP_DRAW, e->path,
                print(a->s, "shapes %s %s at %s", pithp_ops[d->primitive].name,
                      pithp_spec_print(&d->spec, text), base_name(d->site)));
    }
    pith_clear(work); /* errors at the larger size are ignored */
    pith_scope_close(work);
}

/* ---- The call ---- */

static const pith_capacity_gap none;

static pith_status arguments_fit(pith_scope *s,
                                 const pith_function *step,
                                 const void *state,
                                 int64_t *count) {
    static const char *const function = "pith_capacity_audit";
    if (!count)
        return pithp_fail(s, PITH_E_ARG, NULL, "%s: count is NULL", function);
    *count = 0;
    if (pithp_step_check(s, step, function) != PITH_OK)
        return s->error.code;
    return pithp_tree_check(s, state, function, "state");
}

const pith_capacity_gap *pith_capacity_audit(pith_scope *s,
                                             const pith_function *step,
                                             const void *state,
                                             int64_t *count) {
    if (!pithp_enter_untraced(s, "pith_capacity_audit") ||
        arguments_fit(s, step, state, count) != PITH_OK)
        return NULL;
    audit a = {.s = s, .step = step, .state = state, .statics = {.s = s}};
    draw_list draws = {.count = 0};
    if (pithp_extents_find(&a.statics, state) != PITH_OK)
        return NULL;
    const size_t flags = (size_t)a.statics.count * sizeof *a.guarded;
    a.guarded = pithp_scope_allocate(s, flags + 1);
    pith_scope *work = a.guarded ? pithp_temporaries_open(s) : NULL;
    if (!work)
        return NULL;
    memset(a.guarded, 0, flags + 1);
    work->collector = NULL; /* outer collectors do not receive these checks */
    a.recorded = record(work, step);
    const pith_result *result = a.recorded ? run(work, &a, state, &draws) : NULL;
    if (result)
        find_statics(&a, work, result);
    for (int64_t i = 0; draws.count && i < a.statics.count && !pith_failed(work); i++)
        find_draws(&a, &draws, &a.statics.all[i]);
    pith_scope_close(work);
    if (s->error.code != PITH_OK)
        return NULL;
    *count = a.count;
    return a.count ? a.gaps : &none;
}
