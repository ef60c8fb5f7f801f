/**
 * @file
 * Part of <pith/kernel.h>: the macros that PITH_KERNEL and pith_launch consist of, for
 * each pass of <pith/kernel_types.h>.
 */
#ifndef PITH_KERNEL_MACROS_H
#define PITH_KERNEL_MACROS_H

#include <pith/kernel_types.h>

#define PITH_LAUNCH_(s, real, ...)               PITH_LAUNCH_SPLIT_(PITH_AT(s), real, __VA_ARGS__)
#define PITH_LAUNCH_SPLIT_(s, real, kernel, ...) kernel##_launch(s, real, __VA_ARGS__)

/* ---- Lists: each argument is role(...); a pasted prefix selects its expansion ---- */

#define PITH_COUNT_(...)                                                                 \
    PITH_COUNT_PICK_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,    \
                     11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PITH_COUNT_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u,  \
                         v, w, x, count, ...)                                            \
    count
#define PITH_EACH_(M, ...)      PITH_CAT_(PITH_EACH_, PITH_COUNT_(__VA_ARGS__))(M, __VA_ARGS__)
#define PITH_EACH_1(M, x)       M##x
#define PITH_EACH_2(M, x, ...)  M##x PITH_EACH_1(M, __VA_ARGS__)
#define PITH_EACH_3(M, x, ...)  M##x PITH_EACH_2(M, __VA_ARGS__)
#define PITH_EACH_4(M, x, ...)  M##x PITH_EACH_3(M, __VA_ARGS__)
#define PITH_EACH_5(M, x, ...)  M##x PITH_EACH_4(M, __VA_ARGS__)
#define PITH_EACH_6(M, x, ...)  M##x PITH_EACH_5(M, __VA_ARGS__)
#define PITH_EACH_7(M, x, ...)  M##x PITH_EACH_6(M, __VA_ARGS__)
#define PITH_EACH_8(M, x, ...)  M##x PITH_EACH_7(M, __VA_ARGS__)
#define PITH_EACH_9(M, x, ...)  M##x PITH_EACH_8(M, __VA_ARGS__)
#define PITH_EACH_10(M, x, ...) M##x PITH_EACH_9(M, __VA_ARGS__)
#define PITH_EACH_11(M, x, ...) M##x PITH_EACH_10(M, __VA_ARGS__)
#define PITH_EACH_12(M, x, ...) M##x PITH_EACH_11(M, __VA_ARGS__)
#define PITH_EACH_13(M, x, ...) M##x PITH_EACH_12(M, __VA_ARGS__)
#define PITH_EACH_14(M, x, ...) M##x PITH_EACH_13(M, __VA_ARGS__)
#define PITH_EACH_15(M, x, ...) M##x PITH_EACH_14(M, __VA_ARGS__)
#define PITH_EACH_16(M, x, ...) M##x PITH_EACH_15(M, __VA_ARGS__)
#define PITH_EACH_17(M, x, ...) M##x PITH_EACH_16(M, __VA_ARGS__)
#define PITH_EACH_18(M, x, ...) M##x PITH_EACH_17(M, __VA_ARGS__)
#define PITH_EACH_19(M, x, ...) M##x PITH_EACH_18(M, __VA_ARGS__)
#define PITH_EACH_20(M, x, ...) M##x PITH_EACH_19(M, __VA_ARGS__)
#define PITH_EACH_21(M, x, ...) M##x PITH_EACH_20(M, __VA_ARGS__)
#define PITH_EACH_22(M, x, ...) M##x PITH_EACH_21(M, __VA_ARGS__)
#define PITH_EACH_23(M, x, ...) M##x PITH_EACH_22(M, __VA_ARGS__)
#define PITH_EACH_24(M, x, ...) M##x PITH_EACH_23(M, __VA_ARGS__)

/* Members of the argument struct. */
#define PITH_FIELD_in(t, x, e)    const PITH_CTYPE_##t *x;
#define PITH_FIELD_out(t, x, ...) PITH_CTYPE_##t *x;
#define PITH_FIELD_inout(t, x, e) PITH_CTYPE_##t *x;
#define PITH_FIELD_value(t, x)    PITH_CTYPE_##t x;
#define PITH_FIELD_extent(x)      int64_t x;
#define PITH_FIELD_size(x)        int64_t x;

