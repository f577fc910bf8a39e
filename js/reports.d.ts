// What the reports of modelpatch hold. Made by js/generate.py from `modelpatch schema NAME`; changes belong there.
// Numbers that JSON has no digits for are the words NaN, Infinity and -Infinity.

export type Num = number | "NaN" | "Infinity" | "-Infinity";

/** The object at of the reports. */
export interface At {
  head?: number | null;
  layer?: number | null;
  position?: number | null;
  where?: Where | null;
}

/** The object check of the reports. */
export interface Check {
  at?: At | null;
  inputs?: "weights" | "seeded";
  measure?: Measure | null;
  name: "plan" | "structure" | "bytes" | "table" | "attention" | "properties" | "second-opinion" | "engine";
  tolerance?: Tolerance | null;
  verdict: "pass" | "fail" | "skipped";
  why?: string;
}

/** A report of schema modelpatch.check/1. */
export interface Checked {
  facts?: CheckedFacts | null;
  findings: Array<CheckedFinding>;
  level: "ok" | "error" | "warning" | "note";
  names?: Array<string>;
  path: string;
  schema: "modelpatch.check/1";
  version?: string;
}

/** The object checkedfacts of the reports. */
export interface CheckedFacts {
  architecture: string | null;
  format: "onnx" | "gguf";
  length: Length;
  schemes: Array<"learned" | "sinusoidal" | "rope" | "alibi" | "t5-bias" | "relative-table" | "relative-sinusoid" | "disentangled" | "conv" | "none" | "unknown">;
}

/** The object checkedfinding of the reports. */
export interface CheckedFinding {
  baseline: boolean;
  fingerprint: string;
  hint?: string;
  level: "error" | "warning" | "note";
  message: string;
  remedies?: Array<Remedy>;
  rule: string;
  waived: string | null;
  where?: Where | null;
}

/** The object declareddiff of the reports. */
export interface DeclaredDiff {
  change: "added" | "removed" | "changed";
  from: string;
  name: string;
  to: string;
  what: "input" | "output" | "type" | "value" | "description" | "order" | "function" | "attribute";
}

/** A report of schema modelpatch.diff/1. */
export interface Difference {
  a: string;
  b: string;
  declared: Array<DeclaredDiff>;
  differ: number;
  encodings: Array<EncodingDiff>;
  identical: boolean;
  keys: Array<KeyDiff>;
  length?: LengthDiff | null;
  nodes: Array<NodeDiff>;
  parts: number;
  same: boolean;
  schema: "modelpatch.diff/1";
  summary: string;
  tensors: Array<TensorDiff>;
  version?: string;
  written?: Array<Written>;
}

/** The object edit of the reports. */
export interface Edit {
  bytes: number;
  file: string;
  range: [number, number];
  why: string;
}

/** The object encoding of the reports. */
export interface Encoding {
  also: Array<Reading>;
  beyond: "error" | "clamps" | "wrong" | "continues" | "unknown";
  capacity: number | null;
  evidence: Array<Evidence>;
  form: "keys" | "table" | "cache" | "runtime" | "baked" | null;
  id: string;
  layers: "all" | Array<number>;
  notes?: Array<string>;
  parameters: Parameters;
  scheme: "learned" | "sinusoidal" | "rope" | "alibi" | "t5-bias" | "relative-table" | "relative-sinusoid" | "disentangled" | "conv" | "none" | "unknown";
  where: Array<Where>;
}

/** The object change of the reports. */
export interface EncodingChange {
  encoding: string;
  expect: "same" | "same-on-prefix" | "changed" | "unknown";
  to?: Parameters | null;
  tolerance: Num;
  what: string;
}

/** The object encodingdiff of the reports. */
export interface EncodingDiff {
  change: "added" | "removed" | "changed";
  from: Encoding | null;
  id: string;
  says: Array<string>;
  to: Encoding | null;
}

/** The object evidence of the reports. */
export interface Evidence {
  kind: "architecture" | "key" | "fit" | "structure";
  residual?: Num | null;
  says: string;
}

/** A report of schema modelpatch.error/1. */
export interface Failure {
  code: number;
  error: string;
  hints: Array<string>;
  path: string;
  remedies?: Array<Remedy>;
  schema: "modelpatch.error/1";
  version?: string;
}

/** The object file of the reports. */
export interface File {
  bytes: number;
  path: string;
}

/** The object finding of the reports. */
export interface Finding {
  hint?: string;
  level: "error" | "warning" | "note";
  message: string;
  remedies?: Array<Remedy>;
  rule: string;
  where?: Where | null;
}

/** A report of schema modelpatch.inspect/1. */
export interface Inspection {
  architecture: string | null;
  bytes: number;
  encodings: Array<Encoding>;
  files: Array<File>;
  findings: Array<Finding>;
  format: "onnx" | "gguf";
  kind: "model" | "projector" | "adapter" | "imatrix" | "control-vector" | "vocabulary" | "other";
  length: Length;
  path: string;
  producer: string | null;
  schema: "modelpatch.inspect/1";
  version?: string;
}

/** The object keydiff of the reports. */
export interface KeyDiff {
  change: "added" | "removed" | "changed" | "retyped";
  from: unknown;
  from_type?: string;
  key: string;
  to: unknown;
  to_type?: string;
}

/** The object length of the reports. */
export interface Length {
  beyond: "error" | "clamps" | "wrong" | "continues" | "unknown";
  capacity: number | null;
  frames?: number;
  multiple?: number;
  picture?: Array<number>;
  stated: number | null;
}

