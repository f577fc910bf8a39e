package remote

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/remote/address"
)

// defaultHub is the hub where the environment names no other (HF_ENDPOINT).
const defaultHub = "https://huggingface.co"

// hubLogin is the hub and its token, as huggingface_hub finds them in the environment.
type hubLogin struct {
	endpoint *url.URL
	token    string
}

// login reads the environment, once.
func (c *Client) login() (*hubLogin, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hub != nil {
		return c.hub, nil
	}
	get := c.options.Environment
	u, err := parsed(strings.TrimRight(cmp.Or(get("HF_ENDPOINT"), defaultHub), "/"), "HF_ENDPOINT")
	if err != nil {
		return nil, err
	}
	c.hub = &hubLogin{endpoint: u, token: cmp.Or(get("HF_TOKEN"), get("HUGGING_FACE_HUB_TOKEN"))}
	if c.hub.token == "" && !isSet(get("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		c.hub.token = savedToken(get)
	}
	c.hub.token = strings.TrimSpace(c.hub.token)
	if strings.ContainsAny(c.hub.token, " \r\n\t\x00") {
		return nil, &Error{What: cannotRead, Why: "the hub's token (HF_TOKEN, or its file) holds white space"}
	}
	return c.hub, nil
}

// isSet reads a switch as huggingface_hub does.
func isSet(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// savedToken is the token that a login of huggingface_hub left; "" where there is none.
func savedToken(get func(string) string) string {
	cache := get("XDG_CACHE_HOME")
	if cache == "" {
		home := cmp.Or(get("HOME"), get("USERPROFILE"))
		if home == "" {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	path := cmp.Or(get("HF_TOKEN_PATH"), filepath.Join(cmp.Or(get("HF_HOME"), filepath.Join(cache, "huggingface")), "token"))
	const most = 4 << 10
	b, _, err := regular.Read(path, most)
	if err != nil {
		return ""
	}
	return string(b)
}

// hubSource is a file of a repository on the hub.
func (c *Client) hubSource(f address.File) (source, error) {
	if isSet(c.options.Environment("HF_HUB_OFFLINE")) {
		return nil, &Error{What: refused, Why: "HF_HUB_OFFLINE is set", Hint: "name a file on this machine"}
	}
	login, err := c.login()
	if err != nil {
		return nil, err
	}
	// A revision is one part of the path, its slashes escaped, as the hub's own clients write it.
	u := login.endpoint.JoinPath(f.Repo, "resolve", url.PathEscape(f.Revision))
	for _, part := range strings.Split(f.Path, "/") {
		u = u.JoinPath(url.PathEscape(part))
	}
	t := hubTarget(login, u)
	return func(context.Context, bool) (target, error) { return t, nil }, nil
}

// hubTarget asks the hub, with its token, and words its refusals.
func hubTarget(login *hubLogin, u *url.URL) target {
	return target{url: u, header: bearer(login.token), size: -1, what: func(resp *http.Response) *Error {
		code := resp.Header.Get("X-Error-Code")
		e := &Error{What: cannotRead, Why: fmt.Sprintf("the hub answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
		if code != "" {
			e.Why += ": " + without(fmt.Sprintf("%.60s", code), login.token)
		}
		token := "HF_TOKEN gives a token that may read it"
		if login.token != "" {
			token = "the token that is set may not read it"
		}
		switch {
		case code == "GatedRepo":
			e.Hint = "its page on the hub asks to accept its terms; then " + token
		case resp.StatusCode == http.StatusNotFound:
			e.Missing = true
			if code == "RevisionNotFound" {
				e.Hint = "hf://ORG/REPO@REVISION/FILE names a branch, tag or commit"
			}
		case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
			e.Hint = "the repository is not there or not public: " + token
		default:
			return nil
		}
		return e
	}}
}
