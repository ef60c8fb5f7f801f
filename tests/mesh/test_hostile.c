/* Hostile programs over threads, on 2 to 4 ranks, with delays. */
#include "mesh/fake/jobs.h"

#include <stdlib.h>

#define CASE(name)                                                                       \
    Test(hostile, name) {                                                                \
        setenv("MESH_FOLDER", pt_files(), 1);                                            \
        for (int size = 2; size <= 4; size++)                                            \
            if (fake_takes(size, 4))                                                     \
                fake_case_passes(mesh_hostile_cases, #name, size, size == 3);            \
    }
CASE(calls_differ)
CASE(user_code_fails)
CASE(arguments_differ)
CASE(orders_of_axes_differ)
CASE(rows_are_wrong_in_one_column)
Test(hostile, checks_fail_often) {
    fake_case_passes(mesh_hostile_cases, "checks_fail_often", 2,
                     0); /* delays take long */
}
