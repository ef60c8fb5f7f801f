/* Within checkpoint, one header a job. A tree is captured into a document and built from
 * one; nothing but capture.c and load.c knows trees, nothing but the parse*.c knows
 * jansson, nothing but file.c and folder.c knows the system. */
#ifndef PITH_CHECKPOINT_INTERNAL_H
#define PITH_CHECKPOINT_INTERNAL_H

#include "checkpoint/document/compare.h"  /* trees and documents */
#include "checkpoint/document/document.h" /* tables in memory, checksums, text */
#include "checkpoint/save/saving.h"       /* content of arrays, saving */
#include "checkpoint/store/file.h"        /* files, folders, series */
#include "checkpoint/store/open.h"        /* an open checkpoint */
#include "checkpoint/store/sidecar.h"     /* sidecars, compression */

#endif
