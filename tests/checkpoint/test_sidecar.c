/* Sidecars by the rules of readers of safetensors, each checked here in C, and opened by
 * Python's own reader where it is installed. */
#include "checkpoint_test.h"

#include <jansson.h>

static size_t dtype_bytes(const char *name) {
    static const struct {
        const char *name;
        size_t bytes;
    } dtypes[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
                  {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
                  {"F64", 8},  {"I64", 8},  {"U64", 8}};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return dtypes[i].bytes;
    cr_assert(false, "%s is no dtype of safetensors", name);
    return 0;
}

typedef struct span {
    size_t begin, end;
} span;

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Every rule of the reference reader. Returns the number of tensors. */
static size_t check_rules(const char *name) {
    const ct_file f = ct_read(name);
    uint64_t header;
    json_error_t e;
    size_t count = 0, at = 0;
    cr_assert(f.n >= 8);
    memcpy(&header, f.bytes, sizeof header);
    cr_assert(header <= 100000000 && header + 8 <= f.n && f.bytes[8] == '{');
    cr_assert((header + 8) % 64 == 0, "data starts at %zu", (size_t)header + 8);
    json_t *root = json_loadb(f.bytes + 8, header, JSON_REJECT_DUPLICATES, &e), *entry,
           *value;
    cr_assert(json_is_object(root), "%s", e.text);
    span *spans = calloc(json_object_size(root), sizeof *spans);
    const char *key, *inner;
    json_object_foreach(root, key, entry) {
        if (strcmp(key, "__metadata__") == 0) {
            json_object_foreach(entry, inner, value) cr_assert(json_is_string(value));
            continue;
        }
        const char *dtype;
        json_t *shape;
        json_int_t begin, end;
        cr_assert(json_unpack_ex(entry, &e, JSON_STRICT, "{s:s,s:o,s:[I,I]}", "dtype",
                                 &dtype, "shape", &shape, "data_offsets", &begin,
                                 &end) == 0,
                  "%s", e.text);
        size_t bytes = dtype_bytes(dtype);
        for (size_t i = 0; i < json_array_size(shape); i++)
            bytes *= (size_t)json_integer_value(json_array_get(shape, i));
        cr_assert((size_t)(end - begin) == bytes && strlen(key) <= 512);
        cr_assert((size_t)begin % dtype_bytes(dtype) == 0, "%s is not aligned", key);
        spans[count++] = (span){(size_t)begin, (size_t)end};
    }
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count; at = spans[i++].end)
        cr_assert(spans[i].begin == at, "a hole or an overlap at %zu", at);
    cr_assert(at == f.n - 8 - header, "the data ends at %zu of %zu", at,
              f.n - 8 - (size_t)header);
    free(spans);
    json_decref(root);
    free(f.bytes);
    return count;
}

static const void *every_dtype(pith_scope *s) {
    const void *items[3 * (PITH_DTYPE_COUNT - 1)];
    int count = 0;
    for (int i = PITH_BOOL; i < PITH_DTYPE_COUNT; i++) {
        items[count++] = pith_ones(s, (pith_dtype)i, PITH_SHAPE(3));
        items[count++] = pith_ones(s, (pith_dtype)i, PITH_SHAPE(2, 0));
        items[count++] = pith_ones(s, (pith_dtype)i, PITH_SCALAR);
    }
    const char *const keys[] = {"quote\"d", "\u00fc"};
    const void *odd[] = {pith_f64(s, 1), pith_f32(s, 2)};
    return pith_tuple_make(
        s, PITH_ITEMS(pith_list_make(s, count, items), pith_dict_make(s, 2, keys, odd)));
}

Test(sidecar, keeps_the_rules_of_safetensors) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, every_dtype(s), "a.json", &options));
    cr_assert(check_rules(ct_find(".safetensors")) == 3 * (PITH_DTYPE_COUNT - 1) + 2);
    pt_ok(s, pith_save(s, make_sim(s, 1000, 3), "a.json", NULL));
    cr_assert(check_rules(ct_find(".safetensors")) == 2);
    const void *chain = pith_f32(s, 1);
    for (int i = 0; i < 600; i++)
        chain = pith_list_make(s, PITH_ITEMS(chain, pith_f64(s, i)));
    pt_ok(s, pith_save(s, chain, "a.json", &options));
    cr_assert(check_rules(ct_find(".safetensors")) == 601);
    const pith_save_options compress = {.inline_bytes = -1, .compress = 1};
    const void *items[] = {make_sim(s, 1000, 3), pith_zeros(s, PITH_F64, PITH_SHAPE(999)),
                           pith_zeros(s, PITH_I16, PITH_SHAPE(0)), every_dtype(s)};
    pt_ok(s, pith_save(s, pith_list_make(s, 4, items), "a.json", &compress));
    cr_assert(check_rules(ct_find(".safetensors")) ==
              3 + 2 + 3 * (PITH_DTYPE_COUNT - 1) + 2);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(sidecar, is_named_by_its_content) {
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    char first[300];
    pt_ok(s, pith_save(s, make_sim(s, 1000, 3), "a.json", NULL));
    strcpy(first, ct_find(".safetensors"));
    cr_assert(strncmp(first, "a.", 2) == 0 &&
              strlen(first) == strlen("a.0123456789abcdef.safetensors"));
    pt_ok(s,
          pith_save(s, make_sim(s, 1000, 3), "a.json", &(pith_save_options){.step = 9}));
    cr_assert_str_eq(first, ct_find(".safetensors"));
    pt_ok(s, pith_save(s, make_sim(s, 1000, 4), "a.json", NULL));
    cr_assert(strcmp(first, ct_find(".safetensors")) != 0);
    pt_ok(s,
          pith_save(s, make_sim(s, 10, 4), "a.json", NULL)); /* all of it fits inline */
    cr_assert(ct_count_files() == 1);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
}

Test(sidecar, opens_in_python) {
    static const char script[] =
        "python3 - <<'END'\n"
        "import glob, sys\n"
        "try:\n"
        "    import numpy, safetensors.numpy\n"
        "except ImportError:\n"
        "    sys.exit(77)\n"
        "tree = safetensors.numpy.load_file(glob.glob('*.safetensors')[0])\n"
        "assert sorted(tree) == ['.atoms.position', '.energy', '.neighbour'], sorted(tree)\n"
        "x = tree['.atoms.position']\n"
        "i = numpy.arange(3000) + 31 * 3\n"
        "assert x.shape == (1000, 3) and x.dtype == 'f8'\n"
        "assert abs(x.ravel() - 10 * numpy.sin(i)).max() < 1e-12\n"
        "assert tree['.energy'].shape == ()\n"
        "END\n";
    ct_begin();
    pith_runtime *rt = pt_open();
    pith_scope *s = pith_scope_open(rt);
    const pith_save_options options = {.inline_bytes = -1};
    pt_ok(s, pith_save(s, make_sim(s, 1000, 3), "a.json", &options));
    const int status = system(script);
    pith_scope_close(s);
    pt_close(rt);
    ct_end();
    if (status == 77 << 8)
        cr_skip("Python has no safetensors");
    cr_assert(status == 0);
}
