/* Program cache of a runtime: programs and parts (cached inner traces), found by the key
 * of their call. LRU order, bounded in number and bytes. */
#include "gpu/compile/compile_internal.h"
#include "gpu/memory/reclaim.h"
#include "program/command/replay.h"
#include "program/exec/tier.h"
#include "program/profile/profile.h"
#include "trace/jit/jit_internal.h"

#include <string.h>

enum { BUCKETS = 1024, MOST_PROGRAMS = 1024 };
static const size_t most_bytes = (size_t)1 << 30;

/* rt->room[PITHP_ROOM_TRACE] */
typedef struct jit_cache {
    pthread_mutex_t lock;
    _Atomic(pithp_jit_program *) newest; /* read without the lock */
    pithp_jit_program *oldest;
    pithp_jit_program *gone; /* evicted, to be released without the lock */
    pithp_jit *functions;    /* live compiled functions */
    pithp_jit_apart *apart;  /* traces of functions that are gone */
    int64_t most_programs;
    size_t most_bytes;
    atomic_llong hits;       /* except hits counted by functions */
    atomic_llong thrown_out; /* number of evicted programs */
    pith_jit_info info;
    pithp_jit_program *buckets[BUCKETS];
} jit_cache;

uint64_t pithp_jit_hash_mask = UINT64_MAX;

/* ---- The room in runtimes ---- */

static void throw_out(jit_cache *cache, pithp_jit_program *p);
static void leave(jit_cache *cache);
static void reclaim(pith_runtime *rt);

static void runtime_closing(pith_runtime *rt) {
    jit_cache *cache = rt->room[PITHP_ROOM_TRACE];
    pthread_mutex_lock(&cache->lock);
    while (cache->oldest)
        throw_out(cache, cache->oldest);
    leave(cache);
    pithp_jit_apart_end(rt, &cache->apart);
    pthread_mutex_destroy(&cache->lock);
    pithp_release(rt, cache, sizeof *cache);
    rt->room[PITHP_ROOM_TRACE] = NULL;
    pithp_profiles_write(rt);
}

static jit_cache *make_cache(pith_runtime *rt) {
    jit_cache *cache = pithp_allocate(rt, sizeof *cache);
    if (!cache)
        return NULL;
    memset(cache, 0, sizeof *cache);
    cache->most_programs = MOST_PROGRAMS;
    cache->most_bytes = most_bytes;
    if (pthread_mutex_init(&cache->lock, NULL) == 0)
        return cache;
    pithp_release(rt, cache, sizeof *cache);
    return NULL;
}

static jit_cache *find_cache(pith_runtime *rt) {
    return __atomic_load_n((jit_cache **)&rt->room[PITHP_ROOM_TRACE], __ATOMIC_ACQUIRE);
}

