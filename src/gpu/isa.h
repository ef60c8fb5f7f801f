#ifndef PITHP_ISA_H
#define PITHP_ISA_H

/* Instruction sets of host loops, in ascending order. */
typedef enum pithp_isa {
    PITHP_ISA_BASE,
    PITHP_ISA_V3,
    PITHP_ISA_V4,
    PITHP_ISA_COUNT
} pithp_isa;

#endif
