// The nodes of nodes.h in CUDA: compiled by nvcc, run on the host.
#include "nodes_cxx.cc"

#include <pith/runtime.h>

__global__ void twice(double *x, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        x[i] *= 2;
}

int main() {
    pith_open_options options;
    options.device = "host";
    pith_runtime *rt = pith_open(&options);
    pith_scope *s = pith_scope_open(rt);
    const void *tree = tree_in_cxx(s);
    const Everything *e = static_cast<const Everything *>(pith_child(tree, 0));
    const bool good = !pith_failed(s) && pith_is(Everything, e) && e->cutoff > 2.5 &&
                      strcmp(e->config->method, "from C++") == 0 &&
                      pith_array_spec(e->atoms->position)->shape[0] == 5;
    printf("%s\n", good ? "good" : pith_message(s));
    pith_scope_close(s);
    pith_close(rt);
    return good ? 0 : 1;
}
