# pith_add_kernels(target file.c [REAL f32 f64])
