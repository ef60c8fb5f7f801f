/* NumPy's .npy format, version 1 to 3: a dict literal of dtype, order and shape. */
#include "npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HEADER = 1 << 20, ALIGNMENT = 64 };
const char *const npy_dtype_unknown = "it has a dtype that pith does not have";
static const char magic[] = "\x93NUMPY";

static const struct {
    char kind;
    size_t bytes;
    pith_dtype dtype;
} kinds[] = {{'b', 1, PITH_BOOL}, {'i', 1, PITH_I8},  {'i', 2, PITH_I16},
             {'i', 4, PITH_I32},  {'i', 8, PITH_I64}, {'u', 1, PITH_U8},
             {'u', 2, PITH_U16},  {'u', 4, PITH_U32}, {'u', 8, PITH_U64},
             {'f', 2, PITH_F16},  {'f', 4, PITH_F32}, {'f', 8, PITH_F64},
             {'u', 2, PITH_BF16}}; /* written only: NumPy has none */
enum { KINDS = sizeof kinds / sizeof kinds[0] };

char *npy_print(pith_dtype dtype, const pith_shape *shape, size_t *bytes) {
    char extents[PITH_MAX_RANK * 24] = "";
    int n = 0, kind = 0;
    for (int32_t i = 0; i < shape->rank; i++)
        n += snprintf(extents + n, sizeof extents - (size_t)n, "%s%" PRId64,
                      i ? ", " : "", shape->extents[i]);
    while (kind + 1 < KINDS && kinds[kind].dtype != dtype)
        kind++;
    char *dict =
        text_of("{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%s%s), }",
                kinds[kind].bytes == 1 ? '|' : '<', kinds[kind].kind, kinds[kind].bytes,
                extents, shape->rank == 1 ? "," : "");
    const size_t used = 10 + strlen(dict) + 1;
    *bytes = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *header = room_for(*bytes + 1, 1);
    memset(header, ' ', *bytes);
    memcpy(header, magic, 6);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)((*bytes - 10) & 255);
    header[9] = (char)((*bytes - 10) >> 8);
    memcpy(header + 10, dict, strlen(dict));
    header[*bytes - 1] = '\n';
    free(dict);
    return header;
}

size_t npy_length(const unsigned char start[NPY_START]) {
    if (memcmp(start, magic, 6) != 0 || start[6] < 1 || start[6] > 3)
        return 0;
    if (start[6] == 1)
        return 10 + (size_t)start[8] + ((size_t)start[9] << 8);
    const size_t n = (size_t)start[8] + ((size_t)start[9] << 8) +
                     ((size_t)start[10] << 16) + ((size_t)start[11] << 24);
    return n > MOST_HEADER ? 0 : 12 + n;
}

/* ---- The dict ---- */

typedef struct reader {
    const char *at, *end;
} reader;

static void skip(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
        r->at++;
}

static bool take(reader *r, char c) {
    skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    const size_t n = strlen(word);
    skip(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* Parse 'text', without escapes. */
static bool take_text(reader *r, char *text, size_t room) {
    const char quote = take(r, '\'') ? '\'' : take(r, '"') ? '"' : 0;
    size_t n = 0;
    if (!quote)
        return false;
    for (; r->at < r->end && *r->at != quote; r->at++)
        if (*r->at == '\\' || n + 1 == room)
            return false;
        else
            text[n++] = *r->at;
    text[n] = 0;
    return take(r, quote);
}

static bool take_shape(reader *r, pith_shape *shape) {
    shape->rank = 0;
    if (!take(r, '('))
        return false;
    while (!take(r, ')')) {
        int64_t extent = 0;
        if (shape->rank == PITH_MAX_RANK)
            return false;
        skip(r);
        const char *begin = r->at;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
            if (__builtin_mul_overflow(extent, 10, &extent) ||
                __builtin_add_overflow(extent, *r->at - '0', &extent))
                return false;
        if (r->at == begin)
            return false;
        shape->extents[shape->rank++] = extent;
        if (!take(r, ','))
            return take(r, ')');
    }
    return true;
}

static const char *parse_dtype(const char *text, npy *array) {
    char *end;
    if (!text[0] || !text[1])
        return npy_dtype_unknown;
    const size_t bytes = strtoul(text + 2, &end, 10);
    array->swapped = text[0] == '>';
    for (int i = 0; i + 1 < KINDS && !*end; i++)
        if (kinds[i].kind == text[1] && kinds[i].bytes == bytes &&
            strchr("<>|=", text[0])) {
            array->dtype = kinds[i].dtype;
            return NULL;
        }
    return npy_dtype_unknown;
}

const char *npy_parse(const char *header, size_t bytes, npy *array) {
    static const char malformed[] = "its header is malformed";
    reader r = {header + (header[6] == 1 ? 10 : 12), header + bytes};
    bool descr = false, order = false, shape = false;
    char key[32], text[32];
    *array = (npy){0};
    if (!take(&r, '{'))
        return malformed;
    while (!take(&r, '}')) {
        if (!take_text(&r, key, sizeof key) || !take(&r, ':'))
            return malformed;
        if (strcmp(key, "descr") == 0 && !descr) {
            if (!take_text(&r, text, sizeof text))
                return npy_dtype_unknown;
            const char *wrong = parse_dtype(text, array);
            if (wrong)
                return wrong;
            descr = true;
        } else if (strcmp(key, "fortran_order") == 0 && !order) {
            array->fortran = take_word(&r, "True");
            order = array->fortran || take_word(&r, "False");
        } else if (strcmp(key, "shape") == 0 && !shape) {
            shape = take_shape(&r, &array->shape);
        } else {
            return malformed;
        }
        if (!take(&r, ',')) {
            if (!take(&r, '}'))
                return malformed;
            break;
        }
    }
    return descr && order && shape ? NULL : malformed;
}

/* ---- Elements ---- */

static void swap(char *data, size_t step, int64_t count) {
    for (int64_t i = 0; i < count; i++, data += step)
        for (size_t k = 0; k < step / 2; k++) {
            const char c = data[k];
            data[k] = data[step - 1 - k];
            data[step - 1 - k] = c;
        }
}

/* Transpose from Fortran order to C order. */
static void *transposed(const npy *array, const char *data, int64_t count) {
    const size_t step = pith_dtype_size(array->dtype);
    const pith_shape *shape = &array->shape;
    char *result = room_for((size_t)count, step);
    int64_t at[PITH_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) { /* in C order */
        int64_t from = 0;
        for (int32_t k = shape->rank; k-- > 0;)
            from = from * shape->extents[k] + at[k];
        memcpy(result + (size_t)i * step, data + (size_t)from * step, step);
        for (int32_t k = shape->rank; k-- > 0 && ++at[k] == shape->extents[k];)
            at[k] = 0;
    }
    return result;
}

void *npy_elements(const npy *array, void *data, int64_t count) {
    const size_t step = pith_dtype_size(array->dtype);
    if (array->swapped && step > 1)
        swap(data, step, count);
    return array->fortran && array->shape.rank > 1 && count
               ? transposed(array, data, count)
               : data;
}
