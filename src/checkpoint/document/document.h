/* The document as tables in memory, its checksums, and its text. */
#ifndef PITHP_CHECKPOINT_DOCUMENT_H
#define PITHP_CHECKPOINT_DOCUMENT_H

#include "pith/checkpoint.h"

#include "tree/tree_internal.h"

#include <sys/types.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files hold little-endian elements, which are written from memory");

enum {
    PITHP_CHECKPOINT_FORMAT = 2,   /* that is written; those before are read too */
    PITHP_SIDECARS = 8,            /* most that a document names */
    PITHP_STAGING_BYTES = 4 << 20, /* of device memory on its way to a file */
    PITHP_PACK_LEVELS = 19,        /* of compression, from 1 on */
    PITHP_LEAST_PACKED = 1024, /* so many bytes of elements have a packed one at least */
    PITHP_PACK_MOST = (1 << 20) + (1 << 13), /* bytes of a chunk that was packed */
    PITHP_INLINE_BYTES = 1024,  /* leaves up to here lie in the document by default */
    PITHP_TENSOR_NAME = 512,    /* longest path that is a tensor's name, in bytes */
    PITHP_DIGEST_TEXT = 33,     /* hexadecimal with its end */
    PITHP_DATA_ALIGNMENT = 64,  /* of the data in a sidecar */
    PITHP_CHUNK_BYTES = 1 << 20 /* hashed and then moved while it is in the cache */
};

/* ---- Checksums: XXH3-128 (digest.c) ---- */

typedef struct pithp_digest {
    uint64_t high, low;
} pithp_digest;

typedef struct pithp_hasher {
    _Alignas(64) unsigned char state[640]; /* an XXH3_state_t */
} pithp_hasher;

void pithp_hasher_begin(pithp_hasher *h);
void pithp_hasher_add(pithp_hasher *h, const void *bytes, size_t n);
pithp_digest pithp_hasher_end(const pithp_hasher *h);
pithp_digest pithp_digest_of(const void *bytes, size_t n);
void pithp_digest_print(pithp_digest d, char text[PITHP_DIGEST_TEXT]);
bool pithp_digest_parse(const char *text, pithp_digest *d); /* 32 lower-case digits */
static inline bool pithp_digest_equal(pithp_digest a, pithp_digest b) {
    return a.high == b.high && a.low == b.low;
}

/* ---- Elements as text (element_text.c) ---- */

enum { PITHP_NUMBER_TEXT = sizeof(pith_element_text) };
/* The JSON value of an element, quoted where JSON has no such number. Returns its length.
 */
size_t
pithp_number_print(pith_dtype dtype, const void *element, char text[PITHP_NUMBER_TEXT]);
/* An element from a JSON integer, real or string. False: no element of that dtype. */
bool pithp_number_from_i64(pith_dtype dtype, int64_t value, void *element);
bool pithp_number_from_f64(pith_dtype dtype, double value, void *element);
bool pithp_number_from_text(pith_dtype dtype, const char *text, void *element);

/* ---- Documents in memory (document.c) ---- */

typedef struct pithp_doc_type {
    const char *name;
    int32_t version;
} pithp_doc_type;

typedef struct pithp_doc_node {
    pith_node_kind kind;
    bool is_static; /* a static record's root: hangs on a static field of its parent */
    int32_t type;   /* into types; -1 */
    int32_t depth;
    int64_t parent; /* -1: the root */
    int64_t index;  /* among the parent's children; 0 for the root and static records */
    int64_t child_count, last_child; /* last_child: its row, while rows are added */
    int64_t leaf;
    int64_t first_static, static_count; /* into statics */
    const char *name;                   /* field or key; NULL */
    const void *object;                 /* the node in memory, while a tree is saved */
} pithp_doc_node;

/* A chunk of a leaf's elements, compressed. */
typedef struct pithp_packed {
    size_t begin, bytes; /* in the leaf's place */
    pithp_digest digest; /* of them, compressed */
} pithp_packed;

/* Fewest bytes of a frame with this many bytes of elements. */
static inline size_t pithp_frame_least(size_t elements) {
    return elements / PITHP_LEAST_PACKED + 1;
}

/* Begins the tensor name of a compressed leaf; no path begins so. */
#define PITHP_PACKED "zstd:"

