package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// now is how all files are, but for those named "changed".
func now(path string) Seen {
	if strings.Contains(path, "changed") {
		return Seen{path, 2, "later"}
	}
	return Seen{path, 1, "then"}
}

// open opens a journal for a test.
func open(t *testing.T, path, rules string) *Journal {
	t.Helper()
	j, err := Open(path, rules)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path, "v1")
	for i := range 100 {
		name := fmt.Sprintf("m%d", i)
		if err := j.Add(name, []Seen{now(name), {name + ".data", 1, "then"}}, i%4, fmt.Appendf(nil, `{"n":%d}`+"\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	j.Add("m7", []Seen{now("m7")}, 5, []byte(`{"n":"again"}`))
	j.Add("m8", []Seen{now("m8"), {"changed", 1, "then"}}, 0, []byte(`{}`))
	check := func(j *Journal) {
		t.Helper()
		for i := range 100 {
			e, ok := j.Done(fmt.Sprintf("m%d", i), now)
			want, code := fmt.Sprintf(`{"n":%d}`, i), i%4
			if i == 7 {
				want, code = `{"n":"again"}`, 5
			}
			if ok == (i == 8) || ok && (string(e.Result) != want || e.Code != code) {
				t.Fatalf("m%d: %v %+v", i, ok, e)
			}
		}
		if _, ok := j.Done("m100", now); ok {
			t.Fatal("never done")
		}
	}
	check(j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, path, "v1")
	check(j)
	if _, err := Open(path, "v1"); err == nil || !strings.Contains(err.Error(), "another run uses this journal") {
		t.Error("opened twice:", err)
	}
	j.Close()
	j = open(t, path, "v2")
	if _, ok := j.Done("m1", now); ok {
		t.Error("done by other rules")
	}
	j.Close()
	// Wherever a crash tears it, what was whole is there, and it can be written on.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole) - 300; cut < len(whole); cut++ {
		torn := filepath.Join(t.TempDir(), "torn")
		os.WriteFile(torn, whole[:cut], 0o600)
		j := open(t, torn, "v1")
		if err := j.Add("m200", []Seen{now("m200")}, 0, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		j.Close()
		j = open(t, torn, "v1")
		if _, ok := j.Done("m200", now); !ok {
			t.Fatalf("cut at %d: what was added is not there", cut)
		}
		j.Close()
	}
}

// TestOtherFiles: no file becomes a journal that is none, and it stays as it is.
func TestOtherFiles(t *testing.T) {
	for _, content := range []string{"hello\n", "hello", "{", `{"schema":"modelpatch.`, "GGUF\x03", head + "hello\n", head + "hello", head + "{}\n"} {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, "v1"); err == nil || !strings.Contains(err.Error(), "is none of a journal") {
			t.Errorf("%q: %v", content, err)
		}
		if b, _ := os.ReadFile(path); string(b) != content {
			t.Errorf("%q became %q", content, b)
		}
	}
	for _, content := range []string{"", head, head[:len(starts)], head + `{"schema":"model`} {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, path, "v1").Close()
	}
	if _, err := Open(t.TempDir(), "v1"); err == nil || !strings.Contains(err.Error(), "a folder") {
		t.Error(err)
	}
}
