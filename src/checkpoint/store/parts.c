/* Parts of a checkpoint of many ranks: leaves whose elements lie in several files are
 * read as if they were whole. Each part is a checkpoint of its own, of a dict with the
 * shards of a rank by path; it is opened, and its leaves are verified, when they are read
 * first. */
#include "checkpoint/store/open.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void pithp_parts_close(pith_runtime *rt, pith_checkpoint *c) {
    const size_t count = (size_t)c->document.parts.count;
    for (int64_t i = 0; i < c->open_count; i++)
        pithp_checkpoint_part_close(rt, c->parts[c->open_parts[i]]);
    pithp_release(rt, c->parts, c->parts ? count * sizeof *c->parts : 0);
    pithp_release(rt, c->open_parts, c->open_parts ? count * sizeof *c->open_parts : 0);
    c->parts = NULL;
    c->open_parts = NULL;
    c->open_count = 0;
    if (c->folder >= 0)
        close(c->folder);
    c->folder = -1;
}

/* ---- Parts ---- */

/* The first of the ranks before this one that have the same part. */
static int64_t first_of(const pithp_document *d, int64_t rank) {
    const char *file = d->parts.rows[rank].file;
    while (rank > 0 && strcmp(d->parts.rows[rank - 1].file, file) == 0)
        rank--;
    return rank;
}

/* Each open part has a file open: a share of those that the process may have. */
static int64_t most_open(void) {
    struct rlimit limit;
    const rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
    return most < 64 ? 4 : most > 1 << 20 ? 1 << 19 : (int64_t)most / 2;
}

/* Note that the part of a rank is open, and close the oldest one if there are too many.
 */
static void note_open(pith_runtime *rt, pith_checkpoint *c, int64_t rank) {
    if (c->open_count >= most_open()) {
        const int64_t oldest = c->open_parts[0];
        pithp_checkpoint_part_close(rt, c->parts[oldest]);
        c->parts[oldest] = NULL;
        c->open_count--;
        memmove(c->open_parts, c->open_parts + 1,
                (size_t)c->open_count * sizeof *c->open_parts);
    }
    c->open_parts[c->open_count++] = rank;
}

/* The part of a rank. NULL: the error is set. */
static pith_checkpoint *open_part(pith_scope *s, const pith_checkpoint *c, int64_t rank) {
    const pithp_doc_part *row = &c->document.parts.rows[rank];
    pithp_location location = {.folder = c->folder, .shown = row->file};
    if (c->parts[rank])
        return c->parts[rank];
    strncpy(location.name, row->file, sizeof location.name - 1);
    pith_checkpoint *part = pithp_checkpoint_part_open(s, &location);
    if (!part)
        return NULL;
    const pithp_document *d = &part->document;
    if (d->bytes != row->bytes || !pithp_digest_equal(d->checksum, row->digest) ||
        d->parts.count) {
        pithp_fail(s, PITH_E_FORMAT, NULL,
                   "the part \"%s\" of rank %" PRId64 " is not the one that \"%s\" names",
                   row->file, rank, c->shown);
        pithp_checkpoint_part_close(s->runtime, part);
        return NULL;
    }
    note_open(s->runtime, (pith_checkpoint *)(uintptr_t)c, rank);
    return c->parts[rank] = part;
}

/* The row of the shard of a rank in a part; -1: there is none, -2: out of memory. A part
 * of several ranks has their numbers before the paths. */
static int64_t find_row(pith_scope *s,
                        const pithp_document *part,
                        const pithp_doc_leaf *leaf,
                        int64_t rank) {
    int64_t node = -1;
    for (int numbered = 0; numbered < 2 && node == -1; numbered++) {
        pithp_string name, key;
        pithp_string_begin(&name, s->runtime);
        pithp_string_begin(&key, s->runtime);
        if (numbered)
            pithp_string_print(&name, "%" PRId64 ":", rank);
        pithp_string_add(&name, leaf->key);
        if (!name.failed)
            pithp_path_add_key(&key, name.bytes);
        node = name.failed || key.failed ? -2 : pithp_document_find(part, key.bytes);
        pithp_string_end(&key);
        pithp_string_end(&name);
    }
    return node < 0 ? node : part->nodes.rows[node].leaf;
}

