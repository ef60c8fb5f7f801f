/* The document: tables in memory, checksums, and text. */
#ifndef PITHP_CHECKPOINT_DOCUMENT_H
#define PITHP_CHECKPOINT_DOCUMENT_H

#include "pith/checkpoint.h"

#include "tree/tree_internal.h"

#include <sys/types.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files hold little-endian elements, which are written from memory");

enum {
    PITHP_CHECKPOINT_FORMAT = 2,   /* written; older formats can be read */
    PITHP_PARTED_FORMAT = 3,       /* written by the ranks of a mesh, see shard.h */
    PITHP_SIDECARS = 8,            /* maximum per document */
    PITHP_STAGING_BYTES = 4 << 20, /* staging buffer for copies from device memory */
    PITHP_COMPRESS_LEVELS = 19,    /* highest zstd level; the lowest is 1 */
    PITHP_MOST_RATIO = 1024,       /* maximum ratio of element bytes to frame bytes */
    PITHP_FRAME_MOST = (1 << 20) + (1 << 13), /* maximum bytes of a frame */
    PITHP_INLINE_BYTES = 1024,  /* default size of the largest inline leaf */
    PITHP_TENSOR_NAME = 512,    /* maximum bytes of a tensor name */
    PITHP_DIGEST_TEXT = 33,     /* hexadecimal digits and NUL */
    PITHP_DATA_ALIGNMENT = 64,  /* of the data in a sidecar */
    PITHP_CHUNK_BYTES = 1 << 20 /* unit of hashing and compression; fits the cache */
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

enum { PITHP_ELEMENT_TEXT = sizeof(pith_element_text) };
/* Print an element as a JSON number, or as a string if JSON has no such number. Returns
 * the length. */
size_t pithp_element_to_json(pith_dtype dtype,
                             const void *element,
                             char text[PITHP_ELEMENT_TEXT]);
/* Parse an element from a JSON integer, real or string. False: the dtype cannot hold
 * it. */
bool pithp_element_from_i64(pith_dtype dtype, int64_t value, void *element);
bool pithp_element_from_f64(pith_dtype dtype, double value, void *element);
bool pithp_element_from_text(pith_dtype dtype, const char *text, void *element);

/* ---- Documents in memory (document.c) ---- */

typedef struct pithp_doc_type {
    const char *name;
    int32_t version;
} pithp_doc_type;

typedef struct pithp_doc_node {
    pith_node_kind kind;
    bool is_static; /* root of a static record; the parent holds the field */
    int32_t type;   /* index into types; -1: none */
    int32_t depth;
    int64_t parent; /* -1: this is the root */
    int64_t index;  /* among the parent's children; 0 for the root and static records */
    int64_t child_count, last_child; /* last_child: its row, used while rows are added */
    int64_t leaf;
    int64_t first_static, static_count; /* into statics */
    const char *name;                   /* field or key; NULL: neither */
    const void *object;                 /* the node in memory while a tree is saved */
} pithp_doc_node;

/* A chunk of a leaf's elements, compressed. */
typedef struct pithp_zstd_frame {
    size_t begin, bytes; /* relative to the start of the leaf */
    pithp_digest digest; /* of the compressed bytes */
} pithp_zstd_frame;

/* Minimum bytes of a frame with this many bytes of elements. */
static inline size_t pithp_frame_least(size_t elements) {
    return elements / PITHP_MOST_RATIO + 1;
}

/* Prefix of the tensor name of a compressed leaf; no path starts with it. */
#define PITHP_COMPRESSED_PREFIX "zstd:"

typedef struct pithp_doc_leaf {
    pith_dtype dtype;
    pith_shape shape;
    int64_t count;
    size_t bytes;
    int64_t node;
    const char *unit;        /* NULL: no unit */
    const char *tensor;      /* tensor name in the sidecar */
    const void *data;        /* inline elements */
    const pith_array *given; /* loading: replaces the file's elements; or NULL */
    pithp_digest digest;
    bool in_sidecar;
    int32_t sidecar;   /* index of its sidecar */
    size_t begin, end; /* in the data of the sidecar */
    int level;         /* requested compression level; 0: none */
    bool compressed;   /* the sidecar holds zstd frames */
    size_t packed;     /* their bytes if another rank has them; 0: they are here */
    int64_t frame_count;
    pithp_zstd_frame *frames; /* one per PITHP_CHUNK_BYTES of elements */
    /* Of sharded trees. A leaf with `shard` and without counts is parted: its elements
     * lie in the parts; the shape is that of the rows in use of all. */
    const char *shard; /* axes of the mesh, "x,y;z"; NULL: replicated */
    const char *rows;  /* name of the leaf that counts its rows; NULL: none */
    const char *key;   /* its path in the file, which is its key in parts */
    pith_shape part;   /* shape of a shard */
    int64_t counter;   /* with rows: the row of that leaf */
    int64_t *counts;   /* rows in use by rank along the axes; NULL: it counts none */
    int64_t counts_count;
    bool verified; /* of a part: its checksum was compared */
} pithp_doc_leaf;

static inline bool pithp_leaf_is_parted(const pithp_doc_leaf *leaf) {
    return leaf->shard && !leaf->counts;
}

/* A file that a rank wrote: a checkpoint of a dict of its shards, by path. */
typedef struct pithp_doc_part {
    const char *file;
    size_t bytes;
    pithp_digest digest; /* the checksum that ends it */
} pithp_doc_part;

/* An axis of the mesh whose ranks wrote the parts. */
typedef struct pithp_doc_axis {
    const char *name;
    int64_t size;
} pithp_doc_axis;

/* A sidecar referenced by a document. */
typedef struct pithp_doc_sidecar {
    const char *file;    /* its name */
    size_t bytes, data;  /* size of the file; offset of its data */
    pithp_digest digest; /* of its header; format 1: also of the digests of its leaves */
} pithp_doc_sidecar;

typedef struct pithp_arena_chunk pithp_arena_chunk;

/* Growing tables are allocated separately. All data they point to lies in the arena. */
typedef struct pithp_document {
    pith_runtime *rt;
    pithp_arena_chunk *arena;
    int32_t format;
    const char *library;
    int64_t step;
    size_t bytes;          /* size of the text it was read from */
    pithp_digest checksum; /* that ends the text it was read from */
    struct {
        pithp_doc_part *rows; /* by rank */
        int64_t count, room;
    } parts;
    struct {
        pithp_doc_axis *rows;
        int64_t count, room;
    } axes;
    const char *mesh; /* the axes as text, "x=4, y=2"; NULL: there are none */
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
/* Append the rows of all tables but those of files, shallowly: their pointers are valid
 * as long as `from`. False: out of memory (resave.c). */
bool pithp_document_copy(const pithp_document *from, pithp_document *to);
/* Memory that lives as long as the document, 16-byte aligned; NULL: out of memory. */
void *pithp_document_allocate(pithp_document *d, size_t bytes);
const char *pithp_document_text(pithp_document *d, const char *text, size_t n);
/* Append a zeroed row to a table; NULL: out of memory. */
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
                         pithp_string *t);
/* The row at a path; -1: not found, -2: out of memory. */
int64_t pithp_document_find(const pithp_document *d, const char *path);
/* The path, truncated to the size of an error message. */
const char *pithp_document_error_path(const pithp_document *d,
                                      int64_t node,
                                      char path[PITHP_PATH_BYTES]);
size_t pithp_document_leaf_bytes(const pithp_document *d);

/* The sidecars named in the head of a document, unverified. */
typedef struct pithp_claim {
    char file[256];
    size_t bytes, data;  /* size of the file; offset of its data, 0 in format 1 */
    pithp_digest digest; /* of its header */
} pithp_claim;
typedef struct pithp_claims {
    bool is_checkpoint; /* the file starts like a document */
    char stem[256];     /* of the document's name */
    uid_t owner;        /* of the document */
    int count;
    pithp_claim rows[PITHP_SIDECARS];
} pithp_claims;

/* ---- Text (print.c, parse.c) ---- */

/* Receives a leaf, piece by piece in order. */
typedef pith_status (*pithp_chunk_sink)(void *closure,
                                        const void *bytes,
                                        size_t offset,
                                        size_t n);

/* Where the text of a document goes while it is printed, and where the elements of inline
 * leaves without `data` come from. */
typedef struct pithp_document_output {
    void (*add)(void *closure, const char *text, size_t n);
    pith_status (*elements)(void *closure, int64_t leaf, pithp_chunk_sink sink, void *to);
    void *closure;
} pithp_document_output;

/* Whether a name is allowed for a sidecar: a plain file name, not hidden. */
bool pithp_is_file_name(const char *name);
/* Whether text is valid UTF-8, without surrogates and overlong forms. */
bool pithp_is_utf8(const char *text, size_t n);
/* Read the JSON string at the start of a text. False: no string, or too long. */
bool pithp_json_string_read(const char *text, size_t n, char *to, size_t room);
/* Read the JSON array of sidecars at the start of a text. The result is empty if the
 * array is truncated or damaged. False: not such an array, or out of memory. */
bool pithp_json_claims_read(const char *text, pithp_claims *claims);
/* Print the document with its closing checksum; t->failed: out of memory. */
void pithp_document_print(const pithp_document *d, pithp_string *t);
/* The same without the text in memory. PITH_E_MEMORY, or the error of out->elements. */
pith_status pithp_document_print_to(const pithp_document *d,
                                    const pithp_document_output *out);
/* Parse a text into d. Sets the scope's error, which names `file`. */
pith_status pithp_document_parse(pith_scope *s,
                                 pithp_document *d,
                                 const char *file,
                                 const char *text,
                                 size_t n);

#endif
