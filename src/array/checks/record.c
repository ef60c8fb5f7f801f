/* Recording of checks in a trace, and replay of the checks of a called program. */
#include "array/checks/list.h"
#include "program/ir/program.h"

#include <string.h>

/* ---- Lists ---- */

pithp_checks *pithp_checks_of(pith_scope *s) {
    pithp_trace *t = pithp_scope_trace(s);
    if (t->checks)
        return t->checks;
    pithp_checks *c = pithp_allocate(s->runtime, sizeof *c);
    pith_scope *store = c ? pithp_trace_store_open(s) : NULL;
    if (!store) {
        pithp_release(s->runtime, c, sizeof *c);
        pithp_fail_memory(s, sizeof *c);
        return NULL;
    }
    *c = (pithp_checks){.rt = s->runtime, .store = store};
    atomic_init(&c->refs, 1);
    t->checks = c;
    return c;
}

bool pithp_checks_begin(pith_scope *s) {
    pithp_trace *t = pithp_scope_trace(s);
    pithp_checks *around = t->checks;
    t->checks = NULL;
    pithp_checks *c = pithp_checks_of(s);
    if (c)
        c->around = around;
    else
        t->checks = around;
    return c != NULL;
}

pithp_checks *pithp_checks_end(pithp_trace *t, bool *asked) {
    pithp_checks *c = t->checks;
    *asked = c->asked;
    t->checks = c->around;
    c->around = NULL;
    if (c->count)
        return c;
    pithp_checks_release(c);
    return NULL;
}

int32_t pithp_checks_value(const pithp_checks *c, int64_t value) {
    return c->values[value].value;
}

int64_t pithp_checks_values(const pithp_checks *c) {
    return c ? c->value_count : 0;
}

int64_t pithp_checks_count(const pithp_checks *c) {
    return c->count;
}

int64_t pithp_checks_first(const pithp_checks *c, int64_t i, int64_t *count) {
    *count = c->list[i].count;
    return c->list[i].first;
}

const pith_spec *pithp_checks_spec(const pithp_checks *c, int64_t value) {
    return c->values[value].spec;
}

