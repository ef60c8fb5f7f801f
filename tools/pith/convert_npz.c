/* .npz: NumPy arrays in a ZIP archive, by libzip. The structure of a checkpoint is the
 * entry pith.json. */
#include "bundle.h"
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zip.h>

static const char structure_name[] = "pith.json";

static void fail_zip(pith_scope *s, const char *path, const char *call, zip_t *z) {
    if (!pith_failed(s))
        pith_fail(s, PITH_E_IO, NULL, "cannot %s \"%s\": %s", call, path,
                  zip_strerror(z));
}

static zip_t *open_zip(pith_scope *s, const char *path, int flags) {
    int code = 0;
    zip_t *z = zip_open(path, flags, &code);
    if (!z) {
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        const bool twice = code == ZIP_ER_EXISTS && !(flags & ZIP_CREATE);
        const bool malformed = twice || code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS;
        pith_fail(s, malformed ? PITH_E_FORMAT : PITH_E_IO, NULL,
                  "cannot open \"%s\": %s", path,
                  twice ? "two entries have one name" : zip_error_strerror(&e));
        zip_error_fini(&e);
    }
    return z;
}

/* ---- Writing: libzip requests the bytes of each entry when the archive is closed
 * ---- */

typedef struct entry {
    const bundle *b;
    const bundle_item *it;
    char *header; /* owned */
    size_t header_bytes, at;
    char *piece;         /* owned: elements from `first` on */
    int64_t first, held; /* of the piece, in elements */
    zip_error_t error;
} entry;

enum { PIECE = 1 << 20 };

/* Load the piece that contains an offset of the data. */
static bool hold(entry *e, size_t offset) {
    const size_t step = pith_dtype_size(e->it->dtype);
    const int64_t at = (int64_t)(offset / step), most = (int64_t)(PIECE / step);
    if (e->piece && at >= e->first && at < e->first + e->held)
        return true;
    if (!e->piece)
        e->piece = room_for(PIECE, 1);
    e->first = at;
    e->held = e->it->count - at < most ? e->it->count - at : most;
    return pith_checkpoint_read(e->b->s, e->b->structure.c, e->it->leaf, at, e->held,
                                e->piece, (size_t)e->held * step);
}

static zip_int64_t serve(entry *e, char *to, size_t room) {
    size_t done = 0;
    const size_t all = e->header_bytes + e->it->bytes;
    while (done < room && e->at < all) {
        const char *from = e->header + e->at;
        size_t n = e->header_bytes - e->at;
        if (e->at >= e->header_bytes) {
            const size_t offset = e->at - e->header_bytes;
            if (e->it->leaf < 0) {
                from = (const char *)e->it->data + offset;
                n = e->it->bytes - offset;
            } else {
                if (!hold(e, offset))
                    return -1;
                const size_t step = pith_dtype_size(e->it->dtype);
                from = e->piece + (offset - (size_t)e->first * step);
                n = (size_t)e->held * step - (offset - (size_t)e->first * step);
            }
        }
        n = n < room - done ? n : room - done;
        memcpy(to + done, from, n);
        done += n;
        e->at += n;
    }
    return (zip_int64_t)done;
}

static void release(entry *e) {
    free(e->header);
    free(e->piece);
    free(e);
}

static zip_int64_t
entry_source(void *closure, void *data, zip_uint64_t n, zip_source_cmd_t command) {
    entry *e = closure;
    switch ((int)command) {
        case ZIP_SOURCE_OPEN:
            e->at = 0;
            if (e->it->leaf >= 0 &&
                !pith_checkpoint_verify(e->b->s, e->b->structure.c, e->it->leaf))
                return -1;
            return 0;
        case ZIP_SOURCE_READ:
            return serve(e, data, n);
        case ZIP_SOURCE_CLOSE:
            free(e->piece);
            e->piece = NULL;
            return 0;
        case ZIP_SOURCE_STAT: {
            zip_stat_t *st = data;
            zip_stat_init(st);
            st->size = e->header_bytes + e->it->bytes;
            st->valid = ZIP_STAT_SIZE;
            return sizeof *st;
        }
        case ZIP_SOURCE_ERROR: {
            int *codes = data;
            codes[0] = ZIP_ER_READ;
            codes[1] = EIO;
            return 2 * sizeof *codes;
        }
        case ZIP_SOURCE_FREE:
            release(e);
            return 0;
        case ZIP_SOURCE_SUPPORTS:
            return ZIP_SOURCE_SUPPORTS_READABLE;
        default:
            return -1;
    }
}

/* Add an entry; takes the source. The time stamp is fixed, so that equal bundles give
 * equal bytes. */
