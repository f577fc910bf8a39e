package change

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// writePatches writes a patch file for every file that the plan edits: beside
// each output that is not made.
func (c *writing) writePatches(ctx context.Context, target string) error {
	plan := c.plan
	for i, o := range plan.Outputs {
		if len(plan.Edited(i)) == 0 {
			continue
		}
		name := target
		if i > 0 {
			name = filepath.Join(filepath.Dir(target), o.Name)
		}
		in := plan.Inputs[o.Input].Path
		from := plan.Inputs[o.Input].Reader
		if from == nil {
			file, _, err := regular.Open(in)
			if err != nil {
				return source.CannotOpen(in, err)
			}
			defer file.Close()
			from = file
		}
		made := strings.TrimSuffix(filepath.Base(name), patch.Suffix)
		if made != filepath.Base(name) && filepath.Ext(made) == "" {
			made = "" // -o names the patch alone
		}
		options := patch.PatchOptions{Target: made, Change: c.command, Expect: report.Expected(c.out.Changes), Request: c.out.RequestJSON(), Data: dataSpans(c.old, in), FullDigest: c.w.FullDigest}
		if !strings.HasSuffix(name, patch.Suffix) {
			name += patch.Suffix
		}
		w, err := patch.Save(ctx, plan.Inputs, name, c.w.saving(), func(w io.Writer) error { return plan.WritePatch(w, i, from, options) })
		if err != nil {
			return err
		}
		noteWritten(c.out, w, "patch")
	}
	return nil
}

// writeEdits writes the plan as a JSON list of byte ranges: each is replaced by
// the content, in base64. Ranges are of the original file, in order; path says
// of which one when there are several.
func (c *writing) writeEdits(ctx context.Context) error {
	plan := c.plan
	to := c.w.outputs()
	if err := to.Reads(c.path); err != nil {
		return err
	}
	out, err := to.CreateOf(ctx, "the list of edits", c.w.Edits, plan.Inputs, c.w.saving())
	if err != nil {
		return err
	}
	defer out.Close()
	if err := listEdits(out, plan.Normalize(), len(editedFiles(plan)) > 1); err != nil {
		return err
	}
	w, err := out.Commit()
	if err == nil && !target.IsStream(c.w.Edits) {
		noteWritten(c.out, w, "edits")
	}
	return err
}

// listEdits writes the edits of a plan.
func listEdits(w io.Writer, plan patch.Plan, several bool) error {
	b := bufio.NewWriter(w)
	b.WriteString("[")
	for i, e := range plan.Edits {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n{")
		if several {
			name, err := json.Marshal(report.Name(filepath.Base(plan.Inputs[e.File].Path)))
			if err != nil {
				return err
			}
			fmt.Fprintf(b, `"path":%s,`, name)
		}
		fmt.Fprintf(b, `"start":%d,"end":%d,"content":"`, e.At, e.At+e.Old)
		if e.New != nil {
			encoder := base64.NewEncoder(base64.StdEncoding, b)
			if _, err := io.Copy(encoder, e.New.Open()); err != nil {
				return err
			}
			if err := encoder.Close(); err != nil {
				return err
			}
		}
		b.WriteString(`"}`)
	}
	b.WriteString("\n]\n")
	return b.Flush()
}
