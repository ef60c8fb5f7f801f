/* pith convert: every format there and back again, files that Python wrote, files that
 * Python reads, and hostile ones. */
#include "convert_test.h"

#define FOREIGN PITH_TEST_SOURCE "/../data/foreign/"

static const char *const formats[] = {"npz", "safetensors", "h5"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static void same_files(const char *a, const char *b) {
    const ct_file x = ct_read(a), y = ct_read(b);
    cr_assert(x.n == y.n && memcmp(x.bytes, y.bytes, x.n) == 0, "%s and %s differ", a, b);
    free(x.bytes);
    free(y.bytes);
}

/* Every dtype, kind of node and static, and keys that formats could trip over. */
static const void *rich_tree(void) {
    const uint16_t halves[] = {0x3C00, 0x7E01, 0x8000, 1};
    const uint64_t odd[] = {0x7FF8000000000123, 0xFFF0000000000000, 1,
                            0x8000000000000000};
    const char *const keys[] = {"", ".", "..", "a/b", "%2F", "\u00e9 '\"\\\n", "list"};
    const void *items[] = {
        pith_array_copy(s, PITH_F16, PITH_SHAPE(4), halves),
        pith_array_copy(s, PITH_BF16, PITH_SHAPE(2, 2), halves),
        pith_array_copy(s, PITH_F64, PITH_SHAPE(1, 4, 1), odd),
        pith_array_copy(s, PITH_U64, PITH_SHAPE(4), odd),
        pith_cast(s, pith_arange(s, PITH_I8, 5), PITH_BOOL),
        pith_zeros(s, PITH_F32, PITH_SHAPE(3, 0, 2)),
        pith_list_make(
            s, PITH_ITEMS(
                   sim_with(4, NULL), pith_none_make(s),
                   pith_tuple_make(s, PITH_ITEMS(pith_i32(s, -7))),
                   pith_arange(s, PITH_U8, 300), pith_zeros(s, PITH_I16, PITH_SHAPE(2)),
                   pith_arange(s, PITH_I64, 1000), pith_ones(s, PITH_U16, PITH_SHAPE(1)),
                   pith_ones(s, PITH_U32, PITH_SHAPE(1)), pith_bool(s, true)))};
    return pith_dict_make(s, 7, keys, items);
}

Test(pith_convert, comes_back_the_same_byte_for_byte) {
    begin();
    char arguments[256], sidecar[300];
    const pith_save_options options = {.step = 3,
                                       .metadata = PITH_METADATA({"run", "a\"b"})};
    const void *const trees[] = {rich_tree(), pith_arange(s, PITH_F64, 1000),
                                 pith_f32(s, 2), pith_list_make(s, 0, NULL)};
    cr_assert(mkdir("back", 0700) == 0);
    for (int i = 0; i < FORMATS; i++) {
        if (!supported(formats[i]))
            continue;
        for (size_t t = 0; t < sizeof trees / sizeof trees[0]; t++) {
            pt_ok(s, pith_save(s, trees[t], "a.json", &options));
            snprintf(arguments, sizeof arguments, "convert a.json x.%s", formats[i]);
            expect(0, arguments, "");
            cr_assert(output[0] == 0, "%s", output);
            snprintf(arguments, sizeof arguments, "convert --sidecar x.%s back/a.json",
                     formats[i]);
            expect(0, arguments, "");
            same_files("a.json", "back/a.json");
            const pith_checkpoint *c = pith_checkpoint_open(s, "a.json");
            pith_checkpoint_sidecar row;
            if (pith_checkpoint_get_sidecar(c, 0, &row)) {
                snprintf(sidecar, sizeof sidecar, "back/%s", row.file);
                same_files(row.file, sidecar);
            }
            snprintf(arguments, sizeof arguments, "convert x.%s one.json", formats[i]);
            expect(0, arguments, "");
            expect(0, "diff --bits a.json one.json", "no difference");
            const pith_checkpoint *one = pith_checkpoint_open(s, "one.json");
            cr_assert(pith_checkpoint_about(one)->sidecar_count == 0, "a single file");
        }
    }
    cr_assert(system("rm -r back") == 0);
    end();
}

Test(pith_convert, goes_from_any_format_to_any_other) {
    begin();
    char arguments[256];
    pt_ok(s, pith_save(s, rich_tree(), "a.json", NULL));
    bool there[FORMATS];
    for (int i = 0; i < FORMATS; i++)
        there[i] = supported(formats[i]);
    for (int i = 0; i < FORMATS; i++)
        for (int j = 0; j < FORMATS; j++) {
            if (!there[i] || !there[j])
                continue;
            snprintf(arguments, sizeof arguments, "convert a.json x.%s", formats[i]);
            expect(0, arguments, "");
            snprintf(arguments, sizeof arguments, "convert x.%s y.%s", formats[i],
                     formats[j]);
            expect(0, arguments, "");
            snprintf(arguments, sizeof arguments, "convert y.%s b.json", formats[j]);
            expect(0, arguments, "");
            expect(0, "diff --bits a.json b.json", "no difference");
            /* the same bytes whenever it is written */
            snprintf(arguments, sizeof arguments, "convert a.json z.%s", formats[j]);
            expect(0, arguments, "");
            char y[16], z[16];
            snprintf(y, sizeof y, "y.%s", formats[j]);
            snprintf(z, sizeof z, "z.%s", formats[j]);
            same_files(y, z);
        }
    end();
}

Test(pith_convert, reads_what_python_wrote) {
    begin();
    static const char *const files[] = {"numpy.npz", "python.safetensors", "h5py.h5"};
    char arguments[512];
    const int32_t plain[] = {0, 1, 2, 3, 4, 5};
    const double inner[] = {0.1, -0.0, (double)INFINITY, (double)NAN};
    const bool flags[] = {true, false, true};
    const uint16_t half[] = {0x3E00, 0xC000};
    const uint64_t large[] = {UINT64_MAX, 1};
    const double big[] = {0, 1, 2, 3};
    const int16_t small[] = {1, -2, 3, 4};
    const char *const group[] = {"inner", "flags"};
    const char *const keys[] = {"plain", "group", "half",  "scalar", "empty",
                                "large", "big",   "short", "fortran"};
    const void *in_group[] = {pith_array_copy(s, PITH_F64, PITH_SHAPE(4), inner),
                              pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), flags)};
    const void *items[] = {
        pith_array_copy(s, PITH_I32, PITH_SHAPE(2, 3), plain),
        pith_dict_make(s, 2, group, in_group),
        pith_array_copy(s, PITH_F16, PITH_SHAPE(2), half),
        pith_f64(s, 1.5),
        pith_zeros(s, PITH_F32, PITH_SHAPE(0, 3)),
        pith_array_copy(s, PITH_U64, PITH_SHAPE(2), large),
        pith_array_copy(s, PITH_F64, PITH_SHAPE(4), big),
        pith_array_copy(s, PITH_I16, PITH_SHAPE(2, 2), small),
        pith_reshape(s, pith_arange(s, PITH_I64, 24), PITH_SHAPE(2, 3, 4))};
    for (int i = 0; i < FORMATS; i++) {
        if (!supported(formats[i]))
            continue;
        snprintf(arguments, sizeof arguments, "convert " FOREIGN "%s a.json", files[i]);
        expect(0, arguments, "");
        pt_ok(s, pith_save(s, pith_dict_make(s, i == 1 ? 6 : 9, keys, items), "b.json",
                           &(pith_save_options){.inline_all = true}));
        expect(0, "diff --bits b.json a.json", "no difference");
    }
    end();
}

