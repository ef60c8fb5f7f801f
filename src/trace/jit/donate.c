/* Donated arguments: results are made in memory that nobody else uses, and what no result
 * takes is given back as soon as the call has read it, so that the next arrays take it.
 */
#include "trace/jit/jit_internal.h"

#include <string.h>

/* On handles while donations are decided; beside the bits of array_internal.h. */
enum { SEEN = 1 << 15, TWICE = 1 << 14, SHARED = 1 << 13, COUNTED = 1 << 12 };

/* In pithp_jit_program.written. */
enum { NOT_WRITTEN = -1, RETURNED = -2 };

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
        h->extra = (uint16_t)(h->extra | (h->extra & SEEN ? TWICE : SEEN) |
                              (p->written[i] == RETURNED ? SHARED : 0));
    }
    if (p->donated_count == inputs)
        return;
    for (int64_t k = 0, i = 0; k < inputs; k++) {
        pithp_header *h = pithp_header_of(r->inputs[k]);
        if (i < p->donated_count && p->donated[i] == k)
            i++;
        else if (h->extra & SEEN)
            h->extra |= SHARED;
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
            if (r->p->written[found.end] != RETURNED)
                break;
            continue;
        }
        found.handles += !(h->extra & COUNTED);
        h->extra |= COUNTED;
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

static int64_t grant_block(const pithp_jit_running *r, int64_t first) {
    const pithp_jit_program *p = r->p;
    const block found = look_at(r, first);
    pithp_buffer *b = pithp_array_buffer(r->inputs[p->donated[first]]);
    const bool writable = found.apart && is_writable(r->s, b);
    bool written = false;
    for (int64_t i = first; i < found.end; i++) {
        const uint16_t marks = donated_header(r, i)->extra;
        const bool granted = found.last && p->written[i] != RETURNED && !(marks & SHARED);
        const bool writes = granted && writable && p->written[i] >= 0 && !(marks & TWICE);
        r->granted[i] = writes    ? PITHP_JIT_WRITTEN
                        : granted ? PITHP_JIT_GRANTED
                                  : PITHP_JIT_REFUSED;
        written |= writes;
    }
    if (written) /* a hash of what it held is of no use */
        atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN,
                              memory_order_relaxed);
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

/* Sort donated arrays into blocks. False: some do not lie behind the one before, so that
 * they may be the same. */
