/* Pending checks without a collector. Each launch or predicate that may fail gets a
 * report in device memory, examined at the next wait for its stream. The first failure in
 * program order becomes the error of its scope. */
#include "gpu/collect.h"
#include "gpu/device.h"
#include "gpu/memory/manager.h"
#include "gpu/memory/reclaim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 64, MOST_BLOCKS = 64 };

typedef struct {
    pith_scope *scope; /* NULL: not reported */
    pithp_check_describe describe;
    const void *subject;
    pithp_entry of; /* `numbered`: extents; the next report has the number of the entry */
    bool numbered;
    const char *site;
    void (*release)(const void *subject); /* NULL: of a launch */
    pithp_predicate predicate;            /* width 0: the report is already written */
} entry;

typedef struct block {
    struct block *next;   /* made later */
    pithp_buffer *buffer; /* of the reports; charged to no user instance */
    pith_report *reports; /* in device memory */
    int used;
    entry entries[SLOTS];
    pith_report image[SLOTS]; /* host copy of the reports */
} block;

/* State of one stream. Reports after the used ones are zero. */
struct pithp_pending_list {
    block *first, *current; /* blocks after current are free */
    int blocks;
    pithp_evaluate evaluate; /* for pending predicates, or NULL */
};

bool pithp_pending_any(const pithp_stream *st) {
    return st->pending && st->pending->first && st->pending->first->used;
}

static pithp_buffer *make_buffer(pithp_stream *st, size_t bytes, pithp_error *e) {
    struct pith_instance *standard = st->device->memory->standard;
    pithp_shortage why;
    pithp_buffer *made = pithp_buffer_try(st, standard, bytes, &why);
    made = made ? made : pithp_reclaim_and_try(st, standard, bytes, &why);
    if (!made)
        *e = why.error;
    return made;
}

static block *new_block(pith_scope *s, pithp_stream *st) {
    block *b = pithp_allocate(s->runtime, sizeof *b);
    if (!b) {
        pithp_fail_memory(s, sizeof *b);
        return NULL;
    }
    pithp_error e;
    memset(b, 0, sizeof *b);
    b->buffer = make_buffer(st, sizeof b->image, &e);
    b->reports = b->buffer ? b->buffer->data : NULL;
    if (b->buffer && st->device->backend->copy_in(st, b->reports, b->image,
                                                  sizeof b->image, &e) == PITH_OK)
        return b;
    pithp_buffer_release(b->buffer, 1);
    pithp_release(s->runtime, b, sizeof *b);
    pithp_fail_device(s, &e);
    return NULL;
}

/* The block with a free slot; NULL sets the scope's error. */
static block *block_with_room(pith_scope *s, pithp_stream *st) {
    if (!st->pending) {
        st->pending = pithp_allocate(s->runtime, sizeof *st->pending);
        if (!st->pending) {
            pithp_fail_memory(s, sizeof *st->pending);
            return NULL;
        }
        *st->pending = (struct pithp_pending_list){0};
    }
    struct pithp_pending_list *all = st->pending;
    if (all->current && all->current->used < SLOTS)
        return all->current;
    if (all->current && all->current->next)
        return all->current = all->current->next;
    if (all->blocks == MOST_BLOCKS) { /* thousands of launches without a wait */
        if (pithp_synchronise(s) != PITH_OK)
            return NULL;
        return all->current;
    }
    block *made = new_block(s, st);
    if (!made)
        return NULL;
    if (all->current)
        all->current->next = made;
    else
        all->first = made;
    all->blocks++;
    return all->current = made;
}

/* Whether the last slot can be reused: its work has run at once and passed. */
static bool last_passed(const pithp_stream *st) {
    if (!st->device->immediate || !st->pending || !st->pending->current)
        return false;
    const block *b = st->pending->current;
    return b->used && b->reports[b->used - 1].first == 0;
}

static const char launch_tag[] = "check of a launch"; /* tag of its slot */

/* The same for the last slot of a collector. */
static pithp_check_slot *passed_slot(const pith_scope *s, const pithp_collector *c) {
    if (!pithp_scope_device(s)->immediate || c->count == 0)
        return NULL;
    pithp_check_slot *last = c->slots[c->count - 1];
    const bool again = last->width == 0 && last->made_for == c && last->seen.first == 0;
    return again ? last : NULL;
}

