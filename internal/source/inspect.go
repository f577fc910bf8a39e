package source

import (
	"context"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/address"
	"github.com/modelpatch/modelpatch/report"
)

// Inspect says which position encodings a model file has.
//
// Stdin and compressed files (.zst, .gz) are unpacked to a temporary file.
func Inspect(ctx context.Context, path string, o Options) (report.Inspect, error) {
	if r, ok, err := inspectPacked(path, o); ok {
		return r, err
	}
	m, err := Open(ctx, path, o)
	if err != nil {
		return report.Inspect{}, err
	}
	defer m.Close()
	return Describe(m, path, o), ReadError(m)
}

// OpenInspected is OpenContext with the report that Inspect gives. The model is nil for
// standard input and compressed files, which were unpacked to be inspected.
func OpenInspected(ctx context.Context, path string, o Options) (position.Model, report.Inspect, error) {
	if r, ok, err := inspectPacked(path, o); ok {
		return nil, r, err
	}
	m, err := Open(ctx, path, o)
	if err != nil {
		return nil, report.Inspect{}, err
	}
	r := Describe(m, path, o)
	if err := ReadError(m); err != nil {
		m.Close()
		return nil, report.Inspect{}, err
	}
	return m, r, nil
}

// ReadError is the error of a model whose reading failed after it was opened: what was found out about
// it may be wrong. nil: there was none, or it is a file on a disk.
func ReadError(m position.Model) error {
	if f, ok := m.(position.ReadFailer); ok {
		return f.ReadError()
	}
	return nil
}

// Describe is the report about an open model, under the path that was given.
func Describe(m position.Model, path string, o Options) report.Inspect {
	r := position.Inspect(m)
	if o.Engine != "" {
		position.Deviations(m, r, o.Engine)
	}
	path = report.Name(address.Show(path))
	for i, f := range r.Files {
		if f.Path == path { // opened by another of its files
			r.Files[i] = report.File{Path: r.Path, Bytes: r.Bytes}
			r.Bytes = f.Bytes
		}
	}
	r.Path = path
	return r
}
