/* Checksums: XXH3-128 of xxHash (https://github.com/Cyan4973/xxHash) with its default
 * secret and seed 0, printed in the canonical (big-endian) order. */
#include "checkpoint/document/document.h"

#include <string.h>
#define XXH_INLINE_ALL /* so this header fixes the size of the state */
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(pithp_hasher), "the state fits");

static XXH3_state_t *state_of(pithp_hasher *h) {
    return (XXH3_state_t *)(void *)h->state;
}

static pithp_digest digest(XXH128_hash_t hash) {
    return (pithp_digest){hash.high64, hash.low64};
}

void pithp_hasher_begin(pithp_hasher *h) {
    XXH3_128bits_reset(state_of(h));
}

void pithp_hasher_add(pithp_hasher *h, const void *bytes, size_t n) {
    if (n)
        XXH3_128bits_update(state_of(h), bytes, n);
}

pithp_digest pithp_hasher_end(const pithp_hasher *h) {
    return digest(XXH3_128bits_digest((const XXH3_state_t *)(const void *)h->state));
}

pithp_digest pithp_digest_of(const void *bytes, size_t n) {
    return digest(XXH3_128bits(n ? bytes : "", n));
}

void pithp_digest_print(pithp_digest d, char text[PITHP_DIGEST_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        const uint64_t half = i < 16 ? d.high : d.low;
        text[i] = digits[half >> (60 - 4 * (i % 16)) & 15];
    }
    text[32] = 0;
}

bool pithp_digest_parse(const char *text, pithp_digest *d) {
    uint64_t halves[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        const char c = text[i];
        uint64_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint64_t)(c - 'a') + 10;
        else
            return false;
        halves[i / 16] = halves[i / 16] << 4 | digit;
    }
    *d = (pithp_digest){halves[0], halves[1]};
    return text[32] == 0;
}
