/**
 * @file
 * Inspection of checkpoints without C types: nodes, statics, leaves and sidecars, and
 * conversion to other formats.
 */
#ifndef PITH_CHECKPOINT_INSPECT_H
#define PITH_CHECKPOINT_INSPECT_H

#include <pith/checkpoint.h>
#include <pith/shard.h>

/** An open checkpoint, for inspection. */
typedef struct pith_checkpoint pith_checkpoint;

/** Summary of a checkpoint. */
typedef struct pith_checkpoint_info {
    int32_t format;      /**< version of the file format */
    const char *library; /**< version of pith that wrote it */
    int64_t step;
    /** Rows of the node table, leaves and absent children included. */
    int64_t node_count;
    int64_t leaf_count, metadata_count;
    size_t document_bytes;
    size_t leaf_bytes; /**< size of all leaves as arrays */
    int64_t sidecar_count;
    size_t sidecar_bytes; /**< size of all sidecars, as the document states it */
    int64_t part_count;   /**< files of the ranks of a mesh, in format 3; else 0 */
    const char *mesh;     /**< axes of that mesh, "x=4, y=2"; NULL: there are no parts */
} pith_checkpoint_info;

/**
 * A file beside the document that holds large leaves. Checkpoints of a series may share
 * it.
 */
typedef struct pith_checkpoint_sidecar {
    const char *file;   /**< name in the folder of the document */
    size_t bytes;       /**< size of the file, as the document states it */
    int64_t leaf_count; /**< number of leaves of this checkpoint in the file */
    size_t leaf_bytes;  /**< size of these leaves in the file */
} pith_checkpoint_sidecar;

/** A file beside the document that holds the shards of a rank: a checkpoint of a dict. */
typedef struct pith_checkpoint_part {
    const char *file; /**< name in the folder of the document */
    size_t bytes;     /**< size of the file without its sidecar, as the document states */
    int64_t rank;
} pith_checkpoint_part;

/**
 * A row of the node table. Rows are in walk order: a parent comes before its children,
 * and children keep their order. Static records come after the tree.
 */
typedef struct pith_checkpoint_node {
    pith_node_kind kind;
    bool is_static; /**< true for a record that is the value of a static of its parent */
    const char *type; /**< records: name of the type; else NULL */
    int32_t version;  /**< records: version of the type */
    int32_t depth;    /**< 0 for the root */
    int64_t parent;   /**< row of the parent; -1 for the root */
    const char *name; /**< field or key; NULL for items and the root */
    int64_t index;    /**< position among the parent's children */
    int64_t child_count;
    int64_t static_count;
    int64_t leaf; /**< number of the leaf; -1 for other nodes */
} pith_checkpoint_node;

/** A static field of a record. */
typedef struct pith_checkpoint_static {
    const char *name;
    pith_static_kind kind;
    int64_t i64; /**< PITH_STATIC_KIND_I64; PITH_STATIC_KIND_BOOL as 0 or 1 */
    double f64;  /**< PITH_STATIC_KIND_F64 */
    /**
     * A text (which may be NULL), the name of an enum's value, or the name of a dtype.
     */
    const char *text;
    int64_t node; /**< PITH_STATIC_KIND_RECORD: row of the record, -1 for NULL */
} pith_checkpoint_static;

/** A row of the leaf table. */
typedef struct pith_checkpoint_leaf {
    pith_dtype dtype;
    pith_shape shape;
    int64_t count; /**< number of elements */
    size_t bytes;
    const char *unit;    /**< NULL: the field declares no unit */
    char checksum[33];   /**< XXH3-128 of the little-endian elements, in hexadecimal */
    int64_t sidecar;     /**< row of its sidecar; -1: the document holds the leaf */
    size_t stored_bytes; /**< size in its sidecar; 0 in the document */
    bool compressed;     /**< true if zstd compresses it in the sidecar */
    int64_t node;        /**< row of the node table */
    /**
     * Axes of the mesh for each axis of the leaf, "x,y;z"; its elements lie in the parts.
     * NULL: the leaf is not sharded.
     */
    const char *shard;
    const char *rows; /**< name of the leaf that counts its rows in use; or NULL */
    pith_shape part;  /**< of a sharded leaf: shape of a shard */
} pith_checkpoint_leaf;

