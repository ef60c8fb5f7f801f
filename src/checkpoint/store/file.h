/* Files and folders, and the members of a series in them. */
#ifndef PITHP_CHECKPOINT_FILE_H
#define PITHP_CHECKPOINT_FILE_H

#include "checkpoint/document/document.h"

#include <dirent.h>
#include <sys/stat.h>

/* ---- Files (file.c, writer.c, folder.c) ---- */

enum { PITHP_TEMPORARY_NAME = 256 };
/* A name that no other writer has, with the stem of a document's name, as those of its
 * sidecars have it: ".pith-<process>-<number>.<stem>.tmp"; without it if it is long. */
void pithp_temporary_name(const char *document, char name[PITHP_TEMPORARY_NAME]);

/* Writes to a temporary file of a folder, which it locks as long as it is open. */
typedef struct pithp_writer {
    pith_runtime *rt;
    int folder, file;                /* -1: not open */
    char name[PITHP_TEMPORARY_NAME]; /* of the temporary file; "" once it has its own */
    unsigned char *buffer;
    size_t used;
    size_t written, started; /* bytes given to the system; and begun to go to the disk */
    struct pithp_direct_io *direct; /* takes all bytes in place of the buffer; NULL */
    int error;                      /* errno of the first failure; 0 */
    const char *failed_call;        /* what failed, such as "write" */
} pithp_writer;

/* A folder and a name in it, symbolic links of the file itself resolved. */
typedef struct pithp_location {
    int folder;        /* descriptor; -1 */
    char name[256];    /* of the file in it */
    unsigned mode;     /* permissions of the file that is there; 0: there is none */
    const char *shown; /* the path as the user gave it, for messages */
} pithp_location;

pith_status
pithp_location_open(pith_scope *s, const char *path, pithp_location *location);
void pithp_location_close(pithp_location *location);

/* expected: bytes that will be written, so that a full disk is found early. */
void pithp_writer_open(pithp_writer *w,
                       pith_runtime *rt,
                       const pithp_location *at,
                       size_t expected);
void pithp_writer_add(pithp_writer *w, const void *bytes, size_t n);
/* Large data goes from where it lies, hashed on the way. */
void pithp_writer_add_hashed(pithp_writer *w,
                             const void *bytes,
                             size_t n,
                             pithp_hasher *h);
/* Replace bytes at the start of what was added. */
void pithp_writer_put_first(pithp_writer *w, const void *bytes, size_t n);
/* Everything is on the disk. */
void pithp_writer_sync(pithp_writer *w);
/* Give the file its name, in place of an older one. */
void pithp_writer_rename(pithp_writer *w, const char *name);
/* Close; a file that has not got its name goes away. */
void pithp_writer_close(pithp_writer *w);
/* PITH_OK, or the scope's error is set from the writer's. */
pith_status pithp_writer_status(pith_scope *s, const pithp_writer *w, const char *shown);

/* One writer at a time commits in a folder, and nobody while a reader holds the lock;
 * waits for others, up to a minute. */
pith_status pithp_folder_lock(pith_scope *s, const pithp_location *location);
void pithp_folder_unlock(const pithp_location *location);
int pithp_folder_sync(const pithp_location *location); /* 0, or errno */
/* The folder's files; NULL with errno. */
DIR *pithp_folder_list(int folder);
/* Whether a file of that name and size is there. */
bool pithp_sidecar_exists(int folder, const pithp_doc_sidecar *sidecar);
/* Whether its header, or a leaf in it, is what the document says, which has format 2;
 * also false where it cannot be read (sidecar_verify.c). */
bool pithp_sidecar_verify(pith_runtime *rt,
                          int folder,
                          const pithp_doc_sidecar *sidecar,
                          const pithp_doc_leaf *leaf);
/* Remove the sidecars that a document claims, if they are its own and no document of the
 * folder but `except` names them. Only with the folder locked: a document that is being
 * renamed could be missed. False: one may be left that no other document names; then
 * `except` has to stay for the next sweep. */
