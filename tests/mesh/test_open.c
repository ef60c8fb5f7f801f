/* Opening meshes: one rank alone, names and sizes of axes, and launchers by their
 * variables. */
#include "base/launcher.h"
#include "gpu/cuda/decide.h"
#include "mesh/mesh_internal.h"
#include "pith_test.h"

#include <pith/mesh.h>

static pith_runtime *rt;
static pith_scope *s;

static void open_scope(void) {
    rt = pith_open(&(pith_open_options){.device = "host", .threads = 1});
    s = pith_scope_open(rt);
}

static void close_scope(void) {
    pith_scope_close(s);
    pith_close(rt);
}

TestSuite(mesh, .init = open_scope, .fini = close_scope);

Test(mesh, one_rank_without_a_launcher) {
    const pith_mesh *mesh = pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"y", 1}), NULL);
    pt_ok(s, mesh);
    const pith_mesh_info info = pith_mesh_about(mesh);
    cr_assert(info.rank == 0 && info.size == 1 && info.node_size == 1 && info.nodes == 1);
    cr_assert_str_eq(info.transport, "self");
    cr_assert_str_eq(info.library, "");
    cr_assert_str_eq(info.device, "host");
    cr_assert(pith_axis_size(s, NULL) == 1 && pith_axis_rank(s, "y,x") == 0);
    pt_ok(s, pith_agree(s));
}

/* No library is opened for one rank: the objects of the process stay. */
Test(mesh, one_rank_opens_nothing) {
    char line[4096];
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_ok(s, pith_agree(s));
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps))
        cr_assert(!strstr(line, "libmpi") && !strstr(line, "pith_mpi"), "%s", line);
    fclose(maps);
}

Test(mesh, equal_meshes_are_one) {
    const pith_mesh *mesh = pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL);
    pith_scope *child = pith_scope_open_in(s), *other = pith_scope_open(rt);
    cr_assert(pith_mesh_of(s) == mesh && pith_mesh_of(child) == mesh);
    cr_assert_null(pith_mesh_of(other));
    cr_assert(pith_mesh_open(other, PITH_MESH_AXES({"x", 1}), NULL) == mesh);
    cr_assert(pith_mesh_open(child, PITH_MESH_AXES({"z", 1}), NULL) != mesh);
    cr_assert(pith_mesh_of(child) != mesh && pith_mesh_of(s) == mesh);
    pith_scope_close(other);
    pith_scope_close(child);
    cr_assert_null(pith_mesh_of(NULL));
}

Test(mesh, refuses_axes) {
    const pith_mesh_options none = {0};
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, NULL, &none));
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"2x", 0}), NULL));
    pt_says("pith_mesh_open: axis 0 is \"2x\", expected a name as in C");
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"x", 1}), NULL));
    pt_says("two axes are named x");
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", -1}), NULL));
    pt_says("axis x has size -1, expected a number of ranks, or 0 to have it chosen");
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 2}, {"y", 3}), NULL));
    pt_says("the sizes x=2, y=3 give 6, but there is 1 rank");
    pt_fails(PITH_E_ARG, s,
             pith_mesh_open(s, PITH_MESH_AXES({"x", INT64_MAX}, {"y", 4}), NULL));
    pt_says(" give at least 9223372036854775807, but there is 1 rank");
    cr_assert_null(pith_mesh_of(s));
    pt_fails(PITH_E_ARG, s, pith_agree(s));
    pt_says("pith_agree: the scope has no mesh: call pith_mesh_open");
    pt_fails(PITH_E_ARG, s, pith_axis_size(s, "x"));
}

Test(mesh, refuses_names_of_axes) {
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}, {"y", 0}), NULL));
    pt_fails(PITH_E_ARG, s, pith_axis_size(s, "z"));
    pt_says("pith_axis_size: axes \"z\": no such axis; the mesh has x, y");
    pt_fails(PITH_E_ARG, s, pith_axis_size(s, "x,x"));
    pt_fails(PITH_E_ARG, s, pith_axis_size(s, ""));
    pt_fails(PITH_E_ARG, s, pith_axis_size(s, "x,"));
    cr_assert(pith_axis_rank(s, "q") == -1);
    pith_clear(s);
}

