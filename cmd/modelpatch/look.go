package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/terminal"
	"github.com/modelpatch/modelpatch/position"
)

// look inspects a model; norms asks for the norms of its tables as well.
func look(ctx context.Context, path string, o modelpatch.OpenOptions, norms bool) inspected {
	if !norms {
		r, err := modelpatch.Inspect(ctx, path, o)
		return inspected{Inspect: r, err: err}
	}
	m, r, err := source.OpenInspected(ctx, path, source.Options(o))
	if err != nil || m == nil {
		return inspected{Inspect: r, err: err}
	}
	defer m.Close()
	const bars, most = 40, 4000
	out := inspected{Inspect: r, norms: map[string]string{}}
	for i, s := range m.Sites() {
		// Rows that cannot be read are told by check and verify, not by a line of bars.
		if values, err := picture.Norms(s, most); err == nil && values != nil {
			out.norms[position.ID(i)] = terminal.Sparkline(values, bars)
		}
	}
	return out
}

// htmlPage is the flag --html of inspect.
type htmlPage struct {
	path    string
	force   bool
	outputs *outputs
	target  *target.File // nil: none is written
}

func (h *htmlPage) addFlags(cmd *cobra.Command) {
	h.outputs.addFlags(cmd)
	cmd.Flags().StringVar(&h.path, "html", "", "also write the report with pictures as this HTML `FILE`")
	cmd.Flags().BoolVarP(&h.force, "force", "f", false, "with --html: replace an existing file")
}

// open begins the page of the one model that there is.
func (h *htmlPage) open(ctx context.Context, inputs []input) (err error) {
	if h.path == "" {
		return nil
	}
	if len(inputs) != 1 || isPatchName(inputs[0].path) {
		return &position.UsageError{What: "--html is a page about one model", Hint: "run it for each model, with a file of its own"}
	}
	if inputs[0].err != nil {
		return inputs[0].err
	}
	h.target, err = h.outputs.picture(ctx, "--html", h.path, h.force, []string{inputs[0].path})
	return err
}

// write writes it.
func (h *htmlPage) write(ctx context.Context, inputs []input, o modelpatch.OpenOptions) error {
	if h.target == nil {
		return nil
	}
	d, err := draw(ctx, []string{inputs[0].path}, o)
	if err != nil {
		return err
	}
	content, err := d.in(formatHTML, &console{})
	if err != nil {
		return err
	}
	return complete(h.target, content)
}

// close removes what was not completed.
func (h *htmlPage) close() {
	if h.target != nil {
		h.target.Close()
	}
}
