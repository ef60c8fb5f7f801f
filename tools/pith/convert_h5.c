/* .h5: an HDF5 file with one dataset per array, in groups like the tree. The structure of
 * a checkpoint is the text "%pith", a name that no leaf has. */
#include "bundle.h"
#include "h5_walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char structure_name[] = "%pith";

/* ---- Names ---- */

/* Escape a part of a path for HDF5: '/', '%' and a "." alone become %XX, and an empty
 * part becomes %. */
static char *part_text(const char *part) {
    if (!*part)
        return text_of("%%");
    if (strcmp(part, ".") == 0)
        return text_of("%%2E");
    char *text = room_for(3 * strlen(part) + 1, 1), *to = text;
    for (; *part; part++)
        if (*part == '/' || *part == '%')
            to += sprintf(to, "%%%02X", *part);
        else
            *to++ = *part;
    return text;
}

/* "atoms/position"; "leaf" if the tree is a single leaf. */
static char *group_name(const bundle *b, int64_t node) {
    const rows *r = &b->structure;
    char *name = NULL;
    for (; r->nodes[node].parent >= 0; node = r->nodes[node].parent) {
        char *part = r->nodes[node].name ? part_text(r->nodes[node].name)
                                         : text_of("%" PRId64, r->nodes[node].index);
        char *longer = name ? text_of("%s/%s", part, name) : text_of("%s", part);
        free(part);
        free(name);
        name = longer;
    }
    return name ? name : text_of("leaf");
}

/* Escape names of other files, part by part between slashes. */
static char *safe_name(const char *name) {
    char *copy = text_of("%s", name), *safe = NULL, *rest = copy;
    for (char *part; (part = strsep(&rest, "/"));) {
        char *text = part_text(part),
             *longer = safe ? text_of("%s/%s", safe, text) : text_of("%s", text);
        free(text);
        free(safe);
        safe = longer;
    }
    free(copy);
    return safe;
}

/* ---- Types; the caller closes them ---- */

static hid_t half_type(void) {
    hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(t, 15, 10, 5, 0, 10);
    H5Tset_size(t, 2);
    H5Tset_ebias(t, 15);
    return t;
}

/* The bool type of h5py. */
static hid_t bool_type(void) {
    hid_t t = H5Tenum_create(H5T_NATIVE_INT8);
    const int8_t no = 0, yes = 1;
    H5Tenum_insert(t, "FALSE", &no);
    H5Tenum_insert(t, "TRUE", &yes);
    return t;
}

static hid_t type_of(pith_dtype dtype) {
    switch (dtype) {
        case PITH_BOOL:
            return bool_type();
        case PITH_I8:
            return H5Tcopy(H5T_STD_I8LE);
        case PITH_I16:
            return H5Tcopy(H5T_STD_I16LE);
        case PITH_I32:
            return H5Tcopy(H5T_STD_I32LE);
        case PITH_I64:
            return H5Tcopy(H5T_STD_I64LE);
        case PITH_U8:
            return H5Tcopy(H5T_STD_U8LE);
        case PITH_U16:
        case PITH_BF16: /* HDF5 has none */
            return H5Tcopy(H5T_STD_U16LE);
        case PITH_U32:
            return H5Tcopy(H5T_STD_U32LE);
        case PITH_U64:
            return H5Tcopy(H5T_STD_U64LE);
        case PITH_F16:
            return half_type();
        case PITH_F32:
            return H5Tcopy(H5T_IEEE_F32LE);
        case PITH_F64:
            return H5Tcopy(H5T_IEEE_F64LE);
        case PITH_DTYPE_NONE:
            break;
    }
    return -1;
}

static pith_dtype integer_of(size_t bytes, bool is_signed) {
    static const pith_dtype of[2][4] = {{PITH_U8, PITH_U16, PITH_U32, PITH_U64},
                                        {PITH_I8, PITH_I16, PITH_I32, PITH_I64}};
    for (int i = 0; i < 4; i++)
        if (bytes == (size_t)1 << i)
            return of[is_signed][i];
    return PITH_DTYPE_NONE;
}

