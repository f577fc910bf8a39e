// Package diff says what changed between two model files: position encodings,
// lengths, metadata keys, tensors, nodes and what a graph declares.
//
// Start with Files. The comparison of parts and the pairing of encodings are those of package
// verify, which also judges whether a change is sound; diff only tells what is there. Contents are read once, in steps
// of 64 KiB; what is held in memory are the lists of parts.
package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Files compares the models at two paths.
func Files(ctx context.Context, a, b string, open modelpatch.OpenOptions) (report.Diff, error) {
	before, err := modelpatch.OpenContext(ctx, a, open)
	if err != nil {
		return report.Diff{}, err
	}
	defer before.Close()
	after, err := modelpatch.OpenContext(ctx, b, open)
	if err != nil {
		return report.Diff{}, err
	}
	defer after.Close()
	d, err := Models(ctx, before, after)
	d.A, d.B = report.Name(a), report.Name(b)
	return d, err
}

// Models compares two open models of one format.
func Models(ctx context.Context, a, b position.Model) (report.Diff, error) {
	was, is := position.Inspect(a), position.Inspect(b)
	d := report.Diff{Schema: report.SchemaDiff, A: was.Path, B: is.Path, Keys: []report.KeyDiff{}, Tensors: []report.TensorDiff{},
		Nodes: []report.NodeDiff{}, Declared: []report.DeclaredDiff{}}
	if was.Format != is.Format {
		return d, &modelpatch.UsageError{What: fmt.Sprintf("one file is %s and the other %s", was.Format, is.Format), Hint: "diff compares two files of one format"}
	}
	d.Encodings = encodings(a, b, was.Encodings, is.Encodings)
	if !sameLength(was.Length, is.Length) {
		d.Length = &report.LengthDiff{From: was.Length, To: is.Length}
	}
	t, err := compareParts(ctx, a, b, &d)
	if err != nil {
		return d, err
	}
	if d.Same = d.Differ == 0; d.Same {
		if d.Identical, err = identical(ctx, was, is); err != nil {
			return d, err
		}
	}
	d.Summary = summary(d, t)
	return d, ctx.Err()
}

func sameLength(a, b report.Length) bool {
	return equalNumber(a.Stated, b.Stated) && equalNumber(a.Capacity, b.Capacity) && a.Beyond == b.Beyond
}

func equalNumber(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// identical reports whether all files of two models are equal byte for byte, in their order.
func identical(ctx context.Context, a, b report.Inspect) (bool, error) {
	if len(a.Files) != len(b.Files) || a.Bytes != b.Bytes {
		return false, nil
	}
	was, is := filesOf(a), filesOf(b)
	for i := range was {
		if same, err := sameFile(ctx, was[i], is[i]); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// filesOf are the paths of a model's files, the main one first.
func filesOf(r report.Inspect) []string {
	out := []string{r.Path}
	for _, f := range r.Files {
		out = append(out, f.Path)
	}
	return out
}

// sameFile compares two files to their ends.
func sameFile(ctx context.Context, a, b string) (bool, error) {
	x, err := os.Open(a)
	if err != nil {
		return false, unreadable(a, err)
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false, unreadable(b, err)
	}
	defer y.Close()
	info1, err1 := x.Stat()
	info2, err2 := y.Stat()
	if err := errors.Join(err1, err2); err != nil {
		return false, unreadable(a, err)
	}
	if os.SameFile(info1, info2) {
		return true, nil
	}
	if info1.Size() != info2.Size() {
		return false, nil
	}
	const step = 1 << 20
	bufX, bufY := make([]byte, step), make([]byte, step)
	for left := info1.Size(); left > 0; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n := min(left, step)
		if _, err := io.ReadFull(x, bufX[:n]); err != nil {
			return false, unreadable(a, err)
		}
		if _, err := io.ReadFull(y, bufY[:n]); err != nil {
			return false, unreadable(b, err)
		}
		if !bytes.Equal(bufX[:n], bufY[:n]) {
			return false, nil
		}
		left -= n
	}
	return true, nil
}

func unreadable(path string, err error) error {
	return &modelpatch.InputError{Path: path, What: "cannot be read", Why: err.Error(), Err: err}
}