/* Strides of the arguments in a batch. */
#define PITH_STRIDE_in(t, x, e)    int64_t x;
#define PITH_STRIDE_out(t, x, ...) int64_t x;
#define PITH_STRIDE_inout(t, x, e) int64_t x;
#define PITH_STRIDE_value(t, x)    int64_t x;
#define PITH_STRIDE_extent(x)      int64_t x;
#define PITH_STRIDE_size(x)        int64_t x;

/* Parameters of the body; a size comes with its offset, which identifies it in a report.
 */
#define PITH_PARAM_in(t, x, e)    , PITH_UNUSED_ const PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_out(t, x, ...) , PITH_UNUSED_ PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_inout(t, x, e) , PITH_UNUSED_ PITH_CTYPE_##t *PITH_RESTRICT_ x
#define PITH_PARAM_value(t, x)    , PITH_UNUSED_ PITH_CTYPE_##t x
#define PITH_PARAM_extent(x)      PITH_PARAM_size(x)
#define PITH_PARAM_size(x)        , PITH_UNUSED_ int64_t x, PITH_UNUSED_ int pith_offset_##x##_

/* Arguments of a call of the body, from the struct args_ of type pith_args_. On the host
 * the library sets the addresses of an entry of a batch. */
#if PITH_KERNEL_PASS == PITH_PASS_CUDA
#    define PITH_AT_ENTRY_(x) (args_.x + entry_ * args_.pith_strides_.x)
#else
#    define PITH_AT_ENTRY_(x) args_.x
#endif
#define PITH_PASS_in(t, x, e)    , PITH_AT_ENTRY_(x)
#define PITH_PASS_out(t, x, ...) , PITH_AT_ENTRY_(x)
#define PITH_PASS_inout(t, x, e) , PITH_AT_ENTRY_(x)
#define PITH_PASS_value(t, x)    , args_.x
#define PITH_PASS_extent(x)      PITH_PASS_size(x)
#define PITH_PASS_size(x)        , args_.x, PITH_OFFSET_(pith_args_, x)

/* Rows of the table of arguments. */
#define PITH_ROW_(t, x, role, filled, extents, fill)                                     \
    {#x,                                                                                 \
     role,                                                                               \
     PITH_DTYPE_OF_##t,                                                                  \
     PITH_IS_REAL_##t,                                                                   \
     filled,                                                                             \
     PITH_OFFSET_(pith_args_, x),                                                        \
     extents,                                                                            \
     fill},
#define PITH_ROW_in(t, x, e) PITH_ROW_(t, x, PITH_ROLE_IN, false, e, 0)
#define PITH_ROW_out(t, x, ...)                                                          \
    PITH_CAT_(PITH_ROW_OUT_, PITH_COUNT_(__VA_ARGS__))(t, x, __VA_ARGS__)
#define PITH_ROW_OUT_1(t, x, e)       PITH_ROW_(t, x, PITH_ROLE_OUT, false, e, 0)
#define PITH_ROW_OUT_2(t, x, e, fill) PITH_ROW_(t, x, PITH_ROLE_OUT, true, e, fill)
#define PITH_ROW_inout(t, x, e)       PITH_ROW_(t, x, PITH_ROLE_INOUT, false, e, 0)
#define PITH_ROW_value(t, x)          PITH_ROW_(t, x, PITH_ROLE_VALUE, false, NULL, 0)
#define PITH_ROW_extent(x)            PITH_ROW_(i64, x, PITH_ROLE_EXTENT, false, NULL, 0)
#define PITH_ROW_size(x)              PITH_ROW_(i64, x, PITH_ROLE_SIZE, false, NULL, 0)

/* Parameters of the launch function. */
#define PITH_FORMAL_in(t, x, e) , const pith_array *x
#define PITH_FORMAL_out(t, x, ...)
#define PITH_FORMAL_inout(t, x, e) , const pith_array *x
#define PITH_FORMAL_value(t, x)    , PITH_CTYPE_##t x
#define PITH_FORMAL_extent(x)      , int64_t x
#define PITH_FORMAL_size(x)

