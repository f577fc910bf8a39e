package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/glob"
	"github.com/modelpatch/modelpatch/internal/journal"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// fleet is what commands that look at many files have beside their arguments: a list of files, what is left
// out, a share of them, and a journal.
type fleet struct {
	from    string   // file with paths; "-": standard input; "": none
	share   string   // I/N
	exclude []string // patterns of paths that are left out
	without excluded // the same, read
	path    string   // of the journal; "": none
	journal *journal.Journal
	index   uint64
	shares  uint64
	listErr error // of reading the list
	outputs *outputs
	open    modelpatch.OpenOptions
}

// addFlags adds the flags.
func (f *fleet) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "files-from", "", "`FILE` with paths and addresses of further models, one a line or ended by NUL; - is standard input")
	cmd.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave out files whose path or name matches this `GLOB` (** stands for any folders); several times")
	cmd.Flags().StringVar(&f.share, "shard", "", "look only at share `I/N` of the files, I from 0: by a hash of the path")
	cmd.Flags().StringVar(&f.path, "journal", "", "`FILE` that remembers what was done: the next run does the rest, and tells all")
}

// arguments demands a file, or a list of files.
func (f *fleet) arguments(cmd *cobra.Command, args []string) error {
	if f.from != "" {
		return nil
	}
	return cobra.MinimumNArgs(1)(cmd, args)
}

// expand turns arguments into inputs, without what is to be left out.
func (f *fleet) expand(arguments []string) ([]input, error) {
	for _, text := range f.exclude {
		g, err := glob.Parse(text)
		if err != nil {
			return nil, &position.UsageError{What: fmt.Sprintf("--exclude %q is no pattern of paths: %v", report.Printable(text), err), Hint: "** stands for any folders, * for any name"}
		}
		f.without = append(f.without, g)
	}
	return expand(arguments, f.without)
}

// begin reads the flags and opens the journal. settings are what changes results, beside the release.
func (f *fleet) begin(open modelpatch.OpenOptions, settings ...string) error {
	f.open, f.shares = open, 1
	if f.share != "" {
		i, n, ok := strings.Cut(f.share, "/")
		index, err1 := strconv.ParseUint(i, 10, 32)
		shares, err2 := strconv.ParseUint(n, 10, 32)
		if !ok || err1 != nil || err2 != nil || index >= shares {
			return &position.UsageError{What: "--shard " + text(f.share), Hint: "--shard I/N with I from 0 to N-1"}
		}
		f.index, f.shares = index, shares
	}
	if f.path == "" {
		return nil
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %v", version(), settings, open.Scan)
	path, err := f.outputs.Check("--journal", f.path)
	if err != nil {
		return err
	}
	j, err := journal.Open(path, hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, ok := errors.AsType[*patch.OutputError](err); ok {
		return err
	}
	if err != nil {
		return &position.UsageError{What: "--journal " + oneLine(err.Error())}
	}
	f.journal = j
	return nil
}

// end closes the journal, and says what went wrong with the list.
func (f *fleet) end() error {
	if f.journal != nil {
		if err := f.journal.Close(); err != nil && f.listErr == nil {
			f.listErr = cannotWrite(f.path, err)
		}
	}
	return f.listErr
}

// inputs are the arguments and what the list names, the share that was asked for.
func (f *fleet) inputs(arguments []input) iter.Seq[input] {
	return func(yield func(input) bool) {
		for _, in := range arguments {
			if f.mine(in.path) && !yield(in) {
				return
			}
		}
		if f.from == "" {
			return
		}
		for path := range f.listed() {
			if f.mine(path) && !f.without.names(path, path) && !yield(input{path: path}) {
				return
			}
		}
	}
}

// counting begins to show how many inputs are done; nothing where what is fetched is shown.
func (f *fleet) counting(c *console, verb string, inputs []input) *counter {
	total := len(inputs)
	if f.from != "" || f.shares > 1 {
		total = 0
	}
	if slices.ContainsFunc(inputs, func(in input) bool { return source.IsAddress(in.path) }) {
		c = &console{}
	}
	return newCounter(c, verb, total)
}

// mine reports whether a path is of the share: by FNV-1a, over the address without its signature.
func (f *fleet) mine(path string) bool {
	if f.shares == 1 {
		return true
	}
	h := fnv.New64a()
	io.WriteString(h, source.ShownPath(path))
	return h.Sum64()%f.shares == f.index
}

// maxEntry bounds an entry of a list, in bytes.
const maxEntry = 64 << 10

// listed are the entries of the list, read as they are needed.
func (f *fleet) listed() iter.Seq[string] {
	return func(yield func(string) bool) {
		file := os.Stdin
		if f.from != source.Stdin {
			opened, _, err := regular.Open(f.from)
			if err != nil {
				f.listErr = unreadable(f.from, err)
				return
			}
			defer opened.Close()
			file = opened
		}
		r := bufio.NewReaderSize(file, maxEntry)
		end := byte('\n')
		if start, _ := r.Peek(1); len(start) > 0 {
			if head, _ := r.Peek(r.Buffered()); bytes.IndexByte(head, 0) >= 0 {
				end = 0
			}
		}
		for {
			line, err := r.ReadSlice(end)
			if errors.Is(err, bufio.ErrBufferFull) {
				f.listErr = &modelpatch.InputError{Path: f.from, What: "no list of files", Why: fmt.Sprintf("an entry has more than %d bytes", maxEntry),
					Hint: "paths and addresses, one a line or ended by NUL"}
				return
			}
			entry := strings.TrimSuffix(string(line), string(end))
			if end == '\n' {
				entry = strings.TrimSuffix(entry, "\r")
			}
			if entry != "" && !yield(entry) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					f.listErr = unreadable(f.from, err)
				}
				return
			}
		}
	}
}

