package sidecar

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/internal/pythonjson"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
)

func TestJSONNumbers(t *testing.T) {
	text := `{"a": {"b": [1, {"d": 9}], "e": "7", "f": -2.5e3, "n": {"n": 4}}, "n": "3", "x": {"n": 8}, "max_position_embeddings" : 514, "esc\u0061ped\"": 6, "s": "\\\"{", "twice": 1, "twice": 2, "0": 7} `
	want := map[string]string{"/a/f": "-2.5e3", "/max_position_embeddings": "514", "/a/n/n": "4", `/escaped"`: "6",
		"/a/e": `"7"`, "/n": `"3"`, "/s": `"\\\"{"`} // texts where numbers belong
	pointers := []string{"/a/f", "/a/b", "/a/b/d", "/a/b/0", "/a/e", "/a/n/n", "/n", "/f", "/max_position_embeddings", "/twice", "/absent", `/escaped"`, "/s"}
	got := jsonNumbers([]byte(text), pointers)
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d: %v", len(got), len(want), got)
	}
	for _, n := range got {
		if want[n.pointer] != n.text || text[n.at:n.at+int64(len(n.text))] != n.text {
			t.Errorf("%s: %q at %d", n.pointer, n.text, n.at)
		}
	}
	for _, broken := range []string{`{"n": 5`, `{"n": 5}}`, `{"n": 5} x`, `{"n": 5, }`, `{"n": 5]`, `{"n": 5 "m": 6}`, ``, `5`, `[5]`} {
		if got := jsonNumbers([]byte(broken), []string{"/n"}); len(got) != 0 {
			t.Errorf("%s gave %v", broken, got)
		}
	}
}

// TestJSONNumbersLarge: what is nested deep, or has long keys, takes memory by its
// size alone, and by far less than its depth. (Quadratic time would not end.)
func TestJSONNumbersLarge(t *testing.T) {
	const n, deepest = 1 << 20, 10000
	pointers := slices.Collect(maps.Keys(places()["config.json"]))
	numbers := "[" + strings.Repeat("1,", n) + "1]"
	for name, c := range map[string]struct {
		text  string
		found int
	}{
		"deep":       {`{"n_ctx": 5, "a": ` + strings.Repeat("[", 10*n) + strings.Repeat("]", 10*n) + "}", 0},
		"many deep":  {`{"n_ctx": 5, "a": ` + strings.Repeat(`{"k": `, deepest-1) + numbers + strings.Repeat("}", deepest), 0},
		"nested":     {`{"n_ctx": 5, "a": ` + strings.Repeat(`{"k": `, deepest-2) + numbers + strings.Repeat("}", deepest-1), 1},
		"a long key": {`{"n_ctx": 5, "` + strings.Repeat("k", n) + `": ` + numbers + "}", 1},
		"many keys":  {`{"n_ctx": 5` + strings.Repeat(`, "n_ctx": 5`, n) + "}", 0},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := jsonNumbers([]byte(c.text), pointers)
		runtime.ReadMemStats(&after)
		if len(got) != c.found {
			t.Errorf("%s: %v", name, got)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<28+16*uint64(len(c.text)) {
			t.Errorf("%s: %d bytes for %d", name, made, len(c.text))
		}
	}
}

// FuzzJSONNumbers reads sidecars of any content: numbers stand where they are
// said to stand, and the text with other numbers is as valid as before.
func FuzzJSONNumbers(f *testing.F) {
	f.Add([]byte(`{"text_config": {"max_position_embeddings": 512}, "n_ctx": 512, "a": [[{"n_ctx": 1e9}]]}`))
	f.Add([]byte(`{"n_ctx":512,"n_ctx":512,"max_seq_len":-0}`))
	f.Add([]byte("\ufeff{}"))
	f.Add([]byte(`{"n_ctx": Infinity, "rope_theta": 10000.0, "time_step_limit": [0.0, Infinity], "image_size": NaN}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &file{name: "config.json", path: "config.json", data: data}
		for _, n := range jsonNumbers(data, slices.Collect(maps.Keys(places()[s.name]))) {
			if string(data[n.at:n.at+int64(len(n.text))]) != n.text {
				t.Fatalf("%q is not at %d", n.text, n.at)
			}
			s.add(n, "12345")
		}
		if len(s.edits) > len(places()[s.name]) {
			t.Fatalf("%d edits", len(s.edits))
		}
		if json.Valid(pythonjson.Plain(data)) && !json.Valid(pythonjson.Plain(s.changed())) {
			t.Fatalf("%q became %q", data, s.changed())
		}
	})
}

// TestSidecarNumbers: RoBERTa's configuration says two positions more; the new
// one does too, and nothing else of the text changes.
func TestSidecarNumbers(t *testing.T) {
	folder := t.TempDir()
	config := "{\n  \"hidden_size\": 512,\n  \"max_position_embeddings\": 514\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	found, _, _ := Find(t.Context(), filepath.Join(folder, "model.onnx"), []Restated{{Positions, 512, 2048}}, source.Options{})
	if len(found) != 1 || len(found[0].edits) != 1 {
		t.Fatalf("%+v", found)
	}
	if e := found[0].edits[0]; e.Pointer != "/max_position_embeddings" || e.From != 514 || e.To != 2050 {
		t.Errorf("%+v", e)
	}
	want := "{\n  \"hidden_size\": 512,\n  \"max_position_embeddings\": 2050\n}\n"
	if got := string(found[0].changed()); got != want {
		t.Errorf("%q", got)
	}
}

// TestSidecarsOfForeignPatch: a patch may come from anybody. It changes numbers
// that state lengths, from the value that it knows to a whole number, and
// nothing else.
func TestSidecarsOfForeignPatch(t *testing.T) {
	folder := t.TempDir()
	const config = `{"n_ctx": 5, "n_positions": 5, "hidden_size": 5, "max_seq_len": 6}`
	for _, name := range []string{"config.json", "other.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := OfPatch(t.Context(), filepath.Join(folder, "m.gguf"), []patch.PatchBeside{
		{Name: "config.json", Pointer: "/n_positions", Old: "5", New: "7"},
		{Name: "config.json", Pointer: "/n_positions", Old: "5", New: "8"},
		{Name: "config.json", Pointer: "/n_ctx", Old: "5", New: "9"},
		{Name: "config.json", Pointer: "/hidden_size", Old: "5", New: "9"},
		{Name: "config.json", Pointer: "/max_seq_len", Old: "6", New: "+7"},
		{Name: "other.json", Pointer: "/n_ctx", Old: "5", New: "9"},
		{Name: "../config.json", Pointer: "/n_ctx", Old: "5", New: "9"},
	}, false, source.Options{})
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	want := `{"n_ctx": 9, "n_positions": 7, "hidden_size": 5, "max_seq_len": 6}`
	if got := string(found[0].changed()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
