package source

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/patch"
)

// OpenPatch reads the patch file at a path or an address. Close it afterwards.
func OpenPatch(ctx context.Context, path string, o Options) (*patch.PatchFile, error) {
	if !IsAddress(path) {
		p, err := patch.OpenPatch(path)
		if err != nil && isModel(path) {
			return nil, &InputError{Path: path, What: "not a patch file", Why: "it is a model", Hint: "modelpatch inspect says what it has; apply and revert take the patch first, then the model"}
		}
		return p, err
	}
	r, size, close, err := OpenFile(ctx, path, ShownPath(path), o)
	if err != nil {
		return nil, err
	}
	defer close()
	p, err := patch.ReadPatch(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, &patch.InputError{Path: ShownPath(path), Err: err}
	}
	return p, nil
}

// isModel reports whether a file is a model by its name or its first bytes.
func isModel(path string) bool {
	head, err := Sniff(path)
	return err == nil && (bytes.HasPrefix(head, []byte("GGUF")) || strings.EqualFold(filepath.Ext(path), ".onnx"))
}
