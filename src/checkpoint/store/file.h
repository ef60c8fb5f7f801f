/* Files and folders, and the members of a series. */
#ifndef PITHP_CHECKPOINT_FILE_H
#define PITHP_CHECKPOINT_FILE_H

#include "checkpoint/document/document.h"

#include <dirent.h>
#include <sys/stat.h>

/* ---- Files (file.c, writer.c, folder.c) ---- */

enum { PITHP_TEMPORARY_NAME = 256 };
/* A unique temporary name with the stem of a document's name:
 * ".pith-<process>-<number>.<stem>.tmp". A long stem is omitted. */
void pithp_temporary_name(const char *document, char name[PITHP_TEMPORARY_NAME]);

/* Writes to a temporary file in a folder, and locks the file while it is open. */
typedef struct pithp_writer {
    pith_runtime *rt;
    int folder, file;                /* -1: not open */
    char name[PITHP_TEMPORARY_NAME]; /* of the temporary file; "" after the rename */
    unsigned char *buffer;
    size_t used;
    size_t written, started;        /* bytes written; bytes with write-back started */
    struct pithp_direct_io *direct; /* replaces the buffer; NULL: not used */
    int error;                      /* errno of the first failure; 0: none */
    const char *failed_call;        /* the failed call, such as "write" */
} pithp_writer;

/* A folder and a file name in it. Symbolic links of the file itself are resolved. */
typedef struct pithp_location {
    int folder;        /* descriptor; -1: not open */
    char name[256];    /* of the file in it */
    unsigned mode;     /* permissions of the existing file; 0: there is no file */
    const char *shown; /* the path as the user gave it, for messages */
} pithp_location;

pith_status
pithp_location_open(pith_scope *s, const char *path, pithp_location *location);
void pithp_location_close(pithp_location *location);

/* expected: bytes to be written, so that a full disk is detected early. */
void pithp_writer_open(pithp_writer *w,
                       pith_runtime *rt,
                       const pithp_location *at,
                       size_t expected);
void pithp_writer_add(pithp_writer *w, const void *bytes, size_t n);
/* Write large data without a copy, and hash it. */
void pithp_writer_add_hashed(pithp_writer *w,
                             const void *bytes,
                             size_t n,
                             pithp_hasher *h);
/* Overwrite bytes at the start of the file. */
void pithp_writer_put_first(pithp_writer *w, const void *bytes, size_t n);
/* Sync all bytes to the disk. */
void pithp_writer_sync(pithp_writer *w);
/* Rename the file to its final name, replacing an older file. */
void pithp_writer_rename(pithp_writer *w, const char *name);
/* Close; an unnamed file is removed. */
void pithp_writer_close(pithp_writer *w);
/* PITH_OK, or the writer's error as the scope's error. */
pith_status pithp_writer_status(pith_scope *s, const pithp_writer *w, const char *shown);

/* Lock a folder for a commit. The lock excludes other writers and readers that hold it.
 * Waits for them up to a minute. */
pith_status pithp_folder_lock(pith_scope *s, const pithp_location *location);
void pithp_folder_unlock(const pithp_location *location);
int pithp_folder_sync(const pithp_location *location); /* 0, or errno */
/* The folder's files; NULL with errno. */
DIR *pithp_folder_list(int folder);
/* Whether a file of that name and size exists. */
bool pithp_sidecar_exists(int folder, const pithp_doc_sidecar *sidecar);
/* Whether the header of a sidecar, or a leaf in it, agrees with its document, of format
 * 2. Also false if it cannot be read (sidecar_verify.c). */
bool pithp_sidecar_verify(pith_runtime *rt,
                          int folder,
                          const pithp_doc_sidecar *sidecar,
                          const pithp_doc_leaf *leaf);
/* Read the head of a document, which names its sidecars. 0, errno, or -1 if the file is
 * shorter. */
enum { PITHP_HEAD_BYTES = 16384 };
int pithp_head_read(int file, size_t bytes, char head[PITHP_HEAD_BYTES + 1]);
bool pithp_head_is_checkpoint(const char *head);
/* The sidecars named in a head, without stem and owner. A file that is no checkpoint, or
 * too damaged to be loaded, names none. False: unknown. */
bool pithp_head_claims(const char *head, pithp_claims *claims);
/* The sidecars named by the document `name` of a folder. False: the file exists and
 * cannot be read. */
bool pithp_folder_claims_of(int folder, const char *name, pithp_claims *claims);
/* The same, but false also if it is not certain what a damaged document names. Without
 * stem and owner. */
