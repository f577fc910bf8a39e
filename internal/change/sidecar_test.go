package change_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

const (
	oldConfig = "{\n  \"max_position_embeddings\": 32,\n  \"name\": \"x\"\n}\n"
	newConfig = "{\n  \"max_position_embeddings\": 4096,\n  \"name\": \"x\"\n}\n"
)

// besideModel is a folder with a model of 32 positions and its configuration,
// which more than its owner may write.
func besideModel(t *testing.T) (folder, model, config string) {
	t.Helper()
	folder = t.TempDir()
	model, config = filepath.Join(folder, "m.gguf"), filepath.Join(folder, "config.json")
	b, err := os.ReadFile("../../testdata/gguf/llama-plain.gguf")
	if err != nil {
		t.Fatal(err)
	}
	put(t, model, string(b))
	put(t, config, oldConfig)
	return folder, model, config
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o664); err != nil {
		t.Fatal(err)
	}
}

// holds fails unless a file has this content and the mode that put gave it.
func holds(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, %v; want %q", path, b, err, want)
		return
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o664 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
}

func longer(model string, w modelpatch.WriteOptions) (report.Plan, error) {
	w.Sidecars = true
	r, err := modelpatch.Extend(context.Background(), model, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 4096, Method: "none"}, Write: w})
	return r.Plan, err
}

// onlySidecar is the one number beside a model that a plan mentions.
func onlySidecar(t *testing.T, p report.Plan) report.Sidecar {
	t.Helper()
	if len(p.Sidecars) != 1 {
		t.Fatalf("%+v", p.Sidecars)
	}
	s := p.Sidecars[0]
	if s.Pointer != "/max_position_embeddings" || s.From != 32 || s.To != 4096 {
		t.Errorf("%+v", s)
	}
	return s
}

