# The plugin that binds an MPI, a library that libpith opens at run time. Used by this build, and by
# find_package(pith COMPONENTS mpi) for the MPI of a project.

# pith_mpi_plugin(name mpi sources): the target pith_mpi_<name>, libpith_mpi-<name>.so, over the target of an MPI.
# `sources` is the folder with mesh/mpi.
function(pith_mpi_plugin name mpi sources)
    set(target pith_mpi_${name})
    add_library(${target} MODULE ${sources}/mesh/mpi/keeper.c ${sources}/mesh/mpi/mailbox.c
        ${sources}/mesh/mpi/move.c ${sources}/mesh/mpi/node.c ${sources}/mesh/mpi/process.c ${sources}/mesh/mpi/transport.c)
    target_include_directories(${target} PRIVATE ${sources})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_link_libraries(${target} PRIVATE ${mpi} Threads::Threads)
    # MPI_STATUSES_IGNORE of MPICH is the address 1, for an array
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME pith_mpi-${name} LINKER_LANGUAGE C
        C_STANDARD 17 C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden)
endfunction()

# pith_mpi_name(variable): the name of the MPI that FindMPI has found: openmpi, mpich (and those with its
# ABI), or "" for another.
function(pith_mpi_name variable)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    set(CMAKE_REQUIRED_QUIET ON)
    foreach(row IN ITEMS openmpi=OPEN_MPI mpich=MPICH_VERSION mpich=I_MPI_VERSION)
        string(REPLACE "=" ";" row ${row})
        list(POP_FRONT row name)
        check_c_source_compiles(
            "#include <mpi.h>\n#ifndef ${row}\n#error\n#endif\nint main(void) { return 0; }" PITH_MPI_HAS_${row})
        if(PITH_MPI_HAS_${row})
            set(${variable} ${name} PARENT_SCOPE)
            return()
        endif()
    endforeach()
    set(${variable} "" PARENT_SCOPE)
endfunction()
