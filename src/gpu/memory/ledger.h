/* Within gpu only: the ledger counts every buffer, for the device and for the instance
 * whose scope made it. */
#ifndef PITH_GPU_LEDGER_H
#define PITH_GPU_LEDGER_H

#include "gpu/gpu_internal.h"

/* What one instance holds. */
typedef struct pithp_account {
    atomic_flag locked; /* guards the rest; held for a few instructions */
    bool closed;        /* nobody will look at it again but its buffers */
    size_t owned;       /* bytes of its buffers in memory of the device's */
    size_t lent;        /* and in memory of the user's, which no cap counts */
    size_t peak;        /* the most that both ever were */
    size_t total;       /* bytes ever counted */
    size_t cap;         /* owned may not grow beyond it */
    int64_t buffers, peak_buffers, total_buffers;
    struct pithp_account *part_of; /* which counts the same buffers; NULL: none. Set
                                      before the account is used */
} pithp_account;

typedef enum pithp_charge {
    PITHP_CHARGED,
    PITHP_DEVICE_FULL, /* the device's total would be exceeded */
    PITHP_CAP_REACHED, /* the account's cap would be */
} pithp_charge;

/* Count a buffer, or nothing at all. Any thread. */
pithp_charge pithp_ledger_charge(pithp_device *d, pithp_account *a, size_t bytes);
void pithp_ledger_credit(pithp_device *d, pithp_account *a, size_t bytes);
/* The same for memory of the user's, which is always there. */
void pithp_ledger_lend(pithp_device *d, pithp_account *a, size_t bytes);
void pithp_ledger_unlend(pithp_device *d, pithp_account *a, size_t bytes);
/* Whether a charge would fail now. */
pithp_charge pithp_ledger_foresee(const pithp_device *d, pithp_account *a, size_t bytes);
/* Bytes that the device's total leaves. */
size_t pithp_ledger_left(const pithp_device *d);

/* A copy of an account at one moment. */
pithp_account pithp_account_read(pithp_account *a);
void pithp_account_set_cap(pithp_account *a, size_t cap);
void pithp_account_close(pithp_account *a);
/* Whether it is closed and counts nothing. */
bool pithp_account_is_done(pithp_account *a);

#endif
