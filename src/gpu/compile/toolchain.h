/* Within compile only: the two compilers, and what is kept of their work. */
#ifndef PITH_TOOLCHAIN_H
#define PITH_TOOLCHAIN_H

#include "gpu/compile/compile_internal.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { PITHP_IDENTITY_BYTES = 1024 };

/* ---- cc: the system's C compiler, as a process ---- */

enum { PITHP_CC_WORDS = 8, PITHP_CC_BYTES = 4096 };

/* The command that runs it, such as "/usr/bin/gcc". */
typedef struct pithp_cc {
    char text[PITHP_CC_BYTES]; /* the words, each ending with a zero */
    const char *words[PITHP_CC_WORDS + 1];
    char identity[PITHP_IDENTITY_BYTES]; /* file, version: what its output depends on */
} pithp_cc;

/* Compilers that one thread runs and another can end. */
typedef struct pithp_cc_job {
    void (*wait)(bool begins); /* told when the thread begins to wait for a compiler, and
                                  when it has waited */
    pthread_mutex_t lock;      /* guards what follows */
    pid_t child;               /* that runs now, and leads a group of processes; or 0 */
    bool cancelled;            /* none is started any more */
} pithp_cc_job;
/* From here on compilers of this thread run in the job; NULL: in none. */
void pithp_cc_job_use(pithp_cc_job *job);
/* End the one that runs, and start no other. Any thread. */
void pithp_cc_job_cancel(pithp_cc_job *job);

/* $PITH_CC, else cc, gcc or clang. PITH_E_UNSUPPORTED where there is none. */
pith_status pithp_cc_open(pith_runtime *rt, pithp_cc *cc, pithp_error *e);
/* A shared library, appended to image. */
pith_status pithp_cc_compile(pith_runtime *rt,
                             const pithp_cc *cc,
                             pithp_isa isa,
                             const char *text,
                             const pithp_compile_options *options,
                             pithp_text *image,
                             pithp_error *e);
/* The options for an instruction set, for the key. */
const char *pithp_cc_machine(pithp_isa isa);

/* ---- rtc: NVRTC, loaded when it is first used ---- */

/* Load it, once per process; identity says which version. Versions of a newer major than
 * the driver's (1000 major + 10 minor; 0: unknown) are not used. PITH_E_UNSUPPORTED with
 * the reason if it is missing, older than 12.8, or newer than the driver. */
pith_status
pithp_rtc_open_for(int driver, char identity[PITHP_IDENTITY_BYTES], pithp_error *e);
/* The newest, to compile without a device. */
static inline pith_status pithp_rtc_open(char identity[PITHP_IDENTITY_BYTES],
                                         pithp_error *e) {
    return pithp_rtc_open_for(0, identity, e);
}

/* What to compile for: machine code where NVRTC knows the device, else PTX for the newest
 * one that it knows before it, which the driver finishes. False: it is too old. */
typedef struct pithp_rtc_target {
    char name[24]; /* "sm_90" or "compute_90" */
    bool ptx;
} pithp_rtc_target;
bool pithp_rtc_target_for(int arch,
                          const int *known,
                          int count,
                          pithp_rtc_target *target);

/* A cubin or PTX (with its final zero), appended to image; what the compiler said is
 * appended to log also where it succeeds. After pithp_rtc_open. */
pith_status pithp_rtc_compile(int arch,
                              const char *text,
                              const pithp_compile_options *options,
                              pithp_text *image,
                              pithp_text *log,
                              pithp_error *e);

/* The lines of a compiler's log that say most, from the first error on, as one line. */
void pithp_log_digest(const char *log, char *line, size_t room);

/* ---- disk: images in files, one a key ---- */

typedef struct pithp_disk {
    int directory;    /* -1: there is none that may be used */
    size_t limit;     /* bytes of all files; beyond it the oldest go */
    atomic_bool told; /* the log: that nothing can be written */
} pithp_disk;

typedef enum pithp_disk_answer {
    PITHP_DISK_NONE,
    PITHP_DISK_FOUND,
    PITHP_DISK_CORRUPTED /* it was there, was no good, and is deleted */
} pithp_disk_answer;

/* $PITH_CACHE_DIR, else $XDG_CACHE_HOME/pith, else ~/.cache/pith; an empty PITH_CACHE_DIR
 * is none. Says in the log why a directory is not used. */
void pithp_disk_open(pith_runtime *rt, pithp_disk *disk);
void pithp_disk_close(pithp_disk *disk);
pithp_disk_answer
pithp_disk_read(const pithp_disk *disk, pithp_code_key key, pithp_text *image);
/* Whoever reads sees all or nothing of it. It is only a cache: failure is said in the
 * log, once. */
void pithp_disk_write(pith_runtime *rt,
                      pithp_disk *disk,
                      pithp_code_key key,
                      const char *image,
                      size_t bytes);
void pithp_disk_remove(const pithp_disk *disk, pithp_code_key key);

/* ---- What is kept to look at (PITH_JIT_DEBUG) ---- */

/* Write a file, all or nothing of it, unless it is there; path gets its name, with room
 * for a longest one and the end. False: it was not written, which is logged once
 * per process. */
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
/* What the processor can do, as text: the same on all processors that run the same code
 * compiled for "native". */
void pithp_processor_describe(char *text, size_t room);

#endif
