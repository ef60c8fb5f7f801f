/* Donation check: a donation is granted if the call holds the last reference to the
 * memory, and no array in it is given twice or returned. */
#include "trace/jit/donate.h"

#include <string.h>

static pithp_header *donated_header(const pithp_jit_running *r, int64_t i) {
    return pithp_header_of(r->inputs[r->p->donation.inputs[i]]);
}

/* ---- Granting ---- */

/* Mark handles that are given more than once, and those that are returned. */
static void mark_handles(const pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    const int64_t inputs = p->key.item_count - p->key.static_count;
    for (int64_t i = 0; i < p->donation.count; i++) {
        pithp_header *h = donated_header(r, i);
        h->extra =
            (uint16_t)(h->extra |
                       (h->extra & PITHP_GIVEN ? PITHP_GIVEN_TWICE : PITHP_GIVEN) |
                       (p->donation.written[i] == PITHP_RETURNED ? PITHP_GIVEN_SHARED
                                                                 : 0));
    }
    if (p->donation.count == inputs)
        return;
    for (int64_t k = 0, i = 0; k < inputs; k++) {
        pithp_header *h = pithp_header_of(r->inputs[k]);
        if (i < p->donation.count && p->donation.inputs[i] == k)
            i++;
        else if (h->extra & PITHP_GIVEN)
            h->extra |= PITHP_GIVEN_SHARED;
    }
}

/* Donated arrays in one buffer, contiguous in the list except for returned ones. */
typedef struct block {
    int64_t end;      /* end of the range in the list */
    uint32_t handles; /* each counted once */
    bool apart;       /* they do not overlap */
    bool last;        /* they are the last references to the memory */
} block;

static block look_at(const pithp_jit_running *r, int64_t first) {
    const pith_array *const *inputs = r->inputs;
    const int64_t *donated = r->p->donation.inputs;
    const pithp_hold *hold = inputs[donated[first]]->hold;
    const pithp_buffer *b = hold->thing;
    block found = {.end = first, .apart = true};
    const char *behind = NULL;
    for (; found.end < r->p->donation.count; found.end++) {
        const pith_array *a = inputs[donated[found.end]];
        pithp_header *h = pithp_header_of(a);
        const char *data = a->data;
        if (a->hold != hold) {
            if (r->p->donation.written[found.end] != PITHP_RETURNED)
                break;
            continue;
        }
        found.handles += !(h->extra & PITHP_GIVEN_COUNTED);
        h->extra |= PITHP_GIVEN_COUNTED;
        found.apart &= data >= behind;
        behind = data + pithp_array_spec(a)->bytes;
    }
    found.last = !b->foreign && hold->live == found.handles &&
                 atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
    return found;
}

/* Whether work on the scope's stream may write to the buffer now. */
static bool is_writable(const pith_scope *s, const pithp_buffer *b) {
    return b->stream == pithp_scope_stream(s) &&
           (pithp_scope_device(s)->immediate ||
            !atomic_load_explicit(&b->used_elsewhere, memory_order_relaxed));
}

/* Invalidate the cached hash before the buffer is written. */
static void forget_content(pithp_buffer *b) {
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
}

static int64_t grant_block(const pithp_jit_running *r, int64_t first) {
    const pithp_jit_program *p = r->p;
    const block found = look_at(r, first);
    pithp_buffer *b = pithp_array_buffer(r->inputs[p->donation.inputs[first]]);
    const bool writable = found.apart && is_writable(r->s, b);
    bool written = false;
    for (int64_t i = first; i < found.end; i++) {
        const uint16_t marks = donated_header(r, i)->extra;
        const bool granted = found.last && p->donation.written[i] != PITHP_RETURNED &&
                             !(marks & PITHP_GIVEN_SHARED);
        const bool writes = granted && writable && p->donation.written[i] >= 0 &&
                            !(marks & PITHP_GIVEN_TWICE);
        r->granted[i] = writes    ? PITHP_JIT_WRITTEN
                        : granted ? PITHP_JIT_GRANTED
                                  : PITHP_JIT_REFUSED;
        written |= writes;
    }
    if (written)
        forget_content(b);
    return found.end;
}

/* ---- Fast path: no array is given twice ---- */

/* Donated arrays of one hold. */
typedef struct apart_block {
    const pithp_hold *hold;
    uintptr_t behind; /* end of the last array seen */
    uint32_t handles;
    bool wanted; /* some donation is possible */
} apart_block;
/* The parts of gifts are those of the run. Beyond their maximum, arrays are checked one
 * by one. */
typedef struct apart {
    int blocks;
    int block_of[PITHP_JIT_PARTS]; /* of each part */
    apart_block block[PITHP_HELD_RUNS];
    const pithp_hold *others[PITHP_HELD_RUNS]; /* of arrays not donated */
    int other_count;
} apart;

static int find_block(const apart *x, const pithp_hold *hold) {
    int k = 0;
    while (k < x->blocks && x->block[k].hold != hold)
        k++;
    return k;
}

/* Whether arrays are in increasing order without overlap, after those of the block so
 * far. */