/** Statistics of a leaf. NaNs contribute to `nans` only. */
typedef struct pith_leaf_statistics {
    int64_t nans, infinities;
    double least, greatest; /**< NaN if no element is a number */
    double mean;            /**< mean of the finite elements, accumulated in f64 */
    int64_t least_i64, greatest_i64;  /**< exact, for signed integers and bool */
    uint64_t least_u64, greatest_u64; /**< exact, for unsigned integers */
} pith_leaf_statistics;

/** An element as text. */
typedef struct pith_element_text {
    char text[48];
} pith_element_text;

PITH_BEGIN

/**
 * Open a checkpoint: read and verify its document, and open its sidecars.
 *
 * A sidecar that is missing or has another size does not fail this call. Functions that
 * read the sidecar report the error. The result keeps its files open, so later saves do
 * not affect it.
 *
 * @par Errors
 * PITH_E_IO: the document cannot be read. PITH_E_FORMAT: the document is damaged or is no
 * checkpoint.
 *
 * @return The checkpoint, owned by @p s, or NULL.
 */
PITH_API const pith_checkpoint *pith_checkpoint_open(pith_scope *s, const char *path);
/**
 * Get the summary of a checkpoint; NULL if @p c is no open checkpoint. This and all texts
 * of the functions below are valid as long as @p c.
 */
PITH_API const pith_checkpoint_info *pith_checkpoint_about(const pith_checkpoint *c);
/**
 * Get a metadata pair by its position in the saved list; {NULL, NULL} if @p index is out
 * of range.
 */
PITH_API pith_metadata pith_checkpoint_metadata(const pith_checkpoint *c, int64_t index);
/** Copy a row of the node table to @p row; false if @p node is out of range. */
PITH_API bool pith_checkpoint_get_node(const pith_checkpoint *c,
                                       int64_t node,
                                       pith_checkpoint_node *row);
/** Copy a static of a node to @p field; false if @p node or @p index is out of range. */
PITH_API bool pith_checkpoint_get_static(const pith_checkpoint *c,
                                         int64_t node,
                                         int64_t index,
                                         pith_checkpoint_static *field);
/** Copy a row of the leaf table to @p row; false if @p leaf is out of range. */
PITH_API bool pith_checkpoint_get_leaf(const pith_checkpoint *c,
                                       int64_t leaf,
                                       pith_checkpoint_leaf *row);
/** Copy a row of the table of sidecars to @p row; false if @p sidecar is out of range. */
PITH_API bool pith_checkpoint_get_sidecar(const pith_checkpoint *c,
                                          int64_t sidecar,
                                          pith_checkpoint_sidecar *row);
/** Copy a row of the table of parts to @p row; false if @p part is out of range. */
PITH_API bool pith_checkpoint_get_part(const pith_checkpoint *c,
                                       int64_t part,
                                       pith_checkpoint_part *row);
/**
 * Get the path of a row of the node table.
 *
 * @par Errors
 * PITH_E_INDEX: @p node is out of range.
 *
 * @return The path, owned by @p s, or NULL.
 */
PITH_API const char *
pith_checkpoint_path(pith_scope *s, const pith_checkpoint *c, int64_t node);
/**
 * Find a row of the node table by its path.
 *
 * @param path A path in the printed form: ".atoms.position", "[3]", "['key']"; "" is the
 *        root.
 *
 * @par Errors
 * PITH_E_STRUCTURE: no node has this path.
 *
 * @return The row, or -1 on failure.
 */
PITH_API int64_t pith_checkpoint_find(pith_scope *s,
                                      const pith_checkpoint *c,
                                      const char *path);
