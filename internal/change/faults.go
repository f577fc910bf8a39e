package change

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos"
	"github.com/modelpatch/modelpatch/position/onnxpos"
	"github.com/modelpatch/modelpatch/report"
)

// faults refuses to write a file that engines refuse, or compute otherwise than
// was meant: findings of level error of the old file that the plan does not mend.
// With force it is written all the same; the report tells them either way.
func faults(m position.Model, old []report.Finding, plan patch.Plan, force bool, out *report.Plan) error {
	remaining := old
	if len(remaining) == 0 {
		return nil
	}
	if after, err := preview(m, plan); err == nil {
		remaining = errorsOf(after)
		after.Close()
	}
	out.Findings = remaining
	if len(remaining) == 0 || force {
		return nil
	}
	r := &position.Refusal{Why: "the file has a fault that this change does not mend: " + remaining[0].Message, Instead: remaining[0].Hint, Remedies: slices.Clone(remaining[0].Remedies)}
	if more := len(remaining) - 1; more > 0 {
		r.Why += fmt.Sprintf(" (and %d more, which inspect lists)", more)
	}
	r.Remedies = append(r.Remedies, report.Do("", "makes the change all the same", "force", ""))
	return r
}

// errorsOf are a model's findings of level error.
func errorsOf(m position.Model) []report.Finding {
	return slices.DeleteFunc(slices.Clone(m.Findings()), func(f report.Finding) bool { return f.Level != report.LevelError })
}

// preview opens the file that a plan makes before anything is written. It is an
// error where the model consists of several files.
func preview(m position.Model, plan patch.Plan) (*made, error) {
	if len(plan.Inputs) != 1 || len(plan.Outputs) != 1 {
		return nil, fmt.Errorf("a model of %d files", len(plan.Inputs))
	}
	if r := plan.Inputs[0].Reader; r != nil {
		return previewed(m, plan, r)
	}
	in, _, err := regular.Open(plan.Inputs[0].Path)
	if err != nil {
		return nil, err
	}
	planned, err := previewed(m, plan, in)
	if err != nil {
		in.Close()
		return nil, err
	}
	planned.clear = in.Close
	return planned, nil
}

func previewed(m position.Model, plan patch.Plan, in io.ReaderAt) (out *made, err error) {
	out = &made{view: plan.View(0, in), clear: func() error { return nil }}
	size := plan.OutputSize(0)
	if m.Describe().Format == position.FormatGGUF {
		f, err := gguf.NewFile(out.view, size)
		if err != nil {
			return nil, err
		}
		if out.Model, err = ggufpos.Open(f); err != nil {
			return nil, err
		}
		return out, position.AssumeAs(out.Model, m)
	}
	f, err := onnx.NewFile(out.view, size)
	if err != nil {
		return nil, err
	}
	out.Model, err = onnxpos.New(f)
	return out, err
}

// made is a model that needs something to be cleared away when it is closed.
type made struct {
	position.Model
	view  io.ReaderAt // its bytes, where it is a plan's; nil: it is in files
	clear func() error
}

// Close closes the model, and clears away what it needed.
func (m *made) Close() error { return errors.Join(m.Model.Close(), m.clear()) }

// Parts makes the model comparable part by part.
func (m *made) Parts() ([]position.Part, error) {
	p, ok := m.Model.(position.Parted)
	if !ok {
		return nil, fmt.Errorf("files of this format are not taken apart")
	}
	return p.Parts()
}

// newFault is an error when a new model has a fault of a kind that is not among
// the old ones.
func newFault(m position.Model, old []report.Finding) error {
	for _, f := range errorsOf(m) {
		if !slices.ContainsFunc(old, func(o report.Finding) bool { return o.Rule == f.Rule }) {
			return fmt.Errorf("the new file has a fault that the old one has not: %s", f.Message)
		}
	}
	return nil
}
