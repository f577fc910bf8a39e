#!/usr/bin/env node
// Starts the modelpatch executable of this platform's package and ends as it ends.
"use strict";

const { spawn } = require("child_process");

const platform = `${process.platform}-${process.arch}`;
let file;
try {
  file = require.resolve(`@modelpatch/${platform}/bin/modelpatch${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`modelpatch: the package @modelpatch/${platform} is not installed`);
  console.error("hint: install without --omit=optional; if there is no such package, use the archives on the release page or `go install`");
  process.exit(5);
}

const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends an interrupt to the child as well, which then takes back what it has begun; this process waits for it.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`modelpatch: ${file} cannot be started: ${error.message}`);
  process.exit(5);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