static pith_report *collect_launch(pith_scope *s,
                                   pithp_collector *c,
                                   pithp_check_describe describe,
                                   const void *subject,
                                   const pithp_entry *of,
                                   const int64_t *number) {
    pithp_check_slot *slot = passed_slot(s, c);
    const bool again = slot != NULL;
    if (!again && !(slot = pithp_check_slot_make(s, c, launch_tag, sizeof *slot)))
        return NULL;
    slot->describe = describe;
    slot->subject = subject;
    slot->of = *of;
    slot->number = number;
    slot->guards = c->guards;
    slot->site = s->site;
    const pith_status rc =
        again ? pithp_check_slot_stamp(s, c, slot) : pithp_check_slot_collect(s, c, slot);
    return rc == PITH_OK ? slot->report : NULL;
}

pith_report *
pithp_check_make(pith_scope *s, pithp_check_describe describe, const void *subject) {
    return pithp_check_make_of(s, describe, subject, &(pithp_entry){0});
}

pith_report *pithp_check_make_of(pith_scope *s,
                                 pithp_check_describe describe,
                                 const void *subject,
                                 const pithp_entry *of) {
    pithp_stream *st = pithp_scope_stream(s);
    pithp_collector *c = pithp_collector_of(s);
    if (c)
        return collect_launch(s, c, describe, subject, of, NULL);
    block *b = NULL;
    if (last_passed(st)) {
        b = st->pending->current;
    } else {
        b = block_with_room(s, st);
        if (!b)
            return NULL;
        b->used++;
    }
    b->entries[b->used - 1] = (entry){.scope = s->runtime->silent_checks ? NULL : s,
                                      .describe = describe,
                                      .subject = subject,
                                      .of = *of,
                                      .site = s->site};
    return &b->reports[b->used - 1];
}

/* Two reports of one block, one after the other; the index of the first, or -1. */
static int take_two(pith_scope *s, pithp_stream *st, block **b) {
    *b = block_with_room(s, st);
    if (*b && (*b)->used + 2 > SLOTS) { /* the last one stays unused */
        (*b)->entries[(*b)->used++] = (entry){.scope = NULL};
        *b = block_with_room(s, st);
    }
    if (!*b)
        return -1;
    (*b)->used += 2;
    return (*b)->used - 2;
}

pith_report *pithp_check_make_later(pith_scope *s,
                                    pithp_check_describe describe,
                                    const void *subject,
                                    const pithp_entry *extents,
                                    int64_t **number) {
    pithp_collector *c = pithp_collector_of(s);
    block *b;
    if (c) {
        pith_report *second = pithp_collector_report(s, c);
        *number = (int64_t *)(void *)second;
        return second ? collect_launch(s, c, describe, subject, extents, *number) : NULL;
    }
    const int at = take_two(s, pithp_scope_stream(s), &b);
    if (at < 0)
        return NULL;
    b->entries[at] = (entry){.scope = s->runtime->silent_checks ? NULL : s,
                             .describe = describe,
                             .subject = subject,
                             .of = *extents,
                             .numbered = true,
                             .site = s->site};
    b->entries[at + 1] = (entry){.scope = NULL};
    *number = (int64_t *)(void *)&b->reports[at + 1];
    return &b->reports[at];
}

pith_status pithp_check_pend(pith_scope *s, const pithp_pending *p) {
    pithp_stream *st = pithp_scope_stream(s);
    block *b = block_with_room(s, st);
    if (!b)
        return s->error.code;
    b->entries[b->used] = (entry){.scope = s,
                                  .describe = p->describe,
                                  .subject = p->subject,
                                  .site = s->site,
                                  .release = p->release};
    if (st->device->immediate) {
        b->reports[b->used].first = p->first;
    } else {
        b->entries[b->used].predicate = p->predicate;
        st->pending->evaluate = p->evaluate;
    }
    b->used++;
    return PITH_OK;
}