static bool add(zip_t *z, const char *name, zip_source_t *source) {
    struct tm first = {.tm_year = 80, .tm_mday = 1, .tm_hour = 12, .tm_isdst = -1};
    const zip_int64_t index =
        source ? zip_file_add(z, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        zip_source_free(source);
        return false;
    }
    return zip_set_file_compression(z, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_mtime(z, (zip_uint64_t)index, mktime(&first), 0) == 0;
}

static bool add_item(zip_t *z, const bundle *b, const bundle_item *it) {
    entry *e = room_for(1, sizeof *e);
    *e = (entry){.b = b, .it = it};
    e->header = npy_print(it->dtype, &it->shape, &e->header_bytes);
    zip_source_t *source = zip_source_function(z, entry_source, e);
    if (!source)
        return release(e), false;
    char *name = text_of("%s.npy", it->name);
    const bool good = add(z, name, source);
    free(name);
    return good;
}

static bool write_file(const bundle *b, const char *path) {
    zip_t *z = open_zip(b->s, path, ZIP_CREATE | ZIP_EXCL);
    if (!z)
        return false;
    bool good = true;
    for (int64_t i = 0; good && i < b->count; i++)
        good = add_item(z, b, &b->items[i]);
    if (good && b->text)
        good = add(z, structure_name, zip_source_buffer(z, b->text, strlen(b->text), 0));
    if (good && zip_close(z) == 0)
        return true;
    fail_zip(b->s, path, "write", z);
    zip_discard(z);
    return false;
}

/* ---- Reading ---- */

typedef struct reading {
    bundle *b;
    const char *path;
    zip_t *z;
    size_t left;     /* remaining bytes that entries may claim */
    char *structure; /* owned; or NULL */
    size_t structure_bytes;
} reading;

static bool refuse(const reading *r, const char *name, const char *what) {
    return fail_format(r->b->s, r->path, name, what);
}

/* Read exactly n bytes. */
static bool read_exactly(zip_file_t *f, void *to, size_t n) {
    for (size_t done = 0; done < n;) {
        const zip_int64_t got = zip_fread(f, (char *)to + done, n - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Whether the entry ends here: libzip then verifies its checksum. */
static bool ends(zip_file_t *f) {
    char c;
    return zip_fread(f, &c, 1) == 0;
}

static bool
read_elements(reading *r, zip_file_t *f, const char *name, npy *array, size_t left) {
    int64_t count;
    size_t bytes;
    if (!shape_size(array->dtype, &array->shape, &count, &bytes) || bytes != left)
        return refuse(r, name, "its size does not fit its shape");
    char *plain = text_of("%.*s", (int)(strlen(name) - 4), name);
    void *data = bundle_add(r->b, plain, array->dtype, &array->shape, bytes);
    free(plain);
    if (!data)
        return false;
    if (!read_exactly(f, data, bytes) || !ends(f))
        return refuse(r, name, "it is damaged");
    bundle_item *it = &r->b->items[r->b->count - 1];
    it->data = npy_elements(array, data, count);
    if (it->data != data)
        free(data);
    return true;
}

static bool read_array(reading *r, zip_file_t *f, const char *name, size_t bytes) {
    unsigned char start[NPY_START];
    npy array;
    if (bytes < NPY_START || !read_exactly(f, start, NPY_START))
        return refuse(r, name, "it is damaged or too short");
    const size_t n = npy_length(start);
    if (n < NPY_START || n > bytes)
        return refuse(r, name, "it is not a NumPy array");
    char *header = room_for(n + 1, 1);
    memcpy(header, start, NPY_START);
    const char *wrong = read_exactly(f, header + NPY_START, n - NPY_START)
                            ? npy_parse(header, n, &array)
                            : "it is damaged";
    free(header);
    if (wrong == npy_dtype_unknown)
        return fail_dtype(r->b->s, r->path, name);
    return wrong ? refuse(r, name, wrong) : read_elements(r, f, name, &array, bytes - n);
}

static bool read_structure(reading *r, zip_file_t *f, size_t bytes) {
    if (r->structure)
        return refuse(r, structure_name, "it occurs twice");
    r->structure = room_for(bytes + 1, 1);
    r->structure_bytes = bytes;
    return (read_exactly(f, r->structure, bytes) && ends(f)) ||
           refuse(r, structure_name, "it is damaged");
}

static bool read_entry(reading *r, zip_uint64_t index) {
    zip_stat_t st;
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(r->z, index, 0, &st) != 0 || (st.valid & wanted) != wanted)
        return refuse(r, "?", "it is malformed");
    const size_t n = strlen(st.name);
    if (st.size > r->left)
        return refuse(r, st.name, "it claims more than the file can hold");
    r->left -= st.size;
    const bool is_structure = strcmp(st.name, structure_name) == 0;
    if (!is_structure && (n < 5 || strcmp(st.name + n - 4, ".npy") != 0))
        return refuse(r, st.name, "it is not a NumPy array");
    zip_file_t *f = zip_fopen_index(r->z, index, 0);
    if (!f)
        return refuse(r, st.name, zip_strerror(r->z));
    const bool good =
        is_structure ? read_structure(r, f, st.size) : read_array(r, f, st.name, st.size);
    zip_fclose(f);
    return good;
}

static bool read_file(bundle *b, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        return fail_io(b->s, path, "open"), false;
    if (!S_ISREG(st.st_mode)) {
        pith_fail(b->s, PITH_E_IO, NULL, "cannot open \"%s\": it is not a regular file",
                  path);
        return false;
    }
    reading r = {.b = b, .path = path, .left = bundle_most((size_t)st.st_size)};
    r.z = open_zip(b->s, path, ZIP_RDONLY | ZIP_CHECKCONS);
    const zip_int64_t count = r.z ? zip_get_num_entries(r.z, 0) : -1;
    bool good = r.z;
    for (zip_int64_t i = 0; good && i < count; i++)
        good = read_entry(&r, (zip_uint64_t)i);
    if (r.z)
        zip_discard(r.z);
    if (good && r.structure)
        good = bundle_set_structure(b, path, r.structure, r.structure_bytes, path_name);
    free(r.structure);
    return good;
}

static const char *const extensions[] = {"npz", NULL};
const format npz_format = {.extensions = extensions,
                           .name_of = path_name,
                           .read = read_file,
                           .write = write_file};
