// SHA-256, also on unencrypted pages, where browsers do not offer theirs.

/** Returns the SHA-256 of bytes in hexadecimal digits, by the browser's function if the page may use it. */
export async function sha256(bytes) {
  const digest = globalThis.crypto?.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : plainSha256(bytes);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** FIPS 180-4, sections 4.1.2, 5 and 6.2. */
export function plainSha256(bytes) {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) | 0;
  const K = primes.map((p) => fraction(Math.cbrt(p))),
    H = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
  const padded = new Uint8Array((Math.floor((bytes.length + 8) / 64) + 1) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer),
    turn = (x, n) => (x >>> n) | (x << (32 - n)),
    w = new Int32Array(64);
  view.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length));
  for (let at = 0; at < padded.length; at += 64) {
    for (let t = 0; t < 64; t++) {
      if (t < 16) w[t] = view.getInt32(at + 4 * t);
      else {
        const [x, y] = [w[t - 15], w[t - 2]];
        w[t] = (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[t - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10)) + w[t - 16];
      }
    }
    let [a, b, c, d, e, f, g, h] = H;
    for (let t = 0; t < 64; t++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t]) | 0,
        two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((x, k) => {
      H[k] = (H[k] + x) | 0;
    });
  }
  const digest = new DataView(new ArrayBuffer(32));
  H.forEach((x, k) => digest.setInt32(4 * k, x));
  return new Uint8Array(digest.buffer);
}
