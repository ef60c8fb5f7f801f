/* Bundles: arrays by name, with the structure of the checkpoint whose leaves they are.
 * The intermediate form of pith convert. */
#ifndef PITH_BUNDLE_H
#define PITH_BUNDLE_H

#include "tool.h"

typedef struct bundle_item {
    char *name; /* owned */
    pith_dtype dtype;
    pith_shape shape;
    int64_t count;
    size_t bytes;
    void *data;   /* owned; NULL: a leaf of the checkpoint */
    int64_t leaf; /* of the checkpoint; -1: in memory */
} bundle_item;

typedef struct bundle {
    pith_scope *s;
    rows structure;     /* of a checkpoint, or parsed; structure.c NULL: no structure */
    const char *text;   /* of the structure; owned by the scope; NULL: no structure */
    bundle_item *items; /* with a structure: its leaves in order */
    int64_t count, room;
} bundle;

void bundle_end(bundle *b);

/* Add an array to be read; returns its memory, owned by the bundle, or NULL with the
 * scope's error. `most`: maximum bytes that the file can hold. The name is copied. */
void *bundle_add(bundle *b,
                 const char *name,
                 pith_dtype dtype,
                 const pith_shape *shape,
                 size_t most);
/* Maximum bytes of content of a compressed file of that size. */
size_t bundle_most(size_t file_bytes);
/* Elements and bytes of a shape; false: overflow, or a negative extent. */
bool shape_size(pith_dtype dtype, const pith_shape *shape, int64_t *count, size_t *bytes);

/* Whether all bools are 0 or 1. False: the scope's error names the array and the file
 * (path). */
bool bundle_check_bools(const bundle *b, const char *path);

/* Open a checkpoint, or the columns of a log. */
bool bundle_open_checkpoint(bundle *b, const char *path);
bool bundle_open_log(bundle *b, const char *path);
/* Set the structure carried by a file, and sort the items in leaf order. name_of: as in
 * format; path: of the file. */
bool bundle_set_structure(bundle *b,
                          const char *path,
                          const char *text,
                          size_t bytes,
                          char *(*name_of)(const bundle *b, int64_t node));
/* Save as a checkpoint: with the structure, or as a dict by names. */
bool bundle_save(const bundle *b, const char *path, bool sidecar);

/* Rename the items to a format's names for leaves, if there is a structure. */
void bundle_rename(bundle *b, char *(*name_of)(const bundle *b, int64_t node));

/* The name of a leaf in sidecars: its path; "leaf/7" if that is empty or long. */
char *path_name(const bundle *b, int64_t node);
/* The node of an item, if there is a structure. */
int64_t item_node(const bundle *b, int64_t i);

/* Stream an item in pieces of whole elements, verified before the first one. False: the
 * scope has the error. */
typedef bool piece_sink(void *closure, const void *bytes, size_t n);
bool item_pieces(const bundle *b, const bundle_item *it, piece_sink *sink, void *closure);

/* ---- Checkpoints of many ranks (convert_mesh.c) ---- */

struct command;
/* Convert a checkpoint to that of a mesh, --mesh and --shard; the exit code. */
int convert_to_mesh(pith_scope *s, const struct command *c);

/* ---- Formats ---- */

typedef struct format {
    const char *const *extensions; /* NULL-terminated */
    const char *needs;             /* library missing in this build; NULL: none */
    bool isolated; /* its library may crash: run it in a separate process */
    char *(*name_of)(const bundle *b, int64_t node); /* its name of a leaf; owned */
    bool (*read)(bundle *b, const char *path);       /* false: the scope has the error */
    /* Write a file that does not exist yet; without fsync. */
    bool (*write)(const bundle *b, const char *path);
} format;

extern const format npz_format, safetensors_format, h5_format;

/* Errors of a file and an entry: damage, or a dtype that pith does not have. The first
 * error stays. Always false. */
bool fail_format(pith_scope *s, const char *path, const char *name, const char *what);
bool fail_dtype(pith_scope *s, const char *path, const char *name);
/* A system error with a file's name. */
void fail_io(pith_scope *s, const char *path, const char *call);

#endif
