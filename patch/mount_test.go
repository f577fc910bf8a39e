//go:build linux

package patch

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mount mounts a file system for a test, which is skipped where the machine
// does not allow that.
func mount(t *testing.T, source, kind, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(source, dir, kind, 0, options); err != nil {
		t.Skipf("%s cannot be mounted here: %v", kind, err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestFullDisk holds that a disk that fills up leaves the target as it was, at
// whatever point.
func TestFullDisk(t *testing.T) {
	dir := mount(t, "none", "tmpfs", "size=20m")
	const size = 1 << 20
	old := bytes.Repeat([]byte("old-"), size/4)
	in := writeFile(t, t.TempDir(), "in", string(old))
	path := writeFile(t, dir, "m", string(old))
	fill, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer fill.Close()
	refused, done, missing, written := 0, 0, 0, 0
	for left := int64(0); left < 6<<20; left += 300_000 {
		if err := fillUp(fill, dir, left); err != nil {
			t.Fatal(err)
		}
		larger := Edit{At: size, New: Bytes(bytes.Repeat([]byte("tail"), size/4)), Why: "more"}
		_, err := InPlace(context.Background(), filePlan(path, Edit{Old: size, New: Zeros(size)}, larger), InPlaceOptions{Undo: path + ".undo"})
		if err == nil {
			done++
			os.WriteFile(path, old, 0o600)
			os.Remove(path + ".undo")
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		} else {
			refused++
		}
		if got := readFile(t, path); got != string(old) || Unfinished(path, nil) {
			t.Fatalf("with %d bytes left: the target changed", left)
		}
		out := filepath.Join(dir, "out")
		if _, err := WriteNew(context.Background(), filePlan(in, larger), out, WriteOptions{}); err == nil {
			written++
			os.Remove(out)
		} else if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		} else {
			missing++
		}
		onlyFiles(t, dir, "fill", "m")
	}
	if refused == 0 || done == 0 || missing == 0 || written == 0 {
		t.Errorf("%d edits were refused, %d made; %d files were refused, %d written", refused, done, missing, written)
	}
}

// fillUp leaves about so many bytes free.
func fillUp(f *os.File, dir string, left int64) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	free, err := freeBytes(dir)
	if err != nil {
		return err
	}
	return unix.Fallocate(int(f.Fd()), 0, 0, max(free-left, 1))
}

const (
	shutdownIoctl    = 0x8004587d // FS_IOC_SHUTDOWN
	shutdownNoFlush  = 2
	shutdownLogFlush = 1
)

// loopDevice is a loop device of a file, taken down with the test.
func loopDevice(t *testing.T, image string) string {
	t.Helper()
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skip("no loop devices here:", err)
	}
	device := string(bytes.TrimSpace(out))
	t.Cleanup(func() { exec.Command("losetup", "--detach", device).Run() })
	return device
}

// TestShutdown shuts a real file system down in the middle of edits in place,
// as a power cut does, and recovers after the next mount.
func TestShutdown(t *testing.T) {
	if testing.Short() {
		t.Skip("makes file systems")
	}
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			maker, err := exec.LookPath("mkfs." + kind)
			if err != nil {
				t.Skip("no mkfs." + kind)
			}
			image := filepath.Join(t.TempDir(), "image")
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, 320<<20); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(maker, "-q", image).CombinedOutput(); err != nil {
				t.Skipf("mkfs.%s: %v %s", kind, err, out)
			}
			device := loopDevice(t, image)
			r := rand.New(rand.NewPCG(1, 2))
			outcomes := map[string]int{}
			for _, c := range killEdits() {
				for range 6 {
					outcomes[c.name+": "+shutDownIn(t, device, kind, c, r)]++
				}
			}
			t.Logf("%v", outcomes)
		})
	}
}

// shutDownIn makes the edit on a fresh mount, shuts down at a random operation,
// mounts again and recovers.
func shutDownIn(t *testing.T, device, kind string, c killEdit, r *rand.Rand) string {
	dir := t.TempDir()
	remount := func() {
		if err := unix.Mount(device, dir, kind, 0, ""); err != nil {
			t.Skipf("%s cannot be mounted here: %v", kind, err)
		}
	}
	remount()
	old, _ := killContents()
	path := filepath.Join(dir, "m")
	os.Remove(path)
	writeFile(t, dir, "m", string(old))
	unix.Sync()
	files := &faultFS{FS: OS, failing: 4 + r.IntN(24), crash: true}
	InPlace(context.Background(), filePlan(path, c.there...), InPlaceOptions{FS: files})
	if err := shutDown(dir, r); err != nil {
		unix.Unmount(dir, unix.MNT_DETACH)
		t.Skip("no shutdown here:", err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	remount()
	defer unix.Unmount(dir, unix.MNT_DETACH)
	did, err := Recover(path, nil)
	if err != nil {
		t.Fatalf("%s: stopped at operation %d: %v", c.name, files.failing, err)
	}
	if got := readFile(t, path); got != string(old) && got != string(c.new) {
		t.Fatalf("%s: stopped at operation %d: neither old nor new", c.name, files.failing)
	}
	return string(did)
}

func shutDown(dir string, r *rand.Rand) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	how := uint32(shutdownNoFlush)
	if r.IntN(2) == 0 {
		how = shutdownLogFlush
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.Fd(), shutdownIoctl, uintptr(unsafe.Pointer(&how))); errno != 0 {
		return errno
	}
	return nil
}