/**
 * Load one leaf and verify its checksum. No other leaf is read.
 *
 * @par Errors
 * PITH_E_STRUCTURE: no leaf has this path. PITH_E_FORMAT and PITH_E_IO: as for
 * pith_load_any.
 *
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_array *
pith_checkpoint_array(pith_scope *s, const pith_checkpoint *c, const char *path);
/**
 * Load @p count rows of a leaf along axis 0, starting at row @p first.
 *
 * No other row is read. For an uncompressed leaf in a sidecar, the checksum is verified
 * only if the rows are the whole leaf; see pith_checkpoint_verify. For a compressed leaf,
 * the checksum of each MiB that contains requested rows is verified.
 *
 * @par Errors
 * PITH_E_SHAPE: the leaf has rank 0. PITH_E_INDEX: the rows are out of range. Also all
 * errors of pith_checkpoint_array.
 *
 * @return The array [count, ...], owned by @p s, or NULL.
 */
PITH_API const pith_array *pith_checkpoint_rows(pith_scope *s,
                                                const pith_checkpoint *c,
                                                const char *path,
                                                int64_t first,
                                                int64_t count);
/**
 * Read @p count elements of a leaf, starting at element @p first, as little-endian bytes.
 *
 * A whole leaf is verified against its checksum. A part of a leaf is verified only if the
 * leaf is compressed; see pith_checkpoint_verify. A lock serialises threads that read
 * compressed leaves of one checkpoint.
 *
 * @param host Destination of @p bytes bytes.
 * @param bytes Exactly the size of @p count elements.
 *
 * @par Errors
 * PITH_E_INDEX: the leaf or the elements are out of range. PITH_E_ARG: @p bytes is wrong.
 * PITH_E_IO: the file cannot be read. PITH_E_FORMAT: the checksum differs.
 *
 * @return Whether the elements were read.
 */
PITH_API bool pith_checkpoint_read(pith_scope *s,
                                   const pith_checkpoint *c,
                                   int64_t leaf,
                                   int64_t first,
                                   int64_t count,
                                   void *host,
                                   size_t bytes);
/**
 * Verify one leaf in bounded memory: its checksum, and that bools are 0 or 1.
 *
 * @par Errors
 * PITH_E_FORMAT: the leaf is damaged; the message has its path. PITH_E_IO: the file
 * cannot be read. PITH_E_INDEX: @p leaf is out of range.
 *
 * @return Whether the leaf is valid.
 */
PITH_API bool
pith_checkpoint_verify(pith_scope *s, const pith_checkpoint *c, int64_t leaf);
/**
 * Verify a leaf and compute its statistics in bounded memory.
 *
 * @par Errors
 * All errors of pith_checkpoint_verify.
 *
 * @return Whether the leaf is valid and @p statistics is set.
 */
PITH_API bool pith_checkpoint_statistics(pith_scope *s,
                                         const pith_checkpoint *c,
                                         int64_t leaf,
                                         pith_leaf_statistics *statistics);

/* ---- Other formats: separate structure and leaves, and combine them again ---- */

/**
 * Get the structure of a checkpoint as a text for storage in another format.
 *
 * The text has the nodes, types, statics, units, step and metadata, and no element of a
 * leaf. It is itself a document in which every leaf is empty.
 *
 * @return UTF-8 text, owned by @p s, or NULL.
 */
PITH_API const char *pith_checkpoint_structure(pith_scope *s, const pith_checkpoint *c);
/**
 * Open a document in memory that needs no sidecar, such as a structure.
 *
 * @param text The document. The call reads it once. A terminating 0 is not necessary.
 * @param bytes Length of @p text.
 *
 * @par Errors
 * PITH_E_FORMAT: the document is damaged or is no checkpoint.
 *
 * @return The checkpoint, owned by @p s, or NULL.
 */
