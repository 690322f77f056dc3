// A receiver of Tidegate's webhooks for Node 18 or newer, without dependencies.
//
//     WEBHOOK_SECRET=whsec_… PORT=3000 node receiver.mjs
//
// It does the three things that every receiver should:
//
// 1. verify the signature over the raw bytes, before anything parses them;
// 2. keep the event and answer at once, and only then work: who works first answers late, and is told again;
// 3. drop duplicates by `webhook-id`: an event can come twice, and two at the same time.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SECRET = process.env.WEBHOOK_SECRET ?? "";
const PORT = Number(process.env.PORT ?? 3000);
// Yours is a table with a unique key; here it is a folder with a file for each event.
const INBOX = process.env.INBOX ?? "inbox";

const TOLERANCE_S = 300;
const BODY_BYTES_MAX = 1_000_000;
const EVENT_ID = /^[A-Za-z0-9_-]{1,100}$/;

// Standard Webhooks: the id, the time and the body are signed together, so nobody can send an old one again.
export function isAuthentic(headers, body) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  const key = Buffer.from(SECRET.replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  // There are several while a secret is being rotated; one that fits is enough.
  return (headers["webhook-signature"] ?? "").split(" ").some((given) => isSame(given, `v1,${mac}`));
}

// The other way: HMAC-SHA512 of the body, the whole secret as the key. It says nothing about the time.
export function isAuthenticBySignature(headers, body) {
  return isSame(headers["signature"] ?? "", createHmac("sha512", SECRET).update(body).digest("hex"));
}

// In constant time, so that nobody can guess a signature letter by letter.
function isSame(given, expected) {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

// Whole or not at all. A file of that name is there already when the event came before.
function keep(id, body) {
  const draft = join(INBOX, `${randomUUID()}.draft`);
  writeFileSync(draft, body);
  try {
    linkSync(draft, join(INBOX, `${id}.json`));
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
}

// Everything that was kept and is not done yet, also by the process before this one.
function work() {
  for (const name of readdirSync(INBOX).filter((file) => file.endsWith(".json"))) {
    const id = name.slice(0, -".json".length);
    const done = join(INBOX, `${id}.done`);
    if (existsSync(done)) continue;
    try {
      handle(id, JSON.parse(readFileSync(join(INBOX, name), "utf8")));
      writeFileSync(done, "");
    } catch (error) {
      console.error(error); // One that fails must not stop the others; it is tried again with the next.
    }
  }
}

// Your work. Killed in the middle of it, it is done again at the next start; so make it safe to do twice.
function handle(id, { event, data }) {
  console.log("handled", id, event, data.merchantReference, data.amountReceived);
}

// The raw bytes. In Express that is express.raw({ type: "application/json" }), and never express.json().
async function read(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function receive(request) {
  if (request.method !== "POST") return 405;
  const body = await read(request);
  if (body === null) return 413;
  // One of the two is enough; take isAuthenticBySignature instead if your framework hides the other headers.
  if (!isAuthentic(request.headers, body) || !EVENT_ID.test(request.headers["webhook-id"])) return 401;
  keep(request.headers["webhook-id"], body);
  return 204; // It is kept, so Tidegate need not send it again, even if we are killed now.
}

async function answer(request, response) {
  let status = 500; // Whatever goes wrong here, Tidegate tries again.
  try {
    status = await receive(request);
  } catch (error) {
    console.error(error);
  }
  response.writeHead(status, status >= 400 ? { connection: "close" } : {}).end();
  if (status === 204) setImmediate(work);
}

function main() {
  if (!SECRET.startsWith("whsec_")) {
    console.error("WEBHOOK_SECRET must be the endpoint's secret, whsec_…");
    process.exit(1);
  }
  mkdirSync(INBOX, { recursive: true });
  work();
  const server = createServer(answer);
  server.listen(PORT, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