// TestSidecarInPlace: the configuration follows as it lies, its mode and a link
// to it stay, and the model's undo patch takes both back.
func TestSidecarInPlace(t *testing.T) {
	for _, linked := range []bool{false, true} {
		folder, model, config := besideModel(t)
		file := config
		if linked {
			file = filepath.Join(folder, "real.json")
			if err := errors.Join(os.Rename(config, file), os.Symlink("real.json", config)); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := longer(model, modelpatch.WriteOptions{InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		undo := model + ".undo.mpatch"
		if s := onlySidecar(t, p); !s.Written || s.Path != config || s.Backup != undo || s.Why != "" {
			t.Errorf("%+v", s)
		}
		holds(t, file, newConfig)
		if after, _ := os.Stat(config); !os.SameFile(before, after) {
			t.Error("another file has its name")
		}
		kept := filepath.Join(folder, "kept.mpatch") // for the undo patch goes with the change
		if content, err := os.ReadFile(undo); err != nil || os.WriteFile(kept, content, 0o600) != nil {
			t.Fatal(err)
		}
		r, err := modelpatch.Revert(context.Background(), undo, model, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{InPlace: true}})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Plan.Sidecars; len(s) != 1 || !s[0].Written || s[0].From != 4096 || s[0].To != 32 {
			t.Errorf("%+v", s)
		}
		holds(t, file, oldConfig)
		sameFile(t, model, "../../testdata/gguf/llama-plain.gguf")
		if _, err := os.Lstat(undo); err == nil {
			t.Error("the undo patch is still there")
		}
		if _, err := modelpatch.Apply(context.Background(), kept, model, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{InPlace: true}}); err != nil {
			t.Fatal(err)
		}
		holds(t, file, newConfig)
		if linked != isLink(t, config) {
			t.Errorf("a link: %v, before: %v", isLink(t, config), linked)
		}
	}
}

func isLink(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()&fs.ModeSymlink != 0
}

// TestSidecarElsewhere: a file that may serve others is not changed in place: one
// behind a link out of the folder, or of several names.
func TestSidecarElsewhere(t *testing.T) {
	for name, share := range map[string]func(config, elsewhere string) error{
		"it is a link out of the folder": func(config, elsewhere string) error {
			return errors.Join(os.Rename(config, elsewhere), os.Symlink(elsewhere, config))
		},
		"it has several names": os.Link,
	} {
		_, model, config := besideModel(t)
		elsewhere := filepath.Join(t.TempDir(), "blob")
		if err := share(config, elsewhere); err != nil {
			t.Fatal(err)
		}
		p, err := longer(model, modelpatch.WriteOptions{InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		if s := onlySidecar(t, p); s.Written || !strings.Contains(s.Why, name) || s.Backup != "" {
			t.Errorf("%+v", s)
		}
		holds(t, elsewhere, oldConfig)
		undo, err := patch.OpenPatch(model + ".undo.mpatch")
		if err != nil {
			t.Fatal(err)
		}
		undo.Close()
		if len(undo.Beside) != 0 {
			t.Errorf("the undo patch takes back what was not done: %+v", undo.Beside)
		}
	}
}

// TestSidecarOfAnotherLength: what somebody changed after the edit stays.
func TestSidecarOfAnotherLength(t *testing.T) {
	_, model, config := besideModel(t)
	if _, err := longer(model, modelpatch.WriteOptions{InPlace: true}); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(newConfig, "4096", "8192", 1)
	put(t, config, other)
	if _, err := modelpatch.Revert(context.Background(), model+".undo.mpatch", model, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{InPlace: true}}); err != nil {
		t.Fatal(err)
	}
	holds(t, config, other)
}

// TestSidecarOfOldModel: in the folder of the old model its configuration stays.
func TestSidecarOfOldModel(t *testing.T) {
	folder, model, config := besideModel(t)
	for _, force := range []bool{false, true} {
		p, err := longer(model, modelpatch.WriteOptions{Output: filepath.Join(folder, "long.gguf"), Force: force})
		if err != nil {
			t.Fatal(err)
		}
		if s := onlySidecar(t, p); s.Written || s.Why != "it also belongs to m.gguf: beside a new file in another folder a changed copy is written, where sidecars are asked for" {
			t.Errorf("%+v", s)
		}
		holds(t, config, oldConfig)
	}
}

// TestSidecarBesideNew: in another folder the configuration is copied, and one of
// another model that is there already stays without --force.
func TestSidecarBesideNew(t *testing.T) {
	_, model, config := besideModel(t)
	folder := t.TempDir()
	output, copied := filepath.Join(folder, "long.gguf"), filepath.Join(folder, "config.json")
	p, err := longer(model, modelpatch.WriteOptions{Output: output})
	if err != nil {
		t.Fatal(err)
	}
	if s := onlySidecar(t, p); !s.Written || s.Path != copied || s.Backup != "" {
		t.Errorf("%+v", s)
	}
	holds(t, copied, newConfig)
	holds(t, config, oldConfig)

	p, err = longer(model, modelpatch.WriteOptions{Output: filepath.Join(folder, "again.gguf")})
	if err != nil {
		t.Fatal(err)
	}
	if s := onlySidecar(t, p); s.Written || s.Why != "it says so already" {
		t.Errorf("%+v", s)
	}

	const other = `{"max_position_embeddings": 77}`
	put(t, copied, other)
	third := filepath.Join(folder, "third.gguf")
	_, err = longer(model, modelpatch.WriteOptions{Output: third})
	if modelpatch.ExitCode(err) != modelpatch.ExitOutput || !slices.Contains(report.Hints(err), "force replaces it and keeps the old one as config.json.bak; it stays as it is where sidecars are not asked for") {
		t.Errorf("%v %q", err, report.Hints(err))
	}
	if _, err := os.Lstat(third); err == nil {
		t.Error("the model was written")
	}
	holds(t, copied, other)
	if p, err = longer(model, modelpatch.WriteOptions{Output: third, DryRun: true}); err != nil || onlySidecar(t, p).Why != "it is there already; force replaces it" {
		t.Errorf("%v, %+v", err, p.Sidecars)
	}
	if p, err = longer(model, modelpatch.WriteOptions{Output: third, Force: true}); err != nil {
		t.Fatal(err)
	}
	if s := onlySidecar(t, p); !s.Written || s.Backup != copied+".bak" {
		t.Errorf("%+v", s)
	}
	holds(t, copied, newConfig)
	holds(t, copied+".bak", other)
}

// TestSidecarFails: without the file beside it the model is not written either.
func TestSidecarFails(t *testing.T) {
	_, model, config := besideModel(t)
	folder := t.TempDir()
	w := modelpatch.WriteOptions{Output: filepath.Join(folder, "long.gguf"), Sidecars: true}
	w.Progress = func(int64, int64) { os.Remove(config) } // after it was read
	p, err := longer(model, w)
	if modelpatch.ExitCode(err) != modelpatch.ExitInput || !strings.Contains(err.Error(), "config.json: no such file") {
		t.Error(err)
	}
	if s := onlySidecar(t, p); s.Written {
		t.Errorf("%+v", s)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// lateContext ends when a file is there.
type lateContext struct {
	context.Context
	path string
}

func (c lateContext) Err() error {
	if _, err := os.Lstat(c.path); err == nil {
		return context.Canceled
	}
	return nil
}

// TestSidecarInterrupted: an interrupt after the model has its name comes too
// late; the file beside it follows, for "nothing was changed" would be wrong.
func TestSidecarInterrupted(t *testing.T) {
	_, model, _ := besideModel(t)
	folder := t.TempDir()
	output := filepath.Join(folder, "long.gguf")
	r, err := modelpatch.Extend(lateContext{context.Background(), output}, model, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 4096, Method: "none"}, Write: modelpatch.WriteOptions{Output: output, Sidecars: true}})
	if err != nil || !onlySidecar(t, r.Plan).Written {
		t.Errorf("%v, %+v", err, r.Plan.Sidecars)
	}
	holds(t, filepath.Join(folder, "config.json"), newConfig)
}
