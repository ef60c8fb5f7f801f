/* Runs whose checks all passed: the values are held, and the rest waits. */
#include "assert/passed.h"

#include "assert/recorded.h"

#include <string.h>

struct pithp_passed {
    pithp_check_slot slot;
    pithp_checks *from; /* a reference */
    pith_scope *owner;
    pith_assertion **made; /* NULL until somebody asks */
    int64_t count;         /* of checks in the list */
    pithp_held values[];   /* a reference to each buffer */
};

static const char tag[] = "checks that passed"; /* the shape of these objects */

pithp_passed *pithp_passed_of(pithp_check_slot *slot) {
    return pithp_header_of(slot)->shape == tag ? (pithp_passed *)(void *)slot : NULL;
}

int64_t pithp_passed_count(const pithp_passed *p) {
    return p->count;
}

/* ---- Holding ---- */

/* References to buffers, which lie behind one another where values share them. */
static void retain(const pithp_held *values, int64_t count) {
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && values[end].buffer == values[i].buffer;)
            end++;
        pithp_buffer_retain(values[i].buffer, (int)(end - i));
    }
}

static void release(const pithp_held *values, int64_t count) {
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && values[end].buffer == values[i].buffer;)
            end++;
        pithp_buffer_release(values[i].buffer, (int)(end - i));
    }
}

static void release_slot(pithp_check_slot *slot) {
    pithp_passed *p = (pithp_passed *)(void *)slot;
    for (int64_t i = 0; p->made && i < p->count; i++)
        p->made[i]->slot.release(&p->made[i]->slot);
    release(p->values, p->from->value_count);
    pithp_checks_release(p->from);
}

static int64_t count_checks(const pithp_checks *c) {
    int64_t count = 0;
    for (int64_t i = 0; i < c->count; i++)
        count += c->list[i].kind == PITHP_RECORDED_CHECK;
    return count;
}

pith_status
pithp_passed_collect(pith_scope *s, pithp_checks *from, const pithp_held *values) {
    pithp_collector *c = pithp_collector_of(s);
    const int64_t count = count_checks(from);
    if (count == 0)
        return PITH_OK;
    pithp_passed *p = (pithp_passed *)(void *)pithp_check_slot_make(
        s, c, tag, sizeof *p + (size_t)from->value_count * sizeof *p->values);
    if (!p)
        return s->error.code;
    p->slot.width = 1; /* a predicate, of which no element is zero */
    p->slot.release = release_slot;
    p->from = from;
    p->owner = pithp_collector_outermost(c)->scope;
    p->count = count;
    memcpy(p->values, values, (size_t)from->value_count * sizeof *values);
    retain(p->values, from->value_count);
    pithp_checks_retain(from);
    const pith_status rc = pithp_check_slot_collect(s, c, &p->slot);
    if (rc != PITH_OK) {
        release_slot(&p->slot);
        pithp_header_of(p)->kind = PITHP_KIND_FREE;
    }
    return rc;
}

/* ---- Making them after all ---- */

static pith_assertion *make_one(pith_scope *s,
                                const pithp_passed *p,
                                const pithp_recorded *r,
                                const pith_array *const *values) {
    const char *site = s->site;
    s->site = r->check->slot.site;
    const void *fix_args = pithp_recorded_fix_args(s, p->owner, r, values);
    pith_assertion *a = NULL;
    if (s->error.code == PITH_OK)
        a = pithp_assertion_again(s, p->owner, p->from, r->check, values, fix_args);
    if (a)
        a->slot.known = true;
    s->site = site;
    return a;
}

static bool make_all(pith_scope *s, pithp_passed *p, const pith_array **values) {
    const pithp_checks *from = p->from;
    for (int64_t i = 0; i < from->value_count; i++) {
        values[i] = pithp_array_view(p->owner, from->values[i].spec, p->values[i].buffer,
                                     p->values[i].data);
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
    if (made < p->count)
        while (made)
            p->made[made - 1]->slot.release(&p->made[made - 1]->slot), made--;
    return made > 0;
}

pith_assertion *const *pithp_passed_assertions(pith_scope *s, pithp_passed *p) {
    if (p->made)
        return p->made;
    const size_t made = (size_t)p->count * sizeof *p->made,
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
