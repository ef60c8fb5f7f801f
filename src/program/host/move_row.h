/* Copy of one row of elements; source and destination have separate strides. */
#ifndef PITH_PROGRAM_HOST_MOVE_ROW_H
#define PITH_PROGRAM_HOST_MOVE_ROW_H

#include <stdint.h>

#define PITHP_MOVE_ROW(type)                                                             \
    static inline void pithp_row_##type(char *to, const char *from, int64_t to_step,     \
                                        int64_t from_step, int64_t n) {                  \
        const int64_t size = sizeof(type);                                               \
        if (from_step == 0 && to_step == size) {                                         \
            const type value = *(const type *)(const void *)from;                        \
            for (int64_t i = 0; i < n; i++)                                              \
                ((type *)(void *)to)[i] = value;                                         \
        } else if (from_step == size && to_step == size) {                               \
            for (int64_t i = 0; i < n; i++)                                              \
                ((type *)(void *)to)[i] = ((const type *)(const void *)from)[i];         \
        } else {                                                                         \
            for (int64_t i = 0; i < n; i++)                                              \
                *(type *)(void *)(to + i * to_step) =                                    \
                    *(const type *)(const void *)(from + i * from_step);                 \
        }                                                                                \
    }
PITHP_MOVE_ROW(uint8_t)
PITHP_MOVE_ROW(uint16_t)
PITHP_MOVE_ROW(uint32_t)
PITHP_MOVE_ROW(uint64_t)

static inline void pithp_move_row(char *to,
                                  const char *from,
                                  int64_t to_step,
                                  int64_t from_step,
                                  int32_t size,
                                  int64_t n) {
    switch (size) {
        case 1:
            pithp_row_uint8_t(to, from, to_step, from_step, n);
            break;
        case 2:
            pithp_row_uint16_t(to, from, to_step, from_step, n);
            break;
        case 4:
            pithp_row_uint32_t(to, from, to_step, from_step, n);
            break;
        default:
            pithp_row_uint64_t(to, from, to_step, from_step, n);
    }
}

#undef PITHP_MOVE_ROW

#endif
