/* Prepared calls: record the launches of a call, and find the addresses in their
 * arguments. */
#include "program/op/prepared.h"

#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    MOST_ADDRESSES = 512,
    MOST_OPERANDS = 1024,
    GROUP = 4,
    LAUNCH_WORDS = PITHP_LAUNCH_ARGS / WORD / GROUP * GROUP
};

/* Memory k of a call has the false address first + k * distance: the operands, then the
 * result, the temporary memory and the report. Both numbers differ between the passes, so
 * that a difference of two addresses is not taken for a constant. No real address lies
 * there. */
enum { RESULT, TEMPORARY, REPORT, OTHERS };
static const struct {
    uint64_t first, distance;
} spaces[2] = {{(uint64_t)1 << 60, (uint64_t)1 << 44},
               {(uint64_t)5 << 58, (uint64_t)3 << 43}};
static const uint64_t most_bytes = (uint64_t)1 << 42; /* of a memory: no two meet */

/* An argument word that is an address. The word holds the offset from its memory. */
typedef struct address {
    uint16_t word, memory;
} address;

typedef struct prepared_launch {
    pithp_launch launch;
    int32_t address_count;
    const address *addresses;
} prepared_launch;

/* A range of launches. */
typedef struct variant {
    int32_t first, count;
} variant;

struct pithp_prepared {
    size_t bytes;
    int32_t operand_count;
    bool may_be_in_place; /* the result may be the first operand */
    variant variants[2];  /* the result is elsewhere; it is the first operand */
    prepared_launch launches[];
};

typedef struct recorder {
    int32_t memory_count;
    bool second; /* the second pass */
    bool fits;
    int32_t next; /* second pass: the launch to compare */
    int32_t launch_count, word_count, address_count;
    prepared_launch launches[PITHP_PREPARED_LAUNCHES];
    uint64_t words[PITHP_PREPARED_WORDS];
    address addresses[MOST_ADDRESSES];
} recorder;

static size_t words_of(const pithp_launch *launch) {
    return (launch->args_bytes + WORD - 1) / WORD;
}

/* Words that a run copies: in groups, without a call of memcpy. */
static size_t copied_words(const pithp_launch *launch) {
    return (words_of(launch) + GROUP - 1) / GROUP * GROUP;
}

/* ---- Recording ---- */

/* First pass: copy a launch. */
static bool add_launch(recorder *r, const pithp_launch *launch) {
    const int32_t words = (int32_t)copied_words(launch);
    if (r->launch_count == PITHP_PREPARED_LAUNCHES || words > LAUNCH_WORDS ||
        r->word_count + words > PITHP_PREPARED_WORDS)
        return false;
    uint64_t *args = r->words + r->word_count;
    memset(args, 0, (size_t)words * WORD);
    memcpy(args, launch->args, launch->args_bytes);
    prepared_launch *to = &r->launches[r->launch_count++];
    *to = (prepared_launch){.launch = *launch};
    to->launch.args = args;
    r->word_count += words;
    return true;
}

/* Find the memory of an address of the first pass; false: there is none. */
static bool find_memory(const recorder *r, uint64_t word, uint16_t *memory) {
    const uint64_t half = spaces[0].distance / 2, from = word - spaces[0].first + half;
    const uint64_t k = from / spaces[0].distance;
    *memory = (uint16_t)k;
    return k < (uint64_t)r->memory_count;
}

/* Second pass: the words that differ must be addresses. */
static bool compare_launch(recorder *r, const pithp_launch *launch) {
    if (r->next == r->launch_count)
        return false;
    prepared_launch *to = &r->launches[r->next++];
    uint64_t *args = (uint64_t *)(uintptr_t)to->launch.args, now[LAUNCH_WORDS];
    if (to->launch.loops != launch->loops || to->launch.count != launch->count ||
        to->launch.grain != launch->grain || to->launch.args_bytes != launch->args_bytes)
        return false;
    now[words_of(launch) ? words_of(launch) - 1 : 0] = 0;
    memcpy(now, launch->args, launch->args_bytes);
    to->addresses = r->addresses + r->address_count;
    for (size_t w = 0; w < words_of(launch); w++) {
        address found = {.word = (uint16_t)w};
        if (now[w] == args[w])
            continue;
        if (!find_memory(r, args[w], &found.memory) || r->address_count == MOST_ADDRESSES)
            return false;
        args[w] -= spaces[0].first + found.memory * spaces[0].distance;
        if (args[w] != now[w] - spaces[1].first - found.memory * spaces[1].distance)
            return false;
        r->addresses[r->address_count++] = found;
        to->address_count++;
    }
    return true;
}

static pith_status record(void *closure, const pithp_launch *launch) {
    recorder *r = closure;
    if (launch->count > 0 && r->fits)
        r->fits = r->second ? compare_launch(r, launch) : add_launch(r, launch);
    return PITH_OK;
}

