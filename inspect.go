package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Inspect says which position encodings a model file has, and how far it counts. Standard input
// ([Stdin]) and compressed files (.zst, .gz) are unpacked to a temporary file.
func Inspect(ctx context.Context, path string, o OpenOptions) (report.Inspect, error) {
	return source.Inspect(ctx, path, source.Options(o))
}

// Describe says of an open model what Inspect says of a file; name is what it was opened as: a path, an
// address, or the name that OpenReader got. The error is that of a model whose reading failed meanwhile:
// what was found out about it may be wrong.
func Describe(m position.Model, name string) (report.Inspect, error) {
	return source.Describe(m, name, source.Options{}), source.ReadError(m)
}
