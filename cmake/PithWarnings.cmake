# pith_warnings: warnings, sanitizers, and the floating-point contract of all translation units (no
# contraction: host and CUDA give the same bits).
add_library(pith_warnings INTERFACE)

set(pith_common_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wswitch-enum
    -Wvla -Wformat=2 -Wcast-align -Wdouble-promotion -Wpointer-arith -Wundef)
set(pith_c_warnings ${pith_common_warnings} -Wstrict-prototypes -Wmissing-prototypes)
set(pith_cxx_warnings ${pith_common_warnings})
set(pith_float_flags -ffp-contract=off -fno-math-errno -fno-trapping-math)

target_compile_options(pith_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${pith_c_warnings};${pith_float_flags}>"
    "$<$<COMPILE_LANGUAGE:CXX>:${pith_cxx_warnings};${pith_float_flags}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-Wall>")
# clang also reports sound code under these names: a (T *) of a checked char *, NAN (a float)
# given to double, Test(suite, name) with an empty ..., generated expressions without parentheses,
# and loops that only gcc vectorises.
target_compile_options(pith_warnings INTERFACE
    "$<$<C_COMPILER_ID:Clang>:$<$<COMPILE_LANGUAGE:C>:-Wno-cast-align;-Wno-double-promotion;-Wno-gnu-zero-variadic-macro-arguments;-Wno-bitwise-conditional-parentheses;-Wno-pass-failed>>")
if(PITH_WERROR)
    target_compile_options(pith_warnings INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>"
        "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>")
endif()
target_compile_definitions(pith_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:_GNU_SOURCE>" "$<$<CONFIG:Debug>:PITH_DEBUG=1>")

if(PITH_SANITIZE)
    # The added calls hide from gcc which paths set a variable; other builds still report it.
    target_compile_options(pith_warnings INTERFACE
        "$<$<C_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:C>:-Wno-maybe-uninitialized>>"
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${PITH_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
    target_link_options(pith_warnings INTERFACE -fsanitize=${PITH_SANITIZE})
endif()
