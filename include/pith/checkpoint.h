/**
 * @file
 * Checkpoints: save trees to files and load them. checkpoint_inspect.h reads files
 * without their C types.
 *
 *     pith_save(s, sim, "melt.json", NULL);
 *     const Sim *sim = pith_load(s, Sim, "melt.json");
 *
 * A checkpoint is a JSON document. Small leaves lie inside the document. Large leaves lie
 * in a sidecar, a file in safetensors format in the same folder
 * (melt.<hash>.safetensors).
 *
 * Saving is atomic: if the process is killed, the old or the new checkpoint remains
 * complete. Loading is strict: each difference between the file and the program is an
 * error with its path. Checksums cover every byte that a load reads.
 * docs/reference/checkpoint-format.md describes the format.
 */
#ifndef PITH_CHECKPOINT_H
#define PITH_CHECKPOINT_H

#include <pith/tree.h>

/** A pair of strings that a checkpoint stores unchanged. */
typedef struct pith_metadata {
    const char *key, *value;
} pith_metadata;
/** Make a list of metadata: PITH_METADATA({"author", "me"}, {"run", "17"}). */
#define PITH_METADATA(...) ((const pith_metadata[]){__VA_ARGS__, {NULL, NULL}})

/** Options of pith_save; zero is the default. */
typedef struct pith_save_options {
    bool inline_all PITH_DEFAULT; /**< store every leaf in the document: one file */
    /**
     * Largest size in bytes of a leaf in the document. 0: 1024. Negative: no leaf lies in
     * the document.
     */
    int64_t inline_bytes PITH_DEFAULT;
    /**
     * 0: the path names one checkpoint, and each save replaces it. N: the path names a
     * series of at most N checkpoints. Each save to "melt.json" adds a member such as
     * melt.000017.json. It then removes all members of the series except the newest N.
     */
    int64_t keep PITH_DEFAULT;
    /**
     * Series only: unchanged leaves remain in the files of the newest member and are not
     * written again. Members then share files, so damage to one file may affect several
     * members. Without this option, members share no files. Of sharded trees only leaves
     * that are not sharded are shared; shards are written again.
     */
    bool incremental PITH_DEFAULT;
    /**
     * Incremental series only: verify reused leaves against their checksums before
     * sharing them. A damaged leaf is written again. Without this option, only the sizes
     * and headers of the shared files are verified.
     */
    bool check_shared PITH_DEFAULT;
    /**
     * zstd level, 1 (fast) to 19, for leaves of the sidecar without their own
     * `.compress`. A leaf is compressed only if its first MiB shrinks by at least an
     * eighth. 0: compress only leaves whose field asks for it. Negative: compress no
     * leaf.
     */
    int32_t compress PITH_DEFAULT;
    /**
     * Return after the capture of the tree and write on another thread; see
     * pith_save_wait.
     */
    bool background PITH_DEFAULT;
    /**
     * Sharded trees: one part for the ranks of each node, instead of one for each rank.
     * The ranks of a node write at their places of one file; no rank gathers. Shards lie
     * in the sidecar, whatever their size. Compressed ones are written to a file without
     * a name before. Excludes inline_all.
     */
    bool part_per_node PITH_DEFAULT;
    int64_t step PITH_DEFAULT; /**< step of the run, stored as information */
    /** Ends with {NULL, NULL}. Keys are distinct. */
    const pith_metadata *metadata PITH_DEFAULT;
} pith_save_options;

/** Receives a difference between a checkpoint and the program that loads it. */
typedef void (*pith_difference_hook)(const char *path, const char *text, void *closure);

/**
 * A rename: a name in a checkpoint and the name that the program uses. Both sides have
 * the same one of three forms:
 *
 *     {"Particles", "md.Atoms"}           a record type; PITH_NAMED declares "md.Atoms"
 *     {"Units.len", "Units.length"}       a field or static of all records of a type
 *     {".pos", ".atoms.position"}         one node or static, by its path
 *
 * `from` is the name in the file and `to` is the name in the program. The order of
 * renames has no effect, and two renames may exchange names. A path may lead into another
 * record or dict and moves the whole subtree. Items of lists and tuples cannot be moved.
 */