/* NULL: out of memory. */
static jit_cache *cache_of(pith_runtime *rt) {
    static const pithp_room_hooks hooks = {.runtime_closing = runtime_closing};
    jit_cache *cache = find_cache(rt);
    if (PITHP_LIKELY(cache != NULL))
        return cache;
    pthread_mutex_lock(&rt->lock);
    cache = rt->room[PITHP_ROOM_TRACE];
    if (!cache && (cache = make_cache(rt)) != NULL) {
        pithp_room_hook(rt, PITHP_ROOM_TRACE, &hooks);
        __atomic_store_n((jit_cache **)&rt->room[PITHP_ROOM_TRACE], cache,
                         __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&rt->lock);
    if (cache)
        pithp_reclaimer_add(pithp_runtime_device(rt), reclaim);
    return cache;
}

/* ---- LRU order: all below requires the lock ---- */

static pithp_jit_program *newest_of(jit_cache *cache) {
    return atomic_load_explicit(&cache->newest, memory_order_relaxed);
}

static void set_newest(jit_cache *cache, pithp_jit_program *p) {
    atomic_store_explicit(&cache->newest, p, memory_order_relaxed);
}

static void unlink_use(jit_cache *cache, pithp_jit_program *p) {
    if (p->newer)
        p->newer->older = p->older;
    else
        set_newest(cache, p->older);
    *(p->older ? &p->older->newer : &cache->oldest) = p->newer;
}

static void link_newest(jit_cache *cache, pithp_jit_program *p) {
    pithp_jit_program *older = newest_of(cache);
    p->newer = NULL;
    p->older = older;
    *(older ? &older->newer : &cache->oldest) = p;
    set_newest(cache, p);
}

static void make_newest(jit_cache *cache, pithp_jit_program *p) {
    if (newest_of(cache) != p) {
        unlink_use(cache, p);
        link_newest(cache, p);
    }
}

static pithp_jit_program **bucket_of(jit_cache *cache, uint64_t hash) {
    return &cache->buckets[hash % BUCKETS];
}

/* Take the seated program with its reference; NULL: empty seat. */
static pithp_jit_program *take_seated(pithp_jit *jit) {
    pithp_biased_lock_take(&jit->seat_lock);
    pithp_jit_program *p = jit->seat;
    jit->seat = NULL;
    pithp_biased_lock_release(&jit->seat_lock);
    return p;
}

/* Remove a program from the seat of its function. */
static void unseat(pithp_jit *jit, pithp_jit_program *p) {
    pithp_biased_lock_take(&jit->seat_lock);
    const bool seated = jit->seat == p;
    jit->seat = seated ? NULL : jit->seat;
    pithp_biased_lock_release(&jit->seat_lock);
    if (seated)
        pithp_jit_program_release(p);
}

static int64_t *count_of(jit_cache *cache, const pithp_jit_program *p) {
    return p->part ? &cache->info.parts : &cache->info.programs;
}

/* A program in no bucket is released after the unlock. */
static void let_go(jit_cache *cache, pithp_jit_program *p) {
    p->next = cache->gone;
    cache->gone = p;
}

/* Unlock, then release evicted programs: their checks may hold the last references to
 * functions, whose release takes the lock. */
static void leave(jit_cache *cache) {
    pithp_jit_program *gone = cache->gone;
    cache->gone = NULL;
    pthread_mutex_unlock(&cache->lock);
    for (pithp_jit_program *next; gone; gone = next) {
        next = gone->next;
        pithp_jit_program_release(gone);
    }
}

static void throw_out(jit_cache *cache, pithp_jit_program *p) {
    pithp_jit_program **link = bucket_of(cache, p->key.hash);
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    unlink_use(cache, p);
    --*count_of(cache, p);
    cache->info.bytes -= p->bytes + p->code_bytes;
    cache->info.evictions++;
    atomic_store(&p->thrown_out, true);
    atomic_fetch_add(&cache->thrown_out, 1);
    for (pithp_jit *jit = cache->functions; jit; jit = jit->next)
        unseat(jit, p);
    let_go(cache, p);
}

/* Count machine code and device replay data, which are created while a program is
 * cached. */
static void count_code(jit_cache *cache) {
    for (pithp_jit_program *p = cache->oldest; p; p = p->newer) {
        if (p->part)
            continue;
        const size_t bytes = pithp_compiled_bytes(p->executable) +
                             pithp_replay_bytes(p->executable->replay);
        cache->info.bytes += bytes - p->code_bytes;
        p->code_bytes = bytes;
    }
}

/* Evict beyond the bounds, but never the newest program. True: some were evicted, and the
 * caller clears their code without the lock. */
static bool make_room(jit_cache *cache) {
    const int64_t before = cache->info.evictions;
    count_code(cache);
    while (cache->oldest != newest_of(cache) &&
           (cache->info.programs + cache->info.parts > cache->most_programs ||
            cache->info.bytes > cache->most_bytes))
        throw_out(cache, cache->oldest);
    return cache->info.evictions > before;
}

/* Reclaim under memory pressure: programs not in use release their constants and code. */
static void reclaim(pith_runtime *rt) {
    jit_cache *cache = find_cache(rt);
    pthread_mutex_lock(&cache->lock);
    for (pithp_jit *jit = cache->functions; jit; jit = jit->next)
        pithp_jit_program_release(take_seated(jit));
    for (pithp_jit_program *p = cache->oldest, *newer; p; p = newer) {
        newer = p->newer;
        if (atomic_load_explicit(&p->refs, memory_order_acquire) == 1)
            throw_out(cache, p);
    }
    leave(cache);
}

/* ---- Lookup ---- */

static bool same_structures(const pithp_jit_program *p, const pithp_jit_call *c) {
    bool same = p->key.tree_count == c->tree_count;
    for (int64_t t = 0; t < c->tree_count && same; t++)
        same = pithp_structure_equal(&p->key.trees[t], &c->flats[t].structure);
    return same;
}

static bool same_function(const pithp_jit_program *p, const pithp_jit *jit) {
    return p->key.identity_bytes == jit->identity_bytes &&
           memcmp(p->key.identity, jit->identity, jit->identity_bytes) == 0;
}

/* Whether the entry is of the requested kind: a program or a part. */
static bool same_kind(const pithp_jit_program *p, const pithp_jit_call *c) {
    return !p->part == !c->inside;
}

static bool same_repeats(const pithp_jit_program *p, const pithp_jit_call *c) {
    return !p->key.repeats == !c->repeats &&
           (!c->repeats || memcmp(p->key.repeats, c->repeats,
                                  (size_t)c->item_count * sizeof *c->repeats) == 0);
}

static bool same_trees(const pithp_jit_program *p, const pithp_jit_call *c) {
    if (p->key.modes != c->modes || p->key.derived_bytes != c->derived_bytes ||
        p->key.static_count != c->static_count || p->key.static_size != c->static_size ||
        !same_structures(p, c))
        return false;
    /* The structure and function are equal, so the marks have equal length. */
    return (!c->static_count ||
            memcmp(p->key.is_static, c->is_static, (size_t)c->item_count) == 0) &&
           (!c->static_size ||
            memcmp(p->key.static_bytes, c->static_bytes, c->static_size) == 0) &&
           same_repeats(p, c);
}

static bool same_call(const pithp_jit_program *p, const pithp_jit_call *c) {
    return p->key.hash == c->hash && same_function(p, c->jit) && same_trees(p, c);
}

static void hash_call(pithp_jit_call *c) {
    uint64_t h = c->jit->identity_hash ^ c->modes ^ (uint64_t)c->derived_bytes << 32;
    for (int64_t t = 0; t < c->tree_count; t++)
        h = pithp_structure_hash(h, &c->flats[t].structure);
    if (c->static_size)
        h = pithp_hash(h, c->static_bytes, c->static_size);
    if (c->repeats)
        h = pithp_hash(h, c->repeats, (size_t)c->item_count * sizeof *c->repeats);
    c->hash = h & pithp_jit_hash_mask;
}

static pithp_jit_program *look_up(jit_cache *cache, const pithp_jit_call *c) {
    pithp_jit_program *p = *bucket_of(cache, c->hash);
    while (p && !same_call(p, c))
        p = p->next;
    return p;
}

/* The program of the last call, unless an eviction may have removed it. */
static pithp_jit_program *last_of(const jit_cache *cache, const pithp_jit *jit) {
    return jit->last_evictions == cache->info.evictions ? jit->last : NULL;
}

static void note_use(jit_cache *cache, pithp_jit *jit, pithp_jit_program *p) {
    if (!p->part) {
        jit->last = p;
        jit->last_evictions = cache->info.evictions;
    }
    make_newest(cache, p);
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

enum { MOST_EXPLAINED = 4 };

/* Explain by this program if it is nearer than *least. */
static void
explain_by(const pithp_jit_program *p, const pithp_jit_call *c, int64_t *least) {
    pithp_jit *jit = c->jit;
    pithp_string text;
    pithp_string_begin(&text, jit->runtime);
    const int64_t apart = pithp_jit_explain(&text, p, c);
    if (apart < *least && !text.failed) {
        *least = apart;
        jit->why.length = 0;
        pithp_string_add(&jit->why, text.bytes);
    }
    pithp_string_end(&text);
}

/* Store why the call is traced: its differences from the nearest program of the function.
 * Ties prefer the program of the last call. */
static void explain(jit_cache *cache, const pithp_jit_call *c) {
    int64_t least = INT64_MAX;
    const pithp_jit_program *last = c->inside ? NULL : last_of(cache, c->jit),
                            *p = newest_of(cache);
    c->jit->why.length = 0;
    pithp_string_add(&c->jit->why, "");
    if (c->unknown) {
        pithp_string_print(&c->jit->why, "%s: %s", c->function->name, c->unknown);
        return;
    }
    if (last)
        explain_by(last, c, &least);
    /* A cached program differs from the call: none is nearer than one difference. */
    for (int k = 0; p && k < MOST_EXPLAINED && least > 1; p = p->older)
        if (p != last && same_kind(p, c) && same_function(p, c->jit)) {
            explain_by(p, c, &least);
            k++;
        }
    if (least == INT64_MAX)
        pithp_string_print(&c->jit->why, "%s: no %s was cached", c->function->name,
                           c->inside ? "part" : "program");
}

void pithp_jit_why(pithp_jit *jit, pithp_string *text) {
    jit_cache *cache = find_cache(jit->runtime);
    if (!cache)
        return;
    pthread_mutex_lock(&cache->lock);
    pithp_string_add(text, jit->why.bytes);
    pthread_mutex_unlock(&cache->lock);
}

pithp_jit_apart **pithp_jit_apart_lock(pith_runtime *rt) {
    jit_cache *cache = find_cache(rt);
    if (!cache)
        return NULL;
    pthread_mutex_lock(&cache->lock);
    return &cache->apart;
}

void pithp_jit_apart_unlock(pith_runtime *rt) {
    pthread_mutex_unlock(&find_cache(rt)->lock);
}

/* ---- Functions and their seats ---- */

pith_status pithp_jit_enrol(pith_scope *s, pithp_jit *jit) {
    jit_cache *cache = cache_of(s->runtime);
    if (!cache)
        return pithp_fail_memory(s, sizeof *cache);
    pthread_mutex_lock(&cache->lock);
    jit->next = cache->functions;
    if (jit->next)
        jit->next->previous = jit;
    cache->functions = jit;
    pthread_mutex_unlock(&cache->lock);
    return PITH_OK;
}

void pithp_jit_leave(pithp_jit *jit) {
    jit_cache *cache = find_cache(jit->runtime);
    pthread_mutex_lock(&cache->lock);
    *(jit->previous ? &jit->previous->next : &cache->functions) = jit->next;
    if (jit->next)
        jit->next->previous = jit->previous;
    atomic_fetch_add_explicit(&cache->hits, jit->hits, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    pithp_jit_program_release(take_seated(jit));
}

/* The program of the last call if the seat was empty. */
static pithp_jit_program *take_last(jit_cache *cache, pithp_jit *jit) {
    pthread_mutex_lock(&cache->lock);
    pithp_jit_program *p = last_of(cache, jit);
    if (p)
        note_use(cache, jit, p);
    pthread_mutex_unlock(&cache->lock);
    return p;
}

/* Reuse a seated program that is not the newest; false: it was evicted. */
static bool use_again(jit_cache *cache, pithp_jit_program *p) {
    pthread_mutex_lock(&cache->lock);
    const bool there = !atomic_load(&p->thrown_out);
    if (there)
        make_newest(cache, p);
    pthread_mutex_unlock(&cache->lock);
    return there;
}

pithp_jit_program *pithp_jit_take(pithp_jit *jit, pithp_jit_turn *turn) {
    jit_cache *cache = find_cache(jit->runtime);
    turn->thrown_out = atomic_load(&cache->thrown_out);
    pithp_jit_program *p = take_seated(jit);
    turn->seated = p != NULL;
    if (!p)
        return take_last(cache, jit);
    if (PITHP_LIKELY(newest_of(cache) == p) || use_again(cache, p))
        return p;
    pithp_jit_program_release(p);
    return NULL;
}

void pithp_jit_note_hit(pithp_jit *jit, const pithp_jit_turn *turn) {
    /* Several calls may have taken the seat in turn and be under way. */
    atomic_llong *hits = turn->seated ? &jit->hits : &find_cache(jit->runtime)->hits;
    atomic_fetch_add_explicit(hits, 1, memory_order_relaxed);
}

/* A concurrent eviction is detected here by the counter, or the evicting thread finds the
 * program in the seat. */
void pithp_jit_seat(pithp_jit *jit, pithp_jit_program *p, const pithp_jit_turn *turn) {
    jit_cache *cache = find_cache(jit->runtime);
    pithp_biased_lock_take(&jit->seat_lock);
    const bool seated =
        !jit->seat && atomic_load_explicit(&cache->thrown_out, memory_order_relaxed) ==
                          turn->thrown_out;
    jit->seat = seated ? p : jit->seat;
    pithp_biased_lock_release(&jit->seat_lock);
    if (!seated)
        pithp_jit_program_release(p);
}

/* ---- Similar programs ---- */

/* Search the most recently used programs: a function has few structures at a time. */
pithp_jit_program *pithp_jit_alike(const pithp_jit_call *c) {
    enum { MOST_LOOKED_AT = 16 };
    jit_cache *cache = find_cache(c->s->runtime);
    if (!cache)
        return NULL;
    pthread_mutex_lock(&cache->lock);
    pithp_jit_program *p = newest_of(cache), *found = NULL;
    for (int k = 0; p && k < MOST_LOOKED_AT && !found; k++, p = p->older)
        if (same_kind(p, c) && same_function(p, c->jit) && same_structures(p, c))
            found = p;
    if (found)
        atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static pithp_jit_program *look(jit_cache *cache, pithp_jit_call *c) {
    pithp_jit_program *last = last_of(cache, c->jit);
    if (last && same_trees(last, c))
        return last;
    hash_call(c);
    return look_up(cache, c);
}

static void note_found(jit_cache *cache, const pithp_jit_call *c, bool found) {
    if (c->inside)
        ++*(found ? &cache->info.part_hits : &cache->info.part_misses);
    else if (found)
        atomic_fetch_add_explicit(&cache->hits, 1, memory_order_relaxed);
    else
        cache->info.misses++;
}

pithp_jit_program *pithp_jit_find(pithp_jit_call *c) {
    jit_cache *cache = cache_of(c->s->runtime);
    if (!cache) {
        pithp_fail_memory(c->s, sizeof *cache);
        return NULL;
    }
    pthread_mutex_lock(&cache->lock);
    pithp_jit_program *p = c->unknown ? NULL : look(cache, c);
    if (p)
        note_use(cache, c->jit, p);
    else
        explain(cache, c);
    note_found(cache, c, p != NULL);
    pthread_mutex_unlock(&cache->lock);
    return p;
}

void pithp_jit_refuse(const pithp_jit_call *c, const char *why) {
    jit_cache *cache = find_cache(c->s->runtime);
    pthread_mutex_lock(&cache->lock);
    c->jit->why.length = 0;
    pithp_string_print(&c->jit->why, "%s: %s", c->function->name, why);
    pthread_mutex_unlock(&cache->lock);
}

pithp_jit_program *pithp_jit_keep(const pithp_jit_call *c, pithp_jit_program *p) {
    jit_cache *cache = cache_of(c->s->runtime);
    bool cleared = false;
    pthread_mutex_lock(&cache->lock);
    pithp_jit_program *kept = look_up(cache, c);
    if (kept) {
        let_go(cache, p);
    } else {
        pithp_jit_program **bucket = bucket_of(cache, p->key.hash);
        kept = p; /* the caller's reference goes to the cache */
        p->next = *bucket;
        *bucket = p;
        link_newest(cache, p);
        ++*count_of(cache, p);
        cache->info.bytes += p->bytes;
        cleared = make_room(cache);
    }
    note_use(cache, c->jit, kept);
    leave(cache);
    if (cleared)
        pithp_compile_clear(c->s->runtime);
    return kept;
}

void pithp_jit_note_donated(pith_runtime *rt,
                            int64_t granted,
                            int64_t refused,
                            int64_t written) {
    jit_cache *cache = find_cache(rt);
    pthread_mutex_lock(&cache->lock);
    cache->info.donated += granted;
    cache->info.refused += refused;
    cache->info.written += written;
    pthread_mutex_unlock(&cache->lock);
}

void pithp_jit_note_derived(pith_runtime *rt, int64_t calls, int64_t derivations) {
    jit_cache *cache = find_cache(rt);
    pthread_mutex_lock(&cache->lock);
    cache->info.derived_calls += calls;
    cache->info.derivations += derivations;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- Public ---- */

/* NULL: no runtime, or one that could not be opened. */
static jit_cache *enter(pith_runtime *rt) {
    const bool open = pithp_runtime_valid(rt) && pithp_runtime_device(rt);
    jit_cache *cache = open ? cache_of(rt) : NULL;
    if (cache)
        pthread_mutex_lock(&cache->lock);
    return cache;
}

/* Enter to change the cache, which traced functions must not do. */
static jit_cache *enter_to_change(pith_runtime *rt, const char *function) {
    return pithp_may_change(rt, function) ? enter(rt) : NULL;
}

pith_jit_info pith_jit_about(pith_runtime *rt) {
    pith_jit_info info = {0};
    jit_cache *cache = enter(rt);
    if (!cache)
        return info;
    count_code(cache);
    info = cache->info;
    info.hits = atomic_load_explicit(&cache->hits, memory_order_relaxed);
    for (pithp_jit *jit = cache->functions; jit; jit = jit->next)
        info.hits += atomic_load_explicit(&jit->hits, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    return info;
}

void pith_jit_clear(pith_runtime *rt) {
    jit_cache *cache = enter_to_change(rt, __func__);
    if (!cache)
        return;
    while (cache->oldest)
        throw_out(cache, cache->oldest);
    leave(cache);
    pithp_compile_clear(rt);
}

void pith_jit_set_limits(pith_runtime *rt, int64_t programs, size_t bytes) {
    jit_cache *cache = enter_to_change(rt, __func__);
    if (!cache)
        return;
    cache->most_programs = programs > 0 ? programs : MOST_PROGRAMS;
    cache->most_bytes = bytes ? bytes : most_bytes;
    const bool cleared = make_room(cache);
    leave(cache);
    if (cleared)
        pithp_compile_clear(rt);
}
