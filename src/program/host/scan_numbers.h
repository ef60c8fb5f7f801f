/* One scan for every numeric dtype; OP, A and COMBINE as in scan_kind.h. */
/* clang-format off */
#define DT i8
#include "program/host/scan_kind.h"
#define DT i16
#include "program/host/scan_kind.h"
#define DT i32
#include "program/host/scan_kind.h"
#define DT i64
#include "program/host/scan_kind.h"
#define DT u8
#include "program/host/scan_kind.h"
#define DT u16
#include "program/host/scan_kind.h"
#define DT u32
#include "program/host/scan_kind.h"
#define DT u64
#include "program/host/scan_kind.h"
#define DT f16
#include "program/host/scan_kind.h"
#define DT bf16
#include "program/host/scan_kind.h"
#define DT f32
#include "program/host/scan_kind.h"
#define DT f64
#include "program/host/scan_kind.h"
/* clang-format on */

#undef OP
#undef A
#undef COMBINE