PITH_API const pith_checkpoint *
pith_checkpoint_parse(pith_scope *s, const char *text, size_t bytes);
/**
 * Save the structure of a checkpoint with @p leaves as its leaves, in their order.
 *
 * dtypes and shapes come from the arrays. With the checkpoint's own arrays and its
 * original options, the files are equal to the originals byte for byte.
 *
 * @param leaves NULL: those of @p c itself, which are read and written piece by piece in
 *        bounded memory.
 * @param options The members keep, incremental, background, step and metadata must be
 *        zero. Step and metadata come from the structure.
 *
 * @par Errors
 * PITH_E_ARG: @p count differs from the number of leaves of the structure. Without
 * @p leaves all errors of pith_checkpoint_verify. Also all errors of pith_save.
 *
 * @return Whether the checkpoint is on the disk.
 */
PITH_API bool pith_checkpoint_save(pith_scope *s,
                                   const pith_checkpoint *c,
                                   int64_t count,
                                   const pith_array *const *leaves,
                                   const char *path,
                                   const pith_save_options *options);
/**
 * Save a checkpoint as the ranks of a mesh would have saved it: a part for each rank. No
 * mesh is open; one process writes all parts, piece by piece in bounded memory.
 *
 * Rows that are counted are divided evenly, as by pith_shard; from a checkpoint of as
 * many ranks each keeps its own. Rows that are not in use are zero. The leaf that counts
 * rows needs no spec. Statics stay: those of a document are of the whole.
 *
 * @param axes Names and sizes of the axes; see PITH_MESH_AXES. No size is 0.
 * @param specs How leaves are sharded; see PITH_SPECS. Leaves that no path leads to, or
 *        all (NULL), stay as they are in @p c: sharded, or replicated.
 * @param options Only inline_all, inline_bytes and compress may be set. NULL for the
 *        defaults.
 *
 * @par Errors
 * PITH_E_ARG: an axis, spec or option is invalid, or no leaf is sharded. PITH_E_PATH: a
 * path of a spec leads to no leaf, or rows are counted by no leaf. PITH_E_SHAPE: an
 * extent that is not counted is no multiple of the ranks along its axes, or not all rows
 * of a counted leaf are in use. PITH_E_DTYPE: rows are counted by a leaf that is not
 * i64[]. Also all errors of pith_checkpoint_verify and of pith_save.
 *
 * @return Whether the checkpoint is on the disk.
 */
PITH_API bool pith_checkpoint_shard(pith_scope *s,
                                    const pith_checkpoint *c,
                                    const pith_mesh_axis *axes,
                                    const pith_shard_spec *specs,
                                    const char *path,
                                    const pith_save_options *options);
/**
 * Convert the i-th element at @p elements to f64. i64 and u64 beyond 2^53 are rounded.
 */
PITH_API double pith_element_f64(pith_dtype dtype, const void *elements, int64_t i);
/**
 * Convert the i-th element at @p elements to text, as checkpoints write it.
 *
 * Numbers are the shortest decimals that read back exactly. Other values are "nan",
 * "inf", "-inf", and "nan:0x..." for NaNs other than the default NaN.
 */
PITH_API pith_element_text pith_element_print(pith_dtype dtype,
                                              const void *elements,
                                              int64_t i);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_checkpoint_open(s, ...)   pith_checkpoint_open(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_path(s, ...)   pith_checkpoint_path(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_find(s, ...)   pith_checkpoint_find(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_array(s, ...)  pith_checkpoint_array(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_rows(s, ...)   pith_checkpoint_rows(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_read(s, ...)   pith_checkpoint_read(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_verify(s, ...) pith_checkpoint_verify(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_statistics(s, ...)                                           \
        pith_checkpoint_statistics(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_structure(s, ...)                                            \
        pith_checkpoint_structure(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_parse(s, ...) pith_checkpoint_parse(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_save(s, ...)  pith_checkpoint_save(PITH_AT(s), __VA_ARGS__)
#    define pith_checkpoint_shard(s, ...) pith_checkpoint_shard(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
