// A program that uses the package's types: tsc --strict must take it.
import { check, extend, inspect, plot, Refused, rope, set, VerificationFailed, verify, type Change, type Inspection, type Model, type Verdict } from "modelpatch";

async function use(file: Blob): Promise<string> {
  const report: Inspection = await inspect(file, { name: "a.onnx" });
  const capacity: number | null | undefined = report.length.capacity;
  const scheme: string = report.encodings[0]!.scheme;
  const models: Model[] = ["a.gguf", new URL("https://example.com/a.onnx"), new ArrayBuffer(8), new Uint8Array(8), file];
  const { passed, models: checked } = await check(models, { policy: { version: 1 }, failOn: "warning" });
  const change: Change = await extend(file, 8192, { method: "yarn", originalLength: 2048 });
  const stream: ReadableStream<Uint8Array> = change.stream();
  const patch: Uint8Array | null = change.patch;
  const verdict: Verdict = await verify(file, await change.bytes());
  await rope(file, { base: 1e6, scaling: "none" });
  await rope(file, { like: new Uint8Array(8), factors: { short_factor: [1], long_factor: [2] }, truncate: false });
  await set(file, { "rope.freq_base": 1e6, "rope.dimension_sections": [16, 24, 24, 0] }, { padSections: false });
  try {
    // @ts-expect-error a method that there is not
    await extend(file, 8192, { method: "longer" });
    // @ts-expect-error a number is no model
    await inspect(3);
  } catch (e) {
    if (e instanceof Refused) return e.hints.join() + e.remedies.length;
    if (e instanceof VerificationFailed) return e.verdict?.summary ?? "";
  }
  return `${capacity} ${scheme} ${passed} ${checked[0]?.findings[0]?.rule} ${stream.locked} ${patch?.length} ${verdict.verdict} ${await plot(file)}`;
}

export default use;
