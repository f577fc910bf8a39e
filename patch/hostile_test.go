//go:build unix

package patch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// sandbox is a folder dl that came from somewhere, with journals in it, beside a
// folder home that is none of its business.
type sandbox struct{ dl, home string }

const (
	sandboxModel = "model.gguf"
	sandboxShard = "model-00001-of-00002.gguf"
	sandboxToken = "0123456789ab"
)

// newSandbox makes dl and home, with stages of either kind: real folders and
// links.
func newSandbox(t *testing.T) sandbox {
	t.Helper()
	dir := t.TempDir()
	s := sandbox{filepath.Join(dir, "dl"), filepath.Join(dir, "home")}
	for _, folder := range []string{s.dl, s.home, filepath.Join(s.dl, "s"), s.stage(sandboxModel), s.stage(sandboxShard)} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{sandboxModel, sandboxShard, "README.md", "model-00002-of-00002.gguf", "other-00002-of-00002.gguf", "model-00002-of-00003.gguf"} {
		writeFile(t, s.dl, name, "old content of "+name)
		writeFile(t, filepath.Join(s.dl, "s"), name, "new content of "+name)
		writeFile(t, s.stage(sandboxModel), name, "new content of "+name)
		writeFile(t, s.stage(sandboxShard), name, "new content of "+name)
	}
	writeFile(t, s.home, "id_rsa", "secret")
	writeFile(t, s.home, sandboxShard, "somebody's shard")
	for _, link := range []string{"l", tempPrefix(sandboxShard) + "ba9876543210"} {
		if err := os.Symlink("../home", filepath.Join(s.dl, link)); err != nil {
			t.Skip("skipped by name: hostile journals (no symbolic links here)")
		}
	}
	return s
}

func (s sandbox) stage(target string) string {
	return filepath.Join(s.dl, tempPrefix(target)+sandboxToken)
}

// journal puts a journal with a right sum beside target.
func (s sandbox) journal(t *testing.T, target, header, body string) {
	t.Helper()
	b := []byte(journalMagic + header + "\n" + body)
	sum := sha256.Sum256(b)
	writeFile(t, s.dl, filepath.Base(journalPath(target)), string(append(b, sum[:]...)))
}