bool pithp_folder_drop_sidecars(int folder,
                                const pithp_claims *claims,
                                const char *except);
/* The beginning of a document, which names its sidecars. 0, errno, or -1 where the file
 * ended before. */
enum { PITHP_HEAD_BYTES = 16384 };
int pithp_head_read(int file, size_t bytes, char head[PITHP_HEAD_BYTES + 1]);
bool pithp_head_is_checkpoint(const char *head);
/* The sidecars that a head names, without stem and owner. A file that is no checkpoint,
 * or is too damaged to be loaded, names none. False: they cannot be told. */
bool pithp_head_claims(const char *head, pithp_claims *claims);
/* The sidecars that the document `name` of a folder names. False: the file is there and
 * cannot be read. */
bool pithp_folder_claims_of(int folder, const char *name, pithp_claims *claims);
/* Remove the user's temporary files whose writers are dead, and sidecars of their own
 * that only those name. Only with the folder locked. */
void pithp_folder_sweep(int folder);

/* ---- Which files are a document's own (names.c, own_sidecar.c) ---- */

/* "melt.<hash>.safetensors" of "melt.json"; members of a series have the series' stem. */
void pithp_sidecar_name(const char *document, pithp_digest content, char name[256]);
/* Whether a file is called as a sidecar of the document or series with that stem. */
bool pithp_is_own_sidecar_name(const char *stem, const char *file);
/* Remove a sidecar if it is the document's own: its name, owner, size and header are
 * checked. False: it may be its own and is still there. */
bool pithp_own_sidecar_remove(int folder, const pithp_claims *claims, int row);
/* Remove a file if its name still leads to the one that was examined. False: it does, and
 * cannot be removed. */
bool pithp_file_unlink(int folder, const char *name, const struct stat *st);

/* Write all of n bytes, in as many calls as it takes; 0, or errno. */
int pithp_file_write(int file, const void *bytes, size_t n);

/* Open a regular file to read; never waits, follows no link. -1 with errno; EINVAL: what
 * is there is no regular file. */
int pithp_file_open(int folder, const char *name, size_t *bytes);
/* Read exactly n bytes; 0, errno, or -1 where the file ended before. */
int pithp_file_read(int file, void *to, size_t n, size_t offset);

/* ---- Series (series.c) ---- */

/* Numbers of the members, the newest first. */
typedef struct pithp_series {
    int64_t *numbers, count, room;
} pithp_series;

/* Bytes of a file's name before ".json"; all if it does not end so. */
size_t pithp_stem(const char *name);
/* Bytes of a stem before the number of a member: "melt" of "melt.000017"; all if it has
 * no number. */
size_t pithp_series_stem(const char *stem);
/* "melt.000017.json" of "melt.json" and 17. False: it is too long for a file. */
bool pithp_series_name(const char *series, int64_t number, char name[256]);
/* Number of the member of a series with that file name; 0: it is no member. */
int64_t pithp_series_number(const char *series, const char *file);
/* 0, or errno. */
int pithp_series_list(pith_runtime *rt,
                      int folder,
                      const char *series,
                      pithp_series *members);
/* The error that a series cannot be listed; error: of pithp_series_list. */
pith_status pithp_series_list_fail(pith_scope *s, const char *shown, int error);
void pithp_series_end(pith_runtime *rt, pithp_series *members);
/* The error that there is no file at a place; names the newest member if it is a series.
 */
pith_status pithp_series_no_file(pith_scope *s, const pithp_location *location);
/* Turn a place of the series into that of its next member. Only with the folder locked,
 * as the next one. */
pith_status pithp_series_next(pith_scope *s, pithp_location *location);
/* Remove all but the newest members, with their sidecars. */
void pithp_series_prune(pith_runtime *rt, int folder, const char *series, int64_t keep);
#endif
