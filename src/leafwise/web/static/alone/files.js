// The files of an export: each is named by a hash of what is in it, and checked against that.

import { tell } from "../dom.js";
import { Problem } from "../problem.js";

const PAUSES = [1000, 4000]; // milliseconds before a broken download is tried again

/** Returns the SHA-256 of bytes in hexadecimal digits; by a function of our own where the browser has one for encrypted pages alone. */
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

/** Returns the bytes of a file of the export, unpacked where it is packed; `progress(share)` hears how much of it is there. */
export async function load({ file, sha256: expected, bytes }, progress) {
  for (let tries = 0; ; tries++) {
    try {
      const response = await fetch(new URL(`../../data/${file}`, import.meta.url));
      if (!response.ok) throw new Error(`status ${response.status}`);
      const parts = [],
        reader = response.body.getReader();
      let there = 0;
      for (let part; !(part = await reader.read()).done; progress((there += part.value.length) / bytes)) parts.push(part.value);
      const whole = new Uint8Array(await new Blob(parts).arrayBuffer());
      if ((await sha256(whole)) !== expected) throw new Error("damaged");
      if (!file.endsWith(".gz")) return whole.buffer;
      return await new Response(new Blob([whole]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    } catch (problem) {
      if (tries >= PAUSES.length) throw new Problem(`a file of this game did not arrive whole (${problem.message}); try again when the network is better`, 500);
      await new Promise((done) => setTimeout(done, PAUSES[tries]));
    }
  }
}

/** Returns the contents of files, with a line on the page of how much is loaded. */
export async function loadAll(files, title) {
  const shares = files.map(() => 0),
    all = files.reduce((sum, one) => sum + one.bytes, 0);
  const told = (k) => (share) => {
    shares[k] = share * files[k].bytes;
    const there = shares.reduce((a, b) => a + b);
    tell(there < all ? `Loading ${title}: ${Math.floor((100 * there) / all)} % of ${(all / 1e6).toFixed(1)} MB` : "");
  };
  return Promise.all(files.map((file, k) => load(file, told(k))));
}
