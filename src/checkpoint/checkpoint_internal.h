/* Within checkpoint: the document as tables in memory, its text, and files. A tree is
 * captured into a document and built from one; nothing but capture.c and load.c knows
 * trees, nothing but the parse*.c knows jansson, nothing but file.c and folder.c knows
 * the system. */
#ifndef PITH_CHECKPOINT_INTERNAL_H
#define PITH_CHECKPOINT_INTERNAL_H

#include "pith/checkpoint.h"

#include "tree/tree_internal.h"

#include <dirent.h>

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

/* ---- Elements as text (number.c) ---- */

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

/* Names of sidecars. */
typedef struct pithp_names {
    int count;
    char names[PITHP_SIDECARS][256];
} pithp_names;

/* ---- Text (print.c, parse.c) ---- */

/* Checks of text that JSON could not hold: UTF-8, without surrogates or overlong forms.
 */
bool pithp_is_utf8(const char *text, size_t n);
/* Append a string as JSON. */
void pithp_json_string(pithp_text *t, const char *text);
/* Read the JSON string that a text begins with. False: it is none, or has no room. */
bool pithp_json_string_read(const char *text, size_t n, char *to, size_t room);
/* Read the members "file" of the JSON array of objects that a text begins with; none
 * where it is cut off or damaged. False: they cannot be told. */
bool pithp_json_files_read(const char *text, pithp_names *names);
/* The document as text, the closing checksum included; t->failed when memory is short. */
void pithp_document_print(const pithp_document *d, pithp_text *t);
/* Fill d from a text. Sets the scope's error; `file` is for its message. */
pith_status pithp_document_parse(pith_scope *s,
                                 pithp_document *d,
                                 const char *file,
                                 const char *text,
                                 size_t n);

/* ---- Compression (pack.c) ---- */

/* Bytes that a frame of so many bytes of elements has at least. */
size_t pithp_frame_least(size_t elements);

typedef struct pithp_packer {
    struct ZSTD_CCtx_s *context;
    unsigned char *packed; /* PITHP_PACK_MOST bytes */
} pithp_packer;

/* False: memory is short. */
bool pithp_packer_begin(pithp_packer *p, pith_runtime *rt);
void pithp_packer_end(pithp_packer *p, pith_runtime *rt);
/* Compress up to PITHP_CHUNK_BYTES into p->packed. Returns the bytes there; 0: memory is
 * short. */
size_t pithp_pack(pithp_packer *p, int level, const void *elements, size_t n);
/* Whether these elements become an eighth smaller. */
bool pithp_pack_pays(pithp_packer *p, int level, const void *elements, size_t n);

typedef struct pithp_unpacker pithp_unpacker;
/* For the leaves of a document; NULL: memory is short. */
pithp_unpacker *pithp_unpacker_make(pith_runtime *rt, const pithp_document *d);
void pithp_unpacker_end(pithp_unpacker *u, pith_runtime *rt);
/* Where a frame is put before it is unpacked to n bytes. False,
 * NULL: it is damaged. */
void *pithp_unpacker_room(pithp_unpacker *u);
bool pithp_unpack(pithp_unpacker *u, const pithp_packed *frame, void *to, size_t n);
/* To memory of the unpacker, where it is found again until the next one. */
const void *pithp_unpack_kept(pithp_unpacker *u, const pithp_packed *frame, size_t n);
const void *pithp_unpacker_find(const pithp_unpacker *u, const pithp_packed *frame);

/* ---- Sidecars (sidecar.c) ---- */

/* Name the tensor of a leaf, or those of all that go to sidecars, by their paths; a
 * packed one has PITHP_PACKED before it, which no path begins with. False: memory is
 * short. */
#define PITHP_PACKED "zstd:"
bool pithp_sidecar_name_tensor(pithp_document *d, int64_t number);
bool pithp_sidecar_name_tensors(pithp_document *d);
/* The leaves of a sidecar in the order of their data: element size falling, then name;
 * compressed ones last. NULL when memory is short. */
int64_t *pithp_sidecar_layout(const pithp_document *d, int32_t sidecar, int64_t *count);
/* Give them their places, as many bytes as each is stored in (what is to be compressed:
 * as many as it may come to), and print the header of the safetensors file, padded to
 * `least` bytes or more. */