typedef struct pith_rename {
    const char *from, *to;
} pith_rename;
/**
 * Make a list of renames: PITH_RENAMES({"Atoms.pos", "Atoms.position"}, {".dt",
 * ".timestep"}).
 */
#define PITH_RENAMES(...) ((const pith_rename[]){__VA_ARGS__, {NULL, NULL}})

/** Options of pith_load; zero is the default. */
typedef struct pith_load_options {
    /**
     * Receives every difference. This includes differences that exceed the length of the
     * message and differences that the options allow.
     */
    pith_difference_hook difference PITH_DEFAULT;
    /**
     * The path names a series (see pith_save_options.keep): load its newest undamaged
     * member. Damaged members are skipped and logged. An undamaged member that does not
     * match the program is an error.
     */
    bool newest PITH_DEFAULT;
    /** Receives the path of every skipped member, and the reason. */
    pith_difference_hook passed_over PITH_DEFAULT;
    void *closure PITH_DEFAULT; /**< argument of both hooks */
    /**
     * Path in the file of the node to load, with its subtree. NULL: the root. Paths in
     * errors start at this node. For a damaged document, paths in errors start at the
     * root of the document.
     */
    const char *at PITH_DEFAULT;
    /**
     * Renames, applied before the comparison. Ends with {NULL, NULL}.
     *
     * @par Errors
     * PITH_E_ARG: a rename has no valid form, or a name occurs twice. PITH_E_PATH: a path
     * is invalid. Both report the first invalid rename. PITH_E_STRUCTURE: the file has no
     * such name, or the target is occupied or does not exist. One report lists all such
     * renames.
     */
    const pith_rename *renames PITH_DEFAULT;
    /**
     * Default values: a tree of the loaded type, owned by a scope that outlives this
     * call. If the file lacks a field, a static or a dict key, the load takes it from
     * this tree, with its subtree. The hook receives each such difference. Nodes in the
     * file must match, and its lists and tuples must have the same lengths as in this
     * tree. NULL: a missing field, static or key is an error. On ranks its leaves are
     * whole and equal on all of them; those whose field has .shard are cut.
     */
    const void *initial PITH_DEFAULT;
    /**
     * Skip fields and statics in the file that the program does not have, without reading
     * them. The hook receives each such difference.
     */
    bool extra PITH_DEFAULT;
} pith_load_options;

PITH_BEGIN

/**
 * Save a tree.
 *
 * The call waits for the device. A failed check becomes an error of this call, and
 * nothing is written.
 *
 * Equal states and options give equal bytes. An incremental series also needs equal
 * previous members. A leaf at two positions of the tree is saved twice.
 *
 * Of a tree with sharded leaves, this is a call of all ranks: each writes its shards.
 * Leaves that are not sharded are written once and must be equal on all ranks. Any other
 * tree is saved by the rank that calls. While a save of a sharded tree by several ranks
 * to the same document is not settled (options.background), it is refused.
 *
 * After the new document is durable, the sidecar of the replaced document is deleted,
 * unless another document of the folder names it. The sidecar must match the old document
 * by name, owner, size, header and checksum. No other file is deleted.
 *
 * If no declaration leads from the root's type to the type of a record in a PITH_TREE,
 * the log hook receives one report per process; see PITH_USES.
 *
 * @par Errors
 * PITH_E_IO: the system reported an error, which the message quotes. The old checkpoint
 * is unchanged. PITH_E_TRACED: a leaf is traced. PITH_E_FORMAT: a text is not UTF-8, or a
 * bool is neither 0 nor 1. PITH_E_UNSUPPORTED: a leaf of the document has more than 2^26
 * elements. PITH_E_ARG: @p path is NULL, options contradict each other, metadata is not
 * UTF-8 or has a duplicate key, other ranks have to settle a save of that path
 * (pith_save_wait), or a leaf is sharded over another mesh than that of the scope. Errors
 * of a leaf or static carry its path.
 *
 * @return Whether the checkpoint is on the disk. With options.background: whether the
 *        write has started.
 */
