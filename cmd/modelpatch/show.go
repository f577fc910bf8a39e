package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

func newShow(c *console) *cobra.Command {
	var asJSON, verbose bool
	var open modelpatch.OpenOptions
	cmd := &cobra.Command{
		Use:   "show PATCH…",
		Short: "Say what a patch file changes",
		Long: `show prints the header of patch files (.mpatch) in words: which change of which file
they hold, and how many bytes. With --json it prints the header as it is in the file.
inspect does the same for names that end in .mpatch.`,
		Example: `  modelpatch show model.gguf.undo.mpatch`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			worst := 0
			for _, path := range files {
				worst = max(worst, c.show(cmd.Context(), path, open, asJSON, verbose))
			}
			if worst != 0 {
				return &codedError{worst}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the header, one JSON object a file and line")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also list the byte ranges that change")
	return reading(c, cmd, &open)
}

// isPatchName reports whether a file is a patch by its name.
func isPatchName(path string) bool {
	return strings.HasSuffix(source.ShownPath(path), patch.Suffix)
}

// show prints the header of a patch file and returns the exit code.
func (c *console) show(ctx context.Context, path string, open modelpatch.OpenOptions, asJSON, verbose bool) int {
	p, err := source.OpenPatch(ctx, path, source.Options(open))
	if err != nil {
		c.fail(path, err, asJSON)
		return modelpatch.ExitCode(err)
	}
	defer p.Close()
	if asJSON {
		c.json(p.PatchHeader)
		return modelpatch.ExitDone
	}
	old, fresh := p.Bytes()
	c.headline(text(source.ShownPath(path)), "patch: "+text(p.Change))
	c.field("from", text(p.Source.Name)+", "+bytesText(p.Source.Size))
	c.field("to", text(p.Target.Name)+", "+bytesText(p.Target.Size))
	c.field("edits", fmt.Sprintf("%d: %s give way to %s", len(p.Edits), bytesText(old), bytesText(fresh)))
	if p.Source.SHA256 != "" {
		c.field("identity", "SHA-256 of both files whole")
	} else {
		c.field("identity", "size, all bytes but tensor data, and tensor data near the edits")
	}
	if p.Replace {
		c.field("in place", "the file is replaced as a whole")
	} else if p.Moves() > 1 {
		c.field("in place", "no: several places change the file's length; apply needs -o NEW")
	}
	for _, b := range p.Beside {
		c.field("beside", text(b.Name)+" "+text(b.Pointer)+": "+text(b.Old)+" → "+text(b.New))
	}
	for _, e := range p.Edits {
		if verbose {
			c.field("", fmt.Sprintf("%d bytes at %d become %d: %s", e.Old, e.At, e.New, text(report.Name(e.Why))))
		}
	}
	return modelpatch.ExitDone
}
