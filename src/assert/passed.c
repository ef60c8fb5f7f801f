/* Passed runs: one slot for a run whose checks all passed. It holds the values;
 * assertions are made on demand. */
#include "assert/passed.h"

#include <string.h>

struct pithp_passed {
    pithp_check_slot slot;
    pithp_checks *from; /* a reference */
    pith_scope *owner;
    pith_assertion **made; /* NULL until first requested */
    pithp_buffer *buffer;  /* buffer of most values: a reference, or NULL */
    pithp_held apart[];    /* the other values: a reference to each buffer */
};

static const char tag[] = "checks that passed"; /* identifies these objects */

pithp_passed *pithp_passed_of(pithp_check_slot *slot) {
    return pithp_header_of(slot)->descriptor == tag ? (pithp_passed *)(void *)slot : NULL;
}

int64_t pithp_passed_count(const pithp_passed *p) {
    return p->from->check_count;
}

/* ---- Holding ---- */

static void retain(const pithp_passed *p) {
    if (p->buffer)
        pithp_buffer_retain(p->buffer, 1);
    for (int64_t i = 0; i < p->from->apart_count; i++)
        pithp_buffer_retain(p->apart[i].buffer, 1);
    pithp_checks_retain(p->from);
}

static void release(const pithp_passed *p) {
    if (p->buffer)
        pithp_buffer_release(p->buffer, 1);
    for (int64_t i = 0; i < p->from->apart_count; i++)
        pithp_buffer_release(p->apart[i].buffer, 1);
    pithp_checks_release(p->from);
}

static void release_slot(pithp_check_slot *slot) {
    pithp_passed *p = (pithp_passed *)(void *)slot;
    for (int64_t i = 0; p->made && i < pithp_passed_count(p); i++)
        p->made[i]->slot.release(&p->made[i]->slot);
    release(p);
}

pith_status
pithp_passed_collect(pith_scope *s, pithp_checks *from, const pithp_run_values *values) {
    pithp_collector *c = pithp_collector_of(s);
    const size_t apart = (size_t)from->apart_count * sizeof(pithp_held);
    pithp_passed *p =
        (pithp_passed *)(void *)pithp_check_slot_make(s, c, tag, sizeof *p + apart);
    if (!p)
        return s->error.code;
    p->slot.width = 1; /* a predicate without zeros */
    p->slot.known = true;
    p->slot.release = release_slot;
    p->from = from;
    p->owner = pithp_collector_outermost(c)->scope;
    p->buffer = values->buffer;
    if (apart)
        memcpy(p->apart, values->apart, apart);
    retain(p);
    const pith_status rc = pithp_check_slot_collect(s, c, &p->slot);
    if (rc != PITH_OK) {
        release_slot(&p->slot);
        pithp_header_of(p)->kind = PITHP_KIND_FREE;
    }
    return rc;
}

/* ---- Making the assertions ---- */

static pith_assertion *make_one(pith_scope *s,
                                const pithp_passed *p,
                                const pithp_recorded *r,
                                const pith_array *const *values) {
    const char *site = s->site;
    s->site = r->site;
    const void *fix_args = pithp_recorded_fix_args(s, p->owner, r, values);
    pith_assertion *a = NULL;
    if (s->error.code == PITH_OK)
        a = pithp_assertion_again(s, p->owner, p->from, pithp_recorded_assertion(r),
                                  values + r->has_flag, fix_args);
    if (a)
        a->slot.known = true;
    s->site = site;
    return a;
}

static bool make_all(pith_scope *s, pithp_passed *p, const pith_array **values) {
    const pithp_checks *from = p->from;
    const pithp_run_values run = {p->buffer, p->apart};
    for (int64_t i = 0; i < from->value_count; i++) {
        const pithp_held held = pithp_recorded_held(from, &run, i);
        values[i] =
            pithp_array_view(p->owner, from->values[i].spec, held.buffer, held.data);
        if (!values[i]) {
            pithp_error_move(s, p->owner);
            return false;
        }
    }
    int64_t made = 0;
    for (int64_t i = 0; i < from->count; i++) {
        const pithp_recorded *r = &from->list[i];
        if (r->kind != PITHP_RECORDED_CHECK)
            continue;
        p->made[made] = make_one(s, p, r, values + r->first);
        if (p->made[made])
            made++;
        else
            break;
    }
    if (made < from->check_count)
        while (made)
            p->made[made - 1]->slot.release(&p->made[made - 1]->slot), made--;
    return made > 0;
}

pith_assertion *const *pithp_passed_assertions(pith_scope *s, pithp_passed *p) {
    if (p->made)
        return p->made;
    const size_t made = (size_t)p->from->check_count * sizeof *p->made,
                 bytes = made + (size_t)p->from->value_count * sizeof(pith_array *);
    char *memory = pithp_scope_allocate(p->owner, bytes);
    if (!memory) {
        pithp_error_move(s, p->owner);
        return NULL;
    }
    p->made = (pith_assertion **)(void *)memory;
    if (!make_all(s, p, (const pith_array **)(void *)(memory + made)))
        p->made = NULL;
    return p->made;
}
