/**
 * @file
 * Sharded trees: values whose leaves lie in shards on the ranks of a mesh (mesh.h), and
 * functions that run on every rank over its shards.
 *
 *     PITH_NODE(Brick,
 *         PITH_LEAF(position, "float[max,3]", .shard = "x,y", .rows = "count"),
 *         PITH_LEAF(count, "i64[]", .shard = "x,y"),
 *         PITH_STATIC(max, .initial = 4096))
 *
 *     const Brick *parts = pith_shard(s, whole, NULL);
 *     parts = pith_apply(s, pith_shard_map(s, &step, NULL), parts);
 *     whole = pith_unshard(s, parts, -1);
 *
 * A spec names the axes of the mesh for each axis of an array, with ';' between them:
 * "x,y" (the first axis over x and y, x slowest), ";x" (the second axis over x), "x;y".
 * An axis without names is whole on every rank; "" is replicated. Leaves declare their
 * spec (.shard of PITH_LEAF); specs by path replace it.
 *
 * The shards of a leaf have equal shapes. If an extent does not divide, the rows are
 * counted: `rows` names an i64 of rank 0, sharded over the axes of the first list, with
 * the number of rows in use on each rank; the rest is fill. A sharded leaf of rank 0 is
 * one value on each rank. Statics are equal on all ranks and describe one shard.
 *
 * Sharded leaves are values: trees that hold them can be made, taken apart, compared by
 * structure, kept, printed and passed to compiled functions. Only pith_shard_map and the
 * functions below reach their elements; every other use is PITH_E_ARG.
 */
#ifndef PITH_SHARD_H
#define PITH_SHARD_H

#include <pith/array.h>
#include <pith/mesh.h>
#include <pith/tree_function.h>

/** How a part of a tree is sharded; see PITH_SPECS. */
typedef struct pith_shard_spec {
    const char *path; /**< of the part: ".atoms"; "": the whole tree */
    /** "x,y;z"; "": replicated; NULL: the first axis over all axes */
    const char *axes PITH_DEFAULT;
    /** The leaf that counts the rows in use: a name in the same record, or a path from
     * the root, ".count". NULL: all are in use. */
    const char *rows PITH_DEFAULT;
} pith_shard_spec;

/** A list of specs, path, axes and rows each: PITH_SPECS({".field", "x;y"},
 * {".field.part", ""}). The longest path that leads to a leaf decides. In C the members
 * are in this order, without names. */
#ifdef __cplusplus
#    define PITH_SPECS(...) PITH_ARRAY_(pith_shard_spec, __VA_ARGS__, {NULL, NULL, NULL})
#else /* rows of an array: of a struct gcc -Wextra would ask for all members */
#    define PITH_SPECS(...)                                                              \
        ((const pith_shard_spec *)(const char *const[][3]){__VA_ARGS__,                  \
                                                           {NULL, NULL, NULL}})
#endif

/** Options of pith_shard_map; zero is the default. */
typedef struct pith_shard_options {
    /** Specs of the parts of each argument, and of the result. NULL: as the leaves are
     * declared. */
    const pith_shard_spec *in[4] PITH_DEFAULT, *out PITH_DEFAULT;
    const char *axes PITH_DEFAULT; /**< of the mesh, that are mapped; NULL: all */
} pith_shard_options;

/** How an array is sharded. */
typedef struct pith_sharding {
    const pith_mesh *mesh; /**< NULL: a plain array, or no array */
    pith_shape whole; /**< of all shards, fill included; [ranks] for shards of rank 0 */
    int64_t rows;     /**< most rows that may be in use here; -1: they are not counted */
    int64_t begin[PITH_MAX_RANK]; /**< of this rank's shard in the whole */
    char axes[64];                /**< as in a spec */
} pith_sharding;

PITH_BEGIN

