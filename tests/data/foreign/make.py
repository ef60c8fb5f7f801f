"""Make the files of this folder: what NumPy, safetensors and h5py write (numpy 1.26 or later, safetensors 0.4, h5py 3.7)."""
import numpy as np, h5py, safetensors.numpy

arrays = {
    "plain": np.arange(6, dtype=np.int32).reshape(2, 3),
    "group/inner": np.array([0.1, -0.0, np.inf, np.nan]),
    "group/flags": np.array([True, False, True]),
    "half": np.array([1.5, -2], dtype=np.float16),
    "scalar": np.float64(1.5),
    "empty": np.zeros((0, 3), dtype=np.float32),
    "large": np.array([2**64 - 1, 1], dtype=np.uint64),
}
swapped = {"big": np.arange(4, dtype=">f8"), "short": np.array([[1, -2], [3, 4]], dtype=">i2")}
fortran = {"fortran": np.asfortranarray(np.arange(24, dtype=np.int64).reshape(2, 3, 4))}

np.savez_compressed("numpy.npz", **arrays, **swapped, **fortran)
np.savez("object.npz", x=np.array([None], dtype=object))
np.savez("complex.npz", x=np.array([1j]))
safetensors.numpy.save_file({k: np.asarray(v) for k, v in arrays.items()}, "python.safetensors", metadata={"by": "python"})
with h5py.File("h5py.h5", "w") as f:
    for name, value in {**arrays, **swapped, **fortran}.items():
        compressed = {"compression": "gzip", "chunks": True} if np.ndim(value) and np.size(value) else {}
        f.create_dataset(name, data=value, **compressed)
    f["link"] = h5py.SoftLink("/plain")
with h5py.File("text.h5", "w") as f:
    f["x"] = "text"
with h5py.File("external.h5", "w") as f:
    f.create_dataset("x", shape=(8,), dtype="u1", external=[("numpy.npz", 0, 8)])
with h5py.File("links.h5", "w") as f:
    f["a/soft"] = h5py.SoftLink("/b/x")
    f["a/external"] = h5py.ExternalLink("h5py.h5", "/plain")
    f["loop"] = h5py.SoftLink("/loop")
with h5py.File("shared.h5", "w") as f:
    f["a/x"] = np.arange(2, dtype=np.int8)
    f["b"] = f["a"]
    f["a/up"] = f["/"]

# Bools that are neither True nor False.
bools = np.array([0, 1, 2], dtype=np.uint8).view(bool)
np.savez_compressed("bools.npz", good=bools[:2], bad=bools)
with h5py.File("bools.h5", "w") as f:
    f["good"] = bools[:2]
    f["group/bad"] = bools
