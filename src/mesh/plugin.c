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

static int note_engine(struct dl_phdr_info *info, size_t size, void *closure) {
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    for (int i = 0; i < PITHP_COUNT(engines); i++)
        if (strncmp(name, engines[i].library, strlen(engines[i].library)) == 0) {
            *(const char **)closure = engines[i].mpi;
            return 1;
        }
    return 0;
}

/* The MPI that the process has loaded; NULL: none. */
static const char *loaded_engine(void) {
    const char *mpi = NULL;
    dl_iterate_phdr(note_engine, &mpi);
    return mpi;
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

/* Open a file as a plugin. NULL: `why` says why not. */
static const pithp_transport *open_file(const char *path, char *why, size_t room) {
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
    if (t && t->version == PITHP_TRANSPORT_VERSION)
        return t;
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
static const pithp_transport *open_named(const char *mpi, char *why, size_t room) {
    char path[PATH_MAX], program[PATH_MAX], library[PATH_MAX];
    find_folders(program, library);
    const char *const folders[] = {program, library, library};
    for (int i = 0; i < PITHP_COUNT(folders); i++) {
        snprintf(path, sizeof path, "%.3000s%s/libpith_mpi-%.40s.so", folders[i],
                 i == 2 ? "/../lib" : "", mpi);
        if (access(path, F_OK) == 0)
            return open_file(path, why, room);
    }
    snprintf(path, sizeof path, "libpith_mpi-%.40s.so", mpi);
    const pithp_transport *t = open_file(path, why, room);
    const size_t n = strlen(path);
    /* otherwise it is there, and another file is not */
    if (!t && strncmp(why, path, n) == 0 && why[n] == ':')
        snprintf(why, room,
                 "%.50s is not in %.80s, %.90s, %.90s/../lib, or where the loader looks: "
                 "set PITH_MPI to its file",
                 path, program, library, library);
    return t;
}

const pithp_transport *
pithp_plugin_find(const pithp_job *job, const char *library, pithp_error *e) {
    const char *wish = pithp_environment("PITH_MPI"), *loaded = loaded_engine();
    const bool file = wish && strchr(wish, '/');
    wish = wish && wish[0] ? wish : NULL;
    const char *mpi = library    ? library
                      : loaded   ? loaded
                      : job->mpi ? job->mpi
                      : file     ? NULL
                                 : wish;
    char why[400] = "";
    const pithp_transport *t = NULL;
    if (file)
        t = open_file(wish, why, sizeof why);
    else if (mpi)
        t = open_named(mpi, why, sizeof why);
    else if (!(t = open_named("openmpi", why, sizeof why)))
        t = open_named("mpich", why, sizeof why);
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