/** The object lengthdiff of the reports. */
export interface LengthDiff {
  from: Length;
  to: Length;
}

/** The object measure of the reports. */
export interface Measure {
  max_abs: Num;
  max_rel: Num;
  max_ulp?: Num | null;
}

/** The object nodediff of the reports. */
export interface NodeDiff {
  change: "added" | "removed" | "rewired" | "attributes" | "renamed";
  from: string;
  new_name?: string;
  node: string;
  to: string;
}

/** The object option of the reports. */
export interface Option {
  name: string;
  value?: string;
}

/** The object parameters of the reports. */
export interface Parameters {
  amplitude?: Num | null;
  base?: Num | null;
  bidirectional?: boolean | null;
  buckets?: number | null;
  chunk?: number | null;
  defaults?: Array<"base" | "rotary_dim" | "scaling.original_length">;
  denominator?: "half" | "half-1";
  dim?: number | null;
  dtype?: string;
  grid?: Array<number>;
  head_dim?: number | null;
  heads?: number | null;
  interleaved_sections?: boolean | null;
  layout?: "half" | "interleaved" | "sin-cos" | "cos-sin" | "interleaved-cos-sin";
  max_bias?: Num | null;
  max_distance?: number | null;
  offset?: number | null;
  order?: "equivariant" | "mask" | "operators";
  prefix?: number | null;
  rotary_dim?: number | null;
  rows?: number | null;
  scaling?: Scaling | null;
  sections?: Array<number>;
  sinks?: boolean;
  slopes?: Array<Num>;
  temperature?: Temperature | null;
  unrotated_layers?: "all" | Array<number>;
  window?: Array<number>;
  window_layers?: "all" | Array<number>;
  window_sinks?: number | null;
}

/** A report of schema modelpatch.patch/1. */
export interface Patch {
  around: Array<string>;
  beside?: Array<PatchBeside>;
  change: string;
  data: Array<[number, number]>;
  edits: Array<PatchEdit>;
  expect?: "same" | "same-on-prefix" | "changed" | "unknown";
  outside: string;
  replace?: boolean;
  request?: unknown;
  schema: "modelpatch.patch/1";
  source: PatchedFile;
  target: PatchedFile;
  version?: string;
}

/** The object patchbeside of the reports. */
export interface PatchBeside {
  name: string;
  new: string;
  old: string;
  pointer: string;
}

/** The object patchedit of the reports. */
export interface PatchEdit {
  at: number;
  new: number;
  old: number;
  why?: string;
}

/** The object patchedfile of the reports. */
export interface PatchedFile {
  name: string;
  sha256?: string;
  size: number;
}

/** A report of schema modelpatch.plan/1. */
export interface Plan {
  changes: Array<EncodingChange>;
  command: string;
  edits: Array<Edit>;
  findings?: Array<Finding>;
  notes?: Array<string>;
  path: string;
  removed?: Array<string>;
  request?: Request | null;
  schema: "modelpatch.plan/1";
  sidecars: Array<Sidecar>;
  verified: Verdict | null;
  version?: string;
  written: Array<Written>;
}

/** The object reading of the reports. */
export interface Reading {
  parameters: Parameters;
  scheme: "learned" | "sinusoidal" | "rope" | "alibi" | "t5-bias" | "relative-table" | "relative-sinusoid" | "disentangled" | "conv" | "none" | "unknown";
  why: string;
}

/** The object remedy of the reports. */
export interface Remedy {
  options?: Array<Option>;
  says?: string;
  verb?: string;
}

/** The object request of the reports. */
export interface Request {
  assume?: string;
  options: unknown;
  verb: string;
}

/** The object scaling of the reports. */
export interface Scaling {
  attention_factor?: Num | null;
  beta_fast?: Num | null;
  beta_slow?: Num | null;
  factor?: Num | null;
  high_freq_factor?: Num | null;
  long_factor?: Array<Num>;
  low_freq_factor?: Num | null;
  original_length?: number | null;
  short_factor?: Array<Num>;
  truncate?: boolean | null;
  type: "none" | "linear" | "ntk" | "dynamic" | "yarn" | "llama3" | "longrope" | "proportional" | "resonance" | "custom";
}

/** The object sidecar of the reports. */
export interface Sidecar {
  backup?: string;
  from: Num;
  path: string;
  pointer: string;
  to: Num;
  why?: string;
  written: boolean;
}

/** The object temperature of the reports. */
export interface Temperature {
  layers: "all" | Array<number>;
  length: Num;
  logarithm?: boolean;
  scale: Num;
}

/** The object tensordiff of the reports. */
export interface TensorDiff {
  at?: Array<[number, number]>;
  bytes: number;
  change: "added" | "removed" | "resized" | "retyped" | "bytes" | "renamed";
  count?: number;
  from: string;
  name: string;
  new_name?: string;
  position: boolean;
  to: string;
}

/** The object tolerance of the reports. */
export interface Tolerance {
  name: string;
  value: Num;
}

/** A report of schema modelpatch.verify/1. */
export interface Verdict {
  after: string;
  before: string;
  checks: Array<Check>;
  hints?: Array<string>;
  schema: "modelpatch.verify/1";
  summary: string;
  verdict: "same" | "same-on-prefix" | "changed-as-planned" | "consistent" | "different" | "broken";
  version?: string;
}

/** The object where of the reports. */
export interface Where {
  file?: string;
  key?: string;
  node?: string;
  range?: [number, number] | null;
  tensor?: string;
}

/** The object written of the reports. */
export interface Written {
  bytes: number;
  how: "new" | "in-place" | "patch";
  path: string;
  sha256: string | null;
}