// content is every file and link in a folder, but for what a journal's own
// target may become.
func content(t *testing.T, folder string, but ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(but, name) || strings.HasPrefix(name, ".model"):
		case d.Type()&fs.ModeSymlink != 0:
			out[name], _ = os.Readlink(path)
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			out[name] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHostileJournals: a journal may come with a download. One that is not what
// an edit of this very file leaves is an error, and nothing is moved or changed.
func TestHostileJournals(t *testing.T) {
	names := func(target, stage string, names ...string) string {
		return fmt.Sprintf(`{"target":%q,"before":0,"after":0,"ranges":null,"outside":null,"stage":%q,"names":["%s"]}`, target, stage, strings.Join(names, `","`))
	}
	beside := func(name string, old, new int64) string {
		return fmt.Sprintf(`{"target":%q,"before":25,"after":25,"ranges":[],"outside":null,"beside":[{"name":%q,"old":%d,"new":%d}]}`, sandboxModel, name, old, new)
	}
	own := tempPrefix(sandboxShard) + sandboxToken
	linked := tempPrefix(sandboxShard) + "ba9876543210"
	second := "model-00002-of-00002.gguf"
	for _, c := range []struct {
		name, target, header, body string
		prepare                    func(s sandbox) error
	}{
		{"a stage of any name", sandboxShard, names(sandboxShard, "s", second), "", nil},
		{"a stage that is a link", sandboxShard, names(sandboxShard, linked, sandboxShard), "", nil},
		{"a link of any name", sandboxModel, names(sandboxModel, "l", "id_rsa"), "", nil},
		{"another's stage", sandboxShard, names(sandboxShard, tempPrefix(sandboxModel)+sandboxToken, second), "", nil},
		{"a stage that is a file", sandboxShard, names(sandboxShard, tempPrefix(sandboxShard)+"0123456789ac", second), "", func(s sandbox) error {
			return os.WriteFile(filepath.Join(s.dl, tempPrefix(sandboxShard)+"0123456789ac"), nil, 0o600)
		}},
		{"a stage elsewhere", sandboxShard, names(sandboxShard, "../dl/"+own, second), "", nil},
		{"a neighbour", sandboxModel, names(sandboxModel, tempPrefix(sandboxModel)+sandboxToken, "README.md"), "", nil},
		{"a neighbour of a shard", sandboxShard, names(sandboxShard, own, second, "README.md"), "", nil},
		{"a shard of another model", sandboxShard, names(sandboxShard, own, "other-00002-of-00002.gguf"), "", nil},
		{"a shard of another count", sandboxShard, names(sandboxShard, own, "model-00002-of-00003.gguf"), "", nil},
		{"a name with a folder", sandboxShard, names(sandboxShard, own, "../home/"+second), "", nil},
		{"the same name twice", sandboxShard, names(sandboxShard, own, second, second), "", nil},
		{"no shard at all", sandboxModel, names(sandboxModel, tempPrefix(sandboxModel)+sandboxToken, sandboxModel), "", nil},
		{"JSON elsewhere", sandboxModel, names(sandboxModel, tempPrefix(sandboxModel)+sandboxToken, sandboxModel, "../home/x.json"), "", nil},
		{"a file beside that is no JSON", sandboxModel, beside("README.md", 3, 6), "oldnew", nil},
		{"a file beside elsewhere", sandboxModel, beside("../home/config.json", 3, 6), "oldnew", nil},
		{"a file beside of other content", sandboxModel, beside("config.json", 3, 6), "oldnew", func(s sandbox) error {
			return os.WriteFile(filepath.Join(s.dl, "config.json"), []byte("mine"), 0o600)
		}},
		{"a file beside that is a link", sandboxModel, beside("config.json", 3, 6), "secret", func(s sandbox) error {
			return os.Symlink("../home/id_rsa", filepath.Join(s.dl, "config.json"))
		}},
		{"a file beside of a claimed size", sandboxModel, beside("config.json", 1<<40, 1<<62), "oldnew", nil},
		{"a file beside without end", sandboxModel, beside("config.json", math.MaxInt64, math.MaxInt64), "oldnew", nil},
		{"an undo patch that is none", sandboxModel, strings.Replace(beside("config.json", 3, 6), "}", `,"spent":"README.md"}`, 1), "oldnew", nil},
		{"another's undo patch", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":[],"outside":null,"made":"../home/model.gguf.undo.mpatch"}`, "", nil},
		{"a swap of other files", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":null,"outside":null,"swap":{"old":"AAAA","new":"BBBB"}}`, "", nil},
		{"a swap with bytes", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":null,"outside":null,"swap":{"old":"AAAA","new":"BBBB"}}`, "old", nil},
		{"names and bytes", sandboxShard, strings.Replace(names(sandboxShard, own, second), `"ranges":null`, `"ranges":[[0,3]]`, 1), "oldnew", nil},
		{"a link in the stage", sandboxShard, names(sandboxShard, own, second), "", func(s sandbox) error {
			path := filepath.Join(s.dl, own, second)
			return errors.Join(os.Remove(path), os.Symlink("../../home/id_rsa", path))
		}},
		{"another target", sandboxModel, `{"target":"README.md","before":24,"after":24,"ranges":[[0,3]],"outside":null}`, "oldnew", nil},
		{"a target elsewhere", sandboxModel, `{"target":"../home/id_rsa","before":6,"after":6,"ranges":[[0,6]],"outside":null}`, "secrethacked", nil},
		{"empty ranges", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":[[0,0]],"outside":null}`, "", nil},
		{"ranges without bytes", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":[[0,3],[4,3]],"outside":null}`, "oldnew", nil},
		{"bytes without ranges", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":[[0,3]],"outside":null}`, "oldnewmore", nil},
		{"a header of commas", sandboxModel, `{"target":"model.gguf","before":25,"after":25,"ranges":[` + strings.Repeat("[0,0],", mostCommas) + `[0,0]]}`, "", nil},
		{"another size", sandboxModel, `{"target":"model.gguf","before":1000,"after":1000,"ranges":[[0,3]],"outside":null}`, "oldnew", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSandbox(t)
			s.journal(t, filepath.Join(s.dl, c.target), c.header, c.body)
			if c.prepare != nil {
				if err := c.prepare(s); err != nil {
					t.Fatal(err)
				}
			}
			s.unmoved(t, c.target)
		})
	}
	t.Run("a link", func(t *testing.T) {
		s := newSandbox(t)
		s.journal(t, filepath.Join(s.dl, sandboxShard), names(sandboxShard, own, second), "")
		path := journalPath(filepath.Join(s.dl, sandboxShard))
		if err := errors.Join(os.Rename(path, filepath.Join(s.home, "journal")), os.Symlink("../home/journal", path)); err != nil {
			t.Fatal(err)
		}
		s.unmoved(t, sandboxShard)
	})
	t.Run("a pipe", func(t *testing.T) {
		s := newSandbox(t)
		if err := syscall.Mkfifo(journalPath(filepath.Join(s.dl, sandboxModel)), 0o600); err != nil {
			t.Skip("skipped by name: a journal that is a pipe (", err, ")")
		}
		s.unmoved(t, sandboxModel)
	})
	t.Run("a large sparse one", func(t *testing.T) {
		s := newSandbox(t)
		path := writeFile(t, s.dl, filepath.Base(journalPath(sandboxModel)), journalMagic+`{"target":"model.gguf","before":1073741824,"after":1073741824,"ranges":[[0,268435456]]}`+"\n")
		if err := os.Truncate(path, 2*268435456+120); err != nil {
			t.Fatal(err)
		}
		s.unmoved(t, sandboxModel)
	})
}

// unmoved recovers target, edits it and writes it anew: all of it fails, and
// both folders stay as they were.
func (s sandbox) unmoved(t *testing.T, target string) {
	t.Helper()
	path := filepath.Join(s.dl, target)
	home, dl := content(t, s.home), content(t, s.dl)
	in := writeFile(t, t.TempDir(), "in", "content")
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"recover", func() error { _, err := Recover(path, nil); return err }},
		{"write", func() error {
			_, err := WriteNew(context.Background(), filePlan(in), path, WriteOptions{Force: true})
			return err
		}},
		{"edit", func() error {
			_, err := InPlace(context.Background(), filePlan(path, Edit{Old: 3, New: Text("new")}), InPlaceOptions{})
			return err
		}},
	} {
		err := step.run()
		if !is[*InputError](err) && !is[*RefusedError](err) && !is[*OutputError](err) {
			t.Errorf("%s: %v", step.name, err)
		}
		if !maps.Equal(home, content(t, s.home)) || !maps.Equal(dl, content(t, s.dl)) {
			t.Errorf("%s: something was moved or changed", step.name)
		}
	}
	if !Unfinished(path, nil) {
		t.Error("the journal is gone, or not seen")
	}
}

// TestShardsUnderJournal: renames of a killed run are finished, and WriteNew
// says so before anything else.
func TestShardsUnderJournal(t *testing.T) {
	second := "model-00002-of-00002.gguf"
	for _, run := range []func(path string) error{
		func(path string) error { _, err := Recover(path, nil); return err },
		func(path string) error {
			in := writeFile(t, t.TempDir(), "in", "content")
			_, err := WriteNew(context.Background(), filePlan(in), path, WriteOptions{Force: true})
			if err == nil || !strings.Contains(err.Error(), "an unfinished edit of it was found; the edit was complete and is kept") {
				t.Errorf("WriteNew: %v", err)
			}
			return nil
		},
	} {
		s := newSandbox(t)
		path := filepath.Join(s.dl, sandboxShard)
		j := journal{Target: sandboxShard, Stage: filepath.Base(s.stage(sandboxShard)), Names: []string{sandboxShard, second}}
		writeFile(t, s.dl, filepath.Base(journalPath(path)), string(j.encode()))
		before := content(t, s.dl, sandboxShard, second)
		if err := run(path); err != nil {
			t.Fatal(err)
		}
		for _, name := range j.Names {
			if got := readFile(t, filepath.Join(s.dl, name)); got != "new content of "+name {
				t.Errorf("%s: %q", name, got)
			}
		}
		if exists(journalPath(path)) || exists(s.stage(sandboxShard)) {
			t.Error("journal or stage are still there")
		}
		if !maps.Equal(before, content(t, s.dl, sandboxShard, second)) {
			t.Error("other files changed")
		}
	}
}

// TestLongNames: names of temporary files are cut, so that two files may share
// the name of their journals. The journal of one is never taken for the other's.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("m", longestStem+20)
	a, b := filepath.Join(dir, long+"-A.gguf"), filepath.Join(dir, long+"-B.gguf")
	for _, path := range []string{a, b} {
		writeFile(t, dir, filepath.Base(path), "old content")
	}
	func() {
		defer func() { recover() }()
		InPlace(context.Background(), filePlan(a, Edit{Old: 3, New: Text("new")}), InPlaceOptions{Check: func(string) error { panic("crash") }})
	}()
	if Unfinished(b, nil) || !Unfinished(a, nil) {
		t.Error("the journal is taken for another file's")
	}
	if did, err := Recover(b, nil); did != RecoveredNothing || err != nil {
		t.Errorf("recovering the other file: %s, %v", did, err)
	}
	_, err := InPlace(context.Background(), filePlan(b, Edit{Old: 3, New: Text("new")}), InPlaceOptions{})
	if o, ok := errors.AsType[*OutputError](err); !ok || !errors.Is(err, errExist) || !strings.Contains(o.Hint, "recover") {
		t.Errorf("editing the other file: %v", err)
	}
	if got := UnfinishedIn(dir, nil); !slices.Equal(got, []string{a}) {
		t.Errorf("unfinished: %q", got)
	}
	if did, err := Recover(a, nil); did != RecoveredNew || err != nil {
		t.Errorf("recovering: %s, %v", did, err)
	}
	if readFile(t, a) != "new content" || readFile(t, b) != "old content" {
		t.Error("wrong bytes")
	}
	if _, err := InPlace(context.Background(), filePlan(b, Edit{Old: 3, New: Text("new")}), InPlaceOptions{}); err != nil {
		t.Error(err)
	}
}

// TestNamesOfAnyBytes: names that are no UTF-8, or are cut within a rune, come
// back from a journal as they were.
func TestNamesOfAnyBytes(t *testing.T) {
	for _, name := range []string{"m\xff.gguf", "a\nb.gguf", strings.Repeat("模", longestStem/3+1) + ".gguf"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old content"), 0o600); err != nil {
			t.Logf("%q: %v", name, err)
			continue // some systems want UTF-8
		}
		func() {
			defer func() { recover() }()
			InPlace(context.Background(), filePlan(path, Edit{Old: 3, New: Text("new")}), InPlaceOptions{Check: func(string) error { panic("crash") }})
		}()
		if got := UnfinishedIn(dir, nil); !Unfinished(path, nil) || !slices.Equal(got, []string{path}) {
			t.Errorf("%q: unfinished: %q", name, got)
		}
		if did, err := Recover(path, nil); did != RecoveredNew || err != nil {
			t.Errorf("%q: %s, %v", name, did, err)
		}
		first, second := name+"-00001-of-00002.gguf", name+"-00002-of-00002.gguf"
		j := journal{Target: first, Stage: tempPrefix(first) + sandboxToken, Names: []string{first, second}}
		if err := os.Mkdir(filepath.Join(dir, j.Stage), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, j.Stage), second, "new content")
		writeFile(t, dir, second, "old content")
		writeFile(t, dir, filepath.Base(journalPath(first)), string(j.encode()))
		if did, err := Recover(filepath.Join(dir, first), nil); did != RecoveredNew || err != nil || readFile(t, filepath.Join(dir, second)) != "new content" {
			t.Errorf("%q: %s, %v", name, did, err)
		}
	}
}

// FuzzJournal recovers files by journals whose header and body are anything, in
// a folder with neighbours and links out of it. Nothing but the target, or the
// shards of its model, may change.
func FuzzJournal(f *testing.F) {
	shards := journal{Target: sandboxShard, Stage: tempPrefix(sandboxShard) + sandboxToken, Names: []string{sandboxShard, "model-00002-of-00002.gguf"}}
	edit := journal{Target: sandboxModel, Before: 25, After: 25}
	edit.add(0, []byte("old"), []byte("new"))
	besides := edit
	besides.Made, besides.Spent = sandboxModel+".undo.mpatch", sandboxModel+".undo.2.mpatch"
	besides.takes([]Beside{{Path: "config.json", Old: []byte("old"), New: []byte("newer")}})
	swapped := journal{Target: sandboxModel, Before: 25, After: 25, Swap: &swap{make([]byte, 32), make([]byte, 32)}}
	named := journal{Target: sandboxModel, Stage: tempPrefix(sandboxModel) + sandboxToken, Names: []string{sandboxModel, "config.json"}}
	for _, j := range []journal{shards, edit, besides, swapped, named, {Target: sandboxModel, Before: 25, After: 20, cut: []byte(".gguf")},
		{Target: sandboxShard, Stage: "l", Names: []string{"id_rsa"}}, {Target: sandboxModel, Before: 25, After: 40, Appended: make([]byte, 32)}} {
		b := bytes.TrimPrefix(j.encode(), []byte(journalMagic))
		header, body, _ := bytes.Cut(b[:len(b)-sha256.Size], []byte("\n"))
		f.Add(string(header), string(body), len(j.Names) > 0)
	}
	f.Fuzz(func(t *testing.T, header, body string, shard bool) {
		sum := strings.Repeat("\x00", sha256.Size)
		b := journalMagic + header + "\n" + body + sum
		if _, _, err := decodeHeader(strings.NewReader(b), int64(len(b))); err != nil {
			return // Recover gets no further, as TestHostileJournals sees
		}
		s := newSandbox(t)
		target, mine := sandboxModel, []string{sandboxModel}
		if shard {
			target, mine = sandboxShard, []string{sandboxShard, "model-00002-of-00002.gguf"}
		}
		path := filepath.Join(s.dl, target)
		s.journal(t, path, header, body)
		home, dl := content(t, s.home), content(t, s.dl, mine...)
		size := int64(len("old content of ") + len(target))
		Unfinished(path, nil)
		UnfinishedIn(s.dl, nil)
		_, err := Recover(path, nil)
		if !maps.Equal(home, content(t, s.home)) || !maps.Equal(dl, content(t, s.dl, mine...)) {
			t.Fatalf("something was moved or changed; %v", err)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > size+int64(len(body)) {
			t.Fatalf("the target is gone, or of another kind: %v", err)
		}
	})
}
