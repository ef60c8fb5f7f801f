/* LAMMPS data files, as examples/melt reads them: what is taken has finite atoms in a
 * box, all else is an error that names the file, and memory stays within a multiple of
 * the file. */
#include "fuzz.h"
#include "melt.h"

#include <math.h>

static size_t input_bytes;

const Sim *melt_atoms(pith_scope *s,
                      const Options *o,
                      int64_t count,
                      const double *position,
                      const double *velocity,
                      const double lengths[3]) {
    static const Sim taken;
    (void)s;
    (void)o;
    FUZZ_REQUIRE(count >= 1 && (size_t)count <= input_bytes / 8, "%lld atoms",
                 (long long)count);
    for (int64_t i = 0; i < 3 * count; i++)
        FUZZ_REQUIRE(isfinite(position[i]) && isfinite(velocity[i]), "number %lld",
                     (long long)i);
    for (int d = 0; d < 3; d++)
        FUZZ_REQUIRE(isfinite(lengths[d]) && lengths[d] > 0, "%g", lengths[d]);
    return &taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready) {
        fuzz_folder();
        ready = true;
    }
    pith_scope *s = pith_scope_open(fuzz_runtime());
    const Options options = {.data = "melt.data"};
    input_bytes = n;
    fuzz_write("melt.data", data, n);
    const bool taken = melt_data(s, &options) != NULL;
    FUZZ_REQUIRE(taken != pith_failed(s), "%s", pith_message(s));
    FUZZ_REQUIRE(taken || strncmp(pith_message(s), "melt.data", 9) == 0, "%s",
                 pith_message(s));
    pith_clear(s);
    pith_scope_close(s);
    return 0;
}
