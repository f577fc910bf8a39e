package source

import (
	"context"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos"
	"github.com/modelpatch/modelpatch/position/onnxpos"
)

// format is a file format: how to tell it by a file's first bytes, and how to
// open it.
type format struct {
	name string
	is   func(head []byte) bool
	open func(ctx context.Context, path string, o Options) (position.Model, error)
}

// formats are tried by their first bytes, in this order. What is known to be
// something else is named by sniff before; ONNX, which has no magic number,
// comes last.
var formats = []format{
	{"gguf", IsGGUF, openGGUF},
	{"onnx", isProtobuf, openONNX},
}

// IsGGUF also takes the start of the magic number, so that a file of three
// bytes is called truncated and not unknown.
func IsGGUF(head []byte) bool {
	n := min(len(head), 4)
	return string(head[:n]) == "GGUF"[:n]
}

func openGGUF(_ context.Context, path string, _ Options) (position.Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	return ggufpos.Open(f)
}

// isProtobuf reports whether a file can start a protobuf message: the tag of a
// field of 1 to 31 with a wire type that exists. The rest is for the parser.
func isProtobuf(head []byte) bool {
	return len(head) > 0 && head[0]>>3 != 0 && head[0]&7 <= 5
}

// openONNX opens an ONNX model.
func openONNX(ctx context.Context, path string, o Options) (position.Model, error) {
	f, err := onnx.Open(path, onnx.Options{ExternalRoot: o.ExternalRoot})
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
