package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
)

// PatchOptions say where the result of a patch goes.
type PatchOptions struct {
	Open  OpenOptions
	Write WriteOptions
}

// Apply makes the change of a patch file to the model at a path. Both may be named by addresses.
func Apply(ctx context.Context, patchPath, path string, o PatchOptions) (Result, error) {
	return written(ctx, path, o.Open, o.Write, func(w change.WriteOptions) (change.Result, error) {
		return change.Apply(ctx, patchPath, path, source.Options(o.Open), w)
	})
}

// Revert takes the change of a patch file back: path is what Apply, or the
// change that the patch was made of, has given.
func Revert(ctx context.Context, patchPath, path string, o PatchOptions) (Result, error) {
	return written(ctx, path, o.Open, o.Write, func(w change.WriteOptions) (change.Result, error) {
		return change.Revert(ctx, patchPath, path, source.Options(o.Open), w)
	})
}

// Undo takes the newest change in place of a model back, by the undo patch that it left
// (FILE.undo.mpatch, FILE.undo.2.mpatch …), and removes that patch. With Write.DryRun nothing is
// written, and with Write.Output a new file gets the old state and the patch stays.
func Undo(ctx context.Context, path string, o PatchOptions) (Result, error) {
	return written(ctx, path, o.Open, o.Write, func(w change.WriteOptions) (change.Result, error) { return change.Undo(ctx, path, w) })
}

// Recover finishes or undoes an edit in place of the file at path that was cut
// short, and removes what killed runs left, also of a file that they were still
// to make. A link is followed. It says what it did.
func Recover(path string) (patch.Recovered, error) { return change.Recover(path) }
