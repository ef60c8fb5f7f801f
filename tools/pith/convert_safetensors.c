/* .safetensors: eight bytes of length, a JSON header, and the data. The structure of a
 * checkpoint is the metadata "pith". */
#include "bundle.h"
#include "json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_HEADER = 100 * 1000000, ALIGNMENT = 64 };

static const struct {
    const char *name;
    pith_dtype dtype;
} dtypes[] = {{"BOOL", PITH_BOOL}, {"I8", PITH_I8},     {"I16", PITH_I16},
              {"I32", PITH_I32},   {"I64", PITH_I64},   {"U8", PITH_U8},
              {"U16", PITH_U16},   {"U32", PITH_U32},   {"U64", PITH_U64},
              {"F16", PITH_F16},   {"BF16", PITH_BF16}, {"F32", PITH_F32},
              {"F64", PITH_F64}};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static const char *name_of_dtype(pith_dtype dtype) {
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return "";
}

/* ---- Writing ---- */

static char *print_header(const bundle *b, size_t *length) {
    char *text = NULL;
    size_t n = 0, at = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    json_to(out);
    json_open('{');
    if (b->text) {
        json_name("__metadata__");
        json_open('{');
        json_name("pith"), json_text(b->text);
        json_close('}');
    }
    for (int64_t i = 0; i < b->count; i++) {
        const bundle_item *it = &b->items[i];
        json_name(it->name);
        json_open('{');
        json_name("dtype"), json_text(name_of_dtype(it->dtype));
        json_name("shape"), json_shape(&it->shape);
        json_name("data_offsets");
        json_open('[');
        json_i64((int64_t)at), json_i64((int64_t)(at + it->bytes));
        json_close(']');
        json_close('}');
        at += it->bytes;
    }
    json_close('}');
    json_to(NULL);
    for (long end = ftell(out) + 8; end % ALIGNMENT; end++)
        putc(' ', out);
    *length = fclose(out) == 0 ? n : 0;
    return text;
}

static bool put(void *closure, const void *bytes, size_t n) {
    return fwrite(bytes, 1, n, closure) == n;
}

/* Create a new file without following links: others may write to the folder. */
static FILE *make_file(const char *path) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = file >= 0 ? fdopen(file, "wb") : NULL;
    if (file >= 0 && !out)
        close(file);
    return out;
}

static bool write_file(const bundle *b, const char *path) {
    size_t n = 0;
    char *header = print_header(b, &n);
    FILE *out = make_file(path);
    bool good = header && n && out;
    const uint64_t length = n;
    if (good && n > MOST_HEADER) {
        pith_fail(b->s, PITH_E_UNSUPPORTED, NULL,
                  "%" PRId64 " arrays are too many for a safetensors header", b->count);
        good = false;
    }
    good = good && put(out, &length, sizeof length) && put(out, header, n);
    for (int64_t i = 0; good && i < b->count; i++)
        good = item_pieces(b, &b->items[i], put, out);
    if (out && fclose(out) != 0)
        good = false;
    if (!good && !pith_failed(b->s))
        fail_io(b->s, path, "write");
    free(header);
    return good;
}

/* ---- Reading ---- */

typedef struct reading {
    bundle *b;
    const char *path;
    int file;
    size_t data, left;    /* offset of the data; its bytes not yet assigned to arrays */
    size_t all;           /* of the data */
    int64_t (*places)[2]; /* owned: begin and end of each array */
    size_t place_count, place_room;
    char *structure; /* owned; or NULL */
} reading;

static bool refuse(const reading *r, const char *what) {
    if (!pith_failed(r->b->s))
        pith_fail(r->b->s, PITH_E_FORMAT, NULL,
                  "\"%s\" is not a valid safetensors file: %s", r->path, what);
    return false;
}

