package modelpatch

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/address"
	"github.com/modelpatch/modelpatch/report"
)

// IsAddress reports whether a model is named by an address rather than by a path: https://,
// hf://, oci://. See OpenOptions.Remote.
func IsAddress(path string) bool { return address.Is(path) }

// ShownPath is how reports and messages name a model: its path, or its address without what may
// be secret in it.
func ShownPath(path string) string { return address.Show(path) }

// notInPlace refuses to change a file on a server.
func notInPlace() error {
	return &position.UsageError{What: "a model at an address is not changed in place", Remedies: []report.Remedy{
		report.Do("", "writes a new file here", "output", "NEW"), report.Do("", "writes just the change", "output", "NEW", "patch-only", ""), report.Do("", "writes the change for a commit on a hub", "edits", "FILE")}}
}

// OpenFileOf opens a file of a model, by the name that reports give it. The model is named by its
// path or address.
func OpenFileOf(ctx context.Context, model, file string, o OpenOptions) (r io.ReaderAt, size int64, close func() error, err error) {
	if IsAddress(model) {
		r, size, err := o.remote(ctx, address.Beside(model, file))
		c, ok := r.(io.Closer)
		if err != nil || !ok {
			return r, size, func() error { return nil }, err
		}
		return r, size, c.Close, nil
	}
	f, info, err := regular.Open(file)
	if err != nil {
		return nil, 0, nil, cannotOpen(file, err)
	}
	return f, info.Size(), f.Close, nil
}

// OpenPatch reads the patch file at a path or an address. Close it afterwards.
func OpenPatch(ctx context.Context, path string, o OpenOptions) (*patch.PatchFile, error) {
	if !IsAddress(path) {
		p, err := patch.OpenPatch(path)
		if err != nil && isModel(path) {
			return nil, &InputError{Path: path, What: "not a patch file", Why: "it is a model", Hint: "modelpatch inspect says what it has; apply and revert take the patch first, then the model"}
		}
		return p, err
	}
	r, size, close, err := OpenFileOf(ctx, path, ShownPath(path), o)
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
	head, err := sniff(path)
	return err == nil && (bytes.HasPrefix(head, []byte("GGUF")) || strings.EqualFold(filepath.Ext(path), ".onnx"))
}

// openRemote opens a model by its address. Reports and errors name the address without its
// query, where presigned ones keep their signature.
func openRemote(ctx context.Context, path string, o OpenOptions) (position.Model, error) {
	r, size, err := o.remote(ctx, path)
	if err != nil {
		return nil, err
	}
	beside := func(name string) (io.ReaderAt, int64, error) { return o.remote(ctx, address.Beside(path, name)) }
	m, err := openReaderWith(ctx, r, size, address.Show(path), onnx.Options{Companions: beside, Distant: !o.Scan})
	if c, ok := r.(io.Closer); ok && err != nil {
		c.Close()
	}
	return m, err
}

// remote opens the file at an address.
func (o OpenOptions) remote(ctx context.Context, path string) (io.ReaderAt, int64, error) {
	if o.Remote == nil {
		return nil, 0, &InputError{Path: address.Show(path), What: "cannot be opened", Why: "addresses are not read here", Hint: "OpenOptions.Remote reads them, see package remote; or name a file on this machine"}
	}
	return o.Remote(ctx, path)
}

// ReadBeside reads a small file of a model's folder, such as config.json; the model is named by its
// path or address. The error of one that is not there, or that the address is not signed for, is
// fs.ErrNotExist.
func ReadBeside(ctx context.Context, model, name string, o OpenOptions) ([]byte, error) {
	if !IsAddress(model) {
		b, _, err := regular.Read(PathBeside(model, name), maxOf(name))
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
	if size > maxOf(name) {
		return nil, &InputError{Path: PathBeside(model, name), What: "cannot be read", Why: "it is too large for what its name says"}
	}
	return io.ReadAll(io.NewSectionReader(r, 0, size))
}

// PathBeside is the name of a file of a model's folder, for reports.
func PathBeside(model, name string) string {
	if IsAddress(model) {
		return address.Show(address.Beside(model, name))
	}
	return filepath.Join(filepath.Dir(model), name)
}
