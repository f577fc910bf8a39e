package source

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/remote/address"
)

// Bounds of files beside a model: configurations are a few kilobytes, vocabularies up to 35 MB.
const (
	maxSidecar   = 16 << 20
	maxTokenizer = 64 << 20
)

// MaxBeside bounds a file beside a model, by its name.
func MaxBeside(name string) int64 {
	if filepath.Base(name) == "tokenizer.json" {
		return maxTokenizer
	}
	return maxSidecar
}

// ReadBeside reads a small file of a model's folder, such as config.json; the model is named by its
// path or address. The error of one that is not there, or that the address is not signed for, is
// fs.ErrNotExist.
func ReadBeside(ctx context.Context, model, name string, o Options) ([]byte, error) {
	if !IsAddress(model) {
		b, _, err := regular.Read(PathBeside(model, name), MaxBeside(name))
		return b, err
	}
	if address.Single(model) {
		return nil, fs.ErrNotExist // whether it is there cannot be known
	}
	r, size, err := o.remote(ctx, address.Beside(model, name))
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	if size > MaxBeside(name) {
		return nil, &InputError{Path: PathBeside(model, name), What: "cannot be read", Why: "it is too large for what its name says"}
	}
	return io.ReadAll(io.NewSectionReader(r, 0, size))
}
