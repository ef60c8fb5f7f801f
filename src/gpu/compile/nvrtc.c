/* NVRTC compiler: opened on first use and never closed. It needs neither device nor
 * driver, so CUDA code can be compiled and checked wherever it is installed. Its
 * interface is declared here, so that builds without CUDA can use it. */
#include "gpu/compile/toolchain.h"
#include "gpu/compile/toolkit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { OLDEST_MAJOR = 12, OLDEST_MINOR = 8, MOST_ARCHS = 64, RTC_COMPILATION = 6 };

typedef void *rtc_program;

/* X(name, arguments): the functions used, each returning 0 or a code. */
#define RTC_FUNCTIONS(X)                                                                 \
    X(Version, (int *major, int *minor))                                                 \
    X(GetNumSupportedArchs, (int *count))                                                \
    X(GetSupportedArchs, (int *archs))                                                   \
    X(CreateProgram,                                                                     \
      (rtc_program * program, const char *text, const char *name, int headers,           \
       const char *const *sources, const char *const *names))                            \
    X(DestroyProgram, (rtc_program * program))                                           \
    X(CompileProgram, (rtc_program program, int count, const char *const *options))      \
    X(GetProgramLogSize, (rtc_program program, size_t * bytes))                          \
    X(GetProgramLog, (rtc_program program, char *log))                                   \
    X(GetCUBINSize, (rtc_program program, size_t * bytes))                               \
    X(GetCUBIN, (rtc_program program, char *code))                                       \
    X(GetPTXSize, (rtc_program program, size_t * bytes))                                 \
    X(GetPTX, (rtc_program program, char *code))

typedef struct rtc_library {
#define RTC_MEMBER(name, arguments) int(*name) arguments;
    RTC_FUNCTIONS(RTC_MEMBER)
#undef RTC_MEMBER
    const char *(*GetErrorString)(int code);
    char identity[PITHP_IDENTITY_BYTES];
    int archs[MOST_ARCHS], arch_count;
} rtc_library;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open; /* guarded by lock; library is constant once it is set */
static rtc_library library;

/* ---- Opening ---- */

/* Resolve all functions; returns the name of a missing one, or NULL. */
static const char *bind(void *handle, rtc_library *to) {
    void *symbol;
#define RTC_BIND(name, arguments)                                                        \
    symbol = dlsym(handle, "nvrtc" #name);                                               \
    if (!symbol)                                                                         \
        return "nvrtc" #name;                                                            \
    memcpy(&to->name, &symbol, sizeof symbol);
    RTC_FUNCTIONS(RTC_BIND)
    RTC_BIND(GetErrorString, )
#undef RTC_BIND
    return NULL;
}

static void identify(rtc_library *of, void *handle, int major, int minor) {
    Dl_info where = {.dli_fname = NULL};
    struct stat st;
    if (!dladdr(dlsym(handle, "nvrtcVersion"), &where) || !where.dli_fname ||
        stat(where.dli_fname, &st) != 0)
        memset(&st, 0, sizeof st);
    snprintf(of->identity, sizeof of->identity, "NVRTC %d.%d; %lld bytes of %lld", major,
             minor, (long long)st.st_size, (long long)st.st_mtim.tv_sec);
}

static pith_status open_once(int driver, pithp_error *e) {
    rtc_library found = {.arch_count = 0};
    int major = 0, minor = 0;
    void *handle = pithp_toolkit_open("PITH_NVRTC", "nvrtc", driver);
    if (!handle) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "NVRTC, the run-time compiler for CUDA, is not found: %s",
                        dlerror());
        return PITH_E_UNSUPPORTED;
    }
    const char *missing = bind(handle, &found);
    if (missing || found.Version(&major, &minor) != 0 ||
        (major == OLDEST_MAJOR && minor < OLDEST_MINOR) || major < OLDEST_MAJOR) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "NVRTC is version %d.%d%s%s, and %d.%d or later is needed", major,
                        minor, missing ? " without " : "", missing ? missing : "",
                        OLDEST_MAJOR, OLDEST_MINOR);
        dlclose(handle);
        return PITH_E_UNSUPPORTED;
    }
    if (!pithp_toolkit_serves(driver, major)) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "NVRTC is version %d.%d, and the driver supports CUDA "
                        "%d.%d and older: its code may not load",
                        major, minor, driver / 1000, driver % 1000 / 10);
        dlclose(handle);
        return PITH_E_UNSUPPORTED;
    }
    if (found.GetNumSupportedArchs(&found.arch_count) != 0 ||
        found.arch_count > MOST_ARCHS || found.GetSupportedArchs(found.archs) != 0)
        found.arch_count = 0;
    identify(&found, handle, major, minor);
    library = found;
    is_open = true;
    return PITH_OK;
}