void pithp_checks_retain(pithp_checks *c) {
    if (c)
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void pithp_checks_release(pithp_checks *c) {
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (int64_t i = 0; i < c->inner_count; i++)
        pithp_checks_release(c->inner[i]);
    pithp_trace_store_close(c->rt, c->store);
    pithp_release(c->rt, c->list, (size_t)c->room * sizeof *c->list);
    pithp_release(c->rt, c->values, (size_t)c->value_room * sizeof *c->values);
    pithp_release(c->rt, c->inner, (size_t)c->inner_room * sizeof(pithp_checks *));
    pithp_release(c->rt, c, sizeof *c);
}

/* A list with capacity for `more`; NULL: error set, and the list is unchanged. */
static void *grown(pith_scope *s,
                   void *list,
                   size_t each,
                   int64_t count,
                   int64_t more,
                   int64_t *room) {
    if (count + more <= *room)
        return list;
    const int64_t wanted = 2 * (count + more);
    void *bigger =
        pithp_reallocate(s->runtime, list, (size_t)*room * each, (size_t)wanted * each);
    if (bigger)
        *room = wanted;
    else
        pithp_fail_memory(s, (size_t)wanted * each);
    return bigger;
}

/* The next entry, zeroed; it counts after finish(). NULL: error set. */
static pithp_recorded *next_entry(pith_scope *s, pithp_checks *c) {
    void *list = grown(s, c->list, sizeof *c->list, c->count, 1, &c->room);
    if (!list)
        return NULL;
    c->list = list;
    c->list[c->count] = (pithp_recorded){.first = c->value_count};
    return &c->list[c->count];
}

static pith_status add_values(pith_scope *s,
                              pithp_checks *c,
                              int64_t count,
                              const pith_array *const *arrays) {
    void *values =
        grown(s, c->values, sizeof *c->values, c->value_count, count, &c->value_room);
    if (!values)
        return s->error.code;
    c->values = values;
    for (int64_t i = 0; i < count; i++) {
        const int32_t v = pithp_trace_value(s, pithp_scope_trace(s), arrays[i]);
        if (v < 0)
            return s->error.code;
        c->values[c->value_count] =
            (pithp_recorded_value){.value = v,
                                   .recorded = v,
                                   .spec = pithp_array_spec(arrays[i]),
                                   .place = ~c->value_count};
        c->value_count++;
    }
    return PITH_OK;
}

/* Complete an entry, or remove its values after an error. */
static pith_status finish(pithp_checks *c, pithp_recorded *r, pith_status rc) {
    if (rc == PITH_OK) {
        r->count = c->value_count - r->first;
        c->count++;
        if (r->kind == PITHP_RECORDED_CHECK) {
            pithp_recorded_value *decides = &c->values[r->first];
            decides->is_flag =
                decides->spec->dtype == PITH_BOOL && decides->spec->count == 1;
            c->check_count++;
            c->methods = r->methods;
        }
        c->guard_count += r->kind == PITHP_RECORDED_GUARD;
    } else {
        c->value_count = r->first;
    }
    c->apart_count = c->value_count;
    c->unflagged = c->count - c->guard_count;
    return rc;
}

bool pithp_checks_take(pith_scope *s, pithp_trace *t, bool part, pithp_checks **checks) {
    pithp_checks *c = t->checks;
    *checks = NULL;
    if (c && c->has_parts && !pithp_checks_follow(s, t, c, part))
        return false;
    for (int64_t i = 0; c && i < c->value_count; i++)
        if (!pithp_program_output(s, t->program, c->values[i].value))
            return false;
    *checks = c;
    t->checks = NULL;
    return true;
}

/* ---- Layout of run values ---- */

bool pithp_checks_is_flag(const pithp_checks *c, int64_t value) {
    return c->values[value].is_flag;
}

void pithp_checks_lay_out(pithp_checks *c, const int64_t *places, int64_t flags) {
    c->apart_count = 0;
    for (int64_t k = 0; k < c->value_count; k++)
        c->values[k].place = places[k] < 0 ? ~c->apart_count++ : places[k];
    c->flags = flags;
    c->unflagged = 0;
    for (int64_t i = 0; i < c->count; i++)
        c->unflagged += c->list[i].kind != PITHP_RECORDED_GUARD &&
                        !pithp_recorded_is_flagged(c, &c->list[i]);
}

/* ---- Recording ---- */

pith_status pithp_checks_add(pith_scope *s,
                             const pithp_recorded *entry,
                             int64_t count,
                             const pith_array *const *values,
                             const pith_array *const *leaves) {
    pithp_checks *c = pithp_checks_of(s);
    pithp_recorded *r = c ? next_entry(s, c) : NULL;
    if (!r)
        return s->error.code;
    const int64_t first = r->first;
    *r = *entry;
    r->first = first;
    pith_status rc = add_values(s, c, count, values);
    if (rc == PITH_OK)
        rc = add_values(s, c, r->leaves, leaves);
    return finish(c, r, rc);
}

pith_status pithp_trace_report(pith_scope *s,
                               const pith_array *report,
                               pithp_check_describe describe,
                               const void *subject,
                               bool merges) {
    const pithp_recorded entry = {.kind = PITHP_RECORDED_REPORT,
                                  .describe = describe,
                                  .subject = subject,
                                  .site = s->site,
                                  .merges = merges,
                                  .repairs = merges};
    return pithp_checks_add(s, &entry, 1, &report, NULL);
}

int64_t pithp_checks_mark(pith_scope *s) {
    const pithp_checks *c = pithp_scope_trace(s)->checks;
    return c ? c->count : 0;
}

/* ---- Checks that repeat others ---- */

pithp_check_id *pithp_checks_ids(pith_scope *s,
                                 const pithp_checks *c,
                                 int64_t from,
                                 const uint64_t *hashes) {
    const int64_t count = pithp_checks_count(c) - from;
    pithp_check_id *ids = pithp_scope_allocate(s, (size_t)(count + 1) * sizeof *ids);
    for (int64_t i = 0; ids && i < count; i++) {
        const pithp_recorded *r = &c->list[from + i];
        uint64_t hash = (uint64_t)r->kind;
        for (int64_t k = 0; k < r->count; k++)
            hash = pithp_hash(hash, &hashes[c->values[r->first + k].recorded],
                              sizeof *hashes);
        ids[i] = (pithp_check_id){r->site, hash};
    }
    return ids;
}

bool pithp_checks_alike(const pithp_checks *c,
                        int64_t i,
                        const pithp_checks *others,
                        int64_t k) {
    const pithp_recorded *a = &c->list[i], *b = &others->list[k];
    bool alike = a->kind == b->kind && a->count == b->count && a->leaves == b->leaves &&
                 a->has_flag == b->has_flag && a->batch_rank == b->batch_rank &&
                 !a->site == !b->site && (!a->site || strcmp(a->site, b->site) == 0);
    for (int64_t v = 0; v < a->count && alike; v++)
        alike =
            c->values[a->first + v].spec->dtype ==
                others->values[b->first + v].spec->dtype &&
            c->values[a->first + v].spec->rank == others->values[b->first + v].spec->rank;
    return alike;
}

/* Whether a check is in the list, from which it is taken. */
static bool take(const pithp_check_id *id, int64_t count, pithp_check_id *list) {
    for (int64_t k = 0; id->site && k < count; k++)
        if (list[k].site && list[k].values == id->values &&
            strcmp(id->site, list[k].site) == 0) {
            list[k].site = NULL;
            return true;
        }
    return false;
}

void pithp_checks_drop(pithp_checks *c,
                       const pithp_check_id *own,
                       int64_t count,
                       pithp_check_id *others,
                       bool *kept) {
    int64_t entries = 0, values = 0;
    for (int64_t i = 0; i < c->count; i++) {
        pithp_recorded r = c->list[i];
        const bool drops = take(&own[i], count, others);
        for (int64_t k = 0; k < r.count; k++)
            kept[r.first + k] = !drops;
        if (drops) {
            c->check_count -= r.kind == PITHP_RECORDED_CHECK;
            c->guard_count -= r.kind == PITHP_RECORDED_GUARD;
            continue;
        }
        for (int64_t k = 0; k < r.count; k++) {
            c->values[values + k] = c->values[r.first + k];
            c->values[values + k].place = ~(values + k);
        }
        r.first = values;
        values += r.count;
        c->list[entries++] = r;
    }
    c->count = entries;
    c->value_count = c->apart_count = values;
    c->unflagged = c->count - c->guard_count;
}

/* ---- Replay into another trace ---- */

/* Copy the data of the upper room's entry. */
static pith_status copy_data(pith_scope *s, pithp_checks *to, pithp_recorded *r) {
    void *data = pithp_scope_allocate(to->store, r->methods->bytes);
    if (!data) {
        pithp_error_move(s, to->store);
        return s->error.code;
    }
    r->data = memcpy(data, r->data, r->methods->bytes);
    return PITH_OK;
}

pithp_checks *pithp_checks_adopt(pith_scope *s, pithp_checks *from, bool part) {
    pithp_checks *to = pithp_checks_of(s);
    void *inner =
        to ? grown(s, to->inner, sizeof *to->inner, to->inner_count, 1, &to->inner_room)
           : NULL;
    if (!inner)
        return NULL;
    to->inner = inner;
    pithp_checks_retain(from);
    to->inner[to->inner_count++] = from;
    to->has_parts |= part || from->has_parts;
    return to;
}

/* The report becomes that of an entry of a batch around its own. */
static void add_batch(pithp_recorded *r, int axes, const int64_t *sizes) {
    memmove(r->batch + axes, r->batch, (size_t)r->batch_rank * sizeof *r->batch);
    memcpy(r->batch, sizes, (size_t)axes * sizeof *sizes);
    r->batch_rank += axes;
}

pith_status pithp_checks_copy(pith_scope *s,
                              pithp_checks *to,
                              const pithp_checks *from,
                              const pithp_recorded_copy *copy) {
    pithp_recorded *r = next_entry(s, to);
    if (!r)
        return s->error.code;
    const int64_t first = r->first;
    pith_status rc = PITH_OK;
    *r = from->list[copy->i];
    r->first = first;
    r->has_flag = copy->has_flag;
    r->of_part |= copy->part;
    if (copy->batch_axes)
        add_batch(r, copy->batch_axes, copy->batch);
    else if (copy->count == 1)
        r->batch_rank = 0;
    if (r->methods)
        rc = copy_data(s, to, r);
    if (rc == PITH_OK && r->kind == PITHP_RECORDED_CHECK)
        r->methods->set_spec(r->data, pithp_array_spec(copy->values[copy->has_flag]));
    if (rc == PITH_OK)
        rc = add_values(s, to, copy->count, copy->values);
    return finish(to, r, rc);
}

/* values: of the first of these entries, and of those after it. */
static pith_status replay(pith_scope *s,
                          pithp_checks *from,
                          int64_t first,
                          int64_t count,
                          const pith_array *const *values,
                          bool part) {
    pithp_checks *to = pithp_checks_adopt(s, from, part);
    for (int64_t i = first; to && i < first + count; i++) {
        const pithp_recorded *r = &from->list[i];
        const pithp_recorded_copy copy = {.i = i,
                                          .count = r->count,
                                          .values = values,
                                          .has_flag = r->has_flag,
                                          .part = part};
        if (pithp_checks_copy(s, to, from, &copy) != PITH_OK)
            break;
        values += r->count;
    }
    return s->error.code;
}

pith_status pithp_checks_replay(pith_scope *s,
                                pithp_checks *from,
                                const pith_array *const *values,
                                bool part) {
    return from ? replay(s, from, 0, from->count, values, part) : PITH_OK;
}

pith_status pithp_checks_replay_one(pith_scope *s,
                                    pithp_checks *from,
                                    int64_t i,
                                    const pith_array *const *values,
                                    bool part) {
    return replay(s, from, i, 1, values, part);
}
