/* Golden cases: JSON and safetensors reader, and comparison of elements. */
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static _Noreturn void die(const char *why, const char *what) {
    fprintf(stderr, "golden: %s: %.200s\n", why, what);
    exit(2);
}

/* ---- JSON ---- */

static char *copied(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : (die("no memory", text), NULL);
}

/* Convert a jansson value to a golden_json, which keeps children in a list. */
static golden_json *converted(json_t *from) {
    golden_json *v = calloc(1, sizeof *v), **tail = &v->child;
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_object(from)) {
        v->kind = '{';
        json_object_foreach(from, key, item) {
            *tail = converted(item);
            (*tail)->key = copied(key);
            tail = &(*tail)->next;
        }
    } else if (json_is_array(from)) {
        v->kind = '[';
        json_array_foreach(from, i, item) {
            *tail = converted(item);
            tail = &(*tail)->next;
        }
    } else if (json_is_string(from)) {
        v->kind = 's';
        v->text = copied(json_string_value(from));
    } else if (json_is_number(from)) {
        v->kind = 'n';
        v->number = json_number_value(from);
    } else {
        v->kind = json_is_true(from) ? 't' : json_is_false(from) ? 'f' : 'z';
    }
    return v;
}

static golden_json *parse(const char *text, size_t size, const char *what) {
    json_error_t error;
    json_t *document = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, &error);
    if (!document)
        die(error.text, what);
    golden_json *v = converted(document);
    json_decref(document);
    return v;
}

const golden_json *golden_get(const golden_json *object, const char *key) {
    for (const golden_json *c = object ? object->child : NULL; c; c = c->next)
        if (c->key && !strcmp(c->key, key))
            return c;
    return NULL;
}

const char *golden_text(const golden_json *object, const char *key) {
    const golden_json *c = golden_get(object, key);
    return c && c->text ? c->text : "";
}

double golden_number(const golden_json *object, const char *key, double otherwise) {
    const golden_json *c = golden_get(object, key);
    return c && c->kind == 'n' ? c->number : otherwise;
}

int golden_length(const golden_json *list) {
    int n = 0;
    for (const golden_json *c = list ? list->child : NULL; c; c = c->next)
        n++;
    return n;
}

const golden_json *golden_item(const golden_json *list, int k) {
    const golden_json *c = list ? list->child : NULL;
    while (c && k--)
        c = c->next;
    return c;
}

int64_t golden_integer(const golden_json *value) {
    return value->kind == 's' ? strtoll(value->text, NULL, 10) : (int64_t)value->number;
}

/* ---- Files ---- */

static char *
read_file(const char *folder, const char *family, const char *ending, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, family, ending);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    const long end = ftell(f);
    rewind(f);
    char *bytes = end < 0 ? NULL : malloc((size_t)end + 1);
    *size = (size_t)end;
    if (!bytes || fread(bytes, 1, *size, f) != *size)
        die("cannot read", path);
    fclose(f);
    return bytes;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const golden_tensor *)a)->name, ((const golden_tensor *)b)->name);
}

static pith_dtype dtype_of(const char *text) {
    char lower[8] = "";
    for (int i = 0; i < 7 && text[i]; i++)
        lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
    const pith_dtype dtype = pith_dtype_parse(lower);
    if (dtype == PITH_DTYPE_NONE)
        die("no dtype", text);
    return dtype;
}

static void read_tensors(golden_family *g, const char *bytes, size_t size) {
    uint64_t n = 0;
    if (size >= 8)
        memcpy(&n, bytes, 8);
    if (size < 8 || n > size - 8)
        die("bad tensor file", g->name);
    const char *data = bytes + 8 + n;
    golden_json *header = parse(bytes + 8, (size_t)n, g->name);
    g->header = header;
    g->tensors = calloc((size_t)golden_length(header) + 1, sizeof *g->tensors);
    for (const golden_json *c = header->child; c; c = c->next) {
        if (!strcmp(c->key, "__metadata__"))
            continue;
        golden_tensor *t = &g->tensors[g->tensor_count++];
        t->name = c->key;
        t->spec.dtype = dtype_of(golden_text(c, "dtype"));
        t->spec.count = 1;
        const golden_json *shape = golden_get(c, "shape"),
                          *offsets = golden_get(c, "data_offsets");
        if (!shape || golden_length(shape) > PITH_MAX_RANK || golden_length(offsets) != 2)
            die("bad tensor", t->name);
        for (const golden_json *d = shape->child; d; d = d->next)
            t->spec.count *= t->spec.shape[t->spec.rank++] = (int64_t)d->number;
        t->spec.bytes = (size_t)t->spec.count * pith_dtype_size(t->spec.dtype);
        const size_t begin = (size_t)golden_item(offsets, 0)->number;
        const size_t end = (size_t)golden_item(offsets, 1)->number;
        if (end - begin != t->spec.bytes || end > size - 8 - n)
            die("bad offsets", t->name);
        t->data = data + begin;
    }
    qsort(g->tensors, (size_t)g->tensor_count, sizeof *g->tensors, by_name);
}

/* All opened families, kept until exit. */
static golden_family *opened;

golden_family *golden_read(const char *folder, const char *name) {
    size_t size;
    char *cases = read_file(folder, name, ".json", &size);
    if (!cases)
        return NULL;
    golden_family *g = calloc(1, sizeof *g);
    g->name = copied(name);
    g->document = parse(cases, size, name);
    free(cases);
    if (!golden_get(g->document, "cases"))
        die("no cases", name);
    g->file =
        read_file(folder, name, ".safetensors", &size); /* trees have no tensor file */
    if (g->file)
        read_tensors(g, g->file, size);
    g->next = opened;
    opened = g;
    return g;
}