static bool extend(apart_block *b, const void *const *at, int64_t count, size_t bytes) {
    const size_t step = bytes ? bytes : 1; /* empty ones at one address are given twice */
    uintptr_t before = 0; /* collects signs without branches, for vectorisation */
    if ((uintptr_t)at[0] < b->behind)
        return false;
    for (int64_t k = 1; k < count; k++)
        before |= (uintptr_t)at[k] - (uintptr_t)at[k - 1] - step;
    b->behind = (uintptr_t)at[count - 1] + step;
    b->handles += (uint32_t)count;
    return (intptr_t)before >= 0;
}

/* Add elements of a gift, from `at` on. */
static bool add_part(pithp_jit_running *r, apart *x, int in, pithp_jit_part part) {
    const pithp_jit_gift *g = part.gift;
    if (r->part_count == PITHP_JIT_PARTS)
        return false;
    x->block_of[r->part_count] = in;
    r->parts[r->part_count++] = part;
    x->block[in].wanted |= g->best != PITHP_JIT_REFUSED;
    return extend(&x->block[in], r->addresses + g->input + part.at, part.count,
                  g->spec->bytes);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Sort donated arrays into blocks. False: some are not in increasing order, so they may
 * be equal. */
static bool find_apart(pithp_jit_running *r, apart *x) {
    const pithp_jit_program *p = r->p;
    const pithp_held_runs *runs = &r->runs;
    const pithp_jit_gift *g = p->donation.gifts, *last = g + p->donation.gift_count;
    x->blocks = x->other_count = r->part_count = 0;
    for (int k = 0; k < runs->count; k++) {
        const pithp_hold *hold = runs->run[k].hold;
        const int64_t end = k + 1 < runs->count ? runs->run[k + 1].first
                                                : p->key.item_count - p->key.static_count;
        int64_t place = runs->run[k].first, rest = end - place;
        const int in = find_block(x, hold);
        for (; g < last && g->input < end; g++) {
            const int64_t at = place > g->input ? place - g->input : 0;
            const int64_t count = least(g->count, end - g->input) - at;
            if (in == x->blocks)
                x->block[x->blocks++] = (apart_block){.hold = hold};
            if (!add_part(r, x, in, (pithp_jit_part){g, hold, at, count}))
                return false;
            rest -= count;
            if (at + count < g->count)
                break; /* the next run continues it */
        }
        if (rest)
            x->others[x->other_count++] = hold;
    }
    return true;
}

/* Whether no other operand shares these buffers. */
static bool no_operand_shares(const apart *x) {
    bool others = false;
    for (int k = 0; k < x->other_count; k++)
        others |= find_block(x, x->others[k]) < x->blocks;
    return !others;
}

/* Whether the arrays seen are the last references to the memory. */
static bool is_last(const apart_block *in) {
    const pithp_buffer *b = in->hold->thing;
    return !b->foreign && in->hold->live == in->handles &&
           atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
}

static void
grant_run(const pithp_jit_running *r, const apart_block *in, int64_t begin, int64_t end) {
    const pithp_jit_program *p = r->p;
    pithp_buffer *b = in->hold->thing;
    if (!is_last(in)) {
        memset(r->granted + begin, PITHP_JIT_REFUSED, (size_t)(end - begin));
    } else if (is_writable(r->s, b)) {
        memcpy(r->granted + begin, p->donation.best + begin, (size_t)(end - begin));
        forget_content(b);
    } else {
        for (int64_t i = begin; i < end; i++)
            r->granted[i] = p->donation.best[i] == PITHP_JIT_WRITTEN
                                ? PITHP_JIT_GRANTED
                                : p->donation.best[i];
    }
}

/* Grant all possible donations, if each block allows it. */
static bool grant_all(const pithp_jit_running *r, const apart *x) {
    bool all = true;
    for (int k = 0; k < x->blocks && all; k++)
        all = !x->block[k].wanted ||
              (is_last(&x->block[k]) && is_writable(r->s, x->block[k].hold->thing));
    for (int k = 0; k < x->blocks && all; k++)
        if (x->block[k].wanted)
            forget_content(x->block[k].hold->thing);
    return all;
}

static bool grant_apart(pithp_jit_running *r) {
    apart x;
    if (r->runs.count > PITHP_HELD_RUNS || !find_apart(r, &x) || !no_operand_shares(&x))
        return false;
    r->best = grant_all(r, &x);
    for (int k = 0; k < r->part_count && !r->best; k++) {
        const pithp_jit_part *part = &r->parts[k];
        const int64_t first = part->gift->donated + part->at;
        grant_run(r, &x.block[x.block_of[k]], first, first + part->count);
    }
    return true;
}

void pithp_jit_check_donations(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    /* If a check may fail, the step may be repeated from the old state. */
    if (p->checks || p->key.modes & PITHP_JIT_COLLECTED) {
        memset(r->granted, PITHP_JIT_REFUSED, (size_t)p->donation.count);
        return;
    }
    if (grant_apart(r))
        return;
    mark_handles(r);
    for (int64_t i = 0; i < p->donation.count;)
        i = grant_block(r, i);
    for (int64_t i = 0; i < p->donation.count; i++)
        donated_header(r, i)->extra = 0;
}
