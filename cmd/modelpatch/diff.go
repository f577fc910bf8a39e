package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/diff"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

func newDiff(c *console) *cobra.Command {
	var asJSON, verbose bool
	var patchPath string
	var o diff.PatchOptions
	cmd := &cobra.Command{
		Use:   "diff A B [--patch OUT.mpatch]",
		Short: "Say what differs between two model files",
		Long: `diff says what changed from model A to model B: position encodings and their
parameters, lengths, metadata keys, tensors, nodes, and what a graph declares. The
first line is the sentence that a reviewer needs. Tensors and nodes that only have
another name are told as renamed. diff does not judge the change; verify does.

--patch writes the difference as a patch file, whoever made the two files: apply makes B of
A bit for bit, revert A of B. Of a model of several files each that differs gets its own.

It exits 0 where no part differs, and 1 otherwise. Both files are read once, whole.`,
		Example: `  modelpatch diff model.gguf longer.gguf
  modelpatch diff --patch update.mpatch model.gguf finetuned.gguf
  modelpatch diff --json old.onnx new.onnx
  git difftool -x 'modelpatch diff' HEAD~1 -- model.gguf`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, files []string) error {
			if patchPath != "" && (diff.IsNull(files[0]) || diff.IsNull(files[1])) {
				return &position.UsageError{What: "--patch with no model on one side", Hint: "a patch makes one model of another"}
			}
			d, err := diff.Files(cmd.Context(), files[0], files[1], o.Open)
			if err == nil && patchPath != "" {
				d.Written, err = diff.Patch(cmd.Context(), files[0], files[1], patchPath, o)
				c.changed = len(d.Written) > 0
			}
			switch {
			case err != nil:
				c.fail(unreadableOf(files, err), err, asJSON)
				return &codedError{modelpatch.ExitCode(err)}
			case asJSON:
				c.json(d)
			default:
				c.diff(d, verbose)
				for _, w := range d.Written {
					c.field("written", text(w.Path)+", "+bytesText(w.Bytes))
				}
				if patchPath != "" && len(d.Written) == 0 {
					c.field("written", "no patch: the files are equal byte for byte")
				}
			}
			if !d.Same {
				return &codedError{modelpatch.ExitNo}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&patchPath, "patch", "", "write a patch file that makes B of A")
	f.BoolVarP(&o.Force, "force", "f", false, "with --patch: replace an existing patch file")
	f.BoolVar(&o.Digest, "digest", false, "with --patch: compute the SHA-256 of the patch file")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVarP(&verbose, "verbose", "v", false, "list everything that differs, and from which byte on")
	return reading(c, cmd, &o.Open)
}

// unreadableOf is the file of two that an error speaks of.
func unreadableOf(files []string, err error) string {
	if strings.HasPrefix(err.Error(), report.Printable(source.ShownPath(files[0]))+":") {
		return files[0]
	}
	return files[1]
}

// mostDifferences is how many of a kind are listed without --verbose.
const mostDifferences = 20

// diff prints what differs: the sentence, then line by line.
func (c *console) diff(d report.Diff, verbose bool) {
	about := d.B
	if diff.IsNull(about) {
		about = d.A
	}
	c.headline(text(about), oneLine(d.Summary))
	for _, e := range d.Encodings {
		name := e.From
		if name == nil {
			name = e.To
		}
		c.field(name.Name(), strings.Join(e.Says, "; "))
	}
	if l := d.Length; l != nil {
		c.field("length", lengthOf(l.From)+" → "+lengthOf(l.To))
	}
	lines := differenceLines(d, verbose)
	for _, kind := range lines {
		for i, line := range kind.lines {
			if i == mostDifferences && !verbose {
				c.field("", fmt.Sprintf("and %d more (--verbose lists them)", len(kind.lines)-i))
				break
			}
			c.field(kind.label, line)
		}
	}
}

// lengthOf says how far a model counts.
func lengthOf(l report.Length) string {
	out := l.Limit().Of("positions")
	if l.Stated != nil && *l.Stated != int(l.Limit()) {
		out += fmt.Sprintf(" (%d stated)", *l.Stated)
	}
	return out
}

// differences are lines about one kind of part.
type differences struct {
	label string
	lines []string
}

// differenceLines says every part that differs, by kind.
func differenceLines(d report.Diff, verbose bool) []differences {
	keys, tensors, nodes := differences{label: "key"}, differences{label: "tensor"}, differences{label: "node"}
	declared := differences{label: "declared"}
	for _, k := range d.Keys {
		keys.lines = append(keys.lines, text(k.Key)+": "+keyChange(k))
	}
	for _, t := range d.Tensors {
		tensors.lines = append(tensors.lines, text(t.Name)+": "+tensorChange(t, verbose))
	}
	for _, n := range d.Nodes {
		nodes.lines = append(nodes.lines, text(n.Node)+": "+nodeChange(n, verbose))
	}
	inner := 0
	for _, x := range d.Declared {
		if x.What == diff.InnerType && !verbose {
			inner++
			continue
		}
		declared.lines = append(declared.lines, x.What+" "+text(x.Name)+": "+declaredChange(x))
	}
	if inner > 0 {
		declared.lines = append(declared.lines, plural(inner, "type")+" of values inside the graph, which engines infer (--verbose lists them)")
	}
	return []differences{keys, tensors, nodes, declared}
}

func keyChange(k report.KeyDiff) string {
	switch k.Change {
	case report.DiffAdded:
		return "added, " + keyValue(k.To)
	case report.DiffRemoved:
		return "removed, was " + keyValue(k.From)
	case report.DiffRetyped:
		return fmt.Sprintf("%s (%s) → %s (%s)", keyValue(k.From), k.FromType, keyValue(k.To), k.ToType)
	}
	from, to := keyValue(k.From), keyValue(k.To)
	if from == to {
		return from + ", with other content"
	}
	return from + " → " + to
}

// keyValue is a key's value for a line.
func keyValue(v any) string {
	switch x := v.(type) {
	case report.Number:
		return schemes.Text(float64(x))
	case string:
		return text(x)
	}
	return fmt.Sprint(v)
}

func tensorChange(t report.TensorDiff, verbose bool) string {
	switch t.Change {
	case report.DiffAdded:
		return "added, " + text(t.To) + ", " + bytesText(t.Bytes)
	case report.DiffRemoved:
		return "removed, was " + text(t.From) + ", " + bytesText(t.Bytes)
	case report.DiffRenamed:
		return "now named " + text(t.NewName)
	case report.DiffBytes:
		out := fmt.Sprintf("other bytes: %d in %s, from byte %d on", t.Bytes, plural(t.Count, "place"), t.At[0][0])
		if verbose {
			for _, at := range t.At {
				out += fmt.Sprintf(" %d-%d", at[0], at[1]-1)
			}
		}
		return out
	}
	return text(t.From) + " → " + text(t.To)
}

func nodeChange(n report.NodeDiff, verbose bool) string {
	out := n.Change
	if n.Change == report.DiffRenamed {
		out = "now named " + text(n.NewName)
	}
	switch {
	case n.Change == report.DiffAdded:
		return out + ", " + text(n.To)
	case n.Change == report.DiffRemoved:
		return out + ", was " + text(n.From)
	case n.Change == report.DiffAttributes || verbose && n.Change != report.DiffRenamed:
		return out + ", " + text(n.From) + " → " + text(n.To)
	}
	return out
}

func declaredChange(x report.DeclaredDiff) string {
	switch {
	case x.Change == report.DiffAdded && x.To != "":
		return "added, " + text(x.To)
	case x.Change == report.DiffRemoved && x.From != "":
		return "removed, was " + text(x.From)
	case x.Change != report.DiffChanged:
		return x.Change
	case x.From == x.To:
		return "other content"
	}
	return text(x.From) + " → " + text(x.To)
}