static bool read_exactly(const reading *r, void *to, size_t n, size_t offset) {
    for (size_t done = 0; done < n;) {
        const ssize_t got =
            pread(r->file, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_io(r->b->s, r->path, "read"), false;
        if (got == 0)
            return refuse(r, "it ends early");
        done += (size_t)got;
    }
    return true;
}

static bool read_list(json_reader *j, int64_t *values, int most, int *count) {
    *count = 0;
    if (!json_take(j, '['))
        return false;
    if (json_take(j, ']'))
        return true;
    do
        if (*count == most || !json_take_size(j, &values[(*count)++]))
            return false;
    while (json_take(j, ','));
    return json_take(j, ']');
}

typedef struct entry {
    pith_dtype dtype;
    pith_shape shape;
    int64_t offsets[2];
    int offset_count;
} entry;

static bool read_dtype(const reading *r, json_reader *j, entry *e) {
    char *name = json_take_string(j);
    for (int i = 0; name && i < DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            e->dtype = dtypes[i].dtype;
    if (name && e->dtype == PITH_DTYPE_NONE)
        pith_fail(r->b->s, PITH_E_UNSUPPORTED, NULL,
                  "\"%s\" has an array of dtype %.40s, which pith does not have", r->path,
                  name);
    free(name);
    return e->dtype != PITH_DTYPE_NONE;
}

static bool read_entry(const reading *r, json_reader *j, entry *e) {
    *e = (entry){.shape.rank = -1};
    if (!json_take(j, '{'))
        return false;
    do {
        char *key = json_take_string(j);
        int rank;
        bool good = key && json_take(j, ':');
        if (good && strcmp(key, "dtype") == 0) {
            good = !e->dtype && read_dtype(r, j, e);
        } else if (good && strcmp(key, "shape") == 0) {
            good =
                e->shape.rank < 0 && read_list(j, e->shape.extents, PITH_MAX_RANK, &rank);
            e->shape.rank = good ? rank : 0;
        } else {
            good = good && strcmp(key, "data_offsets") == 0 && !e->offset_count &&
                   read_list(j, e->offsets, 2, &e->offset_count);
        }
        free(key);
        if (!good)
            return false;
    } while (json_take(j, ','));
    return json_take(j, '}') && e->dtype && e->shape.rank >= 0 && e->offset_count == 2;
}

static void note_place(reading *r, const int64_t offsets[2]) {
    if (r->place_count == r->place_room) {
        const size_t bytes = r->place_room * sizeof *r->places;
        r->place_room = r->place_room ? 2 * r->place_room : 64;
        void *more = room_for(r->place_room, sizeof *r->places);
        if (bytes)
            memcpy(more, r->places, bytes);
        free(r->places);
        r->places = more;
    }
    memcpy(r->places[r->place_count++], offsets, sizeof *r->places);
}

static int by_place(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    const int k = x[0] == y[0]; /* first key that may differ */
    return x[k] < y[k] ? -1 : x[k] > y[k];
}

/* Arrays must be back to back: overlaps and holes are errors. */
static bool check_places(reading *r) {
    int64_t at = 0;
    if (r->place_count)
        qsort(r->places, r->place_count, sizeof *r->places, by_place);
    for (size_t i = 0; i < r->place_count; at = r->places[i++][1])
        if (r->places[i][0] != at)
            return refuse(r, "its arrays overlap or leave holes");
    return (size_t)at == r->all || refuse(r, "its arrays do not fill it");
}

static bool read_array(reading *r, const char *name, const entry *e) {
    int64_t count;
    size_t bytes;
    if (!shape_size(e->dtype, &e->shape, &count, &bytes) ||
        e->offsets[1] < e->offsets[0] || (size_t)e->offsets[1] > r->all ||
        (size_t)(e->offsets[1] - e->offsets[0]) != bytes || bytes > r->left)
        return refuse(r, "the range of an array does not fit its shape or the file");
    r->left -= bytes;
    note_place(r, e->offsets);
    void *data = bundle_add(r->b, name, e->dtype, &e->shape, bytes);
    return data && read_exactly(r, data, bytes, r->data + (size_t)e->offsets[0]);
}

static bool read_metadata(reading *r, json_reader *j) {
    if (!json_take(j, '{'))
        return false;
    if (json_take(j, '}'))
        return true;
    do {
        char *key = json_take_string(j);
        char *value = key && json_take(j, ':') ? json_take_string(j) : NULL;
        if (value && strcmp(key, "pith") == 0 && !r->structure) {
            r->structure = value;
            value = NULL;
            free(key);
            continue;
        }
        const bool good = value;
        free(key);
        free(value);
        if (!good)
            return false;
    } while (json_take(j, ','));
    return json_take(j, '}');
}

static bool read_header(reading *r, json_reader *j) {
    entry e;
    if (!json_take(j, '{'))
        return refuse(r, "its header is not an object");
    if (json_take(j, '}'))
        return json_at_end(j) || refuse(r, "its header is malformed");
    do {
        char *name = json_take_string(j);
        bool good = name && json_take(j, ':');
        if (good && strcmp(name, "__metadata__") == 0)
            good = read_metadata(r, j);
        else
            good = good && read_entry(r, j, &e) && read_array(r, name, &e);
        free(name);
        if (!good)
            return refuse(r, "its header is malformed");
    } while (json_take(j, ','));
    return (json_take(j, '}') && json_at_end(j)) || refuse(r, "its header is malformed");
}

static bool read_open(reading *r) {
    struct stat st;
    uint64_t length;
    if (fstat(r->file, &st) != 0)
        return fail_io(r->b->s, r->path, "read"), false;
    if (!S_ISREG(st.st_mode)) {
        pith_fail(r->b->s, PITH_E_IO, NULL,
                  "cannot open \"%s\": it is not a regular file", r->path);
        return false;
    }
    const size_t bytes = (size_t)st.st_size;
    if (bytes < 8)
        return refuse(r, "it is too short");
    if (!read_exactly(r, &length, sizeof length, 0))
        return false;
    if (length > MOST_HEADER || length > bytes - 8)
        return refuse(r, "its header is longer than the file");
    r->data = 8 + (size_t)length;
    r->all = r->left = bytes - r->data;
    char *header = room_for((size_t)length + 1, 1);
    json_reader j = {header, header + length};
    const bool good = read_exactly(r, header, (size_t)length, 8) && read_header(r, &j) &&
                      check_places(r);
    free(header);
    free(r->places);
    return good;
}

static bool read_file(bundle *b, const char *path) {
    reading r = {.b = b, .path = path};
    r.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r.file < 0)
        return fail_io(b->s, path, "open"), false;
    bool good = read_open(&r);
    close(r.file);
    if (good && r.structure)
        good = bundle_set_structure(b, path, r.structure, strlen(r.structure), path_name);
    free(r.structure);
    return good;
}

static const char *const extensions[] = {"safetensors", NULL};
const format safetensors_format = {.extensions = extensions,
                                   .name_of = path_name,
                                   .read = read_file,
                                   .write = write_file};