typedef struct pithp_doc_leaf {
    pith_dtype dtype;
    pith_shape shape;
    int64_t count;
    size_t bytes;
    int64_t node;
    const char *unit;        /* NULL */
    const char *tensor;      /* sidecar: name of the tensor */
    const void *data;        /* document: the elements */
    const pith_array *given; /* loading: what the leaf is, in place of the file; NULL */
    pithp_digest digest;
    bool in_sidecar;
    int32_t sidecar;   /* which one */
    size_t begin, end; /* in its data */
    int level;         /* of compression that is wanted for it; 0: none */
    bool packed;       /* it is compressed there, in frames, */
    int64_t frame_count;
    pithp_packed *frames; /* one for each PITHP_CHUNK_BYTES of its elements */
} pithp_doc_leaf;

/* A sidecar that a document names. */
typedef struct pithp_doc_sidecar {
    const char *file;    /* its name */
    size_t bytes, data;  /* of the file; where its data begins */
    pithp_digest digest; /* of its header; format 1: and of the digests of its leaves */
} pithp_doc_sidecar;

typedef struct pithp_arena_chunk pithp_arena_chunk;

/* Growing tables are allocated apart, everything they point at lies in the arena. */
typedef struct pithp_document {
    pith_runtime *rt;
    pithp_arena_chunk *arena;
    int32_t format;
    const char *library;
    int64_t step;
    size_t bytes; /* of the text it was read from */
    struct {
        pithp_doc_sidecar *rows;
        int64_t count, room;
    } sidecars;
    struct {
        pith_metadata *rows;
        int64_t count, room;
    } metadata;
    struct {
        pithp_doc_type *rows;
        int64_t count, room;
    } types;
    struct {
        pithp_doc_node *rows;
        int64_t count, room;
    } nodes;
    struct {
        pith_checkpoint_static *rows;
        int64_t count, room;
    } statics;
    struct {
        pithp_doc_leaf *rows;
        int64_t count, room;
    } leaves;
} pithp_document;

void pithp_document_begin(pithp_document *d, pith_runtime *rt);
void pithp_document_end(pithp_document *d);
/* Memory that lives as long as the document, 16-byte aligned; NULL when short. */
void *pithp_document_allocate(pithp_document *d, size_t bytes);
const char *pithp_document_text(pithp_document *d, const char *text, size_t n);
/* A zeroed row at the end of a table; NULL when memory is short. */
#define pithp_document_add(d, table)                                                     \
    pithp_table_add((d)->rt, &(d)->table.rows, &(d)->table.count, &(d)->table.room,      \
                    sizeof *(d)->table.rows)
void *pithp_table_add(pith_runtime *rt,
                      void *rows_pointer,
                      int64_t *count,
                      int64_t *room,
                      size_t row_bytes);
/* Append the path of a row of the node table. False: it is longer than `most` bytes. */
bool pithp_document_path(const pithp_document *d,
                         int64_t node,
                         size_t most,
                         pithp_text *t);
/* The row of a path; -1: there is none, -2: memory is short. */
int64_t pithp_document_find(const pithp_document *d, const char *path);
/* As far as it fits in an error message. */
const char *pithp_document_error_path(const pithp_document *d,
                                      int64_t node,
                                      char path[PITHP_PATH_BYTES]);
size_t pithp_document_leaf_bytes(const pithp_document *d);

/* The sidecars that the head of a document names. Nothing of it is verified. */
typedef struct pithp_claim {
    char file[256];
    size_t bytes, data;  /* of the file; where its data begins; 0 in format 1 */
    pithp_digest digest; /* of its header */
} pithp_claim;
typedef struct pithp_claims {
    bool is_checkpoint; /* the file begins as a document does */
    char stem[256];     /* of the document's name */
    uid_t owner;        /* of the document */
    int count;
    pithp_claim rows[PITHP_SIDECARS];
} pithp_claims;

/* ---- Text (print.c, parse.c) ---- */

/* Whether a document may name a sidecar so: it stays in its folder, and is not hidden. */
bool pithp_is_file_name(const char *name);
/* Checks of text that JSON could not hold: UTF-8, without surrogates or overlong forms.
 */
bool pithp_is_utf8(const char *text, size_t n);
/* Read the JSON string that a text begins with. False: it is none, or has no room. */
bool pithp_json_string_read(const char *text, size_t n, char *to, size_t room);
/* Read the JSON array of sidecars that a text begins with; none if it is cut off or
 * damaged. False: it is no such array, or memory is short. */
bool pithp_json_claims_read(const char *text, pithp_claims *claims);
/* The document as text, the closing checksum included; t->failed when memory is short. */
void pithp_document_print(const pithp_document *d, pithp_text *t);
/* Fill d from a text. Sets the scope's error; `file` is for its message. */
pith_status pithp_document_parse(pith_scope *s,
                                 pithp_document *d,
                                 const char *file,
                                 const char *text,
                                 size_t n);

#endif
