package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

func readRange(r io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := r.ReadAt(b, at)
	if got == len(b) {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errCut
	}
	return nil, err
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read is that of the reader inside, until the context ends; then its error.
func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// sumOf is the SHA-256 of size bytes.
func sumOf(r io.Reader, size int64) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if err == nil && n < size {
		err = errCut
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
