/**
 * @file
 * Checkpoints: trees to files and back, and files looked into without their C types.
 *
 *     pith_save(s, sim, "melt.json", NULL);
 *     const Sim *sim = pith_load(s, Sim, "melt.json");
 *
 * A checkpoint is a JSON document, with small leaves inside, and a sidecar in safetensors
 * format for large ones (melt.<hash>.safetensors in the same folder). Saving is atomic: a
 * kill at any moment leaves the old or the new checkpoint. Loading is strict: whatever
 * differs between file and program is an error with its path, and every byte that is read
 * is covered by a checksum. docs/reference/checkpoint-format.md describes the format.
 */
#ifndef PITH_CHECKPOINT_H
#define PITH_CHECKPOINT_H

#include <pith/tree.h>

/** A pair of strings that goes into a checkpoint as it is. */
typedef struct pith_metadata {
    const char *key, *value;
} pith_metadata;
/** PITH_METADATA({"author", "me"}, {"run", "17"}) */
#define PITH_METADATA(...) ((const pith_metadata[]){__VA_ARGS__, {NULL, NULL}})

/** Options of pith_save; zero is the default. */
typedef struct pith_save_options {
    bool inline_all PITH_DEFAULT; /**< every leaf in the document: one file */
    /** Leaves of up to so many bytes lie in the document; 0: 1024; negative: none. */
    int64_t inline_bytes PITH_DEFAULT;
    /** 0: the path is one checkpoint, which is replaced. N: it names a series. Each save
     * adds a member, melt.000017.json to "melt.json", and then removes all checkpoints of
     * the series but the newest N. */
    int64_t keep PITH_DEFAULT;
    /** Of a series: what has not changed since its newest member stays in the files of
     * that one, and is not written again. Members then share files, so that damage to one
     * file may strike several of them; without it they have nothing in common. */
    bool incremental PITH_DEFAULT;
    /** Of an incremental series: what is to stay in the files of the newest member is
     * read there and held against its checksum first; a leaf that is damaged is written
     * again. Without it those files are known by their sizes and headers alone. */
    bool check_shared PITH_DEFAULT;
    /** Leaves of the sidecar are compressed by zstd at this level, 1 (fast) to 19, where
     * that pays: those whose field says nothing else (.compress). 0: those alone whose
     * field asks for it; negative: none. */
    int32_t compress PITH_DEFAULT;
    /** Return once the tree is taken, and write on another thread, see pith_save_wait. */
    bool background PITH_DEFAULT;
    int64_t step PITH_DEFAULT; /**< step of the run, for whoever looks inside */
    const pith_metadata *metadata
        PITH_DEFAULT; /**< ends with {NULL, NULL}; keys distinct */
} pith_save_options;

/** What differs between a checkpoint and the program that loads it. */
typedef void (*pith_difference_hook)(const char *path, const char *text, void *closure);

/**
 * A name in a checkpoint, and what the program has for it. Three forms, the same on both
 * sides:
 *
 *     {"Particles", "md.Atoms"}           a record type; "md.Atoms" by PITH_NAMED
 *     {"Units.len", "Units.length"}       a field or static of all records of a type
 *     {".pos", ".atoms.position"}         one node or static, by its path
 *
 * from is always what the file has, to what the program has, so renames do not depend on
 * their order, and two may exchange names. A path may lead to another record or dict,
 * with all that is below the node; items of lists and tuples stay where they are.
 */
typedef struct pith_rename {
    const char *from, *to;
} pith_rename;
/** PITH_RENAMES({"Atoms.pos", "Atoms.position"}, {".dt", ".timestep"}) */
#define PITH_RENAMES(...) ((const pith_rename[]){__VA_ARGS__, {NULL, NULL}})

