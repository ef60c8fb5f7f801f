/* .npz in builds without libzip. */
#include "bundle.h"

static const char *const extensions[] = {"npz", NULL};
const format npz_format = {.extensions = extensions,
                           .needs = "libzip",
                           .name_of = path_name};
