package verdict

import (
	"context"
	"path/filepath"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// addWhole adds to v what the engine that serves the models makes of them. On old positions
// it must say of both the same where v found them encoded as before; else how far it
// differs is a measure. A check that fails makes the verdict different. Where the engine
// runs neither file, what was planned is not said to be there.
func addWhole(ctx context.Context, llamaServer string, a, b position.Model, before, after string, v *report.Verify) {
	if source.IsAddress(before) || source.IsAddress(after) {
		v.Checks = append(v.Checks, report.Check{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: "engines run files on this machine: a model at an address is not run"})
		return
	}
	path, err := engine.Find()
	if err != nil {
		v.Checks = append(v.Checks, report.Check{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: err.Error()})
		return
	}
	p := engine.Pair{Format: a.Describe().Format, Before: side(a, before), After: side(b, after), LlamaServer: llamaServer,
		Equal: v.Verdict == report.VerdictSame || v.Verdict == report.VerdictSameOnPrefix}
	checks, refuses := engine.Whole(ctx, path, p)
	if refuses != "" && v.Verdict == report.VerdictChangedAsPlanned {
		v.Verdict, v.Summary = report.VerdictConsistent, "the engine runs neither file ("+refuses+"); by its bytes: "+v.Summary
	}
	for _, k := range checks {
		v.Checks = append(v.Checks, k)
		sound := v.Verdict != report.VerdictDifferent && v.Verdict != report.VerdictBroken
		if k.Verdict == report.CheckFail && sound {
			v.Verdict, v.Summary = report.VerdictDifferent, report.CheckEngine+": "+k.Why
		}
	}
}

// side is a model as an engine is asked to run it.
func side(m position.Model, path string) engine.Side {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	length := position.Length(m, m.Describe())
	out := engine.Side{Path: path, Fails: length.Capacity != nil && length.Beyond == report.BeyondError}
	if s, ok := m.(position.InputSizer); ok {
		out.Sizes = s.InputSizes()
	}
	switch {
	case length.Capacity != nil:
		out.Length = *length.Capacity
	case length.Stated != nil:
		out.Length = *length.Stated
	}
	return out
}
