// Who answers what the pages ask. `leafwise web --export` writes another one, for pages without a server.
export * from "./server.js";
