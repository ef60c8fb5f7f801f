# pith_add_kernels(target file... [REAL f32 f64] [CHECKED ON|OFF])
#
# Compile kernel files (PITH_KERNEL, <pith/kernel.h>) into a target that links pith::pith:
# for the plain instruction set, on x86-64 also for x86-64-v3 and x86-64-v4 (pith chooses
# at run time), and by nvcc if the project has the CUDA language. With REAL the files
# are compiled once per dtype of their `real`; a launch chooses by its arrays.
#
# CHECKED makes checked kernels: an index out of range, an element of an out that is not
# written and an element that two indices write are errors. They run only on the host, on
# one thread, many times slower. The default is the variable PITH_KERNEL_CHECKED.
#
# The sources of the target include the same files to launch their kernels.

set(PITH_KERNEL_FLAGS -O3 -fopenmp-simd -ffp-contract=off -fno-math-errno -fno-trapping-math
    CACHE STRING "Options for the host passes of kernel files")
mark_as_advanced(PITH_KERNEL_FLAGS)

option(PITH_KERNEL_CHECKED "Make checked kernels where pith_add_kernels does not say" OFF)
# The compiler calls a function of <pith/kernel_checked.h> before each access to memory.
set(PITH_KERNEL_CHECKED_FLAGS -O1 -fopenmp-simd -fno-tree-vectorize -fno-tree-slp-vectorize
    -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-sanitize=address,thread -fsanitize=thread
    CACHE STRING "Options for the host pass of checked kernel files")
mark_as_advanced(PITH_KERNEL_CHECKED_FLAGS)

# In addition: copies of blocks remain calls, which are checked.
set(PITH_KERNEL_CHECKED_CALL_FLAGS -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset)
# For clang: no warning about bodies that do not vectorise. Without the second option, clang
# removes the call for a read if a write to the same element follows.
set(PITH_KERNEL_CLANG_FLAGS -Wno-pass-failed)
set(PITH_KERNEL_CHECKED_CLANG_FLAGS -mllvm -tsan-instrument-read-before-write)

# The passes over a kernel file: name, extension of the source, requirement (NONE, X86 or
# CUDA), whether checked builds have it, and its options. Host passes also have the options
# above; CUDA passes have only these. The first pass has no requirement; its source states
# which others are linked.
# CUDA: no C++ runtime is needed, so that a C compiler can link the program.
# `pith kernels` is made from this list (tools/pith).
set(PITH_KERNEL_PASSES
    "BASE c NONE checked"
    "V3 c X86 unchecked -march=x86-64-v3"
    "V4 c X86 unchecked -march=x86-64-v4 -mprefer-vector-width=512"
    "CUDA cu CUDA checked --fmad=false -Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics -Xcompiler=-fvisibility=hidden")

# Functions are visible in the whole project, variables only in this folder and below.
foreach(_pith_name CHECKED_CALL_FLAGS CLANG_FLAGS CHECKED_CLANG_FLAGS PASSES)
    set_property(GLOBAL PROPERTY PITH_KERNEL_${_pith_name} "${PITH_KERNEL_${_pith_name}}")
endforeach()
set_property(GLOBAL PROPERTY PITH_HAVE_CUDA "${PITH_HAVE_CUDA}")

# Requirements of passes that this project meets, as a list.
function(_pith_kernel_has target result)
    set(has NONE)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
        list(APPEND has X86)
    endif()
    get_property(have_cuda GLOBAL PROPERTY PITH_HAVE_CUDA)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT "C" IN_LIST languages)
        message(FATAL_ERROR "pith_add_kernels(${target}): kernels need the language C: project(... LANGUAGES C)")
    endif()
    if(have_cuda AND "CUDA" IN_LIST languages)
        list(APPEND has CUDA)
        if(NOT "CXX" IN_LIST languages)
            set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
        endif()
    endif()
    set(${result} ${has} PARENT_SCOPE)
endfunction()

# Options of one pass: a list.
function(_pith_kernel_options checked extension own result)
    set(options ${PITH_KERNEL_FLAGS})
    if(checked)
        get_property(more GLOBAL PROPERTY PITH_KERNEL_CHECKED_CALL_FLAGS)
        set(options ${PITH_KERNEL_CHECKED_FLAGS} ${more})
    endif()
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        get_property(more GLOBAL PROPERTY PITH_KERNEL_CLANG_FLAGS)
        list(APPEND options ${more})
        if(checked)
            get_property(more GLOBAL PROPERTY PITH_KERNEL_CHECKED_CLANG_FLAGS)
            list(APPEND options ${more})
        endif()
    endif()
    if(extension STREQUAL "cu")
        set(options)
    endif()
    set(${result} ${options} ${own} PARENT_SCOPE)
