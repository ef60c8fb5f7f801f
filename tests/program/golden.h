/* Reads a family of golden cases: a JSON file of cases and a safetensors file of their
 * operands and results (tests/data/golden), and compares results as the cases ask. */
#ifndef PITH_TESTS_GOLDEN_H
#define PITH_TESTS_GOLDEN_H

#include "pith/base.h"

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
    golden_json *document, *header; /* of the cases, and of the tensor file */
    golden_tensor *tensors;
    int64_t tensor_count;
    struct golden_family *next; /* opened before it */
} golden_family;

/* The family of that name, which stays open; a missing or malformed file ends the test.
 */
golden_family *golden_open(const char *name);

/* Cases one after the other: the first for NULL, NULL after the last. */
const golden_json *golden_next(const golden_family *g, const golden_json *before);

const golden_json *golden_get(const golden_json *object, const char *key); /* or NULL */
const char *golden_text(const golden_json *object, const char *key);       /* or "" */
double golden_number(const golden_json *object, const char *key, double otherwise);
int golden_length(const golden_json *list);
const golden_json *golden_item(const golden_json *list, int k);
int64_t golden_integer(const golden_json *value); /* a number, or its text */

/* The k-th tensor of a case's list `in`, `out`, ...; NULL where there is none. */
const golden_tensor *
golden_tensor_of(const golden_family *g, const golden_json *one, const char *list, int k);

/* The first element where got is not as good as the case's k-th result; -1: all are. */
int64_t
golden_compare(const golden_family *g, const golden_json *one, int k, const void *got);

/* An element as text, for messages. */
const char *
golden_print(const pith_spec *spec, const void *data, int64_t i, char text[64]);

#endif
