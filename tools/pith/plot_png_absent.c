/* PNG in builds without cairo. */
#include "plot.h"

const char *const png_needs = "cairo";

bool write_png(const chart *c, const char *file, int width, int height) {
    (void)c, (void)file, (void)width, (void)height;
    return false; /* not called: png_needs is checked first */
}