pith_status
pithp_rtc_open_for(int driver, char identity[PITHP_IDENTITY_BYTES], pithp_error *e) {
    pthread_mutex_lock(&lock);
    const pith_status rc = is_open ? PITH_OK : open_once(driver, e);
    if (rc == PITH_OK)
        memcpy(identity, library.identity, PITHP_IDENTITY_BYTES);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- Compiling ---- */

bool pithp_rtc_target_for(int arch,
                          const int *known,
                          int count,
                          pithp_rtc_target *target) {
    int best = 0;
    for (int i = 0; i < count; i++)
        if (known[i] <= arch && known[i] > best)
            best = known[i];
    target->ptx = best != arch;
    snprintf(target->name, sizeof target->name, "%s_%d", target->ptx ? "compute" : "sm",
             best);
    return best != 0;
}

static pith_status
fail(pithp_error *e, pith_status status, const char *name, const char *what, int code) {
    pithp_error_set(e, status, NULL, NULL, "%s: NVRTC cannot %s: %s", name, what,
                    library.GetErrorString(code));
    return status;
}

static void add_log(rtc_program program, pithp_string *log) {
    size_t bytes = 0;
    if (library.GetProgramLogSize(program, &bytes) != 0 || bytes <= 1)
        return; /* only the terminating zero */
    char *text = pithp_allocate(log->rt, bytes);
    if (text && library.GetProgramLog(program, text) == 0)
        pithp_string_add_n(log, text, bytes - 1);
    pithp_release(log->rt, text, bytes);
}

static pith_status take_code(rtc_program program,
                             bool ptx,
                             const char *name,
                             pithp_string *image,
                             pithp_error *e) {
    size_t bytes = 0;
    int code =
        ptx ? library.GetPTXSize(program, &bytes) : library.GetCUBINSize(program, &bytes);
    if (code != 0)
        return fail(e, PITH_E_INTERNAL, name, "return its code", code);
    char *image_bytes = pithp_allocate(image->rt, bytes);
    if (image_bytes)
        code = ptx ? library.GetPTX(program, image_bytes)
                   : library.GetCUBIN(program, image_bytes);
    if (image_bytes && code == 0)
        pithp_string_add_n(image, image_bytes, bytes);
    pithp_release(image->rt, image_bytes, bytes);
    if (code != 0)
        return fail(e, PITH_E_INTERNAL, name, "return its code", code);
    if (!image_bytes || image->failed) {
        pithp_error_set(e, PITH_E_MEMORY, NULL, NULL,
                        "out of memory: no room for compiled code");
        return PITH_E_MEMORY;
    }
    return PITH_OK;
}

pith_status pithp_rtc_compile(int arch,
                              const char *text,
                              const pithp_compile_options *options,
                              pithp_string *image,
                              pithp_string *log,
                              pithp_error *e) {
    pithp_rtc_target target;
    char architecture[64];
    if (!pithp_rtc_target_for(arch, library.archs, library.arch_count, &target)) {
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s cannot compile for compute capability %d.%d",
                        library.identity, arch / 10, arch % 10);
        return PITH_E_UNSUPPORTED;
    }
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", target.name);
    const char *flags[6] = {
        architecture,
        "--std=c++17",
        "--device-as-default-execution-space",
        "--fmad=false",
    };
    int flag_count = 4;
    if (options->resources)
        flags[flag_count++] = "--ptxas-options=-v";
    if (options->file[0])
        flags[flag_count++] = "--generate-line-info";
    rtc_program program = NULL;
    int code = library.CreateProgram(&program, text, options->name, 0, NULL, NULL);
    if (code != 0)
        return fail(e, PITH_E_INTERNAL, options->name, "begin", code);
    code = library.CompileProgram(program, flag_count, flags);
    add_log(program, log);
    pith_status rc = PITH_OK;
    if (code == RTC_COMPILATION) {
        char line[700];
        pithp_log_digest(log->bytes, line, sizeof line);
        rc = PITH_E_COMPILE;
        pithp_error_set(e, rc, NULL, NULL, "%s does not compile with NVRTC: %s",
                        options->name, line);
    } else if (code != 0) {
        rc = fail(e, PITH_E_INTERNAL, options->name, "compile", code);
    } else {
        rc = take_code(program, target.ptx, options->name, image, e);
    }
    library.DestroyProgram(&program);
    return rc;
}
