"""Arguments of transcendental functions: wide ranges, usual ones, neighbourhoods of special points, and hard ones."""
import functools

import mpmath as mp
import numpy as np

from common import LAYOUT, NP

LN2 = float(np.log(2))


@functools.cache
def reduction_worst(d):
    """Numbers of dtype d nearest to multiples of pi/2 for each exponent, from continued fractions."""
    digits, _, top = LAYOUT[d]
    found = []
    with mp.workprec(3000):
        for e in range(-digits, top - digits + 2):
            p0, q0, p1, q1, y = 0, 1, 1, 0, mp.mpf(2)**e / (mp.pi / 2)
            for _ in range(400):
                a = int(mp.floor(y))
                p0, q0, p1, q1 = p1, q1, a * p1 + p0, a * q1 + q0
                if q1 >= 2**digits:
                    break
                if q1 >= 2**(digits - 8) and p1 > 0:
                    found.append(float(q1) * 2.0**e)
                y = 1 / (y - a)
    return np.array(sorted(set(found)))


def named(wide, usual, near, hard):
    return {"wide": wide, "usual": usual, "near": near, "hard": hard}


class Inputs:
    """One method per function: its arguments by group, f64 arrays or pairs of them, drawn from the generator g."""

    def __init__(self, d, g):
        self.d, self.g, self.f64 = d, g, d == "f64"
        self.digits, self.least, self.top = LAYOUT[d]
        self.normal = self.least + self.digits - 1  # exponent of the least normal value
        f = np.finfo(NP[d])
        self.big, self.tiny, self.min_normal = float(f.max), float(f.smallest_subnormal), float(f.tiny)
        # Where exp overflows, becomes subnormal, and becomes zero.
        self.over, self.under, self.gone = (self.top + 1) * LN2, self.normal * LN2, (self.least - 1) * LN2

    def logu(self, n, e0, e1, signs=(1, -1)):
        """Logarithmically uniform values."""
        return self.g.choice(signs, n) * 2.0**self.g.uniform(e0, e1, n)

    def around(self, points, n, spread=True):
        """Values near the points: up to 4 ulp away, or (spread) at relative distances 2**-k."""
        g, kind = self.g, NP[self.d]
        p = np.asarray(points, np.float64)[g.integers(0, len(points), n)].astype(kind)
        steps = g.integers(-4, 5, n)
        out = p.copy()
        for i in range(n):
            if spread and g.integers(0, 2):
                away = g.choice([1, -1]) * (abs(float(p[i])) or 1.0) * 2.0**-g.uniform(1, self.digits + 1)
                out[i] = kind.type(float(p[i]) + away)
            else:
                for _ in range(abs(int(steps[i]))):
                    out[i] = np.nextafter(out[i], kind.type(np.inf if steps[i] > 0 else -np.inf))
        return out.astype(np.float64)

    # ---- Exponentials ----

    def grow(self, top, bottom, gone, kinks):
        """Functions that overflow above `top`, lose precision below `bottom` and vanish below `gone`."""
        g = self.g
        return named(np.clip(self.logu(750, -30, np.log2(max(top, -gone))), gone - 1, top + 1), g.uniform(-20, 20, 500),
                     self.around(kinks, 500),
                     np.concatenate([g.uniform(gone - 0.5, bottom, 90), self.around([top, bottom, gone], 100, False),
                                     g.uniform(top - 1, top, 60)]))

    def exp(self):
        turns = (-50, -3, -1, -0.5, 0.5, 1, 2, 7, 100 if self.f64 else 60)
        return self.grow(self.over, self.under, self.gone, [0.0, 1.0, -1.0] + [k * LN2 for k in turns])

    def exp2(self):
        return self.grow(self.top + 1, self.normal, self.least - 1, [0.0] + [k / 2 for k in range(-20, 21)])

    def expm1(self):
        return self.grow(self.over, -self.digits * LN2, -(self.digits + 2) * LN2,
                         [0.0] * 5 + [1.0, -1.0, LN2, -LN2, LN2 / 2, -0.25, -30.0])

    def sinh(self):
        return self.grow(self.over + LN2, -self.over, -self.over - LN2, [0.0] * 5 + [1.0, -1.0, 22.0, -0.3])

    def cosh(self):
        return self.grow(self.over + LN2, -self.over, -self.over - LN2, [0.0] * 3 + [1.0, -1.0, 22.0, 0.3])

    def tanh(self):
        g = self.g
        return named(self.logu(750, -40, 5), g.uniform(-3, 3, 500),
                     self.around([0.0] * 4 + [0.5, 0.55, -0.625, 1, 9, -19, 22], 500),
                     np.concatenate([g.uniform(-40, 40, 90), self.logu(80, self.least, self.normal),
                                     self.logu(80, self.normal, -40)]))

    def logistic(self):
        g = self.g
        return named(self.logu(750, -30, np.log2(-self.under)), g.uniform(-10, 10, 500),
                     self.around([0.0, 1, -1, 17, -17, 37, -37], 500),
                     np.concatenate([g.uniform(self.gone, self.under, 125), g.uniform(self.under, -30, 125)]))

    # ---- Functions of all magnitudes ----

    def everywhere(self, points, signs=(1, -1)):
        big, tiny, normal = self.big, self.tiny, self.min_normal
        limits = [big, -big, tiny, -tiny, normal, -normal, normal - tiny, tiny - normal, 2.0**(self.digits - 1),
                  2.0**self.digits, 1.0, -1.0, 0.5, 2.0]
        limits = [p for p in limits if p > 0 or -1 in signs]
        return named(self.logu(750, self.normal, self.top + 0.99, signs),
                     self.g.choice(signs, 500) * self.g.uniform(0, 10, 500), self.around(points, 500),
                     np.concatenate([self.logu(120, self.least, self.normal, signs), self.around(limits, 130, False)]))

    def log(self):
        return self.everywhere([1.0] * 6 + [0.5, 2, np.e, 1 / np.e, 4 / 3, 0.70703125], (1,))

    def log2(self):
        return self.everywhere([1.0] * 6 + [2.0**k for k in range(-30, 31, 3)], (1,))

    def log10(self):
        return self.everywhere([1.0] * 6 + [10.0**k for k in range(-20, 21, 2)], (1,))

    def log1p(self):
        wide = np.concatenate([self.logu(450, -60, -1e-3), self.logu(300, 0, self.top, (1,))])
        return named(wide, self.g.uniform(-1, 10, 500), self.around([0.0] * 5 + [-0.5, 1.0, -0.3, 0.4], 500),
                     np.concatenate([-1 + np.arange(1, 91) * 2.0**-self.digits, self.logu(80, self.least, self.normal),
                                     self.logu(80, self.normal, -60)]))

    def atan(self):
        return self.everywhere([0.0, 1, -1, 3**0.5, 3**-0.5, 0.4375, 0.6875, 2.4375, 1.1875])

    def asinh(self):
        return self.everywhere([0.0] * 4 + [1, -1, 0.5, 2, 2.0**28])

    def cbrt(self):
        return self.everywhere([float(k**3) for k in range(-9, 10) if k] + [2.0**k for k in range(-9, 10)])

    def rsqrt(self):
        return self.everywhere([float(k * k) for k in range(1, 12)] + [2.0**k for k in range(-9, 10)], (1,))

    def acosh(self):
        return named(2.0**self.g.uniform(0, self.top, 750), self.g.uniform(1, 20, 500),
                     np.maximum(self.around([1.0] * 5 + [2.0, 1.25, 2.0**28], 500), 1),
                     1 + np.arange(1, 251) * 2.0**(1 - self.digits))

    # ---- Circular functions and their inverses ----

    def sin(self):
        g, worst = self.g, reduction_worst(self.d)
        wide, usual = self.logu(750, -30, 30), g.uniform(-10, 10, 500)
        turns = np.concatenate([np.arange(-40, 41), g.integers(1, 100000, 60)]) * (np.pi / 2)
        near = self.around(turns, 500, False)
        farthest = 6381956970095103 * 2.0**797 if self.f64 else 16367173 * 2.0**72
        worst = np.append(g.choice(worst, 119, False) * g.choice([1, -1], 119), farthest)
        large = self.logu(90, 30, self.top + 0.99)
        known = [1e22, -1e22, 1e15, 1e9, 2.0**62, 2.0**63, 2.0**64, self.big, -self.big, self.tiny, -self.tiny,
                 self.min_normal, 2.0**100]
        hard = np.concatenate([large, known, 2.0**g.integers(20, self.top, 27)])
        return {"wide": wide, "usual": usual, "near": near, "worst": worst, "hard": hard}

    cos = tan = sin

    def asin(self):
        g, step = self.g, 2.0**-self.digits
        return named(self.logu(750, -60, -1e-3), g.uniform(-1, 1, 500),
                     np.clip(self.around([1, -1, 0.5, -0.5, 0.75, 0.96875], 500), -1 + step, 1 - step),
                     np.concatenate([g.choice([1, -1], 120) * (1 - np.arange(1, 121) * step),
                                     self.logu(90, self.normal, -60), self.logu(40, self.least, self.normal)]))

    acos = atanh = erf_inv = asin

    # ---- Special functions ----

    def erf(self):
        return named(self.logu(750, -60, 2.6), self.g.uniform(-3, 3, 500),
                     self.around([0.0] * 3 + [0.84375, 1.25, -1.0, 0.5, 2.857], 500),
                     np.concatenate([self.g.uniform(-6.2, 6.2, 100), self.logu(75, self.least, self.normal),
                                     self.logu(75, self.normal, -60)]))

    def erfc(self):
        points = [0.0] * 3 + [0.84375, 1.25, 0.5, 1.0, 2.857, 8, -6 if self.f64 else -3.5]
        return named(self.logu(750, -30, np.log2(27 if self.f64 else 10)), self.g.uniform(-3, 5, 500),
                     self.around(points, 500),
                     self.g.uniform(20, 27.3, 250) if self.f64 else self.g.uniform(7, 10.1, 250))

    def lgamma(self):
        roots = [-2.457024738220801, -2.7476826467274127, -3.1435808883499798, -3.955294284858598]
        wide = np.concatenate([self.logu(500, self.normal, self.top - 10, (1,)), self.logu(250, -60, 6, (-1,))])
        return named(wide, self.g.uniform(0, 30, 500),
                     self.around([1.0, 2.0] * 6 + roots + [-0.5, -1.5, 3.0, 8.0], 500),
                     np.concatenate([self.around([-1.0, -2.0, -3.0, -10.0, -100.0], 80), self.g.uniform(-60, 0, 80),
                                     self.logu(40, self.least, self.normal),
                                     self.around([2.55e305 if self.f64 else 4.08e36], 50)]))

    def digamma(self):
        roots = [1.4616321449683623] * 5 + [-0.5040830082644554, -1.5734984731623905, -2.610720868444145]
        wide = np.concatenate([self.logu(500, self.normal + 1, self.top - 1, (1,)), self.logu(250, -60, 6, (-1,))])
        return named(wide, self.g.uniform(0, 30, 500), self.around(roots + [1.0, 2.0, 10.0], 500),
                     np.concatenate([self.around([-1.0, -2.0, -3.0, -10.0, -50.0], 100), self.g.uniform(-60, 0, 100),
                                     self.logu(50, self.normal + 1, self.normal + 10, (1,))]))

    # ---- Two operands ----

    def power(self):
        g, digits = self.g, self.digits
        x, y = self.logu(750, -20, 20, (1,)), self.logu(750, -6, 5)
        near_one = 1 + g.choice([1, -1], 70) * 2.0**-g.uniform(3, digits - 1, 70)
        negative = -np.round(self.logu(90, 0, 4, (1,)) * 8) / 8
        hx = np.concatenate([near_one, negative, 2.0**g.uniform(-8, 8, 90)]).astype(NP[self.d]).astype(float)
        hy = np.concatenate([g.choice([1, -1], 70) / (hx[:70] - 1) * g.uniform(0.1, 40, 70), g.integers(-30, 31, 90),
                             np.zeros(90)])
        logs = np.where(hx[160:] == 1, 1, np.log2(hx[160:]))
        edges = g.choice([self.top + 1, self.normal, self.least - 1, self.normal - 5], 90)
        hy[160:] = edges / logs * (1 + g.choice([0, 1, -1], 90) * 2.0**-g.uniform(4, digits, 90))
        near = (np.round(g.uniform(1, 4000, 500)) / g.choice([1, 4, 256], 500),
                g.choice([2, 3, 0.5, -1, 1.5, -2, 4, 1, 0.25, -0.5], 500))
        return named((x, y), (g.uniform(0, 10, 500), g.uniform(-10, 10, 500)), near, (hx, hy))

    def polygamma(self):
        """Orders and arguments. Near the zeros of even orders, which are between the poles, only the error beside the
        terms is small, and there are none of these."""
        g, scale = self.g, 16 if self.f64 else 4
        n = g.integers(1, 9, 750)
        wide = n, self.logu(750, -scale, scale, (1,))
        usual = g.integers(1, 7, 500), g.uniform(0, 30, 500)
        n = g.integers(1, 9, 500)
        g_odd, g_even = g.uniform(0.001, 0.5, 500), g.uniform(0.001, 0.25, 500)
        away = g.choice([1, -1], 500) * np.where(n % 2, g_odd, g_even)
        near = n, away - g.integers(1, 50, 500)
        many = g.integers(20, 171, 250)
        hard = many, np.where(g.integers(0, 2, 250), many / np.e * g.uniform(0.7, 1.5, 250),
                              2 * many + 22 + g.integers(-1, 2, 250) * g.uniform(0, 1, 250))
        return named(wide, usual, near, hard)

    def hypot(self):
        g, digits, top, least = self.g, self.digits, self.top, self.least
        near = (self.around([1.0, -1.0, 0.5, 2.0, 3.0, 1e-3], 500),
                self.around([1.0, -1.0, 4.0, 1e3, 2.0**-digits], 500))
        h = g.integers(0, 5, 250)
        ex = np.select([h == 0, h == 1, h == 2, h == 3], [top - 1.0, self.normal + 1.0, least + 2.0, 0.0], 0.0)
        ey = ex + g.uniform(-digits - 4, 1, 250) * (h != 2)
        ey = np.where(h == 3, g.uniform(self.normal, top, 250), np.maximum(ey, least + 1))
        wide = self.logu(750, -40, 40), self.logu(750, -40, 40)
        usual = g.uniform(-5, 5, 500), g.uniform(-5, 5, 500)
        hard = tuple(g.choice([1, -1], 250) * 2.0**(e + g.uniform(0, 0.9, 250)) for e in (ex, ey))
        return named(wide, usual, near, hard)

    atan2 = hypot

    def logaddexp(self):
        g = self.g
        most = 700 if self.f64 else 80
        a = g.uniform(-most, most, 250)
        wide = self.logu(750, -20, 9), self.logu(750, -20, 9)
        usual = g.uniform(-20, 20, 500), g.uniform(-20, 20, 500)
        near = self.around([0.0, 1.0, -1.0, -LN2, -5.0], 500), self.around([0.0, 1.0, -LN2, -LN2, -4.0], 500)
        return named(wide, usual, near, (a, a + self.logu(250, -20, 6)))