/** Options of pith_load; zero is the default. */
typedef struct pith_load_options {
    /** Told every difference, also those that the message has no room for, and those that
     * the options allow. */
    pith_difference_hook difference PITH_DEFAULT;
    /** The path names a series (see pith_save_options.keep): load its last member that is
     * whole. One that is damaged is passed over for the one before it, and logged; a
     * member that is whole and does not fit the program is an error. */
    bool newest PITH_DEFAULT;
    /** Told every member that is passed over, by its path, and why. */
    pith_difference_hook passed_over PITH_DEFAULT;
    void *closure PITH_DEFAULT; /**< for both hooks */
    /** Path in the file of the node that is loaded, with what is below it; NULL: all.
     * Paths in errors begin there, but those of a damaged document at its root. */
    const char *at PITH_DEFAULT;
    /** Ends with {NULL, NULL}. Applied before anything is compared. Errors: PITH_E_ARG
     * (not of one form, one name twice) and PITH_E_PATH, the first one; PITH_E_STRUCTURE
     * (nothing of that name in the file, or its new place is taken or does not exist),
     * all of them in one report. */
    const pith_rename *renames PITH_DEFAULT;
    /** A tree of the type that is loaded, from a scope that outlives this call: fields
     * and statics of records, and keys of dicts, that the file lacks are what they are
     * there, with all that is below them. The hook is told each. What the file has must
     * fit, as ever, and its lists and tuples must have as many items as there. NULL: what
     * is missing is an error. */
    const void *initial PITH_DEFAULT;
    /** Fields and statics of records that the program lacks are left out, unread. The
     * hook is told each. */
    bool extra PITH_DEFAULT;
} pith_load_options;

/** A checkpoint that was opened to look inside. */
typedef struct pith_checkpoint pith_checkpoint;

/** What a checkpoint says of itself. */
typedef struct pith_checkpoint_info {
    int32_t format;      /**< version of the file format */
    const char *library; /**< version of pith that wrote it */
    int64_t step;
    int64_t
        node_count; /**< rows of the node table: leaves and absent children included */
    int64_t leaf_count, metadata_count;
    size_t document_bytes;
    size_t leaf_bytes; /**< of all leaves, as arrays */
    int64_t sidecar_count;
    size_t sidecar_bytes; /**< of all of them, as the document states it */
} pith_checkpoint_info;

/** A file beside the document that holds large leaves. Other checkpoints of a series may
 * share it. */
typedef struct pith_checkpoint_sidecar {
    const char *file;   /**< name in the folder of the document */
    size_t bytes;       /**< of the file, as the document states it */
    int64_t leaf_count; /**< of this checkpoint that lie in it */
    size_t leaf_bytes;  /**< that these take there */
} pith_checkpoint_sidecar;

/** A row of the node table. Rows are in walk order: a parent before its children, which
 * follow in their order. Static records come after the tree. */
typedef struct pith_checkpoint_node {
    pith_node_kind kind;
    bool is_static;   /**< a record that is the value of a static of its parent */
    const char *type; /**< records: name of the type; else NULL */
    int32_t version;  /**< records: version of the type */
    int32_t depth;    /**< 0 for the root */
    int64_t parent;   /**< row of the parent; -1 for the root */
    const char *name; /**< field or key; NULL for items and the root */
    int64_t index;    /**< place among the parent's children */
    int64_t child_count;
    int64_t static_count;
    int64_t leaf; /**< number of the leaf; -1 for other nodes */
} pith_checkpoint_node;

/** A static field of a record. */
typedef struct pith_checkpoint_static {
    const char *name;
    pith_static_kind kind;
    int64_t i64; /**< PITH_STATIC_KIND_I64; PITH_STATIC_KIND_BOOL: 0 or 1 */
    double f64;  /**< PITH_STATIC_KIND_F64 */
    const char
        *text;    /**< text (NULL is one), or the name of an enum's value or a dtype */
    int64_t node; /**< PITH_STATIC_KIND_RECORD: its row, -1 for NULL */
} pith_checkpoint_static;

/** A row of the leaf table. */
typedef struct pith_checkpoint_leaf {
    pith_dtype dtype;
    pith_shape shape;
    int64_t count; /**< elements */
    size_t bytes;
    const char *unit;    /**< NULL: none was declared */
    char checksum[33];   /**< XXH3-128 of the elements, little-endian, in hexadecimal */
    int64_t sidecar;     /**< row of the sidecars; -1: it lies in the document */
    size_t stored_bytes; /**< that it takes in its sidecar; 0 in the document */
    bool compressed;     /**< in the sidecar, by zstd */
    int64_t node;        /**< row of the node table */
} pith_checkpoint_leaf;

