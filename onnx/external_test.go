package onnx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// externalModel writes a model of one external table w beside its data file of
// 256 bytes and returns its path.
func externalModel(t *testing.T, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	folder := filepath.Join(dir, "model")
	write(t, filepath.Join(folder, "m.onnx"), modelOf(table(ext(pairs...))))
	write(t, filepath.Join(folder, "ext.bin"), make([]byte, 256))
	write(t, filepath.Join(dir, "outside.bin"), make([]byte, 256))
	return filepath.Join(folder, "m.onnx")
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, path string, o Options) error {
	t.Helper()
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.CheckData()
	var ee *ExternalError
	if err != nil && (!errors.As(err, &ee) || !strings.Contains(err.Error(), `tensor "w"`)) {
		t.Errorf("error %v does not name the tensor", err)
	}
	return err
}

// TestLocations refuses every name that could lead out of the model's folder.
// Nothing may be opened: a FIFO with no writer would hang otherwise.
func TestLocations(t *testing.T) {
	for _, name := range []string{
		"", ".", "/etc/passwd", "//host/share", "../outside.bin", "..", "a/../../outside.bin", "sub/..", "sub/../ext.bin", "./../outside.bin",
		`..\outside.bin`, `a\b`, "C:/x", "C:x", "c:", "ext.bin\x00.txt", "ext.bin/", "folder/", strings.Repeat("a/", 2049) + "b",
		"*/_ORT_MEM_ADDR_/*", "_ORT_MEM_ADDR_", "nul", "NUL.txt", "sub/con", "COM1", "lpt9.bin", "aux.onnx.data", "CON.", "nul ", "com¹",
		`\\?\C:\x`, "CONIN$", "conout$ ", "sub/PRN .x",
	} {
		path := externalModel(t, "location", name)
		err := check(t, path, Options{})
		if err == nil || !strings.Contains(err.Error(), "not opened") {
			t.Errorf("%q: %v", name, err)
		}
		if err := check(t, path, Options{ExternalRoot: "/"}); err == nil {
			t.Errorf("%q: read with an external root", name)
		}
	}
	for _, name := range []string{"ext.bin", "./ext.bin", ".//ext.bin"} {
		if err := check(t, externalModel(t, "location", name), Options{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestExternalNumbers holds offsets and lengths against the file.
func TestExternalNumbers(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"offset", "0", ""}, {"offset", "128", ""}, {"offset", "129", "ext.bin, which has 256"}, {"offset", "-64", "not a whole number"},
		{"offset", "18446744073709551616", "not a whole number"}, {"offset", "9223372036854775807", "ext.bin"}, {"offset", " 0", "not a whole number"},
		{"offset", "1_2_8", "not a whole number"}, {"offset", "0x10", "not a whole number"}, {"offset", "", "not a whole number"}, {"offset", "+1", "not a whole number"},
		{"offset", "00000000000000000000", "not a whole number"}, {"length", "128", ""}, {"length", "127", "length 127, and [8 4] of float32 need 128"},
		{"length", "0", "need 128"}, {"checksum", "abc", ""}, {"colour", "red", ""},
	} {
		err := check(t, externalModel(t, "location", "ext.bin", c.key, c.value), Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %q: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	if err := check(t, externalModel(t, "offset", "0"), Options{}); err == nil || !strings.Contains(err.Error(), "no location") {
		t.Errorf("without location: %v", err)
	}
	path := externalModel(t, "location", "nope.bin")
	if err := check(t, path, Options{}); err == nil || !strings.Contains(err.Error(), filepath.Join(filepath.Dir(path), "nope.bin")) {
		t.Errorf("absent: %v", err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no symbolic links here")
	}
}

// TestLinks follows links that stay in the model's folder, or in the cache of
// a hub, and no others.
func TestLinks(t *testing.T) {
	inside := externalModel(t, "location", "link.bin")
	link(t, "ext.bin", filepath.Join(filepath.Dir(inside), "link.bin"))
	if err := check(t, inside, Options{}); err != nil {
		t.Errorf("a link inside the folder: %v", err)
	}
	outside := externalModel(t, "location", "link.bin")
	folder := filepath.Dir(outside)
	link(t, "../outside.bin", filepath.Join(folder, "link.bin"))
	if err := check(t, outside, Options{}); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if err := check(t, outside, Options{ExternalRoot: filepath.Dir(folder)}); err != nil {
		t.Errorf("a link into the external root: %v", err)
	}
	if err := check(t, outside, Options{ExternalRoot: folder}); err == nil {
		t.Error("a link out of the external root was followed")
	}
	by := externalModel(t, "location", "sub/outside.bin")
	link(t, "..", filepath.Join(filepath.Dir(by), "sub"))
	if err := check(t, by, Options{}); err == nil {
		t.Error("a linked folder that leads out was followed")
	}
	directory := externalModel(t, "location", "sub")
	if err := os.Mkdir(filepath.Join(filepath.Dir(directory), "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := check(t, directory, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder as data: %v", err)
	}
	absolute := externalModel(t, "location", "link.bin")
	link(t, "/etc/hostname", filepath.Join(filepath.Dir(absolute), "link.bin"))
	if err := check(t, absolute, Options{}); err == nil {
		t.Error("an absolute link was followed")
	}
}

// TestHubCache reads a snapshot: links from snapshots/REV into blobs.
func TestHubCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "models--x--y")
	model, data := modelOf(table(ext("location", "m.onnx.data"))), make([]byte, 256)
	write(t, filepath.Join(cache, "blobs", "aaaa"), model)
	write(t, filepath.Join(cache, "blobs", "bbbb"), data)
	for _, sub := range []string{"", "onnx"} {
		up := strings.Repeat("../", 2+len(strings.Split(sub, "/"))-1)
		if sub != "" {
			up = "../../../"
		}
		folder := filepath.Join(cache, "snapshots", "rev", sub)
		link(t, up+"blobs/aaaa", filepath.Join(folder, "m.onnx"))
		link(t, up+"blobs/bbbb", filepath.Join(folder, "m.onnx.data"))
		if err := check(t, filepath.Join(folder, "m.onnx"), Options{}); err != nil {
			t.Errorf("snapshot %q: %v", sub, err)
		}
	}
	// A snapshot whose data leads out of the cache is no hub cache.
	write(t, filepath.Join(filepath.Dir(cache), "secret"), data)
	folder := filepath.Join(cache, "snapshots", "evil")
	link(t, "../../blobs/aaaa", filepath.Join(folder, "m.onnx"))
	link(t, "../../../secret", filepath.Join(folder, "m.onnx.data"))
	if err := check(t, filepath.Join(folder, "m.onnx"), Options{}); err == nil {
		t.Error("a link out of the cache was followed")
	}
}

// TestNoHubCache lays folders out like a hub's cache, and not quite: data outside
// of the model's folder are not read.
func TestNoHubCache(t *testing.T) {
	model, data := modelOf(table(ext("location", "m.onnx.data"))), make([]byte, 256)
	for _, c := range []struct{ name, folder, model, data string }{
		{"no cache at all", "home/snapshots/proj/dl", "home/snapshots/proj/dl/blobs/m", "home/secret"},
		{"another folder's name", "x/snapshots/rev", "x/blobs/m", "x/blobs/d"},
		{"data beside blobs", "models--x/snapshots/rev", "models--x/blobs/m", "models--x/secret"},
		{"data below blobs", "models--x/snapshots/rev", "models--x/blobs/m", "models--x/blobs/sub/d"},
		{"data of another cache", "models--x/snapshots/rev", "models--x/blobs/m", "models--y/blobs/d"},
		{"a model of another cache", "models--x/snapshots/rev", "models--y/blobs/m", "models--x/blobs/d"},
		{"a snapshot in no cache", "models--x/rev", "models--x/blobs/m", "models--x/blobs/d"},
		{"snapshots without a revision", "models--x/snapshots", "models--x/blobs/m", "models--x/blobs/d"},
		{"a cache in a download", "models--x/snapshots/dl/snapshots/rev", "models--x/snapshots/dl/blobs/m", "models--x/blobs/d"},
		{"data that is no link", "models--x/snapshots/rev", "models--x/blobs/m", ""},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, c.model), model)
		folder := filepath.Join(root, c.folder)
		to := func(path string) string {
			rel, err := filepath.Rel(folder, filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			return rel
		}
		link(t, to(c.model), filepath.Join(folder, "m.onnx"))
		if c.data == "" {
			write(t, filepath.Join(folder, "m.onnx.data"), data)
		} else {
			write(t, filepath.Join(root, c.data), data)
			link(t, to(c.data), filepath.Join(folder, "m.onnx.data"))
		}
		if err := check(t, filepath.Join(folder, "m.onnx"), Options{}); (err == nil) != (c.data == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestHardLink reads data that has a second name, which other readers refuse.
func TestHardLink(t *testing.T) {
	path := externalModel(t, "location", "ext.bin")
	if err := os.Link(filepath.Join(filepath.Dir(path), "ext.bin"), filepath.Join(filepath.Dir(path), "second.bin")); err != nil {
		t.Skip("no hard links here")
	}
	if err := check(t, path, Options{}); err != nil {
		t.Error(err)
	}
}

// TestNotRegular refuses what is no file, at once.
func TestNotRegular(t *testing.T) {
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open("/dev/null", Options{}); err == nil {
		t.Error("a device was read")
	}
}
