// Package source opens models whatever they are called: by a path, by an address, from a reader, from
// standard input or compressed, and says what a file is that is no model. It also reads the files that
// lie beside one.
package source

import (
	"context"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Open opens a model file of any format that is known, by its first bytes, or the model at an
// address. A file whose edit in place was cut short is an *InputError: Recover it first. What the model
// is asked later ends with the context too: verbs and checks return its error then.
func Open(ctx context.Context, path string, o Options) (position.Model, error) {
	m, err := openGuarded(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if err := position.Assume(m, o.Assume); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func openGuarded(ctx context.Context, path string, o Options) (position.Model, error) {
	if IsAddress(path) {
		return openRemote(ctx, path, o)
	}
	if err := Unfinished(path); err != nil {
		return nil, err
	}
	m, err := OpenUnfinished(ctx, path, o)
	if err != nil {
		return nil, err
	}
	d := m.Describe()
	for _, f := range append(d.Files, report.File{Path: d.Path}) {
		if err := Unfinished(f.Path); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// OpenUnfinished is Open of a file that may be in the middle of an edit.
func OpenUnfinished(ctx context.Context, path string, o Options) (position.Model, error) {
	head, err := Sniff(path)
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
