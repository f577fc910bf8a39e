package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// Error is the error of a file that cannot be read from its server. No part of it holds a
// query, a token or what a server said in the body of its answer.
type Error struct {
	Address  string // without secrets
	What     string // what was done
	Why      string
	Hint     string
	Remedies []report.Remedy // options that help
	Missing  bool            // the server says that there is no such file: it is fs.ErrNotExist

	retry bool // another attempt may succeed
	err   error
}

// Error says it in a line.
func (e *Error) Error() string { return report.Printable(e.Address + ": " + e.What + ": " + e.Why) }

// Is reports whether the file is not there, as fs.ErrNotExist.
func (e *Error) Is(target error) bool { return e.Missing && target == fs.ErrNotExist }

// Unwrap returns the cause where it is the end of a context.
func (e *Error) Unwrap() error { return e.err }

// Advice returns what to do about it, as a sentence and as options.
func (e *Error) Advice() (string, []report.Remedy) { return e.Hint, e.Remedies }

// Hints returns the same as lines.
func (e *Error) Hints() []string {
	var out []string
	if e.Hint != "" {
		out = append(out, e.Hint)
	}
	for _, r := range e.Remedies {
		out = append(out, r.String())
	}
	return out
}

const (
	cannotRead = "cannot be read"
	refused    = "refused"
	changed    = "changed while it was read"
	silent     = "the server fell silent"
)

// failure words an error of the network.
func failure(err error) *Error {
	e := &Error{What: cannotRead, retry: true}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text holds the address with its query
	}
	var unknown *tls.CertificateVerificationError
	switch dns, isDNS := errors.AsType[*net.DNSError](err); {
	case errors.As(err, &unknown):
		e.Why, e.retry = "its certificate is not trusted: "+unknown.Err.Error(), false
		e.Hint = "SSL_CERT_FILE names a file of further certificate authorities"
	case isDNS && dns.IsNotFound:
		e.Why, e.retry = fmt.Sprintf("no server is called %s", dns.Name), false
	case strings.Contains(err.Error(), "timeout awaiting response headers"): // net/http has no type for it
		e.Why = silent
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Why = "the connection was cut off"
	default:
		e.Why = err.Error()
	}
	return e
}

// without takes secrets out of a text.
func without(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "(secret)")
		}
	}
	return text
}
