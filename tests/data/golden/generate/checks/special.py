"""Special functions from the standard library, element by element."""
import math

import numpy as np


def elementwise(f):
    return np.vectorize(f, otypes=[np.float64])


def one_lgamma(x):
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or a large argument
        return math.inf


def one_digamma(x):
    """Reflection, recurrence, and the asymptotic series of Abramowitz and Stegun 6.3.18."""
    if math.isnan(x) or x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    if x == 0 or x == math.inf:
        return -math.copysign(math.inf, x) if x == 0 else x
    if x < 0:
        return one_digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    shift = 0.0
    while x < 15:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def one_polygamma(n, x):
    """The recurrence to a large argument, and the asymptotic series of Abramowitz and Stegun 6.4.11."""
    if math.isnan(x) or x == -math.inf or not 0 <= n < math.inf or n != math.floor(n):
        return math.nan
    if n == 0:
        return one_digamma(x)
    sign, s = 1.0 if n % 2 else -1.0, n + 1
    if x <= 0 and x == math.floor(x):
        return math.inf if n % 2 else -math.copysign(math.inf, x) if x == 0 else math.nan
    if x == math.inf:
        return sign * 0.0

    def term(y, factor=1.0):
        """n! / y^s times a factor."""
        power = math.lgamma(s) - s * math.log(abs(y)) + math.log(abs(factor))
        size = math.inf if power > 709.78 else math.exp(power)
        return size * math.copysign(1, factor) * (-1 if y < 0 and s % 2 else 1)
    total = 0.0
    while x < 3 * n + 20:
        total += term(x)
        x += 1
    series, rising = x / n + 0.5, s / x
    for k, b in enumerate(BERNOULLI):
        series += b * rising / math.factorial(2 * k + 2)
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x)
    return sign * (total + term(x, series))


def one_erf_inv(x):
    """Winitzki's approximation, refined by Halley's method."""
    a = abs(x)
    if not 0 < a < 1:
        return x if a == 0 else math.copysign(math.inf, x) if a == 1 else math.nan
    y = a * math.sqrt(math.pi) / 2
    if a > 0.1:
        w = math.log1p(-a * a)
        t = 2 / (math.pi * 0.147) + w / 2
        y = math.sqrt(math.sqrt(t * t - w / 0.147) - t)
    for _ in range(4):
        error = math.erf(y) - a if a < 0.5 else (1 - a) - math.erfc(y)
        u = error / (2 / math.sqrt(math.pi) * math.exp(-y * y))
        y -= u / (1 + y * u)
    return math.copysign(y, x)


def one_logistic(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x)) if x == x else x


erf, erfc = elementwise(math.erf), elementwise(math.erfc)
lgamma, digamma, polygamma = elementwise(one_lgamma), elementwise(one_digamma), elementwise(one_polygamma)
erf_inv, logistic = elementwise(one_erf_inv), elementwise(one_logistic)