static bool find_apart(const pithp_jit_running *r, apart *x) {
    const pithp_jit_program *p = r->p;
    const pithp_hold *hold = NULL;
    apart_block *b = NULL;
    x->blocks = x->runs = 0;
    for (int64_t i = 0; i < p->donated_count; i++) {
        const int64_t k = p->donated[i];
        const uintptr_t at = (uintptr_t)r->addresses[k];
        if (r->inputs[k]->hold != hold) {
            hold = r->inputs[k]->hold;
            if (!(b = begin_run(x, hold, i)))
                return false;
        }
        if (at <= b->at || at < b->behind)
            return false;
        b->at = at;
        b->behind = at + p->donated_bytes[i];
        b->handles++;
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

static void
grant_run(const pithp_jit_running *r, const apart_block *in, int64_t begin, int64_t end) {
    const pithp_jit_program *p = r->p;
    pithp_buffer *b = in->hold->thing;
    const bool last = !b->foreign && in->hold->live == in->handles &&
                      atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
    if (!last) {
        memset(r->granted + begin, PITHP_JIT_REFUSED, (size_t)(end - begin));
    } else if (is_writable(r->s, b)) {
        memcpy(r->granted + begin, p->best + begin, (size_t)(end - begin));
        atomic_store_explicit(&b->content_state, PITHP_CONTENT_UNKNOWN,
                              memory_order_relaxed);
    } else {
        for (int64_t i = begin; i < end; i++)
            r->granted[i] =
                p->best[i] == PITHP_JIT_WRITTEN ? PITHP_JIT_GRANTED : p->best[i];
    }
}

static bool grant_apart(const pithp_jit_running *r) {
    apart x;
    if (!find_apart(r, &x) || !nobody_else_reads(r, &x))
        return false;
    for (int k = 0; k < x.runs; k++)
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

/* ---- Making ---- */

/* Arrays in the memory of from[k], and new ones where that is NULL. */
static pith_status make_mixed(pithp_jit_running *r, const pith_array **from, int64_t w) {
    const pithp_jit_program *p = r->p;
    const pith_array **some = from + p->made_count;
    const pith_spec **specs = (const pith_spec **)(r->lists + 2 * p->made_count);
    int64_t n = 0;
    for (int64_t k = 0; k < p->made_count; k++)
        if (from[k])
            some[n++] = from[k];
    if (pithp_arrays_view(r->s, w, some, some) != PITH_OK)
        return r->s->error.code;
    n = 0;
    for (int64_t k = 0; k < p->made_count; k++)
        if (from[k])
            r->made[k] = some[n++];
    n = 0;
    for (int64_t k = 0; k < p->made_count; k++)
        if (!from[k])
            specs[n++] = p->made[k];
    const pith_status rc = pithp_arrays_make(r->s, n, specs, some);
    n = 0;
    for (int64_t k = 0; k < p->made_count; k++)
        if (!from[k] && rc == PITH_OK)
            r->made[k] = some[n++];
        else if (from[k] && rc != PITH_OK)
            pithp_array_drop(r->s, r->made[k]);
    return rc;
}

pith_status pithp_jit_make(pithp_jit_running *r) {
    const pithp_jit_program *p = r->p;
    int64_t written = 0;
    const pith_array **from = (const pith_array **)r->lists;
    for (int64_t i = 0; i < p->donated_count; i++)
        written += r->granted[i] == PITHP_JIT_WRITTEN;
    if (!written)
        return p->made_count ? pithp_arrays_make(r->s, p->made_count, p->made, r->made)
                             : PITH_OK;
    memset(from, 0, (size_t)p->made_count * sizeof *from);
    for (int64_t i = 0; i < p->donated_count; i++)
        if (r->granted[i] == PITHP_JIT_WRITTEN)
            from[p->written[i]] = r->inputs[p->donated[i]];
    if (written == p->made_count)
        return pithp_arrays_view(r->s, written, from, r->made);
    return make_mixed(r, from, written);
}

/* ---- Afterwards ---- */

/* Tell once a program why memory of what was donated is not used, as far as the caller
 * can do something about it. */
static void warn(const pithp_jit_running *r) {
    pithp_jit_program *p = r->p;
    int64_t count = 0, first = -1;
    for (int64_t i = 0; i < p->donated_count; i++)
        if (r->granted[i] == PITHP_JIT_REFUSED && p->written[i] != RETURNED) {
            first = count++ ? first : i;
        }
    if (!count || p->checks || p->modes & PITHP_JIT_COLLECTED ||
        atomic_exchange(&p->told, true))
        return;
    int64_t tree = 0, item = p->donated[first];
    for (int64_t k = 0; p->is_static && k <= item; k++)
        item += p->is_static[k];
    while (item >= p->trees[tree].item_count)
        item -= p->trees[tree++].item_count;
    const pithp_buffer *b = pithp_array_buffer(r->inputs[p->donated[first]]);
    pithp_text path;
    pithp_text_begin(&path, p->runtime);
    pithp_structure_path(p->runtime, &p->trees[tree], item, &path);
    pithp_log(p->runtime, PITH_LOG_WARNING,
              "%lld of %lld donated leaves are kept: [%lld]%s%s lies in memory that %s",
              (long long)count, (long long)p->donated_count, (long long)tree, path.bytes,
              count > 1 ? " and others" : "",
              b->foreign ? "is the caller's own" : "other arrays use");
    pithp_text_end(&path);
}

/* Mark inputs that a run handed on as results in place of what was made, or not. */
static void mark_handed_on(const pithp_jit_running *r, bool on) {
    const pithp_jit_program *p = r->p;
    for (int64_t k = 0; p->may_hand_on && k < p->leaf_count; k++) {
        if (p->leaves[k].source != PITHP_LEAF_MADE)
            continue;
        const pithp_origins *from = &p->plan->origins[k];
        for (int o = 0; o < from->count; o++) {
            pithp_header *h = pithp_header_of(r->inputs[from->inputs[o]]);
            if (on && r->addresses[from->inputs[o]] == r->outputs[k])
                h->extra |= SHARED;
            else if (!on)
                h->extra = (uint16_t)(h->extra & ~SHARED);
        }
    }
}

void pithp_jit_donate(pithp_jit_running *r, bool failed) {
    const pithp_jit_program *p = r->p;
    int64_t granted = 0, written = 0;
    mark_handed_on(r, true);
    if (PITHP_UNLIKELY(!failed && !p->told))
        warn(r);
    for (int64_t i = 0; i < p->donated_count; i++) {
        const pith_array *a = r->inputs[p->donated[i]];
        const char how = r->granted[i];
        if (how == PITHP_JIT_REFUSED || (failed && how != PITHP_JIT_WRITTEN) ||
            pithp_header_of(a)->extra) /* given twice, or handed on */
            continue;
        pithp_array_donate(a, r->s->site);
        granted++;
        written += how == PITHP_JIT_WRITTEN;
    }
    mark_handed_on(r, false);
    if (!failed)
        pithp_jit_note_donated(p->runtime, granted, p->donated_count - granted, written);
}

/* ---- Recording ---- */

size_t pithp_jit_donated_bytes(const pithp_jit_program *p) {
    const size_t n = (size_t)p->item_count + 1;
    return n * (2 * sizeof *p->donated + sizeof *p->donated_bytes + 1);
}

pith_status pithp_jit_list_donated(const pithp_jit_call *c, pithp_jit_program *p) {
    const pithp_jit *jit = c->jit;
    pith_scope *s = c->s;
    if (!jit->donate_arguments && !jit->donate_paths)
        return PITH_OK;
    const size_t n = (size_t)c->item_count + 1;
    bool *marks = pithp_allocate(s->runtime, n);
    p->donated = pithp_allocate(s->runtime, pithp_jit_donated_bytes(p));
    if (!marks || !p->donated) {
        pithp_release(s->runtime, marks, n);
        return pithp_fail_memory(s, pithp_jit_donated_bytes(p));
    }
    p->written = p->donated + n;
    p->donated_bytes = (size_t *)(p->written + n);
    p->best = (char *)(p->donated_bytes + n);
    const int64_t count =
        pithp_jit_mark(c, jit->donate_arguments, jit->donate_paths, marks);
    for (int64_t k = 0, input = 0; count >= 0 && k < c->item_count; k++) {
        const bool is_static = c->is_static && c->is_static[k];
        if (marks[k] && !is_static)
            p->donated[p->donated_count++] = input;
        input += !is_static;
    }
    pithp_release(s->runtime, marks, n);
    return s->error.code;
}

pith_status pithp_jit_list_written(pith_scope *s, pithp_jit_program *p) {
    if (!p->donated_count)
        return PITH_OK;
    const int64_t inputs = p->plan->program->input_count;
    const size_t bytes = (size_t)(inputs + 1);
    char *returned = pithp_allocate(s->runtime, bytes);
    if (!returned)
        return pithp_fail_memory(s, bytes);
    memset(returned, 0, bytes);
    for (int64_t k = 0; k < p->leaf_count; k++)
        if (p->leaves[k].source == PITHP_LEAF_INPUT)
            returned[p->leaves[k].at] = 1;
    if (!p->checks)
        pithp_plan_reuse(s, p->plan, p->donated, p->donated_count, p->written);
    for (int64_t i = 0; i < p->donated_count; i++) {
        const int64_t output = p->checks ? -1 : p->written[i];
        p->written[i] = returned[p->donated[i]] ? RETURNED
                        : output < 0            ? NOT_WRITTEN
                                                : p->leaves[output].at;
        p->best[i] = p->written[i] == RETURNED ? PITHP_JIT_REFUSED
                     : p->written[i] >= 0      ? PITHP_JIT_WRITTEN
                                               : PITHP_JIT_GRANTED;
        p->donated_bytes[i] =
            pithp_value_spec(p->plan->program, p->plan->program->inputs[p->donated[i]])
                ->bytes;
    }
    pithp_release(s->runtime, returned, bytes);
    return s->error.code;
}
