// Types of the package modelpatch. What reports hold is in reports.d.ts, made from their schemas.
import type { Checked, Difference, Inspection, Plan, Remedy, Verdict } from "./reports";

export type * from "./reports";

/** A model: a path (in Node), an address of a server that answers ranges, or its bytes. */
export type Model = string | URL | ArrayBuffer | ArrayBufferView | Blob;

/** What a model has no name for by itself. */
export interface Named {
  /** What bytes are called in reports; "model.gguf" or "model.onnx" without it. */
  name?: string;
  /** Data files and shards beside bytes, by name. Those beside an address are fetched. */
  companions?: Record<string, ArrayBuffer | ArrayBufferView | Blob>;
}

export interface InspectOptions extends Named {
  /** An architecture that a GGUF file is taken for whose own is not known. */
  assume?: string;
  /** Also what this engine computes otherwise than configurations say. */
  engine?: "llama.cpp" | "transformers" | "onnxruntime";
}

export interface CheckOptions extends Named {
  /** Names of several models that have none. */
  names?: Array<string | undefined>;
  /** A policy as the file would have it: its text, or an object. */
  policy?: string | object;
  failOn?: "error" | "warning" | "note" | "never";
}

/** What is wrong with models. */
export interface Report {
  passed: boolean;
  models: Checked[];
}

/** Options of every change. */
export interface ChangeOptions extends Named {
  /** Compares the new model with the old one; true without it. */
  verify?: boolean;
  /** In Node: a new file that is written. Without it nothing is, and the result holds the change. */
  output?: string;
  /** Makes the change of a file that engines refuse all the same; replaces an existing output. */
  force?: boolean;
  assume?: string;
}

export interface ExtendOptions extends ChangeOptions {
  method?: "tile" | "hierarchical" | "repeat-last" | "zero" | "grouped" | "interpolate" | "stretch" | "yarn" | "linear" | "ntk" | "llama3" | "none";
  originalLength?: number;
  shorter?: boolean;
  fix?: Record<string, number>;
  /** The new grid of image patches, "24x24", or of a video's, "8x14x14". */
  grid?: string;
  /** The side of the new picture in pixels, or "384x512". */
  image?: number | string;
  kernel?: "bicubic" | "bicubic-antialias" | "bilinear" | "bilinear-antialias" | "bilinear-align-corners" | "nearest";
  /** The side of the windows that a picture is cut into, in places, or "7x14"; not given: as it was, where the file tells that it stays. */
  window?: number | string;
  windowMethod?: "bilinear" | "bicubic" | "geometric";
  keep?: number;
  anchor?: "mean" | "first";
}

export interface RopeOptions extends ChangeOptions {
  base?: number;
  scaling?: "none" | "linear" | "ntk" | "dynamic" | "yarn" | "llama3" | "longrope" | "resonance";
  factor?: number;
  len?: number;
  originalLength?: number;
  attentionFactor?: number;
  betaFast?: number;
  betaSlow?: number;
  lowFreqFactor?: number;
  highFreqFactor?: number;
  mscale?: number;
  mscaleAllDim?: number;
  /** Whether the bounds of YaRN's ramp are rounded to whole pairs; true without it. */
  truncate?: boolean;
  /** LongRoPE's two lists, short_factor and long_factor, as config.json has them: its text, or an object. */
  factors?: string | object;
  /** Another model, of either format, whose base and scaling are taken. */
  like?: Model;
  use?: "short" | "long";
  layers?: string;
  as?: "transformers" | "llama.cpp" | "ort-genai";
  toOps?: "standard" | "contrib" | "plain";
}

export interface SetOptions extends ChangeOptions {
  /** Fills up the sections of M-RoPE with zeros. */
  padSections?: boolean;
}

export interface AlibiOptions extends ChangeOptions {
  maxBias?: number;
  slopes?: number[];
  replace?: boolean;
  remove?: boolean;
}

export interface WindowOptions extends ChangeOptions {
  sinks?: number;
}

