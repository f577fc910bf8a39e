// Package journal remembers which of many files were done, and what came of them, so that a run which
// was cut short, or is repeated, does the rest alone and gives the same results.
//
// A journal is a file of JSON lines, one for each file that was done, below a line that names the
// format. It grows by whole lines; a line that a crash has torn is cut off when it is opened again.
// It is locked while it is open. Results are read back when they are asked for, not held.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/patch"
)

// schema identifies the lines.
const schema = "modelpatch.journal/1"

// mostLine bounds a line; reports have some kilobytes.
const mostLine = 64 << 20

// Seen is a file as it was when it was done: the file itself, or one that belongs to it. Size is −1 of a
// file that was not there. Version is what else tells that it has changed: a time, an ETag.
type Seen struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Version string `json:"version,omitempty"`
}

// Entry is what came of a file.
type Entry struct {
	Schema string          `json:"schema"`
	Rules  string          `json:"rules"` // by which it was done: another set does not count
	Path   string          `json:"path"`
	Seen   []Seen          `json:"seen"`
	Code   int             `json:"code"`
	Result json.RawMessage `json:"result"`
}

// head begins a new journal. It is an entry of no path and no rules.
const head = `{"schema":"` + schema + `"}` + "\n"

// starts are how lines of a journal begin, whole or torn.
const starts = `{"schema":"` + schema + `"`

// Journal is an open journal. It may be used by several goroutines, and by one process.
type Journal struct {
	rules string
	mu    sync.Mutex
	file  patch.File
	size  int64
	at    map[[16]byte]int64 // where a path's entry begins
}

// Open opens or makes the journal at path for a set of rules. A file that holds anything but lines of a
// journal, the last of which may be torn, is an error and stays as it is. A journal that is open
// elsewhere, and a file that cannot be opened, is a *patch.OutputError.
func Open(path, rules string) (*Journal, error) {
	f, err := locked(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &regular.Error{Mode: info.Mode()}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	j := &Journal{rules: rules, file: f, at: map[[16]byte]int64{}}
	if err := j.load(path); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// locked opens and locks the file at path, which it makes where there is none.
func locked(path string) (f patch.File, err error) {
	fault := func(op string, err error) error { return &patch.OutputError{Op: op, Path: path, Err: err} }
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = patch.Save(context.Background(), nil, path, patch.WriteOptions{Shared: true}, func(w io.Writer) error {
			_, err := io.WriteString(w, head)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrExist) { // else another run was faster
			return nil, err
		}
	case err != nil:
		return nil, fault("open", err)
	case !info.Mode().IsRegular():
		return nil, fault("open", &regular.Error{Mode: info.Mode()})
	}
	if f, err = patch.OS.OpenWrite(path); err != nil {
		return nil, fault("open", err)
	}
	free, err := f.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported), err == nil && free:
		return f, nil
	case err == nil:
		err = errors.New("another run uses this journal: give each run, and each shard, one of its own")
	}
	f.Close()
	return nil, fault("lock", err)
}

// load reads where entries are, and cuts a torn last line off.
func (j *Journal) load(path string) error {
	none := func(number int) error {
		return fmt.Errorf("%s: line %d is none of a journal: name another file", path, number)
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, info.Size()), 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			n := min(len(line), len(starts))
			if string(line[:n]) != starts[:n] || number == 1 && n > 0 && n < len(starts) {
				return none(number)
			}
			break
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		var e Entry
		if json.Unmarshal(line, &e) != nil || e.Schema != schema {
			return none(number)
		}
		if e.Rules == j.rules {
			j.at[keyOf(e.Path)] = j.size
		}
		j.size += int64(len(line))
	}
	if j.size == info.Size() {
		return nil
	}
	return j.file.Truncate(j.size)
}

// readLine reads a line with its end; io.EOF where there is no whole one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > mostLine:
			return nil, fmt.Errorf("more than %d bytes", mostLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// keyOf is a path's key: journals of millions of files are small in memory.
func keyOf(path string) (key [16]byte) {
	sum := sha256.Sum256([]byte(path))
	copy(key[:], sum[:])
	return key
}

// Done returns what came of the file at path, where all files that it was made of are as they were.
func (j *Journal) Done(path string, now func(path string) Seen) (Entry, bool) {
	j.mu.Lock()
	at, ok := j.at[keyOf(path)]
	j.mu.Unlock()
	if !ok {
		return Entry{}, false
	}
	line, err := readLine(bufio.NewReader(io.NewSectionReader(j.file, at, mostLine+1)))
	var e Entry
	if err != nil || json.Unmarshal(line, &e) != nil || e.Path != path {
		return Entry{}, false
	}
	for _, seen := range e.Seen {
		if now(seen.Path) != seen {
			return Entry{}, false
		}
	}
	return e, true
}

// Add notes what came of a file. Seen must name the file itself.
func (j *Journal) Add(path string, seen []Seen, code int, result []byte) error {
	line, err := json.Marshal(Entry{Schema: schema, Rules: j.rules, Path: path, Seen: seen, Code: code, Result: bytes.TrimSpace(result)})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return err
	}
	j.at[keyOf(path)] = j.size
	j.size += int64(len(line))
	return nil
}

// Close lets the disk have the journal.
func (j *Journal) Close() error { return errors.Join(j.file.Sync(), j.file.Close()) }
