package source

import (
	"context"
	"errors"
	"io"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos"
	"github.com/modelpatch/modelpatch/position/onnxpos"
)

// Companions gives the other files of a model that is no file on a disk, by their names
// beside it: shards of a split GGUF, data files of an ONNX model. The error of one that is
// not there is fs.ErrNotExist. A reader that is an io.Closer is closed with the model.
type Companions func(name string) (io.ReaderAt, int64, error)

// OpenReader opens a model that is read from anywhere: an archive, a web page, a server that
// gives ranges. name is what reports and errors call it, and tells of a shard which one it is;
// companions may be nil where the model is one file. r is closed with the model, if it is an
// io.Closer; where it cannot be opened the caller closes it.
func OpenReader(ctx context.Context, r io.ReaderAt, size int64, name string, companions Companions) (position.Model, error) {
	return openReaderWith(ctx, r, size, name, onnx.Options{Companions: companions})
}

// openReaderWith is OpenReader with the options of ONNX models, whose companions are those of any.
func openReaderWith(ctx context.Context, r io.ReaderAt, size int64, name string, options onnx.Options) (position.Model, error) {
	path := name
	head := make([]byte, min(size, HeadBytes))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &InputError{Path: path, What: "cannot be read", Why: err.Error(), Err: err}
	}
	if IsGGUF(head) {
		f, err := gguf.OpenReader(r, size, name, options.Companions)
		if err != nil {
			return nil, err
		}
		return ggufpos.Open(f)
	}
	if err := notAModel(path, head); err != nil {
		return nil, err
	}
	if !isProtobuf(head) {
		return nil, &InputError{Path: path, What: "not a model", Why: "neither GGUF nor ONNX: " + start(head)}
	}
	f, err := onnx.OpenReader(r, size, name, options)
	if err != nil {
		return nil, err
	}
	m, err := onnxpos.NewContext(ctx, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}