/* The float dtype of an IEEE 754 type, in either byte order. */
static pith_dtype float_of(hid_t type, size_t bytes) {
    const pith_dtype dtype = bytes == 2   ? PITH_F16
                             : bytes == 4 ? PITH_F32
                             : bytes == 8 ? PITH_F64
                                          : PITH_DTYPE_NONE;
    hid_t expected = dtype ? type_of(dtype) : -1;
    bool same = dtype && H5Tequal(type, expected) > 0;
    if (dtype && !same)
        same = H5Tset_order(expected, H5T_ORDER_BE) >= 0 && H5Tequal(type, expected) > 0;
    if (expected >= 0)
        H5Tclose(expected);
    return same ? dtype : PITH_DTYPE_NONE;
}

/* Whether an enumeration is a bool: FALSE 0 and TRUE 1, in a byte. */
static bool is_bool(hid_t type) {
    bool same = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;
    for (unsigned i = 0; same && i < 2; i++) {
        int8_t value = -1;
        char *name = H5Tget_member_name(type, i);
        same = name && H5Tget_member_value(type, i, &value) >= 0 &&
               strcmp(name, value ? "TRUE" : "FALSE") == 0 && (value == 0 || value == 1);
        H5free_memory(name);
    }
    return same;
}

/* PITH_DTYPE_NONE: pith has no such dtype. */
static pith_dtype dtype_of(hid_t type) {
    const size_t bytes = H5Tget_size(type);
    switch ((int)H5Tget_class(type)) {
        case H5T_INTEGER:
            return integer_of(bytes, H5Tget_sign(type) == H5T_SGN_2);
        case H5T_FLOAT:
            return float_of(type, bytes);
        case H5T_ENUM:
            return is_bool(type) ? PITH_BOOL : PITH_DTYPE_NONE;
        default:
            return PITH_DTYPE_NONE;
    }
}

/* ---- Writing ---- */

typedef struct writing {
    hid_t set, type, space;
    const bundle_item *it;
    size_t done; /* bytes */
    char *rest;  /* owned: an incomplete row */
    size_t held, row;
} writing;

