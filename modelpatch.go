// Package modelpatch changes how far, and how, a trained model counts
// positions, without retraining it: it finds the position encodings of an ONNX
// or GGUF file, edits them, and leaves every other byte as it was.
//
// Start with Inspect, which says what a file has, and Extend, which makes it
// count further. Rescale changes RoPE, AddALiBi adds a linear bias; Apply and
// Revert take such a change from a patch file, there and back, and Recover
// finishes what a crash cut short. Each
// returns the value that the command of the same name prints as JSON; package
// report holds the types. ExitCode and Hints turn an error into what a command
// line tool needs.
//
// Open gives the model itself to those who want more: its sites, attentions
// and edits, as package position describes them.
package modelpatch

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// OpenOptions say how model files are opened. The zero value is right for
// files in one folder.
type OpenOptions struct {
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

// Open opens a model file of any format that is known, by its first bytes. A
// file whose edit in place was cut short is an *InputError: Recover it first.
func Open(path string, o OpenOptions) (position.Model, error) {
	return OpenContext(context.Background(), path, o)
}

// OpenContext is Open until a context ends. What the model is asked later ends with it
// too: verbs and checks return its error then.
func OpenContext(ctx context.Context, path string, o OpenOptions) (position.Model, error) {
	m, err := openContext(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if err := position.Assume(m, o.Assume); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func openContext(ctx context.Context, path string, o OpenOptions) (position.Model, error) {
	if IsAddress(path) {
		return openRemote(ctx, path, o)
	}
	if err := unfinished(path); err != nil {
		return nil, err
	}
	m, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	d := m.Describe()
	for _, f := range append(d.Files, report.File{Path: d.Path}) {
		if err := unfinished(f.Path); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// open is Open of a file that may be in the middle of an edit.
func open(ctx context.Context, path string, o OpenOptions) (position.Model, error) {
	head, err := sniff(path)
	if err != nil {
		return nil, err
	}
	for _, f := range formats {
		if f.is(head) {
			return f.open(ctx, path, o)
		}
	}
	return nil, &InputError{Path: path, What: "not a model", Why: "neither GGUF nor ONNX: " + start(head)}
}
