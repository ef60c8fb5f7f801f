/* Arrays by name, with the structure of the checkpoint that they are the leaves of: what
 * lies between the formats that pith convert reads and writes. */
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
    int64_t leaf; /* of the checkpoint; -1: it is in memory */
} bundle_item;

typedef struct bundle {
    pith_scope *s;
    rows structure;     /* of a checkpoint, or parsed; structure.c NULL: there is none */
    const char *text;   /* of the structure; the scope's; NULL: there is none */
    bundle_item *items; /* with a structure: its leaves in their order */
    int64_t count, room;
} bundle;

void bundle_end(bundle *b);

/* Add an array that is to be read: its memory, which the bundle owns, or NULL with the
 * scope's error. `most`: bytes that the file can hold at most. The name is copied. */
void *bundle_add(bundle *b,
                 const char *name,
                 pith_dtype dtype,
                 const pith_shape *shape,
                 size_t most);
/* Bytes that a compressed file of that size may claim to hold. */
size_t bundle_most(size_t file_bytes);
/* Elements and bytes of a shape; false: they overflow, or an extent is negative. */
bool shape_size(pith_dtype dtype, const pith_shape *shape, int64_t *count, size_t *bytes);

/* Whether all bools that were read are 0 or 1. False: the scope's error names the array
 * and the file, path. */
bool bundle_check_bools(const bundle *b, const char *path);

/* Take a checkpoint, or the columns of a log. */
bool bundle_open_checkpoint(bundle *b, const char *path);
bool bundle_open_log(bundle *b, const char *path);
/* Give the bundle the structure that a file carries, and its items the order of the
 * leaves. name_of as formats have it; path is the file's. */
bool bundle_set_structure(bundle *b,
                          const char *path,
                          const char *text,
                          size_t bytes,
                          char *(*name_of)(const bundle *b, int64_t node));
/* Save as a checkpoint: the structure, or a dict by names. */
bool bundle_save(const bundle *b, const char *path, bool sidecar);

/* Give the items the names that a format has for leaves, where there is a structure. */
void bundle_rename(bundle *b, char *(*name_of)(const bundle *b, int64_t node));

/* The name of a leaf in sidecars: its path, "leaf/7" where that is empty or long. */
char *path_name(const bundle *b, int64_t node);
/* The node of an item, where there is a structure. */
int64_t item_node(const bundle *b, int64_t i);

/* The elements of an item piece by piece, each of whole elements, checked before the
 * first one. False: the scope has the reason. */
typedef bool piece_sink(void *closure, const void *bytes, size_t n);
bool item_pieces(const bundle *b, const bundle_item *it, piece_sink *sink, void *closure);

/* ---- Formats ---- */

typedef struct format {
    const char *const *extensions; /* NULL at the end */
    const char *needs;             /* the library that this build lacks; NULL: nothing */
    bool isolated; /* its library cannot be trusted with hostile files or failing
                      writes: use it in a process of its own */
    char *(*name_of)(const bundle *b, int64_t node); /* what it calls a leaf; owned */
    bool (*read)(bundle *b, const char *path);       /* false: the scope has the reason */
    /* Write a file that is not there yet; without fsync. */
    bool (*write)(const bundle *b, const char *path);
} format;

extern const format npz_format, safetensors_format, h5_format;

/* Errors of a file and what lies in it: it is damaged, or has a type that pith lacks. The
 * first one stays. Always false. */
bool fail_format(pith_scope *s, const char *path, const char *name, const char *what);
bool fail_dtype(pith_scope *s, const char *path, const char *name);
/* An error of the system with a file's name. */
void fail_io(pith_scope *s, const char *path, const char *call);

#endif
