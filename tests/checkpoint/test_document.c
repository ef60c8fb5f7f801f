/* Documents that are whole but wrong: each is refused with its line, even if its checksum
 * is valid, and no claim is used before it is checked. */
#include "checkpoint_test.h"

/* Replaces a text of the document and requires that it is then refused. */
static void refuses(pith_scope *s,
                    const ct_file *good,
                    const char *from,
                    const char *to,
                    const char *says) {
    ct_write("a.json", good->bytes, good->n);
    ct_replace("a.json", from, to);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    cr_assert(strstr(pt_error.message, says), "%s -> %s: expected \"%s\" in: %s", from,
              to, says, pt_error.message);
}

static const void *small_tree(pith_scope *s) {
    const char *const keys[] = {"a", "b"};
    const void *items[] = {pith_f64(s, 0.5), pith_full(s, PITH_U8, PITH_SHAPE(2, 3), 7)};
    const Units units = {"m", NULL};
    const Force force = {2.5, pith_freeze(s, Units, &units)};
    const pith_dict *dict = pith_dict_make(s, 2, keys, items);
    return pith_list_make(
        s, PITH_ITEMS(dict, pith_freeze(s, Force, &force), pith_none_make(s)));
}

Test(document, is_refused_where_a_row_makes_no_sense) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_save(s, small_tree(s), "a.json", NULL));
    const ct_file good = ct_read("a.json");
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"library\"", "\"librarie\"", "line 3: expected the member \"library\""},
        {"\"step\":0", "\"step\":0.5", "expected an integer"},
        {"\"metadata\":{}", "\"metadata\":{\"a\":1}",
         "the metadata \"a\" is not a string"},
        {"\"metadata\":{}", "\"metadata\":[]", "metadata is not an object"},
        {"\"metadata\":{}", "\"metadata\":{\"a\":\"\",\"a\":\"\"}",
         "duplicate object key"},
        {"\"version\":1}", "\"version\":-1}", "a type needs a name and a version"},
        {"\"name\":\"Force\"", "\"name\":\"\"", "a type needs a name and a version"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"bag\"}", "\"bag\" is not a node kind"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"list\",\"parent\":0,\"at\":0}",
         "the first row is not a root"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"absent\"}", "the first row is not a root"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"list\",\"more\":0}",
         "1 object item(s) left unpacked: more"},
        {"{\"kind\":\"list\"}", "[]", "expected a row"},
        {"{\"kind\":\"list\"}", "{}", "Object item not found: kind"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"list\",\"type\":0}", "a record has a type"},
        {"\"type\":0", "\"type\":2", "a record has a type"},
        {"\"type\":0", "\"type\":4294967296", "a record has a type"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":7,\"at\":\"b\"",
         "expected an earlier row as parent"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":-1,\"at\":\"b\"",
         "expected an earlier row as parent"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":2,\"at\":\"b\"",
         "row 2 can have no children"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":1",
         "expected an earlier row as parent, and a place"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":1,\"at\":\"a\"",
         "the keys of a dict are not sorted"},
        {"\"parent\":1,\"at\":\"b\"", "\"parent\":1,\"at\":1", "expected a string"},
        {"\"parent\":0,\"at\":1", "\"parent\":0,\"at\":2", "expected item 1"},
        {"\"parent\":0,\"at\":1", "\"parent\":0,\"at\":\"1\"", "expected item 1"},
        {"{\"kind\":\"none\",\"parent\":0", "{\"kind\":\"none\",\"parent\":1",
         "not in walk order"},
        {"{\"kind\":\"none\"", "{\"kind\":\"absent\"",
         "only a field of a record may be absent"},
        {"\"leaf\":1}", "\"leaf\":0}", "expected leaf 1"},
        {"\"at\":\"b\",\"leaf\":1}", "\"at\":\"b\"}", "a leaf has a number"},
        {"[\"f64\",2.5]", "[\"f64\",\"2.5\"]", "the static \"cutoff\" is not a number"},
        {"[\"f64\",2.5]", "[\"f65\",2.5]", "the static \"cutoff\" has an unknown kind"},
        {"[\"f64\",2.5]", "[\"f64\",2.5,1]", "the static \"cutoff\" has an unknown kind"},
        {"[\"f64\",2.5]", "{\"f64\":2.5}", "the static \"cutoff\" has an unknown kind"},
        {"[\"text\",\"m\"]", "[\"text\",1]", "expected a string"},
        {"[\"text\",\"m\"]", "[\"bool\",1]", "is not a bool"},
        {"[\"text\",\"m\"]", "[\"dtype\",\"f65\"]", "\"f65\" is not a dtype"},
        {"[\"text\",\"m\"]", "[\"record\",3]", "refers to a missing static record"},
        {"[\"f64\",2.5]", "[\"record\",6]", "refers to a missing static record"},
        {"[\"record\",6]", "[\"record\",60]",
         "row 4 has no static \"units\" that names this row"},
        {"[\"record\",6]", "[\"record\",null]",
         "row 4 has no static \"units\" that names this row"},
        {"\"path\":\"[0]['a']\"", "\"path\":\"[0]['c']\"",
         "the path differs from that of the node table"},
        {"\"path\":\"[0]['a']\",", "", "the path differs from that of the node table"},
        {"\"dtype\":\"u8\"", "\"dtype\":\"u9\"", "\"u9\" is not a dtype"},
        {"\"shape\":[2,3]", "\"shape\":[2,-3]",
         "extent 1 of the shape is not a valid size"},
        {"\"shape\":[2,3]", "\"shape\":[2,2]", "expected data of 4 elements"},
        {"\"shape\":[2,3]", "\"shape\":[4611686018427387904,4]",
         "the size of the leaf overflows"},
        {"\"shape\":[2,3]", "\"shape\":[4611686018427387904,1]",
         "expected data of 4611686018427387904"},
        {"\"shape\":[2,3]", "\"shape\":[1,1,1,1,1,1,1,1,6]",
         "a shape has 8 extents at most"},
        {"\"shape\":[2,3]", "\"shape\":6", "a shape has 8 extents at most"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7,256]", "element 5 is no u8"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7,7.0]", "element 5 is no u8"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7,8]",
         "the checksum does not match the data"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7]", "expected data of 6 elements"},
        {"\"data\":[7,7,7,7,7,7]", "\"sidecar\":0,\"tensor\":\"x\",\"begin\":0,\"end\":6",
         "in an unknown sidecar"},
        {",\"data\":[7,7,7,7,7,7]", "", "either data or a range in a sidecar"},
        {"\"data\":[0.5]", "\"data\":[1e999]", "real number overflow"},
        {"\"data\":[0.5]", "\"data\":[-0]", "element 0 is no f64"},
        {"\"data\":[0.5]", "\"data\":[9007199254740993]", "element 0 is no f64"},
        {"\"data\":[0.5]", "\"data\":[NaN]", "invalid token near 'NaN'"},
        {"\"data\":[0.5]", "\"data\":[\"NaN\"]", "element 0 is no f64"},
        {"\"data\":[0.5]", "\"data\":[0,5]", "expected data of 1 elements"},
        {"[\"f64\",2.5]", "[\"f64\",-0]", "the static \"cutoff\" is not a number"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7,18446744073709551616]",
         "too big integer"},
        {"\"data\":[7,7,7,7,7,7]", "\"data\":[7,7,7,7,7,-0.0]", "element 5 is no u8"},
        {"{\"kind\":\"list\"}", "{\"kind\":\"list\",\"kind\":\"list\"}",
         "duplicate object key"},
        {"\"cutoff\":[\"f64\",2.5]", "\"cutoff\":[\"f64\",2.5],\"cutoff\":[\"f64\",2.5]",
         "duplicate object key"},
        {"\"shape\":[2,3]", "\"shape\":[9223372036854775808,3]", "too big integer"},
        {"\"shape\":[2,3]", "\"shape\":[9223372036854775807,9223372036854775807]",
         "the size of the leaf overflows"},
        {"\"shape\":[2,3]", "\"shape\":[2.0,3]",
         "extent 0 of the shape is not a valid size"},
        {"\"shape\":[2,3]", "\"shape\":[9223372036854775807,0]",
         "expected data of 0 elements"},
        {"\"shape\":[2,3]", "\"shape\":[9223372036854775807,9223372036854775807,0]",
         "the size of the leaf overflows"},
        {"],\n\"leaves\"", "]\n\"leaves\"", "expected ',' or '}'"},
        {"\"nodes\":[", "\"nodes\":{", "expected '['"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuses(s, &good, cases[i].from, cases[i].to, cases[i].says);
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(document, has_no_field_twice) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const Atoms atoms = {.position = pith_zeros(s, PITH_F32, PITH_SHAPE(2, 3))};
    pt_ok(s, pith_save(s, pith_freeze(s, Atoms, &atoms), "a.json", NULL));
    const ct_file good = ct_read("a.json");
    refuses(s, &good, "\"at\":\"charge\"", "\"at\":\"position\"",
            "row 0 has two fields \"position\"");
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(document, of_another_kind_or_format_is_named_as_such) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_save(s, small_tree(s), "a.json", NULL));
    const ct_file good = ct_read("a.json");
    refuses(s, &good, "\"format\":2", "\"format\":4",
            "\"a.json\" has format 4, this library (0.1.0) reads formats 1 to 3");
    refuses(s, &good, "\"format\":2", "\"format\":99999999999999999999", "has format");
    refuses(s, &good, "\"format\":2", "\"format\":0", "has format 0");
    refuses(s, &good, "\"pith\":\"checkpoint\"", "\"pith\":\"check\"",
            "\"a.json\" is not a pith checkpoint");
    ct_write("a.json", "", 0);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("is not a pith checkpoint");
    ct_write("a.json", good.bytes, good.n - 40);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("is cut off or damaged: it does not end with its checksum");
    char *at = strstr(good.bytes, "2.5");
    *at = '3';
    ct_write("a.json", good.bytes, good.n);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("is damaged or was changed by hand: its checksum does not match");
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(document, names_no_sidecar_outside_its_folder) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, small_tree(s), "a.json", &options));
    const ct_file good = ct_read("a.json");
    char name[300], from[320], to[400];
    snprintf(name, sizeof name, "%s", ct_find(".safetensors"));
    snprintf(from, sizeof from, "\"file\":\"%s\"", name);
    const char *const outside[] = {"/etc/passwd", "../x", "", ".", "..", "a/b"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        snprintf(to, sizeof to, "\"file\":\"%s\"", outside[i]);
        refuses(s, &good, from, to, "is not a plain file name");
    }
    refuses(s, &good, "\"begin\":0,\"end\":8", "\"begin\":0,\"end\":9",
            "does not fit its size or the sidecar");
    refuses(s, &good, "\"begin\":8,\"end\":14", "\"begin\":7,\"end\":13",
            "the leaves in its sidecar overlap");
    refuses(s, &good, "\"sidecar\":0,\"tensor\":\"[0]['a']\"",
            "\"sidecar\":1,\"tensor\":\"[0]['a']\"", "in an unknown sidecar");
    refuses(s, &good, "\"sidecar\":0,\"tensor\":\"[0]['a']\"", "\"tensor\":\"[0]['a']\"",
            "in an unknown sidecar");
    refuses(s, &good, "\"sidecars\":[", "\"sidecar\":[", "expected the member");
    char *row = strstr(good.bytes, "{\"file\""), twice[1200];
    const int n = (int)(strchr(row, '}') + 1 - row);
    snprintf(from, sizeof from, "%.*s", n, row);
    snprintf(twice, sizeof twice, "%s,\n%s", from, from);
    refuses(s, &good, from, twice, "is named twice");
    refuses(s, &good, from, "", "expected 1 to 8 sidecars");
    refuses(s, &good, "\"begin\":8,\"end\":14", "\"begin\":-8,\"end\":-2",
            "does not fit its size or the sidecar");
    refuses(s, &good, "\"begin\":8", "\"begin\":9223372036854775807",
            "does not fit its size");
    free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