void pithp_sidecar_header(pithp_document *d,
                          int32_t sidecar,
                          const int64_t *order,
                          int64_t count,
                          size_t least,
                          pithp_text *header);
/* Digest of all of a sidecar: of its header, then of the digests of its leaves (those of
 * frames too) in data order. */
pithp_digest pithp_sidecar_digest(const pithp_document *d,
                                  const void *header,
                                  size_t header_bytes,
                                  const int64_t *order,
                                  int64_t count);
/* Leaves in sidecars by sidecar and place; checks that they lie apart, and where the
 * sidecar is this document's alone (format 1) that they cover it. */
pith_status pithp_sidecar_order(pith_scope *s,
                                const pithp_document *d,
                                const char *file,
                                int64_t **order,
                                int64_t *count);

/* ---- Files (file.c, folder.c) ---- */

enum { PITHP_TEMPORARY_NAME = 64 };
/* A name that no other writer has: ".pith-<process>-<number>.tmp". */
void pithp_temporary_name(char name[PITHP_TEMPORARY_NAME]);

/* Writes to a temporary file of a folder, which it locks as long as it is open. */
typedef struct pithp_writer {
    pith_runtime *rt;
    int folder, file;                /* -1: not open */
    char name[PITHP_TEMPORARY_NAME]; /* of the temporary file; "" once it has its own */
    unsigned char *buffer;
    size_t used;
    size_t written, started; /* bytes given to the system; and begun to go to the disk */
    struct pithp_direct *direct; /* takes all bytes in place of the buffer; NULL */
    int error;                   /* errno of the first failure; 0 */
    const char *failed_call;     /* what failed, such as "write" */
} pithp_writer;

/* A folder and a name in it, symbolic links of the file itself resolved. */
typedef struct pithp_place {
    int folder;        /* descriptor; -1 */
    char name[256];    /* of the file in it */
    unsigned mode;     /* permissions of the file that is there; 0: there is none */
    const char *shown; /* the path as the user gave it, for messages */
} pithp_place;

pith_status pithp_place_open(pith_scope *s, const char *path, pithp_place *place);
void pithp_place_close(pithp_place *place);

/* expected: bytes that will be written, so that a full disk is found early */
void pithp_writer_open(pithp_writer *w,
                       pith_runtime *rt,
                       const pithp_place *at,
                       size_t expected);
void pithp_writer_add(pithp_writer *w, const void *bytes, size_t n);
/* Large data goes from where it lies, hashed on the way. */
void pithp_writer_add_hashed(pithp_writer *w,
                             const void *bytes,
                             size_t n,
                             pithp_hasher *h);
/* Replace bytes at the start of what was added. */
void pithp_writer_put_first(pithp_writer *w, const void *bytes, size_t n);
/* Everything is on the disk. */
void pithp_writer_sync(pithp_writer *w);
/* Give the file its name, in place of an older one. */
void pithp_writer_rename(pithp_writer *w, const char *name);
/* Close; a file that has not got its name goes away. */
void pithp_writer_close(pithp_writer *w);
/* PITH_OK, or the scope's error is set from the writer's. */
pith_status pithp_writer_status(pith_scope *s, const pithp_writer *w, const char *shown);

/* One writer at a time commits in a folder, and nobody while a reader holds the lock;
 * waits for others, up to a minute. */
pith_status pithp_folder_lock(pith_scope *s, const pithp_place *place);
void pithp_folder_unlock(const pithp_place *place);
int pithp_folder_sync(const pithp_place *place); /* 0, or errno */
/* The folder's files; NULL with errno. */
DIR *pithp_folder_list(int folder);
/* Whether a file of that name and size is there. */
bool pithp_sidecar_is_there(int folder, const pithp_doc_sidecar *sidecar);
/* Whether its header, or a leaf in it, is what the document says, which has format 2;
 * also false where it cannot be read (sound.c). */
bool pithp_sidecar_is_sound(pith_runtime *rt,
                            int folder,
                            const pithp_doc_sidecar *sidecar,
                            const pithp_doc_leaf *leaf);