Test(mesh, refuses_options) {
    const pith_mesh_options tcp = {.transport = "tcp"};
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), &tcp));
    pt_says("transport is \"tcp\", expected mpi or self");
    setenv("PITH_MESH", "ring", 1);
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_says("PITH_MESH is \"ring\"");
    const pith_mesh_options self = {.transport = "self", .timeout = 5};
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), &self));
    pt_says("PITH_MESH is \"ring\"");
    unsetenv("PITH_MESH");
    setenv("PITH_MESH_TIMEOUT", "soon", 1);
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_says("PITH_MESH_TIMEOUT is \"soon\"");
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), &self));
    pt_says("PITH_MESH_TIMEOUT is \"soon\"");
    unsetenv("PITH_MESH_TIMEOUT");
    setenv("PITH_MPI", "libpith_mpi-mpich.so", 1);
    pt_fails(PITH_E_ARG, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_says("PITH_MPI is \"libpith_mpi-mpich.so\", expected a name such as openmpi");
    unsetenv("PITH_MPI");
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
}

/* ---- Launchers ---- */

/* Never N silent single runs. */
Test(mesh, launcher_without_a_plugin) {
    setenv("FLUX_JOB_SIZE", "3", 1);
    setenv("FLUX_TASK_RANK", "1", 1);
    setenv("PITH_MPI", "nonesuch", 1);
    pt_fails(PITH_E_UNSUPPORTED, s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), NULL));
    pt_says(
        "flux started 3 processes (FLUX_JOB_SIZE), but there is no plugin for its MPI: ");
    cr_assert(strstr(pt_error.message, "libpith_mpi-nonesuch.so"), "%s",
              pt_error.message);
    /* asked for, this process is alone */
    const pith_mesh_options self = {.transport = "self"};
    pt_ok(s, pith_mesh_open(s, PITH_MESH_AXES({"x", 0}), &self));
}

static void set_all(const char *const (*pairs)[2]) {
    for (int i = 0; pairs[i][0]; i++)
        setenv(pairs[i][0], pairs[i][1], 1);
}

Test(mesh, knows_launchers) {
    cr_assert_null(pithp_job_about().launcher);
    set_all(
        (const char *const[][2]){{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {NULL}});
    cr_assert_null(pithp_job_about().launcher, "a batch script is one process");
    set_all((const char *const[][2]){{"SLURM_STEP_NUM_TASKS", "8"},
                                     {"SLURM_PROCID", "5"},
                                     {"SLURM_LOCALID", "1"},
                                     {NULL}});
    pithp_job job = pithp_job_about();
    cr_assert(job.size == 8 && job.rank == 5 && job.local_rank == 1 &&
              job.local_size == -1);
    cr_assert_null(job.mpi);
    set_all((const char *const[][2]){{"PMI_SIZE", "4"},
                                     {"PMI_RANK", "2"},
                                     {"MPI_LOCALRANKID", "2"},
                                     {"MPI_LOCALNRANKS", "4"},
                                     {NULL}});
    job = pithp_job_about();
    cr_assert(job.size == 4 && job.rank == 2 && job.local_size == 4);
    cr_assert_str_eq(job.mpi, "mpich");
    set_all((const char *const[][2]){
        {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}, {NULL}});
    cr_assert_str_eq(pithp_job_about().mpi, "openmpi");
}

Test(mesh, shares_cores_and_devices) {
    const pithp_job alone = {.local_size = -1};
    const pithp_job eight = {.launcher = "a launcher", .local_size = 8, .local_rank = 3};
    cr_assert(pithp_job_threads(&alone, 16, 16) == 16);
    cr_assert(pithp_job_threads(&eight, 16, 16) == 2, "one mask for all");
    cr_assert(pithp_job_threads(&eight, 2, 16) == 2, "a mask for each");
    cr_assert(pithp_job_threads(&eight, 8, 16) == 2, "a socket for four");
    cr_assert(pithp_job_threads(&eight, 2, 2) == 1, "more ranks than cores");
    const pithp_cuda_machine one = {.devices = 1}, four = {.devices = 4};
    cr_assert(pithp_cuda_ordinal(&one, 3) == 0, "the launcher shows one");
    cr_assert(pithp_cuda_ordinal(&four, 3) == 3);
    cr_assert(pithp_cuda_ordinal(&four, 5) == 1, "refused when the mesh opens");
    cr_assert(pithp_cuda_ordinal(&four, -1) == 0);
}
