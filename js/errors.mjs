// What calls throw: one class for each exit code of the command.

/** Any error of modelpatch. hints are what to do, as sentences; remedies are those that are options, as values. */
export class ModelpatchError extends Error {
  constructor(message, { code = null, path = "", hints = [], remedies = [], cause } = {}) {
    super([message, ...hints.map((hint) => `hint: ${hint}`)].join("\n"), cause && { cause });
    this.name = new.target.name;
    this.said = message;
    this.code = code;
    this.path = path;
    this.hints = hints;
    this.remedies = remedies;
  }
}

/** The new model is not what was planned (1). verdict is what verify said, where it came to one. */
export class VerificationFailed extends ModelpatchError {}
/** An option or a parameter is wrong (2). */
export class UsageError extends ModelpatchError {}
/** An input cannot be read (3). */
export class InputError extends ModelpatchError {}
/** This change cannot be made to this model (4). */
export class Refused extends ModelpatchError {}
/** Output failed (5). */
export class OutputError extends ModelpatchError {}

const byCode = [, VerificationFailed, UsageError, InputError, Refused, OutputError];

/** The error for a failure that the command reported as JSON. */
export function ofFailure({ code, error, path, hints, remedies }) {
  return new (byCode[code] || ModelpatchError)(error, { code, path, hints, remedies });
}

/** The error for what the command said on standard error. */
export function ofText(code, text) {
  const lines = text.trim().split("\n");
  const hints = lines.filter((line) => line.startsWith("hint: ")).map((line) => line.slice("hint: ".length));
  const said = lines.filter((line) => !line.startsWith("hint: ")).map((line) => line.replace(/^modelpatch: /, ""));
  return new (byCode[code] || ModelpatchError)(said.join(" ") || `modelpatch ended with exit code ${code}`, { code, hints });
}
