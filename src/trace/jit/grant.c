/* Which donations are granted: where the call holds the last reference to memory, and no
 * array in it is given twice, or returned. */
#include "trace/jit/donate.h"

#include <string.h>

static pithp_header *donated_header(const pithp_jit_running *r, int64_t i) {
    return pithp_header_of(r->inputs[r->p->donated[i]]);
}

/* ---- Granting ---- */

/* Mark handles that are given more than once, and those that are returned. */
static void mark_handles(const pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    const int64_t inputs = p->item_count - p->static_count;
    for (int64_t i = 0; i < p->donated_count; i++) {
        pithp_header *h = donated_header(r, i);
        h->extra = (uint16_t)(h->extra |
                              (h->extra & PITHP_GIVEN ? PITHP_GIVEN_TWICE : PITHP_GIVEN) |
                              (p->written[i] == PITHP_RETURNED ? PITHP_GIVEN_SHARED : 0));
    }
    if (p->donated_count == inputs)
        return;
    for (int64_t k = 0, i = 0; k < inputs; k++) {
        pithp_header *h = pithp_header_of(r->inputs[k]);
        if (i < p->donated_count && p->donated[i] == k)
            i++;
        else if (h->extra & PITHP_GIVEN)
            h->extra |= PITHP_GIVEN_SHARED;
    }
}

/* What is known of donated arrays in one buffer, side by side in the list but for those
 * that are returned. */
typedef struct block {
    int64_t end;      /* behind the last of them in the list */
    uint32_t handles; /* each counted once */
    bool apart;       /* they lie one behind the other */
    bool last;        /* they are all that holds the memory */
} block;

