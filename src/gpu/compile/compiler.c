/* Code cache: loaded modules in an LRU list in memory, and images on disk. A look-up
 * costs the hash of the text. Compilation runs outside all locks. */
#include "base/environment.h"
#include "gpu/compile/toolchain.h"
#include "gpu/memory/reclaim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEFAULT_MODULES = 256 };
#define DEFAULT_BYTES ((size_t)64 << 20)

/* State per device. */
typedef struct pithp_compiler {
    pthread_mutex_t lock; /* guards all members below; not held during compilation */
    bool ready;           /* the toolchain was found; constant from then on */
    pithp_cc cc;
    char identity[PITHP_IDENTITY_BYTES];
    char target[192];
    pithp_disk disk;
    pithp_module *newest, *oldest;
    int modules, most_modules;
    size_t bytes, most_bytes;
    pithp_compile_counts counts;
} pithp_compiler;

static bool on_host(const pithp_device *d) {
    return d->backend->addressable;
}

/* ---- The compiler of a device ---- */

static pithp_compiler *make_compiler(pithp_device *d) {
    pithp_compiler *c = pithp_allocate(d->runtime, sizeof *c);
    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->most_modules = DEFAULT_MODULES;
    c->most_bytes = DEFAULT_BYTES;
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        pithp_release(d->runtime, c, sizeof *c);
        return NULL;
    }
    pithp_disk_open(d->runtime, &c->disk);
    return c;
}

static void free_compiler(pithp_device *d, pithp_compiler *c) {
    pithp_disk_close(&c->disk);
    pthread_mutex_destroy(&c->lock);
    pithp_release(d->runtime, c, sizeof *c);
}

/* The compiler state of the device, made on first use; NULL if memory is short. */
static pithp_compiler *compiler_of(pithp_device *d) {
    pithp_compiler *c = atomic_load(&d->compiler);
    if (c)
        return c;
    pithp_compiler *made = make_compiler(d);
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong(&d->compiler, &c, made)) {
        pithp_reclaimer_add(d, pithp_compile_clear);
        return made;
    }
    free_compiler(d, made); /* another thread was first */
    return c;
}

/* Find the toolchain; the caller holds the lock. After a failure the next text tries
 * again. */
static pith_status prepare(pithp_device *d, pithp_compiler *c, pithp_error *e) {
    pith_status rc = PITH_OK;
    if (c->ready)
        return PITH_OK;
    if (pithp_secure_execution()) { /* code on disk is not run either */
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "%s", pithp_secure_reason);
        return PITH_E_UNSUPPORTED;
    }
    if (on_host(d)) {
        char processor[128];
        PITH_TRY(pithp_cc_open(d->runtime, &c->cc, e));
        memcpy(c->identity, c->cc.identity, sizeof c->identity);
        pithp_processor_describe(processor, sizeof processor);
        snprintf(c->target, sizeof c->target, "%s %s", pithp_cc_machine(d->isa),
                 processor);
    } else {
        PITH_TRY(pithp_rtc_open_for(d->driver, c->identity, e));
        snprintf(c->target, sizeof c->target, "sm_%d", d->arch);
    }
    c->ready = true;
out:
    return rc;
}

/* ---- Memory cache: an LRU list; the caller holds the lock ---- */

static void unlink_module(pithp_compiler *c, pithp_module *m) {
    *(m->newer ? &m->newer->older : &c->newest) = m->older;
    *(m->older ? &m->older->newer : &c->oldest) = m->newer;
    m->newer = m->older = NULL;
    c->modules--;
    c->bytes -= m->bytes;
}

static void link_newest(pithp_compiler *c, pithp_module *m) {
    m->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = m;
    c->newest = m;
    c->modules++;
    c->bytes += m->bytes;
}

