/* Check collectors. If a stream runs work when it is enqueued, predicates are evaluated
 * when they are collected. Otherwise reports stay in device memory until they are
 * read. */
#include "gpu/collect.h"

#include <string.h>

enum { REPORTS = 64, FIRST_SLOTS = 16 };

struct pithp_report_block {
    pithp_report_block *next;
    pithp_buffer *buffer;
    pith_report *reports; /* in device memory */
    int used;
};

/* ---- Memory of the outermost collector's scope; errors move to the current scope
 * ---- */

static void *allocate(pith_scope *s, pith_scope *owner, size_t bytes) {
    void *memory = pithp_scope_allocate(owner, bytes);
    if (PITHP_UNLIKELY(!memory))
        pithp_error_move(s, owner);
    return memory;
}

static void release_slots(pith_scope *s, void *thing) {
    (void)s;
    pithp_collector *c = thing;
    c->ended = true;
    for (int64_t i = 0; i < c->count; i++)
        if (c->slots[i]->release)
            c->slots[i]->release(c->slots[i]);
    for (pithp_report_block *b = c->blocks; b; b = b->next)
        pithp_buffer_release(b->buffer, 1);
}

pithp_collector *pithp_collector_begin(pith_scope *s, bool alone) {
    pithp_collector *c = pithp_scope_allocate(s, sizeof *c);
    if (!c)
        return NULL;
    *c = (pithp_collector){.scope = s, .outer = alone ? NULL : pithp_collector_of(s)};
    c->guards = c->outer ? c->outer->guards : NULL;
    const pithp_looping *looping = pithp_collector_outermost(c)->looping;
    c->depth = looping ? looping->depth : 0;
    /* an outer collector releases the slots that it shares */
    if (!c->outer && !pithp_scope_hold(s, c, release_slots))
        return NULL;
    s->collector = c;
    return c;
}

int64_t pithp_collector_mark(pithp_collector *c) {
    if (c->count)
        c->slots[c->count - 1]->made_for = NULL;
    return c->count;
}

void pithp_collector_end(pithp_collector *c) {
    c->ended = true;
}

/* ---- Loops that run call by call ---- */

void pithp_looping_begin(pith_scope *s, pithp_looping *l) {
    pithp_collector *c = pithp_collector_of(s);
    *l = (pithp_looping){.collector = c ? pithp_collector_outermost(c) : NULL};
    if (!c)
        return;
    l->around = l->collector->looping;
    l->depth = l->around ? l->around->depth + 1 : 1;
    l->collector->looping = l;
}

void pithp_looping_next(pithp_looping *l) {
    l->made = NULL;
}

void pithp_looping_end(pithp_looping *l) {
    if (l->collector)
        l->collector->looping = l->around;
    l->collector = NULL;
}

/* The record of the current iteration, made on first use. NULL sets the error. */
static const pithp_iteration *iteration_of(pith_scope *s, pithp_looping *l) {
    const pithp_iteration *around = NULL;
    if (l->made || (l->around && !(around = iteration_of(s, l->around))))
        return l->made;
    pith_scope *owner = l->collector->scope;
    pithp_iteration *made = allocate(s, owner, sizeof *made);
    if (made)
        *made = (pithp_iteration){.around = around, .depth = l->depth};
    return l->made = made;
}

bool pithp_collector_counts_after(const pithp_collector *c,
                                  const pithp_check_slot *failed,
                                  const pithp_check_slot *slot) {
    const pithp_iteration *in = failed->iteration, *i = slot->iteration;
    if (!in || in->depth <= c->depth)
        return true;
    while (i && i != in)
        i = i->around;
    return i == in;
}

/* ---- Slots ---- */

pith_status
pithp_check_slot_stamp(pith_scope *s, pithp_collector *c, pithp_check_slot *slot) {
    pithp_looping *l = pithp_collector_outermost(c)->looping;
    slot->iteration = l ? iteration_of(s, l) : NULL;
    return !l || slot->iteration ? PITH_OK : s->error.code;
}

pithp_check_slot *pithp_check_slot_make(pith_scope *s,
                                        pithp_collector *c,
                                        const void *descriptor,
                                        size_t bytes) {
    pith_scope *owner = pithp_collector_outermost(c)->scope;
    pithp_check_slot *slot =
        pithp_object_make(owner, PITHP_KIND_OTHER, descriptor, bytes);
    if (PITHP_UNLIKELY(!slot))
        pithp_error_move(s, owner);
    return slot;
}

static pith_status make_room(pith_scope *s, pithp_collector *c) {
    if (PITHP_LIKELY(c->count < c->room))
        return PITH_OK;
    const int64_t room = c->room ? 2 * c->room : FIRST_SLOTS;
    pithp_check_slot **slots =
        allocate(s, c->scope, (size_t)room * sizeof(pithp_check_slot *));
    if (!slots)
        return PITH_E_MEMORY;
    if (c->count)
        memcpy(slots, c->slots, (size_t)c->count * sizeof(pithp_check_slot *));
    c->slots = slots;
    c->room = room;
    return PITH_OK;
}