/** What is in a leaf. NaNs count in nans alone. */
typedef struct pith_leaf_statistics {
    int64_t nans, infinities;
    double least, greatest;           /**< NaN where the leaf has no number */
    double mean;                      /**< of finite elements, accumulated in f64 */
    int64_t least_i64, greatest_i64;  /**< of signed integers and bool, exactly */
    uint64_t least_u64, greatest_u64; /**< of unsigned integers, exactly */
} pith_leaf_statistics;

/** An element as text. */
typedef struct pith_element_text {
    char text[48];
} pith_element_text;

PITH_BEGIN

/**
 * Save a tree. Waits for the device; failures of checks surface here, and then nothing is
 * written.
 *
 * The same state and options (of an incremental series, also the same members before)
 * give the same bytes. A leaf at two places is saved twice. A
 * sidecar of the replaced document is deleted once the new document is durable, unless
 * another document of the folder names it. It must be the document's own by name, owner,
 * size, header and checksum; other files are never deleted.
 *
 * A record type in a PITH_TREE to which no declaration leads from the type of the root
 * is reported to the log hook, once a process: see PITH_USES.
 *
 * Errors: PITH_E_IO (with the system's reason; the old checkpoint is as it was),
 * PITH_E_TRACED and PITH_E_FORMAT (text that is not UTF-8, a bool that is neither 0 nor
 * 1), each with the path; PITH_E_ARG (@p path is NULL, options that do not go together,
 * metadata that is not UTF-8 or has a key twice), PITH_E_UNSUPPORTED (a leaf of more than
 * 2^26 elements inside a document).
 * @return Whether the checkpoint is on the disk; with options.background, whether it is
 *         being written.
 */
PITH_API bool pith_save(pith_scope *s,
                        const void *tree,
                        const char *path,
                        const pith_save_options *options);

/**
 * Wait for what options.background saves.
 *
 * Such a save holds on to the arrays of the tree, which nothing changes, so taking it
 * costs no copy, and the memory that it holds is that of one state: the next one waits
 * for it. Errors of the structure, the options and the folder are reported by
 * pith_save itself. A later error (of the elements or the disk) is reported once, by the
 * next call in any scope of the runtime to this function, pith_save, pith_load or
 * pith_checkpoint_open, or else by pith_close through the log hook. The old checkpoint is
 * unchanged then.
 *
 * Errors: those of pith_save.
 * @return Whether everything is on the disk.
 */
PITH_API bool pith_save_wait(pith_scope *s);