endfunction()

# Adds one pass over `file`: a source of a few lines that sets it up and includes the file.
function(_pith_kernel_pass target file pass extension options definitions)
    get_filename_component(directory ${file} DIRECTORY)
    get_filename_component(name ${file} NAME)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels/${target}/${name})
    file(RELATIVE_PATH from_here ${CMAKE_CURRENT_SOURCE_DIR} ${directory})
    if(from_here) # a target may have two files of the same name
        string(MD5 hash ${from_here})
        string(SUBSTRING ${hash} 0 8 hash)
        string(APPEND source .${hash})
    endif()
    set(text "/* Generated by pith_add_kernels: one pass over a kernel file. */\n")
    string(APPEND text "#define PITH_KERNEL_PASS PITH_PASS_${pass}\n")
    list(REMOVE_ITEM definitions "")
    foreach(definition IN LISTS definitions)
        string(APPEND text "#define ${definition}\n")
        if(definition MATCHES "^PITH_KERNEL_REAL (.*)$")
            string(APPEND source .${CMAKE_MATCH_1})
        endif()
    endforeach()
    string(APPEND text "#include \"${name}\"\n")
    string(TOLOWER ${pass} pass)
    string(APPEND source .${pass}.${extension})
    file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${source})
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES
        COMPILE_OPTIONS "${options}" INCLUDE_DIRECTORIES ${directory} OBJECT_DEPENDS ${file})
endfunction()

# All passes over `file`, once per dtype of real.
function(_pith_kernel_file target file checked reals)
    _pith_kernel_has(${target} has)
    get_property(rows GLOBAL PROPERTY PITH_KERNEL_PASSES)
    set(common)
    if(checked)
        set(common "PITH_KERNEL_CHECKED 1")
    endif()

    set(linked)
    set(passes)
    foreach(row IN LISTS rows)
        string(REPLACE " " ";" parts ${row})
        list(GET parts 2 needs)
        list(GET parts 3 builds)
        if(needs IN_LIST has AND NOT (checked AND builds STREQUAL "unchecked"))
            list(APPEND passes ${row})
            list(APPEND linked "PITH_KERNEL_WITH_${needs} 1")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES linked)
    list(REMOVE_ITEM linked "PITH_KERNEL_WITH_NONE 1")

    set(mask 0) # of the reals, for the first pass, which also defines the names of the kernels
    foreach(real IN LISTS reals)
        string(REPLACE "f32" 1 bit ${real})
        string(REPLACE "f64" 2 bit ${bit})
        math(EXPR mask "${mask} | ${bit}")
    endforeach()
    list(APPEND linked "PITH_KERNEL_REALS ${mask}")

    if(NOT reals)
        set(reals none)
    endif()
    foreach(real IN LISTS reals)
        set(definitions ${common})
        if(NOT real STREQUAL "none")
            list(APPEND definitions "PITH_KERNEL_REAL ${real}")
        endif()
        foreach(row IN LISTS passes)
            string(REPLACE " " ";" row ${row})
            list(POP_FRONT row pass extension needs builds)
            _pith_kernel_options("${checked}" ${extension} "${row}" options)
            set(told)
            if(needs STREQUAL "NONE")
                set(told ${linked})
                list(FILTER linked EXCLUDE REGEX PITH_KERNEL_REALS)
            endif()
            _pith_kernel_pass(${target} ${file} ${pass} ${extension} "${options}" "${definitions};${told}")
        endforeach()
    endforeach()
endfunction()

function(pith_add_kernels target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CHECKED" "REAL")
    if(arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "pith_add_kernels(${target}): ${arg_KEYWORDS_MISSING_VALUES} without a value; "
            "expected REAL f32, f64 or both, and CHECKED ON or OFF")
    endif()
    if(NOT DEFINED arg_CHECKED)
        set(arg_CHECKED ${PITH_KERNEL_CHECKED})
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "pith_add_kernels: there is no target ${target}")
    endif()
    if(NOT arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "pith_add_kernels(${target}): no kernel file given")
    endif()
    foreach(real IN LISTS arg_REAL)
        if(NOT real MATCHES "^f(32|64)$")
            message(FATAL_ERROR "pith_add_kernels(${target}): REAL takes f32 and f64, not ${real}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES arg_REAL)
    foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
        get_filename_component(file ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
        if(NOT EXISTS ${file})
            message(FATAL_ERROR "pith_add_kernels(${target}): ${file} does not exist")
        endif()
        _pith_kernel_file(${target} ${file} "${arg_CHECKED}" "${arg_REAL}")
    endforeach()
endfunction()
