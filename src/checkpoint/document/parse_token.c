/* Document lexer. jansson reads one value at a time, so the tables bound the memory, not
 * jansson's objects. */
#include "base/format.h"
#include "checkpoint/document/parse_internal.h"

#include <limits.h>
#include <string.h>

pith_status pithp_parse_refuse(pithp_parser *p, const char *format, ...) {
    char text[PITHP_MESSAGE_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    pithp_format_v(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t line = 1;
    for (size_t i = 0; i < p->at && i < p->n; i++)
        line += p->text[i] == '\n';
    char path[PITHP_PATH_BYTES];
    const char *at =
        p->leaf_node < 0 ? NULL : pithp_document_error_path(p->d, p->leaf_node, path);
    return pithp_fail(p->s, PITH_E_FORMAT, at, "\"%s\", line %zu: %s", p->file, line,
                      text);
}

pith_status pithp_parse_memory(const pithp_parser *p) {
    return pithp_fail_memory(p->s, 0);
}

const char *pithp_parse_keep(const pithp_parser *p, const json_t *string) {
    return pithp_document_text(p->d, json_string_value(string),
                               json_string_length(string));
}

/* ---- Tokens ---- */

char pithp_parse_peek(pithp_parser *p) {
    while (p->at < p->n && strchr(" \n\r\t", p->text[p->at]) && p->text[p->at])
        p->at++;
    return p->at < p->n ? p->text[p->at] : '\0';
}

pith_status pithp_parse_expect(pithp_parser *p, char c) {
    if (pithp_parse_peek(p) != c)
        return pithp_parse_refuse(p, "expected '%c'", c);
    p->at++;
    return PITH_OK;
}

pith_status pithp_parse_more(pithp_parser *p, char close, bool *again) {
    const char c = pithp_parse_peek(p);
    if (c != ',' && c != close)
        return pithp_parse_refuse(p, "expected ',' or '%c'", close);
    p->at++;
    *again = c == ',';
    return PITH_OK;
}

pith_status pithp_parse_value(pithp_parser *p, json_t **value) {
    json_error_t e;
    const size_t rest = p->n - p->at;
    *value =
        json_loadb(p->text + p->at, rest < INT_MAX ? rest : INT_MAX,
                   JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
    if (!*value)
        return json_error_code(&e) == json_error_out_of_memory
                   ? pithp_parse_memory(p)
                   : pithp_parse_refuse(p, "%s", e.text);
    p->at += (size_t)e.position;
    return PITH_OK;
}

bool pithp_json_string_read(const char *text, size_t n, char *to, size_t room) {
    json_t *value = json_loadb(text, n, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, NULL);
    const size_t length = json_string_length(value);
    const bool fits = json_is_string(value) && length < room;
    if (fits)
        memcpy(to, json_string_value(value), length + 1);
    json_decref(value);
    return fits;
}

static bool read_claim(const json_t *row, pithp_claim *claim) {
    const json_t *file = json_object_get(row, "file");
    const json_t *digest = json_object_get(row, "checksum");
    const json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
    const json_int_t data = json_integer_value(json_object_get(row, "data"));
    const size_t length = json_string_length(file);
    if (!json_is_string(file) || length >= sizeof claim->file)
        return false;
    memcpy(claim->file, json_string_value(file), length + 1);
    claim->bytes = bytes > 0 ? (size_t)bytes : 0;
    claim->data = data > 0 ? (size_t)data : 0;
    if (!json_is_string(digest) ||
        !pithp_digest_parse(json_string_value(digest), &claim->digest))
        claim->bytes = claim->data = 0; /* no file has that size */
    return pithp_is_file_name(claim->file);
}

bool pithp_json_claims_read(const char *text, pithp_claims *claims) {
    json_error_t e;
    json_t *files = json_loadb(text, strlen(text),
                               JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &e);
    const size_t count = json_array_size(files);
    bool fits = count > 0 && count <= PITHP_SIDECARS;
    claims->count = 0;
    if (!files)
        return json_error_code(&e) != json_error_out_of_memory;
    for (size_t i = 0; fits && i < count; i++) {
        fits = read_claim(json_array_get(files, i), &claims->rows[i]);
        claims->count += fits;
    }
    json_decref(files);
    return fits;
}

pith_status pithp_parse_unpacked(pithp_parser *p, int result, const json_error_t *e) {
    return result == 0 ? PITH_OK : pithp_parse_refuse(p, "%s", e->text);
}

/* ---- Numbers ---- */

bool pithp_parse_element(const json_t *value, pith_dtype dtype, void *element) {
    switch (json_typeof(value)) {
        case JSON_INTEGER:
            return pithp_element_from_i64(dtype, json_integer_value(value), element);
        case JSON_REAL:
            return pithp_element_from_f64(dtype, json_real_value(value), element);
        case JSON_STRING:
            return pithp_element_from_text(dtype, json_string_value(value), element);
        case JSON_TRUE:
        case JSON_FALSE:
            *(unsigned char *)element = json_is_true(value);
            return dtype == PITH_BOOL;
        case JSON_OBJECT:
        case JSON_ARRAY:
        case JSON_NULL:
            break;
    }
    return false;
}

/* ---- Strings and integers ---- */

pith_status pithp_parse_text(pithp_parser *p, json_t *value, const char **text) {
    if (!json_is_string(value))
        return pithp_parse_refuse(p, "expected a string");
    *text = pithp_parse_keep(p, value);
    return *text ? PITH_OK : pithp_parse_memory(p);
}

pith_status pithp_parse_integer(pithp_parser *p, json_t *value, int64_t *number) {
    if (!json_is_integer(value))
        return pithp_parse_refuse(p, "expected an integer");
    *number = json_integer_value(value);
    return PITH_OK;
}
