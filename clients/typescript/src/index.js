export * from "./errors.js";
export { Tidegate, toMinor, VERSION } from "./client.js";
export * as webhooks from "./webhooks.js";
