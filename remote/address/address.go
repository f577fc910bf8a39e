// Package address names model files that lie on servers: https:// (presigned S3 and GCS
// addresses and Azure's SAS included), hf:// (Hugging Face's hub) and oci:// (registries).
//
// It takes addresses apart and reads nothing: see package remote.
package address

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

// The schemes of addresses. HTTP is for servers of one's own, in private networks.
const (
	HTTPS = "https"
	HTTP  = "http"
	Hub   = "hf"
	OCI   = "oci"
)

// Is reports whether a text is an address rather than a path.
func Is(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	switch strings.ToLower(scheme) {
	case HTTPS, HTTP, Hub, OCI:
		return ok
	}
	return false
}

// Show is the address as reports and messages name it: without the query, where presigned
// addresses keep their signature, and without a user's name and password.
func Show(s string) string {
	if !Is(s) {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	rest, _, _ = strings.Cut(rest, "?")
	if scheme != OCI {
		rest, _, _ = strings.Cut(rest, "#")
	}
	host, file, ok := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	if ok {
		host += "/" + file
	}
	return scheme + "://" + host
}

// Single reports whether an address is signed for one file alone, so that none beside it can be read:
// presigned addresses of S3 and GCS, and Azure's SAS of a blob.
func Single(s string) bool {
	_, query, _ := strings.Cut(s, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	old := values.Has("Signature") && (values.Has("AWSAccessKeyId") || values.Has("GoogleAccessId")) // version 2 of S3's signatures
	return old || values.Has("X-Amz-Signature") || values.Has("X-Goog-Signature") || values.Has("sig") && values.Get("sr") == "b"
}

// Beside is the address of a file beside the one at s. name is a path relative to the folder
// of s, or the whole address as Show has it. A query is kept: a SAS of a container is good
// for all of its files, a presigned S3 address for one alone.
func Beside(s, name string) string {
	if shown := Show(s); Is(name) {
		cut := strings.LastIndexAny(shown, "/#") + 1
		if Is(shown) && strings.HasPrefix(shown, OCI+"://") && strings.Contains(shown, "#") {
			cut = strings.Index(shown, "#") + 1
		}
		rest, ok := strings.CutPrefix(name, shown[:cut])
		if !ok {
			return name
		}
		name = rest
	}
	head, query, _ := strings.Cut(s, "?")
	if strings.HasPrefix(strings.ToLower(s), OCI+"://") {
		head, file, _ := strings.Cut(s, "#")
		return head + "#" + path.Join(path.Dir(file), name)
	}
	head, _, _ = strings.Cut(head, "#")
	scheme, rest, _ := strings.Cut(head, "://")
	if scheme != Hub {
		name = escaped(name)
	}
	out := scheme + "://" + path.Join(path.Dir(rest), name)
	if query, _, _ = strings.Cut(query, "#"); query != "" {
		out += "?" + query
	}
	return out
}

// escaped writes a path for a URL.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// File is an address that was taken apart. Which fields count follows from Scheme.
type File struct {
	Scheme string
	URL    *url.URL // HTTPS, HTTP: with its query

	// Hub: hf://ORG/REPO[@REV]/FILE.
	Repo, Revision string

	// OCI: oci://REGISTRY/NAME[:TAG|@DIGEST][#FILE].
	Registry, Name, Reference string

	Path string // Hub: in the repository; OCI: in the artifact, "": its only model
}

// Error is the error of an address that cannot be understood.
type Error struct{ Address, Why, Hint string }

// Error names the address, without its secrets.
func (e *Error) Error() string { return Show(e.Address) + ": not an address of a model: " + e.Why }

// Hints says how addresses are written.
func (e *Error) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// specialRevision matches revisions with slashes that the hub has by itself (as
// huggingface_hub's HfFileSystem reads them).
var specialRevision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs/(convert/\w+|pr/\d+)`) })

// Parse takes an address apart.
func Parse(s string) (File, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	f := File{Scheme: strings.ToLower(scheme)}
	var err error
	hint := ""
	switch f.Scheme {
	case HTTPS, HTTP:
		err = f.parseURL(s)
	case Hub:
		err = f.parseHub(rest)
		hint = "hf://ORG/REPO/FILE or hf://ORG/REPO@REVISION/FILE"
	case OCI:
		err = f.parseOCI(rest)
		hint = "oci://REGISTRY/NAME:TAG, or oci://REGISTRY/NAME:TAG#FILE where it holds several models"
	default:
		err = fmt.Errorf("the scheme %q", f.Scheme)
		hint = "https://, hf:// and oci:// are known"
	}
	if err != nil {
		return f, &Error{Address: s, Why: err.Error(), Hint: hint}
	}
	return f, nil
}

func (f *File) parseURL(s string) error {
	u, err := url.Parse(s)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err // without the address, which may hold a signature
	}
	switch {
	case err != nil:
		return err
	case u.User != nil:
		return errors.New("a user's name or password in it would be seen by everybody who sees the command")
	case u.Host == "" || u.Hostname() == "":
		return errors.New("it names no server")
	}
	u.Fragment, u.RawFragment = "", ""
	f.URL = u
	return nil
}

func (f *File) parseHub(rest string) error {
	org, rest, ok1 := strings.Cut(rest, "/")
	repo, file, ok2 := strings.Cut(rest, "/")
	if !ok1 || !ok2 {
		return errors.New("it names no file of a repository")
	}
	repo, revision, pinned := strings.Cut(repo, "@")
	if pinned {
		if m := specialRevision().FindString(revision + "/" + file); m != "" {
			file = strings.TrimPrefix(strings.TrimPrefix(revision+"/"+file, m), "/")
			revision = m
		}
		unescaped, err := url.PathUnescape(revision)
		if err != nil {
			return errors.New("its revision is not written as URLs are")
		}
		revision = unescaped
	}
	switch {
	case org == "" || repo == "" || pinned && revision == "":
		return errors.New("the organisation, the repository or the revision is empty")
	case file == "" || strings.HasSuffix(file, "/"):
		return errors.New("it names no file of the repository")
	case strings.ContainsAny(org+repo+revision+file, "?#\\\x00"):
		return errors.New("it holds a character that no name on the hub has")
	}
	for _, part := range strings.Split(org+"/"+repo+"/"+revision+"/"+file, "/") {
		if part == ".." || part == "." {
			return errors.New("it leads out of the repository")
		}
	}
	f.Repo, f.Revision, f.Path = org+"/"+repo, revision, file
	if f.Revision == "" {
		f.Revision = "main"
	}
	return nil
}

// Names of registries as the OCI distribution specification (v1.1) has them.
var (
	ociName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	})
	ociTag    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`) })
	ociDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })
)

func (f *File) parseOCI(rest string) error {
	rest, f.Path, _ = strings.Cut(rest, "#")
	registry, name, ok := strings.Cut(rest, "/")
	if !ok || registry == "" || strings.ContainsAny(registry, "@?") {
		return errors.New("it names no registry and repository")
	}
	reference := "latest"
	valid := ociTag
	if n, digest, ok := strings.Cut(name, "@"); ok {
		name, reference, valid = n, digest, ociDigest
		name, _, _ = strings.Cut(name, ":") // a tag beside a digest says nothing
	} else if n, tag, ok := strings.Cut(name, ":"); ok {
		name, reference = n, tag
	}
	switch {
	case !ociName().MatchString(name):
		return fmt.Errorf("%q is no name of a repository", name)
	case !valid().MatchString(reference):
		return fmt.Errorf("%q is neither a tag nor a SHA-256 digest", reference)
	}
	if registry == "docker.io" {
		registry = "registry-1.docker.io"
	}
	f.Registry, f.Name, f.Reference = registry, name, reference
	return nil
}
