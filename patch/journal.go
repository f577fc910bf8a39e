package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
)

// The journal of an edit in place: a line that names the format, one JSON line,
// the old and new bytes of each range, the bytes that are cut off, and the
// SHA-256 of all before it. Bytes that are appended or inserted are not in it,
// only their sums: what is not complete is taken back. No crash leaves one whose
// sum is wrong, for it is synced before it gets its name.
const (
	journalMagic = "modelpatch journal 1\n"
	// outsideSize is how much of the file's either end tells it from others.
	outsideSize = 64 << 10
)

// journalPath is where the journal of an edit of path lies.
func journalPath(path string) string {
	return filepath.Join(filepath.Dir(path), tempPrefix(path)+"journal")
}

type journal struct {
	Target   string     `json:"target"` // base name
	Before   int64      `json:"before"` // sizes
	After    int64      `json:"after"`
	Shift    *shift     `json:"shift,omitempty"`    // blocks that are inserted
	Ranges   [][2]int64 `json:"ranges"`             // offset, length
	Appended []byte     `json:"appended,omitempty"` // SHA-256 of appended bytes
	Outside  []byte     `json:"outside"`            // SHA-256 of the ends but for the ranges

	// Stage and Names are of a journal of another kind: files in the folder
	// Stage, beside the target, that are to replace those of the same names.
	Stage string   `json:"stage,omitempty"`
	Names []string `json:"names,omitempty"`

	ranges   []journalRange
	cut      []byte // removed from the end
	tail     Source // appended; not in the journal
	inserted []byte // the blocks of Shift; not in the journal either
}

type journalRange struct {
	at       int64
	old, new []byte
}

// add records a range of equal length, as two where blocks are inserted in it.
func (j *journal) add(at int64, old, new []byte) {
	if len(old) == 0 {
		return
	}
	if s := j.Shift; s != nil && at < s.At && s.At < at+int64(len(old)) {
		n := s.At - at
		j.add(at, old[:n], new[:n])
		j.add(s.At, old[n:], new[n:])
		return
	}
	j.Ranges = append(j.Ranges, [2]int64{at, int64(len(old))})
	j.ranges = append(j.ranges, journalRange{at, old, new})
}

func (j *journal) encode() []byte {
	var b bytes.Buffer
	b.WriteString(journalMagic)
	header, err := json.Marshal(j)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	b.Write(header)
	b.WriteByte('\n')
	for _, r := range j.ranges {
		b.Write(r.old)
		b.Write(r.new)
	}
	b.Write(j.cut)
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// decodeJournal reads what encode wrote and believes nothing that the sum does
// not cover.
func decodeJournal(b []byte) (*journal, error) {
	bad := errors.New("the journal of an edit is damaged")
	if len(b) < sha256.Size || !bytes.HasPrefix(b, []byte(journalMagic)) {
		return nil, bad
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, bad
	}
	header, rest, ok := bytes.Cut(body[len(journalMagic):], []byte("\n"))
	j := new(journal)
	if !ok || json.Unmarshal(header, j) != nil || j.Before < 0 || j.After < 0 {
		return nil, bad
	}
	for _, name := range append(j.Names, j.Stage) {
		if len(j.Names) > 0 && !isBaseName(name) {
			return nil, bad
		}
	}
	if s := j.Shift; s != nil && (s.At < 0 || s.At >= j.Before || s.Bytes <= 0 || s.Bytes > j.After-j.Before) {
		return nil, bad
	}
	for _, r := range j.Ranges {
		if r[0] < 0 || r[1] < 0 || r[1] > int64(len(rest))/2 || r[0] > math.MaxInt64-r[1] || r[0]+r[1] > j.Before {
			return nil, bad
		}
		j.ranges = append(j.ranges, journalRange{r[0], rest[:r[1]], rest[r[1] : 2*r[1]]})
		rest = rest[2*r[1]:]
	}
	if int64(len(rest)) != max(j.Before-j.After, 0) {
		return nil, bad
	}
	if len(rest) > 0 {
		j.cut = rest
	}
	return j, nil
}

// outside sums the ends of the part of the low file that stays, leaving out
// what changes.
func (j *journal) outside(f io.ReaderAt) ([]byte, error) {
	stays := min(j.Before, j.lowSize())
	head := min(stays, outsideSize)
	tail := max(head, stays-outsideSize)
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %d\n", j.Before, j.After)
	for _, part := range [][2]int64{{0, head}, {tail, stays}} {
		b, err := readRange(f, part[0], part[1]-part[0])
		if err != nil {
			return nil, err
		}
		for _, r := range j.ranges {
			first := max(r.at, part[0])
			end := min(r.at+int64(len(r.old)), part[1])
			if first < end {
				clear(b[first-part[0] : end-part[0]])
			}
		}
		sum.Write(b)
	}
	return sum.Sum(nil), nil
}

// tailIsWhole reports whether the bytes that the edit appends to the low file
// are all there.
func (j *journal) tailIsWhole(f io.ReaderAt) (bool, error) {
	if j.Appended == nil {
		return true, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, j.Before, j.lowSize()-j.Before)); err != nil {
		return false, err
	}
	return bytes.Equal(sum.Sum(nil), j.Appended), nil
}
