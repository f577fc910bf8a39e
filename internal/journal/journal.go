// Package journal remembers which of many files were done, and what came of them, so that a run which
// was cut short, or is repeated, does the rest alone and gives the same results.
//
// A journal is a file of JSON lines, one for each file that was done. It grows by whole lines; a line
// that a crash has torn is cut off when it is opened again. Results are read back when they are
// asked for, not held.
package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/modelpatch/modelpatch/internal/regular"
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

// Journal is an open journal. It may be used by several goroutines, and by one process.
type Journal struct {
	rules string
	mu    sync.Mutex
	file  *os.File
	size  int64
	at    map[[16]byte]int64 // where a path's entry begins
}

// Open opens or makes the journal at path for a set of rules. Lines that are none, but for a torn last
// one, are an error: the file is another.
func Open(path, rules string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|regular.Nonblocking, 0o666)
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

// load reads where entries are.
func (j *Journal) load(path string) error {
	r := bufio.NewReaderSize(j.file, 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break // what is left, if anything, was torn
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		var e Entry
		if json.Unmarshal(line, &e) != nil || e.Schema != schema {
			return fmt.Errorf("%s: line %d is none of a journal: name another file", path, number)
		}
		if e.Rules == j.rules {
			j.at[keyOf(e.Path)] = j.size
		}
		j.size += int64(len(line))
	}
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.file.Seek(j.size, io.SeekStart)
	return err
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
	if _, err := j.file.Write(line); err != nil {
		return err
	}
	j.at[keyOf(path)] = j.size
	j.size += int64(len(line))
	return nil
}

// Close lets the disk have the journal.
func (j *Journal) Close() error { return errors.Join(j.file.Sync(), j.file.Close()) }
