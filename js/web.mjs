// modelpatch in browsers and other places without files.
import { library } from "./library.mjs";

export * from "./errors.mjs";
export const { inspect, check, verify, diff, plot, extend, rope, set, alibi, window, bake, unbake, relative } = library(null);
