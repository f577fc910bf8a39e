package modelpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/patch"
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

// sidecarEdit is one number in a sidecar file.
type sidecarEdit struct {
	report.Sidecar
	file       string // as opened
	at, length int64
}

// findSidecars looks beside a model for files that state its old length.
func findSidecars(model string, old, new int) []sidecarEdit {
	var out []sidecarEdit
	folder := filepath.Dir(model)
	for _, name := range sortedNames() {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSidecar {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, n := range jsonNumbers(data) {
			from, err := strconv.Atoi(n.text)
			if err != nil || !slices.Contains(sidecarPointers[name], n.pointer) || from < old || from > old+maxOffset {
				continue
			}
			out = append(out, sidecarEdit{file: path, at: n.at, length: int64(len(n.text)),
				Sidecar: report.Sidecar{Path: report.Name(path), Pointer: n.pointer, From: report.Number(from), To: report.Number(from - old + new)}})
		}
	}
	return out
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

// writeSidecars writes the changed files beside the new model: over the old
// ones when that is where they stand.
func writeSidecars(ctx context.Context, edits []sidecarEdit, model string) error {
	for i := 0; i < len(edits); {
		j := i
		for j < len(edits) && edits[j].file == edits[i].file {
			j++
		}
		if err := writeSidecar(ctx, edits[i:j], filepath.Dir(model)); err != nil {
			return err
		}
		for k := i; k < j; k++ {
			edits[k].Written = true
		}
		i = j
	}
	return nil
}

func writeSidecar(ctx context.Context, edits []sidecarEdit, folder string) error {
	path := edits[0].file
	info, err := os.Stat(path)
	if err != nil {
		return &patch.OutputError{Op: "read", Path: path, Err: err}
	}
	p := patch.Plan{Inputs: []patch.Input{{Path: path, Size: info.Size()}}, Outputs: []patch.Output{{}}}
	for _, e := range edits {
		p.Edits = append(p.Edits, patch.Edit{At: e.at, Old: e.length, New: patch.Text(strconv.Itoa(int(e.To))), Why: "stated length"})
	}
	target := filepath.Join(folder, filepath.Base(path))
	if same(target, path) {
		return replaceSidecar(ctx, p, path)
	}
	_, err = patch.WriteNew(ctx, p, target, patch.WriteOptions{Force: true})
	return err
}

// replaceSidecar writes a changed copy beside the file and renames it over.
func replaceSidecar(ctx context.Context, p patch.Plan, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &patch.OutputError{Op: "read", Path: path, Err: err}
	}
	changed, err := io.ReadAll(p.NewReader(0, bytes.NewReader(data)))
	if err != nil {
		return &patch.OutputError{Op: "write", Path: path, Err: err}
	}
	fresh := patch.Plan{Inputs: []patch.Input{{}}, Outputs: []patch.Output{{}}, Edits: []patch.Edit{{New: patch.Bytes(changed), Why: "stated length"}}}
	_, err = patch.WriteNew(ctx, fresh, path, patch.WriteOptions{Force: true})
	return err
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
