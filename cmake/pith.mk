# Kernels in a Makefile:
#
#     include $(shell pkg-config --variable=datadir pith)/pith/pith.mk
#     PITH_REAL = f32,f64
#     program: main.o kernels.kernels.a
#
# makes kernels.kernels.a from kernels.h by `pith kernels`, with CC, CFLAGS, AR, NVCC and
# NVCCFLAGS of the Makefile. PITH is the command; PITH_REAL the dtypes of real, if the file
# has one; PITH_KERNEL_CHECKED, not empty, asks for a checked build.
PITH ?= pith

%.kernels.a: %.h
	CC='$(CC)' CFLAGS='$(CFLAGS)' AR='$(AR)' NVCC='$(NVCC)' NVCCFLAGS='$(NVCCFLAGS)' $(PITH) kernels \
		$(if $(PITH_REAL),--real $(PITH_REAL)) $(if $(PITH_KERNEL_CHECKED),--checked) -o $@ $<
