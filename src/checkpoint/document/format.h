/* The file format: members of a document and of its table rows, in written order. The
 * printer and the parser both take names from here.
 *
 * X(member, name, mark, type): C name; name in the file; ":" required or "?" optional;
 * JSON type: s text, I integer, o any. docs/reference/checkpoint-format.md describes
 * each. */
#ifndef PITHP_CHECKPOINT_FORMAT_H
#define PITHP_CHECKPOINT_FORMAT_H

/* Members of the document. `sidecars` is omitted if empty, and called `sidecar` in format
 * 1. `parts` is in format 3 only. */
#define PITHP_HEAD_MEMBERS(X)                                                            \
    X(pith, "pith", ":", s)                                                              \
    X(format, "format", ":", I)                                                          \
    X(sidecars, "sidecars", "?", o)                                                      \
    X(parts, "parts", "?", o)                                                            \
    X(library, "library", ":", s)                                                        \
    X(step, "step", ":", I)                                                              \
    X(metadata, "metadata", ":", o)                                                      \
    X(types, "types", ":", o)                                                            \
    X(nodes, "nodes", ":", o)                                                            \
    X(leaves, "leaves", ":", o)                                                          \
    X(checksum, "checksum", ":", s)

#define PITHP_SIDECAR_MEMBERS(X)                                                         \
    X(file, "file", ":", s)                                                              \
    X(bytes, "bytes", ":", I)                                                            \
    X(data, "data", ":", I)                                                              \
    X(checksum, "checksum", ":", s)

/* mesh: [[name, size], ...]; files: [[file, bytes, checksum], ...] by rank. */
#define PITHP_PARTS_MEMBERS(X)                                                           \
    X(mesh, "mesh", ":", o)                                                              \
    X(files, "files", ":", o)

#define PITHP_TYPE_MEMBERS(X)                                                            \
    X(name, "name", ":", s)                                                              \
    X(version, "version", ":", I)

#define PITHP_NODE_MEMBERS(X)                                                            \
    X(kind, "kind", ":", s)                                                              \
    X(type, "type", "?", I)                                                              \
    X(parent, "parent", "?", I)                                                          \
    X(static_of, "static", "?", o)                                                       \
    X(at, "at", "?", o)                                                                  \
    X(leaf, "leaf", "?", I)                                                              \
    X(statics, "statics", "?", o)

#define PITHP_LEAF_MEMBERS(X)                                                            \
    X(path, "path", "?", s)                                                              \
    X(dtype, "dtype", ":", s)                                                            \
    X(shape, "shape", ":", o)                                                            \
    X(unit, "unit", "?", s)                                                              \
    X(checksum, "checksum", ":", s)                                                      \
    X(sidecar, "sidecar", "?", I)                                                        \
    X(tensor, "tensor", "?", s)                                                          \
    X(begin, "begin", "?", I)                                                            \
    X(end, "end", "?", I)                                                                \
    X(zstd, "zstd", "?", o)                                                              \
    X(data, "data", "?", o)                                                              \
    X(shard, "shard", "?", s)                                                            \
    X(rows, "rows", "?", s)                                                              \
    X(part, "part", "?", o)                                                              \
    X(counter, "counter", "?", I)                                                        \
    X(counts, "counts", "?", o)

/* The names, such as pithp_leaf_member.tensor. */
#define PITHP_FORMAT_FIELD(member, name, mark, type) const char *member;
#define PITHP_FORMAT_NAME(member, name, mark, type)  .member = name,
#define PITHP_FORMAT_NAMES(table, LIST)                                                  \
    static const struct {                                                                \
        LIST(PITHP_FORMAT_FIELD)                                                         \
    } pithp_##table##_member = {LIST(PITHP_FORMAT_NAME)};

#endif
