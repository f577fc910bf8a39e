package verify

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// CheckWindow checks that no attention of a new model but those across two sequences sees more than a window; it does
// nothing where that is none. The error names the layer.
func CheckWindow(after position.Model, w schemes.SlidingWindow) error {
	for _, a := range after.Attentions() {
		if err := checkWindow(a, w); err != nil {
			return err
		}
	}
	return nil
}

func checkWindow(a *position.Attention, w schemes.SlidingWindow) error {
	if w.Positions == 0 || a.Crosses {
		return nil
	}
	if a.Window == nil {
		return fmt.Errorf("what the attention of layer %d sees is not read: %s", a.Layer, a.Unsupported)
	}
	switch got := a.Window(); {
	case got.Positions == 0:
		return fmt.Errorf("the attention of layer %d was to see %s and sees everything", a.Layer, w)
	case !got.Within(w):
		return fmt.Errorf("the attention of layer %d was to see %s and sees %s", a.Layer, w, got)
	}
	return nil
}

// plannedWindow is what a plan lets every attention see at most; none: as before.
func plannedWindow(p *report.Plan) (w schemes.SlidingWindow) {
	if p == nil {
		return w
	}
	for _, change := range p.Changes {
		if to := change.To; change.Encoding == "" && to != nil && len(to.Window) == 1 && change.Expect == report.ExpectChanged {
			if w.Positions = to.Window[0]; to.WindowSinks != nil {
				w.Sinks = *to.WindowSinks
			}
		}
	}
	return w
}

// AddedWindow is the one window that attentions of a new file have and had not, and that all others are within; none
// otherwise.
func AddedWindow(before, after position.Model) (w schemes.SlidingWindow) {
	was, is := before.Attentions(), after.Attentions()
	if len(was) != len(is) {
		return w
	}
	for i, a := range is {
		if a.Crosses || a.Window == nil || was[i].Window == nil || a.Window() == was[i].Window() {
			continue
		}
		if got := a.Window(); w.Positions == 0 {
			w = got
		} else if got != w {
			return schemes.SlidingWindow{}
		}
	}
	if CheckWindow(after, w) != nil {
		return schemes.SlidingWindow{}
	}
	return w
}

// localWindow is the attribute of an attention's window in the words of a node (GroupQueryAttention, com.microsoft).
var localWindow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` ?local_window_size=(-?\d+)`) })

// givesWindow reports whether a node is the old one but for its window, which is the planned one.
func givesWindow(before, after string, w schemes.SlidingWindow) bool {
	is := localWindow().FindStringSubmatch(after)
	return w.Positions > 0 && is != nil && is[1] == strconv.Itoa(w.Positions) && localWindow().ReplaceAllString(before, "") == localWindow().ReplaceAllString(after, "")
}

// mostWindowed bounds the positions that are run to see where a window ends.
const mostWindowed = 512

// behind is how many positions show where a window ends, 0 where those are too many or there is no window.
func behind(w schemes.SlidingWindow) int {
	if w.Positions == 0 || w.Positions > mostWindowed || w.Sinks > mostWindowed-w.Positions {
		return 0
	}
	return w.Positions + w.Sinks + leastPositions
}

// shown reports whether a window shows a query a key that an attention of the old file did; without one all are shown, as between two sequences.
func shown(w schemes.SlidingWindow, a *position.Attention, query, key int) bool {
	return a.Crosses || w.Sees(query, key, a.Causal)
}

// allShown reports whether a window shows a query all of so many keys that it sees without.
func allShown(w schemes.SlidingWindow, a *position.Attention, query, keys int) bool {
	if a.Causal {
		keys = min(keys, query+1)
	}
	for k := range keys {
		if !shown(w, a, query, k) {
			return false
		}
	}
	return true
}