/* The row of a leaf in the part of a rank; -1: the error is set. */
static int64_t find_piece(pith_scope *s,
                          const pith_checkpoint *c,
                          const pithp_parted *x,
                          const pith_checkpoint *part,
                          int64_t rank) {
    const pithp_doc_leaf *leaf = x->leaf;
    const int64_t row = find_row(s, &part->document, leaf, rank);
    const pithp_doc_leaf *piece = row < 0 ? NULL : &part->document.leaves.rows[row];
    const bool fits = piece && piece->dtype == leaf->dtype &&
                      piece->shape.rank == leaf->part.rank &&
                      memcmp(piece->shape.extents, leaf->part.extents,
                             (size_t)leaf->part.rank * sizeof(int64_t)) == 0;
    if (row == -2)
        pithp_fail_memory(s, 0);
    else if (!fits)
        pithp_fail(s, PITH_E_FORMAT, leaf->key,
                   "the part \"%s\" does not have it in the shape that \"%s\" states",
                   part->shown, c->shown);
    return fits ? row : -1;
}

/* The piece that has these numbers; *row: -1 and the error set, or its row there. */
static pith_checkpoint *open_piece(pith_scope *s,
                                   const pith_checkpoint *c,
                                   const pithp_parted *x,
                                   const int64_t *numbers,
                                   int64_t *row) {
    const int64_t rank = pithp_parted_rank(&c->document, x->leaf, numbers);
    pith_checkpoint *part = open_part(s, c, first_of(&c->document, rank));
    *row = part ? find_piece(s, c, x, part, rank) : -1;
    return part;
}

static pith_status verify(pith_scope *s, pith_checkpoint *part, int64_t row) {
    pithp_doc_leaf *leaf = &part->document.leaves.rows[row];
    if (leaf->verified)
        return PITH_OK;
    void *staging = pithp_allocate(s->runtime, PITHP_CHUNK_BYTES);
    if (!staging)
        return pithp_fail_memory(s, PITHP_CHUNK_BYTES);
    const pith_status rc = pithp_leaf_read(s, part, row, NULL, staging, NULL, NULL);
    pithp_release(s->runtime, staging, PITHP_CHUNK_BYTES);
    leaf->verified = rc == PITH_OK;
    return rc;
}

const pith_checkpoint *pithp_parted_piece(pith_scope *s,
                                          const pith_checkpoint *c,
                                          const pithp_parted *x,
                                          const int64_t *numbers,
                                          int64_t *row) {
    pith_checkpoint *part = open_piece(s, c, x, numbers, row);
    return *row >= 0 && verify(s, part, *row) == PITH_OK ? part : NULL;
}

pith_status pithp_parted_check(pith_scope *s,
                               const pith_checkpoint *c,
                               const pithp_doc_leaf *leaf,
                               bool all) {
    pithp_parted x;
    int64_t numbers[PITH_MAX_RANK] = {0}, pieces = 1;
    if (pithp_parted_find(s, c, leaf, &x) != PITH_OK)
        return s->error.code;
    for (int d = 0; d < PITH_MAX_RANK; d++)
        pieces *= x.pieces[d]; /* at most the ranks of the mesh */
    for (int64_t i = 0; i < (all ? pieces : 1); i++) {
        int64_t rest = i;
        for (int d = PITH_MAX_RANK; d-- > 0; rest /= x.pieces[d])
            numbers[d] = rest % x.pieces[d];
        int64_t row;
        open_piece(s, c, &x, numbers, &row);
        if (row < 0)
            return s->error.code;
    }
    return PITH_OK;
}

/* ---- Reading ---- */

/* A run of elements that lie together in the whole and in a piece. */
typedef struct run {
    int64_t numbers[PITH_MAX_RANK]; /* of the piece */
    int64_t begin, count;           /* in the piece, in elements */
} run;

static run run_at(const pithp_parted *x, int64_t element) {
    const pithp_doc_leaf *leaf = x->leaf;
    run r = {.begin = 0, .count = 1};
    int64_t at[PITH_MAX_RANK] = {0}, extent[PITH_MAX_RANK], inner = 1;
    for (int d = leaf->shape.rank; d-- > 0; element /= leaf->shape.extents[d])
        at[d] = element % leaf->shape.extents[d];
    for (int d = 0; d < leaf->shape.rank; d++) {
        extent[d] = leaf->part.extents[d];
        if (d == 0 && x->counts) {
            while (at[0] >= x->counts[r.numbers[0]])
                at[0] -= x->counts[r.numbers[0]++];
            extent[0] = x->counts[r.numbers[0]]; /* of the rows that go on */
        } else {
            r.numbers[d] = at[d] / extent[d];
            at[d] %= extent[d];
        }
        r.begin = r.begin * leaf->part.extents[d] + at[d];
    }
    /* to the end of the piece along the last axis that is cut */
    int64_t passed = 0;
    for (int d = leaf->shape.rank; d-- > 0;) {
        passed += at[d] * inner;
        r.count = extent[d] * inner - passed;
        if (x->pieces[d] > 1 || (d == 0 && x->counts))
            break;
        inner *= extent[d];
    }
    return r;
}

