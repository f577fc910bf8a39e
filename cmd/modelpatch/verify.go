package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
)

func newVerify(c *console) *cobra.Command {
	var asJSON, verbose, required bool
	var plan string
	var o modelpatch.VerifyOptions
	cmd := &cobra.Command{
		Use:   "verify BEFORE AFTER [--plan PLAN.json] [--expect WORD], verify FILE",
		Short: "Prove what a change left equal, from the numbers in both files",
		Long: `verify compares two files: their structure, every byte that belongs to no
position encoding, the tables, and attention that it runs itself in float64 from
the files' own weights. With one file it checks that file against itself.

Verdicts: same; same-on-prefix (every position of the old length is encoded as
before); changed-as-planned (by a plan, or --expect changed); consistent (a formula
became another by a change that a verb makes, and every other byte is equal). A plan
is what --json, --provenance or a patch tells of the change: given as --plan, or found
beside the files where it makes just the new one.
different and broken exit 1. A check that was not made says so and why. Attention is
sampled, and the sample is told: --layers, --heads, --positions and --full widen it.
--engine also runs both files whole, through modelpatch-engine: ONNX Runtime's library
($ORT_LIB, the loader's path, a Python installation) or a llama-server.`,
		Example: `  modelpatch verify model.onnx longer.onnx
  modelpatch extend --len 8192 model.gguf -o longer.gguf --json > plan.json
  modelpatch verify model.gguf longer.gguf --plan plan.json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, files []string) error {
			o.Engine = o.Engine || required
			p := newProgress(c)
			o.Progress = p.compared
			v, err := runVerify(cmd, files, plan, o)
			p.end()
			unrun := err == nil && required && !engine.Ran(v)
			if unrun {
				v.Hints = append(v.Hints, "no engine ran both files, which --require-engine asks for: exit code 1")
			}
			switch {
			case err != nil:
				c.fail(files[0], err, asJSON)
				return &codedError{modelpatch.ExitCode(err)}
			case asJSON:
				c.json(v)
			default:
				c.verdict(v, verbose)
			}
			if v.Verdict == report.VerdictDifferent || v.Verdict == report.VerdictBroken || unrun {
				return &codedError{modelpatch.ExitNo}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&plan, "plan", "", "the change's own plan, as printed with --json, its --provenance or its patch")
	f.IntVar(&o.Sample.Layers, "layers", 0, "run the attention of so many layers (usually 12)")
	f.IntVar(&o.Sample.Heads, "heads", 0, "run so many heads of each (usually 2)")
	f.IntVar(&o.Sample.Positions, "positions", 0, "run so many positions (usually 48)")
	f.BoolVar(&o.Sample.Full, "full", false, "run all layers, heads and positions, up to 8192")
	f.StringVar(&o.Expect, "expect", "", "same, same-on-prefix or changed")
	f.BoolVar(&o.NoEngine, "no-engine", false, "leave out what modelpatch-engine and modelpatch-crosscheck would check")
	f.BoolVar(&o.Engine, "engine", false, "run both files whole in ONNX Runtime or llama.cpp")
	f.BoolVar(&required, "require-engine", false, "like --engine, and exit 1 where no engine ran them")
	f.StringVar(&o.LlamaServer, "llama-server", "", "the llama-server that runs GGUF (usually that of PATH)")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVarP(&verbose, "verbose", "v", false, "also list the checks that passed")
	takes(cmd, "expect", report.Expectations...)
	c.progressFlag(cmd)
	return reading(c, cmd, &o.Open)
}

func runVerify(cmd *cobra.Command, files []string, plan string, o modelpatch.VerifyOptions) (report.Verify, error) {
	if s := o.Sample; s.Layers < 0 || s.Heads < 0 || s.Positions < 0 {
		return report.Verify{}, &position.UsageError{What: "a number of layers, heads or positions below 0"}
	}
	if o.Engine && (o.NoEngine || len(files) == 1) {
		return report.Verify{}, &position.UsageError{What: "--engine with --no-engine or with one file", Hint: "an engine compares two files: verify BEFORE AFTER --engine"}
	}
	if len(files) == 1 {
		return modelpatch.Verify(cmd.Context(), files[0], o)
	}
	if plan != "" {
		p, err := modelpatch.ReadPlan(plan)
		if err != nil {
			return report.Verify{}, err
		}
		o.Plan = p
	}
	o.Before = files[0]
	return modelpatch.Verify(cmd.Context(), files[1], o)
}

// verdict prints what verify found: the verdict, then what failed or was not
// checked.
func (c *console) verdict(v report.Verify, verbose bool) {
	c.headline(v.Verdict, oneLine(v.Summary))
	c.checks(v.Checks, verbose)
	for _, h := range v.Hints {
		c.say("hint: %s", oneLine(h))
	}
}

// checks prints what was checked: what failed or was not made, and with verbose what passed.
func (c *console) checks(checks []report.Check, verbose bool) {
	passed, attended := 0, false
	for _, k := range checks {
		first := k.Name == report.CheckAttention && !attended // it says what the others come to
		part := k.Name == report.CheckAttention || k.Name == report.CheckSecondOpinion
		attended = attended || first
		if k.Verdict == report.CheckPass {
			passed++
		}
		if !verbose && (k.Verdict == report.CheckPass && k.Name != report.CheckEngine && !first || part && attended && !first) {
			continue
		}
		line := k.Verdict
		if k.Why != "" {
			line += ": " + sentence(k.Why)
		}
		if k.Measure != nil && (verbose || k.Verdict == report.CheckFail) {
			line += "; largest difference " + numberText(k.Measure.MaxAbs)
			if k.Tolerance != nil && k.Verdict == report.CheckPass && k.Measure.MaxAbs > 0 {
				line += " (allowed: " + k.Tolerance.Name + ")"
			}
		}
		if k.Verdict == report.CheckFail && k.At != nil {
			line += atText(k.At)
		}
		c.field(k.Name, line)
	}
	c.field("passed", plural(passed, "check"))
}

func atText(at *report.At) string {
	out := ""
	if at.Layer != nil {
		out += fmt.Sprintf(", layer %d", *at.Layer)
	}
	if at.Head != nil {
		out += fmt.Sprintf(", head %d", *at.Head)
	}
	if at.Position != nil {
		out += fmt.Sprintf(", position %d", *at.Position)
	}
	if w := at.Where; w != nil {
		switch {
		case w.Tensor != "":
			out += ", tensor " + text(w.Tensor)
		case w.Key != "":
			out += ", key " + text(w.Key)
		case w.Node != "":
			out += ", " + text(w.Node)
		}
		if w.Range != nil {
			out += fmt.Sprintf(" (bytes %d to %d)", w.Range[0], w.Range[1])
		}
	}
	return out
}
