/* Runs files through a fuzz target, for compilers without libFuzzer: replay PATH..., each
 * a file or a folder of files. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static int count;

/* Read before anything runs: a target may change the folder. */
static struct input {
    char *bytes, *name;
    size_t n;
} * inputs;

static void take(const char *name) {
    inputs = realloc(inputs, (size_t)(count + 1) * sizeof *inputs);
    FUZZ_REQUIRE(inputs, "no memory");
    size_t n;
    char *bytes = fuzz_read(name, &n);
    char *exact = malloc(n ? n : 1); /* so that reading behind it is found */
    memcpy(exact, bytes, n);
    free(bytes);
    inputs[count++] = (struct input){exact, strdup(name), n};
}

static void take_folder(const char *name) {
    DIR *listing = opendir(name);
    FUZZ_REQUIRE(listing, "%s is no folder", name);
    for (struct dirent *e; (e = readdir(listing));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", name, e->d_name);
        if (e->d_name[0] != '.')
            take(path);
    }
    closedir(listing);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct stat st;
        FUZZ_REQUIRE(stat(argv[i], &st) == 0, "%s is not there", argv[i]);
        if (S_ISDIR(st.st_mode))
            take_folder(argv[i]);
        else
            take(argv[i]);
    }
    FUZZ_REQUIRE(count > 0, "no inputs");
    for (int i = 0; i < count; i++) {
        printf("%s\n", inputs[i].name);
        fflush(stdout);
        LLVMFuzzerTestOneInput((const uint8_t *)inputs[i].bytes, inputs[i].n);
        free(inputs[i].bytes);
        free(inputs[i].name);
    }
    free(inputs);
    printf("%d inputs\n", count);
    return EXIT_SUCCESS;
}
