/* Opening NCCL, which needs no device: a missing library is reported, and once it is
 * there it stays. */
#include "gpu/cuda/nccl.h"
#include "pith_test.h"

#include <stdlib.h>

Test(nccl, a_file_that_is_not_there_is_named) {
    pithp_error e = {.code = PITH_OK};
    setenv("PITH_NCCL_LIBRARY", "/nowhere/libnccl.so", 1);
    cr_assert(!pithp_nccl_open(&e));
    cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "/nowhere/libnccl.so"), "%s", e.text);
}

Test(nccl, a_library_without_its_functions_is_none) {
    pithp_error e = {.code = PITH_OK};
    setenv("PITH_NCCL_LIBRARY", "libm.so.6", 1);
    cr_assert(!pithp_nccl_open(&e));
    cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "NCCL has no ncclGetVersion"), "%s", e.text);
}

Test(nccl, the_real_one_has_all_functions) {
    pithp_error e = {.code = PITH_OK};
    int version = 0;
    unsetenv("PITH_NCCL_LIBRARY");
    const pithp_nccl *library = pithp_nccl_open(&e);
    if (!library)
        cr_skip_test("%s", e.text);
    cr_assert_eq(pithp_nccl_open(&e), library);
    cr_assert_eq(library->GetVersion(&version), PITHP_NCCL_OK);
    cr_assert(version > 20000 && version < 100000, "%d", version);
    cr_assert_str_eq(library->GetErrorString(PITHP_NCCL_OK), "no error");
}