/* Write rows of axis 0, or the single element of rank 0. */
static bool put_rows(writing *w, const void *from, hsize_t count) {
    const int rank = w->it->shape.rank;
    hsize_t start[PITH_MAX_RANK] = {0}, extent[PITH_MAX_RANK];
    if (rank == 0)
        return H5Dwrite(w->set, w->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from) >= 0;
    for (int i = 0; i < rank; i++)
        extent[i] = (hsize_t)w->it->shape.extents[i];
    extent[0] = count;
    start[0] = w->done / w->row;
    hid_t memory = H5Screate_simple(rank, extent, NULL);
    const bool good =
        memory >= 0 &&
        H5Sselect_hyperslab(w->space, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0 &&
        H5Dwrite(w->set, w->type, memory, w->space, H5P_DEFAULT, from) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    w->done += count * w->row;
    return good;
}

/* Pieces may end within a row; HDF5 receives whole rows. */
static bool put(void *closure, const void *bytes, size_t n) {
    writing *w = closure;
    const char *from = bytes;
    if (w->held) {
        const size_t part = n < w->row - w->held ? n : w->row - w->held;
        memcpy(w->rest + w->held, from, part);
        w->held += part;
        from += part;
        n -= part;
        if (w->held < w->row)
            return true;
        w->held = 0;
        if (!put_rows(w, w->rest, 1))
            return false;
    }
    const size_t whole = n / w->row;
    if (whole && !put_rows(w, from, whole))
        return false;
    w->held = n - whole * w->row;
    if (w->held && !w->rest)
        w->rest = room_for(w->row, 1);
    if (w->held)
        memcpy(w->rest, from + whole * w->row, w->held);
    return true;
}

static bool write_item(const bundle *b, hid_t file, const bundle_item *it) {
    hsize_t extents[PITH_MAX_RANK];
    for (int i = 0; i < it->shape.rank; i++)
        extents[i] = (hsize_t)it->shape.extents[i];
    const size_t row_count =
        it->shape.rank && it->shape.extents[0] ? (size_t)it->shape.extents[0] : 1;
    char *name = b->structure.c ? text_of("%s", it->name) : safe_name(it->name);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_char_encoding(links, H5T_CSET_UTF8);
    H5Pset_obj_track_times(how, 0); /* equal bundles give equal bytes */
    writing w = {.it = it, .type = type_of(it->dtype), .row = it->bytes / row_count};
    w.space = it->shape.rank ? H5Screate_simple(it->shape.rank, extents, NULL)
                             : H5Screate(H5S_SCALAR);
    w.set = H5Dcreate2(file, name, w.type, w.space, links, how, H5P_DEFAULT);
    const bool good = w.set >= 0 && item_pieces(b, it, put, &w);
    if (w.set >= 0)
        H5Dclose(w.set);
    H5Sclose(w.space);
    H5Tclose(w.type);
    H5Pclose(how);
    H5Pclose(links);
    free(w.rest);
    free(name);
    return good;
}

static bool write_structure(hid_t file, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Tset_size(type, strlen(text));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Pset_obj_track_times(how, 0);
    hid_t set =
        H5Dcreate2(file, structure_name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    const bool good =
        set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

/* Store HDF5's text of its last failure. */
static herr_t keep_text(unsigned n, const H5E_error2_t *e, void *closure) {
    (void)n;
    snprintf(closure, 200, "%s", e->desc ? e->desc : "");
    return 0;
}

static void fail_h5(pith_scope *s, pith_status code, const char *path, const char *call) {
    char text[200] = "";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, text);
    if (!pith_failed(s))
        pith_fail(s, code, NULL, "cannot %s \"%s\": %s", call, path,
                  *text ? text : "HDF5 gives no reason");
}

static bool write_file(const bundle *b, const char *path) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    bool good = file >= 0;
    for (int64_t i = 0; good && i < b->count; i++)
        good = write_item(b, file, &b->items[i]);
    if (good && b->text)
        good = write_structure(file, b->text);
    if (file >= 0)
        good = H5Fclose(file) >= 0 && good;
    if (!good)
        fail_h5(b->s, PITH_E_IO, path, "write");
    return good;
}

/* ---- Reading ---- */

typedef struct reading {
    bundle *b;
    const char *path;
    size_t left;     /* remaining bytes that datasets may claim */
    char *structure; /* owned; or NULL */
    size_t structure_bytes;
    int64_t link_count; /* number of links not followed */
    char *links;        /* owned: names of the first ones; or NULL */
} reading;

static bool refuse(const reading *r, const char *name, const char *what) {
    return fail_format(r->b->s, r->path, name, what);
}

static bool take(reading *r, const char *name, size_t bytes) {
    if (bytes > r->left)
        return refuse(r, name, "it claims more than the file can hold");
    r->left -= bytes;
    return true;
}

static bool read_structure(reading *r, hid_t set, hid_t type) {
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
        return refuse(r, structure_name, "it is not a text");
    r->structure_bytes = H5Tget_size(type);
    hid_t space = H5Dget_space(set);
    const bool one = H5Sget_simple_extent_npoints(space) == 1;
    H5Sclose(space);
    if (!one || !take(r, structure_name, r->structure_bytes))
        return refuse(r, structure_name, "it is not a text");
    r->structure = room_for(r->structure_bytes + 1, 1);
    return H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, r->structure) >= 0 ||
           refuse(r, structure_name, "it is damaged");
}

/* Whether the elements are in this file. Datasets in other files are not followed. */
static bool lies_here(hid_t set) {
    hid_t how = H5Dget_create_plist(set);
    const bool here =
        how >= 0 && H5Pget_external_count(how) == 0 && H5Pget_layout(how) != H5D_VIRTUAL;
    if (how >= 0)
        H5Pclose(how);
    return here;
}

static bool shape_of(hid_t set, pith_shape *shape) {
    hsize_t extents[H5S_MAX_RANK];
    hid_t space = H5Dget_space(set);
    const int rank = space >= 0 ? H5Sget_simple_extent_dims(space, extents, NULL) : -1;
    const bool is_null = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL;
    if (space >= 0)
        H5Sclose(space);
    if (rank < 0 || rank > PITH_MAX_RANK || is_null)
        return false;
    *shape = (pith_shape){.rank = rank};
    for (int i = 0; i < rank; i++) {
        if (extents[i] > INT64_MAX)
            return false;
        shape->extents[i] = (int64_t)extents[i];
    }
    return true;
}

