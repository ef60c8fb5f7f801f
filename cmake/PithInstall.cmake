# cmake --install: headers, both libraries, the CMake package, the pkg-config file and the licence.
# The package's pith::pith is the kind of library that BUILD_SHARED_LIBS chose here;
# find_package(pith COMPONENTS static) or shared asks for one.
include(CMakePackageConfigHelpers)

set(pith_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pith)
set(pith_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS pith EXPORT pith-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS pith_shared EXPORT pith-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(kind static shared)
    install(EXPORT pith-${kind} NAMESPACE pith:: DESTINATION ${pith_cmake_dir} FILE pith-${kind}.cmake)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(BUILD_SHARED_LIBS)
    set(pith_default_kind shared)
else()
    set(pith_default_kind static)
endif()
file(RELATIVE_PATH pith_include_from_cmake /prefix/${pith_cmake_dir} /prefix/${CMAKE_INSTALL_INCLUDEDIR})
set(pith_sources ${CMAKE_INSTALL_DATADIR}/pith/src)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pithConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/pithConfig.cmake INSTALL_DESTINATION ${pith_cmake_dir} PATH_VARS pith_sources)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/pithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/package/pithConfig.cmake
    ${PROJECT_BINARY_DIR}/package/pithConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/PithKernels.cmake
    ${PROJECT_SOURCE_DIR}/cmake/PithMpi.cmake
    DESTINATION ${pith_cmake_dir})

install(FILES ${PROJECT_SOURCE_DIR}/cmake/pith.mk DESTINATION ${CMAKE_INSTALL_DATADIR}/pith)

# Paths in the file are relative to it, so an installation can be moved.
set(pith_cuda_libs "")
if(PITH_HAVE_CUDA)
    set(pith_cuda_libs "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
endif()
file(RELATIVE_PATH pith_prefix_from_pc /prefix/${pith_pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" pith_prefix_from_pc "${pith_prefix_from_pc}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/pith.pc.in ${PROJECT_BINARY_DIR}/package/pith.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/pith.pc DESTINATION ${pith_pkgconfig_dir})