/**
 * A function that runs @p function over the shards of its arguments, on every rank.
 *
 * Inside, leaves are the shards, as plain arrays; arrays that differ between ranks are
 * moved by collectives (array_collective.h). Leaves of the result are placed as the specs
 * say. Validation hooks of records do not run on the way in and out.
 *
 * With .axes only these axes are mapped: inside, leaves stay sharded over the others, and
 * may be mapped over them by another pith_shard_map.
 *
 * It runs eagerly, and inside of compiled functions. Tracing does not communicate. An
 * eager call with replicated arguments in which a gradient is taken is repeated, and
 * recorded as by pith_jit: only then it is known which values are equal on all ranks.
 *
 * @return The function, owned by @p s, or NULL.
 *
 * @par Errors
 * PITH_E_ARG: an invalid spec, two of one path, or one of an argument that the function
 * does not have; of calls: the scope has no mesh; an axis is mapped
 * already; a leaf is sharded in another way than its spec says. PITH_E_PATH: a path of a
 * spec leads to no leaf. PITH_E_DIVERGED: a result varies that its spec calls replicated;
 * some ranks take a gradient in an eager call, and others do not.
 */
PITH_API const pith_function *pith_shard_map(pith_scope *s,
                                             const pith_function *function,
                                             const pith_shard_options *options);

/**
 * Shards of a tree that is equal on all ranks, each of which keeps its own.
 *
 * Counted rows are divided evenly: 1,000 rows on 3 ranks are 334, 333 and 333, in shards
 * of 334. The leaf that counts them gets the number on each rank, and statics that name
 * sharded extents get those of a shard. Validation hooks do not run.
 *
 * @param specs NULL: as the leaves are declared.
 *
 * @par Errors
 * PITH_E_SHAPE: an extent that is not counted is no multiple of the ranks along its axes.
 * PITH_E_DIVERGED: the trees of the ranks differ. PITH_E_TRACED, PITH_E_PEER.
 */
PITH_API const void *
pith_shard(pith_scope *s, const void *whole, const pith_shard_spec *specs);
/**
 * A sharded tree from the shards of each rank, without a copy. Structures and leaf specs
 * are equal on all ranks; the elements of replicated leaves must be, too.
 *
 * @param specs NULL: as the leaves are declared.
 *
 * @par Errors
 * PITH_E_DIVERGED: structures differ. PITH_E_TRACED, PITH_E_PEER.
 */
PITH_API const void *
pith_shard_local(pith_scope *s, const void *local, const pith_shard_spec *specs);
/**
 * The whole of a sharded tree: the inverse of pith_shard. Rows in use are concatenated in
 * the order of the ranks, counts of rows are added, and statics that name sharded extents
 * get those of the whole.
 *
 * @param root The rank of the mesh that gets it; the others get the nil record, or NULL,
 * without an error. -1: all get it.
 *
 * @par Errors
 * PITH_E_SHAPE: leaves want different values of a static; a leaf of rank 0 that counts no
 * rows differs between ranks. PITH_E_INDEX: a count of rows is out of range.
 * PITH_E_DIVERGED, PITH_E_TRACED, PITH_E_PEER.
 */
PITH_API const void *pith_unshard(pith_scope *s, const void *tree, int64_t root);
/** This rank's shards as a tree of plain arrays, without a copy. Does not communicate. */
PITH_API const void *pith_unshard_local(pith_scope *s, const void *tree);
/** How an array is sharded; zero for plain arrays and other pointers. */
PITH_API pith_sharding pith_array_sharding(const pith_array *a);

PITH_END

/* Call sites. The lines from here to the end mark are written by scripts/api --write. */
#ifndef PITH_NO_SITES
#    define pith_shard_map(s, ...)     pith_shard_map(PITH_AT(s), __VA_ARGS__)
#    define pith_shard(s, ...)         pith_shard(PITH_AT(s), __VA_ARGS__)
#    define pith_shard_local(s, ...)   pith_shard_local(PITH_AT(s), __VA_ARGS__)
#    define pith_unshard(s, ...)       pith_unshard(PITH_AT(s), __VA_ARGS__)
#    define pith_unshard_local(s, ...) pith_unshard_local(PITH_AT(s), __VA_ARGS__)
#endif
/* End of call sites. */

#endif
