/* Private interface of compile: the two compilers, the disk cache, debug files and cache
 * keys. */
#ifndef PITH_TOOLCHAIN_H
#define PITH_TOOLCHAIN_H

#include "gpu/compile/compile_internal.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { PITHP_IDENTITY_BYTES = 1024 };

/* ---- cc: the system's C compiler, as a process ---- */

enum { PITHP_CC_WORDS = 8, PITHP_CC_BYTES = 4096 };

/* The compiler command, for example "/usr/bin/gcc". */
typedef struct pithp_cc {
    char text[PITHP_CC_BYTES]; /* the words, each zero-terminated */
    const char *words[PITHP_CC_WORDS + 1];
    char identity[PITHP_IDENTITY_BYTES]; /* file and version: everything its output
                                            depends on */
} pithp_cc;

/* Compiler processes of one thread, which another thread can cancel. */
typedef struct pithp_cc_job {
    void (*wait)(
        bool begins);     /* called before the thread waits for a compiler, and after */
    pthread_mutex_t lock; /* guards the members below */
    pid_t child;          /* the running child, leader of a process group; or 0 */
    bool cancelled;       /* no further compiler starts */
} pithp_cc_job;
/* Run this thread's compilers in the job from here on; NULL: in none. */
void pithp_cc_job_use(pithp_cc_job *job);
/* Terminate the running compiler and start no further one. Any thread. */
void pithp_cc_job_cancel(pithp_cc_job *job);

/* $PITH_CC, else cc, gcc or clang. PITH_E_UNSUPPORTED if none is found. */
pith_status pithp_cc_open(pith_runtime *rt, pithp_cc *cc, pithp_error *e);
/* Compile to a shared library, appended to image. */
pith_status pithp_cc_compile(pith_runtime *rt,
                             const pithp_cc *cc,
                             pithp_isa isa,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_string *image,
                             pithp_error *e);
/* The compiler options for an instruction set; part of the key. */
const char *pithp_cc_machine(pithp_isa isa);

/* ---- rtc: NVRTC, loaded on first use ---- */

/* Load NVRTC once per process; identity: its version. PITH_E_UNSUPPORTED with the reason
 * if it is missing, older than 12.8, or of a newer major version than the driver. driver:
 * 1000 major + 10 minor; 0: unknown. */
pith_status
pithp_rtc_open_for(int driver, char identity[PITHP_IDENTITY_BYTES], pithp_error *e);
/* The newest version, to compile without a device. */
static inline pith_status pithp_rtc_open(char identity[PITHP_IDENTITY_BYTES],
                                         pithp_error *e) {
    return pithp_rtc_open_for(0, identity, e);
}

/* The compile target: machine code if NVRTC knows the device; else PTX for the newest
 * older architecture, which the driver compiles. Returns false if the device is too
 * old. */
typedef struct pithp_rtc_target {
    char name[24]; /* "sm_90" or "compute_90" */
    bool ptx;
} pithp_rtc_target;
bool pithp_rtc_target_for(int arch,
                          const int *known,
                          int count,
                          pithp_rtc_target *target);

/* Compile to a cubin or PTX (zero-terminated), appended to image. The compiler's messages
 * are appended to log, also on success. Requires pithp_rtc_open. */
pith_status pithp_rtc_compile(int arch,
                              const char *text,
                              const pithp_compile_options *options,
                              pithp_string *image,
                              pithp_string *log,
                              pithp_error *e);

/* Reduce a compiler's log to one line, from the first error on. */
void pithp_log_digest(const char *log, char *line, size_t room);

/* ---- disk: images in files, one per key ---- */

typedef struct pithp_disk {
    int directory;    /* -1: no usable directory */
    size_t limit;     /* bytes of all files, before eviction */
    atomic_bool told; /* a write failure has been logged */
} pithp_disk;

typedef enum pithp_disk_answer {
    PITHP_DISK_NONE,
    PITHP_DISK_FOUND,
    PITHP_DISK_CORRUPTED /* it was corrupted and is deleted */
} pithp_disk_answer;

/* $PITH_CACHE_DIR, else $XDG_CACHE_HOME/pith, else ~/.cache/pith; an empty PITH_CACHE_DIR
 * disables the cache. Logs why a directory is not used. */
void pithp_disk_open(pith_runtime *rt, pithp_disk *disk);
void pithp_disk_close(pithp_disk *disk);
pithp_disk_answer
pithp_disk_read(const pithp_disk *disk, pithp_code_key key, pithp_string *image);
/* Store an image; readers see all of it or nothing. A failure is not an error; it is
 * logged once. */
void pithp_disk_write(pith_runtime *rt,
                      pithp_disk *disk,
                      pithp_code_key key,
                      const char *image,
                      size_t bytes);
void pithp_disk_remove(const pithp_disk *disk, pithp_code_key key);

/* ---- Debug files (PITH_JIT_DEBUG) ---- */

/* Write a file atomically unless it exists; path gets its name, with room for a longest
 * name and the extension. Returns false if it was not written; that is logged once per
 * process. */
bool pithp_debug_keep(pith_runtime *rt,
                      const char *file,
                      const char *end,
                      const char *bytes,
                      size_t n,
                      char *path);

/* ---- key: everything that compiled code depends on ---- */

typedef struct pithp_code_subject {
    const char *text;
    const char *compiler; /* its identity */
    const char *target;   /* instruction set or architecture */
    const pithp_compile_options *options;
} pithp_code_subject;

pithp_code_key pithp_code_key_of(const pithp_code_subject *subject);
/* Checksum of an image. */
pithp_code_key pithp_code_sum(const void *bytes, size_t n);
/* Describe the processor's features: equal texts on processors that run the same code
 * compiled for "native". */
void pithp_processor_describe(char *text, size_t room);

#endif
