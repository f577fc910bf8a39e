// Package sidecar reads and changes the numbers that files beside a model state about its positions
// (config.json, tokenizer.json and their like), and knows which files sign it.
package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Quantity is what a number in a file beside a model states.
type Quantity int

const (
	Positions     Quantity = iota + 1 // how far the model counts
	RopeBase                          // of RoPE
	PictureHeight                     // in pixels
	PictureWidth                      // in pixels
	PictureSide                       // of a square picture, in pixels
)

// places are the numbers in files beside a model that speak of its positions, by file name
// and JSON pointer (RFC 6901).
var places = sync.OnceValue(func() map[string]map[string]Quantity {
	return map[string]map[string]Quantity{
		"config.json": {
			"/max_position_embeddings": Positions, "/n_positions": Positions, "/n_ctx": Positions, "/max_sequence_length": Positions,
			"/max_seq_len": Positions, "/seq_length": Positions, "/text_config/max_position_embeddings": Positions,
			"/rope_theta": RopeBase, "/rope_parameters/rope_theta": RopeBase, "/text_config/rope_theta": RopeBase,
			"/text_config/rope_parameters/rope_theta": RopeBase,
			"/image_size": PictureSide, "/vision_config/image_size": PictureSide,
		},
		"genai_config.json": {"/model/context_length": Positions, "/search/max_length": Positions},
		"preprocessor_config.json": {
			"/size": PictureSide, "/size/height": PictureHeight, "/size/width": PictureWidth, "/size/shortest_edge": PictureSide,
			"/crop_size": PictureSide, "/crop_size/height": PictureHeight, "/crop_size/width": PictureWidth,
		},
		"sentence_bert_config.json": {"/max_seq_length": Positions},
		"tokenizer.json":            {"/truncation/max_length": Positions},
		"tokenizer_config.json":     {"/model_max_length": Positions},
	}
})

// maxOffset is how many positions a stated length may exceed the real one by:
// RoBERTa's configuration says 514 for 512.
const maxOffset = 4

// Files are files beside a model that state what a change gives another value.
type Files []*file

// file is a file beside a model that states its length.
type file struct {
	name  string // base name
	above bool   // it lies in the folder above the model's
	path  string // as opened
	info  fs.FileInfo
	data  []byte
	edits []numberEdit // in order

	target   string // the file that is to be written; empty: none, see why
	replaces bool   // target is there already, and may be replaced
	why      string // it is not written
	backup   string // where the old value is then; empty: nowhere
}

// numberEdit is one number in a sidecar file.
type numberEdit struct {
	report.Sidecar
	old, new string
	at       int64
}

// Restated is a quantity to which a change gives another value.
type Restated struct {
	Of       Quantity
	From, To float64
}

// value is what a number of that quantity becomes; false where it states another value than the old.
func (r Restated) value(n jsonNumber) (string, bool) {
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		return "", false
	}
	to := r.To
	switch r.Of {
	case Positions:
		if v < r.From || v > r.From+maxOffset {
			return "", false
		}
		to += v - r.From
	default:
		if math.Abs(v/r.From-1) > 1e-6 { // a base may be stored in float32
			return "", false
		}
	}
	out := strconv.FormatFloat(to, 'f', -1, 64)
	if strings.ContainsAny(n.text, ".eE") && !strings.Contains(out, ".") {
		out += ".0" // a float of Python stays one
	}
	return out, true
}

