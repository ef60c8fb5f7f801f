/* The nodes of nodes.h in a second translation unit. */
#define OTHER_DISPUTED
#include "nodes.h"

const pith_type *atoms_type_elsewhere(void) {
    return Atoms_pith_type();
}
const pith_type *everything_type_elsewhere(void) {
    return Everything_pith_type();
}
const pith_type *disputed_type_elsewhere(void) {
    return Disputed_pith_type();
}
