package patch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// OS is the operating system's files.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ *os.File }

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(path string) (File, error) {
	return wrap(os.OpenFile(path, os.O_RDONLY|nonblock, 0))
}

func (osFS) Create(path string) (File, error) {
	return wrap(os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

func (osFS) OpenWrite(path string) (File, error) {
	return wrap(os.OpenFile(path, os.O_RDWR|nonblock, 0))
}

func (osFS) OpenDir(path string) (File, error)          { return wrap(os.Open(path)) }
func (osFS) Stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (osFS) Lstat(path string) (fs.FileInfo, error)     { return os.Lstat(path) }
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (osFS) EvalLinks(path string) (string, error)      { return filepath.EvalSymlinks(path) }
func (osFS) Mkdir(path string) error                    { return os.Mkdir(path, 0o700) }
func (osFS) Remove(path string) error                   { return os.Remove(path) }
func (osFS) Rename(old, new string) error               { return os.Rename(old, new) }
func (osFS) RenameNew(old, new string) error            { return renameNew(old, new) }
func (osFS) Link(old, new string) error                 { return os.Link(old, new) }
func (osFS) Free(dir string) (int64, error)             { return freeBytes(dir) }
func (f osFile) TryLock() (bool, error)                 { return tryLock(f.File) }
func (f osFile) Allocate(size int64) error              { return allocate(f.File, size) }
func (f osFile) CopyAttributes(src File) error          { return copyAttributes(f.File, src) }
func (f osFile) InsertRange(at, n int64) error          { return insertRange(f.File, at, n) }
func (f osFile) CollapseRange(at, n int64) error        { return collapseRange(f.File, at, n) }
func (f osFile) NextHole(at int64) (int64, error)       { return nextHole(f.File, at) }
func (f osFile) NextData(at int64) (int64, error)       { return nextData(f.File, at) }

func (f osFile) CloneRange(at int64, src File, srcAt, n int64) error {
	from, ok := src.(osFile)
	if !ok {
		return errors.ErrUnsupported
	}
	return cloneRange(f.File, at, from.File, srcAt, n)
}

func (f osFile) CopyRange(at int64, src File, srcAt, n int64) (int64, error) {
	from, ok := src.(osFile)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return copyRange(f.File, at, from.File, srcAt, n)
}

// linkThenRemove renames where the system has no rename that spares what is
// there: a second name fails when the name is taken.
func linkThenRemove(old, new string) error {
	if err := os.Link(old, new); err != nil {
		return err
	}
	return os.Remove(old)
}

// unchanged reports whether two looks at a file saw the same one in the same
// state. Times are compared as well as sizes, and the inode's change time
// where the system has one, because a writer may keep the size.
func unchanged(a, b fs.FileInfo) bool {
	return sameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) &&
		statTime(a) == statTime(b)
}

// sameFile is os.SameFile, which knows only what package os returned, for other
// file systems as well.
func sameFile(a, b fs.FileInfo) bool {
	if s, ok := a.(interface{ SameFile(fs.FileInfo) bool }); ok {
		return s.SameFile(b)
	}
	return os.SameFile(a, b)
}

// statTime reads the inode change time out of whatever the system's FileInfo
// holds; 0 where it holds none.
func statTime(info fs.FileInfo) int64 {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return 0
	}
	for _, name := range []string{"Ctim", "Ctimespec"} {
		if t := v.FieldByName(name); t.IsValid() && t.Kind() == reflect.Struct {
			return t.FieldByName("Sec").Int()*1e9 + t.FieldByName("Nsec").Int()
		}
	}
	return 0
}

// linkCount is the number of names a file has; 1 where the system does not say.
func linkCount(info fs.FileInfo) uint64 {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return 1
	}
	switch n := v.FieldByName("Nlink"); {
	case !n.IsValid():
		return 1
	case n.CanUint():
		return n.Uint()
	default:
		return uint64(n.Int())
	}
}
