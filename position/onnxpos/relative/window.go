package relative

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Window is a bias between the places of an image window, in every layer: folded into a
// constant, gathered from a table, or computed from constants. Whatever makes it, its
// numbers say the table.
type Window struct {
	*site.Other
	graph  *site.Graph
	uses   []*bias
	given  map[string]*eval.Value // what the values of Resize's biases become, without content
	masked []string               // of these, those that held masks of windows, too
}

// Override tells an evaluator of the main graph's biases that were resized: their new shapes.
func (w *Window) Override(into map[string]*eval.Value) {
	for name, v := range w.given {
		into[name] = v
	}
}

// Unmasked are the names of resized biases that held masks of shifted windows, too, which are to be added by themselves.
func (w *Window) Unmasked() []string { return w.masked }

// First is the node that adds its first bias.
func (w *Window) First() *onnx.Node { return w.uses[0].node }

// SetBeyond notes what a probe showed of larger pictures.
func (w *Window) SetBeyond(beyond string, evidence ...report.Evidence) {
	w.Detected.Beyond = beyond
	w.Detected.Evidence = append(w.Detected.Evidence, evidence...)
}

// shape is the window's height and width; nil where it is not known.
func (w *Window) shape() []int { return w.Detected.Scheme.(schemes.Other).Window }

// Store refuses: a window's places follow from the picture.
func (w *Window) Store(position.Want) error {
	return &position.Refusal{Why: "the biases are between the places of a picture, whose number follows from its size",
		Remedies: []report.Remedy{report.Do("extend", "", "grid", "HxW"), report.Do("extend", "", "image", "SIZE")}}
}

// ResizeWindow gives the window another size. The table of
// every layer is read off its bias, resized (schemes.ResizeWindow), and laid out as a constant
// in the place of what made the bias.
func (w *Window) ResizeWindow(to [2]int, method, places string) (how, assumes string, err error) {
	how, assumes = cmp.Or(method, schemes.WindowMethods[0]), "biases are resampled as learned ones are (BEiT): of models that make them of distances by a network, which an exporter may have folded, those of another window are not in the file"
	instead := "export the model for the wanted picture"
	if w.shape() == nil {
		return "", "", &position.Refusal{Why: "the window of a bias of distances cannot be told", Instead: instead}
	}
	from := [2]int(w.shape())
	w.given, w.masked = map[string]*eval.Value{}, nil
	w.graph.Eval.Budget.Allow(networkSteps)
	why := fmt.Sprintf("bias of a window of %d×%d", to[0], to[1])
	network, trained := false, (*onnx.Node)(nil)
	for _, u := range w.uses {
		if u.heads[0] == nil { // too large to be looked at before
			if v := u.scope.Enlarge(u.name); v.Known() && v.Floats != nil {
				u = &bias{scope: u.scope, node: u.node, name: u.name, value: v, heads: headsOf(v)}
			}
			if u.heads[0] != nil && onlyMask(u.heads) {
				continue // of shifted windows, which follows them
			}
		}
		if u.heads[0] == nil {
			return "", "", &position.Refusal{Why: fmt.Sprintf("the bias that %s adds is too large to be read", u.node.Title()), Instead: instead}
		}
		u = u.unmasked()
		if w.given[u.name] != nil {
			continue // layers share it
		}
		within, becomes := u.framesIn(from, to, w.graph.PatchGrid() == from)
		from := within.keys
		made := coordinatesOf(w.graph.Eval, u.scope, u.name, u.tableOf(within), from)
		if made != nil {
			how, assumes = "by the network that makes them of distances", ""
			if places == "" && made.byOwnSide(from) {
				return "", "", &position.Refusal{Why: fmt.Sprintf("the network that makes the biases of %s measures distances by a window of %d×%d, and whether by the one at hand or by that of its training is not in the file", u.node.Title(), from[0], from[1]),
					Remedies: []report.Remedy{report.Do("", "goes on by that unit, as a model with pretrained_window_sizes does", "method", schemes.PlaceMethods[0]), report.Do("", "measures by the new window, as a model without does", "method", schemes.PlacesSqueezed)}}
			}
			made.squeezed = places == schemes.PlacesSqueezed
		}
		if made == nil {
			trained = cmp.Or(trained, u.node)
		} else {
			network = true
		}
		if network && trained != nil && method == "" { // distances of a small window do not tell how a network measures them
			return "", "", &position.Refusal{Why: fmt.Sprintf("a network makes the biases of other attentions, and what it would make of further distances than those of %s is not in the file", trained.Title()),
				Remedies: []report.Remedy{report.Do("", "resamples those as if they were trained", "window-method", schemes.WindowMethods[0])}}
		}
		if n := weighed(u.scope, u.name); n != nil && made == nil {
			return "", "", &position.Refusal{Why: fmt.Sprintf("the bias that %s adds is what weights make of distances (%s), and no table of a window that could be resampled", u.node.Title(), n.Title()), Instead: instead}
		}
		if u.scope != w.graph.Eval.Main {
			return "", "", &position.Refusal{Why: fmt.Sprintf("the bias that %s adds stands in a function or branch", u.node.Title()), Instead: instead}
		}
		if err := w.resize(u, made, within, becomes, method, why); err != nil {
			return "", "", err
		}
	}
	w.graph.RemoveUnread(why)
	return how, assumes, nil
}