static void retain(pithp_module *m) {
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

/* The module of a key, moved to the front, with a reference for the caller. */
static pithp_module *find_module(pithp_compiler *c, pithp_code_key key) {
    for (pithp_module *m = c->newest; m; m = m->older)
        if (m->key.low == key.low && m->key.high == key.high) {
            if (m != c->newest) {
                unlink_module(c, m);
                link_newest(c, m);
            }
            retain(m);
            return m;
        }
    return NULL;
}

/* Remove modules over the limits from the list, except the newest. Returns them linked by
 * `older`, with the list's references, for release without the lock. */
static pithp_module *take_excess(pithp_compiler *c) {
    pithp_module *excess = NULL;
    while (c->modules > 1 && (c->modules > c->most_modules || c->bytes > c->most_bytes)) {
        pithp_module *m = c->oldest;
        unlink_module(c, m);
        m->older = excess;
        excess = m;
        c->counts.evicted++;
    }
    return excess;
}

static void release_all(pithp_module *m) {
    while (m) {
        pithp_module *next = m->older;
        m->older = NULL;
        pithp_module_release(m);
        m = next;
    }
}

void pithp_compile_clear(pith_runtime *rt) {
    pithp_compiler *c = atomic_load(&pithp_runtime_device(rt)->compiler);
    pithp_module *idle = NULL;
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    for (pithp_module *m = c->oldest, *next; m; m = next) {
        next = m->newer;
        if (atomic_load_explicit(&m->refs, memory_order_acquire) != 1)
            continue; /* new references need the lock or an existing reference */
        unlink_module(c, m);
        m->older = idle;
        idle = m;
        c->counts.evicted++;
    }
    pthread_mutex_unlock(&c->lock);
    release_all(idle);
}

/* ---- Modules ---- */

static void free_module(pithp_module *m) {
    pith_runtime *rt = m->device->runtime;
    while (m->functions) {
        pithp_function *f = m->functions;
        m->functions = f->next;
        pithp_release(rt, f, sizeof *f);
    }
    pthread_mutex_destroy(&m->lock);
    pithp_release(rt, m, sizeof *m);
}

void pithp_module_release(pithp_module *m) {
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    pithp_device *d = m->device;
    pthread_mutex_lock(&d->lock);
    pithp_stream *st = d->streams; /* the list only grows at the head */
    pthread_mutex_unlock(&d->lock);
    for (; st; st = st->next) {
        pithp_error e;
        d->backend->synchronise(st, &e); /* a failure is reported when results are read */
    }
    d->backend->module_unload(d, m);
    free_module(m);
}

static pithp_module *new_module(pithp_device *d, pithp_code_key key, size_t bytes) {
    pithp_module *m = pithp_allocate(d->runtime, sizeof *m);
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    atomic_init(&m->refs, 1);
    m->device = d;
    m->bytes = bytes;
    m->key = key;
    if (pthread_mutex_init(&m->lock, NULL) != 0) {
        pithp_release(d->runtime, m, sizeof *m);
        return NULL;
    }
    return m;
}

/* ---- Loading ---- */

/* The dynamic loader identifies libraries by path, and file descriptor numbers are
 * reused. So each path is spelt uniquely: 32 separators "//" or "/." encode the number of
 * the library. */
static void spell_path(int file, uint32_t number, char path[128]) {
    int n = snprintf(path, 128, "/proc/self");
    for (int bit = 0; bit < 32; bit++) {
        path[n++] = '/';
        path[n++] = number >> bit & 1 ? '.' : '/';
    }
    snprintf(path + n, 128 - (size_t)n, "/fd/%d", file);
}

/* Code is verified in memory and loaded from memory. No file can be exchanged in between,
 * and no file system can forbid execution. */
static pith_status load_library(pithp_device *d,
                                const pithp_string *image,
                                pithp_module *m,
                                pithp_error *e) {
    static _Atomic uint32_t number;
    char path[128];
    const int file = memfd_create("pith-code", MFD_CLOEXEC);
    size_t written = 0;
    while (file >= 0 && written < image->length) {
        const ssize_t n = write(file, image->bytes + written, image->length - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        written += (size_t)n;
    }
    pith_status rc = PITH_E_IO;
    if (file < 0 || written < image->length) {
        pithp_error_set(e, rc, NULL, NULL,
                        "cannot make a memory file for compiled code: %s",
                        strerror(errno));
    } else {
        spell_path(file, atomic_fetch_add(&number, 1), path);
        rc = d->backend->module_load(d, path, strlen(path), m, e);
    }
    if (file >= 0)
        close(file);
    return rc;
}

/* Load from the kept file, whose name profilers and debuggers show. Returns false if it
 * is missing or its file system forbids execution. */
static bool load_kept(pithp_device *d,
                      const pithp_string *image,
                      const pithp_compile_options *options,
                      pithp_module *m) {
    char path[PITHP_DEBUG_FILE_BYTES + 8];
    pithp_error ignored;
    const char *end = on_host(d) ? ".so" : ".cubin";
    return options->file[0] &&
           pithp_debug_keep(d->runtime, options->file, end, image->bytes, image->length,
                            path) &&
           on_host(d) &&
           d->backend->module_load(d, path, strlen(path), m, &ignored) == PITH_OK;
}

static pith_status load(pithp_device *d,
                        pithp_code_key key,
                        const pithp_string *image,
                        const pithp_compile_options *options,
                        pithp_module **module,
                        pithp_error *e) {
    pithp_module *m = new_module(d, key, image->length);
    if (!m) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for code");
        return PITH_E_MEMORY;
    }
    const pith_status rc =
        load_kept(d, image, options, m) ? PITH_OK
        : on_host(d)                    ? load_library(d, image, m, e)
                     : d->backend->module_load(d, image->bytes, image->length, m, e);
    if (rc == PITH_OK)
        *module = m;
    else
        free_module(m);
    return rc;
}

/* ---- Compiling ---- */

static pith_status compile(pithp_device *d,
                           const pithp_compiler *c,
                           const char *text,
                           const pithp_compile_options *options,
                           pithp_string *image,
                           pithp_error *e) {
    if (on_host(d))
        return pithp_cc_compile(d->runtime, &c->cc, d->isa, text, options, image, e);
    pithp_string log;
    pithp_string_begin(&log, d->runtime);
    const pith_status rc = pithp_rtc_compile(d->arch, text, options, image, &log, e);
    if (rc == PITH_OK && log.length)
        pithp_log(d->runtime, PITH_LOG_DEBUG, "%s: %s", options->name, log.bytes);
    pithp_string_end(&log);
    return rc;
}

static void count(pithp_compiler *c, int64_t *counter) {
    pthread_mutex_lock(&c->lock);
    ++*counter;
    pthread_mutex_unlock(&c->lock);
}

/* Load from disk; *module stays NULL if there is no loadable image. */
static void from_disk(pithp_device *d,
                      pithp_compiler *c,
                      pithp_code_key key,
                      const pithp_compile_options *options,
                      pithp_module **module) {
    pithp_string image;
    pithp_error e;
    pithp_string_begin(&image, d->runtime);
    const pithp_disk_answer answer = pithp_disk_read(&c->disk, key, &image);
    bool corrupted = answer == PITHP_DISK_CORRUPTED;
    if (answer == PITHP_DISK_FOUND) {
        const pith_status rc = load(d, key, &image, options, module, &e);
        if (rc == PITH_OK) {
            count(c, &c->counts.on_disk);
        } else if (rc == PITH_E_COMPILE) { /* intact, but not loadable on this machine */
            corrupted = true;
            pithp_disk_remove(&c->disk, key);
        }
    }
    if (corrupted)
        count(c, &c->counts.corrupted);
    pithp_string_end(&image);
}

static pith_status make_module(pithp_device *d,
                               pithp_compiler *c,
                               pithp_code_key key,
                               const char *text,
                               const pithp_compile_options *options,
                               pithp_module **module,
                               pithp_error *e) {
    char path[PITHP_DEBUG_FILE_BYTES + 8];
    if (options->file[0])
        pithp_debug_keep(d->runtime, options->file, on_host(d) ? ".c" : ".cu", text,
                         strlen(text), path);
    from_disk(d, c, key, options, module);
    if (*module)
        return PITH_OK;
    pithp_string image;
    pithp_string_begin(&image, d->runtime);
    pith_status rc = compile(d, c, text, options, &image, e);
    if (rc == PITH_OK) {
        count(c, &c->counts.compiled);
        rc = load(d, key, &image, options, module, e);
    }
    if (rc == PITH_OK)
        pithp_disk_write(d->runtime, &c->disk, key, image.bytes, image.length);
    pithp_string_end(&image);
    return rc;
}

/* Insert m into the list, or take a module that another thread made of the same text. */
static pithp_module *insert(pithp_compiler *c, pithp_module *m) {
    pthread_mutex_lock(&c->lock);
    pithp_module *first = find_module(c, m->key), *excess = NULL;
    if (!first) {
        retain(m);
        link_newest(c, m);
        excess = take_excess(c);
    }
    pthread_mutex_unlock(&c->lock);
    release_all(excess);
    if (!first)
        return m;
    pithp_module_release(m);
    return first;
}

pith_status pithp_compile_on(pithp_device *d,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_module **module,
                             pithp_error *e) {
    pithp_compiler *c = compiler_of(d);
    if (!c) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for a compiler");
        return PITH_E_MEMORY;
    }
    pthread_mutex_lock(&c->lock);
    pith_status rc = prepare(d, c, e);
    const pithp_code_key key = rc == PITH_OK ? pithp_code_key_of(&(pithp_code_subject){
                                                   text, c->identity, c->target, options})
                                             : (pithp_code_key){0, 0};
    *module = rc == PITH_OK ? find_module(c, key) : NULL;
    if (*module)
        c->counts.in_memory++;
    pthread_mutex_unlock(&c->lock);
    if (rc != PITH_OK || *module)
        return rc;
    rc = make_module(d, c, key, text, options, module, e);
    if (rc == PITH_OK)
        *module = insert(c, *module);
    return rc;
}

