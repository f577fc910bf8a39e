package gguf

import "io"

// Section is a reader of the n bytes of the part from offset at.
func (p *Part) Section(at, n int64) io.Reader { return io.NewSectionReader(p.r, at, n) }
