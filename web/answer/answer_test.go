package answer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

func inspected(t *testing.T, name string) Inspected {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return Inspect(context.Background(), bytes.NewReader(content), int64(len(content)), filepath.Base(name), func(other string) (io.ReaderAt, int64, error) {
		content, err := os.ReadFile(filepath.Join("../../testdata", filepath.Dir(name), other))
		if err != nil {
			return nil, 0, fs.ErrNotExist
		}
		return bytes.NewReader(content), int64(len(content)), nil
	}, 0)
}

// TestInspect holds the answer against what the tool says of the same file.
func TestInspect(t *testing.T) {
	for _, c := range []struct {
		name     string
		pictures int
	}{{"gguf/gpt2-f32.gguf", 1}, {"gguf/t5-32.gguf", 2}, {"onnx/opt-dy18fix.onnx", 1}, {"gguf/split-gpt2-nofirst-00001-of-00003.gguf", 1}, {"onnx/cases/recurrence-unrolled.onnx", 0}} {
		t.Run(c.name, func(t *testing.T) {
			got := inspected(t, c.name)
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			t.Chdir(filepath.Join("../../testdata", filepath.FromSlash(filepath.Dir(c.name))))
			want, err := modelpatch.Inspect(t.Context(), filepath.Base(c.name), modelpatch.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got.Report)
			b, _ := json.Marshal(want)
			if !bytes.Equal(a, b) {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			if len(got.Pictures) != c.pictures || (got.NoPicture == "") != (c.pictures > 0) {
				t.Errorf("%d pictures, %q", len(got.Pictures), got.NoPicture)
			}
			for _, p := range got.Pictures {
				if !strings.HasPrefix(p.SVG, "<svg ") || p.Description == "" || len(p.Tables) == 0 {
					t.Errorf("picture %+v", p.Title)
				}
			}
			if len(got.Encodings) != len(want.Encodings) || got.Headline != want.Headline() {
				t.Errorf("%d encodings for %d, %q", len(got.Encodings), len(want.Encodings), got.Headline)
			}
			if _, err := report.Line(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInspectFails tells bad files, and readers that fail.
func TestInspectFails(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.gguf", "", "truncated"}, {"a.gguf", "GGUF", "truncated"}, {"a\x1b[31m.onnx", "<html>", `a\x1b[31m.onnx: not a model: an HTML page`}, {"a.onnx", "\x1f\x8b\x08", "gzip"},
	} {
		got := Inspect(context.Background(), strings.NewReader(c.content), int64(len(c.content)), c.name, nil, 0)
		if got.Report != nil || !strings.Contains(got.Error, c.want) {
			t.Errorf("%q: %q, want %q", c.content, got.Error, c.want)
		}
	}
	got := Inspect(context.Background(), broken{}, 1<<40, "a.gguf", nil, 0)
	if !strings.Contains(got.Error, "the server answers 500") {
		t.Errorf("got %q", got.Error)
	}
	got = Inspect(context.Background(), nil, 10, "a.gguf", nil, 0)
	if !strings.Contains(got.Error, "a mistake in modelpatch") {
		t.Errorf("a panic gives %q", got.Error)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) {
	return 0, &modelpatch.InputError{Path: "a.gguf", What: "cannot be read", Why: "the server answers 500"}
}

// TestChange makes patches and models as the library does by itself.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		name    string
		request Request
		want    string // of the change, or of the error
		files   int
		made    string // the new model's name
	}{
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 128, Whole: true}, "24 → 128", 2, "gpt2-f32-128.gguf"},
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 128}, "24 → 128", 1, "gpt2-f32-128.gguf"},
		{"gguf/llama-plain.gguf", Request{Verb: "rope", Scaling: "yarn", Factor: 4, OriginalLength: 32}, "yarn ×4", 1, "llama-plain-yarn-x4.gguf"},
		{"gguf/gpt2-f32.gguf", Request{Verb: "rope", Base: 20000}, "refused", 0, ""},
		{"gguf/gpt2-f32.gguf", Request{Verb: "remove"}, "it is extend or rope", 0, ""},
		{"gguf/gpt2-f32.gguf", Request{Verb: "extend", Length: 24}, "", 0, ""},
	} {
		c.request.Path, c.request.Folder = filepath.Join("../../testdata", filepath.FromSlash(c.name)), t.TempDir()
		got := Change(context.Background(), c.request)
		if !strings.Contains(strings.Join(got.Changes, " ")+got.Error, c.want) || len(got.Files) != c.files {
			t.Errorf("%+v: %+v", c.request, got)
		}
		for i, f := range got.Files {
			want := filepath.Join(c.request.Folder, c.made)
			if i == 0 {
				want += ".mpatch"
			}
			if info, err := os.Stat(f.Path); f.Path != want || err != nil || info.Size() == 0 {
				t.Errorf("file %s, want %s: %v", f, want, err)
			}
		}
		if c.files > 0 && (!strings.HasPrefix(got.Outputs, "outputs ") || len(got.Check) != 1 || got.Files[0].Apply != "modelpatch apply "+c.made+".mpatch "+filepath.Base(c.name)+" -o "+c.made) {
			t.Errorf("outputs %q, check %q, files %+v", got.Outputs, got.Check, got.Files)
		}
		if c.request.Length == 24 && got.Nothing == "" {
			t.Errorf("nothing to do is not told: %+v", got)
		}
	}
}

// TestLimits tells the three limits apart in words: a number, none, and one that is not known.
func TestLimits(t *testing.T) {
	unknown := header("frobnicate", "frobnicate.rope.dimension_count", "frobnicate.context_length")
	for _, c := range []struct{ name, want, headline string }{
		{"gguf/gpt2-f32.gguf", "24 positions", "position table; context length 24; longer input fails with an error"},
		{"gguf/mpt-alibi.gguf", "no limit", "ALiBi; context length 64; nothing in the file limits the length"},
		{unknown, "not known", "RoPE; context length 64; how far it reaches is not known"},
		{header("controlvector", "controlvector.layer_count"), "not known", "a file of kind control-vector, which encodes no positions itself"},
	} {
		var got Inspected
		if strings.HasPrefix(c.name, "GGUF") {
			got = Inspect(t.Context(), strings.NewReader(c.name), int64(len(c.name)), "a.gguf", nil, 0)
		} else {
			got = inspected(t, c.name)
		}
		if says := fact(got.Facts, "longest input"); says != c.want || got.Headline != c.headline {
			t.Errorf("%s: %q, want %q; %q, want %q", c.name, says, c.want, got.Headline, c.headline)
		}
		for _, e := range got.Encodings {
			if says := fact(e.Facts, "longest input"); says != c.want {
				t.Errorf("%s: %s: %q, want %q", c.name, e.Name, says, c.want)
			}
		}
	}
}

// header is a GGUF of an architecture and keys alone, each of which is 64.
func header(arch string, keys ...string) string {
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	text := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	b.WriteString("GGUF")
	put(uint32(3))
	put([]uint64{0, uint64(1 + len(keys))})
	text("general.architecture")
	put(uint32(8))
	text(arch)
	for _, k := range keys {
		text(k)
		put([]uint32{4, 64})
	}
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	return b.String()
}

func fact(facts [][2]string, label string) string {
	for _, f := range facts {
		if f[0] == label {
			return f[1]
		}
	}
	return ""
}

// TestShards names every patch's own shard, old and new.
func TestShards(t *testing.T) {
	const old, new = "split-gpt2-nofirst-0000%d-of-00003.gguf", "split-gpt2-nofirst-96-0000%d-of-00003.gguf"
	got := Change(t.Context(), Request{Path: "../../testdata/gguf/" + fmt.Sprintf(old, 1), Folder: t.TempDir(), Verb: "extend", Length: 96, Whole: true})
	if len(got.Files) != 5 {
		t.Fatalf("%+v", got)
	}
	for i, shard := range []int{1, 3} {
		name := fmt.Sprintf(new, shard)
		if want := "modelpatch apply " + name + ".mpatch " + fmt.Sprintf(old, shard) + " -o " + name; got.Files[i].Apply != want {
			t.Errorf("%q, want %q", got.Files[i].Apply, want)
		}
	}
}

// TestRemedies says what the form has in its words, and all else as a command.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		r    report.Remedy
		want string
	}{
		{report.Do("extend", "states a length", "len", "N", "method", "none"), "choose “a longer context” with Length and Method none states a length"},
		{report.Do("rope", "", "scaling", "yarn|linear"), "choose “another RoPE base or scaling” with Scaling yarn or linear"},
		{report.Do("", "is the length that the model was trained with", "original-length", "L"), "Original length is the length that the model was trained with"},
		{report.Do("alibi", "takes its place", "replace", ""), "on the command line: modelpatch alibi --replace takes its place"},
		{report.Do("", "makes the change all the same", "force", ""), "on the command line: --force makes the change all the same"},
	} {
		if got := remedy(c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestPatch reads what Change wrote, and a patch that is none.
func TestPatch(t *testing.T) {
	made := Change(t.Context(), Request{Path: "../../testdata/gguf/gpt2-f32.gguf", Folder: t.TempDir(), Verb: "extend", Length: 128})
	if made.Error != "" {
		t.Fatal(made.Error)
	}
	got := Show(made.Files[0].Path)
	if got.Error != "" || got.Patch == nil || got.Headline != "patch: extend --len 128" {
		t.Fatalf("%+v", got)
	}
	if to := fact(got.Facts, "to"); !strings.HasPrefix(to, "gpt2-f32-128.gguf, ") {
		t.Errorf("to %q", to)
	}
	if got = Show("../../testdata/gguf/gpt2-f32.gguf"); got.Patch != nil || !strings.Contains(got.Error, "gpt2-f32.gguf: not a patch file") {
		t.Errorf("%q", got.Error)
	}
}
