// Package modelpatch changes how far, and how, a trained model counts
// positions, without retraining it: it finds the position encodings of an ONNX
// or GGUF file, edits them, and leaves every other byte as it was.
//
// Start with [Inspect], which says what a file has, and [Extend], which makes it
// count further. [Rescale] changes RoPE, [AddALiBi] adds a linear bias, [AddWindow] hides what is far; [Apply] and
// [Revert] take such a change from a patch file, there and back, [Recover]
// finishes what a crash cut short, and [Verify] compares a model with what it was.
// Each returns the value that the command of the same name prints as JSON; package
// [report] holds the types. [ExitCode] and [Advice] turn an error into what a command
// line tool needs.
//
// [Open] gives the model itself to those who want more: its sites, attentions
// and edits, as package [position] describes them.
package modelpatch
