package modelpatch

import (
	"context"
	"io"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/address"
	"github.com/modelpatch/modelpatch/report"
)

// Inspect says which position encodings a model file has.
//
// Stdin and compressed files (.zst, .gz) are unpacked to a temporary file.
func Inspect(path string, o OpenOptions) (report.Inspect, error) {
	if r, ok, err := inspectPacked(path, o); ok {
		return r, err
	}
	m, err := Open(path, o)
	if err != nil {
		return report.Inspect{}, err
	}
	defer m.Close()
	return inspected(m, path, o), ReadError(m)
}

// OpenInspected is OpenContext with the report that Inspect gives. The model is nil for
// standard input and compressed files, which were unpacked to be inspected.
func OpenInspected(ctx context.Context, path string, o OpenOptions) (position.Model, report.Inspect, error) {
	if r, ok, err := inspectPacked(path, o); ok {
		return nil, r, err
	}
	m, err := OpenContext(ctx, path, o)
	if err != nil {
		return nil, report.Inspect{}, err
	}
	r := inspected(m, path, o)
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

// inspected is the report about an open model, under the path that was given.
func inspected(m position.Model, path string, o OpenOptions) report.Inspect {
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

// InspectReader is Inspect of a model that is read from anywhere: see OpenReader.
func InspectReader(ctx context.Context, r io.ReaderAt, size int64, name string, companions Companions) (report.Inspect, error) {
	m, err := OpenReader(ctx, r, size, name, companions)
	if err != nil {
		return report.Inspect{}, err
	}
	defer m.Close()
	return inspected(m, name, OpenOptions{}), ReadError(m)
}
