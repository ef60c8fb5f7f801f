/* Plugins: the library that binds an MPI, libpith_mpi-NAME.so, chosen by the MPI that the
 * process has loaded, by its launcher, or by PITH_MPI. libpith itself links no MPI. */
#include "base/environment.h"
#include "mesh/world.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* MPIs with plugins, and the file names of their libraries. */
static const struct {
    const char *mpi, *library;
} engines[] = {
    {"openmpi", "libmpi.so.40"},
    {"mpich", "libmpich.so.12"},
    {"mpich", "libmpi.so.12"},
    {"abi", "libmpi_abi.so"},
};

/* ---- Objects of the process ---- */

typedef struct engine_search {
    const char *wanted; /* NULL: any */
    const char *found;
} engine_search;

static int note_engine(struct dl_phdr_info *info, size_t size, void *closure) {
    (void)size;
    engine_search *e = closure;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    for (int i = 0; i < PITHP_COUNT(engines); i++) {
        if (strncmp(name, engines[i].library, strlen(engines[i].library)) != 0)
            continue;
        const bool best = !e->wanted || strcmp(e->wanted, engines[i].mpi) == 0;
        e->found = best || !e->found ? engines[i].mpi : e->found;
        return best;
    }
    return 0;
}

/* The MPI that the process has loaded, of several the wanted one; NULL: none. */
static const char *loaded_engine(const char *wanted) {
    engine_search e = {.wanted = wanted};
    dl_iterate_phdr(note_engine, &e);
    return e.found;
}

typedef struct id_text {
    char *text;
    size_t room;
} id_text;

static void print_id(const unsigned char *bytes, size_t n, const id_text *id) {
    for (size_t i = 0; i < n && 2 * i + 3 <= id->room; i++)
        snprintf(id->text + 2 * i, 3, "%02x", bytes[i]);
}

/* The build id is a note of the first object, which is the program. */
static int note_id(struct dl_phdr_info *info, size_t size, void *closure) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + h->p_vaddr);
        for (size_t left = h->p_type == PT_NOTE ? h->p_memsz : 0;
             left >= sizeof(ElfW(Nhdr));) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const size_t name = (note.n_namesz + 3u) & ~3u,
                         value = (note.n_descsz + 3u) & ~3u;
            const size_t whole = sizeof note + name + value;
            if (whole > left)
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp(at + sizeof note, "GNU", 4) == 0)
                print_id((const unsigned char *)at + sizeof note + name, note.n_descsz,
                         closure);
            at += whole;
            left -= whole;
        }
    }
    return 1;
}

void pithp_program_id(char *text, size_t room) {
    text[0] = 0;
    dl_iterate_phdr(note_id, &(id_text){text, room});
}

/* ---- Files ---- */

/* Open a file as a plugin. own: the MPI of the process, or NULL. NULL: `why` says why
 * not.
 */
static const pithp_transport *
open_file(const char *path, const char *own, char *why, size_t room) {
    /* Open MPI's own plugins need its symbols */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        snprintf(why, room, "%s", dlerror());
        return NULL;
    }
    pithp_transport_entry *entry = NULL;
    void *symbol = dlsym(library, PITHP_TRANSPORT_ENTRY);
    memcpy(&entry, &symbol, sizeof symbol);
    const pithp_transport *t = entry ? entry() : NULL;
    const bool valid = t && t->version == PITHP_TRANSPORT_VERSION;
    if (valid && (!own || strcmp(own, t->mpi) == 0))
        return t;
    if (valid)
        snprintf(why, room, "%s binds %s, but this process uses %s", path, t->mpi, own);
    else
        snprintf(why, room, "%s is no plugin of this version of pith", path);
    dlclose(library);
    return NULL;
}

/* The folder of a file; "." without one. */
static void folder_of(const char *file, char *folder, size_t room) {
    const char *slash = strrchr(file, '/');
    snprintf(folder, room, "%.*s", slash ? (int)(slash - file) : 1, slash ? file : ".");
}

