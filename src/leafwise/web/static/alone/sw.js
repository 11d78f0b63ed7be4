// Caches the files of one build, so that the page opens without a network. `leafwise web --export` inserts the build's name.
const PREFIX = "leafwise-",
  NAME = `${PREFIX}BUILD`;
/** @type {any} */
const worker = self;

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== NAME).map((name) => caches.delete(name))))
      .then(() => worker.clients.claim()),
  ),
);

/** Answers the shell from the network first; all other files are named by their hash. */
async function answer(request) {
  const cache = await caches.open(NAME),
    isShell = !/\/(data|[0-9a-f]{16})\//.test(new URL(request.url).pathname);
  const fetched = async () => {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  };
  const kept = await cache.match(request);
  if (!isShell) return kept ?? fetched();
  return fetched().catch((problem) => {
    if (kept) return kept;
    throw problem;
  });
}

worker.addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(worker.registration.scope)) event.respondWith(answer(event.request));
});
