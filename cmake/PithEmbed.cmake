# pith_embed(target source symbol file...)
#
# Make a C source for `target` that defines `const char symbol[]`: the text of the files, one after the
# other, zero-terminated. It is made again if a file changes.
function(pith_embed target source symbol)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${source})
    set(files)
    foreach(file IN LISTS ARGN)
        get_filename_component(file ${file} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
        list(APPEND files ${file})
    endforeach()
    string(REPLACE ";" "," joined "${files}")
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D SYMBOL=${symbol} -D FILES=${joined}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        COMMENT "Embedding ${symbol}" VERBATIM)
    # the rule above is known only in this directory, so the object is made here
    add_library(${target}_${symbol} OBJECT ${output})
    target_link_libraries(${target}_${symbol} PRIVATE pith_warnings)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${symbol}>)
endfunction()