/* A tebibyte costs a forger a line of text; it must cost the reader nothing. */
Test(document, claims_no_memory_for_a_sidecar_that_does_not_fit) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_array *leaf = pith_full(s, PITH_U8, PITH_SHAPE(2000), 7);
    pt_ok(s, pith_save(s, leaf, "a.json", NULL));
    const ct_file sidecar = ct_read(ct_find(".safetensors"));
    const size_t bytes = sidecar.n;
    free(sidecar.bytes);
    char from[64], to[64];
    snprintf(from, sizeof from, "\"bytes\":%zu", bytes);
    snprintf(to, sizeof to, "\"bytes\":%zu", bytes - 2000 + ((size_t)1 << 40));
    ct_replace("a.json", from, to);
    ct_replace("a.json", "\"end\":2000", "\"end\":1099511627776");
    ct_replace("a.json", "\"shape\":[2000]", "\"shape\":[1099511627776]");
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("bytes, expected 10995116");
    unlink(ct_find(".safetensors"));
    pt_fails(PITH_E_IO, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("it is not in the folder");
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(document, that_is_no_utf8_or_too_deep_is_refused) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    pt_ok(s, pith_save(s, small_tree(s), "a.json", NULL));
    const ct_file good = ct_read("a.json");
    refuses(s, &good, "\"Units\"", "\"Un\xc3ts\"", "unable to decode byte");
    refuses(s, &good, "\"Units\"", "\"Un\xed\xa0\x80ts\"", "unable to decode byte");
    refuses(s, &good, "\"Units\"", "\"Un\\u0000ts\"", "\\u0000 is not allowed");
    char *deep = malloc(200001);
    memset(deep, '[', 100000);
    memset(deep + 100000, ']', 100000);
    deep[200000] = 0;
    char *text = malloc(400000);
    const size_t head = (size_t)(strstr(good.bytes, "\"metadata\":") + 11 - good.bytes);
    const int n =
        sprintf(text, "%.*s%s%s", (int)head, good.bytes, deep, good.bytes + head + 2);
    ct_seal(text, (size_t)n);
    ct_write("a.json", text, (size_t)n);
    pt_fails(PITH_E_FORMAT, s, pith_load_any(s, NULL, "a.json", NULL));
    pt_says("maximum parsing depth");
    free(deep), free(text), free(good.bytes);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}
