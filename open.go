package modelpatch

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
)

// Stdin is the path that stands for standard input, which Inspect reads.
const Stdin = source.Stdin

// OpenOptions say how model files are opened. The zero value is right for
// files in one folder.
type OpenOptions struct {
	// ExternalRoot is a folder in which external data of ONNX models may lie
	// outside the model's own folder.
	ExternalRoot string
	// MaxUnpacked bounds the bytes that a compressed input, or standard input,
	// may come to; 0 is 64 GiB.
	MaxUnpacked int64
	// Remote opens models that are named by an address (https://, hf://, oci://) instead of a path:
	// Client.Reader of package remote. nil: addresses are refused.
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

// Companions gives the other files of a model that is no file on a disk, by their names
// beside it: shards of a split GGUF, data files of an ONNX model. The error of one that is
// not there is fs.ErrNotExist. A reader that is an io.Closer is closed with the model.
type Companions func(name string) (io.ReaderAt, int64, error)

// Open opens a model file of any format that is known, by its first bytes, or the model at an
// address; see package position for what it can be asked. A file whose edit in place was cut short
// is an [InputError]: [Recover] it first. What the model is asked later ends with the context too.
// Close it afterwards.
func Open(ctx context.Context, path string, o OpenOptions) (position.Model, error) {
	return source.Open(ctx, path, source.Options(o))
}

// OpenReader opens a model that is read from anywhere: an archive, a web page, a server that
// gives ranges. name is what reports and errors call it, and tells of a shard which one it is;
// companions may be nil where the model is one file. r is closed with the model, if it is an
// io.Closer; where it cannot be opened the caller closes it.
func OpenReader(ctx context.Context, r io.ReaderAt, size int64, name string, companions Companions) (position.Model, error) {
	return source.OpenReader(ctx, r, size, name, source.Companions(companions))
}
