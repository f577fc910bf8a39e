//go:build js && wasm

// Command inspector is the library compiled to WebAssembly for the page in web: it reads
// a model through the worker that started it and answers with the report and pictures.
package main

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"syscall/js"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/web/answer"
)

// main gives the worker the function modelpatchInspect(name, source, width) and stays. source is
// {size, read(offset, array) → bytes read, companion(name) → source or null}; read may throw.
func main() {
	js.Global().Set("modelpatchInspect", js.FuncOf(func(_ js.Value, args []js.Value) any {
		name, s := args[0].String(), source{args[1]}
		got := answer.Inspect(context.Background(), newPaged(s, s.size()), s.size(), name, func(name string) (io.ReaderAt, int64, error) {
			c := s.Call("companion", name)
			if c.IsNull() {
				return nil, 0, fs.ErrNotExist
			}
			other := source{c}
			return newPaged(other, other.size()), other.size(), nil
		}, args[2].Float())
		line, err := report.Line(got)
		if err != nil {
			return `{"error":"the answer cannot be encoded"}`
		}
		return strings.TrimSpace(string(line))
	}))
	js.Global().Call("modelpatchReady")
	select {}
}

// source is a file as the worker reads it.
type source struct{ js.Value }

func (s source) size() int64 { return int64(s.Get("size").Float()) }

// page fills a buffer from an offset.
func (s source) page(into []byte, at int64) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(js.Error)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	array := js.Global().Get("Uint8Array").New(len(into))
	n = s.Call("read", float64(at), array).Int()
	js.CopyBytesToGo(into, array)
	return min(max(n, 0), len(into)), nil
}

const (
	pageBytes = 256 << 10 // one range: a request each, over a network
	mostPages = 64
)

// paged reads a file in pages and keeps those that were used last.
type paged struct {
	file  source
	size  int64
	pages map[int64][]byte
	order []int64 // from the one that was used longest ago
}

func newPaged(s source, size int64) *paged {
	return &paged{file: s, size: size, pages: map[int64][]byte{}}
}

// ReadAt fills p from the pages that it lies in.
func (f *paged) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, fs.ErrInvalid
	}
	for n < len(p) && at < f.size {
		page, err := f.page(at / pageBytes)
		if err != nil {
			return n, err
		}
		part := page[min(at%pageBytes, int64(len(page))):]
		if len(part) == 0 {
			return n, io.ErrUnexpectedEOF
		}
		copied := copy(p[n:], part)
		n, at = n+copied, at+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// page is one page, read if it is not kept.
func (f *paged) page(i int64) ([]byte, error) {
	if p, ok := f.pages[i]; ok {
		f.use(i)
		return p, nil
	}
	p := make([]byte, min(pageBytes, f.size-i*pageBytes))
	n, err := f.file.page(p, i*pageBytes)
	if err != nil {
		return nil, err
	}
	if len(f.order) == mostPages {
		delete(f.pages, f.order[0])
		f.order = f.order[1:]
	}
	f.pages[i] = p[:n]
	f.order = append(f.order, i)
	return p[:n], nil
}

// use puts a page at the end of those that will be dropped.
func (f *paged) use(i int64) {
	last := len(f.order) - 1
	if f.order[last] == i {
		return
	}
	for k, other := range f.order {
		if other == i {
			f.order = append(append(f.order[:k:k], f.order[k+1:]...), i)
			return
		}
	}
}