// networkSteps bounds the work of networks that make biases of distances: some seconds.
const networkSteps = 1 << 30

// weighed is the nearest product behind a known value that is more than a choice of rows; nil where there is none.
func weighed(s *eval.Scope, name string) *onnx.Node {
	queue, seen := []string{name}, map[string]bool{}
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if eval.Is(n, eval.Product) && !slices.ContainsFunc(n.Inputs, func(in string) bool { return oneHot(s.Value(in)) }) {
			return n
		}
		queue = append(queue, trace.DataInputs(n)...)
	}
	return nil
}

// oneHot reports whether a value holds zeros and ones alone.
func oneHot(v *eval.Value) bool {
	if !v.Known() || v.Len() == 0 || v.Len() > maxOneHot {
		return false
	}
	for i := range v.Len() {
		if x := v.Number(i); x != 0 && x != 1 {
			return false
		}
	}
	return true
}

// maxOneHot bounds the numbers that are looked at.
const maxOneHot = 1 << 22

// resize puts the bias of another window in the place of one.
func (w *Window) resize(u *bias, made *coordinates, within, becomes frame, method, why string) error {
	table, class, err := u.windowTable(within)
	if err != nil {
		return err
	}
	from, to := within.keys, becomes.keys
	var resized [][]float64
	if made == nil {
		if method == "" && squashed(table) && w.squashed() {
			return &position.Refusal{Why: fmt.Sprintf("the biases that %s adds are all between 0 and %d, as a network makes them (Liu et al. 2022, \"Swin Transformer V2\") that the exporter folded: those of another window are not in the file", u.node.Title(), squashedTo),
				Remedies: []report.Remedy{report.Do("", "resamples them as if they were trained", "window-method", schemes.WindowMethods[0])}}
		}
		if resized, err = schemes.ResizeWindow(table, from, to, cmp.Or(method, schemes.WindowMethods[0])); err != nil {
			return &position.UsageError{What: err.Error()}
		}
	} else if resized, err = made.resized(from, to); err != nil {
		return &position.Refusal{Why: fmt.Sprintf("the bias that %s adds: %v", u.node.Title(), err), Instead: "export the model for the wanted picture"}
	}
	index := becomes.index(class)
	v, heads := u.value, len(u.heads)
	shape := slices.Clone(v.Shape)
	k := len(shape)
	shape[k-1], shape[k-2] = len(index[0]), len(index)
	if v.Len() != heads*len(u.heads[0])*len(u.heads[0][0]) { // with masks of shifted windows, which are added by themselves then
		if k < 4 || slices.Contains(w.masked, u.name) {
			return &position.Refusal{Why: fmt.Sprintf("the bias that %s adds differs between pictures", u.node.Title()), Instead: "export the model for the wanted picture"}
		}
		w.masked = append(w.masked, u.name)
		for i := range k - 3 {
			shape[i] = 1
		}
	}
	if _, err := onnx.EncodeFloats(v.Type, slices.Concat(resized...), nil); err != nil { // a type that the reader below meets too late
		return &position.Refusal{Why: fmt.Sprintf("the bias is of type %s, which new numbers cannot be: %v", v.Type, err)}
	}
	layout := windowLayout{resized, index, heads, v.Type}
	w.given[u.name] = eval.Shaped(v.Type, shape...)
	return w.graph.Substitute(u.scope, u.name, w.given[u.name], patch.Func(int64(heads)*layout.size(), layout.open), "modelpatch/window_bias", why)
}

