package onnx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/internal/regular"
)

// externalFile is a data file that tensors point into.
type externalFile struct {
	location string      // as the model writes it
	path     string      // for people and plans
	file     io.ReaderAt // closed with the model where it can be
	size     int64
	info     fs.FileInfo // as it was when it was opened; nil: it is no file on a disk
}

// maxLocation bounds the length of a location (PATH_MAX).
const maxLocation = 4096

// decimal reports whether a text is what an offset or a length may look like;
// other readers take blanks and underscores too, and disagree about them.
func decimal(s string) bool {
	return len(s) >= 1 && len(s) <= 19 && strings.Trim(s, "0123456789") == ""
}

// windowsDevice matches names that are devices on Windows in any folder.
var windowsDevice = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)`)
})

// checkLocation refuses names that could lead out of the model's folder,
// before anything is opened (facts/BAD-INPUTS B21).
func checkLocation(name string) error {
	switch {
	case name == "" || name == ".":
		return errors.New("the location is empty")
	case len(name) > maxLocation:
		return fmt.Errorf("the location has %d characters", len(name))
	case strings.ContainsAny(name, "\\\x00"):
		return errors.New("the location holds a character that no file name has on every system")
	case strings.Contains(name, "_ORT_MEM_ADDR_"):
		return errors.New("the location is a memory address")
	case path.IsAbs(name) || len(name) > 1 && name[1] == ':':
		return errors.New("the location is absolute")
	case strings.HasSuffix(name, "/"):
		return errors.New("the location is a folder")
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return errors.New("the location leads out of the model's folder")
		}
		if windowsDevice().MatchString(part) {
			return errors.New("the location is a device name")
		}
	}
	return nil
}

// externalRange returns offset and length of a tensor's bytes in its file.
func (f *File) externalRange(t *Tensor) (at, n int64, err error) {
	bad := func(what string) error { return &ExternalError{Path: f.Path, Tensor: t.Name, What: what} }
	number := func(key string, otherwise int64) (int64, error) {
		s, ok := t.entries[key]
		if !ok {
			return otherwise, nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || !decimal(s) {
			return 0, bad(fmt.Sprintf("%s %s is not a whole number", key, quoted(s)))
		}
		return v, nil
	}
	want := t.Type.Size(t.Len())
	if at, err = number("offset", 0); err != nil {
		return 0, 0, err
	}
	if n, err = number("length", want); err != nil {
		return 0, 0, err
	}
	if want >= 0 && n != want {
		return 0, 0, bad(fmt.Sprintf("length %d, and %v of %s need %d", n, t.Dims, t.Type, want))
	}
	return at, n, nil
}

// openExternal returns the bytes of a tensor in its data file.
func (f *File) openExternal(t *Tensor, size int64) (io.ReaderAt, int64, error) {
	e, err := f.externalFile(t)
	if err != nil {
		return nil, 0, err
	}
	at, n, err := f.externalRange(t)
	if err != nil {
		return nil, 0, err
	}
	if at > e.size || n > e.size-at {
		return nil, 0, &ExternalError{Path: f.Path, Tensor: t.Name,
			What: fmt.Sprintf("bytes %d to %d of %s, which has %d", at, at+n, e.path, e.size), Hint: "the data file may be incomplete: fetch it again"}
	}
	return io.NewSectionReader(e.file, at, n), size, nil
}

// externalFile opens the data file of a tensor, once for all tensors.
func (f *File) externalFile(t *Tensor) (*externalFile, error) {
	bad := func(what, hint string) error {
		return &ExternalError{Path: f.Path, Tensor: t.Name, What: what, Hint: hint}
	}
	name, ok := t.entries["location"]
	if !ok {
		return nil, bad("no location", "")
	}
	if err := checkLocation(name); err != nil {
		return nil, bad(fmt.Sprintf("%s: %v: not opened", quoted(name), err), "only files inside the model's folder are read")
	}
	name = t.DataFile()
	if e := f.external[name]; e != nil {
		return e, nil
	}
	if f.Path == "" {
		return nil, bad("the model has no folder to look in", "")
	}
	e, err := f.openInside(name)
	if errors.Is(err, fs.ErrNotExist) {
		at := filepath.Join(filepath.Dir(f.Path), name)
		if f.options.Companions != nil {
			at = beside(f.Path, name)
		}
		return nil, bad(at+" is not there", "the data file belongs beside the model")
	}
	if err != nil && f.options.Companions != nil {
		return nil, err
	}
	if err != nil {
		return nil, bad(err.Error(), "only files inside the model's folder, or the external root, are read")
	}
	f.external[name] = e
	return e, nil
}

// openInside opens a data file below the model's folder without following
// links out of it, but for a hub's cache: see hubBlob.
func (f *File) openInside(name string) (*externalFile, error) {
	folder := filepath.Dir(f.Path)
	if f.options.Companions != nil {
		r, size, err := f.options.Companions(name)
		if err != nil {
			return nil, err
		}
		return &externalFile{location: name, path: beside(f.Path, name), file: r, size: size}, nil
	}
	file, err := openRegular(folder, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if blobs, blob, ok := hubBlob(f.Path, name); ok {
			file, err = openRegular(blobs, blob)
		}
	}
	if err != nil && f.options.ExternalRoot != "" {
		if within, ok := insideRoot(f.options.ExternalRoot, filepath.Join(folder, name)); ok {
			file, err = openRegular(f.options.ExternalRoot, within)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &externalFile{location: name, path: filepath.Join(folder, name), file: file, size: info.Size(), info: info}, nil
}

// beside is the name of a file beside one that may have an address, whose slashes
// filepath.Join would spoil.
func beside(model, name string) string {
	folder, _ := filepath.Split(model)
	return folder + name
}

func openRegular(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|regular.Nonblocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// hubBlob finds a data file of a model in a hub's cache, by its real layout: the
// model is a link in …/models--ORG--NAME/snapshots/REV to a file of
// …/models--ORG--NAME/blobs, and so is name beside it. It returns that folder of
// blobs and the file's name there. refs, the third folder, is absent where a
// snapshot was fetched by its commit.
func hubBlob(model, name string) (blobs, blob string, ok bool) {
	real, err := filepath.EvalSymlinks(model)
	if err != nil {
		return "", "", false
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(model))
	if err != nil {
		return "", "", false
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", "", false
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", "", false
	}
	blobs = filepath.Dir(real)
	cache := filepath.Dir(blobs)
	inside, err := filepath.Rel(filepath.Join(cache, "snapshots"), folder)
	if err != nil || inside == "." || !filepath.IsLocal(inside) || filepath.Base(blobs) != "blobs" || !strings.HasPrefix(filepath.Base(cache), "models--") {
		return "", "", false
	}
	data, err := filepath.EvalSymlinks(filepath.Join(folder, name))
	if err != nil || filepath.Dir(data) != blobs {
		return "", "", false
	}
	return blobs, filepath.Base(data), true
}

// insideRoot resolves links of file and returns its path below root.
func insideRoot(root, file string) (string, bool) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", false
	}
	absolute, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(absolute, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// DataFile is an external file that belongs to the model.
type DataFile struct {
	Location string // as the model names it
	Path     string
	Size     int64
	Err      error       // why it cannot be read
	Info     fs.FileInfo // as it was when it was opened; nil: it is no file on a disk

	reader io.ReaderAt // of one that is no file on a disk
}

// DataFiles opens and lists every external file that a tensor names, in the
// order of first mention.
func (f *File) DataFiles() []DataFile {
	var out []DataFile
	seen := map[string]bool{}
	f.Tensors(func(t *Tensor, _ *Graph) {
		name := t.DataFile()
		if !t.isExt || seen[name] {
			return
		}
		seen[name] = true
		e, err := f.externalFile(t)
		if err != nil {
			out = append(out, DataFile{Location: name, Err: err})
			return
		}
		data := DataFile{Location: name, Path: e.path, Size: e.size, Info: e.info}
		if f.options.Companions != nil {
			data.reader = e.file
		}
		out = append(out, data)
	})
	return out
}

// CheckData checks that every external tensor's bytes are there.
func (f *File) CheckData() error {
	var first error
	f.Tensors(func(t *Tensor, _ *Graph) {
		if t.isExt && first == nil {
			_, _, first = t.reader()
		}
	})
	return first
}

// Tensors calls visit for every constant of the model: initializers, sparse
// parts and tensor attributes, in file order within each graph.
func (f *File) Tensors(visit func(*Tensor, *Graph)) {
	f.Graphs(func(g *Graph) {
		for _, t := range g.Initializers {
			visit(t, g)
		}
		for _, s := range g.Sparse {
			visit(s.Values, g)
			visit(s.Indices, g)
		}
		for _, n := range g.Nodes {
			for _, a := range n.Attributes {
				if a.Tensor != nil {
					visit(a.Tensor, g)
				}
			}
		}
	})
}
