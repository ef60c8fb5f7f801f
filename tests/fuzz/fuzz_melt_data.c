/* LAMMPS data files, as examples/melt reads them: what is taken has finite atoms in a
 * box, all else is an error that names the file, and memory stays within a multiple of
 * the file. */
#include "fuzz.h"
#include "melt.h"

#include <math.h>

static size_t input_bytes;

int64_t melt_slice_begin(int64_t atoms, int64_t part, int64_t parts) {
    return atoms * part / parts;
}

Start melt_start_of(pith_scope *s, const Options *o, const Slice *slice) {
    (void)s;
    (void)o;
    FUZZ_REQUIRE(slice->atoms >= 1 && (size_t)slice->atoms <= input_bytes / 8,
                 "%lld atoms", (long long)slice->atoms);
    for (int64_t i = 0; i < 3 * slice->count; i++)
        FUZZ_REQUIRE(isfinite(slice->position[i]) && isfinite(slice->velocity[i]),
                     "number %lld", (long long)i);
    for (int d = 0; d < 3; d++)
        FUZZ_REQUIRE(isfinite(slice->lengths[d]) && slice->lengths[d] > 0, "%g",
                     slice->lengths[d]);
    return (Start){.atoms = slice->atoms, .first = slice->first, .count = slice->count};
}

/* Read one slice of as many as `parts`. Returns the number of atoms in it; -1: refused.
 */
static int64_t atoms_in(pith_scope *s, int64_t part, int64_t parts) {
    const Options options = {.data = "melt.data"};
    const Start start = melt_data_slice(s, &options, part, parts);
    const bool taken = start.atoms > 0;
    FUZZ_REQUIRE(taken != pith_failed(s), "%s", pith_message(s));
    FUZZ_REQUIRE(taken || strncmp(pith_message(s), "melt.data", 9) == 0, "%s",
                 pith_message(s));
    pith_clear(s);
    return taken ? start.count : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static bool ready;
    if (!ready) {
        fuzz_folder();
        ready = true;
    }
    pith_scope *s = pith_scope_open(fuzz_runtime());
    input_bytes = n;
    fuzz_write("melt.data", data, n);
    /* two halves are read if the whole is, and no atom is lost between them */
    const int64_t all = atoms_in(s, 0, 1), low = atoms_in(s, 0, 2);
    const int64_t high = atoms_in(s, 1, 2);
    FUZZ_REQUIRE(all < 0 || (low >= 0 && high >= 0 && low + high == all),
                 "%lld atoms, but %lld and %lld", (long long)all, (long long)low,
                 (long long)high);
    FUZZ_REQUIRE(all >= 0 || low < 0 || high < 0, "refused, but not by a half");
    pith_scope_close(s);
    return 0;
}
