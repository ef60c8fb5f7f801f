/* A program that knows nothing of pith opens a plugin that does, and closes it again, as
 * interpreters and other hosts do; also in a thread that ends when the plugin is gone. */
#include "opened.h"

#include <dlfcn.h>
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

int main(int count, char **arguments) {
    pthread_t thread;
    if (count != 2)
        return 2;
    use_plugin(arguments[1]);
    if (pthread_create(&thread, NULL, use_plugin, arguments[1]) != 0)
        return 2;
    pthread_join(thread, NULL);
    return failures ? 1 : 0;
}
