// The files of an export: each is named by the hash of its content, and checked against it.

import { tell } from "../dom.js";
import { Problem } from "../problem.js";
import { sha256 } from "./sha256.js";

const PAUSES = [1000, 4000]; // milliseconds before a broken download is tried again

/** Returns the unpacked bytes of a file of the export; calls `progress(share)` with the loaded share. */
export async function load({ file, sha256: expected, bytes }, progress) {
  for (let tries = 0; ; tries++) {
    try {
      const response = await fetch(new URL(`../../data/${file}`, import.meta.url));
      if (!response.ok) throw new Error(`status ${response.status}`);
      const parts = [],
        reader = response.body.getReader();
      let loaded = 0;
      for (let part; !(part = await reader.read()).done; progress((loaded += part.value.length) / bytes)) parts.push(part.value);
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

/** Returns the contents of files, with a line on the page on their progress. */
export async function loadAll(files, title) {
  const shares = files.map(() => 0),
    all = files.reduce((sum, one) => sum + one.bytes, 0);
  const report = (k) => (share) => {
    shares[k] = share * files[k].bytes;
    const loaded = shares.reduce((a, b) => a + b);
    tell(loaded < all ? `Loading ${title}: ${Math.floor((100 * loaded) / all)} % of ${(all / 1e6).toFixed(1)} MB` : "");
  };
  return Promise.all(files.map((file, k) => load(file, report(k))));
}