/* Remove those sidecars that no document of the folder names, the file `except` aside.
 * Only with the folder locked: a document that is being renamed could be missed. False:
 * one may be there for nobody; the document `except` has to stay, for whoever sweeps
 * next. */
bool pithp_folder_drop_sidecars(int folder,
                                const pithp_names *sidecars,
                                const char *except);
/* Whether a sidecar may be called so: it stays in its folder, and is not hidden. */
bool pithp_is_file_name(const char *name);
/* The beginning of a document, which names its sidecars. 0, errno, or -1 where the file
 * ended before. */
enum { PITHP_HEAD_BYTES = 16384 };
int pithp_head_read(int file, size_t bytes, char head[PITHP_HEAD_BYTES + 1]);
bool pithp_head_is_checkpoint(const char *head);
/* What is no checkpoint, or one so damaged that nobody will ever load it, names none.
 * False: they cannot be told. */
bool pithp_head_sidecars(const char *head, pithp_names *sidecars);
/* The sidecars that the document `name` of a folder names. False: the file is there and
 * cannot be read. */
bool pithp_folder_sidecars_of(int folder, const char *name, pithp_names *sidecars);
/* Remove temporary files whose writers are dead, and sidecars that only those name. Only
 * with the folder locked. */
void pithp_folder_sweep(int folder);

/* Write all of n bytes, in as many calls as it takes; 0, or errno. */
int pithp_file_write(int file, const void *bytes, size_t n);

/* Open a regular file to read; never waits, follows no link. -1 with errno; EINVAL: what
 * is there is no regular file. */
int pithp_file_open(int folder, const char *name, size_t *bytes);
/* Read exactly n bytes; 0, errno, or -1 where the file ended before. */
int pithp_file_read(int file, void *to, size_t n, size_t offset);

/* ---- Series (series.c) ---- */

/* Numbers of the members, the newest first. */
typedef struct pithp_series {
    int64_t *numbers, count, room;
} pithp_series;

/* Bytes of a file's name before ".json", all where it does not end so. */
size_t pithp_stem(const char *name);
/* "melt.000017.json" of "melt.json" and 17. False: it is too long for a file. */
bool pithp_series_name(const char *series, int64_t number, char name[256]);
/* 0, or errno. */
int pithp_series_list(pith_runtime *rt,
                      int folder,
                      const char *series,
                      pithp_series *members);
void pithp_series_end(pith_runtime *rt, pithp_series *members);
/* Turn a place of the series into that of its next member. Only with the folder locked,
 * as the next one. */
pith_status pithp_series_next(pith_scope *s, pithp_place *place);
/* Remove all but the newest members, with their sidecars. */
void pithp_series_prune(pith_runtime *rt, int folder, const char *series, int64_t keep);
/* Sees an open checkpoint; leaves an error in s where it could not be read. */
typedef void pithp_series_visit(pith_scope *s, pith_checkpoint *c, void *closure);
/* Let the newest member be visited, and, as long as the error is that what was visited is
 * damaged, the one before it. What was passed over is told and logged. */
void pithp_series_newest(pith_scope *s,
                         const char *path,
                         const pith_load_options *options,
                         pithp_series_visit *visit,
                         void *closure);

/* ---- Trees (capture.c, compare.c, adapt.c) ---- */

/* The rows of a tree, with the arrays of its leaves; the list lives with the document. */
pith_status pithp_capture(pith_scope *s,
                          const void *tree,
                          pithp_document *d,
                          const pith_array ***arrays);

/* A static of a frozen record; the row of a static record is not known yet. */
pith_status pithp_capture_static(pith_scope *s,
                                 const pith_field *field,
                                 const char *record,
                                 pith_checkpoint_static *value);

/* What differs between a document and a program: all are counted and told to the user's
 * hook, the first ones are kept as text. */
typedef struct pithp_differences {
    pith_scope *s;
    const pithp_document *d;
    const pith_load_options *options;
    int64_t count, shown; /* shown: those that the text holds */
    pith_status code;     /* of the first, as is the path */
    char path[PITHP_PATH_BYTES];
    char text[PITHP_MESSAGE_BYTES];
} pithp_differences;

