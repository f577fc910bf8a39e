package main

import (
	"context"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/journal"
	"github.com/modelpatch/modelpatch/internal/ordered"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/deviation"
	"github.com/modelpatch/modelpatch/report"
)

// inspectCommand is inspect with the values of its flags.
type inspectCommand struct {
	c                                  *console
	asJSON, verbose, inTable, textconv bool
	workers                            int
	open                               modelpatch.OpenOptions
	written                            outputs
	page                               htmlPage
	many                               fleet
}

func newInspect(c *console) *cobra.Command {
	x := &inspectCommand{c: c}
	x.page.outputs, x.many.outputs = &x.written, &x.written
	cmd := &cobra.Command{
		Use:   "inspect FILE|FOLDER|-…",
		Short: "Report which position encoding a model uses and how far it reaches",
		Long: `inspect reports which position encodings a model uses, with their parameters,
how far they reach, and what is wrong with the file; --verbose adds where they
are in it and what each claim rests on.

With --json it prints one object a file and line (schema modelpatch.inspect/1).
A folder means every model below it, each once; - is standard input; .zst and
.gz are unpacked while they are read. Every file is tried; the greatest of their
exit codes is returned. A file that lies on a server is named by its address:
https://, hf://ORG/REPO[@REV]/FILE, oci://REGISTRY/NAME:TAG. Of a patch file (.mpatch) it says what that changes.
--html writes the report of one model with pictures of its encodings as a page
that needs no network and no script. --textconv prints what git compares: the report
without the file's name, and digests of weights and of all else. It never fails: what
cannot be read is said in place of the report.`,
		Example: `  modelpatch inspect model.gguf
  modelpatch inspect --table models/
  modelpatch inspect --json *.onnx | jq .length`,
		Args: x.many.arguments,
		RunE: x.run,
	}
	x.addFlags(cmd)
	return reading(c, cmd, &x.open)
}

func (x *inspectCommand) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&x.asJSON, "json", false, "one JSON object a file and line")
	f.StringVar(&x.open.ExternalRoot, "external-root", "", "a folder in which external data of ONNX models may lie as well")
	f.Int64Var(&x.open.MaxUnpacked, "max-unpacked", 0, "bytes that a compressed input may come to (default 64 GiB)")
	f.IntVarP(&x.workers, "jobs", "j", runtime.NumCPU(), "files that are looked at at once")
	f.BoolVarP(&x.verbose, "verbose", "v", false, "also say what each claim rests on, and its bytes")
	f.StringVar(&x.open.Engine, "engine", "", "also say what this engine computes otherwise: "+strings.Join(deviation.Engines, ", "))
	takes(cmd, "engine", deviation.Engines...)
	f.BoolVar(&x.textconv, "textconv", false, "for git's diff.NAME.textconv: the report without a path, and digests of the content")
	f.BoolVar(&x.inTable, "table", false, "one line a model, in columns (findings of the files themselves; check has more rules)")
	x.page.addFlags(cmd)
	x.many.addFlags(cmd)
}

func (x *inspectCommand) run(cmd *cobra.Command, files []string) error {
	ctx := cmd.Context()
	inputs, err := x.many.expand(files)
	if err != nil {
		return err
	}
	alone := !x.inTable && x.page.path == "" && x.many.path == ""
	if x.textconv && (len(inputs) != 1 || cmd.Flags().Changed("json") || !alone) {
		return &position.UsageError{What: "--textconv is a text about one file", Hint: "git config diff.model.textconv 'modelpatch inspect --textconv'"}
	}
	if x.textconv || len(files) == 1 && !x.asJSON && alone && isTextconv() { // by a configuration without the flag
		x.c.textconv(ctx, inputs[0], x.open, x.verbose)
		return nil
	}
	if x.inTable && (x.asJSON || x.verbose) {
		return &position.UsageError{What: "--table with --json or --verbose", Hint: "a table has a line a model: leave one of them out"}
	}
	defer x.page.close()
	if err := x.page.open(ctx, inputs); err != nil {
		return x.c.failed(strings.Join(files, " "), err, x.asJSON)
	}
	if x.many.path != "" && !x.asJSON {
		return &position.UsageError{What: "--journal without --json", Hint: "a journal remembers reports as JSON"}
	}
	if err := x.many.begin(x.open, "inspect", x.open.ExternalRoot); err != nil {
		return err
	}
	if err := x.page.write(ctx, inputs, x.open); err != nil {
		return x.c.failed(strings.Join(files, " "), err, x.asJSON)
	}
	return x.inspectAll(ctx, inputs)
}

