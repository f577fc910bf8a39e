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
		was = inBatches(m)
		return position.ResizeGrid(m, o)
	}
	c.expect = func(m position.Model) error {
		if is := inBatches(m); was == nil && is != nil {
			return fmt.Errorf("the new model takes one picture, and fails with two at once, as the old one does not: %w", is)
		}
		return hasGrid(m, o)
	}
	return c
})

// inBatches is why a model takes no two pictures at once, nil where it does or nothing is known.
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