export interface BakeOptions extends ChangeOptions {
  dtype?: "float32" | "float16" | "bfloat16";
}

export interface RelativeOptions extends ChangeOptions {
  maxDistance?: number;
  buckets?: number;
  window?: string;
  method?: "bilinear" | "bicubic" | "geometric";
}

/** A file that a change makes. It is put together when it is read: its unchanged bytes come from the old one. */
export interface NewFile {
  readonly name: string;
  readonly size: number;
  stream(): ReadableStream<Uint8Array>;
  bytes(): Promise<Uint8Array>;
}

/** What a change came to. */
export interface Change {
  readonly plan: Plan;
  /** Why there was nothing to do; null where something was. */
  readonly nothing: string | null;
  /** The patch file of the model (.mpatch), which `modelpatch apply` takes; null where there is none. */
  readonly patch: Uint8Array | null;
  /** Patch files of all files that change. */
  readonly patches: Array<{ name: string; bytes: Uint8Array }>;
  /** The new files; none where output named one. */
  readonly files: NewFile[];
  /** The new model. */
  stream(): ReadableStream<Uint8Array>;
  bytes(): Promise<Uint8Array>;
}

/** Which position encodings a model has, with which parameters, and how far they reach. */
export function inspect(model: Model, options?: InspectOptions): Promise<Inspection>;
/** What is wrong with models, by the rules and a policy. */
export function check(models: Model | Model[], options?: CheckOptions): Promise<Report>;
/** Whether a model is another but for a change of position encoding; other differences are thrown as VerificationFailed. */
export function verify(before: Model, after: Model, options?: { names?: string[]; plan?: Plan; expect?: "same" | "same-on-prefix" | "changed" }): Promise<Verdict>;
/** How two models differ in their positions, their parts and bytes. */
export function diff(a: Model, b: Model, options?: { names?: string[] }): Promise<Difference>;
/** A picture of what a model's encodings compute, as SVG. */
export function plot(model: Model, options?: Named): Promise<string>;
/** Gives a model a context of length positions; image and grid (length null): a vision model another picture size. */
export function extend(model: Model, length: number | null, options?: ExtendOptions): Promise<Change>;
/** Changes the base or the scaling of RoPE, or the operators that compute it. */
export function rope(model: Model, options: RopeOptions): Promise<Change>;
/** Sets metadata keys of positions in a GGUF model. */
export function set(model: Model, keys: Record<string, string | number | boolean | number[]> | null, options?: SetOptions): Promise<Change>;
/** Adds a linear bias to the scores of every attention, or takes it away. */
export function alibi(model: Model, options?: AlibiOptions): Promise<Change>;
/** Lets every query see the length keys up to its own alone (null: as many as the model states), and the first ones. */
export function window(model: Model, length: number | null, options?: WindowOptions): Promise<Change>;
/** Stores what the graph computes for each position as tables of length positions. */
export function bake(model: Model, length: number | null, options?: BakeOptions): Promise<Change>;
/** Has the graph compute what tables hold. */
export function unbake(model: Model, options?: ChangeOptions): Promise<Change>;
/** Changes the reach of a relative bias, or its window. */
export function relative(model: Model, options: RelativeOptions): Promise<Change>;

/** Any error of modelpatch. */
export class ModelpatchError extends Error {
  /** The message without the hints. */
  readonly said: string;
  /** The exit code that the command has for it. */
  readonly code: number | null;
  readonly path: string;
  readonly hints: string[];
  readonly remedies: Remedy[];
}
/** The new model is not what was planned (1). */
export class VerificationFailed extends ModelpatchError {
  readonly verdict?: Verdict;
}
/** An option or a parameter is wrong (2). */
export class UsageError extends ModelpatchError {}
/** An input cannot be read (3). */
export class InputError extends ModelpatchError {}
/** This change cannot be made to this model (4). */
export class Refused extends ModelpatchError {}
/** Output failed (5). */
export class OutputError extends ModelpatchError {}
