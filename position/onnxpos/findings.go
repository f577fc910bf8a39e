package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/fault"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// Rules of findings about what is known of positions, besides those of the kinds of sites and of package fault.
var (
	ruleLengthBound   = site.Rule{ID: "onnx-length-bound", Level: report.LevelWarning, Doc: "axes are free and the graph ends at a length all the same"}
	ruleLengthStep    = site.Rule{ID: "onnx-length-step", Level: report.LevelNote, Doc: "axes are free and only multiples of a length run"}
	ruleUnreadMeeting = site.Rule{ID: "onnx-unread-encoding", Level: report.LevelWarning, Doc: "numbers that vary along positions meet the data in a form that is not read"}
	ruleQuantisers    = site.Rule{ID: "onnx-quantisers-assumed", Level: report.LevelNote, Doc: "operators of a domain that is not known are taken for quantisers, by their names"}
	ruleTooLarge      = site.Rule{ID: "onnx-too-large", Level: report.LevelError, Doc: "the graph is too large to be looked at whole"}
)

// inspectFindings looks for what the owner of the file should know.
func (m *Model) inspectFindings() {
	f := finder{m, fault.New(m.graph, m.sites)}
	f.File()
	f.encodings(f.Tables)
	f.Declared()
	f.encodings(f.Fails, f.bound, f.Scales, f.OfSites, f.unreadMeetings, f.Assumed, f.quantisers)
	if m.gaveUp != "" {
		f.Add(ruleTooLarge, m.gaveUp, "what was not looked at is not changed either: simplify the graph (onnxslim), or export the model again", nil)
	}
	m.findings = append(m.findings, f.Found()...)
}

// finder looks for faults, and for what is known of positions to be not all.
type finder struct {
	m *Model
	*fault.Finder
}

// encodings looks at what was found, unless that is too large.
func (f *finder) encodings(looks ...func()) {
	defer func() {
		if r := recover(); r != nil {
			spent, ok := r.(*eval.Spent)
			if !ok || spent.Err != nil {
				panic(r)
			}
			f.m.giveUp(spent.Error())
		}
	}()
	f.m.graph.Budget.What = "the look for faults"
	for _, look := range looks {
		if f.m.gaveUp == "" {
			look()
		}
	}
}

// quantisers tells of operators that are taken for such, by their names.
func (f *finder) quantisers() {
	nodes := slices.DeleteFunc(slices.Clone(f.m.graph.File.Graph.Nodes), func(n *onnx.Node) bool { return !eval.Assumed(n.Domain, n.Op) })
	if len(nodes) > 0 {
		first := nodes[0]
		f.Add(ruleQuantisers, fmt.Sprintf("%d operators of domains that are not known are taken for quantisers by their names, %s.%s first: what they round and cut off is not looked at", len(nodes), first.Domain, first.Op), "",
			&report.Where{Node: first.Title()})
	}
}

// unreadMeetings tells of places where positions may be encoded beside the encodings
// that were found. Where none was found, the unknown encoding says so itself.
func (f *finder) unreadMeetings() {
	if f.Unknown() {
		return
	}
	for _, x := range f.m.unread {
		f.Add(ruleUnreadMeeting, fmt.Sprintf("%s: numbers that vary along positions are %s, in a form that is not read: the encodings that are told may not be all", x.Node.Title(), x.Kind), "",
			&report.Where{Node: x.Node.Title()})
	}
	for _, d := range f.m.labels().Doubts {
		if d.Why == axes.UnknownNumbers && !f.m.isPostProcessing(d.Scope, d.Node) {
			f.Add(ruleUnreadMeeting, fmt.Sprintf("%s: %s: the encodings that are told may not be all", d.Node.Title(), d.Why), "", &report.Where{Node: d.Node.Title()})
		}
	}
	for _, s := range f.m.sites {
		if r, ok := s.(*rotary.Site); ok && r.Untold() != "" && len(r.Tables()) == 0 { // else rounding may do it
			var at *report.Where
			if where := s.Encoding().Where; len(where) > 0 { // angles that the graph makes of no constant stand nowhere
				at = &where[0]
			}
			f.Add(ruleUnreadMeeting, r.Untold()+": their angles alone are told", "", at)
		}
	}
}

