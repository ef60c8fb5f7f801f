# The libraries pith stands on, each by pkg-config. A room links what it uses:
# target_link_libraries(pith PRIVATE PkgConfig::JANSSON). pithConfig.cmake.in finds the same ones.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.14)   # checkpoints: documents
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8)   # checkpoints: checksums
pkg_check_modules(SLEEF REQUIRED IMPORTED_TARGET sleef>=3.5)        # vector maths on the host
