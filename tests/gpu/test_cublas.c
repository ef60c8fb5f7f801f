/* Opening cuBLAS, which needs no device: a missing library is reported, and once it is
 * there it stays. */
#include "gpu/cuda/cublas.h"
#include "pith_test.h"

#include <stdlib.h>

Test(cublas, a_file_that_is_not_there_is_named) {
    pithp_error e = {.code = PITH_OK};
    setenv("PITH_CUBLAS_LIBRARY", "/nowhere/libcublas.so", 1);
    cr_assert(!pithp_cublas_open(0, &e));
    cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "/nowhere/libcublas.so"), "%s", e.text);
}

Test(cublas, a_library_without_its_functions_is_none) {
    pithp_error e = {.code = PITH_OK};
    setenv("PITH_CUBLAS_LIBRARY", "libm.so.6", 1);
    cr_assert(!pithp_cublas_open(0, &e));
    cr_assert_eq(e.code, PITH_E_UNSUPPORTED);
    cr_assert(strstr(e.text, "cuBLAS has no cublasGetProperty"), "%s", e.text);
}

Test(cublas, the_real_one_has_all_functions) {
    pithp_error e = {.code = PITH_OK};
    unsetenv("PITH_CUBLAS_LIBRARY");
    const pithp_cublas *library = pithp_cublas_open(0, &e);
    if (!library)
        cr_skip_test("%s", e.text);
    cr_assert_eq(pithp_cublas_open(0, &e), library);
    cr_assert_str_eq(library->GetStatusName(PITHP_CUBLAS_OK), "CUBLAS_STATUS_SUCCESS");
    pithp_cublas_handle handle = NULL;
    const int status = library->Create_v2(&handle); /* there may be no device */
    cr_assert_eq(status == PITHP_CUBLAS_OK, handle != NULL);
    if (handle)
        cr_assert_eq(library->Destroy_v2(handle), PITHP_CUBLAS_OK);
}