pith_status pithp_compile(pith_scope *s,
                          const char *text,
                          const pithp_compile_options *options,
                          pithp_module **module) {
    pithp_compile_options own = {0};
    pithp_error e;
    if (options)
        own = *options;
    if (!own.name)
        own.name = "program";
    *module = NULL;
    if (pithp_compile_on(pithp_scope_device(s), text, &own, module, &e) != PITH_OK)
        return pithp_fail_device(s, &e);
    return PITH_OK;
}

/* ---- Functions ---- */

static pithp_function *find_function(const pithp_module *m, const char *name) {
    for (pithp_function *f = m->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* The caller holds the module's lock. NULL sets e. */
static pithp_function *add_function(pithp_module *m, const char *name, pithp_error *e) {
    pithp_device *d = m->device;
    if (strlen(name) >= PITHP_FUNCTION_NAME_BYTES) {
        pithp_error_set(e, PITH_E_INTERNAL, NULL, NULL,
                        "a function name of %zu bytes is too long", strlen(name));
        return NULL;
    }
    pithp_function *f = pithp_allocate(d->runtime, sizeof *f);
    if (!f) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL, "out of memory: no room for code");
        return NULL;
    }
    memset(f, 0, sizeof *f);
    if (d->backend->module_find(d, m, name, f, e) != PITH_OK) {
        pithp_release(d->runtime, f, sizeof *f);
        return NULL;
    }
    memcpy(f->name, name, strlen(name) + 1);
    f->next = m->functions;
    m->functions = f;
    return f;
}

