/* First and last pass of a long radix sort: elements to keys, keys to elements.
 *
 * radix_sort.c includes this header once per kind of line with
 *
 *   WAY            the suffix of the functions' names
 *   K              the unsigned type of a key
 *   E, DIGITS(e)   the type of the sorted items, and the key of one
 *   MAKE(key, i)   the item of the key of element i
 *   R, RESULT(e)   the type of a result, and its value for an item; it may use kind and
 *                  descending */
#define NAME(x) PITHP_PASTE(x, WAY)

static void NAME(load)(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    const K infinity = (K)infinity_of(a->dtype), sign = (K)((K)1 << (8 * sizeof(K) - 1));
    const key_kind kind = kind_of(a->dtype);
    const bool descending = a->descending;
    const int64_t inner = a->inner;
    E *line = (E *)(void *)a->line[0];
    for (int64_t c = begin; c < end; c++) {
        const int64_t last = chunk_begin(a, c + 1);
        K special = 0;
        memset(a->counts[c], 0, sizeof a->counts[c]);
        for (int64_t at = chunk_begin(a, c), n; at < last; at += n) {
            const K *from = (const K *)(const void *)a->from + at * inner;
            E *to = line + at;
            n = last - at < NEAR ? last - at : NEAR;
            for (int64_t i = 0; i < n; i++) {
                const K x = from[i * inner];
                const K key = PITHP_PASTE(key, K)(x, kind, infinity, descending);
                special |= (K)((x == sign) | ((x & (K)~sign) > infinity));
                to[i] = MAKE(key, at + i);
            }
            PITHP_PASTE(add, E)(a->counts[c], to, n, a->shift);
        }
        if (special && kind == FLOAT)
            atomic_store(&a->state->special, true);
    }
}

static void NAME(finish)(const void *args, int64_t begin, int64_t end) {
    const radix_args *a = args;
    const key_kind kind = kind_of(a->dtype);
    const bool descending = a->descending;
    const int64_t inner = a->inner;
    const int shift = a->shift;
    const E *x = (const E *)(void *)a->line[a->state->current];
    R *to = (R *)(void *)a->to;
    (void)kind, (void)descending;
    for (int64_t c = begin; c < end; c++) {
        const int64_t first = chunk_begin(a, c), last = chunk_begin(a, c + 1);
        uint32_t *at = a->counts[c];
        if (a->state->moved)
            for (int64_t i = first; i < last; i++) {
                const E e = x[i];
                to[at[DIGITS(e) >> shift & (BUCKETS - 1)]++ * inner] = RESULT(e);
            }
        else
            for (int64_t i = first; i < last; i++)
                to[i * inner] = RESULT(x[i]);
    }
}

static const pithp_host_loop NAME(load_loops)[PITHP_ISA_COUNT] = {NAME(load)};

static const pithp_host_loop NAME(finish_loops)[PITHP_ISA_COUNT] = {NAME(finish)};

#undef NAME
#undef WAY
#undef K
#undef E
#undef DIGITS
#undef MAKE
#undef R
#undef RESULT