/* The folders of the program and of the library. */
static void find_folders(char program[PATH_MAX], char library[PATH_MAX]) {
    char file[PATH_MAX];
    Dl_info info;
    const ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);
    file[n > 0 ? n : 0] = 0;
    folder_of(file, program, PATH_MAX);
    const bool known = dladdr((const void *)&engines, &info) && info.dli_fname;
    folder_of(known ? info.dli_fname : "", library, PATH_MAX);
}

/* libpith_mpi-NAME.so in the folder of the program, which a project may have built, in
 * that of the library, in a folder lib beside it, and on the loader's path. The first one
 * decides. */
static const pithp_transport *
open_named(const char *mpi, const char *own, char *why, size_t room) {
    char path[PATH_MAX], program[PATH_MAX], library[PATH_MAX];
    find_folders(program, library);
    const char *const folders[] = {program, library, library};
    for (int i = 0; i < PITHP_COUNT(folders); i++) {
        snprintf(path, sizeof path, "%.3000s%s/libpith_mpi-%.40s.so", folders[i],
                 i == 2 ? "/../lib" : "", mpi);
        if (access(path, F_OK) == 0)
            return open_file(path, own, why, room);
    }
    snprintf(path, sizeof path, "libpith_mpi-%.40s.so", mpi);
    const pithp_transport *t = open_file(path, own, why, room);
    const size_t n = strlen(path);
    /* otherwise it is there, and another file is not */
    if (!t && strncmp(why, path, n) == 0 && why[n] == ':')
        snprintf(why, room,
                 "%.50s is not in %.80s, %.90s, %.90s/../lib, or where the loader looks: "
                 "set PITH_MPI to its file",
                 path, program, library, library);
    return t;
}

const char *pithp_plugin_wish(bool *valid) {
    const char *wish = pithp_environment("PITH_MPI");
    wish = wish && wish[0] ? wish : NULL;
    *valid = true;
    for (const char *c = wish; c && *c && !strchr(wish, '/'); c++)
        *valid &= (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_' ||
                  (*c == '-' && c > wish);
    return *valid ? wish : NULL;
}

/* One of the MPI that the process uses, that its launcher belongs to, or that is wished
 * for; else the first that there is. A file that is wished for comes before those. */
static const pithp_transport *
choose(const pithp_job *job, const char *own, char *why, size_t room) {
    bool valid;
    const char *wish = pithp_plugin_wish(&valid);
    if (wish && strchr(wish, '/')) {
        const int n = snprintf(why, room, "PITH_MPI: ");
        return open_file(wish, own, why + n, room - (size_t)n);
    }
    const char *mpi = own ? own : job->mpi ? job->mpi : wish;
    if (mpi)
        return open_named(mpi, own, why, room);
    const pithp_transport *t = open_named("openmpi", NULL, why, room);
    return t ? t : open_named("mpich", NULL, why, room);
}

const pithp_transport *
pithp_plugin_find(const pithp_job *job, const char *library, pithp_error *e) {
    const char *loaded = loaded_engine(library);
    char why[400] = "";
    if (library && loaded && strcmp(library, loaded) != 0) {
        pithp_error_set(e, PITH_E_ARG, NULL, NULL,
                        "the communicator is one of %.20s, but this process uses %s",
                        library, loaded);
        return NULL;
    }
    const pithp_transport *t = choose(job, library ? library : loaded, why, sizeof why);
    if (t)
        return t;
    if (job->launcher && job->size > 1)
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL,
                        "%s started %lld processes (%s), but there is no plugin for its "
                        "MPI: %s",
                        job->launcher, (long long)job->size, job->variable, why);
    else
        pithp_error_set(e, PITH_E_UNSUPPORTED, NULL, NULL, "no plugin for MPI: %s", why);
    return NULL;
}
