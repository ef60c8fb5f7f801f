/* Within checkpoint, one header a job. A tree is captured into a document and built from
 * one; nothing but capture.c and load.c knows trees, nothing but the parse*.c knows
 * jansson, nothing but file.c and folder.c knows the system. */
#ifndef PITH_CHECKPOINT_INTERNAL_H
#define PITH_CHECKPOINT_INTERNAL_H

#include "checkpoint/compare.h"  /* trees and documents */
#include "checkpoint/document.h" /* tables in memory, checksums, text */
#include "checkpoint/file.h"     /* files, folders, series */
#include "checkpoint/open.h"     /* an open checkpoint */
#include "checkpoint/saving.h"   /* content of arrays, saving */
#include "checkpoint/sidecar.h"  /* sidecars, compression */

#endif
