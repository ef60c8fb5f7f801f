/* Environment variables: the library reads them only through these functions. */
#ifndef PITH_BASE_ENVIRONMENT_H
#define PITH_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process has rights that its caller lacks (AT_SECURE: setuid, setgid, file
 * capabilities). The environment is then untrusted input: no variable is read, no
 * compiler runs, and no library named by a variable is loaded. */
bool pithp_secure_execution(void);

/* As getenv, but NULL under secure execution. */
const char *pithp_environment(const char *name);

/* The variables PITH_* that all ranks of a job share, as "NAME=value" texts in the order
 * of their names, each ended by a zero, the list by an empty one, and the rest of the
 * memory zeros. Those that only pith_open reads, and those of joining, are left out.
 * False: there is no room for all. */
bool pithp_environment_settings(char *list, size_t bytes);
/* From here on the variables of such a list hold, and no others of their kind. False:
 * memory is short. */
bool pithp_environment_replace(const char *list);
/* From here on those of the process hold again. */
void pithp_environment_restore(void);

/* Why run-time compilation is off under secure execution: one sentence for logs and
 * errors. */
extern const char pithp_secure_reason[];

#endif
