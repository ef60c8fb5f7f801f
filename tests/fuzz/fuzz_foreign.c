/* Files of other programs, as the pith command reads them without a library of theirs:
 * safetensors, and headers of NumPy's arrays. What is taken fits the file. */
#include "bundle.h"
#include "fuzz.h"
#include "npy.h"

static void read_npy(const uint8_t *data, size_t n) {
    npy array;
    if (n < NPY_START)
        return;
    const size_t length = npy_length(data);
    if (length < NPY_START || length > n)
        return;
    char *header = malloc(length + 1);
    FUZZ_REQUIRE(header, "no memory");
    memcpy(header, data, length);
    header[length] = 0;
    if (!npy_parse(header, length, &array)) {
        int64_t count;
        size_t bytes;
        FUZZ_REQUIRE(array.dtype && array.shape.rank >= 0 &&
                         array.shape.rank <= PITH_MAX_RANK,
                     "rank %d", (int)array.shape.rank);
        if (shape_size(array.dtype, &array.shape, &count, &bytes) &&
            bytes == n - length) {
            void *elements = malloc(bytes ? bytes : 1);
            FUZZ_REQUIRE(elements, "no memory");
            memcpy(elements, data + length, bytes);
            void *turned = npy_elements(&array, elements, count);
            if (turned != elements)
                free(turned);
            free(elements);
        }
    }
    free(header);
}

static void read_safetensors(const uint8_t *data, size_t n) {
    pith_scope *s = pith_scope_open(fuzz_runtime());
    bundle b = {.s = s};
    size_t bytes = 0;
    fuzz_write("f.safetensors", data, n);
    const bool taken = safetensors_format.read(&b, "f.safetensors");
    FUZZ_REQUIRE(taken != pith_failed(s), "%s", pith_message(s));
    for (int64_t i = 0; i < b.count; i++)
        bytes += b.items[i].bytes;
    FUZZ_REQUIRE(bytes <= n, "%zu bytes of a file of %zu", bytes, n);
    pith_clear(s);
    bundle_end(&b);
    pith_scope_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready) {
        fuzz_folder();
        ready = true;
    }
    if (n && data[0] == 0x93)
        read_npy(data, n);
    else
        read_safetensors(data, n);
    return 0;
}
