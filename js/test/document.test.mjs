// Runs the code of docs/javascript.md as it stands, a block after the other: what `// →` says behind a console.log is
// what it must print. DOCUMENT is the file; the folder has the checkout's testdata.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

const text = fs.readFileSync(process.env.DOCUMENT, "utf8");

test("the document's code does what it says", async () => {
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map((m) => m[1]);
  assert.ok(blocks.length >= 6, `${blocks.length} blocks`);
  const wanted = [...blocks.join("\n").matchAll(/console\.log\(.*\); \/\/ → (.*)$/gm)].map((m) => m[1]);
  assert.ok(wanted.length >= 6, `${wanted.length} results`);
  fs.writeFileSync("document.mjs", blocks.join("\n"));
  const printed = [];
  const log = console.log;
  console.log = (...values) => printed.push(values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" "));
  try {
    await import(`file://${process.cwd()}/document.mjs`);
  } finally {
    console.log = log;
  }
  assert.deepEqual(printed, wanted);
});