/* field NULL: at the node itself, else at that field of it. */
void pithp_differences_add(pithp_differences *r,
                           pith_status code,
                           int64_t node,
                           const char *field,
                           const char *format,
                           ...) PITH_FORMAT(5, 6);
/* At a path of the user's. */
void pithp_differences_at(pithp_differences *r,
                          pith_status code,
                          const char *path,
                          const char *format,
                          ...) PITH_FORMAT(4, 5);
/* One that the options allow: only told. */
void pithp_differences_tell(pithp_differences *r,
                            int64_t node,
                            const char *field,
                            const char *format,
                            ...) PITH_FORMAT(4, 5);
/* Turn the error of s, whose path starts at a node, into a difference. */
void pithp_differences_take(pithp_differences *r, pith_scope *s, int64_t node);
/* PITH_OK, or all of them as the scope's error. */
pith_status pithp_differences_end(const pithp_differences *r);

/* Change the document in memory, as the options and upgrade hooks say. What is made on
 * the way lives in `scope`, which the caller opened in r->s for it. */
pith_status pithp_adapt(pith_scope *scope,
                        pith_checkpoint *c,
                        const pith_type *type,
                        pithp_differences *r);

/* The children of every node: those of i are rows[base[i]] to rows[base[i + 1] - 1]. */
typedef struct pithp_children {
    int64_t *base, *rows;
} pithp_children;

/* The child row of a record with that name, -1; `at` is where it is looked for first. */
int64_t pithp_child_named(const pithp_document *d,
                          const pithp_children *children,
                          int64_t node,
                          const char *name,
                          int64_t at);
/* "i64", "text", ...: for messages. */
const char *pithp_static_kind_name(pith_static_kind kind);
/* The hook that takes records of a type from a version to the next, NULL. */
typedef void (*pithp_upgrade_hook)(pith_scope *s, pith_upgrade *u);
pithp_upgrade_hook pithp_upgrade_from(const pith_type *type, int32_t version);
/* The static of a record with that name, NULL. */
const pith_checkpoint_static *
pithp_static_named(const pithp_document *d, int64_t node, const char *name);
/* Compare the rows with what the program declares. types[i]: of the i-th row of the type
 * table, NULL where it is unknown or has another version, which is a difference too. */
void pithp_compare(pithp_differences *r,
                   const pithp_children *children,
                   const pith_type *const *types);

/* ---- Content of arrays (content.c) ---- */

/* Receives a leaf piece by piece; pieces are whole elements. */
typedef pith_status (*pithp_leaf_sink)(void *closure,
                                       const void *bytes,
                                       size_t offset,
                                       size_t n);
/* All of an array, piece by piece through `staging`, which has room for a piece; NULL
 * where the device's memory can be read as it is. */
pith_status pithp_content_pieces(pith_scope *s,
                                 const pith_array *a,
                                 void *staging,
                                 size_t piece_bytes,
                                 pithp_leaf_sink sink,
                                 void *closure);
/* Digest of an array's elements; staging: PITHP_STAGING_BYTES, or NULL as above. */
pith_status pithp_content_digest(pith_scope *s,
                                 const pith_array *a,
                                 void *staging,
                                 pithp_digest *digest);
/* So that it is not computed again. */
void pithp_content_remember(const pith_array *a, pithp_digest digest);

/* ---- Incremental saving (share.c) ---- */

/* Let leaves of d that the newest member of a series holds as they are stay in its
 * sidecars, of which d gets rows; the other leaves of sidecars are left for the row
 * behind these. All that are to go to a sidecar have the name of their tensor. check:
 * leaves are read there and held against their checksums. */
pith_status pithp_share(pith_scope *s,
                        pithp_document *d,
                        const pith_array *const *arrays,
                        const pithp_place *series,
                        bool check,
                        void *staging);

/* ---- Saving (save.c, background.c) ---- */

/* A tree that was captured, to be written. The scope carries what fails. */
typedef struct pithp_saving pithp_saving;
/* NULL: the scope's error is set. The tree has to live until the end. */
pithp_saving *pithp_saving_begin(pith_scope *s,
                                 const void *tree,
                                 const char *path,
                                 const pith_save_options *options);