Test(pith_convert, writes_what_python_reads) {
    begin();
    static const char *const modules[] = {"numpy", "safetensors.numpy", "h5py"};
    static const char *const scripts[] = {
        "import numpy as np; f = np.load('x.npz'); p = f['.atoms.position']; e = f['.energy']; "
        "b = f['.extra']",
        "from safetensors.numpy import load_file; f = load_file('x.safetensors'); "
        "p = f['.atoms.position']; e = f['.energy']; b = f['.extra']",
        "import h5py; f = h5py.File('x.h5', 'r'); p = f['atoms/position'][...]; "
        "e = f['energy'][()]; b = f['extra'][...]"};
    char arguments[1024];
    const bool flags[] = {true, false};
    pt_ok(s,
          pith_save(s, sim_with(1, pith_array_copy(s, PITH_BOOL, PITH_SHAPE(2), flags)),
                    "a.json", NULL));
    for (int i = 0; i < FORMATS; i++) {
        const char *python = supported(formats[i]) ? python_with(modules[i]) : NULL;
        if (!python)
            continue;
        snprintf(arguments, sizeof arguments, "convert a.json x.%s", formats[i]);
        expect(0, arguments, "");
        snprintf(
            arguments, sizeof arguments,
            "%s -c \"%s; import math; assert p.shape == (100, 3) and p.dtype == 'f8' and "
            "abs(p[33, 1] - 10 * math.sin(33 * 3 + 1 + 31)) < 1e-13 and float(e) == -5.77 and "
            "b.dtype == bool and list(b) == [True, False]\"",
            python, scripts[i]);
        cr_assert(system(arguments) == 0, "%s", arguments);
    }
    end();
}

