# pith_warnings: the warning set of the project, its sanitizers and what every translation unit needs.
add_library(pith_warnings INTERFACE)
target_compile_options(pith_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes;-Wswitch-enum;-Wvla;-Wformat=2;-Wcast-align;-Wdouble-promotion;-Wpointer-arith;-Wundef>"
    "$<$<COMPILE_LANGUAGE:C>:-ffp-contract=off;-fno-math-errno;-fno-trapping-math>")
if(PITH_WERROR)
    target_compile_options(pith_warnings INTERFACE "$<$<COMPILE_LANGUAGE:C>:-Werror>")
endif()
target_compile_definitions(pith_warnings INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>" "$<$<CONFIG:Debug>:PITH_DEBUG=1>")
if(PITH_SANITIZE)
    target_compile_options(pith_warnings INTERFACE
        "$<$<COMPILE_LANGUAGE:C>:-fsanitize=${PITH_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
    target_link_options(pith_warnings INTERFACE -fsanitize=${PITH_SANITIZE})
endif()
