"""Threefry and the draws that follow from it, in NumPy: the second judge of the family random."""
import math

import numpy as np

from common import LAYOUT, NP

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def key_of(seed):
    return np.array([(seed >> 32) & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)


def block(key, x0, x1):
    """Threefry-2x32 with 20 rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3)."""
    x0, x1 = np.asarray(x0, np.uint32).copy(), np.asarray(x1, np.uint32).copy()
    k0, k1 = np.uint32(key[0]), np.uint32(key[1])
    ks = [k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA)]
    x0 += ks[0]
    x1 += ks[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 += x1
            x1 = (x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))
            x1 ^= x0
        x0 += ks[(i + 1) % 3]
        x1 += ks[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def words(key, n):
    """n words of the original scheme: one iota, cut into two halves."""
    c = np.arange(n + n % 2, dtype=np.uint32)
    if n % 2:
        c[-1] = 0
    return np.concatenate(block(key, c[:len(c) // 2], c[len(c) // 2:]))[:n]


def split(key, shape, part):
    n = math.prod(shape)
    if part:
        return np.stack(block(key, np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)), -1).reshape(*shape, 2)
    return words(key, 2 * n).reshape(*shape, 2)


def bits(key, d, shape, part):
    n, w = math.prod(shape), NP[d].itemsize * 8
    if part:
        a, b = block(key, np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32))
        out = (a.astype(np.uint64) << np.uint64(32)) | b if w == 64 else a ^ b
    elif w == 64:
        v = words(key, 2 * n).astype(np.uint64)
        out = (v[:n] << np.uint64(32)) | v[n:]
    else:
        v = words(key, -(-n * w // 32))
        out = np.stack([(v >> np.uint32(w * i)) for i in range(32 // w)], -1).ravel()[:n]
    return out.astype(NP[d]).reshape(shape)


def uniform(key, d, shape, part):
    mantissa = LAYOUT[d][0] - 1
    w = 8 if d == "bf16" else NP[d].itemsize * 8
    b = bits(key, f"u{w}", shape, part).astype(np.uint64) >> np.uint64(w - mantissa)
    return (b.astype(np.float64) / 2.0**mantissa).astype(NP[d])


def randint(key, low, high, d, shape, part):
    w = max(NP[d].itemsize * 8, 32)
    k1, k2 = split(key, (2,), part)
    span = 1 if high <= low else (high - low) % 2**w or 2**w
    m = (2**(w // 2) % span)**2 % 2**w % span
    a, b = (bits(k, f"u{w}", shape, part).ravel() for k in (k1, k2))
    v = [((int(x) % span) * m + int(y) % span) % 2**w % span + low for x, y in zip(a, b)]
    t = np.iinfo(NP[d])
    return np.array([(i - t.min) % 2**t.bits + t.min for i in v], NP[d]).reshape(shape)


def permutation(key, n, part):
    x = np.arange(n)
    for _ in range(int(np.ceil(3 * np.log(max(1, n)) / np.log(2**32 - 1)))):
        key, sub = split(key, (2,), part)
        x = x[np.argsort(bits(sub, "u32", (n,), part), stable=True)]
    return x.astype(np.int64)
