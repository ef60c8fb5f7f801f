/* The loops of sort and argsort for keys of one width. sort.c includes this header once
 * per width with
 *
 *   K      the unsigned type of a key
 *   BITS   of K */
#define NAME(x) PITHP_PASTE(x, K)
#define KEY     NAME(key)     /* of an element */
#define ELEMENT NAME(element) /* of a key */

static void NAME(insert)(K *keys, int64_t *indices, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const K key = keys[i];
        const int64_t index = indices ? indices[i] : 0;
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) {
            keys[j] = keys[j - 1];
            if (indices)
                indices[j] = indices[j - 1];
        }
        keys[j] = key;
        if (indices)
            indices[j] = index;
    }
}

/* Sort a short line by ranks. indices: the original indices, or NULL. */
static void NAME(rank)(pithp_isa isa, K *keys, int64_t *indices, int64_t n) {
    K from[FEW];
    uint8_t ranks[FEW];
    memcpy(from, keys, (size_t)n * sizeof *keys);
    (isa == PITHP_ISA_V4 ? RANK(v4) : RANK(v3))(from, n, ranks);
    for (int64_t i = 0; i < n; i++)
        keys[ranks[i]] = from[i];
    for (int64_t i = 0; indices && i < n; i++)
        indices[ranks[i]] = i;
}

/* Radix sort of *keys together with *indices; each is swapped with its spare array by
 * every pass. */
static void
NAME(radix)(K **keys, K **spare, int64_t **indices, int64_t **spare_indices, int64_t n) {
    const int bits = BITS <= 16 || n < MANY ? 8 : 11;
    const int digits = (BITS + bits - 1) / bits, buckets = 1 << bits;
    int64_t counts[MOST_DIGITS][MOST_BUCKETS];
    for (int d = 0; d < digits; d++)
        memset(counts[d], 0, (size_t)buckets * sizeof counts[d][0]);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < digits; d++)
            counts[d][(*keys)[i] >> (d * bits) & (K)(buckets - 1)]++;
    for (int d = 0; d < digits; d++) {
        const int shift = d * bits;
        const K mask = (K)(buckets - 1);
        int64_t *at = counts[d], total = 0;
        if (at[(*keys)[0] >> shift & mask] == n)
            continue;
        for (int b = 0; b < buckets; b++) {
            const int64_t here = at[b];
            at[b] = total;
            total += here;
        }
        const K *from = *keys;
        K *to = *spare;
        if (indices) {
            const int64_t *from_index = *indices;
            int64_t *to_index = *spare_indices;
            for (int64_t i = 0; i < n; i++) {
                const int64_t slot = at[from[i] >> shift & mask]++;
                to[slot] = from[i];
                to_index[slot] = from_index[i];
            }
            *spare_indices = *indices;
            *indices = to_index;
        } else {
            for (int64_t i = 0; i < n; i++)
                to[at[from[i] >> shift & mask]++] = from[i];
        }
        *spare = *keys;
        *keys = to;
    }
}

/* Restore the zeros and NaNs of a line, which share a key, in stable order. */
static void
NAME(restore)(const sort_args *a, const K *from, K *to, const K *keys, K infinity) {
    const K sign = (K)1 << (BITS - 1), zero = KEY(0, FLOAT, infinity, a->descending);
    const K nan = a->descending ? 0 : (K) ~(K)0;
    int64_t zeros = 0, nans = 0;
    while (zeros < a->extent && keys[zeros] < zero)
        zeros++;
    while (nans < a->extent && keys[nans] < nan)
        nans++;
    for (int64_t i = 0; i < a->extent; i++) {
        const K x = from[i * a->inner], magnitude = x & (K)~sign;
        if (magnitude == 0)
            to[zeros++ * a->inner] = x;
        else if (magnitude > infinity)
            to[nans++ * a->inner] = x;
    }
}

static void NAME(line)(pithp_isa isa, const sort_args *a, int64_t line, bool argsort) {
    const int64_t n = a->extent, base = line / a->inner * n * a->inner + line % a->inner;
    const K *from = (const K *)(const void *)a->from + base;
    const K infinity = (K)infinity_of(a->dtype), sign = (K)1 << (BITS - 1);
    const key_kind kind = kind_of(a->dtype);
    K few[FEW], *keys = few, *spare = NULL;
    int64_t few_indices[FEW], *indices = few_indices, *spare_indices = NULL;
    if (n > FEW) {
        int64_t *all_indices = (int64_t *)(void *)a->temporary;
        K *all = (K *)(void *)(all_indices + (argsort ? 2 * a->count : 0));
        keys = all + line * n;
        spare = all + a->count + line * n;
        indices = argsort ? all_indices + line * n : NULL;
        spare_indices = argsort ? all_indices + a->count + line * n : NULL;
    }
    bool special = false;
    for (int64_t i = 0; i < n; i++) {
        const K x = from[i * a->inner];
        special |= kind == FLOAT && (x == sign || (x & (K)~sign) > infinity);
        keys[i] = KEY(x, kind, infinity, a->descending);
    }
    for (int64_t i = 0; argsort && i < n; i++)
        indices[i] = i;
    if (n <= FEW && n >= LEAST_RANKED && isa != PITHP_ISA_BASE)
        NAME(rank)(isa, keys, argsort ? indices : NULL, n);
    else if (n <= FEW)
        NAME(insert)(keys, argsort ? indices : NULL, n);
    else
        NAME(radix)(&keys, &spare, argsort ? &indices : NULL, &spare_indices, n);
    if (argsort) {
        int64_t *to = (int64_t *)a->to + base;
        for (int64_t i = 0; i < n; i++)
            to[i * a->inner] = indices[i];
        return;
    }
    K *to = (K *)a->to + base;
    for (int64_t i = 0; i < n; i++)
        to[i * a->inner] = ELEMENT(keys[i], kind, a->descending);
    if (special)
        NAME(restore)(a, from, to, keys, infinity);
}

static void NAME(sort)(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; line++)
        NAME(line)(isa, args, line, false);
}

static void NAME(argsort)(pithp_isa isa, const void *args, int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; line++)
        NAME(line)(isa, args, line, true);
}

PITHP_LOOPS(NAME(sort))
PITHP_LOOPS(NAME(argsort))

#undef NAME
#undef KEY
#undef ELEMENT
#undef K
#undef BITS