Test(pith_convert, takes_arrays_that_python_changed) {
    begin();
    const char *python = supported("npz") ? python_with("numpy") : NULL;
    char command[1024];
    if (python) {
        pt_ok(s,
              pith_save(s, sim_with(1, NULL), "a.json", &(pith_save_options){.step = 8}));
        expect(0, "convert a.json x.npz", "");
        snprintf(
            command, sizeof command,
            "%s -c \"import numpy as np; f = dict(np.load('x.npz')); t = f.pop('pith.json'); "
            "f['.atoms.position'] *= 2; np.savez('y.npz', **f); import zipfile; "
            "zipfile.ZipFile('y.npz', 'a').writestr('pith.json', t)\"",
            python);
        cr_assert(system(command) == 0);
        expect(0, "convert y.npz b.json", "");
        expect(1, "diff a.json b.json", ".atoms.position",
               "2 leaves are equal, 1 differs");
        const Sim *sim = pith_load(s, Sim, "b.json");
        pt_ok(s, sim);
        cr_assert(strcmp(sim->label, "melt") == 0, "statics are there");
    }
    end();
}

Test(pith_convert, reads_logs) {
    begin();
    ct_write("run.jsonl", "{\"step\":1,\"x\":0.5}\n{\"step\":2,\"x\":1}\n", 36);
    expect(0, "convert run.jsonl a.json", "");
    expect(0, "show a.json \"['x']\"", "f64[2]\n[0] 0.5\n[1] 1.0\n");
    expect(0, "show a.json \"['step']\"", "i64[2]\n[0] 1\n[1] 2\n");
    expect(2, "convert a.json b.jsonl", "logs can only be read");
    end();
}

Test(pith_convert, says_what_is_wrong) {
    begin();
    char arguments[512];
    pt_ok(s, pith_save(s, pith_f64(s, 1), "a.json", NULL));
    expect(2, "convert a.json", "pith convert: takes two files");
    expect(2, "convert a.json b.txt",
           "\"b.txt\": expected a name that ends with .json, .npz, .safetensors or .h5");
    expect(2, "convert a.json b/c", "\"b/c\": expected a name");
    expect(2, "convert nothing.json b.npz", "pith convert: ");
    expect(2, "convert --sidecar a.json b.safetensors", "--sidecar is for checkpoints");
    expect(2, "convert a.json nowhere/b.safetensors", "No such file or directory");
    expect(2, "convert a.json nowhere/b.json", "No such file or directory");
    ct_write("bad.json", "{}", 2);
    expect(1, "convert bad.json b.safetensors", "is not a pith checkpoint");
    for (int i = 0; i < FORMATS; i++) {
        if (!supported(formats[i]))
            continue;
        snprintf(arguments, sizeof arguments, "convert nothing.%s b.json", formats[i]);
        expect(2, arguments, "No such file or directory");
        snprintf(arguments, sizeof arguments, "bad.%s", formats[i]);
        ct_write(arguments, "nonsense, and no file of that format", 36);
        snprintf(arguments, sizeof arguments, "convert bad.%s b.json", formats[i]);
        expect(1, arguments, "pith convert: ");
        snprintf(arguments, sizeof arguments, "fifo.%s", formats[i]);
        cr_assert(mkfifo(arguments, 0600) == 0);
        snprintf(arguments, sizeof arguments, "convert fifo.%s b.json", formats[i]);
        expect(2, arguments, "it is not a regular file");
    }
    if (supported("npz")) {
        expect(2, "convert " FOREIGN "object.npz b.json",
               "of a dtype that pith does not have");
        expect(2, "convert " FOREIGN "complex.npz b.json",
               "of a dtype that pith does not have");
    }
    if (supported("h5")) {
        expect(2, "convert " FOREIGN "text.h5 b.json",
               "of a dtype that pith does not have");
        expect(1, "convert " FOREIGN "external.h5 b.json",
               "its elements are in another file");
    }
    /* alone, without pith-formats beside it */
    static const char lacking[] =
        "pith convert: \"b.npz\": this pith was built without libzip\n";
    cr_assert(system("cp '" PITH_COMMAND
                     "' alone && ./alone convert a.json b.npz 2>said") == 2 << 8);
    const ct_file said = ct_read("said");
    cr_assert(said.n == sizeof lacking - 1 && memcmp(said.bytes, lacking, said.n) == 0);
    free(said.bytes);
    cr_assert(access("b.json", F_OK) != 0 && access("b.npz", F_OK) != 0 &&
              access("b.safetensors", F_OK) != 0 && access("b.h5", F_OK) != 0);
    DIR *d = opendir(".");
    for (const struct dirent *e; (e = readdir(d));)
        cr_assert(!strstr(e->d_name, ".tmp"), "%s is left behind", e->d_name);
    closedir(d);
    end();
}

