package change

import (
	"errors"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// ResizeGrid gives an image model another picture size: the learned rows of its patches are
// resampled, and what hangs on their number follows; see [position.ResizeGrid].
var ResizeGrid = newVerb("grid", func(o position.GridOptions) *Change {
	c := &Change{grid: &o, command: fmt.Sprintf("extend --grid %dx%d", o.Height, o.Width)}
	if o.Frames > 0 {
		c.command = fmt.Sprintf("extend --grid %dx%dx%d", o.Frames, o.Height, o.Width)
	}
	if picture := o.Picture(); picture[0] != picture[1] {
		c.command = fmt.Sprintf("extend --image %dx%d", picture[0], picture[1])
	} else if o.Image != 0 {
		c.command = fmt.Sprintf("extend --image %d", o.Image)
	}
	if o.Kernel != "" {
		c.command += " --kernel " + o.Kernel
	}
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	if o.Window != [2]int{} {
		c.command += fmt.Sprintf(" --window %dx%d", o.Window[0], o.Window[1])
	}
	if o.WindowMethod != "" {
		c.command += " --window-method " + o.WindowMethod
	}
	var was error
	c.decide = func(m position.Model) (position.Outcome, error) {
		if side := o.Window; side != [2]int{} && (min(side[0], side[1]) < 2 || max(side[0], side[1]) > mostPlaces) {
			return position.Outcome{}, &position.UsageError{What: fmt.Sprintf("--window %dx%d: each side must be between 2 and %d places", side[0], side[1], mostPlaces)}
		}
		was = inBatches(m)
		out, err := position.ResizeGrid(m, o)
		if err == nil && out.Nothing != "" && o.Window != [2]int{} {
			return out, &position.Refusal{Why: out.Nothing + "; its windows cannot be changed alone", Instead: "leave --window out, or export the model with these windows"}
		}
		return out, err
	}
	c.expect = func(m position.Model) error {
		if is := inBatches(m); was == nil && is != nil {
			return &position.Refusal{Why: fmt.Sprintf("the new model would take one picture, and fail where the old one does not, %v", is), Instead: "fix how many pictures there are (extend --fix NAME=1), and resize that file, or export the model for the wanted picture"}
		}
		return hasGrid(m, o)
	}
	return c
})

// mostPlaces bounds a side of windows.
const mostPlaces = 1 << 12

// inBatches is why a model takes no several pictures at once, nil where it does or nothing is known.
func inBatches(m position.Model) error {
	if b, ok := m.(interface{ FailsInBatches() error }); ok {
		return b.FailsInBatches()
	}
	return nil
}

// hasGrid checks that a model has the grid that was asked for.
func hasGrid(m position.Model, o position.GridOptions) error {
	g, ok := m.(position.Gridder)
	if ok {
		if to, err := position.WantedGrid(g, o); err == nil && g.PatchGrid() == to {
			return nil
		}
	}
	if ok && len(g.FreeSides()) > 0 { // it would run with others as well
		return &position.Refusal{Why: "the picture's axes are free, and numbers of one picture would stand in the file for all", Remedies: []report.Remedy{report.FixPicture(g.FreeSides())}}
	}
	return errors.New("the new file has another grid than the one that was asked for")
}
