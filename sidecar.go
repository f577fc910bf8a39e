package modelpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/report"
)

// sidecarPointers are the places in files beside a model where its length is
// stated, by file name (JSON pointers, RFC 6901).
var sidecarPointers = map[string][]string{
	"config.json": {"/max_position_embeddings", "/n_positions", "/n_ctx", "/max_sequence_length", "/max_seq_len", "/seq_length",
		"/text_config/max_position_embeddings"},
	"tokenizer_config.json":     {"/model_max_length"},
	"genai_config.json":         {"/model/context_length", "/search/max_length"},
	"sentence_bert_config.json": {"/max_seq_length"},
}

// maxSidecar bounds a sidecar file; configurations are a few kilobytes.
const maxSidecar = 16 << 20

// maxOffset is how many positions a stated length may exceed the real one by:
// RoBERTa's configuration says 514 for 512.
const maxOffset = 4

// sidecar is a file beside a model that states its length.
type sidecar struct {
	name  string // base name
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

// findSidecars looks beside a model for files that state its old length.
func findSidecars(model string, old, new int, o OpenOptions) []*sidecar {
	var out []*sidecar
	for _, name := range sortedNames() {
		s, numbers := readSidecarOf(model, name, o)
		for _, n := range numbers {
			if from, err := strconv.Atoi(n.text); err == nil && from >= old && from <= old+maxOffset {
				s.add(n, strconv.Itoa(from-old+new))
			}
		}
		if s != nil && len(s.edits) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// readSidecar reads a file beside a model, and the numbers in it that state
// lengths; nil where there is none.
func readSidecar(path string) (*sidecar, []jsonNumber) {
	s := &sidecar{name: filepath.Base(path), path: path}
	var err error
	if s.data, s.info, err = regular.Read(path, maxSidecar); err != nil {
		return nil, nil
	}
	return s, jsonNumbers(s.data, sidecarPointers[s.name])
}

// readSidecarOf is readSidecar of a model that may be named by an address.
func readSidecarOf(model, name string, o OpenOptions) (*sidecar, []jsonNumber) {
	path := PathBeside(model, name)
	if !IsAddress(model) {
		return readSidecar(path)
	}
	data, err := ReadBeside(context.Background(), model, name, o)
	if err != nil {
		return nil, nil
	}
	return &sidecar{name: name, path: path, data: data}, jsonNumbers(data, sidecarPointers[name])
}

// add gives a number another value, where both are whole numbers as JSON writes
// them. Numbers must come in the order of their places.
func (s *sidecar) add(n jsonNumber, new string) {
	from, err1 := strconv.Atoi(n.text)
	to, err2 := strconv.Atoi(new)
	if err1 != nil || err2 != nil || strconv.Itoa(to) != new {
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

func sortedNames() []string {
	var names []string
	for name := range sidecarPointers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// jsonNumber is a number in a JSON text.
type jsonNumber struct {
	pointer, text string
	at            int64
}

// jsonNumbers lists the numbers of a JSON text at the given pointers, in the
// order of their places; nil when it is not JSON. A pointer that occurs twice is
// left out: readers disagree about which one counts.
func jsonNumbers(data []byte, pointers []string) []jsonNumber {
	if !json.Valid(data) { // deeper than 10,000 levels is not
		return nil
	}
	var paths [][]string
	for _, p := range pointers {
		paths = append(paths, strings.Split(p, "/")[1:])
	}
	w := jsonWalk{data: data, found: map[string]int{}}
	w.value(paths, 0)
	return slices.DeleteFunc(w.numbers, func(n jsonNumber) bool { return w.found[n.pointer] > 1 })
}

// jsonWalk goes through a sound JSON text once, from front to back.
type jsonWalk struct {
	data    []byte
	at      int // the next byte
	numbers []jsonNumber
	found   map[string]int // by pointer
}

// value passes a value at a depth. paths are the pointers that lead through it;
// nothing is kept of what lies on none.
func (w *jsonWalk) value(paths [][]string, depth int) {
	switch w.next(" \t\r\n"); w.data[w.at] {
	case '{', '[':
		w.members(w.data[w.at] == '{', paths, depth)
	case '"':
		w.text()
	default:
		start := w.at
		for w.at < len(w.data) && strings.IndexByte(" \t\r\n,]}", w.data[w.at]) < 0 {
			w.at++
		}
		if c := w.data[start]; c == '-' || c >= '0' && c <= '9' {
			w.number(start, paths, depth)
		}
	}
}

// next passes bytes of a set.
func (w *jsonWalk) next(set string) {
	for w.at < len(w.data) && strings.IndexByte(set, w.data[w.at]) >= 0 {
		w.at++
	}
}

// text passes a string and returns it with its quotes.
func (w *jsonWalk) text() []byte {
	start := w.at
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.data[start:w.at]
}

// members passes an object or an array.
func (w *jsonWalk) members(object bool, paths [][]string, depth int) {
	w.at++
	for {
		w.next(" \t\r\n,")
		if c := w.data[w.at]; c == '}' || c == ']' {
			w.at++
			return
		}
		var inside [][]string
		if object {
			inside = through(paths, depth, w.text())
			w.next(" \t\r\n:")
		}
		w.value(inside, depth+1)
	}
}

// through returns the paths whose name at a depth is the given key, in quotes.
func through(paths [][]string, depth int, quoted []byte) (inside [][]string) {
	if len(paths) == 0 {
		return nil
	}
	key := string(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(quoted, '\\') >= 0 && json.Unmarshal(quoted, &key) != nil {
		return nil
	}
	for _, p := range paths {
		if len(p) > depth && p[depth] == key {
			inside = append(inside, p)
		}
	}
	return inside
}

// number notes a number at the end of a pointer.
func (w *jsonWalk) number(start int, paths [][]string, depth int) {
	for _, p := range paths {
		if len(p) != depth || depth == 0 {
			continue
		}
		n := jsonNumber{"/" + strings.Join(p, "/"), string(w.data[start:w.at]), int64(start)}
		if w.found[n.pointer]++; w.found[n.pointer] == 1 {
			w.numbers = append(w.numbers, n)
		}
	}
}
