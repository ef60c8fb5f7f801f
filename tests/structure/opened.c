/* A program that knows nothing of pith opens a plugin that does, and closes it again, as
 * interpreters and other hosts do; also in a thread that ends when the plugin is gone,
 * and so often that memory lost at each time would show. */
#include "opened.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

static int failures;

static void *use_plugin(void *path) {
    double (*compute)(void) = NULL;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin)
        *(void **)&compute = dlsym(plugin, "plugin_compute");
    if (!compute || compute() != 328350) {
        fprintf(stderr, "opened: %s\n", compute ? "another sum" : dlerror());
        failures++;
    }
    if (plugin)
        dlclose(plugin);
    return NULL;
}

/* What is allocated; a sanitizer's allocator says 0. */
static size_t allocated(void) {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static void use_often(char *path) {
    enum { TIMES = 8, MOST_LOST = 65536 };
    const size_t before = allocated();
    for (int k = 0; k < TIMES; k++)
        use_plugin(path);
    const size_t after = allocated();
    if (after > before + TIMES * MOST_LOST) { /* a new range of addresses costs once */
        fprintf(stderr, "opened: each time loses %zu bytes\n", (after - before) / TIMES);
        failures++;
    }
}

int main(int count, char **arguments) {
    pthread_t thread;
    if (count != 2)
        return 2;
    use_plugin(arguments[1]);
    if (pthread_create(&thread, NULL, use_plugin, arguments[1]) != 0)
        return 2;
    pthread_join(thread, NULL);
    use_often(arguments[1]);
    return failures ? 1 : 0;
}
