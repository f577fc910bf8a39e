package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The journal of an edit in place: a line that names the format, one JSON line,
// the old and new bytes of each range, the bytes that are cut off, the contents
// of files beside it, and the SHA-256 of all before it. Bytes that are appended or inserted are not in it,
// only their sums: what is not complete is taken back. No crash leaves one whose
// sum is wrong, for it is synced before it gets its name.
const (
	journalMagic = "modelpatch journal 1\n"
	// outsideSize is how much of the file's either end tells it from others.
	outsideSize = 64 << 10
	// mostRanges bounds the ranges of a journal and the edits of a patch file:
	// far more than any change makes, and few enough to be held.
	mostRanges = 1 << 17
	// mostCommas bounds the members of a JSON header, which take much more
	// memory than text.
	mostCommas = 8 * mostRanges
	// longestHeader bounds the header line of a journal or a patch file.
	longestHeader = 16 << 20
)

var errDamaged = errors.New("the journal of an edit is damaged")

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

	// Swap is of a third kind: the target is replaced as a whole.
	Swap *swap `json:"swap,omitempty"`

	// Beside are files that follow the target, in whichever state it ends. Made
	// is the undo patch that is removed where the old bytes come back, Spent that
	// of a change that is taken back, removed where the new ones stand.
	Beside []besideEntry `json:"beside,omitempty"`
	Made   string        `json:"made,omitempty"`
	Spent  string        `json:"spent,omitempty"`

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
	header, err := json.Marshal(j.named(toText))
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
	for _, f := range j.Beside {
		b.Write(f.old)
		b.Write(f.new)
	}
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}

// named is the journal with its names written in another way.
func (j *journal) named(as func(string) string) *journal {
	out := *j
	out.Target, out.Stage, out.Names = as(j.Target), as(j.Stage), slices.Clone(j.Names)
	out.Made, out.Spent, out.Beside = as(j.Made), as(j.Spent), slices.Clone(j.Beside)
	for i, name := range out.Names {
		out.Names[i] = as(name)
	}
	for i, f := range out.Beside {
		out.Beside[i].Name = as(f.Name)
	}
	return &out
}

// toText makes a name of any bytes one that JSON keeps: after a byte that no
// name has, in base64. Names that are cut may end within a rune.
func toText(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return "\x00" + base64.StdEncoding.EncodeToString([]byte(name))
}

// fromText takes toText back; a name that it cannot have written is not one
// of a file.
func fromText(text string) string {
	coded, ok := strings.CutPrefix(text, "\x00")
	if !ok {
		return text
	}
	name, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return ""
	}
	return string(name)
}

// decodeJournal reads what encode wrote, size bytes, and believes nothing that
// the sum does not cover. likely, when set, looks at the header before the rest
// is read.
func decodeJournal(r io.ReaderAt, size int64, likely func(*journal) error) (*journal, error) {
	j, bodyAt, err := decodeHeader(r, size)
	if err == nil && likely != nil {
		err = likely(j)
	}
	if err != nil {
		return nil, err
	}
	b, err := readRange(r, 0, size)
	if err != nil {
		return nil, err
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, errDamaged
	}
	rest := body[bodyAt:]
	for _, r := range j.Ranges {
		j.ranges = append(j.ranges, journalRange{r[0], rest[:r[1]], rest[r[1] : 2*r[1]]})
		rest = rest[2*r[1]:]
	}
	if n := j.Before - j.After; n > 0 && j.Swap == nil {
		j.cut, rest = rest[:n], rest[n:]
	}
	for i, f := range j.Beside {
		j.Beside[i].old, j.Beside[i].new = rest[:f.Old], rest[f.Old:f.Old+f.New]
		rest = rest[f.Old+f.New:]
	}
	return j, nil
}

