/* Consequences of repairable failures. A loop or branch with a failed check that has a
 * fix has lost data. Checks that depend on its results are meaningless and pass, so that
 * capacities do not grow for them and no consequence is an error. */
#include "array/checks/list.h"
#include "program/ir/region.h"

#include <string.h>

/* A control-flow instruction and its checks in the list, some of which have a fix. */
typedef struct group {
    int64_t first, end;       /* range of entries */
    int64_t maker;            /* index of the instruction */
    bool guarded;             /* reports of kernels may have a fix, too */
    const pith_array *passed; /* NULL: not computed yet */
} group;

enum { SEVERAL = 64 }; /* groups processed at once, one bit each */

/* The instruction that a value comes from: that of a batch in chunks joins them. NULL: an
 * input or a constant. */
static const pithp_instruction *origin_of(const pithp_program *p, pithp_value v) {
    const pithp_instruction *i = pithp_maker(p, v);
    while (i && (i->primitive == PITHP_OP_RESHAPE || i->primitive == PITHP_OP_SLICE ||
                 i->primitive == PITHP_OP_CONCATENATE))
        i = pithp_maker(p, pithp_operands(p, i)[0]);
    return i;
}

/* The index of the control-flow instruction of an entry; -1: none. */
static int64_t
maker_of(const pithp_program *p, const pithp_checks *c, const pithp_recorded *r) {
    if (!r->of_part || !r->count)
        return -1;
    const pithp_instruction *made = origin_of(p, c->values[r->first + r->has_flag].value);
    return made && made->program_count ? made - p->instructions : -1;
}

/* Whether an entry may have a fix; a report may if there are guards. */
static bool may_be_fixed(const pithp_recorded *r, bool guarded) {
    return r->repairs && (guarded || r->kind != PITHP_RECORDED_REPORT);
}

static bool has_guard(const pithp_checks *c) {
    for (int64_t i = 0; i < c->count; i++)
        if (c->list[i].kind == PITHP_RECORDED_GUARD)
            return true;
    return false;
}

/* Find the groups of a list, at most one per entry; returns their number. Entries of one
 * instruction are adjacent. */
static int64_t find_groups(const pithp_program *p, const pithp_checks *c, group *groups) {
    const bool guarded = has_guard(c);
    int64_t count = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t maker = maker_of(p, c, &c->list[i]);
        if (maker < 0)
            continue;
        if (count && groups[count - 1].maker == maker)
            groups[count - 1].end = i + 1;
        else if (may_be_fixed(&c->list[i], guarded))
            groups[count++] =
                (group){.first = i, .end = i + 1, .maker = maker, .guarded = guarded};
    }
    return count;
}

/* Whether no check of a group that has a fix failed. NULL: error set. */
static const pith_array *
passed(pith_scope *s, pithp_trace *t, const pithp_checks *c, group *g) {
    const pith_array *all = g->passed;
    for (int64_t i = g->first; i < g->end && !g->passed; i++) {
        const pithp_recorded *r = &c->list[i];
        if (!may_be_fixed(r, g->guarded))
            continue;
        const pith_array *value = pithp_trace_array(s, t, c->values[r->first].value);
        const pith_array *both[] = {all,
                                    value ? pithp_recorded_passed(s, r, value) : NULL};
        if (!both[1])
            return NULL;
        all = all ? pithp_bind(s, PITHP_OP_LOGICAL_AND, 2, both, NULL) : both[1];
        if (!all)
            return NULL;
    }
    return g->passed = all;
}

/* Several groups of a list, and the marks of the values that depend on them. */
typedef struct following {
    pith_scope *s;
    pithp_trace *t;
    pithp_checks *c;
    bool part;
    group *groups;
    int64_t count;
    const uint64_t *marks;
} following;

/* *all: whether no earlier group on which an entry depends failed; NULL: it depends on
 * none. False: error set. */
static bool find_sound(const following *f, int64_t entry, const pith_array **all) {
    const uint64_t marks = f->marks[f->c->values[f->c->list[entry].first].value];
    *all = NULL;
    for (int64_t g = 0; g < f->count && f->groups[g].end <= entry; g++) {
        if (!(marks >> g & 1))
            continue;
        const pith_array *both[] = {*all, passed(f->s, f->t, f->c, &f->groups[g])};
        if (both[1])
            *all = *all ? pithp_bind(f->s, PITHP_OP_LOGICAL_AND, 2, both, NULL) : both[1];
        if (!both[1] || !*all)
            return false;
    }
    return true;
}

/* Let an entry pass unless `sound`: its flag, predicate or report, and for a part also
 * its needs, of which the greatest counts. False: error set. */
static bool
pass_unless(const following *f, const pithp_recorded *r, const pith_array *sound) {
    for (int64_t k = 0; k < r->count; k++) {
        pithp_recorded_value *v = &f->c->values[r->first + k];
        if (!pithp_recorded_decides(r, k) &&
            !(f->part && pithp_recorded_grows(r, k, v->spec)))
            continue;
        const pith_array *either[] = {sound, pithp_trace_array(f->s, f->t, v->value),
                                      pithp_recorded_neutral(f->s, f->c, r, k)};
        const pith_array *kept = either[1] && either[2]
                                     ? pithp_bind(f->s, PITHP_OP_WHERE, 3, either, NULL)
                                     : NULL;
        const int32_t value = kept ? pithp_trace_value(f->s, f->t, kept) : -1;
        if (value < 0)
            return false;
        v->value = value;
    }
    return true;
}

/* Mark the values that depend on the groups. */
static bool mark(const following *f, uint64_t *marks) {
    const pithp_program *p = f->t->program;
    memset(marks, 0, (size_t)p->value_count * sizeof *marks);
    for (int64_t g = 0; g < f->count; g++) {
        const pithp_instruction *i = &p->instructions[f->groups[g].maker];
        for (int32_t k = 0; k < i->result_count; k++)
            if (pithp_forwarded_operand(i, k) < 0) /* lost data reaches the others */
                marks[i->result + k] = (uint64_t)1 << g;
    }
    return pithp_program_follow(f->s, p, marks);
}

static bool follow(following *f) {
    const size_t bytes = (size_t)f->t->program->value_count * sizeof *f->marks;
    uint64_t *marks = pithp_allocate(f->s->runtime, bytes);
    if (!marks) {
        pithp_fail_memory(f->s, bytes);
        return false;
    }
    bool fine = mark(f, marks);
    f->marks = marks;
    for (int64_t i = f->groups[0].end; i < f->c->count && fine; i++) {
        const pithp_recorded *r = &f->c->list[i];
        const pith_array *sound = NULL;
        if (r->count)
            fine = find_sound(f, i, &sound) && (!sound || pass_unless(f, r, sound));
    }
    pithp_release(f->s->runtime, marks, bytes);
    return fine;
}

bool pithp_checks_follow(pith_scope *s, pithp_trace *t, pithp_checks *c, bool part) {
    const size_t bytes = ((size_t)c->count + 1) * sizeof(group);
    group *groups = pithp_allocate(s->runtime, bytes);
    if (!groups) {
        pithp_fail_memory(s, bytes);
        return false;
    }
    const int64_t count = find_groups(t->program, c, groups);
    bool fine = true;
    for (int64_t g = 0; g < count && groups[g].end < c->count && fine; g += SEVERAL) {
        following f = {.s = s, .t = t, .c = c, .part = part, .groups = groups + g};
        f.count = count - g < SEVERAL ? count - g : SEVERAL;
        fine = follow(&f);
    }
    pithp_release(s->runtime, groups, bytes);
    return fine;
}
