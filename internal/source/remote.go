package source

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/address"
)

// OpenFile opens a file of a model, by the name that reports give it. The model is named by its
// path or address.
func OpenFile(ctx context.Context, model, file string, o Options) (r io.ReaderAt, size int64, close func() error, err error) {
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
		return nil, 0, nil, CannotOpen(file, err)
	}
	return f, info.Size(), f.Close, nil
}

// openRemote opens a model by its address. Reports and errors name the address without its
// query, where presigned ones keep their signature.
func openRemote(ctx context.Context, path string, o Options) (position.Model, error) {
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
