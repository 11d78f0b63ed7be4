// The JSON interface of docs/howto/web.md, answered by a server or by the page itself.
import { arriving } from "./problem.js";
import { answer, answers as stream } from "./who.js";

export { Problem } from "./problem.js";
export { offers } from "./who.js";
export { stream };

const AGAIN_AFTER = 1000; // milliseconds until a lost request is sent again
const SLOW = 400; // milliseconds after which the page shows that it waits

/** Loads a module; throws Problem if it does not arrive. */
export const load = (importing) => arriving(importing());

/** @type {(ms: number, signal?: AbortSignal) => Promise<void>} */
const pause = (ms, signal) =>
  new Promise((done, fail) => {
    setTimeout(() => (signal?.aborted ? fail(signal.reason) : done()), ms);
  });

let waiting = 0;

/** Awaits an answer, with a sign at the top of the page if it takes long; sends a lost request again once. */
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

/** Returns the answer to a request; throws Problem. Meanwhile `stage` is called with "waiting", "loading" and "working". */
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

/** Returns the answer of an address without a body; throws Problem. */
export function get(path, signal) {
  return awaited(() => answer(path, signal), signal);
}