const golden_json *golden_next(const golden_family *g, const golden_json *before) {
    return before ? before->next : golden_get(g->document, "cases")->child;
}

const golden_tensor *golden_tensor_of(const golden_family *g,
                                      const golden_json *one,
                                      const char *list,
                                      int k) {
    const golden_json *item = golden_item(golden_get(one, list), k);
    if (!item)
        return NULL;
    const golden_tensor key = {.name = item->text};
    const golden_tensor *t =
        g->tensors && key.name
            ? bsearch(&key, g->tensors, (size_t)g->tensor_count, sizeof key, by_name)
            : NULL;
    if (!t)
        die("no tensor", key.name ? key.name : list);
    return t;
}

/* ---- Comparison ---- */

static uint64_t bits_at(const pith_spec *spec, const void *data, int64_t i) {
    const size_t size = pith_dtype_size(spec->dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + (size_t)i * size, size);
    return bits;
}

static double value_of(const pith_spec *spec, uint64_t bits) {
    double d;
    float f;
    uint32_t w;
    const int size = (int)pith_dtype_size(spec->dtype);
    if (spec->dtype == PITH_F64) {
        memcpy(&d, &bits, 8);
        return d;
    }
    if (spec->dtype == PITH_F32 || spec->dtype == PITH_BF16) {
        w = (uint32_t)bits << (spec->dtype == PITH_BF16 ? 16 : 0);
        memcpy(&f, &w, 4);
        return (double)f;
    }
    if (spec->dtype == PITH_F16) {
        const int e = bits >> 10 & 31;
        const double m = (double)(bits & 1023), sign = bits >> 15 ? -1 : 1;
        if (e == 31)
            return m > 0 ? (double)NAN : sign * (double)INFINITY;
        return sign * (e ? ldexp(1024 + m, e - 25) : ldexp(m, -24));
    }
    if (spec->dtype >= PITH_I8 && spec->dtype <= PITH_I64)
        return (double)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
    return (double)bits;
}

const char *
golden_print(const pith_spec *spec, const void *data, int64_t i, char text[64]) {
    const uint64_t bits = bits_at(spec, data, i);
    snprintf(text, 64, "%.17g (%llx)", value_of(spec, bits), (unsigned long long)bits);
    return text;
}

/* Rank of a float among all values of its dtype, for distances. */
static int64_t place_of(const pith_spec *spec, uint64_t bits) {
    const uint64_t sign = 1ull << (8 * pith_dtype_size(spec->dtype) - 1);
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static uint64_t distance(const pith_spec *spec, uint64_t g, uint64_t w) {
    if (!pith_dtype_is_float(spec->dtype)) {
        const double apart = fabs(value_of(spec, g) - value_of(spec, w));
        return apart < 0x1p63 ? (uint64_t)apart : (uint64_t)1 << 63;
    }
    const double a = value_of(spec, g), b = value_of(spec, w);
    if (isnan(a) != isnan(b))
        return UINT64_MAX;
    const int64_t p = place_of(spec, g), q = place_of(spec, w);
    return p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
}

uint64_t
golden_distance(const pith_spec *spec, const void *got, const void *want, int64_t i) {
    return distance(spec, bits_at(spec, got, i), bits_at(spec, want, i));
}

static bool close_enough(const golden_json *tol,
                         const golden_tensor *want,
                         const void *got,
                         int64_t i) {
    const uint64_t g = bits_at(&want->spec, got, i),
                   w = bits_at(&want->spec, want->data, i);
    const char *kind = golden_text(tol, "class");
    const double a = value_of(&want->spec, g), b = value_of(&want->spec, w);
    const double atol = golden_number(tol, "atol", 0),
                 rtol = golden_number(tol, "rtol", 0);
    const bool near = isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b);
    if (!pith_dtype_is_float(want->spec.dtype))
        return g == w || (!strcmp(kind, "rtol") && near);
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (!strcmp(kind, "rtol"))
        return a == b || near;
    if (strcmp(kind, "ulp") != 0)
        return g == w;
    return distance(&want->spec, g, w) <= (uint64_t)golden_number(tol, "n", 0) ||
           (golden_get(tol, "atol") && near);
}

int64_t golden_compare(const golden_family *g,
                       const golden_json *one,
                       int k,
                       const void *got,
                       int64_t *wrong) {
    const golden_tensor *want = golden_tensor_of(g, one, "out", k);
    const golden_tensor *alt = golden_tensor_of(g, one, "alt", k);
    const golden_tensor *care = golden_tensor_of(g, one, "care", k);
    const golden_json *tol = golden_get(one, "tol");
    int64_t worst = -1, count = 0;
    uint64_t most = 0;
    for (int64_t i = 0; i < want->spec.count; i++) {
        if (care && !((const uint8_t *)care->data)[i])
            continue;
        if (close_enough(tol, want, got, i) || (alt && close_enough(tol, alt, got, i)))
            continue;
        const uint64_t apart = golden_distance(&want->spec, got, want->data, i);
        if (!count++ || apart > most) {
            worst = i;
            most = apart;
        }
    }
    if (wrong)
        *wrong = count;
    return worst;
}