/* One value on each rank: a whole has it if all are equal. */
static pith_status
read_value(pith_scope *s, const pith_checkpoint *c, const pithp_parted *x, void *to) {
    int64_t numbers[PITH_MAX_RANK] = {0}, row;
    pithp_digest first = {0, 0};
    for (; numbers[0] < x->pieces[0]; numbers[0]++) {
        const pith_checkpoint *part = pithp_parted_piece(s, c, x, numbers, &row);
        if (!part)
            return s->error.code;
        const pithp_doc_leaf *piece = &part->document.leaves.rows[row];
        char path[PITHP_PATH_BYTES];
        if (numbers[0] && !pithp_digest_equal(piece->digest, first))
            return pithp_fail(
                s, PITH_E_SHAPE,
                pithp_document_error_path(&c->document, x->leaf->node, path),
                "one value on each rank, which differ: load it on %" PRId64 " ranks",
                x->pieces[0]);
        first = piece->digest;
        if (!numbers[0] &&
            pithp_leaf_read_bytes(s, part, piece, 0, to, piece->bytes) != PITH_OK)
            return s->error.code;
    }
    return PITH_OK;
}

pith_status pithp_parted_read(pith_scope *s,
                              const pith_checkpoint *c,
                              const pithp_doc_leaf *leaf,
                              size_t offset,
                              void *to,
                              size_t n) {
    const size_t size = pith_dtype_size(leaf->dtype);
    pithp_parted x;
    if (pithp_parted_find(s, c, leaf, &x) != PITH_OK)
        return s->error.code;
    if (leaf->shape.rank == 0)
        return read_value(s, c, &x, to);
    for (char *at = to; n;) {
        const run r = run_at(&x, (int64_t)(offset / size));
        int64_t row;
        const pith_checkpoint *part = pithp_parted_piece(s, c, &x, r.numbers, &row);
        const size_t within = offset % size, bytes = (size_t)r.count * size - within,
                     some = bytes < n ? bytes : n;
        if (!part ||
            pithp_leaf_read_bytes(s, part, &part->document.leaves.rows[row],
                                  (size_t)r.begin * size + within, at, some) != PITH_OK)
            return s->error.code;
        at += some;
        offset += some;
        n -= some;
    }
    return PITH_OK;
}

/* ---- A whole leaf ---- */

/* Passes on the rows in use of a piece. */
typedef struct pass {
    size_t at, most; /* bytes passed on; of rows in use */
    size_t before;   /* bytes of the pieces before */
    char *to;        /* NULL: they go to the sink */
    pithp_chunk_sink sink;
    void *closure;
} pass;

static pith_status
pass_rows_in_use(void *closure, const void *bytes, size_t offset, size_t n) {
    pass *p = closure;
    const size_t rest = p->most > offset ? p->most - offset : 0,
                 some = rest < n ? rest : n;
    if (p->to)
        memcpy(p->to + p->before + offset, bytes, some);
    return some && p->sink ? p->sink(p->closure, bytes, p->before + offset, some)
                           : PITH_OK;
}

bool pithp_parted_is_joined(const pithp_doc_leaf *leaf) {
    return leaf->shape.rank > 0 && !strchr(leaf->shard, ';');
}

pith_status pithp_parted_stream(pith_scope *s,
                                const pith_checkpoint *c,
                                const pithp_doc_leaf *leaf,
                                void *to,
                                pithp_chunk_sink sink,
                                void *closure) {
    pithp_parted x;
    pass p = {.to = to, .sink = sink, .closure = closure};
    int64_t numbers[PITH_MAX_RANK] = {0};
    if (pithp_parted_find(s, c, leaf, &x) != PITH_OK)
        return s->error.code;
    void *staging = pithp_allocate(s->runtime, PITHP_CHUNK_BYTES);
    if (!staging)
        return pithp_fail_memory(s, PITHP_CHUNK_BYTES);
    for (; numbers[0] < x.pieces[0] && s->error.code == PITH_OK; numbers[0]++) {
        int64_t row;
        pith_checkpoint *part = open_piece(s, c, &x, numbers, &row);
        if (row < 0)
            break;
        pithp_doc_leaf *piece = &part->document.leaves.rows[row];
        const int64_t rows = leaf->part.extents[0];
        p.most = !x.counts || rows == 0
                     ? piece->bytes
                     : piece->bytes / (size_t)rows * (size_t)x.counts[numbers[0]];
        if (pithp_leaf_read(s, part, row, NULL, staging, pass_rows_in_use, &p) == PITH_OK)
            piece->verified = true;
        p.before += p.most;
    }
    pithp_release(s->runtime, staging, PITHP_CHUNK_BYTES);
    return s->error.code;
}
