/* What opened.c finds in opened_plugin.c. */
#ifndef OPENED_H
#define OPENED_H

__attribute__((visibility("default"))) double plugin_compute(void);

#endif
