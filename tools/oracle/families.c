/* Tables of operations by family. */
#include "oracle.h"

#include <string.h>

static const struct {
    const char *family;
    const oracle_row *rows;
} tables[] = {
    {"elementwise", oracle_elementwise},
    {"transcendental", oracle_elementwise},
    {"cast", oracle_cast},
    {"index", oracle_index},
    {"random", oracle_random},
    {"reduce", oracle_reduce},
    {"shape", oracle_shape},
    {"order", oracle_order},
    {"tree", oracle_tree},
    {"product", oracle_product},
    {"identities", oracle_reduce},
    {"identities", oracle_order},
    {"identities", oracle_index},
    {"identities", oracle_product},
    {"autodiff", oracle_derive_elementwise},
    {"autodiff", oracle_derive_arrays},
    {"autodiff", oracle_derive_loops},
    {"autodiff", oracle_derive_energies},
    {"batch", oracle_batches},
    {"batch", oracle_vectorized},
};

/* Families not implemented yet, and the missing feature. */
static const struct {
    const char *family, *what;
} absent[] = {
    {"mesh", "functions over several devices"},
};

const char *oracle_absent(const char *family) {
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (!strcmp(absent[i].family, family))
            return absent[i].what;
    return NULL;
}

const oracle_row *oracle_find(const char *family, const char *op) {
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].family, family))
            for (const oracle_row *row = tables[i].rows; row->op; row++)
                if (!strcmp(row->op, op))
                    return row;
    return NULL;
}
