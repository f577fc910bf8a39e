package modelpatch

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/address"
)

// IsAddress reports whether a model is named by an address rather than by a path: https://,
// hf://, oci://. See OpenOptions.Remote.
func IsAddress(path string) bool { return address.Is(path) }

// ShownPath is how reports and messages name a model: its path, or its address without what may
// be secret in it.
func ShownPath(path string) string { return address.Show(path) }

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
