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

# The environment carries them, so that options may have quotes.
%.kernels.a: export PITH_MAKE_CC = $(CC)
%.kernels.a: export PITH_MAKE_CFLAGS = $(CFLAGS)
%.kernels.a: export PITH_MAKE_AR = $(AR)
%.kernels.a: export PITH_MAKE_NVCC = $(NVCC)
%.kernels.a: export PITH_MAKE_NVCCFLAGS = $(NVCCFLAGS)
%.kernels.a: %.h
	CC="$$PITH_MAKE_CC" CFLAGS="$$PITH_MAKE_CFLAGS" AR="$$PITH_MAKE_AR" \
		NVCC="$$PITH_MAKE_NVCC" NVCCFLAGS="$$PITH_MAKE_NVCCFLAGS" $(PITH) kernels \
		$(if $(PITH_REAL),--real $(PITH_REAL)) $(if $(PITH_KERNEL_CHECKED),--checked) -o $@ $<
