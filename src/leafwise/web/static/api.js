// The JSON interface of the server, as docs/howto/web.md tells it.
import { tell } from "./dom.js";

/** An answer that is one line about what was wrong. */
export class Problem extends Error {}

async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  return new Problem(told.error || `expected an answer, got status ${response.status}`);
}

async function post(path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal,
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Problem("the server does not answer; is leafwise web still running?");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** Returns the answer to a request; throws Problem. */
export async function ask(path, body, signal) {
  return (await post(path, body, signal)).json();
}

/** Returns the answer of an address that takes no body; throws Problem. */
export async function get(path, signal) {
  const response = await fetch(path, { signal });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** Yields `{event, data}` of a streamed answer as they come: events `stage`, `answer`, `done`; throws Problem for `error`. */
export async function* stream(path, body, signal) {
  const response = await post(path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [, told] = /^event: told\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (told) tell(JSON.parse(told));
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) || [];
      if (event === "error") throw new Problem(JSON.parse(data).error);
      if (event) yield { event, data: JSON.parse(data) };
    }
  }
}
