/* A program that knows nothing of pith opens the library while it runs, as interpreters
 * and hosts of plugins do. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library || !dlsym(library, "pith_open")) {
        fprintf(stderr, "opened: %s\n", count == 2 ? dlerror() : "expected LIBRARY");
        return 1;
    }
    return 0;
}
