"""Rows of growth.def: X(size, need, base, grown), with exact integers.

A capacity that is too small grows to floor(base ** k) for the smallest k >= 0 that suffices,
at most to 2 ** 63 - 1; with a base of 1 or less to the need. A base is the double written.
"""
import random

LARGEST = 2**63 - 1


def grown(size, need, base):
    if need <= size:
        return size
    if base <= 1:
        return need
    top, bottom = base.as_integer_ratio()
    shift = bottom.bit_length() - 1
    power = lambda k: top**k >> (shift * k)
    high = 1
    while power(high) < need:
        high *= 2
    low = -1  # power(low) < need <= power(high)
    while high - low > 1:
        k = (low + high) // 2
        low, high = (low, k) if power(k) >= need else (k, high)
    return min(power(high), LARGEST)


def needs():
    yield from range(-2, 41)
    for k in range(6, 63):
        yield from (2**k - 1, 2**k, 2**k + 1)
    yield from (100, 150, 1000, 1477, 1478, 15000, 52331, 52332, 52333, 10**18, LARGEST - 1, LARGEST)


def main():
    pick = random.Random(7)
    print("/* Written by growth.py: X(size, need, base, grown) */")
    rows = set()
    for base in (2.0, 1.5, 3.0, 10.0, 1.1, 1.0, 0.5, 0.0, -3.0, 7.25):
        for need in needs():
            rows.add((0, need, base))
    for base in (1.25, 1.75, 2.5, 1.01, 1.001, 4.0, 1e3, 1e18, 2.0**62, 2.0**63, 2.0**64, 1e300):
        for need in (1, 2, 3, 11, 12, 100, 1000, 52332, 2**31 + 1, 2**53 + 1, 2**62 + 1):
            rows.add((0, need, base))
    for _ in range(600):
        base = pick.choice([2.0, pick.uniform(1.02, 4.0)])
        size = int(2 ** pick.uniform(0, 40))
        rows.add((size, max(0, size + int(pick.choice([-1, 0, 1, pick.uniform(-5, 2 ** pick.uniform(1, 61))]))), base))
    for size, need, base in sorted(rows):
        print(f"X({size}, {need}, {base.hex()}, {grown(size, need, base)})")


main()