// decodeHeader reads a journal as far as its header and sees that the sizes in
// it agree with each other and with the journal's own. bodyAt is where the
// header ends.
func decodeHeader(r io.ReaderAt, size int64) (j *journal, bodyAt int64, err error) {
	line, err := readRange(r, 0, min(size, int64(len(journalMagic))+longestHeader))
	if err != nil {
		return nil, 0, err
	}
	line, magic := bytes.CutPrefix(line, []byte(journalMagic))
	line, _, ok := bytes.Cut(line, []byte("\n"))
	bodyAt = int64(len(journalMagic)+len(line)) + 1
	if !magic || !ok || size-bodyAt < sha256.Size || bytes.Count(line, []byte(",")) > mostCommas {
		return nil, 0, errDamaged
	}
	j = new(journal)
	if json.Unmarshal(line, j) != nil {
		return nil, 0, errDamaged
	}
	if j = j.named(fromText); !j.agrees(size - bodyAt - sha256.Size) {
		return nil, 0, errDamaged
	}
	return j, bodyAt, nil
}

// agrees reports whether the header is one that encode can have written before
// a body of the given size.
func (j *journal) agrees(body int64) bool {
	if j.Before < 0 || j.After < 0 || !isBaseName(j.Target) || len(j.Ranges) > mostRanges || len(j.Beside) > mostBeside || !j.isUndo(j.Made) || !j.isUndo(j.Spent) {
		return false
	}
	for i, f := range j.Beside {
		if !j.isBeside(f.Name) || f.Old < 0 || f.New < 0 || f.Old > body || f.New > body-f.Old || slices.ContainsFunc(j.Beside[:i], func(o besideEntry) bool { return o.Name == f.Name }) {
			return false
		}
		body -= f.Old + f.New
	}
	if j.Swap != nil {
		return body == 0 && len(j.Names) == 0 && len(j.Ranges) == 0 && j.Shift == nil
	}
	if len(j.Names) > 0 {
		return body == 0 && len(j.Ranges) == 0 && j.Before == 0 && j.After == 0 && j.Shift == nil &&
			isTemp(j.Stage, j.Target) && areOutputs(j.Target, j.Names)
	}
	if s := j.Shift; s != nil && (s.At < 0 || s.At >= j.Before || s.Bytes <= 0 || s.Bytes > j.After-j.Before) {
		return false
	}
	body -= max(j.Before-j.After, 0)
	for _, r := range j.Ranges {
		if r[0] < 0 || r[1] < 1 || r[1] > body/2 || r[0] > math.MaxInt64-r[1] || r[0]+r[1] > j.Before {
			return false
		}
		body -= 2 * r[1]
	}
	return body == 0
}

// openJournal opens the journal at path: a file, never what a link leads to.
// Its absence is fs.ErrNotExist.
func openJournal(files FS, path string) (File, int64, error) {
	named, err := files.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if !named.Mode().IsRegular() {
		return nil, 0, errors.New("the journal of an edit is not a regular file")
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !sameFile(named, info):
		err = errChanged
	case info.Size() > 3*MostInPlace: // twice what may be replaced, and room for the header
		err = fmt.Errorf("%d bytes are too many for a journal", info.Size())
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// journalTarget is the file whose edit the journal at path is of, as far as its
// header tells.
func journalTarget(files FS, path string) (name string, err error) {
	f, size, err := openJournal(files, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	j, _, err := decodeHeader(f, size)
	if err != nil {
		return "", err
	}
	return j.Target, nil
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

// MostInPlace is how many bytes InPlace replaces at most: the journal holds
// them twice. What is appended does not count.
const MostInPlace = 256 << 20

// lowSize is the size of the low file: what is appended is appended to it,
// before the shift.
func (j *journal) lowSize() int64 { return j.After - j.Shift.size() }

// back reports whether the edit removes blocks.
func (j *journal) back() bool { return j.Shift != nil && j.Shift.Back }

// low is the file by the offsets of the low one, whichever it is now.
func (j *journal) low(r io.ReaderAt, shifted bool) io.ReaderAt {
	if j.Shift == nil || !shifted {
		return r
	}
	return lowReader{r, j.Shift}
}

// insertedIsWhole reports whether the inserted blocks hold what they should.
func (j *journal) insertedIsWhole(f io.ReaderAt) (bool, error) {
	if j.Shift == nil {
		return true, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, j.Shift.At, j.Shift.Bytes)); err != nil {
		return false, err
	}
	return bytes.Equal(sum.Sum(nil), j.Shift.SHA256), nil
}