// squashedTo is what a sigmoid is multiplied with that ends such a network (window_attention of Swin v2: 16·sigmoid).
const squashedTo = 16

// squashed reports whether numbers are what that gives.
func squashed(rows [][]float64) bool {
	return !slices.ContainsFunc(rows, func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return !(x > 0 && x < squashedTo) })
	})
}

// squashed reports whether those of all layers are, as far as they were read: of trained biases some are negative.
func (w *Window) squashed() bool {
	return !slices.ContainsFunc(w.uses, func(u *bias) bool {
		return u.heads[0] != nil && !onlyMask(u.heads) && !squashed(slices.Concat(u.unmasked().heads...))
	})
}

// windowLayout writes a table as matrices of heads, queries and keys, a head at a time.
type windowLayout struct {
	table [][]float64
	index [][]int
	heads int
	kind  onnx.DataType
}

// size is the bytes of one head.
func (l windowLayout) size() int64 { return l.kind.Size(int64(len(l.index)) * int64(len(l.index[0]))) }

func (l windowLayout) open() io.Reader {
	readers := make([]io.Reader, l.heads)
	for h := range readers {
		readers[h] = &late{open: func() io.Reader {
			var raw []byte
			row := make([]float64, len(l.index[0]))
			for _, places := range l.index {
				for k, place := range places {
					row[k] = l.table[place][h]
				}
				raw, _ = onnx.EncodeFloats(l.kind, row, raw) // the same numbers were encoded before
			}
			return bytes.NewReader(raw)
		}}
	}
	return io.MultiReader(readers...)
}

// late is a reader that is made when it is first read, and let go at its end.
type late struct {
	open   func() io.Reader
	reader io.Reader
	ended  bool
}

// Read reads what open gives.
func (l *late) Read(p []byte) (int, error) {
	if l.ended {
		return 0, io.EOF
	}
	if l.reader == nil {
		l.reader = l.open()
	}
	n, err := l.reader.Read(p)
	if err != nil {
		l.ended, l.reader = true, nil
	}
	return n, err
}

// tableOf reads tables of a window off what the bias becomes.
func (b *bias) tableOf(of frame) readTable {
	return func(v *eval.Value) ([][]float64, error) {
		other := *b
		if other.value, other.heads = v, nil; v.Known() && v.Floats != nil {
			other.heads = headsOf(v)
		}
		if other.heads == nil {
			return nil, errors.New("what weights make of other distances cannot be evaluated")
		}
		table, _, err := other.windowTable(of)
		return table, err
	}
}

// frame is the grid of the keys of an attention, and of its queries every stride-th place of that (LeViT's subsampling,
// Graham et al. 2021, §3.3).
type frame struct {
	keys   [2]int
	stride int
}

