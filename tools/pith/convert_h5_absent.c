/* .h5 in builds without HDF5. */
#include "bundle.h"

static const char *const extensions[] = {"h5", "hdf5", NULL};
const format h5_format = {.extensions = extensions,
                          .needs = "HDF5",
                          .name_of = path_name};
