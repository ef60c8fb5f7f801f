/* Environment variables: the library reads them only through these functions. */
#ifndef PITH_BASE_ENVIRONMENT_H
#define PITH_BASE_ENVIRONMENT_H

#include <stdbool.h>

/* Whether the process has rights that its caller lacks (AT_SECURE: setuid, setgid, file
 * capabilities). The environment is then untrusted input: no variable is read, no
 * compiler runs, and no library named by a variable is loaded. */
bool pithp_secure_execution(void);

/* As getenv, but NULL under secure execution. */
const char *pithp_environment(const char *name);

/* Why run-time compilation is off under secure execution: one sentence for logs and
 * errors. */
extern const char pithp_secure_reason[];

#endif