// framesIn are the frame of a bias, where that of the first one is a window, and what it becomes with another; where the windows are
// the whole picture, later ones have halves of its sides.
func (b *bias) framesIn(window, to [2]int, whole bool) (was, is frame) {
	queries, keys := len(b.heads[0]), len(b.heads[0][0])
	class := queries - window[0]*window[1]
	for by := 1; whole && class != 1 && by <= max(window[0], window[1]); by *= 2 {
		of := frame{[2]int{(window[0] + by - 1) / by, (window[1] + by - 1) / by}, 1}
		for ; of.keys[0]*of.keys[1] == keys && of.stride <= mostStride; of.stride *= 2 {
			if q := of.queries(); q[0]*q[1] == queries {
				return of, frame{[2]int{(to[0] + by - 1) / by, (to[1] + by - 1) / by}, of.stride}
			}
		}
	}
	return frame{window, 1}, frame{to, 1}
}

// mostStride bounds how many places lie between two queries.
const mostStride = 4

// queries are the rows and columns of the queries.
func (f frame) queries() [2]int {
	return [2]int{(f.keys[0] + f.stride - 1) / f.stride, (f.keys[1] + f.stride - 1) / f.stride}
}

// index are the rows of a table by distance, as schemes.WindowIndex has them, for each query and key.
func (f frame) index(class bool) [][]int {
	all := schemes.WindowIndex(f.keys[0], f.keys[1], class)
	if f.stride == 1 {
		return all
	}
	var out [][]int
	for y := 0; y < f.keys[0]; y += f.stride {
		for x := 0; x < f.keys[1]; x += f.stride {
			out = append(out, all[y*f.keys[1]+x])
		}
	}
	return out
}

// mirror gives distances that no pair of places has, as queries are fewer, the biases of the same distances to other sides.
func (f frame) mirror(table [][]float64) bool {
	rows, columns := 2*f.keys[0]-1, 2*f.keys[1]-1
	for y := range rows {
		for x := range columns {
			at := table[y*columns+x]
			for _, from := range [][2]int{{rows - 1 - y, x}, {y, columns - 1 - x}, {rows - 1 - y, columns - 1 - x}} {
				other := table[from[0]*columns+from[1]]
				if at != nil && other != nil && !slices.Equal(at, other) {
					return false
				}
				if at == nil {
					at = other
				}
			}
			if table[y*columns+x] = at; at == nil {
				return false
			}
		}
	}
	return true
}

// windowTable reads the table of a window off a bias between its places, and whether a class token
// stands before them. It is a refusal where a pair of places has another bias than others of its distance.
func (b *bias) windowTable(of frame) (table [][]float64, class bool, err error) {
	window := of.keys
	places := window[0] * window[1]
	n, queries := len(b.heads[0][0]), of.queries()
	switch {
	case n == places && len(b.heads[0]) == queries[0]*queries[1]:
	case n == places+1 && len(b.heads[0]) == n && of.stride == 1:
		class = true
	default:
		return nil, false, &position.Refusal{Why: fmt.Sprintf("%s adds a bias between %d tokens, and a window of %d×%d has %d", b.node.Title(), n, window[0], window[1], places),
			Instead: "export the model for the wanted picture"}
	}
	table = make([][]float64, schemes.WindowRows(window[0], window[1], class))
	for q, row := range of.index(class) {
		for k, place := range row {
			known := table[place] != nil
			if !known {
				table[place] = make([]float64, len(b.heads))
			}
			for h := range b.heads {
				x := b.heads[h][q][k]
				if known && x != table[place][h] {
					return nil, false, &position.Refusal{Why: fmt.Sprintf("%s adds to the pair of tokens %d and %d another bias than to others as far apart, so that no table of distances makes it", b.node.Title(), q, k),
						Instead: "export the model for the wanted picture"}
				}
				table[place][h] = x
			}
		}
	}
	if of.stride > 1 && !of.mirror(table) {
		return nil, false, &position.Refusal{Why: fmt.Sprintf("%s adds biases of every %d-th place alone, which differ by the side that another lies to: those of further distances are not in the file", b.node.Title(), of.stride),
			Instead: "export the model for the wanted picture"}
	}
	return table, class, nil
}