// bound tells of graphs that end before their encodings do, and of those that run at some lengths alone.
func (f *finder) bound() {
	switch end, _ := f.m.end(); {
	case f.m.larger != nil:
		f.Add(ruleLengthBound, fmt.Sprintf("the graph runs with %s and with none of %s times the size, though that is free: %v", f.m.graph.Tried(), f.m.times, f.m.larger.Err),
			"it was traced with constants of one size: export it again for the wanted one", fault.At(f.m.larger.Node))
	case end.Step > 1:
		f.Add(ruleLengthStep, fmt.Sprintf("the graph runs at %d tokens and at %d, and at no length between: %v", end.Runs, end.Runs+end.Step, end.Failure.Err),
			fmt.Sprintf("pad inputs to a multiple of %d", end.Step), fault.At(end.Failure.Node))
	case end.Step == 1:
		if _, beside := f.m.End(); beside > 0 || len(f.m.graph.CachesOf(end.Runs)) > 0 {
			return // its table ends there, of which other tokens take rows; or keys and values of its inputs do
		}
		runs := fmt.Sprintf("up to %d tokens and not at %d", end.Runs, end.Runs+1)
		if end.Runs > 1 && f.m.graph.FailsAt(end.Runs-1) != nil {
			runs = fmt.Sprintf("with %d tokens, and neither with %d nor with %d", end.Runs, end.Runs-1, end.Runs+1)
		}
		f.Add(ruleLengthBound, fmt.Sprintf("the graph runs %s, though its axes are free: %v", f.m.graph.Counting(runs), end.Failure.Err),
			"it was traced with constants of one length: extend changes them where it can, else export it again", fault.At(end.Failure.Node))
	}
}

// end is how far the graph runs, of as many tokens as its encodings reach, and with how many positions.
func (m *Model) end() (end probe.End, longest int) {
	least := 0
	for _, s := range m.sites {
		e := s.Encoding()
		if e.IsGrid() && m.graph.TokenMatrix() != nil {
			continue // of a picture beside the tokens
		}
		if n := e.Capacity; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	switch {
	case m.gaveUp != "":
	case m.graph.IsRecorded():
		end, _, longest = m.graph.EndOfRecording(m.sites, least)
		return end, longest
	case least == 0 && m.labels().Whole:
		end = m.graph.BoundWhole()
	default:
		end = m.graph.Bound(least)
	}
	return end, end.Runs
}

// End reports how many tokens the graph itself runs with, whatever its encodings hold, 0 where that is not less; and how many
// positions it counts beside those of its input: tokens that it puts before them itself, or behind.
func (m *Model) End() (longest, beside int) {
	if m.larger != nil {
		for i, s := range m.sites {
			if n := m.Counted(i); s.Encoding().Bounds() && n > 0 && (longest == 0 || n < longest) {
				longest = n
			}
		}
		return longest, 0
	}
	if n := m.graph.Window(); n > 0 {
		return n, 0
	}
	end, longest := m.end()
	if end.Step != 1 {
		return m.pictured(), 0
	}
	for _, s := range m.sites {
		if slices.ContainsFunc(s.Indices(), func(src trace.Source) bool { return src.Indexed == end.Failure.Node }) || meets(s, end.Failure) {
			beside = max(beside, s.Encoding().Capacity-longest)
		}
	}
	return longest, beside
}

// Counted is how many positions the data have where encoding i meets them, as they were looked at; 0 where that is not told.
func (m *Model) Counted(i int) int { return m.graph.PositionsIn(m.sites[i], m.graph.Eval) }

// meets reports whether what fails is where constants of a site meet the data.
func meets(s site.Site, f *eval.Failure) bool {
	return slices.ContainsFunc(f.Node.Inputs, func(in string) bool {
		return slices.ContainsFunc(f.Scope.Value(in).Origins, func(t *onnx.Tensor) bool { return slices.Contains(s.Owned(), t) })
	})
}

// pictured is how many patches the one picture has that the graph takes, where it resamples a table of a grid to them itself, or turns those of each
// window; 0 elsewhere.
func (m *Model) pictured() int {
	if m.graph.FreeImage() || slices.ContainsFunc(m.sites, func(s site.Site) bool { return s.Encoding().Bounds() }) {
		return 0 // a text's positions bound the model
	}
	for _, s := range m.sites {
		t, ok := s.(*tableSite)
		if ok && t.Detected.Capacity > 0 && t.Resampled() {
			if grid, _, ok := t.uses[0].gridOf(); ok {
				return onnx.Size(grid)
			}
			if t.Detected.Apart {
				return len(t.uses[0].sheet.Places)
			}
		}
		if ok && len(t.crossed) > 1 && m.InputIsFixed() { // tables of rows and of columns may have more
			places := 1
			for _, side := range t.uses[0].beside {
				rows := slices.DeleteFunc(slices.Sorted(slices.Values(side.share.Row)), func(r int) bool { return r < 0 })
				places *= len(slices.Compact(rows))
			}
			return places
		}
		if s.Encoding().Apart && m.graph.ImageInput() != nil {
			sides := m.graph.PatchGrid()
			return sides[0] * sides[1]
		}
	}
	return 0
}
