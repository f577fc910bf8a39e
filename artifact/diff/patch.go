package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// PatchOptions say how patch files are written.
type PatchOptions struct {
	Open   modelpatch.OpenOptions
	Force  bool // existing patch files may be replaced
	Digest bool // SHA-256 of the patch files
}

// patch.Suffix is how names of patch files end.

// Patch writes a patch file that makes model b of model a, whoever made either: modelpatch.Apply
// then gives b bit for bit, and modelpatch.Revert gives a back. Of a model of several files each
// that differs gets its own, beside out and named after b's file. Files that are equal get none.
// What the edits make of a is compared with b before the patch gets its name.
func Patch(ctx context.Context, a, b, out string, o PatchOptions) ([]report.Written, error) {
	if target.IsStream(out) {
		return nil, target.NoStream(out)
	}
	before, err := modelpatch.Open(ctx, a, o.Open)
	if err != nil {
		return nil, err
	}
	defer before.Close()
	after, err := modelpatch.Open(ctx, b, o.Open)
	if err != nil {
		return nil, err
	}
	defer after.Close()
	x, y := position.Inspect(before), position.Inspect(after)
	if x.Format != y.Format {
		return nil, &position.UsageError{What: fmt.Sprintf("a patch from %s to %s", formatName(x.Format), formatName(y.Format)), Hint: "it would be the whole new file: a patch is between two files of one format"}
	}
	was, is := filesOf(x), filesOf(y)
	if len(was) != len(is) {
		return nil, &patch.RefusedError{Path: b, Why: fmt.Sprintf("it consists of %d files and %s of %d: a patch changes files one by one", len(is), report.Printable(a), len(was)),
			Instead: "make both models of as many files: with the weights inside, or all in data files"}
	}
	if !strings.HasSuffix(out, patch.Suffix) {
		out += patch.Suffix
	}
	var inputs []patch.Input
	for i, path := range append(append([]string{}, was...), is...) {
		if model := []string{a, b}[i/len(was)]; source.IsAddress(model) {
			continue // no file that is written can be it
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		inputs = append(inputs, patch.Input{Path: path, Size: info.Size(), Info: info})
	}
	var written []report.Written
	for i := range was {
		name := out
		if i > 0 {
			name = filepath.Join(filepath.Dir(out), filepath.Base(is[i])+patch.Suffix)
		}
		w, err := onePatch(ctx, before, modelFile{a, was[i], o.Open}, modelFile{b, is[i], o.Open}, name, inputs, o)
		if err != nil {
			return written, err
		}
		if w != nil {
			written = append(written, *w)
		}
	}
	return written, nil
}

// onePatch writes the patch file of one file of a model, nil where the files are equal.
func onePatch(ctx context.Context, before position.Model, from, to modelFile, name string, inputs []patch.Input, o PatchOptions) (*report.Written, error) {
	a, b := from.path, to.path
	x, sizeA, closeX, err := source.OpenFile(ctx, from.model, a, source.Options(from.open))
	if err != nil {
		return nil, err
	}
	defer closeX()
	y, sizeB, closeY, err := source.OpenFile(ctx, to.model, b, source.Options(to.open))
	if err != nil {
		return nil, err
	}
	defer closeY()
	edits, err := patch.Between(ctx, x, y, sizeA, sizeB)
	if err != nil {
		return nil, readError(ctx, a, err)
	}
	if len(edits) == 0 {
		return nil, nil
	}
	for i := range edits {
		edits[i].Why = "differs"
	}
	plan := patch.Plan{Inputs: []patch.Input{{Path: a, Size: sizeA}}, Outputs: []patch.Output{{}}, Edits: edits}
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if err := makes(ctx, plan, x, y, sizeB); err != nil {
		return nil, readError(ctx, b, err)
	}
	options := patch.PatchOptions{Target: filepath.Base(b), Change: "diff " + report.Name(filepath.Base(a)) + " " + report.Name(filepath.Base(b)), FullDigest: true}
	if d, ok := before.(position.DataSpanner); ok {
		options.Data = d.DataSpans(a)
	}
	w, err := patch.Save(ctx, inputs, name, patch.WriteOptions{Force: o.Force, Digest: o.Digest}, func(w io.Writer) error { return plan.WritePatch(w, 0, x, options) })
	if err != nil {
		return nil, err
	}
	r := report.Written{Path: report.Name(w.Path), Bytes: w.Bytes, How: "patch"}
	if w.SHA256 != "" {
		r.SHA256 = &w.SHA256
	}
	return &r, nil
}

func readError(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return unreadable(path, err)
}

// makes compares what a plan makes of one file with another, to the end.
func makes(ctx context.Context, plan patch.Plan, a io.ReaderAt, b io.ReaderAt, size int64) error {
	const step = 1 << 16
	got, want := make([]byte, step), make([]byte, step)
	x := plan.NewReader(0, a)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, size-at)
		if _, err := io.ReadFull(x, got[:n]); err != nil {
			return err
		}
		if _, err := io.ReadFull(io.NewSectionReader(b, at, n), want[:n]); err != nil {
			return err
		}
		if !bytes.Equal(got[:n], want[:n]) {
			return fmt.Errorf("it changed while it was read, near byte %d", at)
		}
		at += n
	}
	if n, err := x.Read(got[:1]); n > 0 || err != io.EOF {
		return errors.New("it changed while it was read: it has another size")
	}
	return nil
}