static bool read_array(reading *r, hid_t set, hid_t type, const char *name) {
    const pith_dtype dtype = dtype_of(type);
    pith_shape shape;
    int64_t count;
    size_t bytes;
    if (!dtype)
        return fail_dtype(r->b->s, r->path, name);
    if (!shape_of(set, &shape) || !shape_size(dtype, &shape, &count, &bytes))
        return refuse(r, name, "it has a shape that pith does not have");
    if (!lies_here(set))
        return refuse(r, name, "its elements are in another file");
    if (!take(r, name, bytes))
        return false;
    void *data = bundle_add(r->b, name, dtype, &shape, bytes);
    hid_t memory = dtype == PITH_BOOL ? H5Tcopy(type) : type_of(dtype);
    const bool good = data && (!count || H5Dread(set, memory, H5S_ALL, H5S_ALL,
                                                 H5P_DEFAULT, data) >= 0);
    H5Tclose(memory);
    return good || refuse(r, name, "it is damaged");
}

static bool read_dataset(void *closure, hid_t set, const char *name) {
    reading *r = closure;
    hid_t type = set >= 0 ? H5Dget_type(set) : -1;
    bool good = type >= 0 || refuse(r, name, "it is damaged");
    if (good)
        good = strcmp(name, structure_name) == 0 ? read_structure(r, set, type)
                                                 : read_array(r, set, type, name);
    if (type >= 0)
        H5Tclose(type);
    return good;
}

static void note_link(void *closure, const char *name, H5L_type_t type) {
    enum { NAMED = 3 }; /* links named in the message */
    reading *r = closure;
    if (r->link_count++ >= NAMED)
        return;
    char *before = r->links;
    r->links =
        text_of("%s%s\"%.200s\" (%s)", before ? before : "", before ? ", " : "", name,
                type == H5L_TYPE_SOFT   ? "soft"
                : type == H5L_TYPE_HARD ? "to a group that has another name"
                                        : "to another file");
    free(before);
}

/* Report links that were not followed. A file without arrays is an error: all its content
 * may be linked. */
static bool tell_links(const reading *r) {
    if (r->link_count == 0)
        return true;
    const char *what = plural(r->link_count, "link is", "links are");
    const char *more = r->link_count > 3 ? " and others" : "";
    if (r->b->count == 0)
        return pith_fail(r->b->s, PITH_E_UNSUPPORTED, NULL,
                         "\"%s\" holds no array: %" PRId64 " %s not followed: %s%s",
                         r->path, r->link_count, what, r->links, more),
               false;
    char *harmless = clean(r->links);
    complain("convert", "\"%s\": %" PRId64 " %s not followed: %s%s", r->path,
             r->link_count, what, harmless, more);
    free(harmless);
    return true;
}

static bool read_file(bundle *b, const char *path) {
    struct stat st;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (stat(path, &st) != 0)
        return fail_io(b->s, path, "open"), false;
    if (!S_ISREG(st.st_mode)) {
        pith_fail(b->s, PITH_E_IO, NULL, "cannot open \"%s\": it is not a regular file",
                  path);
        return false;
    }
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        fail_h5(b->s, PITH_E_FORMAT, path, "open");
        return false;
    }
    reading r = {.b = b, .path = path, .left = bundle_most((size_t)st.st_size)};
    bool good = h5_walk(file, &(h5_visitor){&r, read_dataset, note_link});
    if (!good)
        fail_h5(b->s, PITH_E_FORMAT, path, "read");
    H5Fclose(file);
    good = good && tell_links(&r);
    if (good && r.structure)
        good = bundle_set_structure(b, path, r.structure, r.structure_bytes, group_name);
    free(r.structure);
    free(r.links);
    return good;
}

static const char *const extensions[] = {"h5", "hdf5", NULL};
const format h5_format = {.extensions = extensions,
                          .isolated = true,
                          .name_of = group_name,
                          .read = read_file,
                          .write = write_file};