/* Looked up by its full name, each group costs its depth: minutes, at this one. */
Test(pith_convert, walks_deep_groups_of_hdf5_in_linear_time) {
    begin();
    enum { DEPTH = 3200 };
    const void *tree = pith_f64(s, 1.5);
    const char *const keys[] = {"g", "x"};
    for (int i = 0; i < DEPTH; i++) {
        const void *items[] = {tree, pith_i32(s, i)};
        tree = pith_dict_make(s, i % 100 ? 1 : 2, keys, items);
    }
    if (supported("h5")) {
        pt_ok(s, pith_save(s, tree, "a.json", &(pith_save_options){.inline_all = true}));
        expect(0, "convert a.json a.h5", "");
        expect(0, "convert a.h5 b.json", "");
        cr_assert(system("cmp a.json b.json") == 0);
    }
    end();
}

Test(pith_convert, reports_links_of_hdf5_that_it_does_not_follow) {
    begin();
    if (supported("h5")) {
        expect(2, "convert " FOREIGN "links.h5 b.json",
               "links.h5\" holds no array: 3 links are not followed: \"a/external\" (to "
               "another file), \"a/soft\" (soft), \"loop\" (soft)");
        cr_assert(access("b.json", F_OK) != 0);
        expect(0, "convert " FOREIGN "h5py.h5 b.json",
               "h5py.h5\": 1 link is not followed: \"link\" (soft)");
        expect(0, "verify b.json", "intact");
        expect(0, "convert " FOREIGN "shared.h5 b.json",
               "shared.h5\": 2 links are not followed: \"a/up\" (to a group that has "
               "another name), \"b\" (to a group that has another name)");
    }
    end();
}

Test(pith_convert, takes_no_bool_but_true_and_false) {
    begin();
    static const char says[] = ": element 2 of a bool array: expected 0 or 1, got 2";
    if (supported("npz"))
        expect(1, "convert " FOREIGN "bools.npz b.json",
               "bools.npz\": \"bad\": element 2 of a bool array: expected 0 or 1, got 2");
    if (supported("h5"))
        expect(1, "convert " FOREIGN "bools.h5 b.json",
               "bools.h5\": \"group/bad\": element 2 of a bool array");
    const bool flags[] = {true, false, true};
    const char *const keys[] = {"x"};
    const void *items[] = {pith_array_copy(s, PITH_BOOL, PITH_SHAPE(3), flags)};
    pt_ok(s, pith_save(s, pith_dict_make(s, 1, keys, items), "a.json", NULL));
    expect(0, "convert a.json a.safetensors", "");
    const ct_file f = ct_read("a.safetensors");
    f.bytes[f.n - 1] = 2;
    ct_write("a.safetensors", f.bytes, f.n);
    free(f.bytes);
    expect(1, "convert a.safetensors b.json", says);
    cr_assert(access("b.json", F_OK) != 0);
    end();
}

Test(pith_convert, copies_no_damaged_leaf) {
    begin();
    char arguments[64];
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 1000), "a.json", NULL));
    const char *sidecar = ct_find(".safetensors");
    const ct_file f = ct_read(sidecar);
    f.bytes[f.n - 1] ^= 1;
    ct_write(sidecar, f.bytes, f.n);
    free(f.bytes);
    for (int i = 0; i < FORMATS; i++) {
        if (!supported(formats[i]))
            continue;
        snprintf(arguments, sizeof arguments, "convert a.json x.%s", formats[i]);
        expect(1, arguments, "damaged in \"a.");
        snprintf(arguments, sizeof arguments, "x.%s", formats[i]);
        cr_assert(access(arguments, F_OK) != 0);
    }
    expect(1, "convert a.json b.json", "damaged in \"a.");
    cr_assert(access("b.json", F_OK) != 0);
    end();
}

