// The exponential function with the rounding of C libraries, at most one in a hundred results wrong in the last bit. Browsers' Math.exp
// rounds a tenth of all results differently, and the last bit decides a tree search between two equal moves.

const LN2 = Math.LN2,
  LN2_HIGH = 6.9314718036912381649e-1, // its first 33 bits
  LN2_LOW = 1.90821492927058770002e-10,
  LARGEST = 700, // beyond, results come near the limits of floating-point numbers
  HALVINGS = 6,
  SPLITTER = 2 ** 27 + 1;

/** Returns what rounding takes from the square of a (Dekker, 1971). */
function lostBySquaring(a, product) {
  const shifted = SPLITTER * a,
    high = shifted - (shifted - a),
    low = a - high;
  return high * high - product + 2 * high * low + low * low;
}

/** Returns e to the power of x. */
export function exp(x) {
  if (!(Math.abs(x) < LARGEST)) return Math.exp(x);
  // x = k ln 2 + 64 (s + t), t what s does not hold
  const k = Math.round(x / LN2),
    high = x - k * LN2_HIGH,
    low = -k * LN2_LOW,
    r = high + low,
    s = r / 2 ** HALVINGS,
    t = (high - r + low) / 2 ** HALVINGS;
  // e^s - 1 as a + b, b what a does not hold: s, s²/2 and the rest of its series
  const product = s * s,
    half = product / 2,
    rest = s * product * (1 / 6 + s * (1 / 24 + s * (1 / 120 + s * (1 / 720 + s / 5040)))),
    first = s + half;
  let a = first + rest,
    b = rest - (a - first) + (half - (first - s)) + (t + s * t + lostBySquaring(s, product) / 2);
  // Doubled as often as it was halved: e^2s - 1 = 2 (e^s - 1) + (e^s - 1)²
  for (let n = 0; n < HALVINGS; n++) {
    const squared = a * a,
      sum = 2 * a + squared;
    b = squared - (sum - 2 * a) + (lostBySquaring(a, squared) + 2 * b + 2 * a * b);
    a = sum;
  }
  const one = 1 + a;
  return (one + (a - (one - 1) + b)) * 2 ** k;
}
