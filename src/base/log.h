/* Log of a runtime. */
#ifndef PITH_BASE_LOG_H
#define PITH_BASE_LOG_H

#include "pith/base.h"

void pithp_log(pith_runtime *rt, pith_log_level level, const char *format, ...)
    PITH_FORMAT(3, 4);
/* Log a message of pith_debug at level debug. The default hook also writes it if PITH_LOG
 * is unset; a level above debug suppresses it. */
void pithp_log_debug(pith_runtime *rt, const char *message);
bool pithp_log_takes_debug(const pith_runtime *rt);
/* Install the default hook, which writes messages from the level in PITH_LOG on to
 * stderr. */
void pithp_log_default(pith_runtime *rt);

#endif
