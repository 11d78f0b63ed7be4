// The JSON interface as docs/howto/web.md tells it, whoever answers.
import { arriving } from "./problem.js";
import { answer, answers as stream } from "./who.js";

export { Problem } from "./problem.js";
export { offers } from "./who.js";
export { stream };

const AGAIN_AFTER = 1000; // milliseconds until what was lost is asked once more
const SLOW = 400; // milliseconds after which a sign says that an answer is waited for

/** Returns a module; one that does not arrive is a Problem. */
export const load = (importing) => arriving(importing());

/** @type {(ms: number, signal?: AbortSignal) => Promise<void>} */
const pause = (ms, signal) =>
  new Promise((done, fail) => {
    setTimeout(() => (signal?.aborted ? fail(signal.reason) : done()), ms);
  });

let waiting = 0;

/** Awaits an answer, with a sign at the top of the page where it takes long; one that was lost is asked for once more. */
async function awaited(asking, signal) {
  const sign = setTimeout(() => document.body.classList.toggle("waiting", waiting > 0), SLOW);
  waiting += 1;
  try {
    return await asking().catch(async (problem) => {
      if (!problem.isLost) throw problem;
      await pause(AGAIN_AFTER, signal);
      return asking();
    });
  } finally {
    clearTimeout(sign);
    waiting -= 1;
    if (!waiting) document.body.classList.remove("waiting");
  }
}

/** Returns the answer to a request; throws Problem. `stage` hears "waiting", "loading" and "working" meanwhile. */
export function ask(path, body, signal, stage) {
  return awaited(async () => {
    let answer;
    for await (const { event, data } of stream(path, body, signal)) {
      if (event === "stage") stage?.(data);
      if (event === "answer") answer = data;
    }
    return answer;
  }, signal);
}

/** Returns the answer of an address that takes no body; throws Problem. */
export function get(path, signal) {
  return awaited(() => answer(path, signal), signal);
}
