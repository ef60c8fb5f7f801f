/* The elements of the parts of a checkpoint that is written for a mesh: each piece is
 * read from its leaf through a window, and rows that are not in use are zero. */
#include "checkpoint/save/reshard.h"
#include "tree/shard/text.h"

#include <string.h>

/* ---- Reading ---- */

/* Bytes of a leaf around those that were read last. */
typedef struct window {
    pith_scope *s;
    const pith_checkpoint *c;
    const pithp_doc_leaf *leaf;
    char *bytes;
    size_t begin, count, most;
} window;

static pith_status read_at(window *w, size_t at, char *to, size_t n) {
    while (n) {
        if (at < w->begin || at >= w->begin + w->count) {
            const size_t rest = w->leaf->bytes - at;
            w->begin = at;
            w->count = rest < w->most ? rest : w->most;
            const pith_status rc =
                pithp_leaf_read_bytes(w->s, w->c, w->leaf, at, w->bytes, w->count);
            if (rc != PITH_OK)
                return rc;
        }
        const size_t from = at - w->begin, have = w->count - from,
                     some = have < n ? have : n;
        memcpy(to, w->bytes + from, some);
        to += some;
        at += some;
        n -= some;
    }
    return PITH_OK;
}

/* A piece as runs of elements that lie together in the whole: along the axes from `last`
 * on. */
typedef struct piece {
    const pithp_parted *cut;
    int64_t begin[PITH_MAX_RANK]; /* in the whole */
    int64_t in_use;               /* rows of axis 0 */
    int last;
    size_t run; /* bytes, fill included */
} piece;

static piece piece_of(const pithp_parted *cut, const int64_t *numbers) {
    const pithp_doc_leaf *leaf = cut->leaf;
    piece p = {.cut = cut, .run = pith_dtype_size(leaf->dtype)};
    for (int d = 0; d < leaf->shape.rank; d++)
        p.begin[d] = numbers[d] * leaf->part.extents[d];
    p.in_use = leaf->shape.rank ? leaf->part.extents[0] : 1;
    if (cut->counts) {
        p.begin[0] = 0;
        for (int64_t i = 0; i < numbers[0]; i++)
            p.begin[0] += cut->counts[i];
        p.in_use = cut->counts[numbers[0]];
    }
    for (int d = 1; d < leaf->shape.rank; d++)
        if (cut->pieces[d] > 1)
            p.last = d;
    for (int d = p.last; d < leaf->shape.rank; d++)
        p.run *= (size_t)leaf->part.extents[d];
    return p;
}

/* Where run i begins in the whole, in elements; how many of its bytes are in use. */
static int64_t run_at(const piece *p, int64_t i, size_t *used) {
    const pithp_doc_leaf *leaf = p->cut->leaf;
    int64_t at[PITH_MAX_RANK] = {0}, from = 0;
    for (int d = p->last; d-- > 0; i /= leaf->part.extents[d])
        at[d] = i % leaf->part.extents[d];
    *used = p->run;
    if (p->last > 0)
        *used = at[0] < p->in_use ? p->run : 0;
    else if (leaf->shape.rank && leaf->part.extents[0])
        *used = p->run / (size_t)leaf->part.extents[0] * (size_t)p->in_use;
    for (int d = 0; d < leaf->shape.rank; d++)
        from = from * leaf->shape.extents[d] + p->begin[d] + at[d];
    return from;
}

/* Bytes from `offset` of the piece on. */
static pith_status
read_piece(const piece *p, window *w, size_t offset, char *to, size_t n) {
    const size_t size = pith_dtype_size(p->cut->leaf->dtype);
    while (n) {
        size_t used;
        const size_t within = offset % p->run, rest = p->run - within,
                     some = rest < n ? rest : n;
        const int64_t from = run_at(p, (int64_t)(offset / p->run), &used);
        const size_t have = used > within ? used - within : 0,
                     read = have < some ? have : some;
        if (read && read_at(w, (size_t)from * size + within, to, read) != PITH_OK)
            return w->s->error.code;
        memset(to + read, 0, some - read);
        to += some;
        offset += some;
        n -= some;
    }
    return PITH_OK;
}

pith_status pithp_reshard_stream(void *source,
                                 pith_scope *s,
                                 int64_t row,
                                 size_t most,
                                 pithp_chunk_sink sink,
                                 void *closure) {
    enum { LEAST_WINDOW = 1 << 16 };
    const pithp_reshard *x = source;
    const pithp_document *d = &x->to.document;
    const int64_t leaf = x->leaves[row];
    int64_t numbers[PITH_MAX_RANK];
    pithp_parted_numbers(d, &d->leaves.rows[leaf], x->rank, numbers);
    const piece p = piece_of(&x->cuts[leaf], numbers);
    char *chunk = pithp_allocate(s->runtime, 2 * PITHP_CHUNK_BYTES);
    if (!chunk)
        return pithp_fail_memory(s, 2 * PITHP_CHUNK_BYTES);
    window w = {.s = s,
                .c = x->from,
                .leaf = &x->from->document.leaves.rows[leaf],
                .bytes = chunk + PITHP_CHUNK_BYTES,
                .most = p.run < LEAST_WINDOW        ? LEAST_WINDOW
                        : p.run < PITHP_CHUNK_BYTES ? p.run
                                                    : PITHP_CHUNK_BYTES};
    pith_status rc = PITH_OK;
    for (size_t at = 0; rc == PITH_OK && at < most; at += PITHP_CHUNK_BYTES) {
        const size_t n = most - at < PITHP_CHUNK_BYTES ? most - at : PITHP_CHUNK_BYTES;
        rc = read_piece(&p, &w, at, chunk, n);
        if (rc == PITH_OK)
            rc = sink(closure, chunk, at, n);
    }
    pithp_release(s->runtime, chunk, 2 * PITHP_CHUNK_BYTES);
    return rc;
}
