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

	target string // the file that is to be written; empty: none, see why
	why    string // it is not written
	backup string // where the old value is then; empty: nowhere
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
	if s.info, err = os.Stat(path); err != nil || !s.info.Mode().IsRegular() || s.info.Size() > maxSidecar {
		return nil, nil
	}
	if s.data, err = os.ReadFile(path); err != nil {
		return nil, nil
	}
	numbers := slices.DeleteFunc(jsonNumbers(s.data), func(n jsonNumber) bool { return !slices.Contains(sidecarPointers[s.name], n.pointer) })
	return s, numbers
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

// jsonNumbers lists the numbers of a JSON text with their places; nil when it
// is not JSON.
func jsonNumbers(data []byte) []jsonNumber {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out []jsonNumber
	type level struct {
		object bool
		key    string
		index  int
		value  bool // the next token of an object is a value
	}
	var stack []level
	pointer := func() string {
		var b strings.Builder
		for _, l := range stack {
			if l.object {
				b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(l.key))
			} else {
				fmt.Fprintf(&b, "/%d", l.index)
			}
		}
		return b.String()
	}
	done := func() { // a value ended
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			top.value = false
			top.index++
		}
	}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return nil
		}
		if delim, ok := t.(json.Delim); ok {
			switch delim {
			case '{', '[':
				stack = append(stack, level{object: delim == '{'})
			default:
				stack = stack[:len(stack)-1]
				done()
			}
			continue
		}
		if len(stack) > 0 {
			if top := &stack[len(stack)-1]; top.object && !top.value {
				top.key, _ = t.(string)
				top.value = true
				continue
			}
		}
		if n, ok := t.(json.Number); ok {
			out = append(out, jsonNumber{pointer(), n.String(), d.InputOffset() - int64(len(n.String()))})
		}
		done()
	}
}