/* Exit codes of a damaged file: an error, or a checkpoint that is whole. */
static void try_damaged(const char *format) {
    char arguments[256];
    snprintf(arguments, sizeof arguments, "convert bad.%s b.json", format);
    unlink("b.json");
    const int code = run(arguments);
    cr_assert(code <= 2, "%s", output);
    if (code == 0)
        expect(0, "verify b.json", "intact");
    else
        cr_assert(strstr(output, "pith convert: "), "%s", output);
}

Test(pith_convert, survives_hostile_files) {
    begin();
    enum { TRIES = 40 };
    setenv("ASAN_OPTIONS", "allocator_may_return_null=1",
           1); /* libraries ask for anything */
    const char *const keys[] = {"a", "b"};
    const void *items[] = {pith_arange(s, PITH_I32, 3), pith_f64(s, 1)};
    pt_ok(s, pith_save(s, pith_dict_make(s, 2, keys, items), "a.json", NULL));
    for (int i = 0; i < FORMATS; i++) {
        char name[64], bad[64], arguments[128];
        if (!supported(formats[i]))
            continue;
        snprintf(name, sizeof name, "x.%s", formats[i]);
        snprintf(bad, sizeof bad, "bad.%s", formats[i]);
        snprintf(arguments, sizeof arguments, "convert a.json %s", name);
        expect(0, arguments, "");
        const ct_file f = ct_read(name);
        for (size_t k = 0; k < TRIES; k++) {
            const size_t at = (f.n - 1) * k / TRIES;
            const int mask = k % 2 ? 0xFF : 1 << k % 8;
            ct_write(bad, f.bytes, f.n * k / TRIES);
            try_damaged(formats[i]);
            f.bytes[at] = (char)(f.bytes[at] ^ mask);
            ct_write(bad, f.bytes, f.n);
            try_damaged(formats[i]);
            f.bytes[at] = (char)(f.bytes[at] ^ mask);
        }
        free(f.bytes);
    }
    end();
}

/* Another user of the folder puts a link where the new file is made, again and again. */
Test(pith_convert, follows_no_link_where_it_writes) {
    begin();
    pt_ok(s, pith_save(s, rich_tree(), "a.json", NULL));
    ct_write("precious", "mine", 4);
    for (int round = 0; round < 100; round++) {
        char temporary[64];
        const pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stderr))
                execl(PITH_COMMAND, "pith", "convert", "a.json", "b.safetensors", NULL);
            _exit(127);
        }
        snprintf(temporary, sizeof temporary, ".pith-convert-%ld.tmp", (long)child);
        while (waitpid(child, NULL, WNOHANG) == 0)
            (void)!symlink("precious", temporary);
        unlink(temporary);
        const ct_file precious = ct_read("precious");
        cr_assert(precious.n == 4 && memcmp(precious.bytes, "mine", 4) == 0,
                  "written to through the link, in round %d", round);
        free(precious.bytes);
    }
    end();
}

static void safetensors(int code, const char *header, const char *says) {
    unsigned char file[2048];
    const uint64_t n = strlen(header);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    memset(file + 8 + n, 0, 16);
    ct_write("h.safetensors", file, 8 + n + 16);
    expect(code, "convert h.safetensors b.json", says);
}

Test(pith_convert, believes_no_header) {
    begin();
    safetensors(0,
                "{\"b\":{\"dtype\":\"U8\",\"shape\":[11],\"data_offsets\":[5,16]},"
                "\"c\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[5,5]},"
                "\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}   ",
                "");
    safetensors(
        0,
        "{\"\\u00e9\\ud83d\\ude00\\n\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[15],\"data_offsets\":[1,16]}}",
        "");
    expect(0, "show b.json", "['\u00e9\U0001F600\\x0a'] u8 = 0");
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{\"a\":1}",
        "{\"a\":{}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,3]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[15,17]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}",
        "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}} x",
        "{} x",
        "{\"__metadata__\":{\"pith\":\"{}\"}}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        safetensors(1, bad[i], "pith convert: ");
    safetensors(2, "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}",
                "dtype F8_E4M3, which pith does not have");
    safetensors(2,
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                "\"a\":{\"dtype\":\"U8\",\"shape\":[15],\"data_offsets\":[1,16]}}",
                "duplicate key");
    safetensors(1,
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[7],\"data_offsets\":[8,15]}}",
                "its arrays overlap or leave holes");
    safetensors(1, "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[7,16]}}",
                "its arrays overlap or leave holes");
    safetensors(1, "{\"a\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[0,9]}}",
                "its arrays do not fill it");
    safetensors(1, "{ }", "its arrays do not fill it");
    end();
}
