package patch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"

	"github.com/modelpatch/modelpatch/internal/regular"
)

// OS is the operating system's files.
var OS FS = osFS{}

type osFS struct{}

// changing is set once a file was opened to be written, or a name was changed.
var changing atomic.Bool

// Changing reports whether this process has begun to change files by way of [OS]: a program that is told
// to end may end at once as long as it has not, and else lets go of what it began.
func Changing() bool { return changing.Load() }

type osFile struct{ *os.File }

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Open opens for reading, and does not wait on a pipe.
func (osFS) Open(path string) (File, error) {
	return wrap(os.OpenFile(path, os.O_RDONLY|regular.Nonblocking, 0))
}

// Create makes a file of mode 0600 that must not exist.
func (osFS) Create(path string) (File, error) {
	changing.Store(true)
	return wrap(os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

// CreateShared makes a file of mode 0666 less the umask that must not exist.
func (osFS) CreateShared(path string) (File, error) {
	changing.Store(true)
	return wrap(os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666))
}

// OpenWrite opens for reading and writing.
func (osFS) OpenWrite(path string) (File, error) {
	changing.Store(true)
	return wrap(os.OpenFile(path, os.O_RDWR|regular.Nonblocking, 0))
}

// OpenDir opens a folder, to lock or sync it.
func (osFS) OpenDir(path string) (File, error) { return wrap(os.Open(path)) }

// Stat follows links.
func (osFS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Lstat does not follow a link.
func (osFS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// ReadDir lists a folder by name.
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// EvalLinks is filepath.EvalSymlinks.
func (osFS) EvalLinks(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Mkdir makes a folder of mode 0700.
func (osFS) Mkdir(path string) error {
	changing.Store(true)
	return os.Mkdir(path, 0o700)
}

// Remove takes a file or an empty folder away.
func (osFS) Remove(path string) error { return os.Remove(path) }

// Rename replaces what new names.
func (osFS) Rename(old, new string) error {
	changing.Store(true)
	return os.Rename(old, new)
}

// RenameIn renames by os.Root, which does not follow links out of the folder.
func (osFS) RenameIn(folder, old, new string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Rename(old, new)
}

// RenameNew fails with fs.ErrExist when new exists.
func (osFS) RenameNew(old, new string) error { return renameNew(old, new) }

// Link gives a file a second name.
func (osFS) Link(old, new string) error { return os.Link(old, new) }

// Free is the room below a folder in bytes, −1 when the system does not say.
func (osFS) Free(dir string) (int64, error) { return freeBytes(dir) }

// TryLock takes the lock of the file without waiting and reports whether it was
// free.
func (f osFile) TryLock() (bool, error) { return tryLock(f.File) }

// Allocate reserves size bytes, or gives errors.ErrUnsupported.
func (f osFile) Allocate(size int64) error { return allocate(f.File, size) }

// CopyAttributes gives the file the permissions, owner and attributes of src.
func (f osFile) CopyAttributes(src File) error { return copyAttributes(f.File, src) }

// InsertRange moves what stands from at on up by n bytes, whole blocks.
func (f osFile) InsertRange(at, n int64) error { return insertRange(f.File, at, n) }

// CollapseRange takes n bytes at an offset out, whole blocks.
func (f osFile) CollapseRange(at, n int64) error { return collapseRange(f.File, at, n) }

// NextHole is the first hole from an offset on, the size when there is none.
func (f osFile) NextHole(at int64) (int64, error) { return nextHole(f.File, at) }

// NextData is the first byte outside of holes, −1 when there is none.
func (f osFile) NextData(at int64) (int64, error) { return nextData(f.File, at) }

// CloneRange shares n bytes of src, or gives errors.ErrUnsupported.
func (f osFile) CloneRange(at int64, src File, srcAt, n int64) error {
	from, ok := src.(osFile)
	if !ok {
		return errors.ErrUnsupported
	}
	return cloneRange(f.File, at, from.File, srcAt, n)
}

// CopyRange copies up to n bytes of src in the kernel and says how many; or gives
// errors.ErrUnsupported.
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

// Unchanged reports whether two looks at a file saw the same one in the same
// state. Times are compared as well as sizes, and the inode's change time
// where the system has one, because a writer may keep the size.
func Unchanged(a, b fs.FileInfo) bool {
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
