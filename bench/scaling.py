#!/usr/bin/env python3
"""bench/scaling.py: the step time of the melt on P GPUs, from constants that benches measured and from some that
none has (docs/internals/scaling-model.md). Prints the tables of that page. Seconds and bytes."""
import math

# Measured: the row and the conditions are in the page.
FLOOR, RATE = 190e-6, 2.8e8     # a step without atoms; atoms a second: melt on an H200
AGREE = 0.6e-6                  # one stage of a reduction of 64 bytes within a node: ranks/agree/step
MESSAGE, NODE = 0.9e-6, 3.5e9   # a message and bytes a second, each way, within a node: route/rows
# Assumed: nothing here has a network, or several GPUs.
HOP, WIRE = 2e-6, 25e9          # a message and bytes a second between nodes
COPY, BUS = 10e-6, 25e9         # between a GPU and its host: a copy, and bytes a second
DIRECT, LINK = 12e-6, 300e9     # between GPUs of a node, without the host
GPUS = 8                        # a node

REACH, DENSITY, ROW = 2.8, 0.8442, 24   # of the melt; bytes of a row of a halo
REBUILD, CHECK = 8, 10                  # steps between migrations; steps of a try


def halo(atoms, ranks, direct):
    """Three stages, of two messages each; each carries what the one before brought."""
    side, total = (atoms / DENSITY) ** (1 / 3), 0.0
    for stage, face in enumerate((side * side, (side + 2 * REACH) * side, (side + 2 * REACH) ** 2)):
        far = ranks > GPUS and (stage > 0 or ranks > GPUS**2)
        size = 2 * face * REACH * DENSITY * ROW
        if direct:
            total += DIRECT + (HOP if far else 0) + size / (WIRE if far else LINK)
        else:
            total += 2 * COPY + 2 * size / BUS + 2 * (HOP if far else MESSAGE) + size / (WIRE if far else NODE)
    return total


def step(atoms, ranks, direct):
    work = FLOOR + atoms / RATE
    if ranks == 1:
        return {"work": work, "halo": 0.0, "migration": 0.0, "agreement": 0.0, "imbalance": 0.0}
    near, far = math.log2(min(ranks, GPUS)), max(0.0, math.log2(ranks / GPUS))
    exchange = halo(atoms, ranks, direct)
    # the fullest of P boxes of a liquid, whose counts vary by sqrt(0.05 n)
    uneven = math.sqrt(2 * math.log(ranks)) * math.sqrt(0.05 * atoms) / RATE
    return {"work": work, "halo": exchange, "migration": 2 * exchange / REBUILD,
            "agreement": (near * AGREE + far * HOP) / CHECK, "imbalance": uneven}


def efficiency(atoms, ranks, direct):
    return sum(step(atoms, 1, direct).values()) / sum(step(atoms, ranks, direct).values())


def main():
    for direct in (False, True):
        print("\nthrough hosts" if not direct else "\nbetween GPUs")
        print("| atoms a GPU | P = 8 | 64 | 1,000 | 10,000 |\n|---|---|---|---|---|")
        for atoms in (1e5, 3e5, 1e6, 4e6):
            row = [f"{efficiency(atoms, ranks, direct):.2f}" for ranks in (8, 64, 1000, 10000)]
            print(f"| {atoms:.0e} |", " | ".join(row), "|")
        for atoms in (1e5, 1e6):
            print(f"{atoms:.0e} on 10,000, us:",
                  ", ".join(f"{k} {v * 1e6:.1f}" for k, v in step(atoms, 10000, direct).items()))


if __name__ == "__main__":
    main()
