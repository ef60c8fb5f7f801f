/* Profile construction: the names, call sites and memory traffic of a plan's steps. */
#include "program/plan/fuse_input.h"
#include "program/profile/profile.h"

#include <string.h>

/* ---- The steps of an entry ---- */

/* A leader and the steps that run within it. */
typedef struct unit {
    const pithp_plan *plan;
    int64_t lead;
    int64_t members[PITHP_GATHERS + 1 + PITHP_SIBLINGS]; /* in execution order */
    int64_t count; /* number of members; of a band: its steps from `lead` on */
} unit;

static unit unit_of(const pithp_plan *plan, int64_t lead) {
    const pithp_step *step = &plan->steps[lead];
    unit u = {.plan = plan, .lead = lead, .count = step->band};
    if (step->band)
        return u;
    for (int k = 0; k < step->gather_count; k++)
        u.members[u.count++] = step->gathers[k];
    if (step->producer >= 0)
        u.members[u.count++] = step->producer;
    for (int k = 0; k <= step->siblings; k++)
        u.members[u.count++] = lead + k;
    return u;
}

static int64_t number_of(const unit *u, int64_t k) {
    return u->plan->steps[u->lead].band ? u->lead + k : u->members[k];
}
static const pithp_step *member(const unit *u, int64_t k) {
    return &u->plan->steps[number_of(u, k)];
}

/* ---- Names ---- */

enum { MOST_NAMES = 12 };

typedef struct names {
    const char *list[MOST_NAMES];
    int count;
    bool more;
} names;

static void add_unlike(names *n, const char *name) {
    for (int k = 0; k < n->count; k++)
        if (n->list[k] == name || strcmp(n->list[k], name) == 0)
            return;
    n->more |= n->count == MOST_NAMES;
    if (n->count < MOST_NAMES)
        n->list[n->count++] = name;
}

static const char *row_name(const pithp_instruction *i) {
    if (i->primitive == PITHP_OP_CHECKED)
        return pithp_ops[((const pithp_checked_params *)i->params)->primitive].name;
    return pithp_ops[i->primitive].name;
}

static void add_names(names *n, const pithp_step *step) {
    for (int k = 0; step->kind == PITHP_STEP_FUSED && k < step->fused->op_count; k++)
        add_unlike(n, step->fused->ops[k].cast
                          ? pithp_ops[PITHP_OP_CAST].name
                          : pithp_ops[step->fused->ops[k].operation].name);
    if (step->kind != PITHP_STEP_FUSED)
        add_unlike(n, row_name(step->call));
}

static void put_name(pithp_string *t, const unit *u) {
    const pithp_instruction *i = u->plan->steps[u->lead].call;
    names n = {.count = 0};
    for (int64_t k = 0; k < u->count; k++)
        add_names(&n, member(u, k));
    if (i && i->primitive == PITHP_OP_KERNEL)
        pithp_string_print(t, "kernel %s",
                           ((const pithp_kernel_params *)i->params)->kernel->name);
    for (int k = 0; k < n.count && !(i && i->primitive == PITHP_OP_KERNEL); k++)
        pithp_string_print(t, "%s%s", k ? ", " : "", n.list[k]);
    pithp_string_add_n(t, n.more ? ", ..." : "", n.more ? sizeof ", ..." : 1);
}

/* Whether the list of strings from `from` to the end contains a text. */
static bool has_text(const pithp_string *t, size_t from, const char *text) {
    for (size_t at = from; at < t->length; at += strlen(t->bytes + at) + 1)
        if (strcmp(t->bytes + at, text) == 0)
            return true;
    return false;
}

static void put_site(pithp_string *t, size_t from, const char *site) {
    if (site && *site && !has_text(t, from, site))
        pithp_string_add_n(t, site, strlen(site) + 1);
}

static void put_sites(pithp_string *t, const unit *u) {
    const size_t from = t->length;
    for (int64_t k = 0; k < u->count; k++) {
        const pithp_step *step = member(u, k);
        for (int o = 0; step->kind == PITHP_STEP_FUSED && o < step->fused->op_count; o++)
            put_site(t, from, step->fused->sites[o]);
        if (step->kind != PITHP_STEP_FUSED)
            put_site(t, from, step->call->site);
    }
    pithp_string_add_n(t, "", 1);
}

