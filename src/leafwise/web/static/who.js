// Answers the pages' requests. `leafwise web --export` replaces this file for pages without a server.
export * from "./server.js";
