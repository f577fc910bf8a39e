package source

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/remote/address"
)

// Options say how model files are opened, as modelpatch.OpenOptions tells them.
type Options struct {
	// ExternalRoot is a folder in which external data of ONNX models may lie
	// outside the model's own folder.
	ExternalRoot string
	// MaxUnpacked bounds the bytes that a compressed input, or standard input,
	// may come to; 0 is 64 GiB.
	MaxUnpacked int64
	// Remote opens models that are named by an address (IsAddress) instead of a path: Client.Reader
	// of package remote. nil: addresses are refused.
	Remote func(ctx context.Context, address string) (io.ReaderAt, int64, error)
	// Scan also has large tables of models at an address looked through for NaN and infinity,
	// which fetches them whole.
	Scan bool
	// Assume is the architecture of llama.cpp that GGUF files are taken for whose own is not known; ""
	// for none: they can be described, and not changed.
	Assume string
	// Engine, one of deviation.Engines, has Inspect also tell what that engine computes otherwise than
	// configurations say; "": none.
	Engine string
}

// remote opens the file at an address.
func (o Options) remote(ctx context.Context, path string) (io.ReaderAt, int64, error) {
	if o.Remote == nil {
		return nil, 0, &InputError{Path: address.Show(path), What: "cannot be opened", Why: "addresses are not read here", Hint: "OpenOptions.Remote reads them, see package remote; or name a file on this machine"}
	}
	return o.Remote(ctx, path)
}
