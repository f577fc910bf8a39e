// Commits the edits of `modelpatch --edits` with Hugging Face's own client and prints the SHA-256 that it sends for the
// file. The hub is a function that answers as the hub does for a file of Git LFS that it has already.
//
//   node hub_commit.mjs MODULE_FOLDER ORIGINAL EDITS.json
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";

const [folder, original, edits] = process.argv.slice(2);
const { commit } = createRequire(join(folder, "x.js"))("@huggingface/hub");
const path = basename(original);
const json = (body) => new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });

async function hub(url, init) {
  url = String(url);
  if (url.includes("/preupload/")) {
    return json({ files: [{ path, uploadMode: "lfs", shouldIgnore: false }] });
  }
  if (url.includes("/info/lfs/objects/batch")) {
    return json({ objects: JSON.parse(init.body).objects }); // no actions: it is there
  }
  if (url.includes("/commit/")) {
    const sent = String(init.body).split("\n").map((line) => JSON.parse(line));
    console.log(sent.find((line) => line.key === "lfsFile").value.oid);
    return json({ commitOid: "0".repeat(40), commitUrl: "https://hub/commit" });
  }
  throw new Error(`the client asks for ${url}`);
}

await commit({
  repo: { type: "model", name: "org/repo" },
  accessToken: "hf_none",
  title: "a longer context",
  useXet: false,
  fetch: hub,
  operations: [{
    operation: "edit",
    path,
    originalContent: new Blob([await readFile(original)]),
    edits: JSON.parse(await readFile(edits, "utf8")).map(({ start, end, content }) => ({ start, end, content: new Blob([Buffer.from(content, "base64")]) })),
  }],
});
