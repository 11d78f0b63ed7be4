// Sends requests to an exported page's JSON interface under node: reads {folder, build, requests: [[path, body]]} and prints the answers to
// each request, or its error.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker as Thread } from "node:worker_threads";

const { folder, build, requests } = JSON.parse(readFileSync(0, "utf8"));
const begin = `const { parentPort, workerData } = require("node:worker_threads");
globalThis.self = globalThis;
globalThis.postMessage = (data) => parentPort.postMessage(data);
import(workerData).then(() => parentPort.on("message", (data) => self.onmessage({ data })));`;

/** The Worker of browsers, which node lacks. */
class Worker {
  constructor(url) {
    this.thread = new Thread(begin, { eval: true, workerData: String(url) });
    this.thread.on("message", (data) => this.onmessage({ data }));
  }

  postMessage(data) {
    this.thread.postMessage(data);
  }

  terminate() {
    this.thread.terminate();
  }
}
const line = { textContent: "", hidden: true };
Object.assign(globalThis, {
  Worker,
  addEventListener() {},
  document: { getElementById: () => line },
  fetch: async (url) => new Response(readFileSync(fileURLToPath(url))),
});
const { answers } = await import(pathToFileURL(`${folder}/${build}/alone/who.js`));
const results = [];
for (const [path, body] of requests) {
  const received = [];
  try {
    for await (const { event, data } of answers(path, body)) if (event === "answer") received.push(data);
    results.push(received);
  } catch (problem) {
    if (problem.constructor.name !== "Problem") throw problem;
    results.push({ error: problem.message });
  }
}
process.stdout.write(JSON.stringify(results), () => process.exit());
