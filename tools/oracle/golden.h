/* Reader of golden families: a JSON file of cases and a safetensors file of operands
 * and results. It compares results with the tolerances of the cases. Shared with the
 * tests. */
#ifndef PITH_ORACLE_GOLDEN_H
#define PITH_ORACLE_GOLDEN_H

#include <pith/base.h>

typedef struct golden_json {
    char kind; /* { [ s(tring) n(umber) t(rue) f(alse) z (null) */
    char *key, *text;
    double number;
    struct golden_json *child, *next;
} golden_json;

typedef struct golden_tensor {
    const char *name;
    pith_spec spec;
    const void *data;
} golden_tensor;

typedef struct golden_family {
    char *name, *file;              /* file: the tensor file's bytes */
    golden_json *document, *header; /* of the cases, and of the tensor file */
    golden_tensor *tensors;
    int64_t tensor_count;
    struct golden_family *next; /* opened before this one */
} golden_family;

/* The family of that name in a folder, which stays open; NULL: no such file. A malformed
 * file ends the program with status 2. */
golden_family *golden_read(const char *folder, const char *name);

/* Iterate over cases: the first for NULL, NULL after the last. */
const golden_json *golden_next(const golden_family *g, const golden_json *before);

const golden_json *golden_get(const golden_json *object, const char *key); /* or NULL */
const char *golden_text(const golden_json *object, const char *key);       /* or "" */
double golden_number(const golden_json *object, const char *key, double otherwise);
int golden_length(const golden_json *list);
const golden_json *golden_item(const golden_json *list, int k);
int64_t golden_integer(const golden_json *value); /* a number, or its text */

/* Tensor k of a case's list `in`, `out`, ...; NULL: missing. */
const golden_tensor *
golden_tensor_of(const golden_family *g, const golden_json *one, const char *list, int k);

/* The worst element of got against the case's result k; -1: all are within tolerance.
 * *wrong (may be NULL): number of wrong elements. */
int64_t golden_compare(const golden_family *g,
                       const golden_json *one,
                       int k,
                       const void *got,
                       int64_t *wrong);
/* Distance of two elements: for floats in representable values (UINT64_MAX if one is
 * NaN), for integers as numbers. */
uint64_t
golden_distance(const pith_spec *spec, const void *got, const void *want, int64_t i);

/* An element as text, for messages. */
const char *
golden_print(const pith_spec *spec, const void *data, int64_t i, char text[64]);

#endif