PITH_API bool pith_save(pith_scope *s,
                        const void *tree,
                        const char *path,
                        const pith_save_options *options);

/**
 * Wait for the completion of background saves (options.background).
 *
 * A background save holds references to the arrays of the tree and makes no copy. The
 * arrays are immutable. At most one background save is active: the next save waits for
 * it, so that saves hold the memory of one state. pith_save itself reports errors of the
 * structure, the options and the folder.
 *
 * A later error concerns the elements or the disk. The next call of pith_save_wait,
 * pith_save, pith_load or pith_checkpoint_open in any scope of the runtime reports it
 * once. If no such call follows, pith_close reports it to the log hook. The old
 * checkpoint is then unchanged.
 *
 * Of a sharded tree, all ranks call this function. Their threads write the parts, and
 * that of rank 0 names them once it sees all of them in the folder; no thread
 * communicates. The wait, the next save of a sharded tree, a load of the same path and
 * pith_close, which all ranks call, give one outcome on all ranks: an error of one rank
 * is PITH_E_PEER on the others. A scope that has failed takes part.
 *
 * @par Errors
 * All errors of pith_save.
 *
 * @return Whether all saved data are on the disk.
 */
PITH_API bool pith_save_wait(pith_scope *s);

/**
 * Load a checkpoint whose root is a record of T, or pith_array.
 *
 * @par Errors
 * All errors of pith_load_any.
 *
 * @return The tree, owned by @p s; the type's nil record or NULL on failure.
 */
