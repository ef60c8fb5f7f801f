"""Write angles.def: for every exponent of f64 the numbers that lie nearest to multiples of pi/2, where sin, cos and
tan need the most digits of pi. They are found by the continued fraction of the numbers' spacing over pi/2: a
denominator of it times that spacing is nearer to a multiple of pi/2 than any smaller number is.

    python3 angles.py > angles.def
"""

from fractions import Fraction
from math import ldexp

DIGITS = 3000  # bits of pi


def arctan_inverse(n):
    """arctan(1 / n) in units of 2**-DIGITS."""
    term = total = (1 << DIGITS) // n
    k = 1
    while term:
        term //= -n * n
        k += 2
        total += term // k
    return total


HALF_PI = Fraction(2 * (4 * arctan_inverse(5) - arctan_inverse(239)), 1 << DIGITS)


def denominators(x, most):
    """Of the convergents of x, up to `most`."""
    before, now = 1, 0
    while True:
        whole = x.numerator // x.denominator
        before, now = now, whole * now + before
        if now > most:
            return
        yield now
        x = 1 / (x - whole)


def hardest(exponent, count):
    """The `count` numbers of 53 bits and that exponent that lie nearest to multiples of pi/2."""
    turns = (Fraction(2) ** (exponent - 52)) / HALF_PI
    found = {}
    for q in denominators(turns, 2**53 - 1):
        for multiple in {-(-(2**52) // q), (2**53 - 1) // q}:
            m = multiple * q
            if 2**52 <= m < 2**53:
                found[m] = abs(m * turns - round(m * turns))
    return sorted(found, key=found.get)[:count]


if __name__ == "__main__":
    print("/* Numbers next to multiples of pi/2, made by angles.py. */")
    for exponent in range(1, 1024):
        for m in hardest(exponent, 4 if exponent < 60 else 1):
            print(f"{ldexp(m, exponent - 52).hex()},")
