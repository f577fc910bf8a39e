package remote

import (
	"context"
	"net/http"
	"net/url"

	"github.com/modelpatch/modelpatch/remote/address"
)

// sourceOf says where the bytes of a file are asked for.
func (c *Client) sourceOf(f address.File) (source, error) {
	switch f.Scheme {
	case address.Hub:
		return c.hubSource(f)
	case address.OCI:
		return (&artifact{client: c, file: f}).target, nil
	}
	if err := c.allowed(f.URL); err != nil {
		return nil, err
	}
	t := target{url: f.URL, size: -1}
	if login, err := c.login(); err == nil && login.token != "" && sameOrigin(f.URL, login.endpoint) {
		t = hubTarget(login, f.URL)
	}
	return func(context.Context, bool) (target, error) { return t, nil }, nil
}

// bearer is the header of a token.
func bearer(token string) http.Header {
	if token == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}

// document fetches a short answer whole: a manifest, a token. Answers of 401 are returned; others
// that are no content are errors.
func (c *Client) document(ctx context.Context, t target, accept string, most int64) ([]byte, *http.Response, error) {
	header := http.Header{}
	if accept != "" {
		header["Accept"] = []string{accept}
	}
	for attempt := 1; ; attempt++ {
		a := answer{file: &content{client: c, size: -1}}
		b, resp, err := a.document(ctx, t, header, most)
		if err == nil {
			return b, resp, nil
		}
		if err := c.again(err, attempt, a.wait); err != nil {
			return nil, nil, err
		}
	}
}

// parsed is a URL that a registry or the environment names.
func parsed(s, what string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, &Error{What: cannotRead, Why: what + " is not an address"}
	}
	return u, nil
}
