package modelpatch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
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

func TestSidecars(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	config := "{\n  \"hidden_size\": 512,\n  \"max_position_embeddings\": 514\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(folder, "model.onnx")
	want := "{\n  \"hidden_size\": 512,\n  \"max_position_embeddings\": 2050\n}\n"
	for _, target := range []string{filepath.Join(other, "long.onnx"), filepath.Join(folder, "long.onnx")} {
		edits := findSidecars(model, 512, 2048)
		if len(edits) != 1 || edits[0].Pointer != "/max_position_embeddings" || edits[0].From != 514 || edits[0].To != 2050 {
			t.Fatalf("%+v", edits)
		}
		if err := writeSidecars(context.Background(), edits, target); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(filepath.Dir(target), "config.json"))
		if err != nil || string(got) != want || !edits[0].Written {
			t.Errorf("%s: %q, %v", target, got, err)
		}
	}
}