/* Operands that it passes to pith_kernel_launch, one row per argument. */
#define PITH_OPERAND_ROW_in(t, x, e)    {x, 0, 0.0},
#define PITH_OPERAND_ROW_out(t, x, ...) {0, 0, 0.0},
#define PITH_OPERAND_ROW_inout(t, x, e) {x, 0, 0.0},
#define PITH_OPERAND_ROW_value(t, x)    PITH_OPERAND_##t(x),
#define PITH_OPERAND_ROW_extent(x)      PITH_INTEGER_OPERAND_(x),
#define PITH_OPERAND_ROW_size(x)        {0, 0, 0.0},

/* Members of its result, and their initialisation from the list of results. */
#define PITH_RESULT_in(t, x, e)
#define PITH_RESULT_out(t, x, ...) const pith_array *x;
#define PITH_RESULT_inout(t, x, e) const pith_array *x;
#define PITH_RESULT_value(t, x)
#define PITH_RESULT_extent(x)
#define PITH_RESULT_size(x)
#define PITH_TAKE_in(t, x, e)
#define PITH_TAKE_out(t, x, ...) result_.x = results_[taken_++];
#define PITH_TAKE_inout(t, x, e) result_.x = results_[taken_++];
#define PITH_TAKE_value(t, x)
#define PITH_TAKE_extent(x)
#define PITH_TAKE_size(x)

