package modelpatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

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
func findSidecars(model string, old, new int) []*sidecar {
	var out []*sidecar
	for _, name := range sortedNames() {
		s, numbers := readSidecar(filepath.Join(filepath.Dir(model), name))
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
	if s.data, s.info, err = readSmall(path, maxSidecar); err != nil {
		return nil, nil
	}
	return s, jsonNumbers(s.data, sidecarPointers[s.name])
}

// readSmall reads a regular file of at most the given size. It waits for no pipe
// and reads no device.
func readSmall(path string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("not a regular file, but " + kindOf(info.Mode()))
	case info.Size() > most:
		return nil, nil, fmt.Errorf("%d bytes are too many", info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) != info.Size() {
		err = errors.New("changed while reading")
	}
	return b, info, err
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

// maxNesting bounds how deep a JSON text may be nested: configurations are a few
// levels deep.
const maxNesting = 1000

// jsonNumbers lists the numbers of a JSON text at the given pointers, in the
// order of their places; nil when it is not JSON. A pointer that occurs twice is
// left out: readers disagree about which one counts.
func jsonNumbers(data []byte, pointers []string) []jsonNumber {
	w := jsonWalk{Decoder: json.NewDecoder(bytes.NewReader(data)), found: map[string]int{}}
	w.UseNumber()
	var paths [][]string
	for _, p := range pointers {
		paths = append(paths, strings.Split(p, "/")[1:])
	}
	for {
		if err := w.value(paths, 0); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil
		}
	}
	return slices.DeleteFunc(w.numbers, func(n jsonNumber) bool { return w.found[n.pointer] > 1 })
}

// jsonWalk reads a JSON text once, from front to back.
type jsonWalk struct {
	*json.Decoder
	numbers []jsonNumber
	found   map[string]int // by pointer
}

// value reads a value at a depth. paths are the pointers that lead through it;
// nothing is kept of what lies on none.
func (w *jsonWalk) value(paths [][]string, depth int) error {
	t, err := w.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxNesting {
			return fmt.Errorf("more than %d levels", maxNesting)
		}
		err = w.members(t == '{', paths, depth)
	case json.Number:
		w.number(t.String(), paths, depth)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// members reads what stands in an object or an array, and its end.
func (w *jsonWalk) members(object bool, paths [][]string, depth int) error {
	for w.More() {
		var inside [][]string
		if object {
			t, err := w.Token()
			if err != nil {
				return err
			}
			key, _ := t.(string)
			for _, p := range paths {
				if len(p) > depth && p[depth] == key {
					inside = append(inside, p)
				}
			}
		}
		if err := w.value(inside, depth+1); err != nil {
			return err
		}
	}
	_, err := w.Token()
	return err
}

// number notes a number at the end of a pointer.
func (w *jsonWalk) number(text string, paths [][]string, depth int) {
	for _, p := range paths {
		if len(p) != depth || depth == 0 {
			continue
		}
		n := jsonNumber{"/" + strings.Join(p, "/"), text, w.InputOffset() - int64(len(text))}
		if w.found[n.pointer]++; w.found[n.pointer] == 1 {
			w.numbers = append(w.numbers, n)
		}
	}
}
