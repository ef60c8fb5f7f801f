/* The log of a runtime. */
#ifndef PITH_BASE_LOG_H
#define PITH_BASE_LOG_H

#include "pith/base.h"

void pithp_log(pith_runtime *rt, pith_log_level level, const char *format, ...)
    PITH_FORMAT(3, 4);
/* A message that the program asked for by pith_debug, of level debug: also the default
 * hook writes it, unless PITH_LOG has a level above that. */
void pithp_log_debug(pith_runtime *rt, const char *message);
bool pithp_log_takes_debug(const pith_runtime *rt);
/* Install the default hook, which writes to stderr what PITH_LOG asks for. */
void pithp_log_default(pith_runtime *rt);

#endif