/* over(i, n) and over(i, n, j, m). */
#define PITH_OVER_PARAMS_over(...)                                                       \
    PITH_CAT_(PITH_OVER_PARAMS_, PITH_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define PITH_OVER_PARAMS_2(i, n)       PITH_UNUSED_ int64_t i
#define PITH_OVER_PARAMS_4(i, n, j, m) PITH_UNUSED_ int64_t i, PITH_UNUSED_ int64_t j
#define PITH_OVER_TEXT_over(...)                                                         \
    PITH_CAT_(PITH_OVER_TEXT_, PITH_COUNT_(__VA_ARGS__))(__VA_ARGS__)
#define PITH_OVER_TEXT_2(i, n)                                                           \
    { #n, NULL }
#define PITH_OVER_TEXT_4(i, n, j, m)                                                     \
    { #n, #m }
#define PITH_OVER_LOOP_over(...) PITH_CAT_(PITH_OVER_LOOP_, PITH_COUNT_(__VA_ARGS__))
#define PITH_OVER_LOOP_2(body, ...)                                                      \
    PITH_INDEPENDENT_ for (int64_t i_ = begin_; i_ < end_; i_++)                         \
        body(i_, i_, args_.pith_frame_.report __VA_ARGS__);
#define PITH_OVER_LOOP_4(body, ...)                                                      \
    for (int64_t p_ = begin_, stop_; p_ < end_; p_ = stop_) {                            \
        const int64_t m_ = args_.pith_frame_.m, i_ = p_ / m_, row_ = i_ * m_;            \
        stop_ = row_ + m_ < end_ ? row_ + m_ : end_;                                     \
        PITH_INDEPENDENT_ for (int64_t q_ = p_; q_ < stop_; q_++)                        \
            body(i_, q_ - row_, q_, args_.pith_frame_.report __VA_ARGS__);               \
    }
#define PITH_OVER_THREAD_over(...) PITH_CAT_(PITH_OVER_THREAD_, PITH_COUNT_(__VA_ARGS__))
#define PITH_OVER_THREAD_2(body, ...)                                                    \
    if (p_ < args_.pith_frame_.n)                                                        \
        body(p_, p_, args_.pith_frame_.report + entry_ __VA_ARGS__);
#define PITH_OVER_THREAD_4(body, ...)                                                    \
    const int64_t i_ = args_.pith_frame_.m > 0 ? p_ / args_.pith_frame_.m : 0;           \
    if (i_ < args_.pith_frame_.n && args_.pith_frame_.m > 0)                             \
        body(i_, p_ - i_ * args_.pith_frame_.m, p_,                                      \
             args_.pith_frame_.report + entry_ __VA_ARGS__);
/* The entry of a thread and its index there. The threads of a batch are the indices of
 * the first entry, then those of the second, and so on. */
#define PITH_FIND_ENTRY_                                                                 \
    const int64_t at_ = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;                  \
    const pith_kernel_frame *const frame_ = &args_.pith_frame_;                          \
    const int64_t each_ = frame_->n * frame_->m;                                         \
    const int64_t entry_ = frame_->entries && each_ ? at_ / each_ : 0;                   \
    const int64_t p_ = at_ - entry_ * each_;                                             \
    if (entry_ && entry_ >= frame_->entries)                                             \
        return;                                                                          \
    if (frame_->taken && !frame_->taken[entry_])                                         \
        return;

/* ---- The kernel ---- */

/* Last member of the argument struct of a checked kernel: element counts of the
 * arguments. */
#ifdef PITH_KERNEL_CHECKED
#    define PITH_COUNTS_FIELD_(...) int64_t pith_counts_[PITH_COUNT_(__VA_ARGS__)];
#    define PITH_COUNTS_OFFSET_     PITH_OFFSET_(pith_args_, pith_counts_)
#else
#    define PITH_COUNTS_FIELD_(...)
#    define PITH_COUNTS_OFFSET_ 0
#endif

#define PITH_KERNEL_1_(name, over_, ...)                                                 \
    typedef struct name##_args {                                                         \
        pith_kernel_frame pith_frame_;                                                   \
        PITH_EACH_(PITH_FIELD_, __VA_ARGS__)                                             \
        struct {                                                                         \
            PITH_EACH_(PITH_STRIDE_, __VA_ARGS__)                                        \
        } pith_strides_;                                                                 \
        PITH_COUNTS_FIELD_(__VA_ARGS__)                                                  \
    } name##_args;                                                                       \
    PITH_KERNEL_HEAD_(name, over_, __VA_ARGS__);                                         \
    PITH_KERNEL_SHELL_(name, over_, __VA_ARGS__)                                         \
    PITH_KERNEL_HEAD_(name, over_, __VA_ARGS__)

#define PITH_KERNEL_HEAD_(name, over_, ...)                                              \
    PITH_INLINE_ void name##_body(                                                       \
        PITH_OVER_PARAMS_##over_, PITH_UNUSED_ int64_t pith_index_,                      \
        PITH_UNUSED_ pith_report *pith_report_ PITH_EACH_(PITH_PARAM_, __VA_ARGS__))

/* Symbols shared by the passes of one kernel file; the real is part of their names. */
#define PITH_SYMBOL_(name, what) PITH_CAT3_(name, PITH_KERNEL_TAG_, what)
#define PITH_HIDDEN_             __attribute__((visibility("hidden")))
#define PITH_LOOP_DECLARATION_(symbol)                                                   \
    PITH_C_LINKAGE_ PITH_HIDDEN_ void symbol(const void *, int64_t, int64_t);
#define PITH_LOOP_DEFINITION_(symbol, name, over_, ...)                                  \
    PITH_LOOP_DECLARATION_(symbol)                                                       \
    void symbol(const void *given_, int64_t begin_, int64_t end_) {                      \
        typedef name##_args pith_args_;                                                  \
        const pith_args_ args_ = *(const pith_args_ *)given_;                            \
        PITH_OVER_LOOP_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))         \
    }
/* Host loop of a checked kernel: the library runs the loop over indices. */
#define PITH_LOOP_CHECKED_(symbol, at, variant, name, over_, ...)                        \
    PITH_LOOP_DECLARATION_(symbol)                                                       \
    PITH_VARIANT_DECLARATION_(variant)                                                   \
    static void at(const void *given_, int64_t p_) {                                     \
        typedef name##_args pith_args_;                                                  \
        const pith_args_ args_ = *(const pith_args_ *)given_;                            \
        enum { entry_ = 0 };                                                             \
        PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))       \
    }                                                                                    \
    void symbol(const void *given_, int64_t begin_, int64_t end_) {                      \
        (void)begin_;                                                                    \
        (void)end_;                                                                      \
        pith_kernel_run_checked(variant(), given_, at);                                  \
    }

