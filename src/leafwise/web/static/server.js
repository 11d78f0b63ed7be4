// Requests to the server of the page.

import { tell } from "./dom.js";
import { Problem, arriving } from "./problem.js";

/** Whether a page exists. */
export const offers = (page) => page !== "gallery";

async function send(path, options) {
  const response = await arriving(fetch(path, options));
  if (response.ok) return response;
  const { error = `expected an answer, got status ${response.status}` } = await response.json().catch(() => ({}));
  throw new Problem(error, response.status);
}

/** Returns the answer of an address without a body; throws Problem. */
export async function answer(path, signal) {
  return arriving((await send(path, { signal })).json());
}

/** Yields the events of an answer as `{event, data}`: `stage`, `answer`, `done`; throws Problem for `error`. */
export async function* answers(path, body, signal) {
  const response = await send(path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal,
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await arriving(reader.read());
    if (done) throw new Problem();
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [, message] = /^event: told\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (message) tell(JSON.parse(message));
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (event === "error") throw new Problem(JSON.parse(data).error, JSON.parse(data).status);
      if (event) yield { event, data: JSON.parse(data) };
      if (event === "done") return;
    }
  }
}
