package modelpatch

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

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// quantity is what a number in a file beside a model states.
type quantity int

const (
	positions     quantity = iota + 1 // how far the model counts
	ropeBase                          // of RoPE
	pictureHeight                     // in pixels
	pictureWidth                      // in pixels
	pictureSide                       // of a square picture, in pixels
)

// sidecarPlaces are the numbers in files beside a model that speak of its positions, by file name
// and JSON pointer (RFC 6901).
var sidecarPlaces = map[string]map[string]quantity{
	"config.json": {
		"/max_position_embeddings": positions, "/n_positions": positions, "/n_ctx": positions, "/max_sequence_length": positions,
		"/max_seq_len": positions, "/seq_length": positions, "/text_config/max_position_embeddings": positions,
		"/rope_theta": ropeBase, "/rope_parameters/rope_theta": ropeBase, "/text_config/rope_theta": ropeBase,
		"/text_config/rope_parameters/rope_theta": ropeBase,
		"/image_size": pictureSide, "/vision_config/image_size": pictureSide,
	},
	"genai_config.json": {"/model/context_length": positions, "/search/max_length": positions},
	"preprocessor_config.json": {
		"/size": pictureSide, "/size/height": pictureHeight, "/size/width": pictureWidth, "/size/shortest_edge": pictureSide,
		"/crop_size": pictureSide, "/crop_size/height": pictureHeight, "/crop_size/width": pictureWidth,
	},
	"sentence_bert_config.json": {"/max_seq_length": positions},
	"tokenizer.json":            {"/truncation/max_length": positions},
	"tokenizer_config.json":     {"/model_max_length": positions},
}

// maxOffset is how many positions a stated length may exceed the real one by:
// RoBERTa's configuration says 514 for 512.
const maxOffset = 4

// Files are files beside a model that state what a change gives another value.
type Files []*sidecar

// sidecar is a file beside a model that states its length.
type sidecar struct {
	name  string // base name
	above bool   // it lies in the folder above the model's
	path  string // as opened
	info  fs.FileInfo
	data  []byte
	edits []sidecarEdit // in order

	target   string // the file that is to be written; empty: none, see why
	replaces bool   // target is there already, and may be replaced
	why      string // it is not written
	backup   string // where the old value is then; empty: nowhere
}

// sidecarEdit is one number in a sidecar file.
type sidecarEdit struct {
	report.Sidecar
	old, new string
	at       int64
}

// restated is a quantity to which a change gives another value.
type restated struct {
	of       quantity
	from, to float64
}

// value is what a number of that quantity becomes; false where it states another value than the old.
func (r restated) value(n jsonNumber) (string, bool) {
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		return "", false
	}
	to := r.to
	switch r.of {
	case positions:
		if v < r.from || v > r.from+maxOffset {
			return "", false
		}
		to += v - r.from
	default:
		if math.Abs(v/r.from-1) > 1e-6 { // a base may be stored in float32
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
func (r restated) misses(n jsonNumber) bool {
	if r.of != positions && r.of != ropeBase {
		return false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return err != nil || v != r.to && v <= position.MaxLength
}

// findSidecars looks beside a model for files that state the old values, for numbers that state others, and
// for files that cannot be read.
func findSidecars(ctx context.Context, model string, new []restated, o OpenOptions) (out Files, strays []string, unread []error) {
	for s, numbers := range sidecarsOf(ctx, model, o, &unread) {
		for _, n := range numbers {
			for _, r := range new {
				if r.of != sidecarPlaces[s.name][n.pointer] {
					continue
				}
				if to, ok := r.value(n); ok {
					s.add(n, to)
				} else if r.misses(n) {
					strays = append(strays, fmt.Sprintf("%s says %s at %s, where the model had %g: it stays as it is, to be changed by hand", s.name, report.Printable(n.text), n.pointer, r.from))
				}
			}
		}
		if len(s.edits) > 0 {
			out = append(out, s)
		}
	}
	return out, strays, unread
}

// sidecarsOf are the files beside a model, with the numbers in them that speak of its positions. Why
// one that is there cannot be read is added to unread.
func sidecarsOf(ctx context.Context, model string, o OpenOptions, unread *[]error) iter.Seq2[*sidecar, []jsonNumber] {
	return func(yield func(*sidecar, []jsonNumber) bool) {
		for _, name := range sortedNames() {
			var s *sidecar
			err := fs.ErrNotExist
			for _, folder := range besideFolders(model) {
				if s, err = readSidecar(ctx, model, folder+name, o); !errors.Is(err, fs.ErrNotExist) {
					break
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var numbers []jsonNumber
			if err == nil {
				if numbers = jsonNumbers(s.data, slices.Collect(maps.Keys(sidecarPlaces[name]))); numbers == nil {
					err = &InputError{Path: s.path, What: "there, and not readable", Why: "it is no JSON"}
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
	if !IsAddress(model) {
		if abs, err := filepath.Abs(filepath.Dir(model)); err == nil {
			folder = filepath.ToSlash(abs)
		}
	}
	if path.Base(folder) == "onnx" {
		return []string{"", above}
	}
	return []string{""}
}

// sidecarNames are the names of all files that are looked for beside a model.
func sidecarNames(model string) (out []string) {
	for _, folder := range besideFolders(model) {
		for _, name := range sortedNames() {
			out = append(out, folder+name)
		}
	}
	return out
}

// above is the folder above a model's.
const above = "../"

// readSidecar reads a file beside a model. The error of one that is not there is fs.ErrNotExist.
func readSidecar(ctx context.Context, model, name string, o OpenOptions) (*sidecar, error) {
	s := &sidecar{name: path.Base(name), above: strings.HasPrefix(name, above), path: PathBeside(model, name)}
	var err error
	if IsAddress(model) {
		s.data, err = ReadBeside(ctx, model, name, o)
	} else {
		s.data, s.info, err = regular.Read(s.path, MaxBeside(name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		why := err.Error()
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			why = p.Err.Error()
		}
		return nil, &InputError{Path: s.path, What: "there, and not readable", Why: why, Err: err}
	}
	return s, nil
}

// add gives a number another value, where both are as JSON writes them and, but for a base, whole.
// Numbers must come in the order of their places.
func (s *sidecar) add(n jsonNumber, new string) {
	const longest = 32
	from, err1 := strconv.ParseFloat(n.text, 64)
	to, err2 := strconv.ParseFloat(new, 64)
	whole := from == math.Trunc(from) && strconv.Itoa(int(to)) == new
	if err1 != nil || err2 != nil || len(new) > longest || !json.Valid([]byte(new)) || !whole && sidecarPlaces[s.name][n.pointer] != ropeBase {
		return
	}
	s.edits = append(s.edits, sidecarEdit{old: n.text, new: new, at: n.at,
		Sidecar: report.Sidecar{Path: report.Name(s.path), Pointer: n.pointer, From: report.Number(from), To: report.Number(to)}})
}

// changed is the file's content with the new numbers.
func (s *sidecar) changed() []byte {
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
	return slices.Sorted(maps.Keys(sidecarPlaces))
}

// OfPatch finds the numbers beside a model that a patch's change gave other values, or that taking it
// back gives their old ones. Names and places that no change of ours touches are left alone, for a patch
// may come from anybody.
func OfPatch(ctx context.Context, model string, numbers []patch.PatchBeside, revert bool, o OpenOptions) (out Files) {
	if len(numbers) == 0 {
		return nil
	}
	var unread []error // no change of ours was made there
	for s, found := range sidecarsOf(ctx, model, o, &unread) {
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
		out = append(out, PathBeside(model, name))
	}
	return out
}