static block look_at(const pithp_jit_running *r, int64_t first) {
    const pith_array *const *inputs = r->inputs;
    const int64_t *donated = r->p->donated;
    const pithp_hold *hold = inputs[donated[first]]->hold;
    const pithp_buffer *b = hold->thing;
    block found = {.end = first, .apart = true};
    const char *behind = NULL;
    for (; found.end < r->p->donated_count; found.end++) {
        const pith_array *a = inputs[donated[found.end]];
        pithp_header *h = pithp_header_of(a);
        const char *data = a->data;
        if (a->hold != hold) {
            if (r->p->written[found.end] != PITHP_RETURNED)
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

/* Whether work on the scope's stream may write to the buffer at once. */
static bool is_writable(const pith_scope *s, const pithp_buffer *b) {
    return b->stream == pithp_scope_stream(s) &&
           (pithp_scope_device(s)->immediate ||
            !atomic_load_explicit(&b->used_elsewhere, memory_order_relaxed));
}

/* It will be written to: a hash of what it held is of no use. */
static void forget_content(pithp_buffer *b) {
    atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN, memory_order_relaxed);
}

static int64_t grant_block(const pithp_jit_running *r, int64_t first) {
    const pithp_jit_program *p = r->p;
    const block found = look_at(r, first);
    pithp_buffer *b = pithp_array_buffer(r->inputs[p->donated[first]]);
    const bool writable = found.apart && is_writable(r->s, b);
    bool written = false;
    for (int64_t i = first; i < found.end; i++) {
        const uint16_t marks = donated_header(r, i)->extra;
        const bool granted = found.last && p->written[i] != PITHP_RETURNED &&
                             !(marks & PITHP_GIVEN_SHARED);
        const bool writes =
            granted && writable && p->written[i] >= 0 && !(marks & PITHP_GIVEN_TWICE);
        r->granted[i] = writes    ? PITHP_JIT_WRITTEN
                        : granted ? PITHP_JIT_GRANTED
                                  : PITHP_JIT_REFUSED;
        written |= writes;
    }
    if (written)
        forget_content(b);
    return found.end;
}

/* ---- Granting where nothing is given twice ---- */

/* Buffers of donated arrays, and runs of arrays in one of them; where there are more,
 * arrays are looked at one by one. */
enum { MOST_BLOCKS = 64 };
typedef struct apart_block {
    const pithp_hold *hold;
    uintptr_t at, behind; /* the last array that was seen, and its end */
    uint32_t handles;
    bool wanted; /* something is granted at best */
} apart_block;
typedef struct apart {
    int blocks, runs;
    int run[MOST_BLOCKS];           /* the block of each run */
    int64_t begin[MOST_BLOCKS + 1]; /* and where it begins in the list */
    apart_block block[MOST_BLOCKS];
} apart;

static int find_block(const apart *x, const pithp_hold *hold) {
    int k = 0;
    while (k < x->blocks && x->block[k].hold != hold)
        k++;
    return k;
}

/* The block of a new run; NULL: there are too many. */
static apart_block *begin_run(apart *x, const pithp_hold *hold, int64_t i) {
    const int k = find_block(x, hold);
    if (k == MOST_BLOCKS || x->runs == MOST_BLOCKS)
        return NULL;
    if (k == x->blocks)
        x->block[x->blocks++] = (apart_block){.hold = hold};
    x->begin[x->runs] = i;
    x->run[x->runs++] = k;
    return &x->block[k];
}

/* The arrays of a gift from the k-th on that lie in the block, each behind the one
 * before; how many. */
static int64_t extend_run(const pithp_jit_running *r,
                          const pithp_jit_gift *gift,
                          int64_t k,
                          apart_block *b) {
    const pith_array *const *inputs = r->inputs + gift->input;
    const void *const *addresses = r->addresses + gift->input;
    const size_t *bytes = r->p->donated_bytes + gift->donated;
    const int64_t first = k;
    uintptr_t last = b->at, behind = b->behind;
    for (; k < gift->count && inputs[k]->hold == b->hold; k++) {
        const uintptr_t at = (uintptr_t)addresses[k];
        if (at <= last || at < behind)
            break;
        last = at;
        behind = at + bytes[k];
    }
    b->at = last;
    b->behind = behind;
    b->handles += (uint32_t)(k - first);
    b->wanted |= gift->best != PITHP_JIT_REFUSED;
    return k - first;
}

/* Sort donated arrays into blocks. False: some do not lie behind the one before, so that
 * they may be the same. */
static bool find_apart(const pithp_jit_running *r, apart *x) {
    const pithp_jit_program *p = r->p;
    apart_block *b = NULL;
    x->blocks = x->runs = 0;
    for (const pithp_jit_gift *g = p->gifts; g < p->gifts + p->gift_count; g++)
        for (int64_t k = 0, more; k < g->count; k += more) {
            const pithp_hold *hold = r->inputs[g->input + k]->hold;
            if ((!b || b->hold != hold) && !(b = begin_run(x, hold, g->donated + k)))
                return false;
            if (!(more = extend_run(r, g, k, b)))
                return false;
        }
    x->begin[x->runs] = p->donated_count;
    return true;
}

/* Whether no array of these buffers is given where it is not donated. */
static bool nobody_else_reads(const pithp_jit_running *r, const apart *x) {
    const pithp_jit_program *p = r->p;
    const int64_t inputs = p->item_count - p->static_count;
    const pithp_hold *known = NULL; /* not among them */
    for (int64_t k = 0, i = 0; k < inputs && p->donated_count < inputs; k++) {
        const pithp_hold *hold = r->inputs[k]->hold;
        if (i < p->donated_count && p->donated[i] == k) {
            i++;
        } else if (hold != known) {
            if (find_block(x, hold) < x->blocks)
                return false;
            known = hold;
        }
    }
    return true;
}

/* Whether the arrays seen are all that holds the memory. */
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
        memcpy(r->granted + begin, p->best + begin, (size_t)(end - begin));
        forget_content(b);
    } else {
        for (int64_t i = begin; i < end; i++)
            r->granted[i] =
                p->best[i] == PITHP_JIT_WRITTEN ? PITHP_JIT_GRANTED : p->best[i];
    }
}

/* Whether all can be granted as at best. */
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
    if (!find_apart(r, &x) || !nobody_else_reads(r, &x))
        return false;
    r->best = grant_all(r, &x);
    for (int k = 0; k < x.runs && !r->best; k++)
        grant_run(r, &x.block[x.run[k]], x.begin[k], x.begin[k + 1]);
    return true;
}

void pithp_jit_grant(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    /* Where a check may fail the step may be repeated from the state before it. */
    if (p->checks || p->modes & PITHP_JIT_COLLECTED) {
        memset(r->granted, PITHP_JIT_REFUSED, (size_t)p->donated_count);
        return;
    }
    if (grant_apart(r))
        return;
    mark_handles(r);
    for (int64_t i = 0; i < p->donated_count;)
        i = grant_block(r, i);
    for (int64_t i = 0; i < p->donated_count; i++)
        donated_header(r, i)->extra = 0;
}