/* ---- Memory traffic ---- */

static bool is_written(const pithp_fused_step *a, int external) {
    bool written = false;
    for (int k = 0; k < a->op_count; k++)
        written |= a->ops[k].to == a->temporary_count + external;
    return written;
}

/* Whether v is computed in the unit. A gather inside the unit does not count, because it
 * reads memory from outside. */
static bool is_made(const unit *u, pithp_value v) {
    bool made = false;
    for (int64_t k = 0; k < u->count && !made; k++) {
        const pithp_step *step = member(u, k);
        const pithp_instruction *i = step->call;
        if (i)
            made = i->primitive != PITHP_OP_TAKE && v >= i->result &&
                   v < i->result + i->result_count;
        else
            made = step->unmaterialised == v;
        for (int e = 0;
             step->kind == PITHP_STEP_FUSED && e < step->fused->external_count && !made;
             e++)
            made = step->operands[e].value == v && is_written(step->fused, e);
    }
    return made;
}

/* The number of distinct elements: axes with stride 0 count once. */
static int64_t distinct(int rank, const int64_t *extents, const int64_t *strides) {
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= strides[d] || extents[d] == 0 ? extents[d] : 1;
    return count;
}

static int64_t external_bytes(const pithp_step *step, int e) {
    const pithp_fused_step *a = step->fused;
    const pithp_external *x = &a->externals[e];
    if (x->access != PITHP_ACCESS_PIECES)
        return distinct(a->rank, a->shape, x->stride) * x->size;
    int64_t count = 0;
    for (int p = x->first_piece; p < x->first_piece + x->pieces; p++) {
        int64_t extents[PITHP_MAX_RANK];
        for (int d = 0; d < a->rank; d++)
            extents[d] = a->boxes[p].end[d] - a->boxes[p].begin[d];
        count += distinct(a->rank, extents, pithp_piece_of(a, p)->stride);
    }
    return count * x->size;
}

static void add_fused(pithp_profile_entry *entry, const unit *u, const pithp_step *step) {
    for (int e = 0; e < step->fused->external_count; e++) {
        const bool written = is_written(step->fused, e);
        const pithp_value v = step->operands[e].value;
        if (written && v != step->unmaterialised && !pithp_is_buffered(u->plan, v))
            entry->written += external_bytes(step, e);
        else if (!written && !is_made(u, v))
            entry->read += external_bytes(step, e);
    }
}

static int64_t bytes_of(const pithp_plan *plan, pithp_value v) {
    return (int64_t)pithp_value_spec(plan->program, v)->bytes;
}

/* Whether an update overwrites its operand in place. */
static bool is_in_place(const pithp_plan *plan, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    if (i->operand_count == 0 || pithp_updated(step, 0) != 0)
        return false;
    const pithp_place from = plan->places[pithp_operands(plan->program, i)[0]],
                      to = plan->places[i->result];
    return from.store == to.store && from.at == to.at;
}

static void add_call(pithp_profile_entry *entry, const unit *u, const pithp_step *step) {
    const pithp_instruction *i = step->call;
    const pithp_plan *plan = u->plan;
    const pithp_value *operands = pithp_operands(plan->program, i);
    const bool gather = i->primitive == PITHP_OP_TAKE && u->count > 1;
    const bool in_place = is_in_place(plan, step);
    const int results = i->result_count - pithp_op_has(i->primitive, PITHP_TRAIT_REPORT);
    for (int k = in_place || gather; k < i->operand_count; k++) {
        int64_t bytes = is_made(u, operands[k]) ? 0 : bytes_of(plan, operands[k]);
        if (k == 0 && pithp_op_has(i->primitive, PITHP_TRAIT_SELECT) &&
            bytes > bytes_of(plan, i->result))
            bytes = bytes_of(plan, i->result);
        entry->read += bytes;
    }
    if (in_place) /* only the updates are written */
        entry->written +=
            bytes_of(plan, operands[i->primitive == PITHP_OP_DYNAMIC_UPDATE_SLICE
                                        ? 1
                                        : i->operand_count - 1]);
    for (int k = 0; k < results && !in_place && !gather; k++)
        if (i->result + k != step->unmaterialised &&
            !pithp_is_buffered(plan, i->result + k))
            entry->written += bytes_of(plan, i->result + k);
}