void pithp_report_describe(pithp_check_describe describe,
                           const void *subject,
                           const pithp_entry *of,
                           const pith_report *report,
                           const char *site,
                           pithp_error *e) {
    char path[PITHP_PATH_BYTES], text[PITHP_MESSAGE_BYTES], index[100];
    size_t length = 0;
    describe(subject, report, site, e);
    if (!of->rank)
        return;
    for (int k = 0; k < of->rank; k++)
        length += (size_t)snprintf(index + length, sizeof index - length, "%s%" PRId64,
                                   k ? ", " : "", of->index[k]);
    memcpy(path, e->path, sizeof path);
    memcpy(text, e->text, sizeof text);
    pithp_error_set(e, e->code, path, site, "%s (entry [%s] of a batch)", text, index);
}

/* report: the next one is that of the next entry. */
static void report_failure(const entry *en, const pith_report *report) {
    pithp_error e;
    pithp_entry of = en->of;
    if (!en->scope || en->scope->error.code != PITH_OK)
        return; /* the first failure stays */
    if (en->numbered)
        pithp_entry_set(&of, (int64_t)report[1].first);
    pithp_report_describe(en->describe, en->subject, &of, report, en->site, &e);
    pithp_fail_at(en->scope, e.code, e.path, en->site, "%s", e.text);
}

static pith_status examine_block(pithp_stream *st, block *b, pithp_error *e) {
    const pithp_backend *backend = st->device->backend;
    const size_t bytes = (size_t)b->used * sizeof b->image[0];
    pith_status rc = backend->copy_out(st, b->image, b->reports, bytes, e);
    if (rc != PITH_OK)
        return rc;
    bool failed = false;
    for (int i = 0; i < b->used; i++) {
        if (b->image[i].first != 0) {
            failed = true;
            report_failure(&b->entries[i], &b->image[i]);
        }
        if (b->entries[i].release)
            b->entries[i].release(b->entries[i].subject);
    }
    b->used = 0;
    if (!failed)
        return PITH_OK;
    memset(b->image, 0, sizeof b->image);
    return backend->copy_in(st, b->reports, b->image, sizeof b->image, e);
}

/* Enqueue the evaluation of all pending predicates, one launch per block. */
static pith_status evaluate(pithp_stream *st, pithp_error *e) {
    struct pithp_pending_list *all = st->pending;
    pith_status rc = PITH_OK;
    for (block *b = all->first; b && b->used && rc == PITH_OK; b = b->next) {
        pithp_predicate list[SLOTS];
        int count = 0;
        for (int i = 0; i < b->used; i++)
            if (b->entries[i].predicate.width) {
                list[count] = b->entries[i].predicate;
                list[count++].report = &b->reports[i];
            }
        if (count)
            rc = all->evaluate(st, list, count, NULL, 0, e);
    }
    if (rc == PITH_OK)
        all->evaluate = NULL;
    return rc;
}

pith_status pithp_pending_examine(pithp_stream *st, pithp_error *e) {
    struct pithp_pending_list *all = st->pending;
    pith_status rc = PITH_OK;
    if (all && all->evaluate)
        rc = evaluate(st, e);
    for (block *b = all ? all->first : NULL; b && b->used && rc == PITH_OK; b = b->next)
        rc = examine_block(st, b, e);
    if (all && rc == PITH_OK)
        all->current = all->first;
    return rc;
}

void pithp_pending_hand_over(pithp_stream *st, const pith_scope *from, pith_scope *to) {
    for (block *b = st->pending ? st->pending->first : NULL; b && b->used; b = b->next)
        for (int i = 0; i < b->used; i++)
            if (b->entries[i].scope == from)
                b->entries[i].scope = to;
}

void pithp_pending_close(pithp_stream *st) {
    struct pithp_pending_list *all = st->pending;
    if (!all)
        return;
    while (all->first) {
        block *b = all->first;
        all->first = b->next;
        for (int i = 0; i < b->used; i++)
            if (b->entries[i].release)
                b->entries[i].release(b->entries[i].subject);
        pithp_buffer_release(b->buffer, 1);
        pithp_release(st->device->runtime, b, sizeof *b);
    }
    pithp_release(st->device->runtime, all, sizeof *all);
    st->pending = NULL;
}