#define pith_load(s, T, path)                                                            \
    ((const T *)pith_load_any((s), T##_pith_type(), (path), NULL))
/**
 * Load a checkpoint with options.
 *
 * One pass finds all differences between the file and the program. The message contains
 * the first ones. If no file exists but a series has this name, the message says so.
 *
 * @param type Type of the root; NULL: any tree. The process must know the types of all
 *        records in the file. It knows @p type, the types that its declaration leads to
 *        (children, static records, PITH_USES), and each type whose T_pith_type() was
 *        called.
 * @param options NULL for the defaults.
 *
 * @par Errors
 * PITH_E_IO: the file cannot be read. PITH_E_FORMAT: the file is damaged, truncated, no
 * checkpoint, or of a newer format, or a bool is neither 0 nor 1. PITH_E_TYPE: a record
 * has an unknown or different type, or a version without an upgrade. PITH_E_STRUCTURE: a
 * field is missing, extra or different. PITH_E_DTYPE and PITH_E_SHAPE: a leaf differs.
 * PITH_E_ARG: @p path is NULL. Validation and upgrade hooks add their own errors.
 *
 * @return The tree, owned by @p s. On failure the nil record of @p type, or NULL without
 *        a type.
 */
PITH_API const void *pith_load_any(pith_scope *s,
                                   const pith_type *type,
                                   const char *path,
                                   const pith_load_options *options);

/* ---- Older versions of a type ---- */

/**
 * @name Older versions of a type
 *
 * A hook named by PITH_UPGRADE converts one record of an older checkpoint to the next
 * version. It uses the names in the file:
 *
 *     static void sim_1_to_2(pith_scope *s, pith_upgrade *u) {
 *         pith_upgrade_rename(s, u, ".pos", ".atoms.position");
 *         pith_upgrade_set_f64(s, u, ".timestep", 1e-3 * pith_upgrade_f64(s, u, ".dt"));
 *         pith_upgrade_remove(s, u, ".dt");
 *     }
 *     PITH_NODE(Sim, PITH_TYPE_VERSION(2), PITH_UPGRADE(1, sim_1_to_2), ...)
 *
 * Fields that the hook does not mention stay unchanged. After the hooks of all
 * intermediate versions, the record is loaded as strictly as any other record. A record
 * is upgraded before its children, so a hook sees the children as the file has them. A
 * subtree that a hook sets must have the versions of the program.
 *
 * Paths start at the record: ".pos", ".atoms.mass", ".cell.x". All functions of this
 * group share these errors. An error ends the load; its message has the path of the
 * record and both versions. A hook may reject a record with pith_fail.
 *
 * @par Errors
 * PITH_E_STRUCTURE: the path leads to no node or static, or to one of another kind.
 * PITH_E_PATH: the path is invalid. PITH_E_ARG: @p u is used outside its hook. Functions
 * that read a leaf add the errors of reading.
 *
 * @{
 */

/** Whether the record has a child, leaf or static at @p path. */
PITH_API bool pith_upgrade_has(pith_scope *s, pith_upgrade *u, const char *path);
/**
 * Read a leaf. The call reads the file once and immediately.
 *
 * @return The array, valid until the hook returns; NULL on failure.
 */
PITH_API const pith_array *
pith_upgrade_array(pith_scope *s, pith_upgrade *u, const char *path);
/**
 * Get the dtype and shape of a leaf without reading it.
 *
 * @return The spec, owned by @p s, or NULL.
 */
PITH_API const pith_spec *
pith_upgrade_spec(pith_scope *s, pith_upgrade *u, const char *path);
/** Get the value of an integer static; 0 on failure. */
PITH_API int64_t pith_upgrade_i64(pith_scope *s, pith_upgrade *u, const char *path);
/** Get the value of a floating-point static; 0 on failure. */
PITH_API double pith_upgrade_f64(pith_scope *s, pith_upgrade *u, const char *path);
/** Get the value of a bool static; false on failure. */
PITH_API bool pith_upgrade_bool(pith_scope *s, pith_upgrade *u, const char *path);
/**
 * Get a string static, or the name of an enum's value or of a dtype.
 *
 * @return The text, valid until the hook returns. A string may be NULL. NULL on failure.
 */
PITH_API const char *pith_upgrade_text(pith_scope *s, pith_upgrade *u, const char *path);

/** Rename or move a child, leaf or static to a free position. */
PITH_API bool
pith_upgrade_rename(pith_scope *s, pith_upgrade *u, const char *from, const char *to);
/** Remove a child, leaf or static with its subtree. */
PITH_API bool pith_upgrade_remove(pith_scope *s, pith_upgrade *u, const char *path);
/**
 * Set a leaf or child to a tree. An existing node at @p path is replaced.
 *
 * @param tree The new value, without traced leaves; NULL: absent.
 */
PITH_API bool
pith_upgrade_set(pith_scope *s, pith_upgrade *u, const char *path, const void *tree);
/** Set an integer static. An existing static at @p path is replaced. */
PITH_API bool
pith_upgrade_set_i64(pith_scope *s, pith_upgrade *u, const char *path, int64_t value);
/** Set a floating-point static. An existing static at @p path is replaced. */
PITH_API bool
pith_upgrade_set_f64(pith_scope *s, pith_upgrade *u, const char *path, double value);
/** Set a bool static. An existing static at @p path is replaced. */
PITH_API bool
pith_upgrade_set_bool(pith_scope *s, pith_upgrade *u, const char *path, bool value);
/**
 * Set a string static. An existing static at @p path is replaced.
 *
 * @param text UTF-8, copied; NULL is a valid value.
 */
PITH_API bool
pith_upgrade_set_text(pith_scope *s, pith_upgrade *u, const char *path, const char *text);
/**
 * Set an enum static. An existing static at @p path is replaced.
 *
 * @param name Name of a value of the enum.
 */
PITH_API bool
pith_upgrade_set_enum(pith_scope *s, pith_upgrade *u, const char *path, const char *name);
/** Set a dtype static. An existing static at @p path is replaced. */
PITH_API bool pith_upgrade_set_dtype(pith_scope *s,
                                     pith_upgrade *u,
                                     const char *path,
                                     pith_dtype dtype);
/**
 * Set a static record. An existing static at @p path is replaced.
 *
 * @param record A frozen record without leaves.
 */
PITH_API bool pith_upgrade_set_record(pith_scope *s,
                                      pith_upgrade *u,
                                      const char *path,
                                      const void *record);

/** @} */

PITH_END

#include <pith/checkpoint_inspect.h>

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
#endif
/* End of call sites. */

#endif