/** Load a checkpoint whose root is a record of T, or pith_array; nil on failure. */
#define pith_load(s, T, path)                                                            \
    ((const T *)pith_load_any((s), T##_pith_type(), (path), NULL))
/**
 * Load a checkpoint, strictly.
 *
 * @param type Type of the root; NULL: any tree. Records that the file holds must be of
 *        types that this process knows: @p type, those that its declaration leads to
 *        (children, static records, PITH_USES), and those whose T_pith_type() was called.
 * @param options NULL for the defaults.
 * Errors: PITH_E_IO, PITH_E_FORMAT (damaged, truncated, no checkpoint, a newer format, a
 * bool that is neither 0 nor 1), PITH_E_TYPE (a type that is unknown, another one, or of
 * a version without upgrade), PITH_E_STRUCTURE (missing, extra or other fields),
 * PITH_E_DTYPE and PITH_E_SHAPE, PITH_E_ARG (@p path is NULL), and those of check and
 * upgrade hooks. All differences are found in one go; the message holds the first ones.
 * If there is no file, but a series of that name, the message says so.
 * @return The tree, or NULL (with a type: its nil record).
 */
PITH_API const void *pith_load_any(pith_scope *s,
                                   const pith_type *type,
                                   const char *path,
                                   const pith_load_options *options);

/* ---- Older versions of a type ---- */

/*
 * A hook that PITH_UPGRADE names takes one record of an older checkpoint to the next
 * version, by the names that the file has:
 *
 *     static void sim_1_to_2(pith_scope *s, pith_upgrade *u) {
 *         pith_upgrade_rename(s, u, ".pos", ".atoms.position");
 *         pith_upgrade_set_f64(s, u, ".timestep", 1e-3 * pith_upgrade_f64(s, u, ".dt"));
 *         pith_upgrade_remove(s, u, ".dt");
 *     }
 *     PITH_NODE(Sim, PITH_TYPE_VERSION(2), PITH_UPGRADE(1, sim_1_to_2), ...)
 *
 * What it does not mention stays as it is. After the hooks of all versions in between the
 * record is loaded as strictly as any other. A record comes before what is below it, so a
 * hook finds its children as the file has them; what it sets is of the program's
 * versions.
 *
 * Paths start at the record (".pos", ".atoms.mass", ".cell.x"). Errors: PITH_E_STRUCTURE
 * (nothing is there, or something of another kind), PITH_E_PATH, PITH_E_ARG (@p u is used
 * outside its hook), and those of reading. They end the load, with the path of the record
 * and both versions. A hook may refuse a record with pith_fail.
 */

/** Whether there is a child, leaf or static. */
PITH_API bool pith_upgrade_has(pith_scope *s, pith_upgrade *u, const char *path);
/** A leaf, read now and once. NULL on failure. It lives until the hook returns. */
PITH_API const pith_array *
pith_upgrade_array(pith_scope *s, pith_upgrade *u, const char *path);
/** Dtype and shape of a leaf, without reading it; NULL on failure. */
PITH_API const pith_spec *
pith_upgrade_spec(pith_scope *s, pith_upgrade *u, const char *path);
/** The value of a static; 0 on failure. */
PITH_API int64_t pith_upgrade_i64(pith_scope *s, pith_upgrade *u, const char *path);
PITH_API double pith_upgrade_f64(pith_scope *s, pith_upgrade *u, const char *path);
PITH_API bool pith_upgrade_bool(pith_scope *s, pith_upgrade *u, const char *path);
/** A string (which may be NULL), or the name of an enum's value or of a dtype; NULL on
 * failure. It lives until the hook returns. */
PITH_API const char *pith_upgrade_text(pith_scope *s, pith_upgrade *u, const char *path);

/** Give a child, leaf or static another name or place, where nothing is yet. */
PITH_API bool
pith_upgrade_rename(pith_scope *s, pith_upgrade *u, const char *from, const char *to);
/** Remove a child, leaf or static, with all that is below it. */
PITH_API bool pith_upgrade_remove(pith_scope *s, pith_upgrade *u, const char *path);
/** Set a leaf or child to any tree, in place of what is there; NULL: absent. Leaves must
 * not be traced. */
PITH_API bool
pith_upgrade_set(pith_scope *s, pith_upgrade *u, const char *path, const void *tree);
/** Set a static, in place of what is there. */
PITH_API bool
pith_upgrade_set_i64(pith_scope *s, pith_upgrade *u, const char *path, int64_t value);
PITH_API bool
pith_upgrade_set_f64(pith_scope *s, pith_upgrade *u, const char *path, double value);
PITH_API bool
pith_upgrade_set_bool(pith_scope *s, pith_upgrade *u, const char *path, bool value);
/** text: UTF-8, copied; NULL is a value. */
PITH_API bool
pith_upgrade_set_text(pith_scope *s, pith_upgrade *u, const char *path, const char *text);
/** name: of a value of the enum. */
PITH_API bool
pith_upgrade_set_enum(pith_scope *s, pith_upgrade *u, const char *path, const char *name);
PITH_API bool pith_upgrade_set_dtype(pith_scope *s,
                                     pith_upgrade *u,
                                     const char *path,
                                     pith_dtype dtype);
/** record: a frozen record without leaves. */
PITH_API bool pith_upgrade_set_record(pith_scope *s,
                                      pith_upgrade *u,
                                      const char *path,
                                      const void *record);

/* ---- Looking inside, without C types ---- */

/**
 * Open a checkpoint: read and check its document, and open its sidecars.
 *
 * A sidecar that is missing or of another size is an error of the calls that read it.
 * What is returned keeps the files open, so later writers do not disturb it.
 *
 * Errors: PITH_E_IO, PITH_E_FORMAT (the document is damaged, or is no checkpoint).
 * @return The checkpoint, owned by @p s, or NULL.
 */
PITH_API const pith_checkpoint *pith_checkpoint_open(pith_scope *s, const char *path);
/** NULL where @p c is no open checkpoint. All texts below live as long as @p c. */
PITH_API const pith_checkpoint_info *pith_checkpoint_about(const pith_checkpoint *c);
/** A pair of the metadata, in the order it was given; {NULL, NULL} where there is none.
 */
PITH_API pith_metadata pith_checkpoint_metadata(const pith_checkpoint *c, int64_t index);
/** Fill a row of the node table; false where there is none. */
PITH_API bool pith_checkpoint_get_node(const pith_checkpoint *c,
                                       int64_t node,
                                       pith_checkpoint_node *row);
/** Fill a static of a row of the node table; false where there is none. */
PITH_API bool pith_checkpoint_get_static(const pith_checkpoint *c,
                                         int64_t node,
                                         int64_t index,
                                         pith_checkpoint_static *field);
/** Fill a row of the leaf table; false where there is none. */
PITH_API bool pith_checkpoint_get_leaf(const pith_checkpoint *c,
                                       int64_t leaf,
                                       pith_checkpoint_leaf *row);
/** Fill a row of the sidecars; false where there is none. */
PITH_API bool pith_checkpoint_get_sidecar(const pith_checkpoint *c,
                                          int64_t sidecar,
                                          pith_checkpoint_sidecar *row);
/** Path of a row of the node table, owned by @p s; NULL with PITH_E_INDEX. */
PITH_API const char *
pith_checkpoint_path(pith_scope *s, const pith_checkpoint *c, int64_t node);
/**
 * Find a row of the node table by its path, written as paths are printed:
 * ".atoms.position", "[3]", "['key']"; "" is the root.
 *
 * @return The row, or -1 with PITH_E_STRUCTURE.
 */
PITH_API int64_t pith_checkpoint_find(pith_scope *s,
                                      const pith_checkpoint *c,
                                      const char *path);
/**
 * Load the leaf at a path, and nothing else of the file, checked against its checksum.
 *
 * Errors: PITH_E_STRUCTURE (no such leaf), PITH_E_FORMAT and PITH_E_IO as pith_load.
 * @return The array, owned by @p s, or NULL.
 */
PITH_API const pith_array *
pith_checkpoint_array(pith_scope *s, const pith_checkpoint *c, const char *path);
/**
 * Load rows of the leaf at a path: @p count of axis 0 from @p first on, shape [count,
 * ...]. Nothing else is read. Rows of a leaf in a sidecar are not checked unless they are
 * all of it, see pith_checkpoint_verify; of a compressed leaf each MiB that holds some
 * is.
 *
 * Errors: those of pith_checkpoint_array, PITH_E_SHAPE (rank 0), PITH_E_INDEX.
 */
PITH_API const pith_array *pith_checkpoint_rows(pith_scope *s,
                                                const pith_checkpoint *c,
                                                const char *path,
                                                int64_t first,
                                                int64_t count);
/**
 * Read elements of a leaf, little-endian, to @p host, which has room for @p bytes:
 * exactly those of @p count elements from @p first on. Whole leaves are checked against
 * their checksum (PITH_E_FORMAT); parts are not, but for those of compressed leaves, see
 * pith_checkpoint_verify. One thread at a time reads compressed leaves of a checkpoint.
 *
 * Errors: PITH_E_INDEX (no such leaf or elements), PITH_E_ARG (the room does not fit),
 * PITH_E_IO, PITH_E_FORMAT.
 */
PITH_API bool pith_checkpoint_read(pith_scope *s,
                                   const pith_checkpoint *c,
                                   int64_t leaf,
                                   int64_t first,
                                   int64_t count,
                                   void *host,
                                   size_t bytes);
/** Check one leaf against its checksum, in bounded memory, and that bools are 0 or 1:
 * PITH_E_FORMAT with its path; PITH_E_IO; PITH_E_INDEX if there is no such leaf. */
PITH_API bool
pith_checkpoint_verify(pith_scope *s, const pith_checkpoint *c, int64_t leaf);
/** Check a leaf and compute its statistics, in bounded memory. */
PITH_API bool pith_checkpoint_statistics(pith_scope *s,
                                         const pith_checkpoint *c,
                                         int64_t leaf,
                                         pith_leaf_statistics *statistics);
/* ---- Other formats: structure and leaves taken apart, and put together again ---- */

/**
 * The structure of a checkpoint as text that another format can carry: nodes, types,
 * statics, units, step and metadata, and no element of a leaf. It is a document by
 * itself, in which every leaf is empty.
 *
 * @return UTF-8 text owned by @p s, or NULL.
 */
PITH_API const char *pith_checkpoint_structure(pith_scope *s, const pith_checkpoint *c);
/**
 * Open a document that lies in memory and needs no sidecar, such as a structure.
 *
 * @param text Read here and not again; it need not end with a 0.
 * Errors: PITH_E_FORMAT.
 */
PITH_API const pith_checkpoint *
pith_checkpoint_parse(pith_scope *s, const char *text, size_t bytes);
/**
 * Save the structure of a checkpoint with these arrays as its leaves, in their order.
 * dtypes and shapes are those of the arrays. With a checkpoint's own arrays and the
 * options that it was saved with, the files are the same, byte for byte.
 *
 * @param options keep, incremental, background, step and metadata must be zero: step and
 *        metadata are those of the structure.
 * Errors: those of pith_save, PITH_E_ARG (other than as many leaves as the structure
 * has).
 */
PITH_API bool pith_checkpoint_save(pith_scope *s,
                                   const pith_checkpoint *c,
                                   int64_t count,
                                   const pith_array *const *leaves,
                                   const char *path,
                                   const pith_save_options *options);
/** The i-th element at @p elements as f64: i64 and u64 beyond 2^53 are rounded. */
PITH_API double pith_element_f64(pith_dtype dtype, const void *elements, int64_t i);
/**
 * The i-th element at @p elements as checkpoints write it: the shortest decimal that
 * reads back exactly; "nan", "inf", "-inf" and, for other NaNs than the usual one,
 * "nan:0x...".
 */
PITH_API pith_element_text pith_element_print(pith_dtype dtype,
                                              const void *elements,
                                              int64_t i);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_save(s, ...)              pith_save(PITH_AT(s), __VA_ARGS__)
#    define pith_save_wait(s)              pith_save_wait(PITH_AT(s))
#    define pith_load_any(s, ...)          pith_load_any(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_has(s, ...)       pith_upgrade_has(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_array(s, ...)     pith_upgrade_array(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_spec(s, ...)      pith_upgrade_spec(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_i64(s, ...)       pith_upgrade_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_f64(s, ...)       pith_upgrade_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_bool(s, ...)      pith_upgrade_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_text(s, ...)      pith_upgrade_text(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_rename(s, ...)    pith_upgrade_rename(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_remove(s, ...)    pith_upgrade_remove(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set(s, ...)       pith_upgrade_set(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_i64(s, ...)   pith_upgrade_set_i64(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_f64(s, ...)   pith_upgrade_set_f64(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_bool(s, ...)  pith_upgrade_set_bool(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_text(s, ...)  pith_upgrade_set_text(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_enum(s, ...)  pith_upgrade_set_enum(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_dtype(s, ...) pith_upgrade_set_dtype(PITH_AT(s), __VA_ARGS__)
#    define pith_upgrade_set_record(s, ...)                                              \
        pith_upgrade_set_record(PITH_AT(s), __VA_ARGS__)
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
#endif
/* End of call sites. */

#endif
