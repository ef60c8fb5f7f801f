#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *why, const char *what) {
    fprintf(stderr, "golden: %s: %.80s\n", why, what);
    abort();
}

/* ---- JSON ---- */

static const char *skip(const char *at) {
    return at + strspn(at, " \n\t\r");
}

static const char *parse_string(const char *at, char **text) {
    char *p = *text = malloc(strcspn(at, "\n") + 1);
    if (*at++ != '"')
        die("no string", at);
    while (*at != '"') {
        if (*at == '\\') {
            at++;
            if (*at == 'u' || !*at)
                die("unexpected escape", at);
        }
        *p++ = *at++;
    }
    *p = 0;
    return at + 1;
}

static const char *parse(const char *at, golden_json **value) {
    golden_json *v = *value = calloc(1, sizeof *v), **tail = &v->child;
    at = skip(at);
    if (*at == '{' || *at == '[') {
        v->kind = *at++;
        const char end = v->kind == '{' ? '}' : ']';
        for (at = skip(at); *at != end; at = skip(at)) {
            char *key = NULL;
            if (v->kind == '{') {
                at = skip(parse_string(at, &key));
                if (*at++ != ':')
                    die("no colon", at);
            }
            at = skip(parse(at, tail));
            (*tail)->key = key;
            tail = &(*tail)->next;
            if (*at == ',')
                at++;
            else if (*at != end)
                die("no comma", at);
        }
        return at + 1;
    }
    if (*at == '"') {
        v->kind = 's';
        return parse_string(at, &v->text);
    }
    const size_t word = strspn(at, "truefalsn");
    if (word >= 4) {
        v->kind = *at == 'n' ? 'z' : *at;
        return at + word;
    }
    char *end;
    v->kind = 'n';
    v->number = strtod(at, &end);
    if (end == at)
        die("no value", at);
    return end;
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

static char *read_file(const char *family, const char *ending, size_t *size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s%s", PITH_GOLDEN_DIR, family, ending);
    FILE *f = fopen(path, "rb");
    if (!f)
        die("cannot open", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*size + 1);
    if (fread(bytes, 1, *size, f) != *size)
        die("short read", path);
    fclose(f);
    bytes[*size] = 0;
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
    uint64_t n;
    golden_json *header;
    memcpy(&n, bytes, 8);
    const char *data = bytes + 8 + n;
    char *text = malloc(n + 1);
    memcpy(text, bytes + 8, n);
    text[n] = 0;
    parse(text, &header);
    free(text);
    g->header = header;
    g->tensors = calloc((size_t)golden_length(header), sizeof *g->tensors);
    for (const golden_json *c = header->child; c; c = c->next) {
        if (!strcmp(c->key, "__metadata__"))
            continue;
        golden_tensor *t = &g->tensors[g->tensor_count++];
        t->name = c->key;
        t->spec.dtype = dtype_of(golden_text(c, "dtype"));
        t->spec.count = 1;
        for (const golden_json *d = golden_get(c, "shape")->child; d; d = d->next)
            t->spec.count *= t->spec.shape[t->spec.rank++] = (int64_t)d->number;
        t->spec.bytes = (size_t)t->spec.count * pith_dtype_size(t->spec.dtype);
        const golden_json *offsets = golden_get(c, "data_offsets");
        const size_t begin = (size_t)golden_item(offsets, 0)->number;
        const size_t end = (size_t)golden_item(offsets, 1)->number;
        if (end - begin != t->spec.bytes || data + end > bytes + size)
            die("bad offsets", t->name);
        t->data = data + begin;
    }
    qsort(g->tensors, (size_t)g->tensor_count, sizeof *g->tensors, by_name);
}

/* All families of the process, for as long as it runs. */
static golden_family *opened;

golden_family *golden_open(const char *name) {
    golden_family *g = calloc(1, sizeof *g);
    size_t size;
    char *cases = read_file(name, ".json", &size);
    parse(cases, &g->document);
    free(cases);
    char *tensors = read_file(name, ".safetensors", &size);
    read_tensors(g, tensors, size);
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
        bsearch(&key, g->tensors, (size_t)g->tensor_count, sizeof key, by_name);
    if (!t)
        die("no tensor", item->text);
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
    if (!strcmp(kind, "exact"))
        return g == w;
    if (!strcmp(kind, "rtol"))
        return a == b || near;
    const uint64_t sign = 1ull << (8 * pith_dtype_size(want->spec.dtype) - 1);
    const int64_t p = g & sign ? -(int64_t)(g & (sign - 1)) : (int64_t)g;
    const int64_t q = w & sign ? -(int64_t)(w & (sign - 1)) : (int64_t)w;
    const uint64_t apart = p > q ? (uint64_t)p - (uint64_t)q : (uint64_t)q - (uint64_t)p;
    return apart <= (uint64_t)golden_number(tol, "n", 0) ||
           (golden_get(tol, "atol") && near);
}

int64_t
golden_compare(const golden_family *g, const golden_json *one, int k, const void *got) {
    const golden_tensor *want = golden_tensor_of(g, one, "out", k);
    const golden_tensor *alt = golden_tensor_of(g, one, "alt", k);
    const golden_tensor *care = golden_tensor_of(g, one, "care", k);
    const golden_json *tol = golden_get(one, "tol");
    for (int64_t i = 0; i < want->spec.count; i++) {
        if (care && !((const uint8_t *)care->data)[i])
            continue;
        if (!close_enough(tol, want, got, i) && !(alt && close_enough(tol, alt, got, i)))
            return i;
    }
    return -1;
}