/* The structure of a checkpoint with other arrays at its leaves; both have to live until
 * the end. */
typedef struct pithp_rebuilding {
    const pith_checkpoint *checkpoint;
    const pith_array *const *leaves;
} pithp_rebuilding;
pithp_saving *pithp_saving_begin_again(pith_scope *s,
                                       const pithp_rebuilding *from,
                                       const char *path,
                                       const pith_save_options *options);
/* As pithp_capture (rebuild.c). */
pith_status pithp_rebuild(pith_scope *s,
                          const pithp_rebuilding *from,
                          pithp_document *d,
                          const pith_array ***arrays);
pith_status pithp_saving_write(pithp_saving *v);
void pithp_saving_end(pithp_saving *v);

/* Write on a thread of its own; the one before it is waited for. */
pith_status pithp_background_start(pith_scope *s,
                                   const void *tree,
                                   const char *path,
                                   const pith_save_options *options);
/* Wait for what is being written, and take over the failure of what was. */
pith_status pithp_background_settle(pith_scope *s);

/* ---- An open checkpoint (open.c) ---- */

/* A sidecar of an open checkpoint, or why it cannot be read. */
typedef struct pithp_open_sidecar {
    int file;            /* descriptor; -1 */
    pith_status trouble; /* PITH_OK: there is none */
    char text[512];
    int64_t leaf_count; /* of the checkpoint that lie in it */
    size_t leaf_bytes;  /* that they take there */
} pithp_open_sidecar;

struct pith_checkpoint {
    pithp_document document;
    pith_checkpoint_info info;
    pithp_hold *hold; /* of the scope that owns it */
    pithp_open_sidecar sidecars[PITHP_SIDECARS];
    int64_t *order; /* leaves in sidecars, by sidecar and place */
    int64_t order_count;
    pithp_unpacker *unpacker; /* NULL: no leaf is compressed */
    char shown[256];          /* path as the user gave it, cut where it is long */
};

/* Whether a pointer is an open checkpoint; safe for any. */
bool pithp_checkpoint_valid(const pith_checkpoint *c);
/* Open a checkpoint, owned by s. NULL: the scope's error is set. */
pith_checkpoint *pithp_checkpoint_open(pith_scope *s, const char *path);
pith_checkpoint *pithp_checkpoint_open_at(pith_scope *s, const pithp_place *place);
/* A document that needs no sidecar, from memory. */
pith_checkpoint *pithp_checkpoint_parse(pith_scope *s, const char *text, size_t bytes);
/* Close it before its scope does. */
void pithp_checkpoint_close(pith_scope *s, pith_checkpoint *c);
/* PITH_OK, or the scope's error is why a leaf (NULL: any of them) cannot be read. To be
 * asked before memory is: only a document claims the leaves. */
pith_status pithp_checkpoint_trouble(pith_scope *s,
                                     const pith_checkpoint *c,
                                     const pithp_doc_leaf *leaf);
/* Bytes of a leaf; the checksum is not looked at. */
pith_status pithp_leaf_part(pith_scope *s,
                            const pith_checkpoint *c,
                            const pithp_doc_leaf *leaf,
                            size_t offset,
                            void *to,
                            size_t n);
/* Fill an array with a leaf, verified; staging: PITHP_CHUNK_BYTES, NULL where the
 * device's memory can be written as it is (part.c). */
pith_status pithp_leaf_fill(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t leaf,
                            const pith_array *array,
                            void *staging);
/* A leaf as an array of s, verified; NULL: the scope's error is set (part.c). */
const pith_array *pithp_leaf_load(pith_scope *s, const pith_checkpoint *c, int64_t leaf);
/* Read a leaf and verify its checksum: to `to`, if that is not NULL, else piece by piece
 * through `staging` of PITHP_CHUNK_BYTES; every piece goes to `sink`, if that is not
 * NULL. */
pith_status pithp_leaf_read(pith_scope *s,
                            const pith_checkpoint *c,
                            int64_t leaf,
                            void *to,
                            void *staging,
                            pithp_leaf_sink sink,
                            void *closure);

#endif