/* ---- Entries ---- */

static void fill_plan(pithp_profile *p, const pithp_plan *plan, int64_t parent);

static void fill_unit(pithp_profile *p, const unit *u, int64_t parent) {
    const int64_t number = u->plan->first_entry + u->lead;
    pithp_profile_entry *entry = &p->entries[number];
    entry->name = p->strings.length;
    put_name(&p->strings, u);
    entry->sites = p->strings.length;
    put_sites(&p->strings, u);
    entry->hash = pithp_hash(0, p->strings.bytes + entry->name,
                             p->strings.failed ? 0 : p->strings.length - entry->name);
    entry->parent = parent;
    for (int64_t k = 0; k < u->count; k++) {
        const pithp_step *step = member(u, k);
        p->entries[u->plan->first_entry + number_of(u, k)].leader = number;
        if (step->kind == PITHP_STEP_FUSED)
            add_fused(entry, u, step);
        else if (step->kind != PITHP_STEP_CONTROL)
            add_call(entry, u, step);
    }
}

static void fill_plan(pithp_profile *p, const pithp_plan *plan, int64_t parent) {
    for (int64_t k = 0; k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        if (step->runs_in_consumer)
            continue;
        const unit u = unit_of(plan, k);
        fill_unit(p, &u, parent);
        for (int b = 0; step->kind == PITHP_STEP_CONTROL && b < step->call->program_count;
             b++)
            fill_plan(p, step->plans[b], plan->first_entry + k);
    }
}

/* Number the steps, those of nested plans consecutively; returns the next number. */
static int64_t number(pithp_plan *plan, int64_t next) {
    plan->first_entry = next;
    next += plan->step_count;
    for (int64_t k = 0; plan->has_plans && k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int b = 0; step->kind == PITHP_STEP_CONTROL && b < step->call->program_count;
             b++)
            next = number(step->plans[b], next);
    }
    return next;
}

static size_t profile_bytes(int64_t count) {
    return sizeof(pithp_profile) + (size_t)count * sizeof(pithp_profile_entry);
}

pithp_profile *pithp_profile_make(pith_runtime *rt, pithp_plan *plan) {
    const int64_t count = number(plan, 0);
    pithp_profile *p = pithp_allocate(rt, profile_bytes(count));
    if (!p)
        return NULL;
    memset(p, 0, profile_bytes(count));
    p->rt = rt;
    p->count = count;
    memcpy(p->name, plan->name, sizeof p->name);
    pithp_string_begin(&p->strings, rt);
    for (int64_t k = 0; k < count; k++)
        p->entries[k].leader = k;
    fill_plan(p, plan, -1);
    if (!p->strings.failed)
        return p;
    pithp_profile_free(p);
    return NULL;
}

void pithp_profile_free(pithp_profile *p) {
    if (!p)
        return;
    pithp_string_end(&p->strings);
    pithp_release(p->rt, p, profile_bytes(p->count));
}

void pithp_profile_reset(pithp_profile *p) {
    atomic_store(&p->calls, 0);
    atomic_store(&p->nanoseconds, 0);
    for (int64_t k = 0; k < p->count; k++) {
        atomic_store(&p->entries[k].calls, 0);
        atomic_store(&p->entries[k].nanoseconds, 0);
    }
}

bool pithp_profile_alike(const pithp_profile *a, const pithp_profile *b) {
    bool alike = a->count == b->count && strcmp(a->name, b->name) == 0 &&
                 a->strings.length == b->strings.length &&
                 memcmp(a->strings.bytes, b->strings.bytes, a->strings.length) == 0;
    for (int64_t k = 0; alike && k < a->count; k++) {
        const pithp_profile_entry *x = &a->entries[k], *y = &b->entries[k];
        alike = x->name == y->name && x->leader == y->leader && x->parent == y->parent &&
                x->read == y->read && x->written == y->written;
    }
    return alike;
}

void pithp_profile_attach(pithp_plan *plan, pithp_profile *p) {
    plan->profile = p;
    for (int64_t k = 0; plan->has_plans && k < plan->step_count; k++) {
        const pithp_step *step = &plan->steps[k];
        for (int b = 0; step->kind == PITHP_STEP_CONTROL && b < step->call->program_count;
             b++)
            pithp_profile_attach(step->plans[b], p);
    }
}
