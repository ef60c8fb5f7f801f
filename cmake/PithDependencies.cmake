# Libraries that pith uses, each found by pkg-config. A room links the ones it uses:
# target_link_libraries(pith PRIVATE PkgConfig::JANSSON).
# The installed package asks for the same ones (pith_pc_targets, pith_pc_requires).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# pith_need(PREFIX module oldest): PkgConfig::PREFIX.
macro(pith_need prefix module oldest)
    pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET ${module}>=${oldest})
    list(APPEND pith_pc_targets ${prefix}=${module})
    list(APPEND pith_pc_requires "${module} >= ${oldest}")
endmacro()

pith_need(JANSSON jansson 2.14)    # checkpoints: documents
pith_need(XXHASH libxxhash 0.8)    # checkpoints: checksums
pith_need(ZSTD libzstd 1.5)        # checkpoints: compressed leaves
pith_need(SLEEF sleef 3.5)         # vector maths on the host

list(JOIN pith_pc_targets " " pith_pc_targets)
list(JOIN pith_pc_requires ", " pith_pc_requires)