/* Add the launches of a call to the recorder. */
static bool record_call(recorder *r,
                        const pithp_call *call,
                        const pith_spec *result,
                        bool temporary,
                        bool in_place) {
    const pithp_sink sink = {.launch = record, .closure = r};
    const int n = call->operand_count;
    r->next = r->launch_count;
    for (int pass = 0; pass < 2; pass++) {
        const void *at[MOST_OPERANDS + OTHERS];
        r->second = pass;
        for (int k = 0; k < n + OTHERS; k++)
            at[k] = (const void *)(uintptr_t)(spaces[pass].first +
                                              (uint64_t)k * spaces[pass].distance);
        const pithp_memory memory = {
            .operands = at,
            .result = (void *)(uintptr_t)at[in_place ? 0 : n + RESULT],
            .temporary = temporary ? (void *)(uintptr_t)at[n + TEMPORARY] : NULL,
            .report = (void *)(uintptr_t)at[n + REPORT]};
        if (pithp_lower(call, result, &memory, &sink) != PITH_OK)
            return false;
    }
    return r->fits && r->next == r->launch_count;
}

/* ---- Making ---- */

/* Copy the record to one block of memory. */
static pithp_prepared *copy_record(pith_runtime *rt, const recorder *r) {
    const size_t launches = (size_t)r->launch_count * sizeof *r->launches,
                 words = (size_t)r->word_count * WORD,
                 addresses = (size_t)r->address_count * sizeof *r->addresses;
    const size_t bytes = sizeof(pithp_prepared) + launches + words + addresses;
    pithp_prepared *p = pithp_allocate(rt, bytes);
    if (!p)
        return NULL;
    *p = (pithp_prepared){.bytes = bytes};
    uint64_t *to_words = (uint64_t *)(void *)(p->launches + r->launch_count);
    address *to_addresses = (address *)(void *)(to_words + r->word_count);
    memcpy(p->launches, r->launches, launches);
    memcpy(to_words, r->words, words);
    memcpy(to_addresses, r->addresses, addresses);
    for (int32_t k = 0; k < r->launch_count; k++) {
        prepared_launch *l = &p->launches[k];
        l->launch.args = to_words + ((const uint64_t *)l->launch.args - r->words);
        l->addresses = to_addresses + (l->addresses - r->addresses);
    }
    return p;
}

static bool
is_addressable(const pithp_call *call, const pith_spec *result, size_t temporary_bytes) {
    size_t most = result->bytes > temporary_bytes ? result->bytes : temporary_bytes;
    for (int k = 0; k < call->operand_count; k++)
        most = call->operands[k]->bytes > most ? call->operands[k]->bytes : most;
    return most < most_bytes && call->operand_count <= MOST_OPERANDS;
}

pithp_prepared *pithp_prepare(pith_runtime *rt,
                              const pithp_call *call,
                              const pith_spec *result,
                              size_t temporary_bytes) {
    const bool updates = pithp_op_has(call->primitive, PITHP_TRAIT_UPDATE);
    recorder r;
    r.memory_count = call->operand_count + OTHERS;
    r.fits = true;
    r.launch_count = r.word_count = r.address_count = 0;
    if (!is_addressable(call, result, temporary_bytes) ||
        !record_call(&r, call, result, temporary_bytes > 0, false))
        return NULL;
    const int32_t elsewhere = r.launch_count;
    if (updates && !record_call(&r, call, result, temporary_bytes > 0, true))
        return NULL;
    pithp_prepared *p = copy_record(rt, &r);
    if (!p)
        return NULL;
    p->operand_count = call->operand_count;
    p->may_be_in_place = updates;
    p->variants[0] = (variant){0, elsewhere};
    p->variants[1] = (variant){elsewhere, r.launch_count - elsewhere};
    return p;
}

void pithp_prepared_free(pith_runtime *rt, pithp_prepared *p) {
    if (p)
        pithp_release(rt, p, p->bytes);
}

size_t pithp_prepared_bytes(const pithp_prepared *p) {
    return p ? p->bytes : 0;
}

/* ---- Runs ---- */

pith_status pithp_prepared_lower(const pithp_prepared *p,
                                 const pithp_memory *memory,
                                 const pithp_sink *sink) {
    const variant of =
        p->variants[p->may_be_in_place && memory->result == memory->operands[0]];
    const void *const others[OTHERS] = {memory->result, memory->temporary,
                                        memory->report};
    uint64_t args[LAUNCH_WORDS];
    pith_status rc = PITH_OK;
    for (int32_t k = of.first; k < of.first + of.count && rc == PITH_OK; k++) {
        const prepared_launch *l = &p->launches[k];
        pithp_launch launch = l->launch;
        const uint64_t *from = launch.args;
        for (size_t w = 0; w < copied_words(&launch); w += GROUP)
            memcpy(args + w, from + w, GROUP * WORD);
        for (int32_t a = 0; a < l->address_count; a++) {
            const int32_t m = l->addresses[a].memory - p->operand_count;
            const void *at = m < 0 ? memory->operands[l->addresses[a].memory] : others[m];
            args[l->addresses[a].word] += (uintptr_t)at;
        }
        launch.args = args;
        rc = sink->launch(sink->closure, &launch);
    }
    return rc;
}
