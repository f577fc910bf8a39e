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
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Files compares the models at two paths. The null device stands for no model: git's difftool
// names it for a file that is new or gone.
func Files(ctx context.Context, a, b string, open modelpatch.OpenOptions) (report.Diff, error) {
	if IsNull(a) || IsNull(b) {
		return alone(ctx, a, b, open)
	}
	before, err := modelpatch.Open(ctx, a, open)
	if err != nil {
		return report.Diff{}, err
	}
	defer before.Close()
	after, err := modelpatch.Open(ctx, b, open)
	if err != nil {
		return report.Diff{}, err
	}
	defer after.Close()
	d, err := compare(ctx, before, after, func(was, is string) (bool, error) {
		return sameFile(ctx, modelFile{a, was, open}, modelFile{b, is, open})
	})
	d.A, d.B = report.Name(source.ShownPath(a)), report.Name(source.ShownPath(b))
	for _, m := range []position.Model{before, after} {
		if lost := source.ReadError(m); lost != nil {
			return d, lost
		}
	}
	return d, err
}

// IsNull reports whether a path stands for no model.
func IsNull(path string) bool { return path == os.DevNull || path == "/dev/null" }

// alone tells of a model that is new, where a is no model, or gone, where b is none.
func alone(ctx context.Context, a, b string, open modelpatch.OpenOptions) (report.Diff, error) {
	d := empty(report.Name(source.ShownPath(a)), report.Name(source.ShownPath(b)))
	path, word, says := b, report.DiffAdded, "the model is new"
	if IsNull(b) {
		path, word, says = a, report.DiffRemoved, "the model is gone"
	}
	if IsNull(path) {
		return d, &position.UsageError{What: "neither side is a model", Hint: "name two models, or one and " + os.DevNull}
	}
	m, err := modelpatch.Open(ctx, path, open)
	if err != nil {
		return d, err
	}
	defer m.Close()
	for _, e := range position.Inspect(m).Encodings {
		if e.Scheme == report.SchemeNone {
			continue
		}
		x := report.EncodingDiff{ID: e.ID, Change: word, Says: []string{word}}
		if word == report.DiffAdded {
			x.To = &e
		} else {
			x.From = &e
		}
		d.Encodings = append(d.Encodings, x)
	}
	parts, err := partsOf(ctx, m)
	if err != nil {
		return d, err
	}
	d.Parts, d.Differ = len(parts), len(parts)
	d.Summary = strings.Join(append(encodingSummary(d), fmt.Sprintf("%s, with all its %d parts", says, len(parts))), "; ")
	return d, source.ReadError(m)
}

// empty is a report in which nothing differs.
func empty(a, b string) report.Diff {
	return report.Diff{Schema: report.SchemaDiff, A: a, B: b, Encodings: []report.EncodingDiff{}, Keys: []report.KeyDiff{}, Tensors: []report.TensorDiff{},
		Nodes: []report.NodeDiff{}, Declared: []report.DeclaredDiff{}}
}

// modelFile is a file of a model, as source.OpenFile opens it.
type modelFile struct {
	model, path string
	open        modelpatch.OpenOptions
}

// compare compares two open models; same compares a file of either. Of two formats position encodings and
// lengths are compared, and nothing else: no part of one is a part of the other.
func compare(ctx context.Context, a, b position.Model, same func(was, is string) (bool, error)) (report.Diff, error) {
	was, is := position.Inspect(a), position.Inspect(b)
	d := empty(was.Path, is.Path)
	d.Encodings = encodings(a, b, was.Encodings, is.Encodings)
	if !sameLength(was.Length, is.Length) {
		d.Length = &report.LengthDiff{From: was.Length, To: is.Length}
	}
	if was.Format != is.Format {
		says := fmt.Sprintf("%s against %s: tensors, keys and nodes are not compared", formatName(was.Format), formatName(is.Format))
		d.Summary = strings.Join(append(encodingSummary(d), says), "; ")
		return d, ctx.Err()
	}
	t, err := compareParts(ctx, a, b, &d)
	if err != nil {
		return d, err
	}
	if d.Same = d.Differ == 0; d.Same {
		if d.Identical, err = identical(was, is, same); err != nil {
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
func identical(a, b report.Inspect, equal func(was, is string) (bool, error)) (bool, error) {
	if len(a.Files) != len(b.Files) || a.Bytes != b.Bytes {
		return false, nil
	}
	was, is := filesOf(a), filesOf(b)
	for i := range was {
		if same, err := equal(was[i], is[i]); err != nil || !same {
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
func sameFile(ctx context.Context, a, b modelFile) (bool, error) {
	x, sizeA, closeA, err := source.OpenFile(ctx, a.model, a.path, source.Options(a.open))
	if err != nil {
		return false, err
	}
	defer closeA()
	y, sizeB, closeB, err := source.OpenFile(ctx, b.model, b.path, source.Options(b.open))
	if err != nil {
		return false, err
	}
	defer closeB()
	if sizeA != sizeB {
		return false, nil
	}
	if f, ok := x.(*os.File); ok {
		if g, ok := y.(*os.File); ok && oneFile(f, g) {
			return true, nil
		}
	}
	const step = 1 << 20
	bufX, bufY := make([]byte, step), make([]byte, step)
	for at := int64(0); at < sizeA; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n := min(sizeA-at, step)
		if _, err := io.ReadFull(io.NewSectionReader(x, at, n), bufX[:n]); err != nil {
			return false, unreadable(a.path, err)
		}
		if _, err := io.ReadFull(io.NewSectionReader(y, at, n), bufY[:n]); err != nil {
			return false, unreadable(b.path, err)
		}
		if !bytes.Equal(bufX[:n], bufY[:n]) {
			return false, nil
		}
		at += n
	}
	return true, nil
}

// oneFile reports whether two open files are one.
func oneFile(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func unreadable(path string, err error) error {
	return &modelpatch.InputError{Path: path, What: "cannot be read", Why: err.Error(), Err: err}
}
