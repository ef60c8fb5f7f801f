/* The process's environment: the only way by which the library reads a variable. */
#ifndef PITH_BASE_ENVIRONMENT_H
#define PITH_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process has rights that its caller lacks (AT_SECURE: setuid, setgid, file
 * capabilities). Then the environment is the input of another user: no variable is read,
 * no compiler is run, and no library is loaded whose file a variable names. */
bool pithp_secure_execution(void);

/* The value of a variable, as getenv; NULL of each under secure execution. */
const char *pithp_environment(const char *name);

/* A number of bytes, with the unit KiB, MiB, GiB or TiB or none; false: the text is no
 * such number. */
bool pithp_parse_bytes(const char *text, size_t *bytes);

/* Why nothing is compiled under secure execution: one sentence for logs and errors. */
extern const char pithp_secure_reason[];

#endif
