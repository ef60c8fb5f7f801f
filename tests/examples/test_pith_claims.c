/* pith convert: arrays of other programs that are not what they claim, or nothing that
 * pith has. */
#include "convert_test.h"

/* ---- .npz with checksums that fit ---- */

static uint32_t crc32_of(const unsigned char *p, size_t n) {
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static void put_number(unsigned char **to, uint32_t value, int bytes) {
    for (; bytes-- > 0; value >>= 8)
        *(*to)++ = (unsigned char)value;
}

/* The fields that both headers of an entry have. */
static void put_common(unsigned char **to, uint32_t crc, uint32_t n, const char *name) {
    put_number(to, 20, 2); /* version */
    put_number(to, 0, 4);  /* flags, stored */
    put_number(to, 0x210000, 4);
    put_number(to, crc, 4);
    put_number(to, n, 4);
    put_number(to, n, 4);
    put_number(to, (uint32_t)strlen(name), 2);
    put_number(to, 0, 2);
}

/* h.npz with entries of these names, all with the same content. */
static void write_zip(const char *const *names, const void *content, size_t n) {
    static unsigned char file[8192];
    unsigned char *to = file, directory[2048], *row = directory;
    const uint32_t crc = crc32_of(content, n);
    int count = 0;
    for (; names[count]; count++) {
        const char *name = names[count];
        put_number(&row, 0x02014b50, 4);
        put_number(&row, 20, 2);
        put_common(&row, crc, (uint32_t)n, name);
        put_number(&row, 0, 4);
        put_number(&row, 0, 2);
        put_number(&row, 0, 4);
        put_number(&row, (uint32_t)(to - file), 4);
        memcpy(row, name, strlen(name));
        row += strlen(name);
        put_number(&to, 0x04034b50, 4);
        put_common(&to, crc, (uint32_t)n, name);
        memcpy(to, name, strlen(name));
        to += strlen(name);
        memcpy(to, content, n);
        to += n;
    }
    const uint32_t at = (uint32_t)(to - file), size = (uint32_t)(row - directory);
    memcpy(to, directory, size);
    to += size;
    put_number(&to, 0x06054b50, 4);
    put_number(&to, 0, 4);
    put_number(&to, (uint32_t)count, 2);
    put_number(&to, (uint32_t)count, 2);
    put_number(&to, size, 4);
    put_number(&to, at, 4);
    put_number(&to, 0, 2);
    ct_write("h.npz", file, (size_t)(to - file));
}

static void npz(int code,
                const char *dtype,
                const char *order,
                const char *shape,
                size_t bytes,
                const char *says) {
    static const char *const names[] = {"a.npy", NULL};
    char content[1024] = "\x93NUMPY\1", dict[512];
    const int n = snprintf(dict, sizeof dict,
                           "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", dtype,
                           order, shape);
    content[8] = (char)(n & 255);
    content[9] = (char)(n >> 8);
    memcpy(content + 10, dict, (size_t)n);
    for (size_t i = 0; i < bytes; i++)
        content[10 + (size_t)n + i] = (char)(i + 1);
    write_zip(names, content, 10 + (size_t)n + bytes);
    expect(code, "convert h.npz b.json", says);
}

Test(pith_claims, believes_no_header_of_an_array) {
    static const char *const twice[] = {"a.npy", "a.npy", NULL},
                             *const structure[] = {"pith.json", NULL},
                             *const conflict[] = {"a.npy", "a/b.npy", NULL},
                             *const climbing[] = {"../a.npy", "/b.npy", NULL},
                             *const folder[] = {"d/", NULL};
    begin();
    if (!supported("npz")) {
        end();
        return;
    }
    npz(0, "<f8", "False", "(2,)", 16, "");
    npz(0, "<f8", "True", "()", 8, "");
    npz(0, ">i2", "True", "(2, 3)", 12, "");
    npz(0, "<f8", "False", "(1,1,1,1,1,1,1,1)", 8, "");
    npz(0, "<f8", "True", "(0, 9, 9)", 0, "");
    npz(1, "|b1", "False", "(3,)", 3, "element 1 of a bool array");
    npz(0, "|b1", "False", "(1,)", 1, "");
    expect(0, "show b.json \"['a']\"", "true");
    npz(1, "<f8", "False", "(-1,)", 0, "its header is malformed");
    npz(1, "<f8", "False", "(1,1,1,1,1,1,1,1,1)", 8, "its header is malformed");
    npz(1, "<f8", "False", "(4294967296, 4294967296)", 0, "its size does not fit");
    npz(1, "<f8", "False", "(2305843009213693952,)", 0, "its size does not fit");
    npz(1, "<f8", "True", "(0, 9223372036854775807, 9223372036854775807)", 0,
        "its size does not fit");
    npz(1, "<f8", "False", "(18446744073709551617,)", 8, "its header is malformed");
    npz(1, "<f8", "False", "(2,)", 15, "its size does not fit");
    npz(1, "<f8", "False", "(2,)", 17, "its size does not fit");
    npz(1, "<f8", "False", "(2", 16, "its header is malformed");
    npz(1, "<f8", "Maybe", "(2,)", 16, "its header is malformed");
    npz(2, "<f18446744073709551624", "False", "(1,)", 8, "a dtype that pith does not");
    npz(2, "<c16", "False", "(1,)", 16, "a dtype that pith does not");
    npz(2, "|O", "False", "(1,)", 8, "a dtype that pith does not");
    static const unsigned char one[] = "\x93NUMPY\1\0\x3c\0"
                                       "{'descr': '|u1', 'fortran_order': False, "
                                       "'shape': (1,), }\n  \7";
    write_zip(twice, one, sizeof one - 1);
    expect(1, "convert h.npz b.json", "two entries have one name");
    write_zip(structure, one, sizeof one - 1);
    expect(1, "convert h.npz b.json", "\"h.npz\": its structure: ");
    write_zip(folder, one, sizeof one - 1);
    expect(1, "convert h.npz b.json", "\"d/\": it is not a NumPy array");
    write_zip(conflict, one, sizeof one - 1);
    expect(0, "convert h.npz b.json", "");
    write_zip(climbing, one, sizeof one - 1);
    expect(0, "convert h.npz b.json", "");
    expect(0, "show b.json", "['../a']");
    end();
}

Test(pith_claims, takes_from_hdf5_what_it_has_types_for) {
    static const char script[] =
        "import h5py, numpy as np\n"
        "def w(name, make):\n"
        "    with h5py.File(name + '.h5', 'w') as h: make(h)\n"
        "d = 'a'\n"
        "w('huge', lambda h: h.create_dataset(d, shape=(2**40, 2**10), chunks=(64, 64)))\n"
        "w('over', lambda h: h.create_dataset(d, shape=(2**62, 4), chunks=(64, 1)))\n"
        "w('rank', lambda h: h.create_dataset(d, data=np.zeros((1,) * 9)))\n"
        "w('null', lambda h: h.create_dataset(d, data=h5py.Empty('f4')))\n"
        "w('pair', lambda h: h.create_dataset(d, data=np.zeros(3, dtype='c16')))\n"
        "w('text', lambda h: h.create_dataset(d, data=['x'], dtype=h5py.string_dtype()))\n"
        "e = h5py.enum_dtype({'x': 0, 'y': 5}, basetype='i1')\n"
        "w('enum', lambda h: h.create_dataset(d, data=np.array([0, 1, 5], 'i1').astype(e)))\n"
        "w('bool', lambda h: h.create_dataset(d, data=np.array([True, False])))\n"
        "def links(h):\n"
        "    h.create_group('g')['x'] = np.ones(2)\n"
        "    h['g/self'] = h\n"
        "    h['y'] = h['g/x']\n"
        "    h['soft'] = h5py.SoftLink('/soft')\n"
        "    h['far'] = h5py.ExternalLink('/etc/passwd', '/')\n"
        "w('link', links)\n";
    begin();
    const char *python = supported("h5") ? python_with("h5py") : NULL;
    char line[4096];
    if (!python) {
        end();
        return;
    }
    snprintf(line, sizeof line, "%s -c \"%s\"", python, script);
    cr_assert(system(line) == 0);
    expect(1, "convert huge.h5 b.json", "it claims more than the file can hold");
    expect(1, "convert over.h5 b.json", "a shape that pith does not have");
    expect(1, "convert rank.h5 b.json", "a shape that pith does not have");
    expect(1, "convert null.h5 b.json", "a shape that pith does not have");
    expect(2, "convert pair.h5 b.json", "a dtype that pith does not have");
    expect(2, "convert text.h5 b.json", "a dtype that pith does not have");
    expect(2, "convert enum.h5 b.json", "a dtype that pith does not have");
    expect(0, "convert bool.h5 b.json", "");
    expect(0, "show b.json", "bool[2]");
    expect(0, "convert link.h5 b.json", "");
    expect(0, "show b.json", "['y'] f64[2]");
    cr_assert(strstr(output, "['x']  f64[2]") && !strstr(output, "far"), "%s", output);
    end();
}

/* ---- Targets ---- */

Test(pith_claims, replaces_files_alone) {
    begin();
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 100000), "a.json", NULL));
    cr_assert(mkdir("folder", 0700) == 0);
    static const char *const names[] = {"json", "npz", "safetensors", "h5"};
    for (int i = 0; i < 4; i++) {
        char fifo[64], link[64], file[64], dangling[64], line[256];
        struct stat st;
        if (i && !supported(names[i]))
            continue;
        snprintf(fifo, sizeof fifo, "fifo.%s", names[i]);
        snprintf(link, sizeof link, "link.%s", names[i]);
        snprintf(file, sizeof file, "folder/file.%s", names[i]);
        snprintf(dangling, sizeof dangling, "dangling.%s", names[i]);
        cr_assert(mkfifo(fifo, 0600) == 0 && symlink(file, link) == 0 &&
                  symlink("nowhere/x", dangling) == 0);
        snprintf(line, sizeof line, "convert a.json %s", fifo);
        expect(2, line, "it is not a regular file");
        cr_assert(stat(fifo, &st) == 0 && S_ISFIFO(st.st_mode));
        snprintf(line, sizeof line, "convert %s x.json", fifo);
        expect(2, line, "it is not a regular file");
        snprintf(line, sizeof line, "convert a.json %s", dangling);
        expect(2, line, "No such file or directory");
        snprintf(line, sizeof line, "convert a.json %s", file);
        expect(0, line, "");
        cr_assert(chmod(file, 0640) == 0);
        snprintf(line, sizeof line, "convert a.json %s", link);
        expect(0, line, "");
        cr_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
        cr_assert(stat(file, &st) == 0 && (st.st_mode & 07777) == 0640);
        snprintf(line, sizeof line, "convert %s back.json", link);
        expect(0, line, "");
        expect(0, "diff a.json back.json", "");
        cr_assert(unlink(file) == 0);
    }
    cr_assert(rmdir("folder") == 0);
    end();
}

Test(pith_claims, survives_a_limit_of_file_sizes) {
    begin();
    pt_ok(s, pith_save(s, pith_arange(s, PITH_F64, 100000), "a.json", NULL));
    static const char *const names[] = {"json", "npz", "safetensors", "h5"};
    for (int i = 0; i < 4; i++) {
        char line[512];
        if (i && !supported(names[i]))
            continue;
        snprintf(line, sizeof line, "ulimit -f 100; '%s' convert a.json x.%s 2>said",
                 PITH_COMMAND, names[i]);
        const int status = system(line);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 2, "%s: %d", names[i],
                  status);
        const ct_file said = ct_read("said");
        cr_assert(said.n > 20 && memcmp(said.bytes, "pith convert: ", 14) == 0);
        free(said.bytes);
        snprintf(line, sizeof line, "test -z \"$(ls -A | grep -E 'tmp|^x')\"");
        cr_assert(system(line) == 0, "something is left of x.%s", names[i]);
    }
    end();
}