// done returns what the journal knows of a file.
func (f *fleet) done(ctx context.Context, path string) (journal.Entry, bool) {
	if f.journal == nil {
		return journal.Entry{}, false
	}
	return f.journal.Done(source.ShownPath(path), func(of string) journal.Seen { return f.look(ctx, path, of).Seen })
}

// looked is how a file was when it was looked at.
type looked struct {
	journal.Seen
	info fs.FileInfo // nil: it was not there, or is named by an address
	err  error       // why it cannot be read
}

// before looks at a model and the files beside it, before it is judged.
func (f *fleet) before(ctx context.Context, path string) (out []looked) {
	if f.journal == nil || path == source.Stdin {
		return nil
	}
	out = []looked{f.look(ctx, path, source.ShownPath(path))}
	if !source.IsAddress(path) {
		for _, name := range sidecar.AllNames(path) {
			out = append(out, f.look(ctx, path, source.PathBeside(path, name)))
		}
	}
	return out
}

// further adds the other files of a model, which its report names.
func (f *fleet) further(ctx context.Context, path string, before []looked, r *report.Inspect) []looked {
	if len(before) == 0 || r == nil {
		return before
	}
	for _, file := range r.Files {
		before = append(before, f.look(ctx, path, file.Path))
	}
	return before
}

// note tells the journal what came of a file that was as before says, if it still is: what was judged
// while somebody wrote is done again by the next run. So is what went wrong for a reason that is not
// the file's, and a file on a server that does not tell its version.
func (f *fleet) note(ctx context.Context, path string, before []looked, failed error, code int, result []byte) error {
	if len(before) == 0 || ctx.Err() != nil || source.OfMachine(failed) {
		return nil
	}
	if source.IsAddress(path) && (code == modelpatch.ExitInput || before[0].Version == "") {
		return nil
	}
	var seen []journal.Seen
	for _, b := range before {
		now := f.look(ctx, path, b.Path)
		if now.Seen != b.Seen || now.err != nil || b.info != nil && !patch.Unchanged(b.info, now.info) {
			return nil
		}
		seen = append(seen, b.Seen)
	}
	if err := f.journal.Add(source.ShownPath(path), seen, code, result); err != nil {
		return cannotWrite(f.path, err)
	}
	return nil
}

// look sees how a file of a model is now.
func (f *fleet) look(ctx context.Context, model, path string) looked {
	out := looked{Seen: journal.Seen{Path: path, Size: -1}}
	if source.IsAddress(model) {
		r, size, close, err := source.OpenFile(ctx, model, path, source.Options(f.open))
		if err != nil {
			return out
		}
		defer close()
		out.Size = size
		if v, ok := r.(interface{ Version() string }); ok {
			out.Version = v.Version()
		}
		return out
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	if out.err = err; err != nil {
		return out
	}
	out.info, out.Size, out.Version = info, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)
	file, _, err := regular.Open(path)
	if out.err = err; err == nil {
		file.Close()
	}
	return out
}