pith_status
pithp_module_search(pithp_module *m, const char *name, pithp_launch *l, pithp_error *e) {
    pthread_mutex_lock(&m->lock);
    pithp_function *f = find_function(m, name);
    if (!f)
        f = add_function(m, name, e);
    pthread_mutex_unlock(&m->lock);
    if (!f)
        return e->code;
    l->loops = f->loops;
    l->cuda = f->cuda;
    return PITH_OK;
}

pith_status
pithp_module_find(pith_scope *s, pithp_module *m, const char *name, pithp_launch *l) {
    pithp_error e;
    return pithp_module_search(m, name, l, &e) == PITH_OK ? PITH_OK
                                                          : pithp_fail_device(s, &e);
}

/* ---- Limits and shutdown ---- */

pithp_compile_counts pithp_compile_counted(const pith_runtime *rt) {
    pithp_compile_counts counts = {0};
    const pithp_device *d = rt->room[PITHP_ROOM_GPU];
    pithp_compiler *c = d ? atomic_load(&d->compiler) : NULL;
    if (c) {
        pthread_mutex_lock(&c->lock);
        counts = c->counts;
        pthread_mutex_unlock(&c->lock);
    }
    return counts;
}

void pithp_compile_limit(pith_runtime *rt, int modules, size_t bytes) {
    pithp_device *d = rt->room[PITHP_ROOM_GPU];
    pithp_compiler *c = d ? compiler_of(d) : NULL;
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->most_modules = modules ? modules : DEFAULT_MODULES;
    c->most_bytes = bytes ? bytes : DEFAULT_BYTES;
    pithp_module *excess = take_excess(c);
    pthread_mutex_unlock(&c->lock);
    release_all(excess);
}

void pithp_compiler_close(pithp_device *d) {
    pithp_compiler *c = atomic_exchange(&d->compiler, NULL);
    if (!c)
        return;
    release_all(c->newest);
    free_compiler(d, c);
}