// inspectAll prints the reports about all inputs in their order, and returns the first error of the journal or else
// the greatest exit code.
func (x *inspectCommand) inspectAll(ctx context.Context, inputs []input) error {
	worst := 0
	var failed error
	var lines table
	progress := x.many.counting(x.c, "inspected", inputs)
	look := func(in input) inspected { return x.look(ctx, in) }
	ordered.Each(ctx, x.workers, ahead, x.many.inputs(inputs), look, func(in input, r inspected) bool {
		defer progress.printing()()
		if in.same != "" {
			x.c.say("modelpatch: %s: left out: it is the same file as %s", text(in.path), text(in.same))
			return true
		}
		if x.inTable && r.err == nil && !isPatchName(in.path) {
			lines.add(r.Inspect)
			return true
		}
		var code int
		if code, failed = x.many.inspected(x.c, ctx, in, r, x.open, x.asJSON, x.verbose); failed != nil {
			return false
		}
		worst = max(worst, code)
		return x.c.out.err == nil // else nobody would read the rest
	})
	progress.end()
	lines.print(x.c)
	if err := x.many.end(); failed == nil {
		failed = err
	}
	if failed != nil {
		return failed
	}
	if worst != 0 {
		return &codedError{worst}
	}
	return nil
}

// look reads one input, unless the journal knows its report.
func (x *inspectCommand) look(ctx context.Context, in input) inspected {
	if e, ok := x.many.done(ctx, in.path); ok && in.err == nil {
		return inspected{done: &e}
	}
	if in.err != nil || in.same != "" || isPatchName(in.path) {
		return inspected{err: in.err}
	}
	seen := x.many.before(ctx, in.path)
	r := look(ctx, in.path, x.open, x.verbose && !x.asJSON && !source.IsAddress(in.path))
	r.seen = x.many.further(ctx, in.path, seen, &r.Inspect)
	return r
}

// ahead is how many results may wait for the one before them.
const ahead = 64

// inspected is the report about one input, or why there is none.
type inspected struct {
	report.Inspect
	err error
	// norms are the norms of the rows of encodings that are tables, as a line, by the id
	// of the encoding.
	norms map[string]string
	done  *journal.Entry // what a journal knows; nil: nothing
	seen  []looked       // the files that it was made of, before
}

// inspected prints the report about one input, or what the journal knows of it, notes it, and returns the
// exit code for it.
func (f *fleet) inspected(c *console, ctx context.Context, in input, r inspected, open modelpatch.OpenOptions, asJSON, verbose bool) (int, error) {
	if r.done != nil {
		c.out.Write(append(r.done.Result, '\n'))
		return r.done.Code, nil
	}
	code := c.inspectOne(ctx, in, r, open, asJSON, verbose)
	if f.journal == nil || in.err != nil || isPatchName(in.path) {
		return code, nil
	}
	if r.err != nil {
		line, err := report.Stamped(errorReport(in.path, r.err), version())
		if err != nil {
			return code, err
		}
		return code, f.note(ctx, in.path, r.seen, r.err, code, line)
	}
	line, err := report.Stamped(r.Inspect, version())
	if err != nil {
		return code, err
	}
	return code, f.note(ctx, in.path, r.seen, nil, code, line)
}

// inspectOne prints the report about one input, or why there is none, and
// returns the exit code for it.
func (c *console) inspectOne(ctx context.Context, in input, r inspected, open modelpatch.OpenOptions, asJSON, verbose bool) int {
	switch {
	case r.err == nil && isPatchName(in.path):
		return c.show(ctx, in.path, open, asJSON, verbose)
	case r.err != nil:
		c.fail(in.path, r.err, asJSON)
	case asJSON:
		c.json(r.Inspect)
	default:
		c.inspect(r.Inspect, verbose, r.norms)
	}
	return modelpatch.ExitCode(r.err)
}