#define FIRST_ZERO(bits)                                                                 \
    static int64_t first_zero_##bits(const void *data, int64_t count) {                  \
        const uint##bits##_t *x = data;                                                  \
        for (int64_t i = 0; i < count;) {                                                \
            const int64_t end = count - i > 256 ? i + 256 : count;                       \
            unsigned zeros = 0;                                                          \
            for (int64_t k = i; k < end; k++)                                            \
                zeros |= x[k] == 0;                                                      \
            if (!zeros) {                                                                \
                i = end;                                                                 \
                continue;                                                                \
            }                                                                            \
            while (x[i] != 0)                                                            \
                i++;                                                                     \
            return i;                                                                    \
        }                                                                                \
        return -1;                                                                       \
    }
FIRST_ZERO(8)
FIRST_ZERO(16)
FIRST_ZERO(32)
FIRST_ZERO(64)

int64_t pithp_first_zero(const void *data, int32_t width, int64_t count) {
    switch (width) {
        case 1:
            return first_zero_8(data, count);
        case 2:
            return first_zero_16(data, count);
        case 4:
            return first_zero_32(data, count);
        default:
            return first_zero_64(data, count);
    }
}

pith_status
pithp_check_slot_collect(pith_scope *s, pithp_collector *c, pithp_check_slot *slot) {
    if (slot->known) {
        /* the outcome is known */
    } else if (pithp_scope_device(s)->immediate) {
        if (slot->width == 0) {
            slot->report = &slot->seen; /* host memory is device memory */
        } else {
            const int64_t first = pithp_first_zero(slot->data, slot->width, slot->count);
            slot->seen.first = first < 0 ? 0 : ~(uint64_t)first;
            slot->known = true;
        }
    } else if (!(slot->report = pithp_collector_report(s, c))) {
        return s->error.code;
    }
    const bool passed = slot->known && slot->seen.first == 0;
    if (!passed && pithp_check_slot_stamp(s, c, slot) != PITH_OK)
        return s->error.code;
    /* Reserve room in all collectors first, so that all or none get it. */
    for (pithp_collector *o = c; o; o = o->outer)
        if (make_room(s, o) != PITH_OK)
            return s->error.code;
    slot->made_for = c;
    for (pithp_collector *o = c; o; o = o->outer) {
        o->slots[o->count++] = slot;
        o->failed |= slot->seen.first != 0;
    }
    return PITH_OK;
}

/* ---- Reports in device memory ---- */

static pithp_report_block *new_block(pith_scope *s, pithp_collector *c) {
    pithp_report_block *b = allocate(s, c->scope, sizeof *b);
    if (!b)
        return NULL;
    *b = (pithp_report_block){.next = c->blocks};
    b->buffer = pithp_buffer_make(s, REPORTS * sizeof(pith_report));
    if (!b->buffer)
        return NULL;
    b->reports = b->buffer->data;
    c->blocks = b;
    const uint64_t zero = 0;
    if (pithp_fill(s, b->reports, &zero, sizeof zero,
                   REPORTS * sizeof(pith_report) / sizeof zero) == PITH_OK)
        return b;
    b->used = REPORTS; /* unusable, and released with the others */
    return NULL;
}

pith_report *pithp_collector_report(pith_scope *s, pithp_collector *c) {
    c = pithp_collector_outermost(c);
    pithp_report_block *b = c->blocks;
    if (!b || b->used == REPORTS)
        b = new_block(s, c);
    return b ? &b->reports[b->used++] : NULL;
}

/* A host copy of the reports of a block. */
typedef struct {
    const pithp_report_block *block;
    pith_report reports[REPORTS];
} image;

static const pithp_report_block *find_block(const pithp_collector *c,
                                            const pith_report *report) {
    const pithp_report_block *b = c->blocks;
    while (b && (report < b->reports || report >= b->reports + REPORTS))
        b = b->next;
    PITH_ASSERT(b != NULL);
    return b;
}

pithp_buffer *pithp_collector_buffer(pithp_collector *c, const pith_report *report) {
    return find_block(pithp_collector_outermost(c), report)->buffer;
}

static const pith_report *
look_up(pith_scope *s, const pithp_collector *c, const pith_report *report, image *im) {
    const pithp_report_block *b = im->block;
    if (!b || report < b->reports || report >= b->reports + REPORTS) {
        b = find_block(c, report);
        if (pithp_copy_out(s, im->reports, b->reports, sizeof im->reports) != PITH_OK)
            return NULL;
        im->block = b;
    }
    return &im->reports[report - b->reports];
}

pith_status pithp_collector_read(pith_scope *s, pithp_collector *c) {
    const bool immediate = pithp_scope_device(s)->immediate;
    image im = {.block = NULL};
    for (int64_t i = 0; i < c->count; i++) {
        pithp_check_slot *slot = c->slots[i];
        if (slot->known)
            continue;
        if (!immediate) {
            const pith_report *seen =
                look_up(s, pithp_collector_outermost(c), slot->report, &im);
            if (!seen)
                return s->error.code;
            slot->seen = *seen;
            if (slot->number && !(seen = look_up(s, pithp_collector_outermost(c),
                                                 (const void *)slot->number, &im)))
                return s->error.code;
            if (slot->number)
                pithp_entry_set(&slot->of, (int64_t)seen->first);
            slot->number = NULL;
        }
        if (immediate && !c->ended && slot->width == 0)
            continue; /* a later launch may reuse the slot */
        slot->known = true;
    }
    for (int64_t i = 0; i < c->count; i++)
        c->failed |= c->slots[i]->seen.first != 0;
    return PITH_OK;
}
