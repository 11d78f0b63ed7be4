// The JSON interface of the server, as docs/howto/web.md tells it.
import { tell } from "./dom.js";

const AGAIN_AFTER = 1000; // milliseconds until what was lost is asked once more
const SLOW = 400; // milliseconds after which a sign says that an answer is waited for
const LOST = "the server does not answer; is leafwise web still running?";

/** An answer that is one line about what was wrong; `mayPass` where asking again may help. */
export class Problem extends Error {
  constructor(line, status = 0) {
    super(line);
    this.status = status;
  }

  get mayPass() {
    return !this.status || this.status >= 500;
  }

  get isLost() {
    return !this.status || this.status === 503;
  }
}

/** Awaits what the server is to send; what does not arrive is a Problem. */
async function arriving(promise) {
  try {
    return await promise;
  } catch (problem) {
    if (problem.name === "AbortError" || problem instanceof Problem) throw problem;
    throw new Problem(LOST);
  }
}

/** Returns a module; one that does not arrive is a Problem. */
export const load = (importing) => arriving(importing());

async function send(path, options) {
  const response = await arriving(fetch(path, options));
  if (response.ok) return response;
  const { error = `expected an answer, got status ${response.status}` } = await response.json().catch(() => ({}));
  throw new Problem(error, response.status);
}

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

const posted = (body, signal) => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "text/event-stream" },
  body: JSON.stringify(body),
  signal,
});

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
  return awaited(async () => arriving((await send(path, { signal })).json()), signal);
}

/** Yields `{event, data}` of a streamed answer as they come: events `stage`, `answer`, `done`; throws Problem for `error`. */
export async function* stream(path, body, signal) {
  const response = await send(path, posted(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await arriving(reader.read());
    if (done) throw new Problem(LOST);
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [, told] = /^event: told\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (told) tell(JSON.parse(told));
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (event === "error") throw new Problem(JSON.parse(data).error, JSON.parse(data).status);
      if (event) yield { event, data: JSON.parse(data) };
      if (event === "done") return;
    }
  }
}
