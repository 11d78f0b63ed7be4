// Asks an exported page's JSON interface under node: reads {folder, build, asked: [[path, body]]} and prints the answers to each, or its error.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker as Thread } from "node:worker_threads";

const { folder, build, asked } = JSON.parse(readFileSync(0, "utf8"));
const begin = `const { parentPort, workerData } = require("node:worker_threads");
globalThis.self = globalThis;
globalThis.postMessage = (data) => parentPort.postMessage(data);
import(workerData).then(() => parentPort.on("message", (data) => self.onmessage({ data })));`;

/** What a page has and node has not. */
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
const found = [];
for (const [path, body] of asked) {
  const told = [];
  try {
    for await (const { event, data } of answers(path, body)) if (event === "answer") told.push(data);
    found.push(told);
  } catch (problem) {
    if (problem.constructor.name !== "Problem") throw problem;
    found.push({ error: problem.message });
  }
}
process.stdout.write(JSON.stringify(found), () => process.exit());