// misses reports whether a number states neither the old value nor the new one, though it should state one of
// them: pictures may be resized to another size before they are cut, and tokenizers write 10^30 for "no limit".
func (r Restated) misses(n jsonNumber) bool {
	if r.Of != Positions && r.Of != RopeBase {
		return false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return err != nil || v != r.To && v <= position.MaxLength
}

// Find looks beside a model for files that state the old values, for numbers that state others, and
// for files that cannot be read.
func Find(ctx context.Context, model string, new []Restated, o source.Options) (out Files, strays []string, unread []error) {
	for s, numbers := range filesOf(ctx, model, o, &unread) {
		for _, n := range numbers {
			for _, r := range new {
				if r.Of != places()[s.name][n.pointer] {
					continue
				}
				if to, ok := r.value(n); ok {
					s.add(n, to)
				} else if r.misses(n) {
					strays = append(strays, fmt.Sprintf("%s says %s at %s, where the model had %g: it stays as it is, to be changed by hand", s.name, report.Printable(n.text), n.pointer, r.From))
				}
			}
		}
		if len(s.edits) > 0 {
			out = append(out, s)
		}
	}
	return out, strays, unread
}

// filesOf are the files beside a model, with the numbers in them that speak of its positions. Why
// one that is there cannot be read is added to unread.
func filesOf(ctx context.Context, model string, o source.Options, unread *[]error) iter.Seq2[*file, []jsonNumber] {
	return func(yield func(*file, []jsonNumber) bool) {
		for _, name := range sortedNames() {
			var s *file
			err := fs.ErrNotExist
			for _, folder := range besideFolders(model) {
				if s, err = readFile(ctx, model, folder+name, o); !errors.Is(err, fs.ErrNotExist) {
					break
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var numbers []jsonNumber
			if err == nil {
				if numbers = jsonNumbers(s.data, slices.Collect(maps.Keys(places()[name]))); numbers == nil {
					err = &source.InputError{Path: s.path, What: "there, and not readable", Why: "it is no JSON"}
				}
			}
			if err != nil {
				*unread = append(*unread, err)
			} else if !yield(s, numbers) {
				return
			}
		}
	}
}

// besideFolders are where files beside a model are looked for, as prefixes of their names: its
// folder, and the one above where that is called onnx, as exporters for the hub lay models out.
func besideFolders(model string) []string {
	folder := path.Dir(model)
	if !source.IsAddress(model) {
		if abs, err := filepath.Abs(filepath.Dir(model)); err == nil {
			folder = filepath.ToSlash(abs)
		}
	}
	if path.Base(folder) == "onnx" {
		return []string{"", above}
	}
	return []string{""}
}

// Names are the names of all files that are looked for beside a model.
func Names(model string) (out []string) {
	for _, folder := range besideFolders(model) {
		for _, name := range sortedNames() {
			out = append(out, folder+name)
		}
	}
	return out
}

// above is the folder above a model's.
const above = "../"

// readFile reads a file beside a model. The error of one that is not there is fs.ErrNotExist.
func readFile(ctx context.Context, model, name string, o source.Options) (*file, error) {
	s := &file{name: path.Base(name), above: strings.HasPrefix(name, above), path: source.PathBeside(model, name)}
	var err error
	if source.IsAddress(model) {
		s.data, err = source.ReadBeside(ctx, model, name, o)
	} else {
		s.data, s.info, err = regular.Read(s.path, source.MaxBeside(name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		why := err.Error()
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			why = p.Err.Error()
		}
		return nil, &source.InputError{Path: s.path, What: "there, and not readable", Why: why, Err: err}
	}
	return s, nil
}

// add gives a number another value, where both are as JSON writes them and, but for a base, whole.
// Numbers must come in the order of their places.
func (s *file) add(n jsonNumber, new string) {
	const longest = 32
	from, err1 := strconv.ParseFloat(n.text, 64)
	to, err2 := strconv.ParseFloat(new, 64)
	whole := from == math.Trunc(from) && strconv.Itoa(int(to)) == new
	if err1 != nil || err2 != nil || len(new) > longest || !json.Valid([]byte(new)) || !whole && places()[s.name][n.pointer] != RopeBase {
		return
	}
	s.edits = append(s.edits, numberEdit{old: n.text, new: new, at: n.at,
		Sidecar: report.Sidecar{Path: report.Name(s.path), Pointer: n.pointer, From: report.Number(from), To: report.Number(to)}})
}

// changed is the file's content with the new numbers.
func (s *file) changed() []byte {
	var out []byte
	at := int64(0)
	for _, e := range s.edits {
		out = append(append(out, s.data[at:e.at]...), e.new...)
		at = e.at + int64(len(e.old))
	}
	return append(out, s.data[at:]...)
}

// sortedNames are the names of files beside a model.
func sortedNames() []string {
	return slices.Sorted(maps.Keys(places()))
}

// OfPatch finds the numbers beside a model that a patch's change gave other values, or that taking it
// back gives their old ones. Names and places that no change of ours touches are left alone, for a patch
// may come from anybody.
func OfPatch(ctx context.Context, model string, numbers []patch.PatchBeside, revert bool, o source.Options) (out Files) {
	if len(numbers) == 0 {
		return nil
	}
	var unread []error // no change of ours was made there
	for s, found := range filesOf(ctx, model, o, &unread) {
		for _, n := range found {
			if to, ok := newValue(numbers, revert, s.name, n); ok && !s.above {
				s.add(n, to)
			}
		}
		if len(s.edits) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// newValue is what a patch makes of a number beside the model.
func newValue(numbers []patch.PatchBeside, revert bool, name string, n jsonNumber) (to string, ok bool) {
	for _, b := range numbers {
		from, to := b.Old, b.New
		if revert {
			from, to = to, from
		}
		if b.Name == name && b.Pointer == n.pointer && n.text == from && from != to {
			return to, true
		}
	}
	return "", false
}

// Paths are where files beside a model that state its length may be, there or not; those in its
// own folder, which alone a change in place may change.
func Paths(model string) (out []string) {
	for _, name := range sortedNames() {
		out = append(out, source.PathBeside(model, name))
	}
	return out
}