bool pithp_folder_claims_read(int folder, const char *name, pithp_claims *claims);
/* Remove the user's temporary files whose writers are dead, and their own sidecars that
 * no other document names. Takes the folder lock. */
pith_status pithp_folder_sweep(pith_scope *s, const pithp_location *location);
/* The same, but not while another writer holds the lock. */
void pithp_folder_sweep_at_once(const pithp_location *location);

/* ---- Parts (parts_sweep.c) ---- */

/* What the names of the parts of a document, or of a series, begin with: its stem, or
 * another one if that is hidden, long, or not UTF-8 (names.c). */
void pithp_part_stem(const char *document, char stem[256]);
/* Remove the parts of a document, or of a series, that no document of that name names:
 * those of replaced ones, and of saves that were killed. `own` is the number of the save
 * that has ended; parts that are newer than its own stay, which may be of another job. 0:
 * a save without parts; those that are newer than the document stay. */
void pithp_parts_sweep(pith_scope *s, const pithp_location *location, uint64_t own);

/* ---- Files owned by a document (names.c, drop.c, own_sidecar.c) ---- */

/* "melt.<hash>.safetensors" for "melt.json"; members of a series use the series' stem. */
void pithp_sidecar_name(const char *document, pithp_digest content, char name[256]);
/* Whether a file name has the form of a sidecar of the document or series with that
 * stem. */
bool pithp_is_own_sidecar_name(const char *stem, const char *file);
/* A sidecar of a document that goes. */
typedef struct pithp_dropped {
    pithp_claim claim;
    const char *stem; /* of the document */
    uid_t owner;      /* of the document */
    int64_t document; /* its number, for the caller */
    bool named;       /* by a document that stays */
    bool done;        /* it is named, removed, or not the document's own */
} pithp_dropped;
/* Remove sidecars that are their document's own and that no document names but those that
 * go, whose file names are sorted. Sorts the rows. Requires the folder lock: otherwise a
 * document being renamed could be missed. Not done: an unreferenced sidecar may remain;
 * keep its document for the next sweep. */
void pithp_folder_drop(int folder,
                       pithp_dropped *rows,
                       int64_t count,
                       const char *const *leaving,
                       int64_t leaving_count);
/* The same of one document, `except`. False: not all are done. */
bool pithp_folder_drop_sidecars(int folder,
                                const pithp_claims *claims,
                                const char *except);
int pithp_compare_names(const void *a, const void *b); /* of lists of names */
/* Remove a sidecar if it is the document's own: its name, owner, size and header are
 * checked. False: it may be its own and still exists. */
bool pithp_own_sidecar_remove(int folder, const pithp_dropped *row);
/* Remove a file if its name still refers to the examined file. False: it does, and cannot
 * be removed. */
bool pithp_file_unlink(int folder, const char *name, const struct stat *st);

/* Write all n bytes, in several calls if necessary. 0, or errno. */
int pithp_file_write(int file, const void *bytes, size_t n);

/* Open a regular file for reading, without blocking or following links. -1 with errno;
 * EINVAL: not a regular file. */
int pithp_file_open(int folder, const char *name, size_t *bytes);
/* Read exactly n bytes. 0, errno, or -1 if the file is shorter. */
int pithp_file_read(int file, void *to, size_t n, size_t offset);

/* ---- Series (series.c) ---- */

/* Numbers of the members, the newest first. */
typedef struct pithp_series {
    int64_t *numbers, count, room;
} pithp_series;

/* Length of a file's name without ".json". */
size_t pithp_stem(const char *name);
/* "melt.000017.json" for "melt.json" and 17. False: too long for a file name. */
bool pithp_series_name(const char *series, int64_t number, char name[256]);
/* Number of the member of a series with that file name; 0: not a member. */
int64_t pithp_series_number(const char *series, const char *file);
/* 0, or errno. */
int pithp_series_list(pith_runtime *rt,
                      int folder,
                      const char *series,
                      pithp_series *members);
/* Fail because a series cannot be listed; error: of pithp_series_list. */
pith_status pithp_series_list_fail(pith_scope *s, const char *shown, int error);
void pithp_series_end(pith_runtime *rt, pithp_series *members);
/* Fail because a file is missing; the message names the newest member if it is a
 * series. */
pith_status pithp_series_no_file(pith_scope *s, const pithp_location *location);
/* Change the location of a series to that of its next member. Requires the folder lock,
 * like pithp_series_prune. */
pith_status pithp_series_next(pith_scope *s, pithp_location *location);
/* Remove all but the newest members, with their sidecars. */
void pithp_series_prune(pith_runtime *rt, int folder, const char *series, int64_t keep);
#endif