#if PITH_KERNEL_PASS == PITH_PASS_DECLARE

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        typedef struct name##_result {                                                   \
            PITH_EACH_(PITH_RESULT_, __VA_ARGS__)                                        \
        } name##_result;                                                                 \
        PITH_BEGIN extern const pith_kernel name##_kernel;                               \
        PITH_END                                                                         \
        PITH_UNUSED_ static inline name##_result name##_launch(                          \
            pith_scope *s_, pith_dtype real_ PITH_EACH_(PITH_FORMAL_, __VA_ARGS__)) {    \
            const pith_operand operands_[] = {                                           \
                PITH_EACH_(PITH_OPERAND_ROW_, __VA_ARGS__)};                             \
            const pith_array *results_[PITH_KERNEL_MAX_ARGS] = {0};                      \
            name##_result result_;                                                       \
            int taken_ = 0;                                                              \
            pith_kernel_launch(s_, &name##_kernel, real_, operands_, results_);          \
            PITH_EACH_(PITH_TAKE_, __VA_ARGS__)                                          \
            return result_;                                                              \
        }

#elif PITH_KERNEL_PASS == PITH_PASS_V3

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _v3), name, over_, __VA_ARGS__)

#elif PITH_KERNEL_PASS == PITH_PASS_V4

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _v4), name, over_, __VA_ARGS__)

#elif PITH_KERNEL_PASS == PITH_PASS_CUDA

#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        extern "C" __global__ void PITH_SYMBOL_(name, _cuda)(name##_args args_) {        \
            typedef name##_args pith_args_;                                              \
            PITH_FIND_ENTRY_                                                             \
            PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))   \
        }                                                                                \
        extern "C" __global__ void PITH_SYMBOL_(name, _cuda_at)(                         \
            const name##_args *__restrict__ given_) {                                    \
            typedef name##_args pith_args_;                                              \
            const pith_args_ args_ = *given_;                                            \
            PITH_FIND_ENTRY_                                                             \
            PITH_OVER_THREAD_##over_(name##_body, PITH_EACH_(PITH_PASS_, __VA_ARGS__))   \
        }                                                                                \
        PITH_CUDA_ENTRY_(PITH_SYMBOL_(name, _cuda_entry), PITH_SYMBOL_(name, _cuda))     \
        PITH_CUDA_ENTRY_(PITH_SYMBOL_(name, _cuda_at_entry), PITH_SYMBOL_(name, _cuda_at))
#    ifdef __CUDACC_RTC__
#        define PITH_CUDA_ENTRY_(entry, kernel)
#    else
/* A driver handle, so that pith may launch a kernel of another library or program, whose
 * static CUDA runtime is another copy. NULL: *code_ is the error of that runtime. */
#        define PITH_CUDA_ENTRY_(entry, kernel)                                          \
            extern "C" PITH_HIDDEN_ const void *entry(int *code_);                       \
            const void *entry(int *code_) {                                              \
                static const void *known_;                                               \
                const void *handle_ = __atomic_load_n(&known_, __ATOMIC_RELAXED);        \
                cudaKernel_t found_;                                                     \
                if (!handle_ &&                                                          \
                    (*code_ = (int)cudaGetKernel(&found_, (const void *)kernel)) == 0) { \
                    handle_ = (const void *)found_;                                      \
                    __atomic_store_n(&known_, handle_, __ATOMIC_RELAXED);                \
                } else if (!handle_) {                                                   \
                    (void)cudaGetLastError();                                            \
                }                                                                        \
                return handle_;                                                          \
            }
#    endif

#else /* PITH_PASS_BASE */

#    ifdef PITH_KERNEL_WITH_X86
#        define PITH_X86_DECLARATIONS_(name)                                             \
            PITH_LOOP_DECLARATION_(PITH_SYMBOL_(name, _v3))                              \
            PITH_LOOP_DECLARATION_(PITH_SYMBOL_(name, _v4))
