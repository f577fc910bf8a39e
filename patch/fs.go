package patch

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
)

// FS is the seam between this package and the operating system. Everything
// that WriteNew, InPlace and Recover do to files goes through it; tests wrap
// it to inject faults. Paths are as for package os.
type FS interface {
	// Open opens a file for reading. It does not wait on a pipe.
	Open(path string) (File, error)
	// Create makes a file that must not exist, readable and writable by its
	// owner alone.
	Create(path string) (File, error)
	// CreateShared is Create with the mode that the process gives its files
	// (the umask), not its owner's alone.
	CreateShared(path string) (File, error)
	// OpenWrite opens an existing file for reading and writing.
	OpenWrite(path string) (File, error)
	// OpenDir opens a folder, to Lock or Sync it.
	OpenDir(path string) (File, error)

	// Stat follows links; Lstat does not.
	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)
	// ReadDir lists a folder by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// EvalLinks is filepath.EvalSymlinks.
	EvalLinks(path string) (string, error)

	// Mkdir makes a folder that only its owner may enter.
	Mkdir(path string) error
	// Remove takes a file or an empty folder away.
	Remove(path string) error
	// Rename replaces what new names.
	Rename(old, new string) error
	// RenameIn is Rename of paths below a folder, which it does not leave
	// through links.
	RenameIn(folder, old, new string) error
	// RenameNew fails with fs.ErrExist when new exists.
	RenameNew(old, new string) error
	// Link gives a file a second name.
	Link(old, new string) error
	// Free is the number of bytes that can still be written below a folder,
	// or -1 when the system does not say.
	Free(dir string) (int64, error)
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
	// TryLock takes the lock that the system drops with the process, without
	// waiting. It reports whether the lock was free. Systems without such
	// locks return errors.ErrUnsupported.
	TryLock() (bool, error)
	// Allocate reserves room for size bytes, or returns errors.ErrUnsupported.
	Allocate(size int64) error
	// CloneRange shares n bytes of src with this file, or returns
	// errors.ErrUnsupported.
	CloneRange(at int64, src File, srcAt, n int64) error
	// CopyRange copies up to n bytes of src inside the kernel and returns how
	// many; errors.ErrUnsupported where that cannot be done.
	CopyRange(at int64, src File, srcAt, n int64) (int64, error)
	// InsertRange moves what stands at offset at and after it up by n bytes,
	// without copying; CollapseRange removes n bytes in the same way. Both want
	// whole blocks, and give errors.ErrUnsupported where the file system does
	// not have them. A power cut may leave them half done (facts/BAD-INPUTS §5).
	InsertRange(at, n int64) error
	CollapseRange(at, n int64) error
	// NextHole is the offset of the first hole from at on, the file's size when
	// there is none; NextData that of the first byte outside of a hole, -1 when
	// there is none. errors.ErrUnsupported where holes cannot be seen.
	NextHole(at int64) (int64, error)
	NextData(at int64) (int64, error)
	// CopyAttributes gives this file the permission bits, owner, ACL and user
	// attributes of src, as far as this process may.
	CopyAttributes(src File) error
}

type fileInfo = fs.FileInfo

var errExist = fs.ErrExist

// syncDir puts a folder's names on the disk, where the system lets it.
func syncDir(fs FS, path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
