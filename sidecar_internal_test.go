package modelpatch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
)

func TestJSONNumbers(t *testing.T) {
	text := `{"a": {"b/c": [1, {"d": -2.5e3}], "e": "7"}, "max_position_embeddings" : 514}`
	want := map[string]string{"/a/b~1c/0": "1", "/a/b~1c/1/d": "-2.5e3", "/max_position_embeddings": "514"}
	got := jsonNumbers([]byte(text))
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d: %v", len(got), len(want), got)
	}
	for _, n := range got {
		if want[n.pointer] != n.text || text[n.at:n.at+int64(len(n.text))] != n.text {
			t.Errorf("%s: %q at %d", n.pointer, n.text, n.at)
		}
	}
	if jsonNumbers([]byte(`{"a": `)) != nil {
		t.Error("broken JSON gave numbers")
	}
}

// TestSidecarNumbers: RoBERTa's configuration says two positions more; the new
// one does too, and nothing else of the text changes.
func TestSidecarNumbers(t *testing.T) {
	folder := t.TempDir()
	config := "{\n  \"hidden_size\": 512,\n  \"max_position_embeddings\": 514\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	found := findSidecars(filepath.Join(folder, "model.onnx"), 512, 2048)
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
	r := patchRun{path: filepath.Join(folder, "m.gguf"), patch: &patch.PatchFile{PatchHeader: patch.PatchHeader{Beside: []patch.PatchBeside{
		{Name: "config.json", Pointer: "/n_positions", Old: "5", New: "7"},
		{Name: "config.json", Pointer: "/n_positions", Old: "5", New: "8"},
		{Name: "config.json", Pointer: "/n_ctx", Old: "5", New: "9"},
		{Name: "config.json", Pointer: "/hidden_size", Old: "5", New: "9"},
		{Name: "config.json", Pointer: "/max_seq_len", Old: "6", New: "+7"},
		{Name: "other.json", Pointer: "/n_ctx", Old: "5", New: "9"},
		{Name: "../config.json", Pointer: "/n_ctx", Old: "5", New: "9"},
	}}}}
	found := r.patchedBeside()
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	want := `{"n_ctx": 9, "n_positions": 7, "hidden_size": 5, "max_seq_len": 6}`
	if got := string(found[0].changed()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