#        define PITH_X86_LOOPS_(name) PITH_SYMBOL_(name, _v3), PITH_SYMBOL_(name, _v4)
#    else
#        define PITH_X86_DECLARATIONS_(name)
#        define PITH_X86_LOOPS_(name) NULL, NULL
#    endif
#    ifdef PITH_KERNEL_WITH_CUDA
#        define PITH_CUDA_DECLARATION_(name)                                             \
            PITH_C_LINKAGE_ PITH_HIDDEN_ const void *PITH_SYMBOL_(name, _cuda_entry)(    \
                int *code);                                                              \
            PITH_C_LINKAGE_ PITH_HIDDEN_ const void *PITH_SYMBOL_(name, _cuda_at_entry)( \
                int *code);
#        define PITH_CUDA_REFERENCES_(name)                                              \
            PITH_SYMBOL_(name, _cuda_entry), PITH_SYMBOL_(name, _cuda_at_entry)
#    else
#        define PITH_CUDA_DECLARATION_(name)
#        define PITH_CUDA_REFERENCES_(name) NULL, NULL
#    endif
/* One pass of the reals also makes the object with the kernel's name. */
#    ifndef PITH_KERNEL_REALS
#        define PITH_KERNEL_OBJECT_(name)
#    else
#        if PITH_KERNEL_REALS == 0
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { name##_plain_variant, NULL, NULL }
#        elif PITH_KERNEL_REALS == 1
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, name##_f32_variant, NULL }
#        elif PITH_KERNEL_REALS == 2
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, NULL, name##_f64_variant }
#        else
#            define PITH_KERNEL_VARIANTS_(name)                                          \
                { NULL, name##_f32_variant, name##_f64_variant }
#        endif
#        define PITH_KERNEL_OBJECT_(name)                                                \
            PITH_VARIANT_DECLARATION_(name##_plain_variant)                              \
            PITH_VARIANT_DECLARATION_(name##_f32_variant)                                \
            PITH_VARIANT_DECLARATION_(name##_f64_variant)                                \
            PITH_C_LINKAGE_ const pith_kernel name##_kernel;                             \
            const pith_kernel name##_kernel = PITH_KERNEL_VARIANTS_(name);
#    endif
#    define PITH_VARIANT_DECLARATION_(symbol)                                            \
        PITH_C_LINKAGE_ PITH_HIDDEN_ const pith_kernel_variant *symbol(void);

#    ifdef PITH_KERNEL_CHECKED
#        define PITH_BASE_LOOP_(name, over_, ...)                                        \
            PITH_LOOP_CHECKED_(PITH_SYMBOL_(name, _base), PITH_SYMBOL_(name, _at),       \
                               PITH_SYMBOL_(name, _variant), name, over_, __VA_ARGS__)
#    else
#        define PITH_BASE_LOOP_(name, over_, ...)                                        \
            PITH_LOOP_DEFINITION_(PITH_SYMBOL_(name, _base), name, over_, __VA_ARGS__)
#    endif
#    define PITH_KERNEL_SHELL_(name, over_, ...)                                         \
        PITH_BASE_LOOP_(name, over_, __VA_ARGS__)                                        \
        PITH_X86_DECLARATIONS_(name)                                                     \
        PITH_CUDA_DECLARATION_(name)                                                     \
        PITH_VARIANT_DECLARATION_(PITH_SYMBOL_(name, _variant))                          \
        const pith_kernel_variant *PITH_SYMBOL_(name, _variant)(void) {                  \
            typedef name##_args pith_args_;                                              \
            static const pith_kernel_arg rows_[] = {PITH_EACH_(PITH_ROW_, __VA_ARGS__)}; \
            static const pith_kernel_variant variant_ = {                                \
                #name,                                                                   \
                __FILE__,                                                                \
                rows_,                                                                   \
                (int32_t)(sizeof rows_ / sizeof rows_[0]),                               \
                (int32_t)sizeof(pith_args_),                                             \
                PITH_OVER_TEXT_##over_,                                                  \
                {PITH_SYMBOL_(name, _base), PITH_X86_LOOPS_(name)},                      \
                PITH_CUDA_REFERENCES_(name),                                             \
                PITH_OFFSET_(pith_args_, pith_strides_),                                 \
                PITH_COUNTS_OFFSET_};                                                    \
            return &variant_;                                                            \
        }                                                                                \
        PITH_KERNEL_OBJECT_(name)
#endif

#endif
